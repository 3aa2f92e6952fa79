/* A store that loses the key of ids while a take is under way: the take begins again, and its ids are
 * above all earlier ones. It gives up only where the store loses the key again and again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define REQUESTS_MAX 24 /* of a take, after two losses */
#define MANY 3000       /* more than a range */

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_ids *ids;
    uint32_t left;   /* requests before the next loss; 0: none */
    uint32_t losses; /* to come */
};

/* Before this request reaches the store. */
static bool lose(void *context, mcds_request *request)
{
    struct world *world = context;
    if (world->losses == 0 || --world->left > 0)
        return false;
    mcds_request erasure = {.command = MCDS_DELETE, .key = request->key};
    mcds_batch batch = {.requests = &erasure, .count = 1, .deadline_ns = INT64_MAX};
    mcds__backend_memory.submit(world->backend.inner, &batch);
    world->left = 4; /* the key is made, and its first ids have come */
    world->losses--;
    return false;
}

static void begin(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 5);
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.hook = lose;
    world->backend.context = world;
    assert_int_equal(mcds_ids_open(world->store, "i", NULL, &world->ids), MCDS_OK);
}

static void end(struct world *world)
{
    mcds_ids_close(world->ids);
    mcds_close(world->store);
}

static void a_take_outlives_losses(void **state)
{
    static struct world world;
    (void)state;
    for (uint32_t losses = 1; losses <= 3; losses++)
        for (uint32_t at = 1; at <= REQUESTS_MAX; at++) {
            uint64_t before = 0, after = 0;
            begin(&world);
            if (at % 2 == 0)
                assert_int_equal(mcds_ids_take(world.ids, MANY, &before), MCDS_OK);
            world.losses = losses;
            world.left = at;
            int result = mcds_ids_take(world.ids, MANY, &after);
            if (result != MCDS_OK)
                fail_msg("%u losses, the first at %u: %s", (unsigned)losses, (unsigned)at,
                         mcds_errmsg());
            assert_true(after >= (before > 0 ? before + MANY : 1));
            end(&world);
        }
}

static void a_key_that_is_always_lost_is_named(void **state)
{
    static struct world world;
    uint64_t first;
    (void)state;
    begin(&world);
    world.losses = UINT32_MAX;
    world.left = 1;
    assert_int_equal(mcds_ids_take(world.ids, MANY, &first), MCDS_BUSY);
    assert_non_null(strstr(mcds_errmsg(), "the key vanishes again and again"));
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_take_outlives_losses),
        cmocka_unit_test(a_key_that_is_always_lost_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
