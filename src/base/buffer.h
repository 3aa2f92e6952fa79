/* Growing bytes with a ceiling; may start in storage of the caller's. */
#ifndef MCDS_BASE_BUFFER_H
#define MCDS_BASE_BUFFER_H

#include "mcds_store.h"

/* Empty, without storage; grows up to room_max. */
void mcds__buffer_init(mcds_buffer *buffer, const mcds_env *env, size_t room_max);
/* Empty, beginning in `storage`, which must outlive the buffer. */
static inline void mcds__buffer_init_in(mcds_buffer *buffer, const mcds_env *env,
                                        size_t room_max, void *storage, size_t room)
{
    buffer->at = storage;
    buffer->length = 0;
    buffer->room = room;
    buffer->room_max = room_max;
    buffer->env = env;
    buffer->borrowed = true;
}
void mcds__buffer_free(mcds_buffer *buffer);
/* Make room for `more` bytes behind the end; false as for mcds_buffer_append. */
bool mcds__buffer_grow(mcds_buffer *buffer, size_t more);
static inline bool mcds__buffer_reserve(mcds_buffer *buffer, size_t more)
{
    return more <= buffer->room - buffer->length || mcds__buffer_grow(buffer, more);
}
/* Drop the first `length` bytes. */
void mcds__buffer_consume(mcds_buffer *buffer, size_t length);

#endif
