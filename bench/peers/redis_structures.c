/* Redis through hiredis, with its native types: the same verbs on the same elements. */
#include <stdio.h>
#include <string.h>

#include "peers/peers.h"

#ifdef BENCH_HIREDIS
#include <hiredis/hiredis.h>

#define WORDS_MAX 5

/* A command as words and their lengths: hiredis's fastest way. */
struct command {
    int count;
    const char *words[WORDS_MAX];
    size_t lengths[WORDS_MAX];
};

static void say(struct command *command, const char *word, size_t length)
{
    command->words[command->count] = word;
    command->lengths[command->count++] = length;
}

static bool begin(struct redis_structure *structure, enum verb verb, uint64_t number)
{
    static const char *const commands[VERB_COUNT] = {"SADD", "HSET", "SISMEMBER", "RPUSH",
                                                     "XADD"};
    struct command command = {0};
    char element[ELEMENT_LENGTH + 1];
    element_of(number, element);
    say(&command, commands[verb], strlen(commands[verb]));
    say(&command, structure->key, strlen(structure->key));
    if (verb == LOG_PUT) {
        say(&command, "*", 1);
        say(&command, "e", 1);
        say(&command, event_bytes, EVENT_LENGTH);
    } else if (verb != LIST_PUSH) {
        say(&command, element, ELEMENT_LENGTH);
    }
    if (verb == TABLE_PUT || verb == LIST_PUSH)
        say(&command, value_bytes, VALUE_LENGTH);
    return redisAppendCommandArgv(structure->redis.context, command.count, command.words,
                                  command.lengths) == REDIS_OK;
}

static bool take(struct redis_structure *structure, enum verb verb)
{
    void *reply;
    if (redisGetReply(structure->redis.context, &reply) != REDIS_OK)
        return false;
    const redisReply *answer = reply;
    bool fine = answer->type == (verb == LOG_PUT ? REDIS_REPLY_STRING : REDIS_REPLY_INTEGER) &&
                (verb != TABLE_HAS || answer->integer == 1);
    freeReplyObject(reply);
    return fine;
}

static bool run(struct redis_structure *structure, enum verb verb, uint64_t operations)
{
    uint32_t depth = structure->redis.depth;
    for (uint64_t i = 0; i < operations; i += depth) {
        for (uint32_t j = 0; j < depth; j++) {
            uint64_t number = verb == TABLE_HAS ? spread(structure->next++, structure->size)
                                                : structure->size++;
            if (!begin(structure, verb, number))
                return false;
        }
        for (uint32_t j = 0; j < depth; j++)
            if (!take(structure, verb))
                return false;
    }
    return true;
}

const char *redis_structure_open(struct redis_structure *structure, enum verb verb,
                                 const struct server *server, const char *key, uint32_t depth)
{
    *structure = (struct redis_structure){.verb = verb};
    (void)snprintf(structure->key, sizeof structure->key, "%s", key);
    return redis_open(&structure->redis, server, depth);
}

bool redis_structure_fill(struct redis_structure *structure, uint64_t size)
{
    uint32_t depth = structure->redis.depth;
    uint64_t missing = size > structure->size ? size - structure->size : 0;
    /* Membership is tested on a set. */
    enum verb verb = structure->verb == TABLE_HAS ? SET_ADD : structure->verb;
    return run(structure, verb, (missing + depth - 1) / depth * depth);
}

bool redis_structure_run(void *state, uint64_t operations)
{
    struct redis_structure *structure = state;
    return run(structure, structure->verb, operations);
}

bool redis_structure_range(void *state, uint64_t operations)
{
    struct redis_structure *structure = state;
    for (uint64_t seen = 0; seen < operations;) {
        redisReply *reply = redisCommand(structure->redis.context, "XRANGE %s - +",
                                         structure->key);
        bool fine = reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements > 0;
        seen += fine ? reply->elements : 0;
        freeReplyObject(reply);
        if (!fine)
            return false;
    }
    return true;
}

void redis_structure_close(struct redis_structure *structure)
{
    if (structure->redis.context != NULL)
        freeReplyObject(redisCommand(structure->redis.context, "DEL %s", structure->key));
    redis_close(&structure->redis);
}

#else

const char *redis_structure_open(struct redis_structure *structure, enum verb verb,
                                 const struct server *server, const char *key, uint32_t depth)
{
    (void)structure, (void)verb, (void)server, (void)key, (void)depth;
    return "built without hiredis";
}

bool redis_structure_fill(struct redis_structure *structure, uint64_t size)
{
    (void)structure, (void)size;
    return false;
}

bool redis_structure_run(void *state, uint64_t operations)
{
    (void)state, (void)operations;
    return false;
}

bool redis_structure_range(void *state, uint64_t operations)
{
    (void)state, (void)operations;
    return false;
}

void redis_structure_close(struct redis_structure *structure)
{
    (void)structure;
}
#endif
