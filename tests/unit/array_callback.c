/* The function of mcds_array_change_by fails to add an element, or returns the number of a result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/fake_env.h"

#define REFUSED_LENGTH 100000
#define LARGE_LENGTH 300000

static struct world {
    struct fake_env fake;
    mcds_env env; /* that of `fake`, which refuses large blocks of memory */
    mcds_store *store;
    mcds_array *array;
    char *bytes;
    mcds_bytes first; /* that the function adds, before "small" */
    int first_result; /* that it must get */
    int answer;
} world;

static void *refuse_large(void *self, void *memory, size_t length)
{
    return length > REFUSED_LENGTH ? NULL : fake_env_reallocate(self, memory, length);
}

static int set_up(void **state)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_bytes kept = mcds_text("kept");
    (void)state;
    memset(&world, 0, sizeof world);
    world.bytes = calloc(1, LARGE_LENGTH);
    fake_env_init(&world.fake, 1);
    world.env = world.fake.env;
    world.env.reallocate = refuse_large;
    options.env = &world.env;
    if (world.bytes == NULL || mcds_open("memory:", &options, &world.store) != MCDS_OK ||
        mcds_array_open(world.store, "a", NULL, &world.array) != MCDS_OK)
        return -1;
    return mcds_array_set(world.array, &kept, 1);
}

static int tear_down(void **state)
{
    (void)state;
    mcds_array_close(world.array);
    mcds_close(world.store);
    free(world.bytes);
    return world.fake.blocks == 0 ? 0 : -1;
}

static bool visit_kept(void *context, mcds_bytes element)
{
    (*(int *)context)++;
    assert_int_equal(element.length, 4);
    assert_memory_equal(element.data, "kept", 4);
    return true;
}

static void assert_unchanged(void)
{
    int count = 0;
    assert_int_equal(mcds_array_scan(world.array, visit_kept, &count), MCDS_OK);
    assert_int_equal(count, 1);
}

static int add_both(void *context, const mcds_bytes *old, size_t old_count,
                    mcds_elements *fresh)
{
    (void)context, (void)old, (void)old_count;
    assert_int_equal(mcds_elements_add(fresh, world.first), world.first_result);
    assert_int_equal(mcds_elements_add(fresh, mcds_text("small")), MCDS_OK);
    return world.answer;
}

static void assert_change(int result, mcds_cause cause)
{
    assert_int_equal(mcds_array_change_by(world.array, add_both, NULL), result);
    if (result != MCDS_EXISTS)
        assert_string_equal(mcds_cause_name((int)mcds_last_error()->cause),
                            mcds_cause_name((int)cause));
    assert_unchanged();
}

/* Whatever the function returns, the array is whole. */
static void an_element_without_memory_fails_the_change(void **state)
{
    (void)state;
    world.first = (mcds_bytes){world.bytes, LARGE_LENGTH};
    world.first_result = MCDS_NO_MEMORY;
    assert_change(MCDS_NO_MEMORY, MCDS_CAUSE_NO_MEMORY);
    world.answer = -1;
    assert_change(MCDS_NO_MEMORY, MCDS_CAUSE_NO_MEMORY);
    world.answer = MCDS_EXISTS;
    assert_change(MCDS_EXISTS, MCDS_CAUSE_OTHER);
}

static void an_element_without_bytes_fails_the_change(void **state)
{
    (void)state;
    world.first = (mcds_bytes){NULL, 1};
    world.first_result = MCDS_INVALID;
    assert_change(MCDS_INVALID, MCDS_CAUSE_ARGUMENT_MISSING);
}

/* A refusal is never AMBIGUOUS: nothing is written. Other numbers are those of the function. */
static void a_refusal_is_not_ambiguous(void **state)
{
    (void)state;
    world.first = mcds_text("new");
    world.answer = -1;
    assert_change(MCDS_IO, MCDS_CAUSE_CALLBACK_FAILED);
    assert_int_equal(mcds_last_error()->found_number, -1);
    world.answer = MCDS_BUSY;
    assert_change(MCDS_BUSY, MCDS_CAUSE_CALLBACK_FAILED);
    assert_int_equal(mcds_last_error()->found_number, MCDS_BUSY);
    world.answer = MCDS_EXISTS;
    assert_change(MCDS_EXISTS, MCDS_CAUSE_OTHER);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(an_element_without_memory_fails_the_change),
        TEST(an_element_without_bytes_fails_the_change),
        TEST(a_refusal_is_not_ambiguous),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
