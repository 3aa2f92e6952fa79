/* Rate limits on Redis, as three recipes have them: INCR and EXPIRE of the documentation of Redis, the
 * fixed windows of Envoy's rate limit service, and a sliding window in Lua. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "peers/peers.h"

#ifdef BENCH_HIREDIS
#include <hiredis/hiredis.h>

/* KEYS[1]: a sorted set with one member for each take that passed in the last window. ARGV: the
 * limit, the window in microseconds, a member that nobody else has. */
static const char window_script[] =
    "local t = redis.call('TIME') "
    "local now = t[1] * 1000000 + t[2] "
    "redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - ARGV[2]) "
    "if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end "
    "redis.call('ZADD', KEYS[1], now, ARGV[3]) "
    "redis.call('PEXPIRE', KEYS[1], ARGV[2] / 1000) "
    "return 1";

const char *redis_limit_open(struct redis_limit *limit, enum redis_limit_recipe recipe,
                             const struct server *server, uint64_t member)
{
    *limit = (struct redis_limit){.recipe = recipe, .member = member};
    const char *why = redis_open(&limit->redis, server, 1);
    if (why != NULL)
        return why;
    redisReply *reply = redisCommand(limit->redis.context, "SCRIPT LOAD %s", window_script);
    bool fine = reply != NULL && reply->type == REDIS_REPLY_STRING;
    if (fine)
        (void)snprintf(limit->script, sizeof limit->script, "%s", reply->str);
    freeReplyObject(reply);
    return fine ? NULL : "redis-server takes no script";
}

void redis_limit_close(struct redis_limit *limit)
{
    redis_close(&limit->redis);
}

/* The number that the next reply has; negative: none. */
static long long next_number(struct redis_limit *limit)
{
    void *reply = NULL;
    long long number = -1;
    if (redisGetReply(limit->redis.context, &reply) == REDIS_OK && reply != NULL &&
        ((redisReply *)reply)->type == REDIS_REPLY_INTEGER)
        number = ((redisReply *)reply)->integer;
    freeReplyObject(reply);
    return number;
}

/* A second command is sent only by the caller that has made the key. */
static int take_incr_expire(struct redis_limit *limit, const char *identity, uint64_t count,
                            uint32_t seconds)
{
    struct redisContext *context = limit->redis.context;
    if (redisAppendCommand(context, "INCR i:%s", identity) != REDIS_OK)
        return -1;
    long long number = next_number(limit);
    limit->round_trips++;
    if (number == 1) {
        if (redisAppendCommand(context, "EXPIRE i:%s %u", identity, (unsigned)seconds) !=
                REDIS_OK ||
            next_number(limit) != 1)
            return -1;
        limit->round_trips++;
    }
    return number < 0 ? -1 : (uint64_t)number <= count;
}

/* Both commands are sent at once. The key has the start of the window, and lives for as long. */
static int take_fixed(struct redis_limit *limit, const char *identity, uint64_t count,
                      uint32_t seconds)
{
    struct redisContext *context = limit->redis.context;
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    long long start = (long long)now.tv_sec / seconds * seconds;
    if (redisAppendCommand(context, "INCRBY e:%s_%lld 1", identity, start) != REDIS_OK ||
        redisAppendCommand(context, "EXPIRE e:%s_%lld %u", identity, start,
                           (unsigned)seconds) != REDIS_OK)
        return -1;
    long long number = next_number(limit);
    limit->round_trips++;
    return next_number(limit) != 1 || number < 0 ? -1 : (uint64_t)number <= count;
}

static int take_sliding(struct redis_limit *limit, const char *identity, uint64_t count,
                        uint32_t seconds)
{
    if (redisAppendCommand(
            limit->redis.context, "EVALSHA %s 1 w:%s %llu %llu %llu:%llu", limit->script,
            identity, (unsigned long long)count, (unsigned long long)seconds * 1000000,
            (unsigned long long)limit->member, (unsigned long long)limit->takes) != REDIS_OK)
        return -1;
    limit->round_trips++;
    return (int)next_number(limit);
}

int redis_limit_take(struct redis_limit *limit, const char *identity, uint64_t count,
                     uint32_t seconds)
{
    static int (*const takes[])(struct redis_limit *, const char *, uint64_t, uint32_t) = {
        [REDIS_INCR_EXPIRE] = take_incr_expire,
        [REDIS_FIXED_WINDOW] = take_fixed,
        [REDIS_LUA_WINDOW] = take_sliding,
    };
    limit->takes++;
    return takes[limit->recipe](limit, identity, count, seconds);
}

#else

const char *redis_limit_open(struct redis_limit *limit, enum redis_limit_recipe recipe,
                             const struct server *server, uint64_t member)
{
    (void)limit, (void)recipe, (void)server, (void)member;
    return "built without hiredis";
}

void redis_limit_close(struct redis_limit *limit)
{
    (void)limit;
}

int redis_limit_take(struct redis_limit *limit, const char *identity, uint64_t count,
                     uint32_t seconds)
{
    (void)limit, (void)identity, (void)count, (void)seconds;
    return -1;
}
#endif
