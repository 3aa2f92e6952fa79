/* Cgroup of a command. */
#include "child/cgroup.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWN_MAX 1024

/* Where the hierarchy of version 2 is mounted: alone, or beside version 1. */
static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

/* Our own cgroup, below the root: "0::/PATH". */
static bool read_own(char *path, int length)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[OWN_MAX];
    bool found = false;
    while (!found && file != NULL && fgets(line, sizeof line, file) != NULL) {
        found = strncmp(line, "0::/", 4) == 0;
        if (found)
            (void)snprintf(path, (size_t)length, "%.*s", (int)strcspn(line + 3, "\n"),
                           line + 3);
    }
    if (file != NULL)
        (void)fclose(file);
    return found;
}

static bool is_delegated(const char *path)
{
    char file[CGROUP_PATH_MAX + 32];
    struct stat facts;
    (void)snprintf(file, sizeof file, "%s/cgroup.procs", path);
    return stat(file, &facts) == 0 && facts.st_uid == geteuid() && access(file, W_OK) == 0;
}

static int open_file(const struct cgroup *cgroup, const char *name)
{
    char file[CGROUP_PATH_MAX + 32];
    (void)snprintf(file, sizeof file, "%s/%s", cgroup->path, name);
    return open(file, O_WRONLY | O_CLOEXEC);
}

static void write_to(const struct cgroup *cgroup, const char *name, const char *text)
{
    int fd = cgroup->path[0] != '\0' ? open_file(cgroup, name) : -1;
    if (fd < 0)
        return;
    ssize_t written = write(fd, text, strlen(text));
    (void)written;
    (void)close(fd);
}

void cgroup_make(struct cgroup *cgroup)
{
    char own[OWN_MAX];
    char parent[CGROUP_PATH_MAX - 32];
    cgroup->path[0] = '\0';
    if (geteuid() == 0 || !read_own(own, sizeof own))
        return;
    for (size_t i = 0; i < sizeof roots / sizeof roots[0] && cgroup->path[0] == '\0'; i++) {
        int used = snprintf(parent, sizeof parent, "%s%s", roots[i],
                            strcmp(own, "/") == 0 ? "" : own);
        if (used >= (int)sizeof parent || !is_delegated(parent))
            continue;
        (void)snprintf(cgroup->path, sizeof cgroup->path, "%s/mcds-lock-%ld", parent,
                       (long)getpid());
        if (mkdir(cgroup->path, 0700) != 0)
            cgroup->path[0] = '\0';
    }
    int fd = cgroup->path[0] != '\0' ? open_file(cgroup, "cgroup.kill") : -1;
    if (fd >= 0)
        (void)close(fd);
    else
        cgroup_remove(cgroup); /* before Linux 5.14 */
    if (fd < 0)
        cgroup->path[0] = '\0';
}

void cgroup_enter(const struct cgroup *cgroup)
{
    write_to(cgroup, "cgroup.procs", "0");
}

void cgroup_kill(const struct cgroup *cgroup)
{
    write_to(cgroup, "cgroup.kill", "1");
}

/* A cgroup that still holds processes stays. */
void cgroup_remove(const struct cgroup *cgroup)
{
    if (cgroup->path[0] != '\0')
        (void)rmdir(cgroup->path);
}
