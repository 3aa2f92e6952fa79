/* Semaphore: permits, slots, fences, resizes, loss, what is refused. */
#include "structures/suite.h"

#define PERMITS 3

static mcds_semaphore *open_semaphore(mcds_store *store, const char *name, uint32_t permits,
                                      uint32_t lease_ms)
{
    mcds_semaphore_options options = MCDS_SEMAPHORE_OPTIONS_INIT;
    mcds_semaphore *semaphore = NULL;
    options.permits = permits;
    options.lease_ms = lease_ms;
    options.label = "mine";
    int result = mcds_semaphore_open(store, name, &options, &semaphore);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    return semaphore;
}

/* A semaphore as two programs see it. */
struct pair {
    const char *name;
    mcds_semaphore *mine;
    mcds_semaphore *theirs;
    mcds_permit permits[6];
};

static void open_pair(struct suite *suite, struct pair *pair, uint32_t permits,
                      uint32_t lease_ms)
{
    pair->name = fresh_name(suite, "semaphore");
    pair->mine = open_semaphore(suite->store, pair->name, permits, lease_ms);
    pair->theirs = open_semaphore(suite->other, pair->name, permits, lease_ms);
    for (size_t i = 0; i < 6; i++)
        pair->permits[i] = (mcds_permit)MCDS_PERMIT_INIT;
}

static void close_pair(struct pair *pair)
{
    mcds_semaphore_close(pair->mine);
    mcds_semaphore_close(pair->theirs);
}

/* Acquires `count` permits by turns, which must have different slots below `permits`. */
static void acquire_many(struct suite *suite, struct pair *pair, uint32_t count,
                         uint32_t permits)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i % 2 == 0)
            CHECK(MCDS_OK, suite, mcds_semaphore_try_acquire, pair->mine, &pair->permits[i]);
        else
            CHECK_OTHER(MCDS_OK, suite, mcds_semaphore_try_acquire, pair->theirs,
                        &pair->permits[i]);
        assert_true(pair->permits[i].slot < permits);
        assert_true(pair->permits[i].lease.fence > 0);
        assert_int_equal(seen >> pair->permits[i].slot & 1, 0);
        seen |= UINT64_C(1) << pair->permits[i].slot;
    }
}

static void release_many(struct suite *suite, struct pair *pair, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        CHECK(MCDS_OK, suite, mcds_semaphore_release, pair->mine, &pair->permits[i]);
}

struct seen {
    uint32_t count;
    uint32_t permits;
    uint32_t slots[MCDS_SEMAPHORE_PERMITS_MAX];
    uint64_t fences[MCDS_SEMAPHORE_PERMITS_MAX];
    char label[208];
    uint32_t most; /* 0: all */
};

static bool see_holder(void *context, const mcds_semaphore_holder *holder)
{
    struct seen *seen = context;
    assert_true(seen->count == 0 || holder->slot > seen->slots[seen->count - 1]);
    assert_true(holder->remaining_ms == -1 || holder->remaining_ms > 0);
    seen->slots[seen->count] = holder->slot;
    seen->fences[seen->count++] = holder->fence;
    seen->permits = holder->permits;
    memcpy(seen->label, holder->label, sizeof seen->label);
    return seen->count != seen->most;
}

static void permits_are_shared(struct suite *suite)
{
    struct pair pair;
    struct seen seen = {.count = 0};
    open_pair(suite, &pair, PERMITS, 0);
    CHECK(MCDS_NOT_FOUND, suite, mcds_semaphore_holders, pair.mine, see_holder, &seen);
    acquire_many(suite, &pair, PERMITS, PERMITS);
    CHECK(MCDS_BUSY, suite, mcds_semaphore_try_acquire, pair.mine, &pair.permits[3]);
    CHECK_SENTENCE("others hold all its permits");
    CHECK_OTHER(MCDS_BUSY, suite, mcds_semaphore_try_acquire, pair.theirs, &pair.permits[4]);
    CHECK(MCDS_OK, suite, mcds_semaphore_holders, pair.mine, see_holder, &seen);
    assert_int_equal(seen.count, PERMITS);
    assert_int_equal(seen.permits, PERMITS);
    assert_string_equal(seen.label, "mine");
    seen = (struct seen){.most = 1};
    CHECK(MCDS_OK, suite, mcds_semaphore_holders, pair.mine, see_holder, &seen);
    assert_int_equal(seen.count, 1);
    uint32_t slot = pair.permits[1].slot;
    CHECK_OTHER(MCDS_OK, suite, mcds_semaphore_release, pair.theirs, &pair.permits[1]);
    CHECK(MCDS_OK, suite, mcds_semaphore_try_acquire, pair.mine, &pair.permits[1]);
    assert_int_equal(pair.permits[1].slot, slot);
    release_many(suite, &pair, PERMITS);
    seen = (struct seen){.count = 0};
    CHECK(MCDS_OK, suite, mcds_semaphore_holders, pair.mine, see_holder, &seen);
    assert_int_equal(seen.count, 0);
    close_pair(&pair);
}

static void fences_of_a_slot_grow(struct suite *suite)
{
    struct pair pair;
    uint64_t newest[PERMITS] = {0};
    open_pair(suite, &pair, PERMITS, 0);
    for (int round = 0; round < 4; round++) {
        acquire_many(suite, &pair, PERMITS, PERMITS);
        for (uint32_t i = 0; i < PERMITS; i++) {
            const mcds_permit *permit = &pair.permits[i];
            assert_true(permit->lease.fence > newest[permit->slot]);
            newest[permit->slot] = permit->lease.fence;
        }
        release_many(suite, &pair, PERMITS);
    }
    close_pair(&pair);
}

static void the_slot_held_last_is_tried_first(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair, 40, 0);
    CHECK(MCDS_OK, suite, mcds_semaphore_try_acquire, pair.mine, &pair.permits[0]);
    uint32_t slot = pair.permits[0].slot;
    for (int i = 0; i < 3; i++) {
        CHECK(MCDS_OK, suite, mcds_semaphore_release, pair.mine, &pair.permits[0]);
        CHECK(MCDS_OK, suite, mcds_semaphore_try_acquire, pair.mine, &pair.permits[0]);
        assert_int_equal(pair.permits[0].slot, slot);
    }
    CHECK(MCDS_OK, suite, mcds_semaphore_release, pair.mine, &pair.permits[0]);
    close_pair(&pair);
}

static void a_resize_holds_for_all_handles(struct suite *suite)
{
    struct pair pair;
    uint32_t above = 9;
    uint32_t expected = 0;
    open_pair(suite, &pair, 4, 0);
    CHECK(MCDS_NOT_FOUND, suite, mcds_semaphore_resize, pair.mine, 2, &above);
    acquire_many(suite, &pair, 3, 4);
    for (int i = 0; i < 3; i++)
        expected += pair.permits[i].slot >= 2;
    CHECK(MCDS_OK, suite, mcds_semaphore_resize, pair.mine, 2, &above);
    assert_int_equal(above, expected);
    CHECK(MCDS_OK, suite, mcds_semaphore_renew, pair.mine, &pair.permits[0]);
    /* The other handle has the old number, and releases last what is above the new one. */
    for (uint32_t i = 0; i < 3; i++)
        CHECK_OTHER(MCDS_OK, suite, mcds_semaphore_release, pair.theirs, &pair.permits[i]);
    CHECK(MCDS_OK, suite, mcds_semaphore_resize, pair.mine, 2, &above);
    assert_int_equal(above, 0);
    for (int round = 0; round < 3; round++) {
        CHECK_OTHER(MCDS_OK, suite, mcds_semaphore_try_acquire, pair.theirs, &pair.permits[0]);
        CHECK_OTHER(MCDS_OK, suite, mcds_semaphore_try_acquire, pair.theirs, &pair.permits[1]);
        assert_true(pair.permits[0].slot < 2 && pair.permits[1].slot < 2);
        CHECK_OTHER(MCDS_BUSY, suite, mcds_semaphore_try_acquire, pair.theirs,
                    &pair.permits[2]);
        release_many(suite, &pair, 2);
    }
    CHECK(MCDS_OK, suite, mcds_semaphore_resize, pair.mine, 6, NULL);
    acquire_many(suite, &pair, 6, 6);
    release_many(suite, &pair, 6);
    close_pair(&pair);
}

/* The handle tries the slot that it held, which a resize has ended. */
static void a_slot_that_has_ended_is_returned(struct suite *suite)
{
    struct pair pair;
    struct seen seen = {.count = 0};
    uint32_t above;
    open_pair(suite, &pair, PERMITS, 0);
    acquire_many(suite, &pair, PERMITS, PERMITS);
    for (uint32_t i = 0; i < PERMITS; i++)
        if (pair.permits[i].slot != PERMITS - 1)
            CHECK(MCDS_OK, suite, mcds_semaphore_release, pair.mine, &pair.permits[i]);
    CHECK_OTHER(MCDS_OK, suite, mcds_semaphore_resize, pair.theirs, 1, &above);
    assert_int_equal(above, 1);
    for (uint32_t i = 0; i < PERMITS; i++)
        if (pair.permits[i].lease.fence != 0)
            CHECK(MCDS_OK, suite, mcds_semaphore_release, pair.mine, &pair.permits[i]);
    CHECK(MCDS_OK, suite, mcds_semaphore_try_acquire, pair.mine, &pair.permits[0]);
    assert_int_equal(pair.permits[0].slot, 0);
    CHECK(MCDS_OK, suite, mcds_semaphore_holders, pair.mine, see_holder, &seen);
    assert_int_equal(seen.count, 1);
    CHECK(MCDS_OK, suite, mcds_semaphore_release, pair.mine, &pair.permits[0]);
    close_pair(&pair);
}

static void another_number_is_refused(struct suite *suite)
{
    struct pair pair;
    mcds_semaphore_options found = MCDS_SEMAPHORE_OPTIONS_INIT;
    open_pair(suite, &pair, PERMITS, 0);
    mcds_semaphore *any = open_semaphore(suite->store, pair.name, 0, 0);
    mcds_semaphore *five = open_semaphore(suite->store, pair.name, 5, 0);
    CHECK_RESULT(MCDS_NOT_FOUND, mcds_semaphore_made_with(suite->store, pair.name, &found));
    CHECK(MCDS_NOT_FOUND, suite, mcds_semaphore_try_acquire, any, &pair.permits[0]);
    CHECK(MCDS_OK, suite, mcds_semaphore_try_acquire, pair.mine, &pair.permits[0]);
    CHECK(MCDS_INVALID, suite, mcds_semaphore_try_acquire, five, &pair.permits[1]);
    CHECK_SENTENCE("it has permits 3, not 5; open it with 0 to accept that");
    CHECK(MCDS_OK, suite, mcds_semaphore_try_acquire, any, &pair.permits[1]);
    CHECK(MCDS_OK, suite, mcds_semaphore_resize, any, 5, NULL);
    CHECK_RESULT(MCDS_OK, mcds_semaphore_made_with(suite->store, pair.name, &found));
    assert_int_equal(found.permits, 5);
    CHECK(MCDS_OK, suite, mcds_semaphore_try_acquire, five, &pair.permits[2]);
    CHECK(MCDS_OK, suite, mcds_semaphore_try_acquire, pair.mine, &pair.permits[3]);
    mcds_semaphore *four = open_semaphore(suite->store, pair.name, 4, 0);
    CHECK(MCDS_INVALID, suite, mcds_semaphore_try_acquire, four, &pair.permits[4]);
    CHECK_SENTENCE("it has permits 5, not 4; open it with 0 to accept that");
    release_many(suite, &pair, 4);
    mcds_semaphore_close(any);
    mcds_semaphore_close(four);
    mcds_semaphore_close(five);
    close_pair(&pair);
}

static uint32_t shortest_ms(const struct suite *suite)
{
    return suite->can.ttl_early_ms > 0 ? 3000 : 50;
}

static void a_dead_holder_costs_one_lease(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair, 1, shortest_ms(suite));
    CHECK(MCDS_OK, suite, mcds_semaphore_try_acquire, pair.mine, &pair.permits[0]);
    uint64_t fence = pair.permits[0].lease.fence;
    CHECK_OTHER(MCDS_OK, suite, mcds_semaphore_acquire, pair.theirs, 60000, &pair.permits[1]);
    assert_true(pair.permits[1].lease.fence > fence);
    assert_int_equal(mcds_semaphore_remaining_ms(pair.mine, &pair.permits[0]), 0);
    mcds_permit copy = pair.permits[0];
    CHECK(MCDS_EXPIRED, suite, mcds_semaphore_renew, pair.mine, &copy);
    CHECK(MCDS_LOST, suite, mcds_semaphore_release, pair.mine, &pair.permits[0]);
    close_pair(&pair);
}

static void waiting_runs_out(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair, 1, 0);
    CHECK(MCDS_OK, suite, mcds_semaphore_acquire, pair.mine, 0, &pair.permits[0]);
    CHECK_OTHER(MCDS_BUSY, suite, mcds_semaphore_acquire, pair.theirs, 30, &pair.permits[1]);
    CHECK(MCDS_OK, suite, mcds_semaphore_release, pair.mine, &pair.permits[0]);
    CHECK_OTHER(MCDS_OK, suite, mcds_semaphore_acquire, pair.theirs, 30, &pair.permits[1]);
    CHECK_OTHER(MCDS_OK, suite, mcds_semaphore_release, pair.theirs, &pair.permits[1]);
    close_pair(&pair);
}

/* As after an eviction. */
static void lost_settings_are_made_again(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair, 2, 0);
    struct raw_key settings = raw_key(suite, MCDS__TAG_SEMAPHORE, pair.name, -1);
    acquire_many(suite, &pair, 1, 2);
    assert_int_equal(raw_delete(suite, &settings), MCDS_OUT_OK);
    CHECK_OTHER(MCDS_OK, suite, mcds_semaphore_try_acquire, pair.theirs, &pair.permits[1]);
    CHECK(MCDS_BUSY, suite, mcds_semaphore_try_acquire, pair.mine, &pair.permits[2]);
    CHECK(MCDS_OK, suite, mcds_semaphore_release, pair.mine, &pair.permits[0]);
    assert_int_equal(raw_delete(suite, &settings), MCDS_OUT_OK);
    /* Here by the claim of the slot that it held last. */
    CHECK(MCDS_OK, suite, mcds_semaphore_try_acquire, pair.mine, &pair.permits[0]);
    CHECK(MCDS_OK, suite, mcds_semaphore_resize, pair.mine, 1, NULL);
    release_many(suite, &pair, 2);
    close_pair(&pair);
}

/* What cannot be read may be a holder, so it counts as no free slot. */
static void no_unreadable_slot_is_free(struct suite *suite)
{
    struct pair pair;
    struct seen seen = {0};
    uint32_t above = 7;
    open_pair(suite, &pair, 2, 0);
    struct raw_key slot = raw_key(suite, MCDS__TAG_SEMAPHORE_LEASE, pair.name, 5);
    slot.route = raw_key(suite, MCDS__TAG_SEMAPHORE, pair.name, -1).key;
    acquire_many(suite, &pair, 2, 2);
    assert_int_equal(raw_set(suite, &slot, "junk"), MCDS_OUT_OK);
    CHECK(MCDS_CORRUPT, suite, mcds_semaphore_holders, pair.mine, see_holder, &seen);
    CHECK_SENTENCE(pair.name);
    assert_int_equal(seen.count, 0);
    CHECK(MCDS_OK, suite, mcds_semaphore_resize, pair.mine, 8, &above);
    assert_int_equal(above, 0);
    CHECK(MCDS_AMBIGUOUS, suite, mcds_semaphore_resize, pair.mine, 2, &above);
    assert_int_equal(above, 0);
    assert_int_equal(raw_delete(suite, &slot), MCDS_OUT_OK);
    CHECK(MCDS_OK, suite, mcds_semaphore_resize, pair.mine, 1, &above);
    assert_int_equal(above, 1);
    release_many(suite, &pair, 2);
    close_pair(&pair);
}

static void foreign_values_are_corrupt(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair, 2, 0);
    struct raw_key settings = raw_key(suite, MCDS__TAG_SEMAPHORE, pair.name, -1);
    assert_int_equal(raw_set(suite, &settings, "junk"), MCDS_OUT_OK);
    CHECK(MCDS_CORRUPT, suite, mcds_semaphore_try_acquire, pair.mine, &pair.permits[0]);
    CHECK(MCDS_CORRUPT, suite, mcds_semaphore_resize, pair.mine, 3, NULL);
    assert_int_equal(raw_delete(suite, &settings), MCDS_OUT_OK);
    /* A slot that holds something else is passed over, unless all others are held. */
    struct raw_key slot = raw_key(suite, MCDS__TAG_SEMAPHORE_LEASE, pair.name, 0);
    slot.route = settings.key;
    assert_int_equal(raw_set(suite, &slot, "junk"), MCDS_OUT_OK);
    mcds_semaphore *any = open_semaphore(suite->store, pair.name, 0, 0);
    CHECK(MCDS_OK, suite, mcds_semaphore_try_acquire, pair.mine, &pair.permits[0]);
    assert_int_equal(pair.permits[0].slot, 1);
    CHECK(MCDS_CORRUPT, suite, mcds_semaphore_try_acquire, any, &pair.permits[1]);
    assert_int_equal(raw_delete(suite, &slot), MCDS_OUT_OK);
    CHECK(MCDS_OK, suite, mcds_semaphore_try_acquire, any, &pair.permits[1]);
    release_many(suite, &pair, 2);
    mcds_semaphore_close(any);
    close_pair(&pair);
}

static struct raw_key key_of_slot(struct suite *suite, const struct pair *pair, const char *tag,
                                  int slot)
{
    struct raw_key key = raw_key(suite, tag, pair->name, slot);
    key.route = raw_key(suite, MCDS__TAG_SEMAPHORE, pair->name, -1).key;
    return key;
}

static const char *const damaged_tags[] = {MCDS__TAG_SEMAPHORE_LEASE,
                                           MCDS__TAG_SEMAPHORE_FENCE};

/* Whichever slot a caller tries first. */
static void a_damaged_slot_is_passed_over(struct suite *suite)
{
    for (int tag = 0; tag < 2; tag++) {
        struct pair pair;
        open_pair(suite, &pair, 3, 0);
        acquire_many(suite, &pair, 3, 3);
        release_many(suite, &pair, 3);
        struct raw_key key = key_of_slot(suite, &pair, damaged_tags[tag], 1);
        assert_int_equal(raw_set(suite, &key, "junk"), MCDS_OUT_OK);
        for (int i = 0; i < 12; i++) {
            mcds_semaphore *fresh = open_semaphore(suite->store, pair.name, 3, 0);
            CHECK(MCDS_OK, suite, mcds_semaphore_try_acquire, fresh, &pair.permits[0]);
            assert_int_not_equal(pair.permits[0].slot, 1);
            CHECK(MCDS_OK, suite, mcds_semaphore_release, fresh, &pair.permits[0]);
            mcds_semaphore_close(fresh);
        }
        acquire_many(suite, &pair, 2, 3);
        CHECK(MCDS_CORRUPT, suite, mcds_semaphore_try_acquire, pair.mine, &pair.permits[2]);
        CHECK_SENTENCE(tag == 0 ? ":sl1:" : ":sf1:");
        assert_int_equal(pair.permits[2].lease.fence, 0);
        release_many(suite, &pair, 2);
        assert_int_equal(raw_delete(suite, &key), MCDS_OUT_OK);
        acquire_many(suite, &pair, 3, 3);
        release_many(suite, &pair, 3);
        close_pair(&pair);
    }
}

static void a_refused_drop_erases_nothing(struct suite *suite)
{
    for (int i = 0; i < 6; i++) {
        struct pair pair;
        char fences[2][64];
        open_pair(suite, &pair, 3, 0);
        acquire_many(suite, &pair, 3, 3);
        release_many(suite, &pair, 3);
        struct raw_key key = key_of_slot(suite, &pair, damaged_tags[i % 2], i / 2);
        struct raw_key fence = key_of_slot(suite, &pair, MCDS__TAG_SEMAPHORE_FENCE,
                                           i / 2 == 0 ? 2 : 0);
        assert_int_equal(raw_set(suite, &key, "junk"), MCDS_OUT_OK);
        assert_true(raw_get(suite, &fence, fences[0], sizeof fences[0]));
        for (int j = 0; j < 2; j++)
            CHECK(MCDS_CORRUPT, suite, mcds_semaphore_drop, pair.mine);
        assert_true(raw_get(suite, &fence, fences[1], sizeof fences[1]));
        assert_string_equal(fences[0], fences[1]);
        assert_int_equal(raw_delete(suite, &key), MCDS_OUT_OK);
        CHECK(MCDS_OK, suite, mcds_semaphore_drop, pair.mine);
        close_pair(&pair);
    }
}

/* Of the last slot, when the others could be erased. */
static void a_fence_ahead_of_the_clock_is_not_dropped(struct suite *suite)
{
    struct pair pair;
    char text[2][64];
    open_pair(suite, &pair, 2, 0);
    acquire_many(suite, &pair, 2, 2);
    release_many(suite, &pair, 2);
    struct raw_key first = key_of_slot(suite, &pair, MCDS__TAG_SEMAPHORE_FENCE, 0);
    struct raw_key last = key_of_slot(suite, &pair, MCDS__TAG_SEMAPHORE_FENCE, 1);
    assert_int_equal(raw_set(suite, &last, "9000000000000000000"), MCDS_OUT_OK);
    assert_true(raw_get(suite, &first, text[0], sizeof text[0]));
    CHECK(MCDS_INVALID, suite, mcds_semaphore_drop, pair.mine);
    assert_true(raw_get(suite, &first, text[1], sizeof text[1]));
    assert_string_equal(text[0], text[1]);
    close_pair(&pair);
}

static void drop_leaves_nothing(struct suite *suite)
{
    struct pair pair;
    mcds_semaphore_options found = MCDS_SEMAPHORE_OPTIONS_INIT;
    char value[64];
    open_pair(suite, &pair, 2, 0);
    CHECK(MCDS_NOT_FOUND, suite, mcds_semaphore_drop, pair.mine);
    acquire_many(suite, &pair, 2, 2);
    CHECK(MCDS_BUSY, suite, mcds_semaphore_drop, pair.mine);
    uint64_t fence = pair.permits[0].lease.fence;
    uint32_t slot = pair.permits[0].slot;
    release_many(suite, &pair, 2);
    CHECK(MCDS_OK, suite, mcds_semaphore_drop, pair.mine);
    CHECK_RESULT(MCDS_NOT_FOUND, mcds_semaphore_made_with(suite->store, pair.name, &found));
    /* Young fences end by themselves, and grow until then. */
    acquire_many(suite, &pair, 2, 2);
    for (int i = 0; i < 2; i++)
        assert_true(pair.permits[i].slot != slot || pair.permits[i].lease.fence > fence);
    release_many(suite, &pair, 2);
    if (!suite->own_clock) {
        pass_ms(suite, 70000);
        CHECK(MCDS_OK, suite, mcds_semaphore_drop, pair.mine);
        for (int i = 0; i < 2; i++) {
            struct raw_key key = raw_key(suite, MCDS__TAG_SEMAPHORE_FENCE, pair.name, i);
            key.route = raw_key(suite, MCDS__TAG_SEMAPHORE, pair.name, -1).key;
            assert_false(raw_get(suite, &key, value, sizeof value));
        }
        CHECK(MCDS_NOT_FOUND, suite, mcds_semaphore_drop, pair.mine);
    }
    close_pair(&pair);
}

static void a_number_that_is_no_fence_is_dropped(struct suite *suite)
{
    struct pair pair;
    char value[64];
    open_pair(suite, &pair, 1, 0);
    struct raw_key key = raw_key(suite, MCDS__TAG_SEMAPHORE_FENCE, pair.name, 0);
    key.route = raw_key(suite, MCDS__TAG_SEMAPHORE, pair.name, -1).key;
    assert_int_equal(raw_set(suite, &key, "9223372036854775807"), MCDS_OUT_OK);
    CHECK(MCDS_CORRUPT, suite, mcds_semaphore_try_acquire, pair.mine, &pair.permits[0]);
    CHECK_SENTENCE("somebody has set it; drop it");
    CHECK_OTHER(MCDS_OK, suite, mcds_semaphore_drop, pair.theirs);
    assert_false(raw_get(suite, &key, value, sizeof value));
    acquire_many(suite, &pair, 1, 1);
    release_many(suite, &pair, 1);
    close_pair(&pair);
}

static void a_clock_after_2190_acquires_nothing(struct suite *suite)
{
    struct pair pair;
    mcds_semaphore_options found = MCDS_SEMAPHORE_OPTIONS_INIT;
    open_pair(suite, &pair, 1, 0);
    int64_t ahead_ms = INT64_MAX / 1000000 - 60000 - wall_ms(suite);
    shift_wall_ms(suite, ahead_ms);
    CHECK(MCDS_IO, suite, mcds_semaphore_try_acquire, pair.mine, &pair.permits[0]);
    CHECK_SENTENCE(
        "this machine's clock is after 2190, until which locks and limits work: set it");
    CHECK_RESULT(MCDS_NOT_FOUND, mcds_semaphore_made_with(suite->store, pair.name, &found));
    shift_wall_ms(suite, -ahead_ms);
    acquire_many(suite, &pair, 1, 1);
    release_many(suite, &pair, 1);
    close_pair(&pair);
}

static void options_and_permits_are_checked(struct suite *suite)
{
    mcds_semaphore_options options = MCDS_SEMAPHORE_OPTIONS_INIT;
    mcds_semaphore *semaphore = NULL;
    options.permits = MCDS_SEMAPHORE_PERMITS_MAX + 1;
    CHECK_RESULT(MCDS_INVALID, mcds_semaphore_open(suite->store, "x", &options, &semaphore));
    CHECK_SENTENCE("60");
    semaphore = open_semaphore(suite->store, fresh_name(suite, "semaphore"), 60, 0);
    mcds_permit permit = MCDS_PERMIT_INIT;
    CHECK(MCDS_INVALID, suite, mcds_semaphore_renew, semaphore, &permit);
    CHECK_SENTENCE("holds nothing");
    CHECK(MCDS_INVALID, suite, mcds_semaphore_release, semaphore, &permit);
    CHECK(MCDS_INVALID, suite, mcds_semaphore_resize, semaphore, 0, NULL);
    CHECK(MCDS_INVALID, suite, mcds_semaphore_resize, semaphore, 61, NULL);
    CHECK(MCDS_OK, suite, mcds_semaphore_try_acquire, semaphore, &permit);
    CHECK(MCDS_INVALID, suite, mcds_semaphore_try_acquire, semaphore, &permit);
    CHECK_SENTENCE("held already");
    mcds_permit wrong = permit;
    wrong.slot = 60;
    CHECK(MCDS_INVALID, suite, mcds_semaphore_release, semaphore, &wrong);
    CHECK(MCDS_OK, suite, mcds_semaphore_release, semaphore, &permit);
    CHECK(MCDS_INVALID, suite, mcds_semaphore_acquire, semaphore, 86400001, &permit);
    mcds_semaphore_close(semaphore);
    mcds_semaphore_close(NULL);
}

/* All at once, in one pipeline. */
static void as_many_as_permits_in_one_pipeline(struct suite *suite)
{
    struct pair pair;
    mcds_pipeline *pipeline;
    mcds_completion done;
    uint32_t held = 0, busy = 0;
    open_pair(suite, &pair, 4, 0);
    CHECK_RESULT(MCDS_OK, mcds_pipeline_open(suite->store, NULL, &pipeline));
    for (uint64_t i = 0; i < 6; i++)
        CHECK_RESULT(MCDS_OK, mcds_semaphore_try_acquire_start(pair.mine, &pair.permits[i],
                                                               pipeline, i));
    for (int i = 0; i < 6; i++) {
        CHECK_RESULT(MCDS_OK, mcds_pipeline_next(pipeline, &done));
        held += done.result == MCDS_OK;
        busy += done.result == MCDS_BUSY;
    }
    assert_int_equal(held + busy, 6);
    assert_true(held >= 1 && held <= 4);
    for (uint32_t i = 0; i < 6; i++)
        for (uint32_t j = 0; j < i; j++)
            assert_true(pair.permits[i].lease.fence == 0 || pair.permits[j].lease.fence == 0 ||
                        pair.permits[i].slot != pair.permits[j].slot);
    for (uint32_t i = 0; i < 6; i++)
        if (pair.permits[i].lease.fence != 0)
            CHECK_RESULT(MCDS_OK, mcds_semaphore_release(pair.mine, &pair.permits[i]));
    mcds_pipeline_close(pipeline);
    close_pair(&pair);
}

static const struct suite_case cases[] = {
    CASE(permits_are_shared),
    CASE(fences_of_a_slot_grow),
    CASE(the_slot_held_last_is_tried_first),
    CASE(a_resize_holds_for_all_handles),
    CASE(a_slot_that_has_ended_is_returned),
    CASE(another_number_is_refused),
    CASE_WAITS(a_dead_holder_costs_one_lease),
    CASE(waiting_runs_out),
    CASE(lost_settings_are_made_again),
    CASE(foreign_values_are_corrupt),
    CASE(no_unreadable_slot_is_free),
    CASE(a_damaged_slot_is_passed_over),
    CASE(a_refused_drop_erases_nothing),
    CASE(a_fence_ahead_of_the_clock_is_not_dropped),
    CASE(drop_leaves_nothing),
    CASE(a_number_that_is_no_fence_is_dropped),
    CASE(a_clock_after_2190_acquires_nothing),
    CASE(options_and_permits_are_checked),
    CASE_ONCE(as_many_as_permits_in_one_pipeline),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
