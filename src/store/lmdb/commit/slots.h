/* The layout of the publication list in shared memory, for its two sides: delegate.c posts
 * messages, publications.c is the owner of the write lock, which executes them. */
#ifndef MCDS_STORE_LMDB_COMMIT_SLOTS_H
#define MCDS_STORE_LMDB_COMMIT_SLOTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/lmdb/commit/message.h"
#include "store/lmdb/file.h"

#define SLOTS MCDS__LMDB_PUBLICATIONS_MAX
#define WORDS (sizeof(struct mcds__lmdb_message) / sizeof(uint64_t))

_Static_assert(sizeof(struct mcds__lmdb_message) % sizeof(uint64_t) == 0,
               "it is copied by words");

/* A state is a stage and, above it, a serial number that each message increases. So the process
 * that has taken a message notices if its sender has withdrawn it and reused the slot. */
enum stage {
    FREE,
    POSTED,
    FETCHED,
    SEALED, /* executed in the transaction with this commit id */
    ANSWERED,
    DOUBTFUL /* it is unknown whether that transaction was committed */
};
#define STAGE_BITS 3

struct slot {
    _Atomic uint64_t commit_id;
    _Atomic uint64_t message[WORDS];
    struct mcds__answer answers[MCDS__LMDB_MESSAGE_REQUESTS];
};

_Static_assert(SLOTS == 64, "`used` has a bit for each");

struct mcds__lmdb_publications {
    /* The slots that may have a message: a sender sets its bit before it posts, and clears it
     * when it frees the slot. A dead sender leaves it set, which does no harm. */
    _Atomic uint64_t used;
    _Atomic uint64_t states[SLOTS];
    /* The doorbells: each counts the wake-ups of the slot's sender. */
    _Atomic uint32_t doorbells[SLOTS];
    pthread_mutex_t senders[SLOTS]; /* its owner may post there */
    _Atomic uint32_t freed;         /* counts the slots released while writers waited for one */
    /* A writer waits for a slot. May stay set for a while after the last one. */
    _Atomic uint32_t has_waiters;
    struct slot slots[SLOTS];
};

static inline enum stage stage_of(uint64_t state)
{
    return (enum stage)(state & ((1 << STAGE_BITS) - 1));
}

static inline uint64_t with_stage(uint64_t state, enum stage stage)
{
    return (state >> STAGE_BITS << STAGE_BITS) | stage;
}

/* Returns the first slot from `from` on that may have a message, or SLOTS. */
static inline uint32_t next_used(const struct mcds__lmdb_publications *publications,
                                 uint32_t from)
{
    uint64_t used = from < SLOTS ? atomic_load(&publications->used) >> from : 0;
    return used != 0 ? from + (uint32_t)__builtin_ctzll(used) : SLOTS;
}

#endif
