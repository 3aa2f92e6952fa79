/* Filler: several structures are open at once, as each ends only when all of its operations have
 * ended. The values of a list, the jobs of a queue and the events of a log are put in order: one
 * operation of each list or queue is in flight at a time, and of a log nothing else, as the clock
 * has moved. */
#include "load/filler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump/structure.h"
#include "io/chunk.h"
#include "io/clock.h"
#include "io/failure.h"
#include "load/empty.h"
#include "table/nouns.h"

#define DEPTH 512
#define OPEN_MAX 32
#define CHUNK_VALUES 1024
#define CHUNK_BYTES (256 << 10)
/* The longest delay of a job. Jobs that are due within the same second are put together. */
#define DELAY_MS_MAX (INT64_C(7) * 24 * 3600 * 1000)
#define SECOND_MS 1000

struct filled {
    bool is_open;
    bool is_ended;
    uint64_t number;
    struct named_structure named;
    void *handle;
    uint32_t in_flight;
    uint64_t elements;
    struct chunk chunk; /* of a list, a queue, a log or an array */
    int64_t when_ms;    /* of the events of the chunk; when its jobs are due, or 0 */
    int64_t filed_ms;
};

struct filler {
    mcds_store *store;
    mcds_pipeline *pipeline;
    struct moved_clock *clock;
    struct filled filled[OPEN_MAX];
    struct filled *last; /* begun and not ended */
    uint32_t in_flight;  /* of all */
    struct failure failure;
    uint64_t expired;
};

static bool is_fine(const struct filler *filler)
{
    return filler->failure.result == MCDS_OK;
}

/* Keeps the first failure. Called directly after the call that has failed. */
static bool take_result(struct filler *filler, const struct filled *filled, int result)
{
    char said[FAILURE_CAPACITY];
    if (result == MCDS_OK || !is_fine(filler))
        return is_fine(filler);
    if (result < 0)
        describe_failure(said, &filled->named.command);
    else
        (void)snprintf(said, sizeof said, "%s '%.200s': %s", filled->named.command.noun->word,
                       filled->named.name, mcds_strerror(result));
    (void)snprintf(filler->failure.sentence, sizeof filler->failure.sentence, "%s", said);
    filler->failure.result = result;
    return false;
}

static void close_filled(struct filled *filled)
{
    filled->named.command.noun->close(filled->handle);
    chunk_free(&filled->chunk);
    memset(filled, 0, sizeof *filled);
}

/* Waits for one operation to end. False when none is in flight. */
static bool collect(struct filler *filler)
{
    mcds_completion done;
    if (mcds_pipeline_next(filler->pipeline, &done) != MCDS_OK)
        return false;
    struct filled *filled = &filler->filled[done.tag];
    (void)take_result(filler, filled, done.result);
    filled->in_flight--;
    filler->in_flight--;
    if (filled->is_ended && filled->in_flight == 0 && is_fine(filler))
        close_filled(filled);
    return true;
}

bool filler_settle(struct filler *filler)
{
    while (collect(filler)) {
    }
    return is_fine(filler);
}

static void wait_for(struct filler *filler, const struct filled *filled)
{
    while (filled->in_flight > 0 && collect(filler)) {
    }
}

static uint64_t tag_of(const struct filler *filler, const struct filled *filled)
{
    return (uint64_t)(filled - filler->filled);
}

/* Notes that an operation was started, or why it was not. Results are taken as soon as many are in
 * flight: the pipeline would keep them, and a failure must end the load. */
static bool note_start(struct filler *filler, struct filled *filled, int result)
{
    if (!take_result(filler, filled, result))
        return false;
    filled->in_flight++;
    filler->in_flight++;
    while (filler->in_flight >= DEPTH && collect(filler)) {
    }
    return is_fine(filler);
}

/* From now to the time at which the jobs of the chunk are due. */
static uint64_t delay_of(const struct filled *filled)
{
    int64_t left_ms = filled->when_ms - clock_wall_ms();
    if (left_ms > DELAY_MS_MAX) /* the clocks of the two hosts differ */
        left_ms = DELAY_MS_MAX;
    return left_ms > 0 ? (uint64_t)left_ms : 0;
}

/* Puts the chunk with one operation, which reads its memory until it has ended. */
static bool put_chunk(struct filler *filler, struct filled *filled)
{
    struct chunk *chunk = &filled->chunk;
    const struct noun *noun = filled->named.command.noun;
    uint64_t tag = tag_of(filler, filled);
    int result;
    if (noun->open == list_open) {
        result = mcds_list_push_many_start(filled->handle, chunk_values(chunk), chunk->count,
                                           NULL, filler->pipeline, tag);
    } else if (noun->open == queue_open) {
        result = mcds_queue_push_many_start(filled->handle, chunk_values(chunk), chunk->count,
                                            delay_of(filled), NULL, filler->pipeline, tag);
    } else if (noun->open == log_open) {
        filler->clock->ms = filled->filed_ms;
        result = mcds_log_put_many_start(filled->handle, filled->when_ms, chunk_values(chunk),
                                         chunk->count, NULL, filler->pipeline, tag);
    } else {
        result = mcds_array_set_start(filled->handle, chunk_values(chunk), chunk->count,
                                      filler->pipeline, tag);
    }
    return note_start(filler, filled, result);
}

/* Puts the elements of the chunk, and waits until its memory can take more. */
static bool empty_chunk(struct filler *filler, struct filled *filled)
{
    if (filled->chunk.count == 0)
        return is_fine(filler);
    wait_for(filler, filled);
    bool is_put = is_fine(filler) && put_chunk(filler, filled);
    wait_for(filler, filled);
    chunk_clear(&filled->chunk);
    return is_put && is_fine(filler);
}

static bool keep(struct filler *filler, struct filled *filled, mcds_bytes value)
{
    struct failure *failure = &filler->failure;
    if (filled->named.command.noun->open == array_open &&
        filled->chunk.bytes + value.length > VALUE_MAX) {
        failure->result = MCDS_TOO_BIG;
        (void)snprintf(failure->sentence, sizeof failure->sentence,
                       "array '%.200s': more than 64 MB", filled->named.name);
        return false;
    }
    if (chunk_keep(&filled->chunk, value))
        return true;
    failure->result = MCDS_NO_MEMORY;
    (void)snprintf(failure->sentence, sizeof failure->sentence, "out of memory");
    return false;
}

static bool is_full(const struct chunk *chunk)
{
    return chunk->count >= CHUNK_VALUES || chunk->bytes >= CHUNK_BYTES;
}

/* Events with the same times are put together. */
static bool add_event(struct filler *filler, struct filled *filled,
                      const struct element *element)
{
    uint64_t kept_ms = number_of(&filled->named.command, OPTION_RETENTION, LOG_RETENTION_MS);
    if (element->filed_ms < clock_wall_ms() - (int64_t)kept_ms) {
        filler->expired++;
        filled->elements--;
        return true;
    }
    bool is_same = element->number == filled->when_ms && element->filed_ms == filled->filed_ms;
    if ((!is_same || is_full(&filled->chunk)) && !empty_chunk(filler, filled))
        return false;
    filled->when_ms = element->number;
    filled->filed_ms = element->filed_ms;
    return keep(filler, filled, element->bytes);
}

/* Jobs that are due at the same time are put together. */
static bool add_job(struct filler *filler, struct filled *filled, const struct element *element)
{
    int64_t due_ms = (element->due_ms + SECOND_MS - 1) / SECOND_MS * SECOND_MS;
    if (element->state == MCDS_JOB_DEAD)
        return note_start(filler, filled,
                          mcds_queue_push_dead_start(filled->handle, element->bytes,
                                                     (uint32_t)element->number,
                                                     filler->pipeline, tag_of(filler, filled)));
    if ((due_ms != filled->when_ms || is_full(&filled->chunk)) && !empty_chunk(filler, filled))
        return false;
    filled->when_ms = due_ms;
    return keep(filler, filled, element->bytes);
}

static bool add_to_set(struct filler *filler, struct filled *filled,
                       const struct element *element)
{
    int64_t count = is_given(&filled->named.command, OPTION_BAG) ? element->number : 1;
    bool is_added = true;
    for (int64_t i = 0; i < count && is_added; i++) {
        int result = mcds_set_add_start(set_of(filled->handle), element->bytes, NULL,
                                        filler->pipeline, tag_of(filler, filled));
        is_added = note_start(filler, filled, result);
    }
    return is_added;
}

bool filler_add(struct filler *filler, const struct element *element)
{
    struct filled *filled = filler->last;
    const struct noun *noun = filled->named.command.noun;
    uint64_t tag = tag_of(filler, filled);
    filled->elements++;
    if (!is_fine(filler))
        return false;
    if (noun->open == counter_open)
        return note_start(filler, filled,
                          mcds_counter_add_start(filled->handle, element->number, NULL,
                                                 filler->pipeline, tag));
    if (noun->open == set_open)
        return add_to_set(filler, filled, element);
    if (noun->open == table_open)
        return note_start(filler, filled,
                          mcds_table_put_start(filled->handle, element->key, element->bytes, 0,
                                               filler->pipeline, tag));
    if (noun->open == log_open)
        return add_event(filler, filled, element);
    if (noun->open == queue_open)
        return add_job(filler, filled, element);
    if (noun->open == list_open && is_full(&filled->chunk) && !empty_chunk(filler, filled))
        return false;
    return keep(filler, filled, element->bytes);
}

bool filler_end(struct filler *filler)
{
    struct filled *filled = filler->last;
    bool is_log = filled->named.command.noun->open == log_open;
    filler->last = NULL;
    if (is_fine(filler) && filled->elements == 0)
        (void)take_result(filler, filled,
                          make_empty(&filled->named.command, filled->handle, filler->clock));
    else if (is_fine(filler))
        (void)empty_chunk(filler, filled);
    if (is_log)
        (void)filler_settle(filler);
    filler->clock->ms = 0;
    filled->is_ended = true;
    if (is_fine(filler) && filled->in_flight == 0)
        close_filled(filled);
    return is_fine(filler);
}

static struct filled *find_room(struct filler *filler)
{
    do {
        for (size_t i = 0; i < OPEN_MAX; i++)
            if (!filler->filled[i].is_open)
                return &filler->filled[i];
    } while (collect(filler) && is_fine(filler));
    return NULL;
}

bool filler_begin(struct filler *filler, const struct dump_reader *reader, uint64_t number,
                  bool drops)
{
    if (reader->structure.noun->open == log_open && !filler_settle(filler))
        return false;
    struct filled *filled = find_room(filler);
    if (filled == NULL)
        return false;
    filled->is_open = true;
    filled->number = number;
    structure_copy(&filled->named, &reader->structure);
    filler->last = filled;
    int result = drops ? structure_drop(filler->store, &filled->named.command) : MCDS_OK;
    if (result == MCDS_OK)
        result = structure_open(filler->store, &filled->named.command, &filled->handle);
    return take_result(filler, filled, result);
}

uint64_t filler_unfinished(const struct filler *filler, uint64_t next)
{
    for (size_t i = 0; i < OPEN_MAX; i++)
        if (filler->filled[i].is_open && filler->filled[i].number < next)
            next = filler->filled[i].number;
    return next;
}

const struct failure *filler_failure(const struct filler *filler)
{
    return &filler->failure;
}

uint64_t filler_expired(const struct filler *filler)
{
    return filler->expired;
}

struct filler *filler_new(mcds_store *store, struct moved_clock *clock)
{
    mcds_pipeline_options options = MCDS_PIPELINE_OPTIONS_INIT;
    struct filler *filler = calloc(1, sizeof *filler);
    if (filler == NULL)
        return NULL;
    options.depth = DEPTH;
    filler->store = store;
    filler->clock = clock;
    if (mcds_pipeline_open(store, &options, &filler->pipeline) == MCDS_OK)
        return filler;
    free(filler);
    return NULL;
}

void filler_free(struct filler *filler)
{
    if (filler == NULL)
        return;
    mcds_pipeline_close(filler->pipeline);
    for (size_t i = 0; i < OPEN_MAX; i++)
        if (filler->filled[i].is_open)
            close_filled(&filler->filled[i]);
    free(filler);
}
