/* Program: searches as execvp does, but executes nothing. */
#include "child/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The path that execvp searches if PATH is not set. */
#define PATH_DEFAULT "/bin:/usr/bin"

static int check_file(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return errno;
    if (!S_ISREG(status.st_mode))
        return EACCES;
    return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

/* An empty folder is the current folder. */
static int check_in(const char *folder, size_t length, const char *name)
{
    char path[PATH_MAX];
    int written = snprintf(path, sizeof path, "%.*s%s%s", (int)length, folder,
                           length > 0 ? "/" : "", name);
    return written < 0 || (size_t)written >= sizeof path ? ENAMETOOLONG : check_file(path);
}

int find_program(const char *name)
{
    const char *folder = getenv("PATH");
    int found = ENOENT;
    if (name[0] == '\0')
        return ENOENT;
    if (strchr(name, '/') != NULL)
        return check_file(name);
    if (folder == NULL)
        folder = PATH_DEFAULT;
    for (;;) {
        size_t length = strcspn(folder, ":");
        int reason = length < PATH_MAX ? check_in(folder, length, name) : ENAMETOOLONG;
        if (reason == 0)
            return 0;
        if (reason == EACCES) /* execvp tries the rest of PATH, and then fails with this */
            found = EACCES;
        if (folder[length] == '\0')
            return found;
        folder += length + 1;
    }
}
