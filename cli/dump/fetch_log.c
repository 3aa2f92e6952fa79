/* The options of a log. No call returns them. A handle that is opened with another value than the log
 * was made with is refused, and the failure names the value. */
#include "dump/fetch.h"

#include <string.h>

#define DAY_MS UINT64_C(86400000)
#define RETENTION_MAX_MS (366 * DAY_MS)

static bool see_none(void *context, const mcds_log_event *event)
{
    (void)context;
    (void)event;
    return false;
}

/* Opens the log with one option of a value that fits the defaults of the others, and learns the value
 * that it was made with. */
static int ask(mcds_store *store, const char *name, const mcds_log_options *guess,
               const char *option, uint64_t guessed, uint64_t *value_out)
{
    mcds_log *log = NULL;
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    range.limit = 1;
    *value_out = guessed;
    int result = mcds_log_open(store, name, guess, &log);
    if (result == MCDS_OK)
        result = mcds_log_scan(log, &range, see_none, NULL, NULL);
    const mcds_error *error = mcds_last_error();
    if (result == MCDS_INVALID && error->cause == MCDS_CAUSE_OPTION_DIFFERS &&
        strcmp(error->option, option) == 0) {
        *value_out = (uint64_t)error->found_number;
        result = MCDS_OK;
    }
    mcds_log_close(log);
    return result;
}

int fetch_log_options(mcds_store *store, struct command *structure)
{
    const char *name = structure->arguments[0];
    mcds_log_options guesses[5];
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof guesses / sizeof guesses[0]; i++)
        guesses[i] = (mcds_log_options)MCDS_LOG_OPTIONS_INIT;
    guesses[0].flags = MCDS_LOG_BY_ARRIVAL;
    guesses[1].retention_ms = RETENTION_MAX_MS;
    guesses[2].chunk_ms = DAY_MS;
    guesses[3].late_ms = 1;
    guesses[4].ahead_ms = 1;
    int result = ask(store, name, &guesses[0], "flags", MCDS_LOG_BY_ARRIVAL, &value);
    if (result == MCDS_OK && value == MCDS_LOG_BY_ARRIVAL)
        structure_give(structure, OPTION_BY_ARRIVAL, 0);
    if (result == MCDS_OK)
        result = ask(store, name, &guesses[1], "retention_ms", RETENTION_MAX_MS, &value);
    structure_give(structure, OPTION_RETENTION, value);
    if (result == MCDS_OK)
        result = ask(store, name, &guesses[2], "chunk_ms", DAY_MS, &value);
    structure_give(structure, OPTION_CHUNK, value);
    if (result == MCDS_OK)
        result = ask(store, name, &guesses[3], "late_ms", 1, &value);
    structure_give(structure, OPTION_LATE, value);
    if (result == MCDS_OK)
        result = ask(store, name, &guesses[4], "ahead_ms", 1, &value);
    structure_give(structure, OPTION_AHEAD, value);
    return result;
}
