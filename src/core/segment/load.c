/* Segment: builds the requests that append records. */
#include <assert.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/segment/append.h"

#define RECORDS_MAX ((size_t)1 << 20)
#define LARGE_MAX ((size_t)MCDS__SEGMENT_LARGE_MAX * 2)
/* Bytes of records that share a batch: much less than a segment, to fill segments well. */
#define BATCH_LENGTH 4096

void mcds__segment_append_begin(struct mcds__segment_append *append,
                                struct mcds__segments *segments, uint64_t stream,
                                uint64_t ttl_ms)
{
    append->segments = segments;
    append->stream = stream;
    append->ttl_ms = ttl_ms;
    append->locate = (struct mcds__segment_locate){.stream = stream};
    append->scratch = NULL;
    mcds__buffer_init_in(&append->records, segments->env, RECORDS_MAX, append->records_scratch,
                         sizeof append->records_scratch);
    append->had_segments = false;
    mcds__buffer_init(&append->large, segments->env, LARGE_MAX);
    mcds__segment_append_again(append);
}

void mcds__segment_append_again(struct mcds__segment_append *append)
{
    append->ended = append->counts = append->reads = append->checks = false;
    append->is_counted = append->is_settled = false;
    append->is_refused = append->is_early = append->is_partly_in = false;
    append->stage = 0;
    append->doubt = false;
    append->tells_loss = false;
    append->remade = 0;
    append->under_way = false;
    append->has_asked = append->has_sent = append->is_alone = false;
    append->walked = 0;
    append->makings = 0;
    append->refusals = 0;
    append->is_in = append->is_past = append->has_passed = false;
    append->looks = append->proves = false;
    append->truth = MCDS__SEGMENT_UNPROVED;
    append->round = 0;
    append->block = append->block_count = 0;
    append->records.length = 0;
    append->large.length = 0;
    append->locate.stage = 0;
}

void mcds__segment_append_free(struct mcds__segment_append *append)
{
    if (append->under_way)
        mcds__segment_give_place(append->segments, append->stream, append->segment,
                                 append->length);
    append->under_way = false;
    mcds__free(append->segments->env, append->scratch);
    mcds__free(append->segments->env, append->locate.scratch);
    append->scratch = append->locate.scratch = NULL;
    mcds__buffer_free(&append->records);
    mcds__buffer_free(&append->large);
}

/* Create the segment, or read whether it exists. */
static mcds_request segment_load_lead(struct mcds__segment_append *append,
                                      const struct mcds__segment_place *place, mcds_bytes key,
                                      mcds_bytes route)
{
    if (!place->makes)
        return (mcds_request){
            .command = MCDS_GET, .options = MCDS_NO_VALUE, .key = key, .route = route};
    return (mcds_request){
        .command = MCDS_ADD,
        .flags = place->incarnation,
        .ttl_ms = append->ttl_ms,
        .key = key,
        .route = route,
        .value = {append->opening,
                  mcds__segment_put_opening(append->opening, key, place->before)},
    };
}

/* Reads whether the segment after it exists. */
static mcds_request segment_load_next(struct mcds__segment_append *append)
{
    mcds_bytes route = mcds__segment_key(append->segments, append->stream, append->segment + 1,
                                         &append->next_key);
    return (mcds_request){.command = MCDS_GET,
                          .options = MCDS_NO_VALUE,
                          .key = mcds__key_bytes(&append->next_key),
                          .route = route};
}

/* Whether the records note a loss, and how far back their first copy may be. */
static uint8_t segment_load_flags(const struct mcds__segment_append *append, uint64_t segment)
{
    uint8_t flags = append->tells_loss ? MCDS__SEGMENT_LOSS : 0;
    if (append->doubt && segment > append->doubted + MCDS__SEGMENT_DISTANCE_MAX)
        flags |= MCDS__SEGMENT_DISTANCE_MAX;
    else if (append->doubt && segment > append->doubted)
        flags |= (uint8_t)(segment - append->doubted);
    assert((flags & ~(MCDS__SEGMENT_DISTANCE | MCDS__SEGMENT_LOSS)) == 0);
    return flags;
}

uint32_t mcds__segment_append_fill(struct mcds__segment_append *append,
                                   const struct mcds__segment_place *place,
                                   const struct mcds__operation *operation)
{
    uint32_t count = 0;
    mcds_bytes key = mcds__key_bytes(&append->key);
    mcds_bytes route = {key.data, place->route_length};
    mcds__segment_address(append->records.data, append->records.length, place->key_sum,
                          segment_load_flags(append, place->segment));
    append->segment = place->segment;
    append->makes = place->makes;
    append->checks = place->makes;
    append->leads = place->makes || append->refusals > 0;
    append->counts = place->counts;
    append->reads = place->reads;
    append->count = append->segment + 1;
    append->token = place->token;
    append->counted_later = append->counting = 0;
    append->is_counted = append->is_settled = false;
    if (append->checks)
        mcds__segment_read_count(append, &append->requests[count++]);
    if (append->leads)
        append->requests[count++] = segment_load_lead(append, place, key, route);
    append->requests[count++] = (mcds_request){
        .command = MCDS_APPEND,
        .key = key,
        .route = route,
        .value = {append->records.data, append->records.length},
    };
    append->requests[count++] = (mcds_request){
        .command = MCDS_GET, .options = MCDS_NO_VALUE, .key = key, .route = route};
    if (append->counts) {
        mcds__segment_write_count(append, append->segment + 1, &append->requests[count]);
        count += MCDS__SEGMENT_COUNTING;
    } else {
        if (append->reads)
            mcds__segment_read_count(append, &append->requests[count++]);
        if (append->makes)
            append->requests[count++] = segment_load_next(append);
    }
    if (mcds__segment_prove_along(append, operation))
        append->requests[count++] = mcds__segment_request_root(append->segments);
    assert(count >= 2 && count <= sizeof append->requests / sizeof append->requests[0]);
    return count;
}

size_t mcds__segment_whole_records(const struct mcds__segment_append *append, size_t scratch)
{
    size_t at = 0;
    while (at < append->records.length) {
        size_t length = mcds__segment_length(append->records.data + at);
        if (length > scratch - at)
            break;
        at += length;
    }
    assert(at <= append->records.length && at <= scratch);
    return at;
}

bool mcds__segment_append_fits(const struct mcds__segment_append *append, size_t length)
{
    return append->records.length == 0 ||
           (append->block_count == 0 && length <= MCDS__SEGMENT_INLINE_MAX &&
            append->records.length + length + MCDS__SEGMENT_OVERHEAD <= BATCH_LENGTH);
}

int mcds__segment_append_put(struct mcds__segment_append *append, uint8_t flags,
                             int64_t filed_ms, int64_t when_ms, mcds_bytes payload)
{
    uint8_t where[MCDS__SEGMENT_WHERE];
    struct mcds__segment_record record = {
        .flags = flags, .filed_ms = filed_ms, .when_ms = when_ms, .payload = payload};
    mcds__segment_take_id(append->segments, &record.writer, &record.seq);
    if (payload.length > MCDS__SEGMENT_INLINE_MAX) {
        int result = mcds__segment_take_large(append, &record, where);
        if (result != MCDS_OK)
            return result;
    }
    assert(record.payload.length <= MCDS__SEGMENT_INLINE_MAX);
    return mcds__segment_put(&append->records, &record) ? MCDS_OK : MCDS_NO_MEMORY;
}

void mcds__segment_append_resume(struct mcds__segment_append *append)
{
    assert(append->ended && !append->under_way);
    append->ended = false;
    append->truth = MCDS__SEGMENT_UNPROVED;
}

bool mcds__segment_append_move(struct mcds__segment_append *append, uint64_t stream,
                               bool is_fresh)
{
    assert(!append->under_way);
    if (append->stream != stream) {
        if (append->doubt)
            return false;
        append->tells_loss = append->is_in = append->is_past = append->has_passed = false;
        append->remade = 0;
        append->makings = append->refusals = 0;
        append->block = 0; /* the keys of the blocks contain the stream */
    }
    append->stream = stream;
    append->locate = (struct mcds__segment_locate){.stream = stream,
                                                   .scratch = append->locate.scratch};
    append->ended = false;
    append->truth = MCDS__SEGMENT_UNPROVED;
    append->is_fresh = is_fresh;
    append->stage = 0;
    append->has_asked = false;
    return true;
}
