/* Exchanges commands with one server, one by one, line by line and within a time limit. */
#include "store/memcached/inspect/exchange.h"

#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/reason.h"
#include "store/memcached/session.h"

/* Wait until the socket is ready. False: broken or too late. */
static bool wait_once(struct mcds__socket *sock, const mcds_env *env, int64_t deadline_ns,
                      uint8_t *ready)
{
    int64_t left_ns = deadline_ns - mcds__monotonic_ns(env);
    if (left_ns <= 0) {
        sock->trouble = MCDS__EXCHANGE_SILENT;
        return false;
    }
    mcds__socket_wait(&sock, 1, left_ns, ready);
    return true;
}

static bool connect_socket(struct mcds__socket *sock, const struct mcds__memcached *backend,
                           const struct mcds__server *server, int avoided)
{
    if (!mcds__socket_open(sock, &server->address, avoided))
        return false;
    int64_t now_ns = mcds__monotonic_ns(backend->env);
    int64_t deadline_ns = now_ns + mcds__exchange_connect_ns(backend);
    while (sock->connecting) {
        int64_t share_ns = mcds__socket_share_ns(sock, deadline_ns - now_ns);
        uint8_t ready = READY_NOT;
        while (ready == READY_NOT && wait_once(sock, backend->env, now_ns + share_ns, &ready)) {
            /* until the socket is ready or the address has used its share */
        }
        if (!(ready != READY_NOT ? mcds__socket_go_on(sock) : mcds__socket_pass_over(sock)))
            return false;
        now_ns = mcds__monotonic_ns(backend->env);
    }
    return true;
}

/* Pass on the lines that have arrived, which end with LF or CR LF, and set *has_line_out when there
 * was one. False: the last was there. */
static bool take_lines(struct mcds__socket *sock, mcds__take_line *take, void *context,
                       bool *has_line_out)
{
    while (sock->in_taken < sock->in.length) {
        const char *line = (const char *)sock->in.data + sock->in_taken;
        size_t left = sock->in.length - sock->in_taken;
        const char *end = memchr(line, '\n', left);
        if (end == NULL)
            return true;
        size_t length = (size_t)(end - line);
        sock->in_taken += length + 1;
        *has_line_out = true;
        assert(sock->in_taken <= sock->in.length);
        if (length > 0 && line[length - 1] == '\r')
            length--;
        if (!take(context, line, length))
            return false;
    }
    return true;
}

/* Wait once, for the rest of the line and of the call at most. */
static bool wait_for_line(struct mcds__socket *sock, const mcds_env *env, int64_t *line_left_ns,
                          int64_t *left_ns, uint8_t *ready)
{
    int64_t begun_ns = mcds__monotonic_ns(env);
    int64_t most_ns = *line_left_ns < *left_ns ? *line_left_ns : *left_ns;
    bool fine = wait_once(sock, env, begun_ns + most_ns, ready);
    int64_t waited_ns = mcds__monotonic_ns(env) - begun_ns;
    assert(waited_ns >= 0);
    *line_left_ns -= waited_ns;
    *left_ns -= waited_ns;
    return fine;
}

/* Only a whole line renews the time for the next: a server may send single bytes for ever. */
bool mcds__exchange(struct mcds__socket *sock, const struct mcds__memcached *backend,
                    const char *command, mcds__take_line *take, void *context, int64_t *left_ns)
{
    const int64_t silence_ns = backend->silence_ns;
    int64_t line_left_ns = silence_ns;
    uint8_t ready;
    if (!mcds_buffer_append(&sock->out, command, strlen(command)))
        return false;
    for (;;) {
        bool has_line = false;
        if (mcds__socket_wants_to_send(sock) && !mcds__socket_send(sock))
            return false;
        if (!wait_for_line(sock, backend->env, &line_left_ns, left_ns, &ready))
            return false;
        if ((ready & READY_TO_RECEIVE) == 0)
            continue;
        bool alive = mcds__socket_receive(sock, 1);
        if (!take_lines(sock, take, context, &has_line))
            return true;
        if (has_line)
            line_left_ns = silence_ns;
        if (!alive || sock->in.length - sock->in_taken > MCDS__WIRE_LINE_MAX)
            return false;
    }
}

static bool take_asked(void *context, const char *line, size_t length)
{
    *(bool *)context = mcds__login_is_asked(line, length);
    return false;
}

struct login {
    enum mcds__parse answer;
    const mcds_reason *trouble;
};

static bool take_accepted(void *context, const char *line, size_t length)
{
    struct login *login = context;
    login->answer = mcds__login_answer(line, length, &login->trouble);
    return login->answer == PARSE_MORE;
}

/* Log in, if the server asks for that. */
static bool log_in_socket(struct mcds__socket *sock, const struct mcds__memcached *backend)
{
    bool is_asked = false;
    struct login login = {PARSE_MORE, NULL};
    int64_t left_ns = backend->silence_ns;
    if (!mcds__exchange(sock, backend, "version\r\n", take_asked, &is_asked, &left_ns))
        return false;
    if (!is_asked)
        return true;
    if (!mcds__login_append(sock, backend->auth_file) ||
        !mcds__exchange(sock, backend, "", take_accepted, &login, &left_ns))
        return false;
    sock->trouble = login.trouble;
    return login.answer == PARSE_DONE;
}

bool mcds__exchange_connect(struct mcds__socket *sock, const struct mcds__memcached *backend,
                            const struct mcds__server *server, int avoided)
{
    return connect_socket(sock, backend, server, avoided) &&
           (backend->auth_file == NULL || log_in_socket(sock, backend));
}

const mcds_reason *mcds__exchange_probe(struct mcds__memcached *backend, uint32_t server,
                                        int *result_out)
{
    static const char key[] = "mcds-probe-inspect";
    void *state;
    *result_out = MCDS_UNAVAILABLE;
    if (mcds__memcached_session_open(backend, &state) != MCDS_OK)
        return MCDS__WHY(NO_MEMORY_FOR_A_CONNECTION);
    mcds_request request = {.command = MCDS_GET, .key = {key, strlen(key)}};
    mcds_batch batch = {.requests = &request,
                        .count = 1,
                        .deadline_ns = mcds__monotonic_ns(backend->env) + backend->silence_ns};
    mcds__memcached_session_ask(state, server, &batch);
    while (mcds__memcached_session_collect(state, batch.deadline_ns) == NULL) {
        /* the batch is answered at its deadline */
    }
    mcds__memcached_session_close(state);
    const mcds_reply *reply = &request.reply;
    if (reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS)
        return NULL;
    if (reply->outcome == MCDS_OUT_PROTOCOL)
        *result_out = MCDS_PROTOCOL;
    return reply->detail != NULL ? reply->detail : MCDS__WHY(NO_ANSWER_AT_ALL);
}
