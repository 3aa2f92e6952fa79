/* The common part of memcached's two text protocols. */
#include "store/memcached/wire/wire.h"

#include "base/reason.h"

#include <assert.h>
#include <string.h>

#define RELATIVE_S_MAX UINT64_C(2592000)
#define ABSOLUTE_S_MAX UINT64_C(2147483647)
#define WALL_S_MIN INT64_C(1577836800) /* the year 2020: earlier clocks are wrong */

uint64_t mcds__wire_exptime(uint64_t ttl_ms, int64_t wall_s)
{
    uint64_t ttl_s = ttl_ms / 1000 + (ttl_ms % 1000 != 0);
    if (ttl_s <= RELATIVE_S_MAX)
        return ttl_s;
    /* Thirty days are better than a time that has passed on the server. */
    if (wall_s < WALL_S_MIN || (uint64_t)wall_s + RELATIVE_S_MAX >= ABSOLUTE_S_MAX)
        return RELATIVE_S_MAX;
    uint64_t absolute_s = (uint64_t)wall_s + ttl_s;
    return absolute_s < ABSOLUTE_S_MAX ? absolute_s : ABSOLUTE_S_MAX;
}

static enum mcds__parse wire_answer(struct mcds__wire_reply *reply, mcds_outcome outcome,
                                    const mcds_reason *detail)
{
    reply->outcome = outcome;
    reply->detail = detail;
    return PARSE_DONE;
}

/* After a command line that it does not know, a server takes the value for more commands. */
static bool sends_value(const mcds_request *request)
{
    return mcds__wire_is_store(request) ||
           (request->command == MCDS_DELETE && request->cas.connection != 0);
}

/* Whether memcached refuses for lack of memory in this way. Others that send this line may have
 * executed the command and lacked memory for the answer. */
static bool is_out_of_memory(const mcds_request *request, const char *line, size_t length)
{
    static const char *const refusals[] = {
        "SERVER_ERROR out of memory storing object",
        "SERVER_ERROR Out of memory during read",
        "SERVER_ERROR out of memory",
        "SERVER_ERROR Out of memory allocating new item",
    };
    if (request->command == MCDS_GET)
        return mcds__wire_begins(line, length, "SERVER_ERROR out of memory");
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        if (mcds__wire_is(line, length, refusals[i]))
            return true;
    return false;
}

enum mcds__parse mcds__wire_error(const mcds_request *request, const char *line, size_t length,
                                  struct mcds__wire_reply *reply)
{
    if (mcds__wire_begins(line, length, "SERVER_ERROR object too large"))
        return wire_answer(reply, MCDS_OUT_TOO_BIG, MCDS__WHY(VALUE_REFUSED));
    if (is_out_of_memory(request, line, length))
        return wire_answer(reply, MCDS_OUT_NO_MEMORY, MCDS__WHY(SERVER_FULL));
    if (mcds__wire_begins(line, length, "SERVER_ERROR"))
        return wire_answer(reply, MCDS_OUT_UNKNOWN, MCDS__WHY(SERVER_ERROR));
    if (mcds__wire_is(line, length, "ERROR") && !sends_value(request))
        return wire_answer(reply, MCDS_OUT_UNSUPPORTED, MCDS__WHY(NO_COMMAND));
    if (mcds__wire_is_count(request) &&
        mcds__wire_begins(line, length, "CLIENT_ERROR cannot increment or decrement"))
        return wire_answer(reply, MCDS_OUT_NOT_NUMERIC, MCDS__WHY(KEY_NOT_A_NUMBER));
    return PARSE_BROKEN;
}
