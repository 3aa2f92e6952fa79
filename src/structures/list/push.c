/* List: push values. A list is a stream of records (core/segment). */
#include "structures/list/list.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/environment.h"
#include "base/error.h"
#include "core/segment/line.h"

/* How often a push may meet a clear before it gives up. */
#define CLEARS_MAX 16

enum {
    PUSH_BEGIN,
    PUSH_ROOT,
    PUSH_DOUBT,
    PUSH_APPEND,
    PUSH_HELP,
    PUSH_LOOK,
    PUSH_USE,
    PUSH_JUDGE,
    PUSH_PROVE,
    PUSH_HEAL,
    PUSH_CONFIRM
};

struct list_push {
    struct mcds__operation base;
    mcds_list *list;
    const mcds_bytes *values; /* not yet in the append */
    size_t count;
    size_t *pushed; /* output: how many have been pushed; may be NULL */
    size_t put;     /* how many are in the append */
    uint8_t stage;
    uint8_t clears;
    bool doubt;    /* the values may have been in the list before a clear */
    bool has_made; /* this push has added a lost root again, or may have */
    struct mcds__root root;
    struct mcds__segment_locate locate;
    struct mcds__segment_append append;
};

static void release_push(struct mcds__operation *operation)
{
    struct list_push *push = (struct list_push *)operation;
    mcds__segment_append_free(&push->append);
    mcds__free(operation->env, push->locate.scratch);
    push->locate.scratch = NULL;
}

/* Adds to the append as many values as fit into one batch. */
static int put_values(struct list_push *push)
{
    while (push->count > 0 && mcds__segment_append_fits(&push->append, push->values->length)) {
        int result = mcds__segment_append_put(&push->append, 0, 0, 0, *push->values);
        if (result != MCDS_OK)
            return result;
        push->values++;
        push->count--;
        push->put++;
    }
    return MCDS_OK;
}

static enum mcds__step step_push(struct mcds__operation *operation);

/* Nobody reads a cleared life again. Values that may be in it were in the list before the clear, or
 * never will be, so they are pushed into the life after it. */
static void leave_cleared_life(struct list_push *push)
{
    struct mcds__segment_append *append = &push->append;
    assert(append->ended && append->is_cleared);
    if (append->records.length == 0 || append->is_partly_in)
        return;
    push->doubt = push->doubt || append->doubt;
    append->doubt = false;
}

static enum mcds__step begin_append(struct list_push *push, uint64_t life, bool is_fresh)
{
    assert(life != 0 && !push->append.under_way);
    if (push->append.ended && push->append.is_cleared && push->append.stream != life)
        leave_cleared_life(push);
    push->stage = PUSH_APPEND;
    push->append.had_segments = atomic_load(&push->list->used) == life;
    if (mcds__segment_append_move(&push->append, life, is_fresh))
        return step_push(&push->base);
    return mcds__operation_explain(&push->base, MCDS_AMBIGUOUS,
                                   push->append.is_cleared ? MCDS__WHY(OTHERS_CLEAR_IT)
                                                           : MCDS__WHY(LIST_CLEAR_IN_DOUBT));
}

static enum mcds__step read_root(struct list_push *push)
{
    push->stage = PUSH_ROOT;
    mcds__root_begin(&push->root, &push->list->generation);
    return step_push(&push->base);
}

/* Such values are not pushed into another list, so they do not make one: an empty list would hide
 * the loss. */
static bool may_be_in_a_lost_list(const struct list_push *push)
{
    return push->append.doubt && push->append.ended && !push->append.is_cleared;
}

/* Finds the end of the life in which the values are or may be, or the end segment. */
static void begin_locate(struct list_push *push, uint8_t stage)
{
    assert(stage == PUSH_DOUBT || stage >= PUSH_JUDGE);
    push->stage = stage;
    push->locate = (struct mcds__segment_locate){.stream = push->append.stream,
                                                 .scratch = push->locate.scratch};
}

static enum mcds__step list_locate(struct list_push *push, uint8_t stage)
{
    begin_locate(push, stage);
    return step_push(&push->base);
}

/* The root has been read or made. */
static enum mcds__step use_root(struct list_push *push)
{
    assert(push->root.number != 0);
    bool is_same = push->root.number == push->append.stream;
    bool is_over = push->append.ended && push->append.is_cleared;
    if (is_over) {
        mcds__list_forget_life(push->list, push->append.stream);
        atomic_store(&push->list->generation.known, push->root.number);
    } else {
        mcds__generation_note(&push->list->generation, push->root.number, push->base.sent_ns,
                              LIST_END_TTL_MS);
    }
    if (push->root.count > 0)
        atomic_store(&push->list->used, push->root.number);
    if (is_same && is_over) {
        push->stage = PUSH_HELP;
        push->root.stage = 0;
        return step_push(&push->base);
    }
    return begin_append(push, push->root.number, true);
}

static enum mcds__step list_take_root(struct list_push *push, enum mcds__step step)
{
    assert(push->stage == PUSH_ROOT);
    bool is_gone = push->base.result == MCDS_NOT_FOUND;
    if (step != MCDS__DONE || (push->base.result != MCDS_OK && !is_gone))
        return step;
    if (may_be_in_a_lost_list(push) && (is_gone || push->root.number != push->append.stream))
        return list_locate(push, PUSH_DOUBT);
    assert(!is_gone);
    return use_root(push);
}

/* The life in which the values may be was cleared or dropped, which has left an end segment, or
 * lost. */
static enum mcds__step take_doubt(struct list_push *push, enum mcds__step step)
{
    assert(push->stage == PUSH_DOUBT && push->append.doubt);
    if (step != MCDS__DONE || push->base.result != MCDS_OK)
        return step;
    push->append.is_cleared = push->locate.ended;
    if (push->locate.ended)
        return read_root(push);
    if (push->root.number == 0)
        return mcds__operation_explain(&push->base, MCDS_AMBIGUOUS, MCDS__WHY(LIST_GONE));
    return use_root(push);
}

/* This handle or another has completed a clear that had begun. */
static enum mcds__step take_help(struct list_push *push, enum mcds__step step)
{
    assert(push->stage == PUSH_HELP);
    if (step != MCDS__DONE || push->base.result != MCDS_OK)
        return step;
    return read_root(push);
}

static enum mcds__step list_go_on(struct list_push *push)
{
    assert(!push->append.under_way);
    if (push->pushed != NULL)
        *push->pushed += push->put;
    push->put = 0;
    push->doubt = push->has_made = false;
    if (push->count == 0)
        return mcds__operation_finish(&push->base, MCDS_OK);
    mcds__line_release(&push->base);
    mcds__segment_append_again(&push->append);
    mcds__operation_note_stored(&push->base);
    mcds__operation_renew(&push->base);
    int result = put_values(push);
    if (result != MCDS_OK)
        return mcds__operation_finish(&push->base, result);
    push->stage = PUSH_BEGIN;
    return step_push(&push->base);
}

/* Reads or adds the root of the life in which the values are stored. */
static enum mcds__step begin_root(struct list_push *push, uint8_t stage)
{
    assert(push->append.is_in && push->append.stream != 0);
    push->stage = stage;
    mcds__root_begin(&push->root, &push->list->generation);
    push->root.number = push->append.stream;
    return step_push(&push->base);
}

/* The values are stored, but the root does not record it, so a loss of all of them would not be
 * reported. A store that has no space for the record does not evict. Without the root nobody can
 * read them until another handle adds it. */
static enum mcds__step finish_unused(struct list_push *push)
{
    int result = push->base.result;
    if (push->append.truth == MCDS__SEGMENT_ALIVE &&
        (result == MCDS_FULL || result == MCDS_NO_MEMORY ||
         atomic_load(&push->list->used) == push->append.stream))
        return list_go_on(push);
    assert(push->append.doubt);
    return MCDS__DONE;
}

/* The root exists. Before the first value is acknowledged, the root records that the list has
 * values. */
static enum mcds__step record_use(struct list_push *push)
{
    assert(push->root.number == push->append.stream);
    if (push->root.count == 0 && push->stage != PUSH_USE) {
        push->stage = PUSH_USE;
        push->root.stage = 0;
        return step_push(&push->base);
    }
    atomic_store(&push->list->used, push->root.number);
    return list_go_on(push);
}

static enum mcds__step take_use(struct list_push *push, enum mcds__step step)
{
    assert(push->stage == PUSH_LOOK || push->stage == PUSH_USE);
    if (step != MCDS__DONE)
        return step;
    bool is_gone = push->base.result == MCDS_NOT_FOUND ||
                   (push->base.result == MCDS_OK && push->root.number == 0);
    bool is_other = push->base.result == MCDS_OK && push->root.number != push->append.stream;
    if ((is_gone || is_other) && mcds__list_keeps_all(push->list))
        return list_go_on(push); /* the push had ended before */
    if (is_gone && push->clears++ < CLEARS_MAX)
        return list_locate(push, PUSH_PROVE);
    if (is_gone || push->base.result != MCDS_OK)
        return finish_unused(push);
    return is_other ? list_locate(push, PUSH_JUDGE) : record_use(push);
}

/* A lost root is added again. A drop that has ended meanwhile has left its end segment. So
 * the push reads the end segment again before another try, and after an add that may have
 * succeeded: a dropped life does not come back. A copy of the add may still arrive after a
 * drop. Therefore the added root does not yet record that the list has values. */
static enum mcds__step take_heal(struct list_push *push, enum mcds__step step)
{
    assert(push->stage == PUSH_HEAL);
    if (step == MCDS__ASK)
        return step;
    push->has_made = push->has_made || mcds__root_may_be_made(&push->root);
    if (step == MCDS__SLEEP)
        begin_locate(push, PUSH_PROVE);
    if (step == MCDS__SLEEP)
        return step;
    if (push->base.result != MCDS_OK)
        return finish_unused(push);
    if (push->root.number != push->append.stream)
        return list_locate(push, PUSH_JUDGE);
    push->append.truth = MCDS__SEGMENT_ALIVE;
    return push->has_made ? list_locate(push, PUSH_CONFIRM) : record_use(push);
}

/* The values are in a life that has ended or was lost, perhaps before the push began, so they are
 * pushed into the current one. No caller reads the old life again. */
static enum mcds__step list_push_again(struct list_push *push)
{
    bool keeps_all = mcds__list_keeps_all(push->list);
    bool is_cleared = !keeps_all && push->locate.ended;
    assert(!push->append.under_way);
    if (push->append.records.length == 0 || push->append.is_partly_in ||
        push->clears++ == CLEARS_MAX)
        return mcds__operation_explain(&push->base, MCDS_AMBIGUOUS,
                                       MCDS__WHY(LIST_CLEAR_IN_DOUBT));
    push->append.doubt = false;
    push->doubt = true;
    push->append.ended = true;
    push->append.is_cleared = is_cleared;
    if (keeps_all)
        atomic_store(&push->list->generation.known, 0);
    return read_root(push);
}

/* The values are stored, but their root is missing or of another life: it was cleared or dropped,
 * or lost. A root that was lost is added again. */
static enum mcds__step list_take_proof(struct list_push *push, enum mcds__step step)
{
    assert(push->stage == PUSH_PROVE || push->stage == PUSH_CONFIRM);
    if (step != MCDS__DONE || push->base.result != MCDS_OK)
        return step;
    if (push->locate.ended || mcds__list_keeps_all(push->list))
        return list_push_again(push);
    return push->stage == PUSH_CONFIRM ? record_use(push) : begin_root(push, PUSH_HEAL);
}

/* Another life is current: this one was cleared, or its root was lost. If another push of
 * this handle has found or made that life, the loss is told there or by the next scan. */
static enum mcds__step list_take_judgement(struct list_push *push, enum mcds__step step)
{
    if (step != MCDS__DONE)
        return step;
    bool is_known = atomic_load(&push->list->generation.known) == push->root.number;
    if (push->base.result == MCDS_OK && (push->locate.ended || is_known))
        return list_push_again(push);
    if (push->base.result != MCDS_OK)
        return mcds__operation_explain(&push->base, MCDS_AMBIGUOUS,
                                       MCDS__WHY(LIST_CLEAR_IN_DOUBT));
    atomic_store(&push->list->generation.known, push->root.number);
    push->append.doubt = push->doubt = false;
    return mcds__operation_explain(&push->base, MCDS_LOST, MCDS__WHY(LIST_MADE_AGAIN));
}

static enum mcds__step list_take_append(struct list_push *push, enum mcds__step step)
{
    if (step != MCDS__DONE)
        return step;
    if (!push->append.ended && atomic_load(&push->list->pushed) != push->append.stream)
        atomic_store(&push->list->pushed, push->append.stream);
    bool is_used = atomic_load(&push->list->used) == push->append.stream;
    if (push->base.result == MCDS_OK && push->append.truth == MCDS__SEGMENT_OVER)
        return mcds__list_keeps_all(push->list) ? list_push_again(push)
                                                : list_locate(push, PUSH_PROVE);
    if (push->base.result == MCDS_OK)
        atomic_store_explicit(&push->list->generation.seen_ns, push->base.sent_ns,
                              memory_order_relaxed);
    if (push->base.result == MCDS_OK)
        return is_used ? list_go_on(push) : begin_root(push, PUSH_LOOK);
    if (!push->append.ended)
        return step;
    if (push->clears++ == CLEARS_MAX)
        return step;
    return read_root(push);
}

/* Of the operations of a pipeline, the first that pushes to a life reads the root and records in it
 * that the list has a value; the others wait. */
static bool list_waits(struct list_push *push, uint64_t life, enum mcds__step *step_out)
{
    const mcds_list *list = push->list;
    uint64_t line = mcds__segment_line(&list->segments, 0, MCDS__SEGMENT_LINE_ROOT);
    if (life != 0 && atomic_load(&list->pushed) == life)
        return mcds__line_waits_after(&push->base, line, step_out);
    return mcds__line_waits_alone(&push->base, line, step_out);
}

static enum mcds__step list_begin(struct list_push *push)
{
    enum mcds__step step;
    uint64_t life = atomic_load(&push->list->generation.known);
    if (push->append.records.length == 0)
        return mcds__operation_finish(&push->base, MCDS_OK);
    if (list_waits(push, life, &step))
        return step;
    if (life == 0)
        return read_root(push);
    return begin_append(push, life, false);
}

static enum mcds__step list_step_stage(struct list_push *push,
                                       struct mcds__operation *operation)
{
    switch (push->stage) {
    case PUSH_BEGIN:
        return list_begin(push);
    case PUSH_ROOT:
        return list_take_root(push, may_be_in_a_lost_list(push)
                                        ? mcds__root_read_step(&push->root, operation)
                                        : mcds__root_make_step(&push->root, operation));
    case PUSH_DOUBT:
        return take_doubt(
            push, mcds__segment_locate_step(&push->locate, &push->list->segments, operation));
    case PUSH_HELP:
        return take_help(push,
                         mcds__root_change_step(&push->root, operation, MCDS__ROOT_REPLACE));
    case PUSH_LOOK:
        return take_use(push, mcds__root_read_step(&push->root, operation));
    case PUSH_USE:
        return take_use(push, mcds__root_set_step(&push->root, operation, LIST_USED));
    case PUSH_HEAL:
        return take_heal(push, mcds__root_make_step(&push->root, operation));
    case PUSH_PROVE:
    case PUSH_CONFIRM:
        return list_take_proof(
            push, mcds__segment_locate_step(&push->locate, &push->list->segments, operation));
    case PUSH_JUDGE:
        return list_take_judgement(
            push, mcds__segment_locate_step(&push->locate, &push->list->segments, operation));
    default:
        return list_take_append(push, mcds__segment_append_step(&push->append, operation));
    }
}

static enum mcds__step step_push(struct mcds__operation *operation)
{
    struct list_push *push = (struct list_push *)operation;
    enum mcds__step step = list_step_stage(push, operation);
    bool is_in_doubt = push->doubt || push->append.doubt;
    if (step == MCDS__DONE && is_in_doubt && operation->result != MCDS_OK)
        mcds__list_end_in_doubt(operation);
    return step;
}

static const struct mcds__operation_kind push_kind = {"list", "push", sizeof(struct list_push),
                                                      step_push, release_push};
static const struct mcds__operation_kind push_many_kind = {
    "list", "push_many", sizeof(struct list_push), step_push, release_push};

static int launch_push(const struct mcds__operation_kind *kind, mcds_list *list,
                       const mcds_bytes *values, size_t count, size_t *pushed_out,
                       const struct mcds__start *start)
{
    if (pushed_out != NULL)
        *pushed_out = 0;
    if (list == NULL || (values == NULL && count > 0))
        return mcds__fail_missing("list", kind->verb, "a list and its values");
    int result = mcds__check_payloads(kind, list->handle.name, "value", MCDS__SEGMENT_LARGE_MAX,
                                      values, count);
    if (result != MCDS_OK)
        return result;
    struct list_push own;
    struct list_push *push = mcds__call_begin(&own.base, kind, &list->handle, start, &result);
    if (push == NULL)
        return result;
    push->list = list;
    push->values = values;
    push->count = count;
    push->pushed = pushed_out;
    push->put = 0;
    push->stage = PUSH_BEGIN;
    push->clears = 0;
    push->doubt = push->has_made = false;
    push->locate.scratch = NULL;
    mcds__segment_append_begin(&push->append, &list->segments, 0, 0);
    result = put_values(push);
    if (result != MCDS_OK) {
        mcds__operation_free(&push->base);
        mcds__call_forget(start, push);
        return mcds__fail_plain(
            &(const mcds_error){.result = result, MCDS__CALL(kind, list->handle.name)});
    }
    return mcds__call_launch(&push->base, start);
}

int mcds_list_push_start(mcds_list *list, mcds_bytes value, mcds_pipeline *pipeline,
                         uint64_t tag)
{
    return launch_push(&push_kind, list, &value, 1, NULL, MCDS__START(pipeline, tag));
}

int mcds_list_push(mcds_list *list, mcds_bytes value)
{
    return mcds_list_push_start(list, value, MCDS__WAIT, 0);
}

int mcds_list_push_many_start(mcds_list *list, const mcds_bytes *values, size_t count,
                              size_t *pushed_out, mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_push(&push_many_kind, list, values, count, pushed_out,
                       MCDS__START(pipeline, tag));
}

int mcds_list_push_many(mcds_list *list, const mcds_bytes *values, size_t count,
                        size_t *pushed_out)
{
    return mcds_list_push_many_start(list, values, count, pushed_out, MCDS__WAIT, 0);
}
