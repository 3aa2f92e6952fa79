/* A load that makes a structure without elements removes nothing that another program has put there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dump/structure.h"
#include "load/empty.h"
#include "table/commands.h"
#include "table/nouns.h"

#define JOBS 100

static mcds_store *store;
static struct moved_clock clock_of_store;

static const struct noun *noun_named(const char *word)
{
    const struct noun *noun = all_nouns;
    while (strcmp(noun->word, word) != 0)
        assert_non_null((++noun)->word);
    return noun;
}

/* Opens a structure of the noun; `make` makes it empty. */
static void *open_noun(struct command *structure, const char *word)
{
    void *handle = NULL;
    structure_describe(structure, noun_named(word), "x");
    assert_int_equal(structure_open(store, structure, &handle), MCDS_OK);
    return handle;
}

static void make(const struct command *structure, void *handle)
{
    assert_int_equal(make_empty(structure, handle, &clock_of_store), MCDS_OK);
}

struct seen {
    uint32_t count;
    bool is_own; /* one is not that of the other program */
};

static void see(struct seen *seen, mcds_bytes value)
{
    seen->count++;
    seen->is_own = seen->is_own || value.length != 1 || memcmp(value.data, "x", 1) != 0;
}

/* Each job is a byte. */
static bool see_dead(void *context, const mcds_queue_entry *entry)
{
    bool *is_there = context;
    assert_int_equal(entry->job.length, 1);
    uint8_t job = *(const uint8_t *)entry->job.data;
    assert_false(is_there[job]);
    return is_there[job] = true;
}

static bool see_value(void *context, mcds_bytes value)
{
    see(context, value);
    return true;
}

static bool see_element(void *context, mcds_bytes element, uint64_t count)
{
    assert_int_equal(count, 1);
    see(context, element);
    return true;
}

static bool see_pair(void *context, mcds_bytes key, mcds_bytes value)
{
    see(context, key);
    see(context, value);
    return true;
}

static void check_seen(int result, const struct seen *seen, uint32_t count)
{
    assert_int_equal(result, MCDS_OK);
    assert_int_equal(seen->count, count);
    assert_false(seen->is_own);
}

static void check_queue(mcds_queue *queue, uint32_t count)
{
    bool is_there[JOBS] = {false};
    assert_int_equal(mcds_queue_dead(queue, 0, see_dead, is_there), MCDS_OK);
    for (uint32_t i = 0; i < JOBS; i++)
        assert_int_equal(is_there[i], i < count);
}

static void dead_jobs_stay(void **state)
{
    struct command structure;
    mcds_queue *queue = open_noun(&structure, "queue");
    (void)state;
    make(&structure, queue);
    check_queue(queue, 0);
    for (uint32_t i = 0; i < JOBS; i++) {
        uint8_t job = (uint8_t)i;
        assert_int_equal(mcds_queue_push_dead(queue, (mcds_bytes){&job, 1}, 1), MCDS_OK);
        make(&structure, queue);
        check_queue(queue, i + 1);
    }
    structure.noun->close(queue);
}

static void elements_of_a_set_stay(void **state)
{
    struct command structure;
    void *handle = open_noun(&structure, "set");
    (void)state;
    for (uint32_t count = 0; count < 2; count++) {
        struct seen seen = {0, false};
        if (count > 0)
            assert_int_equal(mcds_set_add(set_of(handle), mcds_text("x"), NULL), MCDS_OK);
        make(&structure, handle);
        check_seen(mcds_set_scan(set_of(handle), see_element, &seen), &seen, count);
    }
    structure.noun->close(handle);
}

static void keys_of_a_table_stay(void **state)
{
    struct command structure;
    mcds_table *table = open_noun(&structure, "table");
    (void)state;
    for (uint32_t count = 0; count < 2; count++) {
        struct seen seen = {0, false};
        mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
        if (count > 0)
            assert_int_equal(mcds_table_put(table, mcds_text("x"), mcds_text("x"), 0), MCDS_OK);
        make(&structure, table);
        check_seen(mcds_table_scan(table, &cursor, 0, see_pair, &seen), &seen, 2 * count);
    }
    structure.noun->close(table);
}

static void values_of_a_list_stay(void **state)
{
    struct command structure;
    mcds_list *list = open_noun(&structure, "list");
    (void)state;
    for (uint32_t count = 0; count < 2; count++) {
        struct seen seen = {0, false};
        if (count > 0)
            assert_int_equal(mcds_list_push(list, mcds_text("x")), MCDS_OK);
        make(&structure, list);
        check_seen(mcds_list_scan(list, 0, 0, see_value, &seen), &seen, count);
    }
    structure.noun->close(list);
}

static void elements_of_an_array_stay(void **state)
{
    struct command structure;
    mcds_array *array = open_noun(&structure, "array");
    mcds_bytes element = mcds_text("x");
    (void)state;
    for (uint32_t count = 0; count < 2; count++) {
        struct seen seen = {0, false};
        if (count > 0)
            assert_int_equal(mcds_array_set(array, &element, 1), MCDS_OK);
        make(&structure, array);
        check_seen(mcds_array_scan(array, see_value, &seen), &seen, count);
    }
    structure.noun->close(array);
}

static int open_store(void **state)
{
    (void)state;
    moved_clock_open(&clock_of_store, NULL);
    return mcds_open("memory:", NULL, &store) == MCDS_OK ? 0 : -1;
}

static int close_store(void **state)
{
    (void)state;
    mcds_close(store);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dead_jobs_stay),
        cmocka_unit_test(elements_of_a_set_stay),
        cmocka_unit_test(keys_of_a_table_stay),
        cmocka_unit_test(values_of_a_list_stay),
        cmocka_unit_test(elements_of_an_array_stay),
    };
    return cmocka_run_group_tests(tests, open_store, close_store);
}
