/* Finds the servers that do not answer, by asking all at the same time. One after the other,
 * each would take its full time. */
#include "store/memcached/inspect/greet.h"

#include <string.h>

#include "base/environment.h"
#include "store/memcached/inspect/exchange.h"

#define GREETING "version\r\n"

struct greeting {
    struct mcds__socket socket;
    bool is_over;        /* it has answered, or has failed */
    bool is_silent;      /* it has not answered, and its time is over */
    int64_t tried_by_ns; /* while connecting: the deadline of this address */
};

static void memcached_greet_end(struct greeting *greeting, bool is_silent)
{
    greeting->is_over = true;
    greeting->is_silent = is_silent;
}

/* Give the address being tried its share, or send the greeting. */
static void memcached_greet_advance(struct greeting *greeting,
                                    const struct mcds__memcached *backend,
                                    int64_t connected_by_ns)
{
    struct mcds__socket *sock = &greeting->socket;
    if (sock->connecting) {
        int64_t now_ns = mcds__monotonic_ns(backend->env);
        greeting->tried_by_ns = now_ns + mcds__socket_share_ns(sock, connected_by_ns - now_ns);
    } else if (!mcds_buffer_append(&sock->out, GREETING, strlen(GREETING)) ||
               !mcds__socket_send(sock)) {
        memcached_greet_end(greeting, false);
    }
}

/* Check a server that has not answered once more. */
static void memcached_greet_go_on(struct greeting *greeting,
                                  const struct mcds__memcached *backend, uint8_t ready,
                                  int64_t connected_by_ns)
{
    struct mcds__socket *sock = &greeting->socket;
    bool is_late = mcds__monotonic_ns(backend->env) >= greeting->tried_by_ns;
    if (!sock->connecting) {
        if ((ready & READY_TO_RECEIVE) != 0)
            memcached_greet_end(greeting, false);
        else if (mcds__socket_wants_to_send(sock) && !mcds__socket_send(sock))
            memcached_greet_end(greeting, false);
    } else if (ready != READY_NOT) {
        if (mcds__socket_go_on(sock))
            memcached_greet_advance(greeting, backend, connected_by_ns);
        else
            memcached_greet_end(greeting, false);
    } else if (is_late) {
        if (mcds__socket_pass_over(sock))
            memcached_greet_advance(greeting, backend, connected_by_ns);
        else
            memcached_greet_end(greeting, true);
    }
}

/* The next time at which something must be done, whatever the servers do. */
static int64_t next_ns(const struct greeting *greetings, uint32_t count, int64_t deadline_ns)
{
    for (uint32_t i = 0; i < count; i++)
        if (!greetings[i].is_over && greetings[i].socket.connecting &&
            greetings[i].tried_by_ns < deadline_ns)
            deadline_ns = greetings[i].tried_by_ns;
    return deadline_ns;
}

/* Wait once for all servers that have not answered. False: there are none. */
static bool wait_for_some(struct greeting *greetings, const struct mcds__memcached *backend,
                          int64_t connected_by_ns, int64_t deadline_ns)
{
    struct mcds__socket *waiting[MCDS__SERVERS_MAX];
    uint32_t numbers[MCDS__SERVERS_MAX];
    uint8_t ready[MCDS__SERVERS_MAX] = {READY_NOT};
    uint32_t count = 0;
    for (uint32_t i = 0; i < backend->server_count; i++)
        if (!greetings[i].is_over) {
            numbers[count] = i;
            waiting[count++] = &greetings[i].socket;
        }
    if (count == 0)
        return false;
    int64_t left_ns = next_ns(greetings, backend->server_count, deadline_ns) -
                      mcds__monotonic_ns(backend->env);
    mcds__socket_wait(waiting, count, left_ns > 0 ? left_ns : 0, ready);
    for (uint32_t i = 0; i < count; i++)
        memcached_greet_go_on(&greetings[numbers[i]], backend, ready[i], connected_by_ns);
    return true;
}

void mcds__greet(const struct mcds__memcached *backend, enum mcds__greeted *greeted_out)
{
    struct greeting greetings[MCDS__SERVERS_MAX];
    greeted_out[0] = MCDS__GREETED;
    if (backend->server_count == 1)
        return;
    memset(greetings, 0, sizeof greetings);
    for (uint32_t i = 0; i < backend->server_count; i++) {
        mcds__socket_init(&greetings[i].socket, backend->env, backend->tls);
        if (!mcds__socket_open(&greetings[i].socket, &backend->servers[i].address, 0))
            memcached_greet_end(&greetings[i], false);
    }
    /* Read the clock after the names of the hosts were looked up. */
    int64_t now_ns = mcds__monotonic_ns(backend->env);
    int64_t connected_by_ns = now_ns + mcds__exchange_connect_ns(backend);
    int64_t deadline_ns = now_ns + backend->silence_ns;
    for (uint32_t i = 0; i < backend->server_count; i++)
        if (!greetings[i].is_over)
            memcached_greet_advance(&greetings[i], backend, connected_by_ns);
    while (mcds__monotonic_ns(backend->env) < deadline_ns &&
           wait_for_some(greetings, backend, connected_by_ns, deadline_ns)) {
        /* until all have answered */
    }
    for (uint32_t i = 0; i < backend->server_count; i++) {
        const struct greeting *greeting = &greetings[i];
        greeted_out[i] = MCDS__GREETED;
        if (!greeting->is_over || greeting->is_silent)
            greeted_out[i] = greeting->socket.connecting ? MCDS__GREETED_NOBODY
                                                         : MCDS__GREETED_SILENCE;
        mcds__socket_close(&greetings[i].socket);
    }
}
