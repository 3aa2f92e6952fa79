/* List: visit the values, part by part. */
#include <stdatomic.h>

#include "base/environment.h"
#include "base/error.h"
#include "structures/list.h"

/* Parts in the first round trip. */
#define WANT_FIRST 8

enum { FETCH_ROOT, FETCH_JUDGE, FETCH_READING, FETCH_LARGE, FETCH_ROOT_AGAIN };

struct list_fetch {
    struct mcds__operation base;
    mcds_list *list;
    uint64_t skip;
    uint64_t limit;
    bool (*visit)(void *context, mcds_bytes value);
    void *context;
    uint8_t stage;
    bool is_used; /* the root says that a value has been acknowledged */
    bool is_lost;
    bool is_corrupt;
    uint32_t item;
    uint64_t family;
    uint64_t bound; /* no part existed from here on when the visit began; 0: not known */
    struct mcds__root root;
    struct mcds__part_locate locate;
    struct mcds__part_read read;
    struct mcds__part_fetch large;
};

static void release_fetch(struct mcds__operation *operation)
{
    struct list_fetch *fetch = (struct list_fetch *)operation;
    mcds__part_read_free(&fetch->read);
    mcds__part_fetch_free(&fetch->large);
    mcds__free(operation->env, fetch->locate.room);
    fetch->locate.room = NULL;
}

static enum mcds__step step_fetch(struct mcds__operation *operation);

static enum mcds__step finish(struct list_fetch *fetch)
{
    if (fetch->is_lost)
        return mcds__operation_explain(&fetch->base, MCDS_LOST, MCDS__WHY(PART_GONE));
    if (fetch->is_corrupt)
        return mcds__operation_explain(&fetch->base, MCDS_CORRUPT, MCDS__WHY(PART_FOREIGN));
    return mcds__operation_finish(&fetch->base, MCDS_OK);
}

/* Where parts are missing, or the family has ended, it may be that the list was cleared. */
static enum mcds__step end(struct list_fetch *fetch)
{
    bool has_no_part = fetch->read.from == 0 && fetch->read.is_empty && !fetch->read.ended;
    fetch->is_lost = fetch->is_lost || fetch->read.gaps > 0 || (fetch->is_used && has_no_part);
    fetch->is_corrupt = fetch->is_corrupt || fetch->read.corrupt > 0;
    if (!fetch->is_lost)
        return finish(fetch);
    fetch->stage = FETCH_ROOT_AGAIN;
    mcds__root_begin(&fetch->root, &fetch->list->generation);
    return step_fetch(&fetch->base);
}

static enum mcds__step take_root_again(struct list_fetch *fetch, enum mcds__step step)
{
    if (step != MCDS__DONE)
        return step;
    if (fetch->base.result == MCDS_OK && fetch->root.number != fetch->family)
        fetch->is_lost = false;
    return finish(fetch);
}

/* True: that was the last. */
static bool show(struct list_fetch *fetch, mcds_bytes value)
{
    fetch->item++;
    mcds__operation_note_result(&fetch->base);
    return !fetch->visit(fetch->context, value) || (fetch->limit > 0 && --fetch->limit == 0);
}

static enum mcds__step visit_items(struct list_fetch *fetch)
{
    struct mcds__part_record record;
    while (fetch->item < fetch->read.count) {
        if (fetch->skip > 0) {
            uint64_t left = fetch->read.count - fetch->item;
            uint64_t skipped = fetch->skip < left ? fetch->skip : left;
            fetch->skip -= skipped;
            fetch->item += (uint32_t)skipped;
            continue;
        }
        (void)mcds__part_read_item(&fetch->read, &fetch->read.items[fetch->item], &record);
        if ((record.flags & MCDS__PART_LARGE) != 0) {
            fetch->stage = FETCH_LARGE;
            return step_fetch(&fetch->base);
        }
        if (show(fetch, record.payload))
            return end(fetch);
    }
    if (!fetch->read.more || fetch->read.next >= fetch->bound)
        return end(fetch);
    fetch->stage = FETCH_READING;
    fetch->read.from = fetch->read.next;
    fetch->read.want = MCDS__PART_WANT_MAX;
    fetch->item = 0;
    if (fetch->read.count > 0)
        mcds__operation_renew(&fetch->base);
    return mcds__part_read_step(&fetch->read, &fetch->base);
}

static enum mcds__step step_large(struct list_fetch *fetch)
{
    struct mcds__part_record record;
    (void)mcds__part_read_item(&fetch->read, &fetch->read.items[fetch->item], &record);
    enum mcds__step step = mcds__part_fetch_step(&fetch->large, fetch->family, &record,
                                                 &fetch->base);
    if (step != MCDS__DONE)
        return step;
    int result = fetch->base.result;
    if (result != MCDS_OK && result != MCDS_LOST && result != MCDS_CORRUPT)
        return step;
    fetch->is_lost = fetch->is_lost || result == MCDS_LOST;
    fetch->is_corrupt = fetch->is_corrupt || result == MCDS_CORRUPT;
    fetch->stage = FETCH_READING;
    if (result != MCDS_OK)
        fetch->item++;
    else if (show(fetch, fetch->large.payload))
        return end(fetch);
    return visit_items(fetch);
}

static enum mcds__step take_root(struct list_fetch *fetch, enum mcds__step step)
{
    uint64_t known = atomic_load(&fetch->list->generation.known);
    if (step != MCDS__DONE)
        return step;
    if (fetch->base.result == MCDS_NOT_FOUND && known != 0) {
        fetch->stage = FETCH_JUDGE;
        fetch->locate = (struct mcds__part_locate){.family = known};
        return step_fetch(&fetch->base);
    }
    if (fetch->base.result != MCDS_OK)
        return step;
    atomic_store(&fetch->list->generation.known, fetch->root.number);
    fetch->family = fetch->root.number;
    fetch->is_used = fetch->root.count > 0;
    mcds__part_read_begin(&fetch->read, &fetch->list->parts, fetch->family);
    fetch->read.want = WANT_FIRST;
    fetch->stage = FETCH_READING;
    return step_fetch(&fetch->base);
}

/* The root is missing of a list that this handle knows: it was dropped, or lost. */
static enum mcds__step take_judgement(struct list_fetch *fetch, enum mcds__step step)
{
    if (step != MCDS__DONE || fetch->base.result != MCDS_OK)
        return step;
    atomic_store(&fetch->list->generation.known, 0);
    if (fetch->locate.ended)
        return mcds__operation_finish(&fetch->base, MCDS_NOT_FOUND);
    return mcds__operation_explain(&fetch->base, MCDS_LOST, MCDS__WHY(LIST_GONE));
}

static enum mcds__step step_fetch(struct mcds__operation *operation)
{
    struct list_fetch *fetch = (struct list_fetch *)operation;
    switch (fetch->stage) {
    case FETCH_ROOT:
        return take_root(fetch, mcds__root_read_step(&fetch->root, operation));
    case FETCH_ROOT_AGAIN:
        return take_root_again(fetch, mcds__root_read_step(&fetch->root, operation));
    case FETCH_JUDGE:
        return take_judgement(
            fetch, mcds__part_locate_step(&fetch->locate, &fetch->list->parts, operation));
    case FETCH_LARGE:
        return step_large(fetch);
    default: {
        enum mcds__step step = mcds__part_read_step(&fetch->read, operation);
        if (step != MCDS__DONE || operation->result != MCDS_OK)
            return step;
        if (fetch->bound == 0)
            fetch->bound = fetch->read.bound;
        return visit_items(fetch);
    }
    }
}

static const struct mcds__operation_kind fetch_kind = {"list", "fetch",
                                                       sizeof(struct list_fetch), step_fetch};

static int launch_fetch(struct list_fetch *fetch, mcds_list *list, uint64_t skip,
                        uint64_t limit, bool (*visit)(void *context, mcds_bytes value),
                        void *context, mcds_pipeline *pipeline, uint64_t tag)
{
    int result = MCDS_OK;
    if (list == NULL || visit == NULL)
        return mcds__fail_missing("list", "fetch", "a list and a visitor");
    if (fetch == NULL)
        fetch = mcds__pipeline_new(pipeline, &list->handle, &fetch_kind, &result);
    if (fetch == NULL)
        return result;
    mcds__operation_begin(&fetch->base, &fetch_kind, list->store, list->name, 0);
    fetch->list = list;
    fetch->skip = skip;
    fetch->limit = limit;
    fetch->visit = visit;
    fetch->context = context;
    fetch->stage = FETCH_ROOT;
    fetch->is_used = fetch->is_lost = fetch->is_corrupt = false;
    fetch->item = 0;
    fetch->bound = 0;
    fetch->locate.room = NULL;
    mcds__root_begin(&fetch->root, &list->generation);
    mcds__part_read_begin(&fetch->read, &list->parts, 0);
    mcds__part_fetch_begin(&fetch->large, &list->parts);
    fetch->base.release = release_fetch;
    return mcds__launch(&fetch->base, pipeline, tag);
}

int mcds_list_fetch(mcds_list *list, uint64_t skip, uint64_t limit,
                    bool (*visit)(void *context, mcds_bytes value), void *context)
{
    struct list_fetch fetch;
    return launch_fetch(&fetch, list, skip, limit, visit, context, NULL, 0);
}

int mcds_list_fetch_start(mcds_list *list, uint64_t skip, uint64_t limit,
                          bool (*visit)(void *context, mcds_bytes value), void *context,
                          mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_fetch(NULL, list, skip, limit, visit, context, pipeline, tag);
}
