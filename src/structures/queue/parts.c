/* Queue: the keys of the entries, and the parts that a handle remembers. */
#include <assert.h>
#include <string.h>

#include "base/frame.h"
#include "structures/queue/queue.h"

#define PART_ELEMENT 15
#define DEAD_ELEMENT 21

mcds_bytes mcds__queue_numbers_element(void)
{
    return (mcds_bytes){"h", 1};
}

static void put_element_head(uint8_t *out, char kind, uint64_t incarnation, uint64_t part)
{
    assert(incarnation != 0);
    out[0] = (uint8_t)kind;
    mcds__put_u64(out + 1, incarnation);
    mcds__put_time(out + 9, (int64_t)part);
}

mcds_bytes mcds__queue_part_element(uint64_t incarnation, uint64_t part, uint8_t *out)
{
    put_element_head(out, 'p', incarnation, part);
    return (mcds_bytes){out, PART_ELEMENT};
}

mcds_bytes mcds__queue_dead_element(uint64_t incarnation, uint64_t part, uint64_t number,
                                    uint8_t *out)
{
    put_element_head(out, 'x', incarnation, part);
    mcds__put_time(out + PART_ELEMENT, (int64_t)number);
    return (mcds_bytes){out, DEAD_ELEMENT};
}

bool mcds__queue_is_part(mcds_bytes element)
{
    return element.length == PART_ELEMENT && *(const char *)element.data == 'p';
}

bool mcds__queue_is_dead(mcds_bytes element)
{
    return element.length == DEAD_ELEMENT && *(const char *)element.data == 'x';
}

struct mcds__jobs_numbers mcds__queue_numbers(mcds_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    struct mcds__jobs_numbers numbers = {queue->incarnation, queue->first, queue->last};
    pthread_mutex_unlock(&queue->mutex);
    assert(numbers.first <= numbers.last);
    return numbers;
}

/* The mutex is held. */
static int64_t *look_of(mcds_queue *queue, uint64_t part)
{
    assert(part >= queue->first && part - queue->first < MCDS__QUEUE_WINDOW);
    return &queue->look_ms[part % MCDS__QUEUE_WINDOW];
}

/* The mutex is held. A part that enters the window gets the place of one that leaves it. */
static void raise_first(mcds_queue *queue, uint64_t first)
{
    assert(first >= queue->first);
    if (first - queue->first >= MCDS__QUEUE_WINDOW) {
        memset(queue->look_ms, 0, sizeof queue->look_ms);
    } else {
        for (uint64_t part = queue->first; part < first; part++)
            *look_of(queue, part) = 0;
    }
    queue->first = first;
    if (queue->last < first)
        queue->last = first;
    assert(queue->first <= queue->last && queue->incarnation != 0);
}

/* The mutex is held. */
static void raise_known_numbers(mcds_queue *queue, const struct mcds__jobs_numbers *numbers)
{
    assert(queue->incarnation == numbers->incarnation && numbers->first <= numbers->last);
    if (numbers->first > queue->first)
        raise_first(queue, numbers->first);
    if (numbers->last > queue->last)
        queue->last = numbers->last;
}

void mcds__queue_raise(mcds_queue *queue, const struct mcds__jobs_numbers *numbers)
{
    pthread_mutex_lock(&queue->mutex);
    if (queue->incarnation == numbers->incarnation)
        raise_known_numbers(queue, numbers);
    pthread_mutex_unlock(&queue->mutex);
}

void mcds__queue_learn(mcds_queue *queue, const struct mcds__jobs_numbers *numbers)
{
    static const struct mcds__jobs_numbers none;
    numbers = numbers != NULL ? numbers : &none;
    pthread_mutex_lock(&queue->mutex);
    if (queue->incarnation != numbers->incarnation) {
        queue->incarnation = numbers->incarnation;
        queue->first = queue->last = 0;
        memset(queue->look_ms, 0, sizeof queue->look_ms);
    }
    raise_known_numbers(queue, numbers);
    assert(queue->first >= numbers->first && queue->last >= numbers->last);
    pthread_mutex_unlock(&queue->mutex);
}

void mcds__queue_note(mcds_queue *queue, uint64_t incarnation, uint64_t part, int64_t look_ms)
{
    pthread_mutex_lock(&queue->mutex);
    if (queue->incarnation == incarnation && part >= queue->first &&
        part - queue->first < MCDS__QUEUE_WINDOW)
        *look_of(queue, part) = look_ms;
    pthread_mutex_unlock(&queue->mutex);
}

void mcds__queue_set_idle(mcds_queue *queue, bool is_idle)
{
    pthread_mutex_lock(&queue->mutex);
    queue->is_idle = is_idle;
    pthread_mutex_unlock(&queue->mutex);
}

bool mcds__queue_is_idle(mcds_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    bool is_idle = queue->is_idle;
    pthread_mutex_unlock(&queue->mutex);
    return is_idle;
}

bool mcds__queue_choose(mcds_queue *queue, uint64_t from, int64_t now_ms, uint64_t *part_out,
                        int64_t *wake_ms_out)
{
    bool is_found = false;
    *wake_ms_out = INT64_MAX;
    pthread_mutex_lock(&queue->mutex);
    uint64_t part = from > queue->first ? from : queue->first;
    for (; part <= queue->last && !is_found; part++) {
        int64_t look_ms = 0;
        if (part - queue->first < MCDS__QUEUE_WINDOW)
            look_ms = *look_of(queue, part);
        is_found = look_ms <= now_ms;
        *part_out = part;
        if (!is_found && look_ms < *wake_ms_out)
            *wake_ms_out = look_ms;
    }
    pthread_mutex_unlock(&queue->mutex);
    return is_found;
}

uint64_t mcds__queue_unfinished(mcds_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    uint64_t part = queue->first;
    while (part - queue->first < MCDS__QUEUE_WINDOW - 1 &&
           *look_of(queue, part) == MCDS__QUEUE_FINISHED)
        part++;
    pthread_mutex_unlock(&queue->mutex);
    return part;
}
