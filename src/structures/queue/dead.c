/* Queue: the entries of dead jobs.
 *
 * A job that is buried is claimed meanwhile: its copy is made first, and then the job is removed.
 * A worker that reports late that such a job is done writes a done record in the place of the
 * copy, and a discard does the same (discard.c). A worker that is burying the job at this moment
 * then makes no copy of it. A done record stays for longer than a call takes, and then expires.
 * So there are as many of them as late reports and discards in two hours.
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

static int64_t record_expires_ms(const struct mcds__queue_work *work)
{
    return mcds__wall_ms(work->queue->keyed.map.env) + DONE_RECORD_MS;
}

bool mcds__queue_begin_done_record(struct mcds__queue_work *work,
                                   const struct mcds__queue_spot *spot)
{
    uint8_t element[MCDS__QUEUE_ELEMENT_MAX];
    const struct mcds__map_command command = {
        .verb = MCDS__MAP_PUT,
        .element = mcds__queue_dead_element(spot->incarnation, spot->part, spot->number,
                                            element),
        .expires_ms = record_expires_ms(work),
    };
    assert(command.expires_ms > DONE_RECORD_MS);
    return begin_dead(work, &command);
}

bool mcds__queue_begin_erase(struct mcds__queue_work *work, mcds_bytes element, mcds_bytes dead)
{
    const struct mcds__map_command command = {
        .verb = MCDS__MAP_SWAP,
        .element = element,
        .expected = dead,
        .expires_ms = record_expires_ms(work),
    };
    assert(dead.length >= MCDS__QUEUE_DEAD_TRIES);
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
