/* Once, with requests that arrive late, each at the worst moment. Each case is a timeline that breaks a
 * known recipe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/late_request.h"

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_once *once;
    mcds_value value;
    int32_t code;
    mcds_once_run run;
    mcds_once_run rival;
    bool is_watching;
    bool is_cut;     /* the rest of the batch meets a broken connection */
    bool is_silent;  /* no request is answered */
    bool is_applied; /* the late request arrives at once: only its reply is lost */
    bool is_rival;   /* and another then forgets it, and settles the key */
    bool is_evicted; /* and the store then loses the key */
    uint32_t late_count;
    struct late_request late;
};

static const mcds_bytes key = {"k", 1};
static const mcds_bytes none = {NULL, 0};

static void evict(struct world *world)
{
    mcds_request erasure = {.command = MCDS_DELETE,
                            .key = {world->late.key, world->late.key_length}};
    mcds_batch batch = {.requests = &erasure, .count = 1, .deadline_ns = INT64_MAX};
    mcds__backend_memory.submit(world->backend.inner, &batch);
    assert_int_equal(erasure.reply.outcome, MCDS_OUT_OK);
}

/* The settle of another process. */
static void settle_beside(struct world *world)
{
    struct hooked_backend beside;
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_store *store = NULL;
    mcds_once *once = NULL;
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open_beside(&beside, &world->backend, &options, &store),
                     MCDS_OK);
    assert_int_equal(mcds_once_open(store, "x", NULL, &once), MCDS_OK);
    assert_int_equal(mcds_once_forget(once, key), MCDS_OK);
    assert_int_equal(mcds_once_settle(once, key, 2, none), MCDS_OK);
    mcds_once_close(once);
    mcds_close(store);
}

/* The first write is late, and the reply to what follows it in the batch is lost with it. */
static bool hook(void *context, mcds_request *request)
{
    struct world *world = context;
    if (world->is_silent && world->late_count > 0) {
        request->reply.outcome = MCDS_OUT_UNKNOWN;
        return true;
    }
    if (world->is_cut && request->command == MCDS_GET) {
        request->reply.outcome = MCDS_OUT_UNKNOWN;
        world->is_cut = false;
        return true;
    }
    if (!world->is_watching || world->late_count > 0 || request->command == MCDS_GET)
        return false;
    world->late_count++;
    late_request_keep(&world->late, request);
    world->is_cut = request->command == MCDS_ADD;
    request->reply.outcome = MCDS_OUT_UNKNOWN;
    if (world->is_applied)
        late_request_deliver(&world->late, &world->backend);
    if (world->is_evicted)
        evict(world);
    if (world->is_rival)
        settle_beside(world);
    return true;
}

/* Now it arrives. */
static void deliver(struct world *world)
{
    assert_int_equal(world->late_count, 1);
    late_request_deliver(&world->late, &world->backend);
}

static void pass_s(struct world *world, int64_t seconds)
{
    world->fake.monotonic_ns += seconds * 1000000000;
    world->fake.wall_ns += seconds * 1000000000;
}

static int open_world(void **state)
{
    static struct world world;
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(&world, 0, sizeof world);
    fake_env_init(&world.fake, 1);
    options.env = &world.fake.env;
    *state = &world;
    if (hooked_backend_open(&world.backend, &options, &world.store) != MCDS_OK)
        return -1;
    world.backend.hook = hook;
    world.backend.context = &world;
    return mcds_once_open(world.store, "x", NULL, &world.once);
}

static int close_world(void **state)
{
    struct world *world = *state;
    mcds_value_free(&world->value);
    mcds_once_close(world->once);
    mcds_close(world->store);
    return world->fake.blocks == 0 ? 0 : -1;
}

static int begin(struct world *world, mcds_once_run *run)
{
    return mcds_once_begin(world->once, key, none, 0, run, &world->value, &world->code);
}

static void claim(struct world *world, mcds_once_run *run)
{
    assert_int_equal(begin(world, run), MCDS_OK);
    assert_true(run->mine);
}

static void check_done(struct world *world, int32_t code)
{
    mcds_once_run run = MCDS_ONCE_RUN_INIT;
    assert_int_equal(begin(world, &run), MCDS_OK);
    assert_true(!run.mine && world->code == code);
}

/* O4: add claim (late), add claim: ours; it ends; another begins and dies; the first add arrives. It is
 * not the claim under which the work was begun. */
static void a_late_claim_is_not_the_claim(void **state)
{
    struct world *world = *state;
    world->is_watching = true;
    claim(world, &world->run);
    pass_s(world, 61);
    claim(world, &world->rival);
    pass_s(world, 61);
    deliver(world);
    assert_int_equal(mcds_once_finish(world->once, &world->run, 1, mcds_text("one")),
                     MCDS_LOST);
}

/* O2: cas result (late); the claim ends; another begins and finishes; the cas arrives. */
static void a_late_result_replaces_nothing(void **state)
{
    struct world *world = *state;
    claim(world, &world->run);
    world->is_watching = true;
    mcds_once_run copy = world->run;
    assert_int_equal(mcds_once_finish(world->once, &world->run, 1, mcds_text("one")), MCDS_OK);
    assert_int_equal(mcds_once_forget(world->once, key), MCDS_OK);
    claim(world, &world->rival);
    assert_int_equal(mcds_once_finish(world->once, &world->rival, 2, mcds_text("two")),
                     MCDS_OK);
    deliver(world);
    check_done(world, 2);
    assert_int_equal(mcds_once_finish(world->once, &copy, 1, mcds_text("one")), MCDS_LOST);
    check_done(world, 2);
}

/* cas FREE (late), cas FREE; another begins; the first arrives: it takes no claim. */
static void a_late_forget_takes_no_later_claim(void **state)
{
    struct world *world = *state;
    claim(world, &world->run);
    world->is_watching = true;
    assert_int_equal(mcds_once_forget(world->once, key), MCDS_OK);
    claim(world, &world->rival);
    deliver(world);
    assert_int_equal(begin(world, &world->run), MCDS_INVALID);
    assert_int_equal(mcds_once_finish(world->once, &world->rival, 2, none), MCDS_OK);
    assert_int_equal(mcds_once_finish(world->once, &world->run, 1, none), MCDS_LOST);
}

/* The same of an abandon. */
static void a_late_abandon_takes_no_later_claim(void **state)
{
    struct world *world = *state;
    claim(world, &world->run);
    world->is_watching = true;
    assert_int_equal(mcds_once_abandon(world->once, &world->run), MCDS_OK);
    claim(world, &world->rival);
    deliver(world);
    assert_int_equal(mcds_once_finish(world->once, &world->rival, 2, none), MCDS_OK);
    check_done(world, 2);
}

/* settle (late), settle; the key is forgotten; the first arrives: it brings no result back. */
static void a_late_settle_brings_nothing_back(void **state)
{
    struct world *world = *state;
    world->is_watching = true;
    assert_int_equal(mcds_once_settle(world->once, key, 1, mcds_text("one")), MCDS_OK);
    assert_int_equal(mcds_once_forget(world->once, key), MCDS_OK);
    pass_s(world, 2);
    deliver(world);
    claim(world, &world->run);
}

/* cas claim (late), cas claim: renewed; the claim ends; another begins; the first arrives. */
static void a_late_renewal_takes_no_later_claim(void **state)
{
    struct world *world = *state;
    claim(world, &world->run);
    world->is_watching = true;
    assert_int_equal(mcds_once_renew(world->once, &world->run), MCDS_OK);
    pass_s(world, 61);
    claim(world, &world->rival);
    deliver(world);
    assert_int_equal(mcds_once_renew(world->once, &world->run), MCDS_LOST);
    assert_int_equal(mcds_once_finish(world->once, &world->rival, 2, none), MCDS_OK);
}

/* cas result: applied, and its reply is lost; the store loses the key. Another may have got the result. */
static void a_lost_result_is_not_denied(void **state)
{
    struct world *world = *state;
    claim(world, &world->run);
    world->is_watching = world->is_applied = world->is_evicted = true;
    assert_int_equal(mcds_once_finish(world->once, &world->run, 1, none), MCDS_AMBIGUOUS);
    assert_false(world->run.mine);
    claim(world, &world->rival);
}

/* The same, and another begins before the caller reads the key in a second call. */
static void a_lost_result_is_not_denied_by_the_next_call(void **state)
{
    struct world *world = *state;
    claim(world, &world->run);
    world->is_watching = world->is_applied = world->is_silent = true;
    assert_int_equal(mcds_once_finish(world->once, &world->run, 1, none), MCDS_AMBIGUOUS);
    assert_true(world->run.mine);
    world->is_silent = false;
    check_done(world, 1);
    evict(world);
    claim(world, &world->rival);
    assert_int_equal(mcds_once_finish(world->once, &world->run, 1, none), MCDS_AMBIGUOUS);
    assert_false(world->run.mine);
}

/* A renewal proves that no earlier finish was applied, or ever will be. */
static void a_renewal_ends_the_doubt(void **state)
{
    struct world *world = *state;
    claim(world, &world->run);
    world->is_watching = world->is_silent = true;
    assert_int_equal(mcds_once_finish(world->once, &world->run, 1, none), MCDS_AMBIGUOUS);
    world->is_silent = false;
    assert_int_equal(mcds_once_renew(world->once, &world->run), MCDS_OK);
    deliver(world);
    pass_s(world, 61);
    claim(world, &world->rival);
    assert_int_equal(mcds_once_finish(world->once, &world->run, 1, none), MCDS_LOST);
}

/* cas result: applied, and its reply is lost; another forgets it, begins and finishes. */
static void a_lost_settle_is_not_denied(void **state)
{
    struct world *world = *state;
    assert_int_equal(mcds_once_settle(world->once, key, 5, none), MCDS_OK);
    assert_int_equal(mcds_once_forget(world->once, key), MCDS_OK);
    world->is_watching = world->is_applied = world->is_rival = true;
    assert_int_equal(mcds_once_settle(world->once, key, 1, none), MCDS_AMBIGUOUS);
    world->is_watching = false;
    check_done(world, 2);
}

/* finish (in doubt), finish with another result: the first result stays, and the answer is OK. */
static void the_first_result_stays(void **state)
{
    struct world *world = *state;
    claim(world, &world->run);
    world->is_watching = world->is_applied = world->is_silent = true;
    assert_int_equal(mcds_once_finish(world->once, &world->run, 1, mcds_text("one")),
                     MCDS_AMBIGUOUS);
    world->is_silent = false;
    assert_int_equal(mcds_once_finish(world->once, &world->run, 2, mcds_text("two")), MCDS_OK);
    check_done(world, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define LATE(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
        LATE(a_late_claim_is_not_the_claim),
        LATE(a_late_result_replaces_nothing),
        LATE(a_late_forget_takes_no_later_claim),
        LATE(a_late_abandon_takes_no_later_claim),
        LATE(a_late_settle_brings_nothing_back),
        LATE(a_late_renewal_takes_no_later_claim),
        LATE(a_lost_result_is_not_denied),
        LATE(a_lost_result_is_not_denied_by_the_next_call),
        LATE(a_renewal_ends_the_doubt),
        LATE(the_first_result_stays),
        LATE(a_lost_settle_is_not_denied),
    };
    return cmocka_run_group_tests_name("once, late", tests, NULL, NULL);
}
