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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_are_asked_for_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
