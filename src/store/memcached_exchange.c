/* One exchange after the other with one server, each line by line and within a time. */
#include "store/memcached_exchange.h"

#include <string.h>

#include "base/environment.h"
#include "base/reason.h"
#include "store/homes.h"

#define SILENCE 4 /* times the time to connect */

/* Wait until the connection can go on. False: broken or too late. */
static bool wait_once(struct mcds__connection *connection, const mcds_env *env,
                      int64_t deadline_ns, uint8_t *ready)
{
    int64_t left_ns = deadline_ns - mcds__monotonic_ns(env);
    if (left_ns <= 0) {
        connection->trouble = MCDS__EXCHANGE_SILENT;
        return false;
    }
    mcds__connection_wait(&connection, 1, left_ns, ready);
    return true;
}

bool mcds__exchange_connect(struct mcds__connection *connection,
                            const struct mcds__memcached *home,
                            const struct mcds__server *server, int avoided)
{
    if (!mcds__connection_open(connection, &server->address, avoided))
        return false;
    int64_t now_ns = mcds__monotonic_ns(home->env);
    int64_t deadline_ns = now_ns + home->connect_timeout_ns;
    while (connection->connecting) {
        int64_t share_ns = mcds__connection_share_ns(connection, deadline_ns - now_ns);
        uint8_t ready = READY_NOT;
        while (ready == READY_NOT &&
               wait_once(connection, home->env, now_ns + share_ns, &ready)) {
            /* until it is ready or its share is over */
        }
        if (!(ready != READY_NOT ? mcds__connection_go_on(connection)
                                 : mcds__connection_pass_over(connection)))
            return false;
        now_ns = mcds__monotonic_ns(home->env);
    }
    return true;
}

/* Hand out the lines that have come, ended by LF or CR LF. False: the last one was among them.
 */
static bool take_lines(struct mcds__connection *connection, mcds__take_line *take,
                       void *context)
{
    while (connection->in_taken < connection->in.length) {
        const char *line = (const char *)connection->in.at + connection->in_taken;
        size_t left = connection->in.length - connection->in_taken;
        const char *end = memchr(line, '\n', left);
        if (end == NULL)
            return true;
        size_t length = (size_t)(end - line);
        connection->in_taken += length + 1;
        if (length > 0 && line[length - 1] == '\r')
            length--;
        if (!take(context, line, length))
            return false;
    }
    return true;
}

bool mcds__exchange(struct mcds__connection *connection, const struct mcds__memcached *home,
                    const char *command, mcds__take_line *take, void *context)
{
    int64_t silence_ns = SILENCE * home->connect_timeout_ns;
    int64_t deadline_ns = mcds__monotonic_ns(home->env) + silence_ns;
    uint8_t ready;
    if (!mcds_buffer_append(&connection->out, command, strlen(command)))
        return false;
    for (;;) {
        if (mcds__connection_wants_to_send(connection) && !mcds__connection_send(connection))
            return false;
        if (!wait_once(connection, home->env, deadline_ns, &ready))
            return false;
        if ((ready & READY_TO_RECEIVE) == 0)
            continue;
        bool alive = mcds__connection_receive(connection, 1);
        deadline_ns = mcds__monotonic_ns(home->env) + silence_ns;
        if (!take_lines(connection, take, context))
            return true;
        if (!alive || connection->in.length - connection->in_taken > MCDS__WIRE_LINE_MAX)
            return false;
    }
}

const mcds_reason *mcds__exchange_probe(struct mcds__memcached *home, uint32_t server,
                                        int *result_out)
{
    static const char key[] = "mcds-probe-inspect";
    void *state;
    *result_out = MCDS_UNAVAILABLE;
    if (mcds__home_memcached.lane_open(home, &state) != MCDS_OK)
        return MCDS__WHY(NO_MEMORY_FOR_A_CONNECTION);
    mcds_request request = {.command = MCDS_GET, .key = {key, strlen(key)}};
    mcds_batch batch = {.requests = &request,
                        .count = 1,
                        .deadline_ns = mcds__monotonic_ns(home->env) + MCDS__EXCHANGE_NS};
    mcds__lane_ask(state, server, &batch);
    while (mcds__home_memcached.collect(state, batch.deadline_ns) == NULL) {
        /* the batch is answered at its deadline */
    }
    mcds__home_memcached.lane_close(state);
    const mcds_reply *reply = &request.reply;
    if (reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS)
        return NULL;
    if (reply->outcome == MCDS_OUT_PROTOCOL)
        *result_out = MCDS_PROTOCOL;
    return reply->detail != NULL ? reply->detail : MCDS__WHY(NO_ANSWER_AT_ALL);
}
