/* Histories of locks: acquire, renew and release, with leases that are lost, expire, or are
 * acquired again after an AMBIGUOUS answer.
 *
 * The state of a lock is the last write of its current lease: the lease, and which call of its
 * owner has written it. 0: the lock is free. */
#include "support/history.h"

#include <stdlib.h>

#include "support/dice.h"

#define FREE 0
#define WRITE_BITS 8
#define LEASE_MS 3000
/* What memcached may take off a ttl in whole seconds. */
#define EARLY_MS 1000
#define NS_PER_MS INT64_C(1000000)
#define HANDS 4 /* two for each object: more than calls are in flight */
/* Of so many acquired leases one is left to run out, and of so many acquires one waits for that. */
#define LEFT_ONE_OF 16
#define PATIENT_ONE_OF 12
#define PATIENCE_MS (LEASE_MS + 2 * EARLY_MS)
#define WAIT_MS_MAX 30

/* CHECK: the caller still believes that it holds the lock. */
enum verb { ACQUIRE = 1, RENEW, RELEASE, EXPIRE, CHECK };
enum answer { DONE, BUSY, LOST, GONE };

/* A lease of the actor's and what it may do with it. */
struct hand {
    enum { EMPTY, DOUBTFUL, HELD, LET_GO } stage;
    bool is_busy;
    int64_t id;
    mcds_lease lease;
};

struct hands {
    mcds_lock *locks[HISTORY_OBJECTS];
    struct hand hands[HANDS];
    int64_t next_id;
    int8_t of_call[HISTORY_CALLS];
};

static int64_t holder_of(int64_t state)
{
    return state >> WRITE_BITS;
}

static bool apply_lock(int64_t *state, const struct linear_op *op)
{
    int64_t id = op->argument;
    int64_t written = (id << WRITE_BITS) + op->expected;
    bool mine = holder_of(*state) == id;
    switch (op->verb) {
    case ACQUIRE:
        if (op->known && op->result == BUSY)
            return *state != FREE && !mine;
        if (op->known && op->result == GONE) {
            *state = mine ? FREE : *state;
            return true;
        }
        if (*state == FREE || mine)
            *state = written;
        return !op->known || *state == written;
    case RENEW:
        if (op->known && op->result == LOST)
            return !mine;
        if (mine)
            *state = written;
        return !op->known || mine;
    case RELEASE:
        if (op->known && op->result == LOST)
            return !mine;
        if (mine)
            *state = FREE;
        return !op->known || op->result == GONE || mine;
    case EXPIRE:
        if (*state != written)
            return false;
        *state = FREE;
        return true;
    default:
        return mine;
    }
}

static int open_locks(struct history_actor *actor)
{
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    struct hands *hands = calloc(1, sizeof *hands);
    char name[48];
    int result = MCDS_OK;
    if (hands == NULL)
        return MCDS_NO_MEMORY;
    actor->own = hands;
    options.lease_ms = LEASE_MS;
    /* The dice of the actors of a play differ in their last digits. */
    hands->next_id = (int64_t)(actor->dice & 0xffffff) << 8 | 1;
    for (uint32_t i = 0; i < HISTORY_OBJECTS && result == MCDS_OK; i++) {
        (void)history_object_name(actor, i, name);
        result = mcds_lock_open(actor->store, name, &options, &hands->locks[i]);
    }
    return result;
}

static void close_locks(struct history_actor *actor)
{
    struct hands *hands = actor->own;
    for (uint32_t i = 0; hands != NULL && i < HISTORY_OBJECTS; i++)
        mcds_lock_close(hands->locks[i]);
    free(hands);
}

/* A hand that is not busy, of this object if there is one; two objects share the hands. */
static uint32_t choose_hand(const struct hands *hands, uint32_t object)
{
    for (uint32_t i = 0; i < HANDS; i++)
        if (i % HISTORY_OBJECTS == object && !hands->hands[i].is_busy)
            return i;
    for (uint32_t i = 0; i < HANDS; i++)
        if (!hands->hands[i].is_busy)
            return i;
    abort();
}

static uint32_t choose_verb(struct history_actor *actor, const struct hand *hand)
{
    uint64_t chance = dice_roll(&actor->dice, 10);
    switch (hand->stage) {
    case EMPTY:
        return ACQUIRE;
    case DOUBTFUL:
        return chance < 5 ? ACQUIRE : RELEASE;
    case HELD:
        return chance < 5 ? RENEW : RELEASE;
    default:
        return chance < 2 && hand->lease.fence != 0 ? RENEW : RELEASE;
    }
}

static uint32_t choose_wait(struct history_actor *actor)
{
    if (actor->subject == &history_lease && dice_roll(&actor->dice, PATIENT_ONE_OF) == 0)
        return PATIENCE_MS;
    return (uint32_t)dice_roll(&actor->dice, WAIT_MS_MAX);
}

static int start_lock(struct history_actor *actor, uint32_t index)
{
    struct history_call *call = &actor->calls[index];
    struct hands *hands = actor->own;
    uint32_t number = choose_hand(hands, call->object);
    struct hand *hand = &hands->hands[number];
    call->object = number % HISTORY_OBJECTS;
    mcds_lock *lock = hands->locks[call->object];
    if (hand->stage == EMPTY) {
        hand->id = hands->next_id++;
        hand->lease = (mcds_lease)MCDS_LEASE_INIT;
    }
    hands->of_call[index] = (int8_t)number;
    hand->is_busy = true;
    call->op.verb = choose_verb(actor, hand);
    call->op.argument = hand->id;
    call->op.expected = index + 1;
    switch (call->op.verb) {
    case ACQUIRE:
        return mcds_lock_acquire_start(lock, choose_wait(actor), &hand->lease, actor->pipeline,
                                       index);
    case RENEW:
        return mcds_lock_renew_start(lock, &hand->lease, actor->pipeline, index);
    default:
        return mcds_lock_release_start(lock, &hand->lease, actor->pipeline, index);
    }
}

static void know(struct history_actor *actor, struct history_call *call, enum answer answer)
{
    call->counts = call->op.known = true;
    call->op.result = answer;
    call->op.ended_ns = actor->now_ns(actor->clock);
}

/* In true time; the clocks of actors may differ. */
static void note_deadline(struct history_actor *actor, struct history_call *call,
                          const struct hand *hand)
{
    const struct hands *hands = actor->own;
    int64_t left_ms = mcds_lock_remaining_ms(hands->locks[call->object], &hand->lease);
    call->number = actor->now_ns(actor->clock) + left_ms * NS_PER_MS;
}

static void book_acquire(struct history_actor *actor, struct history_call *call,
                         struct hand *hand, int result)
{
    switch (result) {
    case MCDS_OK:
        know(actor, call, DONE);
        note_deadline(actor, call, hand);
        hand->stage = HELD;
        if (actor->subject == &history_lease && dice_roll(&actor->dice, LEFT_ONE_OF) == 0)
            hand->stage = EMPTY; /* it runs out */
        break;
    case MCDS_BUSY:
        know(actor, call, BUSY);
        hand->stage = EMPTY;
        break;
    case MCDS_AMBIGUOUS:
        call->counts = true;
        hand->stage = DOUBTFUL;
        break;
    default: /* certainly not ours now, even if it was for a moment */
        know(actor, call, GONE);
        hand->stage = EMPTY;
    }
}

static void book_renew(struct history_actor *actor, struct history_call *call,
                       struct hand *hand, int result)
{
    if (result == MCDS_OK || result == MCDS_LOST)
        know(actor, call, result == MCDS_OK ? DONE : LOST);
    note_deadline(actor, call, hand);
    call->counts = call->counts || result == MCDS_AMBIGUOUS;
    if (result == MCDS_LOST)
        hand->stage = EMPTY;
    if (result == MCDS_EXPIRED)
        hand->stage = LET_GO;
}

static void book_release(struct history_actor *actor, struct history_call *call,
                         struct hand *hand, int result)
{
    if (result == MCDS_OK || result == MCDS_LOST) {
        know(actor, call, result == MCDS_OK ? DONE : LOST);
        hand->stage = EMPTY;
    } else if (result == MCDS_AMBIGUOUS && hand->lease.token[0] == 0) {
        know(actor, call, GONE);
        hand->stage = EMPTY;
    } else if (result == MCDS_AMBIGUOUS) {
        call->counts = true;
        hand->stage = LET_GO;
    }
}

static bool book_lock(struct history_actor *actor, uint32_t index, int result)
{
    struct history_call *call = &actor->calls[index];
    struct hands *hands = actor->own;
    struct hand *hand = &hands->hands[hands->of_call[index]];
    hand->is_busy = false;
    switch (call->op.verb) {
    case ACQUIRE:
        book_acquire(actor, call, hand, result);
        break;
    case RENEW:
        book_renew(actor, call, hand, result);
        break;
    default:
        book_release(actor, call, hand, result);
    }
    bool is_trouble = result == MCDS_AMBIGUOUS || result == MCDS_TIMEOUT ||
                      result == MCDS_UNAVAILABLE;
    bool is_full = result == MCDS_FULL && actor->may_lose; /* it forgets for want of memory */
    bool is_expired = result == MCDS_EXPIRED && call->op.verb == RENEW;
    bool is_answer = result == MCDS_OK || result == MCDS_BUSY || result == MCDS_LOST;
    return is_answer || is_trouble || is_full || is_expired;
}

/* The actor's next call with the same lease, or NULL. */
static const struct history_call *next_with_lease(const struct history_actor *actor,
                                                  const struct history_call *call)
{
    const struct history_call *next = NULL;
    for (uint32_t i = 0; i < actor->next; i++) {
        const struct history_call *other = &actor->calls[i];
        if (other->op.argument == call->op.argument && other->op.began_ns > call->op.began_ns &&
            other != call && (next == NULL || other->op.began_ns < next->op.began_ns))
            next = other;
    }
    return next;
}

/* A write's time may be over without a call, and until then its owner relies on it: until the
 * deadline, or until it begins its next call with the lease. What the next call proves is left
 * out. */
static uint32_t gather_lock(const struct history_actor *actor, uint32_t index, bool may_lose,
                            struct linear_op out[static HISTORY_EXTRAS])
{
    const struct history_call *call = &actor->calls[index];
    const struct history_call *next = next_with_lease(actor, call);
    bool was_held = next != NULL && next->op.known && next->op.result == DONE;
    int64_t now_ns = actor->now_ns(actor->clock);
    uint32_t found = 0;
    bool is_undone = call->op.verb == ACQUIRE && call->op.known && call->op.result == GONE;
    if (is_undone) {
        out[0] = call->op;
        out[0].kind = LINEAR_PERHAPS;
        out[0].known = false;
        return 1;
    }
    if (call->op.verb == RELEASE || (call->op.known && call->op.result != DONE))
        return 0;
    struct linear_op expire = call->op;
    expire.kind = LINEAR_PERHAPS;
    expire.verb = EXPIRE;
    expire.known = false;
    expire.began_ns += (LEASE_MS - EARLY_MS) * NS_PER_MS;
    expire.ended_ns = INT64_MAX;
    if (expire.began_ns < now_ns && !(was_held && next->op.ended_ns < expire.began_ns))
        out[found++] = expire;
    struct linear_op check = call->op;
    int64_t until_ns = call->number;
    if (next != NULL && next->op.began_ns < until_ns)
        until_ns = next->op.began_ns;
    check.verb = CHECK;
    check.began_ns = check.ended_ns = until_ns - 1;
    if (check.known && !may_lose && !was_held && until_ns - 1 > call->op.ended_ns &&
        until_ns < now_ns)
        out[found++] = check;
    return found;
}

#define SUBJECT(title)                                                                         \
    {                                                                                          \
        .name = title, .words = {"", "acquire", "renew", "release", "expire", "check"},        \
        .initial = FREE, .apply = apply_lock, .verbs = {ACQUIRE}, .verb_count = 1,             \
        .repeats = true, .open = open_locks, .close = close_locks, .start = start_lock,        \
        .book = book_lock, .gather = gather_lock                                               \
    }

const struct history_subject history_lock = SUBJECT("lock");
const struct history_subject history_lease = SUBJECT("lease");
