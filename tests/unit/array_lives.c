/* A change of an array whose reply was lost is not repeated after the store has forgotten the array:
 * it would count in two lives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "store/store.h"
#include "support/counting_home.h"
#include "support/fake_env.h"

#define KEY "mcds:a1:x"
/* Of a change of a small value: get root, write root. */
#define WRITE_AT 2

static struct place {
    struct fake_env fake;
    struct counting_home counting;
    mcds_env env; /* the fake one, and what happens while a call sleeps */
    mcds_store *store;
    mcds_array *array;
    uint32_t sleeps;
} place;

static mcds_outcome ask_inside(mcds_command command)
{
    mcds_request request = {
        .command = command, .options = MCDS_NO_VALUE, .key = mcds_text(KEY)};
    mcds_batch batch = {.requests = &request, .count = 1, .deadline_ns = INT64_MAX};
    place.counting.inner->submit(place.counting.inner_home, &batch);
    return request.reply.outcome;
}

static void sleep_while_it_is_forgotten(void *self, int64_t until_ns)
{
    if (place.sleeps++ == 0)
        assert_int_equal(ask_inside(MCDS_DELETE), MCDS_OUT_OK);
    place.fake.env.sleep_until_ns(self, until_ns);
}

static void begin(void)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(&place, 0, sizeof place);
    fake_env_init(&place.fake, 1);
    place.env = place.fake.env;
    place.env.sleep_until_ns = sleep_while_it_is_forgotten;
    options.env = &place.env;
    assert_int_equal(
        counting_home_open(&place.counting, "memory:", &place.fake.env, &options, &place.store),
        MCDS_OK);
    assert_int_equal(mcds_array_open(place.store, "x", NULL, &place.array), MCDS_OK);
}

/* The write is applied, its reply is lost, and the array is forgotten before the next try. */
static void change_in_doubt(void)
{
    mcds_bytes element = mcds_text("once");
    counting_home_arm(&place.counting, FAULT_CUT_AFTER, WRITE_AT, false);
    assert_int_equal(mcds_array_change(place.array, &element, 1, NULL, 0), MCDS_AMBIGUOUS);
    assert_true(place.counting.fault_came);
    assert_int_equal(place.sleeps, 1);
    assert_int_equal(ask_inside(MCDS_GET), MCDS_OUT_MISS);
}

static void end(void)
{
    mcds_array_close(place.array);
    mcds_close(place.store);
    assert_int_equal(place.fake.blocks, 0);
}

static void the_first_change_is_not_repeated(void **state)
{
    (void)state;
    begin();
    change_in_doubt();
    end();
}

static void a_later_change_is_not_repeated(void **state)
{
    mcds_bytes element = mcds_text("old");
    (void)state;
    begin();
    assert_int_equal(mcds_array_set(place.array, &element, 1), MCDS_OK);
    change_in_doubt();
    end();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_change_is_not_repeated),
        cmocka_unit_test(a_later_change_is_not_repeated),
    };
    return cmocka_run_group_tests_name("array lives", tests, NULL, NULL);
}
