/* Counter: mcds_counter_made_with, a read of the root.
 *
 *   ROOT    get root                     of a counter that exists, this is all
 *   COPIES  get root on other servers    if it is missing, or its server does not answer
 *
 * The root of a counter with copies is on as many servers. A server that returned empty lacks it
 * until a reader of the counter has filled it. */
#include <assert.h>

#include "base/error.h"
#include "core/descriptor/descriptor.h"
#include "structures/counter/counter.h"

enum { MADE_BEGIN, MADE_ROOT, MADE_COPIES };

struct counter_made_with {
    struct mcds__operation base;
    uint8_t stage;
    uint32_t servers; /* that may have the root */
    /* Out: of one of the three forms. */
    uint64_t number;
    uint32_t copies;
    uint32_t stripes;
    struct mcds__key key;
    mcds_request requests[MCDS__REPLICA_COPIES_MAX];
};

/* Ask these servers. One that does not answer delays no other. */
static enum mcds__step made_ask(struct counter_made_with *read, uint8_t stage, uint32_t first,
                                uint32_t end)
{
    assert(first < end && end <= MCDS__REPLICA_COPIES_MAX);
    read->stage = stage;
    for (uint32_t copy = first; copy < end; copy++)
        read->requests[copy] = (mcds_request){
            .command = MCDS_GET, .key = mcds__key_bytes(&read->key), .copy = copy};
    (void)mcds__operation_ask_repeatable(&read->base, &read->requests[first], end - first);
    read->base.batch.independent = true;
    return MCDS__ASK;
}

static bool made_is_head(struct counter_made_with *read, const mcds_request *request)
{
    return mcds__replica_head_read(mcds__operation_value(&read->base, request), request->key,
                                   &read->copies);
}

/* The number of a counter in one key, the head of one with copies, or the settings of stripes. */
static enum mcds__step made_take_root(struct counter_made_with *read)
{
    struct mcds__operation *operation = &read->base;
    const mcds_request *request = &read->requests[0];
    const mcds_reason *detail = NULL;
    struct mcds__descriptor descriptor;
    mcds_bytes value = mcds__operation_value(operation, request);
    if (mcds__tally_parse(value, &read->number) || made_is_head(read, request))
        return mcds__operation_finish(operation, MCDS_OK);
    int result = mcds__descriptor_open(&descriptor, value, request->reply.flags, request->key,
                                       MCDS__KIND_COUNTER, &detail);
    if (result == MCDS_OK && descriptor.count > 0)
        read->stripes = (uint32_t)descriptor.settings[0];
    return mcds__operation_explain(operation, result, detail);
}

/* The reply of a server without which it is not known that there is no counter. NULL: whatever the
 * number of copies, a majority of them is on servers that did answer. */
static const mcds_reply *made_trouble(const struct counter_made_with *read)
{
    const mcds_reply *trouble = NULL;
    uint32_t silent = 0;
    for (uint32_t copy = 0; copy < read->servers; copy++) {
        const mcds_reply *reply = &read->requests[copy].reply;
        if (reply->outcome != MCDS_OUT_OK && reply->outcome != MCDS_OUT_MISS) {
            silent++;
            trouble = trouble != NULL ? trouble : reply;
        }
        if (2 * silent >= copy + 1)
            return trouble;
    }
    return NULL;
}

static enum mcds__step made_finish(struct counter_made_with *read)
{
    const mcds_reply *trouble = made_trouble(read);
    read->stage = MADE_BEGIN;
    read->copies = 0;
    return trouble != NULL ? mcds__operation_retry(&read->base, trouble)
                           : mcds__operation_finish(&read->base, MCDS_NOT_FOUND);
}

static enum mcds__step made_take_copies(struct counter_made_with *read)
{
    for (uint32_t copy = 1; copy < read->servers; copy++)
        if (read->requests[copy].reply.outcome == MCDS_OUT_OK &&
            made_is_head(read, &read->requests[copy]) && read->copies > copy)
            return mcds__operation_finish(&read->base, MCDS_OK);
    return made_finish(read);
}

static enum mcds__step counter_step_made_with(struct mcds__operation *operation)
{
    struct counter_made_with *read = (struct counter_made_with *)operation;
    assert(read->servers >= 1 && read->servers <= MCDS__REPLICA_COPIES_MAX);
    switch (read->stage) {
    case MADE_BEGIN:
        return made_ask(read, MADE_ROOT, 0, 1);
    case MADE_ROOT:
        if (read->requests[0].reply.outcome == MCDS_OUT_OK)
            return made_take_root(read);
        return read->servers > 1 ? made_ask(read, MADE_COPIES, 1, read->servers)
                                 : made_finish(read);
    default:
        return made_take_copies(read);
    }
}

static const struct mcds__operation_kind made_with_kind = {
    "counter", "open", sizeof(struct counter_made_with), counter_step_made_with, NULL};

int mcds_counter_made_with(mcds_store *store, const char *name, mcds_counter_options *options)
{
    struct counter_made_with read = {.stage = MADE_BEGIN};
    mcds_counter_options own;
    int result = mcds__check_open("counter", "open", store, name, options,
                                  MCDS__MADE_WITH_NEEDED);
    if (result == MCDS_OK)
        result = mcds__sized_check(MCDS__SIZED_mcds_counter_options, options);
    if (result != MCDS_OK)
        return result;
    read.servers = mcds__store_can(store).places;
    if (read.servers > MCDS__REPLICA_COPIES_MAX)
        read.servers = MCDS__REPLICA_COPIES_MAX;
    mcds__key_begin(&read.key, mcds__store_ns(store), MCDS__TAG_COUNTER, name);
    mcds__operation_begin(&read.base, &made_with_kind, store, name, 0);
    result = mcds__call_launch(&read.base, NULL);
    if (result != MCDS_OK)
        return result;
    mcds__sized_take(MCDS__SIZED_mcds_counter_options, options, &own);
    own.stripes = read.stripes;
    own.copies = read.copies;
    own.flags &= ~(uint32_t)MCDS_COUNTER_EXACT;
    own.flags |= read.copies > 0 ? MCDS_COUNTER_EXACT : 0;
    own.flags |= read.number >= MCDS_COUNTER_MAX ? MCDS_COUNTER_SIGNED : 0;
    mcds__sized_write(MCDS__SIZED_mcds_counter_options, options, &own);
    return MCDS_OK;
}
