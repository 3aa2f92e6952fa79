/* Faults: the scenarios of logs. */
#include "core/segment/segment.h"
#include "structures/faults_records.h"

#define RETENTION_MS 200000
#define CHUNK_MS 100000
static mcds_log *open_log(struct trial *trial)
{
    mcds_log_options options = MCDS_LOG_OPTIONS_INIT;
    mcds_log *log = NULL;
    options.flags = MCDS_LOG_BY_ARRIVAL; /* so that all events are in one chunk, or two */
    options.retention_ms = RETENTION_MS;
    options.chunk_ms = CHUNK_MS;
    CHECK_RESULT(MCDS_OK, mcds_log_open(trial->store, trial->name, &options, &log));
    return log;
}

static void prepare_none(struct trial *trial)
{
    trial->log = open_log(trial);
    trial->is_new = true;
}

static void prepare_few(struct trial *trial)
{
    trial->log = open_log(trial);
    CHECK_RESULT(MCDS_OK, mcds_log_put(trial->log, 0, record_of("ann", 3)));
    CHECK_RESULT(MCDS_OK, mcds_log_put(trial->log, 1000, record_of("bob", 3)));
}

/* The handle that is tried knows nothing yet. */
static void reopen(struct trial *trial)
{
    mcds_log_close(trial->log);
    trial->log = open_log(trial);
}

static void prepare_cold(struct trial *trial)
{
    prepare_few(trial);
    reopen(trial);
}

static void fill(struct trial *trial, uint64_t count)
{
    prepare_few(trial);
    for (; trial->before < count; trial->before++)
        CHECK_RESULT(MCDS_OK, mcds_log_put(trial->log, 0, record_of("#", FILLER_LENGTH)));
}

/* An event of FULL_LENGTH fits no longer into the part. */
static void prepare_full(struct trial *trial)
{
    fill(trial, 4);
}

static void prepare_deep(struct trial *trial)
{
    fill(trial, DEEP);
    reopen(trial);
}

static void prepare_large(struct trial *trial)
{
    prepare_few(trial);
    CHECK_RESULT(MCDS_OK, mcds_log_put(trial->log, 0, record_of("#", LARGE_LENGTH)));
    trial->before = 1;
}

static bool note_event(void *context, const mcds_log_event *event)
{
    model_note(context, event->event);
    return true;
}

/* As another handle sees it. No server has forgotten anything: there are no gaps. */
static void read_log(struct trial *trial, char *state)
{
    mcds_log *probe = open_log(trial);
    struct model model = {.fillers = 0};
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    int result = mcds_log_scan(probe, NULL, note_event, &model, &info);
    HOLDS(trial, result == MCDS_OK || (result == MCDS_NOT_FOUND && trial->is_new));
    HOLDS(trial, info.gaps == 0 && info.corrupt == 0);
    mcds_log_close(probe);
    model_tell(&model, state);
}

static int put(struct trial *trial, size_t length)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_log_put, trial->log, 0,
                   record_of("cat", length));
}

static int act_put(struct trial *trial)
{
    return put(trial, 3);
}

static int act_put_full(struct trial *trial)
{
    return put(trial, FULL_LENGTH);
}

static int act_put_large(struct trial *trial)
{
    return put(trial, LARGE_LENGTH);
}

static void judge_put(struct trial *trial, int result)
{
    judge_change(trial, result, expect_records, read_log);
}

static int put_many(struct trial *trial, size_t length)
{
    mcds_bytes events[TOGETHER];
    records_of(events, length);
    return CALL_IN(trial->suite, trial->pipeline, mcds_log_put_many, trial->log, 0, events,
                   TOGETHER, NULL);
}

static int act_put_many(struct trial *trial)
{
    return put_many(trial, 3);
}

static int act_put_many_full(struct trial *trial)
{
    return put_many(trial, FULL_LENGTH);
}

static int act_put_many_large(struct trial *trial)
{
    return put_many(trial, LARGE_LENGTH);
}

static void judge_put_many(struct trial *trial, int result)
{
    judge_many(trial, result, read_log);
}

static int act_fetch(struct trial *trial)
{
    struct model model = {.fillers = 0};
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    int result = CALL_IN(trial->suite, trial->pipeline, mcds_log_scan, trial->log, NULL,
                         note_event, &model, &info);
    HOLDS(trial, info.gaps == 0 && info.corrupt == 0);
    model_tell(&model, trial->seen);
    return result;
}

static void judge_fetch(struct trial *trial, int result)
{
    judge_read(trial, result, expect_read);
}

/* What has been followed so far. */
static mcds_log_cursor cursor;
static struct model followed;

static int act_tail(struct trial *trial)
{
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    int result = CALL_IN(trial->suite, trial->pipeline, mcds_log_tail, trial->log, &cursor,
                         note_event, &followed, &info);
    HOLDS(trial, info.gaps == 0 && info.corrupt == 0);
    return result;
}

static void begin_tail(struct trial *trial)
{
    cursor = (mcds_log_cursor)MCDS_LOG_CURSOR_INIT;
    cursor.from_ms = wall_ms(trial->suite) - CHUNK_MS / 2;
    memset(&followed, 0, sizeof followed);
}

static void prepare_tail(struct trial *trial)
{
    prepare_few(trial);
    begin_tail(trial);
}

static void prepare_tail_deep(struct trial *trial)
{
    prepare_deep(trial);
    begin_tail(trial);
}

static void prepare_tail_large(struct trial *trial)
{
    prepare_large(trial);
    begin_tail(trial);
}

/* All but the newest has been seen. */
static void prepare_tail_on(struct trial *trial)
{
    prepare_tail(trial);
    CHECK_RESULT(MCDS_OK, act_tail(trial));
    CHECK_RESULT(MCDS_OK, mcds_log_put(trial->log, 0, record_of("#", 3)));
    trial->before = 1;
}

/* The cursor is after the events that were visited: with the next calls each event comes once. */
static void judge_tail(struct trial *trial, int result)
{
    char state[STATE_MAX];
    struct expected expected = {MCDS_OK, -1, ""};
    HOLDS(trial, result == MCDS_OK || is_definite(result));
    if (result != MCDS_OK)
        HOLDS(trial, act_tail(trial) == MCDS_OK);
    for (uint32_t calls = 0; calls < 2; calls++) {
        expect_records(trial, calls, &expected);
        HOLDS(trial, act_tail(trial) == MCDS_OK);
        model_tell(&followed, state);
        HOLDS(trial, strcmp(state, expected.state) == 0);
        if (calls == 0)
            HOLDS(trial, act_put(trial) == MCDS_OK);
    }
}

static int act_drop(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_log_drop, trial->log);
}

static bool count_key(void *context, mcds_bytes key)
{
    (void)key;
    ++*(uint32_t *)context;
    return true;
}

/* Nothing is left of what was erased, but where the store refused to. */
static void judge_rests(struct trial *trial)
{
    uint32_t left = 0;
    struct raw_key raw = raw_key(trial->suite, MCDS__TAG_LOG_SEGMENT, trial->name, -1);
    if (trial->suite->own_clock || !was_lost_once(trial))
        return;
    if (mcds__store_keys(trial->store, mcds_text(raw.key.bytes), count_key, &left) == MCDS_OK)
        HOLDS(trial, left == 0);
}

/* After a failure it is called again; then the log is gone, and can be made again. */
static void judge_drop(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (is_definite(result))
        judge_state(trial, 0, expect_records, read_log);
    int again = act_drop(trial);
    HOLDS(trial, again == MCDS_NOT_FOUND || (again == MCDS_OK && result != MCDS_OK));
    judge_rests(trial);
    trial->is_new = true;
    trial->before = 0;
    judge_state(trial, 0, expect_records, read_log);
    HOLDS(trial, act_put(trial) == MCDS_OK);
    judge_state(trial, 1, expect_records, read_log);
}

static const struct scenario scenarios[] = {
    {"log put", prepare_few, act_put, judge_put},
    {"log put, the first", prepare_none, act_put, judge_put},
    {"log put, cold", prepare_cold, act_put, judge_put},
    {"log put, into the next part", prepare_full, act_put_full, judge_put},
    {"log put, deep and cold", prepare_deep, act_put_full, judge_put},
    {"log put, large", prepare_few, act_put_large, judge_put},
    {"log put, large and the first", prepare_none, act_put_large, judge_put},
    {"log put_many", prepare_few, act_put_many, judge_put_many},
    {"log put_many, the first", prepare_none, act_put_many, judge_put_many},
    {"log put_many, into the next part", prepare_full, act_put_many_full, judge_put_many},
    {"log put_many, large", prepare_few, act_put_many_large, judge_put_many},
    {"log scan", prepare_few, act_fetch, judge_fetch},
    {"log scan, no log", prepare_none, act_fetch, judge_fetch},
    {"log scan, deep and cold", prepare_deep, act_fetch, judge_fetch},
    {"log scan, large", prepare_large, act_fetch, judge_fetch},
    {"log tail", prepare_tail, act_tail, judge_tail},
    {"log tail, from where it stood", prepare_tail_on, act_tail, judge_tail},
    {"log tail, deep and cold", prepare_tail_deep, act_tail, judge_tail},
    {"log tail, large", prepare_tail_large, act_tail, judge_tail},
    {"log drop", prepare_few, act_drop, judge_drop},
    {"log drop, cold", prepare_cold, act_drop, judge_drop},
    {"log drop, deep and cold", prepare_deep, act_drop, judge_drop},
    {"log drop, large", prepare_large, act_drop, judge_drop},
};

FAULT_CASES(log_faults);
