/* Replica: the state of one writer, and the survey of all slots.
 *
 * Payload of the head's frame (type 'H', version 1): form u8 (1) | copies u8 | slots u8 */
#include "core/replica/replica.h"

#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/frame.h"

#define HEAD_TYPE 'H'
#define HEAD_VERSION 1
#define HEAD_LENGTH 3
#define FORM_REPLICAS 1
#define TAG_HEAD "c1"
#define TAG_SLOT "cx1"
#define TAG_TOMBSTONE "cy1"
#define SUM_MAX (UINT64_C(1) << 61)

bool mcds__replica_open(struct mcds__replica *replica, const mcds_env *env, const char *ns,
                        const char *name, uint32_t copies)
{
    assert(copies >= 1 && copies <= MCDS__REPLICA_COPIES_MAX);
    replica->env = env;
    replica->copies = copies;
    replica->flushed_ns = mcds__monotonic_ns(env);
    replica->slots = MCDS_BATCH_MAX / copies - 1;
    mcds__key_begin(&replica->head, ns, TAG_HEAD, name);
    mcds__key_begin(&replica->tombstone, ns, TAG_TOMBSTONE, name);
    for (uint32_t i = 0; i < replica->slots; i++) {
        mcds__key_begin(&replica->keys[i], ns, TAG_SLOT, name);
        mcds__key_add_number(&replica->keys[i], i);
    }
    assert(replica->slots >= 1 && replica->slots <= MCDS__REPLICA_SLOTS_MAX);
    return pthread_mutex_init(&replica->mutex, NULL) == 0;
}

void mcds__replica_end(struct mcds__replica *replica)
{
    (void)pthread_mutex_lock(&replica->mutex);
    assert(!replica->is_closing);
    replica->is_closing = true;
    (void)pthread_mutex_unlock(&replica->mutex);
}

void mcds__replica_close(struct mcds__replica *replica)
{
    assert(!replica->busy);
    (void)pthread_mutex_destroy(&replica->mutex);
}

bool mcds__replica_add(struct mcds__replica *replica, int64_t delta,
                       struct mcds__replica_addition *addition_out)
{
    (void)pthread_mutex_lock(&replica->mutex);
    /* Shifted by 2^61, a number between the bounds is below 2^62. */
    uint64_t total = replica->total + (uint64_t)delta;
    bool fits = total + SUM_MAX > 0 && total + SUM_MAX < 2 * SUM_MAX;
    assert(replica->flushed <= replica->added && replica->sent <= replica->added);
    if (fits) {
        replica->total = total;
        *addition_out = (struct mcds__replica_addition){++replica->added, delta};
    }
    (void)pthread_mutex_unlock(&replica->mutex);
    return fits;
}

const mcds_request *mcds__replica_reply(const struct mcds__replica_survey *survey,
                                        uint32_t copy, uint32_t slot)
{
    assert(copy < survey->replica->copies && slot <= survey->replica->slots);
    return &survey->requests[copy * (survey->replica->slots + 1) + slot];
}

enum mcds__step mcds__replica_ask_survey(struct mcds__replica_survey *survey,
                                         struct mcds__operation *operation)
{
    const struct mcds__replica *replica = survey->replica;
    uint32_t count = 0;
    for (uint32_t copy = 0; copy < replica->copies; copy++)
        for (uint32_t slot = 0; slot <= replica->slots; slot++)
            survey->requests[count++] = (mcds_request){
                .command = MCDS_GET,
                .key = mcds__key_bytes(slot < replica->slots ? &replica->keys[slot]
                                                             : &replica->head),
                .route = mcds__key_bytes(&replica->head),
                .copy = copy,
            };
    assert(count <= MCDS_BATCH_MAX);
    (void)mcds__operation_ask_repeatable(operation, survey->requests, count);
    operation->batch.independent = true;
    return MCDS__ASK;
}

static bool replica_is_answer(const mcds_reply *reply)
{
    return reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS;
}

const mcds_reply *mcds__replica_trouble(const struct mcds__replica_survey *survey)
{
    const mcds_reply *found = NULL;
    uint32_t count = survey->replica->copies * (survey->replica->slots + 1);
    for (uint32_t i = 0; i < count; i++)
        if (!replica_is_answer(&survey->requests[i].reply) &&
            (found == NULL || mcds__is_refusal(&survey->requests[i].reply)))
            found = &survey->requests[i].reply;
    return found;
}

static bool has_answered(const struct mcds__replica_survey *survey, uint32_t copy)
{
    for (uint32_t slot = 0; slot <= survey->replica->slots; slot++)
        if (!replica_is_answer(&mcds__replica_reply(survey, copy, slot)->reply))
            return false;
    return true;
}

bool mcds__replica_is_head(mcds_bytes value, mcds_bytes key)
{
    mcds_bytes payload;
    return mcds__frame_open(value, HEAD_TYPE, HEAD_VERSION, key, &payload) ||
           mcds__frame_is_newer(value, HEAD_TYPE, HEAD_VERSION, key);
}

bool mcds__replica_head_read(mcds_bytes value, mcds_bytes key, uint32_t *copies_out)
{
    mcds_bytes payload;
    if (!mcds__frame_open(value, HEAD_TYPE, HEAD_VERSION, key, &payload) || payload.length != 3)
        return false;
    *copies_out = ((const uint8_t *)payload.data)[1];
    return *copies_out >= 1 && *copies_out <= MCDS__REPLICA_COPIES_MAX;
}

/* NULL: the head matches this handle; else the reason why it does not. */
static const mcds_reason *check_head(const struct mcds__replica *replica, mcds_bytes value,
                                     struct mcds__difference *difference_out)
{
    mcds_bytes payload;
    *difference_out = (struct mcds__difference){"copies", replica->copies, 0};
    if (mcds__frame_is_newer(value, HEAD_TYPE, HEAD_VERSION, mcds__key_bytes(&replica->head)))
        return MCDS__WHY(NEWER);
    if (!mcds__frame_open(value, HEAD_TYPE, HEAD_VERSION, mcds__key_bytes(&replica->head),
                          &payload) ||
        payload.length != HEAD_LENGTH)
        return MCDS__WHY(NOT_EXACT);
    const uint8_t *bytes = payload.data;
    if (bytes[0] == FORM_REPLICAS && bytes[1] == replica->copies && bytes[2] == replica->slots)
        return NULL;
    if (bytes[0] != FORM_REPLICAS || bytes[1] < 1 || bytes[1] > MCDS__REPLICA_COPIES_MAX)
        return MCDS__WHY(NEWER_COUNTER);
    difference_out->found = bytes[1];
    return MCDS__WHY(OPTION_DIFFERS);
}

enum mcds__replica_verdict mcds__replica_judge(const struct mcds__replica_survey *survey,
                                               struct mcds__operation *operation,
                                               enum mcds__replica_server *servers)
{
    const struct mcds__replica *replica = survey->replica;
    uint32_t answered = 0;
    uint32_t whole = 0;
    bool has_slots = false;
    bool has_heads = false;
    for (uint32_t copy = 0; copy < replica->copies; copy++) {
        const mcds_request *head = mcds__replica_reply(survey, copy, replica->slots);
        bool there = head->reply.outcome == MCDS_OUT_OK;
        servers[copy] = MCDS__REPLICA_SILENT;
        if (there)
            operation->detail = check_head(replica, mcds__operation_value(operation, head),
                                           &operation->difference);
        if (there && operation->detail != NULL) {
            (void)mcds__operation_explain(operation, MCDS_INVALID, operation->detail);
            return MCDS__REPLICA_FOREIGN;
        }
        if (!has_answered(survey, copy))
            continue;
        servers[copy] = there ? MCDS__REPLICA_WHOLE : MCDS__REPLICA_EMPTY;
        answered++;
        whole += there;
        has_heads = has_heads || there;
        for (uint32_t slot = 0; slot < replica->slots; slot++)
            if (mcds__replica_reply(survey, copy, slot)->reply.outcome == MCDS_OUT_OK)
                has_slots = true;
    }
    assert(whole <= answered && answered <= replica->copies);
    /* With an even number of copies, half of them also share one with each majority. */
    bool is_half = answered == replica->copies && 2 * whole == replica->copies;
    if (whole > replica->copies / 2 || is_half)
        return MCDS__REPLICA_SEEN;
    /* Heads alone, on fewer servers: another client is making the counter. */
    if (!has_slots &&
        (answered == replica->copies || (answered > replica->copies / 2 && !has_heads)))
        return MCDS__REPLICA_NONE;
    return answered == replica->copies ? MCDS__REPLICA_LOST : MCDS__REPLICA_AWAY;
}

int mcds__replica_gather(const struct mcds__replica_survey *survey,
                         struct mcds__operation *operation, uint32_t slot,
                         struct mcds__replica_state *state_out)
{
    int found = 0;
    for (uint32_t copy = 0; copy < survey->replica->copies; copy++) {
        const mcds_request *request = mcds__replica_reply(survey, copy, slot);
        struct mcds__replica_state state;
        if (request->reply.outcome != MCDS_OUT_OK)
            continue;
        if (!mcds__replica_decode(mcds__operation_value(operation, request), request->key,
                                  &state))
            return -1;
        if (found++ == 0)
            mcds__replica_copy_state(state_out, &state);
        else if (!mcds__replica_merge(state_out, &state))
            return -1;
    }
    return found;
}

mcds_request mcds__replica_head_add(const struct mcds__replica *replica, uint32_t copy,
                                    uint8_t *value)
{
    value[MCDS__FRAME_HEAD] = FORM_REPLICAS;
    value[MCDS__FRAME_HEAD + 1] = (uint8_t)replica->copies;
    value[MCDS__FRAME_HEAD + 2] = (uint8_t)replica->slots;
    mcds_bytes key = mcds__key_bytes(&replica->head);
    return (mcds_request){
        .command = MCDS_ADD,
        .options = MCDS_NEEDS_CAS,
        .key = key,
        .copy = copy,
        .value = {value, mcds__frame_seal(value, HEAD_TYPE, HEAD_VERSION, key, HEAD_LENGTH)},
    };
}
