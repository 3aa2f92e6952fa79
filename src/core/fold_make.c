/* Core fold: make a structure, with its first record. */
#include <stdatomic.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/fold.h"

enum { MAKE_BEGIN, MAKE_ASKING, MAKE_DISCARDING };
/* The key before the root that says it is there. */
enum { ADD_KEY, APPEND, ADD_ROOT, SEE_ROOT, LOOK, REQUESTS };

void mcds__fold_make_free(struct mcds__fold_making *making, struct mcds__fold *fold)
{
    if (making->is_claimed)
        atomic_store(&fold->is_making, false);
    making->is_claimed = false;
    mcds__fold_free_room(&making->room, fold->env);
}

static enum mcds__step finish(struct mcds__fold_making *making, struct mcds__fold *fold,
                              struct mcds__operation *operation, int result)
{
    if (making->is_claimed)
        atomic_store(&fold->is_making, false);
    making->is_claimed = false;
    making->stage = MAKE_BEGIN;
    return mcds__operation_finish(operation, result);
}

/* One operation of a handle makes it; the others wait. */
static bool claim(struct mcds__fold_making *making, struct mcds__fold *fold)
{
    bool expected = false;
    making->is_claimed = atomic_compare_exchange_strong(&fold->is_making, &expected, true);
    return making->is_claimed;
}

/* The value of the first key, empty, and that of the root. False: no memory. */
static bool encode(struct mcds__fold_making *making, struct mcds__fold *fold, mcds_bytes key,
                   const struct mcds__descriptor *descriptor)
{
    struct mcds__fold_contents nothing;
    uint32_t floor_s;
    mcds_buffer *root = &making->room->values[ADD_ROOT];
    mcds__fold_contents_init(&nothing, fold->env, key, (mcds_bytes){NULL, 0});
    if (!mcds__buffer_reserve(root, MCDS__DESCRIPTOR_ROOM))
        return false;
    root->length = mcds__descriptor_seal(descriptor, mcds__key_bytes(&fold->root), root->at);
    return mcds__fold_encode(&nothing, key, 0, MCDS__FOLD_ALL, 0,
                             &making->room->values[ADD_KEY], &floor_s);
}

static enum mcds__step ask(struct mcds__fold_making *making, struct mcds__fold *fold,
                           struct mcds__operation *operation)
{
    struct mcds__fold_room *room = making->room;
    const mcds_buffer *first = &room->values[ADD_KEY];
    const mcds_buffer *root = &room->values[ADD_ROOT];
    mcds_bytes key = mcds__key_bytes(&room->keys[0]);
    mcds_request of_key = {.key = key, .route = mcds__fold_route(fold, 0)};
    mcds_request of_root = {.key = mcds__key_bytes(&fold->root)};
    for (int i = 0; i < REQUESTS; i++)
        room->requests[i] = i == ADD_ROOT || i == SEE_ROOT ? of_root : of_key;
    room->requests[ADD_KEY].command = room->requests[ADD_ROOT].command = MCDS_ADD;
    room->requests[ADD_KEY].ttl_ms = room->requests[ADD_ROOT].ttl_ms = fold->ttl_ms;
    room->requests[ADD_KEY].flags = mcds__fold_flags(MCDS__FOLD_OPEN, first->length, 0);
    room->requests[ADD_KEY].value = (mcds_bytes){first->at, first->length};
    room->requests[ADD_ROOT].flags = mcds__descriptor_flags(making->life.number);
    room->requests[ADD_ROOT].value = (mcds_bytes){root->at, root->length};
    room->requests[APPEND].command = MCDS_APPEND;
    room->requests[APPEND].value = (mcds_bytes){making->record->at, making->record->length};
    room->requests[SEE_ROOT].command = room->requests[LOOK].command = MCDS_GET;
    room->requests[LOOK].options = making->wants_value ? 0 : MCDS_NO_VALUE;
    making->stage = MAKE_ASKING;
    return mcds__operation_ask_repeatable(operation, room->requests, REQUESTS);
}

static enum mcds__step begin(struct mcds__fold_making *making, struct mcds__fold *fold,
                             struct mcds__operation *operation)
{
    struct mcds__descriptor descriptor;
    making->doubt = false;
    making->may_repeat = false;
    if (!claim(making, fold))
        return mcds__operation_finish(operation, MCDS_EXISTS);
    if (mcds__fold_get_room(&making->room, operation->env) == NULL)
        return finish(making, fold, operation, MCDS_NO_MEMORY);
    making->life = mcds__fold_draw(fold, &descriptor);
    struct mcds__key *key = &making->room->keys[0];
    mcds__fold_key(fold, making->life.number, 0, 0, key);
    mcds__fold_readdress(making->record, mcds__key_bytes(key));
    if (!encode(making, fold, mcds__key_bytes(key), &descriptor))
        return finish(making, fold, operation, MCDS_NO_MEMORY);
    return ask(making, fold, operation);
}

/* Erases what was made and is not used. A failure leaves nothing that others see, except a root
 * without its first key. */
static enum mcds__step discard(struct mcds__fold_making *making,
                               struct mcds__operation *operation, bool with_root)
{
    mcds_request *requests = making->room->requests;
    mcds_bytes root = requests[ADD_ROOT].key;
    mcds_request erase = {
        .command = MCDS_DELETE, .key = requests[ADD_KEY].key, .route = requests[ADD_KEY].route};
    making->stage = MAKE_DISCARDING;
    requests[1] = erase;
    requests[0] = (mcds_request){.command = MCDS_DELETE, .key = root};
    return mcds__operation_ask(operation, requests + !with_root, 1u + with_root);
}

/* Another has made it before. */
static enum mcds__step yield(struct mcds__fold_making *making, struct mcds__fold *fold,
                             struct mcds__operation *operation)
{
    const mcds_request *seen = &making->room->requests[SEE_ROOT];
    struct mcds__fold_life life;
    const mcds_reason *detail = NULL;
    making->failure.outcome = MCDS_OUT_EXISTS;
    if (seen->reply.outcome == MCDS_OUT_OK &&
        mcds__fold_read_root(fold, mcds__reply_value(&operation->batch, seen), &life,
                             &detail) == MCDS_OK)
        mcds__fold_adopt(fold, &life);
    return discard(making, operation, false);
}

static enum mcds__step take(struct mcds__fold_making *making, struct mcds__fold *fold,
                            struct mcds__operation *operation)
{
    const mcds_reply *root = &making->room->requests[ADD_ROOT].reply;
    const mcds_reply *key = &making->room->requests[ADD_KEY].reply;
    switch (root->outcome) {
    case MCDS_OUT_OK:
        if (mcds__is_refusal(key)) {
            making->failure = *key;
            return discard(making, operation, true);
        }
        mcds__fold_adopt(fold, &making->life);
        return finish(making, fold, operation, MCDS_OK);
    case MCDS_OUT_NOT_STORED:
        return yield(making, fold, operation);
    case MCDS_OUT_UNSENT:
    case MCDS_OUT_UNKNOWN:
        making->doubt = root->outcome == MCDS_OUT_UNKNOWN;
        making->may_repeat = true;
        (void)finish(making, fold, operation, MCDS_OK);
        return mcds__operation_fail(operation, root);
    default:
        making->failure = *root;
        return discard(making, operation, false);
    }
}

enum mcds__step mcds__fold_make_step(struct mcds__fold_making *making, struct mcds__fold *fold,
                                     struct mcds__operation *operation)
{
    switch (making->stage) {
    case MAKE_BEGIN:
        return begin(making, fold, operation);
    case MAKE_ASKING:
        return take(making, fold, operation);
    default:
        (void)finish(making, fold, operation, MCDS_EXISTS);
        if (making->failure.outcome == MCDS_OUT_EXISTS)
            return MCDS__DONE;
        return mcds__operation_fail(operation, &making->failure);
    }
}

void mcds__fold_take_making(const struct mcds__fold_making *making, mcds_request *append_out,
                            mcds_request *look_out)
{
    *append_out = making->room->requests[APPEND];
    *look_out = making->room->requests[LOOK];
}
