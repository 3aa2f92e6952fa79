/* One stream to one server: the only file that touches sockets. */
#include "store/connection.h"

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
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/reason.h"

#define IN_ROOM_MIN ((size_t)16 * 1024)
/* A value, its head and what else has come meanwhile. */
#define BUFFER_MAX ((size_t)1 << 30)
/* Give memory back that a burst has needed. */
#define BUFFER_KEPT ((size_t)1 << 20)

static bool fail(struct mcds__connection *connection, const mcds_reason *trouble)
{
    connection->trouble = trouble;
    return false;
}

static const mcds_reason *trouble_of(int error)
{
    switch (error) {
    case ECONNREFUSED:
        return MCDS__WHY(CONNECTION_REFUSED);
    case ECONNRESET:
    case EPIPE:
        return MCDS__WHY(CONNECTION_CLOSED);
    case ENOENT:
        return MCDS__WHY(NO_SOCKET_FILE);
    case EACCES:
    case EPERM:
        return MCDS__WHY(PERMISSION_DENIED);
    case EHOSTUNREACH:
    case ENETUNREACH:
        return MCDS__WHY(NO_ROUTE);
    case ETIMEDOUT:
        return MCDS__WHY(HOST_SILENT);
    case EMFILE:
    case ENFILE:
        return MCDS__WHY(NO_DESCRIPTORS);
    case ENOMEM:
    case ENOBUFS:
        return MCDS__WHY(NO_MEMORY_FOR_CONNECTION);
    default:
        return MCDS__WHY(CONNECTION_BROKE);
    }
}

void mcds__connection_init(struct mcds__connection *connection, const mcds_env *env)
{
    *connection = (struct mcds__connection){.fd = -1};
    mcds__buffer_init(&connection->out, env, BUFFER_MAX);
    mcds__buffer_init(&connection->in, env, BUFFER_MAX);
}

void mcds__connection_close(struct mcds__connection *connection)
{
    if (connection->fd >= 0)
        (void)close(connection->fd);
    if (connection->found != NULL)
        freeaddrinfo(connection->found);
    connection->fd = -1;
    connection->connecting = false;
    connection->found = NULL;
    connection->address_count = 0;
    connection->address_next = 0;
    connection->out_sent = 0;
    connection->sent = 0;
    connection->in_taken = 0;
    mcds__buffer_free(&connection->out);
    mcds__buffer_free(&connection->in);
}

static bool begin_connect(struct mcds__connection *connection, int family,
                          const struct sockaddr *address, socklen_t length)
{
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fail(connection, trouble_of(errno));
    if (family != AF_UNIX) {
        int yes = 1;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    }
    if (connect(fd, address, length) != 0 && errno != EINPROGRESS) {
        int error = errno;
        (void)close(fd);
        return fail(connection, trouble_of(error));
    }
    connection->fd = fd;
    connection->watched = READY_NOT;
    connection->connecting = true;
    connection->trouble = NULL; /* of an address before this one */
    return true;
}

/* Try the addresses of the host from the next one on. */
static bool try_addresses(struct mcds__connection *connection)
{
    while (connection->address_next < connection->address_count) {
        const struct addrinfo *address = connection->addresses[connection->address_next++];
        if (begin_connect(connection, address->ai_family, address->ai_addr,
                          address->ai_addrlen))
            return true;
    }
    return false;
}

static bool is_same(const struct addrinfo *one, const struct addrinfo *other)
{
    return one->ai_addrlen == other->ai_addrlen &&
           memcmp(one->ai_addr, other->ai_addr, one->ai_addrlen) == 0;
}

/* The one address of a family among those found. False: there are several. */
static bool find_address(const struct addrinfo *found, int family,
                         const struct addrinfo **address_out)
{
    *address_out = NULL;
    for (; found != NULL; found = found->ai_next) {
        if (found->ai_family != family)
            continue;
        if (*address_out != NULL && !is_same(*address_out, found))
            return false;
        *address_out = found;
    }
    return true;
}

/* Several addresses of one family may be several servers: two clients could choose different ones,
 * and both would hold the same lock. */
static bool choose_addresses(struct mcds__connection *connection, int avoided)
{
    const int families[] = {AF_INET6, AF_INET};
    bool is_v4_first = avoided == AF_INET6;
    for (int i = 0; i < MCDS__ADDRESSES_MAX; i++) {
        const struct addrinfo *address;
        if (!find_address(connection->found, families[is_v4_first ? 1 - i : i], &address))
            return fail(connection, MCDS__WHY(SEVERAL_ADDRESSES));
        if (address != NULL)
            connection->addresses[connection->address_count++] = address;
    }
    return connection->address_count > 0 || fail(connection, MCDS__WHY(NO_ADDRESS));
}

static bool open_unix(struct mcds__connection *connection, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length >= sizeof address.sun_path)
        return fail(connection, MCDS__WHY(LONG_SOCKET_PATH));
    memcpy(address.sun_path, path, length + 1);
    return begin_connect(connection, AF_UNIX, (const struct sockaddr *)&address,
                         sizeof address);
}

bool mcds__connection_open(struct mcds__connection *connection,
                           const struct mcds__address *address, int avoided)
{
    connection->trouble = NULL;
    if (address->is_unix)
        return open_unix(connection, address->host);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    char port[8];
    (void)snprintf(port, sizeof port, "%u", (unsigned)address->port);
    if (getaddrinfo(address->host, port, &hints, &connection->found) != 0) {
        connection->found = NULL;
        return fail(connection, MCDS__WHY(UNKNOWN_HOST));
    }
    return choose_addresses(connection, avoided) && try_addresses(connection);
}

/* A connected socket blocks, so that one call can wait and receive; all others say
 * MSG_DONTWAIT. */
static bool begin_stream(struct mcds__connection *connection)
{
    connection->receive_ms = 0;
    connection->has_received = false;
    int flags = fcntl(connection->fd, F_GETFL);
    return flags >= 0 && fcntl(connection->fd, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

/* Leave the address that is being tried, for this reason. */
static bool try_next(struct mcds__connection *connection, int error)
{
    (void)close(connection->fd);
    connection->fd = -1;
    connection->connecting = false;
    connection->trouble = trouble_of(error);
    return try_addresses(connection);
}

bool mcds__connection_go_on(struct mcds__connection *connection)
{
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        error = errno;
    if (error == 0 && begin_stream(connection)) {
        connection->connecting = false;
        return true;
    }
    return try_next(connection, error != 0 ? error : errno);
}

bool mcds__connection_pass_over(struct mcds__connection *connection)
{
    return try_next(connection, ETIMEDOUT);
}

int64_t mcds__connection_share_ns(const struct mcds__connection *connection, int64_t left_ns)
{
    return left_ns / (1 + connection->address_count - connection->address_next);
}

int mcds__connection_family(const struct mcds__connection *connection)
{
    return connection->address_next > 0
               ? connection->addresses[connection->address_next - 1]->ai_family
               : AF_UNIX;
}

bool mcds__connection_is_local(const struct mcds__connection *connection)
{
    if (connection->address_next == 0)
        return true;
    const struct addrinfo *info = connection->addresses[connection->address_next - 1];
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

bool mcds__connection_send(struct mcds__connection *connection)
{
    mcds_buffer *out = &connection->out;
    while (connection->out_sent < out->length) {
        ssize_t sent = send(connection->fd, out->at + connection->out_sent,
                            out->length - connection->out_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return true;
        if (sent < 0)
            return fail(connection, trouble_of(errno));
        connection->out_sent += (size_t)sent;
        connection->sent += (uint64_t)sent;
    }
    connection->out_sent = 0;
    out->length = 0;
    if (out->room > BUFFER_KEPT)
        mcds__buffer_free(out);
    return true;
}

/* Bytes that were taken make room for new ones before more memory is asked for. */
static bool make_room(struct mcds__connection *connection, size_t needed)
{
    mcds_buffer *in = &connection->in;
    if (connection->in_taken == in->length) {
        in->length = 0;
        connection->in_taken = 0;
        if (in->room > BUFFER_KEPT && needed < BUFFER_KEPT)
            mcds__buffer_free(in);
    }
    if (in->room - in->length >= needed && in->room > in->length)
        return true;
    mcds__buffer_consume(in, connection->in_taken);
    connection->in_taken = 0;
    return mcds__buffer_reserve(in, needed > IN_ROOM_MIN ? needed : IN_ROOM_MIN);
}

/* One recv(). False: nothing came, or with `trouble` set nothing will. */
static bool receive_some(struct mcds__connection *connection, int flags)
{
    mcds_buffer *in = &connection->in;
    ssize_t got = recv(connection->fd, in->at + in->length, in->room - in->length, flags);
    if (got > 0)
        in->length += (size_t)got;
    else if (got == 0)
        (void)fail(connection, trouble_of(ECONNRESET));
    else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        (void)fail(connection, trouble_of(errno));
    return got > 0;
}

bool mcds__connection_receive(struct mcds__connection *connection, size_t needed)
{
    if (connection->has_received) {
        connection->has_received = false;
        return connection->trouble == NULL;
    }
    if (!make_room(connection, needed))
        return fail(connection, MCDS__WHY(NO_MEMORY_FOR_REPLY));
    bool got;
    do
        got = receive_some(connection, MSG_DONTWAIT);
    while (!got && connection->trouble == NULL && errno == EINTR);
    return connection->trouble == NULL;
}

bool mcds__connection_is_quiet(struct mcds__connection *connection)
{
    char byte;
    ssize_t got = recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return true;
    return fail(connection, got < 0 ? trouble_of(errno) : trouble_of(ECONNRESET));
}

static int milliseconds_of(int64_t timeout_ns)
{
    if (timeout_ns <= 0)
        return 0;
    int64_t timeout_ms = (timeout_ns + NS_PER_MS - 1) / NS_PER_MS;
    return timeout_ms < 60000 ? (int)timeout_ms : 60000;
}

/* Wait for one connection that has nothing to send by receiving: one system call instead of two
 * for the commonest of all waits. On a unix socket poll() is the quicker way. False: this is
 * not such a wait. */
static bool wait_by_receiving(struct mcds__connection *connection, int64_t timeout_ns,
                              uint8_t *ready_out)
{
    int timeout_ms = milliseconds_of(timeout_ns);
    bool is_unix = connection->found == NULL;
    if (is_unix || connection->connecting || mcds__connection_wants_to_send(connection) ||
        timeout_ms == 0 || connection->has_received || !make_room(connection, 1))
        return false;
    if (timeout_ms != connection->receive_ms) {
        struct timeval limit = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
        if (setsockopt(connection->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0)
            return false;
        connection->receive_ms = timeout_ms;
    }
    connection->has_received = receive_some(connection, 0) || connection->trouble != NULL;
    *ready_out = connection->has_received ? READY_TO_RECEIVE : READY_NOT;
    return true;
}

void mcds__connection_wait(struct mcds__connection **connections, uint32_t count,
                           int64_t timeout_ns, uint8_t *ready_out)
{
    struct pollfd polled[MCDS__WAIT_MAX];
    if (count == 1 && wait_by_receiving(connections[0], timeout_ns, ready_out))
        return;
    for (uint32_t i = 0; i < count; i++) {
        bool sends = connections[i]->connecting ||
                     mcds__connection_wants_to_send(connections[i]);
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

int mcds__connection_watcher(void)
{
    return epoll_create1(EPOLL_CLOEXEC);
}

void mcds__connection_watcher_close(int watcher)
{
    if (watcher >= 0)
        (void)close(watcher);
}

bool mcds__connection_watch(struct mcds__connection *connection, int watcher, bool busy)
{
    bool sends = connection->connecting || mcds__connection_wants_to_send(connection);
    uint8_t wanted = READY_NOT;
    if (busy)
        wanted = sends ? READY_TO_RECEIVE | READY_TO_SEND : READY_TO_RECEIVE;
    if (connection->fd < 0 || connection->watched == wanted)
        return true;
    struct epoll_event event = {.events = EPOLLIN | (sends ? (uint32_t)EPOLLOUT : 0)};
    int change = connection->watched == READY_NOT ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (wanted == READY_NOT)
        change = EPOLL_CTL_DEL;
    if (epoll_ctl(watcher, change, connection->fd, &event) != 0)
        return false;
    connection->watched = wanted;
    return true;
}
