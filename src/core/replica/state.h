/* Replica: the value of one slot, and how two copies of it are merged.
 *
 * Every writer has an entry: its total, as one number, and a version that grows with each
 * write. So a repeated write changes nothing, and an older write is distinguished from a newer
 * one. Copies on several servers are merged entry by entry: the higher version wins.
 *
 * Entries of writers that have left are settled into the base. That is not a merge: it is done
 * only to a state that was equal in all copies, by compare-and-set, and it increases the
 * epoch. A settled entry stays for one more epoch, so that an old copy cannot restore it. */
#ifndef MCDS_CORE_REPLICA_STATE_H
#define MCDS_CORE_REPLICA_STATE_H

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/key.h"

/* While a server is away, nothing is settled, and each writer that has left keeps its entry. */
#define MCDS__REPLICA_ENTRIES_MAX 250
/* New writers are accepted below this; the rest is for merging, and for those that come when all
 * servers answer again. Their writes make the copies equal, and then the entries of writers that have
 * left are settled. */
#define MCDS__REPLICA_ENTRIES_USUAL 200
#define MCDS__REPLICA_ENTRY_BYTES 37
#define MCDS__REPLICA_HEAD_BYTES 21
#define MCDS__REPLICA_VALUE_MAX                                                                \
    (8 + MCDS__REPLICA_HEAD_BYTES + MCDS__REPLICA_ENTRIES_MAX * MCDS__REPLICA_ENTRY_BYTES)

/* A writer that was not seen for this long is taken to have left. */
#define MCDS__REPLICA_STALE_S 60
/* Its entry is kept this long, in case it returns with a write in doubt. */
#define MCDS__REPLICA_KEPT_S 600

/* mcds__replica_entry.flags */
enum {
    MCDS__REPLICA_LEFT = 1, /* its writer has left */
    MCDS__REPLICA_GONE = 2  /* other writers have marked it as gone */
};

/* Amounts are in two's complement and wrap around; only whole sums are checked. */
struct mcds__replica_entry {
    uint64_t owner; /* random, new for every claim of a slot */
    uint64_t version;
    uint64_t mine;    /* all that this owner has added */
    uint64_t settled; /* the part of it that is in the base */
    uint32_t seen_s;  /* when it wrote last, by its own clock */
    uint8_t flags;
};

struct mcds__replica_state {
    uint64_t generation; /* random, of one life of the slot on one server; 0 with copies */
    uint32_t epoch;      /* how often something was settled */
    uint64_t base;
    uint32_t count;
    struct mcds__replica_entry entries[MCDS__REPLICA_ENTRIES_MAX]; /* by owner, rising */
};

/* Copies the entries that there are: there is room for many more. */
static inline void mcds__replica_copy_state(struct mcds__replica_state *out,
                                            const struct mcds__replica_state *state)
{
    assert(state->count <= MCDS__REPLICA_ENTRIES_MAX);
    memcpy(out, state,
           offsetof(struct mcds__replica_state, entries) +
               state->count * sizeof state->entries[0]);
}
/* The number of entries below which a new writer is accepted. */
static inline uint32_t mcds__replica_room(bool all_answer)
{
    return all_answer ? MCDS__REPLICA_ENTRIES_MAX : MCDS__REPLICA_ENTRIES_USUAL;
}
/* A state without entries. */
static inline void mcds__replica_clear_state(struct mcds__replica_state *out)
{
    memset(out, 0, offsetof(struct mcds__replica_state, entries));
}

/* Write the state with its frame; returns the length. */
size_t mcds__replica_encode(const struct mcds__replica_state *state, mcds_bytes key,
                            uint8_t *out);
/* False: not written by this library. */
bool mcds__replica_decode(mcds_bytes value, mcds_bytes key, struct mcds__replica_state *out);

struct mcds__replica_entry *mcds__replica_find(struct mcds__replica_state *state,
                                               uint64_t owner);
/* A new entry, all zero but the owner; NULL: no room. */
struct mcds__replica_entry *mcds__replica_insert(struct mcds__replica_state *state,
                                                 uint64_t owner);

/* Merge `other` into `state`. False: too many writers. */
bool mcds__replica_merge(struct mcds__replica_state *state,
                         const struct mcds__replica_state *other);

/* Settle the writers that have left, and drop those settled before. Only for a state that is
 * equal in all copies, to be written with their tokens. */
void mcds__replica_compact(struct mcds__replica_state *state, uint32_t now_s);
/* Mark the writers that were not seen for too long, except `owner`. */
void mcds__replica_mark(struct mcds__replica_state *state, uint32_t now_s, uint64_t owner);

/* The number of writers that may still write here, except `owner`. */
uint32_t mcds__replica_writers(const struct mcds__replica_state *state, uint32_t now_s,
                               uint64_t owner);
/* The sum of base and entries. */
uint64_t mcds__replica_sum(const struct mcds__replica_state *state);
/* The time of the last write by any writer. */
uint32_t mcds__replica_newest_s(const struct mcds__replica_state *state);

#endif
