/* Views: flush.
 *
 * For each slot that has ended since the last flush, and for a few before it that may have grown
 * late: read its list of pages, read their numbers, and hand each to the database as it is.
 * Numbers are absolute, so it does no harm when two flush at once, or one again, or when a slot
 * that is not over is saved: the next flush begins at the mark, before every slot that can grow. */
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"
#include "structures/views.h"

#define KEYS_MAX 16
#define AGAIN_SLOTS 2
#define PAGES_MAX ((size_t)1 << 30)

struct views_flush {
    struct mcds__operation base;
    mcds_views *views;
    uint8_t stage;
    struct mcds__agree agree;
    bool marked;
    mcds_cas_token token; /* of the mark */
    uint64_t slot;
    bool is_final; /* also what has not ended */
    uint64_t end;  /* the last slot to flush */
    uint64_t mark; /* the last of them that has settled */
    struct mcds__fold *fold;
    struct mcds__fold_sweep sweep;
    bool no_memory;
    mcds_buffer pages; /* of the slot, each ended by NUL */
    size_t at;         /* the first that is not saved yet */
    uint32_t count;
    const char *asked[KEYS_MAX];
    struct mcds__key keys[KEYS_MAX];
    mcds_request requests[KEYS_MAX];
    uint8_t pair[MCDS__VIEWS_PAIR];
};

enum { FLUSH_BEGIN, FLUSH_MARK, FLUSH_LISTING, FLUSH_COUNTING, FLUSH_MARKING };

static void give_fold(struct views_flush *flush)
{
    if (flush->fold == NULL)
        return;
    mcds__fold_sweep_free(&flush->sweep);
    mcds__views_give_fold(flush->views, flush->fold);
    flush->fold = NULL;
}

static void release_flush(struct mcds__operation *operation)
{
    struct views_flush *flush = (struct views_flush *)operation;
    give_fold(flush);
    mcds__buffer_free(&flush->pages);
}

/* Every round trip has the store's whole timeout. */
static enum mcds__step ask(struct views_flush *flush, uint32_t count, uint8_t stage)
{
    struct mcds__operation *operation = &flush->base;
    mcds__operation_renew(operation);
    flush->count = count;
    flush->stage = stage;
    return mcds__operation_ask_any_order(operation, flush->requests, count);
}

static enum mcds__step ask_mark(struct views_flush *flush)
{
    flush->keys[0] = flush->views->mark;
    flush->requests[0] = (mcds_request){.command = MCDS_GET,
                                        .key = mcds__key_bytes(&flush->keys[0])};
    return ask(flush, 1, FLUSH_MARK);
}

static enum mcds__step write_mark(struct views_flush *flush)
{
    mcds_bytes key = mcds__key_bytes(&flush->views->mark);
    size_t length = mcds__views_put_pair(flush->pair, MCDS__VIEWS_MARK, key, flush->mark, 0);
    flush->requests[0] = (mcds_request){
        .command = flush->marked ? MCDS_CAS : MCDS_ADD,
        .key = key,
        .value = {flush->pair, length},
        .cas = flush->token,
    };
    flush->base.connection = flush->token.connection;
    return ask(flush, 1, FLUSH_MARKING);
}

static bool note_page(void *context, const struct mcds__fold_entry *entry)
{
    struct views_flush *flush = context;
    if (mcds_buffer_append(&flush->pages, entry->element.at, entry->element.length) &&
        mcds_buffer_append(&flush->pages, "", 1))
        return true;
    flush->no_memory = true;
    return false;
}

static enum mcds__step list(struct views_flush *flush);

static enum mcds__step next_slot(struct views_flush *flush)
{
    if (flush->slot == flush->end)
        return write_mark(flush);
    flush->slot++;
    flush->stage = FLUSH_LISTING;
    return list(flush);
}

static enum mcds__step ask_counts(struct views_flush *flush)
{
    uint32_t count = 0;
    while (count < KEYS_MAX && flush->at < flush->pages.length) {
        const char *page = (const char *)flush->pages.at + flush->at;
        flush->at += strlen(page) + 1;
        flush->asked[count] = page;
        flush->keys[count] = mcds__views_count_key(flush->views, flush->slot, page);
        flush->requests[count] = (mcds_request){.command = MCDS_GET,
                                                .key = mcds__key_bytes(&flush->keys[count])};
        count++;
    }
    return count > 0 ? ask(flush, count, FLUSH_COUNTING) : next_slot(flush);
}

/* A loop over slots of which nobody has seen a page must not be one over function calls. */
static enum mcds__step list(struct views_flush *flush)
{
    struct mcds__operation *operation = &flush->base;
    if (flush->fold == NULL) {
        flush->fold = mcds__views_take_fold(flush->views, flush->slot);
        if (flush->fold == NULL)
            return mcds__operation_finish(operation, MCDS_BUSY);
        mcds__fold_sweep_begin(&flush->sweep, flush->fold);
        flush->sweep.visit = note_page;
        flush->sweep.context = flush;
        flush->pages.length = 0;
        flush->at = 0;
        mcds__operation_renew(operation);
    }
    enum mcds__step step = mcds__fold_sweep_step(&flush->sweep, operation);
    if (step != MCDS__DONE)
        return step;
    give_fold(flush);
    if (flush->no_memory)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    if (operation->result != MCDS_OK && operation->result != MCDS_NOT_FOUND)
        return step;
    return ask_counts(flush);
}

/* The last that has ended; of a final flush the last that any machine's clock may be in. */
static uint64_t last_slot(const struct views_flush *flush)
{
    int64_t now_ms = mcds__wall_ms(flush->base.env);
    uint64_t width_ms = flush->views->flush_ms;
    uint64_t last = flush->is_final ? mcds__slot_at(now_ms + MCDS__VIEWS_SETTLE_MS, width_ms)
                                    : mcds__slot_at(now_ms, width_ms) - 1;
    return last > flush->mark ? last : flush->mark;
}

static enum mcds__step take_mark(struct views_flush *flush)
{
    const mcds_request *request = &flush->requests[0];
    mcds_views *views = flush->views;
    uint64_t now = mcds__views_unsettled(views);
    uint64_t upto = now > views->keep_slots ? now - views->keep_slots : 0;
    uint64_t marked = 0;
    uint64_t nothing;
    if (request->reply.outcome != MCDS_OUT_OK && request->reply.outcome != MCDS_OUT_MISS)
        return mcds__operation_fail_read(&flush->base, &request->reply);
    flush->marked = request->reply.outcome == MCDS_OUT_OK;
    flush->token = request->reply.cas;
    if (flush->marked &&
        !mcds__views_get_pair(mcds__reply_value(&flush->base.batch, request), MCDS__VIEWS_MARK,
                              request->key, &marked, &nothing))
        return mcds__operation_finish(&flush->base, MCDS_CORRUPT);
    if (now == 0)
        return mcds__operation_finish(&flush->base, MCDS_OK);
    if (mcds__views_is_ahead(views, marked)) /* all that is kept is saved again */
        marked = 0;
    if (marked > upto + AGAIN_SLOTS)
        upto = marked - AGAIN_SLOTS;
    flush->mark = now - 1 > marked ? now - 1 : marked;
    flush->end = last_slot(flush);
    flush->slot = upto;
    return next_slot(flush);
}

static enum mcds__step take_counts(struct views_flush *flush)
{
    mcds_views *views = flush->views;
    for (uint32_t i = 0; i < flush->count; i++) {
        const mcds_request *request = &flush->requests[i];
        uint64_t number;
        if (request->reply.outcome == MCDS_OUT_MISS)
            continue;
        if (request->reply.outcome != MCDS_OUT_OK)
            return mcds__operation_fail_read(&flush->base, &request->reply);
        if (!mcds__slot_parse(mcds__reply_value(&flush->base.batch, request), &number) ||
            number > INT64_MAX)
            return mcds__operation_finish(&flush->base, MCDS_CORRUPT);
        mcds__operation_note_result(&flush->base);
        if (views->save(views->context, flush->asked[i], flush->slot, (int64_t)number) != 0)
            return mcds__operation_explain(&flush->base, MCDS_IO, MCDS__WHY(SAVE_FAILED));
    }
    return ask_counts(flush);
}

/* All is saved. Where the mark cannot be set, the next flush only does more than it must. */
static enum mcds__step take_marking(struct views_flush *flush)
{
    const mcds_reply *reply = &flush->requests[0].reply;
    if (mcds__is_refusal(reply) && reply->outcome != MCDS_OUT_NO_MEMORY)
        return mcds__operation_fail(&flush->base, reply);
    return mcds__operation_finish(&flush->base, MCDS_OK);
}

static enum mcds__step step_flush(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct views_flush *flush = (struct views_flush *)operation;
    if (!mcds__agree_step(&flush->agree, operation, &step))
        return step;
    switch (flush->stage) {
    case FLUSH_BEGIN:
        return ask_mark(flush);
    case FLUSH_MARK:
        return take_mark(flush);
    case FLUSH_LISTING:
        return list(flush);
    case FLUSH_COUNTING:
        return take_counts(flush);
    default:
        return take_marking(flush);
    }
}

static const struct mcds__operation_kind flush_kind = {"views", "flush",
                                                       sizeof(struct views_flush), step_flush};

static const struct mcds__operation_kind final_kind = {"views", "flush_final",
                                                       sizeof(struct views_flush), step_flush};

static int launch_flush(struct views_flush *flush, mcds_views *views, bool is_final,
                        mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__operation_kind *kind = is_final ? &final_kind : &flush_kind;
    int result = MCDS_OK;
    if (views == NULL)
        return mcds__fail_missing("views", kind->verb, "a handle");
    if (flush == NULL)
        flush = mcds__pipeline_new(pipeline, &views->handle, kind, &result);
    if (flush == NULL)
        return result;
    mcds__operation_begin(&flush->base, kind, views->store, views->name, 0);
    mcds__agree_begin(&flush->agree, &views->settings, true, &flush->base);
    flush->agree.may_lack = true;
    flush->views = views;
    flush->is_final = is_final;
    flush->stage = FLUSH_BEGIN;
    flush->fold = NULL;
    flush->no_memory = false;
    mcds__buffer_init(&flush->pages, flush->base.env, PAGES_MAX);
    flush->base.release = release_flush;
    return mcds__launch(&flush->base, pipeline, tag);
}

int mcds_views_flush(mcds_views *views)
{
    struct views_flush flush;
    return launch_flush(&flush, views, false, NULL, 0);
}

int mcds_views_flush_start(mcds_views *views, mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_flush(NULL, views, false, pipeline, tag);
}

int mcds_views_flush_final(mcds_views *views)
{
    struct views_flush flush;
    return launch_flush(&flush, views, true, NULL, 0);
}

int mcds_views_flush_final_start(mcds_views *views, mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_flush(NULL, views, true, pipeline, tag);
}
