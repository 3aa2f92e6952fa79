/* Servers that a test or a benchmark starts for itself, on loopback or a unix socket, and stops
 * by pid. */
#ifndef MCDS_TESTS_SERVER_H
#define MCDS_TESTS_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct server {
    pid_t pid;       /* 0: not running */
    uint16_t port;   /* 0: it listens at `path` */
    char path[108];  /* a unix socket */
    uint8_t threads; /* of memcached; 0 = 4, as is its own default */
    bool quiet;      /* memcached without background threads that hold items for a moment */
};

/* A port of loopback that was free a moment ago, or 0. */
uint16_t server_free_port(void);

/* Run a program, found in $PATH, and wait until it takes connections at server->port or
 * server->path, ten seconds at most. False: not installed, or it did not come up. */
bool server_start(struct server *server, char *const *arguments);
/* memcached at server->port or server->path. */
bool server_start_memcached(struct server *server);
/* Kill it, with no time to say good-bye, and wait for its end. */
void server_stop(struct server *server);

/* A connected socket, or -1. */
int server_connect(const struct server *server);
/* "memcached://127.0.0.1:PORT" or "memcached:///PATH". */
void server_uri(const struct server *server, char *out, unsigned room);

#endif
