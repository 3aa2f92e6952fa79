/* Interrupt: a signal that ends the reading of standard input, or what a command has begun. */
#include "signals/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "signals/deadline.h"

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define NUMBERS (sizeof numbers / sizeof numbers[0])
#define INPUT_NUMBERS (NUMBERS - 1) /* without SIGQUIT */

static volatile sig_atomic_t received;
static int received_before; /* by an interrupt that is closed */
static volatile sig_atomic_t is_of_keyboard;
static volatile sig_atomic_t no_input = -1; /* a file without a byte; -1: not open */
static int input_before;                    /* standard input */
static size_t taken;                        /* the first of `numbers`; 0: not open */
static struct sigaction actions_before[NUMBERS];
static sigset_t mask_before;

void interrupt_note(int number, int code)
{
    if (code == SI_KERNEL && number == SIGINT)
        is_of_keyboard = 1;
}

static void note(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    (void)context;
    interrupt_note(number, info->si_code);
    if (received == 0) {
        received = number;
        deadline_end_waits();
    }
    errno = saved;
}

/* A read or poll that waits begins again after this, with the file that is there then. So no signal
 * is lost between a look at `received` and the wait. */
static void end_input(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    note(number, info, context);
    (void)dup2((int)no_input, STDIN_FILENO);
    errno = saved;
}

static void take_signals(void (*handler)(int, siginfo_t *, void *), size_t count, int flags)
{
    struct sigaction action;
    sigset_t unblocked;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_RESTART | flags;
    taken = count;
    deadline_open();
    (void)sigemptyset(&unblocked);
    (void)sigaddset(&unblocked, SIGALRM);
    for (size_t i = 0; i < count; i++) {
        (void)sigaddset(&unblocked, numbers[i]);
        (void)sigaction(numbers[i], NULL, &actions_before[i]);
        if (actions_before[i].sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &action, NULL);
    }
    (void)sigprocmask(SIG_UNBLOCK, &unblocked, &mask_before);
}

void interrupt_open(void)
{
    no_input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (no_input < 0)
        return; /* then a signal ends the process */
    input_before = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    take_signals(end_input, INPUT_NUMBERS, (int)SA_RESETHAND);
}

void interrupt_open_calls(void)
{
    take_signals(note, NUMBERS, 0);
}

int interrupt_number(void)
{
    return received;
}

static void give_input_back(void)
{
    if (received != 0 && input_before >= 0)
        (void)dup2(input_before, STDIN_FILENO);
    if (input_before >= 0)
        (void)close(input_before);
    (void)close((int)no_input);
    no_input = -1;
}

int interrupt_close(void)
{
    if (taken == 0)
        return 0;
    (void)sigprocmask(SIG_SETMASK, &mask_before, NULL);
    for (size_t i = 0; i < taken; i++)
        (void)sigaction(numbers[i], &actions_before[i], NULL);
    deadline_close();
    taken = 0;
    int number = received;
    if (no_input >= 0)
        give_input_back();
    if (received_before == 0)
        received_before = number;
    received = 0;
    return number;
}

bool interrupt_is_of_keyboard(void)
{
    return is_of_keyboard != 0;
}

int interrupt_take_closed(void)
{
    int number = received_before;
    received_before = 0;
    return number;
}
