/* Runner: acquires a lease, runs COMMAND, watches it, releases.
 *
 *   asked          renewed      renewed                stop     kill  deadline
 *     |---- span/3 ---|---- span/3 ---|----- ... --------|--------|------|
 *
 * Each renewal that succeeds moves everything after it. Only when none does, the group is asked
 * to end (TERM) at `stop` and ended (KILL) at `kill`, and between `kill` and the deadline the
 * supervisor kills what is left, even if we are stopped. Nothing runs at the deadline but what
 * this user may not signal. */
#include "lock/runner.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/exit.h"
#include "io/report.h"

#define NS_PER_MS INT64_C(1000000)
#define STOP_MAX_NS (5000 * NS_PER_MS)
#define KILL_MAX_NS (1000 * NS_PER_MS)
#define RETRY_MIN_NS (10 * NS_PER_MS)
/* Processes that COMMAND leaves in its group have this time to end by themselves. */
#define REST_NS (1000 * NS_PER_MS)
/* How often to check whether the group has ended: the end of an orphan is not reported. */
#define LOOK_NS (20 * NS_PER_MS)
#define INPUT_SENTENCE_MAX 160
/* A process that lives longer than this after KILL is stuck in the kernel. */
#define STUCK_NS (5000 * NS_PER_MS)

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Times between TERM and KILL, and between KILL and the deadline. */
static int64_t stop_ahead_ns(const struct runner *runner)
{
    return least(runner->span_ns / 4, STOP_MAX_NS);
}

static int64_t kill_ahead_ns(const struct runner *runner)
{
    return least(runner->span_ns / 10, KILL_MAX_NS);
}

static void take_deadline(struct runner *runner)
{
    runner->deadline_ns = runner->tenure.permit.lease.deadline_ns;
    runner->span_ns = runner->deadline_ns - runner->asked_ns;
    runner->renew_at_ns = runner->asked_ns + runner->span_ns / 3;
}

/* The time at which the supervisor kills what mcds has not. */
static int64_t guard_at_ns(const struct runner *runner)
{
    return runner->deadline_ns - kill_ahead_ns(runner) / 2;
}

/* Reports at once that a process cannot be signalled, and whether the lease is kept. */
static void tell_of_reach(struct runner *runner)
{
    char process[64];
    const struct tenure_kind *kind = runner->tenure.kind;
    if (runner->is_reach_told ||
        !child_is_out_of_reach(&runner->child, process, sizeof process))
        return;
    runner->is_reach_told = true;
    complain(&runner->session->output,
             "%s '%.200s': %s runs as another user and cannot be stopped; %sthe %s%s",
             kind->noun, runner->command->arguments[0], process,
             runner->is_lost ? "it may keep running while another holds " : "", kind->thing,
             runner->is_lost ? "" : " is held until it ends");
}

static void stop_group(struct runner *runner, int64_t kill_at_ns)
{
    child_signal(&runner->child, SIGTERM);
    child_signal(&runner->child, SIGCONT); /* a stopped one could not end */
    tell_of_reach(runner);
    runner->phase = PHASE_STOPPING;
    runner->next_at_ns = kill_at_ns;
}

static void kill_group(struct runner *runner, int64_t now_ns)
{
    child_signal(&runner->child, SIGKILL);
    tell_of_reach(runner);
    runner->phase = PHASE_KILLED;
    runner->next_at_ns = now_ns + STUCK_NS;
}

/* `reason` is for --on-lost; `cause` is the library's sentence, or "". */
static void lose(struct runner *runner, const char *reason, const char *why, const char *cause)
{
    bool has_cause = cause[0] != '\0';
    if (!runner->is_lost)
        complain(&runner->session->output, "%s '%.200s': the %s %s%s%s%s",
                 runner->tenure.kind->noun, runner->command->arguments[0],
                 runner->tenure.kind->lease, why, has_cause ? " (" : "", cause,
                 has_cause ? ")" : "");
    runner->is_lost = true;
    on_lost_note(&runner->on_lost, reason);
}

/* Called after the signal to the group, so that the command line does not delay the signal. */
static void run_on_lost(struct runner *runner)
{
    on_lost_step(&runner->on_lost, &runner->child, &runner->watch.inheritance);
}

static int64_t retry_at_ns(const struct runner *runner, int64_t now_ns)
{
    return now_ns + runner->span_ns / 12 + RETRY_MIN_NS;
}

static void note_outage(struct runner *runner)
{
    char said[FAILURE_CAPACITY];
    const struct tenure_kind *kind = runner->tenure.kind;
    if (!is_unanswered(runner->renewer.result)) {
        outage_end(&runner->outage, &runner->session->output);
        return;
    }
    (void)snprintf(said, sizeof said, "%s '%.200s': the %s is not renewed: %.600s", kind->noun,
                   runner->command->arguments[0], kind->lease, runner->renewer.message);
    outage_begin(&runner->outage, &runner->session->output, said);
}

/* Handles the outcome of a renewal. */
static void learn(struct runner *runner)
{
    renewer_take(&runner->renewer);
    note_outage(runner);
    int64_t now_ns = clock_ns();
    switch (runner->renewer.result) {
    case MCDS_OK:
        take_deadline(runner);
        child_deadline(&runner->child, guard_at_ns(runner));
        break;
    case MCDS_LOST:
    case MCDS_EXPIRED:
        lose(runner, on_lost_reason(runner->renewer.result), "was lost; stopping the command",
             runner->renewer.message);
        if (runner->phase < PHASE_STOPPING)
            stop_group(runner, least(now_ns + kill_ahead_ns(runner), runner->deadline_ns));
        runner->renew_at_ns = INT64_MAX;
        break;
    default:
        runner->renew_at_ns = retry_at_ns(runner, now_ns);
        break;
    }
}

/* Whether the next renewal is scheduled: also after KILL, unless the loss of the lease caused it. */
static bool is_to_renew(const struct runner *runner)
{
    return !runner->renewer.is_busy && (runner->phase != PHASE_KILLED || !runner->is_lost);
}

/* Carries out the actions that are due. */
static void keep_time(struct runner *runner, int64_t now_ns)
{
    if (runner->phase < PHASE_KILLED && now_ns >= runner->deadline_ns - kill_ahead_ns(runner)) {
        lose(runner, "unrenewed", "could not be renewed in time; the command was killed",
             runner->renewer.message);
        kill_group(runner, now_ns);
    } else if (runner->phase < PHASE_STOPPING &&
               now_ns >= runner->deadline_ns - stop_ahead_ns(runner)) {
        lose(runner, "unrenewed", "cannot be renewed; stopping the command",
             runner->renewer.message);
        stop_group(runner, runner->deadline_ns - kill_ahead_ns(runner));
    } else if (runner->phase == PHASE_RESTING && now_ns >= runner->next_at_ns) {
        stop_group(runner, now_ns + STOP_MAX_NS);
    } else if (runner->phase == PHASE_STOPPING && now_ns >= runner->next_at_ns) {
        kill_group(runner, now_ns);
    }
    if (is_to_renew(runner) && now_ns >= runner->renew_at_ns) {
        runner->asked_ns = now_ns;
        runner->renew_at_ns = renewer_ask(&runner->renewer) ? INT64_MAX
                                                            : retry_at_ns(runner, now_ns);
    }
}

/* When keep_time has something to do; it does all that is due, so this lies in the future. */
static int64_t next_wake_ns(const struct runner *runner)
{
    int64_t wake_ns = is_to_renew(runner) ? runner->renew_at_ns : INT64_MAX;
    if (runner->phase != PHASE_RUNNING)
        wake_ns = least(wake_ns, runner->next_at_ns);
    if (runner->phase < PHASE_STOPPING)
        wake_ns = least(wake_ns, runner->deadline_ns - stop_ahead_ns(runner));
    if (runner->phase < PHASE_KILLED)
        wake_ns = least(wake_ns, runner->deadline_ns - kill_ahead_ns(runner));
    return wake_ns;
}

static void take_signals(struct runner *runner)
{
    int number;
    while ((number = watch_signal(&runner->watch)) != 0) {
        if (number == SIGCONT)
            child_continue(&runner->child);
        else if (number != SIGCHLD)
            child_signal(&runner->child, number);
        if (watch_is_ending(number))
            child_signal(&runner->child, SIGCONT); /* a stopped one could not end */
        if (watch_is_ending(number) && runner->ended_by == 0)
            runner->ended_by = number;
    }
    child_reap(&runner->child);
    if (runner->child.is_orphaned && runner->phase != PHASE_KILLED) {
        runner_say(runner,
                   "mcds-lock-guard was killed, so the command and its descendants are too");
        kill_group(runner, clock_ns());
    }
    if (runner->child.stopped_by != 0)
        child_follow_stop(&runner->child);
    if (runner->child.is_ended && runner->phase == PHASE_RUNNING) {
        runner->phase = PHASE_RESTING;
        runner->next_at_ns = clock_ns() + REST_NS;
    }
}

/* KILL was sent, and a process is still alive. A lease that is still ours is kept, so that no other
 * holder gets it meanwhile. Returns true when it is no longer ours and nothing is left to do. */
static bool leave_stuck(struct runner *runner)
{
    if (!runner->is_reach_told)
        complain(&runner->session->output,
                 "%s '%.200s': a process of the command does not end even when killed%s%s%s",
                 runner->tenure.kind->noun, runner->command->arguments[0],
                 runner->is_lost ? "" : "; the ",
                 runner->is_lost ? "" : runner->tenure.kind->thing,
                 runner->is_lost ? "" : " is held until it does");
    runner->next_at_ns = INT64_MAX;
    return runner->is_lost;
}

/* From the start of the command to the end of its group. */
static void watch_group(struct runner *runner)
{
    struct child *child = &runner->child;
    while (child_lives(child)) {
        int64_t now_ns = clock_ns();
        if (runner->phase == PHASE_KILLED && now_ns >= runner->next_at_ns &&
            leave_stuck(runner))
            return;
        keep_time(runner, now_ns);
        int64_t wake_ns = least(next_wake_ns(runner),
                                runner->phase == PHASE_RUNNING ? INT64_MAX : now_ns + LOOK_NS);
        if (watch_wait(&runner->watch, wake_ns, child_news(child), runner->renewer.answer,
                       runner->relay))
            learn(runner);
        /* Checked before a signal that continues the group: the lease may have ended. */
        keep_time(runner, clock_ns());
        run_on_lost(runner);
        take_signals(runner);
    }
}

/* A COMMAND that exits with 0 in spite of our signal has done its work. */
static enum command_end why_ended(const struct runner *runner)
{
    const struct child *child = &runner->child;
    int status = child->wait_status;
    bool is_done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (runner->is_lost || child->is_orphaned || (runner->ended_by != 0 && !is_done))
        return END_BY_US;
    return WIFSIGNALED(status) && !watch_is_mistake(WTERMSIG(status)) ? END_BY_OTHERS
                                                                      : END_BY_ITSELF;
}

/* Reports that the command was not started, for a reason of our own. */
static int report_not_started(const struct runner *runner, int status, const char *name,
                              const char *why)
{
    char sentence[400];
    (void)snprintf(sentence, sizeof sentence, "%s '%.200s': %s", runner->tenure.kind->noun,
                   runner->command->arguments[0], why);
    report_failure(&runner->session->output, runner->command, status, name, sentence);
    return status;
}

/* A terminal sends Ctrl-C only to its foreground group. Where that is the group of COMMAND, the signal
 * ends mcds too, and main passes it on to the script of mcds. */
static void take_interrupt(struct runner *runner)
{
    int status = runner->child.wait_status;
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if ((number != SIGINT && number != SIGQUIT) || !runner->child.had_terminal ||
        runner->ended_by != 0)
        return;
    runner->ended_by = number;
    runner->session->keyboard_signal = number;
}

/* Starts the command line if only the release has reported the loss, and waits for its end. */
static void end_on_lost(struct runner *runner)
{
    run_on_lost(runner);
    int number = on_lost_end(&runner->on_lost, &runner->watch);
    if (runner->ended_by == 0)
        runner->ended_by = number;
}

static int watch_to_the_end(struct runner *runner)
{
    renewer_init(&runner->renewer, &runner->tenure);
    watch_group(runner);
    if (runner->relay != NULL)
        relay_drain(runner->relay);
    if (runner->is_lost || runner->tenure.kind->ends_descendants)
        child_sweep(&runner->child);
    child_end(&runner->child);
    renewer_end(&runner->renewer);
    take_interrupt(runner);
    const struct tenure *tenure = &runner->tenure;
    if (tenure->kind->ended != NULL)
        tenure->kind->ended(tenure->handle, child_status(&runner->child), why_ended(runner));
    runner->end = RUNNER_ENDED;
    int status = STATUS_LOST;
    if (runner->is_lost)
        runner_let_go(runner);
    else
        status = runner_end(runner, child_status(&runner->child));
    end_on_lost(runner);
    return status;
}

/* False: it cannot be made, and that was reported. */
static bool open_relay(struct runner *runner)
{
    const struct tenure_kind *kind = runner->tenure.kind;
    if (kind->see == NULL)
        return true;
    runner->own_relay = (struct relay){.see = kind->see, .context = runner->tenure.handle};
    if (!relay_open(&runner->own_relay)) {
        runner_say(runner, "this process has too many files open (ulimit -n); raise the limit");
        return false;
    }
    runner->relay = &runner->own_relay;
    runner->watch.inheritance.ends = runner->own_relay.ends;
    return true;
}

/* False: it cannot be made, and that was reported. */
static bool open_input(struct runner *runner)
{
    const struct tenure_kind *kind = runner->tenure.kind;
    int *input = &runner->watch.inheritance.input;
    *input = kind->input != NULL ? kind->input(runner->tenure.handle) : STDIN_FILENO;
    if (*input < 0) {
        char sentence[INPUT_SENTENCE_MAX];
        (void)snprintf(sentence, sizeof sentence,
                       "the input of the command cannot be made: %s%s", strerror(errno),
                       advice_on_errno(errno));
        runner_say(runner, sentence);
    }
    return *input >= 0;
}

static void close_input(const struct runner *runner)
{
    if (runner->watch.inheritance.input > STDIN_FILENO)
        (void)close(runner->watch.inheritance.input);
}

/* Passes the rest of the output on. Returns the exit code. */
static int end_relay(struct runner *runner, int status)
{
    int error = runner->relay != NULL ? relay_end(runner->relay) : 0;
    if (error != 0 && error != EPIPE) /* a reader that has left needs no sentence */
        complain(&runner->session->output, "%s '%.200s': the output cannot be written: %s",
                 runner->tenure.kind->noun, runner->command->arguments[0], strerror(error));
    return error != 0 && status == STATUS_DONE ? STATUS_IO : status;
}

/* Runs the command while this process holds the lease. */
static int run_program(struct runner *runner)
{
    char *const *program = runner->command->program;
    int reason = 0;
    struct tenure *tenure = &runner->tenure;
    tenure->kind->set_environment(runner->command->arguments[0], &tenure->permit,
                                  tenure->kind->remaining_ms(tenure->handle, &tenure->permit));
    enum child_outcome outcome = child_start(&runner->child, program, guard_at_ns(runner),
                                             &runner->watch.inheritance, &reason);
    if (runner->relay != NULL)
        relay_close_ends(runner->relay);
    switch (outcome) {
    case CHILD_FAILED:
        return runner_end(runner,
                          report_not_run(&runner->session->output, runner->command, reason));
    case CHILD_LATE:
        runner_let_go(runner);
        runner->end = RUNNER_LATE;
        return report_not_started(runner, STATUS_LOST, "MCDS_EXPIRED",
                                  "the lease ended before the command could start");
    case CHILD_UNGUARDED:
        runner_let_go(runner);
        return report_not_started(runner, STATUS_INTERNAL, "MCDS_IO",
                                  "mcds-lock-guard was killed before the command could start");
    default:
        return watch_to_the_end(runner);
    }
}

/* Nothing of an earlier lease, and of the command that ran with it, is left. */
static void begin_anew(struct runner *runner)
{
    runner->tenure.permit = (mcds_permit)MCDS_PERMIT_INIT;
    runner->relay = NULL;
    runner->end = RUNNER_NOT_RUN;
    runner->phase = PHASE_RUNNING;
    runner->is_lost = false;
    on_lost_init(&runner->on_lost, runner->session, runner->command);
    runner->is_reach_told = false;
}

bool runner_acquire(struct runner *runner, const struct patience *patience, int *status_out)
{
    struct acquisition acquisition = {.session = runner->session,
                                      .command = runner->command,
                                      .tenure = &runner->tenure,
                                      .watch = &runner->watch,
                                      .patience = *patience,
                                      .outage = runner->outage};
    begin_anew(runner);
    bool is_acquired = acquire_tenure(&acquisition, status_out);
    runner->ended_by = acquisition.ended_by;
    runner->outage = acquisition.outage;
    const struct tenure *tenure = &runner->tenure;
    if (is_acquired && tenure->kind->answers != NULL &&
        tenure->kind->answers(tenure->handle, runner->session, runner->command, status_out))
        return false;
    runner->asked_ns = acquisition.asked_ns;
    if (is_acquired)
        take_deadline(runner);
    return is_acquired;
}

int runner_run(struct runner *runner)
{
    assert(runner->phase == PHASE_RUNNING && !runner->is_lost);
    if (!open_input(runner) || !open_relay(runner)) {
        close_input(runner);
        runner_let_go(runner);
        return STATUS_INTERNAL;
    }
    int status = end_relay(runner, run_program(runner));
    close_input(runner);
    return status;
}
