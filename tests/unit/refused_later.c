/* The reply to an append is lost, others fill the part, and the store refuses the append in the
 * next part: what the first part holds of it decides the result. */
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

#define VALUES 2
#define MISSES 4 /* until the count of the refused part would be written */
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
    char part[256];   /* the key of the first part */
    char count[256];  /* the key of the count of the parts */
    bool closes_only; /* others find no room for the next part either */
    uint32_t misses;  /* reads of it that come too early */
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
    int result = MCDS_OK;
    for (int i = 0; i < FILLERS && result == MCDS_OK; i++)
        result = mcds_list_push(world->other, (mcds_bytes){filler, sizeof filler});
    assert_int_equal(result, world->closes_only ? MCDS_FULL : MCDS_OK);
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
    world->stage = world->closes_only ? FULL : CALM;
    fill(world);
    world->misses = world->closes_only ? MISSES : 0;
    world->stage = FULL;
    memset(&request->reply, 0, sizeof request->reply);
    request->reply.outcome = MCDS_OUT_UNKNOWN;
}

/* "mcds:lp1:NAME:LIFE" */
static bool is_count(mcds_bytes key)
{
    const char *at = key.data;
    uint32_t colons = 0;
    for (size_t i = 0; i < key.length; i++)
        colons += at[i] == ':';
    return key.length > 9 && memcmp(at, "mcds:lp1:", 9) == 0 && colons == 3;
}

static bool is_first_part(const struct world *world, mcds_bytes key)
{
    return key.length == strlen(world->part) && memcmp(key.data, world->part, key.length) == 0;
}

/* The count is read before others write it again. */
static bool hook_count(struct world *world, mcds_request *request)
{
    (void)snprintf(world->count, sizeof world->count, "%.*s", (int)request->key.length,
                   (const char *)request->key.data);
    if (world->misses == 0 || request->command != MCDS_GET)
        return false;
    world->misses--;
    request->reply.outcome = MCDS_OUT_MISS;
    return true;
}

static bool hook(void *context, mcds_request *request)
{
    struct world *world = context;
    if (is_count(request->key))
        return hook_count(world, request);
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

static void submit(struct world *world, mcds_request *request, mcds_buffer *values)
{
    mcds_batch batch = {
        .requests = request, .count = 1, .deadline_ns = INT64_MAX, .values = values};
    mcds__backend_memory.submit(world->backend.inner, &batch);
}

/* The store has lost the count; others write it again between its read and its write. */
static void a_refused_part_is_not_counted(void **state)
{
    (void)state;
    static struct world world;
    uint8_t room[32];
    mcds_buffer values;
    begin(&world, ALL);
    fill(&world);
    assert_int_equal(mcds_list_push(world.list, mcds_text("in part 1")), MCDS_OK);
    mcds_request request = {.command = MCDS_DELETE, .key = mcds_text(world.count)};
    submit(&world, &request, NULL);
    assert_int_equal(request.reply.outcome, MCDS_OUT_OK);
    world.closes_only = true;
    assert_int_equal(push(&world), MCDS_OK);
    request.command = MCDS_GET;
    mcds__buffer_init_in(&values, &world.fake.env, sizeof room, room, sizeof room);
    submit(&world, &request, &values);
    assert_int_equal(request.reply.outcome, MCDS_OUT_OK);
    assert_int_equal(request.reply.value_length, 1);
    assert_int_equal(room[0], '2');
    end(&world);
    assert_int_equal(world.seen[0], 1);
    assert_int_equal(world.seen[1], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_part_is_not_counted),
        cmocka_unit_test(what_is_in_no_part_is_refused),
        cmocka_unit_test(what_is_in_a_full_part_is_stored),
        cmocka_unit_test(what_is_in_a_full_part_by_half_is_ambiguous),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
