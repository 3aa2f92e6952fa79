/* The meta protocol, from memcached 1.6.18 on: mg, ms, md, ma.
 *
 * Each request has an opaque, made of its turn, as its last flag. Every reply brings it back as the
 * last of the flags that were asked for, misses and refusals included; only error lines do not. */
#include <string.h>

#include "base/buffer.h"
#include "base/number.h"
#include "store/wire.h"

/* Everything of a request but its key and value. */
#define FRAME_MAX 160

static char *put_flag(char *at, const char *flag, uint64_t number)
{
    return mcds__wire_put_u64(mcds__wire_put(at, flag), number);
}

/* " Oab": a space, the flag and 12 bits of the turn. */
#define OPAQUE_LENGTH 4

static char *put_opaque(char *at, uint32_t turn)
{
    at[0] = ' ';
    at[1] = 'O';
    at[2] = (char)('0' + (turn >> 6 & 63));
    at[3] = (char)('0' + (turn & 63));
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

static char *put_store(char *at, const mcds_request *request, uint64_t exptime)
{
    at = mcds__wire_put_bytes(mcds__wire_put(at, "ms "), request->key);
    at = put_flag(at, " ", request->value.length);
    at = mcds__wire_put(at, mode_of(request->command));
    if (request->command == MCDS_CAS)
        at = put_flag(at, " C", request->cas.unique);
    if (request->command == MCDS_APPEND && (request->options & MCDS_CREATE) != 0)
        at = put_flag(at, " N", exptime);
    if (exptime > 0)
        at = put_flag(at, " T", exptime);
    if (request->flags != 0)
        at = put_flag(at, " F", request->flags);
    return mcds__wire_put(at, " c");
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

static bool meta_encode(const mcds_request *request, uint32_t turn, int64_t wall_s,
                        mcds_buffer *out)
{
    if (!mcds__buffer_reserve(out, FRAME_MAX + request->key.length + request->value.length))
        return false;
    char *begin = (char *)out->at + out->length;
    char *at = begin;
    uint64_t exptime = mcds__wire_exptime(request->ttl_ms, wall_s);
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
        at = put_store(at, request, exptime);
    }
    at = mcds__wire_put(put_opaque(at, turn), "\r\n");
    if (mcds__wire_is_store(request))
        at = mcds__wire_put(mcds__wire_put_bytes(at, request->value), "\r\n");
    out->length += (size_t)(at - begin);
    return true;
}

/* Flags of a reply: a letter and, for those that we ask for, a number. False: no such thing. */
static bool read_flags(const char *at, size_t length, struct mcds__wire_reply *reply)
{
    const char *end = at + length;
    while (at < end) {
        if (*at == ' ') {
            at++;
            continue;
        }
        const char *space = memchr(at, ' ', (size_t)(end - at));
        const char *next = space != NULL ? space : end;
        size_t digits = (size_t)(next - at) - 1;
        uint64_t number = 0;
        bool is_number = mcds__parse_u64(at + 1, digits, &number);
        if (*at == 'c' && is_number)
            reply->cas = number;
        else if (*at == 'f' && is_number && number <= UINT32_MAX)
            reply->flags = (uint32_t)number;
        else if (*at == 's' && is_number)
            reply->size = number;
        else if (*at == 't' && mcds__wire_is(at, digits + 1, "t-1"))
            reply->ttl_ms = MCDS_TTL_NEVER;
        else if (*at == 't' && is_number && number <= INT32_MAX)
            reply->ttl_ms = (int64_t)number * 1000;
        else if (*at == 'c' || *at == 'f' || *at == 's' || *at == 't')
            return false;
        at = next;
    }
    return true;
}

/* "VA SIZE FLAGS" and, behind it, the value. */
static enum mcds__parse parse_value(const mcds_request *request, const char *bytes,
                                    size_t length, size_t line_length, size_t line_consumed,
                                    struct mcds__wire_reply *reply, size_t *consumed,
                                    size_t *needed)
{
    uint64_t size;
    const char *digits = bytes + 3;
    size_t left = line_length - 3;
    const char *space = memchr(digits, ' ', left);
    size_t digit_count = space != NULL ? (size_t)(space - digits) : left;
    bool expected = request->command == MCDS_GET || mcds__wire_is_count(request);
    uint64_t size_max = request->command == MCDS_GET ? INT32_MAX : MCDS__U64_DIGITS;
    if (!expected || !mcds__parse_u64(digits, digit_count, &size) || size > size_max ||
        !read_flags(digits + digit_count, left - digit_count, reply))
        return PARSE_BROKEN;
    *needed = line_consumed + (size_t)size + 2;
    if (length < *needed)
        return PARSE_MORE;
    const char *value = bytes + line_consumed;
    if (value[size] != '\r' || value[size + 1] != '\n')
        return PARSE_BROKEN;
    reply->value = (mcds_bytes){value, (size_t)size};
    reply->outcome = MCDS_OUT_OK;
    *consumed = *needed;
    if (mcds__wire_is_count(request) && !mcds__parse_u64(value, (size_t)size, &reply->number))
        return PARSE_BROKEN;
    return PARSE_DONE;
}

/* What a code answers to a command; NONE: it is none of its answers, and the two sides are out
 * of step. A GET that asked for the value is not answered without one. */
static mcds_outcome outcome_of(const mcds_request *request, const char *code)
{
    mcds_command command = request->command;
    bool stores = command >= MCDS_SET && command <= MCDS_PREPEND;
    bool compares = command == MCDS_CAS || command == MCDS_DELETE;
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
    reply->outcome = outcome_of(request, line);
    bool fine = reply->outcome != MCDS_OUT_NONE && read_flags(line + 2, length - 2, reply);
    return fine ? PARSE_DONE : PARSE_BROKEN;
}

static enum mcds__parse parse_unproven(const mcds_request *request, const char *line,
                                       size_t length, struct mcds__wire_reply *reply)
{
    reply->proof = is_code(line, length) ? PROOF_FAILED : PROOF_MISSING;
    return mcds__wire_error(request, line, length, reply);
}

/* The length of a line up to its opaque; 0: that of this turn is not there. After it come marks of an
 * item that another program has made stale. */
static size_t length_before_opaque(const char *line, size_t length, uint32_t turn)
{
    char opaque[OPAQUE_LENGTH];
    (void)put_opaque(opaque, turn);
    for (; length > OPAQUE_LENGTH; length -= 2) {
        size_t before = length - OPAQUE_LENGTH;
        if (memcmp(line + before, opaque, OPAQUE_LENGTH) == 0)
            return before;
        if (line[length - 2] != ' ' || memchr("WXZ", line[length - 1], 3) == NULL)
            return 0;
    }
    return 0;
}

static enum mcds__parse meta_parse(const mcds_request *request, uint32_t turn,
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
    size_t proven = length_before_opaque(bytes, line_length, turn);
    if (proven == 0)
        return parse_unproven(request, bytes, line_length, reply);
    reply->proof = PROOF_MADE;
    if (mcds__wire_begins(bytes, proven, "VA "))
        return parse_value(request, bytes, length, proven, *consumed, reply, consumed, needed);
    return parse_code(request, bytes, proven, reply);
}

const struct mcds__wire mcds__wire_meta = {"meta", meta_encode, meta_parse};
