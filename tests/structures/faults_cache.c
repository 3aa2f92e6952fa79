/* Faults: the scenarios of the cache. */
#include "structures/faults.h"

#include <stdlib.h>

#define LARGE_LENGTH 700000

static const mcds_bytes key = {"k", 1};
static const mcds_bytes tag = {"red", 3};

static void open_timed(struct trial *trial, uint64_t ttl_ms, uint64_t stale_ms,
                       uint32_t fill_ms)
{
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    options.ttl_ms = ttl_ms;
    options.stale_ms = stale_ms;
    options.fill_ms = fill_ms;
    options.wait_ms = 1;
    int result = mcds_cache_open(trial->store, trial->name, &options, &trial->cache);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    options.fill_ms = 120000; /* a claim outlasts the timeouts of a call */
    CHECK_RESULT(MCDS_OK, mcds_cache_open(trial->store, trial->name, &options, &trial->probe));
    trial->is_new = true;
}

static void open_caches(struct trial *trial)
{
    open_timed(trial, 0, 600000, 0);
}

/* The first byte repeated: short, or in pieces. */
static mcds_bytes value_of(const struct trial *trial, char byte)
{
    static char bytes[LARGE_LENGTH];
    memset(bytes, byte, sizeof bytes);
    return (mcds_bytes){bytes, trial->before > 0 ? LARGE_LENGTH : 3};
}

/* The claim of "k" with its tag. */
static int look(struct trial *trial, mcds_cache *cache, mcds_cache_claim *claim)
{
    return mcds_cache_look(cache, key, &tag, 1, 0, &trial->value, claim);
}

static void put_first(struct trial *trial)
{
    mcds_bytes value = value_of(trial, 'a');
    CHECK_RESULT(MCDS_NOT_FOUND, look(trial, trial->cache, &trial->claim));
    CHECK_RESULT(MCDS_OK, mcds_cache_put(trial->cache, &trial->claim, &value));
    trial->is_new = false;
}

static void prepare_value(struct trial *trial)
{
    open_caches(trial);
    put_first(trial);
}

static void prepare_large_value(struct trial *trial)
{
    open_caches(trial);
    trial->before = 1;
    put_first(trial);
}

static void prepare_stale(struct trial *trial)
{
    prepare_value(trial);
    CHECK_RESULT(MCDS_OK, mcds_cache_expire(trial->cache, key));
}

static void prepare_claim(struct trial *trial)
{
    open_caches(trial);
    CHECK_RESULT(MCDS_NOT_FOUND, look(trial, trial->cache, &trial->claim));
    HOLDS(trial, trial->claim.mine);
}

static void prepare_large_claim(struct trial *trial)
{
    prepare_claim(trial);
    trial->before = 1;
}

static void prepare_refresh(struct trial *trial)
{
    open_timed(trial, 0, 600000, 120000);
    put_first(trial);
    CHECK_RESULT(MCDS_OK, mcds_cache_expire(trial->cache, key));
    CHECK_RESULT(MCDS_OK, look(trial, trial->cache, &trial->claim));
    HOLDS(trial, trial->claim.mine);
}

/* The time of the value is over, and the store still has it: a miss. */
static void prepare_ended(struct trial *trial)
{
    open_timed(trial, 100000, 0, 0);
    put_first(trial);
    pass_ms(trial->suite, 100001);
    trial->is_new = true;
}

/* A stale value that the store would expire before the claim of this handle. */
static void prepare_brief(struct trial *trial)
{
    mcds_bytes value = value_of(trial, 'a');
    open_timed(trial, 0, 600000, 3600000);
    CHECK_RESULT(MCDS_NOT_FOUND, look(trial, trial->probe, &trial->claim));
    CHECK_RESULT(MCDS_OK, mcds_cache_put(trial->probe, &trial->claim, &value));
    CHECK_RESULT(MCDS_OK, mcds_cache_expire(trial->probe, key));
    trial->is_new = false;
}

static void prepare_brief_claim(struct trial *trial)
{
    prepare_brief(trial);
    CHECK_RESULT(MCDS_OK, look(trial, trial->probe, &trial->claim));
    HOLDS(trial, trial->claim.mine);
}

/* What another caller gets: the first byte of a value, and whether it is to be filled again; it gives
 * its claim back. */
static void read_cache(struct trial *trial, char *state)
{
    mcds_cache_claim claim = MCDS_CACHE_CLAIM_INIT;
    int result = look(trial, trial->probe, &claim);
    bool is_mine = claim.mine;
    if (is_mine)
        HOLDS(trial, mcds_cache_release(trial->probe, &claim) == MCDS_OK);
    if (result == MCDS_OK) {
        size_t length = value_of(trial, 'a').length;
        HOLDS(trial, trial->value.length == length);
        HOLDS(trial, trial->value.data[0] == trial->value.data[length - 1]);
        (void)snprintf(state, STATE_MAX, "%c %s", trial->value.data[0],
                       is_mine                           ? "to fill"
                       : claim.state == MCDS_CACHE_STALE ? "stale"
                                                         : "fresh");
    } else {
        (void)snprintf(state, STATE_MAX, "%s",
                       result == MCDS_NOT_FOUND ? "none"
                       : result == MCDS_BUSY    ? "busy"
                                                : mcds_result_name(result));
    }
}

/* Whatever has happened: after a forget, the next value is the one that is read then. */
static void judge_forget_after(struct trial *trial)
{
    mcds_cache_claim claim = MCDS_CACHE_CLAIM_INIT;
    mcds_bytes value = value_of(trial, 'z');
    char state[STATE_MAX];
    HOLDS(trial, mcds_cache_forget(trial->probe, key) == MCDS_OK);
    HOLDS(trial, look(trial, trial->probe, &claim) == MCDS_NOT_FOUND && claim.mine);
    HOLDS(trial, mcds_cache_put(trial->probe, &claim, &value) == MCDS_OK);
    if (trial->claim.mine)
        HOLDS(trial, mcds_cache_put(trial->cache, &trial->claim, &value) == MCDS_EXPIRED);
    read_cache(trial, state);
    HOLDS(trial, strcmp(state, "z fresh") == 0);
}

/* A change of what is there: `before`, and `after` one call or more. */
#define CHANGE(name, call, before, after)                                                      \
    static int act_##name(struct trial *trial)                                                 \
    {                                                                                          \
        return call;                                                                           \
    }                                                                                          \
    static void expect_##name(const struct trial *trial, uint32_t calls,                       \
                              struct expected *expected)                                       \
    {                                                                                          \
        const char *first = trial->is_new ? "none" : before;                                   \
        (void)snprintf(expected->state, STATE_MAX, "%s", calls == 0 ? first : after);          \
    }                                                                                          \
    static void judge_##name(struct trial *trial, int result)                                  \
    {                                                                                          \
        judge_change(trial, result, expect_##name, read_cache);                                \
        HOLDS(trial, mcds_cache_forget_tag(trial->probe, tag) == MCDS_OK);                     \
        judge_forget_after(trial);                                                             \
    }
#define VERB(verb, ...)                                                                        \
    CALL_IN(trial->suite, trial->pipeline, mcds_cache_##verb, trial->cache, __VA_ARGS__)

CHANGE(forget, VERB(forget, key), "a fresh", "none")
CHANGE(expire, VERB(expire, key), "a fresh", trial->is_new ? "none" : "a to fill")
CHANGE(forget_tag, VERB(forget_tag, tag), "a fresh", "none")
CHANGE(clear, CALL_IN(trial->suite, trial->pipeline, mcds_cache_clear, trial->cache), "a fresh",
       "none")
CHANGE(hold, VERB(hold, key, 600000), "a to fill", trial->is_new ? "busy" : "a stale")
CHANGE(hold_tag, VERB(hold_tag, tag, 600000), "a to fill", trial->is_new ? "busy" : "a stale")

static int act_drop(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_cache_drop, trial->cache);
}

static void judge_drop(struct trial *trial, int result)
{
    char state[STATE_MAX];
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    read_cache(trial, state);
    HOLDS(trial, strcmp(state, result == MCDS_OK ? "none" : "a fresh") == 0 ||
                     (result == MCDS_AMBIGUOUS && strcmp(state, "none") == 0));
    judge_forget_after(trial);
}

static int fill_b(void *context, mcds_bytes item, mcds_fill *fill)
{
    struct trial *trial = context;
    (void)item;
    trial->out++;
    return mcds_fill_add(fill, value_of(trial, 'b'));
}

static int act_fetch(struct trial *trial)
{
    mcds_cache_state state = MCDS_CACHE_MISSING;
    trial->out = 0;
    int result = CALL_IN(trial->suite, trial->pipeline, mcds_cache_fetch, trial->cache, key,
                         &tag, 1, fill_b, trial, &trial->value, &state);
    (void)snprintf(trial->seen, sizeof trial->seen, "%d", (int)state);
    return result;
}

/* The caller has a value that is right, whatever the store does, and reads the source once at most. A
 * claim whose reply was lost may be left. */
static void judge_fetch(struct trial *trial, int result)
{
    char state[STATE_MAX];
    bool is_filled = atoi(trial->seen) == MCDS_CACHE_FILLED;
    HOLDS(trial, result == MCDS_OK || result == MCDS_NO_MEMORY || result == MCDS_BUSY);
    HOLDS(trial, result != MCDS_NO_MEMORY || is_definite(result));
    HOLDS(trial, trial->out <= 1);
    if (result == MCDS_OK) {
        HOLDS(trial, trial->value.length == value_of(trial, 'b').length);
        HOLDS(trial, trial->value.data[0] == (trial->out == 1 ? 'b' : 'a'));
        HOLDS(trial, trial->out == 1 || !trial->is_new);
    }
    read_cache(trial, state);
    HOLDS(trial, !is_filled || strcmp(state, "b fresh") == 0);
    HOLDS(trial, strcmp(state, "b fresh") == 0 || state[0] == (trial->is_new ? 'n' : 'a') ||
                     strcmp(state, "busy") == 0);
    HOLDS(trial, was_lost_once(trial) || !trial->is_new || is_filled || trial->stays ||
                     strcmp(state, "busy") != 0 || result != MCDS_OK ||
                     atoi(trial->seen) == MCDS_CACHE_UNSTORED);
    judge_forget_after(trial);
}

static int act_look(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_cache_look, trial->cache, key, &tag, 1,
                   0, &trial->value, &trial->claim);
}

/* The claim is the caller's exactly if the result says so. */
static void judge_look(struct trial *trial, int result)
{
    char state[STATE_MAX];
    HOLDS(trial, result == (trial->is_new ? MCDS_NOT_FOUND : MCDS_OK) || result == MCDS_BUSY ||
                     is_definite(result));
    HOLDS(trial, result >= 0 || !trial->claim.mine);
    if (result == MCDS_OK)
        HOLDS(trial, trial->value.data[0] == 'a');
    read_cache(trial, state);
    if (trial->claim.mine)
        HOLDS(trial, strcmp(state, trial->is_new ? "busy" : "a stale") == 0);
    judge_forget_after(trial);
}

static int act_put(struct trial *trial)
{
    mcds_bytes value = value_of(trial, 'b');
    return CALL_IN(trial->suite, trial->pipeline, mcds_cache_put, trial->cache, &trial->claim,
                   &value);
}

static void judge_put(struct trial *trial, int result)
{
    char state[STATE_MAX];
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    read_cache(trial, state);
    bool is_stored = strcmp(state, "b fresh") == 0;
    HOLDS(trial, result != MCDS_OK || is_stored);
    HOLDS(trial, !is_definite(result) || !is_stored);
    HOLDS(trial, is_stored || state[0] == (trial->is_new ? 'n' : 'a') ||
                     (trial->is_new && strcmp(state, "busy") == 0));
    if (trial->claim.mine && result == MCDS_AMBIGUOUS && was_lost_once(trial))
        HOLDS(trial, act_again(trial) == MCDS_OK);
    judge_forget_after(trial);
}

static int act_fail(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_cache_fail, trial->cache, &trial->claim,
                   mcds_text("away"));
}

/* Callers get the failure, or the stale value without a claim. */
static void judge_fail(struct trial *trial, int result)
{
    char state[STATE_MAX];
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    read_cache(trial, state);
    if (result == MCDS_OK)
        HOLDS(trial, strcmp(state, trial->is_new ? "MCDS_IO" : "a stale") == 0);
    if (result == MCDS_OK && trial->is_new) {
        HOLDS(trial, trial->value.length == 4);
        HOLDS(trial, memcmp(trial->value.data, "away", 4) == 0);
    }
    judge_forget_after(trial);
}

static int act_renew(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_cache_renew, trial->cache,
                   &trial->claim);
}

/* The claim is the caller's still. */
static void judge_renew(struct trial *trial, int result)
{
    char state[STATE_MAX];
    mcds_bytes value = value_of(trial, 'b');
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    HOLDS(trial, trial->claim.mine);
    HOLDS(trial, mcds_cache_put(trial->cache, &trial->claim, &value) == MCDS_OK);
    read_cache(trial, state);
    HOLDS(trial, strcmp(state, "b fresh") == 0);
    judge_forget_after(trial);
}

static int act_release(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_cache_release, trial->cache,
                   &trial->claim);
}

static void judge_release(struct trial *trial, int result)
{
    char state[STATE_MAX];
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    read_cache(trial, state);
    if (result == MCDS_OK)
        HOLDS(trial, strcmp(state, trial->is_new ? "none" : "a to fill") == 0);
    judge_forget_after(trial);
}

static const struct scenario scenarios[] = {
    {"cache fetch, a miss", open_caches, act_fetch, judge_fetch},
    {"cache fetch, a hit", prepare_value, act_fetch, judge_fetch},
    {"cache fetch, stale", prepare_stale, act_fetch, judge_fetch},
    {"cache fetch, ended", prepare_ended, act_fetch, judge_fetch},
    {"cache fetch, brief", prepare_brief, act_fetch, judge_fetch},
    {"cache fetch, large", prepare_large_value, act_fetch, judge_fetch},
    {"cache look, a miss", open_caches, act_look, judge_look},
    {"cache look, stale", prepare_stale, act_look, judge_look},
    {"cache look, ended", prepare_ended, act_look, judge_look},
    {"cache look, brief", prepare_brief, act_look, judge_look},
    {"cache look, large", prepare_large_value, act_look, judge_look},
    {"cache put", prepare_claim, act_put, judge_put},
    {"cache put, large", prepare_large_claim, act_put, judge_put},
    {"cache put, of a refresh", prepare_refresh, act_put, judge_put},
    {"cache fail", prepare_claim, act_fail, judge_fail},
    {"cache fail, of a refresh", prepare_refresh, act_fail, judge_fail},
    {"cache renew", prepare_claim, act_renew, judge_renew},
    {"cache renew, of a refresh", prepare_refresh, act_renew, judge_renew},
    {"cache renew, brief", prepare_brief_claim, act_renew, judge_renew},
    {"cache release", prepare_claim, act_release, judge_release},
    {"cache release, of a refresh", prepare_refresh, act_release, judge_release},
    {"cache forget", prepare_value, act_forget, judge_forget},
    {"cache forget, of nothing", open_caches, act_forget, judge_forget},
    {"cache expire", prepare_value, act_expire, judge_expire},
    {"cache expire, of nothing", open_caches, act_expire, judge_expire},
    {"cache forget_tag", prepare_value, act_forget_tag, judge_forget_tag},
    {"cache clear", prepare_value, act_clear, judge_clear},
    {"cache hold", prepare_stale, act_hold, judge_hold},
    {"cache hold, of nothing", open_caches, act_hold, judge_hold},
    {"cache hold_tag", prepare_stale, act_hold_tag, judge_hold_tag},
    {"cache hold_tag, of nothing", open_caches, act_hold_tag, judge_hold_tag},
    {"cache drop", prepare_value, act_drop, judge_drop},
};

FAULT_CASES(cache_faults);
