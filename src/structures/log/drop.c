/* Log: drop, which sets the mark of the life, erases the root, and then the segments of all chunks.
 * A reader that misses a segment finds no root then, and does not take it for lost. Where the store
 * has no memory for the mark, the segments are erased first, which makes room.
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
    DROP_MARK,
    DROP_MARKED,
    DROP_LAST
};

struct log_drop {
    struct mcds__operation base;
    mcds_log *log;
    uint8_t stage;
    bool goes_on;
    bool is_asked;   /* requests to erase have been made */
    bool erased;     /* something has been erased, or may have been */
    bool is_over;    /* the root has been erased */
    bool is_survey;  /* the last read was a survey of several chunks */
    bool is_counted; /* the count of the long chunk is still to be erased */
    uint64_t life;
    uint64_t first; /* streams that have not been read, both ends included */
    uint64_t last;
    uint32_t width; /* of the survey */
    uint32_t chunk; /* of the survey: the next to erase */
    uint32_t item;  /* the record whose blocks may have to be erased */
    uint32_t block;
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
    drop->goes_on = true;
    return MCDS__SLEEP;
}

static void log_drop_add_erasure(struct log_drop *drop, mcds_bytes route, uint32_t *count)
{
    assert(*count < MCDS__SEGMENT_CAPACITY);
    struct mcds__segment_scratch *scratch = drop->scratch;
    scratch->requests[*count] = (mcds_request){
        .command = MCDS_DELETE,
        .key = mcds__key_bytes(&scratch->keys[*count]),
        .route = route,
    };
    ++*count;
}

static uint64_t chunk_of(const struct log_drop *drop, const struct mcds__segment_item *item)
{
    assert(!drop->is_survey || item->index < drop->width);
    return drop->is_survey ? drop->first + item->index : drop->read.stream;
}

/* Adds requests that erase the blocks of large events, from the next one on. Returns how many. */
static uint32_t log_drop_add_blocks(struct log_drop *drop)
{
    uint32_t count = 0;
    for (; drop->item < drop->read.count; drop->item++, drop->block = 0) {
        const struct mcds__segment_item *item = &drop->read.items[drop->item];
        struct mcds__segment_record record;
        uint64_t length;
        uint32_t most;
        (void)mcds__segment_read_item(&drop->read, item, &record);
        if ((record.flags & MCDS__SEGMENT_LARGE) == 0)
            continue;
        uint32_t blocks = mcds__segment_block_count(&record, &length, &most);
        for (; drop->block < blocks; drop->block++) {
            if (count == MCDS__SEGMENT_CAPACITY)
                return count;
            mcds_bytes route = mcds__segment_block_key(
                &drop->log->segments, chunk_of(drop, item), record.writer, record.seq,
                drop->block, &drop->scratch->keys[count]);
            log_drop_add_erasure(drop, route, &count);
        }
    }
    return count;
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
            log_drop_add_erasure(drop, route, &count);
        }
        return count;
    }
    for (; drop->chunk < drop->width && drop->read.kinds[drop->chunk] != MCDS__SEGMENT_LONG;
         drop->chunk++) {
        if (drop->read.kinds[drop->chunk] == MCDS__SEGMENT_NOTHING)
            continue;
        mcds_bytes route = mcds__segment_key(segments, drop->first + drop->chunk, 0,
                                             &drop->scratch->keys[count]);
        log_drop_add_erasure(drop, route, &count);
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
    for (uint32_t i = 0; drop->is_asked && i < drop->base.batch.count; i++) {
        mcds_outcome outcome = drop->scratch->requests[i].reply.outcome;
        drop->erased = drop->erased || outcome == MCDS_OUT_OK || outcome == MCDS_OUT_UNKNOWN;
    }
    for (uint32_t i = 0; drop->is_asked && i < drop->base.batch.count; i++) {
        const mcds_reply *reply = &drop->scratch->requests[i].reply;
        if (reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS)
            continue;
        (void)mcds__operation_fail_read(&drop->base, reply);
        return false;
    }
    drop->is_asked = false;
    return true;
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
        return log_drop_go_to(drop, DROP_MARK);
    (void)atomic_compare_exchange_strong(&drop->log->dropping, &drop->life, 0);
    return mcds__operation_finish(&drop->base, MCDS_OK);
}

/* The segments of a long chunk have been erased. */
static enum mcds__step erase_count(struct log_drop *drop)
{
    uint32_t count = 0;
    if (drop->is_survey || !drop->is_counted)
        return log_drop_pass_chunk(drop);
    assert(drop->low == drop->end);
    drop->is_counted = false;
    drop->low = 0;
    mcds_bytes route = mcds__segment_count_key(&drop->log->segments, drop->read.stream,
                                               drop->scratch->keys);
    log_drop_add_erasure(drop, route, &count);
    return log_drop_ask_erasures(drop, count, true, DROP_PASS);
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
    drop->chunk = drop->item = drop->block = 0;
    return log_drop_go_to(drop, DROP_ERASE);
}

static enum mcds__step log_drop_take_read(struct log_drop *drop)
{
    enum mcds__step step = mcds__segment_read_step(&drop->read, &drop->base);
    if (step != MCDS__DONE || drop->base.result != MCDS_OK)
        return step;
    drop->item = drop->block = 0;
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
    return drop->is_over ? erase_chunks(drop) : log_drop_go_to(drop, DROP_MARK);
}

/* Sets the mark before the root is erased, so that a client that finds no root knows why. */
static enum mcds__step log_drop_set_mark(struct log_drop *drop)
{
    drop->stage = DROP_MARKED;
    drop->scratch->requests[0] = mcds__log_mark(drop->log, mcds__log_stem(drop->life),
                                                &drop->scratch->keys[0]);
    return mcds__operation_ask_repeatable(&drop->base, drop->scratch->requests, 1);
}

/* The drop continues when the store has no memory for the mark, at last without it. */
static enum mcds__step log_drop_take_mark(struct log_drop *drop)
{
    const mcds_reply *reply = &drop->scratch->requests[0].reply;
    bool is_set = reply->outcome == MCDS_OUT_OK;
    bool is_last = drop->first > drop->last;
    drop->erased = drop->erased || is_set || reply->outcome == MCDS_OUT_UNKNOWN;
    if (!mcds__is_transport_trouble(reply)) {
        mcds__operation_renew(&drop->base);
        return is_set || is_last ? log_drop_go_to(drop, DROP_LAST) : erase_chunks(drop);
    }
    drop->stage = DROP_MARK;
    if (mcds__operation_again(&drop->base))
        return MCDS__SLEEP;
    return mcds__operation_fail_read(&drop->base, reply);
}

/* The next put of this handle makes another life. */
static enum mcds__step erase_root(struct log_drop *drop)
{
    enum mcds__step step = mcds__root_erase_step(&drop->root.root, &drop->base);
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
        uint32_t count = log_drop_add_blocks(drop);
        if (count > 0)
            return log_drop_ask_erasures(drop, count, false, DROP_ERASE);
        return log_drop_ask_erasures(drop, log_drop_add_segments(drop), !drop->is_survey,
                                     DROP_PASS);
    }
    case DROP_PASS:
        return log_drop_pass(drop);
    case DROP_FIND:
        return log_drop_step_find(drop);
    case DROP_MARK:
        return log_drop_set_mark(drop);
    case DROP_MARKED:
        return log_drop_take_mark(drop);
    default:
        return erase_root(drop);
    }
}

static enum mcds__step log_drop_step(struct mcds__operation *operation)
{
    struct log_drop *drop = (struct log_drop *)operation;
    enum mcds__step step = MCDS__DONE;
    do {
        drop->goes_on = false;
        step = log_drop_step_stage(drop, operation);
    } while (drop->goes_on);
    /* After a partial erasure the result cannot be that nothing was done. */
    if (step == MCDS__DONE && drop->erased && operation->result != MCDS_OK &&
        operation->result != MCDS_CORRUPT)
        operation->result = MCDS_AMBIGUOUS;
    return step;
}

static const struct mcds__operation_kind drop_kind = {"log", "drop", sizeof(struct log_drop),
                                                      log_drop_step};

static int log_drop_launch(struct log_drop *drop, mcds_log *log, mcds_pipeline *pipeline,
                           uint64_t tag)
{
    int result = MCDS_OK;
    if (log == NULL)
        return mcds__fail_missing("log", "drop", "a log");
    if (drop == NULL)
        drop = mcds__pipeline_new(pipeline, &log->handle, &drop_kind, &result);
    if (drop == NULL)
        return result;
    mcds__operation_begin(&drop->base, &drop_kind, log->store, log->name, 0);
    drop->log = log;
    drop->stage = DROP_ROOT;
    drop->is_asked = false;
    drop->erased = drop->is_over = false;
    drop->first = drop->last = 0;
    drop->read.segments = NULL;
    drop->scratch = drop->locate.scratch = NULL;
    mcds__log_begin(&drop->root, log);
    drop->base.release = log_drop_release;
    return mcds__launch(&drop->base, pipeline, tag);
}

int mcds_log_drop(mcds_log *log)
{
    struct log_drop drop;
    return log_drop_launch(&drop, log, NULL, 0);
}

int mcds_log_drop_start(mcds_log *log, mcds_pipeline *pipeline, uint64_t tag)
{
    return log_drop_launch(NULL, log, pipeline, tag);
}
