/* Encodes the requests that wait in the queue of a connection. Consecutive reads share a command:
 *
 *   gets K1 K2 ... Kn-1      the values, in this order, without those that are missing; END
 *   mg Kn v f c Oab          the value of the last, with its opaque
 *
 * A classic command for several keys costs the server and the client less than a command for each
 * key. Its reply has no opaque, so the reply does not prove to which request it belongs. Therefore
 * the last read is a meta command of its own, whose opaque proves the replies before it. Those
 * replies are held until the opaque arrives.
 *
 * Both commands are encoded together, so the proof always follows. A command contains at most one
 * read of an ordered batch: the batch may read a key twice, and if only the second read found a
 * value, the reply would not show which of the two it was. */
#include <assert.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/reason.h"
#include "store/memcached/queue.h"

/* Bytes that are encoded and not yet sent. Above this, requests wait in the queue. */
#define OUT_MAX ((size_t)4 << 20)
/* memcached up to 1.6.34 makes a system call for the reply to each classic get, which costs as
 * much as several keys of a request: so only READS_MIN or more reads share a command. */
#define READS_MIN 16
#define READS_MAX 64
/* Bytes of the keys in one command. Every server accepts a line of this length, and its buffer has
 * room for many of them. */
#define KEYS_MAX 4096
/* More than the bytes of a request without its key. */
#define FRAME_MAX 160

/* Whether the reply to a classic read answers the request completely. */
static bool is_plain_read(const mcds_request *request)
{
    return request->command == MCDS_GET && request->options == 0 &&
           request->cas.connection == 0;
}

/* The number of next requests that are reads and can share a command. */
static uint32_t count_reads(struct mcds__connection *connection)
{
    const mcds_batch *before = NULL;
    size_t bytes = 0;
    uint32_t count = 0;
    assert(connection->encoded <= connection->count);
    uint32_t most = connection->count - connection->encoded;
    for (; count < most && count < READS_MAX; count++) {
        const struct mcds__pending *pending = mcds__queue_at(connection,
                                                             connection->encoded + count);
        const mcds_batch *batch = pending->batch;
        const mcds_request *request = &batch->requests[pending->index];
        bytes += request->key.length + 1;
        if (!is_plain_read(request) || bytes > KEYS_MAX ||
            (batch == before && !batch->independent))
            break;
        before = batch;
    }
    return count;
}

/* The position in the stream of the next encoded byte. */
static uint64_t stream_end(const struct mcds__socket *sock)
{
    return sock->sent + (sock->out.length - sock->out_sent);
}

static void put_read_keys(struct mcds__connection *connection, uint32_t count)
{
    mcds_buffer *out = &connection->socket.out;
    char *begin = (char *)out->data + out->length;
    char *at = mcds__wire_put(begin, "gets");
    for (uint32_t i = 1; i <= count; i++, connection->encoded++) {
        struct mcds__pending *pending = mcds__queue_at(connection, connection->encoded);
        pending->begin = stream_end(&connection->socket);
        pending->place = i < count ? PLACE_AMONG : PLACE_LAST;
        at = mcds__wire_put(at, " ");
        at = mcds__wire_put_bytes(at, pending->batch->requests[pending->index].key);
    }
    at = mcds__wire_put(at, "\r\n");
    assert((size_t)(at - begin) <= out->capacity - out->length);
    out->length += (size_t)(at - begin);
}

/* Encode the read whose opaque is the proof. Its space is reserved. */
static void put_proof(struct mcds__connection *connection)
{
    struct mcds__pending *pending = mcds__queue_at(connection, connection->encoded);
    pending->begin = stream_end(&connection->socket);
    pending->place = PLACE_ALONE;
    bool fits = connection->wire->encode(&pending->batch->requests[pending->index],
                                         connection->sequence + connection->encoded, 0,
                                         &connection->socket.out);
    assert(fits);
    (void)fits;
    connection->encoded++;
}

/* Encode the next `count` reads. False if there is no memory; then none is encoded. */
static bool encode_reads(struct mcds__connection *connection, uint32_t count)
{
    assert(connection->reads_several && count >= READS_MIN && count <= READS_MAX);
    assert(connection->encoded + count <= connection->count);
    if (!mcds__buffer_reserve(&connection->socket.out, KEYS_MAX + 2 * FRAME_MAX))
        return false;
    put_read_keys(connection, count - 1);
    put_proof(connection);
    return true;
}

/* The answer to a request that needs no server; MCDS_OUT_NONE: it needs one. */
static mcds_outcome answer_here(const struct mcds__connection *connection,
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
    bool compares = request->command == MCDS_CAS || read_on != 0 ||
                    (request->options & MCDS_NEEDS_CAS) != 0;
    if (compares && !connection->probe_can.compare_and_set) {
        *detail_out = MCDS__WHY(SERVER_WITHOUT_CAS);
        return MCDS_OUT_UNSUPPORTED;
    }
    bool is_valid = read_on == 0 || read_on == connection->serial ||
                    read_on == MCDS_ANY_CONNECTION;
    return is_valid ? MCDS_OUT_NONE : MCDS_OUT_EXISTS;
}

/* The options that the server does not know. */
static uint32_t unknown_options(const struct mcds__connection *connection,
                                const mcds_request *request)
{
    uint32_t options = connection->has_numbers ? 0 : MCDS_SETS_CAS;
    if (!connection->probe_can.create_on_append && request->command == MCDS_APPEND)
        options |= MCDS_CREATE;
    return options;
}

/* Encode the next request, or answer it without the server. `wall_s` is Unix time, or 0 if it was not
 * read yet. */
static void encode_next(struct mcds__connection *connection, int64_t *wall_s)
{
    struct mcds__socket *sock = &connection->socket;
    struct mcds__pending *pending = mcds__queue_at(connection, connection->encoded);
    const mcds_request *request = &pending->batch->requests[pending->index];
    mcds_request plain;
    const mcds_reason *detail;
    mcds_outcome outcome = answer_here(connection, request, &detail);
    uint32_t unknown = unknown_options(connection, request);
    if ((request->options & unknown) != 0) {
        plain = *request;
        plain.options &= ~unknown;
        request = &plain;
    }
    if (request->ttl_ms > 0 && *wall_s == 0)
        *wall_s = mcds__wall_ns(connection->session->backend->env) / NS_PER_S;
    pending->begin = stream_end(sock);
    pending->place = PLACE_ALONE;
    if (outcome == MCDS_OUT_NONE &&
        !connection->wire->encode(request, connection->sequence + connection->encoded, *wall_s,
                                  &sock->out)) {
        outcome = MCDS_OUT_UNSENT;
        detail = MCDS__WHY(NO_MEMORY_FOR_REQUEST);
    }
    if (outcome == MCDS_OUT_NONE) {
        connection->encoded++;
        return;
    }
    struct mcds__pending taken = mcds__queue_take_waiting(connection);
    mcds__queue_answer(connection, taken.batch, taken.index, outcome, detail);
    if (outcome == MCDS_OUT_UNSENT)
        mcds__queue_give_up_rest(connection, taken.batch, detail);
}

void mcds__queue_encode(struct mcds__connection *connection)
{
    int64_t wall_s = 0;
    uint32_t alone = 0; /* the next so many reads get a command each */
    while (connection->encoded < connection->count && connection->socket.out.length < OUT_MAX) {
        if (alone == 0 && connection->reads_several) {
            alone = count_reads(connection);
            if (alone >= READS_MIN && encode_reads(connection, alone)) {
                alone = 0;
                continue;
            }
        }
        alone -= alone > 0;
        encode_next(connection, &wall_s);
    }
}
