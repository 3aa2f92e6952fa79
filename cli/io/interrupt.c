/* Interrupt: a signal that ends the reading of standard input, or what a command has begun. */
#include "io/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t received;
static volatile sig_atomic_t no_input; /* a file without a byte */

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
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction before;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = end_input;
    action.sa_flags = SA_RESTART | (int)SA_RESETHAND;
    no_input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (no_input < 0)
        return; /* then a signal ends the process */
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &action, NULL);
}

int interrupt_number(void)
{
    return received;
}
