/* Tenure: the lease that `mcds lock` and `mcds semaphore run` hold while COMMAND runs: a lock, or a permit. */
#ifndef MCDS_CLI_LOCK_TENURE_H
#define MCDS_CLI_LOCK_TENURE_H

#include "table/command.h"

#define TENURE_TEXT_CAPACITY 360

struct tenure_kind {
    const char *noun;
    const char *thing; /* the noun of the lease: "lock", "permit" */
    int (*open)(mcds_store *store, const struct command *command, void **handle_out);
    void (*close)(void *handle);
    /* wait_ms 0: one try. */
    int (*acquire)(void *handle, mcds_permit *permit, uint32_t wait_ms);
    int (*renew)(void *handle, mcds_permit *permit);
    int (*release)(void *handle, mcds_permit *permit);
    int64_t (*remaining_ms)(const void *handle, const mcds_permit *permit);
    /* Writes the holder after BUSY, without "noun 'NAME': ". False: not known. */
    bool (*describe)(void *handle, char out[TENURE_TEXT_CAPACITY]);
    /* Sets the variables that COMMAND inherits. */
    void (*set_environment)(const char *name, const mcds_permit *permit, int64_t left_ms);
};
extern const struct tenure_kind tenure_of_lock;
extern const struct tenure_kind tenure_of_semaphore;

struct tenure {
    const struct tenure_kind *kind;
    void *handle;
    mcds_permit permit; /* of a lock: only its lease is used */
};

static inline int tenure_renew(struct tenure *tenure)
{
    return tenure->kind->renew(tenure->handle, &tenure->permit);
}

static inline int tenure_release(struct tenure *tenure)
{
    return tenure->kind->release(tenure->handle, &tenure->permit);
}

#endif
