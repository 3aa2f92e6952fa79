/* Ids in eight processes, while the store loses the key twice: no id twice.
 * MCDS_IDS_EACH sets how many each process takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/environment.h"
#include "mcds.h"
#include "support/fixture.h"

#define PROCESSES 8
#define EACH 4000
#define LOSSES 2
#define SPREAD_MS 50

struct shared {
    _Atomic uint64_t taken;
    _Atomic uint32_t losses;
    uint64_t ids[]; /* of the processes, one after the other */
};

static uint64_t each_of(void)
{
    const char *text = getenv("MCDS_IDS_EACH");
    return text != NULL ? strtoull(text, NULL, 10) : EACH;
}

static mcds_ids *open_ids(const char *uri, mcds_store **store)
{
    mcds_ids_options options = MCDS_IDS_OPTIONS_INIT;
    mcds_ids *ids = NULL;
    options.bits = 53;
    options.spread_ms = SPREAD_MS;
    if (mcds_open(uri, NULL, store) != MCDS_OK ||
        mcds_ids_open(*store, "i", &options, &ids) != MCDS_OK)
        return NULL;
    return ids;
}

static void pause_ms(int64_t ms)
{
    const mcds_env *env = mcds_env_system();
    mcds__sleep_until_ns(env, mcds__monotonic_ns(env) + ms * NS_PER_MS);
}

/* After a third of its ids a process waits for the first loss, after two thirds for the second. */
static int take_all(const char *uri, struct shared *shared, uint64_t *ids_out, uint64_t each)
{
    mcds_store *store = NULL;
    mcds_ids *ids = open_ids(uri, &store);
    if (ids == NULL)
        return 1;
    for (uint64_t i = 0; i < each; i++) {
        while (i > each / 3 * (atomic_load(&shared->losses) + 1) &&
               atomic_load(&shared->losses) < LOSSES)
            pause_ms(1);
        if (mcds_ids_next(ids, &ids_out[i]) != MCDS_OK)
            return 2;
        atomic_fetch_add(&shared->taken, 1);
    }
    mcds_ids_close(ids);
    mcds_close(store);
    return 0;
}

static int compare(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static void lose_the_key(const char *uri, struct shared *shared, uint64_t each)
{
    mcds_store *store = NULL;
    mcds_ids *ids = open_ids(uri, &store);
    assert_non_null(ids);
    for (uint32_t i = 1; i <= LOSSES; i++) {
        while (atomic_load(&shared->taken) < PROCESSES * each * i / 4)
            pause_ms(1);
        assert_int_equal(mcds_ids_drop(ids), MCDS_OK);
        atomic_fetch_add(&shared->losses, 1);
    }
    mcds_ids_close(ids);
    mcds_close(store);
}

static void play(const char *name)
{
    const char *missing = NULL;
    struct fixture *fixture = fixture_start(name, &missing);
    pid_t children[PROCESSES];
    char uri[1024];
    uint64_t each = each_of();
    size_t count = (size_t)(PROCESSES * each);
    if (fixture == NULL) {
        print_message("skipped: %s\n", missing != NULL ? missing : name);
        skip();
    }
    fixture_uri_of(fixture, "ids", uri, sizeof uri);
    (void)snprintf(uri + strlen(uri), sizeof uri - strlen(uri), "%ctimeout=60000",
                   strchr(uri, '?') != NULL ? '&' : '?');
    struct shared *shared = mmap(NULL, sizeof *shared + count * sizeof(uint64_t),
                                 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    for (size_t i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(take_all(uri, shared, shared->ids + i * each, each));
    }
    lose_the_key(uri, shared, each);
    for (size_t i = 0; i < PROCESSES; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        for (size_t j = 1; j < each; j++)
            assert_true(shared->ids[i * each + j] > shared->ids[i * each + j - 1]);
    }
    qsort(shared->ids, count, sizeof(uint64_t), compare);
    for (size_t i = 1; i < count; i++)
        assert_true(shared->ids[i] != shared->ids[i - 1]);
    assert_true(shared->ids[0] > 0 && shared->ids[count - 1] < UINT64_C(1) << 53);
    (void)munmap(shared, sizeof *shared + count * sizeof(uint64_t));
    fixture_stop(fixture);
}

static void no_id_twice_on_lmdb(void **state)
{
    (void)state;
    play("lmdb");
}

static void no_id_twice_on_memcached(void **state)
{
    (void)state;
    play("memcached");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_id_twice_on_lmdb),
        cmocka_unit_test(no_id_twice_on_memcached),
    };
    return cmocka_run_group_tests_name("ids_processes", tests, NULL, NULL);
}
