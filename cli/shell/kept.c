/* Kept: one operation at a time on structures that stay open.
 *
 *   command --> subject (open handle) --start--> pipeline --completion or signal--> output */
#include "shell/kept.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "batch/open_handles.h"
#include "io/exit.h"
#include "io/report.h"
#include "run/made_with.h"

/* One operation, which may be given up. */
struct attempt {
    struct session *session;
    const struct command *command;
    struct answer answer;
    int result;
    int signal; /* the signal that gave it up, or 0 */
};

void kept_close(struct kept *kept)
{
    mcds_pipeline_close(kept->pipeline);
    subjects_free(kept->subjects);
    kept->pipeline = NULL;
    kept->subjects = NULL;
}

static int kept_open(struct kept *kept, mcds_store *store)
{
    mcds_pipeline_options options = MCDS_PIPELINE_OPTIONS_INIT;
    options.depth = 1;
    if (kept->subjects != NULL)
        return MCDS_OK;
    assert(kept->pipeline == NULL);
    kept->subjects = subjects_new();
    int result = kept->subjects != NULL ? mcds_pipeline_open(store, &options, &kept->pipeline)
                                        : MCDS_NO_MEMORY;
    if (result != MCDS_OK)
        kept_close(kept);
    return result;
}

/* Waits for the operation or for a signal. True: a signal has arrived first. */
static bool is_given_up(struct kept *kept, int *result_out)
{
    for (;;) {
        mcds_completion done;
        mcds_wait wait = MCDS_WAIT_INIT;
        if (mcds_pipeline_poll(kept->pipeline, &done) == MCDS_OK) {
            *result_out = done.result;
            return false;
        }
        assert(!mcds_pipeline_is_idle(kept->pipeline));
        mcds_pipeline_prepare(kept->pipeline, &wait);
        struct pollfd polled[] = {{wait.fd, POLLIN, 0}, {kept->signals->file, POLLIN, 0}};
        (void)poll(polled, 2, wait.timeout_ms);
        if (signals_take(kept->signals, 0) != 0)
            return true;
    }
}

static void attempt(struct attempt *attempt)
{
    struct kept *kept = attempt->session->kept;
    const struct command *command = attempt->command;
    void *handle = NULL;
    memset(&attempt->answer, 0, sizeof attempt->answer);
    attempt->answer.items = &attempt->session->output;
    attempt->result = kept_open(kept, attempt->session->store);
    if (attempt->result != MCDS_OK)
        return;
    struct subject *subject = subjects_find(kept->subjects, command);
    attempt->result = subject != NULL
                          ? subject_open(subject, attempt->session->store, command, &handle)
                          : MCDS_NO_MEMORY;
    if (attempt->result == MCDS_OK)
        attempt->result = command->verb->start(handle, command, &attempt->answer,
                                               kept->pipeline, 0);
    if (attempt->result != MCDS_OK)
        return;
    subject_begin(subject, command);
    if (is_given_up(kept, &attempt->result)) {
        attempt->signal = kept->signals->number;
        kept_close(kept); /* afterwards the library does not use the answer */
        return;
    }
    subject_end(subject, attempt->result);
}

/* Another process may have dropped the structure and made it with other options. Then a command
 * that only reads is executed again with these options. */
static void attempt_twice(struct attempt *once)
{
    struct kept *kept = once->session->kept;
    bool was_open = kept->subjects != NULL;
    uint64_t printed = once->session->output.results;
    attempt(once);
    if (once->result != MCDS_CORRUPT || once->signal != 0 || !was_open ||
        !takes_as_made(once->command) || once->session->output.results != printed)
        return;
    mcds_value_free(&once->answer.value);
    kept_close(kept);
    attempt(once);
}

static int report_given_up(const struct attempt *given_up)
{
    struct output *output = &given_up->session->output;
    const struct command *command = given_up->command;
    char sentence[SENTENCE_MAX];
    (void)snprintf(sentence, sizeof sentence, "%s '%.200s': given up", command->noun->word,
                   command->arguments[0]);
    if (command->verb->done != NULL)
        return report(output, command, &given_up->answer, MCDS_AMBIGUOUS, sentence);
    int status = STATUS_SIGNAL + given_up->signal;
    report_failure(output, command, status, mcds_result_name(MCDS_TIMEOUT), sentence);
    return status;
}

/* Looks for the default store where there was none. Returns 0, or an exit code with the sentence
 * printed. */
static int find_store(struct session *session, const struct command *command)
{
    char sentence[SENTENCE_MAX];
    if (!session->is_absent)
        return STATUS_DONE;
    assert(session->kept->subjects == NULL);
    int status = session_find_store(session, command, sentence, sizeof sentence);
    if (status != STATUS_DONE)
        report_failure(&session->output, command, status, "MCDS_IO", sentence);
    return status;
}

int kept_operate(struct session *session, const struct command *command)
{
    const char *against = command->noun->why_not != NULL ? command->noun->why_not(command)
                                                         : NULL;
    struct attempt once = {.session = session, .command = command};
    if (against != NULL) {
        report_failure(&session->output, command, STATUS_USAGE, "MCDS_INVALID", against);
        return STATUS_USAGE;
    }
    int status = find_store(session, command);
    if (status != STATUS_DONE)
        return status;
    attempt_twice(&once);
    status = once.signal != 0
                 ? report_given_up(&once)
                 : report(&session->output, command, &once.answer, once.result, NULL);
    mcds_value_free(&once.answer.value);
    if (session->is_absent) /* the open structures belong to the empty store that replaces it */
        kept_close(session->kept);
    return status;
}
