/* memcached's two text protocols as pure functions: a request to bytes, and bytes to a reply.
 * They use no sockets and no clocks, and keep no state between calls. */
#ifndef MCDS_STORE_MEMCACHED_WIRE_WIRE_H
#define MCDS_STORE_MEMCACHED_WIRE_WIRE_H

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/number.h"
#include "mcds/backend.h"

enum mcds__parse {
    PARSE_MORE,  /* the reply is incomplete */
    PARSE_DONE,  /* *consumed bytes belong to it */
    PARSE_BROKEN /* not a reply to this request: the stream cannot be trusted */
};

/* Whether a reply is proved to be the reply to its request. */
enum mcds__proof {
    PROOF_NONE,    /* nothing, like every reply of the classic protocol */
    PROOF_MISSING, /* nothing, because it is an error line, which has no opaque */
    PROOF_FOLLOWS, /* nothing yet: the reply after it, which has an opaque, proves it */
    PROOF_FAILED,  /* it is the reply to another request; only with PARSE_BROKEN */
    PROOF_MADE     /* it has its opaque: this reply and those before it are in their places */
};

/* The contents of one reply. `value` points into the parsed bytes. */
struct mcds__wire_reply {
    mcds_outcome outcome;
    uint32_t flags;
    int64_t ttl_ms;
    uint64_t number;
    uint64_t cas;
    size_t size; /* of the value, if the value itself was not sent */
    mcds_bytes value;
    const mcds_reason *detail;
    enum mcds__proof proof;
};

/* One protocol. */
struct mcds__wire {
    const char *name;
    /* Append the bytes of a request. `sequence` is its number on its connection, which the reply
     * returns; `wall_s` is Unix time, for a ttl of more than thirty days. False: no memory, and
     * `out` is unchanged. */
    bool (*encode)(const mcds_request *request, uint32_t sequence, int64_t wall_s,
                   mcds_buffer *out);
    /* Parse the reply to `request` from the first `length` bytes. With PARSE_MORE, `*needed` is
     * a length below which the reply cannot be complete. A reply to another request is
     * PARSE_BROKEN. */
    enum mcds__parse (*parse)(const mcds_request *request, uint32_t sequence, const char *bytes,
                              size_t length, struct mcds__wire_reply *reply, size_t *consumed,
                              size_t *needed);
};

extern const struct mcds__wire mcds__wire_meta;
extern const struct mcds__wire mcds__wire_careful; /* meta, for servers that do not evict */
extern const struct mcds__wire mcds__wire_classic;
extern const struct mcds__wire mcds__wire_plain; /* classic, for servers without gets and cas */

/* Parse the reply to one read of several in one command, "gets K1 K2 ...". The server sends the
 * values in the order of the keys, leaves out missing keys, and ends with END or an error, which
 * answers all keys that have no value. A line that belongs to a later key, or to more than one,
 * is not consumed: *consumed is then 0. `is_last`: no key follows in the command. */
enum mcds__parse mcds__wire_parse_read(const mcds_request *request, bool is_last,
                                       const char *bytes, size_t length,
                                       struct mcds__wire_reply *reply, size_t *consumed,
                                       size_t *needed);

/* Find the end of a line; false: it has not arrived. *line_length excludes the end and
 * *consumed includes it. Lines longer than MCDS__WIRE_LINE_MAX are broken. */
#define MCDS__WIRE_LINE_MAX 2048
static inline enum mcds__parse mcds__wire_line(const char *bytes, size_t length,
                                               size_t *line_length, size_t *consumed)
{
    size_t searched = length < MCDS__WIRE_LINE_MAX ? length : MCDS__WIRE_LINE_MAX;
    const char *end = memchr(bytes, '\n', searched);
    if (end == NULL)
        return length >= MCDS__WIRE_LINE_MAX ? PARSE_BROKEN : PARSE_MORE;
    size_t line = (size_t)(end - bytes);
    *consumed = line + 1;
    assert(*consumed <= length);
    if (line == 0 || bytes[line - 1] != '\r')
        return PARSE_BROKEN;
    *line_length = line - 1;
    return PARSE_DONE;
}

/* ttl_ms as memcached expects it: whole seconds, rounded up; absolute beyond thirty days. At most
 * thirty days if the clock is before 2020, or less than thirty days before memcached's times end. */
uint64_t mcds__wire_exptime(uint64_t ttl_ms, int64_t wall_s);

/* The meaning of an error line; PARSE_BROKEN: a valid request cannot cause it. */
enum mcds__parse mcds__wire_error(const mcds_request *request, const char *line, size_t length,
                                  struct mcds__wire_reply *reply);

/* Whether the request stores a value. */
static inline bool mcds__wire_is_store(const mcds_request *request)
{
    return request->command >= MCDS_SET && request->command <= MCDS_CAS;
}

static inline bool mcds__wire_is_count(const mcds_request *request)
{
    return request->command == MCDS_INCR || request->command == MCDS_DECR;
}

/* Whether the line is exactly `text`. */
static inline bool mcds__wire_is(const char *line, size_t length, const char *text)
{
    return length == strlen(text) && memcmp(line, text, length) == 0;
}

/* Whether the line begins with `text`. */
static inline bool mcds__wire_begins(const char *line, size_t length, const char *text)
{
    size_t text_length = strlen(text);
    return length >= text_length && memcmp(line, text, text_length) == 0;
}

/* Parse the number up to a space or the end. Returns its end; NULL: malformed or too large. */
static inline const char *mcds__wire_read_number(const char *at, const char *end,
                                                 uint64_t *number_out)
{
    const ptrdiff_t safe_digits = 19; /* so many cannot overflow */
    const char *begin = at;
    uint64_t number = 0;
    for (; at < end && (unsigned char)(*at - '0') <= 9; at++)
        number = number * 10 + (uint64_t)(*at - '0');
    if (at == begin || (at < end && *at != ' '))
        return NULL;
    *number_out = number;
    if (at - begin > safe_digits && !mcds__parse_u64(begin, (size_t)(at - begin), number_out))
        return NULL;
    return at;
}

/* Write into space that was reserved. */
static inline char *mcds__wire_put(char *at, const char *text)
{
    size_t length = strlen(text);
    memcpy(at, text, length);
    return at + length;
}

static inline char *mcds__wire_put_bytes(char *at, mcds_bytes bytes)
{
    if (bytes.length > 0)
        memcpy(at, bytes.data, bytes.length);
    return at + bytes.length;
}

static inline char *mcds__wire_put_u64(char *at, uint64_t number)
{
    return at + mcds__format_u64(number, at);
}

#endif
