/* Runs eight members on one structure. */
#include "stress/crowd.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stress/stage.h"
#include "support/dice.h"

#define TIMEOUT_MS 60000
#define TURN_NOTES 128

static _Atomic bool *over; /* in memory that all share */

struct seat {
    const struct crowd_play *play;
    const char *uri;
    struct crowd_member member;
    bool fine;
};

bool crowd_goes_on(const struct crowd_member *member)
{
    return !*over && member->journal->count < CROWD_NOTES_MAX - TURN_NOTES;
}

uint64_t crowd_roll(struct crowd_member *member, uint64_t below)
{
    return dice_roll(&member->dice, below);
}

struct crowd_note *crowd_ask(struct crowd_member *member, unsigned verb, uint32_t what)
{
    struct crowd_journal *journal = member->journal;
    struct crowd_note *note = &journal->notes[journal->count];
    note->verb = (uint16_t)verb;
    note->what = what;
    note->asked_ns = stage_now_ns();
    atomic_signal_fence(memory_order_seq_cst);
    journal->count++;
    return note;
}

void crowd_answer(struct crowd_note *note, unsigned answer)
{
    note->answer = (uint16_t)answer;
    atomic_signal_fence(memory_order_seq_cst);
    note->answered_ns = stage_now_ns();
}

static mcds_store *open_store(const char *uri)
{
    mcds_store *store = NULL;
    mcds_options options = MCDS_OPTIONS_INIT;
    options.timeout_ms = TIMEOUT_MS;
    if (mcds_open(uri, &options, &store) != MCDS_OK)
        (void)COMPLAIN("open: %s", mcds_errmsg());
    return store;
}

static void *sit(void *context)
{
    struct seat *seat = context;
    seat->member.store = open_store(seat->uri);
    seat->fine = seat->member.store != NULL && seat->play->live(&seat->member);
    mcds_close(seat->member.store);
    return NULL;
}

static bool play_in_threads(struct seat *seats, int64_t length_ns)
{
    pthread_t threads[CROWD];
    bool fine = true;
    for (int i = 0; i < CROWD; i++)
        if (pthread_create(&threads[i], NULL, sit, &seats[i]) != 0)
            abort();
    stage_sleep_ns(length_ns);
    *over = true;
    for (int i = 0; i < CROWD; i++) {
        (void)pthread_join(threads[i], NULL);
        fine = fine && seats[i].fine;
    }
    return fine;
}

static bool wait_for(const pid_t *pids)
{
    bool fine = true;
    for (int i = 0; i < CROWD; i++) {
        int status;
        (void)waitpid(pids[i], &status, 0);
        bool as_wanted = i < CROWD_KILLED
                             ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                             : WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
        if (!as_wanted)
            fine = COMPLAIN("process %d: status %d", i, status);
    }
    return fine;
}

static bool play_in_processes(struct seat *seats, int64_t length_ns)
{
    pid_t pids[CROWD];
    (void)fflush(stdout);
    for (int i = 0; i < CROWD; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            (void)sit(&seats[i]);
            _exit(seats[i].fine ? EXIT_SUCCESS : EXIT_FAILURE);
        }
        if (pids[i] < 0)
            abort();
    }
    for (int i = 0; i < CROWD_KILLED; i++) {
        stage_sleep_ns(length_ns / (CROWD_KILLED + 1));
        (void)kill(pids[i], SIGKILL);
    }
    stage_sleep_ns(length_ns / (CROWD_KILLED + 1));
    *over = true;
    return wait_for(pids);
}

static void tell(struct crowd_journal *const *journals, int64_t length_ns)
{
    uint64_t asked = 0, unanswered = 0;
    for (int i = 0; i < CROWD; i++) {
        asked += journals[i]->count;
        for (uint32_t k = 0; k < journals[i]->count; k++)
            unanswered += journals[i]->notes[k].answered_ns == 0;
    }
    (void)printf("%d for %lld s: %llu changes asked for, %llu without an answer\n", CROWD,
                 (long long)(length_ns / 1000000000), (unsigned long long)asked,
                 (unsigned long long)unanswered);
}

static bool play_on(const struct stage *stage, const struct crowd_play *play, int64_t length_ns)
{
    static struct seat seats[CROWD];
    struct crowd_journal *journals[CROWD];
    over = stage_share(sizeof *over);
    for (int i = 0; i < CROWD; i++) {
        journals[i] = stage_share(sizeof *journals[i]);
        seats[i] = (struct seat){
            .play = play,
            .uri = stage->uri,
            .member = {.number = i, .journal = journals[i], .dice = (uint64_t)i + 1},
        };
    }
    /* What is in memory lives as long as somebody has it open. */
    mcds_store *anchor = stage->one_process ? open_store(stage->uri) : NULL;
    bool fine = stage->one_process ? play_in_threads(seats, length_ns)
                                   : play_in_processes(seats, length_ns);
    tell(journals, length_ns);
    mcds_store *store = open_store(stage->uri);
    fine = store != NULL && play->judge(store, journals) && fine;
    mcds_close(store);
    mcds_close(anchor);
    return fine;
}

int crowd_main(int argc, char **argv, const struct crowd_play *play)
{
    struct stage stage;
    if (argc != 2)
        return EXIT_FAILURE;
    int result = stage_open(&stage, argv[1]);
    if (result != 0)
        return result;
    int64_t length_ns = (int64_t)stage_number("STRESS_SECONDS", 3) * 1000000000;
    bool fine = play_on(&stage, play, length_ns);
    stage_close(&stage);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
