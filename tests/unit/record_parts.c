/* An array whose key refers to missing blocks: how many it may refer to, and that erasing them
 * ends at the deadline. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/record/record.h"
#include "mcds.h"
#include "store/store.h"
#include "support/fake_env.h"

#define BLOCKS 8000 /* a thousand round trips */

/* A backend with one key, where nothing can be erased and each try to do so takes a second. */
struct stuck {
    struct fake_env fake;
    uint32_t blocks;
    uint32_t erasures;
};

static void stuck_capabilities(void *backend, mcds_capabilities *out)
{
    (void)backend;
    *out = (mcds_capabilities){
        .places = 1, .compare_and_set = true, .value_max = 1 << 20, .ordered_batch = true};
}

/* The state that the writer of the parts has left. */
static void answer_get(struct stuck *stuck, mcds_request *request, mcds_buffer *values)
{
    const struct mcds__record_value value = {
        .generation = 1,
        .version = 1,
        .kind = MCDS__RECORD_INLINE,
        .intent = {.name = 1, .count = stuck->blocks},
    };
    mcds_buffer bytes;
    mcds__buffer_init(&bytes, &stuck->fake.env, 1024);
    assert_true(mcds__record_encode(&value, request->key, &bytes));
    request->reply.outcome = MCDS_OUT_OK;
    request->reply.cas = (mcds_cas_token){1, 1};
    request->reply.value_at = values->length;
    request->reply.value_length = bytes.length;
    assert_true(mcds_buffer_append(values, bytes.data, bytes.length));
    mcds__buffer_free(&bytes);
}

static void stuck_submit(void *backend, mcds_batch *first)
{
    struct stuck *stuck = backend;
    for (mcds_batch *batch = first; batch != NULL; batch = batch->next) {
        for (uint32_t i = 0; i < batch->count; i++) {
            mcds_request *request = &batch->requests[i];
            request->reply.outcome = MCDS_OUT_OK;
            if (request->command == MCDS_GET)
                answer_get(stuck, request, batch->values);
            else if (request->command == MCDS_DELETE)
                request->reply.outcome = MCDS_OUT_UNSENT;
        }
        if (batch->requests[0].command == MCDS_DELETE) {
            stuck->erasures++;
            fake_env_advance_ms(&stuck->fake, 1000);
        }
        batch->answered = batch->count;
    }
}

static const mcds_backend stuck_backend = {
    .version = MCDS_BACKEND_VERSION,
    .scheme = "stuck",
    .capabilities = stuck_capabilities,
    .submit = stuck_submit,
};

static int drop(struct stuck *stuck, uint32_t blocks)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_store *store;
    mcds_array *array;
    memset(stuck, 0, sizeof *stuck);
    fake_env_init(&stuck->fake, 1);
    stuck->blocks = blocks;
    options.env = &stuck->fake.env;
    options.timeout_ms = 3000;
    assert_int_equal(mcds_open_backend(&stuck_backend, stuck, &options, &store), MCDS_OK);
    assert_int_equal(mcds_array_open(store, "a", NULL, &array), MCDS_OK);
    int result = mcds_array_drop(array);
    mcds_array_close(array);
    mcds_close(store);
    assert_int_equal(stuck->fake.blocks, 0);
    return result;
}

static void erasing_ends_with_the_time(void **state)
{
    (void)state;
    struct stuck stuck;
    assert_int_equal(drop(&stuck, BLOCKS), MCDS_OK);
    assert_in_range(stuck.erasures, 1, 10);
}

static void too_many_blocks_are_corrupt(void **state)
{
    (void)state;
    struct stuck stuck;
    assert_int_equal(drop(&stuck, MCDS__RECORD_BLOCKS_MAX + 1), MCDS_CORRUPT);
    assert_int_equal(stuck.erasures, 0);
    assert_int_equal(drop(&stuck, MCDS__RECORD_BLOCKS_MAX), MCDS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(erasing_ends_with_the_time),
        cmocka_unit_test(too_many_blocks_are_corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
