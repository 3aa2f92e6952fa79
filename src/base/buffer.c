/* Growing bytes with a ceiling; may start in storage of the caller's. */
#include "base/buffer.h"

#include <string.h>

#include "base/environment.h"

#define ROOM_MIN 256

void mcds__buffer_init(mcds_buffer *buffer, const mcds_env *env, size_t room_max)
{
    mcds__buffer_init_in(buffer, env, room_max, NULL, 0);
}

void mcds__buffer_free(mcds_buffer *buffer)
{
    if (!buffer->borrowed)
        mcds__free(buffer->env, buffer->at);
    mcds__buffer_init(buffer, buffer->env, buffer->room_max);
}

bool mcds__buffer_grow(mcds_buffer *buffer, size_t more)
{
    if (more > buffer->room_max || buffer->length > buffer->room_max - more)
        return false;
    size_t wanted = buffer->length + more;
    size_t room = buffer->room < ROOM_MIN ? ROOM_MIN : buffer->room;
    while (room < wanted)
        room = room > buffer->room_max / 2 ? buffer->room_max : room * 2;
    uint8_t *moved = buffer->env->reallocate(buffer->env->self,
                                             buffer->borrowed ? NULL : buffer->at, room);
    if (moved == NULL)
        return false;
    if (buffer->borrowed && buffer->length > 0)
        memcpy(moved, buffer->at, buffer->length);
    buffer->at = moved;
    buffer->room = room;
    buffer->borrowed = false;
    return true;
}

bool mcds_buffer_append(mcds_buffer *buffer, const void *bytes, size_t length)
{
    if (!mcds__buffer_reserve(buffer, length))
        return false;
    if (length > 0)
        memcpy(buffer->at + buffer->length, bytes, length);
    buffer->length += length;
    return true;
}

void mcds__buffer_consume(mcds_buffer *buffer, size_t length)
{
    if (length < buffer->length)
        memmove(buffer->at, buffer->at + length, buffer->length - length);
    buffer->length -= length;
}
