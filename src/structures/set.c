/* Set: elements that anybody adds and removes (core fold). */
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/frame.h"
#include "core/fold_apply.h"
#include "structures/entries.h"

struct mcds_set {
    struct mcds__entries entries;
};

static const mcds_reason *const other_forms[] = {
    MCDS__WHY(SET_PLAIN),
    MCDS__WHY(SET_BAG),
    MCDS__WHY(SET_LIST),
    MCDS__WHY(UNKNOWN_FORM),
};

static const struct mcds__operation_kind add_kind = {
    "set", "add", sizeof(struct mcds__entries_change), mcds__entries_step_change};
static const struct mcds__operation_kind remove_kind = {
    "set", "remove", sizeof(struct mcds__entries_change), mcds__entries_step_change};
static const struct mcds__operation_kind has_kind = {
    "set", "has", sizeof(struct mcds__entries_look), mcds__entries_step_look};
static const struct mcds__operation_kind drop_kind = {
    "set", "drop", sizeof(struct mcds__entries_drop), mcds__entries_step_drop};

static int check(const mcds_set *set, const struct mcds__operation_kind *kind,
                 mcds_bytes element)
{
    if (set == NULL)
        return mcds__fail_missing("set", kind->verb, "a set");
    return mcds__check_bytes(kind, set->entries.name, "element", element);
}

static int launch_add(struct mcds__entries_change *change, mcds_set *set, mcds_bytes element,
                      bool *changed_out, mcds_pipeline *pipeline, uint64_t tag)
{
    static const enum mcds__fold_verb verbs[] = {MCDS__FOLD_PUT_NEW, MCDS__FOLD_GATHER,
                                                 MCDS__FOLD_PUSH};
    int result = check(set, &add_kind, element);
    if (result != MCDS_OK)
        return result;
    enum mcds__fold_verb verb = verbs[set->entries.fold.form];
    struct mcds__entries_order order = {
        .command = {.verb = verb,
                    .element = element,
                    .delta = verb == MCDS__FOLD_GATHER ? 1 : 0},
        .wants_code = changed_out != NULL,
        .take = mcds__entries_take_changed,
        .out = changed_out,
    };
    return mcds__entries_launch_change(change, &set->entries, &add_kind, &order, pipeline, tag);
}

int mcds_set_add(mcds_set *set, mcds_bytes element, bool *changed_out)
{
    struct mcds__entries_change change;
    return launch_add(&change, set, element, changed_out, NULL, 0);
}

int mcds_set_add_start(mcds_set *set, mcds_bytes element, bool *changed_out,
                       mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_add(NULL, set, element, changed_out, pipeline, tag);
}

static int launch_remove(struct mcds__entries_change *change, mcds_set *set, mcds_bytes element,
                         bool *changed_out, mcds_pipeline *pipeline, uint64_t tag)
{
    static const enum mcds__fold_verb verbs[] = {MCDS__FOLD_REMOVE, MCDS__FOLD_GATHER,
                                                 MCDS__FOLD_POP};
    int result = check(set, &remove_kind, element);
    if (result != MCDS_OK)
        return result;
    enum mcds__fold_verb verb = verbs[set->entries.fold.form];
    struct mcds__entries_order order = {
        .command = {.verb = verb,
                    .element = element,
                    .delta = verb == MCDS__FOLD_GATHER ? -1 : 0},
        .must_exist = true,
        .wants_code = changed_out != NULL,
        .take = mcds__entries_take_changed,
        .out = changed_out,
    };
    return mcds__entries_launch_change(change, &set->entries, &remove_kind, &order, pipeline,
                                       tag);
}

int mcds_set_remove(mcds_set *set, mcds_bytes element, bool *changed_out)
{
    struct mcds__entries_change change;
    return launch_remove(&change, set, element, changed_out, NULL, 0);
}

int mcds_set_remove_start(mcds_set *set, mcds_bytes element, bool *changed_out,
                          mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_remove(NULL, set, element, changed_out, pipeline, tag);
}

static int launch_has(struct mcds__entries_look *look, mcds_set *set, mcds_bytes element,
                      mcds_pipeline *pipeline, uint64_t tag)
{
    int result = check(set, &has_kind, element);
    if (result != MCDS_OK)
        return result;
    return mcds__entries_launch_look(look, &set->entries, &has_kind, element, NULL, pipeline,
                                     tag);
}

int mcds_set_has(mcds_set *set, mcds_bytes element)
{
    struct mcds__entries_look look;
    return launch_has(&look, set, element, NULL, 0);
}

int mcds_set_has_start(mcds_set *set, mcds_bytes element, mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_has(NULL, set, element, pipeline, tag);
}

/* An element of a list with removal, and its place; the bytes stand behind it. */
struct occurrence {
    uint64_t place;
    size_t length;
    uint8_t *element;
};

struct set_fetch {
    struct mcds__operation base;
    mcds_set *set;
    bool (*visit)(void *context, mcds_bytes element, uint64_t count);
    void *context;
    struct occurrence *occurrences; /* LIST: all of them */
    size_t count;
    size_t room;
    bool no_memory;
    struct mcds__fold_sweep sweep;
};

static bool visit_plain(void *context, const struct mcds__fold_entry *entry)
{
    struct set_fetch *fetch = context;
    return fetch->visit(fetch->context, entry->element, 1);
}

static bool visit_bag(void *context, const struct mcds__fold_entry *entry)
{
    struct set_fetch *fetch = context;
    int64_t count = 0;
    if (!mcds__fold_parse_number(entry->value, &count) || count <= 0)
        return true;
    return fetch->visit(fetch->context, entry->element, (uint64_t)count);
}

static bool reserve(struct set_fetch *fetch)
{
    const mcds_env *env = fetch->base.env;
    if (fetch->count < fetch->room)
        return true;
    if (fetch->room > SIZE_MAX / sizeof fetch->occurrences[0] / 4)
        return false;
    size_t room = fetch->room > 0 ? 2 * fetch->room : 64;
    struct occurrence *moved = env->reallocate(env->self, fetch->occurrences,
                                               room * sizeof moved[0]);
    if (moved == NULL)
        return false;
    fetch->occurrences = moved;
    fetch->room = room;
    return true;
}

static bool gather_list(void *context, const struct mcds__fold_entry *entry)
{
    struct set_fetch *fetch = context;
    const uint8_t *places = entry->value.at;
    for (size_t at = 0; at + MCDS__FOLD_PLACE <= entry->value.length; at += MCDS__FOLD_PLACE) {
        uint8_t *copy = mcds__allocate(fetch->base.env, entry->element.length);
        if (copy == NULL || !reserve(fetch)) {
            mcds__free(fetch->base.env, copy);
            fetch->no_memory = true;
            return false;
        }
        memcpy(copy, entry->element.at, entry->element.length);
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
    mcds__fold_sweep_free(&fetch->sweep);
}

static enum mcds__step step_fetch(struct mcds__operation *operation)
{
    struct set_fetch *fetch = (struct set_fetch *)operation;
    enum mcds__step step = mcds__fold_sweep_step(&fetch->sweep, operation);
    if (step != MCDS__DONE)
        return step;
    if (fetch->no_memory)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    if (operation->result == MCDS_OK || operation->result == MCDS_LOST)
        visit_list(fetch);
    return step;
}

static const struct mcds__operation_kind fetch_kind = {"set", "fetch", sizeof(struct set_fetch),
                                                       step_fetch};

static int launch_fetch(struct set_fetch *fetch, mcds_set *set,
                        bool (*visit)(void *context, mcds_bytes element, uint64_t count),
                        void *context, mcds_pipeline *pipeline, uint64_t tag)
{
    static bool (*const visits[])(void *context, const struct mcds__fold_entry *entry) = {
        visit_plain, visit_bag, gather_list};
    int result = MCDS_OK;
    if (set == NULL || visit == NULL)
        return mcds__fail_missing("set", "fetch", "a set and a visitor");
    if (fetch == NULL)
        fetch = mcds__pipeline_new(pipeline, &set->entries.handle, &fetch_kind, &result);
    if (fetch == NULL)
        return result;
    mcds__operation_begin(&fetch->base, &fetch_kind, set->entries.store, set->entries.name, 0);
    fetch->set = set;
    fetch->visit = visit;
    fetch->context = context;
    fetch->occurrences = NULL;
    fetch->count = 0;
    fetch->room = 0;
    fetch->no_memory = false;
    mcds__fold_sweep_begin(&fetch->sweep, &set->entries.fold);
    fetch->sweep.visit = visits[set->entries.fold.form];
    fetch->sweep.context = fetch;
    fetch->base.release = release_fetch;
    return mcds__launch(&fetch->base, pipeline, tag);
}

int mcds_set_fetch(mcds_set *set,
                   bool (*visit)(void *context, mcds_bytes element, uint64_t count),
                   void *context)
{
    struct set_fetch fetch;
    return launch_fetch(&fetch, set, visit, context, NULL, 0);
}

int mcds_set_fetch_start(mcds_set *set,
                         bool (*visit)(void *context, mcds_bytes element, uint64_t count),
                         void *context, mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_fetch(NULL, set, visit, context, pipeline, tag);
}

static int launch_drop(struct mcds__entries_drop *drop, mcds_set *set, mcds_pipeline *pipeline,
                       uint64_t tag)
{
    if (set == NULL)
        return mcds__fail_missing("set", "drop", "a set");
    return mcds__entries_launch_drop(drop, &set->entries, &drop_kind, pipeline, tag);
}

int mcds_set_drop(mcds_set *set)
{
    struct mcds__entries_drop drop;
    return launch_drop(&drop, set, NULL, 0);
}

int mcds_set_drop_start(mcds_set *set, mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_drop(NULL, set, pipeline, tag);
}

static void destroy_set(struct mcds__handle *handle)
{
    mcds_set *set = (mcds_set *)handle;
    const mcds_env *env = mcds__store_env(set->entries.store);
    mcds__entries_close(&set->entries);
    mcds__free(env, set);
}

int mcds_set_open(mcds_store *store, const char *name, const mcds_set_options *options,
                  mcds_set **set_out)
{
    mcds_set_options own;
    int result = mcds__check_open("set", store, name, set_out);
    if (result == MCDS_OK)
        result = mcds__sized_read(MCDS__SIZED_mcds_set_options, options, &own);
    if (result != MCDS_OK)
        return result;
    if (own.form < MCDS_SET_PLAIN || own.form > MCDS_SET_LIST)
        return mcds__fail(MCDS_INVALID, UNKNOWN_VALUE, .noun = "set", .name = name,
                          .option = "form", .found_number = (int)own.form);
    const mcds_env *env = mcds__store_env(store);
    mcds_set *set = mcds__allocate_zero(env, sizeof *set);
    if (set == NULL)
        return mcds__fail_memory("set", name, NULL);
    result = mcds__entries_open(&set->entries, "set", store, name, MCDS__TAG_SET,
                                MCDS__KIND_SET, (uint8_t)own.form, other_forms);
    if (result != MCDS_OK) {
        mcds__free(env, set);
        return result;
    }
    mcds__handle_begin(&set->entries.handle, store, destroy_set);
    *set_out = set;
    return MCDS_OK;
}

void mcds_set_close(mcds_set *set)
{
    if (set != NULL)
        mcds__handle_release(&set->entries.handle);
}
