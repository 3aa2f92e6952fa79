/* Every key of every structure, stored again with other client flags, as a tool does that copies
 * values alone: a call ends after a few round trips, and never takes the contents for less. And
 * marks with contents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "core/map/bucket/format.h"
#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define KEYS_MAX 64
#define BYTES_MAX 20480
#define ELEMENTS 200
/* Values that fill more than one segment. */
#define LONG_ELEMENTS 24
#define LONG_LENGTH 1000
/* Round trips of one call, and what is far too much. */
#define TRIPS_MAX 40
#define FUSE 2000
#define LESS 100 /* a result: OK, with less than was stored */

struct item {
    char key[252];
    uint8_t bytes[BYTES_MAX];
    size_t length;
    uint32_t flags;
};

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    uint64_t fuse;
    uint32_t seen;
    uint32_t count;
    struct item items[KEYS_MAX];
};

static bool burn(void *context, mcds_request *request)
{
    struct world *world = context;
    (void)request;
    if (world->fuse > 0 && world->backend.batches > world->fuse)
        fail_msg("a call goes on for ever");
    return false;
}

static void submit(struct world *world, mcds_request *request, mcds_buffer *values)
{
    mcds_batch batch = {
        .requests = request, .count = 1, .deadline_ns = INT64_MAX, .values = values};
    memset(&request->reply, 0, sizeof request->reply);
    mcds__backend_memory.submit(world->backend.inner, &batch);
}

static bool note_key(void *context, mcds_bytes key)
{
    struct world *world = context;
    assert_true(world->count < KEYS_MAX && key.length < sizeof world->items[0].key);
    struct item *item = &world->items[world->count++];
    memcpy(item->key, key.data, key.length);
    item->key[key.length] = '\0';
    return true;
}

static void list_keys(struct world *world)
{
    world->count = 0;
    assert_int_equal(
        mcds__backend_memory.keys(world->backend.inner, (mcds_bytes){"", 0}, note_key, world),
        MCDS_OK);
}

static void save(struct world *world)
{
    list_keys(world);
    for (uint32_t i = 0; i < world->count; i++) {
        struct item *item = &world->items[i];
        mcds_buffer values;
        mcds__buffer_init_in(&values, &world->fake.env, BYTES_MAX, item->bytes, BYTES_MAX);
        mcds_request get = {.command = MCDS_GET, .key = mcds_text(item->key)};
        submit(world, &get, &values);
        assert_int_equal(get.reply.outcome, MCDS_OUT_OK);
        item->length = values.length;
        item->flags = get.reply.flags;
    }
}

static void put(struct world *world, const struct item *item, uint32_t flags)
{
    mcds_request set = {.command = MCDS_SET,
                        .flags = flags,
                        .key = mcds_text(item->key),
                        .value = {item->bytes, item->length}};
    submit(world, &set, NULL);
    assert_int_equal(set.reply.outcome, MCDS_OUT_OK);
}

/* Exactly what was saved is there again. */
static void restore(struct world *world, const struct world *saved)
{
    list_keys(world);
    for (uint32_t i = 0; i < world->count; i++) {
        mcds_request drop = {.command = MCDS_DELETE, .key = mcds_text(world->items[i].key)};
        submit(world, &drop, NULL);
    }
    for (uint32_t i = 0; i < saved->count; i++)
        put(world, &saved->items[i], saved->items[i].flags);
}

struct subject {
    const char *name;
    bool is_map;
    void (*make)(struct world *world);
    int (*read)(struct world *world);
    int (*write)(struct world *world);
    int (*drop)(struct world *world);
};

static mcds_bytes element(uint32_t number)
{
    static char text[16];
    (void)snprintf(text, sizeof text, "element%u", (unsigned)number);
    return mcds_text(text);
}

/* One handle for each call. */
#define WITH(kind, options, call)                                                              \
    mcds_##kind *kind = NULL;                                                                  \
    assert_int_equal(mcds_##kind##_open(world->store, "x", options, &kind), MCDS_OK);          \
    int result = call;                                                                         \
    mcds_##kind##_close(kind);                                                                 \
    return result

static bool see_element(void *context, mcds_bytes value, uint64_t count)
{
    struct world *world = context;
    (void)value;
    world->seen += (uint32_t)count;
    return true;
}

static bool see_row(void *context, mcds_bytes key, mcds_bytes value)
{
    (void)value;
    return see_element(context, key, 1);
}

static bool see_value(void *context, mcds_bytes value)
{
    return see_element(context, value, 1);
}

static int judge(const struct world *world, int result, uint32_t count)
{
    return result == MCDS_OK && world->seen < count ? LESS : result;
}

static const mcds_set_options list_form = {.size = sizeof list_form, .form = MCDS_SET_LIST};
static const mcds_set_options plain_form = {.size = sizeof plain_form};

static void make_set_of(struct world *world, const mcds_set_options *options)
{
    mcds_set *set = NULL;
    assert_int_equal(mcds_set_open(world->store, "x", options, &set), MCDS_OK);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        assert_int_equal(mcds_set_add(set, element(i), NULL), MCDS_OK);
    mcds_set_close(set);
}

static int scan_set_of(struct world *world, const mcds_set_options *options)
{
    WITH(set, options, judge(world, mcds_set_scan(set, see_element, world), ELEMENTS));
}

static void make_set(struct world *world)
{
    make_set_of(world, &plain_form);
}

static int scan_set(struct world *world)
{
    return scan_set_of(world, &plain_form);
}

static int add_to_set(struct world *world)
{
    WITH(set, NULL, mcds_set_add(set, mcds_text("more"), NULL));
}

static int drop_set(struct world *world)
{
    WITH(set, NULL, mcds_set_drop(set));
}

static int has_in_set(struct world *world)
{
    mcds_set *set = NULL;
    assert_int_equal(mcds_set_open(world->store, "x", NULL, &set), MCDS_OK);
    int result = mcds_set_has(set, element(7));
    mcds_set_close(set);
    return result == MCDS_NOT_FOUND ? LESS : result;
}

static void make_list_of_set(struct world *world)
{
    make_set_of(world, &list_form);
}

static int scan_list_of_set(struct world *world)
{
    return scan_set_of(world, &list_form);
}

static int add_to_list_of_set(struct world *world)
{
    WITH(set, &list_form, mcds_set_add(set, mcds_text("more"), NULL));
}

static int drop_list_of_set(struct world *world)
{
    WITH(set, &list_form, mcds_set_drop(set));
}

static void make_table(struct world *world)
{
    mcds_table *table = NULL;
    assert_int_equal(mcds_table_open(world->store, "x", NULL, &table), MCDS_OK);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        assert_int_equal(mcds_table_put(table, element(i), mcds_text("v"), 0), MCDS_OK);
    mcds_table_close(table);
}

static int scan_table(struct world *world)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    WITH(table, NULL,
         judge(world, mcds_table_scan(table, &cursor, 0, see_row, world), ELEMENTS));
}

static int incr_in_table(struct world *world)
{
    WITH(table, NULL, mcds_table_incr(table, mcds_text("number"), 1, NULL));
}

static int drop_table(struct world *world)
{
    WITH(table, NULL, mcds_table_drop(table));
}

static void make_list(struct world *world)
{
    mcds_list *list = NULL;
    assert_int_equal(mcds_list_open(world->store, "x", NULL, &list), MCDS_OK);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        assert_int_equal(mcds_list_push(list, element(i)), MCDS_OK);
    mcds_list_close(list);
}

static int scan_list(struct world *world)
{
    WITH(list, NULL, judge(world, mcds_list_scan(list, 0, 0, see_value, world), ELEMENTS));
}

static int push(struct world *world)
{
    WITH(list, NULL, mcds_list_push(list, mcds_text("more")));
}

static int drop_list(struct world *world)
{
    WITH(list, NULL, mcds_list_drop(list));
}

static mcds_bytes long_element(uint32_t number)
{
    static char text[LONG_LENGTH];
    memset(text, 'a' + (int)number, sizeof text);
    return (mcds_bytes){text, sizeof text};
}

static void make_long_list(struct world *world)
{
    mcds_list *list = NULL;
    assert_int_equal(mcds_list_open(world->store, "x", NULL, &list), MCDS_OK);
    for (uint32_t i = 0; i < LONG_ELEMENTS; i++)
        assert_int_equal(mcds_list_push(list, long_element(i)), MCDS_OK);
    mcds_list_close(list);
}

static int scan_long_list(struct world *world)
{
    WITH(list, NULL, judge(world, mcds_list_scan(list, 0, 0, see_value, world), LONG_ELEMENTS));
}

/* A drop reads few chunks. */
static const mcds_log_options short_log = {
    .size = sizeof short_log, .retention_ms = 3600000, .chunk_ms = 60000};

static bool see_event(void *context, const mcds_log_event *event)
{
    return see_value(context, event->event);
}

static void make_log(struct world *world)
{
    mcds_log *log = NULL;
    assert_int_equal(mcds_log_open(world->store, "x", &short_log, &log), MCDS_OK);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        assert_int_equal(mcds_log_put(log, 0, element(i)), MCDS_OK);
    mcds_log_close(log);
}

static int scan_log_of(struct world *world, uint32_t count)
{
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    mcds_log *log = NULL;
    assert_int_equal(mcds_log_open(world->store, "x", &short_log, &log), MCDS_OK);
    int result = judge(world, mcds_log_scan(log, NULL, see_event, world, &info), count);
    mcds_log_close(log);
    return result == LESS && info.gaps + info.corrupt > 0 ? MCDS_CORRUPT : result;
}

static int scan_log(struct world *world)
{
    return scan_log_of(world, ELEMENTS);
}

static int scan_long_log(struct world *world)
{
    return scan_log_of(world, LONG_ELEMENTS);
}

static void make_long_log(struct world *world)
{
    mcds_log *log = NULL;
    assert_int_equal(mcds_log_open(world->store, "x", &short_log, &log), MCDS_OK);
    for (uint32_t i = 0; i < LONG_ELEMENTS; i++)
        assert_int_equal(mcds_log_put(log, 0, long_element(i)), MCDS_OK);
    mcds_log_close(log);
}

static int put_in_log(struct world *world)
{
    WITH(log, &short_log, mcds_log_put(log, 0, mcds_text("more")));
}

static int drop_log(struct world *world)
{
    WITH(log, &short_log, mcds_log_drop(log));
}

static void make_array(struct world *world)
{
    mcds_array *array = NULL;
    mcds_bytes values[] = {mcds_text("a"), mcds_text("b")};
    assert_int_equal(mcds_array_open(world->store, "x", NULL, &array), MCDS_OK);
    assert_int_equal(mcds_array_set(array, values, 2), MCDS_OK);
    mcds_array_close(array);
}

static int scan_array(struct world *world)
{
    WITH(array, NULL, judge(world, mcds_array_scan(array, see_value, world), 2));
}

static int change_array(struct world *world)
{
    mcds_bytes value = mcds_text("c");
    WITH(array, NULL, mcds_array_change(array, &value, 1, NULL, 0));
}

static int drop_array(struct world *world)
{
    WITH(array, NULL, mcds_array_drop(array));
}

static const mcds_visitors_options hourly = {.size = sizeof hourly,
                                             .members = MCDS_MEMBERS_EXACT};

static void make_visitors(struct world *world)
{
    mcds_visitors *visitors = NULL;
    assert_int_equal(mcds_visitors_open(world->store, "x", &hourly, &visitors), MCDS_OK);
    assert_int_equal(mcds_visitors_hit(visitors, "a", 0), MCDS_OK);
    assert_int_equal(mcds_visitors_hit(visitors, "b", 0), MCDS_OK);
    mcds_visitors_close(visitors);
}

static int get_visitors(struct world *world)
{
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    WITH(visitors, &hourly, mcds_visitors_get(visitors, 0, &value));
}

static int hit_visitors(struct world *world)
{
    WITH(visitors, &hourly, mcds_visitors_hit(visitors, "c", 0));
}

static int drop_visitors(struct world *world)
{
    WITH(visitors, &hourly, mcds_visitors_drop(visitors, 0));
}

static void make_online(struct world *world)
{
    mcds_online *online = NULL;
    assert_int_equal(mcds_online_open(world->store, "x", NULL, &online), MCDS_OK);
    assert_int_equal(mcds_online_beat(online, "a", 0), MCDS_OK);
    mcds_online_close(online);
}

static int get_online(struct world *world)
{
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    WITH(online, NULL, mcds_online_get(online, 0, &value));
}

static int beat_online(struct world *world)
{
    WITH(online, NULL, mcds_online_beat(online, "a", 0));
}

static int drop_online(struct world *world)
{
    WITH(online, NULL, mcds_online_drop(online, 0));
}

static const mcds_counter_options exact_options = {.size = sizeof exact_options,
                                                   .flags = MCDS_COUNTER_EXACT};
static const mcds_counter_options striped_options = {.size = sizeof striped_options,
                                                     .stripes = 4};
static const mcds_counter_options *counter_options;

static void make_counter_of(struct world *world, const mcds_counter_options *options)
{
    mcds_counter *counter = NULL;
    counter_options = options;
    assert_int_equal(mcds_counter_open(world->store, "x", options, &counter), MCDS_OK);
    assert_int_equal(mcds_counter_add(counter, 5, NULL), MCDS_OK);
    assert_int_equal(mcds_counter_flush(counter), MCDS_OK);
    mcds_counter_close(counter);
}

static void make_plain(struct world *world)
{
    make_counter_of(world, NULL);
}

static void make_exact(struct world *world)
{
    make_counter_of(world, &exact_options);
}

static void make_striped(struct world *world)
{
    make_counter_of(world, &striped_options);
}

static int get_counter(struct world *world)
{
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    WITH(counter, counter_options, mcds_counter_get(counter, &value));
}

static int add_to_counter(struct world *world)
{
    mcds_counter *counter = NULL;
    assert_int_equal(mcds_counter_open(world->store, "x", counter_options, &counter), MCDS_OK);
    int result = mcds_counter_add(counter, 1, NULL);
    if (result == MCDS_OK)
        result = mcds_counter_flush(counter);
    mcds_counter_close(counter);
    return result;
}

static int drop_counter(struct world *world)
{
    WITH(counter, counter_options, mcds_counter_drop(counter));
}

static void make_lock(struct world *world)
{
    mcds_lock *lock = NULL;
    mcds_lease lease = MCDS_LEASE_INIT;
    assert_int_equal(mcds_lock_open(world->store, "x", NULL, &lock), MCDS_OK);
    assert_int_equal(mcds_lock_try_acquire(lock, &lease), MCDS_OK);
    mcds_lock_close(lock);
}

static int look_at_lock(struct world *world)
{
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    WITH(lock, NULL, mcds_lock_get_holder(lock, &holder));
}

static int acquire_lock(struct world *world)
{
    mcds_lease lease = MCDS_LEASE_INIT;
    WITH(lock, NULL, mcds_lock_try_acquire(lock, &lease));
}

static int break_lock(struct world *world)
{
    WITH(lock, NULL, mcds_lock_break(lock));
}

static const struct subject subjects[] = {
    {"set", true, make_set, scan_set, add_to_set, drop_set},
    {"set, one element", true, make_set, has_in_set, add_to_set, drop_set},
    {"set as list", true, make_list_of_set, scan_list_of_set, add_to_list_of_set,
     drop_list_of_set},
    {"table", true, make_table, scan_table, incr_in_table, drop_table},
    {"list", false, make_list, scan_list, push, drop_list},
    {"list, long", false, make_long_list, scan_long_list, push, drop_list},
    {"log", false, make_log, scan_log, put_in_log, drop_log},
    {"log, long", false, make_long_log, scan_long_log, put_in_log, drop_log},
    {"array", false, make_array, scan_array, change_array, drop_array},
    {"visitors", false, make_visitors, get_visitors, hit_visitors, drop_visitors},
    {"online", false, make_online, get_online, beat_online, drop_online},
    {"counter", false, make_plain, get_counter, add_to_counter, drop_counter},
    {"counter, exact", false, make_exact, get_counter, add_to_counter, drop_counter},
    {"counter, striped", false, make_striped, get_counter, add_to_counter, drop_counter},
    {"lock", false, make_lock, look_at_lock, acquire_lock, break_lock},
};

static void begin(struct world *world, bool (*hook)(void *context, mcds_request *request))
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 3);
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.hook = hook;
    world->backend.context = world;
}

static int call(struct world *world, int (*verb)(struct world *world))
{
    uint64_t before = world->backend.batches;
    world->seen = 0;
    world->fuse = before + FUSE;
    int result = verb(world);
    world->fuse = 0;
    uint64_t trips = world->backend.batches - before;
    if (trips > TRIPS_MAX)
        fail_msg("%u round trips: %s", (unsigned)trips, mcds_errmsg());
    return result;
}

static void with_other_flags(struct world *world, const struct world *saved,
                             const struct subject *subject, uint32_t number, uint32_t flags)
{
    const struct item *item = &saved->items[number];
    int (*const verbs[])(struct world * world) = {subject->read, subject->write, subject->drop};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        restore(world, saved);
        put(world, item, flags);
        int result = call(world, verbs[i]);
        bool is_wrong = result == LESS || result == MCDS_TIMEOUT || result == MCDS_BUSY ||
                        (subject->is_map && i == 0 && result != MCDS_CORRUPT &&
                         result != MCDS_LOST && result != MCDS_OK);
        if (is_wrong && !(result == MCDS_BUSY && strcmp(subject->name, "lock") == 0))
            fail_msg("%s, verb %u: %s with flags %u instead of %u: result %d, %s",
                     subject->name, (unsigned)i, item->key, (unsigned)flags,
                     (unsigned)item->flags, result, mcds_errmsg());
    }
}

/* With these flags a segment looks like the mark after the last one. A push or a put must not take
 * the stream for ended: with the right flags everything is there again. */
static void keeps_all(struct world *world, const struct world *saved,
                      const struct subject *subject, uint32_t number)
{
    restore(world, saved);
    put(world, &saved->items[number], UINT32_MAX);
    int result = call(world, subject->write);
    put(world, &saved->items[number], saved->items[number].flags);
    int after = call(world, subject->read);
    if (after != MCDS_OK)
        fail_msg("%s: after a write with %s as a mark, which was %d: %d", subject->name,
                 saved->items[number].key, result, after);
}

static void try_subject(const struct subject *subject)
{
    static struct world world;
    static struct world saved;
    begin(&world, burn);
    subject->make(&world);
    save(&world);
    saved = world;
    for (uint32_t i = 0; i < saved.count; i++) {
        uint32_t flags = saved.items[i].flags;
        const uint32_t others[] = {flags ^ 1, flags ^ 2, flags ^ 3, flags ^ 16, 0, UINT32_MAX};
        for (size_t j = 0; j < sizeof others / sizeof others[0]; j++)
            if (others[j] != flags)
                with_other_flags(&world, &saved, subject, i, others[j]);
        if (strstr(saved.items[i].key, ":lp1:") != NULL ||
            strstr(saved.items[i].key, ":ep1:") != NULL)
            keeps_all(&world, &saved, subject, i);
    }
    mcds_close(world.store);
    assert_int_equal(world.fake.blocks, 0);
}

static void other_flags_are_noticed_at_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++)
        try_subject(&subjects[i]);
}

/* Reads of the flags show another root than reads of the value, as no store does. */
static bool contradict(void *context, mcds_request *request)
{
    struct world *world = context;
    if (request->command == MCDS_GET && (request->options & MCDS_NO_VALUE) != 0 &&
        request->key.length == strlen("mcds:t2:x")) {
        request->reply.outcome = MCDS_OUT_OK;
        request->reply.flags = 1;
        return true;
    }
    return burn(world, request);
}

static void reads_that_contradict_each_other_end(void **state)
{
    (void)state;
    static struct world world;
    begin(&world, burn);
    make_table(&world);
    world.backend.hook = contradict;
    uint64_t before = world.backend.batches;
    world.fuse = before + FUSE;
    assert_int_equal(scan_table(&world), MCDS_BUSY);
    mcds_close(world.store);
    assert_int_equal(world.fake.blocks, 0);
}

/* A root is refused with its key and the reason. */
static void a_root_with_other_flags_is_corrupt(void **state)
{
    (void)state;
    static struct world world;
    begin(&world, burn);
    make_table(&world);
    save(&world);
    for (uint32_t i = 0; i < world.count; i++)
        if (strcmp(world.items[i].key, "mcds:t2:x") == 0)
            put(&world, &world.items[i], world.items[i].flags ^ 1);
    assert_int_equal(call(&world, scan_table), MCDS_CORRUPT);
    assert_string_equal(
        mcds_errmsg(),
        "table 'x': scan: key mcds:t2:x: its key holds something that mcds did not "
        "write");
    assert_int_equal(call(&world, incr_in_table), MCDS_CORRUPT);
    assert_int_equal(call(&world, drop_table), MCDS_CORRUPT);
    mcds_close(world.store);
}

/* In a log, no segment is a mark: its events are not passed in silence, in whatever order. */
static void a_segment_of_a_log_is_no_mark(void **state)
{
    (void)state;
    static struct world world;
    mcds_log *log = NULL;
    begin(&world, burn);
    make_long_log(&world);
    save(&world);
    assert_int_equal(mcds_log_open(world.store, "x", &short_log, &log), MCDS_OK);
    for (uint32_t i = 0; i < world.count; i++) {
        struct item *item = &world.items[i];
        mcds_log_range range = MCDS_LOG_RANGE_INIT;
        mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
        mcds_log_info scanned = MCDS_LOG_INFO_INIT;
        mcds_log_info followed = MCDS_LOG_INFO_INIT;
        range.newest_first = true;
        if (item->length < LONG_LENGTH)
            continue;
        put(&world, item, UINT32_MAX);
        cursor.from_ms = 1;
        assert_int_equal(mcds_log_scan(log, &range, see_event, &world, &scanned), MCDS_OK);
        assert_int_equal(scanned.corrupt, 1);
        world.seen = 0;
        for (int call = 0; call < 3; call++)
            assert_int_equal(mcds_log_tail(log, &cursor, see_event, &world, &followed),
                             MCDS_OK);
        assert_int_equal(followed.corrupt, 1);
        assert_in_range(world.seen, 1, LONG_ELEMENTS - 1); /* those of the other segment */
        put(&world, item, item->flags);
    }
    mcds_log_close(log);
    mcds_close(world.store);
    assert_int_equal(world.fake.blocks, 0);
}

/* The mark of a dropped life is the only key that this handle has not seen. */
static void damage_mark(struct world *world)
{
    struct item *mark = NULL;
    list_keys(world);
    for (uint32_t i = 0; i < world->count; i++)
        mark = &world->items[i];
    assert_true(world->count == 1 && mark != NULL);
    mark->length = 1;
    mark->bytes[0] = 0;
    put(world, mark, mark->flags);
}

#define DAMAGED_MARK(kind, options, read)                                                      \
    static struct world world;                                                                 \
    mcds_##kind *kind = NULL;                                                                  \
    begin(&world, burn);                                                                       \
    make_##kind(&world);                                                                       \
    assert_int_equal(mcds_##kind##_open(world.store, "x", options, &kind), MCDS_OK);           \
    assert_int_equal(read, MCDS_OK);                                                           \
    assert_int_equal(drop_##kind(&world), MCDS_OK);                                            \
    save(&world);                                                                              \
    damage_mark(&world);                                                                       \
    assert_int_equal(read, MCDS_CORRUPT);                                                      \
    mcds_##kind##_close(kind);                                                                 \
    mcds_close(world.store)

static void a_log_whose_mark_has_contents_is_corrupt(void **state)
{
    (void)state;
    DAMAGED_MARK(log, &short_log, mcds_log_scan(log, NULL, see_event, &world, NULL));
}

static void a_set_whose_mark_has_contents_is_corrupt(void **state)
{
    (void)state;
    DAMAGED_MARK(set, NULL, mcds_set_has(set, element(7)));
}

static void a_table_whose_mark_has_contents_is_corrupt(void **state)
{
    (void)state;
    DAMAGED_MARK(table, NULL, mcds_table_has(table, element(7)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_flags_are_noticed_at_once),
        cmocka_unit_test(reads_that_contradict_each_other_end),
        cmocka_unit_test(a_root_with_other_flags_is_corrupt),
        cmocka_unit_test(a_segment_of_a_log_is_no_mark),
        cmocka_unit_test(a_log_whose_mark_has_contents_is_corrupt),
        cmocka_unit_test(a_set_whose_mark_has_contents_is_corrupt),
        cmocka_unit_test(a_table_whose_mark_has_contents_is_corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
