/* Parses HOST[:PORT][*WEIGHT],...: IPv6 addresses in brackets, unix sockets as full paths. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "store/memcached/memcached.h"

#define PORT_DEFAULT 11211
#define WEIGHT_MAX 65535

static int memcached_servers_refuse(const char *entry, size_t length, const mcds_reason *why)
{
    char peer[128];
    (void)snprintf(peer, sizeof peer, "%.*s", (int)(length < 100 ? length : 100), entry);
    return mcds__fail_why(MCDS_INVALID, why, .noun = "store", .option = "uri", .found = peer,
                          .peer = peer);
}

static int take_weight(const char *entry, size_t *length, uint32_t *weight_out)
{
    const char *star = memchr(entry, '*', *length);
    uint64_t weight = 1;
    *weight_out = 1;
    if (star == NULL)
        return MCDS_OK;
    size_t head = (size_t)(star - entry);
    if (!mcds__parse_u64(star + 1, *length - head - 1, &weight) || weight == 0 ||
        weight > WEIGHT_MAX)
        return memcached_servers_refuse(entry, *length, MCDS__WHY(BAD_WEIGHT));
    *length = head;
    *weight_out = (uint32_t)weight;
    return MCDS_OK;
}

static int take_port(const char *entry, size_t length, const char *digits, size_t digit_count,
                     uint16_t *port_out)
{
    uint64_t port = PORT_DEFAULT;
    if (digits != NULL &&
        (!mcds__parse_u64(digits, digit_count, &port) || port == 0 || port > UINT16_MAX))
        return memcached_servers_refuse(entry, length, MCDS__WHY(BAD_PORT));
    *port_out = (uint16_t)port;
    return MCDS_OK;
}

static bool is_host_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || strchr("-._", byte) != NULL || (byte & 0x80) != 0;
}

static int take_host(const char *entry, size_t length, struct mcds__address *address)
{
    const char *host = entry;
    const char *digits = NULL;
    size_t host_length = length;
    const char *colon = memchr(entry, ':', length);
    const char *at = memrchr(entry, '@', length);
    if (at != NULL) /* and do not repeat the password */
        return memcached_servers_refuse(at + 1, length - (size_t)(at + 1 - entry),
                                        MCDS__WHY(USER_OF_SERVER));
    if (length > 0 && entry[0] == '[') {
        const char *bracket = memchr(entry, ']', length);
        if (bracket == NULL)
            return memcached_servers_refuse(entry, length, MCDS__WHY(OPEN_BRACKET));
        host = entry + 1;
        host_length = (size_t)(bracket - host);
        if (memchr(host, ':', host_length) == NULL)
            return memcached_servers_refuse(entry, length, MCDS__WHY(BRACKET_CONTENT));
        size_t left = length - (size_t)(bracket + 1 - entry);
        if (left > 0 && bracket[1] != ':')
            return memcached_servers_refuse(entry, length, MCDS__WHY(AFTER_BRACKET));
        colon = left > 0 ? bracket + 1 : NULL;
    } else if (colon != NULL) {
        host_length = (size_t)(colon - entry);
        if (memchr(colon + 1, ':', length - host_length - 1) != NULL)
            return memcached_servers_refuse(entry, length, MCDS__WHY(BARE_IPV6));
    }
    if (memchr(entry, '/', length) != NULL)
        return memcached_servers_refuse(entry, length, MCDS__WHY(SLASH_AFTER_SERVER));
    if (colon != NULL)
        digits = colon + 1;
    if (host_length == 0 || host_length > MCDS__HOST_MAX)
        return memcached_servers_refuse(entry, length, MCDS__WHY(BAD_HOST));
    assert(host >= entry && host_length <= length);
    for (size_t i = 0; i < host_length && entry[0] != '['; i++)
        if (!is_host_byte(host[i]))
            return memcached_servers_refuse(entry, length, MCDS__WHY(HOST_BYTE));
    assert(host_length < sizeof address->host);
    memcpy(address->host, host, host_length);
    address->host[host_length] = '\0';
    address->is_unix = false;
    size_t digit_count = digits != NULL ? (size_t)(entry + length - digits) : 0;
    return take_port(entry, length, digits, digit_count, &address->port);
}

static int take_path(const char *entry, size_t length, struct mcds__address *address)
{
    if (length > MCDS__HOST_MAX)
        return memcached_servers_refuse(entry, length, MCDS__WHY(LONG_PATH));
    memcpy(address->host, entry, length);
    address->host[length] = '\0';
    address->is_unix = true;
    address->port = 0;
    return MCDS_OK;
}

static void set_name(struct mcds__server *server)
{
    const struct mcds__address *address = &server->address;
    bool is_ipv6 = strchr(address->host, ':') != NULL;
    if (address->is_unix)
        (void)snprintf(server->name, sizeof server->name, "%s", address->host);
    else
        (void)snprintf(server->name, sizeof server->name, is_ipv6 ? "[%s]:%u" : "%s:%u",
                       address->host, (unsigned)address->port);
}

static int take_server(const char *entry, size_t length, struct mcds__server *server)
{
    int result = take_weight(entry, &length, &server->weight);
    if (result != MCDS_OK)
        return result;
    result = length > 0 && entry[0] == '/' ? take_path(entry, length, &server->address)
                                           : take_host(entry, length, &server->address);
    if (result == MCDS_OK)
        set_name(server);
    return result;
}

static bool is_repeated(const struct mcds__server *servers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(servers[i].name, servers[count].name) == 0)
            return true;
    return false;
}

int mcds__memcached_parse_servers(const char *place, struct mcds__server *servers,
                                  uint32_t capacity, uint32_t *count_out)
{
    uint32_t count = 0;
    for (const char *entry = place, *next; entry != NULL; entry = next) {
        const char *comma = strchr(entry, ',');
        size_t length = comma != NULL ? (size_t)(comma - entry) : strlen(entry);
        next = comma != NULL ? comma + 1 : NULL;
        if (count == capacity)
            return mcds__fail_uri("uri", entry, "fewer servers",
                                  "the URI has more than %u servers", capacity);
        int result = take_server(entry, length, &servers[count]);
        if (result != MCDS_OK)
            return result;
        if (is_repeated(servers, count))
            return memcached_servers_refuse(entry, length, MCDS__WHY(NAMED_TWICE));
        count++;
    }
    assert(count <= capacity);
    *count_out = count;
    return MCDS_OK;
}
