/* What the handles of all structures share. */
#include "structures/structure.h"

#include <string.h>

#include "base/environment.h"

int mcds__check_open(const char *noun, const mcds_store *store, const char *name,
                     const void *handle_out)
{
    if (store == NULL || name == NULL || handle_out == NULL)
        return mcds_fail(MCDS_INVALID,
                         "%s: open needs a store, a name and a place for the handle", noun);
    if (name[0] == '\0')
        return mcds_fail(MCDS_INVALID, "%s: the name is empty", noun);
    if (strnlen(name, MCDS__NAME_GIVEN_MAX + 1) > MCDS__NAME_GIVEN_MAX)
        return mcds_fail(MCDS_INVALID, "%s '%.40s...': the name is longer than %d bytes", noun,
                         name, MCDS__NAME_GIVEN_MAX);
    return mcds__store_check_process(store);
}

int mcds__check_options_size(const char *noun, size_t given, size_t expected)
{
    if (given != expected)
        return mcds_fail(MCDS_INVALID,
                         "%s: options.size is %zu, not %zu: begin with the _INIT "
                         "macro of the options",
                         noun, given, expected);
    return MCDS_OK;
}

int mcds__check_element(const char *noun, const char *name, const char *element)
{
    if (element == NULL || element[0] == '\0')
        return mcds_fail(MCDS_INVALID, "%s '%.200s': the visitor's name is empty", noun, name);
    if (strnlen(element, MCDS__NAME_GIVEN_MAX + 1) > MCDS__NAME_GIVEN_MAX)
        return mcds_fail(MCDS_INVALID,
                         "%s '%.200s': the visitor '%.40s...' is longer than %d bytes", noun,
                         name, element, MCDS__NAME_GIVEN_MAX);
    return MCDS_OK;
}

int64_t mcds__time_or_now_ms(const mcds_store *store, int64_t at_ms)
{
    return at_ms != 0 ? at_ms : mcds__wall_ms(mcds__store_env(store));
}
