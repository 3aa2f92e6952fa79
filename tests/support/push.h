/* The common part of the tests of combining: an operation that appends, and a world to run it
 * in. */
#ifndef MCDS_TESTS_PUSH_H
#define MCDS_TESTS_PUSH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "engine/pipeline.h"
#include "support/counting_backend.h"
#include "support/fake_env.h"

#define OPERATIONS_MAX 1000

/* What the pipeline's side of a combined append was told, for the test to look at. */
struct told {
    uint32_t completions;
    int result;
    mcds_outcome added;
    mcds_outcome appended;
    mcds_outcome read;
    size_t size;
    uint32_t tries;
};

/* An operation that appends `value` to `key` and asks how long it has become. */
struct push {
    struct mcds__operation base;
    struct told *told;
    struct mcds_request requests[3];
    const char *key;
    mcds_bytes value;
    uint64_t ttl_ms;
    uint32_t options;
    uint32_t flags;
    bool adds;
    bool reads;
    bool alone;
    bool repeats;
    bool asked;
    int64_t sooner_ns;
};

static inline enum mcds__step ask(struct push *push)
{
    mcds_bytes key = {push->key, strlen(push->key)};
    uint32_t count = 0;
    if (push->adds)
        push->requests[count++] = (mcds_request){
            .command = MCDS_ADD, .key = key, .value = {"^", 1}};
    push->requests[count++] = (mcds_request){
        .command = MCDS_APPEND,
        .options = push->options,
        .flags = push->flags,
        .ttl_ms = push->ttl_ms,
        .key = key,
        .value = push->value,
    };
    if (push->reads)
        push->requests[count++] = (mcds_request){
            .command = MCDS_GET, .options = MCDS_NO_VALUE, .key = key};
    push->asked = true;
    push->told->tries++;
    if (push->alone)
        return mcds__operation_ask_repeatable(&push->base, push->requests, count);
    return mcds__operation_ask_combinable(&push->base, push->requests, count);
}

static inline enum mcds__step step_push(struct mcds__operation *operation)
{
    struct push *push = (struct push *)operation;
    struct told *told = push->told;
    if (!push->asked)
        return ask(push);
    push->asked = false;
    const mcds_request *append = &push->requests[push->adds];
    if (push->adds)
        told->added = push->requests[0].reply.outcome;
    told->appended = append->reply.outcome;
    told->read = push->reads ? append[1].reply.outcome : MCDS_OUT_NONE;
    told->size = push->reads ? append[1].reply.value_length : append->reply.value_length;
    assert_int_equal(operation->batch.answered, operation->batch.count);
    if (mcds__is_transport_trouble(&append->reply) && push->repeats &&
        mcds__operation_again(operation))
        return MCDS__SLEEP;
    return mcds__operation_finish(operation, mcds__result_of(&append->reply));
}

static const struct mcds__operation_kind push_kind = {"push", "push", sizeof(struct push),
                                                      step_push, NULL};

/* A store on a counting backend, and a pipeline. */
struct world {
    struct fake_env fake;
    struct counting_backend counting;
    mcds_store *store;
    mcds_pipeline *pipeline;
    struct mcds__handle *handle; /* on nothing */
    uint32_t started;
    struct told told[OPERATIONS_MAX];
};

static inline void begin_on(struct world *world, const char *uri, bool counted)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_pipeline_options depth = MCDS_PIPELINE_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 1);
    options.env = &world->fake.env;
    depth.depth = OPERATIONS_MAX * 2;
    if (counted)
        assert_int_equal(counting_backend_open(&world->counting, uri, &world->fake.env,
                                               &options, &world->store),
                         MCDS_OK);
    else
        assert_int_equal(mcds_open(uri, &options, &world->store), MCDS_OK);
    assert_int_equal(mcds_pipeline_open(world->store, &depth, &world->pipeline), MCDS_OK);
    world->handle = mcds__handle_open("x", world->store, "x", sizeof *world->handle, NULL);
    assert_non_null(world->handle);
}

static inline void begin(struct world *world)
{
    begin_on(world, "memory:", true);
}

static inline void end(struct world *world)
{
    mcds_pipeline_close(world->pipeline);
    mcds__handle_release(world->handle);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

/* Begin one as the example says, with this key and value, which must stay until it ends. */
static inline void start(struct world *world, const struct push *example, const char *key,
                         const char *value, size_t length)
{
    int result = MCDS_OK;
    struct push *push = mcds__pipeline_new(world->pipeline, world->handle, &push_kind, &result);
    assert_non_null(push);
    *push = *example;
    mcds__operation_begin(&push->base, &push_kind, world->store, "x", 0);
    push->base.deadline_ns -= push->sooner_ns;
    push->told = &world->told[world->started];
    push->key = key;
    push->value = (mcds_bytes){value, length};
    assert_int_equal(
        mcds__call_launch(&push->base, MCDS__START(world->pipeline, world->started++)),
        MCDS_OK);
}

/* Take every completion; each comes once. */
static inline void drive(struct world *world)
{
    mcds_completion done;
    while (mcds_pipeline_next(world->pipeline, &done) == MCDS_OK) {
        assert_true(done.tag < world->started);
        world->told[done.tag].completions++;
        world->told[done.tag].result = done.result;
    }
    for (uint32_t i = 0; i < world->started; i++)
        assert_int_equal(world->told[i].completions, 1);
}

static inline mcds_outcome execute(struct world *world, mcds_request *request,
                                   mcds_buffer *values)
{
    mcds_batch batch = {
        .requests = request, .count = 1, .deadline_ns = INT64_MAX, .values = values};
    mcds__store_execute(world->store, 0, &batch);
    return request->reply.outcome;
}

static inline void store_value(struct world *world, const char *key, const char *value,
                               size_t length)
{
    mcds_request set = {
        .command = MCDS_SET, .key = {key, strlen(key)}, .value = {value, length}};
    assert_int_equal(execute(world, &set, NULL), MCDS_OUT_OK);
}

/* The value of a key; `values` is emptied first. */
static inline mcds_bytes value_of(struct world *world, const char *key, mcds_buffer *values)
{
    mcds_request get = {.command = MCDS_GET, .key = {key, strlen(key)}};
    values->length = 0;
    assert_int_equal(execute(world, &get, values), MCDS_OUT_OK);
    return (mcds_bytes){values->data, values->length};
}

static inline void expect_stored(struct world *world, const char *key, const char *expected)
{
    static uint8_t capacity[65536];
    mcds_buffer values = {.data = capacity, .capacity = sizeof capacity, .borrowed = true};
    mcds_bytes value = value_of(world, key, &values);
    assert_int_equal(value.length, strlen(expected));
    assert_memory_equal(value.data, expected, value.length);
}

static const struct push plain = {.reads = true};

#endif
