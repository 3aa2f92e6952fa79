/* mcds cache hold: hold keys and tags, run COMMAND, which changes the source, and forget them. */
#include <stdio.h>

#include "cache/program.h"
#include "io/clock.h"
#include "io/exit.h"
#include "io/failure.h"
#include "io/report.h"
#include "parse/values.h"
#include "signals/interrupt.h"
#include "table/nouns.h"

#define HOLD_MS 30000
/* Calls for one key or tag, while the store does not answer. */
#define TRIES 5

static int hold_all(mcds_cache *cache, const struct command *command)
{
    uint32_t hold_ms = (uint32_t)number_of(command, OPTION_FOR, HOLD_MS);
    int result = MCDS_OK;
    if (command->arguments[1] != NULL)
        result = mcds_cache_hold(cache, command->bytes[1], hold_ms);
    for (size_t i = 0; i < command->element_count && result == MCDS_OK; i++)
        result = mcds_cache_hold_tag(cache, command->elements[i], hold_ms);
    return result;
}

/* After a signal, each call has one try. */
static bool may_try(int tried)
{
    return tried == 0 || (tried < TRIES && interrupt_number() == 0);
}

/* Each call may be repeated until it is certain. Returns the last result that is not OK. */
static int forget_all(mcds_cache *cache, const struct command *command)
{
    int last = MCDS_OK;
    int result = MCDS_OK;
    for (int i = 0; may_try(i) && command->arguments[1] != NULL; i++)
        if ((result = mcds_cache_forget(cache, command->bytes[1])) == MCDS_OK)
            break;
    last = result;
    for (size_t tag = 0; tag < command->element_count; tag++) {
        for (int i = 0; may_try(i); i++)
            if ((result = mcds_cache_forget_tag(cache, command->elements[tag])) == MCDS_OK)
                break;
        if (result != MCDS_OK)
            last = result;
    }
    return last;
}

/* The holds may have ended before the command did. `began_ms` is the time before the first. */
static void complain_late(const struct session *session, const struct command *command,
                          int64_t began_ms)
{
    char written[DURATION_CAPACITY];
    uint64_t hold_ms = number_of(command, OPTION_FOR, HOLD_MS);
    if (clock_ms() - began_ms < (int64_t)hold_ms)
        return;
    format_duration(hold_ms, written);
    complain(&session->output,
             "cache '%.200s': the command ran longer than the hold, --for %s: others may have "
             "read the old value meanwhile; choose a longer --for",
             command->arguments[0], written);
}

static int hold_and_run(struct session *session, const struct command *command,
                        mcds_cache *cache)
{
    char said[FAILURE_CAPACITY];
    struct signals signals;
    const struct program program = {.signals = &signals};
    /* None ends mcds while it holds a key. */
    int status = signals_open(&signals, &session->output, command);
    if (status != STATUS_DONE)
        return status;
    int64_t began_ms = clock_ms();
    signals_open_calls();
    int result = hold_all(cache, command);
    if (result != MCDS_OK)
        status = report(&session->output, command, NULL, result, NULL);
    signals_close_calls();
    if (result != MCDS_OK) {
        signals_close(&signals);
        return status;
    }
    status = program_run(session, command, &program);
    signals_open_calls();
    result = forget_all(cache, command);
    signals_close_calls();
    signals_close(&signals);
    complain_late(session, command, began_ms);
    if (result == MCDS_OK)
        return status;
    describe_failure(said, command);
    complain(&session->output, "%s; the old value ends with the hold%s", said,
             advice_on(result));
    return status != STATUS_DONE ? status : status_of(result);
}

int cache_hold(struct session *session, const struct command *command)
{
    void *handle = NULL;
    if (command->program == NULL ||
        (command->arguments[1] == NULL && command->element_count == 0)) {
        report_failure(&session->output, command, STATUS_USAGE, "MCDS_INVALID",
                       "cache hold: give a KEY or a --tag, and after -- the command to run; "
                       "a KEY that begins with - is between two --");
        return STATUS_USAGE;
    }
    int status = check_program(&session->output, command);
    if (status == STATUS_DONE)
        status = session_open_store(session);
    if (status != STATUS_DONE)
        return status;
    int result = cache_open(session->store, command, &handle);
    if (result != MCDS_OK)
        return report(&session->output, command, NULL, result, NULL);
    status = hold_and_run(session, command, handle);
    cache_close(handle);
    return status;
}
