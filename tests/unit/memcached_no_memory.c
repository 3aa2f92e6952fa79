/* A process without memory for what the memcached backend needs: a call that has sent nothing is
 * NO_MEMORY, whatever it wanted the memory for, and has changed nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/server.h"

#define ALLOCATIONS_MAX 200

static struct server server;

/* Each call makes a structure of its own. */
static int add(mcds_store *store, const char *name, struct fake_env *fake, int64_t allowed)
{
    mcds_set *set;
    bool changed;
    assert_int_equal(mcds_set_open(store, name, NULL, &set), MCDS_OK);
    fake->allowed = allowed;
    int result = mcds_set_add(set, mcds_text("element"), &changed);
    fake->allowed = -1;
    if (result == MCDS_NO_MEMORY)
        assert_int_equal(mcds_set_has(set, mcds_text("element")), MCDS_NOT_FOUND);
    mcds_set_close(set);
    return result;
}

static int put(mcds_store *store, const char *name, struct fake_env *fake, int64_t allowed)
{
    mcds_table *table;
    assert_int_equal(mcds_table_open(store, name, NULL, &table), MCDS_OK);
    fake->allowed = allowed;
    int result = mcds_table_put_if_absent(table, mcds_text("key"), mcds_text("value"), 0);
    fake->allowed = -1;
    if (result == MCDS_NO_MEMORY)
        assert_int_equal(mcds_table_has(table, mcds_text("key")), MCDS_NOT_FOUND);
    mcds_table_close(table);
    return result;
}

static int hit(mcds_store *store, const char *name, struct fake_env *fake, int64_t allowed)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_visitors *visitors;
    options.members = MCDS_MEMBERS_EXACT;
    assert_int_equal(mcds_visitors_open(store, name, &options, &visitors), MCDS_OK);
    fake->allowed = allowed;
    int result = mcds_visitors_hit(visitors, "ann", 0);
    fake->allowed = -1;
    if (result == MCDS_NO_MEMORY)
        assert_int_equal(mcds_visitors_hit(visitors, "ann", 0), MCDS_OK);
    mcds_visitors_close(visitors);
    return result;
}

/* A new store each time: its first call connects. */
static void refuse_each(int (*call)(mcds_store *store, const char *name, struct fake_env *fake,
                                    int64_t allowed),
                        const char *noun, bool refuses_once)
{
    uint32_t refused = 0;
    char uri[160];
    char name[64];
    server_uri(&server, uri, sizeof uri);
    for (int64_t allowed = 0; allowed < ALLOCATIONS_MAX; allowed++) {
        struct fake_env fake;
        mcds_options options = MCDS_OPTIONS_INIT;
        mcds_store *store;
        fake_env_init(&fake, 1 + (uint64_t)allowed);
        fake.refuses_once = refuses_once;
        options.env = &fake.env;
        (void)snprintf(name, sizeof name, "%s-%d-%d", noun, (int)refuses_once, (int)allowed);
        assert_int_equal(mcds_open(uri, &options, &store), MCDS_OK);
        int result = call(store, name, &fake, allowed);
        if (result != MCDS_OK && result != MCDS_AMBIGUOUS && result != MCDS_NO_MEMORY)
            fail_msg("%s: %s", mcds_result_name(result), mcds_errmsg());
        refused += result == MCDS_NO_MEMORY;
        bool is_enough = fake.refusals == 0;
        mcds_close(store);
        assert_int_equal(fake.blocks, 0);
        if (is_enough)
            break;
        assert_true(allowed + 1 < ALLOCATIONS_MAX);
    }
    assert_true(refuses_once || refused > 0);
}

static void a_set(void **state)
{
    (void)state;
    refuse_each(add, "set", false);
    refuse_each(add, "set", true);
}

static void a_table(void **state)
{
    (void)state;
    refuse_each(put, "table", false);
    refuse_each(put, "table", true);
}

static void visitors(void **state)
{
    (void)state;
    refuse_each(hit, "visitors", false);
    refuse_each(hit, "visitors", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set),
        cmocka_unit_test(a_table),
        cmocka_unit_test(visitors),
    };
    if (!server_start_memcached_unix(&server)) {
        print_message("skipped: memcached does not start\n");
        return 0;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    server_stop(&server);
    return failed;
}
