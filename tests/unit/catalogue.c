/* The listing of structures: its cost, and no removed array is listed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/counting_backend.h"
#include "support/fake_env.h"

#define ARRAYS 100
#define BATCHES_MAX 4 /* of 32 arrays each */

static bool count_listed(void *context, const mcds_listed *listed)
{
    assert_string_equal(listed->noun, "array");
    ++*(int *)context;
    return true;
}

static void arrays_are_asked_for_together(void **state)
{
    static struct counting_backend counting;
    struct fake_env fake;
    mcds_store *store;
    mcds_array *array;
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_bytes element = mcds_text("e");
    char name[16];
    int listed = 0;
    (void)state;
    fake_env_init(&fake, 1);
    options.env = &fake.env;
    assert_int_equal(counting_backend_open(&counting, "memory:", &fake.env, &options, &store),
                     MCDS_OK);
    for (int i = 0; i < ARRAYS; i++) {
        (void)snprintf(name, sizeof name, "a%d", i);
        assert_int_equal(mcds_array_open(store, name, NULL, &array), MCDS_OK);
        assert_int_equal(mcds_array_set(array, &element, 1), MCDS_OK);
        if (i % 2 == 1)
            assert_int_equal(mcds_array_drop(array), MCDS_OK);
        mcds_array_close(array);
    }
    counting_backend_arm(&counting, FAULT_NONE, 0, false);
    assert_int_equal(mcds_scan(store, count_listed, &listed), MCDS_OK);
    assert_int_equal(listed, ARRAYS / 2);
    assert_in_range(counting.batches, 1, BATCHES_MAX);
    mcds_close(store);
    assert_int_equal(fake.blocks, 0);
}

/* Visits in `STEPS` intervals of WIDTH_MS, and a drop some intervals later. */
#define WIDTH_MS 10000
#define BUCKETS 3
#define STEPS 5

static bool name_listed(void *context, const mcds_listed *listed)
{
    char *names = context;
    size_t length = strlen(names);
    (void)snprintf(names + length, 200 - length, " %s:%s", listed->noun, listed->name);
    return true;
}

static void check_listed(mcds_store *store, const char *wanted)
{
    char names[200] = "";
    assert_int_equal(mcds_scan(store, name_listed, names), MCDS_OK);
    assert_string_equal(names, wanted);
}

static mcds_online *open_online(mcds_store *store, mcds_members members)
{
    mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
    mcds_online *online;
    options.width_ms = WIDTH_MS;
    options.buckets = BUCKETS;
    options.members = members;
    assert_int_equal(mcds_online_open(store, "o", &options, &online), MCDS_OK);
    return online;
}

static mcds_visitors *open_visitors(mcds_store *store, mcds_members members, uint64_t period_ms)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_visitors *visitors;
    options.period_ms = period_ms;
    options.members = members;
    assert_int_equal(mcds_visitors_open(store, "v", &options, &visitors), MCDS_OK);
    return visitors;
}

static void check_online(struct fake_env *fake, mcds_store *store, mcds_members members,
                         int after)
{
    mcds_online *online = open_online(store, members);
    mcds_online *other = open_online(store, members);
    for (int i = 0; i < STEPS; i++) {
        fake_env_sleep_until_ns(fake,
                                fake->monotonic_ns + (i > 0) * WIDTH_MS * INT64_C(1000000));
        assert_in_range(mcds_online_beat(online, "ann", 0), MCDS_OK, MCDS_EXISTS);
        check_listed(store, " online:o");
    }
    fake_env_sleep_until_ns(fake, fake->monotonic_ns + after * WIDTH_MS * INT64_C(1000000));
    check_listed(store, " online:o");
    assert_in_range(mcds_online_drop(other, 0), MCDS_OK, MCDS_NOT_FOUND);
    check_listed(store, "");
    /* A handle that has not heard of the drop counts on. */
    assert_in_range(mcds_online_beat(online, "bob", 0), MCDS_OK, MCDS_EXISTS);
    check_listed(store, " online:o");
    assert_int_equal(mcds_online_drop(other, 0), MCDS_OK);
    check_listed(store, "");
    mcds_online_close(other);
    mcds_online_close(online);
}

static void check_visitors(struct fake_env *fake, mcds_store *store, mcds_members members,
                           uint64_t period_ms, int after)
{
    mcds_visitors *visitors = open_visitors(store, members, period_ms);
    mcds_visitors *other = open_visitors(store, members, period_ms);
    for (int i = 0; i < STEPS; i++) {
        fake_env_sleep_until_ns(fake,
                                fake->monotonic_ns + (i > 0) * WIDTH_MS * INT64_C(1000000));
        assert_in_range(mcds_visitors_hit(visitors, "ann", 0), MCDS_OK, MCDS_EXISTS);
        check_listed(store, " visitors:v");
    }
    fake_env_sleep_until_ns(fake, fake->monotonic_ns + after * WIDTH_MS * INT64_C(1000000));
    check_listed(store, " visitors:v");
    assert_in_range(mcds_visitors_drop(other, 0), MCDS_OK, MCDS_NOT_FOUND);
    check_listed(store, "");
    assert_in_range(mcds_visitors_hit(visitors, "bob", 0), MCDS_OK, MCDS_LOST);
    mcds_visitors_close(other);
    mcds_visitors_close(visitors);
}

/* The keys of intervals that are over stay after a drop until they expire. */
static void what_was_dropped_is_not_listed(void **state)
{
    (void)state;
    for (mcds_members members = MCDS_MEMBERS_NONE; members <= MCDS_MEMBERS_ESTIMATED; members++)
        for (int after = 0; after < 2 * STEPS; after++) {
            struct fake_env fake;
            mcds_store *store;
            mcds_options options = MCDS_OPTIONS_INIT;
            fake_env_init(&fake, 1);
            options.env = &fake.env;
            assert_int_equal(mcds_open("memory:", &options, &store), MCDS_OK);
            check_online(&fake, store, members, after);
            mcds_close(store);
            assert_int_equal(mcds_open("memory:", &options, &store), MCDS_OK);
            check_visitors(&fake, store, members, WIDTH_MS, after);
            mcds_close(store);
            assert_int_equal(mcds_open("memory:", &options, &store), MCDS_OK);
            check_visitors(&fake, store, members, 0, after);
            mcds_close(store);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_are_asked_for_together),
        cmocka_unit_test(what_was_dropped_is_not_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
