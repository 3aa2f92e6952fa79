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
    struct mcds__parts parts; /* a family per chunk of each life */
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

/* Whoever has seen that the root of this life is not there, or another, finds out what lives, and
 * whether this life was dropped: a drop leaves a mark under the name of the life. Without the mark,
 * the store has lost the root. */
struct mcds__log_turn {
    uint64_t stem;
    bool was_dropped; /* out */
    uint8_t stage;    /* private, as what follows */
    struct mcds__log_begin begin;
    struct mcds__key key;
    mcds_request request;
};
void mcds__log_turn_begin(struct mcds__log_turn *turn, mcds_log *log, uint64_t stem);
/* DONE with what mcds__log_begin_step returns when it is not to make the log. */
enum mcds__step mcds__log_turn_step(struct mcds__log_turn *turn,
                                    struct mcds__operation *operation);
/* The mark of this life, to be set. */
mcds_request mcds__log_mark(const mcds_log *log, uint64_t stem, struct mcds__key *key_out);

/* The part of a life that its keys contain. */
static inline uint64_t mcds__log_stem(uint64_t life)
{
    return mcds__descriptor_stem(mcds__descriptor_flags(life));
}
/* The parts of a chunk. */
static inline uint64_t mcds__log_family(uint64_t stem, uint64_t chunk)
{
    return stem << MCDS__PART_CHUNK_BITS | (chunk & MCDS__PART_CHUNK_MASK);
}
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

/* The part of its life that the keys of a cursor's parts contain, and the parts of its chunk i. */
static inline uint64_t mcds__log_cursor_stem(const mcds_log_cursor *cursor)
{
    return mcds__descriptor_stem(cursor->life);
}
uint64_t mcds__log_cursor_family(const mcds_log_cursor *cursor, uint32_t i);
/* Make it reach as far as there may be events, or as it can. */
void mcds__log_cursor_stretch(mcds_log_cursor *cursor, uint64_t newest);
/* Drop chunks before `live`, which have been read and take no more. True: others are to come. */
bool mcds__log_cursor_shift(mcds_log_cursor *cursor, uint64_t live, uint64_t newest);
/* The flags of another life's root: nothing of it has been read. */
void mcds__log_cursor_begin_life(mcds_log_cursor *cursor, uint32_t life);

/* An event from its record. */
static inline mcds_log_event mcds__log_event(const struct mcds__part_record *record,
                                             mcds_bytes payload)
{
    return (mcds_log_event){record->when_ms, record->filed_ms, payload};
}

#endif
