/* What the simulations of logs share. */
#include "sim/events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/environment.h"
#include "store/store.h"

#define OLD_MS 30000

mcds_log *events_open(mcds_sim_client *client)
{
    mcds_log_options options = MCDS_LOG_OPTIONS_INIT;
    mcds_log *log = NULL;
    options.retention_ms = 3600000;
    options.chunk_ms = EVENTS_CHUNK_MS;
    assert_int_equal(mcds_log_open(mcds_sim_client_store(client), "events", &options, &log),
                     MCDS_OK);
    return log;
}

int64_t events_time(mcds_sim_client *client, uint32_t number)
{
    const mcds_env *env = mcds__store_env(mcds_sim_client_store(client));
    return number % 3 == 2 ? mcds__wall_ms(env) - OLD_MS : 0;
}

enum fate events_fate(int result)
{
    switch (result) {
    case MCDS_OK:
        return PUT;
    case MCDS_AMBIGUOUS:
        return DOUBTFUL;
    case MCDS_BUSY:
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
    case MCDS_TOO_OLD: /* after a long pause */
        return REFUSED;
    default:
        return IMPOSSIBLE;
    }
}
