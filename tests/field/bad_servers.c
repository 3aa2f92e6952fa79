/* Every verb of every structure on a bad server: gone, silent, stopped, full, or of another
 * kind. Each call ends and names the server and the trouble. Handles that worked before report
 * the same as new ones. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mcds.h"
#include "support/server.h"

#define TRIES_ON_A_LOADED_MACHINE 5
#define FILL_MAX 100000
#define KEPT_MAX 1024
#define SHARES 8

/* Handles of all structures, and what their verbs need. */
struct handles {
    mcds_store *store;
    mcds_counter *counter;
    mcds_counter *is_signed;
    mcds_counter *striped;
    mcds_counter *exact;
    mcds_lock *lock;
    mcds_lock *other_lock;
    mcds_lease lease;
    mcds_visitors *visitors;
    mcds_visitors *members;
    mcds_visitors *estimated;
    mcds_online *online;
    mcds_online *online_members;
    mcds_set *set;
    mcds_set *bag;
    mcds_set *ordered;
    mcds_table *table;
    mcds_views *views;
    mcds_array *array;
    mcds_list *list;
    mcds_log *log;
    mcds_log_cursor cursor;
};

static const mcds_bytes word = {"word", 4};
static const mcds_bytes number = {"number", 6};

static bool see_element(void *context, mcds_bytes element, uint64_t count)
{
    (void)context, (void)element, (void)count;
    return true;
}

static bool see_entry(void *context, mcds_bytes key, mcds_bytes value)
{
    (void)context, (void)key, (void)value;
    return true;
}

static bool see_bytes(void *context, mcds_bytes value)
{
    (void)context, (void)value;
    return true;
}

static bool see_event(void *context, const mcds_log_event *event)
{
    (void)context, (void)event;
    return true;
}

static bool see_listed(void *context, const mcds_listed *listed)
{
    (void)context, (void)listed;
    return true;
}

static int load_views(void *context, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    (void)context, (void)page, (void)upto_slot;
    *views_out = 0;
    return MCDS_OK;
}

static int save_views(void *context, const char *page, uint64_t slot, int64_t views)
{
    (void)context, (void)page, (void)slot, (void)views;
    return MCDS_OK;
}

#define VERB(name, call)                                                                       \
    static int name(struct handles *on)                                                        \
    {                                                                                          \
        return call;                                                                           \
    }

static _Thread_local mcds_counter_value counted;
static _Thread_local int64_t taken;
static _Thread_local mcds_lock_holder holder;
static _Thread_local mcds_visitors_value visited;
static _Thread_local mcds_online_value active;
static _Thread_local bool changed;

VERB(counter_add, mcds_counter_add(on->counter, 1, &taken))
VERB(counter_get, mcds_counter_get(on->counter, &counted))
VERB(counter_take, mcds_counter_take(on->counter, &taken))
VERB(counter_drop, mcds_counter_drop(on->counter))
VERB(signed_subtract, mcds_counter_add(on->is_signed, -1, &taken))
VERB(signed_get, mcds_counter_get(on->is_signed, &counted))
VERB(striped_add, mcds_counter_add(on->striped, 1, NULL))
VERB(striped_get, mcds_counter_get(on->striped, &counted))
VERB(striped_take, mcds_counter_take(on->striped, &taken))
VERB(striped_drop, mcds_counter_drop(on->striped))
VERB(exact_add, mcds_counter_add(on->exact, 1, NULL))
VERB(exact_get, mcds_counter_get(on->exact, &counted))
VERB(lock_get_holder, mcds_lock_get_holder(on->lock, &holder))
VERB(lock_break, mcds_lock_break(on->lock))
VERB(lock_drop, mcds_lock_drop(on->lock))
VERB(lock_renew, mcds_lock_renew(on->other_lock, &on->lease))
VERB(lock_release, mcds_lock_release(on->other_lock, &on->lease))
VERB(visitors_hit, mcds_visitors_hit(on->visitors, "ann", 0))
VERB(visitors_hit_nobody, mcds_visitors_hit(on->visitors, NULL, 0))
VERB(visitors_get, mcds_visitors_get(on->visitors, 0, &visited))
VERB(visitors_drop, mcds_visitors_drop(on->visitors, 0))
VERB(members_hit, mcds_visitors_hit(on->members, "ann", 0))
VERB(members_get, mcds_visitors_get(on->members, 0, &visited))
VERB(members_drop, mcds_visitors_drop(on->members, 0))
VERB(estimated_hit, mcds_visitors_hit(on->estimated, "ann", 0))
VERB(estimated_get, mcds_visitors_get(on->estimated, 0, &visited))
VERB(online_beat, mcds_online_beat(on->online, "ann", 0))
VERB(online_get, mcds_online_get(on->online, 0, &active))
VERB(online_drop, mcds_online_drop(on->online, 0))
VERB(online_members_beat, mcds_online_beat(on->online_members, "ann", 0))
VERB(online_members_get, mcds_online_get(on->online_members, 0, &active))
VERB(set_add, mcds_set_add(on->set, word, &changed))
VERB(set_add_blindly, mcds_set_add(on->set, word, NULL))
VERB(set_has, mcds_set_has(on->set, word))
VERB(set_remove, mcds_set_remove(on->set, word, &changed))
VERB(set_scan, mcds_set_scan(on->set, see_element, NULL))
VERB(set_drop, mcds_set_drop(on->set))
VERB(bag_add, mcds_set_add(on->bag, word, NULL))
VERB(ordered_add, mcds_set_add(on->ordered, word, NULL))
VERB(ordered_fetch, mcds_set_scan(on->ordered, see_element, NULL))
VERB(table_put, mcds_table_put(on->table, word, word, 0))
VERB(table_put_if_absent, mcds_table_put_if_absent(on->table, word, word, 0))
VERB(table_compare_and_set, mcds_table_compare_and_set(on->table, word, word, word, 0))
VERB(table_has, mcds_table_has(on->table, word))
VERB(table_remove, mcds_table_remove(on->table, word, &changed))
VERB(table_incr, mcds_table_incr(on->table, number, 1, &taken))
VERB(table_drop, mcds_table_drop(on->table))
VERB(views_hit, mcds_views_hit(on->views, "page", 1))
VERB(views_get, mcds_views_get(on->views, "page", &taken))
VERB(views_flush, mcds_views_flush(on->views))
VERB(array_scan, mcds_array_scan(on->array, see_bytes, NULL))
VERB(array_set, mcds_array_set(on->array, &word, 1))
VERB(array_change, mcds_array_change(on->array, &word, 1, &word, 1))
VERB(array_drop, mcds_array_drop(on->array))
VERB(list_push, mcds_list_push(on->list, word))
VERB(list_scan, mcds_list_scan(on->list, 0, 0, see_bytes, NULL))
VERB(list_clear, mcds_list_clear(on->list))
VERB(list_drop, mcds_list_drop(on->list))
VERB(log_put, mcds_log_put(on->log, 0, word))
VERB(log_tail, mcds_log_tail(on->log, &on->cursor, see_event, NULL, NULL))
VERB(log_drop, mcds_log_drop(on->log))
VERB(catalogue, mcds_scan(on->store, see_listed, NULL))

/* Without an add of its own it would have nothing to flush. */
static int exact_flush(struct handles *on)
{
    int result = mcds_counter_add(on->exact, 1, NULL);
    return result < 0 ? result : mcds_counter_flush(on->exact);
}

static int lock_try_acquire(struct handles *on)
{
    mcds_lease lease = MCDS_LEASE_INIT;
    return mcds_lock_try_acquire(on->lock, &lease);
}

static int lock_acquire(struct handles *on)
{
    mcds_lease lease = MCDS_LEASE_INIT;
    return mcds_lock_acquire(on->lock, 10, &lease);
}

static int table_get(struct handles *on)
{
    mcds_value value = MCDS_VALUE_INIT;
    int result = mcds_table_get(on->table, word, &value);
    mcds_value_free(&value);
    return result;
}

static int table_scan(struct handles *on)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    return mcds_table_scan(on->table, &cursor, 0, see_entry, NULL);
}

static int log_scan(struct handles *on)
{
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    return mcds_log_scan(on->log, &range, see_event, NULL, NULL);
}

#define ROW(name)                                                                              \
    {                                                                                          \
#name, name                                                                            \
    }
static const struct {
    const char *name;
    int (*call)(struct handles *on);
} verbs[] = {
    ROW(counter_add),
    ROW(counter_get),
    ROW(counter_take),
    ROW(signed_subtract),
    ROW(signed_get),
    ROW(striped_add),
    ROW(striped_get),
    ROW(striped_take),
    ROW(exact_add),
    ROW(exact_flush),
    ROW(exact_get),
    ROW(lock_renew),
    ROW(lock_release),
    ROW(lock_try_acquire),
    ROW(lock_acquire),
    ROW(lock_get_holder),
    ROW(visitors_hit),
    ROW(visitors_hit_nobody),
    ROW(visitors_get),
    ROW(members_hit),
    ROW(members_get),
    ROW(estimated_hit),
    ROW(estimated_get),
    ROW(online_beat),
    ROW(online_get),
    ROW(online_members_beat),
    ROW(online_members_get),
    ROW(set_add),
    ROW(set_add_blindly),
    ROW(set_has),
    ROW(set_remove),
    ROW(set_scan),
    ROW(bag_add),
    ROW(ordered_add),
    ROW(ordered_fetch),
    ROW(table_put),
    ROW(table_get),
    ROW(table_put_if_absent),
    ROW(table_compare_and_set),
    ROW(table_has),
    ROW(table_remove),
    ROW(table_incr),
    ROW(table_scan),
    ROW(views_hit),
    ROW(views_get),
    ROW(views_flush),
    ROW(array_set),
    ROW(array_scan),
    ROW(array_change),
    ROW(list_push),
    ROW(list_scan),
    ROW(log_put),
    ROW(log_scan),
    ROW(log_tail),
    ROW(catalogue),
    ROW(counter_drop),
    ROW(striped_drop),
    ROW(lock_break),
    ROW(lock_drop),
    ROW(visitors_drop),
    ROW(members_drop),
    ROW(online_drop),
    ROW(set_drop),
    ROW(table_drop),
    ROW(array_drop),
    ROW(list_clear),
    ROW(list_drop),
    ROW(log_drop),
};
#define VERB_COUNT (sizeof verbs / sizeof verbs[0])

#define OK(call) assert_int_equal(MCDS_OK, call)

static void open_counters(struct handles *on, const char *name)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    char other[64];
    OK(mcds_counter_open(on->store, name, NULL, &on->counter));
    options.flags = MCDS_COUNTER_SIGNED;
    (void)snprintf(other, sizeof other, "%s signed", name);
    OK(mcds_counter_open(on->store, other, &options, &on->is_signed));
    options.flags = 0;
    options.stripes = 4;
    (void)snprintf(other, sizeof other, "%s striped", name);
    OK(mcds_counter_open(on->store, other, &options, &on->striped));
    options.flags = MCDS_COUNTER_EXACT;
    options.stripes = 0;
    (void)snprintf(other, sizeof other, "%s exact", name);
    OK(mcds_counter_open(on->store, other, &options, &on->exact));
}

static void open_people(struct handles *on, const char *name)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_online_options of_online = MCDS_ONLINE_OPTIONS_INIT;
    char other[64];
    options.period_ms = 3600000;
    OK(mcds_visitors_open(on->store, name, &options, &on->visitors));
    options.members = of_online.members = MCDS_MEMBERS_EXACT;
    (void)snprintf(other, sizeof other, "%s members", name);
    OK(mcds_visitors_open(on->store, other, &options, &on->members));
    OK(mcds_online_open(on->store, other, &of_online, &on->online_members));
    options.members = MCDS_MEMBERS_ESTIMATED;
    (void)snprintf(other, sizeof other, "%s estimated", name);
    OK(mcds_visitors_open(on->store, other, &options, &on->estimated));
    OK(mcds_online_open(on->store, name, NULL, &on->online));
}

static void open_all(struct handles *on, const char *uri, const char *name)
{
    mcds_set_options options = MCDS_SET_OPTIONS_INIT;
    mcds_views_options of_views = MCDS_VIEWS_OPTIONS_INIT;
    char other[64];
    memset(on, 0, sizeof *on);
    on->lease = (mcds_lease)MCDS_LEASE_INIT;
    on->cursor = (mcds_log_cursor)MCDS_LOG_CURSOR_INIT;
    OK(mcds_open(uri, NULL, &on->store));
    open_counters(on, name);
    open_people(on, name);
    OK(mcds_lock_open(on->store, name, NULL, &on->lock));
    (void)snprintf(other, sizeof other, "%s other", name);
    OK(mcds_lock_open(on->store, other, NULL, &on->other_lock));
    OK(mcds_set_open(on->store, name, NULL, &on->set));
    options.form = MCDS_SET_BAG;
    OK(mcds_set_open(on->store, other, &options, &on->bag));
    options.form = MCDS_SET_LIST;
    (void)snprintf(other, sizeof other, "%s ordered", name);
    OK(mcds_set_open(on->store, other, &options, &on->ordered));
    OK(mcds_table_open(on->store, name, NULL, &on->table));
    of_views.load = load_views;
    of_views.save = save_views;
    OK(mcds_views_open(on->store, name, &of_views, &on->views));
    OK(mcds_array_open(on->store, name, NULL, &on->array));
    OK(mcds_list_open(on->store, name, NULL, &on->list));
    OK(mcds_log_open(on->store, name, NULL, &on->log));
}

static void close_all(struct handles *on)
{
    mcds_counter_close(on->counter);
    mcds_counter_close(on->is_signed);
    mcds_counter_close(on->striped);
    mcds_counter_close(on->exact);
    mcds_lock_close(on->lock);
    mcds_lock_close(on->other_lock);
    mcds_visitors_close(on->visitors);
    mcds_visitors_close(on->members);
    mcds_visitors_close(on->estimated);
    mcds_online_close(on->online);
    mcds_online_close(on->online_members);
    mcds_set_close(on->set);
    mcds_set_close(on->bag);
    mcds_set_close(on->ordered);
    mcds_table_close(on->table);
    mcds_views_close(on->views);
    mcds_array_close(on->array);
    mcds_list_close(on->list);
    mcds_log_close(on->log);
    mcds_close(on->store);
}

/* All verbs once, on a server that works. On a loaded machine short timeouts are over soon. */
static void use_all(struct handles *on)
{
    for (int tries = 1; mcds_lock_try_acquire(on->other_lock, &on->lease) != MCDS_OK; tries++)
        assert_true(tries < 100);
    for (size_t i = 0; i < VERB_COUNT; i++) {
        int result = verbs[i].call == lock_release ? MCDS_OK : verbs[i].call(on);
        for (int tries = 1; result < 0 && tries < 100; tries++)
            result = verbs[i].call(on);
        if (result < 0)
            fail_msg("%s on a server that works: %s", verbs[i].name, mcds_errmsg());
    }
}

/* What listens where memcached did. It says its text to whoever speaks, and hangs up; without a
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

/* Those that keep what they were given for a later flush, or know it to be there already. */
static bool needs_no_server(int (*call)(struct handles *on))
{
    return call == exact_add || call == estimated_hit;
}

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
    size_t first;
    int wrong;
};

static bool is_fine(const struct share *share, size_t i)
{
    int result = verbs[i].call(share->on);
    return is_as_expected(share->expected, result, share->peer) ||
           (result >= 0 && needs_no_server(verbs[i].call));
}

static void *judge_share(void *argument)
{
    struct share *share = argument;
    for (size_t i = share->first; i < VERB_COUNT; i += SHARES) {
        bool fine = false;
        if (!share->is_warm && (verbs[i].call == lock_renew || verbs[i].call == lock_release))
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
        "dead", {MCDS_UNAVAILABLE}, {"connection refused: is the server running there?"}};
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
        {"no answer before the deadline", "nothing there answers as memcached would"}};
    struct world world = {0};
    (void)state;
    world_open(&world, "timeout=100&connect_timeout=60");
    assert_true(server_pause(&world.server));
    world_judge(&world, &expected);
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
        {"connected, but nothing there answers as memcached would",
         "no answer before the deadline"}};
    struct world world = {0};
    struct impostor impostor = {0};
    (void)state;
    impostor_open(&world, &impostor, "timeout=100&connect_timeout=60");
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
    static int (*const calls[])(struct handles * on) = {
        counter_get,  online_get,  counter_add, striped_add, lock_try_acquire,
        visitors_hit, members_hit, online_beat, set_add,     table_put,
        views_hit,    array_set,   list_push,   log_put,
    };
    struct world world = {0};
    (void)state;
    world_open(&world, "timeout=60000&connect_timeout=60000");
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct waiting_call waiting = {.call = calls[i], .on = &world.cold};
        pthread_t thread;
        server_kill(&world.server);
        OK(pthread_create(&thread, NULL, wait_for_call, &waiting));
        (void)usleep(100000);
        assert_true(server_restart(&world.server));
        (void)pthread_join(thread, NULL);
        if (waiting.result < 0)
            fail_msg("call %zu: %s", i, waiting.sentence);
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
        cmocka_unit_test(a_server_that_comes_back_in_time_costs_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
