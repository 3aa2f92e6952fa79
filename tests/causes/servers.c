/* Causes that lie on the way to a server, or in the server. */
#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "causes/causes.h"
#include "support/certificates.h"
#include "support/pass_over.h"

#define ASKED                                                                                  \
    {FAKE_PROBED, NULL},                                                                       \
    {                                                                                          \
        FAKE_EXPECT, "ma "                                                                     \
    }
#define END                                                                                    \
    {                                                                                          \
        FAKE_END, NULL                                                                         \
    }

/* For answers that end the call at once, also on a slow machine. */
#define PATIENT "?timeout=60000&connect_timeout=10000"

static int get_from(struct world *world, const char *uri)
{
    open_uri(world, uri);
    return get_counter(world);
}

static int get_from_liar(struct world *world, const struct fake_step *steps,
                         const char *options)
{
    open_liar(world, steps, options);
    return get_counter(world);
}

static int add_at_liar(struct world *world, const struct fake_step *steps)
{
    open_liar(world, steps, PATIENT);
    return add_to_counter(world);
}

/* A backend that says nothing about its failures. */
static bool lose_request(void *context, mcds_request *request)
{
    (void)context;
    request->reply.outcome = MCDS_OUT_UNSENT;
    return true;
}

static bool lose_reply(void *context, mcds_request *request)
{
    (void)context;
    request->reply.outcome = MCDS_OUT_UNKNOWN;
    return true;
}

/* One that ran out of time with a part of the work done. */
static bool be_half_done(void *context, mcds_request *request)
{
    static const mcds_reason late = {.cause = MCDS_CAUSE_TIMEOUT, .text = "it took too long"};
    request->reply.detail = &late;
    return lose_reply(context, request);
}

static bool be_slow(void *context, mcds_request *request)
{
    struct world *world = context;
    fake_env_advance_ms(&world->fake, 3600000);
    return lose_request(context, request);
}

static int add_in_time_for_nothing(struct world *world)
{
    open_hooked(world, be_slow);
    return add_to_counter(world);
}

static int add_half_in_time(struct world *world)
{
    open_hooked(world, be_half_done);
    return add_to_counter(world);
}

static int add_without_a_reply(struct world *world)
{
    open_hooked(world, lose_reply);
    return add_to_counter(world);
}

static int add_without_a_way(struct world *world)
{
    open_hooked(world, lose_request);
    return add_to_counter(world);
}

static int bind_socket(const struct world *world, struct sockaddr_un *address)
{
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    (void)snprintf(address->sun_path, sizeof address->sun_path, "%s", world->file);
    MUST(bind(descriptor, (struct sockaddr *)address, sizeof *address) == 0);
    return descriptor;
}

/* A connection that waits; -1: no more may wait. */
static int connect_to(const struct sockaddr_un *address)
{
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    bool waits = connect(descriptor, (const struct sockaddr *)address, sizeof *address) == 0;
    return waits ? descriptor : -1;
}

static int get_from_a_socket_without_a_server(struct world *world)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char uri[128];
    (void)close(bind_socket(world, &address));
    (void)snprintf(uri, sizeof uri, "memcached://%s", world->file);
    return get_from(world, uri);
}

static int get_from_nowhere(struct world *world)
{
    char uri[128];
    (void)snprintf(uri, sizeof uri, "memcached://%s", world->file);
    return get_from(world, uri);
}

/* A directory where a socket should be. */
static int get_from_a_directory(struct world *world)
{
    char uri[128];
    (void)snprintf(uri, sizeof uri, "memcached://%s", world->folder);
    return get_from(world, uri);
}

static int get_where_connect_fails(struct world *world, int error)
{
    faults.connect_error = error;
    return get_from(world, "memcached://far.test");
}

static int get_without_a_route(struct world *world)
{
    return get_where_connect_fails(world, EHOSTUNREACH);
}

static int get_without_a_network(struct world *world)
{
    return get_where_connect_fails(world, ENETUNREACH);
}

static int get_from_a_silent_host(struct world *world)
{
    return get_where_connect_fails(world, ETIMEDOUT);
}

/* As many connections wait at a unix socket as may. */
static int get_from_a_server_that_accepts_nobody(struct world *world)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char uri[128];
    int listener = bind_socket(world, &address);
    MUST(listen(listener, 0) == 0);
    for (int waiting = 0; waiting >= 0;)
        waiting = connect_to(&address);
    (void)snprintf(uri, sizeof uri, "memcached://%s?timeout=300", world->file);
    return get_from(world, uri);
}

static int get_from_an_unknown_host(struct world *world)
{
    return get_from(world, "memcached://nowhere.test");
}

static int get_from_a_relative_path(struct world *world)
{
    return get_from(world, "memcached:m2.sock");
}

static int get_from_several_hosts(struct world *world)
{
    return get_from(world, "memcached://pods.test");
}

static int add_and_be_hung_up(struct world *world)
{
    static const struct fake_step steps[] = {ASKED, {FAKE_CLOSE, NULL}, END};
    return add_at_liar(world, steps);
}

static int get_from_a_silent_server(struct world *world)
{
    static const struct fake_step steps[] = {{FAKE_ACCEPT, NULL}, {FAKE_STALL, NULL}, END};
    return get_from_liar(world, steps, "?timeout=300&connect_timeout=100");
}

static int get_on_one_connection_too_many(struct world *world)
{
    static const struct fake_step steps[] = {{FAKE_ACCEPT, NULL},
                                             {FAKE_EXPECT, "mg "},
                                             {FAKE_SEND, "ERROR Too many open connections\r\n"},
                                             {FAKE_STALL, NULL},
                                             END};
    return get_from_liar(world, steps, "?timeout=3000&connect_timeout=10000");
}

/* It refuses the connection before it is asked anything. */
static int get_on_a_connection_refused_at_once(struct world *world)
{
    static const struct fake_step steps[] = {{FAKE_ACCEPT, NULL},
                                             {FAKE_SEND, "ERROR Too many open connections\r\n"},
                                             {FAKE_CLOSE, NULL},
                                             END};
    faults.sends_late = true;
    return get_from_liar(world, steps, "?timeout=3000&connect_timeout=10000");
}

static int get_from_http(struct world *world)
{
    static const struct fake_step steps[] = {{FAKE_ACCEPT, NULL},
                                             {FAKE_EXPECT, "mg "},
                                             {FAKE_SEND, "HTTP/1.1 400 Bad Request\r\n\r\n"},
                                             {FAKE_STALL, NULL},
                                             END};
    return get_from_liar(world, steps, PATIENT);
}

static int get_from_tls(struct world *world)
{
    static const struct fake_step steps[] = {{FAKE_ACCEPT, NULL},
                                             {FAKE_EXPECT, "mg "},
                                             {FAKE_SEND, "\x15\x03\x03"},
                                             {FAKE_STALL, NULL},
                                             END};
    return get_from_liar(world, steps, PATIENT);
}

static int get_with_a_strange_certificate(struct world *world)
{
    struct certificates certificates;
    const char *missing = NULL;
    char uri[256];
    if (!certificates_make(&certificates, world->folder, &missing) && missing != NULL)
        skip_row(missing);
    world->server.options = certificates.options;
    MUST(missing == NULL && server_start_memcached(&world->server));
    (void)snprintf(uri, sizeof uri,
                   "memcached://127.0.0.1:%u?tls=1&ca=%s/other-ca.pem&timeout=60000"
                   "&connect_timeout=10000",
                   (unsigned)world->server.port, world->folder);
    return get_from(world, uri);
}

static int get_without_a_password(struct world *world)
{
    static const struct fake_step steps[] = {{FAKE_ACCEPT, NULL},
                                             {FAKE_EXPECT, "mg "},
                                             {FAKE_SEND, "CLIENT_ERROR unauthenticated\r\n"},
                                             {FAKE_STALL, NULL},
                                             END};
    return get_from_liar(world, steps, PATIENT);
}

static int get_without_meta(struct world *world)
{
    static const struct fake_step steps[] = {{FAKE_ACCEPT, NULL},
                                             {FAKE_EXPECT, "mg "},
                                             {FAKE_SEND, "ERROR\r\n"},
                                             {FAKE_STALL, NULL},
                                             END};
    return get_from_liar(world, steps, PATIENT "&protocol=meta");
}

static int add_and_get_another_answer(struct world *world)
{
    static const struct fake_step steps[] = {
        ASKED, {FAKE_SEND, "HD O999\r\n"}, {FAKE_STALL, NULL}, END};
    return add_at_liar(world, steps);
}

static int add_and_get_an_error(struct world *world)
{
    static const struct fake_step steps[] = {
        ASKED, {FAKE_SEND, "SERVER_ERROR out of luck\r\n"}, {FAKE_STALL, NULL}, END};
    return add_at_liar(world, steps);
}

static void start_memcached(struct world *world, char *const *options)
{
    char uri[128];
    if (!server_is_installed("memcached"))
        skip_row("memcached is not installed");
    world->server.options = options;
    MUST(server_start_memcached_unix(&world->server));
    server_uri(&world->server, uri, sizeof uri);
    open_uri(world, uri);
}

static int clear_without_compare_and_set(struct world *world)
{
    static char without[] = "-C";
    static char *const options[] = {without, NULL};
    mcds_list *list;
    start_memcached(world, options);
    MUST_DO(mcds_list_open(world->store, "l", NULL, &list));
    MUST_DO(mcds_list_push(list, mcds_text("e")));
    int result = mcds_list_clear(list);
    mcds_list_close(list);
    return result;
}

static int list_at_a_busy_server(struct world *world)
{
    static const struct fake_step steps[] = {
        {FAKE_ACCEPT, NULL},
        {FAKE_REPEAT, "BUSY currently processing crawler request\r\n"},
        END};
    open_liar(world, steps, "?timeout=300");
    return mcds_scan(world->store, pass_listed, NULL);
}

static const struct row rows[] = {
    {add_in_time_for_nothing,
     {.result = MCDS_TIMEOUT,
      .cause = MCDS_CAUSE_TIMEOUT,
      .noun = "counter",
      .name = "x",
      .verb = "add"},
     "counter 'x': add: the deadline passed; not applied"},
    {add_half_in_time,
     {.result = MCDS_AMBIGUOUS,
      .cause = MCDS_CAUSE_UNFINISHED,
      .noun = "counter",
      .name = "x",
      .verb = "add"},
     "counter 'x': add: the deadline passed, and a part of it may be done"},
    {add_without_a_reply,
     {.result = MCDS_AMBIGUOUS,
      .cause = MCDS_CAUSE_REPLY_LOST,
      .noun = "counter",
      .name = "x",
      .verb = "add"},
     "counter 'x': add: the reply was lost"},
    {add_without_a_way,
     {.result = MCDS_UNAVAILABLE,
      .cause = MCDS_CAUSE_UNREACHABLE,
      .noun = "counter",
      .name = "x",
      .verb = "add"},
     "counter 'x': add: the store cannot be reached; not applied"},
    {get_from_a_socket_without_a_server,
     {.result = MCDS_UNAVAILABLE,
      .cause = MCDS_CAUSE_CONNECTION_REFUSED,
      .os_error = ECONNREFUSED,
      .noun = "counter",
      .name = "x",
      .verb = "get",
      .peer = "/tmp/mcds-causes-*/store"},
     "counter 'x': get: /tmp/mcds-causes-*/store: connection refused: no server listens "
     "there"},
    {add_and_be_hung_up,
     {.result = MCDS_AMBIGUOUS,
      .cause = MCDS_CAUSE_CONNECTION_CLOSED,
      .os_error = ECONNRESET,
      .noun = "counter",
      .name = "x",
      .verb = "add",
      .peer = "/tmp/mcds-fake-*/sock"},
     "counter 'x': add: /tmp/mcds-fake-*/sock: the server has closed the connection"},
    {get_without_a_route,
     {.result = MCDS_UNAVAILABLE,
      .cause = MCDS_CAUSE_NO_ROUTE,
      .os_error = EHOSTUNREACH,
      .noun = "counter",
      .name = "x",
      .verb = "get",
      .peer = "far.test:11211"},
     "counter 'x': get: far.test:11211: no route to the host"},
    {get_without_a_network,
     {.result = MCDS_UNAVAILABLE,
      .cause = MCDS_CAUSE_NO_ROUTE,
      .os_error = ENETUNREACH,
      .noun = "counter",
      .name = "x",
      .verb = "get",
      .peer = "far.test:11211"},
     "counter 'x': get: far.test:11211: no route to the network of the host"},
    {get_from_nowhere,
     {.result = MCDS_UNAVAILABLE,
      .cause = MCDS_CAUSE_NO_SOCKET_FILE,
      .os_error = ENOENT,
      .noun = "counter",
      .name = "x",
      .verb = "get",
      .peer = "/tmp/mcds-causes-*/store"},
     "counter 'x': get: /tmp/mcds-causes-*/store: no such socket file: no server listens "
     "there"},
    {get_from_a_directory,
     {.result = MCDS_UNAVAILABLE,
      .cause = MCDS_CAUSE_NO_SOCKET_FILE,
      .os_error = ECONNREFUSED,
      .noun = "counter",
      .name = "x",
      .verb = "get",
      .peer = "/tmp/mcds-causes-*"},
     "counter 'x': get: /tmp/mcds-causes-*: this is not a unix socket; give the path of the "
     "server's socket: memcached:///PATH"},
    {get_from_a_silent_host,
     {.result = MCDS_UNAVAILABLE,
      .cause = MCDS_CAUSE_HOST_SILENT,
      .os_error = ETIMEDOUT,
      .noun = "counter",
      .name = "x",
      .verb = "get",
      .peer = "far.test:11211"},
     "counter 'x': get: far.test:11211: the host does not answer"},
    {get_from_a_server_that_accepts_nobody,
     {.result = MCDS_UNAVAILABLE,
      .cause = MCDS_CAUSE_SERVER_SILENT,
      .os_error = EAGAIN,
      .noun = "counter",
      .name = "x",
      .verb = "get",
      .peer = "/tmp/mcds-causes-*/store"},
     "counter 'x': get: /tmp/mcds-causes-*/store: the server accepts no connections: it is "
     "stopped or overloaded"},
    {get_from_a_silent_server,
     {.result = MCDS_UNAVAILABLE,
      .cause = MCDS_CAUSE_SERVER_SILENT,
      .noun = "counter",
      .name = "x",
      .verb = "get",
      .peer = "/tmp/mcds-fake-*/sock"},
     "counter 'x': get: /tmp/mcds-fake-*/sock: connected, but it does not answer: it is "
     "stopped or overloaded, or is not memcached"},
    {get_from_an_unknown_host,
     {.result = MCDS_UNAVAILABLE,
      .cause = MCDS_CAUSE_UNKNOWN_HOST,
      .noun = "counter",
      .name = "x",
      .verb = "get",
      .peer = "nowhere.test:11211"},
     "counter 'x': get: nowhere.test:11211: the host name cannot be resolved"},
    {get_from_a_relative_path,
     {.result = MCDS_UNAVAILABLE,
      .cause = MCDS_CAUSE_UNKNOWN_HOST,
      .noun = "counter",
      .name = "x",
      .verb = "get",
      .peer = "m2.sock:11211"},
     "counter 'x': get: m2.sock:11211: no such host; a unix socket needs an absolute path"},
    {get_from_several_hosts,
     {.result = MCDS_UNAVAILABLE,
      .cause = MCDS_CAUSE_SEVERAL_ADDRESSES,
      .noun = "counter",
      .name = "x",
      .verb = "get",
      .peer = "pods.test:11211"},
     "counter 'x': get: pods.test:11211: the name has several addresses, which can be several "
     "servers; give one address, or list the servers one by one"},
    {get_on_one_connection_too_many,
     {.result = MCDS_UNAVAILABLE,
      .cause = MCDS_CAUSE_TOO_MANY_CONNECTIONS,
      .noun = "counter",
      .name = "x",
      .verb = "get",
      .peer = "/tmp/mcds-fake-*/sock"},
     "counter 'x': get: /tmp/mcds-fake-*/sock: the server has reached its limit of connections "
     "(its option -c)"},
    {get_on_a_connection_refused_at_once,
     {.result = MCDS_UNAVAILABLE,
      .cause = MCDS_CAUSE_TOO_MANY_CONNECTIONS,
      .noun = "counter",
      .name = "x",
      .verb = "get",
      .peer = "/tmp/mcds-fake-*/sock"},
     "counter 'x': get: /tmp/mcds-fake-*/sock: the server has reached its limit of connections "
     "(its option -c)"},
    {get_from_http,
     {.result = MCDS_PROTOCOL,
      .cause = MCDS_CAUSE_NOT_MEMCACHED,
      .noun = "counter",
      .name = "x",
      .verb = "get",
      .peer = "/tmp/mcds-fake-*/sock"},
     "counter 'x': get: /tmp/mcds-fake-*/sock: this is an HTTP server, not memcached"},
    {get_from_tls,
     {.result = MCDS_PROTOCOL,
      .cause = MCDS_CAUSE_TLS,
      .noun = "counter",
      .name = "x",
      .verb = "get",
      .peer = "/tmp/mcds-fake-*/sock"},
     "counter 'x': get: /tmp/mcds-fake-*/sock: this server uses TLS: add tls=1 to the URI"},
    {get_with_a_strange_certificate,
     {.result = MCDS_PROTOCOL,
      .cause = MCDS_CAUSE_CERTIFICATE,
      .noun = "counter",
      .name = "x",
      .verb = "get",
      .peer = "127.0.0.1:*"},
     "counter 'x': get: 127.0.0.1:*: no trusted authority has signed the server's "
     "certificate: add ca=PATH to the URI, a file with the certificate of its authority"},
    {get_without_a_password,
     {.result = MCDS_PROTOCOL,
      .cause = MCDS_CAUSE_PASSWORD,
      .noun = "counter",
      .name = "x",
      .verb = "get",
      .peer = "/tmp/mcds-fake-*/sock"},
     "counter 'x': get: /tmp/mcds-fake-*/sock: the server requires a password: write "
     "USER:PASSWORD into a file with mode 0600, and add auth_file=PATH to the URI"},
    {add_and_get_another_answer,
     {.result = MCDS_AMBIGUOUS,
      .cause = MCDS_CAUSE_BAD_REPLY,
      .noun = "counter",
      .name = "x",
      .verb = "add",
      .peer = "/tmp/mcds-fake-*/sock"},
     "counter 'x': add: /tmp/mcds-fake-*/sock: the server's replies do not match the requests"},
    {add_and_get_an_error,
     {.result = MCDS_AMBIGUOUS,
      .cause = MCDS_CAUSE_SERVER_ERROR,
      .noun = "counter",
      .name = "x",
      .verb = "add",
      .peer = "/tmp/mcds-fake-*/sock"},
     "counter 'x': add: /tmp/mcds-fake-*/sock: the server, or a proxy before it, answered "
     "SERVER_ERROR"},
    {get_without_meta,
     {.result = MCDS_PROTOCOL,
      .cause = MCDS_CAUSE_NO_COMMAND,
      .noun = "counter",
      .name = "x",
      .verb = "get",
      .peer = "/tmp/mcds-fake-*/sock"},
     "counter 'x': get: /tmp/mcds-fake-*/sock: the server has no meta protocol (memcached "
     "1.6.18), and the URI says protocol=meta"},
    {clear_without_compare_and_set,
     {.result = MCDS_UNSUPPORTED,
      .cause = MCDS_CAUSE_NO_COMPARE_AND_SET,
      .noun = "list",
      .name = "l",
      .verb = "clear"},
     "list 'l': clear: the store has no compare-and-set (memcached: start it without -C)"},
    {list_at_a_busy_server,
     {.result = MCDS_UNAVAILABLE,
      .cause = MCDS_CAUSE_CONTENDED,
      .noun = "store",
      .verb = "scan",
      .peer = "/tmp/mcds-fake-*/sock"},
     "store: scan: /tmp/mcds-fake-*/sock: the server is listing its keys for another client; "
     "try again"},
};

const struct table causes_of_servers = {rows, sizeof rows / sizeof rows[0]};
