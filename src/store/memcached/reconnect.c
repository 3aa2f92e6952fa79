/* Decides when a connection may connect, to which address, and for how long it tries. */
#include <assert.h>

#include "base/environment.h"
#include "store/memcached/memcached.h"

#define PAUSE_MIN_NS (10 * NS_PER_MS)
#define PAUSE_MAX_NS (200 * NS_PER_MS)

/* After a failure there is a pause before the next connection; it grows with each failure. */
void mcds__connect_back_off(struct mcds__connection *connection, const mcds_reason *trouble)
{
    struct mcds__memcached *backend = connection->session->backend;
    struct mcds__server *server = connection->server;
    uint64_t random = mcds__random_u64(backend->env);
    (void)pthread_mutex_lock(&backend->mutex);
    int64_t span_ns = 3 * server->pause_ns + PAUSE_MIN_NS;
    int64_t pause_ns = PAUSE_MIN_NS + (int64_t)(random % (uint64_t)span_ns);
    server->pause_ns = pause_ns < PAUSE_MAX_NS ? pause_ns : PAUSE_MAX_NS;
    assert(server->pause_ns >= PAUSE_MIN_NS && server->pause_ns <= PAUSE_MAX_NS);
    server->retry_at_ns = mcds__monotonic_ns(backend->env) + server->pause_ns;
    server->trouble = trouble;
    server->refusal = connection->refusal;
    (void)pthread_mutex_unlock(&backend->mutex);
}

bool mcds__connect_may(struct mcds__connection *connection, mcds_outcome *refusal_out,
                       const mcds_reason **trouble_out)
{
    struct mcds__memcached *backend = connection->session->backend;
    (void)pthread_mutex_lock(&backend->mutex);
    *trouble_out = connection->server->trouble;
    *refusal_out = connection->server->refusal;
    bool may = mcds__monotonic_ns(backend->env) >= connection->server->retry_at_ns;
    (void)pthread_mutex_unlock(&backend->mutex);
    return may;
}

/* Give the address being tried its share of the time. */
static void limit_address(struct mcds__connection *connection, int64_t now_ns)
{
    int64_t left_ns = connection->connected_by_ns - now_ns;
    connection->deadline_ns = now_ns + mcds__socket_share_ns(&connection->socket, left_ns);
    if (connection->deadline_ns < connection->session->deadline_ns)
        connection->session->deadline_ns = connection->deadline_ns;
    assert(connection->session->deadline_ns <= connection->deadline_ns);
}

static bool open_connection(struct mcds__connection *connection)
{
    struct mcds__memcached *backend = connection->session->backend;
    (void)pthread_mutex_lock(&backend->mutex);
    int avoided = connection->server->avoided;
    (void)pthread_mutex_unlock(&backend->mutex);
    return mcds__socket_open(&connection->socket, &connection->server->address, avoided);
}

bool mcds__connect_begin(struct mcds__connection *connection)
{
    struct mcds__memcached *backend = connection->session->backend;
    if (!open_connection(connection))
        return false;
    /* Read the clock after the host's name was looked up, which has no time limit. */
    int64_t now_ns = mcds__monotonic_ns(backend->env);
    connection->connected_by_ns = now_ns + backend->connect_timeout_ns;
    limit_address(connection, now_ns);
    return true;
}

bool mcds__connect_again(struct mcds__connection *connection)
{
    if (!open_connection(connection))
        return false;
    limit_address(connection, mcds__monotonic_ns(connection->session->backend->env));
    return true;
}

void mcds__connect_renew(struct mcds__connection *connection, int64_t now_ns)
{
    connection->connected_by_ns = now_ns + connection->session->backend->connect_timeout_ns;
    connection->deadline_ns = connection->connected_by_ns;
}

bool mcds__connect_pass_over(struct mcds__connection *connection, int64_t now_ns)
{
    struct mcds__memcached *backend = connection->session->backend;
    (void)pthread_mutex_lock(&backend->mutex);
    connection->server->avoided = mcds__socket_family(&connection->socket);
    (void)pthread_mutex_unlock(&backend->mutex);
    if (!mcds__socket_pass_over(&connection->socket))
        return false;
    if (connection->connected_by_ns <=
        now_ns) /* the program reads late, and this address was not tried */
        mcds__connect_renew(connection, now_ns);
    limit_address(connection, now_ns);
    return true;
}
