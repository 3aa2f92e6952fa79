/* Signals as a file. */
#include "signals/signals.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/exit.h"
#include "io/report.h"
#include "signals/interrupt.h"

/* The longest wait of one poll. */
#define STEP_MS 60000

static int refuse(struct output *output, const struct command *command, int reason)
{
    char sentence[SENTENCE_MAX];
    (void)snprintf(sentence, sizeof sentence, "%s '%.200s': signals cannot be received: %s%s",
                   command->noun->word, command->arguments[0], strerror(reason),
                   advice_on_errno(reason));
    report_failure(output, command, STATUS_INTERNAL, "MCDS_IO", sentence);
    return STATUS_INTERNAL;
}

int signals_open(struct signals *signals, struct output *output, const struct command *command)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action;
    sigset_t taken;
    signals->number = 0;
    (void)sigemptyset(&taken);
    (void)sigaddset(&taken, SIGCHLD);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            (void)sigaddset(&taken, numbers[i]);
    signals->file = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals->file < 0)
        return refuse(output, command, errno);
    (void)sigprocmask(SIG_BLOCK, &taken, &signals->before);
    return STATUS_DONE;
}

int signals_take(struct signals *signals, pid_t pid)
{
    struct signalfd_siginfo info;
    if (signals->number == 0)
        signals->number = interrupt_number();
    while (read(signals->file, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        interrupt_note((int)info.ssi_signo, info.ssi_code);
        if (signals->number == 0)
            signals->number = (int)info.ssi_signo;
        /* the end of a terminal reaches only the leader of the session */
        if (pid > 0 && (info.ssi_code != SI_KERNEL || info.ssi_signo == SIGHUP))
            (void)kill(pid, (int)info.ssi_signo);
    }
    return signals->number;
}

int signals_wait(struct signals *signals, int64_t ms)
{
    struct pollfd file = {.fd = signals->file, .events = POLLIN};
    int64_t until_ms = clock_ms() + ms;
    int64_t left_ms = ms;
    while (signals_take(signals, 0) == 0 && left_ms > 0) {
        (void)poll(&file, 1, left_ms < STEP_MS ? (int)left_ms : STEP_MS);
        left_ms = until_ms - clock_ms();
    }
    return signals->number;
}

void signals_open_calls(void)
{
    interrupt_open_calls();
}

/* The signal is blocked again, and so arrives in the file. */
void signals_close_calls(void)
{
    int number = interrupt_close();
    if (number != 0)
        (void)raise(number);
}

void signals_close(struct signals *signals)
{
    if (signals->file >= 0)
        (void)close(signals->file);
    signals->file = -1;
}
