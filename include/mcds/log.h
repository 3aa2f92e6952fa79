/* mcds/log.h: events with a time, read by range or followed with a cursor. mcds.h has the rules
 * of all calls. These also apply to this header:
 *
 * Arguments:   when_ms  the event's own time (Unix time), less than 2^47; 0 = now */
#ifndef MCDS_LOG_H
#define MCDS_LOG_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Events with a time, kept for `retention_ms`. Time is divided into chunks. Each chunk has its
 * own keys, which are named by the number of the chunk and never used again. The log therefore
 * does not depend on when a key expires. An event is one record appended to the last key of its
 * chunk.
 *
 * Promise: each event is stored exactly once, and can be read for at least `retention_ms`. A put
 * whose reply was lost is repeated with the same id until the timeout. The result is
 * MCDS_AMBIGUOUS only if the repetition does not show whether the put was applied, or if the put
 * took more than 10 s. Events that a server has lost are reported as a gap if there is evidence
 * of them: other keys of their chunk, or a handle that has recently used the chunk. A chunk of more
 * than 16 KB has a small key that counts its other keys. A server that evicts the least recently
 * used keys keeps this key longest. An event is 0 bytes to 64 MB of any bytes. An event of more
 * than 8 KB is stored under keys of its own, which takes one more round trip. Source: the event
 * log of the articles. */
typedef struct mcds_log mcds_log;

typedef enum mcds_log_flag {
    /* The log files an event under its time of arrival. Then no event is too old or too far
     * ahead, and a range is one of arrival times. Without this flag, the log files an event under
     * the event's own time. */
    MCDS_LOG_BY_ARRIVAL = 1
} mcds_log_flag;

/* The options are stored when the first event makes the log. 0: the value that is stored, or the
 * default if this handle makes the log. The first call on a handle with another value returns
 * MCDS_INVALID. */
typedef struct mcds_log_options {
    size_t size;           /* sizeof(mcds_log_options) */
    uint32_t flags;        /* mcds_log_flag */
    uint32_t late_ms;      /* age of the oldest event that is accepted; default 60 000 */
    uint64_t retention_ms; /* 1 000 to 31 622 400 000; default 604 800 000, 7 days */
    /* Length of a chunk: 1 000 to 86 400 000; more than retention_ms / 4 097, and at least
     * (late_ms + ahead_ms + 40 000) / 13, because a cursor holds every chunk that still accepts
     * events (the 40 s allow for different clocks and slow puts). With short chunks, reading a
     * sparse log is slow. Long chunks keep events longer than retention_ms. Default: the larger
     * of retention_ms / 1 000 and (late_ms + ahead_ms + 40 000) / 8. Example: a log that accepts
     * events of the last day (late_ms = 86 400 000) has chunks of at least 1 h 51 min, by default
     * of 3 h.
     * The clocks of writers and readers may differ by R chunks, where R is half of
     * 14 - (late_ms + ahead_ms + 40 000) / chunk_ms: 7 with the default settings, 70 minutes. */
    uint64_t chunk_ms;
    uint32_t ahead_ms; /* most that an event may be ahead of this clock; default 5 000 */
    uint32_t reserved; /* 0 */
} mcds_log_options;
#define MCDS_LOG_OPTIONS_INIT                                                                  \
    {                                                                                          \
        sizeof(mcds_log_options), 0, 0, 0, 0, 0, 0                                             \
    }

typedef struct mcds_log_event {
    int64_t when_ms;  /* the event's own time, Unix time in milliseconds */
    int64_t filed_ms; /* BY_ARRIVAL: time of arrival; else when_ms */
    mcds_bytes event; /* valid during the callback */
} mcds_log_event;

/* Damage that a reader has found. */
typedef struct mcds_log_info {
    size_t size;      /* sizeof(mcds_log_info) */
    uint64_t gaps;    /* places where events are missing that the store should hold */
    uint64_t corrupt; /* sequences of bytes that mcds did not write */
    const char *peer; /* the server or file of the damage that was found first; NULL: not known;
                       * valid while the store is open */
} mcds_log_info;
#define MCDS_LOG_INFO_INIT                                                                     \
    {                                                                                          \
        sizeof(mcds_log_info), 0, 0, NULL                                                      \
    }

/* Opens a log.
 * Arguments:   log_out  the handle
 * Returns:     MCDS_OK; MCDS_INVALID: an option is out of its range; MCDS_NO_MEMORY
 * Cost:        none */
MCDS_API MCDS_CHECKED int mcds_log_open(mcds_store *store, const char *name,
                                        const mcds_log_options *options, mcds_log **log_out);
/* Closes the handle.
 * Arguments:   log  NULL is allowed
 * Cost:        none */
MCDS_API void mcds_log_close(mcds_log *log);

/* Puts an event. Makes the log if it does not exist.
 * Arguments:   event  0 bytes to 64 MB
 * Returns:     MCDS_OK
 *              MCDS_TOO_OLD, MCDS_TOO_FUTURE  the event's time is outside late_ms and ahead_ms;
 *                              not put, and no log is made
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_LOST       the log was made again with another chunk_ms; not put. Open the
 *                              log again
 *              MCDS_BUSY       other callers filled each key that the call found, until the
 *                              timeout; not put
 *              MCDS_TOO_BIG    more than 64 MB, or more than the store accepts
 * Cost:        1. A handle's first put into a chunk takes 1 more. A handle's first put takes 2
 *              more, or 3 if it makes the log. The put that begins a new key takes 1 more. The
 *              first put after another handle has dropped the log takes 4 more. An event of more
 *              than 8 KB takes 1 more
 * Lost reply:  The call repeats the put with the same id until the timeout. MCDS_AMBIGUOUS: put
 *              once, not at all, or not yet. With the cause MCDS_CAUSE_TOO_LATE: put once, but
 *              the call took more than 10 s. Scans return the event, but a cursor may have passed
 *              it */
MCDS_API MCDS_CHECKED int mcds_log_put(mcds_log *log, int64_t when_ms, mcds_bytes event);
MCDS_API MCDS_CHECKED int mcds_log_put_start(mcds_log *log, int64_t when_ms, mcds_bytes event,
                                             mcds_pipeline *pipeline, uint64_t tag);

/* Puts several events, in the order of the array. All have the time when_ms. With BY_ARRIVAL, or
 * if when_ms is 0, each event is filed under the time of its round trip. If the clock was set
 * back during the call, it is filed under the time of the round trip before.
 * Arguments:   events   each of 0 bytes to 64 MB; NULL is allowed when count is 0
 *              count    0 or more
 *              put_out  set after any result: the number of events from the start of the array
 *                       that have been put. NULL is allowed
 * Returns:     as mcds_log_put. After a failure other than MCDS_AMBIGUOUS, only the first
 *              *put_out events have been put
 * Cost:        1 per 4 KB of events, otherwise as mcds_log_put. The timeout applies to each round
 *              trip
 * Lost reply:  MCDS_AMBIGUOUS: some events after the first *put_out may have been put, or may be
 *              put later
 * Lifetime:    X_start makes no copy: `events`, their bytes and *put_out must live until the
 *              pipeline has returned the tag */
MCDS_API MCDS_CHECKED int mcds_log_put_many(mcds_log *log, int64_t when_ms,
                                            const mcds_bytes *events, size_t count,
                                            size_t *put_out);
MCDS_API MCDS_CHECKED int mcds_log_put_many_start(mcds_log *log, int64_t when_ms,
                                                  const mcds_bytes *events, size_t count,
                                                  size_t *put_out, mcds_pipeline *pipeline,
                                                  uint64_t tag);

typedef struct mcds_log_range {
    size_t size;      /* sizeof(mcds_log_range) */
    int64_t first_ms; /* events filed at or after this time; 0 = from the oldest on */
    /* Events filed before this time; 0 = no end. A scan does not visit events that are filed
     * later than this machine's time plus ahead_ms, 10 s and R chunks (see mcds_log_options). */
    int64_t last_ms;
    uint64_t limit; /* largest number of events; 0 = all */
    bool newest_first;
    bool reserved[7]; /* false */
} mcds_log_range;
#define MCDS_LOG_RANGE_INIT                                                                    \
    {                                                                                          \
        sizeof(mcds_log_range), 0, 0, 0, false,                                                \
        {                                                                                      \
            false                                                                              \
        }                                                                                      \
    }

/* Called by mcds_log_scan and mcds_log_tail for each event. `event` is valid during the call
 * only. Returns false to end the scan. */
typedef bool (*mcds_log_scan_cb)(void *context, const mcds_log_event *event);

/* Visits the events of a range chunk by chunk. Within a chunk, the order is the order in which
 * the events were put, so an event that is put later with an earlier time comes last.
 * newest_first: exactly the opposite order, so the first event visited is the one that was put
 * last into the newest chunk, not always the one with the latest time. The call keeps about 1 MB
 * of the log in memory.
 * Arguments:   range     NULL: the whole log
 *              visit     as above
 *              info_out  the call adds the damage that it finds to these numbers, even if it
 *                        fails; NULL is allowed
 * Returns:     MCDS_OK         also if visit has ended the scan; damage is in *info_out
 *              MCDS_NOT_FOUND  no such log; `gaps` then counts the parts of the log that this
 *                              handle has read or written
 *              MCDS_LOST       as for mcds_log_put
 *              MCDS_BUSY       other callers kept dropping and making the log
 *              After a failure some events may have been visited.
 * Cost:        1 per 28 chunks of the range: 37 for a whole log with default chunks. 2 more for a
 *              chunk of more than 16 KB, and 1 per 512 KB of the chunk. 1 more for a handle's
 *              first call, and 1 more if the call finds no event. The timeout starts again for
 *              each chunk, and after each round trip that has returned an event. Of each chunk,
 *              the call reads at most twice as many keys as the chunk had when the call reached
 *              it
 * Lifetime:    info_out must live until the pipeline has returned the tag; range is copied */
MCDS_API MCDS_CHECKED int mcds_log_scan(mcds_log *log, const mcds_log_range *range,
                                        mcds_log_scan_cb visit, void *context,
                                        mcds_log_info *info_out);
MCDS_API MCDS_CHECKED int mcds_log_scan_start(mcds_log *log, const mcds_log_range *range,
                                              mcds_log_scan_cb visit, void *context,
                                              mcds_log_info *info_out, mcds_pipeline *pipeline,
                                              uint64_t tag);

/* Position of a reader that follows a log. The caller owns the cursor. Only one call may use a
 * cursor at a time. */
#define MCDS_LOG_CURSOR_CHUNKS 16
#define MCDS_LOG_CURSOR_LOG 136
typedef struct mcds_log_cursor {
    /* Start of a new cursor. The reader gets only events filed at or after this time, however
     * late they are put; 0 = events put after the first call, whatever their times. */
    int64_t from_ms;
    /* private */
    uint32_t count;
    uint32_t life;
    uint64_t chunk;
    char log[MCDS_LOG_CURSOR_LOG];
    uint32_t store;
    uint32_t flags;
    int64_t polled_ms;
    struct {
        uint64_t segment;
        uint32_t size;
        uint32_t incarnation;
    } at[MCDS_LOG_CURSOR_CHUNKS];
} mcds_log_cursor;
#define MCDS_LOG_CURSOR_INIT                                                                   \
    {                                                                                          \
        0, 0, 0, 0, {0}, 0, 0, 0,                                                              \
        {                                                                                      \
            {                                                                                  \
                0, 0, 0                                                                        \
            }                                                                                  \
        }                                                                                      \
    }

/* Visits the events put since the last call with this cursor. It visits every event once, late
 * events too. Within one call, the order is that of mcds_log_scan. The call does not wait for
 * events: call again later. If the clocks of a writer and a reader differ by more than R chunks
 * (see mcds_log_options), a cursor may skip the writer's events without reporting a gap; a scan
 * visits them.
 * Arguments:   cursor    moves past the last event visited, even if the call fails. While visit runs,
 *                        it is already past the event: a copy continues with the next event
 *              visit     as above
 *              info_out  the call adds the damage that it finds to these numbers; NULL is
 *                        allowed. A gap means that events that were or may have been in the log
 *                        are gone. A server has lost them, or they expired before this call. A
 *                        loss is counted at least once, and a loss of the whole log is one gap.
 *                        Events that a drop has erased are not counted. A cursor that is used at
 *                        least once in each retention_ms visits every event before it expires
 * Returns:     MCDS_OK         also if there are no new events
 *              MCDS_NOT_FOUND  no such log. The cursor stays valid for a log that is made later,
 *                              and then visits all of its events
 *              MCDS_INVALID    also for a cursor of another log, or of a log with the same name
 *                              in another store. A store that shares servers with that store
 *                              may have chunks of the cursor's log. Then the call counts a gap,
 *                              and visits the log of this store from the cursor's oldest chunk
 *              MCDS_LOST, MCDS_BUSY  as mcds_log_scan
 * Cost:        1 if there are no new events; otherwise as mcds_log_scan, and 1 more if there are
 *              gaps. The first call with from_ms 0 takes 1 per chunk of more than 16 KB, and 2 more.
 *              The timeout applies as for mcds_log_scan
 * Lifetime:    the cursor must live until the pipeline has returned the tag
 * Threads:     any; only one call may use a cursor at a time */
MCDS_API MCDS_CHECKED int mcds_log_tail(mcds_log *log, mcds_log_cursor *cursor,
                                        mcds_log_scan_cb visit, void *context,
                                        mcds_log_info *info_out);
MCDS_API MCDS_CHECKED int mcds_log_tail_start(mcds_log *log, mcds_log_cursor *cursor,
                                              mcds_log_scan_cb visit, void *context,
                                              mcds_log_info *info_out, mcds_pipeline *pipeline,
                                              uint64_t tag);

#define MCDS_LOG_CURSOR_TEXT 1024
/* Writes a cursor as text without blanks. The text contains the namespace and the name of the log
 * that the cursor was used with.
 * Arguments:   cursor    the cursor to write; NULL gives ""
 *              text_out  terminated by NUL
 * Cost:        none
 * Threads:     any; only one call may use a cursor at a time */
MCDS_API void mcds_log_cursor_save(const mcds_log_cursor *cursor,
                                   char text_out[MCDS_LOG_CURSOR_TEXT]);
/* Reads a cursor from text that mcds_log_cursor_save has written.
 * Arguments:   cursor  filled
 *              text    terminated by NUL
 * Returns:     MCDS_OK; MCDS_INVALID: the text is not a cursor, was cut, or has a changed byte, and
 *              *cursor is untouched
 * Cost:        none
 * Threads:     any; only one call may use a cursor at a time */
MCDS_API MCDS_CHECKED int mcds_log_cursor_load(mcds_log_cursor *cursor, const char *text);

/* Erases the log. Events that are put during the call may be erased or may stay. A cursor may
 * visit such an event twice.
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND  no such log
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_LOST       as for mcds_log_put
 *              MCDS_BUSY       other callers kept making the log again
 * Cost:        3, 1 per 28 chunks that the log keeps, and 2 per 512 KB. The call makes no more
 *              round trips than these. The timeout applies to each of them
 * Lost reply:  MCDS_AMBIGUOUS: the whole log is erased, a part of it, nothing, or not yet; call again
 *              with this handle. Otherwise events that no call reads may occupy memory for retention_ms */
MCDS_API int mcds_log_drop(mcds_log *log);
MCDS_API MCDS_CHECKED int mcds_log_drop_start(mcds_log *log, mcds_pipeline *pipeline,
                                              uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
