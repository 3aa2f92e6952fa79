/* Log: a tail, between its files. */
#ifndef MCDS_STRUCTURES_LOG_TAIL_H
#define MCDS_STRUCTURES_LOG_TAIL_H

#include "core/segment/read.h"
#include "structures/log/log.h"

enum {
    MCDS__TAIL_ROOT,
    MCDS__TAIL_NEXT_LIFE,
    MCDS__TAIL_LOCATE,
    MCDS__TAIL_POLL,
    MCDS__TAIL_READ,
    MCDS__TAIL_ITEMS,
    MCDS__TAIL_VISIT,
    MCDS__TAIL_FATE,
    MCDS__TAIL_LARGE
};

struct mcds__log_tail {
    struct mcds__operation base;
    mcds_log *log;
    mcds_log_cursor *cursor;
    mcds_log_scan_cb visit;
    void *context;
    mcds_log_info *info_out;
    uint8_t stage;
    bool is_asked;
    bool has_segments; /* segments of the life of the cursor have been seen */
    bool has_root;     /* a root of any life has been seen */
    bool is_new;       /* the cursor begins where the chunks end now */
    uint32_t root_at;  /* the request for the root */
    uint32_t at;       /* the chunk of the cursor that is being read */
    uint32_t item;     /* the next to visit */
    uint32_t changed;  /* bit i: chunk i of the cursor has grown */
    bool has_read;     /* records that are not visited yet */
    bool is_judged;    /* `gaps` are certain */
    int ended_with;    /* the result of the poll, while its life is judged */
    int64_t now_ms;
    uint64_t gaps_before; /* those of `read` before the last one */
    int64_t before_ms;    /* when the cursor was used before */
    uint64_t gaps;        /* of the life of the cursor, besides those of `read` */
    uint64_t gaps_sure;   /* of the lives before, and of expired chunks */
    const char *lost_at;  /* the server of the first of both; NULL: not known */
    uint64_t bound;       /* of the chunk: no segment existed from here on; 0: not known */
    uint32_t newer_than;  /* an incarnation: older segments have been read; 0: not used */
    uint8_t lives;
    struct mcds__log_begin root;
    struct mcds__log_next_life next_life;
    struct mcds__log_fate fate;
    struct mcds__segment_locate locate;
    struct mcds__segment_read read;
    struct mcds__segment_fetch large;
    struct mcds__segment_scratch *scratch;
};

static inline enum mcds__step mcds__log_tail_go_to(struct mcds__log_tail *tail, uint8_t stage)
{
    tail->stage = stage;
    return MCDS__NEXT;
}

/* The last batch has shown whether these are gaps: of `gaps` or of `gaps_sure`. */
static inline void mcds__log_tail_note_gaps(struct mcds__log_tail *tail, uint64_t *of,
                                            uint64_t gaps)
{
    *of += gaps;
    if (gaps > 0 && tail->lost_at == NULL)
        tail->lost_at = tail->base.asked;
}

/* A new round trip, not a retry: it has the whole timeout. */
static inline enum mcds__step mcds__log_tail_poll(struct mcds__log_tail *tail)
{
    mcds__operation_renew(&tail->base);
    return mcds__log_tail_go_to(tail, MCDS__TAIL_POLL);
}

/* The life of the cursor. The poll has seen its root: what the last call has missed was lost. */
void mcds__log_tail_take_missed(struct mcds__log_tail *tail, bool was_dropped);
/* Its root was missing: */
enum mcds__step mcds__log_tail_next_life(struct mcds__log_tail *tail);
enum mcds__step mcds__log_tail_take_next_life(struct mcds__log_tail *tail,
                                              enum mcds__step step);
/* The tail has ended, and segments were missing: perhaps because the log was dropped. */
enum mcds__step mcds__log_tail_judge_gaps(struct mcds__log_tail *tail);
enum mcds__step mcds__log_tail_take_fate(struct mcds__log_tail *tail, enum mcds__step step);

#endif
