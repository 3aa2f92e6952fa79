/* What the operations of a log share. */
#ifndef MCDS_STRUCTURES_LOG_H
#define MCDS_STRUCTURES_LOG_H

#include <pthread.h>

#include "core/generation.h"
#include "core/part.h"
#include "structures/structure.h"

/* How far the clocks of two machines may be apart, and how much later than begun a put may be
 * acknowledged. */
#define MCDS__LOG_SKEW_MS 10000
#define MCDS__LOG_SETTLE_MS 10000

/* What stands in the root. */
struct mcds__log_settings {
    uint32_t flags;
    uint32_t late_ms;
    uint32_t ahead_ms;
    uint64_t retention_ms;
    uint64_t chunk_ms;
};

struct mcds_log {
    struct mcds__handle handle;
    mcds_store *store;
    char *name;
    struct mcds__log_settings wanted; /* 0: whatever it has */
    struct mcds__generation generation;
    pthread_mutex_t mutex; /* over the adoption of the settings */
    _Atomic bool is_ready; /* what follows is set and stays */
    struct mcds__log_settings settings;
    struct mcds__parts parts; /* a family per chunk */
};

/* The wanted settings with the defaults in place of what is not given. */
struct mcds__log_settings mcds__log_complete(const struct mcds__log_settings *wanted);
/* The same as numbers of the root. Returns their count. */
uint8_t mcds__log_encode(const struct mcds__log_settings *wanted, uint64_t *out);
/* MCDS_OK, or MCDS_INVALID with the sentence set. */
int mcds__log_check(const char *name, const struct mcds__log_settings *wanted);

/* Read the root, and take over what it says. */
struct mcds__log_begin {
    mcds_log *log;
    struct mcds__root root;
};
void mcds__log_begin(struct mcds__log_begin *begin, mcds_log *log);
/* DONE with MCDS_OK: the log is ready; MCDS_NOT_FOUND, when it is not to be made; MCDS_INVALID;
 * MCDS_CORRUPT; failures of reading. */
enum mcds__step mcds__log_begin_step(struct mcds__log_begin *begin, bool makes,
                                     struct mcds__operation *operation);

/* The chunk of a time, and the chunks that may hold what is kept and what is put. */
static inline uint64_t mcds__log_chunk(const mcds_log *log, int64_t at_ms)
{
    return at_ms > 0 ? (uint64_t)at_ms / log->settings.chunk_ms : 0;
}
uint64_t mcds__log_oldest(const mcds_log *log, int64_t now_ms);
uint64_t mcds__log_newest(const mcds_log *log, int64_t now_ms);
/* For how long after its end a chunk may take events: late ones, by slow clocks, on slow ways. */
uint64_t mcds__log_open_ms(const struct mcds__log_settings *settings);
/* How long a key lives. A chunk can be read for the retention after it has taken its last event, so
 * that no key expires under a reader that comes once in a retention. */
uint64_t mcds__log_ttl_ms(const struct mcds__log_settings *settings);
/* The first chunk whose keys are certain not to have expired. */
uint64_t mcds__log_unexpired(const mcds_log *log, int64_t now_ms);

/* Add to what the caller's numbers are, if there are any. */
void mcds__log_add_info(mcds_log_info *info_out, uint64_t gaps, uint64_t corrupt);

/* An event from its record. */
static inline mcds_log_event mcds__log_event(const struct mcds__part_record *record,
                                             mcds_bytes payload)
{
    return (mcds_log_event){record->when_ms, record->filed_ms, payload};
}

#endif
