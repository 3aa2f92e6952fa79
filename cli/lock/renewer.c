/* Renewer: the thread that renews the lease. */
#include "lock/renewer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static bool wait_for_byte(int fd)
{
    char byte;
    ssize_t got;
    do {
        got = read(fd, &byte, 1);
    } while (got < 0 && errno == EINTR);
    return got == 1;
}

static void *renew_when_asked(void *context)
{
    struct renewer *renewer = context;
    while (wait_for_byte(renewer->ask[0])) {
        renewer->result = tenure_renew(renewer->tenure);
        renewer->said[0] = '\0';
        if (renewer->result < 0)
            describe_cause(renewer->said);
        uint64_t one = 1;
        if (write(renewer->answer, &one, sizeof one) != (ssize_t)sizeof one)
            break; /* the runner gets no answer and stops the group in time */
    }
    return NULL;
}

void renewer_init(struct renewer *renewer, struct tenure *tenure)
{
    renewer->tenure = tenure;
    renewer->is_started = false;
    renewer->is_busy = false;
    renewer->answer = -1;
    renewer->message[0] = '\0';
}

static void close_all(struct renewer *renewer)
{
    for (size_t i = 0; i < 2; i++)
        if (renewer->ask[i] >= 0)
            (void)close(renewer->ask[i]);
    if (renewer->answer >= 0)
        (void)close(renewer->answer);
    renewer->answer = -1;
}

/* The thread gets no signals: they must reach the runner. A fault of its own still reaches the
 * handler of crashes. */
static bool start_thread(struct renewer *renewer)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)sigdelset(&all, SIGSEGV);
    (void)sigdelset(&all, SIGBUS);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    bool is_started = pthread_create(&renewer->thread, NULL, renew_when_asked, renewer) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

static bool start(struct renewer *renewer)
{
    if (pipe2(renewer->ask, O_CLOEXEC) != 0)
        return false;
    renewer->answer = eventfd(0, EFD_CLOEXEC);
    renewer->is_started = renewer->answer >= 0 && start_thread(renewer);
    if (!renewer->is_started)
        close_all(renewer);
    return renewer->is_started;
}

bool renewer_ask(struct renewer *renewer)
{
    if (!renewer->is_started && !start(renewer)) {
        (void)snprintf(renewer->message, sizeof renewer->message,
                       "no thread can be started for the renewal");
        return false;
    }
    renewer->is_busy = write(renewer->ask[1], "", 1) == 1;
    return renewer->is_busy;
}

void renewer_take(struct renewer *renewer)
{
    uint64_t count;
    if (read(renewer->answer, &count, sizeof count) != (ssize_t)sizeof count)
        return;
    renewer->is_busy = false;
    memcpy(renewer->message, renewer->said, sizeof renewer->message);
}

void renewer_end(struct renewer *renewer)
{
    if (!renewer->is_started)
        return;
    (void)close(renewer->ask[1]);
    (void)pthread_join(renewer->thread, NULL);
    renewer->ask[1] = -1;
    close_all(renewer);
    renewer->is_started = false;
}
