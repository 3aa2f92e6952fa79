/* Each key is on a server of its own. One server holds bytes that mcds did not write, or its key is
 * erased. A verb that refuses the bytes names the key and that server; one that refuses the options
 * of its handle names that server. A loss names no other server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"
#include "support/no_database.h"
#include "support/pass_over.h"

#define KEYS_MAX 256
#define KEY_MAX 252

/* The foreign bytes have the flags of the item that they replace, or none. */
enum damage { DAMAGED, FOREIGN, GONE, DAMAGES };

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    uint32_t count;
    size_t lengths[KEYS_MAX];
    char keys[KEYS_MAX][KEY_MAX];
};

/* The name of the key's server: the key itself, while there is room for more. */
static const char *server_of(struct world *world, mcds_bytes key)
{
    uint32_t i = 0;
    assert_in_range(key.length, 1, KEY_MAX - 1);
    while (i < world->count && (world->lengths[i] != key.length ||
                                memcmp(world->keys[i], key.data, key.length) != 0))
        i++;
    if (i == KEYS_MAX)
        return "one more";
    if (i == world->count) {
        world->lengths[world->count] = key.length;
        (void)snprintf(world->keys[world->count++], KEY_MAX, "%.*s", (int)key.length,
                       (const char *)key.data);
    }
    return world->keys[i];
}

static bool answer(void *context, mcds_request *request)
{
    struct world *world = context;
    mcds__backend_memory.submit(world->backend.inner, world->backend.batch);
    request->reply.peer = server_of(world, request->key);
    return true;
}

static void begin_world(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 3);
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.hook = answer;
    world->backend.context = world;
}

/* False: the store has no such item. */
static bool damage_key(struct world *world, uint32_t number, enum damage damage)
{
    mcds_request request = {.command = MCDS_GET, .key = mcds_text(world->keys[number])};
    mcds_buffer values;
    mcds_batch batch = {
        .requests = &request, .count = 1, .deadline_ns = INT64_MAX, .values = &values};
    mcds__buffer_init(&values, &world->fake.env, 1 << 20);
    mcds__backend_memory.submit(world->backend.inner, &batch);
    bool there = request.reply.outcome == MCDS_OUT_OK;
    request.command = damage == GONE ? MCDS_DELETE : MCDS_SET;
    request.flags = damage == DAMAGED ? request.reply.flags : 0;
    request.value = mcds_text("who wrote this?? it is not of mcds, and no number either");
    if (there)
        mcds__backend_memory.submit(world->backend.inner, &batch);
    mcds__buffer_free(&values);
    return there;
}

#define ENTRIES 60

static mcds_store *opened;
static mcds_counter *counters[3]; /* plain, in stripes, EXACT */
static mcds_visitors *visitors[3];
static mcds_online *online[3];
static mcds_set *sets[3];
static mcds_lock *lock;
static mcds_table *table;
static mcds_array *array;
static mcds_list *list;
static mcds_log *event_log;
static mcds_views *views;
static mcds_lease lease;

#define DO(call) assert_int_equal((call), MCDS_OK)

/* The kind that a handle of this kind is opened as. */
static uint32_t kind_of(uint32_t kind, bool otherwise)
{
    return otherwise ? (kind + 1) % 3 : kind;
}

static void open_counter(mcds_store *store, uint32_t kind, bool otherwise)
{
    static const char *const names[] = {"plain", "striped", "exact"};
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    options.stripes = kind_of(kind, otherwise) == 1 ? 4 : 0;
    options.flags = kind_of(kind, otherwise) == 2 ? MCDS_COUNTER_EXACT : 0;
    options.flush_ms = otherwise ? MCDS_COUNTER_FLUSH_EACH : 0;
    DO(mcds_counter_open(store, names[kind], &options, &counters[kind]));
}

static void open_visits(mcds_store *store, uint32_t kind, bool otherwise)
{
    static const uint32_t members[] = {0, MCDS_MEMBERS_EXACT, MCDS_MEMBERS_ESTIMATED};
    mcds_visitors_options visitors_options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_online_options online_options = MCDS_ONLINE_OPTIONS_INIT;
    char name[] = "kind 0";
    name[5] = (char)('0' + kind);
    visitors_options.members = online_options.members = members[kind_of(kind, otherwise)];
    DO(mcds_visitors_open(store, name, &visitors_options, &visitors[kind]));
    DO(mcds_online_open(store, name, &online_options, &online[kind]));
}

static void open_set(mcds_store *store, uint32_t kind, bool otherwise)
{
    static const mcds_set_form forms[] = {MCDS_SET_PLAIN, MCDS_SET_BAG, MCDS_SET_LIST};
    mcds_set_options options = MCDS_SET_OPTIONS_INIT;
    char name[] = "kind 0";
    name[5] = (char)('0' + kind);
    options.form = forms[kind_of(kind, otherwise)];
    DO(mcds_set_open(store, name, &options, &sets[kind]));
}

static void open_handles_as(mcds_store *store, bool otherwise)
{
    mcds_views_options options = views_without_database();
    opened = store;
    mcds_log_options log_options = MCDS_LOG_OPTIONS_INIT;
    options.flush_ms = otherwise ? 120000 : options.flush_ms;
    log_options.retention_ms = otherwise ? 9 * UINT64_C(86400000) : 0;
    for (uint32_t kind = 0; kind < 3; kind++) {
        open_counter(store, kind, otherwise);
        open_visits(store, kind, otherwise);
        open_set(store, kind, otherwise);
    }
    DO(mcds_lock_open(store, "lock", NULL, &lock));
    DO(mcds_table_open(store, "table", NULL, &table));
    DO(mcds_array_open(store, "array", NULL, &array));
    DO(mcds_list_open(store, "list", NULL, &list));
    DO(mcds_log_open(store, "log", &log_options, &event_log));
    DO(mcds_views_open(store, "views", &options, &views));
    lease = (mcds_lease)MCDS_LEASE_INIT;
}

static void open_handles(mcds_store *store)
{
    open_handles_as(store, false);
}

static void close_handles(void)
{
    for (uint32_t kind = 0; kind < 3; kind++) {
        mcds_counter_close(counters[kind]);
        mcds_visitors_close(visitors[kind]);
        mcds_online_close(online[kind]);
        mcds_set_close(sets[kind]);
    }
    mcds_lock_close(lock);
    mcds_table_close(table);
    mcds_array_close(array);
    mcds_list_close(list);
    mcds_log_close(event_log);
    mcds_views_close(views);
}

static mcds_bytes entry(uint32_t i)
{
    static char text[200];
    int length = snprintf(text, sizeof text, "%u %150s", (unsigned)i, "of many");
    return (mcds_bytes){text, (size_t)length};
}

static void fill_counters(struct world *world)
{
    (void)world;
    for (int i = 0; i < 16; i++)
        for (uint32_t kind = 0; kind < 3; kind++)
            DO(mcds_counter_add(counters[kind], 1, NULL));
    DO(mcds_counter_flush(counters[2]));
}

static void fill_visits(struct world *world)
{
    (void)world;
    for (uint32_t kind = 0; kind < 3; kind++)
        for (int i = 0; i < 3; i++) {
            char name[] = "ann 0";
            name[4] = (char)('0' + i);
            DO(mcds_visitors_hit(visitors[kind], name, 0));
            DO(mcds_online_beat(online[kind], name, 0));
        }
}

static void fill_sets(struct world *world)
{
    bool changed;
    (void)world;
    for (uint32_t i = 0; i < ENTRIES; i++)
        for (uint32_t kind = 0; kind < 3; kind++)
            DO(mcds_set_add(sets[kind], entry(i), &changed));
}

static void fill_table(struct world *world)
{
    (void)world;
    for (uint32_t i = 0; i < ENTRIES; i++)
        DO(mcds_table_put(table, entry(i), mcds_text("1"), 0));
}

static void fill_array(struct world *world)
{
    static char element[100000];
    mcds_bytes long_one = {element, sizeof element};
    (void)world;
    DO(mcds_array_set(array, &long_one, 1));
}

static void fill_list(struct world *world)
{
    (void)world;
    for (uint32_t i = 0; i < ENTRIES; i++)
        DO(mcds_list_push(list, entry(i)));
}

static void fill_log(struct world *world)
{
    (void)world;
    for (uint32_t i = 0; i < ENTRIES; i++)
        DO(mcds_log_put(event_log, 0, entry(i)));
}

static void fill_lock(struct world *world)
{
    (void)world;
    DO(mcds_lock_try_acquire(lock, &lease));
}

static void fill_views(struct world *world)
{
    for (int i = 0; i < 4; i++) {
        DO(mcds_views_hit(views, "page", 1));
        fake_env_advance_ms(&world->fake, 61000);
    }
    DO(mcds_views_hit(views, "page", 1));
}

static int64_t number;
static bool is_changed;
static mcds_counter_value counted;
static mcds_visitors_value visited;
static mcds_online_value present;
static mcds_lock_holder holder;
static mcds_value got;

#define VERB(name, expression)                                                                 \
    static int name(void)                                                                      \
    {                                                                                          \
        return expression;                                                                     \
    }
#define VERB_OF_EACH(name, expression)                                                         \
    static int name##_of(uint32_t kind)                                                        \
    {                                                                                          \
        return expression;                                                                     \
    }                                                                                          \
    VERB(name##_0, name##_of(0))                                                               \
    VERB(name##_1, name##_of(1))                                                               \
    VERB(name##_2, name##_of(2))

static int add_all(uint32_t kind)
{
    int result = MCDS_OK;
    for (int i = 0; i < 16 && result == MCDS_OK; i++)
        result = mcds_counter_add(counters[kind], 1, NULL);
    return result != MCDS_OK || kind < 2 ? result : mcds_counter_flush(counters[kind]);
}

static mcds_counter_value *place_of_count(void)
{
    counted = (mcds_counter_value)MCDS_COUNTER_VALUE_INIT;
    return &counted;
}

static mcds_visitors_value *place_of_visits(void)
{
    visited = (mcds_visitors_value)MCDS_VISITORS_VALUE_INIT;
    return &visited;
}

static mcds_online_value *place_of_presence(void)
{
    present = (mcds_online_value)MCDS_ONLINE_VALUE_INIT;
    return &present;
}

static mcds_lock_holder *place_of_holder(void)
{
    holder = (mcds_lock_holder)MCDS_LOCK_HOLDER_INIT;
    return &holder;
}

static int get_value(void)
{
    got = (mcds_value){0};
    int result = mcds_table_get(table, entry(7), &got);
    mcds_value_free(&got);
    return result;
}

static int incr_table(void)
{
    return mcds_table_incr(table, entry(7), 1, &number);
}

static int remove_entry(void)
{
    return mcds_table_remove(table, entry(7), &is_changed);
}

static int scan_table(void)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    return mcds_table_scan(table, &cursor, 0, pass_entry, NULL);
}

static int set_array(void)
{
    mcds_bytes element = mcds_text("e");
    return mcds_array_set(array, &element, 1);
}

static int change_array(void)
{
    mcds_bytes element = mcds_text("e");
    return mcds_array_change(array, &element, 1, NULL, 0);
}

static int push_many(void)
{
    mcds_bytes elements[] = {mcds_text("e"), mcds_text("f")};
    size_t pushed;
    return mcds_list_push_many(list, elements, 2, &pushed);
}

static int put_many(void)
{
    mcds_bytes events[] = {mcds_text("e"), mcds_text("f")};
    size_t put;
    return mcds_log_put_many(event_log, 0, events, 2, &put);
}

static int scan_log(void)
{
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    return mcds_log_scan(event_log, NULL, pass_event, NULL, &info);
}

static int tail_log(void)
{
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    return mcds_log_tail(event_log, &cursor, pass_event, NULL, &info);
}

VERB_OF_EACH(counter_add, add_all(kind))
VERB_OF_EACH(counter_get, mcds_counter_get(counters[kind], place_of_count()))
VERB(counter_take_0, mcds_counter_take(counters[0], &number))
VERB(counter_take_1, mcds_counter_take(counters[1], &number))
VERB_OF_EACH(counter_drop, mcds_counter_drop(counters[kind]))
VERB_OF_EACH(visitors_hit, mcds_visitors_hit(visitors[kind], "ann 0", 0))
VERB_OF_EACH(visitors_get, mcds_visitors_get(visitors[kind], 0, place_of_visits()))
VERB_OF_EACH(visitors_drop, mcds_visitors_drop(visitors[kind], 0))
VERB_OF_EACH(online_beat, mcds_online_beat(online[kind], "ann 0", 0))
VERB_OF_EACH(online_get, mcds_online_get(online[kind], 0, place_of_presence()))
VERB_OF_EACH(online_drop, mcds_online_drop(online[kind], 0))
VERB_OF_EACH(set_add, mcds_set_add(sets[kind], entry(7), &is_changed))
VERB_OF_EACH(set_remove, mcds_set_remove(sets[kind], entry(7), &is_changed))
VERB_OF_EACH(set_has, mcds_set_has(sets[kind], entry(7)))
VERB_OF_EACH(set_scan, mcds_set_scan(sets[kind], pass_element, NULL))
VERB_OF_EACH(set_drop, mcds_set_drop(sets[kind]))
VERB(lock_try_acquire, mcds_lock_try_acquire(lock, &(mcds_lease)MCDS_LEASE_INIT))
VERB(lock_renew, mcds_lock_renew(lock, &lease))
VERB(lock_release, mcds_lock_release(lock, &lease))
VERB(lock_get_holder, mcds_lock_get_holder(lock, place_of_holder()))
VERB(lock_break, mcds_lock_break(lock))
VERB(lock_drop, mcds_lock_drop(lock))
VERB(table_put, mcds_table_put(table, entry(7), mcds_text("2"), 0))
VERB(table_put_if_absent, mcds_table_put_if_absent(table, entry(7), mcds_text("2"), 0))
VERB(table_compare_and_set,
     mcds_table_compare_and_set(table, entry(7), mcds_text("1"), mcds_text("2"), 0))
VERB(table_has, mcds_table_has(table, entry(7)))
VERB(table_drop, mcds_table_drop(table))
VERB(array_scan, mcds_array_scan(array, pass_bytes, NULL))
VERB(array_drop, mcds_array_drop(array))
VERB(list_push, mcds_list_push(list, entry(7)))
VERB(list_scan, mcds_list_scan(list, 0, 0, pass_bytes, NULL))
VERB(list_clear, mcds_list_clear(list))
VERB(list_drop, mcds_list_drop(list))
VERB(log_put, mcds_log_put(event_log, 0, entry(7)))
VERB(log_drop, mcds_log_drop(event_log))
VERB(views_hit, mcds_views_hit(views, "page", 1))
VERB(views_get, mcds_views_get(views, "page", &number))
VERB(views_flush, mcds_views_flush(views))
VERB(views_flush_final, mcds_views_flush_final(views))
VERB(views_drop, mcds_views_drop(views))

struct verb {
    const char *name;
    int (*call)(void);
    bool needs_handle; /* what it needs is in the handle that has filled the store */
    bool takes_all;    /* no damage keeps it from its work */
};

#define ALONE(verb)                                                                            \
    {                                                                                          \
#verb, verb, false, false                                                              \
    }
#define TAKES_ALL(verb)                                                                        \
    {                                                                                          \
#verb, verb, false, true                                                               \
    }
#define OF_EACH(verb) ALONE(verb##_0), ALONE(verb##_1), ALONE(verb##_2)

static const struct verb of_counters[] = {OF_EACH(counter_add),      OF_EACH(counter_get),
                                          ALONE(counter_take_0),     ALONE(counter_take_1),
                                          TAKES_ALL(counter_drop_0), TAKES_ALL(counter_drop_1),
                                          TAKES_ALL(counter_drop_2)};
static const struct verb of_visits[] = {OF_EACH(visitors_hit),  OF_EACH(visitors_get),
                                        OF_EACH(visitors_drop), OF_EACH(online_beat),
                                        OF_EACH(online_get),    OF_EACH(online_drop)};
static const struct verb of_sets[] = {OF_EACH(set_add), OF_EACH(set_remove), OF_EACH(set_has),
                                      OF_EACH(set_scan), OF_EACH(set_drop)};
static const struct verb of_a_lock[] = {ALONE(lock_try_acquire),
                                        {"lock_renew", lock_renew, true, true},
                                        {"lock_release", lock_release, true, true},
                                        ALONE(lock_get_holder),
                                        TAKES_ALL(lock_break),
                                        ALONE(lock_drop)};
static const struct verb of_a_table[] = {
    ALONE(table_put),  ALONE(table_put_if_absent), ALONE(table_compare_and_set),
    ALONE(incr_table), ALONE(remove_entry),        ALONE(get_value),
    ALONE(table_has),  ALONE(scan_table),          ALONE(table_drop)};
static const struct verb of_an_array[] = {ALONE(set_array), ALONE(change_array),
                                          ALONE(array_scan), ALONE(array_drop)};
static const struct verb of_a_list[] = {ALONE(list_push), ALONE(push_many), ALONE(list_scan),
                                        ALONE(list_clear), ALONE(list_drop)};
static const struct verb of_a_log[] = {ALONE(log_put), ALONE(put_many), ALONE(scan_log),
                                       ALONE(tail_log), ALONE(log_drop)};
static const struct verb of_views[] = {ALONE(views_hit), ALONE(views_get), ALONE(views_flush),
                                       ALONE(views_flush_final), ALONE(views_drop)};

static bool is_about_a_value(const mcds_error *error)
{
    return error->cause == MCDS_CAUSE_FOREIGN || error->cause == MCDS_CAUSE_NEWER ||
           error->cause == MCDS_CAUSE_NOT_A_NUMBER || error->cause == MCDS_CAUSE_DAMAGED;
}

static uint32_t losses; /* that name a server */

/* One call on a store of which one key is damaged. 0: it was not refused; 1: it was, and the
 * server is named; -1: another or none is named. */
static int judge(const struct world *world, const struct verb *verb, uint32_t key)
{
    const mcds_error *error;
    int result = verb->call();
    error = mcds_last_error();
    bool is_lost = result == MCDS_LOST;
    if (result >= 0 || (result != MCDS_CORRUPT && !is_lost && !is_about_a_value(error)))
        return 0;
    if (is_lost && error->peer[0] == '\0')
        return 0; /* of several servers, or of an earlier batch */
    losses += is_lost && error->cause == MCDS_CAUSE_GONE;
    bool is_named = strcmp(error->key, is_lost ? "" : world->keys[key]) == 0;
    if (is_named && strcmp(error->peer, world->keys[key]) == 0)
        return 1;
    print_error("%s: '%s' is damaged or gone, '%s' on '%s' is named: %s\n", verb->name,
                world->keys[key], error->key, error->peer, mcds_errmsg());
    return -1;
}

struct tally {
    uint32_t refused;
    uint32_t wrong;
};

/* False: there are fewer keys. */
static bool try_key(const struct verb *verb, void (*fill)(struct world *world), uint32_t key,
                    enum damage damage, bool is_new, struct tally *tally)
{
    static struct world world;
    begin_world(&world);
    open_handles(world.store);
    fill(&world);
    bool there = key < world.count;
    if (there && damage_key(&world, key, damage)) {
        if (is_new) {
            close_handles();
            open_handles(world.store);
        }
        int judged = judge(&world, verb, key);
        tally->refused += judged > 0;
        tally->wrong += judged < 0;
    }
    close_handles();
    mcds_close(world.store);
    assert_int_equal(world.fake.blocks, 0);
    return there;
}

static void play(const struct verb *verbs, size_t count, void (*fill)(struct world *world))
{
    uint32_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        struct tally tally = {0, 0};
        for (enum damage damage = 0; damage < DAMAGES; damage++)
            for (int is_new = 0; is_new <= !verbs[i].needs_handle; is_new++)
                for (uint32_t key = 0;
                     try_key(&verbs[i], fill, key, damage, is_new != 0, &tally);)
                    key++;
        if (!verbs[i].takes_all && tally.refused == 0)
            fail_msg("%s refuses nothing", verbs[i].name);
        wrong += tally.wrong;
    }
    assert_int_equal(wrong, 0);
}

/* A handle with other options. True: it is refused. */
static bool is_refused(struct world *world, const struct verb *verb)
{
    open_handles_as(world->store, true);
    int result = verb->call();
    mcds_cause cause = mcds_last_error()->cause;
    close_handles();
    return result < 0 &&
           (is_about_a_value(mcds_last_error()) || cause == MCDS_CAUSE_OPTION_DIFFERS ||
            cause == MCDS_CAUSE_FORM_DIFFERS);
}

/* Erases the key because of which the handle is refused: its server is named. */
static void erase_named(struct world *world, const struct verb *verb)
{
    mcds_request erasure = {.command = MCDS_DELETE, .key = mcds_text(mcds_last_error()->peer)};
    mcds_batch batch = {.requests = &erasure, .count = 1, .deadline_ns = INT64_MAX};
    if (erasure.key.length == 0 || strstr(mcds_errmsg(), mcds_last_error()->peer) == NULL)
        fail_msg("%s names no server: %s", verb->name, mcds_errmsg());
    mcds__backend_memory.submit(world->backend.inner, &batch);
    if (erasure.reply.outcome != MCDS_OUT_OK)
        fail_msg("%s names another server: %s", verb->name, mcds_errmsg());
}

/* Settings and a root may both be those of other options. */
static void try_other_options(const struct verb *verb, void (*fill)(struct world *world))
{
    static struct world world;
    uint32_t refusals = 0;
    begin_world(&world);
    open_handles(world.store);
    fill(&world);
    close_handles();
    for (; is_refused(&world, verb); refusals++)
        erase_named(&world, verb);
    if (refusals == 0)
        fail_msg("%s refuses no other options: %s", verb->name, mcds_errmsg());
    mcds_close(world.store);
    assert_int_equal(world.fake.blocks, 0);
}

static void fill_a_plain_counter(struct world *world)
{
    (void)world;
    DO(mcds_counter_add(counters[0], 1, NULL));
}

static int subtract(void)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter *counter;
    options.flags = MCDS_COUNTER_SIGNED;
    DO(mcds_counter_open(opened, "plain", &options, &counter));
    int result = mcds_counter_add(counter, -1, NULL);
    mcds_counter_close(counter);
    return result;
}

static void other_options_are_refused(void **state)
{
    static const struct verb of_other_counters[] = {OF_EACH(counter_add), OF_EACH(counter_get),
                                                    OF_EACH(counter_drop)};
    static const struct verb of_a_plain_counter[] = {ALONE(subtract)};
    (void)state;
#define PLAY_OTHER(verbs, fill)                                                                \
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs)[0]; i++)                              \
    try_other_options(&(verbs)[i], fill)
    PLAY_OTHER(of_other_counters, fill_counters);
    PLAY_OTHER(of_a_plain_counter, fill_a_plain_counter);
    PLAY_OTHER(of_visits, fill_visits);
    PLAY_OTHER(of_sets, fill_sets);
    PLAY_OTHER(of_a_log, fill_log);
    PLAY_OTHER(of_views, fill_views);
}

static void losses_name_their_server(void **state)
{
    (void)state;
    assert_true(losses >= 10); /* of counters, sets, tables, arrays and views */
}

#define PLAY(verbs, fill) play(verbs, sizeof(verbs) / sizeof(verbs)[0], fill)
#define CASE(name, verbs, fill)                                                                \
    static void name(void **state)                                                             \
    {                                                                                          \
        (void)state;                                                                           \
        PLAY (verbs, fill)                                                                     \
            ;                                                                                  \
    }

CASE(counters_refuse, of_counters, fill_counters)
CASE(locks_refuse, of_a_lock, fill_lock)
CASE(visits_refuse, of_visits, fill_visits)
CASE(sets_refuse, of_sets, fill_sets)
CASE(tables_refuse, of_a_table, fill_table)
CASE(arrays_refuse, of_an_array, fill_array)
CASE(lists_refuse, of_a_list, fill_list)
CASE(logs_refuse, of_a_log, fill_log)
CASE(views_refuse, of_views, fill_views)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_refuse),
        cmocka_unit_test(locks_refuse),
        cmocka_unit_test(visits_refuse),
        cmocka_unit_test(sets_refuse),
        cmocka_unit_test(tables_refuse),
        cmocka_unit_test(arrays_refuse),
        cmocka_unit_test(lists_refuse),
        cmocka_unit_test(logs_refuse),
        cmocka_unit_test(views_refuse),
        cmocka_unit_test(other_options_are_refused),
        cmocka_unit_test(losses_name_their_server),
    };
    return cmocka_run_group_tests_name("foreign_servers", tests, NULL, NULL);
}
