/* A store: the backend that a URI names, the checks for every backend, and a pool of sessions. */
#include "store/store.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/hash/hash.h"
#include "base/key.h"
#include "base/sized.h"
#include "store/backends.h"
#include "store/batch_check.h"
#include "store/options.h"
#include "store/uri.h"

#define SESSIONS_IDLE_MAX 64 /* more idle sessions than this are closed */

struct mcds__session {
    mcds_store *store;
    void *state;          /* of the backend */
    mcds_batch *refused;  /* failed the checks; returned by the next collect */
    mcds_batch *answered; /* of a backend without sessions, waiting for collect */
};

struct mcds_store {
    const mcds_backend *backend;
    void *backend_state;
    mcds_env env_own; /* from the caller; otherwise env is the system's */
    mcds_backend backend_own;
    const mcds_env *env;
    _Atomic uint32_t references;
    char ns[MCDS__NS_MAX + 1];
    uint32_t place;   /* a hash of it */
    bool has_cells;   /* backend_state is one of mcds__backend_memory */
    bool has_servers; /* of mcds__backend_memcached */
    int64_t timeout_ns;
    int64_t limit_ns; /* the timeout; 0: none */
    uint64_t forks;   /* mcds__forks() when it was opened: a child process must not use it */
    pthread_mutex_t mutex;                         /* guards the two members below */
    struct mcds__session *idle[SESSIONS_IDLE_MAX]; /* a stack: last in, first out */
    uint32_t idle_count;
};

static int make_store(const mcds_env *env, const mcds_backend *backend, mcds_store **store_out)
{
    mcds_store *store = mcds__allocate_zero(env, sizeof *store);
    if (store == NULL)
        return mcds__fail_memory("store", NULL, NULL);
    store->env_own = *env;
    store->env = mcds__env_is_same(env, mcds_env_system()) ? mcds_env_system()
                                                           : &store->env_own;
    store->backend_own = *backend;
    store->backend = &store->backend_own;
    store->forks = mcds__watch_forks();
    atomic_init(&store->references, 1);
    if (pthread_mutex_init(&store->mutex, NULL) != 0) {
        mcds__free(env, store);
        return mcds__fail_at(MCDS_NO_MEMORY, NO_MEMORY, NULL, "no mutex available");
    }
    *store_out = store;
    return MCDS_OK;
}

static void free_store(mcds_store *store)
{
    mcds_env env = *store->env;
    (void)pthread_mutex_destroy(&store->mutex);
    mcds__free(&env, store);
}

/* The structs are of this version. */
static int open_backend(const mcds_backend *backend, void *backend_state, mcds_options *options,
                        mcds_store **store_out)
{
    if (!mcds__has_random(options->env))
        return mcds__fail_why(MCDS_IO, MCDS__WHY(NO_RANDOM), .noun = "store");
    mcds_store *store = NULL;
    int result = mcds__options_settle(options);
    if (result == MCDS_OK)
        result = make_store(options->env, backend, &store);
    if (result != MCDS_OK || store == NULL)
        return result;
    memcpy(store->ns, options->ns, strlen(options->ns) + 1);
    store->timeout_ns = options->timeout_ms * NS_PER_MS;
    store->backend_state = backend_state;
    *store_out = store;
    return MCDS_OK;
}

int mcds_open_backend(const mcds_backend *backend, void *backend_state,
                      const mcds_options *given, mcds_store **store_out)
{
    mcds_options options;
    mcds_env env;
    mcds_backend own;
    if (backend == NULL || store_out == NULL)
        return mcds__fail_missing("store", NULL, "a backend and a place for the store");
    int result = mcds__options_take(given, &options, &env);
    if (result == MCDS_OK)
        result = mcds__sized_read(MCDS__SIZED_mcds_backend, backend, &own);
    if (result != MCDS_OK)
        return result;
    if (own.version != MCDS_BACKEND_VERSION)
        return mcds__fail(MCDS_UNSUPPORTED, UNSUPPORTED, .noun = "store", .option = "version",
                          .wanted_max = MCDS_BACKEND_VERSION, .found_number = own.version,
                          .reason = "the backend was compiled with another mcds/backend.h");
    return open_backend(&own, backend_state, &options, store_out);
}

/* mcds_open after the URI was parsed into `uri`. */
static int open_parsed(struct mcds_uri *uri, mcds_options *options, mcds_store **store_out)
{
    const mcds_backend *backend = mcds__backend_of(uri->scheme);
    if (backend == NULL)
        return mcds__fail_uri("uri", uri->scheme, MCDS__URI_SCHEMES,
                              "there is no '%.40s:'; use " MCDS__URI_SCHEMES, uri->scheme);
    if (mcds_uri_option(uri, "ns") != NULL)
        options->ns = mcds_uri_option(uri, "ns");
    uint64_t timeout_ms;
    if (!mcds__uri_number(uri, "timeout", 1, MCDS__TIMEOUT_MS_MAX, options->timeout_ms,
                          &timeout_ms))
        return MCDS_INVALID;
    options->timeout_ms = (uint32_t)timeout_ms;
    mcds_store *store = NULL;
    int result = open_backend(backend, NULL, options, &store);
    if (result != MCDS_OK)
        return result;
    assert(store != NULL);
    uint64_t scheme = mcds__hash(0, mcds_text(uri->scheme));
    store->place = (uint32_t)mcds__hash(scheme, mcds_text(uri->place)) | 1;
    store->has_cells = backend == &mcds__backend_memory;
    store->has_servers = backend == &mcds__backend_memcached;
    result = backend->open(uri, store->env, &store->backend_state);
    if (result != MCDS_OK) {
        free_store(store);
        return result;
    }
    *store_out = store;
    return MCDS_OK;
}

int mcds_open(const char *uri_text, const mcds_options *given, mcds_store **store_out)
{
    mcds_options options;
    mcds_env env;
    if (uri_text == NULL || store_out == NULL)
        return mcds__fail_missing("store", NULL, "a URI and a place for the store");
    int result = mcds__options_take(given, &options, &env);
    if (result != MCDS_OK)
        return result;
    struct mcds_uri *uri = mcds__allocate(&env, sizeof *uri);
    if (uri == NULL)
        return mcds__fail_memory("store", NULL, NULL);
    result = mcds__uri_parse(uri_text, uri);
    if (result == MCDS_OK)
        result = open_parsed(uri, &options, store_out);
    mcds__free(&env, uri);
    return result;
}

void mcds__session_drop(struct mcds__session *session)
{
    if (session->store->backend->session_close != NULL)
        session->store->backend->session_close(session->state);
    mcds__free(session->store->env, session);
}

static int open_session(mcds_store *store, struct mcds__session **session_out)
{
    struct mcds__session *session = mcds__allocate_zero(store->env, sizeof *session);
    if (session == NULL)
        return mcds__fail_memory("store", NULL, NULL);
    session->store = store;
    session->state = store->backend_state;
    int (*open)(void *, void **) = store->backend->session_open;
    int result = open == NULL ? MCDS_OK : open(store->backend_state, &session->state);
    if (result == MCDS_OK)
        *session_out = session;
    else
        mcds__free(store->env, session);
    return result;
}

/* Take the idle session that holds `connection`, otherwise the newest. NULL: none is idle. */
static struct mcds__session *take_idle(mcds_store *store, uint64_t connection)
{
    uint32_t found = store->idle_count;
    if (connection != 0 && store->backend->session_holds != NULL) {
        for (; found > 0; found--)
            if (store->backend->session_holds(store->idle[found - 1]->state, connection))
                break;
        if (found == 0)
            found = store->idle_count;
    }
    if (found == 0)
        return NULL;
    struct mcds__session *session = store->idle[found - 1];
    store->idle_count--;
    memmove(&store->idle[found - 1], &store->idle[found],
            (store->idle_count - (found - 1)) * sizeof store->idle[0]);
    return session;
}

int mcds__session_take(mcds_store *store, uint64_t connection,
                       struct mcds__session **session_out)
{
    (void)pthread_mutex_lock(&store->mutex);
    struct mcds__session *session = take_idle(store, connection);
    (void)pthread_mutex_unlock(&store->mutex);
    if (session == NULL)
        return open_session(store, session_out);
    *session_out = session;
    return MCDS_OK;
}

void mcds__session_give(mcds_store *store, struct mcds__session *session)
{
    (void)pthread_mutex_lock(&store->mutex);
    bool kept = store->idle_count < SESSIONS_IDLE_MAX;
    if (kept)
        store->idle[store->idle_count++] = session;
    (void)pthread_mutex_unlock(&store->mutex);
    if (!kept)
        mcds__session_drop(session);
}

static const mcds_reason *what_is_wrong(const mcds_store *store, const mcds_request *request,
                                        const mcds_request *before)
{
    const mcds_reason *fault = mcds__request_fault(request, before);
    bool lacks_token = request->command == MCDS_CAS && request->cas.connection == 0;
    if (fault != NULL || (!lacks_token && request->copy == 0))
        return fault;
    if (lacks_token) /* a server without compare-and-set returns none, also behind a proxy */
        return MCDS__WHY(SERVER_WITHOUT_CAS);
    return request->copy < mcds__store_can(store).places ? NULL : MCDS__WHY(FEW_SERVERS);
}

bool mcds__store_is_parents(const mcds_store *store)
{
    return store->forks != mcds__forks();
}

int mcds__store_check_process(const mcds_store *store)
{
    return mcds__store_is_parents(store)
               ? mcds__fail_why(MCDS_INVALID, MCDS__WHY(FORKED), .noun = "store")
               : MCDS_OK;
}

/* Clear the replies. False: a request may not be sent; then the batch was answered here. */
static bool check_batch(const mcds_store *store, mcds_batch *batch, bool is_parents)
{
    assert(batch->count >= 1 && batch->count <= MCDS_BATCH_MAX);
    const mcds_reason *fault = is_parents ? MCDS__WHY(FORKED) : NULL;
    const mcds_request *before = NULL;
    uint32_t sound = 0;
    batch->answered = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        mcds_request *request = &batch->requests[i];
        memset(&request->reply, 0, sizeof request->reply);
        const mcds_reason *detail = fault != NULL ? fault
                                                  : what_is_wrong(store, request, before);
        request->reply.detail = detail;
        before = detail == NULL ? request : NULL;
        sound += detail == NULL;
    }
    if (sound < batch->count)
        mcds__batch_refuse(batch);
    return sound == batch->count;
}

void mcds__session_submit(struct mcds__session *session, mcds_batch *first)
{
    const mcds_backend *backend = session->store->backend;
    /* A backend without sessions reads the clock itself. A deadline of 0 is always past. */
    int64_t now_ns = backend->session_open != NULL ? mcds__monotonic_ns(session->store->env)
                                                   : 0;
    bool is_parents = mcds__store_is_parents(session->store);
    mcds_batch *sound = NULL;
    mcds_batch **sound_end = &sound;
    for (mcds_batch *batch = first, *next; batch != NULL; batch = next) {
        next = batch->next;
        batch->next = NULL;
        bool is_late = batch->deadline_ns <= now_ns;
        if (is_late)
            mcds__batch_unsent(batch, MCDS__WHY(PAST_DEADLINE));
        if (!is_late && check_batch(session->store, batch, is_parents)) {
            *sound_end = batch;
            sound_end = &batch->next;
        } else {
            batch->next = session->refused;
            session->refused = batch;
        }
    }
    if (sound == NULL)
        return;
    backend->submit(session->state, sound);
    if (backend->session_open == NULL) {
        *sound_end = session->answered;
        session->answered = sound;
    }
}

mcds_batch *mcds__session_collect(struct mcds__session *session, int64_t until_ns)
{
    mcds_batch **ready = session->refused != NULL ? &session->refused : &session->answered;
    mcds_batch *list = *ready;
    *ready = NULL;
    if (list == NULL && session->store->backend->collect != NULL)
        list = session->store->backend->collect(session->state, until_ns);
    return list;
}

int mcds__session_watch(struct mcds__session *session, int64_t *wake_ns_out)
{
    const mcds_backend *backend = session->store->backend;
    *wake_ns_out = INT64_MAX;
    int fd = backend->watch != NULL ? backend->watch(session->state, wake_ns_out) : -1;
    if (session->refused != NULL || session->answered != NULL)
        *wake_ns_out = 0;
    return fd;
}

bool mcds__store_peek(mcds_store *store, mcds_bytes key,
                      void (*see)(void *context, const mcds_reply *reply, mcds_bytes value),
                      void *context)
{
    return store->backend->peek != NULL && !mcds__store_is_parents(store) &&
           store->backend->peek(store->backend_state, key, see, context);
}

bool mcds__store_remains(mcds_store *store, mcds_bytes key, uint64_t *mark)
{
    return store->backend->remains != NULL && !mcds__store_is_parents(store) &&
           store->backend->remains(store->backend_state, key, mark);
}

struct mcds__cell *mcds__store_open_cell(mcds_store *store, mcds_bytes key,
                                         struct mcds__cell *cell)
{
    if (!store->has_cells || mcds__store_is_parents(store))
        return NULL;
    return mcds__memory_open_cell(store->backend_state, key, cell);
}

void mcds__store_release_cell(mcds_store *store, mcds_bytes key)
{
    if (!mcds__store_is_parents(store)) /* whose threads may have been changing it */
        mcds__memory_release_cell(store->backend_state, key);
}

void mcds__store_execute(mcds_store *store, uint64_t connection, mcds_batch *batch)
{
    batch->next = NULL;
    /* A thread that does not exist in this process may hold a mutex of the parent. */
    bool is_parents = mcds__store_is_parents(store);
    if (store->backend->session_open == NULL || is_parents) {
        if (check_batch(store, batch, is_parents))
            store->backend->submit(store->backend_state, batch);
        return;
    }
    struct mcds__session *session;
    if (mcds__session_take(store, connection, &session) != MCDS_OK) {
        mcds__batch_unsent(batch, MCDS__WHY(NO_MEMORY_FOR_A_CONNECTION));
        return;
    }
    mcds__session_submit(session, batch);
    while (mcds__session_collect(session, batch->deadline_ns) == NULL)
        continue; /* a backend answers everything by its deadline, so the loop ends */
    mcds__session_give(store, session);
}

static void close_store(mcds_store *store)
{
    for (uint32_t i = 0; i < store->idle_count; i++)
        mcds__session_drop(store->idle[i]);
    if (store->backend->close != NULL)
        store->backend->close(store->backend_state);
    free_store(store);
}

void mcds__store_hold(mcds_store *store)
{
    uint32_t before = atomic_fetch_add_explicit(&store->references, 1, memory_order_relaxed);
    assert(before > 0 && before < UINT32_MAX);
    (void)before;
}

void mcds__store_release(mcds_store *store)
{
    uint32_t before = atomic_fetch_sub_explicit(&store->references, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before == 1)
        close_store(store);
}

void mcds_close(mcds_store *store)
{
    if (store != NULL)
        mcds__store_release(store);
}

/* A listing or an inspection has no deadline, but waits no longer than this for a silent server. */
static void limit_silence(const mcds_store *store)
{
    if (store->has_servers)
        mcds__memcached_limit_silence(store->backend_state, mcds__store_timeout_ns(store));
}

int mcds_inspect(mcds_store *store, mcds_inspect_cb visit, void *context)
{
    if (store == NULL || visit == NULL)
        return mcds__fail_missing("store", "inspect", "a store and a visitor");
    if (mcds__store_is_parents(store))
        return mcds__store_check_process(store);
    if (store->backend->inspect == NULL)
        return mcds__fail(MCDS_UNSUPPORTED, UNSUPPORTED, .noun = "store", .verb = "inspect",
                          .reason = "it cannot be inspected");
    limit_silence(store);
    return store->backend->inspect(store->backend_state, visit, context);
}

int mcds_backup(mcds_store *store, const char *path)
{
    if (store == NULL || path == NULL)
        return mcds__fail_missing("store", "backup", "a store and a path");
    if (mcds__store_is_parents(store))
        return mcds__store_check_process(store);
    if (store->backend->backup == NULL)
        return mcds__fail(MCDS_UNSUPPORTED, UNSUPPORTED, .noun = "store", .verb = "backup",
                          .reason = "only an lmdb: store can be copied to a file");
    return store->backend->backup(store->backend_state, path);
}

int mcds__store_keys(mcds_store *store, mcds_bytes prefix,
                     bool (*visit)(void *context, mcds_bytes key), void *context)
{
    if (mcds__store_is_parents(store))
        return mcds__store_check_process(store);
    if (store->backend->keys == NULL)
        return mcds__fail(MCDS_UNSUPPORTED, UNSUPPORTED, .noun = "store", .verb = "scan",
                          .reason = "it cannot list its keys");
    limit_silence(store);
    return store->backend->keys(store->backend_state, prefix, visit, context);
}

const mcds_env *mcds__store_env(const mcds_store *store)
{
    return store->env;
}

const char *mcds__store_ns(const mcds_store *store)
{
    return store->ns;
}

uint32_t mcds__store_place(const mcds_store *store)
{
    return store->place;
}

int64_t mcds__store_timeout_ns(const mcds_store *store)
{
    bool is_limited = store->limit_ns > 0 && store->limit_ns < store->timeout_ns;
    return is_limited ? store->limit_ns : store->timeout_ns;
}

void mcds_limit_timeout(mcds_store *store, uint32_t timeout_ms)
{
    if (store != NULL)
        store->limit_ns = (int64_t)timeout_ms * NS_PER_MS;
}

bool mcds__store_answers_here(const mcds_store *store)
{
    return store->backend->session_open == NULL;
}

void mcds__store_read_capabilities(const mcds_store *store, mcds_capabilities *can_out)
{
    store->backend->capabilities(store->backend_state, can_out);
}

bool mcds__store_has(const mcds_store *store, mcds_feature feature)
{
    const mcds_backend *backend = store->backend;
    return backend->features != NULL &&
           (backend->features(store->backend_state) & (uint32_t)feature) != 0;
}

bool mcds__store_commits(const mcds_store *store)
{
    return store->backend->backup != NULL || mcds__store_can(store).durable; /* it is a file */
}
