/* A cursor belongs to one log: another log refuses it and leaves it unchanged. It reports a
 * loss once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define OK(call) assert_int_equal(MCDS_OK, call)

static bool count_one(void *context, const mcds_log_event *event)
{
    (void)event;
    ++*(int *)context;
    return true;
}

static mcds_store *open_store(struct fake_env *fake, const char *uri)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_store *store;
    options.env = &fake->env;
    OK(mcds_open(uri, &options, &store));
    return store;
}

static mcds_log *open_log(mcds_store *store, const char *name)
{
    mcds_log *log;
    OK(mcds_log_open(store, name, NULL, &log));
    return log;
}

static void put(mcds_log *log, int count)
{
    for (int i = 0; i < count; i++)
        OK(mcds_log_put(log, 0, mcds_text("event")));
}

/* How many events the cursor gets; it is saved and loaded first. */
static int tail(mcds_log *log, mcds_log_cursor *cursor)
{
    char text[MCDS_LOG_CURSOR_TEXT];
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    int count = 0;
    mcds_log_cursor_save(cursor, text);
    memset(cursor, 0xff, sizeof *cursor);
    OK(mcds_log_cursor_load(cursor, text));
    OK(mcds_log_tail(log, cursor, count_one, &count, &info));
    assert_int_equal(info.gaps, 0);
    return count;
}

struct positions {
    const mcds_log_cursor *cursor;
    mcds_log_cursor after[8];
    int count;
};

static bool keep_position(void *context, const mcds_log_event *event)
{
    struct positions *positions = context;
    (void)event;
    positions->after[positions->count++] = *positions->cursor;
    return true;
}

/* A copy of the cursor that `visit` makes continues with the next event. */
static void a_copy_of_a_cursor_continues(void **state)
{
    struct fake_env fake;
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    struct positions positions = {&cursor, {MCDS_LOG_CURSOR_INIT}, 0};
    (void)state;
    fake_env_init(&fake, 1);
    mcds_store *store = open_store(&fake, "memory:");
    mcds_log *log = open_log(store, "q");
    cursor.from_ms = 1;
    put(log, 5);
    OK(mcds_log_tail(log, &cursor, keep_position, &positions, NULL));
    assert_int_equal(positions.count, 5);
    for (int i = 0; i < positions.count; i++)
        assert_int_equal(tail(log, &positions.after[i]), 4 - i);
    mcds_log_close(log);
    mcds_close(store);
}

static void check_refused(mcds_log *log, const mcds_log_cursor *cursor, const char *sentence)
{
    mcds_log_cursor used = *cursor;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    int count = 0;
    assert_int_equal(MCDS_INVALID, mcds_log_tail(log, &used, count_one, &count, &info));
    assert_string_equal(mcds_errmsg(), sentence);
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_BAD_CURSOR);
    assert_int_equal(count, 0);
    assert_int_equal(info.gaps, 0);
    assert_memory_equal(&used, cursor, sizeof used);
}

static void a_cursor_of_another_log_is_refused(void **state)
{
    struct fake_env fake;
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    (void)state;
    fake_env_init(&fake, 1);
    mcds_store *store = open_store(&fake, "memory:one");
    mcds_store *strange = open_store(&fake, "memory:one?ns=strange");
    mcds_log *q = open_log(store, "q:1");
    mcds_log *o = open_log(store, "o");
    mcds_log *q_strange = open_log(strange, "q:1");
    put(q, 3);
    put(o, 2);
    put(q_strange, 2);
    cursor.from_ms = 1;
    assert_int_equal(tail(q, &cursor), 3);
    check_refused(o, &cursor,
                  "log 'o': tail: the cursor belongs to log 'q:1'; begin a new cursor");
    check_refused(q_strange, &cursor,
                  "log 'q:1': tail: the cursor belongs to log 'q:1' of namespace 'mcds'; begin "
                  "a new cursor");
    put(q, 1);
    assert_int_equal(tail(q, &cursor), 1);
    mcds_log_close(q);
    mcds_log_close(o);
    mcds_log_close(q_strange);
    mcds_close(strange);
    mcds_close(store);
}

#define OTHER_STORE                                                                            \
    "log 'q': tail: the cursor belongs to a log of this name in another store; begin a new "   \
    "cursor"

static void a_cursor_of_another_store_is_refused(void **state)
{
    struct fake_env fake;
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    mcds_log_cursor empty = MCDS_LOG_CURSOR_INIT;
    (void)state;
    fake_env_init(&fake, 1);
    mcds_store *store = open_store(&fake, "memory:one");
    mcds_store *other = open_store(&fake, "memory:two");
    mcds_store *again = open_store(&fake, "memory:one?strict=0");
    mcds_log *q = open_log(store, "q");
    mcds_log *q_other = open_log(other, "q");
    mcds_log *q_again = open_log(again, "q");
    put(q, 3);
    cursor.from_ms = 1;
    assert_int_equal(tail(q, &cursor), 3);
    mcds_log_cursor unused = cursor;
    int count = 0;
    assert_int_equal(MCDS_NOT_FOUND, mcds_log_tail(q_other, &cursor, count_one, &count, NULL));
    assert_memory_equal(&unused, &cursor, sizeof cursor);
    put(q_other, 2);
    check_refused(q_other, &cursor, OTHER_STORE);
    empty.from_ms = 1;
    assert_int_equal(tail(q_other, &empty), 2);
    put(q, 1);
    assert_int_equal(tail(q_again, &cursor), 1);
    mcds_log_close(q);
    mcds_log_close(q_other);
    mcds_log_close(q_again);
    mcds_close(again);
    mcds_close(other);
    mcds_close(store);
}

/* The server restarts: everything is gone. */
static void lose_all(struct hooked_backend *backend, struct fake_env *fake)
{
    static struct mcds_uri uri;
    mcds__backend_memory.close(backend->inner);
    OK(mcds__uri_parse("memory:", &uri));
    OK(mcds__backend_memory.open(&uri, &fake->env, &backend->inner));
}

static void check_told(mcds_log *log, mcds_log_cursor *cursor, int result, int events,
                       uint64_t gaps)
{
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    int count = 0;
    assert_int_equal(result, mcds_log_tail(log, cursor, count_one, &count, &info));
    assert_int_equal(count, events);
    assert_int_equal(info.gaps, gaps);
}

/* Whether the reader comes between the loss and the next put, or after it. */
static void a_loss_is_told_once(void **state)
{
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    mcds_store *store;
    (void)state;
    fake_env_init(&fake, 1);
    options.env = &fake.env;
    OK(hooked_backend_open(&backend, &options, &store));
    mcds_log *reader = open_log(store, "r");
    cursor.from_ms = 1;
    for (int i = 0; i < 6; i++) {
        mcds_log *writer = open_log(store, "r"); /* which knows nothing of a loss */
        put(writer, 2);
        check_told(reader, &cursor, MCDS_OK, 2, i > 0 && i % 2 == 0);
        lose_all(&backend, &fake);
        if (i % 2 == 0) {
            check_told(reader, &cursor, MCDS_NOT_FOUND, 0, 1);
            check_told(reader, &cursor, MCDS_NOT_FOUND, 0, 0);
        }
        mcds_log_close(writer);
    }
    mcds_log_close(reader);
    mcds_close(store);
}

/* Adds what the cursor gets to the events and gaps. */
static void follow(mcds_log *log, mcds_log_cursor *cursor, int *events, mcds_log_info *info)
{
    char text[MCDS_LOG_CURSOR_TEXT];
    mcds_log_cursor_save(cursor, text);
    OK(mcds_log_cursor_load(cursor, text));
    int result = mcds_log_tail(log, cursor, count_one, events, info);
    assert_true(result == MCDS_OK || result == MCDS_NOT_FOUND);
}

/* Writers whose handles were open before the loss record it, each with its first event after it.
 * Without `new_first`, one of them makes the log again. */
static void lose_before_writers(bool tails, bool new_first, bool one_at_once)
{
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT, late = MCDS_LOG_CURSOR_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT, late_info = MCDS_LOG_INFO_INIT;
    mcds_store *store;
    mcds_log *writers[3];
    int events = 0, late_events = 0;
    fake_env_init(&fake, 1);
    options.env = &fake.env;
    OK(hooked_backend_open(&backend, &options, &store));
    cursor.from_ms = late.from_ms = 1;
    for (int i = 0; i < 3; i++)
        put(writers[i] = open_log(store, "r"), 1);
    follow(writers[0], &cursor, &events, &info);
    assert_int_equal(info.gaps, 0);
    lose_all(&backend, &fake);
    if (tails)
        follow(writers[0], &cursor, &events, &info);
    mcds_log *fresh = open_log(store, "r");
    put(fresh, new_first);
    put(writers[0], one_at_once || !new_first);
    for (int i = 0; i < 3; i++) {
        follow(writers[0], &cursor, &events, &info);
        assert_int_equal(info.gaps, 1);
        follow(writers[0], &late, &late_events, &late_info);
        put(writers[i], 1);
        put(fresh, 1);
    }
    follow(writers[0], &cursor, &events, &info);
    follow(writers[0], &late, &late_events, &late_info);
    assert_int_equal(info.gaps, 1);
    /* A writer that knows nothing makes another life of the log. */
    assert_int_equal(late_info.gaps, !new_first);
    assert_int_equal(late_events, 6 + new_first + (one_at_once || !new_first));
    assert_int_equal(events, 3 + late_events);
    mcds_log_close(fresh);
    for (int i = 0; i < 3; i++)
        mcds_log_close(writers[i]);
    mcds_close(store);
}

static void a_loss_that_writers_record_is_one_gap(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++)
        lose_before_writers((i & 1) != 0, (i & 2) != 0, (i & 4) != 0);
}

/* Six of these fill a segment. */
static void put_long(mcds_log *log, int count)
{
    static const char event[2600];
    for (int i = 0; i < count; i++)
        OK(mcds_log_put(log, 0, (mcds_bytes){event, sizeof event}));
}

struct search {
    int colons;
    const char *end;
    char key[252];
};

static bool find_key(void *context, mcds_bytes key)
{
    struct search *search = context;
    const char *text = key.data;
    size_t length = strlen(search->end);
    int colons = 0;
    for (size_t i = 0; i < key.length; i++)
        colons += text[i] == ':';
    if (colons == search->colons && key.length > length &&
        memcmp(text + key.length - length, search->end, length) == 0) {
        memcpy(search->key, text, key.length);
        search->key[key.length] = '\0';
    }
    return true;
}

/* The server evicts a segment of the only chunk, or, with "", its count. */
static void evict(struct hooked_backend *backend, const char *segment)
{
    struct search search = {segment[0] == '\0' ? 5 : 6, segment, ""};
    OK(mcds__backend_memory.keys(backend->inner, mcds_text("mcds:ep1:"), find_key, &search));
    mcds_request request = {.command = MCDS_DELETE, .key = mcds_text(search.key)};
    mcds_batch batch = {.requests = &request, .count = 1, .deadline_ns = INT64_MAX};
    mcds__backend_memory.submit(backend->inner, &batch);
    assert_int_equal(request.reply.outcome, MCDS_OUT_OK);
}

/* Only so many appends arrive. */
static bool refuse_appends(void *context, mcds_request *request)
{
    int *left = context;
    bool appends = request->command == MCDS_APPEND || request->command == MCDS_ADD;
    if (appends && *left == 0) {
        request->reply.outcome = MCDS_OUT_UNSENT;
        return true;
    }
    *left -= request->command == MCDS_APPEND;
    return false;
}

static void fail_put(struct hooked_backend *backend, mcds_log *log, int appends)
{
    backend->hook = refuse_appends;
    backend->context = &appends;
    assert_int_not_equal(mcds_log_put(log, 0, mcds_text("event")), MCDS_OK);
    backend->hook = NULL;
}

struct evictions {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_log *logs[3];
    mcds_log_cursor cursor;
    mcds_log_info info;
    int events;
};

static void begin_evictions(struct evictions *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 1);
    options.env = &world->fake.env;
    OK(hooked_backend_open(&world->backend, &options, &world->store));
    for (int i = 0; i < 3; i++)
        world->logs[i] = open_log(world->store, "r");
    world->cursor = (mcds_log_cursor)MCDS_LOG_CURSOR_INIT;
    world->info = (mcds_log_info)MCDS_LOG_INFO_INIT;
    world->cursor.from_ms = 1;
}

static void end_evictions(struct evictions *world)
{
    for (int i = 0; i < 3; i++)
        mcds_log_close(world->logs[i]);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

/* The first segment and the count are lost. A writer that has seen neither makes the segment, and
 * finds the next one: readers are past it. */
static void a_first_segment_made_again_is_followed(void **state)
{
    (void)state;
    struct evictions world;
    begin_evictions(&world);
    put(world.logs[2], 1); /* which makes the root */
    evict(&world.backend, ":0");
    fail_put(&world.backend, world.logs[1], 0); /* it has found no segment */
    put_long(world.logs[0], 8);
    follow(world.logs[2], &world.cursor, &world.events, &world.info);
    assert_int_equal(world.events, 8);
    evict(&world.backend, ":0");
    evict(&world.backend, "");
    put(world.logs[1], 1);
    follow(world.logs[2], &world.cursor, &world.events, &world.info);
    assert_int_equal(world.events, 9);
    end_evictions(&world);
}

/* A writer has seen the first segment, and finds another one, which is full. */
static void a_first_segment_that_was_filled_again_is_a_gap(void **state)
{
    (void)state;
    struct evictions world;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    begin_evictions(&world);
    put(world.logs[0], 1);
    evict(&world.backend, ":0");
    put(world.logs[1], 1);
    fail_put(&world.backend, world.logs[0], 0);
    put_long(world.logs[1], 7);
    put(world.logs[0], 1);
    OK(mcds_log_scan(world.logs[0], NULL, count_one, &world.events, &info));
    assert_int_equal(world.events, 9);
    assert_true(info.gaps > 0);
    end_evictions(&world);
}

/* The last request that makes a second segment. */
struct making {
    char key[252];
    uint8_t header[64];
    mcds_request request;
};

static bool keep_making(void *context, mcds_request *request)
{
    struct making *making = context;
    const char *end = (const char *)request->key.data + request->key.length - 2;
    if (request->command != MCDS_ADD || memcmp(end, ":1", 2) != 0)
        return false;
    assert_in_range(request->value.length, 1, sizeof making->header);
    memcpy(making->key, request->key.data, request->key.length);
    memcpy(making->header, request->value.data, request->value.length);
    making->request = *request;
    making->request.key.data = making->key;
    making->request.value.data = making->header;
    return false;
}

/* Two segments are lost. A late request makes the first of them again, and a writer that has seen
 * neither puts an event into it: readers are past it. */
static void a_segment_that_a_late_request_makes_is_followed(void **state)
{
    (void)state;
    static struct making making;
    struct evictions world;
    begin_evictions(&world);
    put(world.logs[1], 1);
    world.backend.hook = keep_making;
    world.backend.context = &making;
    put_long(world.logs[0], 20);
    world.backend.hook = NULL;
    follow(world.logs[2], &world.cursor, &world.events, &world.info);
    assert_int_equal(world.events, 21);
    evict(&world.backend, ":1");
    evict(&world.backend, ":2");
    making.request.flags ^= 2; /* each try has another number */
    mcds_batch late = {.requests = &making.request, .count = 1, .deadline_ns = INT64_MAX};
    mcds__backend_memory.submit(world.backend.inner, &late);
    assert_int_equal(making.request.reply.outcome, MCDS_OUT_OK);
    put(world.logs[1], 1);
    follow(world.logs[2], &world.cursor, &world.events, &world.info);
    assert_int_equal(world.events, 22);
    end_evictions(&world);
}

/* The first call finds no log, so all events are new, whatever their times. */
static void a_waiting_cursor_sees_late_events(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct fake_env fake;
        mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
        mcds_log_info info = MCDS_LOG_INFO_INIT;
        int events = 0;
        fake_env_init(&fake, 1);
        mcds_store *store = open_store(&fake, "memory:");
        mcds_log *log = open_log(store, "r");
        for (int k = 0; k < 2; k++) {
            follow(log, &cursor, &events, &info);
            fake.wall_ns += (i & 1) * INT64_C(3600000000000);
        }
        if ((i & 2) != 0) {
            put(log, 1);
            follow(log, &cursor, &events, &info);
        }
        OK(mcds_log_put(log, fake.wall_ns / 1000000 - 3000, mcds_text("late")));
        follow(log, &cursor, &events, &info);
        assert_int_equal(events, 1 + (i & 2) / 2);
        put(log, 1);
        follow(log, &cursor, &events, &info);
        assert_int_equal(events, 2 + (i & 2) / 2);
        assert_int_equal(info.gaps, 0);
        mcds_log_close(log);
        mcds_close(store);
    }
}

/* Where a program has changed the time of the last call, the latest is as good as any other, and
 * one before 1970 is refused. */
static void a_cursor_may_have_any_time(void **state)
{
    struct fake_env fake;
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    int count = 0;
    (void)state;
    fake_env_init(&fake, 1);
    mcds_store *store = open_store(&fake, "memory:");
    mcds_log *log = open_log(store, "q");
    put(log, 3);
    cursor.from_ms = 1;
    assert_int_equal(tail(log, &cursor), 3);
    cursor.polled_ms = INT64_MAX;
    (void)tail(log, &cursor);
    put(log, 1);
    assert_int_equal(tail(log, &cursor), 1);
    cursor.polled_ms = INT64_MIN;
    assert_int_equal(MCDS_INVALID, mcds_log_tail(log, &cursor, count_one, &count, &info));
    mcds_log_close(log);
    mcds_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_of_a_cursor_continues),
        cmocka_unit_test(a_cursor_may_have_any_time),
        cmocka_unit_test(a_cursor_of_another_log_is_refused),
        cmocka_unit_test(a_cursor_of_another_store_is_refused),
        cmocka_unit_test(a_loss_is_told_once),
        cmocka_unit_test(a_loss_that_writers_record_is_one_gap),
        cmocka_unit_test(a_first_segment_made_again_is_followed),
        cmocka_unit_test(a_first_segment_that_was_filled_again_is_a_gap),
        cmocka_unit_test(a_segment_that_a_late_request_makes_is_followed),
        cmocka_unit_test(a_waiting_cursor_sees_late_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
