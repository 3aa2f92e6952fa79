/* Core fold: read one element. */
#include <stdatomic.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/fold.h"

#define ELEMENT_MAX 65536

enum { LOOK_BEGIN, LOOK_READING, LOOK_LOCATING, LOOK_BELOW };
enum { CHILD, PARENT }; /* the requests of LOOK_BELOW */

bool mcds__fold_look_begin(struct mcds__fold_look *look, struct mcds__fold *fold,
                           mcds_bytes element)
{
    look->fold = fold;
    mcds__buffer_init_in(&look->element, fold->env, ELEMENT_MAX, look->element_room,
                         sizeof look->element_room);
    look->stage = LOOK_BEGIN;
    look->moves = 0;
    look->has_missed = false;
    look->hash = 0;
    look->life = (struct mcds__fold_life){0};
    look->proof = (struct mcds__fold_proof){0};
    if (!mcds_buffer_append(&look->element, element.at, element.length))
        return false;
    look->place = (struct mcds__fold_place){.element = {look->element.at, element.length}};
    return true;
}

void mcds__fold_look_free(struct mcds__fold_look *look)
{
    mcds__buffer_free(&look->element);
    mcds__fold_free_room(&look->place.room, look->fold->env);
}

static void prepare_get(struct mcds__fold_look *look, uint32_t number, uint32_t depth)
{
    mcds__fold_key(look->fold, look->life.number, look->hash, depth, &look->keys[number]);
    look->requests[number] = (mcds_request){
        .command = MCDS_GET,
        .key = mcds__key_bytes(&look->keys[number]),
        .route = mcds__fold_route(look->fold, depth),
    };
}

/* Ask for so many keys, and maybe for the root. */
static enum mcds__step ask(struct mcds__fold_look *look, struct mcds__operation *operation,
                           uint32_t count)
{
    look->count = (uint8_t)count;
    count += mcds__fold_prove_along(&look->proof, look->fold, operation,
                                    &look->requests[count]);
    return mcds__operation_ask_repeatable(operation, look->requests, count);
}

static enum mcds__step ask_at(struct mcds__fold_look *look, struct mcds__operation *operation,
                              uint32_t depth)
{
    look->depth = depth;
    look->stage = LOOK_READING;
    prepare_get(look, CHILD, depth);
    return ask(look, operation, CHILD + 1);
}

/* The key at this depth is SEALED. Read its child and, after it, the key itself: while the child
 * is missing, the snapshot of the sealed key is what counts. Reads of different servers have no
 * order, so the key counts at the look after the one that missed the child: between the two
 * replies of one look, the split may have ended, and the child may have been changed and lost.
 * Nothing is written, so a store that is full can be read. */
static enum mcds__step ask_below(struct mcds__fold_look *look,
                                 struct mcds__operation *operation, uint32_t depth)
{
    if (depth >= MCDS__FOLD_DEPTH_MAX)
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    look->has_missed = look->stage == LOOK_BELOW && look->depth == depth;
    look->depth = depth;
    look->stage = LOOK_BELOW;
    prepare_get(look, CHILD, depth + 1);
    prepare_get(look, PARENT, depth);
    return ask(look, operation, PARENT + 1);
}

/* From now on this life is meant. */
static void set_life(struct mcds__fold_look *look, const struct mcds__fold_life *life)
{
    if (look->life.number == life->number)
        return;
    look->life = *life;
    look->hash = mcds__fold_hash(life->hash_key,
                                 (mcds_bytes){look->element.at, look->element.length});
}

static enum mcds__step locate(struct mcds__fold_look *look, struct mcds__operation *operation)
{
    if (look->stage != LOOK_LOCATING && look->moves++ == MCDS__FOLD_MOVES_MAX)
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(ITS_KEY_VANISHES));
    look->stage = LOOK_LOCATING;
    enum mcds__step step = mcds__fold_locate_step(&look->place, look->fold, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    look->place.stage = 0;
    set_life(look, &look->place.life);
    look->proof.seen = look->life.number;
    look->depth = look->place.depth;
    if (look->place.state == MCDS__FOLD_SEALED)
        return ask_below(look, operation, look->depth);
    return ask_at(look, operation, look->depth);
}

/* Most entries never expire, and then nobody looks at the clock. */
static bool is_there_now(const mcds_env *env, const struct mcds__fold_entry *entry)
{
    return mcds__fold_is_there(entry, entry->expires_ms != 0 ? mcds__wall_ms(env) : 0);
}

/* Find the element in the value of an open key and give what stands under it to `take`, which is
 * false where memory is refused. */
static int take_element(const mcds_env *env, mcds_bytes key, mcds_bytes value, uint32_t flags,
                        mcds_bytes element, bool (*take)(void *context, mcds_bytes value),
                        void *context)
{
    struct mcds__fold_contents contents;
    mcds__fold_contents_init(&contents, env, key, element);
    int result = mcds__fold_load(&contents, value, flags);
    if (result == MCDS_OK) {
        const struct mcds__fold_entry *entry = mcds__fold_find(&contents, element);
        if (entry == NULL || !is_there_now(env, entry))
            result = MCDS_NOT_FOUND;
        else if (!take(context, entry->value))
            result = MCDS_NO_MEMORY;
    }
    mcds__fold_contents_free(&contents);
    return result;
}

struct sought {
    const struct mcds__fold *fold;
    mcds_bytes key;
    mcds_bytes element;
    bool (*take)(void *context, mcds_bytes value);
    void *context;
    int result; /* OK or NOT_FOUND; all else is for an operation to tell */
};

static void see_key(void *context, const mcds_reply *reply, mcds_bytes value)
{
    struct sought *sought = context;
    const struct mcds__fold *fold = sought->fold;
    if (reply->outcome == MCDS_OUT_OK && mcds__fold_state_of(reply->flags) == MCDS__FOLD_OPEN)
        sought->result = take_element(fold->env, sought->key, value, reply->flags,
                                      sought->element, sought->take, sought->context);
}

bool mcds__fold_look_at_once(struct mcds__fold *fold, mcds_bytes element,
                             bool (*take)(void *context, mcds_bytes value), void *context,
                             int *result_out)
{
    struct mcds__key key;
    struct mcds__fold_proof proof = {0};
    if (!mcds__store_answers_here(fold->store)) /* then it shows nothing either */
        return false;
    struct mcds__fold_life life = mcds__fold_life(fold);
    if (life.number == 0)
        return false;
    uint64_t hash = mcds__fold_hash(life.hash_key, element);
    mcds__fold_key(fold, life.number, hash, mcds__fold_depth(fold, hash), &key);
    struct sought sought = {fold, mcds__key_bytes(&key), element, take, context, MCDS_BUSY};
    if (!mcds__store_look(fold->store, sought.key, see_key, &sought) ||
        (sought.result != MCDS_OK && sought.result != MCDS_NOT_FOUND))
        return false;
    if (!mcds__store_remains(fold->store, mcds__key_bytes(&fold->root), &life.mark) &&
        mcds__fold_is_alive(&proof, fold, life.number) != MCDS__FOLD_ALIVE)
        return false;
    *result_out = sought.result;
    return true;
}

struct kept {
    mcds_buffer *values;
    mcds_bytes value;
};

/* A value that stands in the reply can stay there; one that the records came to is copied
 * behind it. */
static bool keep_value(void *context, mcds_bytes value)
{
    struct kept *kept = context;
    mcds_buffer *values = kept->values;
    const uint8_t *at = value.at;
    kept->value = value;
    if (value.length == 0 || (at >= values->at && at < values->at + values->length))
        return true;
    size_t before = values->length;
    if (!mcds_buffer_append(values, value.at, value.length))
        return false;
    kept->value.at = values->at + before;
    return true;
}

static enum mcds__step begin(struct mcds__fold_look *look, struct mcds__operation *operation);

static enum mcds__step take_entry(struct mcds__fold_look *look,
                                  struct mcds__operation *operation,
                                  const mcds_request *request)
{
    struct kept kept = {.values = &operation->values};
    int result = take_element(
        operation->env, request->key, mcds__reply_value(&operation->batch, request),
        request->reply.flags, (mcds_bytes){look->element.at, look->element.length}, keep_value,
        &kept);
    look->value = kept.value;
    (void)mcds__operation_explain(operation, result, mcds__fold_reason(result));
    switch (mcds__fold_is_alive(&look->proof, look->fold, look->life.number)) {
    case MCDS__FOLD_ALIVE:
        return MCDS__DONE;
    case MCDS__FOLD_OVER:
        return locate(look, operation);
    default: /* what the other look has found is not there yet */
        if (look->moves++ == MCDS__FOLD_MOVES_MAX)
            return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(ROOT_UNREAD));
        look->proof.is_alone = true;
        look->stage = LOOK_BEGIN;
        return begin(look, operation);
    }
}

/* A key that is there. */
static enum mcds__step take_value(struct mcds__fold_look *look,
                                  struct mcds__operation *operation,
                                  const mcds_request *request)
{
    uint32_t flags = request->reply.flags;
    switch (mcds__fold_state_of(flags)) {
    case MCDS__FOLD_OPEN:
        mcds__fold_note_depth(look->fold, look->hash, look->depth);
        return take_entry(look, operation, request);
    case MCDS__FOLD_SEALED:
        return ask_below(look, operation, look->depth);
    case MCDS__FOLD_MOVED:
        mcds__fold_note_moved(look->fold, look->hash, look->depth);
        return locate(look, operation);
    default:
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    }
}

/* The child of a sealed key, or what the key itself says while there is none. */
static enum mcds__step take_below(struct mcds__fold_look *look,
                                  struct mcds__operation *operation)
{
    const mcds_request *parent = &look->requests[PARENT];
    if (look->requests[CHILD].reply.outcome == MCDS_OUT_OK) {
        look->depth++;
        return take_value(look, operation, &look->requests[CHILD]);
    }
    if (parent->reply.outcome == MCDS_OUT_OK &&
        mcds__fold_state_of(parent->reply.flags) == MCDS__FOLD_SEALED)
        return look->has_missed ? take_entry(look, operation, parent)
                                : ask_below(look, operation, look->depth);
    return locate(look, operation);
}

static enum mcds__step take_replies(struct mcds__fold_look *look,
                                    struct mcds__operation *operation)
{
    if (look->proof.looks)
        mcds__fold_take_proof(&look->proof, look->fold, look->life.number,
                              &look->requests[look->count].reply);
    for (uint32_t i = 0; i < look->count; i++) {
        const mcds_reply *reply = &look->requests[i].reply;
        if (mcds__is_transport_trouble(reply)) {
            look->stage = LOOK_BEGIN;
            if (mcds__operation_again(operation))
                return MCDS__SLEEP;
            return mcds__operation_fail_read(operation, reply);
        }
        if (reply->outcome != MCDS_OUT_OK && reply->outcome != MCDS_OUT_MISS)
            return mcds__operation_fail_read(operation, reply);
    }
    if (look->stage == LOOK_BELOW)
        return take_below(look, operation);
    if (look->requests[CHILD].reply.outcome == MCDS_OUT_MISS) {
        if (look->proof.over == look->life.number)
            mcds__fold_forget(look->fold, look->life.number);
        return locate(look, operation);
    }
    return take_value(look, operation, &look->requests[CHILD]);
}

static enum mcds__step begin(struct mcds__fold_look *look, struct mcds__operation *operation)
{
    struct mcds__fold_life life = mcds__fold_life(look->fold);
    if (life.number == 0)
        return locate(look, operation);
    set_life(look, &life);
    return ask_at(look, operation, mcds__fold_depth(look->fold, look->hash));
}

enum mcds__step mcds__fold_look_step(struct mcds__fold_look *look,
                                     struct mcds__operation *operation)
{
    switch (look->stage) {
    case LOOK_BEGIN:
        return begin(look, operation);
    case LOOK_LOCATING:
        return locate(look, operation);
    default:
        return take_replies(look, operation);
    }
}
