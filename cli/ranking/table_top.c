/* mcds table top: the entries with the greatest numbers. */
#include <inttypes.h>
#include <string.h>

#include "io/exit.h"
#include "io/report.h"
#include "parse/values.h"
#include "ranking/ranking.h"
#include "table/nouns.h"

#define DIGITS_MAX 20

struct top {
    struct ranking ranking;
    uint64_t others; /* values that are no numbers */
};

/* A number is what `table incr` increments: at most 20 digits, perhaps after a minus. */
static bool parse_entry(mcds_bytes value, int64_t *number_out)
{
    const char *bytes = value.data;
    char text[DIGITS_MAX + 2];
    if (value.length == 0 || bytes[0] == '+' || value.length > DIGITS_MAX + (bytes[0] == '-'))
        return false;
    memcpy(text, bytes, value.length);
    text[value.length] = '\0';
    return strlen(text) == value.length && parse_signed(text, number_out);
}

static bool add_entry(void *context, mcds_bytes key, mcds_bytes value)
{
    struct top *top = context;
    int64_t number = 0;
    if (parse_entry(value, &number))
        return ranking_add(&top->ranking, key, number);
    top->others++;
    return true;
}

static int print_top(struct session *session, const struct command *command, struct top *top)
{
    ranking_sort(&top->ranking);
    ranking_print(&top->ranking, &session->output, "key", "value");
    if (top->others > 0)
        complain(&session->output, "table '%.200s': %" PRIu64 " value%s; left out",
                 command->arguments[0], top->others,
                 top->others == 1 ? " is not a number" : "s are not numbers");
    return STATUS_DONE;
}

static int scan_and_print(struct session *session, const struct command *command,
                          mcds_table *table)
{
    struct top top = {.ranking = ranking_of(command)};
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    int status;
    int result = mcds_table_scan(table, &cursor, 0, add_entry, &top);
    if (top.ranking.is_out_of_memory) {
        status = STATUS_INTERNAL;
        report_failure(&session->output, command, status, "MCDS_NO_MEMORY",
                       "table top: out of memory");
    } else if (result == MCDS_OK) {
        status = print_top(session, command, &top);
    } else {
        status = report(&session->output, command, NULL, result, NULL);
    }
    ranking_free(&top.ranking);
    return status;
}

int table_top(struct session *session, const struct command *command)
{
    void *handle = NULL;
    int status = session_open_store(session);
    if (status != STATUS_DONE)
        return status;
    int result = table_open(session->store, command, &handle);
    if (result != MCDS_OK)
        return report(&session->output, command, NULL, result, NULL);
    status = scan_and_print(session, command, handle);
    table_close(handle);
    return status;
}
