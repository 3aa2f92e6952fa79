/* Which store, and one command on it. */
#include "session.h"

#include <stdio.h>
#include <string.h>

#include "default_store.h"
#include "exit.h"
#include "feed.h"
#include "nouns.h"
#include "report.h"

static int choose_default(struct session *session)
{
    char sentence[SENTENCE_MAX];
    int status = default_store(session->uri, sizeof session->uri, &session->uri_origin,
                               sentence, sizeof sentence);
    if (status != STATUS_DONE)
        report_failure(&session->output, session->command, status,
                       status == STATUS_USAGE ? "MCDS_INVALID" : "MCDS_IO", sentence);
    return status;
}

int session_choose_store(struct session *session, const struct command *command)
{
    session->command = command;
    session->options.ns = command->options[OPTION_NAMESPACE].text;
    session->options.timeout_ms = (uint32_t)number_of(command, OPTION_TIMEOUT, 0);
    const char *environment = trusted_environment("MCDS_STORE");
    const char *uri = command->options[OPTION_STORE].text;
    session->uri_origin = "given with -s";
    if (uri == NULL && environment != NULL && environment[0] != '\0') {
        uri = environment;
        session->uri_origin = "from $MCDS_STORE";
        session->is_from_environment = true;
    }
    if (uri == NULL)
        return choose_default(session);
    if (strlen(uri) >= sizeof session->uri) {
        char sentence[80];
        (void)snprintf(sentence, sizeof sentence, "the store URI is longer than %d bytes",
                       URI_MAX - 1);
        report_failure(&session->output, command, STATUS_USAGE, "MCDS_INVALID", sentence);
        return STATUS_USAGE;
    }
    memcpy(session->uri, uri, strlen(uri) + 1);
    return STATUS_DONE;
}

bool session_is_private(const struct session *session)
{
    return strncmp(session->uri, "memory:", strlen("memory:")) == 0;
}

int session_open_store(struct session *session)
{
    int result = mcds_open(session->uri, &session->options, &session->store);
    if (result == MCDS_OK)
        return STATUS_DONE;
    char sentence[SENTENCE_MAX];
    int length = snprintf(sentence, sizeof sentence, "%s", mcds_errmsg());
    if (session->is_from_environment && length >= 0 && (size_t)length < sizeof sentence)
        (void)snprintf(sentence + length, sizeof sentence - (size_t)length,
                       " ($MCDS_STORE is %.200s)", session->uri);
    report_failure(&session->output, session->command, status_of(result),
                   mcds_result_name(result), sentence);
    return status_of(result);
}

/* One operation in a pipeline of depth one. */
static int wait_for(mcds_pipeline *pipeline, void *handle, const struct command *command,
                    struct answer *answer)
{
    int result = command->verb->start(handle, command, answer, pipeline, 0);
    if (result != MCDS_OK)
        return result;
    mcds_completion done;
    result = mcds_pipeline_next(pipeline, &done);
    return result == MCDS_OK ? done.result : result;
}

int session_operate(struct session *session, const struct command *command)
{
    const char *against = command->noun->why_not != NULL ? command->noun->why_not(command)
                                                         : NULL;
    if (against != NULL) {
        report_failure(&session->output, command, STATUS_USAGE, "MCDS_INVALID", against);
        return STATUS_USAGE;
    }
    int status = session_open_store(session);
    if (status != STATUS_DONE)
        return status;
    mcds_pipeline_options options = MCDS_PIPELINE_OPTIONS_INIT;
    options.depth = 1;
    mcds_pipeline *pipeline = NULL;
    void *handle = NULL;
    struct answer answer;
    memset(&answer, 0, sizeof answer);
    answer.items = &session->output;
    int result = mcds_pipeline_open(session->store, &options, &pipeline);
    if (result == MCDS_OK)
        result = command->noun->open(session->store, command, &handle);
    if (result == MCDS_OK)
        result = wait_for(pipeline, handle, command, &answer);
    status = report(&session->output, command, &answer, result, NULL);
    mcds_value_free(&answer.value);
    mcds_pipeline_close(pipeline);
    command->noun->close(handle);
    return status;
}

/* A change whose answer could not be printed would look like a failure: it is not begun. With -q
 * there may be nothing to print. */
static bool is_heard(struct session *session, const struct command *command)
{
    const struct verb *verb = command->verb;
    bool prints = verb->run == batch_run ||
                  (command->program == NULL && verb->done != NULL && !session->output.quiet) ||
                  verb->start == counter_take;
    return !prints || output_may_begin(&session->output);
}

int session_run(struct session *session, const struct command *command)
{
    const struct verb *verb = command->verb;
    if (!is_heard(session, command))
        return STATUS_IO;
    if (verb->run != NULL && (verb->start == NULL || command->program != NULL))
        return verb->run(session, command);
    int status = command->input != INPUT_NONE ? feed_run(session, command)
                                              : session_operate(session, command);
    if (status == STATUS_DONE && session_is_private(session))
        complain(&session->output, "only this command sees a memory: store, which is gone when "
                                   "it ends; 'batch' runs several commands on one");
    return status;
}
