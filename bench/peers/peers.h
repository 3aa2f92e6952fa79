/* Alternatives that do the same job: clients of servers, databases, hash tables in this
 * process. Each but LMDB may be missing from the build; then its open says so. */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "support/server.h"
#include "verbs.h"

struct MDB_env;
struct cds_lfht;
struct memcached_st;
struct redisContext;

#define BATCH 1000 /* operations in one transaction */

struct old_client {
    struct memcached_st *handle;
};

/* Returns NULL, or why it cannot be opened. */
const char *old_client_open(struct old_client *client, const struct server *server);
void old_client_close(struct old_client *client);
/* contestant.run: waiting increments by libmemcached. */
bool old_client_add(void *client, uint64_t operations);
/* contestant.run: the article's algorithms of 2009 over it: a counter, and a lock that is
 * acquired and released. */
bool article_add(void *client, uint64_t operations);
bool article_lock(void *client, uint64_t operations);

struct redis {
    struct redisContext *context;
    uint32_t depth;
    char script[41]; /* compare and delete */
    char token[33];
    uint64_t number; /* of the token */
    uint32_t dice;   /* for the pauses */
};

const char *redis_open(struct redis *redis, const struct server *server, uint32_t depth);
void redis_close(struct redis *redis);
/* contestant.run: INCR with `depth` in flight, of random counters if there are several;
 * operations are a multiple of depth. */
bool redis_add(void *redis, uint64_t operations);
/* INCR of this many counters, a multiple of depth; and deletion of everything in the server. */
bool redis_fill(struct redis *redis, uint32_t count);
bool redis_forget(struct redis *redis);
/* contestant.run: SET NX PX, repeated after a pause while another client holds the lock, then a
 * script that deletes the key if the token is ours. */
bool redis_lock(void *redis, uint64_t operations);

/* One native structure of Redis, and the verb. */
struct redis_structure {
    struct redis redis;
    enum verb verb;
    char key[32];
    uint64_t size; /* elements so far */
    uint64_t next;
};

/* Returns NULL, or why it cannot be opened. */
const char *redis_structure_open(struct redis_structure *structure, enum verb verb,
                                 const struct server *server, const char *key, uint32_t depth);
/* Also deletes the structure. */
void redis_structure_close(struct redis_structure *structure);
/* Add elements until there are at least `size`. */
bool redis_structure_fill(struct redis_structure *structure, uint64_t size);
/* contestant.run: the verb with `depth` in flight; operations are a multiple of depth. */
bool redis_structure_run(void *structure, uint64_t operations);
/* contestant.run: XRANGE of the whole stream, for this many events. */
bool redis_structure_range(void *structure, uint64_t operations);

enum redis_limit_recipe { REDIS_INCR_EXPIRE, REDIS_FIXED_WINDOW, REDIS_LUA_WINDOW };

/* A recipe of a rate limit on Redis, and what it has cost. */
struct redis_limit {
    struct redis redis;
    enum redis_limit_recipe recipe;
    char script[41];
    uint64_t member; /* of this process */
    uint64_t takes;
    uint64_t round_trips;
};

/* Returns NULL, or why it cannot be opened. */
const char *redis_limit_open(struct redis_limit *limit, enum redis_limit_recipe recipe,
                             const struct server *server, uint64_t member);
void redis_limit_close(struct redis_limit *limit);
/* One take of at most `count` in `seconds`. 1: it passed; 0: refused; -1: failed. */
int redis_limit_take(struct redis_limit *limit, const char *identity, uint64_t count,
                     uint32_t seconds);

/* A queue on Redis: a stream with a consumer group, and a consumer for each process. */
struct redis_queue {
    struct redis redis;
    uint32_t consumer;
    char held[48]; /* the id of the job that it works on; "": none */
};

/* Returns NULL, or why it cannot be opened. */
const char *redis_queue_open(struct redis_queue *queue, const struct server *server);
/* Also ends the job that is held. */
void redis_queue_close(struct redis_queue *queue);
bool redis_queue_fill(struct redis_queue *queue, uint32_t jobs);
/* contestant.run: XADD; then XACK and XDEL of the previous job, and XREADGROUP, at once. */
bool redis_queue_run(void *queue, uint64_t operations);
/* Set appendfsync of the server: always, or no. */
bool redis_queue_sync(const struct server *server, bool always);

/* A queue of beanstalkd. */
struct beanstalkd {
    int fd;
    FILE *in;      /* reads from fd */
    uint64_t held; /* the id of the job that it works on; 0: none */
};

bool beanstalkd_open(struct beanstalkd *queue, const struct server *server);
/* Also ends the job that is held. */
void beanstalkd_close(struct beanstalkd *queue);
bool beanstalkd_fill(struct beanstalkd *queue, uint32_t jobs);
/* contestant.run: put; then delete of the previous job, and reserve, at once. */
bool beanstalkd_run(void *queue, uint64_t operations);

/* LMDB alone, durable, with a commit for each add. */
struct lmdb {
    uint32_t threads;
    struct MDB_env *env;
    unsigned table;
};

/* Returns NULL, or why it cannot be opened. */
const char *lmdb_open(struct lmdb *lmdb, const char *path, uint32_t threads);
void lmdb_close(struct lmdb *lmdb);
/* contestant.run: read, add, write and commit, in several threads. */
bool lmdb_add(void *lmdb, uint64_t operations);
/* contestant.run: BATCH puts of a number in each commit. */
bool lmdb_put_batches(void *lmdb, uint64_t operations);
/* contestant.run: reads, each in its own transaction. */
bool lmdb_get(void *lmdb, uint64_t operations);

/* SQLite with a write-ahead log, durable, a connection for each thread. */
struct sqlite {
    uint32_t threads;
    struct sqlite_connections *connections;
};

/* Returns NULL, or why it cannot be opened. */
const char *sqlite_open(struct sqlite *sqlite, const char *path, uint32_t threads);
void sqlite_close(struct sqlite *sqlite);
/* contestant.run: upserts in several threads, each a transaction. A thread that gets in does
 * one of the remaining operations, because the others may wait for long. */
bool sqlite_add(void *sqlite, uint64_t operations);
/* contestant.run: BATCH upserts in each transaction. */
bool sqlite_add_batches(void *sqlite, uint64_t operations);
/* contestant.run: reads, each in its own transaction. */
bool sqlite_get(void *sqlite, uint64_t operations);

/* Counters in a hash table of uthash, under one mutex. */
struct uthash {
    uint32_t threads;
    struct uthash_counters *counters;
};

/* Returns NULL, or why it cannot be opened. */
const char *uthash_open(struct uthash *uthash, uint32_t threads);
void uthash_close(struct uthash *uthash);
/* contestant.run: adds in several threads, to COUNTERS counters in turn. */
bool uthash_add(void *uthash, uint64_t operations);
/* This many counters, each allocated, which stay until the process ends. False: not built
 * in. */
bool uthash_fill(uint32_t count);

/* A lock-free hash table of liburcu, with the elements of verbs.h. */
struct urcu {
    struct cds_lfht *table;
    struct urcu_member *members;
    uint64_t size;
    uint64_t next;
};

/* With `size` elements. Returns NULL, or why it cannot be opened. */
const char *urcu_open(struct urcu *urcu, uint64_t size);
/* Called by the thread that opened it. */
void urcu_close(struct urcu *urcu);
/* contestant.run: lookups of existing elements, by the thread that opened it. */
bool urcu_has(void *urcu, uint64_t operations);

#endif
