/* Mark: a table with one entry. */
#include "load/mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "progress"
#define TEXT_MAX 80
#define DROPS_MAX 3 /* a drop whose reply was lost is repeated: that does no harm */

/* "FINISHED BEGUN REPLACES", three numbers. */
static bool read_text(struct mark *mark, const mcds_value *value)
{
    char text[TEXT_MAX];
    char *end = text;
    if (value->length == 0 || value->length >= sizeof text)
        return false;
    memcpy(text, value->data, value->length);
    text[value->length] = '\0';
    mark->finished = strtoull(end, &end, 10);
    mark->begun = strtoull(end, &end, 10);
    mark->replaces = strtoull(end, &end, 10) != 0;
    return *end == '\0' && mark->finished <= mark->begun;
}

int mark_open(struct mark *mark, mcds_store *store, const char *sum)
{
    mcds_value value = MCDS_VALUE_INIT;
    memset(mark, 0, sizeof *mark);
    mark->store = store;
    (void)snprintf(mark->name, sizeof mark->name, MARK_NAME "%s", sum);
    int result = mcds_table_open(store, mark->name, NULL, &mark->table);
    if (result == MCDS_OK)
        result = mcds_table_get(mark->table, mcds_text(KEY), &value);
    mark->is_there = result == MCDS_OK && read_text(mark, &value);
    if (!mark->is_there)
        mark->finished = mark->begun = 0;
    mcds_value_free(&value);
    return result == MCDS_NOT_FOUND ? MCDS_OK : result;
}

void mark_close(struct mark *mark)
{
    mcds_table_close(mark->table);
}

int mark_put(struct mark *mark, uint64_t finished, uint64_t begun)
{
    char text[TEXT_MAX];
    (void)snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 " %d", finished, begun,
                   mark->replaces ? 1 : 0);
    mcds_bytes value = mcds_text(text);
    int result = mark->is_there
                     ? mcds_table_put(mark->table, mcds_text(KEY), value, 0)
                     : mcds_table_put_if_absent(mark->table, mcds_text(KEY), value, 0);
    if (result != MCDS_OK)
        return result;
    mark->finished = finished;
    mark->begun = begun;
    mark->is_there = true;
    return MCDS_OK;
}

int mark_drop(struct mark *mark)
{
    int result = mcds_table_drop(mark->table);
    for (int tries = 1; result == MCDS_AMBIGUOUS && tries < DROPS_MAX; tries++)
        result = mcds_table_drop(mark->table);
    return result == MCDS_NOT_FOUND ? MCDS_OK : result;
}
