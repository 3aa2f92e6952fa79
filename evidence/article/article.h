/* The article's nine algorithms, ported as they are written. What is mended is only what keeps
 * the printed text from running at all, and each file names it.
 *
 * `while True` without an end stays one; the client stops it after operation_max operations. */
#ifndef MCDS_EVIDENCE_ARTICLE_ARTICLE_H
#define MCDS_EVIDENCE_ARTICLE_ARTICLE_H

#include "article/memcache.h"

/* MCLock */
struct article_lock {
    struct memcache *mc;
    char key[64];
    bool locked;
    uint64_t timeout;
};
void article_lock_init(struct article_lock *lock, struct memcache *mc, const char *name,
                       uint64_t timeout);
enum answer article_try_lock(struct article_lock *lock, bool *locked_out);
enum answer article_unlock(struct article_lock *lock);

/* MCCounter; `key` is "counter" and its name */
enum answer article_increment(struct memcache *mc, const char *key, uint64_t value);
enum answer article_value(struct memcache *mc, const char *key, struct text *value_out);

/* MCVisitorCounter over periods of `T` seconds */
struct article_visitors {
    struct memcache *mc;
    const char *name;
    uint64_t T;
    bool ends_with_period; /* the ttl is 2T - time() % T instead of 2T */
};
enum answer article_visitors_increment(struct article_visitors *visitors);
enum answer article_visitors_value(struct article_visitors *visitors, uint64_t *value_out);
/* Its caller: the session remembers the last hit that was counted. */
enum answer article_visitors_hit(struct article_visitors *visitors, const char *session);

/* The online counter on six keys of a minute each. */
enum answer article_online_increment(struct memcache *mc);
enum answer article_online_value(struct memcache *mc, uint64_t *value_out);
/* Its caller: a session is counted again when its last counted hit is five minutes old. */
enum answer article_online_hit(struct memcache *mc, const char *session);

/* The view counter that begins with the number in the database. */
enum answer article_view(struct memcache *mc, const char *key,
                         uint64_t (*database)(void *context), void *context,
                         uint64_t *value_out);
/* The same with add in place of set. */
enum answer article_view_by_add(struct memcache *mc, const char *key,
                                uint64_t (*database)(void *context), void *context,
                                uint64_t *value_out);

/* MCEventLog: N keys of C seconds each */
struct article_log {
    struct memcache *mc;
    const char *name;
    uint64_t C;
    uint64_t N;
};
struct article_event {
    double when;
    char text[16];
};
struct article_events {
    struct article_event at[2048]; /* what is beyond is left out */
    size_t count;
};
#define ARTICLE_NONE (-1.0)
enum answer article_log_put(struct article_log *log, double when, const char *event);
/* ARTICLE_NONE: the argument is not given */
enum answer article_log_fetch(struct article_log *log, double first, double last,
                              struct article_events *events_out);

/* MCArray1: the elements are texts, each ended by a semicolon. Lists end with NULL. */
struct article_array1 {
    struct article_lock lock;
    char key[64];
};
void article_array1_init(struct article_array1 *array, struct memcache *mc, const char *name);
enum answer article_array1_change(struct article_array1 *array, const char *const *add,
                                  const char *const *remove);
/* The hint below it: gets, change, cas, and all again when the cas is refused. */
enum answer article_array1_change_by_cas(struct memcache *mc, const char *key,
                                         const char *element);

/* MCArray2 as printed, and with the return where it was meant. */
enum answer article_array2_add(struct memcache *mc, const char *key, const char *element);
enum answer article_array2_add_mended(struct memcache *mc, const char *key,
                                      const char *element);
/* Its hint: a log of +e and -e; when it has grown, it is read, compacted and written again. */
enum answer article_array2_compact(struct memcache *mc, const char *key,
                                   void (*map)(const char *log, struct text *folded_out));

/* MCTable */
struct article_table {
    struct article_lock lock;
    char name[64];
};
void article_table_init(struct article_table *table, struct memcache *mc, const char *name);
enum answer article_table_add(struct article_table *table, const char *key);
enum answer article_table_delete(struct article_table *table, const char *key);
enum answer article_table_has(struct article_table *table, const char *key, bool *has_out);
/* *is_none: it returned None and no list. */
enum answer article_table_fetch(struct article_table *table, struct text *keys_out,
                                bool *is_none);

/* Lists as texts, each element ended by a semicolon. */
bool article_list_has(const struct text *list, const char *element);
void article_list_add(struct text *list, const char *element);
void article_list_remove(struct text *list, const char *element);

#endif
