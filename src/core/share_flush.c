/* Core share: flush.
 *
 *   LOOK    get all slots                     no slot is ours: choose one
 *   FOUND   add head                          in every copy, when nothing is there yet
 *   WRITE   cas or add slot | get slot        in every copy; a copy that was not seen yet is
 *                                             only read
 *
 * It goes on until a majority of the copies shows our entry. A slot that is left, to those who
 * write to it too, is written a last time, with LEFT. */
#include <string.h>

#include "base/environment.h"
#include "core/share_write.h"

#define ROUNDS_MAX 24 /* of writing, in one flush */
#define CLAIMS_MAX 6  /* slots tried; from then on one that others write to will do */
#define MOVES_MAX 8   /* of one handle */

enum { BEGIN, LOOK, FOUND, WRITE, WRITE_AGAIN };

/* Whether there is nothing to do, or another flush has brought what this one was asked for. */
static bool shall_rest(struct mcds__share_flush *flush)
{
    const struct mcds__share *share = flush->share;
    if (!flush->counted)
        flush->target = share->added;
    flush->counted = true;
    bool is_done = share->flushed >= flush->target ||
                   share->flushed + share->withdrawn == share->added;
    return is_done && !(flush->leaves && share->owner != 0);
}

/* What has been added up to here is what this flush brings. */
static void take_amount(struct mcds__share_flush *flush)
{
    struct mcds__share *share = flush->share;
    flush->amount = share->total;
    flush->added = share->added;
    share->version++;
}

static void end_hold(struct mcds__share_flush *flush, bool failed)
{
    struct mcds__share *share = flush->share;
    (void)pthread_mutex_lock(&share->mutex);
    share->busy = false;
    share->failed = failed;
    share->flushed_ns = mcds__monotonic_ns(share->env);
    (void)pthread_mutex_unlock(&share->mutex);
    flush->holds = false;
}

void mcds__share_flush_end(struct mcds__share_flush *flush)
{
    if (!flush->holds)
        return;
    if (flush->stage == WRITE)
        mcds__share_note_sent(flush);
    end_hold(flush, true);
}

/* Our entry is where it belongs. */
static void commit(struct mcds__share_flush *flush)
{
    struct mcds__share *share = flush->share;
    bool left = flush->leaves || flush->moves;
    (void)pthread_mutex_lock(&share->mutex);
    share->seen = true;
    share->stored = flush->amount;
    share->flushed = flush->added;
    share->withdrawn = 0;
    share->doubt = false;
    share->generations[share->slot] = share->state.generation;
    if (left) {
        share->total -= flush->amount;
        share->owner = 0;
        share->moves++;
    }
    (void)pthread_mutex_unlock(&share->mutex);
}

/* The own addition, of which nothing was sent, counts no more. While the flush holds, no other
 * sends it. */
static void withdraw(struct mcds__share_flush *flush)
{
    struct mcds__share *share = flush->share;
    (void)pthread_mutex_lock(&share->mutex);
    if (flush->own.number > share->sent && flush->own.number > share->flushed) {
        share->total -= (uint64_t)flush->own.delta;
        share->withdrawn++;
        flush->is_withdrawn = true;
    }
    (void)pthread_mutex_unlock(&share->mutex);
}

static enum mcds__step finish(struct mcds__share_flush *flush,
                              struct mcds__operation *operation, int result)
{
    if (flush->holds)
        end_hold(flush, result != MCDS_OK);
    return mcds__operation_finish(operation, result);
}

/* It comes to nothing, and `result` says why. What was sent before may have arrived. */
static enum mcds__step fail(struct mcds__share_flush *flush, struct mcds__operation *operation,
                            int result)
{
    bool doubt = flush->holds && (flush->share->doubt || flush->dropped);
    if (flush->holds)
        withdraw(flush);
    return finish(flush, operation, doubt && !flush->is_withdrawn ? MCDS_AMBIGUOUS : result);
}

static enum mcds__step end_stored(struct mcds__share_flush *flush,
                                  struct mcds__operation *operation)
{
    commit(flush);
    if (!flush->dropped)
        return finish(flush, operation, MCDS_OK);
    operation->detail = MCDS__WHY(FLUSH_FORGOTTEN);
    return finish(flush, operation, MCDS_AMBIGUOUS);
}

/* The flush comes to nothing; `reply` tells why. */
static enum mcds__step end_failed(struct mcds__share_flush *flush,
                                  struct mcds__operation *operation, const mcds_reply *reply)
{
    (void)mcds__operation_fail_read(operation, reply);
    if (operation->result >= 0)
        operation->result = MCDS_BUSY;
    return fail(flush, operation, operation->result);
}

static enum mcds__step end_busy(struct mcds__share_flush *flush,
                                struct mcds__operation *operation, const mcds_reason *detail)
{
    operation->detail = detail;
    return fail(flush, operation, MCDS_BUSY);
}

static enum mcds__step ask_look(struct mcds__share_flush *flush,
                                struct mcds__operation *operation)
{
    flush->stage = LOOK;
    flush->claims++;
    flush->look.share = flush->share;
    return mcds__share_ask_look(&flush->look, operation);
}

static enum mcds__step ask_write(struct mcds__share_flush *flush,
                                 struct mcds__operation *operation)
{
    flush->stage = WRITE;
    switch (mcds__share_prepare(flush)) {
    case MCDS__SHARE_PREPARED:
        return mcds__share_ask_write(flush, operation);
    case MCDS__SHARE_RESIGNED:
        return ask_look(flush, operation);
    default:
        return end_busy(flush, operation, MCDS__WHY(TOO_MANY_WRITERS));
    }
}

/* Which slot to write to: one that somebody has left, else one that nobody has made, else the
 * one with the fewest writers. Returns false when something there is damaged. */
static bool choose_slot(struct mcds__share_flush *flush, struct mcds__operation *operation,
                        uint32_t *slot_out)
{
    const struct mcds__share *share = flush->share;
    uint32_t now_s = mcds__share_now_s(share->env);
    uint32_t best_rank = UINT32_MAX;
    uint64_t ties = 0;
    for (uint32_t slot = 0; slot < share->slots; slot++) {
        struct mcds__share_state state;
        int there = mcds__share_gather(&flush->look, &operation->batch, slot, &state);
        if (there < 0)
            return false;
        uint32_t writers = there > 0 ? mcds__share_writers(&state, now_s, 0) : 0;
        uint32_t rank = there == 0 ? 1 : 2 * writers;
        if (there > 0 && state.count >= MCDS__SHARE_ENTRIES_USUAL)
            rank = UINT32_MAX - 1;
        if (rank < best_rank) {
            best_rank = rank;
            ties = 0;
        }
        /* Among equals each has the same chance. */
        if (rank == best_rank && mcds__random_u64(share->env) % ++ties == 0)
            *slot_out = slot;
    }
    return true;
}

static void claim(struct mcds__share_flush *flush, const mcds_batch *batch, uint32_t slot)
{
    struct mcds__share *share = flush->share;
    share->level = mcds__share_adopt_look(share, &flush->look, batch, slot);
    (void)pthread_mutex_lock(&share->mutex);
    share->slot = slot;
    share->owner = mcds__random_u64(share->env) | 1;
    share->version = 0;
    share->stored = 0;
    share->issued = 0;
    share->doubt = false;
    share->known = false;
    take_amount(flush);
    (void)pthread_mutex_unlock(&share->mutex);
    flush->moves = false;
    flush->rounds = 0;
}

/* The head comes before all else, so that slots without it are known to be a rest. */
static enum mcds__step ask_found(struct mcds__share_flush *flush,
                                 struct mcds__operation *operation)
{
    struct mcds__share *share = flush->share;
    flush->stage = FOUND;
    for (uint32_t i = 0; i < share->copies; i++) {
        flush->requests[i] = mcds__share_head_add(share, i, flush->head);
        flush->requests[i].route = mcds__key_bytes(&share->head);
    }
    return mcds__operation_ask_repeatable(operation, flush->requests, share->copies);
}

static void unclaim(struct mcds__share *share)
{
    (void)pthread_mutex_lock(&share->mutex);
    share->owner = 0;
    (void)pthread_mutex_unlock(&share->mutex);
}

static enum mcds__step take_found(struct mcds__share_flush *flush,
                                  struct mcds__operation *operation)
{
    struct mcds__share *share = flush->share;
    const mcds_reply *trouble = NULL;
    uint32_t founded = 0;
    for (uint32_t i = 0; i < share->copies; i++) {
        const mcds_reply *reply = &flush->requests[i].reply;
        if (reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_NOT_STORED)
            founded++;
        else if (trouble == NULL || mcds__is_refusal(reply))
            trouble = reply;
    }
    if (trouble == NULL || founded > share->copies / 2)
        return ask_write(flush, operation);
    unclaim(share);
    flush->stage = BEGIN;
    if (!mcds__is_refusal(trouble) && mcds__operation_again(operation))
        return MCDS__SLEEP;
    return end_failed(flush, operation, trouble);
}

static enum mcds__step take_look(struct mcds__share_flush *flush,
                                 struct mcds__operation *operation)
{
    enum mcds__share_server servers[MCDS__SHARE_COPIES_MAX];
    uint32_t slot = 0;
    enum mcds__share_verdict verdict = mcds__share_judge(&flush->look, operation, servers);
    if (verdict == MCDS__SHARE_FOREIGN)
        return fail(flush, operation, MCDS_INVALID);
    if (verdict == MCDS__SHARE_AWAY) {
        const mcds_reply *trouble = mcds__share_trouble(&flush->look);
        if (trouble == NULL)
            return end_busy(flush, operation, MCDS__WHY(MOST_SERVERS_LOST));
        flush->claims--;
        flush->stage = BEGIN;
        if (!mcds__is_refusal(trouble) && mcds__operation_again(operation))
            return MCDS__SLEEP;
        return end_failed(flush, operation, trouble);
    }
    mcds_capabilities can;
    mcds__store_capabilities(operation->store, &can);
    if (!can.compare_and_set) {
        operation->detail = MCDS__WHY(NO_COMPARE_AND_SET);
        return fail(flush, operation, MCDS_UNSUPPORTED);
    }
    if (!choose_slot(flush, operation, &slot))
        return fail(flush, operation, MCDS_CORRUPT);
    claim(flush, &operation->batch, slot);
    if (verdict == MCDS__SHARE_NONE)
        return ask_found(flush, operation);
    return ask_write(flush, operation);
}

/* Another has come first into the slot that we have chosen, and nothing of ours is there. */
static bool shall_choose_again(const struct mcds__share_flush *flush)
{
    const struct mcds__share *share = flush->share;
    uint32_t now_s = mcds__share_now_s(share->env);
    return !share->known && !share->doubt && flush->claims < CLAIMS_MAX &&
           mcds__share_writers(&share->state, now_s, share->owner) > 0;
}

/* Not stored yet: once more, now or after a pause. */
static enum mcds__step go_on(struct mcds__share_flush *flush, struct mcds__operation *operation,
                             const struct mcds__share_round *round)
{
    struct mcds__share *share = flush->share;
    flush->stage = WRITE_AGAIN;
    if (share->copies - round->refused <= share->copies / 2)
        return end_failed(flush, operation, round->refusal);
    if (round->reached <= share->copies / 2) {
        if (mcds__operation_again(operation))
            return MCDS__SLEEP;
        return end_failed(flush, operation, round->trouble);
    }
    if (shall_choose_again(flush)) {
        unclaim(share);
        return ask_look(flush, operation);
    }
    if (++flush->rounds >= ROUNDS_MAX || mcds__operation_is_late(operation))
        return end_busy(flush, operation, MCDS__WHY(SLOT_CHANGES));
    uint32_t now_s = mcds__share_now_s(share->env);
    if (round->conflict && share->moves < MOVES_MAX &&
        mcds__share_writers(&share->state, now_s, share->owner) > 0)
        flush->moves = true;
    if (flush->rounds <= 2)
        return ask_write(flush, operation);
    if (mcds__operation_wait(operation, 0))
        return MCDS__SLEEP;
    return end_busy(flush, operation, MCDS__WHY(SLOT_CHANGES));
}

static enum mcds__step take_write(struct mcds__share_flush *flush,
                                  struct mcds__operation *operation)
{
    struct mcds__share_round round;
    if (!mcds__share_take_write(flush, operation, &round))
        return fail(flush, operation, MCDS_CORRUPT);
    if (round.shown > flush->share->copies / 2)
        return end_stored(flush, operation);
    return go_on(flush, operation, &round);
}

static enum mcds__step begin(struct mcds__share_flush *flush, struct mcds__operation *operation)
{
    struct mcds__share *share = flush->share;
    if (!flush->holds) {
        (void)pthread_mutex_lock(&share->mutex);
        bool rests = shall_rest(flush);
        flush->holds = !rests && !share->busy;
        share->busy = share->busy || flush->holds;
        if (flush->holds && share->owner != 0)
            take_amount(flush);
        (void)pthread_mutex_unlock(&share->mutex);
        if (rests || (!flush->holds && !flush->waits))
            return mcds__operation_finish(operation, MCDS_OK);
        if (!flush->holds && mcds__operation_wait(operation, NS_PER_MS))
            return MCDS__SLEEP;
        if (!flush->holds)
            return end_busy(flush, operation, MCDS__WHY(OTHER_FLUSH));
    }
    return share->owner == 0 ? ask_look(flush, operation) : ask_write(flush, operation);
}

void mcds__share_flush_begin(struct mcds__share_flush *flush, struct mcds__share *share)
{
    flush->share = share;
    flush->own = (struct mcds__share_addition){0, 0};
    flush->is_withdrawn = false;
    flush->leaves = false;
    flush->waits = false;
    flush->stage = BEGIN;
    flush->holds = false;
    flush->moves = false;
    flush->dropped = false;
    flush->rounds = 0;
    flush->claims = 0;
    flush->counted = false;
}

enum mcds__step mcds__share_flush_step(struct mcds__share_flush *flush,
                                       struct mcds__operation *operation)
{
    switch (flush->stage) {
    case BEGIN:
        return begin(flush, operation);
    case LOOK:
        return take_look(flush, operation);
    case FOUND:
        return take_found(flush, operation);
    case WRITE:
        return take_write(flush, operation);
    default:
        return ask_write(flush, operation);
    }
}
