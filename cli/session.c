/* Which store, and one command on it. */
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "exit.h"
#include "feed.h"
#include "report.h"

#define FILE_NAME "default.lmdb"

/* Append `path` with what a URI would take for its own written as %XX. */
static bool append_path(char uri[URI_MAX], const char *path)
{
    size_t length = strlen(uri);
    for (; *path != '\0'; path++) {
        if (length + 4 > URI_MAX)
            return false;
        if (*path == '%' || *path == '?')
            length += (size_t)snprintf(uri + length, 4, "%%%02X", (unsigned char)*path);
        else
            uri[length++] = *path;
    }
    uri[length] = '\0';
    return true;
}

/* Make a directory and those above it, for the owner alone. */
static bool make_directories(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int made = mkdir(path, 0700);
        int reason = errno;
        *slash = '/';
        if (made != 0 && reason != EEXIST) {
            errno = reason;
            return false;
        }
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static int choose_default(struct session *session)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    char path[URI_MAX / 2];
    int length;
    if (state != NULL && state[0] == '/') {
        length = snprintf(path, sizeof path, "%s/mcds", state);
        session->uri_origin = "the default under $XDG_STATE_HOME; -s or $MCDS_STORE change it";
    } else if (home != NULL && home[0] == '/') {
        length = snprintf(path, sizeof path, "%s/.local/state/mcds", home);
        session->uri_origin = "the default under $HOME; -s or $MCDS_STORE change it";
    } else {
        complain(&session->output,
                 "no store: give one with -s or $MCDS_STORE, for $HOME is not "
                 "set either");
        return STATUS_USAGE;
    }
    (void)snprintf(session->uri, sizeof session->uri, "lmdb:");
    if (length < 0 || (size_t)length >= sizeof path || !append_path(session->uri, path) ||
        !append_path(session->uri, "/" FILE_NAME)) {
        complain(&session->output, "the path of the default store is too long; use -s");
        return STATUS_USAGE;
    }
    if (make_directories(path))
        return STATUS_DONE;
    complain(&session->output, "%s cannot be made: %s; choose a store with -s or $MCDS_STORE",
             path, strerror(errno));
    return STATUS_IO;
}

int session_choose_store(struct session *session, const struct command *command)
{
    session->options.ns = command->options[OPTION_NAMESPACE].text;
    session->options.timeout_ms = (uint32_t)number_of(command, OPTION_TIMEOUT, 0);
    const char *environment = getenv("MCDS_STORE");
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
        complain(&session->output, "the store URI is longer than %d bytes", URI_MAX - 1);
        return STATUS_USAGE;
    }
    memcpy(session->uri, uri, strlen(uri) + 1);
    return STATUS_DONE;
}

int session_open_store(struct session *session)
{
    int result = mcds_open(session->uri, &session->options, &session->store);
    if (result == MCDS_OK)
        return STATUS_DONE;
    complain(&session->output,
             session->is_from_environment ? "%s ($MCDS_STORE is %.200s)" : "%s", mcds_errmsg(),
             session->uri);
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
        complain(&session->output, "%s", against);
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
    session->output.may_be_cut = command->verb->is_many;
    int result = mcds_pipeline_open(session->store, &options, &pipeline);
    if (result == MCDS_OK)
        result = command->noun->open(session->store, command, &handle);
    if (result == MCDS_OK)
        result = wait_for(pipeline, handle, command, &answer);
    status = report(&session->output, command, &answer, result, mcds_errmsg());
    mcds_value_free(&answer.value);
    mcds_pipeline_close(pipeline);
    command->noun->close(handle);
    return status;
}

int session_run(struct session *session, const struct command *command)
{
    const struct verb *verb = command->verb;
    if (verb->run != NULL && (verb->start == NULL || command->program != NULL))
        return verb->run(session, command);
    if (command->input != INPUT_NONE)
        return feed_run(session, command);
    return session_operate(session, command);
}
