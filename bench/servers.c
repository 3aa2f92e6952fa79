/* Starts the servers of the benchmark. */
#include "servers.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void start_redis(struct servers *servers)
{
    char port[8];
    (void)snprintf(port, sizeof port, "%u", (unsigned)servers->redis_tcp.port);
    char *const arguments[] = {"redis-server",
                               "--bind",
                               "127.0.0.1",
                               "--port",
                               port,
                               "--save",
                               "",
                               "--appendonly",
                               "no",
                               "--unixsocket",
                               servers->redis_unix.path,
                               NULL};
    (void)server_start(&servers->redis_tcp, arguments);
}

/* Items of one comparison must not be evicted in the next. */
static char *const roomy[] = {"-m", "2048", NULL};

void servers_start(struct servers *servers, const char *place)
{
    memset(servers, 0, sizeof *servers);
    servers->where = "";
    (void)snprintf(servers->memcached_unix.path, sizeof servers->memcached_unix.path,
                   "%.90s/m.sock", place);
    (void)snprintf(servers->redis_unix.path, sizeof servers->redis_unix.path, "%.90s/r.sock",
                   place);
    /* With more threads, the contestants' connections would be on different threads, and the
     * contestant whose thread shares a processor with the client would win. */
    servers->memcached_unix.threads = 1;
    servers->memcached_unix.options = roomy;
    servers->memcached_tcp.threads = 1;
    (void)server_start_memcached(&servers->memcached_unix);
    (void)snprintf(servers->memcached_wide.path, sizeof servers->memcached_wide.path,
                   "%.90s/w.sock", place);
    servers->memcached_wide.threads = 2;
    servers->memcached_wide.options = roomy;
    (void)server_start_memcached(&servers->memcached_wide);
    servers->memcached_tcp.port = server_free_port();
    (void)server_start_memcached(&servers->memcached_tcp);
    servers->redis_tcp.port = server_free_port();
    start_redis(servers);
}

void servers_stop(struct servers *servers)
{
    server_stop(&servers->memcached_tcp);
    server_stop(&servers->memcached_unix);
    server_stop(&servers->memcached_wide);
    server_stop(&servers->redis_tcp);
    (void)unlink(servers->memcached_unix.path);
    (void)unlink(servers->memcached_wide.path);
    (void)unlink(servers->redis_unix.path);
}

const char *servers_no_redis(const struct servers *servers)
{
    return servers->redis_tcp.pid > 0 ? NULL : "no redis-server";
}
