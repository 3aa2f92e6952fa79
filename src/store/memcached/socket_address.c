/* The addresses of a host: which of them may be tried, and in which order. */
#include "store/memcached/socket.h"

#include <assert.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/reason.h"

static bool refuse_addresses(struct mcds__socket *sock, const mcds_reason *trouble)
{
    sock->trouble = trouble;
    return false;
}

static bool is_same_address(const struct addrinfo *one, const struct addrinfo *other)
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
        if (*address_out != NULL && !is_same_address(*address_out, found))
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
            return refuse_addresses(sock, MCDS__WHY(SEVERAL_ADDRESSES));
        if (address != NULL)
            sock->addresses[sock->address_count++] = address;
    }
    return sock->address_count > 0 || refuse_addresses(sock, MCDS__WHY(NO_ADDRESS));
}

bool mcds__socket_look_up(struct mcds__socket *sock, const struct mcds__address *address,
                          int avoided)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    char port[8];
    (void)snprintf(port, sizeof port, "%u", (unsigned)address->port);
    if (getaddrinfo(address->host, port, &hints, &sock->found) != 0) {
        sock->found = NULL;
        bool is_path = strstr(address->host, ".sock") != NULL;
        return refuse_addresses(sock,
                                is_path ? MCDS__WHY(RELATIVE_PATH) : MCDS__WHY(UNKNOWN_HOST));
    }
    return choose_addresses(sock, avoided);
}

void mcds__socket_forget_addresses(struct mcds__socket *sock)
{
    if (sock->found != NULL)
        freeaddrinfo(sock->found);
    sock->found = NULL;
    sock->address_count = 0;
    sock->address_next = 0;
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
