/* Core share: what one slot holds, and how two copies of it become one.
 *
 * Every writer has an entry: the whole of what it has added, as one number, and a version that
 * grows with each write. So a repeated write changes nothing, an older one is told from a newer
 * one, and copies on several servers are merged entry by entry: the higher version wins.
 *
 * Entries of writers that have left are settled into the base. That is no merge: it is done
 * only to a state that was seen alike in all copies, over compare-and-set, and the epoch grows
 * with it. What is settled stays as an entry for one more epoch, so that a copy which lags
 * behind does not bring it back. */
#ifndef MCDS_CORE_SHARE_STATE_H
#define MCDS_CORE_SHARE_STATE_H

#include "base/key.h"

#define MCDS__SHARE_ENTRIES_MAX 40
/* A new writer finds room below this; the rest is for merging. */
#define MCDS__SHARE_ENTRIES_USUAL 24
#define MCDS__SHARE_ENTRY_BYTES 37
#define MCDS__SHARE_HEAD_BYTES 21
#define MCDS__SHARE_VALUE_MAX                                                                  \
    (8 + MCDS__SHARE_HEAD_BYTES + MCDS__SHARE_ENTRIES_MAX * MCDS__SHARE_ENTRY_BYTES)

/* A writer that was not seen for so long has left, for all that others know. */
#define MCDS__SHARE_STALE_S 60
/* Its entry is kept so long, in case it comes back with a write of unknown fate. */
#define MCDS__SHARE_KEPT_S 600

/* mcds__share_entry.flags */
enum {
    MCDS__SHARE_LEFT = 1, /* its writer said so */
    MCDS__SHARE_GONE = 2  /* others say so */
};

/* Amounts are in two's complement and wrap around; only whole sums are checked. */
struct mcds__share_entry {
    uint64_t owner; /* random, new for every claim of a slot */
    uint64_t version;
    uint64_t mine;    /* all that this owner has added */
    uint64_t settled; /* the part of it that is in the base */
    uint32_t seen_s;  /* when it wrote last, by its own clock */
    uint8_t flags;
};

struct mcds__share_state {
    uint64_t generation; /* random, of one life of the slot on one server; 0 with copies */
    uint32_t epoch;      /* how often something was settled */
    uint64_t base;
    uint32_t count;
    struct mcds__share_entry entries[MCDS__SHARE_ENTRIES_MAX]; /* by owner, rising */
};

/* Write the state with its frame; returns the length. */
size_t mcds__share_encode(const struct mcds__share_state *state, mcds_bytes key, uint8_t *out);
/* False: not written by this library. */
bool mcds__share_decode(mcds_bytes value, mcds_bytes key, struct mcds__share_state *out);

struct mcds__share_entry *mcds__share_find(struct mcds__share_state *state, uint64_t owner);
/* A new entry, all zero but the owner; NULL: no room. */
struct mcds__share_entry *mcds__share_insert(struct mcds__share_state *state, uint64_t owner);

/* Bring into `state` what `other` knows. False: too many writers. */
bool mcds__share_merge(struct mcds__share_state *state, const struct mcds__share_state *other);

/* Settle whoever has left, and forget who was settled before. Only for a state that all copies
 * hold alike, and only to be written over these. */
void mcds__share_settle(struct mcds__share_state *state, uint32_t now_s);
/* Mark those who were not seen for too long, but for `owner`. */
void mcds__share_mark(struct mcds__share_state *state, uint32_t now_s, uint64_t owner);

/* How many may still write here, but for `owner`. */
uint32_t mcds__share_writers(const struct mcds__share_state *state, uint32_t now_s,
                             uint64_t owner);
/* Base and entries together. */
uint64_t mcds__share_sum(const struct mcds__share_state *state);
/* When anybody wrote here last. */
uint32_t mcds__share_newest_s(const struct mcds__share_state *state);

#endif
