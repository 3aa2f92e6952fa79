/* Which servers are silent, found out of all at the same time: one after the other, each would cost
 * its whole time. */
#include "store/memcached_greet.h"

#include <string.h>

#include "base/environment.h"

#define GREETING "version\r\n"

struct greeting {
    struct mcds__connection connection;
    bool is_over;        /* it has answered, or cannot */
    bool is_silent;      /* it has not, and its time is over */
    int64_t tried_by_ns; /* while connecting: to this address */
};

static void end(struct greeting *greeting, bool is_silent)
{
    greeting->is_over = true;
    greeting->is_silent = is_silent;
}

/* Gives the address that is being tried its share, or says hello. */
static void advance(struct greeting *greeting, const struct mcds__memcached *home,
                    int64_t connected_by_ns)
{
    struct mcds__connection *connection = &greeting->connection;
    if (connection->connecting) {
        int64_t now_ns = mcds__monotonic_ns(home->env);
        greeting->tried_by_ns = now_ns +
                                mcds__connection_share_ns(connection, connected_by_ns - now_ns);
    } else if (!mcds_buffer_append(&connection->out, GREETING, strlen(GREETING)) ||
               !mcds__connection_send(connection)) {
        end(greeting, false);
    }
}

/* One more look at a server that has not answered. */
static void go_on(struct greeting *greeting, const struct mcds__memcached *home, uint8_t ready,
                  int64_t connected_by_ns)
{
    struct mcds__connection *connection = &greeting->connection;
    bool is_late = mcds__monotonic_ns(home->env) >= greeting->tried_by_ns;
    if (!connection->connecting) {
        if ((ready & READY_TO_RECEIVE) != 0)
            end(greeting, false);
        else if (mcds__connection_wants_to_send(connection) &&
                 !mcds__connection_send(connection))
            end(greeting, false);
    } else if (ready != READY_NOT) {
        if (mcds__connection_go_on(connection))
            advance(greeting, home, connected_by_ns);
        else
            end(greeting, false);
    } else if (is_late) {
        if (mcds__connection_pass_over(connection))
            advance(greeting, home, connected_by_ns);
        else
            end(greeting, true);
    }
}

/* When something has to be done, whatever the servers do. */
static int64_t next_ns(const struct greeting *greetings, uint32_t count, int64_t deadline_ns)
{
    for (uint32_t i = 0; i < count; i++)
        if (!greetings[i].is_over && greetings[i].connection.connecting &&
            greetings[i].tried_by_ns < deadline_ns)
            deadline_ns = greetings[i].tried_by_ns;
    return deadline_ns;
}

/* Waits once for all that have not answered. False: there are none. */
static bool wait_for_some(struct greeting *greetings, const struct mcds__memcached *home,
                          int64_t connected_by_ns, int64_t deadline_ns)
{
    struct mcds__connection *waiting[MCDS__SERVERS_MAX];
    uint32_t numbers[MCDS__SERVERS_MAX];
    uint8_t ready[MCDS__SERVERS_MAX] = {READY_NOT};
    uint32_t count = 0;
    for (uint32_t i = 0; i < home->server_count; i++)
        if (!greetings[i].is_over) {
            numbers[count] = i;
            waiting[count++] = &greetings[i].connection;
        }
    if (count == 0)
        return false;
    int64_t left_ns = next_ns(greetings, home->server_count, deadline_ns) -
                      mcds__monotonic_ns(home->env);
    mcds__connection_wait(waiting, count, left_ns > 0 ? left_ns : 0, ready);
    for (uint32_t i = 0; i < count; i++)
        go_on(&greetings[numbers[i]], home, ready[i], connected_by_ns);
    return true;
}

void mcds__greet(const struct mcds__memcached *home, enum mcds__greeted *greeted_out)
{
    struct greeting greetings[MCDS__SERVERS_MAX];
    greeted_out[0] = MCDS__GREETED;
    if (home->server_count == 1)
        return;
    memset(greetings, 0, sizeof greetings);
    for (uint32_t i = 0; i < home->server_count; i++) {
        mcds__connection_init(&greetings[i].connection, home->env);
        if (!mcds__connection_open(&greetings[i].connection, &home->servers[i].address, 0))
            end(&greetings[i], false);
    }
    /* Not from before the names of the hosts were looked up. */
    int64_t now_ns = mcds__monotonic_ns(home->env);
    int64_t connected_by_ns = now_ns + home->connect_timeout_ns;
    int64_t deadline_ns = now_ns + MCDS__GREET_SILENCE * home->connect_timeout_ns;
    for (uint32_t i = 0; i < home->server_count; i++)
        if (!greetings[i].is_over)
            advance(&greetings[i], home, connected_by_ns);
    while (mcds__monotonic_ns(home->env) < deadline_ns &&
           wait_for_some(greetings, home, connected_by_ns, deadline_ns)) {
        /* until all have answered */
    }
    for (uint32_t i = 0; i < home->server_count; i++) {
        const struct greeting *greeting = &greetings[i];
        greeted_out[i] = MCDS__GREETED;
        if (!greeting->is_over || greeting->is_silent)
            greeted_out[i] = greeting->connection.connecting ? MCDS__GREETED_NOBODY
                                                             : MCDS__GREETED_SILENCE;
        mcds__connection_close(&greetings[i].connection);
    }
}
