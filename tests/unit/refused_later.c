/* The reply to an append is lost, others fill the part, and the store refuses the append in the
 * next part: what the first part holds of it decides the result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define VALUES 2
#define LENGTH 100
#define FILLERS 20 /* more than a part takes */
#define FILLER_LENGTH 1000

enum stage { CALM, LOSING, FULL };

/* How much of the append whose reply is lost the store has carried out. */
enum arrived { NOTHING, HALF, ALL };

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_list *list;
    mcds_list *other;
    enum stage stage;
    enum arrived arrived;
    char part[256]; /* the key of the first part */
    uint32_t seen[VALUES];
};

static mcds_bytes value_of(uint32_t number)
{
    static char bytes[VALUES][LENGTH];
    memset(bytes[number], 'a' + (int)number, LENGTH);
    return (mcds_bytes){bytes[number], LENGTH};
}

/* Others fill the part, and begin the next one. */
static void fill(struct world *world)
{
    static char filler[FILLER_LENGTH] = "filler";
    for (int i = 0; i < FILLERS; i++)
        assert_int_equal(mcds_list_push(world->other, (mcds_bytes){filler, sizeof filler}),
                         MCDS_OK);
}

static void lose(struct world *world, mcds_request *request)
{
    mcds_request part = *request;
    mcds_batch batch = {.requests = &part, .count = 1, .deadline_ns = INT64_MAX};
    (void)snprintf(world->part, sizeof world->part, "%.*s", (int)request->key.length,
                   (const char *)request->key.data);
    part.value.length = request->value.length * world->arrived / ALL;
    if (world->arrived != NOTHING) {
        mcds__backend_memory.submit(world->backend.inner, &batch);
        assert_int_equal(part.reply.outcome, MCDS_OUT_OK);
    }
    world->stage = CALM;
    fill(world);
    world->stage = FULL;
    memset(&request->reply, 0, sizeof request->reply);
    request->reply.outcome = MCDS_OUT_UNKNOWN;
}

static bool is_first_part(const struct world *world, mcds_bytes key)
{
    return key.length == strlen(world->part) && memcmp(key.data, world->part, key.length) == 0;
}

static bool hook(void *context, mcds_request *request)
{
    struct world *world = context;
    bool grows = request->command == MCDS_APPEND || request->command == MCDS_ADD;
    if (world->stage == LOSING && request->command == MCDS_APPEND) {
        lose(world, request);
        return true;
    }
    if (world->stage != FULL || !grows || is_first_part(world, request->key))
        return false;
    request->reply.outcome = MCDS_OUT_NO_MEMORY;
    return true;
}

static void begin(struct world *world, enum arrived arrived)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 1);
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.hook = hook;
    world->backend.context = world;
    world->arrived = arrived;
    assert_int_equal(mcds_list_open(world->store, "x", NULL, &world->list), MCDS_OK);
    assert_int_equal(mcds_list_open(world->store, "x", NULL, &world->other), MCDS_OK);
    assert_int_equal(mcds_list_push(world->list, mcds_text("first")), MCDS_OK);
    assert_int_equal(mcds_list_push(world->other, mcds_text("second")), MCDS_OK);
}

static bool see(void *context, mcds_bytes value)
{
    struct world *world = context;
    for (uint32_t i = 0; i < VALUES; i++)
        world->seen[i] += value.length == LENGTH &&
                          memcmp(value.data, value_of(i).data, LENGTH) == 0;
    return true;
}

static void end(struct world *world)
{
    world->stage = CALM;
    assert_int_equal(mcds_list_scan(world->other, 0, 0, see, world), MCDS_OK);
    mcds_list_close(world->list);
    mcds_list_close(world->other);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static int push(struct world *world)
{
    const mcds_bytes values[VALUES] = {value_of(0), value_of(1)};
    world->stage = LOSING;
    return mcds_list_push_many(world->list, values, VALUES, NULL);
}

static void what_is_in_no_part_is_refused(void **state)
{
    (void)state;
    static struct world world;
    begin(&world, NOTHING);
    assert_int_equal(push(&world), MCDS_FULL);
    end(&world);
    assert_int_equal(world.seen[0] + world.seen[1], 0);
}

static void what_is_in_a_full_part_is_stored(void **state)
{
    (void)state;
    static struct world world;
    begin(&world, ALL);
    assert_int_equal(push(&world), MCDS_OK);
    end(&world);
    assert_int_equal(world.seen[0], 1);
    assert_int_equal(world.seen[1], 1);
}

static void what_is_in_a_full_part_by_half_is_ambiguous(void **state)
{
    (void)state;
    static struct world world;
    begin(&world, HALF);
    assert_int_equal(push(&world), MCDS_AMBIGUOUS);
    end(&world);
    assert_int_equal(world.seen[0], 1);
    assert_int_equal(world.seen[1], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_in_no_part_is_refused),
        cmocka_unit_test(what_is_in_a_full_part_is_stored),
        cmocka_unit_test(what_is_in_a_full_part_by_half_is_ambiguous),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
