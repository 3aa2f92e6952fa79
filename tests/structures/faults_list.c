/* Faults: the scenarios of lists. */
#include "core/segment/segment.h"
#include "structures/faults_records.h"

static mcds_list *open_list(struct trial *trial)
{
    mcds_list *list = NULL;
    CHECK_RESULT(MCDS_OK, mcds_list_open(trial->store, trial->name, NULL, &list));
    return list;
}

static void prepare_none(struct trial *trial)
{
    trial->list = open_list(trial);
    trial->is_new = true;
}

static void prepare_few(struct trial *trial)
{
    trial->list = open_list(trial);
    CHECK_RESULT(MCDS_OK, mcds_list_push(trial->list, record_of("ann", 3)));
    CHECK_RESULT(MCDS_OK, mcds_list_push(trial->list, record_of("bob", 3)));
}

/* The handle that is tried knows nothing yet. */
static void reopen(struct trial *trial)
{
    mcds_list_close(trial->list);
    trial->list = open_list(trial);
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
        CHECK_RESULT(MCDS_OK, mcds_list_push(trial->list, record_of("#", FILLER_LENGTH)));
}

/* A value of FULL_LENGTH fits no longer into the part. */
static void prepare_full(struct trial *trial)
{
    fill(trial, 4);
}

static void prepare_full_cold(struct trial *trial)
{
    prepare_full(trial);
    reopen(trial);
}

static void prepare_deep(struct trial *trial)
{
    fill(trial, DEEP);
    reopen(trial);
}

static void prepare_large(struct trial *trial)
{
    prepare_few(trial);
    CHECK_RESULT(MCDS_OK, mcds_list_push(trial->list, record_of("#", LARGE_LENGTH)));
    trial->before = 1;
}

static bool note_value(void *context, mcds_bytes value)
{
    model_note(context, value);
    return true;
}

/* As another handle sees it. */
static void read_list(struct trial *trial, char *state)
{
    mcds_list *probe = open_list(trial);
    struct model model = {.fillers = 0};
    int result = mcds_list_scan(probe, 0, 0, note_value, &model);
    HOLDS(trial, result == MCDS_OK || (result == MCDS_NOT_FOUND && trial->is_new));
    mcds_list_close(probe);
    model_tell(&model, state);
}

static int push(struct trial *trial, size_t length)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_list_push, trial->list,
                   record_of("cat", length));
}

static int act_push(struct trial *trial)
{
    return push(trial, 3);
}

static int act_push_full(struct trial *trial)
{
    return push(trial, FULL_LENGTH);
}

static int act_push_large(struct trial *trial)
{
    return push(trial, LARGE_LENGTH);
}

static void judge_push(struct trial *trial, int result)
{
    judge_change(trial, result, expect_records, read_list);
}

static int push_many(struct trial *trial, size_t length)
{
    mcds_bytes values[TOGETHER];
    records_of(values, length);
    return CALL_IN(trial->suite, trial->pipeline, mcds_list_push_many, trial->list, values,
                   TOGETHER, NULL);
}

static int act_push_many(struct trial *trial)
{
    return push_many(trial, 3);
}

static int act_push_many_full(struct trial *trial)
{
    return push_many(trial, FULL_LENGTH);
}

static int act_push_many_large(struct trial *trial)
{
    return push_many(trial, LARGE_LENGTH);
}

static void judge_push_many(struct trial *trial, int result)
{
    judge_many(trial, result, read_list);
}

static int act_fetch(struct trial *trial)
{
    struct model model = {.fillers = 0};
    int result = CALL_IN(trial->suite, trial->pipeline, mcds_list_scan, trial->list, 0, 0,
                         note_value, &model);
    model_tell(&model, trial->seen);
    return result;
}

static void judge_fetch(struct trial *trial, int result)
{
    judge_read(trial, result, expect_read);
}

static int act_clear(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_list_clear, trial->list);
}

static int act_drop(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_list_drop, trial->list);
}

/* Of large values; their keys have two more numbers than those of parts. */
static bool count_piece(void *context, mcds_bytes key)
{
    uint32_t colons = 0;
    for (size_t i = 0; i < key.length; i++)
        colons += ((const char *)key.data)[i] == ':';
    *(uint32_t *)context += colons > 4;
    return true;
}

/* As far as the store could be reached. */
static void judge_rests(struct trial *trial)
{
    uint32_t left = 0;
    struct raw_key raw = raw_key(trial->suite, MCDS__TAG_LIST_SEGMENT, trial->name, -1);
    if (trial->suite->own_clock || !was_lost_once(trial) || trial->counting->fault_erasures > 0)
        return;
    if (mcds__store_keys(trial->store, mcds_text(raw.key.bytes), count_piece, &left) == MCDS_OK)
        HOLDS(trial, left == 0);
}

/* A value pushed after it is absent, or last, or alone. A push that meets a clear
 * which is not finished may be in doubt where the store does not report sizes. */
static void judge_next_push(struct trial *trial, int result)
{
    struct expected kept[2];
    char state[STATE_MAX];
    int pushed = act_push(trial);
    HOLDS(trial, pushed == MCDS_OK || (pushed == MCDS_AMBIGUOUS && result == MCDS_AMBIGUOUS));
    read_list(trial, state);
    for (uint32_t calls = 0; calls < 2; calls++)
        expect_records(trial, calls, &kept[calls]);
    bool is_kept = strcmp(state, kept[1].state) == 0;
    bool is_alone = strcmp(state, "#0 cat") == 0;
    bool is_none = strcmp(state, "#0") == 0 || strcmp(state, kept[0].state) == 0;
    HOLDS(trial, is_kept || is_alone || (is_none && pushed == MCDS_AMBIGUOUS));
    HOLDS(trial, is_alone || result != MCDS_OK);
    HOLDS(trial, is_kept || !is_definite(result));
}

/* What begins afterwards is in the list, and what was before is not; where the call has not been
 * made, it is not made later either. */
static void judge_clear(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (is_definite(result))
        judge_state(trial, 0, expect_records, read_list);
    if (result == MCDS_OK)
        judge_rests(trial);
    judge_next_push(trial, result);
    HOLDS(trial, act_again(trial) == MCDS_OK);
    trial->is_new = true;
    trial->before = 0;
    judge_state(trial, 0, expect_records, read_list);
    HOLDS(trial, act_push(trial) == MCDS_OK);
    judge_state(trial, 1, expect_records, read_list);
}

static const struct scenario scenarios[] = {
    {"list push", prepare_few, act_push, judge_push},
    {"list push, the first", prepare_none, act_push, judge_push},
    {"list push, cold", prepare_cold, act_push, judge_push},
    {"list push, into the next part", prepare_full, act_push_full, judge_push},
    {"list push, into the next part and cold", prepare_full_cold, act_push_full, judge_push},
    {"list push, deep and cold", prepare_deep, act_push, judge_push},
    {"list push, large", prepare_few, act_push_large, judge_push},
    {"list push, large and the first", prepare_none, act_push_large, judge_push},
    {"list push_many", prepare_few, act_push_many, judge_push_many},
    {"list push_many, the first", prepare_none, act_push_many, judge_push_many},
    {"list push_many, into the next part", prepare_full, act_push_many_full, judge_push_many},
    {"list push_many, large", prepare_few, act_push_many_large, judge_push_many},
    {"list scan", prepare_few, act_fetch, judge_fetch},
    {"list scan, no list", prepare_none, act_fetch, judge_fetch},
    {"list scan, deep and cold", prepare_deep, act_fetch, judge_fetch},
    {"list scan, large", prepare_large, act_fetch, judge_fetch},
    {"list clear", prepare_few, act_clear, judge_clear},
    {"list clear, deep and cold", prepare_deep, act_clear, judge_clear},
    {"list clear, large", prepare_large, act_clear, judge_clear},
    {"list drop", prepare_few, act_drop, judge_clear},
    {"list drop, cold", prepare_cold, act_drop, judge_clear},
    {"list drop, deep and cold", prepare_deep, act_drop, judge_clear},
    {"list drop, large", prepare_large, act_drop, judge_clear},
};

FAULT_CASES(list_faults);
