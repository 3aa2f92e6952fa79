/* Map: read one element. */
#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/map/map.h"
#include "engine/line_wait.h"

#define ELEMENT_MAX 65536

enum {
    GET_BEGIN,
    GET_READING,
    GET_AROUND,
    GET_LOCATING,
    GET_BELOW,
    GET_UNPROVED /* the result is that of the operation, if the life is not over */
};
enum { CHILD, PARENT }; /* the requests of ask_below() */
#define AROUND 3        /* how many keys ask_around() reads */

bool mcds__map_get_begin(struct mcds__map_get *get, struct mcds__map *map, mcds_bytes element)
{
    memset(get, 0, offsetof(struct mcds__map_get, keys));
    get->map = map;
    get->stage = GET_BEGIN;
    mcds__buffer_init_in(&get->element, map->env, ELEMENT_MAX, get->element_scratch,
                         sizeof get->element_scratch);
    if (!mcds_buffer_append(&get->element, element.data, element.length))
        return false;
    get->place.element = (mcds_bytes){get->element.data, element.length};
    return true;
}

void mcds__map_get_free(struct mcds__map_get *get)
{
    mcds__buffer_free(&get->element);
    mcds__map_free_scratch(&get->place.scratch, get->map->env);
}

static void prepare_get(struct mcds__map_get *get, uint32_t number, uint32_t depth)
{
    assert(number < AROUND && depth <= MCDS__MAP_DEPTH_MAX);
    mcds__map_key(get->map, get->life.number, get->hash, depth, &get->keys[number]);
    get->requests[number] = (mcds_request){
        .command = MCDS_GET,
        .key = mcds__key_bytes(&get->keys[number]),
        .route = mcds__map_route(get->map, depth),
    };
}

/* Ask for `count` keys, and for the root if it must be seen. */
static enum mcds__step map_get_ask(struct mcds__map_get *get, struct mcds__operation *operation,
                                   uint32_t count)
{
    assert(count >= 1 && count <= AROUND);
    get->count = (uint8_t)count;
    count += mcds__map_prove_along(&get->proof, get->map, get->life.number, operation,
                                   &get->requests[count]);
    return mcds__operation_ask_repeatable(operation, get->requests, count);
}

static enum mcds__step map_get_ask_at(struct mcds__map_get *get,
                                      struct mcds__operation *operation, uint32_t depth)
{
    get->depth = depth;
    get->stage = GET_READING;
    prepare_get(get, CHILD, depth);
    return map_get_ask(get, operation, CHILD + 1);
}

/* The depth is assumed: keys split at different sizes, so the key may as well be one level higher or
 * lower. Only one of the three has entries. */
static enum mcds__step ask_around(struct mcds__map_get *get, struct mcds__operation *operation,
                                  uint32_t depth)
{
    assert(depth > 0 && depth < MCDS__MAP_DEPTH_MAX);
    get->depth = depth - 1;
    get->stage = GET_AROUND;
    for (uint32_t i = 0; i < AROUND; i++)
        prepare_get(get, i, get->depth + i);
    return map_get_ask(get, operation, AROUND);
}

/* The key at this depth is SEALED. Read its child and, after it, the key itself: while the
 * child is missing, the snapshot of the sealed key counts. Reads of different servers have no
 * order, so the key counts at the read after the one in which the child was missing: between
 * the two replies of one read, the split may have ended, and the child may have been changed
 * and lost. Nothing is written, so a store that is full can be read. */
static enum mcds__step ask_below(struct mcds__map_get *get, struct mcds__operation *operation,
                                 uint32_t depth)
{
    if (depth >= MCDS__MAP_DEPTH_MAX)
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    get->has_missed = get->stage == GET_BELOW && get->depth == depth &&
                      get->requests[CHILD].reply.outcome == MCDS_OUT_MISS;
    get->depth = depth;
    get->stage = GET_BELOW;
    prepare_get(get, CHILD, depth + 1);
    prepare_get(get, PARENT, depth);
    return map_get_ask(get, operation, PARENT + 1);
}

/* Continue in this life. */
static void set_life(struct mcds__map_get *get, const struct mcds__map_life *life)
{
    assert(life->number != 0);
    if (get->life.number == life->number)
        return;
    get->life = *life;
    get->hash = mcds__map_hash(life->hash_key,
                               (mcds_bytes){get->element.data, get->element.length});
}

static enum mcds__step map_get_take_value(struct mcds__map_get *get,
                                          struct mcds__operation *operation,
                                          const mcds_request *request);

/* The read that found the key has its value. */
static enum mcds__step take_located(struct mcds__map_get *get,
                                    struct mcds__operation *operation)
{
    const struct mcds__map_scratch *scratch = get->place.scratch;
    assert(get->place.wants_value && get->map->flat == 0);
    get->keys[CHILD] = scratch->keys[get->depth];
    get->requests[CHILD] = scratch->requests[get->depth];
    get->requests[CHILD].key = mcds__key_bytes(&get->keys[CHILD]);
    get->stage = GET_READING;
    return map_get_take_value(get, operation, &get->requests[CHILD]);
}

static enum mcds__step map_get_locate(struct mcds__map_get *get,
                                      struct mcds__operation *operation)
{
    if (get->stage != GET_LOCATING && get->moves++ == MCDS__MAP_MOVES_MAX)
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(ITS_KEY_VANISHES));
    get->stage = GET_LOCATING;
    get->place.wants_value = true;
    enum mcds__step step = mcds__map_locate_step(&get->place, get->map, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    get->place.stage = 0;
    set_life(get, &get->place.life);
    get->proof.seen = get->life.number;
    get->depth = get->place.depth;
    assert(get->place.state == MCDS__MAP_OPEN || get->place.state == MCDS__MAP_SEALED);
    if (get->place.state == MCDS__MAP_SEALED)
        return ask_below(get, operation, get->depth);
    return get->map->flat != 0 ? map_get_ask_at(get, operation, get->depth)
                               : take_located(get, operation);
}

/* Most entries never expire; then the clock is not read. */
static bool is_there_now(const mcds_env *env, const struct mcds__map_entry *entry)
{
    return mcds__map_is_there(entry, entry->expires_ms != 0 ? mcds__wall_ms(env) : 0);
}

/* Find the element in an open key and pass its value to `take`. It returns false: no memory. */
static int take_element(const mcds_env *env, mcds_bytes key, mcds_bytes value, uint32_t flags,
                        mcds_bytes element, bool (*take)(void *context, mcds_bytes value),
                        void *context)
{
    struct mcds__bucket bucket;
    mcds__bucket_init(&bucket, env, key, element);
    int result = mcds__map_load(&bucket, value, flags);
    if (result == MCDS_OK) {
        const struct mcds__map_entry *entry = mcds__map_find(&bucket, element);
        if (entry == NULL || !is_there_now(env, entry))
            result = MCDS_NOT_FOUND;
        else if (!take(context, entry->value))
            result = MCDS_NO_MEMORY;
    }
    mcds__bucket_free(&bucket);
    return result;
}

struct sought {
    const struct mcds__map *map;
    mcds_bytes key;
    mcds_bytes element;
    bool (*take)(void *context, mcds_bytes value);
    void *context;
    int result; /* OK or NOT_FOUND; an operation returns all other results */
};

static void map_get_see_key(void *context, const mcds_reply *reply, mcds_bytes value)
{
    struct sought *sought = context;
    const struct mcds__map *map = sought->map;
    if (reply->outcome == MCDS_OUT_OK && mcds__map_state_of(reply->flags) == MCDS__MAP_OPEN)
        sought->result = take_element(map->env, sought->key, value, reply->flags,
                                      sought->element, sought->take, sought->context);
}

bool mcds__map_get_at_once(struct mcds__map *map, mcds_bytes element,
                           bool (*take)(void *context, mcds_bytes value), void *context,
                           int *result_out)
{
    struct mcds__key key;
    struct mcds__map_proof proof = {0};
    if (!mcds__store_answers_here(map->store)) /* then it shows no values in place either */
        return false;
    struct mcds__map_life life = mcds__map_life(map);
    if (life.number == 0)
        return false;
    uint64_t hash = mcds__map_hash(life.hash_key, element);
    mcds__map_key(map, life.number, hash, mcds__map_depth(map, hash), &key);
    struct sought sought = {map, mcds__key_bytes(&key), element, take, context, MCDS_BUSY};
    if (!mcds__store_peek(map->store, sought.key, map_get_see_key, &sought) ||
        (sought.result != MCDS_OK && sought.result != MCDS_NOT_FOUND))
        return false;
    if (!mcds__store_remains(map->store, mcds__key_bytes(&map->root), &life.mark) &&
        mcds__map_is_alive(&proof, map, life.number, NULL) != MCDS__MAP_ALIVE)
        return false;
    *result_out = sought.result;
    return true;
}

struct kept {
    mcds_buffer *values;
    mcds_bytes value;
};

/* A value inside the reply stays there; one computed from records is copied after it. */
static bool keep_value(void *context, mcds_bytes value)
{
    struct kept *kept = context;
    mcds_buffer *values = kept->values;
    const uint8_t *at = value.data;
    kept->value = value;
    if (value.length == 0 || (at >= values->data && at < values->data + values->length))
        return true;
    size_t before = values->length;
    if (!mcds_buffer_append(values, value.data, value.length))
        return false;
    kept->value.data = values->data + before;
    return true;
}

static enum mcds__step map_get_begin(struct mcds__map_get *get,
                                     struct mcds__operation *operation);

/* The result counts, if the life is not over. If the reply to the read of the root by another
 * operation has not come, one of the operations that wait reads the element and the root. */
static enum mcds__step map_get_prove(struct mcds__map_get *get,
                                     struct mcds__operation *operation)
{
    enum mcds__step step;
    switch (mcds__map_is_alive(&get->proof, get->map, get->life.number, operation)) {
    case MCDS__MAP_ALIVE:
        mcds__map_note_seen(get->map, operation->sent_ns);
        return MCDS__DONE;
    case MCDS__MAP_OVER:
        mcds__line_release(operation);
        return map_get_locate(get, operation);
    default:
        get->stage = GET_UNPROVED;
        if (mcds__map_waits_for_proof(get->map, operation, &step))
            return step;
        assert(!get->proof.is_alone); /* else it has read the root */
        get->proof.is_alone = true;
        get->stage = GET_BEGIN;
        return map_get_begin(get, operation);
    }
}

static enum mcds__step take_entry(struct mcds__map_get *get, struct mcds__operation *operation,
                                  const mcds_request *request)
{
    assert(request >= get->requests && request < get->requests + AROUND);
    struct kept kept = {.values = &operation->values};
    mcds_bytes value = mcds__operation_value(operation, request);
    int result = MCDS_OK;
    if (get->knows == NULL || !get->knows(get, value))
        result = take_element(operation->env, request->key, value, request->reply.flags,
                              (mcds_bytes){get->element.data, get->element.length}, keep_value,
                              &kept);
    get->value = kept.value;
    (void)mcds__operation_explain(operation, result, mcds__map_reason(result));
    return map_get_prove(get, operation);
}

/* The key exists. */
static enum mcds__step map_get_take_value(struct mcds__map_get *get,
                                          struct mcds__operation *operation,
                                          const mcds_request *request)
{
    uint32_t flags = request->reply.flags;
    operation->read = request;
    if (get->map->flat != 0 && mcds__map_state_of(flags) != MCDS__MAP_OPEN)
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    switch (mcds__map_state_of(flags)) {
    case MCDS__MAP_OPEN:
        mcds__map_note_depth(get->map, get->life.number, get->hash, get->depth);
        return take_entry(get, operation, request);
    case MCDS__MAP_SEALED:
        return ask_below(get, operation, get->depth);
    case MCDS__MAP_MOVED:
        mcds__map_note_moved(get->map, get->life.number, get->hash, get->depth);
        /* Below a SEALED key, which would be located again. */
        if (get->stage == GET_BELOW && get->depth < MCDS__MAP_DEPTH_MAX &&
            get->moves++ < MCDS__MAP_MOVES_MAX)
            return map_get_ask_at(get, operation, get->depth + 1);
        return map_get_locate(get, operation);
    default:
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    }
}

/* The child of a sealed key, or the snapshot of that key while there is no child. */
static enum mcds__step take_below(struct mcds__map_get *get, struct mcds__operation *operation)
{
    assert(get->count == PARENT + 1);
    const mcds_request *parent = &get->requests[PARENT];
    if (get->requests[CHILD].reply.outcome == MCDS_OUT_OK) {
        get->depth++;
        return map_get_take_value(get, operation, &get->requests[CHILD]);
    }
    if (parent->reply.outcome == MCDS_OUT_OK &&
        mcds__map_state_of(parent->reply.flags) == MCDS__MAP_SEALED)
        return get->has_missed ? take_entry(get, operation, parent)
                               : ask_below(get, operation, get->depth);
    return map_get_locate(get, operation);
}

/* The highest of the keys around that is open, or is being split; AROUND: none that was read. */
static uint32_t highest_around(const struct mcds__map_get *get)
{
    assert(get->stage == GET_AROUND && get->count == AROUND);
    uint32_t i = 0;
    while (i < AROUND && (get->requests[i].reply.outcome != MCDS_OUT_OK ||
                          mcds__map_state_of(get->requests[i].reply.flags) == MCDS__MAP_MOVED))
        i++;
    return i;
}

static enum mcds__step map_get_take_around(struct mcds__map_get *get,
                                           struct mcds__operation *operation)
{
    uint32_t highest = highest_around(get);
    if (highest == AROUND)
        return map_get_locate(get, operation);
    get->depth += highest;
    return map_get_take_value(get, operation, &get->requests[highest]);
}

/* Whether the replies show the entries, although a server gave no answer. The key above must have
 * answered: while it is being split, it has the entries. */
static bool shows_entries(const struct mcds__map_get *get, const mcds_reply *trouble)
{
    if (get->stage != GET_AROUND || !mcds__is_transport_trouble(trouble))
        return false;
    uint32_t highest = highest_around(get);
    return highest == 0 ||
           (highest < AROUND && get->requests[highest - 1].reply.outcome == MCDS_OUT_OK);
}

static enum mcds__step map_get_take_replies(struct mcds__map_get *get,
                                            struct mcds__operation *operation)
{
    assert(get->stage >= GET_READING && get->stage <= GET_BELOW);
    if (get->proof.looks)
        mcds__map_take_proof(&get->proof, get->map, get->life.number, operation,
                             &get->requests[get->count].reply);
    const mcds_reply *trouble = mcds__first_trouble(get->requests, get->count);
    if (trouble == NULL || shows_entries(get, trouble))
        trouble = mcds__first_trouble(get->requests + get->count, get->proof.looks);
    if (trouble != NULL) {
        get->stage = GET_BEGIN;
        return mcds__operation_retry(operation, trouble);
    }
    if (get->stage == GET_AROUND)
        return map_get_take_around(get, operation);
    if (get->stage == GET_BELOW)
        return take_below(get, operation);
    if (get->requests[CHILD].reply.outcome == MCDS_OUT_MISS && get->map->flat != 0) {
        (void)mcds__operation_finish(operation, MCDS_NOT_FOUND);
        return map_get_prove(get, operation);
    }
    if (get->requests[CHILD].reply.outcome == MCDS_OUT_MISS)
        return map_get_locate(get, operation);
    return map_get_take_value(get, operation, &get->requests[CHILD]);
}

static enum mcds__step map_get_begin(struct mcds__map_get *get,
                                     struct mcds__operation *operation)
{
    struct mcds__map_life life = mcds__map_life(get->map);
    if (life.number == 0)
        return map_get_locate(get, operation);
    set_life(get, &life);
    uint32_t depth = mcds__map_depth(get->map, get->hash);
    return depth > 0 && depth < MCDS__MAP_DEPTH_MAX &&
                   mcds__map_is_depth_assumed(get->map, get->hash)
               ? ask_around(get, operation, depth)
               : map_get_ask_at(get, operation, depth);
}

static enum mcds__step map_get_step_on(struct mcds__map_get *get,
                                       struct mcds__operation *operation)
{
    assert(get->stage <= GET_UNPROVED);
    switch (get->stage) {
    case GET_BEGIN:
        return map_get_begin(get, operation);
    case GET_LOCATING:
        return map_get_locate(get, operation);
    case GET_UNPROVED:
        return map_get_prove(get, operation);
    default:
        return map_get_take_replies(get, operation);
    }
}

enum mcds__step mcds__map_get_step(struct mcds__map_get *get, struct mcds__operation *operation)
{
    enum mcds__step step = map_get_step_on(get, operation);
    if (step == MCDS__DONE) /* the caller may continue with something else */
        mcds__line_release(operation);
    return step;
}
