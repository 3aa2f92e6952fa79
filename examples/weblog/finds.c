/* What was found in a log besides numbers, as it stands in the store. */
#include "finds.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_MAX 24

static bool take_host(void *context, mcds_bytes key, mcds_bytes value)
{
    struct finds *finds = context;
    char digits[NUMBER_MAX];
    uint32_t index = names_find(&finds->hosts, (struct text){key.data, key.length});
    if (index == NAMES_NONE)
        return false;
    if (value.length < sizeof digits) {
        memcpy(digits, value.data, value.length);
        digits[value.length] = '\0';
        (void)sscanf(digits, "%20" SCNu64, &finds->hosts.at[index].count);
    }
    return true;
}

static bool count_element(void *context, mcds_bytes element, uint64_t count)
{
    uint64_t *sum = context;
    (void)element;
    *sum += count;
    return true;
}

static bool count_event(void *context, const mcds_log_event *event)
{
    uint64_t *sum = context;
    (void)event;
    (*sum)++;
    return true;
}

static bool keep_event(void *context, const mcds_log_event *event)
{
    struct finds *finds = context;
    size_t length = event->event.length < FINDS_ERROR_MAX ? event->event.length
                                                          : FINDS_ERROR_MAX;
    char *bytes = finds->error_bytes[finds->error_count];
    memcpy(bytes, event->event.data, length);
    finds->errors[finds->error_count++] = (struct text){bytes, length};
    return finds->error_count < FINDS_ERRORS;
}

/* What nobody has written anything to is empty. */
static int or_empty(int result)
{
    return result == MCDS_NOT_FOUND ? MCDS_OK : result;
}

static int read_hosts(struct finds *finds, mcds_table *requests)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    int result = or_empty(mcds_table_scan(requests, &cursor, 0, take_host, finds));
    names_sort(&finds->hosts);
    return result;
}

static int read_errors(struct finds *finds, mcds_log *log)
{
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    int result = or_empty(mcds_log_scan(log, &range, count_event, &finds->logged, NULL));
    range.limit = FINDS_ERRORS;
    range.newest_first = true;
    if (result == MCDS_OK)
        result = or_empty(mcds_log_scan(log, &range, keep_event, finds, NULL));
    return result;
}

int finds_read(struct finds *finds, struct sheet *sheet)
{
    memset(finds, 0, sizeof *finds);
    names_init(&finds->hosts);
    int result = read_hosts(finds, sheet->requests);
    if (result == MCDS_OK)
        result = or_empty(mcds_set_scan(sheet->referrers, count_element, &finds->referrers));
    if (result == MCDS_OK)
        result = read_errors(finds, sheet->error_log);
    if (result == MCDS_OK)
        result = top_read(&finds->largest, sheet->largest);
    return result;
}

void finds_free(struct finds *finds)
{
    names_free(&finds->hosts);
}
