/* A store that was opened before a fork is refused in the child, on every home alike; the child may
 * open its own, and the parent works on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mcds.h"
#include "store/store.h"
#include "support/place.h"

static bool see(void *context, const mcds_finding *finding)
{
    (void)context, (void)finding;
    return true;
}

static bool see_listed(void *context, const mcds_listed *listed)
{
    (void)context, (void)listed;
    return true;
}

static bool is_refused(int result)
{
    return result == MCDS_INVALID && strstr(mcds_errmsg(), "opened before fork") != NULL;
}

/* In the child; the number of the step that failed. */
static int use_as_child(mcds_store *store, mcds_counter *counter, mcds_pipeline *pipeline,
                        const char *uri)
{
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    mcds_completion done;
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
    if (mcds_counter_get_start(counter, &value, pipeline, 0) != MCDS_OK ||
        mcds_pipeline_next(pipeline, &done) != MCDS_OK || !is_refused(done.result))
        return 2;
    if (!is_refused(mcds_inspect(store, see, NULL)))
        return 3;
    if (strncmp(uri, "lmdb:", 5) == 0 && !is_refused(mcds_backup(store, "/nowhere/copy")))
        return 5;
    if (mcds_catalogue(store, see_listed, NULL) != MCDS_UNSUPPORTED &&
        !is_refused(mcds_catalogue(store, see_listed, NULL)))
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
    struct place *place = place_start(name, &missing);
    char uri[1024];
    mcds_store *store;
    mcds_counter *counter;
    mcds_pipeline *pipeline;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int status = -1;
    if (place == NULL) {
        print_message("skipped: %s\n", missing != NULL ? missing : name);
        skip();
    }
    place_uri_of(place, "forked", uri, sizeof uri);
    (void)snprintf(uri + strlen(uri), sizeof uri - strlen(uri), "%ctimeout=60000",
                   strchr(uri, '?') != NULL ? '&' : '?');
    assert_int_equal(mcds_open(uri, NULL, &store), MCDS_OK);
    assert_int_equal(mcds_counter_open(store, "parent", NULL, &counter), MCDS_OK);
    assert_int_equal(mcds_pipeline_open(store, NULL, &pipeline), MCDS_OK);
    /* By the second call a counter in memory has its number at hand. */
    assert_int_equal(mcds_counter_add(counter, 1, NULL), MCDS_OK);
    assert_int_equal(mcds_counter_add(counter, 1, NULL), MCDS_OK);
    pid_t child = fork();
    if (child == 0)
        _exit(use_as_child(store, counter, pipeline, uri));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(mcds_counter_add(counter, 1, NULL), MCDS_OK);
    assert_int_equal(mcds_counter_get(counter, &value), MCDS_OK);
    assert_int_equal(value.value, 3);
    mcds_pipeline_close(pipeline);
    mcds_counter_close(counter);
    mcds_close(store);
    place_stop(place);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_is_refused_on_memory),
        cmocka_unit_test(a_child_is_refused_on_lmdb),
        cmocka_unit_test(a_child_is_refused_on_memcached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
