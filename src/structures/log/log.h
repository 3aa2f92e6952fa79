/* Log: the handle, the settings, the lives, and the chunks of a cursor. */
#ifndef MCDS_STRUCTURES_LOG_LOG_H
#define MCDS_STRUCTURES_LOG_LOG_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/descriptor/generation.h"
#include "core/segment/segment.h"
#include "structures/structure.h"

/* How far the clocks of two machines may be apart, and how long a put may take. */
#define MCDS__LOG_SKEW_MS 10000
#define MCDS__LOG_SETTLE_MS 10000
/* Most times that a call may find its life ended before it fails. */
#define MCDS__LOG_LIVES_MAX 16

/* The settings in the root. */
struct mcds__log_settings {
    uint32_t flags;
    uint32_t late_ms;
    uint32_t ahead_ms;
    uint64_t retention_ms;
    uint64_t chunk_ms;
};

struct mcds_log {
    struct mcds__handle handle;
    struct mcds__log_settings wanted; /* 0: the value of the log */
    struct mcds__generation generation;
    /* A life of which this handle has erased the root, and not all else; 0: none. */
    _Atomic uint64_t dropping;
    _Atomic uint64_t room; /* the line in which the last put waits for room; 0: none yet */
    pthread_mutex_t mutex; /* protects the adoption of the settings */
    _Atomic bool is_ready; /* the members below are set and never change */
    struct mcds__log_settings settings;
    struct mcds__segments segments; /* one stream per chunk of each life */
};

/* The wanted settings, with the default for each that is not given. */
struct mcds__log_settings mcds__log_complete(const struct mcds__log_settings *wanted);
/* The settings as numbers of the root. Returns their count. */
uint8_t mcds__log_encode(const struct mcds__log_settings *wanted, uint64_t *out);
/* Returns MCDS_OK, or MCDS_INVALID with the sentence set. */
int mcds__log_check(const char *name, const struct mcds__log_settings *wanted);

/* Reads the root and adopts its settings. A root that was added again may be of a life that was
 * dropped: that is a root of no log. */
struct mcds__log_begin {
    mcds_log *log;
    struct mcds__root root;
    bool is_dropped; /* out, with MCDS_NOT_FOUND: the root is of a life that was dropped */
    bool judges; /* private from here: the root was added again, and the tombstone decides */
    bool is_asked;
    struct mcds__key key;
    mcds_request request;
};
void mcds__log_begin(struct mcds__log_begin *begin, mcds_log *log);
/* DONE with MCDS_OK: the log is ready; MCDS_NOT_FOUND: there is no log, and the call does not make
 * it; MCDS_INVALID, MCDS_CORRUPT; failures of reading. */
enum mcds__step mcds__log_begin_step(struct mcds__log_begin *begin, bool makes,
                                     struct mcds__operation *operation);

/* A client that has found the root of this life missing or replaced reads which life is
 * current and whether this life was dropped: a drop leaves a tombstone under the name of the
 * life. Without the tombstone, the store has lost the root. */
struct mcds__log_next_life {
    uint64_t stem;
    bool was_dropped; /* out */
    uint8_t stage;    /* private, as what follows */
    struct mcds__log_begin begin;
    struct mcds__key key;
    mcds_request request;
};
void mcds__log_next_life_begin(struct mcds__log_next_life *next, mcds_log *log, uint64_t stem);
/* DONE with what mcds__log_begin_step returns when it is not to make the log. */
enum mcds__step mcds__log_next_life_step(struct mcds__log_next_life *next,
                                         struct mcds__operation *operation);

/* A drop erases the root before anything else, so a reader that has missed keys of a life reads
 * then whether the life was dropped meanwhile. */
struct mcds__log_fate {
    const mcds_log *log;
    uint64_t stem;
    bool was_dropped; /* out */
    bool is_asked;    /* private, as what follows */
    struct mcds__key key;
    mcds_request requests[2];
};
void mcds__log_fate_begin(struct mcds__log_fate *fate, const mcds_log *log, uint64_t stem);
/* DONE with MCDS_OK, or failures of reading. */
enum mcds__step mcds__log_fate_step(struct mcds__log_fate *fate,
                                    struct mcds__operation *operation);
/* The root was added again. DONE with MCDS_OK: its life was not dropped before the root was read;
 * MCDS_NOT_FOUND: it was; or failures of reading. */
enum mcds__step mcds__log_judge_root(struct mcds__log_begin *begin,
                                     struct mcds__operation *operation);
/* The key of the tombstone of a life, and a request that reads the tombstone. */
mcds_bytes mcds__log_tombstone_key(const mcds_log *log, uint64_t stem,
                                   struct mcds__key *key_out);
mcds_request mcds__log_read_tombstone(const mcds_log *log, uint64_t stem,
                                      struct mcds__key *key_out);
/* False: a reply to a read of the tombstone shows something else. */
bool mcds__log_is_tombstone(const mcds_reply *tombstone);
/* The request that sets the tombstone of this life. */
mcds_request mcds__log_tombstone(const mcds_log *log, uint64_t stem, struct mcds__key *key_out);

/* The part of the keys that names a life. */
static inline uint64_t mcds__log_stem(uint64_t life)
{
    return mcds__descriptor_stem(mcds__descriptor_flags(life));
}
/* The segments of a chunk. */
static inline uint64_t mcds__log_stream(uint64_t stem, uint64_t chunk)
{
    return stem << MCDS__SEGMENT_CHUNK_BITS | (chunk & MCDS__SEGMENT_CHUNK_MASK);
}
/* The chunk of a time, and the chunks that may hold what is kept and what is put. */
static inline uint64_t mcds__log_chunk(const mcds_log *log, int64_t at_ms)
{
    return at_ms > 0 ? (uint64_t)at_ms / log->settings.chunk_ms : 0;
}
uint64_t mcds__log_oldest(const mcds_log *log, int64_t now_ms);
uint64_t mcds__log_newest(const mcds_log *log, int64_t now_ms);
/* The first chunk that may still take events. */
uint64_t mcds__log_live(const mcds_log *log, int64_t now_ms);
/* R of mcds_log_options: how many chunks readers read before and after those that accept events by
 * their own clock, for events of writers with other clocks. Limited by the size of a cursor. */
uint64_t mcds__log_reach(const struct mcds__log_settings *settings);
/* MCDS_OK, or why the log does not accept an event of this time, as the result of the operation. */
int mcds__log_judge(struct mcds__operation *operation,
                    const struct mcds__log_settings *settings, int64_t filed_ms,
                    int64_t now_ms);
/* The ttl of a key. A chunk can be read for the retention after it has taken its last event, so no
 * key expires before a reader that reads once in each retention has read it. */
uint64_t mcds__log_ttl_ms(const struct mcds__log_settings *settings);
/* The first chunk of which no key can have expired. */
uint64_t mcds__log_unexpired(const mcds_log *log, int64_t now_ms);

/* Adds to the caller's numbers; info_out may be NULL. */
void mcds__log_add_info(mcds_log_info *info_out, uint64_t gaps, uint64_t corrupt,
                        const char *peer);

/* The part of the keys that names the life of a cursor, and the stream of its chunk i. */
static inline uint64_t mcds__log_cursor_stem(const mcds_log_cursor *cursor)
{
    return mcds__descriptor_stem(cursor->life);
}
uint64_t mcds__log_cursor_stream(const mcds_log_cursor *cursor, uint32_t i);
/* Sets the chunks with which a new cursor begins. */
void mcds__log_cursor_begin(mcds_log_cursor *cursor, const mcds_log *log, int64_t now_ms);
/* The first call for new events has found no log at this time: all events are new, also late ones
 * with earlier times. */
void mcds__log_cursor_wait(mcds_log_cursor *cursor, int64_t now_ms);
/* Extends the cursor to the last chunk that may have events, or as far as its size allows. */
void mcds__log_cursor_stretch(mcds_log_cursor *cursor, const mcds_log *log, int64_t now_ms);
/* For a cursor used so late that keys of chunks it has never read may have expired: moves it to the
 * first chunk that cannot have expired and returns true, because events may be lost. Of the chunks
 * that it has read, the remaining keys are read, and the missing ones are gaps. */
bool mcds__log_cursor_pass_expired(mcds_log_cursor *cursor, const mcds_log *log,
                                   int64_t now_ms);
/* For a cursor that is past chunks which take events, because the clock was set back by more than R
 * chunks: begins it again for new events and returns true, because it may have missed some. */
bool mcds__log_cursor_return(mcds_log_cursor *cursor, const mcds_log *log, int64_t now_ms);
/* Called when all chunks have been read. Drops those that take no more events by this machine's
 * clock; keeps the last R of them as finished. Returns true if there are more chunks to read. */
bool mcds__log_cursor_shift(mcds_log_cursor *cursor, const mcds_log *log, int64_t now_ms);
/* In `flags` of a cursor: how many of its first chunks are finished, and whether the loss of the
 * whole life has been counted as a gap. */
#define MCDS__LOG_CURSOR_FINISHED UINT32_C(0xff)
#define MCDS__LOG_CURSOR_TOLD UINT32_C(0x100)
/* In `flags`: the last call has failed after it had missed events, and it is not known whether they
 * were lost or dropped. */
#define MCDS__LOG_CURSOR_MISSED UINT32_C(0x400)
/* In `flags`: the segment of chunk i at which the cursor is was lost, and that is counted. Each
 * writer that knew the segment records the loss with its next event. */
static inline uint32_t mcds__log_cursor_counted(uint32_t i)
{
    static_assert(MCDS_LOG_CURSOR_CHUNKS <= 16, "a bit for each chunk");
    return UINT32_C(0x10000) << i;
}
/* Moves the cursor to these bytes of a segment of chunk i. */
void mcds__log_cursor_move(mcds_log_cursor *cursor, uint32_t i, uint64_t segment, size_t size,
                           uint32_t incarnation);
/* MCDS_OK if the cursor may be used with this log, or MCDS_INVALID with the sentence set. */
int mcds__log_cursor_check(const mcds_log_cursor *cursor, const mcds_log *log);
/* Whether the cursor was last used with another store. */
bool mcds__log_cursor_is_foreign(const mcds_log_cursor *cursor, const mcds_log *log);
/* Records in the cursor that it is used with this log. */
void mcds__log_cursor_own(mcds_log_cursor *cursor, const mcds_log *log);
/* Begins another life, of which nothing has been read. */
void mcds__log_cursor_begin_life(mcds_log_cursor *cursor, uint32_t life);

/* An event from its record. */
static inline mcds_log_event mcds__log_event(const struct mcds__segment_record *record,
                                             mcds_bytes payload)
{
    return (mcds_log_event){record->when_ms, record->filed_ms, payload};
}

#endif
