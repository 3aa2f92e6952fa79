/* A take on a server that gives a reader the number before an addition with the CAS token after it.
 * memcached does: an increment whose item another thread is reading makes a new item and marks the
 * old one, which the reader then prints, with the token of the new. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/environment.h"
#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define ALWAYS UINT32_MAX
#define TIMEOUT_MS 1000

struct race {
    struct fake_env fake;
    struct hooked_backend backend;
    struct hooked_backend beside;
    mcds_store *taking;
    mcds_store *adding;
    mcds_counter *taker;
    mcds_counter *adder;
    uint32_t reads;   /* of numbers, so far */
    uint32_t race_at; /* the read that an addition races with; 0: none */
    int64_t added;
};

static void read_token(struct race *race, mcds_request *request)
{
    mcds_request again = {.command = MCDS_GET, .key = request->key};
    mcds_batch batch = *race->backend.batch;
    batch.requests = &again;
    batch.values = NULL;
    mcds__backend_memory.submit(race->backend.inner, &batch);
    request->reply.cas = again.reply.cas;
}

static bool add_beside(void *context, mcds_request *request)
{
    struct race *race = context;
    if (request->command != MCDS_GET)
        return false;
    race->reads++;
    if (race->race_at != ALWAYS && race->reads != race->race_at)
        return false;
    mcds__backend_memory.submit(race->backend.inner, race->backend.batch);
    assert_int_equal(mcds_counter_add(race->adder, 2, NULL), MCDS_OK);
    race->added += 2;
    read_token(race, request);
    return true;
}

static void open_race(struct race *race, uint32_t flags)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_counter_options form = MCDS_COUNTER_OPTIONS_INIT;
    form.flags = flags;
    memset(race, 0, sizeof *race);
    fake_env_init(&race->fake, 1);
    options.env = &race->fake.env;
    options.timeout_ms = TIMEOUT_MS;
    assert_int_equal(hooked_backend_open(&race->backend, &options, &race->taking), MCDS_OK);
    assert_int_equal(
        hooked_backend_open_beside(&race->beside, &race->backend, &options, &race->adding),
        MCDS_OK);
    assert_int_equal(mcds_counter_open(race->taking, "x", &form, &race->taker), MCDS_OK);
    assert_int_equal(mcds_counter_open(race->adding, "x", &form, &race->adder), MCDS_OK);
    race->backend.hook = add_beside;
    race->backend.context = race;
}

static void close_race(struct race *race)
{
    mcds_counter_close(race->adder);
    mcds_counter_close(race->taker);
    mcds_close(race->adding);
    mcds_close(race->taking);
    assert_int_equal(race->fake.blocks, 0);
}

static void check_sum(struct race *race, int64_t taken)
{
    mcds_counter_value left = MCDS_COUNTER_VALUE_INIT;
    race->race_at = 0;
    assert_int_equal(mcds_counter_get(race->adder, &left), MCDS_OK);
    assert_int_equal(taken + left.value, race->added);
}

static void an_addition_beside_the_read_stays(void **state)
{
    static const uint32_t flags[] = {0, MCDS_COUNTER_SIGNED};
    (void)state;
    for (uint32_t at = 1; at <= 4; at++)
        for (uint32_t i = 0; i < 2; i++) {
            static struct race race;
            int64_t taken = 77;
            open_race(&race, flags[i]);
            assert_int_equal(mcds_counter_add(race.adder, 5, NULL), MCDS_OK);
            race.added = 5;
            race.race_at = at;
            assert_int_equal(mcds_counter_take(race.taker, &taken), MCDS_OK);
            check_sum(&race, taken);
            close_race(&race);
        }
}

/* Then it is not taken at all. */
static void additions_beside_each_read_stay(void **state)
{
    static struct race race;
    int64_t taken = 77;
    (void)state;
    open_race(&race, 0);
    assert_int_equal(mcds_counter_add(race.adder, 5, NULL), MCDS_OK);
    race.added = 5;
    race.race_at = ALWAYS;
    assert_int_equal(mcds_counter_take(race.taker, &taken), MCDS_BUSY);
    assert_int_equal(taken, 77);
    check_sum(&race, 0);
    close_race(&race);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_addition_beside_the_read_stays),
        cmocka_unit_test(additions_beside_each_read_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
