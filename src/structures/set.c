/* Set: sets, bags and lists with removal (core/map). */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/frame.h"
#include "core/map/bucket/apply.h"
#include "structures/keyed.h"

struct mcds_set {
    struct mcds__keyed keyed;
};

static const mcds_reason *const other_forms[] = {
    MCDS__WHY(SET_PLAIN),
    MCDS__WHY(SET_BAG),
    MCDS__WHY(SET_LIST),
    MCDS__WHY(UNKNOWN_FORM),
};

static const struct mcds__operation_kind add_kind = {
    "set", "add", sizeof(struct mcds__keyed_update), mcds__keyed_step_update};
static const struct mcds__operation_kind remove_kind = {
    "set", "remove", sizeof(struct mcds__keyed_update), mcds__keyed_step_update};
static const struct mcds__operation_kind has_kind = {
    "set", "has", sizeof(struct mcds__keyed_get), mcds__keyed_step_get};
static const struct mcds__operation_kind drop_kind = {
    "set", "drop", sizeof(struct mcds__keyed_drop), mcds__keyed_step_drop};

static int set_check(const mcds_set *set, const struct mcds__operation_kind *kind,
                     mcds_bytes element)
{
    if (set == NULL)
        return mcds__fail_missing("set", kind->verb, "a set");
    return mcds__check_bytes(kind, set->keyed.name, "element", element);
}

static int set_launch_add(struct mcds__keyed_update *change, mcds_set *set, mcds_bytes element,
                          bool *changed_out, mcds_pipeline *pipeline, uint64_t tag)
{
    static const enum mcds__map_verb verbs[] = {MCDS__MAP_PUT_NEW, MCDS__MAP_GATHER,
                                                MCDS__MAP_PUSH};
    int result = set_check(set, &add_kind, element);
    if (result != MCDS_OK)
        return result;
    assert(set->keyed.map.form < sizeof verbs / sizeof verbs[0]);
    enum mcds__map_verb verb = verbs[set->keyed.map.form];
    struct mcds__keyed_command order = {
        .command = {.verb = verb,
                    .element = element,
                    .delta = verb == MCDS__MAP_GATHER ? 1 : 0},
        .wants_code = changed_out != NULL,
        .take = mcds__keyed_take_changed,
        .out = changed_out,
    };
    return mcds__keyed_launch_update(change, &set->keyed, &add_kind, &order, pipeline, tag);
}

int mcds_set_add(mcds_set *set, mcds_bytes element, bool *changed_out)
{
    struct mcds__keyed_update change;
    return set_launch_add(&change, set, element, changed_out, NULL, 0);
}

int mcds_set_add_start(mcds_set *set, mcds_bytes element, bool *changed_out,
                       mcds_pipeline *pipeline, uint64_t tag)
{
    return set_launch_add(NULL, set, element, changed_out, pipeline, tag);
}

static int set_launch_remove(struct mcds__keyed_update *change, mcds_set *set,
                             mcds_bytes element, bool *changed_out, mcds_pipeline *pipeline,
                             uint64_t tag)
{
    static const enum mcds__map_verb verbs[] = {MCDS__MAP_REMOVE, MCDS__MAP_GATHER,
                                                MCDS__MAP_POP};
    int result = set_check(set, &remove_kind, element);
    if (result != MCDS_OK)
        return result;
    assert(set->keyed.map.form < sizeof verbs / sizeof verbs[0]);
    enum mcds__map_verb verb = verbs[set->keyed.map.form];
    struct mcds__keyed_command order = {
        .command = {.verb = verb,
                    .element = element,
                    .delta = verb == MCDS__MAP_GATHER ? -1 : 0},
        .must_exist = true,
        .wants_code = changed_out != NULL,
        .take = mcds__keyed_take_changed,
        .out = changed_out,
    };
    return mcds__keyed_launch_update(change, &set->keyed, &remove_kind, &order, pipeline, tag);
}

int mcds_set_remove(mcds_set *set, mcds_bytes element, bool *changed_out)
{
    struct mcds__keyed_update change;
    return set_launch_remove(&change, set, element, changed_out, NULL, 0);
}

int mcds_set_remove_start(mcds_set *set, mcds_bytes element, bool *changed_out,
                          mcds_pipeline *pipeline, uint64_t tag)
{
    return set_launch_remove(NULL, set, element, changed_out, pipeline, tag);
}

static int launch_has(struct mcds__keyed_get *get, mcds_set *set, mcds_bytes element,
                      mcds_pipeline *pipeline, uint64_t tag)
{
    int result = set_check(set, &has_kind, element);
    if (result != MCDS_OK)
        return result;
    return mcds__keyed_launch_get(get, &set->keyed, &has_kind, element, NULL, pipeline, tag);
}

int mcds_set_has(mcds_set *set, mcds_bytes element)
{
    struct mcds__keyed_get get;
    return launch_has(&get, set, element, NULL, 0);
}

int mcds_set_has_start(mcds_set *set, mcds_bytes element, mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_has(NULL, set, element, pipeline, tag);
}

/* An element of a list with removal, and its position; its bytes follow the struct. */
struct occurrence {
    uint64_t place;
    size_t length;
    uint8_t *element;
};

struct set_fetch {
    struct mcds__operation base;
    mcds_set *set;
    mcds_set_scan_cb visit;
    void *context;
    struct occurrence *occurrences; /* LIST: all of them */
    size_t count;
    size_t scratch;
    bool no_memory;
    struct mcds__map_scan scan;
};

static bool visit_plain(void *context, const struct mcds__map_entry *entry)
{
    struct set_fetch *fetch = context;
    return fetch->visit(fetch->context, entry->element, 1);
}

static bool visit_bag(void *context, const struct mcds__map_entry *entry)
{
    struct set_fetch *fetch = context;
    int64_t count = 0;
    if (!mcds__map_parse_number(entry->value, &count) || count <= 0)
        return true;
    return fetch->visit(fetch->context, entry->element, (uint64_t)count);
}

static bool set_reserve(struct set_fetch *fetch)
{
    const mcds_env *env = fetch->base.env;
    if (fetch->count < fetch->scratch)
        return true;
    if (fetch->scratch > SIZE_MAX / sizeof fetch->occurrences[0] / 4)
        return false;
    size_t scratch = fetch->scratch > 0 ? 2 * fetch->scratch : 64;
    struct occurrence *moved = env->reallocate(env->self, fetch->occurrences,
                                               scratch * sizeof moved[0]);
    if (moved == NULL)
        return false;
    fetch->occurrences = moved;
    fetch->scratch = scratch;
    return true;
}

static bool gather_list(void *context, const struct mcds__map_entry *entry)
{
    struct set_fetch *fetch = context;
    const uint8_t *places = entry->value.data;
    for (size_t at = 0; at + MCDS__MAP_PLACE <= entry->value.length; at += MCDS__MAP_PLACE) {
        uint8_t *copy = mcds__allocate(fetch->base.env, entry->element.length);
        if (copy == NULL || !set_reserve(fetch)) {
            mcds__free(fetch->base.env, copy);
            fetch->no_memory = true;
            return false;
        }
        assert(fetch->count < fetch->scratch);
        memcpy(copy, entry->element.data, entry->element.length);
        fetch->occurrences[fetch->count++] = (struct occurrence){mcds__get_u64(places + at),
                                                                 entry->element.length, copy};
    }
    return true;
}

static int compare_places(const void *a, const void *b)
{
    uint64_t left = ((const struct occurrence *)a)->place;
    uint64_t right = ((const struct occurrence *)b)->place;
    return left < right ? -1 : left > right;
}

static void visit_list(struct set_fetch *fetch)
{
    if (fetch->count > 1)
        qsort(fetch->occurrences, fetch->count, sizeof fetch->occurrences[0], compare_places);
    for (size_t i = 0; i < fetch->count; i++) {
        const struct occurrence *at = &fetch->occurrences[i];
        assert(i == 0 || fetch->occurrences[i - 1].place <= at->place);
        if (!fetch->visit(fetch->context, (mcds_bytes){at->element, at->length}, 1))
            return;
    }
}

static void release_fetch(struct mcds__operation *operation)
{
    struct set_fetch *fetch = (struct set_fetch *)operation;
    for (size_t i = 0; i < fetch->count; i++)
        mcds__free(operation->env, fetch->occurrences[i].element);
    mcds__free(operation->env, fetch->occurrences);
    fetch->occurrences = NULL;
    fetch->count = 0;
    mcds__map_scan_free(&fetch->scan);
}

static enum mcds__step step_fetch(struct mcds__operation *operation)
{
    struct set_fetch *fetch = (struct set_fetch *)operation;
    enum mcds__step step = mcds__map_scan_step(&fetch->scan, operation);
    if (step != MCDS__DONE)
        return step;
    if (fetch->no_memory)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    if (operation->result == MCDS_OK || operation->result == MCDS_LOST)
        visit_list(fetch);
    return step;
}

static const struct mcds__operation_kind fetch_kind = {"set", "scan", sizeof(struct set_fetch),
                                                       step_fetch};

static int launch_fetch(struct set_fetch *fetch, mcds_set *set, mcds_set_scan_cb visit,
                        void *context, mcds_pipeline *pipeline, uint64_t tag)
{
    static bool (*const visits[])(void *context, const struct mcds__map_entry *entry) = {
        visit_plain, visit_bag, gather_list};
    int result = MCDS_OK;
    if (set == NULL || visit == NULL)
        return mcds__fail_missing("set", "scan", "a set and a visitor");
    if (fetch == NULL)
        fetch = mcds__pipeline_new(pipeline, &set->keyed.handle, &fetch_kind, &result);
    if (fetch == NULL)
        return result;
    mcds__operation_begin(&fetch->base, &fetch_kind, set->keyed.store, set->keyed.name, 0);
    fetch->set = set;
    fetch->visit = visit;
    fetch->context = context;
    fetch->occurrences = NULL;
    fetch->count = 0;
    fetch->scratch = 0;
    fetch->no_memory = false;
    mcds__map_scan_begin(&fetch->scan, &set->keyed.map);
    assert(set->keyed.map.form < sizeof visits / sizeof visits[0]);
    fetch->scan.visit = visits[set->keyed.map.form];
    fetch->scan.context = fetch;
    fetch->base.release = release_fetch;
    return mcds__launch(&fetch->base, pipeline, tag);
}

int mcds_set_scan(mcds_set *set, mcds_set_scan_cb visit, void *context)
{
    struct set_fetch fetch;
    return launch_fetch(&fetch, set, visit, context, NULL, 0);
}

int mcds_set_scan_start(mcds_set *set, mcds_set_scan_cb visit, void *context,
                        mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_fetch(NULL, set, visit, context, pipeline, tag);
}

static int set_launch_drop(struct mcds__keyed_drop *drop, mcds_set *set,
                           mcds_pipeline *pipeline, uint64_t tag)
{
    if (set == NULL)
        return mcds__fail_missing("set", "drop", "a set");
    return mcds__keyed_launch_drop(drop, &set->keyed, &drop_kind, pipeline, tag);
}

int mcds_set_drop(mcds_set *set)
{
    struct mcds__keyed_drop drop;
    return set_launch_drop(&drop, set, NULL, 0);
}

int mcds_set_drop_start(mcds_set *set, mcds_pipeline *pipeline, uint64_t tag)
{
    return set_launch_drop(NULL, set, pipeline, tag);
}

static void destroy_set(struct mcds__handle *handle)
{
    mcds_set *set = (mcds_set *)handle;
    const mcds_env *env = mcds__store_env(set->keyed.store);
    mcds__keyed_close(&set->keyed);
    mcds__free(env, set);
}

int mcds_set_open(mcds_store *store, const char *name, const mcds_set_options *options,
                  mcds_set **set_out)
{
    mcds_set_options own;
    int result = mcds__check_open("set", NULL, store, name, set_out);
    if (result == MCDS_OK)
        result = mcds__sized_read(MCDS__SIZED_mcds_set_options, options, &own);
    if (result != MCDS_OK)
        return result;
    if (own.form < MCDS_SET_PLAIN || own.form > MCDS_SET_LIST)
        return mcds__fail(MCDS_INVALID, UNKNOWN_VALUE, .noun = "set", .name = name,
                          .option = "form", .wanted_max = MCDS_SET_LIST,
                          .found_number = (int)own.form);
    const mcds_env *env = mcds__store_env(store);
    mcds_set *set = mcds__allocate_zero(env, sizeof *set);
    if (set == NULL)
        return mcds__fail_memory("set", name, NULL);
    result = mcds__keyed_open(&set->keyed, "set", store, name, MCDS__TAG_SET, MCDS__KIND_SET,
                              (uint8_t)own.form, other_forms);
    if (result != MCDS_OK) {
        mcds__free(env, set);
        return result;
    }
    mcds__handle_begin(&set->keyed.handle, store, destroy_set);
    *set_out = set;
    return MCDS_OK;
}

void mcds_set_close(mcds_set *set)
{
    if (set != NULL)
        mcds__handle_release(&set->keyed.handle);
}
