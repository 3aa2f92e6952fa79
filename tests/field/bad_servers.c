/* Every verb of every structure on a bad server: gone, silent, stopped, full, or of another
 * kind. Each call ends and names the server and the trouble. Handles that worked before report
 * the same as new ones. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bad_servers.h"
#include "support/server.h"

#define TRIES_ON_A_LOADED_MACHINE 5
#define KEPT_MAX 1024
#define SHARES 8
#define CROWD_MAX 200

/* A server at the address of memcached. It sends its text to each client, and hangs up; without a
 * text it takes connections and says nothing. */
struct impostor {
    const char *text;
    size_t length;
    int listener;
    int wake[2];
    int kept[KEPT_MAX];
    int kept_count;
    pthread_t thread;
};

static void take_one(struct impostor *impostor)
{
    int fd = accept(impostor->listener, NULL, NULL);
    if (fd >= 0 && impostor->kept_count < KEPT_MAX)
        impostor->kept[impostor->kept_count++] = fd;
    else if (fd >= 0)
        (void)close(fd);
}

static void answer_one(struct impostor *impostor, int which)
{
    char heard[4096];
    int fd = impostor->kept[which];
    if (recv(fd, heard, sizeof heard, MSG_DONTWAIT) > 0)
        (void)send(fd, impostor->text, impostor->length, MSG_NOSIGNAL);
    (void)close(fd);
    impostor->kept[which] = impostor->kept[--impostor->kept_count];
}

/* A connection that says nothing keeps no other from its answer. */
static void *impersonate(void *argument)
{
    struct impostor *impostor = argument;
    for (;;) {
        struct pollfd polled[2 + KEPT_MAX] = {{impostor->listener, POLLIN, 0},
                                              {impostor->wake[0], POLLIN, 0}};
        int count = impostor->text != NULL ? impostor->kept_count : 0;
        for (int i = 0; i < count; i++)
            polled[2 + i] = (struct pollfd){impostor->kept[i], POLLIN, 0};
        if (poll(polled, 2 + (nfds_t)count, -1) <= 0)
            continue;
        if (polled[1].revents != 0)
            return NULL;
        for (int i = count - 1; i >= 0; i--) /* the last takes the place of one that goes */
            if (polled[2 + i].revents != 0)
                answer_one(impostor, i);
        if (polled[0].revents != 0)
            take_one(impostor);
    }
}

static void impostor_start(struct impostor *impostor, uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int yes = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    impostor->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    OK(setsockopt(impostor->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes));
    OK(bind(impostor->listener, (struct sockaddr *)&address, sizeof address));
    OK(listen(impostor->listener, 64));
    OK(pipe(impostor->wake));
    OK(pthread_create(&impostor->thread, NULL, impersonate, impostor));
}

static void impostor_stop(struct impostor *impostor)
{
    assert_int_equal(write(impostor->wake[1], "", 1), 1);
    (void)pthread_join(impostor->thread, NULL);
    while (impostor->kept_count > 0)
        (void)close(impostor->kept[--impostor->kept_count]);
    (void)close(impostor->listener);
    (void)close(impostor->wake[0]);
    (void)close(impostor->wake[1]);
}

/* What a verb may answer. */
struct expected {
    const char *kind;
    int results[3];
    const char *words[3]; /* one of them is in the sentence */
};

/* A call that waits for two operations, one after the other, takes twice the timeout. */
#define TIMEOUTS_MOST 1.3

static bool is_as_expected(const struct expected *expected, int result, const char *peer)
{
    bool fits = false;
    bool said = false;
    const char *sentence = mcds_errmsg();
    for (int i = 0; i < 3; i++)
        fits = fits || (expected->results[i] != 0 && result == expected->results[i]);
    for (int i = 0; i < 3; i++)
        said = said ||
               (expected->words[i] != NULL && strstr(sentence, expected->words[i]) != NULL);
    return fits && said && strstr(sentence, peer) != NULL;
}

/* The verbs that one thread tries: every SHARES-th. */
struct share {
    pthread_t thread;
    struct handles *on;
    const struct expected *expected;
    const char *peer;
    bool is_warm;
    uint32_t timeout_ms; /* no call may take much longer; 0: not measured */
    size_t first;
    int wrong;
};

static int64_t clock_ns(void)
{
    const mcds_env *env = mcds_env_system();
    return env->monotonic_ns(env->self);
}

static bool is_fine(const struct share *share, size_t i)
{
    const uint32_t timeout_ms = share->timeout_ms;
    int64_t begun_ns = clock_ns();
    int result = verbs[i].call(share->on);
    double took_ms = (double)(clock_ns() - begun_ns) / 1e6;
    if (timeout_ms > 0 && took_ms > TIMEOUTS_MOST * timeout_ms) {
        print_message("%s took %.0f ms\n", verbs[i].name, took_ms);
        return false;
    }
    return is_as_expected(share->expected, result, share->peer) ||
           (result >= 0 && verbs[i].needs_no_server);
}

static void *judge_share(void *argument)
{
    struct share *share = argument;
    for (size_t i = share->first; i < verb_count; i += SHARES) {
        bool fine = false;
        if (!share->is_warm && verbs[i].needs_lease)
            continue;
        for (int tries = 0; tries < TRIES_ON_A_LOADED_MACHINE && !fine; tries++)
            fine = is_fine(share, i);
        if (!fine)
            print_error("%s server, %s handle: %s: %s\n", share->expected->kind,
                        share->is_warm ? "used" : "new", verbs[i].name, mcds_errmsg());
        share->wrong += !fine;
    }
    return NULL;
}

struct world {
    struct server server;
    struct handles warm;
    struct handles cold;
    char peer[64];
    uint32_t timeout_ms; /* to be kept by each call; or 0 */
    struct share shares[2 * SHARES];
};

static void world_open(struct world *world, const char *options)
{
    char uri[128];
    if (!server_start_memcached(&world->server)) {
        print_message("skipped: memcached does not start\n");
        skip();
    }
    (void)snprintf(world->peer, sizeof world->peer, "127.0.0.1:%u",
                   (unsigned)world->server.port);
    (void)snprintf(uri, sizeof uri, "memcached://%s?%s", world->peer, options);
    open_all(&world->warm, uri, "warm");
    open_all(&world->cold, uri, "cold");
    for (int tries = 1; mcds_lock_break(world->warm.lock) < 0; tries++)
        assert_true(tries < 100); /* on a loaded machine the short timeouts are over soon */
    use_all(&world->warm);
}

/* Most of the time of a verb is spent waiting: threads wait at once. */
static void world_begin_judging(struct world *world, const struct expected *expected)
{
    for (size_t i = 0; i < 2 * SHARES; i++) {
        bool is_warm = i < SHARES;
        world->shares[i] = (struct share){.on = is_warm ? &world->warm : &world->cold,
                                          .expected = expected,
                                          .peer = world->peer,
                                          .is_warm = is_warm,
                                          .timeout_ms = world->timeout_ms,
                                          .first = i % SHARES};
        OK(pthread_create(&world->shares[i].thread, NULL, judge_share, &world->shares[i]));
    }
}

static void world_end_judging(struct world *world)
{
    int wrong = 0;
    for (size_t i = 0; i < 2 * SHARES; i++) {
        (void)pthread_join(world->shares[i].thread, NULL);
        wrong += world->shares[i].wrong;
    }
    close_all(&world->warm);
    close_all(&world->cold);
    server_stop(&world->server);
    assert_int_equal(wrong, 0);
}

static void world_judge(struct world *world, const struct expected *expected)
{
    world_begin_judging(world, expected);
    world_end_judging(world);
}

static void a_server_that_is_gone(void **state)
{
    static const struct expected expected = {
        "dead", {MCDS_UNAVAILABLE}, {"connection refused: no server listens there"}};
    struct world world = {0};
    (void)state;
    world_open(&world, "timeout=150&connect_timeout=5000");
    server_kill(&world.server);
    world_judge(&world, &expected);
}

static void a_server_that_is_halted(void **state)
{
    static const struct expected expected = {
        "halted",
        {MCDS_UNAVAILABLE, MCDS_TIMEOUT, MCDS_AMBIGUOUS},
        {"no answer before the deadline",
         "it does not answer: it is stopped or overloaded, or is not memcached"}};
    struct world world = {.timeout_ms = 600};
    (void)state;
    world_open(&world, "timeout=600&connect_timeout=60");
    assert_true(server_pause(&world.server));
    world_judge(&world, &expected);
}

/* Others have taken all connections that the server allows. */
struct crowd {
    int fds[CROWD_MAX];
    int count;
};

/* Connect until the server refuses; where `says_so` it answers why, else it accepts none. */
static void crowd_come(struct crowd *crowd, const struct server *server, bool says_so)
{
    bool is_full = false;
    while (!is_full && crowd->count < CROWD_MAX) {
        char answer[64] = "";
        int fd = server_connect(server);
        struct pollfd polled = {fd, POLLIN, 0};
        crowd->fds[crowd->count++] = fd;
        assert_true(fd >= 0);
        assert_int_equal(send(fd, "version\r\n", 9, MSG_NOSIGNAL), 9);
        is_full = poll(&polled, 1, says_so ? 30000 : 1000) == 0 ||
                  recv(fd, answer, sizeof answer - 1, 0) <= 0 || answer[0] == 'E';
    }
    assert_true(is_full);
}

static void crowd_leave(struct crowd *crowd)
{
    while (crowd->count > 0)
        (void)close(crowd->fds[--crowd->count]);
}

/* The handles had connections, which a restart has ended. */
static void let_others_come(char *const *options, bool says_so, const char *timeouts,
                            const struct expected *expected)
{
    struct world world = {.server = {.options = options, .threads = 1}};
    struct crowd crowd = {.count = 0};
    world_open(&world, timeouts);
    server_kill(&world.server);
    assert_true(server_restart(&world.server));
    crowd_come(&crowd, &world.server, says_so);
    world_judge(&world, expected);
    crowd_leave(&crowd);
}

static void a_server_that_refuses_more_connections(void **state)
{
    static const struct expected expected = {
        "crowded", {MCDS_UNAVAILABLE}, {"the server has reached its limit of connections"}};
    static char limit[] = "-c";
    static char connections[] = "40";
    static char *const options[] = {limit, connections, NULL};
    (void)state;
    let_others_come(options, true, "timeout=1000&connect_timeout=5000", &expected);
}

/* To a command as text it says nothing, and hangs up where that is as long as a binary header. */
static void a_server_of_the_binary_protocol(void **state)
{
    static const struct expected expected = {
        "binary", {MCDS_UNAVAILABLE, MCDS_TIMEOUT}, {"memcached with -B binary"}};
    static char protocol[] = "-B";
    static char binary[] = "binary";
    static char *const options[] = {protocol, binary, NULL};
    struct world world = {0};
    (void)state;
    world_open(&world, "timeout=400&connect_timeout=200");
    server_kill(&world.server);
    world.server.options = options;
    assert_true(server_restart(&world.server));
    world_judge(&world, &expected);
}

/* It stops listening (its option -o no_maxconns_fast), so the rest waits in the system's queue. */
static void a_server_that_accepts_no_more_connections(void **state)
{
    static const struct expected expected = {
        "crowded and silent",
        {MCDS_UNAVAILABLE, MCDS_TIMEOUT},
        {"it does not answer: it is stopped or overloaded, or is not memcached",
         "the host does not answer", "no answer before the deadline"}};
    static char limit[] = "-c";
    static char connections[] = "40";
    static char option[] = "-o";
    static char slow[] = "no_maxconns_fast";
    static char *const options[] = {limit, connections, option, slow, NULL};
    (void)state;
    let_others_come(options, false, "timeout=100&connect_timeout=60", &expected);
}

static void impostor_open(struct world *world, struct impostor *impostor, const char *options)
{
    world_open(world, options);
    server_kill(&world->server);
    impostor_start(impostor, world->server.port);
}

static void a_server_that_is_silent(void **state)
{
    static const struct expected expected = {
        "silent",
        {MCDS_UNAVAILABLE, MCDS_TIMEOUT},
        {"connected, but it does not answer: it is stopped or overloaded, or is not memcached",
         "no answer before the deadline"}};
    struct world world = {.timeout_ms = 600};
    struct impostor impostor = {0};
    (void)state;
    impostor_open(&world, &impostor, "timeout=600&connect_timeout=60");
    world_judge(&world, &expected);
    impostor_stop(&impostor);
}

static void a_server_of_another_kind(void **state)
{
    static const char noise[] = "\x01\x80\xff\x00\n\xfe\r\n\x15";
    static const char alert[] = "\x15\x03\x03\x00\x02\x02\x46";
    static const struct {
        struct expected expected;
        const char *text;
        size_t length;
    } kinds[] = {
        {{"HTTP", {MCDS_PROTOCOL}, {"HTTP"}},
         "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n<html>\n",
         0},
        {{"Redis", {MCDS_PROTOCOL}, {"Redis"}},
         "-ERR unknown command 'mg', with args beginning with: 'mcds-probe'\r\n",
         0},
        {{"Redis with a password", {MCDS_PROTOCOL}, {"Redis"}},
         "-NOAUTH Authentication required.\r\n",
         0},
        {{"SSH", {MCDS_PROTOCOL}, {"SSH"}}, "SSH-2.0-OpenSSH_9.2\r\n", 0},
        {{"TLS", {MCDS_PROTOCOL}, {"TLS"}}, alert, sizeof alert - 1},
        {{"noise", {MCDS_PROTOCOL}, {"does not speak memcached's protocol"}},
         noise,
         sizeof noise - 1},
    };
    static struct world worlds[sizeof kinds / sizeof kinds[0]];
    static struct impostor impostors[sizeof kinds / sizeof kinds[0]];
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        impostors[i].text = kinds[i].text;
        impostors[i].length = kinds[i].length > 0 ? kinds[i].length : strlen(kinds[i].text);
        impostor_open(&worlds[i], &impostors[i], "timeout=10000&connect_timeout=10000");
        world_begin_judging(&worlds[i], &kinds[i].expected);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        world_end_judging(&worlds[i]);
        impostor_stop(&impostors[i]);
    }
}

struct waiting_call {
    int (*call)(struct handles *on);
    struct handles *on;
    int result;
    char sentence[512];
};

static void *wait_for_call(void *argument)
{
    struct waiting_call *waiting = argument;
    waiting->result = waiting->call(waiting->on);
    (void)snprintf(waiting->sentence, sizeof waiting->sentence, "%s", mcds_errmsg());
    return NULL;
}

/* Five tries in a few milliseconds would be over long before. The server comes back empty: what is
 * read has not been written by this handle, else it would be LOST. */
static void a_server_that_comes_back_in_time_costs_nothing_else(void **state)
{
    static const char *const calls[] = {
        "counter_get",  "online_get",  "counter_add", "striped_add", "lock_try_acquire",
        "visitors_hit", "members_hit", "online_beat", "set_add",     "table_put",
        "views_hit",    "array_set",   "list_push",   "log_put",
    };
    struct world world = {0};
    (void)state;
    world_open(&world, "timeout=60000&connect_timeout=60000");
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct waiting_call waiting = {.call = verb_of(calls[i])->call, .on = &world.cold};
        pthread_t thread;
        server_kill(&world.server);
        OK(pthread_create(&thread, NULL, wait_for_call, &waiting));
        (void)usleep(100000);
        assert_true(server_restart(&world.server));
        (void)pthread_join(thread, NULL);
        if (waiting.result < 0)
            fail_msg("%s: %s", calls[i], waiting.sentence);
    }
    close_all(&world.warm);
    close_all(&world.cold);
    server_stop(&world.server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_is_gone),
        cmocka_unit_test(a_server_that_is_halted),
        cmocka_unit_test(a_server_that_is_silent),
        cmocka_unit_test(a_server_of_another_kind),
        cmocka_unit_test(a_server_of_the_binary_protocol),
        cmocka_unit_test(a_server_that_refuses_more_connections),
        cmocka_unit_test(a_server_that_accepts_no_more_connections),
        cmocka_unit_test(a_server_that_comes_back_in_time_costs_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
