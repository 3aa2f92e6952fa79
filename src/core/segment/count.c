/* Segment: the count of the segments that were made in a stream, and the search for the segments
 * that remain after a loss.
 *
 * The count shows a loss of the last segment. A client that appends to segment p > 0 writes the
 * count p + 1, in this order:
 *
 *   get the count | add segment p | append the record | get it | get the count | write p + 1 |
 *   get segment p + 1
 *
 * as one ordered batch, of which a prefix is executed. Once a handle has written the count, it
 * only reads it with each later record in segment p, once in a round of a pipeline. Where the
 * store has lost the count, the handle writes it again. A handle acknowledges a record only after
 * it has read or written the count. So
 *
 *   - cut before the count: segment p exists, and this handle has acknowledged nothing in it. The
 *     next client that appends to it writes the count first.
 *   - cut after the count: segment p exists. If it is lost later, that is noticed.
 *   - the store refuses the segment but not the count: the writer takes the count back before it
 *     fails. If it dies in between, readers report the loss of a segment that never existed. If its
 *     records are then found in a lower segment, the count includes that one and not the refused one.
 *   - the count is larger, because another writer has made segment p + 1, or later ones: it stays,
 *     because it is written by cas with the token that the handle has read before, or by add. A store
 *     without cas sets it, and the writer then sets the larger count again.
 *   - the count was lost: the last get shows segment p + 1, if another writer has made it.
 *   - segment p was made and lost after this handle had read the count: the first get shows a count of
 *     more than p, and the add succeeds. The record says that segments are lost.
 *   - the store refuses the count: a full store refuses new items and evicts nothing. */
#include <assert.h>

#include "base/buffer.h"
#include "base/number.h"
#include "core/segment/append.h"

/* After this many later segments of other writers, the others write the count. */
#define COUNTS_MAX 8
/* Replies of other writers' counts in a row; after these an attempt waits. */
#define COUNTINGS_MAX 32

void mcds__segment_fill_count(const struct mcds__segments *segments, uint64_t stream,
                              struct mcds__segment_scratch *scratch, uint32_t i)
{
    scratch->positions[i] = 0;
    mcds_bytes route = mcds__segment_count_key(segments, stream, &scratch->keys[i]);
    scratch->requests[i] = (mcds_request){
        .command = MCDS_GET, .key = mcds__key_bytes(&scratch->keys[i]), .route = route};
}

uint64_t mcds__segment_count_of(const mcds_reply *reply, const mcds_buffer *values)
{
    uint64_t count = 0;
    if (reply->outcome != MCDS_OUT_OK || reply->value_length == 0 ||
        !mcds__parse_stored_u64(values->data + reply->value_at, reply->value_length, &count))
        return 0;
    return count <= MCDS__SEGMENT_COUNT_MAX ? count : 0;
}

void mcds__segment_read_count(struct mcds__segment_append *append, mcds_request *request)
{
    mcds_bytes route = mcds__segment_count_key(append->segments, append->stream,
                                               &append->count_key);
    *request = (mcds_request){
        .command = MCDS_GET,
        .key = mcds__key_bytes(&append->count_key),
        .route = route,
    };
}

/* A count is never replaced by a smaller one, where the store can compare. */
static mcds_command writing_command(const struct mcds__segment_append *append)
{
    if (append->token.connection != 0)
        return MCDS_CAS;
    return mcds__store_can(append->segments->store).compare_and_set ? MCDS_ADD : MCDS_SET;
}

void mcds__segment_write_count(struct mcds__segment_append *append, uint64_t count,
                               mcds_request *requests)
{
    assert(count > 0 && count >= append->segment);
    append->count = count;
    mcds__segment_read_count(append, &requests[0]);
    requests[1] = (mcds_request){
        .command = writing_command(append),
        .ttl_ms = append->ttl_ms,
        .cas = append->token,
        .key = requests[0].key,
        .route = requests[0].route,
        .value = {append->count_text, mcds__format_u64(count, append->count_text)},
    };
    mcds_bytes route = mcds__segment_key(append->segments, append->stream, count,
                                         &append->next_key);
    requests[2] = (mcds_request){
        .command = MCDS_GET,
        .options = MCDS_NO_VALUE,
        .key = mcds__key_bytes(&append->next_key),
        .route = route,
    };
}

/* Whether the count is larger than the one to be written. A refused writer takes its own back. */
static bool is_larger(const struct mcds__segment_append *append, uint64_t count)
{
    bool is_own = append->is_refused && count == append->segment + 1;
    return count >= append->count && !is_own;
}

/* The token of the count; zero: it is missing, or not known. */
static mcds_cas_token token_of(const mcds_reply *read)
{
    return read->outcome == MCDS_OUT_OK ? read->cas : (mcds_cas_token){0, 0};
}

/* Take the replies. True: the count is written, or is larger, or the store has no room. */
static bool segment_count_take_count(struct mcds__segment_append *append,
                                     const mcds_request *requests, const mcds_buffer *values)
{
    assert(requests[0].command == MCDS_GET && requests[2].command == MCDS_GET);
    const mcds_reply *read = &requests[0].reply;
    const mcds_reply *written = &requests[1].reply;
    const mcds_reply *next = &requests[2].reply;
    uint64_t before = mcds__segment_count_of(read, values);
    if (mcds__is_refusal(written))
        return true;
    append->token = written->outcome == MCDS_OUT_OK ? written->cas : token_of(read);
    mcds__segment_note_count(append->segments, append->stream, append->is_refused ? 0 : before,
                             append->token);
    if (is_larger(append, before)) {
        append->count = before;
        return requests[1].command != MCDS_SET || written->outcome != MCDS_OUT_OK;
    }
    if (written->outcome != MCDS_OUT_OK)
        return false;
    if (next->outcome == MCDS_OUT_OK && next->flags != MCDS__SEGMENT_END) {
        append->count++;
        assert(append->counted_later < COUNTS_MAX);
        return ++append->counted_later == COUNTS_MAX;
    }
    return next->outcome == MCDS_OUT_OK || next->outcome == MCDS_OUT_MISS;
}

/* Record that the count includes the segment, as far as the store has room for the count. */
static void note_counted(struct mcds__segment_append *append, const mcds_reply *written)
{
    assert(append->segment > 0);
    append->is_counted = true;
    mcds__segment_note_counted(append->segments, append->stream, append->segment,
                               mcds__is_refusal(written) ? 0 : append->count);
}

/* The count was read and not written. A count that does not include the segment is lost; the
 * record is acknowledged after it is written again. */
static void take_read(struct mcds__segment_append *append, const mcds_reply *read,
                      const mcds_buffer *values)
{
    assert(append->reads);
    uint64_t count = mcds__segment_count_of(read, values);
    if (read->outcome != MCDS_OUT_MISS && read->outcome != MCDS_OUT_OK)
        return;
    append->is_counted = count > append->segment;
    append->token = token_of(read);
    mcds__segment_note_count(append->segments, append->stream, count, append->token);
    if (!append->is_counted)
        mcds__segment_note_uncounted(append->segments, append->stream, count);
}

void mcds__segment_append_take_count(struct mcds__segment_append *append,
                                     const mcds_request *requests, const mcds_buffer *values)
{
    assert(append->counts || append->reads);
    if (!append->counts) {
        take_read(append, &requests[0].reply, values);
        return;
    }
    const mcds_reply *written = &requests[1].reply;
    append->is_early = append->makes &&
                       mcds__is_refusal(&append->requests[append->checks].reply) &&
                       written->outcome == MCDS_OUT_OK;
    if (!append->is_early && segment_count_take_count(append, requests, values))
        note_counted(append, written);
    else
        mcds__segment_note_counted(append->segments, append->stream, append->segment, 0);
}

enum mcds__step mcds__segment_append_count(struct mcds__segment_append *append,
                                           struct mcds__operation *operation)
{
    assert(append->is_in || append->is_refused);
    append->stage = APPEND_COUNTED;
    mcds__segment_write_count(append, append->count, append->requests);
    operation->connection = append->token.connection;
    return mcds__operation_ask_repeatable(operation, append->requests, MCDS__SEGMENT_COUNTING);
}

/* The count may be another than the token says. */
static bool segment_is_answer(const mcds_reply *reply)
{
    return reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS ||
           reply->outcome == MCDS_OUT_EXISTS || reply->outcome == MCDS_OUT_NOT_STORED;
}

enum mcds__step mcds__segment_append_take_counted(struct mcds__segment_append *append,
                                                  struct mcds__operation *operation)
{
    assert(append->stage == APPEND_COUNTED);
    const mcds_request *requests = append->requests;
    const mcds_reply *trouble = NULL;
    bool is_written = segment_count_take_count(append, requests, operation->batch.values);
    for (uint32_t i = 1; i < MCDS__SEGMENT_COUNTING && !is_written && trouble == NULL; i++)
        if (!segment_is_answer(&requests[i].reply) || ++append->counting == COUNTINGS_MAX)
            trouble = &requests[i].reply;
    if (!is_written && trouble == NULL)
        return mcds__segment_append_count(append, operation);
    if (append->is_refused)
        return mcds__segment_append_go(append, APPEND_REFUSED);
    if (trouble != NULL)
        return mcds__segment_append_try_later(append, operation, APPEND_COUNT, trouble);
    note_counted(append, &requests[1].reply);
    return mcds__segment_append_go(append, APPEND_SETTLE);
}

static enum mcds__step segment_count_ask(struct mcds__segment_find *find,
                                         const struct mcds__segments *segments,
                                         struct mcds__segment_scratch *scratch,
                                         struct mcds__operation *operation)
{
    assert(find->low < find->high);
    uint64_t stride = (find->high - find->low - 1) / MCDS__SEGMENT_CAPACITY + 1;
    find->count = 0;
    /* From the end, where segments are most likely left. */
    for (uint64_t at = find->high - find->low; at > 0; at = at > stride ? at - stride : 0)
        mcds__segment_fill_get(segments, find->stream, scratch, find->count++,
                               find->low + at - 1, MCDS_NO_VALUE);
    assert(find->count > 0 && find->count <= MCDS__SEGMENT_CAPACITY);
    return mcds__operation_ask_repeatable(operation, scratch->requests, find->count);
}

/* First ask at doubling distances from both ends. */
static enum mcds__step segment_count_ask_first(struct mcds__segment_find *find,
                                               const struct mcds__segments *segments,
                                               struct mcds__segment_scratch *scratch,
                                               struct mcds__operation *operation)
{
    assert(!find->is_asked && find->low < find->high);
    uint64_t half = (find->high - find->low) / 2;
    uint64_t distance = 1;
    find->count = 0;
    for (; distance <= find->high - find->low - half; distance *= 2)
        mcds__segment_fill_get(segments, find->stream, scratch, find->count++,
                               find->high - distance, MCDS_NO_VALUE);
    for (; distance > 0; distance /= 2)
        if (distance <= half)
            mcds__segment_fill_get(segments, find->stream, scratch, find->count++,
                                   find->low + distance - 1, MCDS_NO_VALUE);
    find->is_asked = true;
    return mcds__operation_ask_repeatable(operation, scratch->requests, find->count);
}

/* The requests are in falling order. The next ones are between the segment that was found and
 * its neighbour, which is missing. */
static void segment_count_take(struct mcds__segment_find *find,
                               const struct mcds__segment_scratch *scratch)
{
    assert(find->is_asked && find->count > 0);
    uint32_t at = find->count;
    for (uint32_t i = 0; i < find->count; i++) {
        if (scratch->requests[i].reply.outcome != MCDS_OUT_OK)
            continue;
        at = i;
        if (find->down)
            break;
    }
    if (at == find->count) {
        find->low = find->high;
        return;
    }
    assert(at < find->count);
    find->found = true;
    find->segment = scratch->positions[at];
    if (find->down) {
        find->low = find->segment + 1;
        find->high = at > 0 ? scratch->positions[at - 1] : find->high;
    } else {
        find->high = find->segment;
        find->low = at + 1 < find->count ? scratch->positions[at + 1] + 1 : find->low;
    }
}

enum mcds__step mcds__segment_find_step(struct mcds__segment_find *find,
                                        const struct mcds__segments *segments,
                                        struct mcds__segment_scratch *scratch,
                                        struct mcds__operation *operation)
{
    if (!find->is_asked && find->low < find->high)
        return segment_count_ask_first(find, segments, scratch, operation);
    if (find->is_asked) {
        const mcds_reply *trouble = mcds__first_trouble(scratch->requests, find->count);
        if (trouble != NULL) {
            find->is_asked = false;
            return mcds__operation_retry(operation, trouble);
        }
        segment_count_take(find, scratch);
    }
    assert(!find->found ||
           (find->down ? find->segment < find->low : find->segment >= find->high));
    if (find->low < find->high)
        return segment_count_ask(find, segments, scratch, operation);
    return mcds__operation_finish(operation, MCDS_OK);
}
