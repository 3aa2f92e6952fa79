/* STORE: the wall clock steps an hour ahead and back, in virtual time, under locks, visitors, online,
 * views and followers of logs; the monotonic clock continues. What was acknowledged exists
 * once, during that time and after it. FIELD_ROUNDS plays with steps of other lengths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "field/field.h"
#include "mcds.h"
#include "support/dice.h"
#include "support/fake_env.h"
#include "support/fixture.h"

#define HOUR_MS INT64_C(3600000)
#define REACH_MS (70 * 60000) /* clocks may differ so much under default settings */
#define EVENTS 180
#define VISITORS 20
#define SLOTS 4000
#define FLUSH_MS 60000
#define ROUNDS 5

#define OK(call) assert_int_equal(MCDS_OK, call)

struct play {
    struct fake_env fake;
    mcds_store *store;
    int64_t step_ms;
};

static struct fixture *fixture;

static void open_play(struct play *play, uint64_t round)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    uint64_t dice = round;
    static unsigned plays;
    char word[32];
    char uri[1024];
    (void)snprintf(word, sizeof word, "round%u", plays++);
    fixture_uri_of(fixture, word, uri, sizeof uri);
    memset(play, 0, sizeof *play);
    fake_env_init(&play->fake, round);
    options.env = &play->fake.env;
    play->step_ms = round == 0 ? HOUR_MS : (int64_t)dice_roll(&dice, 3 * HOUR_MS);
    OK(mcds_open(uri, &options, &play->store));
}

static void close_play(struct play *play)
{
    mcds_close(play->store);
    assert_int_equal(play->fake.blocks, 0);
}

/* Which of three thirds the clock is in: true, ahead, true again. */
static void step(struct play *play, uint32_t at, uint32_t of)
{
    if (at == of / 3)
        play->fake.wall_ns += play->step_ms * 1000000;
    if (at == 2 * (of / 3))
        play->fake.wall_ns -= play->step_ms * 1000000;
}

static void a_lease_is_as_long_as_ever(void **state)
{
    (void)state;
    for (unsigned round = 0; round < field_rounds(ROUNDS); round++) {
        struct play play;
        mcds_lock_options options = {sizeof options, 20000, "holder"};
        mcds_lease lease = MCDS_LEASE_INIT;
        mcds_lease other = MCDS_LEASE_INIT;
        mcds_lock *lock;
        mcds_lock *rival;
        uint64_t fence = 0;
        open_play(&play, round);
        OK(mcds_lock_open(play.store, "l", &options, &lock));
        OK(mcds_lock_open(play.store, "l", &options, &rival));
        for (uint32_t i = 0; i < 30; i++) {
            OK(mcds_lock_try_acquire(lock, &lease));
            assert_true(lease.fence > fence);
            fence = lease.fence;
            step(&play, i, 30);
            assert_int_equal(MCDS_BUSY, mcds_lock_try_acquire(rival, &other));
            fake_env_advance_ms(&play.fake, 15000);
            assert_int_equal(MCDS_BUSY, mcds_lock_try_acquire(rival, &other));
            OK(mcds_lock_renew(lock, &lease));
            fake_env_advance_ms(&play.fake, 15000);
            assert_int_equal(MCDS_BUSY, mcds_lock_try_acquire(rival, &other));
            fake_env_advance_ms(&play.fake, 6000);
            OK(mcds_lock_try_acquire(rival, &other));
            assert_true(other.fence > fence);
            fence = other.fence;
            assert_int_equal(MCDS_EXPIRED, mcds_lock_renew(lock, &lease));
            OK(mcds_lock_release(rival, &other));
            lease = other = (mcds_lease)MCDS_LEASE_INIT;
        }
        mcds_lock_close(lock);
        mcds_lock_close(rival);
        close_play(&play);
    }
}

static void visit_all(mcds_visitors *visitors, mcds_online *online)
{
    for (int i = 0; i < VISITORS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "v%d", i);
        assert_true(mcds_visitors_hit(visitors, name, 0) >= 0);
        assert_true(mcds_online_beat(online, name, 0) >= 0);
    }
}

/* A visitor that returns after the clock is right again is known. */
static void a_visitor_is_counted_once(void **state)
{
    (void)state;
    for (unsigned round = 0; round < field_rounds(ROUNDS); round++)
        for (uint32_t members = 0; members <= MCDS_MEMBERS_ESTIMATED; members++) {
            struct play play;
            mcds_visitors_options options = {sizeof options, 600000, 0, members};
            mcds_online_options of_online = {sizeof of_online, 5, 600000, members, 0};
            mcds_visitors *visitors;
            mcds_online *online;
            mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
            mcds_online_value active = MCDS_ONLINE_VALUE_INIT;
            uint64_t before;
            open_play(&play, round);
            OK(mcds_visitors_open(play.store, "v", &options, &visitors));
            OK(mcds_online_open(play.store, "o", &of_online, &online));
            for (uint32_t third = 0; third < 3; third++) {
                step(&play, third, 3);
                visit_all(visitors, online);
                fake_env_advance_ms(&play.fake, 1000);
            }
            visit_all(visitors, online);
            OK(mcds_visitors_get(visitors, 0, &value));
            OK(mcds_online_get(online, 0, &active));
            before = value.closed + value.current;
            if (members != MCDS_MEMBERS_ESTIMATED)
                assert_in_range(before, VISITORS, 2 * VISITORS);
            assert_in_range(value.current, VISITORS - 2, VISITORS + 2);
            assert_in_range(members == MCDS_MEMBERS_NONE ? active.closed + active.current
                                                         : active.current,
                            members == MCDS_MEMBERS_NONE ? 0 : VISITORS - 2, VISITORS + 2);
            mcds_visitors_close(visitors);
            mcds_online_close(online);
            close_play(&play);
        }
}

/* One page's database: what it has of each slot. */
struct database {
    uint64_t slots[SLOTS];
    int64_t views[SLOTS];
    uint32_t count;
};

static int load(void *context, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    const struct database *database = context;
    (void)page;
    *views_out = 0;
    for (uint32_t i = 0; i < database->count; i++)
        *views_out += database->slots[i] <= upto_slot ? database->views[i] : 0;
    return 0;
}

static int save(void *context, const char *page, uint64_t slot, int64_t views)
{
    struct database *database = context;
    uint32_t i = 0;
    (void)page;
    while (i < database->count && database->slots[i] != slot)
        i++;
    if (i == SLOTS)
        return -1;
    database->count += i == database->count;
    database->slots[i] = slot;
    database->views[i] = database->views[i] > views ? database->views[i] : views;
    return 0;
}

/* No view is counted twice. While the clock is wrong, and as long after it, some may be missing from
 * what is read; in the end all are there, in the value and in the database. */
static void every_view_is_counted_once(void **state)
{
    (void)state;
    for (unsigned round = 0; round < field_rounds(ROUNDS); round++) {
        struct play play;
        static struct database database;
        mcds_views_options options = {sizeof options, FLUSH_MS,       load, save,
                                      &database,      MCDS_VIEWS_OWN, 0};
        mcds_views *views;
        int64_t value = 0;
        int64_t saved = 0;
        memset(&database, 0, sizeof database);
        open_play(&play, round);
        OK(mcds_views_open(play.store, "views", &options, &views));
        for (uint32_t i = 0; i < EVENTS; i++) {
            step(&play, i, EVENTS);
            OK(mcds_views_hit(views, "page", 1));
            if (i % 5 == 0)
                OK(mcds_views_flush(views));
            OK(mcds_views_get(views, "page", &value));
            if (value > (int64_t)i + 1)
                fail_msg("round %u, view %u: counted twice: %lld", round, (unsigned)i,
                         (long long)value);
            fake_env_advance_ms(&play.fake, 10000);
        }
        for (int64_t ms = 0; ms <= 2 * play.step_ms + 10 * FLUSH_MS; ms += FLUSH_MS) {
            OK(mcds_views_flush(views));
            fake_env_advance_ms(&play.fake, FLUSH_MS);
        }
        OK(mcds_views_flush_final(views));
        OK(mcds_views_get(views, "page", &value));
        OK(load(&database, "page", UINT64_MAX, &saved));
        if (value != EVENTS || saved != EVENTS)
            fail_msg("round %u, step %lld s: %d views, %lld read, %lld saved", round,
                     (long long)play.step_ms / 1000, EVENTS, (long long)value,
                     (long long)saved);
        mcds_views_close(views);
        close_play(&play);
    }
}

struct reader {
    uint32_t seen[EVENTS];
    mcds_log_cursor cursor;
    mcds_log_info info;
};

static bool see(void *context, const mcds_log_event *event)
{
    struct reader *reader = context;
    uint32_t number;
    assert_int_equal(event->event.length, sizeof number);
    memcpy(&number, event->event.data, sizeof number);
    assert_in_range(number, 0, EVENTS - 1);
    reader->seen[number]++;
    return true;
}

/* A fetch has every event once, a follower none twice. Where the clock was set back by more than a log
 * allows for, the follower counts a gap, and sees all that is put from then on. */
static void every_event_is_read_once(void **state)
{
    (void)state;
    for (unsigned round = 0; round < field_rounds(ROUNDS); round++)
        for (uint32_t flags = 0; flags <= MCDS_LOG_BY_ARRIVAL; flags++) {
            struct play play;
            static struct reader follower;
            static struct reader fetched;
            mcds_log_options options = MCDS_LOG_OPTIONS_INIT;
            mcds_log *log;
            uint32_t missed = 0;
            memset(&follower, 0, sizeof follower);
            memset(&fetched, 0, sizeof fetched);
            follower.cursor = (mcds_log_cursor)MCDS_LOG_CURSOR_INIT;
            open_play(&play, round);
            follower.cursor.from_ms = play.fake.wall_ns / 1000000 - 1000;
            options.flags = flags;
            OK(mcds_log_open(play.store, "log", &options, &log));
            for (uint32_t i = 0; i < EVENTS; i++) {
                step(&play, i, EVENTS);
                OK(mcds_log_put(log, 0, (mcds_bytes){&i, sizeof i}));
                if (i % 3 == 0)
                    OK(mcds_log_tail(log, &follower.cursor, see, &follower, &follower.info));
                fake_env_advance_ms(&play.fake, 1000);
            }
            OK(mcds_log_tail(log, &follower.cursor, see, &follower, &follower.info));
            for (uint32_t i = 0; i < EVENTS; i++)
                assert_in_range(follower.seen[i], 0, 1);
            fake_env_advance_ms(&play.fake, play.step_ms); /* what is ahead of us is not read */
            OK(mcds_log_scan(log, NULL, see, &fetched, &fetched.info));
            OK(mcds_log_tail(log, &follower.cursor, see, &follower, &follower.info));
            for (uint32_t i = 0; i < EVENTS; i++) {
                uint32_t seen = follower.seen[i];
                if (fetched.seen[i] != 1 || (seen != 1 && follower.info.gaps == 0))
                    fail_msg("round %u, event %u: fetched %u times, followed %u times", round,
                             (unsigned)i, (unsigned)fetched.seen[i], (unsigned)seen);
                missed += seen == 0;
            }
            assert_in_range(missed, 0, 3); /* those between two calls */
            assert_true(play.step_ms > REACH_MS || follower.info.gaps == 0);
            print_message("round %u: %u events missed by the follower, %llu gaps\n", round,
                          (unsigned)missed, (unsigned long long)follower.info.gaps);
            OK(mcds_log_drop(log));
            mcds_log_close(log);
            close_play(&play);
        }
}

/* A server's leases and expiries follow its own clock. */
int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_is_as_long_as_ever),
        cmocka_unit_test(a_visitor_is_counted_once),
        cmocka_unit_test(every_view_is_counted_once),
    };
    const struct CMUnitTest everywhere[] = {
        cmocka_unit_test(every_event_is_read_once),
    };
    fixture = fixture_or_exit(count, words);
    int failed = cmocka_run_group_tests(everywhere, NULL, NULL);
    if (!fixture_has_own_clock(fixture))
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    fixture_stop(fixture);
    return failed;
}
