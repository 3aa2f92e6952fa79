/* A call that makes a job dead, and between two of its requests another worker makes the same job dead,
 * and the dead job is discarded. The rest of the call makes no dead job again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define OK(call) assert_int_equal(MCDS_OK, call)
#define NS_PER_MS INT64_C(1000000)
#define VISIBLE_MS 100
#define REQUESTS_MAX 100

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    struct hooked_backend beside;
    mcds_store *store;
    mcds_store *other;
    mcds_queue *mine;
    mcds_queue *theirs;
    mcds_job job;
    mcds_value value;
    uint32_t asked;   /* requests of the call so far */
    uint32_t at;      /* the discard comes before this request; 0: never */
    size_t id_length; /* of the dead job; 0: none */
    uint8_t id[32];
    bool is_discarded;
};

static mcds_queue *open_queue(mcds_store *store, uint32_t tries)
{
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    mcds_queue *queue;
    options.visible_ms = VISIBLE_MS;
    options.tries = tries;
    OK(mcds_queue_open(store, "q", &options, &queue));
    return queue;
}

static bool see_id(void *context, const mcds_queue_entry *entry)
{
    struct world *world = context;
    assert_int_equal(world->id_length, 0);
    assert_true(entry->id.length > 0 && entry->id.length <= sizeof world->id);
    memcpy(world->id, entry->id.data, world->id_length = entry->id.length);
    return true;
}

/* By a handle with these tries, after all claims have ended. */
static void expect_no_job(struct world *world, uint32_t tries)
{
    mcds_job job = MCDS_JOB_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    mcds_queue *queue = open_queue(world->other, tries);
    world->fake.wall_ns += VISIBLE_MS * NS_PER_MS;
    assert_int_equal(MCDS_NOT_FOUND, mcds_queue_next(queue, 0, &job, &value));
    mcds_value_free(&value);
    mcds_queue_close(queue);
}

static void discard_beside(struct world *world)
{
    expect_no_job(world, 1);
    OK(mcds_queue_dead(world->theirs, 0, see_id, world));
    if (world->id_length == 0)
        return;
    OK(mcds_queue_discard(world->theirs, (mcds_bytes){world->id, world->id_length}));
    world->is_discarded = true;
}

static bool hook(void *context, mcds_request *request)
{
    struct world *world = context;
    (void)request;
    if (++world->asked == world->at)
        discard_beside(world);
    return false;
}

/* My worker has the job at its last try. */
static void begin(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    world->job = (mcds_job)MCDS_JOB_INIT;
    world->value = (mcds_value)MCDS_VALUE_INIT;
    fake_env_init(&world->fake, 1);
    options.env = &world->fake.env;
    OK(hooked_backend_open(&world->backend, &options, &world->store));
    OK(hooked_backend_open_beside(&world->beside, &world->backend, &options, &world->other));
    world->mine = open_queue(world->store, 1);
    world->theirs = open_queue(world->other, 1);
    OK(mcds_queue_push(world->mine, mcds_text("a"), 0));
    OK(mcds_queue_next(world->mine, 0, &world->job, &world->value));
}

static void end(struct world *world)
{
    mcds_value_free(&world->value);
    mcds_queue_close(world->mine);
    mcds_queue_close(world->theirs);
    mcds_close(world->other);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static int give_back(struct world *world)
{
    return mcds_queue_again(world->mine, &world->job, 0);
}

/* The worker has died, and begins again. */
static int claim_again(struct world *world)
{
    world->job = (mcds_job)MCDS_JOB_INIT;
    world->fake.wall_ns += VISIBLE_MS * NS_PER_MS;
    return mcds_queue_next(world->mine, 0, &world->job, &world->value);
}

/* Returns whether the call has made another request, and adds to *discards whether the job was dead
 * before it. */
static bool play(int (*call)(struct world *world), uint32_t at, uint32_t *discards)
{
    struct world world;
    mcds_queue_counts counts = MCDS_QUEUE_COUNTS_INIT;
    begin(&world);
    world.at = at;
    world.backend.hook = hook;
    world.backend.context = &world;
    int result = call(&world);
    world.backend.hook = NULL;
    assert_true(result == MCDS_OK || result == MCDS_LOST || result == MCDS_NOT_FOUND);
    assert_false(world.job.is_held);
    expect_no_job(&world, 0);
    OK(mcds_queue_count(world.theirs, &counts));
    assert_int_equal(counts.dead, !world.is_discarded);
    *discards += world.is_discarded;
    bool is_reached = world.asked >= at;
    end(&world);
    return is_reached;
}

static void discard_at_each_request(int (*call)(struct world *world))
{
    uint32_t at = 1;
    uint32_t discards = 0;
    while (play(call, at, &discards))
        assert_true(++at < REQUESTS_MAX);
    assert_true(at > 3);
    assert_int_equal(discards, at - 1);
}

static void an_again_makes_no_job_dead_after_its_discard(void **state)
{
    (void)state;
    discard_at_each_request(give_back);
}

static void a_next_makes_no_job_dead_after_its_discard(void **state)
{
    (void)state;
    discard_at_each_request(claim_again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_again_makes_no_job_dead_after_its_discard),
        cmocka_unit_test(a_next_makes_no_job_dead_after_its_discard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
