/* Structure: the beginning of every handle, the key tags, and the checks of every open. */
#ifndef MCDS_STRUCTURES_STRUCTURE_H
#define MCDS_STRUCTURES_STRUCTURE_H

#include "base/sized.h"
#include "engine/pipeline.h"

/* Key tags. The digit is the version of the layout. */
#define MCDS__TAG_COUNTER "c1"
#define MCDS__TAG_REPLICA "cx1"
#define MCDS__TAG_LOCK "lk1"
#define MCDS__TAG_FENCE "lf1"
#define MCDS__TAG_SEMAPHORE "sm1"
#define MCDS__TAG_SEMAPHORE_LEASE "sl1"
#define MCDS__TAG_SEMAPHORE_FENCE "sf1"
#define MCDS__TAG_VISITORS "vc1"
#define MCDS__TAG_VISITOR_SEEN "vu1"
#define MCDS__TAG_VISITOR_MEMBERS "vm2"
#define MCDS__TAG_ONLINE "ow1"
#define MCDS__TAG_ONLINE_SEEN "os1"
#define MCDS__TAG_ONLINE_MEMBERS "om2"
#define MCDS__TAG_SET "s2"
#define MCDS__TAG_ARRAY "a1"
#define MCDS__TAG_ARRAY_BLOCK "a1c"
#define MCDS__TAG_TABLE "t2"
#define MCDS__TAG_LIMIT "r1"
#define MCDS__TAG_LIMIT_SLOT "rw1"
#define MCDS__TAG_LIMIT_BLOCK "rb1"
#define MCDS__TAG_QUEUE "q1"
#define MCDS__TAG_IDS "id1"
#define MCDS__TAG_LIST "l1"
#define MCDS__TAG_LIST_SEGMENT "lp1"
#define MCDS__TAG_LOG "e1"
#define MCDS__TAG_LOG_SEGMENT "ep1"
#define MCDS__TAG_ONCE "o1"
#define MCDS__TAG_CACHE "kg1"
#define MCDS__TAG_CACHE_TAG "kt1"
#define MCDS__TAG_CACHE_ITEM "ki1"
#define MCDS__TAG_CACHE_REFRESH "kr1"
#define MCDS__TAG_CACHE_PIECE "kp1"
#define MCDS__TAG_VIEWS "vw1"
#define MCDS__TAG_VIEWS_PAGES "vd2"
#define MCDS__TAG_VIEWS_BASE "vb1"
#define MCDS__TAG_VIEWS_LOAD "vl1"
#define MCDS__TAG_VIEWS_MARK "vf1"

/* Checks the arguments of every open, and of the calls that need no handle. Returns MCDS_OK, or
 * MCDS_INVALID with the sentence set; `needed` says there which arguments the call needs. */
#define MCDS__OPEN_NEEDED "a store, a name and a place for the handle"
#define MCDS__MADE_WITH_NEEDED "a store, a name and a place for the options"
int mcds__check_open(const char *noun, const char *verb, const mcds_store *store,
                     const char *name, const void *out, const char *needed);
/* mcds__check_open for an open, which also reads its options: `given` may be NULL. */
int mcds__read_options(const char *noun, const mcds_store *store, const char *name,
                       const void *handle_out, enum mcds__sized type, const void *given,
                       void *options_out);
/* Checks the name of a visitor or page; `what` names which. */
int mcds__check_text(const struct mcds__operation_kind *kind, const char *name,
                     const char *what, const char *text);
/* An element or a table key: 1 to 1 024 bytes. Returns MCDS_OK or MCDS_INVALID with the sentence
 * set; `what` names it there. */
int mcds__check_bytes(const struct mcds__operation_kind *kind, const char *name,
                      const char *what, mcds_bytes bytes);
/* The payloads of records of a list, a log or a queue, each of at most `most` bytes: MCDS_OK,
 * MCDS_INVALID or MCDS_TOO_BIG with the sentence set; `what` names one there. */
int mcds__check_payloads(const struct mcds__operation_kind *kind, const char *name,
                         const char *what, uint64_t most, const mcds_bytes *payloads,
                         size_t count);
/* Returns MCDS_OK, or MCDS_UNSUPPORTED with the sentence set for a store without
 * compare-and-set; `why` says what it cannot do. */
int mcds__check_cas(const struct mcds__operation_kind *kind, const struct mcds__handle *handle,
                    const mcds_reason *why);
/* Returns MCDS_OK, or MCDS_IO with the sentence set if the wall clock is before 1970, because no
 * stored time may be negative. */
int mcds__check_wall(const struct mcds__operation_kind *kind,
                     const struct mcds__handle *handle);
#endif
