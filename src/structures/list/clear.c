/* List: clear and drop, by ending the stream of segments and starting a new generation.
 *
 * A clear first ends the stream: it fills the last segments and adds an end segment after them,
 * so that no push can be acknowledged in it any more. Then it writes another generation into
 * the root: the list is now empty. Then it replaces the segments by end segments, which stay
 * for a day, so that late requests cannot create a segment again. A push that finds the end
 * segment before the root has changed changes the root itself.
 *
 * A full server that keeps all keys (memcached -M) has no memory for end segments. There the
 * list is ended by its root alone: a push counts only if its root was seen after it, and no
 * push adds a root that is missing. */
#include <assert.h>
#include <stdatomic.h>

#include "base/environment.h"
#include "base/error.h"
#include "core/segment/read.h"
#include "structures/list/list.h"

enum {
    CLEAR_ROOT,
    CLEAR_LOCATE,
    CLEAR_FILL, /* filling the last segments before the end segment is asked for */
    CLEAR_END,
    CLEAR_REPLACE,
    CLEAR_READ,
    CLEAR_ERASE
};

struct list_clear {
    struct mcds__operation base;
    mcds_list *list;
    bool drops;
    bool begun;     /* there is an end segment, or may be: a push continues the clear */
    bool is_filled; /* the last segments have taken the filling once */
    uint8_t stage;
    uint64_t stream;
    uint64_t from;                      /* the first segment that has not been erased */
    struct mcds__segment_blocks blocks; /* of what was read */
    struct mcds__root root;
    struct mcds__segment_locate locate;
    struct mcds__segment_read read;
    struct mcds__segment_scratch *scratch;
};

static void release_clear(struct mcds__operation *operation)
{
    struct list_clear *clear = (struct list_clear *)operation;
    mcds__segment_read_free(&clear->read);
    mcds__free(operation->env, clear->locate.scratch);
    mcds__free(operation->env, clear->scratch);
    clear->locate.scratch = clear->scratch = NULL;
}

static enum mcds__step list_clear_advance(struct list_clear *clear);

static enum mcds__step list_clear_go_to(struct list_clear *clear, uint8_t stage)
{
    assert(stage > CLEAR_ROOT && stage <= CLEAR_ERASE);
    clear->stage = stage;
    return list_clear_advance(clear);
}

static void set_end(mcds_request *request, mcds_command command)
{
    request->command = command;
    request->options = MCDS_MAKES_ROOM;
    request->flags = MCDS__SEGMENT_END;
    request->ttl_ms = LIST_END_TTL_MS;
}

/* Whether the store may refuse the filling for want of room and then accept the end segment,
 * which is smaller. */
static bool must_fill(const struct list_clear *clear)
{
    const mcds_capabilities can = mcds__store_can(clear->list->handle.store);
    return !can.evicts && !can.durable && clear->locate.exists && !clear->is_filled;
}

/* The segments that have to be full below the end segment: from the first to the one before
 * it. */
static uint64_t first_below(uint64_t end)
{
    return end > MCDS__SEGMENT_AHEAD + 1 ? end - MCDS__SEGMENT_AHEAD - 1 : 0;
}

/* Fills the last segments and reads whether they are full. A refusal here changes nothing. */
static enum mcds__step ask_filling(struct list_clear *clear)
{
    const struct mcds__segments *segments = &clear->list->segments;
    struct mcds__segment_scratch *scratch = clear->scratch;
    uint64_t last = clear->locate.segment;
    uint32_t count = 0;
    assert(clear->locate.exists && scratch != NULL);
    for (uint64_t segment = first_below(last + 1); segment <= last; segment++) {
        mcds__segment_fill_close(segments, clear->stream, scratch, count, segment,
                                 segment == last ? clear->locate.size : 0);
        scratch->requests[count++].options = MCDS_MAKES_ROOM;
        mcds__segment_fill_get(segments, clear->stream, scratch, count++, segment,
                               MCDS_NO_VALUE);
    }
    clear->stage = CLEAR_FILL;
    return mcds__operation_ask_repeatable(&clear->base, scratch->requests, count);
}

/* Adds the end segment and reads it, as the last requests of a batch. */
static enum mcds__step add_end(struct list_clear *clear, uint64_t end, uint32_t count)
{
    const struct mcds__segments *segments = &clear->list->segments;
    struct mcds__segment_scratch *scratch = clear->scratch;
    mcds__segment_fill_get(segments, clear->stream, scratch, count, end, 0);
    set_end(&scratch->requests[count++], MCDS_ADD);
    mcds__segment_fill_get(segments, clear->stream, scratch, count++, end, MCDS_NO_VALUE);
    assert(count >= 2 && count <= MCDS__SEGMENT_CAPACITY);
    clear->stage = CLEAR_END;
    return mcds__operation_ask_repeatable(&clear->base, scratch->requests, count);
}

/* Fills the last segments, adds the end segment after them and reads it: in this order, so
 * that an end segment is never seen after a segment that can receive records. Where the last
 * segment is lost, missing segments get an end segment too, so that no handle makes them. */
static enum mcds__step ask_end(struct list_clear *clear)
{
    const struct mcds__segments *segments = &clear->list->segments;
    struct mcds__segment_scratch *scratch = mcds__segment_get_scratch(&clear->scratch,
                                                                      clear->base.env);
    const struct mcds__segment_locate *found = &clear->locate;
    uint64_t end = found->exists ? found->segment + 1 : found->segment;
    uint32_t count = 0;
    if (scratch == NULL)
        return mcds__operation_finish(&clear->base, MCDS_NO_MEMORY);
    if (must_fill(clear))
        return ask_filling(clear);
    for (uint64_t segment = first_below(end); segment < end; segment++) {
        if (!found->exists) {
            mcds__segment_fill_get(segments, clear->stream, scratch, count, segment, 0);
            set_end(&scratch->requests[count++], MCDS_ADD);
        }
        mcds__segment_fill_close(segments, clear->stream, scratch, count, segment,
                                 segment + 1 == end ? found->size : 0);
        scratch->requests[count++].options = MCDS_MAKES_ROOM;
    }
    return add_end(clear, end, count);
}

/* An end segment ends the stream, and without compare-and-set nothing can begin another: all
 * later pushes would be refused. What the store can do is known once it has answered. */
static bool may_end(const struct list_clear *clear)
{
    return clear->drops || mcds__store_can(clear->list->handle.store).compare_and_set;
}

/* Without memory for the end segment, a server that keeps all keys needs none. */
static bool needs_no_end(const struct list_clear *clear, const mcds_reply *refused)
{
    return (refused->outcome == MCDS_OUT_NO_MEMORY ||
            refused->outcome == MCDS_OUT_NOT_STORED) &&
           mcds__list_keeps_all(clear->list);
}

static enum mcds__step list_clear_take_location(struct list_clear *clear, enum mcds__step step)
{
    assert(clear->stage == CLEAR_LOCATE);
    if (step != MCDS__DONE || clear->base.result != MCDS_OK)
        return step;
    clear->locate.stage = 0;
    if (clear->locate.ended)
        return list_clear_go_to(clear, CLEAR_REPLACE);
    if (!may_end(clear))
        return mcds__operation_explain(&clear->base, MCDS_UNSUPPORTED,
                                       MCDS__WHY(NO_COMPARE_AND_SET));
    return ask_end(clear);
}

/* Why a segment is not full after its filling; NULL: it is, or is missing. */
static const mcds_reply *find_trouble(const mcds_request *filling)
{
    const mcds_reply *looked = &filling[1].reply;
    if (mcds__is_refusal(looked) || mcds__is_transport_trouble(looked))
        return looked;
    bool is_open = looked->outcome == MCDS_OUT_OK &&
                   !mcds__segment_is_closed(looked->value_length, looked->flags);
    return is_open ? &filling[0].reply : NULL;
}

/* memcached without memory answers an append as if the segment were missing. */
static enum mcds__step take_filling(struct list_clear *clear)
{
    for (uint32_t i = 0; i < clear->base.batch.count; i += 2) {
        const mcds_reply *trouble = find_trouble(&clear->scratch->requests[i]);
        if (trouble == NULL)
            continue;
        clear->stage = CLEAR_LOCATE;
        if (needs_no_end(clear, trouble))
            return list_clear_go_to(clear, CLEAR_REPLACE);
        if (trouble->outcome == MCDS_OUT_NOT_STORED) {
            clear->base.peer = trouble->peer;
            return mcds__operation_explain(&clear->base, MCDS_FULL,
                                           MCDS__WHY(SERVER_FULL_FOR_VALUE));
        }
        if (!mcds__is_refusal(trouble) && mcds__operation_again(&clear->base))
            return MCDS__SLEEP;
        return mcds__operation_fail_read(&clear->base, trouble);
    }
    clear->is_filled = true;
    return add_end(clear, clear->locate.segment + 1, 0);
}

/* The stream has ended when all segments were filled and the read shows the end segment. */
static enum mcds__step list_clear_take_end(struct list_clear *clear)
{
    assert(clear->stage == CLEAR_END && clear->base.batch.count >= 2);
    const mcds_request *requests = clear->scratch->requests;
    const mcds_reply *trouble = NULL;
    uint32_t last = clear->base.batch.count - 1;
    mcds_outcome ended = requests[last - 1].reply.outcome;
    clear->begun = clear->begun || ended == MCDS_OUT_OK || ended == MCDS_OUT_UNKNOWN;
    bool is_cleared = requests[last].reply.outcome == MCDS_OUT_OK &&
                      requests[last].reply.flags == MCDS__SEGMENT_END;
    for (uint32_t i = 0; i <= last; i++) {
        const mcds_reply *reply = &requests[i].reply;
        if (mcds__is_refusal(reply))
            return needs_no_end(clear, reply) ? list_clear_go_to(clear, CLEAR_REPLACE)
                                              : mcds__operation_fail(&clear->base, reply);
        if (mcds__is_transport_trouble(reply))
            trouble = reply;
    }
    if (is_cleared && trouble == NULL)
        return list_clear_go_to(clear, CLEAR_REPLACE);
    clear->stage = CLEAR_LOCATE;
    if (mcds__operation_wait(&clear->base, 0))
        return MCDS__SLEEP;
    if (trouble != NULL)
        return mcds__operation_fail_read(&clear->base, trouble);
    return mcds__operation_explain(&clear->base, MCDS_BUSY, MCDS__WHY(OTHERS_PUSH));
}

static enum mcds__step list_clear_finish(struct list_clear *clear)
{
    assert(clear->stream != 0 && clear->stage >= CLEAR_REPLACE);
    mcds__list_forget_life(clear->list, clear->stream);
    return mcds__operation_finish(&clear->base, MCDS_OK);
}

/* Where there is no room for another root, the list is cleared without one: the next push makes
 * it. */
static enum mcds__step take_replacement(struct list_clear *clear, enum mcds__step step)
{
    assert(clear->stage == CLEAR_REPLACE);
    if (step == MCDS__DONE && clear->base.result == MCDS_FULL && !clear->drops) {
        clear->drops = true;
        clear->root.stage = 0;
        return mcds__root_change_step(&clear->root, &clear->base, MCDS__ROOT_ERASE);
    }
    if (step != MCDS__DONE || clear->base.result != MCDS_OK)
        return step;
    atomic_store(&clear->list->generation.known, clear->root.number);
    mcds__segment_read_begin(&clear->read, &clear->list->segments, clear->stream);
    clear->read.want = MCDS__SEGMENT_WANT_MAX;
    return list_clear_go_to(clear, CLEAR_READ);
}

/* Erases the segments that were read; after the last, those that were begun before the end
 * segment. */
static uint32_t list_clear_add_segments(struct list_clear *clear)
{
    const struct mcds__segment_read *read = &clear->read;
    uint32_t count = 0;
    uint64_t end = read->next + (read->more ? 0 : MCDS__SEGMENT_AHEAD + 1);
    for (uint64_t segment = clear->from; segment < end && count < MCDS__SEGMENT_CAPACITY;
         segment++) {
        if (!read->more && segment == read->next && read->ended)
            continue;
        mcds__segment_fill_get(&clear->list->segments, clear->stream, clear->scratch, count,
                               segment, 0);
        set_end(&clear->scratch->requests[count++], MCDS_SET);
    }
    clear->from = end;
    if (!read->more && count < MCDS__SEGMENT_CAPACITY) {
        mcds_bytes route = mcds__segment_count_key(&clear->list->segments, clear->stream,
                                                   &clear->scratch->keys[count]);
        mcds__segment_fill(clear->scratch, count++, MCDS_DELETE, route);
    }
    return count;
}

static enum mcds__step list_clear_ask_erasures(struct list_clear *clear)
{
    assert(clear->stage == CLEAR_ERASE);
    uint32_t count = mcds__segment_fill_block_erasures(&clear->read, &clear->blocks,
                                                       clear->scratch);
    if (count == 0 && clear->from <= clear->read.next)
        count = list_clear_add_segments(clear);
    if (count > 0) {
        mcds__operation_renew(&clear->base);
        return mcds__operation_ask_any_order(&clear->base, clear->scratch->requests, count);
    }
    if (!clear->read.more || clear->read.next > clear->locate.segment + MCDS__SEGMENT_AHEAD + 1)
        return list_clear_finish(clear);
    clear->read.from = clear->read.next;
    return list_clear_go_to(clear, CLEAR_READ);
}

/* A segment that cannot be erased is never read again. */
static enum mcds__step list_clear_take_read(struct list_clear *clear, enum mcds__step step)
{
    assert(clear->stage == CLEAR_READ);
    if (step != MCDS__DONE)
        return step;
    if (clear->base.result != MCDS_OK ||
        mcds__segment_get_scratch(&clear->scratch, clear->base.env) == NULL)
        return list_clear_finish(clear);
    clear->from = clear->read.from;
    clear->blocks = (struct mcds__segment_blocks){.of_survey = false};
    clear->stage = CLEAR_ERASE;
    return list_clear_ask_erasures(clear);
}

static enum mcds__step list_clear_take_root(struct list_clear *clear, enum mcds__step step)
{
    assert(clear->stage == CLEAR_ROOT);
    if (step != MCDS__DONE)
        return step;
    if (clear->base.result == MCDS_NOT_FOUND)
        atomic_store(&clear->list->generation.known, 0);
    if (clear->base.result != MCDS_OK)
        return step;
    clear->stream = clear->root.number;
    clear->locate = (struct mcds__segment_locate){.stream = clear->stream};
    clear->root.stage = 0;
    return list_clear_go_to(clear, CLEAR_LOCATE);
}

static enum mcds__step list_clear_advance(struct list_clear *clear)
{
    assert(clear->stage <= CLEAR_ERASE);
    struct mcds__operation *operation = &clear->base;
    switch (clear->stage) {
    case CLEAR_ROOT:
        return list_clear_take_root(clear, mcds__root_read_step(&clear->root, operation));
    case CLEAR_LOCATE:
        return list_clear_take_location(
            clear,
            mcds__segment_locate_step(&clear->locate, &clear->list->segments, operation));
    case CLEAR_FILL:
        return take_filling(clear);
    case CLEAR_END:
        return list_clear_take_end(clear);
    case CLEAR_REPLACE:
        return take_replacement(
            clear,
            mcds__root_change_step(&clear->root, operation,
                                   clear->drops ? MCDS__ROOT_ERASE : MCDS__ROOT_REPLACE));
    case CLEAR_READ:
        return list_clear_take_read(clear, mcds__segment_read_step(&clear->read, operation));
    default:
        return list_clear_ask_erasures(clear);
    }
}

/* Another handle may complete this clear, so it cannot be reported as not done. */
static enum mcds__step step_clear(struct mcds__operation *operation)
{
    struct list_clear *clear = (struct list_clear *)operation;
    enum mcds__step step = list_clear_advance(clear);
    if (step == MCDS__DONE && clear->begun && operation->result != MCDS_OK)
        mcds__list_end_in_doubt(operation);
    return step;
}

static const struct mcds__operation_kind clear_kind = {
    "list", "clear", sizeof(struct list_clear), step_clear, release_clear};
static const struct mcds__operation_kind drop_kind = {"list", "drop", sizeof(struct list_clear),
                                                      step_clear, release_clear};

static int launch_clear(const struct mcds__operation_kind *kind, mcds_list *list,
                        const struct mcds__start *start)
{
    int result = MCDS_OK;
    if (list == NULL)
        return mcds__fail_missing("list", kind->verb, "a list");
    if (kind != &drop_kind)
        result = mcds__check_cas(kind, &list->handle, MCDS__WHY(NO_COMPARE_AND_SET));
    if (result != MCDS_OK)
        return result;
    struct list_clear own;
    struct list_clear *clear = mcds__call_begin_zero(&own.base, kind, &list->handle, start,
                                                     &result);
    if (clear == NULL)
        return result;
    clear->list = list;
    clear->drops = kind == &drop_kind;
    mcds__root_begin(&clear->root, &list->generation);
    mcds__segment_read_begin(&clear->read, &list->segments, 0);
    return mcds__call_launch(&clear->base, start);
}

int mcds_list_clear_start(mcds_list *list, mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_clear(&clear_kind, list, MCDS__START(pipeline, tag));
}

int mcds_list_clear(mcds_list *list)
{
    return mcds_list_clear_start(list, MCDS__WAIT, 0);
}

int mcds_list_drop_start(mcds_list *list, mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_clear(&drop_kind, list, MCDS__START(pipeline, tag));
}

int mcds_list_drop(mcds_list *list)
{
    return mcds_list_drop_start(list, MCDS__WAIT, 0);
}
