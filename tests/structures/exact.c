/* Exact counter: on one server. */
#include <pthread.h>

#include "base/environment.h"
#include "core/replica/state.h"
#include "structures/suite.h"

#define NEVER_MS 3600000
#define SLOTS 63
#define CROWD_OF_WRITERS 70

static mcds_counter *open_exact(mcds_store *store, const char *name, uint32_t flush_ms)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter *counter = NULL;
    options.flags = MCDS_COUNTER_EXACT;
    options.flush_ms = flush_ms;
    CHECK_RESULT(MCDS_OK, mcds_counter_open(store, name, &options, &counter));
    return counter;
}

static void check_value(int result, mcds_counter_value value, int64_t expected, bool reborn,
                        int line)
{
    check_result(result, MCDS_OK, __FILE__, line);
    if (value.value == expected && value.reborn == reborn)
        return;
    print_error("expected %lld%s, got %lld%s\n", (long long)expected, reborn ? ", reborn" : "",
                (long long)value.value, value.reborn ? ", reborn" : "");
    _fail(__FILE__, line);
}

#define CHECK_VALUE(suite, counter, expected, is_reborn)                                       \
    do {                                                                                       \
        mcds_counter_value seen = MCDS_COUNTER_VALUE_INIT;                                     \
        int result = CALL(suite, mcds_counter_get, counter, &seen);                            \
        check_value(result, seen, expected, is_reborn, __LINE__);                              \
    } while (0)
#define CHECK_VALUE_OTHER(suite, counter, expected, is_reborn)                                 \
    do {                                                                                       \
        mcds_counter_value seen = MCDS_COUNTER_VALUE_INIT;                                     \
        int result = CALL_IN(suite, (suite)->other_pipeline, mcds_counter_get, counter,        \
                             &seen);                                                           \
        check_value(result, seen, expected, is_reborn, __LINE__);                              \
    } while (0)

static struct raw_key slot_key(const struct suite *suite, const char *name, int64_t slot)
{
    struct raw_key raw = raw_key(suite, MCDS__TAG_REPLICA, name, slot);
    raw.route = raw_key(suite, MCDS__TAG_COUNTER, name, -1).key;
    return raw;
}

/* The server loses all slots. Returns how many there were. */
static int lose_slots(struct suite *suite, const char *name)
{
    int lost = 0;
    for (int64_t i = 0; i < SLOTS; i++) {
        struct raw_key raw = slot_key(suite, name, i);
        lost += raw_delete(suite, &raw) == MCDS_OUT_OK;
    }
    return lost;
}

static void every_add_is_seen_when_asked(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *one = open_exact(suite->store, name, MCDS_COUNTER_FLUSH_EACH);
    mcds_counter *other = open_exact(suite->other, name, MCDS_COUNTER_FLUSH_EACH);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    CHECK(MCDS_NOT_FOUND, suite, mcds_counter_get, one, &value);
    CHECK(MCDS_OK, suite, mcds_counter_add, one, 5, NULL);
    CHECK_VALUE_OTHER(suite, other, 5, false);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_add, other, -7, NULL);
    CHECK_VALUE(suite, one, -2, false);
    CHECK(MCDS_OK, suite, mcds_counter_add, one, 1, NULL);
    CHECK_VALUE(suite, one, -1, false);
    CHECK_VALUE_OTHER(suite, other, -1, false);
    mcds_counter_close(one);
    mcds_counter_close(other);
}

static void what_is_not_flushed_is_seen_here_alone(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *one = open_exact(suite->store, name, NEVER_MS);
    mcds_counter *other = open_exact(suite->other, name, NEVER_MS);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    CHECK(MCDS_OK, suite, mcds_counter_add, one, 5, NULL);
    CHECK_VALUE(suite, one, 5, false);
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_counter_get, other, &value);
    CHECK(MCDS_OK, suite, mcds_counter_flush, one);
    CHECK(MCDS_OK, suite, mcds_counter_flush, one);
    CHECK_VALUE_OTHER(suite, other, 5, false);
    CHECK(MCDS_OK, suite, mcds_counter_add, one, 3, NULL);
    CHECK_VALUE(suite, one, 8, false);
    CHECK_VALUE_OTHER(suite, other, 5, false);
    mcds_counter_close(one);
    CHECK_VALUE_OTHER(suite, other, 8, false);
    mcds_counter_close(other);
}

static void an_add_flushes_when_it_is_time(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    if (suite->own_clock)
        skip_because("this store's clock is its own");
    mcds_counter *one = open_exact(suite->store, name, 100);
    mcds_counter *other = open_exact(suite->other, name, 100);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    CHECK(MCDS_OK, suite, mcds_counter_add, one, 1, NULL);
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_counter_get, other, &value);
    pass_ms(suite, 100);
    CHECK(MCDS_OK, suite, mcds_counter_add, one, 1, NULL);
    CHECK_VALUE_OTHER(suite, other, 2, false);
    pass_ms(suite, 50);
    CHECK(MCDS_OK, suite, mcds_counter_add, one, 1, NULL);
    CHECK_VALUE_OTHER(suite, other, 2, false);
    pass_ms(suite, 50);
    CHECK(MCDS_OK, suite, mcds_counter_add, one, 1, NULL);
    CHECK_VALUE_OTHER(suite, other, 4, false);
    mcds_counter_close(one);
    mcds_counter_close(other);
}

static void many_come_and_go(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    for (int i = 1; i <= 40; i++) {
        mcds_counter *counter = open_exact(i % 2 == 0 ? suite->store : suite->other, name,
                                           NEVER_MS);
        CHECK_RESULT(MCDS_OK, mcds_counter_add(counter, i, NULL));
        mcds_counter_close(counter);
    }
    mcds_counter *counter = open_exact(suite->store, name, MCDS_COUNTER_FLUSH_EACH);
    CHECK_VALUE(suite, counter, 820, false);
    /* The next handle takes over the slot that another has left. */
    mcds_counter_close(counter);
    assert_in_range(lose_slots(suite, name), 1, 2);
}

static void more_writers_than_slots_share_them(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *counters[CROWD_OF_WRITERS];
    for (int i = 0; i < CROWD_OF_WRITERS; i++) {
        counters[i] = open_exact(suite->store, name, NEVER_MS);
        CHECK(MCDS_OK, suite, mcds_counter_add, counters[i], 1, NULL);
        CHECK(MCDS_OK, suite, mcds_counter_flush, counters[i]);
    }
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < CROWD_OF_WRITERS; i++) {
            CHECK(MCDS_OK, suite, mcds_counter_add, counters[i], 10, NULL);
            CHECK(MCDS_OK, suite, mcds_counter_flush, counters[i]);
        }
    CHECK_VALUE(suite, counters[0], 31 * CROWD_OF_WRITERS, false);
    CHECK_VALUE(suite, counters[CROWD_OF_WRITERS - 1], 31 * CROWD_OF_WRITERS, false);
    for (int i = 0; i < CROWD_OF_WRITERS; i++)
        mcds_counter_close(counters[i]);
}

static void a_lost_slot_is_healed_by_its_writer(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *one = open_exact(suite->store, name, NEVER_MS);
    mcds_counter *other = open_exact(suite->other, name, NEVER_MS);
    CHECK(MCDS_OK, suite, mcds_counter_add, one, 5, NULL);
    CHECK(MCDS_OK, suite, mcds_counter_flush, one);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_add, other, 100, NULL);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_flush, other);
    CHECK_VALUE(suite, one, 105, false);
    assert_int_equal(lose_slots(suite, name), 2);
    CHECK_VALUE(suite, one, 5, true); /* its own part is not lost */
    CHECK(MCDS_OK, suite, mcds_counter_add, one, 1, NULL);
    CHECK(MCDS_OK, suite, mcds_counter_flush, one);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_add, other, 1, NULL);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_flush, other);
    CHECK_VALUE(suite, one, 107, true);
    mcds_counter_close(one);
    mcds_counter_close(other);
}

/* To bring it back from memory would count it twice as soon as somebody else does. */
static void what_others_have_left_is_lost_with_its_server(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *first = open_exact(suite->store, name, NEVER_MS);
    CHECK(MCDS_OK, suite, mcds_counter_add, first, 100, NULL);
    CHECK(MCDS_OK, suite, mcds_counter_flush, first);
    mcds_counter_close(first);
    mcds_counter *heir = open_exact(suite->store, name, NEVER_MS);
    CHECK(MCDS_OK, suite, mcds_counter_add, heir, 5, NULL);
    CHECK(MCDS_OK, suite, mcds_counter_flush, heir);
    CHECK_VALUE(suite, heir, 105, false);
    assert_int_equal(lose_slots(suite, name), 1);
    CHECK(MCDS_OK, suite, mcds_counter_add, heir, 1, NULL);
    CHECK(MCDS_OK, suite, mcds_counter_flush, heir);
    CHECK_VALUE(suite, heir, 6, true);
    mcds_counter_close(heir);
}

static void a_new_handle_hears_of_a_lost_head(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *one = open_exact(suite->store, name, MCDS_COUNTER_FLUSH_EACH);
    struct raw_key head = raw_key(suite, MCDS__TAG_COUNTER, name, -1);
    CHECK(MCDS_OK, suite, mcds_counter_add, one, 5, NULL);
    assert_int_equal(raw_delete(suite, &head), MCDS_OUT_OK);
    mcds_counter *other = open_exact(suite->other, name, MCDS_COUNTER_FLUSH_EACH);
    CHECK_VALUE_OTHER(suite, other, 5, true);
    CHECK_VALUE_OTHER(suite, other, 5, false); /* the reader before has made it whole */
    mcds_counter_close(one);
    mcds_counter_close(other);
}

/* A slot that is missing may never have been used. Only a handle that saw it knows better. */
static void a_new_handle_does_not_see_a_lost_slot(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *one = open_exact(suite->store, name, MCDS_COUNTER_FLUSH_EACH);
    mcds_counter *witness = open_exact(suite->other, name, MCDS_COUNTER_FLUSH_EACH);
    CHECK(MCDS_OK, suite, mcds_counter_add, one, 5, NULL);
    mcds_counter_close(one);
    CHECK_VALUE_OTHER(suite, witness, 5, false);
    assert_int_equal(lose_slots(suite, name), 1);
    mcds_counter *later = open_exact(suite->store, name, MCDS_COUNTER_FLUSH_EACH);
    CHECK_VALUE_OTHER(suite, witness, 0, true);
    CHECK_VALUE(suite, later, 0, false);
    CHECK(MCDS_OK, suite, mcds_counter_add, later, 1, NULL);
    CHECK_VALUE_OTHER(suite, witness, 1, true);
    CHECK_VALUE(suite, later, 1, false);
    mcds_counter_close(witness);
    mcds_counter_close(later);
}

/* Nothing of it was sent, so it is not counted, and close sends nothing. */
static void what_was_refused_is_never_sent(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *plain = NULL;
    mcds_counter *exact = open_exact(suite->store, name, MCDS_COUNTER_FLUSH_EACH);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    CHECK_RESULT(MCDS_OK, mcds_counter_open(suite->other, name, NULL, &plain));
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_add, plain, 7, NULL);
    CHECK(MCDS_INVALID, suite, mcds_counter_add, exact, 5, NULL);
    CHECK(MCDS_INVALID, suite, mcds_counter_add, exact, 5, NULL);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_drop, plain);
    CHECK(MCDS_OK, suite, mcds_counter_flush, exact);
    CHECK(MCDS_NOT_FOUND, suite, mcds_counter_get, exact, &value);
    CHECK(MCDS_OK, suite, mcds_counter_add, exact, 3, NULL);
    CHECK_VALUE(suite, exact, 3, false);
    mcds_counter_close(exact);
    mcds_counter_close(plain);
}

static void strict_says_lost(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter *one = NULL;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    options.flags = MCDS_COUNTER_EXACT | MCDS_COUNTER_STRICT;
    CHECK_RESULT(MCDS_OK, mcds_counter_open(suite->store, name, &options, &one));
    mcds_counter *other = open_exact(suite->other, name, MCDS_COUNTER_FLUSH_EACH);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_add, other, 5, NULL);
    CHECK_VALUE(suite, one, 5, false);
    assert_int_equal(lose_slots(suite, name), 1);
    CHECK(MCDS_LOST, suite, mcds_counter_get, one, &value);
    CHECK_SENTENCE("lost");
    mcds_counter_close(one);
    mcds_counter_close(other);
}

/* A writer that nobody has heard of for long is settled by the others, and comes back. */
static void away_for(struct suite *suite, int64_t seconds)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *one = open_exact(suite->store, name, MCDS_COUNTER_FLUSH_EACH);
    CHECK(MCDS_OK, suite, mcds_counter_add, one, 5, NULL);
    for (int i = 1; i <= 6; i++) {
        mcds_counter *other = open_exact(suite->other, name, MCDS_COUNTER_FLUSH_EACH);
        shift_wall_ms(suite, seconds * 1000 / 2);
        CHECK_OTHER(MCDS_OK, suite, mcds_counter_add, other, 100, NULL);
        CHECK_OTHER(MCDS_OK, suite, mcds_counter_add, other, 100, NULL);
        mcds_counter_close(other);
    }
    CHECK_VALUE(suite, one, 1205, false);
    CHECK(MCDS_OK, suite, mcds_counter_add, one, 1, NULL);
    CHECK_VALUE(suite, one, 1206, false);
    CHECK(MCDS_OK, suite, mcds_counter_add, one, 1, NULL);
    mcds_counter *other = open_exact(suite->other, name, MCDS_COUNTER_FLUSH_EACH);
    CHECK_VALUE_OTHER(suite, other, 1207, false);
    mcds_counter_close(one);
    CHECK_VALUE_OTHER(suite, other, 1207, false);
    mcds_counter_close(other);
}

static void whoever_was_away_comes_back(struct suite *suite)
{
    away_for(suite, 62);
    away_for(suite, 1300);
}

/* Its entry was settled by another writer, and removed one epoch later. */
static void replace_by_settled(struct suite *suite, const struct raw_key *raw)
{
    struct mcds__replica_state state;
    uint8_t value[MCDS__REPLICA_VALUE_MAX];
    size_t held;
    if (!raw_read(suite, raw, value, sizeof value, &held))
        return;
    assert_true(
        mcds__replica_decode((mcds_bytes){value, held}, mcds__key_bytes(&raw->key), &state));
    if (state.count == 0)
        return;
    assert_int_equal(state.count, 1);
    state.base = state.entries[0].mine;
    state.epoch += 2;
    state.entries[0] = (struct mcds__replica_entry){
        .owner = state.entries[0].owner ^ 1, .version = 1, .mine = 100};
    size_t length = mcds__replica_encode(&state, mcds__key_bytes(&raw->key), value);
    assert_int_equal(raw_set(suite, raw, ""), MCDS_OUT_OK);
    assert_int_equal(raw_append(suite, raw, (mcds_bytes){value, length}), MCDS_OUT_OK);
}

static void what_was_just_settled_counts_once(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *one = open_exact(suite->store, name, MCDS_COUNTER_FLUSH_EACH);
    CHECK(MCDS_OK, suite, mcds_counter_add, one, 5, NULL);
    for (int64_t i = 0; i < SLOTS; i++) {
        struct raw_key raw = slot_key(suite, name, i);
        replace_by_settled(suite, &raw);
    }
    CHECK_VALUE(suite, one, 105, false);
    CHECK(MCDS_OK, suite, mcds_counter_add, one, 1, NULL);
    CHECK_VALUE(suite, one, 106, false);
    mcds_counter_close(one);
}

static void drop_erases_everything(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *one = open_exact(suite->store, name, NEVER_MS);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    CHECK(MCDS_NOT_FOUND, suite, mcds_counter_drop, one);
    CHECK(MCDS_OK, suite, mcds_counter_add, one, 5, NULL);
    CHECK(MCDS_OK, suite, mcds_counter_flush, one);
    CHECK(MCDS_OK, suite, mcds_counter_drop, one);
    assert_int_equal(lose_slots(suite, name), 0);
    CHECK(MCDS_NOT_FOUND, suite, mcds_counter_get, one, &value);
    CHECK(MCDS_OK, suite, mcds_counter_add, one, 2, NULL);
    CHECK(MCDS_OK, suite, mcds_counter_flush, one);
    CHECK_VALUE(suite, one, 2, false);
    mcds_counter_close(one);
}

static bool is_counter(void *context, const mcds_listed *listed)
{
    const char *name = context;
    if (strcmp(listed->noun, "counter") == 0 && strcmp(listed->name, name) == 0)
        fail_msg("'%s' is still listed", name);
    return true;
}

static void check_nothing_is_left(struct suite *suite, const char *name)
{
    mcds_counter *plain = NULL;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    CHECK_RESULT(MCDS_OK, mcds_counter_open(suite->store, name, NULL, &plain));
    CHECK(MCDS_NOT_FOUND, suite, mcds_counter_get, plain, &value);
    mcds_counter_close(plain);
    assert_int_equal(lose_slots(suite, name), 0);
    if (mcds_scan(suite->store, is_counter, (void *)(uintptr_t)name) != MCDS_OK)
        print_message("this store lists no keys\n");
}

/* Another handle drops the counter, which `old` has used. */
static mcds_counter *open_dropped(struct suite *suite, const char *name, uint32_t flush_ms)
{
    mcds_counter *old = open_exact(suite->store, name, flush_ms);
    mcds_counter *other = open_exact(suite->other, name, MCDS_COUNTER_FLUSH_EACH);
    CHECK(MCDS_OK, suite, mcds_counter_add, old, 5, NULL);
    CHECK(MCDS_OK, suite, mcds_counter_flush, old);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_drop, other);
    mcds_counter_close(other);
    return old;
}

static void an_old_handle_leaves_nothing(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    mcds_counter *old = open_dropped(suite, name, MCDS_COUNTER_FLUSH_EACH);
    mcds_counter_close(old);
    check_nothing_is_left(suite, name);
    old = open_dropped(suite, name, MCDS_COUNTER_FLUSH_EACH);
    CHECK(MCDS_NOT_FOUND, suite, mcds_counter_get, old, &value);
    mcds_counter_close(old);
    check_nothing_is_left(suite, name);
}

static void an_old_handle_counts_after_the_drop(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *other = open_exact(suite->other, name, MCDS_COUNTER_FLUSH_EACH);
    mcds_counter *old = open_dropped(suite, name, MCDS_COUNTER_FLUSH_EACH);
    CHECK(MCDS_OK, suite, mcds_counter_add, old, 1, NULL);
    CHECK_VALUE(suite, old, 1, false);
    CHECK_VALUE_OTHER(suite, other, 1, false);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_drop, other);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_add, other, 30, NULL);
    CHECK_VALUE(suite, old, 30, false);
    CHECK(MCDS_OK, suite, mcds_counter_add, old, 2, NULL);
    mcds_counter_close(old);
    CHECK_VALUE_OTHER(suite, other, 32, false);
    mcds_counter_close(other);
}

/* Only what was added since the last flush is written at the close. */
static void a_close_counts_after_the_drop(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *old = open_dropped(suite, name, NEVER_MS);
    CHECK(MCDS_OK, suite, mcds_counter_add, old, 3, NULL);
    mcds_counter_close(old);
    mcds_counter *fresh = open_exact(suite->store, name, MCDS_COUNTER_FLUSH_EACH);
    CHECK_VALUE(suite, fresh, 3, false);
    mcds_counter_close(fresh);
}

/* A mark of an earlier drop does not make a loss look like one. */
static void a_loss_after_a_drop_is_healed(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *old = open_dropped(suite, name, MCDS_COUNTER_FLUSH_EACH);
    CHECK(MCDS_OK, suite, mcds_counter_add, old, 2, NULL);
    assert_int_equal(lose_slots(suite, name), 1);
    CHECK_VALUE(suite, old, 2, false);
    CHECK(MCDS_OK, suite, mcds_counter_add, old, 1, NULL);
    CHECK_VALUE(suite, old, 3, false);
    mcds_counter_close(old);
}

static void forms_are_told_apart(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *plain = NULL;
    mcds_counter *exact = open_exact(suite->store, name, MCDS_COUNTER_FLUSH_EACH);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int64_t out;
    CHECK_RESULT(MCDS_OK, mcds_counter_open(suite->other, name, NULL, &plain));
    CHECK(MCDS_OK, suite, mcds_counter_add, exact, 5, NULL);
    CHECK_OTHER(MCDS_CORRUPT, suite, mcds_counter_add, plain, 5, NULL);
    CHECK_SENTENCE("EXACT");
    CHECK_OTHER(MCDS_CORRUPT, suite, mcds_counter_get, plain, &value);
    CHECK_SENTENCE("EXACT");
    CHECK_OTHER(MCDS_CORRUPT, suite, mcds_counter_take, plain, &out);
    CHECK_SENTENCE("EXACT");
    CHECK_OTHER(MCDS_CORRUPT, suite, mcds_counter_drop, plain);
    CHECK_SENTENCE("EXACT");
    CHECK(MCDS_OK, suite, mcds_counter_get, exact, &value);
    assert_int_equal(value.value, 5);
    CHECK(MCDS_OK, suite, mcds_counter_drop, exact);
    mcds_counter_close(exact);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_add, plain, 7, NULL);
    exact = open_exact(suite->store, name, MCDS_COUNTER_FLUSH_EACH);
    CHECK(MCDS_INVALID, suite, mcds_counter_add, exact, 5, NULL);
    CHECK_SENTENCE("without EXACT");
    CHECK(MCDS_INVALID, suite, mcds_counter_get, exact, &value);
    CHECK(MCDS_INVALID, suite, mcds_counter_drop, exact);
    mcds_counter_close(exact);
    exact = open_exact(suite->store, name, NEVER_MS);
    CHECK(MCDS_OK, suite, mcds_counter_add, exact, 5, NULL);
    CHECK(MCDS_INVALID, suite, mcds_counter_flush, exact);
    mcds_counter_close(exact);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_take, plain, &out);
    assert_int_equal(out, 7);
    mcds_counter_close(plain);
}

static void check_refused(struct suite *suite, mcds_counter_options options, int expected,
                          const char *word)
{
    mcds_counter *counter = NULL;
    options.flags |= MCDS_COUNTER_EXACT;
    CHECK_RESULT(expected, mcds_counter_open(suite->store, "refused", &options, &counter));
    CHECK_SENTENCE(word);
    assert_null(counter);
}

static void options_are_checked(struct suite *suite)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    options.stripes = 2;
    check_refused(suite, options, MCDS_INVALID, "stripes");
    options.stripes = 1;
    options.ttl_ms = 1;
    check_refused(suite, options, MCDS_INVALID, "ttl");
    options.ttl_ms = 0;
    options.flush_ms = NEVER_MS + 1;
    check_refused(suite, options, MCDS_INVALID,
                  "flush_ms must be 0 to 3600000 or MCDS_COUNTER_FLUSH_EACH, not ");
    options.flush_ms = MCDS_COUNTER_FLUSH_EACH;
    options.copies = 8;
    check_refused(suite, options, MCDS_INVALID, "copies must be 0 to 7, not 8");
    options.copies = 7;
    if (suite->can.places < 7)
        check_refused(suite, options, MCDS_UNSUPPORTED, "servers");
}

static void what_it_cannot_do_is_said(struct suite *suite)
{
    mcds_counter *counter = open_exact(suite->store, fresh_name(suite, "n"), NEVER_MS);
    int64_t out = 0;
    CHECK_RESULT(MCDS_INVALID, mcds_counter_add(counter, 1, &out));
    CHECK_SENTENCE("exact");
    CHECK_RESULT(MCDS_UNSUPPORTED, mcds_counter_take(counter, &out));
    CHECK_SENTENCE("takers");
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, MCDS_COUNTER_MAX - 1, NULL);
    CHECK(MCDS_OVERFLOW, suite, mcds_counter_add, counter, 1, NULL);
    CHECK_SENTENCE("2^61");
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, -1, NULL);
    CHECK_VALUE(suite, counter, MCDS_COUNTER_MAX - 2, false);
    mcds_counter_close(counter);
    CHECK_RESULT(MCDS_INVALID, mcds_counter_flush(NULL));
    CHECK_RESULT(MCDS_OK,
                 mcds_counter_open(suite->store, fresh_name(suite, "n"), NULL, &counter));
    CHECK(MCDS_OK, suite, mcds_counter_flush, counter);
    mcds_counter_close(counter);
}

static void damage_is_corrupt(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *counter = open_exact(suite->store, name, MCDS_COUNTER_FLUSH_EACH);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 5, NULL);
    for (int64_t i = 0; i < SLOTS; i++) {
        struct raw_key raw = slot_key(suite, name, i);
        assert_int_equal(raw_set(suite, &raw, "nonsense"), MCDS_OUT_OK);
    }
    CHECK(MCDS_CORRUPT, suite, mcds_counter_get, counter, &value);
    CHECK(MCDS_CORRUPT, suite, mcds_counter_add, counter, 5, NULL);
    CHECK(MCDS_OK, suite, mcds_counter_drop, counter);
    mcds_counter_close(counter);
}

struct thread_work {
    mcds_counter *counter;
    int trouble;
};

static void *add_and_flush(void *context)
{
    struct thread_work *work = context;
    for (int i = 1; i <= 200 && work->trouble == MCDS_OK; i++) {
        work->trouble = mcds_counter_add(work->counter, i, NULL);
        if (i % 20 == 0 && work->trouble == MCDS_OK)
            work->trouble = mcds_counter_flush(work->counter);
        if (i % 50 == 0 && work->trouble == MCDS_OK) {
            mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
            work->trouble = mcds_counter_get(work->counter, &value);
        }
    }
    return NULL;
}

static void threads_share_a_handle(struct suite *suite)
{
    enum { THREADS = 4 };
    mcds_store *store = suite->store;
    char uri[1024];
    fixture_uri_of(suite->fixture, "threads", uri, sizeof uri);
    CHECK_RESULT(MCDS_OK, mcds_open(uri, NULL, &store)); /* with real clocks */
    mcds_counter *counter = open_exact(store, fresh_name(suite, "n"), 1);
    struct thread_work work[THREADS];
    pthread_t threads[THREADS];
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    for (int i = 0; i < THREADS; i++) {
        work[i] = (struct thread_work){counter, MCDS_OK};
        assert_int_equal(pthread_create(&threads[i], NULL, add_and_flush, &work[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        CHECK_RESULT(MCDS_OK, work[i].trouble);
    }
    CHECK_RESULT(MCDS_OK, mcds_counter_get(counter, &value));
    assert_int_equal(value.value, THREADS * 20100);
    CHECK_RESULT(MCDS_OK, mcds_counter_drop(counter));
    mcds_counter_close(counter);
    mcds_close(store);
}

static const struct suite_case cases[] = {
    CASE(every_add_is_seen_when_asked),
    CASE(what_is_not_flushed_is_seen_here_alone),
    CASE(an_add_flushes_when_it_is_time),
    CASE(many_come_and_go),
    CASE_TWICE(more_writers_than_slots_share_them),
    CASE(a_lost_slot_is_healed_by_its_writer),
    CASE(what_others_have_left_is_lost_with_its_server),
    CASE(a_new_handle_hears_of_a_lost_head),
    CASE(a_new_handle_does_not_see_a_lost_slot),
    CASE(strict_says_lost),
    CASE(what_was_refused_is_never_sent),
    CASE(whoever_was_away_comes_back),
    CASE(what_was_just_settled_counts_once),
    CASE(drop_erases_everything),
    CASE(an_old_handle_leaves_nothing),
    CASE(an_old_handle_counts_after_the_drop),
    CASE(a_close_counts_after_the_drop),
    CASE(a_loss_after_a_drop_is_healed),
    CASE(forms_are_told_apart),
    CASE_ONCE(options_are_checked),
    CASE(what_it_cannot_do_is_said),
    CASE(damage_is_corrupt),
    CASE_ONCE(threads_share_a_handle),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
