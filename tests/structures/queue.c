/* Queue: order, claims, receipts, parts, delays, dead jobs, what a handle remembers, loss, refusals. */
#include "structures/suite.h"

#define VISIBLE_MS 60000
#define HOUR_MS (INT64_C(3600) * 1000)

static mcds_queue *open_stripes(mcds_store *store, const char *name, uint32_t tries,
                                uint32_t stripes)
{
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    mcds_queue *queue = NULL;
    options.visible_ms = VISIBLE_MS;
    options.tries = tries;
    options.flags = MCDS_QUEUE_MAY_LOSE;
    options.stripes = stripes;
    int result = mcds_queue_open(store, name, &options, &queue);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    return queue;
}

static mcds_queue *open_queue(mcds_store *store, const char *name, uint32_t tries)
{
    return open_stripes(store, name, tries, 0);
}

/* A queue as two programs see it, each with a job. */
struct pair {
    const char *name;
    mcds_queue *mine;
    mcds_queue *theirs;
    mcds_job job;
    mcds_job other;
    mcds_value value;
};

static void open_pair(struct suite *suite, struct pair *pair, uint32_t tries)
{
    *pair = (struct pair){.name = fresh_name(suite, "queue"),
                          .job = MCDS_JOB_INIT,
                          .other = MCDS_JOB_INIT,
                          .value = MCDS_VALUE_INIT};
    pair->mine = open_queue(suite->store, pair->name, tries);
    pair->theirs = open_queue(suite->other, pair->name, tries);
}

static void close_pair(struct pair *pair)
{
    mcds_queue_close(pair->mine);
    mcds_queue_close(pair->theirs);
    mcds_value_free(&pair->value);
}

static void check_value(const struct pair *pair, const char *expected)
{
    assert_int_equal(pair->value.length, strlen(expected));
    assert_memory_equal(pair->value.data, expected, pair->value.length);
}

static void check_counts(struct suite *suite, struct pair *pair, uint64_t waiting,
                         uint64_t delayed, uint64_t claimed, uint64_t dead)
{
    mcds_queue_counts counts = MCDS_QUEUE_COUNTS_INIT;
    CHECK(MCDS_OK, suite, mcds_queue_count, pair->mine, &counts);
    assert_int_equal(counts.waiting, waiting);
    assert_int_equal(counts.delayed, delayed);
    assert_int_equal(counts.claimed, claimed);
    assert_int_equal(counts.dead, dead);
}

/* There is no queue. */
static void check_no_counts(struct suite *suite, struct pair *pair)
{
    mcds_queue_counts counts = MCDS_QUEUE_COUNTS_INIT;
    counts.dead = 1;
    CHECK(MCDS_NOT_FOUND, suite, mcds_queue_count, pair->mine, &counts);
    assert_int_equal(counts.dead, 0);
}

static void take_mine(struct suite *suite, struct pair *pair, const char *expected)
{
    CHECK(MCDS_OK, suite, mcds_queue_next, pair->mine, 0, &pair->job, &pair->value);
    check_value(pair, expected);
}

static void take_theirs(struct suite *suite, struct pair *pair, const char *expected)
{
    CHECK_OTHER(MCDS_OK, suite, mcds_queue_next, pair->theirs, 0, &pair->other, &pair->value);
    check_value(pair, expected);
}

static void jobs_come_in_order(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair, 0);
    check_no_counts(suite, &pair);
    CHECK(MCDS_NOT_FOUND, suite, mcds_queue_next, pair.mine, 0, &pair.job, &pair.value);
    CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text("a"), 0);
    CHECK_OTHER(MCDS_OK, suite, mcds_queue_push, pair.theirs, mcds_text("b"), 0);
    CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text(""), 0);
    check_counts(suite, &pair, 3, 0, 0, 0);
    take_mine(suite, &pair, "a");
    assert_true(pair.job.is_held && !pair.job.was_lost && pair.job.tries == 1);
    take_theirs(suite, &pair, "b");
    check_counts(suite, &pair, 1, 0, 2, 0);
    take_mine(suite, &pair, "");
    check_counts(suite, &pair, 0, 0, 2, 0);
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_queue_next, pair.theirs, 0, &pair.other,
                &pair.value);
    assert_true(!pair.other.is_held && !pair.other.was_lost);
    CHECK(MCDS_OK, suite, mcds_queue_done, pair.mine, &pair.job);
    assert_false(pair.job.is_held);
    CHECK(MCDS_INVALID, suite, mcds_queue_done, pair.mine, &pair.job);
    check_counts(suite, &pair, 0, 0, 0, 0);
    close_pair(&pair);
}

/* The worker whose claim has ended is told so, whatever it says. */
static void a_claim_ends(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair, 0);
    CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text("a"), 0);
    take_mine(suite, &pair, "a");
    shift_wall_ms(suite, VISIBLE_MS - 1);
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_queue_next, pair.theirs, 0, &pair.other,
                &pair.value);
    shift_wall_ms(suite, 1);
    take_theirs(suite, &pair, "a");
    assert_int_equal(pair.other.tries, 2);
    mcds_job again = pair.job;
    CHECK(MCDS_LOST, suite, mcds_queue_again, pair.mine, &again, 0);
    assert_false(again.is_held);
    again = pair.job;
    CHECK(MCDS_LOST, suite, mcds_queue_longer, pair.mine, &again);
    check_counts(suite, &pair, 0, 0, 1, 0);
    CHECK(MCDS_LOST, suite, mcds_queue_done, pair.mine, &pair.job);
    CHECK_SENTENCE("the claim has ended");
    check_counts(suite, &pair, 0, 0, 0, 0);
    CHECK_OTHER(MCDS_LOST, suite, mcds_queue_done, pair.theirs, &pair.other);
    close_pair(&pair);
}

/* A job that nobody has claimed since is still the worker's. */
static void an_old_claim_can_be_extended(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair, 0);
    CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text("a"), 0);
    take_mine(suite, &pair, "a");
    shift_wall_ms(suite, VISIBLE_MS - 1);
    CHECK(MCDS_OK, suite, mcds_queue_longer, pair.mine, &pair.job);
    assert_true(pair.job.is_held);
    shift_wall_ms(suite, VISIBLE_MS - 1);
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_queue_next, pair.theirs, 0, &pair.other,
                &pair.value);
    shift_wall_ms(suite, VISIBLE_MS);
    CHECK(MCDS_OK, suite, mcds_queue_longer, pair.mine, &pair.job);
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_queue_next, pair.theirs, 0, &pair.other,
                &pair.value);
    CHECK(MCDS_OK, suite, mcds_queue_done, pair.mine, &pair.job);
    close_pair(&pair);
}

static void next_tells_of_a_claim_that_has_ended(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair, 0);
    CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text("a"), 0);
    CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text("b"), 0);
    take_mine(suite, &pair, "a");
    shift_wall_ms(suite, VISIBLE_MS);
    take_theirs(suite, &pair, "a");
    take_mine(suite, &pair, "b");
    assert_true(pair.job.is_held && pair.job.was_lost);
    CHECK(MCDS_NOT_FOUND, suite, mcds_queue_next, pair.mine, 0, &pair.job, &pair.value);
    assert_true(!pair.job.is_held && !pair.job.was_lost);
    close_pair(&pair);
}

static void jobs_can_be_given_back_and_delayed(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair, 0);
    CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text("later"), 5000);
    CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text("now"), 0);
    check_counts(suite, &pair, 1, 1, 0, 0);
    take_mine(suite, &pair, "now");
    CHECK(MCDS_OK, suite, mcds_queue_again, pair.mine, &pair.job, 0);
    take_theirs(suite, &pair, "now");
    assert_int_equal(pair.other.tries, 2);
    CHECK_OTHER(MCDS_OK, suite, mcds_queue_again, pair.theirs, &pair.other, 9000);
    CHECK(MCDS_NOT_FOUND, suite, mcds_queue_next, pair.mine, 0, &pair.job, &pair.value);
    shift_wall_ms(suite, 5000);
    take_mine(suite, &pair, "later");
    shift_wall_ms(suite, 4000);
    take_mine(suite, &pair, "now");
    assert_int_equal(pair.job.tries, 3);
    CHECK(MCDS_OK, suite, mcds_queue_done, pair.mine, &pair.job);
    close_pair(&pair);
}

#define MANY 700

static void push_numbers(struct suite *suite, mcds_queue *queue, uint32_t begin, uint32_t count)
{
    static char texts[MANY][16];
    static mcds_bytes jobs[MANY];
    size_t pushed = 0;
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "job %u", begin + i);
        jobs[i] = mcds_text(texts[i]);
    }
    CHECK(MCDS_OK, suite, mcds_queue_push_many, queue, jobs, count, 0, &pushed);
    assert_int_equal(pushed, count);
}

static uint32_t number_of(const struct pair *pair)
{
    char text[16] = "";
    unsigned number = 0;
    memcpy(text, pair->value.data, pair->value.length);
    assert_int_equal(sscanf(text, "job %u", &number), 1);
    return number;
}

/* Takes `count` jobs by turns, in order. */
static void take_numbers(struct suite *suite, struct pair *pair, uint32_t begin, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i % 2 == 0)
            CHECK(MCDS_OK, suite, mcds_queue_next, pair->mine, 0, &pair->job, &pair->value);
        else
            CHECK_OTHER(MCDS_OK, suite, mcds_queue_next, pair->theirs, 0, &pair->other,
                        &pair->value);
        assert_int_equal(number_of(pair), begin + i);
    }
    CHECK(MCDS_NOT_FOUND, suite, mcds_queue_next, pair->mine, 0, &pair->job, &pair->value);
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_queue_next, pair->theirs, 0, &pair->other,
                &pair->value);
}

static bool see_number(void *context, const mcds_queue_entry *entry)
{
    uint32_t *next = context;
    char text[16];
    (void)snprintf(text, sizeof text, "job %u", (*next)++);
    assert_int_equal(entry->state, MCDS_JOB_WAITING);
    assert_int_equal(entry->job.length, strlen(text));
    assert_memory_equal(entry->job.data, text, entry->job.length);
    return true;
}

static void many_jobs_take_several_parts(struct suite *suite)
{
    struct pair pair;
    uint32_t next = 0;
    open_pair(suite, &pair, 0);
    push_numbers(suite, pair.mine, 0, MANY);
    check_counts(suite, &pair, MANY, 0, 0, 0);
    CHECK(MCDS_OK, suite, mcds_queue_scan, pair.mine, 0, see_number, &next);
    assert_int_equal(next, MANY);
    next = 0;
    CHECK(MCDS_OK, suite, mcds_queue_scan, pair.mine, 300, see_number, &next);
    assert_int_equal(next, 300);
    take_numbers(suite, &pair, 0, MANY);
    check_counts(suite, &pair, 0, 0, 0, 0);
    push_numbers(suite, pair.mine, MANY, 5);
    take_numbers(suite, &pair, MANY, 5);
    close_pair(&pair);
}

/* A job of 8 KB fills a part. No other caller fills the parts. */
static void one_call_fills_many_parts(struct suite *suite)
{
    static const char bytes[8192];
    struct pair pair;
    mcds_bytes jobs[100];
    size_t pushed = 0;
    open_pair(suite, &pair, 0);
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++)
        jobs[i] = (mcds_bytes){bytes, sizeof bytes};
    CHECK(MCDS_OK, suite, mcds_queue_push_many, pair.mine, jobs, 100, 0, &pushed);
    assert_int_equal(pushed, 100);
    check_counts(suite, &pair, 100, 0, 0, 0);
    close_pair(&pair);
}

/* A handle that remembers parts that were finished long ago loses no push, and finds the jobs. */
static void old_memories_do_no_harm(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair, 0);
    mcds_queue *old = open_queue(suite->store, pair.name, 0);
    CHECK(MCDS_OK, suite, mcds_queue_push, old, mcds_text("job 0"), 0);
    push_numbers(suite, pair.mine, 1, MANY - 1);
    take_numbers(suite, &pair, 0, MANY);
    shift_wall_ms(suite, 25 * HOUR_MS);
    CHECK(MCDS_OK, suite, mcds_queue_push, old, mcds_text("job 700"), 0);
    take_numbers(suite, &pair, MANY, 1);
    push_numbers(suite, pair.mine, 0, 1);
    CHECK(MCDS_OK, suite, mcds_queue_next, old, 0, &pair.job, &pair.value);
    assert_int_equal(number_of(&pair), 0);
    CHECK(MCDS_OK, suite, mcds_queue_done, old, &pair.job);
    mcds_queue_close(old);
    close_pair(&pair);
}

/* A worker that dies before it forgets the first part leaves its mark for ever. Here a clock that was
 * ahead has kept it for longer than the marks of the parts after it. */
static void a_mark_that_stays_opens_nothing(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair, 0);
    mcds_queue *old = open_queue(suite->store, pair.name, 0);
    CHECK(MCDS_OK, suite, mcds_queue_push, old, mcds_text("job 0"), 0);
    push_numbers(suite, pair.mine, 1, MANY - 1);
    shift_wall_ms(suite, 20 * HOUR_MS);
    for (uint32_t i = 0; i < MANY / 2; i++)
        CHECK(MCDS_OK, suite, mcds_queue_next, pair.mine, 0, &pair.job, &pair.value);
    CHECK(MCDS_OK, suite, mcds_queue_done, pair.mine, &pair.job);
    shift_wall_ms(suite, -19 * HOUR_MS);
    take_numbers(suite, &pair, MANY / 2, MANY / 2);
    shift_wall_ms(suite, 25 * HOUR_MS);
    CHECK(MCDS_OK, suite, mcds_queue_push, old, mcds_text("job 700"), 0);
    take_numbers(suite, &pair, MANY, 1);
    mcds_queue_close(old);
    close_pair(&pair);
}

static void a_loss_is_told(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair, 0);
    mcds_queue *idle = open_queue(suite->store, pair.name, 0);
    CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text("0"), 0);
    CHECK(MCDS_OK, suite, mcds_queue_next, idle, 0, &pair.other, &pair.value);
    CHECK(MCDS_OK, suite, mcds_queue_done, idle, &pair.other);
    CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text("a"), 0);
    take_mine(suite, &pair, "a");
    CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text("b"), 0);
    struct raw_key root = raw_key(suite, MCDS__TAG_QUEUE, pair.name, -1);
    struct raw_key first = raw_first(suite, &root);
    assert_int_equal(raw_delete(suite, &first), MCDS_OUT_OK);
    CHECK(MCDS_LOST, suite, mcds_queue_next, idle, 0, &pair.other, &pair.value);
    CHECK_SENTENCE(suite->can.evicts ? "list of its parts is gone" : "part of it is gone");
    assert_false(pair.other.was_lost);
    mcds_queue_close(idle);
    CHECK(MCDS_LOST, suite, mcds_queue_next, pair.mine, 0, &pair.job, &pair.value);
    assert_true(pair.job.was_lost && !pair.job.is_held);
    CHECK_OTHER(MCDS_LOST, suite, mcds_queue_next, pair.theirs, 0, &pair.other, &pair.value);
    CHECK(MCDS_LOST, suite, mcds_queue_push, pair.mine, mcds_text("c"), 0);
    CHECK(MCDS_OK, suite, mcds_queue_drop, pair.mine);
    CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text("c"), 0);
    take_theirs(suite, &pair, "c");
    close_pair(&pair);
}

/* Jobs of which each fills a part. */
#define WIDE 60
#define WIDE_LENGTH 9000

static void push_wide(struct suite *suite, mcds_queue *queue)
{
    static char job[WIDE_LENGTH];
    for (uint32_t i = 0; i < WIDE; i++) {
        job[0] = (char)i;
        CHECK(MCDS_OK, suite, mcds_queue_push, queue, (mcds_bytes){job, sizeof job}, 0);
    }
}

/* Delete a key of the second level that has jobs. False: there is none. */
static bool lose_a_key(struct suite *suite, const char *name)
{
    struct raw_key root = raw_key(suite, MCDS__TAG_QUEUE, name, -1);
    static uint8_t value[WIDE * (WIDE_LENGTH + 100)];
    size_t length;
    for (uint64_t prefix = 0; prefix < 16; prefix++) {
        struct raw_key key = raw_first(suite, &root);
        mcds__key_add_bits(&key.key, prefix << 60, 4);
        key.route = key.key;
        if (raw_read(suite, &key, value, sizeof value, &length) && length > WIDE_LENGTH)
            return raw_delete(suite, &key) == MCDS_OUT_OK;
    }
    return false;
}

struct wide_seen {
    uint32_t count;
    bool has_last; /* the job that was pushed last */
};

static bool see_wide(void *context, const mcds_queue_entry *entry)
{
    struct wide_seen *seen = context;
    assert_int_equal(entry->job.length, WIDE_LENGTH);
    seen->count++;
    seen->has_last = *(const char *)entry->job.data == WIDE - 1;
    return true;
}

/* A new handle finds as many jobs and lost parts. */
static void check_jobs_and_losses(struct suite *suite, struct pair *pair, uint32_t jobs,
                                  uint32_t losses)
{
    mcds_queue *worker = open_queue(suite->store, pair->name, 0);
    uint32_t taken = 0, lost = 0;
    struct wide_seen seen = {0, false};
    int result = mcds_queue_scan(worker, 0, see_wide, &seen);
    CHECK_RESULT(losses > 0 ? MCDS_LOST : MCDS_OK, result);
    assert_int_equal(seen.count, jobs);
    do {
        result = CALL(suite, mcds_queue_next, worker, 0, &pair->job, &pair->value);
        taken += result == MCDS_OK;
        lost += result == MCDS_LOST;
    } while (result == MCDS_OK || result == MCDS_LOST);
    CHECK_RESULT(MCDS_NOT_FOUND, result);
    assert_int_equal(taken, jobs);
    assert_int_equal(lost, losses);
    mcds_queue_close(worker);
}

/* A push passes over a part whose key is lost, and no worker takes that for a loss. The last part is
 * kept: if it were lost together with the key of the one after it, no worker could end it before the
 * next push, and a new handle would report the loss again. */
static void a_lost_key_loses_no_later_job(struct suite *suite)
{
    struct pair pair;
    if (suite->can.durable) {
        skip_because("a file loses no key");
    }
    open_pair(suite, &pair, 0);
    struct wide_seen seen = {0, false};
    for (uint32_t i = 0; !seen.has_last || seen.count == WIDE; i++) {
        assert_true(i < 100); /* each life places the entries in another way */
        (void)!CALL(suite, mcds_queue_drop, pair.mine);
        push_wide(suite, pair.mine);
        seen = (struct wide_seen){0, false};
        if (lose_a_key(suite, pair.name))
            CHECK(MCDS_LOST, suite, mcds_queue_scan, pair.mine, 0, see_wide, &seen);
    }
    check_jobs_and_losses(suite, &pair, seen.count, WIDE - seen.count);
    push_wide(suite, pair.mine);
    check_jobs_and_losses(suite, &pair, WIDE, 0);
    push_wide(suite, pair.theirs);
    check_jobs_and_losses(suite, &pair, WIDE, 0);
    close_pair(&pair);
}

static void a_queue_can_be_dropped_and_made_again(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair, 0);
    CHECK(MCDS_NOT_FOUND, suite, mcds_queue_drop, pair.mine);
    push_numbers(suite, pair.mine, 0, MANY);
    CHECK_OTHER(MCDS_OK, suite, mcds_queue_next, pair.theirs, 0, &pair.other, &pair.value);
    CHECK(MCDS_OK, suite, mcds_queue_drop, pair.mine);
    check_no_counts(suite, &pair);
    CHECK_OTHER(MCDS_LOST, suite, mcds_queue_done, pair.theirs, &pair.other);
    push_numbers(suite, pair.mine, 0, 3);
    take_numbers(suite, &pair, 0, 3);
    close_pair(&pair);
}

/* The worker knows the stripes of the dropped queue. At which one it begins is drawn. */
static void a_claim_passes_the_stripes_of_the_queue_made_again(struct suite *suite)
{
    for (uint32_t i = 0; i < 20; i++) {
        struct pair pair;
        open_pair(suite, &pair, 0);
        mcds_queue *before = open_stripes(suite->store, pair.name, 0, 7);
        mcds_queue *after = open_stripes(suite->store, pair.name, 0, 1 + i % 7);
        push_numbers(suite, before, 0, 1);
        take_numbers(suite, &pair, 0, 1);
        CHECK(MCDS_OK, suite, mcds_queue_drop, pair.mine);
        push_numbers(suite, after, 0, 1);
        take_numbers(suite, &pair, 0, 1);
        mcds_queue_close(before);
        mcds_queue_close(after);
        close_pair(&pair);
    }
}

static void a_refused_claim_ends_no_job(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair, 0);
    mcds_queue *wide = open_stripes(suite->store, pair.name, 0, 7);
    push_numbers(suite, wide, 0, 1);
    CHECK(MCDS_OK, suite, mcds_queue_drop, wide);
    push_numbers(suite, pair.mine, 0, 1);
    CHECK(MCDS_OK, suite, mcds_queue_next, pair.mine, 0, &pair.job, &pair.value);
    CHECK(MCDS_INVALID, suite, mcds_queue_next, wide, 0, &pair.job, &pair.value);
    assert_true(pair.job.is_held);
    check_counts(suite, &pair, 0, 0, 1, 0);
    CHECK(MCDS_OK, suite, mcds_queue_done, pair.mine, &pair.job);
    mcds_queue_close(wide);
    close_pair(&pair);
}

struct seen_dead {
    uint32_t count;
    uint8_t id[32];
    size_t id_length;
};

static bool see_dead(void *context, const mcds_queue_entry *entry)
{
    struct seen_dead *seen = context;
    assert_int_equal(entry->state, MCDS_JOB_DEAD);
    assert_int_equal(entry->tries, 2);
    assert_int_equal(entry->job.length, 3);
    assert_memory_equal(entry->job.data, "bad", 3);
    memcpy(seen->id, entry->id.data, entry->id.length);
    seen->id_length = entry->id.length;
    seen->count++;
    return true;
}

static void a_job_that_fails_too_often_is_dead(struct suite *suite)
{
    struct pair pair;
    struct seen_dead seen = {.count = 0};
    open_pair(suite, &pair, 2);
    CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text("bad"), 0);
    CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text("good"), 0);
    take_mine(suite, &pair, "bad");
    CHECK(MCDS_OK, suite, mcds_queue_again, pair.mine, &pair.job, 0);
    take_theirs(suite, &pair, "bad");
    shift_wall_ms(suite, VISIBLE_MS);
    take_mine(suite, &pair, "good");
    check_counts(suite, &pair, 0, 0, 1, 1);
    CHECK(MCDS_OK, suite, mcds_queue_dead, pair.mine, 0, see_dead, &seen);
    assert_int_equal(seen.count, 1);
    mcds_bytes id = {seen.id, seen.id_length};
    CHECK(MCDS_OK, suite, mcds_queue_discard, pair.mine, id);
    CHECK(MCDS_NOT_FOUND, suite, mcds_queue_discard, pair.mine, id);
    CHECK(MCDS_INVALID, suite, mcds_queue_discard, pair.mine, mcds_text("x"));
    CHECK_OTHER(MCDS_LOST, suite, mcds_queue_done, pair.theirs, &pair.other);
    check_counts(suite, &pair, 0, 0, 1, 0);
    close_pair(&pair);
}

/* A dead job can be added as one, and makes the queue. */
static void a_dead_job_can_be_pushed(struct suite *suite)
{
    struct pair pair;
    struct seen_dead seen = {.count = 0};
    open_pair(suite, &pair, 2);
    CHECK(MCDS_OK, suite, mcds_queue_push_dead, pair.mine, mcds_text("bad"), 2);
    check_counts(suite, &pair, 0, 0, 0, 1);
    CHECK(MCDS_OK, suite, mcds_queue_dead, pair.mine, 0, see_dead, &seen);
    assert_int_equal(seen.count, 1);
    CHECK(MCDS_NOT_FOUND, suite, mcds_queue_next, pair.mine, 0, &pair.job, &pair.value);
    CHECK(MCDS_OK, suite, mcds_queue_push_dead, pair.mine, mcds_text("bad"), 2);
    CHECK_OTHER(MCDS_OK, suite, mcds_queue_push_dead, pair.theirs, mcds_text(""), 1);
    check_counts(suite, &pair, 0, 0, 0, 3);
    CHECK(MCDS_OK, suite, mcds_queue_discard, pair.mine, (mcds_bytes){seen.id, seen.id_length});
    CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text("good"), 0);
    take_mine(suite, &pair, "good");
    check_counts(suite, &pair, 0, 0, 1, 2);
    CHECK(MCDS_OK, suite, mcds_queue_drop, pair.mine);
    CHECK_OTHER(MCDS_OK, suite, mcds_queue_push_dead, pair.theirs, mcds_text("new"), 1);
    check_counts(suite, &pair, 0, 0, 0, 1);
    CHECK(MCDS_INVALID, suite, mcds_queue_push_dead, pair.mine, mcds_text("bad"), 65536);
    CHECK_SENTENCE("tries must be 0 to 65535, not 65536");
    close_pair(&pair);
}

/* A worker that gives a job back at its last try makes it dead in the same call. */
static void a_job_given_back_at_its_last_try_is_dead(struct suite *suite)
{
    struct pair pair;
    struct seen_dead seen = {.count = 0};
    open_pair(suite, &pair, 2);
    CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text("bad"), 0);
    take_mine(suite, &pair, "bad");
    CHECK(MCDS_OK, suite, mcds_queue_again, pair.mine, &pair.job, 0);
    check_counts(suite, &pair, 1, 0, 0, 0);
    take_mine(suite, &pair, "bad");
    mcds_job late = pair.job;
    CHECK(MCDS_OK, suite, mcds_queue_again, pair.mine, &pair.job, 1000);
    assert_false(pair.job.is_held);
    check_counts(suite, &pair, 0, 0, 0, 1);
    CHECK(MCDS_OK, suite, mcds_queue_dead, pair.mine, 0, see_dead, &seen);
    assert_int_equal(seen.count, 1);
    CHECK(MCDS_LOST, suite, mcds_queue_again, pair.mine, &late, 0);
    check_counts(suite, &pair, 0, 0, 0, 1);
    mcds_queue *patient = open_queue(suite->store, pair.name, 5);
    CHECK(MCDS_NOT_FOUND, suite, mcds_queue_next, patient, 0, &pair.job, &pair.value);
    mcds_queue_close(patient);
    close_pair(&pair);
}

/* An old claim gives nothing back, not even at the last try. */
static void an_old_claim_makes_no_job_dead(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair, 1);
    mcds_queue *patient = open_queue(suite->other, pair.name, 5);
    CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text("a"), 0);
    take_mine(suite, &pair, "a");
    shift_wall_ms(suite, VISIBLE_MS);
    CHECK_OTHER(MCDS_OK, suite, mcds_queue_next, patient, 0, &pair.other, &pair.value);
    CHECK(MCDS_LOST, suite, mcds_queue_again, pair.mine, &pair.job, 0);
    check_counts(suite, &pair, 0, 0, 1, 0);
    CHECK_OTHER(MCDS_OK, suite, mcds_queue_done, patient, &pair.other);
    mcds_queue_close(patient);
    close_pair(&pair);
}

/* A job that is done by a worker whose claim has ended is not kept as a dead job, whichever call
 * reports it. */
static void a_dead_job_that_is_done_late_is_erased(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair, 1);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text("slow"), 0);
        CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text("next"), 0);
        take_mine(suite, &pair, "slow");
        shift_wall_ms(suite, VISIBLE_MS);
        take_theirs(suite, &pair, "next");
        CHECK_OTHER(MCDS_OK, suite, mcds_queue_done, pair.theirs, &pair.other);
        check_counts(suite, &pair, 0, 0, 0, 1);
        if (i == 0) {
            CHECK(MCDS_LOST, suite, mcds_queue_done, pair.mine, &pair.job);
        } else {
            CHECK(MCDS_NOT_FOUND, suite, mcds_queue_next, pair.mine, 0, &pair.job, &pair.value);
            assert_true(pair.job.was_lost);
        }
        assert_false(pair.job.is_held);
        check_counts(suite, &pair, 0, 0, 0, 0);
        CHECK(MCDS_OK, suite, mcds_queue_dead, pair.mine, 0, see_dead, NULL);
    }
    close_pair(&pair);
}

/* A job that pins its part does not hide those after it. */
static void a_slow_job_does_not_stop_others(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair, 0);
    push_numbers(suite, pair.mine, 0, MANY);
    CHECK_OTHER(MCDS_OK, suite, mcds_queue_next, pair.theirs, 0, &pair.other, &pair.value);
    assert_int_equal(number_of(&pair), 0);
    for (uint32_t i = 1; i < MANY; i++) {
        CHECK(MCDS_OK, suite, mcds_queue_next, pair.mine, 0, &pair.job, &pair.value);
        assert_int_equal(number_of(&pair), i);
    }
    CHECK(MCDS_NOT_FOUND, suite, mcds_queue_next, pair.mine, 0, &pair.job, &pair.value);
    CHECK_OTHER(MCDS_OK, suite, mcds_queue_done, pair.theirs, &pair.other);
    check_counts(suite, &pair, 0, 0, 0, 0);
    close_pair(&pair);
}

static void large_jobs_come_whole(struct suite *suite)
{
    static char bytes[MCDS_QUEUE_JOB_MAX];
    struct pair pair;
    open_pair(suite, &pair, 0);
    memset(bytes, 'x', sizeof bytes);
    for (size_t length = 1; length <= MCDS_QUEUE_JOB_MAX; length *= 16) {
        CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, ((mcds_bytes){bytes, length}), 0);
        CHECK_OTHER(MCDS_OK, suite, mcds_queue_next, pair.theirs, 0, &pair.other, &pair.value);
        assert_int_equal(pair.value.length, length);
        assert_memory_equal(pair.value.data, bytes, length);
    }
    close_pair(&pair);
}

/* The sentence names the limit that holds, whatever the length. */
static void the_limit_of_a_job_is_named(struct suite *suite)
{
    static const size_t lengths[] = {MCDS_QUEUE_JOB_MAX + 1, (size_t)70 << 20};
    struct pair pair;
    open_pair(suite, &pair, 0);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const mcds_bytes job = {"", lengths[i]}; /* its bytes are not read */
        char sentence[64];
        (void)snprintf(sentence, sizeof sentence, "the job has %zu bytes; at most 65536",
                       lengths[i]);
        CHECK(MCDS_TOO_BIG, suite, mcds_queue_push, pair.mine, job, 0);
        CHECK_SENTENCE(sentence);
        CHECK(MCDS_TOO_BIG, suite, mcds_queue_push_many, pair.mine, &job, 1, 0, NULL);
        CHECK_SENTENCE(sentence);
        CHECK(MCDS_TOO_BIG, suite, mcds_queue_push_dead, pair.mine, job, 1);
        CHECK_SENTENCE(sentence);
        assert_int_equal(mcds_last_error()->wanted_max, MCDS_QUEUE_JOB_MAX);
    }
    close_pair(&pair);
}

static void a_worker_waits_for_a_job(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair, 0);
    CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text("soon"), 300);
    CHECK(MCDS_OK, suite, mcds_queue_next, pair.mine, 20000, &pair.job, &pair.value);
    check_value(&pair, "soon");
    CHECK(MCDS_NOT_FOUND, suite, mcds_queue_next, pair.mine, 50, &pair.job, &pair.value);
    close_pair(&pair);
}

/* Another process ends a claim by its receipt, and by no other text. */
static void a_receipt_ends_a_claim(struct suite *suite)
{
    char receipt[MCDS_QUEUE_JOB_TEXT];
    struct pair pair;
    open_pair(suite, &pair, 0);
    mcds_queue_job_save(&pair.job, receipt);
    assert_string_equal(receipt, "");
    CHECK(MCDS_OK, suite, mcds_queue_push, pair.mine, mcds_text("a"), 0);
    take_mine(suite, &pair, "a");
    mcds_queue_job_save(&pair.job, receipt);
    CHECK_RESULT(MCDS_OK, mcds_queue_job_load(&pair.other, receipt));
    assert_true(pair.other.is_held && pair.other.tries == 1 && pair.other.deadline_ns == 0);
    CHECK_OTHER(MCDS_OK, suite, mcds_queue_longer, pair.theirs, &pair.other);
    assert_true(pair.other.deadline_ns > 0);
    CHECK_OTHER(MCDS_OK, suite, mcds_queue_done, pair.theirs, &pair.other);
    CHECK_RESULT(MCDS_OK, mcds_queue_job_load(&pair.other, receipt));
    CHECK_OTHER(MCDS_LOST, suite, mcds_queue_again, pair.theirs, &pair.other, 0);
    assert_false(pair.other.is_held);
    CHECK_RESULT(MCDS_INVALID,
                 mcds_queue_job_load(&pair.other, "0123456789abcdef.0.1.1.00000000"));
    CHECK_SENTENCE("the receipt of a job");
    assert_false(pair.other.is_held);
    close_pair(&pair);
}

static void bad_options_are_refused(struct suite *suite)
{
    static const struct {
        mcds_queue_options options;
        const char *word;
    } bad[] = {
        {{sizeof(mcds_queue_options), 99, 0, 1, 0},
         "visible_ms must be 0 or 100 to 604800000, not 99"},
        {{sizeof(mcds_queue_options), 604800001, 0, 1, 0}, "visible_ms"},
        {{sizeof(mcds_queue_options), 0, 10001, 1, 0}, "tries"},
        {{sizeof(mcds_queue_options), 0, 0, 2, 0}, "flags"},
    };
    mcds_queue *queue = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_RESULT(MCDS_INVALID, mcds_queue_open(suite->store, "q", &bad[i].options, &queue));
        CHECK_SENTENCE(bad[i].word);
    }
    int result = mcds_queue_open(suite->store, "q", NULL, &queue);
    CHECK_RESULT(suite->can.evicts ? MCDS_UNSUPPORTED : MCDS_OK, result);
    if (suite->can.evicts)
        CHECK_SENTENCE("MCDS_QUEUE_MAY_LOSE");
    else
        mcds_queue_close(queue);
}

static void bad_arguments_are_refused(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair, 0);
    CHECK(MCDS_INVALID, suite, mcds_queue_push, pair.mine, mcds_text("a"),
          INT64_C(7) * 24 * 3600 * 1000 + 1);
    CHECK_SENTENCE("delay_ms");
    CHECK(MCDS_INVALID, suite, mcds_queue_next, pair.mine, 86400001, &pair.job, &pair.value);
    CHECK_SENTENCE("wait_ms");
    pair.job.is_held = true;
    CHECK(MCDS_INVALID, suite, mcds_queue_next, pair.mine, 0, &pair.job, &pair.value);
    close_pair(&pair);
}

static const struct suite_case cases[] = {
    CASE(jobs_come_in_order),
    CASE(a_claim_ends),
    CASE(an_old_claim_can_be_extended),
    CASE(next_tells_of_a_claim_that_has_ended),
    CASE(jobs_can_be_given_back_and_delayed),
    CASE_TWICE(many_jobs_take_several_parts),
    CASE_ONCE(one_call_fills_many_parts),
    CASE_ONCE(old_memories_do_no_harm),
    CASE_ONCE(a_mark_that_stays_opens_nothing),
    CASE(a_loss_is_told),
    CASE_ONCE(a_lost_key_loses_no_later_job),
    CASE_ONCE(a_queue_can_be_dropped_and_made_again),
    CASE_ONCE(a_claim_passes_the_stripes_of_the_queue_made_again),
    CASE_ONCE(a_refused_claim_ends_no_job),
    CASE(a_job_that_fails_too_often_is_dead),
    CASE(a_dead_job_can_be_pushed),
    CASE(a_job_given_back_at_its_last_try_is_dead),
    CASE(an_old_claim_makes_no_job_dead),
    CASE(a_dead_job_that_is_done_late_is_erased),
    CASE_ONCE(a_slow_job_does_not_stop_others),
    CASE(large_jobs_come_whole),
    CASE_ONCE(the_limit_of_a_job_is_named),
    CASE_TWICE(a_worker_waits_for_a_job),
    CASE(a_receipt_ends_a_claim),
    CASE_ONCE(bad_options_are_refused),
    CASE(bad_arguments_are_refused),
};
const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
