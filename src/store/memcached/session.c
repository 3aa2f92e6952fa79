/* A session of the memcached backend: routes requests to the connections of their servers.
 *
 *   submit --> queues of connections --> servers --> answered --drain--> done --> collect */
#include "store/memcached/session.h"

#include <assert.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/hash/hash.h"

#define LOOK_NS (10 * NS_PER_MS)

int mcds__memcached_session_open(void *state, void **session_out)
{
    struct mcds__memcached *backend = state;
    uint32_t connection_count = backend->server_count * backend->connections;
    struct mcds__memcached_session *session = mcds__allocate_zero(
        backend->env, sizeof *session + connection_count * sizeof session->connections[0]);
    if (session == NULL)
        return mcds__fail_memory("store", NULL, NULL);
    session->backend = backend;
    session->deadline_ns = INT64_MAX;
    session->done_end = &session->done;
    session->answered_end = &session->answered;
    session->watcher = -1;
    session->connection_count = connection_count;
    for (uint32_t i = 0; i < connection_count; i++) {
        session->connections[i].session = session;
        session->connections[i].server = &backend->servers[i / backend->connections];
        mcds__socket_init(&session->connections[i].socket, backend->env, backend->tls);
        session->connections[i].socket.record_end = mcds__connection_record_end;
        session->connections[i].socket.record_context = &session->connections[i];
    }
    *session_out = session;
    return MCDS_OK;
}

void mcds__memcached_session_close(void *state)
{
    struct mcds__memcached_session *session = state;
    struct mcds__memcached *backend = session->backend;
    for (uint32_t i = 0; i < session->connection_count; i++) {
        /* In a child of a fork, the watcher is also that of the parent, and must stay as it is. */
        session->connections[i].socket.watched = READY_NOT;
        mcds__connection_close(&session->connections[i]);
        mcds__free(backend->env, session->connections[i].pending);
    }
    mcds__socket_watcher_close(session->watcher);
    mcds__free(backend->env, session);
}

bool mcds__memcached_session_holds(void *state, uint64_t connection)
{
    const struct mcds__memcached_session *session = state;
    for (uint32_t i = 0; i < session->connection_count; i++)
        if (session->connections[i].state == CONNECTION_READY &&
            session->connections[i].serial == connection)
            return true;
    return false;
}

/* Requests of one route use the same connection, so they stay in order. */
static struct mcds__connection *connection_of(struct mcds__memcached_session *session,
                                              const mcds_request *request)
{
    const struct mcds__memcached *backend = session->backend;
    if (session->connection_count == 1)
        return &session->connections[0];
    mcds_bytes route = request->route.length > 0 ? request->route : request->key;
    uint32_t server = mcds__ketama_find(backend->ketama, route);
    uint32_t connection = (server + request->copy) % backend->server_count *
                          backend->connections;
    if (backend->connections > 1)
        connection += (uint32_t)(mcds__hash(backend->seed, route) % backend->connections);
    assert(connection < session->connection_count);
    return &session->connections[connection];
}

/* Whether requests sent at once are executed in order, as far as is known. */
static bool is_ordered(struct mcds__connection *connection)
{
    struct mcds__memcached *backend = connection->session->backend;
    if (connection->state == CONNECTION_READY)
        return connection->probe_can.ordered_batch;
    (void)pthread_mutex_lock(&backend->mutex);
    bool ordered = connection->server->can.ordered_batch;
    (void)pthread_mutex_unlock(&backend->mutex);
    return ordered;
}

/* If one connection is not ordered, none is: the batch is sent to all its servers alike. */
static bool is_batch_ordered(struct mcds__memcached_session *session, const mcds_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++)
        if ((i == 0 || batch->requests[i].copy != batch->requests[i - 1].copy) &&
            !is_ordered(connection_of(session, &batch->requests[i])))
            return false;
    return true;
}

static void enqueue_batch(struct mcds__memcached_session *session, mcds_batch *batch)
{
    batch->serial = MCDS__AT_ONCE;
    if (batch->count > 1 && !batch->independent && !is_batch_ordered(session, batch))
        batch->serial = MCDS__ONE_BY_ONE;
    assert(batch->answered == 0);
    session->pending++;
    if (batch->deadline_ns < session->deadline_ns)
        session->deadline_ns = batch->deadline_ns;
    uint32_t count = batch->serial == MCDS__ONE_BY_ONE ? 1 : batch->count;
    for (uint32_t i = 0; i < count; i++)
        mcds__connection_enqueue(connection_of(session, &batch->requests[i]), batch, i);
}

static bool is_answered_for_good(const mcds_request *request)
{
    return request->reply.outcome != MCDS_OUT_UNKNOWN &&
           request->reply.outcome != MCDS_OUT_UNSENT &&
           request->reply.outcome != MCDS_OUT_PROTOCOL;
}

/* The reply to an earlier request to the same server that failed, so that their order cannot be
 * kept; NULL: there is none. */
static const mcds_reply *find_loss(struct mcds__memcached_session *session,
                                   const mcds_batch *batch, uint32_t index)
{
    assert(index < batch->count);
    for (uint32_t i = 0; i < index; i++)
        if (!is_answered_for_good(&batch->requests[i]) &&
            connection_of(session, &batch->requests[i]) ==
                connection_of(session, &batch->requests[index]))
            return &batch->requests[i].reply;
    return NULL;
}

/* Send the next request of a batch that goes one by one. False: there is none. */
static bool send_next(struct mcds__memcached_session *session, mcds_batch *batch)
{
    while (batch->answered < batch->count) {
        mcds_request *request = &batch->requests[batch->answered];
        const mcds_reply *loss = find_loss(session, batch, batch->answered);
        if (loss == NULL) {
            mcds__connection_enqueue(connection_of(session, request), batch, batch->answered);
            return true;
        }
        request->reply.outcome = loss->outcome == MCDS_OUT_PROTOCOL ? MCDS_OUT_PROTOCOL
                                                                    : MCDS_OUT_UNSENT;
        request->reply.detail = loss->detail;
        request->reply.peer = loss->peer;
        batch->answered++;
    }
    return false;
}

/* Connections put batches with answers into the session's list, so that no connection calls up.
 * Send the next request of those that go one by one; pass the others to collect. */
static void drain_answered(struct mcds__memcached_session *session)
{
    while (session->answered != NULL) {
        mcds_batch *batch = session->answered;
        session->answered = batch->next;
        if (session->answered == NULL)
            session->answered_end = &session->answered;
        batch->next = NULL;
        if (batch->serial == MCDS__ONE_BY_ONE && send_next(session, batch))
            continue;
        assert(session->pending > 0 && batch->answered == batch->count);
        session->pending--;
        *session->done_end = batch;
        session->done_end = &batch->next;
    }
}

/* Whether requests wait only for a push. */
static bool can_push(const struct mcds__connection *connection)
{
    return connection->count > 0 && connection->encoded == 0 &&
           (connection->state == CONNECTION_DOWN || connection->state == CONNECTION_READY);
}

/* A request that is refused immediately puts the next request of its batch into the queue of
 * any connection, even one that was pushed already. So repeat this until no connection has more
 * to send. */
static void push_all(struct mcds__memcached_session *session)
{
    bool again = true;
    while (again) {
        drain_answered(session);
        for (uint32_t i = 0; i < session->connection_count; i++)
            if (session->connections[i].encoded < session->connections[i].count)
                mcds__connection_push(&session->connections[i]);
        again = session->answered != NULL;
        for (uint32_t i = 0; i < session->connection_count; i++)
            again = again || can_push(&session->connections[i]);
    }
}

void mcds__memcached_session_submit(void *state, mcds_batch *first)
{
    struct mcds__memcached_session *session = state;
    for (mcds_batch *batch = first, *next; batch != NULL; batch = next) {
        next = batch->next;
        enqueue_batch(session, batch);
    }
    push_all(session);
}

void mcds__memcached_session_ask(struct mcds__memcached_session *session, uint32_t server,
                                 mcds_batch *batch)
{
    assert(server < session->backend->server_count);
    batch->serial = MCDS__AT_ONCE;
    session->pending++;
    session->deadline_ns = batch->deadline_ns;
    struct mcds__connection *connection =
        &session->connections[server * session->backend->connections];
    for (uint32_t i = 0; i < batch->count; i++)
        mcds__connection_enqueue(connection, batch, i);
    push_all(session);
}

/* Answer late requests, and compute the next deadline. A late batch that goes one by one puts
 * its next request into the queue of any connection, until all are answered. */
static void expire(struct mcds__memcached_session *session, int64_t now_ns)
{
    do {
        session->deadline_ns = INT64_MAX;
        for (uint32_t i = 0; i < session->connection_count; i++)
            mcds__connection_expire(&session->connections[i], now_ns);
        drain_answered(session);
        for (uint32_t i = 0; i < session->connection_count; i++) {
            int64_t connection_ns = mcds__connection_deadline(&session->connections[i]);
            if (connection_ns < session->deadline_ns)
                session->deadline_ns = connection_ns;
        }
    } while (session->deadline_ns <= now_ns);
}

/* Wait for the busy connections until until_ns at most, and continue them. */
static void wait_and_go_on(struct mcds__memcached_session *session, int64_t now_ns,
                           int64_t until_ns)
{
    struct mcds__socket *sockets[MCDS__WAIT_MAX];
    struct mcds__connection *connections[MCDS__WAIT_MAX];
    uint8_t ready[MCDS__WAIT_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < session->connection_count; i++) {
        struct mcds__connection *connection = &session->connections[i];
        if (!mcds__connection_is_busy(connection))
            continue;
        if (connection->state != CONNECTION_READY && connection->deadline_ns < until_ns)
            until_ns = connection->deadline_ns;
        assert(count < MCDS__WAIT_MAX);
        sockets[count] = &connection->socket;
        connections[count++] = connection;
    }
    mcds__socket_wait(sockets, count, until_ns - now_ns, ready);
    for (uint32_t i = 0; i < count; i++)
        mcds__connection_go_on(connections[i], ready[i]);
    push_all(session);
}

mcds_batch *mcds__memcached_session_collect(void *state, int64_t until_ns)
{
    struct mcds__memcached_session *session = state;
    bool looked = false;
    while (session->done == NULL && session->pending > 0) {
        int64_t now_ns = mcds__monotonic_ns(session->backend->env);
        if (looked && now_ns >= until_ns)
            break;
        if (now_ns >= session->deadline_ns) {
            expire(session, now_ns);
            push_all(session); /* a connection that has lost its socket may have more to send */
            if (session->done != NULL)
                break;
        }
        int64_t wait_ns = until_ns < session->deadline_ns ? until_ns : session->deadline_ns;
        wait_and_go_on(session, now_ns, wait_ns > now_ns ? wait_ns : now_ns);
        looked = true;
    }
    mcds_batch *list = session->done;
    session->done = NULL;
    session->done_end = &session->done;
    return list;
}

int mcds__memcached_session_watch(void *state, int64_t *wake_ns_out)
{
    struct mcds__memcached_session *session = state;
    push_all(session);
    if (session->watcher < 0)
        session->watcher = mcds__socket_watcher();
    bool is_watched = true;
    /* Without a pending batch, collect does nothing, even when a deadline passes. */
    *wake_ns_out = session->done != NULL  ? 0
                   : session->pending > 0 ? session->deadline_ns
                                          : INT64_MAX;
    for (uint32_t i = 0; i < session->connection_count; i++) {
        struct mcds__connection *connection = &session->connections[i];
        bool busy = session->pending > 0 && mcds__connection_is_busy(connection);
        if (busy && connection->state != CONNECTION_READY &&
            connection->deadline_ns < *wake_ns_out)
            *wake_ns_out = connection->deadline_ns;
        is_watched = mcds__socket_watch(&connection->socket, session->watcher, busy) &&
                     is_watched;
    }
    if (!is_watched) { /* the session polls from time to time instead */
        int64_t look_ns = mcds__monotonic_ns(session->backend->env) + LOOK_NS;
        *wake_ns_out = look_ns < *wake_ns_out ? look_ns : *wake_ns_out;
    }
    return session->watcher;
}
