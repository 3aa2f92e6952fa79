/* Copies, completes and checks the options of a store. */
#include "store/options.h"

#include <string.h>

#include "base/environment.h"
#include "base/error.h"
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
    return length > 0 && length <= MCDS__NS_MAX &&
           strspn(ns, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
               length;
}

static int fail_ns(const char *ns)
{
    if (ns[0] == '\0')
        return mcds__fail_saying(
            MCDS__ERROR(MCDS_INVALID, EMPTY, .noun = "store", .option = "ns"),
            "ns is empty; leave it out for the namespace mcds");
    if (strlen(ns) > MCDS__NS_MAX)
        return mcds__fail(MCDS_INVALID, TOO_LONG, .noun = "store", .option = "ns",
                          .wanted_max = MCDS__NS_MAX, MCDS__FOUND(strlen(ns)));
    return mcds__fail_saying(MCDS__ERROR(MCDS_INVALID, BAD_BYTE, .noun = "store",
                                         .option = "ns", .wanted = "a-z A-Z 0-9 _ - .",
                                         .found = ns),
                             "ns '%.100s' has a byte that is none of a-z A-Z 0-9 _ - .", ns);
}

/* All times of a store are 0 or more. */
static int check_clocks(const mcds_env *env)
{
    if (mcds__wall_ns(env) < 0)
        return mcds__fail_why(MCDS_IO, MCDS__WHY(CLOCK_BEFORE_1970), .noun = "store");
    if (mcds__monotonic_ns(env) < 0)
        return mcds__fail_why(MCDS_IO, MCDS__WHY(CLOCK_MONOTONIC), .noun = "store");
    return MCDS_OK;
}

int mcds__options_settle(mcds_options *options)
{
    if (options->ns == NULL)
        options->ns = "mcds";
    if (options->timeout_ms == 0)
        options->timeout_ms = TIMEOUT_MS_DEFAULT;
    if (!ns_is_legal(options->ns))
        return fail_ns(options->ns);
    const struct mcds__given timeout = {MCDS_CAUSE_OUT_OF_RANGE, "timeout_ms",
                                        options->timeout_ms, 0, MCDS__TIMEOUT_MS_MAX};
    int result = mcds__check_given("store", NULL, NULL, &timeout, 1);
    return result == MCDS_OK ? check_clocks(options->env) : result;
}
