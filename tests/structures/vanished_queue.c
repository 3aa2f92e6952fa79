/* Queues that the store has lost as a whole or in part, or whose key another program has changed. */
#include "structures/vanished.h"

/* The verbs from PUSH on make a queue. */
enum queue_verb {
    COUNT,
    DEAD,
    QUEUE_SCAN,
    NEXT,
    DISCARD,
    PUSH,
    PUSH_MANY,
    PUSH_DEAD,
    QUEUE_VERBS
};

static bool see_job(void *context, const mcds_queue_entry *entry)
{
    return see_nothing(context, entry->job, 1);
}

static int call_queue(struct suite *suite, mcds_queue *queue, enum queue_verb verb)
{
    mcds_queue_counts counts = MCDS_QUEUE_COUNTS_INIT;
    mcds_job job = MCDS_JOB_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    uint32_t seen = 0;
    int result;
    const mcds_bytes job_bytes = mcds_text("c");
    mcds_bytes two[] = {job_bytes, job_bytes};
    const char no_dead_job[21] = "x";
    switch (verb) {
    case COUNT:
        return CALL(suite, mcds_queue_count, queue, &counts);
    case DEAD:
        return CALL(suite, mcds_queue_dead, queue, 0, see_job, &seen);
    case QUEUE_SCAN:
        return CALL(suite, mcds_queue_scan, queue, 0, see_job, &seen);
    case NEXT:
        result = CALL(suite, mcds_queue_next, queue, 0, &job, &value);
        mcds_value_free(&value);
        return result;
    case DISCARD:
        return CALL(suite, mcds_queue_discard, queue,
                    ((mcds_bytes){no_dead_job, sizeof no_dead_job}));
    case PUSH_MANY:
        return CALL(suite, mcds_queue_push_many, queue, two, 2, 0, NULL);
    case PUSH_DEAD:
        return CALL(suite, mcds_queue_push_dead, queue, job_bytes, 1);
    default:
        return CALL(suite, mcds_queue_push, queue, job_bytes, 0);
    }
}

static mcds_queue *open_queue_of(struct suite *suite, const char *name, uint32_t stripes)
{
    mcds_queue *queue = NULL;
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    options.flags = MCDS_QUEUE_MAY_LOSE;
    options.stripes = stripes;
    int result = mcds_queue_open(suite->store, name, &options, &queue);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    return queue;
}

static mcds_queue *open_queue(struct suite *suite, const char *name)
{
    return open_queue_of(suite, name, 0);
}

/* What the verb answers that is called after the loss or the drop, or after the LOST. */
static int of_queue(enum queue_verb verb, bool exists)
{
    if (verb == DISCARD)
        return MCDS_NOT_FOUND;
    return verb >= PUSH || exists ? MCDS_OK : MCDS_NOT_FOUND;
}

/* The jobs that a new handle counts, dead ones included. */
static uint64_t count_jobs(struct suite *suite, const char *name)
{
    mcds_queue *fresh = open_queue(suite, name);
    mcds_queue_counts counts = MCDS_QUEUE_COUNTS_INIT;
    int result = mcds_queue_count(fresh, &counts);
    CHECK_RESULT(result == MCDS_NOT_FOUND ? MCDS_NOT_FOUND : MCDS_OK, result);
    mcds_queue_close(fresh);
    return counts.waiting + counts.delayed + counts.claimed + counts.dead;
}

static void play_verb(struct suite *suite, enum queue_verb verb, uint32_t stripes,
                      enum fate fate)
{
    const char *name = fresh_name(suite, "queue");
    mcds_queue *queue = open_queue_of(suite, name, stripes);
    mcds_queue *maker = open_queue_of(suite, name, stripes);
    bool is_lost = fate == LOST || fate == LOST_AND_MADE_AGAIN;
    bool is_made_again = fate == LOST_AND_MADE_AGAIN || fate == DROPPED_AND_MADE_AGAIN;
    CHECK(MCDS_OK, suite, mcds_queue_push, queue, mcds_text("a"), 0);
    CHECK(MCDS_OK, suite, mcds_queue_push, queue, mcds_text("b"), 0);
    CHECK_RESULT(MCDS_OK, call_queue(suite, queue, NEXT));
    if (is_lost)
        lose(suite, MCDS__TAG_QUEUE, name);
    else
        CHECK(MCDS_OK, suite, mcds_queue_drop, maker);
    if (is_made_again)
        CHECK_RESULT(MCDS_OK, call_queue(suite, maker, PUSH));
    if (is_lost)
        CHECK_RESULT(MCDS_LOST, call_queue(suite, queue, verb));
    if (is_lost && mcds_last_error()->cause != MCDS_CAUSE_GONE)
        fail_msg("%s", mcds_errmsg());
    assert_int_equal(count_jobs(suite, name), is_made_again); /* LOST has changed nothing */
    CHECK_RESULT(of_queue(verb, is_made_again), call_queue(suite, queue, verb));
    uint64_t pushed = verb < PUSH ? 0 : 1 + (verb == PUSH_MANY);
    assert_int_equal(count_jobs(suite, name), is_made_again + pushed);
    if (is_made_again)
        CHECK_RESULT(verb == NEXT ? MCDS_NOT_FOUND : MCDS_OK, call_queue(suite, queue, NEXT));
    (void)mcds_queue_drop(maker); /* a later case erases each key of the store */
    mcds_queue_close(maker);
    mcds_queue_close(queue);
}

static void play_queue(struct suite *suite, enum fate fate)
{
    for (enum queue_verb verb = COUNT; verb < QUEUE_VERBS; verb++) {
        play_verb(suite, verb, 1, fate);
        play_verb(suite, verb, 4, fate);
    }
}

void a_queue_that_is_lost_is_reported_once(struct suite *suite)
{
    skip_without_listing(suite);
    play_queue(suite, LOST);
    play_queue(suite, LOST_AND_MADE_AGAIN);
}

void a_queue_that_is_dropped_is_not_lost(struct suite *suite)
{
    play_queue(suite, DROPPED);
    play_queue(suite, DROPPED_AND_MADE_AGAIN);
}

/* The calls that take a receipt. */
enum receipt_verb { DONE, AGAIN, LONGER, NEXT_AFTER, RECEIPT_VERBS };

static int call_with(struct suite *suite, mcds_queue *queue, enum receipt_verb verb,
                     mcds_job *job)
{
    mcds_value value = MCDS_VALUE_INIT;
    int result;
    switch (verb) {
    case DONE:
        return CALL(suite, mcds_queue_done, queue, job);
    case AGAIN:
        return CALL(suite, mcds_queue_again, queue, job, 0);
    case LONGER:
        return CALL(suite, mcds_queue_longer, queue, job);
    default:
        result = CALL(suite, mcds_queue_next, queue, 0, job, &value);
        mcds_value_free(&value);
        return result;
    }
}

/* A call with the job of the lost queue, or with one of the queue that was made since, is the first of
 * its handle to find the loss. It also ends the former; it changes nothing of the latter. */
static void play_receipt(struct suite *suite, enum receipt_verb verb, bool is_of_lost)
{
    const char *name = fresh_name(suite, "queue");
    mcds_queue *queue = open_queue(suite, name);
    mcds_job lost = MCDS_JOB_INIT;
    mcds_job made = MCDS_JOB_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    CHECK(MCDS_OK, suite, mcds_queue_push, queue, mcds_text("lost"), 0);
    CHECK(MCDS_OK, suite, mcds_queue_next, queue, 0, &lost, &value);
    lose(suite, MCDS__TAG_QUEUE, name);
    mcds_queue *maker = open_queue(suite, name);
    CHECK(MCDS_OK, suite, mcds_queue_push, maker, mcds_text("made"), 0);
    CHECK(MCDS_OK, suite, mcds_queue_next, maker, 0, &made, &value);
    mcds_value_free(&value);
    mcds_job *job = is_of_lost ? &lost : &made;
    CHECK_RESULT(MCDS_LOST, call_with(suite, queue, verb, job));
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_GONE);
    assert_int_equal(job->is_held, !is_of_lost);
    assert_int_equal(count_jobs(suite, name), 1);
    if (!is_of_lost)
        CHECK_RESULT(verb == NEXT_AFTER ? MCDS_NOT_FOUND : MCDS_OK,
                     call_with(suite, queue, verb, job));
    bool is_done = !is_of_lost && (verb == DONE || verb == NEXT_AFTER);
    assert_int_equal(count_jobs(suite, name), !is_done);
    (void)mcds_queue_drop(maker);
    mcds_queue_close(maker);
    mcds_queue_close(queue);
}

void a_job_of_the_queue_made_since_stays_held(struct suite *suite)
{
    skip_without_listing(suite);
    for (enum receipt_verb verb = DONE; verb < RECEIPT_VERBS; verb++) {
        play_receipt(suite, verb, false);
        play_receipt(suite, verb, true);
    }
}

/* What the value and the flags of a key were. */
struct kept_key {
    uint8_t bytes[1 << 17];
    size_t length;
    uint32_t flags;
};

static void put_back(struct suite *suite, const struct raw_key *key,
                     const struct kept_key *kept)
{
    mcds_request request = {.command = MCDS_SET,
                            .key = mcds__key_bytes(&key->key),
                            .route = mcds__key_bytes(&key->route),
                            .value = {kept->bytes, kept->length},
                            .flags = kept->flags};
    mcds_batch batch = {.requests = &request,
                        .count = 1,
                        .deadline_ns = mcds__monotonic_ns(&suite->fake.env) + 60 * NS_PER_S};
    mcds__store_execute(suite->store, 0, &batch);
    assert_int_equal(request.reply.outcome, MCDS_OUT_OK);
}

/* The key of a queue that has this job and not the list of the parts. Without a job: the key of the
 * list, which is then lost. False: there is no such key. */
static bool find_key(struct suite *suite, const char *name, const char *job,
                     struct raw_key *key_out)
{
    static struct listing listing;
    static struct kept_key kept;
    struct raw_key root = raw_key(suite, MCDS__TAG_QUEUE, name, -1);
    listing = (struct listing){.root = root.key};
    mcds_bytes every = {root.key.bytes, strlen(mcds__store_ns(suite->store)) + 1};
    CHECK_RESULT(MCDS_OK, mcds__store_keys(suite->store, every, list_key, &listing));
    for (size_t i = 0; i < listing.count; i++) {
        mcds_queue_options made = MCDS_QUEUE_OPTIONS_INIT;
        struct raw_key key = {listing.keys[i], listing.keys[i]};
        if (!raw_read(suite, &key, kept.bytes, sizeof kept.bytes, &kept.length)) {
            key.route = root.key;
            assert_true(raw_read(suite, &key, kept.bytes, sizeof kept.bytes, &kept.length));
        }
        bool has_job = job != NULL && memmem(kept.bytes, kept.length, job, strlen(job)) != NULL;
        if (listing.keys[i].length == root.key.length || (job != NULL && !has_job))
            continue;
        *key_out = key;
        kept.flags = raw_flags(suite, &key);
        assert_int_equal(raw_delete(suite, &key), MCDS_OUT_OK);
        bool has_list = mcds_queue_made_with(suite->store, name, &made) == MCDS_LOST;
        if (job == NULL && has_list)
            return true;
        put_back(suite, &key, &kept);
        if (has_job)
            return !has_list;
    }
    return false;
}

/* No call can claim or push, but the scan visits the jobs in the keys that are left. */
void a_queue_without_its_list_keeps_jobs(struct suite *suite)
{
    skip_without_listing(suite);
    char job[1000];
    uint32_t kept = 0;
    struct raw_key key;
    memset(job, 'j', sizeof job);
    for (int tries = 0; tries < 20 && kept == 0; tries++) {
        const char *name = fresh_name(suite, "queue");
        mcds_queue *queue = open_queue(suite, name);
        mcds_queue_counts counts = MCDS_QUEUE_COUNTS_INIT;
        for (int i = 0; i < 80; i++)
            CHECK_RESULT(MCDS_OK, mcds_queue_push(queue, (mcds_bytes){job, sizeof job}, 0));
        assert_true(find_key(suite, name, NULL, &key));
        mcds_queue *fresh = open_queue(suite, name);
        for (int again = 0; again < 2; again++) {
            kept = 0;
            CHECK(MCDS_LOST, suite, mcds_queue_scan, fresh, 0, see_job, &kept);
            CHECK(MCDS_LOST, suite, mcds_queue_count, fresh, &counts);
            assert_int_equal(kept, counts.waiting);
            CHECK_RESULT(MCDS_LOST, call_queue(suite, fresh, NEXT));
            CHECK_RESULT(MCDS_LOST, call_queue(suite, fresh, PUSH));
        }
        assert_in_range(kept, 0, 80);
        CHECK(MCDS_OK, suite, mcds_queue_drop, fresh);
        mcds_queue_close(fresh);
        mcds_queue_close(queue);
    }
    assert_true(kept > 0);
}

/* Another program has written into the key of the first job. It may be repaired from a backup, so no
 * claim passes over it before it is deleted. */
void a_foreign_part_is_not_passed_over(struct suite *suite)
{
    skip_without_listing(suite);
    char job[1000] = "first job";
    struct raw_key key;
    mcds_queue *queue = NULL;
    bool is_found = false;
    memset(job + 9, 'j', sizeof job - 9);
    for (int tries = 0; tries < 30 && !is_found; tries++) {
        const char *name = fresh_name(suite, "queue");
        mcds_queue_close(queue);
        queue = open_queue(suite, name);
        for (size_t i = 0; i < 80; i++)
            CHECK_RESULT(MCDS_OK, mcds_queue_push(queue, (mcds_bytes){job + i, 900}, 0));
        is_found = find_key(suite, name, "first job", &key);
    }
    assert_true(is_found);
    assert_int_equal(raw_set(suite, &key, "something else"), MCDS_OUT_OK);
    for (int again = 0; again < 2; again++) {
        for (enum queue_verb verb = COUNT; verb < NEXT; verb++)
            CHECK_RESULT(MCDS_CORRUPT, call_queue(suite, queue, verb));
        int next = call_queue(suite, queue, NEXT); /* it may have sent its claim */
        assert_true(next == MCDS_AMBIGUOUS || next == MCDS_CORRUPT);
    }
    assert_int_equal(raw_delete(suite, &key), MCDS_OUT_OK);
    int result = call_queue(suite, queue, NEXT);
    for (int lost = 0; result == MCDS_LOST && lost < 9; lost++)
        result = call_queue(suite, queue, NEXT);
    CHECK_RESULT(MCDS_OK, result);
    mcds_queue_close(queue);
}
