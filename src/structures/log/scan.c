/* Log: scan a range, chunk by chunk.
 *
 * One round trip surveys up to 28 chunks and reads those of a single segment; a longer chunk is
 * read by itself. The survey after a long chunk covers no more chunks than were short in a row. */
#include <assert.h>
#include <stdatomic.h>

#include "base/environment.h"
#include "base/error.h"
#include "structures/log/scan.h"

/* Segments in the first round trip of a long chunk, when read from its end. */
#define WANT_FIRST 8
static void log_scan_release(struct mcds__operation *operation)
{
    struct mcds__log_scan *scan = (struct mcds__log_scan *)operation;
    if (scan->read.segments != NULL) {
        mcds__segment_read_free(&scan->read);
        mcds__segment_fetch_free(&scan->large);
    }
    mcds__free(operation->env, scan->locate.scratch);
    scan->locate.scratch = NULL;
}

/* The next chunk. */
static uint64_t next_chunk(const struct mcds__log_scan *scan)
{
    return scan->range.newest_first ? scan->last : scan->first;
}

static bool is_left(const struct mcds__log_scan *scan)
{
    return scan->first <= scan->last && scan->last != UINT64_MAX;
}

/* Continue after the next chunk. */
static void log_scan_pass_chunk(struct mcds__log_scan *scan)
{
    assert(is_left(scan));
    if (scan->range.newest_first)
        scan->last--;
    else
        scan->first++;
}

static enum mcds__step log_scan_survey(struct mcds__log_scan *scan)
{
    if (!is_left(scan))
        return mcds__log_scan_finish(scan);
    uint64_t left = scan->last - scan->first + 1;
    scan->read.stream = next_chunk(scan);
    scan->read.stage = 0;
    scan->read.counted = 0;
    if (scan->width > left)
        scan->width = (uint32_t)left;
    assert(scan->width > 0 && scan->width <= MCDS__SEGMENT_SURVEY_MAX);
    for (uint32_t i = 0; i < scan->width; i++) {
        uint64_t stream = scan->range.newest_first ? scan->last - i : scan->first + i;
        struct mcds__segment_sight sight = mcds__segment_sight_copy(&scan->log->segments,
                                                                    stream);
        scan->incarnations[i] = sight.incarnation;
        scan->is_long[i] = sight.made > 1;
    }
    mcds__operation_renew(&scan->base);
    return mcds__log_scan_go_to(scan, MCDS__SCAN_SURVEY);
}

/* Events are lost where the first segment is not the one that this handle has seen, or where it is
 * missing and nothing else accounts for it. */
static void note_first_segment(struct mcds__log_scan *scan)
{
    assert(scan->is_survey && scan->chunk < scan->width);
    uint32_t known = scan->incarnations[scan->chunk];
    uint32_t incarnation = scan->read.incarnations[scan->chunk];
    if (incarnation != 0)
        mcds__segment_note_sight(&scan->log->segments, next_chunk(scan), incarnation);
    scan->is_told = known != 0 && known != incarnation &&
                    (incarnation != 0 ||
                     scan->read.kinds[scan->chunk] == MCDS__SEGMENT_NOTHING);
    mcds__segment_read_note_gaps(&scan->read, scan->is_told, scan->read.peers[scan->chunk]);
}

/* Reads segments of a long chunk. Where the first one is another, those that are missing after it
 * were lost with it, and that is counted. */
static enum mcds__step log_scan_read(struct mcds__log_scan *scan, uint64_t from, uint64_t want)
{
    assert(want > 0 && want <= MCDS__SEGMENT_WANT_MAX);
    scan->read.from = from;
    scan->read.want = (uint32_t)want;
    scan->read.counted = scan->is_told && from == 0 ? 2 : 0;
    return mcds__log_scan_go_to(scan, MCDS__SCAN_READ);
}

/* Finds the records of the next chunk of the survey that has any, or the end of the survey. */
static enum mcds__step visit_survey(struct mcds__log_scan *scan)
{
    assert(scan->end <= scan->read.count);
    for (; scan->chunk < scan->width; scan->chunk++, log_scan_pass_chunk(scan)) {
        scan->exists = scan->exists || scan->read.kinds[scan->chunk] != MCDS__SEGMENT_NOTHING;
        if (scan->is_long[scan->chunk])
            scan->read.kinds[scan->chunk] = MCDS__SEGMENT_LONG;
        enum mcds__segment_kind kind = scan->read.kinds[scan->chunk];
        note_first_segment(scan);
        scan->begin = scan->end;
        while (scan->end < scan->read.count && scan->read.items[scan->end].index == scan->chunk)
            scan->end++;
        scan->item = 0;
        if (kind == MCDS__SEGMENT_LONG) {
            scan->width = scan->chunk > 0 ? scan->chunk : 1;
            scan->is_survey = false;
            scan->locate = (struct mcds__segment_locate){.stream = next_chunk(scan),
                                                         .scratch = scan->locate.scratch};
            scan->read.stream = scan->locate.stream;
            scan->read.stays = scan->range.newest_first;
            scan->bound = 0;
            return scan->range.newest_first ? mcds__log_scan_go_to(scan, MCDS__SCAN_LOCATE)
                                            : log_scan_read(scan, 0, WANT_FIRST);
        }
        if (kind == MCDS__SEGMENT_SHORT && scan->begin < scan->end)
            return mcds__log_scan_go_to(scan, MCDS__SCAN_VISIT);
    }
    scan->width = scan->width < MCDS__SEGMENT_SURVEY_MAX / 2 ? 2 * scan->width
                                                             : MCDS__SEGMENT_SURVEY_MAX;
    return log_scan_survey(scan);
}

/* Reads the segments below this one, as many as one read takes. */
static enum mcds__step log_scan_read_below(struct mcds__log_scan *scan, uint64_t segment)
{
    assert(segment > 0 && scan->range.newest_first);
    uint64_t want = segment < MCDS__SEGMENT_WANT_MAX ? segment : MCDS__SEGMENT_WANT_MAX;
    scan->low = segment - want;
    return log_scan_read(scan, scan->low, want);
}

/* Continues below segments that are all missing. */
static enum mcds__step log_scan_step_find(struct mcds__log_scan *scan)
{
    enum mcds__step step = mcds__segment_find_step(&scan->find, &scan->log->segments,
                                                   scan->read.scratch, &scan->base);
    if (step != MCDS__DONE || scan->base.result != MCDS_OK)
        return step;
    if (scan->find.found)
        return log_scan_read_below(scan, scan->find.segment + 1);
    log_scan_pass_chunk(scan);
    return log_scan_survey(scan);
}

/* All records that were read have been visited: continues with the next read. */
static enum mcds__step log_scan_go_on(struct mcds__log_scan *scan)
{
    assert(scan->item == scan->end - scan->begin);
    if (scan->is_survey) {
        scan->chunk++;
        log_scan_pass_chunk(scan);
        return visit_survey(scan);
    }
    struct mcds__segment_read *read = &scan->read;
    if (read->count > 0)
        mcds__operation_renew(&scan->base);
    if (!scan->range.newest_first && read->more && read->next < scan->bound)
        return log_scan_read(scan, read->next, MCDS__SEGMENT_WANT_MAX);
    if (scan->range.newest_first && scan->low > 0) {
        if (!read->is_empty)
            return log_scan_read_below(scan, scan->low);
        scan->find = (struct mcds__segment_find){
            .stream = read->stream, .high = scan->low, .down = true};
        return mcds__log_scan_go_to(scan, MCDS__SCAN_FIND);
    }
    log_scan_pass_chunk(scan);
    return log_scan_survey(scan);
}

static const struct mcds__segment_item *item_of(const struct mcds__log_scan *scan)
{
    assert(scan->item < scan->end - scan->begin);
    uint32_t i = scan->range.newest_first ? scan->end - 1 - scan->item
                                          : scan->begin + scan->item;
    return &scan->read.items[i];
}

/* Returns true after the last event. */
static bool log_scan_show(struct mcds__log_scan *scan,
                          const struct mcds__segment_record *record, mcds_bytes payload)
{
    mcds_log_event event = mcds__log_event(record, payload);
    scan->item++;
    mcds__operation_note_visit(&scan->base);
    return !scan->visit(scan->context, &event) ||
           (scan->range.limit > 0 && --scan->range.limit == 0);
}

static enum mcds__step log_scan_visit_items(struct mcds__log_scan *scan)
{
    struct mcds__segment_record record;
    while (scan->item < scan->end - scan->begin) {
        (void)mcds__segment_read_item(&scan->read, item_of(scan), &record);
        if (record.filed_ms < scan->range.first_ms || record.filed_ms >= scan->range.last_ms)
            scan->item++;
        else if ((record.flags & MCDS__SEGMENT_LARGE) != 0)
            return mcds__log_scan_go_to(scan, MCDS__SCAN_LARGE);
        else if (log_scan_show(scan, &record, record.payload))
            return mcds__log_scan_finish(scan);
    }
    return log_scan_go_on(scan);
}

static enum mcds__step log_scan_step_large(struct mcds__log_scan *scan)
{
    struct mcds__segment_record record;
    (void)mcds__segment_read_item(&scan->read, item_of(scan), &record);
    enum mcds__step step = mcds__segment_fetch_step(&scan->large, next_chunk(scan), &record,
                                                    &scan->base);
    if (step != MCDS__DONE)
        return step;
    int result = scan->base.result;
    if (result != MCDS_OK && result != MCDS_LOST && result != MCDS_CORRUPT)
        return step;
    mcds__segment_read_note_gaps(&scan->read, result == MCDS_LOST, scan->base.asked);
    scan->read.corrupt += result == MCDS_CORRUPT;
    if (result == MCDS_CORRUPT)
        mcds__segment_read_note_refused(&scan->read, mcds__operation_read(&scan->base));
    if (result != MCDS_OK)
        scan->item++;
    else if (log_scan_show(scan, &record, scan->large.payload))
        return mcds__log_scan_finish(scan);
    return mcds__log_scan_go_to(scan, MCDS__SCAN_VISIT);
}

static enum mcds__step log_scan_take_survey(struct mcds__log_scan *scan, enum mcds__step step)
{
    if (step != MCDS__DONE || scan->base.result != MCDS_OK)
        return step;
    scan->is_survey = true;
    scan->chunk = 0;
    scan->begin = scan->end = 0;
    if (!scan->read.looks)
        return visit_survey(scan);
    scan->read.looks = false;
    if (scan->read.truth == MCDS__SEGMENT_ALIVE) {
        scan->exists = true;
        return visit_survey(scan);
    }
    mcds__operation_renew(&scan->base);
    mcds__log_next_life_begin(&scan->next_life, scan->log, mcds__log_stem(scan->life));
    return mcds__log_scan_go_to(scan, MCDS__SCAN_NEXT_LIFE);
}

static enum mcds__step log_scan_take_location(struct mcds__log_scan *scan, enum mcds__step step)
{
    if (step != MCDS__DONE || scan->base.result != MCDS_OK)
        return step;
    uint64_t segments = scan->locate.segment + 1;
    uint64_t seen = mcds__segment_sight_copy(&scan->log->segments, scan->locate.stream).made;
    if (segments < seen)
        segments = seen;
    uint64_t want = segments < WANT_FIRST ? segments : WANT_FIRST;
    assert(want > 0);
    scan->low = segments - want;
    return log_scan_read(scan, scan->low, want);
}

static enum mcds__step log_scan_take_read(struct mcds__log_scan *scan, enum mcds__step step)
{
    if (step != MCDS__DONE || scan->base.result != MCDS_OK)
        return step;
    if (scan->bound == 0)
        scan->bound = scan->read.bound;
    scan->begin = scan->item = 0;
    scan->end = scan->read.count;
    return mcds__log_scan_go_to(scan, MCDS__SCAN_VISIT);
}

static enum mcds__step log_scan_step_stage(struct mcds__log_scan *scan,
                                           struct mcds__operation *operation)
{
    assert(scan->stage <= MCDS__SCAN_ROOT_AFTER);
    switch (scan->stage) {
    case MCDS__SCAN_ROOT:
        if (scan->root.root.stage == 0)
            scan->root.root.number = atomic_load(&scan->log->generation.known);
        if (scan->root.root.stage == 0 && scan->root.root.number != 0)
            return mcds__log_scan_take_root(scan, mcds__operation_finish(operation, MCDS_OK));
        scan->exists = true;
        return mcds__log_scan_take_root(scan,
                                        mcds__log_begin_step(&scan->root, false, operation));
    case MCDS__SCAN_FORMER:
        return mcds__log_scan_take_former(scan, mcds__log_fate_step(&scan->fate, operation));
    case MCDS__SCAN_NEXT_LIFE:
        return mcds__log_scan_take_next_life(
            scan, mcds__log_next_life_step(&scan->next_life, operation));
    case MCDS__SCAN_ROOT_AFTER:
        return mcds__log_scan_take_root_after(
            scan, mcds__log_begin_step(&scan->root, false, operation));
    case MCDS__SCAN_NEXT:
        return log_scan_survey(scan);
    case MCDS__SCAN_SURVEYED:
        return visit_survey(scan);
    case MCDS__SCAN_SURVEY:
        return log_scan_take_survey(scan, mcds__segment_survey_step(&scan->read, scan->width,
                                                                    scan->range.newest_first,
                                                                    operation));
    case MCDS__SCAN_LOCATE:
        return log_scan_take_location(
            scan, mcds__segment_locate_step(&scan->locate, &scan->log->segments, operation));
    case MCDS__SCAN_READ:
        return log_scan_take_read(scan, mcds__segment_read_step(&scan->read, operation));
    case MCDS__SCAN_FIND:
        return log_scan_step_find(scan);
    case MCDS__SCAN_VISIT:
        return log_scan_visit_items(scan);
    case MCDS__SCAN_FATE:
        return mcds__log_scan_take_fate(scan, mcds__log_fate_step(&scan->fate, operation));
    default:
        return log_scan_step_large(scan);
    }
}

static enum mcds__step log_scan_step(struct mcds__operation *operation)
{
    struct mcds__log_scan *scan = (struct mcds__log_scan *)operation;
    enum mcds__step step;
    do
        step = log_scan_step_stage(scan, operation);
    while (step == MCDS__NEXT);
    return step;
}

static const struct mcds__operation_kind scan_kind = {
    "log", "scan", sizeof(struct mcds__log_scan), log_scan_step, log_scan_release};

int mcds_log_scan_start(mcds_log *log, const mcds_log_range *range, mcds_log_scan_cb visit,
                        void *context, mcds_log_info *info_out, mcds_pipeline *pipeline,
                        uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    mcds_log_range wanted;
    if (log == NULL || visit == NULL)
        return mcds__fail_missing("log", "scan", "a log and a visitor");
    int result = mcds__sized_read(MCDS__SIZED_mcds_log_range, range, &wanted);
    if (result == MCDS_OK && info_out != NULL)
        result = mcds__sized_check(MCDS__SIZED_mcds_log_info, info_out);
    if (result == MCDS_OK)
        result = mcds__check_wall(&scan_kind, &log->handle);
    if (result != MCDS_OK)
        return result;
    struct mcds__log_scan own;
    struct mcds__log_scan *scan = mcds__call_begin_zero(&own.base, &scan_kind, &log->handle,
                                                        start, &result);
    if (scan == NULL)
        return result;
    scan->log = log;
    scan->range = wanted;
    scan->visit = visit;
    scan->context = context;
    scan->info_out = info_out;
    mcds__log_begin(&scan->root, log);
    return mcds__call_launch(&scan->base, start);
}

int mcds_log_scan(mcds_log *log, const mcds_log_range *range, mcds_log_scan_cb visit,
                  void *context, mcds_log_info *info_out)
{
    return mcds_log_scan_start(log, range, visit, context, info_out, MCDS__WAIT, 0);
}
