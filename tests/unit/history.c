/* The history of a lock: what an acquisition may have done before the lock was lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/history.h"

#define ACTORS 3
#define ACQUIRE 1
#define DONE 0
#define BUSY 1

static int64_t now_ns(void *clock)
{
    (void)clock;
    return 1000;
}

/* The only call of an actor: an acquisition under a lease of its own. */
static void acquires(struct history_actor *actor, int64_t lease, int64_t began, int64_t ended,
                     int64_t answer)
{
    *actor = (struct history_actor){
        .subject = &history_lock, .now_ns = now_ns, .may_lose = true, .next = 1};
    actor->calls[0].counts = true;
    actor->calls[0].op = (struct linear_op){LINEAR_CALL, began, ended, true,
                                            ACQUIRE,     lease, 1,     answer};
}

static enum linear_verdict judge(const struct history_actor actors[static ACTORS],
                                 const struct history_losses *losses)
{
    struct linear_op ops[LINEAR_OPS_MAX];
    uint32_t found = history_gather_lives(actors, ACTORS, 0, losses, ops);
    return linear_check(ops, found, history_lock.initial, history_lock.apply);
}

/* The first acquires the lock; the server loses it; the third acquires it. So the second is right to
 * find it held before the loss, and the first to find it held at the end. */
static void a_lease_may_be_lost_within_an_acquisition(void **state)
{
    struct history_actor actors[ACTORS];
    struct history_losses losses = {0};
    (void)state;
    history_lose(&losses, LINEAR_LOSS, 30, 31);
    acquires(&actors[0], 10, 1, 60, BUSY);
    acquires(&actors[1], 11, 5, 20, BUSY);
    acquires(&actors[2], 12, 35, 40, DONE);
    assert_int_equal(judge(actors, &losses), LINEAR);
}

/* Nobody can have held the lock when the second found it held. */
static void it_may_not_without_a_loss_within(void **state)
{
    struct history_actor actors[ACTORS];
    struct history_losses losses = {0};
    (void)state;
    acquires(&actors[0], 10, 1, 60, BUSY);
    acquires(&actors[1], 11, 5, 20, BUSY);
    acquires(&actors[2], 12, 35, 40, DONE);
    assert_int_equal(judge(actors, &losses), NOT_LINEAR);
    history_lose(&losses, LINEAR_LOSS, 0, 0);
    assert_int_equal(judge(actors, &losses), NOT_LINEAR);
    losses.count = 0;
    history_lose(&losses, LINEAR_LOSS, 30, 31);
    acquires(&actors[0], 10, 32, 60, BUSY);
    assert_int_equal(judge(actors, &losses), NOT_LINEAR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_may_be_lost_within_an_acquisition),
        cmocka_unit_test(it_may_not_without_a_loss_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
