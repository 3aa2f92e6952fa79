/* Session: selects and opens the store, and executes one command on it. */
#include "run/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/clock.h"
#include "io/exit.h"
#include "io/report.h"
#include "run/default_store.h"
#include "run/made_with.h"
#include "run/uri.h"
#include "signals/deadline.h"
#include "signals/interrupt.h"
#include "table/nouns.h"

#define REFUSED_CAPACITY 640
#define TIMEOUT_MS 1000 /* of a store, unless another is given */
#define NS_PER_MS INT64_C(1000000)

/* Whether the command changes nothing in any store, or only structures that exist. */
static bool only_reads(const struct command *command)
{
    const struct verb *verb = command->verb;
    if (verb->run == rm_run || (verb->run == cache_get && command->program == NULL))
        return true;
    return !verb->makes && (verb->done == NULL || is_given(command, OPTION_INFO));
}

/* A line of a batch or of a shell may make the default store. */
static bool makes_default(const struct command *command)
{
    return !only_reads(command) && !command->verb->takes_lines;
}

static int choose_default(struct session *session)
{
    char sentence[SENTENCE_MAX];
    int status = default_store(makes_default(session->command), session->uri,
                               sizeof session->uri, &session->uri_origin, sentence,
                               sizeof sentence);
    if (status != STATUS_DONE)
        report_failure(&session->output, session->command, status,
                       status == STATUS_USAGE ? "MCDS_INVALID" : "MCDS_IO", sentence);
    return status;
}

void write_origin(const struct session *session, enum setting_id id, char *out, size_t capacity)
{
    const struct config *config = &session->config;
    (void)snprintf(out, capacity, "from %s:%u", config->path, config->settings[id].line);
}

/* The profile, from the option or the environment, or NULL. */
static const char *profile_of(const struct command *command)
{
    const char *environment = trusted_environment("MCDS_PROFILE");
    if (is_given(command, OPTION_PROFILE))
        return command->options[OPTION_PROFILE].text;
    return environment != NULL && environment[0] != '\0' ? environment : NULL;
}

static int read_config(struct session *session, const struct command *command)
{
    char sentence[SENTENCE_MAX];
    session->profile = profile_of(command);
    int status = config_read(&session->config, session->profile, sentence, sizeof sentence);
    if (status != STATUS_DONE)
        report_failure(&session->output, command, status,
                       status == STATUS_IO      ? "MCDS_IO"
                       : status == STATUS_USAGE ? "MCDS_INVALID"
                       : status == STATUS_DATA  ? "MCDS_CORRUPT"
                                                : "MCDS_NO_MEMORY",
                       sentence);
    return status;
}

/* An option is stronger than the file. */
static int choose_others(struct session *session, const struct command *command)
{
    const struct setting *ns = &session->config.settings[SETTING_NAMESPACE];
    uint64_t timeout_ms = session->config.timeout_ms;
    session->options.ns = is_given(command, OPTION_NAMESPACE)
                              ? command->options[OPTION_NAMESPACE].text
                              : ns->text;
    session->options.timeout_ms = (uint32_t)number_of(command, OPTION_TIMEOUT, timeout_ms);
    if (session->options.ns == NULL || session->options.ns[0] != '\0')
        return STATUS_DONE;
    report_failure(&session->output, command, STATUS_USAGE, "MCDS_INVALID",
                   "the namespace is empty; give -N a name, or leave it out");
    return STATUS_USAGE;
}

/* The URI of -s, of a profile that is an option, of the environment or of the file, in this order,
 * or NULL. */
static const char *find_uri(struct session *session, const struct command *command)
{
    const char *environment = trusted_environment("MCDS_STORE");
    const struct setting *store = &session->config.settings[SETTING_STORE];
    bool has_environment = environment != NULL && environment[0] != '\0';
    session->uri_origin = "given with -s";
    session->uri_source = "";
    if (is_given(command, OPTION_STORE))
        return command->options[OPTION_STORE].text;
    if (has_environment && !(is_given(command, OPTION_PROFILE) && store->line > 0)) {
        session->uri_origin = "from $MCDS_STORE";
        session->uri_source = "$MCDS_STORE";
        return environment;
    }
    if (store->line == 0)
        return NULL;
    write_origin(session, SETTING_STORE, session->source, sizeof session->source);
    session->uri_origin = session->source;
    session->uri_source = session->source + strlen("from ");
    return store->text;
}

int session_choose_store(struct session *session, const struct command *command)
{
    session->command = command;
    int status = read_config(session, command);
    if (status == STATUS_DONE)
        status = choose_others(session, command);
    if (status != STATUS_DONE)
        return status;
    const char *uri = find_uri(session, command);
    session->is_default = uri == NULL;
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
    if (is_given(command, OPTION_NAMESPACE)) /* it is stronger than the URI */
        uri_cut(session->uri, "ns=");
    if (is_given(command, OPTION_TIMEOUT))
        uri_cut(session->uri, "timeout=");
    if (session_has_server(session))
        session->options.env = deadline_env();
    return STATUS_DONE;
}

bool session_is_private(const struct session *session)
{
    return strncmp(session->uri, "memory:", strlen("memory:")) == 0;
}

bool session_has_server(const struct session *session)
{
    return strncmp(session->uri, "memcached:", strlen("memcached:")) == 0;
}

uint32_t session_timeout_ms(const struct session *session)
{
    uint64_t timeout_ms = session->options.timeout_ms;
    const char *in_uri = uri_value(session->uri, "timeout=");
    if (in_uri != NULL)
        timeout_ms = strtoull(in_uri, NULL, 10);
    return timeout_ms > 0 && timeout_ms <= UINT32_MAX ? (uint32_t)timeout_ms : TIMEOUT_MS;
}

static int open_existing(const char *uri, const mcds_options *options, mcds_store **store_out)
{
    char reading[URI_MAX];
    const char *question = strchr(uri, '?');
    size_t length = strlen(uri);
    if (strncmp(uri, "lmdb:", strlen("lmdb:")) != 0 || uri_value(uri, "create=") != NULL ||
        length + sizeof "&create=0" > sizeof reading)
        return mcds_open(uri, options, store_out);
    const char *joint = question == NULL ? "?" : strchr("?&", uri[length - 1]) ? "" : "&";
    (void)snprintf(reading, sizeof reading, "%s%screate=0", uri, joint);
    int result = mcds_open(reading, options, store_out);
    /* The sentence quotes the URI, so it must be the one that was given. */
    return result == MCDS_INVALID ? mcds_open(uri, options, store_out) : result;
}

int open_named(const struct command *command, const char *uri, const mcds_options *options,
               mcds_store **store_out)
{
    return only_reads(command) ? open_existing(uri, options, store_out)
                               : mcds_open(uri, options, store_out);
}

static bool is_missing(int result)
{
    mcds_cause cause = mcds_last_error()->cause;
    return result != MCDS_OK &&
           (cause == MCDS_CAUSE_NO_FILE || cause == MCDS_CAUSE_NO_DIRECTORY);
}

int session_open(struct session *session)
{
    if (session->store != NULL)
        return MCDS_OK;
    if (!session->is_default || makes_default(session->command))
        return open_named(session->command, session->uri, &session->options, &session->store);
    int result = open_existing(session->uri, &session->options, &session->store);
    session->is_absent = is_missing(result);
    return session->is_absent ? mcds_open("memory:", &session->options, &session->store)
                              : result;
}

int session_find_store(struct session *session, const struct command *command, char *sentence,
                       size_t capacity)
{
    bool makes = makes_default(command);
    mcds_store *found = NULL;
    int status = default_store(makes, session->uri, sizeof session->uri, &session->uri_origin,
                               sentence, capacity);
    if (status != STATUS_DONE)
        return status;
    int result = makes ? mcds_open(session->uri, &session->options, &found)
                       : open_existing(session->uri, &session->options, &found);
    if (result == MCDS_OK) {
        mcds_close(session->store);
        session->store = found;
        session->is_absent = false;
        return STATUS_DONE;
    }
    (void)snprintf(sentence, capacity, "%s%s", mcds_errmsg(), advice_on(result));
    return is_missing(result) && !makes ? STATUS_DONE : status_of(result);
}

int session_wait_for_store(struct session *session, const struct command *command,
                           int interval_ms)
{
    char sentence[SENTENCE_MAX];
    while (session->is_absent) {
        if (!output_is_read(interval_ms))
            return STATUS_DONE;
        int status = session_find_store(session, command, sentence, sizeof sentence);
        if (status == STATUS_DONE)
            continue;
        report_failure(&session->output, command, status, "MCDS_IO", sentence);
        return status;
    }
    return STATUS_DONE;
}

/* Writes in brackets where the setting comes from that mcds_open has refused; "" for an option. */
static void write_refused(const struct session *session, char out[REFUSED_CAPACITY])
{
    char origin[CONFIG_PATH_CAPACITY + 32];
    const char *ns = session->options.ns;
    bool is_ns = ns != NULL && strcmp(mcds_last_error()->option, "ns") == 0;
    out[0] = '\0';
    if (is_ns && ns == session->config.settings[SETTING_NAMESPACE].text) {
        write_origin(session, SETTING_NAMESPACE, origin, sizeof origin);
        (void)snprintf(out, REFUSED_CAPACITY, " (namespace %.300s)", origin);
    } else if (!is_ns && session->uri_source[0] != '\0') {
        (void)snprintf(out, REFUSED_CAPACITY, " (%.300s is %.200s)", session->uri_source,
                       session->uri);
    }
}

int session_refuse(struct session *session, int result)
{
    char sentence[SENTENCE_MAX];
    char refused[REFUSED_CAPACITY];
    write_refused(session, refused);
    (void)snprintf(sentence, sizeof sentence, "%s%s", mcds_errmsg(), refused);
    report_failure(&session->output, session->command, status_of(result),
                   mcds_result_name(result), sentence);
    return status_of(result);
}

int session_open_store(struct session *session)
{
    int result = session_open(session);
    return result == MCDS_OK ? STATUS_DONE : session_refuse(session, result);
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

/* Opens the structure and does the operation. */
static int operate(struct session *session, mcds_pipeline *pipeline,
                   const struct command *command, struct answer *answer, void **handle_out)
{
    int result = command->noun->open(session->store, command, handle_out);
    return result == MCDS_OK ? wait_for(pipeline, *handle_out, command, answer) : result;
}

static bool has_others(const struct session *session)
{
    return session_has_server(session) && strchr(session->uri, ',') != NULL;
}

/* A counter with copies is on other servers too, if this one has lost it or does not answer. */
static bool may_be_elsewhere(const struct session *session, int result)
{
    bool is_unread = result == MCDS_NOT_FOUND || result == MCDS_TIMEOUT ||
                     result == MCDS_UNAVAILABLE;
    return is_unread && has_others(session);
}

/* Limits the operations that follow to the time that is left. */
static void limit_to(const struct session *session, int64_t end_ns)
{
    int64_t left_ms = (end_ns - clock_ns()) / NS_PER_MS;
    mcds_limit_timeout(session->store, left_ms > 0 ? (uint32_t)left_ms : 1);
}

/* The structure as most are made. Asking first how it was made would take one more connection and
 * round trip. If the server may be silent, half of the timeout is left for the others. */
static int guess_once(struct session *session, mcds_pipeline *pipeline,
                      const struct command *guess, struct answer *answer, void **handle_out)
{
    if (has_others(session))
        mcds_limit_timeout(session->store, (session_timeout_ms(session) + 1) / 2);
    int result = operate(session, pipeline, guess, answer, handle_out);
    mcds_limit_timeout(session->store, 0);
    return result;
}

/* In the rest of the timeout. The two operations are one after the other, so that also the second
 * has what is left. */
static int operate_as_made(struct session *session, mcds_pipeline *pipeline,
                           const struct command *command, int64_t end_ns, struct answer *answer,
                           void **handle_out)
{
    limit_to(session, end_ns);
    int result = command->noun->open(session->store, command, handle_out);
    limit_to(session, end_ns);
    if (result == MCDS_OK)
        result = wait_for(pipeline, *handle_out, command, answer);
    mcds_limit_timeout(session->store, 0);
    return result;
}

static int operate_by_guess(struct session *session, mcds_pipeline *pipeline,
                            const struct command *command, struct answer *answer,
                            void **handle_out)
{
    int64_t end_ns = clock_ns() + session_timeout_ms(session) * NS_PER_MS;
    if (!command->noun->shows_options || !takes_as_made(command))
        return operate(session, pipeline, command, answer, handle_out);
    struct command guess = *command;
    guess.is_guess = true;
    int result = guess_once(session, pipeline, &guess, answer, handle_out);
    bool is_elsewhere = may_be_elsewhere(session, result);
    if (result != MCDS_CORRUPT && !is_elsewhere)
        return result;
    command->noun->close(*handle_out);
    *handle_out = NULL;
    guess.is_guess = false;
    guess.was_guessed = is_elsewhere;
    return operate_as_made(session, pipeline, &guess, end_ns, answer, handle_out);
}

static int operate_once(struct session *session, const struct command *command)
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
        result = operate_by_guess(session, pipeline, command, &answer, &handle);
    status = report(&session->output, command, &answer, result, NULL);
    mcds_value_free(&answer.value);
    mcds_pipeline_close(pipeline);
    command->noun->close(handle);
    return status;
}

/* A signal ends the waits, but not the process, which reports the outcome of a change. */
static bool is_change_of_server(const struct session *session, const struct command *command)
{
    return session_has_server(session) && command->verb->done != NULL &&
           !is_given(command, OPTION_INFO);
}

int session_call(struct session *session, const struct command *command,
                 int (*call)(struct session *session, const struct command *command))
{
    if (!is_change_of_server(session, command))
        return call(session, command);
    interrupt_open_calls();
    int status = call(session, command);
    int number = interrupt_close();
    if (number != 0 && status != STATUS_AMBIGUOUS && output_flush(&session->output))
        (void)raise(number);
    return status;
}

int session_operate(struct session *session, const struct command *command)
{
    return session_call(session, command, operate_once);
}
