/* memcached's two text protocols as pure functions over bytes: one request to bytes, one reply
 * from bytes. No sockets, no clocks, no memory of earlier calls. */
#ifndef MCDS_STORE_WIRE_H
#define MCDS_STORE_WIRE_H

#include <string.h>

#include "base/number.h"
#include "mcds_store.h"

enum mcds__parse {
    PARSE_MORE,  /* the reply is not whole yet */
    PARSE_DONE,  /* *consumed bytes belong to it */
    PARSE_BROKEN /* not a reply to this request: the stream cannot be trusted any more */
};

/* What a reply shows of its place among the replies. */
enum mcds__proof {
    PROOF_NONE,    /* nothing, as no reply of the classic protocol does */
    PROOF_MISSING, /* nothing, because it is an error: those carry no opaque */
    PROOF_FAILED,  /* it is the reply to another request; with PARSE_BROKEN alone */
    PROOF_MADE     /* it carries its opaque: it and those before it are in their places */
};

/* What one reply says. `value` points into the parsed bytes. */
struct mcds__wire_reply {
    mcds_outcome outcome;
    uint32_t flags;
    int64_t ttl_ms;
    uint64_t number;
    uint64_t cas;
    uint64_t size; /* of the value, when that itself was not sent */
    mcds_bytes value;
    const mcds_reason *detail;
    enum mcds__proof proof;
};

/* One protocol. */
struct mcds__wire {
    const char *name;
    /* Add the bytes of a request; `turn` is its number on its connection, which the reply gives
     * back, `wall_s` Unix time, for a ttl of more than thirty days. False, with `out` as it was,
     * when memory is refused. */
    bool (*encode)(const mcds_request *request, uint32_t turn, int64_t wall_s,
                   mcds_buffer *out);
    /* Read the reply to `request` off the first `length` bytes. `*needed` is set with
     * PARSE_MORE to a length below which the reply cannot be whole. A reply to another turn is
     * PARSE_BROKEN. */
    enum mcds__parse (*parse)(const mcds_request *request, uint32_t turn, const char *bytes,
                              size_t length, struct mcds__wire_reply *reply, size_t *consumed,
                              size_t *needed);
};

extern const struct mcds__wire mcds__wire_meta;
extern const struct mcds__wire mcds__wire_careful; /* meta, for servers that do not evict */
extern const struct mcds__wire mcds__wire_classic;
extern const struct mcds__wire mcds__wire_plain; /* classic, of servers without gets and cas */

/* A line without its end, or false when there is none yet. *line_length is that of the line,
 * *consumed includes the end. Lines longer than MCDS__WIRE_LINE_MAX are broken. */
#define MCDS__WIRE_LINE_MAX 2048
enum mcds__parse mcds__wire_line(const char *bytes, size_t length, size_t *line_length,
                                 size_t *consumed);

/* ttl_ms as memcached wants it: whole seconds rounded up, absolute beyond thirty days. */
uint64_t mcds__wire_exptime(uint64_t ttl_ms, int64_t wall_s);

/* What an error line means; PARSE_BROKEN when it is none that a sound request can bring. */
enum mcds__parse mcds__wire_error(const mcds_request *request, const char *line, size_t length,
                                  struct mcds__wire_reply *reply);

/* Whether the request is a store: one with a value. */
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

/* Writing into room that has been reserved. */
static inline char *mcds__wire_put(char *at, const char *text)
{
    size_t length = strlen(text);
    memcpy(at, text, length);
    return at + length;
}

static inline char *mcds__wire_put_bytes(char *at, mcds_bytes bytes)
{
    if (bytes.length > 0)
        memcpy(at, bytes.at, bytes.length);
    return at + bytes.length;
}

static inline char *mcds__wire_put_u64(char *at, uint64_t number)
{
    return at + mcds__format_u64(number, at);
}

#endif
