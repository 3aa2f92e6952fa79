/* Flaws that only appear on the wire of a real memcached. */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "article/rows.h"
#include "mcds.h"
#include "support/server.h"

#define ANSWER_MS 5000

/* Send a text as the article's driver would put it together, and wait until the answers end with
 * `until`. */
static bool tell(int socket, const char *text, const char *until, char *answer, size_t capacity)
{
    size_t length = strlen(text);
    size_t end = strlen(until);
    size_t got = 0;
    answer[0] = '\0';
    if (send(socket, text, length, MSG_NOSIGNAL) != (ssize_t)length)
        return false;
    while (got < end || strcmp(answer + got - end, until) != 0) {
        struct pollfd ready = {socket, POLLIN, 0};
        if (got + 1 == capacity || poll(&ready, 1, ANSWER_MS) != 1)
            return false;
        ssize_t more = recv(socket, answer + got, capacity - 1 - got, 0);
        if (more <= 0)
            return false;
        got += (size_t)more;
        answer[got] = '\0';
    }
    return true;
}

/* Run `part` against a server of its own. */
static bool with_server(bool (*part)(const struct server *server))
{
    struct server server = {.port = 0};
    if (!server_is_installed("memcached"))
        return row_is_skipped("memcached is not installed");
    SHOW(server_start_memcached(&server));
    bool shown = part(&server);
    server_stop(&server);
    return shown;
}

/* The same with a connection. */
static bool with_socket(const struct server *server, bool (*part)(int socket))
{
    int socket = server_connect(server);
    SHOW(socket >= 0);
    bool shown = part(socket);
    (void)close(socket);
    return shown;
}

static bool inject(int socket)
{
    char answer[256];
    /* get(name), with a name that a visitor chose */
    SHOW(tell(socket,
              "get a\r\nset injected 0 0 1\r\nx"
              "\r\n",
              "STORED\r\n", answer, sizeof answer));
    SHOW(tell(socket, "get injected\r\n", "END\r\n", answer, sizeof answer));
    SHOW(strstr(answer, "VALUE injected") != NULL);
    SHOW(tell(socket, "get two words\r\n", "END\r\n", answer, sizeof answer));
    return true;
}

static bool inject_article(const struct server *server)
{
    return with_socket(server, inject);
}

static bool is_not_injected(int socket)
{
    char answer[256];
    SHOW(tell(socket, "get injected\r\n", "END\r\n", answer, sizeof answer));
    SHOW(strcmp(answer, "END\r\n") == 0);
    return true;
}

static bool inject_ours(const struct server *server)
{
    static char long_name[1025];
    const char *const names[] = {"a\r\nset injected 0 0 1\r\nx", "two words", long_name, "%d"};
    char uri[160];
    mcds_store *store = NULL;
    memset(long_name, 'n', sizeof long_name - 1);
    server_uri(server, uri, sizeof uri);
    ANSWERS(MCDS_OK, mcds_open(uri, NULL, &store));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        mcds_counter *counter = NULL;
        int64_t value = 0;
        ANSWERS(MCDS_OK, mcds_counter_open(store, names[i], NULL, &counter));
        ANSWERS(MCDS_OK, mcds_counter_add(counter, 1, &value));
        mcds_counter_close(counter);
        SHOW(value == 1);
    }
    mcds_close(store);
    return with_socket(server, is_not_injected);
}

static bool G7_keys_unchecked_article(struct world *world)
{
    (void)world;
    return with_server(inject_article);
}

static bool G7_keys_unchecked_ours(struct world *world)
{
    (void)world;
    return with_server(inject_ours);
}

static bool add_twice(int socket)
{
    char answer[256];
    for (int i = 0; i < 2; i++)
        SHOW(tell(socket, "add lock_x 0 2592001 1\r\n1\r\n", "STORED\r\n", answer,
                  sizeof answer));
    return strncmp(answer, "STORED", 6) == 0;
}

static bool long_ttl_article(const struct server *server)
{
    return with_socket(server, add_twice);
}

static bool keeps_forty_days(const struct server *server, const char *option)
{
    char uri[160];
    mcds_store *store = NULL;
    mcds_counter *counter = NULL;
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    server_uri(server, uri, sizeof uri - 32);
    strncat(uri, option, 31);
    options.ttl_ms = UINT64_C(40) * 86400 * 1000;
    ANSWERS(MCDS_OK, mcds_open(uri, NULL, &store));
    ANSWERS(MCDS_OK, mcds_counter_open(store, option, &options, &counter));
    ANSWERS(MCDS_OK, mcds_counter_add(counter, 7, NULL));
    ANSWERS(MCDS_OK, mcds_counter_get(counter, &value));
    mcds_counter_close(counter);
    mcds_close(store);
    SHOW(value.value == 7);
    return true;
}

static bool long_ttl_ours(const struct server *server)
{
    return keeps_forty_days(server, "?protocol=meta") &&
           keeps_forty_days(server, "?protocol=classic");
}

static bool G8_ttl_over_30_days_article(struct world *world)
{
    (void)world;
    return with_server(long_ttl_article);
}

static bool G8_ttl_over_30_days_ours(struct world *world)
{
    (void)world;
    return with_server(long_ttl_ours);
}

static bool set_without_reply(int socket)
{
    char answer[256];
    /* A driver that counted characters and not bytes; it expects one answer, to its get. */
    SHOW(tell(socket, "set k 0 0 3 noreply\r\n12345\r\nget k\r\n", "END\r\n", answer,
              sizeof answer));
    SHOW(strncmp(answer, "VALUE", 5) != 0 && strncmp(answer, "END", 3) != 0);
    return true;
}

static bool without_reply_article(const struct server *server)
{
    return with_socket(server, set_without_reply);
}

static bool spoil(int socket)
{
    char answer[256];
    SHOW(tell(socket, "set mcds:c1:x 0 0 3\r\nabc\r\n", "STORED\r\n", answer, sizeof answer));
    return true;
}

static bool without_reply_ours(const struct server *server)
{
    char uri[160];
    mcds_store *store = NULL;
    mcds_counter *spoilt = NULL;
    mcds_counter *counter = NULL;
    int64_t value = 0;
    SHOW(with_socket(server, spoil));
    server_uri(server, uri, sizeof uri);
    ANSWERS(MCDS_OK, mcds_open(uri, NULL, &store));
    ANSWERS(MCDS_OK, mcds_counter_open(store, "x", NULL, &spoilt));
    ANSWERS(MCDS_OK, mcds_counter_open(store, "y", NULL, &counter));
    ANSWERS(MCDS_CORRUPT, mcds_counter_add(spoilt, 1, NULL));
    ANSWERS(MCDS_OK, mcds_counter_add(counter, 1, &value));
    mcds_counter_close(spoilt);
    mcds_counter_close(counter);
    mcds_close(store);
    SHOW(value == 1);
    return true;
}

static bool G18_noreply_article(struct world *world)
{
    (void)world;
    return with_server(without_reply_article);
}

static bool G18_noreply_ours(struct world *world)
{
    (void)world;
    return with_server(without_reply_ours);
}

static const struct row rows[] = {
    ROW(G7_keys_unchecked,
        "a name with a line end executes a second command; a name with a blank is "
        "two keys",
        "names are encoded, long names hashed: any bytes, up to 1024"),
    ROW(G8_ttl_over_30_days,
        "memcached answers STORED and discards the item: add succeeds twice",
        "a longer ttl is sent as an absolute time, in both protocols"),
    ROW(G18_noreply, "an error of a silent set is taken for the reply to the next command",
        "every request has a reply, and a refusal belongs to its own request"),
};

const struct rows wire_rows = ROWS("wire", "All structures, on a real memcached", rows);
