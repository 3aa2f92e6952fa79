/* Servers that a test or a benchmark starts for itself. */
#include "support/server.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_ROUNDS 2000
#define START_PAUSE_NS 5000000L
#define ARGUMENTS_MAX 32
#define PROGRAM_MAX 256
#define FOLDER "/tmp/mcds-server-XXXXXX"

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

void server_uri(const struct server *server, char *out, unsigned capacity)
{
    if (server->port != 0)
        (void)snprintf(out, capacity, "memcached://127.0.0.1:%u", (unsigned)server->port);
    else
        (void)snprintf(out, capacity, "memcached://%s", server->path);
}

bool server_is_installed(const char *program)
{
    const char *folders = getenv("PATH");
    char path[1024];
    for (const char *at = folders != NULL ? folders : ""; *at != '\0';) {
        size_t length = strcspn(at, ":");
        (void)snprintf(path, sizeof path, "%.*s/%s", (int)length, at, program);
        if (access(path, X_OK) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    (void)snprintf(path, sizeof path, "/usr/sbin/%s", program);
    return access(path, X_OK) == 0;
}

/* A socket bound to *port of loopback, or to a free one if that is 0; -1 when it is taken. As
 * it does not listen, a server that sets SO_REUSEADDR may bind there too; the kernel gives the
 * port to no socket that asks for any. */
static int bind_port(uint16_t *port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(*port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    int yes = 1;
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &length) == 0) {
        *port = ntohs(address.sin_port);
        return fd;
    }
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

uint16_t server_free_port(void)
{
    uint16_t port = 0;
    int fd = bind_port(&port);
    if (fd >= 0)
        (void)close(fd);
    return port;
}

static bool keep_port(struct server *server)
{
    if (server->keeper > 0)
        return true;
    int fd = bind_port(&server->port);
    if (fd < 0)
        return false;
    server->keeper = fcntl(fd, F_DUPFD_CLOEXEC, 3); /* 0 means that there is none */
    (void)close(fd);
    return server->keeper > 0;
}

static bool make_folder(struct server *server)
{
    if (server->folder[0] != '\0')
        return true;
    (void)snprintf(server->folder, sizeof server->folder, "%s", FOLDER);
    if (mkdtemp(server->folder) != NULL)
        return true;
    server->folder[0] = '\0';
    return false;
}

static void remove_folder(struct server *server)
{
    static const char *const names[] = {"socket", "proxy.yml", "proxy.log", "proxy.pid"};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && server->folder[0] != '\0'; i++) {
        char path[sizeof server->folder + 16];
        (void)snprintf(path, sizeof path, "%s/%s", server->folder, names[i]);
        (void)unlink(path);
    }
    if (server->folder[0] != '\0')
        (void)rmdir(server->folder);
    server->folder[0] = '\0';
}

void server_kill(struct server *server)
{
    if (server->pid > 0) {
        (void)kill(server->pid, SIGKILL);
        (void)waitpid(server->pid, NULL, 0);
    }
    server->pid = 0;
}

void server_stop(struct server *server)
{
    server_kill(server);
    if (server->keeper > 0)
        (void)close(server->keeper);
    server->keeper = 0;
    remove_folder(server);
}

bool server_restart(struct server *server)
{
    server_kill(server);
    return server->run != NULL && server->run(server);
}

bool server_pause(const struct server *server)
{
    siginfo_t halted = {0};
    return server->pid > 0 && kill(server->pid, SIGSTOP) == 0 &&
           waitid(P_PID, (id_t)server->pid, &halted, WSTOPPED | WEXITED | WNOWAIT) == 0 &&
           halted.si_code == CLD_STOPPED;
}

bool server_resume(const struct server *server)
{
    return server->pid > 0 && kill(server->pid, SIGCONT) == 0;
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

/* In the new process: become the program, to die with the process that wanted it. */
static void become(char *const *arguments, pid_t parent)
{
    char path[256];
    int nothing = open("/dev/null", O_RDWR);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || nothing < 0)
        return;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (dup2(nothing, fd) < 0)
            return;
    (void)execvp(arguments[0], arguments);
    (void)snprintf(path, sizeof path, "/usr/sbin/%s", arguments[0]);
    (void)execv(path, arguments);
}

bool server_start(struct server *server, char *const *arguments)
{
    pid_t parent = getpid();
    server->pid = fork();
    if (server->pid < 0) {
        server->pid = 0;
        return false;
    }
    if (server->pid == 0) {
        become(arguments, parent);
        _exit(127);
    }
    if (wait_until_up(server))
        return true;
    server_kill(server);
    return false;
}

static bool run_memcached(struct server *server)
{
    char port[8];
    char threads[8];
    (void)snprintf(port, sizeof port, "%u", (unsigned)server->port);
    (void)snprintf(threads, sizeof threads, "%u",
                   (unsigned)(server->threads > 0 ? server->threads : 4));
    /* -u counts only for root, whom memcached does not run as unless told */
    char *arguments[ARGUMENTS_MAX + 1] = {"",   "-u",  "root", "-U",   "0",
                                          "-m", "256", "-t",   threads};
    char *const tcp[] = {"-l", "127.0.0.1", "-p", port, NULL};
    char *const local[] = {"-s", server->path, NULL};
    char program[PROGRAM_MAX] = "memcached";
    if (server->program != NULL)
        (void)snprintf(program, sizeof program, "%s", server->program);
    arguments[0] = program;
    size_t count = 0;
    while (arguments[count] != NULL)
        count++;
    for (char *const *at = server->port != 0 ? tcp : local; *at != NULL; at++)
        arguments[count++] = *at;
    for (char *const *at = server->options; at != NULL && *at != NULL; at++) {
        if (count == ARGUMENTS_MAX)
            return false;
        arguments[count++] = *at;
    }
    return server_start(server, arguments);
}

/* Keep what running it needs only if it runs. */
static bool start_as(struct server *server, bool (*run)(struct server *server))
{
    server->run = run;
    if (run(server))
        return true;
    server_stop(server);
    return false;
}

bool server_start_memcached(struct server *server)
{
    bool local = server->port == 0 && server->path[0] != '\0';
    return (local || keep_port(server)) && start_as(server, run_memcached);
}

bool server_start_memcached_unix(struct server *server)
{
    if (!make_folder(server))
        return false;
    (void)snprintf(server->path, sizeof server->path, "%s/socket", server->folder);
    return start_as(server, run_memcached);
}

static bool write_proxy_file(const struct server *proxy, const struct server *servers,
                             size_t count)
{
    char path[sizeof proxy->folder + 16];
    (void)snprintf(path, sizeof path, "%s/proxy.yml", proxy->folder);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return false;
    (void)fprintf(file,
                  "test:\n  listen: 127.0.0.1:%u\n  hash: md5\n  distribution: ketama\n"
                  "  auto_eject_hosts: false\n  timeout: %u\n  servers:\n",
                  (unsigned)proxy->port,
                  (unsigned)(proxy->timeout_ms > 0 ? proxy->timeout_ms : 10000));
    /* A socket needs its name: libmemcached hashes it with port 0. */
    for (size_t i = 0; i < count; i++)
        if (servers[i].port != 0)
            (void)fprintf(file, "   - 127.0.0.1:%u:1\n", (unsigned)servers[i].port);
        else
            (void)fprintf(file, "   - %s:1 %s:0\n", servers[i].path, servers[i].path);
    return fclose(file) == 0;
}

static bool run_nutcracker(struct server *proxy)
{
    char file[sizeof proxy->folder + 16];
    char log[sizeof proxy->folder + 16];
    char pid[sizeof proxy->folder + 16];
    char port[8];
    uint16_t stats_port = 0;
    int keeper = bind_port(&stats_port);
    (void)snprintf(file, sizeof file, "%s/proxy.yml", proxy->folder);
    (void)snprintf(log, sizeof log, "%s/proxy.log", proxy->folder);
    (void)snprintf(pid, sizeof pid, "%s/proxy.pid", proxy->folder);
    (void)snprintf(port, sizeof port, "%u", (unsigned)stats_port);
    char *const arguments[] = {"nutcracker", "-c", file, "-o", log,         "-p",
                               pid,          "-s", port, "-a", "127.0.0.1", NULL};
    bool up = keeper >= 0 && server_start(proxy, arguments);
    if (keeper >= 0)
        (void)close(keeper);
    return up;
}

bool server_start_nutcracker(struct server *proxy, const struct server *servers, size_t count)
{
    if (make_folder(proxy) && keep_port(proxy) && write_proxy_file(proxy, servers, count))
        return start_as(proxy, run_nutcracker);
    server_stop(proxy);
    return false;
}
