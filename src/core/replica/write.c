/* Replica: one round of writing the entry of this handle to all copies of its slot. */
#include "core/replica/write.h"

#include <assert.h>

#include "base/buffer.h"
#include "base/environment.h"

/* Rounds after which a missing copy is created in any case: else a majority may not be reached. */
#define PATIENCE 3

/* Collects the contents of the copies. */
struct gathering {
    mcds_bytes first;
    uint32_t there;
    bool alike;
};

/* Merge one more copy. False: damaged, or too many writers. */
static bool replica_write_gather(struct mcds__replica *replica, struct gathering *gathering,
                                 struct mcds__operation *operation, const mcds_request *request)
{
    assert(gathering->there < replica->copies);
    struct mcds__replica_state state;
    mcds_bytes value = mcds__operation_value(operation, request);
    if (!mcds__replica_decode(value, request->key, &state))
        return false;
    if (gathering->there++ == 0) {
        mcds__replica_copy_state(&replica->state, &state);
        gathering->first = value;
        gathering->alike = true;
        return true;
    }
    gathering->alike = gathering->alike && mcds__bytes_same(value, gathering->first);
    return mcds__replica_merge(&replica->state, &state);
}

/* Record the state of one copy from the reply to a GET. */
static void see_copy(struct mcds__replica_copy *copy, const mcds_reply *reply)
{
    copy->sight = MCDS__REPLICA_UNSEEN;
    if (reply->outcome == MCDS_OUT_MISS)
        copy->sight = MCDS__REPLICA_MISSING;
    if (reply->outcome == MCDS_OUT_OK && reply->cas.connection != 0) {
        copy->sight = MCDS__REPLICA_THERE;
        copy->cas = reply->cas;
    }
}

bool mcds__replica_adopt_survey(struct mcds__replica *replica,
                                const struct mcds__replica_survey *survey,
                                struct mcds__operation *operation, uint32_t slot)
{
    assert(slot < replica->slots);
    struct gathering gathering = {{NULL, 0}, 0, false};
    mcds__replica_clear_state(&replica->state);
    for (uint32_t i = 0; i < replica->copies; i++) {
        const mcds_request *request = mcds__replica_reply(survey, i, slot);
        see_copy(&replica->copy[i], &request->reply);
        if (replica->copy[i].sight == MCDS__REPLICA_THERE)
            (void)replica_write_gather(replica, &gathering, operation,
                                       request); /* the survey was read before */
    }
    replica->is_kept = gathering.there > replica->copies / 2;
    return gathering.there == replica->copies && gathering.alike;
}

static uint32_t count_sight(const struct mcds__replica *replica, enum mcds__replica_sight sight)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < replica->copies; i++)
        count += replica->copy[i].sight == sight;
    return count;
}

/* The entry is missing. Either the server had lost the slot, and then it holds nothing of this
 * handle; or the handle was idle for so long that the entry was settled and dropped. */
static bool was_forgotten(const struct mcds__replica *replica)
{
    return replica->known && replica->state.generation == replica->generation &&
           replica->state.epoch >= replica->epoch + 2;
}

/* The stored total is in the base. The total that was sent last is given up. */
static void resign(struct mcds__replica_flush *flush)
{
    struct mcds__replica *replica = flush->replica;
    (void)pthread_mutex_lock(&replica->mutex);
    assert(replica->owner != 0 && flush->holds);
    replica->total -= replica->doubt ? replica->issued : replica->stored;
    replica->owner = 0;
    flush->dropped = flush->dropped || replica->doubt;
    (void)pthread_mutex_unlock(&replica->mutex);
}

/* Whether the slot contained more than the own entry. */
static bool holds_of_others(const struct mcds__replica *replica)
{
    for (uint32_t i = 0; i < replica->state.count; i++)
        if (replica->state.entries[i].owner != replica->owner)
            return true;
    return replica->state.base != 0;
}

/* Whether the entry that was stored is missing, also in one copy, and it is not known why. */
static bool replica_write_must_look(const struct mcds__replica_flush *flush, uint32_t there)
{
    struct mcds__replica *replica = flush->replica;
    bool is_missed = there == 0 || count_sight(replica, MCDS__REPLICA_MISSING) > 0 ||
                     mcds__replica_find(&replica->state, replica->owner) == NULL;
    return is_missed && replica->known && !flush->is_lost &&
           mcds__replica_knows_tombstones(replica);
}

enum mcds__replica_prepared mcds__replica_prepare(struct mcds__replica_flush *flush)
{
    struct mcds__replica *replica = flush->replica;
    struct mcds__replica_state *state = &replica->state;
    uint32_t now_s = mcds__wall_s(replica->env);
    uint32_t there = count_sight(replica, MCDS__REPLICA_THERE);
    assert(there <= replica->copies && replica->owner != 0);
    if (there == 0 && count_sight(replica, MCDS__REPLICA_MISSING) <= replica->copies / 2)
        return MCDS__REPLICA_PREPARED; /* this round only reads */
    if (replica_write_must_look(flush, there))
        return MCDS__REPLICA_MISSED;
    flush->is_lost = false;
    if (there == 0) {
        if (replica->known && replica->is_kept && holds_of_others(replica))
            replica->reborn = true;
        replica->is_kept = false;
        mcds__replica_clear_state(state);
        state->generation = replica->copies == 1 ? mcds__random_u64(replica->env) | 1 : 0;
    }
    uint32_t most = mcds__replica_room(count_sight(replica, MCDS__REPLICA_UNSEEN) == 0);
    if (replica->level)
        mcds__replica_compact(state, now_s);
    replica->level = false;
    mcds__replica_mark(state, now_s, replica->owner);
    struct mcds__replica_entry *entry = mcds__replica_find(state, replica->owner);
    if (entry == NULL && there > 0 && was_forgotten(replica)) {
        resign(flush);
        return MCDS__REPLICA_RESIGNED;
    }
    if (entry == NULL && (replica->known || state->count < most))
        entry = mcds__replica_insert(state, replica->owner);
    if (entry == NULL)
        return MCDS__REPLICA_CROWDED;
    assert(entry->owner == replica->owner && entry->version <= replica->version);
    entry->version = replica->version;
    entry->mine = flush->amount;
    entry->seen_s = now_s;
    entry->flags = flush->leaves || flush->moves ? MCDS__REPLICA_LEFT : 0;
    flush->generation = state->generation;
    flush->epoch = state->epoch;
    return MCDS__REPLICA_PREPARED;
}

/* A missing copy is created again when its contents are known and no drop is erasing the others. */
static bool may_write(const struct mcds__replica_flush *flush, uint32_t copy)
{
    const struct mcds__replica *replica = flush->replica;
    assert(copy < replica->copies);
    switch (replica->copy[copy].sight) {
    case MCDS__REPLICA_THERE:
        return true;
    case MCDS__REPLICA_MISSING:
        if (count_sight(replica, MCDS__REPLICA_THERE) > 0)
            return flush->may_fill || flush->rounds >= PATIENCE;
        return count_sight(replica, MCDS__REPLICA_MISSING) > replica->copies / 2;
    default:
        return false;
    }
}

/* Add a request for copy `i`; returns its index. */
static int8_t replica_write_put_request(struct mcds__replica_flush *flush, uint32_t *count,
                                        uint32_t i, mcds_request request)
{
    assert(*count < sizeof flush->requests / sizeof flush->requests[0]);
    request.copy = i;
    request.route = mcds__key_bytes(&flush->replica->head);
    flush->requests[*count] = request;
    return (int8_t)(*count)++;
}

static mcds_request get_head(const struct mcds__replica *replica)
{
    return (mcds_request){
        .command = MCDS_GET, .options = MCDS_NO_VALUE, .key = mcds__key_bytes(&replica->head)};
}

enum mcds__step mcds__replica_ask_write(struct mcds__replica_flush *flush,
                                        struct mcds__operation *operation)
{
    struct mcds__replica *replica = flush->replica;
    assert(replica->slot < replica->slots);
    mcds_bytes key = mcds__key_bytes(&replica->keys[replica->slot]);
    mcds_bytes value = {flush->value, mcds__replica_encode(&replica->state, key, flush->value)};
    uint32_t count = 0;
    bool learns = !mcds__replica_knows_tombstones(replica);
    operation->connection = 0;
    for (uint32_t i = 0; i < replica->copies; i++) {
        mcds_request write = {
            .command = MCDS_ADD, .options = MCDS_NEEDS_CAS, .key = key, .value = value};
        flush->tombstone_at[i] = -1;
        flush->write_at[i] = -1;
        if (learns) /* before the write: a later drop sets another tombstone */
            flush->tombstone_at[i] = replica_write_put_request(
                flush, &count, i, mcds__replica_tombstone_get(replica, i));
        if (replica->copy[i].sight == MCDS__REPLICA_THERE) {
            write.command = MCDS_CAS;
            write.cas = replica->copy[i].cas;
            operation->connection = write.cas.connection;
        }
        if (may_write(flush, i))
            flush->write_at[i] = replica_write_put_request(flush, &count, i, write);
        flush->survey_at[i] = replica_write_put_request(
            flush, &count, i, (mcds_request){.command = MCDS_GET, .key = key});
        flush->head_at[i] = -1;
        if (flush->wants_head)
            flush->head_at[i] = replica_write_put_request(flush, &count, i, get_head(replica));
    }
    assert(count >= replica->copies && count <= 4 * replica->copies);
    return mcds__operation_ask_repeatable(operation, flush->requests, count);
}

void mcds__replica_note_sent(struct mcds__replica_flush *flush)
{
    struct mcds__replica *replica = flush->replica;
    (void)pthread_mutex_lock(&replica->mutex);
    assert(replica->owner != 0 && flush->added <= replica->added);
    replica->issued = flush->amount;
    if (flush->added > replica->sent)
        replica->sent = flush->added;
    replica->doubt = true;
    replica->known = true;
    replica->generation = flush->generation;
    replica->epoch = flush->epoch;
    (void)pthread_mutex_unlock(&replica->mutex);
}

/* The reply to a write of copy `i`, if there was one. */
static void replica_write_take_written(struct mcds__replica_flush *flush, uint32_t i,
                                       struct mcds__replica_round *round)
{
    if (flush->write_at[i] < 0)
        return;
    const mcds_reply *reply = &flush->requests[flush->write_at[i]].reply;
    assert(flush->requests[flush->write_at[i]].copy == i);
    switch (reply->outcome) {
    case MCDS_OUT_OK:
    case MCDS_OUT_UNKNOWN:
        mcds__replica_note_sent(flush);
        break;
    case MCDS_OUT_EXISTS:
    case MCDS_OUT_NOT_STORED:
        round->conflict = true;
        break;
    default:
        if (mcds__is_refusal(reply)) {
            round->refused++;
            round->refusal = reply;
        }
    }
}

/* Whether the state that was just read from a copy contains the total of this flush. */
static bool is_shown(struct mcds__replica_flush *flush, struct mcds__operation *operation,
                     const mcds_request *survey)
{
    struct mcds__replica_state state;
    if (!mcds__replica_decode(mcds__operation_value(operation, survey), survey->key, &state))
        return false;
    const struct mcds__replica_entry *entry = mcds__replica_find(&state, flush->replica->owner);
    bool left = entry != NULL && (entry->flags & MCDS__REPLICA_LEFT) != 0;
    return entry != NULL && entry->version == flush->replica->version &&
           left == (flush->leaves || flush->moves);
}

bool mcds__replica_take_write(struct mcds__replica_flush *flush,
                              struct mcds__operation *operation,
                              struct mcds__replica_round *round_out)
{
    struct mcds__replica *replica = flush->replica;
    struct gathering gathering = {{NULL, 0}, 0, false};
    *round_out = (struct mcds__replica_round){0};
    for (uint32_t i = 0; i < replica->copies; i++) {
        const mcds_request *survey = &flush->requests[flush->survey_at[i]];
        if (flush->tombstone_at[i] >= 0)
            mcds__replica_learn_tombstone(replica, i, operation,
                                          &flush->requests[flush->tombstone_at[i]]);
        if (flush->head_at[i] >= 0)
            round_out->headless += flush->requests[flush->head_at[i]].reply.outcome ==
                                   MCDS_OUT_MISS;
        replica_write_take_written(flush, i, round_out);
        see_copy(&replica->copy[i], &survey->reply);
        if (replica->copy[i].sight == MCDS__REPLICA_UNSEEN) {
            round_out->trouble = &survey->reply;
            round_out->without_token += survey->reply.outcome == MCDS_OUT_OK;
            if (flush->write_at[i] >= 0 &&
                flush->requests[flush->write_at[i]].reply.outcome == MCDS_OUT_OK)
                round_out->shown++;
            continue;
        }
        round_out->reached++;
        if (replica->copy[i].sight == MCDS__REPLICA_MISSING)
            continue;
        if (!replica_write_gather(replica, &gathering, operation, survey))
            return false;
        round_out->shown += is_shown(flush, operation, survey);
    }
    assert(round_out->shown <= replica->copies && round_out->reached <= replica->copies);
    replica->level = gathering.there == replica->copies && gathering.alike;
    replica->is_kept = replica->is_kept || gathering.there > replica->copies / 2;
    return true;
}
