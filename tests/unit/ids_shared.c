/* One handle of ids, and all threads of a process. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "mcds.h"
#include "structures/ids/ids.h"

#define THREADS 8
#define EACH 20000

static mcds_store *store;

static mcds_ids *open_ids(void)
{
    mcds_ids_options options = MCDS_IDS_OPTIONS_INIT;
    mcds_ids *ids = NULL;
    options.spread_ms = 1;
    assert_int_equal(mcds_ids_open(store, "i", &options, &ids), MCDS_OK);
    return ids;
}

struct thread {
    pthread_t thread;
    mcds_ids *ids;
    bool is_fine;
    uint64_t got[EACH];
};

static void *take_all(void *context)
{
    struct thread *thread = context;
    uint64_t last = 0;
    thread->is_fine = true;
    for (size_t i = 0; i < EACH && thread->is_fine; i++) {
        int result = mcds_ids_next(thread->ids, &thread->got[i]);
        thread->is_fine = result == MCDS_OK && thread->got[i] > last;
        last = thread->got[i];
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static void threads_share_a_handle(void **state)
{
    static struct thread threads[THREADS];
    static uint64_t all[(size_t)THREADS * EACH];
    mcds_ids *ids = open_ids();
    (void)state;
    for (size_t i = 0; i < THREADS; i++) {
        threads[i].ids = ids;
        assert_int_equal(pthread_create(&threads[i].thread, NULL, take_all, &threads[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i].thread, NULL), 0);
        assert_true(threads[i].is_fine);
        memcpy(all + i * EACH, threads[i].got, sizeof threads[i].got);
    }
    qsort(all, (size_t)THREADS * EACH, sizeof all[0], compare);
    for (size_t i = 1; i < (size_t)THREADS * EACH; i++)
        assert_true(all[i] > all[i - 1]);
    mcds_ids_close(ids);
}

/* Two threads get a range each, and the lower one arrives last. */
static void a_lower_range_is_not_kept(void **state)
{
    mcds_ids *ids = open_ids();
    int64_t now_ns = mcds__monotonic_ns(mcds__store_env(store)) + 3600 * NS_PER_S;
    uint64_t first = 0;
    (void)state;
    mcds__ids_keep(ids, 2000, 3000, now_ns);
    mcds__ids_keep(ids, 1000, 1900, now_ns);
    assert_true(mcds__ids_use(ids, 1, &first) && first == 2000);
    mcds__ids_keep(ids, 2500, 2600, now_ns);
    assert_true(mcds__ids_use(ids, 999, &first) && first == 2001);
    assert_false(mcds__ids_use(ids, 1, &first));
    mcds__ids_keep(ids, 3000, 3010, now_ns);
    assert_false(mcds__ids_use(ids, 11, &first));
    assert_true(mcds__ids_use(ids, 10, &first) && first == 3000);
    mcds_ids_close(ids);
}

static int set_up(void **state)
{
    (void)state;
    return mcds_open("memory:", NULL, &store);
}

static int tear_down(void **state)
{
    (void)state;
    mcds_close(store);
    return 0;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(threads_share_a_handle),
    cmocka_unit_test(a_lower_range_is_not_kept),
};

int main(void)
{
    return cmocka_run_group_tests_name("ids", tests, set_up, tear_down);
}
