/* The options of a store. */
#include "store/options.h"

#include <string.h>

#include "base/environment.h"
#include "base/sized.h"
#include "store/store.h"

#define TIMEOUT_MS_DEFAULT 1000

int mcds__options_take(const mcds_options *given, mcds_options *options, mcds_env *env)
{
    int result = mcds__sized_read(MCDS__SIZED_mcds_options, given, options);
    if (result == MCDS_OK)
        result = mcds__env_complete(options->env, env);
    options->env = env;
    return result;
}

static bool ns_is_legal(const char *ns)
{
    size_t length = strlen(ns);
    return length <= MCDS__NS_MAX &&
           strspn(ns, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
               length;
}

int mcds__options_settle(mcds_options *options)
{
    if (options->ns == NULL)
        options->ns = "mcds";
    if (options->timeout_ms == 0)
        options->timeout_ms = TIMEOUT_MS_DEFAULT;
    if (!ns_is_legal(options->ns))
        return mcds_fail(MCDS_INVALID,
                         "store: ns '%.100s' must be at most %d of a-z A-Z 0-9 _ - .",
                         options->ns, MCDS__NS_MAX);
    if (options->timeout_ms > MCDS__TIMEOUT_MS_MAX)
        return mcds_fail(MCDS_INVALID, "store: timeout %u ms is more than an hour",
                         options->timeout_ms);
    return MCDS_OK;
}
