/* Replica: flush the total of a handle to its slot.
 *
 *   SURVEY     get all slots                  this handle has no slot: choose one
 *   FOUND      add head                       in every copy, when the counter does not exist
 *   WRITE      cas or add slot | get slot     in every copy; a copy that was not seen yet is
 *                                             only read. In a slot just chosen: | get head
 *   TOMBSTONE  get tombstone                  in every copy, when the entry is missing
 *
 * It continues until a majority of the copies shows the entry. When the handle leaves a slot to
 * its other writers, it writes its entry there a last time, with LEFT.
 *
 * The last flush of a handle does so too. If the handle is closed while a flush is in progress, that flush
 * is the last: the close does not wait for it, since nobody may drive its pipeline. */
#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "core/replica/write.h"

#define ROUNDS_MAX 24 /* rounds of WRITE in one flush */
#define CLAIMS_MAX 6  /* slots tried; from then on a slot with other writers is accepted */
#define MOVES_MAX 8   /* of one handle */

enum { BEGIN, SURVEY, FOUND, WRITE, WRITE_AGAIN, TOMBSTONE };

/* Whether there is nothing to do, or another flush has already stored it. */
static bool shall_rest(struct mcds__replica_flush *flush)
{
    const struct mcds__replica *replica = flush->replica;
    if (!flush->counted)
        flush->target = replica->added;
    flush->counted = true;
    bool is_done = replica->flushed >= flush->target ||
                   replica->flushed + replica->withdrawn == replica->added;
    return is_done && !(flush->leaves && replica->owner != 0);
}

/* This flush stores everything added until now. */
static void take_amount(struct mcds__replica_flush *flush)
{
    struct mcds__replica *replica = flush->replica;
    assert(replica->busy && replica->owner != 0);
    flush->amount = replica->total;
    flush->added = replica->added;
    replica->version++;
}

static void end_hold(struct mcds__replica_flush *flush, bool failed)
{
    struct mcds__replica *replica = flush->replica;
    (void)pthread_mutex_lock(&replica->mutex);
    assert(flush->holds && replica->busy);
    replica->busy = false;
    replica->failed = failed;
    replica->flushed_ns = mcds__monotonic_ns(replica->env);
    (void)pthread_mutex_unlock(&replica->mutex);
    flush->holds = false;
}

void mcds__replica_flush_end(struct mcds__replica_flush *flush)
{
    if (!flush->holds)
        return;
    if (flush->stage == WRITE)
        mcds__replica_note_sent(flush);
    end_hold(flush, true);
}

/* The entry is stored. */
static void commit(struct mcds__replica_flush *flush)
{
    struct mcds__replica *replica = flush->replica;
    bool left = flush->leaves || flush->moves;
    (void)pthread_mutex_lock(&replica->mutex);
    assert(flush->holds && replica->owner != 0);
    assert(replica->flushed <= flush->added && flush->added <= replica->added);
    replica->seen = true;
    replica->stored = flush->amount;
    replica->flushed = flush->added;
    replica->withdrawn = 0;
    replica->doubt = false;
    replica->generations[replica->slot] = replica->state.generation;
    if (left) {
        replica->total -= flush->amount;
        replica->owner = 0;
        replica->moves++;
    }
    (void)pthread_mutex_unlock(&replica->mutex);
}

/* Take back the own addition, of which nothing was sent: no other flush runs meanwhile. */
static void replica_flush_withdraw(struct mcds__replica_flush *flush)
{
    struct mcds__replica *replica = flush->replica;
    (void)pthread_mutex_lock(&replica->mutex);
    if (flush->own.number > replica->sent && flush->own.number > replica->flushed) {
        assert(flush->holds && !flush->is_withdrawn);
        replica->total -= (uint64_t)flush->own.delta;
        replica->withdrawn++;
        flush->is_withdrawn = true;
    }
    (void)pthread_mutex_unlock(&replica->mutex);
}

static enum mcds__step replica_flush_finish(struct mcds__replica_flush *flush,
                                            struct mcds__operation *operation, int result)
{
    if (flush->holds)
        end_hold(flush, result != MCDS_OK);
    return mcds__operation_finish(operation, flush->is_stored ? MCDS_OK : result);
}

/* The flush fails with `result`. An earlier request may have arrived. */
static enum mcds__step replica_flush_fail(struct mcds__replica_flush *flush,
                                          struct mcds__operation *operation, int result)
{
    bool doubt = flush->holds && (flush->replica->doubt || flush->dropped);
    if (flush->holds)
        replica_flush_withdraw(flush);
    return replica_flush_finish(flush, operation,
                                doubt && !flush->is_withdrawn ? MCDS_AMBIGUOUS : result);
}

/* The flush fails because of `reply`. */
static enum mcds__step end_failed(struct mcds__replica_flush *flush,
                                  struct mcds__operation *operation, const mcds_reply *reply)
{
    (void)mcds__operation_fail_read(operation, reply);
    if (operation->result >= 0)
        (void)mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(SLOT_CHANGES));
    return replica_flush_fail(flush, operation, operation->result);
}

static enum mcds__step end_busy(struct mcds__replica_flush *flush,
                                struct mcds__operation *operation, const mcds_reason *detail)
{
    operation->detail = detail;
    return replica_flush_fail(flush, operation, MCDS_BUSY);
}

static enum mcds__step replica_flush_ask_survey(struct mcds__replica_flush *flush,
                                                struct mcds__operation *operation)
{
    flush->stage = SURVEY;
    flush->claims++;
    flush->survey.replica = flush->replica;
    return mcds__replica_ask_survey(&flush->survey, operation);
}

static enum mcds__step replica_flush_ask_write(struct mcds__replica_flush *flush,
                                               struct mcds__operation *operation)
{
    assert(flush->holds && flush->replica->owner != 0);
    flush->stage = WRITE;
    switch (mcds__replica_prepare(flush)) {
    case MCDS__REPLICA_PREPARED:
        return mcds__replica_ask_write(flush, operation);
    case MCDS__REPLICA_MISSED:
        flush->stage = TOMBSTONE;
        operation->connection = 0;
        return mcds__replica_ask_tombstones(flush->replica, flush->requests, operation);
    case MCDS__REPLICA_RESIGNED:
        return replica_flush_ask_survey(flush, operation);
    default:
        return end_busy(flush, operation, MCDS__WHY(TOO_MANY_WRITERS));
    }
}

/* After a commit: whether the handle was closed meanwhile, and something is left to store, be it only
 * that the handle has left. */
static bool shall_leave(struct mcds__replica_flush *flush)
{
    struct mcds__replica *replica = flush->replica;
    (void)pthread_mutex_lock(&replica->mutex);
    assert(flush->holds);
    bool leaves = replica->is_closing && !flush->leaves;
    if (leaves) {
        flush->leaves = flush->is_stored = true;
        flush->counted = false;
        leaves = !shall_rest(flush);
    }
    if (leaves && replica->owner != 0)
        take_amount(flush);
    (void)pthread_mutex_unlock(&replica->mutex);
    return leaves;
}

static enum mcds__step end_stored(struct mcds__replica_flush *flush,
                                  struct mcds__operation *operation)
{
    commit(flush);
    if (flush->dropped && !flush->is_stored) {
        operation->detail = MCDS__WHY(FLUSH_FORGOTTEN);
        return replica_flush_finish(flush, operation, MCDS_AMBIGUOUS);
    }
    if (!shall_leave(flush))
        return replica_flush_finish(flush, operation, MCDS_OK);
    return flush->replica->owner == 0 ? replica_flush_ask_survey(flush, operation)
                                      : replica_flush_ask_write(flush, operation);
}

/* Choose a slot: one that a writer has left, else one that does not exist, else the one with
 * the fewest writers. Returns false if something is damaged. */
static bool choose_slot(struct mcds__replica_flush *flush, struct mcds__operation *operation,
                        uint32_t most, uint32_t *slot_out)
{
    const struct mcds__replica *replica = flush->replica;
    uint32_t now_s = mcds__wall_s(replica->env);
    uint32_t best_rank = UINT32_MAX;
    uint64_t ties = 0;
    for (uint32_t slot = 0; slot < replica->slots; slot++) {
        struct mcds__replica_state state;
        int there = mcds__replica_gather(&flush->survey, operation, slot, &state);
        if (there < 0)
            return false;
        assert(there <= (int)replica->copies);
        uint32_t writers = there > 0 ? mcds__replica_writers(&state, now_s, 0) : 0;
        uint32_t rank = there == 0 ? 1 : 2 * writers;
        if (there > 0 && state.count >= most)
            rank = UINT32_MAX - 1;
        if (rank < best_rank) {
            best_rank = rank;
            ties = 0;
        }
        /* Each of several equal slots is chosen with the same probability. */
        if (rank == best_rank && mcds__random_u64(replica->env) % ++ties == 0)
            *slot_out = slot;
    }
    return true;
}

static void replica_flush_claim(struct mcds__replica_flush *flush,
                                struct mcds__operation *operation, uint32_t slot)
{
    struct mcds__replica *replica = flush->replica;
    assert(flush->holds && slot < replica->slots);
    replica->level = mcds__replica_adopt_survey(replica, &flush->survey, operation, slot);
    (void)pthread_mutex_lock(&replica->mutex);
    replica->slot = slot;
    replica->owner = mcds__random_u64(replica->env) | 1;
    replica->version = 0;
    replica->stored = 0;
    replica->issued = 0;
    replica->doubt = false;
    replica->known = false;
    for (uint32_t i = 0; i < replica->copies; i++)
        replica->copy[i].knows_tombstone = false;
    take_amount(flush);
    (void)pthread_mutex_unlock(&replica->mutex);
    flush->moves = false;
    flush->rounds = 0;
}

/* The head is written first, so slots without it are known to be remains. */
static enum mcds__step ask_found(struct mcds__replica_flush *flush,
                                 struct mcds__operation *operation)
{
    assert(flush->holds && flush->replica->owner != 0);
    struct mcds__replica *replica = flush->replica;
    flush->stage = FOUND;
    for (uint32_t i = 0; i < replica->copies; i++) {
        flush->requests[i] = mcds__replica_head_add(replica, i, flush->head);
        flush->requests[i].route = mcds__key_bytes(&replica->head);
    }
    return mcds__operation_ask_repeatable(operation, flush->requests, replica->copies);
}

static void unclaim(struct mcds__replica *replica)
{
    (void)pthread_mutex_lock(&replica->mutex);
    replica->owner = 0;
    (void)pthread_mutex_unlock(&replica->mutex);
}

static enum mcds__step replica_flush_take_found(struct mcds__replica_flush *flush,
                                                struct mcds__operation *operation)
{
    assert(flush->stage == FOUND);
    struct mcds__replica *replica = flush->replica;
    const mcds_reply *trouble = NULL;
    uint32_t founded = 0;
    for (uint32_t i = 0; i < replica->copies; i++) {
        const mcds_reply *reply = &flush->requests[i].reply;
        if (reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_NOT_STORED)
            founded++;
        else if (trouble == NULL || mcds__is_refusal(reply))
            trouble = reply;
    }
    assert(trouble != NULL || founded == replica->copies);
    if (trouble == NULL || founded > replica->copies / 2)
        return replica_flush_ask_write(flush, operation);
    if (replica->known) /* the entry is stored, and the next get adds the head */
        return end_stored(flush, operation);
    unclaim(replica);
    flush->stage = BEGIN;
    if (!mcds__is_refusal(trouble) && mcds__operation_again(operation))
        return MCDS__SLEEP;
    return end_failed(flush, operation, trouble);
}

static enum mcds__step replica_flush_take_survey(struct mcds__replica_flush *flush,
                                                 struct mcds__operation *operation)
{
    assert(flush->holds && flush->claims > 0);
    enum mcds__replica_server servers[MCDS__REPLICA_COPIES_MAX];
    uint32_t slot = 0;
    enum mcds__replica_verdict verdict = mcds__replica_judge(&flush->survey, operation,
                                                             servers);
    if (verdict == MCDS__REPLICA_FOREIGN)
        return replica_flush_fail(flush, operation, MCDS_INVALID);
    if (verdict == MCDS__REPLICA_AWAY) {
        const mcds_reply *trouble = mcds__replica_trouble(&flush->survey);
        if (trouble == NULL)
            return end_busy(flush, operation, MCDS__WHY(MOST_SERVERS_LOST));
        flush->claims--;
        flush->stage = BEGIN;
        if (!mcds__is_refusal(trouble) && mcds__operation_again(operation))
            return MCDS__SLEEP;
        return end_failed(flush, operation, trouble);
    }
    if (!mcds__store_can(operation->store).compare_and_set) {
        operation->detail = MCDS__WHY(NO_COMPARE_AND_SET);
        return replica_flush_fail(flush, operation, MCDS_UNSUPPORTED);
    }
    bool all_answer = true;
    for (uint32_t i = 0; i < flush->replica->copies; i++)
        all_answer = all_answer && servers[i] != MCDS__REPLICA_SILENT;
    if (!choose_slot(flush, operation, mcds__replica_room(all_answer), &slot))
        return replica_flush_fail(flush, operation, MCDS_CORRUPT);
    replica_flush_claim(flush, operation, slot);
    flush->wants_head = verdict != MCDS__REPLICA_LOST;
    if (verdict == MCDS__REPLICA_NONE)
        return ask_found(flush, operation);
    return replica_flush_ask_write(flush, operation);
}

/* Another writer has taken the chosen slot first, and the slot holds nothing of this handle. */
static bool shall_choose_again(const struct mcds__replica_flush *flush)
{
    const struct mcds__replica *replica = flush->replica;
    uint32_t now_s = mcds__wall_s(replica->env);
    return !replica->known && !replica->doubt && flush->claims < CLAIMS_MAX &&
           mcds__replica_writers(&replica->state, now_s, replica->owner) > 0;
}

/* Not stored yet: try once more, now or after a pause. */
static enum mcds__step replica_flush_go_on(struct mcds__replica_flush *flush,
                                           struct mcds__operation *operation,
                                           const struct mcds__replica_round *round)
{
    struct mcds__replica *replica = flush->replica;
    assert(flush->holds && round->shown <= replica->copies / 2);
    flush->stage = WRITE_AGAIN;
    if (replica->copies - round->refused <= replica->copies / 2) {
        assert(round->refusal != NULL);
        return end_failed(flush, operation, round->refusal);
    }
    if (round->without_token > replica->copies / 2) {
        operation->detail = MCDS__WHY(NO_COMPARE_AND_SET);
        return replica_flush_fail(flush, operation, MCDS_UNSUPPORTED);
    }
    if (round->reached <= replica->copies / 2) {
        if (mcds__operation_again(operation))
            return MCDS__SLEEP;
        assert(round->trouble != NULL);
        return end_failed(flush, operation, round->trouble);
    }
    if (shall_choose_again(flush)) {
        unclaim(replica);
        return replica_flush_ask_survey(flush, operation);
    }
    if (++flush->rounds >= ROUNDS_MAX || mcds__operation_is_late(operation))
        return end_busy(flush, operation, MCDS__WHY(SLOT_CHANGES));
    uint32_t now_s = mcds__wall_s(replica->env);
    if (round->conflict && replica->moves < MOVES_MAX &&
        mcds__replica_writers(&replica->state, now_s, replica->owner) > 0)
        flush->moves = true;
    if (flush->rounds <= 2)
        return replica_flush_ask_write(flush, operation);
    if (mcds__operation_wait(operation, 0))
        return MCDS__SLEEP;
    return end_busy(flush, operation, MCDS__WHY(SLOT_CHANGES));
}

static enum mcds__step take_write(struct mcds__replica_flush *flush,
                                  struct mcds__operation *operation)
{
    assert(flush->stage == WRITE && flush->holds);
    struct mcds__replica_round round;
    if (!mcds__replica_take_write(flush, operation, &round))
        return replica_flush_fail(flush, operation, MCDS_CORRUPT);
    bool is_headless = round.headless > flush->replica->copies / 2;
    if (round.shown > flush->replica->copies / 2)
        return is_headless && ++flush->rounds < ROUNDS_MAX ? ask_found(flush, operation)
                                                           : end_stored(flush, operation);
    return replica_flush_go_on(flush, operation, &round);
}

/* The counter was dropped: what is not stored goes to the life after the drop. */
static enum mcds__step leave_life(struct mcds__replica_flush *flush,
                                  struct mcds__operation *operation)
{
    struct mcds__replica *replica = flush->replica;
    (void)pthread_mutex_lock(&replica->mutex);
    assert(flush->holds && replica->busy);
    mcds__replica_forget_life(replica);
    bool rests = shall_rest(flush);
    (void)pthread_mutex_unlock(&replica->mutex);
    return rests ? replica_flush_finish(flush, operation, MCDS_OK)
                 : replica_flush_ask_survey(flush, operation);
}

static enum mcds__step take_tombstones(struct mcds__replica_flush *flush,
                                       struct mcds__operation *operation)
{
    assert(flush->stage == TOMBSTONE && flush->holds);
    const struct mcds__replica *replica = flush->replica;
    const mcds_reply *trouble = NULL;
    uint32_t answered = 0;
    if (mcds__replica_was_dropped(replica, flush->requests, operation))
        return leave_life(flush, operation);
    for (uint32_t i = 0; i < replica->copies; i++) {
        const mcds_reply *reply = &flush->requests[i].reply;
        bool is_answer = reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS;
        answered += is_answer;
        trouble = is_answer ? trouble : reply;
    }
    flush->is_lost = answered > replica->copies / 2;
    flush->may_fill = !mcds__replica_is_being_dropped(replica, flush->requests);
    flush->stage = WRITE_AGAIN;
    if (flush->is_lost)
        return replica_flush_ask_write(flush, operation);
    if (!mcds__is_refusal(trouble) && mcds__operation_again(operation))
        return MCDS__SLEEP;
    return end_failed(flush, operation, trouble);
}

static enum mcds__step replica_flush_begin(struct mcds__replica_flush *flush,
                                           struct mcds__operation *operation)
{
    struct mcds__replica *replica = flush->replica;
    if (!flush->holds) {
        (void)pthread_mutex_lock(&replica->mutex);
        bool rests = shall_rest(flush);
        flush->holds = !rests && !replica->busy;
        replica->busy = replica->busy || flush->holds;
        flush->leaves = flush->leaves || (flush->holds && replica->is_closing);
        assert(rests || replica->busy);
        if (flush->holds && replica->owner != 0)
            take_amount(flush);
        (void)pthread_mutex_unlock(&replica->mutex);
        if (rests || (!flush->holds && !flush->waits))
            return mcds__operation_finish(operation, MCDS_OK);
        if (!flush->holds && mcds__operation_wait(operation, NS_PER_MS))
            return MCDS__SLEEP;
        if (!flush->holds)
            return end_busy(flush, operation, MCDS__WHY(OTHER_FLUSH));
    }
    assert(flush->holds);
    return replica->owner == 0 ? replica_flush_ask_survey(flush, operation)
                               : replica_flush_ask_write(flush, operation);
}

void mcds__replica_flush_begin(struct mcds__replica_flush *flush, struct mcds__replica *replica)
{
    memset(flush, 0, offsetof(struct mcds__replica_flush, survey));
    flush->replica = replica;
}

enum mcds__step mcds__replica_flush_step(struct mcds__replica_flush *flush,
                                         struct mcds__operation *operation)
{
    assert(flush->stage <= TOMBSTONE);
    switch (flush->stage) {
    case BEGIN:
        return replica_flush_begin(flush, operation);
    case SURVEY:
        return replica_flush_take_survey(flush, operation);
    case FOUND:
        return replica_flush_take_found(flush, operation);
    case WRITE:
        return take_write(flush, operation);
    case TOMBSTONE:
        return take_tombstones(flush, operation);
    default:
        return replica_flush_ask_write(flush, operation);
    }
}
