/* DATABASE STORE: views on a real database, and the numbers that two programs leave in it. */
#include "databases/cases.h"

#include "base/environment.h"
#include "support/fake_env.h"
#include "support/fixture.h"

#define PROGRAMS 2
#define PAGES 20
#define ROUNDS 6

/* A program: a store, a connection to the database and a handle of its own. */
struct program {
    mcds_store *store;
    mcds_views *views;
    void *database;
};

static struct fixture *fixture;
/* The system's clock, moved on by the test. */
static struct fake_env fake;
static int64_t ahead_ns;

static int64_t wall_ns(void *self)
{
    (void)self;
    return mcds__wall_ns(mcds_env_system()) + ahead_ns;
}

static int64_t monotonic_ns(void *self)
{
    (void)self;
    return mcds__monotonic_ns(mcds_env_system());
}

static void sleep_until_ns(void *self, int64_t until_ns)
{
    (void)self;
    mcds__sleep_until_ns(mcds_env_system(), until_ns);
}

static struct program start(const char *name, bool fresh)
{
    char uri[1024];
    struct program program = {NULL, NULL, database_open(fresh)};
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_views_options views_options = MCDS_VIEWS_OPTIONS_INIT;
    options.env = &fake.env;
    options.timeout_ms = 10000;
    views_options.load = database_load;
    views_options.save = database_save;
    views_options.context = program.database;
    fixture_uri_of(fixture, "views", uri, sizeof uri);
    assert_int_equal(mcds_open(uri, &options, &program.store), MCDS_OK);
    assert_int_equal(mcds_views_open(program.store, name, &views_options, &program.views),
                     MCDS_OK);
    return program;
}

static void end(struct program *program)
{
    mcds_views_close(program->views);
    mcds_close(program->store);
    database_close(program->database);
}

static int64_t saved(struct program *program, const char *page)
{
    int64_t sum = -1;
    assert_int_equal(database_load(program->database, page, INT64_MAX, &sum), 0);
    return sum;
}

static void what_two_programs_count_is_saved_once(void **state)
{
    (void)state;
    struct program programs[PROGRAMS] = {start("site", true), start("site", false)};
    int64_t expected[PAGES] = {0};
    char page[32];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PAGES; i++)
            for (int p = 0; p < PROGRAMS; p++) {
                uint32_t n = (uint32_t)(round * 7 + i + p);
                (void)snprintf(page, sizeof page, "/it's %d", i);
                assert_int_equal(mcds_views_hit(programs[p].views, page, n), MCDS_OK);
                expected[i] += n;
            }
        ahead_ns += 61 * NS_PER_S;
        for (int p = 0; p < PROGRAMS; p++)
            assert_int_equal(mcds_views_flush(programs[p].views), MCDS_OK);
    }
    ahead_ns += 120 * NS_PER_S;
    assert_int_equal(mcds_views_flush(programs[0].views), MCDS_OK);
    for (int i = 0; i < PAGES; i++) {
        int64_t value = -1;
        (void)snprintf(page, sizeof page, "/it's %d", i);
        assert_int_equal(saved(&programs[0], page), expected[i]);
        assert_int_equal(mcds_views_get(programs[1].views, page, &value), MCDS_OK);
        assert_int_equal(value, expected[i]);
    }
    for (int p = 0; p < PROGRAMS; p++)
        end(&programs[p]);
}

/* A new, empty store continues from the numbers in the database. */
static void the_database_is_what_lasts(void **state)
{
    (void)state;
    struct program before = start("first", true);
    int64_t value = -1;
    assert_int_equal(mcds_views_hit(before.views, "/", 41), MCDS_OK);
    ahead_ns += 120 * NS_PER_S;
    assert_int_equal(mcds_views_flush(before.views), MCDS_OK);
    end(&before);
    struct program after = start("second", false);
    assert_int_equal(mcds_views_get(after.views, "/", &value), MCDS_OK);
    assert_int_equal(value, 41);
    ahead_ns += INT64_C(25) * 3600 * NS_PER_S;
    struct program later = start("third", false);
    assert_int_equal(mcds_views_hit(later.views, "/", 1), MCDS_OK);
    assert_int_equal(mcds_views_get(later.views, "/", &value), MCDS_OK);
    assert_int_equal(value, 42);
    end(&after);
    end(&later);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_two_programs_count_is_saved_once),
        cmocka_unit_test(the_database_is_what_lasts),
    };
    fixture = fixture_or_exit(argc, argv);
    fake_env_init(&fake, 1);
    fake.env.wall_ns = wall_ns;
    fake.env.monotonic_ns = monotonic_ns;
    fake.env.sleep_until_ns = sleep_until_ns;
    int failed = cmocka_run_group_tests_name(argv[1], tests, NULL, NULL);
    fixture_stop(fixture);
    return failed;
}
