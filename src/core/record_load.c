/* Core record: read the value, with its parts. */
#include <stdatomic.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/frame.h"
#include "core/record.h"

/* A reader that is slower than the writers finds its parts erased; then it reads the key again. */
#define LOSSES_MAX 20
#define PART_MAX ((size_t)512 << 10)

enum { LOAD_BEGIN, LOAD_ROOT, LOAD_PARTS };

size_t mcds__record_part_length(const mcds_store *store)
{
    mcds_capabilities can;
    mcds__store_capabilities(store, &can);
    return can.value_max / 2 < PART_MAX ? (size_t)can.value_max / 2 : PART_MAX;
}

void mcds__record_part_key(const struct mcds__key *begin, uint64_t name, uint32_t number,
                           struct mcds__key *key_out)
{
    *key_out = *begin;
    mcds__key_add_hex(key_out, name, 16);
    mcds__key_add_number(key_out, number);
}

struct mcds__record_room *mcds__record_get_room(struct mcds__record_room **room,
                                                const mcds_env *env)
{
    if (*room == NULL)
        *room = mcds__allocate(env, sizeof **room);
    return *room;
}

void mcds__record_load_begin(struct mcds__record_load *load, const mcds_env *env)
{
    load->skips_parts = false;
    load->is_there = false;
    load->is_known = false;
    load->stage = LOAD_BEGIN;
    load->losses = 0;
    load->lost_version = 0;
    load->room = NULL;
    mcds__buffer_init(&load->held, env, (size_t)MCDS__RECORD_LENGTH_MAX + PART_MAX);
}

void mcds__record_load_free(struct mcds__record_load *load, const mcds_env *env)
{
    mcds__buffer_free(&load->held);
    mcds__free(env, load->room);
    load->room = NULL;
}

static enum mcds__step ask_root(struct mcds__record_load *load,
                                struct mcds__operation *operation)
{
    load->is_there = false;
    load->is_known = false;
    load->was_seen = atomic_load(load->seen);
    load->stage = LOAD_ROOT;
    load->request = (mcds_request){.command = MCDS_GET, .key = mcds__key_bytes(&load->key)};
    return mcds__operation_ask_repeatable(operation, &load->request, 1);
}

static enum mcds__step finish(struct mcds__record_load *load, struct mcds__operation *operation,
                              bool is_there, mcds_bytes bytes)
{
    load->stage = LOAD_BEGIN;
    load->is_there = is_there;
    load->bytes = bytes;
    return mcds__operation_finish(operation, MCDS_OK);
}

static enum mcds__step again(struct mcds__record_load *load, struct mcds__operation *operation,
                             const mcds_reply *reply)
{
    load->stage = LOAD_BEGIN;
    if (mcds__is_transport_trouble(reply) && mcds__operation_again(operation))
        return MCDS__SLEEP;
    return mcds__operation_fail_read(operation, reply);
}

static enum mcds__step ask_parts(struct mcds__record_load *load,
                                 struct mcds__operation *operation)
{
    struct mcds__record_room *room = mcds__record_get_room(&load->room, operation->env);
    uint32_t count = 0;
    if (room == NULL)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    for (uint32_t i = load->next_part;
         count < MCDS__RECORD_BATCH && i < load->value.parts.count; i++, count++) {
        mcds__record_part_key(&load->parts_key, load->value.parts.name, i, &room->keys[count]);
        room->requests[count] = (mcds_request){.command = MCDS_GET,
                                               .key = mcds__key_bytes(&room->keys[count])};
    }
    load->stage = LOAD_PARTS;
    return mcds__operation_ask_any_order(operation, room->requests, count);
}

static enum mcds__step take_root(struct mcds__record_load *load,
                                 struct mcds__operation *operation)
{
    const mcds_reply *reply = &load->request.reply;
    /* What another call of this handle has made since we asked need not have been there. */
    if (reply->outcome == MCDS_OUT_MISS && load->was_seen &&
        atomic_exchange(load->seen, false) && !load->skips_parts)
        return mcds__operation_explain(operation, MCDS_LOST, MCDS__WHY(VALUE_GONE));
    if (reply->outcome == MCDS_OUT_MISS)
        return finish(load, operation, false, (mcds_bytes){NULL, 0});
    if (reply->outcome != MCDS_OUT_OK)
        return again(load, operation, reply);
    mcds_bytes bytes = mcds__reply_value(&operation->batch, &load->request);
    load->held.length = 0;
    if (!mcds_buffer_append(&load->held, bytes.at, bytes.length))
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    bytes.at = load->held.at;
    if (mcds__record_is_newer(bytes, load->request.key))
        return mcds__operation_explain(operation, MCDS_UNSUPPORTED, MCDS__WHY(NEWER));
    if (!mcds__record_decode(bytes, load->request.key, &load->value))
        return mcds__operation_explain(operation, MCDS_CORRUPT, MCDS__WHY(FOREIGN));
    load->is_known = true;
    load->token = reply->cas;
    atomic_store(load->seen, load->value.kind != MCDS__RECORD_REMOVED);
    if (load->value.kind == MCDS__RECORD_REMOVED)
        return finish(load, operation, false, (mcds_bytes){NULL, 0});
    if (load->value.kind == MCDS__RECORD_INLINE)
        return finish(load, operation, true, load->value.inlined);
    if (load->skips_parts)
        return finish(load, operation, true, (mcds_bytes){NULL, 0});
    if (load->value.parts.length > MCDS__RECORD_LENGTH_MAX)
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    load->held.length = 0;
    load->next_part = 0;
    return ask_parts(load, operation);
}

/* Erased because the value has changed, or lost. */
static enum mcds__step take_loss(struct mcds__record_load *load,
                                 struct mcds__operation *operation)
{
    bool is_lost = load->lost_version == load->value.version;
    load->lost_version = load->value.version;
    load->stage = LOAD_BEGIN;
    if (is_lost || load->losses++ == LOSSES_MAX)
        return mcds__operation_explain(operation, MCDS_LOST, MCDS__WHY(VALUE_PART_GONE));
    return ask_root(load, operation);
}

static enum mcds__step take_parts(struct mcds__record_load *load,
                                  struct mcds__operation *operation)
{
    for (uint32_t i = 0; i < operation->batch.count; i++) {
        const mcds_request *request = &load->room->requests[i];
        if (request->reply.outcome == MCDS_OUT_MISS)
            return take_loss(load, operation);
        if (request->reply.outcome != MCDS_OUT_OK)
            return again(load, operation, &request->reply);
        mcds_bytes part = mcds__reply_value(&operation->batch, request);
        if (!mcds_buffer_append(&load->held, part.at, part.length))
            return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    }
    load->next_part += operation->batch.count;
    if (load->next_part < load->value.parts.count)
        return ask_parts(load, operation);
    if (load->held.length != load->value.parts.length)
        return mcds__operation_explain(operation, MCDS_CORRUPT, MCDS__WHY(VALUE_LENGTH));
    return finish(load, operation, true, (mcds_bytes){load->held.at, load->held.length});
}

enum mcds__step mcds__record_load_step(struct mcds__record_load *load,
                                       struct mcds__operation *operation)
{
    switch (load->stage) {
    case LOAD_BEGIN:
        return ask_root(load, operation);
    case LOAD_ROOT:
        return take_root(load, operation);
    default:
        return take_parts(load, operation);
    }
}
