/* The memory that operations of a pipeline leave to those after them: for values, up to a size and
 * a number, and never to two at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "engine/pool.h"

#define LARGEST ((size_t)1 << 20)
#define MANY 300
#define KEPT 256

static void fill(mcds_buffer *values, size_t length)
{
    static const char bytes[16384];
    assert_in_range(length, 0, sizeof bytes);
    mcds__buffer_init(values, mcds_env_system(), LARGEST);
    assert_true(mcds_buffer_append(values, bytes, length));
}

static void the_next_operation_gets_the_memory(void **state)
{
    struct mcds__pool pool = {.env = mcds_env_system()};
    uint8_t room[64];
    mcds_buffer first;
    mcds_buffer second;
    (void)state;
    fill(&first, 1000);
    const uint8_t *data = first.data;
    size_t capacity = first.capacity;
    mcds__pool_keep_values(&pool, &first);
    assert_null(first.data);
    mcds__buffer_init_in(&first, mcds_env_system(), LARGEST, room, sizeof room);
    mcds__buffer_init_in(&second, mcds_env_system(), LARGEST, room, sizeof room);
    mcds__pool_lend_values(&pool, &first);
    mcds__pool_lend_values(&pool, &second);
    assert_ptr_equal(first.data, data);
    assert_int_equal(first.capacity, capacity);
    assert_int_equal(first.length, 0);
    assert_ptr_equal(second.data, room);
    mcds__buffer_free(&first);
    mcds__pool_free(&pool);
}

static void memory_of_the_caller_is_not_kept(void **state)
{
    struct mcds__pool pool = {.env = mcds_env_system()};
    uint8_t room[64];
    mcds_buffer values;
    (void)state;
    mcds__buffer_init_in(&values, mcds_env_system(), LARGEST, room, sizeof room);
    mcds__pool_keep_values(&pool, &values);
    assert_ptr_equal(values.data, room);
    assert_int_equal(pool.values_count, 0);
    mcds__pool_free(&pool);
}

static void much_memory_is_not_kept(void **state)
{
    struct mcds__pool pool = {.env = mcds_env_system()};
    mcds_buffer values[MANY];
    (void)state;
    fill(&values[0], 8193);
    mcds__pool_keep_values(&pool, &values[0]);
    assert_int_equal(pool.values_count, 0);
    mcds__buffer_free(&values[0]);
    for (int i = 0; i < MANY; i++)
        fill(&values[i], 1000);
    for (int i = 0; i < MANY; i++) {
        mcds__pool_keep_values(&pool, &values[i]);
        mcds__buffer_free(&values[i]);
    }
    assert_int_equal(pool.values_count, KEPT);
    mcds__pool_free(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_operation_gets_the_memory),
        cmocka_unit_test(memory_of_the_caller_is_not_kept),
        cmocka_unit_test(much_memory_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
