/* The interface that the article's algorithms call, on the store contract. */
#include "article/memcache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "store/store.h"

#define THIRTY_DAYS_S 2592000
#define VALUE_MAX (1048576 - 512)

void text_fill(struct text *text, const void *bytes, size_t length)
{
    size_t capacity = text->length + length + 1;
    if (capacity > text->capacity) {
        char *moved = realloc(text->at, capacity * 2);
        if (moved == NULL)
            abort();
        text->at = moved;
        text->capacity = capacity * 2;
    }
    if (length > 0)
        memcpy(text->at + text->length, bytes, length);
    text->length += length;
    text->at[text->length] = '\0';
}

void text_set(struct text *text, const char *string)
{
    text->length = 0;
    text_add(text, string);
}

void text_add(struct text *text, const char *string)
{
    text_fill(text, string, strlen(string));
}

uint64_t text_number(const struct text *text)
{
    return text->at != NULL ? strtoull(text->at, NULL, 10) : 0;
}

bool text_is(const struct text *text, const char *string)
{
    return text->at != NULL && strcmp(text->at, string) == 0;
}

void text_free(struct text *text)
{
    free(text->at);
    *text = (struct text){NULL, 0, 0};
}

double memcache_time(const struct memcache *mc)
{
    int64_t wall_ns = mcds__wall_ns(mcds__store_env(mc->store));
    return (double)(wall_ns - mc->epoch_s * NS_PER_S) / (double)NS_PER_S;
}

static enum answer answer_of(const struct memcache *mc, mcds_outcome outcome)
{
    switch (outcome) {
    case MCDS_OUT_OK:
        return DONE;
    case MCDS_OUT_MISS:
    case MCDS_OUT_EXISTS:
    case MCDS_OUT_NOT_STORED:
        return KEY_ERROR;
    case MCDS_OUT_UNSENT:
    case MCDS_OUT_UNKNOWN:
        return mc->every_error_is_key_error ? KEY_ERROR : NETWORK_ERROR;
    default:
        return mc->every_error_is_key_error ? KEY_ERROR : SERVER_ERROR;
    }
}

/* One command, one reply. */
static enum answer ask(struct memcache *mc, mcds_request *request, const char *key,
                       struct text *value_out)
{
    if (mc->operations >= mc->operation_max &&
        (mc->stopped_at == 0 || mc->stopped_at == request->command))
        return STOPPED;
    mc->operations++;
    mcds_store *store = mc->store;
    const mcds_env *env = mcds__store_env(store);
    mcds_buffer values;
    mcds__buffer_init(&values, env, (size_t)1 << 21);
    request->key = (mcds_bytes){key, strlen(key)};
    mcds_batch batch = {.requests = request, .count = 1, .values = &values};
    batch.deadline_ns = mcds__monotonic_ns(env) + mcds__store_timeout_ns(store);
    mcds__store_execute(store, 0, &batch);
    while (mc->reconnects && request->reply.outcome == MCDS_OUT_UNSENT &&
           mcds__monotonic_ns(env) < batch.deadline_ns) {
        mcds__sleep_until_ns(env, mcds__monotonic_ns(env) + NS_PER_MS);
        mcds__store_execute(store, 0, &batch);
    }
    if (value_out != NULL) {
        mcds_bytes value = mcds__reply_value(&batch, request);
        value_out->length = 0;
        text_fill(value_out, value.data, value.length);
    }
    mcds__buffer_free(&values);
    return answer_of(mc, request->reply.outcome);
}

enum answer memcache_get(struct memcache *mc, const char *key, struct text *value_out)
{
    mcds_request request = {.command = MCDS_GET};
    return ask(mc, &request, key, value_out);
}

enum answer memcache_gets(struct memcache *mc, const char *key, struct text *value_out,
                          uint64_t *cas_out)
{
    mcds_request request = {.command = MCDS_GET};
    enum answer answer = ask(mc, &request, key, value_out);
    *cas_out = request.reply.cas.unique;
    mc->read_on = request.reply.cas.connection;
    return answer;
}

/* What memcached makes of a date long past: it says STORED, and nothing is there. */
static void bury(struct memcache *mc, const char *key, uint64_t ttl, enum answer answer)
{
    if (answer == DONE && ttl > THIRTY_DAYS_S && mc->forget != NULL)
        mc->forget(mc, key);
}

enum answer memcache_set(struct memcache *mc, const char *key, const char *value, uint64_t ttl)
{
    mcds_request request = {.command = MCDS_SET,
                            .value = {value, strlen(value)},
                            .ttl_ms = ttl * (uint64_t)MS_PER_S};
    /* memcached forgets the old value when the new one is too large for it. */
    if (request.value.length > VALUE_MAX)
        request = (mcds_request){.command = MCDS_DELETE};
    enum answer answer = ask(mc, &request, key, NULL);
    bury(mc, key, ttl, answer);
    if (request.command == MCDS_DELETE && (answer == DONE || answer == KEY_ERROR))
        return SERVER_ERROR;
    return answer;
}

enum answer memcache_add(struct memcache *mc, const char *key, const char *value, uint64_t ttl)
{
    mcds_request request = {.command = MCDS_ADD,
                            .value = {value, strlen(value)},
                            .ttl_ms = ttl * (uint64_t)MS_PER_S};
    enum answer answer = ask(mc, &request, key, NULL);
    bury(mc, key, ttl, answer);
    return answer;
}

enum answer memcache_append(struct memcache *mc, const char *key, const char *value)
{
    mcds_request request = {.command = MCDS_APPEND, .value = {value, strlen(value)}};
    return ask(mc, &request, key, NULL);
}

enum answer memcache_cas(struct memcache *mc, const char *key, const char *value, uint64_t cas)
{
    uint64_t connection = mc->connection != NULL ? mc->connection(mc) : mc->read_on;
    mcds_request request = {
        .command = MCDS_CAS, .value = {value, strlen(value)}, .cas = {cas, connection}};
    return ask(mc, &request, key, NULL);
}

enum answer memcache_incr(struct memcache *mc, const char *key, uint64_t delta,
                          uint64_t *value_out)
{
    mcds_request request = {.command = MCDS_INCR, .delta = delta};
    enum answer answer = ask(mc, &request, key, NULL);
    if (value_out != NULL)
        *value_out = request.reply.number;
    return answer;
}

enum answer memcache_decr(struct memcache *mc, const char *key, uint64_t delta,
                          uint64_t *value_out)
{
    mcds_request request = {.command = MCDS_DECR, .delta = delta};
    enum answer answer = ask(mc, &request, key, NULL);
    if (value_out != NULL)
        *value_out = request.reply.number;
    return answer;
}

enum answer memcache_delete(struct memcache *mc, const char *key)
{
    mcds_request request = {.command = MCDS_DELETE};
    enum answer answer = ask(mc, &request, key, NULL);
    return answer == KEY_ERROR && !mc->delete_raises ? DONE : answer;
}
