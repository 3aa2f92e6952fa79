/* A byte buffer that grows up to a limit. It may start in storage of the caller. */
#include "base/buffer.h"

#include <assert.h>
#include <string.h>

#include "base/environment.h"

#define ROOM_MIN 256

void mcds__buffer_free(mcds_buffer *buffer)
{
    assert(buffer->length <= buffer->capacity || buffer->data == NULL);
    if (!buffer->borrowed)
        mcds__free(buffer->env, buffer->data);
    mcds__buffer_init_in(buffer, buffer->env, buffer->capacity_max, NULL, 0);
}

bool mcds__buffer_grow(mcds_buffer *buffer, size_t more)
{
    assert(buffer->length <= buffer->capacity);
    if (more > buffer->capacity_max || buffer->length > buffer->capacity_max - more)
        return false;
    size_t wanted = buffer->length + more;
    size_t capacity = buffer->capacity < ROOM_MIN ? ROOM_MIN : buffer->capacity;
    while (capacity < wanted)
        capacity = capacity > buffer->capacity_max / 2 ? buffer->capacity_max : capacity * 2;
    assert(capacity >= wanted);
    uint8_t *moved = buffer->env->reallocate(buffer->env->self,
                                             buffer->borrowed ? NULL : buffer->data, capacity);
    if (moved == NULL)
        return false;
    if (buffer->borrowed && buffer->length > 0)
        memcpy(moved, buffer->data, buffer->length);
    buffer->data = moved;
    buffer->capacity = capacity;
    buffer->borrowed = false;
    return true;
}

bool mcds_buffer_append(mcds_buffer *buffer, const void *bytes, size_t length)
{
    if (buffer == NULL || (bytes == NULL && length > 0) ||
        !mcds__buffer_reserve(buffer, length))
        return false;
    assert(length <= buffer->capacity - buffer->length);
    if (length > 0)
        memcpy(buffer->data + buffer->length, bytes, length);
    buffer->length += length;
    return true;
}

void mcds__buffer_consume(mcds_buffer *buffer, size_t length)
{
    assert(length <= buffer->length);
    if (length < buffer->length)
        memmove(buffer->data, buffer->data + length, buffer->length - length);
    buffer->length -= length;
}
