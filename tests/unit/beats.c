/* Beats: in whatever order they arrive, each window counts its visitor once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/tally/beats.h"
#include "support/dice.h"

#define FIRST UINT64_C(1000)
#define BUCKETS 200
#define BEATS 60

/* What the windows have counted, and when the visitor was active. */
struct model {
    uint64_t numbers[BUCKETS];
    bool active[BUCKETS];
};

static bool is_active(const struct model *model, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i <= last; i++)
        if (model->active[i])
            return true;
    return false;
}

static void check(const struct model *model, uint32_t span)
{
    for (uint32_t i = span; i < BUCKETS; i++) {
        uint64_t wanted = is_active(model, i - span, i) ? MCDS__WINDOW_ALL : 0;
        wanted += is_active(model, i - span, i - 1) ? MCDS__WINDOW_BEFORE : 0;
        assert_int_equal(model->numbers[i], wanted);
    }
}

/* Beats around a time that moves on, up to as late as is allowed. */
static void play(uint64_t seed, uint32_t span)
{
    struct model model = {0};
    struct mcds__beats beats = {0, 0};
    uint32_t now = 2 * MCDS__BEATS_SPAN_MAX;
    for (int n = 0; n < BEATS && now + span < BUCKETS; n++) {
        uint32_t at = now - (uint32_t)dice_roll(&seed, MCDS__BEATS_LATE_MAX + 1);
        assert_false(mcds__beats_is_late(&beats, FIRST + at));
        struct mcds__beats after = mcds__beats_with(beats, FIRST + at);
        bool changes = false;
        for (uint32_t i = at; i <= at + span; i++) {
            uint64_t delta = mcds__beats_delta(&beats, &after, FIRST + i, span);
            model.numbers[i] += delta;
            changes = changes || delta != 0;
        }
        assert_int_equal(mcds__beats_change(&beats, FIRST + at, span), changes);
        if (changes) /* else no mark is written */
            beats = after;
        model.active[at] = true;
        check(&model, span);
        now += dice_roll(&seed, 4) == 0 ? (uint32_t)dice_roll(&seed, span + 3) : 0;
    }
}

static void each_window_counts_once(void **state)
{
    (void)state;
    for (uint32_t span = 1; span <= MCDS__BEATS_SPAN_MAX; span++)
        for (uint64_t seed = 1; seed <= 8; seed++)
            play(seed * 1000 + span, span);
}

static void a_beat_is_late_after_31_buckets(void **state)
{
    (void)state;
    struct mcds__beats beats = {0, 0};
    assert_false(mcds__beats_is_late(&beats, 1));
    beats = mcds__beats_with(beats, 100);
    assert_false(mcds__beats_is_late(&beats, 100 - MCDS__BEATS_LATE_MAX));
    assert_true(mcds__beats_is_late(&beats, 100 - MCDS__BEATS_LATE_MAX - 1));
    assert_false(mcds__beats_is_late(&beats, UINT64_MAX / 2));
}

static void beats_long_ago_are_forgotten(void **state)
{
    (void)state;
    struct mcds__beats beats = mcds__beats_with((struct mcds__beats){0, 0}, 7);
    beats = mcds__beats_with(beats, 7 + 63);
    assert_int_equal(beats.bits, (UINT64_C(1) << 63) | 1);
    assert_false(mcds__beats_change(&beats, 70, 32));
    beats = mcds__beats_with(beats, 7 + 63 + 64);
    assert_int_equal(beats.newest, 134);
    assert_int_equal(beats.bits, 1);
}

/* The first buckets since 1970 have shorter windows. */
static void the_first_window_has_one_bucket(void **state)
{
    (void)state;
    struct mcds__beats none = {0, 0};
    struct mcds__beats first = mcds__beats_with(none, 0);
    assert_int_equal(mcds__beats_delta(&none, &first, 0, 5), MCDS__WINDOW_ALL);
    assert_int_equal(mcds__beats_delta(&none, &first, 5, 5),
                     MCDS__WINDOW_ALL + MCDS__WINDOW_BEFORE);
    assert_int_equal(mcds__beats_delta(&none, &first, 6, 5), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_window_counts_once),
        cmocka_unit_test(a_beat_is_late_after_31_buckets),
        cmocka_unit_test(beats_long_ago_are_forgotten),
        cmocka_unit_test(the_first_window_has_one_bucket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
