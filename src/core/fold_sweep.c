/* Core fold: go through all entries, or erase all keys, in the order of the hashes. */
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "core/fold_sweep.h"

void mcds__fold_sweep_begin(struct mcds__fold_sweep *sweep, struct mcds__fold *fold)
{
    sweep->fold = fold;
    sweep->erases = false;
    sweep->visit = NULL;
    sweep->context = NULL;
    sweep->position = 0;
    sweep->complete = false;
    sweep->lost = false;
    sweep->erased = false;
    sweep->erasures = 0;
    sweep->marks = 0;
    sweep->stage = MCDS__SWEEP_BEGIN;
    sweep->moves = 0;
    sweep->depth = 0;
    sweep->parents = 0;
    sweep->is_below = false;
    sweep->missed = 0;
    sweep->life = (struct mcds__fold_life){0};
    sweep->begun_at = 0;
    sweep->is_proved = false;
    sweep->by_ns = 0;
    sweep->place = (struct mcds__fold_place){0};
    sweep->room = NULL;
}

void mcds__fold_sweep_free(struct mcds__fold_sweep *sweep)
{
    mcds__fold_free_room(&sweep->place.room, sweep->fold->env);
    mcds__free(sweep->fold->env, sweep->room);
    sweep->room = NULL;
}

/* Fix the time by which something must have been visited, or a slice of the hashes passed. Keys are
 * spread evenly, so only a server that makes them up keeps a sweep longer where it is. */
static void renew_deadline(struct mcds__fold_sweep *sweep, struct mcds__operation *operation)
{
    uint64_t slice = sweep->position >> MCDS__SWEEP_SLICE_SHIFT;
    int64_t timeout_ns = mcds__store_timeout_ns(operation->store);
    if (sweep->by_ns == 0)
        mcds__operation_note_result(operation);
    mcds__operation_renew(operation);
    if (sweep->by_ns == 0 || slice != sweep->slice)
        sweep->by_ns = operation->deadline_ns + MCDS__SWEEP_TIMEOUTS * timeout_ns;
    sweep->slice = slice;
    if (operation->deadline_ns > sweep->by_ns)
        operation->deadline_ns = sweep->by_ns;
}

static enum mcds__step finish(struct mcds__fold_sweep *sweep, struct mcds__operation *operation)
{
    if (sweep->lost)
        return mcds__operation_explain(operation, MCDS_LOST, MCDS__WHY(PART_GONE));
    return mcds__operation_finish(operation, MCDS_OK);
}

/* What stood before the position is done with: only that renews the deadline, so that a store
 * that does not answer is not asked for ever. */
static enum mcds__step ask_next(struct mcds__fold_sweep *sweep,
                                struct mcds__operation *operation)
{
    renew_deadline(sweep, operation);
    return mcds__sweep_ask(sweep, operation);
}

static enum mcds__step locate(struct mcds__fold_sweep *sweep,
                              struct mcds__operation *operation);

/* From now on this life is meant. False: it is another, so the one that has been read in part was
 * dropped meanwhile, and what was there all the time has been visited. */
static bool keep_life(struct mcds__fold_sweep *sweep, const struct mcds__fold_life *life)
{
    if (sweep->life.number != 0 && sweep->life.number != life->number &&
        sweep->position != sweep->begun_at) {
        sweep->complete = true;
        return false;
    }
    sweep->life = *life;
    return true;
}

static enum mcds__step begin(struct mcds__fold_sweep *sweep, struct mcds__operation *operation)
{
    if (sweep->room == NULL)
        sweep->room = mcds__allocate(operation->env, sizeof *sweep->room);
    if (sweep->room == NULL)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    if (sweep->erases && !sweep->is_proved)
        return mcds__sweep_ask_root(sweep, operation);
    if (sweep->life.number == 0)
        sweep->begun_at = sweep->position;
    struct mcds__fold_life life = sweep->erases ? sweep->life : mcds__fold_life(sweep->fold);
    if (life.number == 0)
        return locate(sweep, operation);
    if (!keep_life(sweep, &life))
        return finish(sweep, operation);
    sweep->depth = mcds__fold_depth(sweep->fold, sweep->position);
    return mcds__sweep_ask(sweep, operation);
}

/* Behind the key of this depth at the position. */
static void pass(struct mcds__fold_sweep *sweep, uint32_t depth)
{
    sweep->position = mcds__sweep_end(sweep->position, depth) + 1;
    sweep->complete = sweep->position == 0;
    sweep->moves = 0;
}

static enum mcds__step ask_erasures(struct mcds__fold_sweep *sweep,
                                    struct mcds__operation *operation)
{
    sweep->stage = MCDS__SWEEP_ERASING;
    return mcds__operation_ask_any_order(operation, sweep->room->erased, sweep->erasures);
}

/* The key at the position is lost. What had moved out of it before is still there. */
static enum mcds__step take_loss(struct mcds__fold_sweep *sweep,
                                 struct mcds__operation *operation)
{
    bool has_asked = sweep->stage == MCDS__SWEEP_ORPHANS;
    sweep->lost = true;
    if (!has_asked && sweep->depth < MCDS__FOLD_DEPTH_MAX)
        return mcds__sweep_ask_orphans(sweep, operation);
    if (has_asked && mcds__sweep_has_orphans(sweep)) {
        sweep->depth++;
        mcds__sweep_note_parents(sweep, 1);
    } else {
        pass(sweep, sweep->depth);
    }
    return sweep->complete ? finish(sweep, operation) : ask_next(sweep, operation);
}

/* A missing child of which no batch knows: nothing to visit, but the marks above it are to go
 * with it. */
static enum mcds__step pass_loss(struct mcds__fold_sweep *sweep,
                                 struct mcds__operation *operation)
{
    sweep->depth = sweep->place.depth + 1;
    mcds__sweep_note_parents(sweep, 1);
    if (sweep->erases) {
        mcds__sweep_begin_erasures(sweep);
        if (mcds__sweep_has_room_for_erasures(sweep)) {
            mcds__sweep_add_erasures(sweep, sweep->depth);
            pass(sweep, sweep->depth);
        }
        return ask_erasures(sweep, operation);
    }
    operation->detail = NULL;
    return take_loss(sweep, operation);
}

/* All below this key is deeper. */
static enum mcds__step descend(struct mcds__fold_sweep *sweep,
                               struct mcds__operation *operation)
{
    if (sweep->depth == MCDS__FOLD_DEPTH_MAX)
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    sweep->depth++;
    mcds__sweep_note_parents(sweep, 1);
    return ask_next(sweep, operation);
}

static enum mcds__step enter_sealed(struct mcds__fold_sweep *sweep,
                                    struct mcds__operation *operation)
{
    return sweep->erases ? descend(sweep, operation)
                         : mcds__sweep_ask_below(sweep, operation, sweep->depth + 1);
}

static enum mcds__step locate(struct mcds__fold_sweep *sweep, struct mcds__operation *operation)
{
    if (sweep->stage != MCDS__SWEEP_LOCATING) {
        if (sweep->moves++ == MCDS__FOLD_MOVES_MAX)
            return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(KEYS_VANISH));
        renew_deadline(sweep, operation);
        sweep->place.hash = sweep->position;
        sweep->place.stage = 0;
        sweep->place.missing_depth = 0;
        sweep->place.is_rootless = sweep->erases;
        if (sweep->erases)
            sweep->place.life = sweep->life;
    }
    sweep->stage = MCDS__SWEEP_LOCATING;
    enum mcds__step step = mcds__fold_locate_step(&sweep->place, sweep->fold, operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result != MCDS_LOST && operation->result != MCDS_OK)
        return MCDS__DONE;
    if (sweep->place.lost_root || !keep_life(sweep, &sweep->place.life)) {
        sweep->lost = sweep->lost || sweep->place.lost_root;
        sweep->complete = true;
        return finish(sweep, operation);
    }
    sweep->is_proved = true;
    if (operation->result == MCDS_LOST)
        return pass_loss(sweep, operation);
    sweep->depth = sweep->place.depth;
    if (sweep->place.state == MCDS__FOLD_SEALED)
        return enter_sealed(sweep, operation);
    return mcds__sweep_ask(sweep, operation);
}

static int compare_hashes(const void *a, const void *b)
{
    uint64_t left = ((const struct mcds__fold_entry *)a)->hash;
    uint64_t right = ((const struct mcds__fold_entry *)b)->hash;
    return left < right ? -1 : left > right;
}

/* Visit those between the position and the end of its key. False: the visitor has had enough, and
 * the position is behind what it took last. */
static bool visit_entries(struct mcds__fold_sweep *sweep, struct mcds__fold_contents *contents,
                          int64_t now_ms)
{
    uint64_t end = mcds__sweep_end(sweep->position, sweep->depth);
    qsort(contents->entries, contents->entry_count, sizeof contents->entries[0],
          compare_hashes);
    for (uint32_t i = 0; i < contents->entry_count; i++) {
        const struct mcds__fold_entry *entry = &contents->entries[i];
        if (entry->hash < sweep->position || entry->hash > end ||
            !mcds__fold_is_there(entry, now_ms))
            continue;
        sweep->by_ns = 0;
        if (!sweep->visit(sweep->context, entry)) {
            sweep->position = entry->hash + 1;
            sweep->complete = sweep->position == 0;
            return false;
        }
    }
    return true;
}

/* One key's value. *more is false when the visitor has had enough. */
static int take_value(struct mcds__fold_sweep *sweep, struct mcds__operation *operation,
                      const mcds_request *request, bool *more)
{
    struct mcds__fold_contents contents;
    assert(request != NULL);
    mcds__fold_contents_init(&contents, operation->env, request->key, (mcds_bytes){NULL, 0});
    memcpy(contents.hash_key, sweep->life.hash_key, sizeof contents.hash_key);
    int result = mcds__fold_load(&contents, mcds__reply_value(&operation->batch, request),
                                 request->reply.flags);
    if (result == MCDS_OK)
        *more = visit_entries(sweep, &contents, mcds__wall_ms(operation->env));
    mcds__fold_contents_free(&contents);
    return result;
}

static enum mcds__step finish_erasing(struct mcds__fold_sweep *sweep,
                                      struct mcds__operation *operation)
{
    uint64_t rest = sweep->life.number;
    (void)atomic_compare_exchange_strong(&sweep->fold->rest, &rest, 0);
    return mcds__operation_finish(operation, sweep->erased ? MCDS_OK : MCDS_NOT_FOUND);
}

static enum mcds__step take_erasures(struct mcds__fold_sweep *sweep,
                                     struct mcds__operation *operation)
{
    for (uint32_t i = 0; i < operation->batch.count; i++) {
        mcds_outcome outcome = sweep->room->erased[i].reply.outcome;
        sweep->erased = sweep->erased || outcome == MCDS_OUT_OK || outcome == MCDS_OUT_UNKNOWN;
    }
    for (uint32_t i = 0; i < operation->batch.count; i++) {
        const mcds_reply *reply = &sweep->room->erased[i].reply;
        if (reply->outcome != MCDS_OUT_OK && reply->outcome != MCDS_OUT_MISS)
            return mcds__operation_fail(operation, reply);
    }
    if (!sweep->complete)
        return ask_next(sweep, operation);
    if (sweep->marks == 0)
        return finish_erasing(sweep, operation);
    mcds__sweep_begin_erasures(sweep);
    renew_deadline(sweep, operation);
    return ask_erasures(sweep, operation);
}

/* The key that the SEALED one above the batch is, or NULL. */
static const mcds_request *sealed_parent(const struct mcds__fold_sweep *sweep)
{
    const mcds_request *parent = &sweep->room->requests[sweep->count];
    return sweep->is_below && parent->reply.outcome == MCDS_OUT_OK &&
                   mcds__fold_state_of(parent->reply.flags) == MCDS__FOLD_SEALED
               ? parent
               : NULL;
}

static bool is_open(const mcds_reply *reply)
{
    return reply->outcome == MCDS_OUT_OK &&
           mcds__fold_state_of(reply->flags) == MCDS__FOLD_OPEN;
}

/* Whether the key at the position is missing for good. */
static bool is_lost(const struct mcds__fold_sweep *sweep, const mcds_reply *reply)
{
    return reply->outcome == MCDS_OUT_MISS && mcds__sweep_has_split_parent(sweep);
}

/* As many keys as come first and are leaves. */
static enum mcds__step erase(struct mcds__fold_sweep *sweep, struct mcds__operation *operation)
{
    mcds__sweep_begin_erasures(sweep);
    for (uint32_t i = 0; i < sweep->count && !sweep->complete; i++) {
        const mcds_reply *reply = &sweep->room->requests[i].reply;
        if ((!is_open(reply) && !is_lost(sweep, reply)) ||
            !mcds__sweep_has_room_for_erasures(sweep))
            break;
        mcds__sweep_add_erasures(sweep, sweep->depth);
        pass(sweep, sweep->depth);
    }
    return ask_erasures(sweep, operation);
}

/* A key that is no leaf, or is missing. */
static enum mcds__step take_other(struct mcds__fold_sweep *sweep,
                                  struct mcds__operation *operation, const mcds_reply *reply)
{
    if (reply->outcome == MCDS_OUT_MISS && (sweep->depth <= 1 || sweep->is_below))
        return locate(sweep, operation);
    if (reply->outcome == MCDS_OUT_MISS)
        return mcds__sweep_ask_parents(sweep, operation);
    enum mcds__fold_state state = mcds__fold_state_of(reply->flags);
    if (state != MCDS__FOLD_SEALED && state != MCDS__FOLD_MOVED)
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    if (state == MCDS__FOLD_MOVED)
        mcds__fold_note_moved(sweep->fold, sweep->position, sweep->depth);
    if (sweep->depth == 0)
        return locate(sweep, operation);
    return state == MCDS__FOLD_SEALED ? enter_sealed(sweep, operation)
                                      : descend(sweep, operation);
}

/* The keys above the batch: the first decides how to go on, and what is known of the others saves
 * asking for them. */
static enum mcds__step take_parents(struct mcds__fold_sweep *sweep,
                                    struct mcds__operation *operation)
{
    uint32_t parents = 0;
    const mcds_reply *first = &sweep->room->requests[0].reply;
    for (uint32_t i = 0; i < sweep->count && i < 32; i++) {
        const mcds_reply *reply = &sweep->room->requests[i].reply;
        enum mcds__fold_state state = mcds__fold_state_of(reply->flags);
        bool is_split = state == MCDS__FOLD_MOVED ||
                        (sweep->erases && state == MCDS__FOLD_SEALED);
        if (reply->outcome == MCDS_OUT_OK && is_split)
            parents |= UINT32_C(1) << i;
    }
    if ((parents & 1) != 0) {
        mcds__sweep_note_parents(sweep, parents);
        return mcds__sweep_ask(sweep, operation);
    }
    if (first->outcome != MCDS_OUT_OK || sweep->moves++ == MCDS__FOLD_MOVES_MAX)
        return locate(sweep, operation);
    if (mcds__fold_state_of(first->flags) == MCDS__FOLD_SEALED)
        return mcds__sweep_ask_below(sweep, operation, sweep->depth);
    sweep->depth--;
    return mcds__sweep_ask(sweep, operation);
}

/* The batch has been read up to the position. */
static enum mcds__step go_on(struct mcds__fold_sweep *sweep, struct mcds__operation *operation)
{
    if (sweep->complete)
        return finish(sweep, operation);
    sweep->depth -= sweep->is_below;
    return ask_next(sweep, operation);
}

static enum mcds__step take_keys(struct mcds__fold_sweep *sweep,
                                 struct mcds__operation *operation)
{
    for (uint32_t i = 0; i < sweep->count; i++) {
        const mcds_request *request = &sweep->room->requests[i];
        bool more = true;
        if (!is_open(&request->reply) && request->reply.outcome == MCDS_OUT_MISS &&
            sealed_parent(sweep) != NULL) {
            if (!mcds__sweep_has_missed(sweep))
                return mcds__sweep_ask_below_again(sweep, operation, i);
            request = sealed_parent(sweep);
        } else if (!is_open(&request->reply) && !is_lost(sweep, &request->reply)) {
            return take_other(sweep, operation, &request->reply);
        }
        if (sweep->erases)
            return erase(sweep, operation);
        if (request->reply.outcome == MCDS_OUT_OK) {
            int result = take_value(sweep, operation, request, &more);
            if (result != MCDS_OK)
                return mcds__operation_explain(operation, result, mcds__fold_reason(result));
        } else {
            return take_loss(sweep, operation);
        }
        if (!more)
            return finish(sweep, operation);
        pass(sweep, sweep->depth);
    }
    return go_on(sweep, operation);
}

static enum mcds__step take_replies(struct mcds__fold_sweep *sweep,
                                    struct mcds__operation *operation)
{
    for (uint32_t i = 0; i < operation->batch.count; i++) {
        const mcds_reply *reply = &sweep->room->requests[i].reply;
        if (mcds__is_transport_trouble(reply)) {
            sweep->stage = MCDS__SWEEP_BEGIN;
            if (mcds__operation_again(operation))
                return MCDS__SLEEP;
            return mcds__operation_fail_read(operation, reply);
        }
        if (reply->outcome != MCDS_OUT_OK && reply->outcome != MCDS_OUT_MISS)
            return mcds__operation_fail_read(operation, reply);
    }
    if (sweep->stage == MCDS__SWEEP_PARENTS)
        return take_parents(sweep, operation);
    if (sweep->stage == MCDS__SWEEP_ORPHANS)
        return take_loss(sweep, operation);
    if (!sweep->is_proved) {
        const mcds_reply *root = &sweep->room->requests[operation->batch.count - 1].reply;
        sweep->is_proved = root->outcome == MCDS_OUT_OK &&
                           mcds__descriptor_is_of(root->flags, sweep->life.number);
        if (!sweep->is_proved)
            return locate(sweep, operation);
    }
    return take_keys(sweep, operation);
}

/* Erase the root, then all else. */
static enum mcds__step end_life(struct mcds__fold_sweep *sweep,
                                struct mcds__operation *operation)
{
    enum mcds__step step = mcds__sweep_end_life(sweep, operation);
    if (!sweep->is_proved)
        return step;
    renew_deadline(sweep, operation);
    return begin(sweep, operation);
}

static enum mcds__step advance(struct mcds__fold_sweep *sweep,
                               struct mcds__operation *operation)
{
    switch (sweep->stage) {
    case MCDS__SWEEP_BEGIN:
        return begin(sweep, operation);
    case MCDS__SWEEP_LOCATING:
        return locate(sweep, operation);
    case MCDS__SWEEP_ERASING:
        return take_erasures(sweep, operation);
    case MCDS__SWEEP_ROOT:
    case MCDS__SWEEP_ENDING:
        return end_life(sweep, operation);
    default:
        return take_replies(sweep, operation);
    }
}

/* What has been erased in part cannot be told to be untouched. */
enum mcds__step mcds__fold_sweep_step(struct mcds__fold_sweep *sweep,
                                      struct mcds__operation *operation)
{
    enum mcds__step step = advance(sweep, operation);
    if (step == MCDS__DONE && sweep->erased && operation->result != MCDS_OK &&
        operation->result != MCDS_CORRUPT && operation->result != MCDS_NOT_FOUND)
        operation->result = MCDS_AMBIGUOUS;
    return step;
}
