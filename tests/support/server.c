/* Servers that a test or a benchmark starts for itself. */
#include "support/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_ROUNDS 1000
#define START_PAUSE_NS 10000000L

static int connect_tcp(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int yes = 1;
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static int connect_unix(const char *path)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

int server_connect(const struct server *server)
{
    return server->port != 0 ? connect_tcp(server->port) : connect_unix(server->path);
}

void server_uri(const struct server *server, char *out, unsigned room)
{
    if (server->port != 0)
        (void)snprintf(out, room, "memcached://127.0.0.1:%u", (unsigned)server->port);
    else
        (void)snprintf(out, room, "memcached://%s", server->path);
}

uint16_t server_free_port(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    uint16_t port = 0;
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &length) == 0)
        port = ntohs(address.sin_port);
    if (fd >= 0)
        (void)close(fd);
    return port;
}

void server_stop(struct server *server)
{
    if (server->pid > 0) {
        (void)kill(server->pid, SIGKILL);
        (void)waitpid(server->pid, NULL, 0);
    }
    server->pid = 0;
}

/* False: it has ended by itself, or takes no connections in time. */
static bool wait_until_up(const struct server *server)
{
    for (int round = 0; round < START_ROUNDS; round++) {
        int fd = server_connect(server);
        if (fd >= 0) {
            (void)close(fd);
            return true;
        }
        siginfo_t ended = {0};
        if (waitid(P_PID, (id_t)server->pid, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            ended.si_pid != 0)
            return false;
        struct timespec pause = {0, START_PAUSE_NS};
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

bool server_start(struct server *server, char *const *arguments)
{
    server->pid = fork();
    if (server->pid < 0) {
        server->pid = 0;
        return false;
    }
    if (server->pid == 0) {
        if (freopen("/dev/null", "w", stdout) == NULL)
            _exit(127);
        (void)execvp(arguments[0], arguments);
        _exit(127);
    }
    if (wait_until_up(server))
        return true;
    server_stop(server);
    return false;
}

bool server_start_memcached(struct server *server)
{
    char port[8];
    char threads[8];
    (void)snprintf(port, sizeof port, "%u", (unsigned)server->port);
    (void)snprintf(threads, sizeof threads, "%u",
                   (unsigned)(server->threads > 0 ? server->threads : 4));
    /* -u counts only for root, whom memcached does not run as unless told */
    char *const background = server->quiet ? "no_lru_maintainer,no_lru_crawler,slab_automove=0"
                                           : "slab_automove=1";
    char *const tcp[] = {"memcached", "-u",       "root", "-m",        "256", "-t", threads,
                         "-o",        background, "-l",   "127.0.0.1", "-p",  port, NULL};
    char *const local[] = {"memcached", "-u", "root",     "-m", "256",        "-t",
                           threads,     "-o", background, "-s", server->path, NULL};
    return server_start(server, server->port != 0 ? tcp : local);
}
