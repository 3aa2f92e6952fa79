/* A list is cleared or dropped while other calls are under way: each knows what became of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define ROOT "mcds:l1:x"
#define HEADER_LENGTH 12
#define HERE "here"
#define TIMEOUT_MS 50
#define IN_FLIGHT 5
#define FILLS 5000       /* three values fill a part */
#define BYTES_MAX 32768  /* of a part */
#define REQUESTS_MAX 200 /* of a clear */

static const char bytes[FILLS];

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    struct hooked_backend beside;
    mcds_store *store;
    mcds_store *plain;
    mcds_list *list; /* of `store`, whose requests are seen */
    mcds_list *other;
    uint32_t left; /* requests until the others act */
    size_t length; /* of a value that they push */
    bool has_acted;
    mcds_request root; /* before the clear, */
    uint8_t root_bytes[128];
    mcds_request part; /* and the first part */
    char part_key[251];
    uint8_t part_bytes[BYTES_MAX];
};

static void submit(struct world *world, mcds_request *request)
{
    mcds_batch one = {.requests = request, .count = 1, .deadline_ns = INT64_MAX};
    memset(&request->reply, 0, sizeof request->reply);
    mcds__backend_memory.submit(world->backend.inner, &one);
}

static void begin(struct world *world, bool (*hook)(void *context, mcds_request *request))
{
    mcds_options options = MCDS_OPTIONS_INIT;
    fake_env_init(&world->fake, 5);
    options.env = &world->fake.env;
    options.timeout_ms = TIMEOUT_MS;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.lacks_sizes = true;
    assert_int_equal(
        hooked_backend_open_beside(&world->beside, &world->backend, &options, &world->plain),
        MCDS_OK);
    assert_int_equal(mcds_list_open(world->store, "x", NULL, &world->list), MCDS_OK);
    assert_int_equal(mcds_list_open(world->plain, "x", NULL, &world->other), MCDS_OK);
    world->backend.hook = hook;
    world->backend.context = world;
}

static void end(struct world *world)
{
    mcds_list_close(world->list);
    mcds_list_close(world->other);
    mcds_close(world->plain);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static bool count_value(void *context, mcds_bytes value)
{
    (void)value;
    ++*(int *)context;
    return true;
}

/* Pushes of a handle that knows the list as it was before the clear. */
static bool push_at(void *context, mcds_request *request)
{
    struct world *world = context;
    mcds_pipeline *pipeline;
    mcds_completion done;
    (void)request;
    if (world->has_acted || world->left-- > 0)
        return false;
    world->has_acted = true;
    assert_int_equal(mcds_pipeline_open(world->plain, NULL, &pipeline), MCDS_OK);
    for (uint64_t i = 0; i < IN_FLIGHT; i++)
        assert_int_equal(
            mcds_list_push_start(world->other, (mcds_bytes){bytes, world->length}, pipeline, i),
            MCDS_OK);
    while (mcds_pipeline_next(pipeline, &done) == MCDS_OK)
        if (done.result != MCDS_OK)
            fail_msg("length %u: %s", (unsigned)world->length, mcds_errmsg());
    mcds_pipeline_close(pipeline);
    return false;
}

/* No reply is lost, so each push knows that it was pushed. */
static bool play_pushes(struct world *world, uint32_t before, bool drops)
{
    int count = 0;
    begin(world, NULL);
    for (uint32_t i = 0; i < before; i++)
        assert_int_equal(mcds_list_push(world->other, (mcds_bytes){bytes, world->length}),
                         MCDS_OK);
    world->backend.hook = push_at;
    assert_int_equal(drops ? mcds_list_drop(world->list) : mcds_list_clear(world->list),
                     MCDS_OK);
    world->backend.hook = NULL;
    int found = mcds_list_scan(world->list, 0, 0, count_value, &count);
    assert_true(found == MCDS_OK || (found == MCDS_NOT_FOUND && drops));
    assert_in_range(count, 0, IN_FLIGHT);
    end(world);
    return world->has_acted;
}

static void a_push_beside_a_clear_is_not_in_doubt(void **state)
{
    static struct world world;
    (void)state;
    for (uint32_t how = 0; how < 4; how++)
        for (uint32_t before = 1; before < 8; before++) {
            uint32_t at = 0;
            do {
                world = (struct world){.left = at, .length = how % 2 == 0 ? 1 : FILLS};
            } while (play_pushes(&world, before, how >= 2) && at++ < REQUESTS_MAX);
            assert_in_range(at, 1, REQUESTS_MAX);
        }
}

static bool is_root(const mcds_request *request)
{
    return request->key.length == strlen(ROOT) &&
           memcmp(request->key.data, ROOT, strlen(ROOT)) == 0;
}

static void keep(struct world *world, mcds_request *kept, mcds_bytes key, uint8_t *value)
{
    mcds_buffer values;
    mcds_request get = {.command = MCDS_GET, .key = key};
    mcds__buffer_init(&values, &world->fake.env, BYTES_MAX);
    mcds_batch one = {
        .requests = &get, .count = 1, .deadline_ns = INT64_MAX, .values = &values};
    mcds__backend_memory.submit(world->backend.inner, &one);
    assert_int_equal(get.reply.outcome, MCDS_OUT_OK);
    memcpy(value, values.data + get.reply.value_at, get.reply.value_length);
    *kept = (mcds_request){.command = MCDS_SET,
                           .key = key,
                           .flags = get.reply.flags,
                           .value = {value, get.reply.value_length}};
    mcds__buffer_free(&values);
}

/* Notes the first part to which a push appends. */
static bool note_part(void *context, mcds_request *request)
{
    struct world *world = context;
    if (request->command == MCDS_APPEND && world->part_key[0] == '\0')
        memcpy(world->part_key, request->key.data, request->key.length);
    return false;
}

/* The end segment is lost as its value is asked for, and a late writer has made the part again. */
static bool make_again(void *context, mcds_request *request)
{
    struct world *world = context;
    mcds_bytes key = mcds_text(world->part_key);
    bool is_part = request->key.length == key.length &&
                   memcmp(request->key.data, key.data, key.length) == 0;
    if (!world->has_acted && is_part && request->command == MCDS_GET && request->options == 0) {
        world->has_acted = true;
        submit(world, &world->part);
        assert_int_equal(world->part.reply.outcome, MCDS_OUT_OK);
    }
    return false;
}

/* The part `part_key` is an end segment to which a late push has appended. */
static void play_end(struct world *world, bool clears)
{
    begin(world, note_part);
    assert_int_equal(mcds_list_push(world->list, mcds_text("value")), MCDS_OK);
    keep(world, &world->root, mcds_text(ROOT), world->root_bytes);
    keep(world, &world->part, mcds_text(world->part_key), world->part_bytes);
    assert_int_equal(mcds_list_clear(world->other), MCDS_OK);
    mcds_request late = {
        .command = MCDS_APPEND,
        .key = mcds_text(world->part_key),
        .value = {world->part_bytes + HEADER_LENGTH, world->part.value.length - HEADER_LENGTH}};
    submit(world, &late);
    assert_int_equal(late.reply.outcome, MCDS_OUT_OK);
    if (clears)
        submit(world, &world->root); /* as if the clear had stopped before it changed it */
    world->backend.hook = make_again;
    assert_int_equal(clears ? mcds_list_clear(world->list)
                            : mcds_list_push(world->list, mcds_text("after")),
                     MCDS_OK);
    assert_true(world->has_acted);
    end(world);
}

static void an_end_that_is_lost_and_made_again_is_not_corrupt(void **state)
{
    static struct world world;
    (void)state;
    for (int clears = 0; clears < 2; clears++) {
        world = (struct world){.left = 0};
        play_end(&world, clears != 0);
    }
}

/* The list is made between the scan's request and its reply. */
static bool push_before_the_reply(void *context, mcds_request *request)
{
    struct world *world = context;
    if (world->has_acted || !is_root(request))
        return false;
    world->has_acted = true;
    submit(world, request);
    assert_int_equal(request->reply.outcome, MCDS_OUT_MISS);
    assert_int_equal(mcds_list_push(world->list, mcds_text("first")), MCDS_OK);
    return true;
}

static void a_scan_that_precedes_the_list_reports_no_loss(void **state)
{
    static struct world world;
    int count = 0;
    (void)state;
    world = (struct world){.left = 0};
    begin(&world, push_before_the_reply);
    assert_int_equal(mcds_list_scan(world.list, 0, 0, count_value, &count), MCDS_NOT_FOUND);
    assert_int_equal(mcds_list_scan(world.list, 0, 0, count_value, &count), MCDS_OK);
    assert_int_equal(count, 1);
    end(&world);
}

/* The root changes before the request of the clear, which has no time left after the reply. */
static bool refuse_late(void *context, mcds_request *request)
{
    struct world *world = context;
    if (request->command == MCDS_CAS && is_root(request)) {
        world->has_acted = true;
        request->reply.outcome = MCDS_OUT_EXISTS;
    } else {
        mcds_batch one = *world->backend.batch;
        mcds__backend_memory.submit(world->backend.inner, &one);
        if (world->has_acted)
            world->fake.monotonic_ns += TIMEOUT_MS * INT64_C(1000000);
    }
    request->reply.peer = HERE;
    return true;
}

static void a_clear_without_time_is_unfinished(void **state)
{
    static struct world world;
    (void)state;
    world = (struct world){.left = 0};
    begin(&world, NULL);
    assert_int_equal(mcds_list_push(world.other, mcds_text("value")), MCDS_OK);
    world.backend.hook = refuse_late;
    assert_int_equal(mcds_list_clear(world.list), MCDS_AMBIGUOUS);
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_UNFINISHED);
    assert_string_equal(mcds_last_error()->peer, HERE);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_push_beside_a_clear_is_not_in_doubt),
        cmocka_unit_test(an_end_that_is_lost_and_made_again_is_not_corrupt),
        cmocka_unit_test(a_scan_that_precedes_the_list_reports_no_loss),
        cmocka_unit_test(a_clear_without_time_is_unfinished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
