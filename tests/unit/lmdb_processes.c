/* The lmdb: backend among processes: kills, forks, concurrent opening, and a writer that makes
 * the others wait. */
#include "store/lmdb/file.h"
#include "support/lmdb_fixture.h"

#include <lmdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PROCESSES 4
#define ADDS 400
#define FOLLOWERS 7

/* Seen by parent and children alike. */
struct shared {
    _Atomic uint64_t acknowledged[PROCESSES];
};

static struct shared *make_shared(void)
{
    void *memory = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    memset(memory, 0, sizeof(struct shared));
    return memory;
}

static int status_of(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* Add until done; say so in the middle. */
static void add_in_child(const char *file, const char *options, int middle,
                         _Atomic uint64_t *acknowledged)
{
    mcds_store *store;
    if (try_open(file, options, NULL, &store) != MCDS_OK)
        _exit(1);
    for (int i = 0; i < ADDS; i++) {
        if (add_number(store, "n", 1).outcome != MCDS_OUT_OK)
            _exit(2);
        (*acknowledged)++;
        if (i == ADDS / 2 && write(middle, "m", 1) != 1)
            _exit(3);
    }
    mcds_close(store);
    _exit(0);
}

static void killed_writers_lose_nothing(const char *file, const char *options)
{
    struct shared *shared = make_shared();
    pid_t children[PROCESSES];
    int middle[PROCESSES][2];
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(pipe(middle[i]), 0);
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            add_in_child(file, options, middle[i][1], &shared->acknowledged[i]);
        (void)close(middle[i][1]);
    }
    char byte;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(read(middle[i][0], &byte, 1), 1);
        assert_int_equal(kill(children[i], SIGKILL), 0);
    }
    uint64_t acknowledged = 0;
    for (int i = 0; i < PROCESSES; i++) {
        int status = status_of(children[i]);
        assert_true(i < 2 ? WIFSIGNALED(status) || status == 0 : status == 0);
        acknowledged += shared->acknowledged[i];
        (void)close(middle[i][0]);
    }
    assert_true(shared->acknowledged[2] == ADDS && shared->acknowledged[3] == ADDS);
    mcds_store *store = open_store(file, options, NULL);
    uint64_t number = add_number(store, "n", 0).number;
    /* A killed process may have had one more on its way. */
    assert_in_range(number, acknowledged, acknowledged + 2);
    mcds_close(store);
    assert_int_equal(munmap(shared, sizeof *shared), 0);
}

static void killed_writers_lose_nothing_when_full(void **state)
{
    struct fixture *fixture = *state;
    killed_writers_lose_nothing(fixture->file, "");
}

static void killed_writers_lose_nothing_when_async(void **state)
{
    struct fixture *fixture = *state;
    killed_writers_lose_nothing(fixture->file, "?sync=async");
}

/* First openings race with each other and with last closings. */
static void processes_open_at_once(void **state)
{
    struct fixture *fixture = *state;
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] != 0)
            continue;
        for (int j = 0; j < 50; j++) {
            mcds_store *store;
            if (try_open(fixture->file, "?sync=async", NULL, &store) != MCDS_OK) {
                print_error("%s\n", mcds_errmsg());
                _exit(1);
            }
            if (add_number(store, "n", 1).outcome != MCDS_OUT_OK)
                _exit(2);
            mcds_close(store);
        }
        _exit(0);
    }
    for (int i = 0; i < PROCESSES; i++)
        assert_int_equal(status_of(children[i]), 0);
    mcds_store *store = open_store(fixture->file, "", NULL);
    assert_int_equal(add_number(store, "n", 0).number, 50 * PROCESSES);
    mcds_close(store);
}

static bool never(void *context, mcds_bytes key)
{
    (void)context;
    (void)key;
    return false;
}

static int use_after_fork(mcds_store *parents, const char *file)
{
    mcds_store *mine;
    mcds_reply reply = add_number(parents, "n", 1);
    if (reply.outcome != MCDS_OUT_BAD_REQUEST ||
        strstr(reply.detail->text, "before fork") == NULL)
        return 1;
    if (fetch(parents, "n", NULL, 0).outcome != MCDS_OUT_BAD_REQUEST)
        return 2;
    if (look(parents, "n").outcome != MCDS_OUT_NONE)
        return 7;
    if (mcds__store_keys(parents, text(""), never, NULL) != MCDS_INVALID)
        return 3;
    if (try_open(file, "", NULL, &mine) != MCDS_OK)
        return 4;
    if (add_number(mine, "n", 1).number != 2)
        return 5;
    mcds_close(parents);
    if (fetch(mine, "n", NULL, 0).outcome != MCDS_OUT_OK)
        return 6;
    mcds_close(mine);
    return 0;
}

static void a_child_opens_its_own(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "", NULL);
    (void)add_number(store, "n", 1);
    assert_value(store, "n", "1");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(use_after_fork(store, fixture->file));
    assert_int_equal(status_of(child), 0);
    assert_int_equal(add_number(store, "n", 1).number, 3);
    assert_value(store, "n", "3");
    mcds_close(store);
}

static void dead_readers_are_cleared(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "", NULL);
    (void)put(store, MCDS_SET, "k", "v", 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        mcds_store *mine;
        if (try_open(fixture->file, "", NULL, &mine) == MCDS_OK)
            (void)fetch(mine, "k", NULL, 0);
        (void)raise(SIGKILL);
    }
    assert_true(WIFSIGNALED(status_of(child)));
    struct sought sought;
    const char *sentence = find_finding(store, "readers", &sought);
    assert_non_null(strstr(sentence, "1 left by dead processes"));
    mcds_close(store);
}

/* A process that holds LMDB's write lock until it is told to go. */
struct holder {
    pid_t process;
    int go;
};

static void hold_in_child(const char *file, int held, int go)
{
    MDB_env *env;
    MDB_txn *txn;
    char byte;
    if (mdb_env_create(&env) != 0 || mdb_env_open(env, file, MDB_NOSUBDIR, 0600) != 0 ||
        mdb_txn_begin(env, NULL, 0, &txn) != 0)
        _exit(1);
    if (write(held, "h", 1) != 1 || read(go, &byte, 1) != 1)
        _exit(2);
    mdb_txn_abort(txn);
    mdb_env_close(env);
    _exit(0);
}

static struct holder hold(const char *file)
{
    int held[2];
    int go[2];
    char byte;
    assert_int_equal(pipe(held), 0);
    assert_int_equal(pipe(go), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        hold_in_child(file, held[1], go[0]);
    (void)close(go[0]);
    assert_int_equal(read(held[0], &byte, 1), 1);
    (void)close(held[0]);
    (void)close(held[1]);
    return (struct holder){child, go[1]};
}

static void let_go(struct holder holder)
{
    assert_int_equal(write(holder.go, "g", 1), 1);
    (void)close(holder.go);
    assert_int_equal(status_of(holder.process), 0);
}

static void *add_one(void *store)
{
    return add_number(store, "n", 1).outcome == MCDS_OUT_OK ? NULL : store;
}

static uint64_t commits_of(mcds_store *store)
{
    struct sought sought;
    unsigned long long batches;
    unsigned long long commits;
    assert_int_equal(sscanf(find_finding(store, "this process has written", &sought),
                            "this process has written %llu batches in %llu commits", &batches,
                            &commits),
                     2);
    return commits;
}

/* Waits until so many threads are queued, the leader at the write lock. */
static void await_writers(mcds_store *store, unsigned count)
{
    struct sought sought;
    unsigned waiting = 0;
    while (waiting < count) {
        (void)usleep(1000);
        const char *sentence = strstr(find_finding(store, "wait for their turn", &sought),
                                      "commits; ");
        if (sentence == NULL || sscanf(sentence, "commits; %u", &waiting) != 1)
            abort();
    }
}

/* All that wait for the lock share one commit. */
static void waiting_writers_share_one_commit(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "", NULL);
    (void)add_number(store, "n", 1);
    uint64_t commits = commits_of(store);
    struct holder holder = hold(fixture->file);
    pthread_t threads[FOLLOWERS + 1];
    for (int i = 0; i <= FOLLOWERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_one, store), 0);
    await_writers(store, FOLLOWERS + 1);
    let_go(holder);
    for (int i = 0; i <= FOLLOWERS; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(commits_of(store) - commits, 1);
    assert_int_equal(add_number(store, "n", 0).number, FOLLOWERS + 2);
    mcds_close(store);
}

/* Waiting for a stuck writer ends at the deadline, certain that nothing was sent; reading
 * does not wait at all. */
static void a_follower_leaves_at_its_deadline(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "", NULL);
    (void)add_number(store, "n", 1);
    struct holder holder = hold(fixture->file);
    pthread_t leader;
    assert_int_equal(pthread_create(&leader, NULL, add_one, store), 0);
    await_writers(store, 1);
    mcds_request request = {.command = MCDS_INCR, .key = text("n"), .delta = 100};
    mcds_batch batch = {.requests = &request, .count = 1};
    batch.deadline_ns = mcds__monotonic_ns(mcds_env_system()) + 20 * NS_PER_MS;
    mcds__store_execute(store, 0, &batch);
    assert_int_equal(request.reply.outcome, MCDS_OUT_UNSENT);
    assert_value(store, "n", "1");
    let_go(holder);
    void *failed;
    assert_int_equal(pthread_join(leader, &failed), 0);
    assert_null(failed);
    assert_value(store, "n", "2");
    mcds_close(store);
}

/* An environment whose wall clock stops its reader, in the middle of a transaction: it has another
 * monotonic clock than the one with which the file was opened. */
struct trap {
    mcds_env env;
    bool is_set;
    int held;
};

static int64_t trap_wall_ns(void *self)
{
    const struct trap *trap = self;
    char byte = 'h';
    if (trap->is_set && write(trap->held, &byte, 1) == 1)
        (void)raise(SIGSTOP);
    return 0;
}

static int64_t trap_monotonic_ns(void *self)
{
    (void)self;
    return mcds__monotonic_ns(mcds_env_system());
}

static void stop_in_transaction(const char *file, int held)
{
    struct trap trap = {*mcds_env_system(), false, held};
    trap.env.self = &trap;
    trap.env.wall_ns = trap_wall_ns;
    trap.env.monotonic_ns = trap_monotonic_ns;
    mcds_store *first;
    mcds_store *store;
    if (try_open(file, "", NULL, &first) == MCDS_OK &&
        try_open(file, "", &trap.env, &store) == MCDS_OK) {
        trap.is_set = true;
        (void)add_number(store, "n", 1);
    }
    _exit(1);
}

/* A writer that is stopped in its turn costs the others their deadline, not more, and its death
 * costs nothing. */
static void a_stopped_writer_holds_nobody_for_ever(void **state)
{
    struct fixture *fixture = *state;
    int held[2];
    char byte;
    mcds_store *store = open_store(fixture->file, "", NULL);
    (void)add_number(store, "n", 1);
    assert_int_equal(pipe(held), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        stop_in_transaction(fixture->file, held[1]);
    assert_int_equal(read(held[0], &byte, 1), 1);
    mcds_request request = {.command = MCDS_INCR, .key = text("n"), .delta = 1};
    mcds_batch batch = {.requests = &request, .count = 1};
    batch.deadline_ns = mcds__monotonic_ns(mcds_env_system()) + 20 * NS_PER_MS;
    mcds__store_execute(store, 0, &batch);
    assert_int_equal(request.reply.outcome, MCDS_OUT_UNSENT);
    assert_non_null(strstr(request.reply.detail->text, "another process"));
    assert_value(store, "n", "1");
    struct sought sought;
    char process[32];
    (void)snprintf(process, sizeof process, "process %d ", (int)child);
    assert_non_null(strstr(find_finding(store, "all others wait", &sought), process));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_true(WIFSIGNALED(status_of(child)));
    assert_int_equal(add_number(store, "n", 1).number, 2);
    (void)close(held[0]);
    (void)close(held[1]);
    mcds_close(store);
}

static mcds_outcome erase(mcds_store *store, const char *key)
{
    return run_one(store, (mcds_request){.command = MCDS_DELETE, .key = text(key)}).outcome;
}

/* Whether the key remains, by the mark of an earlier call. */
static bool remains(mcds_store *store, const char *key, uint64_t *mark)
{
    return mcds__store_remains(store, text(key), mark);
}

/* Begin to lose something, and die. */
static void die_in_a_loss(const char *path)
{
    struct mcds__lmdb_file *file;
    const struct mcds__lmdb_terms terms = {UINT64_C(1) << 30, 0600, true};
    const mcds_env *env = mcds_env_system();
    MDB_txn *txn;
    if (mcds__lmdb_file_open(env, path, &terms, &file) != MCDS_OK ||
        mcds__lmdb_write_begin(file, env, INT64_MAX, &txn) != 0)
        _exit(1);
    mcds__lmdb_begin_losses(file);
    (void)raise(SIGKILL);
}

/* What another process removes ends the marks of this one; when it dies in the middle of that, there
 * are none until the next loss. */
static void losses_are_known_to_all(void **state)
{
    struct fixture *fixture = *state;
    uint64_t mark = 0;
    mcds_store *store = open_store(fixture->file, "", NULL);
    (void)add_number(store, "n", 1);
    (void)add_number(store, "other", 1);
    assert_false(remains(store, "n", &mark));
    (void)add_number(store, "n", 1);
    assert_true(remains(store, "n", &mark));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        mcds_store *own;
        bool fine = try_open(fixture->file, "", NULL, &own) == MCDS_OK &&
                    erase(own, "n") == MCDS_OUT_OK;
        _exit(fine ? 0 : 1);
    }
    assert_int_equal(status_of(child), 0);
    assert_false(remains(store, "n", &mark));
    assert_true(remains(store, "n", &mark));
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        die_in_a_loss(fixture->file);
    assert_true(WIFSIGNALED(status_of(child)));
    assert_false(remains(store, "n", &mark));
    assert_false(remains(store, "n", &mark));
    (void)add_number(store, "n", 1);
    assert_false(remains(store, "n", &mark));
    assert_int_equal(erase(store, "other"), MCDS_OUT_OK);
    assert_false(remains(store, "n", &mark));
    assert_true(remains(store, "n", &mark));
    mcds_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(killed_writers_lose_nothing_when_full),
        TEST(killed_writers_lose_nothing_when_async),
        TEST(processes_open_at_once),
        TEST(a_child_opens_its_own),
        TEST(dead_readers_are_cleared),
        TEST(waiting_writers_share_one_commit),
        TEST(a_follower_leaves_at_its_deadline),
        TEST(a_stopped_writer_holds_nobody_for_ever),
        TEST(losses_are_known_to_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
