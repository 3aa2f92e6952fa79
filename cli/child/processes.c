/* The processes of this machine, as /proc shows them. */
#include "child/processes.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer than the stat line of a process up to its number of threads. */
#define STAT_MAX 512

/* Parses "PID (NAME) STATE PARENT GROUP ..."; NAME may have any bytes. False: the process has
 * ended, or cannot be read. */
static bool look_at(const char *pid, struct process *process)
{
    char path[sizeof "/proc/4294967295/stat"];
    char line[STAT_MAX];
    if (snprintf(path, sizeof path, "/proc/%s/stat", pid) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    size_t length = fread(line, 1, sizeof line - 1, file);
    (void)fclose(file);
    line[length] = '\0';
    const char *name = strchr(line, '(');
    const char *rest = strrchr(line, ')');
    if (name == NULL || rest == NULL)
        return false;
    process->pid = (pid_t)strtol(pid, NULL, 10);
    (void)snprintf(process->name, sizeof process->name, "%.*s", (int)(rest - name - 1),
                   name + 1);
    return sscanf(rest,
                  ") %c %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld",
                  &process->state, &process->parent, &process->group, &process->threads) == 4;
}

static bool is_our_proc(void)
{
    char self[16] = "";
    ssize_t length = readlink("/proc/self", self, sizeof self - 1);
    return length > 0 && strtol(self, NULL, 10) == getpid();
}

bool processes_visit(bool (*visit)(void *context, const struct process *process), void *context)
{
    DIR *processes = is_our_proc() ? opendir("/proc") : NULL;
    const struct dirent *entry;
    struct process process;
    bool wanted = true;
    if (processes == NULL)
        return false;
    while (wanted && (entry = readdir(processes)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]) && look_at(entry->d_name, &process))
            wanted = visit(context, &process);
    (void)closedir(processes);
    return true;
}
