/* A limit whose replies are lost, and whose store forgets its keys, at every request of a take:
 * a take counts once, an answer is the truth, and nothing is LOST. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define KEYS_MAX 64
#define BURST 20
#define BEFORE 6
#define REQUESTS_MAX 60
#define DAY_MS (UINT64_C(24) * 3600 * 1000)

/* What happens to request number `at` of the call, and perhaps to those after it. */
enum fate {
    NO_REPLY,
    UNSENT,
    NO_REPLIES,
    FORGOTTEN,
    ROOT_FORGOTTEN,
    FORGOTTEN_UNANSWERED,
    FATES
};

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_limit *limit, *other;
    char keys[KEYS_MAX][251];
    uint32_t key_count;
    enum fate fate;
    bool is_armed, has_happened;
    uint32_t left;
    mcds_outcome given_back; /* of each decrement */
};

static bool note_key(void *context, mcds_bytes key)
{
    struct world *world = context;
    assert_true(world->key_count < KEYS_MAX && key.length <= 250);
    memcpy(world->keys[world->key_count], key.data, key.length);
    world->keys[world->key_count++][key.length] = '\0';
    return true;
}

static void forget(struct world *world, bool only_root)
{
    world->key_count = 0;
    assert_int_equal(
        mcds__backend_memory.keys(world->backend.inner, (mcds_bytes){"", 0}, note_key, world),
        MCDS_OK);
    for (uint32_t i = 0; i < world->key_count; i++) {
        mcds_request request = {.command = MCDS_DELETE, .key = mcds_text(world->keys[i])};
        mcds_batch batch = {.requests = &request, .count = 1, .deadline_ns = INT64_MAX};
        if (only_root && strcmp(world->keys[i], "mcds:r1:l") != 0)
            continue;
        mcds__backend_memory.submit(world->backend.inner, &batch);
    }
}

static bool disturb(void *context, mcds_request *request)
{
    struct world *world = context;
    if (world->has_happened && world->fate == NO_REPLIES && world->is_armed) {
        request->reply.outcome = MCDS_OUT_UNSENT;
        return true;
    }
    if (!world->is_armed || world->has_happened || world->left-- > 0)
        return false;
    world->has_happened = true;
    bool is_sent = world->fate == NO_REPLY || world->fate == NO_REPLIES ||
                   world->fate == FORGOTTEN_UNANSWERED;
    if (is_sent) {
        mcds_batch one = *world->backend.batch;
        mcds__backend_memory.submit(world->backend.inner, &one);
    }
    if (world->fate >= FORGOTTEN)
        forget(world, world->fate == ROOT_FORGOTTEN);
    if (world->fate == FORGOTTEN || world->fate == ROOT_FORGOTTEN)
        return false;
    request->reply.outcome = is_sent ? MCDS_OUT_UNKNOWN : MCDS_OUT_UNSENT;
    return true;
}

static void begin(struct world *world, mcds_limit_form form)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_limit_options of_limit = MCDS_LIMIT_OPTIONS_INIT;
    fake_env_init(&world->fake, 11);
    options.env = &world->fake.env;
    options.timeout_ms = 50;
    of_limit.form = form;
    of_limit.rate_count = 1;
    of_limit.rates[0] = (mcds_rate){BURST, DAY_MS, 0};
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.hook = disturb;
    world->backend.context = world;
    assert_int_equal(mcds_limit_open(world->store, "l", &of_limit, &world->limit), MCDS_OK);
    assert_int_equal(mcds_limit_open(world->store, "l", &of_limit, &world->other), MCDS_OK);
}

static void end(struct world *world)
{
    mcds_limit_close(world->limit);
    mcds_limit_close(world->other);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static uint64_t left_of(mcds_limit *limit)
{
    mcds_limit_value value = MCDS_LIMIT_VALUE_INIT;
    assert_int_equal(mcds_limit_get(limit, mcds_text("a"), &value), MCDS_OK);
    return value.remaining;
}

/* Takes `n`, or gives it back, with a fault at request `at`. False: the call has fewer. */
static bool play(struct world *world, mcds_limit_form form, uint64_t before, int64_t n,
                 uint32_t at)
{
    mcds_limit_value value = MCDS_LIMIT_VALUE_INIT;
    begin(world, form);
    for (uint64_t i = 0; i < before; i++)
        assert_int_equal(mcds_limit_take(world->limit, mcds_text("a"), 1, 0, NULL), MCDS_OK);
    world->is_armed = true;
    world->left = at;
    int result = n > 0 ? mcds_limit_take(world->limit, mcds_text("a"), (uint64_t)n, 0, &value)
                       : mcds_limit_give(world->limit, mcds_text("a"), (uint64_t)-n);
    world->is_armed = false;
    bool is_forgotten = world->has_happened && world->fate >= FORGOTTEN;
    assert_true(result != MCDS_LOST && result != MCDS_CORRUPT && result != MCDS_INVALID);
    uint64_t left = left_of(world->other);
    uint64_t used = BURST - left;
    uint64_t after = before + (uint64_t)n;
    bool passes = after <= BURST || n < 0;
    if (form == MCDS_LIMIT_WINDOW && !passes && used == after)
        used = before; /* the refusal was not taken back: less passes, never more */
    if (!passes)
        after = before;
    if (form == MCDS_LIMIT_WINDOW && result == MCDS_AMBIGUOUS && used == before + (uint64_t)n)
        after = used;
    /* What was known before may be forgotten. What was answered afterwards may not. */
    bool is_true = result == MCDS_OK     ? used == after || (is_forgotten && used <= after)
                   : result == MCDS_BUSY ? used == before || (is_forgotten && used <= before)
                   : result == MCDS_AMBIGUOUS ? used == after || used == before || is_forgotten
                                              : used == before || is_forgotten;
    if (!is_true || (result == MCDS_OK && !passes && !is_forgotten))
        fail_msg("form %d, %d before, take %d, fate %d at %u: %s, then %d used", form,
                 (int)before, (int)n, world->fate, at, mcds_result_name(result), (int)used);
    /* Nothing is in doubt for ever, and the limit limits. */
    uint64_t passed = 0;
    for (uint32_t i = 0; i < 2 * BURST; i++) {
        int next = mcds_limit_take(world->limit, mcds_text("a"), 1, 0, NULL);
        assert_true(next == MCDS_OK || next == MCDS_BUSY || (i == 0 && next == MCDS_AMBIGUOUS));
        passed += next == MCDS_OK;
    }
    assert_true(passed <= left);
    assert_true(passed + 1 >= left);
    bool has_happened = world->has_happened;
    end(world);
    return has_happened;
}

static void play_all(mcds_limit_form form, uint64_t before, int64_t n)
{
    static struct world world;
    for (enum fate fate = NO_REPLY; fate < FATES; fate++) {
        uint32_t at = 0;
        do
            world = (struct world){.fate = fate};
        while (play(&world, form, before, n, at) && at++ < REQUESTS_MAX);
        assert_true(at > 0);
    }
}

/* R4, R7. */
static void a_take_counts_once(void **state)
{
    (void)state;
    play_all(MCDS_LIMIT_BUCKET, 0, 3);
    play_all(MCDS_LIMIT_BUCKET, BEFORE, 3);
    play_all(MCDS_LIMIT_BUCKET, BURST, 3);
}

/* R6. */
static void a_give_counts_once(void **state)
{
    (void)state;
    play_all(MCDS_LIMIT_BUCKET, BEFORE, -3);
}

static void a_window_never_counts_too_little(void **state)
{
    (void)state;
    play_all(MCDS_LIMIT_WINDOW, 0, 3);
    play_all(MCDS_LIMIT_WINDOW, BEFORE, 3);
    play_all(MCDS_LIMIT_WINDOW, BURST, 3);
}

/* A key that nobody has used yet is made by `add`: one that another has made meanwhile stays. */
static bool race(void *context, mcds_request *request)
{
    struct world *world = context;
    if (!world->is_armed || request->command != MCDS_ADD || request->flags == 0)
        return false;
    world->is_armed = false;
    assert_int_equal(mcds_limit_take(world->other, mcds_text("a"), 5, 0, NULL), MCDS_OK);
    return false;
}

static void a_key_is_made_once(void **state)
{
    (void)state;
    static struct world world;
    world = (struct world){.fate = FATES};
    begin(&world, MCDS_LIMIT_BUCKET);
    assert_int_equal(mcds_limit_take(world.limit, mcds_text("b"), 1, 0, NULL), MCDS_OK);
    world.backend.hook = race;
    world.is_armed = true;
    assert_int_equal(mcds_limit_take(world.limit, mcds_text("a"), 4, 0, NULL), MCDS_OK);
    assert_false(world.is_armed);
    assert_int_equal(left_of(world.limit), BURST - 9);
    end(&world);
}

/* G-LIMIT-3, where a token is no whole number of milliseconds. */
static void retry_times_are_exact(void **state)
{
    (void)state;
    static struct world world;
    world = (struct world){.fate = FATES};
    begin(&world, MCDS_LIMIT_BUCKET);
    mcds_limit_options options = MCDS_LIMIT_OPTIONS_INIT;
    mcds_limit_value value = MCDS_LIMIT_VALUE_INIT;
    mcds_limit *limit = NULL;
    options.rate_count = 2;
    options.rates[0] = (mcds_rate){7, 1000, 3};
    options.rates[1] = (mcds_rate){11, 3000, 0};
    assert_int_equal(mcds_limit_open(world.store, "l", &options, &limit), MCDS_OK);
    for (int i = 0; i < 200; i++) {
        while (mcds_limit_take(limit, mcds_text("r"), 1, 0, &value) == MCDS_OK) {
        }
        assert_true(value.retry_ms > 0);
        fake_env_advance_ms(&world.fake, (int64_t)value.retry_ms - 1);
        assert_int_equal(mcds_limit_take(limit, mcds_text("r"), 1, 0, &value), MCDS_BUSY);
        assert_int_equal(value.retry_ms, 1);
        fake_env_advance_ms(&world.fake, 1);
        assert_int_equal(mcds_limit_take(limit, mcds_text("r"), 1, 0, &value), MCDS_OK);
    }
    mcds_limit_close(limit);
    end(&world);
}

/* The block's increment is refused, so the slot's is taken back: with this outcome. */
static bool refuse_block(void *context, mcds_request *request)
{
    struct world *world = context;
    if (request->command == MCDS_DECR) {
        world->has_happened = true;
        request->reply.outcome = world->given_back;
        return true;
    }
    if (request->command != MCDS_INCR || world->left-- > 0)
        return false;
    request->reply.outcome = MCDS_OUT_NO_MEMORY;
    return true;
}

static int take_refused(struct world *world, mcds_outcome given_back)
{
    *world = (struct world){.fate = FATES, .given_back = given_back};
    begin(world, MCDS_LIMIT_WINDOW);
    assert_int_equal(mcds_limit_take(world->limit, mcds_text("a"), 3, 0, NULL), MCDS_OK);
    world->backend.hook = refuse_block;
    world->left = 1;
    int result = mcds_limit_take(world->limit, mcds_text("a"), 3, 0, NULL);
    assert_true(world->has_happened);
    return result;
}

/* If the decrement fails, the sentence is about that, not about the refusal. */
static void a_lost_decrement_is_the_reason(void **state)
{
    (void)state;
    static struct world world;
    assert_int_equal(take_refused(&world, MCDS_OUT_OK), MCDS_FULL);
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_STORE_FULL);
    end(&world);
    assert_int_equal(take_refused(&world, MCDS_OUT_UNKNOWN), MCDS_AMBIGUOUS);
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_REPLY_LOST);
    end(&world);
    assert_int_equal(take_refused(&world, MCDS_OUT_NOT_NUMERIC), MCDS_AMBIGUOUS);
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_DAMAGED);
    end(&world);
}

/* A number that is gone counts no tokens. */
static void a_lost_number_is_given_back(void **state)
{
    (void)state;
    static struct world world;
    assert_int_equal(take_refused(&world, MCDS_OUT_MISS), MCDS_FULL);
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_STORE_FULL);
    end(&world);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_take_counts_once),
    cmocka_unit_test(a_give_counts_once),
    cmocka_unit_test(a_window_never_counts_too_little),
    cmocka_unit_test(a_key_is_made_once),
    cmocka_unit_test(retry_times_are_exact),
    cmocka_unit_test(a_lost_decrement_is_the_reason),
    cmocka_unit_test(a_lost_number_is_given_back),
};

int main(void)
{
    return cmocka_run_group_tests_name("limit_lost", tests, NULL, NULL);
}
