/* Decides whether a history of calls on one object is linearizable. */
#include "support/linear.h"

#include <stdlib.h>

#define SEEN_BITS_MIN 8
#define SEEN_BITS_MAX 22
/* Between two calls, one loss at most changes anything. */
#define STEPS_MAX (2 * LINEAR_OPS_MAX + 1)

/* Which calls and losses have taken effect, and what state they have left. */
struct configuration {
    uint64_t done;
    int64_t state;
};

/* A hash table of configurations, open addressing; done == 0 marks a free slot. */
struct seen {
    struct configuration *at;
    unsigned bits;
    uint64_t count;
};

struct search {
    const struct linear_op *ops;
    uint32_t count;
    uint64_t known; /* the calls that must take effect */
    int64_t initial;
    linear_apply *apply;
    struct seen seen;
};

static uint64_t place_of(const struct seen *seen, struct configuration configuration)
{
    uint64_t hash = configuration.done * UINT64_C(0x9e3779b97f4a7c15) ^
                    (uint64_t)configuration.state * UINT64_C(0xc2b2ae3d27d4eb4f);
    hash ^= hash >> 29;
    return hash * UINT64_C(0x9e3779b97f4a7c15) >> (64 - seen->bits);
}

static struct configuration *find(const struct seen *seen, struct configuration wanted)
{
    uint64_t mask = (UINT64_C(1) << seen->bits) - 1;
    for (uint64_t i = place_of(seen, wanted);; i = (i + 1) & mask) {
        struct configuration *at = &seen->at[i];
        if (at->done == 0 || (at->done == wanted.done && at->state == wanted.state))
            return at;
    }
}

static bool grow(struct seen *seen)
{
    struct seen larger = {.bits = seen->at == NULL ? SEEN_BITS_MIN : seen->bits + 1,
                          .count = seen->count};
    if (larger.bits > SEEN_BITS_MAX)
        return false;
    larger.at = calloc((size_t)1 << larger.bits, sizeof *larger.at);
    if (larger.at == NULL)
        return false;
    for (uint64_t i = 0; seen->at != NULL && i < UINT64_C(1) << seen->bits; i++)
        if (seen->at[i].done != 0)
            *find(&larger, seen->at[i]) = seen->at[i];
    free(seen->at);
    *seen = larger;
    return true;
}

/* Remember a configuration. False: no room. */
static bool remember(struct seen *seen, struct configuration configuration, bool *is_new)
{
    if ((seen->at == NULL || seen->count * 2 >= UINT64_C(1) << seen->bits) && !grow(seen))
        return false;
    struct configuration *at = find(seen, configuration);
    *is_new = at->done == 0;
    if (*is_new) {
        *at = configuration;
        seen->count++;
    }
    return true;
}

/* The events that can be the next to take effect: those that began before any call that must still
 * come had ended, and of the others those that were not over before something that has taken effect
 * began. (Nothing can have taken effect that began after the end of a call still to come.) */
static uint64_t candidates(const struct search *search, uint64_t done)
{
    int64_t first_end_ns = INT64_MAX;
    int64_t last_begin_ns = INT64_MIN;
    uint64_t found = 0;
    for (uint32_t i = 0; i < search->count; i++) {
        const struct linear_op *op = &search->ops[i];
        bool is_done = (done >> i & 1) != 0;
        if (is_done && op->began_ns > last_begin_ns)
            last_begin_ns = op->began_ns;
        if (!is_done && (search->known >> i & 1) != 0 && op->ended_ns < first_end_ns)
            first_end_ns = op->ended_ns;
    }
    for (uint32_t i = 0; i < search->count; i++) {
        const struct linear_op *op = &search->ops[i];
        bool comes_again = op->kind == LINEAR_LOSSES;
        bool is_over = op->kind != LINEAR_CALL && op->ended_ns < last_begin_ns;
        if (((done >> i & 1) == 0 || comes_again) && op->began_ns <= first_end_ns && !is_over)
            found |= UINT64_C(1) << i;
    }
    return found;
}

/* A loss that changes nothing might as well not have happened. */
static bool take_effect(const struct search *search, const struct linear_op *op, int64_t *state)
{
    if (op->kind == LINEAR_CALL || op->kind == LINEAR_PERHAPS)
        return search->apply(state, op);
    bool changes = *state != search->initial;
    *state = search->initial;
    return changes;
}

static uint32_t lowest(uint64_t bits)
{
    uint32_t i = 0;
    while ((bits >> i & 1) == 0)
        i++;
    return i;
}

/* Depth first, and what must take effect before what may; the stack holds what has been done and
 * what is still to be tried. */
static enum linear_verdict walk(struct search *search)
{
    struct configuration stack[STEPS_MAX + 1] = {{0, search->initial}};
    uint64_t untried[STEPS_MAX + 1];
    uint32_t depth = 0;
    untried[0] = candidates(search, 0);
    for (;;) {
        if ((search->known & ~stack[depth].done) == 0)
            return LINEAR;
        if (untried[depth] == 0) {
            if (depth-- == 0)
                return NOT_LINEAR;
            continue;
        }
        uint64_t known = untried[depth] & search->known;
        uint32_t i = lowest(known != 0 ? known : untried[depth]);
        untried[depth] &= ~(UINT64_C(1) << i);
        struct configuration next = stack[depth];
        bool is_new = false;
        next.done |= UINT64_C(1) << i;
        if (!take_effect(search, &search->ops[i], &next.state))
            continue;
        if (!remember(&search->seen, next, &is_new))
            return LINEAR_TOO_LONG;
        if (!is_new)
            continue;
        stack[++depth] = next;
        untried[depth] = candidates(search, next.done);
    }
}

enum linear_verdict linear_check(const struct linear_op *ops, uint32_t count, int64_t initial,
                                 linear_apply *apply)
{
    struct search search = {.ops = ops, .count = count, .initial = initial, .apply = apply};
    if (count > LINEAR_OPS_MAX)
        return LINEAR_TOO_LONG;
    for (uint32_t i = 0; i < count; i++)
        if (ops[i].kind == LINEAR_CALL && ops[i].known)
            search.known |= UINT64_C(1) << i;
    enum linear_verdict verdict = walk(&search);
    free(search.seen.at);
    return verdict;
}
