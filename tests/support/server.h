/* Servers that a test or a benchmark starts for itself, on loopback or a unix socket, and stops
 * by pid. A server dies with the thread that started it, however that ends. */
#ifndef MCDS_TESTS_SERVER_H
#define MCDS_TESTS_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* All zero: not started and nowhere yet. */
struct server {
    pid_t pid;           /* 0: not running */
    uint16_t port;       /* 0: it listens at `path` */
    char path[108];      /* a unix socket */
    const char *program; /* of memcached; NULL: the installed one */
    uint8_t threads;     /* of memcached; 0 = 4, as is its own default */
    uint16_t timeout_ms; /* of nutcracker, for its servers; 0 = 10 000 */
    /* More arguments for memcached, ended by NULL; they must outlive the server. NULL: none. */
    char *const *options;

    bool (*run)(struct server *server); /* as it was started last */
    int keeper;                         /* a socket that keeps the port ours; 0: none */
    char folder[24];                    /* made here for the server's files; "": none */
};

/* Whether a program is there to be run, in $PATH or /usr/sbin. */
bool server_is_installed(const char *program);

/* A port of loopback that was free a moment ago, or 0. */
uint16_t server_free_port(void);

/* Run a program and wait until it takes connections at server->port or server->path, ten
 * seconds at most. False: not installed, or it did not come up. */
bool server_start(struct server *server, char *const *arguments);
/* memcached at server->port or server->path; at a free port when neither is set. The port is
 * the server's until server_stop: nobody else gets it while the server is down. */
bool server_start_memcached(struct server *server);
/* The same at a socket in a folder of its own, which server_stop removes. */
bool server_start_memcached_unix(struct server *server);
/* twemproxy at a free port, placing keys on `servers` as libmemcached's KETAMA_WEIGHTED does. */
bool server_start_nutcracker(struct server *proxy, const struct server *servers, size_t count);

/* Kill it, with no time to say good-bye, and wait for its end. memcached would take a second
 * to say it, and has nothing to save. */
void server_kill(struct server *server);
/* Bring it back where it was, empty, whether or not it still runs. */
bool server_restart(struct server *server);
/* Kill it and give up its port and its folder. Nothing happens to one that was not started. */
void server_stop(struct server *server);

/* On return it has come to a halt: connections to it are taken and nothing is answered. */
bool server_pause(const struct server *server);
bool server_resume(const struct server *server);

/* A connected socket, or -1. */
int server_connect(const struct server *server);
/* "memcached://127.0.0.1:PORT" or "memcached:///PATH". */
void server_uri(const struct server *server, char *out, unsigned capacity);

#endif
