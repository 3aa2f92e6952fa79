/* Replica: read the sum, and repair servers that lack slots.
 *
 *   SURVEY     get all slots; twice before a loss is reported
 *   TOMBSTONE  get the tombstones of a drop, when the own entry is missing
 *   YOUNG      get the tombstones, before anything is filled
 *   FILL       add or cas each copy of a slot that is missing or old; if no majority has all that was
 *              added up, SURVEY again where a copy has changed meanwhile
 *   FOUND      add the head to servers that hold all slots again */
#include <assert.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/replica/write.h"

/* A reader updates a copy that is older than this. Before that, its writer probably does. */
#define LAG_S 2
/* Surveys of one read. Others that write meanwhile also merge what they find. */
#define ROUNDS_MAX 4
#define VALUES_MAX ((size_t)MCDS_BATCH_MAX * MCDS__REPLICA_VALUE_MAX)

enum { BEGIN, SURVEY, TOMBSTONE, YOUNG, FILL, FOUND };

static enum mcds__step replica_read_ask_survey(struct mcds__replica_read *read,
                                               struct mcds__operation *operation)
{
    struct mcds__replica *replica = read->survey.replica;
    (void)pthread_mutex_lock(&replica->mutex);
    read->owner = replica->owner;
    read->moves = replica->moves;
    (void)pthread_mutex_unlock(&replica->mutex);
    read->stage = SURVEY;
    return mcds__replica_ask_survey(&read->survey, operation);
}

/* The part of this handle's total that its slot in the store does not contain. */
static uint64_t own_rest(const struct mcds__replica *replica, struct mcds__replica_state *state)
{
    const struct mcds__replica_entry *entry = mcds__replica_find(state, replica->owner);
    if (entry != NULL)
        return replica->total - entry->mine;
    bool settled = replica->known && state->count > 0 &&
                   state->generation == replica->generation &&
                   state->epoch >= replica->epoch + 2;
    if (!settled)
        return replica->total;
    return replica->total - (replica->doubt ? replica->issued : replica->stored);
}

/* Whether this handle has seen another generation of the slot. The mutex is held. */
static bool was_reborn(struct mcds__replica *replica, uint32_t slot, int there,
                       uint64_t generation)
{
    assert(slot < replica->slots);
    uint64_t *known = &replica->generations[slot];
    if (there == 0)
        return *known != 0;
    if (*known == 0)
        *known = generation;
    return *known != generation;
}

/* Add up all slots. The mutex is held. Returns a result. */
static int sum_slots(struct mcds__replica_read *read, struct mcds__operation *operation)
{
    struct mcds__replica *replica = read->survey.replica;
    int64_t whole = replica->owner == 0 ? (int64_t)replica->total : 0;
    bool leaves_range = false;
    for (uint32_t slot = 0; slot < replica->slots; slot++) {
        struct mcds__replica_state state;
        mcds__replica_clear_state(&state);
        int there = mcds__replica_gather(&read->survey, operation, slot, &state);
        if (there < 0)
            return MCDS_CORRUPT;
        bool own = replica->owner != 0 && slot == replica->slot;
        if (!own && was_reborn(replica, slot, there, state.generation))
            read->reborn = true;
        uint64_t sum = mcds__replica_sum(&state);
        if (own)
            sum += own_rest(replica, &state);
        leaves_range = leaves_range || __builtin_add_overflow(whole, (int64_t)sum, &whole);
    }
    if (leaves_range || whole >= MCDS_COUNTER_MAX || whole <= -MCDS_COUNTER_MAX)
        return MCDS_OVERFLOW;
    assert(whole < MCDS_COUNTER_MAX && whole > -MCDS_COUNTER_MAX);
    read->value = whole;
    return MCDS_OK;
}

/* Write `state` to copy `i` of a slot. False: the batch is full. */
static bool fill_copy(struct mcds__replica_read *read, uint32_t copy, uint32_t slot,
                      size_t value_at, size_t length)
{
    const struct mcds__replica *replica = read->survey.replica;
    const mcds_request *survey = mcds__replica_reply(&read->survey, copy, slot);
    bool there = survey->reply.outcome == MCDS_OUT_OK;
    assert(length > 0 && value_at + length <= read->values.length);
    if (read->repairs == MCDS_BATCH_MAX)
        return false;
    assert(read->repairs < MCDS_BATCH_MAX);
    mcds_request *request = &read->requests[read->repairs++];
    *request = (mcds_request){
        .command = there ? MCDS_CAS : MCDS_ADD,
        .key = survey->key,
        .value = {NULL, length},
        .route = mcds__key_bytes(&replica->head),
        .copy = copy,
    };
    request->reply.value_at = value_at; /* an offset until the buffer has stopped growing */
    if (there)
        request->cas = survey->reply.cas;
    return true;
}

static bool copy_holds(const struct mcds__replica_read *read, struct mcds__operation *operation,
                       uint32_t copy, uint32_t slot, mcds_bytes value)
{
    mcds_bytes holds = mcds__operation_value(operation,
                                             mcds__replica_reply(&read->survey, copy, slot));
    return mcds__bytes_same(holds, value);
}

/* Whether a majority of the copies holds this state. If not, its writer may have died between the
 * copies, and the value that is read could fall back when one server is lost. */
static bool is_on_majority(const struct mcds__replica_read *read,
                           struct mcds__operation *operation, uint32_t slot, mcds_bytes value)
{
    const struct mcds__replica *replica = read->survey.replica;
    uint32_t count = 0;
    for (uint32_t copy = 0; copy < replica->copies; copy++)
        count += read->servers[copy] == MCDS__REPLICA_WHOLE &&
                 copy_holds(read, operation, copy, slot, value);
    return count > replica->copies / 2;
}

/* Find the entries that the copies of a slot lack. */
static void compare_copies(struct mcds__replica_read *read, struct mcds__operation *operation,
                           uint32_t slot, uint32_t now_s)
{
    assert(read->survey.replica->copies > 1);
    const struct mcds__replica *replica = read->survey.replica;
    struct mcds__replica_state state;
    uint8_t value[MCDS__REPLICA_VALUE_MAX];
    size_t at = read->values.length;
    if (mcds__replica_gather(&read->survey, operation, slot, &state) <= 0)
        return;
    size_t length = mcds__replica_encode(&state, mcds__key_bytes(&replica->keys[slot]), value);
    bool is_kept = is_on_majority(read, operation, slot, (mcds_bytes){value, length});
    bool lags = (uint64_t)mcds__replica_newest_s(&state) + LAG_S < now_s || !is_kept;
    read->is_unkept = read->is_unkept || !is_kept;
    for (uint32_t copy = 0; copy < replica->copies; copy++) {
        bool empty = read->servers[copy] == MCDS__REPLICA_EMPTY;
        if (!empty && !(lags && read->servers[copy] == MCDS__REPLICA_WHOLE))
            continue;
        if (copy_holds(read, operation, copy, slot, (mcds_bytes){value, length}))
            continue;
        if (read->values.length == at && !mcds_buffer_append(&read->values, value, length))
            read->filled[copy] = false;
        else if (!fill_copy(read, copy, slot, at, length))
            read->filled[copy] = false;
    }
}

static enum mcds__step ask_heads(struct mcds__replica_read *read,
                                 struct mcds__operation *operation)
{
    const struct mcds__replica *replica = read->survey.replica;
    uint32_t count = 0;
    for (uint32_t copy = 0; copy < replica->copies; copy++) {
        if (!read->filled[copy])
            continue;
        read->requests[count] = mcds__replica_head_add(replica, copy, read->head);
        read->requests[count++].route = mcds__key_bytes(&replica->head);
    }
    if (count == 0)
        return mcds__operation_finish(operation, MCDS_OK);
    assert(count <= read->survey.replica->copies);
    read->stage = FOUND;
    return mcds__operation_ask_repeatable(operation, read->requests, count);
}

static bool lacks_head(const struct mcds__replica_read *read)
{
    for (uint32_t copy = 0; copy < read->survey.replica->copies; copy++)
        if (read->filled[copy])
            return true;
    return false;
}

static enum mcds__step replica_read_fill(struct mcds__replica_read *read,
                                         struct mcds__operation *operation)
{
    if (read->repairs == 0)
        return ask_heads(read, operation);
    for (uint32_t i = 0; i < read->repairs; i++)
        read->requests[i].value.data = read->values.data + read->requests[i].reply.value_at;
    read->stage = FILL;
    operation->connection = 0;
    return mcds__operation_ask_repeatable(operation, read->requests, read->repairs);
}

/* The sum is known; complete the servers that lack something, as far as possible. */
static enum mcds__step ask_fill(struct mcds__replica_read *read,
                                struct mcds__operation *operation)
{
    assert(read->stage == BEGIN && read->repairs == 0);
    const struct mcds__replica *replica = read->survey.replica;
    uint32_t now_s = mcds__wall_s(replica->env);
    for (uint32_t copy = 0; copy < replica->copies; copy++)
        read->filled[copy] = read->servers[copy] == MCDS__REPLICA_EMPTY;
    for (uint32_t slot = 0; slot < replica->slots && replica->copies > 1; slot++)
        compare_copies(read, operation, slot, now_s);
    if (read->repairs == 0 && !lacks_head(read))
        return mcds__operation_finish(operation, MCDS_OK);
    if (replica->copies == 1)
        return replica_read_fill(read, operation);
    read->stage = YOUNG;
    operation->connection = 0;
    return mcds__replica_ask_tombstones(replica, read->tombstones, operation);
}

/* A server may lack something because a drop has erased it, and erases the others next. */
static enum mcds__step take_young(struct mcds__replica_read *read,
                                  struct mcds__operation *operation)
{
    assert(read->stage == YOUNG);
    return mcds__replica_is_being_dropped(read->survey.replica, read->tombstones)
               ? mcds__operation_finish(operation, MCDS_OK)
               : replica_read_fill(read, operation);
}

static void read_begin_round(struct mcds__replica_read *read)
{
    read->stage = BEGIN;
    read->values.length = 0;
    read->repairs = 0;
    read->is_unkept = false;
}

static enum mcds__step take_fill(struct mcds__replica_read *read,
                                 struct mcds__operation *operation)
{
    assert(read->repairs > 0 && read->repairs <= MCDS_BATCH_MAX);
    bool is_done = true;
    for (uint32_t i = 0; i < read->repairs; i++)
        if (read->requests[i].reply.outcome != MCDS_OUT_OK) {
            read->filled[read->requests[i].copy] = false;
            is_done = false;
        }
    if (is_done || !read->is_unkept || ++read->rounds >= ROUNDS_MAX)
        return ask_heads(read, operation);
    read_begin_round(read);
    return replica_read_ask_survey(read, operation);
}

/* The store holds nothing; the handle may still hold a contribution. The mutex is held. */
static int replica_read_take_nothing(struct mcds__replica_read *read)
{
    assert(read->owner == read->survey.replica->owner);
    const struct mcds__replica *replica = read->survey.replica;
    read->value = (int64_t)replica->total;
    read->reborn = replica->seen;
    if (replica->total != 0)
        return MCDS_OK;
    return replica->seen ? MCDS_LOST : MCDS_NOT_FOUND;
}

/* Add up the survey. Returns a result, or MCDS_BUSY: this handle has claimed or left a slot meanwhile, so
 * the survey may contain a part of its total twice, or not at all. */
static int take_sum(struct mcds__replica_read *read, struct mcds__operation *operation,
                    enum mcds__replica_verdict verdict)
{
    struct mcds__replica *replica = read->survey.replica;
    int result = MCDS_BUSY;
    (void)pthread_mutex_lock(&replica->mutex);
    read->reborn = replica->reborn || verdict == MCDS__REPLICA_LOST;
    if (replica->owner == read->owner && replica->moves == read->moves)
        result = verdict == MCDS__REPLICA_NONE ? replica_read_take_nothing(read)
                                               : sum_slots(read, operation);
    replica->seen = replica->seen || (result == MCDS_OK && verdict != MCDS__REPLICA_NONE);
    (void)pthread_mutex_unlock(&replica->mutex);
    return result;
}

/* Whether the entry that this handle has stored is missing, and it is not known why. */
static bool read_must_look(struct mcds__replica_read *read, struct mcds__operation *operation)
{
    struct mcds__replica *replica = read->survey.replica;
    struct mcds__replica_state state;
    (void)pthread_mutex_lock(&replica->mutex);
    bool is_missing = !read->is_lost && !replica->busy && replica->owner != 0 &&
                      replica->owner == read->owner && replica->known &&
                      mcds__replica_knows_tombstones(replica);
    if (is_missing) {
        int there = mcds__replica_gather(&read->survey, operation, replica->slot, &state);
        is_missing = there == 0 ||
                     (there > 0 && mcds__replica_find(&state, replica->owner) == NULL);
    }
    (void)pthread_mutex_unlock(&replica->mutex);
    return is_missing;
}

/* The next survey shows either the life after the drop, or what is left after the loss. */
static enum mcds__step read_take_tombstones(struct mcds__replica_read *read,
                                            struct mcds__operation *operation)
{
    struct mcds__replica *replica = read->survey.replica;
    assert(read->stage == TOMBSTONE && !read->is_lost);
    (void)pthread_mutex_lock(&replica->mutex);
    if (!replica->busy && replica->owner == read->owner) {
        read->is_lost = !mcds__replica_was_dropped(replica, read->requests, operation);
        if (!read->is_lost)
            mcds__replica_forget_life(replica);
    }
    (void)pthread_mutex_unlock(&replica->mutex);
    read->stage = BEGIN;
    return replica_read_ask_survey(read, operation);
}

static enum mcds__step replica_read_take_survey(struct mcds__replica_read *read,
                                                struct mcds__operation *operation)
{
    enum mcds__replica_verdict verdict = mcds__replica_judge(&read->survey, operation,
                                                             read->servers);
    read->stage = BEGIN;
    if (verdict == MCDS__REPLICA_FOREIGN)
        return mcds__operation_finish(operation, MCDS_INVALID);
    /* A client that makes the counter writes most heads before the first slot. This survey may have
     * read some servers before that. */
    if (verdict == MCDS__REPLICA_LOST && !read->has_repeated) {
        read->has_repeated = true;
        return replica_read_ask_survey(read, operation);
    }
    if (verdict == MCDS__REPLICA_AWAY) {
        return mcds__operation_retry(operation, mcds__replica_trouble(&read->survey));
    }
    if (read_must_look(read, operation)) {
        read->stage = TOMBSTONE;
        return mcds__replica_ask_tombstones(read->survey.replica, read->requests, operation);
    }
    int result = take_sum(read, operation, verdict);
    if (result == MCDS_BUSY && mcds__operation_wait(operation, NS_PER_MS))
        return MCDS__SLEEP;
    if (result == MCDS_LOST || result == MCDS_BUSY)
        operation->detail = result == MCDS_LOST ? MCDS__WHY(COUNTER_GONE)
                                                : MCDS__WHY(SLOT_CHANGES);
    if (result != MCDS_OK || verdict == MCDS__REPLICA_NONE)
        return mcds__operation_finish(operation, result);
    return ask_fill(read, operation);
}

void mcds__replica_read_begin(struct mcds__replica_read *read, struct mcds__replica *replica)
{
    read->survey.replica = replica;
    read->stage = BEGIN;
    read->is_lost = false;
    read->has_repeated = false;
    read->rounds = 0;
    mcds__buffer_init(&read->values, replica->env, VALUES_MAX);
}

void mcds__replica_read_end(struct mcds__replica_read *read)
{
    mcds__buffer_free(&read->values);
}

enum mcds__step mcds__replica_read_step(struct mcds__replica_read *read,
                                        struct mcds__operation *operation)
{
    assert(read->stage <= FOUND);
    switch (read->stage) {
    case BEGIN:
        read_begin_round(read);
        return replica_read_ask_survey(read, operation);
    case SURVEY:
        return replica_read_take_survey(read, operation);
    case YOUNG:
        return take_young(read, operation);
    case FILL:
        return take_fill(read, operation);
    case TOMBSTONE:
        return read_take_tombstones(read, operation);
    default:
        return mcds__operation_finish(operation, MCDS_OK);
    }
}
