/* The meta protocol of memcached 1.6.18 and later: mg, ms, md, ma.
 *
 * Each request ends with an opaque flag made from its sequence number. Each reply returns it as the
 * last requested flag, even a miss or a refusal; only error lines do not. */
#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/number.h"
#include "store/memcached/wire/wire.h"

/* The size of a request without its key and value. */
#define FRAME_MAX 160

static char *put_flag(char *at, const char *flag, uint64_t number)
{
    return mcds__wire_put_u64(mcds__wire_put(at, flag), number);
}

/* " Oab": a space, the flag and 12 bits of the sequence number. */
#define OPAQUE_LENGTH 4

static char *put_opaque(char *at, uint32_t sequence)
{
    at[0] = ' ';
    at[1] = 'O';
    at[2] = (char)('0' + (sequence >> 6 & 63));
    at[3] = (char)('0' + (sequence & 63));
    return at + OPAQUE_LENGTH;
}

static char *put_get(char *at, const mcds_request *request)
{
    at = mcds__wire_put_bytes(mcds__wire_put(at, "mg "), request->key);
    at = mcds__wire_put(at, (request->options & MCDS_NO_VALUE) != 0 ? " s f c" : " v f c");
    if ((request->options & MCDS_WANT_TTL) != 0)
        at = mcds__wire_put(at, " t");
    return at;
}

static const char *mode_of(mcds_command command)
{
    switch (command) {
    case MCDS_ADD:
        return " ME";
    case MCDS_REPLACE:
        return " MR";
    case MCDS_APPEND:
        return " MA";
    case MCDS_PREPEND:
        return " MP";
    default:
        return "";
    }
}

/* The number to compare and the number to set. They are mostly equal; then the digits are
 * computed once. */
static char *put_numbers(char *at, const mcds_request *request)
{
    bool sets = (request->options & MCDS_SETS_CAS) != 0;
    if (request->command != MCDS_CAS && request->cas.connection == 0)
        return sets ? put_flag(at, " E", request->initial) : at;
    char *compared = mcds__wire_put(at, " C");
    at = mcds__wire_put_u64(compared, request->cas.unique);
    if (!sets)
        return at;
    if (request->initial != request->cas.unique)
        return put_flag(at, " E", request->initial);
    const mcds_bytes digits = {compared, (size_t)(at - compared)};
    assert(digits.length > 0 && digits.length <= MCDS__U64_DIGITS);
    return mcds__wire_put_bytes(mcds__wire_put(at, " E"), digits);
}

static char *wire_meta_put_store(char *at, const mcds_request *request, uint64_t exptime)
{
    assert(mcds__wire_is_store(request));
    at = mcds__wire_put_bytes(mcds__wire_put(at, "ms "), request->key);
    at = put_flag(at, " ", request->value.length);
    at = mcds__wire_put(at, mode_of(request->command));
    at = put_numbers(at, request);
    if (request->command == MCDS_APPEND && (request->options & MCDS_CREATE) != 0)
        at = put_flag(at, " N", exptime);
    if (exptime > 0)
        at = put_flag(at, " T", exptime);
    if (request->flags != 0)
        at = put_flag(at, " F", request->flags);
    if ((request->options & MCDS_SETS_CAS) != 0)
        return mcds__wire_put(at, " s");
    bool extends = request->command == MCDS_APPEND || request->command == MCDS_PREPEND;
    return extends ? at : mcds__wire_put(at, " c");
}

static char *put_delete(char *at, const mcds_request *request)
{
    at = mcds__wire_put_bytes(mcds__wire_put(at, "md "), request->key);
    if (request->cas.connection != 0)
        at = put_flag(at, " C", request->cas.unique);
    return at;
}

static char *put_count(char *at, const mcds_request *request, uint64_t exptime)
{
    assert(mcds__wire_is_count(request));
    at = mcds__wire_put_bytes(mcds__wire_put(at, "ma "), request->key);
    at = mcds__wire_put(at, request->command == MCDS_DECR ? " v MD" : " v");
    if (request->delta != 1)
        at = put_flag(at, " D", request->delta);
    if ((request->options & MCDS_CREATE) != 0)
        at = put_flag(put_flag(at, " N", exptime), " J", request->initial);
    return at;
}

static char *put_touch(char *at, const mcds_request *request, uint64_t exptime)
{
    at = mcds__wire_put_bytes(mcds__wire_put(at, "mg "), request->key);
    return put_flag(at, " T", exptime);
}

static bool meta_encode(const mcds_request *request, uint32_t sequence, int64_t wall_s,
                        mcds_buffer *out)
{
    if (!mcds__buffer_reserve(out, FRAME_MAX + request->key.length + request->value.length))
        return false;
    char *begin = (char *)out->data + out->length;
    char *at = begin;
    uint64_t exptime = request->ttl_ms != 0 ? mcds__wire_exptime(request->ttl_ms, wall_s) : 0;
    switch (request->command) {
    case MCDS_GET:
        at = put_get(at, request);
        break;
    case MCDS_DELETE:
        at = put_delete(at, request);
        break;
    case MCDS_INCR:
    case MCDS_DECR:
        at = put_count(at, request, exptime);
        break;
    case MCDS_TOUCH:
        at = put_touch(at, request, exptime);
        break;
    default:
        at = wire_meta_put_store(at, request, exptime);
    }
    at = mcds__wire_put(put_opaque(at, sequence), "\r\n");
    if (mcds__wire_is_store(request))
        at = mcds__wire_put(mcds__wire_put_bytes(at, request->value), "\r\n");
    assert((size_t)(at - begin) <= FRAME_MAX + request->key.length + request->value.length);
    out->length += (size_t)(at - begin);
    return true;
}

/* Parse the flag at *at and move past it: a letter and, if requested, a number. False: bad. */
static inline bool read_flag(const char **at, const char *end, struct mcds__wire_reply *reply)
{
    uint64_t number = 0;
    char letter = **at;
    const char *begin = *at + 1;
    const char *next = mcds__wire_read_number(begin, end, &number);
    bool is_number = next != NULL;
    if (!is_number) {
        next = memchr(begin, ' ', (size_t)(end - begin));
        next = next != NULL ? next : end;
    }
    *at = next;
    switch (letter) {
    case 'c':
        reply->cas = number;
        return is_number;
    case 'f':
        reply->flags = (uint32_t)number;
        return is_number && number <= UINT32_MAX;
    case 's':
        reply->size = (size_t)number;
        return is_number && number <= SIZE_MAX;
    case 't':
        reply->ttl_ms = is_number ? (int64_t)(number & INT32_MAX) * 1000 : MCDS_TTL_NEVER;
        return is_number ? number <= INT32_MAX
                         : mcds__wire_is(begin, (size_t)(next - begin), "-1");
    default:
        return true;
    }
}

static bool read_flags(const char *at, size_t length, struct mcds__wire_reply *reply)
{
    const char *end = at + length;
    while (at < end) {
        if (*at == ' ')
            at++;
        else if (!read_flag(&at, end, reply))
            return false;
    }
    return true;
}

/* "VA SIZE FLAGS" and, after it, the value. */
static enum mcds__parse wire_meta_parse_value(const mcds_request *request, const char *bytes,
                                              size_t length, size_t line_length,
                                              size_t line_consumed,
                                              struct mcds__wire_reply *reply, size_t *consumed,
                                              size_t *needed)
{
    uint64_t size;
    const char *end = bytes + line_length;
    const char *flags = mcds__wire_read_number(bytes + 3, end, &size);
    bool expected = request->command == MCDS_GET || mcds__wire_is_count(request);
    uint64_t size_max = request->command == MCDS_GET ? INT32_MAX : MCDS__U64_DIGITS;
    if (!expected || flags == NULL || size > size_max ||
        (flags < end && !read_flags(flags, (size_t)(end - flags), reply)))
        return PARSE_BROKEN;
    *needed = line_consumed + (size_t)size + 2;
    if (length < *needed)
        return PARSE_MORE;
    const char *value = bytes + line_consumed;
    if (value[size] != '\r' || value[size + 1] != '\n')
        return PARSE_BROKEN;
    reply->value = (mcds_bytes){value, (size_t)size};
    reply->outcome = MCDS_OUT_OK;
    assert(*needed <= length && reply->value.length == size);
    *consumed = *needed;
    if (mcds__wire_is_count(request) &&
        mcds__wire_read_number(value, value + size, &reply->number) != value + size)
        return PARSE_BROKEN;
    return PARSE_DONE;
}

/* The outcome that a code means for a command; NONE: the code does not answer it, so replies
 * and requests are out of step. A GET that requested the value is not answered without one. */
static mcds_outcome wire_meta_outcome_of(const mcds_request *request, const char *code)
{
    mcds_command command = request->command;
    bool stores = command >= MCDS_SET && command <= MCDS_PREPEND;
    bool compares = command == MCDS_CAS || command == MCDS_DELETE ||
                    request->cas.connection != 0;
    bool has_value = mcds__wire_is_count(request) ||
                     (command == MCDS_GET && (request->options & MCDS_NO_VALUE) == 0);
    if (memcmp(code, "HD", 2) == 0 && !has_value)
        return MCDS_OUT_OK;
    if (memcmp(code, "EN", 2) == 0 && (command == MCDS_GET || command == MCDS_TOUCH))
        return MCDS_OUT_MISS;
    if (memcmp(code, "NF", 2) == 0 && (compares || mcds__wire_is_count(request)))
        return MCDS_OUT_MISS;
    if (memcmp(code, "EX", 2) == 0 && compares)
        return MCDS_OUT_EXISTS;
    if (memcmp(code, "NS", 2) == 0 && stores)
        return MCDS_OUT_NOT_STORED;
    if (memcmp(code, "NS", 2) == 0 && mcds__wire_is_count(request))
        return MCDS_OUT_NO_MEMORY;
    return MCDS_OUT_NONE;
}

static bool is_code(const char *line, size_t length)
{
    return length == 2 || (length > 2 && line[2] == ' ');
}

static enum mcds__parse parse_code(const mcds_request *request, const char *line, size_t length,
                                   struct mcds__wire_reply *reply)
{
    if (!is_code(line, length))
        return PARSE_BROKEN;
    reply->outcome = wire_meta_outcome_of(request, line);
    bool fine = reply->outcome != MCDS_OUT_NONE && read_flags(line + 2, length - 2, reply);
    return fine ? PARSE_DONE : PARSE_BROKEN;
}

static enum mcds__parse parse_unproven(const mcds_request *request, const char *line,
                                       size_t length, struct mcds__wire_reply *reply)
{
    reply->proof = is_code(line, length) ? PROOF_FAILED : PROOF_MISSING;
    return mcds__wire_error(request, line, length, reply);
}

/* The length of a line up to its opaque; 0: the opaque of this request is missing. After it there
 * are only marks of an item that another program has made stale. */
static size_t length_before_opaque(const char *line, size_t length, uint32_t sequence)
{
    char opaque[OPAQUE_LENGTH];
    (void)put_opaque(opaque, sequence);
    for (; length > OPAQUE_LENGTH; length -= 2) {
        size_t before = length - OPAQUE_LENGTH;
        if (memcmp(line + before, opaque, OPAQUE_LENGTH) == 0)
            return before;
        if (line[length - 2] != ' ' || memchr("WXZ", line[length - 1], 3) == NULL)
            return 0;
    }
    return 0;
}

static enum mcds__parse meta_parse(const mcds_request *request, uint32_t sequence,
                                   const char *bytes, size_t length,
                                   struct mcds__wire_reply *reply, size_t *consumed,
                                   size_t *needed)
{
    size_t line_length = 0;
    *needed = length + 1;
    *reply = (struct mcds__wire_reply){.ttl_ms = MCDS_TTL_UNKNOWN};
    enum mcds__parse parse = mcds__wire_line(bytes, length, &line_length, consumed);
    if (parse != PARSE_DONE)
        return parse;
    assert(line_length < *consumed && *consumed <= length);
    size_t proven = length_before_opaque(bytes, line_length, sequence);
    if (proven == 0)
        return parse_unproven(request, bytes, line_length, reply);
    reply->proof = PROOF_MADE;
    if (mcds__wire_begins(bytes, proven, "VA "))
        return wire_meta_parse_value(request, bytes, length, proven, *consumed, reply, consumed,
                                     needed);
    return parse_code(request, bytes, proven, reply);
}

const struct mcds__wire mcds__wire_meta = {"meta", meta_encode, meta_parse};
