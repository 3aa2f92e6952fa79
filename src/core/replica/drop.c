/* Replica: set the tombstones, then erase the slots and heads of all copies.
 *
 *   SURVEY     get all slots, when no flush of this handle is in progress
 *   TOMBSTONE  set the tombstone of each copy
 *   ERASE      delete all slots and heads; a tombstone without room is set once more after that */
#include <assert.h>

#include "base/environment.h"
#include "core/replica/tombstone.h"

enum { BEGIN, SURVEY, TOMBSTONE, TOMBSTONE_AGAIN, ERASE };

/* Forget the contribution of the handle too. */
static void forget(struct mcds__replica *replica)
{
    (void)pthread_mutex_lock(&replica->mutex);
    assert(replica->busy && replica->flushed <= replica->added);
    mcds__replica_forget_life(replica);
    replica->total = 0;
    replica->flushed = replica->added;
    replica->withdrawn = 0;
    (void)pthread_mutex_unlock(&replica->mutex);
}

/* Read all slots, when no flush of this handle is in progress. */
static enum mcds__step replica_drop_ask_first(struct mcds__replica_drop *drop,
                                              struct mcds__operation *operation)
{
    struct mcds__replica *replica = drop->survey.replica;
    if (!drop->holds) {
        (void)pthread_mutex_lock(&replica->mutex);
        drop->holds = !replica->busy;
        replica->busy = true;
        (void)pthread_mutex_unlock(&replica->mutex);
    }
    if (!drop->holds && mcds__operation_wait(operation, NS_PER_MS))
        return MCDS__SLEEP;
    if (!drop->holds)
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(FLUSH_ENDLESS));
    drop->stage = SURVEY;
    return mcds__replica_ask_survey(&drop->survey, operation);
}

static enum mcds__step ask_erase(struct mcds__replica_drop *drop,
                                 struct mcds__operation *operation)
{
    assert(drop->holds);
    const struct mcds__replica *replica = drop->survey.replica;
    uint32_t count = replica->copies * (replica->slots + 1);
    assert(count <= MCDS_BATCH_MAX);
    drop->stage = ERASE;
    (void)mcds__replica_ask_survey(&drop->survey, operation);
    for (uint32_t i = 0; i < count; i++)
        drop->survey.requests[i].command = MCDS_DELETE;
    return MCDS__ASK;
}

void mcds__replica_drop_end(struct mcds__replica_drop *drop)
{
    struct mcds__replica *replica = drop->survey.replica;
    if (!drop->holds)
        return;
    (void)pthread_mutex_lock(&replica->mutex);
    assert(replica->busy);
    replica->busy = false;
    (void)pthread_mutex_unlock(&replica->mutex);
    drop->holds = false;
}

static enum mcds__step ask_set_tombstones(struct mcds__replica_drop *drop,
                                          struct mcds__operation *operation)
{
    assert(drop->holds);
    const struct mcds__replica *replica = drop->survey.replica;
    if (drop->tombstone == 0)
        drop->tombstone = mcds__random_u64(replica->env) | 1;
    drop->stage = TOMBSTONE;
    for (uint32_t i = 0; i < replica->copies; i++)
        drop->survey.requests[i] = mcds__replica_tombstone_set(replica, i, drop->tombstone,
                                                               drop->value);
    return mcds__operation_ask_repeatable(operation, drop->survey.requests, replica->copies);
}

static enum mcds__step replica_drop_take_first(struct mcds__replica_drop *drop,
                                               struct mcds__operation *operation)
{
    enum mcds__replica_verdict verdict = mcds__replica_judge(&drop->survey, operation,
                                                             drop->servers);
    if (verdict == MCDS__REPLICA_FOREIGN)
        return mcds__operation_finish(operation, MCDS_INVALID);
    operation->tries = 1;
    return verdict == MCDS__REPLICA_NONE ? ask_erase(drop, operation)
                                         : ask_set_tombstones(drop, operation);
}

static enum mcds__step finish_drop(struct mcds__replica_drop *drop,
                                   struct mcds__operation *operation)
{
    forget(drop->survey.replica);
    return mcds__operation_finish(operation, drop->erased ? MCDS_OK : MCDS_NOT_FOUND);
}

/* A store without room for the tombstone may get room by the erasure. If not, the drop does
 * without. */
static enum mcds__step take_set_tombstones(struct mcds__replica_drop *drop,
                                           struct mcds__operation *operation)
{
    const struct mcds__replica *replica = drop->survey.replica;
    const mcds_reply *trouble = NULL;
    for (uint32_t i = 0; i < replica->copies; i++)
        if (drop->survey.requests[i].reply.outcome != MCDS_OUT_OK)
            trouble = &drop->survey.requests[i].reply;
    if (trouble == NULL || mcds__is_refusal(trouble)) {
        if (drop->is_full)
            return finish_drop(drop, operation);
        drop->is_full = trouble != NULL;
        return ask_erase(drop, operation);
    }
    if (mcds__operation_again(operation)) {
        drop->stage = TOMBSTONE_AGAIN;
        return MCDS__SLEEP;
    }
    return drop->erased ? mcds__operation_fail(operation, trouble)
                        : mcds__operation_fail_read(operation, trouble);
}

static enum mcds__step take_erase(struct mcds__replica_drop *drop,
                                  struct mcds__operation *operation)
{
    const struct mcds__replica *replica = drop->survey.replica;
    uint32_t count = replica->copies * (replica->slots + 1);
    const mcds_reply *trouble = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const mcds_reply *reply = &drop->survey.requests[i].reply;
        drop->erased = drop->erased || reply->outcome == MCDS_OUT_OK;
        if (reply->outcome != MCDS_OUT_OK && reply->outcome != MCDS_OUT_MISS)
            trouble = reply;
    }
    if (trouble != NULL && trouble->outcome == MCDS_OUT_UNSENT &&
        mcds__operation_again(operation)) {
        drop->stage = BEGIN;
        return MCDS__SLEEP;
    }
    if (trouble != NULL)
        return mcds__operation_fail(operation, trouble);
    return drop->is_full ? ask_set_tombstones(drop, operation) : finish_drop(drop, operation);
}

enum mcds__step mcds__replica_drop_step(struct mcds__replica_drop *drop,
                                        struct mcds__operation *operation)
{
    assert(drop->stage == BEGIN || drop->holds);
    switch (drop->stage) {
    case BEGIN:
        return replica_drop_ask_first(drop, operation);
    case SURVEY:
        return replica_drop_take_first(drop, operation);
    case TOMBSTONE:
        return take_set_tombstones(drop, operation);
    case TOMBSTONE_AGAIN:
        return ask_set_tombstones(drop, operation);
    default:
        return take_erase(drop, operation);
    }
}
