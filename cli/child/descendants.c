/* Kills the descendants of a command, found in /proc or, where that is not mounted, by trying
 * ids. */
#include "child/descendants.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child/processes.h"

/* The largest process id of Linux. */
#define PID_END (1 << 22)
/* When trying ids: how many between two checks whether any child is left. */
#define PIDS_AT_ONCE 4096

struct hunt {
    const struct descendants *descendants;
    int found;
};

static bool is_spared(const struct descendants *descendants, pid_t pid)
{
    for (size_t i = 0; i < descendants->spared_count; i++)
        if (descendants->spared[i] == pid)
            return true;
    return false;
}

static bool kill_child(void *context, const struct process *process)
{
    struct hunt *hunt = context;
    if (process->parent != getpid() || (process->state == 'Z' && process->threads <= 1) ||
        is_spared(hunt->descendants, process->pid))
        return true;
    (void)kill(process->pid, SIGKILL);
    hunt->found++;
    return true;
}

/* Kills our children without /proc: tries each process id. A child is younger than the command,
 * so its id usually follows that of the command. Returns whether one is left. */
static bool kill_by_number(const struct descendants *descendants,
                           bool (*reap)(void *context, bool wait), void *context)
{
    pid_t pid = descendants->group > 1 ? descendants->group - 1 : 1;
    bool is_left = reap(context, true);
    for (int i = 1; i < PID_END && is_left; i++) {
        siginfo_t info;
        pid = pid + 1 < PID_END ? pid + 1 : 1;
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            !is_spared(descendants, pid) && kill(pid, SIGKILL) == 0)
            is_left = reap(context, true);
        else if (i % PIDS_AT_ONCE == 0)
            is_left = reap(context, false);
    }
    return is_left;
}

bool descendants_kill(const struct descendants *descendants,
                      bool (*reap)(void *context, bool wait), void *context)
{
    struct hunt hunt = {descendants, 0};
    cgroup_kill(&descendants->cgroup);
    if (descendants->group > 1)
        (void)kill(-descendants->group, SIGKILL);
    if (processes_visit(kill_child, &hunt))
        return hunt.found > 0;
    return kill_by_number(descendants, reap, context);
}

void descendants_spare_one(struct descendants *descendants, pid_t pid)
{
    if (descendants->spared_count < SPARED_MAX)
        descendants->spared[descendants->spared_count++] = pid;
}

static bool spare_child(void *context, const struct process *process)
{
    struct descendants *descendants = context;
    if (process->parent == getpid())
        descendants_spare_one(descendants, process->pid);
    return descendants->spared_count < SPARED_MAX;
}

void descendants_spare(struct descendants *descendants)
{
    siginfo_t info;
    descendants->spared_count = 0;
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0) /* there are children */
        (void)processes_visit(spare_child, descendants);
}
