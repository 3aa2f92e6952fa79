/* The classic text protocol, for servers and proxies without meta commands. */
#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/number.h"
#include "store/memcached/wire/wire.h"

/* The size of a request without its key and value. */
#define FRAME_MAX 160
/* An exptime in the past: the item expires immediately. -1 would do the same, but twemproxy
 * closes the connection on it. */
#define EXPTIME_PAST 2592001

static const char *wire_classic_word_of(mcds_command command)
{
    switch (command) {
    case MCDS_GET:
        return "gets ";
    case MCDS_SET:
        return "set ";
    case MCDS_ADD:
        return "add ";
    case MCDS_REPLACE:
        return "replace ";
    case MCDS_APPEND:
        return "append ";
    case MCDS_PREPEND:
        return "prepend ";
    case MCDS_CAS:
        return "cas ";
    case MCDS_DELETE:
        return "delete ";
    case MCDS_INCR:
        return "incr ";
    case MCDS_DECR:
        return "decr ";
    case MCDS_TOUCH:
        return "touch ";
    }
    return "";
}

static char *wire_classic_put_number(char *at, uint64_t number)
{
    return mcds__wire_put_u64(mcds__wire_put(at, " "), number);
}

static char *wire_classic_put_store(char *at, const mcds_request *request, uint64_t exptime)
{
    assert(mcds__wire_is_store(request));
    at = wire_classic_put_number(at, request->flags);
    at = wire_classic_put_number(at, exptime);
    at = wire_classic_put_number(at, request->value.length);
    if (request->cas.connection != 0)
        at = wire_classic_put_number(at, request->cas.unique);
    at = mcds__wire_put_bytes(mcds__wire_put(at, "\r\n"), request->value);
    return mcds__wire_put(at, "\r\n");
}

/* Compare and delete: a compare-and-set to a value that has already expired. */
static bool is_compare_and_delete(const mcds_request *request)
{
    return request->command == MCDS_DELETE && request->cas.connection != 0;
}

static char *wire_classic_put_request(char *at, const mcds_request *request, uint64_t exptime,
                                      const char *word)
{
    at = mcds__wire_put(at, word);
    at = mcds__wire_put_bytes(at, request->key);
    switch (request->command) {
    case MCDS_GET:
        return mcds__wire_put(at, "\r\n");
    case MCDS_DELETE:
        if (!is_compare_and_delete(request))
            return mcds__wire_put(at, "\r\n");
        at = wire_classic_put_number(
            wire_classic_put_number(wire_classic_put_number(at, 0), EXPTIME_PAST), 0);
        return mcds__wire_put(wire_classic_put_number(at, request->cas.unique), "\r\n\r\n");
    case MCDS_INCR:
    case MCDS_DECR:
        return mcds__wire_put(wire_classic_put_number(at, request->delta), "\r\n");
    case MCDS_TOUCH:
        return mcds__wire_put(wire_classic_put_number(at, exptime), "\r\n");
    default:
        return wire_classic_put_store(at, request, exptime);
    }
}

static bool wire_classic_encode(const mcds_request *request, int64_t wall_s, const char *word,
                                mcds_buffer *out)
{
    if (!mcds__buffer_reserve(out, FRAME_MAX + request->key.length + request->value.length))
        return false;
    char *begin = (char *)out->data + out->length;
    uint64_t exptime = mcds__wire_exptime(request->ttl_ms, wall_s);
    const char *end = wire_classic_put_request(begin, request, exptime, word);
    assert((size_t)(end - begin) <= FRAME_MAX + request->key.length + request->value.length);
    out->length += (size_t)(end - begin);
    return true;
}

static bool classic_encode(const mcds_request *request, uint32_t sequence, int64_t wall_s,
                           mcds_buffer *out)
{
    (void)sequence;
    const char *word = is_compare_and_delete(request) ? "cas "
                                                      : wire_classic_word_of(request->command);
    return wire_classic_encode(request, wall_s, word, out);
}

/* For servers without gets and cas. */
static bool plain_encode(const mcds_request *request, uint32_t sequence, int64_t wall_s,
                         mcds_buffer *out)
{
    (void)sequence;
    const char *word = request->command == MCDS_GET ? "get "
                                                    : wire_classic_word_of(request->command);
    return wire_classic_encode(request, wall_s, word, out);
}

/* Parse the next word of a line as a number, and move past it. */
static inline bool next_number(const char **at, const char *end, uint64_t *number_out)
{
    const char *begin = *at;
    while (begin < end && *begin == ' ')
        begin++;
    *at = mcds__wire_read_number(begin, end, number_out);
    return *at != NULL;
}

/* Whether a line "VALUE KEY ..." has the key of the request. */
static bool has_key_of(const mcds_request *request, const char *line, size_t length)
{
    const size_t head = strlen("VALUE ");
    return length > head + request->key.length && line[head + request->key.length] == ' ' &&
           memcmp(line + head, request->key.data, request->key.length) == 0;
}

/* "VALUE KEY FLAGS SIZE [CAS]" with the key of the request, the value, and what closes it: "END",
 * or nothing if replies to other keys of the same command follow. */
static enum mcds__parse wire_classic_parse_value(const mcds_request *request, const char *bytes,
                                                 size_t length, size_t line_length,
                                                 mcds_bytes closing,
                                                 struct mcds__wire_reply *reply,
                                                 size_t *consumed, size_t *needed)
{
    const char *at = bytes + strlen("VALUE ") + request->key.length;
    const char *end = bytes + line_length;
    uint64_t flags;
    uint64_t size;
    assert(has_key_of(request, bytes, line_length));
    if (!next_number(&at, end, &flags) || flags > UINT32_MAX || !next_number(&at, end, &size) ||
        size > INT32_MAX || (at != end && !next_number(&at, end, &reply->cas)) || at != end)
        return PARSE_BROKEN;
    const char *value = end + strlen("\r\n");
    *needed = (size_t)(value - bytes) + (size_t)size + closing.length;
    if (length < *needed)
        return PARSE_MORE;
    if (memcmp(value + size, closing.data, closing.length) != 0)
        return PARSE_BROKEN;
    reply->flags = (uint32_t)flags;
    reply->value = (mcds_bytes){value, (size_t)size};
    reply->outcome = MCDS_OUT_OK;
    assert(*needed <= length && reply->value.length == size);
    *consumed = *needed;
    return PARSE_DONE;
}

static const mcds_bytes closing_last = {"\r\nEND\r\n", 7};
static const mcds_bytes closing_each = {"\r\n", 2};

enum mcds__parse mcds__wire_parse_read(const mcds_request *request, bool is_last,
                                       const char *bytes, size_t length,
                                       struct mcds__wire_reply *reply, size_t *consumed,
                                       size_t *needed)
{
    size_t line_length = 0;
    size_t line_consumed = 0;
    *needed = length + 1;
    *consumed = 0;
    *reply = (struct mcds__wire_reply){
        .ttl_ms = MCDS_TTL_UNKNOWN, .outcome = MCDS_OUT_MISS, .proof = PROOF_FOLLOWS};
    enum mcds__parse parse = mcds__wire_line(bytes, length, &line_length, &line_consumed);
    if (parse != PARSE_DONE)
        return parse;
    assert(line_length < line_consumed && line_consumed <= length);
    bool is_value = mcds__wire_begins(bytes, line_length, "VALUE ");
    if (is_value && has_key_of(request, bytes, line_length))
        return wire_classic_parse_value(request, bytes, length, line_length,
                                        is_last ? closing_last : closing_each, reply, consumed,
                                        needed);
    if (is_value) /* of a key after this one, if there is one */
        return is_last ? PARSE_BROKEN : PARSE_DONE;
    if (!mcds__wire_is(bytes, line_length, "END"))
        parse = mcds__wire_error(request, bytes, line_length, reply);
    *consumed = is_last ? line_consumed : 0;
    return parse;
}

/* The words that answer a command. A word that answers another command means that replies and
 * requests are out of step. */
static enum mcds__parse parse_word(const mcds_request *request, const char *line, size_t length,
                                   struct mcds__wire_reply *reply)
{
    enum { STORES = 1, COMPARES = 2, DELETES = 4, TOUCHES = 8, COUNTS = 16 };
    static const struct {
        const char *word;
        mcds_outcome outcome;
        unsigned answers;
    } words[] = {
        {"STORED", MCDS_OUT_OK, STORES | COMPARES},
        {"NOT_STORED", MCDS_OUT_NOT_STORED, STORES},
        {"EXISTS", MCDS_OUT_EXISTS, COMPARES},
        {"NOT_FOUND", MCDS_OUT_MISS, COMPARES | DELETES | TOUCHES | COUNTS},
        {"DELETED", MCDS_OUT_OK, DELETES},
        {"TOUCHED", MCDS_OUT_OK, TOUCHES},
    };
    static const unsigned kinds[] = {
        [MCDS_GET] = 0,          [MCDS_SET] = STORES,     [MCDS_ADD] = STORES,
        [MCDS_REPLACE] = STORES, [MCDS_APPEND] = STORES,  [MCDS_PREPEND] = STORES,
        [MCDS_CAS] = COMPARES,   [MCDS_DELETE] = DELETES, [MCDS_INCR] = COUNTS,
        [MCDS_DECR] = COUNTS,    [MCDS_TOUCH] = TOUCHES,
    };
    assert((size_t)request->command < sizeof kinds / sizeof kinds[0]);
    unsigned kind = is_compare_and_delete(request) ? COMPARES : kinds[request->command];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (mcds__wire_is(line, length, words[i].word)) {
            reply->outcome = words[i].outcome;
            return (words[i].answers & kind) != 0 ? PARSE_DONE : PARSE_BROKEN;
        }
    return mcds__wire_error(request, line, length, reply);
}

static enum mcds__parse classic_parse(const mcds_request *request, uint32_t sequence,
                                      const char *bytes, size_t length,
                                      struct mcds__wire_reply *reply, size_t *consumed,
                                      size_t *needed)
{
    size_t line_length = 0;
    (void)sequence;
    *needed = length + 1;
    *reply = (struct mcds__wire_reply){.ttl_ms = MCDS_TTL_UNKNOWN};
    enum mcds__parse parse = mcds__wire_line(bytes, length, &line_length, consumed);
    if (parse != PARSE_DONE)
        return parse;
    assert(line_length < *consumed && *consumed <= length);
    if (request->command == MCDS_GET && mcds__wire_is(bytes, line_length, "END")) {
        reply->outcome = MCDS_OUT_MISS;
        return PARSE_DONE;
    }
    bool is_value = request->command == MCDS_GET &&
                    mcds__wire_begins(bytes, line_length, "VALUE ");
    if (is_value && !has_key_of(request, bytes, line_length))
        return PARSE_BROKEN;
    if (is_value)
        return wire_classic_parse_value(request, bytes, length, line_length, closing_last,
                                        reply, consumed, needed);
    if (mcds__wire_is_count(request) && mcds__parse_u64(bytes, line_length, &reply->number)) {
        reply->outcome = MCDS_OUT_OK;
        return PARSE_DONE;
    }
    return parse_word(request, bytes, line_length, reply);
}

const struct mcds__wire mcds__wire_classic = {"classic", classic_encode, classic_parse};
const struct mcds__wire mcds__wire_plain = {"classic without cas", plain_encode, classic_parse};
