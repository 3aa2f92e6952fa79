/* Cache: the requests of look. */
#include "structures/cache/look_requests.h"

#include <assert.h>

#include "base/buffer.h"
#include "base/environment.h"

/* How often one call claims, and how often it reads again because the item's tags change. */
#define CLAIMS_MAX 8
#define READS_MAX 4

/* False: no more tags can be read. */
static bool look_add_tag(struct mcds__cache_look *look, const char *text, size_t length)
{
    struct mcds__cache_sight *sight = &look->sight;
    if (mcds__cache_sight_find(sight, (mcds_bytes){text, length}) != NULL)
        return true;
    if (sight->count == MCDS__CACHE_GENERATIONS_MAX)
        return false;
    look->generations[sight->count++].key = mcds__cache_key(&look->cache->tags, text, length);
    return true;
}

/* Memory for more than the generation of the cache. */
static bool look_grow(struct mcds__cache_look *look, const mcds_env *env)
{
    if (look->scratch != NULL)
        return true;
    look->scratch = mcds__allocate(env, sizeof *look->scratch);
    if (look->scratch == NULL)
        return false;
    look->scratch->generations[0] = look->own_generation;
    look->generations = look->scratch->generations;
    look->requests = look->scratch->requests;
    look->sight.generations = look->generations;
    return true;
}

bool mcds__cache_look_begin(struct mcds__cache_look *look, mcds_bytes key,
                            const mcds_bytes *tags, size_t tag_count, const mcds_env *env)
{
    const mcds_cache *cache = look->cache;
    struct mcds__cache_suffix suffix = mcds__cache_suffix_of(key);
    *look->claim = (mcds_cache_claim)MCDS_CACHE_CLAIM_INIT;
    look->claim->state = MCDS_CACHE_MISSING;
    look->claim->suffix_length = suffix.length;
    memcpy(look->claim->suffix, suffix.text, suffix.length);
    look->item_key = mcds__cache_key(&cache->items, suffix.text, suffix.length);
    look->refresh_key = mcds__cache_key(&cache->refreshes, suffix.text, suffix.length);
    look->generations = &look->own_generation;
    look->requests = look->own_requests;
    look->own_generation.key = cache->generation;
    look->sight.generations = look->generations;
    look->sight.count = 1;
    look->sight.tag_at = cache->tags.length + 1;
    mcds__buffer_init(&look->kept, env, MCDS__CACHE_VALUE_MAX);
    if (tag_count > 0 && !look_grow(look, env))
        return false;
    for (size_t i = 0; i < tag_count; i++) {
        suffix = mcds__cache_suffix_of(tags[i]);
        (void)look_add_tag(look, suffix.text, suffix.length);
    }
    look->sight.asked = look->sight.count;
    assert(look->sight.asked <= 1 + MCDS__CACHE_TAGS_MAX);
    return true;
}

void mcds__cache_look_free(struct mcds__cache_look *look, const mcds_env *env)
{
    mcds__cache_transfer_free(&look->transfer, env);
    mcds__buffer_free(&look->kept);
    mcds__free(env, look->scratch);
    look->scratch = NULL;
}

/* A request that is placed by the item's key. */
static void look_add_routed(struct mcds__cache_look *look, mcds_request request)
{
    request.route = mcds__key_bytes(&look->item_key);
    look->requests[look->count++] = request;
}

static void look_add_get_item(struct mcds__cache_look *look)
{
    look_add_routed(look, (mcds_request){.command = MCDS_GET,
                                         .options = MCDS_WANT_TTL,
                                         .key = mcds__key_bytes(&look->item_key)});
}

static void look_add_get(struct mcds__cache_look *look, uint8_t i)
{
    look->at[i] = look->count;
    look->requests[look->count++] = mcds__cache_generation_get(&look->generations[i]);
}

static enum mcds__step look_ask(struct mcds__cache_look *look,
                                struct mcds__operation *operation, uint8_t stage)
{
    assert(look->count > 0 && look->count <= MCDS__CACHE_REQUESTS_MAX);
    look->stage = stage;
    return mcds__operation_ask_repeatable(operation, look->requests, look->count);
}

static void look_clear_requests(struct mcds__cache_look *look)
{
    look->count = 0;
    memset(look->at, 0, sizeof look->at);
}

enum mcds__step mcds__cache_look_ask_read(struct mcds__cache_look *look,
                                          struct mcds__operation *operation)
{
    look_clear_requests(look);
    look_add_routed(
        look, (mcds_request){.command = MCDS_GET, .key = mcds__key_bytes(&look->item_key)});
    for (uint8_t i = 0; i < look->sight.count; i++)
        look_add_get(look, i);
    if (look->awaits_refresh)
        look_add_routed(look, (mcds_request){.command = MCDS_GET,
                                             .key = mcds__key_bytes(&look->refresh_key)});
    operation->connection = 0;
    return look_ask(look, operation, MCDS__CACHE_LOOK_READ);
}

/* If this call has already claimed the item, the claim keeps its id when it is written again: the
 * look may return this claim before the second write arrives. Any other claim gets an id of its
 * own. */
static uint64_t look_choose_id(struct mcds__cache_look *look, const mcds_env *env,
                               uint64_t base_id)
{
    const struct mcds__cache_sight *sight = &look->sight;
    if (base_id == 0 && sight->is_whole && mcds__cache_look_is_mine(look, &sight->item))
        return sight->item.id;
    uint64_t id = mcds__random_u64(env);
    look->ids[look->id_count++ % MCDS__CACHE_IDS] = id;
    return id;
}

/* The bytes of a claim. */
static mcds_bytes look_draw_claim(struct mcds__cache_look *look,
                                  struct mcds__operation *operation, mcds_bytes key,
                                  uint64_t base_id)
{
    int64_t now_ms = mcds__wall_ms(operation->env);
    struct mcds__cache_item stub = {.kind = MCDS__CACHE_FILLING,
                                    .id = look_choose_id(look, operation->env, base_id),
                                    .made_ms = now_ms,
                                    .fresh_till_ms = now_ms + look->cache->fill_ms,
                                    .base_id = base_id,
                                    .failures = look->failures};
    mcds_buffer buffer;
    mcds__buffer_init_in(&buffer, operation->env, sizeof look->claim_value, look->claim_value,
                         sizeof look->claim_value);
    bool fits = mcds__cache_item_encode(&stub, key, &buffer);
    assert(fits && buffer.data == look->claim_value);
    (void)fits;
    return (mcds_bytes){buffer.data, buffer.length};
}

/* A claim under this key: an add, or a cas where `cas` is given. */
static void look_add_claim(struct mcds__cache_look *look, struct mcds__operation *operation,
                           const struct mcds__key *key, mcds_cas_token cas, uint64_t base_id)
{
    look_add_routed(
        look, (mcds_request){
                  .command = cas.connection != 0 ? MCDS_CAS : MCDS_ADD,
                  .options = MCDS_NEEDS_CAS, /* to store the value */
                  .ttl_ms = mcds__cache_lease_ms(look->cache, look->cache->fill_ms),
                  .key = mcds__key_bytes(key),
                  .value = look_draw_claim(look, operation, mcds__key_bytes(key), base_id),
                  .cas = cas,
              });
    operation->connection = cas.connection;
    look_add_routed(look, (mcds_request){.command = MCDS_GET, .key = mcds__key_bytes(key)});
}

/* Whether `id` is that of a claim which this call has written. */
static bool look_has_drawn(const struct mcds__cache_look *look, uint64_t id)
{
    uint8_t count = look->id_count < MCDS__CACHE_IDS ? look->id_count : MCDS__CACHE_IDS;
    for (uint8_t i = 0; i < count; i++)
        if (look->ids[i] == id)
            return true;
    return false;
}

/* Make a missing generation, and renew one after half of its ttl. */
static void look_tend_generation(struct mcds__cache_look *look,
                                 struct mcds__operation *operation, uint8_t i)
{
    struct mcds__cache_generation *generation = &look->generations[i];
    assert(i < look->sight.asked);
    mcds_request request = {.command = MCDS_ADD,
                            .options = MCDS_NEEDS_CAS,
                            .ttl_ms = MCDS__CACHE_GENERATION_MS,
                            .key = mcds__key_bytes(&generation->key)};
    uint64_t number = mcds__random_u64(operation->env);
    bool is_due = generation->ttl_ms >= 0
                      ? generation->ttl_ms < (int64_t)MCDS__CACHE_RENEW_MS
                      : generation->ttl_ms == MCDS_TTL_UNKNOWN && number % 16 == 0;
    if (generation->state != MCDS__CACHE_GONE) {
        if (!mcds__cache_generation_is_alive(generation) || !is_due)
            return;
        request.command = MCDS_CAS;
        request.cas = generation->cas;
        number = generation->number;
    }
    request.value = mcds__cache_generation_frame(generation, MCDS__CACHE_ALIVE, number);
    look->requests[look->count++] = request;
    if (request.command == MCDS_ADD)
        look_add_get(look, i);
}

enum mcds__step mcds__cache_look_ask_claim(struct mcds__cache_look *look,
                                           struct mcds__operation *operation)
{
    struct mcds__cache_sight *sight = &look->sight;
    if (look->claims++ == CLAIMS_MAX)
        return mcds__operation_fail_waiting(operation, MCDS__WHY(OTHERS_CHANGE_IT));
    look->failures = sight->is_whole && sight->item.kind == MCDS__CACHE_FAILED
                         ? sight->item.failures
                         : 0;
    look_clear_requests(look);
    look_add_claim(look, operation, &look->item_key,
                   sight->is_there ? sight->cas : (mcds_cas_token){0, 0}, 0);
    for (uint8_t i = 0; i < sight->asked; i++)
        look_tend_generation(look, operation, i);
    return look_ask(look, operation, MCDS__CACHE_LOOK_CLAIM);
}

enum mcds__step mcds__cache_look_ask_refresh(struct mcds__cache_look *look,
                                             struct mcds__operation *operation)
{
    look_clear_requests(look);
    look->base_id = look->sight.item.id;
    look->asked_ns = mcds__monotonic_ns(operation->env);
    look_add_claim(look, operation, &look->refresh_key, look->refresh_cas, look->base_id);
    look_add_get_item(look);
    for (uint8_t i = 0; i < look->sight.asked; i++)
        look_tend_generation(look, operation, i);
    return look_ask(look, operation, MCDS__CACHE_LOOK_REFRESH);
}

/* Store the bytes of the item again, with a ttl that is longer than that of the claim. */
enum mcds__step mcds__cache_look_ask_keep(struct mcds__cache_look *look,
                                          struct mcds__operation *operation, mcds_bytes bytes)
{
    const struct mcds__cache_sight *sight = &look->sight;
    mcds_request keep;
    assert(sight->is_whole && sight->cas.connection != 0);
    if (!mcds__cache_keep_request(look->cache, &sight->item, &look->item_key, bytes, sight->cas,
                                  mcds__wall_ms(operation->env), &look->kept, &keep))
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    look_clear_requests(look);
    look_add_routed(look, keep);
    look_add_get_item(look);
    operation->connection = sight->cas.connection;
    return look_ask(look, operation, MCDS__CACHE_LOOK_KEEP);
}

/* Another caller has refreshed the item before this one got the claim: give the claim back. */
enum mcds__step mcds__cache_look_ask_release(struct mcds__cache_look *look,
                                             struct mcds__operation *operation,
                                             mcds_cas_token cas)
{
    struct mcds__cache_item free = {.kind = MCDS__CACHE_FAILED,
                                    .id = mcds__random_u64(operation->env)};
    mcds_buffer buffer;
    mcds__buffer_init_in(&buffer, operation->env, sizeof look->claim_value, look->claim_value,
                         sizeof look->claim_value);
    (void)mcds__cache_item_encode(&free, mcds__key_bytes(&look->refresh_key), &buffer);
    look_clear_requests(look);
    look_add_routed(look, (mcds_request){.command = MCDS_CAS,
                                         .ttl_ms = MCDS__CACHE_FREE_MS,
                                         .key = mcds__key_bytes(&look->refresh_key),
                                         .value = {buffer.data, buffer.length},
                                         .cas = cas});
    operation->connection = cas.connection;
    return look_ask(look, operation, MCDS__CACHE_LOOK_RELEASE);
}

/* Tags of the item whose generations were not read: add them. Returns whether there are any. */
bool mcds__cache_look_add_item_tags(struct mcds__cache_look *look, const mcds_env *env)
{
    const struct mcds__cache_sight *sight = &look->sight;
    uint8_t before = sight->count;
    size_t at = 0;
    mcds_bytes text;
    uint64_t number;
    if (!sight->is_whole || !mcds__cache_item_answers(&sight->item) || look->reads == READS_MAX)
        return false;
    while (mcds__cache_tag_next(sight->item.tags, &at, &text, &number))
        if (mcds__cache_sight_find(sight, text) == NULL) {
            if (!look_grow(look, env) || !look_add_tag(look, text.data, text.length))
                break;
            look->at[sight->count - 1] = 0;
        }
    return sight->count > before;
}

/* Whether what was read is a claim that this call has written. */
bool mcds__cache_look_is_mine(const struct mcds__cache_look *look,
                              const struct mcds__cache_item *item)
{
    return item->kind == MCDS__CACHE_FILLING && !item->held && look_has_drawn(look, item->id);
}
