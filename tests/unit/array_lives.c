/* A change of an array whose reply was lost is not repeated after the store has forgotten the array:
 * it would count in two lives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "store/store.h"
#include "support/counting_backend.h"
#include "support/fake_env.h"

#define KEY "mcds:a1:x"
/* Of a change of a small value: get root, write root. */
#define WRITE_AT 2

static struct fixture {
    struct fake_env fake;
    struct counting_backend counting;
    mcds_env env; /* the fake one, and what happens while a call sleeps */
    mcds_store *store;
    mcds_array *array;
    uint32_t sleeps;
} fixture;

static mcds_outcome ask_inside(mcds_command command)
{
    mcds_request request = {
        .command = command, .options = MCDS_NO_VALUE, .key = mcds_text(KEY)};
    mcds_batch batch = {.requests = &request, .count = 1, .deadline_ns = INT64_MAX};
    fixture.counting.inner->submit(fixture.counting.inner_backend, &batch);
    return request.reply.outcome;
}

static void sleep_while_it_is_forgotten(void *self, int64_t until_ns)
{
    if (fixture.sleeps++ == 0)
        assert_int_equal(ask_inside(MCDS_DELETE), MCDS_OUT_OK);
    fixture.fake.env.sleep_until_ns(self, until_ns);
}

static void begin(void)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(&fixture, 0, sizeof fixture);
    fake_env_init(&fixture.fake, 1);
    fixture.env = fixture.fake.env;
    fixture.env.sleep_until_ns = sleep_while_it_is_forgotten;
    options.env = &fixture.env;
    assert_int_equal(counting_backend_open(&fixture.counting, "memory:", &fixture.fake.env,
                                           &options, &fixture.store),
                     MCDS_OK);
    assert_int_equal(mcds_array_open(fixture.store, "x", NULL, &fixture.array), MCDS_OK);
}

/* The write is applied, its reply is lost, and the array is forgotten before the next try. */
static void change_in_doubt(void)
{
    mcds_bytes element = mcds_text("once");
    counting_backend_arm(&fixture.counting, FAULT_CUT_AFTER, WRITE_AT, false);
    assert_int_equal(mcds_array_change(fixture.array, &element, 1, NULL, 0), MCDS_AMBIGUOUS);
    assert_true(fixture.counting.fault_came);
    assert_int_equal(fixture.sleeps, 1);
    assert_int_equal(ask_inside(MCDS_GET), MCDS_OUT_MISS);
}

static void end(void)
{
    mcds_array_close(fixture.array);
    mcds_close(fixture.store);
    assert_int_equal(fixture.fake.blocks, 0);
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
    assert_int_equal(mcds_array_set(fixture.array, &element, 1), MCDS_OK);
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
