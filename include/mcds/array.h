/* mcds/array.h: a short sequence, read and changed as a whole by compare-and-set. mcds.h has
 * the rules of all calls. */
#ifndef MCDS_ARRAY_H
#define MCDS_ARRAY_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A sequence of elements that is read often and changed as a whole. A read takes one round trip.
 * A change is a compare-and-set. Use mcds_list for a sequence that only grows, and mcds_set for
 * elements that are added and removed one by one.
 *
 * Promise: operations are linearizable, and each change is applied exactly once. When its reply
 * is lost, a change reads the array to find out whether it was applied. It returns MCDS_AMBIGUOUS
 * only if the array does not show this. An element may hold any bytes. The whole array is at most
 * 64 MB, with 1 to 4 bytes of overhead for each element. An array larger than about half of the
 * store's largest value (512 KB on memcached) is stored in parts. A reader sees the whole old
 * value or the whole new one, never a mixture. */
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
 * Returns:     MCDS_OK         also if visit has ended the scan
 *              MCDS_NOT_FOUND  no such array
 *              MCDS_LOST       a part of the value is gone; or the whole array that this handle
 *                              has seen is gone, even if another handle has made it again
 *                              (reported once). Nothing was visited
 * Cost:        1; for a value in parts, 1 more per 8 parts of 512 KB */
MCDS_API MCDS_CHECKED int mcds_array_scan(mcds_array *array, mcds_array_scan_cb visit,
                                          void *context);
MCDS_API MCDS_CHECKED int mcds_array_scan_start(mcds_array *array, mcds_array_scan_cb visit,
                                                void *context, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Sets the whole array. Makes the array if it does not exist.
 * Arguments:   elements  each has 0 bytes or more; NULL is allowed if count is 0
 *              count     0 makes an empty array
 * Returns:     MCDS_OK
 *              MCDS_AMBIGUOUS    see below
 *              MCDS_BUSY         other callers kept changing the array until the timeout; not set
 *              MCDS_TOO_BIG      more than 64 MB
 *              MCDS_UNSUPPORTED  the store has no compare-and-set
 * Cost:        2; for a value in parts 4 more, and 1 per 8 parts
 * Lost reply:  The call reads the array to learn whether it was set. MCDS_AMBIGUOUS: set once,
 *              not at all, or not yet. The result is always MCDS_AMBIGUOUS if the reply to the
 *              first change of an array is lost and the key is then missing or was made by
 *              another handle */
MCDS_API MCDS_CHECKED int mcds_array_set(mcds_array *array, const mcds_bytes *elements,
                                         size_t count);
MCDS_API MCDS_CHECKED int mcds_array_set_start(mcds_array *array, const mcds_bytes *elements,
                                               size_t count, mcds_pipeline *pipeline,
                                               uint64_t tag);

/* Removes the first element equal to each of `remove`, then adds `add` at the end. Makes the
 * array if it does not exist.
 * Arguments:   add, remove              elements; NULL is allowed when its count is 0
 *              add_count, remove_count  0 or more
 * Returns:     as mcds_array_set, and
 *              MCDS_NOT_FOUND  there is no such array, and nothing to add
 *              MCDS_LOST       a part of the value is gone; or the whole array that this handle
 *                              has seen is gone, even if another handle has made it again
 *                              (reported once). Nothing was changed
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
/* Adds an element at the end. If it fails, nothing is written. Then the change fails with the same
 * result if the callback returns 0 or -1, and with the number of the callback if that is another.
 * Arguments:   elements  of the callback that is running
 *              element   any bytes; copied
 * Returns:     MCDS_OK; MCDS_TOO_BIG: more than 64 MB in all; MCDS_NO_MEMORY; MCDS_INVALID
 * Cost:        none
 * Threads:     that of the callback */
MCDS_API MCDS_CHECKED int mcds_elements_add(mcds_elements *elements, mcds_bytes element);

/* Called by mcds_array_change_by, which describes it. */
typedef int (*mcds_array_change_cb)(void *context, const mcds_bytes *old, size_t old_count,
                                    mcds_elements *fresh);

/* Makes any other change. `change` gets the current elements (`old` is NULL if there is no array)
 * and adds all new elements to `fresh`. If another caller changes the array in the meantime,
 * `change` is called again; it must therefore have no side effects. `change` may take longer than
 * the timeout of the store. A pipeline does nothing else while `change` runs. `change` returns 0 to
 * write the new elements. If it returns another number, nothing is written, and this call returns
 * that number.
 * Instead of -1, which is MCDS_AMBIGUOUS, this call returns MCDS_IO. If the number is that of a
 * failure or of MCDS_BUSY, the cause in mcds_last_error is MCDS_CAUSE_CALLBACK_FAILED. No result of
 * mcds is 1000 or more: use such numbers to distinguish those of `change` from all results.
 * Arguments:   change   must not call the library except mcds_elements_add; its arguments are
 *                       valid during the call only
 *              context  passed to `change`; may be NULL
 * Returns:     as mcds_array_change, and any number that `change` returns, except -1
 *              MCDS_IO  also if `change` returned -1
 * Cost:        as mcds_array_set; 1 when nothing changes
 * Lost reply:  as mcds_array_set */
MCDS_API MCDS_CHECKED int mcds_array_change_by(mcds_array *array, mcds_array_change_cb change,
                                               void *context);
MCDS_API MCDS_CHECKED int mcds_array_change_by_start(mcds_array *array,
                                                     mcds_array_change_cb change, void *context,
                                                     mcds_pipeline *pipeline, uint64_t tag);

/* Erases the array. If a writer died while it wrote the first value, there is no array, but parts
 * of this value stay in the store until the next set, change or drop of the name. A drop erases
 * these parts, too. If the store has lost only the first key of a value, the parts of the value
 * stay, because no other key names them. The call leaves one key for ten minutes.
 * Returns:     MCDS_OK; MCDS_NOT_FOUND: no such array; MCDS_AMBIGUOUS: see below; MCDS_BUSY:
 *              other callers kept changing the array until the timeout; MCDS_UNSUPPORTED: the
 *              store has no compare-and-set
 * Cost:        2; for a value in parts 1 more per 8 parts
 * Lost reply:  MCDS_AMBIGUOUS: erased, not at all, or not yet; call again */
MCDS_API int mcds_array_drop(mcds_array *array);
MCDS_API MCDS_CHECKED int mcds_array_drop_start(mcds_array *array, mcds_pipeline *pipeline,
                                                uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
