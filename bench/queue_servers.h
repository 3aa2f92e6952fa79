/* The stores and servers on which queues are compared: in memory, or durable. */
#ifndef BENCH_QUEUE_SERVERS_H
#define BENCH_QUEUE_SERVERS_H

#include <stdbool.h>

#include "support/server.h"

#define QUEUE_URI_MAX 320

struct queue_servers {
    bool is_durable;
    char place[280];              /* a folder for the files; it is removed at the end */
    char uri[QUEUE_URI_MAX];      /* of ours */
    char fill_uri[QUEUE_URI_MAX]; /* the same store, not durable */
    struct server memcached;
    struct server redis;
    struct server beanstalkd;
    const char *no_redis; /* why it is not compared, or NULL */
    const char *no_beanstalkd;
};

/* False: they cannot run at all, which was printed on stderr. */
bool queue_servers_start(struct queue_servers *servers, const char *place, bool is_durable);
void queue_servers_stop(struct queue_servers *servers);
/* Durable servers: sets whether they answer before a change is on the disk. The bench sets this
 * while it fills the queues. False: a server has failed. */
bool queue_servers_hurry(struct queue_servers *servers, bool hurries);

#endif
