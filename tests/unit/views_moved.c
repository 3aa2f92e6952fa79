/* A get of views while another caller changes the base before each read of it. The get tries again until
 * its deadline. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"
#include "support/no_database.h"

#define OK(call) assert_int_equal(MCDS_OK, call)
#define NS_PER_MS INT64_C(1000000)
#define TIMEOUT_MS 2000
#define FLUSH_MS 86400000
#define MANY 12

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    struct hooked_backend beside;
    mcds_store *store;
    mcds_store *other;
    mcds_views *mine;
    mcds_views *theirs;
    uint32_t left; /* changes of the base */
};

/* The base ends one interval later. */
static void change_base(struct world *world, mcds_bytes base)
{
    int64_t value;
    mcds_request request = {.command = MCDS_DELETE, .key = base};
    mcds_batch batch = {.requests = &request, .count = 1, .deadline_ns = INT64_MAX};
    mcds__backend_memory.submit(world->backend.inner, &batch);
    world->fake.wall_ns += FLUSH_MS * NS_PER_MS;
    OK(mcds_views_get(world->theirs, "page", &value));
    world->left--;
}

static bool hook(void *context, mcds_request *request)
{
    struct world *world = context;
    bool is_base = strstr(request->key.data, ":vb1:") != NULL;
    if (request->command == MCDS_GET && is_base && world->left > 0)
        change_base(world, request->key);
    return false;
}

static void begin(struct world *world)
{
    int64_t value;
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_views_options views_options = views_without_database();
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 1);
    options.env = &world->fake.env;
    options.timeout_ms = TIMEOUT_MS;
    views_options.flush_ms = FLUSH_MS;
    OK(hooked_backend_open(&world->backend, &options, &world->store));
    OK(hooked_backend_open_beside(&world->beside, &world->backend, &options, &world->other));
    OK(mcds_views_open(world->store, "v", &views_options, &world->mine));
    OK(mcds_views_open(world->other, "v", &views_options, &world->theirs));
    OK(mcds_views_hit(world->mine, "page", 1));
    OK(mcds_views_hit(world->theirs, "page", 1));
    OK(mcds_views_get(world->mine, "page", &value));
    assert_int_equal(value, 2);
    world->backend.hook = hook;
    world->backend.context = world;
}

static void end(struct world *world)
{
    mcds_views_close(world->mine);
    mcds_views_close(world->theirs);
    mcds_close(world->other);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static void a_get_outlasts_others(void **state)
{
    struct world world;
    int64_t value;
    (void)state;
    begin(&world);
    world.left = MANY;
    OK(mcds_views_get(world.mine, "page", &value));
    assert_int_equal(world.left, 0);
    end(&world);
}

static void a_get_ends_at_its_deadline(void **state)
{
    struct world world;
    int64_t value;
    (void)state;
    begin(&world);
    int64_t begun_ns = world.fake.monotonic_ns;
    world.left = UINT32_MAX;
    assert_int_equal(MCDS_BUSY, mcds_views_get(world.mine, "page", &value));
    assert_int_equal(MCDS_CAUSE_CONTENDED, mcds_last_error()->cause);
    int64_t taken_ms = (world.fake.monotonic_ns - begun_ns) / NS_PER_MS;
    assert_true(taken_ms > TIMEOUT_MS / 2 && taken_ms <= TIMEOUT_MS);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_get_outlasts_others),
        cmocka_unit_test(a_get_ends_at_its_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
