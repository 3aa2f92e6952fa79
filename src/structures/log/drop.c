/* Log: drop, which sets the tombstone of the life, erases the root, and then the segments of
 * all chunks. A reader that misses a segment finds no root then, and does not take it for lost.
 * Where the store has no memory for the tombstone, the segments are erased first, which makes
 * room.
 *
 * In a long chunk it erases the last segment first and the count after all segments, so that the
 * next drop finds what a failed one has left. */
#include <assert.h>
#include <stdatomic.h>

#include "base/environment.h"
#include "base/error.h"
#include "core/segment/read.h"
#include "structures/log/log.h"

enum {
    DROP_ROOT,
    DROP_SURVEY,
    DROP_LOCATE,
    DROP_READ,
    DROP_ERASE,
    DROP_PASS,
    DROP_FIND,
    DROP_TOMBSTONE,
    DROP_TOMBSTONE_SET,
    DROP_LAST
};

struct log_drop {
    struct mcds__operation base;
    mcds_log *log;
    uint8_t stage;
    bool is_asked;   /* requests to erase have been made */
    bool erased;     /* something has been erased, or may have been */
    bool is_over;    /* the root has been erased */
    bool is_survey;  /* the last read was a survey of several chunks */
    bool is_counted; /* the count of the long chunk is still to be erased */
    uint64_t life;
    uint64_t first; /* streams that have not been read, both ends included */
    uint64_t last;
    uint32_t width;                     /* of the survey */
    uint32_t chunk;                     /* of the survey: the next to erase */
    struct mcds__segment_blocks blocks; /* of what was read */
    uint64_t low; /* of a long chunk: the segments from here to the end are to be erased */
    uint64_t end;
    struct mcds__segment_locate locate;
    struct mcds__segment_find find;
    struct mcds__log_begin root;
    struct mcds__segment_read read;
    struct mcds__segment_scratch *scratch;
};

static void log_drop_release(struct mcds__operation *operation)
{
    struct log_drop *drop = (struct log_drop *)operation;
    if (drop->read.segments != NULL)
        mcds__segment_read_free(&drop->read);
    mcds__free(operation->env, drop->scratch);
    mcds__free(operation->env, drop->locate.scratch);
    drop->scratch = drop->locate.scratch = NULL;
}

static enum mcds__step log_drop_go_to(struct log_drop *drop, uint8_t stage)
{
    assert(stage > DROP_ROOT && stage <= DROP_LAST);
    drop->stage = stage;
    return MCDS__NEXT;
}

/* Erases the segments of the short chunks, or those of the long chunk that have been read. */
static uint32_t log_drop_add_segments(struct log_drop *drop)
{
    const struct mcds__segments *segments = &drop->log->segments;
    uint32_t count = 0;
    assert(drop->is_survey || drop->low <= drop->end);
    if (!drop->is_survey) {
        while (drop->end > drop->low) {
            mcds_bytes route = mcds__segment_key(segments, drop->read.stream, --drop->end,
                                                 &drop->scratch->keys[count]);
            mcds__segment_fill(drop->scratch, count++, MCDS_DELETE, route);
        }
        return count;
    }
    for (; drop->chunk < drop->width && drop->read.kinds[drop->chunk] != MCDS__SEGMENT_LONG;
         drop->chunk++) {
        if (drop->read.kinds[drop->chunk] == MCDS__SEGMENT_NOTHING)
            continue;
        mcds_bytes route = mcds__segment_key(segments, drop->first + drop->chunk, 0,
                                             &drop->scratch->keys[count]);
        mcds__segment_fill(drop->scratch, count++, MCDS_DELETE, route);
    }
    return count;
}

static enum mcds__step log_drop_ask_erasures(struct log_drop *drop, uint32_t count,
                                             bool in_order, uint8_t then)
{
    assert(count <= MCDS__SEGMENT_CAPACITY);
    if (count == 0)
        return log_drop_go_to(drop, then);
    drop->stage = then;
    mcds__operation_renew(&drop->base);
    (void)mcds__operation_ask_repeatable(&drop->base, drop->scratch->requests, count);
    drop->base.batch.independent = !in_order;
    drop->is_asked = true;
    return MCDS__ASK;
}

/* Checks the replies to the erasures; MISS counts as OK. False: one failed, and the drop ends. */
static bool is_erased(struct log_drop *drop)
{
    if (!drop->is_asked)
        return true;
    const mcds_request *requests = drop->scratch->requests;
    const mcds_reply *trouble = mcds__first_trouble(requests, drop->base.batch.count);
    drop->erased = drop->erased || mcds__may_be_applied(requests, drop->base.batch.count);
    drop->is_asked = false;
    if (trouble != NULL)
        (void)mcds__operation_fail_read(&drop->base, trouble);
    return trouble == NULL;
}

static enum mcds__step begin_long(struct log_drop *drop)
{
    assert(drop->is_survey && drop->chunk < drop->width);
    assert(drop->read.kinds[drop->chunk] == MCDS__SEGMENT_LONG);
    drop->first += drop->chunk;
    drop->is_survey = false;
    drop->is_counted = true;
    drop->read.stays = true;
    drop->locate = (struct mcds__segment_locate){.stream = drop->first,
                                                 .scratch = drop->locate.scratch};
    mcds__operation_renew(&drop->base);
    return log_drop_go_to(drop, DROP_LOCATE);
}

/* Reads the segments below this one, as many as one read takes. */
static enum mcds__step log_drop_read_below(struct log_drop *drop, uint64_t segment)
{
    assert(!drop->is_survey && segment <= drop->end);
    drop->read.stream = drop->first;
    drop->read.want = segment < MCDS__SEGMENT_WANT_MAX ? (uint32_t)segment
                                                       : MCDS__SEGMENT_WANT_MAX;
    drop->read.from = drop->low = segment - drop->read.want;
    mcds__operation_renew(&drop->base);
    return log_drop_go_to(drop, DROP_READ);
}

/* After the last segment there may be others that were made in advance. */
static enum mcds__step log_drop_take_location(struct log_drop *drop)
{
    enum mcds__step step = mcds__segment_locate_step(&drop->locate, &drop->log->segments,
                                                     &drop->base);
    if (step != MCDS__DONE || drop->base.result != MCDS_OK)
        return step;
    drop->end = drop->locate.segment + MCDS__SEGMENT_AHEAD + 2;
    return log_drop_read_below(drop, drop->locate.segment + 1);
}

/* A new round trip, not a retry: it has the whole timeout. */
static enum mcds__step log_drop_survey(struct log_drop *drop)
{
    assert(drop->first <= drop->last);
    uint64_t left = drop->last - drop->first + 1;
    drop->width = left < MCDS__SEGMENT_SURVEY_MAX ? (uint32_t)left : MCDS__SEGMENT_SURVEY_MAX;
    drop->read.stream = drop->first;
    drop->read.stage = 0;
    mcds__operation_renew(&drop->base);
    return log_drop_go_to(drop, DROP_SURVEY);
}

/* Continues with the next chunk, or the next survey. */
static enum mcds__step log_drop_pass_chunk(struct log_drop *drop)
{
    if (drop->is_survey && drop->chunk < drop->width)
        return begin_long(drop);
    drop->first += drop->is_survey ? drop->width : 1;
    if (drop->first <= drop->last)
        return log_drop_survey(drop);
    mcds__segment_forget_all(&drop->log->segments);
    mcds__operation_renew(&drop->base);
    if (!drop->is_over)
        return log_drop_go_to(drop, DROP_TOMBSTONE);
    (void)atomic_compare_exchange_strong(&drop->log->dropping, &drop->life, 0);
    return mcds__operation_finish(&drop->base, MCDS_OK);
}

/* The segments of a long chunk have been erased. */
static enum mcds__step erase_count(struct log_drop *drop)
{
    if (drop->is_survey || !drop->is_counted)
        return log_drop_pass_chunk(drop);
    assert(drop->low == drop->end);
    drop->is_counted = false;
    drop->low = 0;
    mcds_bytes route = mcds__segment_count_key(&drop->log->segments, drop->read.stream,
                                               drop->scratch->keys);
    mcds__segment_fill(drop->scratch, 0, MCDS_DELETE, route);
    return log_drop_ask_erasures(drop, 1, true, DROP_PASS);
}

/* Everything that was read has been erased. */
static enum mcds__step log_drop_pass(struct log_drop *drop)
{
    if (!drop->is_survey && drop->low > 0 && drop->read.is_empty) {
        drop->find = (struct mcds__segment_find){
            .stream = drop->read.stream, .high = drop->low, .down = true};
        mcds__operation_renew(&drop->base);
        return log_drop_go_to(drop, DROP_FIND);
    }
    if (!drop->is_survey && drop->low > 0)
        return log_drop_read_below(drop, drop->low);
    return erase_count(drop);
}

/* Continues below segments that are all missing. */
static enum mcds__step log_drop_step_find(struct log_drop *drop)
{
    assert(!drop->is_survey && drop->low > 0);
    enum mcds__step step = mcds__segment_find_step(&drop->find, &drop->log->segments,
                                                   drop->read.scratch, &drop->base);
    if (step != MCDS__DONE || drop->base.result != MCDS_OK)
        return step;
    if (!drop->find.found)
        return erase_count(drop);
    drop->end = drop->find.segment + 1;
    return log_drop_read_below(drop, drop->end);
}

static enum mcds__step log_drop_take_survey(struct log_drop *drop)
{
    enum mcds__step step = mcds__segment_survey_step(&drop->read, drop->width, false,
                                                     &drop->base);
    if (step != MCDS__DONE || drop->base.result != MCDS_OK)
        return step;
    drop->is_survey = true;
    drop->chunk = 0;
    drop->blocks = (struct mcds__segment_blocks){.of_survey = true};
    return log_drop_go_to(drop, DROP_ERASE);
}

static enum mcds__step log_drop_take_read(struct log_drop *drop)
{
    enum mcds__step step = mcds__segment_read_step(&drop->read, &drop->base);
    if (step != MCDS__DONE || drop->base.result != MCDS_OK)
        return step;
    drop->blocks = (struct mcds__segment_blocks){.of_survey = false};
    return log_drop_go_to(drop, DROP_ERASE);
}

/* Begins with the first chunk. */
static enum mcds__step erase_chunks(struct log_drop *drop)
{
    mcds_log *log = drop->log;
    assert(drop->life != 0 && drop->first == 0);
    int64_t now_ms = mcds__wall_ms(drop->base.env);
    uint64_t stem = mcds__log_stem(drop->life);
    drop->first = mcds__log_stream(stem, mcds__log_unexpired(log, now_ms));
    drop->last = mcds__log_stream(stem, mcds__log_newest(log, now_ms) +
                                            mcds__log_reach(&log->settings));
    return log_drop_survey(drop);
}

/* Without a root, continues with what a drop of this handle has left. */
static enum mcds__step log_drop_begin(struct log_drop *drop, enum mcds__step step)
{
    int result = drop->base.result;
    uint64_t left = atomic_load(&drop->log->dropping);
    if (step != MCDS__DONE || (result != MCDS_OK && (result != MCDS_NOT_FOUND || left == 0)))
        return step;
    drop->life = result == MCDS_OK ? drop->root.root.number : left;
    drop->is_over = result != MCDS_OK;
    mcds__segment_read_begin(&drop->read, &drop->log->segments, 0);
    if (mcds__segment_get_scratch(&drop->scratch, drop->base.env) == NULL)
        return mcds__operation_finish(&drop->base, MCDS_NO_MEMORY);
    mcds__operation_renew(&drop->base);
    return drop->is_over ? erase_chunks(drop) : log_drop_go_to(drop, DROP_TOMBSTONE);
}

/* Sets the tombstone before the root is erased, so that a client that finds no root knows
 * why. */
static enum mcds__step set_tombstone(struct log_drop *drop)
{
    drop->stage = DROP_TOMBSTONE_SET;
    drop->scratch->requests[0] = mcds__log_tombstone(drop->log, mcds__log_stem(drop->life),
                                                     &drop->scratch->keys[0]);
    return mcds__operation_ask_repeatable(&drop->base, drop->scratch->requests, 1);
}

/* The drop continues when the store has no memory for the tombstone, at last without it. */
static enum mcds__step take_tombstone(struct log_drop *drop)
{
    const mcds_reply *reply = &drop->scratch->requests[0].reply;
    bool is_set = reply->outcome == MCDS_OUT_OK;
    bool is_last = drop->first > drop->last;
    drop->erased = drop->erased || is_set || reply->outcome == MCDS_OUT_UNKNOWN;
    if (!mcds__is_transport_trouble(reply)) {
        mcds__operation_renew(&drop->base);
        return is_set || is_last ? log_drop_go_to(drop, DROP_LAST) : erase_chunks(drop);
    }
    drop->stage = DROP_TOMBSTONE;
    return mcds__operation_retry(&drop->base, reply);
}

/* The next put of this handle makes another life. */
static enum mcds__step erase_root(struct log_drop *drop)
{
    enum mcds__step step = mcds__root_change_step(&drop->root.root, &drop->base,
                                                  MCDS__ROOT_ERASE);
    uint64_t life = drop->life;
    if (step != MCDS__DONE || drop->base.result != MCDS_OK)
        return step;
    (void)atomic_compare_exchange_strong(&drop->log->generation.known, &life, 0);
    drop->is_over = drop->erased = true;
    if (drop->first > drop->last)
        return step;
    atomic_store(&drop->log->dropping, drop->life);
    return erase_chunks(drop);
}

static enum mcds__step log_drop_step_stage(struct log_drop *drop,
                                           struct mcds__operation *operation)
{
    assert(drop->stage <= DROP_LAST);
    if (!is_erased(drop))
        return MCDS__DONE;
    switch (drop->stage) {
    case DROP_ROOT:
        return log_drop_begin(drop, mcds__log_begin_step(&drop->root, false, operation));
    case DROP_SURVEY:
        return log_drop_take_survey(drop);
    case DROP_LOCATE:
        return log_drop_take_location(drop);
    case DROP_READ:
        return log_drop_take_read(drop);
    case DROP_ERASE: {
        uint32_t count = mcds__segment_fill_block_erasures(&drop->read, &drop->blocks,
                                                           drop->scratch);
        if (count > 0)
            return log_drop_ask_erasures(drop, count, false, DROP_ERASE);
        return log_drop_ask_erasures(drop, log_drop_add_segments(drop), !drop->is_survey,
                                     DROP_PASS);
    }
    case DROP_PASS:
        return log_drop_pass(drop);
    case DROP_FIND:
        return log_drop_step_find(drop);
    case DROP_TOMBSTONE:
        return set_tombstone(drop);
    case DROP_TOMBSTONE_SET:
        return take_tombstone(drop);
    default:
        return erase_root(drop);
    }
}

static enum mcds__step log_drop_step(struct mcds__operation *operation)
{
    struct log_drop *drop = (struct log_drop *)operation;
    enum mcds__step step;
    do
        step = log_drop_step_stage(drop, operation);
    while (step == MCDS__NEXT);
    /* After a partial erasure the result cannot be that nothing was done. */
    if (step == MCDS__DONE && drop->erased && operation->result != MCDS_OK)
        operation->result = MCDS_AMBIGUOUS;
    return step;
}

static const struct mcds__operation_kind drop_kind = {"log", "drop", sizeof(struct log_drop),
                                                      log_drop_step, log_drop_release};

int mcds_log_drop_start(mcds_log *log, mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    int result = MCDS_OK;
    if (log == NULL)
        return mcds__fail_missing("log", "drop", "a log");
    result = mcds__check_wall(&drop_kind, &log->handle);
    if (result != MCDS_OK)
        return result;
    struct log_drop own;
    struct log_drop *drop = mcds__call_begin_zero(&own.base, &drop_kind, &log->handle, start,
                                                  &result);
    if (drop == NULL)
        return result;
    drop->log = log;
    mcds__log_begin(&drop->root, log);
    return mcds__call_launch(&drop->base, start);
}

int mcds_log_drop(mcds_log *log)
{
    return mcds_log_drop_start(log, MCDS__WAIT, 0);
}
