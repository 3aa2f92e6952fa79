/* The servers that tests start: they start, restart and leave nothing. */
#include "support/server.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define ANSWER_MAX 256
#define PATIENCE_MS 10000
#define SOON_MS 100

static void need(const char *program)
{
    if (server_is_installed(program))
        return;
    print_message("skipped: %s is not installed\n", program);
    skip();
}

/* Send a line on a connection; what comes back within `wait_ms`, or "" for nothing. */
static void say(int fd, const char *line, int wait_ms, char answer[ANSWER_MAX])
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    ssize_t length = 0;
    assert_int_equal(write(fd, line, strlen(line)), (int)strlen(line));
    if (poll(&ready, 1, wait_ms) == 1)
        length = read(fd, answer, ANSWER_MAX - 1);
    assert_true(length >= 0);
    answer[length] = '\0';
}

static void ask(const struct server *server, const char *line, char answer[ANSWER_MAX])
{
    int fd = server_connect(server);
    assert_true(fd >= 0);
    say(fd, line, PATIENCE_MS, answer);
    (void)close(fd);
}

static void assert_is_memcached(const struct server *server)
{
    char answer[ANSWER_MAX];
    ask(server, "version\r\n", answer);
    assert_memory_equal(answer, "VERSION ", 8);
}

static void assert_is_gone(pid_t pid)
{
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
}

static void memcached_on_a_port_starts_and_stops(void **state)
{
    (void)state;
    need("memcached");
    struct server server = {0};
    assert_true(server_start_memcached(&server));
    pid_t pid = server.pid;
    assert_true(pid > 0);
    assert_true(server.port > 0);
    assert_is_memcached(&server);
    server_stop(&server);
    assert_is_gone(pid);
    assert_int_equal(server_connect(&server), -1);
}

static void memcached_on_a_socket_leaves_no_file(void **state)
{
    (void)state;
    need("memcached");
    struct server server = {0};
    assert_true(server_start_memcached_unix(&server));
    pid_t pid = server.pid;
    char folder[sizeof server.folder];
    memcpy(folder, server.folder, sizeof folder);
    assert_int_equal(server.port, 0);
    assert_int_equal(access(folder, F_OK), 0);
    assert_is_memcached(&server);
    server_stop(&server);
    assert_is_gone(pid);
    assert_int_equal(access(folder, F_OK), -1);
}

static void memcached_takes_options(void **state)
{
    (void)state;
    need("memcached");
    char *const options[] = {"-I", "2m", "-M", NULL};
    struct server server = {.options = options};
    assert_true(server_start_memcached(&server));
    int fd = server_connect(&server);
    char answers[8192] = "";
    size_t length = 0;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "stats settings\r\n", 16), 16);
    while (strstr(answers, "END\r\n") == NULL) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
        ssize_t more = read(fd, answers + length, sizeof answers - 1 - length);
        assert_true(more > 0);
        length += (size_t)more;
        answers[length] = '\0';
    }
    (void)close(fd);
    assert_non_null(strstr(answers, "STAT item_size_max 2097152\r\n"));
    assert_non_null(strstr(answers, "STAT evictions off\r\n"));
    server_stop(&server);
}

static void assert_restarts_empty(struct server *server)
{
    char answer[ANSWER_MAX];
    struct server before = *server;
    ask(server, "set x 0 0 1\r\n1\r\n", answer);
    assert_string_equal(answer, "STORED\r\n");
    server_kill(server);
    assert_is_gone(before.pid);
    assert_int_equal(server_connect(server), -1);
    assert_true(server_restart(server));
    assert_int_not_equal(server->pid, before.pid);
    assert_int_equal(server->port, before.port);
    assert_string_equal(server->path, before.path);
    ask(server, "get x\r\n", answer);
    assert_string_equal(answer, "END\r\n");
    assert_true(server_restart(server));
    assert_is_memcached(server);
    server_stop(server);
}

static void a_restarted_server_is_where_it_was_and_empty(void **state)
{
    (void)state;
    need("memcached");
    struct server tcp = {0};
    struct server local = {0};
    assert_true(server_start_memcached(&tcp));
    assert_restarts_empty(&tcp);
    assert_true(server_start_memcached_unix(&local));
    assert_restarts_empty(&local);
}

static bool can_bind(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    bool bound = bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
    (void)close(fd);
    return bound;
}

static void nobody_else_gets_the_port_of_a_server_that_is_down(void **state)
{
    (void)state;
    need("memcached");
    struct server server = {0};
    assert_true(server_start_memcached(&server));
    server_kill(&server);
    assert_false(can_bind(server.port));
    assert_true(server_restart(&server));
    assert_is_memcached(&server);
    server_stop(&server);
    assert_true(can_bind(server.port));
}

static void a_paused_server_answers_when_resumed(void **state)
{
    (void)state;
    need("memcached");
    struct server server = {0};
    char answer[ANSWER_MAX];
    assert_true(server_start_memcached(&server));
    int fd = server_connect(&server);
    assert_true(fd >= 0);
    assert_true(server_pause(&server));
    say(fd, "version\r\n", SOON_MS, answer);
    assert_string_equal(answer, "");
    assert_true(server_resume(&server));
    say(fd, "", PATIENCE_MS, answer);
    assert_memory_equal(answer, "VERSION ", 8);
    (void)close(fd);
    assert_true(server_pause(&server));
    pid_t pid = server.pid;
    server_stop(&server);
    assert_is_gone(pid);
}

static void nutcracker_stands_in_front_of_servers(void **state)
{
    (void)state;
    need("memcached");
    need("nutcracker");
    struct server servers[2] = {{0}};
    struct server proxy = {0};
    char answer[ANSWER_MAX];
    assert_true(server_start_memcached(&servers[0]));
    assert_true(server_start_memcached_unix(&servers[1]));
    assert_true(server_start_nutcracker(&proxy, servers, 2));
    pid_t pid = proxy.pid;
    ask(&proxy, "get x\r\n", answer);
    assert_string_equal(answer, "END\r\n");
    assert_true(server_restart(&proxy));
    assert_is_gone(pid);
    pid = proxy.pid;
    ask(&proxy, "get x\r\n", answer);
    assert_string_equal(answer, "END\r\n");
    server_stop(&proxy);
    assert_is_gone(pid);
    assert_int_equal(proxy.folder[0], '\0');
    server_stop(&servers[0]);
    server_stop(&servers[1]);
}

static void what_is_not_installed_does_not_start(void **state)
{
    (void)state;
    char *const arguments[] = {"mcds-no-such-program", NULL};
    struct server server = {.port = server_free_port()};
    assert_false(server_is_installed(arguments[0]));
    assert_true(server_is_installed("sh"));
    assert_false(server_start(&server, arguments));
    assert_int_equal(server.pid, 0);
    server_stop(&server);
    assert_false(server_restart(&server));
}

static void what_does_not_start_leaves_nothing(void **state)
{
    (void)state;
    need("memcached");
    char *const options[] = {"--no-such-option", NULL};
    struct server server = {.options = options};
    assert_false(server_start_memcached(&server));
    assert_int_equal(server.pid, 0);
    assert_int_equal(server.keeper, 0);
    assert_false(server_start_memcached_unix(&server));
    assert_int_equal(server.folder[0], '\0');
}

/* The process that dies is a child of this one, which then inherits the server. */
static void a_server_dies_with_the_process_that_started_it(void **state)
{
    (void)state;
    need("memcached");
    int ends[2];
    pid_t pid = 0;
    int status = 0;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(pipe(ends), 0);
    pid_t starter = fork();
    assert_true(starter >= 0);
    if (starter == 0) {
        struct server server = {0};
        bool told = server_start_memcached(&server) &&
                    write(ends[1], &server.pid, sizeof server.pid) == sizeof server.pid;
        (void)kill(getpid(), told ? SIGKILL : SIGTERM);
        _exit(EXIT_FAILURE);
    }
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &pid, sizeof pid), sizeof pid);
    (void)close(ends[0]);
    assert_int_equal(waitpid(starter, &status, 0), starter);
    pid_t ended = 0;
    for (int round = 0; round < PATIENCE_MS / 10 && ended == 0; round++) {
        struct timespec pause = {0, 10000000};
        ended = waitpid(pid, &status, WNOHANG);
        if (ended == 0)
            (void)nanosleep(&pause, NULL);
    }
    if (ended == 0)
        (void)kill(pid, SIGKILL);
    assert_int_equal(ended, pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memcached_on_a_port_starts_and_stops),
        cmocka_unit_test(memcached_on_a_socket_leaves_no_file),
        cmocka_unit_test(memcached_takes_options),
        cmocka_unit_test(a_restarted_server_is_where_it_was_and_empty),
        cmocka_unit_test(nobody_else_gets_the_port_of_a_server_that_is_down),
        cmocka_unit_test(a_paused_server_answers_when_resumed),
        cmocka_unit_test(nutcracker_stands_in_front_of_servers),
        cmocka_unit_test(what_is_not_installed_does_not_start),
        cmocka_unit_test(what_does_not_start_leaves_nothing),
        cmocka_unit_test(a_server_dies_with_the_process_that_started_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
