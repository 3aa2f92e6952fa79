/* Catalogue: which structures a store holds, read off its keys. */
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"
#include "core/record_value.h"
#include "structures/structure.h"

/* Beyond this many structures the listing says FULL rather than grow for ever. */
#define LISTED_MAX 1000000
/* An array's value; what is longer is no mark. */
#define VALUE_MAX ((size_t)1 << 20)

struct listed {
    struct listed *next; /* in its chain */
    const char *noun;
    char name[];
};

/* A key that shows its structure only if it does not hold the mark of what was removed. */
struct doubtful {
    struct doubtful *next;
    char name[MCDS__KEY_MAX + 1];
    struct mcds__key key;
};

struct catalogue {
    const mcds_env *env;
    size_t prefix_length;
    struct listed **chains;
    uint32_t chain_count; /* a power of two */
    uint32_t count;
    struct doubtful *arrays;
    bool ended; /* by the visitor */
    bool (*visit)(void *context, const mcds_listed *listed);
    void *context;
    int result;
};

/* The structure whose presence a key shows; NULL for keys that only belong to one. Without the
 * root what is left of a set or table belongs to none. */
static const char *noun_of(const char *tag, bool is_root)
{
    static const struct {
        const char *tag;
        const char *noun;
        bool needs_root;
    } nouns[] = {
        {MCDS__TAG_COUNTER, "counter", false},
        {MCDS__TAG_SHARE, "counter", false},
        {MCDS__TAG_LOCK, "lock", false},
        {MCDS__TAG_FENCE, "lock", false},
        {MCDS__TAG_VISITORS, "visitors", false},
        {MCDS__TAG_ONLINE, "online", false},
        {MCDS__TAG_VISITOR_MEMBERS, "visitors", false},
        {MCDS__TAG_ONLINE_MEMBERS, "online", false},
        {MCDS__TAG_SET, "set", true},
        {MCDS__TAG_ARRAY, "array", false},
        {MCDS__TAG_TABLE, "table", true},
        {MCDS__TAG_LIST, "list", false},
        {MCDS__TAG_LOG, "log", true},
        {MCDS__TAG_ARRAY, "array", false},
        {MCDS__TAG_VIEWS, "views", false},
        {MCDS__TAG_VIEWS_BASE, "views", false},
    };
    for (size_t i = 0; i < sizeof nouns / sizeof nouns[0]; i++)
        if (strcmp(tag, nouns[i].tag) == 0 && (is_root || !nouns[i].needs_root))
            return nouns[i].noun;
    return NULL;
}

static uint32_t chain_of(const struct catalogue *catalogue, const char *noun, const char *name)
{
    uint32_t hash = 2166136261u;
    for (const char *at = noun; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    for (const char *at = name; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    return hash & (catalogue->chain_count - 1);
}

/* Remember a structure. True when it is new. */
static bool remember(struct catalogue *catalogue, const char *noun, const char *name)
{
    uint32_t chain = chain_of(catalogue, noun, name);
    for (struct listed *at = catalogue->chains[chain]; at != NULL; at = at->next)
        if (strcmp(at->noun, noun) == 0 && strcmp(at->name, name) == 0)
            return false;
    size_t length = strlen(name) + 1;
    struct listed *listed = mcds__allocate(catalogue->env, sizeof *listed + length);
    if (listed == NULL || catalogue->count == LISTED_MAX) {
        mcds__free(catalogue->env, listed);
        catalogue->result = mcds__fail_why(MCDS_NO_MEMORY, MCDS__WHY(MANY_STRUCTURES),
                                           .noun = "catalogue");
        return false;
    }
    listed->noun = noun;
    memcpy(listed->name, name, length);
    listed->next = catalogue->chains[chain];
    catalogue->chains[chain] = listed;
    catalogue->count++;
    return true;
}

static bool keep_array(struct catalogue *catalogue, mcds_bytes key, const char *name)
{
    struct doubtful *array = mcds__allocate_zero(catalogue->env, sizeof *array);
    if (array == NULL) {
        catalogue->result = mcds__fail_memory("catalogue", NULL, NULL);
        return false;
    }
    memcpy(array->name, name, strlen(name) + 1);
    memcpy(array->key.bytes, key.at, key.length);
    array->key.length = (uint8_t)key.length;
    array->next = catalogue->arrays;
    catalogue->arrays = array;
    return true;
}

/* Whether an array's key holds elements, or what only the array's own calls can judge. */
static bool is_there(mcds_store *store, const struct doubtful *array)
{
    mcds_buffer values;
    struct mcds__record_value value;
    mcds_request request = {.command = MCDS_GET, .key = mcds__key_bytes(&array->key)};
    mcds_batch batch = {.requests = &request, .count = 1, .values = &values};
    const mcds_env *env = mcds__store_env(store);
    mcds__buffer_init(&values, env, VALUE_MAX);
    batch.deadline_ns = mcds__monotonic_ns(env) + mcds__store_timeout_ns(store);
    mcds__store_execute(store, 0, &batch);
    bool is_gone = request.reply.outcome == MCDS_OUT_MISS;
    if (request.reply.outcome == MCDS_OUT_OK &&
        mcds__record_decode(mcds__reply_value(&batch, &request), request.key, &value))
        is_gone = value.kind == MCDS__RECORD_REMOVED;
    mcds__buffer_free(&values);
    return !is_gone;
}

/* Behind the listing, which may hold the connection. */
static void visit_arrays(struct catalogue *catalogue, mcds_store *store)
{
    bool goes_on = catalogue->result == MCDS_OK && !catalogue->ended;
    while (catalogue->arrays != NULL) {
        struct doubtful *array = catalogue->arrays;
        mcds_listed listed = {"array", array->name};
        if (goes_on && is_there(store, array))
            goes_on = catalogue->visit(catalogue->context, &listed);
        catalogue->arrays = array->next;
        mcds__free(catalogue->env, array);
    }
}

static bool see_key(void *context, mcds_bytes key)
{
    struct catalogue *catalogue = context;
    char tag[MCDS__KEY_MAX + 1];
    char name[MCDS__KEY_MAX + 1];
    size_t at = catalogue->prefix_length;
    if (!mcds__key_next_part(key, &at, tag) || !mcds__key_next_part(key, &at, name))
        return true;
    const char *noun = noun_of(tag, at > key.length);
    bool is_array = strcmp(tag, MCDS__TAG_ARRAY) == 0;
    if (noun == NULL || !remember(catalogue, noun, name))
        return catalogue->result == MCDS_OK;
    if (is_array)
        return keep_array(catalogue, key, name);
    mcds_listed listed = {noun, name};
    catalogue->ended = !catalogue->visit(catalogue->context, &listed);
    return !catalogue->ended;
}

static void forget_all(struct catalogue *catalogue)
{
    for (uint32_t i = 0; i < catalogue->chain_count; i++) {
        while (catalogue->chains[i] != NULL) {
            struct listed *listed = catalogue->chains[i];
            catalogue->chains[i] = listed->next;
            mcds__free(catalogue->env, listed);
        }
    }
    mcds__free(catalogue->env, catalogue->chains);
}

int mcds_catalogue(mcds_store *store, bool (*visit)(void *context, const mcds_listed *listed),
                   void *context)
{
    if (store == NULL || visit == NULL)
        return mcds__fail_missing("catalogue", "mcds_catalogue", "a store and a visitor");
    struct catalogue catalogue = {
        .env = mcds__store_env(store),
        .chain_count = 4096,
        .visit = visit,
        .context = context,
        .result = MCDS_OK,
    };
    catalogue.chains = mcds__allocate_zero(catalogue.env,
                                           catalogue.chain_count * sizeof(struct listed *));
    if (catalogue.chains == NULL)
        return mcds__fail_memory("catalogue", NULL, NULL);
    char prefix[MCDS__NS_MAX + 1];
    size_t ns_length = strlen(mcds__store_ns(store));
    memcpy(prefix, mcds__store_ns(store), ns_length);
    prefix[ns_length] = ':';
    catalogue.prefix_length = ns_length + 1;
    int result = mcds__store_keys(store, (mcds_bytes){prefix, ns_length + 1}, see_key,
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
