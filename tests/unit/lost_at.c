/* A loss that a scan of a table or set, or a look-up, finds: the failure names the server that has
 * lost the key, also where other servers have answered for other keys in the same batch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"
#include "support/pass_over.h"

#define ENTRIES 600
#define LENGTH 200 /* so that the keys split */
#define KEYS_MAX 4000

static const char loser[] = "server-2";

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    bool records;
    char keys[KEYS_MAX][256]; /* that were read */
    uint32_t count;
    const char *lost; /* this key is gone; NULL: none */
};

static void record(struct world *world, const mcds_request *request)
{
    char text[256];
    assert_true(request->key.length < sizeof text);
    (void)snprintf(text, sizeof text, "%.*s", (int)request->key.length,
                   (const char *)request->key.data);
    for (uint32_t i = 0; i < world->count; i++)
        if (strcmp(world->keys[i], text) == 0)
            return;
    assert_true(world->count < KEYS_MAX);
    memcpy(world->keys[world->count++], text, sizeof text);
}

static bool answer(void *context, mcds_request *request)
{
    struct world *world = context;
    if (world->records)
        record(world, request);
    if (world->lost == NULL || request->key.length != strlen(world->lost) ||
        memcmp(request->key.data, world->lost, request->key.length) != 0)
        return false;
    request->reply.outcome = MCDS_OUT_MISS;
    request->reply.peer = loser;
    return true;
}

static void begin(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 7);
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.hook = answer;
    world->backend.context = world;
}

static mcds_bytes entry(uint32_t i)
{
    static char bytes[LENGTH];
    memset(bytes, '.', sizeof bytes);
    (void)snprintf(bytes, sizeof bytes, "entry %u", i);
    return (mcds_bytes){bytes, sizeof bytes};
}

static int scan_table(mcds_store *store)
{
    mcds_table *table;
    assert_int_equal(mcds_table_open(store, "t", NULL, &table), MCDS_OK);
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    int result = mcds_table_scan(table, &cursor, 0, pass_entry, NULL);
    mcds_table_close(table);
    return result;
}

static int scan_set(mcds_store *store)
{
    mcds_set *set;
    assert_int_equal(mcds_set_open(store, "s", NULL, &set), MCDS_OK);
    int result = mcds_set_scan(set, pass_element, NULL);
    mcds_set_close(set);
    return result;
}

static int look_up(mcds_store *store)
{
    mcds_table *table;
    mcds_value value = MCDS_VALUE_INIT;
    int worst = MCDS_OK;
    assert_int_equal(mcds_table_open(store, "t", NULL, &table), MCDS_OK);
    for (uint32_t i = 0; i < ENTRIES && worst != MCDS_LOST; i++)
        worst = mcds_table_get(table, entry(i), &value);
    mcds_value_free(&value);
    mcds_table_close(table);
    return worst;
}

static void fill(mcds_store *store)
{
    mcds_table *table;
    mcds_set *set;
    bool is_new;
    assert_int_equal(mcds_table_open(store, "t", NULL, &table), MCDS_OK);
    assert_int_equal(mcds_set_open(store, "s", NULL, &set), MCDS_OK);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        assert_int_equal(mcds_table_put(table, entry(i), mcds_text("v"), 0), MCDS_OK);
        assert_int_equal(mcds_set_add(set, entry(i), &is_new), MCDS_OK);
    }
    mcds_set_close(set);
    mcds_table_close(table);
}

/* Lose each of the keys in turn. */
static void each_loss_is_named(int (*read)(mcds_store *store), uint32_t losses_min)
{
    static struct world world;
    uint32_t losses = 0;
    begin(&world);
    fill(world.store);
    world.records = true;
    assert_int_equal(read(world.store), MCDS_OK);
    world.records = false;
    for (uint32_t i = 0; i < world.count; i++) {
        world.lost = world.keys[i];
        if (read(world.store) != MCDS_LOST)
            continue;
        losses++;
        if (strcmp(mcds_last_error()->peer, loser) != 0 || strstr(mcds_errmsg(), loser) == NULL)
            fail_msg("%s: %s", world.lost, mcds_errmsg());
    }
    assert_true(losses >= losses_min);
    mcds_close(world.store);
}

static void a_table_scan_names_the_server(void **state)
{
    (void)state;
    each_loss_is_named(scan_table, 16);
}

static void a_set_scan_names_the_server(void **state)
{
    (void)state;
    each_loss_is_named(scan_set, 16);
}

static void a_look_up_names_the_server(void **state)
{
    (void)state;
    each_loss_is_named(look_up, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_scan_names_the_server),
        cmocka_unit_test(a_set_scan_names_the_server),
        cmocka_unit_test(a_look_up_names_the_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
