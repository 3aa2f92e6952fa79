/* Crashes that overwritten pages cause. */
#include "signals/crash.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "io/exit.h"

static struct output *output_of_crash;
static const char *uri_of_crash;

/* LMDB calls abort() itself, in this thread and outside of stdio, so that stdio may be used. */
static void tell_abort(int number)
{
    (void)number;
    if (mcds_last_error()->cause != MCDS_CAUSE_DAMAGED)
        return; /* abort() ends the process */
    (void)output_flush(output_of_crash);
    complain(output_of_crash, "%s", mcds_errmsg());
    _exit(STATUS_IO);
}

static bool uses_lmdb(void)
{
    return strncmp(uri_of_crash, "lmdb:", strlen("lmdb:")) == 0;
}

/* The instruction is executed again, and the signal has its default action by then. */
static void tell_crash(int number)
{
    static const char sentence[] =
        "mcds: crashed while it used an lmdb: store; if the file is damaged, 'mcds doctor' "
        "reports it\n";
    int saved = errno;
    (void)number;
    if (uses_lmdb())
        (void)!write(STDERR_FILENO, sentence, sizeof sentence - 1);
    errno = saved;
}

/* A sanitizer has its own handlers. */
static void handle(int number, void (*handler)(int number))
{
    struct sigaction action = {.sa_handler = handler};
    struct sigaction before;
    action.sa_flags = (int)SA_RESETHAND;
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        (void)sigaction(number, &action, NULL);
}

void crash_open(struct output *output, const char *uri)
{
    output_of_crash = output;
    uri_of_crash = uri;
    handle(SIGABRT, tell_abort);
    handle(SIGSEGV, tell_crash);
    handle(SIGBUS, tell_crash);
}
