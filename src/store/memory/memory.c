/* The memory backend: a keyspace in this process, divided into stripes with a lock each. Stores
 * opened with the same name share one memory. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/hash/hash.h"
#include "store/backends.h"
#include "store/batch_check.h"
#include "store/cas_token.h"
#include "store/finding.h"
#include "store/memory/keyspace.h"
#include "store/memory/noted.h"
#include "store/uri.h"

#define STRIPE_BITS 8
#define STRIPES_MAX (1 << STRIPE_BITS)
#define STRIPE_BYTES_MIN (UINT64_C(4) << 20)
#define NAME_MAX_BYTES 200
#define VALUE_MAX (UINT64_C(64) << 20)
#define BYTES_MIN (UINT64_C(64) << 10)
/* Strict mode accepts only what a memcached with default settings accepts. */
#define STRICT_VALUE_MAX ((UINT64_C(1) << 20) - 512)
#define STRICT_BYTES (UINT64_C(64) << 20)
#define STRICT_UNIT_MS 1000
#define STRICT_EARLY_MS 2000 /* the unit, and a tick that is late */
#define STRICT_EARLY_ONE_IN 8

#define PEEK_CAPACITY 4096 /* of a value that is passed as a copy */

/* The members that a call uses are in one cache line, and adjacent lines, which the processor prefetches,
 * are not shared with a neighbour. */
struct stripe {
    pthread_mutex_t mutex; /* guards the members below */
    struct mcds__keyspace *keyspace;
    uint64_t cas_next; /* a key stays in its stripe, so its tokens never repeat */
    _Atomic uint64_t
        losses; /* lost items, from 1 on; read without the mutex, and seldom written */
    uint8_t padding[MCDS__PROCESSOR_LINE];
};

struct memory {
    const mcds_env *env;
    mcds_env env_own;
    struct stripe *stripes;
    void *stripes_memory;  /* the allocation in which the stripes are aligned to cache lines */
    uint32_t stripe_count; /* a power of two */
    uint64_t seed;         /* of the key hash */
    uint64_t chance;       /* of the late ticks of strict mode */
    uint64_t connection;   /* distinguishes its CAS tokens from those of other memories */
    bool strict;
    int64_t phase_ms; /* of the seconds of strict mode */
    uint64_t bytes_max;
    uint64_t value_max;
    uint64_t forks; /* mcds__forks() when it was made */
    char peer[sizeof "memory:" + NAME_MAX_BYTES];
    const char *server; /* `peer`, or NULL where the store has no name */
    /* Guarded by the registry's lock: */
    uint64_t handles;
    struct memory *next;
};

/* All memories; in a child of fork also its parent's. Guarded by the registry's lock. */
static struct memory *memories;

static void free_memory(struct memory *memory)
{
    for (uint32_t i = 0; memory->stripes != NULL && i < memory->stripe_count; i++) {
        mcds__keyspace_close(memory->stripes[i].keyspace);
        (void)pthread_mutex_destroy(&memory->stripes[i].mutex);
    }
    mcds__free(memory->env, memory->stripes_memory);
    mcds_env env = memory->env_own;
    mcds__free(&env, memory);
}

/* The largest number of stripes that leaves each room for several of the largest values. */
static uint32_t choose_stripes(uint64_t bytes_max)
{
    uint32_t stripes = STRIPES_MAX;
    while (stripes > 1 && bytes_max > 0 && bytes_max / stripes < STRIPE_BYTES_MIN)
        stripes /= 2;
    assert(stripes > 0 && (stripes & (stripes - 1)) == 0);
    return stripes;
}

static int make_stripes(struct memory *memory)
{
    uint8_t *stripes = mcds__allocate_zero(
        memory->env, memory->stripe_count * sizeof memory->stripes[0] + MCDS__PROCESSOR_LINE);
    if (stripes == NULL)
        return mcds__fail_memory("store", NULL, NULL);
    memory->stripes_memory = stripes;
    stripes += (MCDS__PROCESSOR_LINE - (uintptr_t)stripes % MCDS__PROCESSOR_LINE) %
               MCDS__PROCESSOR_LINE;
    assert((uintptr_t)stripes % MCDS__PROCESSOR_LINE == 0);
    memory->stripes = (struct stripe *)(void *)stripes;
    struct mcds__keyspace_options options = {
        .bytes_max = memory->bytes_max / memory->stripe_count,
        .value_max = memory->value_max,
        .no_flags_on_create = memory->strict,
        .no_create_on_append = memory->strict,
    };
    for (uint32_t i = 0; i < memory->stripe_count; i++) {
        struct stripe *stripe = &memory->stripes[i];
        (void)pthread_mutex_init(&stripe->mutex, NULL);
        atomic_init(&stripe->losses, 1);
        options.losses = &stripe->losses;
        stripe->keyspace = mcds__keyspace_open(memory->env, &options);
        if (stripe->keyspace == NULL) {
            memory->stripe_count = i + 1;
            return mcds__fail_memory("store", NULL, NULL);
        }
    }
    return MCDS_OK;
}

/* Make a memory with one handle and put it at the head of the list. */
static int make_memory(const struct memory *wanted, void **backend_out)
{
    struct memory *memory = mcds__allocate(wanted->env, sizeof *memory);
    if (memory == NULL)
        return mcds__fail_memory("store", NULL, NULL);
    *memory = *wanted;
    memory->env_own = *wanted->env;
    memory->env = &memory->env_own; /* it may outlive the first store */
    memory->stripe_count = choose_stripes(memory->bytes_max);
    uint64_t half_stripe = memory->bytes_max / memory->stripe_count / 2;
    if (half_stripe > 0 && memory->value_max > half_stripe)
        memory->value_max = half_stripe;
    memory->seed = mcds__random_u64(memory->env);
    memory->chance = mcds__random_u64(memory->env);
    memory->phase_ms = (int64_t)(mcds__random_u64(memory->env) % STRICT_UNIT_MS);
    int result = make_stripes(memory);
    if (result != MCDS_OK) {
        free_memory(memory);
        return result;
    }
    memory->handles = 1;
    memory->forks = mcds__watch_forks();
    memory->server = strcmp(memory->peer, "memory:") != 0 ? memory->peer : NULL;
    memory->connection = mcds__cas_token_place();
    memory->next = memories;
    memories = memory;
    *backend_out = memory;
    return MCDS_OK;
}

/* Use the memory that another store has opened under this name. */
static int join_memory(struct memory *memory, const struct memory *wanted, void **backend_out)
{
    if (!mcds__env_is_same(memory->env, wanted->env))
        return mcds__fail(MCDS_INVALID, OPTION_DIFFERS, .noun = "store", .peer = memory->peer,
                          .option = "env", .wanted = "this mcds_env",
                          .found = "another mcds_env",
                          .reason = "it is open in this process with another mcds_env; open it "
                                    "with the same");
    bool strictness_differs = memory->strict != wanted->strict;
    if (strictness_differs || memory->bytes_max != wanted->bytes_max)
        return mcds__fail_saying(
            MCDS__ERROR(MCDS_INVALID, OPTION_DIFFERS, .noun = "store",
                        .option = strictness_differs ? "strict" : "bytes",
                        .wanted_max = mcds__clamped(strictness_differs ? wanted->strict
                                                                       : wanted->bytes_max),
                        .found_number = mcds__clamped(strictness_differs ? memory->strict
                                                                         : memory->bytes_max),
                        .peer = memory->peer),
            "it is open in this process with strict=%d bytes=%llu; open it with the same "
            "options",
            memory->strict, (unsigned long long)memory->bytes_max);
    assert(memory->handles > 0);
    memory->handles++;
    *backend_out = memory;
    return MCDS_OK;
}

static int open_shared(const struct memory *wanted, void **backend_out)
{
    bool is_named = strcmp(wanted->peer, "memory:") != 0;
    struct memory *memory = is_named ? memories : NULL;
    while (memory != NULL &&
           (memory->forks != mcds__forks() || strcmp(memory->peer, wanted->peer) != 0))
        memory = memory->next;
    return memory == NULL ? make_memory(wanted, backend_out)
                          : join_memory(memory, wanted, backend_out);
}

static int memory_open(const struct mcds_uri *uri, const mcds_env *env, void **backend_out)
{
    static const char *const known[] = {"strict", "bytes", NULL};
    struct memory wanted = {.env = env};
    uint64_t strict;
    if (!mcds__uri_knows(uri, known) || !mcds__uri_number(uri, "strict", 0, 1, 0, &strict) ||
        !mcds__uri_number(uri, "bytes", BYTES_MIN, UINT64_MAX, strict ? STRICT_BYTES : 0,
                          &wanted.bytes_max))
        return MCDS_INVALID;
    const char *name = mcds_uri_place(uri);
    if (strlen(name) > NAME_MAX_BYTES)
        return mcds__fail(MCDS_INVALID, TOO_LONG, .noun = "store", .option = "name",
                          .wanted_max = NAME_MAX_BYTES, MCDS__FOUND(strlen(name)));
    wanted.strict = strict == 1;
    wanted.value_max = wanted.strict ? STRICT_VALUE_MAX : VALUE_MAX;
    (void)snprintf(wanted.peer, sizeof wanted.peer, "memory:%s", name);
    mcds__registry_lock();
    int result = open_shared(&wanted, backend_out);
    mcds__registry_unlock();
    return result;
}

static void memory_close(void *backend)
{
    struct memory *memory = backend;
    if (memory->forks != mcds__forks()) /* a thread of the parent may have been changing it */
        return;
    mcds__registry_lock();
    assert(memory->handles > 0);
    bool is_last = --memory->handles == 0;
    struct memory **link = &memories;
    for (; is_last && *link != memory; link = &(*link)->next)
        assert(*link != NULL);
    if (is_last)
        *link = memory->next;
    mcds__registry_unlock();
    if (is_last)
        free_memory(memory);
}

static void memory_capabilities(void *backend, mcds_capabilities *out)
{
    const struct memory *memory = backend;
    *out = (mcds_capabilities){
        .places = 1,
        .create_on_increment = true,
        .flags_on_create = !memory->strict,
        .create_on_append = !memory->strict,
        .compare_and_delete = true,
        .compare_and_set = true,
        .cas_on_store = true,
        .size_after_write = !memory->strict,
        .value_suppressed = true,
        .ttl_readable = true,
        .ordered_batch = true,
        .durable = false,
        .evicts = memory->bytes_max > 0,
        .expires = true,
        .ttl_unit_ms = memory->strict ? STRICT_UNIT_MS : 1,
        .ttl_early_ms = memory->strict ? STRICT_EARLY_MS : 0,
        .value_max = memory->value_max,
    };
}

/* In strict mode, the features are those of memcached. */
static uint32_t memory_features(void *backend)
{
    const struct memory *memory = backend;
    return memory->strict ? MCDS_CAS_NUMBERS : MCDS_CAS_NUMBERS | MCDS_STATE_AFTER_APPEND;
}

/* In strict mode, the reply to an append shows no flags, and the size only with a set number. */
static void hide_state(mcds_request *request)
{
    if (request->command != MCDS_APPEND)
        return;
    request->reply.flags = 0;
    if ((request->options & MCDS_SETS_CAS) == 0)
        request->reply.value_length = 0;
}

/* The time that the keyspaces see: in strict mode whole seconds, as in memcached. */
static int64_t keyspace_now_ms(const struct memory *memory, int64_t now_ns)
{
    int64_t now_ms = now_ns / NS_PER_MS;
    if (!memory->strict)
        return now_ms;
    return (now_ms + memory->phase_ms) / STRICT_UNIT_MS * STRICT_UNIT_MS;
}

/* Strict mode: a tick of memcached's clock may be late, and the next one then jumps. What is written
 * in between ends a second early. The clock never goes back, so each tick is late or not for all. */
static uint32_t lag_of(const struct memory *memory, int64_t now_ms)
{
    if (!memory->strict)
        return 0;
    uint64_t tick = (uint64_t)(now_ms / STRICT_UNIT_MS) * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t state = memory->chance + tick;
    uint64_t mixed = (state ^ state >> 32) * UINT64_C(0xd6e8feb86659fd93);
    assert(now_ms % STRICT_UNIT_MS == 0);
    return mixed >> 32 < UINT32_MAX / STRICT_EARLY_ONE_IN ? STRICT_UNIT_MS : 0;
}

/* The keyspace uses the low bits to find a bucket. */
static struct stripe *stripe_of(const struct memory *memory, uint64_t hash)
{
    assert(memory->stripe_count > 0 &&
           (memory->stripe_count & (memory->stripe_count - 1)) == 0);
    return &memory->stripes[hash >> 32 & (memory->stripe_count - 1)];
}

/* The requests that follow the first and share its key are executed under the same lock.
 * Returns the number executed. */
static uint32_t execute(struct memory *memory, mcds_request *requests, uint32_t count,
                        struct mcds__keyspace_context *context)
{
    uint32_t done = 0;
    uint64_t hash = mcds__hash(memory->seed, requests->key);
    struct stripe *stripe = stripe_of(memory, hash);
    (void)pthread_mutex_lock(&stripe->mutex);
    context->cas_next = &stripe->cas_next;
    do {
        mcds_request *request = &requests[done++];
        mcds__keyspace_execute(stripe->keyspace, request, hash, context);
        request->reply.peer = memory->server;
        if (memory->strict)
            hide_state(request);
    } while (done < count && mcds__replicas_key(requests, &requests[done]));
    (void)pthread_mutex_unlock(&stripe->mutex);
    assert(done > 0 && done <= count);
    return done;
}

static void memory_execute_batch(struct memory *memory, mcds_batch *batch,
                                 struct mcds__keyspace_context *context)
{
    context->values = batch->values;
    for (uint32_t i = 0; i < batch->count;)
        i += execute(memory, &batch->requests[i], batch->count - i, context);
    batch->answered = batch->count;
}

static void memory_submit(void *session, mcds_batch *first)
{
    struct memory *memory = session;
    int64_t now_ns = mcds__monotonic_ns(memory->env);
    struct mcds__keyspace_context context = {
        .now_ms = keyspace_now_ms(memory, now_ns),
        .ttl_unit_ms = memory->strict ? STRICT_UNIT_MS : 1,
        .connection = memory->connection,
    };
    context.lag_ms = lag_of(memory, context.now_ms);
    for (mcds_batch *batch = first; batch != NULL; batch = batch->next) {
        if (now_ns < batch->deadline_ns)
            memory_execute_batch(memory, batch, &context);
        else
            mcds__batch_unsent(batch, MCDS__WHY(UNDONE_IN_TIME));
    }
}

/* A small value is passed as a copy. That costs about 6 percent of a read from a large table,
 * but the readers of one stripe wait only for each other's copy, not for the visitor. */
static bool memory_peek(void *backend, mcds_bytes key,
                        void (*see)(void *context, const mcds_reply *reply, mcds_bytes value),
                        void *context)
{
    const struct memory *memory = backend;
    if (memory->strict)
        return false;
    uint64_t hash = mcds__hash(memory->seed, key);
    struct stripe *stripe = stripe_of(memory, hash);
    const struct mcds__keyspace_context keyspace_context = {
        .cas_next = &stripe->cas_next,
        .connection = memory->connection,
    };
    mcds_reply reply;
    mcds_bytes value;
    uint8_t capacity[PEEK_CAPACITY];
    (void)pthread_mutex_lock(&stripe->mutex);
    bool known = mcds__keyspace_peek(stripe->keyspace, key, hash, &keyspace_context, &reply,
                                     &value);
    bool is_copied = known && value.length <= sizeof capacity;
    if (is_copied && value.length > 0)
        value.data = memcpy(capacity, value.data, value.length);
    if (is_copied)
        (void)pthread_mutex_unlock(&stripe->mutex);
    if (known) {
        reply.peer = memory->server;
        see(context, &reply, value);
    }
    if (!is_copied)
        (void)pthread_mutex_unlock(&stripe->mutex);
    return known;
}

/* The mark is the stripe's number and its count of lost items. Commands that raise the count
 * hold the mutex, and so does a peek; a peek that begins after the count was read sees all
 * earlier losses. In strict mode the answer is always false, as memcached does not know
 * either. */
static bool memory_remains(void *backend, mcds_bytes key, uint64_t *mark)
{
    const struct memory *memory = backend;
    if (memory->strict)
        return false;
    const struct stripe *stripe = *mark != 0 ? &memory->stripes[*mark % STRIPES_MAX]
                                             : stripe_of(memory, mcds__hash(memory->seed, key));
    uint64_t before = *mark;
    *mark = atomic_load(&stripe->losses) << STRIPE_BITS | (uint64_t)(stripe - memory->stripes);
    return *mark == before;
}

/* With a limit, an addition to a cell would be no use of the item, which could be evicted. */
struct mcds__cell *mcds__memory_open_cell(void *backend, mcds_bytes key,
                                          struct mcds__cell *cell)
{
    struct memory *memory = backend;
    if (memory->strict || memory->bytes_max > 0)
        return NULL;
    uint64_t hash = mcds__hash(memory->seed, key);
    struct stripe *stripe = stripe_of(memory, hash);
    (void)pthread_mutex_lock(&stripe->mutex);
    cell = mcds__keyspace_open_cell(stripe->keyspace, key, hash, cell, &stripe->cas_next);
    (void)pthread_mutex_unlock(&stripe->mutex);
    return cell;
}

void mcds__memory_release_cell(void *backend, mcds_bytes key)
{
    struct memory *memory = backend;
    uint64_t hash = mcds__hash(memory->seed, key);
    struct stripe *stripe = stripe_of(memory, hash);
    (void)pthread_mutex_lock(&stripe->mutex);
    mcds__keyspace_release_cell(stripe->keyspace, key, hash, &stripe->cas_next);
    (void)pthread_mutex_unlock(&stripe->mutex);
}

static int memory_keys(void *backend, mcds_bytes prefix,
                       bool (*visit)(void *context, mcds_bytes key), void *context)
{
    struct memory *memory = backend;
    int result = MCDS_OK;
    bool going_on = true;
    mcds_buffer noted;
    mcds__buffer_init(&noted, memory->env, SIZE_MAX);
    for (uint32_t i = 0; going_on && i < memory->stripe_count; i++) {
        struct stripe *stripe = &memory->stripes[i];
        noted.length = 0;
        (void)pthread_mutex_lock(&stripe->mutex);
        int64_t now_ms = keyspace_now_ms(memory, mcds__monotonic_ns(memory->env));
        bool complete = mcds__keyspace_keys(stripe->keyspace, now_ms, prefix, mcds__note_key,
                                            &noted);
        (void)pthread_mutex_unlock(&stripe->mutex);
        if (!complete)
            result = mcds__fail_why(MCDS_NO_MEMORY, MCDS__WHY(NO_MEMORY), .noun = "store",
                                    .peer = memory->peer);
        going_on = complete && mcds__visit_noted(&noted, visit, context);
    }
    mcds__buffer_free(&noted);
    return result;
}

static void report_contents(struct memory *memory, struct mcds__report *report)
{
    uint64_t items = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < memory->stripe_count; i++) {
        struct stripe *stripe = &memory->stripes[i];
        (void)pthread_mutex_lock(&stripe->mutex);
        items += mcds__keyspace_count(stripe->keyspace);
        bytes += mcds__keyspace_bytes(stripe->keyspace);
        (void)pthread_mutex_unlock(&stripe->mutex);
    }
    mcds__report(report, MCDS_FACT, "", "%llu items in %llu bytes", (unsigned long long)items,
                 (unsigned long long)bytes);
}

static int memory_inspect(void *backend, mcds_inspect_cb visit, void *context)
{
    struct memory *memory = backend;
    struct mcds__report report = {memory->peer, visit, context, false};
    report_contents(memory, &report);
    if (memory->strict)
        mcds__report(&report, MCDS_FACT, "",
                     "strict: the worst behaviour that memcached permits");
    if (memory->bytes_max > 0)
        mcds__report(&report, MCDS_ADVICE, "leave bytes= out, or make it larger",
                     "beyond %llu bytes the least recently used keys are dropped, locks and "
                     "counters too",
                     (unsigned long long)memory->bytes_max);
    return MCDS_OK;
}

const mcds_backend mcds__backend_memory = {
    .version = MCDS_BACKEND_VERSION,
    .scheme = "memory",
    .open = memory_open,
    .close = memory_close,
    .capabilities = memory_capabilities,
    .submit = memory_submit,
    .peek = memory_peek,
    .remains = memory_remains,
    .keys = memory_keys,
    .inspect = memory_inspect,
    .features = memory_features,
};
