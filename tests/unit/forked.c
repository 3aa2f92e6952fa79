/* A store opened before a fork is refused in the child, on every backend. The child may open
 * its own, and the parent's keeps working. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mcds.h"
#include "store/store.h"
#include "support/fixture.h"
#include "support/pass_over.h"

static bool see(void *context, const mcds_finding *finding)
{
    (void)context, (void)finding;
    return true;
}

static bool is_refused(int result)
{
    return result == MCDS_INVALID && strstr(mcds_errmsg(), "opened before fork") != NULL;
}

/* What the parent has opened and used, so that a call could be answered in this process. */
struct opened {
    mcds_store *store;
    mcds_counter *counter;
    mcds_counter *exact; /* adds up in memory */
    mcds_table *table;
    mcds_array *array;
    mcds_list *list;
    mcds_log *log;
    mcds_lock *lock;
    mcds_ids *ids; /* has a range */
    mcds_pipeline *pipeline;
};

static void open_all(struct opened *opened)
{
    mcds_store *store = opened->store;
    mcds_counter_options exact = MCDS_COUNTER_OPTIONS_INIT;
    exact.flags = MCDS_COUNTER_EXACT;
    exact.flush_ms = 3600000;
    mcds_ids_options soon = MCDS_IDS_OPTIONS_INIT;
    uint64_t id;
    mcds_bytes one = mcds_text("1");
    soon.spread_ms = 1;
    assert_int_equal(mcds_ids_open(store, "i", &soon, &opened->ids), MCDS_OK);
    assert_int_equal(mcds_ids_next(opened->ids, &id), MCDS_OK);
    assert_int_equal(mcds_counter_open(store, "parent", NULL, &opened->counter), MCDS_OK);
    assert_int_equal(mcds_counter_open(store, "exact", &exact, &opened->exact), MCDS_OK);
    assert_int_equal(mcds_table_open(store, "t", NULL, &opened->table), MCDS_OK);
    assert_int_equal(mcds_array_open(store, "a", NULL, &opened->array), MCDS_OK);
    assert_int_equal(mcds_list_open(store, "l", NULL, &opened->list), MCDS_OK);
    assert_int_equal(mcds_log_open(store, "e", NULL, &opened->log), MCDS_OK);
    assert_int_equal(mcds_lock_open(store, "k", NULL, &opened->lock), MCDS_OK);
    assert_int_equal(mcds_pipeline_open(store, NULL, &opened->pipeline), MCDS_OK);
    /* By the second call a counter in memory has its number at hand, and a table its entry. */
    assert_int_equal(mcds_counter_add(opened->counter, 1, NULL), MCDS_OK);
    assert_int_equal(mcds_counter_add(opened->counter, 1, NULL), MCDS_OK);
    assert_int_equal(mcds_counter_add(opened->exact, 1, NULL), MCDS_OK);
    assert_int_equal(mcds_table_put(opened->table, one, one, 0), MCDS_OK);
    assert_int_equal(mcds_table_has(opened->table, one), MCDS_OK);
    assert_int_equal(mcds_array_set(opened->array, &one, 1), MCDS_OK);
    assert_int_equal(mcds_list_push(opened->list, one), MCDS_OK);
    assert_int_equal(mcds_log_put(opened->log, 0, one), MCDS_OK);
}

static void close_all(struct opened *opened)
{
    mcds_pipeline_close(opened->pipeline);
    mcds_lock_close(opened->lock);
    mcds_ids_close(opened->ids);
    mcds_log_close(opened->log);
    mcds_list_close(opened->list);
    mcds_array_close(opened->array);
    mcds_table_close(opened->table);
    mcds_counter_close(opened->exact);
    mcds_counter_close(opened->counter);
    mcds_close(opened->store);
}

/* The parent has an operation in its pipeline; the child neither sends nor awaits it. */
static bool pipeline_is_refused(struct opened *opened)
{
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    mcds_wait wait = MCDS_WAIT_INIT;
    mcds_completion done;
    mcds_pipeline *pipeline = opened->pipeline;
    wait.fd = wait.timeout_ms = 7;
    mcds_pipeline_prepare(pipeline, &wait);
    return wait.fd == -1 && wait.timeout_ms == -1 && wait.wake_ns == INT64_MAX &&
           mcds_pipeline_wake_ns(pipeline) == INT64_MAX && mcds_pipeline_is_idle(pipeline) &&
           is_refused(mcds_counter_get_start(opened->counter, &value, pipeline, 0)) &&
           is_refused(mcds_table_has_start(opened->table, mcds_text("1"), pipeline, 0)) &&
           is_refused(mcds_pipeline_next(pipeline, &done)) &&
           is_refused(mcds_pipeline_poll(pipeline, &done));
}

static bool calls_are_refused(struct opened *opened)
{
    mcds_bytes one = mcds_text("1");
    mcds_lease lease = MCDS_LEASE_INIT;
    uint64_t id;
    return is_refused(mcds_ids_next(opened->ids, &id)) &&
           is_refused(mcds_ids_take(opened->ids, 2, &id)) &&
           is_refused(mcds_ids_next_start(opened->ids, &id, opened->pipeline, 0)) &&
           is_refused(mcds_table_has(opened->table, one)) &&
           is_refused(mcds_table_put(opened->table, one, one, 0)) &&
           is_refused(mcds_array_scan(opened->array, pass_bytes, NULL)) &&
           is_refused(mcds_list_push(opened->list, one)) &&
           is_refused(mcds_log_put(opened->log, 0, one)) &&
           is_refused(mcds_lock_acquire(opened->lock, 0, &lease)) &&
           is_refused(mcds_counter_add(opened->exact, 1, NULL)) &&
           is_refused(mcds_counter_flush(opened->exact));
}

/* In the child; the number of the step that failed. */
static int use_as_child(struct opened *opened, const char *uri)
{
    mcds_store *store = opened->store;
    mcds_counter *counter = opened->counter;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    mcds_store *own;
    mcds_counter *late;
    mcds_pipeline *queue;
    if (!is_refused(mcds_counter_get(counter, &value)))
        return 1;
    if (!is_refused(mcds_counter_add(counter, 1, NULL)))
        return 5;
    if (!is_refused(mcds_counter_open(store, "late", NULL, &late)) ||
        !is_refused(mcds_pipeline_open(store, NULL, &queue)))
        return 6;
    if (!pipeline_is_refused(opened))
        return 2;
    if (!calls_are_refused(opened))
        return 7;
    if (!is_refused(mcds_inspect(store, see, NULL)))
        return 3;
    if (strncmp(uri, "lmdb:", 5) == 0 && !is_refused(mcds_backup(store, "/nowhere/copy")))
        return 5;
    if (mcds_scan(store, pass_listed, NULL) != MCDS_UNSUPPORTED &&
        !is_refused(mcds_scan(store, pass_listed, NULL)))
        return 6;
    if (mcds_open(uri, NULL, &own) != MCDS_OK ||
        mcds_counter_open(own, "own", NULL, &counter) != MCDS_OK ||
        mcds_counter_add(counter, 1, NULL) != MCDS_OK)
        return 4;
    mcds_counter_close(counter);
    mcds_close(own);
    return 0;
}

static void fork_with(const char *name)
{
    const char *missing = NULL;
    struct fixture *fixture = fixture_start(name, &missing);
    char uri[1024];
    struct opened opened;
    mcds_completion done;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int status = -1;
    if (fixture == NULL) {
        print_message("skipped: %s\n", missing != NULL ? missing : name);
        skip();
    }
    fixture_uri_of(fixture, "forked", uri, sizeof uri);
    (void)snprintf(uri + strlen(uri), sizeof uri - strlen(uri), "%ctimeout=60000",
                   strchr(uri, '?') != NULL ? '&' : '?');
    assert_int_equal(mcds_open(uri, NULL, &opened.store), MCDS_OK);
    open_all(&opened);
    assert_int_equal(mcds_counter_add_start(opened.counter, 1, NULL, opened.pipeline, 1),
                     MCDS_OK);
    pid_t child = fork();
    if (child == 0)
        _exit(use_as_child(&opened, uri));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(mcds_pipeline_next(opened.pipeline, &done), MCDS_OK);
    assert_int_equal(done.result, MCDS_OK);
    assert_int_equal(mcds_counter_add(opened.counter, 1, NULL), MCDS_OK);
    assert_int_equal(mcds_counter_get(opened.counter, &value), MCDS_OK);
    assert_int_equal(value.value, 4);
    close_all(&opened);
    fixture_stop(fixture);
}

static void a_child_is_refused_on_memory(void **state)
{
    (void)state;
    fork_with("memory");
}

static void a_child_is_refused_on_lmdb(void **state)
{
    (void)state;
    fork_with("lmdb");
}

static void a_child_is_refused_on_memcached(void **state)
{
    (void)state;
    fork_with("memcached");
}

/* The memory of a process that forks in the middle of a call, as another thread may do. */
#define LARGE 200000
#define PATIENCE_S 20

static struct {
    bool is_armed; /* the next large piece is taken from a child too */
    bool is_child;
    bool frees_kept; /* the child has freed what its parent keeps */
    void *kept;
    mcds_store *store;
    mcds_list *list;
    int status;
} halfway;

#define HALFWAY "memory:halfway?timeout=10000"

static const mcds_env *halfway_env(void);

static bool see_none(void *context, mcds_bytes element)
{
    (void)element;
    *(bool *)context = false;
    return true;
}

static int use_halfway(void)
{
    mcds_store *own;
    mcds_list *list;
    bool is_empty = true;
    if (mcds_open(HALFWAY, &(mcds_options){.size = sizeof(mcds_options), .env = halfway_env()},
                  &own) != MCDS_OK ||
        mcds_list_open(own, "l", NULL, &list) != MCDS_OK)
        return 1;
    if (mcds_list_scan(list, 0, 0, see_none, &is_empty) != MCDS_NOT_FOUND || !is_empty)
        return 2;
    if (mcds_list_push(list, mcds_text("e")) != MCDS_OK)
        return 3;
    mcds_list_close(list);
    mcds_close(own);
    mcds_list_close(halfway.list);
    mcds_close(halfway.store);
    return halfway.frees_kept ? 4 : 0;
}

static void fork_halfway(void)
{
    int status = -1;
    halfway.is_armed = false;
    pid_t child = fork();
    if (child == 0) {
        halfway.is_child = true;
        (void)alarm(PATIENCE_S);
        _exit(use_halfway());
    }
    halfway.status = waitpid(child, &status, 0) == child && WIFEXITED(status)
                         ? WEXITSTATUS(status)
                         : -1;
}

static void *reallocate(void *self, void *memory, size_t length)
{
    (void)self;
    if (halfway.is_armed && length >= LARGE)
        fork_halfway();
    if (length == 0) {
        halfway.frees_kept |= halfway.is_child && memory == halfway.kept;
        free(memory);
        return NULL;
    }
    void *grown = realloc(memory, length);
    if (length >= LARGE && !halfway.is_child)
        halfway.kept = grown;
    return grown;
}

static const mcds_env *halfway_env(void)
{
    static mcds_env env;
    env = *mcds_env_system();
    env.reallocate = reallocate;
    return &env;
}

/* Nobody will ever unlock in the child what was locked in the call. */
static void a_child_of_half_a_call_has_a_memory_of_its_own(void **state)
{
    (void)state;
    static uint8_t text[LARGE];
    mcds_bytes value = {text, sizeof text};
    mcds_options options = MCDS_OPTIONS_INIT;
    options.env = halfway_env();
    assert_int_equal(mcds_open(HALFWAY, &options, &halfway.store), MCDS_OK);
    assert_int_equal(mcds_list_open(halfway.store, "l", NULL, &halfway.list), MCDS_OK);
    assert_int_equal(mcds_list_push(halfway.list, value), MCDS_OK);
    halfway.is_armed = true;
    halfway.status = -1;
    assert_int_equal(mcds_list_push(halfway.list, value), MCDS_OK);
    assert_false(halfway.is_armed);
    assert_int_equal(halfway.status, 0);
    mcds_list_close(halfway.list);
    mcds_close(halfway.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_is_refused_on_memory),
        cmocka_unit_test(a_child_is_refused_on_lmdb),
        cmocka_unit_test(a_child_is_refused_on_memcached),
        cmocka_unit_test(a_child_of_half_a_call_has_a_memory_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
