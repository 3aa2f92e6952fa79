/* The order of a list with removal: additions of one writer keep the order in which they were
 * started, whatever the order of arrival, the clocks, and rewrites. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/frame.h"
#include "core/map/bucket/apply.h"
#include "core/map/bucket/bucket.h"
#include "support/fake_env.h"
#include "support/map_record.h"

#define ADDITIONS 40
#define WRITERS 2
#define ROUNDS 2000
#define KEY ((mcds_bytes){"d:s1:l:1", 8})

struct play {
    struct fake_env fake;
    mcds_buffer value;
    uint32_t flags;
};

static void rewrite(struct play *play)
{
    struct mcds__bucket bucket;
    mcds_buffer rewritten;
    uint32_t flags = 0;
    mcds__buffer_init(&rewritten, &play->fake.env, 1 << 20);
    mcds__bucket_init(&bucket, &play->fake.env, KEY, (mcds_bytes){NULL, 0});
    bucket.form = MCDS__MAP_FORM_LIST;
    if (play->value.length > 0)
        assert_int_equal(mcds__map_load(&bucket,
                                        (mcds_bytes){play->value.data, play->value.length},
                                        play->flags),
                         MCDS_OK);
    assert_true(mcds__bucket_encode(&bucket, KEY, MCDS__MAP_OPEN, 0, &rewritten, &flags));
    mcds__bucket_free(&bucket);
    mcds__buffer_free(&play->value);
    play->value = rewritten;
    play->flags = flags;
}

/* One addition: `number` is its place among those of its writer. */
static void arrive(struct play *play, uint64_t writer, uint32_t number, uint32_t low,
                   int64_t clock_ms)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%u %u", (unsigned)writer, (unsigned)number);
    struct mcds__map_record record = {
        .command = {.verb = MCDS__MAP_PUSH,
                    .element = mcds_text(text),
                    .delta = (int64_t)number},
        .writer = writer,
        .seq = number,
        .low = low,
        .time_ms = clock_ms,
    };
    assert_true(map_record_put(&play->value, KEY, &record));
}

/* Whether those of each writer rise. */
static void check(struct play *play)
{
    struct mcds__bucket bucket;
    mcds__bucket_init(&bucket, &play->fake.env, KEY, (mcds_bytes){NULL, 0});
    assert_int_equal(mcds__map_load(&bucket, (mcds_bytes){play->value.data, play->value.length},
                                    play->flags),
                     MCDS_OK);
    for (unsigned writer = 1; writer <= WRITERS; writer++) {
        uint64_t last = 0;
        for (unsigned number = 1; number <= ADDITIONS; number++) {
            char text[32];
            (void)snprintf(text, sizeof text, "%u %u", writer, number);
            const struct mcds__map_entry *entry = mcds__map_find(&bucket, mcds_text(text));
            assert_non_null(entry);
            assert_int_equal(entry->value.length, 8);
            uint64_t place = mcds__get_u64(entry->value.data);
            assert_true(place > last);
            last = place;
        }
    }
    mcds__bucket_free(&bucket);
}

/* Each writer has up to `deep` additions under way, which arrive in any order. */
static void play_round(uint64_t seed, int64_t apart_ms, uint32_t deep)
{
    struct play play;
    bool arrived[WRITERS + 1][ADDITIONS + 1] = {{false}};
    uint32_t lows[WRITERS + 1] = {1, 1, 1};
    uint32_t left = WRITERS * ADDITIONS;
    fake_env_init(&play.fake, seed);
    mcds__buffer_init(&play.value, &play.fake.env, 1 << 20);
    play.flags = 0;
    rewrite(&play);
    while (left > 0) {
        uint32_t writer = 1 + (uint32_t)(mcds__random_u64(&play.fake.env) % WRITERS);
        uint32_t number = lows[writer] + (uint32_t)(mcds__random_u64(&play.fake.env) % deep);
        if (number > ADDITIONS || arrived[writer][number])
            continue;
        /* `low` as of when it was begun: no more than what was over then. */
        uint32_t low = number >= deep ? number - deep + 1 : 1;
        arrive(&play, writer, number, low,
               1700000000000 + number + (writer == 1 ? apart_ms : 0));
        arrived[writer][number] = true;
        left--;
        while (lows[writer] <= ADDITIONS && arrived[writer][lows[writer]])
            lows[writer]++;
        if (mcds__random_u64(&play.fake.env) % 8 == 0)
            rewrite(&play);
    }
    check(&play);
    mcds__buffer_free(&play.value);
    assert_int_equal(play.fake.blocks, 0);
}

static void additions_of_one_writer_keep_their_order(void **state)
{
    static const int64_t apart_ms[] = {0, 5, 29990, 30000, 30010, 3600000, -30005};
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++)
        play_round(seed, apart_ms[seed % 7], 1 + (uint32_t)(seed / 7 % 12));
}

#define OFTEN 4000
#define POPPED 1000

static size_t taken; /* by all allocations */

static void *count_reallocate(void *self, void *memory, size_t length)
{
    taken += length;
    return fake_env_reallocate(self, memory, length);
}

/* One element is added over and over, and now and then an occurrence of it removed: what that takes
 * grows with the number of additions, not with its square. */
static void an_element_that_is_added_often_takes_bounded_memory(void **state)
{
    struct play play;
    struct mcds__bucket bucket;
    (void)state;
    fake_env_init(&play.fake, 1);
    play.fake.env.reallocate = count_reallocate;
    mcds__buffer_init(&play.value, &play.fake.env, 1 << 20);
    play.flags = 0;
    rewrite(&play);
    for (uint32_t i = 1; i <= OFTEN + POPPED; i++) {
        bool pops = i % (OFTEN / POPPED + 1) == 0;
        struct mcds__map_record record = {
            .command = {.verb = pops ? MCDS__MAP_POP : MCDS__MAP_PUSH,
                        .element = mcds_text("again"),
                        .delta = i},
            .writer = 1,
            .seq = i,
            .low = i,
            .time_ms = 1700000000000,
        };
        assert_true(map_record_put(&play.value, KEY, &record));
    }
    taken = 0;
    mcds__bucket_init(&bucket, &play.fake.env, KEY, (mcds_bytes){NULL, 0});
    bucket.form = MCDS__MAP_FORM_LIST;
    assert_int_equal(
        mcds__map_load(&bucket, (mcds_bytes){play.value.data, play.value.length}, play.flags),
        MCDS_OK);
    assert_true(taken < 4 * play.value.length);
    const struct mcds__map_entry *entry = mcds__map_find(&bucket, mcds_text("again"));
    assert_non_null(entry);
    assert_int_equal(entry->value.length, 8 * (OFTEN - POPPED));
    uint64_t last = 0;
    for (size_t at = 0; at < entry->value.length; at += 8) {
        uint64_t place = mcds__get_u64((const uint8_t *)entry->value.data + at);
        assert_true(place > last);
        last = place;
    }
    mcds__bucket_free(&bucket);
    mcds__buffer_free(&play.value);
    assert_int_equal(play.fake.blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(additions_of_one_writer_keep_their_order),
        cmocka_unit_test(an_element_that_is_added_often_takes_bounded_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
