/* Starts the stores and servers on which queues are compared. */
#include "queue_servers.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "peers/peers.h"

static void set_path(struct server *server, const char *place, const char *name)
{
    (void)snprintf(server->path, sizeof server->path, "%.90s/%s", place, name);
}

static bool start_memcached(struct queue_servers *servers)
{
    static char *const roomy[] = {"-m", "4096", NULL};
    set_path(&servers->memcached, servers->place, "m.sock");
    servers->memcached.threads = 1;
    servers->memcached.options = roomy;
    server_uri(&servers->memcached, servers->uri, sizeof servers->uri);
    server_uri(&servers->memcached, servers->fill_uri, sizeof servers->fill_uri);
    return server_start_memcached(&servers->memcached);
}

static bool start_redis(struct queue_servers *servers)
{
    char *appends = servers->is_durable ? "yes" : "no";
    char *const arguments[] = {"redis-server",
                               "--port",
                               "0",
                               "--save",
                               "",
                               "--dir",
                               servers->place,
                               "--appenddirname",
                               "redis",
                               "--appendonly",
                               appends,
                               "--appendfsync",
                               "always",
                               "--auto-aof-rewrite-percentage",
                               "0",
                               "--unixsocket",
                               servers->redis.path,
                               NULL};
    return server_start(&servers->redis, arguments);
}

/* With a log, beanstalkd keeps its jobs when it is started again with other options. */
static bool start_beanstalkd(struct queue_servers *servers, bool hurries)
{
    char address[sizeof servers->beanstalkd.path + 8];
    char log[sizeof servers->place + 16];
    (void)snprintf(address, sizeof address, "unix:%s", servers->beanstalkd.path);
    (void)snprintf(log, sizeof log, "%s/beanstalkd", servers->place);
    char *const durable[] = {"beanstalkd",           "-l", address, "-b", log,
                             hurries ? "-F" : "-f0", NULL};
    char *const in_memory[] = {"beanstalkd", "-l", address, NULL};
    (void)unlink(servers->beanstalkd.path);
    if (servers->is_durable && mkdir(log, 0700) != 0 && access(log, W_OK) != 0)
        return false;
    return server_start(&servers->beanstalkd, servers->is_durable ? durable : in_memory);
}

bool queue_servers_start(struct queue_servers *servers, const char *place, bool is_durable)
{
    memset(servers, 0, sizeof *servers);
    servers->is_durable = is_durable;
    (void)snprintf(servers->place, sizeof servers->place, "%.250s/%s", place,
                   is_durable ? "durable" : "memory");
    if (mkdir(servers->place, 0700) != 0) {
        perror(servers->place);
        return false;
    }
    set_path(&servers->redis, servers->place, "r.sock");
    set_path(&servers->beanstalkd, servers->place, "b.sock");
    (void)snprintf(servers->uri, sizeof servers->uri, "lmdb:%s/ours.mdb", servers->place);
    (void)snprintf(servers->fill_uri, sizeof servers->fill_uri, "lmdb:%s/ours.mdb?sync=async",
                   servers->place);
    if (!is_durable && !start_memcached(servers)) {
        (void)fputs("bench: queue: memcached is needed\n", stderr);
        return false;
    }
    servers->no_redis = start_redis(servers) ? NULL : "no redis-server";
    servers->no_beanstalkd = start_beanstalkd(servers, true) ? NULL : "no beanstalkd";
    return true;
}

/* Remove the files of a folder, not its folders, and then the folder. */
static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        (void)unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder != NULL)
        (void)closedir(folder);
    (void)rmdir(path);
}

void queue_servers_stop(struct queue_servers *servers)
{
    static const char *const inner[] = {"/redis", "/beanstalkd", ""};
    server_stop(&servers->memcached);
    server_stop(&servers->redis);
    server_stop(&servers->beanstalkd);
    for (size_t i = 0; i < sizeof inner / sizeof inner[0]; i++) {
        char path[sizeof servers->place + 16];
        (void)snprintf(path, sizeof path, "%s%s", servers->place, inner[i]);
        remove_folder(path);
    }
}

bool queue_servers_hurry(struct queue_servers *servers, bool hurries)
{
    bool fine = true;
    if (servers->is_durable && servers->no_redis == NULL)
        fine = redis_queue_sync(&servers->redis, !hurries);
    if (servers->is_durable && servers->no_beanstalkd == NULL) {
        server_kill(&servers->beanstalkd);
        fine = start_beanstalkd(servers, hurries) && fine;
    }
    return fine;
}
