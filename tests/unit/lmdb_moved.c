/* The files of an lmdb: store are renamed, removed or replaced while a program has it open. */
#include "support/lmdb_fixture.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fake_env.h"

#define PATH_CAPACITY 160

static void named(const struct fixture *fixture, const char *suffix, char out[PATH_CAPACITY])
{
    (void)snprintf(out, PATH_CAPACITY, "%s%s", fixture->file, suffix);
}

static void move(const struct fixture *fixture, const char *from, const char *to)
{
    char before[PATH_CAPACITY];
    char after[PATH_CAPACITY];
    named(fixture, from, before);
    named(fixture, to, after);
    assert_int_equal(rename(before, after), 0);
}

static void erase(const struct fixture *fixture, const char *suffix)
{
    char path[PATH_CAPACITY];
    named(fixture, suffix, path);
    assert_int_equal(unlink(path), 0);
}

enum { REFUSED = 10, OTHER_SENTENCE = 11 };

/* Of a child: it opens the file and adds 100. */
static int add_elsewhere(const char *file, const char *why)
{
    mcds_store *store = NULL;
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (try_open(file, "", NULL, &store) != MCDS_OK)
            _exit(why != NULL && strstr(mcds_errmsg(), why) != NULL ? REFUSED : OTHER_SENTENCE);
        (void)add_number(store, "n", 100);
        mcds_close(store);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void copy(mcds_store *store, const struct fixture *fixture)
{
    char path[PATH_CAPACITY];
    named(fixture, "-copy", path);
    assert_int_equal(mcds_backup(store, path), MCDS_OK);
}

static void remove_lock(mcds_store *store, const struct fixture *fixture)
{
    (void)store;
    erase(fixture, "-lock");
}

static void remove_writer(mcds_store *store, const struct fixture *fixture)
{
    (void)store;
    erase(fixture, "-writer");
}

static void remove_both(mcds_store *store, const struct fixture *fixture)
{
    remove_lock(store, fixture);
    remove_writer(store, fixture);
}

static void restore(mcds_store *store, const struct fixture *fixture)
{
    copy(store, fixture);
    move(fixture, "-copy", "");
}

static void restore_all(mcds_store *store, const struct fixture *fixture)
{
    restore(store, fixture);
    remove_both(store, fixture);
}

static const struct {
    const char *name;
    void (*change)(mcds_store *store, const struct fixture *fixture);
    const char *why;   /* an opening is refused, or NULL: what was open is gone */
    const char *value; /* when all programs have ended */
} changes[] = {
    {"-lock removed", remove_lock, "was removed or replaced", "106"},
    {"-writer removed", remove_writer, "other files beside it", "106"},
    {"both removed", remove_both, "other files beside it", "106"},
    {"restored", restore, "was removed or replaced", "105"},
    {"restored, both removed", restore_all, NULL, "205"},
};

/* Two programs that do not see each other's locks would undo each other's changes. */
static void what_is_open_is_not_opened_with_other_files(void **state)
{
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        print_message("  %s\n", changes[i].name);
        mcds_store *store = open_store(fixture->file, "", NULL);
        (void)put(store, MCDS_SET, "n", "5", 0);
        changes[i].change(store, fixture);
        assert_int_equal(add_elsewhere(fixture->file, changes[i].why),
                         changes[i].why != NULL ? REFUSED : 0);
        (void)add_number(store, "n", 1);
        mcds_close(store);
        assert_int_equal(add_elsewhere(fixture->file, NULL), 0);
        store = open_store(fixture->file, "", NULL);
        assert_value(store, "n", changes[i].value);
        mcds_close(store);
    }
}

static void a_renamed_file_is_not_opened_while_open(void **state)
{
    struct fixture *fixture = *state;
    char path[PATH_CAPACITY];
    named(fixture, "2", path);
    mcds_store *store = open_store(fixture->file, "", NULL);
    (void)put(store, MCDS_SET, "n", "5", 0);
    move(fixture, "", "2");
    assert_int_equal(add_elsewhere(path, "other files beside it"), REFUSED);
    /* An empty file there would end the changes of the first program. */
    assert_int_equal(add_elsewhere(fixture->file, "removed or replaced"), REFUSED);
    assert_int_not_equal(access(fixture->file, F_OK), 0);
    assert_int_equal(add_number(store, "n", 1).outcome, MCDS_OUT_OK);
    mcds_close(store);
    erase(fixture, "2-lock");
    erase(fixture, "2-writer");
    move(fixture, "2", "");
    store = open_store(fixture->file, "", NULL);
    assert_value(store, "n", "6");
    mcds_close(store);
}

static void move_all(const struct fixture *fixture, const char *from, const char *to)
{
    static const char *const suffixes[] = {"", "-lock", "-writer"};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        char before[32];
        char after[32];
        (void)snprintf(before, sizeof before, "%s%s", from, suffixes[i]);
        (void)snprintf(after, sizeof after, "%s%s", to, suffixes[i]);
        move(fixture, before, after);
    }
}

static void files_that_are_renamed_together_are_shared(void **state)
{
    struct fixture *fixture = *state;
    char path[PATH_CAPACITY];
    named(fixture, "2", path);
    mcds_store *store = open_store(fixture->file, "", NULL);
    (void)put(store, MCDS_SET, "n", "5", 0);
    move_all(fixture, "", "2");
    assert_int_equal(add_elsewhere(path, NULL), 0);
    assert_int_equal(add_number(store, "n", 1).outcome, MCDS_OUT_OK);
    assert_value(store, "n", "106");
    mcds_close(store);
    move_all(fixture, "2", "");
}

/* Two files that share one lock file would damage each other. */
static void a_removed_file_is_not_begun_again_while_open(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "", NULL);
    for (int i = 0; i < 5; i++)
        (void)add_number(store, "n", 1);
    assert_int_equal(unlink(fixture->file), 0);
    struct sought sought;
    assert_string_not_equal(find_finding(store, "has been removed", &sought), "");
    mcds_store *other = NULL;
    assert_int_equal(try_open(fixture->file, "", NULL, &other), MCDS_IO);
    assert_non_null(strstr(mcds_errmsg(), "was removed or replaced"));
    assert_int_equal(add_elsewhere(fixture->file, "was removed or replaced"), REFUSED);
    mcds_close(store);
    store = open_store(fixture->file, "", NULL);
    assert_int_equal(fetch(store, "n", NULL, 0).outcome, MCDS_OUT_MISS);
    mcds_close(store);
}

/* What is written to a file without a name is gone when its last program ends. */
static void a_removed_file_is_not_written(void **state)
{
    struct fixture *fixture = *state;
    struct fake_env fake;
    fake_env_init(&fake, 1);
    mcds_store *store = open_store(fixture->file, "", &fake.env);
    assert_int_equal(add_number(store, "n", 5).outcome, MCDS_OUT_OK);
    erase(fixture, "");
    fake.monotonic_ns += 100 * NS_PER_MS;
    mcds_reply reply = add_number(store, "n", 1);
    assert_int_equal(reply.outcome, MCDS_OUT_FAILED);
    assert_non_null(strstr(reply.detail->text, "removed or replaced"));
    reply = fetch(store, "n", NULL, 0);
    assert_int_equal(reply.outcome, MCDS_OUT_FAILED);
    assert_non_null(strstr(reply.detail->text, "removed or replaced"));
    mcds_close(store);
}

/* A program that only reads would wait for ever for what others write into the new file. */
static void a_replaced_file_is_not_read(void **state)
{
    struct fixture *fixture = *state;
    struct fake_env fake;
    fake_env_init(&fake, 1);
    mcds_store *store = open_store(fixture->file, "", &fake.env);
    assert_int_equal(add_number(store, "n", 5).outcome, MCDS_OUT_OK);
    restore(store, fixture);
    fake.monotonic_ns += 100 * NS_PER_MS;
    assert_int_equal(fetch(store, "n", NULL, 0).outcome, MCDS_OUT_FAILED);
    mcds_close(store);
}

/* Nor is one that was set aside for another. */
static void a_replaced_file_is_not_written(void **state)
{
    struct fixture *fixture = *state;
    struct fake_env fake;
    fake_env_init(&fake, 1);
    mcds_store *store = open_store(fixture->file, "", &fake.env);
    assert_int_equal(add_number(store, "n", 5).outcome, MCDS_OUT_OK);
    copy(store, fixture);
    move(fixture, "", "-old");
    fake.monotonic_ns += 100 * NS_PER_MS;
    assert_int_equal(add_number(store, "n", 1).outcome, MCDS_OUT_OK);
    move(fixture, "-copy", "");
    struct sought sought;
    assert_string_not_equal(find_finding(store, "replaced", &sought), "");
    fake.monotonic_ns += 100 * NS_PER_MS;
    assert_int_equal(add_number(store, "n", 1).outcome, MCDS_OUT_FAILED);
    mcds_close(store);
    erase(fixture, "-old");
    store = open_store(fixture->file, "", NULL);
    assert_value(store, "n", "5");
    mcds_close(store);
}

/* A lock that stays locked holds up every other program, and the C library follows it into the
 * file that is no longer mapped. */
static void who_may_not_write_holds_no_lock(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "", NULL);
    mcds_reply reply = add_number(store, "n", 5);
    erase(fixture, "");
    while (reply.outcome == MCDS_OUT_OK)
        reply = add_number(store, "n", 1);
    assert_int_equal(reply.outcome, MCDS_OUT_FAILED);
    struct sought sought;
    assert_string_equal(find_finding(store, "has been writing", &sought), "");
    mcds_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_open_is_not_opened_with_other_files),
        TEST(a_renamed_file_is_not_opened_while_open),
        TEST(files_that_are_renamed_together_are_shared),
        TEST(a_removed_file_is_not_begun_again_while_open),
        TEST(a_removed_file_is_not_written),
        TEST(a_replaced_file_is_not_read),
        TEST(a_replaced_file_is_not_written),
        TEST(who_may_not_write_holds_no_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
