/* List: begin it anew, or end it.
 *
 * First the family of parts ends: its last parts are filled and a mark is put behind them, so no
 * push can be acknowledged in it any more. Then the root names another generation: from there on
 * the list is empty. Then marks replace the parts too, and stay for a day, for those who come late
 * and would make a part anew. A push that meets a mark before the root has changed changes it. */
#include <stdatomic.h>

#include "base/environment.h"
#include "base/error.h"
#include "structures/list.h"

/* Longer than any operation lasts, and than a handle trusts what it knows. */
#define MARK_TTL_MS (UINT64_C(86400) * 1000)

enum { CLEAR_ROOT, CLEAR_LOCATE, CLEAR_MARK, CLEAR_REPLACE, CLEAR_READ, CLEAR_ERASE };

struct list_clear {
    struct mcds__operation base;
    mcds_list *list;
    bool drops;
    bool begun; /* there is a mark, or may be: whoever pushes goes on with it */
    uint8_t stage;
    uint64_t family;
    uint64_t from; /* the first part that has not been erased */
    uint32_t item; /* of those read, whose pieces may have to be erased */
    uint32_t piece;
    struct mcds__root root;
    struct mcds__part_locate locate;
    struct mcds__part_read read;
    struct mcds__part_room *room;
};

static void release_clear(struct mcds__operation *operation)
{
    struct list_clear *clear = (struct list_clear *)operation;
    mcds__part_read_free(&clear->read);
    mcds__free(operation->env, clear->locate.room);
    mcds__free(operation->env, clear->room);
    clear->locate.room = clear->room = NULL;
}

static enum mcds__step advance(struct list_clear *clear);

static enum mcds__step go_to(struct list_clear *clear, uint8_t stage)
{
    clear->stage = stage;
    return advance(clear);
}

static void set_mark(mcds_request *request, mcds_command command)
{
    request->command = command;
    request->options = MCDS_MAKES_ROOM;
    request->flags = MCDS__PART_END;
    request->ttl_ms = MARK_TTL_MS;
}

/* Fill the last parts, put the mark behind them, look whether it is the mark that stands there:
 * in this order, so that a mark is never seen behind a part that takes something. */
static enum mcds__step ask_mark(struct list_clear *clear)
{
    const struct mcds__parts *parts = &clear->list->parts;
    struct mcds__part_room *room = mcds__part_get_room(&clear->room, clear->base.env);
    const struct mcds__part_locate *found = &clear->locate;
    uint64_t mark = found->exists ? found->part + 1 : found->part;
    uint64_t first = mark > MCDS__PART_AHEAD + 1 ? mark - MCDS__PART_AHEAD - 1 : 0;
    uint32_t count = 0;
    if (room == NULL)
        return mcds__operation_finish(&clear->base, MCDS_NO_MEMORY);
    for (uint64_t part = first; found->exists && part < mark; part++) {
        mcds__part_fill_close(parts, clear->family, room, count, part,
                              part + 1 == mark ? found->size : 0);
        room->requests[count++].options = MCDS_MAKES_ROOM;
    }
    mcds__part_fill_get(parts, clear->family, room, count, mark, 0);
    set_mark(&room->requests[count++], MCDS_ADD);
    mcds__part_fill_get(parts, clear->family, room, count++, mark, MCDS_NO_VALUE);
    clear->stage = CLEAR_MARK;
    return mcds__operation_ask_repeatable(&clear->base, room->requests, count);
}

static enum mcds__step take_location(struct list_clear *clear, enum mcds__step step)
{
    if (step != MCDS__DONE || clear->base.result != MCDS_OK)
        return step;
    clear->locate.stage = 0;
    if (clear->locate.ended)
        return go_to(clear, CLEAR_REPLACE);
    return ask_mark(clear);
}

/* The family has ended when all parts were filled and the look shows the mark. */
static enum mcds__step take_mark(struct list_clear *clear)
{
    const mcds_request *requests = clear->room->requests;
    const mcds_reply *trouble = NULL;
    uint32_t last = clear->base.batch.count - 1;
    mcds_outcome marked = requests[last - 1].reply.outcome;
    clear->begun = clear->begun || marked == MCDS_OUT_OK || marked == MCDS_OUT_UNKNOWN;
    bool is_marked = requests[last].reply.outcome == MCDS_OUT_OK &&
                     requests[last].reply.flags == MCDS__PART_END;
    for (uint32_t i = 0; i <= last; i++) {
        const mcds_reply *reply = &requests[i].reply;
        if (mcds__is_refusal(reply))
            return mcds__operation_fail(&clear->base, reply);
        if (mcds__is_transport_trouble(reply))
            trouble = reply;
    }
    if (is_marked && trouble == NULL)
        return go_to(clear, CLEAR_REPLACE);
    clear->stage = CLEAR_LOCATE;
    if (mcds__operation_wait(&clear->base, 0))
        return MCDS__SLEEP;
    if (trouble != NULL)
        return mcds__operation_fail_read(&clear->base, trouble);
    return mcds__operation_explain(&clear->base, MCDS_BUSY, MCDS__WHY(OTHERS_PUSH));
}

static enum mcds__step finish(struct list_clear *clear)
{
    return mcds__operation_finish(&clear->base, MCDS_OK);
}

static enum mcds__step take_replacement(struct list_clear *clear, enum mcds__step step)
{
    if (step != MCDS__DONE || clear->base.result != MCDS_OK)
        return step;
    atomic_store(&clear->list->generation.known, clear->root.number);
    mcds__part_forget(&clear->list->parts, clear->family);
    mcds__part_read_begin(&clear->read, &clear->list->parts, clear->family);
    clear->read.want = MCDS__PART_WANT_MAX;
    return go_to(clear, CLEAR_READ);
}

static void add_erasure(struct list_clear *clear, mcds_bytes route, uint32_t *count)
{
    struct mcds__part_room *room = clear->room;
    room->requests[*count] = (mcds_request){
        .command = MCDS_DELETE,
        .key = mcds__key_bytes(&room->keys[*count]),
        .route = route,
    };
    ++*count;
}

/* The pieces of large values, from the next one on. Returns how many. */
static uint32_t add_pieces(struct list_clear *clear)
{
    uint32_t count = 0;
    for (; clear->item < clear->read.count; clear->item++, clear->piece = 0) {
        struct mcds__part_record record;
        uint64_t length;
        uint32_t most;
        (void)mcds__part_read_item(&clear->read, &clear->read.items[clear->item], &record);
        if ((record.flags & MCDS__PART_LARGE) == 0)
            continue;
        uint32_t pieces = mcds__part_piece_count(&record, &length, &most);
        for (; clear->piece < pieces; clear->piece++) {
            if (count == MCDS__PART_ROOM)
                return count;
            mcds_bytes route = mcds__part_piece_key(&clear->list->parts, clear->family,
                                                    record.writer, record.seq, clear->piece,
                                                    &clear->room->keys[count]);
            add_erasure(clear, route, &count);
        }
    }
    return count;
}

/* The parts that have been read; behind the last, those that were begun ahead of the mark. */
static uint32_t add_parts(struct list_clear *clear)
{
    const struct mcds__part_read *read = &clear->read;
    uint32_t count = 0;
    uint64_t end = read->next + (read->more ? 0 : MCDS__PART_AHEAD + 1);
    for (uint64_t part = clear->from; part < end && count < MCDS__PART_ROOM; part++) {
        if (!read->more && part == read->next && read->ended)
            continue;
        mcds__part_fill_get(&clear->list->parts, clear->family, clear->room, count, part, 0);
        set_mark(&clear->room->requests[count++], MCDS_SET);
    }
    clear->from = end;
    if (!read->more && count < MCDS__PART_ROOM)
        add_erasure(
            clear,
            mcds__part_count_key(&clear->list->parts, clear->family, &clear->room->keys[count]),
            &count);
    return count;
}

static enum mcds__step ask_erasures(struct list_clear *clear)
{
    uint32_t count = add_pieces(clear);
    if (count == 0 && clear->from <= clear->read.next)
        count = add_parts(clear);
    if (count > 0) {
        mcds__operation_renew(&clear->base);
        return mcds__operation_ask_any_order(&clear->base, clear->room->requests, count);
    }
    if (!clear->read.more || clear->read.next > clear->locate.part + MCDS__PART_AHEAD + 1)
        return finish(clear);
    clear->read.from = clear->read.next;
    return go_to(clear, CLEAR_READ);
}

/* What cannot be erased does no harm. */
static enum mcds__step take_read(struct list_clear *clear, enum mcds__step step)
{
    if (step != MCDS__DONE)
        return step;
    if (clear->base.result != MCDS_OK ||
        mcds__part_get_room(&clear->room, clear->base.env) == NULL)
        return finish(clear);
    clear->from = clear->read.from;
    clear->item = clear->piece = 0;
    clear->stage = CLEAR_ERASE;
    return ask_erasures(clear);
}

static enum mcds__step take_root(struct list_clear *clear, enum mcds__step step)
{
    if (step != MCDS__DONE)
        return step;
    if (clear->base.result == MCDS_NOT_FOUND)
        atomic_store(&clear->list->generation.known, 0);
    if (clear->base.result != MCDS_OK)
        return step;
    clear->family = clear->root.number;
    clear->locate = (struct mcds__part_locate){.family = clear->family};
    clear->root.stage = 0;
    return go_to(clear, CLEAR_LOCATE);
}

static enum mcds__step advance(struct list_clear *clear)
{
    struct mcds__operation *operation = &clear->base;
    switch (clear->stage) {
    case CLEAR_ROOT:
        return take_root(clear, mcds__root_read_step(&clear->root, operation));
    case CLEAR_LOCATE:
        return take_location(
            clear, mcds__part_locate_step(&clear->locate, &clear->list->parts, operation));
    case CLEAR_MARK:
        return take_mark(clear);
    case CLEAR_REPLACE:
        return take_replacement(clear, clear->drops
                                           ? mcds__root_erase_step(&clear->root, operation)
                                           : mcds__root_replace_step(&clear->root, operation));
    case CLEAR_READ:
        return take_read(clear, mcds__part_read_step(&clear->read, operation));
    default:
        return ask_erasures(clear);
    }
}

/* What others finish cannot be told not to happen. */
static enum mcds__step step_clear(struct mcds__operation *operation)
{
    struct list_clear *clear = (struct list_clear *)operation;
    enum mcds__step step = advance(clear);
    if (step == MCDS__DONE && clear->begun && operation->result != MCDS_OK &&
        operation->result != MCDS_CORRUPT)
        operation->result = MCDS_AMBIGUOUS;
    return step;
}

static const struct mcds__operation_kind clear_kind = {"list", "clear",
                                                       sizeof(struct list_clear), step_clear};
static const struct mcds__operation_kind drop_kind = {"list", "drop", sizeof(struct list_clear),
                                                      step_clear};

static int launch_clear(struct list_clear *clear, const struct mcds__operation_kind *kind,
                        mcds_list *list, mcds_pipeline *pipeline, uint64_t tag)
{
    int result = MCDS_OK;
    mcds_capabilities can;
    if (list == NULL)
        return mcds__fail_missing("list", kind->verb, "a list");
    mcds__store_capabilities(list->store, &can);
    if (!can.compare_and_set && kind != &drop_kind)
        return mcds__fail_why(MCDS_UNSUPPORTED, MCDS__WHY(NO_COMPARE_AND_SET), .noun = "list",
                              .name = list->name, .verb = "clear");
    if (clear == NULL)
        clear = mcds__pipeline_new(pipeline, &list->handle, kind, &result);
    if (clear == NULL)
        return result;
    mcds__operation_begin(&clear->base, kind, list->store, list->name, 0);
    clear->list = list;
    clear->drops = kind == &drop_kind;
    clear->begun = false;
    clear->stage = CLEAR_ROOT;
    clear->locate.room = clear->room = NULL;
    mcds__root_begin(&clear->root, &list->generation);
    mcds__part_read_begin(&clear->read, &list->parts, 0);
    clear->base.release = release_clear;
    return mcds__launch(&clear->base, pipeline, tag);
}

int mcds_list_clear(mcds_list *list)
{
    struct list_clear clear;
    return launch_clear(&clear, &clear_kind, list, NULL, 0);
}

int mcds_list_clear_start(mcds_list *list, mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_clear(NULL, &clear_kind, list, pipeline, tag);
}

int mcds_list_drop(mcds_list *list)
{
    struct list_clear clear;
    return launch_clear(&clear, &drop_kind, list, NULL, 0);
}

int mcds_list_drop_start(mcds_list *list, mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_clear(NULL, &drop_kind, list, pipeline, tag);
}
