/* Supervisor: the process between mcds and the command of `mcds lock`. */
#include "child/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child/descendants.h"
#include "child/descriptors.h"
#include "io/exit.h"

#define NS_PER_S INT64_C(1000000000)
/* How long a sweep waits for the processes that it has killed, and how often it checks. */
#define SWEEP_NS (5 * NS_PER_S)
#define SWEEP_STEP_MS 20
/* How often a wait with a limit looks at the clock. */
#define WAIT_STEP_MS 20

enum order_kind { ORDER_DEADLINE, ORDER_SWEEP, ORDER_LEAVE };

struct order {
    int64_t kind;
    int64_t kill_at_ns;
};

/* The state of the supervisor. */
struct watchman {
    int orders;
    int news;
    int signals;
    int timer;
    struct descendants descendants;
};

static void tell(const struct watchman *watchman, enum supervisor_news_kind kind, int number)
{
    struct supervisor_news news = {(int32_t)kind, number};
    ssize_t told = write(watchman->news, &news, sizeof news);
    (void)told; /* mcds is gone, and the orders have ended too */
}

/* A reader of the output of mcds must not wait for the supervisor to end. */
static void close_streams(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
        (void)dup2(null, fd);
    if (null > STDERR_FILENO)
        (void)close(null);
}

/* The end of the program is reported before it is reaped: if this process is killed in between,
 * mcds inherits the dead program with its status. Returns whether the program has ended. */
static bool tell_end(const struct watchman *watchman)
{
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_PID, (id_t)watchman->descendants.group, &info, WEXITED | WNOHANG | WNOWAIT) !=
            0 ||
        info.si_pid == 0)
        return false;
    int core = info.si_code == CLD_DUMPED ? WCOREFLAG : 0;
    tell(watchman, NEWS_ENDED,
         info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0) : info.si_status | core);
    return true;
}

/* Returns whether a child is left. */
static bool reap(const struct watchman *watchman)
{
    int status;
    pid_t pid;
    bool is_told = tell_end(watchman);
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid != watchman->descendants.group)
            continue;
        if (WIFSTOPPED(status))
            tell(watchman, NEWS_STOPPED, WSTOPSIG(status));
        else if (!is_told) /* it ended since */
            tell(watchman, NEWS_ENDED, status);
        if (!WIFSTOPPED(status))
            tell(watchman, NEWS_REAPED, 0); /* until then mcds sees a process in the group */
    }
    return pid == 0;
}

/* Reaps dead children; with `wait`, waits a moment for their end. Returns whether a child is
 * left. */
static bool wait_for_children(void *context, bool wait)
{
    const struct watchman *watchman = context;
    struct pollfd waited = {watchman->signals, POLLIN, 0};
    struct signalfd_siginfo info;
    if (wait && poll(&waited, 1, SWEEP_STEP_MS) > 0) {
        ssize_t got = read(watchman->signals, &info, sizeof info);
        (void)got; /* how many children have ended is for reap to see */
    }
    return reap(watchman);
}

int64_t supervisor_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* A descendant of the command becomes our child as soon as its parent has been killed, so each step
 * reaches the children of those that the step before has killed. Returns whether any is left. */
static bool sweep(struct watchman *watchman)
{
    bool is_left = true;
    int64_t until_ns = supervisor_now_ns() + SWEEP_NS;
    while (is_left && supervisor_now_ns() < until_ns) {
        is_left = descendants_kill(&watchman->descendants, wait_for_children, watchman);
        if (is_left)
            (void)wait_for_children(watchman, true);
    }
    (void)reap(watchman);
    return is_left;
}

static void set_deadline(const struct watchman *watchman, int64_t kill_at_ns)
{
    int64_t at_ns = kill_at_ns == INT64_MAX ? 0 : kill_at_ns; /* 0: never */
    struct itimerspec when = {{0, 0}, {(time_t)(at_ns / NS_PER_S), (long)(at_ns % NS_PER_S)}};
    (void)timerfd_settime(watchman->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* Returns false when there is nothing more to watch. */
static bool take_order(struct watchman *watchman)
{
    struct order order;
    ssize_t got = read(watchman->orders, &order, sizeof order);
    if (got < 0)
        return errno == EINTR;
    if (got != (ssize_t)sizeof order) { /* mcds is dead */
        (void)sweep(watchman);
        return false;
    }
    if (order.kind == ORDER_DEADLINE)
        set_deadline(watchman, order.kill_at_ns);
    if (order.kind == ORDER_SWEEP)
        tell(watchman, NEWS_SWEPT, sweep(watchman));
    return order.kind != ORDER_LEAVE;
}

static void watch(struct watchman *watchman)
{
    struct pollfd waited[] = {{watchman->orders, POLLIN, 0},
                              {watchman->signals, POLLIN, 0},
                              {watchman->timer, POLLIN, 0}};
    struct signalfd_siginfo info;
    uint64_t times;
    for (;;) {
        if (poll(waited, 3, -1) < 0)
            continue; /* no signal but KILL and STOP comes through */
        if (waited[0].revents != 0 && !take_order(watchman))
            return;
        if (waited[1].revents != 0 && read(watchman->signals, &info, sizeof info) > 0)
            (void)reap(watchman);
        if (waited[2].revents != 0 && read(watchman->timer, &times, sizeof times) > 0)
            (void)sweep(watchman);
    }
}

/* In the process of the command, which may share the memory of the supervisor until its exec: only
 * calls that are safe between vfork and exec. `failed` is a pipe that closes on exec. */
static _Noreturn void begin(const struct watchman *watchman, pid_t guard, int failed,
                            int (*become)(const void *context), const void *context)
{
    cgroup_enter(&watchman->descendants.cgroup);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guard) /* it died before we could ask for the signal */
        (void)kill(getpid(), SIGKILL);
    tell(watchman, NEWS_FORKED, getpid());
    tell(watchman, NEWS_FAILED, become(context));
    ssize_t told = write(failed, "", 1);
    _exit(told == 1 ? STATUS_CANNOT_RUN : STATUS_INTERNAL);
}

/* Starts the command. Returns whether it runs. vfork copies no memory. It blocks the supervisor
 * until the exec, but the supervisor has to wait for the exec anyway. The pipe is for systems on
 * which vfork does not block. */
static bool start(struct watchman *watchman, int (*become)(const void *context),
                  const void *context)
{
    int failed[2];
    pid_t guard = getpid();
    pid_t group = pipe2(failed, O_CLOEXEC) == 0 ? vfork() : -1;
    if (group < 0) {
        tell(watchman, NEWS_FAILED, errno);
        return false;
    }
    if (group == 0)
        begin(watchman, guard, failed[1], become, context);
    watchman->descendants.group = group;
    (void)setpgid(group, group); /* in both processes: either may be first */
    (void)close(failed[1]);
    char byte;
    ssize_t got;
    do {
        got = read(failed[0], &byte, 1);
    } while (got < 0 && errno == EINTR);
    (void)close(failed[0]);
    return got <= 0;
}

/* Starts the command unless that is impossible or too late. Returns whether it runs. */
static bool start_in_time(struct watchman *watchman, int64_t kill_at_ns,
                          int (*become)(const void *context), const void *context)
{
    if (watchman->signals < 0 || watchman->timer < 0) {
        tell(watchman, NEWS_FAILED, EMFILE);
        return false;
    }
    if (supervisor_now_ns() >= kill_at_ns) {
        tell(watchman, NEWS_LATE, 0);
        return false;
    }
    set_deadline(watchman, kill_at_ns); /* mcds may be stopped before it gives an order */
    return start(watchman, become, context);
}

/* All signals are blocked: those of the terminal are for mcds and for the command. */
static _Noreturn void supervise(int orders, int news, const struct cgroup *cgroup,
                                int64_t kill_at_ns, int (*become)(const void *context),
                                const void *context)
{
    struct watchman watchman = {.orders = orders, .news = news};
    watchman.descendants.cgroup = *cgroup;
    sigset_t set;
    (void)prctl(PR_SET_NAME, "mcds-lock-guard");
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)setpgid(0, 0);
    (void)sigfillset(&set);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    watchman.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    watchman.timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (start_in_time(&watchman, kill_at_ns, become, context)) {
        const int kept[] = {orders, news, watchman.signals, watchman.timer};
        descriptors_close_except(kept, sizeof kept / sizeof kept[0]);
        close_streams();
        tell(&watchman, NEWS_STARTED, 0);
        watch(&watchman);
    }
    cgroup_remove(&watchman.descendants.cgroup);
    _exit(0);
}

static void close_both(const int pipe[2])
{
    (void)close(pipe[0]);
    (void)close(pipe[1]);
}

int supervisor_start(struct supervisor *supervisor, int64_t kill_at_ns,
                     int (*become)(const void *context), const void *context)
{
    int orders[2];
    int news[2];
    if (pipe2(orders, O_CLOEXEC) != 0)
        return errno;
    if (pipe2(news, O_CLOEXEC) != 0) {
        int reason = errno;
        close_both(orders);
        return reason;
    }
    cgroup_make(&supervisor->cgroup);
    supervisor->pid = fork();
    if (supervisor->pid == 0) {
        (void)close(orders[1]);
        (void)close(news[0]);
        supervise(orders[0], news[1], &supervisor->cgroup, kill_at_ns, become, context);
    }
    int reason = supervisor->pid < 0 ? errno : 0;
    if (reason != 0)
        cgroup_remove(&supervisor->cgroup);
    (void)close(orders[0]);
    (void)close(news[1]);
    supervisor->orders = orders[1];
    supervisor->news = news[0];
    return reason;
}

static void give(const struct supervisor *supervisor, enum order_kind kind, int64_t kill_at_ns)
{
    struct order order = {kind, kill_at_ns};
    ssize_t given = write(supervisor->orders, &order, sizeof order);
    (void)given; /* it has been killed: mcds hears of that as of the end of a child */
}

void supervisor_deadline(const struct supervisor *supervisor, int64_t kill_at_ns)
{
    give(supervisor, ORDER_DEADLINE, kill_at_ns);
}

void supervisor_sweep(const struct supervisor *supervisor)
{
    give(supervisor, ORDER_SWEEP, 0);
}

bool supervisor_next(const struct supervisor *supervisor, int64_t until_ns,
                     struct supervisor_news *news_out)
{
    struct pollfd waited = {supervisor->news, POLLIN, 0};
    bool is_endless = until_ns == INT64_MAX;
    /* In steps: the clock of poll stops while the machine is suspended. */
    while (poll(&waited, 1, is_endless ? -1 : until_ns > 0 ? WAIT_STEP_MS : 0) <= 0)
        if (!is_endless && (until_ns == 0 || supervisor_now_ns() >= until_ns))
            return false;
    return read(supervisor->news, news_out, sizeof *news_out) == (ssize_t)sizeof *news_out;
}

void supervisor_leave(struct supervisor *supervisor)
{
    give(supervisor, ORDER_LEAVE, 0);
    (void)close(supervisor->orders);
    (void)close(supervisor->news);
    supervisor->orders = supervisor->news = -1;
}
