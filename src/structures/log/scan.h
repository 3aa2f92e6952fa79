/* Log: a scan, between its files. */
#ifndef MCDS_STRUCTURES_LOG_SCAN_H
#define MCDS_STRUCTURES_LOG_SCAN_H

#include <assert.h>

#include "core/segment/read.h"
#include "structures/log/log.h"

enum {
    MCDS__SCAN_ROOT,
    MCDS__SCAN_FORMER,
    MCDS__SCAN_NEXT_LIFE,
    MCDS__SCAN_NEXT, /* the chunks from the next one on */
    MCDS__SCAN_SURVEY,
    MCDS__SCAN_SURVEYED,
    MCDS__SCAN_LOCATE,
    MCDS__SCAN_READ,
    MCDS__SCAN_FIND,
    MCDS__SCAN_VISIT,
    MCDS__SCAN_LARGE,
    MCDS__SCAN_FATE,
    MCDS__SCAN_ROOT_AFTER
};

struct mcds__log_scan {
    struct mcds__operation base;
    mcds_log *log;
    mcds_log_range range;
    mcds_log_scan_cb visit;
    void *context;
    mcds_log_info *info_out;
    uint8_t stage;
    bool is_survey; /* the last read was a survey of several chunks */
    bool exists;    /* the log exists: its root or a segment has been seen */
    uint64_t life;  /* whose events are scanned */
    uint64_t first; /* streams that are left, both ends included */
    uint64_t last;
    uint32_t width; /* of the survey */
    /* Of each chunk, what this handle knew before the read: the incarnation of its first segment, and
     * whether it had more than one. */
    uint32_t incarnations[MCDS__SEGMENT_SURVEY_MAX];
    bool is_long[MCDS__SEGMENT_SURVEY_MAX];
    bool is_told;   /* the loss of the first segment of the chunk is counted */
    uint32_t chunk; /* of the survey: the one being visited */
    uint32_t item;  /* the next to visit, counted from where the visit begins */
    uint32_t begin; /* items of the chunk that is visited: [begin, end) */
    uint32_t end;
    uint64_t bound; /* of a long chunk: no segment existed from here on; 0: not known */
    uint64_t low;   /* newest first: segments below this have not been read */
    uint8_t lives;
    uint64_t gaps;   /* of the lives before this one */
    uint64_t former; /* a life that this handle knew before; 0: none */
    struct mcds__log_begin root;
    struct mcds__log_next_life next_life;
    struct mcds__log_fate fate;
    struct mcds__segment_locate locate;
    struct mcds__segment_find find;
    struct mcds__segment_read read;
    struct mcds__segment_fetch large;
};

/* Continues with another stage without a round trip. */
static inline enum mcds__step mcds__log_scan_go_to(struct mcds__log_scan *scan, uint8_t stage)
{
    assert(stage > MCDS__SCAN_ROOT && stage <= MCDS__SCAN_ROOT_AFTER);
    scan->stage = stage;
    return MCDS__NEXT;
}

/* The life that is scanned. After the root has been read: */
enum mcds__step mcds__log_scan_take_root(struct mcds__log_scan *scan, enum mcds__step step);
/* The fate of the life that this handle knew: */
enum mcds__step mcds__log_scan_take_former(struct mcds__log_scan *scan, enum mcds__step step);
/* The root of the life was missing: */
enum mcds__step mcds__log_scan_take_next_life(struct mcds__log_scan *scan,
                                              enum mcds__step step);
/* All is visited. */
enum mcds__step mcds__log_scan_finish(struct mcds__log_scan *scan);
enum mcds__step mcds__log_scan_take_fate(struct mcds__log_scan *scan, enum mcds__step step);
enum mcds__step mcds__log_scan_take_root_after(struct mcds__log_scan *scan,
                                               enum mcds__step step);

#endif
