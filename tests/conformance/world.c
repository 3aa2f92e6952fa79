/* One store under test, with short functions to send requests and to check the answers. */
#include "conformance/world.h"

#include <stdio.h>

#define VALUES_MAX ((size_t)256 << 20)
#define PATIENCE_NS (20 * NS_PER_S)

void world_open(struct world *world, const char *uri, struct fake_env *fake)
{
    memset(world, 0, sizeof *world);
    (void)snprintf(world->uri, sizeof world->uri, "%s", uri);
    world->fake = fake;
    world->env = fake != NULL ? &fake->env : mcds_env_system();
    mcds_options options = MCDS_OPTIONS_INIT;
    options.env = world->env;
    int result = mcds_open(uri, &options, &world->store);
    if (result != MCDS_OK)
        print_error("%s: %s\n", uri, mcds_errmsg());
    assert_int_equal(result, MCDS_OK);
    mcds__buffer_init(&world->values, world->env, VALUES_MAX);
    world_begin_case(world);
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = key(world, "first"));
    world->can = mcds__store_can(world->store);
}

void world_close(struct world *world)
{
    mcds__buffer_free(&world->values);
    mcds_close(world->store);
}

void world_begin_case(struct world *world)
{
    world->case_serial++;
    world->keys_used = 0;
}

mcds_bytes key(struct world *world, const char *name)
{
    assert_true(world->keys_used < WORLD_KEYS);
    char *fixture = world->keys[world->keys_used++];
    int length = snprintf(fixture, sizeof world->keys[0], "case%u.%u:%s", world->case_serial,
                          world->keys_used, name);
    return (mcds_bytes){fixture, (size_t)length};
}

mcds_bytes text(const char *string)
{
    return (mcds_bytes){string, strlen(string)};
}

void run_batch(struct world *world, mcds_request *requests, uint32_t count)
{
    mcds_batch batch = {
        .requests = requests,
        .count = count,
        .deadline_ns = mcds__monotonic_ns(world->env) + PATIENCE_NS,
        .values = &world->values,
    };
    world->values.length = 0;
    mcds__store_execute(world->store, requests[0].cas.connection, &batch);
    assert_int_equal(batch.answered, count);
}

struct sight {
    mcds_reply reply;
    mcds_buffer value;
    uint32_t count;
};

static void see(void *context, const mcds_reply *reply, mcds_bytes value)
{
    struct sight *sight = context;
    sight->reply = *reply;
    sight->count++;
    assert_true(mcds_buffer_append(&sight->value, value.data, value.length));
}

/* What was seen is what GET says in a batch; what never expires was seen. */
static void check_sight(struct world *world, const struct sight *sight,
                        const mcds_request *request)
{
    const mcds_reply *reply = &request->reply;
    if (sight->count == 0) {
        assert_false(reply->outcome == MCDS_OUT_OK && reply->ttl_ms == MCDS_TTL_NEVER);
        return;
    }
    check_outcome(sight->reply.outcome, reply->outcome, __FILE__, __LINE__);
    assert_int_equal(sight->value.length, reply->value_length);
    assert_int_equal(sight->reply.value_length, reply->value_length);
    assert_int_equal(sight->reply.flags, reply->flags);
    assert_int_equal(sight->reply.cas.unique, reply->cas.unique);
    assert_int_equal(sight->reply.cas.connection, reply->cas.connection);
    assert_ptr_equal(sight->reply.peer, reply->peer);
    if (request->options & MCDS_WANT_TTL)
        assert_int_equal(sight->reply.ttl_ms, reply->ttl_ms);
    if (!(request->options & MCDS_NO_VALUE) && reply->value_length > 0)
        assert_memory_equal(sight->value.data, world->values.data + reply->value_at,
                            reply->value_length);
    world->looked++;
}

static void run_looking(struct world *world, mcds_request *request)
{
    struct sight sight = {.count = 0};
    mcds__buffer_init(&sight.value, world->env, VALUES_MAX);
    bool seen = mcds__store_peek(world->store, request->key, see, &sight);
    assert_int_equal(sight.count, seen ? 1 : 0);
    run_batch(world, request, 1);
    check_sight(world, &sight, request);
    mcds__buffer_free(&sight.value);
}

/* Count in the key's cell, and answer as the backend would. */
static bool run_in_cell(struct world *world, mcds_request *request)
{
    bool up = request->command == MCDS_INCR;
    struct mcds__cell *cell = NULL;
    if (request->delta <= MCDS__CELL_DELTA_MAX)
        cell = mcds__store_open_cell(world->store, request->key, NULL);
    if (cell == NULL)
        return false;
    uint64_t number;
    bool counted = up ? mcds__cell_add(cell, request->delta, &number)
                      : mcds__cell_subtract(cell, request->delta, &number);
    if (counted) {
        mcds_request get = {.command = MCDS_GET, .key = request->key, .options = MCDS_NO_VALUE};
        run_batch(world, &get, 1);
        request->reply = get.reply;
        request->reply.number = number;
        world->counted++;
    }
    mcds__store_release_cell(world->store, request->key);
    return counted;
}

mcds_outcome run(struct world *world, mcds_request *request)
{
    bool short_way = world->short_ways && request->copy == 0 &&
                     mcds__key_is_legal(request->key);
    bool counts = request->command == MCDS_INCR || request->command == MCDS_DECR;
    if (short_way && request->command == MCDS_GET)
        run_looking(world, request);
    else if (!short_way || !counts || !run_in_cell(world, request))
        run_batch(world, request, 1);
    return request->reply.outcome;
}

const char *outcome_name(mcds_outcome outcome)
{
    static const char *const names[] = {
        "NONE",        "OK",        "MISS",      "EXISTS",      "NOT_STORED",
        "TOO_BIG",     "NO_MEMORY", "NO_BUFFER", "NOT_NUMERIC", "BAD_REQUEST",
        "UNSUPPORTED", "FAILED",    "PROTOCOL",  "UNSENT",      "UNKNOWN",
    };
    return outcome <= MCDS_OUT_UNKNOWN ? names[outcome] : "?";
}

void check_outcome(mcds_outcome outcome, mcds_outcome expected, const char *file, int line)
{
    if (outcome != expected)
        print_error("expected %s, got %s\n", outcome_name(expected), outcome_name(outcome));
    _assert_int_equal(outcome, expected, file, line);
}

mcds_reply get_reply(struct world *world, mcds_bytes which)
{
    mcds_request get = {.command = MCDS_GET, .key = which, .options = MCDS_WANT_TTL};
    check_outcome(run(world, &get), MCDS_OUT_OK, __FILE__, __LINE__);
    return get.reply;
}

void check_value(struct world *world, mcds_bytes which, mcds_bytes value, const char *file,
                 int line)
{
    mcds_request get = {.command = MCDS_GET, .key = which};
    check_outcome(run(world, &get), MCDS_OUT_OK, file, line);
    const uint8_t *at = world->values.data + get.reply.value_at;
    size_t length = get.reply.value_length;
    while (length > value.length && at[length - 1] == ' ')
        length--;
    _assert_int_equal(length, value.length, file, line);
    if (length > 0)
        _assert_memory_equal(at, value.data, length, file, line);
}

void pass_ms(struct world *world, int64_t ms)
{
    mcds__sleep_until_ns(world->env, mcds__monotonic_ns(world->env) + ms * NS_PER_MS);
}
