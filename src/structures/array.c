/* Array: a sequence of elements, read and changed as a whole by compare-and-set (core/record).
 * The value holds, for each element, its length as a varint and its bytes. */
#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/hash/byte_set.h"
#include "core/record/record.h"
#include "engine/line.h"
#include "engine/line_wait.h"
#include "structures/structure.h"

#define VARINT_MAX 10
#define ARRAY_MAX ((size_t)MCDS__RECORD_LENGTH_MAX)

struct mcds_array {
    struct mcds__handle handle;
    struct mcds__key key;
    struct mcds__key blocks_key;
    struct mcds__record_writer writer;
    _Atomic uint64_t seen; /* core/record/record.h */
};

struct mcds_elements {
    mcds_buffer *value;
    int failed; /* the result of an addition that has failed; nothing is written then */
};

/* Appends the length and the bytes of an element to `out`, up to `most` bytes in all. Returns
 * MCDS_OK; or MCDS_TOO_BIG or MCDS_NO_MEMORY, and `out` is as before. */
static int put_element(mcds_buffer *out, mcds_bytes element, size_t most)
{
    uint8_t length[VARINT_MAX];
    size_t used = 0;
    uint64_t left = element.length;
    assert(out->length <= most && most <= out->capacity_max);
    for (; left >= 128; left >>= 7)
        length[used++] = (uint8_t)(left | 128);
    length[used++] = (uint8_t)left;
    assert(used <= VARINT_MAX);
    if (used > most - out->length || element.length > most - out->length - used)
        return MCDS_TOO_BIG;
    if (!mcds__buffer_reserve(out, used + element.length))
        return MCDS_NO_MEMORY;
    bool is_whole = mcds_buffer_append(out, length, used) &&
                    mcds_buffer_append(out, element.data, element.length);
    assert(is_whole);
    return is_whole ? MCDS_OK : MCDS_NO_MEMORY;
}

static int fail_element(int result, const char *name, const char *verb)
{
    if (result == MCDS_NO_MEMORY)
        return mcds__fail_memory("array", name, verb);
    return mcds__fail_why(MCDS_TOO_BIG, MCDS__WHY(LARGE_ELEMENTS), .noun = "array",
                          .name = name, .verb = verb, .option = "elements", .wanted = "64 MB",
                          .wanted_max = ARRAY_MAX);
}

/* Decodes the next element. Returns false at the end, where *at is the length, and at bytes that
 * are not an element. */
static bool next_element(mcds_bytes value, size_t *at, mcds_bytes *element_out)
{
    assert(*at <= value.length);
    const uint8_t *bytes = value.data;
    uint64_t length = 0;
    size_t next = *at;
    for (unsigned shift = 0; shift < 7 * VARINT_MAX; shift += 7) {
        if (next == value.length)
            return false;
        uint8_t byte = bytes[next++];
        length |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            break;
    }
    if (length > value.length - next)
        return false;
    *element_out = (mcds_bytes){bytes + next, (size_t)length};
    *at = next + (size_t)length;
    assert(*at <= value.length);
    return true;
}

int mcds_elements_add(mcds_elements *elements, mcds_bytes element)
{
    if (elements == NULL || (element.data == NULL && element.length > 0)) {
        if (elements != NULL)
            elements->failed = MCDS_INVALID;
        return mcds__fail_missing("array", "elements_add", "elements and bytes");
    }
    int result = put_element(elements->value, element, ARRAY_MAX);
    if (result == MCDS_OK)
        return MCDS_OK;
    elements->failed = result;
    return fail_element(result, NULL, "elements_add");
}

struct array_scan {
    struct mcds__operation base;
    mcds_array_scan_cb visit;
    void *context;
    struct mcds__record_load load;
};

static void array_release_scan(struct mcds__operation *operation)
{
    mcds__record_load_free(&((struct array_scan *)operation)->load, operation->env);
}

static enum mcds__step array_step_scan(struct mcds__operation *operation)
{
    struct array_scan *scan = (struct array_scan *)operation;
    enum mcds__step step = mcds__record_load_step(&scan->load, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    if (!scan->load.is_there)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    size_t at = 0;
    mcds_bytes element;
    while (next_element(scan->load.bytes, &at, &element))
        if (!scan->visit(scan->context, element))
            return step;
    return at == scan->load.bytes.length ? step
                                         : mcds__operation_finish(operation, MCDS_CORRUPT);
}

static const struct mcds__operation_kind scan_kind = {
    "array", "scan", sizeof(struct array_scan), array_step_scan, array_release_scan};

int mcds_array_scan_start(mcds_array *array, mcds_array_scan_cb visit, void *context,
                          mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    int result = MCDS_OK;
    if (array == NULL || visit == NULL)
        return mcds__fail_missing("array", "scan", "an array and a visitor");
    struct array_scan own;
    struct array_scan *scan = mcds__call_begin(&own.base, &scan_kind, &array->handle, start,
                                               &result);
    if (scan == NULL)
        return result;
    scan->visit = visit;
    scan->context = context;
    mcds__record_load_begin(&scan->load, scan->base.env);
    scan->load.key = array->key;
    scan->load.blocks_key = array->blocks_key;
    scan->load.seen = &array->seen;
    return mcds__call_launch(&scan->base, start);
}

int mcds_array_scan(mcds_array *array, mcds_array_scan_cb visit, void *context)
{
    return mcds_array_scan_start(array, visit, context, MCDS__WAIT, 0);
}

/* Copies of the arguments, encoded as elements: those to add, then those to remove. */
struct array_change {
    struct mcds__operation base;
    mcds_array_change_cb change;
    void *context;
    mcds_buffer asked;
    size_t remove_at;       /* where in `asked` those to remove begin */
    const mcds_reason *why; /* of a refusal by `decide`; NULL: that of the result */
    bool finds_none;        /* no array: a drop erases the parts of a dead writer */
    struct mcds__record_change record;
};

static void release_change(struct mcds__operation *operation)
{
    struct array_change *change = (struct array_change *)operation;
    mcds__buffer_free(&change->asked);
    mcds__record_change_free(&change->record, operation->env);
}

static enum mcds__step step_change(struct mcds__operation *operation)
{
    struct array_change *change = (struct array_change *)operation;
    mcds_bytes key = mcds__key_bytes(&change->record.load.key);
    enum mcds__step step;
    /* Of several at once one would succeed, and the others would read again. */
    if (operation->place == 0 && operation->lines != NULL)
        operation->place = mcds__lines_place(operation->lines, key);
    if (!mcds__line_waits_alone(operation, operation->place, &step))
        step = mcds__record_change_step(&change->record, operation);
    if (step == MCDS__DONE && change->why != NULL)
        operation->detail = change->why;
    if (step == MCDS__DONE && change->finds_none && operation->result == MCDS_OK)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    return step;
}

static enum mcds__record_decision leave(int *result, int why)
{
    *result = why;
    return MCDS__RECORD_LEAVE;
}

static enum mcds__record_decision decide_set(void *context, const mcds_bytes *old,
                                             mcds_buffer *fresh, int *result)
{
    struct array_change *change = context;
    (void)old;
    if (!mcds_buffer_append(fresh, change->asked.data, change->asked.length))
        return leave(result, MCDS_NO_MEMORY);
    return MCDS__RECORD_WRITE;
}

static bool list_removals(const struct array_change *change, struct mcds__byte_set *removals)
{
    assert(change->remove_at <= change->asked.length);
    mcds_bytes removed, asked = {change->asked.data, change->asked.length};
    size_t at = change->remove_at;
    while (next_element(asked, &at, &removed))
        if (!mcds__byte_set_add(removals, removed))
            return false;
    return true;
}

/* *changed is set if one was left out. False: no memory, or not elements; *result says which. */
static bool copy_others(const struct array_change *change, const mcds_bytes *old,
                        mcds_buffer *fresh, bool *changed, int *result)
{
    struct mcds__byte_set removals;
    size_t at = 0;
    mcds_bytes element;
    mcds__byte_set_init(&removals, change->base.env);
    bool copied = list_removals(change, &removals);
    while (copied && next_element(*old, &at, &element)) {
        if (mcds__byte_set_take(&removals, element))
            *changed = true;
        else
            copied = put_element(fresh, element, ARRAY_MAX) == MCDS_OK;
    }
    mcds__byte_set_free(&removals);
    *result = copied ? MCDS_CORRUPT : MCDS_NO_MEMORY;
    return copied && at == old->length;
}

static enum mcds__record_decision decide_change(void *context, const mcds_bytes *old,
                                                mcds_buffer *fresh, int *result)
{
    struct array_change *change = context;
    bool changed = change->remove_at > 0;
    assert(change->remove_at <= change->asked.length);
    if (old == NULL && !changed)
        return leave(result, MCDS_NOT_FOUND);
    if (old != NULL && !copy_others(change, old, fresh, &changed, result))
        return MCDS__RECORD_LEAVE;
    if (!changed)
        return leave(result, MCDS_OK);
    if (change->remove_at > ARRAY_MAX - fresh->length) {
        change->why = MCDS__WHY(LARGE_ELEMENTS);
        return leave(result, MCDS_TOO_BIG);
    }
    if (!mcds_buffer_append(fresh, change->asked.data, change->remove_at))
        return leave(result, MCDS_NO_MEMORY);
    return MCDS__RECORD_WRITE;
}

/* `told` is what the program's function has returned, and `failed` the result of a failed addition
 * to its elements: without that element, nothing is written. */
static enum mcds__record_decision decide_as_told(struct array_change *change, int told,
                                                 int failed, int *result)
{
    assert(failed <= 0 && change->why == NULL);
    if (told == MCDS_OK || (told == MCDS_AMBIGUOUS && failed != MCDS_OK))
        told = failed;
    if (told == MCDS_OK)
        return MCDS__RECORD_WRITE;
    if (told == failed) {
        change->why = failed == MCDS_TOO_BIG   ? MCDS__WHY(LARGE_ELEMENTS)
                      : failed == MCDS_INVALID ? MCDS__WHY(ELEMENT_MISSING)
                                               : NULL;
    } else {
        change->why = MCDS__WHY(CHANGE_REFUSED);
        change->base.difference.found = told;
    }
    /* MCDS_AMBIGUOUS would mean that the change may have been made. */
    return leave(result, told == MCDS_AMBIGUOUS ? MCDS_IO : told);
}

static enum mcds__record_decision decide_by(void *context, const mcds_bytes *old,
                                            mcds_buffer *fresh, int *result)
{
    struct array_change *change = context;
    const mcds_env *env = change->base.env;
    mcds_bytes *elements = NULL;
    size_t count = 0;
    size_t at = 0;
    mcds_bytes element;
    while (old != NULL && next_element(*old, &at, &element))
        count++;
    if (old != NULL && at != old->length)
        return leave(result, MCDS_CORRUPT);
    if (old != NULL) {
        elements = mcds__allocate(env, (count + 1) * sizeof elements[0]);
        if (elements == NULL)
            return leave(result, MCDS_NO_MEMORY);
        at = 0;
        for (size_t i = 0; next_element(*old, &at, &element); i++) {
            assert(i < count);
            elements[i] = element;
        }
    }
    mcds_elements made = {fresh, MCDS_OK};
    mcds__operation_note_visit(&change->base);
    int told = change->change(change->context, elements, count, &made);
    mcds__operation_end_visit(&change->base);
    mcds__free(env, elements);
    return decide_as_told(change, told, made.failed, result);
}

static enum mcds__record_decision decide_drop(void *context, const mcds_bytes *old,
                                              mcds_buffer *fresh, int *result)
{
    struct array_change *change = context;
    const struct mcds__record_load *load = &change->record.load;
    (void)fresh;
    change->finds_none = old == NULL;
    /* A writer may have died while it wrote the first value. Nobody else would erase its parts. */
    bool has_parts = load->is_known && load->value.intent.count > 0;
    return old != NULL || has_parts ? MCDS__RECORD_REMOVE : leave(result, MCDS_NOT_FOUND);
}

static const struct mcds__operation_kind set_kind = {
    "array", "set", sizeof(struct array_change), step_change, release_change};
static const struct mcds__operation_kind change_kind = {
    "array", "change", sizeof(struct array_change), step_change, release_change};
static const struct mcds__operation_kind drop_kind = {
    "array", "drop", sizeof(struct array_change), step_change, release_change};

/* The arguments of a call. */
struct order {
    const struct mcds__operation_kind *kind;
    enum mcds__record_decision (*decide)(void *context, const mcds_bytes *old,
                                         mcds_buffer *fresh, int *result);
    const mcds_bytes *add;
    size_t add_count;
    const mcds_bytes *remove;
    size_t remove_count;
    mcds_array_change_cb change;
    void *context;
};

static int copy_elements(const mcds_array *array, const struct order *order,
                         const mcds_bytes *elements, size_t count, mcds_buffer *out)
{
    size_t most = out->length + ARRAY_MAX;
    if (elements == NULL && count > 0)
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING,
                          MCDS__CALL(order->kind, array->handle.name), .option = "elements");
    for (size_t i = 0; i < count; i++) {
        if (elements[i].data == NULL && elements[i].length > 0)
            return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING, .noun = "array",
                              .name = array->handle.name, .verb = order->kind->verb,
                              .option = "element", .found_number = (int64_t)i);
        int result = put_element(out, elements[i], most);
        if (result != MCDS_OK)
            return fail_element(result, array->handle.name, order->kind->verb);
    }
    return MCDS_OK;
}

static int array_launch_change(mcds_array *array, const struct order *order,
                               const struct mcds__start *start)
{
    if (array == NULL)
        return mcds__fail_missing("array", order->kind->verb, "an array");
    int result = mcds__check_cas(order->kind, &array->handle, MCDS__WHY(NO_COMPARE_AND_SET));
    if (result != MCDS_OK)
        return result;
    struct array_change own;
    struct array_change *change = mcds__call_begin(&own.base, order->kind, &array->handle,
                                                   start, &result);
    if (change == NULL)
        return result;
    mcds__buffer_init(&change->asked, change->base.env, 2 * ARRAY_MAX);
    result = copy_elements(array, order, order->add, order->add_count, &change->asked);
    change->remove_at = change->asked.length;
    if (result == MCDS_OK)
        result = copy_elements(array, order, order->remove, order->remove_count,
                               &change->asked);
    if (result != MCDS_OK) {
        mcds__buffer_free(&change->asked);
        mcds__call_forget(start, change);
        return result;
    }
    change->why = NULL;
    change->finds_none = false;
    change->change = order->change;
    change->context = order->context;
    mcds__record_change_begin(&change->record, change->base.env, &array->writer);
    change->record.load.key = array->key;
    change->record.load.blocks_key = array->blocks_key;
    change->record.load.seen = &array->seen;
    change->record.load.skips_blocks = order->decide == decide_set ||
                                       order->decide == decide_drop;
    change->record.decide = order->decide;
    change->record.context = change;
    return mcds__call_launch(&change->base, start);
}

int mcds_array_set_start(mcds_array *array, const mcds_bytes *elements, size_t count,
                         mcds_pipeline *pipeline, uint64_t tag)
{
    struct order order = {
        .kind = &set_kind, .decide = decide_set, .add = elements, .add_count = count};
    return array_launch_change(array, &order, MCDS__START(pipeline, tag));
}

int mcds_array_set(mcds_array *array, const mcds_bytes *elements, size_t count)
{
    return mcds_array_set_start(array, elements, count, MCDS__WAIT, 0);
}

int mcds_array_change_start(mcds_array *array, const mcds_bytes *add, size_t add_count,
                            const mcds_bytes *remove, size_t remove_count,
                            mcds_pipeline *pipeline, uint64_t tag)
{
    struct order order = {&change_kind, decide_change, add,  add_count,
                          remove,       remove_count,  NULL, NULL};
    return array_launch_change(array, &order, MCDS__START(pipeline, tag));
}

int mcds_array_change(mcds_array *array, const mcds_bytes *add, size_t add_count,
                      const mcds_bytes *remove, size_t remove_count)
{
    return mcds_array_change_start(array, add, add_count, remove, remove_count, MCDS__WAIT, 0);
}

int mcds_array_change_by_start(mcds_array *array, mcds_array_change_cb change, void *context,
                               mcds_pipeline *pipeline, uint64_t tag)
{
    struct order order = {
        .kind = &change_kind, .decide = decide_by, .change = change, .context = context};
    if (change == NULL)
        return mcds__fail_missing("array", "change", "a function that changes");
    return array_launch_change(array, &order, MCDS__START(pipeline, tag));
}

int mcds_array_change_by(mcds_array *array, mcds_array_change_cb change, void *context)
{
    return mcds_array_change_by_start(array, change, context, MCDS__WAIT, 0);
}

int mcds_array_drop_start(mcds_array *array, mcds_pipeline *pipeline, uint64_t tag)
{
    struct order order = {.kind = &drop_kind, .decide = decide_drop};
    return array_launch_change(array, &order, MCDS__START(pipeline, tag));
}

int mcds_array_drop(mcds_array *array)
{
    return mcds_array_drop_start(array, MCDS__WAIT, 0);
}

int mcds_array_open(mcds_store *store, const char *name, const mcds_array_options *options,
                    mcds_array **array_out)
{
    mcds_array_options own;
    int result = mcds__read_options("array", store, name, array_out,
                                    MCDS__SIZED_mcds_array_options, options, &own);
    if (result != MCDS_OK)
        return result;
    mcds_array *array = mcds__handle_open("array", store, name, sizeof *array, NULL);
    if (array == NULL)
        return MCDS_NO_MEMORY;
    mcds__key_begin(&array->key, mcds__store_ns(store), MCDS__TAG_ARRAY, name);
    mcds__key_begin(&array->blocks_key, mcds__store_ns(store), MCDS__TAG_ARRAY_BLOCK, name);
    mcds__record_writer_init(&array->writer, mcds__store_env(store));
    *array_out = array;
    return MCDS_OK;
}

void mcds_array_close(mcds_array *array)
{
    mcds__handle_release((struct mcds__handle *)array);
}
