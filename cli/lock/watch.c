/* Signals and time as file descriptors. */
#include "lock/watch.h"

#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "mcds.h"
#include "signals/interrupt.h"

#define NS_PER_S INT64_C(1000000000)
#define OWN_FILES 4

/* Signals that end mcds are passed on, as are SIGUSR1 and SIGUSR2, which are for COMMAND alone. */
static const int watched[] = {SIGCHLD, SIGCONT, SIGTERM, SIGINT,
                              SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2};

bool watch_is_ending(int number)
{
    return number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT ||
           number == SIGKILL;
}

/* One that was ignored at the start, as by nohup, stays ignored. The kernel would keep it for us if it
 * were blocked. */
static bool is_ignored(int number)
{
    struct sigaction action;
    return watch_is_ending(number) && sigaction(number, NULL, &action) == 0 &&
           action.sa_handler == SIG_IGN;
}

bool watch_open(struct watch *watch, const struct sigaction *pipe_before,
                const struct sigaction *size_before)
{
    struct inheritance *inheritance = &watch->inheritance;
    struct sigaction usual;
    memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL;
    inheritance->pipe = *pipe_before;
    inheritance->size = *size_before;
    (void)sigaction(SIGCHLD, &usual, &inheritance->child);
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++)
        if (!is_ignored(watched[i]))
            (void)sigaddset(&set, watched[i]);
    watch->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    watch->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    (void)sigaddset(&set, SIGTTOU); /* so that we can take the terminal back */
    (void)sigprocmask(SIG_BLOCK, &set, &inheritance->mask);
    return watch->signals >= 0 && watch->timer >= 0;
}

bool watch_wait(struct watch *watch, int64_t wake_ns, int news, int fd, struct relay *relay)
{
    int64_t at_ns = wake_ns > 0 ? wake_ns : 1; /* 0 would switch the timer off */
    struct itimerspec when = {{0, 0}, {(time_t)(at_ns / NS_PER_S), (long)(at_ns % NS_PER_S)}};
    (void)timerfd_settime(watch->timer, TFD_TIMER_ABSTIME, &when, NULL);
    struct pollfd waited[OWN_FILES + RELAY_FILES] = {{watch->signals, POLLIN, 0},
                                                     {watch->timer, POLLIN, 0},
                                                     {fd, POLLIN, 0},
                                                     {news, POLLIN, 0}};
    if (relay != NULL)
        relay_wait_for(relay, waited + OWN_FILES);
    if (poll(waited, OWN_FILES + (relay != NULL ? RELAY_FILES : 0), -1) <= 0)
        return false;
    if (relay != NULL)
        relay_move(relay, waited + OWN_FILES);
    return (waited[2].revents & POLLIN) != 0;
}

bool watch_is_mistake(int number)
{
    return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ||
           number == SIGABRT || number == SIGTRAP || number == SIGSYS;
}

int watch_signal(struct watch *watch)
{
    struct signalfd_siginfo info;
    ssize_t got = read(watch->signals, &info, sizeof info);
    if (got != (ssize_t)sizeof info)
        return 0;
    interrupt_note((int)info.ssi_signo, info.ssi_code);
    return (int)info.ssi_signo;
}

int watch_end(struct watch *watch)
{
    int number;
    do {
        number = watch_signal(watch);
    } while (number != 0 && !watch_is_ending(number));
    return number;
}
