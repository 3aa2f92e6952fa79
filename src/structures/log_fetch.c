/* Log: visit a range, chunk by chunk.
 *
 * Chunks are looked at 28 in one round trip, which also brings those of a single part; a longer
 * one is read by itself, and after it no more are looked at than have turned out short in a
 * row. */
#include <stdatomic.h>

#include "base/environment.h"
#include "base/error.h"
#include "structures/log.h"

/* Parts in the first round trip of a long chunk; from its end. */
#define WANT_FIRST 8
/* How often a fetch may find that its life is over before it gives up. */
#define TURNS_MAX 16

enum {
    FETCH_ROOT,
    FETCH_TURN,
    FETCH_SURVEY,
    FETCH_LOCATE,
    FETCH_READ,
    FETCH_FIND,
    FETCH_VISIT,
    FETCH_LARGE,
    FETCH_ROOT_AFTER
};

struct log_fetch {
    struct mcds__operation base;
    mcds_log *log;
    mcds_log_range range;
    bool (*visit)(void *context, const mcds_log_event *event);
    void *context;
    mcds_log_info *info_out;
    uint8_t stage;
    bool goes_on;
    bool is_survey; /* what has been read */
    bool exists;    /* the log does: its root or a part has been seen */
    uint64_t life;  /* whose events are fetched */
    uint64_t first; /* families that are left, both ends included */
    uint64_t last;
    uint32_t width;                         /* of the survey */
    uint32_t births[MCDS__PART_SURVEY_MAX]; /* that this handle knew before it asked */
    uint32_t chunk;                         /* of the survey, that is visited */
    uint32_t item;  /* the next to be visited, counted from where the visit begins */
    uint32_t begin; /* items of the chunk that is visited: [begin, end) */
    uint32_t end;
    uint64_t bound; /* of a long chunk: no part existed from here on; 0: not known */
    uint64_t low;   /* newest first: parts below this are left */
    uint8_t turns;
    struct mcds__log_begin root;
    struct mcds__log_turn turn;
    struct mcds__part_locate locate;
    struct mcds__part_find find;
    struct mcds__part_read read;
    struct mcds__part_fetch large;
};

static void release_fetch(struct mcds__operation *operation)
{
    struct log_fetch *fetch = (struct log_fetch *)operation;
    if (fetch->read.parts != NULL) {
        mcds__part_read_free(&fetch->read);
        mcds__part_fetch_free(&fetch->large);
    }
    mcds__free(operation->env, fetch->locate.room);
    fetch->locate.room = NULL;
}

/* On to another stage at once. */
static enum mcds__step go_to(struct log_fetch *fetch, uint8_t stage)
{
    fetch->stage = stage;
    fetch->goes_on = true;
    return MCDS__SLEEP;
}

static void add_info(struct log_fetch *fetch)
{
    mcds__log_add_info(fetch->info_out, fetch->read.gaps, fetch->read.corrupt);
}

/* Where nothing is left of a log whose root was not there, there may still be none. */
static enum mcds__step finish(struct log_fetch *fetch)
{
    if (!fetch->exists) {
        mcds__operation_renew(&fetch->base);
        return go_to(fetch, FETCH_ROOT_AFTER);
    }
    add_info(fetch);
    return mcds__operation_finish(&fetch->base, MCDS_OK);
}

/* The chunk that comes next. */
static uint64_t next_chunk(const struct log_fetch *fetch)
{
    return fetch->range.newest_first ? fetch->last : fetch->first;
}

static bool is_left(const struct log_fetch *fetch)
{
    return fetch->first <= fetch->last && fetch->last != UINT64_MAX;
}

/* Behind the chunk that came next. */
static void pass_chunk(struct log_fetch *fetch)
{
    if (fetch->range.newest_first)
        fetch->last--;
    else
        fetch->first++;
}

static enum mcds__step survey(struct log_fetch *fetch)
{
    if (!is_left(fetch))
        return finish(fetch);
    uint64_t left = fetch->last - fetch->first + 1;
    fetch->read.family = next_chunk(fetch);
    fetch->read.stage = 0;
    if (fetch->width > left)
        fetch->width = (uint32_t)left;
    for (uint32_t i = 0; i < fetch->width; i++) {
        uint64_t family = fetch->range.newest_first ? fetch->last - i : fetch->first + i;
        fetch->births[i] = mcds__part_sight_of(&fetch->log->parts, family);
    }
    mcds__operation_renew(&fetch->base);
    return go_to(fetch, FETCH_SURVEY);
}

/* Where the first part is another than this handle has seen, or none and nothing else shows it,
 * events are gone. */
static void note_first_part(struct log_fetch *fetch)
{
    uint32_t known = fetch->births[fetch->chunk];
    uint32_t birth = fetch->read.births[fetch->chunk];
    if (birth != 0)
        mcds__part_note_sight(&fetch->log->parts, next_chunk(fetch), birth);
    if (known != 0 && known != birth &&
        (birth != 0 || fetch->read.kinds[fetch->chunk] == MCDS__PART_NOTHING))
        fetch->read.gaps++;
}

/* The items of the next chunk of the survey that has any, or the end of it. */
static enum mcds__step visit_survey(struct log_fetch *fetch)
{
    for (; fetch->chunk < fetch->width; fetch->chunk++, pass_chunk(fetch)) {
        enum mcds__part_kind kind = fetch->read.kinds[fetch->chunk];
        note_first_part(fetch);
        fetch->exists = fetch->exists || kind != MCDS__PART_NOTHING;
        fetch->begin = fetch->end;
        while (fetch->end < fetch->read.count &&
               fetch->read.items[fetch->end].index == fetch->chunk)
            fetch->end++;
        fetch->item = 0;
        if (kind == MCDS__PART_LONG) {
            fetch->width = fetch->chunk > 0 ? fetch->chunk : 1;
            fetch->is_survey = false;
            fetch->locate = (struct mcds__part_locate){.family = next_chunk(fetch),
                                                       .room = fetch->locate.room};
            fetch->read.family = fetch->locate.family;
            fetch->read.from = 0;
            fetch->read.want = WANT_FIRST;
            fetch->read.stays = fetch->range.newest_first;
            fetch->bound = 0;
            return go_to(fetch, fetch->range.newest_first ? FETCH_LOCATE : FETCH_READ);
        }
        if (kind == MCDS__PART_SHORT && fetch->begin < fetch->end)
            return go_to(fetch, FETCH_VISIT);
    }
    fetch->width = fetch->width < MCDS__PART_SURVEY_MAX / 2 ? 2 * fetch->width
                                                            : MCDS__PART_SURVEY_MAX;
    return survey(fetch);
}

/* The parts below this one, as many as are read together. */
static enum mcds__step read_below(struct log_fetch *fetch, uint64_t part)
{
    fetch->read.want = part < MCDS__PART_WANT_MAX ? (uint32_t)part : MCDS__PART_WANT_MAX;
    fetch->low = fetch->read.from = part - fetch->read.want;
    return go_to(fetch, FETCH_READ);
}

/* On to what is left below parts that are all missing. */
static enum mcds__step step_find(struct log_fetch *fetch)
{
    enum mcds__step step = mcds__part_find_step(&fetch->find, &fetch->log->parts,
                                                fetch->read.room, &fetch->base);
    if (step != MCDS__DONE || fetch->base.result != MCDS_OK)
        return step;
    if (fetch->find.found)
        return read_below(fetch, fetch->find.part + 1);
    pass_chunk(fetch);
    return survey(fetch);
}

/* All items of what was read have been visited: on to the next. */
static enum mcds__step go_on(struct log_fetch *fetch)
{
    if (fetch->is_survey) {
        fetch->chunk++;
        pass_chunk(fetch);
        return visit_survey(fetch);
    }
    struct mcds__part_read *read = &fetch->read;
    if (read->count > 0)
        mcds__operation_renew(&fetch->base);
    if (!fetch->range.newest_first && read->more && read->next < fetch->bound) {
        read->from = read->next;
        read->want = MCDS__PART_WANT_MAX;
        return go_to(fetch, FETCH_READ);
    }
    if (fetch->range.newest_first && fetch->low > 0) {
        if (!read->is_empty)
            return read_below(fetch, fetch->low);
        fetch->find = (struct mcds__part_find){
            .family = read->family, .high = fetch->low, .down = true};
        return go_to(fetch, FETCH_FIND);
    }
    pass_chunk(fetch);
    return survey(fetch);
}

static const struct mcds__part_item *item_of(const struct log_fetch *fetch)
{
    uint32_t i = fetch->range.newest_first ? fetch->end - 1 - fetch->item
                                           : fetch->begin + fetch->item;
    return &fetch->read.items[i];
}

/* True: that was the last. */
static bool show(struct log_fetch *fetch, const struct mcds__part_record *record,
                 mcds_bytes payload)
{
    mcds_log_event event = mcds__log_event(record, payload);
    fetch->item++;
    mcds__operation_note_result(&fetch->base);
    return !fetch->visit(fetch->context, &event) ||
           (fetch->range.limit > 0 && --fetch->range.limit == 0);
}

static enum mcds__step visit_items(struct log_fetch *fetch)
{
    struct mcds__part_record record;
    while (fetch->item < fetch->end - fetch->begin) {
        (void)mcds__part_read_item(&fetch->read, item_of(fetch), &record);
        if (record.filed_ms < fetch->range.first_ms || record.filed_ms >= fetch->range.last_ms)
            fetch->item++;
        else if ((record.flags & MCDS__PART_LARGE) != 0)
            return go_to(fetch, FETCH_LARGE);
        else if (show(fetch, &record, record.payload))
            return finish(fetch);
    }
    return go_on(fetch);
}

static enum mcds__step step_large(struct log_fetch *fetch)
{
    struct mcds__part_record record;
    (void)mcds__part_read_item(&fetch->read, item_of(fetch), &record);
    enum mcds__step step = mcds__part_fetch_step(&fetch->large, next_chunk(fetch), &record,
                                                 &fetch->base);
    if (step != MCDS__DONE)
        return step;
    int result = fetch->base.result;
    if (result != MCDS_OK && result != MCDS_LOST && result != MCDS_CORRUPT)
        return step;
    fetch->read.gaps += result == MCDS_LOST;
    fetch->read.corrupt += result == MCDS_CORRUPT;
    if (result != MCDS_OK)
        fetch->item++;
    else if (show(fetch, &record, fetch->large.payload))
        return finish(fetch);
    return go_to(fetch, FETCH_VISIT);
}

/* The chunks of the range, as far as they are kept, in this life. */
static enum mcds__step begin(struct log_fetch *fetch, uint64_t life)
{
    mcds_log *log = fetch->log;
    uint64_t stem = mcds__log_stem(life);
    int64_t now_ms = mcds__wall_ms(fetch->base.env);
    int64_t oldest_ms = now_ms - (int64_t)log->settings.retention_ms;
    if (fetch->range.first_ms < oldest_ms)
        fetch->range.first_ms = oldest_ms;
    if (fetch->range.last_ms == 0)
        fetch->range.last_ms = INT64_MAX;
    if (fetch->range.first_ms >= fetch->range.last_ms)
        return finish(fetch);
    uint64_t last = mcds__log_chunk(log, fetch->range.last_ms - 1);
    if (last > mcds__log_newest(log, now_ms))
        last = mcds__log_newest(log, now_ms);
    uint64_t first = mcds__log_chunk(log, fetch->range.first_ms);
    if (first > last)
        return finish(fetch);
    fetch->life = life;
    fetch->first = mcds__log_family(stem, first);
    fetch->last = mcds__log_family(stem, last);
    fetch->width = MCDS__PART_SURVEY_MAX;
    fetch->read.looks = true;
    return survey(fetch);
}

static enum mcds__step take_survey(struct log_fetch *fetch, enum mcds__step step)
{
    if (step != MCDS__DONE || fetch->base.result != MCDS_OK)
        return step;
    fetch->is_survey = true;
    fetch->chunk = 0;
    fetch->begin = fetch->end = 0;
    if (!fetch->read.looks)
        return visit_survey(fetch);
    fetch->read.looks = false;
    if (fetch->read.truth == MCDS__PART_ALIVE) {
        fetch->exists = true;
        return visit_survey(fetch);
    }
    mcds__operation_renew(&fetch->base);
    mcds__log_turn_begin(&fetch->turn, fetch->log, mcds__log_stem(fetch->life));
    return go_to(fetch, FETCH_TURN);
}

/* The root of the life was not there. */
static enum mcds__step take_turn(struct log_fetch *fetch, enum mcds__step step)
{
    const struct mcds__log_turn *turn = &fetch->turn;
    if (step != MCDS__DONE)
        return step;
    int result = fetch->base.result;
    if (result == MCDS_OK && turn->begin.root.number != fetch->life) {
        fetch->read.gaps += !turn->was_dropped;
        return fetch->turns++ < TURNS_MAX ? begin(fetch, turn->begin.root.number)
                                          : mcds__operation_finish(&fetch->base, MCDS_BUSY);
    }
    if (result != MCDS_OK && result != MCDS_NOT_FOUND)
        return step;
    if (result == MCDS_NOT_FOUND && turn->was_dropped)
        return step;
    fetch->exists = fetch->exists || result == MCDS_OK;
    return visit_survey(fetch);
}

static enum mcds__step take_location(struct log_fetch *fetch, enum mcds__step step)
{
    if (step != MCDS__DONE || fetch->base.result != MCDS_OK)
        return step;
    uint64_t parts = fetch->locate.part + 1;
    fetch->read.want = parts < WANT_FIRST ? (uint32_t)parts : WANT_FIRST;
    fetch->low = fetch->read.from = parts - fetch->read.want;
    return go_to(fetch, FETCH_READ);
}

static enum mcds__step take_read(struct log_fetch *fetch, enum mcds__step step)
{
    if (step != MCDS__DONE || fetch->base.result != MCDS_OK)
        return step;
    if (fetch->bound == 0)
        fetch->bound = fetch->read.bound;
    fetch->begin = fetch->item = 0;
    fetch->end = fetch->read.count;
    return go_to(fetch, FETCH_VISIT);
}

static enum mcds__step take_root(struct log_fetch *fetch, enum mcds__step step)
{
    mcds_log *log = fetch->log;
    if (step != MCDS__DONE || fetch->base.result != MCDS_OK)
        return step;
    mcds__part_read_begin(&fetch->read, &log->parts, 0);
    mcds__part_fetch_begin(&fetch->large, &log->parts);
    return begin(fetch, fetch->root.root.number);
}

static enum mcds__step take_root_after(struct log_fetch *fetch, enum mcds__step step)
{
    if (step == MCDS__DONE &&
        (fetch->base.result == MCDS_OK || fetch->base.result == MCDS_NOT_FOUND))
        add_info(fetch);
    return step;
}

static enum mcds__step step_stage(struct log_fetch *fetch, struct mcds__operation *operation)
{
    switch (fetch->stage) {
    case FETCH_ROOT:
        fetch->root.root.number = atomic_load(&fetch->log->generation.known);
        if (fetch->root.root.stage == 0 && fetch->root.root.number != 0)
            return take_root(fetch, mcds__operation_finish(operation, MCDS_OK));
        fetch->exists = true;
        return take_root(fetch, mcds__log_begin_step(&fetch->root, false, operation));
    case FETCH_TURN:
        return take_turn(fetch, mcds__log_turn_step(&fetch->turn, operation));
    case FETCH_ROOT_AFTER:
        return take_root_after(fetch, mcds__log_begin_step(&fetch->root, false, operation));
    case FETCH_SURVEY:
        return take_survey(fetch, mcds__part_survey_step(&fetch->read, fetch->width,
                                                         fetch->range.newest_first, operation));
    case FETCH_LOCATE:
        return take_location(
            fetch, mcds__part_locate_step(&fetch->locate, &fetch->log->parts, operation));
    case FETCH_READ:
        return take_read(fetch, mcds__part_read_step(&fetch->read, operation));
    case FETCH_FIND:
        return step_find(fetch);
    case FETCH_VISIT:
        return visit_items(fetch);
    default:
        return step_large(fetch);
    }
}

static enum mcds__step step_fetch(struct mcds__operation *operation)
{
    struct log_fetch *fetch = (struct log_fetch *)operation;
    enum mcds__step step = MCDS__DONE;
    do {
        fetch->goes_on = false;
        step = step_stage(fetch, operation);
    } while (fetch->goes_on);
    return step;
}

static const struct mcds__operation_kind fetch_kind = {"log", "fetch", sizeof(struct log_fetch),
                                                       step_fetch};

static int launch_fetch(struct log_fetch *fetch, mcds_log *log, const mcds_log_range *range,
                        bool (*visit)(void *context, const mcds_log_event *event),
                        void *context, mcds_log_info *info_out, mcds_pipeline *pipeline,
                        uint64_t tag)
{
    mcds_log_range own;
    if (log == NULL || visit == NULL)
        return mcds__fail_missing("log", "fetch", "a log and a visitor");
    int result = mcds__sized_read(MCDS__SIZED_mcds_log_range, range, &own);
    if (result == MCDS_OK && info_out != NULL)
        result = mcds__sized_check(MCDS__SIZED_mcds_log_info, info_out);
    if (result != MCDS_OK)
        return result;
    if (fetch == NULL)
        fetch = mcds__pipeline_new(pipeline, &log->handle, &fetch_kind, &result);
    if (fetch == NULL)
        return result;
    mcds__operation_begin(&fetch->base, &fetch_kind, log->store, log->name, 0);
    fetch->log = log;
    fetch->range = own;
    fetch->visit = visit;
    fetch->context = context;
    fetch->info_out = info_out;
    fetch->stage = FETCH_ROOT;
    fetch->exists = false;
    fetch->turns = 0;
    fetch->locate.room = NULL;
    fetch->read.parts = NULL;
    mcds__log_begin(&fetch->root, log);
    fetch->base.release = release_fetch;
    return mcds__launch(&fetch->base, pipeline, tag);
}

int mcds_log_fetch(mcds_log *log, const mcds_log_range *range,
                   bool (*visit)(void *context, const mcds_log_event *event), void *context,
                   mcds_log_info *info_out)
{
    struct log_fetch fetch;
    return launch_fetch(&fetch, log, range, visit, context, info_out, NULL, 0);
}

int mcds_log_fetch_start(mcds_log *log, const mcds_log_range *range,
                         bool (*visit)(void *context, const mcds_log_event *event),
                         void *context, mcds_log_info *info_out, mcds_pipeline *pipeline,
                         uint64_t tag)
{
    return launch_fetch(NULL, log, range, visit, context, info_out, pipeline, tag);
}
