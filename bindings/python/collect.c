/* Callbacks in C for the Python binding. */
#include "collect.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CAPACITY_MIN 4096

struct mcds_py_buffer {
    pthread_mutex_t mutex; /* of a waiting buffer */
    pthread_cond_t changed;
    uint8_t *data;
    size_t length;
    size_t capacity;
    size_t most;
    uint64_t records;
    const mcds_log_cursor *cursor; /* of the tail; NULL: no positions are kept */
    pid_t process;
    bool waits;
    bool counts_only;
    bool is_full;
    bool has_failed;
    bool has_ended;
    atomic_bool is_stopped;
};

bool mcds_py_buffer_new(size_t most, bool waits, mcds_py_buffer **out)
{
    mcds_py_buffer *buffer = *out = calloc(1, sizeof *buffer);
    pthread_condattr_t monotonic;
    if (buffer == NULL)
        return false;
    buffer->most = most;
    buffer->waits = waits;
    buffer->process = getpid();
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&buffer->mutex, NULL);
    (void)pthread_cond_init(&buffer->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    return true;
}

void mcds_py_buffer_free(mcds_py_buffer *buffer)
{
    if (buffer == NULL)
        return;
    /* In a child of fork, pthread_cond_destroy would wait for the threads of the parent. */
    if (buffer->process == getpid()) {
        (void)pthread_mutex_destroy(&buffer->mutex);
        (void)pthread_cond_destroy(&buffer->changed);
    }
    free(buffer->data);
    free(buffer);
}

const uint8_t *mcds_py_buffer_data(const mcds_py_buffer *buffer, size_t *length_out)
{
    *length_out = buffer->length;
    return buffer->data;
}

uint64_t mcds_py_buffer_records(const mcds_py_buffer *buffer)
{
    return buffer->records;
}

bool mcds_py_buffer_is_full(const mcds_py_buffer *buffer)
{
    return buffer->is_full;
}

bool mcds_py_buffer_has_failed(const mcds_py_buffer *buffer)
{
    return buffer->has_failed;
}

void mcds_py_buffer_count_only(mcds_py_buffer *buffer)
{
    buffer->counts_only = true;
}

void mcds_py_buffer_keep_positions(mcds_py_buffer *buffer, const mcds_log_cursor *cursor)
{
    buffer->cursor = cursor;
}

static bool reserve(mcds_py_buffer *buffer, size_t more)
{
    if (more > SIZE_MAX / 2 - buffer->length)
        return false;
    size_t needed = buffer->length + more;
    size_t capacity = buffer->capacity > 0 ? buffer->capacity : CAPACITY_MIN;
    if (needed <= buffer->capacity)
        return true;
    while (capacity < needed)
        capacity *= 2;
    uint8_t *data = realloc(buffer->data, capacity);
    if (data == NULL)
        return false;
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

static bool append(mcds_py_buffer *buffer, const mcds_py_record *record, mcds_bytes key,
                   mcds_bytes value)
{
    size_t length = key.length <= SIZE_MAX / 4 && value.length <= SIZE_MAX / 4
                        ? sizeof *record + key.length + value.length
                        : SIZE_MAX;
    if (length == SIZE_MAX || !reserve(buffer, length)) {
        buffer->has_failed = true;
        return false;
    }
    uint8_t *to = buffer->data + buffer->length;
    memcpy(to, record, sizeof *record);
    if (key.length > 0)
        memcpy(to + sizeof *record, key.data, key.length);
    if (value.length > 0)
        memcpy(to + sizeof *record + key.length, value.data, value.length);
    buffer->length += length;
    return true;
}

static bool put_now(mcds_py_buffer *buffer, const mcds_py_record *record, mcds_bytes key,
                    mcds_bytes value)
{
    buffer->records++;
    return buffer->counts_only || append(buffer, record, key, value);
}

/* The record with which a scan is told to end has been visited: a cursor moves past it. */
static bool put(mcds_py_buffer *buffer, int64_t first, int64_t second, mcds_bytes key,
                mcds_bytes value)
{
    mcds_py_record record = {first, second, key.length, value.length};
    if (!buffer->waits) {
        bool goes_on = put_now(buffer, &record, key, value);
        buffer->is_full = buffer->length >= buffer->most;
        return goes_on && !buffer->is_full && !buffer->is_stopped;
    }
    (void)pthread_mutex_lock(&buffer->mutex);
    while (buffer->length >= buffer->most && !buffer->is_stopped)
        (void)pthread_cond_wait(&buffer->changed, &buffer->mutex);
    bool goes_on = !buffer->is_stopped && put_now(buffer, &record, key, value);
    if (buffer->length >= buffer->most / 2)
        (void)pthread_cond_broadcast(&buffer->changed);
    (void)pthread_mutex_unlock(&buffer->mutex);
    return goes_on;
}

static struct timespec after_ms(uint32_t wait_ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait_ms / 1000;
    until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return until;
}

static void exchange(mcds_py_buffer *buffer, mcds_py_buffer *out)
{
    uint8_t *data = out->data;
    size_t capacity = out->capacity;
    out->data = buffer->data;
    out->capacity = buffer->capacity;
    out->length = buffer->length;
    buffer->data = data;
    buffer->capacity = capacity;
    buffer->length = 0;
}

bool mcds_py_buffer_take(mcds_py_buffer *buffer, mcds_py_buffer *out, uint32_t wait_ms)
{
    struct timespec until = after_ms(wait_ms);
    int late = 0;
    (void)pthread_mutex_lock(&buffer->mutex);
    while (buffer->length < buffer->most / 2 && !buffer->has_ended && late == 0)
        late = pthread_cond_timedwait(&buffer->changed, &buffer->mutex, &until);
    exchange(buffer, out);
    bool goes_on = !buffer->has_ended || out->length > 0;
    (void)pthread_cond_broadcast(&buffer->changed);
    (void)pthread_mutex_unlock(&buffer->mutex);
    return goes_on;
}

void mcds_py_buffer_end(mcds_py_buffer *buffer)
{
    (void)pthread_mutex_lock(&buffer->mutex);
    buffer->has_ended = true;
    (void)pthread_cond_broadcast(&buffer->changed);
    (void)pthread_mutex_unlock(&buffer->mutex);
}

bool mcds_py_buffer_join(mcds_py_buffer *buffer, uint32_t wait_ms)
{
    struct timespec until = after_ms(wait_ms);
    int late = 0;
    if (buffer->process != getpid())
        return true;
    (void)pthread_mutex_lock(&buffer->mutex);
    while (!buffer->has_ended && late == 0)
        late = pthread_cond_timedwait(&buffer->changed, &buffer->mutex, &until);
    bool has_ended = buffer->has_ended;
    (void)pthread_mutex_unlock(&buffer->mutex);
    return has_ended;
}

void mcds_py_buffer_stop(mcds_py_buffer *buffer)
{
    if (buffer->process != getpid())
        return;
    (void)pthread_mutex_lock(&buffer->mutex);
    buffer->is_stopped = true;
    (void)pthread_cond_broadcast(&buffer->changed);
    (void)pthread_mutex_unlock(&buffer->mutex);
}

bool mcds_py_collect_set(void *context, mcds_bytes element, uint64_t count)
{
    return put(context, (int64_t)count, 0, (mcds_bytes){NULL, 0}, element);
}

bool mcds_py_collect_table(void *context, mcds_bytes key, mcds_bytes value)
{
    return put(context, 0, 0, key, value);
}

bool mcds_py_collect_value(void *context, mcds_bytes value)
{
    return put(context, 0, 0, (mcds_bytes){NULL, 0}, value);
}

bool mcds_py_collect_event(void *context, const mcds_log_event *event)
{
    const mcds_log_cursor *cursor = ((const mcds_py_buffer *)context)->cursor;
    mcds_bytes position = {cursor, cursor != NULL ? sizeof *cursor : 0};
    return put(context, event->when_ms, event->filed_ms, position, event->event);
}

bool mcds_py_collect_holder(void *context, const mcds_semaphore_holder *holder)
{
    return put(context, 0, 0, (mcds_bytes){NULL, 0}, (mcds_bytes){holder, sizeof *holder});
}

bool mcds_py_collect_limit(void *context, mcds_bytes identity, const mcds_limit_value *value)
{
    return put(context, 0, 0, identity, (mcds_bytes){value, sizeof *value});
}

/* The state and the tries share a number. */
bool mcds_py_collect_job(void *context, const mcds_queue_entry *entry)
{
    return put(context, (int64_t)((uint64_t)entry->state << 32 | entry->tries),
               (int64_t)entry->ms, entry->id, entry->job);
}

bool mcds_py_collect_listed(void *context, const mcds_listed *listed)
{
    return put(context, 0, 0, mcds_text(listed->noun), mcds_text(listed->name));
}

/* Two records: the fix has no other place. */
bool mcds_py_collect_finding(void *context, const mcds_finding *finding)
{
    return put(context, finding->severity, 0, mcds_text(finding->subject),
               mcds_text(finding->what)) &&
           put(context, 0, 0, (mcds_bytes){NULL, 0}, mcds_text(finding->fix));
}

/* In Python. What it puts into value_out or said_out stays there until fetch has returned. */
int mcds_py_source(void *context, mcds_bytes key, mcds_bytes *value_out, mcds_bytes *said_out);

int mcds_py_fill(void *context, mcds_bytes key, mcds_fill *out)
{
    mcds_bytes value = mcds_text("");
    mcds_bytes said = mcds_text("");
    int result = mcds_py_source(context, key, &value, &said);
    int added = mcds_fill_add(out, result == MCDS_OK ? value : said);
    return result == MCDS_OK ? added : result;
}

static int64_t now_ms(void)
{
    const mcds_env *env = mcds_env_system();
    return env->monotonic_ns(env->self) / 1000000;
}

/* Waits for the next finished operation for about wait_ms, or until a signal comes. */
static int next_within(mcds_pipeline *pipeline, int wait_ms, mcds_completion *done)
{
    int result = mcds_pipeline_poll(pipeline, done);
    if (result != MCDS_PENDING || wait_ms == 0)
        return result;
    int64_t until_ms = now_ms() + wait_ms;
    for (;;) {
        mcds_wait wait = MCDS_WAIT_INIT;
        int64_t left_ms = until_ms - now_ms();
        if (left_ms <= 0)
            return MCDS_PENDING;
        mcds_pipeline_prepare(pipeline, &wait);
        if (wait.timeout_ms >= 0 && wait.timeout_ms < left_ms)
            left_ms = wait.timeout_ms;
        struct pollfd file = {wait.fd, POLLIN, 0};
        if (poll(&file, wait.fd >= 0, (int)left_ms) < 0)
            return MCDS_PENDING; /* a signal */
        result = mcds_pipeline_poll(pipeline, done);
        if (result != MCDS_PENDING)
            return result;
    }
}

size_t mcds_py_drain(mcds_pipeline *pipeline, int wait_ms, mcds_completion *out, size_t most,
                     int *result_out)
{
    size_t count = 0;
    *result_out = MCDS_OK;
    while (count < most && *result_out == MCDS_OK) {
        *result_out = next_within(pipeline, count == 0 ? wait_ms : 0, &out[count]);
        if (*result_out == MCDS_OK && out[count++].result != MCDS_OK)
            break;
    }
    return count;
}

int mcds_py_run(mcds_pipeline *pipeline, int wait_ms)
{
    mcds_completion done;
    int result = next_within(pipeline, wait_ms, &done);
    return result == MCDS_OK ? done.result : result;
}
