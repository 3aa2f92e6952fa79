/* Keys noted in a buffer under a lock, to be visited without it. */
#ifndef MCDS_STORE_MEMORY_NOTED_H
#define MCDS_STORE_MEMORY_NOTED_H

#include <assert.h>

#include "base/buffer.h"

/* The keys of one stripe, each after its length, so that they are visited without the lock. */
static inline bool mcds__note_key(void *context, mcds_bytes key)
{
    assert(key.length > 0 && key.length <= UINT8_MAX);
    mcds_buffer *noted = context;
    uint8_t length = (uint8_t)key.length;
    return mcds_buffer_append(noted, &length, 1) &&
           mcds_buffer_append(noted, key.data, key.length);
}

static inline bool mcds__visit_noted(const mcds_buffer *noted,
                                     bool (*visit)(void *context, mcds_bytes key),
                                     void *context)
{
    for (size_t at = 0; at < noted->length; at += 1u + noted->data[at])
        if (!visit(context, (mcds_bytes){noted->data + at + 1, noted->data[at]}))
            return false;
    return true;
}

#endif
