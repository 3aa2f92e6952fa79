/* Redis through hiredis: pipelined INCR, and the lock that its documentation recommends. */
#include "peers.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#ifdef BENCH_HIREDIS
#include <hiredis/hiredis.h>

static const char release_script[] = "if redis.call('get',KEYS[1]) == ARGV[1] then "
                                     "return redis.call('del',KEYS[1]) else return 0 end";

const char *redis_open(struct redis *redis, const struct server *server, uint32_t depth)
{
    memset(redis, 0, sizeof *redis);
    redis->depth = depth;
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

bool redis_add(void *state, uint64_t operations)
{
    struct redis *redis = state;
    for (uint64_t i = 0; i < operations; i += redis->depth) {
        for (uint32_t j = 0; j < redis->depth; j++)
            if (redisAppendCommand(redis->context, "INCR bench:counter") != REDIS_OK)
                return false;
        for (uint32_t j = 0; j < redis->depth; j++) {
            void *reply;
            if (redisGetReply(redis->context, &reply) != REDIS_OK)
                return false;
            bool fine = ((redisReply *)reply)->type == REDIS_REPLY_INTEGER;
            freeReplyObject(reply);
            if (!fine)
                return false;
        }
    }
    return true;
}

static bool acquire(struct redis *redis, uint64_t number)
{
    (void)snprintf(redis->token, sizeof redis->token, "%032llx", (unsigned long long)number);
    redisReply *reply = redisCommand(redis->context, "SET bench:lock %s NX PX 15000",
                                     redis->token);
    bool fine = reply != NULL && reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    return fine;
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
        if (!acquire(redis, i) || !release(redis))
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

bool redis_lock(void *state, uint64_t operations)
{
    (void)state, (void)operations;
    return false;
}
#endif
