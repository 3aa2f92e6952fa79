/* Which commands keep, replace and set a ttl; an expired key is a missing key. */
#include "conformance/world.h"

#define TTL_MS 3000 /* the least that is alive for some time on every backend */
#define PATIENCE_STEPS 400
#define STEP_MS 25

/* Wait, within bounds, until the key has expired. */
static void wait_gone(struct world *world, mcds_bytes which)
{
    mcds_request get = {.command = MCDS_GET, .key = which};
    for (int i = 0; i < PATIENCE_STEPS && run(world, &get) == MCDS_OUT_OK; i++)
        pass_ms(world, STEP_MS);
    check_outcome(get.reply.outcome, MCDS_OUT_MISS, (const char *)which.data, __LINE__);
}

static mcds_cas_token store(struct world *world, mcds_bytes which, uint64_t ttl_ms)
{
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = which, .value = text("1"),
           .ttl_ms = ttl_ms);
    return get_reply(world, which).cas;
}

/* Everything that gives a ttl or leaves one in place, in `mortal`; what takes it away, in
 * `immortal`. */
struct fates {
    mcds_bytes mortal[10];
    uint32_t mortal_count;
    mcds_bytes immortal[5];
    uint32_t immortal_count;
};

static mcds_bytes mortal(struct world *world, struct fates *fates, const char *name)
{
    return fates->mortal[fates->mortal_count++] = key(world, name);
}

static mcds_bytes immortal(struct world *world, struct fates *fates, const char *name)
{
    return fates->immortal[fates->immortal_count++] = key(world, name);
}

static void give_ttls(struct world *world, struct fates *fates)
{
    (void)store(world, mortal(world, fates, "set"), TTL_MS);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_ADD, .key = mortal(world, fates, "add"),
           .ttl_ms = TTL_MS);
    mcds_bytes k = mortal(world, fates, "replace");
    (void)store(world, k, 0);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_REPLACE, .key = k, .ttl_ms = TTL_MS);
    k = mortal(world, fates, "touch");
    (void)store(world, k, 0);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_TOUCH, .key = k, .ttl_ms = TTL_MS);
    if (world->can.compare_and_set) {
        k = mortal(world, fates, "cas");
        mcds_cas_token token = store(world, k, 0);
        EXPECT(world, MCDS_OUT_OK, .command = MCDS_CAS, .key = k, .cas = token,
               .ttl_ms = TTL_MS);
    }
    if (world->can.create_on_increment)
        EXPECT(world, MCDS_OUT_OK, .command = MCDS_INCR, .options = MCDS_CREATE,
               .key = mortal(world, fates, "create"), .ttl_ms = TTL_MS);
    if (world->can.create_on_append)
        EXPECT(world, MCDS_OUT_OK, .command = MCDS_APPEND, .options = MCDS_CREATE,
               .key = mortal(world, fates, "create-by-append"), .value = text("x"),
               .ttl_ms = TTL_MS);
}

static void keep_ttls(struct world *world, struct fates *fates)
{
    static const mcds_command keepers[] = {MCDS_APPEND, MCDS_INCR};
    for (size_t i = 0; i < 2; i++) {
        mcds_bytes k = mortal(world, fates, i == 0 ? "append" : "incr");
        (void)store(world, k, TTL_MS);
        EXPECT(world, MCDS_OUT_OK, .command = keepers[i], .key = k, .value = text("2"),
               .delta = 100, .options = i == 0 ? 0 : MCDS_CREATE);
    }
}

static void take_ttls(struct world *world, struct fates *fates)
{
    mcds_bytes k = immortal(world, fates, "set");
    (void)store(world, k, TTL_MS);
    (void)store(world, k, 0);
    k = immortal(world, fates, "replace");
    (void)store(world, k, TTL_MS);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_REPLACE, .key = k);
    k = immortal(world, fates, "touch");
    (void)store(world, k, TTL_MS);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_TOUCH, .key = k);
    if (world->can.compare_and_set) {
        k = immortal(world, fates, "cas");
        mcds_cas_token token = store(world, k, TTL_MS);
        EXPECT(world, MCDS_OUT_OK, .command = MCDS_CAS, .key = k, .cas = token);
    }
    k = immortal(world, fates, "append-of-none");
    (void)store(world, k, 0);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_APPEND, .key = k, .ttl_ms = TTL_MS);
}

static void no_key_dies_before_its_early_bound(struct world *world)
{
    mcds_bytes k = key(world, "k");
    uint64_t ttl_ms = world->can.ttl_early_ms + (world->fake != NULL ? 500 : 60000);
    (void)store(world, k, ttl_ms);
    if (world->fake != NULL)
        pass_ms(world, 499);
    (void)get_reply(world, k);
}

/* Keys that expire, one for each command that will meet its key expired. */
struct expired {
    mcds_bytes keys[MCDS_TOUCH + 1];
    mcds_cas_token tokens[MCDS_TOUCH + 1];
    mcds_bytes created;
    mcds_bytes reborn;
    mcds_cas_token former;
};

static void store_to_expire(struct world *world, struct expired *expired)
{
    for (mcds_command command = MCDS_GET; command <= MCDS_TOUCH; command++) {
        expired->keys[command] = key(world, "expired");
        expired->tokens[command] = store(world, expired->keys[command], TTL_MS);
    }
    expired->created = key(world, "created");
    (void)store(world, expired->created, TTL_MS);
    expired->reborn = key(world, "reborn");
    expired->former = store(world, expired->reborn, TTL_MS);
}

static void check_expired(struct world *world, const struct expired *expired)
{
    for (mcds_command command = MCDS_GET; command <= MCDS_TOUCH; command++) {
        mcds_outcome expected = MCDS_OUT_MISS;
        if (command == MCDS_SET || command == MCDS_ADD)
            expected = MCDS_OUT_OK;
        else if (command > MCDS_ADD && command < MCDS_CAS)
            expected = MCDS_OUT_NOT_STORED;
        mcds_request request = {
            .command = command, .key = expired->keys[command], .value = text("2"), .delta = 1};
        if (command == MCDS_CAS || (command == MCDS_DELETE && world->can.compare_and_delete))
            request.cas = expired->tokens[command];
        if (command == MCDS_CAS && !world->can.compare_and_set)
            continue;
        check_outcome(run(world, &request), expected, __FILE__, __LINE__);
    }
    EXPECT_VALUE(world, expired->keys[MCDS_ADD], text("2"));
    mcds_request create = {
        .command = MCDS_INCR, .options = MCDS_CREATE, .key = expired->created, .initial = 77};
    if (world->can.create_on_increment) {
        assert_int_equal(run(world, &create), MCDS_OUT_OK);
        assert_int_equal(create.reply.number, 77);
    }
    /* A second life does not answer to a token of the first. */
    (void)store(world, expired->reborn, 0);
    if (world->can.compare_and_set)
        EXPECT(world, MCDS_OUT_EXISTS, .command = MCDS_CAS, .key = expired->reborn,
               .cas = expired->former);
}

/* All that expires, at the cost of one wait. */
static void a_ttl_is_given_kept_and_taken(struct world *world)
{
    struct fates fates = {.mortal_count = 0};
    struct expired expired;
    give_ttls(world, &fates);
    keep_ttls(world, &fates);
    take_ttls(world, &fates);
    store_to_expire(world, &expired);
    for (uint32_t i = 0; i < fates.mortal_count; i++)
        wait_gone(world, fates.mortal[i]);
    for (mcds_command command = MCDS_GET; command <= MCDS_TOUCH; command++)
        wait_gone(world, expired.keys[command]);
    wait_gone(world, expired.created);
    wait_gone(world, expired.reborn);
    check_expired(world, &expired);
    for (uint32_t i = 0; i < fates.immortal_count; i++)
        (void)get_reply(world, fates.immortal[i]);
}

/* Only where the clock is the test's and the unit is a millisecond. */
static void the_last_millisecond_counts(struct world *world)
{
    if (world->fake == NULL || world->can.ttl_unit_ms != 1) {
        print_message("skipped: the clock is not the test's, or coarse\n");
        skip();
    }
    static const uint64_t ttls_ms[] = {1, 2, 999, 1000, 1001, 86400000};
    for (size_t i = 0; i < sizeof ttls_ms / sizeof ttls_ms[0]; i++) {
        mcds_bytes k = key(world, "k");
        (void)store(world, k, ttls_ms[i]);
        assert_int_equal(get_reply(world, k).ttl_ms, ttls_ms[i]);
        pass_ms(world, (int64_t)ttls_ms[i] - 1);
        assert_int_equal(get_reply(world, k).ttl_ms, 1);
        EXPECT(world, MCDS_OUT_NOT_STORED, .command = MCDS_ADD, .key = k);
        pass_ms(world, 1);
        EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = k);
        EXPECT(world, MCDS_OUT_OK, .command = MCDS_ADD, .key = k, .ttl_ms = 10);
        EXPECT(world, MCDS_OUT_OK, .command = MCDS_TOUCH, .key = k, .ttl_ms = 20);
        pass_ms(world, 19);
        EXPECT(world, MCDS_OUT_OK, .command = MCDS_DELETE, .key = k);
    }
}

/* 30 days and 2 592 001 seconds are edges of memcached's own notation. */
static void long_ttls_are_long(struct world *world)
{
    static const int64_t seconds[] = {2591999,
                                      2592000,
                                      2592001,
                                      2592002,
                                      40 * 24 * 3600,
                                      365 * 24 * 3600,
                                      3653 * INT64_C(24) * 3600};
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        mcds_bytes k = key(world, "k");
        int64_t ttl_ms = seconds[i] * 1000;
        (void)store(world, k, (uint64_t)ttl_ms);
        mcds_reply reply = get_reply(world, k);
        if (!world->can.ttl_readable)
            continue;
        /* Longer than a day less would be a mistake of notation, not of a clock. */
        assert_true(reply.ttl_ms <= ttl_ms + 1000);
        assert_true(reply.ttl_ms > ttl_ms - 24 * 3600 * 1000 || seconds[i] > 365 * 24 * 3600);
    }
}

static const struct conformance_case cases[] = {
    CASE_NEEDS(a_ttl_is_given_kept_and_taken, expires),
    CASE_NEEDS(no_key_dies_before_its_early_bound, expires),
    CASE_NEEDS(the_last_millisecond_counts, expires),
    CASE_NEEDS(long_ttls_are_long, expires),
};
const struct conformance_suite suite_expiry = {cases, sizeof cases / sizeof cases[0]};
