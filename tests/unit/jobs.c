/* Orders on a part of a queue: what each decides, when a part is closed, how long its entry stays, and
 * that no bytes of strangers do more than change nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "core/map/bucket/format.h"
#include "core/map/bucket/jobs.h"
#include "support/dice.h"
#include "support/fake_env.h"

#define NOW_MS INT64_C(1700000000000)
#define VISIBLE_MS 1000
#define HOUR_MS (INT64_C(3600) * 1000)
#define DAY_MS (INT64_C(24) * 3600 * 1000)
#define INCARNATION UINT64_C(0x1234567)

/* One entry, changed by orders as the records of a key change it. */
struct part {
    struct fake_env fake;
    struct mcds__bucket bucket;
    struct mcds__map_entry entry;
    int64_t now_ms;
    int64_t number; /* of the last order */
};

static void begin(struct part *part)
{
    memset(part, 0, sizeof *part);
    fake_env_init(&part->fake, 3);
    mcds__bucket_init(&part->bucket, &part->fake.env, mcds_text("key"), (mcds_bytes){NULL, 0});
    part->entry.element = mcds_text("p");
    part->now_ms = NOW_MS;
}

static void end(struct part *part)
{
    mcds__bucket_free(&part->bucket);
    assert_int_equal(part->fake.blocks, 0);
}

static enum mcds__map_code apply(struct part *part, mcds_bytes order)
{
    struct mcds__map_effect effect;
    const struct mcds__map_writer writer = {.id = 1};
    const struct mcds__map_record record = {
        .command = {.verb = MCDS__MAP_JOBS, .element = part->entry.element, .value = order},
        .writer = 1,
        .seq = 1,
        .low = 1,
        .time_ms = part->now_ms,
    };
    assert_true(mcds__bucket_apply(&part->bucket, &part->entry, &writer, &record, &effect));
    part->number = effect.number;
    return effect.code;
}

static enum mcds__map_code push(struct part *part, bool opens, uint64_t delay_ms,
                                uint32_t count, mcds_bytes job)
{
    mcds_buffer order;
    mcds__buffer_init(&order, &part->fake.env, 1 << 24);
    assert_true(mcds__jobs_begin_push(&order, opens, delay_ms));
    for (uint32_t i = 0; i < count; i++)
        assert_true(mcds__jobs_add(&order, job));
    enum mcds__map_code code = apply(part, (mcds_bytes){order.data, order.length});
    mcds__buffer_free(&order);
    return code;
}

static enum mcds__map_code claim_after(struct part *part,
                                       const struct mcds__jobs_receipt *ended)
{
    uint8_t order[MCDS__JOBS_ORDER_MAX];
    size_t length = mcds__jobs_write_claim(VISIBLE_MS, ended, order);
    return apply(part, (mcds_bytes){order, length});
}

static enum mcds__map_code claim(struct part *part)
{
    const struct mcds__jobs_receipt none = {0, 0};
    return claim_after(part, &none);
}

static struct mcds__jobs_receipt receipt_of(int64_t number)
{
    return (struct mcds__jobs_receipt){(uint64_t)number >> MCDS__JOBS_TRIES_BITS,
                                       number & MCDS__JOBS_TRIES_MAX};
}

static enum mcds__map_code settle(struct part *part, enum mcds__jobs_order what,
                                  struct mcds__jobs_receipt receipt, uint64_t ms)
{
    uint8_t order[MCDS__JOBS_ORDER_MAX];
    size_t length = mcds__jobs_write_receipt(what, &receipt, ms, order);
    return apply(part, (mcds_bytes){order, length});
}

static enum mcds__map_code simple(struct part *part, enum mcds__jobs_order what)
{
    const uint8_t order = (uint8_t)what;
    return apply(part, (mcds_bytes){&order, 1});
}

static uint32_t count_jobs(const struct part *part)
{
    struct mcds__jobs_part jobs;
    struct mcds__job job;
    assert_true(mcds__jobs_open(part->entry.value, &jobs));
    while (mcds__jobs_next(&jobs, &job))
        ;
    assert_int_equal(jobs.next_at, part->entry.value.length);
    return jobs.count;
}

static void claims_take_jobs_in_order(void **state)
{
    struct part part;
    (void)state;
    begin(&part);
    assert_int_equal(push(&part, false, 0, 1, mcds_text("a")), MCDS__MAP_ABSENT);
    assert_false(part.entry.there);
    assert_int_equal(claim(&part), MCDS__MAP_ABSENT);
    assert_int_equal(push(&part, true, 0, 2, mcds_text("a")), MCDS__MAP_CHANGED);
    assert_int_equal(part.number, 0);
    assert_int_equal(push(&part, false, 10, 1, mcds_text("later")), MCDS__MAP_CHANGED);
    assert_int_equal(part.number, 2);
    for (uint64_t i = 0; i < 2; i++) {
        assert_int_equal(claim(&part), MCDS__MAP_CHANGED);
        assert_int_equal(receipt_of(part.number).number, i);
        assert_int_equal(receipt_of(part.number).tries, 1);
    }
    assert_int_equal(claim(&part), MCDS__MAP_PRESENT);
    assert_int_equal(part.number, NOW_MS + 10);
    part.now_ms += 10;
    assert_int_equal(claim(&part), MCDS__MAP_CHANGED);
    assert_int_equal(receipt_of(part.number).number, 2);
    part.now_ms = NOW_MS + VISIBLE_MS - 1;
    assert_int_equal(claim(&part), MCDS__MAP_PRESENT);
    part.now_ms++;
    assert_int_equal(claim(&part), MCDS__MAP_CHANGED);
    assert_int_equal(receipt_of(part.number).number, 0);
    assert_int_equal(receipt_of(part.number).tries, 2);
    end(&part);
}

/* The clock of the client that claims is an hour slow. */
static void a_job_without_delay_is_due_for_each_clock(void **state)
{
    struct part part;
    struct mcds__jobs_part jobs;
    struct mcds__job job;
    (void)state;
    begin(&part);
    assert_int_equal(push(&part, true, 1, 1, mcds_text("later")), MCDS__MAP_CHANGED);
    assert_int_equal(push(&part, true, 0, 1, mcds_text("now")), MCDS__MAP_CHANGED);
    for (uint32_t tries = 1; tries <= 2; tries++) {
        part.now_ms = NOW_MS - HOUR_MS;
        assert_int_equal(claim(&part), MCDS__MAP_CHANGED);
        struct mcds__jobs_receipt receipt = receipt_of(part.number);
        assert_true(receipt.number == 1 && receipt.tries == tries);
        assert_int_equal(claim(&part), MCDS__MAP_PRESENT);
        assert_int_equal(part.number, NOW_MS - HOUR_MS + VISIBLE_MS);
        part.now_ms = NOW_MS + HOUR_MS;
        assert_int_equal(settle(&part, MCDS__JOBS_AGAIN, receipt, 0), MCDS__MAP_CHANGED);
    }
    assert_true(mcds__jobs_open(part.entry.value, &jobs));
    assert_true(mcds__jobs_next(&jobs, &job) && job.time_ms == NOW_MS + 1);
    assert_true(mcds__jobs_next(&jobs, &job) && job.time_ms == MCDS__JOBS_AT_ONCE);
    end(&part);
}

static void an_old_receipt_moves_nothing(void **state)
{
    struct part part;
    (void)state;
    begin(&part);
    assert_int_equal(push(&part, true, 0, 1, mcds_text("a")), MCDS__MAP_CHANGED);
    assert_int_equal(claim(&part), MCDS__MAP_CHANGED);
    struct mcds__jobs_receipt first = receipt_of(part.number);
    part.now_ms += VISIBLE_MS;
    assert_int_equal(settle(&part, MCDS__JOBS_LONGER, first, VISIBLE_MS), MCDS__MAP_CHANGED);
    assert_int_equal(claim(&part), MCDS__MAP_PRESENT);
    part.now_ms += VISIBLE_MS;
    assert_int_equal(claim(&part), MCDS__MAP_CHANGED);
    struct mcds__jobs_receipt second = receipt_of(part.number);
    assert_int_equal(second.tries, 2);
    assert_int_equal(settle(&part, MCDS__JOBS_AGAIN, first, 0), MCDS__MAP_DIFFERS);
    assert_int_equal(settle(&part, MCDS__JOBS_LONGER, first, 1), MCDS__MAP_DIFFERS);
    assert_int_equal(claim(&part), MCDS__MAP_PRESENT);
    assert_int_equal(settle(&part, MCDS__JOBS_AGAIN, second, 5), MCDS__MAP_CHANGED);
    assert_int_equal(settle(&part, MCDS__JOBS_AGAIN, second, 0), MCDS__MAP_DIFFERS);
    assert_int_equal(settle(&part, MCDS__JOBS_LONGER, second, 1), MCDS__MAP_DIFFERS);
    assert_int_equal(claim(&part), MCDS__MAP_PRESENT);
    assert_int_equal(settle(&part, MCDS__JOBS_DONE, first, 0), MCDS__MAP_DIFFERS);
    assert_int_equal(count_jobs(&part), 0);
    assert_int_equal(settle(&part, MCDS__JOBS_DONE, second, 0), MCDS__MAP_ABSENT);
    assert_int_equal(settle(&part, MCDS__JOBS_AGAIN, second, 0), MCDS__MAP_ABSENT);
    end(&part);
}

/* A copy of it may be made: each done must erase the copy too. */
static void a_dying_job_has_no_valid_receipt(void **state)
{
    struct part part;
    (void)state;
    begin(&part);
    assert_int_equal(push(&part, true, 0, 3, mcds_text("a")), MCDS__MAP_CHANGED);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(claim(&part), MCDS__MAP_CHANGED);
        struct mcds__jobs_receipt mine = receipt_of(part.number);
        assert_int_equal(settle(&part, MCDS__JOBS_DIE, mine, VISIBLE_MS), MCDS__MAP_CHANGED);
        assert_int_equal(settle(&part, MCDS__JOBS_LONGER, mine, 1), MCDS__MAP_CHANGED);
        if (i > 0) {
            assert_int_equal(settle(&part, MCDS__JOBS_AGAIN, mine, 0), MCDS__MAP_CHANGED);
            assert_int_equal(settle(&part, MCDS__JOBS_DIE, mine, 1), MCDS__MAP_DIFFERS);
            assert_int_equal(claim(&part), MCDS__MAP_CHANGED);
            mine = receipt_of(part.number);
            assert_int_equal(mine.tries, 2);
        }
        if (i < 2) {
            assert_int_equal(settle(&part, MCDS__JOBS_DONE, mine, 0), MCDS__MAP_DIFFERS);
        } else {
            assert_int_equal(claim_after(&part, &mine), MCDS__MAP_PRESENT);
            assert_true((part.number & MCDS__JOBS_WAS_LOST) != 0);
        }
        assert_int_equal(count_jobs(&part), 2 - i);
    }
    end(&part);
}

static void a_claim_ends_the_one_before(void **state)
{
    struct part part;
    (void)state;
    begin(&part);
    assert_int_equal(push(&part, true, 0, 2, mcds_text("a")), MCDS__MAP_CHANGED);
    assert_int_equal(claim(&part), MCDS__MAP_CHANGED);
    struct mcds__jobs_receipt first = receipt_of(part.number);
    assert_int_equal(claim_after(&part, &first), MCDS__MAP_CHANGED);
    struct mcds__jobs_receipt second = receipt_of(part.number);
    assert_int_equal(second.number, 1);
    assert_int_equal(count_jobs(&part), 1);
    assert_int_equal(claim_after(&part, &first), MCDS__MAP_PRESENT);
    assert_int_equal(part.number, (NOW_MS + VISIBLE_MS) | MCDS__JOBS_WAS_LOST);
    part.now_ms += VISIBLE_MS;
    assert_int_equal(claim(&part), MCDS__MAP_CHANGED);
    assert_int_equal(claim_after(&part, &second), MCDS__MAP_PRESENT);
    assert_true((part.number & MCDS__JOBS_WAS_LOST) != 0);
    assert_int_equal(count_jobs(&part), 0);
    end(&part);
}

static void a_full_part_takes_no_more(void **state)
{
    static const char large[MCDS__JOBS_BYTES_MAX];
    struct part part;
    (void)state;
    begin(&part);
    for (uint32_t i = 0; i < MCDS__JOBS_FULL / MCDS__JOBS_PUSH_MAX; i++)
        assert_int_equal(push(&part, true, 0, MCDS__JOBS_PUSH_MAX, mcds_text("")),
                         MCDS__MAP_CHANGED);
    assert_int_equal(count_jobs(&part), MCDS__JOBS_FULL);
    assert_int_equal(push(&part, true, 0, 1, mcds_text("")), MCDS__MAP_REFUSED);
    for (uint32_t i = 0; i < MCDS__JOBS_FULL; i++) {
        assert_int_equal(simple(&part, MCDS__JOBS_FORGET), MCDS__MAP_PRESENT);
        assert_int_equal(claim(&part), MCDS__MAP_CHANGED);
        assert_int_equal(settle(&part, MCDS__JOBS_DONE, receipt_of(part.number), 0),
                         MCDS__MAP_CHANGED);
    }
    assert_int_equal(claim(&part), MCDS__MAP_REFUSED);
    assert_int_equal(push(&part, true, 0, 1, mcds_text("")), MCDS__MAP_REFUSED);
    end(&part);
    begin(&part);
    assert_int_equal(push(&part, true, 0, 1, (mcds_bytes){large, sizeof large}),
                     MCDS__MAP_CHANGED);
    assert_int_equal(push(&part, true, 0, 1, mcds_text("")), MCDS__MAP_REFUSED);
    assert_int_equal(claim(&part), MCDS__MAP_CHANGED);
    end(&part);
}

static void a_mark_stays_for_a_day(void **state)
{
    static const char large[MCDS__JOBS_FULL_BYTES];
    struct part part;
    (void)state;
    begin(&part);
    assert_int_equal(simple(&part, MCDS__JOBS_FORGET), MCDS__MAP_ABSENT);
    assert_int_equal(simple(&part, MCDS__JOBS_OPEN), MCDS__MAP_CHANGED);
    assert_int_equal(simple(&part, MCDS__JOBS_OPEN), MCDS__MAP_PRESENT);
    assert_int_equal(simple(&part, MCDS__JOBS_FORGET), MCDS__MAP_PRESENT);
    assert_int_equal(part.entry.expires_ms, 0);
    assert_int_equal(push(&part, false, 0, 1, (mcds_bytes){large, sizeof large}),
                     MCDS__MAP_CHANGED);
    assert_int_equal(claim(&part), MCDS__MAP_CHANGED);
    assert_int_equal(settle(&part, MCDS__JOBS_DONE, receipt_of(part.number), 0),
                     MCDS__MAP_CHANGED);
    assert_int_equal(simple(&part, MCDS__JOBS_FORGET), MCDS__MAP_CHANGED);
    part.now_ms += 5;
    assert_int_equal(simple(&part, MCDS__JOBS_FORGET), MCDS__MAP_CHANGED);
    part.now_ms = NOW_MS + DAY_MS - 1;
    assert_int_equal(push(&part, true, 0, 1, mcds_text("a")), MCDS__MAP_REFUSED);
    part.now_ms++;
    assert_int_equal(push(&part, false, 0, 1, mcds_text("a")), MCDS__MAP_ABSENT);
    end(&part);
}

static enum mcds__map_code raise_to(struct part *part, uint64_t incarnation, uint64_t first,
                                    uint64_t last)
{
    uint8_t order[MCDS__JOBS_ORDER_MAX];
    return apply(part,
                 (mcds_bytes){order, mcds__jobs_write_raise(incarnation, first, last, order)});
}

static void numbers_rise_within_an_incarnation(void **state)
{
    struct part part;
    struct mcds__jobs_numbers numbers;
    (void)state;
    begin(&part);
    assert_int_equal(raise_to(&part, INCARNATION, 0, 1), MCDS__MAP_ABSENT);
    assert_int_equal(raise_to(&part, INCARNATION, 0, 0), MCDS__MAP_CHANGED);
    assert_int_equal(raise_to(&part, INCARNATION + 2, 0, 0), MCDS__MAP_DIFFERS);
    assert_int_equal(raise_to(&part, INCARNATION, 2, 7), MCDS__MAP_CHANGED);
    assert_int_equal(raise_to(&part, INCARNATION, 3, 3), MCDS__MAP_CHANGED);
    assert_int_equal(raise_to(&part, INCARNATION, 0, 1), MCDS__MAP_CHANGED);
    assert_int_equal(raise_to(&part, INCARNATION + 2, 9, 9), MCDS__MAP_DIFFERS);
    assert_true(mcds__jobs_read_numbers(part.entry.value, &numbers));
    assert_true(numbers.incarnation == INCARNATION && numbers.stripes == 1);
    assert_true(numbers.list[0].first == 3 && numbers.list[0].last == 7);
    assert_int_equal(claim(&part), MCDS__MAP_NO_NUMBER);
    assert_int_equal(push(&part, true, 0, 1, mcds_text("a")), MCDS__MAP_NO_NUMBER);
    end(&part);
}

static uint64_t part_of(uint64_t stripe, uint64_t place)
{
    return stripe << MCDS__JOBS_STRIPE_BIT | place;
}

static void the_numbers_of_stripes_rise_apart(void **state)
{
    struct part part;
    struct mcds__jobs_numbers numbers;
    uint8_t order[MCDS__JOBS_ORDER_MAX];
    (void)state;
    begin(&part);
    size_t length = mcds__jobs_write_make(INCARNATION, 3, order);
    assert_int_equal(raise_to(&part, INCARNATION, part_of(1, 0), part_of(1, 0)),
                     MCDS__MAP_ABSENT);
    assert_int_equal(apply(&part, (mcds_bytes){order, length}), MCDS__MAP_CHANGED);
    assert_int_equal(raise_to(&part, INCARNATION, part_of(1, 2), part_of(1, 7)),
                     MCDS__MAP_CHANGED);
    assert_int_equal(raise_to(&part, INCARNATION, part_of(3, 0), part_of(3, 1)),
                     MCDS__MAP_NO_NUMBER);
    order[1 + 8 + 2] = 5; /* another number of stripes */
    assert_int_equal(apply(&part, (mcds_bytes){order, length}), MCDS__MAP_CHANGED);
    assert_true(mcds__jobs_read_numbers(part.entry.value, &numbers));
    assert_true(numbers.incarnation == INCARNATION && numbers.stripes == 3);
    for (uint64_t i = 0; i < 3; i++) {
        assert_true(numbers.list[i].first == part_of(i, i == 1 ? 2 : 0));
        assert_true(numbers.list[i].last == part_of(i, i == 1 ? 7 : 0));
    }
    end(&part);
}

/* A RAISE from one stripe to another, or to no part, changes nothing. */
static void numbers_stay_in_their_stripe(void **state)
{
    struct part part;
    uint8_t order[MCDS__JOBS_ORDER_MAX];
    const uint8_t wrong[][3] = {{0, 0, 0}, {0, 0, 33}, {1, 0, 1}};
    (void)state;
    begin(&part);
    size_t length = mcds__jobs_write_make(INCARNATION, 2, order);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        memcpy(order + 9, wrong[i], 3);
        assert_int_equal(apply(&part, (mcds_bytes){order, length}), MCDS__MAP_NO_NUMBER);
        assert_false(part.entry.there);
    }
    order[9] = order[10] = 0;
    order[11] = 2;
    assert_int_equal(apply(&part, (mcds_bytes){order, length}), MCDS__MAP_CHANGED);
    uint8_t raise[MCDS__JOBS_ORDER_MAX];
    length = mcds__jobs_write_raise(INCARNATION, part_of(0, 5), part_of(0, 5), raise);
    uint8_t *last = mcds__bucket_write_varint(raise + 10, part_of(1, 1));
    assert_int_equal(apply(&part, (mcds_bytes){raise, (size_t)(last - raise)}),
                     MCDS__MAP_NO_NUMBER);
    last = mcds__bucket_write_varint(raise + 10, UINT64_C(1) << 40);
    assert_int_equal(apply(&part, (mcds_bytes){raise, (size_t)(last - raise)}),
                     MCDS__MAP_NO_NUMBER);
    assert_int_equal(apply(&part, (mcds_bytes){raise, 11}), MCDS__MAP_NO_NUMBER);
    end(&part);
}

/* Orders of any bytes, on entries of any bytes. */
static void bytes_of_strangers_do_no_harm(void **state)
{
    uint64_t dice = 7;
    (void)state;
    for (uint32_t round = 0; round < 400; round++) {
        struct part part;
        uint8_t value[120];
        uint8_t order[40];
        begin(&part);
        assert_int_equal(push(&part, true, 0, 3, mcds_text("job")), MCDS__MAP_CHANGED);
        size_t length = part.entry.value.length;
        assert_true(length <= sizeof value);
        memcpy(value, part.entry.value.data, length);
        if (round % 2 == 0)
            value[dice_roll(&dice, length)] = (uint8_t)dice_roll(&dice, 256);
        part.entry.value = (mcds_bytes){value,
                                        round % 3 == 0 ? dice_roll(&dice, length) : length};
        part.entry.spare = 0;
        for (uint32_t i = 0; i < 20; i++) {
            size_t order_length = 1 + dice_roll(&dice, sizeof order);
            for (size_t j = 0; j < order_length; j++)
                order[j] = (uint8_t)dice_roll(&dice, j < 3 ? 9 : 256);
            (void)apply(&part, (mcds_bytes){order, order_length});
            (void)claim(&part);
        }
        end(&part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_take_jobs_in_order),
        cmocka_unit_test(a_job_without_delay_is_due_for_each_clock),
        cmocka_unit_test(an_old_receipt_moves_nothing),
        cmocka_unit_test(a_dying_job_has_no_valid_receipt),
        cmocka_unit_test(a_claim_ends_the_one_before),
        cmocka_unit_test(a_full_part_takes_no_more),
        cmocka_unit_test(a_mark_stays_for_a_day),
        cmocka_unit_test(numbers_rise_within_an_incarnation),
        cmocka_unit_test(the_numbers_of_stripes_rise_apart),
        cmocka_unit_test(numbers_stay_in_their_stripe),
        cmocka_unit_test(bytes_of_strangers_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
