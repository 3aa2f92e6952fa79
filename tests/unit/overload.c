/* A call that misses its deadline in a store without a server reports that, and neither a lost
 * reply nor a store that cannot be reached. */
#include "support/fake_env.h"
#include "support/lmdb_fixture.h"
#include "support/no_database.h"
#include "support/pass_over.h"

#define READINGS_MAX 60

/* The clock jumps at one of its readings, as where the process had no processor for so long. */
struct overload {
    struct fake_env fake; /* first: the functions of `env` get its address */
    uint32_t readings;
    uint32_t jump_at; /* 0: never */
    int64_t jump_ns;
};

static int64_t jumping_ns(void *self)
{
    struct overload *overload = self;
    if (++overload->readings == overload->jump_at)
        overload->fake.monotonic_ns += overload->jump_ns;
    return overload->fake.monotonic_ns;
}

/* One structure of each kind, new for each call. */
struct handles {
    mcds_store *store;
    mcds_counter *counter;
    mcds_counter *striped;
    mcds_counter *exact;
    mcds_lock *lock;
    mcds_visitors *visitors;
    mcds_online *online;
    mcds_views *views;
    mcds_set *set;
    mcds_table *table;
    mcds_list *list;
    mcds_log *log;
    mcds_array *array;
    mcds_lease lease;
};

static void open_counters(struct handles *all, const char *name)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    char other[32];
    assert_int_equal(mcds_counter_open(all->store, name, NULL, &all->counter), MCDS_OK);
    options.stripes = 3;
    (void)snprintf(other, sizeof other, "%s-striped", name);
    assert_int_equal(mcds_counter_open(all->store, other, &options, &all->striped), MCDS_OK);
    options.stripes = 0;
    options.flags = MCDS_COUNTER_EXACT;
    options.flush_ms = MCDS_COUNTER_FLUSH_EACH;
    (void)snprintf(other, sizeof other, "%s-exact", name);
    assert_int_equal(mcds_counter_open(all->store, other, &options, &all->exact), MCDS_OK);
}

static void open_all(struct handles *all, const char *name)
{
    mcds_visitors_options visitors = MCDS_VISITORS_OPTIONS_INIT;
    mcds_online_options online = MCDS_ONLINE_OPTIONS_INIT;
    mcds_views_options views = views_without_database();
    visitors.members = MCDS_MEMBERS_ESTIMATED;
    online.members = MCDS_MEMBERS_EXACT;
    all->lease = (mcds_lease)MCDS_LEASE_INIT;
    open_counters(all, name);
    assert_int_equal(mcds_lock_open(all->store, name, NULL, &all->lock), MCDS_OK);
    assert_int_equal(mcds_visitors_open(all->store, name, &visitors, &all->visitors), MCDS_OK);
    assert_int_equal(mcds_online_open(all->store, name, &online, &all->online), MCDS_OK);
    assert_int_equal(mcds_views_open(all->store, name, &views, &all->views), MCDS_OK);
    assert_int_equal(mcds_set_open(all->store, name, NULL, &all->set), MCDS_OK);
    assert_int_equal(mcds_table_open(all->store, name, NULL, &all->table), MCDS_OK);
    assert_int_equal(mcds_list_open(all->store, name, NULL, &all->list), MCDS_OK);
    assert_int_equal(mcds_log_open(all->store, name, NULL, &all->log), MCDS_OK);
    assert_int_equal(mcds_array_open(all->store, name, NULL, &all->array), MCDS_OK);
}

static void close_all(struct handles *all)
{
    mcds_counter_close(all->counter);
    mcds_counter_close(all->striped);
    mcds_counter_close(all->exact);
    mcds_lock_close(all->lock);
    mcds_visitors_close(all->visitors);
    mcds_online_close(all->online);
    mcds_views_close(all->views);
    mcds_set_close(all->set);
    mcds_table_close(all->table);
    mcds_list_close(all->list);
    mcds_log_close(all->log);
    mcds_array_close(all->array);
}

static int counter_add(struct handles *all)
{
    return mcds_counter_add(all->counter, 1, NULL);
}

static int counter_take(struct handles *all)
{
    int64_t taken;
    return mcds_counter_take(all->counter, &taken);
}

static int striped_add(struct handles *all)
{
    return mcds_counter_add(all->striped, 1, NULL);
}

static int striped_drop(struct handles *all)
{
    return mcds_counter_drop(all->striped);
}

static int exact_add(struct handles *all)
{
    return mcds_counter_add(all->exact, 1, NULL);
}

static int exact_drop(struct handles *all)
{
    return mcds_counter_drop(all->exact);
}

static int lock_acquire(struct handles *all)
{
    return mcds_lock_try_acquire(all->lock, &all->lease);
}

static int lock_release(struct handles *all)
{
    return mcds_lock_release(all->lock, &all->lease);
}

static int lock_drop(struct handles *all)
{
    return mcds_lock_drop(all->lock);
}

static int visitors_hit(struct handles *all)
{
    return mcds_visitors_hit(all->visitors, "someone", 0);
}

static int online_beat(struct handles *all)
{
    return mcds_online_beat(all->online, "someone", 0);
}

static int views_hit(struct handles *all)
{
    return mcds_views_hit(all->views, "page", 1);
}

static int views_get(struct handles *all)
{
    int64_t value;
    return mcds_views_get(all->views, "page", &value);
}

static int set_add(struct handles *all)
{
    return mcds_set_add(all->set, mcds_text("element"), NULL);
}

static int set_drop(struct handles *all)
{
    return mcds_set_drop(all->set);
}

static int table_incr(struct handles *all)
{
    int64_t value;
    return mcds_table_incr(all->table, mcds_text("number"), 1, &value);
}

static int table_scan(struct handles *all)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    return mcds_table_scan(all->table, &cursor, 0, pass_entry, NULL);
}

static int table_drop(struct handles *all)
{
    return mcds_table_drop(all->table);
}

static int list_push(struct handles *all)
{
    return mcds_list_push(all->list, mcds_text("element"));
}

static int list_scan(struct handles *all)
{
    return mcds_list_scan(all->list, 0, 0, pass_bytes, NULL);
}

static int list_clear(struct handles *all)
{
    return mcds_list_clear(all->list);
}

static int log_put(struct handles *all)
{
    return mcds_log_put(all->log, 0, mcds_text("event"));
}

static int log_scan(struct handles *all)
{
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    return mcds_log_scan(all->log, &range, pass_event, NULL, &info);
}

static int log_drop(struct handles *all)
{
    return mcds_log_drop(all->log);
}

static int array_change(struct handles *all)
{
    mcds_bytes element = mcds_text("element");
    return mcds_array_change(all->array, &element, 1, NULL, 0);
}

static int array_drop(struct handles *all)
{
    return mcds_array_drop(all->array);
}

typedef int (*call_fn)(struct handles *all);

/* Each call with what must be there before it. */
static const struct call {
    call_fn prepare;
    call_fn call;
} calls[] = {
    {NULL, counter_add},        {counter_add, counter_take},
    {NULL, striped_add},        {striped_add, striped_drop},
    {NULL, exact_add},          {exact_add, exact_drop},
    {NULL, lock_acquire},       {lock_acquire, lock_release},
    {NULL, lock_drop},          {NULL, visitors_hit},
    {NULL, online_beat},        {NULL, views_hit},
    {views_hit, views_get},     {NULL, set_add},
    {set_add, set_add},         {set_add, set_drop},
    {NULL, table_incr},         {table_incr, table_incr},
    {table_incr, table_scan},   {table_incr, table_drop},
    {NULL, list_push},          {list_push, list_scan},
    {list_push, list_clear},    {NULL, log_put},
    {log_put, log_scan},        {log_put, log_drop},
    {NULL, array_change},       {array_change, array_change},
    {array_change, array_drop},
};

static void check_failure(size_t at, uint32_t jump_at)
{
    static const char *const untrue[] = {"reply", "reach", "server", " sent", "connection"};
    const mcds_error *error = mcds_last_error();
    bool is_true = error->cause != MCDS_CAUSE_REPLY_LOST &&
                   error->cause != MCDS_CAUSE_UNREACHABLE && error->result != MCDS_UNAVAILABLE;
    for (size_t i = 0; i < sizeof untrue / sizeof untrue[0]; i++)
        is_true = is_true && strstr(mcds_errmsg(), untrue[i]) == NULL;
    if (is_true)
        return;
    fail_msg("call %zu, reading %u: %s %s: %s", at, jump_at, mcds_result_name(error->result),
             mcds_cause_name((int)error->cause), mcds_errmsg());
}

/* Returns whether the call read the clock so often that it has jumped. */
static bool play(struct overload *overload, mcds_store *store, size_t at, uint32_t jump_at)
{
    static uint32_t names;
    struct handles all = {.store = store};
    char name[16];
    (void)snprintf(name, sizeof name, "n%u", names++);
    overload->jump_at = 0;
    open_all(&all, name);
    if (calls[at].prepare != NULL)
        assert_int_equal(calls[at].prepare(&all), MCDS_OK);
    overload->readings = 0;
    overload->jump_at = jump_at;
    if (calls[at].call(&all) < 0)
        check_failure(at, jump_at);
    bool has_jumped = overload->readings >= jump_at;
    overload->jump_at = 0;
    close_all(&all);
    return has_jumped;
}

static void check_store(const char *uri)
{
    static const int64_t jumps_ns[] = {499900000, 999900000, 1000000000};
    struct overload overload = {.jump_at = 0};
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_store *store;
    fake_env_init(&overload.fake, 1);
    overload.fake.env.monotonic_ns = jumping_ns;
    options.env = &overload.fake.env;
    options.timeout_ms = 1000;
    assert_int_equal(mcds_open(uri, &options, &store), MCDS_OK);
    for (size_t at = 0; at < sizeof calls / sizeof calls[0]; at++)
        for (size_t i = 0; i < sizeof jumps_ns / sizeof jumps_ns[0]; i++) {
            for (uint32_t jump_at = 1; jump_at <= READINGS_MAX; jump_at++)
                if (!play(&overload, store, at, jump_at))
                    break;
        }
    mcds_close(store);
}

static void on_memory(void **state)
{
    (void)state;
    check_store("memory:");
}

static void on_lmdb(void **state)
{
    const struct fixture *fixture = *state;
    char uri[128];
    (void)snprintf(uri, sizeof uri, "lmdb:%s?sync=async", fixture->file);
    check_store(uri);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_memory),
        cmocka_unit_test_setup_teardown(on_lmdb, fixture_make, fixture_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
