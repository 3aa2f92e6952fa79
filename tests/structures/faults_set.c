/* Faults: the scenarios of sets, in each form. */
#include "core/map/map.h"
#include "structures/faults.h"

/* Elements are so long that a few fill a key. */
#define ELEMENT_LENGTH 120
#define DEEP 24
#define WORDS_MAX 16

static mcds_set_form form;

/* What a set should be: its elements by their first three letters, in order; the fillers, which
 * begin with '#', by their number. */
struct model {
    uint64_t fillers;
    uint32_t count;
    char words[WORDS_MAX][4];
};

static bool model_add(struct model *model, const char *word)
{
    for (uint32_t i = 0; i < model->count && form == MCDS_SET_PLAIN; i++)
        if (strcmp(model->words[i], word) == 0)
            return false;
    assert_true(model->count < WORDS_MAX);
    (void)snprintf(model->words[model->count++], sizeof model->words[0], "%.3s", word);
    return true;
}

static bool model_remove(struct model *model, const char *word)
{
    for (uint32_t i = 0; i < model->count; i++)
        if (strcmp(model->words[i], word) == 0) {
            model->count--;
            memmove(model->words[i], model->words[i + 1],
                    (model->count - i) * sizeof model->words[0]);
            return true;
        }
    return false;
}

/* In their order where it has one, else how often each is there. */
static void model_tell(const struct model *model, char *state)
{
    static const char *const known[] = {"ann", "bob", "cat"};
    size_t used = (size_t)snprintf(state, STATE_MAX, "#%llu",
                                   (unsigned long long)model->fillers);
    for (uint32_t i = 0; i < model->count && form == MCDS_SET_LIST; i++)
        used += (size_t)snprintf(state + used, STATE_MAX - used, " %s", model->words[i]);
    for (size_t k = 0; k < 3 && form != MCDS_SET_LIST; k++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < model->count; i++)
            count += strcmp(model->words[i], known[k]) == 0;
        if (count > 0)
            used += (size_t)snprintf(state + used, STATE_MAX - used, " %s*%u", known[k], count);
    }
}

static struct model model_before(const struct trial *trial)
{
    struct model model = {.fillers = trial->before};
    if (!trial->is_new) {
        (void)model_add(&model, "ann");
        (void)model_add(&model, "bob");
    }
    return model;
}

static mcds_bytes element(const char *word)
{
    static char capacity[ELEMENT_LENGTH + 1];
    int length = snprintf(capacity, sizeof capacity, "%s ", word);
    memset(capacity + length, '.', (size_t)(ELEMENT_LENGTH - length));
    return (mcds_bytes){capacity, ELEMENT_LENGTH};
}

static mcds_set *open_set(struct trial *trial)
{
    mcds_set_options options = MCDS_SET_OPTIONS_INIT;
    mcds_set *set = NULL;
    options.form = form;
    CHECK_RESULT(MCDS_OK, mcds_set_open(trial->store, trial->name, &options, &set));
    return set;
}

static void prepare_none(struct trial *trial)
{
    trial->set = open_set(trial);
    trial->is_new = true;
}

static void prepare_few(struct trial *trial)
{
    trial->set = open_set(trial);
    CHECK_RESULT(MCDS_OK, mcds_set_add(trial->set, element("ann"), NULL));
    CHECK_RESULT(MCDS_OK, mcds_set_add(trial->set, element("bob"), NULL));
}

/* The handle that is tried knows nothing yet. */
/* The places of a list's elements follow the clock, and one handle keeps its own in order. */
static void reopen(struct trial *trial)
{
    mcds_set_close(trial->set);
    pass_ms(trial->suite, 1);
    trial->set = open_set(trial);
}

static void prepare_cold(struct trial *trial)
{
    prepare_few(trial);
    reopen(trial);
}

static void add_filler(struct trial *trial)
{
    char word[16];
    (void)snprintf(word, sizeof word, "#%llu", (unsigned long long)++trial->before);
    CHECK_RESULT(MCDS_OK, mcds_set_add(trial->set, element(word), NULL));
}

static void fill(struct trial *trial, uint64_t count)
{
    while (trial->before < count)
        add_filler(trial);
}

/* Of an addition. */
static size_t record_length(struct trial *trial)
{
    size_t before = first_size(trial, MCDS__TAG_SET);
    add_filler(trial);
    return first_size(trial, MCDS__TAG_SET) - before;
}

/* The next addition makes the key large enough to be split. */
static void prepare_ripe(struct trial *trial)
{
    prepare_few(trial);
    size_t record = record_length(trial);
    while (!first_is_ripe(trial, MCDS__TAG_SET, record))
        add_filler(trial);
}

/* The same, and there is little in it: it is only rewritten. */
static void prepare_churned(struct trial *trial)
{
    prepare_few(trial);
    size_t record = record_length(trial);
    while (!first_is_ripe(trial, MCDS__TAG_SET, record)) {
        if (trial->before == 0) {
            add_filler(trial);
            continue;
        }
        CHECK_RESULT(MCDS_OK, mcds_set_remove(trial->set, element("#1"), NULL));
        trial->before = 0;
    }
}

/* Another has begun to split it, and died. */
static void prepare_sealed(struct trial *trial)
{
    prepare_ripe(trial);
    counting_backend_arm(trial->counting, FAULT_UNSENT, 6, true);
    add_filler(trial);
    counting_backend_arm(trial->counting, FAULT_NONE, 0, false);
    HOLDS(trial, first_state(trial, MCDS__TAG_SET) == MCDS__MAP_SEALED);
    reopen(trial);
}

static void prepare_deep(struct trial *trial)
{
    prepare_few(trial);
    fill(trial, DEEP);
    HOLDS(trial, first_state(trial, MCDS__TAG_SET) == MCDS__MAP_MOVED);
}

static void prepare_deep_cold(struct trial *trial)
{
    prepare_deep(trial);
    reopen(trial);
}

static bool note_element(void *context, mcds_bytes element, uint64_t count)
{
    struct model *model = context;
    char word[4];
    (void)snprintf(word, sizeof word, "%.3s", (const char *)element.data);
    assert_int_equal(element.length, ELEMENT_LENGTH);
    if (word[0] == '#') {
        model->fillers += count;
        return true;
    }
    for (; count > 0 && model->count < WORDS_MAX; count--)
        (void)snprintf(model->words[model->count++], sizeof model->words[0], "%s", word);
    return true;
}

/* As another handle sees it. */
static void read_set(struct trial *trial, char *state)
{
    mcds_set *probe = open_set(trial);
    struct model model = {.count = 0};
    int result = mcds_set_scan(probe, note_element, &model);
    HOLDS(trial, result == MCDS_OK || (result == MCDS_NOT_FOUND && trial->is_new));
    mcds_set_close(probe);
    model_tell(&model, state);
}

static int add(struct trial *trial, const char *word, bool wants)
{
    bool changed = false;
    int result = CALL_IN(trial->suite, trial->pipeline, mcds_set_add, trial->set, element(word),
                         wants ? &changed : NULL);
    if (result == MCDS_OK && wants)
        trial->out = changed;
    return result;
}

static int remove_one(struct trial *trial, const char *word, bool wants)
{
    bool changed = false;
    int result = CALL_IN(trial->suite, trial->pipeline, mcds_set_remove, trial->set,
                         element(word), wants ? &changed : NULL);
    if (result == MCDS_OK && wants)
        trial->out = changed;
    return result;
}

static void expect_changes(const struct trial *trial, uint32_t calls, struct expected *expected,
                           bool (*change)(struct model *model, const char *word),
                           const char *word, bool wants)
{
    struct model model = model_before(trial);
    for (uint32_t i = 0; i < calls; i++) {
        bool changed = change(&model, word);
        if (wants)
            expected->out = changed;
    }
    model_tell(&model, expected->state);
}

/* A change of one element: what calls it, what is expected, what judges it. */
#define CHANGE(name, call, change, word, wants)                                                \
    static int act_##name(struct trial *trial)                                                 \
    {                                                                                          \
        return call(trial, word, wants);                                                       \
    }                                                                                          \
    static void expect_##name(const struct trial *trial, uint32_t calls,                       \
                              struct expected *expected)                                       \
    {                                                                                          \
        expect_changes(trial, calls, expected, change, word, wants);                           \
    }                                                                                          \
    static void judge_##name(struct trial *trial, int result)                                  \
    {                                                                                          \
        judge_change(trial, result, expect_##name, read_set);                                  \
    }

CHANGE(add, add, model_add, "cat", true)
CHANGE(add_blindly, add, model_add, "cat", false)
CHANGE(add_known, add, model_add, "ann", true)
CHANGE(remove, remove_one, model_remove, "ann", true)
CHANGE(remove_blindly, remove_one, model_remove, "ann", false)
CHANGE(remove_unknown, remove_one, model_remove, "cat", true)

/* The next client finishes what was begun, or leaves it to others where the store refuses requests that
 * its own change does not need. */
static void judge_split(struct trial *trial, int result)
{
    judge_add(trial, result);
    HOLDS(trial, first_state(trial, MCDS__TAG_SET) == MCDS__MAP_MOVED ||
                     first_state(trial, MCDS__TAG_SET) == MCDS__MAP_SEALED);
}

static void judge_rewriting(struct trial *trial, int result)
{
    judge_add(trial, result);
    HOLDS(trial, first_size(trial, MCDS__TAG_SET) < MCDS__MAP_SOFT);
}

static int act_has(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_set_has, trial->set, element("ann"));
}

static void expect_has(const struct trial *trial, uint32_t calls, struct expected *expected)
{
    (void)calls;
    expected->result = trial->is_new ? MCDS_NOT_FOUND : MCDS_OK;
}

static void judge_has(struct trial *trial, int result)
{
    judge_read(trial, result, expect_has);
}

static int act_has_not(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_set_has, trial->set, element("cat"));
}

static void expect_has_not(const struct trial *trial, uint32_t calls, struct expected *expected)
{
    (void)trial;
    (void)calls;
    expected->result = MCDS_NOT_FOUND;
}

static void judge_has_not(struct trial *trial, int result)
{
    judge_read(trial, result, expect_has_not);
}

static int act_fetch(struct trial *trial)
{
    struct model model = {.count = 0};
    int result = CALL_IN(trial->suite, trial->pipeline, mcds_set_scan, trial->set, note_element,
                         &model);
    model_tell(&model, trial->seen);
    return result;
}

static void expect_fetch(const struct trial *trial, uint32_t calls, struct expected *expected)
{
    struct model model = model_before(trial);
    (void)calls;
    expected->result = trial->is_new ? MCDS_NOT_FOUND : MCDS_OK;
    model_tell(&model, expected->state);
}

static void judge_fetch(struct trial *trial, int result)
{
    judge_read(trial, result, expect_fetch);
}

static int act_drop(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_set_drop, trial->set);
}

/* After a failure it is called again; then the set is gone, and can be made again. */
static void judge_drop(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (is_definite(result))
        judge_state(trial, 0, expect_fetch, read_set);
    int again = act_drop(trial);
    HOLDS(trial, again == MCDS_NOT_FOUND || (again == MCDS_OK && result != MCDS_OK));
    trial->is_new = true;
    trial->before = 0;
    judge_state(trial, 0, expect_add, read_set);
    HOLDS(trial, act_add(trial) == MCDS_OK);
    judge_state(trial, 1, expect_add, read_set);
}

static const struct scenario scenarios[] = {
    {"set add", prepare_few, act_add, judge_add},
    {"set add, blindly", prepare_few, act_add_blindly, judge_add_blindly},
    {"set add, the first", prepare_none, act_add, judge_add},
    {"set add, cold", prepare_cold, act_add_blindly, judge_add_blindly},
    {"set add, of what is there", prepare_few, act_add_known, judge_add_known},
    {"set add, and split", prepare_ripe, act_add, judge_split},
    {"set add, and rewrite", prepare_churned, act_add, judge_rewriting},
    {"set add, and finish a split", prepare_sealed, act_add, judge_split},
    {"set add, deep", prepare_deep, act_add_blindly, judge_add_blindly},
    {"set add, deep and cold", prepare_deep_cold, act_add, judge_add},
    {"set remove", prepare_few, act_remove, judge_remove},
    {"set remove, blindly and cold", prepare_cold, act_remove_blindly, judge_remove_blindly},
    {"set remove, of what is not there", prepare_few, act_remove_unknown, judge_remove_unknown},
    {"set remove, of no set", prepare_none, act_remove_unknown, judge_remove_unknown},
    {"set remove, deep and cold", prepare_deep_cold, act_remove, judge_remove},
    {"set has", prepare_few, act_has, judge_has},
    {"set has, and finish a split", prepare_sealed, act_has, judge_has},
    {"set has, deep and cold", prepare_deep_cold, act_has, judge_has},
    {"set has not", prepare_cold, act_has_not, judge_has_not},
    {"set scan", prepare_few, act_fetch, judge_fetch},
    {"set scan, of no set", prepare_none, act_fetch, judge_fetch},
    {"set scan, and finish a split", prepare_sealed, act_fetch, judge_fetch},
    {"set scan, deep and cold", prepare_deep_cold, act_fetch, judge_fetch},
    {"set drop", prepare_few, act_drop, judge_drop},
    {"set drop, deep", prepare_deep, act_drop, judge_drop},
};

static void set_faults(struct suite *suite)
{
    /* Counts and positions show more than membership; where trials take their time, one form. */
    bool all = !suite->own_clock && !suite->can.durable;
    for (form = all ? MCDS_SET_PLAIN : MCDS_SET_BAG;
         form <= (all ? MCDS_SET_LIST : MCDS_SET_BAG); form++)
        for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
            try_all_faults(suite, &scenarios[i]);
}

static const struct suite_case cases[] = {
    CASE_TWICE(set_faults),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
