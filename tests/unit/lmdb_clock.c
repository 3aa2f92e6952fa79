/* The clock by which records of lmdb: expire: no step of the wall clock moves it. This program
 * replaces the system's clocks and the file that has the boot id. */
#include "support/lmdb_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "support/fake_env.h"

#define HOUR_S 3600
#define YEAR_S (365L * 24 * HOUR_S)
#define TTL_MS 20000

static time_t wall_ahead_s;
static int no_boot; /* why the boot id cannot be read, or 0 */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME)
        now->tv_sec += wall_ahead_s;
    return result;
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (no_boot != 0 && strncmp(path, "/proc/", 6) == 0) {
        errno = no_boot;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static int make(void **state)
{
    wall_ahead_s = 0;
    no_boot = 0;
    return fixture_make(state);
}

static int64_t ttl_of(mcds_store *store, const char *key)
{
    mcds_reply reply = fetch(store, key, NULL, 0);
    return reply.outcome == MCDS_OUT_OK ? reply.ttl_ms : 0;
}

static void assert_unmoved(mcds_store *store)
{
    assert_in_range(ttl_of(store, "k"), 1, TTL_MS);
}

/* What another process sees that opens the file now. */
static int64_t ttl_elsewhere(const char *file)
{
    int64_t ttl_ms = -1;
    int answer[2];
    assert_int_equal(pipe(answer), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        mcds_store *store;
        if (try_open(file, "", NULL, &store) != MCDS_OK)
            _exit(1);
        ttl_ms = ttl_of(store, "k");
        _exit(write(answer[1], &ttl_ms, sizeof ttl_ms) == sizeof ttl_ms ? 0 : 2);
    }
    (void)close(answer[1]);
    (void)!read(answer[0], &ttl_ms, sizeof ttl_ms);
    (void)close(answer[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return ttl_ms;
}

static void a_step_of_the_wall_clock_moves_nothing(void **state)
{
    const struct fixture *fixture = *state;
    static const time_t steps[] = {HOUR_S, -HOUR_S, 10 * YEAR_S, -YEAR_S, 0};
    mcds_store *store = open_store(fixture->file, "", NULL);
    (void)put(store, MCDS_SET, "k", "v", TTL_MS);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        wall_ahead_s = steps[i];
        assert_unmoved(store);
        assert_in_range(ttl_elsewhere(fixture->file), 1, TTL_MS);
        (void)put(store, MCDS_TOUCH, "k", "", TTL_MS);
        assert_in_range(ttl_elsewhere(fixture->file), 1, TTL_MS);
        mcds_close(store);
        store = open_store(fixture->file, "", NULL);
        assert_unmoved(store);
    }
    mcds_close(store);
}

/* The first to hold keeps others out however the clock is set. */
static void two_leases_do_not_live_at_once(void **state)
{
    const struct fixture *fixture = *state;
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    options.lease_ms = TTL_MS;
    mcds_store *stores[2];
    mcds_lock *locks[2];
    mcds_lease leases[2] = {MCDS_LEASE_INIT, MCDS_LEASE_INIT};
    for (int i = 0; i < 2; i++) {
        stores[i] = open_store(fixture->file, "", NULL);
        assert_int_equal(mcds_lock_open(stores[i], "l", &options, &locks[i]), MCDS_OK);
        assert_int_equal(mcds_lock_try_acquire(locks[i], &leases[i]),
                         i == 0 ? MCDS_OK : MCDS_BUSY);
        wall_ahead_s += HOUR_S;
    }
    for (int i = 0; i < 2; i++) {
        mcds_lock_close(locks[i]);
        mcds_close(stores[i]);
    }
}

/* The file's record of its clock, as if the system had been started again since. */
static void start_again(const char *file)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi root;
    MDB_val key = {5, "clock"};
    MDB_val data;
    uint8_t bytes[24];
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_set_maxreaders(env, 1024), 0);
    assert_int_equal(mdb_env_open(env, file, MDB_NOSUBDIR, 0600), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, NULL, 0, &root), 0);
    assert_int_equal(mdb_get(txn, root, &key, &data), 0);
    assert_int_equal(data.mv_size, sizeof bytes);
    memcpy(bytes, data.mv_data, sizeof bytes);
    bytes[0] ^= 1;
    bytes[20] ^= 0x55;
    data.mv_data = bytes;
    assert_int_equal(mdb_put(txn, root, &key, &data, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

static void after_a_start_the_wall_clock_counts(void **state)
{
    const struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "", NULL);
    (void)put(store, MCDS_SET, "k", "v", TTL_MS);
    (void)put(store, MCDS_SET, "later", "v", 4 * HOUR_S * 1000L);
    mcds_close(store);
    start_again(fixture->file);
    wall_ahead_s = HOUR_S;
    store = open_store(fixture->file, "", NULL);
    assert_int_equal(ttl_of(store, "k"), 0);
    assert_in_range(ttl_of(store, "later"), 1, 3 * HOUR_S * 1000L);
    /* From the first write on it is fixed again. */
    (void)put(store, MCDS_SET, "k", "v", TTL_MS);
    wall_ahead_s = 5 * HOUR_S;
    assert_in_range(ttl_elsewhere(fixture->file), 1, TTL_MS);
    mcds_close(store);
    /* A machine that begins in 1970 does not keep what would have expired for decades. */
    start_again(fixture->file);
    wall_ahead_s = -50 * YEAR_S;
    store = open_store(fixture->file, "", NULL);
    assert_in_range(ttl_of(store, "k"), 1, TTL_MS);
    mcds_close(store);
}

static void without_a_boot_id_it_is_the_wall_clock(void **state)
{
    const struct fixture *fixture = *state;
    no_boot = ENOENT;
    mcds_store *store = open_store(fixture->file, "", NULL);
    (void)put(store, MCDS_SET, "k", "v", TTL_MS);
    assert_unmoved(store);
    wall_ahead_s = HOUR_S;
    assert_int_equal(ttl_of(store, "k"), 0);
    mcds_close(store);
}

static void doctor_names_a_clock_that_can_be_set(void **state)
{
    const struct fixture *fixture = *state;
    struct sought sought;
    mcds_store *store = open_store(fixture->file, "", NULL);
    assert_string_equal(find_finding(store, "wall clock", &sought), "");
    mcds_close(store);
    no_boot = ENOENT;
    store = open_store(fixture->file, "", NULL);
    assert_string_not_equal(find_finding(store, "wall clock", &sought), "");
    mcds_close(store);
}

/* Other processes read the boot id: this one would use another clock. */
static void without_a_descriptor_nothing_is_opened(void **state)
{
    const struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "", NULL);
    mcds_close(store);
    no_boot = EMFILE;
    assert_int_equal(try_open(fixture->file, "", NULL, &store), MCDS_NO_MEMORY);
    assert_non_null(strstr(mcds_errmsg(), "ulimit -n"));
}

/* As long as the process has the file open. */
static void an_injected_clock_is_not_moved_either(void **state)
{
    const struct fixture *fixture = *state;
    struct fake_env fake;
    fake_env_init(&fake, 1);
    mcds_store *store = open_store(fixture->file, "", &fake.env);
    (void)put(store, MCDS_SET, "k", "v", TTL_MS);
    fake.wall_ns += HOUR_NS;
    mcds_store *other = open_store(fixture->file, "", &fake.env);
    assert_int_equal(ttl_of(other, "k"), TTL_MS);
    fake_env_advance_ms(&fake, TTL_MS - 1);
    assert_int_equal(ttl_of(other, "k"), 1);
    fake_env_advance_ms(&fake, 1);
    assert_int_equal(ttl_of(store, "k"), 0);
    mcds_close(other);
    mcds_close(store);
}

#define CLOCK_TEST(name) cmocka_unit_test_setup_teardown(name, make, fixture_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLOCK_TEST(a_step_of_the_wall_clock_moves_nothing),
        CLOCK_TEST(two_leases_do_not_live_at_once),
        CLOCK_TEST(after_a_start_the_wall_clock_counts),
        CLOCK_TEST(without_a_boot_id_it_is_the_wall_clock),
        CLOCK_TEST(without_a_descriptor_nothing_is_opened),
        CLOCK_TEST(doctor_names_a_clock_that_can_be_set),
        CLOCK_TEST(an_injected_clock_is_not_moved_either),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
