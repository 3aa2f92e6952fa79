#include "support/no_database.h"

int load_nothing(void *context, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    (void)context;
    (void)page;
    (void)upto_slot;
    *views_out = 0;
    return 0;
}

int save_nothing(void *context, const char *page, uint64_t slot, int64_t views)
{
    (void)context;
    (void)page;
    (void)slot;
    (void)views;
    return 0;
}

mcds_views_options views_without_database(void)
{
    mcds_views_options options = MCDS_VIEWS_OPTIONS_INIT;
    options.load = load_nothing;
    options.save = save_nothing;
    return options;
}
