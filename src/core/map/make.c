/* Map: create a structure with its first record. */
#include <assert.h>
#include <stdatomic.h>

#include "base/buffer.h"
#include "core/map/sequence.h"

enum { MAKE_BEGIN, MAKE_ASKING, MAKE_DISCARDING, MAKE_DISCARDING_ALL };
/* The order of the requests: the first key is added before the root that declares it. */
enum { ADD_KEY, APPEND, ADD_ROOT, SEE_ROOT, LOOK, REQUESTS };
/* Of those that erase the new root. */
enum { ROOT_ERASURE, KEY_ERASURE };

static uint64_t maker_of(const struct mcds__map_making *making)
{
    return (uint64_t)(uintptr_t)making;
}

/* One operation of a handle creates the structure, and the others wait. An operation that is held
 * up creates the structure too. */
static bool map_make_claim(struct mcds__map_making *making, struct mcds__map *map,
                           const struct mcds__operation *operation)
{
    uint64_t none = 0;
    assert(!making->is_claimed);
    making->is_claimed = true;
    if (atomic_compare_exchange_strong(&map->maker, &none, maker_of(making)))
        return true;
    making->is_claimed = mcds__map_is_held_up(operation);
    if (making->is_claimed)
        atomic_store(&map->maker, maker_of(making));
    return making->is_claimed;
}

static void map_make_unclaim(struct mcds__map_making *making, struct mcds__map *map)
{
    uint64_t own = maker_of(making);
    if (making->is_claimed)
        (void)atomic_compare_exchange_strong(&map->maker, &own, 0);
    making->is_claimed = false;
}

void mcds__map_make_free(struct mcds__map_making *making, struct mcds__map *map)
{
    map_make_unclaim(making, map);
    mcds__map_free_scratch(&making->scratch, map->env);
}

static enum mcds__step map_make_finish(struct mcds__map_making *making, struct mcds__map *map,
                                       struct mcds__operation *operation, int result)
{
    map_make_unclaim(making, map);
    making->stage = MAKE_BEGIN;
    return mcds__operation_finish(operation, result);
}

/* The value of the first key, empty, and that of the root. False: no memory. */
static bool map_make_encode(struct mcds__map_making *making, struct mcds__map *map,
                            mcds_bytes key, const struct mcds__descriptor *descriptor,
                            uint32_t *flags_out)
{
    struct mcds__bucket nothing;
    mcds_buffer *root = &making->scratch->values[ADD_ROOT];
    mcds__bucket_init(&nothing, map->env, key, (mcds_bytes){NULL, 0});
    if (!mcds__buffer_reserve(root, MCDS__DESCRIPTOR_CAPACITY))
        return false;
    root->length = mcds__descriptor_seal(descriptor, mcds__key_bytes(&map->root), root->data);
    assert(root->length <= MCDS__DESCRIPTOR_CAPACITY);
    return mcds__bucket_encode(&nothing, key, MCDS__MAP_OPEN, 0,
                               &making->scratch->values[ADD_KEY], flags_out);
}

/* `flags`: of the first key. */
static enum mcds__step map_make_ask(struct mcds__map_making *making, struct mcds__map *map,
                                    struct mcds__operation *operation, uint32_t flags)
{
    assert(making->is_claimed && making->life.number != 0);
    struct mcds__map_scratch *scratch = making->scratch;
    const mcds_buffer *first = &scratch->values[ADD_KEY];
    const mcds_buffer *root = &scratch->values[ADD_ROOT];
    mcds_bytes key = mcds__key_bytes(&scratch->keys[0]);
    mcds_request of_key = {.key = key, .route = mcds__map_route(map, map->flat)};
    mcds_request of_root = {.key = mcds__key_bytes(&map->root)};
    for (int i = 0; i < REQUESTS; i++)
        scratch->requests[i] = i == ADD_ROOT || i == SEE_ROOT ? of_root : of_key;
    scratch->requests[ADD_KEY].command = scratch->requests[ADD_ROOT].command = MCDS_ADD;
    scratch->requests[ADD_KEY].ttl_ms = scratch->requests[ADD_ROOT].ttl_ms = map->ttl_ms;
    scratch->requests[ADD_KEY].flags = flags;
    scratch->requests[ADD_KEY].value = (mcds_bytes){first->data, first->length};
    scratch->requests[ADD_ROOT].flags = mcds__descriptor_flags(making->life.number);
    scratch->requests[ADD_ROOT].value = (mcds_bytes){root->data, root->length};
    scratch->requests[APPEND].command = MCDS_APPEND;
    scratch->requests[APPEND].value = (mcds_bytes){making->record->data,
                                                   making->record->length};
    mcds__map_set_number(map, &making->life, &scratch->requests[ADD_KEY]);
    mcds__map_compare_number(map, &making->life, &scratch->requests[APPEND],
                             mcds__map_open_token(flags), flags);
    scratch->requests[SEE_ROOT].command = scratch->requests[LOOK].command = MCDS_GET;
    scratch->requests[LOOK].options = making->wants_value ? 0 : MCDS_NO_VALUE;
    making->stage = MAKE_ASKING;
    return mcds__operation_ask_repeatable(operation, scratch->requests, REQUESTS);
}

static enum mcds__step map_make_begin(struct mcds__map_making *making, struct mcds__map *map,
                                      struct mcds__operation *operation)
{
    struct mcds__descriptor descriptor;
    uint32_t flags;
    making->doubt = false;
    making->may_repeat = false;
    /* By now its server has answered. */
    if (!mcds__store_can(map->store).compare_and_set)
        return mcds__operation_explain(operation, MCDS_UNSUPPORTED,
                                       MCDS__WHY(GROWTH_WITHOUT_CAS));
    if (!map_make_claim(making, map, operation))
        return mcds__operation_finish(operation, MCDS_EXISTS);
    if (mcds__map_get_scratch(&making->scratch, operation->env) == NULL)
        return map_make_finish(making, map, operation, MCDS_NO_MEMORY);
    making->life = mcds__map_draw(map, &descriptor);
    struct mcds__key *key = &making->scratch->keys[0];
    mcds__map_fit(making->place, &making->life);
    uint64_t hash = mcds__map_hash(making->life.hash_key, making->place->element);
    mcds__map_key(map, making->life.number, hash, map->flat, key);
    mcds__map_readdress(making->record, mcds__key_bytes(key));
    if (!map_make_encode(making, map, mcds__key_bytes(key), &descriptor, &flags))
        return map_make_finish(making, map, operation, MCDS_NO_MEMORY);
    return map_make_ask(making, map, operation, flags);
}

/* Fill the erasure of the root. False: the root is not the one that was made, because a client has
 * dropped the structure, and perhaps another has made it again. */
static bool fill_root_erasure(struct mcds__map_making *making, const struct mcds__map *map)
{
    const mcds_reply seen = making->scratch->requests[SEE_ROOT].reply;
    bool compares = mcds__store_can(map->store).compare_and_delete;
    making->scratch->requests[ROOT_ERASURE] = (mcds_request){
        .command = MCDS_DELETE,
        .key = mcds__key_bytes(&map->root),
        .cas = compares ? seen.cas : (mcds_cas_token){0, 0},
    };
    return seen.outcome == MCDS_OUT_OK && (!compares || seen.cas.connection != 0) &&
           mcds__descriptor_is_of(seen.flags, making->life.number);
}

/* Erase the keys that were made and are not used. A failure leaves nothing that others see,
 * except a root without its first key. */
static enum mcds__step discard(struct mcds__map_making *making, struct mcds__map *map,
                               struct mcds__operation *operation, bool with_root)
{
    assert(making->is_claimed && making->stage == MAKE_ASKING);
    mcds_request *requests = making->scratch->requests;
    requests[KEY_ERASURE] = (mcds_request){
        .command = MCDS_DELETE, .key = requests[ADD_KEY].key, .route = requests[ADD_KEY].route};
    making->stage = MAKE_DISCARDING;
    if (!with_root || !fill_root_erasure(making, map))
        return mcds__operation_ask(operation, &requests[KEY_ERASURE], 1);
    making->stage = MAKE_DISCARDING_ALL;
    operation->connection = requests[ROOT_ERASURE].cas.connection;
    return mcds__operation_ask(operation, requests, KEY_ERASURE + 1);
}

static enum mcds__step take_discarded(struct mcds__map_making *making, struct mcds__map *map,
                                      struct mcds__operation *operation)
{
    mcds_request *root = &making->scratch->requests[ROOT_ERASURE];
    operation->connection = 0;
    if (making->stage == MAKE_DISCARDING_ALL && root->cas.connection != 0 &&
        root->reply.outcome == MCDS_OUT_NO_MEMORY) {
        /* A full server of the classic protocol has no memory to compare. */
        root->cas = (mcds_cas_token){0, 0};
        return mcds__operation_ask(operation, root, 1);
    }
    (void)map_make_finish(making, map, operation, MCDS_EXISTS);
    if (making->failure.outcome == MCDS_OUT_EXISTS)
        return MCDS__DONE;
    return mcds__operation_fail(operation, &making->failure);
}

/* Another client has created it first. */
static enum mcds__step yield(struct mcds__map_making *making, struct mcds__map *map,
                             struct mcds__operation *operation)
{
    assert(making->stage == MAKE_ASKING);
    const mcds_request *seen = &making->scratch->requests[SEE_ROOT];
    struct mcds__map_life life;
    const mcds_reason *detail = NULL;
    making->failure.outcome = MCDS_OUT_EXISTS;
    if (seen->reply.outcome == MCDS_OUT_OK &&
        mcds__map_read_root(map, mcds__operation_value(operation, seen), seen->reply.flags,
                            &life, &detail) == MCDS_OK)
        mcds__map_adopt(map, &life);
    return discard(making, map, operation, false);
}

static enum mcds__step map_make_take(struct mcds__map_making *making, struct mcds__map *map,
                                     struct mcds__operation *operation)
{
    const mcds_reply *root = &making->scratch->requests[ADD_ROOT].reply;
    const mcds_reply *key = &making->scratch->requests[ADD_KEY].reply;
    switch (root->outcome) {
    case MCDS_OUT_OK:
        if (mcds__is_refusal(key)) {
            making->failure = *key;
            return discard(making, map, operation, true);
        }
        mcds__map_adopt(map, &making->life);
        return map_make_finish(making, map, operation, MCDS_OK);
    case MCDS_OUT_NOT_STORED:
        return yield(making, map, operation);
    case MCDS_OUT_UNSENT:
    case MCDS_OUT_UNKNOWN:
        making->doubt = root->outcome == MCDS_OUT_UNKNOWN;
        making->may_repeat = true;
        (void)map_make_finish(making, map, operation, MCDS_OK);
        return mcds__operation_fail(operation, root);
    default:
        making->failure = *root;
        return discard(making, map, operation, false);
    }
}

enum mcds__step mcds__map_make_step(struct mcds__map_making *making, struct mcds__map *map,
                                    struct mcds__operation *operation)
{
    assert(making->stage <= MAKE_DISCARDING_ALL);
    switch (making->stage) {
    case MAKE_BEGIN:
        return map_make_begin(making, map, operation);
    case MAKE_ASKING:
        return map_make_take(making, map, operation);
    default:
        return take_discarded(making, map, operation);
    }
}

void mcds__map_take_making(const struct mcds__map_making *making, mcds_request *append_out,
                           mcds_request *look_out)
{
    *append_out = making->scratch->requests[APPEND];
    *look_out = making->scratch->requests[LOOK];
}
