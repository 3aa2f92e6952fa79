/* Memory refused: each allocation of a scenario fails in turn, alone or with all later ones,
 * beginning with the opening of the store. Nothing may crash or leak, and every answer must be
 * true. faults.c tests the answer of each call. */
#include "structures/suite.h"
#include "support/no_database.h"

#define REFUSALS_MAX 2000
/* Nobody waits that long but for a server that is slow. */
#define TIMEOUT_MS 5000

/* What the story has opened, and what it may believe. */
struct story {
    struct suite *suite;
    mcds_store *store;
    mcds_pipeline *pipeline;
    mcds_counter *counter;
    mcds_counter *striped;
    mcds_lock *lock;
    mcds_visitors *visitors;
    mcds_online *online;
    mcds_lease lease;
    int64_t added;   /* acknowledged */
    int64_t doubted; /* perhaps added */
};

/* A handle comes with MCDS_OK, and only for lack of memory there is none. */
static bool opened(int result)
{
    if (result != MCDS_NO_MEMORY)
        CHECK_RESULT(MCDS_OK, result);
    return result == MCDS_OK;
}
#define OPENED(call, handle)                                                                   \
    (opened(call) ? (assert_non_null(handle), true) : (assert_null(handle), false))

/* A call's answer: normal, or for lack of memory here or at the store. */
static int heard(int result)
{
    switch (result) {
    case MCDS_NO_MEMORY:
    case MCDS_FULL:
    case MCDS_UNAVAILABLE:
    case MCDS_TIMEOUT:
        assert_true(mcds_errmsg()[0] != '\0');
        return result;
    case MCDS_AMBIGUOUS:
        return result;
    default:
        if (result < 0)
            CHECK_RESULT(MCDS_OK, result);
        return result;
    }
}

static bool open_all(struct story *story, const char *uri)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_counter_options striped = MCDS_COUNTER_OPTIONS_INIT;
    mcds_lock_options labelled = MCDS_LOCK_OPTIONS_INIT;
    struct suite *suite = story->suite;
    options.env = &suite->fake.env;
    options.timeout_ms = TIMEOUT_MS;
    striped.stripes = 8;
    labelled.label =
        "a label that takes more room than an operation keeps for what it reads, so "
        "that the value of the lease must be read into memory of its own, which may "
        "be refused too; two hundred";
    if (!OPENED(mcds_open(uri, &options, &story->store), story->store))
        return false;
    const char *name = fresh_name(suite, "x");
    return OPENED(mcds_counter_open(story->store, name, NULL, &story->counter),
                  story->counter) &&
           OPENED(mcds_counter_open(story->store, fresh_name(suite, "s"), &striped,
                                    &story->striped),
                  story->striped) &&
           OPENED(mcds_lock_open(story->store, name, &labelled, &story->lock), story->lock) &&
           OPENED(mcds_visitors_open(story->store, name, NULL, &story->visitors),
                  story->visitors) &&
           OPENED(mcds_online_open(story->store, name, NULL, &story->online), story->online);
}

static void note_add(struct story *story, int result)
{
    story->added += result == MCDS_OK;
    story->doubted += result == MCDS_AMBIGUOUS;
}

static void call_all(struct story *story)
{
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    mcds_visitors_value visited = MCDS_VISITORS_VALUE_INIT;
    mcds_online_value present = MCDS_ONLINE_VALUE_INIT;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    int64_t taken = 0;
    note_add(story, heard(mcds_counter_add(story->counter, 1, NULL)));
    (void)heard(mcds_counter_get(story->counter, &value));
    (void)heard(mcds_counter_add(story->striped, 1, NULL));
    (void)heard(mcds_counter_take(story->striped, &taken));
    (void)heard(mcds_visitors_hit(story->visitors, "ann", T0_MS));
    (void)heard(mcds_visitors_get(story->visitors, T0_MS, &visited));
    (void)heard(mcds_online_beat(story->online, "ann", T0_MS));
    (void)heard(mcds_online_get(story->online, T0_MS, &present));
    int result = heard(mcds_lock_try_acquire(story->lock, &story->lease));
    (void)heard(mcds_lock_get_holder(story->lock, &holder));
    if (result == MCDS_OK)
        (void)heard(mcds_lock_renew(story->lock, &story->lease));
    if (result == MCDS_OK || result == MCDS_AMBIGUOUS)
        (void)heard(mcds_lock_release(story->lock, &story->lease));
    story->lease = (mcds_lease)MCDS_LEASE_INIT;
    (void)heard(mcds_counter_drop(story->striped));
    (void)heard(mcds_visitors_drop(story->visitors, T0_MS));
    (void)heard(mcds_online_drop(story->online, T0_MS));
    (void)heard(mcds_lock_break(story->lock));
}

/* More than one batch. */
#define IN_FLIGHT 70

static void pipe_all(struct story *story)
{
    static mcds_counter_value value;
    static mcds_visitors_value visited;
    static mcds_online_value present;
    mcds_completion done;
    mcds_pipeline *p = NULL;
    if (!OPENED(mcds_pipeline_open(story->store, NULL, &p), p))
        return;
    story->pipeline = p;
    for (uint64_t i = 1; i <= IN_FLIGHT; i++)
        (void)heard(mcds_counter_add_start(story->counter, 1, NULL, p, i));
    (void)heard(mcds_counter_get_start(story->counter, &value, p, 0));
    (void)heard(mcds_counter_add_start(story->striped, 1, NULL, p, 0));
    (void)heard(mcds_counter_drop_start(story->striped, p, 0));
    (void)heard(mcds_visitors_hit_start(story->visitors, "bob", T0_MS, p, 0));
    (void)heard(mcds_visitors_get_start(story->visitors, T0_MS, &visited, p, 0));
    (void)heard(mcds_online_beat_start(story->online, "bob", T0_MS, p, 0));
    (void)heard(mcds_online_get_start(story->online, T0_MS, &present, p, 0));
    (void)heard(mcds_lock_try_acquire_start(story->lock, &story->lease, p, 0));
    while (mcds_pipeline_next(p, &done) == MCDS_OK) {
        (void)heard(done.result);
        if (done.tag > 0)
            note_add(story, done.result);
    }
}

static void close_all(struct story *story)
{
    mcds_pipeline_close(story->pipeline);
    mcds_counter_close(story->counter);
    mcds_counter_close(story->striped);
    mcds_lock_close(story->lock);
    mcds_visitors_close(story->visitors);
    mcds_online_close(story->online);
    mcds_close(story->store);
}

/* False: the story took fewer allocations. */
static bool tell(struct suite *suite, const char *uri, uint64_t refuse_at, bool stays)
{
    struct story story = {.suite = suite, .lease = MCDS_LEASE_INIT};
    int64_t blocks = suite->fake.blocks;
    fake_env_refuse(&suite->fake, (int64_t)refuse_at - 1, stays);
    bool whole = open_all(&story, uri);
    if (whole) {
        call_all(&story);
        pipe_all(&story);
    }
    bool came = fake_env_grant(&suite->fake);
    if (whole) {
        mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
        int result = mcds_counter_get(story.counter, &value);
        /* Where it could not connect, the backend waits a while before it tries again. */
        for (int i = 0; i < 200 && (result == MCDS_UNAVAILABLE || result == MCDS_TIMEOUT);
             i++) {
            pass_ms(suite, 50);
            result = mcds_counter_get(story.counter, &value);
        }
        assert_true(result == MCDS_OK || (result == MCDS_NOT_FOUND && story.added == 0));
        assert_in_range(value.value, story.added, story.added + story.doubted);
        if (!came)
            assert_int_equal(value.value, 1 + IN_FLIGHT);
    }
    close_all(&story);
    assert_int_equal(suite->fake.blocks, blocks);
    return came;
}

static void refuse_each(struct suite *suite, bool stays)
{
    char uri[1024];
    mcds_lock *lock = NULL;
    skip_if_unsupported(mcds_lock_open(suite->store, "probe", NULL, &lock));
    mcds_lock_close(lock);
    fixture_uri_of(suite->fixture, "refusals", uri, sizeof uri);
    suite->skips_sleep = true;
    uint64_t at = 1;
    while (at < REFUSALS_MAX && tell(suite, uri, at, stays))
        at++;
    assert_in_range(at, 10, REFUSALS_MAX - 1);
}

static void one_allocation_is_refused(struct suite *suite)
{
    refuse_each(suite, false);
}

static void all_from_one_on_are_refused(struct suite *suite)
{
    refuse_each(suite, true);
}

#define OPENER(noun, make_options)                                                             \
    static int open_##noun(mcds_store *store)                                                  \
    {                                                                                          \
        mcds_##noun *handle = NULL;                                                            \
        make_options;                                                                          \
        int result = mcds_##noun##_open(store, "refused", &options, &handle);                  \
        assert_true((result == MCDS_OK) == (handle != NULL));                                  \
        mcds_##noun##_close(handle);                                                           \
        return result;                                                                         \
    }

OPENER(set, mcds_set_options options = MCDS_SET_OPTIONS_INIT)
OPENER(table, mcds_table_options options = MCDS_TABLE_OPTIONS_INIT)
OPENER(array, mcds_array_options options = MCDS_ARRAY_OPTIONS_INIT)
OPENER(list, mcds_list_options options = MCDS_LIST_OPTIONS_INIT)
OPENER(log, mcds_log_options options = MCDS_LOG_OPTIONS_INIT)
OPENER(counter, mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
       options.flags = MCDS_COUNTER_EXACT)
OPENER(visitors, mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
       options.members = MCDS_MEMBERS_EXACT)
OPENER(online, mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
       options.members = MCDS_MEMBERS_ESTIMATED)

OPENER(views, mcds_views_options options = views_without_database())

/* The handles of the structures that the story leaves out. */
static void opening_is_refused(struct suite *suite)
{
    static int (*const openers[])(mcds_store * store) = {
        open_set,     open_table,    open_array,  open_list,  open_log,
        open_counter, open_visitors, open_online, open_views,
    };
    for (size_t i = 0; i < sizeof openers / sizeof openers[0]; i++) {
        int64_t blocks = suite->fake.blocks;
        int64_t allowed = 0;
        int result;
        do {
            fake_env_refuse(&suite->fake, allowed++, false);
            result = openers[i](suite->store);
            (void)fake_env_grant(&suite->fake);
            assert_int_equal(suite->fake.blocks, blocks);
        } while (result == MCDS_NO_MEMORY);
        CHECK_RESULT(MCDS_OK, result);
        assert_true(allowed > 1);
    }
}

static const struct suite_case cases[] = {
    CASE_ONCE(opening_is_refused),
    CASE_ONCE(one_allocation_is_refused),
    CASE_ONCE(all_from_one_on_are_refused),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
