/* A cache whose requests arrive late, each at the worst moment: after another caller has forgotten
 * what they are about. Each case is a timeline that breaks a known recipe. */
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
    mcds_cache *cache;
    mcds_value value;
    mcds_cache_claim claim;
    mcds_cache_claim other;
    const char *watched; /* the beginning of a key; NULL: nothing is held back */
    bool holds_cas;      /* only a compare-and-set */
    uint32_t wanted;     /* writes that are to be held back */
    uint32_t late_count;
    bool is_cut;       /* the rest of the batch meets a broken connection */
    const char *lost;  /* the beginning of a key of which the next add is lost */
    bool is_forgotten; /* the watched write arrives at once, and its key is then forgotten */
    uint64_t refused;  /* a compare-and-set with the token of this connection is refused */
    struct late_request late;
};

static const mcds_bytes key = {"k", 1};
static const mcds_bytes tag = {"red", 3};
static const mcds_bytes old = {"old", 3};
static const mcds_bytes new = {"new", 3};

/* The late request arrives, and after it a delete of its key. */
static void forget_at_once(struct world *world)
{
    struct late_request erasure = world->late;
    late_request_deliver(&world->late, &world->backend);
    erasure.command = MCDS_DELETE;
    erasure.cas = (mcds_cas_token){0, 0};
    late_request_deliver(&erasure, &world->backend);
}

/* The watched write is late, and the reply to what follows it in the batch is lost with it. The lost
 * add is never carried out, and the reply to what follows it is lost too. */
static bool hook(void *context, mcds_request *request)
{
    struct world *world = context;
    if (world->lost != NULL && request->command == MCDS_ADD &&
        strncmp(request->key.data, world->lost, strlen(world->lost)) == 0) {
        request->reply.outcome = MCDS_OUT_UNKNOWN;
        world->lost = NULL;
        world->is_cut = true;
        return true;
    }
    if (request->command == MCDS_CAS && request->cas.connection == world->refused &&
        strncmp(request->key.data, "mcds:ki1:", 9) == 0) {
        request->reply.outcome = MCDS_OUT_EXISTS;
        return true;
    }
    if (world->is_cut && request->command == MCDS_GET) {
        request->reply.outcome = MCDS_OUT_UNKNOWN;
        world->is_cut = false;
        return true;
    }
    if (world->watched == NULL || world->late_count == world->wanted ||
        request->command == MCDS_GET || (world->holds_cas && request->command != MCDS_CAS) ||
        strncmp(request->key.data, world->watched, strlen(world->watched)) != 0)
        return false;
    if (world->late_count++ == 0)
        late_request_keep(&world->late, request);
    world->is_cut = request->command == MCDS_ADD;
    request->reply.outcome = MCDS_OUT_UNKNOWN;
    if (world->is_forgotten)
        forget_at_once(world);
    return true;
}

static void watch(struct world *world, const char *beginning)
{
    world->watched = beginning;
    world->wanted = 1;
    world->late_count = 0;
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
    mcds_cache_options cached = MCDS_CACHE_OPTIONS_INIT;
    memset(&world, 0, sizeof world);
    fake_env_init(&world.fake, 1);
    options.env = &world.fake.env;
    cached.stale_ms = 600000;
    *state = &world;
    if (hooked_backend_open(&world.backend, &options, &world.store) != MCDS_OK)
        return -1;
    world.backend.hook = hook;
    world.backend.context = &world;
    return mcds_cache_open(world.store, "x", &cached, &world.cache);
}

static int close_world(void **state)
{
    struct world *world = *state;
    mcds_value_free(&world->value);
    mcds_cache_close(world->cache);
    mcds_close(world->store);
    return world->fake.blocks == 0 ? 0 : -1;
}

static int look(struct world *world, mcds_cache_claim *claim)
{
    return mcds_cache_look(world->cache, key, &tag, 1, 0, &world->value, claim);
}

static void put(struct world *world, mcds_bytes value)
{
    assert_int_equal(look(world, &world->other), MCDS_NOT_FOUND);
    assert_true(world->other.mine);
    assert_int_equal(mcds_cache_put(world->cache, &world->other, &value), MCDS_OK);
}

static void check_not_shown(struct world *world)
{
    int result = look(world, &world->other);
    assert_true(result == MCDS_NOT_FOUND || result == MCDS_BUSY);
}

static void check_shown(struct world *world, mcds_bytes value)
{
    assert_int_equal(look(world, &world->other), MCDS_OK);
    assert_int_equal(world->value.length, value.length);
    assert_memory_equal(world->value.data, value.data, value.length);
}

/* add claim (late), add claim: ours; the source is read; another commits and forgets; the first add
 * arrives. It is not the claim under which the source was read. */
static void a_late_claim_is_not_the_claim(void **state)
{
    struct world *world = *state;
    watch(world, "mcds:ki1:");
    assert_int_equal(look(world, &world->claim), MCDS_NOT_FOUND);
    assert_true(world->claim.mine);
    assert_int_equal(mcds_cache_forget(world->cache, key), MCDS_OK);
    deliver(world);
    assert_int_equal(mcds_cache_put(world->cache, &world->claim, &old), MCDS_EXPIRED);
    check_not_shown(world);
}

/* add claim; the generation of the tag is lost; cas claim (late): ours; the cas arrives. It is the
 * claim that the look has returned. */
static void a_late_claim_that_is_written_again_is_the_claim(void **state)
{
    struct world *world = *state;
    watch(world, "mcds:ki1:");
    world->holds_cas = true;
    world->lost = "mcds:kt1:";
    assert_int_equal(look(world, &world->claim), MCDS_NOT_FOUND);
    assert_true(world->claim.mine);
    deliver(world);
    assert_int_equal(mcds_cache_renew(world->cache, &world->claim), MCDS_OK);
    assert_int_equal(mcds_cache_put(world->cache, &world->claim, &new), MCDS_OK);
    check_shown(world, new);
}

/* The same of a claim to refresh. */
static void a_late_claim_to_refresh_is_not_the_claim(void **state)
{
    struct world *world = *state;
    put(world, old);
    assert_int_equal(mcds_cache_expire(world->cache, key), MCDS_OK);
    watch(world, "mcds:kr1:");
    assert_int_equal(look(world, &world->claim), MCDS_OK);
    assert_true(world->claim.mine);
    assert_int_equal(mcds_cache_forget(world->cache, key), MCDS_OK);
    put(world, new);
    deliver(world);
    assert_int_equal(mcds_cache_put(world->cache, &world->claim, &old), MCDS_EXPIRED);
    check_shown(world, new);
}

static void claim_to_refresh(struct world *world)
{
    put(world, old);
    assert_int_equal(mcds_cache_expire(world->cache, key), MCDS_OK);
    assert_int_equal(look(world, &world->claim), MCDS_OK);
    assert_true(world->claim.mine && world->claim.refreshes);
}

/* cas value (refused), cas of the claim: it is given back. Another caller may fill the key since, so
 * the value is not written again. */
static void a_value_is_not_stored_after_its_claim(void **state)
{
    struct world *world = *state;
    claim_to_refresh(world);
    world->refused = world->claim.base_cas[1];
    assert_int_equal(mcds_cache_put(world->cache, &world->claim, &new), MCDS_EXPIRED);
    world->refused = 0;
    check_shown(world, old);
    assert_true(world->other.mine);
}

/* The token of the item is of a connection that has ended, and that of the claim is not: the claim is
 * kept until the value is stored. */
static void a_claim_is_not_given_back_before_its_value(void **state)
{
    struct world *world = *state;
    claim_to_refresh(world);
    world->refused = world->claim.base_cas[1] = world->claim.base_cas[1] + 1;
    assert_int_equal(mcds_cache_put(world->cache, &world->claim, &new), MCDS_OK);
    check_shown(world, new);
}

/* cas value: applied, and its reply is lost; another gets the value and forgets it. */
static void a_lost_value_is_not_denied(void **state)
{
    struct world *world = *state;
    assert_int_equal(look(world, &world->claim), MCDS_NOT_FOUND);
    watch(world, "mcds:ki1:");
    world->is_forgotten = true;
    assert_int_equal(mcds_cache_put(world->cache, &world->claim, &old), MCDS_AMBIGUOUS);
    assert_false(world->claim.mine);
    assert_int_equal(look(world, &world->claim), MCDS_NOT_FOUND);
    watch(world, "mcds:ki1:");
    assert_int_equal(mcds_cache_fail(world->cache, &world->claim, old), MCDS_AMBIGUOUS);
    check_not_shown(world);
}

/* cas value (late); another commits and forgets; the cas arrives. */
static void a_late_value_finds_nothing(void **state)
{
    struct world *world = *state;
    assert_int_equal(look(world, &world->claim), MCDS_NOT_FOUND);
    watch(world, "mcds:ki1:");
    assert_int_equal(mcds_cache_put(world->cache, &world->claim, &old), MCDS_OK);
    assert_int_equal(mcds_cache_forget(world->cache, key), MCDS_OK);
    deliver(world);
    check_not_shown(world);
}

/* cas value (late, and applied later by itself); another commits and expires. The filler looks: what
 * it finds is not what it has written, nor what it has read. */
static void a_late_value_is_not_fresh_after_an_expire(void **state)
{
    struct world *world = *state;
    put(world, old);
    assert_int_equal(mcds_cache_expire(world->cache, key), MCDS_OK);
    assert_int_equal(look(world, &world->claim), MCDS_OK);
    mcds_cache_claim copy = world->claim;
    assert_int_equal(mcds_cache_put(world->cache, &world->claim, &old), MCDS_OK);
    assert_int_equal(mcds_cache_expire(world->cache, key), MCDS_OK);
    assert_int_equal(mcds_cache_put(world->cache, &copy, &old), MCDS_EXPIRED);
    assert_int_equal(look(world, &world->other), MCDS_OK);
    assert_int_equal(world->other.state, MCDS_CACHE_STALE);
}

/* set r1 (late), set r2; a value is stored under r2; another commits and sets r3; r1 arrives. */
static void a_late_forget_brings_nothing_back(void **state)
{
    struct world *world = *state;
    watch(world, "mcds:kt1:");
    assert_int_equal(mcds_cache_forget_tag(world->cache, tag), MCDS_OK);
    put(world, old);
    assert_int_equal(mcds_cache_forget_tag(world->cache, tag), MCDS_OK);
    deliver(world);
    check_not_shown(world);
}

/* hold g (late), hold g; the source changes; the tag is forgotten; the first hold arrives. */
static void a_late_hold_brings_nothing_back(void **state)
{
    struct world *world = *state;
    put(world, old);
    watch(world, "mcds:kt1:");
    assert_int_equal(mcds_cache_hold_tag(world->cache, tag, 60000), MCDS_OK);
    assert_int_equal(mcds_cache_forget_tag(world->cache, tag), MCDS_OK);
    deliver(world);
    check_not_shown(world);
}

/* A filler renews the generation of the tag (late); another forgets the tag; the renewal arrives. */
static void a_late_renewal_brings_nothing_back(void **state)
{
    struct world *world = *state;
    put(world, old);
    pass_s(world, 20 * 86400);
    watch(world, "mcds:kt1:");
    put(world, old); /* its time is over; the generation has seventy days left */
    assert_int_equal(world->late_count, 1);
    assert_int_equal(mcds_cache_forget_tag(world->cache, tag), MCDS_OK);
    deliver(world);
    check_not_shown(world);
}

/* The same with a hold: the renewal does not prolong it beyond the death of the writer. */
static void a_late_renewal_prolongs_no_hold(void **state)
{
    struct world *world = *state;
    put(world, old);
    pass_s(world, 20 * 86400);
    watch(world, "mcds:kt1:");
    put(world, old);
    assert_int_equal(mcds_cache_hold_tag(world->cache, tag, 60000), MCDS_OK);
    deliver(world);
    check_shown(world, old);
    pass_s(world, 61);
    check_not_shown(world);
}

/* delete (late), delete: forgotten; a writer holds the key; the first arrives, and a fill stores the old
 * value. The forget of the writer, after its commit, does not depend on the hold. */
static void a_late_forget_ends_a_hold_until_the_next_forget(void **state)
{
    struct world *world = *state;
    put(world, old);
    watch(world, "mcds:ki1:");
    assert_int_equal(mcds_cache_forget(world->cache, key), MCDS_OK);
    put(world, old);
    assert_int_equal(mcds_cache_hold(world->cache, key, 60000), MCDS_OK);
    deliver(world);
    put(world, old);
    check_shown(world, old);
    assert_int_equal(mcds_cache_forget(world->cache, key), MCDS_OK);
    check_not_shown(world);
}

/* The same of a tag. */
static void a_late_forget_ends_the_hold_of_a_tag_until_the_next_forget(void **state)
{
    struct world *world = *state;
    watch(world, "mcds:kt1:");
    assert_int_equal(mcds_cache_forget_tag(world->cache, tag), MCDS_OK);
    assert_int_equal(mcds_cache_hold_tag(world->cache, tag, 60000), MCDS_OK);
    deliver(world);
    put(world, old);
    check_shown(world, old);
    assert_int_equal(mcds_cache_forget_tag(world->cache, tag), MCDS_OK);
    check_not_shown(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define LATE(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
        LATE(a_late_claim_is_not_the_claim),
        LATE(a_late_claim_that_is_written_again_is_the_claim),
        LATE(a_late_claim_to_refresh_is_not_the_claim),
        LATE(a_value_is_not_stored_after_its_claim),
        LATE(a_claim_is_not_given_back_before_its_value),
        LATE(a_late_value_finds_nothing),
        LATE(a_late_value_is_not_fresh_after_an_expire),
        LATE(a_late_forget_brings_nothing_back),
        LATE(a_late_hold_brings_nothing_back),
        LATE(a_late_renewal_brings_nothing_back),
        LATE(a_late_renewal_prolongs_no_hold),
        LATE(a_lost_value_is_not_denied),
        LATE(a_late_forget_ends_a_hold_until_the_next_forget),
        LATE(a_late_forget_ends_the_hold_of_a_tag_until_the_next_forget),
    };
    return cmocka_run_group_tests_name("cache, late", tests, NULL, NULL);
}
