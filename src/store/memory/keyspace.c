/* Executes memcached's commands on items in memory. */
#include "store/memory/keyspace.h"

#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "store/command.h"
#include "store/memory/items.h"

struct mcds__keyspace {
    struct mcds__items items;
    struct mcds__keyspace_options options;
};

struct mcds__keyspace *mcds__keyspace_open(const mcds_env *env,
                                           const struct mcds__keyspace_options *options)
{
    assert(options->value_max <= UINT32_MAX - MCDS__U64_DIGITS);
    struct mcds__keyspace *keyspace = mcds__allocate(env, sizeof *keyspace);
    if (keyspace == NULL)
        return NULL;
    keyspace->options = *options;
    mcds__items_init(&keyspace->items, env, options->bytes_max, options->no_evict,
                     options->losses);
    return keyspace;
}

void mcds__keyspace_close(struct mcds__keyspace *keyspace)
{
    if (keyspace == NULL)
        return;
    mcds__items_clear(&keyspace->items);
    mcds__free(keyspace->items.env, keyspace);
}

static int64_t expiry(uint64_t ttl_ms, const struct mcds__keyspace_context *context)
{
    if (ttl_ms == 0)
        return MCDS__ITEM_NEVER;
    uint64_t unit_ms = context->ttl_unit_ms > 0 ? context->ttl_unit_ms : 1;
    uint64_t whole_ms = (ttl_ms + unit_ms - 1) / unit_ms * unit_ms;
    return context->now_ms +
           (int64_t)(whole_ms > context->lag_ms ? whole_ms - context->lag_ms : whole_ms);
}

/* Write a number as text. It never becomes shorter: it is padded with spaces. */
static void memory_keyspace_write_number(struct mcds__item *item, uint64_t number)
{
    uint8_t *value = mcds__item_value(item);
    size_t length = mcds__format_u64(number, (char *)value);
    assert(length <= item->value_length);
    if (item->value_length > length)
        memset(value + length, ' ', item->value_length - length);
}

/* Write the number of its cell into the item. A held item has space for any number. */
static struct mcds__item *memory_keyspace_settle(struct mcds__items *items,
                                                 struct mcds__item *item, uint64_t *cas_next)
{
    assert(item->held > 0);
    uint64_t number;
    if (!mcds__cell_close(mcds__item_cell(item), &number))
        return item;
    uint32_t length = (uint32_t)mcds__u64_digits(number);
    if (item->value_length < length)
        item = mcds__items_resize(items, item, length);
    memory_keyspace_write_number(item, number);
    item->cas = ++*cas_next;
    return item;
}

/* Find an item. If it has an open cell, that is closed and its number written into the item. */
static struct mcds__item *memory_keyspace_find(struct mcds__keyspace *keyspace, mcds_bytes key,
                                               uint64_t hash, int64_t now_ms,
                                               uint64_t *cas_next)
{
    struct mcds__item *item = mcds__items_find(&keyspace->items, key, hash, now_ms);
    if (item != NULL && item->held > 0)
        item = memory_keyspace_settle(&keyspace->items, item, cas_next);
    return item;
}

/* Give the changed item a new token, and return the token in the reply. */
static void changed(struct mcds__item *item, mcds_request *request,
                    const struct mcds__keyspace_context *context)
{
    mcds_reply *reply = &request->reply;
    bool sets = (request->options & MCDS_SETS_CAS) != 0;
    item->cas = sets ? request->initial : ++*context->cas_next;
    assert(item->cas > 0);
    reply->cas = (mcds_cas_token){item->cas, context->connection};
    reply->outcome = MCDS_OUT_OK;
}

/* The token of the item; NULL: only its connection. */
static mcds_cas_token memory_keyspace_token_of(const struct mcds__item *item,
                                               const struct mcds__keyspace_context *context)
{
    return (mcds_cas_token){item != NULL ? item->cas : 0, context->connection};
}

static mcds_bytes memory_keyspace_value_of(struct mcds__item *item)
{
    return (mcds_bytes){mcds__item_value(item), item->value_length};
}

static void memory_keyspace_get(struct mcds__item *item, mcds_request *request,
                                const struct mcds__keyspace_context *context)
{
    if (item == NULL) {
        request->reply.outcome = MCDS_OUT_MISS;
        return;
    }
    assert(item->expires_ms > context->now_ms);
    int64_t ttl_ms = MCDS_TTL_NEVER;
    if (item->expires_ms != MCDS__ITEM_NEVER)
        ttl_ms = item->expires_ms - context->now_ms;
    if (ttl_ms > (int64_t)context->lag_ms)
        ttl_ms += (int64_t)context->lag_ms;
    mcds__command_show(request, memory_keyspace_value_of(item), item->flags,
                       memory_keyspace_token_of(item, context), ttl_ms, context->values);
}

/* Store value, flags and ttl of the request in `item`, or in a new item. */
static void memory_keyspace_store(struct mcds__keyspace *keyspace, struct mcds__item *item,
                                  mcds_request *request, uint64_t hash,
                                  const struct mcds__keyspace_context *context)
{
    assert(request->value.length <= keyspace->options.value_max);
    uint32_t length = (uint32_t)request->value.length;
    if (item != NULL)
        mcds__items_count_loss(&keyspace->items);
    if (item == NULL)
        item = mcds__items_insert(&keyspace->items, request->key, hash, length);
    else
        item = mcds__items_resize(&keyspace->items, item, length);
    if (item == NULL) {
        request->reply.outcome = MCDS_OUT_NO_MEMORY;
        return;
    }
    if (length > 0)
        memcpy(mcds__item_value(item), request->value.data, length);
    item->flags = request->flags;
    mcds__items_set_expiry(&keyspace->items, item, expiry(request->ttl_ms, context));
    changed(item, request, context);
}

/* APPEND and PREPEND keep ttl and flags. */
static void memory_keyspace_extend(struct mcds__keyspace *keyspace, struct mcds__item *item,
                                   mcds_request *request, uint64_t hash,
                                   const struct mcds__keyspace_context *context)
{
    mcds_reply *reply = &request->reply;
    bool create = request->command == MCDS_APPEND && request->options & MCDS_CREATE &&
                  !keyspace->options.no_create_on_append;
    if (item == NULL && create) {
        memory_keyspace_store(keyspace, NULL, request, hash, context);
        reply->value_length = request->value.length;
        reply->flags = request->flags;
        return;
    }
    size_t more = request->value.length;
    if (item == NULL || item->value_length + more > keyspace->options.value_max) {
        reply->outcome = MCDS_OUT_NOT_STORED;
        return;
    }
    uint32_t before = item->value_length;
    item = mcds__items_resize(&keyspace->items, item, before + (uint32_t)more);
    if (item == NULL) {
        reply->outcome = MCDS_OUT_NO_MEMORY;
        return;
    }
    assert(item->value_length == before + more);
    uint8_t *value = mcds__item_value(item);
    if (request->command == MCDS_PREPEND) {
        memmove(value + more, value, before);
        before = 0;
    }
    if (more > 0)
        memcpy(value + before, request->value.data, more);
    changed(item, request, context);
    reply->value_length = item->value_length;
    reply->flags = item->flags;
}

/* INCR and DECR keep ttl and flags. */
static void memory_keyspace_count(struct mcds__keyspace *keyspace, struct mcds__item *item,
                                  mcds_request *request, uint64_t hash,
                                  const struct mcds__keyspace_context *context)
{
    mcds_reply *reply = &request->reply;
    struct mcds__items *items = &keyspace->items;
    uint64_t number;
    mcds_bytes value = item != NULL ? memory_keyspace_value_of(item) : (mcds_bytes){NULL, 0};
    reply->outcome = mcds__command_count(request, item != NULL, value, &number);
    if (reply->outcome != MCDS_OUT_NONE)
        return;
    uint32_t length = (uint32_t)mcds__u64_digits(number);
    bool is_new = item == NULL;
    if (is_new)
        item = mcds__items_insert(items, request->key, hash, length);
    else if (item->value_length < length)
        item = mcds__items_resize(items, item, length);
    if (item == NULL) {
        reply->outcome = MCDS_OUT_NO_MEMORY;
        return;
    }
    if (is_new) {
        item->flags = keyspace->options.no_flags_on_create ? 0 : request->flags;
        mcds__items_set_expiry(items, item, expiry(request->ttl_ms, context));
    }
    memory_keyspace_write_number(item, number);
    reply->number = number;
    changed(item, request, context);
}

/* TOUCH keeps the cas token. */
static void memory_keyspace_touch(struct mcds__keyspace *keyspace, struct mcds__item *item,
                                  mcds_request *request,
                                  const struct mcds__keyspace_context *context)
{
    mcds__items_count_loss(&keyspace->items);
    mcds__items_set_expiry(&keyspace->items, item, expiry(request->ttl_ms, context));
    request->reply.outcome = MCDS_OUT_OK;
}

static bool takes_value(mcds_command command)
{
    return command >= MCDS_SET && command <= MCDS_CAS;
}

void mcds__keyspace_execute(struct mcds__keyspace *keyspace, mcds_request *request,
                            uint64_t hash, const struct mcds__keyspace_context *context)
{
    if (takes_value(request->command) && request->value.length > keyspace->options.value_max) {
        request->reply.outcome = MCDS_OUT_TOO_BIG;
        return;
    }
    if (request->command != MCDS_GET)
        mcds__items_work(&keyspace->items, context->now_ms);
    struct mcds__item *item = memory_keyspace_find(keyspace, request->key, hash,
                                                   context->now_ms, context->cas_next);
    mcds_reply *reply = &request->reply;
    reply->outcome = mcds__command_refusal(request, item != NULL,
                                           memory_keyspace_token_of(item, context));
    if (reply->outcome != MCDS_OUT_NONE)
        return;
    switch (request->command) {
    case MCDS_GET:
        memory_keyspace_get(item, request, context);
        return;
    case MCDS_SET:
    case MCDS_ADD:
    case MCDS_REPLACE:
    case MCDS_CAS:
        memory_keyspace_store(keyspace, item, request, hash, context);
        return;
    case MCDS_APPEND:
    case MCDS_PREPEND:
        memory_keyspace_extend(keyspace, item, request, hash, context);
        return;
    case MCDS_INCR:
    case MCDS_DECR:
        memory_keyspace_count(keyspace, item, request, hash, context);
        return;
    case MCDS_DELETE:
        mcds__items_remove(&keyspace->items, item);
        reply->outcome = MCDS_OUT_OK;
        return;
    case MCDS_TOUCH:
        memory_keyspace_touch(keyspace, item, request, context);
        return;
    }
    reply->outcome = MCDS_OUT_UNSUPPORTED;
}

bool mcds__keyspace_peek(struct mcds__keyspace *keyspace, mcds_bytes key, uint64_t hash,
                         const struct mcds__keyspace_context *context, mcds_reply *reply_out,
                         mcds_bytes *value_out)
{
    mcds__items_prefetch(&keyspace->items, hash);
    struct mcds__item *item = memory_keyspace_find(keyspace, key, hash, INT64_MIN,
                                                   context->cas_next);
    *reply_out = (mcds_reply){.outcome = MCDS_OUT_MISS};
    *value_out = (mcds_bytes){NULL, 0};
    if (item == NULL)
        return true;
    if (item->expires_ms != MCDS__ITEM_NEVER)
        return false;
    *value_out = memory_keyspace_value_of(item);
    *reply_out = (mcds_reply){
        .outcome = MCDS_OUT_OK,
        .flags = item->flags,
        .ttl_ms = MCDS_TTL_NEVER,
        .value_length = item->value_length,
        .cas = memory_keyspace_token_of(item, context),
    };
    return true;
}

struct mcds__cell *mcds__keyspace_open_cell(struct mcds__keyspace *keyspace, mcds_bytes key,
                                            uint64_t hash, const struct mcds__cell *cell,
                                            uint64_t *cas_next)
{
    uint64_t number;
    struct mcds__item *item = memory_keyspace_find(keyspace, key, hash, INT64_MIN, cas_next);
    if (item == NULL || item->expires_ms != MCDS__ITEM_NEVER)
        return NULL;
    if (!mcds__parse_stored_u64(mcds__item_value(item), item->value_length, &number) ||
        number > MCDS__CELL_OPEN_MAX)
        return NULL;
    if (cell == NULL)
        item = mcds__items_hold(&keyspace->items, item);
    if (item == NULL)
        return NULL;
    struct mcds__cell *opened = mcds__item_cell(item);
    assert(opened != NULL);
    mcds__cell_open(opened, number, item->flags);
    return opened;
}

void mcds__keyspace_release_cell(struct mcds__keyspace *keyspace, mcds_bytes key, uint64_t hash,
                                 uint64_t *cas_next)
{
    struct mcds__item *item = mcds__items_find(&keyspace->items, key, hash, INT64_MIN);
    const struct mcds__cell *cell = item != NULL ? mcds__item_cell(item) : NULL;
    if (cell != NULL && cell->holders == 1)
        (void)memory_keyspace_settle(&keyspace->items, item, cas_next);
    mcds__items_release(&keyspace->items, key, hash);
}

bool mcds__keyspace_evict(struct mcds__keyspace *keyspace, mcds_bytes key, uint64_t hash)
{
    struct mcds__item *item = mcds__items_find(&keyspace->items, key, hash, INT64_MIN);
    if (item == NULL)
        return false;
    mcds__items_remove(&keyspace->items, item);
    return true;
}

bool mcds__keyspace_evict_any(struct mcds__keyspace *keyspace, uint64_t choice)
{
    uint64_t buckets = mcds__items_buckets(&keyspace->items);
    for (uint64_t i = 0; i < buckets; i++) {
        struct mcds__item *item = mcds__items_at(&keyspace->items,
                                                 (choice % buckets + i) % buckets);
        if (item == NULL)
            continue;
        mcds__items_remove(&keyspace->items, item);
        return true;
    }
    return false;
}

void mcds__keyspace_flush(struct mcds__keyspace *keyspace)
{
    mcds__items_clear(&keyspace->items);
}

uint64_t mcds__keyspace_count(const struct mcds__keyspace *keyspace)
{
    return keyspace->items.count;
}

uint64_t mcds__keyspace_bytes(const struct mcds__keyspace *keyspace)
{
    return keyspace->items.bytes;
}

bool mcds__keyspace_keys(struct mcds__keyspace *keyspace, int64_t now_ms, mcds_bytes prefix,
                         bool (*visit)(void *context, mcds_bytes key), void *context)
{
    uint64_t buckets = mcds__items_buckets(&keyspace->items);
    for (uint64_t i = 0; i < buckets; i++) {
        for (struct mcds__item *item = mcds__items_at(&keyspace->items, i); item != NULL;
             item = item->next) {
            bool wanted = item->expires_ms > now_ms && item->key_length >= prefix.length &&
                          (prefix.length == 0 ||
                           memcmp(item->bytes, prefix.data, prefix.length) == 0);
            if (wanted && !visit(context, (mcds_bytes){item->bytes, item->key_length}))
                return false;
        }
    }
    return true;
}
