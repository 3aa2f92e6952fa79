/* Many short-lived handles change one key. Before the key becomes too large, it remembers each
 * handle for a shorter time. A change whose time is before the floor is refused or in doubt, and
 * counts at most once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/map/bucket/bucket.h"
#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"
#include "support/map_record.h"

/* A sixteenth of the largest value that a server accepts by default, and of 100 000 handles. */
#define VALUE_MAX 65536
#define HANDLES 6250
#define WITHIN_S (11 * 60)
#define ELEMENTS 10
/* Of so many appends, one reply is lost. */
#define LOST_EVERY 50
/* More handles than the key can remember at once. */
#define BURST 3000
#define FORGOTTEN_AFTER_S 100
/* A clock that is slow by so much is refused only while many handles change the key. */
#define SLOW_S 400
#define SOME 100
#define KEPT_S 600 /* for so long the key remembers a handle, if few handles change it */
#define FLOOR_UNIT_S MCDS__MAP_FLOOR_UNIT_S
#define WRITER_BYTES 30 /* the record of a handle with the id of its only change */
#define MEDIAN_S (INT64_C(26562500) * FLOOR_UNIT_S)
#define YEAR_LATER_S (MEDIAN_S + 366 * 86400)
#define KEY ((mcds_bytes){"d:s1:t:1", 8})
#define ALL ((mcds_bytes){NULL, 0})
/* An element that no counting handle uses. */
#define OWN "own"

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    uint32_t appends;
    uint32_t lost_every; /* 0: no reply is lost */
    uint32_t lost_most;  /* at most so many more replies are lost */
    size_t largest;      /* the largest length of a value before an append */
    mcds_command meets;  /* the others change the key at an append, or at a read after it */
    uint32_t others;     /* the number of these handles; 0: none */
    bool has_appended;
    int64_t later_s; /* their clocks are ahead by so much */
};

static void count_up(struct world *world, uint32_t handles, int64_t within_s);

static bool append(struct world *world, mcds_request *request)
{
    mcds_request look = {.command = MCDS_GET, .options = MCDS_NO_VALUE, .key = request->key};
    mcds_batch batch = {.requests = &look, .count = 1, .deadline_ns = INT64_MAX};
    mcds__backend_memory.submit(world->backend.inner, &batch);
    size_t length = look.reply.outcome == MCDS_OUT_OK ? look.reply.value_length : 0;
    if (length + request->value.length > VALUE_MAX) {
        request->reply.outcome = MCDS_OUT_NOT_STORED;
        return true;
    }
    if (length > world->largest)
        world->largest = length;
    if (world->lost_every == 0 || world->lost_most == 0 ||
        ++world->appends % world->lost_every != 0)
        return false;
    world->lost_most--;
    mcds__backend_memory.submit(world->backend.inner, world->backend.batch);
    request->reply.outcome = MCDS_OUT_UNKNOWN;
    return true;
}

/* After the first append that is stored, and before its reply or the next read, other handles
 * change the key. */
static bool watch(void *context, mcds_request *request)
{
    struct world *world = context;
    bool is_append = request->command == MCDS_APPEND;
    if (world->others == 0)
        return is_append && append(world, request);
    if (is_append && !world->has_appended) {
        mcds__backend_memory.submit(world->backend.inner, world->backend.batch);
        world->has_appended = request->reply.outcome == MCDS_OUT_OK;
    }
    if (!world->has_appended || request->command != world->meets)
        return is_append;
    if (is_append)
        request->reply.outcome = MCDS_OUT_UNKNOWN;
    uint32_t others = world->others;
    int64_t wall_ns = world->fake.wall_ns;
    world->others = 0;
    world->fake.wall_ns += world->later_s * NS_PER_S;
    count_up(world, others, 0);
    world->fake.wall_ns = wall_ns;
    return is_append;
}

static void begin(struct world *world, uint32_t features)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 7);
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.value_max = VALUE_MAX;
    world->backend.features = features;
    world->backend.hook = watch;
    world->backend.context = world;
}

static void end(struct world *world)
{
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static mcds_bytes element_of(uint32_t number)
{
    static char text[16];
    (void)snprintf(text, sizeof text, "%u", (unsigned)(number % ELEMENTS));
    return mcds_text(text);
}

/* Increments by a handle of its own. Every third reads the sum. */
static int count_by_a_handle(struct world *world, mcds_bytes element, bool reads)
{
    mcds_table *table;
    int64_t sum;
    assert_int_equal(mcds_table_open(world->store, "t", NULL, &table), MCDS_OK);
    int result = mcds_table_incr(table, element, 1, reads ? &sum : NULL);
    mcds_table_close(table);
    return result;
}

static void count_up(struct world *world, uint32_t handles, int64_t within_s)
{
    for (uint32_t i = 0; i < handles; i++) {
        assert_int_equal(count_by_a_handle(world, element_of(i), i % 3 == 0), MCDS_OK);
        world->fake.wall_ns += within_s * NS_PER_S / handles;
    }
}

static uint64_t sum_of(struct world *world, mcds_bytes element)
{
    mcds_table *table;
    mcds_value value = MCDS_VALUE_INIT;
    uint64_t sum = 0;
    assert_int_equal(mcds_table_open(world->store, "t", NULL, &table), MCDS_OK);
    int result = mcds_table_get(table, element, &value);
    if (result == MCDS_OK)
        for (size_t i = 0; i < value.length; i++)
            sum = 10 * sum + (uint64_t)(((const char *)value.data)[i] - '0');
    assert_true(result == MCDS_OK || result == MCDS_NOT_FOUND);
    mcds_value_free(&value);
    mcds_table_close(table);
    return sum;
}

static uint64_t sum_of_all(struct world *world)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < ELEMENTS; i++)
        sum += sum_of(world, element_of(i));
    return sum;
}

static const uint32_t kinds[] = {0, MCDS_STATE_AFTER_APPEND, MCDS_CAS_NUMBERS};
#define KINDS (sizeof kinds / sizeof kinds[0])

static void many_handles_change_a_key(void **state)
{
    static struct world world;
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        begin(&world, kinds[kind]);
        world.lost_every = LOST_EVERY;
        world.lost_most = UINT32_MAX;
        count_up(&world, HANDLES, WITHIN_S);
        assert_int_equal(sum_of_all(&world), HANDLES);
        assert_true(world.largest > VALUE_MAX / 4 && world.largest < VALUE_MAX);
        end(&world);
    }
}

/* Many handles that come at once fill the key. It accepts changes again when they are old. */
static void a_burst_is_forgotten(void **state)
{
    static struct world world;
    (void)state;
    begin(&world, MCDS_CAS_NUMBERS);
    uint32_t done = 0;
    int result = MCDS_OK;
    while (done < BURST &&
           (result = count_by_a_handle(&world, element_of(done), false)) == MCDS_OK)
        done++;
    assert_true(done < BURST && result != MCDS_AMBIGUOUS);
    world.fake.wall_ns += FORGOTTEN_AFTER_S * NS_PER_S;
    count_up(&world, BURST / 2, 0);
    assert_int_equal(sum_of_all(&world), done + BURST / 2);
    end(&world);
}

/* A refused change does not count. If its reply is lost, the change is not in doubt either: the
 * value still has each copy of it, and each copy is void. */
static void check_refused(struct world *world, int64_t slow_s)
{
    bool compares = world->backend.features ==
                    MCDS_CAS_NUMBERS; /* so the first append is refused */
    world->fake.wall_ns -= slow_s * NS_PER_S;
    for (int reads = 0; reads < 2; reads++) {
        assert_int_equal(count_by_a_handle(world, mcds_text(OWN), reads != 0), MCDS_IO);
        assert_non_null(strstr(mcds_errmsg(), "30 seconds while"));
        world->appends = 0;
        world->lost_every = compares ? 2 : 1;
        world->lost_most = 1;
        assert_int_equal(count_by_a_handle(world, mcds_text(OWN), reads != 0), MCDS_IO);
        assert_non_null(strstr(mcds_errmsg(), "30 seconds while"));
        assert_int_equal(world->lost_most, 0);
        world->lost_every = 0;
    }
    world->fake.wall_ns += slow_s * NS_PER_S;
    assert_int_equal(sum_of(world, mcds_text(OWN)), 0);
}

static void check_taken(struct world *world, int64_t slow_s)
{
    uint64_t before = sum_of(world, mcds_text(OWN));
    world->fake.wall_ns -= slow_s * NS_PER_S;
    for (int reads = 0; reads < 2; reads++)
        assert_int_equal(count_by_a_handle(world, mcds_text(OWN), reads != 0), MCDS_OK);
    world->fake.wall_ns += slow_s * NS_PER_S;
    assert_int_equal(sum_of(world, mcds_text(OWN)), before + 2);
}

/* A clock that is slow by minutes is refused only while many handles change the key. */
static void a_slow_clock_is_refused_under_pressure(void **state)
{
    static struct world world;
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        begin(&world, kinds[kind]);
        count_up(&world, HANDLES, WITHIN_S);
        check_refused(&world, SLOW_S);
        check_taken(&world, 29);
        end(&world);
        begin(&world, kinds[kind]);
        count_up(&world, HANDLES / 20, WITHIN_S);
        check_taken(&world, SLOW_S);
        end(&world);
    }
}

/* At the next request with this command, other handles change the key. Their clocks are ahead. */
static void meet(struct world *world, mcds_command command, uint32_t others, int64_t later_s)
{
    world->meets = command;
    world->has_appended = false;
    world->others = others;
    world->later_s = later_s;
}

/* Some handles have changed the key. Then this clock is set back, almost to the floor. */
static void begin_slow(struct world *world, uint32_t features)
{
    begin(world, features);
    world->fake.wall_ns -= world->fake.wall_ns % (FLOOR_UNIT_S * NS_PER_S);
    count_up(world, SOME, 0);
    world->fake.wall_ns -= (KEPT_S - 2) * NS_PER_S;
}

/* The change counts. Before the key is read, the floor rises above the time of the change. */
static void what_counts_is_not_refused(void **state)
{
    static struct world world;
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        begin_slow(&world, kinds[kind]);
        meet(&world, MCDS_GET, 3 * SOME, KEPT_S + FLOOR_UNIT_S);
        int result = count_by_a_handle(&world, mcds_text(OWN), true);
        assert_int_equal(world.others, 0);
        assert_int_equal(result, MCDS_AMBIGUOUS);
        assert_int_equal(sum_of(&world, mcds_text(OWN)), 1);
        end(&world);
    }
}

/* The change counts, and its reply is lost. Then the key forgets the handle. */
static void what_is_forgotten_is_in_doubt(void **state)
{
    static struct world world;
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++)
        for (int reads = 0; reads < 2; reads++) {
            begin_slow(&world, kinds[kind]);
            meet(&world, MCDS_APPEND, 3 * SOME, KEPT_S + FLOOR_UNIT_S);
            int result = count_by_a_handle(&world, mcds_text(OWN), reads != 0);
            assert_int_equal(world.others, 0);
            assert_int_equal(result, MCDS_AMBIGUOUS);
            assert_int_equal(sum_of(&world, mcds_text(OWN)), 1);
            end(&world);
        }
}

/* The floor of a key that SOME writers have changed at MEDIAN_S, if the key has `room` bytes for
 * their records. */
static uint32_t floor_of(size_t room, int64_t now_s)
{
    struct fake_env fake;
    struct mcds__bucket bucket;
    mcds_buffer value;
    mcds_buffer next;
    uint32_t flags;
    fake_env_init(&fake, 1);
    mcds__buffer_init(&value, &fake.env, 1 << 20);
    mcds__buffer_init(&next, &fake.env, 1 << 20);
    mcds__bucket_init(&bucket, &fake.env, KEY, ALL);
    assert_true(mcds__bucket_encode(&bucket, KEY, MCDS__MAP_OPEN, 0, &value, &flags));
    for (uint64_t writer = 1; writer <= SOME; writer++) {
        struct mcds__map_record record = {.command = {.verb = MCDS__MAP_PUT, .element = KEY},
                                          .writer = writer,
                                          .seq = 1,
                                          .low = 1,
                                          .time_ms = MEDIAN_S * MS_PER_S};
        assert_true(map_record_put(&value, KEY, &record));
    }
    assert_int_equal(mcds__map_load(&bucket, (mcds_bytes){value.data, value.length}, flags),
                     MCDS_OK);
    bucket.writers_room = room;
    assert_true(
        mcds__bucket_encode(&bucket, KEY, MCDS__MAP_OPEN, now_s * MS_PER_S, &next, &flags));
    uint32_t floor_s = bucket.floor_s;
    mcds__bucket_free(&bucket);
    mcds__buffer_free(&value);
    mcds__buffer_free(&next);
    assert_int_equal(fake.blocks, 0);
    return floor_s;
}

static uint32_t unit_of(int64_t second)
{
    return (uint32_t)(second - second % FLOOR_UNIT_S);
}

/* Only the highest floor depends on the clock of the machine that rewrites the key. It is at most
 * one unit after the median. */
static void the_floor_rises_with_the_writers(void **state)
{
    const size_t length = SOME * WRITER_BYTES;
    (void)state;
    assert_int_equal(floor_of(4 * length, YEAR_LATER_S), unit_of(MEDIAN_S - KEPT_S));
    assert_int_equal(floor_of(4 * length - 4, YEAR_LATER_S), unit_of(MEDIAN_S - 120));
    assert_int_equal(floor_of(2 * length, YEAR_LATER_S), unit_of(MEDIAN_S - 120));
    assert_int_equal(floor_of(2 * length - 4, YEAR_LATER_S), unit_of(MEDIAN_S - 30));
    assert_int_equal(floor_of(length * 4 / 3, YEAR_LATER_S), unit_of(MEDIAN_S - 30));
    assert_int_equal(floor_of(length * 4 / 3 - 4, YEAR_LATER_S), MEDIAN_S + FLOOR_UNIT_S);
    assert_int_equal(floor_of(length, MEDIAN_S + FLOOR_UNIT_S + 30), MEDIAN_S + FLOOR_UNIT_S);
    assert_int_equal(floor_of(length, MEDIAN_S + FLOOR_UNIT_S + 29), MEDIAN_S);
    assert_int_equal(floor_of(length, MEDIAN_S + 29), unit_of(MEDIAN_S - 30));
    assert_int_equal(floor_of(length, 0), unit_of(MEDIAN_S - 30));
    assert_int_equal(floor_of(0, YEAR_LATER_S), MEDIAN_S + FLOOR_UNIT_S);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_floor_rises_with_the_writers),
    cmocka_unit_test(many_handles_change_a_key),
    cmocka_unit_test(a_burst_is_forgotten),
    cmocka_unit_test(a_slow_clock_is_refused_under_pressure),
    cmocka_unit_test(what_counts_is_not_refused),
    cmocka_unit_test(what_is_forgotten_is_in_doubt),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
