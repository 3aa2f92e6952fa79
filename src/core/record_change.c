/* Core record: one change. */
#include <stdatomic.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/record.h"

#define REMOVED_MS 600000

enum {
    CHANGE_LOADING,
    CHANGE_INTENDING,
    CHANGE_ADDING,
    CHANGE_CHECKING,
    CHANGE_WRITING,
    CHANGE_ERASING,
    CHANGE_PAUSING, /* before the same erasures are asked for again */
    CHANGE_RESTING  /* before the same check is asked for again */
};

enum { THEN_FINISH, THEN_LOAD, THEN_ADD };

void mcds__record_writer_init(struct mcds__record_writer *writer, const mcds_env *env)
{
    writer->id = mcds__random_u64(env);
    atomic_init(&writer->next_seq, 1);
}

void mcds__record_change_begin(struct mcds__record_change *change, const mcds_env *env,
                               struct mcds__record_writer *writer)
{
    mcds__record_load_begin(&change->load, env);
    change->writer = writer;
    change->stage = CHANGE_LOADING;
    change->doubt = false;
    change->id = (struct mcds__record_id){writer->id, atomic_fetch_add(&writer->next_seq, 1)};
    change->erased_count = 0;
    change->result = MCDS_OK;
    change->obstacle = (mcds_reply){.outcome = MCDS_OUT_OK};
    mcds__buffer_init(&change->fresh, env, (size_t)MCDS__RECORD_LENGTH_MAX);
    mcds__buffer_init(&change->root, env, (size_t)MCDS__RECORD_LENGTH_MAX);
}

void mcds__record_change_free(struct mcds__record_change *change, const mcds_env *env)
{
    mcds__record_load_free(&change->load, env);
    mcds__buffer_free(&change->fresh);
    mcds__buffer_free(&change->root);
}

static enum mcds__step finish(struct mcds__record_change *change,
                              struct mcds__operation *operation, int result,
                              const mcds_reason *detail)
{
    if (change->doubt && result != MCDS_OK)
        result = MCDS_AMBIGUOUS;
    return mcds__operation_explain(operation, result, detail);
}

static enum mcds__step load_later(struct mcds__record_change *change,
                                  struct mcds__operation *operation)
{
    change->stage = CHANGE_LOADING;
    if (mcds__operation_wait(operation, 0))
        return MCDS__SLEEP;
    if (!mcds__is_transport_trouble(&change->obstacle))
        return finish(change, operation, MCDS_BUSY, MCDS__WHY(OTHERS_CHANGE_IT));
    (void)mcds__operation_fail_read(operation, &change->obstacle);
    return finish(change, operation, operation->result, operation->detail);
}

/* Write what stands in `root`: over what was read, or where nothing is. */
static enum mcds__step ask_write(struct mcds__record_change *change,
                                 struct mcds__operation *operation, uint8_t stage,
                                 uint64_t ttl_ms)
{
    const struct mcds__record_load *load = &change->load;
    change->request = (mcds_request){
        .command = load->is_known ? MCDS_CAS : MCDS_ADD,
        .ttl_ms = ttl_ms,
        .key = mcds__key_bytes(&load->key),
        .value = {change->root.at, change->root.length},
        .cas = load->is_known ? load->token : (mcds_cas_token){0, 0},
    };
    change->stage = stage;
    operation->connection = change->request.cas.connection;
    return mcds__operation_ask_repeatable(operation, &change->request, 1);
}

/* The parts that the value stands in, or that somebody meant to write, go with the next one. */
static bool note_replaced(struct mcds__record_change *change, const mcds_env *env)
{
    const struct mcds__record_load *load = &change->load;
    change->replaced[0] = change->replaced[1] = (struct mcds__record_parts){0, 0, 0};
    if (!load->is_known)
        return true;
    if (load->value.kind == MCDS__RECORD_PARTED)
        change->replaced[0] = load->value.parts;
    change->replaced[1] = load->value.intent;
    return (change->replaced[0].count == 0 && change->replaced[1].count == 0) ||
           mcds__record_get_room(&change->load.room, env) != NULL;
}

static enum mcds__step write_root(struct mcds__record_change *change,
                                  struct mcds__operation *operation)
{
    if (!note_replaced(change, operation->env) ||
        !mcds__record_encode(&change->next, mcds__key_bytes(&change->load.key), &change->root))
        return finish(change, operation, MCDS_NO_MEMORY, NULL);
    change->base_is_known = change->load.is_known;
    change->base_generation = change->load.value.generation;
    change->base_version = change->load.value.version;
    return ask_write(change, operation, CHANGE_WRITING,
                     change->next.kind == MCDS__RECORD_REMOVED ? REMOVED_MS : 0);
}

static enum mcds__step add_parts(struct mcds__record_change *change,
                                 struct mcds__operation *operation)
{
    struct mcds__record_room *room = mcds__record_get_room(&change->load.room, operation->env);
    size_t length = mcds__record_part_length(operation->store);
    uint32_t count = 0;
    if (room == NULL)
        return finish(change, operation, MCDS_NO_MEMORY, NULL);
    for (uint32_t i = change->next_part;
         count < MCDS__RECORD_BATCH && i < change->next.parts.count; i++, count++) {
        size_t at = i * length;
        size_t left = change->fresh.length - at;
        mcds__record_part_key(&change->load.parts_key, change->next.parts.name, i,
                              &room->keys[count]);
        room->requests[count] = (mcds_request){
            .command = MCDS_SET, /* the name is ours alone: once or twice is the same */
            .key = mcds__key_bytes(&room->keys[count]),
            .value = {change->fresh.at + at, left < length ? left : length},
        };
    }
    change->stage = CHANGE_ADDING;
    operation->connection = 0;
    return mcds__operation_ask_any_order(operation, room->requests, count);
}

static void erase_later(struct mcds__record_change *change,
                        const struct mcds__record_parts *parts)
{
    if (parts->count > 0 && change->erased_count < 2)
        change->erased[change->erased_count++] = *parts;
}

/* Before the parts: whoever comes next knows what to erase should this writer die. */
static enum mcds__step tell_intent(struct mcds__record_change *change,
                                   struct mcds__operation *operation)
{
    struct mcds__record_value told = change->load.value;
    size_t length = mcds__record_part_length(operation->store);
    if (!change->load.is_known) {
        told = (struct mcds__record_value){0};
        told.generation = change->next.generation;
        told.kind = MCDS__RECORD_REMOVED;
    }
    if (change->fresh.length > MCDS__RECORD_PARTS_MAX * (uint64_t)length)
        return finish(change, operation, MCDS_TOO_BIG, NULL);
    change->next.parts = (struct mcds__record_parts){
        mcds__random_u64(operation->env) | 1,
        (uint32_t)((change->fresh.length + length - 1) / length),
        change->fresh.length,
    };
    change->erased_count = 0;
    erase_later(change, &told.intent);
    told.intent = change->next.parts;
    told.version++;
    if (!mcds__record_encode(&told, mcds__key_bytes(&change->load.key), &change->root))
        return finish(change, operation, MCDS_NO_MEMORY, NULL);
    return ask_write(change, operation, CHANGE_INTENDING, 0);
}

/* What is to be written, now that the old value is known. */
static enum mcds__step decide(struct mcds__record_change *change,
                              struct mcds__operation *operation)
{
    struct mcds__record_load *load = &change->load;
    change->fresh.length = 0;
    change->result = MCDS_OK;
    enum mcds__record_decision decision = change->decide(
        change->context, load->is_there ? &load->bytes : NULL, &change->fresh, &change->result);
    if (decision == MCDS__RECORD_LEAVE)
        return finish(change, operation, change->result, NULL);
    struct mcds__record_value *next = &change->next;
    *next = load->value;
    if (!load->is_known) {
        *next = (struct mcds__record_value){0};
        next->generation = (uint64_t)mcds__wall_ns(operation->env);
    }
    next->version++;
    next->intent = next->parts = (struct mcds__record_parts){0, 0, 0};
    mcds__record_push_id(next, change->id);
    next->kind = decision == MCDS__RECORD_REMOVE ? MCDS__RECORD_REMOVED : MCDS__RECORD_INLINE;
    next->inlined = (mcds_bytes){change->fresh.at, change->fresh.length};
    if (change->fresh.length <= mcds__record_part_length(operation->store) ||
        decision == MCDS__RECORD_REMOVE)
        return write_root(change, operation);
    next->kind = MCDS__RECORD_PARTED;
    return tell_intent(change, operation);
}

/* Eight keys in a round trip; where it fails they stay, and take room. */
static enum mcds__step erase(struct mcds__record_change *change,
                             struct mcds__operation *operation, uint8_t then)
{
    struct mcds__record_room *room = mcds__record_get_room(&change->load.room, operation->env);
    uint32_t count = 0;
    change->then = then;
    while (room != NULL && change->erased_count > 0 && count == 0) {
        const struct mcds__record_parts *parts = &change->erased[change->erased_count - 1];
        for (; count < MCDS__RECORD_BATCH && change->next_part < parts->count; count++) {
            mcds__record_part_key(&change->load.parts_key, parts->name, change->next_part++,
                                  &room->keys[count]);
            room->requests[count] = (mcds_request){.command = MCDS_DELETE,
                                                   .key = mcds__key_bytes(&room->keys[count])};
        }
        if (change->next_part == parts->count) {
            change->erased_count--;
            change->next_part = 0;
        }
    }
    operation->connection = 0;
    if (count > 0) {
        change->stage = CHANGE_ERASING;
        return mcds__operation_ask_any_order(operation, room->requests, count);
    }
    if (then == THEN_FINISH)
        return finish(change, operation, MCDS_OK, NULL);
    if (then == THEN_ADD)
        return add_parts(change, operation);
    return load_later(change, operation);
}

static enum mcds__step begin_erasing(struct mcds__record_change *change,
                                     struct mcds__operation *operation, uint8_t then)
{
    change->next_part = 0;
    return erase(change, operation, then);
}

/* The value is written: what it has replaced goes. */
static enum mcds__step take_success(struct mcds__record_change *change,
                                    struct mcds__operation *operation)
{
    change->doubt = false;
    change->erased_count = 0;
    for (int i = 0; i < 2; i++)
        if (change->replaced[i].name != change->next.parts.name)
            erase_later(change, &change->replaced[i]);
    return begin_erasing(change, operation, THEN_FINISH);
}

static bool was_lost(const struct mcds__record_change *change, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (mcds__is_transport_trouble(&change->load.room->requests[i].reply))
            return true;
    return false;
}

/* A request that was lost is repeated; one that the store refuses is not. When the time is over the
 * rest stays. */
static enum mcds__step take_erased(struct mcds__record_change *change,
                                   struct mcds__operation *operation)
{
    bool lost = was_lost(change, operation->batch.count);
    if (lost && mcds__operation_again(operation)) {
        change->stage = CHANGE_PAUSING;
        return MCDS__SLEEP;
    }
    if (lost && mcds__operation_is_late(operation)) {
        change->erased_count = 0;
        change->next_part = 0;
    }
    return erase(change, operation, change->then);
}

static enum mcds__step erase_again(struct mcds__record_change *change,
                                   struct mcds__operation *operation)
{
    change->stage = CHANGE_ERASING;
    return mcds__operation_ask_any_order(operation, change->load.room->requests,
                                         operation->batch.count);
}

/* The write in doubt was not applied and never will be. */
static enum mcds__step begin_anew(struct mcds__record_change *change,
                                  struct mcds__operation *operation)
{
    change->doubt = false;
    if (change->next.kind != MCDS__RECORD_PARTED)
        return decide(change, operation);
    change->erased_count = 0;
    erase_later(change, &change->next.parts);
    return begin_erasing(change, operation, THEN_LOAD);
}

/* What the key tells about a write whose reply was lost. */
static enum mcds__step resolve(struct mcds__record_change *change,
                               struct mcds__operation *operation)
{
    const struct mcds__record_load *load = &change->load;
    const struct mcds__record_value *value = &load->value;
    if (load->is_known && mcds__record_has_id(value, change->id))
        return take_success(change, operation);
    /* Written again, it would count twice if it had counted in a life that is gone. */
    if (!load->is_known)
        return finish(change, operation, MCDS_AMBIGUOUS,
                      change->base_is_known ? MCDS__WHY(KEY_VANISHED)
                                            : MCDS__WHY(KEY_IN_DOUBT));
    if (!change->base_is_known || value->generation != change->base_generation)
        return finish(change, operation, MCDS_AMBIGUOUS, MCDS__WHY(MADE_MEANWHILE));
    if (value->version == change->base_version)
        return ask_write(change, operation, CHANGE_WRITING,
                         change->next.kind == MCDS__RECORD_REMOVED ? REMOVED_MS : 0);
    if (value->version - change->base_version <= MCDS__RECORD_IDS)
        return begin_anew(change, operation);
    return finish(change, operation, MCDS_AMBIGUOUS, MCDS__WHY(CHANGED_TOO_OFTEN));
}

static enum mcds__step load(struct mcds__record_change *change,
                            struct mcds__operation *operation)
{
    operation->connection = 0;
    enum mcds__step step = mcds__record_load_step(&change->load, operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result != MCDS_OK)
        return finish(change, operation, operation->result, operation->detail);
    return change->doubt ? resolve(change, operation) : decide(change, operation);
}

static enum mcds__step take_intent(struct mcds__record_change *change,
                                   struct mcds__operation *operation)
{
    const mcds_reply *reply = &change->request.reply;
    change->obstacle = *reply;
    if (mcds__is_refusal(reply))
        return mcds__operation_fail(operation, reply);
    if (reply->outcome != MCDS_OUT_OK)
        return load_later(change, operation);
    return begin_erasing(change, operation, THEN_ADD);
}

/* The parts are there; the intent must still be ours. */
static enum mcds__step ask_check(struct mcds__record_change *change,
                                 struct mcds__operation *operation)
{
    change->request = (mcds_request){.command = MCDS_GET,
                                     .key = mcds__key_bytes(&change->load.key)};
    change->stage = CHANGE_CHECKING;
    return mcds__operation_ask_repeatable(operation, &change->request, 1);
}

static enum mcds__step give_up_parts(struct mcds__record_change *change,
                                     struct mcds__operation *operation)
{
    change->erased_count = 0;
    erase_later(change, &change->next.parts);
    return begin_erasing(change, operation, THEN_LOAD);
}

static enum mcds__step take_check(struct mcds__record_change *change,
                                  struct mcds__operation *operation)
{
    struct mcds__record_load *load = &change->load;
    const mcds_reply *reply = &change->request.reply;
    struct mcds__record_value value;
    change->obstacle = *reply;
    if (mcds__is_transport_trouble(reply) && mcds__operation_again(operation)) {
        change->stage = CHANGE_RESTING;
        return MCDS__SLEEP;
    }
    if (reply->outcome != MCDS_OUT_OK ||
        !mcds__record_decode(mcds__reply_value(&operation->batch, &change->request),
                             change->request.key, &value) ||
        value.intent.name != change->next.parts.name)
        return give_up_parts(change, operation);
    load->value = value;
    load->value.inlined = (mcds_bytes){NULL, 0};
    load->token = reply->cas;
    load->is_known = true;
    change->next.version = value.version + 1;
    return write_root(change, operation);
}

static enum mcds__step take_added(struct mcds__record_change *change,
                                  struct mcds__operation *operation)
{
    for (uint32_t i = 0; i < operation->batch.count; i++) {
        const mcds_reply *reply = &change->load.room->requests[i].reply;
        change->obstacle = *reply;
        if (reply->outcome == MCDS_OUT_OK)
            continue;
        if (mcds__is_refusal(reply))
            return mcds__operation_fail(operation, reply);
        return give_up_parts(change, operation);
    }
    change->next_part += operation->batch.count;
    return change->next_part < change->next.parts.count ? add_parts(change, operation)
                                                        : ask_check(change, operation);
}

static enum mcds__step take_written(struct mcds__record_change *change,
                                    struct mcds__operation *operation)
{
    const mcds_reply *reply = &change->request.reply;
    change->obstacle = *reply;
    switch (reply->outcome) {
    case MCDS_OUT_OK:
        atomic_store(change->load.seen, change->next.kind != MCDS__RECORD_REMOVED);
        return take_success(change, operation);
    case MCDS_OUT_UNKNOWN:
        change->doubt = true;
        return load_later(change, operation);
    case MCDS_OUT_EXISTS:
    case MCDS_OUT_NOT_STORED:
    case MCDS_OUT_MISS:
    case MCDS_OUT_UNSENT:
        if (change->next.kind != MCDS__RECORD_PARTED || change->doubt)
            return load_later(change, operation);
        return give_up_parts(change, operation);
    default:
        (void)mcds__operation_fail(operation, reply);
        return finish(change, operation, operation->result, operation->detail);
    }
}

enum mcds__step mcds__record_change_step(struct mcds__record_change *change,
                                         struct mcds__operation *operation)
{
    switch (change->stage) {
    case CHANGE_LOADING:
        return load(change, operation);
    case CHANGE_INTENDING:
        return take_intent(change, operation);
    case CHANGE_ADDING:
        return take_added(change, operation);
    case CHANGE_CHECKING:
        return take_check(change, operation);
    case CHANGE_WRITING:
        return take_written(change, operation);
    case CHANGE_ERASING:
        return take_erased(change, operation);
    case CHANGE_RESTING:
        return ask_check(change, operation);
    default:
        return erase_again(change, operation);
    }
}
