/* Core part: what is to be appended. */
#include "base/buffer.h"
#include "base/environment.h"
#include "core/part.h"

#define RECORDS_MAX ((size_t)1 << 20)
#define LARGE_MAX ((size_t)MCDS__PART_LARGE_MAX * 2)
/* Records that share a batch: much less than a part, so that it is filled well. */
#define BATCH_LENGTH 4096

void mcds__part_append_begin(struct mcds__part_append *append, struct mcds__parts *parts,
                             uint64_t family, uint64_t ttl_ms)
{
    append->parts = parts;
    append->family = family;
    append->ttl_ms = ttl_ms;
    append->locate = (struct mcds__part_locate){.family = family};
    append->room = NULL;
    mcds__buffer_init_in(&append->records, parts->env, RECORDS_MAX, append->records_room,
                         sizeof append->records_room);
    append->had_parts = false;
    mcds__buffer_init(&append->large, parts->env, LARGE_MAX);
    mcds__part_append_again(append);
}

void mcds__part_append_again(struct mcds__part_append *append)
{
    append->ended = append->made = append->counts = false;
    append->stage = 0;
    append->doubt = false;
    append->tells_loss = false;
    append->under_way = false;
    append->has_asked = false;
    append->walked = 0;
    append->makings = 0;
    append->refusals = 0;
    append->is_in = false;
    append->looks = append->proves = false;
    append->truth = MCDS__PART_UNPROVED;
    append->round = 0;
    append->piece = append->piece_count = 0;
    append->records.length = 0;
    append->large.length = 0;
    append->locate.stage = 0;
}

void mcds__part_append_free(struct mcds__part_append *append)
{
    if (append->under_way)
        mcds__part_give_place(append->parts, append->family, append->part, append->length);
    append->under_way = false;
    mcds__free(append->parts->env, append->room);
    mcds__free(append->parts->env, append->locate.room);
    append->room = append->locate.room = NULL;
    mcds__buffer_free(&append->records);
    mcds__buffer_free(&append->large);
}

/* Make the part, or look whether it is there. */
static mcds_request lead(struct mcds__part_append *append, const struct mcds__part_place *place,
                         mcds_bytes key, mcds_bytes route)
{
    if (!place->makes)
        return (mcds_request){
            .command = MCDS_GET, .options = MCDS_NO_VALUE, .key = key, .route = route};
    return (mcds_request){
        .command = MCDS_ADD,
        .flags = place->birth,
        .ttl_ms = append->ttl_ms,
        .key = key,
        .route = route,
        .value = {append->opening, mcds__part_put_opening(append->opening, key, place->before)},
    };
}

uint32_t mcds__part_append_fill(struct mcds__part_append *append,
                                const struct mcds__part_place *place,
                                const struct mcds__operation *operation)
{
    uint8_t flags = append->tells_loss ? MCDS__PART_LOSS : 0;
    uint32_t count = 0;
    if (append->doubt && place->part > append->doubted)
        flags |= (uint8_t)(place->part - append->doubted);
    mcds_bytes route = mcds__part_key(append->parts, append->family, place->part, &append->key);
    mcds_bytes key = mcds__key_bytes(&append->key);
    mcds__part_address(append->records.at, append->records.length, key, flags);
    append->part = place->part;
    append->makes = place->makes;
    append->leads = place->makes || append->refusals > 0;
    append->counts = place->counts || (append->counts && place->part > 0);
    if (append->leads)
        append->requests[count++] = lead(append, place, key, route);
    append->requests[count++] = (mcds_request){
        .command = MCDS_APPEND,
        .key = key,
        .route = route,
        .value = {append->records.at, append->records.length},
    };
    append->requests[count++] = (mcds_request){
        .command = MCDS_GET, .options = MCDS_NO_VALUE, .key = key, .route = route};
    if (append->counts)
        mcds__part_write_count(append, &append->requests[count++]);
    if (mcds__part_prove_along(append, operation))
        append->requests[count++] = mcds__part_look_at_root(append->parts);
    return count;
}

size_t mcds__part_whole_records(const struct mcds__part_append *append, size_t room)
{
    size_t at = 0;
    while (at < append->records.length) {
        size_t length = mcds__part_length(append->records.at + at);
        if (length > room - at)
            break;
        at += length;
    }
    return at;
}

bool mcds__part_append_fits(const struct mcds__part_append *append, size_t length)
{
    return append->records.length == 0 ||
           (append->piece_count == 0 && length <= MCDS__PART_INLINE_MAX &&
            append->records.length + length + MCDS__PART_OVERHEAD <= BATCH_LENGTH);
}

int mcds__part_append_put(struct mcds__part_append *append, uint8_t flags, int64_t filed_ms,
                          int64_t when_ms, mcds_bytes payload)
{
    uint8_t where[MCDS__PART_WHERE];
    struct mcds__part_record record = {
        .flags = flags, .filed_ms = filed_ms, .when_ms = when_ms, .payload = payload};
    mcds__part_take_id(append->parts, &record.writer, &record.seq);
    if (payload.length > MCDS__PART_INLINE_MAX) {
        int result = mcds__part_take_large(append, &record, where);
        if (result != MCDS_OK)
            return result;
    }
    return mcds__part_put(&append->records, &record) ? MCDS_OK : MCDS_NO_MEMORY;
}

void mcds__part_append_resume(struct mcds__part_append *append)
{
    append->ended = false;
    append->truth = MCDS__PART_UNPROVED;
}

bool mcds__part_append_move(struct mcds__part_append *append, uint64_t family, bool is_fresh)
{
    if (append->family != family) {
        if (append->doubt)
            return false;
        append->tells_loss = false;
    }
    append->family = family;
    append->locate = (struct mcds__part_locate){.family = family, .room = append->locate.room};
    append->ended = false;
    append->is_fresh = is_fresh;
    append->stage = 0;
    /* The pieces of a large payload stand under the family's name. */
    append->piece = 0;
    append->has_asked = false;
    return true;
}
