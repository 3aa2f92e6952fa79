/* The cost of limits: one round trip for each take that passes, and for each refused take of an identity
 * that the handle knows as refused. */
#include "structures/cost.h"

#define DAY_MS (UINT64_C(24) * 3600 * 1000)

static mcds_limit *open_limit(struct suite *suite, struct counted *c, mcds_limit_form form)
{
    mcds_limit_options options = MCDS_LIMIT_OPTIONS_INIT;
    mcds_limit *limit = NULL;
    options.form = form;
    options.rate_count = 1;
    options.rates[0] = (mcds_rate){5, 8 * DAY_MS, 0};
    CHECK_RESULT(MCDS_OK,
                 mcds_limit_open(c->store, fresh_name(suite, "limit"), &options, &limit));
    return limit;
}

static void bucket_trips(struct suite *suite, struct counted *c)
{
    mcds_limit *limit = open_limit(suite, c, MCDS_LIMIT_BUCKET);
    mcds_limit_value value = MCDS_LIMIT_VALUE_INIT;
    mcds_bytes a = mcds_text("a");
    TRIPS(2, MCDS_OK, suite, c, mcds_limit_take, limit, a, 1, 0, NULL);
    TRIPS(1, MCDS_OK, suite, c, mcds_limit_take, limit, a, 4, 0, &value);
    TRIPS(1, MCDS_BUSY, suite, c, mcds_limit_take, limit, a, 1, 0, &value); /* writes */
    TRIPS(1, MCDS_BUSY, suite, c, mcds_limit_take, limit, a, 1, 0, &value); /* reads */
    TRIPS(1, MCDS_BUSY, suite, c, mcds_limit_take, limit, a, 1, 0, NULL);
    TRIPS(1, MCDS_OK, suite, c, mcds_limit_give, limit, a, 2);
    TRIPS(1, MCDS_OK, suite, c, mcds_limit_take, limit, a, 1, 0,
          NULL); /* it knows of the give */
    TRIPS(1, MCDS_BUSY, suite, c, mcds_limit_take, limit, a, 2, 0, NULL);
    TRIPS(2, MCDS_OK, suite, c, mcds_limit_take, limit, a, 1, 0, NULL); /* reads, then writes */
    mcds_limit_close(limit);
}

static void window_trips(struct suite *suite, struct counted *c)
{
    mcds_limit *limit = open_limit(suite, c, MCDS_LIMIT_WINDOW);
    mcds_limit_value value = MCDS_LIMIT_VALUE_INIT;
    mcds_bytes a = mcds_text("a");
    TRIPS(1, MCDS_OK, suite, c, mcds_limit_take, limit, a, 1, 0, NULL);
    TRIPS(1, MCDS_OK, suite, c, mcds_limit_take, limit, a, 4, 0, &value);
    TRIPS(1, MCDS_OK, suite, c, mcds_limit_get, limit, a, &value);
    TRIPS(2, MCDS_BUSY, suite, c, mcds_limit_take, limit, a, 1, 0, &value); /* gives back */
    TRIPS(1, MCDS_BUSY, suite, c, mcds_limit_take, limit, a, 1, 0, &value); /* reads */
    TRIPS(1, MCDS_BUSY, suite, c, mcds_limit_take, limit, a, 1, 0, NULL);
    mcds_limit_close(limit);
}

void limit_trips(struct suite *suite)
{
    struct counted c;
    open_counted(suite, &c);
    bucket_trips(suite, &c);
    window_trips(suite, &c);
    close_counted(&c);
}
