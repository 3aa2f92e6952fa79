/* mcds limit. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/exit.h"
#include "io/failure.h"
#include "io/report.h"
#include "io/waiting.h"
#include "parse/values.h"
#include "run/session.h"
#include "signals/signals.h"
#include "table/nouns.h"

#define MS_PER_S 1000.0
#define DAY_MS UINT64_C(86400000)
#define WORD_MAX 32
#define WINDOW UINT64_MAX /* the burst of --burst window, while options are read */

/* COUNT/TIME: 10/s, 1000/h, 5/10s. */
static bool parse_rate(const char *text, mcds_rate *rate)
{
    char count[WORD_MAX];
    char time[WORD_MAX];
    const char *slash = strchr(text, '/');
    if (slash == NULL || (size_t)(slash - text) >= sizeof count ||
        strlen(slash) >= sizeof time - 1 ||
        (isalnum((unsigned char)slash[1]) == 0 && slash[1] != '+'))
        return false;
    (void)snprintf(count, sizeof count, "%.*s", (int)(slash - text), text);
    bool has_number = slash[1] == '+' || (slash[1] >= '0' && slash[1] <= '9');
    (void)snprintf(time, sizeof time, "%s%s", has_number ? "" : "1", slash + 1);
    return parse_whole(count, &rate->count) && parse_duration(time, &rate->per_ms);
}

/* The number of tokens, or "window". */
static const char *read_burst(const char *text, mcds_limit_options *options)
{
    if (options->rate_count == 0)
        return "--rate is a number and a time, such as 10/s; --burst comes after its --rate";
    uint64_t *burst = &options->rates[options->rate_count - 1].burst;
    if (strcmp(text, "window") == 0)
        *burst = WINDOW;
    else if (!parse_whole(text, burst) || *burst == 0 || *burst == WINDOW)
        return "--burst needs a whole number of 1 or more";
    return NULL;
}

/* --rate and --burst in the order in which they were typed: a burst belongs to the rate before it,
 * and of two the last counts. Returns a sentence, or NULL. */
static const char *read_rates(const struct command *command, mcds_limit_options *options)
{
    for (size_t i = 0; i < command->element_count; i++) {
        const char *text = command->elements[i].data;
        if (strchr(text, '/') == NULL) {
            const char *why = read_burst(text, options);
            if (why != NULL)
                return why;
            continue;
        }
        if (options->rate_count == MCDS_LIMIT_RATES_MAX)
            return "a limit has at most four rates; leave one --rate out";
        if (!parse_rate(text, &options->rates[options->rate_count++]))
            return "--rate is a number and a time, such as 10/s, 1000/h or 5/10s";
    }
    for (uint32_t i = 0; i < options->rate_count; i++)
        if (options->rates[i].burst == WINDOW) {
            options->form = MCDS_LIMIT_WINDOW;
            options->rates[i].burst = 0;
        }
    return NULL;
}

const char *limit_why_not(const struct command *command)
{
    mcds_limit_options options = MCDS_LIMIT_OPTIONS_INIT;
    bool needs_rate = command->verb->start != limit_ls && command->verb->start != limit_drop;
    const char *why = read_rates(command, &options);
    if (why == NULL && needs_rate && options.rate_count == 0)
        return "--rate is missing, such as --rate 10/s";
    return why;
}

int limit_open(mcds_store *store, const struct command *command, void **handle_out)
{
    mcds_limit_options options = MCDS_LIMIT_OPTIONS_INIT;
    mcds_limit *limit = NULL;
    (void)read_rates(command, &options); /* limit_why_not has accepted them */
    int result = mcds_limit_open(store, command->arguments[0], &options, &limit);
    *handle_out = limit;
    return result;
}

void limit_close(void *handle)
{
    mcds_limit_close(handle);
}

int limit_take(void *handle, const struct command *command, struct answer *answer,
               mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_limit_take_start(handle, command->bytes[1], (uint64_t)command->delta,
                                 (uint32_t)number_of(command, OPTION_PATIENCE, 0),
                                 &answer->limit, pipeline, tag);
}

static void print_who(struct output *output, const struct command *command)
{
    output_bytes(output, "identity", command->bytes[1], HIDDEN);
}

static double seconds(uint64_t ms)
{
    return (double)ms / MS_PER_S;
}

/* With -q only one number: that of the tokens left, or with --patience that of the seconds to wait. */
static void print_taken(struct output *output, const struct command *command,
                        const mcds_limit_value *value)
{
    char text[64];
    if (output->quiet && is_given(command, OPTION_PATIENCE)) {
        output_real(output, "", seconds(value->delay_ms), SHOWN);
        return;
    }
    if (value->delay_ms > 0)
        (void)snprintf(text, sizeof text, "taken, %.3f s to wait", seconds(value->delay_ms));
    else
        (void)snprintf(text, sizeof text, "taken, %" PRIu64 " left", value->remaining);
    if (output->quiet)
        output_unsigned(output, "", value->remaining, SHOWN);
    else
        output_text(output, "", text, SHOWN);
}

void limit_print_take(struct output *output, const struct command *command,
                      const struct answer *answer, int result)
{
    const mcds_limit_value *value = &answer->limit;
    bool is_refused = result == MCDS_BUSY;
    char text[64];
    print_who(output, command);
    if (output->json) {
        output_text(output, "done", is_refused ? "refused" : "taken", HIDDEN);
        output_unsigned(output, "left", value->remaining, HIDDEN);
        output_unsigned(output, is_refused ? "retry_ms" : "delay_ms",
                        is_refused ? value->retry_ms : value->delay_ms, HIDDEN);
    } else if (is_refused) {
        (void)snprintf(text, sizeof text, "%s%.3f", output->quiet ? "" : "refused, ",
                       seconds(value->retry_ms));
        output_text(output, "", text, SHOWN);
    } else {
        print_taken(output, command, value);
    }
}

int limit_get(void *handle, const struct command *command, struct answer *answer,
              mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_limit_get_start(handle, command->bytes[1], &answer->limit, pipeline, tag);
}

void limit_print_get(struct output *output, const struct command *command,
                     const struct answer *answer, int result)
{
    (void)result;
    print_who(output, command);
    output_unsigned(output, "left", answer->limit.remaining, SHOWN);
    output_unsigned(output, "retry_ms", answer->limit.retry_ms, HIDDEN);
    output_unsigned(output, "full_ms", answer->limit.full_ms, HIDDEN);
}

int limit_give(void *handle, const struct command *command, struct answer *answer,
               mcds_pipeline *pipeline, uint64_t tag)
{
    (void)answer;
    return mcds_limit_give_start(handle, command->bytes[1], (uint64_t)command->delta, pipeline,
                                 tag);
}

void limit_print_give(struct output *output, const struct command *command,
                      const struct answer *answer, int result)
{
    (void)answer;
    (void)result;
    print_who(output, command);
    output_word(output, "done", "given");
}

static bool print_identity(void *context, mcds_bytes identity, const mcds_limit_value *value)
{
    struct output *output = context;
    output_begin(output);
    output_bytes(output, "identity", identity, SHOWN);
    if (output->json)
        output_unsigned(output, "full_ms", value->full_ms, HIDDEN);
    else
        output_real(output, "", seconds(value->full_ms), SHOWN);
    output_end(output);
    return output_is_fine(output);
}

int limit_ls(void *handle, const struct command *command, struct answer *answer,
             mcds_pipeline *pipeline, uint64_t tag)
{
    answer->identities.position = number_of(command, OPTION_CURSOR, 0);
    return mcds_limit_scan_start(handle, &answer->identities,
                                 number_of(command, OPTION_LIMIT, 0), print_identity,
                                 answer->items, pipeline, tag);
}

bool limit_has_more(const struct answer *answer)
{
    return !answer->identities.done;
}

void limit_print_ls(struct output *output, const struct command *command,
                    const struct answer *answer, int result)
{
    (void)result;
    if (output->json && limit_has_more(answer))
        output_unsigned(output, "cursor", answer->identities.position, HIDDEN);
    if (!output->json && !output->quiet && limit_has_more(answer))
        complain(output, "limit '%.200s': there may be more; continue with --cursor %" PRIu64,
                 command->arguments[0], answer->identities.position);
}

int limit_drop(void *handle, const struct command *command, struct answer *answer,
               mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    (void)answer;
    return mcds_limit_drop_start(handle, pipeline, tag);
}

/* The tokens to wait for before COMMAND is run. */
struct turn {
    bool has_token; /* false: it is to be tried again then */
    uint64_t wait_ms;
    bool is_told; /* the terminal knows of the wait */
};

/* Replaces this process. Returns the exit code if that fails. */
static int become(struct session *session, const struct command *command)
{
    (void)sigaction(SIGPIPE, &session->pipe_before, NULL);
    (void)sigaction(SIGXFSZ, &session->size_before, NULL);
    (void)execvp(command->program[0], command->program);
    return report_not_run(&session->output, command, errno);
}

static int report_refused(struct session *session, const struct command *command,
                          const mcds_limit_value *value)
{
    char sentence[400];
    (void)snprintf(sentence, sizeof sentence,
                   "limit '%.200s': no token within the patience; retry in %.3f s",
                   command->arguments[0], seconds(value->retry_ms));
    report_failure(&session->output, command, STATUS_BUSY, "MCDS_BUSY", sentence);
    return STATUS_BUSY;
}

static mcds_bytes identity_of(const struct command *command)
{
    return command->arguments[1] != NULL ? command->bytes[1] : command->bytes[0];
}

/* Takes a token, of a bucket also one that comes within the patience. Returns an exit code, 0 with
 * the time to wait. With `until_ms`, a refusal that ends by then is 0 too, without the token. */
static int reserve(struct session *session, const struct command *command, uint64_t patience_ms,
                   int64_t until_ms, struct turn *turn)
{
    void *handle = NULL;
    mcds_limit_value value = MCDS_LIMIT_VALUE_INIT;
    signals_open_calls();
    int result = limit_open(session->store, command, &handle);
    if (result == MCDS_OK)
        result = mcds_limit_take(handle, identity_of(command), 1, (uint32_t)patience_ms,
                                 &value);
    bool is_refused = result == MCDS_BUSY && value.retry_ms > 0;
    bool comes = is_refused && clock_ms() + (int64_t)value.retry_ms <= until_ms;
    int status = is_refused && !comes ? report_refused(session, command, &value)
                 : comes || result == MCDS_OK
                     ? STATUS_DONE
                     : report(&session->output, command, NULL, result, NULL);
    signals_close_calls();
    limit_close(handle);
    turn->has_token = !is_refused;
    turn->wait_ms = is_refused ? value.retry_ms : value.delay_ms;
    return status;
}

/* The wait has ended before the turn: gives the token back. Nothing is connected during the wait. */
static int give_back(struct session *session, const struct command *command, int number)
{
    char sentence[SENTENCE_MAX];
    void *handle = NULL;
    signals_open_calls();
    int result = session_open(session);
    if (result == MCDS_OK)
        result = limit_open(session->store, command, &handle);
    if (result == MCDS_OK)
        result = mcds_limit_give(handle, identity_of(command), 1);
    limit_close(handle);
    signals_close_calls();
    const char *what = result == MCDS_OK          ? "is given back"
                       : result == MCDS_AMBIGUOUS ? "may have been given back, or may still be"
                                                  : "is not given back";
    (void)snprintf(sentence, sizeof sentence,
                   "limit '%.200s': ended by signal %d while it waited; the token %s",
                   command->arguments[0], number, what);
    report_failure(&session->output, command, STATUS_SIGNAL + number, "MCDS_IO", sentence);
    return STATUS_SIGNAL + number;
}

/* The wait for a window has ended before a token was taken. */
static int report_interrupted(struct session *session, const struct command *command,
                              int number)
{
    char sentence[SENTENCE_MAX];
    (void)snprintf(sentence, sizeof sentence,
                   "limit '%.200s': ended by signal %d while it waited; it has taken no token",
                   command->arguments[0], number);
    report_failure(&session->output, command, STATUS_SIGNAL + number, "MCDS_IO", sentence);
    return STATUS_SIGNAL + number;
}

static void disconnect(struct session *session)
{
    mcds_close(session->store);
    session->store = NULL;
}

/* Waits for the turn, after it has told a terminal so, once. Returns the signal that ended the wait,
 * or 0. */
static int sit_out(struct session *session, const struct command *command,
                   struct signals *signals, struct turn *turn)
{
    char why[400];
    bool is_limited = is_given(command, OPTION_PATIENCE);
    if (!turn->is_told && turn->wait_ms >= WAITING_SILENT_MS &&
        waiting_is_told(&session->output)) {
        (void)snprintf(why, sizeof why, "limit '%.200s': a token is free in %.3f s",
                       command->arguments[0], seconds(turn->wait_ms));
        waiting_tell(&session->output, why, is_limited ? "" : ", --patience TIME limits it");
        turn->is_told = true;
    }
    return signals_wait(signals, (int64_t)turn->wait_ms);
}

/* Reserves a turn and waits for it. Returns 0 when it has come. */
static int wait_for_turn(struct session *session, const struct command *command,
                         struct signals *signals)
{
    struct turn turn = {.has_token = false};
    int status = reserve(session, command, number_of(command, OPTION_PATIENCE, DAY_MS), 0,
                         &turn);
    if (status != STATUS_DONE)
        return status;
    disconnect(session);
    int number = sit_out(session, command, signals, &turn);
    return number != 0 ? give_back(session, command, number) : STATUS_DONE;
}

/* A window has no reservations: takes again when it may pass, until the patience ends. Each wait
 * is at least a millisecond. */
static int wait_for_window(struct session *session, const struct command *command,
                           struct signals *signals)
{
    int64_t until_ms = clock_ms() + (int64_t)number_of(command, OPTION_PATIENCE, DAY_MS);
    struct turn turn = {.has_token = false};
    for (;;) {
        int status = reserve(session, command, 0, until_ms, &turn);
        if (status != STATUS_DONE || turn.has_token)
            return status;
        disconnect(session);
        int number = sit_out(session, command, signals, &turn);
        if (number != 0)
            return report_interrupted(session, command, number);
        status = session_open_store(session);
        if (status != STATUS_DONE)
            return status;
    }
}

int limit_run(struct session *session, const struct command *command)
{
    struct signals signals;
    mcds_limit_options options = MCDS_LIMIT_OPTIONS_INIT;
    if (session_is_private(session)) {
        char sentence[400];
        (void)snprintf(sentence, sizeof sentence,
                       "limit '%.200s': only this process sees a memory: store, so the limit "
                       "would limit nobody; name a shared store with -s",
                       command->arguments[0]);
        report_failure(&session->output, command, STATUS_USAGE, "MCDS_INVALID", sentence);
        return STATUS_USAGE;
    }
    int status = check_program(&session->output, command); /* else it would cost a token */
    if (status == STATUS_DONE)
        status = session_open_store(session);
    if (status == STATUS_DONE)
        status = signals_open(&signals, &session->output, command);
    if (status != STATUS_DONE)
        return status;
    (void)read_rates(command, &options);
    status = options.form == MCDS_LIMIT_WINDOW ? wait_for_window(session, command, &signals)
                                               : wait_for_turn(session, command, &signals);
    signals_close(&signals);
    if (status != STATUS_DONE)
        return status;
    (void)sigprocmask(SIG_SETMASK, &signals.before, NULL);
    return become(session, command);
}
