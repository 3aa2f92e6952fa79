/* Map: visit all entries, or erase all keys, in the order of the hashes. */
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "core/map/scan/parts.h"

void mcds__map_scan_begin(struct mcds__map_scan *scan, struct mcds__map *map)
{
    *scan = (struct mcds__map_scan){.map = map, .stage = MCDS__MAP_SCAN_BEGIN};
}

void mcds__map_scan_free(struct mcds__map_scan *scan)
{
    mcds__map_free_scratch(&scan->place.scratch, scan->map->env);
    mcds__free(scan->map->env, scan->scratch);
    scan->scratch = NULL;
}

/* Set the time by which an entry must have been visited, or a slice of the hashes passed. Keys
 * are spread evenly, so only a server that invents keys delays a scan longer. */
static void renew_deadline(struct mcds__map_scan *scan, struct mcds__operation *operation)
{
    uint64_t slice = scan->position >> MCDS__MAP_SCAN_SLICE_SHIFT;
    int64_t timeout_ns = mcds__store_timeout_ns(operation->store);
    mcds__operation_renew(operation);
    if (scan->by_ns == 0 || slice != scan->slice)
        scan->by_ns = operation->deadline_ns + MCDS__MAP_SCAN_TIMEOUTS * timeout_ns;
    scan->slice = slice;
    if (operation->deadline_ns > scan->by_ns)
        operation->deadline_ns = scan->by_ns;
}

static enum mcds__step map_scan_finish(struct mcds__map_scan *scan,
                                       struct mcds__operation *operation)
{
    if (scan->lost && !scan->place.lost_root)
        operation->asked = scan->lost_at;
    if (scan->lost)
        return mcds__operation_explain(operation, MCDS_LOST,
                                       scan->place.lost_root ? MCDS__WHY(DROPPED)
                                                             : MCDS__WHY(PART_GONE));
    return mcds__operation_finish(operation, MCDS_OK);
}

/* All entries before the position were visited. That renews the deadline, and so does what the
 * keys above have shown; not a store that does not answer, so it is not asked for ever. */
static enum mcds__step ask_next(struct mcds__map_scan *scan, struct mcds__operation *operation)
{
    renew_deadline(scan, operation);
    return mcds__map_scan_ask(scan, operation);
}

static enum mcds__step map_scan_locate(struct mcds__map_scan *scan,
                                       struct mcds__operation *operation);

/* Continue in this life. False: it is another life, so the one that was being read was dropped
 * meanwhile, and all entries that existed all the time were visited. */
static bool keep_life(struct mcds__map_scan *scan, const struct mcds__map_life *life)
{
    assert(life->number != 0);
    if (scan->life.number != 0 && scan->life.number != life->number &&
        scan->position != scan->begun_at) {
        scan->complete = true;
        return false;
    }
    scan->life = *life;
    return true;
}

static enum mcds__step map_scan_begin(struct mcds__map_scan *scan,
                                      struct mcds__operation *operation)
{
    if (scan->scratch == NULL) {
        scan->scratch = mcds__allocate(operation->env, sizeof *scan->scratch);
        if (scan->scratch == NULL)
            return mcds__operation_finish(operation, MCDS_NO_MEMORY);
        scan->scratch->planned = scan->scratch->plan_end = 0;
    }
    if (scan->erases && !scan->is_proved)
        return mcds__map_scan_ask_root(scan, operation);
    if (scan->life.number == 0)
        scan->begun_at = scan->position;
    struct mcds__map_life life = scan->erases ? scan->life : mcds__map_life(scan->map);
    if (life.number == 0)
        return map_scan_locate(scan, operation);
    if (!keep_life(scan, &life))
        return map_scan_finish(scan, operation);
    scan->depth = mcds__map_depth(scan->map, scan->position);
    return mcds__map_scan_ask(scan, operation);
}

/* Move the position after the key of this depth. */
static void map_scan_pass(struct mcds__map_scan *scan, uint32_t depth)
{
    assert(!scan->complete && depth <= MCDS__MAP_DEPTH_MAX);
    assert(mcds__map_scan_end(scan->position, depth) >= scan->position);
    mcds__map_scan_follow_plan(scan, depth);
    scan->position = mcds__map_scan_end(scan->position, depth) + 1;
    scan->complete = scan->position == 0;
    scan->moves = 0;
}

static enum mcds__step map_scan_ask_erasures(struct mcds__map_scan *scan,
                                             struct mcds__operation *operation)
{
    assert(scan->erases && scan->erasures <= MCDS__MAP_SCAN_KEYS_MAX);
    scan->stage = MCDS__MAP_SCAN_ERASING;
    return mcds__operation_ask_any_order(operation, scan->scratch->erased, scan->erasures);
}

/* The key at the position is lost. Entries that had moved out of it still exist. */
static enum mcds__step map_scan_take_loss(struct mcds__map_scan *scan,
                                          struct mcds__operation *operation)
{
    assert(!scan->erases);
    scan->lost_at = scan->lost ? scan->lost_at : operation->asked;
    bool has_asked = scan->stage == MCDS__MAP_SCAN_ORPHANS;
    scan->lost = true;
    if (!has_asked && scan->depth < MCDS__MAP_DEPTH_MAX)
        return mcds__map_scan_ask_orphans(scan, operation);
    if (has_asked && mcds__map_scan_has_orphans(scan)) {
        scan->depth++;
        mcds__map_scan_note_parents(scan, 1);
    } else {
        map_scan_pass(scan, scan->depth);
        mcds__map_scan_take_depth(scan);
    }
    return scan->complete ? map_scan_finish(scan, operation) : ask_next(scan, operation);
}

/* A missing child that no batch contains: the marks above it must be erased with it. */
static enum mcds__step pass_loss(struct mcds__map_scan *scan, struct mcds__operation *operation)
{
    scan->depth = scan->place.depth + 1;
    mcds__map_scan_note_parents(scan, 1);
    if (scan->erases) {
        mcds__map_scan_begin_erasures(scan);
        if (mcds__map_scan_has_room_for_erasures(scan)) {
            mcds__map_scan_add_erasures(scan, scan->depth);
            map_scan_pass(scan, scan->depth);
        }
        return map_scan_ask_erasures(scan, operation);
    }
    operation->detail = NULL;
    return map_scan_take_loss(scan, operation);
}

/* The entries of this key are deeper. */
static enum mcds__step descend(struct mcds__map_scan *scan, struct mcds__operation *operation)
{
    if (scan->depth == MCDS__MAP_DEPTH_MAX)
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    scan->depth++;
    mcds__map_scan_note_parents(scan, 1);
    return ask_next(scan, operation);
}

static enum mcds__step enter_sealed(struct mcds__map_scan *scan,
                                    struct mcds__operation *operation)
{
    return scan->erases ? descend(scan, operation)
                        : mcds__map_scan_ask_below(scan, operation, scan->depth + 1);
}

static enum mcds__step map_scan_locate(struct mcds__map_scan *scan,
                                       struct mcds__operation *operation)
{
    if (scan->stage != MCDS__MAP_SCAN_LOCATING) {
        if (scan->moves++ == MCDS__MAP_MOVES_MAX)
            return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(KEYS_VANISH));
        renew_deadline(scan, operation);
        scan->place.hash = scan->position;
        scan->place.stage = 0;
        scan->place.missing_depth = 0;
        scan->place.is_rootless = scan->erases;
        if (scan->erases)
            scan->place.life = scan->life;
    }
    scan->stage = MCDS__MAP_SCAN_LOCATING;
    enum mcds__step step = mcds__map_locate_step(&scan->place, scan->map, operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result != MCDS_LOST && operation->result != MCDS_OK)
        return MCDS__DONE;
    if (scan->place.lost_root || !keep_life(scan, &scan->place.life)) {
        scan->lost = scan->lost || scan->place.lost_root;
        scan->complete = true;
        return map_scan_finish(scan, operation);
    }
    scan->is_proved = true;
    if (operation->result == MCDS_LOST)
        return pass_loss(scan, operation);
    scan->depth = scan->place.depth;
    if (scan->place.state == MCDS__MAP_SEALED)
        return enter_sealed(scan, operation);
    return mcds__map_scan_ask(scan, operation);
}

static int compare_hashes(const void *a, const void *b)
{
    uint64_t left = ((const struct mcds__map_entry *)a)->hash;
    uint64_t right = ((const struct mcds__map_entry *)b)->hash;
    return left < right ? -1 : left > right;
}

/* Visit the entries between the position and the end of its key. False: the visitor has
 * stopped, and the position is after the last entry that it saw. */
static bool visit_entries(struct mcds__map_scan *scan, struct mcds__bucket *bucket,
                          int64_t now_ms)
{
    uint64_t end = mcds__map_scan_end(scan->position, scan->depth);
    assert(!scan->erases && scan->position <= end);
    qsort(bucket->entries, bucket->entry_count, sizeof bucket->entries[0], compare_hashes);
    for (uint32_t i = 0; i < bucket->entry_count; i++) {
        const struct mcds__map_entry *entry = &bucket->entries[i];
        if (entry->hash < scan->position || entry->hash > end ||
            !mcds__map_is_there(entry, now_ms))
            continue;
        scan->by_ns = 0;
        if (!scan->visit(scan->context, entry)) {
            scan->position = entry->hash + 1;
            scan->complete = scan->position == 0;
            return false;
        }
    }
    return true;
}

/* Process the value of one key. *more is false if the visitor has stopped. */
static int map_scan_take_value(struct mcds__map_scan *scan, struct mcds__operation *operation,
                               const mcds_request *request, bool *more)
{
    struct mcds__bucket bucket;
    assert(request != NULL);
    mcds__bucket_init(&bucket, operation->env, request->key, (mcds_bytes){NULL, 0});
    memcpy(bucket.hash_key, scan->life.hash_key, sizeof bucket.hash_key);
    int result = mcds__map_load(&bucket, mcds__operation_value(operation, request),
                                request->reply.flags);
    mcds__operation_note_visit(operation);
    if (result == MCDS_OK)
        *more = visit_entries(scan, &bucket, mcds__wall_ms(operation->env));
    mcds__bucket_free(&bucket);
    return result;
}

static enum mcds__step finish_erasing(struct mcds__map_scan *scan,
                                      struct mcds__operation *operation)
{
    assert(scan->complete && scan->marks == 0);
    uint64_t rest = scan->life.number;
    (void)atomic_compare_exchange_strong(&scan->map->rest, &rest, 0);
    return mcds__operation_finish(operation, scan->erased ? MCDS_OK : MCDS_NOT_FOUND);
}

static enum mcds__step take_erasures(struct mcds__map_scan *scan,
                                     struct mcds__operation *operation)
{
    assert(operation->batch.count == scan->erasures);
    const mcds_request *requests = scan->scratch->erased;
    const mcds_reply *trouble = mcds__first_trouble(requests, scan->erasures);
    scan->erased = scan->erased || mcds__may_be_applied(requests, scan->erasures);
    if (trouble != NULL)
        return mcds__operation_fail(operation, trouble);
    if (!scan->complete) {
        mcds__map_scan_take_depth(scan);
        return ask_next(scan, operation);
    }
    if (scan->marks == 0)
        return finish_erasing(scan, operation);
    mcds__map_scan_begin_erasures(scan);
    renew_deadline(scan, operation);
    return map_scan_ask_erasures(scan, operation);
}

/* The SEALED key above the batch, or NULL. */
static const mcds_request *sealed_parent(const struct mcds__map_scan *scan)
{
    const mcds_request *parent = &scan->scratch->requests[scan->count];
    return scan->is_below && parent->reply.outcome == MCDS_OUT_OK &&
                   mcds__map_state_of(parent->reply.flags) == MCDS__MAP_SEALED
               ? parent
               : NULL;
}

static bool is_open(const mcds_reply *reply)
{
    return reply->outcome == MCDS_OUT_OK && mcds__map_state_of(reply->flags) == MCDS__MAP_OPEN;
}

/* Whether the key at the position is missing for good, or there is none in a flat map. */
static bool is_lost_child(const struct mcds__map_scan *scan, const mcds_reply *reply)
{
    return reply->outcome == MCDS_OUT_MISS &&
           (scan->map->flat != 0 || mcds__map_scan_has_split_parent(scan));
}

/* The keys at the beginning of the batch that are leaves. */
static enum mcds__step map_scan_erase(struct mcds__map_scan *scan,
                                      struct mcds__operation *operation)
{
    assert(scan->erases && !scan->is_below);
    mcds__map_scan_begin_erasures(scan);
    for (uint32_t i = 0; i < scan->count && !scan->complete; i++) {
        const mcds_reply *reply = &scan->scratch->requests[i].reply;
        scan->depth = scan->scratch->key_depths[i];
        if ((!is_open(reply) && !is_lost_child(scan, reply)) ||
            !mcds__map_scan_has_room_for_erasures(scan)) {
            mcds__map_scan_plan(scan, i);
            break;
        }
        mcds__map_scan_add_erasures(scan, scan->depth);
        map_scan_pass(scan, scan->depth);
    }
    return map_scan_ask_erasures(scan, operation);
}

/* A key that is not a leaf, or is missing. */
static enum mcds__step take_other(struct mcds__map_scan *scan,
                                  struct mcds__operation *operation,
                                  const mcds_request *request)
{
    const mcds_reply *reply = &request->reply;
    if (reply->outcome == MCDS_OUT_MISS && (scan->depth <= 1 || scan->is_below))
        return map_scan_locate(scan, operation);
    if (reply->outcome == MCDS_OUT_MISS)
        return mcds__map_scan_ask_parents(scan, operation);
    enum mcds__map_state state = mcds__map_state_of(reply->flags);
    operation->read = request;
    if ((state != MCDS__MAP_SEALED && state != MCDS__MAP_MOVED) || scan->map->flat != 0)
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    if (state == MCDS__MAP_MOVED)
        mcds__map_note_moved(scan->map, scan->life.number, scan->position, scan->depth);
    if (scan->depth == 0)
        return map_scan_locate(scan, operation);
    return state == MCDS__MAP_SEALED ? enter_sealed(scan, operation) : descend(scan, operation);
}

/* The keys above the batch: the first decides what follows; the others save later reads. */
static enum mcds__step take_parents(struct mcds__map_scan *scan,
                                    struct mcds__operation *operation)
{
    assert(scan->depth > 0);
    uint32_t parents = 0;
    const mcds_reply *first = &scan->scratch->requests[0].reply;
    for (uint32_t i = 0; i < scan->count && i < 32; i++) {
        const mcds_reply *reply = &scan->scratch->requests[i].reply;
        enum mcds__map_state state = mcds__map_state_of(reply->flags);
        bool is_split = state == MCDS__MAP_MOVED || (scan->erases && state == MCDS__MAP_SEALED);
        if (reply->outcome == MCDS_OUT_OK && is_split)
            parents |= UINT32_C(1) << i;
    }
    mcds__map_scan_plan_below(scan);
    renew_deadline(scan, operation);
    if ((parents & 1) != 0) {
        mcds__map_scan_note_parents(scan, parents);
        return mcds__map_scan_ask(scan, operation);
    }
    if (first->outcome != MCDS_OUT_OK || scan->moves++ == MCDS__MAP_MOVES_MAX)
        return map_scan_locate(scan, operation);
    if (mcds__map_state_of(first->flags) == MCDS__MAP_SEALED)
        return mcds__map_scan_ask_below(scan, operation, scan->depth);
    scan->depth--;
    return mcds__map_scan_ask(scan, operation);
}

/* The batch has been read up to the position. */
static enum mcds__step map_scan_go_on(struct mcds__map_scan *scan,
                                      struct mcds__operation *operation)
{
    if (scan->complete)
        return map_scan_finish(scan, operation);
    assert(!scan->is_below || scan->depth > 0);
    scan->depth -= scan->is_below;
    mcds__map_scan_take_depth(scan);
    return ask_next(scan, operation);
}

static enum mcds__step map_scan_take_keys(struct mcds__map_scan *scan,
                                          struct mcds__operation *operation)
{
    assert(scan->count > 0 && scan->count <= MCDS__MAP_SCAN_KEYS_MAX);
    for (uint32_t i = 0; i < scan->count; i++) {
        const mcds_request *request = &scan->scratch->requests[i];
        bool more = true;
        scan->depth = scan->scratch->key_depths[i];
        if (!is_open(&request->reply) && !scan->is_below)
            mcds__map_scan_plan(scan, i);
        if (!is_open(&request->reply) && request->reply.outcome == MCDS_OUT_MISS &&
            sealed_parent(scan) != NULL) {
            if (!mcds__map_scan_has_missed(scan))
                return mcds__map_scan_ask_below_again(scan, operation, i);
            request = sealed_parent(scan);
        } else if (!is_open(&request->reply) && !is_lost_child(scan, &request->reply)) {
            return take_other(scan, operation, request);
        }
        if (scan->erases)
            return map_scan_erase(scan, operation);
        if (request->reply.outcome == MCDS_OUT_OK) {
            int result = map_scan_take_value(scan, operation, request, &more);
            if (result != MCDS_OK)
                return mcds__operation_explain(operation, result, mcds__map_reason(result));
        } else if (scan->map->flat == 0) {
            operation->asked = request->reply.peer;
            return map_scan_take_loss(scan, operation);
        }
        if (!more)
            return map_scan_finish(scan, operation);
        map_scan_pass(scan, scan->depth);
    }
    return map_scan_go_on(scan, operation);
}

static enum mcds__step map_scan_take_replies(struct mcds__map_scan *scan,
                                             struct mcds__operation *operation)
{
    assert(operation->batch.count >= scan->count);
    const mcds_reply *trouble = mcds__first_trouble(scan->scratch->requests,
                                                    operation->batch.count);
    if (trouble != NULL) {
        scan->stage = MCDS__MAP_SCAN_BEGIN;
        return mcds__operation_retry(operation, trouble);
    }
    if (scan->stage == MCDS__MAP_SCAN_PARENTS)
        return take_parents(scan, operation);
    if (scan->stage == MCDS__MAP_SCAN_ORPHANS)
        return map_scan_take_loss(scan, operation);
    if (!scan->is_proved) {
        const mcds_reply *root = &scan->scratch->requests[operation->batch.count - 1].reply;
        scan->is_proved = root->outcome == MCDS_OUT_OK &&
                          mcds__descriptor_is_of(root->flags, scan->life.number);
        if (!scan->is_proved)
            return map_scan_locate(scan, operation);
        mcds__map_note_seen(scan->map, operation->sent_ns);
    }
    return map_scan_take_keys(scan, operation);
}

/* Erase the root, then everything else. */
static enum mcds__step end_life(struct mcds__map_scan *scan, struct mcds__operation *operation)
{
    enum mcds__step step = mcds__map_scan_end_life(scan, operation);
    if (!scan->is_proved)
        return step;
    renew_deadline(scan, operation);
    return map_scan_begin(scan, operation);
}

static enum mcds__step map_scan_advance(struct mcds__map_scan *scan,
                                        struct mcds__operation *operation)
{
    assert(scan->stage <= MCDS__MAP_SCAN_ERASING);
    switch (scan->stage) {
    case MCDS__MAP_SCAN_BEGIN:
        return map_scan_begin(scan, operation);
    case MCDS__MAP_SCAN_LOCATING:
        return map_scan_locate(scan, operation);
    case MCDS__MAP_SCAN_ERASING:
        return take_erasures(scan, operation);
    case MCDS__MAP_SCAN_ROOT:
    case MCDS__MAP_SCAN_ENDING:
        return end_life(scan, operation);
    default:
        return map_scan_take_replies(scan, operation);
    }
}

/* If some keys may be erased, the result cannot be "not applied". */
enum mcds__step mcds__map_scan_step(struct mcds__map_scan *scan,
                                    struct mcds__operation *operation)
{
    assert(scan->erases || !scan->erased);
    enum mcds__step step = map_scan_advance(scan, operation);
    if (step == MCDS__DONE && scan->erased && operation->result != MCDS_OK &&
        operation->result != MCDS_NOT_FOUND)
        operation->result = MCDS_AMBIGUOUS;
    return step;
}
