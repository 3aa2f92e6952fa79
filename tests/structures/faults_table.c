/* Faults: the scenarios of tables. */
#include <stdlib.h>

#include "core/map/map.h"
#include "structures/faults.h"

/* Keys are so long that a few entries fill a key of the store. */
#define KEY_LENGTH 120
#define DEEP 24
#define LARGE 20000
#define DELTA 5
#define VALUE_MAX 32

/* What a table should be: some entries, each with its value, "" where there is none; and the
 * number of fillers, whose keys begin with '#'. */
enum { ANN, BOB, CAT, NAMES };
static const char *const names[NAMES] = {"ann", "bob", "cat"};
struct model {
    uint64_t fillers;
    char values[NAMES][VALUE_MAX];
};

static struct model model_before(const struct trial *trial)
{
    struct model model = {.fillers = trial->before};
    if (!trial->is_new) {
        (void)snprintf(model.values[ANN], VALUE_MAX, "1");
        (void)snprintf(model.values[BOB], VALUE_MAX, "word");
    }
    return model;
}

static void model_put(struct model *model, int name, const char *value)
{
    (void)snprintf(model->values[name], VALUE_MAX, "%s", value);
}

static void model_tell(const struct model *model, char *state)
{
    size_t used = (size_t)snprintf(state, STATE_MAX, "#%llu",
                                   (unsigned long long)model->fillers);
    for (int i = 0; i < NAMES; i++)
        if (model->values[i][0] != '\0')
            used += (size_t)snprintf(state + used, STATE_MAX - used, " %s=%s", names[i],
                                     model->values[i]);
}

static mcds_bytes key_of(const char *word)
{
    static char capacity[KEY_LENGTH + 1];
    int length = snprintf(capacity, sizeof capacity, "%s ", word);
    memset(capacity + length, '.', (size_t)(KEY_LENGTH - length));
    return (mcds_bytes){capacity, KEY_LENGTH};
}

static mcds_table *open_table(struct trial *trial)
{
    mcds_table *table = NULL;
    CHECK_RESULT(MCDS_OK, mcds_table_open(trial->store, trial->name, NULL, &table));
    return table;
}

static void prepare_none(struct trial *trial)
{
    trial->table = open_table(trial);
    trial->is_new = true;
}

static void put(struct trial *trial, const char *key, const char *value)
{
    CHECK_RESULT(MCDS_OK, mcds_table_put(trial->table, key_of(key), mcds_text(value), 0));
}

static void prepare_few(struct trial *trial)
{
    trial->table = open_table(trial);
    put(trial, "ann", "1");
    put(trial, "bob", "word");
}

/* The handle that is tried knows nothing yet. */
static void reopen(struct trial *trial)
{
    mcds_table_close(trial->table);
    trial->table = open_table(trial);
}

static void prepare_cold(struct trial *trial)
{
    prepare_few(trial);
    reopen(trial);
}

static void put_filler(struct trial *trial)
{
    char word[16];
    (void)snprintf(word, sizeof word, "#%llu", (unsigned long long)++trial->before);
    put(trial, word, "5");
}

/* Of a put. */
static size_t record_length(struct trial *trial)
{
    size_t before = first_size(trial, MCDS__TAG_TABLE);
    put_filler(trial);
    return first_size(trial, MCDS__TAG_TABLE) - before;
}

/* The next put makes the key large enough to be split. */
static void prepare_ripe(struct trial *trial)
{
    prepare_few(trial);
    size_t record = record_length(trial);
    while (!first_is_ripe(trial, MCDS__TAG_TABLE, record))
        put_filler(trial);
}

/* Another has begun to rewrite it, and died before the seal: where a change is one command, after
 * it has frozen the key. */
static void prepare_frozen(struct trial *trial)
{
    prepare_ripe(trial);
    bool shows_state = mcds__store_has(trial->store, MCDS_STATE_AFTER_APPEND);
    bool has_numbers = mcds__store_has(trial->store, MCDS_CAS_NUMBERS) && !shows_state;
    counting_backend_arm(trial->counting, FAULT_UNSENT, shows_state ? 3 : 5, true);
    put_filler(trial);
    counting_backend_arm(trial->counting, FAULT_NONE, 0, false);
    HOLDS(trial, first_state(trial, MCDS__TAG_TABLE) == MCDS__MAP_OPEN);
    HOLDS(trial, !has_numbers || !first_has_open_number(trial, MCDS__TAG_TABLE));
    reopen(trial);
}

static void prepare_deep(struct trial *trial)
{
    prepare_few(trial);
    while (trial->before < DEEP)
        put_filler(trial);
    HOLDS(trial, first_state(trial, MCDS__TAG_TABLE) == MCDS__MAP_MOVED);
}

static void prepare_deep_cold(struct trial *trial)
{
    prepare_deep(trial);
    reopen(trial);
}

/* A value as the model keeps it: a long one by its length. */
static void tell_value(mcds_bytes value, char out[VALUE_MAX])
{
    if (value.length < VALUE_MAX)
        (void)snprintf(out, VALUE_MAX, "%.*s", (int)value.length, (const char *)value.data);
    else
        (void)snprintf(out, VALUE_MAX, "long%zu", value.length);
}

static bool note_entry(void *context, mcds_bytes key, mcds_bytes value)
{
    struct model *model = context;
    assert_int_equal(key.length, KEY_LENGTH);
    model->fillers += *(const char *)key.data == '#';
    for (int i = 0; i < NAMES; i++)
        if (memcmp(key.data, names[i], 3) == 0) {
            assert_string_equal(model->values[i], ""); /* each is seen once */
            tell_value(value, model->values[i]);
        }
    return true;
}

/* As another handle sees it. */
static void read_table(struct trial *trial, char *state)
{
    mcds_table *probe = open_table(trial);
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    struct model model = {.fillers = 0};
    int result = mcds_table_scan(probe, &cursor, 0, note_entry, &model);
    HOLDS(trial, result == MCDS_OK || (result == MCDS_NOT_FOUND && trial->is_new));
    HOLDS(trial, cursor.done);
    mcds_table_close(probe);
    model_tell(&model, state);
}

/* A change of one entry: `call` makes it, `effect` says what it does to a model, and what it
 * answers. */
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
        judge_change(trial, result, expect_##name, read_table);                                \
    }

#define CALL_TRIAL(trial, verb, ...)                                                           \
    CALL_IN((trial)->suite, (trial)->pipeline, verb, (trial)->table, __VA_ARGS__)

static void will_put(struct model *model, struct expected *expected)
{
    (void)expected;
    model_put(model, CAT, "5");
}
CHANGE(put, CALL_TRIAL(trial, mcds_table_put, key_of("cat"), mcds_text("5"), 0), will_put)

static void will_replace(struct model *model, struct expected *expected)
{
    (void)expected;
    model_put(model, ANN, "5");
}
CHANGE(replace, CALL_TRIAL(trial, mcds_table_put, key_of("ann"), mcds_text("5"), 0),
       will_replace)

static mcds_bytes large_value(void)
{
    static char capacity[LARGE];
    memset(capacity, 'v', sizeof capacity);
    return (mcds_bytes){capacity, sizeof capacity};
}

static void will_put_large(struct model *model, struct expected *expected)
{
    (void)expected;
    tell_value(large_value(), model->values[CAT]);
}
CHANGE(put_large, CALL_TRIAL(trial, mcds_table_put, key_of("cat"), large_value(), 0),
       will_put_large)

static void will_put_new(struct model *model, struct expected *expected)
{
    expected->result = model->values[CAT][0] != '\0' ? MCDS_EXISTS : MCDS_OK;
    if (expected->result == MCDS_OK)
        model_put(model, CAT, "5");
}
CHANGE(put_new,
       CALL_TRIAL(trial, mcds_table_put_if_absent, key_of("cat"), mcds_text("5"), 3600000),
       will_put_new)

static void will_exist(struct model *model, struct expected *expected)
{
    (void)model;
    expected->result = MCDS_EXISTS;
}
CHANGE(put_known, CALL_TRIAL(trial, mcds_table_put_if_absent, key_of("ann"), mcds_text("5"), 0),
       will_exist)

static void will_swap(struct model *model, struct expected *expected)
{
    expected->result = strcmp(model->values[ANN], "1") == 0 ? MCDS_OK : MCDS_EXISTS;
    if (expected->result == MCDS_OK)
        model_put(model, ANN, "7");
}
CHANGE(swap,
       CALL_TRIAL(trial, mcds_table_compare_and_set, key_of("ann"), mcds_text("1"),
                  mcds_text("7"), 0),
       will_swap)

static void will_not_be_found(struct model *model, struct expected *expected)
{
    (void)model;
    expected->result = MCDS_NOT_FOUND;
}
CHANGE(swap_absent,
       CALL_TRIAL(trial, mcds_table_compare_and_set, key_of("cat"), mcds_text("1"),
                  mcds_text("7"), 0),
       will_not_be_found)

static int remove_entry(struct trial *trial, const char *name, bool wants)
{
    bool changed = false;
    int result = CALL_TRIAL(trial, mcds_table_remove, key_of(name), wants ? &changed : NULL);
    if (result == MCDS_OK && wants)
        trial->out = changed;
    return result;
}

static void will_remove(struct model *model, struct expected *expected)
{
    expected->out = model->values[ANN][0] != '\0';
    model_put(model, ANN, "");
}
CHANGE(remove, remove_entry(trial, "ann", true), will_remove)

static void will_remove_blindly(struct model *model, struct expected *expected)
{
    (void)expected;
    model_put(model, ANN, "");
}
CHANGE(remove_blindly, remove_entry(trial, "ann", false), will_remove_blindly)

static void will_remove_nothing(struct model *model, struct expected *expected)
{
    (void)model;
    expected->out = 0;
}
CHANGE(remove_unknown, remove_entry(trial, "cat", true), will_remove_nothing)

static void will_incr(struct model *model, int name, struct expected *expected)
{
    expected->out = strtoll(model->values[name], NULL, 10) + DELTA;
    (void)snprintf(model->values[name], VALUE_MAX, "%lld", (long long)expected->out);
}

static void will_incr_known(struct model *model, struct expected *expected)
{
    will_incr(model, ANN, expected);
}
CHANGE(incr, CALL_TRIAL(trial, mcds_table_incr, key_of("ann"), DELTA, &trial->out),
       will_incr_known)

static void will_incr_new(struct model *model, struct expected *expected)
{
    will_incr(model, CAT, expected);
}
CHANGE(incr_new, CALL_TRIAL(trial, mcds_table_incr, key_of("cat"), DELTA, &trial->out),
       will_incr_new)

static void will_be_no_number(struct model *model, struct expected *expected)
{
    (void)model;
    expected->result = MCDS_CORRUPT;
}
CHANGE(incr_word, CALL_TRIAL(trial, mcds_table_incr, key_of("bob"), DELTA, &trial->out),
       will_be_no_number)

/* The next change finishes what was begun: that of this handle, which remembers it, or of another,
 * whose append to a frozen key is refused. */
static void judge_split(struct trial *trial, int result)
{
    judge_put(trial, result);
    HOLDS(trial, first_state(trial, MCDS__TAG_TABLE) == MCDS__MAP_MOVED ||
                     first_state(trial, MCDS__TAG_TABLE) == MCDS__MAP_SEALED);
}

static int act_has(struct trial *trial)
{
    return CALL_TRIAL(trial, mcds_table_has, key_of("ann"));
}

static void expect_there(const struct trial *trial, uint32_t calls, struct expected *expected)
{
    (void)calls;
    expected->result = trial->is_new ? MCDS_NOT_FOUND : MCDS_OK;
}

static void judge_has(struct trial *trial, int result)
{
    judge_read(trial, result, expect_there);
}

static int act_get(struct trial *trial)
{
    char value[VALUE_MAX];
    int result = CALL_TRIAL(trial, mcds_table_get, key_of("ann"), &trial->value);
    tell_value((mcds_bytes){trial->value.data, trial->value.length}, value);
    (void)snprintf(trial->seen, sizeof trial->seen, "%s", result == MCDS_OK ? value : "");
    return result;
}

static void expect_text(const struct trial *trial, uint32_t calls, struct expected *expected)
{
    expect_there(trial, calls, expected);
    (void)snprintf(expected->state, STATE_MAX, "%s", trial->is_new ? "" : "1");
}

static void judge_get(struct trial *trial, int result)
{
    judge_read(trial, result, expect_text);
}

/* What has been scanned so far. */
static mcds_table_cursor cursor;
static struct model scanned;

static int act_scan(struct trial *trial)
{
    int result = CALL_TRIAL(trial, mcds_table_scan, &cursor, 0, note_entry, &scanned);
    model_tell(&scanned, trial->seen);
    return result;
}

static void begin_scan(void)
{
    cursor = (mcds_table_cursor)MCDS_TABLE_CURSOR_INIT;
    memset(&scanned, 0, sizeof scanned);
}

static void prepare_scan(struct trial *trial)
{
    prepare_few(trial);
    begin_scan();
}

static void prepare_deep_scan(struct trial *trial)
{
    prepare_deep_cold(trial);
    begin_scan();
}

static void expect_all(const struct trial *trial, uint32_t calls, struct expected *expected)
{
    struct model model = model_before(trial);
    expect_there(trial, calls, expected);
    model_tell(&model, expected->state);
}

/* A scan that failed continues at its position, and sees each entry once in all. */
static void judge_scan(struct trial *trial, int result)
{
    HOLDS(trial, cursor.done == (result == MCDS_OK));
    if (is_definite(result))
        result = act_scan(trial);
    HOLDS(trial, result == MCDS_OK && cursor.done);
    struct expected expected = {MCDS_OK, -1, ""};
    expect_all(trial, 1, &expected);
    HOLDS(trial, strcmp(trial->seen, expected.state) == 0);
}

static int act_drop(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_table_drop, trial->table);
}

/* After a failure it is called again; then the table is gone, and can be made again. */
static void judge_drop(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (is_definite(result))
        judge_state(trial, 0, expect_all, read_table);
    int again = act_drop(trial);
    HOLDS(trial, again == MCDS_NOT_FOUND || (again == MCDS_OK && result != MCDS_OK));
    trial->is_new = true;
    trial->before = 0;
    judge_state(trial, 0, expect_put, read_table);
    HOLDS(trial, act_put(trial) == MCDS_OK);
    judge_state(trial, 1, expect_put, read_table);
}

static const struct scenario scenarios[] = {
    {"table put", prepare_few, act_put, judge_put},
    {"table put, the first", prepare_none, act_put, judge_put},
    {"table put, over another", prepare_cold, act_replace, judge_replace},
    {"table put, large", prepare_few, act_put_large, judge_put_large},
    {"table put, and split", prepare_ripe, act_put, judge_split},
    {"table put, and finish a split", prepare_frozen, act_put, judge_split},
    {"table put, deep", prepare_deep, act_put, judge_put},
    {"table put_if_absent", prepare_few, act_put_new, judge_put_new},
    {"table put_if_absent, the first", prepare_none, act_put_new, judge_put_new},
    {"table put_if_absent, deep and cold", prepare_deep_cold, act_put_new, judge_put_new},
    {"table put_if_absent, of what is there", prepare_few, act_put_known, judge_put_known},
    {"table compare_and_set", prepare_few, act_swap, judge_swap},
    {"table compare_and_set, deep and cold", prepare_deep_cold, act_swap, judge_swap},
    {"table compare_and_set, absent", prepare_cold, act_swap_absent, judge_swap_absent},
    {"table compare_and_set, no table", prepare_none, act_swap_absent, judge_swap_absent},
    {"table remove", prepare_few, act_remove, judge_remove},
    {"table remove, blindly and cold", prepare_cold, act_remove_blindly, judge_remove_blindly},
    {"table remove, absent", prepare_few, act_remove_unknown, judge_remove_unknown},
    {"table remove, no table", prepare_none, act_remove_unknown, judge_remove_unknown},
    {"table incr", prepare_few, act_incr, judge_incr},
    {"table incr, of nothing", prepare_few, act_incr_new, judge_incr_new},
    {"table incr, the first", prepare_none, act_incr_new, judge_incr_new},
    {"table incr, of a word", prepare_few, act_incr_word, judge_incr_word},
    {"table has", prepare_few, act_has, judge_has},
    {"table has, deep and cold", prepare_deep_cold, act_has, judge_has},
    {"table get", prepare_few, act_get, judge_get},
    {"table get, no table", prepare_none, act_get, judge_get},
    {"table get, deep and cold", prepare_deep_cold, act_get, judge_get},
    {"table scan", prepare_scan, act_scan, judge_scan},
    {"table scan, deep and cold", prepare_deep_scan, act_scan, judge_scan},
    {"table drop", prepare_few, act_drop, judge_drop},
    {"table drop, deep", prepare_deep, act_drop, judge_drop},
};

FAULT_CASES(table_faults);
