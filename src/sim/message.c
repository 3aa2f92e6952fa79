/* Messages of the simulated network: their copies of requests and replies. */
#include "sim/message.h"

#include <assert.h>
#include <string.h>

#include "base/environment.h"

#define VALUES_MAX ((size_t)1 << 24)

static void unlink_message(struct mcds__sim_message *message)
{
    assert(message->all_previous != NULL || message->sim->messages == message);
    if (message->all_previous != NULL)
        message->all_previous->all_next = message->all_next;
    else
        message->sim->messages = message->all_next;
    if (message->all_next != NULL)
        message->all_next->all_previous = message->all_previous;
}

void mcds__sim_message_free(struct mcds__sim_message *message)
{
    unlink_message(message);
    mcds__buffer_free(&message->values);
    mcds__free(mcds_env_system(), message);
}

struct mcds__sim_message *mcds__sim_message_copy(struct mcds__sim_session *session,
                                                 mcds_batch *batch,
                                                 const struct mcds__sim_part *part)
{
    const mcds_env *env = mcds_env_system();
    size_t bytes = 0;
    for (uint32_t i = 0; i < part->count; i++) {
        const mcds_request *request = &batch->requests[part->index[i]];
        bytes += request->key.length + request->value.length;
    }
    size_t head = sizeof(struct mcds__sim_message) + part->count * sizeof(mcds_request);
    struct mcds__sim_message *message = mcds__allocate_zero(env, head + bytes);
    if (message == NULL)
        return NULL;
    uint8_t *at = (uint8_t *)message + head;
    for (uint32_t i = 0; i < part->count; i++) {
        mcds_request *copy = &message->requests[i];
        *copy = batch->requests[part->index[i]];
        message->index[i] = part->index[i];
        memcpy(at, copy->key.data, copy->key.length);
        copy->key.data = at;
        at += copy->key.length;
        if (copy->value.length > 0)
            memcpy(at, copy->value.data, copy->value.length);
        copy->value.data = at;
        at += copy->value.length;
    }
    assert(at == (uint8_t *)message + head + bytes);
    message->sim = session->client->sim;
    message->session = session;
    message->batch = batch;
    message->server = part->server;
    message->connection = session->links[part->server].connection;
    message->incarnation = message->sim->servers[part->server].incarnation;
    message->independent = batch->independent;
    message->count = part->count;
    mcds__buffer_init(&message->values, env, VALUES_MAX);
    return message;
}

void mcds__sim_batch_answered(struct mcds__sim_session *session, mcds_batch *batch,
                              uint32_t count)
{
    batch->answered += count;
    assert(count > 0 && batch->answered <= batch->count);
    if (batch->answered < batch->count)
        return;
    batch->next = NULL;
    *session->done_end = batch;
    session->done_end = &batch->next;
}

void mcds__sim_message_hand_back(struct mcds__sim_message *message, uint32_t answered,
                                 uint32_t sent)
{
    mcds_batch *batch = message->batch;
    size_t values_at = batch->values != NULL ? batch->values->length : 0;
    assert(answered <= sent && sent <= message->count && message->count <= batch->count);
    message->batch = NULL;
    bool fits = batch->values == NULL ||
                mcds_buffer_append(batch->values, message->values.data, message->values.length);
    for (uint32_t i = 0; i < message->count; i++) {
        mcds_reply *reply = &batch->requests[message->index[i]].reply;
        memset(reply, 0, sizeof *reply);
        if (i < answered)
            *reply = message->requests[i].reply;
        else
            reply->outcome = i < sent ? MCDS_OUT_UNKNOWN : MCDS_OUT_UNSENT;
        if (i < answered && reply->cas.unique != 0)
            reply->cas.connection = message->connection;
        if (!fits)
            reply->outcome = MCDS_OUT_UNKNOWN;
        reply->value_at += values_at;
        reply->peer = "server";
    }
    mcds__sim_batch_answered(message->session, batch, message->count);
}
