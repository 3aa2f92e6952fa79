/* The structures of a run, opened in one store. */
#include "sheet.h"

#include <string.h>

static int open_numbers(struct sheet *sheet)
{
    const struct figures *figures = sheet->figures;
    int result = figures_open_counter(figures, sheet->store, "lines", &sheet->lines);
    if (result == MCDS_OK)
        result = figures_open_counter(figures, sheet->store, "malformed", &sheet->malformed);
    if (result == MCDS_OK)
        result = figures_open_counter(figures, sheet->store, "errors", &sheet->errors);
    if (result == MCDS_OK)
        result = figures_open_hosts(figures, sheet->store, &sheet->hosts);
    if (result == MCDS_OK)
        result = figures_open_daily(figures, sheet->store, &sheet->daily);
    if (result == MCDS_OK)
        result = figures_open_online(figures, sheet->store, &sheet->online);
    return result;
}

int sheet_open(struct sheet *sheet, const struct figures *figures, mcds_store *store)
{
    memset(sheet, 0, sizeof *sheet);
    sheet->figures = figures;
    sheet->store = store;
    int result = open_numbers(sheet);
    if (result == MCDS_OK)
        result = figures_open_requests(figures, store, &sheet->requests);
    if (result == MCDS_OK)
        result = figures_open_referrers(figures, store, &sheet->referrers);
    if (result == MCDS_OK)
        result = figures_open_error_log(figures, store, &sheet->error_log);
    if (result == MCDS_OK)
        result = figures_open_largest(figures, store, &sheet->largest);
    if (result == MCDS_OK && figures->database != NULL)
        result = figures_open_views(figures, store, &sheet->views);
    return result;
}

void sheet_close(struct sheet *sheet)
{
    mcds_counter_close(sheet->lines);
    mcds_counter_close(sheet->malformed);
    mcds_counter_close(sheet->errors);
    mcds_visitors_close(sheet->hosts);
    mcds_visitors_close(sheet->daily);
    mcds_online_close(sheet->online);
    mcds_table_close(sheet->requests);
    mcds_set_close(sheet->referrers);
    mcds_log_close(sheet->error_log);
    mcds_array_close(sheet->largest);
    mcds_views_close(sheet->views);
}

int sheet_forget(struct sheet *sheet)
{
    const int results[] = {
        mcds_table_drop(sheet->requests),
        mcds_set_drop(sheet->referrers),
        mcds_log_drop(sheet->error_log),
        mcds_array_drop(sheet->largest),
    };
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
        if (results[i] < 0)
            return results[i];
    return MCDS_OK;
}
