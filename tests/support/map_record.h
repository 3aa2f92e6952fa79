/* Write and read whole records of a map's bucket. */
#ifndef MCDS_TESTS_SUPPORT_MAP_RECORD_H
#define MCDS_TESTS_SUPPORT_MAP_RECORD_H

#include <stdlib.h>

#include "base/buffer.h"
#include "core/map/bucket/decode.h"

/* Append the record to the value of this key. False: no memory. */
static inline bool map_record_put(mcds_buffer *value, mcds_bytes key,
                                  const struct mcds__map_record *record)
{
    mcds_buffer one = *value;
    mcds_bytes element;
    one.data = NULL;
    one.length = one.capacity = 0;
    bool is_put = mcds__map_write_record(&one, record, &element);
    if (is_put) {
        mcds__map_readdress(&one, key);
        is_put = mcds_buffer_append(value, one.data, one.length);
    }
    mcds__buffer_free(&one);
    return is_put;
}

/* Reads the record at *at and moves *at past it. MCDS_OK; MCDS_CORRUPT: no more, or bytes that
 * are not a record; MCDS_UNSUPPORTED: a record of a newer version. */
static inline int map_record_next(mcds_bytes value, uint32_t key_sum, size_t *at,
                                  struct mcds__map_record *record_out)
{
    size_t next = *at;
    size_t in_body;
    mcds_bytes body;
    if (!mcds__map_next_body(value, key_sum, &next, &body))
        return MCDS_CORRUPT;
    if (mcds__map_is_newer(body))
        return MCDS_UNSUPPORTED;
    if (!mcds__map_begin_record(body, &in_body, record_out) ||
        !mcds__map_end_record(body, in_body, record_out))
        return MCDS_CORRUPT;
    *at = next;
    return MCDS_OK;
}

#endif
