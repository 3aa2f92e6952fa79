/* Structure: the beginning of every handle, and the checks of every open. */
#include "structures/structure.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "core/map/bucket/format.h"
#include "core/segment/segment.h"

#define NAME_START 40 /* bytes of a name that is too long */

static int fail_long_name(const char *noun, const char *verb, const char *name)
{
    char start[NAME_START + sizeof "..."];
    (void)snprintf(start, sizeof start, "%.*s...", NAME_START, name);
    return mcds__fail(MCDS_INVALID, TOO_LONG, .noun = noun, .name = start, .verb = verb,
                      .option = "name", .wanted_max = MCDS__NAME_GIVEN_MAX);
}

int mcds__check_open(const char *noun, const char *verb, const mcds_store *store,
                     const char *name, const void *out, const char *needed)
{
    if (store == NULL || name == NULL || out == NULL)
        return mcds__fail_missing(noun, verb, needed);
    if (name[0] == '\0')
        return mcds__fail(MCDS_INVALID, EMPTY, .noun = noun, .verb = verb, .option = "name");
    if (strnlen(name, MCDS__NAME_GIVEN_MAX + 1) > MCDS__NAME_GIVEN_MAX)
        return fail_long_name(noun, verb, name);
    return mcds__store_check_process(store);
}

int mcds__read_options(const char *noun, const mcds_store *store, const char *name,
                       const void *handle_out, enum mcds__sized type, const void *given,
                       void *options_out)
{
    int result = mcds__check_open(noun, NULL, store, name, handle_out, MCDS__OPEN_NEEDED);
    return result == MCDS_OK ? mcds__sized_read(type, given, options_out) : result;
}

int mcds__check_bytes(const struct mcds__operation_kind *kind, const char *name,
                      const char *what, mcds_bytes bytes)
{
    if (bytes.data == NULL && bytes.length > 0)
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING, MCDS__CALL(kind, name),
                          .option = what);
    if (bytes.length == 0)
        return mcds__fail(MCDS_INVALID, EMPTY, MCDS__CALL(kind, name), .option = what);
    if (bytes.length > MCDS__MAP_ELEMENT_MAX)
        return mcds__fail(MCDS_INVALID, TOO_LONG, MCDS__CALL(kind, name), .option = what,
                          .wanted_max = MCDS__MAP_ELEMENT_MAX, MCDS__FOUND(bytes.length));
    return MCDS_OK;
}

int mcds__check_payloads(const struct mcds__operation_kind *kind, const char *name,
                         const char *what, uint64_t most, const mcds_bytes *payloads,
                         size_t count)
{
    const char *wanted = most == MCDS__SEGMENT_LARGE_MAX ? "64 MB" : NULL;
    for (size_t i = 0; i < count; i++) {
        if (payloads[i].data == NULL && payloads[i].length > 0)
            return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING, MCDS__CALL(kind, name),
                              .option = what);
        if (payloads[i].length > most)
            return mcds__fail(MCDS_TOO_BIG, TOO_BIG, MCDS__CALL(kind, name), .option = what,
                              .wanted = wanted, .wanted_max = (int64_t)most,
                              MCDS__FOUND(payloads[i].length));
    }
    return MCDS_OK;
}

int mcds__check_cas(const struct mcds__operation_kind *kind, const struct mcds__handle *handle,
                    const mcds_reason *why)
{
    if (mcds__store_can(handle->store).compare_and_set)
        return MCDS_OK;
    return mcds__fail_why(MCDS_UNSUPPORTED, why, MCDS__CALL(kind, handle->name));
}

int mcds__check_wall(const struct mcds__operation_kind *kind, const struct mcds__handle *handle)
{
    if (mcds__wall_ms(mcds__store_env(handle->store)) > 0)
        return MCDS_OK;
    return mcds__fail_why(MCDS_IO, MCDS__WHY(CLOCK_BEFORE_1970),
                          MCDS__CALL(kind, handle->name));
}

int mcds__check_text(const struct mcds__operation_kind *kind, const char *name,
                     const char *what, const char *text)
{
    if (text == NULL)
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING, MCDS__CALL(kind, name),
                          .option = what);
    if (text[0] == '\0')
        return mcds__fail(MCDS_INVALID, EMPTY, MCDS__CALL(kind, name), .option = what);
    if (strnlen(text, MCDS__NAME_GIVEN_MAX + 1) > MCDS__NAME_GIVEN_MAX)
        return mcds__fail(MCDS_INVALID, TOO_LONG, MCDS__CALL(kind, name), .option = what,
                          .wanted_max = MCDS__NAME_GIVEN_MAX);
    return MCDS_OK;
}
