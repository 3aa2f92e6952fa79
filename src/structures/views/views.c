/* Views: total views of each page, counted in the store and kept in a database. Here: hit.
 *
 * Every interval of flush_ms has a tally for each page that was viewed in it (core/tally) and a
 * list of these pages (core/map). A page enters the list before it is counted, so the flush finds
 * everything that is counted. A handle remembers the pages that it has counted, and enters such a page
 * again where its number is gone. */
#include "structures/views/views.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/hash/siphash.h"
#include "structures/views/mark.h"

#define FLUSH_MS_DEFAULT 60000
#define FLUSH_MS_MIN 1000
#define FLUSH_MS_MAX 86400000
#define KEEP_MS (UINT64_C(24) * 3600 * 1000)
#define KEEP_SLOTS_MAX 1440
#define KEEP_SLOTS_MIN 8
/* An interval may be begun by a clock that is ahead, and the store may drop a key early. */
#define EARLY_MS 2000
#define SLACK_MS (MCDS__VIEWS_SETTLE_MS + EARLY_MS)

uint64_t mcds__views_unsettled(const mcds_views *views)
{
    int64_t now_ms = mcds__wall_ms(mcds__store_env(views->handle.store));
    return mcds__tally_at(now_ms - MCDS__VIEWS_SETTLE_MS, views->flush_ms);
}

bool mcds__views_is_ahead(const mcds_views *views, uint64_t slot)
{
    int64_t now_ms = mcds__wall_ms(mcds__store_env(views->handle.store));
    return slot > mcds__tally_at(now_ms + MCDS__VIEWS_SETTLE_MS, views->flush_ms);
}

static uint64_t views_ttl_ms(const mcds_views *views)
{
    return (views->keep_slots + MCDS__VIEWS_SPARE_SLOTS) * views->flush_ms + SLACK_MS;
}

struct mcds__key mcds__views_count_key(const mcds_views *views, uint64_t slot, const char *page)
{
    struct mcds__key key = views->counts;
    mcds__key_add_number(&key, slot);
    mcds__key_add_element(&key, page);
    return key;
}

static const mcds_reason *const forms[] = {
    MCDS__WHY(PAGES_DIFFER),
    MCDS__WHY(PAGES_DIFFER),
    MCDS__WHY(PAGES_DIFFER),
    MCDS__WHY(PAGES_DIFFER),
};

/* The lists of the current interval and of those before it that operations use. */
static const struct mcds__members_kind views_pages = {MCDS__KIND_PAGES, false, 4, forms};

struct views_hit {
    struct mcds__operation base;
    mcds_views *views;
    uint64_t slot;
    uint64_t page_hash;
    uint8_t stage;
    bool looks; /* at the mark, when it has counted */
    struct mcds__settings_check check;
    struct mcds__members_place *place; /* the list, while it is taken */
    struct mcds__map_update entry;
    struct mcds__tally_hit hit;
    struct mcds__views_lowering lowering;
    struct mcds__key key;
    char page[MCDS__NAME_GIVEN_MAX + 1];
};

enum { HIT_BEGIN, HIT_ENTERING, HIT_COUNTING, HIT_LOOKING };

static void views_give_place(struct views_hit *hit)
{
    if (hit->place == NULL)
        return;
    mcds__map_update_free(&hit->entry);
    mcds__members_give(hit->views->pages, hit->place);
    hit->place = NULL;
}

static void release_hit(struct mcds__operation *operation)
{
    views_give_place((struct views_hit *)operation);
}

static _Atomic uint64_t *entered_place(struct views_hit *hit)
{
    return &hit->views->entered[hit->page_hash % MCDS__VIEWS_ENTERED];
}

/* The mark for this page in this interval. */
static uint64_t entered_mark(const struct views_hit *hit)
{
    return (hit->page_hash ^ hit->slot * UINT64_C(0x9E3779B97F4A7C15)) | 1;
}

static enum mcds__step look_at_mark(struct views_hit *hit)
{
    memset(&hit->lowering, 0, sizeof hit->lowering);
    hit->lowering.slot = hit->slot;
    hit->stage = HIT_LOOKING;
    return mcds__views_lower_step(&hit->lowering, hit->views, &hit->base);
}

static bool has_entered(struct views_hit *hit)
{
    return atomic_load_explicit(entered_place(hit), memory_order_relaxed) == entered_mark(hit);
}

static void begin_check(struct views_hit *hit)
{
    struct mcds__settings *settings = &hit->views->settings;
    bool is_of_command = settings->own.settings[1] == MCDS_VIEWS_TABLE;
    if (!is_of_command)
        mcds__settings_recheck_last(settings);
    mcds__settings_check_begin(&hit->check, settings, true, &hit->base);
    hit->check.needs_cas = true;
    hit->check.leaves_last = is_of_command;
}

static enum mcds__step views_step_hit(struct mcds__operation *operation);

/* The number that this handle has counted is gone: the store has lost it, or another handle has
 * dropped the views. The list and the settings may be gone too, so both are written again. */
static enum mcds__step begin_again(struct views_hit *hit)
{
    struct mcds__operation *operation = &hit->base;
    assert(hit->place == NULL && hit->hit.must_exist);
    operation->result = MCDS_OK;
    operation->detail = NULL;
    operation->peer = NULL;
    atomic_store_explicit(entered_place(hit), 0, memory_order_relaxed);
    mcds__settings_forget(&hit->views->settings);
    begin_check(hit);
    mcds__tally_hit_init(&hit->hit, hit->hit.key, hit->hit.delta, hit->hit.ttl_ms);
    hit->stage = HIT_BEGIN;
    return views_step_hit(operation);
}

static enum mcds__step views_count(struct views_hit *hit)
{
    assert(hit->place == NULL);
    struct mcds__operation *operation = &hit->base;
    hit->stage = HIT_COUNTING;
    enum mcds__step step = mcds__tally_hit_step(&hit->hit, operation);
    if (step == MCDS__DONE && operation->result == MCDS_LOST)
        return begin_again(hit);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    if (!hit->hit.must_exist)
        atomic_store_explicit(entered_place(hit), entered_mark(hit), memory_order_relaxed);
    return hit->looks ? look_at_mark(hit) : step;
}

/* Whether the page is in the list is not known, but nothing has been counted: the result is that of
 * the last refusal, if any. */
static int result_of_doubt(const struct mcds__operation *operation)
{
    assert(operation->result == MCDS_AMBIGUOUS);
    switch (operation->detail != NULL ? operation->detail->cause : MCDS_CAUSE_REPLY_LOST) {
    case MCDS_CAUSE_STORE_FULL:
        return MCDS_FULL;
    case MCDS_CAUSE_NO_MEMORY:
        return MCDS_NO_MEMORY;
    case MCDS_CAUSE_CONTENDED:
        return MCDS_BUSY;
    default:
        return mcds__operation_is_late(operation) ? MCDS_TIMEOUT : MCDS_UNAVAILABLE;
    }
}

static enum mcds__step views_enter(struct views_hit *hit)
{
    assert(hit->stage == HIT_ENTERING && hit->place != NULL);
    struct mcds__operation *operation = &hit->base;
    enum mcds__step step = mcds__map_update_step(&hit->entry, operation);
    if (step != MCDS__DONE)
        return step;
    views_give_place(hit);
    if (operation->result == MCDS_AMBIGUOUS)
        operation->result = result_of_doubt(operation);
    if (operation->result != MCDS_OK)
        return MCDS__DONE;
    operation->tries = 1;
    return views_count(hit);
}

static enum mcds__step begin_hit(struct views_hit *hit)
{
    assert(hit->stage == HIT_BEGIN && hit->place == NULL);
    struct mcds__operation *operation = &hit->base;
    hit->looks = hit->looks || mcds__views_takes_look(hit->views, operation);
    hit->hit.must_exist = has_entered(hit);
    if (hit->hit.must_exist)
        return views_count(hit);
    hit->place = mcds__members_take(hit->views->pages, hit->slot);
    if (hit->place == NULL) {
        if (mcds__operation_wait(operation, 0))
            return MCDS__SLEEP;
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(TOO_MANY_INTERVALS));
    }
    struct mcds__map_command command = {.verb = MCDS__MAP_PUT_NEW,
                                        .element = mcds_text(hit->page)};
    if (!mcds__map_update_begin(&hit->entry, &hit->place->map, &command)) {
        mcds__members_give(hit->views->pages, hit->place);
        hit->place = NULL;
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    }
    hit->stage = HIT_ENTERING;
    return views_enter(hit);
}

static enum mcds__step views_step_hit(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct views_hit *hit = (struct views_hit *)operation;
    if (!mcds__settings_check_step(&hit->check, operation, &step))
        return step;
    assert(hit->stage <= HIT_LOOKING);
    switch (hit->stage) {
    case HIT_BEGIN:
        return begin_hit(hit);
    case HIT_ENTERING:
        return views_enter(hit);
    case HIT_COUNTING:
        return views_count(hit);
    default:
        return mcds__views_lower_step(&hit->lowering, hit->views, operation);
    }
}

static const struct mcds__operation_kind hit_kind = {"views", "hit", sizeof(struct views_hit),
                                                     views_step_hit, release_hit};

int mcds__views_check(const mcds_views *views, const char *page,
                      const struct mcds__operation_kind *kind)
{
    if (views == NULL)
        return mcds__fail_missing("views", kind->verb, "a handle");
    int result = mcds__check_text(kind, views->handle.name, "page", page);
    return result == MCDS_OK ? mcds__check_wall(kind, &views->handle) : result;
}

int mcds_views_hit_start(mcds_views *views, const char *page, uint32_t n,
                         mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    int result = mcds__views_check(views, page, &hit_kind);
    if (result != MCDS_OK)
        return result;
    struct views_hit own;
    struct views_hit *hit = mcds__call_begin(&own.base, &hit_kind, &views->handle, start,
                                             &result);
    if (hit == NULL)
        return result;
    hit->views = views;
    begin_check(hit);
    hit->slot = mcds__tally_at(mcds__wall_ms(hit->base.env), views->flush_ms);
    hit->page_hash = mcds__siphash(views->hash_key, mcds_text(page));
    hit->stage = HIT_BEGIN;
    hit->looks = false;
    hit->place = NULL;
    memcpy(hit->page, page, strlen(page) + 1);
    hit->key = mcds__views_count_key(views, hit->slot, page);
    mcds__tally_hit_init(&hit->hit, mcds__key_bytes(&hit->key), n, views_ttl_ms(views));
    return mcds__call_launch(&hit->base, start);
}

int mcds_views_hit(mcds_views *views, const char *page, uint32_t n)
{
    return mcds_views_hit_start(views, page, n, MCDS__WAIT, 0);
}

static int views_check_options(const char *name, const mcds_views_options *options)
{
    if (options->load == NULL || options->save == NULL)
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING, .noun = "views", .name = name,
                          .option = options->load == NULL ? "load" : "save",
                          .wanted = "options.load and options.save");
    const struct mcds__given given[] = {
        {MCDS_CAUSE_OUT_OF_RANGE, "flush_ms", options->flush_ms, FLUSH_MS_MIN, FLUSH_MS_MAX},
        {MCDS_CAUSE_UNKNOWN_VALUE, "database", options->database, 0, MCDS_VIEWS_TABLE},
    };
    return mcds__check_given("views", name, NULL, given, sizeof given / sizeof given[0]);
}

static const mcds_reason *const databases[] = {
    MCDS__WHY(VIEWS_OF_PROGRAM),
    MCDS__WHY(VIEWS_OF_COMMAND),
};

/* False: no memory. */
static bool views_make_keys(mcds_views *views, const char *name, mcds_views_database database)
{
    struct mcds__key pages;
    const char *ns = mcds__store_ns(views->handle.store);
    const struct mcds__setting settings[] = {
        {.name = "flush_ms", .number = views->flush_ms},
        {"database", database, databases, sizeof databases / sizeof databases[0]},
    };
    mcds__key_begin(&views->counts, ns, MCDS__TAG_VIEWS, name);
    mcds__settings_init(&views->settings, mcds__store_env(views->handle.store),
                        MCDS__KIND_VIEWS, false, &views->counts, settings, 2, 0);
    views->settings.is_last_apart = 1;
    views->settings.again_ms = views->flush_ms;
    mcds__key_add_number(&views->counts, views->flush_ms);
    mcds__key_begin(&views->bases, ns, MCDS__TAG_VIEWS_BASE, name);
    mcds__key_begin(&views->loads, ns, MCDS__TAG_VIEWS_LOAD, name);
    mcds__key_begin(&views->mark, ns, MCDS__TAG_VIEWS_MARK, name);
    mcds__key_add_number(&views->mark, views->flush_ms);
    mcds__key_begin(&pages, ns, MCDS__TAG_VIEWS_PAGES, name);
    mcds__key_add_number(&pages, views->flush_ms);
    views->pages = mcds__members_open(views->handle.store, &pages, &views_pages,
                                      views_ttl_ms(views));
    return views->pages != NULL;
}

static void destroy_views(struct mcds__handle *handle)
{
    mcds__members_close(((mcds_views *)handle)->pages);
}

int mcds_views_open(mcds_store *store, const char *name, const mcds_views_options *options,
                    mcds_views **views_out)
{
    mcds_views_options own;
    int result = mcds__read_options("views", store, name, views_out,
                                    MCDS__SIZED_mcds_views_options, options, &own);
    if (result == MCDS_OK)
        result = views_check_options(name, &own);
    if (result != MCDS_OK)
        return result;
    mcds_views *views = mcds__handle_open("views", store, name, sizeof *views, destroy_views);
    if (views == NULL)
        return MCDS_NO_MEMORY;
    views->flush_ms = own.flush_ms > 0 ? own.flush_ms : FLUSH_MS_DEFAULT;
    views->keep_slots = KEEP_MS / views->flush_ms;
    if (views->keep_slots > KEEP_SLOTS_MAX)
        views->keep_slots = KEEP_SLOTS_MAX;
    if (views->keep_slots < KEEP_SLOTS_MIN)
        views->keep_slots = KEEP_SLOTS_MIN;
    views->load = own.load;
    views->save = own.save;
    views->context = own.context;
    views->hash_key[0] = mcds__random_u64(mcds__store_env(store));
    views->hash_key[1] = mcds__random_u64(mcds__store_env(store));
    if (!views_make_keys(views, name, own.database)) {
        mcds_views_close(views);
        return mcds__fail_memory("views", name, NULL);
    }
    *views_out = views;
    return MCDS_OK;
}

void mcds_views_close(mcds_views *views)
{
    mcds__handle_release((struct mcds__handle *)views);
}
