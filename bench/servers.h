/* Starts the servers of the benchmark. */
#ifndef BENCH_SERVERS_H
#define BENCH_SERVERS_H

#include <stdbool.h>

#include "support/server.h"

struct servers {
    const char *where; /* for the names of comparisons: "" or ", one CPU" */
    struct server memcached_tcp;
    struct server memcached_unix;
    struct server memcached_wide; /* the same with two threads */
    struct server redis_tcp;      /* one process listens on both addresses; */
    struct server redis_unix;     /* this one has only the address */
};

/* Start the installed servers; `place` is a directory for the sockets. */
void servers_start(struct servers *servers, const char *place);
void servers_stop(struct servers *servers);

/* Why Redis cannot take part in a comparison, or NULL. */
const char *servers_no_redis(const struct servers *servers);

#endif
