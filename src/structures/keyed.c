/* Keyed: the operations on the entries of a map that set and table share. */
#include "structures/keyed.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/value.h"

#define ELEMENT_MAX 1024
/* A value, the one that replaces it and other entries must fit into one key together. */
#define VALUE_PART 4

int mcds__keyed_open(struct mcds__keyed *keyed, const char *noun, mcds_store *store,
                     const char *name, const char *tag, uint8_t kind, uint8_t form,
                     const mcds_reason *const *forms)
{
    const mcds_env *env = mcds__store_env(store);
    struct mcds__key root;
    keyed->store = store;
    keyed->name = mcds__copy_string(env, name);
    if (keyed->name == NULL)
        return mcds__fail_memory(noun, name, NULL);
    mcds__key_begin(&root, mcds__store_ns(store), tag, name);
    mcds__map_init(&keyed->map, store, &root, kind, form, forms, 0);
    return MCDS_OK;
}

void mcds__keyed_close(struct mcds__keyed *keyed)
{
    mcds__map_destroy(&keyed->map);
    mcds__free(mcds__store_env(keyed->store), keyed->name);
}

int mcds__check_bytes(const struct mcds__operation_kind *kind, const char *name,
                      const char *what, mcds_bytes bytes)
{
    if (bytes.data == NULL && bytes.length > 0)
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING, .noun = kind->noun, .name = name,
                          .verb = kind->verb, .option = what);
    if (bytes.length == 0)
        return mcds__fail(MCDS_INVALID, EMPTY, .noun = kind->noun, .name = name,
                          .verb = kind->verb, .option = what);
    if (bytes.length > ELEMENT_MAX)
        return mcds__fail(MCDS_INVALID, TOO_LONG, .noun = kind->noun, .name = name,
                          .verb = kind->verb, .option = what, .wanted_max = ELEMENT_MAX,
                          MCDS__FOUND(bytes.length));
    return MCDS_OK;
}

static void release_update(struct mcds__operation *operation)
{
    mcds__map_update_free(&((struct mcds__keyed_update *)operation)->update);
}

enum mcds__step mcds__keyed_step_update(struct mcds__operation *operation)
{
    assert(operation->release == release_update);
    struct mcds__keyed_update *update = (struct mcds__keyed_update *)operation;
    enum mcds__step step = mcds__map_update_step(&update->update, operation);
    if (step != MCDS__DONE)
        return step;
    bool nothing = operation->result == MCDS_NOT_FOUND && update->update.must_exist;
    if (nothing)
        update->update.code = MCDS__MAP_ABSENT;
    if (operation->result == MCDS_OK || nothing)
        operation->result = update->take(&update->update, update->out);
    if (operation->result == MCDS_CORRUPT && update->update.code == MCDS__MAP_NO_NUMBER)
        return mcds__operation_explain(operation, MCDS_CORRUPT, MCDS__WHY(VALUE_NOT_A_NUMBER));
    return step;
}

static int fail_too_big(const struct mcds__keyed *keyed,
                        const struct mcds__operation_kind *kind, size_t length, uint64_t most)
{
    char wanted[32];
    (void)snprintf(wanted, sizeof wanted, "%llu here", (unsigned long long)most);
    return mcds__fail(MCDS_TOO_BIG, TOO_BIG, .noun = kind->noun, .name = keyed->name,
                      .verb = kind->verb, .option = "value", .wanted = wanted,
                      .wanted_max = (int64_t)most, MCDS__FOUND(length));
}

static int keyed_check_values(const struct mcds__keyed *keyed,
                              const struct mcds__operation_kind *kind,
                              const struct mcds__map_command *command)
{
    mcds_capabilities can;
    mcds__store_capabilities(keyed->store, &can);
    size_t longer = command->value.length > command->expected.length ? command->value.length
                                                                     : command->expected.length;
    if (longer > can.value_max / VALUE_PART)
        return fail_too_big(keyed, kind, longer, can.value_max / VALUE_PART);
    if (!can.compare_and_set)
        return mcds__fail_why(MCDS_UNSUPPORTED, MCDS__WHY(GROWTH_WITHOUT_CAS),
                              .noun = kind->noun, .name = keyed->name, .verb = kind->verb);
    return MCDS_OK;
}

int mcds__keyed_launch_update(struct mcds__keyed_update *update, struct mcds__keyed *keyed,
                              const struct mcds__operation_kind *kind,
                              const struct mcds__keyed_command *order, mcds_pipeline *pipeline,
                              uint64_t tag)
{
    int result = keyed_check_values(keyed, kind, &order->command);
    if (result != MCDS_OK)
        return result;
    if (update == NULL)
        update = mcds__pipeline_new(pipeline, &keyed->handle, kind, &result);
    if (update == NULL)
        return result;
    mcds__operation_begin(&update->base, kind, keyed->store, keyed->name, 0);
    assert(order->take != NULL);
    update->out = order->out;
    update->take = order->take;
    if (!mcds__map_update_begin(&update->update, &keyed->map, &order->command)) {
        mcds__pipeline_forget(pipeline, update);
        return mcds__fail_memory(kind->noun, keyed->name, kind->verb);
    }
    update->update.must_exist = order->must_exist;
    update->update.wants_code = order->wants_code;
    update->base.release = release_update;
    return mcds__launch(&update->base, pipeline, tag);
}

static void keyed_release_get(struct mcds__operation *operation)
{
    mcds__map_get_free(&((struct mcds__keyed_get *)operation)->get);
}

/* A waiting call reads without an operation where the store can show the key in place. */
struct taken {
    mcds_value *value_out;
    const mcds_env *env;
};

static bool keyed_take_value(void *context, mcds_bytes value)
{
    const struct taken *taken = context;
    return taken->value_out == NULL || mcds__value_set(taken->value_out, taken->env, value);
}

static bool get_at_once(struct mcds__keyed *keyed, mcds_bytes element, mcds_value *value_out,
                        int *result_out)
{
    struct taken taken = {value_out, keyed->map.env};
    return mcds__map_get_at_once(&keyed->map, element, keyed_take_value, &taken, result_out);
}

enum mcds__step mcds__keyed_step_get(struct mcds__operation *operation)
{
    struct mcds__keyed_get *get = (struct mcds__keyed_get *)operation;
    enum mcds__step step = mcds__map_get_step(&get->get, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK || get->value_out == NULL)
        return step;
    assert(get->get.value.data != NULL || get->get.value.length == 0);
    if (!mcds__value_set(get->value_out, operation->env, get->get.value))
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    return step;
}

int mcds__keyed_launch_get(struct mcds__keyed_get *get, struct mcds__keyed *keyed,
                           const struct mcds__operation_kind *kind, mcds_bytes element,
                           mcds_value *value_out, mcds_pipeline *pipeline, uint64_t tag)
{
    int result = MCDS_OK;
    if (get != NULL && get_at_once(keyed, element, value_out, &result))
        return result;
    if (get == NULL)
        get = mcds__pipeline_new(pipeline, &keyed->handle, kind, &result);
    if (get == NULL)
        return result;
    mcds__operation_begin(&get->base, kind, keyed->store, keyed->name, 0);
    get->value_out = value_out;
    if (!mcds__map_get_begin(&get->get, &keyed->map, element)) {
        mcds__pipeline_forget(pipeline, get);
        return mcds__fail_memory(kind->noun, keyed->name, kind->verb);
    }
    get->base.release = keyed_release_get;
    return mcds__launch(&get->base, pipeline, tag);
}

static void keyed_release_drop(struct mcds__operation *operation)
{
    mcds__map_scan_free(&((struct mcds__keyed_drop *)operation)->scan);
}

enum mcds__step mcds__keyed_step_drop(struct mcds__operation *operation)
{
    struct mcds__keyed_drop *drop = (struct mcds__keyed_drop *)operation;
    assert(drop->scan.erases);
    return mcds__map_scan_step(&drop->scan, operation);
}

int mcds__keyed_launch_drop(struct mcds__keyed_drop *drop, struct mcds__keyed *keyed,
                            const struct mcds__operation_kind *kind, mcds_pipeline *pipeline,
                            uint64_t tag)
{
    int result = MCDS_OK;
    if (drop == NULL)
        drop = mcds__pipeline_new(pipeline, &keyed->handle, kind, &result);
    if (drop == NULL)
        return result;
    mcds__operation_begin(&drop->base, kind, keyed->store, keyed->name, 0);
    mcds__map_scan_begin(&drop->scan, &keyed->map);
    drop->scan.erases = true;
    drop->base.release = keyed_release_drop;
    return mcds__launch(&drop->base, pipeline, tag);
}

int mcds__keyed_take_changed(const struct mcds__map_update *update, void *out)
{
    assert(out == NULL || update->wants_code);
    if (out != NULL)
        *(bool *)out = update->code == MCDS__MAP_CHANGED;
    return MCDS_OK;
}
