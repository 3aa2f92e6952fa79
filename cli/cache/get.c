/* mcds cache get: print the value, or run COMMAND, of all callers one, and store its output.
 *
 *   look     fresh: print it
 *            ours to fill: run COMMAND, renew the claim meanwhile, then put or fail
 *            another's: wait
 *
 * If the store fails, COMMAND runs all the same, and its output is not stored. Signals arrive only
 * through `signals` from before the look on, so that none ends mcds while it has the claim. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache/program.h"
#include "io/clock.h"
#include "io/exit.h"
#include "io/failure.h"
#include "io/report.h"
#include "io/waiting.h"
#include "table/nouns.h"

/* As the library's default: an mcds that dies blocks the key for so long. */
#define FILL_MS 10000
/* A caller that runs COMMAND renews its claim, and the claim of one that has died ends: the wait
 * ends by itself, or at this bound. */
#define WAIT_MS INT64_C(86400000)
/* How long a wait for another's fill continues before it checks for signals. */
#define SLICE_MS 200
/* The failure that is stored: other callers exit with the same code. */
#define FAILURE "the command exited with "
#define CODE_MAX 255
#define VALUE_MAX ((size_t)64 << 20)

struct getting {
    struct session *session;
    const struct command *command;
    mcds_cache *cache;
    mcds_cache_claim claim;
    struct signals signals;
    mcds_value value;
    bool has_value; /* to be shown if COMMAND fails */
    bool is_stored;
    bool is_wait_told; /* to the terminal */
};

static int print_value(struct getting *getting, mcds_bytes value, const char *state)
{
    struct output *output = &getting->session->output;
    const struct command *command = getting->command;
    if (!output->json) {
        output_raw(output, value);
        return STATUS_DONE;
    }
    output_begin(output);
    output_text(output, "noun", "cache", SHOWN);
    output_text(output, "verb", "get", SHOWN);
    output_name(output, "name", command->arguments[0], SHOWN);
    output_bytes(output, "key", command->bytes[1], SHOWN);
    output_bytes(output, "value", value, SHOWN);
    output_text(output, "state", state, SHOWN);
    output_end(output);
    return STATUS_DONE;
}

static int print_held(struct getting *getting)
{
    const mcds_value *value = &getting->value;
    bool is_stale = getting->claim.state == MCDS_CACHE_STALE;
    return print_value(getting, (mcds_bytes){value->data, value->length},
                       is_stale ? "stale" : "fresh");
}

/* The source has nothing: the code with which COMMAND says so. */
static int report_nothing(struct getting *getting)
{
    int status = (int)number_of(getting->command, OPTION_NOTHING, STATUS_NO);
    char sentence[SENTENCE_MAX];
    (void)snprintf(sentence, sizeof sentence, "cache '%.200s' has nothing for '%.200s'",
                   getting->command->arguments[0], getting->command->arguments[1]);
    report_failure(&getting->session->output, getting->command, status, "MCDS_NOT_FOUND",
                   sentence);
    return status;
}

static void keep_claim(void *context)
{
    struct getting *getting = context;
    if (!getting->claim.mine)
        return;
    signals_open_calls();
    if (mcds_cache_renew(getting->cache, &getting->claim) == MCDS_EXPIRED)
        getting->claim.mine = false; /* its value is shown, and not stored */
    signals_close_calls();
}

/* Reports why the library could not store the value, and the effect. */
static void complain_of(const struct getting *getting, const char *effect)
{
    char said[FAILURE_CAPACITY];
    describe_failure(said, getting->command);
    complain(&getting->session->output, "%s; %s", said, effect);
}

static void complain_unstored(const struct getting *getting)
{
    complain_of(getting, "the value is not stored");
}

static void store(struct getting *getting, const mcds_bytes *value)
{
    if (!getting->claim.mine)
        return;
    int result = mcds_cache_put(getting->cache, &getting->claim, value);
    getting->is_stored = result == MCDS_OK;
    getting->session->output.changes += getting->is_stored;
    if (result == MCDS_AMBIGUOUS)
        complain_of(getting, "the value may not be stored");
    else if (result != MCDS_OK && result != MCDS_EXPIRED)
        complain_unstored(getting);
}

/* Gives the key back: the next caller runs its COMMAND. */
static void give_back(struct getting *getting)
{
    if (getting->claim.mine && mcds_cache_release(getting->cache, &getting->claim) < 0)
        complain_unstored(getting); /* the claim ends by itself */
}

/* Prints the stale value, and why it is stale. */
static int print_stale(struct getting *getting, const char *sentence)
{
    complain(&getting->session->output, "%s; this is the stale value", sentence);
    return print_held(getting);
}

/* COMMAND has failed: the stale value if there is one, else its own code. */
static int take_failure(struct getting *getting, int status, bool is_reported)
{
    struct output *output = &getting->session->output;
    char failure[64];
    char sentence[SENTENCE_MAX];
    (void)snprintf(failure, sizeof failure, FAILURE "%d", status);
    if (getting->claim.mine &&
        mcds_cache_fail(getting->cache, &getting->claim, mcds_text(failure)) < 0)
        complain_unstored(getting);
    (void)snprintf(sentence, sizeof sentence, "cache '%.200s': %s",
                   getting->command->arguments[0], failure);
    if (getting->has_value)
        return print_stale(getting, sentence);
    if (output->json && !is_reported)
        report_failure(output, getting->command, status, "MCDS_IO", sentence);
    return status;
}

/* COMMAND could not be run, which says nothing about the source. */
static int take_not_run(struct getting *getting, int status)
{
    char sentence[SENTENCE_MAX];
    give_back(getting);
    (void)snprintf(sentence, sizeof sentence, "cache '%.200s': the command cannot be run",
                   getting->command->arguments[0]);
    return getting->has_value ? print_stale(getting, sentence) : status;
}

/* A signal has ended the call. */
static int take_interrupt(struct getting *getting)
{
    char sentence[SENTENCE_MAX];
    int number = getting->signals.number;
    bool was_mine = getting->claim.mine;
    give_back(getting);
    (void)snprintf(sentence, sizeof sentence, "cache '%.200s': ended by signal %d%s",
                   getting->command->arguments[0], number,
                   was_mine ? "; the value is not stored" : "");
    report_failure(&getting->session->output, getting->command, STATUS_SIGNAL + number,
                   "MCDS_IO", sentence);
    return STATUS_SIGNAL + number;
}

/* The output of COMMAND was not kept whole. */
static int take_part(struct getting *getting, bool is_too_long)
{
    struct output *output = &getting->session->output;
    int status = is_too_long ? STATUS_DATA : status_of(MCDS_NO_MEMORY);
    char sentence[SENTENCE_MAX];
    (void)snprintf(sentence, sizeof sentence, "cache '%.200s': %s",
                   getting->command->arguments[0],
                   is_too_long ? "the command has printed more than 64 MB"
                               : "no memory for the output of the command");
    if (getting->has_value)
        complain(output, "%s", sentence);
    else
        report_failure(output, getting->command, status,
                       is_too_long ? "MCDS_TOO_BIG" : "MCDS_NO_MEMORY", sentence);
    return take_failure(getting, status, true);
}

static int take_output(struct getting *getting, const struct collected *collected, int status)
{
    mcds_bytes value = {collected->data, collected->length};
    bool is_nothing = is_given(getting->command, OPTION_NOTHING) &&
                      (uint64_t)status == number_of(getting->command, OPTION_NOTHING, 0);
    if (getting->signals.number != 0)
        return take_interrupt(getting);
    if (collected->is_not_run)
        return take_not_run(getting, status);
    if (collected->is_too_long || collected->is_out_of_memory)
        return take_part(getting, collected->is_too_long);
    if (status != 0 && !is_nothing)
        return take_failure(getting, status, false);
    store(getting, is_nothing ? NULL : &value);
    if (is_nothing)
        return report_nothing(getting);
    return print_value(getting, value, getting->is_stored ? "filled" : "unstored");
}

static int fill(struct getting *getting)
{
    struct collected collected = {.data = NULL};
    const struct program program = {.signals = &getting->signals,
                                    .collected = &collected,
                                    .length_max = VALUE_MAX,
                                    .renew = keep_claim,
                                    .context = getting,
                                    .every_ms = FILL_MS / 3};
    signals_close_calls();
    int status = program_run(getting->session, getting->command, &program);
    signals_open_calls();
    status = take_output(getting, &collected, status);
    free(collected.data);
    return status;
}

/* No COMMAND: only prints the value. */
static int get_only(struct getting *getting, int result)
{
    give_back(getting);
    if (result == MCDS_OK)
        return print_held(getting);
    if (result == MCDS_NOT_FOUND || result == MCDS_BUSY)
        return report_nothing(getting);
    return report(&getting->session->output, getting->command, NULL, result, NULL);
}

/* The code of the COMMAND that failed; STATUS_IO where a program has described its failure. */
static int status_of_failure(mcds_bytes failure)
{
    const size_t length = strlen(FAILURE);
    const char *text = failure.data;
    int status = 0;
    if (failure.length <= length || memcmp(text, FAILURE, length) != 0)
        return STATUS_IO;
    for (size_t i = length; i < failure.length && text[i] >= '0' && text[i] <= '9'; i++)
        status = status <= CODE_MAX ? 10 * status + text[i] - '0' : status;
    return status > 0 && status <= CODE_MAX ? status : STATUS_IO;
}

/* The source failed a moment ago, for this or another caller. */
static int report_failed_before(struct getting *getting)
{
    const mcds_value *failure = &getting->value;
    int status = status_of_failure((mcds_bytes){failure->data, failure->length});
    char sentence[SENTENCE_MAX];
    (void)snprintf(
        sentence, sizeof sentence, "cache '%.200s': %.*s; no caller runs it again yet",
        getting->command->arguments[0], (int)failure->length, (const char *)failure->data);
    report_failure(&getting->session->output, getting->command, status, "MCDS_IO", sentence);
    return status;
}

/* The store does not answer, or takes no claim: it is full, may only be read, or has no
 * compare-and-set. */
static bool is_store_away(int result)
{
    mcds_cause cause = mcds_last_error()->cause;
    return result == MCDS_TIMEOUT || result == MCDS_UNAVAILABLE || result == MCDS_FULL ||
           (result == MCDS_UNSUPPORTED && cause == MCDS_CAUSE_NO_COMPARE_AND_SET) ||
           (result == MCDS_IO &&
            (cause == MCDS_CAUSE_DISK_FULL || cause == MCDS_CAUSE_FILE_LIMIT ||
             cause == MCDS_CAUSE_NO_PERMISSION || cause == MCDS_CAUSE_READ_ONLY));
}

/* Once, after a second: another caller fills the key. */
static void tell_of_wait(struct getting *getting, int64_t waited_ms)
{
    char why[SENTENCE_MAX];
    const struct output *output = &getting->session->output;
    const struct command *command = getting->command;
    if (getting->is_wait_told || waited_ms < WAITING_SILENT_MS || !waiting_is_told(output))
        return;
    (void)snprintf(why, sizeof why, "cache '%.200s': another caller makes '%.200s'",
                   command->arguments[0], command->arguments[1]);
    waiting_tell(output, why, "");
    getting->is_wait_told = true;
}

/* Looks in slices, between which a signal can end the wait. Without a COMMAND it does not wait. */
static int look(struct getting *getting)
{
    const struct command *command = getting->command;
    int64_t left_ms = command->program != NULL ? WAIT_MS : 0;
    int64_t until_ms = clock_ms() + left_ms;
    int result;
    do {
        uint32_t slice_ms = left_ms < SLICE_MS ? (uint32_t)left_ms : SLICE_MS;
        result = mcds_cache_look(getting->cache, command->bytes[1], tags_of(command),
                                 command->element_count, slice_ms, &getting->value,
                                 &getting->claim);
        left_ms = until_ms - clock_ms();
        if (result == MCDS_BUSY && command->program != NULL)
            tell_of_wait(getting, WAIT_MS - left_ms);
    } while (signals_take(&getting->signals, 0) == 0 && result == MCDS_BUSY && left_ms > 0);
    return result;
}

static int look_and_fill(struct getting *getting)
{
    const struct command *command = getting->command;
    int result = look(getting);
    getting->has_value = result == MCDS_OK;
    if (getting->signals.number != 0)
        return take_interrupt(getting);
    if (result == MCDS_IO && getting->value.length > 0)
        return report_failed_before(getting);
    if (command->program == NULL)
        return get_only(getting, result);
    if (getting->claim.mine)
        return fill(getting);
    if (result == MCDS_OK)
        return print_held(getting);
    if (result == MCDS_NOT_FOUND)
        return report_nothing(getting);
    if (!is_store_away(result))
        return report(&getting->session->output, command, NULL, result, mcds_errmsg());
    complain_unstored(getting);
    return fill(getting);
}

static int call_store(struct getting *getting, int (*call)(struct getting *getting))
{
    signals_open_calls();
    int status = call(getting);
    signals_close_calls();
    return status;
}

/* The store cannot be opened, because it is full or does not answer: COMMAND runs anyway. */
static int fill_unstored(struct getting *getting)
{
    complain_unstored(getting);
    int status = signals_open(&getting->signals, &getting->session->output, getting->command);
    if (status == STATUS_DONE)
        status = call_store(getting, fill);
    signals_close(&getting->signals);
    return status;
}

static int get_from_store(struct getting *getting)
{
    void *handle = NULL;
    int status;
    int result = cache_open(getting->session->store, getting->command, &handle);
    if (result != MCDS_OK)
        return report(&getting->session->output, getting->command, NULL, result, NULL);
    getting->cache = handle;
    status = signals_open(&getting->signals, &getting->session->output, getting->command);
    if (status == STATUS_DONE)
        status = call_store(getting, look_and_fill);
    signals_close(&getting->signals);
    mcds_value_free(&getting->value);
    cache_close(handle);
    return status;
}

int cache_get(struct session *session, const struct command *command)
{
    struct getting getting = {.session = session,
                              .command = command,
                              .claim = MCDS_CACHE_CLAIM_INIT,
                              .signals = {.file = -1},
                              .value = MCDS_VALUE_INIT};
    int result = session_open(session);
    if (command->program != NULL && is_store_away(result))
        return fill_unstored(&getting);
    return result == MCDS_OK ? get_from_store(&getting) : session_refuse(session, result);
}
