/* memcached's commands over items in memory: what each keeps, replaces and answers. */
#include "store/table.h"

#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/number.h"
#include "base/reason.h"
#include "store/items.h"

struct mcds__table {
    struct mcds__items items;
    struct mcds__table_options options;
};

struct mcds__table *mcds__table_open(const mcds_env *env,
                                     const struct mcds__table_options *options)
{
    assert(options->value_max <= UINT32_MAX - MCDS__U64_DIGITS);
    struct mcds__table *table = mcds__allocate(env, sizeof *table);
    if (table == NULL)
        return NULL;
    table->options = *options;
    mcds__items_init(&table->items, env, options->bytes_max, options->no_evict,
                     options->losses);
    return table;
}

void mcds__table_close(struct mcds__table *table)
{
    if (table == NULL)
        return;
    mcds__items_clear(&table->items);
    mcds__free(table->items.env, table);
}

static int64_t expiry(uint64_t ttl_ms, const struct mcds__table_context *context)
{
    if (ttl_ms == 0)
        return MCDS__ITEM_NEVER;
    uint64_t unit_ms = context->ttl_unit_ms > 0 ? context->ttl_unit_ms : 1;
    uint64_t whole_ms = (ttl_ms + unit_ms - 1) / unit_ms * unit_ms;
    return context->now_ms + (int64_t)whole_ms - (int64_t)context->ttl_early_ms;
}

/* A number as text. It never becomes shorter: spaces fill it up. */
static void write_number(struct mcds__item *item, uint64_t number)
{
    uint8_t *value = mcds__item_value(item);
    size_t length = mcds__format_u64(number, (char *)value);
    if (item->value_length > length)
        memset(value + length, ' ', item->value_length - length);
}

/* Let the item tell what was added to its cell. A held item has room for any number. */
static struct mcds__item *settle(struct mcds__items *items, struct mcds__item *item,
                                 uint64_t *cas_next)
{
    uint64_t number;
    if (!mcds__cell_close(mcds__item_cell(item), &number))
        return item;
    uint32_t length = (uint32_t)mcds__u64_digits(number);
    if (item->value_length < length)
        item = mcds__items_resize(items, item, length);
    write_number(item, number);
    item->cas = ++*cas_next;
    return item;
}

/* Who finds an item so finds in it what was added to its cell, which is closed. */
static struct mcds__item *find(struct mcds__table *table, mcds_bytes key, uint64_t hash,
                               int64_t now_ms, uint64_t *cas_next)
{
    struct mcds__item *item = mcds__items_find(&table->items, key, hash, now_ms);
    if (item != NULL && item->held > 0)
        item = settle(&table->items, item, cas_next);
    return item;
}

/* The item has changed: it gets a new token, and the reply tells it. */
static void changed(struct mcds__item *item, mcds_reply *reply,
                    const struct mcds__table_context *context)
{
    item->cas = ++*context->cas_next;
    reply->cas = (mcds_cas_token){item->cas, context->connection};
    reply->outcome = MCDS_OUT_OK;
}

static void get(struct mcds__item *item, mcds_request *request,
                const struct mcds__table_context *context)
{
    mcds_reply *reply = &request->reply;
    if (item == NULL) {
        reply->outcome = MCDS_OUT_MISS;
        return;
    }
    if (context->values != NULL && !(request->options & MCDS_NO_VALUE)) {
        reply->value_at = context->values->length;
        if (!mcds_buffer_append(context->values, mcds__item_value(item), item->value_length)) {
            reply->outcome = MCDS_OUT_NO_BUFFER;
            reply->detail = MCDS__WHY(NO_MEMORY_FOR_VALUE);
            return;
        }
    }
    reply->outcome = MCDS_OUT_OK;
    reply->flags = item->flags;
    reply->value_length = item->value_length;
    reply->cas = (mcds_cas_token){item->cas, context->connection};
    if (request->options & MCDS_WANT_TTL)
        reply->ttl_ms = item->expires_ms == MCDS__ITEM_NEVER
                            ? MCDS_TTL_NEVER
                            : item->expires_ms - context->now_ms;
}

/* Put value, flags and ttl of the request where `item` is, or into a new item. */
static void store(struct mcds__table *table, struct mcds__item *item, mcds_request *request,
                  uint64_t hash, const struct mcds__table_context *context)
{
    uint32_t length = (uint32_t)request->value.length;
    if (item != NULL)
        mcds__items_count_loss(&table->items);
    if (item == NULL)
        item = mcds__items_insert(&table->items, request->key, hash, length);
    else
        item = mcds__items_resize(&table->items, item, length);
    if (item == NULL) {
        request->reply.outcome = MCDS_OUT_NO_MEMORY;
        return;
    }
    if (length > 0)
        memcpy(mcds__item_value(item), request->value.at, length);
    item->flags = request->flags;
    mcds__items_set_expiry(&table->items, item, expiry(request->ttl_ms, context));
    changed(item, &request->reply, context);
}

/* APPEND and PREPEND keep ttl and flags. */
static void extend(struct mcds__table *table, struct mcds__item *item, mcds_request *request,
                   uint64_t hash, const struct mcds__table_context *context)
{
    mcds_reply *reply = &request->reply;
    bool create = request->command == MCDS_APPEND && request->options & MCDS_CREATE &&
                  !table->options.no_create_on_append;
    if (item == NULL && create) {
        store(table, NULL, request, hash, context);
        reply->value_length = request->value.length;
        return;
    }
    size_t more = request->value.length;
    if (item == NULL || item->value_length + more > table->options.value_max) {
        reply->outcome = MCDS_OUT_NOT_STORED;
        return;
    }
    uint32_t before = item->value_length;
    item = mcds__items_resize(&table->items, item, before + (uint32_t)more);
    if (item == NULL) {
        reply->outcome = MCDS_OUT_NO_MEMORY;
        return;
    }
    uint8_t *value = mcds__item_value(item);
    if (request->command == MCDS_PREPEND) {
        memmove(value + more, value, before);
        before = 0;
    }
    if (more > 0)
        memcpy(value + before, request->value.at, more);
    changed(item, reply, context);
    reply->value_length = item->value_length;
}

static uint64_t sum(const mcds_request *request, uint64_t number)
{
    if (request->command == MCDS_INCR)
        return number + request->delta;
    return number > request->delta ? number - request->delta : 0;
}

/* INCR and DECR keep ttl and flags. */
static void count(struct mcds__table *table, struct mcds__item *item, mcds_request *request,
                  uint64_t hash, const struct mcds__table_context *context)
{
    mcds_reply *reply = &request->reply;
    struct mcds__items *items = &table->items;
    uint64_t number = 0;
    if (item == NULL && !(request->options & MCDS_CREATE)) {
        reply->outcome = MCDS_OUT_MISS;
        return;
    }
    if (item != NULL &&
        !mcds__parse_stored_u64(mcds__item_value(item), item->value_length, &number)) {
        reply->outcome = MCDS_OUT_NOT_NUMERIC;
        return;
    }
    number = item != NULL ? sum(request, number) : request->initial;
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
        item->flags = table->options.no_flags_on_create ? 0 : request->flags;
        mcds__items_set_expiry(items, item, expiry(request->ttl_ms, context));
    }
    write_number(item, number);
    reply->number = number;
    changed(item, reply, context);
}

/* The answer when the request's token forbids it; MCDS_OUT_NONE: it may go on. */
static mcds_outcome compare(const struct mcds__item *item, const mcds_request *request,
                            const struct mcds__table_context *context)
{
    if (request->cas.connection != context->connection)
        return MCDS_OUT_EXISTS;
    if (item == NULL)
        return MCDS_OUT_MISS;
    return item->cas == request->cas.unique ? MCDS_OUT_NONE : MCDS_OUT_EXISTS;
}

static void delete (struct mcds__table *table, struct mcds__item *item, mcds_request *request,
                    const struct mcds__table_context *context)
{
    mcds_outcome outcome = item == NULL ? MCDS_OUT_MISS : MCDS_OUT_NONE;
    if (request->cas.connection != 0)
        outcome = compare(item, request, context);
    if (outcome == MCDS_OUT_NONE) {
        mcds__items_remove(&table->items, item);
        outcome = MCDS_OUT_OK;
    }
    request->reply.outcome = outcome;
}

/* TOUCH leaves the token as it is. */
static void touch(struct mcds__table *table, struct mcds__item *item, mcds_request *request,
                  const struct mcds__table_context *context)
{
    if (item != NULL) {
        mcds__items_count_loss(&table->items);
        mcds__items_set_expiry(&table->items, item, expiry(request->ttl_ms, context));
    }
    request->reply.outcome = item != NULL ? MCDS_OUT_OK : MCDS_OUT_MISS;
}

/* SET, ADD, REPLACE, CAS. */
static void store_if(struct mcds__table *table, struct mcds__item *item, mcds_request *request,
                     uint64_t hash, const struct mcds__table_context *context)
{
    mcds_outcome outcome = MCDS_OUT_NONE;
    if (request->command == MCDS_CAS)
        outcome = compare(item, request, context);
    else if (request->command == MCDS_ADD && item != NULL)
        outcome = MCDS_OUT_NOT_STORED;
    else if (request->command == MCDS_REPLACE && item == NULL)
        outcome = MCDS_OUT_NOT_STORED;
    if (outcome == MCDS_OUT_NONE)
        store(table, item, request, hash, context);
    else
        request->reply.outcome = outcome;
}

static bool takes_value(mcds_command command)
{
    return command >= MCDS_SET && command <= MCDS_CAS;
}

void mcds__table_execute(struct mcds__table *table, mcds_request *request, uint64_t hash,
                         const struct mcds__table_context *context)
{
    if (takes_value(request->command) && request->value.length > table->options.value_max) {
        request->reply.outcome = MCDS_OUT_TOO_BIG;
        return;
    }
    if (request->command != MCDS_GET)
        mcds__items_work(&table->items, context->now_ms);
    struct mcds__item *item = find(table, request->key, hash, context->now_ms,
                                   context->cas_next);
    switch (request->command) {
    case MCDS_GET:
        get(item, request, context);
        return;
    case MCDS_SET:
    case MCDS_ADD:
    case MCDS_REPLACE:
    case MCDS_CAS:
        store_if(table, item, request, hash, context);
        return;
    case MCDS_APPEND:
    case MCDS_PREPEND:
        extend(table, item, request, hash, context);
        return;
    case MCDS_INCR:
    case MCDS_DECR:
        count(table, item, request, hash, context);
        return;
    case MCDS_DELETE:
        delete (table, item, request, context);
        return;
    case MCDS_TOUCH:
        touch(table, item, request, context);
        return;
    }
    request->reply.outcome = MCDS_OUT_UNSUPPORTED;
}

bool mcds__table_look(struct mcds__table *table, mcds_bytes key, uint64_t hash,
                      const struct mcds__table_context *context, mcds_reply *reply_out,
                      mcds_bytes *value_out)
{
    mcds__items_prefetch(&table->items, hash);
    struct mcds__item *item = find(table, key, hash, INT64_MIN, context->cas_next);
    *reply_out = (mcds_reply){.outcome = MCDS_OUT_MISS};
    *value_out = (mcds_bytes){NULL, 0};
    if (item == NULL)
        return true;
    if (item->expires_ms != MCDS__ITEM_NEVER)
        return false;
    *value_out = (mcds_bytes){mcds__item_value(item), item->value_length};
    *reply_out = (mcds_reply){
        .outcome = MCDS_OUT_OK,
        .flags = item->flags,
        .ttl_ms = MCDS_TTL_NEVER,
        .value_length = item->value_length,
        .cas = {item->cas, context->connection},
    };
    return true;
}

struct mcds__cell *mcds__table_open_cell(struct mcds__table *table, mcds_bytes key,
                                         uint64_t hash, const struct mcds__cell *cell,
                                         uint64_t *cas_next)
{
    uint64_t number;
    struct mcds__item *item = find(table, key, hash, INT64_MIN, cas_next);
    if (item == NULL || item->expires_ms != MCDS__ITEM_NEVER)
        return NULL;
    if (!mcds__parse_stored_u64(mcds__item_value(item), item->value_length, &number) ||
        number > MCDS__CELL_OPEN_MAX)
        return NULL;
    if (cell == NULL)
        item = mcds__items_hold(&table->items, item);
    if (item == NULL)
        return NULL;
    struct mcds__cell *opened = mcds__item_cell(item);
    assert(opened != NULL);
    mcds__cell_open(opened, number, item->flags);
    return opened;
}

void mcds__table_release_cell(struct mcds__table *table, mcds_bytes key, uint64_t hash,
                              uint64_t *cas_next)
{
    struct mcds__item *item = mcds__items_find(&table->items, key, hash, INT64_MIN);
    const struct mcds__cell *cell = item != NULL ? mcds__item_cell(item) : NULL;
    if (cell != NULL && cell->holders == 1)
        (void)settle(&table->items, item, cas_next);
    mcds__items_release(&table->items, key, hash);
}

bool mcds__table_evict(struct mcds__table *table, mcds_bytes key, uint64_t hash)
{
    struct mcds__item *item = mcds__items_find(&table->items, key, hash, INT64_MIN);
    if (item == NULL)
        return false;
    mcds__items_remove(&table->items, item);
    return true;
}

bool mcds__table_evict_any(struct mcds__table *table, uint64_t choice)
{
    uint64_t buckets = mcds__items_buckets(&table->items);
    for (uint64_t i = 0; i < buckets; i++) {
        struct mcds__item *item = mcds__items_at(&table->items,
                                                 (choice % buckets + i) % buckets);
        if (item == NULL)
            continue;
        mcds__items_remove(&table->items, item);
        return true;
    }
    return false;
}

void mcds__table_flush(struct mcds__table *table)
{
    mcds__items_clear(&table->items);
}

uint64_t mcds__table_count(const struct mcds__table *table)
{
    return table->items.count;
}

uint64_t mcds__table_bytes(const struct mcds__table *table)
{
    return table->items.bytes;
}

bool mcds__table_keys(struct mcds__table *table, int64_t now_ms, mcds_bytes prefix,
                      bool (*visit)(void *context, mcds_bytes key), void *context)
{
    uint64_t buckets = mcds__items_buckets(&table->items);
    for (uint64_t i = 0; i < buckets; i++) {
        for (struct mcds__item *item = mcds__items_at(&table->items, i); item != NULL;
             item = item->next) {
            bool wanted = item->expires_ms > now_ms && item->key_length >= prefix.length &&
                          (prefix.length == 0 ||
                           memcmp(item->bytes, prefix.at, prefix.length) == 0);
            if (wanted && !visit(context, (mcds_bytes){item->bytes, item->key_length}))
                return false;
        }
    }
    return true;
}
