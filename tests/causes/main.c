/* The causes of failures: each has a row, which provokes it through public calls. */
#include <dirent.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "causes/causes.h"

#define ROW_SKIPPED 77
#define PATIENCE_S 120

static const struct table *const tables[] = {&causes_of_calls, &causes_of_what_is_stored,
                                             &causes_of_servers, &causes_of_processes,
                                             &causes_of_files};
#define TABLES (sizeof tables / sizeof tables[0])

static bool fits(const char *part, const char *pattern, const char *text)
{
    if (text != NULL && fnmatch(pattern != NULL ? pattern : "", text, FNM_NOESCAPE) == 0)
        return true;
    (void)fprintf(stderr, "%s: '%s', not '%s'\n", part, text, pattern);
    return false;
}

static bool is_equal(const char *part, int64_t wanted, int64_t found)
{
    if (wanted != found)
        (void)fprintf(stderr, "%s: %lld, not %lld\n", part, (long long)found,
                      (long long)wanted);
    return wanted == found;
}

static bool is_as_the_row_says(const struct row *row, int result)
{
    const mcds_error *error = mcds_last_error();
    const mcds_error *wanted = &row->error;
    bool fine = is_equal("result of the call", wanted->result, result);
    fine = fits("cause", mcds_cause_name((int)wanted->cause),
                mcds_cause_name((int)error->cause)) &&
           fine;
    fine = is_equal("result", wanted->result, error->result) && fine;
    fine = is_equal("os_error", wanted->os_error, error->os_error) && fine;
    fine = is_equal("wanted_min", wanted->wanted_min, error->wanted_min) && fine;
    fine = is_equal("wanted_max", wanted->wanted_max, error->wanted_max) && fine;
    fine = is_equal("found_number", wanted->found_number, error->found_number) && fine;
    fine = fits("noun", wanted->noun, error->noun) && fine;
    fine = fits("name", wanted->name, error->name) && fine;
    fine = fits("verb", wanted->verb, error->verb) && fine;
    fine = fits("option", wanted->option, error->option) && fine;
    fine = fits("wanted", wanted->wanted, error->wanted) && fine;
    fine = fits("found", wanted->found, error->found) && fine;
    fine = fits("peer", wanted->peer, error->peer) && fine;
    fine = fits("key", wanted->key, error->key) && fine;
    return fits("sentence", row->sentence, mcds_errmsg()) && fine;
}

/* The sentence of every failure is made in the same way. */
static bool is_made_of_its_parts(void)
{
    const mcds_error *error = mcds_last_error();
    char sentence[1280];
    bool has_place = error->peer[0] != '\0';
    bool has_key = error->key[0] != '\0';
    (void)snprintf(sentence, sizeof sentence, "%s%s%s%s%s%s%s%s%s%s%s: %s", error->noun,
                   error->name[0] != '\0' ? " '" : "", error->name,
                   error->name[0] != '\0' ? "'" : "", error->verb[0] != '\0' ? ": " : "",
                   error->verb, has_place ? ": " : "", error->peer,
                   has_key && has_place ? ","
                   : has_key            ? ":"
                                        : "",
                   has_key ? " key " : "", error->key, error->reason);
    if (strcmp(sentence, mcds_errmsg()) == 0)
        return true;
    (void)fprintf(stderr, "sentence: '%s', not '%s'\n", mcds_errmsg(), sentence);
    return false;
}

static int play(const struct row *row, struct world *world)
{
    (void)alarm(PATIENCE_S);
    int result = row->provoke(world);
    bool fine = is_as_the_row_says(row, result);
    fine = is_made_of_its_parts() && fine;
    mcds_close(world->store);
    server_stop(&world->server);
    if (world->liar != NULL && fake_server_stop(world->liar) != -1) {
        (void)fprintf(stderr, "the server was not asked what it expects\n");
        fine = false;
    }
    return fine ? 0 : 1;
}

static void remove_folder(const char *folder)
{
    char path[512];
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        (void)unlink(path);
    }
    if (entries != NULL)
        (void)closedir(entries);
    assert_int_equal(rmdir(folder), 0);
}

/* The exit status of the process that plays the row, or -1. */
static int try_row(const struct row *row)
{
    struct world world = {.folder = "/tmp/mcds-causes-XXXXXX"};
    int status = -1;
    assert_non_null(mkdtemp(world.folder));
    (void)snprintf(world.file, sizeof world.file, "%s/store", world.folder);
    (void)fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        exit(play(row, &world));
    assert_int_equal(waitpid(child, &status, 0), child);
    remove_folder(world.folder);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void each_cause_has_its_fields_and_its_sentence(void **state)
{
    (void)state;
    uint32_t failed = 0;
    uint32_t skipped = 0;
    for (size_t i = 0; i < TABLES; i++)
        for (size_t at = 0; at < tables[i]->count; at++) {
            const struct row *row = &tables[i]->rows[at];
            int code = try_row(row);
            skipped += code == ROW_SKIPPED;
            failed += code != 0 && code != ROW_SKIPPED;
            if (code != 0)
                print_error("%s: status %d\n", mcds_cause_name((int)row->error.cause), code);
        }
    assert_int_equal(failed, 0);
    if (skipped > 0)
        skip();
}

static bool has_row(mcds_cause cause)
{
    for (size_t i = 0; i < TABLES; i++)
        for (size_t at = 0; at < tables[i]->count; at++)
            if (tables[i]->rows[at].error.cause == cause)
                return true;
    return false;
}

static void each_cause_has_a_row(void **state)
{
    (void)state;
    static const mcds_cause causes[] = {
#define CAUSE(name, code, text) name,
        MCDS_CAUSE_MAP(CAUSE)
#undef CAUSE
    };
    uint32_t missing = 0;
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++)
        if (!has_row(causes[i])) {
            print_error("no call provokes %s\n", mcds_cause_name((int)causes[i]));
            missing++;
        }
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cause_has_a_row),
        cmocka_unit_test(each_cause_has_its_fields_and_its_sentence),
    };
    return cmocka_run_group_tests_name("causes", tests, NULL, NULL);
}
