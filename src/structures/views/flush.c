/* Views: flush, which saves the numbers of the intervals that have ended into the database.
 *
 * For each interval that has ended since the last flush, and for a few before it that may have
 * grown late, a flush reads the list of pages and their numbers, and passes each number to `save`.
 * Numbers are absolute, so two programs may flush at once, a flush may be repeated, and an interval
 * may be saved before it ends: the next flush begins at the mark, before every interval that can
 * grow.
 *
 * A page that cannot be saved does not end the flush. Its later intervals wait, because those of one
 * page are saved in order, and the mark stays before its interval, so the next flush begins there. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "structures/views/listing.h"
#include "structures/views/unsaved.h"

#define KEYS_MAX 16
/* So many saves that fail in a row, and have taken the store's timeout together, end a flush: the
 * database is down. */
#define REFUSALS_MAX 16
#define PAGE_SHOWN 120 /* bytes of a page in the sentence */

struct views_flush {
    struct mcds__operation base;
    mcds_views *views;
    uint8_t stage;
    struct mcds__settings_check check;
    bool marked;
    mcds_cas_token token; /* of the mark */
    uint64_t slot;
    bool is_final; /* also saves the current interval */
    uint64_t end;  /* the last interval to flush */
    uint64_t mark_before;
    uint64_t mark; /* the new one: the last interval that has settled, and is saved */
    struct mcds__views_listing listing;
    struct mcds__views_unsaved unsaved;
    /* The failure of the first page that was not saved or, if there is none, of the first list that
     * could not be read. Result MCDS_OK: there was no failure. */
    struct views_failure {
        int result;
        const mcds_reason *why;
        const char *peer;
        int found;            /* that `save` has returned */
        struct mcds__key key; /* of the value that cannot be read; empty: not known */
    } failure;
    uint32_t refusals;   /* of `save`, in a row */
    int64_t refusing_ns; /* the time that they have taken */
    bool leaves_pages;   /* no other page is tried */
    bool leaves_slots;   /* no later interval is */
    uint32_t count;
    const char *asked[KEYS_MAX];
    struct mcds__key keys[KEYS_MAX];
    mcds_request requests[KEYS_MAX];
    uint8_t pair[MCDS__VIEWS_PAIR];
};

enum { FLUSH_BEGIN, FLUSH_MARK, FLUSH_LISTING, FLUSH_COUNTING, FLUSH_MARKING };

static void views_flush_release(struct mcds__operation *operation)
{
    struct views_flush *flush = (struct views_flush *)operation;
    mcds__views_listing_free(&flush->listing);
    mcds__views_unsaved_free(&flush->unsaved);
}

/* The timeout applies to each round trip. */
static enum mcds__step views_flush_ask(struct views_flush *flush, uint32_t count, uint8_t stage)
{
    assert(count > 0 && count <= KEYS_MAX && stage <= FLUSH_MARKING);
    struct mcds__operation *operation = &flush->base;
    mcds__operation_renew(operation);
    flush->count = count;
    flush->stage = stage;
    return mcds__operation_ask_any_order(operation, flush->requests, count);
}

static enum mcds__step views_flush_ask_mark(struct views_flush *flush)
{
    flush->keys[0] = flush->views->mark;
    flush->requests[0] = (mcds_request){.command = MCDS_GET,
                                        .key = mcds__key_bytes(&flush->keys[0])};
    return views_flush_ask(flush, 1, FLUSH_MARK);
}

static enum mcds__step write_mark(struct views_flush *flush)
{
    assert(flush->slot <= flush->end && flush->mark <= flush->end);
    assert(flush->slot == flush->end || flush->leaves_pages || flush->leaves_slots);
    mcds_bytes key = mcds__key_bytes(&flush->views->mark);
    const uint64_t mark[2] = {flush->mark, 0};
    flush->requests[0] = (mcds_request){
        .command = flush->marked ? MCDS_CAS : MCDS_ADD,
        .options = MCDS_NEEDS_CAS,
        .key = key,
        .value = mcds__frame_seal_numbers(flush->pair, MCDS__VIEWS_MARK,
                                          MCDS__VIEWS_FRAME_VERSION, key, mark, 2),
        .cas = flush->token,
    };
    flush->base.connection = flush->token.connection;
    return views_flush_ask(flush, 1, FLUSH_MARKING);
}

static enum mcds__step list(struct views_flush *flush);

static enum mcds__step next_slot(struct views_flush *flush)
{
    assert(flush->slot <= flush->end && flush->listing.place == NULL);
    if (flush->slot == flush->end || flush->leaves_slots)
        return write_mark(flush);
    flush->slot++;
    flush->stage = FLUSH_LISTING;
    return list(flush);
}

static enum mcds__step ask_counts(struct views_flush *flush)
{
    uint32_t count = 0;
    const char *page;
    while (count < KEYS_MAX && (page = mcds__views_listing_take(&flush->listing)) != NULL) {
        if (mcds__views_unsaved_has(&flush->unsaved, page))
            continue;
        flush->asked[count] = page;
        flush->keys[count] = mcds__views_count_key(flush->views, flush->slot, page);
        flush->requests[count] = (mcds_request){.command = MCDS_GET,
                                                .key = mcds__key_bytes(&flush->keys[count])};
        count++;
    }
    return count > 0 ? views_flush_ask(flush, count, FLUSH_COUNTING) : next_slot(flush);
}

/* The interval is not wholly saved, so the next flush reads it again. */
static void hold_mark(struct views_flush *flush)
{
    if (flush->slot <= flush->mark)
        flush->mark = flush->slot > flush->mark_before ? flush->slot - 1 : flush->mark_before;
}

static struct mcds__key refused_key(const struct mcds__operation *operation)
{
    return operation->result == MCDS_CORRUPT && operation->blame != NULL
               ? operation->blame->key
               : (struct mcds__key){.length = 0};
}

static void fail_list(struct views_flush *flush)
{
    struct mcds__operation *operation = &flush->base;
    hold_mark(flush);
    if (flush->failure.result == MCDS_OK)
        flush->failure = (struct views_failure){operation->result, operation->detail,
                                                operation->peer, 0, refused_key(operation)};
    operation->result = MCDS_OK;
    operation->detail = NULL;
    operation->peer = NULL;
}

static void fail_page(struct views_flush *flush, const char *page, struct views_failure failure)
{
    assert(failure.result != MCDS_OK);
    hold_mark(flush);
    if (mcds__views_unsaved_has(&flush->unsaved, page)) /* a scan may pass a page twice */
        return;
    if (flush->unsaved.pages == 0)
        flush->failure = failure;
    if (!mcds__views_unsaved_add(&flush->unsaved, page))
        flush->leaves_slots = true;
}

/* Lists the pages of the interval. Intervals without pages must not nest function calls. */
static enum mcds__step list(struct views_flush *flush)
{
    assert(flush->stage == FLUSH_LISTING);
    struct mcds__operation *operation = &flush->base;
    enum mcds__step step = mcds__views_listing_read_step(&flush->listing, flush->slot,
                                                         operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result == MCDS_LOST || operation->result == MCDS_CORRUPT)
        fail_list(flush); /* what was listed is saved */
    else if (operation->result != MCDS_OK && operation->result != MCDS_NOT_FOUND)
        return MCDS__DONE;
    return ask_counts(flush);
}

/* The last interval that has ended; for a final flush, the last that any machine may count in. */
static uint64_t last_slot(const struct views_flush *flush)
{
    int64_t now_ms = mcds__wall_ms(flush->base.env);
    uint64_t width_ms = flush->views->flush_ms;
    uint64_t last = flush->is_final ? mcds__tally_at(now_ms + MCDS__VIEWS_SETTLE_MS, width_ms)
                                    : mcds__tally_at(now_ms, width_ms) - 1;
    return last > flush->mark ? last : flush->mark;
}

static enum mcds__step views_flush_take_mark(struct views_flush *flush)
{
    const mcds_request *request = &flush->requests[0];
    mcds_views *views = flush->views;
    uint64_t now = mcds__views_unsettled(views);
    uint64_t upto = now > views->keep_slots ? now - views->keep_slots : 0;
    uint64_t mark[2] = {0, 0};
    if (mcds__first_trouble(request, 1) != NULL)
        return mcds__operation_fail_read(&flush->base, &request->reply);
    flush->marked = request->reply.outcome == MCDS_OUT_OK;
    flush->token = request->reply.cas;
    if (flush->marked && !mcds__frame_open_numbers(mcds__operation_value(&flush->base, request),
                                                   MCDS__VIEWS_MARK, MCDS__VIEWS_FRAME_VERSION,
                                                   request->key, mark, 2))
        return mcds__operation_finish(&flush->base, MCDS_CORRUPT);
    if (now == 0)
        return mcds__operation_finish(&flush->base, MCDS_OK);
    uint64_t marked = mark[0];
    if (mcds__views_is_ahead(views, marked)) /* saves again all that the store holds */
        marked = 0;
    if (marked > upto + MCDS__VIEWS_AGAIN_SLOTS)
        upto = marked - MCDS__VIEWS_AGAIN_SLOTS;
    flush->mark_before = marked;
    flush->mark = now - 1 > marked ? now - 1 : marked;
    flush->end = last_slot(flush);
    flush->slot = upto;
    return next_slot(flush);
}

static void save_page(struct views_flush *flush, const char *page, int64_t number)
{
    const mcds_views *views = flush->views;
    struct mcds__operation *operation = &flush->base;
    int64_t begun_ns = mcds__monotonic_ns(operation->env);
    int found = views->save(views->context, page, flush->slot, number);
    if (found == 0) {
        mcds__operation_note_stored(operation);
        flush->refusals = 0;
        flush->refusing_ns = 0;
        return;
    }
    flush->refusals++;
    flush->refusing_ns += mcds__monotonic_ns(operation->env) - begun_ns;
    flush->leaves_pages = found == MCDS_VIEWS_STOP ||
                          (flush->refusals >= REFUSALS_MAX &&
                           flush->refusing_ns >= mcds__store_timeout_ns(operation->store));
    struct views_failure failure = {MCDS_IO, MCDS__WHY(SAVE_FAILED), NULL, found, {0, ""}};
    fail_page(flush, page, failure);
    if (found == MCDS_VIEWS_STOP) /* the error then says why the other pages are not saved */
        flush->failure = failure;
}

static enum mcds__step take_counts(struct views_flush *flush)
{
    assert(flush->stage == FLUSH_COUNTING && flush->count <= KEYS_MAX);
    for (uint32_t i = 0; i < flush->count && !flush->leaves_pages; i++) {
        const mcds_request *request = &flush->requests[i];
        uint64_t number;
        if (request->reply.outcome == MCDS_OUT_MISS)
            continue;
        if (request->reply.outcome != MCDS_OUT_OK)
            return mcds__operation_fail_read(&flush->base, &request->reply);
        if (mcds__tally_parse(mcds__operation_value(&flush->base, request), &number) &&
            number <= INT64_MAX)
            save_page(flush, flush->asked[i], (int64_t)number);
        else
            fail_page(flush, flush->asked[i],
                      (struct views_failure){MCDS_CORRUPT, MCDS__WHY(FOREIGN),
                                             request->reply.peer, 0, flush->keys[i]});
    }
    return flush->leaves_pages ? write_mark(flush) : ask_counts(flush);
}

/* Names the first page that was not saved, how many there are, and the way out. */
static void write_unsaved(const struct views_flush *flush, char *text, size_t capacity)
{
    const struct mcds__views_unsaved *unsaved = &flush->unsaved;
    bool ended_early = flush->leaves_pages || flush->leaves_slots;
    char page[PAGE_SHOWN + 1], more[48] = " is";
    (void)mcds__show(page, sizeof page, unsaved->first != NULL ? unsaved->first : "");
    if (unsaved->pages > 1)
        (void)snprintf(more, sizeof more, " and %llu more are",
                       (unsigned long long)unsaved->pages - 1);
    (void)snprintf(text, capacity,
                   "page '%s'%s not saved%s; correct the cause and flush again; %s", page, more,
                   ended_early ? ", and the flush ended early" : "", flush->failure.why->text);
}

static enum mcds__step views_flush_fail(struct views_flush *flush)
{
    struct mcds__operation *operation = &flush->base;
    const struct views_failure *failure = &flush->failure;
    const mcds_reason *why = failure->why;
    char text[MCDS__REASON_MAX];
    if (flush->unsaved.pages > 0) {
        write_unsaved(flush, text, sizeof text);
        why = mcds__operation_reword(operation, why, text);
    }
    operation->difference.found = failure->found;
    (void)mcds__operation_explain(operation, failure->result, why);
    operation->peer = failure->peer;
    if (operation->blame != NULL)
        operation->blame->key = failure->key;
    return MCDS__DONE;
}

/* If the mark cannot be set, the next flush saves these intervals again. */
static enum mcds__step take_marking(struct views_flush *flush)
{
    assert(flush->stage == FLUSH_MARKING);
    const mcds_reply *reply = &flush->requests[0].reply;
    if (flush->failure.result != MCDS_OK)
        return views_flush_fail(flush);
    if (mcds__is_refusal(reply) && reply->outcome != MCDS_OUT_NO_MEMORY)
        return mcds__operation_fail(&flush->base, reply);
    return mcds__operation_finish(&flush->base, MCDS_OK);
}

static enum mcds__step views_flush_step(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct views_flush *flush = (struct views_flush *)operation;
    if (!mcds__settings_check_step(&flush->check, operation, &step))
        return step;
    if (flush->stage == FLUSH_BEGIN &&
        !mcds__settings_last_step(&flush->views->settings, operation, &step))
        return step;
    assert(flush->stage <= FLUSH_MARKING);
    switch (flush->stage) {
    case FLUSH_BEGIN:
        return views_flush_ask_mark(flush);
    case FLUSH_MARK:
        return views_flush_take_mark(flush);
    case FLUSH_LISTING:
        return list(flush);
    case FLUSH_COUNTING:
        return take_counts(flush);
    default:
        return take_marking(flush);
    }
}

static const struct mcds__operation_kind flush_kind = {
    "views", "flush", sizeof(struct views_flush), views_flush_step, views_flush_release};

static const struct mcds__operation_kind final_kind = {
    "views", "flush_final", sizeof(struct views_flush), views_flush_step, views_flush_release};

static int views_flush_launch(mcds_views *views, bool is_final, const struct mcds__start *start)
{
    const struct mcds__operation_kind *kind = is_final ? &final_kind : &flush_kind;
    int result = MCDS_OK;
    if (views == NULL)
        return mcds__fail_missing("views", kind->verb, "a handle");
    result = mcds__check_wall(kind, &views->handle);
    if (result != MCDS_OK)
        return result;
    struct views_flush own;
    struct views_flush *flush = mcds__call_begin_zero(&own.base, kind, &views->handle, start,
                                                      &result);
    if (flush == NULL)
        return result;
    mcds__settings_forget(&views->settings); /* others may have dropped and made them */
    mcds__settings_check_begin(&flush->check, &views->settings, true, &flush->base);
    flush->check.look.may_lack = flush->check.needs_cas = true;
    flush->views = views;
    flush->is_final = is_final;
    flush->stage = FLUSH_BEGIN;
    mcds__views_listing_init(&flush->listing, views, flush->base.env);
    mcds__views_unsaved_init(&flush->unsaved, flush->base.env);
    return mcds__call_launch(&flush->base, start);
}

int mcds_views_flush_start(mcds_views *views, mcds_pipeline *pipeline, uint64_t tag)
{
    return views_flush_launch(views, false, MCDS__START(pipeline, tag));
}

int mcds_views_flush(mcds_views *views)
{
    return mcds_views_flush_start(views, MCDS__WAIT, 0);
}

int mcds_views_flush_final_start(mcds_views *views, mcds_pipeline *pipeline, uint64_t tag)
{
    return views_flush_launch(views, true, MCDS__START(pipeline, tag));
}

int mcds_views_flush_final(mcds_views *views)
{
    return mcds_views_flush_final_start(views, MCDS__WAIT, 0);
}
