/* Faults: the records of lists and logs, and what is expected of them. */
#include "structures/faults_records.h"

mcds_bytes record_of(const char *word, size_t length)
{
    static char capacity[TOGETHER][LARGE_LENGTH];
    static uint32_t next;
    char *at = capacity[next++ % TOGETHER];
    memset(at, '.', length);
    memcpy(at, word, strlen(word));
    return (mcds_bytes){at, length};
}

void records_of(mcds_bytes records[TOGETHER], size_t length)
{
    static const char *const words[TOGETHER] = {"cat", "dan", "eve"};
    for (int i = 0; i < TOGETHER; i++)
        records[i] = record_of(words[i], length);
}

static void model_add(struct model *model, const char *word, int length)
{
    size_t used = strlen(model->text);
    (void)snprintf(model->text + used, sizeof model->text - used, " %.*s", length, word);
}

void model_note(struct model *model, mcds_bytes record)
{
    const char *word = record.data;
    if (word[0] == '#')
        model->fillers++;
    else
        model_add(model, word, 3);
}

void model_tell(const struct model *model, char *state)
{
    (void)snprintf(state, STATE_MAX, "#%llu%s", (unsigned long long)model->fillers,
                   model->text);
}

static struct model model_before(const struct trial *trial)
{
    struct model model = {.fillers = trial->before};
    if (!trial->is_new)
        model_add(&model, "ann bob", 7);
    return model;
}

void expect_records(const struct trial *trial, uint32_t calls, struct expected *expected)
{
    struct model model = model_before(trial);
    for (uint32_t i = 0; i < calls; i++)
        model_add(&model, "cat", 3);
    model_tell(&model, expected->state);
}

void expect_read(const struct trial *trial, uint32_t calls, struct expected *expected)
{
    expect_records(trial, 0, expected);
    (void)calls;
    expected->result = trial->is_new ? MCDS_NOT_FOUND : MCDS_OK;
}

/* `calls`: of how many records. */
static void expect_first(const struct trial *trial, uint32_t calls, struct expected *expected)
{
    struct model model = model_before(trial);
    if (calls > 0)
        model_add(&model, "cat dan eve", (int)(4 * calls - 1));
    model_tell(&model, expected->state);
}

void judge_many(struct trial *trial, int result, void (*read)(struct trial *trial, char *state))
{
    char state[STATE_MAX];
    struct expected expected = {MCDS_OK, -1, ""};
    uint32_t there = 0;
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    read(trial, state);
    for (uint32_t count = 1; count <= TOGETHER; count++) {
        expect_first(trial, count, &expected);
        there = strcmp(state, expected.state) == 0 ? count : there;
    }
    HOLDS(trial, there == TOGETHER || result != MCDS_OK);
    judge_state(trial, there, expect_first, read);
    HOLDS(trial, act_again(trial) == MCDS_OK);
    expect_first(trial, there, &expected);
    size_t used = strlen(expected.state);
    (void)snprintf(expected.state + used, STATE_MAX - used, " cat dan eve");
    read(trial, state);
    HOLDS(trial, strcmp(state, expected.state) == 0);
}
