/* Long lists on the lmdb: backend, which are executed in the order of their keys. */
#include "support/lmdb_fixture.h"

#include "store/lmdb/commit/writer.h"
#include "support/fake_env.h"

#define BATCHES 600
#define KEY_CAPACITY 32

struct list {
    char keys[BATCHES][KEY_CAPACITY];
    mcds_request requests[BATCHES];
    mcds_batch batches[BATCHES];
};

/* A list of increments whose keys are made of `format` and a number below `numbers`. */
static void fill(struct list *list, const char *format, uint32_t numbers)
{
    uint32_t dice = 7;
    memset(list, 0, sizeof *list);
    for (size_t i = 0; i < BATCHES; i++) {
        dice = dice * 1664525 + 1013904223;
        uint32_t number = (uint32_t)((uint64_t)dice * numbers >> 32);
        (void)snprintf(list->keys[i], KEY_CAPACITY, format, (unsigned)number);
        list->requests[i] = (mcds_request){.command = MCDS_INCR,
                                           .options = MCDS_CREATE,
                                           .key = text(list->keys[i]),
                                           .delta = 1,
                                           .initial = 1};
        list->batches[i] = (mcds_batch){.requests = &list->requests[i], .count = 1};
        list->batches[i].deadline_ns = mcds__monotonic_ns(mcds_env_system()) + HOUR_NS;
        list->batches[i].next = i + 1 < BATCHES ? &list->batches[i + 1] : NULL;
    }
}

static size_t number_of(const struct list *list, const mcds_batch *batch)
{
    return (size_t)(batch - list->batches);
}

/* Sort the list; each batch comes once, and those of one key in their order. */
static void check_sorting(struct list *list, bool exact)
{
    size_t count = 0;
    bool seen[BATCHES] = {false};
    struct mcds__lmdb_row *rows = mcds__lmdb_key_order(mcds_env_system(), list->batches, NULL,
                                                       BATCHES, &count);
    assert_non_null(rows);
    for (size_t i = 0; i < count; i++) {
        size_t number = number_of(list, rows[i].batch);
        assert_false(seen[number]);
        seen[number] = true;
        int order = i > 0 ? strcmp(list->keys[number_of(list, rows[i - 1].batch)],
                                   list->keys[number])
                          : -1;
        assert_true(order <= 0 || !exact);
        assert_true(order != 0 || number > number_of(list, rows[i - 1].batch));
    }
    for (size_t i = 0; i < BATCHES; i++)
        assert_true(seen[i] == (list->batches[i].answered == 0));
    mcds__free(mcds_env_system(), rows);
}

static void lists_are_sorted_by_key(void **state)
{
    static struct list list;
    (void)state;
    static const char *const formats[] = {"ns:c1:counter%u", "%u", "a:%05u:tail", "%08u.%%"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        fill(&list, formats[i], 1000);
        check_sorting(&list, true);
        list.batches[0].answered = list.batches[BATCHES / 2].answered = 1;
        check_sorting(&list, true);
    }
    fill(&list, "%u", 4000000000);
    check_sorting(&list, false);
    fill(&list, "one key %%", 1);
    check_sorting(&list, true);
    for (size_t i = 0; i < BATCHES; i++)
        list.batches[i].answered = 1;
    check_sorting(&list, true);
}

/* Numbers of each key go up by one along the list. */
static void assert_counted(const struct list *list)
{
    for (size_t i = 0; i < BATCHES; i++) {
        uint64_t before = 0;
        for (size_t j = 0; j < i; j++)
            before += strcmp(list->keys[i], list->keys[j]) == 0;
        assert_int_equal(list->batches[i].answered, 1);
        assert_int_equal(list->requests[i].reply.outcome, MCDS_OUT_OK);
        assert_int_equal(list->requests[i].reply.number, before + 1);
    }
}

static void submit(mcds_store *store, struct list *list)
{
    struct mcds__session *session;
    size_t back = 0;
    assert_int_equal(mcds__session_take(store, 0, &session), MCDS_OK);
    mcds__session_submit(session, list->batches);
    for (mcds_batch *batch = mcds__session_collect(session, 0); batch != NULL;
         batch = batch->next)
        back++;
    assert_int_equal(back, BATCHES);
    mcds__session_give(store, session);
}

static void requests_for_one_key_keep_their_order(void **state)
{
    static struct list list;
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "?sync=async", NULL);
    fill(&list, "counter%u", 100);
    submit(store, &list);
    assert_counted(&list);
    mcds_close(store);
}

static void without_memory_a_list_is_carried_out_as_it_is(void **state)
{
    static struct list list;
    struct fixture *fixture = *state;
    struct fake_env fake;
    fake_env_init(&fake, 1);
    mcds_store *store = open_store(fixture->file, "?sync=async", &fake.env);
    struct mcds__session *session;
    assert_int_equal(mcds__session_take(store, 0, &session), MCDS_OK);
    mcds__session_give(store, session);
    fill(&list, "counter%u", 100);
    fake.allowed = 0;
    submit(store, &list);
    fake.allowed = -1;
    assert_counted(&list);
    mcds_close(store);
    assert_int_equal(fake.blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_sorted_by_key),
        TEST(requests_for_one_key_keep_their_order),
        TEST(without_memory_a_list_is_carried_out_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
