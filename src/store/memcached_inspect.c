/* For people: which keys the servers hold, and what is wrong with the servers. One connection
 * of its own per server, one exchange after the other. */
#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "base/key.h"
#include "base/number.h"
#include "store/homes.h"
#include "store/memcached.h"
#include "store/report.h"

#define EXCHANGE_NS (5 * NS_PER_S)
#define BUSY_PAUSE_NS (20 * NS_PER_MS)
#define CLOCK_DIFFERENCE_S_MAX 2
#define NEAR_FULL_PERCENT 90

/* Takes one line of an answer. False: that was the last. */
typedef bool take_line(void *context, const char *line, size_t length);

/* Wait until the connection can go on. False: broken or too late. */
static bool wait_once(struct mcds__connection *connection, const mcds_env *env,
                      int64_t deadline_ns, uint8_t *ready)
{
    int64_t left_ns = deadline_ns - mcds__monotonic_ns(env);
    if (left_ns <= 0) {
        connection->trouble = "no answer before the deadline";
        return false;
    }
    mcds__connection_wait(&connection, 1, left_ns, ready);
    return true;
}

static bool connect_now(struct mcds__connection *connection, const struct mcds__memcached *home,
                        const struct mcds__server *server)
{
    if (!mcds__connection_open(connection, &server->address, 0))
        return false;
    int64_t now_ns = mcds__monotonic_ns(home->env);
    int64_t deadline_ns = now_ns + home->connect_timeout_ns;
    while (connection->connecting) {
        int64_t share_ns = mcds__connection_share_ns(connection, deadline_ns - now_ns);
        uint8_t ready = READY_NOT;
        while (ready == READY_NOT &&
               wait_once(connection, home->env, now_ns + share_ns, &ready)) {
            /* until it is ready or its share is over */
        }
        if (!(ready != READY_NOT ? mcds__connection_go_on(connection)
                                 : mcds__connection_pass_over(connection)))
            return false;
        now_ns = mcds__monotonic_ns(home->env);
    }
    return true;
}

/* Hand out the lines that have come, ended by LF or CR LF. False: the last one was among them.
 */
static bool take_lines(struct mcds__connection *connection, take_line *take, void *context)
{
    while (connection->in_taken < connection->in.length) {
        const char *line = (const char *)connection->in.at + connection->in_taken;
        size_t left = connection->in.length - connection->in_taken;
        const char *end = memchr(line, '\n', left);
        if (end == NULL)
            return true;
        size_t length = (size_t)(end - line);
        connection->in_taken += length + 1;
        if (length > 0 && line[length - 1] == '\r')
            length--;
        if (!take(context, line, length))
            return false;
    }
    return true;
}

/* Send a command and hand out the lines of its answer. */
static bool exchange(struct mcds__connection *connection, const mcds_env *env,
                     const char *command, take_line *take, void *context)
{
    int64_t deadline_ns = mcds__monotonic_ns(env) + EXCHANGE_NS;
    uint8_t ready;
    if (!mcds_buffer_append(&connection->out, command, strlen(command)))
        return false;
    for (;;) {
        if (mcds__connection_wants_to_send(connection) && !mcds__connection_send(connection))
            return false;
        if (!wait_once(connection, env, deadline_ns, &ready))
            return false;
        if ((ready & READY_TO_RECEIVE) == 0)
            continue;
        bool alive = mcds__connection_receive(connection, 1);
        if (!take_lines(connection, take, context))
            return true;
        if (!alive || connection->in.length - connection->in_taken > MCDS__WIRE_LINE_MAX)
            return false;
    }
}

struct listing {
    mcds_bytes prefix;
    bool (*visit)(void *context, mcds_bytes key);
    void *context;
    bool ended;   /* by the visitor */
    bool refused; /* by the server, */
    bool busy;    /* and only for the moment */
};

/* "key=NAME exp=... ...", the name percent-encoded. */
static bool take_dumped(void *context, const char *line, size_t length)
{
    struct listing *listing = context;
    char key[MCDS__KEY_MAX];
    size_t key_length = 0;
    if (mcds__wire_is(line, length, "END"))
        return false;
    listing->busy = mcds__wire_begins(line, length, "BUSY ");
    listing->refused = !mcds__wire_begins(line, length, "key=");
    if (listing->refused)
        return false;
    for (size_t i = 4; i < length && line[i] != ' ' && key_length < sizeof key; i++) {
        int high = line[i] == '%' && i + 2 < length ? mcds__hex_value(line[i + 1]) : -1;
        int low = high >= 0 ? mcds__hex_value(line[i + 2]) : -1;
        key[key_length++] = (char)(low >= 0 ? high << 4 | low : line[i]);
        i += low >= 0 ? 2 : 0;
    }
    if (listing->ended || key_length < listing->prefix.length ||
        memcmp(key, listing->prefix.at, listing->prefix.length) != 0)
        return true;
    listing->ended = !listing->visit(listing->context, (mcds_bytes){key, key_length});
    return true;
}

/* By the hash table: all keys. Servers that cannot, and answer BADCLASS, go by the lists of what
 * was used last, and pass over keys that are being moved between them. */
static bool list_once(struct mcds__connection *connection, const struct mcds__memcached *home,
                      struct listing *listing)
{
    bool fine = exchange(connection, home->env, "lru_crawler metadump hash\r\n", take_dumped,
                         listing);
    if (fine && listing->refused && !listing->busy)
        fine = exchange(connection, home->env, "lru_crawler metadump all\r\n", take_dumped,
                        listing);
    return fine;
}

/* A server goes through its keys for one at a time, itself among them, and tells all others at
 * once that it is busy. */
static bool list_keys(struct mcds__connection *connection, const struct mcds__memcached *home,
                      struct listing *listing)
{
    int64_t until_ns = mcds__monotonic_ns(home->env) + EXCHANGE_NS;
    for (;;) {
        int64_t now_ns = mcds__monotonic_ns(home->env);
        if (!list_once(connection, home, listing))
            return false;
        if (!listing->busy || now_ns >= until_ns)
            return true;
        mcds__sleep_until_ns(home->env, now_ns + BUSY_PAUSE_NS);
    }
}

/* Ask the server for a key that is not there: connecting tells all there is to know, and why it
 * fails if it does. NULL: it answers. */
static const char *probe(struct mcds__memcached *home, uint32_t server, int *result_out)
{
    static const char key[] = "mcds-probe-inspect";
    void *state;
    *result_out = MCDS_UNAVAILABLE;
    if (mcds__home_memcached.lane_open(home, &state) != MCDS_OK)
        return "no memory for a connection";
    mcds_request request = {.command = MCDS_GET, .key = {key, strlen(key)}};
    mcds_batch batch = {.requests = &request,
                        .count = 1,
                        .deadline_ns = mcds__monotonic_ns(home->env) + EXCHANGE_NS};
    mcds__lane_ask(state, server, &batch);
    while (mcds__home_memcached.collect(state, batch.deadline_ns) == NULL) {
        /* the batch is answered at its deadline */
    }
    mcds__home_memcached.lane_close(state);
    const mcds_reply *reply = &request.reply;
    if (reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS)
        return NULL;
    if (reply->outcome == MCDS_OUT_PROTOCOL)
        *result_out = MCDS_PROTOCOL;
    return reply->detail != NULL ? reply->detail : "no answer";
}

/* Why the keys of a server could not be listed. */
static int refuse_listing(struct mcds__memcached *home, uint32_t server,
                          const struct listing *listing, const char *trouble)
{
    const char *name = home->servers[server].name;
    int result;
    if (listing->busy)
        return mcds_fail(
            MCDS_UNAVAILABLE,
            "list: %s: the server is listing its keys for another client; try again", name);
    const char *probed = probe(home, server, &result);
    if (probed != NULL)
        return mcds_fail(result, "list: %s: %s", name, probed);
    if (listing->refused)
        return mcds_fail(MCDS_UNSUPPORTED,
                         "list: %s: the server does not list its keys (lru_crawler metadump)",
                         name);
    return mcds_fail(MCDS_UNAVAILABLE, "list: %s: %s", name,
                     trouble != NULL ? trouble : "the answer broke off");
}

int mcds__memcached_keys(void *state, mcds_bytes prefix,
                         bool (*visit)(void *context, mcds_bytes key), void *context)
{
    struct mcds__memcached *home = state;
    struct listing listing = {.prefix = prefix, .visit = visit, .context = context};
    for (uint32_t i = 0; i < home->server_count && !listing.ended; i++) {
        struct mcds__connection connection;
        mcds__connection_init(&connection, home->env);
        bool fine = connect_now(&connection, home, &home->servers[i]) &&
                    list_keys(&connection, home, &listing);
        const char *trouble = connection.trouble;
        mcds__connection_close(&connection);
        if (!fine || listing.busy || listing.refused)
            return refuse_listing(home, i, &listing, trouble);
    }
    return MCDS_OK;
}

/* What a server says of itself. */
struct facts {
    char version[64];
    uint64_t time_s;
    uint64_t evictions;
    uint64_t bytes;
    uint64_t bytes_max;
    uint64_t connections;
    uint64_t connections_max;
    uint64_t temporary_ttl_s;
    bool evicts;
    bool keeps_leases; /* evicts nothing that expires within temporary_ttl_s */
    bool stopped;      /* the answer was no statistics */
};

static bool take_number(const char *line, size_t length, const char *name, uint64_t *out)
{
    size_t name_length = strlen(name);
    return mcds__wire_begins(line, length, name) &&
           mcds__parse_u64(line + name_length, length - name_length, out);
}

static bool take_fact(void *context, const char *line, size_t length)
{
    struct facts *facts = context;
    static const char version[] = "STAT version ";
    if (mcds__wire_is(line, length, "END"))
        return false;
    if (!mcds__wire_begins(line, length, "STAT ")) {
        facts->stopped = true;
        return false;
    }
    if (mcds__wire_begins(line, length, version))
        (void)snprintf(facts->version, sizeof facts->version, "%.*s",
                       (int)(length - strlen(version)), line + strlen(version));
    if (mcds__wire_is(line, length, "STAT evictions off"))
        facts->evicts = false;
    if (mcds__wire_is(line, length, "STAT temp_lru yes"))
        facts->keeps_leases = true;
    (void)take_number(line, length, "STAT time ", &facts->time_s);
    (void)take_number(line, length, "STAT evictions ", &facts->evictions);
    (void)take_number(line, length, "STAT bytes ", &facts->bytes);
    (void)take_number(line, length, "STAT limit_maxbytes ", &facts->bytes_max);
    (void)take_number(line, length, "STAT curr_connections ", &facts->connections);
    (void)take_number(line, length, "STAT max_connections ", &facts->connections_max);
    (void)take_number(line, length, "STAT temporary_ttl ", &facts->temporary_ttl_s);
    return true;
}

static void tell_memory(struct mcds__report *report, const struct facts *facts)
{
    mcds__report(report, MCDS_FACT, "", "%llu of %llu MB in use",
                 (unsigned long long)facts->bytes >> 20,
                 (unsigned long long)facts->bytes_max >> 20);
    if (facts->evictions > 0)
        mcds__report(
            report, MCDS_PROBLEM,
            "Give the server more memory (-m), keep state apart from caches, and start it with "
            "-o temporary_ttl=N, N the longest lease in seconds, so that leases stay.",
            "it has evicted %llu items; locks and counters are evicted like anything else",
            (unsigned long long)facts->evictions);
    else if (facts->evicts && !facts->keeps_leases)
        mcds__report(report, MCDS_ADVICE,
                     "Start it with -o temporary_ttl=N, N the longest lease in seconds.",
                     "when its memory is full it will evict leases like anything else");
    if (!facts->evicts)
        mcds__report(
            report, MCDS_ADVICE,
            "Watch its memory: without room, a renewal is refused and loses the lease.",
            "it does not evict (-M): when its memory is full, writes fail");
    if (facts->evicts && facts->keeps_leases)
        mcds__report(report, MCDS_FACT, "", "leases of up to %llu seconds are never evicted",
                     (unsigned long long)facts->temporary_ttl_s);
    if (facts->bytes_max > 0 &&
        facts->bytes / (facts->bytes_max / 100 + 1) >= NEAR_FULL_PERCENT)
        mcds__report(report, MCDS_PROBLEM, "Give it more memory (-m).",
                     "its memory is nearly full");
}

static void tell_rest(struct mcds__report *report, const struct mcds__memcached *home,
                      const struct facts *facts)
{
    int64_t wall_s = mcds__wall_ns(home->env) / NS_PER_S;
    uint64_t now_s = wall_s > 0 ? (uint64_t)wall_s : 0;
    uint64_t difference_s = now_s > facts->time_s ? now_s - facts->time_s
                                                  : facts->time_s - now_s;
    if (facts->time_s > 0 && difference_s > CLOCK_DIFFERENCE_S_MAX)
        mcds__report(report, MCDS_PROBLEM, "Let both machines follow an NTP server.",
                     "its clock and ours differ by %llu seconds",
                     (unsigned long long)difference_s);
    if (facts->connections_max > 0 &&
        facts->connections * 100 / facts->connections_max >= NEAR_FULL_PERCENT)
        mcds__report(report, MCDS_PROBLEM, "Raise its limit of connections (-c).",
                     "%llu of %llu connections are in use",
                     (unsigned long long)facts->connections,
                     (unsigned long long)facts->connections_max);
}

static void tell_abilities(struct mcds__report *report, struct mcds__memcached *home,
                           uint32_t server, const struct facts *facts)
{
    (void)pthread_mutex_lock(&home->mutex);
    mcds_capabilities can = home->servers[server].can;
    (void)pthread_mutex_unlock(&home->mutex);
    mcds__report(report, MCDS_FACT, "", "memcached %s, %s protocol%s, values up to %llu bytes",
                 facts->version[0] != '\0' ? facts->version : "(version unknown)",
                 can.create_on_increment ? "meta" : "classic",
                 can.ordered_batch ? "" : ", one by one", (unsigned long long)can.value_max);
    if (!can.ordered_batch)
        mcds__report(
            report, MCDS_ADVICE,
            "Name the servers themselves in the URI, if this machine can reach them.",
            "it is a proxy, or behaves like one: requests that must keep their order go one by "
            "one, at one round trip each");
    if (!can.compare_and_set)
        mcds__report(report, MCDS_PROBLEM, "Start it without -C, or use a newer server.",
                     "it has no compare-and-set, which locks and online counters need");
}

/* By its name: what a name means may change. */
static bool is_local(const struct mcds__address *address)
{
    const char *host = address->host;
    return address->is_unix || strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
           strncmp(host, "127.", 4) == 0;
}

static void tell_openness(struct mcds__report *report, const struct mcds__server *server)
{
    if (!is_local(&server->address))
        mcds__report(report, MCDS_ADVICE,
                     "Let only trusted machines reach its port (memcached -l, a firewall), or "
                     "use a tunnel, such as WireGuard or stunnel.",
                     "it answers over the network without password and TLS: everybody who "
                     "reaches it can read, change and erase everything");
}

static void inspect_server(struct mcds__report *report, struct mcds__memcached *home,
                           uint32_t i)
{
    const struct mcds__server *server = &home->servers[i];
    struct facts facts = {.evicts = true};
    report->subject = server->name;
    int result;
    const char *trouble = probe(home, i, &result);
    if (trouble != NULL) {
        mcds__report(
            report, MCDS_PROBLEM,
            "Start the server, or take it out of the URI: until then its keys are unavailable.",
            "unreachable: %s", trouble);
        return;
    }
    struct mcds__connection connection;
    mcds__connection_init(&connection, home->env);
    if (connect_now(&connection, home, server) &&
        exchange(&connection, home->env, "stats\r\n", take_fact, &facts) && !facts.stopped)
        (void)exchange(&connection, home->env, "stats settings\r\n", take_fact, &facts);
    mcds__connection_close(&connection);
    tell_abilities(report, home, i, &facts);
    tell_openness(report, server);
    if (facts.version[0] == '\0')
        return;
    tell_memory(report, &facts);
    tell_rest(report, home, &facts);
}

int mcds__memcached_inspect(void *state,
                            bool (*visit)(void *context, const mcds_finding *finding),
                            void *context)
{
    struct mcds__memcached *home = state;
    struct mcds__report report = {"", visit, context, false};
    for (uint32_t i = 0; i < home->server_count && !report.ended; i++)
        inspect_server(&report, home, i);
    return MCDS_OK;
}
