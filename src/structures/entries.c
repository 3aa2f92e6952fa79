/* What set and table share: a handle on a fold, and the operations on its entries. */
#include "structures/entries.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/value.h"

#define ELEMENT_MAX 1024
/* A value and the one that replaces it must fit into one key side by side, and others with them. */
#define VALUE_PART 4

int mcds__entries_open(struct mcds__entries *entries, const char *noun, mcds_store *store,
                       const char *name, const char *tag, uint8_t kind, uint8_t form,
                       const mcds_reason *const *forms)
{
    const mcds_env *env = mcds__store_env(store);
    struct mcds__key root;
    entries->store = store;
    entries->name = mcds__copy_string(env, name);
    if (entries->name == NULL)
        return mcds__fail_memory(noun, name, NULL);
    mcds__key_begin(&root, mcds__store_ns(store), tag, name);
    mcds__fold_init(&entries->fold, store, &root, kind, form, forms, 0);
    return MCDS_OK;
}

void mcds__entries_close(struct mcds__entries *entries)
{
    mcds__fold_destroy(&entries->fold);
    mcds__free(mcds__store_env(entries->store), entries->name);
}

int mcds__check_bytes(const struct mcds__operation_kind *kind, const char *name,
                      const char *what, mcds_bytes bytes)
{
    if (bytes.at == NULL || bytes.length == 0)
        return mcds__fail(MCDS_INVALID, EMPTY, .noun = kind->noun, .name = name,
                          .verb = kind->verb, .option = what);
    if (bytes.length > ELEMENT_MAX)
        return mcds__fail(MCDS_INVALID, TOO_LONG, .noun = kind->noun, .name = name,
                          .verb = kind->verb, .option = what, .wanted_max = ELEMENT_MAX,
                          .found_number = mcds__clamped(bytes.length));
    return MCDS_OK;
}

static void release_change(struct mcds__operation *operation)
{
    mcds__fold_change_free(&((struct mcds__entries_change *)operation)->change);
}

enum mcds__step mcds__entries_step_change(struct mcds__operation *operation)
{
    struct mcds__entries_change *change = (struct mcds__entries_change *)operation;
    enum mcds__step step = mcds__fold_change_step(&change->change, operation);
    if (step != MCDS__DONE)
        return step;
    bool nothing = operation->result == MCDS_NOT_FOUND && change->change.must_exist;
    if (nothing)
        change->change.code = MCDS__FOLD_ABSENT;
    if (operation->result == MCDS_OK || nothing)
        operation->result = change->take(&change->change, change->out);
    if (operation->result == MCDS_CORRUPT && change->change.code == MCDS__FOLD_NO_NUMBER)
        operation->detail = MCDS__WHY(VALUE_NOT_A_NUMBER);
    return step;
}

static int fail_too_big(const struct mcds__entries *entries,
                        const struct mcds__operation_kind *kind, size_t length, uint64_t most)
{
    char wanted[32];
    (void)snprintf(wanted, sizeof wanted, "%llu here", (unsigned long long)most);
    return mcds__fail(MCDS_TOO_BIG, TOO_BIG, .noun = kind->noun, .name = entries->name,
                      .verb = kind->verb, .option = "value", .wanted = wanted,
                      .wanted_max = (int64_t)most, .found_number = mcds__clamped(length));
}

static int check_values(const struct mcds__entries *entries,
                        const struct mcds__operation_kind *kind,
                        const struct mcds__fold_command *command)
{
    mcds_capabilities can;
    mcds__store_capabilities(entries->store, &can);
    size_t longer = command->value.length > command->expected.length ? command->value.length
                                                                     : command->expected.length;
    if (longer > can.value_max / VALUE_PART)
        return fail_too_big(entries, kind, longer, can.value_max / VALUE_PART);
    if (!can.compare_and_set)
        return mcds__fail_why(MCDS_UNSUPPORTED, MCDS__WHY(GROWTH_WITHOUT_CAS),
                              .noun = kind->noun, .name = entries->name, .verb = kind->verb);
    return MCDS_OK;
}

int mcds__entries_launch_change(struct mcds__entries_change *change,
                                struct mcds__entries *entries,
                                const struct mcds__operation_kind *kind,
                                const struct mcds__entries_order *order,
                                mcds_pipeline *pipeline, uint64_t tag)
{
    int result = check_values(entries, kind, &order->command);
    if (result != MCDS_OK)
        return result;
    if (change == NULL)
        change = mcds__pipeline_new(pipeline, &entries->handle, kind, &result);
    if (change == NULL)
        return result;
    mcds__operation_begin(&change->base, kind, entries->store, entries->name, 0);
    change->out = order->out;
    change->take = order->take;
    if (!mcds__fold_change_begin(&change->change, &entries->fold, &order->command)) {
        mcds__pipeline_forget(pipeline, change);
        return mcds__fail_memory(kind->noun, entries->name, kind->verb);
    }
    change->change.must_exist = order->must_exist;
    change->change.wants_code = order->wants_code;
    change->base.release = release_change;
    return mcds__launch(&change->base, pipeline, tag);
}

static void release_look(struct mcds__operation *operation)
{
    mcds__fold_look_free(&((struct mcds__entries_look *)operation)->look);
}

/* Of a waiting call: what the store can show at once needs no operation. */
struct taken {
    mcds_value *value_out;
    const mcds_env *env;
};

static bool take_value(void *context, mcds_bytes value)
{
    const struct taken *taken = context;
    return taken->value_out == NULL || mcds__value_set(taken->value_out, taken->env, value);
}

static bool look_at_once(struct mcds__entries *entries, mcds_bytes element,
                         mcds_value *value_out, int *result_out)
{
    struct taken taken = {value_out, entries->fold.env};
    return mcds__fold_look_at_once(&entries->fold, element, take_value, &taken, result_out);
}

enum mcds__step mcds__entries_step_look(struct mcds__operation *operation)
{
    struct mcds__entries_look *look = (struct mcds__entries_look *)operation;
    enum mcds__step step = mcds__fold_look_step(&look->look, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK || look->value_out == NULL)
        return step;
    if (!mcds__value_set(look->value_out, operation->env, look->look.value))
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    return step;
}

int mcds__entries_launch_look(struct mcds__entries_look *look, struct mcds__entries *entries,
                              const struct mcds__operation_kind *kind, mcds_bytes element,
                              mcds_value *value_out, mcds_pipeline *pipeline, uint64_t tag)
{
    int result = MCDS_OK;
    if (look != NULL && look_at_once(entries, element, value_out, &result))
        return result;
    if (look == NULL)
        look = mcds__pipeline_new(pipeline, &entries->handle, kind, &result);
    if (look == NULL)
        return result;
    mcds__operation_begin(&look->base, kind, entries->store, entries->name, 0);
    look->value_out = value_out;
    if (!mcds__fold_look_begin(&look->look, &entries->fold, element)) {
        mcds__pipeline_forget(pipeline, look);
        return mcds__fail_memory(kind->noun, entries->name, kind->verb);
    }
    look->base.release = release_look;
    return mcds__launch(&look->base, pipeline, tag);
}

static void release_drop(struct mcds__operation *operation)
{
    mcds__fold_sweep_free(&((struct mcds__entries_drop *)operation)->sweep);
}

enum mcds__step mcds__entries_step_drop(struct mcds__operation *operation)
{
    struct mcds__entries_drop *drop = (struct mcds__entries_drop *)operation;
    return mcds__fold_sweep_step(&drop->sweep, operation);
}

int mcds__entries_launch_drop(struct mcds__entries_drop *drop, struct mcds__entries *entries,
                              const struct mcds__operation_kind *kind, mcds_pipeline *pipeline,
                              uint64_t tag)
{
    int result = MCDS_OK;
    if (drop == NULL)
        drop = mcds__pipeline_new(pipeline, &entries->handle, kind, &result);
    if (drop == NULL)
        return result;
    mcds__operation_begin(&drop->base, kind, entries->store, entries->name, 0);
    mcds__fold_sweep_begin(&drop->sweep, &entries->fold);
    drop->sweep.erases = true;
    drop->base.release = release_drop;
    return mcds__launch(&drop->base, pipeline, tag);
}

int mcds__entries_take_changed(const struct mcds__fold_change *change, void *out)
{
    if (out != NULL)
        *(bool *)out = change->code == MCDS__FOLD_CHANGED;
    return MCDS_OK;
}
