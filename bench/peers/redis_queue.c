/* A queue on Redis: a stream with a consumer group. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "peers/peers.h"

#ifdef BENCH_HIREDIS
#include <hiredis/hiredis.h>

#define FILL_AT_ONCE 1000

/* Whether the next reply is not an error. */
static bool take_any(struct redis_queue *queue)
{
    void *reply = NULL;
    bool fine = redisGetReply(queue->redis.context, &reply) == REDIS_OK && reply != NULL &&
                ((redisReply *)reply)->type != REDIS_REPLY_ERROR;
    freeReplyObject(reply);
    return fine;
}

const char *redis_queue_open(struct redis_queue *queue, const struct server *server)
{
    *queue = (struct redis_queue){.consumer = (uint32_t)getpid()};
    const char *why = redis_open(&queue->redis, server, 1);
    if (why != NULL)
        return why;
    /* An error means that another process has made the group. */
    freeReplyObject(
        redisCommand(queue->redis.context, "XGROUP CREATE jobs workers 0 MKSTREAM"));
    return queue->redis.context->err == 0 ? NULL : "redis-server cannot make the group";
}

static bool begin_push(struct redis_queue *queue)
{
    return redisAppendCommand(queue->redis.context, "XADD jobs * j %b", event_bytes,
                              (size_t)EVENT_LENGTH) == REDIS_OK;
}

/* After the only group has acknowledged an entry, the entry can be erased. */
static bool begin_done(struct redis_queue *queue)
{
    return redisAppendCommand(queue->redis.context, "XACK jobs workers %s", queue->held) ==
               REDIS_OK &&
           redisAppendCommand(queue->redis.context, "XDEL jobs %s", queue->held) == REDIS_OK;
}

bool redis_queue_fill(struct redis_queue *queue, uint32_t jobs)
{
    while (jobs > 0) {
        uint32_t part = jobs < FILL_AT_ONCE ? jobs : FILL_AT_ONCE;
        for (uint32_t i = 0; i < part; i++)
            if (!begin_push(queue))
                return false;
        for (uint32_t i = 0; i < part; i++)
            if (!take_any(queue))
                return false;
        jobs -= part;
    }
    return true;
}

/* The id in the reply to XREADGROUP: streams, of each its name and its entries, of each its id and
 * its fields. */
static const char *id_in(const redisReply *reply)
{
    static const size_t path[] = {0, 1, 0, 0};
    for (size_t i = 0; i < sizeof path / sizeof path[0] && reply != NULL; i++)
        reply = reply->type == REDIS_REPLY_ARRAY && reply->elements > path[i]
                    ? reply->element[path[i]]
                    : NULL;
    return reply != NULL && reply->type == REDIS_REPLY_STRING ? reply->str : NULL;
}

/* End the job that is held and take one, in one round trip. */
static bool take_next(struct redis_queue *queue)
{
    bool has_held = queue->held[0] != '\0';
    void *reply = NULL;
    if ((has_held && !begin_done(queue)) ||
        redisAppendCommand(queue->redis.context,
                           "XREADGROUP GROUP workers %u COUNT 1 STREAMS jobs >",
                           (unsigned)queue->consumer) != REDIS_OK ||
        (has_held && (!take_any(queue) || !take_any(queue))) ||
        redisGetReply(queue->redis.context, &reply) != REDIS_OK)
        return false;
    const char *id = id_in(reply);
    (void)snprintf(queue->held, sizeof queue->held, "%s", id != NULL ? id : "");
    freeReplyObject(reply);
    return queue->held[0] != '\0';
}

bool redis_queue_run(void *state, uint64_t operations)
{
    struct redis_queue *queue = state;
    for (uint64_t i = 0; i < operations; i++)
        if (!begin_push(queue) || !take_any(queue) || !take_next(queue))
            return false;
    return true;
}

void redis_queue_close(struct redis_queue *queue)
{
    if (queue->held[0] != '\0' && begin_done(queue))
        (void)(take_any(queue) && take_any(queue));
    redis_close(&queue->redis);
}

bool redis_queue_sync(const struct server *server, bool always)
{
    struct redis_queue queue;
    bool fine = redis_queue_open(&queue, server) == NULL &&
                redisAppendCommand(queue.redis.context, "CONFIG SET appendfsync %s",
                                   always ? "always" : "no") == REDIS_OK &&
                take_any(&queue);
    redis_queue_close(&queue);
    return fine;
}

#else

const char *redis_queue_open(struct redis_queue *queue, const struct server *server)
{
    (void)queue, (void)server;
    return "built without hiredis";
}

void redis_queue_close(struct redis_queue *queue)
{
    (void)queue;
}

bool redis_queue_fill(struct redis_queue *queue, uint32_t jobs)
{
    (void)queue, (void)jobs;
    return false;
}

bool redis_queue_run(void *state, uint64_t operations)
{
    (void)state, (void)operations;
    return false;
}

bool redis_queue_sync(const struct server *server, bool always)
{
    (void)server, (void)always;
    return false;
}
#endif
