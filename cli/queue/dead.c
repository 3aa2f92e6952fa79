/* mcds queue dead, retry and discard. The id of a dead job is printed in hexadecimal. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/exit.h"
#include "io/report.h"
#include "queue/queue.h"
#include "table/nouns.h"
#include "table/parameters.h"

/* The longest id in bytes, and its text. */
#define ID_MAX 64
#define ID_TEXT (2 * ID_MAX + 1)
/* Jobs that one scan reads before they are pushed or discarded. */
#define BATCH_MAX 256

static void write_id(mcds_bytes id, char out[ID_TEXT])
{
    const uint8_t *bytes = id.data;
    out[0] = '\0';
    for (size_t i = 0; i < id.length && i < ID_MAX; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static bool print_dead(void *context, const mcds_queue_entry *entry)
{
    struct output *output = context;
    char id[ID_TEXT];
    write_id(entry->id, id);
    output_begin(output);
    output_text(output, "id", id, SHOWN);
    output_unsigned(output, "tries", entry->tries, SHOWN);
    output_bytes(output, "job", entry->job, SHOWN);
    output_end(output);
    return output_is_fine(output);
}

int queue_dead(void *handle, const struct command *command, struct answer *answer,
               mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_queue_dead_start(handle, number_of(command, OPTION_LIMIT, 0), print_dead,
                                 answer->items, pipeline, tag);
}

struct dead_job {
    uint8_t id[ID_MAX];
    size_t id_length;
    void *bytes;
    size_t length;
};

/* Dead jobs that one scan has found: any, or the one with this id. */
struct dead_batch {
    const char *id; /* as it was typed; NULL: any */
    struct dead_job jobs[BATCH_MAX];
    size_t count;
    size_t most;    /* the scan ends after so many, unless it counts */
    bool counts;    /* the scan visits all dead jobs */
    uint64_t found; /* the number of dead jobs that a scan has counted */
    bool lacks_memory;
};

static bool collect_dead(void *context, const mcds_queue_entry *entry)
{
    struct dead_batch *batch = context;
    char id[ID_TEXT];
    write_id(entry->id, id);
    if (batch->id != NULL && strcmp(id, batch->id) != 0)
        return true;
    if (entry->id.length > ID_MAX)
        return true;
    batch->found += batch->counts;
    if (batch->count == batch->most)
        return true;
    struct dead_job *job = &batch->jobs[batch->count];
    memcpy(job->id, entry->id.data, job->id_length = entry->id.length);
    job->length = entry->job.length;
    job->bytes = malloc(job->length + 1);
    batch->lacks_memory = job->bytes == NULL;
    if (batch->lacks_memory)
        return false;
    if (job->length > 0)
        memcpy(job->bytes, entry->job.data, job->length);
    return (++batch->count < batch->most || batch->counts) && batch->id == NULL;
}

static void batch_free(struct dead_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        free(batch->jobs[i].bytes);
    batch->count = 0;
}

/* Erases the dead job. A retry pushes the job first. If mcds is killed in between, the job is both
 * in the queue and dead. */
static int change_job(mcds_queue *queue, const struct dead_job *job, bool retries)
{
    int result = MCDS_OK;
    if (retries)
        result = mcds_queue_push(queue, (mcds_bytes){job->bytes, job->length}, 0);
    if (result == MCDS_OK)
        result = mcds_queue_discard(queue, (mcds_bytes){job->id, job->id_length});
    return result == MCDS_NOT_FOUND ? MCDS_OK : result; /* another caller has erased it */
}

/* Retries or discards one batch. MCDS_LOST: this was done, but other dead jobs may be lost. */
static int change_batch(mcds_queue *queue, struct dead_batch *batch, bool retries,
                        uint64_t *count_out)
{
    int result = mcds_queue_dead(queue, 0, collect_dead, batch);
    if (result == MCDS_OK && batch->lacks_memory)
        result = MCDS_NO_MEMORY;
    for (size_t i = 0; i < batch->count && (result == MCDS_OK || result == MCDS_LOST); i++) {
        int changed = change_job(queue, &batch->jobs[i], retries);
        if (changed == MCDS_OK)
            ++*count_out;
        else
            result = changed;
    }
    return result;
}

/* Changes at most as many jobs as are dead at the start: jobs that are retried may be dead again
 * before the next batch. */
static int change_all(mcds_queue *queue, const char *id, bool retries, uint64_t *count_out)
{
    struct dead_batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL)
        return MCDS_NO_MEMORY;
    batch->id = id;
    batch->most = BATCH_MAX;
    batch->counts = true;
    bool is_last = false;
    uint64_t taken = 0;
    int result = MCDS_OK;
    while ((result == MCDS_OK || result == MCDS_LOST) && !is_last) {
        uint64_t before = *count_out;
        result = change_batch(queue, batch, retries, count_out);
        taken += batch->count;
        is_last = batch->count < batch->most || *count_out == before || taken >= batch->found;
        batch_free(batch);
        batch->counts = false;
        if (!is_last && batch->found - taken < BATCH_MAX)
            batch->most = (size_t)(batch->found - taken);
    }
    free(batch);
    return result == MCDS_OK && id != NULL && *count_out == 0 ? MCDS_NOT_FOUND : result;
}

const char *queue_why_not(const struct command *command)
{
    bool is_all = is_given(command, OPTION_ALL);
    bool discards = command->verb->run == queue_discard;
    if (discards && command->arguments[1] == NULL && !is_all)
        return "queue discard: give the ID of a dead job, or --all";
    if (discards && command->arguments[1] != NULL && is_all)
        return "queue discard: an ID and --all exclude each other";
    mcds_job job = MCDS_JOB_INIT;
    if (command->verb->arguments != takes_receipt ||
        mcds_queue_job_load(&job, command->arguments[1]) == MCDS_OK)
        return NULL;
    return command->arguments[1][0] == '\0'
               ? "queue: the RECEIPT is empty; 'queue next' prints it before the job"
               : "queue: the RECEIPT is not one that 'queue next' has printed";
}

static int change_dead(struct session *session, const struct command *command, bool retries)
{
    struct answer answer = {.count = 0};
    void *handle = NULL;
    const char *against = queue_why_not(command);
    if (against != NULL) {
        report_failure(&session->output, command, STATUS_USAGE, "MCDS_INVALID", against);
        return STATUS_USAGE;
    }
    int status = session_open_store(session);
    if (status != STATUS_DONE)
        return status;
    int result = queue_open(session->store, command, &handle);
    if (result == MCDS_OK)
        result = change_all(handle, command->arguments[1], retries, &answer.count);
    status = report(&session->output, command, &answer, result, NULL);
    queue_close(handle);
    return status;
}

int queue_retry(struct session *session, const struct command *command)
{
    return change_dead(session, command, true);
}

int queue_discard(struct session *session, const struct command *command)
{
    return change_dead(session, command, false);
}

void queue_print_dead(struct output *output, const struct command *command,
                      const struct answer *answer, int result)
{
    (void)result;
    if (output->json)
        output_text(output, "done", command->verb->done, HIDDEN);
    output_unsigned(output, "count", answer->count, SHOWN);
}
