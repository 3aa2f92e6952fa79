/* The interface that the article's algorithms call, as an ordinary memcached client has it: no
 * care for sizes, times or lost replies beyond an exception. Exceptions are answers here, and a
 * port returns whatever the article does not catch. */
#ifndef MCDS_EVIDENCE_ARTICLE_MEMCACHE_H
#define MCDS_EVIDENCE_ARTICLE_MEMCACHE_H

#include "mcds/backend.h"

enum answer {
    DONE,
    KEY_ERROR,       /* the server says no: no such key, not stored */
    NETWORK_ERROR,   /* nobody knows */
    SERVER_ERROR,    /* the server refuses */
    ASSERTION_ERROR, /* the algorithm's own assert */
    STOPPED          /* the test has seen enough of a loop that does not end */
};

/* Growing text, always ended by a NUL. */
struct text {
    char *at;
    size_t length;
    size_t capacity;
};
void text_set(struct text *text, const char *string);
void text_add(struct text *text, const char *string);
void text_fill(struct text *text, const void *bytes, size_t length);
/* The text as a number, 0 for something else. */
uint64_t text_number(const struct text *text);
bool text_is(const struct text *text, const char *string);
void text_free(struct text *text);

struct actor;

struct memcache {
    mcds_store *store;
    int64_t epoch_s; /* what time() is 0 at, in Unix time */
    uint64_t operations;
    uint64_t operation_max;  /* then STOPPED */
    mcds_command stopped_at; /* and only by this command; 0: by any */
    bool every_error_is_key_error;
    bool delete_raises; /* KEY_ERROR when there is nothing to delete */
    bool reconnects;    /* what has not left is sent when there is a connection again */
    uint64_t read_on;   /* the connection of the last gets */

    /* For a simulated server (article/simulated.h); a real one needs none of this. */
    struct actor *actor;
    void (*forget)(struct memcache *mc, const char *key);
    /* Where a cas is sent: an ordinary client keeps the number and forgets where it was read. */
    uint64_t (*connection)(struct memcache *mc);
};

/* time(), in seconds, by the clock of this client. */
double memcache_time(const struct memcache *mc);

/* `ttl` is an exptime of memcached's protocol: more than 30 days is a date. */
enum answer memcache_get(struct memcache *mc, const char *key, struct text *value_out);
enum answer memcache_gets(struct memcache *mc, const char *key, struct text *value_out,
                          uint64_t *cas_out);
enum answer memcache_set(struct memcache *mc, const char *key, const char *value, uint64_t ttl);
enum answer memcache_add(struct memcache *mc, const char *key, const char *value, uint64_t ttl);
enum answer memcache_append(struct memcache *mc, const char *key, const char *value);
/* EXISTS is KEY_ERROR too. */
enum answer memcache_cas(struct memcache *mc, const char *key, const char *value, uint64_t cas);
enum answer memcache_incr(struct memcache *mc, const char *key, uint64_t delta,
                          uint64_t *value_out);
enum answer memcache_decr(struct memcache *mc, const char *key, uint64_t delta,
                          uint64_t *value_out);
enum answer memcache_delete(struct memcache *mc, const char *key);

#endif
