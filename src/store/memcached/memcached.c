/* The memcached backend: the servers of a URI, the placement of keys, and what the servers can
 * do.
 *
 * Placement is strict: a key belongs to one server. While that server is away, its keys are
 * unavailable and all others work. No server is ejected, because a key at a second place would
 * have two values. */
#include "store/memcached/memcached.h"

#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "store/backends.h"
#include "store/memcached/session.h"

#define CONNECT_MS_DEFAULT 250
#define CONNECT_MS_MAX 60000

static int set_options(struct mcds__memcached *backend, const struct mcds_uri *uri)
{
    static const char *const known[] = {
        "protocol", "connect_timeout", "connections", "placement", "hash", NULL};
    const char *protocol = mcds_uri_option(uri, "protocol");
    uint64_t connect_ms, connections;
    if (!mcds__uri_knows(uri, known) ||
        !mcds__uri_number(uri, "connect_timeout", 1, CONNECT_MS_MAX, CONNECT_MS_DEFAULT,
                          &connect_ms) ||
        !mcds__uri_number(uri, "connections", 1, MCDS__CONNECTIONS_MAX, 1, &connections))
        return MCDS_INVALID;
    assert(connections >= 1 && connections <= MCDS__CONNECTIONS_MAX);
    backend->connections = (uint32_t)connections;
    backend->connect_timeout_ns = (int64_t)connect_ms * NS_PER_MS;
    backend->protocol = PROTOCOL_AUTO;
    if (protocol == NULL || strcmp(protocol, "auto") == 0)
        return MCDS_OK;
    if (strcmp(protocol, "meta") == 0)
        backend->protocol = PROTOCOL_META;
    else if (strcmp(protocol, "classic") == 0)
        backend->protocol = PROTOCOL_CLASSIC;
    else
        return mcds__fail_uri("protocol", protocol, "auto, meta or classic",
                              "the URI's protocol=%.40s must be auto, meta or classic",
                              protocol);
    return MCDS_OK;
}

/* The rule of libmemcached that places the keys. */
static int parse_placement(const struct mcds_uri *uri, enum mcds__ketama_rule *rule,
                           enum mcds__ketama_hash *hash)
{
    static const struct {
        const char *name;
        enum mcds__ketama_rule rule;
    } rules[] = {
        {"ketama_weighted", MCDS__KETAMA_WEIGHTED},
        {"ketama", MCDS__KETAMA_PLAIN},
        {"modula", MCDS__KETAMA_MODULA},
    };
    const char *rule_name = mcds_uri_option(uri, "placement");
    const char *hash_name = mcds_uri_option(uri, "hash");
    size_t found = 0;
    while (rule_name != NULL && found < 3 && strcmp(rules[found].name, rule_name) != 0)
        found++;
    if (found == 3)
        return mcds__fail_uri(
            "placement", rule_name, "ketama_weighted, ketama or modula",
            "the URI's placement=%.40s must be ketama_weighted, ketama or modula", rule_name);
    assert(found < sizeof rules / sizeof rules[0]);
    *rule = rules[found].rule;
    *hash = MCDS__HASH_ONE_AT_A_TIME;
    if (hash_name != NULL && *rule == MCDS__KETAMA_WEIGHTED)
        return mcds__fail_uri(
            "hash", hash_name, "placement=ketama or placement=modula",
            "the URI's hash= goes with placement=ketama and placement=modula");
    if (hash_name != NULL && strcmp(hash_name, "md5") == 0)
        *hash = MCDS__HASH_MD5;
    else if (hash_name != NULL && strcmp(hash_name, "one_at_a_time") != 0)
        return mcds__fail_uri("hash", hash_name, "one_at_a_time or md5",
                              "the URI's hash=%.40s must be one_at_a_time or md5", hash_name);
    return MCDS_OK;
}

static int place_servers(struct mcds__memcached *backend, const struct mcds_uri *uri)
{
    enum mcds__ketama_rule rule = MCDS__KETAMA_WEIGHTED;
    enum mcds__ketama_hash hash = MCDS__HASH_MD5;
    int result = parse_placement(uri, &rule, &hash);
    if (result != MCDS_OK)
        return result;
    struct mcds__ketama_server placed[MCDS__SERVERS_MAX];
    assert(backend->server_count > 0 && backend->server_count <= MCDS__SERVERS_MAX);
    for (uint32_t i = 0; i < backend->server_count; i++) {
        const struct mcds__server *server = &backend->servers[i];
        placed[i] = (struct mcds__ketama_server){
            .host = server->address.host,
            .port = server->address.port,
            .weight = server->weight,
            .is_unix = server->address.is_unix,
        };
    }
    backend->ketama = mcds__ketama_open(backend->env, rule, hash, placed,
                                        backend->server_count);
    return backend->ketama != NULL ? MCDS_OK : mcds__fail_memory("store", NULL, NULL);
}

static void memcached_close(void *state)
{
    struct mcds__memcached *backend = state;
    mcds__ketama_close(backend->env, backend->ketama);
    (void)pthread_mutex_destroy(&backend->mutex);
    mcds__free(backend->env, backend);
}

static int memcached_open(const struct mcds_uri *uri, const mcds_env *env, void **backend_out)
{
    size_t capacity = sizeof(struct mcds__memcached) +
                      MCDS__SERVERS_MAX * sizeof(struct mcds__server);
    struct mcds__memcached *backend = mcds__allocate_zero(env, capacity);
    if (backend == NULL)
        return mcds__fail_memory("store", NULL, NULL);
    backend->env = env;
    int result = set_options(backend, uri);
    if (result == MCDS_OK)
        result = mcds__memcached_parse_servers(mcds_uri_place(uri), backend->servers,
                                               MCDS__SERVERS_MAX, &backend->server_count);
    if (result == MCDS_OK)
        result = place_servers(backend, uri);
    if (result == MCDS_OK && pthread_mutex_init(&backend->mutex, NULL) != 0)
        result = mcds__fail_at(MCDS_NO_MEMORY, NO_MEMORY, NULL, "no mutex available");
    if (result != MCDS_OK) {
        mcds__ketama_close(env, backend->ketama);
        mcds__free(env, backend);
        return result;
    }
    mcds__memcached_note_abilities(backend);
    *backend_out = backend;
    return MCDS_OK;
}

static void memcached_capabilities(void *state, mcds_capabilities *out)
{
    struct mcds__memcached *backend = state;
    const mcds_capabilities *can = atomic_load_explicit(&backend->can, memory_order_acquire);
    if (can != NULL) {
        *out = *can;
        return;
    }
    (void)pthread_mutex_lock(&backend->mutex);
    *out = mcds__memcached_common_abilities(backend);
    (void)pthread_mutex_unlock(&backend->mutex);
}

const mcds_backend mcds__backend_memcached = {
    .version = MCDS_BACKEND_VERSION,
    .scheme = "memcached",
    .open = memcached_open,
    .close = memcached_close,
    .capabilities = memcached_capabilities,
    .session_open = mcds__memcached_session_open,
    .session_close = mcds__memcached_session_close,
    .session_holds = mcds__memcached_session_holds,
    .submit = mcds__memcached_session_submit,
    .collect = mcds__memcached_session_collect,
    .watch = mcds__memcached_session_watch,
    .keys = mcds__memcached_keys,
    .inspect = mcds__memcached_inspect,
};
