/* mcds/set.h: sets, bags (multisets) and lists with removal. mcds.h has the rules of all calls.
 * These also apply to this header:
 *
 * Arguments:   element  1 to 1 024 bytes */
#ifndef MCDS_SET_H
#define MCDS_SET_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Elements that many handles add and remove, in any number. Each change appends one record to a
 * key, and a key splits when it grows too large. A change therefore takes one round trip, whether
 * the set holds ten elements or ten million, and no change waits for another. The room of elements
 * that were removed is used again (G-TABLE-4).
 *
 * Promise: each change is applied exactly once. A change whose reply was lost is repeated with
 * the same id until the timeout. The result is MCDS_AMBIGUOUS only if the repetition does not
 * show whether the change was applied. An element is 1 to 1 024 bytes of any value. Source: one
 * record per change, as in the append-only array of the articles; growth as in extendible hashing
 * (Fagin and others, TODS 1979). */
typedef struct mcds_set mcds_set;

typedef enum mcds_set_form {
    MCDS_SET_PLAIN, /* an element is in the set or not */
    MCDS_SET_BAG,   /* each element has a count: additions minus removals, not below 0 */
    /* Each addition has a position. A removal removes the first equal element. The additions of
     * one handle keep their order: within one key (about fifty elements) always, across keys if
     * the clocks of all writers agree within 30 seconds. Additions of different handles are in
     * the order of their writers' clocks. */
    MCDS_SET_LIST
} mcds_set_form;

typedef struct mcds_set_options {
    size_t size; /* sizeof(mcds_set_options) */
    /* Stored with the set. On a handle with another form, the first call that accesses the store
     * returns MCDS_INVALID and changes nothing. */
    mcds_set_form form;
    uint32_t reserved; /* 0 */
} mcds_set_options;
#define MCDS_SET_OPTIONS_INIT                                                                  \
    {                                                                                          \
        sizeof(mcds_set_options), MCDS_SET_PLAIN, 0                                            \
    }

/* Opens a set.
 * Arguments:   set_out  the handle
 * Returns:     MCDS_OK; MCDS_INVALID: an unknown form; MCDS_NO_MEMORY
 * Cost:        none */
MCDS_API MCDS_CHECKED int mcds_set_open(mcds_store *store, const char *name,
                                        const mcds_set_options *options, mcds_set **set_out);
/* Closes the handle.
 * Arguments:   set  NULL is allowed
 * Cost:        none */
MCDS_API void mcds_set_close(mcds_set *set);

/* Reads the form that a set was made with.
 * Arguments:   options  in and out; not NULL
 * Returns:     MCDS_OK; MCDS_NOT_FOUND: no such set
 * Cost:        1 */
MCDS_API MCDS_CHECKED int mcds_set_made_with(mcds_store *store, const char *name,
                                             mcds_set_options *options);

/* Adds an element. Makes the set if it does not exist.
 * Arguments:   changed_out  PLAIN: whether the element was absent before; BAG and LIST: always
 *                           true. NULL: not reported, so the call need not read the key
 * Returns:     MCDS_OK           added once, or already present
 *              MCDS_AMBIGUOUS    see below
 *              MCDS_LOST         the part of the set that this element belongs to is gone, or the
 *                                whole set that this handle has seen is gone (reported once); not
 *                                added
 *              MCDS_BUSY         other callers kept changing the same keys; not added
 *              MCDS_UNSUPPORTED  also: the store has no compare-and-set
 * Cost:        1. A handle's first call takes 2 if it makes the set, otherwise 3. About one call
 *              in twenty also rewrites a key that has grown, which takes 3 to 4 more
 * Lost reply:  The call repeats the change with the same id until the timeout. MCDS_AMBIGUOUS:
 *              added once, not at all, or not yet. The call also returns MCDS_AMBIGUOUS if it
 *              has sent the change and then finds that the set was dropped or lost. A set that
 *              was made since does not contain the change. The next call returns MCDS_LOST */
MCDS_API MCDS_CHECKED int mcds_set_add(mcds_set *set, mcds_bytes element, bool *changed_out);
MCDS_API MCDS_CHECKED int mcds_set_add_start(mcds_set *set, mcds_bytes element,
                                             bool *changed_out, mcds_pipeline *pipeline,
                                             uint64_t tag);

/* Removes an element. BAG: subtracts one from its count. LIST: removes the first equal element.
 * Does not make a set.
 * Arguments:   changed_out  whether it was present; NULL: not reported, so the call need not read
 *                           the key
 * Returns:     as mcds_set_add; MCDS_OK also if there was nothing to remove
 * Cost:        as mcds_set_add
 * Lost reply:  as mcds_set_add: removed once, not at all, or not yet */
MCDS_API MCDS_CHECKED int mcds_set_remove(mcds_set *set, mcds_bytes element, bool *changed_out);
MCDS_API MCDS_CHECKED int mcds_set_remove_start(mcds_set *set, mcds_bytes element,
                                                bool *changed_out, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Reports whether an element is in the set.
 * Returns:     MCDS_OK         present
 *              MCDS_NOT_FOUND  absent, or no such set
 *              MCDS_LOST       the part of the set that the element belongs to is gone, or the
 *                              whole set that this handle has seen is gone (reported once)
 *              MCDS_BUSY       other callers kept moving or dropping the keys
 * Cost:        1; a handle's first call takes 2, or 1 if there is no set */
MCDS_API MCDS_CHECKED int mcds_set_has(mcds_set *set, mcds_bytes element);
MCDS_API MCDS_CHECKED int mcds_set_has_start(mcds_set *set, mcds_bytes element,
                                             mcds_pipeline *pipeline, uint64_t tag);

/* Called by mcds_set_scan for each element. `element` is valid during the call only. Returns
 * false to end the scan. */
typedef bool (*mcds_set_scan_cb)(void *context, mcds_bytes element, uint64_t count);

/* Visits all elements. PLAIN and BAG: unordered, each element once with its count. LIST: in the
 * order of addition, each occurrence with count 1. Elements that change during the scan may or
 * may not be visited. Every other element is visited exactly once. LIST keeps all elements in
 * memory until it has read the last.
 * Arguments:   visit  as above
 * Returns:     MCDS_OK         also if visit has ended the scan
 *              MCDS_NOT_FOUND  no such set
 *              MCDS_LOST       a part is gone, and the rest was visited; or the whole set that
 *                              this handle has seen is gone (reported once)
 *              MCDS_BUSY       other callers kept moving or dropping the keys
 *              After another failure some elements may have been visited, but none of a LIST.
 * Cost:        1 per 64 keys of about 1 KB. The timeout applies to each round trip */
MCDS_API MCDS_CHECKED int mcds_set_scan(mcds_set *set, mcds_set_scan_cb visit, void *context);
MCDS_API MCDS_CHECKED int mcds_set_scan_start(mcds_set *set, mcds_set_scan_cb visit,
                                              void *context, mcds_pipeline *pipeline,
                                              uint64_t tag);

/* Erases the set. Elements that are added during the call may be erased too. The call leaves one
 * empty key, which expires after a day.
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND  no such set, or the store has lost it
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_BUSY       other callers kept making the set again
 *              If a drop fails midway, the set no longer exists. The remaining keys are never
 *              read again, and the next drop by the same handle erases them.
 * Cost:        2, and 2 per 64 keys. The timeout applies to each round trip
 * Lost reply:  MCDS_AMBIGUOUS: the whole set is erased, a part of it, nothing, or not yet;
 *              call again */
MCDS_API int mcds_set_drop(mcds_set *set);
MCDS_API MCDS_CHECKED int mcds_set_drop_start(mcds_set *set, mcds_pipeline *pipeline,
                                              uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
