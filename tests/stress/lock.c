/* Sixteen members contend for one lock: lock STORE (memory with threads; lmdb and memcached with
 * processes)
 *
 * No member may hold the lock before the deadline of the previous holder has passed, and fences
 * increase. On memcached a second fight continues while the server is flushed, killed and
 * restarted: then tenures may overlap, because the server has forgotten the holder, but fences
 * still increase. Sometimes a holder keeps working past its deadline. STRESS_SECONDS: the
 * duration of a fight. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mcds.h"
#include "stress/stage.h"
#include "stress/tenures.h"
#include "support/dice.h"

#define FIGHTERS 16
#define TENURES_MAX 40000 /* of one fighter; then it rests */
#define ACQUIRE_MS 2000
#define TIMEOUT_MS 3000
#define HOLD_NS_MAX 400000
#define SITS_MAX 2
#define RESTED_NS 1000000

/* In memory that all share. */
struct diary {
    size_t count;
    uint64_t busy;  /* waited in vain */
    uint64_t lost;  /* the lease had ended before its release */
    uint64_t upset; /* errors, which only a storm excuses */
    struct tenure tenures[TENURES_MAX];
};

struct fight {
    const char *uri;
    uint32_t lease_ms;
    uint64_t sit_one_in;
    bool storm;
    _Atomic bool over;
    struct diary diaries[FIGHTERS];
};

struct fighter {
    struct fight *fight;
    int number;
    struct diary *diary;
    mcds_store *store;
    mcds_lock *lock;
    uint64_t dice;
    int sits;
    bool fine;
};

static uint64_t roll(struct fighter *fighter, uint64_t below)
{
    return dice_roll(&fighter->dice, below);
}

/* "Not applied, for want of time" is a fair answer where so many want one file. Anything else
 * is only while servers come and go. */
static bool excuse(struct fighter *fighter, const char *verb, int result)
{
    bool storm = fighter->fight->storm;
    fighter->diary->upset++;
    if (result == MCDS_TIMEOUT ||
        (storm && (result == MCDS_AMBIGUOUS || result == MCDS_UNAVAILABLE)))
        return true;
    return COMPLAIN("%s: %s: %s", verb, mcds_result_name(result), mcds_errmsg());
}

/* Give it back, or sit on it until the deadline has passed and see whether it is gone. */
static bool end_tenure(struct fighter *fighter, mcds_lease *lease, struct tenure *tenure)
{
    bool sit = fighter->sits < SITS_MAX && roll(fighter, fighter->fight->sit_one_in) == 0;
    tenure->end_ns = lease->deadline_ns;
    if (sit) {
        fighter->sits++;
        stage_sleep_ns(lease->deadline_ns - stage_now_ns() + RESTED_NS);
    } else {
        stage_sleep_ns((int64_t)roll(fighter, HOLD_NS_MAX));
        int64_t now_ns = stage_now_ns();
        if (now_ns < tenure->end_ns)
            tenure->end_ns = now_ns;
    }
    int64_t deadline_ns = lease->deadline_ns;
    int result = mcds_lock_release(fighter->lock, lease);
    bool late = stage_now_ns() >= deadline_ns;
    if (result == MCDS_OK)
        return true;
    fighter->diary->lost += result == MCDS_LOST;
    if (result == MCDS_LOST && (late || fighter->fight->storm))
        return true;
    return excuse(fighter, "release", result);
}

static bool try_once(struct fighter *fighter)
{
    struct diary *diary = fighter->diary;
    mcds_lease lease = MCDS_LEASE_INIT;
    struct tenure tenure = {.asked_ns = stage_now_ns()};
    int result = mcds_lock_acquire(fighter->lock, ACQUIRE_MS, &lease);
    tenure.begin_ns = stage_now_ns();
    tenure.fence = lease.fence;
    if (result == MCDS_BUSY) {
        diary->busy++;
        return true;
    }
    if (result != MCDS_OK) {
        bool fine = excuse(fighter, "acquire", result);
        if (result == MCDS_AMBIGUOUS)
            (void)!mcds_lock_release(fighter->lock, &lease);
        return fine;
    }
    bool fine = end_tenure(fighter, &lease, &tenure);
    diary->tenures[diary->count++] = tenure;
    return fine;
}

static void *fight_on(void *context)
{
    struct fighter *fighter = context;
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_lock_options lock_options = MCDS_LOCK_OPTIONS_INIT;
    options.timeout_ms = TIMEOUT_MS;
    lock_options.lease_ms = fighter->fight->lease_ms;
    fighter->dice = (uint64_t)fighter->number + 1;
    fighter->fine = mcds_open(fighter->fight->uri, &options, &fighter->store) == MCDS_OK &&
                    mcds_lock_open(fighter->store, "stress", &lock_options, &fighter->lock) ==
                        MCDS_OK;
    if (!fighter->fine)
        (void)COMPLAIN("open: %s", mcds_errmsg());
    while (fighter->fine && !fighter->fight->over && fighter->diary->count < TENURES_MAX)
        fighter->fine = try_once(fighter);
    mcds_lock_close(fighter->lock);
    mcds_close(fighter->store);
    return NULL;
}

/* Flush everything after a third of the time and kill the server after two. */
static bool make_storm(struct stage *stage, int64_t length_ns)
{
    static const char flush[] = "flush_all\r\n";
    char answer[8];
    stage_sleep_ns(length_ns / 3);
    int fd = server_connect(&stage->memcached);
    bool fine = fd >= 0 && write(fd, flush, sizeof flush - 1) == (ssize_t)(sizeof flush - 1) &&
                read(fd, answer, sizeof answer) > 0;
    if (fd >= 0)
        (void)close(fd);
    if (!fine)
        return COMPLAIN("the server cannot be flushed");
    stage_sleep_ns(length_ns / 3);
    server_stop(&stage->memcached);
    if (!server_start_memcached(&stage->memcached))
        return COMPLAIN("the server does not come back");
    stage_sleep_ns(length_ns / 3);
    return true;
}

static bool pass_time(struct stage *stage, struct fight *fight, int64_t length_ns)
{
    bool fine = true;
    if (fight->storm)
        fine = make_storm(stage, length_ns);
    else
        stage_sleep_ns(length_ns);
    fight->over = true;
    return fine;
}

static bool fight_in_threads(struct stage *stage, struct fight *fight, int64_t length_ns)
{
    static struct fighter fighters[FIGHTERS];
    pthread_t threads[FIGHTERS];
    mcds_store *anchor; /* keeps the shared store alive between the fighters */
    if (mcds_open(fight->uri, NULL, &anchor) != MCDS_OK)
        return COMPLAIN("open: %s", mcds_errmsg());
    for (int i = 0; i < FIGHTERS; i++) {
        fighters[i] = (struct fighter){
            .fight = fight, .number = i, .diary = &fight->diaries[i]};
        if (pthread_create(&threads[i], NULL, fight_on, &fighters[i]) != 0)
            abort();
    }
    bool fine = pass_time(stage, fight, length_ns);
    for (int i = 0; i < FIGHTERS; i++) {
        (void)pthread_join(threads[i], NULL);
        fine = fine && fighters[i].fine;
    }
    mcds_close(anchor);
    return fine;
}

static bool fight_in_processes(struct stage *stage, struct fight *fight, int64_t length_ns)
{
    pid_t pids[FIGHTERS];
    (void)fflush(stdout);
    for (int i = 0; i < FIGHTERS; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            struct fighter fighter = {.fight = fight, .number = i, .diary = &fight->diaries[i]};
            (void)fight_on(&fighter);
            _exit(fighter.fine ? EXIT_SUCCESS : EXIT_FAILURE);
        }
        if (pids[i] < 0)
            abort();
    }
    bool fine = pass_time(stage, fight, length_ns);
    for (int i = 0; i < FIGHTERS; i++) {
        int status;
        (void)waitpid(pids[i], &status, 0);
        fine = fine && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
    }
    return fine;
}

/* All diaries in one log, and what must be true of it. */
static bool judge(const struct fight *fight)
{
    uint64_t busy = 0, lost = 0, upset = 0;
    size_t count = 0;
    int winners = 0;
    struct tenure *log = malloc(sizeof *log * FIGHTERS * TENURES_MAX);
    if (log == NULL)
        return COMPLAIN("out of memory");
    for (int i = 0; i < FIGHTERS; i++) {
        const struct diary *diary = &fight->diaries[i];
        memcpy(log + count, diary->tenures, diary->count * sizeof *log);
        count += diary->count;
        winners += diary->count > 0;
        busy += diary->busy;
        lost += diary->lost;
        upset += diary->upset;
    }
    (void)printf("%s: %zu tenures by %d of %d, %" PRIu64 " busy, %" PRIu64 " lost, %" PRIu64
                 " upset\n",
                 fight->storm ? "storm" : "calm", count, winners, FIGHTERS, busy, lost, upset);
    bool fine = fences_grow(log, count);
    if (!fight->storm)
        fine = tenures_are_apart(log, count) && fine;
    if (winners < 2)
        fine = COMPLAIN("fewer than two ever held the lock");
    free(log);
    return fine;
}

static bool run(struct stage *stage, bool storm, int64_t length_ns)
{
    bool has_server = stage->memcached.pid > 0;
    struct fight *fight = stage_share(sizeof *fight);
    fight->uri = stage->uri;
    fight->lease_ms = has_server ? 3000 : 60;
    fight->sit_one_in = has_server ? 4000 : 100;
    fight->storm = storm;
    bool fine = stage->one_process ? fight_in_threads(stage, fight, length_ns)
                                   : fight_in_processes(stage, fight, length_ns);
    return judge(fight) && fine;
}

int main(int argc, char **argv)
{
    struct stage stage;
    if (argc != 2)
        return EXIT_FAILURE;
    int result = stage_open(&stage, argv[1]);
    if (result != 0)
        return result;
    int64_t length_ns = (int64_t)stage_number("STRESS_SECONDS", 5) * 1000000000;
    bool has_server = stage.memcached.pid > 0;
    bool fine = run(&stage, false, length_ns);
    if (has_server)
        fine = run(&stage, true, length_ns * 2) && fine;
    stage_close(&stage);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
