/* Faults: the scenarios of arrays, in one key and in blocks. */
#include "structures/faults.h"

/* Two parts. */
#define LARGE ((size_t)530000)
#define LONG 16
#define ELEMENTS_MAX 8

static mcds_bytes large_element(void)
{
    static char capacity[LARGE];
    memset(capacity, 'v', sizeof capacity);
    return (mcds_bytes){capacity, sizeof capacity};
}

/* What an array should be: its elements in order, the large one as "LARGE". */
struct model {
    bool is_there;
    uint32_t count;
    const char *elements[ELEMENTS_MAX];
};

static void model_add(struct model *model, const char *element)
{
    model->is_there = true;
    assert_true(model->count < ELEMENTS_MAX);
    model->elements[model->count++] = element;
}

static void model_remove(struct model *model, const char *element)
{
    for (uint32_t i = 0; i < model->count; i++)
        if (strcmp(model->elements[i], element) == 0) {
            model->count--;
            memmove(&model->elements[i], &model->elements[i + 1],
                    (model->count - i) * sizeof model->elements[0]);
            return;
        }
}

static void model_tell(const struct model *model, char *state)
{
    size_t used = (size_t)snprintf(state, STATE_MAX, model->is_there ? "has" : "none");
    for (uint32_t i = 0; i < model->count; i++)
        used += (size_t)snprintf(state + used, STATE_MAX - used, " %s", model->elements[i]);
}

static struct model model_before(const struct trial *trial)
{
    struct model model = {.is_there = false};
    if (trial->is_new)
        return model;
    model_add(&model, "a");
    model_add(&model, "b");
    if (trial->before > 0)
        model_add(&model, "LARGE");
    return model;
}

static mcds_array *open_array(struct trial *trial)
{
    mcds_array *array = NULL;
    CHECK_RESULT(MCDS_OK, mcds_array_open(trial->store, trial->name, NULL, &array));
    return array;
}

static void prepare_none(struct trial *trial)
{
    trial->array = open_array(trial);
    trial->is_new = true;
}

static void prepare(struct trial *trial, size_t count)
{
    mcds_bytes elements[] = {mcds_text("a"), mcds_text("b"), large_element()};
    trial->array = open_array(trial);
    trial->before = count - 2;
    CHECK_RESULT(MCDS_OK, mcds_array_set(trial->array, elements, count));
}

static void prepare_small(struct trial *trial)
{
    prepare(trial, 2);
}

static void prepare_large(struct trial *trial)
{
    prepare(trial, 3);
}

/* The handle that is tried knows nothing yet. */
static void reopen(struct trial *trial)
{
    mcds_array_close(trial->array);
    trial->array = open_array(trial);
}

static void prepare_small_cold(struct trial *trial)
{
    prepare_small(trial);
    reopen(trial);
}

static void prepare_large_cold(struct trial *trial)
{
    prepare_large(trial);
    reopen(trial);
}

/* The elements that a get brings, as text. */
static bool note_element(void *context, mcds_bytes element)
{
    char *state = context;
    size_t used = strlen(state);
    if (element.length < LONG)
        (void)snprintf(state + used, STATE_MAX - used, " %.*s", (int)element.length,
                       (const char *)element.data);
    else
        (void)snprintf(state + used, STATE_MAX - used, " %s",
                       element.length == LARGE ? "LARGE" : "WRONG");
    return true;
}

static int get(struct trial *trial, mcds_array *array, char *state)
{
    (void)snprintf(state, STATE_MAX, "has");
    int result = CALL_IN(trial->suite, trial->pipeline, mcds_array_scan, array, note_element,
                         state);
    if (result != MCDS_OK)
        (void)snprintf(state, STATE_MAX, "none");
    return result;
}

/* As another handle sees it. */
static void read_array(struct trial *trial, char *state)
{
    mcds_array *probe = open_array(trial);
    int result = get(trial, probe, state);
    HOLDS(trial, result == MCDS_OK || result == MCDS_NOT_FOUND);
    mcds_array_close(probe);
}

static bool count_key(void *context, mcds_bytes key)
{
    (void)key;
    ++*(uint32_t *)context;
    return true;
}

/* What nobody needs is gone after the next change, unless it could not be erased. */
static void judge_rests(struct trial *trial)
{
    mcds_bytes small = mcds_text("small");
    uint32_t left = 0;
    struct raw_key parts = raw_key(trial->suite, MCDS__TAG_ARRAY_BLOCK, trial->name, -1);
    HOLDS(trial, mcds_array_set(trial->array, &small, 1) == MCDS_OK);
    if (trial->suite->own_clock || !was_lost_once(trial))
        return;
    if (mcds__store_keys(trial->store, mcds_text(parts.key.bytes), count_key, &left) == MCDS_OK)
        HOLDS(trial, left == 0);
}

/* A change: `call` makes it, `effect` says what it does to a model, and what it answers. */
#define CHANGE(name, call, effect)                                                             \
    static int act_##name(struct trial *trial)                                                 \
    {                                                                                          \
        return call;                                                                           \
    }                                                                                          \
    static void expect_##name(const struct trial *trial, uint32_t calls,                       \
                              struct expected *expected)                                       \
    {                                                                                          \
        struct model model = model_before(trial);                                              \
        for (uint32_t i = 0; i < calls; i++)                                                   \
            effect(&model, expected);                                                          \
        model_tell(&model, expected->state);                                                   \
    }                                                                                          \
    static void judge_##name(struct trial *trial, int result)                                  \
    {                                                                                          \
        judge_change(trial, result, expect_##name, read_array);                                \
        judge_rests(trial);                                                                    \
    }

static int set(struct trial *trial, mcds_bytes element)
{
    mcds_bytes elements[] = {mcds_text("c"), element};
    return CALL_IN(trial->suite, trial->pipeline, mcds_array_set, trial->array, elements, 2);
}

static void will_set(struct model *model, struct expected *expected)
{
    (void)expected;
    model->count = 0;
    model_add(model, "c");
    model_add(model, "d");
}
CHANGE(set, set(trial, mcds_text("d")), will_set)

static void will_set_large(struct model *model, struct expected *expected)
{
    (void)expected;
    model->count = 0;
    model_add(model, "c");
    model_add(model, "LARGE");
}
CHANGE(set_large, set(trial, large_element()), will_set_large)

static int change(struct trial *trial, const char *add, const char *remove)
{
    mcds_bytes added = mcds_text(add);
    mcds_bytes removed = mcds_text(remove);
    return CALL_IN(trial->suite, trial->pipeline, mcds_array_change, trial->array, &added,
                   add != NULL, &removed, 1);
}

static void will_change(struct model *model, struct expected *expected)
{
    (void)expected;
    model_remove(model, "a");
    model_add(model, "c");
}
CHANGE(change_both, change(trial, "c", "a"), will_change)

static void will_not_change(struct model *model, struct expected *expected)
{
    expected->result = model->is_there ? MCDS_OK : MCDS_NOT_FOUND;
}
CHANGE(change_nothing, change(trial, NULL, "x"), will_not_change)

/* The first element once more at the end. */
static int repeat_first(void *context, const mcds_bytes *old, size_t old_count,
                        mcds_elements *fresh)
{
    int result = MCDS_OK;
    (void)context;
    for (size_t i = 0; i < old_count && result == MCDS_OK; i++)
        result = mcds_elements_add(fresh, old[i]);
    if (result == MCDS_OK)
        result = mcds_elements_add(fresh, old != NULL ? old[0] : mcds_text("a"));
    return result;
}

static void will_repeat(struct model *model, struct expected *expected)
{
    (void)expected;
    model_add(model, "a");
}
CHANGE(change_by,
       CALL_IN(trial->suite, trial->pipeline, mcds_array_change_by, trial->array, repeat_first,
               NULL),
       will_repeat)

static void will_drop(struct model *model, struct expected *expected)
{
    expected->result = model->is_there ? MCDS_OK : MCDS_NOT_FOUND;
    model->is_there = false;
    model->count = 0;
}
CHANGE(drop, CALL_IN(trial->suite, trial->pipeline, mcds_array_drop, trial->array), will_drop)

static int act_get(struct trial *trial)
{
    return get(trial, trial->array, trial->seen);
}

static void expect_get(const struct trial *trial, uint32_t calls, struct expected *expected)
{
    struct model model = model_before(trial);
    (void)calls;
    expected->result = model.is_there ? MCDS_OK : MCDS_NOT_FOUND;
    model_tell(&model, expected->state);
}

static void judge_get(struct trial *trial, int result)
{
    judge_read(trial, result, expect_get);
}

static const struct scenario scenarios[] = {
    {"array set", prepare_small, act_set, judge_set},
    {"array set, the first", prepare_none, act_set, judge_set},
    {"array set, in place of a large one", prepare_large_cold, act_set, judge_set},
    {"array set, large", prepare_small, act_set_large, judge_set_large},
    {"array set, large and the first", prepare_none, act_set_large, judge_set_large},
    {"array set, large after large", prepare_large, act_set_large, judge_set_large},
    {"array change", prepare_small, act_change_both, judge_change_both},
    {"array change, cold", prepare_small_cold, act_change_both, judge_change_both},
    {"array change, the first", prepare_none, act_change_both, judge_change_both},
    {"array change, large", prepare_large, act_change_both, judge_change_both},
    {"array change, of nothing", prepare_small, act_change_nothing, judge_change_nothing},
    {"array change, of no array", prepare_none, act_change_nothing, judge_change_nothing},
    {"array change_by", prepare_small, act_change_by, judge_change_by},
    {"array change_by, large", prepare_large_cold, act_change_by, judge_change_by},
    {"array scan", prepare_small, act_get, judge_get},
    {"array scan, no array", prepare_none, act_get, judge_get},
    {"array scan, large", prepare_large_cold, act_get, judge_get},
    {"array drop", prepare_small, act_drop, judge_drop},
    {"array drop, cold", prepare_small_cold, act_drop, judge_drop},
    {"array drop, large", prepare_large, act_drop, judge_drop},
};

FAULT_CASES(array_faults);
