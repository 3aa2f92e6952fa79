/* mcds_value: bytes that a call returns to its caller. */
#include "base/value.h"

#include <string.h>

#define ROOM_MIN 64

bool mcds__value_set(mcds_value *value, const mcds_env *env, mcds_bytes bytes)
{
    if (value->data == NULL || value->capacity < bytes.length) {
        size_t capacity = bytes.length > ROOM_MIN ? bytes.length : ROOM_MIN;
        if (value->data == NULL) {
            value->self = env->self;
            value->reallocate = env->reallocate;
        }
        uint8_t *moved = value->reallocate(value->self, value->data, capacity);
        if (moved == NULL)
            return false;
        value->data = moved;
        value->capacity = capacity;
    }
    if (bytes.length > 0)
        memcpy(value->data, bytes.data, bytes.length);
    value->length = bytes.length;
    return true;
}

void mcds_value_free(mcds_value *value)
{
    if (value == NULL || value->data == NULL)
        return;
    (void)value->reallocate(value->self, value->data, 0);
    *value = (mcds_value)MCDS_VALUE_INIT;
}
