/* A server that always has one more answer, so that a visit or a drop never completes: the call
 * ends anyway. Virtual time: each request takes some time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "core/map/map.h"
#include "core/segment/segment.h"
#include "mcds.h"
#include "structures/structure.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define ROWS 60000
#define VALUES 600
#define SLOW_MS (TIMEOUT_MS / 4) /* with all requests less than half: the time of a first try */
#define TIMEOUT_MS 1000
/* Of one of them, 64 are less than a timeout. */
#define REQUEST_MS 2
/* What a call may take where nothing comes of it, in timeouts, and what is far too much. */
#define SLICE_TIMEOUTS 17
#define CALL_TIMEOUTS 1025
#define FUSE_TIMEOUTS 1200
#define INCARNATION 77

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    bool is_endless;
    bool has_parts;      /* of a list or log; else it has keys of a map */
    bool has_records;    /* one in each part */
    uint8_t record_flag; /* of each: MCDS__SEGMENT_FILED in a log */
    uint32_t records;
    char root[252];
    char mark[252];      /* where a clear has put an end */
    size_t first_length; /* of the first key of the map */
    int64_t until_ns;
    uint64_t slowness_ms; /* of every batch, besides */
    uint64_t batches;
    uint32_t seen;
};

static bool is_key(const mcds_request *request, const char *key)
{
    return request->key.length == strlen(key) &&
           memcmp(request->key.data, key, request->key.length) == 0;
}

static void submit(struct world *world, mcds_request request)
{
    mcds_batch batch = {.requests = &request, .count = 1, .deadline_ns = INT64_MAX};
    mcds__backend_memory.submit(world->backend.inner, &batch);
    assert_int_equal(request.reply.outcome, MCDS_OUT_OK);
}

/* Answer as if the store held this under the key that is asked for. */
static bool pretend(struct world *world, mcds_request *asked, uint32_t flags, mcds_bytes value)
{
    submit(world, (mcds_request){
                      .command = MCDS_SET, .key = asked->key, .flags = flags, .value = value});
    mcds__backend_memory.submit(world->backend.inner, world->backend.batch);
    submit(world, (mcds_request){.command = MCDS_DELETE, .key = asked->key});
    return true;
}

/* Everything above the deepest level has been split, and what is there is empty. */
static bool pretend_key(struct world *world, mcds_request *request)
{
    static const uint8_t nothing[MCDS__MAP_HEAD + 2];
    const struct mcds__map_head head = {.rewrites = 1};
    mcds_buffer value;
    /* A letter after the digits is one level, a digit two. */
    const char *name = request->key.data;
    size_t longer = request->key.length - world->first_length;
    bool is_leaf = longer > MCDS__MAP_DEPTH_MAX / 2 && name[request->key.length - 1] < 'w';
    mcds__buffer_init(&value, mcds_env_system(), 4096);
    assert_true(mcds_buffer_append(&value, nothing, sizeof nothing));
    enum mcds__map_state map_state = is_leaf ? MCDS__MAP_OPEN : MCDS__MAP_MOVED;
    uint32_t flags = mcds__map_flags(map_state, value.length, 0);
    mcds__map_seal_head(&value, request->key, flags, &head);
    (void)pretend(world, request, flags, (mcds_bytes){value.data, value.length});
    mcds__buffer_free(&value);
    return true;
}

/* A part that is closed and holds one record, which no other part holds. */
static bool pretend_record(struct world *world, mcds_request *request)
{
    uint8_t whole[MCDS__SEGMENT_LIMIT + 1] = {0};
    mcds_buffer record;
    mcds__buffer_init(&record, mcds_env_system(), 4096);
    assert_true(mcds__segment_put(
        &record, &(struct mcds__segment_record){.flags = world->record_flag,
                                                .writer = 1,
                                                .seq = ++world->records,
                                                .filed_ms = world->fake.wall_ns / 1000000,
                                                .payload = mcds_text("v")}));
    mcds__segment_address(record.data, record.length, mcds__segment_key_sum(request->key), 0);
    size_t begin = mcds__segment_put_opening(whole, request->key, INCARNATION);
    memcpy(whole + begin, record.data, record.length);
    mcds__buffer_free(&record);
    return pretend(world, request, INCARNATION, (mcds_bytes){whole, sizeof whole});
}

/* Every part is closed, and holds nothing that can be read. */
static bool pretend_part(struct world *world, mcds_request *request)
{
    static const char filler[MCDS__SEGMENT_LIMIT + 1];
    return !is_key(request, world->mark) &&
           pretend(world, request, INCARNATION, (mcds_bytes){filler, sizeof filler});
}

static bool answer(void *context, mcds_request *request)
{
    struct world *world = context;
    fake_env_advance_ms(&world->fake, REQUEST_MS);
    if (world->batches != world->backend.batches)
        fake_env_advance_ms(&world->fake, (int64_t)world->slowness_ms);
    world->batches = world->backend.batches;
    if (world->until_ns > 0 && world->fake.monotonic_ns > world->until_ns)
        fail_msg("it goes on for ever");
    if (!world->is_endless || is_key(request, world->root))
        return false;
    if (world->has_parts && request->command == MCDS_ADD)
        (void)snprintf(world->mark, sizeof world->mark, "%.*s", (int)request->key.length,
                       (const char *)request->key.data);
    if (request->command == MCDS_DELETE) {
        request->reply.outcome = MCDS_OUT_OK;
        return true;
    }
    if (request->command != MCDS_GET)
        return false;
    if (world->has_records)
        return pretend_record(world, request);
    if (world->has_parts)
        return pretend_part(world, request);
    return request->key.length >= world->first_length && pretend_key(world, request);
}

/* The root is the shortest key, the first of the map comes next. */
static bool note_key(void *context, mcds_bytes key)
{
    struct world *world = context;
    char text[252];
    (void)snprintf(text, sizeof text, "%.*s", (int)key.length, (const char *)key.data);
    if (world->root[0] == '\0' || key.length < strlen(world->root)) {
        world->first_length = strlen(world->root);
        memcpy(world->root, text, sizeof text);
    } else if (world->first_length == 0 || key.length < world->first_length) {
        world->first_length = key.length;
    }
    return true;
}

static void begin(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 5);
    options.env = &world->fake.env;
    options.timeout_ms = TIMEOUT_MS;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.hook = answer;
    world->backend.context = world;
}

static void turn_endless(struct world *world, bool has_parts)
{
    assert_int_equal(
        mcds__backend_memory.keys(world->backend.inner, (mcds_bytes){"", 0}, note_key, world),
        MCDS_OK);
    world->has_parts = has_parts;
    world->slowness_ms = TIMEOUT_MS / 10;
    world->is_endless = true;
    world->until_ns = world->fake.monotonic_ns + (int64_t)FUSE_TIMEOUTS * TIMEOUT_MS * 1000000;
}

/* Since `from_ns`, in timeouts. */
static int64_t timeouts_since(const struct world *world, int64_t from_ns)
{
    return (world->fake.monotonic_ns - from_ns) / (TIMEOUT_MS * INT64_C(1000000));
}

static void end(struct world *world)
{
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static bool note_row(void *context, mcds_bytes key, mcds_bytes value)
{
    struct world *world = context;
    (void)key;
    (void)value;
    world->seen++;
    return true;
}

static mcds_table *make_table(struct world *world, uint32_t rows)
{
    mcds_table *table = NULL;
    assert_int_equal(mcds_table_open(world->store, "t", NULL, &table), MCDS_OK);
    for (uint32_t i = 0; i < rows; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "row-%u", (unsigned)i);
        assert_int_equal(mcds_table_put(table, mcds_text(key), mcds_text("v"), 0), MCDS_OK);
    }
    return table;
}

static void a_scan_of_a_table(void **state)
{
    static struct world world;
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    (void)state;
    begin(&world);
    mcds_table *table = make_table(&world, 1);
    turn_endless(&world, false);
    int64_t from_ns = world.fake.monotonic_ns;
    assert_int_equal(mcds_table_scan(table, &cursor, 0, note_row, &world), MCDS_TIMEOUT);
    assert_in_range(timeouts_since(&world, from_ns), 1, SLICE_TIMEOUTS);
    assert_false(cursor.done);
    mcds_table_close(table);
    end(&world);
}

static void a_drop_of_a_set(void **state)
{
    static struct world world;
    mcds_set *set = NULL;
    (void)state;
    begin(&world);
    assert_int_equal(mcds_set_open(world.store, "s", NULL, &set), MCDS_OK);
    assert_int_equal(mcds_set_add(set, mcds_text("a"), NULL), MCDS_OK);
    turn_endless(&world, false);
    int64_t from_ns = world.fake.monotonic_ns;
    assert_int_equal(mcds_set_drop(set), MCDS_AMBIGUOUS);
    assert_in_range(timeouts_since(&world, from_ns), 1, SLICE_TIMEOUTS);
    mcds_set_close(set);
    end(&world);
}

/* As long as it brings something, a scan may take longer, and so may a drop that comes forward. */
static void what_comes_forward_may_take_long(void **state)
{
    static struct world world;
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    (void)state;
    begin(&world);
    mcds_table *table = make_table(&world, ROWS);
    world.slowness_ms = TIMEOUT_MS * 2 / 10;
    int64_t from_ns = world.fake.monotonic_ns;
    assert_int_equal(mcds_table_scan(table, &cursor, 0, note_row, &world), MCDS_OK);
    assert_int_equal(world.seen, ROWS);
    assert_true(timeouts_since(&world, from_ns) > SLICE_TIMEOUTS);
    from_ns = world.fake.monotonic_ns;
    assert_int_equal(mcds_table_drop(table), MCDS_OK);
    assert_true(timeouts_since(&world, from_ns) > SLICE_TIMEOUTS);
    mcds_table_close(table);
    end(&world);
}

static mcds_list *make_list(struct world *world)
{
    mcds_list *list = NULL;
    begin(world);
    assert_int_equal(mcds_list_open(world->store, "l", NULL, &list), MCDS_OK);
    assert_int_equal(mcds_list_push(list, mcds_text("a")), MCDS_OK);
    turn_endless(world, true);
    return list;
}

static void a_list(void **state)
{
    static struct world world;
    (void)state;
    mcds_list *list = make_list(&world);
    int64_t from_ns = world.fake.monotonic_ns;
    assert_int_equal(mcds_list_drop(list), MCDS_OK); /* what is left does no harm */
    assert_in_range(timeouts_since(&world, from_ns), 1, CALL_TIMEOUTS);
    mcds_list_close(list);
    end(&world);
}

static bool note_value(void *context, mcds_bytes value)
{
    struct world *world = context;
    (void)value;
    world->seen++;
    return true;
}

static bool note_event(void *context, const mcds_log_event *event)
{
    struct world *world = context;
    (void)event;
    world->seen++;
    return true;
}

/* A scan of nothing new lasts a timeout. */
static void a_scan_of_a_list(void **state)
{
    static struct world world;
    (void)state;
    mcds_list *list = make_list(&world);
    int64_t from_ns = world.fake.monotonic_ns;
    assert_int_equal(mcds_list_scan(list, 0, 0, note_value, &world), MCDS_TIMEOUT);
    assert_in_range(timeouts_since(&world, from_ns), 1, 2);
    mcds_list_close(list);
    end(&world);
}

/* Each reply brings values that nobody has pushed. */
static void values_without_end_end(void **state)
{
    static struct world world;
    (void)state;
    mcds_list *list = make_list(&world);
    world.has_records = true;
    world.slowness_ms = SLOW_MS;
    int64_t from_ns = world.fake.monotonic_ns;
    assert_int_equal(mcds_list_scan(list, 0, 0, note_value, &world), MCDS_TIMEOUT);
    assert_in_range(timeouts_since(&world, from_ns), 1, CALL_TIMEOUTS);
    assert_true(world.seen > 0);
    mcds_list_close(list);
    end(&world);
}

static bool take_long(void *context, mcds_bytes value)
{
    struct world *world = context;
    (void)value;
    world->seen++;
    fake_env_advance_ms(&world->fake, 2 * TIMEOUT_MS);
    return true;
}

/* The time in the caller's function is not the server's. */
static void a_visitor_may_take_long(void **state)
{
    static struct world world;
    static const char text[1000];
    mcds_list *list = NULL;
    (void)state;
    begin(&world);
    assert_int_equal(mcds_list_open(world.store, "l", NULL, &list), MCDS_OK);
    for (uint32_t i = 0; i < VALUES; i++)
        assert_int_equal(mcds_list_push(list, (mcds_bytes){text, sizeof text}), MCDS_OK);
    int64_t from_ns = world.fake.monotonic_ns;
    assert_int_equal(mcds_list_scan(list, 0, 0, take_long, &world), MCDS_OK);
    assert_int_equal(world.seen, VALUES);
    assert_true(timeouts_since(&world, from_ns) > CALL_TIMEOUTS);
    mcds_list_close(list);
    end(&world);
}

static mcds_log *make_log(struct world *world)
{
    mcds_log *log = NULL;
    begin(world);
    assert_int_equal(mcds_log_open(world->store, "g", NULL, &log), MCDS_OK);
    assert_int_equal(mcds_log_put(log, 0, mcds_text("a")), MCDS_OK);
    turn_endless(world, true);
    world->record_flag = MCDS__SEGMENT_FILED;
    return log;
}

/* What each part holds cannot be read, or is an event that nobody has put. */
static void scan_a_log(bool has_records, bool newest_first)
{
    static struct world world;
    mcds_log *log = make_log(&world);
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    range.newest_first = newest_first;
    world.has_records = has_records;
    world.slowness_ms = has_records && !newest_first ? SLOW_MS : TIMEOUT_MS / 10;
    int64_t from_ns = world.fake.monotonic_ns;
    assert_int_equal(mcds_log_scan(log, &range, note_event, &world, NULL), MCDS_TIMEOUT);
    assert_in_range(timeouts_since(&world, from_ns), 1, has_records ? CALL_TIMEOUTS : 2);
    assert_int_equal(world.seen > 0, has_records);
    mcds_log_close(log);
    end(&world);
}

static void a_scan_of_a_log(void **state)
{
    (void)state;
    scan_a_log(false, false);
    scan_a_log(false, true);
}

static void events_without_end_end(void **state)
{
    (void)state;
    scan_a_log(true, false);
    scan_a_log(true, true);
}

static void follow_a_log(bool has_records)
{
    static struct world world;
    mcds_log *log = make_log(&world);
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    cursor.from_ms = world.fake.wall_ns / 1000000 - 1000;
    world.has_records = has_records;
    world.slowness_ms = has_records ? SLOW_MS : TIMEOUT_MS / 10;
    int64_t from_ns = world.fake.monotonic_ns;
    assert_int_equal(mcds_log_tail(log, &cursor, note_event, &world, NULL), MCDS_TIMEOUT);
    assert_in_range(timeouts_since(&world, from_ns), 1, has_records ? CALL_TIMEOUTS : 2);
    assert_int_equal(world.seen > 0, has_records);
    mcds_log_close(log);
    end(&world);
}

static void a_tail_of_a_log(void **state)
{
    (void)state;
    follow_a_log(false);
    follow_a_log(true);
}

static void a_log(void **state)
{
    static struct world world;
    (void)state;
    mcds_log *log = make_log(&world);
    int64_t from_ns = world.fake.monotonic_ns;
    assert_int_equal(mcds_log_drop(log), MCDS_AMBIGUOUS);
    assert_in_range(timeouts_since(&world, from_ns), 1, CALL_TIMEOUTS);
    mcds_log_close(log);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scan_of_a_table),
        cmocka_unit_test(a_drop_of_a_set),
        cmocka_unit_test(what_comes_forward_may_take_long),
        cmocka_unit_test(a_list),
        cmocka_unit_test(a_log),
        cmocka_unit_test(a_scan_of_a_list),
        cmocka_unit_test(values_without_end_end),
        cmocka_unit_test(a_visitor_may_take_long),
        cmocka_unit_test(a_scan_of_a_log),
        cmocka_unit_test(events_without_end_end),
        cmocka_unit_test(a_tail_of_a_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
