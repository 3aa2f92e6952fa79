/* The publication list of the processes that write one file: the owner of the write lock
 * executes each posted message once, whichever process dies. */
#include "support/lmdb_fixture.h"

#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "store/lmdb/commit/delegate.h"
#include "store/lmdb/commit/publications.h"
#include "store/lmdb/commit/transaction.h"
#include "store/lmdb/file.h"

#define SENDERS 5
#define WAIT_MS 400
#define READS_MAX 24 /* in that time, two for each look */
#define MAP_MAX (UINT64_C(1) << 30)

static const mcds_env *const env = NULL;

static int64_t in_ms(int64_t ms)
{
    return mcds__monotonic_ns(mcds_env_system()) + ms * NS_PER_MS;
}

static struct mcds__lmdb_file *open_file(const char *path)
{
    struct mcds__lmdb_file *file;
    const struct mcds__lmdb_terms terms = {MAP_MAX, 0600, true};
    if (mcds__lmdb_file_open(mcds_env_system(), path, &terms, &file) != MCDS_OK)
        abort();
    return file;
}

/* A transaction that owns the write lock until it ends. */
static struct mcds__lmdb_work begin(struct mcds__lmdb_file *file)
{
    struct mcds__lmdb_work work = {.file = file};
    if (mcds__lmdb_write_begin(file, mcds_env_system(), in_ms(3600 * 1000), &work.txn) != 0 ||
        mcds__lmdb_view(file, work.txn, &work.view) != 0 || mcds__lmdb_cas_load(&work) != 0 ||
        mdb_cursor_open(work.txn, file->items, &work.cursor) != 0)
        abort();
    mcds__buffer_init(&work.old_value, mcds_env_system(), MCDS__LMDB_VALUE_MAX);
    return work;
}

static void give_up(struct mcds__lmdb_work *work)
{
    mdb_cursor_close(work->cursor);
    mcds__buffer_free(&work->old_value);
    mcds__lmdb_write_abort(work->file, work->txn);
}

/* Carry out a message of one request, up to the commit. */
static bool carry_out(struct mcds__lmdb_work *work, const struct mcds__lmdb_message *message)
{
    mcds_request request;
    size_t at = 0;
    bool reserved;
    if (message->count != 1 || !mcds__lmdb_message_next(message, &at, &request) ||
        mcds__lmdb_execute(work, &request, NULL) != 0)
        return false;
    mcds__lmdb_publications_answer(work->file, 0, &request.reply);
    bool sealed = mcds__lmdb_publications_seal(work, mcds_env_system()) == 0 &&
                  mcds__lmdb_cas_store(work, false, &reserved) == 0;
    mdb_cursor_close(work->cursor);
    mcds__buffer_free(&work->old_value);
    return sealed;
}

static void await_posted(const struct mcds__lmdb_file *file, uint32_t count)
{
    while (mcds__lmdb_publications_posted(file) < count)
        (void)usleep(500);
}

static int status_of(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* What a process that was made before the lock was taken waits for. */
static int signal_to_go[2];

static void say_go(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(write(signal_to_go[1], "g", 1), 1);
}

static pid_t make_process(void)
{
    char byte;
    if (signal_to_go[1] == 0)
        assert_int_equal(pipe(signal_to_go), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0 && read(signal_to_go[0], &byte, 1) != 1)
        _exit(99);
    return child;
}

/* Add one to "n" in a process of its own, once told to, and end with how many commits that took. */
static pid_t send_one(const char *path, const char *options)
{
    pid_t child = make_process();
    if (child != 0)
        return child;
    mcds_store *store;
    struct sought sought;
    unsigned long long batches;
    unsigned long long commits;
    if (try_open(path, options, env, &store) != MCDS_OK ||
        add_number(store, "n", 1).outcome != MCDS_OUT_OK)
        _exit(100);
    if (sscanf(find_finding(store, "this process has written", &sought),
               "this process has written %llu batches in %llu commits", &batches,
               &commits) != 2 ||
        batches != 1)
        _exit(101);
    mcds_close(store);
    _exit((int)commits);
}

static uint64_t number_in(const char *path)
{
    mcds_store *store = open_store(path, "", env);
    uint64_t number = add_number(store, "n", 0).number;
    mcds_close(store);
    return number;
}

static void what_waits_is_one_commit(void **state)
{
    struct fixture *fixture = *state;
    pid_t children[SENDERS];
    for (int i = 0; i < SENDERS; i++)
        children[i] = send_one(fixture->file, "");
    struct mcds__lmdb_file *file = open_file(fixture->file);
    struct mcds__lmdb_work work = begin(file);
    say_go(SENDERS);
    await_posted(file, SENDERS);
    give_up(&work);
    int commits = 0;
    for (int i = 0; i < SENDERS; i++) {
        int status = status_of(children[i]);
        assert_true(WIFEXITED(status));
        commits += WEXITSTATUS(status);
    }
    assert_int_equal(commits, 1);
    assert_int_equal(number_in(fixture->file), SENDERS);
    mcds__lmdb_file_close(file, true);
}

/* Append and read in one batch, in a process of its own, once told to. */
static pid_t append_and_read(const char *path)
{
    pid_t child = make_process();
    if (child != 0)
        return child;
    mcds_store *store;
    mcds_buffer values;
    mcds_request requests[] = {{.command = MCDS_APPEND,
                                .options = MCDS_CREATE,
                                .key = text("k"),
                                .value = text("xyz")},
                               {.command = MCDS_GET, .key = text("k")},
                               {.command = MCDS_GET, .key = text("none")}};
    mcds__buffer_init(&values, mcds_env_system(), 100);
    if (try_open(path, "", env, &store) != MCDS_OK)
        _exit(100);
    run(store, requests, 3, &values);
    bool fine = requests[0].reply.outcome == MCDS_OUT_OK &&
                requests[1].reply.outcome == MCDS_OUT_OK &&
                requests[1].reply.cas.unique == requests[0].reply.cas.unique &&
                requests[2].reply.outcome == MCDS_OUT_MISS && values.length == 6 &&
                memcmp(values.data, "abcxyz", 6) == 0;
    mcds_close(store);
    _exit(fine ? 0 : 101);
}

static void values_are_read_by_who_asks_for_them(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "", env);
    (void)put(store, MCDS_SET, "k", "abc", 0);
    pid_t child = append_and_read(fixture->file);
    struct mcds__lmdb_file *file = open_file(fixture->file);
    struct mcds__lmdb_work work = begin(file);
    struct mcds__lmdb_message message;
    bool uncertain;
    say_go(1);
    await_posted(file, 1);
    assert_true(mcds__lmdb_publications_take(file, &message));
    assert_true(carry_out(&work, &message));
    assert_int_equal(mcds__lmdb_write_commit(file, work.txn, false, &uncertain), 0);
    assert_int_equal(status_of(child), 0);
    mcds__lmdb_file_close(file, true);
    mcds_close(store);
}

#define LEASE_MS 5000
#define TICK_NS (60 * NS_PER_S)
#define READINGS 2 /* for the requests of the owner: of both clocks */

/* Set a key with a ttl in a process of its own, once told to. */
static pid_t send_lease(const char *path)
{
    pid_t child = make_process();
    if (child != 0)
        return child;
    mcds_store *store;
    if (try_open(path, "", env, &store) != MCDS_OK)
        _exit(100);
    mcds_reply reply = run_one(store, (mcds_request){.command = MCDS_SET,
                                                     .key = text("lease"),
                                                     .value = text("token"),
                                                     .ttl_ms = LEASE_MS});
    mcds_close(store);
    _exit(reply.outcome == MCDS_OUT_OK ? 0 : 101);
}

/* A clock that is later at each reading. */
struct ticking {
    mcds_env env;
    int64_t now_ns;
    int64_t tick_ns;
};

static int64_t tick(void *self)
{
    struct ticking *ticking = self;
    return ticking->now_ns += ticking->tick_ns;
}

static void run_on(struct mcds__lmdb_file *file, const mcds_env *clocks, MDB_txn *txn,
                   mcds_request *request)
{
    bool uncertain;
    mcds_batch batch = {.requests = request, .count = 1, .deadline_ns = INT64_MAX};
    const struct mcds__lmdb_scope scope = {
        .env = clocks, .batch = &batch, .takes_messages = true, .until_ns = in_ms(3600 * 1000)};
    assert_int_equal(mcds__lmdb_attempt(file, clocks, &scope, txn, &uncertain), 0);
    assert_int_equal(request->reply.outcome, MCDS_OUT_OK);
}

/* The owner of the lock has read its clock for its own requests a minute before it executes a
 * message. The time of a lease in the message begins at the execution. */
static void a_lease_in_a_message_does_not_end_early(void **state)
{
    struct fixture *fixture = *state;
    pid_t child = send_lease(fixture->file);
    struct mcds__lmdb_file *file = open_file(fixture->file);
    struct ticking ticking = {.env = *mcds_env_system(), .tick_ns = TICK_NS};
    MDB_txn *txn;
    ticking.env.self = &ticking;
    ticking.env.monotonic_ns = ticking.env.wall_ns = tick;
    int64_t begin_ns = ticking.now_ns = mcds__wall_ns(mcds_env_system());
    assert_int_equal(mcds__lmdb_write_begin(file, mcds_env_system(), in_ms(3600 * 1000), &txn),
                     0);
    say_go(1);
    await_posted(file, 1);
    file->clock.shared = &ticking.env;
    mcds_request own = {.command = MCDS_SET, .key = text("own"), .value = text("")};
    run_on(file, &ticking.env, txn, &own);
    assert_int_equal(status_of(child), 0);
    int64_t later_ns = ticking.now_ns - begin_ns;
    ticking.tick_ns = 0;
    mcds_request look = {
        .command = MCDS_GET, .options = MCDS_NO_VALUE | MCDS_WANT_TTL, .key = text("lease")};
    run_on(file, &ticking.env, NULL, &look);
    assert_true(later_ns > READINGS * TICK_NS); /* it was read again for the message */
    assert_int_equal(look.reply.ttl_ms, LEASE_MS);
    mcds__lmdb_file_close(file, true);
}

/* A writer without sync does not weaken a commit with sync. */
static void durable_is_durable_whoever_writes_it(void **state)
{
    struct fixture *fixture = *state;
    pid_t durable = send_one(fixture->file, "");
    pid_t other = send_one(fixture->file, "?sync=async");
    mcds_store *async = open_store(fixture->file, "?sync=async", env);
    struct mcds__lmdb_file *file = open_file(fixture->file);
    mcds__lmdb_file_close(file, true); /* still open, by the store */
    (void)add_number(async, "other", 1);
    struct mcds__lmdb_work work = begin(file);
    say_go(2);
    await_posted(file, 2);
    struct mcds__lmdb_message message;
    assert_true(mcds__lmdb_publications_take(file, &message));
    assert_int_equal(message.synced, 0);
    assert_false(mcds__lmdb_publications_take(file, &message));
    give_up(&work);
    assert_true(WIFEXITED(status_of(durable)));
    assert_true(WIFEXITED(status_of(other)));
    assert_int_equal(number_in(fixture->file), 2);
    mcds_close(async);
}

enum death { BEFORE_IT_IS_CARRIED_OUT, BEFORE_THE_COMMIT, IN_THE_COMMIT, AFTER_THE_COMMIT };

/* The state after a death in the middle of LMDB's commit: the page that makes it valid is
 * written, its lock is held, and its lock file has the transaction before. */
static bool look_as_in_the_commit(struct mcds__lmdb_file *file, const char *path)
{
    char lock_path[160];
    MDB_txn *txn;
    MDB_envinfo info;
    size_t last; /* LMDB writes a word of the machine */
    (void)snprintf(lock_path, sizeof lock_path, "%s-lock", path);
    int lock = open(lock_path, O_RDWR);
    if (lock < 0 || mdb_env_info(file->env, &info) != 0 ||
        mdb_txn_begin(file->env, NULL, 0, &txn) != 0 ||
        pread(lock, &last, sizeof last, (off_t)LAST_TXNID_AT) != sizeof last ||
        last != info.me_last_txnid)
        return false;
    last--;
    return pwrite(lock, &last, sizeof last, (off_t)LAST_TXNID_AT) == sizeof last;
}

/* Take the write lock, report it, take the posted messages, and die in the middle. */
static void die_as_owner(const char *path, enum death death, int ready)
{
    struct mcds__lmdb_message message;
    struct mcds__lmdb_file *file = open_file(path);
    struct mcds__lmdb_work work = begin(file);
    if (write(ready, "r", 1) != 1)
        _exit(1);
    await_posted(file, 1);
    if (!mcds__lmdb_publications_take(file, &message))
        _exit(2);
    if (death == BEFORE_IT_IS_CARRIED_OUT)
        (void)raise(SIGKILL);
    if (!carry_out(&work, &message))
        _exit(3);
    if (death != BEFORE_THE_COMMIT && mdb_txn_commit(work.txn) != 0)
        _exit(4);
    if (death == IN_THE_COMMIT && !look_as_in_the_commit(file, path))
        _exit(5);
    (void)raise(SIGKILL);
}

static void check_death(const char *path, enum death death)
{
    int ready[2];
    char byte;
    mcds_store *store = open_store(path, "", env);
    assert_int_equal(add_number(store, "n", 7).number, 7);
    mcds_close(store);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        die_as_owner(path, death, ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    store = open_store(path, "", env);
    mcds_reply reply = add_number(store, "n", 1);
    assert_int_equal(reply.outcome, MCDS_OUT_OK);
    assert_int_equal(reply.number, 8);
    assert_true(WIFSIGNALED(status_of(child)));
    assert_int_equal(add_number(store, "n", 1).number, 9);
    mcds_reply next = run_one(
        store, (mcds_request){.command = MCDS_DELETE, .key = text("n"), .cas = reply.cas});
    assert_int_equal(next.outcome, MCDS_OUT_EXISTS);
    mcds_close(store);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

static void who_dies_before_is_forgotten(void **state)
{
    struct fixture *fixture = *state;
    check_death(fixture->file, BEFORE_IT_IS_CARRIED_OUT);
}

static void who_dies_before_the_commit_has_done_nothing(void **state)
{
    struct fixture *fixture = *state;
    check_death(fixture->file, BEFORE_THE_COMMIT);
}

static void who_dies_in_the_commit_has_done_it(void **state)
{
    struct fixture *fixture = *state;
    check_death(fixture->file, IN_THE_COMMIT);
}

static void who_dies_after_the_commit_has_done_it(void **state)
{
    struct fixture *fixture = *state;
    check_death(fixture->file, AFTER_THE_COMMIT);
}

/* The message of a dead sender has been posted, and its slot belongs to another. */
static void dead_senders_take_up_no_place(void **state)
{
    struct fixture *fixture = *state;
    struct mcds__lmdb_file *file = open_file(fixture->file);
    mcds_store *store = open_store(fixture->file, "", env);
    for (int i = 0; i < MCDS__LMDB_PUBLICATIONS_MAX + 8; i++) {
        pid_t child = send_one(fixture->file, "");
        struct mcds__lmdb_work work = begin(file);
        say_go(1);
        await_posted(file, 1);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_true(WIFSIGNALED(status_of(child)));
        give_up(&work);
        (void)add_number(store, "other", 1);
        assert_int_equal(mcds__lmdb_publications_posted(file), 0);
    }
    assert_int_equal(number_in(fixture->file), MCDS__LMDB_PUBLICATIONS_MAX + 8);
    mcds_close(store);
    mcds__lmdb_file_close(file, true);
}

/* Try to add one in time, in a process of its own, once told to, and end with the outcome. */
static pid_t hurry(const char *path, int64_t time_ms)
{
    pid_t child = make_process();
    if (child != 0)
        return child;
    mcds_store *store;
    if (try_open(path, "", env, &store) != MCDS_OK)
        _exit(100);
    mcds_request request = {.command = MCDS_INCR, .key = text("n"), .delta = 1};
    mcds_batch batch = {.requests = &request, .count = 1, .deadline_ns = in_ms(time_ms)};
    mcds__store_execute(store, 0, &batch);
    mcds_close(store);
    _exit((int)request.reply.outcome);
}

/* Nobody waits beyond the deadline: what nobody has taken is not sent, of the rest nobody knows. */
static void the_deadline_ends_it(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "", env);
    (void)add_number(store, "n", 1);
    struct mcds__lmdb_file *file = open_file(fixture->file);
    pid_t child = hurry(fixture->file, 30);
    struct mcds__lmdb_work work = begin(file);
    say_go(1);
    int status = status_of(child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), MCDS_OUT_UNSENT);
    assert_int_equal(mcds__lmdb_publications_posted(file), 0);
    struct mcds__lmdb_message message;
    bool taken = false;
    for (int64_t time_ms = 50; !taken; time_ms *= 2) {
        give_up(&work);
        child = hurry(fixture->file, time_ms);
        work = begin(file);
        say_go(1);
        pid_t ended = 0;
        while (!taken && ended == 0) {
            taken = mcds__lmdb_publications_take(file, &message);
            if (!taken)
                mcds__lmdb_publications_end(file, MCDS__LMDB_NOTHING);
            ended = waitpid(child, &status, WNOHANG);
        }
        if (ended == 0)
            status = status_of(child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), taken ? MCDS_OUT_UNKNOWN : MCDS_OUT_UNSENT);
    }
    /* What is given up is not posted again: its sender has left. */
    give_up(&work);
    assert_int_equal(mcds__lmdb_publications_posted(file), 0);
    assert_int_equal(add_number(store, "n", 1).number, 2);
    mcds__lmdb_file_close(file, true);
    mcds_close(store);
}

/* A clock that counts how often it is read. */
static _Atomic uint64_t clock_reads;

static int64_t read_clock(void *self)
{
    (void)self;
    clock_reads++;
    return mcds__monotonic_ns(mcds_env_system());
}

static void *post_nothing(void *argument)
{
    static const struct mcds__lmdb_message message;
    struct mcds__lmdb_file *file = argument;
    if (mcds__lmdb_delegate(file, mcds_env_system(), &message, NULL, in_ms(3600 * 1000),
                            in_ms(3600 * 1000)) == MCDS__LMDB_OWNER)
        mcds__lmdb_write_lock_leave(file);
    return NULL;
}

/* A crowd that polls takes the processor away from the one that writes. */
static void who_has_no_place_looks_rarely(void **state)
{
    static const struct mcds__lmdb_message message;
    struct fixture *fixture = *state;
    pthread_t senders[MCDS__LMDB_PUBLICATIONS_MAX];
    mcds_env counting = *mcds_env_system();
    struct mcds__lmdb_file *file = open_file(fixture->file);
    struct mcds__lmdb_work work = begin(file);
    for (int i = 0; i < MCDS__LMDB_PUBLICATIONS_MAX; i++)
        assert_int_equal(pthread_create(&senders[i], NULL, post_nothing, file), 0);
    await_posted(file, MCDS__LMDB_PUBLICATIONS_MAX);
    counting.monotonic_ns = read_clock;
    clock_reads = 0;
    assert_int_equal(
        mcds__lmdb_delegate(file, &counting, &message, NULL, in_ms(WAIT_MS), in_ms(WAIT_MS)),
        MCDS__LMDB_LEFT);
    assert_in_range(clock_reads, 1, READS_MAX);
    give_up(&work);
    for (int i = 0; i < MCDS__LMDB_PUBLICATIONS_MAX; i++)
        assert_int_equal(pthread_join(senders[i], NULL), 0);
    mcds__lmdb_file_close(file, true);
}

/* More than there are slots for, and more than fits into one message. */
static void a_crowd_adds_up(void **state)
{
    struct fixture *fixture = *state;
    pid_t children[MCDS__LMDB_PUBLICATIONS_MAX + 8];
    uint32_t count = sizeof children / sizeof children[0];
    for (uint32_t i = 0; i < count; i++)
        children[i] = send_one(fixture->file, "");
    struct mcds__lmdb_file *file = open_file(fixture->file);
    struct mcds__lmdb_work work = begin(file);
    say_go(count);
    await_posted(file, MCDS__LMDB_PUBLICATIONS_MAX);
    give_up(&work);
    for (uint32_t i = 0; i < count; i++)
        assert_true(WEXITSTATUS(status_of(children[i])) < 100);
    assert_int_equal(number_in(fixture->file), count);
    mcds__lmdb_file_close(file, true);
}

static mcds_request full_request(void)
{
    return (mcds_request){
        .command = MCDS_CAS,
        .options = MCDS_CREATE,
        .flags = 1,
        .ttl_ms = 2,
        .delta = 3,
        .initial = 4,
        .key = text("the key"),
        .value = text("the value"),
        .cas = {5, 6},
    };
}

static void a_message_says_what_was_asked(void **state)
{
    (void)state;
    static struct mcds__lmdb_message message;
    mcds_request requests[2] = {full_request(), {.command = MCDS_TOUCH, .key = text("k")}};
    mcds_batch batch = {.requests = requests, .count = 2};
    mcds_request read;
    size_t at = 0;
    assert_true(mcds__lmdb_message_add(&message, &batch));
    assert_int_equal(message.count, 2);
    assert_true(mcds__lmdb_message_next(&message, &at, &read));
    assert_int_equal(read.command, MCDS_CAS);
    assert_int_equal(read.options, MCDS_CREATE);
    assert_int_equal(read.flags, 1);
    assert_int_equal(read.ttl_ms, 2);
    assert_int_equal(read.delta, 3);
    assert_int_equal(read.initial, 4);
    assert_int_equal(read.cas.unique, 5);
    assert_int_equal(read.cas.connection, 6);
    assert_int_equal(read.key.length, 7);
    assert_memory_equal(read.key.data, "the key", 7);
    assert_int_equal(read.value.length, 9);
    assert_memory_equal(read.value.data, "the value", 9);
    assert_true(mcds__lmdb_message_next(&message, &at, &read));
    assert_int_equal(read.command, MCDS_TOUCH);
    assert_int_equal(read.value.length, 0);
    assert_false(mcds__lmdb_message_next(&message, &at, &read));
}

static void a_message_takes_whole_batches(void **state)
{
    (void)state;
    static struct mcds__lmdb_message message;
    static char value[MCDS__LMDB_MESSAGE_BYTES];
    mcds_buffer values;
    mcds_request requests[2] = {full_request(), full_request()};
    mcds_batch batch = {.requests = requests, .count = 2};
    requests[1].value = (mcds_bytes){value, sizeof value};
    assert_false(mcds__lmdb_message_add(&message, &batch));
    assert_int_equal(message.count, 0);
    assert_int_equal(message.length, 0);
    /* Answers have no room for values: they are read after all that is written, or not at all. */
    mcds__buffer_init(&values, mcds_env_system(), 100);
    batch.values = &values;
    requests[1] = requests[0] = (mcds_request){.command = MCDS_GET, .key = text("k")};
    requests[1].command = MCDS_TOUCH;
    assert_false(mcds__lmdb_message_add(&message, &batch));
    requests[0] = full_request();
    requests[1] = (mcds_request){.command = MCDS_GET, .key = text("k")};
    assert_true(mcds__lmdb_message_add(&message, &batch));
    assert_int_equal(message.count, 1);
    requests[1].options = MCDS_NO_VALUE;
    assert_true(mcds__lmdb_message_add(&message, &batch));
    while (message.count < MCDS__LMDB_MESSAGE_REQUESTS) {
        requests[0] = requests[1];
        batch.count = 1;
        assert_true(mcds__lmdb_message_add(&message, &batch));
    }
    assert_false(mcds__lmdb_message_add(&message, &batch));
}

/* A part of a queue or another key of a map, which is at most about this large. */
static void a_message_takes_a_rewritten_key(void **state)
{
    (void)state;
    static struct mcds__lmdb_message message;
    static char value[24 * 1024];
    mcds_request request = full_request();
    mcds_batch batch = {.requests = &request, .count = 1};
    request.value = (mcds_bytes){value, sizeof value};
    assert_true(mcds__lmdb_message_add(&message, &batch));
}

static void a_damaged_message_is_read_to_its_damage(void **state)
{
    (void)state;
    static struct mcds__lmdb_message whole, message;
    mcds_request requests[3] = {full_request(), full_request(), full_request()};
    mcds_batch batch = {.requests = requests, .count = 3};
    assert_true(mcds__lmdb_message_add(&whole, &batch));
    for (uint32_t length = 0; length <= MCDS__LMDB_MESSAGE_BYTES + 9; length++) {
        size_t at = 0;
        uint32_t count = 0;
        message = whole;
        message.length = length;
        mcds_request read;
        while (mcds__lmdb_message_next(&message, &at, &read))
            count++;
        assert_true(length > MCDS__LMDB_MESSAGE_BYTES ? count == 0 : at <= length);
        if (length <= whole.length)
            assert_int_equal(count, length / (whole.length / 3));
    }
    for (uint32_t i = 0; i < whole.length; i++) {
        size_t at = 0;
        mcds_request read;
        message = whole;
        message.bytes[i] ^= 0xff;
        while (mcds__lmdb_message_next(&message, &at, &read)) {
            assert_true((const uint8_t *)read.key.data >= message.bytes);
            assert_true(at <= message.length);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_waits_is_one_commit),
        TEST(values_are_read_by_who_asks_for_them),
        TEST(a_lease_in_a_message_does_not_end_early),
        TEST(durable_is_durable_whoever_writes_it),
        TEST(who_dies_before_is_forgotten),
        TEST(who_dies_before_the_commit_has_done_nothing),
        TEST(who_dies_in_the_commit_has_done_it),
        TEST(who_dies_after_the_commit_has_done_it),
        TEST(dead_senders_take_up_no_place),
        TEST(the_deadline_ends_it),
        TEST(who_has_no_place_looks_rarely),
        TEST(a_crowd_adds_up),
        cmocka_unit_test(a_message_says_what_was_asked),
        cmocka_unit_test(a_message_takes_whole_batches),
        cmocka_unit_test(a_message_takes_a_rewritten_key),
        cmocka_unit_test(a_damaged_message_is_read_to_its_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
