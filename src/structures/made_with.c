/* mcds_X_made_with: the options that a structure was made with, read from its root. That of a counter
 * is in structures/counter, because several places may have its root. */
#include <assert.h>

#include "base/environment.h"
#include "base/error.h"
#include "core/descriptor/descriptor.h"
#include "core/tally/tally.h"
#include "structures/structure.h"

struct root_read {
    struct mcds__operation base;
    uint8_t stage;
    enum mcds__descriptor_kind kind;
    struct mcds__descriptor descriptor;
    struct mcds__key key;
    mcds_request request;
};

static enum mcds__step made_with_take_root(struct root_read *read)
{
    struct mcds__operation *operation = &read->base;
    const mcds_reason *detail = NULL;
    if (read->request.reply.outcome == MCDS_OUT_MISS)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    mcds_bytes value = mcds__operation_value(operation, &read->request);
    read->descriptor.count = 0;
    int result = mcds__descriptor_open(&read->descriptor, value, read->request.reply.flags,
                                       mcds__key_bytes(&read->key), read->kind, &detail);
    return mcds__operation_explain(operation, result, detail);
}

static enum mcds__step step_root(struct mcds__operation *operation)
{
    struct root_read *read = (struct root_read *)operation;
    enum mcds__step step = mcds__tally_read_step(&read->request, &read->key, 1, NULL, 0,
                                                 &read->stage, operation);
    return step == MCDS__DONE && operation->result == MCDS_OK ? made_with_take_root(read)
                                                              : step;
}

union made_with_options {
    mcds_visitors_options visitors;
    mcds_online_options online;
    mcds_views_options views;
    mcds_set_options set;
};

/* Set the options that the root has. False: this version does not write that number of them. */
static bool made_with_take(const struct root_read *read, union made_with_options *own)
{
    const uint8_t count = read->descriptor.count;
    const uint64_t *settings = read->descriptor.settings;
    switch (read->kind) {
    case MCDS__KIND_VISITORS:
        own->visitors.period_ms = settings[0];
        own->visitors.members = (uint32_t)settings[1];
        return count == 2;
    case MCDS__KIND_ONLINE:
        own->online.width_ms = (uint32_t)settings[0];
        own->online.buckets = (uint32_t)settings[1];
        own->online.members = (uint32_t)settings[2];
        return count == 3;
    case MCDS__KIND_VIEWS:
        own->views.flush_ms = (uint32_t)settings[0];
        if (count == 2)
            own->views.database = (mcds_views_database)settings[1];
        return count == 1 || count == 2; /* 1: of a build before version 0.1 */
    default:
        assert(read->kind == MCDS__KIND_SET);
        own->set.form = (mcds_set_form)read->descriptor.form;
        return true;
    }
}

static int made_with(const char *noun, const char *tag, enum mcds__descriptor_kind kind,
                     enum mcds__sized type, mcds_store *store, const char *name, void *options)
{
    struct root_read read = {.kind = kind};
    const struct mcds__operation_kind operation = {noun, "open", sizeof read, step_root, NULL};
    union made_with_options own;
    int result = mcds__check_open(noun, "open", store, name, options, MCDS__MADE_WITH_NEEDED);
    if (result == MCDS_OK)
        result = mcds__sized_check(type, options);
    if (result != MCDS_OK)
        return result;
    mcds__key_begin(&read.key, mcds__store_ns(store), tag, name);
    mcds__operation_begin(&read.base, &operation, store, name, 0);
    result = mcds__call_launch(&read.base, NULL);
    if (result != MCDS_OK)
        return result;
    mcds__sized_take(type, options, &own);
    if (!made_with_take(&read, &own))
        return mcds__fail_why(MCDS_CORRUPT, MCDS__WHY(FOREIGN), .noun = noun, .name = name,
                              .verb = "open", .peer = read.base.asked, .key = read.key.bytes);
    mcds__sized_write(type, options, &own);
    return MCDS_OK;
}

int mcds_visitors_made_with(mcds_store *store, const char *name, mcds_visitors_options *options)
{
    return made_with("visitors", MCDS__TAG_VISITORS, MCDS__KIND_VISITORS,
                     MCDS__SIZED_mcds_visitors_options, store, name, options);
}

int mcds_online_made_with(mcds_store *store, const char *name, mcds_online_options *options)
{
    return made_with("online", MCDS__TAG_ONLINE, MCDS__KIND_ONLINE,
                     MCDS__SIZED_mcds_online_options, store, name, options);
}

int mcds_views_made_with(mcds_store *store, const char *name, mcds_views_options *options)
{
    return made_with("views", MCDS__TAG_VIEWS, MCDS__KIND_VIEWS, MCDS__SIZED_mcds_views_options,
                     store, name, options);
}

int mcds_set_made_with(mcds_store *store, const char *name, mcds_set_options *options)
{
    return made_with("set", MCDS__TAG_SET, MCDS__KIND_SET, MCDS__SIZED_mcds_set_options, store,
                     name, options);
}
