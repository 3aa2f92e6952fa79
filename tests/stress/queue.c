/* Eight workers take jobs from one queue, and are killed at random: queue STORE (lmdb or memcached)
 *
 * One process pushes the jobs, which have numbers. Each time that a random number of jobs has been
 * handed out, a random worker is killed, and another one takes its seat. Every job must be handed
 * out at least once, and ended by an acknowledged done, or by one that its worker was killed in. A
 * job whose done was acknowledged must not be handed out by a call that began after that, nor one
 * whose claim lasts. At the end the queue is empty. On memcached the queue has several stripes.
 * STRESS_JOBS: how many. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mcds.h"
#include "stress/stage.h"
#include "support/dice.h"

#define WORKERS 8
#define STRIPES 3
#define TIMEOUT_MS 60000
#define VISIBLE_MS 500
#define WAIT_MS 50
#define AGAIN_MS_MAX 20
#define PUSH_MANY_MAX 40
#define JOB_MAX 9000
#define OVERSLEEP_ONE_IN 400
#define OVERSLEEP_MS 600
#define KILLED_AFTER_MAX 80 /* jobs handed out */
#define STUCK_S 120
#define PAUSE_NS 200000
#define MARGIN_NS 5000000 /* the clock of the claims counts milliseconds */

/* One job, in memory that all share. */
struct fate {
    _Atomic uint32_t handed;
    _Atomic int64_t held_ns; /* until then its last claim lasts; 0: it was ended */
    _Atomic int64_t done_ns; /* when a done of it had been acknowledged; 0: not yet */
    atomic_bool may_be_done; /* a worker was killed while it waited for the answer to a done */
};

/* What a worker is doing, for the parent. */
struct seat {
    pid_t pid; /* of the parent; 0: empty */
    _Atomic uint32_t
        ending; /* number + 1 of the job whose done was not answered yet; 0: none */
};

struct shared {
    uint32_t jobs;
    atomic_bool is_pushed; /* all of them */
    _Atomic uint64_t handed;
    _Atomic uint64_t returned; /* given back for later */
    _Atomic uint64_t lost;     /* claims after which another one had followed */
    struct seat seats[WORKERS];
    struct fate fates[];
};

struct worker {
    struct shared *shared;
    struct seat *seat;
    mcds_store *store;
    mcds_queue *queue;
    mcds_job job;
    mcds_value bytes;
    uint32_t number; /* of the job that is held */
    uint64_t dice;
};

/* The number, and as many more bytes as the number says. */
static mcds_bytes write_job(uint32_t number, char *out)
{
    size_t length = number % 500 == 499 ? JOB_MAX : 16 + number * 37 % 200;
    int used = snprintf(out, length, "%u ", (unsigned)number);
    memset(out + used, 'a' + (int)(number % 26), length - (size_t)used);
    return (mcds_bytes){out, length};
}

static bool read_job(const struct shared *shared, const mcds_value *bytes, uint32_t *number_out)
{
    static char expected[JOB_MAX];
    char head[16] = "";
    if (bytes->length < sizeof head)
        return COMPLAIN("a job of %zu bytes", bytes->length);
    memcpy(head, bytes->data, sizeof head - 1);
    unsigned long number = strtoul(head, NULL, 10);
    if (number >= shared->jobs)
        return COMPLAIN("a job with the number %lu", number);
    mcds_bytes whole = write_job((uint32_t)number, expected);
    *number_out = (uint32_t)number;
    return (whole.length == bytes->length &&
            memcmp(whole.data, bytes->data, whole.length) == 0) ||
           COMPLAIN("job %lu has other bytes", number);
}

static bool open_queue(const char *uri, mcds_store **store, mcds_queue **queue)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_queue_options queue_options = MCDS_QUEUE_OPTIONS_INIT;
    options.timeout_ms = TIMEOUT_MS;
    queue_options.visible_ms = VISIBLE_MS;
    queue_options.flags = MCDS_QUEUE_MAY_LOSE;
    queue_options.stripes = strncmp(uri, "lmdb:", 5) == 0 ? 1 : STRIPES;
    return (mcds_open(uri, &options, store) == MCDS_OK &&
            mcds_queue_open(*store, "stress", &queue_options, queue) == MCDS_OK) ||
           COMPLAIN("open: %s", mcds_errmsg());
}

static bool push_all(mcds_queue *queue, struct shared *shared)
{
    static char rooms[PUSH_MANY_MAX][JOB_MAX];
    mcds_bytes jobs[PUSH_MANY_MAX];
    uint64_t dice = 1;
    for (uint32_t next = 0; next < shared->jobs;) {
        uint32_t count = 1 + (uint32_t)dice_roll(&dice, PUSH_MANY_MAX);
        size_t pushed = 0;
        for (uint32_t i = 0; i < count; i++)
            jobs[i] = write_job(next + i, rooms[i]);
        if (count > shared->jobs - next)
            count = shared->jobs - next;
        if (mcds_queue_push_many(queue, jobs, count, 0, &pushed) != MCDS_OK || pushed != count)
            return COMPLAIN("push_many: %s", mcds_errmsg());
        next += count;
    }
    shared->is_pushed = true;
    return true;
}

static bool run_pusher(const char *uri, struct shared *shared)
{
    mcds_store *store = NULL;
    mcds_queue *queue = NULL;
    bool fine = open_queue(uri, &store, &queue) && push_all(queue, shared);
    mcds_queue_close(queue);
    mcds_close(store);
    return fine;
}

/* The claim that is held is about to be ended. */
static void note_ending(struct worker *worker, bool is_done)
{
    worker->shared->fates[worker->number].held_ns = 0;
    worker->seat->ending = is_done ? worker->number + 1 : 0;
}

/* A done of the job that was held has been acknowledged. */
static void note_done(struct worker *worker)
{
    if (worker->seat->ending > 0)
        worker->shared->fates[worker->seat->ending - 1].done_ns = stage_now_ns();
    worker->seat->ending = 0;
}

static bool note_handed(struct worker *worker, int64_t begun_ns)
{
    struct shared *shared = worker->shared;
    if (!read_job(shared, &worker->bytes, &worker->number))
        return false;
    struct fate *fate = &shared->fates[worker->number];
    int64_t done_ns = fate->done_ns;
    int64_t held_ns = fate->held_ns;
    fate->held_ns = worker->job.deadline_ns;
    fate->handed++;
    shared->handed++;
    if (held_ns > stage_now_ns() + MARGIN_NS)
        return COMPLAIN("job %u was handed out while another claim lasts",
                        (unsigned)worker->number);
    return done_ns == 0 || done_ns >= begun_ns ||
           COMPLAIN("job %u was handed out %lld ns after its done was acknowledged",
                    (unsigned)worker->number, (long long)(begun_ns - done_ns));
}

/* End the job that is held, if any, and take one. *has_out: whether there was one. */
static bool take(struct worker *worker, bool *has_out)
{
    int64_t begun_ns = stage_now_ns();
    if (worker->job.is_held)
        note_ending(worker, true);
    int result = mcds_queue_next(worker->queue, WAIT_MS, &worker->job, &worker->bytes);
    *has_out = result == MCDS_OK;
    if (result != MCDS_OK && result != MCDS_NOT_FOUND)
        return COMPLAIN("next: %s: %s", mcds_result_name(result), mcds_errmsg());
    worker->shared->lost += worker->job.was_lost;
    note_done(worker);
    return result != MCDS_OK || note_handed(worker, begun_ns);
}

/* A claim may have ended, which changes nothing. */
static bool settle(struct worker *worker, const char *verb, int result)
{
    if (result == MCDS_LOST)
        worker->shared->lost++;
    return result == MCDS_OK || result == MCDS_LOST ||
           COMPLAIN("%s: %s: %s", verb, mcds_result_name(result), mcds_errmsg());
}

/* done, again or longer; mostly none of them, and the next call of take() ends the job. Sometimes
 * the claim has ended by then. */
static bool treat(struct worker *worker)
{
    if (dice_roll(&worker->dice, OVERSLEEP_ONE_IN) == 0)
        stage_sleep_ns(OVERSLEEP_MS * INT64_C(1000000));
    switch (dice_roll(&worker->dice, 8)) {
    case 0:
        note_ending(worker, true);
        if (!settle(worker, "done", mcds_queue_done(worker->queue, &worker->job)))
            return false;
        note_done(
            worker); /* LOST: another worker has claimed it, and it is erased all the same */
        return true;
    case 1:
        worker->shared->returned++;
        note_ending(worker, false);
        return settle(worker, "again",
                      mcds_queue_again(worker->queue, &worker->job,
                                       dice_roll(&worker->dice, AGAIN_MS_MAX)));
    case 2:
        if (!settle(worker, "longer", mcds_queue_longer(worker->queue, &worker->job)))
            return false;
        if (worker->job.is_held)
            worker->shared->fates[worker->number].held_ns = worker->job.deadline_ns;
        return true;
    default:
        return true;
    }
}

static bool is_empty(mcds_queue *queue, bool *is_out)
{
    mcds_queue_counts counts = MCDS_QUEUE_COUNTS_INIT;
    if (mcds_queue_count(queue, &counts) < 0)
        return COMPLAIN("count: %s", mcds_errmsg());
    *is_out = counts.waiting + counts.delayed + counts.claimed + counts.dead == 0;
    return true;
}

/* Work until all jobs have been pushed and the queue is empty. */
static bool work(struct worker *worker)
{
    bool has_job = false;
    bool is_over = false;
    while (!is_over) {
        bool was_pushed = worker->shared->is_pushed;
        if (!take(worker, &has_job) || (has_job && !treat(worker)) ||
            (!has_job && was_pushed && !is_empty(worker->queue, &is_over)))
            return false;
    }
    return true;
}

static bool run_worker(const char *uri, struct shared *shared, struct seat *seat, uint64_t dice)
{
    struct worker worker = {.shared = shared,
                            .seat = seat,
                            .job = MCDS_JOB_INIT,
                            .bytes = MCDS_VALUE_INIT,
                            .dice = dice};
    bool fine = open_queue(uri, &worker.store, &worker.queue) && work(&worker);
    mcds_value_free(&worker.bytes);
    mcds_queue_close(worker.queue);
    mcds_close(worker.store);
    return fine;
}

static void start_worker(const char *uri, struct shared *shared, struct seat *seat,
                         uint64_t dice)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(run_worker(uri, shared, seat, dice) ? EXIT_SUCCESS : EXIT_FAILURE);
    if (pid < 0)
        abort();
    seat->pid = pid;
}

/* A worker was killed. */
static void note_killed(struct shared *shared, struct seat *seat)
{
    if (seat->ending > 0)
        shared->fates[seat->ending - 1].may_be_done = true;
    seat->ending = 0;
}

/* Empty the seats of workers that have ended by themselves. False: one has failed. */
static bool see_ends(struct shared *shared, int *working_out)
{
    bool fine = true;
    *working_out = 0;
    for (int i = 0; i < WORKERS; i++) {
        struct seat *seat = &shared->seats[i];
        int status;
        if (seat->pid > 0 && waitpid(seat->pid, &status, WNOHANG) == seat->pid) {
            seat->pid = 0;
            if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS)
                fine = COMPLAIN("worker %d: status %d", i, status);
        }
        *working_out += seat->pid > 0;
    }
    return fine;
}

/* Kill a worker, and start another one. */
static void replace(const char *uri, struct shared *shared, struct seat *seat, uint64_t dice)
{
    (void)kill(seat->pid, SIGKILL);
    (void)waitpid(seat->pid, NULL, 0);
    note_killed(shared, seat);
    start_worker(uri, shared, seat, dice);
}

/* Kill workers until all have ended by themselves. False: one has failed, or nothing moves. */
static bool kill_some(const char *uri, struct shared *shared, uint32_t *killed_out)
{
    uint64_t dice = 77, seen = 0;
    uint64_t next = dice_roll(&dice, KILLED_AFTER_MAX);
    int64_t moved_ns = stage_now_ns();
    int working = WORKERS;
    while (see_ends(shared, &working)) {
        uint64_t handed = shared->handed;
        struct seat *seat = &shared->seats[dice_roll(&dice, WORKERS)];
        if (working == 0)
            return true;
        if (handed >= next && seat->pid > 0) {
            replace(uri, shared, seat, WORKERS + (uint64_t)++ * killed_out);
            next = handed + 1 + dice_roll(&dice, KILLED_AFTER_MAX);
        }
        if (handed > seen)
            moved_ns = stage_now_ns();
        seen = handed;
        if (stage_now_ns() - moved_ns > (int64_t)STUCK_S * 1000000000)
            return COMPLAIN("no job was handed out for %d s", STUCK_S);
        stage_sleep_ns(PAUSE_NS);
    }
    return false;
}

static bool judge_job(const struct fate *fate, uint32_t number)
{
    if (fate->handed == 0)
        return COMPLAIN("job %u was never handed out", (unsigned)number);
    return fate->done_ns > 0 || fate->may_be_done ||
           COMPLAIN("job %u is gone, and nobody has ended it", (unsigned)number);
}

static bool judge(const char *uri, struct shared *shared, uint32_t killed)
{
    mcds_store *store = NULL;
    mcds_queue *queue = NULL;
    uint32_t unanswered = 0;
    bool is_over = false;
    bool fine = open_queue(uri, &store, &queue) && is_empty(queue, &is_over);
    if (fine && !is_over)
        fine = COMPLAIN("the queue is not empty");
    for (uint32_t i = 0; i < shared->jobs; i++) {
        fine = fine && judge_job(&shared->fates[i], i);
        unanswered += shared->fates[i].done_ns == 0;
    }
    (void)printf("%u jobs, handed out %llu times, %llu given back, %llu claims had ended, %u "
                 "dones without an answer; %u workers killed\n",
                 (unsigned)shared->jobs, (unsigned long long)shared->handed,
                 (unsigned long long)shared->returned, (unsigned long long)shared->lost,
                 (unsigned)unanswered, (unsigned)killed);
    mcds_queue_close(queue);
    mcds_close(store);
    return fine;
}

/* After a failure, no process may stay. */
static void end_all(const struct shared *shared, pid_t pusher)
{
    for (int i = 0; i < WORKERS; i++)
        if (shared->seats[i].pid > 0) {
            (void)kill(shared->seats[i].pid, SIGKILL);
            (void)waitpid(shared->seats[i].pid, NULL, 0);
        }
    (void)kill(pusher, SIGKILL);
}

static bool run(const char *uri, uint32_t jobs)
{
    struct shared *shared = stage_share(sizeof *shared + jobs * sizeof shared->fates[0]);
    uint32_t killed = 0;
    int64_t begun_ns = stage_now_ns();
    int status = 0;
    shared->jobs = jobs;
    (void)fflush(stdout);
    pid_t pusher = fork();
    if (pusher == 0)
        _exit(run_pusher(uri, shared) ? EXIT_SUCCESS : EXIT_FAILURE);
    if (pusher < 0)
        abort();
    for (uint64_t i = 0; i < WORKERS; i++)
        start_worker(uri, shared, &shared->seats[i], i);
    bool fine = kill_some(uri, shared, &killed);
    if (!fine)
        end_all(shared, pusher);
    if (waitpid(pusher, &status, 0) != pusher || status != 0)
        fine = COMPLAIN("the pusher: status %d", status);
    (void)printf("%.1f s\n", (double)(stage_now_ns() - begun_ns) / 1e9);
    return judge(uri, shared, killed) && fine;
}

int main(int argc, char **argv)
{
    struct stage stage;
    if (argc != 2)
        return EXIT_FAILURE;
    int result = stage_open(&stage, argv[1]);
    if (result != 0)
        return result;
    /* each sync of a file takes its time */
    uint64_t jobs = stage_number("STRESS_JOBS", stage.memcached.pid > 0 ? 2000 : 800);
    bool fine = run(stage.uri, (uint32_t)jobs);
    stage_close(&stage);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
