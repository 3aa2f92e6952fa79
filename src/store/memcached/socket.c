/* A stream to one server: with socket_address.c the only file that uses sockets. */
#include "store/memcached/socket.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/reason.h"

#define IN_ROOM_MIN ((size_t)16 * 1024)
/* Capacity for a value, its header and later bytes that have arrived. */
#define BUFFER_MAX ((size_t)1 << 30)
/* Release memory above this size, which a burst has needed. */
#define BUFFER_KEPT ((size_t)1 << 20)

static bool memcached_socket_fail(struct mcds__socket *sock, const mcds_reason *trouble)
{
    sock->trouble = trouble;
    return false;
}

static const mcds_reason *trouble_of(int error)
{
    static const struct mcds__code_reason list[] = {
        {ECONNREFUSED, MCDS__WHY(CONNECTION_REFUSED)},
        {ECONNRESET, MCDS__WHY(CONNECTION_CLOSED)},
        {EPIPE, MCDS__WHY(CONNECTION_CLOSED)},
        {EAGAIN, MCDS__WHY(NOT_ACCEPTING)}, /* a unix socket whose queue is full */
        {ENOENT, MCDS__WHY(NO_SOCKET_FILE)},
        {EACCES, MCDS__WHY(PERMISSION_DENIED)},
        {EPERM, MCDS__WHY(PERMISSION_DENIED)},
        {EHOSTUNREACH, MCDS__WHY(NO_ROUTE)},
        {ENETUNREACH, MCDS__WHY(NO_NETWORK)},
        {ETIMEDOUT, MCDS__WHY(HOST_SILENT)},
        {EMFILE, MCDS__WHY(NO_DESCRIPTORS)},
        {ENFILE, MCDS__WHY(NO_DESCRIPTORS)},
        {ENOMEM, MCDS__WHY(NO_MEMORY_FOR_CONNECTION)},
        {ENOBUFS, MCDS__WHY(NO_MEMORY_FOR_CONNECTION)},
        {0, MCDS__WHY(CONNECTION_BROKE)},
    };
    return mcds__reason_of(error, list, sizeof list / sizeof list[0]);
}

void mcds__socket_init(struct mcds__socket *sock, const mcds_env *env,
                       const struct mcds__tls *tls)
{
    *sock = (struct mcds__socket){.fd = -1, .tls = tls};
    mcds__buffer_init(&sock->out, env, BUFFER_MAX);
    mcds__buffer_init(&sock->in, env, BUFFER_MAX);
}

/* Overwrite a password that was sent. */
static void forget_secret(struct mcds__socket *sock)
{
    if (sock->has_secret)
        explicit_bzero(sock->out.data, sock->out.capacity);
    sock->has_secret = false;
}

/* End the connection to the address, TLS first. */
static void end_connection_to_address(struct mcds__socket *sock)
{
    if (sock->stream != NULL)
        mcds__tls_end(sock->stream);
    /* A child of a fork may have it open. Then the watcher would report it for ever. */
    if (sock->fd >= 0 && sock->watched != READY_NOT)
        (void)epoll_ctl(sock->watcher, EPOLL_CTL_DEL, sock->fd, NULL);
    if (sock->fd >= 0)
        (void)close(sock->fd);
    sock->stream = NULL;
    sock->fd = -1;
    sock->watched = READY_NOT;
    sock->connecting = false;
    sock->handshake_sends = false;
}

void mcds__socket_close(struct mcds__socket *sock)
{
    end_connection_to_address(sock);
    mcds__socket_forget_addresses(sock);
    forget_secret(sock);
    sock->out_sent = 0;
    sock->sent = 0;
    sock->in_taken = 0;
    mcds__buffer_free(&sock->out);
    mcds__buffer_free(&sock->in);
}

static bool begin_connect(struct mcds__socket *sock, int family, const struct sockaddr *address,
                          socklen_t length)
{
    assert(sock->fd < 0 && !sock->connecting);
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return memcached_socket_fail(sock, trouble_of(errno));
    if (family != AF_UNIX) {
        int yes = 1;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    }
    if (connect(fd, address, length) != 0 && errno != EINPROGRESS) {
        int error = errno;
        (void)close(fd);
        return memcached_socket_fail(sock, trouble_of(error));
    }
    sock->fd = fd;
    sock->connecting = true;
    sock->trouble = NULL; /* of the previous address */
    return true;
}

/* Try the addresses of the host, beginning with the next one. */
static bool try_addresses(struct mcds__socket *sock)
{
    while (sock->address_next < sock->address_count) {
        const struct addrinfo *address = sock->addresses[sock->address_next++];
        if (begin_connect(sock, address->ai_family, address->ai_addr, address->ai_addrlen))
            return true;
    }
    return false;
}

static bool open_unix(struct mcds__socket *sock, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length >= sizeof address.sun_path)
        return memcached_socket_fail(sock, MCDS__WHY(LONG_SOCKET_PATH));
    memcpy(address.sun_path, path, length + 1);
    if (begin_connect(sock, AF_UNIX, (const struct sockaddr *)&address, sizeof address))
        return true;
    assert(sock->fd < 0 && sock->trouble != NULL);
    struct stat status;
    if (sock->trouble == MCDS__WHY(CONNECTION_REFUSED) && stat(path, &status) == 0 &&
        !S_ISSOCK(status.st_mode))
        sock->trouble = MCDS__WHY(NOT_A_SOCKET);
    return false;
}

bool mcds__socket_open(struct mcds__socket *sock, const struct mcds__address *address,
                       int avoided)
{
    sock->trouble = NULL;
    sock->host = address->host;
    assert(sock->tls == NULL || !address->is_unix);
    if (address->is_unix)
        return open_unix(sock, address->host);
    return mcds__socket_look_up(sock, address, avoided) && try_addresses(sock);
}

/* A connected socket blocks: one call waits and receives; all others pass MSG_DONTWAIT. */
static bool begin_stream(struct mcds__socket *sock)
{
    sock->receive_ms = 0;
    sock->has_received = false;
    int flags = fcntl(sock->fd, F_GETFL);
    return flags >= 0 && fcntl(sock->fd, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

/* Give up the address being tried, for this reason. */
static bool try_next(struct mcds__socket *sock, const mcds_reason *trouble)
{
    end_connection_to_address(sock);
    sock->trouble = trouble;
    return try_addresses(sock);
}

/* The needs of the stream: to receive, once in each call of mcds__socket_receive, so
 * that a server which sends without end does not hold its caller. */
static ptrdiff_t receive_for_stream(void *context, void *out, size_t capacity)
{
    struct mcds__socket *sock = context;
    if (!sock->may_receive) {
        errno = EAGAIN;
        return -1;
    }
    ssize_t got = recv(sock->fd, out, capacity, sock->receive_flags);
    sock->may_receive = false;
    if (got < 0 && errno == EINTR)
        errno = EAGAIN;
    sock->stream_error = got < 0 ? errno : ECONNRESET;
    return got;
}

static ptrdiff_t send_for_stream(void *context, const void *data, size_t length)
{
    struct mcds__socket *sock = context;
    ssize_t sent;
    do
        sent = send(sock->fd, data, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    sock->stream_error = sent < 0 ? errno : 0;
    return sent;
}

static const mcds_reason *trouble_of_stream(const struct mcds__socket *sock,
                                            const mcds_reason *trouble)
{
    return trouble != NULL ? trouble : trouble_of(sock->stream_error);
}

/* The address has answered as it will for ever, or its connection has ended. */
static bool handshake_failed(struct mcds__socket *sock, const mcds_reason *trouble)
{
    if (trouble != NULL) {
        end_connection_to_address(sock);
        return memcached_socket_fail(sock, trouble);
    }
    trouble = trouble_of_stream(sock, NULL);
    return try_next(sock,
                    trouble == MCDS__WHY(CONNECTION_CLOSED) ? MCDS__WHY(TLS_CUT) : trouble);
}

static bool shake_hands(struct mcds__socket *sock)
{
    const mcds_reason *trouble;
    sock->may_receive = true;
    sock->receive_flags = MSG_DONTWAIT;
    enum mcds__tls_step step = mcds__tls_handshake(sock->stream, &trouble);
    if (step == TLS_FAILED)
        return handshake_failed(sock, trouble);
    sock->handshake_sends = step == TLS_TO_SEND;
    sock->connecting = step != TLS_DONE;
    return true;
}

static bool begin_handshake(struct mcds__socket *sock)
{
    const struct mcds__tls_transport transport = {sock, receive_for_stream, send_for_stream};
    sock->stream = mcds__tls_begin(sock->tls, sock->host, &transport);
    return sock->stream != NULL ? shake_hands(sock)
                                : try_next(sock, MCDS__WHY(NO_MEMORY_FOR_CONNECTION));
}

bool mcds__socket_go_on(struct mcds__socket *sock)
{
    assert(sock->fd >= 0 && sock->connecting);
    if (sock->stream != NULL)
        return shake_hands(sock);
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(sock->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        error = errno;
    if (error != 0 || !begin_stream(sock))
        return try_next(sock, trouble_of(error != 0 ? error : errno));
    if (sock->tls != NULL)
        return begin_handshake(sock);
    sock->connecting = false;
    return true;
}

const mcds_reason *mcds__socket_silence(const struct mcds__socket *sock)
{
    return sock->stream != NULL ? MCDS__WHY(TLS_SILENT) : MCDS__WHY(HOST_SILENT);
}

bool mcds__socket_pass_over(struct mcds__socket *sock)
{
    assert(sock->fd >= 0 && sock->connecting);
    return try_next(sock, mcds__socket_silence(sock));
}

/* Whether bytes have arrived: a server that hangs up may have said why. */
static bool has_more(const struct mcds__socket *sock)
{
    char byte;
    return recv(sock->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Send some bytes of `out`. 0: the socket takes no more now; -1: `trouble` is set. */
static ssize_t send_some(struct mcds__socket *sock)
{
    const uint8_t *data = sock->out.data + sock->out_sent;
    size_t length = sock->out.length - sock->out_sent;
    const mcds_reason *trouble = NULL;
    size_t sent = 0;
    if (sock->stream != NULL) {
        if (sock->record_end != NULL)
            length = (size_t)(sock->record_end(sock->record_context) - sock->sent);
        assert(length > 0 && length <= sock->out.length - sock->out_sent);
        if (mcds__tls_send(sock->stream, data, length, &sent, &trouble) != TLS_FAILED)
            return (ssize_t)sent;
    } else {
        ssize_t result = send_for_stream(sock, data, length);
        if (result >= 0 || errno == EAGAIN)
            return result >= 0 ? result : 0;
    }
    (void)memcached_socket_fail(sock, trouble_of_stream(sock, trouble));
    return -1;
}

bool mcds__socket_send(struct mcds__socket *sock)
{
    mcds_buffer *out = &sock->out;
    while (sock->out_sent < out->length) {
        ssize_t sent = send_some(sock);
        if (sent < 0 && has_more(sock)) {
            sock->trouble = NULL;
            return true;
        }
        if (sent <= 0)
            return sent == 0;
        sock->out_sent += (size_t)sent;
        assert(sock->out_sent <= out->length);
        sock->sent += (uint64_t)sent;
    }
    forget_secret(sock);
    sock->out_sent = 0;
    out->length = 0;
    if (out->capacity > BUFFER_KEPT)
        mcds__buffer_free(out);
    return true;
}

/* Reuse the space of consumed bytes before allocating more memory. */
static bool memcached_socket_make_room(struct mcds__socket *sock, size_t needed)
{
    mcds_buffer *in = &sock->in;
    if (sock->in_taken == in->length) {
        in->length = 0;
        sock->in_taken = 0;
        if (in->capacity > BUFFER_KEPT && needed < BUFFER_KEPT)
            mcds__buffer_free(in);
    }
    if (in->capacity - in->length >= needed && in->capacity > in->length)
        return true;
    mcds__buffer_consume(in, sock->in_taken);
    sock->in_taken = 0;
    return mcds__buffer_reserve(in, needed > IN_ROOM_MIN ? needed : IN_ROOM_MIN);
}

/* One recv() for the stream, and all that it decrypts. False as below. */
static bool receive_decrypted(struct mcds__socket *sock, int flags)
{
    mcds_buffer *in = &sock->in;
    size_t before = in->length - sock->in_taken;
    sock->may_receive = true;
    sock->receive_flags = flags;
    for (enum mcds__tls_step step = TLS_DONE; step == TLS_DONE;) {
        const mcds_reason *trouble;
        size_t got;
        if (!memcached_socket_make_room(sock, 1))
            return memcached_socket_fail(sock, MCDS__WHY(NO_MEMORY_FOR_REPLY));
        step = mcds__tls_receive(sock->stream, in->data + in->length, in->capacity - in->length,
                                 &got, &trouble);
        in->length += got;
        if (step == TLS_FAILED)
            (void)memcached_socket_fail(sock, trouble_of_stream(sock, trouble));
        sock->handshake_sends = step == TLS_TO_SEND;
    }
    if (!sock->handshake_sends && sock->trouble == NULL)
        errno = EAGAIN;
    return in->length - sock->in_taken > before;
}

/* One recv(). False: nothing has arrived; if `trouble` is set, nothing will. */
static bool receive_some(struct mcds__socket *sock, int flags)
{
    mcds_buffer *in = &sock->in;
    if (sock->stream != NULL)
        return receive_decrypted(sock, flags);
    ssize_t got = recv(sock->fd, in->data + in->length, in->capacity - in->length, flags);
    if (got > 0)
        in->length += (size_t)got;
    else if (got == 0)
        (void)memcached_socket_fail(sock, trouble_of(ECONNRESET));
    else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        (void)memcached_socket_fail(sock, trouble_of(errno));
    return got > 0;
}

bool mcds__socket_receive(struct mcds__socket *sock, size_t needed)
{
    if (sock->has_received) {
        sock->has_received = false;
        return sock->trouble == NULL;
    }
    if (!memcached_socket_make_room(sock, needed))
        return memcached_socket_fail(sock, MCDS__WHY(NO_MEMORY_FOR_REPLY));
    bool got;
    do
        got = receive_some(sock, MSG_DONTWAIT);
    while (!got && sock->trouble == NULL && errno == EINTR);
    return sock->trouble == NULL;
}

bool mcds__socket_is_quiet(const struct mcds__socket *sock)
{
    char byte;
    if (sock->stream != NULL && mcds__tls_has_more(sock->stream))
        return false;
    ssize_t got = recv(sock->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

static int milliseconds_of(int64_t timeout_ns)
{
    if (timeout_ns <= 0)
        return 0;
    int64_t most_ns = timeout_ns < 60 * NS_PER_S ? timeout_ns : 60 * NS_PER_S;
    return (int)((most_ns + NS_PER_MS - 1) / NS_PER_MS);
}

static bool waits_to_send(const struct mcds__socket *sock)
{
    if (sock->connecting)
        return sock->stream == NULL || sock->handshake_sends;
    return sock->handshake_sends || mcds__socket_wants_to_send(sock);
}

/* Wait for one socket that has nothing to send by receiving: one system call instead of two for
 * the most frequent wait. On a unix socket poll() is faster. False: this wait is of another
 * kind. */
static bool wait_by_receiving(struct mcds__socket *sock, int64_t timeout_ns, uint8_t *ready_out)
{
    bool is_unix = sock->found == NULL;
    if (is_unix || sock->connecting || waits_to_send(sock) || timeout_ns <= 0 ||
        sock->has_received || !memcached_socket_make_room(sock, 1))
        return false;
    int timeout_ms = milliseconds_of(timeout_ns);
    if (timeout_ms != sock->receive_ms) {
        struct timeval limit = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
        if (setsockopt(sock->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0)
            return false;
        sock->receive_ms = timeout_ms;
    }
    sock->has_received = receive_some(sock, 0) || sock->trouble != NULL;
    *ready_out = sock->has_received ? READY_TO_RECEIVE : READY_NOT;
    return true;
}

void mcds__socket_wait(struct mcds__socket **connections, uint32_t count, int64_t timeout_ns,
                       uint8_t *ready_out)
{
    struct pollfd polled[MCDS__WAIT_MAX];
    assert(count <= MCDS__WAIT_MAX);
    if (count == 1 && wait_by_receiving(connections[0], timeout_ns, ready_out))
        return;
    for (uint32_t i = 0; i < count; i++) {
        bool sends = waits_to_send(connections[i]);
        polled[i].fd = connections[i]->fd;
        polled[i].events = (short)(POLLIN | (sends ? POLLOUT : 0));
        polled[i].revents = 0;
        ready_out[i] = READY_NOT;
    }
    if (poll(polled, count, milliseconds_of(timeout_ns)) <= 0)
        return;
    for (uint32_t i = 0; i < count; i++) {
        if ((polled[i].revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL)) != 0)
            ready_out[i] |= READY_TO_RECEIVE;
        if ((polled[i].revents & (POLLOUT | POLLHUP | POLLERR | POLLNVAL)) != 0)
            ready_out[i] |= READY_TO_SEND;
        if (ready_out[i] != READY_NOT && connections[i]->handshake_sends)
            ready_out[i] |= READY_TO_RECEIVE; /* which sends for the stream */
    }
}

int mcds__socket_watcher(void)
{
    return epoll_create1(EPOLL_CLOEXEC);
}

void mcds__socket_watcher_close(int watcher)
{
    if (watcher >= 0)
        (void)close(watcher);
}

bool mcds__socket_watch(struct mcds__socket *sock, int watcher, bool busy)
{
    bool sends = waits_to_send(sock);
    uint8_t wanted = busy ? READY_TO_RECEIVE | (sends ? READY_TO_SEND : 0) : READY_NOT;
    if (sock->fd < 0 || sock->watched == wanted)
        return true;
    struct epoll_event event = {.events = EPOLLIN | (sends ? (uint32_t)EPOLLOUT : 0)};
    int change = sock->watched == READY_NOT ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (wanted == READY_NOT)
        change = EPOLL_CTL_DEL;
    if (epoll_ctl(watcher, change, sock->fd, &event) != 0)
        return false;
    sock->watcher = watcher;
    sock->watched = wanted;
    return true;
}
