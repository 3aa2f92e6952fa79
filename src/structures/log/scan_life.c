/* Log: the life that a scan visits, and whether what the scan misses was lost or dropped. */
#include <assert.h>
#include <stdatomic.h>

#include "base/environment.h"
#include "structures/log/scan.h"

static void add_info(struct mcds__log_scan *scan)
{
    const char *peer = scan->read.gaps > 0 ? scan->read.lost_at
                                           : mcds__segment_read_refused_at(&scan->read);
    mcds__log_add_info(scan->info_out, scan->read.gaps, scan->read.corrupt, peer);
}

/* Chunks that a drop has erased are no gap. */
static void forget_gaps(struct mcds__log_scan *scan)
{
    scan->read.gaps = scan->gaps;
    if (scan->gaps == 0)
        scan->read.lost_at = NULL;
}

/* A log without root and segments may not exist. */
static enum mcds__step finish_judged(struct mcds__log_scan *scan)
{
    if (!scan->exists) {
        mcds__operation_renew(&scan->base);
        return mcds__log_scan_go_to(scan, MCDS__SCAN_ROOT_AFTER);
    }
    add_info(scan);
    return mcds__operation_finish(&scan->base, MCDS_OK);
}

/* Segments that were missing may be missing because the log was dropped meanwhile. */
enum mcds__step mcds__log_scan_finish(struct mcds__log_scan *scan)
{
    assert(scan->read.gaps >= scan->gaps);
    if (scan->read.gaps == scan->gaps)
        return finish_judged(scan);
    mcds__operation_renew(&scan->base);
    mcds__log_fate_begin(&scan->fate, scan->log, mcds__log_stem(scan->life));
    return mcds__log_scan_go_to(scan, MCDS__SCAN_FATE);
}

enum mcds__step mcds__log_scan_take_fate(struct mcds__log_scan *scan, enum mcds__step step)
{
    if (step != MCDS__DONE)
        return step;
    if (scan->base.result == MCDS_OK && scan->fate.was_dropped)
        forget_gaps(scan);
    return finish_judged(scan);
}

/* The chunks of the range that are kept, in this life. */
static enum mcds__step scan_begin(struct mcds__log_scan *scan, uint64_t life)
{
    mcds_log *log = scan->log;
    uint64_t stem = mcds__log_stem(life);
    int64_t now_ms = mcds__wall_ms(scan->base.env);
    int64_t oldest_ms = now_ms - (int64_t)log->settings.retention_ms;
    if (scan->range.first_ms < oldest_ms)
        scan->range.first_ms = oldest_ms;
    if (scan->range.last_ms == 0)
        scan->range.last_ms = INT64_MAX;
    if (scan->range.first_ms >= scan->range.last_ms)
        return mcds__log_scan_finish(scan);
    uint64_t last = mcds__log_chunk(log, scan->range.last_ms - 1);
    uint64_t farthest = mcds__log_newest(log, now_ms) + mcds__log_reach(&log->settings);
    if (last > farthest)
        last = farthest;
    assert(scan->range.first_ms < scan->range.last_ms);
    uint64_t first = mcds__log_chunk(log, scan->range.first_ms);
    if (first > last)
        return mcds__log_scan_finish(scan);
    scan->life = life;
    scan->first = mcds__log_stream(stem, first);
    scan->last = mcds__log_stream(stem, last);
    scan->width = MCDS__SEGMENT_SURVEY_MAX;
    scan->read.looks = true;
    return mcds__log_scan_go_to(scan, MCDS__SCAN_NEXT);
}

/* The root of the life was missing. */
enum mcds__step mcds__log_scan_take_next_life(struct mcds__log_scan *scan, enum mcds__step step)
{
    const struct mcds__log_next_life *next_life = &scan->next_life;
    if (step != MCDS__DONE)
        return step;
    int result = scan->base.result;
    if (result == MCDS_OK && next_life->begin.root.number != scan->life) {
        mcds__generation_forget_former(&scan->log->generation, scan->life);
        /* Nothing of the life that has ended is visited, so what its survey found is not counted. */
        forget_gaps(scan);
        mcds__segment_read_note_gaps(&scan->read, !next_life->was_dropped, scan->base.asked);
        scan->gaps = scan->read.gaps;
        scan->read.corrupt = 0;
        scan->read.is_newer = false;
        return scan->lives++ < MCDS__LOG_LIVES_MAX
                   ? scan_begin(scan, next_life->begin.root.number)
                   : mcds__operation_explain(&scan->base, MCDS_BUSY, MCDS__WHY(ROOT_CHANGES));
    }
    if (result != MCDS_OK && result != MCDS_NOT_FOUND)
        return step;
    if (result == MCDS_NOT_FOUND && next_life->was_dropped)
        return step;
    scan->exists = scan->exists || result == MCDS_OK;
    return mcds__log_scan_go_to(scan, MCDS__SCAN_SURVEYED);
}

enum mcds__step mcds__log_scan_take_root(struct mcds__log_scan *scan, enum mcds__step step)
{
    mcds_log *log = scan->log;
    if (step != MCDS__DONE || scan->base.result != MCDS_OK)
        return step;
    mcds__segment_read_begin(&scan->read, &log->segments, 0);
    mcds__segment_fetch_begin(&scan->large, &log->segments);
    scan->read.recalls = true;
    scan->former = atomic_load(&log->generation.former);
    if (scan->former == 0)
        return scan_begin(scan, scan->root.root.number);
    mcds__operation_renew(&scan->base);
    mcds__log_fate_begin(&scan->fate, log, mcds__log_stem(scan->former));
    return mcds__log_scan_go_to(scan, MCDS__SCAN_FORMER);
}

/* The life that this handle knew was dropped or lost. A loss is reported once. */
enum mcds__step mcds__log_scan_take_former(struct mcds__log_scan *scan, enum mcds__step step)
{
    if (step != MCDS__DONE || scan->base.result != MCDS_OK)
        return step;
    assert(scan->read.gaps == 0 && scan->former != 0);
    mcds__segment_read_note_gaps(&scan->read, !scan->fate.was_dropped, scan->base.asked);
    scan->gaps = scan->read.gaps;
    mcds__generation_forget_former(&scan->log->generation, scan->former);
    return scan_begin(scan, scan->root.root.number);
}

enum mcds__step mcds__log_scan_take_root_after(struct mcds__log_scan *scan,
                                               enum mcds__step step)
{
    if (step == MCDS__DONE &&
        (scan->base.result == MCDS_OK || scan->base.result == MCDS_NOT_FOUND))
        add_info(scan);
    return step;
}
