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

static const struct mcds__operation_kind add_kind = MCDS__KEYED_UPDATE("set", "add");
static const struct mcds__operation_kind remove_kind = MCDS__KEYED_UPDATE("set", "remove");
static const struct mcds__operation_kind has_kind = MCDS__KEYED_GET("set", "has");
static const struct mcds__operation_kind drop_kind = MCDS__KEYED_DROP("set");

static int set_check(const mcds_set *set, const struct mcds__operation_kind *kind,
                     mcds_bytes element)
{
    if (set == NULL)
        return mcds__fail_missing("set", kind->verb, "a set");
    return mcds__check_bytes(kind, set->keyed.handle.name, "element", element);
}

static int set_launch_change(mcds_set *set, const struct mcds__operation_kind *kind,
                             mcds_bytes element, bool *changed_out,
                             const struct mcds__start *start)
{
    static const enum mcds__map_verb verbs[][2] = {{MCDS__MAP_PUT_NEW, MCDS__MAP_REMOVE},
                                                   {MCDS__MAP_GATHER, MCDS__MAP_GATHER},
                                                   {MCDS__MAP_PUSH, MCDS__MAP_POP}};
    int result = set_check(set, kind, element);
    if (result != MCDS_OK)
        return result;
    assert(set->keyed.map.form < sizeof verbs / sizeof verbs[0]);
    bool removes = kind == &remove_kind;
    enum mcds__map_verb verb = verbs[set->keyed.map.form][removes];
    struct mcds__keyed_command order = {
        .command = {.verb = verb, .element = element},
        .must_exist = removes,
        .wants_code = changed_out != NULL,
        .take = mcds__keyed_take_changed,
        .out = changed_out,
    };
    if (verb == MCDS__MAP_GATHER)
        order.command.delta = removes ? -1 : 1;
    return mcds__keyed_launch_update(&set->keyed, kind, &order, start);
}

int mcds_set_add_start(mcds_set *set, mcds_bytes element, bool *changed_out,
                       mcds_pipeline *pipeline, uint64_t tag)
{
    return set_launch_change(set, &add_kind, element, changed_out, MCDS__START(pipeline, tag));
}

int mcds_set_add(mcds_set *set, mcds_bytes element, bool *changed_out)
{
    return mcds_set_add_start(set, element, changed_out, MCDS__WAIT, 0);
}

int mcds_set_remove_start(mcds_set *set, mcds_bytes element, bool *changed_out,
                          mcds_pipeline *pipeline, uint64_t tag)
{
    return set_launch_change(set, &remove_kind, element, changed_out,
                             MCDS__START(pipeline, tag));
}

int mcds_set_remove(mcds_set *set, mcds_bytes element, bool *changed_out)
{
    return mcds_set_remove_start(set, element, changed_out, MCDS__WAIT, 0);
}

int mcds_set_has_start(mcds_set *set, mcds_bytes element, mcds_pipeline *pipeline, uint64_t tag)
{
    int result = set_check(set, &has_kind, element);
    if (result != MCDS_OK)
        return result;
    return mcds__keyed_launch_get(&set->keyed, &has_kind, element, NULL,
                                  MCDS__START(pipeline, tag));
}

int mcds_set_has(mcds_set *set, mcds_bytes element)
{
    return mcds_set_has_start(set, element, MCDS__WAIT, 0);
}

/* An element of a list with removal, and its position; its bytes follow the struct. */
struct occurrence {
    uint64_t place;
    size_t length;
    uint8_t *element;
};

struct set_scan {
    struct mcds__operation base;
    mcds_set *set;
    mcds_set_scan_cb visit;
    void *context;
    struct occurrence *occurrences; /* LIST: all of them */
    size_t count;
    size_t capacity;
    bool no_memory;
    struct mcds__map_scan map;
};

static bool visit_plain(void *context, const struct mcds__map_entry *entry)
{
    struct set_scan *scan = context;
    return scan->visit(scan->context, entry->element, 1);
}

static bool visit_bag(void *context, const struct mcds__map_entry *entry)
{
    struct set_scan *scan = context;
    int64_t count = 0;
    if (!mcds__map_parse_number(entry->value, &count) || count <= 0)
        return true;
    return scan->visit(scan->context, entry->element, (uint64_t)count);
}

static bool set_reserve(struct set_scan *scan)
{
    const mcds_env *env = scan->base.env;
    if (scan->count < scan->capacity)
        return true;
    if (scan->capacity > SIZE_MAX / sizeof scan->occurrences[0] / 4)
        return false;
    size_t capacity = scan->capacity > 0 ? 2 * scan->capacity : 64;
    struct occurrence *moved = env->reallocate(env->self, scan->occurrences,
                                               capacity * sizeof moved[0]);
    if (moved == NULL)
        return false;
    scan->occurrences = moved;
    scan->capacity = capacity;
    return true;
}

static bool gather_list(void *context, const struct mcds__map_entry *entry)
{
    struct set_scan *scan = context;
    const uint8_t *places = entry->value.data;
    for (size_t at = 0; at + MCDS__MAP_PLACE <= entry->value.length; at += MCDS__MAP_PLACE) {
        uint8_t *copy = mcds__allocate(scan->base.env, entry->element.length);
        if (copy == NULL || !set_reserve(scan)) {
            mcds__free(scan->base.env, copy);
            scan->no_memory = true;
            return false;
        }
        assert(scan->count < scan->capacity);
        memcpy(copy, entry->element.data, entry->element.length);
        scan->occurrences[scan->count++] = (struct occurrence){mcds__get_u64(places + at),
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

static void visit_list(struct set_scan *scan)
{
    if (scan->count > 1)
        qsort(scan->occurrences, scan->count, sizeof scan->occurrences[0], compare_places);
    for (size_t i = 0; i < scan->count; i++) {
        const struct occurrence *at = &scan->occurrences[i];
        assert(i == 0 || scan->occurrences[i - 1].place <= at->place);
        if (!scan->visit(scan->context, (mcds_bytes){at->element, at->length}, 1))
            return;
    }
}

static void set_release_scan(struct mcds__operation *operation)
{
    struct set_scan *scan = (struct set_scan *)operation;
    for (size_t i = 0; i < scan->count; i++)
        mcds__free(operation->env, scan->occurrences[i].element);
    mcds__free(operation->env, scan->occurrences);
    scan->occurrences = NULL;
    scan->count = 0;
    mcds__map_scan_free(&scan->map);
}

static enum mcds__step set_step_scan(struct mcds__operation *operation)
{
    struct set_scan *scan = (struct set_scan *)operation;
    enum mcds__step step = mcds__map_scan_step(&scan->map, operation);
    if (step != MCDS__DONE)
        return step;
    if (scan->no_memory)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    if (operation->result == MCDS_OK || operation->result == MCDS_LOST)
        visit_list(scan);
    return step;
}

static const struct mcds__operation_kind scan_kind = {"set", "scan", sizeof(struct set_scan),
                                                      set_step_scan, set_release_scan};

int mcds_set_scan_start(mcds_set *set, mcds_set_scan_cb visit, void *context,
                        mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    static bool (*const visits[])(void *context, const struct mcds__map_entry *entry) = {
        visit_plain, visit_bag, gather_list};
    int result = MCDS_OK;
    if (set == NULL || visit == NULL)
        return mcds__fail_missing("set", "scan", "a set and a visitor");
    struct set_scan own;
    struct set_scan *scan = mcds__call_begin_zero(&own.base, &scan_kind, &set->keyed.handle,
                                                  start, &result);
    if (scan == NULL)
        return result;
    scan->set = set;
    scan->visit = visit;
    scan->context = context;
    mcds__map_scan_begin(&scan->map, &set->keyed.map);
    assert(set->keyed.map.form < sizeof visits / sizeof visits[0]);
    scan->map.visit = visits[set->keyed.map.form];
    scan->map.context = scan;
    return mcds__call_launch(&scan->base, start);
}

int mcds_set_scan(mcds_set *set, mcds_set_scan_cb visit, void *context)
{
    return mcds_set_scan_start(set, visit, context, MCDS__WAIT, 0);
}

int mcds_set_drop_start(mcds_set *set, mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds__keyed_launch_drop((struct mcds__keyed *)set, &drop_kind,
                                   MCDS__START(pipeline, tag));
}

int mcds_set_drop(mcds_set *set)
{
    return mcds_set_drop_start(set, MCDS__WAIT, 0);
}

int mcds_set_open(mcds_store *store, const char *name, const mcds_set_options *options,
                  mcds_set **set_out)
{
    mcds_set_options own;
    int result = mcds__read_options("set", store, name, set_out, MCDS__SIZED_mcds_set_options,
                                    options, &own);
    if (result != MCDS_OK)
        return result;
    if (own.form < MCDS_SET_PLAIN || own.form > MCDS_SET_LIST)
        return mcds__fail(MCDS_INVALID, UNKNOWN_VALUE, .noun = "set", .name = name,
                          .option = "form", .wanted_max = MCDS_SET_LIST,
                          .found_number = (int)own.form);
    struct mcds__keyed *keyed = mcds__keyed_open(
        "set", store, name, MCDS__TAG_SET, MCDS__KIND_SET, (uint8_t)own.form, other_forms);
    if (keyed == NULL)
        return MCDS_NO_MEMORY;
    *set_out = (mcds_set *)keyed;
    return MCDS_OK;
}

void mcds_set_close(mcds_set *set)
{
    mcds__handle_release((struct mcds__handle *)set);
}
