/* mcds_scan: lists the structures of a store, found by their keys. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/hash/byte_set.h"
#include "core/record/value.h"
#include "core/tally/tally.h"
#include "engine/operation.h"
#include "structures/structure.h"

/* Most structures of a listing; beyond it the result is NO_MEMORY. */
#define LISTED_MAX 1000000
/* Longest value of an array that may be a tombstone. */
#define TOMBSTONE_MAX ((size_t)1 << 20)
#define NOUN_MAX 16

/* Arrays read in one round trip. */
#define ARRAYS_AT_ONCE 32

/* A key that shows its structure unless it holds the tombstone of a drop. */
struct doubtful {
    struct doubtful *next;
    char name[MCDS__KEY_MAX + 1];
    struct mcds__key key;
};

struct catalogue {
    const mcds_env *env;
    size_t prefix_length;
    struct mcds__byte_set seen; /* "NOUN:NAME", allocated */
    struct doubtful *arrays;
    int64_t left_ns; /* that the call may still wait for the arrays */
    bool ended;      /* by the visitor */
    mcds_scan_cb visit;
    void *context;
    int result;
};

#define ANY_PARTS SIZE_MAX

/* The structure whose existence a key proves; NULL for other keys of a structure. `parts`: how many
 * parts the key has after the name. The keys of a map without its root prove nothing. */
static const char *enumerate_noun_of(const char *tag, size_t parts)
{
    static const struct {
        const char *tag;
        const char *noun;
        size_t parts; /* of the key that proves it */
    } nouns[] = {
        {MCDS__TAG_COUNTER, "counter", ANY_PARTS},
        {MCDS__TAG_REPLICA, "counter", ANY_PARTS},
        {MCDS__TAG_CACHE, "cache", ANY_PARTS},
        {MCDS__TAG_LOCK, "lock", ANY_PARTS},
        {MCDS__TAG_FENCE, "lock", ANY_PARTS},
        {MCDS__TAG_SEMAPHORE, "semaphore", ANY_PARTS},
        {MCDS__TAG_SEMAPHORE_LEASE, "semaphore", ANY_PARTS},
        {MCDS__TAG_SEMAPHORE_FENCE, "semaphore", ANY_PARTS},
        {MCDS__TAG_VISITORS, "visitors", ANY_PARTS},
        {MCDS__TAG_ONLINE, "online", ANY_PARTS},
        {MCDS__TAG_VISITOR_MEMBERS, "visitors", 2},
        {MCDS__TAG_ONLINE_MEMBERS, "online", 2},
        {MCDS__TAG_SET, "set", 0},
        {MCDS__TAG_ARRAY, "array", ANY_PARTS},
        {MCDS__TAG_TABLE, "table", 0},
        {MCDS__TAG_LIMIT, "limit", 0},
        {MCDS__TAG_IDS, "ids", ANY_PARTS},
        {MCDS__TAG_ONCE, "once", ANY_PARTS},
        {MCDS__TAG_QUEUE, "queue", 0},
        {MCDS__TAG_LIST, "list", ANY_PARTS},
        {MCDS__TAG_LOG, "log", 0},
        {MCDS__TAG_VIEWS, "views", ANY_PARTS},
        {MCDS__TAG_VIEWS_BASE, "views", ANY_PARTS},
    };
    for (size_t i = 0; i < sizeof nouns / sizeof nouns[0]; i++)
        if (strcmp(tag, nouns[i].tag) == 0 &&
            (nouns[i].parts == ANY_PARTS || nouns[i].parts == parts))
            return nouns[i].noun;
    return NULL;
}

/* Whether the interval of a key NAME:WIDTH_MS:...:NUMBER is not over; true for the settings. A drop
 * leaves the keys of those that are over. */
static bool is_running(const mcds_env *env, mcds_bytes key, size_t at)
{
    char part[MCDS__KEY_MAX + 1];
    uint64_t width_ms = 0, number = 0;
    for (bool is_first = true; mcds__key_next_part(key, &at, part); is_first = false) {
        if (!mcds__parse_u64(part, strlen(part), &number))
            return false;
        width_ms = is_first ? number : width_ms;
    }
    return mcds__tally_is_running(env, number, width_ms);
}

static size_t count_parts(mcds_bytes key, size_t at)
{
    size_t parts = at <= key.length ? 1 : 0;
    for (size_t i = at; i < key.length; i++)
        parts += ((const char *)key.data)[i] == ':';
    return parts;
}

/* Remembers a structure. Returns true when it is new. */
static bool remember(struct catalogue *catalogue, const char *noun, const char *name)
{
    char text[NOUN_MAX + MCDS__KEY_MAX + 2];
    int length = snprintf(text, sizeof text, "%s:%s", noun, name);
    assert(length > 0 && (size_t)length < sizeof text);
    if (mcds__byte_set_count(&catalogue->seen, (mcds_bytes){text, (size_t)length}) > 0)
        return false;
    if (catalogue->seen.used >= LISTED_MAX) {
        catalogue->result = mcds__fail_why(MCDS_NO_MEMORY, MCDS__WHY(MANY_STRUCTURES),
                                           .noun = "store", .verb = "scan");
        return false;
    }
    char *own = mcds__copy_string(catalogue->env, text);
    if (own != NULL && mcds__byte_set_add(&catalogue->seen, (mcds_bytes){own, (size_t)length}))
        return true;
    mcds__free(catalogue->env, own);
    catalogue->result = mcds__fail_memory("store", NULL, "scan");
    return false;
}

static bool keep_array(struct catalogue *catalogue, mcds_bytes key, const char *name)
{
    struct doubtful *array = mcds__allocate_zero(catalogue->env, sizeof *array);
    if (array == NULL) {
        catalogue->result = mcds__fail_memory("store", NULL, "scan");
        return false;
    }
    memcpy(array->name, name, strlen(name) + 1);
    memcpy(array->key.bytes, key.data, key.length);
    array->key.length = (uint8_t)key.length;
    array->next = catalogue->arrays;
    catalogue->arrays = array;
    return true;
}

/* Whether an array's key holds no tombstone of a drop. What cannot be decoded counts as an
 * array. */
static bool is_there(const mcds_batch *batch, const mcds_request *request)
{
    struct mcds__record_value value;
    if (request->reply.outcome == MCDS_OUT_MISS)
        return false;
    return request->reply.outcome != MCDS_OUT_OK ||
           !mcds__record_decode(mcds__reply_value(batch, request), request->key, &value) ||
           value.kind != MCDS__RECORD_REMOVED;
}

/* Reads the first arrays and visits those that exist. */
static void visit_some(struct catalogue *catalogue, mcds_store *store)
{
    mcds_buffer values;
    mcds_request requests[ARRAYS_AT_ONCE];
    mcds_batch batch = {.requests = requests, .independent = true, .values = &values};
    mcds__buffer_init(&values, catalogue->env, ARRAYS_AT_ONCE * TOMBSTONE_MAX);
    for (struct doubtful *array = catalogue->arrays;
         array != NULL && batch.count < ARRAYS_AT_ONCE; array = array->next)
        requests[batch.count++] = (mcds_request){.command = MCDS_GET,
                                                 .key = mcds__key_bytes(&array->key)};
    assert(batch.count > 0);
    int64_t begun_ns = mcds__monotonic_ns(catalogue->env);
    batch.deadline_ns = begun_ns + mcds__store_timeout_ns(store);
    mcds__store_execute(store, 0, &batch);
    catalogue->left_ns -= mcds__monotonic_ns(catalogue->env) - begun_ns;
    for (uint32_t i = 0; i < batch.count; i++) {
        struct doubtful *array = catalogue->arrays;
        mcds_listed listed = {"array", array->name};
        if (!catalogue->ended && is_there(&batch, &requests[i]))
            catalogue->ended = !catalogue->visit(catalogue->context, &listed);
        catalogue->arrays = array->next;
        mcds__free(catalogue->env, array);
    }
    mcds__buffer_free(&values);
}

/* Called after the listing, which may hold the connection. */
static void visit_arrays(struct catalogue *catalogue, mcds_store *store)
{
    catalogue->left_ns = MCDS__TIMEOUTS_MAX * mcds__store_timeout_ns(store);
    while (catalogue->arrays != NULL && catalogue->result == MCDS_OK && !catalogue->ended) {
        if (catalogue->left_ns > 0)
            visit_some(catalogue, store);
        else
            catalogue->result = mcds__fail_why(MCDS_TIMEOUT, MCDS__WHY(NO_ANSWER),
                                               .noun = "store", .verb = "scan");
    }
    while (catalogue->arrays != NULL) {
        struct doubtful *array = catalogue->arrays;
        catalogue->arrays = array->next;
        mcds__free(catalogue->env, array);
    }
}

static bool enumerate_see_key(void *context, mcds_bytes key)
{
    struct catalogue *catalogue = context;
    char tag[MCDS__KEY_MAX + 1];
    char name[MCDS__KEY_MAX + 1];
    size_t at = catalogue->prefix_length;
    if (!mcds__key_next_part(key, &at, tag) || !mcds__key_next_part(key, &at, name))
        return true;
    const char *noun = enumerate_noun_of(tag, count_parts(key, at));
    bool is_array = strcmp(tag, MCDS__TAG_ARRAY) == 0;
    bool expires = noun != NULL &&
                   (strcmp(noun, "visitors") == 0 || strcmp(noun, "online") == 0);
    if (noun == NULL || (expires && !is_running(catalogue->env, key, at)) ||
        !remember(catalogue, noun, name))
        return catalogue->result == MCDS_OK;
    if (is_array)
        return keep_array(catalogue, key, name);
    mcds_listed listed = {noun, name};
    catalogue->ended = !catalogue->visit(catalogue->context, &listed);
    return !catalogue->ended;
}

static void forget_all(struct catalogue *catalogue)
{
    for (size_t i = 0; i < catalogue->seen.capacity; i++)
        mcds__free(catalogue->env, (void *)(uintptr_t)catalogue->seen.entries[i].bytes.data);
    mcds__byte_set_free(&catalogue->seen);
}

int mcds_scan(mcds_store *store, mcds_scan_cb visit, void *context)
{
    if (store == NULL || visit == NULL)
        return mcds__fail_missing("store", "scan", "a store and a visitor");
    struct catalogue catalogue = {
        .env = mcds__store_env(store),
        .visit = visit,
        .context = context,
        .result = MCDS_OK,
    };
    mcds__byte_set_init(&catalogue.seen, catalogue.env);
    char prefix[MCDS__NS_MAX + 1];
    size_t ns_length = strlen(mcds__store_ns(store));
    assert(ns_length > 0 && ns_length <= MCDS__NS_MAX);
    memcpy(prefix, mcds__store_ns(store), ns_length);
    prefix[ns_length] = ':';
    catalogue.prefix_length = ns_length + 1;
    int result = mcds__store_keys(store, (mcds_bytes){prefix, ns_length + 1}, enumerate_see_key,
                                  &catalogue);
    struct mcds__failure failure;
    mcds__failure_save(&failure);
    visit_arrays(&catalogue, store);
    forget_all(&catalogue);
    if (catalogue.result != MCDS_OK)
        return catalogue.result;
    if (result != MCDS_OK)
        mcds__failure_restore(&failure);
    return result;
}
