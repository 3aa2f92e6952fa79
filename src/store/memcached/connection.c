/* One session's connection to one server: a queue of requests over one socket.
 *
 *   enqueue --> [ waiting ] --encode--> out --send--> server --receive--> in --parse--> reply
 *
 * DOWN -> CONNECTING -> PROBING -> READY; any trouble leads back to DOWN. Requests of which a byte
 * was sent are then UNKNOWN, other encoded requests UNSENT, and with them the rest of an ordered
 * batch. Requests that were still waiting fail only if no connection could be made. */
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/reason.h"
#include "store/cas_token.h"
#include "store/memcached/queue.h"

/* An idle connection is checked before use by one more system call, because the server may have
 * gone. It is skipped if calls follow each other this fast: no server restarts in that time. */
#define IDLE_NS (NS_PER_MS / 10)

/* Distance of the first request numbers of connections: so a reply fits no other connection. */
#define SEQUENCE_STEP 1597

static const mcds_env *env_of(const struct mcds__connection *connection)
{
    return connection->session->backend->env;
}

void mcds__connection_close(struct mcds__connection *connection)
{
    mcds__socket_close(&connection->socket);
    connection->state = CONNECTION_DOWN;
    connection->needed = 0;
    connection->held = 0;
}

/* The reason for a request that ends with its connection. */
static const mcds_reason *why_ended(const mcds_batch *batch, const mcds_reason *trouble,
                                    int64_t late_ns)
{
    return batch->deadline_ns <= late_ns ? MCDS__WHY(NO_ANSWER) : trouble;
}

/* The connection has ended, and its first `lost` requests with it. Those with a deadline up to
 * late_ns had no answer in time; the trouble is that of the others. */
static void end_connection(struct mcds__connection *connection, uint32_t lost,
                           const mcds_reason *trouble, int64_t late_ns)
{
    uint64_t sent = connection->socket.sent;
    const mcds_batch *batch = lost > 0 ? mcds__queue_at(connection, lost - 1)->batch : NULL;
    mcds__connection_close(connection);
    connection->encoded = 0;
    for (; lost > 0; lost--)
        mcds__queue_answer_lost(
            connection, 1, sent, MCDS_OUT_UNSENT,
            why_ended(mcds__queue_at(connection, 0)->batch, trouble, late_ns));
    if (batch != NULL)
        mcds__queue_give_up_rest(connection, batch, why_ended(batch, trouble, late_ns));
}

/* Connecting failed, or the connection ended. */
static void memcached_connection_fail(struct mcds__connection *connection,
                                      const mcds_reason *trouble)
{
    if (connection->state == CONNECTION_READY) {
        end_connection(connection, connection->encoded, trouble, INT64_MIN);
        return;
    }
    if (trouble->cause == MCDS_CAUSE_TLS || trouble->cause == MCDS_CAUSE_CERTIFICATE)
        connection->refusal = MCDS_OUT_PROTOCOL; /* which waiting does not mend */
    mcds__connection_close(connection);
    mcds__connect_back_off(connection, trouble);
    mcds__queue_answer_lost(connection, connection->count, 0, connection->refusal, trouble);
}

static void connect_connection(struct mcds__connection *connection)
{
    const mcds_reason *trouble;
    mcds_outcome refusal;
    if (!mcds__connect_may(connection, &refusal, &trouble)) {
        mcds__queue_answer_lost(connection, connection->count, 0, refusal, trouble);
        return;
    }
    connection->state = CONNECTION_CONNECTING;
    connection->refusal = MCDS_OUT_UNSENT;
    connection->probe_is_proxy = false;
    connection->serial = mcds__cas_token_place();
    connection->sequence = (uint32_t)connection->serial * SEQUENCE_STEP;
    if (!mcds__connect_begin(connection))
        memcached_connection_fail(connection, connection->socket.trouble);
}

void mcds__connection_push(struct mcds__connection *connection)
{
    int64_t now_ns = 0;
    if (connection->state == CONNECTION_READY && connection->encoded == 0 &&
        connection->encoded < connection->count) {
        now_ns = mcds__monotonic_ns(env_of(connection));
        bool idle = now_ns - connection->used_ns > IDLE_NS;
        connection->used_ns = now_ns;
        if (idle && !mcds__socket_is_quiet(&connection->socket))
            mcds__connection_close(connection);
    }
    if (connection->state == CONNECTION_DOWN && connection->count > 0)
        connect_connection(connection);
    if (connection->state != CONNECTION_READY)
        return;
    mcds__queue_encode(connection);
    if (connection->state == CONNECTION_READY && !mcds__socket_send(&connection->socket))
        memcached_connection_fail(connection, connection->socket.trouble);
}

/* Send one more request, whose answer proves the held replies, whatever it says. Its key is the
 * same, so a proxy sends it to the same server. */
static void memcached_connection_check(struct mcds__connection *connection, mcds_bytes key,
                                       int64_t deadline_ns)
{
    if (connection->check.answered < connection->check.count)
        return; /* one is under way */
    memcpy(connection->check_key, key.data, key.length);
    connection->check_request = (mcds_request){.command = MCDS_GET,
                                               .options = MCDS_NO_VALUE,
                                               .key = {connection->check_key, key.length}};
    connection->check = (mcds_batch){.requests = &connection->check_request,
                                     .count = 1,
                                     .deadline_ns = deadline_ns,
                                     .serial = MCDS__CHECK};
    mcds__connection_enqueue(connection, &connection->check, 0);
}

/* Answer the requests whose replies are held. */
static void memcached_connection_release(struct mcds__connection *connection)
{
    for (; connection->held > 0; connection->held--) {
        mcds_batch *batch = mcds__queue_at(connection, 0)->batch;
        connection->first++;
        connection->count--;
        connection->encoded--;
        connection->sequence++;
        mcds__queue_count_answer(connection->session, batch);
    }
}

static void note_trouble(struct mcds__connection *connection, mcds_outcome outcome)
{
    if (outcome == MCDS_OUT_UNKNOWN) /* behind a proxy another server may follow */
        connection->serial = mcds__cas_token_place();
    if (outcome == MCDS_OUT_UNKNOWN || outcome == MCDS_OUT_TOO_BIG ||
        outcome == MCDS_OUT_NO_MEMORY)
        connection->is_troubled = true;
}

static void memcached_connection_take_value(mcds_batch *batch, mcds_reply *reply,
                                            const struct mcds__wire_reply *parsed)
{
    reply->value_length = parsed->value.length > 0 ? parsed->value.length : parsed->size;
    reply->value_at = batch->values != NULL ? batch->values->length : 0;
    if (batch->values != NULL &&
        !mcds_buffer_append(batch->values, parsed->value.data, parsed->value.length)) {
        reply->outcome = MCDS_OUT_NO_BUFFER;
        reply->detail = MCDS__WHY(NO_MEMORY_FOR_VALUE);
    }
}

/* Move a parsed reply into its request. An error that refuses something is held, with the
 * replies after it, until a reply with its opaque proves that the error was in its place. */
static void take_reply(struct mcds__connection *connection,
                       const struct mcds__wire_reply *parsed)
{
    const struct mcds__pending *pending = mcds__queue_at(connection, connection->held);
    mcds_batch *batch = pending->batch;
    mcds_request *request = &batch->requests[pending->index];
    mcds_reply *reply = &request->reply;
    bool denies = parsed->proof == PROOF_MISSING && parsed->outcome != MCDS_OUT_UNKNOWN;
    reply->outcome = parsed->outcome;
    reply->flags = parsed->flags;
    reply->ttl_ms = parsed->ttl_ms;
    reply->number = parsed->number;
    reply->cas = (mcds_cas_token){parsed->cas, parsed->cas != 0 ? connection->serial : 0};
    reply->detail = parsed->detail;
    reply->peer = connection->server->name;
    note_trouble(connection, parsed->outcome);
    if (request->command == MCDS_GET)
        memcached_connection_take_value(batch, reply, parsed);
    else
        reply->value_length = parsed->size;
    bool is_held = denies || parsed->proof == PROOF_FOLLOWS ||
                   (connection->held > 0 && parsed->proof != PROOF_MADE);
    connection->held++;
    if (is_held && parsed->proof == PROOF_MISSING)
        memcached_connection_check(connection, request->key, batch->deadline_ns);
    if (!is_held)
        memcached_connection_release(connection);
}

/* Why the connection cannot be used after the parsed replies; NULL: it can. */
static const mcds_reason *find_fault(const struct mcds__connection *connection,
                                     const mcds_batch *batch, enum mcds__parse parse,
                                     const struct mcds__wire_reply *reply)
{
    bool is_check = batch == &connection->check;
    uint64_t item_max = connection->probe_item_max > 0 ? connection->probe_item_max
                                                       : MCDS__VALUES_MAX; /* not reported */
    if (parse == PARSE_MORE && connection->needed > item_max + MCDS__WIRE_LINE_MAX)
        return MCDS__WHY(REPLY_TOO_BIG);
    if (parse == PARSE_MORE)
        return NULL;
    if (reply->proof == PROOF_FAILED || (is_check && reply->proof != PROOF_MADE))
        return MCDS__WHY(REPLIES_MISMATCH);
    /* After trouble, an ERROR may answer bytes of a value, taken for a command. */
    bool is_late_error = connection->is_troubled && reply->outcome == MCDS_OUT_UNSUPPORTED;
    if (parse == PARSE_BROKEN || is_late_error)
        return MCDS__WHY(BAD_REPLY);
    return NULL;
}

static enum mcds__parse parse_next(struct mcds__connection *connection,
                                   const struct mcds__pending *pending,
                                   struct mcds__wire_reply *reply, size_t *consumed)
{
    const mcds_request *request = &pending->batch->requests[pending->index];
    const struct mcds__socket *sock = &connection->socket;
    const char *bytes = (const char *)sock->in.data + sock->in_taken;
    size_t length = sock->in.length - sock->in_taken;
    if (pending->place != PLACE_ALONE)
        return mcds__wire_parse_read(request, pending->place == PLACE_LAST, bytes, length,
                                     reply, consumed, &connection->needed);
    return connection->wire->parse(request, connection->sequence + connection->held, bytes,
                                   length, reply, consumed, &connection->needed);
}

static void parse_replies(struct mcds__connection *connection)
{
    struct mcds__socket *sock = &connection->socket;
    while (connection->state == CONNECTION_READY && sock->in_taken < sock->in.length) {
        struct mcds__wire_reply reply;
        size_t consumed = 0;
        if (connection->held == connection->encoded) {
            memcached_connection_fail(connection, MCDS__WHY(REPLY_UNASKED));
            return;
        }
        const struct mcds__pending *pending = mcds__queue_at(connection, connection->held);
        enum mcds__parse parse = parse_next(connection, pending, &reply, &consumed);
        const mcds_reason *fault = find_fault(connection, pending->batch, parse, &reply);
        if (fault != NULL) {
            memcached_connection_fail(connection, fault);
            return;
        }
        if (parse == PARSE_MORE)
            return;
        sock->in_taken += consumed;
        connection->needed = 0;
        take_reply(connection, &reply);
    }
}

/* The connection does not keep order, but requests may be in the queue that rely on order. Of
 * each ordered batch only the first request stays. The others follow one by one, or are given
 * up if the batch has requests on other servers. */
static void thin_out(struct mcds__connection *connection)
{
    for (uint32_t left = connection->count, run; left > 0; left -= run) {
        struct mcds__pending first = mcds__queue_take_waiting(connection);
        mcds_batch *batch = first.batch;
        *mcds__queue_at(connection, connection->count++) = first;
        run = 1;
        if (batch->independent || batch->serial == MCDS__ONE_BY_ONE)
            continue;
        while (run < left && mcds__queue_at(connection, run - 1)->batch == batch)
            run++;
        if (run > 1 && run == batch->count)
            batch->serial = MCDS__ONE_BY_ONE;
        for (uint32_t i = 1; i < run; i++) {
            struct mcds__pending taken = mcds__queue_take_waiting(connection);
            if (batch->serial != MCDS__ONE_BY_ONE)
                mcds__queue_answer(connection, batch, taken.index, MCDS_OUT_UNSENT,
                                   MCDS__WHY(NOW_A_PROXY));
        }
    }
}

static void go_on_probing(struct mcds__connection *connection)
{
    enum mcds__parse probed = mcds__probe_go_on(connection);
    /* Bytes after the last answer would be taken for the reply to the first request. */
    if (probed == PARSE_DONE && connection->socket.in_taken < connection->socket.in.length) {
        connection->socket.trouble = MCDS__WHY(REPLY_UNASKED);
        probed = PARSE_BROKEN;
    }
    switch (probed) {
    case PARSE_DONE:
        connection->state = CONNECTION_READY;
        connection->used_ns = mcds__monotonic_ns(env_of(connection));
        connection->is_troubled = false;
        if (!connection->probe_can.ordered_batch)
            thin_out(connection);
        mcds__connection_push(connection);
        break;
    case PARSE_BROKEN:
        memcached_connection_fail(connection, connection->socket.trouble);
        break;
    case PARSE_MORE:
        break;
    }
}

static void receive(struct mcds__connection *connection)
{
    struct mcds__socket *sock = &connection->socket;
    size_t buffered = sock->in.length - sock->in_taken;
    size_t missing = connection->needed > buffered ? connection->needed - buffered : 1;
    bool alive = mcds__socket_receive(sock, missing);
    if (!alive && connection->state == CONNECTION_PROBING && mcds__probe_hung_up(connection)) {
        mcds__socket_close(sock);
        connection->state = CONNECTION_CONNECTING;
        if (!mcds__connect_again(connection))
            memcached_connection_fail(connection, sock->trouble);
        return;
    }
    const mcds_reason *trouble = sock->trouble;
    if (connection->state == CONNECTION_PROBING) {
        uint64_t serial = connection->serial;
        go_on_probing(connection);
        if (connection->serial != serial)
            return; /* it has found the connection closed, and makes another */
    } else {
        parse_replies(connection);
    }
    if (!alive && connection->state != CONNECTION_DOWN)
        memcached_connection_fail(connection, trouble);
}

void mcds__connection_go_on(struct mcds__connection *connection, uint8_t ready)
{
    struct mcds__socket *sock = &connection->socket;
    if (connection->state == CONNECTION_CONNECTING && ready != READY_NOT) {
        if (!mcds__socket_go_on(sock)) {
            memcached_connection_fail(connection, sock->trouble);
            return;
        }
        if (sock->connecting)
            return;
        connection->state = CONNECTION_PROBING;
        connection->deadline_ns = connection->connected_by_ns;
        if (!mcds__probe_begin(connection)) {
            memcached_connection_fail(connection, sock->trouble);
            return;
        }
        ready = READY_TO_SEND;
    }
    if ((ready & READY_TO_RECEIVE) != 0 && connection->state >= CONNECTION_PROBING)
        receive(connection);
    if ((ready & READY_TO_SEND) != 0 && connection->state >= CONNECTION_PROBING &&
        !mcds__socket_send(sock)) {
        memcached_connection_fail(connection, sock->trouble);
        return;
    }
    if (connection->state == CONNECTION_READY && connection->encoded < connection->count)
        mcds__connection_push(connection);
}

static bool memcached_connection_is_late(const struct mcds__pending *pending, int64_t now_ns)
{
    return pending->batch->deadline_ns <= now_ns;
}

/* Whether a request that was written out is late. */
static bool has_late(struct mcds__connection *connection, int64_t now_ns)
{
    for (uint32_t i = 0; i < connection->encoded; i++)
        if (memcached_connection_is_late(mcds__queue_at(connection, i), now_ns))
            return true;
    return false;
}

/* The number of requests of which a byte was sent. The others can use another connection. */
static uint32_t count_begun(struct mcds__connection *connection)
{
    uint32_t begun = connection->encoded;
    while (begun > 0 && mcds__queue_at(connection, begun - 1)->begin >= connection->socket.sent)
        begun--;
    return begun;
}

/* The cause for which a late request waited. */
static const mcds_reason *why_unsent(const struct mcds__connection *connection)
{
    switch (connection->state) {
    case CONNECTION_CONNECTING:
        return mcds__socket_silence(&connection->socket);
    case CONNECTION_PROBING:
        return mcds__probe_silence(connection);
    default:
        return MCDS__WHY(UNSENT_IN_TIME);
    }
}

static void expire_waiting(struct mcds__connection *connection, int64_t now_ns)
{
    uint32_t waiting = connection->count - connection->encoded;
    for (; waiting > 0; waiting--) {
        struct mcds__pending taken = mcds__queue_take_waiting(connection);
        if (memcached_connection_is_late(&taken, now_ns))
            mcds__queue_answer(connection, taken.batch, taken.index, MCDS_OUT_UNSENT,
                               why_unsent(connection));
        else
            *mcds__queue_at(connection, connection->count++) = taken;
    }
}

/* A program that did not run for a while reads late. Replies that have arrived meanwhile count.
 * If they were a step of the setup, the time starts again for the next step. */
static void look_at_last(struct mcds__connection *connection, int64_t now_ns)
{
    struct mcds__socket *sock = &connection->socket;
    enum mcds__connection_state before = connection->state;
    uint8_t ready;
    mcds__socket_wait(&sock, 1, 0, &ready);
    if (before == CONNECTION_READY && (ready & READY_TO_RECEIVE) != 0)
        receive(connection); /* nothing that is late is sent */
    else if (before != CONNECTION_READY && ready != READY_NOT)
        mcds__connection_go_on(connection, ready);
    if (ready != READY_NOT &&
        (connection->state == CONNECTION_CONNECTING || connection->state == CONNECTION_PROBING))
        mcds__connect_renew(connection, now_ns);
}

void mcds__connection_expire(struct mcds__connection *connection, int64_t now_ns)
{
    bool is_opening = connection->state == CONNECTION_CONNECTING ||
                      connection->state == CONNECTION_PROBING;
    expire_waiting(connection, now_ns);
    if ((is_opening && connection->deadline_ns <= now_ns) || has_late(connection, now_ns))
        look_at_last(connection, now_ns);
    if (connection->state == CONNECTION_CONNECTING && connection->deadline_ns <= now_ns &&
        !mcds__connect_pass_over(connection, now_ns))
        memcached_connection_fail(connection, connection->socket.trouble);
    if (connection->state == CONNECTION_PROBING && connection->deadline_ns <= now_ns)
        memcached_connection_fail(connection, mcds__probe_silence(connection));
    if (has_late(connection, now_ns)) {
        end_connection(connection, count_begun(connection), MCDS__WHY(NO_ANSWER_TO_OTHER),
                       now_ns);
        expire_waiting(connection, now_ns);
    }
}

int64_t mcds__connection_deadline(const struct mcds__connection *connection)
{
    int64_t soonest_ns = INT64_MAX;
    if (connection->state == CONNECTION_CONNECTING || connection->state == CONNECTION_PROBING)
        soonest_ns = connection->deadline_ns;
    for (uint32_t i = 0; i < connection->count; i++) {
        const struct mcds__pending *pending =
            &connection->pending[(connection->first + i) & (connection->capacity - 1)];
        if (pending->batch->deadline_ns < soonest_ns)
            soonest_ns = pending->batch->deadline_ns;
    }
    return soonest_ns;
}

bool mcds__connection_is_busy(const struct mcds__connection *connection)
{
    return connection->state != CONNECTION_DOWN &&
           (connection->state != CONNECTION_READY || connection->count > 0);
}
