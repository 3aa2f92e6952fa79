/* A log is dropped while another handle puts events into it: events put after the drop
 * exist, and what was dropped is no gap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define ROOT "mcds:e1:x"

struct race {
    struct hooked_backend backend;
    struct hooked_backend beside;
    mcds_log *writer;
    bool has_raced;
};

/* Two stores with the same items; only that of `backend` can have a hook. */
static void open_both(struct hooked_backend *backend, mcds_store **hooked_out,
                      struct hooked_backend *beside, mcds_store **plain_out,
                      const mcds_options *options)
{
    assert_int_equal(hooked_backend_open(backend, options, hooked_out), MCDS_OK);
    assert_int_equal(hooked_backend_open_beside(beside, backend, options, plain_out), MCDS_OK);
}

/* The parts have been erased, and the root has not. */
static bool put_before_the_root_goes(void *context, mcds_request *request)
{
    struct race *race = context;
    if (request->command != MCDS_DELETE || request->key.length != strlen(ROOT) ||
        memcmp(request->key.data, ROOT, strlen(ROOT)) != 0 || race->has_raced)
        return false;
    race->has_raced = true;
    assert_int_equal(mcds_log_put(race->writer, 0, mcds_text("between")), MCDS_OK);
    return false;
}

static bool count_after(void *context, const mcds_log_event *event)
{
    *(int *)context += event->event.length == 5 && memcmp(event->event.data, "after", 5) == 0;
    return true;
}

static void check_events(mcds_store *store, int expected)
{
    mcds_log *reader;
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    int count = 0;
    assert_int_equal(mcds_log_open(store, "x", NULL, &reader), MCDS_OK);
    assert_int_equal(mcds_log_scan(reader, &range, count_after, &count, &info), MCDS_OK);
    assert_int_equal(count, expected);
    assert_int_equal(info.gaps, 0);
    mcds_log_close(reader);
}

static void what_is_put_after_a_drop_is_there(void **state)
{
    static struct race race;
    struct fake_env fake;
    mcds_store *dropping;
    mcds_store *writing;
    mcds_log *dropper;
    mcds_options options = MCDS_OPTIONS_INIT;
    (void)state;
    fake_env_init(&fake, 1);
    options.env = &fake.env;
    open_both(&race.backend, &dropping, &race.beside, &writing, &options);
    assert_int_equal(mcds_log_open(dropping, "x", NULL, &dropper), MCDS_OK);
    assert_int_equal(mcds_log_open(writing, "x", NULL, &race.writer), MCDS_OK);
    assert_int_equal(mcds_log_put(race.writer, 0, mcds_text("before")), MCDS_OK);
    race.backend.hook = put_before_the_root_goes;
    race.backend.context = &race;
    assert_int_equal(mcds_log_drop(dropper), MCDS_OK);
    assert_true(race.has_raced);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(mcds_log_put(race.writer, 0, mcds_text("after")), MCDS_OK);
        check_events(writing, i);
    }
    mcds_log_close(race.writer);
    mcds_log_close(dropper);
    mcds_close(writing);
    mcds_close(dropping);
    assert_int_equal(fake.blocks, 0);
}

/* A writer adds the root. Others put into the life that it makes, follow it, and drop it: after that,
 * and before the writer tries again, because the reply to its read is lost; or before its request for a
 * root that was lost arrives. */
struct maker {
    struct hooked_backend backend;
    struct hooked_backend beside;
    mcds_log *other;
    mcds_log_cursor cursor;
    mcds_log_info info;
    int followed;
    bool has_added;
    bool has_lost;
};

/* True once. */
static bool use_and_drop(struct maker *maker)
{
    if (maker->has_lost)
        return false;
    maker->has_lost = true;
    assert_int_equal(mcds_log_put(maker->other, 0, mcds_text("after")), MCDS_OK);
    assert_int_equal(mcds_log_tail(maker->other, &maker->cursor, count_after, &maker->followed,
                                   &maker->info),
                     MCDS_OK);
    assert_int_equal(mcds_log_put(maker->other, 0, mcds_text("after")), MCDS_OK);
    assert_int_equal(mcds_log_drop(maker->other), MCDS_OK);
    return true;
}

static bool is_add_of_root(const mcds_request *request)
{
    return request->command == MCDS_ADD && request->key.length == strlen(ROOT) &&
           memcmp(request->key.data, ROOT, strlen(ROOT)) == 0;
}

static bool drop_before_the_second_add(void *context, mcds_request *request)
{
    struct maker *maker = context;
    maker->has_added = maker->has_added || is_add_of_root(request);
    if (!maker->has_added || request->command != MCDS_GET || !use_and_drop(maker))
        return false;
    request->reply.outcome = MCDS_OUT_UNKNOWN;
    return true;
}

static bool drop_before_the_add(void *context, mcds_request *request)
{
    if (is_add_of_root(request))
        (void)use_and_drop(context);
    return false;
}

/* The store loses the root of a log that both handles know. */
static void lose_root(struct maker *maker, mcds_log *writer)
{
    mcds_request loss = {.command = MCDS_DELETE, .key = mcds_text(ROOT)};
    mcds_batch batch = {.requests = &loss, .count = 1, .deadline_ns = INT64_MAX};
    assert_int_equal(mcds_log_put(writer, 0, mcds_text("before")), MCDS_OK);
    assert_int_equal(mcds_log_put(maker->other, 0, mcds_text("before")), MCDS_OK);
    mcds__backend_memory.submit(maker->backend.inner, &batch);
    assert_int_equal(loss.reply.outcome, MCDS_OUT_OK);
}

static void make_beside_a_drop(bool (*hook)(void *context, mcds_request *request), bool is_lost,
                               bool lacks_cas)
{
    static struct maker maker;
    struct fake_env fake;
    mcds_store *making;
    mcds_store *others;
    mcds_log *writer;
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(&maker, 0, sizeof maker);
    fake_env_init(&fake, 1);
    options.env = &fake.env;
    open_both(&maker.backend, &making, &maker.beside, &others, &options);
    maker.backend.lacks_cas = maker.beside.lacks_cas = lacks_cas;
    maker.info.size = sizeof maker.info;
    assert_int_equal(mcds_log_open(making, "x", NULL, &writer), MCDS_OK);
    assert_int_equal(mcds_log_open(others, "x", NULL, &maker.other), MCDS_OK);
    if (is_lost)
        lose_root(&maker, writer);
    maker.backend.hook = hook;
    maker.backend.context = &maker;
    assert_int_equal(mcds_log_put(writer, 0, mcds_text("after")), MCDS_OK);
    assert_true(maker.has_lost);
    for (int i = 0; i < 20; i++) {
        fake_env_sleep_until_ns(&fake, fake.monotonic_ns + INT64_C(10000000000));
        assert_int_equal(mcds_log_tail(maker.other, &maker.cursor, count_after, &maker.followed,
                                       &maker.info),
                         MCDS_OK);
    }
    assert_int_equal(maker.info.gaps, 0);
    check_events(others, 1);
    mcds_log_close(writer);
    mcds_log_close(maker.other);
    mcds_close(others);
    mcds_close(making);
    assert_int_equal(fake.blocks, 0);
}

static void a_root_whose_reply_was_lost_is_not_made_twice(void **state)
{
    (void)state;
    for (int lacks_cas = 0; lacks_cas <= 1; lacks_cas++) {
        make_beside_a_drop(drop_before_the_second_add, false, lacks_cas == 1);
        make_beside_a_drop(drop_before_the_second_add, true, lacks_cas == 1);
    }
}

static void a_lost_root_does_not_come_back_after_a_drop(void **state)
{
    (void)state;
    make_beside_a_drop(drop_before_the_add, true, false);
    make_beside_a_drop(drop_before_the_add, true, true);
}

/* Requests of a put that arrive after it has ended, and after the log was dropped: the `add` of the
 * root, which the store had lost, and the batch that makes a part and appends the event. */
#define LATE_MAX 3
#define LATE_BYTES 512
struct late {
    struct hooked_backend backend;
    struct hooked_backend beside;
    mcds_store *hooked;
    mcds_store *plain;
    mcds_log *writer;
    mcds_log *other;
    mcds_log_cursor cursor;
    mcds_log_info info;
    int followed;
    bool keeps; /* requests of the writer, from now on */
    bool has_root;
    uint32_t count;
    mcds_request kept[LATE_MAX];
    uint8_t bytes[LATE_MAX][2][LATE_BYTES];
};

/* Copies the request, to be executed later. */
static void keep_for_later(struct late *late, const mcds_request *request)
{
    uint32_t i = late->count++;
    mcds_request *kept = &late->kept[i];
    assert_true(i < LATE_MAX && request->key.length <= LATE_BYTES &&
                request->value.length <= LATE_BYTES);
    *kept = *request;
    memcpy(late->bytes[i][0], request->key.data, request->key.length);
    memcpy(late->bytes[i][1], request->value.data, request->value.length);
    kept->key.data = late->bytes[i][0];
    kept->value.data = late->bytes[i][1];
    kept->route = (mcds_bytes){NULL, 0};
}

/* The first request for the root arrives late, and a copy of each that stores the event. */
static bool delay(void *context, mcds_request *request)
{
    struct late *late = context;
    bool is_root = is_add_of_root(request);
    bool stores = request->command == MCDS_APPEND || (request->command == MCDS_ADD && !is_root);
    if (!late->keeps || late->has_root || (!is_root && !stores))
        return false;
    keep_for_later(late, request);
    late->has_root = is_root;
    if (is_root)
        request->reply.outcome = MCDS_OUT_UNKNOWN;
    return is_root;
}

static void submit(struct late *late, mcds_request *request)
{
    mcds_batch one = {.requests = request, .count = 1, .deadline_ns = INT64_MAX};
    mcds__backend_memory.submit(late->backend.inner, &one);
}

static void erase(struct late *late, const char *key)
{
    mcds_request loss = {.command = MCDS_DELETE, .key = mcds_text(key)};
    submit(late, &loss);
    assert_int_equal(loss.reply.outcome, MCDS_OUT_OK);
}

static void open_late(struct late *late, struct fake_env *fake)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(late, 0, sizeof *late);
    fake_env_init(fake, 1);
    options.env = &fake->env;
    open_both(&late->backend, &late->hooked, &late->beside, &late->plain, &options);
    late->info.size = sizeof late->info;
    assert_int_equal(mcds_log_open(late->hooked, "x", NULL, &late->writer), MCDS_OK);
    assert_int_equal(mcds_log_open(late->plain, "x", NULL, &late->other), MCDS_OK);
    late->backend.hook = delay;
    late->backend.context = late;
}

static void close_late(struct late *late, const struct fake_env *fake)
{
    mcds_log_close(late->writer);
    mcds_log_close(late->other);
    mcds_close(late->plain);
    mcds_close(late->hooked);
    assert_int_equal(fake->blocks, 0);
}

/* A put of an event of a new chunk finds the root lost and adds it, and its first try is late. */
static void put_late(struct late *late, struct fake_env *fake)
{
    assert_int_equal(mcds_log_put(late->writer, 0, mcds_text("after")), MCDS_OK);
    assert_int_equal(mcds_log_put(late->other, 0, mcds_text("after")), MCDS_OK);
    fake_env_sleep_until_ns(fake, fake->monotonic_ns + INT64_C(3600000000000));
    erase(late, ROOT);
    late->keeps = true;
    assert_int_equal(mcds_log_put(late->writer, 0, mcds_text("after")), MCDS_OK);
    late->keeps = false;
    assert_true(late->has_root && late->count == LATE_MAX);
}

static void follow(struct late *late, int expected)
{
    assert_int_equal(
        mcds_log_tail(late->other, &late->cursor, count_after, &late->followed, &late->info),
        expected);
    assert_int_equal(late->info.gaps, 0);
}

/* A handle that knows nothing finds no log. */
static void check_none(struct late *late)
{
    mcds_log *reader;
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    int count = 0;
    assert_int_equal(mcds_log_open(late->plain, "x", NULL, &reader), MCDS_OK);
    assert_int_equal(mcds_log_scan(reader, &range, count_after, &count, &info), MCDS_NOT_FOUND);
    assert_int_equal(count + (int)info.gaps, 0);
    mcds_log_close(reader);
}

static void a_late_root_does_not_come_back_after_a_drop(void **state)
{
    static struct late late;
    struct fake_env fake;
    (void)state;
    open_late(&late, &fake);
    put_late(&late, &fake);
    late.cursor.from_ms = 1;
    follow(&late, MCDS_OK);
    assert_int_equal(late.followed, 3);
    assert_int_equal(mcds_log_drop(late.other), MCDS_OK);
    for (uint32_t i = 0; i < late.count; i++)
        submit(&late, &late.kept[i]);
    check_none(&late);
    follow(&late, MCDS_NOT_FOUND);
    assert_int_equal(mcds_log_drop(late.other), MCDS_NOT_FOUND);
    for (int i = 1; i <= 3; i++) {
        mcds_log *log = i % 2 == 0 ? late.writer : late.other;
        assert_int_equal(mcds_log_put(log, 0, mcds_text("after")), MCDS_OK);
        check_events(late.plain, i);
        follow(&late, MCDS_OK);
        assert_int_equal(late.followed, 3 + i);
    }
    close_late(&late, &fake);
}

static int count_events(struct late *late, int *count_out)
{
    mcds_log *reader;
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    *count_out = 0;
    assert_int_equal(mcds_log_open(late->plain, "x", NULL, &reader), MCDS_OK);
    int result = mcds_log_scan(reader, &range, count_after, count_out, &info);
    mcds_log_close(reader);
    return result;
}

/* The exception of a server without cas: no root can be confirmed there, so the late root counts, and
 * with it what the late requests store. Another drop ends that. */
static void without_cas_a_late_root_comes_back(void **state)
{
    static struct late late;
    struct fake_env fake;
    int count;
    (void)state;
    open_late(&late, &fake);
    late.backend.lacks_cas = late.beside.lacks_cas = true;
    put_late(&late, &fake);
    assert_int_equal(mcds_log_drop(late.other), MCDS_OK);
    check_none(&late);
    for (uint32_t i = 0; i < late.count; i++)
        submit(&late, &late.kept[i]);
    assert_int_equal(count_events(&late, &count), MCDS_OK);
    assert_int_equal(count, 1);
    assert_int_equal(mcds_log_drop(late.other), MCDS_OK);
    check_none(&late);
    assert_int_equal(mcds_log_put(late.writer, 0, mcds_text("after")), MCDS_OK);
    check_events(late.plain, 1);
    close_late(&late, &fake);
}

/* The writer has added the lost root again and has found no mark. Before it confirms the root, the
 * log is dropped, and its first request for the root arrives. */
static bool drop_before_the_confirmation(void *context, mcds_request *request)
{
    struct late *late = context;
    bool confirms = late->keeps && request->command == MCDS_CAS &&
                    request->key.length == strlen(ROOT) &&
                    memcmp(request->key.data, ROOT, strlen(ROOT)) == 0;
    if (!confirms)
        return delay(context, request);
    late->keeps = false;
    assert_int_equal(mcds_log_drop(late->other), MCDS_OK);
    submit(late, &late->kept[late->count - 1]);
    assert_int_equal(late->kept[late->count - 1].reply.outcome, MCDS_OUT_OK);
    return false;
}

static uint32_t read_root_flags(struct late *late)
{
    mcds_request root = {.command = MCDS_GET, .options = MCDS_NO_VALUE, .key = mcds_text(ROOT)};
    submit(late, &root);
    assert_int_equal(root.reply.outcome, MCDS_OUT_OK);
    return root.reply.flags;
}

static void a_late_root_is_not_confirmed_after_a_drop(void **state)
{
    static struct late late;
    struct fake_env fake;
    (void)state;
    open_late(&late, &fake);
    late.backend.hook = drop_before_the_confirmation;
    assert_int_equal(mcds_log_put(late.writer, 0, mcds_text("after")), MCDS_OK);
    assert_int_equal(mcds_log_put(late.other, 0, mcds_text("after")), MCDS_OK);
    uint32_t dropped = read_root_flags(&late);
    fake_env_sleep_until_ns(&fake, fake.monotonic_ns + INT64_C(3600000000000));
    erase(&late, ROOT);
    late.keeps = true;
    assert_int_equal(mcds_log_put(late.writer, 0, mcds_text("after")), MCDS_OK);
    assert_true(late.has_root && !late.keeps);
    assert_int_not_equal(read_root_flags(&late) >> 2, dropped >> 2);
    check_events(late.plain, 1);
    close_late(&late, &fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_after_a_drop_is_there),
        cmocka_unit_test(a_root_whose_reply_was_lost_is_not_made_twice),
        cmocka_unit_test(a_lost_root_does_not_come_back_after_a_drop),
        cmocka_unit_test(a_late_root_does_not_come_back_after_a_drop),
        cmocka_unit_test(a_late_root_is_not_confirmed_after_a_drop),
        cmocka_unit_test(without_cas_a_late_root_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
