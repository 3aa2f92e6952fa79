/* How long a claim of a job lasts for its worker, and for the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"

#define OK(call) assert_int_equal(MCDS_OK, call)
#define NS_PER_MS INT64_C(1000000)
#define STEP_NS (NS_PER_MS / 10)
#define LONG_MS 60000
#define SHORT_MS 100

struct world {
    struct fake_env fake;
    mcds_store *store;
    mcds_queue *mine;
    mcds_queue *theirs;
    mcds_job job;
    mcds_job other;
    mcds_value value;
};

static mcds_queue *open_queue(mcds_store *store, uint32_t visible_ms)
{
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    mcds_queue *queue;
    options.visible_ms = visible_ms;
    OK(mcds_queue_open(store, "q", &options, &queue));
    return queue;
}

static void move(struct world *world, int64_t ns)
{
    world->fake.monotonic_ns += ns;
    world->fake.wall_ns += ns;
}

/* My worker has a job. The time is not a whole number of ms. */
static void begin(struct world *world, uint32_t mine_ms, uint32_t theirs_ms)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    fake_env_init(&world->fake, 1);
    options.env = &world->fake.env;
    OK(mcds_open("memory:", &options, &world->store));
    world->mine = open_queue(world->store, mine_ms);
    world->theirs = open_queue(world->store, theirs_ms);
    world->job = world->other = (mcds_job)MCDS_JOB_INIT;
    world->value = (mcds_value)MCDS_VALUE_INIT;
    world->fake.wall_ns += NS_PER_MS - world->fake.wall_ns % NS_PER_MS + 9 * STEP_NS;
    OK(mcds_queue_push(world->mine, mcds_text("a"), 0));
    OK(mcds_queue_next(world->mine, 0, &world->job, &world->value));
}

static void end(struct world *world)
{
    mcds_value_free(&world->value);
    mcds_queue_close(world->mine);
    mcds_queue_close(world->theirs);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

/* Their worker gets the job after the deadline of mine, and soon after. */
static void wait_for_the_end(struct world *world)
{
    int result = MCDS_NOT_FOUND;
    while (result == MCDS_NOT_FOUND && world->fake.monotonic_ns < world->job.deadline_ns) {
        result = mcds_queue_next(world->theirs, 0, &world->other, &world->value);
        move(world, STEP_NS);
    }
    assert_int_equal(MCDS_NOT_FOUND, result);
    move(world, 2 * NS_PER_MS);
    OK(mcds_queue_next(world->theirs, 0, &world->other, &world->value));
}

static void a_claim_lasts_until_its_deadline(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SHORT_MS, SHORT_MS);
    wait_for_the_end(&world);
    end(&world);
}

static void a_longer_claim_lasts_until_its_deadline(void **state)
{
    struct world world;
    int64_t before_ns;
    (void)state;
    begin(&world, SHORT_MS, SHORT_MS);
    before_ns = world.job.deadline_ns;
    move(&world, 50 * NS_PER_MS);
    OK(mcds_queue_longer(world.mine, &world.job));
    assert_int_equal(world.job.deadline_ns, before_ns + 50 * NS_PER_MS);
    wait_for_the_end(&world);
    end(&world);
}

/* The handle that extends the claim has a shorter visible_ms than the one that has claimed the job. */
static void a_longer_ends_no_claim_earlier(void **state)
{
    struct world world;
    mcds_job same = MCDS_JOB_INIT;
    char receipt[MCDS_QUEUE_JOB_TEXT];
    int64_t before_ns;
    (void)state;
    begin(&world, LONG_MS, SHORT_MS);
    before_ns = world.job.deadline_ns;
    mcds_queue_job_save(&world.job, receipt);
    OK(mcds_queue_job_load(&same, receipt));
    OK(mcds_queue_longer(world.theirs, &same));
    assert_true(same.deadline_ns > 0 && same.deadline_ns < before_ns);
    OK(mcds_queue_longer(world.theirs, &world.job));
    assert_int_equal(world.job.deadline_ns, before_ns);
    move(&world, before_ns - world.fake.monotonic_ns - NS_PER_MS);
    assert_int_equal(MCDS_NOT_FOUND,
                     mcds_queue_next(world.theirs, 0, &world.other, &world.value));
    OK(mcds_queue_done(world.mine, &world.job));
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_lasts_until_its_deadline),
        cmocka_unit_test(a_longer_claim_lasts_until_its_deadline),
        cmocka_unit_test(a_longer_ends_no_claim_earlier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
