/* Segment: decides whether an open segment is the last one of a stream, or was lost and made again. */
#include <assert.h>

#include "core/segment/read.h"

bool mcds__segment_is_disowned(const struct mcds__segment_read *read, uint32_t i)
{
    struct mcds__segment_scan scan;
    struct mcds__segment_record record;
    assert(i < read->near);
    if (i + 1 == read->near)
        return false;
    const mcds_request *next = mcds__segment_read_request(read, i + 1);
    if (next->reply.outcome != MCDS_OUT_OK)
        return false;
    mcds__segment_scan_begin(&scan, next->key, mcds__segment_read_value(read, i + 1));
    return mcds__segment_scan_next(&scan, &record) &&
           (record.flags & MCDS__SEGMENT_HEADER) != 0 && record.before != 0 &&
           record.before != mcds__segment_read_request(read, i)->reply.flags;
}

bool mcds__segment_has_distant(const struct mcds__segment_read *read, uint32_t i)
{
    uint64_t from = read->from - read->back + i + MCDS__SEGMENT_AHEAD;
    if (read->known > from + 1)
        return true;
    for (uint32_t k = read->head; k < read->base + read->near; k++)
        if (read->scratch->positions[k] > from &&
            read->scratch->requests[k].reply.outcome == MCDS_OUT_OK)
            return true;
    return false;
}

bool mcds__segment_is_before_lost(const struct mcds__segment_read *read, uint32_t i)
{
    uint64_t next = read->from - read->back + i + 1;
    bool was_made = read->known > next;
    bool is_missing = false;
    for (uint32_t k = read->head; k < read->base + read->near; k++) {
        bool exists_there = read->scratch->requests[k].reply.outcome == MCDS_OUT_OK;
        is_missing = is_missing || (read->scratch->positions[k] == next && !exists_there);
        was_made = was_made || (read->scratch->positions[k] > next && exists_there);
    }
    return is_missing && was_made;
}

bool mcds__segment_is_before_unread(const struct mcds__segment_read *read, uint32_t i)
{
    const mcds_reply *reply = &mcds__segment_read_request(read, i)->reply;
    const mcds_reply *next = &read->scratch->requests[read->head].reply;
    assert(read->base > read->head &&
           read->scratch->positions[read->head] == read->from + read->want);
    return !read->stays && i > read->back && i + 1 == read->near &&
           next->outcome == MCDS_OUT_OK && next->flags != MCDS__SEGMENT_END &&
           !mcds__segment_is_closed(reply->value_length, reply->flags);
}
