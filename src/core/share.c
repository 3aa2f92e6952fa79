/* Core share: the writer, and a look at all slots.
 *
 * Payload of the head's frame (type 'H', version 1): form u8 (1) | copies u8 | slots u8 */
#include "core/share.h"

#include <string.h>

#include "base/environment.h"
#include "base/frame.h"

#define HEAD_TYPE 'H'
#define HEAD_VERSION 1
#define HEAD_LENGTH 3
#define FORM_SHARES 1
#define TAG_HEAD "c1"
#define TAG_SLOT "cx1"
#define SUM_MAX (UINT64_C(1) << 61)

bool mcds__share_open(struct mcds__share *share, const mcds_env *env, const char *ns,
                      const char *name, uint32_t copies)
{
    share->env = env;
    share->copies = copies;
    share->flushed_ns = mcds__monotonic_ns(env);
    share->slots = MCDS_BATCH_MAX / copies - 1;
    mcds__key_begin(&share->head, ns, TAG_HEAD, name);
    for (uint32_t i = 0; i < share->slots; i++) {
        mcds__key_begin(&share->keys[i], ns, TAG_SLOT, name);
        mcds__key_add_number(&share->keys[i], i);
    }
    return pthread_mutex_init(&share->mutex, NULL) == 0;
}

void mcds__share_close(struct mcds__share *share)
{
    (void)pthread_mutex_destroy(&share->mutex);
}

bool mcds__share_add(struct mcds__share *share, int64_t delta,
                     struct mcds__share_addition *addition_out)
{
    (void)pthread_mutex_lock(&share->mutex);
    /* Shifted by 2^61, what lies between the bounds lies below 2^62. */
    uint64_t total = share->total + (uint64_t)delta;
    bool fits = total + SUM_MAX > 0 && total + SUM_MAX < 2 * SUM_MAX;
    if (fits) {
        share->total = total;
        *addition_out = (struct mcds__share_addition){++share->added, delta};
    }
    (void)pthread_mutex_unlock(&share->mutex);
    return fits;
}

const mcds_request *mcds__share_reply(const struct mcds__share_look *look, uint32_t copy,
                                      uint32_t slot)
{
    return &look->requests[copy * (look->share->slots + 1) + slot];
}

enum mcds__step mcds__share_ask_look(struct mcds__share_look *look,
                                     struct mcds__operation *operation)
{
    const struct mcds__share *share = look->share;
    uint32_t count = 0;
    for (uint32_t copy = 0; copy < share->copies; copy++)
        for (uint32_t slot = 0; slot <= share->slots; slot++)
            look->requests[count++] = (mcds_request){
                .command = MCDS_GET,
                .key = mcds__key_bytes(slot < share->slots ? &share->keys[slot] : &share->head),
                .route = mcds__key_bytes(&share->head),
                .copy = copy,
            };
    (void)mcds__operation_ask_repeatable(operation, look->requests, count);
    operation->batch.independent = true;
    return MCDS__ASK;
}

static bool is_answer(const mcds_reply *reply)
{
    return reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS;
}

const mcds_reply *mcds__share_trouble(const struct mcds__share_look *look)
{
    const mcds_reply *found = NULL;
    uint32_t count = look->share->copies * (look->share->slots + 1);
    for (uint32_t i = 0; i < count; i++)
        if (!is_answer(&look->requests[i].reply) &&
            (found == NULL || mcds__is_refusal(&look->requests[i].reply)))
            found = &look->requests[i].reply;
    return found;
}

static bool has_answered(const struct mcds__share_look *look, uint32_t copy)
{
    for (uint32_t slot = 0; slot <= look->share->slots; slot++)
        if (!is_answer(&mcds__share_reply(look, copy, slot)->reply))
            return false;
    return true;
}

bool mcds__share_is_head(mcds_bytes value, mcds_bytes key)
{
    mcds_bytes payload;
    return mcds__frame_open(value, HEAD_TYPE, HEAD_VERSION, key, &payload) ||
           mcds__frame_is_newer(value, HEAD_TYPE, HEAD_VERSION, key);
}

bool mcds__share_head_read(mcds_bytes value, mcds_bytes key, uint32_t *copies_out)
{
    mcds_bytes payload;
    if (!mcds__frame_open(value, HEAD_TYPE, HEAD_VERSION, key, &payload) || payload.length != 3)
        return false;
    *copies_out = ((const uint8_t *)payload.at)[1];
    return *copies_out >= 1 && *copies_out <= MCDS__SHARE_COPIES_MAX;
}

/* NULL: the head is ours; else why not. */
static const mcds_reason *check_head(const struct mcds__share *share, mcds_bytes value,
                                     struct mcds__difference *difference_out)
{
    mcds_bytes payload;
    *difference_out = (struct mcds__difference){"copies", share->copies, 0};
    if (mcds__frame_is_newer(value, HEAD_TYPE, HEAD_VERSION, mcds__key_bytes(&share->head)))
        return MCDS__WHY(NEWER);
    if (!mcds__frame_open(value, HEAD_TYPE, HEAD_VERSION, mcds__key_bytes(&share->head),
                          &payload) ||
        payload.length != HEAD_LENGTH)
        return MCDS__WHY(NOT_EXACT);
    const uint8_t *bytes = payload.at;
    if (bytes[0] == FORM_SHARES && bytes[1] == share->copies && bytes[2] == share->slots)
        return NULL;
    if (bytes[0] != FORM_SHARES || bytes[1] < 1 || bytes[1] > MCDS__SHARE_COPIES_MAX)
        return MCDS__WHY(NEWER_COUNTER);
    difference_out->found = bytes[1];
    return MCDS__WHY(OPTION_DIFFERS);
}

enum mcds__share_verdict mcds__share_judge(const struct mcds__share_look *look,
                                           struct mcds__operation *operation,
                                           enum mcds__share_server *servers)
{
    const struct mcds__share *share = look->share;
    uint32_t answered = 0;
    uint32_t whole = 0;
    bool anything = false;
    for (uint32_t copy = 0; copy < share->copies; copy++) {
        const mcds_request *head = mcds__share_reply(look, copy, share->slots);
        bool there = head->reply.outcome == MCDS_OUT_OK;
        servers[copy] = MCDS__SHARE_SILENT;
        if (there)
            operation->detail = check_head(share, mcds__reply_value(&operation->batch, head),
                                           &operation->difference);
        if (there && operation->detail != NULL) {
            operation->result = MCDS_INVALID;
            return MCDS__SHARE_FOREIGN;
        }
        if (!has_answered(look, copy))
            continue;
        servers[copy] = there ? MCDS__SHARE_WHOLE : MCDS__SHARE_EMPTY;
        answered++;
        whole += there;
        for (uint32_t slot = 0; slot <= share->slots; slot++)
            if (mcds__share_reply(look, copy, slot)->reply.outcome == MCDS_OUT_OK)
                anything = true;
    }
    if (whole > share->copies / 2)
        return MCDS__SHARE_SEEN;
    if (answered > share->copies / 2 && !anything)
        return MCDS__SHARE_NONE;
    return answered == share->copies ? MCDS__SHARE_LOST : MCDS__SHARE_AWAY;
}

int mcds__share_gather(const struct mcds__share_look *look, const mcds_batch *batch,
                       uint32_t slot, struct mcds__share_state *state_out)
{
    int found = 0;
    for (uint32_t copy = 0; copy < look->share->copies; copy++) {
        const mcds_request *request = mcds__share_reply(look, copy, slot);
        struct mcds__share_state state;
        if (request->reply.outcome != MCDS_OUT_OK)
            continue;
        if (!mcds__share_decode(mcds__reply_value(batch, request), request->key, &state))
            return -1;
        if (found++ == 0)
            *state_out = state;
        else if (!mcds__share_merge(state_out, &state))
            return -1;
    }
    return found;
}

mcds_request mcds__share_head_add(const struct mcds__share *share, uint32_t copy,
                                  uint8_t *value)
{
    value[MCDS__FRAME_HEAD] = FORM_SHARES;
    value[MCDS__FRAME_HEAD + 1] = (uint8_t)share->copies;
    value[MCDS__FRAME_HEAD + 2] = (uint8_t)share->slots;
    mcds_bytes key = mcds__key_bytes(&share->head);
    return (mcds_request){
        .command = MCDS_ADD,
        .key = key,
        .copy = copy,
        .value = {value, mcds__frame_seal(value, HEAD_TYPE, HEAD_VERSION, key, HEAD_LENGTH)},
    };
}
