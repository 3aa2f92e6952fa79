/* The processes of this machine, as /proc shows them. */
#ifndef MCDS_CLI_CHILD_PROCESSES_H
#define MCDS_CLI_CHILD_PROCESSES_H

#include <stdbool.h>
#include <sys/types.h>

struct process {
    pid_t pid;
    char name[16]; /* cut off at 15 bytes */
    char state;
    pid_t parent;
    pid_t group;
    long threads; /* a zombie with more than one lives on without its first */
};

/* Calls `visit` for each process until it returns false. Returns false when /proc is not
 * mounted, or shows other processes than kill() reaches. */
bool processes_visit(bool (*visit)(void *context, const struct process *process),
                     void *context);

#endif
