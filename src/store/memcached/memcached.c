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
#define CONNECT_MS_OF_TLS 500 /* a handshake takes round trips and calculates */
#define CONNECT_MS_MAX 60000
#define SILENCE_NS_DEFAULT NS_PER_S /* of a backend without a store */

static int set_options(struct mcds__memcached *backend, const struct mcds_uri *uri)
{
    static const char *const known[] = {
        "protocol", "connect_timeout", "connections", "placement", "hash", "tls", "ca", "cert",
        "key",      "tls_name",        "auth_file",   NULL};
    /* In the order of enum mcds__protocol. */
    static const char *const protocols[] = {"auto", "meta", "classic", NULL};
    static const char *const tls_words[] = {"0", "1", NULL};
    uint64_t connect_ms, connections;
    uint32_t protocol, tls;
    if (!mcds__uri_knows(uri, known) ||
        !mcds__uri_word(uri, "tls", tls_words, "0 or 1", &tls) ||
        !mcds__uri_number(uri, "connect_timeout", 1, CONNECT_MS_MAX,
                          tls != 0 ? CONNECT_MS_OF_TLS : CONNECT_MS_DEFAULT, &connect_ms) ||
        !mcds__uri_number(uri, "connections", 1, MCDS__CONNECTIONS_MAX, 1, &connections) ||
        !mcds__uri_word(uri, "protocol", protocols, "auto, meta or classic", &protocol))
        return MCDS_INVALID;
    assert(connections >= 1 && connections <= MCDS__CONNECTIONS_MAX);
    backend->connections = (uint32_t)connections;
    backend->connect_timeout_ns = (int64_t)connect_ms * NS_PER_MS;
    backend->silence_ns = SILENCE_NS_DEFAULT;
    backend->protocol = (enum mcds__protocol)protocol;
    return MCDS_OK;
}

/* Each user can list processes with their URIs: refuse a password there, and do not repeat it. */
static int refuse_secrets(const struct mcds_uri *uri)
{
    static const char *const names[] = {"password", "pass", "user", "username", "auth", NULL};
    for (size_t i = 0; names[i] != NULL; i++)
        if (mcds_uri_option(uri, names[i]) != NULL)
            return mcds__fail_uri(names[i], "", "auth_file=PATH",
                                  "leave %s= out of the URI, where others can read it: write "
                                  "USER:PASSWORD into a file of mode 0600, auth_file=PATH",
                                  names[i]);
    if (mcds_uri_option(uri, "sasl") != NULL)
        return mcds__fail_uri("sasl", "", "auth_file=PATH",
                              "mcds does not speak SASL, which needs memcached's binary "
                              "protocol: start memcached with -Y, and use auth_file=PATH");
    return MCDS_OK;
}

/* An option that nothing would use is a mistake: its author believes in an encryption. */
static int refuse_unused(const struct mcds_uri *uri)
{
    static const char *const names[] = {"ca", "cert", "key", "tls_name", NULL};
    for (size_t i = 0; names[i] != NULL; i++) {
        const char *value = mcds_uri_option(uri, names[i]);
        if (value != NULL)
            return mcds__fail_uri(names[i], value, "tls=1",
                                  "the URI's %s= goes with tls=1, which is missing", names[i]);
    }
    return MCDS_OK;
}

static int open_tls(struct mcds__memcached *backend, const struct mcds_uri *uri)
{
    const struct mcds__tls_options options = {
        .ca = mcds_uri_option(uri, "ca"),
        .cert = mcds_uri_option(uri, "cert"),
        .key = mcds_uri_option(uri, "key"),
        .name = mcds_uri_option(uri, "tls_name"),
    };
    const char *tls = mcds_uri_option(uri, "tls");
    if (tls == NULL || strcmp(tls, "0") == 0)
        return refuse_unused(uri);
    if (options.key != NULL && options.cert == NULL)
        return mcds__fail_uri("key", options.key, "cert=PATH",
                              "the URI's key= goes with cert=, which is missing");
    if (options.name != NULL && options.name[0] == '\0')
        return mcds__fail_uri("tls_name", "", "a host name or an address",
                              "the URI's tls_name= is empty");
    for (uint32_t i = 0; i < backend->server_count; i++)
        if (backend->servers[i].address.is_unix)
            return mcds__fail_uri("tls", "1", "tls=0",
                                  "%s is a unix socket, over which memcached does not speak "
                                  "TLS: leave out tls=1",
                                  backend->servers[i].name);
    backend->has_client_cert = options.cert != NULL;
    return mcds__tls_open(backend->env, &options, &backend->tls);
}

static int set_login(struct mcds__memcached *backend, const struct mcds_uri *uri)
{
    const char *path = mcds_uri_option(uri, "auth_file");
    if (path == NULL)
        return MCDS_OK;
    int result = mcds__login_check(path);
    if (result != MCDS_OK)
        return result;
    backend->auth_file = mcds__copy_string(backend->env, path);
    return backend->auth_file != NULL ? MCDS_OK : mcds__fail_memory("store", NULL, NULL);
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

static void release_backend(struct mcds__memcached *backend)
{
    mcds__ketama_close(backend->env, backend->ketama);
    mcds__tls_close(backend->tls);
    mcds__free(backend->env, backend->auth_file);
    mcds__free(backend->env, backend);
}

static void memcached_close(void *state)
{
    struct mcds__memcached *backend = state;
    (void)pthread_mutex_destroy(&backend->mutex);
    release_backend(backend);
}

static int memcached_open(const struct mcds_uri *uri, const mcds_env *env, void **backend_out)
{
    size_t capacity = sizeof(struct mcds__memcached) +
                      MCDS__SERVERS_MAX * sizeof(struct mcds__server);
    struct mcds__memcached *backend = mcds__allocate_zero(env, capacity);
    if (backend == NULL)
        return mcds__fail_memory("store", NULL, NULL);
    backend->env = env;
    backend->seed = mcds__random_u64(env);
    int result = refuse_secrets(uri);
    if (result == MCDS_OK)
        result = set_options(backend, uri);
    if (result == MCDS_OK)
        result = mcds__memcached_parse_servers(mcds_uri_place(uri), backend->servers,
                                               MCDS__SERVERS_MAX, &backend->server_count);
    if (result == MCDS_OK)
        result = place_servers(backend, uri);
    if (result == MCDS_OK)
        result = open_tls(backend, uri);
    if (result == MCDS_OK)
        result = set_login(backend, uri);
    if (result == MCDS_OK && pthread_mutex_init(&backend->mutex, NULL) != 0)
        result = mcds__fail_at(MCDS_NO_MEMORY, NO_MEMORY, NULL, "no mutex available");
    if (result != MCDS_OK) {
        release_backend(backend);
        return result;
    }
    mcds__memcached_note_abilities(backend);
    *backend_out = backend;
    return MCDS_OK;
}

void mcds__memcached_limit_silence(void *state, int64_t silence_ns)
{
    struct mcds__memcached *backend = state;
    assert(silence_ns > 0);
    atomic_store(&backend->silence_ns, silence_ns);
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

static uint32_t memcached_features(void *state)
{
    struct mcds__memcached *backend = state;
    return atomic_load_explicit(&backend->features, memory_order_relaxed);
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
    .features = memcached_features,
};
