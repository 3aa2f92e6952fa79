/* Queue: changes and reads of entries, of which the calls consist. */
#include <assert.h>

#include "base/error.h"
#include "structures/queue/queue.h"

void mcds__queue_end_work(struct mcds__queue_work *work)
{
    if (work->updates)
        mcds__map_update_free(&work->update);
    if (work->reads)
        mcds__map_get_free(&work->get);
    work->updates = work->reads = false;
}

uint64_t mcds__queue_stored_last(const struct mcds__queue_work *work, uint32_t stripe)
{
    struct mcds__jobs_numbers numbers;
    assert(work->reads);
    return mcds__jobs_read_numbers(work->get.value, &numbers) && stripe < numbers.stripes
               ? numbers.list[stripe].last
               : 0;
}

bool mcds__queue_has_vanished(const struct mcds__queue_work *work,
                              const struct mcds__operation *operation)
{
    assert(work->updates || work->reads);
    const struct mcds__map_place *place = work->updates ? &work->update.place
                                                        : &work->get.place;
    return operation->result == MCDS_LOST && place->lost_root;
}

void mcds__queue_explain_loss(struct mcds__operation *operation, const mcds_reason *why)
{
    assert(why == MCDS__WHY(JOBS_GONE) || why == MCDS__WHY(JOB_LIST_GONE));
    if (operation->result == MCDS_LOST && operation->detail == MCDS__WHY(PART_GONE))
        operation->detail = why;
}

bool mcds__queue_begin_update(struct mcds__queue_work *work,
                              const struct mcds__map_command *command, bool makes)
{
    mcds__queue_end_work(work);
    assert(!work->updates && !work->reads);
    if (!mcds__map_update_begin(&work->update, &work->queue->keyed.map, command))
        return false;
    work->updates = true;
    work->update.must_exist = !makes;
    work->update.wants_code = true;
    work->update.has_rivals = true;
    return true;
}

bool mcds__queue_begin_order(struct mcds__queue_work *work, mcds_bytes element,
                             mcds_bytes order, bool makes)
{
    assert(element.length > 0 && element.length <= MCDS__QUEUE_ELEMENT_MAX);
    const struct mcds__map_command command = {
        .verb = MCDS__MAP_JOBS, .element = element, .value = order};
    if (!mcds__queue_begin_update(work, &command, makes))
        return false;
    uint8_t first = *(const uint8_t *)order.data;
    work->update.makes_room = first != MCDS__JOBS_PUSH;
    work->update.rewrites = first == MCDS__JOBS_FORGET; /* it still has the bytes of its jobs */
    return true;
}

bool mcds__queue_begin_done(struct mcds__queue_work *work, uint64_t incarnation, uint64_t part,
                            const struct mcds__jobs_receipt *receipt)
{
    uint8_t element[MCDS__QUEUE_ELEMENT_MAX];
    uint8_t order[MCDS__JOBS_ORDER_MAX];
    size_t length = mcds__jobs_write_receipt(MCDS__JOBS_DONE, receipt, 0, order);
    return mcds__queue_begin_order(work, mcds__queue_part_element(incarnation, part, element),
                                   (mcds_bytes){order, length}, false);
}

enum mcds__step mcds__queue_step_update(struct mcds__queue_work *work,
                                        struct mcds__operation *operation)
{
    assert(work->updates);
    enum mcds__step step = mcds__map_update_step(&work->update, operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result == MCDS_NOT_FOUND) {
        work->update.code = MCDS__MAP_ABSENT;
        operation->result = MCDS_OK;
    }
    if (operation->result == MCDS_OK && work->update.code == MCDS__MAP_NO_NUMBER)
        return mcds__operation_explain(operation, MCDS_CORRUPT, MCDS__WHY(FOREIGN));
    return step;
}

bool mcds__queue_begin_get(struct mcds__queue_work *work, mcds_bytes element)
{
    mcds__queue_end_work(work);
    assert(element.length > 0 && element.length <= MCDS__QUEUE_ELEMENT_MAX);
    work->reads = mcds__map_get_begin(&work->get, &work->queue->keyed.map, element);
    return work->reads;
}

enum mcds__step mcds__queue_step_get(struct mcds__queue_work *work,
                                     struct mcds__operation *operation)
{
    assert(work->reads);
    return mcds__map_get_step(&work->get, operation);
}

enum mcds__step mcds__queue_step_numbers(struct mcds__queue_work *work,
                                         struct mcds__operation *operation)
{
    struct mcds__jobs_numbers numbers;
    enum mcds__step step = mcds__queue_step_get(work, operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result == MCDS_NOT_FOUND)
        mcds__queue_learn(work->queue, NULL);
    if (operation->result == MCDS_LOST)
        mcds__queue_lose_list(work->queue);
    mcds__queue_explain_loss(operation, MCDS__WHY(JOB_LIST_GONE));
    if (operation->result != MCDS_OK)
        return step;
    if (!mcds__jobs_read_numbers(work->get.value, &numbers))
        return mcds__operation_explain(operation, MCDS_CORRUPT, MCDS__WHY(FOREIGN));
    uint32_t wanted = work->queue->stripes;
    if (wanted != 0 && wanted != numbers.stripes)
        return mcds__operation_differ(
            operation, MCDS__WHY(OPTION_DIFFERS_OR_0),
            (struct mcds__difference){"stripes", wanted, (int64_t)numbers.stripes});
    mcds__queue_learn(work->queue, &numbers);
    return step;
}
