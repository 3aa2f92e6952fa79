/* Redis through hiredis: pipelined INCR, and the lock that its documentation recommends. */
#include "peers/peers.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#ifdef BENCH_HIREDIS
#include <hiredis/hiredis.h>

#include "verbs.h"

#define PAUSE_MIN_NS INT64_C(500000)
#define PAUSE_MAX_NS INT64_C(100000000)

static const char release_script[] = "if redis.call('get',KEYS[1]) == ARGV[1] then "
                                     "return redis.call('del',KEYS[1]) else return 0 end";

const char *redis_open(struct redis *redis, const struct server *server, uint32_t depth)
{
    memset(redis, 0, sizeof *redis);
    redis->depth = depth;
    redis->dice = (uint32_t)(uintptr_t)redis;
    redis->context = server->port != 0 ? redisConnect("127.0.0.1", server->port)
                                       : redisConnectUnix(server->path);
    if (redis->context == NULL || redis->context->err != 0)
        return "hiredis cannot reach redis-server";
    redisReply *reply = redisCommand(redis->context, "SCRIPT LOAD %s", release_script);
    if (reply == NULL || reply->type != REDIS_REPLY_STRING)
        return "redis-server takes no script";
    (void)snprintf(redis->script, sizeof redis->script, "%s", reply->str);
    freeReplyObject(reply);
    return NULL;
}

void redis_close(struct redis *redis)
{
    if (redis->context != NULL)
        redisFree(redis->context);
    redis->context = NULL;
}

/* The answers to the INCRs in flight. */
static bool take_numbers(struct redis *redis)
{
    for (uint32_t i = 0; i < redis->depth; i++) {
        void *reply;
        if (redisGetReply(redis->context, &reply) != REDIS_OK)
            return false;
        bool fine = ((redisReply *)reply)->type == REDIS_REPLY_INTEGER;
        freeReplyObject(reply);
        if (!fine)
            return false;
    }
    return true;
}

bool redis_add(void *state, uint64_t operations)
{
    struct redis *redis = state;
    uint32_t dice = 0;
    for (uint64_t i = 0; i < operations; i += redis->depth) {
        for (uint32_t j = 0; j < redis->depth; j++) {
            uint32_t counter = redis->depth > 1 ? throw_counter(&dice) : 0;
            if (redisAppendCommand(redis->context, "INCR counter%u", (unsigned)counter) !=
                REDIS_OK)
                return false;
        }
        if (!take_numbers(redis))
            return false;
    }
    return true;
}

bool redis_fill(struct redis *redis, uint32_t count)
{
    for (uint32_t i = 0; i < count; i += redis->depth) {
        for (uint32_t j = i; j < i + redis->depth; j++)
            if (redisAppendCommand(redis->context, "INCR counter%u", (unsigned)j) != REDIS_OK)
                return false;
        if (!take_numbers(redis))
            return false;
    }
    return true;
}

bool redis_forget(struct redis *redis)
{
    redisReply *reply = redisCommand(redis->context, "FLUSHALL");
    bool fine = reply != NULL && reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    return fine;
}

enum answer { TAKEN, HELD, FAILED };

static enum answer try_lock(struct redis *redis)
{
    redisReply *reply = redisCommand(redis->context, "SET bench:lock %s NX PX 15000",
                                     redis->token);
    enum answer answer = FAILED;
    if (reply != NULL && reply->type == REDIS_REPLY_STATUS)
        answer = TAKEN;
    else if (reply != NULL && reply->type == REDIS_REPLY_NIL)
        answer = HELD;
    freeReplyObject(reply);
    return answer;
}

/* The documentation recommends a random pause. These are like those of mcds: between half a
 * millisecond and three times the last pause. */
static int64_t sleep_some(struct redis *redis, int64_t last_ns)
{
    redis->dice = redis->dice * 1664525 + 1013904223;
    int64_t pause_ns = PAUSE_MIN_NS +
                       (3 * last_ns - PAUSE_MIN_NS) / 1024 * (int64_t)(redis->dice >> 22);
    pause_ns = pause_ns < PAUSE_MAX_NS ? pause_ns : PAUSE_MAX_NS;
    (void)nanosleep(&(struct timespec){.tv_nsec = (long)pause_ns}, NULL);
    return pause_ns;
}

static bool acquire(struct redis *redis)
{
    int64_t pause_ns = PAUSE_MIN_NS;
    enum answer answer;
    (void)snprintf(redis->token, sizeof redis->token, "%016llx%016llx",
                   (unsigned long long)(uintptr_t)redis, (unsigned long long)redis->number++);
    while ((answer = try_lock(redis)) == HELD)
        pause_ns = sleep_some(redis, pause_ns);
    return answer == TAKEN;
}

static bool release(struct redis *redis)
{
    redisReply *reply = redisCommand(redis->context, "EVALSHA %s 1 bench:lock %s",
                                     redis->script, redis->token);
    bool fine = reply != NULL && reply->type == REDIS_REPLY_INTEGER && reply->integer == 1;
    freeReplyObject(reply);
    return fine;
}

bool redis_lock(void *state, uint64_t operations)
{
    struct redis *redis = state;
    for (uint64_t i = 0; i < operations; i++)
        if (!acquire(redis) || !release(redis))
            return false;
    return true;
}

#else

const char *redis_open(struct redis *redis, const struct server *server, uint32_t depth)
{
    (void)redis, (void)server, (void)depth;
    return "built without hiredis";
}

void redis_close(struct redis *redis)
{
    (void)redis;
}

bool redis_add(void *state, uint64_t operations)
{
    (void)state, (void)operations;
    return false;
}

bool redis_fill(struct redis *redis, uint32_t count)
{
    (void)redis, (void)count;
    return false;
}

bool redis_forget(struct redis *redis)
{
    (void)redis;
    return false;
}

bool redis_lock(void *state, uint64_t operations)
{
    (void)state, (void)operations;
    return false;
}
#endif
