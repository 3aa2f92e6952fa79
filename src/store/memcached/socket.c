/* A stream to one server: the only file that uses sockets. */
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
/* Capacity for a value, its header and what else has arrived. */
#define BUFFER_MAX ((size_t)1 << 30)
/* Release memory above this size, which a burst has needed. */
#define BUFFER_KEPT ((size_t)1 << 20)

static bool memcached_socket_fail(struct mcds__socket *sock, const mcds_reason *trouble)
{
    sock->trouble = trouble;
    return false;
}

static const mcds_reason *memcached_socket_trouble_of(int error)
{
    static const struct mcds__code_reason list[] = {
        {ECONNREFUSED, MCDS__WHY(CONNECTION_REFUSED)},
        {ECONNRESET, MCDS__WHY(CONNECTION_CLOSED)},
        {EPIPE, MCDS__WHY(CONNECTION_CLOSED)},
        {EAGAIN,
         MCDS__WHY(NOT_ACCEPTING)}, /* of connect() to a unix socket whose queue is full */
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

void mcds__socket_init(struct mcds__socket *sock, const mcds_env *env)
{
    *sock = (struct mcds__socket){.fd = -1};
    mcds__buffer_init(&sock->out, env, BUFFER_MAX);
    mcds__buffer_init(&sock->in, env, BUFFER_MAX);
}

void mcds__socket_close(struct mcds__socket *sock)
{
    if (sock->fd >= 0)
        (void)close(sock->fd);
    if (sock->found != NULL)
        freeaddrinfo(sock->found);
    sock->fd = -1;
    sock->connecting = false;
    sock->found = NULL;
    sock->address_count = 0;
    sock->address_next = 0;
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
        return memcached_socket_fail(sock, memcached_socket_trouble_of(errno));
    if (family != AF_UNIX) {
        int yes = 1;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    }
    if (connect(fd, address, length) != 0 && errno != EINPROGRESS) {
        int error = errno;
        (void)close(fd);
        return memcached_socket_fail(sock, memcached_socket_trouble_of(error));
    }
    sock->fd = fd;
    sock->watched = READY_NOT;
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

static bool memcached_socket_is_same(const struct addrinfo *one, const struct addrinfo *other)
{
    return one->ai_addrlen == other->ai_addrlen &&
           memcmp(one->ai_addr, other->ai_addr, one->ai_addrlen) == 0;
}

/* The only address of a family among those found. False: there are several. */
static bool find_address(const struct addrinfo *found, int family,
                         const struct addrinfo **address_out)
{
    *address_out = NULL;
    for (; found != NULL; found = found->ai_next) {
        if (found->ai_family != family)
            continue;
        if (*address_out != NULL && !memcached_socket_is_same(*address_out, found))
            return false;
        *address_out = found;
    }
    return true;
}

/* Several addresses of one family may be several servers. Two clients could choose different
 * ones, and both would hold the same lock. */
static bool choose_addresses(struct mcds__socket *sock, int avoided)
{
    assert(sock->address_count == 0 && sock->address_next == 0);
    const int families[] = {AF_INET6, AF_INET};
    bool is_v4_first = avoided == AF_INET6;
    for (int i = 0; i < MCDS__ADDRESSES_MAX; i++) {
        const struct addrinfo *address;
        if (!find_address(sock->found, families[is_v4_first ? 1 - i : i], &address))
            return memcached_socket_fail(sock, MCDS__WHY(SEVERAL_ADDRESSES));
        if (address != NULL)
            sock->addresses[sock->address_count++] = address;
    }
    return sock->address_count > 0 || memcached_socket_fail(sock, MCDS__WHY(NO_ADDRESS));
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
    if (address->is_unix)
        return open_unix(sock, address->host);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    char port[8];
    (void)snprintf(port, sizeof port, "%u", (unsigned)address->port);
    if (getaddrinfo(address->host, port, &hints, &sock->found) != 0) {
        sock->found = NULL;
        bool is_path = strstr(address->host, ".sock") != NULL;
        return memcached_socket_fail(sock, is_path ? MCDS__WHY(RELATIVE_PATH)
                                                   : MCDS__WHY(UNKNOWN_HOST));
    }
    return choose_addresses(sock, avoided) && try_addresses(sock);
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
static bool try_next(struct mcds__socket *sock, int error)
{
    (void)close(sock->fd);
    sock->fd = -1;
    sock->connecting = false;
    sock->trouble = memcached_socket_trouble_of(error);
    return try_addresses(sock);
}

bool mcds__socket_go_on(struct mcds__socket *sock)
{
    assert(sock->fd >= 0 && sock->connecting);
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(sock->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        error = errno;
    if (error == 0 && begin_stream(sock)) {
        sock->connecting = false;
        return true;
    }
    return try_next(sock, error != 0 ? error : errno);
}

bool mcds__socket_pass_over(struct mcds__socket *sock)
{
    assert(sock->fd >= 0 && sock->connecting);
    return try_next(sock, ETIMEDOUT);
}

int64_t mcds__socket_share_ns(const struct mcds__socket *sock, int64_t left_ns)
{
    assert(sock->address_next <= sock->address_count);
    return left_ns / (1 + sock->address_count - sock->address_next);
}

int mcds__socket_family(const struct mcds__socket *sock)
{
    return sock->address_next > 0 ? sock->addresses[sock->address_next - 1]->ai_family
                                  : AF_UNIX;
}

bool mcds__socket_is_local(const struct mcds__socket *sock)
{
    if (sock->address_next == 0)
        return true;
    const struct addrinfo *info = sock->addresses[sock->address_next - 1];
    if (info->ai_family == AF_INET) {
        struct sockaddr_in address;
        memcpy(&address, info->ai_addr, sizeof address);
        return ntohl(address.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    struct sockaddr_in6 address;
    memcpy(&address, info->ai_addr, sizeof address);
    const uint8_t *bytes = address.sin6_addr.s6_addr;
    return IN6_IS_ADDR_LOOPBACK(&address.sin6_addr) ||
           (IN6_IS_ADDR_V4MAPPED(&address.sin6_addr) && bytes[12] == IN_LOOPBACKNET);
}

/* Whether bytes have arrived: a server that hangs up may have said why. */
static bool has_more(const struct mcds__socket *sock)
{
    char byte;
    return recv(sock->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

bool mcds__socket_send(struct mcds__socket *sock)
{
    mcds_buffer *out = &sock->out;
    while (sock->out_sent < out->length) {
        ssize_t sent = send(sock->fd, out->data + sock->out_sent, out->length - sock->out_sent,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return true;
        if (sent < 0) {
            int error = errno;
            return has_more(sock) ||
                   memcached_socket_fail(sock, memcached_socket_trouble_of(error));
        }
        sock->out_sent += (size_t)sent;
        assert(sock->out_sent <= out->length);
        sock->sent += (uint64_t)sent;
    }
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

/* One recv(). False: nothing has arrived; if `trouble` is set, nothing will. */
static bool receive_some(struct mcds__socket *sock, int flags)
{
    mcds_buffer *in = &sock->in;
    ssize_t got = recv(sock->fd, in->data + in->length, in->capacity - in->length, flags);
    if (got > 0)
        in->length += (size_t)got;
    else if (got == 0)
        (void)memcached_socket_fail(sock, memcached_socket_trouble_of(ECONNRESET));
    else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        (void)memcached_socket_fail(sock, memcached_socket_trouble_of(errno));
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

bool mcds__socket_is_quiet(struct mcds__socket *sock)
{
    char byte;
    ssize_t got = recv(sock->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return true;
    return memcached_socket_fail(sock, got < 0 ? memcached_socket_trouble_of(errno)
                                               : memcached_socket_trouble_of(ECONNRESET));
}

static int milliseconds_of(int64_t timeout_ns)
{
    if (timeout_ns <= 0)
        return 0;
    int64_t timeout_ms = (timeout_ns + NS_PER_MS - 1) / NS_PER_MS;
    return timeout_ms < 60000 ? (int)timeout_ms : 60000;
}

/* Wait for one socket that has nothing to send by receiving: one system call instead of two for
 * the most frequent wait. On a unix socket poll() is faster. False: this wait is of another
 * kind. */
static bool wait_by_receiving(struct mcds__socket *sock, int64_t timeout_ns, uint8_t *ready_out)
{
    bool is_unix = sock->found == NULL;
    if (is_unix || sock->connecting || mcds__socket_wants_to_send(sock) || timeout_ns <= 0 ||
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
        bool sends = connections[i]->connecting || mcds__socket_wants_to_send(connections[i]);
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
    bool sends = sock->connecting || mcds__socket_wants_to_send(sock);
    uint8_t wanted = READY_NOT;
    if (busy)
        wanted = sends ? READY_TO_RECEIVE | READY_TO_SEND : READY_TO_RECEIVE;
    if (sock->fd < 0 || sock->watched == wanted)
        return true;
    struct epoll_event event = {.events = EPOLLIN | (sends ? (uint32_t)EPOLLOUT : 0)};
    int change = sock->watched == READY_NOT ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (wanted == READY_NOT)
        change = EPOLL_CTL_DEL;
    if (epoll_ctl(watcher, change, sock->fd, &event) != 0)
        return false;
    sock->watched = wanted;
    return true;
}
