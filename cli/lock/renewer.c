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
        (void)snprintf(renewer->said, sizeof renewer->said, "%s",
                       renewer->result < 0 ? mcds_errmsg() : "");
        uint64_t one = 1;
        if (write(renewer->answer, &one, sizeof one) != (ssize_t)sizeof one)
            break; /* the runner gets no answer and stops the group in time */
    }
    return NULL;
}

static void close_all(const struct renewer *renewer)
{
    (void)close(renewer->ask[0]);
    (void)close(renewer->answer);
}

bool renewer_start(struct renewer *renewer, struct tenure *tenure)
{
    renewer->tenure = tenure;
    renewer->is_busy = false;
    renewer->message[0] = '\0';
    if (pipe2(renewer->ask, O_CLOEXEC) != 0)
        return false;
    renewer->answer = eventfd(0, EFD_CLOEXEC);
    /* The thread gets no signals: they must reach the runner. */
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    bool started = renewer->answer >= 0 &&
                   pthread_create(&renewer->thread, NULL, renew_when_asked, renewer) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!started) {
        (void)close(renewer->ask[1]);
        close_all(renewer);
    }
    return started;
}

void renewer_ask(struct renewer *renewer)
{
    renewer->is_busy = write(renewer->ask[1], "", 1) == 1;
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
    (void)close(renewer->ask[1]);
    (void)pthread_join(renewer->thread, NULL);
    close_all(renewer);
}
