/* A keyspace alone, with a clock and memory that the test controls. */
#ifndef MCDS_TESTS_TABLE_WORLD_H
#define MCDS_TESTS_TABLE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/hash/hash.h"
#include "store/memory/keyspace.h"
#include "support/fake_env.h"

#define SEED 7
#define CONNECTION 5

struct world {
    struct fake_env fake;
    struct mcds__keyspace *table;
    mcds_buffer values;
    uint64_t cas_next;
    struct mcds__keyspace_context context;
    mcds_request request; /* the last one, with its reply */
};

static inline void world_open(struct world *world, struct mcds__keyspace_options options)
{
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, SEED);
    if (options.value_max == 0)
        options.value_max = 1000;
    world->table = mcds__keyspace_open(&world->fake.env, &options);
    assert_non_null(world->table);
    mcds__buffer_init(&world->values, &world->fake.env, 1 << 20);
    world->context = (struct mcds__keyspace_context){
        .now_ms = 5000,
        .cas_next = &world->cas_next,
        .connection = CONNECTION,
        .values = &world->values,
    };
}

static inline void world_close(struct world *world)
{
    mcds__buffer_free(&world->values);
    mcds__keyspace_close(world->table);
    assert_int_equal(world->fake.blocks, 0);
}

static inline mcds_outcome run(struct world *world, mcds_request request)
{
    world->request = request;
    world->values.length = 0;
    mcds__keyspace_execute(world->table, &world->request, mcds__hash(SEED, request.key),
                           &world->context);
    return world->request.reply.outcome;
}

static inline mcds_bytes text(const char *string)
{
    return (mcds_bytes){string, strlen(string)};
}

static inline mcds_outcome store(struct world *world, mcds_command command, const char *key,
                                 const char *value)
{
    return run(world,
               (mcds_request){.command = command, .key = text(key), .value = text(value)});
}

static inline mcds_outcome get(struct world *world, const char *key)
{
    return run(world,
               (mcds_request){.command = MCDS_GET, .key = text(key), .options = MCDS_WANT_TTL});
}

static inline mcds_outcome count(struct world *world, mcds_command command, const char *key,
                                 uint64_t delta)
{
    return run(world, (mcds_request){.command = command, .key = text(key), .delta = delta});
}

static inline void assert_value(struct world *world, const char *key, const char *value)
{
    assert_int_equal(get(world, key), MCDS_OUT_OK);
    assert_int_equal(world->request.reply.value_length, strlen(value));
    assert_int_equal(world->values.length, strlen(value));
    if (value[0] != '\0')
        assert_memory_equal(world->values.data, value, strlen(value));
}

#endif
