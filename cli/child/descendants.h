/* Kills the descendants of a command. When the parent of a descendant dies, the descendant
 * becomes a child of the nearest subreaper: the process that calls these functions. */
#ifndef MCDS_CLI_CHILD_DESCENDANTS_H
#define MCDS_CLI_CHILD_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "child/cgroup.h"

#define SPARED_MAX 256

struct descendants {
    pid_t group; /* of the command, or -1: not known */
    struct cgroup cgroup;
    size_t spared_count;
    pid_t spared[SPARED_MAX]; /* children of ours that do not descend from the command */
};

/* Kills the command, its cgroup, its process group and the other children of this process. Each
 * call also reaches the processes that became children by the call before. `reap` waits for dead
 * children, with `wait` also a moment for their end, and returns whether a child is left.
 * Returns whether a process may be left. */
bool descendants_kill(const struct descendants *descendants,
                      bool (*reap)(void *context, bool wait), void *context);

/* Spares the children that this process has now. */
void descendants_spare(struct descendants *descendants);
/* Spares this child too, if there is room. */
void descendants_spare_one(struct descendants *descendants, pid_t pid);

#endif
