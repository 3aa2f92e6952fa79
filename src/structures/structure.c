/* What the handles of all structures share. */
#include "structures/structure.h"

#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"

#define NAME_START 40 /* bytes of a name that is too long */

static int fail_long_name(const char *noun, const char *name)
{
    char start[NAME_START + sizeof "..."];
    (void)snprintf(start, sizeof start, "%.*s...", NAME_START, name);
    return mcds__fail(MCDS_INVALID, TOO_LONG, .noun = noun, .name = start, .option = "name",
                      .wanted_max = MCDS__NAME_GIVEN_MAX);
}

int mcds__check_open(const char *noun, const mcds_store *store, const char *name,
                     const void *handle_out)
{
    if (store == NULL || name == NULL || handle_out == NULL)
        return mcds__fail_missing(noun, "open", "a store, a name and a place for the handle");
    if (name[0] == '\0')
        return mcds__fail(MCDS_INVALID, EMPTY, .noun = noun, .option = "name");
    if (strnlen(name, MCDS__NAME_GIVEN_MAX + 1) > MCDS__NAME_GIVEN_MAX)
        return fail_long_name(noun, name);
    return mcds__store_check_process(store);
}

int mcds__check_element(const char *noun, const char *name, const char *element)
{
    if (element == NULL || element[0] == '\0')
        return mcds__fail(MCDS_INVALID, EMPTY, .noun = noun, .name = name, .option = "visitor",
                          .reason = "the visitor's name is empty");
    if (strnlen(element, MCDS__NAME_GIVEN_MAX + 1) > MCDS__NAME_GIVEN_MAX)
        return mcds__fail(MCDS_INVALID, TOO_LONG, .noun = noun, .name = name,
                          .option = "visitor", .wanted_max = MCDS__NAME_GIVEN_MAX);
    return MCDS_OK;
}

int64_t mcds__time_or_now_ms(const mcds_store *store, int64_t at_ms)
{
    return at_ms != 0 ? at_ms : mcds__wall_ms(mcds__store_env(store));
}
