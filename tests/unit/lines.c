/* Operations that wait in the line of a place: each ends in its own time, whatever the first does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "engine/line_wait.h"
#include "engine/pipeline.h"
#include "support/fake_env.h"

#define PLACE 77
#define OTHER_PLACE 79
#define LONG_NS (INT64_C(3600) * NS_PER_S)
#define WAITERS 40

/* A backend that never answers. */
static void mute_capabilities(void *backend, mcds_capabilities *out)
{
    (void)backend;
    memset(out, 0, sizeof *out);
}

static int mute_session_open(void *backend, void **session_out)
{
    *session_out = backend;
    return MCDS_OK;
}

static void mute_session_close(void *session)
{
    (void)session;
}

static void mute_submit(void *session, mcds_batch *first)
{
    (void)session;
    (void)first;
}

static mcds_batch *mute_collect(void *session, int64_t until_ns)
{
    if (until_ns > 0 && until_ns < INT64_MAX)
        fake_env_sleep_until_ns(session, until_ns);
    return NULL;
}

static const mcds_backend mute_backend = {
    .version = MCDS_BACKEND_VERSION,
    .scheme = "mute",
    .capabilities = mute_capabilities,
    .session_open = mute_session_open,
    .session_close = mute_session_close,
    .submit = mute_submit,
    .collect = mute_collect,
};

/* Uses the place, and then asks the store, or sleeps until another place is free. */
struct user {
    struct mcds__operation base;
    mcds_request request;
    bool wants_other;
    bool has_slept;
};

static enum mcds__step step_user(struct mcds__operation *operation)
{
    struct user *user = (struct user *)operation;
    enum mcds__step step;
    if (user->has_slept)
        return mcds__operation_finish(operation, MCDS_OK);
    if (mcds__line_waits_alone(operation, PLACE, &step))
        return step;
    if (user->wants_other) {
        user->has_slept = true;
        assert_true(mcds__operation_wait_in_line(operation, OTHER_PLACE, NS_PER_MS));
        return MCDS__SLEEP;
    }
    user->request = (mcds_request){.command = MCDS_INCR, .key = {"k", 1}, .delta = 1};
    return mcds__operation_ask(operation, &user->request, 1);
}

static const struct mcds__operation_kind user_kind = {"user", "use", sizeof(struct user),
                                                      step_user, NULL};

struct world {
    struct fake_env fake;
    mcds_store *store;
    mcds_pipeline *pipeline;
    struct mcds__handle *handle; /* on nothing */
};

static void begin(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 1);
    options.env = &world->fake.env;
    assert_int_equal(mcds_open_backend(&mute_backend, &world->fake, &options, &world->store),
                     MCDS_OK);
    assert_int_equal(mcds_pipeline_open(world->store, NULL, &world->pipeline), MCDS_OK);
    world->handle = mcds__handle_open("x", world->store, "x", sizeof *world->handle, NULL);
    assert_non_null(world->handle);
}

static void end(struct world *world)
{
    mcds_pipeline_close(world->pipeline);
    mcds__handle_release(world->handle);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static void start(struct world *world, uint64_t tag, int64_t longer_ns, bool wants_other)
{
    int result = MCDS_OK;
    struct user *user = mcds__call_begin_zero(NULL, &user_kind, world->handle,
                                              MCDS__START(world->pipeline, tag), &result);
    assert_non_null(user);
    user->base.deadline_ns += longer_ns;
    user->wants_other = wants_other;
    assert_int_equal(mcds__call_launch(&user->base, MCDS__START(world->pipeline, tag)),
                     MCDS_OK);
}

/* Poll for so long, and count what ends. */
static uint32_t poll_for(struct world *world, int64_t ns)
{
    uint32_t count = 0;
    mcds_completion done;
    int64_t end_ns = world->fake.monotonic_ns + ns;
    for (; world->fake.monotonic_ns <= end_ns; world->fake.monotonic_ns += NS_PER_MS)
        while (mcds_pipeline_poll(world->pipeline, &done) == MCDS_OK)
            count++;
    return count;
}

static void a_deadline_is_earlier_than_that_of_the_first(void **state)
{
    static struct world world;
    (void)state;
    begin(&world);
    int64_t timeout_ns = mcds__store_timeout_ns(world.store);
    start(&world, 0, LONG_NS, false);
    for (uint64_t i = 1; i <= WAITERS; i++)
        start(&world, i, i % 2 == 0 ? LONG_NS : 0, false);
    assert_int_equal(poll_for(&world, timeout_ns - 10 * NS_PER_MS), 0);
    assert_int_equal(poll_for(&world, 20 * NS_PER_MS), WAITERS / 2);
    assert_int_equal(poll_for(&world, timeout_ns), 0);
    end(&world);
}

/* mcds_pipeline_next sleeps until then. */
static void a_waiting_caller_gets_it_too(void **state)
{
    static struct world world;
    mcds_completion done;
    (void)state;
    begin(&world);
    start(&world, 0, LONG_NS, false);
    start(&world, 1, LONG_NS, false);
    start(&world, 2, 0, false);
    int64_t before_ns = world.fake.monotonic_ns;
    assert_int_equal(mcds_pipeline_next(world.pipeline, &done), MCDS_OK);
    assert_int_equal(done.tag, 2);
    assert_in_range(world.fake.monotonic_ns - before_ns, 0,
                    mcds__store_timeout_ns(world.store) + 20 * NS_PER_MS);
    end(&world);
}

static void an_ended_wait_ends_in_the_middle(void **state)
{
    static struct world world;
    mcds_completion done;
    (void)state;
    begin(&world);
    for (uint64_t i = 0; i <= WAITERS; i++)
        start(&world, i, LONG_NS, false);
    for (uint64_t i = WAITERS; i > 0; i -= 2) {
        assert_int_equal(mcds_pipeline_end_wait(world.pipeline, i), MCDS_OK);
        assert_int_equal(mcds_pipeline_poll(world.pipeline, &done), MCDS_OK);
        assert_int_equal(done.tag, i);
    }
    assert_int_equal(poll_for(&world, NS_PER_S), 0);
    end(&world);
}

/* It is called only for the place whose line it is in, and uses that place. */
static void one_that_uses_a_place_wakes_from_another(void **state)
{
    static struct world world;
    mcds_completion done;
    (void)state;
    begin(&world);
    for (uint64_t i = 0; i < WAITERS; i++)
        start(&world, i, 0, true);
    for (uint64_t i = 0; i < WAITERS; i++) {
        assert_int_equal(mcds_pipeline_next(world.pipeline, &done), MCDS_OK);
        assert_int_equal(done.tag, i);
        assert_int_equal(done.result, MCDS_OK);
    }
    assert_true(mcds_pipeline_is_idle(world.pipeline));
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deadline_is_earlier_than_that_of_the_first),
        cmocka_unit_test(a_waiting_caller_gets_it_too),
        cmocka_unit_test(an_ended_wait_ends_in_the_middle),
        cmocka_unit_test(one_that_uses_a_place_wakes_from_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
