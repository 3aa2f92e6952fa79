/* The request that makes a structure is lost, or its reply is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

enum structure { SET, TABLE, LIMIT, LIST, LOG, QUEUE, QUEUE_DEAD, STRUCTURES };
static const char *const names[STRUCTURES] = {"set", "table", "limit",   "list",
                                              "log", "queue", "dead job"};

/* What happens to the batch that makes the structure. BESIDE: it is lost, and another client makes the
 * structure before the next request. */
enum fate { IS_LOST, HAS_NO_REPLY, BESIDE, FATES };

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    struct hooked_backend beside;
    mcds_store *store;
    mcds_store *other;
    enum structure structure;
    enum fate fate;
    uint64_t batch; /* the one that makes the structure; 0: not yet */
    bool is_made_beside;
};

static int change(mcds_store *store, enum structure structure)
{
    mcds_limit_options limits = MCDS_LIMIT_OPTIONS_INIT;
    mcds_limit_value value = MCDS_LIMIT_VALUE_INIT;
    mcds_bytes text = mcds_text("text");
    int result;
#define CHANGE(noun, options, call)                                                            \
    {                                                                                          \
        mcds_##noun *handle;                                                                   \
        assert_int_equal(mcds_##noun##_open(store, "x", options, &handle), MCDS_OK);           \
        result = call;                                                                         \
        mcds_##noun##_close(handle);                                                           \
        return result;                                                                         \
    }
    limits.rates[0] = (mcds_rate){10, 1000, 0};
    limits.rate_count = 1;
    switch (structure) {
    case SET:
        CHANGE(set, NULL, mcds_set_add(handle, text, NULL))
    case TABLE:
        CHANGE(table, NULL, mcds_table_put(handle, text, text, 0))
    case LIMIT:
        CHANGE(limit, &limits, mcds_limit_take(handle, text, 1, 0, &value))
    case LIST:
        CHANGE(list, NULL, mcds_list_push(handle, text))
    case LOG:
        CHANGE(log, NULL, mcds_log_put(handle, 0, text))
    case QUEUE:
        CHANGE(queue, NULL, mcds_queue_push(handle, text, 0))
    default:
        CHANGE(queue, NULL, mcds_queue_push_dead(handle, text, 1))
    }
#undef CHANGE
}

/* All requests of the batch that begins with the first ADD have no reply. */
static bool lose(void *context, mcds_request *request)
{
    struct world *world = context;
    if (world->batch == 0 && request->command == MCDS_ADD)
        world->batch = world->backend.batches;
    if (world->batch != world->backend.batches) {
        if (world->batch != 0 && world->fate == BESIDE && !world->is_made_beside) {
            world->is_made_beside = true;
            assert_int_equal(change(world->other, world->structure), MCDS_OK);
        }
        return false;
    }
    if (world->fate == HAS_NO_REPLY) {
        mcds_batch one = *world->backend.batch;
        mcds__backend_memory.submit(world->backend.inner, &one);
    }
    memset(&request->reply, 0, sizeof request->reply);
    request->reply.outcome = MCDS_OUT_UNKNOWN;
    return true;
}

static void world_open(struct world *world, enum structure structure, enum fate fate)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 7);
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    assert_int_equal(
        hooked_backend_open_beside(&world->beside, &world->backend, &options, &world->other),
        MCDS_OK);
    world->structure = structure;
    world->fate = fate;
    world->backend.hook = lose;
    world->backend.context = world;
}

static void world_close(struct world *world)
{
    assert_int_not_equal(world->batch, 0);
    mcds_close(world->other);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

/* The structure is recognised by the number of its life. */
static void a_lost_reply_is_no_obstacle(void **state)
{
    (void)state;
    for (enum structure structure = SET; structure < STRUCTURES; structure++) {
        struct world world;
        world_open(&world, structure, HAS_NO_REPLY);
        int result = change(world.store, structure);
        if (result != MCDS_OK)
            fail_msg("%s: %s", names[structure], mcds_errmsg());
        world_close(&world);
    }
}

/* A queue is made without a job, and a list and a log without a value: those are then added. The others
 * are made with their first entry, and cannot know whether the request still arrives. */
static void a_lost_request_is_named_as_the_cause(void **state)
{
    (void)state;
    for (enum structure structure = SET; structure < STRUCTURES; structure++)
        for (int fate = IS_LOST; fate < FATES; fate += BESIDE) {
            struct world world;
            world_open(&world, structure, (enum fate)fate);
            int result = change(world.store, structure);
            if (structure >= LIST) {
                if (result != MCDS_OK)
                    fail_msg("%s: %s", names[structure], mcds_errmsg());
            } else {
                const mcds_error *error = mcds_last_error();
                assert_int_equal(result, MCDS_AMBIGUOUS);
                if (error->cause != MCDS_CAUSE_REPLY_LOST ||
                    strstr(mcds_errmsg(), "dropped") != NULL ||
                    strstr(mcds_errmsg(), "the request may still arrive") == NULL)
                    fail_msg("%s, cause %d: %s", names[structure], (int)error->cause,
                             mcds_errmsg());
            }
            assert_int_equal(world.is_made_beside, fate == BESIDE);
            world_close(&world);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_reply_is_no_obstacle),
        cmocka_unit_test(a_lost_request_is_named_as_the_cause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
