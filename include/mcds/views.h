/* mcds/views.h: total views of each page, kept in the program's database. mcds.h has the rules of all
 * calls. For those of this header:
 *
 * Arguments:   page  1 to 1024 bytes */
#ifndef MCDS_VIEWS_H
#define MCDS_VIEWS_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Number of views of each page: counted in the store, kept in the program's database. Views are
 * counted per interval of flush_ms. The callbacks call the number of an interval `slot`. flush
 * passes the counts of the intervals that have ended to `save`; get adds the sum that `load`
 * returns to the intervals that are not saved yet. A count is saved as an absolute number, never
 * as a difference: two programs may flush at once, a flush may be cut off, and an interval may be
 * saved again.
 *
 * Promise: no view is counted twice. Acknowledged views are in the value, and in the database when
 * the next flush after their interval has returned, unless the store forgets an interval first, or
 * a machine whose clock is more than 5 s behind counts them in an interval that was saved before.
 * Then those views are missing; the value never falls below what the database held when it was last
 * read, at most ten minutes ago. Views counted by a clock that is ahead are in both when that time
 * has come. */
typedef struct mcds_views mcds_views;

/* Sets *views_out to the sum of the views saved for this page in the intervals up to and including
 * upto_slot; 0 when nothing is saved. mcds_views_get calls it for one caller of a page at a time.
 * Returns 0; any other result, or a sum below 0, makes get return MCDS_IO. */
typedef int (*mcds_views_load_cb)(void *context, const char *page, uint64_t upto_slot,
                                  int64_t *views_out);
/* Stores that this page had `views` views in the interval `slot`. Replaces the number stored for
 * the page and the interval before, unless that is larger. Called by flush. Returns 0; any other
 * result makes flush return MCDS_IO. */
typedef int (*mcds_views_save_cb)(void *context, const char *page, uint64_t slot,
                                  int64_t views);

typedef struct mcds_views_options {
    size_t size; /* sizeof(mcds_views_options) */
    /* 1 000 to 86 400 000; 0 = 60 000. Stored with the views: on a handle with another time the
     * first call returns MCDS_INVALID. */
    uint32_t flush_ms;
    mcds_views_load_cb load;
    mcds_views_save_cb save;
    void *context; /* for both; they run in the calling thread, also in several at once */
} mcds_views_options;
#define MCDS_VIEWS_OPTIONS_INIT                                                                \
    {                                                                                          \
        sizeof(mcds_views_options), 0, NULL, NULL, NULL                                        \
    }

/* Opens views.
 * Arguments:   options    not NULL; must set load and save
 *              views_out  the handle
 * Returns:     MCDS_OK; MCDS_INVALID: load or save is missing, or flush_ms is out of its range;
 *              MCDS_NO_MEMORY
 * Cost:        none
 * Lifetime:    the callbacks may be called until the last operation has ended */
MCDS_API MCDS_CHECKED int mcds_views_open(mcds_store *store, const char *name,
                                          const mcds_views_options *options,
                                          mcds_views **views_out);
/* Closes the handle. Saves nothing: call mcds_views_flush_final first.
 * Arguments:   views  NULL is allowed
 * Cost:        none */
MCDS_API void mcds_views_close(mcds_views *views);

/* Counts n views of a page.
 * Arguments:   n  0 to UINT32_MAX
 * Returns:     MCDS_OK
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_LOST       a part of the list of the interval's pages is gone; not counted
 *              MCDS_BUSY       others kept changing a key, or operations of this handle use four
 *                              other intervals; not counted
 * Cost:        1; 2 to 3 for a handle's first view of a page in an interval; one more for a handle's
 *              first call of any kind
 * Lost reply:  MCDS_AMBIGUOUS: counted once or not at all; not repeated. Before the count the page is
 *              entered in a list: after a lost reply to that alone it was not counted, and the
 *              result is MCDS_UNAVAILABLE, MCDS_TIMEOUT or that of a later refusal */
MCDS_API MCDS_CHECKED int mcds_views_hit(mcds_views *views, const char *page, uint32_t n);
MCDS_API MCDS_CHECKED int mcds_views_hit_start(mcds_views *views, const char *page, uint32_t n,
                                               mcds_pipeline *pipeline, uint64_t tag);

/* Reads the total number of views of a page.
 * Arguments:   value_out  0 for a page without views
 * Returns:     MCDS_OK
 *              MCDS_IO       load has failed
 *              MCDS_TIMEOUT  also when another caller's load takes too long
 *              MCDS_BUSY     the base changed again and again
 * Cost:        1 per 15 intervals that the base does not include yet. The base is the sum of the
 *              saved intervals; it is kept in the store and read again from the database every ten
 *              minutes. That costs 5, and 2 calls of load, or 3 to 16 of them where the store does
 *              not know of a flush; more of both while saved intervals may still change. One more
 *              for a handle's first call of any kind */
MCDS_API MCDS_CHECKED int mcds_views_get(mcds_views *views, const char *page,
                                         int64_t *value_out);
MCDS_API MCDS_CHECKED int mcds_views_get_start(mcds_views *views, const char *page,
                                               int64_t *value_out, mcds_pipeline *pipeline,
                                               uint64_t tag);

/* Saves the intervals that have ended and are not saved yet. Saves again the two before them, and
 * those that ended within the last 5 s, because machines with slow clocks still count in them. At
 * least one program must call this about every flush_ms, and at least once a day; several may.
 * Returns:     MCDS_OK
 *              MCDS_IO    save has failed; call again
 *              MCDS_LOST  a part of the list of an interval's pages is gone; the intervals before it
 *                         are saved
 *              MCDS_BUSY  operations of this handle use four other intervals
 *              After any failure the next call saves what this one has not.
 * Cost:        1, 1 per interval, and for an interval with views 1 more and 1 per 16 pages, and the
 *              calls of save. The first flush ever reads the intervals of a day, 1 440 by default.
 *              The timeout applies to each round trip
 * Lost reply:  it reads, and then writes the mark: if that reply is lost, the next flush saves the
 *              same intervals again */
MCDS_API MCDS_CHECKED int mcds_views_flush(mcds_views *views);
MCDS_API MCDS_CHECKED int mcds_views_flush_start(mcds_views *views, mcds_pipeline *pipeline,
                                                 uint64_t tag);

/* Saves the current interval too, before the program ends: then all views acknowledged before the
 * call are in the database. Other programs may keep counting in that interval; the next flush of
 * any program saves it again.
 * Returns:     as mcds_views_flush
 * Cost:        as mcds_views_flush
 * Lost reply:  as mcds_views_flush */
MCDS_API MCDS_CHECKED int mcds_views_flush_final(mcds_views *views);
MCDS_API MCDS_CHECKED int mcds_views_flush_final_start(mcds_views *views,
                                                       mcds_pipeline *pipeline, uint64_t tag);

/* Erases what the store holds of the views; they may then be opened with another flush_ms. The
 * database keeps what was saved: erase its rows before this call, or the next get adds them again.
 * Views counted meanwhile may be erased or stay. A page that was not viewed in the last day may
 * keep its sum from the database for ten minutes.
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND  the store holds nothing
 *              MCDS_AMBIGUOUS  see below; also after any failure once something is erased
 *              MCDS_BUSY       as mcds_views_flush
 * Cost:        1 per interval that the store may hold, 1 445 by default, and 3 in all; for an
 *              interval with views 1 more per 8 pages, and 3 for its list. The timeout applies to
 *              each round trip
 * Lost reply:  MCDS_AMBIGUOUS: all of it is erased, a part, or nothing; call again */
MCDS_API int mcds_views_drop(mcds_views *views);
MCDS_API MCDS_CHECKED int mcds_views_drop_start(mcds_views *views, mcds_pipeline *pipeline,
                                                uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
