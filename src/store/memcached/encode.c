/* Encodes the requests that wait in the queue of a connection. Reads that wait next to each other
 * share a command:
 *
 *   gets K1 K2 ... Kn-1      the values, in this order, without those that are missing; END
 *   mg Kn v f c Oab          the value of the last, with its opaque
 *
 * The classic command costs server and client less than a command for each key, but nothing in its
 * reply proves that it is the reply to this request. So the last read is a command of its own. Its
 * opaque proves that all replies before it are in their places. Until it comes, they are held.
 *
 * The two are encoded together, so that a command with several keys never lacks its proof. An
 * ordered batch gives one read to a command: if a key occurred twice, and only the second of its
 * reads found it, the reply would not show which one. */
#include <assert.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/reason.h"
#include "store/memcached/queue.h"

/* Bytes written out and not yet sent; beyond this requests wait in the queue. */
#define OUT_MAX ((size_t)4 << 20)
/* memcached up to 1.6.34 sends the reply to each classic get by a system call of its own, which
 * costs as much as the requests of several keys. */
#define READS_MIN 16
#define READS_MAX 64
/* The bytes of their keys. Any server accepts a line of this length, and it fits into its buffer
 * many times. */
#define KEYS_MAX 4096
/* More than the bytes of a request without its key. */
#define FRAME_MAX 160

/* Whether the classic command gives the whole answer to the request. */
static bool is_plain_read(const mcds_request *request)
{
    return request->command == MCDS_GET && request->options == 0 &&
           request->cas.connection == 0;
}

/* The number of reads that wait next and can share a command; 0: another request waits next. */
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

/* The position in the stream of what is encoded next. */
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

/* In space that was reserved. */
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

/* Encode the `count` reads that wait next. False: no memory, and nothing is encoded. */
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

/* Encode the request that waits next, or answer it. `wall_s` is Unix time, or 0 while unknown. */
static void encode_next(struct mcds__connection *connection, int64_t *wall_s)
{
    struct mcds__socket *sock = &connection->socket;
    struct mcds__pending *pending = mcds__queue_at(connection, connection->encoded);
    const mcds_request *request = &pending->batch->requests[pending->index];
    mcds_request plain;
    const mcds_reason *detail;
    mcds_outcome outcome = mcds__request_answer(connection, request, &detail);
    uint32_t unknown = mcds__request_unknown_options(connection, request);
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
    uint32_t alone = 0; /* reads that wait next and get a command each */
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
