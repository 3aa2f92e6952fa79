/* Queue: the keys of the entries, and the parts that a handle remembers. */
#include <assert.h>
#include <string.h>

#include "base/environment.h"
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

bool mcds__queue_find_spot(mcds_bytes element, struct mcds__queue_spot *spot_out)
{
    const uint8_t *bytes = element.data;
    assert(mcds__queue_is_dead(element));
    *spot_out = (struct mcds__queue_spot){
        mcds__get_u64(bytes + 1),
        (uint64_t)mcds__get_time(bytes + 9),
        (uint64_t)mcds__get_time(bytes + PART_ELEMENT),
    };
    return spot_out->incarnation != 0 && mcds__jobs_is_part(spot_out->part) &&
           spot_out->number < (uint64_t)MCDS__JOBS_NUMBER_MAX;
}

struct mcds__queue_range mcds__queue_range(mcds_queue *queue, uint32_t stripe)
{
    struct mcds__queue_range range = {0, 0, 0};
    pthread_mutex_lock(&queue->mutex);
    if (stripe < queue->numbers.stripes)
        range = (struct mcds__queue_range){queue->numbers.incarnation,
                                           queue->numbers.list[stripe].first,
                                           queue->numbers.list[stripe].last};
    pthread_mutex_unlock(&queue->mutex);
    assert(range.first <= range.last);
    return range;
}

uint64_t mcds__queue_incarnation(mcds_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    uint64_t incarnation = queue->numbers.incarnation;
    pthread_mutex_unlock(&queue->mutex);
    return incarnation;
}

uint32_t mcds__queue_stripes(mcds_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    uint32_t stripes = queue->numbers.stripes;
    pthread_mutex_unlock(&queue->mutex);
    return stripes;
}

static uint32_t stripe_after(const mcds_queue *queue, uint32_t stripe)
{
    return stripe + 1 < queue->numbers.stripes ? stripe + 1 : 0;
}

/* The mutex is held. */
static void begin_stay(const mcds_queue *queue, struct mcds__queue_stay *stay, uint32_t stripe)
{
    *stay = (struct mcds__queue_stay){.stripe = stripe,
                                      .since_ms = mcds__wall_ms(queue->keyed.map.env)};
}

/* The mutex is held. A clock that was set back ends a stay too. */
static bool is_stay_over(const mcds_queue *queue, const struct mcds__queue_stay *stay)
{
    int64_t ms = mcds__wall_ms(queue->keyed.map.env) - stay->since_ms;
    return stay->uses >= MCDS__QUEUE_USES_MAX || stay->outrun >= MCDS__QUEUE_OUTRUN_MAX ||
           ms >= MCDS__QUEUE_STAY_MS || ms < 0;
}

uint32_t mcds__queue_pick_stripe(mcds_queue *queue, struct mcds__queue_stay *stay,
                                 bool *is_other_out)
{
    pthread_mutex_lock(&queue->mutex);
    assert(stay == &queue->push || stay == &queue->next);
    bool is_other = queue->numbers.stripes > 1 && is_stay_over(queue, stay);
    if (is_other)
        begin_stay(queue, stay, stripe_after(queue, stay->stripe));
    if (is_other_out != NULL)
        *is_other_out = is_other;
    uint32_t stripe = stay->stripe;
    pthread_mutex_unlock(&queue->mutex);
    return stripe;
}

void mcds__queue_note_use(mcds_queue *queue, struct mcds__queue_stay *stay, uint32_t stripe,
                          size_t uses, bool is_outrun)
{
    pthread_mutex_lock(&queue->mutex);
    if (stripe == stay->stripe && stay->uses < MCDS__QUEUE_USES_MAX) {
        stay->uses += uses < MCDS__QUEUE_USES_MAX ? (uint32_t)uses : MCDS__QUEUE_USES_MAX;
        stay->outrun += is_outrun;
    }
    pthread_mutex_unlock(&queue->mutex);
}

/* The mutex is held. */
static uint64_t window_of(const mcds_queue *queue)
{
    assert(queue->numbers.stripes >= 1 && queue->numbers.stripes <= MCDS__JOBS_STRIPES_MAX);
    return MCDS__QUEUE_WINDOW / queue->numbers.stripes;
}

/* The mutex is held. */
static int64_t *look_of(mcds_queue *queue, uint64_t part)
{
    uint32_t stripe = mcds__jobs_stripe_of(part);
    uint64_t window = window_of(queue);
    assert(stripe < queue->numbers.stripes);
    assert(part >= queue->numbers.list[stripe].first &&
           part - queue->numbers.list[stripe].first < window);
    return &queue->look_ns[stripe * window + mcds__jobs_place_of(part) % window];
}

/* The mutex is held. A part that enters the window gets the place of one that leaves it. */
static void raise_first(mcds_queue *queue, struct mcds__jobs_range *range, uint64_t first)
{
    const uint64_t window = window_of(queue);
    assert(first >= range->first);
    for (uint64_t part = range->first; part < first && part - range->first < window; part++)
        *look_of(queue, part) = 0;
    range->first = first;
    if (range->last < first)
        range->last = first;
    assert(range->first <= range->last && queue->numbers.incarnation != 0);
}

/* The mutex is held. */
static void raise_range(mcds_queue *queue, uint32_t stripe, uint64_t first, uint64_t last)
{
    struct mcds__jobs_range *range = &queue->numbers.list[stripe];
    assert(stripe < queue->numbers.stripes && first <= last);
    if (first > range->first)
        raise_first(queue, range, first);
    if (last > range->last)
        range->last = last;
}

void mcds__queue_raise(mcds_queue *queue, const struct mcds__queue_range *range)
{
    pthread_mutex_lock(&queue->mutex);
    if (queue->numbers.incarnation == range->incarnation)
        raise_range(queue, mcds__jobs_stripe_of(range->last), range->first, range->last);
    pthread_mutex_unlock(&queue->mutex);
}

/* The mutex is held. Handles begin at different stripes. */
static void learn_another(mcds_queue *queue, const struct mcds__jobs_numbers *numbers)
{
    uint64_t drawn = mcds__random_u64(queue->keyed.map.env);
    queue->numbers = *numbers;
    begin_stay(queue, &queue->next, (uint32_t)(drawn >> 32) % numbers->stripes);
    begin_stay(queue, &queue->push, (uint32_t)drawn % numbers->stripes);
    memset(queue->is_idle, 0, sizeof queue->is_idle);
    memset(queue->look_ns, 0, sizeof queue->look_ns);
}

void mcds__queue_learn(mcds_queue *queue, const struct mcds__jobs_numbers *numbers)
{
    pthread_mutex_lock(&queue->mutex);
    queue->is_list_lost = false;
    if (numbers == NULL) {
        queue->numbers.incarnation = queue->numbers.stripes = 0;
        queue->next.stripe = queue->push.stripe = 0;
    } else if (queue->numbers.incarnation != numbers->incarnation) {
        learn_another(queue, numbers);
    }
    for (uint32_t i = 0; i < queue->numbers.stripes; i++)
        raise_range(queue, i, numbers->list[i].first, numbers->list[i].last);
    pthread_mutex_unlock(&queue->mutex);
}

void mcds__queue_lose_list(mcds_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->is_list_lost = true;
    pthread_mutex_unlock(&queue->mutex);
}

bool mcds__queue_is_list_lost(mcds_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    bool is_list_lost = queue->is_list_lost;
    pthread_mutex_unlock(&queue->mutex);
    return is_list_lost;
}

void mcds__queue_note(mcds_queue *queue, uint64_t incarnation, uint64_t part, int64_t look_ns)
{
    pthread_mutex_lock(&queue->mutex);
    uint32_t stripe = mcds__jobs_stripe_of(part);
    if (queue->numbers.incarnation == incarnation && stripe < queue->numbers.stripes) {
        uint64_t first = queue->numbers.list[stripe].first;
        if (part >= first && part - first < window_of(queue))
            *look_of(queue, part) = look_ns;
    }
    pthread_mutex_unlock(&queue->mutex);
}

void mcds__queue_set_idle(mcds_queue *queue, uint32_t stripe, bool is_idle)
{
    pthread_mutex_lock(&queue->mutex);
    queue->is_idle[stripe] = is_idle;
    if (!is_idle && stripe < queue->numbers.stripes && stripe != queue->next.stripe)
        begin_stay(queue, &queue->next, stripe);
    pthread_mutex_unlock(&queue->mutex);
}

bool mcds__queue_is_idle(mcds_queue *queue, uint32_t stripe)
{
    pthread_mutex_lock(&queue->mutex);
    bool is_idle = queue->is_idle[stripe];
    pthread_mutex_unlock(&queue->mutex);
    return is_idle;
}

bool mcds__queue_choose(mcds_queue *queue, uint32_t stripe, uint64_t from, int64_t now_ns,
                        uint64_t *part_out, int64_t *wake_ns_out)
{
    bool is_found = false;
    *wake_ns_out = INT64_MAX;
    pthread_mutex_lock(&queue->mutex);
    const struct mcds__jobs_range *range = &queue->numbers.list[stripe];
    const uint64_t window = stripe < queue->numbers.stripes ? window_of(queue) : 0;
    uint64_t part = from > range->first ? from : range->first;
    for (; window > 0 && part <= range->last && !is_found; part++) {
        int64_t look_ns = 0;
        if (part - range->first < window)
            look_ns = *look_of(queue, part);
        is_found = look_ns <= now_ns;
        *part_out = part;
        if (!is_found && look_ns < *wake_ns_out)
            *wake_ns_out = look_ns;
    }
    pthread_mutex_unlock(&queue->mutex);
    return is_found;
}

uint64_t mcds__queue_unfinished(mcds_queue *queue, uint32_t stripe)
{
    pthread_mutex_lock(&queue->mutex);
    uint64_t first = queue->numbers.list[stripe].first;
    uint64_t part = first;
    const uint64_t window = stripe < queue->numbers.stripes ? window_of(queue) : 1;
    while (part - first < window - 1 && *look_of(queue, part) == MCDS__QUEUE_FINISHED)
        part++;
    pthread_mutex_unlock(&queue->mutex);
    return part;
}
