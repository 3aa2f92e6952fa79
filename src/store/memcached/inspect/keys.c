/* Lists the keys of the servers. Each server gets a connection of its own and one exchange
 * after the other; servers that do not answer are found first. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/key.h"
#include "base/number.h"
#include "store/memcached/inspect/exchange.h"
#include "store/memcached/inspect/greet.h"

#define BUSY_PAUSE_NS (20 * NS_PER_MS)
#define BUSY_NS_MAX (5 * NS_PER_S) /* how long a busy server is waited for */
#define SENTENCE_MAX 512
#define TAIL_MAX 128 /* the end of a sentence about several servers */

struct listing {
    mcds_bytes prefix;
    bool (*visit)(void *context, mcds_bytes key);
    void *context;
    bool ended;      /* by the visitor */
    bool refused;    /* by the server, */
    bool busy;       /* and only for now */
    int64_t left_ns; /* that the call may still wait for the servers */
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
    assert(key_length <= sizeof key);
    if (listing->ended || key_length < listing->prefix.length ||
        memcmp(key, listing->prefix.data, listing->prefix.length) != 0)
        return true;
    listing->ended = !listing->visit(listing->context, (mcds_bytes){key, key_length});
    return true;
}

/* The answer to an earlier command does not count: a server without keys answers END alone. */
static bool ask_for_keys(struct mcds__socket *sock, const struct mcds__memcached *backend,
                         const char *command, struct listing *listing)
{
    listing->busy = listing->refused = false;
    return mcds__exchange(sock, backend, command, take_dumped, listing, &listing->left_ns);
}

/* Dump the hash table: all keys. Servers that cannot do so answer BADCLASS and dump their LRU
 * lists, which omit keys that are being moved between them. */
static bool list_once(struct mcds__socket *sock, const struct mcds__memcached *backend,
                      struct listing *listing)
{
    bool fine = ask_for_keys(sock, backend, "lru_crawler metadump hash\r\n", listing);
    if (fine && listing->refused && !listing->busy)
        fine = ask_for_keys(sock, backend, "lru_crawler metadump all\r\n", listing);
    return fine;
}

/* A server lists its keys for one client at a time, and is busy for all others. It is also busy
 * while it looks for expired items by itself, which it does when it starts. */
static bool list_keys(struct mcds__socket *sock, const struct mcds__memcached *backend,
                      struct listing *listing)
{
    int64_t until_ns = mcds__monotonic_ns(backend->env) + BUSY_NS_MAX;
    for (;;) {
        int64_t now_ns = mcds__monotonic_ns(backend->env);
        if (!list_once(sock, backend, listing))
            return false;
        if (!listing->busy || now_ns >= until_ns)
            return true;
        mcds__sleep_until_ns(backend->env, now_ns + BUSY_PAUSE_NS);
    }
}

/* Why the keys of a server could not be listed. */
static int explain_listing(struct mcds__memcached *backend, uint32_t server,
                           const struct listing *listing, const mcds_reason **trouble)
{
    int result;
    if (listing->busy) {
        *trouble = MCDS__WHY(LISTING_BUSY);
        return MCDS_UNAVAILABLE;
    }
    bool is_silent = *trouble == MCDS__EXCHANGE_SILENT;
    const mcds_reason *probed = is_silent ? NULL
                                          : mcds__exchange_probe(backend, server, &result);
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

static int list_server(struct mcds__memcached *backend, uint32_t server,
                       struct listing *listing, const mcds_reason **trouble_out)
{
    assert(server < backend->server_count);
    struct mcds__socket sock;
    mcds__socket_init(&sock, backend->env, backend->tls);
    listing->busy = listing->refused = false;
    bool fine = mcds__exchange_connect(&sock, backend, &backend->servers[server], 0) &&
                list_keys(&sock, backend, listing);
    *trouble_out = sock.trouble;
    mcds__socket_close(&sock);
    return fine && !listing->busy && !listing->refused
               ? MCDS_OK
               : explain_listing(backend, server, listing, trouble_out);
}

/* The servers whose keys are missing, as far as they fit into a sentence. */
struct missing {
    int result; /* of the first server, like the next two */
    const mcds_reason *trouble;
    const char *peer;
    uint32_t count;
    uint32_t named;
    char names[SENTENCE_MAX - TAIL_MAX];
};

static void add_missing(struct missing *missing, const char *name, int result,
                        const mcds_reason *trouble)
{
    assert(missing->named <= missing->count);
    size_t used = strlen(missing->names);
    size_t capacity = sizeof missing->names - used;
    if (missing->count++ == 0) {
        missing->result = result;
        missing->trouble = trouble;
        missing->peer = name;
    }
    /* After the first name that does not fit, the others are only counted. */
    if (missing->named + 1 != missing->count)
        return;
    int length = snprintf(missing->names + used, capacity, "%s%s: %s", used > 0 ? "; " : "",
                          name, trouble->text);
    if (length >= 0 && (size_t)length < capacity)
        missing->named++;
    else
        missing->names[used] = '\0';
}

static int tell_missing(const struct missing *missing, uint32_t servers)
{
    assert(missing->named <= missing->count && missing->count <= servers);
    char rest[TAIL_MAX / 2] = "";
    /* The name of the first server is the peer of the failure. */
    const char *said = missing->names + (missing->named > 0 ? strlen(missing->peer) + 2 : 0);
    if (missing->count == 0)
        return MCDS_OK;
    if (servers == 1)
        return mcds__fail_why(missing->result, missing->trouble, .noun = "store",
                              .verb = "scan", .peer = missing->peer);
    if (missing->named < missing->count)
        (void)snprintf(rest, sizeof rest, "; and %u more", missing->count - missing->named);
    return mcds__fail_saying(&(const mcds_error){.result = missing->result,
                                                 .cause = missing->trouble->cause,
                                                 .os_error = missing->trouble->os_error,
                                                 .noun = "store",
                                                 .verb = "scan",
                                                 .peer = missing->peer},
                             "%s%s; the keys of %u of %u servers are missing", said, rest,
                             missing->count, servers);
}

/* A server that fails does not hide the others, and silent servers cost their time once. */
int mcds__memcached_keys(void *state, mcds_bytes prefix,
                         bool (*visit)(void *context, mcds_bytes key), void *context)
{
    struct mcds__memcached *backend = state;
    struct listing listing = {.prefix = prefix,
                              .visit = visit,
                              .context = context,
                              .left_ns = mcds__exchange_wait_max_ns(backend)};
    struct missing missing = {.count = 0};
    enum mcds__greeted greeted[MCDS__SERVERS_MAX];
    mcds__greet(backend, greeted);
    for (uint32_t i = 0; i < backend->server_count && !listing.ended; i++) {
        const mcds_reason *trouble = MCDS__EXCHANGE_SILENT;
        int listed = greeted[i] == MCDS__GREETED ? list_server(backend, i, &listing, &trouble)
                                                 : MCDS_UNAVAILABLE;
        if (listed != MCDS_OK)
            add_missing(&missing, backend->servers[i].name, listed, trouble);
    }
    return tell_missing(&missing, backend->server_count);
}
