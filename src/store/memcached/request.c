/* Adapt requests to a server: answer those that need no server, and drop options that the server
 * does not know. */
#include <assert.h>

#include "base/reason.h"
#include "store/memcached/memcached.h"

mcds_outcome mcds__request_answer(const struct mcds__connection *connection,
                                  const mcds_request *request, const mcds_reason **detail_out)
{
    uint64_t read_on = request->cas.connection; /* 0: it compares no token */
    assert(connection->value_max > 0);
    *detail_out = NULL;
    /* Some servers that refuse a value delete the old one. */
    if (request->value.length > connection->value_max) {
        *detail_out = MCDS__WHY(TOO_BIG_FOR_SERVER);
        return MCDS_OUT_TOO_BIG;
    }
    if (request->command == MCDS_APPEND && read_on != 0 && !connection->has_numbers)
        return MCDS_OUT_EXISTS;
    bool compares = request->command == MCDS_CAS || read_on != 0;
    if (compares && !connection->probe_can.compare_and_set) {
        *detail_out = MCDS__WHY(SERVER_WITHOUT_CAS);
        return MCDS_OUT_UNSUPPORTED;
    }
    bool is_valid = read_on == 0 || read_on == connection->serial ||
                    read_on == MCDS_ANY_CONNECTION;
    return is_valid ? MCDS_OUT_NONE : MCDS_OUT_EXISTS;
}

uint32_t mcds__request_unknown_options(const struct mcds__connection *connection,
                                       const mcds_request *request)
{
    uint32_t options = connection->has_numbers ? 0 : MCDS_SETS_CAS;
    if (!connection->probe_can.create_on_append && request->command == MCDS_APPEND)
        options |= MCDS_CREATE;
    return options;
}
