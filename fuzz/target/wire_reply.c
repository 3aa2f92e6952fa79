/* Replies of servers: any bytes are a reply, the begin of one, or broken, wherever they are cut;
 * never more than what was given is read, and more bytes behind a whole reply change nothing. */
#include "target.h"

#include <string.h>

#include "poison.h"

#include "store/memcached/wire/wire.h"

/* Cuts that are tried, from the begin and before the end. */
#define CUTS_MAX 64
#define CAPACITY 4096
#define SEQUENCE 0 /* its opaque is O00 */

static bool is_same(const struct mcds__wire_reply *one, const struct mcds__wire_reply *other)
{
    return one->outcome == other->outcome && one->number == other->number &&
           one->flags == other->flags && one->ttl_ms == other->ttl_ms &&
           one->cas == other->cas && one->size == other->size && one->proof == other->proof &&
           one->value.length == other->value.length;
}

/* Memory that ends where the bytes do, if a sanitizer watches. */
static uint8_t *capacity;

static enum mcds__parse parse_cut(const struct mcds__wire *wire, const mcds_request *request,
                                  size_t length, struct mcds__wire_reply *reply,
                                  size_t *consumed)
{
    size_t needed = 0;
    ASAN_POISON_MEMORY_REGION(capacity + length, CAPACITY - length);
    enum mcds__parse step = wire->parse(request, SEQUENCE, (const char *)capacity, length,
                                        reply, consumed, &needed);
    ASAN_UNPOISON_MEMORY_REGION(capacity, CAPACITY);
    if (step == PARSE_MORE)
        MUST(needed > length);
    return step;
}

/* Of bytes that arrive one by one: first there are too few, and what they are then they stay. */
static void cut(const struct mcds__wire *wire, const mcds_request *request, size_t length,
                const struct mcds__wire_reply *whole, size_t consumed)
{
    struct mcds__wire_reply reply;
    for (size_t i = 0; i < consumed; i++) {
        size_t used = 0;
        if (i > CUTS_MAX && consumed - i > CUTS_MAX)
            i = consumed - CUTS_MAX;
        MUST(parse_cut(wire, request, i, &reply, &used) == PARSE_MORE);
    }
    for (size_t i = consumed; i <= length && i < consumed + CUTS_MAX; i++) {
        size_t used = 0;
        MUST(parse_cut(wire, request, i, &reply, &used) == PARSE_DONE);
        MUST(used == consumed && is_same(&reply, whole));
    }
}

static void break_early(const struct mcds__wire *wire, const mcds_request *request,
                        size_t length)
{
    struct mcds__wire_reply reply;
    bool broken = false;
    for (size_t i = 0; i <= length && i < CUTS_MAX; i++) {
        size_t used = 0;
        enum mcds__parse step = parse_cut(wire, request, i, &reply, &used);
        MUST(step == PARSE_BROKEN || (step == PARSE_MORE && !broken));
        broken = step == PARSE_BROKEN;
    }
}

static void try_one(const struct mcds__wire *wire, const mcds_request *request,
                    const char *bytes, size_t length)
{
    struct mcds__wire_reply reply;
    size_t consumed = 0;
    size_t needed = 0;
    enum mcds__parse step = wire->parse(request, SEQUENCE, bytes, length, &reply, &consumed,
                                        &needed);
    if (step == PARSE_MORE)
        MUST(needed > length);
    if (step == PARSE_BROKEN)
        break_early(wire, request, length);
    if (step != PARSE_DONE)
        return;
    MUST(consumed > 0 && consumed <= length);
    MUST(reply.outcome != MCDS_OUT_NONE && reply.proof != PROOF_FAILED);
    if (wire == &mcds__wire_classic || wire == &mcds__wire_plain)
        MUST(reply.proof == PROOF_NONE);
    if (wire == &mcds__wire_meta && reply.proof == PROOF_MADE)
        MUST(memmem(bytes, consumed, " O00", 4) != NULL);
    MUST(reply.value.length <= consumed);
    if (reply.value.length > 0)
        MUST((const char *)reply.value.data >= bytes &&
             (const char *)reply.value.data + reply.value.length <= bytes + consumed);
    cut(wire, request, length, &reply, consumed);
}

/* The first byte chooses the command and how it was asked. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > CAPACITY)
        return 0;
    if (capacity == NULL)
        capacity = malloc(CAPACITY);
    MUST(capacity != NULL);
    memcpy(capacity, data + 1, size - 1);
    mcds_request request = {
        .command = (mcds_command)(MCDS_GET + (data[0] & 15) % MCDS_TOUCH),
        .options = (data[0] & 16) != 0 ? MCDS_NO_VALUE : 0,
        .key = {"k", 1},
        .cas = {1, data[0] >> 5 & 1},
    };
    const char *bytes = (const char *)data + 1;
    try_one(&mcds__wire_meta, &request, bytes, size - 1);
    try_one(&mcds__wire_careful, &request, bytes, size - 1);
    try_one(&mcds__wire_classic, &request, bytes, size - 1);
    try_one(&mcds__wire_plain, &request, bytes, size - 1);
    size_t line_length;
    size_t consumed = 0;
    if (mcds__wire_line(bytes, size - 1, &line_length, &consumed) == PARSE_DONE)
        MUST(consumed == line_length + 2 && consumed < size);
    return 0;
}
