/* Keyed: the operations on the entries of a map that set, table and limit share. */
#include "structures/keyed.h"

#include <assert.h>
#include <stdio.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/value.h"

/* A value, the one that replaces it and other entries must fit into one key together. */
#define VALUE_PART 4

void mcds__keyed_destroy(struct mcds__handle *handle)
{
    mcds__map_destroy(&((struct mcds__keyed *)handle)->map);
}

struct mcds__keyed *mcds__keyed_open(const char *noun, mcds_store *store, const char *name,
                                     const char *tag, uint8_t kind, uint8_t form,
                                     const mcds_reason *const *forms)
{
    struct mcds__key root;
    struct mcds__keyed *keyed = mcds__handle_open(noun, store, name, sizeof *keyed,
                                                  mcds__keyed_destroy);
    if (keyed == NULL)
        return NULL;
    mcds__key_begin(&root, mcds__store_ns(store), tag, name);
    mcds__map_init(&keyed->map, store, &root, kind, form, forms, 0);
    return keyed;
}

void mcds__keyed_release_update(struct mcds__operation *operation)
{
    mcds__map_update_free(&((struct mcds__keyed_update *)operation)->update);
}

enum mcds__step mcds__keyed_step_update(struct mcds__operation *operation)
{
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
    return mcds__fail(MCDS_TOO_BIG, TOO_BIG, MCDS__CALL(kind, keyed->handle.name),
                      .option = "value", .wanted = wanted, .wanted_max = (int64_t)most,
                      MCDS__FOUND(length));
}

static int keyed_check_values(const struct mcds__keyed *keyed,
                              const struct mcds__operation_kind *kind,
                              const struct mcds__map_command *command)
{
    const mcds_capabilities can = mcds__store_can(keyed->handle.store);
    uint64_t most = can.value_max / VALUE_PART;
    size_t longer = command->value.length > command->expected.length ? command->value.length
                                                                     : command->expected.length;
    if (longer > most)
        return fail_too_big(keyed, kind, longer, most);
    if (can.compare_and_set)
        return MCDS_OK;
    return mcds__fail_why(MCDS_UNSUPPORTED, MCDS__WHY(GROWTH_WITHOUT_CAS),
                          MCDS__CALL(kind, keyed->handle.name));
}

int mcds__keyed_launch_update(struct mcds__keyed *keyed,
                              const struct mcds__operation_kind *kind,
                              const struct mcds__keyed_command *order,
                              const struct mcds__start *start)
{
    int result = keyed_check_values(keyed, kind, &order->command);
    if (result != MCDS_OK)
        return result;
    struct mcds__keyed_update own;
    struct mcds__keyed_update *update = mcds__call_begin(&own.base, kind, &keyed->handle, start,
                                                         &result);
    if (update == NULL)
        return result;
    assert(order->take != NULL);
    update->out = order->out;
    update->take = order->take;
    if (!mcds__map_update_begin(&update->update, &keyed->map, &order->command)) {
        mcds__call_forget(start, update);
        return mcds__fail_memory(kind->noun, keyed->handle.name, kind->verb);
    }
    update->update.must_exist = order->must_exist;
    update->update.wants_code = order->wants_code;
    return mcds__call_launch(&update->base, start);
}

void mcds__keyed_release_get(struct mcds__operation *operation)
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

int mcds__keyed_launch_get(struct mcds__keyed *keyed, const struct mcds__operation_kind *kind,
                           mcds_bytes element, mcds_value *value_out,
                           const struct mcds__start *start)
{
    int result = MCDS_OK;
    if (start == NULL && get_at_once(keyed, element, value_out, &result))
        return result;
    struct mcds__keyed_get own;
    struct mcds__keyed_get *get = mcds__call_begin(&own.base, kind, &keyed->handle, start,
                                                   &result);
    if (get == NULL)
        return result;
    get->value_out = value_out;
    if (!mcds__map_get_begin(&get->get, &keyed->map, element)) {
        mcds__call_forget(start, get);
        return mcds__fail_memory(kind->noun, keyed->handle.name, kind->verb);
    }
    return mcds__call_launch(&get->base, start);
}

void mcds__keyed_release_drop(struct mcds__operation *operation)
{
    mcds__map_scan_free(&((struct mcds__keyed_drop *)operation)->scan);
}

enum mcds__step mcds__keyed_step_drop(struct mcds__operation *operation)
{
    struct mcds__keyed_drop *drop = (struct mcds__keyed_drop *)operation;
    assert(drop->scan.erases);
    return mcds__map_scan_step(&drop->scan, operation);
}

int mcds__keyed_launch_drop(struct mcds__keyed *keyed, const struct mcds__operation_kind *kind,
                            const struct mcds__start *start)
{
    int result = MCDS_OK;
    if (keyed == NULL)
        return mcds__fail_missing(kind->noun, kind->verb, "a handle");
    struct mcds__keyed_drop own;
    struct mcds__keyed_drop *drop = mcds__call_begin(&own.base, kind, &keyed->handle, start,
                                                     &result);
    if (drop == NULL)
        return result;
    mcds__map_scan_begin(&drop->scan, &keyed->map);
    drop->scan.erases = true;
    return mcds__call_launch(&drop->base, start);
}

void mcds__keyed_release_scan(struct mcds__operation *operation)
{
    mcds__map_scan_free(&((struct mcds__keyed_scan *)operation)->scan);
}

enum mcds__step mcds__keyed_step_scan(struct mcds__operation *operation)
{
    struct mcds__keyed_scan *scan = (struct mcds__keyed_scan *)operation;
    assert(scan->scan.context == scan);
    if (*scan->done)
        return mcds__operation_finish(operation, MCDS_OK);
    enum mcds__step step = mcds__map_scan_step(&scan->scan, operation);
    if (step != MCDS__DONE)
        return step;
    *scan->position = scan->scan.position;
    *scan->done = scan->scan.complete || operation->result == MCDS_NOT_FOUND;
    return step;
}

int mcds__keyed_launch_scan(struct mcds__keyed_scan *scan, struct mcds__keyed *keyed,
                            uint64_t *position, bool *done, uint64_t limit,
                            bool (*visit)(void *scan, const struct mcds__map_entry *entry),
                            const struct mcds__start *start)
{
    scan->position = position;
    scan->done = done;
    scan->left = limit > 0 ? limit : UINT64_MAX;
    mcds__map_scan_begin(&scan->scan, &keyed->map);
    scan->scan.position = *position;
    scan->scan.visit = visit;
    scan->scan.context = scan;
    return mcds__call_launch(&scan->base, start);
}

int mcds__keyed_take_changed(const struct mcds__map_update *update, void *out)
{
    assert(out == NULL || update->wants_code);
    if (out != NULL)
        *(bool *)out = update->code == MCDS__MAP_CHANGED;
    return MCDS_OK;
}
