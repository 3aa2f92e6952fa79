/* A store: a home behind a URI, the checks that hold for every home, and a pool of lanes. */
#include "store/store.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/sized.h"
#include "store/check.h"
#include "store/homes.h"
#include "store/options.h"
#include "store/uri.h"

#define LANES_IDLE_MAX 64 /* more idle lanes than this are closed */

struct mcds__lane {
    mcds_store *store;
    void *state;          /* of the home */
    mcds_batch *refused;  /* failed the checks; handed back by the next collect */
    mcds_batch *answered; /* of a home without lanes, waiting for collect */
};

struct mcds_store {
    const mcds_home *home;
    void *home_state;
    mcds_env env_own; /* of the caller; else env is the system's */
    mcds_home home_own;
    const mcds_env *env;
    _Atomic uint32_t references;
    char ns[MCDS__NS_MAX + 1];
    int64_t timeout_ns;
    int64_t limit_ns;      /* of the timeout; 0: none */
    uint64_t forks;        /* mcds__forks() when it was opened: a child must not use it */
    pthread_mutex_t mutex; /* guards the two members below */
    struct mcds__lane *idle[LANES_IDLE_MAX]; /* the last one given back is taken first */
    uint32_t idle_count;
};

static const mcds_home *const homes[] = {&mcds__home_memory, &mcds__home_lmdb,
                                         &mcds__home_memcached, NULL};

static int make_store(const mcds_env *env, const mcds_home *home, mcds_store **store_out)
{
    mcds_store *store = mcds__allocate_zero(env, sizeof *store);
    if (store == NULL)
        return mcds__fail_memory("store", NULL, NULL);
    store->env_own = *env;
    store->env = mcds__env_is_same(env, mcds_env_system()) ? mcds_env_system()
                                                           : &store->env_own;
    store->home_own = *home;
    store->home = &store->home_own;
    store->forks = mcds__watch_forks();
    atomic_init(&store->references, 1);
    if (pthread_mutex_init(&store->mutex, NULL) != 0) {
        mcds__free(env, store);
        return mcds__fail_at(MCDS_NO_MEMORY, NO_MEMORY, NULL, "store: no mutex available");
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

static const mcds_home *find_home(const char *scheme)
{
    for (size_t i = 0; homes[i] != NULL; i++)
        if (strcmp(homes[i]->scheme, scheme) == 0)
            return homes[i];
    return NULL;
}

/* The structs are of this version. */
static int open_home(const mcds_home *home, void *home_state, mcds_options *options,
                     mcds_store **store_out)
{
    if (!mcds__has_random(options->env))
        return mcds__fail_why(MCDS_IO, MCDS__WHY(NO_RANDOM), .noun = "store");
    mcds_store *store = NULL;
    int result = mcds__options_settle(options);
    if (result == MCDS_OK)
        result = make_store(options->env, home, &store);
    if (result != MCDS_OK || store == NULL)
        return result;
    memcpy(store->ns, options->ns, strlen(options->ns) + 1);
    store->timeout_ns = options->timeout_ms * NS_PER_MS;
    store->home_state = home_state;
    *store_out = store;
    return MCDS_OK;
}

int mcds_open_home(const mcds_home *home, void *home_state, const mcds_options *given,
                   mcds_store **store_out)
{
    mcds_options options;
    mcds_env env;
    mcds_home own;
    int result = mcds__options_take(given, &options, &env);
    if (result == MCDS_OK)
        result = mcds__sized_read(MCDS__SIZED_mcds_home, home, &own);
    if (result != MCDS_OK)
        return result;
    if (own.version != MCDS_HOME_VERSION)
        return mcds_fail(MCDS_UNSUPPORTED, "store: home version %u is not %d", own.version,
                         MCDS_HOME_VERSION);
    return open_home(&own, home_state, &options, store_out);
}

/* The work of mcds_open once the URI is in `uri`. */
static int open_parsed(struct mcds_uri *uri, mcds_options *options, mcds_store **store_out)
{
    const mcds_home *home = find_home(uri->scheme);
    if (home == NULL)
        return mcds__fail_at(
            MCDS_INVALID, BAD_URI, NULL,
            "store URI: no store '%.40s:'; there are memory:, lmdb: and memcached://",
            uri->scheme);
    if (mcds_uri_option(uri, "ns") != NULL)
        options->ns = mcds_uri_option(uri, "ns");
    uint64_t timeout_ms;
    if (!mcds__uri_number(uri, "timeout", 1, MCDS__TIMEOUT_MS_MAX, options->timeout_ms,
                          &timeout_ms))
        return MCDS_INVALID;
    options->timeout_ms = (uint32_t)timeout_ms;
    mcds_store *store = NULL;
    int result = open_home(home, NULL, options, &store);
    if (result != MCDS_OK)
        return result;
    assert(store != NULL);
    result = home->open(uri, store->env, &store->home_state);
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
        return mcds__fail_missing("store", "mcds_open", "a URI and a place for the store");
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

void mcds__lane_drop(struct mcds__lane *lane)
{
    if (lane->store->home->lane_close != NULL)
        lane->store->home->lane_close(lane->state);
    mcds__free(lane->store->env, lane);
}

static int open_lane(mcds_store *store, struct mcds__lane **lane_out)
{
    struct mcds__lane *lane = mcds__allocate_zero(store->env, sizeof *lane);
    if (lane == NULL)
        return mcds__fail_memory("store", NULL, NULL);
    lane->store = store;
    lane->state = store->home_state;
    int result = MCDS_OK;
    if (store->home->lane_open != NULL)
        result = store->home->lane_open(store->home_state, &lane->state);
    if (result == MCDS_OK)
        *lane_out = lane;
    else
        mcds__free(store->env, lane);
    return result;
}

/* Take the idle lane that holds `connection`, else the newest. NULL: none idle. */
static struct mcds__lane *take_idle(mcds_store *store, uint64_t connection)
{
    uint32_t found = store->idle_count;
    if (connection != 0 && store->home->lane_holds != NULL) {
        while (found > 0 && !store->home->lane_holds(store->idle[found - 1]->state, connection))
            found--;
        if (found == 0)
            found = store->idle_count;
    }
    if (found == 0)
        return NULL;
    struct mcds__lane *lane = store->idle[found - 1];
    store->idle_count--;
    memmove(&store->idle[found - 1], &store->idle[found],
            (store->idle_count - (found - 1)) * sizeof store->idle[0]);
    return lane;
}

int mcds__lane_take(mcds_store *store, uint64_t connection, struct mcds__lane **lane_out)
{
    (void)pthread_mutex_lock(&store->mutex);
    struct mcds__lane *lane = take_idle(store, connection);
    (void)pthread_mutex_unlock(&store->mutex);
    if (lane == NULL)
        return open_lane(store, lane_out);
    *lane_out = lane;
    return MCDS_OK;
}

void mcds__lane_give(mcds_store *store, struct mcds__lane *lane)
{
    (void)pthread_mutex_lock(&store->mutex);
    bool kept = store->idle_count < LANES_IDLE_MAX;
    if (kept)
        store->idle[store->idle_count++] = lane;
    (void)pthread_mutex_unlock(&store->mutex);
    if (!kept)
        mcds__lane_drop(lane);
}

/* `before`: one of the same batch that may be sent, or NULL. */
static const mcds_reason *what_is_wrong(const mcds_store *store, const mcds_request *request,
                                        const mcds_request *before)
{
    mcds_capabilities can;
    const mcds_reason *fault = mcds__request_fault(request, before);
    bool lacks_token = fault != NULL && request->command == MCDS_CAS &&
                       request->cas.connection == 0;
    if (!lacks_token && (fault != NULL || request->copy == 0))
        return fault;
    mcds__store_capabilities(store, &can);
    if (lacks_token) /* a server without compare-and-set gives none */
        return can.compare_and_set ? fault : MCDS__WHY(SERVER_WITHOUT_CAS);
    return request->copy < can.places ? NULL : MCDS__WHY(FEW_SERVERS);
}

/* Its connections, its mutexes and its file belong to the parent process. */
static bool is_parents(const mcds_store *store)
{
    return store->forks != mcds__forks();
}

int mcds__store_check_process(const mcds_store *store)
{
    return is_parents(store) ? mcds__fail_why(MCDS_INVALID, MCDS__WHY(FORKED), .noun = "store")
                             : MCDS_OK;
}

/* Clear the replies; false when a request may not be sent, and then none of the batch is. */
static bool check_batch(const mcds_store *store, mcds_batch *batch)
{
    assert(batch->count >= 1 && batch->count <= MCDS_BATCH_MAX);
    const mcds_reason *fault = is_parents(store) ? MCDS__WHY(FORKED) : NULL;
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
    return sound == batch->count;
}

/* Whether the batch may be sent; else it is answered here. */
static bool is_sound(const mcds_store *store, mcds_batch *batch, int64_t now_ns)
{
    if (batch->deadline_ns <= now_ns)
        mcds__batch_unsent(batch, MCDS__WHY(PAST_DEADLINE));
    else if (!check_batch(store, batch))
        mcds__batch_refuse(batch);
    else
        return true;
    return false;
}

void mcds__lane_submit(struct mcds__lane *lane, mcds_batch *first)
{
    const mcds_home *home = lane->store->home;
    /* A home without lanes looks at the clock itself. */
    int64_t now_ns = home->lane_open != NULL ? mcds__monotonic_ns(lane->store->env) : INT64_MIN;
    mcds_batch *sound = NULL;
    mcds_batch **sound_end = &sound;
    for (mcds_batch *batch = first, *next; batch != NULL; batch = next) {
        next = batch->next;
        batch->next = NULL;
        if (is_sound(lane->store, batch, now_ns)) {
            *sound_end = batch;
            sound_end = &batch->next;
        } else {
            batch->next = lane->refused;
            lane->refused = batch;
        }
    }
    if (sound == NULL)
        return;
    home->submit(lane->state, sound);
    if (home->lane_open == NULL) {
        *sound_end = lane->answered;
        lane->answered = sound;
    }
}

mcds_batch *mcds__lane_collect(struct mcds__lane *lane, int64_t until_ns)
{
    mcds_batch **ready = lane->refused != NULL ? &lane->refused : &lane->answered;
    mcds_batch *list = *ready;
    *ready = NULL;
    if (list == NULL && lane->store->home->collect != NULL)
        list = lane->store->home->collect(lane->state, until_ns);
    return list;
}

int mcds__lane_watch(struct mcds__lane *lane, int64_t *wake_ns_out)
{
    int fd = -1;
    *wake_ns_out = INT64_MAX;
    if (lane->store->home->watch != NULL)
        fd = lane->store->home->watch(lane->state, wake_ns_out);
    if (lane->refused != NULL || lane->answered != NULL)
        *wake_ns_out = 0;
    return fd;
}

bool mcds__store_look(mcds_store *store, mcds_bytes key,
                      void (*see)(void *context, const mcds_reply *reply, mcds_bytes value),
                      void *context)
{
    return store->home->look != NULL && !is_parents(store) &&
           store->home->look(store->home_state, key, see, context);
}

bool mcds__store_remains(mcds_store *store, mcds_bytes key, uint64_t *mark)
{
    return store->home->remains != NULL && !is_parents(store) &&
           store->home->remains(store->home_state, key, mark);
}

struct mcds__cell *mcds__store_open_cell(mcds_store *store, mcds_bytes key,
                                         struct mcds__cell *cell)
{
    if (store->home->open_cell == NULL || is_parents(store))
        return NULL;
    return store->home->open_cell(store->home_state, key, cell);
}

void mcds__store_release_cell(mcds_store *store, mcds_bytes key)
{
    store->home->release_cell(store->home_state, key);
}

void mcds__store_execute(mcds_store *store, uint64_t connection, mcds_batch *batch)
{
    batch->next = NULL;
    /* The mutex of a parent may be held by a thread that is not here. */
    if (mcds__store_answers_here(store) || is_parents(store)) {
        if (check_batch(store, batch))
            store->home->submit(store->home_state, batch);
        else
            mcds__batch_refuse(batch);
        return;
    }
    struct mcds__lane *lane;
    if (mcds__lane_take(store, connection, &lane) != MCDS_OK) {
        mcds__batch_unsent(batch, MCDS__WHY(NO_MEMORY_FOR_A_CONNECTION));
        return;
    }
    mcds__lane_submit(lane, batch);
    while (mcds__lane_collect(lane, batch->deadline_ns) == NULL)
        continue; /* a home answers everything at its deadline, so this ends */
    mcds__lane_give(store, lane);
}

static void close_store(mcds_store *store)
{
    for (uint32_t i = 0; i < store->idle_count; i++)
        mcds__lane_drop(store->idle[i]);
    if (store->home->close != NULL)
        store->home->close(store->home_state);
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

int mcds_inspect(mcds_store *store, bool (*visit)(void *context, const mcds_finding *finding),
                 void *context)
{
    if (store == NULL || visit == NULL)
        return mcds__fail_missing("store", "mcds_inspect", "a store and a visitor");
    if (store->home->inspect == NULL)
        return mcds_fail(MCDS_UNSUPPORTED, "store: this one cannot be inspected");
    int result = mcds__store_check_process(store);
    return result == MCDS_OK ? store->home->inspect(store->home_state, visit, context) : result;
}

int mcds_backup(mcds_store *store, const char *path)
{
    if (store == NULL || path == NULL)
        return mcds__fail_missing("store", "mcds_backup", "a store and a path");
    if (store->home->backup == NULL)
        return mcds_fail(MCDS_UNSUPPORTED,
                         "store: %s: cannot be copied to a file; only lmdb: can",
                         store->home->scheme);
    int result = mcds__store_check_process(store);
    return result == MCDS_OK ? store->home->backup(store->home_state, path) : result;
}

int mcds__store_keys(mcds_store *store, mcds_bytes prefix,
                     bool (*visit)(void *context, mcds_bytes key), void *context)
{
    if (store->home->keys == NULL)
        return mcds_fail(MCDS_UNSUPPORTED, "store: this one cannot list its keys");
    int result = mcds__store_check_process(store);
    return result == MCDS_OK ? store->home->keys(store->home_state, prefix, visit, context)
                             : result;
}

const mcds_env *mcds__store_env(const mcds_store *store)
{
    return store->env;
}

const char *mcds__store_ns(const mcds_store *store)
{
    return store->ns;
}

int64_t mcds__store_timeout_ns(const mcds_store *store)
{
    bool is_limited = store->limit_ns > 0 && store->limit_ns < store->timeout_ns;
    return is_limited ? store->limit_ns : store->timeout_ns;
}

void mcds_limit_timeout(mcds_store *store, uint32_t timeout_ms)
{
    store->limit_ns = (int64_t)timeout_ms * NS_PER_MS;
}

bool mcds__store_answers_here(const mcds_store *store)
{
    return store->home->lane_open == NULL;
}

void mcds__store_capabilities(const mcds_store *store, mcds_capabilities *out)
{
    store->home->capabilities(store->home_state, out);
}
