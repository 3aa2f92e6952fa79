/* Queue: dead jobs, each an entry of its own.
 *
 * A job that is buried is claimed meanwhile: its copy is made first, and then the job is removed.
 * A worker that reports late that such a job is done writes a done record in the place of the
 * copy. A worker that is burying the job at this moment then makes no copy of it. A done record
 * stays for longer than a call takes, and then expires. So there are as many of them as late
 * reports in two hours.
 *
 * An empty entry is also the mark of a part that a pusher has passed over: its key was lost before
 * the part was made, so none of its jobs is lost. */
#include <assert.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"
#include "store/store.h"
#include "structures/queue/queue.h"

#define DONE_RECORD_MS (2 * (int64_t)MCDS__TIMEOUT_MS_MAX)

/* Begin a change of the place of a dead job. It is a step of the removal of a job. */
static bool begin_dead(struct mcds__queue_work *work, const struct mcds__map_command *command)
{
    assert(mcds__queue_is_dead(command->element));
    if (!mcds__queue_begin_update(work, command, false))
        return false;
    work->update.makes_room = true;
    return true;
}

bool mcds__queue_begin_bury(struct mcds__queue_work *work, const struct mcds__queue_spot *spot,
                            uint32_t tries, mcds_bytes job)
{
    uint8_t element[MCDS__QUEUE_ELEMENT_MAX];
    uint8_t head[MCDS__QUEUE_DEAD_TRIES];
    mcds_buffer value;
    assert(tries > 0 && job.length <= MCDS__JOBS_BYTES_MAX);
    mcds__put_u32(head, tries);
    mcds__buffer_init(&value, work->queue->keyed.map.env, sizeof head + MCDS__JOBS_BYTES_MAX);
    bool is_filled = mcds_buffer_append(&value, head, sizeof head) &&
                     mcds_buffer_append(&value, job.data, job.length);
    const struct mcds__map_command command = {
        .verb = MCDS__MAP_PUT_NEW,
        .element = mcds__queue_dead_element(spot->incarnation, spot->part, spot->number,
                                            element),
        .value = {value.data, value.length},
    };
    bool is_begun = is_filled && begin_dead(work, &command);
    mcds__buffer_free(&value);
    return is_begun;
}

bool mcds__queue_begin_done_record(struct mcds__queue_work *work,
                                   const struct mcds__queue_spot *spot)
{
    uint8_t element[MCDS__QUEUE_ELEMENT_MAX];
    const struct mcds__map_command command = {
        .verb = MCDS__MAP_PUT,
        .element = mcds__queue_dead_element(spot->incarnation, spot->part, spot->number,
                                            element),
        .expires_ms = mcds__wall_ms(work->queue->keyed.map.env) + DONE_RECORD_MS,
    };
    assert(command.expires_ms > DONE_RECORD_MS);
    return begin_dead(work, &command);
}

static mcds_bytes skip_element(uint64_t incarnation, uint64_t part, uint32_t place,
                               uint8_t *out)
{
    assert(place < MCDS__QUEUE_SKIP_PLACES);
    return mcds__queue_dead_element(incarnation, part,
                                    (uint64_t)MCDS__JOBS_NUMBER_MAX - 1 - place, out);
}

/* Workers pass the part before the mark expires: no job is delayed or claimed for longer. */
bool mcds__queue_begin_skip(struct mcds__queue_work *work, uint64_t incarnation, uint64_t part,
                            uint32_t place)
{
    uint8_t element[MCDS__QUEUE_ELEMENT_MAX];
    const struct mcds__map_command command = {
        .verb = MCDS__MAP_PUT,
        .element = skip_element(incarnation, part, place, element),
        .expires_ms = mcds__wall_ms(work->queue->keyed.map.env) + (int64_t)MCDS__JOBS_MS_MAX,
    };
    return begin_dead(work, &command);
}

bool mcds__queue_begin_get_skip(struct mcds__queue_work *work, uint64_t incarnation,
                                uint64_t part, uint32_t place)
{
    uint8_t element[MCDS__QUEUE_ELEMENT_MAX];
    return mcds__queue_begin_get(work, skip_element(incarnation, part, place, element));
}

static int take_discard_code(const struct mcds__map_update *update, void *out)
{
    (void)out;
    assert(update->wants_code);
    return update->code == MCDS__MAP_CHANGED ? MCDS_OK : MCDS_NOT_FOUND;
}

static const struct mcds__operation_kind discard_kind = MCDS__KEYED_UPDATE("queue", "discard");

int mcds_queue_discard_start(mcds_queue *queue, mcds_bytes id, mcds_pipeline *pipeline,
                             uint64_t tag)
{
    int result = mcds__queue_check_timed(queue, &discard_kind, 0);
    if (result != MCDS_OK)
        return result;
    if (id.data == NULL || !mcds__queue_is_dead(id))
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING,
                          MCDS__CALL(&discard_kind, queue->keyed.handle.name),
                          .wanted = "the id of a dead job", .option = "id");
    const struct mcds__keyed_command order = {
        .command = {.verb = MCDS__MAP_REMOVE, .element = id},
        .must_exist = true,
        .wants_code = true,
        .take = take_discard_code,
    };
    return mcds__keyed_launch_update(&queue->keyed, &discard_kind, &order,
                                     MCDS__START(pipeline, tag));
}

int mcds_queue_discard(mcds_queue *queue, mcds_bytes id)
{
    return mcds_queue_discard_start(queue, id, MCDS__WAIT, 0);
}
