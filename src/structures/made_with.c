/* mcds_X_made_with: the options that a structure was made with, read from its root. */
#include <assert.h>

#include "base/environment.h"
#include "base/error.h"
#include "core/descriptor/descriptor.h"
#include "core/replica/replica.h"
#include "core/tally/tally.h"
#include "structures/structure.h"

struct root_read {
    struct mcds__operation base;
    uint8_t stage;
    enum mcds__descriptor_kind kind;
    uint32_t copies; /* out: of an exact counter, else 0 */
    struct mcds__descriptor descriptor;
    struct mcds__key key;
    mcds_request request;
};

/* A counter without stripes has its number here, or the head of an exact one. */
static enum mcds__step made_with_take_root(struct root_read *read)
{
    struct mcds__operation *operation = &read->base;
    assert(read->copies == 0);
    const mcds_reason *detail = NULL;
    uint64_t number;
    if (read->request.reply.outcome == MCDS_OUT_MISS)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    mcds_bytes value = mcds__operation_value(operation, &read->request);
    read->descriptor.count = 0;
    if (read->kind == MCDS__KIND_COUNTER &&
        (mcds__tally_parse(value, &number) ||
         mcds__replica_head_read(value, mcds__key_bytes(&read->key), &read->copies)))
        return mcds__operation_finish(operation, MCDS_OK);
    int result = mcds__descriptor_open(&read->descriptor, value, read->request.reply.flags,
                                       mcds__key_bytes(&read->key), read->kind, &detail);
    return mcds__operation_explain(operation, result, detail);
}

static enum mcds__step step_root(struct mcds__operation *operation)
{
    struct root_read *read = (struct root_read *)operation;
    enum mcds__step step = mcds__tally_read_step(&read->request, &read->key, 1, 0, &read->stage,
                                                 operation);
    return step == MCDS__DONE && operation->result == MCDS_OK ? made_with_take_root(read)
                                                              : step;
}

static int made_with_read_root(struct root_read *read, const char *noun, mcds_store *store,
                               const char *name, enum mcds__sized type, const void *options,
                               const char *tag, enum mcds__descriptor_kind kind)
{
    const struct mcds__operation_kind operation = {noun, "open", sizeof *read, step_root};
    int result = mcds__check_open(noun, "open", store, name, options);
    if (result == MCDS_OK)
        result = mcds__sized_check(type, options);
    if (result != MCDS_OK)
        return result;
    read->kind = kind;
    read->stage = 0;
    read->copies = 0;
    mcds__key_begin(&read->key, mcds__store_ns(store), tag, name);
    mcds__operation_begin(&read->base, &operation, store, name, 0);
    return mcds__launch(&read->base, NULL, 0);
}

/* This version does not write another number of settings. */
static int check_count(const struct root_read *read, const char *noun, const char *name,
                       uint8_t count)
{
    if (read->descriptor.count == count)
        return MCDS_OK;
    return mcds__fail_why(MCDS_CORRUPT, MCDS__WHY(FOREIGN), .noun = noun, .name = name,
                          .verb = "open");
}

int mcds_counter_made_with(mcds_store *store, const char *name, mcds_counter_options *options)
{
    struct root_read read;
    mcds_counter_options own;
    int result = made_with_read_root(&read, "counter", store, name,
                                     MCDS__SIZED_mcds_counter_options, options,
                                     MCDS__TAG_COUNTER, MCDS__KIND_COUNTER);
    if (result != MCDS_OK)
        return result;
    mcds__sized_take(MCDS__SIZED_mcds_counter_options, options, &own);
    own.stripes = read.descriptor.count > 0 ? (uint32_t)read.descriptor.settings[0] : 0;
    assert(read.copies == 0 || read.descriptor.count == 0);
    own.copies = read.copies;
    own.flags &= ~(uint32_t)MCDS_COUNTER_EXACT;
    if (read.copies > 0)
        own.flags |= MCDS_COUNTER_EXACT;
    mcds__sized_write(MCDS__SIZED_mcds_counter_options, options, &own);
    return MCDS_OK;
}

int mcds_visitors_made_with(mcds_store *store, const char *name, mcds_visitors_options *options)
{
    struct root_read read;
    mcds_visitors_options own;
    int result = made_with_read_root(&read, "visitors", store, name,
                                     MCDS__SIZED_mcds_visitors_options, options,
                                     MCDS__TAG_VISITORS, MCDS__KIND_VISITORS);
    if (result == MCDS_OK)
        result = check_count(&read, "visitors", name, 2);
    if (result != MCDS_OK)
        return result;
    mcds__sized_take(MCDS__SIZED_mcds_visitors_options, options, &own);
    assert(read.kind == MCDS__KIND_VISITORS && read.copies == 0);
    own.period_ms = read.descriptor.settings[0];
    own.members = (uint32_t)read.descriptor.settings[1];
    mcds__sized_write(MCDS__SIZED_mcds_visitors_options, options, &own);
    return MCDS_OK;
}

int mcds_online_made_with(mcds_store *store, const char *name, mcds_online_options *options)
{
    struct root_read read;
    mcds_online_options own;
    int result = made_with_read_root(&read, "online", store, name,
                                     MCDS__SIZED_mcds_online_options, options, MCDS__TAG_ONLINE,
                                     MCDS__KIND_ONLINE);
    if (result == MCDS_OK)
        result = check_count(&read, "online", name, 3);
    if (result != MCDS_OK)
        return result;
    mcds__sized_take(MCDS__SIZED_mcds_online_options, options, &own);
    own.width_ms = (uint32_t)read.descriptor.settings[0];
    own.buckets = (uint32_t)read.descriptor.settings[1];
    own.members = (uint32_t)read.descriptor.settings[2];
    mcds__sized_write(MCDS__SIZED_mcds_online_options, options, &own);
    return MCDS_OK;
}

int mcds_set_made_with(mcds_store *store, const char *name, mcds_set_options *options)
{
    struct root_read read;
    mcds_set_options own;
    int result = made_with_read_root(&read, "set", store, name, MCDS__SIZED_mcds_set_options,
                                     options, MCDS__TAG_SET, MCDS__KIND_SET);
    if (result != MCDS_OK)
        return result;
    mcds__sized_take(MCDS__SIZED_mcds_set_options, options, &own);
    own.form = (mcds_set_form)read.descriptor.form;
    mcds__sized_write(MCDS__SIZED_mcds_set_options, options, &own);
    return MCDS_OK;
}
