/* What a key holds was written by another program, with the right sums: a claim with the token of a
 * caller, or another command under the id of a change. The calls return a result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "structures/once/value.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"
#include "support/map_record.h"

#define VALUE_MAX 4096

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    uint32_t forged;
};

static void begin(struct world *world, bool (*hook)(void *context, mcds_request *request))
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 1);
    options.env = &world->fake.env;
    options.timeout_ms = 200;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.context = world;
    world->backend.hook = hook;
}

static void end(struct world *world)
{
    assert_true(world->forged > 0);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

/* Execute the request with another value. */
static bool submit_forged(struct world *world, mcds_request *request, const mcds_buffer *value)
{
    mcds_request forged = *request;
    mcds_batch batch = {.requests = &forged, .count = 1, .deadline_ns = INT64_MAX};
    forged.value = (mcds_bytes){value->data, value->length};
    mcds__backend_memory.submit(world->backend.inner, &batch);
    request->reply = forged.reply;
    world->forged++;
    return true;
}

/* The claim gets a token of the caller that the caller has not drawn yet. */
static bool forge_claim(void *context, mcds_request *request)
{
    struct world *world = context;
    struct mcds__once_value value;
    const mcds_reason *detail;
    mcds_buffer bytes;
    if (request->command != MCDS_ADD ||
        mcds__once_decode(request->value, request->key, &value, &detail) != MCDS_OK)
        return false;
    value.token[1] += 1000;
    mcds__buffer_init(&bytes, &world->fake.env, VALUE_MAX);
    assert_true(mcds__once_encode(&value, request->key, &bytes));
    bool is_done = submit_forged(world, request, &bytes);
    mcds__buffer_free(&bytes);
    return is_done;
}

static void a_claim_that_was_never_drawn_is_of_another(void **state)
{
    static struct world world;
    mcds_once *once;
    mcds_once_run run = MCDS_ONCE_RUN_INIT;
    mcds_value result = MCDS_VALUE_INIT;
    int32_t code;
    (void)state;
    begin(&world, forge_claim);
    assert_int_equal(mcds_once_open(world.store, "x", NULL, &once), MCDS_OK);
    assert_int_equal(
        mcds_once_begin(once, mcds_text("k"), (mcds_bytes){NULL, 0}, 0, &run, &result, &code),
        MCDS_BUSY);
    assert_false(run.mine);
    mcds_value_free(&result);
    mcds_once_close(once);
    end(&world);
}

/* The record counts something that is no number. */
static bool forge_record(void *context, mcds_request *request)
{
    struct world *world = context;
    struct mcds__map_record record;
    mcds_buffer bytes;
    size_t at = 0;
    if (request->command != MCDS_APPEND ||
        map_record_next(request->value, mcds__map_key_sum(request->key), &at, &record) !=
            MCDS_OK)
        return false;
    record.command = (struct mcds__map_command){
        .verb = MCDS__MAP_COUNT, .element = record.command.element, .delta = -5};
    mcds__buffer_init(&bytes, &world->fake.env, VALUE_MAX);
    assert_true(map_record_put(&bytes, request->key, &record));
    bool is_done = submit_forged(world, request, &bytes);
    mcds__buffer_free(&bytes);
    return is_done;
}

static void another_command_under_the_id_is_no_put(void **state)
{
    static struct world world;
    mcds_table *table;
    (void)state;
    begin(&world, NULL);
    assert_int_equal(mcds_table_open(world.store, "t", NULL, &table), MCDS_OK);
    assert_int_equal(mcds_table_put(table, mcds_text("k"), mcds_text("text"), 0), MCDS_OK);
    world.backend.hook = forge_record;
    assert_int_equal(mcds_table_put_if_absent(table, mcds_text("k"), mcds_text("v"), 0),
                     MCDS_EXISTS);
    mcds_table_close(table);
    end(&world);
}

static void another_command_under_the_id_is_no_claim(void **state)
{
    static struct world world;
    mcds_queue *queue;
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    mcds_job job = MCDS_JOB_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    (void)state;
    begin(&world, NULL);
    options.flags = MCDS_QUEUE_MAY_LOSE;
    assert_int_equal(mcds_queue_open(world.store, "q", &options, &queue), MCDS_OK);
    assert_int_equal(mcds_queue_push(queue, mcds_text("job"), 0), MCDS_OK);
    world.backend.hook = forge_record;
    assert_int_not_equal(mcds_queue_next(queue, 0, &job, &value), MCDS_OK);
    mcds_value_free(&value);
    mcds_queue_close(queue);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_that_was_never_drawn_is_of_another),
        cmocka_unit_test(another_command_under_the_id_is_no_put),
        cmocka_unit_test(another_command_under_the_id_is_no_claim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
