/* mcds/array.h: a short sequence, read and changed as a whole by compare-and-set. mcds.h has
 * the rules of all calls. */
#ifndef MCDS_ARRAY_H
#define MCDS_ARRAY_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A sequence of elements that is read often and changed as a whole: read in one round trip, changed
 * by compare-and-set. For sequences that only grow use mcds_list; for elements that are added and
 * removed one by one, mcds_set.
 *
 * Promise: linearizable, and each change exactly once: a change whose reply was lost reads the
 * array to learn whether it was applied; MCDS_AMBIGUOUS only where that does not show it. An
 * element is any bytes; the whole array, with 1 to 4 bytes more for each element, is at most 64 MB.
 * An array larger than about half of the store's largest value (512 KB on memcached) is stored in
 * parts; a reader sees one whole value or the next. */
typedef struct mcds_array mcds_array;

typedef struct mcds_array_options {
    size_t size; /* sizeof(mcds_array_options) */
} mcds_array_options;
#define MCDS_ARRAY_OPTIONS_INIT                                                                \
    {                                                                                          \
        sizeof(mcds_array_options)                                                             \
    }

/* Opens an array.
 * Arguments:   array_out  the handle
 * Returns:     MCDS_OK; MCDS_INVALID; MCDS_NO_MEMORY
 * Cost:        none */
MCDS_API MCDS_CHECKED int mcds_array_open(mcds_store *store, const char *name,
                                          const mcds_array_options *options,
                                          mcds_array **array_out);
/* Closes the handle.
 * Arguments:   array  NULL is allowed
 * Cost:        none */
MCDS_API void mcds_array_close(mcds_array *array);

/* Called by mcds_array_scan for each element. `element` is valid during the call only. Returns
 * false to end the scan. */
typedef bool (*mcds_array_scan_cb)(void *context, mcds_bytes element);

/* Visits the elements in order.
 * Arguments:   visit  as above
 * Returns:     MCDS_OK         also where visit has ended the scan
 *              MCDS_NOT_FOUND  no such array
 *              MCDS_LOST       a part of the value is gone, or the whole array that this handle has
 *                              seen, also where another has made it again (reported once); nothing
 *                              was visited
 * Cost:        1; for a value in parts, 1 more per 8 parts of 512 KB */
MCDS_API MCDS_CHECKED int mcds_array_scan(mcds_array *array, mcds_array_scan_cb visit,
                                          void *context);
MCDS_API MCDS_CHECKED int mcds_array_scan_start(mcds_array *array, mcds_array_scan_cb visit,
                                                void *context, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Sets the whole array. Makes it when it does not exist.
 * Arguments:   elements  each of 0 bytes or more; NULL is allowed when count is 0
 *              count     0 makes an empty array
 * Returns:     MCDS_OK
 *              MCDS_AMBIGUOUS    see below
 *              MCDS_BUSY         others changed the array until the timeout; not set
 *              MCDS_TOO_BIG      more than 64 MB
 *              MCDS_UNSUPPORTED  the store has no compare-and-set
 * Cost:        2; for a value in parts 4 more, and 1 per 8 parts
 * Lost reply:  The call reads the array to learn whether it was set. MCDS_AMBIGUOUS: set once, not
 *              at all, or not yet. Always so when the reply to the first change of an array is lost
 *              and its key is then missing, or made by another handle */
MCDS_API MCDS_CHECKED int mcds_array_set(mcds_array *array, const mcds_bytes *elements,
                                         size_t count);
MCDS_API MCDS_CHECKED int mcds_array_set_start(mcds_array *array, const mcds_bytes *elements,
                                               size_t count, mcds_pipeline *pipeline,
                                               uint64_t tag);

/* Removes the first element equal to each of `remove`, then adds `add` at the end. Makes an array that
 * does not exist.
 * Arguments:   add, remove              elements; NULL is allowed when its count is 0
 *              add_count, remove_count  0 or more
 * Returns:     as mcds_array_set, and
 *              MCDS_NOT_FOUND  no such array, and nothing to add
 *              MCDS_LOST       a part of the value is gone, or the whole array that this handle has
 *                              seen, also where another has made it again (reported once); nothing
 *                              was changed
 * Cost:        as mcds_array_set; 1 when nothing changes
 * Lost reply:  as mcds_array_set */
MCDS_API MCDS_CHECKED int mcds_array_change(mcds_array *array, const mcds_bytes *add,
                                            size_t add_count, const mcds_bytes *remove,
                                            size_t remove_count);
MCDS_API MCDS_CHECKED int mcds_array_change_start(mcds_array *array, const mcds_bytes *add,
                                                  size_t add_count, const mcds_bytes *remove,
                                                  size_t remove_count, mcds_pipeline *pipeline,
                                                  uint64_t tag);

/* The new elements of an array, collected by the callback of mcds_array_change_by. */
typedef struct mcds_elements mcds_elements;
/* Adds an element at the end.
 * Arguments:   elements  of the callback that is running
 *              element   any bytes; copied
 * Returns:     MCDS_OK; MCDS_TOO_BIG: more than 64 MB in all; MCDS_NO_MEMORY; MCDS_INVALID
 * Cost:        none
 * Threads:     that of the callback */
MCDS_API MCDS_CHECKED int mcds_elements_add(mcds_elements *elements, mcds_bytes element);

/* Called by mcds_array_change_by; see there. */
typedef int (*mcds_array_change_cb)(void *context, const mcds_bytes *old, size_t old_count,
                                    mcds_elements *fresh);

/* Any other change. `change` gets the current elements (old is NULL when there is no array) and
 * adds all new elements to `fresh`. It is called again when another change was made meanwhile, so
 * it must have no other effect. It returns 0 to write the new elements; any other result writes
 * nothing and is returned by this call.
 * Arguments:   change   must not call the library except mcds_elements_add; what it gets is valid
 *                       during the call only
 *              context  passed to `change`; may be NULL
 * Returns:     as mcds_array_change, and what `change` returns
 * Cost:        as mcds_array_set; 1 when nothing changes
 * Lost reply:  as mcds_array_set */
MCDS_API MCDS_CHECKED int mcds_array_change_by(mcds_array *array, mcds_array_change_cb change,
                                               void *context);
MCDS_API MCDS_CHECKED int mcds_array_change_by_start(mcds_array *array,
                                                     mcds_array_change_cb change, void *context,
                                                     mcds_pipeline *pipeline, uint64_t tag);

/* Erases the array.
 * Returns:     MCDS_OK; MCDS_NOT_FOUND: no such array; MCDS_AMBIGUOUS: see below; MCDS_BUSY: others
 *              changed the array until the timeout; MCDS_UNSUPPORTED: the store has no
 *              compare-and-set
 * Cost:        2; for a value in parts 1 more per 8 parts
 * Lost reply:  MCDS_AMBIGUOUS: erased, not at all, or not yet; call again */
MCDS_API int mcds_array_drop(mcds_array *array);
MCDS_API MCDS_CHECKED int mcds_array_drop_start(mcds_array *array, mcds_pipeline *pipeline,
                                                uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
