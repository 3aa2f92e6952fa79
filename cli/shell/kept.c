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

/* Some structures are read when they are opened. A signal gives this up too. */
static int open_structure(struct attempt *attempt, struct subject *subject, void **handle_out)
{
    struct signals *signals = attempt->session->kept->signals;
    signals_open_calls();
    int result = subject_open(subject, attempt->session->store, attempt->command, handle_out);
    signals_close_calls();
    if (result != MCDS_OK)
        attempt->signal = signals_take(signals, 0);
    return result;
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
    attempt->result = subject != NULL ? open_structure(attempt, subject, &handle)
                                      : MCDS_NO_MEMORY;
    if (attempt->result == MCDS_OK)
        attempt->result = command->verb->start(handle, command, &attempt->answer,
                                               kept->pipeline, 0);
    if (attempt->result != MCDS_OK)
        return;
    subject_begin(subject, command);
    if (is_given_up(kept, &attempt->result)) {
        attempt->signal = kept->signals->number;
        attempt->result = command->verb->done != NULL ? MCDS_AMBIGUOUS : MCDS_TIMEOUT;
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
                 ? report_given_up(&session->output, command, &once.answer, once.result,
                                   once.signal)
                 : report(&session->output, command, &once.answer, once.result, NULL);
    mcds_value_free(&once.answer.value);
    if (session->is_absent) /* the open structures belong to the empty store that replaces it */
        kept_close(session->kept);
    return status;
}
