/* mcds/views.h: total views of each page, kept in the program's database. mcds.h has the rules of
 * all calls. These also apply to this header:
 *
 * Arguments:   page  1 to 1024 bytes */
#ifndef MCDS_VIEWS_H
#define MCDS_VIEWS_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Number of views of each page. The store counts the views, and the program's database keeps the
 * totals. Views are counted per interval of flush_ms. `slot` is the number of an interval. flush
 * passes the counts of the intervals that have ended to `save`. get adds the counts of the
 * intervals that are not saved yet to the sum that `load` returns. A count is saved as an
 * absolute number, never as a difference. Therefore two programs may flush at once, a flush may
 * be interrupted, and an interval may be saved again.
 *
 * Promise: no view is counted twice. Acknowledged views are in the value. They are in the
 * database after the next flush that follows their interval. Views are missing if the store loses
 * their interval or its list of pages before that flush. Views that are counted after the loss of
 * both are not missing. The value never falls below the number that the database held when it was
 * last read, at most ten minutes ago.
 *
 * Wrong clocks: views that a machine with a fast clock counts are in the value and in the database
 * as soon as the other clocks reach that time. Views may be counted in an interval that is already
 * saved, because their machine's clock is more than 5 s slow, or because the clock of a flush was
 * ahead. The next flush saves that interval again, and the value includes these views after ten
 * minutes at most. A handle checks once a second whether this has happened. Views that it counts
 * after its last check may be missing if it counts no others in the next two intervals. Views from a
 * machine whose clock is slow by more than one day, or by more than 1 440 intervals, are missing. */
typedef struct mcds_views mcds_views;

/* Sets *views_out to the sum of the views saved for this page in the intervals up to and
 * including upto_slot; 0 if nothing is saved. mcds_views_get calls it for one caller of a page at
 * a time, unless the calls of one get take more than 10 s together. The callback may take longer
 * than the timeout of the store. A pipeline does nothing else while the callback runs. Returns 0 on
 * success. If it returns another number, or the sum is below 0, get returns MCDS_IO. */
typedef int (*mcds_views_load_cb)(void *context, const char *page, uint64_t upto_slot,
                                  int64_t *views_out);
/* Stores that this page had `views` views in the interval `slot`. Replaces the number that is
 * stored for this page and interval, unless that number is larger. Called by flush. Returns 0 on
 * success. If it returns another number, the page is not saved: flush saves the other pages, leaves
 * the later intervals of this page to the next flush, and returns MCDS_IO. MCDS_VIEWS_STOP also
 * ends the flush: it tries no other page. */
typedef int (*mcds_views_save_cb)(void *context, const char *page, uint64_t slot,
                                  int64_t views);

/* A result of `save` that ends the flush. The flush then returns MCDS_IO, and found_number of
 * mcds_last_error is this number. */
#define MCDS_VIEWS_STOP INT32_MIN

/* The database of `load` and `save`. If no database is stored with the views, the first flush of a
 * handle stores that of the handle. So does the first hit, except with MCDS_VIEWS_TABLE: a script
 * may count the views of a program with `mcds views hit` before the program does. On a handle with
 * another database than the stored one, get and flush return MCDS_INVALID, because the sums of two
 * databases differ. A handle reads the stored database at its first call, after each flush_ms and
 * at each flush. hit and drop need no database: any handle may call them. */
typedef enum mcds_views_database {
    MCDS_VIEWS_OWN = 0,  /* a database of the program */
    MCDS_VIEWS_TABLE = 1 /* the table of the command `mcds views` */
} mcds_views_database;

typedef struct mcds_views_options {
    size_t size; /* sizeof(mcds_views_options) */
    /* 1 000 to 86 400 000; 0 = 60 000. Stored with the views. The first call on a handle with
     * another flush_ms returns MCDS_INVALID. Another handle may drop the views and make them with
     * another flush_ms. An open handle then gets MCDS_INVALID when its own flush_ms has passed.
     * Views that it counts before that are in no value. */
    uint32_t flush_ms;
    mcds_views_load_cb load;
    mcds_views_save_cb save;
    void *context; /* passed to both; they run in the calling threads, maybe at the same time */
    mcds_views_database database;
    uint32_t reserved; /* 0 */
} mcds_views_options;
#define MCDS_VIEWS_OPTIONS_INIT                                                                \
    {                                                                                          \
        sizeof(mcds_views_options), 0, NULL, NULL, NULL, MCDS_VIEWS_OWN, 0                     \
    }

/* Opens views.
 * Arguments:   options    not NULL; `load` and `save` must be set
 *              views_out  the handle
 * Returns:     MCDS_OK; MCDS_INVALID: load or save is missing, or flush_ms or database is out of
 *              its range; MCDS_NO_MEMORY
 * Cost:        none
 * Lifetime:    the callbacks may be called until the last operation has ended */
MCDS_API MCDS_CHECKED int mcds_views_open(mcds_store *store, const char *name,
                                          const mcds_views_options *options,
                                          mcds_views **views_out);
/* Closes the handle. Saves no views: call mcds_views_flush_final first.
 * Arguments:   views  NULL is allowed
 * Cost:        none */
MCDS_API void mcds_views_close(mcds_views *views);

/* Reads the options that views were made with: `flush_ms` and `database`.
 * Arguments:   options  in and out; not NULL. If no database is stored with the views yet, the
 *                       call does not change `database`
 * Returns:     MCDS_OK; MCDS_NOT_FOUND: no such views
 * Cost:        1 */
MCDS_API MCDS_CHECKED int mcds_views_made_with(mcds_store *store, const char *name,
                                               mcds_views_options *options);

/* Counts n views of a page.
 * Arguments:   n  0 to UINT32_MAX
 * Returns:     MCDS_OK
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_LOST       a part of the list of the interval's pages is gone; not counted
 *              MCDS_BUSY       other callers kept changing a key, or other operations of this
 *                              handle used four other intervals until the timeout; not counted
 * Cost:        1, or 2 to 3 for a handle's first view of a page in an interval. One more once a
 *              second, one more for a handle's first call of any kind, and one more for its first
 *              hit or get flush_ms after that. 3 to 4 more where the store has lost the number of a
 *              page that the handle has counted in the interval
 * Lost reply:  MCDS_AMBIGUOUS: counted once or not at all; not repeated. Before it counts, the
 *              call adds the page to a list. If only the reply to that step is lost, the views
 *              were not counted, and the result is MCDS_UNAVAILABLE, MCDS_TIMEOUT or that of a
 *              later refusal */
MCDS_API MCDS_CHECKED int mcds_views_hit(mcds_views *views, const char *page, uint32_t n);
MCDS_API MCDS_CHECKED int mcds_views_hit_start(mcds_views *views, const char *page, uint32_t n,
                                               mcds_pipeline *pipeline, uint64_t tag);

/* Reads the total number of views of a page.
 * Arguments:   value_out  0 for a page without views
 * Returns:     MCDS_OK
 *              MCDS_IO       `load` has failed
 *              MCDS_TIMEOUT  also if the `load` of another caller takes longer than the timeout.
 *                            The time of this call's own `load` does not count
 *              MCDS_BUSY     other callers kept changing the base until the timeout
 * Cost:        1 per 15 intervals that the base does not include yet. The base is the sum of the
 *              saved intervals. The store keeps the base, and the call reads it again from the
 *              database every ten minutes. That read costs 5 round trips and 2 calls of `load`,
 *              or 3 to 16 calls if the store has no record of a flush. It costs more of both
 *              while saved intervals may still change. If nobody has counted or saved views
 *              under this name, nothing is stored, and each get reads the database. One more for a
 *              handle's first call of any kind, and for its first hit or get flush_ms after that */
MCDS_API MCDS_CHECKED int mcds_views_get(mcds_views *views, const char *page,
                                         int64_t *value_out);
MCDS_API MCDS_CHECKED int mcds_views_get_start(mcds_views *views, const char *page,
                                               int64_t *value_out, mcds_pipeline *pipeline,
                                               uint64_t tag);

/* Saves the intervals that have ended and are not saved yet. Saves the two intervals before these
 * again, and the intervals that ended within the last 5 s, because machines with slow clocks may
 * still count in them. At least one program must call this about every flush_ms, and at least
 * once a day. Several programs may call it.
 * Returns:     MCDS_OK
 *              MCDS_IO       `save` has failed. mcds_errmsg() names the first page that is not
 *                            saved, and the number of these pages. All other pages are saved,
 *                            unless `save` has ended the flush, or has failed 16 times in a row
 *                            and these calls together took the timeout. If more than 1 048 576
 *                            pages are not saved, or this process has no memory to remember them,
 *                            all later intervals wait
 *              MCDS_CORRUPT  the key of a page or of a list holds something that mcds did not
 *                            write; the other pages are saved
 *              MCDS_LOST     a part of the list of an interval's pages is gone; the other pages
 *                            are saved
 *              MCDS_BUSY     other operations of this handle used four other intervals until the
 *                            timeout
 *              After any failure the next call saves the remaining intervals and pages. It begins
 *              at the first interval that is not wholly saved, and saves all pages from there on
 *              again.
 * Cost:        2, and 1 per interval. For an interval with views, 1 more and 1 per 16 pages, and
 *              the calls of `save`. The first flush ever reads the intervals of one day, 1 440 by
 *              default. The timeout applies to each round trip. Pages that are not saved take 16
 *              bytes of memory each until the call returns
 * Lost reply:  the call reads the counts and then records how far it has saved. If the reply to
 *              this write is lost, the next flush saves the same intervals again */
MCDS_API MCDS_CHECKED int mcds_views_flush(mcds_views *views);
MCDS_API MCDS_CHECKED int mcds_views_flush_start(mcds_views *views, mcds_pipeline *pipeline,
                                                 uint64_t tag);

/* Saves the current interval too. Call it before the program ends: all views acknowledged before
 * the call are then in the database. Other programs may keep counting in that interval; the next
 * flush of any program saves it again.
 * Returns:     as mcds_views_flush
 * Cost:        as mcds_views_flush
 * Lost reply:  as mcds_views_flush */
MCDS_API MCDS_CHECKED int mcds_views_flush_final(mcds_views *views);
MCDS_API MCDS_CHECKED int mcds_views_flush_final_start(mcds_views *views,
                                                       mcds_pipeline *pipeline, uint64_t tag);

/* Erases all data of the views in the store. The views may then be opened with another flush_ms.
 * The database keeps the saved counts. Erase its rows before this call, or the next get adds them
 * again. If the new flush_ms differs, the rows that are left have numbers of other intervals: get
 * then adds all, some or none of their views. Views that are counted during the call may be erased
 * or may stay. A page that was not viewed in the last day may keep its sum from the database for
 * ten minutes.
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND  the store has no data of the views
 *              MCDS_AMBIGUOUS  see below; also after any failure when something is already erased
 *              MCDS_BUSY       as mcds_views_flush
 * Cost:        4, and 1 per interval that the store may hold, 1 445 by default. For an interval
 *              with views, 1 more per 8 pages, and 3 for its list. The timeout applies to each
 *              round trip
 * Lost reply:  MCDS_AMBIGUOUS: all of the data is erased, a part of it, nothing, or not yet;
 *              call again */
MCDS_API int mcds_views_drop(mcds_views *views);
MCDS_API MCDS_CHECKED int mcds_views_drop_start(mcds_views *views, mcds_pipeline *pipeline,
                                                uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
