/* List: scan the values, segment by segment. */
#include <assert.h>
#include <stdatomic.h>

#include "base/environment.h"
#include "base/error.h"
#include "core/segment/read.h"
#include "structures/list/list.h"

/* Segments read in the first round trip. */
#define WANT_FIRST 8

enum { SCAN_ROOT, SCAN_JUDGE, SCAN_FORMER, SCAN_READING, SCAN_LARGE, SCAN_ROOT_AGAIN };

struct list_scan {
    struct mcds__operation base;
    mcds_list *list;
    uint64_t skip;
    uint64_t limit;
    mcds_list_scan_cb visit;
    void *context;
    uint8_t stage;
    bool is_used; /* the root says that a value has been acknowledged */
    bool is_lost;
    bool is_former_lost; /* the life that this handle knew before */
    bool is_corrupt;
    uint32_t item;
    uint64_t stream;
    uint64_t known;      /* the life that this handle knew when the scan began; 0: none */
    uint64_t former;     /* life that this handle knew before; 0: none */
    uint64_t bound;      /* no segment existed from here on when the scan began; 0: not known */
    const char *read_at; /* the server of the last segments that were read */
    struct mcds__root root;
    struct mcds__segment_locate locate;
    struct mcds__segment_read read;
    struct mcds__segment_fetch large;
};

static void list_scan_release(struct mcds__operation *operation)
{
    struct list_scan *scan = (struct list_scan *)operation;
    mcds__segment_read_free(&scan->read);
    mcds__segment_fetch_free(&scan->large);
    mcds__free(operation->env, scan->locate.scratch);
    scan->locate.scratch = NULL;
}

static enum mcds__step list_scan_step(struct mcds__operation *operation);

static enum mcds__step list_scan_finish(struct list_scan *scan)
{
    scan->base.asked = scan->read_at; /* which has found the loss */
    if (scan->is_lost && scan->is_former_lost) {
        /* A loss is reported once. */
        mcds__generation_forget_former(&scan->list->generation, scan->former);
        return mcds__operation_explain(&scan->base, MCDS_LOST, MCDS__WHY(LIST_MADE_AGAIN));
    }
    if (scan->is_lost)
        return mcds__operation_explain(&scan->base, MCDS_LOST, MCDS__WHY(PART_GONE));
    if (scan->is_corrupt) {
        scan->base.read = scan->read.refused;
        return mcds__operation_explain(&scan->base, MCDS_CORRUPT, MCDS__WHY(PART_FOREIGN));
    }
    return mcds__operation_finish(&scan->base, MCDS_OK);
}

/* Missing segments, or an ended stream, may mean that the list was cleared. */
static enum mcds__step list_scan_end(struct list_scan *scan)
{
    bool has_no_segment = scan->read.from == 0 && scan->read.is_empty && !scan->read.ended;
    scan->is_lost = scan->is_lost || scan->is_former_lost || scan->read.gaps > 0 ||
                    (scan->is_used && has_no_segment);
    scan->is_corrupt = scan->is_corrupt || scan->read.corrupt > 0;
    if (!scan->is_lost)
        return list_scan_finish(scan);
    scan->stage = SCAN_ROOT_AGAIN;
    scan->read_at = scan->base.asked;
    mcds__root_begin(&scan->root, &scan->list->generation);
    return list_scan_step(&scan->base);
}

static enum mcds__step take_root_again(struct list_scan *scan, enum mcds__step step)
{
    assert(scan->stage == SCAN_ROOT_AGAIN && scan->is_lost);
    if (step != MCDS__DONE)
        return step;
    if (scan->base.result == MCDS_OK && scan->root.number != scan->stream)
        scan->is_lost = false;
    return list_scan_finish(scan);
}

/* Returns true after the last value. */
static bool list_scan_show(struct list_scan *scan, mcds_bytes value)
{
    scan->item++;
    mcds__operation_note_visit(&scan->base);
    return !scan->visit(scan->context, value) || (scan->limit > 0 && --scan->limit == 0);
}

static enum mcds__step list_scan_visit_items(struct list_scan *scan)
{
    struct mcds__segment_record record;
    while (scan->item < scan->read.count) {
        if (scan->skip > 0) {
            uint64_t left = scan->read.count - scan->item;
            uint64_t skipped = scan->skip < left ? scan->skip : left;
            scan->skip -= skipped;
            scan->item += (uint32_t)skipped;
            continue;
        }
        (void)mcds__segment_read_item(&scan->read, &scan->read.items[scan->item], &record);
        if ((record.flags & MCDS__SEGMENT_LARGE) != 0) {
            scan->stage = SCAN_LARGE;
            return list_scan_step(&scan->base);
        }
        if (list_scan_show(scan, record.payload))
            return list_scan_end(scan);
    }
    assert(scan->item == scan->read.count);
    if (!scan->read.more || scan->read.next >= scan->bound)
        return list_scan_end(scan);
    scan->stage = SCAN_READING;
    scan->read.from = scan->read.next;
    scan->read.want = MCDS__SEGMENT_WANT_MAX;
    scan->item = 0;
    if (scan->read.count > 0)
        mcds__operation_renew(&scan->base);
    return mcds__segment_read_step(&scan->read, &scan->base);
}

static enum mcds__step list_scan_step_large(struct list_scan *scan)
{
    assert(scan->stage == SCAN_LARGE && scan->item < scan->read.count);
    struct mcds__segment_record record;
    (void)mcds__segment_read_item(&scan->read, &scan->read.items[scan->item], &record);
    enum mcds__step step = mcds__segment_fetch_step(&scan->large, scan->stream, &record,
                                                    &scan->base);
    if (step != MCDS__DONE)
        return step;
    int result = scan->base.result;
    if (result != MCDS_OK && result != MCDS_LOST && result != MCDS_CORRUPT)
        return step;
    scan->is_lost = scan->is_lost || result == MCDS_LOST;
    if (result == MCDS_CORRUPT)
        mcds__segment_read_note_refused(&scan->read, mcds__operation_read(&scan->base));
    scan->is_corrupt = scan->is_corrupt || result == MCDS_CORRUPT;
    scan->stage = SCAN_READING;
    if (result != MCDS_OK)
        scan->item++;
    else if (list_scan_show(scan, scan->large.payload))
        return list_scan_end(scan);
    return list_scan_visit_items(scan);
}

static enum mcds__step list_scan_read(struct list_scan *scan)
{
    mcds__segment_read_begin(&scan->read, &scan->list->segments, scan->stream);
    scan->read.want = WANT_FIRST;
    scan->read.recalls = true;
    scan->stage = SCAN_READING;
    return list_scan_step(&scan->base);
}

static enum mcds__step list_scan_take_root(struct list_scan *scan, enum mcds__step step)
{
    assert(scan->stage == SCAN_ROOT);
    if (step != MCDS__DONE)
        return step;
    if (scan->base.result == MCDS_NOT_FOUND && scan->known != 0) {
        scan->stage = SCAN_JUDGE;
        scan->locate = (struct mcds__segment_locate){.stream = scan->known};
        return list_scan_step(&scan->base);
    }
    if (scan->base.result != MCDS_OK)
        return step;
    struct mcds__generation *generation = &scan->list->generation;
    mcds__generation_note(generation, scan->root.number, scan->base.sent_ns, LIST_END_TTL_MS);
    scan->stream = scan->root.number;
    scan->is_used = scan->root.count > 0;
    scan->former = atomic_load(&generation->former);
    if (scan->former == 0)
        return list_scan_read(scan);
    int64_t age_ns = scan->base.sent_ns - atomic_load(&generation->former_ns);
    if (scan->former == scan->stream || age_ns > (int64_t)(LIST_END_TTL_MS / 2) * NS_PER_MS) {
        mcds__generation_forget_former(generation, scan->former);
        return list_scan_read(scan);
    }
    scan->stage = SCAN_FORMER;
    scan->locate = (struct mcds__segment_locate){.stream = scan->former};
    return list_scan_step(&scan->base);
}

/* The life that this handle knew was cleared, which has left an end segment, or lost. The
 * end segments stay for a day, so a handle that saw its root longer ago does not ask. */
static enum mcds__step take_former(struct list_scan *scan, enum mcds__step step)
{
    assert(scan->stage == SCAN_FORMER && scan->former != 0);
    if (step != MCDS__DONE || scan->base.result != MCDS_OK)
        return step;
    scan->is_former_lost = !scan->locate.ended;
    if (!scan->is_former_lost)
        mcds__generation_forget_former(&scan->list->generation, scan->former);
    return list_scan_read(scan);
}

/* The root of a list that this handle had used before the scan is missing: the list was dropped, or
 * lost. Another operation may have made it again since. */
static enum mcds__step list_scan_take_judgement(struct list_scan *scan, enum mcds__step step)
{
    assert(scan->stage == SCAN_JUDGE);
    if (step != MCDS__DONE || scan->base.result != MCDS_OK)
        return step;
    uint64_t known = scan->known;
    (void)atomic_compare_exchange_strong(&scan->list->generation.known, &known, 0);
    if (scan->locate.ended)
        return mcds__operation_finish(&scan->base, MCDS_NOT_FOUND);
    return mcds__operation_explain(&scan->base, MCDS_LOST, MCDS__WHY(LIST_GONE));
}

static enum mcds__step list_scan_step(struct mcds__operation *operation)
{
    struct list_scan *scan = (struct list_scan *)operation;
    switch (scan->stage) {
    case SCAN_ROOT:
        return list_scan_take_root(scan, mcds__root_read_step(&scan->root, operation));
    case SCAN_ROOT_AGAIN:
        return take_root_again(scan, mcds__root_read_step(&scan->root, operation));
    case SCAN_FORMER:
        return take_former(
            scan, mcds__segment_locate_step(&scan->locate, &scan->list->segments, operation));
    case SCAN_JUDGE:
        return list_scan_take_judgement(
            scan, mcds__segment_locate_step(&scan->locate, &scan->list->segments, operation));
    case SCAN_LARGE:
        return list_scan_step_large(scan);
    default: {
        enum mcds__step step = mcds__segment_read_step(&scan->read, operation);
        if (step != MCDS__DONE || operation->result != MCDS_OK)
            return step;
        if (scan->bound == 0)
            scan->bound = scan->read.bound;
        return list_scan_visit_items(scan);
    }
    }
}

static const struct mcds__operation_kind scan_kind = {"list", "scan", sizeof(struct list_scan),
                                                      list_scan_step, list_scan_release};

int mcds_list_scan_start(mcds_list *list, uint64_t skip, uint64_t limit,
                         mcds_list_scan_cb visit, void *context, mcds_pipeline *pipeline,
                         uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    int result = MCDS_OK;
    if (list == NULL || visit == NULL)
        return mcds__fail_missing("list", "scan", "a list and a visitor");
    struct list_scan own;
    struct list_scan *scan = mcds__call_begin_zero(&own.base, &scan_kind, &list->handle, start,
                                                   &result);
    if (scan == NULL)
        return result;
    scan->list = list;
    scan->skip = skip;
    scan->limit = limit;
    scan->visit = visit;
    scan->context = context;
    scan->known = atomic_load(&list->generation.known);
    mcds__root_begin(&scan->root, &list->generation);
    mcds__segment_read_begin(&scan->read, &list->segments, 0);
    mcds__segment_fetch_begin(&scan->large, &list->segments);
    return mcds__call_launch(&scan->base, start);
}

int mcds_list_scan(mcds_list *list, uint64_t skip, uint64_t limit, mcds_list_scan_cb visit,
                   void *context)
{
    return mcds_list_scan_start(list, skip, limit, visit, context, MCDS__WAIT, 0);
}
