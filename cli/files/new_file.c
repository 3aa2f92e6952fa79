/* New file: a temporary name, fsync, rename, fsync of the directory. */
#include "files/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/aside.h"

/* For the signal handler: the file to remove, or "". */
static char unfinished[PATH_MAX];

static void remove_unfinished(int number)
{
    if (unfinished[0] != '\0')
        (void)unlink(unfinished);
    (void)raise(number); /* which ends the process, as SA_RESETHAND has it */
}

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define NUMBERS (sizeof numbers / sizeof numbers[0])

static void watch_signals(void)
{
    struct sigaction action;
    for (size_t i = 0; i < NUMBERS; i++) {
        struct sigaction before;
        memset(&action, 0, sizeof action);
        action.sa_handler = remove_unfinished;
        action.sa_flags = (int)SA_RESETHAND | SA_NODEFER;
        /* nohup, and a shell that runs mcds in the background, ignore some. */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &action, NULL);
    }
}

static bool find(struct new_file *file, const char *path)
{
    struct stat facts;
    if (realpath(path, file->path) == NULL) {
        if (errno != ENOENT || path[0] == '\0')
            return false;
        /* A symbolic link to nothing, or to a pipe, as /dev/stdout is, is not to be replaced. */
        if (lstat(path, &facts) == 0) {
            errno = EEXIST;
            return false;
        }
        if (snprintf(file->path, sizeof file->path, "%s", path) >= (int)sizeof file->path) {
            errno = ENAMETOOLONG;
            return false;
        }
        return true;
    }
    if (stat(file->path, &facts) == 0 && !S_ISREG(facts.st_mode)) {
        errno = EEXIST;
        return false;
    }
    return true;
}

/* No signal may come between the file and the handler that removes it. */
static int make_aside(struct new_file *file)
{
    sigset_t these;
    sigset_t before;
    (void)sigemptyset(&these);
    for (size_t i = 0; i < NUMBERS; i++)
        (void)sigaddset(&these, numbers[i]);
    (void)sigprocmask(SIG_BLOCK, &these, &before);
    int fd = aside_make(file->aside);
    int reason = errno;
    if (fd >= 0) {
        memcpy(unfinished, file->aside, sizeof unfinished);
        watch_signals();
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    return fd;
}

bool new_file_open(struct new_file *file, const char *path)
{
    memset(file, 0, sizeof *file);
    if (!find(file, path))
        return false;
    if (snprintf(file->aside, sizeof file->aside, "%s.XXXXXX", file->path) >=
        (int)sizeof file->aside) {
        errno = ENAMETOOLONG;
        return false;
    }
    int fd = make_aside(file);
    if (fd < 0)
        return false;
    file->file = fdopen(fd, "w");
    if (file->file == NULL) {
        int reason = errno;
        (void)close(fd);
        (void)unlink(file->aside);
        errno = reason;
    }
    return file->file != NULL;
}

/* So that the name is on the disk too. */
static bool sync_directory(const struct new_file *file)
{
    char directory[PATH_MAX];
    memcpy(directory, file->path, sizeof directory);
    char *slash = strrchr(directory, '/');
    if (slash != NULL)
        slash[slash == directory ? 1 : 0] = '\0';
    int fd = open(slash != NULL ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool is_synced = fsync(fd) == 0;
    return close(fd) == 0 && is_synced;
}

bool new_file_commit(struct new_file *file)
{
    bool is_fine = fflush(file->file) == 0 && fsync(fileno(file->file)) == 0;
    int reason = errno;
    if (fclose(file->file) != 0 && is_fine) {
        reason = errno;
        is_fine = false;
    }
    file->file = NULL;
    if (is_fine && rename(file->aside, file->path) != 0) {
        reason = errno;
        is_fine = false;
    }
    if (!is_fine) {
        (void)unlink(file->aside);
        errno = reason;
    }
    unfinished[0] = '\0';
    return is_fine && sync_directory(file);
}

void new_file_close(struct new_file *file)
{
    if (file->file == NULL)
        return;
    (void)fclose(file->file);
    (void)unlink(file->aside);
    file->file = NULL;
    unfinished[0] = '\0';
}
