/* A cgroup (version 2) of its own for a command: killing it reaches every process of the command,
 * also those that have changed their group, session or user. */
#ifndef MCDS_CLI_CGROUP_H
#define MCDS_CLI_CGROUP_H

#define CGROUP_PATH_MAX 1024

struct cgroup {
    char path[CGROUP_PATH_MAX]; /* "": none */
};

/* Make one below our own. There is none unless our own was delegated to our user; root needs none,
 * for it can signal every process. */
void cgroup_make(struct cgroup *cgroup);
/* Move the calling process into it; to be called between fork and exec. */
void cgroup_enter(const struct cgroup *cgroup);
void cgroup_kill(const struct cgroup *cgroup);
void cgroup_remove(const struct cgroup *cgroup);

#endif
