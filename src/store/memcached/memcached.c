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
    /* In the order of enum mcds__protocol. */
    static const char *const protocols[] = {"auto", "meta", "classic", NULL};
    uint64_t connect_ms, connections;
    uint32_t protocol;
    if (!mcds__uri_knows(uri, known) ||
        !mcds__uri_number(uri, "connect_timeout", 1, CONNECT_MS_MAX, CONNECT_MS_DEFAULT,
                          &connect_ms) ||
        !mcds__uri_number(uri, "connections", 1, MCDS__CONNECTIONS_MAX, 1, &connections) ||
        !mcds__uri_word(uri, "protocol", protocols, "auto, meta or classic", &protocol))
        return MCDS_INVALID;
    assert(connections >= 1 && connections <= MCDS__CONNECTIONS_MAX);
    backend->connections = (uint32_t)connections;
    backend->connect_timeout_ns = (int64_t)connect_ms * NS_PER_MS;
    backend->protocol = (enum mcds__protocol)protocol;
    return MCDS_OK;
}

/* The rule of libmemcached that places the keys. */
static int parse_placement(const struct mcds_uri *uri, enum mcds__ketama_rule *rule,
                           enum mcds__ketama_hash *hash)
{
    /* In the order of enum mcds__ketama_rule. */
    static const char *const rules[] = {"ketama_weighted", "ketama", "modula", NULL};
    static const char *const hashes[] = {"one_at_a_time", "md5", NULL};
    uint32_t chosen;
    if (!mcds__uri_word(uri, "placement", rules, "ketama_weighted, ketama or modula", &chosen))
        return MCDS_INVALID;
    *rule = (enum mcds__ketama_rule)chosen;
    const char *hash_name = mcds_uri_option(uri, "hash");
    if (hash_name != NULL && *rule == MCDS__KETAMA_WEIGHTED)
        return mcds__fail_uri(
            "hash", hash_name, "placement=ketama or placement=modula",
            "the URI's hash= goes with placement=ketama and placement=modula");
    if (!mcds__uri_word(uri, "hash", hashes, "one_at_a_time or md5", &chosen))
        return MCDS_INVALID;
    *hash = chosen == 0 ? MCDS__HASH_ONE_AT_A_TIME : MCDS__HASH_MD5;
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
