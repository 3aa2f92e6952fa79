/* An exact counter is dropped while a handle makes its first flush: after the read of all slots, and
 * before the write. What it adds counts once, and the counter is whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define TOMBSTONE "mcds:cy1:n"
#define NAME "n"

struct race {
    struct fake_env fake;
    struct hooked_backend backend;
    struct hooked_backend beside;
    mcds_store *hooked;
    mcds_store *plain;
    mcds_counter *other;
    bool has_dropped;
};

static mcds_counter *open_exact(mcds_store *store, uint32_t flags)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter *counter = NULL;
    options.flags = MCDS_COUNTER_EXACT | flags;
    options.flush_ms = MCDS_COUNTER_FLUSH_EACH;
    assert_int_equal(mcds_counter_open(store, NAME, &options, &counter), MCDS_OK);
    return counter;
}

/* A first write begins with a read of the tombstone. */
static bool drop_before_the_write(void *context, mcds_request *request)
{
    struct race *race = context;
    if (race->has_dropped || request->command != MCDS_GET ||
        request->key.length != strlen(TOMBSTONE) ||
        memcmp(request->key.data, TOMBSTONE, strlen(TOMBSTONE)) != 0)
        return false;
    race->has_dropped = true;
    assert_int_equal(mcds_counter_drop(race->other), MCDS_OK);
    return false;
}

static void begin(struct race *race)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(race, 0, sizeof *race);
    fake_env_init(&race->fake, 1);
    options.env = &race->fake.env;
    assert_int_equal(hooked_backend_open(&race->backend, &options, &race->hooked), MCDS_OK);
    assert_int_equal(
        hooked_backend_open_beside(&race->beside, &race->backend, &options, &race->plain),
        MCDS_OK);
    race->other = open_exact(race->plain, 0);
    race->backend.hook = drop_before_the_write;
    race->backend.context = race;
}

static void end(struct race *race)
{
    mcds_counter_close(race->other);
    mcds_close(race->plain);
    mcds_close(race->hooked);
    assert_int_equal(race->fake.blocks, 0);
}

/* A handle that knows nothing reads the value, and no loss. */
static void check_whole(struct race *race, int64_t expected)
{
    mcds_counter_options made = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    assert_int_equal(mcds_counter_made_with(race->plain, NAME, &made), MCDS_OK);
    assert_int_equal(made.flags, MCDS_COUNTER_EXACT);
    mcds_counter *fresh = open_exact(race->plain, MCDS_COUNTER_STRICT);
    assert_int_equal(mcds_counter_get(fresh, &value), MCDS_OK);
    assert_int_equal(value.value, expected);
    assert_false(value.reborn);
    mcds_counter_close(fresh);
}

static void drop_beside_a_first_flush(bool exists)
{
    static struct race race;
    begin(&race);
    if (exists)
        assert_int_equal(mcds_counter_add(race.other, 1000, NULL), MCDS_OK);
    mcds_counter *counter = open_exact(race.hooked, 0);
    assert_int_equal(mcds_counter_add(counter, 5, NULL), MCDS_OK);
    assert_true(race.has_dropped);
    check_whole(&race, 5);
    assert_int_equal(mcds_counter_add(counter, 2, NULL), MCDS_OK);
    check_whole(&race, 7);
    assert_int_equal(mcds_counter_add(race.other, 1, NULL), MCDS_OK);
    check_whole(&race, 8);
    mcds_counter_close(counter);
    check_whole(&race, 8);
    end(&race);
}

static void a_drop_beside_a_first_flush_leaves_a_whole_counter(void **state)
{
    (void)state;
    drop_beside_a_first_flush(false);
    drop_beside_a_first_flush(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drop_beside_a_first_flush_leaves_a_whole_counter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
