/* Segment: decide whether a record counts, if an earlier segment may contain a copy of it. That
 * segment is closed and then read. If it does not contain the record then, it never will. */
#include <assert.h>

#include "base/buffer.h"
#include "core/segment/append.h"

static enum mcds__step look_into(struct mcds__segment_append *append,
                                 struct mcds__operation *operation, bool closes, size_t size)
{
    assert(append->doubt);
    struct mcds__segment_scratch *scratch = mcds__segment_get_scratch(&append->scratch,
                                                                      operation->env);
    if (scratch == NULL)
        return mcds__operation_explain(operation, MCDS_NO_MEMORY, NULL);
    uint32_t count = 0;
    mcds__segment_fill_get(append->segments, append->stream, scratch, count++, append->doubted,
                           MCDS_NO_VALUE);
    if (closes)
        mcds__segment_fill_close(append->segments, append->stream, scratch, count++,
                                 append->doubted, size);
    mcds__segment_fill_get(append->segments, append->stream, scratch, count++, append->doubted,
                           0);
    append->stage = APPEND_RESOLVING;
    return mcds__operation_ask_repeatable(operation, scratch->requests, count);
}

/* The first segment in which a copy may be is open: it must be closed before it is read. */
static enum mcds__step take_open_resolution(struct mcds__segment_append *append,
                                            struct mcds__operation *operation, size_t size)
{
    assert(!append->is_refused && size <= MCDS__SEGMENT_LIMIT);
    const mcds_request *requests = append->scratch->requests;
    if (requests[1].command != MCDS_APPEND)
        return look_into(append, operation, true, size);
    if (mcds__segment_append_has_no_room(&requests[0].reply, &requests[1].reply,
                                         &requests[2].reply))
        return mcds__segment_append_fail_for_scratch(append, operation, &requests[1].reply);
    return mcds__segment_append_try_later(append, operation, APPEND_RESOLVE,
                                          &requests[1].reply);
}

/* The store has refused the records. The segment that may have some of them has been read. */
static enum mcds__step take_refused(struct mcds__segment_append *append, bool is_closed,
                                    bool holds_some)
{
    assert(append->is_refused && append->doubt);
    if (is_closed && !holds_some && append->doubted == append->doubted_last)
        append->doubt = false;
    else if (is_closed && !holds_some)
        append->doubted++;
    else
        append->is_partly_in = true; /* as far as is known */
    return mcds__segment_append_go(append, APPEND_REFUSED);
}

/* The first segment in which a copy may be has been read. */
enum mcds__step mcds__segment_append_take_resolution(struct mcds__segment_append *append,
                                                     struct mcds__operation *operation)
{
    assert(operation->batch.count == 2 || operation->batch.count == 3);
    const mcds_request *read = &append->scratch->requests[operation->batch.count - 1];
    if (read->reply.outcome != MCDS_OUT_OK && read->reply.outcome != MCDS_OUT_MISS)
        return mcds__segment_append_try_later(append, operation, APPEND_RESOLVE, &read->reply);
    size_t length = append->records.length;
    assert(append->doubt && length > 0);
    bool is_closed = false;
    if (read->reply.outcome == MCDS_OUT_OK) {
        mcds_bytes value = mcds__operation_value(operation, read);
        is_closed = mcds__segment_is_closed(value.length, read->reply.flags);
        if (!is_closed && !append->is_refused)
            return take_open_resolution(append, operation, value.length);
        while (append->records.length > 0 &&
               mcds__segment_holds(read->key, value, append->records.data))
            mcds__buffer_consume(&append->records, mcds__segment_length(append->records.data));
        if (append->records.length == 0) {
            /* A segment that was refused may not exist; those below it do. */
            if (append->is_refused && append->count > append->segment)
                append->count = append->segment;
            assert(append->segment >= append->doubted);
            append->segment = append->doubted;
            append->is_in = true;
            append->is_refused = false;
            return mcds__segment_append_go(append, APPEND_SETTLE);
        }
    }
    if (append->is_refused)
        return take_refused(append, is_closed, append->records.length < length);
    append->doubted++;
    return mcds__segment_append_go(append, APPEND_BEGIN);
}

enum mcds__step mcds__segment_append_resolve(struct mcds__segment_append *append,
                                             struct mcds__operation *operation)
{
    return look_into(append, operation, false, 0);
}
