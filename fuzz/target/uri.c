/* Store URIs and lists of servers: any text is taken apart or refused with a sentence; what is
 * escaped comes back as it was, and servers are known by their names. */
#include "target.h"

#include <string.h>

#include "store/memcached/memcached.h"
#include "store/uri.h"

#define SERVERS_MAX 8

static char *escape(char *out, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        *out++ = '%';
        *out++ = digits[byte >> 4];
        *out++ = digits[byte & 15];
    }
    return out;
}

/* Any place and any value of an option. */
static void write_uri(const char *text)
{
    static const char begin[] = "memcached://";
    static const char option[] = "?one=";
    static struct mcds_uri uri;
    char escaped[MCDS__URI_MAX];
    if (strlen(text) > MCDS__URI_MAX / 8)
        return;
    memcpy(escaped, begin, sizeof begin);
    char *end = escape(escaped + sizeof begin - 1, text);
    memcpy(end, option, sizeof option);
    end = escape(end + sizeof option - 1, text);
    *end = '\0';
    MUST(mcds__uri_parse(escaped, &uri) == MCDS_OK);
    MUST(strcmp(uri.scheme, "memcached") == 0 && strcmp(mcds_uri_place(&uri), text) == 0);
    MUST(uri.option_count == 1 && strcmp(mcds_uri_option(&uri, "one"), text) == 0);
    MUST(mcds_uri_option(&uri, "two") == NULL);
}

/* A server's name, given as a place, is that server again. */
static void parse_servers(const char *place)
{
    static struct mcds__server servers[SERVERS_MAX];
    static struct mcds__server again;
    uint32_t count = 0;
    uint32_t one = 0;
    if (mcds__memcached_parse_servers(place, servers, SERVERS_MAX, &count) != MCDS_OK) {
        MUST(mcds_errmsg()[0] != '\0' && count == 0);
        return;
    }
    MUST(count >= 1 && count <= SERVERS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        const struct mcds__server *server = &servers[i];
        MUST(server->weight >= 1 && server->weight <= 65535);
        MUST(server->address.host[0] != '\0');
        MUST(server->address.is_unix || server->address.port >= 1);
        MUST(mcds__memcached_parse_servers(server->name, &again, 1, &one) == MCDS_OK);
        MUST(one == 1 && again.weight == 1 && strcmp(again.name, server->name) == 0);
        MUST(again.address.port == server->address.port);
        MUST(again.address.is_unix == server->address.is_unix);
        MUST(strcmp(again.address.host, server->address.host) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const known[] = {"bytes", "strict", NULL};
    static struct mcds_uri uri;
    char text[MCDS__URI_MAX + 16];
    size_t length = size < sizeof text - 1 ? size : sizeof text - 1;
    memcpy(text, data, length);
    text[length] = '\0';
    parse_servers(text);
    write_uri(text);
    if (mcds__uri_parse(text, &uri) != MCDS_OK) {
        MUST(mcds_errmsg()[0] != '\0');
        return 0;
    }
    MUST(uri.option_count <= MCDS__URI_OPTIONS_MAX);
    MUST(strlen(uri.scheme) + strlen(uri.place) < MCDS__URI_MAX);
    for (uint32_t i = 0; i < uri.option_count; i++) {
        uint64_t number;
        (void)mcds__uri_number(&uri, uri.options[i].name, 0, 1000, 0, &number);
    }
    (void)mcds__uri_knows(&uri, known);
    return 0;
}
