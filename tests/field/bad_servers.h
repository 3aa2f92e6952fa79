/* Every verb of every structure, for a server that is bad. */
#ifndef MCDS_TESTS_FIELD_BAD_SERVERS_H
#define MCDS_TESTS_FIELD_BAD_SERVERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "mcds.h"

#define OK(call) assert_int_equal(MCDS_OK, call)

/* Handles of all structures, and what their verbs need. */
struct handles {
    mcds_store *store;
    mcds_counter *counter;
    mcds_counter *is_signed;
    mcds_counter *striped;
    mcds_counter *exact;
    mcds_lock *lock;
    mcds_lock *other_lock;
    mcds_lease lease;
    mcds_visitors *visitors;
    mcds_visitors *members;
    mcds_visitors *estimated;
    mcds_online *online;
    mcds_online *online_members;
    mcds_set *set;
    mcds_set *bag;
    mcds_set *ordered;
    mcds_table *table;
    mcds_views *views;
    mcds_array *array;
    mcds_list *list;
    mcds_log *log;
    mcds_log_cursor cursor;
    mcds_cache *cache;
    mcds_limit *limit;
    mcds_limit *window;
    mcds_ids *ids;
    mcds_once *once;
    mcds_queue *queue;
    mcds_semaphore *semaphore;
};

struct verb {
    const char *name;
    int (*call)(struct handles *on);
    bool needs_lease;     /* of handles that have used the server */
    bool needs_no_server; /* it keeps what it was given for a later flush, or has it already */
};
extern const struct verb verbs[];
extern const size_t verb_count;
/* The verb of this name. */
const struct verb *verb_of(const char *name);

void open_all(struct handles *on, const char *uri, const char *name);
/* The same on a store that is open; close_all closes it. */
void open_on(struct handles *on, mcds_store *store, const char *name);
void close_all(struct handles *on);
/* All verbs once, on a server that works. */
void use_all(struct handles *on);

#endif
