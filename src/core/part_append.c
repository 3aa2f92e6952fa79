/* Core part: append records. */
#include "base/buffer.h"
#include "base/environment.h"
#include "base/number.h"
#include "core/part.h"

#define MAKINGS_MAX 3
/* So many full parts in a row, and the family's end is looked for. */
#define WALK_MAX 3
#define REFUSALS_MAX 8 /* that prove nothing; then an attempt waits */

enum {
    APPEND_BEGIN,
    APPEND_PIECES, /* storing what is too large */
    APPEND_LOCATING,
    APPEND_ASKED,
    APPEND_SETTLE,
    APPEND_SETTLING, /* looking at the parts below */
    APPEND_CLOSING,  /* and filling one that is open */
    APPEND_RESOLVE,
    APPEND_RESOLVING, /* reading a closed part in which a copy may be */
    APPEND_PROVE      /* looking at the root */
};

static mcds_request *append_request(struct mcds__part_append *append)
{
    return append->requests + append->leads;
}

static mcds_request *look_request(struct mcds__part_append *append)
{
    return append_request(append) + 1;
}

static enum mcds__step finish(struct mcds__part_append *append,
                              struct mcds__operation *operation, int result,
                              const mcds_reason *detail)
{
    if (append->doubt && result != MCDS_OK)
        result = MCDS_AMBIGUOUS;
    return mcds__operation_explain(operation, result, detail);
}

static enum mcds__step fail(struct mcds__part_append *append, struct mcds__operation *operation,
                            const mcds_reply *reply)
{
    (void)mcds__operation_fail(operation, reply);
    if (operation->result == MCDS_FULL || operation->result == MCDS_NO_MEMORY)
        mcds__part_note_blocked(append->parts, append->family);
    /* An answer as such is no result: the part came and went until the time was over. */
    if (operation->result > 0)
        operation->result = MCDS_BUSY;
    if (append->doubt)
        operation->result = MCDS_AMBIGUOUS;
    return MCDS__DONE;
}

/* Whether the store has refused to make a part longer that was there. memcached without memory
 * answers NOT_STORED, as it does for a missing part, which another may have made since: only one
 * token before and after shows that it was there. */
static bool has_no_room(const mcds_reply *before, const mcds_reply *refused,
                        const mcds_reply *after)
{
    return mcds__is_refusal(refused) ||
           (refused->outcome == MCDS_OUT_NOT_STORED && before->outcome == MCDS_OUT_OK &&
            after->outcome == MCDS_OUT_OK && before->cas.connection != 0 &&
            before->flags == after->flags && before->cas.unique == after->cas.unique);
}

static enum mcds__step fail_for_room(struct mcds__part_append *append,
                                     struct mcds__operation *operation, const mcds_reply *reply)
{
    if (mcds__is_refusal(reply))
        return fail(append, operation, reply);
    mcds__part_note_blocked(append->parts, append->family);
    operation->peer = reply->peer;
    return finish(append, operation, MCDS_FULL, MCDS__WHY(SERVER_FULL_FOR_VALUE));
}

/* The family has ended, or, without a mark, it may have. */
static enum mcds__step end(struct mcds__part_append *append, struct mcds__operation *operation,
                           bool is_marked)
{
    append->ended = true;
    append->is_marked = is_marked;
    append->stage = APPEND_BEGIN;
    return finish(append, operation, MCDS_BUSY, MCDS__WHY(OTHERS_CLEAR_IT));
}

static enum mcds__step try_later(struct mcds__part_append *append,
                                 struct mcds__operation *operation, uint8_t stage,
                                 const mcds_reply *reply)
{
    append->stage = stage;
    operation->tries++;
    return mcds__operation_wait(operation, 0) ? MCDS__SLEEP : fail(append, operation, reply);
}

static enum mcds__step begin(struct mcds__part_append *append,
                             struct mcds__operation *operation);
static enum mcds__step settle(struct mcds__part_append *append,
                              struct mcds__operation *operation);

/* Who knows nothing of a family that may end asks first whether it lives. */
static enum mcds__step locate(struct mcds__part_append *append,
                              struct mcds__operation *operation)
{
    if (append->parts->one_route && !append->is_fresh)
        return end(append, operation, false);
    append->stage = APPEND_LOCATING;
    enum mcds__step step = mcds__part_locate_step(&append->locate, append->parts, operation);
    if (step != MCDS__DONE)
        return step;
    append->locate.stage = 0;
    if (operation->result != MCDS_OK) {
        operation->result = append->doubt ? MCDS_AMBIGUOUS : operation->result;
        return MCDS__DONE;
    }
    append->tells_loss |= append->had_parts && !append->locate.exists;
    if (append->locate.ended)
        return end(append, operation, true);
    return begin(append, operation);
}

static enum mcds__step resolve(struct mcds__part_append *append,
                               struct mcds__operation *operation, bool closes, size_t size)
{
    struct mcds__part_room *room = mcds__part_get_room(&append->room, operation->env);
    if (room == NULL)
        return finish(append, operation, MCDS_NO_MEMORY, NULL);
    uint32_t count = 0;
    mcds__part_fill_get(append->parts, append->family, room, count++, append->doubted,
                        MCDS_NO_VALUE);
    if (closes)
        mcds__part_fill_close(append->parts, append->family, room, count++, append->doubted,
                              size);
    mcds__part_fill_get(append->parts, append->family, room, count++, append->doubted, 0);
    append->stage = APPEND_RESOLVING;
    return mcds__operation_ask_repeatable(operation, room->requests, count);
}

static enum mcds__step ask(struct mcds__part_append *append, struct mcds__operation *operation,
                           const struct mcds__part_place *place)
{
    uint32_t count = mcds__part_append_fill(append, place, operation);
    append->stage = APPEND_ASKED;
    if (append->looks || append->leads != append->makes)
        return mcds__operation_ask_repeatable(operation, append->requests, count);
    return mcds__operation_ask_combinable(operation, append->requests, count);
}

static enum mcds__step store_pieces(struct mcds__part_append *append,
                                    struct mcds__operation *operation)
{
    append->stage = APPEND_PIECES;
    enum mcds__step step = mcds__part_store_pieces(append, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    return begin(append, operation);
}

static enum mcds__step begin(struct mcds__part_append *append,
                             struct mcds__operation *operation)
{
    struct mcds__part_place place;
    size_t length = append->records.length;
    if (append->piece < append->piece_count)
        return store_pieces(append, operation);
    int64_t now_ns = operation->deadline_ns - mcds__store_timeout_ns(operation->store);
    if (!mcds__part_take_place(append->parts, append->family, length, now_ns, &place))
        return locate(append, operation);
    bool is_far = append->doubt && (place.part < append->doubted ||
                                    place.part > append->doubted + MCDS__PART_DISTANCE_MAX);
    if (is_far) {
        if (!place.settles)
            mcds__part_give_place(append->parts, append->family, place.part, length);
        if (place.part > append->doubted)
            return resolve(append, operation, false, 0);
        /* The family has lost its end, and perhaps not the part where a copy stands. */
        return finish(append, operation, MCDS_AMBIGUOUS, NULL);
    }
    if (place.settles) {
        append->part = place.part;
        append->is_in = false;
        return settle(append, operation);
    }
    append->length = length;
    append->under_way = true;
    return ask(append, operation, &place);
}

/* It counts, if its life is not over. */
static enum mcds__step prove(struct mcds__part_append *append,
                             struct mcds__operation *operation)
{
    append->stage = APPEND_PROVE;
    enum mcds__step step = mcds__part_prove_step(append, operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result == MCDS_OK && append->truth == MCDS__PART_OVER) {
        append->ended = true;
        return finish(append, operation, MCDS_BUSY, MCDS__WHY(ITS_KEY_VANISHES));
    }
    return finish(append, operation, operation->result, operation->detail);
}

/* The parts below are closed. */
static enum mcds__step take_settled(struct mcds__part_append *append,
                                    struct mcds__operation *operation)
{
    if (append->is_in)
        return prove(append, operation);
    mcds__part_note_settled(append->parts, append->family, append->part);
    return begin(append, operation);
}

/* All of it counts, or may be put in, once the parts below are closed. */
static enum mcds__step settle(struct mcds__part_append *append,
                              struct mcds__operation *operation)
{
    uint64_t first;
    if (mcds__part_is_settled(append->parts, append->family, append->part, &first))
        return take_settled(append, operation);
    struct mcds__part_room *room = mcds__part_get_room(&append->room, operation->env);
    if (room == NULL)
        return finish(append, operation, MCDS_NO_MEMORY, NULL);
    uint32_t count = 0;
    for (uint64_t part = first; part < append->part; part++)
        mcds__part_fill_get(append->parts, append->family, room, count++, part, MCDS_NO_VALUE);
    append->stage = APPEND_SETTLING;
    return mcds__operation_ask_repeatable(operation, room->requests, count);
}

/* The family has ended below the part: what stands there is void. */
static enum mcds__step end_below(struct mcds__part_append *append,
                                 struct mcds__operation *operation, uint64_t mark)
{
    append->doubt = append->doubt && append->doubted <= mark;
    return end(append, operation, true);
}

static enum mcds__step take_settling(struct mcds__part_append *append,
                                     struct mcds__operation *operation)
{
    struct mcds__part_room *room = append->room;
    uint32_t open = 0;
    uint64_t part = 0;
    size_t size = 0;
    for (uint32_t i = 0; i < operation->batch.count; i++) {
        const mcds_reply *reply = &room->requests[i].reply;
        if (reply->outcome != MCDS_OUT_OK && reply->outcome != MCDS_OUT_MISS)
            return try_later(append, operation, APPEND_SETTLE, reply);
        if (reply->outcome == MCDS_OUT_OK && reply->flags == MCDS__PART_END)
            return end_below(append, operation, room->positions[i]);
        if (reply->outcome == MCDS_OUT_MISS ||
            mcds__part_is_closed(reply->value_length, reply->flags)) {
            mcds__part_note_closed(append->parts, append->family, room->positions[i]);
        } else if (open++ == 0) {
            part = room->positions[i];
            size = reply->value_length;
        }
    }
    if (open == 0)
        return take_settled(append, operation);
    mcds__part_fill_get(append->parts, append->family, room, 0, part, MCDS_NO_VALUE);
    mcds__part_fill_close(append->parts, append->family, room, 1, part, size);
    mcds__part_fill_get(append->parts, append->family, room, 2, part, MCDS_NO_VALUE);
    append->stage = APPEND_CLOSING;
    return mcds__operation_ask_repeatable(operation, room->requests, 3);
}

static enum mcds__step take_closing(struct mcds__part_append *append,
                                    struct mcds__operation *operation)
{
    const mcds_request *requests = append->room->requests;
    const mcds_reply *closed = &requests[1].reply;
    if (has_no_room(&requests[0].reply, closed, &requests[2].reply))
        return fail_for_room(append, operation, closed);
    if (append->refusals == REFUSALS_MAX)
        return try_later(append, operation, APPEND_SETTLE, closed);
    if (closed->outcome == MCDS_OUT_NOT_STORED)
        append->refusals++;
    return settle(append, operation);
}

static void note_doubt(struct mcds__part_append *append)
{
    if (!append->doubt)
        append->doubted = append->part;
    append->doubt = true;
}

/* All of it is in. If the part is not the one that this handle knew, it says so in a copy. */
static enum mcds__step take_in(struct mcds__part_append *append,
                               struct mcds__operation *operation, bool is_another)
{
    note_doubt(append);
    append->is_in = true;
    if (!is_another || append->tells_loss)
        return settle(append, operation);
    append->tells_loss = true;
    return begin(append, operation);
}

/* The part was full before the end of the records, or became so behind them. */
static enum mcds__step take_full(struct mcds__part_append *append,
                                 struct mcds__operation *operation, bool is_exact,
                                 size_t end_at)
{
    if (is_exact) {
        size_t begin_at = end_at > append->length ? end_at - append->length : 0;
        size_t room = begin_at < MCDS__PART_LIMIT ? MCDS__PART_LIMIT - begin_at : 0;
        size_t counted = mcds__part_whole_records(append, room);
        if (counted > 0)
            note_doubt(append);
        mcds__buffer_consume(&append->records, counted);
    } else {
        note_doubt(append);
    }
    if (++append->walked % WALK_MAX == 0)
        return locate(append, operation);
    return begin(append, operation);
}

/* Whether the append itself has told where its records end. */
static bool tells_size(const struct mcds__part_append *append, const mcds_reply *appended)
{
    mcds_capabilities can;
    if (appended->value_length == 0)
        return false;
    mcds__store_capabilities(append->parts->store, &can);
    return can.size_after_write;
}

static enum mcds__step take_look(struct mcds__part_append *append,
                                 struct mcds__operation *operation)
{
    const mcds_reply *appended = &append_request(append)->reply;
    const mcds_reply *looked = &look_request(append)->reply;
    if (looked->flags == MCDS__PART_END)
        return end(append, operation, true);
    if (looked->flags == 0)
        return finish(append, operation, MCDS_CORRUPT, MCDS__WHY(FOREIGN));
    bool is_another = mcds__part_note_seen(append->parts, append->family, append->part,
                                           looked->value_length, looked->flags,
                                           operation->sent_ns);
    bool is_exact = tells_size(append, appended);
    size_t end_at = is_exact ? appended->value_length : looked->value_length;
    if (end_at <= MCDS__PART_LIMIT)
        return take_in(append, operation, is_another);
    return take_full(append, operation, is_exact, end_at);
}

/* The part is open, and the append was NOT_STORED. */
static enum mcds__step take_open_refusal(struct mcds__part_append *append,
                                         struct mcds__operation *operation)
{
    const mcds_reply *refused = &append_request(append)->reply;
    if (append->leads && !append->makes &&
        has_no_room(&append->requests[0].reply, refused, &look_request(append)->reply))
        return fail_for_room(append, operation, refused);
    if (append->refusals == REFUSALS_MAX)
        return try_later(append, operation, APPEND_BEGIN, refused);
    append->refusals++;
    return begin(append, operation);
}

/* NOT_STORED: missing, or it has no room. */
static enum mcds__step take_refusal(struct mcds__part_append *append,
                                    struct mcds__operation *operation)
{
    const mcds_reply *looked = &look_request(append)->reply;
    const mcds_reply *added = &append->requests[0].reply;
    if (looked->outcome == MCDS_OUT_OK) {
        if (!mcds__part_is_closed(looked->value_length, looked->flags))
            return take_open_refusal(append, operation);
        if (looked->flags == MCDS__PART_END)
            return end(append, operation, true);
        mcds__part_note_closed(append->parts, append->family, append->part);
        return begin(append, operation);
    }
    if (append->makes && added->outcome != MCDS_OUT_OK && added->outcome != MCDS_OUT_NOT_STORED)
        return mcds__is_transport_trouble(added)
                   ? try_later(append, operation, APPEND_BEGIN, added)
                   : fail(append, operation, added);
    if (mcds__part_is_alive(append) == MCDS__PART_OVER)
        return end(append, operation, false);
    if (append->makings++ == MAKINGS_MAX)
        return finish(append, operation, MCDS_BUSY, MCDS__WHY(ITS_KEY_VANISHES));
    if (mcds__part_note_missing(append->parts, append->family, append->part)) {
        append->tells_loss = true;
        if (append->parts->one_route)
            return end(append, operation, false);
        return locate(append, operation);
    }
    return begin(append, operation);
}

static enum mcds__step take_append(struct mcds__part_append *append,
                                   struct mcds__operation *operation)
{
    const mcds_reply *appended = &append_request(append)->reply;
    const mcds_reply *looked = &look_request(append)->reply;
    mcds__part_give_place(append->parts, append->family, append->part, append->length);
    append->under_way = false;
    if (append->makes && append->requests[0].reply.outcome == MCDS_OUT_OK)
        append->made = true;
    if (append->looks)
        mcds__part_take_proof(append, &append->requests[operation->batch.count - 1].reply);
    if (appended->outcome == MCDS_OUT_UNKNOWN ||
        (appended->outcome == MCDS_OUT_OK && looked->outcome != MCDS_OUT_OK))
        note_doubt(append);
    if (mcds__is_transport_trouble(appended))
        return try_later(append, operation, APPEND_BEGIN, appended);
    if (mcds__is_refusal(appended))
        return fail(append, operation, appended);
    if (mcds__is_transport_trouble(looked))
        return try_later(append, operation, APPEND_BEGIN, looked);
    if (looked->outcome != MCDS_OUT_OK && looked->outcome != MCDS_OUT_MISS)
        return fail(append, operation, looked);
    if (appended->outcome != MCDS_OUT_OK || looked->outcome == MCDS_OUT_MISS)
        return take_refusal(append, operation);
    return take_look(append, operation);
}

/* The first part in which a copy may be is open: it must be closed before it is read. */
static enum mcds__step take_open_resolution(struct mcds__part_append *append,
                                            struct mcds__operation *operation, size_t size)
{
    const mcds_request *requests = append->room->requests;
    if (requests[1].command != MCDS_APPEND)
        return resolve(append, operation, true, size);
    if (has_no_room(&requests[0].reply, &requests[1].reply, &requests[2].reply))
        return fail_for_room(append, operation, &requests[1].reply);
    return try_later(append, operation, APPEND_RESOLVE, &requests[1].reply);
}

/* The first part in which a copy may be has been read. */
static enum mcds__step take_resolution(struct mcds__part_append *append,
                                       struct mcds__operation *operation)
{
    const mcds_request *read = &append->room->requests[operation->batch.count - 1];
    if (read->reply.outcome != MCDS_OUT_OK && read->reply.outcome != MCDS_OUT_MISS)
        return try_later(append, operation, APPEND_RESOLVE, &read->reply);
    if (read->reply.outcome == MCDS_OUT_OK) {
        mcds_bytes value = mcds__reply_value(&operation->batch, read);
        if (!mcds__part_is_closed(value.length, read->reply.flags))
            return take_open_resolution(append, operation, value.length);
        while (append->records.length > 0 &&
               mcds__part_holds(read->key, value, append->records.at))
            mcds__buffer_consume(&append->records, mcds__part_length(append->records.at));
        if (append->records.length == 0) {
            append->part = append->doubted;
            append->is_in = true;
            return settle(append, operation);
        }
    }
    append->doubted++;
    return begin(append, operation);
}

enum mcds__step mcds__part_append_step(struct mcds__part_append *append,
                                       struct mcds__operation *operation)
{
    switch (append->stage) {
    case APPEND_PIECES:
        return store_pieces(append, operation);
    case APPEND_BEGIN:
        return begin(append, operation);
    case APPEND_LOCATING:
        return locate(append, operation);
    case APPEND_ASKED:
        return take_append(append, operation);
    case APPEND_SETTLE:
        return settle(append, operation);
    case APPEND_SETTLING:
        return take_settling(append, operation);
    case APPEND_CLOSING:
        return take_closing(append, operation);
    case APPEND_PROVE:
        return prove(append, operation);
    case APPEND_RESOLVE:
        return resolve(append, operation, false, 0);
    default:
        return take_resolution(append, operation);
    }
}
