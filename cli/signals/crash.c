/* Crashes that overwritten pages cause. */
#include "signals/crash.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "io/exit.h"

static struct output *output_of_crash;
static const char *uri_of_crash;

/* Whether this process has caused the signal, and no other process has sent it. */
static bool is_fault(const siginfo_t *info)
{
    return info->si_code > 0;
}

/* Lets the signal end the process after the handler has returned. A fault occurs again by itself,
 * so that a core dump shows its address. */
static void die_after_handler(int number, const siginfo_t *info)
{
    if (!is_fault(info))
        (void)raise(number);
}

/* LMDB calls abort() itself, in this thread and outside of stdio, so that stdio may be used. */
static void tell_abort(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (mcds_last_error()->cause == MCDS_CAUSE_DAMAGED) {
        (void)output_flush(output_of_crash);
        complain(output_of_crash, "%s", mcds_errmsg());
        _exit(STATUS_IO);
    }
    die_after_handler(number, info);
}

static bool uses_lmdb(void)
{
    return strncmp(uri_of_crash, "lmdb:", strlen("lmdb:")) == 0;
}

static void say(const char *text, size_t length)
{
    (void)!write(STDERR_FILENO, text, length);
}

/* A fault in an lmdb: store nearly always is damage that no check has found, or a file that was cut
 * while it is open. */
static void tell_crash(int number, siginfo_t *info, void *context)
{
    static const char before[] = "mcds: store: ";
    static const char after[] =
        ": mcds crashed while it used this file; if the file is damaged or was truncated, "
        "'mcds doctor' reports that\n";
    int saved = errno;
    (void)context;
    if (uses_lmdb()) {
        const char *path = uri_of_crash + strlen("lmdb:");
        say(before, sizeof before - 1);
        say(path, strcspn(path, "?"));
        say(after, sizeof after - 1);
        if (is_fault(info))
            _exit(STATUS_IO);
    }
    die_after_handler(number, info);
    errno = saved;
}

/* A sanitizer has its own handlers. */
static void handle(int number, void (*handler)(int number, siginfo_t *info, void *context))
{
    struct sigaction action = {.sa_sigaction = handler};
    struct sigaction before;
    action.sa_flags = (int)SA_RESETHAND | SA_SIGINFO;
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
