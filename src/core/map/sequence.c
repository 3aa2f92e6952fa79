/* Map: the updates of one handle share sequence numbers, positions and space in a key. */
#include "core/map/sequence.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/environment.h"
#include "engine/line.h"
#include "engine/line_wait.h"

/* Bytes that one handle appends to a key before it sees the new size: a small fraction of what
 * the key can hold, and two combined appends. */
#define UNDER_WAY_MAX 16384

/* A ticket is used once; its high half is part of the writer's id, so the sequence may wrap. */
void mcds__map_take_number(struct mcds__map_update *update)
{
    struct mcds__map *map = update->map;
    if (update->numbered)
        return;
    (void)pthread_mutex_lock(&map->mutex);
    if (map->earlier.open == 0) {
        map->earlier = map->current;
        map->current = (struct mcds__map_span){map->next_ticket, 0};
    }
    update->ticket = map->next_ticket++;
    map->current.open++;
    uint64_t low = map->earlier.open > 0 ? map->earlier.begin : map->current.begin;
    assert(low <= update->ticket && map->earlier.begin <= map->current.begin);
    (void)pthread_mutex_unlock(&map->mutex);
    update->numbered = true;
    update->writer = map->writer + (update->ticket >> 32);
    update->seq = (uint32_t)update->ticket;
    uint32_t oldest = low >> 32 == update->ticket >> 32 ? (uint32_t)low : 0;
    mcds__map_number_record(&update->record, update->writer, update->seq, oldest,
                            &update->element);
    update->place.element = update->element;
}

/* The position of a PUSH at this moment: successive updates of this handle get increasing
 * positions, even within a millisecond and when the clock is set back. Returns its distance
 * after the record's time. */
int64_t mcds__map_take_place(struct mcds__map *map, int64_t wall_ns)
{
    uint64_t begin = (uint64_t)(wall_ns / NS_PER_MS) << MCDS__MAP_PLACE_SHIFT;
    uint64_t place = begin + (uint64_t)(wall_ns % NS_PER_MS);
    (void)pthread_mutex_lock(&map->mutex);
    if (place <= map->last_place)
        place = map->last_place + 1;
    map->last_place = place;
    (void)pthread_mutex_unlock(&map->mutex);
    assert(place >= begin);
    return (int64_t)(place - begin);
}

void mcds__map_give_number(struct mcds__map_update *update)
{
    struct mcds__map *map = update->map;
    if (!update->numbered)
        return;
    (void)pthread_mutex_lock(&map->mutex);
    assert((update->ticket >= map->current.begin ? map->current.open : map->earlier.open) > 0);
    if (update->ticket >= map->current.begin)
        map->current.open--;
    else
        map->earlier.open--;
    (void)pthread_mutex_unlock(&map->mutex);
    update->numbered = false;
}

/* The place in whose line the operations of a pipeline wait. */
static uint64_t place_of(const void *what)
{
    return (uint64_t)(uintptr_t)what;
}

bool mcds__map_is_held_up(const struct mcds__operation *operation)
{
    return mcds__line_now_ns(operation) >
           operation->deadline_ns - mcds__store_timeout_ns(operation->store) / 4 * 3;
}

/* Join the line of the place, or sleep. The operation that an update waits for may be in a pipeline
 * that nobody drives. So a waiting call continues after a quarter of its timeout, and so does the
 * first operation of a pipeline that has nothing in flight. An update that has sent its request
 * continues at its deadline, because its record may be in the key already. Other operations of a
 * pipeline end: if thousands of them continued at once, all would be late. */
static bool wait_at(const struct mcds__map_update *update, struct mcds__operation *operation,
                    const void *place, enum mcds__step *step_out)
{
    bool is_first = operation->lines == NULL || operation->lines->only_waits;
    *step_out = MCDS__SLEEP;
    if (is_first && mcds__map_is_held_up(operation))
        return false;
    if (update->has_asked)
        return mcds__operation_wait(operation, MCDS__MAP_REWRITE_WAIT_NS);
    if (mcds__operation_wait_in_line(operation, place_of(place), MCDS__MAP_REWRITE_WAIT_NS))
        return true;
    if (operation->lines == NULL)
        return false;
    mcds__map_learn_obstacle(update->map, operation);
    *step_out = mcds__operation_fail_unsent(operation);
    return true;
}

/* Bytes of this handle that are in flight to the key. When they are many, further updates wait:
 * a key must not grow far beyond its size before it can be split. */
bool mcds__map_waits_for_turn(struct mcds__map_update *update,
                              struct mcds__operation *operation, uint32_t depth,
                              enum mcds__step *step_out)
{
    const _Atomic uint32_t *under_way = mcds__map_bytes_under_way(update->map, update->hash,
                                                                  depth);
    uint32_t bytes = atomic_load_explicit(under_way, memory_order_relaxed);
    bool has_room = bytes == 0 || bytes + update->record.length <= UNDER_WAY_MAX ||
                    bytes == mcds__map_bytes_left_alone(update->map, update->hash, depth);
    has_room = has_room && !mcds__lines_has_other(operation, place_of(under_way));
    /* An append by this handle would make its own rewriting fail. */
    bool is_growing = mcds__map_is_growing(update->map, update->hash, depth);
    if (!is_growing && (has_room || update->has_asked))
        return false;
    if (wait_at(update, operation, under_way, step_out))
        return true;
    mcds__map_leave_alone(update->map, update->hash, depth, bytes);
    return false;
}

void mcds__map_take_turn(struct mcds__map_update *update, struct mcds__operation *operation)
{
    assert(update->under_way == NULL && update->numbered);
    update->under_way = mcds__map_bytes_under_way(update->map, update->hash, update->depth);
    operation->place = place_of(update->under_way);
    atomic_fetch_add(update->under_way, (uint32_t)update->record.length);
}

void mcds__map_give_turn(struct mcds__map_update *update)
{
    assert(update->under_way == NULL ||
           atomic_load(update->under_way) >= update->record.length);
    if (update->under_way != NULL)
        atomic_fetch_sub(update->under_way, (uint32_t)update->record.length);
    update->under_way = NULL;
}

/* Until the handle knows the structure, one of its operations reads the root and the others
 * wait. Otherwise each of them would read it or create it. */
bool mcds__map_waits_for_root(struct mcds__map_update *update,
                              struct mcds__operation *operation, enum mcds__step *step_out)
{
    _Atomic uint64_t *founder = &update->map->founder;
    uint64_t none = 0;
    uint64_t own = place_of(update);
    if (!atomic_compare_exchange_strong(founder, &none, own) && none != own)
        return wait_at(update, operation, founder, step_out);
    operation->place = place_of(founder);
    return false;
}

void mcds__map_resign(struct mcds__map_update *update)
{
    uint64_t own = place_of(update);
    if (atomic_load_explicit(&update->map->founder, memory_order_relaxed) == own)
        atomic_store(&update->map->founder, 0); /* no other update changes its own mark */
}
