/* Bytes: comparing two strings of them, and a buffer that grows up to a limit. It may start in storage of
 * the caller. */
#ifndef MCDS_BASE_BUFFER_H
#define MCDS_BASE_BUFFER_H

#include <string.h>

#include "mcds/backend.h"

/* Whether both are the same bytes. Those of length 0 may be NULL, which memcmp does not allow. */
static inline bool mcds__bytes_same(mcds_bytes left, mcds_bytes right)
{
    return left.length == right.length && (left.data == right.data || left.length == 0 ||
                                           memcmp(left.data, right.data, left.length) == 0);
}

/* The limit of a buffer for values and records, which also bounds the memory that a foreign value can
 * take: more than the value_max of any store. */
#define MCDS__VALUES_MAX ((size_t)1 << 27)

/* Empty; it grows up to capacity_max. Its first storage is `storage`, which must outlive the
 * buffer, or NULL. */
static inline void mcds__buffer_init_in(mcds_buffer *buffer, const mcds_env *env,
                                        size_t capacity_max, void *storage, size_t capacity)
{
    buffer->data = storage;
    buffer->length = 0;
    buffer->capacity = capacity;
    buffer->capacity_max = capacity_max;
    buffer->env = env;
    buffer->borrowed = true;
}
static inline void mcds__buffer_init(mcds_buffer *buffer, const mcds_env *env,
                                     size_t capacity_max)
{
    mcds__buffer_init_in(buffer, env, capacity_max, NULL, 0);
}
void mcds__buffer_free(mcds_buffer *buffer);
/* Make room for `more` bytes after the end; false as for mcds_buffer_append. */
bool mcds__buffer_grow(mcds_buffer *buffer, size_t more);
static inline bool mcds__buffer_reserve(mcds_buffer *buffer, size_t more)
{
    return more <= buffer->capacity - buffer->length || mcds__buffer_grow(buffer, more);
}
/* Drop the first `length` bytes. */
void mcds__buffer_consume(mcds_buffer *buffer, size_t length);

#endif
