/* The queue of a connection: first requests that wait for their replies, then requests that
 * wait to be sent. */
#include "store/memcached/queue.h"

#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/reason.h"

#define SLOTS_MIN 64

void mcds__queue_count_answer(struct mcds__memcached_session *session, mcds_batch *batch)
{
    assert(batch->answered < batch->count);
    batch->answered++;
    if (batch->serial == MCDS__CHECK ||
        (batch->serial == MCDS__AT_ONCE && batch->answered < batch->count))
        return;
    batch->next = NULL;
    *session->answered_end = batch;
    session->answered_end = &batch->next;
}

void mcds__queue_answer(struct mcds__connection *connection, mcds_batch *batch, uint32_t index,
                        mcds_outcome outcome, const mcds_reason *detail)
{
    assert(index < batch->count);
    mcds_reply *reply = &batch->requests[index].reply;
    memset(reply, 0, sizeof *reply);
    reply->outcome = outcome;
    reply->detail = detail;
    reply->peer = connection->server->name;
    mcds__queue_count_answer(connection->session, batch);
}

static bool reserve_slot(struct mcds__connection *connection)
{
    if (connection->count < connection->capacity)
        return true;
    uint32_t capacity = connection->capacity > 0 ? connection->capacity * 2 : SLOTS_MIN;
    if (capacity > UINT32_MAX / 4)
        return false;
    struct mcds__pending *pending = mcds__allocate(connection->session->backend->env,
                                                   capacity * sizeof *pending);
    if (pending == NULL)
        return false;
    for (uint32_t i = 0; i < connection->count; i++)
        pending[i] = *mcds__queue_at(connection, i);
    mcds__free(connection->session->backend->env, connection->pending);
    connection->pending = pending;
    assert(capacity > connection->count && (capacity & (capacity - 1)) == 0);
    connection->capacity = capacity;
    connection->first = 0;
    return true;
}

void mcds__connection_enqueue(struct mcds__connection *connection, mcds_batch *batch,
                              uint32_t index)
{
    assert(index < batch->count);
    if (!reserve_slot(connection)) {
        mcds__queue_answer(connection, batch, index, MCDS_OUT_UNSENT,
                           MCDS__WHY(NO_MEMORY_FOR_REQUEST));
        return;
    }
    *mcds__queue_at(connection, connection->count++) = (struct mcds__pending){.batch = batch,
                                                                              .index = index};
}

void mcds__queue_answer_lost(struct mcds__connection *connection, uint32_t lost, uint64_t sent,
                             mcds_outcome refusal, const mcds_reason *trouble)
{
    assert(lost <= connection->count);
    for (; lost > 0; lost--) {
        struct mcds__pending pending = *mcds__queue_at(connection, 0);
        connection->first++;
        connection->count--;
        mcds__queue_answer(connection, pending.batch, pending.index,
                           pending.begin >= sent ? refusal : MCDS_OUT_UNKNOWN, trouble);
    }
}

struct mcds__pending mcds__queue_take_waiting(struct mcds__connection *connection)
{
    assert(connection->held <= connection->encoded);
    assert(connection->encoded < connection->count);
    struct mcds__pending taken = *mcds__queue_at(connection, connection->encoded);
    for (uint32_t i = connection->encoded; i > 0; i--)
        *mcds__queue_at(connection, i) = *mcds__queue_at(connection, i - 1);
    connection->first++;
    connection->count--;
    return taken;
}

void mcds__queue_give_up_rest(struct mcds__connection *connection, const mcds_batch *batch,
                              const mcds_reason *trouble)
{
    while (!batch->independent && connection->encoded < connection->count &&
           mcds__queue_at(connection, connection->encoded)->batch == batch) {
        struct mcds__pending taken = mcds__queue_take_waiting(connection);
        mcds__queue_answer(connection, taken.batch, taken.index, MCDS_OUT_UNSENT, trouble);
    }
}

/* memcached (1.6.18) reads up to 16 KB from a TLS connection, or the rest of a value, and forgets to
 * look for more in the same record before it waits. So a record has only whole requests, and a
 * request longer than that has records of its own. */
#define RECORD_MAX 16384

/* The first encoded request that begins after a position in the stream. */
static uint32_t find_begin_after(const struct mcds__connection *connection, uint64_t position)
{
    uint32_t low = 0;
    for (uint32_t high = connection->encoded; low < high;) {
        uint32_t middle = low + (high - low) / 2;
        if (mcds__queue_begin(connection, middle) <= position)
            low = middle + 1;
        else
            high = middle;
    }
    assert(low <= connection->encoded);
    return low;
}

uint64_t mcds__connection_record_end(const void *context)
{
    const struct mcds__connection *connection = context;
    const struct mcds__socket *sock = &connection->socket;
    uint64_t end = sock->sent + (sock->out.length - sock->out_sent);
    uint32_t next = find_begin_after(connection, sock->sent);
    uint32_t beyond = find_begin_after(connection, sock->sent + RECORD_MAX);
    bool is_within = next > 0 && mcds__queue_begin(connection, next - 1) < sock->sent;
    if (!is_within && end <= sock->sent + RECORD_MAX)
        return end;
    if (!is_within && beyond > next)
        return mcds__queue_begin(connection, beyond - 1);
    return next < connection->encoded ? mcds__queue_begin(connection, next) : end;
}
