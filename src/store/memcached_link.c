/* One lane's link to one server: a queue of requests over one connection.
 *
 *   enqueue --> [ waiting ] --encode--> out --send--> server --receive--> in --parse-->
 * answered
 *
 * DOWN -> CONNECTING -> PROBING -> READY; any trouble leads back to DOWN. What had been written
 * out is then UNKNOWN, or UNSENT when not a byte of it had left, and with it the rest of an
 * ordered batch; what else was still waiting fails only if no connection came about. */
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/reason.h"
#include "store/memcached_queue.h"
#include "store/token.h"

/* Bytes written out and not yet sent; beyond this requests wait in the queue. */
#define OUT_MAX ((size_t)4 << 20)
/* A connection that had nothing to do is looked at before use, because the server may have gone
 * meanwhile. Looking is one more system call: it is saved where calls follow each other this
 * fast, which no server can be started anew in. */
#define IDLE_NS (NS_PER_MS / 10)

/* The turns of the connections of a process begin this far apart, so that the answers of one do not
 * pass for those of another. */
#define TURN_STEP 1597

/* Where the server, or what is before it, does not say how large its items are: more than any that
 * mcds takes. */
#define ITEM_MAX_UNKNOWN (UINT64_C(1) << 27)

static const mcds_env *env_of(const struct mcds__link *link)
{
    return link->lane->home->env;
}

void mcds__link_close(struct mcds__link *link)
{
    mcds__connection_close(&link->connection);
    link->state = LINK_DOWN;
    link->needed = 0;
    link->held = 0;
}

/* The connection has come to an end. The first `lost` requests end with it. */
static void end_connection(struct mcds__link *link, uint32_t lost, const mcds_reason *trouble)
{
    uint64_t sent = link->connection.sent;
    const mcds_batch *batch = lost > 0 ? mcds__queue_at(link, lost - 1)->batch : NULL;
    mcds__link_close(link);
    link->encoded = 0;
    mcds__queue_answer_lost(link, lost, sent, MCDS_OUT_UNSENT, trouble);
    if (batch != NULL)
        mcds__queue_give_up_rest(link, batch, trouble);
}

/* The connection has come to nothing or to its end. */
static void fail(struct mcds__link *link, const mcds_reason *trouble)
{
    if (link->state == LINK_READY) {
        end_connection(link, link->encoded, trouble);
        return;
    }
    mcds__link_close(link);
    mcds__connect_back_off(link, trouble);
    mcds__queue_answer_lost(link, link->count, 0, link->refusal, trouble);
}

static void connect_link(struct mcds__link *link)
{
    const mcds_reason *trouble;
    mcds_outcome refusal;
    if (!mcds__connect_may(link, &refusal, &trouble)) {
        mcds__queue_answer_lost(link, link->count, 0, refusal, trouble);
        return;
    }
    link->state = LINK_CONNECTING;
    link->refusal = MCDS_OUT_UNSENT;
    link->probe_is_proxy = false;
    link->serial = mcds__token_place();
    link->turn = (uint32_t)link->serial * TURN_STEP;
    if (!mcds__connect_begin(link))
        fail(link, link->connection.trouble);
}

/* A value that the server would refuse is not sent: some refusals delete what was there. */
static bool is_too_big(const struct mcds__link *link, const mcds_request *request)
{
    return request->value.length > link->value_max;
}

static bool is_foreign(const struct mcds__link *link, const mcds_request *request)
{
    return request->cas.connection != 0 && request->cas.connection != link->serial;
}

/* What can be answered without the server; MCDS_OUT_NONE: nothing. */
static mcds_outcome answer_at_home(const struct mcds__link *link, const mcds_request *request,
                                   const mcds_reason **detail_out)
{
    *detail_out = NULL;
    if (is_too_big(link, request)) {
        *detail_out = MCDS__WHY(TOO_BIG_FOR_SERVER);
        return MCDS_OUT_TOO_BIG;
    }
    bool compares = request->command == MCDS_CAS || request->cas.connection != 0;
    if (compares && !link->probe_can.compare_and_set) {
        *detail_out = MCDS__WHY(SERVER_WITHOUT_CAS);
        return MCDS_OUT_UNSUPPORTED;
    }
    return is_foreign(link, request) ? MCDS_OUT_EXISTS : MCDS_OUT_NONE;
}

static void encode_waiting(struct mcds__link *link)
{
    struct mcds__connection *connection = &link->connection;
    int64_t wall_s = 0;
    while (link->encoded < link->count && connection->out.length < OUT_MAX) {
        struct mcds__slot *slot = mcds__queue_at(link, link->encoded);
        const mcds_request *request = &slot->batch->requests[slot->index];
        mcds_request plain;
        const mcds_reason *detail;
        mcds_outcome outcome = answer_at_home(link, request, &detail);
        if (!link->probe_can.create_on_append && request->command == MCDS_APPEND) {
            plain = *request;
            plain.options &= ~(uint32_t)MCDS_CREATE;
            request = &plain;
        }
        if (request->ttl_ms > 0 && wall_s == 0)
            wall_s = mcds__wall_ns(env_of(link)) / NS_PER_S;
        slot->begin = connection->sent + (connection->out.length - connection->out_sent);
        if (outcome == MCDS_OUT_NONE && !link->wire->encode(request, link->turn + link->encoded,
                                                            wall_s, &connection->out)) {
            outcome = MCDS_OUT_UNSENT;
            detail = MCDS__WHY(NO_MEMORY_FOR_REQUEST);
        }
        if (outcome == MCDS_OUT_NONE) {
            link->encoded++;
            continue;
        }
        struct mcds__slot taken = mcds__queue_take_waiting(link);
        mcds__queue_answer(link, taken.batch, taken.index, outcome, detail);
        if (outcome == MCDS_OUT_UNSENT)
            mcds__queue_give_up_rest(link, taken.batch, detail);
    }
}

void mcds__link_push(struct mcds__link *link)
{
    int64_t now_ns = 0;
    if (link->state == LINK_READY && link->encoded == 0 && link->encoded < link->count) {
        now_ns = mcds__monotonic_ns(env_of(link));
        bool idle = now_ns - link->used_ns > IDLE_NS;
        link->used_ns = now_ns;
        if (idle && !mcds__connection_is_quiet(&link->connection))
            mcds__link_close(link);
    }
    if (link->state == LINK_DOWN && link->count > 0)
        connect_link(link);
    if (link->state != LINK_READY)
        return;
    encode_waiting(link);
    if (link->state == LINK_READY && !mcds__connection_send(&link->connection))
        fail(link, link->connection.trouble);
}

/* Have what is held proven by the answer to one more request, whatever that finds. It is one for the
 * same key, which behind a proxy goes to the same server. */
static void check(struct mcds__link *link, mcds_bytes key, int64_t deadline_ns)
{
    if (link->check.answered < link->check.count)
        return; /* one is under way */
    memcpy(link->check_key, key.at, key.length);
    link->check_request = (mcds_request){
        .command = MCDS_GET, .options = MCDS_NO_VALUE, .key = {link->check_key, key.length}};
    link->check = (mcds_batch){.requests = &link->check_request,
                               .count = 1,
                               .deadline_ns = deadline_ns,
                               .serial = MCDS__CHECK};
    mcds__link_enqueue(link, &link->check, 0);
}

/* Answer what is held. */
static void release(struct mcds__link *link)
{
    for (; link->held > 0; link->held--) {
        mcds_batch *batch = mcds__queue_at(link, 0)->batch;
        link->first++;
        link->count--;
        link->encoded--;
        link->turn++;
        mcds__lane_answered(link->lane, batch);
    }
}

static void note_trouble(struct mcds__link *link, mcds_outcome outcome)
{
    if (outcome == MCDS_OUT_UNKNOWN) /* behind a proxy another server may follow */
        link->serial = mcds__token_place();
    if (outcome == MCDS_OUT_UNKNOWN || outcome == MCDS_OUT_TOO_BIG ||
        outcome == MCDS_OUT_NO_MEMORY)
        link->is_troubled = true;
}

static void take_value(mcds_batch *batch, mcds_reply *reply,
                       const struct mcds__wire_reply *parsed)
{
    reply->value_length = parsed->value.length > 0 ? parsed->value.length : parsed->size;
    reply->value_at = batch->values != NULL ? batch->values->length : 0;
    if (batch->values != NULL &&
        !mcds_buffer_append(batch->values, parsed->value.at, parsed->value.length)) {
        reply->outcome = MCDS_OUT_NO_BUFFER;
        reply->detail = MCDS__WHY(NO_MEMORY_FOR_VALUE);
    }
}

/* Move a parsed reply into the request it belongs to. An error that denies something waits, and what
 * comes after it, until an answer with its opaque shows that it was in its place. */
static void take_reply(struct mcds__link *link, const struct mcds__wire_reply *parsed)
{
    const struct mcds__slot *slot = mcds__queue_at(link, link->held);
    mcds_batch *batch = slot->batch;
    mcds_request *request = &batch->requests[slot->index];
    mcds_reply *reply = &request->reply;
    bool denies = parsed->proof == PROOF_MISSING && parsed->outcome != MCDS_OUT_UNKNOWN;
    reply->outcome = parsed->outcome;
    reply->flags = parsed->flags;
    reply->ttl_ms = parsed->ttl_ms;
    reply->number = parsed->number;
    reply->cas = (mcds_cas_token){parsed->cas, parsed->cas != 0 ? link->serial : 0};
    reply->detail = parsed->detail;
    reply->peer = link->server->name;
    note_trouble(link, parsed->outcome);
    if (request->command == MCDS_GET)
        take_value(batch, reply, parsed);
    bool is_held = denies || (link->held > 0 && parsed->proof != PROOF_MADE);
    link->held++;
    if (denies)
        check(link, request->key, batch->deadline_ns);
    if (!is_held)
        release(link);
}

/* Why the connection cannot be used after what has been parsed; NULL: it can. */
static const mcds_reason *find_fault(const struct mcds__link *link, const mcds_batch *batch,
                                     enum mcds__parse parse,
                                     const struct mcds__wire_reply *reply)
{
    bool is_check = batch == &link->check;
    uint64_t item_max = link->probe_item_max > 0 ? link->probe_item_max : ITEM_MAX_UNKNOWN;
    if (parse == PARSE_MORE && link->needed > item_max + MCDS__WIRE_LINE_MAX)
        return MCDS__WHY(REPLY_TOO_BIG);
    if (parse == PARSE_MORE)
        return NULL;
    if (reply->proof == PROOF_FAILED || (is_check && reply->proof != PROOF_MADE))
        return MCDS__WHY(REPLIES_MISMATCH);
    /* After trouble an ERROR may answer bytes of a value that were taken for a command. */
    bool is_late_error = link->is_troubled && reply->outcome == MCDS_OUT_UNSUPPORTED;
    if (parse == PARSE_BROKEN || is_late_error)
        return MCDS__WHY(BAD_REPLY);
    return NULL;
}

static void parse_replies(struct mcds__link *link)
{
    struct mcds__connection *connection = &link->connection;
    while (link->state == LINK_READY && connection->in_taken < connection->in.length) {
        struct mcds__wire_reply reply;
        size_t consumed = 0;
        if (link->held == link->encoded) {
            fail(link, MCDS__WHY(REPLY_UNASKED));
            return;
        }
        const struct mcds__slot *slot = mcds__queue_at(link, link->held);
        enum mcds__parse parse = link->wire->parse(
            &slot->batch->requests[slot->index], link->turn + link->held,
            (const char *)connection->in.at + connection->in_taken,
            connection->in.length - connection->in_taken, &reply, &consumed, &link->needed);
        const mcds_reason *fault = find_fault(link, slot->batch, parse, &reply);
        if (fault != NULL) {
            fail(link, fault);
            return;
        }
        if (parse == PARSE_MORE)
            return;
        connection->in_taken += consumed;
        link->needed = 0;
        take_reply(link, &reply);
    }
}

/* The connection does not keep order, and requests may have been queued in the belief that it
 * would. Of each batch whose order counts only the first stays; the others follow one by one, or
 * are given up if the batch has requests elsewhere too. */
static void thin_out(struct mcds__link *link)
{
    for (uint32_t left = link->count, run; left > 0; left -= run) {
        struct mcds__slot first = mcds__queue_take_waiting(link);
        mcds_batch *batch = first.batch;
        *mcds__queue_at(link, link->count++) = first;
        run = 1;
        if (batch->independent || batch->serial == MCDS__ONE_BY_ONE)
            continue;
        while (run < left && mcds__queue_at(link, run - 1)->batch == batch)
            run++;
        if (run > 1 && run == batch->count)
            batch->serial = MCDS__ONE_BY_ONE;
        for (uint32_t i = 1; i < run; i++) {
            struct mcds__slot taken = mcds__queue_take_waiting(link);
            if (batch->serial != MCDS__ONE_BY_ONE)
                mcds__queue_answer(link, batch, taken.index, MCDS_OUT_UNSENT,
                                   MCDS__WHY(NOW_A_PROXY));
        }
    }
}

static void go_on_probing(struct mcds__link *link)
{
    enum mcds__parse probed = mcds__probe_go_on(link);
    /* What has come beyond the last answer would be taken for that to the first request. */
    if (probed == PARSE_DONE && link->connection.in_taken < link->connection.in.length) {
        link->connection.trouble = MCDS__WHY(REPLY_UNASKED);
        probed = PARSE_BROKEN;
    }
    switch (probed) {
    case PARSE_DONE:
        link->state = LINK_READY;
        link->used_ns = mcds__monotonic_ns(env_of(link));
        link->is_troubled = false;
        if (!link->probe_can.ordered_batch)
            thin_out(link);
        mcds__link_push(link);
        break;
    case PARSE_BROKEN:
        fail(link, link->connection.trouble);
        break;
    case PARSE_MORE:
        break;
    }
}

static void receive(struct mcds__link *link)
{
    struct mcds__connection *connection = &link->connection;
    size_t buffered = connection->in.length - connection->in_taken;
    size_t missing = link->needed > buffered ? link->needed - buffered : 1;
    bool alive = mcds__connection_receive(connection, missing);
    if (!alive && link->state == LINK_PROBING && mcds__probe_hung_up(link)) {
        mcds__connection_close(connection);
        link->state = LINK_CONNECTING;
        if (!mcds__connect_again(link))
            fail(link, connection->trouble);
        return;
    }
    if (link->state == LINK_PROBING)
        go_on_probing(link);
    else
        parse_replies(link);
    if (!alive && link->state != LINK_DOWN)
        fail(link, connection->trouble);
}

void mcds__link_go_on(struct mcds__link *link, uint8_t ready)
{
    struct mcds__connection *connection = &link->connection;
    if (link->state == LINK_CONNECTING && ready != READY_NOT) {
        if (!mcds__connection_go_on(connection)) {
            fail(link, connection->trouble);
            return;
        }
        if (connection->connecting)
            return;
        link->state = LINK_PROBING;
        link->deadline_ns = link->connected_by_ns;
        if (!mcds__probe_begin(link)) {
            fail(link, connection->trouble);
            return;
        }
        ready = READY_TO_SEND;
    }
    if ((ready & READY_TO_RECEIVE) != 0 && link->state >= LINK_PROBING)
        receive(link);
    if ((ready & READY_TO_SEND) != 0 && link->state >= LINK_PROBING &&
        !mcds__connection_send(connection)) {
        fail(link, connection->trouble);
        return;
    }
    if (link->state == LINK_READY && link->encoded < link->count)
        mcds__link_push(link);
}

static bool is_late(const struct mcds__slot *slot, int64_t now_ns)
{
    return slot->batch->deadline_ns <= now_ns;
}

/* Whether a request that was written out is late. */
static bool has_late(struct mcds__link *link, int64_t now_ns)
{
    for (uint32_t i = 0; i < link->encoded; i++)
        if (is_late(mcds__queue_at(link, i), now_ns))
            return true;
    return false;
}

/* Requests of which a byte has left. The others can go over another connection. */
static uint32_t count_begun(struct mcds__link *link)
{
    uint32_t begun = link->encoded;
    while (begun > 0 && mcds__queue_at(link, begun - 1)->begin >= link->connection.sent)
        begun--;
    return begun;
}

/* What a request was waiting for until it was late. */
static const mcds_reason *why_unsent(const struct mcds__link *link)
{
    switch (link->state) {
    case LINK_CONNECTING:
        return MCDS__WHY(HOST_SILENT);
    case LINK_PROBING:
        return MCDS__WHY(NOT_ANSWERING);
    default:
        return MCDS__WHY(UNSENT_IN_TIME);
    }
}

static void expire_waiting(struct mcds__link *link, int64_t now_ns)
{
    uint32_t waiting = link->count - link->encoded;
    for (; waiting > 0; waiting--) {
        struct mcds__slot taken = mcds__queue_take_waiting(link);
        if (is_late(&taken, now_ns))
            mcds__queue_answer(link, taken.batch, taken.index, MCDS_OUT_UNSENT,
                               why_unsent(link));
        else
            *mcds__queue_at(link, link->count++) = taken;
    }
}

/* A program that was kept from running looks late. What has come meanwhile counts; where that was a
 * step of the connection, the time begins again for the next one. */
static void look_at_last(struct mcds__link *link, int64_t now_ns)
{
    struct mcds__connection *connection = &link->connection;
    enum mcds__link_state before = link->state;
    uint8_t ready;
    mcds__connection_wait(&connection, 1, 0, &ready);
    if (before == LINK_READY && (ready & READY_TO_RECEIVE) != 0)
        receive(link); /* and nothing that is late is sent */
    else if (before != LINK_READY && ready != READY_NOT)
        mcds__link_go_on(link, ready);
    if (ready != READY_NOT && (link->state == LINK_CONNECTING || link->state == LINK_PROBING))
        mcds__connect_renew(link, now_ns);
}

void mcds__link_expire(struct mcds__link *link, int64_t now_ns)
{
    bool is_opening = link->state == LINK_CONNECTING || link->state == LINK_PROBING;
    expire_waiting(link, now_ns);
    if ((is_opening && link->deadline_ns <= now_ns) || has_late(link, now_ns))
        look_at_last(link, now_ns);
    if (link->state == LINK_CONNECTING && link->deadline_ns <= now_ns &&
        !mcds__connect_pass_over(link, now_ns))
        fail(link, link->connection.trouble);
    if (link->state == LINK_PROBING && link->deadline_ns <= now_ns)
        fail(link, MCDS__WHY(NOT_ANSWERING));
    if (has_late(link, now_ns)) {
        end_connection(link, count_begun(link), MCDS__WHY(NO_ANSWER));
        expire_waiting(link, now_ns);
    }
}

int64_t mcds__link_deadline(const struct mcds__link *link)
{
    int64_t soonest_ns = INT64_MAX;
    if (link->state == LINK_CONNECTING || link->state == LINK_PROBING)
        soonest_ns = link->deadline_ns;
    for (uint32_t i = 0; i < link->count; i++) {
        const struct mcds__slot *slot = &link->slots[(link->first + i) & (link->room - 1)];
        if (slot->batch->deadline_ns < soonest_ns)
            soonest_ns = slot->batch->deadline_ns;
    }
    return soonest_ns;
}

bool mcds__link_is_busy(const struct mcds__link *link)
{
    return link->state != LINK_DOWN && (link->state != LINK_READY || link->count > 0);
}
