/* Interrupt: a signal that ends the reading of standard input, or what a command has begun. */
#include "io/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
#define NUMBERS (sizeof numbers / sizeof numbers[0])

static volatile sig_atomic_t received;
static volatile sig_atomic_t no_input = -1; /* a file without a byte; -1: not open */
static int input_before;                    /* standard input */
static struct sigaction actions_before[NUMBERS];
static sigset_t mask_before;

/* A read or poll that waits begins again after this, with the file that is there then. So no signal
 * is lost between a look at `received` and the wait. */
static void end_input(int number)
{
    int saved = errno;
    if (received == 0)
        received = number;
    (void)dup2((int)no_input, STDIN_FILENO);
    errno = saved;
}

void interrupt_open(void)
{
    struct sigaction action;
    sigset_t taken;
    memset(&action, 0, sizeof action);
    action.sa_handler = end_input;
    action.sa_flags = SA_RESTART | (int)SA_RESETHAND;
    no_input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (no_input < 0)
        return; /* then a signal ends the process */
    input_before = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    (void)sigemptyset(&taken);
    for (size_t i = 0; i < NUMBERS; i++) {
        (void)sigaddset(&taken, numbers[i]);
        (void)sigaction(numbers[i], NULL, &actions_before[i]);
        if (actions_before[i].sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &action, NULL);
    }
    (void)sigprocmask(SIG_UNBLOCK, &taken, &mask_before);
}

int interrupt_number(void)
{
    return received;
}

void interrupt_close(void)
{
    if (no_input < 0)
        return;
    (void)sigprocmask(SIG_SETMASK, &mask_before, NULL);
    for (size_t i = 0; i < NUMBERS; i++)
        (void)sigaction(numbers[i], &actions_before[i], NULL);
    if (received != 0 && input_before >= 0)
        (void)dup2(input_before, STDIN_FILENO);
    if (input_before >= 0)
        (void)close(input_before);
    (void)close((int)no_input);
    no_input = -1;
    received = 0;
}
