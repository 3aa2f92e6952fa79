/* A real memcached behind a faulty proxy that sometimes doubles replies: no reply is taken for
 * the reply to another request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "chaos/relay.h"
#include "field/field.h"
#include "mcds.h"
#include "support/dice.h"
#include "support/server.h"

#define EXIT_SKIPPED 77
#define COUNTERS 64
#define DOUBLED_PPM 50000
#define SEED 11

static struct server memcached;
static struct relay relay;
static mcds_store *store;  /* through the relay */
static mcds_store *direct; /* past it */
static mcds_counter *counters[COUNTERS];
static uint64_t dice = SEED;

static mcds_store *open_at(const struct server *server)
{
    char uri[256];
    mcds_store *opened = NULL;
    server_uri(server, uri, sizeof uri);
    size_t used = strlen(uri);
    (void)snprintf(uri + used, sizeof uri - used, "?timeout=10000&connect_timeout=10000");
    assert_int_equal(MCDS_OK, mcds_open(uri, NULL, &opened));
    return opened;
}

static mcds_counter *open_counter(mcds_store *at, int i)
{
    char name[32];
    mcds_counter *counter = NULL;
    (void)snprintf(name, sizeof name, "n%d", i);
    assert_int_equal(MCDS_OK, mcds_counter_open(at, name, NULL, &counter));
    return counter;
}

static int64_t truth_of(int i)
{
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    mcds_counter *counter = open_counter(direct, i);
    assert_int_equal(MCDS_OK, mcds_counter_get(counter, &value));
    mcds_counter_close(counter);
    return value.value;
}

static int set_up(void **state)
{
    (void)state;
    if (!relay_start(&relay, &memcached, SEED))
        return -1;
    direct = open_at(&memcached);
    store = open_at(&relay.place);
    for (int i = 0; i < COUNTERS; i++) {
        mcds_counter *counter = open_counter(direct, i);
        assert_int_equal(MCDS_OK, mcds_counter_add(counter, 1000 * (i + 1), NULL));
        mcds_counter_close(counter);
        counters[i] = open_counter(store, i);
    }
    relay.doubled_ppm = DOUBLED_PPM;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < COUNTERS; i++)
        mcds_counter_close(counters[i]);
    mcds_close(store);
    mcds_close(direct);
    relay_stop(&relay);
    return 0;
}

/* Each counter is read in each round, in an order of its own. */
static void a_read_answers_what_was_read(void **state)
{
    (void)state;
    mcds_pipeline *pipeline;
    mcds_completion done;
    mcds_counter_value values[COUNTERS] = {{0}};
    unsigned answered = 0;
    uint64_t before = relay.doubled;
    assert_int_equal(MCDS_OK, mcds_pipeline_open(store, NULL, &pipeline));
    for (unsigned round = 0; round < field_rounds(60); round++) {
        uint64_t first = dice_roll(&dice, COUNTERS);
        for (uint64_t k = 0; k < COUNTERS; k++) {
            uint64_t i = (first + k * 29) % COUNTERS;
            assert_int_equal(MCDS_OK,
                             mcds_counter_get_start(counters[i], &values[i], pipeline, i));
        }
        while (mcds_pipeline_next(pipeline, &done) == MCDS_OK) {
            if (done.result != MCDS_OK)
                continue; /* asked again until its time was over */
            assert_int_equal(values[done.tag].value, 1000 * (done.tag + 1));
            answered++;
        }
    }
    mcds_pipeline_close(pipeline);
    assert_true(answered > 0 && relay.doubled > before);
}

/* What was acknowledged is there, and no more than may be; each answer is larger than the last. */
static void an_addition_counts_as_it_was_answered(void **state)
{
    (void)state;
    mcds_pipeline *pipeline;
    mcds_completion done;
    int64_t sums[COUNTERS];
    int64_t last[COUNTERS] = {0};
    int64_t sure[COUNTERS] = {0};
    int64_t doubtful[COUNTERS] = {0};
    assert_int_equal(MCDS_OK, mcds_pipeline_open(store, NULL, &pipeline));
    for (unsigned round = 0; round < field_rounds(60); round++) {
        uint64_t first = dice_roll(&dice, COUNTERS);
        for (uint64_t k = 0; k < COUNTERS; k++) {
            uint64_t i = (first + k * 29) % COUNTERS;
            assert_int_equal(MCDS_OK,
                             mcds_counter_add_start(counters[i], 1, &sums[i], pipeline, i));
        }
        while (mcds_pipeline_next(pipeline, &done) == MCDS_OK) {
            uint64_t i = done.tag;
            sure[i] += done.result == MCDS_OK;
            doubtful[i] += done.result == MCDS_AMBIGUOUS;
            if (done.result != MCDS_OK)
                continue;
            assert_true(sums[i] > last[i] && sums[i] / 1000 == (int64_t)i + 1);
            last[i] = sums[i];
        }
    }
    mcds_pipeline_close(pipeline);
    for (int i = 0; i < COUNTERS; i++)
        assert_in_range(truth_of(i) - 1000 * (i + 1), sure[i], sure[i] + doubtful[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_answers_what_was_read),
        cmocka_unit_test(an_addition_counts_as_it_was_answered),
    };
    if (!server_start_memcached(&memcached)) {
        (void)printf("skipped: memcached is not installed\n");
        return EXIT_SKIPPED;
    }
    int failed = cmocka_run_group_tests(tests, set_up, tear_down);
    server_stop(&memcached);
    return failed;
}
