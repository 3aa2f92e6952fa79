/* Replies of servers: any bytes are a reply, the begin of one, or broken; never more than what
 * was given is read, and more bytes behind a whole reply change nothing. */
#include "target.h"

#include <string.h>

#include "store/wire.h"

static void try_one(const struct mcds__wire *wire, const mcds_request *request,
                    const char *bytes, size_t length)
{
    struct mcds__wire_reply reply;
    struct mcds__wire_reply again;
    size_t consumed = 0;
    size_t needed = 0;
    enum mcds__parse step = wire->parse(request, bytes, length, &reply, &consumed, &needed);
    if (step == PARSE_MORE)
        MUST(needed > length);
    if (step != PARSE_DONE)
        return;
    MUST(consumed > 0 && consumed <= length);
    MUST(reply.outcome != MCDS_OUT_NONE);
    MUST(reply.value.length <= consumed);
    if (reply.value.length > 0)
        MUST((const char *)reply.value.at >= bytes &&
             (const char *)reply.value.at + reply.value.length <= bytes + consumed);
    /* The reply alone is the same reply. */
    size_t alone = 0;
    MUST(wire->parse(request, bytes, consumed, &again, &alone, &needed) == PARSE_DONE);
    MUST(alone == consumed && again.outcome == reply.outcome && again.number == reply.number);
    /* Without its last byte it is none. */
    MUST(wire->parse(request, bytes, consumed - 1, &again, &alone, &needed) == PARSE_MORE);
}

/* The first byte chooses the command and how it was asked. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    mcds_request request = {
        .command = (mcds_command)(MCDS_GET + (data[0] & 15) % MCDS_TOUCH),
        .options = (data[0] & 16) != 0 ? MCDS_NO_VALUE : 0,
        .key = {"k", 1},
        .cas = {1, data[0] >> 5 & 1},
    };
    const char *bytes = (const char *)data + 1;
    try_one(&mcds__wire_meta, &request, bytes, size - 1);
    try_one(&mcds__wire_classic, &request, bytes, size - 1);
    size_t line_length;
    size_t consumed = 0;
    if (mcds__wire_line(bytes, size - 1, &line_length, &consumed) == PARSE_DONE)
        MUST(consumed == line_length + 2 && consumed < size);
    return 0;
}
