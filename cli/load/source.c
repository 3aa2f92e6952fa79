/* Source: opens a dump. */
#include "load/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/exit.h"
#include "io/output.h"

#define COPIED 65536

static const char *directory(void)
{
    const char *given = getenv("TMPDIR");
    return given != NULL && given[0] == '/' ? given : "/tmp";
}

static int open_nameless(void)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/mcds-load.XXXXXX", directory()) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(path);
    return fd;
}

static int copy_input(char *sentence, size_t capacity)
{
    char bytes[COPIED];
    int fd = open_nameless();
    ssize_t got = 1;
    bool is_written = fd >= 0;
    while (is_written && got != 0) {
        got = read(STDIN_FILENO, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        is_written = write_whole(fd, bytes, (size_t)got);
    }
    if (is_written && got == 0 && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    if (is_written)
        (void)snprintf(sentence, capacity, "standard input cannot be read: %s",
                       strerror(errno));
    else
        (void)snprintf(sentence, capacity, "standard input cannot be copied into %.200s: %s%s",
                       directory(), strerror(errno),
                       is_shortage(errno)
                           ? advice_on_errno(errno)
                           : "; $TMPDIR names another directory, or give a FILE");
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

int source_open(const char *path, char *sentence, size_t capacity)
{
    struct stat facts;
    bool is_input = strcmp(path, "-") == 0;
    /* A signal replaces standard input, see signals/interrupt.h. */
    int fd = is_input ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                      : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &facts) != 0) {
        (void)snprintf(sentence, capacity, "%.300s cannot be read: %s%s",
                       is_input ? "standard input" : path, strerror(errno),
                       advice_on_errno(errno));
        return -1;
    }
    if (S_ISREG(facts.st_mode))
        return fd;
    (void)close(fd);
    if (is_input)
        return copy_input(sentence, capacity);
    (void)snprintf(sentence, capacity,
                   "%.300s is not a regular file; 'mcds load -' reads a pipe", path);
    return -1;
}
