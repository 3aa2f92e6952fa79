/* Log: erase it: the parts of all chunks that it keeps, and then the root. Of a long chunk the last
 * part goes first and the count after all parts, so that what a failure leaves is found again. */
#include <stdatomic.h>

#include "base/environment.h"
#include "base/error.h"
#include "structures/log.h"

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
    bool is_asked;   /* erasures have been */
    bool erased;     /* something is gone, or may be */
    bool is_survey;  /* what has been read */
    bool is_counted; /* the count of the long chunk is still to be erased */
    uint64_t life;
    uint64_t first; /* families that have not been looked at, both ends included */
    uint64_t last;
    uint32_t width; /* of the survey */
    uint32_t chunk; /* of the survey, the next to be erased */
    uint32_t item;  /* whose pieces may have to be erased */
    uint32_t piece;
    uint64_t low; /* of a long chunk: the parts from here to the end are to be erased */
    uint64_t end;
    struct mcds__part_locate locate;
    struct mcds__part_find find;
    struct mcds__log_begin root;
    struct mcds__part_read read;
    struct mcds__part_room *room;
};

static void release_drop(struct mcds__operation *operation)
{
    struct log_drop *drop = (struct log_drop *)operation;
    if (drop->read.parts != NULL)
        mcds__part_read_free(&drop->read);
    mcds__free(operation->env, drop->room);
    mcds__free(operation->env, drop->locate.room);
    drop->room = drop->locate.room = NULL;
}

static enum mcds__step go_to(struct log_drop *drop, uint8_t stage)
{
    drop->stage = stage;
    drop->goes_on = true;
    return MCDS__SLEEP;
}

static void add_erasure(struct log_drop *drop, mcds_bytes route, uint32_t *count)
{
    struct mcds__part_room *room = drop->room;
    room->requests[*count] = (mcds_request){
        .command = MCDS_DELETE,
        .key = mcds__key_bytes(&room->keys[*count]),
        .route = route,
    };
    ++*count;
}

static uint64_t chunk_of(const struct log_drop *drop, const struct mcds__part_item *item)
{
    return drop->is_survey ? drop->first + item->index : drop->read.family;
}

/* The pieces of large events, from the next one on. Returns how many. */
static uint32_t add_pieces(struct log_drop *drop)
{
    uint32_t count = 0;
    for (; drop->item < drop->read.count; drop->item++, drop->piece = 0) {
        const struct mcds__part_item *item = &drop->read.items[drop->item];
        struct mcds__part_record record;
        uint64_t length;
        uint32_t most;
        (void)mcds__part_read_item(&drop->read, item, &record);
        if ((record.flags & MCDS__PART_LARGE) == 0)
            continue;
        uint32_t pieces = mcds__part_piece_count(&record, &length, &most);
        for (; drop->piece < pieces; drop->piece++) {
            if (count == MCDS__PART_ROOM)
                return count;
            mcds_bytes route = mcds__part_piece_key(&drop->log->parts, chunk_of(drop, item),
                                                    record.writer, record.seq, drop->piece,
                                                    &drop->room->keys[count]);
            add_erasure(drop, route, &count);
        }
    }
    return count;
}

/* The only parts of the short chunks, or the parts of the long one that have been read. */
static uint32_t add_parts(struct log_drop *drop)
{
    const struct mcds__parts *parts = &drop->log->parts;
    uint32_t count = 0;
    if (!drop->is_survey) {
        while (drop->end > drop->low) {
            mcds_bytes route = mcds__part_key(parts, drop->read.family, --drop->end,
                                              &drop->room->keys[count]);
            add_erasure(drop, route, &count);
        }
        return count;
    }
    for (; drop->chunk < drop->width && drop->read.kinds[drop->chunk] != MCDS__PART_LONG;
         drop->chunk++) {
        if (drop->read.kinds[drop->chunk] == MCDS__PART_NOTHING)
            continue;
        mcds_bytes route = mcds__part_key(parts, drop->first + drop->chunk, 0,
                                          &drop->room->keys[count]);
        add_erasure(drop, route, &count);
    }
    return count;
}

static enum mcds__step ask_erasures(struct log_drop *drop, uint32_t count, bool in_order,
                                    uint8_t then)
{
    if (count == 0)
        return go_to(drop, then);
    drop->stage = then;
    mcds__operation_renew(&drop->base);
    (void)mcds__operation_ask_repeatable(&drop->base, drop->room->requests, count);
    drop->base.batch.independent = !in_order;
    drop->is_asked = true;
    return MCDS__ASK;
}

/* The replies to erasures; MISS is as good as OK. False: it did not work, and the drop ends. */
static bool is_erased(struct log_drop *drop)
{
    for (uint32_t i = 0; drop->is_asked && i < drop->base.batch.count; i++) {
        mcds_outcome outcome = drop->room->requests[i].reply.outcome;
        drop->erased = drop->erased || outcome == MCDS_OUT_OK || outcome == MCDS_OUT_UNKNOWN;
    }
    for (uint32_t i = 0; drop->is_asked && i < drop->base.batch.count; i++) {
        const mcds_reply *reply = &drop->room->requests[i].reply;
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
    drop->first += drop->chunk;
    drop->is_survey = false;
    drop->is_counted = true;
    drop->read.stays = true;
    drop->locate = (struct mcds__part_locate){.family = drop->first, .room = drop->locate.room};
    mcds__operation_renew(&drop->base);
    return go_to(drop, DROP_LOCATE);
}

/* The parts below this one, as many as are read together. */
static enum mcds__step read_below(struct log_drop *drop, uint64_t part)
{
    drop->read.family = drop->first;
    drop->read.want = part < MCDS__PART_WANT_MAX ? (uint32_t)part : MCDS__PART_WANT_MAX;
    drop->read.from = drop->low = part - drop->read.want;
    mcds__operation_renew(&drop->base);
    return go_to(drop, DROP_READ);
}

/* Behind the last part there may be those that were begun ahead of it. */
static enum mcds__step take_location(struct log_drop *drop)
{
    enum mcds__step step = mcds__part_locate_step(&drop->locate, &drop->log->parts,
                                                  &drop->base);
    if (step != MCDS__DONE || drop->base.result != MCDS_OK)
        return step;
    drop->end = drop->locate.part + MCDS__PART_AHEAD + 2;
    return read_below(drop, drop->locate.part + 1);
}

/* A new round trip, with the whole timeout; not a repetition of one. */
static enum mcds__step survey(struct log_drop *drop)
{
    uint64_t left = drop->last - drop->first + 1;
    drop->width = left < MCDS__PART_SURVEY_MAX ? (uint32_t)left : MCDS__PART_SURVEY_MAX;
    drop->read.family = drop->first;
    drop->read.stage = 0;
    mcds__operation_renew(&drop->base);
    return go_to(drop, DROP_SURVEY);
}

/* On to the next chunk, or the next survey. */
static enum mcds__step pass_chunk(struct log_drop *drop)
{
    if (drop->is_survey && drop->chunk < drop->width)
        return begin_long(drop);
    drop->first += drop->is_survey ? drop->width : 1;
    if (drop->first <= drop->last)
        return survey(drop);
    mcds__part_forget_all(&drop->log->parts);
    mcds__operation_renew(&drop->base);
    return go_to(drop, DROP_MARK);
}

/* The parts of a long chunk have been erased. */
static enum mcds__step erase_count(struct log_drop *drop)
{
    uint32_t count = 0;
    if (drop->is_survey || !drop->is_counted)
        return pass_chunk(drop);
    drop->is_counted = false;
    drop->low = 0;
    mcds_bytes route = mcds__part_count_key(&drop->log->parts, drop->read.family,
                                            drop->room->keys);
    add_erasure(drop, route, &count);
    return ask_erasures(drop, count, true, DROP_PASS);
}

/* What has been read has been erased. */
static enum mcds__step pass(struct log_drop *drop)
{
    if (!drop->is_survey && drop->low > 0 && drop->read.is_empty) {
        drop->find = (struct mcds__part_find){
            .family = drop->read.family, .high = drop->low, .down = true};
        mcds__operation_renew(&drop->base);
        return go_to(drop, DROP_FIND);
    }
    if (!drop->is_survey && drop->low > 0)
        return read_below(drop, drop->low);
    return erase_count(drop);
}

/* On to what is left below parts that are all missing. */
static enum mcds__step step_find(struct log_drop *drop)
{
    enum mcds__step step = mcds__part_find_step(&drop->find, &drop->log->parts, drop->read.room,
                                                &drop->base);
    if (step != MCDS__DONE || drop->base.result != MCDS_OK)
        return step;
    if (!drop->find.found)
        return erase_count(drop);
    drop->end = drop->find.part + 1;
    return read_below(drop, drop->end);
}

static enum mcds__step take_survey(struct log_drop *drop)
{
    enum mcds__step step = mcds__part_survey_step(&drop->read, drop->width, false, &drop->base);
    if (step != MCDS__DONE || drop->base.result != MCDS_OK)
        return step;
    drop->is_survey = true;
    drop->chunk = drop->item = drop->piece = 0;
    return go_to(drop, DROP_ERASE);
}

static enum mcds__step take_read(struct log_drop *drop)
{
    enum mcds__step step = mcds__part_read_step(&drop->read, &drop->base);
    if (step != MCDS__DONE || drop->base.result != MCDS_OK)
        return step;
    drop->item = drop->piece = 0;
    return go_to(drop, DROP_ERASE);
}

static enum mcds__step begin(struct log_drop *drop)
{
    mcds_log *log = drop->log;
    int64_t now_ms = mcds__wall_ms(drop->base.env);
    mcds__part_read_begin(&drop->read, &log->parts, 0);
    drop->life = drop->root.root.number;
    uint64_t stem = mcds__log_stem(drop->life);
    drop->first = mcds__log_family(stem, mcds__log_unexpired(log, now_ms));
    drop->last = mcds__log_family(stem, mcds__log_newest(log, now_ms));
    if (mcds__part_get_room(&drop->room, drop->base.env) == NULL)
        return mcds__operation_finish(&drop->base, MCDS_NO_MEMORY);
    return survey(drop);
}

/* Before the root goes, so that who finds it gone knows why. */
static enum mcds__step set_mark(struct log_drop *drop)
{
    drop->stage = DROP_MARKED;
    drop->room->requests[0] = mcds__log_mark(drop->log, mcds__log_stem(drop->life),
                                             &drop->room->keys[0]);
    return mcds__operation_ask_repeatable(&drop->base, drop->room->requests, 1);
}

/* A store that has no room for the mark does not keep the log from being erased. */
static enum mcds__step take_mark(struct log_drop *drop)
{
    const mcds_reply *reply = &drop->room->requests[0].reply;
    if (!mcds__is_transport_trouble(reply)) {
        mcds__operation_renew(&drop->base);
        return go_to(drop, DROP_LAST);
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
    if (step == MCDS__DONE && drop->base.result == MCDS_OK)
        (void)atomic_compare_exchange_strong(&drop->log->generation.known, &life, 0);
    return step;
}

static enum mcds__step step_stage(struct log_drop *drop, struct mcds__operation *operation)
{
    if (!is_erased(drop))
        return MCDS__DONE;
    switch (drop->stage) {
    case DROP_ROOT: {
        enum mcds__step step = mcds__log_begin_step(&drop->root, false, operation);
        if (step != MCDS__DONE || operation->result != MCDS_OK)
            return step;
        return begin(drop);
    }
    case DROP_SURVEY:
        return take_survey(drop);
    case DROP_LOCATE:
        return take_location(drop);
    case DROP_READ:
        return take_read(drop);
    case DROP_ERASE: {
        uint32_t count = add_pieces(drop);
        if (count > 0)
            return ask_erasures(drop, count, false, DROP_ERASE);
        return ask_erasures(drop, add_parts(drop), !drop->is_survey, DROP_PASS);
    }
    case DROP_PASS:
        return pass(drop);
    case DROP_FIND:
        return step_find(drop);
    case DROP_MARK:
        return set_mark(drop);
    case DROP_MARKED:
        return take_mark(drop);
    default:
        return erase_root(drop);
    }
}

static enum mcds__step step_drop(struct mcds__operation *operation)
{
    struct log_drop *drop = (struct log_drop *)operation;
    enum mcds__step step = MCDS__DONE;
    do {
        drop->goes_on = false;
        step = step_stage(drop, operation);
    } while (drop->goes_on);
    /* What has been erased in part cannot be told to be untouched. */
    if (step == MCDS__DONE && drop->erased && operation->result != MCDS_OK &&
        operation->result != MCDS_CORRUPT)
        operation->result = MCDS_AMBIGUOUS;
    return step;
}

static const struct mcds__operation_kind drop_kind = {"log", "drop", sizeof(struct log_drop),
                                                      step_drop};

static int launch_drop(struct log_drop *drop, mcds_log *log, mcds_pipeline *pipeline,
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
    drop->erased = false;
    drop->read.parts = NULL;
    drop->room = drop->locate.room = NULL;
    mcds__log_begin(&drop->root, log);
    drop->base.release = release_drop;
    return mcds__launch(&drop->base, pipeline, tag);
}

int mcds_log_drop(mcds_log *log)
{
    struct log_drop drop;
    return launch_drop(&drop, log, NULL, 0);
}

int mcds_log_drop_start(mcds_log *log, mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_drop(NULL, log, pipeline, tag);
}
