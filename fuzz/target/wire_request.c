/* Requests on the wire: one line, and for stores the value behind it as it is; nothing that a
 * caller may give makes two commands of one. */
#include "input.h"
#include "target.h"

#include <string.h>

#include "base/buffer.h"
#include "base/key.h"
#include "store/memcached/wire/wire.h"

#define KEY_MOST 60

/* What stands behind the line, its end not counted; less than 0: nothing. */
static ptrdiff_t value_length(const struct mcds__wire *wire, const mcds_request *request)
{
    bool is_classic = wire == &mcds__wire_classic || wire == &mcds__wire_plain;
    if (request->command >= MCDS_SET && request->command <= MCDS_CAS)
        return (ptrdiff_t)request->value.length;
    /* There, compare and delete stores nothing that has expired. */
    return is_classic && request->command == MCDS_DELETE && request->cas.connection != 0 ? 0
                                                                                         : -1;
}

static void encode(const struct mcds__wire *wire, const mcds_request *request, int64_t wall_s)
{
    mcds_buffer out;
    mcds__buffer_init(&out, mcds_env_system(), (size_t)1 << 20);
    MUST(mcds_buffer_append(&out, "before", 6));
    MUST(wire->encode(request, 0, wall_s, &out) && out.length > 6);
    const char *line = (const char *)out.data + 6;
    size_t length = out.length - 6;
    const char *end = memchr(line, '\r', length);
    MUST(memcmp(out.data, "before", 6) == 0 && end != NULL && end[1] == '\n');
    for (const char *at = line; at < end; at++)
        MUST((unsigned char)*at >= ' ' && (unsigned char)*at < 0x7f);
    const char *key = memchr(line, ' ', (size_t)(end - line));
    MUST(key != NULL && (size_t)(end - key) > request->key.length);
    MUST(memcmp(key + 1, request->key.data, request->key.length) == 0);
    MUST(key + 1 + request->key.length == end || key[1 + request->key.length] == ' ');
    size_t behind = length - (size_t)(end + 2 - line);
    ptrdiff_t value = value_length(wire, request);
    MUST(behind == (size_t)(value + (value < 0 ? 1 : 2)));
    if (value >= 0)
        MUST(memcmp(line + length - 2, "\r\n", 2) == 0);
    if (value > 0)
        MUST(memcmp(end + 2, request->value.data, (size_t)value) == 0);
    mcds__buffer_free(&out);
}

/* A store sends no more than it was asked, and memory that is refused leaves nothing half done. */
static void refuse(const struct mcds__wire *wire, const mcds_request *request)
{
    uint8_t capacity[16];
    mcds_buffer out;
    mcds__buffer_init_in(&out, mcds_env_system(), sizeof capacity, capacity, sizeof capacity);
    if (!wire->encode(request, 0, 0, &out))
        MUST(out.length == 0);
    mcds__buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct mcds__wire *const wires[] = {&mcds__wire_meta, &mcds__wire_careful,
                                                     &mcds__wire_classic, &mcds__wire_plain};
    struct fuzz_input input = {data, size};
    char key[KEY_MOST];
    mcds_request request = {
        .command = (mcds_command)(MCDS_GET + next_byte(&input) % MCDS_TOUCH),
        .options = next_byte(&input) % 8,
        .flags = (uint32_t)next_number(&input, 4),
        .ttl_ms = next_number(&input, 6),
        .delta = next_number(&input, 8),
        .initial = next_number(&input, 8),
        .cas = {next_number(&input, 8), 1},
    };
    if (request.command == MCDS_DELETE)
        request.cas.connection = next_byte(&input) & 1;
    mcds_bytes name = next_bytes(&input, KEY_MOST - 1);
    size_t length = name.length > 0 ? name.length : 1;
    key[0] = 'k';
    for (size_t i = 0; i < name.length; i++)
        key[i] = (char)(0x21 + ((const uint8_t *)name.data)[i] % (0x7f - 0x21));
    request.key = (mcds_bytes){key, length};
    request.value = (mcds_bytes){input.at, input.left};
    if (request.command != MCDS_CAS && request.command != MCDS_DELETE)
        request.cas = (mcds_cas_token){0, 0};
    MUST(mcds__key_is_legal(request.key));
    for (size_t i = 0; i < sizeof wires / sizeof wires[0]; i++) {
        encode(wires[i], &request, (int64_t)next_number(&input, 4));
        refuse(wires[i], &request);
    }
    return 0;
}
