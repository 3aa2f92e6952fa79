/* Inspects the servers for people. Each server gets a connection of its own and one exchange
 * after the other; servers that do not answer are found first. */
#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/number.h"
#include "store/finding.h"
#include "store/memcached/inspect/exchange.h"
#include "store/memcached/inspect/greet.h"
#include "store/memcached/inspect/security.h"
#include "store/memcached/inspect/twins.h"

#define CLOCK_DIFFERENCE_S_MAX 2
#define NEAR_FULL_PERCENT 90

/* The reports of a server about itself. */
struct facts {
    char version[64];
    uint64_t time_s;
    uint64_t evictions;
    uint64_t commands; /* since its start */
    uint64_t bytes;
    uint64_t bytes_max;
    uint64_t connections;
    uint64_t connections_max;
    uint64_t temporary_ttl_s;
    uint64_t pid;
    uint64_t uptime_s;
    uint64_t refusals;    /* writes that it had no memory for, since its start */
    uint64_t refused;     /* the size classes of these, one bit each */
    uint64_t roomy;       /* the size classes that have memory now */
    bool tells_evictions; /* it has a counter of them */
    bool evicts;
    bool may_keep_leases; /* it knows the option that does */
    bool keeps_leases;    /* evicts nothing that expires within temporary_ttl_s */
    bool is_proxy;        /* as it reports */
    struct mcds__security security;
    bool stopped; /* the answer was no statistics */
};

static bool memcached_inspect_take_number(const char *line, size_t length, const char *name,
                                          uint64_t *out)
{
    size_t name_length = strlen(name);
    return mcds__wire_begins(line, length, name) &&
           mcds__parse_u64(line + name_length, length - name_length, out);
}

/* Each command counts once: a gat also as a get, a cas also as a set. */
static void add_commands(struct facts *facts, const char *line, size_t length)
{
    static const char *const names[] = {
        "STAT cmd_get ",     "STAT cmd_set ",     "STAT cmd_touch ",
        "STAT incr_hits ",   "STAT incr_misses ", "STAT decr_hits ",
        "STAT decr_misses ", "STAT delete_hits ", "STAT delete_misses ",
    };
    uint64_t number = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (memcached_inspect_take_number(line, length, names[i], &number))
            facts->commands += number;
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
    add_commands(facts, line, length);
    (void)memcached_inspect_take_number(line, length, "STAT pid ", &facts->pid);
    (void)memcached_inspect_take_number(line, length, "STAT uptime ", &facts->uptime_s);
    (void)memcached_inspect_take_number(line, length, "STAT time ", &facts->time_s);
    (void)memcached_inspect_take_number(line, length, "STAT evictions ", &facts->evictions);
    (void)memcached_inspect_take_number(line, length, "STAT bytes ", &facts->bytes);
    (void)memcached_inspect_take_number(line, length, "STAT limit_maxbytes ",
                                        &facts->bytes_max);
    (void)memcached_inspect_take_number(line, length, "STAT curr_connections ",
                                        &facts->connections);
    (void)memcached_inspect_take_number(line, length, "STAT max_connections ",
                                        &facts->connections_max);
    (void)memcached_inspect_take_number(line, length, "STAT temporary_ttl ",
                                        &facts->temporary_ttl_s);
    return true;
}

#define CLASSES 64

/* "PREFIX CLASS:NAME N", for each size class: the bit of the class, and N. 0: another line. */
static uint64_t take_class(const char *line, size_t length, const char *prefix,
                           const char *name, uint64_t *number_out)
{
    uint64_t class = 0;
    const char *at = line + strlen(prefix);
    if (!mcds__wire_begins(line, length, prefix))
        return 0;
    const char *colon = memchr(at, ':', length - strlen(prefix));
    if (colon == NULL || !mcds__parse_u64(at, (size_t)(colon - at), &class) ||
        class >= CLASSES ||
        !memcached_inspect_take_number(colon, length - (size_t)(colon - line), name,
                                       number_out))
        return 0;
    return UINT64_C(1) << class;
}

static bool add_refusals(void *context, const char *line, size_t length)
{
    struct facts *facts = context;
    uint64_t refusals = 0;
    uint64_t class = take_class(line, length, "STAT items:", ":outofmemory ", &refusals);
    facts->refusals += refusals;
    facts->refused |= refusals > 0 ? class : 0;
    return mcds__wire_begins(line, length, "STAT ");
}

static bool add_room(void *context, const char *line, size_t length)
{
    struct facts *facts = context;
    uint64_t chunks = 0;
    uint64_t class = take_class(line, length, "STAT ", ":free_chunks ", &chunks);
    facts->roomy |= chunks > 0 ? class : 0;
    return mcds__wire_begins(line, length, "STAT ");
}

static void tell_refusals(struct mcds__report *report, const struct facts *facts)
{
    if (facts->refusals > 0 && (facts->refused & ~facts->roomy) == 0)
        mcds__report(
            report, MCDS_ADVICE, "Give it more memory (-m).",
            "it does not evict (-M) and was full: it has refused %llu writes since its start; "
            "now it has memory for items of those sizes",
            (unsigned long long)facts->refusals);
    else if (facts->refusals > 0)
        mcds__report(
            report, MCDS_PROBLEM,
            "Give it more memory (-m), or erase what is not needed ('mcds ls' lists all "
            "names).",
            "it is full and does not evict (-M): it has refused %llu writes since its "
            "start",
            (unsigned long long)facts->refusals);
    else if (!facts->evicts)
        mcds__report(
            report, MCDS_ADVICE,
            "Watch its memory: without room, a renewal is refused and loses the lease.",
            "it does not evict (-M): when its memory is full, writes fail");
}

static void tell_memory(struct mcds__report *report, const struct facts *facts)
{
    mcds__report_figure(report, "commands", facts->commands,
                        "it has executed %llu commands since its start",
                        (unsigned long long)facts->commands);
    if (facts->bytes_max > 0)
        mcds__report_figure(report, "bytes", facts->bytes, "%llu of %llu MB in use",
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
    tell_refusals(report, facts);
    if (facts->evicts && facts->keeps_leases)
        mcds__report(report, MCDS_FACT, "", "leases of up to %llu seconds are never evicted",
                     (unsigned long long)facts->temporary_ttl_s);
    if (facts->bytes_max > 0 &&
        facts->bytes / (facts->bytes_max / 100 + 1) >= NEAR_FULL_PERCENT)
        mcds__report(report, MCDS_PROBLEM, "Give it more memory (-m).",
                     "its memory is nearly full");
}

static void tell_rest(struct mcds__report *report, const struct mcds__memcached *backend,
                      const struct facts *facts)
{
    int64_t wall_s = mcds__wall_ns(backend->env) / NS_PER_S;
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

/* Only a server has statistics of its own; a proxy refuses, or says that it is one. */
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

static void tell_abilities(struct mcds__report *report, struct mcds__memcached *backend,
                           uint32_t server, const struct facts *facts)
{
    (void)pthread_mutex_lock(&backend->mutex);
    mcds_capabilities can = backend->servers[server].can;
    (void)pthread_mutex_unlock(&backend->mutex);
    mcds__report(report, MCDS_FACT, "", "memcached %s, %s protocol%s, values up to %llu bytes",
                 facts->version[0] != '\0' ? facts->version : "(version unknown)",
                 can.create_on_increment ? "meta" : "classic",
                 can.ordered_batch ? "" : ", one by one", (unsigned long long)can.value_max);
    if (!can.ordered_batch)
        tell_order(report, &can, facts);
    if (!can.compare_and_set)
        mcds__report(
            report, MCDS_PROBLEM,
            can.expires ? "Start it without -C." : "Use memcached 1.6.18 or newer.",
            "it has no compare-and-set, which locks, semaphores, leaders, once, caches, "
            "queues, limits of buckets, ids, sets, tables, arrays, views, online, exact or "
            "estimated visitors, exact counters, 'counter take' and 'list clear' need");
    if (!can.expires)
        mcds__report(report, MCDS_PROBLEM, "Use memcached 1.6.18 or newer.",
                     "it is older than leases, and may keep items beyond their time, as "
                     "MemcacheDB does: leases, visitors and logs would never end");
}

/* Ask one of the server's addresses; the family `avoided` only if there is no other. Returns
 * the family; 0: it did not answer. */
static int ask_facts(struct mcds__memcached *backend, const struct mcds__server *server,
                     int avoided, struct facts *facts)
{
    struct mcds__socket sock;
    int family = 0;
    int64_t left_ns = mcds__exchange_wait_max_ns(backend);
    *facts = (struct facts){.evicts = true};
    mcds__socket_init(&sock, backend->env, backend->tls);
    bool is_connected = mcds__exchange_connect(&sock, backend, server, avoided);
    if (is_connected)
        mcds__security_note(&sock, &facts->security);
    if (is_connected &&
        mcds__exchange(&sock, backend, "stats\r\n", take_fact, facts, &left_ns) &&
        !facts->stopped) {
        family = server->address.is_unix ? 0 : mcds__socket_family(&sock);
        if (mcds__exchange(&sock, backend, "stats settings\r\n", take_fact, facts, &left_ns) &&
            !facts->evicts &&
            mcds__exchange(&sock, backend, "stats items\r\n", add_refusals, facts, &left_ns) &&
            facts->refusals > 0)
            (void)mcds__exchange(&sock, backend, "stats slabs\r\n", add_room, facts, &left_ns);
    }
    mcds__socket_close(&sock);
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

/* The IPv6 and the IPv4 address of a name should be one server. */
static void tell_addresses(struct mcds__report *report, struct mcds__memcached *backend,
                           const struct mcds__server *server, int family,
                           const struct facts *facts)
{
    struct facts other;
    int other_family = family != 0 ? ask_facts(backend, server, family, &other) : 0;
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
        shown = trouble == MCDS__WHY(PASSWORD_WRONG)
                    ? "Write what memcached's own file (-Y) has: USER:PASSWORD."
                    : "Its administrator has the password: a line of memcached's file (-Y).";
    if (trouble->cause == MCDS_CAUSE_TLS || trouble->cause == MCDS_CAUSE_CERTIFICATE)
        shown = "Until then its keys are unavailable.";
    if (trouble->cause == MCDS_CAUSE_TOO_MANY_CONNECTIONS)
        shown = "Raise that limit, or end programs that are connected: until then its keys are "
                "unavailable.";
    if (trouble == MCDS__WHY(NOT_ANSWERING) || trouble == MCDS__WHY(TEXT_UNANSWERED))
        shown = "Continue or restart the server, without -B binary if it has that: until then "
                "its keys are unavailable.";
    if (is_ambiguous) {
        advise_on_addresses(server, fix);
        shown = fix;
    }
    mcds__report(report, MCDS_PROBLEM, shown, "%s%s",
                 is_reached || is_ambiguous ? "" : "unreachable: ", trouble->text);
}

/* Two names for one server: copies on both are on one, and it has more keys than intended. */
static void tell_twin(struct mcds__report *report, const char *twin)
{
    if (twin != NULL)
        mcds__report(report, MCDS_PROBLEM, "Name each server once in the URI.",
                     "this is the same server as %s: copies on two servers would be on one, "
                     "and it holds more than its part of the keys",
                     twin);
}

static void inspect_server(struct mcds__report *report, struct mcds__memcached *backend,
                           uint32_t i, enum mcds__greeted greeted, struct mcds__twins *twins)
{
    const struct mcds__server *server = &backend->servers[i];
    struct facts facts;
    report->subject = server->name;
    int result = MCDS_UNAVAILABLE;
    const mcds_reason *trouble = MCDS__WHY(HOST_SILENT);
    if (greeted == MCDS__GREETED)
        trouble = mcds__exchange_probe(backend, i, &result);
    else if (greeted == MCDS__GREETED_SILENCE)
        trouble = MCDS__WHY(NOT_ANSWERING);
    if (trouble != NULL) {
        tell_unreachable(report, server, result, trouble);
        return;
    }
    int family = ask_facts(backend, server, 0, &facts);
    tell_abilities(report, backend, i, &facts);
    mcds__security_tell(report, backend, i, &facts.security);
    if (facts.version[0] == '\0')
        return;
    tell_twin(report,
              mcds__twins_add(twins, backend, i, facts.pid, facts.time_s - facts.uptime_s));
    tell_addresses(report, backend, server, family, &facts);
    tell_memory(report, &facts);
    tell_rest(report, backend, &facts);
}

int mcds__memcached_inspect(void *state, mcds_inspect_cb visit, void *context)
{
    struct mcds__memcached *backend = state;
    struct mcds__report report = {"", visit, context, false};
    enum mcds__greeted greeted[MCDS__SERVERS_MAX];
    struct mcds__twins twins = {.count = 0};
    mcds__greet(backend, greeted);
    for (uint32_t i = 0; i < backend->server_count && !report.ended; i++)
        inspect_server(&report, backend, i, greeted[i], &twins);
    return MCDS_OK;
}
