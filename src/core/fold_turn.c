/* Core fold: what the changes of one handle owe each other: numbers, places, turns. */
#include "core/fold_turn.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/environment.h"

/* Bytes that one handle appends to a key before it sees how large that has become: a small part
 * of what the key takes, and two combined appends. */
#define UNDER_WAY_MAX 16384

/* Takes the next number and returns the oldest in flight. A ticket is never used twice; its
 * high half is part of the writer's id, so that the sequence may wrap. */
void mcds__fold_take_number(struct mcds__fold *fold, struct mcds__fold_change *change,
                            uint32_t *low_out)
{
    (void)pthread_mutex_lock(&fold->mutex);
    if (fold->earlier.open == 0) {
        fold->earlier = fold->current;
        fold->current = (struct mcds__fold_span){fold->next_ticket, 0};
    }
    change->ticket = fold->next_ticket++;
    fold->current.open++;
    uint64_t low = fold->earlier.open > 0 ? fold->earlier.begin : fold->current.begin;
    (void)pthread_mutex_unlock(&fold->mutex);
    change->numbered = true;
    change->writer = fold->writer + (change->ticket >> 32);
    change->seq = (uint32_t)change->ticket;
    *low_out = low >> 32 == change->ticket >> 32 ? (uint32_t)low : 0;
}

/* Where a PUSH of this moment belongs: keys that are changed one after another by this handle get
 * places that rise, within a millisecond too and when the clock is set back. Returns how far it
 * is behind the record's time. */
int64_t mcds__fold_take_place(struct mcds__fold *fold, int64_t wall_ns)
{
    uint64_t begin = (uint64_t)(wall_ns / NS_PER_MS) << MCDS__FOLD_PLACE_SHIFT;
    uint64_t place = begin + (uint64_t)(wall_ns % NS_PER_MS);
    (void)pthread_mutex_lock(&fold->mutex);
    if (place <= fold->last_place)
        place = fold->last_place + 1;
    fold->last_place = place;
    (void)pthread_mutex_unlock(&fold->mutex);
    return (int64_t)(place - begin);
}

void mcds__fold_give_number(struct mcds__fold_change *change)
{
    struct mcds__fold *fold = change->fold;
    if (!change->numbered)
        return;
    (void)pthread_mutex_lock(&fold->mutex);
    if (change->ticket >= fold->current.begin)
        fold->current.open--;
    else
        fold->earlier.open--;
    (void)pthread_mutex_unlock(&fold->mutex);
    change->numbered = false;
}

/* Bytes of this handle that are in flight to the key. When they are many, further changes wait:
 * a key must not grow far beyond its size before it can be split. */
bool mcds__fold_has_turn(struct mcds__fold_change *change, uint32_t depth)
{
    uint32_t bytes = atomic_load_explicit(
        mcds__fold_bytes_under_way(change->fold, change->hash, depth), memory_order_relaxed);
    return bytes == 0 || bytes + change->record.length <= UNDER_WAY_MAX;
}

void mcds__fold_take_turn(struct mcds__fold_change *change)
{
    assert(change->under_way == NULL);
    change->under_way = mcds__fold_bytes_under_way(change->fold, change->hash, change->depth);
    atomic_fetch_add(change->under_way, (uint32_t)change->record.length);
}

void mcds__fold_give_turn(struct mcds__fold_change *change)
{
    if (change->under_way != NULL)
        atomic_fetch_sub(change->under_way, (uint32_t)change->record.length);
    change->under_way = NULL;
}

/* Until the handle knows the structure, one of its operations asks for it, and the others wait:
 * each would else find the same, or make the root. */
bool mcds__fold_is_founder(struct mcds__fold_change *change)
{
    uint64_t none = 0;
    return atomic_compare_exchange_strong(&change->fold->founder, &none, change->ticket) ||
           none == change->ticket;
}

void mcds__fold_resign(struct mcds__fold_change *change)
{
    uint64_t ticket = change->ticket;
    (void)atomic_compare_exchange_strong(&change->fold->founder, &ticket, 0);
}
