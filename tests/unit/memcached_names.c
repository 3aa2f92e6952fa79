/* The memcached backend and names with several addresses. This program replaces
 * getaddrinfo(). */
#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/environment.h"
#include "store/store.h"
#include "support/server.h"

#define ADDRESSES_MAX 4
#define BACKLOG_MAX 64

static const struct {
    const char *name;
    const char *addresses[ADDRESSES_MAX + 1];
} names[] = {
    {"one.test", {"127.0.0.1"}},
    {"any.test", {"0.0.0.0"}}, /* reaches the loopback, and is not one of its addresses */
    {"127.0.0.1", {"127.0.0.1"}},
    {"both.test", {"::1", "127.0.0.1"}},
    {"twice.test", {"127.0.0.1", "::1", "127.0.0.1", "::1"}},
    {"pods.test", {"127.0.0.1", "127.0.0.2"}},
    {"pods-backwards.test", {"127.0.0.2", "127.0.0.1"}},
};

/* One address and its place in the list. */
struct found {
    struct addrinfo info;
    struct sockaddr_storage address;
};

static void add_address(struct addrinfo **list, const char *text, uint16_t port)
{
    struct found *found = calloc(1, sizeof *found);
    struct sockaddr_in *v4 = (struct sockaddr_in *)&found->address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&found->address;
    bool is_v6 = strchr(text, ':') != NULL;
    assert_int_equal(inet_pton(is_v6 ? AF_INET6 : AF_INET, text,
                               is_v6 ? (void *)&v6->sin6_addr : (void *)&v4->sin_addr),
                     1);
    if (is_v6)
        v6->sin6_port = htons(port);
    else
        v4->sin_port = htons(port);
    found->address.ss_family = is_v6 ? AF_INET6 : AF_INET;
    found->info.ai_family = found->address.ss_family;
    found->info.ai_socktype = SOCK_STREAM;
    found->info.ai_addr = (struct sockaddr *)&found->address;
    found->info.ai_addrlen = is_v6 ? sizeof *v6 : sizeof *v4;
    while (*list != NULL)
        list = &(*list)->ai_next;
    *list = &found->info;
}

int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                struct addrinfo **list_out)
{
    (void)hints;
    *list_out = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i].name, host) == 0)
            for (int n = 0; names[i].addresses[n] != NULL; n++)
                add_address(list_out, names[i].addresses[n], (uint16_t)atoi(port));
    return *list_out != NULL ? 0 : EAI_NONAME;
}

void freeaddrinfo(struct addrinfo *list)
{
    for (struct addrinfo *next; list != NULL; list = next) {
        next = list->ai_next;
        free((struct found *)(void *)list);
    }
}

/* A port on ::1 that takes no connection and refuses none: as many wait as may. */
struct silent {
    int sockets[BACKLOG_MAX + 1];
    int count;
};

static bool is_unanswered(int fd, const struct sockaddr_in6 *address)
{
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0)
        return false;
    assert_int_equal(errno, EINPROGRESS);
    (void)usleep(20000);
    int error = 0;
    socklen_t length = sizeof error;
    struct sockaddr_in6 peer;
    socklen_t peer_length = sizeof peer;
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length), 0);
    assert_int_equal(error, 0);
    return getpeername(fd, (struct sockaddr *)&peer, &peer_length) != 0;
}

static void fall_silent(struct silent *silent, uint16_t port)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    address.sin6_addr = in6addr_loopback;
    silent->sockets[0] = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    silent->count = 1;
    int yes = 1;
    if (silent->sockets[0] < 0 ||
        setsockopt(silent->sockets[0], IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes) != 0 ||
        bind(silent->sockets[0], (struct sockaddr *)&address, sizeof address) != 0) {
        print_message("skipped: no IPv6 on loopback\n");
        skip();
    }
    assert_int_equal(listen(silent->sockets[0], 0), 0);
    for (bool taken = true; taken;) {
        assert_true(silent->count <= BACKLOG_MAX);
        int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        assert_true(fd >= 0);
        silent->sockets[silent->count++] = fd;
        taken = !is_unanswered(fd, &address);
    }
}

static void speak_again(struct silent *silent)
{
    while (silent->count > 0)
        (void)close(silent->sockets[--silent->count]);
}

static int set_up(void **state)
{
    *state = calloc(1, sizeof(struct server));
    return *state != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    server_stop(*state);
    free(*state);
    return 0;
}

static void run(struct server *server)
{
    if (!server_start_memcached(server)) {
        print_message("skipped: memcached does not start\n");
        skip();
    }
}

static mcds_store *open_store(const char *name, const struct server *server,
                              const char *options)
{
    mcds_store *store = NULL;
    char uri[256];
    (void)snprintf(uri, sizeof uri, "memcached://%s:%u?%s", name, (unsigned)server->port,
                   options);
    assert_int_equal(mcds_open(uri, NULL, &store), MCDS_OK);
    return store;
}

static mcds_reply get(mcds_store *store, int64_t wait_ns)
{
    mcds_request request = {.command = MCDS_GET, .key = {"k", 1}};
    mcds_batch batch = {.requests = &request, .count = 1};
    batch.deadline_ns = mcds__monotonic_ns(mcds_env_system()) + wait_ns;
    mcds__store_execute(store, 0, &batch);
    return request.reply;
}

static void an_address_that_refuses_hides_no_other(void **state)
{
    static const char *const hosts[] = {"both.test", "twice.test", "one.test"};
    struct server *server = *state;
    run(server);
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        mcds_store *store = open_store(hosts[i], server, "connect_timeout=10000");
        for (int times = 0; times < 3; times++)
            assert_int_equal(get(store, 10 * NS_PER_S).outcome, MCDS_OUT_MISS);
        mcds_close(store);
    }
}

/* Nobody has to wait for it but the first. */
static void an_address_that_is_silent_hides_no_other(void **state)
{
    struct server *server = *state;
    struct silent silent;
    run(server);
    fall_silent(&silent, server->port);
    mcds_store *store = open_store("both.test", server, "connect_timeout=4000");
    /* Less than connect_timeout, which the silent one must not take as a whole. */
    assert_int_equal(get(store, 39 * NS_PER_S / 10).outcome, MCDS_OUT_MISS);
    assert_true(server_restart(server));
    /* Not enough for the silent one first. */
    assert_int_equal(get(store, 3 * NS_PER_S / 2).outcome, MCDS_OUT_MISS);
    mcds_close(store);
    speak_again(&silent);
}

static void when_all_are_silent_it_is_said(void **state)
{
    struct server *server = *state;
    struct silent silent;
    run(server);
    fall_silent(&silent, server->port);
    server_kill(server);
    mcds_store *store = open_store("both.test", server, "connect_timeout=200");
    mcds_reply reply = get(store, 10 * NS_PER_S);
    assert_int_equal(reply.outcome, MCDS_OUT_UNSENT);
    assert_string_equal(reply.detail->text, "connection refused: no server listens there");
    mcds_close(store);
    speak_again(&silent);
}

static void several_servers_of_one_name_are_refused(void **state)
{
    static const char *const hosts[] = {"pods.test", "pods-backwards.test"};
    struct server *server = *state;
    run(server);
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        mcds_store *store = open_store(hosts[i], server, "connect_timeout=10000");
        mcds_reply reply = get(store, 10 * NS_PER_S);
        assert_int_equal(reply.outcome, MCDS_OUT_UNSENT);
        assert_non_null(strstr(reply.detail->text, "several addresses"));
        assert_non_null(strstr(reply.peer, hosts[i]));
        mcds_close(store);
    }
}

static bool find_openness(void *context, const mcds_finding *finding)
{
    bool *found = context;
    *found = *found || strstr(finding->what, "without password and TLS") != NULL;
    return true;
}

static void a_server_open_to_the_network_is_told(void **state)
{
    static const struct {
        const char *host;
        bool is_open;
    } hosts[] = {{"any.test", true}, {"one.test", false}, {"127.0.0.1", false}};
    struct server *server = *state;
    run(server);
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        mcds_store *store = open_store(hosts[i].host, server, "connect_timeout=10000");
        bool found = false;
        assert_int_equal(mcds_inspect(store, find_openness, &found), MCDS_OK);
        assert_true(found == hosts[i].is_open);
        mcds_close(store);
    }
}

struct sought {
    const char *what;
    const char *fix;
    bool found;
};

static bool seek(void *context, const mcds_finding *finding)
{
    struct sought *sought = context;
    sought->found = sought->found || (finding->severity == MCDS_PROBLEM &&
                                      strstr(finding->what, sought->what) != NULL &&
                                      strstr(finding->fix, sought->fix) != NULL);
    return true;
}

static bool is_told(const char *host, const struct server *server, const char *what,
                    const char *fix)
{
    struct sought sought = {what, fix, false};
    mcds_store *store = open_store(host, server, "connect_timeout=10000");
    assert_int_equal(mcds_inspect(store, seek, &sought), MCDS_OK);
    mcds_close(store);
    return sought.found;
}

static void doctor_names_the_addresses_of_a_name(void **state)
{
    struct server *server = *state;
    run(server);
    assert_true(is_told("pods.test", server, "several addresses", "getent ahosts pods.test"));
    assert_false(is_told("pods.test", server, "unreachable", ""));
    assert_true(is_told("none.test", server, "cannot be resolved", "Correct the name"));
}

/* Within ten seconds. */
static bool listens_on_ipv6(uint16_t port)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    address.sin6_addr = in6addr_loopback;
    bool is_there = false;
    for (int tries = 0; tries < 1000 && !is_there; tries++) {
        int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
        is_there = fd >= 0 &&
                   connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
        if (fd >= 0)
            (void)close(fd);
        if (!is_there)
            (void)usleep(10000);
    }
    return is_there;
}

/* One server at both addresses, one at each. */
static void doctor_tells_two_servers_of_one_name(void **state)
{
    static const char what[] = "are two servers";
    struct server *server = *state;
    struct server other = {0};
    run(server);
    other.port = server->port;
    char port[8];
    (void)snprintf(port, sizeof port, "%u", (unsigned)server->port);
    char *const arguments[] = {"memcached", "-u",  "root", "-U", "0",
                               "-l",        "::1", "-p",   port, NULL};
    assert_false(is_told("both.test", server, what, "getent ahosts both.test"));
    if (!server_start(&other, arguments) || !listens_on_ipv6(server->port)) {
        server_kill(&other);
        print_message("skipped: no IPv6 on loopback\n");
        skip();
    }
    assert_true(is_told("both.test", server, what, "getent ahosts both.test"));
    server_kill(&other);
}

static void a_name_that_is_unknown_is_said_to_be_so(void **state)
{
    const struct server *server = *state;
    mcds_store *store = NULL;
    (void)server;
    assert_int_equal(mcds_open("memcached://nowhere.test", NULL, &store), MCDS_OK);
    mcds_reply reply = get(store, 10 * NS_PER_S);
    assert_int_equal(reply.outcome, MCDS_OUT_UNSENT);
    assert_string_equal(reply.detail->text, "the host name cannot be resolved");
    mcds_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_address_that_refuses_hides_no_other, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_address_that_is_silent_hides_no_other, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(when_all_are_silent_it_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_servers_of_one_name_are_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_server_open_to_the_network_is_told, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(doctor_names_the_addresses_of_a_name, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(doctor_tells_two_servers_of_one_name, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_name_that_is_unknown_is_said_to_be_so, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
