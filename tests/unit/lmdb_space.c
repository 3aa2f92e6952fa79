/* The lmdb: backend without space: growth, limits, full disks, and files of other programs. */
#include "support/lmdb_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store/lmdb/file.h"
#include "support/fake_env.h"

#define MIB ((size_t)1 << 20)
#define CHILD_SKIPPED 77
#define FILL_MAX 40000

static mcds_reply put_bytes(mcds_store *store, mcds_command command, int number, size_t length,
                            uint64_t ttl_ms)
{
    static char bytes[4 * MIB];
    char key[32];
    (void)snprintf(key, sizeof key, "big%d", number);
    assert_true(length <= sizeof bytes);
    memset(bytes, 'a' + number % 26, length);
    return run_one(store, (mcds_request){.command = command,
                                         .key = text(key),
                                         .value = {bytes, length},
                                         .ttl_ms = ttl_ms});
}

static void the_map_grows_by_itself(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "?sync=async", NULL);
    mcds_store *other = open_store(fixture->file, "?sync=async", NULL);
    for (int i = 0; i < 60; i++)
        assert_int_equal(put_bytes(store, MCDS_SET, i, 2 * MIB, 0).outcome, MCDS_OUT_OK);
    assert_int_equal(fetch(other, "big0", NULL, 0).value_length, 2 * MIB);
    assert_int_equal(fetch(other, "big59", NULL, 0).value_length, 2 * MIB);
    mcds_close(other);
    mcds_close(store);
}

#define READERS 40 /* more than there are slots */

struct reading {
    mcds_store *store;
    _Atomic bool over;
};

static void *read_until_over(void *context)
{
    struct reading *reading = context;
    char value[16];
    while (!reading->over)
        if (fetch(reading->store, "k", value, sizeof value).outcome != MCDS_OUT_OK ||
            strcmp(value, "v") != 0)
            return reading;
    return NULL;
}

static void readers_go_on_while_the_map_grows(void **state)
{
    struct fixture *fixture = *state;
    struct reading reading = {.store = open_store(fixture->file, "?sync=async", NULL)};
    pthread_t threads[READERS];
    (void)put(reading.store, MCDS_SET, "k", "v", 0);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_until_over, &reading), 0);
    for (int i = 0; i < 40; i++)
        assert_int_equal(put_bytes(reading.store, MCDS_SET, i, 2 * MIB, 0).outcome,
                         MCDS_OUT_OK);
    reading.over = true;
    for (int i = 0; i < READERS; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    mcds_close(reading.store);
}

struct change {
    struct mcds__lmdb_file *file;
    int code;
};

static void *change_map(void *context)
{
    const mcds_env *env = mcds_env_system();
    struct change *change = context;
    change->code = mcds__lmdb_map_change(change->file, env, 0,
                                         mcds__monotonic_ns(env) + NS_PER_S / 2);
    return NULL;
}

/* While a reader keeps the first change waiting, the second waits for the first. */
static void changes_of_the_map_follow_each_other(void **state)
{
    struct fixture *fixture = *state;
    const mcds_env *env = mcds_env_system();
    const struct mcds__lmdb_terms terms = {.map_max = UINT64_C(1) << 30, .mode = 0600};
    struct change first, second;
    struct mcds__lmdb_reader *reader;
    pthread_t thread;
    assert_int_equal(mcds__lmdb_file_open(env, fixture->file, &terms, &first.file), MCDS_OK);
    second.file = first.file;
    assert_int_equal(mcds__lmdb_read_begin(first.file, env, INT64_MAX, &reader), 0);
    assert_int_equal(pthread_create(&thread, NULL, change_map, &first), 0);
    while (!first.file->changing)
        (void)sched_yield();
    (void)change_map(&second);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(first.code, ETIMEDOUT);
    assert_int_equal(second.code, ETIMEDOUT);
    mcds__lmdb_read_end(first.file, reader);
    (void)change_map(&first);
    assert_int_equal(first.code, 0);
    mcds__lmdb_file_close(first.file, false);
}

/* Another process makes the file larger than this one's map. */
static void the_map_follows_other_processes(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "?sync=async", NULL);
    (void)put(store, MCDS_SET, "k", "v", 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        mcds_store *mine;
        if (try_open(fixture->file, "?sync=async", NULL, &mine) != MCDS_OK)
            _exit(1);
        for (int i = 0; i < 30; i++)
            if (put_bytes(mine, MCDS_SET, i, 2 * MIB, 0).outcome != MCDS_OUT_OK)
                _exit(2);
        mcds_close(mine);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(fetch(store, "big29", NULL, 0).value_length, 2 * MIB);
    assert_value(store, "k", "v");
    assert_int_equal(put(store, MCDS_SET, "k", "w", 0).outcome, MCDS_OUT_OK);
    mcds_close(store);
}

/* Fill the store until it refuses; returns how many values it took. */
static int fill(mcds_store *store, size_t length, uint64_t ttl_ms, mcds_reply *refused)
{
    for (int i = 0; i < FILL_MAX; i++) {
        *refused = put_bytes(store, MCDS_SET, i, length, ttl_ms);
        if (refused->outcome != MCDS_OUT_OK)
            return i;
    }
    return FILL_MAX;
}

static void a_full_map_refuses_and_recovers(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "?sync=async&map_max=4194304", NULL);
    (void)add_number(store, "n", 1);
    mcds_reply refused;
    int count = fill(store, MIB / 4, 0, &refused);
    assert_in_range(count, 8, 16);
    assert_int_equal(refused.outcome, MCDS_OUT_NO_MEMORY);
    assert_non_null(strstr(refused.detail->text, "map_max"));
    /* Nothing is lost, an old value stays, and calls that take no space succeed. */
    assert_int_equal(fetch(store, "big0", NULL, 0).value_length, MIB / 4);
    assert_int_equal(put_bytes(store, MCDS_SET, 0, MIB, 0).outcome, MCDS_OUT_NO_MEMORY);
    assert_int_equal(fetch(store, "big0", NULL, 0).value_length, MIB / 4);
    for (int i = 0; i < 50; i++)
        assert_int_equal(add_number(store, "n", 1).number, 2 + i);
    /* One batch: the refused request does not spoil the others. */
    static char large[MIB];
    mcds_request mixed[] = {
        {.command = MCDS_INCR, .key = text("n"), .delta = 100},
        {.command = MCDS_SET, .key = text("large"), .value = {large, sizeof large}},
        {.command = MCDS_DELETE, .key = text("big1")},
        {.command = MCDS_GET, .key = text("n"), .options = MCDS_NO_VALUE},
    };
    run(store, mixed, 4, NULL);
    assert_int_equal(mixed[0].reply.number, 151);
    assert_int_equal(mixed[1].reply.outcome, MCDS_OUT_NO_MEMORY);
    assert_int_equal(mixed[2].reply.outcome, MCDS_OUT_OK);
    assert_int_equal(mixed[3].reply.value_length, 3);
    /* What is deleted makes room, at once. */
    assert_int_equal(put_bytes(store, MCDS_SET, 1, MIB / 4, 0).outcome, MCDS_OUT_OK);
    assert_int_equal(drop(store, "big1").outcome, MCDS_OUT_OK);
    for (int i = 2; i < count; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "big%d", i);
        assert_int_equal(drop(store, key).outcome, MCDS_OUT_OK);
    }
    assert_in_range(fill(store, MIB / 4, 0, &refused), count - 2, count + 4);
    mcds_close(store);
}

/* Small items fill the last page; deleting must still be possible, again and again. */
static void a_map_full_to_the_last_page_can_be_emptied(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "?sync=async&map_max=1048576", NULL);
    mcds_reply refused;
    for (int round = 0; round < 3; round++) {
        int count = fill(store, 100, 0, &refused);
        assert_in_range(count, 1000, FILL_MAX - 1);
        assert_int_equal(refused.outcome, MCDS_OUT_NO_MEMORY);
        for (int i = 0; i < count; i++) {
            char key[32];
            (void)snprintf(key, sizeof key, "big%d", i);
            assert_int_equal(drop(store, key).outcome, MCDS_OUT_OK);
        }
    }
    assert_int_equal(put(store, MCDS_SET, "k", "v", 0).outcome, MCDS_OUT_OK);
    mcds_close(store);
}

#define LISTED 512

/* Executes a list of batches, each of which stores a new value. Returns how many it stored. */
static int store_list(mcds_store *store, int round)
{
    static char keys[LISTED][24];
    static const char value[100];
    static mcds_request requests[LISTED];
    static mcds_batch batches[LISTED];
    int64_t deadline_ns = mcds__monotonic_ns(mcds__store_env(store)) + HOUR_NS;
    for (int i = 0; i < LISTED; i++) {
        /* Neighbours in the list are not neighbours in the file. */
        (void)snprintf(keys[i], sizeof keys[i], "%03d-%d", i * 193 % LISTED, round);
        requests[i] = (mcds_request){
            .command = MCDS_SET, .key = text(keys[i]), .value = {value, sizeof value}};
        batches[i] = (mcds_batch){.requests = &requests[i],
                                  .count = 1,
                                  .deadline_ns = deadline_ns,
                                  .next = i + 1 < LISTED ? &batches[i + 1] : NULL};
    }
    struct mcds__session *session;
    assert_int_equal(mcds__session_take(store, 0, &session), MCDS_OK);
    mcds__session_submit(session, batches);
    while (mcds__session_collect(session, 0) != NULL)
        continue;
    mcds__session_give(store, session);
    int stored = 0;
    for (int i = 0; i < LISTED; i++) {
        assert_int_equal(batches[i].answered, 1);
        stored += requests[i].reply.outcome == MCDS_OUT_OK;
        assert_true(requests[i].reply.outcome == MCDS_OUT_OK ||
                    requests[i].reply.outcome == MCDS_OUT_NO_MEMORY);
    }
    return stored;
}

/* A list that does not fit into one transaction is not written one by one: it takes few commits
 * until the map is nearly full, and hardly any more once it is. */
static void a_list_without_space_takes_few_commits(void **state)
{
    struct fixture *fixture = *state;
    const struct mcds__lmdb_terms terms = {.map_max = MIB, .mode = 0600};
    struct mcds__lmdb_file *file;
    mcds_store *store = open_store(fixture->file, "?sync=async&map_max=1048576", NULL);
    assert_int_equal(mcds__lmdb_file_open(mcds_env_system(), fixture->file, &terms, &file),
                     MCDS_OK);
    int total = 0;
    int stored = LISTED;
    uint64_t begun = file->commits;
    for (int round = 0; stored == LISTED && round < 100; round++)
        total += stored = store_list(store, round);
    assert_in_range(stored, 0, LISTED - 1);
    assert_in_range(total, MIB / 300, MIB / 100);
    assert_in_range(file->commits - begun, 1, 600);
    for (int round = 100; round < 120; round++)
        (void)store_list(store, round);
    begun = file->commits;
    stored = store_list(store, 200);
    assert_in_range(stored, 0, 16);
    assert_in_range(file->commits - begun, 0, 4 + 2 * stored);
    mcds__lmdb_file_close(file, false);
    mcds_close(store);
}

/* Each reading of the clock takes 50 ms. */
static int64_t slow_clock(void *self)
{
    struct fake_env *fake = self;
    return atomic_fetch_add(&fake->monotonic_ns, 50 * NS_PER_MS);
}

/* Requests that the deadline meets before they are tried alone. */
static void what_is_late_without_space_names_the_limits(void **state)
{
    struct fixture *fixture = *state;
    static const char bytes[MIB / 2];
    struct fake_env fake;
    mcds_request requests[64];
    mcds_batch batch = {.requests = requests, .count = 64};
    fake_env_init(&fake, 1);
    mcds_store *store = open_store(fixture->file, "?sync=async&map_max=4194304", &fake.env);
    mcds_reply refused;
    (void)fill(store, MIB / 4, 0, &refused);
    mcds_close(store);
    fake.env.monotonic_ns = slow_clock;
    store = open_store(fixture->file, "?sync=async&map_max=4194304", &fake.env);
    for (size_t i = 0; i < 64; i++)
        requests[i] = (mcds_request){
            .command = MCDS_SET, .key = text("late"), .value = {bytes, sizeof bytes}};
    batch.deadline_ns = fake.monotonic_ns + INT64_C(2000000000);
    mcds__store_execute(store, 0, &batch);
    assert_int_equal(requests[63].reply.outcome, MCDS_OUT_UNSENT);
    assert_non_null(strstr(requests[63].reply.detail->text, "there was no space"));
    assert_non_null(strstr(requests[63].reply.detail->text, "ulimit -f"));
    mcds_close(store);
}

static void what_has_expired_makes_room(void **state)
{
    struct fixture *fixture = *state;
    struct fake_env fake;
    fake_env_init(&fake, 1);
    mcds_store *store = open_store(fixture->file, "?sync=async&map_max=4194304", &fake.env);
    mcds_reply refused;
    int count = fill(store, MIB / 4, 1000, &refused);
    assert_int_equal(refused.outcome, MCDS_OUT_NO_MEMORY);
    fake_env_advance_ms(&fake, 1000);
    /* A value lies in one piece, so a few may not fit into the holes that the dead have
     * left. */
    for (int i = 0; i < count - 3; i++)
        assert_int_equal(put_bytes(store, MCDS_SET, 100 + i, MIB / 4, 0).outcome, MCDS_OUT_OK);
    mcds_close(store);
}

/* In a child whose files may not pass a size, as on a full disk. */
static int write_within_a_limit(const char *file)
{
    mcds_store *store;
    mcds_reply refused;
    struct rlimit limit = {4 * MIB, 4 * MIB};
    if (try_open(file, "", NULL, &store) != MCDS_OK || setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    (void)put(store, MCDS_SET, "k", "v", 0);
    int count = fill(store, MIB / 4, 0, &refused);
    if (count < 8 || refused.outcome != MCDS_OUT_NO_MEMORY || refused.detail == NULL)
        return 2;
    if (fetch(store, "k", NULL, 0).outcome != MCDS_OUT_OK ||
        fetch(store, "big7", NULL, 0).value_length != MIB / 4)
        return 3;
    for (int i = 0; i < 8; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "big%d", i);
        if (drop(store, key).outcome != MCDS_OUT_OK)
            return 4;
    }
    if (put_bytes(store, MCDS_SET, 1000, MIB / 4, 0).outcome != MCDS_OUT_OK)
        return 5;
    mcds_close(store);
    return 0;
}

/* A file that may not become as large as an empty store; the signal of it ends nobody. */
static int open_within_a_limit(const char *file)
{
    static const rlim_t sizes[] = {0, 4096, 64 * 1024, 256 * 1024};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        mcds_store *store;
        struct rlimit limit = {sizes[i], RLIM_INFINITY};
        sigset_t pending;
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0 ||
            try_open(file, "", NULL, &store) != MCDS_IO ||
            strstr(mcds_errmsg(), "ulimit -f") == NULL || sigpending(&pending) != 0 ||
            sigismember(&pending, SIGXFSZ) != 0)
            return 1 + (int)i;
    }
    return 0;
}

static int wait_for(pid_t child)
{
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static void a_file_that_may_not_grow_refuses_and_recovers(void **state)
{
    struct fixture *fixture = *state;
    pid_t child = fork();
    if (child == 0)
        _exit(write_within_a_limit(fixture->file));
    assert_int_equal(wait_for(child), 0);
}

static void a_file_that_may_not_be_made_is_refused(void **state)
{
    struct fixture *fixture = *state;
    pid_t child = fork();
    if (child == 0)
        _exit(open_within_a_limit(fixture->file));
    assert_int_equal(wait_for(child), 0);
    mcds_close(open_store(fixture->file, "", NULL));
}

static void disk_path(const struct fixture *fixture, char out[128])
{
    (void)snprintf(out, 128, "%s/disk", fixture->directory);
}

static int disk_remove(void **state)
{
    char disk[128];
    disk_path(*state, disk);
    (void)umount2(disk, MNT_DETACH);
    (void)rmdir(disk);
    return fixture_remove(state);
}

/* On a disk of 5 MiB, which only root can make. */
static void a_full_disk_refuses_and_recovers(void **state)
{
    struct fixture *fixture = *state;
    char disk[128];
    char file[160];
    char ballast[160];
    disk_path(fixture, disk);
    (void)snprintf(file, sizeof file, "%s/store", disk);
    (void)snprintf(ballast, sizeof ballast, "%s/ballast", disk);
    assert_int_equal(mkdir(disk, 0700), 0);
    if (mount("mcds-test", disk, "tmpfs", 0, "size=5m") != 0) {
        print_message("skipped: no small disk can be mounted here\n");
        skip();
    }
    int descriptor = open(ballast, O_CREAT | O_WRONLY, 0600);
    assert_true(descriptor >= 0);
    assert_int_equal(posix_fallocate(descriptor, 0, 5 * MIB), 0);
    mcds_store *store = NULL;
    for (off_t left = 0; left <= 300 * 1024; left += 100 * 1024) {
        assert_int_equal(ftruncate(descriptor, (off_t)(5 * MIB) - left), 0);
        assert_int_equal(try_open(file, "", NULL, &store), MCDS_IO);
        assert_non_null(strstr(mcds_errmsg(), "no room on the disk"));
    }
    assert_int_equal(ftruncate(descriptor, MIB), 0);
    assert_int_equal(close(descriptor), 0);
    store = open_store(file, "", NULL);
    (void)put(store, MCDS_SET, "k", "v", 0);
    mcds_reply refused;
    int count = fill(store, MIB / 4, 0, &refused);
    assert_in_range(count, 3, 8);
    assert_int_equal(refused.outcome, MCDS_OUT_NO_MEMORY);
    assert_string_equal(refused.detail->text, "the disk is full; make room on it");
    assert_value(store, "k", "v");
    struct sought sought;
    assert_string_not_equal(find_finding(store, "left", &sought), "");
    assert_int_equal(unlink(ballast), 0);
    assert_int_equal(put_bytes(store, MCDS_SET, count, MIB / 4, 0).outcome, MCDS_OUT_OK);
    assert_int_equal(fetch(store, "big0", NULL, 0).value_length, MIB / 4);
    mcds_close(store);
}

/* Whatever the size of the values that have filled it, the disk gets its room back: what expires
 * and what is dropped needs no other room first. */
static void a_full_disk_can_be_emptied(void **state)
{
    struct fixture *fixture = *state;
    static const size_t lengths[] = {100, 3000, MIB / 4, MIB};
    char disk[128];
    char file[160];
    disk_path(fixture, disk);
    (void)snprintf(file, sizeof file, "%s/store", disk);
    assert_int_equal(mkdir(disk, 0700), 0);
    if (mount("mcds-test", disk, "tmpfs", 0, "size=5m") != 0) {
        print_message("no small disk can be mounted here: skipped\n");
        skip();
    }
    mcds_store *store = open_store(file, "?sync=async", NULL);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        mcds_reply refused;
        int count = fill(store, lengths[i], 0, &refused);
        assert_int_equal(refused.outcome, MCDS_OUT_NO_MEMORY);
        assert_string_equal(refused.detail->text, "the disk is full; make room on it");
        assert_in_range(count, 1, FILL_MAX - 1);
        for (int k = 0; k < count; k++) {
            char key[32];
            (void)snprintf(key, sizeof key, "big%d", k);
            mcds_reply reply = drop(store, key);
            if (reply.outcome != MCDS_OUT_OK)
                fail_msg("%d of %d values of %zu bytes: %s", k, count, lengths[i],
                         reply.detail->text);
        }
        assert_int_equal(put(store, MCDS_SET, "k", "v", 0).outcome, MCDS_OUT_OK);
    }
    mcds_close(store);
}

/* Changes that fit into what others free, one after the other, do not use up the reserve. */
static void a_full_disk_keeps_room_for_drops(void **state)
{
    struct fixture *fixture = *state;
    char disk[128];
    char file[160];
    disk_path(fixture, disk);
    (void)snprintf(file, sizeof file, "%s/store", disk);
    assert_int_equal(mkdir(disk, 0700), 0);
    if (mount("mcds-test", disk, "tmpfs", 0, "size=6m") != 0) {
        print_message("skipped: no small disk can be mounted here\n");
        skip();
    }
    static char value[3000];
    mcds_lock *lock = NULL;
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_lock_options longer = MCDS_LOCK_OPTIONS_INIT;
    mcds_table *table = NULL;
    mcds_list *list = NULL;
    longer.lease_ms = 3600000;
    mcds_store *store = open_store(file, "?sync=async", NULL);
    assert_int_equal(mcds_table_open(store, "t", NULL, &table), MCDS_OK);
    assert_int_equal(mcds_list_open(store, "l", NULL, &list), MCDS_OK);
    assert_int_equal(mcds_lock_open(store, "k", &longer, &lock), MCDS_OK);
    assert_int_equal(mcds_lock_try_acquire(lock, &lease), MCDS_OK);
    int refused = 0;
    for (int i = 0; i < 1500; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "%d", i);
        refused += mcds_table_put(table, mcds_text(key), (mcds_bytes){value, sizeof value},
                                  0) == MCDS_FULL;
        refused += mcds_list_push(list, (mcds_bytes){value, 1500}) == MCDS_FULL;
    }
    assert_in_range(refused, 1000, 3000);
    assert_int_equal(mcds_lock_release(lock, &lease), MCDS_OK);
    assert_int_equal(mcds_list_drop(list), MCDS_OK);
    assert_int_equal(mcds_table_drop(table), MCDS_OK);
    assert_int_equal(mcds_list_push(list, mcds_text("more")), MCDS_OK);
    mcds_lock_close(lock);
    mcds_list_close(list);
    mcds_table_close(table);
    mcds_close(store);
}

static void write_file(const char *file, const void *bytes, size_t length)
{
    FILE *out = fopen(file, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, length, out), length);
    assert_int_equal(fclose(out), 0);
}

static void a_foreign_file_is_left_alone(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = NULL;
    char lock[160];
    static char bytes[20000];
    memset(bytes, 'x', sizeof bytes);
    write_file(fixture->file, bytes, sizeof bytes);
    assert_int_equal(try_open(fixture->file, "", NULL, &store), MCDS_IO);
    assert_non_null(strstr(mcds_errmsg(), "is not an LMDB file"));
    assert_non_null(strstr(mcds_errmsg(), fixture->file));
    (void)snprintf(lock, sizeof lock, "%s-lock", fixture->file);
    assert_int_equal(access(lock, F_OK), -1);
    write_file(fixture->file, "short", 5);
    assert_int_equal(try_open(fixture->file, "", NULL, &store), MCDS_IO);
    assert_int_equal(access(lock, F_OK), -1);
    /* An empty file is as good as none. */
    write_file(fixture->file, "", 0);
    store = open_store(fixture->file, "", NULL);
    mcds_close(store);
}

/* LMDB's own, with one entry of somebody else's. */
static void make_foreign(const char *file)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi root;
    MDB_val word = {4, "mine"};
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_open(env, file, MDB_NOSUBDIR, 0600), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, NULL, 0, &root), 0);
    assert_int_equal(mdb_put(txn, root, &word, &word, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

static void somebody_else_s_database_is_left_alone(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = NULL;
    make_foreign(fixture->file);
    assert_int_equal(try_open(fixture->file, "", NULL, &store), MCDS_IO);
    assert_non_null(strstr(mcds_errmsg(), "mcds did not make"));
}

static void bad_places_and_options_are_named(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = NULL;
    char path[160];
    assert_int_equal(try_open(fixture->directory, "", NULL, &store), MCDS_IO);
    assert_non_null(strstr(mcds_errmsg(), "is not a regular file"));
    assert_int_equal(try_open("/dev/null", "", NULL, &store), MCDS_IO);
    assert_non_null(strstr(mcds_errmsg(), "give another path"));
    (void)snprintf(path, sizeof path, "%s/none/store", fixture->directory);
    assert_int_equal(try_open(path, "", NULL, &store), MCDS_IO);
    assert_non_null(strstr(mcds_errmsg(), "directory does not exist"));
    assert_int_equal(try_open("", "", NULL, &store), MCDS_INVALID);
    assert_int_equal(try_open(fixture->file, "?sync=often", NULL, &store), MCDS_INVALID);
    assert_int_equal(try_open(fixture->file, "?map_max=4096", NULL, &store), MCDS_INVALID);
    assert_int_equal(try_open(fixture->file, "?strict=1", NULL, &store), MCDS_INVALID);
    assert_int_equal(access(fixture->file, F_OK), -1);
}

static void a_process_without_descriptors_says_so(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int next = open("/dev/null", O_RDONLY);
    assert_true(next >= 0);
    struct rlimit tight = {(rlim_t)next + 2, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    int result = try_open(fixture->file, "", NULL, &store);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(result, MCDS_NO_MEMORY);
    assert_non_null(strstr(mcds_errmsg(), "ulimit -n"));
    assert_int_equal(close(next), 0);
    mcds_close(open_store(fixture->file, "", NULL));
}

/* Change the bytes by which the file names its program: "mcds" and a version, little-endian. */
static void overwrite_format(const char *file, const char *format, size_t length)
{
    static const char sought[] = "mcds\2\0\0\0";
    FILE *both = fopen(file, "r+b");
    assert_non_null(both);
    static char bytes[1 << 20];
    size_t size = fread(bytes, 1, sizeof bytes, both);
    int changed = 0;
    for (size_t i = 0; i + sizeof sought < size; i++)
        if (memcmp(bytes + i, sought, sizeof sought - 1) == 0) {
            assert_int_equal(fseek(both, (long)i, SEEK_SET), 0);
            assert_int_equal(fwrite(format, 1, length, both), length);
            changed++;
        }
    assert_true(changed > 0);
    assert_int_equal(fclose(both), 0);
}

static void another_version_is_refused(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "", NULL);
    (void)put(store, MCDS_SET, "k", "v", 0);
    mcds_close(store);
    overwrite_format(fixture->file, "mcds\3", 5);
    assert_int_equal(try_open(fixture->file, "", NULL, &store), MCDS_IO);
    assert_non_null(strstr(mcds_errmsg(), "format version 3"));
}

#define NOBODY 65534

/* As a user who may only read, in a child: root may always write. */
static int read_only_child(const char *file, const char *directory)
{
    mcds_store *store;
    char other[160];
    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        return CHILD_SKIPPED;
    (void)snprintf(other, sizeof other, "%s/other", directory);
    if (try_open(other, "", NULL, &store) != MCDS_IO ||
        strstr(mcds_errmsg(), "no permission") == NULL)
        return 1;
    if (try_open(file, "", NULL, &store) != MCDS_OK)
        return 2;
    char value[16];
    if (fetch(store, "k", value, sizeof value).outcome != MCDS_OUT_OK ||
        strcmp(value, "v") != 0)
        return 3;
    if (look(store, "k").value_length != 1)
        return 5;
    mcds_reply reply = put(store, MCDS_SET, "k", "w", 0);
    if (reply.outcome != MCDS_OUT_FAILED || strstr(reply.detail->text, "only read it") == NULL)
        return 4;
    struct sought sought;
    if (find_finding(store, "removed", &sought)[0] != '\0' ||
        find_finding(store, "disk has 0.0", &sought)[0] != '\0')
        return 6;
    mcds_close(store);
    return 0;
}

/* As somebody who may write nothing at all, while another process writes. */
static void a_reader_needs_no_right_to_write(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "?mode=0644", NULL);
    (void)put(store, MCDS_SET, "k", "v", 0);
    assert_int_equal(chmod(fixture->directory, 0755), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(read_only_child(fixture->file, fixture->directory));
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0)
        assert_int_equal(add_number(store, "n", 1).outcome, MCDS_OUT_OK);
    mcds_close(store);
    if (WEXITSTATUS(status) == CHILD_SKIPPED) {
        print_message("this user cannot become another one: skipped\n");
        skip();
    }
    assert_int_equal(status, 0);
}

/* The message names a directory that the user may not enter. A reader needs no right to write it. */
static void a_closed_directory_must_be_entered(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "?mode=0644", NULL);
    mcds_close(store);
    pid_t child = fork();
    if (child == 0) {
        if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
            _exit(CHILD_SKIPPED);
        _exit(try_open(fixture->file, "?create=0", NULL, &store) == MCDS_IO &&
                      strstr(mcds_errmsg(), "must be able to enter it") != NULL
                  ? 0
                  : 1);
    }
    int code = wait_for(child);
    if (code == CHILD_SKIPPED) {
        print_message("skipped: this user cannot become another one\n");
        skip();
    }
    assert_int_equal(code, 0);
}

static void a_read_only_file_can_be_read(void **state)
{
    struct fixture *fixture = *state;
    char lock[160];
    mcds_store *store = open_store(fixture->file, "", NULL);
    (void)put(store, MCDS_SET, "k", "v", 0);
    mcds_close(store);
    (void)snprintf(lock, sizeof lock, "%s-lock", fixture->file);
    assert_int_equal(chmod(fixture->file, 0444), 0);
    assert_int_equal(chmod(lock, 0666), 0);
    assert_int_equal(chmod(fixture->directory, 0555), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(read_only_child(fixture->file, fixture->directory));
    int code = wait_for(child);
    assert_int_equal(chmod(fixture->directory, 0700), 0);
    if (code == CHILD_SKIPPED) {
        print_message("skipped: this user cannot become another one\n");
        skip();
    }
    assert_int_equal(code, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_map_grows_by_itself),
        TEST(readers_go_on_while_the_map_grows),
        TEST(changes_of_the_map_follow_each_other),
        TEST(the_map_follows_other_processes),
        TEST(a_full_map_refuses_and_recovers),
        TEST(a_map_full_to_the_last_page_can_be_emptied),
        TEST(a_list_without_space_takes_few_commits),
        TEST(what_is_late_without_space_names_the_limits),
        TEST(what_has_expired_makes_room),
        TEST(a_file_that_may_not_grow_refuses_and_recovers),
        TEST(a_file_that_may_not_be_made_is_refused),
        cmocka_unit_test_setup_teardown(a_full_disk_refuses_and_recovers, fixture_make,
                                        disk_remove),
        cmocka_unit_test_setup_teardown(a_full_disk_can_be_emptied, fixture_make, disk_remove),
        cmocka_unit_test_setup_teardown(a_full_disk_keeps_room_for_drops, fixture_make,
                                        disk_remove),
        TEST(a_foreign_file_is_left_alone),
        TEST(somebody_else_s_database_is_left_alone),
        TEST(bad_places_and_options_are_named),
        TEST(a_process_without_descriptors_says_so),
        TEST(another_version_is_refused),
        TEST(a_closed_directory_must_be_entered),
        TEST(a_read_only_file_can_be_read),
        TEST(a_reader_needs_no_right_to_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
