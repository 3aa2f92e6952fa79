/* Cgroup (version 2) of a command: killing it reaches every process of the command, also those that
 * have changed their group, session or user. */
#ifndef MCDS_CLI_CHILD_CGROUP_H
#define MCDS_CLI_CHILD_CGROUP_H

#define CGROUP_PATH_MAX 1024

struct cgroup {
    char path[CGROUP_PATH_MAX]; /* "": none */
};

/* Makes a cgroup below our own, if that is delegated to our user. root gets none, because it can
 * signal every process. */
void cgroup_make(struct cgroup *cgroup);
/* Moves the calling process into it. Call it between vfork and exec. */
void cgroup_enter(const struct cgroup *cgroup);
void cgroup_kill(const struct cgroup *cgroup);
void cgroup_remove(const struct cgroup *cgroup);

#endif
