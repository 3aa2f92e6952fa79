/* mcds/log.h: events with a time, read by range or followed with a cursor. mcds.h has the rules of all
 * calls. For those of this header:
 *
 * Arguments:   when_ms  the event's own time (Unix time), less than 2^47; 0 = now */
#ifndef MCDS_LOG_H
#define MCDS_LOG_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Events with a time, kept for `retention_ms`. Each chunk of time has its own keys, named by its
 * absolute number and never used again, so the log does not depend on when a key expires. An event
 * is one record appended to the last key of its chunk.
 *
 * Promise: exactly once, and readable for at least `retention_ms`. A put whose reply was lost is
 * repeated with the same id until the timeout; MCDS_AMBIGUOUS only where that does not decide it.
 * What a server forgot is reported as a gap if something that is left shows it: other keys of its
 * chunk, or a handle that has used it lately. A chunk of more than 16 KB has a small key that
 * counts the others: a server that evicts the least recently used keys keeps it longest. An
 * event is 0 bytes to 64 MB of any bytes; an event of more than 8 KB is stored under keys of its
 * own, which takes one more round trip. Source: the event log of the articles. */
typedef struct mcds_log mcds_log;

typedef enum mcds_log_flag {
    /* An event is filed under its time of arrival, not under its own time: none is too old or too
     * far ahead, and ranges are ranges of arrival. Without this flag an event is filed under its
     * own time. */
    MCDS_LOG_BY_ARRIVAL = 1
} mcds_log_flag;

/* Stored with the log when its first event makes it. 0: the value of the log, or the default when
 * this handle makes it. On a handle with another value the first call returns MCDS_INVALID. */
typedef struct mcds_log_options {
    size_t size;           /* sizeof(mcds_log_options) */
    uint32_t flags;        /* mcds_log_flag */
    uint32_t late_ms;      /* age of the oldest event that is accepted; default 60 000 */
    uint64_t retention_ms; /* 1 000 to 31 622 400 000; default 604 800 000, 7 days */
    /* Length of a chunk: 1 000 to 86 400 000; at least retention_ms / 4 096, and at least
     * (late_ms + ahead_ms + 40 000) / 13, because a cursor holds every chunk that still accepts
     * events (the 40 s allow for different clocks and slow puts). Short chunks make it slow to
     * read a sparse log; long ones keep events longer than retention_ms. Default: the larger of
     * retention_ms / 1 000 and (late_ms + ahead_ms + 40 000) / 8. Example: a log that accepts
     * events of the last day (late_ms = 86 400 000) has chunks of at least 1 h 51 min, by default
     * of 3 h.
     * The clocks of writers and readers may differ by R chunks, where R is half of
     * 14 - (late_ms + ahead_ms + 40 000) / chunk_ms: 7 with the default settings, 70 minutes. */
    uint64_t chunk_ms;
    uint32_t ahead_ms; /* an event may be so far ahead of this machine's clock; default 5 000 */
    uint32_t reserved; /* 0 */
} mcds_log_options;
#define MCDS_LOG_OPTIONS_INIT                                                                  \
    {                                                                                          \
        sizeof(mcds_log_options), 0, 0, 0, 0, 0, 0                                             \
    }

typedef struct mcds_log_event {
    int64_t when_ms;  /* its own time, Unix time in milliseconds */
    int64_t filed_ms; /* BY_ARRIVAL: time of arrival; else the same */
    mcds_bytes event; /* valid during the callback */
} mcds_log_event;

/* Damage that a reader has met. */
typedef struct mcds_log_info {
    size_t size;      /* sizeof(mcds_log_info) */
    uint64_t gaps;    /* places where events are missing that the store should hold */
    uint64_t corrupt; /* sequences of bytes that mcds did not write */
} mcds_log_info;
#define MCDS_LOG_INFO_INIT                                                                     \
    {                                                                                          \
        sizeof(mcds_log_info), 0, 0                                                            \
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

/* Puts an event. Makes the log when it does not exist.
 * Arguments:   event  0 bytes to 64 MB
 * Returns:     MCDS_OK
 *              MCDS_TOO_OLD, MCDS_TOO_FUTURE  its time is outside of late_ms and ahead_ms; not put,
 *                              and no log is made
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_LOST       the log was made again with another length of its chunks: open it
 *                              again; not put
 *              MCDS_BUSY       others filled the keys as fast as they were found, until the timeout;
 *                              not put
 *              MCDS_TOO_BIG    more than 64 MB, or than the store accepts
 * Cost:        1; a handle's first put into a chunk 1 more, its first put 2 more, or 3 when it makes
 *              the log; the put that begins a new key 1 more; the first after another's drop 4 more;
 *              an event of more than 8 KB 1 more
 * Lost reply:  The call repeats the put with the same id until the timeout. MCDS_AMBIGUOUS: put once,
 *              not at all, or not yet */
MCDS_API MCDS_CHECKED int mcds_log_put(mcds_log *log, int64_t when_ms, mcds_bytes event);
MCDS_API MCDS_CHECKED int mcds_log_put_start(mcds_log *log, int64_t when_ms, mcds_bytes event,
                                             mcds_pipeline *pipeline, uint64_t tag);

/* Puts several events of one time in their order.
 * Arguments:   events   each of 0 bytes to 64 MB; NULL is allowed when count is 0
 *              count    0 or more
 *              put_out  after any result, how many of the first events have been put; NULL is allowed
 * Returns:     as mcds_log_put; after a failure that is not MCDS_AMBIGUOUS none that follow the first
 *              *put_out events has been put
 * Cost:        1 per 4 KB of events, otherwise as mcds_log_put. The timeout applies to each round
 *              trip
 * Lost reply:  MCDS_AMBIGUOUS: some events that follow the first *put_out may have been put, or may
 *              still be
 * Lifetime:    X_start does not copy: `events`, their bytes and *put_out must live until the
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
    /* And before this time; 0 = no end. Events filed later than this machine's time plus ahead_ms,
     * 10 s and R chunks (see mcds_log_options) are not scanned yet. */
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

/* Called by mcds_log_scan and mcds_log_tail for each event. `event` is valid during the call only.
 * Returns false to end the scan. */
typedef bool (*mcds_log_scan_cb)(void *context, const mcds_log_event *event);

/* Visits the events of a range chunk by chunk, within a chunk in the order in which they were put
 * (so a late event comes after earlier puts); newest_first: in exactly the opposite order. The call
 * keeps about 1 MB of the log in memory.
 * Arguments:   range     NULL: the whole log
 *              visit     as above
 *              info_out  the call adds what it finds to these numbers, also when it fails; NULL is
 *                        allowed
 * Returns:     MCDS_OK         also where visit has ended the scan; damage is in *info_out
 *              MCDS_NOT_FOUND  no such log; `gaps` then counts what this handle has seen of it
 *              MCDS_LOST       as for mcds_log_put
 *              MCDS_BUSY       others dropped the log and made it again and again
 *              After a failure some events may have been visited.
 * Cost:        1 per 28 chunks of the range: 37 for a whole log with default chunks. 2 more for a
 *              chunk of more than 16 KB, and 1 per 512 KB of it. 1 more for a handle's first call,
 *              and 1 more where the call finds no event. The timeout starts again for each chunk,
 *              and after each round trip that has returned an event. Of each chunk, the call reads
 *              at most twice as many keys as the chunk had when the call reached it
 * Lifetime:    info_out must live until the pipeline has returned the tag; range is copied */
MCDS_API MCDS_CHECKED int mcds_log_scan(mcds_log *log, const mcds_log_range *range,
                                        mcds_log_scan_cb visit, void *context,
                                        mcds_log_info *info_out);
MCDS_API MCDS_CHECKED int mcds_log_scan_start(mcds_log *log, const mcds_log_range *range,
                                              mcds_log_scan_cb visit, void *context,
                                              mcds_log_info *info_out, mcds_pipeline *pipeline,
                                              uint64_t tag);

/* Position of a reader that follows a log. The caller owns it; one call uses it at a time. */
#define MCDS_LOG_CURSOR_CHUNKS 16
#define MCDS_LOG_CURSOR_LOG 136
typedef struct mcds_log_cursor {
    /* Start of a new cursor: events filed at or after this time, and none that is filed before it,
     * however late it is put; 0 = events put after the first call, whatever their times. */
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

/* Visits the events put since the last call with this cursor: every event once, late ones too, in
 * the order of mcds_log_scan within one call. Does not wait for events: call again later. Where the
 * clocks of a writer and a reader differ by more than R chunks (see mcds_log_options), a cursor may
 * pass the writer's events without a gap; a scan visits them.
 * Arguments:   cursor    moves past the last event visited, also when the call fails
 *              visit     as above
 *              info_out  the call adds what it finds to these numbers; NULL is allowed. A gap: events
 *                        that were in the log, or may have been, are gone, because a server has
 *                        forgotten them or they expired before this call. One loss of the whole log
 *                        is one gap. A cursor used at least once in each retention_ms is never too
 *                        late
 * Returns:     MCDS_OK         also where nothing is new
 *              MCDS_NOT_FOUND  no such log yet, or not any more: the cursor stays valid for a log
 *                              that is made later, and then sees all of it
 *              MCDS_INVALID    also for the cursor of another log, or of a log of the same name in
 *                              another store
 *              MCDS_LOST, MCDS_BUSY  as mcds_log_scan
 * Cost:        1 when there is nothing new; otherwise as mcds_log_scan. The first call with from_ms
 *              0: 1 per chunk of more than 16 KB, and 2 more. The timeout applies as for
 *              mcds_log_scan
 * Lifetime:    the cursor must live until the pipeline has returned the tag
 * Threads:     any; a cursor is used by one call at a time */
MCDS_API MCDS_CHECKED int mcds_log_tail(mcds_log *log, mcds_log_cursor *cursor,
                                        mcds_log_scan_cb visit, void *context,
                                        mcds_log_info *info_out);
MCDS_API MCDS_CHECKED int mcds_log_tail_start(mcds_log *log, mcds_log_cursor *cursor,
                                              mcds_log_scan_cb visit, void *context,
                                              mcds_log_info *info_out, mcds_pipeline *pipeline,
                                              uint64_t tag);

#define MCDS_LOG_CURSOR_TEXT 1024
/* Writes a cursor as text without blanks, with the namespace and the name of the log that the cursor
 * was used with.
 * Arguments:   cursor    to write; NULL gives ""
 *              text_out  terminated by NUL
 * Cost:        none
 * Threads:     any; a cursor is used by one call at a time */
MCDS_API void mcds_log_cursor_save(const mcds_log_cursor *cursor,
                                   char text_out[MCDS_LOG_CURSOR_TEXT]);
/* Reads what mcds_log_cursor_save has written.
 * Arguments:   cursor  filled
 *              text    terminated by NUL
 * Returns:     MCDS_OK; MCDS_INVALID: the text is not a cursor, and *cursor is untouched
 * Cost:        none
 * Threads:     any; a cursor is used by one call at a time */
MCDS_API MCDS_CHECKED int mcds_log_cursor_load(mcds_log_cursor *cursor, const char *text);

/* Erases the log. Events put meanwhile may be erased or stay, and a cursor may see such an event
 * twice.
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND  no such log
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_LOST       as for mcds_log_put
 *              MCDS_BUSY       others made it again and again
 * Cost:        3, 1 per 28 chunks that the log keeps, and 2 per 512 KB; the timeout applies to each
 *              round trip, and there are no more than these
 * Lost reply:  MCDS_AMBIGUOUS: all of it is erased, a part, or nothing; call again */
MCDS_API int mcds_log_drop(mcds_log *log);
MCDS_API MCDS_CHECKED int mcds_log_drop_start(mcds_log *log, mcds_pipeline *pipeline,
                                              uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
