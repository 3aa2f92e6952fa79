/* What each structure reports if all its keys but the root are lost, and if only the root is:
 * to the handle that has used it, and to a new one. A log whose events are all lost reports a
 * gap to the first only, because chunks also expire by the retention. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define KEYS_MAX 64
#define LARGE 600000 /* in pieces */
#define CHANGES 3
#define LIST_ROOT "mcds:l1:x"

struct handles {
    mcds_set *set;
    mcds_table *table;
    mcds_list *list;
    mcds_log *log;
    mcds_array *array;
};

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    uint32_t count;
    char keys[KEYS_MAX][251];
    uint32_t seen;
    mcds_log_info info;
};

static bool see_element(void *context, mcds_bytes element, uint64_t count)
{
    (void)element;
    (void)count;
    ((struct world *)context)->seen++;
    return true;
}

static bool see_row(void *context, mcds_bytes key, mcds_bytes value)
{
    (void)key;
    (void)value;
    ((struct world *)context)->seen++;
    return true;
}

static bool see_value(void *context, mcds_bytes value)
{
    (void)value;
    ((struct world *)context)->seen++;
    return true;
}

static bool see_event(void *context, const mcds_log_event *event)
{
    (void)event;
    ((struct world *)context)->seen++;
    return true;
}

static int change_set(struct handles *handles, mcds_bytes bytes)
{
    return mcds_set_add(handles->set, bytes, NULL);
}

static int read_set(struct world *world, struct handles *handles)
{
    return mcds_set_scan(handles->set, see_element, world);
}

static int change_table(struct handles *handles, mcds_bytes bytes)
{
    return mcds_table_put(handles->table, bytes, bytes, 0);
}

static int read_table(struct world *world, struct handles *handles)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    return mcds_table_scan(handles->table, &cursor, 0, see_row, world);
}

static int change_list(struct handles *handles, mcds_bytes bytes)
{
    return mcds_list_push(handles->list, bytes);
}

static int read_list(struct world *world, struct handles *handles)
{
    return mcds_list_scan(handles->list, 0, 0, see_value, world);
}

static int change_log(struct handles *handles, mcds_bytes bytes)
{
    return mcds_log_put(handles->log, 0, bytes);
}

static int read_log(struct world *world, struct handles *handles)
{
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    return mcds_log_scan(handles->log, &range, see_event, world, &world->info);
}

static int change_array(struct handles *handles, mcds_bytes bytes)
{
    static const char large[LARGE];
    mcds_bytes elements[2] = {bytes, {large, sizeof large}};
    return mcds_array_set(handles->array, elements, 2);
}

static int read_array(struct world *world, struct handles *handles)
{
    return mcds_array_scan(handles->array, see_value, world);
}

static const struct {
    const char *root;
    int (*change)(struct handles *handles, mcds_bytes bytes);
    int (*read)(struct world *world, struct handles *handles);
    int without_rest[2]; /* to the handle that has used it, to another */
    int without_root[2];
} kinds[] = {
    {"mcds:s2:x", change_set, read_set, {MCDS_LOST, MCDS_LOST}, {MCDS_LOST, MCDS_NOT_FOUND}},
    {"mcds:t2:x",
     change_table,
     read_table,
     {MCDS_LOST, MCDS_LOST},
     {MCDS_LOST, MCDS_NOT_FOUND}},
    {LIST_ROOT, change_list, read_list, {MCDS_LOST, MCDS_LOST}, {MCDS_LOST, MCDS_NOT_FOUND}},
    {"mcds:e1:x", change_log, read_log, {MCDS_OK, MCDS_OK}, {MCDS_OK, MCDS_NOT_FOUND}},
    {"mcds:a1:x",
     change_array,
     read_array,
     {MCDS_LOST, MCDS_LOST},
     {MCDS_LOST, MCDS_NOT_FOUND}},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static void open_all(struct world *world, struct handles *handles)
{
    assert_int_equal(mcds_set_open(world->store, "x", NULL, &handles->set), MCDS_OK);
    assert_int_equal(mcds_table_open(world->store, "x", NULL, &handles->table), MCDS_OK);
    assert_int_equal(mcds_list_open(world->store, "x", NULL, &handles->list), MCDS_OK);
    assert_int_equal(mcds_log_open(world->store, "x", NULL, &handles->log), MCDS_OK);
    assert_int_equal(mcds_array_open(world->store, "x", NULL, &handles->array), MCDS_OK);
}

static void close_all(struct handles *handles)
{
    mcds_set_close(handles->set);
    mcds_table_close(handles->table);
    mcds_list_close(handles->list);
    mcds_log_close(handles->log);
    mcds_array_close(handles->array);
}

static bool note_key(void *context, mcds_bytes key)
{
    struct world *world = context;
    assert_true(world->count < KEYS_MAX && key.length <= 250);
    memcpy(world->keys[world->count], key.data, key.length);
    world->keys[world->count++][key.length] = '\0';
    return true;
}

static void lose(struct world *world, const char *root, bool loses_root)
{
    world->count = 0;
    assert_int_equal(
        mcds__backend_memory.keys(world->backend.inner, (mcds_bytes){"", 0}, note_key, world),
        MCDS_OK);
    for (uint32_t i = 0; i < world->count; i++) {
        mcds_request erase = {.command = MCDS_DELETE, .key = mcds_text(world->keys[i])};
        mcds_batch batch = {.requests = &erase, .count = 1, .deadline_ns = INT64_MAX};
        if ((strcmp(world->keys[i], root) == 0) == loses_root)
            mcds__backend_memory.submit(world->backend.inner, &batch);
    }
}

static void check(size_t kind, bool loses_root)
{
    static struct world world;
    struct handles user, other;
    mcds_options options = MCDS_OPTIONS_INIT;
    bool is_log = kinds[kind].change == change_log;
    const int *expected = loses_root ? kinds[kind].without_root : kinds[kind].without_rest;
    memset(&world, 0, sizeof world);
    fake_env_init(&world.fake, kind);
    options.env = &world.fake.env;
    assert_int_equal(hooked_backend_open(&world.backend, &options, &world.store), MCDS_OK);
    open_all(&world, &user);
    open_all(&world, &other);
    for (uint32_t i = 0; i < CHANGES; i++)
        assert_int_equal(kinds[kind].change(&user, mcds_text("abc")), MCDS_OK);
    lose(&world, kinds[kind].root, loses_root);
    assert_int_equal(kinds[kind].read(&world, &user), expected[0]);
    assert_int_equal(world.info.gaps > 0, is_log && !loses_root);
    assert_int_equal(kinds[kind].read(&world, &other), expected[1]);
    close_all(&user);
    close_all(&other);
    mcds_close(world.store);
    assert_int_equal(world.fake.blocks, 0);
}

static void what_only_the_root_is_left_of(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++)
        check(kind, false);
}

static void what_only_the_root_is_lost_of(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++)
        check(kind, true);
}

/* A full store refuses the root of the list. */
static bool refuse_root(void *context, mcds_request *request)
{
    bool is_refused = request->command == MCDS_ADD && request->key.length == strlen(LIST_ROOT);
    if (is_refused)
        request->reply.outcome = MCDS_OUT_NO_MEMORY;
    ((struct world *)context)->count += is_refused;
    return is_refused;
}

/* The value is stored, but nobody can read it until another push adds the root. */
static void a_push_that_cannot_add_the_root_is_in_doubt(void **state)
{
    static struct world world;
    struct handles user, other;
    mcds_options options = MCDS_OPTIONS_INIT;
    (void)state;
    memset(&world, 0, sizeof world);
    fake_env_init(&world.fake, 1);
    options.env = &world.fake.env;
    assert_int_equal(hooked_backend_open(&world.backend, &options, &world.store), MCDS_OK);
    open_all(&world, &user);
    open_all(&world, &other);
    assert_int_equal(change_list(&user, mcds_text("abc")), MCDS_OK);
    lose(&world, LIST_ROOT, true);
    world.backend.hook = refuse_root;
    world.backend.context = &world;
    world.count = 0;
    assert_int_equal(change_list(&user, mcds_text("abc")), MCDS_AMBIGUOUS);
    assert_true(world.count > 0);
    assert_int_equal(read_list(&world, &other), MCDS_NOT_FOUND);
    world.backend.hook = NULL;
    assert_int_equal(change_list(&user, mcds_text("abc")), MCDS_OK);
    assert_int_equal(read_list(&world, &other), MCDS_OK);
    assert_int_equal(world.seen, 3);
    close_all(&user);
    close_all(&other);
    mcds_close(world.store);
    assert_int_equal(world.fake.blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_only_the_root_is_left_of),
        cmocka_unit_test(what_only_the_root_is_lost_of),
        cmocka_unit_test(a_push_that_cannot_add_the_root_is_in_doubt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
