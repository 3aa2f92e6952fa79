/* Descriptors: closed by close_range, which needs Linux 5.9; without it, by the list in /proc;
 * without /proc, one by one. */
#include "child/descriptors.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Without /proc, how many are closed. */
#define FILES_MAX (1 << 20)

/* False: this kernel has no close_range. */
static bool close_between(unsigned first, unsigned last)
{
#ifdef SYS_close_range
    return first > last || syscall(SYS_close_range, first, last, 0) == 0;
#else
    (void)first;
    (void)last;
    return false;
#endif
}

/* The smallest of `kept` that is not below `first`, or INT_MAX. */
static int next_kept(const int *kept, size_t count, int first)
{
    int next = INT_MAX;
    for (size_t i = 0; i < count; i++)
        if (kept[i] >= first && kept[i] < next)
            next = kept[i];
    return next;
}

/* Closes the descriptors between those that are kept. False: this kernel has no close_range. */
static bool close_gaps(const int *kept, size_t count)
{
    int first = STDERR_FILENO + 1;
    int next = next_kept(kept, count, first);
    for (; next < INT_MAX; next = next_kept(kept, count, first)) {
        if (!close_between((unsigned)first, (unsigned)next - 1))
            return false;
        first = next + 1;
    }
    return close_between((unsigned)first, UINT_MAX);
}

static void close_unless_kept(const int *kept, size_t count, int fd)
{
    if (fd > STDERR_FILENO && next_kept(kept, count, fd) != fd)
        (void)close(fd);
}

/* False: /proc is not mounted. */
static bool close_listed(const int *kept, size_t count)
{
    DIR *listed = opendir("/proc/self/fd");
    const struct dirent *entry;
    if (listed == NULL)
        return false;
    while ((entry = readdir(listed)) != NULL) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        if (fd != dirfd(listed))
            close_unless_kept(kept, count, fd);
    }
    (void)closedir(listed);
    return true;
}

void descriptors_close_except(const int *kept, size_t count)
{
    if (close_gaps(kept, count) || close_listed(kept, count))
        return;
    long limit = sysconf(_SC_OPEN_MAX);
    for (int fd = 0; fd < (limit > 0 && limit < FILES_MAX ? limit : FILES_MAX); fd++)
        close_unless_kept(kept, count, fd);
}

static bool is_noted;
static bool was_open[DESCRIPTOR_MAX + 1];

void descriptors_note_inherited(void)
{
    assert(!is_noted);
    for (int fd = 0; fd <= DESCRIPTOR_MAX; fd++)
        was_open[fd] = fcntl(fd, F_GETFD) >= 0;
    is_noted = true;
}

bool descriptor_is_inherited(int fd)
{
    assert(fd >= 0 && fd <= DESCRIPTOR_MAX);
    return !is_noted || was_open[fd];
}
