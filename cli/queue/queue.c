/* mcds queue: the verbs that are one operation. */
#include "queue/queue.h"

#include <inttypes.h>
#include <string.h>

#include "io/clock.h"
#include "table/nouns.h"

#define MS_PER_S 1000.0

/* A caller that puts jobs into a store that evicts, or works on them, must accept their loss. The
 * other verbs use the jobs that are there. */
static bool may_lose(const struct command *command)
{
    return is_given(command, OPTION_MAY_LOSE) ||
           !is_among(command->verb->options, OPTION_MAY_LOSE);
}

int queue_open(mcds_store *store, const struct command *command, void **handle_out)
{
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    mcds_queue *queue = NULL;
    options.visible_ms = (uint32_t)number_of(command, OPTION_VISIBLE, 0);
    /* A verb that has no --tries does not know how often a job may be claimed. */
    if (is_among(command->verb->options, OPTION_TRIES))
        options.tries = (uint32_t)number_of(command, OPTION_TRIES, QUEUE_TRIES);
    options.flags = may_lose(command) ? MCDS_QUEUE_MAY_LOSE : 0;
    options.stripes = (uint32_t)number_of(command, OPTION_STRIPES, 0);
    int result = mcds_queue_open(store, command->arguments[0], &options, &queue);
    *handle_out = queue;
    return result;
}

void queue_close(void *handle)
{
    mcds_queue_close(handle);
}

/* Whether the store has lost the list of the parts. If so, this is the thread's last failure. */
static bool is_list_lost(const struct session *session, const struct command *command)
{
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    return mcds_queue_made_with(session->store, command->arguments[0], &options) == MCDS_LOST;
}

int queue_claim(const struct session *session, const struct command *command, mcds_queue *queue,
                uint32_t wait_ms, mcds_job *job, mcds_value *value, struct losses *losses)
{
    int result = mcds_queue_next(queue, wait_ms, job, value);
    for (int lost = 0; result == MCDS_LOST; lost++) {
        losses_add(losses, command);
        if (is_list_lost(session, command)) {
            losses->total--;
            return result;
        }
        if (lost == QUEUE_LOSSES_MAX)
            return result;
        result = mcds_queue_next(queue, 0, job, value);
    }
    losses_tell(losses, &session->output, clock_ns());
    return result;
}

int queue_push(void *handle, const struct command *command, struct answer *answer,
               mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_queue_push_many_start(handle, command->elements, command->element_count,
                                      number_of(command, OPTION_DELAY, 0), &answer->done,
                                      pipeline, tag);
}

void queue_print_push(struct output *output, const struct command *command,
                      const struct answer *answer, int result)
{
    (void)command;
    (void)answer;
    (void)result;
    output_word(output, "done", "pushed");
}

void queue_print_next(struct output *output, const struct command *command,
                      const struct answer *answer, int result)
{
    char receipt[MCDS_QUEUE_JOB_TEXT];
    (void)command;
    (void)result;
    mcds_queue_job_save(&answer->job, receipt);
    output_text(output, "receipt", receipt, SHOWN);
    output_bytes(output, "job", (mcds_bytes){answer->value.data, answer->value.length}, SHOWN);
    output_unsigned(output, "tries", answer->job.tries, HIDDEN);
}

/* Reads the receipt, which is the second argument. */
static int load_job(const struct command *command, struct answer *answer)
{
    static const mcds_job empty = MCDS_JOB_INIT;
    answer->job = empty;
    return mcds_queue_job_load(&answer->job, command->arguments[1]);
}

int queue_done(void *handle, const struct command *command, struct answer *answer,
               mcds_pipeline *pipeline, uint64_t tag)
{
    int result = load_job(command, answer);
    return result != MCDS_OK ? result
                             : mcds_queue_done_start(handle, &answer->job, pipeline, tag);
}

int queue_again(void *handle, const struct command *command, struct answer *answer,
                mcds_pipeline *pipeline, uint64_t tag)
{
    int result = load_job(command, answer);
    return result != MCDS_OK
               ? result
               : mcds_queue_again_start(handle, &answer->job,
                                        number_of(command, OPTION_DELAY, 0), pipeline, tag);
}

int queue_longer(void *handle, const struct command *command, struct answer *answer,
                 mcds_pipeline *pipeline, uint64_t tag)
{
    int result = load_job(command, answer);
    return result != MCDS_OK ? result
                             : mcds_queue_longer_start(handle, &answer->job, pipeline, tag);
}

void queue_print_changed(struct output *output, const struct command *command,
                         const struct answer *answer, int result)
{
    (void)answer;
    (void)result;
    output_word(output, "done", command->verb->done);
}

static const char *const state_words[] = {
    [MCDS_JOB_WAITING] = "waiting",
    [MCDS_JOB_DELAYED] = "delayed",
    [MCDS_JOB_CLAIMED] = "claimed",
    [MCDS_JOB_DEAD] = "dead",
};

const char *job_state_word(mcds_job_state state)
{
    return state_words[state];
}

bool job_state_of(const char *word, mcds_job_state *state_out)
{
    for (size_t i = 0; i < sizeof state_words / sizeof state_words[0]; i++) {
        *state_out = (mcds_job_state)i;
        if (strcmp(word, state_words[i]) == 0)
            return true;
    }
    return false;
}

static bool print_job(void *context, const mcds_queue_entry *entry)
{
    struct output *output = context;
    output_begin(output);
    output_text(output, "state", job_state_word(entry->state), SHOWN);
    output_unsigned(output, "tries", entry->tries, SHOWN);
    if (output->json)
        output_unsigned(output, "ms", entry->ms, HIDDEN);
    else
        output_real(output, "", (double)entry->ms / MS_PER_S, SHOWN);
    output_bytes(output, "job", entry->job, SHOWN);
    output_end(output);
    return output_is_fine(output);
}

int queue_ls(void *handle, const struct command *command, struct answer *answer,
             mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_queue_scan_start(handle, number_of(command, OPTION_LIMIT, 0), print_job,
                                 answer->items, pipeline, tag);
}

int queue_count(void *handle, const struct command *command, struct answer *answer,
                mcds_pipeline *pipeline, uint64_t tag)
{
    static const mcds_queue_counts none = MCDS_QUEUE_COUNTS_INIT;
    (void)command;
    answer->jobs = none;
    return mcds_queue_count_start(handle, &answer->jobs, pipeline, tag);
}

void queue_print_count(struct output *output, const struct command *command,
                       const struct answer *answer, int result)
{
    (void)command;
    (void)result;
    output_unsigned(output, "waiting", answer->jobs.waiting, SHOWN);
    output_unsigned(output, "delayed", answer->jobs.delayed, SHOWN);
    output_unsigned(output, "claimed", answer->jobs.claimed, SHOWN);
    output_unsigned(output, "dead", answer->jobs.dead, SHOWN);
}

int queue_drop(void *handle, const struct command *command, struct answer *answer,
               mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    (void)answer;
    return mcds_queue_drop_start(handle, pipeline, tag);
}
