/* For people: which keys the servers hold, and what is wrong with the servers. One connection
 * of its own per server, one exchange after the other; those that are silent are found out first. */
#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/key.h"
#include "base/number.h"
#include "store/memcached_exchange.h"
#include "store/memcached_greet.h"
#include "store/memcached_twins.h"
#include "store/report.h"

#define BUSY_PAUSE_NS (20 * NS_PER_MS)
#define CLOCK_DIFFERENCE_S_MAX 2
#define NEAR_FULL_PERCENT 90
#define SENTENCE_MAX 512
#define TAIL_MAX 128 /* of a sentence about several servers */

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
    bool fine = mcds__exchange(connection, home, "lru_crawler metadump hash\r\n", take_dumped,
                               listing);
    if (fine && listing->refused && !listing->busy)
        fine = mcds__exchange(connection, home, "lru_crawler metadump all\r\n", take_dumped,
                              listing);
    return fine;
}

/* A server goes through its keys for one at a time, itself among them, and tells all others at
 * once that it is busy. */
static bool list_keys(struct mcds__connection *connection, const struct mcds__memcached *home,
                      struct listing *listing)
{
    int64_t until_ns = mcds__monotonic_ns(home->env) + MCDS__EXCHANGE_NS;
    for (;;) {
        int64_t now_ns = mcds__monotonic_ns(home->env);
        if (!list_once(connection, home, listing))
            return false;
        if (!listing->busy || now_ns >= until_ns)
            return true;
        mcds__sleep_until_ns(home->env, now_ns + BUSY_PAUSE_NS);
    }
}

/* Why the keys of a server could not be listed. */
static int explain_listing(struct mcds__memcached *home, uint32_t server,
                           const struct listing *listing, const mcds_reason **trouble)
{
    int result;
    if (listing->busy) {
        *trouble = MCDS__WHY(LISTING_BUSY);
        return MCDS_UNAVAILABLE;
    }
    bool is_silent = *trouble == MCDS__EXCHANGE_SILENT;
    const mcds_reason *probed = is_silent ? NULL : mcds__exchange_probe(home, server, &result);
    if (probed != NULL) {
        *trouble = probed;
        return result;
    }
    if (listing->refused) {
        *trouble = MCDS__WHY(NO_LISTING);
        return MCDS_UNSUPPORTED;
    }
    if (*trouble == NULL)
        *trouble = MCDS__WHY(ANSWER_BROKE_OFF);
    return MCDS_UNAVAILABLE;
}

static int list_server(struct mcds__memcached *home, uint32_t server, struct listing *listing,
                       const mcds_reason **trouble_out)
{
    struct mcds__connection connection;
    mcds__connection_init(&connection, home->env);
    listing->busy = listing->refused = false;
    bool fine = mcds__exchange_connect(&connection, home, &home->servers[server], 0) &&
                list_keys(&connection, home, listing);
    *trouble_out = connection.trouble;
    mcds__connection_close(&connection);
    return fine && !listing->busy && !listing->refused
               ? MCDS_OK
               : explain_listing(home, server, listing, trouble_out);
}

/* The servers whose keys are missing, as far as a sentence has room. */
struct missing {
    int result; /* of the first, as the next two */
    const mcds_reason *trouble;
    const char *peer;
    uint32_t count;
    uint32_t named;
    char names[SENTENCE_MAX - TAIL_MAX];
};

static void add_missing(struct missing *missing, const char *name, int result,
                        const mcds_reason *trouble)
{
    size_t used = strlen(missing->names);
    size_t room = sizeof missing->names - used;
    if (missing->count++ == 0) {
        missing->result = result;
        missing->trouble = trouble;
        missing->peer = name;
    }
    /* After one that has no room the others are a number. */
    if (missing->named + 1 != missing->count)
        return;
    int length = snprintf(missing->names + used, room, "%s%s: %s", used > 0 ? "; " : "", name,
                          trouble->text);
    if (length >= 0 && (size_t)length < room)
        missing->named++;
    else
        missing->names[used] = '\0';
}

static int tell_missing(const struct missing *missing, uint32_t servers)
{
    char rest[TAIL_MAX / 2] = "";
    if (missing->count == 0)
        return MCDS_OK;
    if (servers == 1)
        return mcds__fail_why(missing->result, missing->trouble, .noun = "list",
                              .peer = missing->peer);
    if (missing->named < missing->count)
        (void)snprintf(rest, sizeof rest, "; and %u more", missing->count - missing->named);
    return mcds__fail_saying(&(const mcds_error){.result = missing->result,
                                                 .cause = missing->trouble->cause,
                                                 .os_error = missing->trouble->os_error,
                                                 .noun = "list",
                                                 .peer = missing->peer},
                             "list: %s%s; the keys of %u of %u servers are missing",
                             missing->names, rest, missing->count, servers);
}

/* A server that fails hides no other, and silent ones cost their time once. */
int mcds__memcached_keys(void *state, mcds_bytes prefix,
                         bool (*visit)(void *context, mcds_bytes key), void *context)
{
    struct mcds__memcached *home = state;
    struct listing listing = {.prefix = prefix, .visit = visit, .context = context};
    struct missing missing = {.count = 0};
    enum mcds__greeted greeted[MCDS__SERVERS_MAX];
    mcds__greet(home, greeted);
    for (uint32_t i = 0; i < home->server_count && !listing.ended; i++) {
        const mcds_reason *trouble = MCDS__EXCHANGE_SILENT;
        int listed = greeted[i] == MCDS__GREETED ? list_server(home, i, &listing, &trouble)
                                                 : MCDS_UNAVAILABLE;
        if (listed != MCDS_OK)
            add_missing(&missing, home->servers[i].name, listed, trouble);
    }
    return tell_missing(&missing, home->server_count);
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
    uint64_t pid;
    uint64_t uptime_s;
    bool tells_evictions; /* by a number of them */
    bool evicts;
    bool may_keep_leases; /* it knows the option for it */
    bool keeps_leases;    /* evicts nothing that expires within temporary_ttl_s */
    bool is_proxy;        /* as it says itself */
    bool is_remote;       /* the address that answered is none of a loopback */
    bool stopped;         /* the answer was no statistics */
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
    if (mcds__wire_is(line, length, "STAT proxy_enabled yes"))
        facts->is_proxy = true;
    if (mcds__wire_is(line, length, "STAT evictions off"))
        facts->evicts = false;
    if (mcds__wire_begins(line, length, "STAT temp_lru "))
        facts->may_keep_leases = true;
    if (mcds__wire_is(line, length, "STAT temp_lru yes"))
        facts->keeps_leases = true;
    if (mcds__wire_begins(line, length, "STAT evictions "))
        facts->tells_evictions = true;
    (void)take_number(line, length, "STAT pid ", &facts->pid);
    (void)take_number(line, length, "STAT uptime ", &facts->uptime_s);
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
    if (facts->bytes_max > 0)
        mcds__report(report, MCDS_FACT, "", "%llu of %llu MB in use",
                     (unsigned long long)facts->bytes >> 20,
                     (unsigned long long)facts->bytes_max >> 20);
    if (!facts->tells_evictions)
        mcds__report(report, MCDS_FACT, "", "it does not say whether it evicts");
    else if (facts->evictions > 0)
        mcds__report(
            report, MCDS_PROBLEM,
            facts->may_keep_leases
                ? "Give the server more memory (-m), keep state apart from caches, and start "
                  "it "
                  "with -o temporary_ttl=N, N the longest lease in seconds, so that leases "
                  "stay."
                : "Give the server more memory (-m), and keep state apart from caches.",
            "it has evicted %llu items; locks and counters are evicted like anything else",
            (unsigned long long)facts->evictions);
    else if (facts->evicts && facts->may_keep_leases && !facts->keeps_leases)
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

/* Only a server has statistics of its own; a proxy refuses or says so. */
static void tell_order(struct mcds__report *report, const mcds_capabilities *can,
                       const struct facts *facts)
{
    bool is_server = facts->version[0] >= '0' && facts->version[0] <= '9' && !facts->is_proxy;
    if (is_server && !can->create_on_increment)
        mcds__report(
            report, MCDS_ADVICE, "Use memcached 1.6.18 or newer.",
            "it is an old server or one of another kind, of version %s: it has no meta "
            "commands and does not tell its settings, so requests that must keep their "
            "order go one by one, at one round trip each",
            facts->version);
    else
        mcds__report(
            report, MCDS_ADVICE,
            "Name the servers themselves in the URI, if this machine can reach them.",
            "it is a proxy, or behaves like one: requests that must keep their order go one by "
            "one, at one round trip each");
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
        tell_order(report, &can, facts);
    if (!can.compare_and_set)
        mcds__report(report, MCDS_PROBLEM,
                     can.expires ? "Start it without -C." : "Use memcached 1.6.18 or newer.",
                     "it has no compare-and-set, which locks and online counters need");
    if (!can.expires)
        mcds__report(report, MCDS_PROBLEM, "Use memcached 1.6.18 or newer.",
                     "it is older than leases, and may keep items beyond their time, as "
                     "MemcacheDB does: leases, visitors and logs would never end");
}

static void tell_openness(struct mcds__report *report, const struct facts *facts)
{
    if (facts->is_remote)
        mcds__report(report, MCDS_ADVICE,
                     "Let only trusted machines reach its port (memcached -l, a firewall), or "
                     "use a tunnel, such as WireGuard or stunnel.",
                     "it answers over the network without password and TLS: everybody who "
                     "reaches it can read, change and erase everything");
}

/* Ask one of the server's addresses, not that of the family `avoided` if there is another. Returns the
 * family; 0: it did not answer. */
static int ask_facts(struct mcds__memcached *home, const struct mcds__server *server,
                     int avoided, struct facts *facts)
{
    struct mcds__connection connection;
    int family = 0;
    *facts = (struct facts){.evicts = true};
    mcds__connection_init(&connection, home->env);
    bool is_connected = mcds__exchange_connect(&connection, home, server, avoided);
    facts->is_remote = is_connected && !mcds__connection_is_local(&connection);
    if (is_connected && mcds__exchange(&connection, home, "stats\r\n", take_fact, facts) &&
        !facts->stopped) {
        family = server->address.is_unix ? 0 : mcds__connection_family(&connection);
        (void)mcds__exchange(&connection, home, "stats settings\r\n", take_fact, facts);
    }
    mcds__connection_close(&connection);
    return family;
}

#define FIX_MAX (MCDS__HOST_MAX + 160)

static void advise_on_addresses(const struct mcds__server *server, char fix[FIX_MAX])
{
    (void)snprintf(fix, FIX_MAX,
                   "See them with 'getent ahosts %s', and name one, or each by itself: "
                   "memcached://ADDRESS1:%u,ADDRESS2:%u.",
                   server->address.host, (unsigned)server->address.port,
                   (unsigned)server->address.port);
}

/* The IPv6 and the IPv4 address of a name are taken for one server. */
static void tell_addresses(struct mcds__report *report, struct mcds__memcached *home,
                           const struct mcds__server *server, int family,
                           const struct facts *facts)
{
    struct facts other;
    int other_family = family != 0 ? ask_facts(home, server, family, &other) : 0;
    if (other_family == 0 || other_family == family)
        return;
    uint64_t began_s = facts->time_s - facts->uptime_s;
    uint64_t other_began_s = other.time_s - other.uptime_s;
    uint64_t apart_s = began_s > other_began_s ? began_s - other_began_s
                                               : other_began_s - began_s;
    if (facts->pid == other.pid && apart_s <= CLOCK_DIFFERENCE_S_MAX &&
        facts->bytes_max == other.bytes_max)
        return;
    char fix[FIX_MAX];
    advise_on_addresses(server, fix);
    mcds__report(
        report, MCDS_PROBLEM, fix,
        "its IPv6 and its IPv4 address are two servers: two clients may hold one lock");
}

static void tell_unreachable(struct mcds__report *report, const struct mcds__server *server,
                             int result, const mcds_reason *trouble)
{
    char fix[FIX_MAX];
    const char *shown = "Start the server, or take it out of the URI: until then its keys are "
                        "unavailable.";
    if (result == MCDS_PROTOCOL)
        shown = "Name the port of a memcached server in the URI; unless told otherwise (-p) it "
                "is 11211.";
    bool is_ambiguous = trouble->cause == MCDS_CAUSE_SEVERAL_ADDRESSES;
    bool is_reached = result == MCDS_PROTOCOL;
    if (trouble->cause == MCDS_CAUSE_UNKNOWN_HOST)
        shown =
            "Correct the name in the URI, or make it known to this machine (/etc/hosts, DNS).";
    if (trouble->cause == MCDS_CAUSE_PASSWORD)
        shown = "Start it without a password (-Y), on a network that only its clients reach.";
    if (trouble == MCDS__WHY(NOT_ANSWERING))
        shown =
            "Start the server again, without -B binary if it has that: until then its keys are "
            "unavailable.";
    if (is_ambiguous) {
        advise_on_addresses(server, fix);
        shown = fix;
    }
    mcds__report(report, MCDS_PROBLEM, shown, "%s%s",
                 is_reached || is_ambiguous ? "" : "unreachable: ", trouble->text);
}

/* Copies on both would be on one server, and its part of the keys is larger than meant. */
static void tell_twin(struct mcds__report *report, const char *twin)
{
    if (twin != NULL)
        mcds__report(report, MCDS_PROBLEM, "Name each server once in the URI.",
                     "this is the same server as %s: copies on two servers would be on one, "
                     "and it holds more than its part of the keys",
                     twin);
}

static void inspect_server(struct mcds__report *report, struct mcds__memcached *home,
                           uint32_t i, enum mcds__greeted greeted, struct mcds__twins *twins)
{
    const struct mcds__server *server = &home->servers[i];
    struct facts facts;
    report->subject = server->name;
    int result = MCDS_UNAVAILABLE;
    const mcds_reason *trouble = MCDS__WHY(HOST_SILENT);
    if (greeted == MCDS__GREETED)
        trouble = mcds__exchange_probe(home, i, &result);
    else if (greeted == MCDS__GREETED_SILENCE)
        trouble = MCDS__WHY(NOT_ANSWERING);
    if (trouble != NULL) {
        tell_unreachable(report, server, result, trouble);
        return;
    }
    int family = ask_facts(home, server, 0, &facts);
    tell_abilities(report, home, i, &facts);
    tell_openness(report, &facts);
    if (facts.version[0] == '\0')
        return;
    tell_twin(report,
              mcds__twins_add(twins, home, i, facts.pid, facts.time_s - facts.uptime_s));
    tell_addresses(report, home, server, family, &facts);
    tell_memory(report, &facts);
    tell_rest(report, home, &facts);
}

int mcds__memcached_inspect(void *state,
                            bool (*visit)(void *context, const mcds_finding *finding),
                            void *context)
{
    struct mcds__memcached *home = state;
    struct mcds__report report = {"", visit, context, false};
    enum mcds__greeted greeted[MCDS__SERVERS_MAX];
    struct mcds__twins twins = {.count = 0};
    mcds__greet(home, greeted);
    for (uint32_t i = 0; i < home->server_count && !report.ended; i++)
        inspect_server(&report, home, i, greeted[i], &twins);
    return MCDS_OK;
}
