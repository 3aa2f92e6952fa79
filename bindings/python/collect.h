/* collect.h: callbacks in C for the Python binding, so that a scan does not need the interpreter's lock
 * for each element, and the completions of a pipeline in groups. */
#ifndef MCDS_PYTHON_COLLECT_H
#define MCDS_PYTHON_COLLECT_H

#include <mcds.h>

/* What a scan has visited, as records: each begins with an mcds_py_record. */
typedef struct mcds_py_record {
    int64_t first;       /* a count, a time, a severity */
    int64_t second;      /* another time */
    uint64_t key_length; /* bytes that follow: the key, then the value */
    uint64_t value_length;
} mcds_py_record;

typedef struct mcds_py_buffer mcds_py_buffer;

/* False: no memory. A buffer is full when it has `most` bytes. The writer of a full buffer waits until
 * mcds_py_buffer_take() has emptied it. If the buffer is not one that waits, the scan ends. */
bool mcds_py_buffer_new(size_t most, bool waits, mcds_py_buffer **out);
/* No scan may use it any more. */
void mcds_py_buffer_free(mcds_py_buffer *buffer);
/* Bytes and records so far, for a buffer that does not wait. */
const uint8_t *mcds_py_buffer_data(const mcds_py_buffer *buffer, size_t *length_out);
uint64_t mcds_py_buffer_records(const mcds_py_buffer *buffer);
/* Whether the buffer has ended the scan: it was full, or there was no memory. */
bool mcds_py_buffer_is_full(const mcds_py_buffer *buffer);
bool mcds_py_buffer_has_failed(const mcds_py_buffer *buffer);
/* Only counts from now on. */
void mcds_py_buffer_count_only(mcds_py_buffer *buffer);

/* The records of a tail that moves this cursor get keys from now on: copies of the cursor, each after
 * its event. */
void mcds_py_buffer_keep_positions(mcds_py_buffer *buffer, const mcds_log_cursor *cursor);

/* Of a waiting buffer. Waits until it is at least half full or the scan is over, or for wait_ms, and
 * moves its bytes into `out`, another buffer. False: the scan is over, and no bytes are left. */
bool mcds_py_buffer_take(mcds_py_buffer *buffer, mcds_py_buffer *out, uint32_t wait_ms);
/* The scan has returned. */
void mcds_py_buffer_end(mcds_py_buffer *buffer);
/* Waits until the scan has returned, or for wait_ms. Does not wait after fork. */
bool mcds_py_buffer_join(mcds_py_buffer *buffer, uint32_t wait_ms);
/* Ends the scan at its next record, because nobody reads the buffer. Another thread may run the scan.
 * Does nothing after fork. */
void mcds_py_buffer_stop(mcds_py_buffer *buffer);

/* The context of each is an mcds_py_buffer. */
bool mcds_py_collect_set(void *context, mcds_bytes element, uint64_t count);
bool mcds_py_collect_table(void *context, mcds_bytes key, mcds_bytes value);
bool mcds_py_collect_value(void *context, mcds_bytes value);
bool mcds_py_collect_event(void *context, const mcds_log_event *event);
bool mcds_py_collect_holder(void *context, const mcds_semaphore_holder *holder);
bool mcds_py_collect_limit(void *context, mcds_bytes identity, const mcds_limit_value *value);
bool mcds_py_collect_job(void *context, const mcds_queue_entry *entry);
bool mcds_py_collect_listed(void *context, const mcds_listed *listed);
bool mcds_py_collect_finding(void *context, const mcds_finding *finding);

/* Takes at most `most` finished operations, and ends after one that has failed, so that
 * mcds_last_error() is about the last one. For the first it waits about wait_ms, or until a signal comes.
 * Returns how many; the result of the last call of the library is in *result_out. */
size_t mcds_py_drain(mcds_pipeline *pipeline, int wait_ms, mcds_completion *out, size_t most,
                     int *result_out);

/* A fill of fetch. It calls the function of the program, and then adds the value or, after a failure,
 * the sentence: never both, even if a signal handler raises in between. */
int mcds_py_fill(void *context, mcds_bytes key, mcds_fill *out);

/* Runs a pipeline of one operation until it has finished, or for about wait_ms, or until a signal
 * comes. Returns the result of the operation; MCDS_PENDING: it has not finished. */
int mcds_py_run(mcds_pipeline *pipeline, int wait_ms);

#endif
