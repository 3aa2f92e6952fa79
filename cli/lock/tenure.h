/* Tenure: the lease that is held while COMMAND runs: a lock, a permit, the lead, or the claim of
 * a key or of a job. */
#ifndef MCDS_CLI_LOCK_TENURE_H
#define MCDS_CLI_LOCK_TENURE_H

#include "run/session.h"
#include "table/command.h"

#define TENURE_TEXT_CAPACITY 360

/* Why COMMAND has ended. */
enum command_end {
    END_BY_ITSELF, /* it exited, or a mistake of its own raised the signal */
    END_BY_OTHERS, /* another process sent a signal, or the kernel did because memory was short */
    END_BY_US      /* mcds was signalled, or the lease was lost */
};

struct tenure;

struct tenure_kind {
    const char *noun;
    const char *thing;          /* "lock", "permit", "lead" or "job"; of once "result" */
    const char *lease;          /* the word for the right to it: "lease", "claim" */
    const char *why_shared;     /* what goes wrong if only this process sees the store */
    const char *corrupt_advice; /* advice on a key that mcds did not write */
    /* Whether all descendants of COMMAND end with it, also those that have left its group. */
    bool ends_descendants;
    int (*open)(mcds_store *store, const struct command *command, void **handle_out);
    void (*close)(void *handle);
    /* wait_ms 0: one try. */
    int (*acquire)(struct tenure *tenure, uint32_t wait_ms);
    /* Reads once whether it is held (MCDS_OK) or free (MCDS_NOT_FOUND). NULL: a wait tries to
     * acquire instead. */
    int (*look)(void *handle);
    int (*renew)(void *handle, mcds_permit *permit);
    int (*release)(void *handle, mcds_permit *permit);
    int64_t (*remaining_ms)(const void *handle, const mcds_permit *permit);
    /* Writes the holder after BUSY, without "noun 'NAME': ", for a caller that still waits or has
     * given up. False: not known. */
    bool (*describe)(const struct tenure *tenure, bool is_waiting,
                     char out[TENURE_TEXT_CAPACITY]);
    /* Sets the variables that COMMAND inherits. */
    void (*set_environment)(const char *name, const mcds_permit *permit, int64_t left_ms);
    /* The functions from here on are of once and queue only; else NULL. Whether nothing is held,
     * because there is a result, which it prints (once), or no job (queue). */
    bool (*answers)(void *handle, struct session *session, const struct command *command,
                    int *status_out);
    /* The output of COMMAND, which mcds passes on. */
    void (*see)(void *handle, size_t stream, const char *bytes, size_t length);
    /* Of queue only; else NULL. Sets the variables of the job that COMMAND inherits. Returns the
     * file for its standard input, which the caller closes, or -1. */
    int (*input)(void *handle);
    /* Before the release: how COMMAND has ended. */
    void (*ended)(void *handle, int status, enum command_end end);
    /* After the release, with its result: what to report, or NULL. Without this function, a lease
     * whose release has failed is reported to expire by itself. */
    const char *(*released)(void *handle, int result);
};
extern const struct tenure_kind tenure_of_lock;
extern const struct tenure_kind tenure_of_semaphore;
extern const struct tenure_kind tenure_of_once;
extern const struct tenure_kind tenure_of_leader;
extern const struct tenure_kind tenure_of_queue;

struct tenure {
    const struct tenure_kind *kind;
    void *handle;
    bool is_shared;     /* of a lock: other holders may share it */
    mcds_permit permit; /* of a lock: only its lease is used; of once: the deadline in it */
};

/* Printed after the time left, because a holder that renews has longer. */
static inline const char *tenure_unless(bool is_waiting)
{
    return is_waiting ? " unless renewed" : "";
}

static inline int tenure_renew(struct tenure *tenure)
{
    return tenure->kind->renew(tenure->handle, &tenure->permit);
}

static inline int tenure_release(struct tenure *tenure)
{
    return tenure->kind->release(tenure->handle, &tenure->permit);
}

#endif
