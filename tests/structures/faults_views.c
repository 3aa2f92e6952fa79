/* Faults: the scenarios of views. */
#include "structures/faults.h"

/* So long that a day has few intervals: a first flush goes through all of them. */
#define FLUSH_MS 10800000
#define SAVED 1000
#define VIEWS 3
#define ROWS 8
/* Longer than the claim of a caller that did not finish. */
#define CLAIM_MS 12000

/* A database: one row for each slot of the one page. */
static struct {
    struct {
        uint64_t slot;
        int64_t views;
    } rows[ROWS];
    uint32_t count;
} database;

static int load(void *context, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    (void)context;
    (void)page;
    *views_out = 0;
    for (uint32_t i = 0; i < database.count; i++)
        if (database.rows[i].slot <= upto_slot)
            *views_out += database.rows[i].views;
    return 0;
}

static int save(void *context, const char *page, uint64_t slot, int64_t views)
{
    uint32_t i = 0;
    (void)context;
    (void)page;
    while (i < database.count && database.rows[i].slot != slot)
        i++;
    assert_true(i < ROWS);
    database.count += i == database.count;
    database.rows[i].slot = slot;
    database.rows[i].views = views;
    return 0;
}

static int64_t saved(void)
{
    int64_t views = 0;
    (void)load(NULL, "", UINT64_MAX, &views);
    return views;
}

static mcds_views *open_views(struct trial *trial)
{
    mcds_views_options options = MCDS_VIEWS_OPTIONS_INIT;
    mcds_views *views = NULL;
    options.flush_ms = FLUSH_MS;
    options.load = load;
    options.save = save;
    CHECK_RESULT(MCDS_OK, mcds_views_open(trial->store, trial->name, &options, &views));
    return views;
}

static void prepare_none(struct trial *trial)
{
    memset(&database, 0, sizeof database);
    (void)save(NULL, "", 1, SAVED);
    trial->views = open_views(trial);
    trial->before = SAVED;
}

static int64_t get_value(struct trial *trial, mcds_views *views)
{
    int64_t value = -1;
    HOLDS(trial, mcds_views_get(views, "/", &value) == MCDS_OK);
    return value;
}

/* Some views, and what the database has is known. */
static void prepare_some(struct trial *trial)
{
    prepare_none(trial);
    CHECK_RESULT(MCDS_OK, mcds_views_hit(trial->views, "/", VIEWS));
    trial->before += VIEWS;
    (void)get_value(trial, trial->views);
}

/* The handle that is tried knows nothing yet. */
static void prepare_cold(struct trial *trial)
{
    prepare_some(trial);
    mcds_views_close(trial->views);
    trial->views = open_views(trial);
}

/* The interval has ended. */
static void prepare_ended(struct trial *trial)
{
    prepare_cold(trial);
    shift_wall_ms(trial->suite, (int64_t)2 * FLUSH_MS);
}

/* Views of now, and some so old that a drop erases the list of their pages too. */
static void prepare_old(struct trial *trial)
{
    prepare_some(trial);
    shift_wall_ms(trial->suite, (int64_t)5 * FLUSH_MS);
    CHECK_RESULT(MCDS_OK, mcds_views_hit(trial->views, "/", VIEWS));
    trial->before += VIEWS;
}

/* As another handle sees it. */
static void read_views(struct trial *trial, char *state)
{
    mcds_views *probe = open_views(trial);
    (void)snprintf(state, STATE_MAX, "%lld", (long long)get_value(trial, probe));
    mcds_views_close(probe);
}

static int act_hit(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_views_hit, trial->views, "/", VIEWS);
}

static void expect_hit(const struct trial *trial, uint32_t calls, struct expected *expected)
{
    (void)snprintf(expected->state, STATE_MAX, "%llu",
                   (unsigned long long)(trial->before + (uint64_t)calls * VIEWS));
}

static void judge_hit(struct trial *trial, int result)
{
    judge_change(trial, result, expect_hit, read_views);
}

static int act_get(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_views_get, trial->views, "/",
                   &trial->out);
}

/* A caller that did not finish asking the database keeps others from it for a while. */
static void judge_get(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || is_definite(result));
    HOLDS(trial, trial->out == (result == MCDS_OK ? (int64_t)trial->before : -1));
    if (!trial->suite->own_clock)
        pass_ms(trial->suite, CLAIM_MS);
    int again = act_again(trial);
    HOLDS(trial, again == MCDS_OK || (again == MCDS_TIMEOUT && trial->suite->own_clock));
    HOLDS(trial, trial->out == (again == MCDS_OK ? (int64_t)trial->before : -1));
}

static int act_flush(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_views_flush, trial->views);
}

/* Whatever became of it, the next flush saves all of it once. */
static void judge_flush(struct trial *trial, int result)
{
    int64_t all = (int64_t)trial->before;
    HOLDS(trial, result == MCDS_OK || is_definite(result));
    HOLDS(trial, saved() == all || (result != MCDS_OK && saved() == SAVED));
    HOLDS(trial, get_value(trial, trial->views) == all);
    for (int i = 0; i < 2; i++) {
        HOLDS(trial, act_flush(trial) == MCDS_OK);
        HOLDS(trial, saved() == all);
        HOLDS(trial, get_value(trial, trial->views) == all);
    }
    HOLDS(trial, act_hit(trial) == MCDS_OK);
    HOLDS(trial, get_value(trial, trial->views) == all + VIEWS);
}

static int act_drop(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_views_drop, trial->views);
}

/* After a failure it is called again; then only what the database has is left. */
static void judge_drop(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (is_definite(result))
        HOLDS(trial, get_value(trial, trial->views) == (int64_t)trial->before);
    int again = act_drop(trial);
    HOLDS(trial, again == MCDS_OK || (again == MCDS_NOT_FOUND && !is_definite(result)));
    HOLDS(trial, get_value(trial, trial->views) == SAVED);
    HOLDS(trial, act_hit(trial) == MCDS_OK);
    HOLDS(trial, get_value(trial, trial->views) == SAVED + VIEWS);
}

static const struct scenario scenarios[] = {
    {"views hit", prepare_some, act_hit, judge_hit},
    {"views hit, the first", prepare_none, act_hit, judge_hit},
    {"views hit, cold", prepare_cold, act_hit, judge_hit},
    {"views get", prepare_cold, act_get, judge_get},
    {"views get, from the database", prepare_none, act_get, judge_get},
    {"views flush", prepare_ended, act_flush, judge_flush},
    {"views drop", prepare_old, act_drop, judge_drop},
};

FAULT_CASES(views_faults);
