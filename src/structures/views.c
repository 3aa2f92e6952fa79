/* Views: how often each page was viewed, counted here and kept in a database.
 *
 * Every interval of flush_ms has a number for each page that was viewed in it (core slot), and a
 * list of these pages (core fold). A page enters the list before it is counted, so nothing that
 * is counted is forgotten by the flush. */
#include "structures/views.h"

#include <stdatomic.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/frame.h"
#include "base/hash.h"

#define FLUSH_MS_DEFAULT 60000
#define FLUSH_MS_MIN 1000
#define FLUSH_MS_MAX 86400000
#define KEEP_MS (UINT64_C(24) * 3600 * 1000)
#define KEEP_SLOTS_MAX 1440
#define KEEP_SLOTS_MIN 8
/* An interval may be begun by a clock that is ahead, and the store may drop a key early. */
#define EARLY_MS 2000
#define SLACK_MS (MCDS__VIEWS_SETTLE_MS + EARLY_MS)
#define FRAME_VERSION 1

uint64_t mcds__views_unsettled(const mcds_views *views)
{
    int64_t now_ms = mcds__wall_ms(mcds__store_env(views->store));
    return mcds__slot_at(now_ms - MCDS__VIEWS_SETTLE_MS, views->flush_ms);
}

bool mcds__views_is_ahead(const mcds_views *views, uint64_t slot)
{
    int64_t now_ms = mcds__wall_ms(mcds__store_env(views->store));
    return slot > mcds__slot_at(now_ms + MCDS__VIEWS_SETTLE_MS, views->flush_ms);
}

uint64_t mcds__views_ttl_ms(const mcds_views *views)
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

size_t mcds__views_put_pair(uint8_t *out, char type, mcds_bytes key, uint64_t first,
                            uint64_t second)
{
    mcds__put_u64(out + MCDS__FRAME_HEAD, first);
    mcds__put_u64(out + MCDS__FRAME_HEAD + 8, second);
    return mcds__frame_seal(out, type, FRAME_VERSION, key, 16);
}

bool mcds__views_get_pair(mcds_bytes value, char type, mcds_bytes key, uint64_t *first_out,
                          uint64_t *second_out)
{
    mcds_bytes payload;
    if (!mcds__frame_open(value, type, FRAME_VERSION, key, &payload) || payload.length != 16)
        return false;
    *first_out = mcds__get_u64(payload.at);
    *second_out = mcds__get_u64((const uint8_t *)payload.at + 8);
    return true;
}

static const mcds_reason *const forms[] = {
    MCDS__WHY(PAGES_DIFFER),
    MCDS__WHY(PAGES_DIFFER),
    MCDS__WHY(PAGES_DIFFER),
    MCDS__WHY(PAGES_DIFFER),
};

static void open_fold(mcds_views *views, struct mcds__views_fold *place, uint64_t slot)
{
    struct mcds__key root = views->pages;
    mcds__key_add_number(&root, slot);
    if (place->is_open)
        mcds__fold_destroy(&place->fold);
    mcds__fold_init(&place->fold, views->store, &root, MCDS__KIND_PAGES, 0, forms,
                    mcds__views_ttl_ms(views));
    place->slot = slot;
    place->is_open = true;
}

struct mcds__fold *mcds__views_take_fold(mcds_views *views, uint64_t slot)
{
    struct mcds__views_fold *free_place = NULL;
    struct mcds__views_fold *found = NULL;
    (void)pthread_mutex_lock(&views->mutex);
    for (int i = 0; i < MCDS__VIEWS_FOLDS && found == NULL; i++) {
        struct mcds__views_fold *place = &views->folds[i];
        if (place->is_open && place->slot == slot)
            found = place;
        else if (place->users == 0 && (free_place == NULL || place->slot < free_place->slot))
            free_place = place;
    }
    if (found == NULL && free_place != NULL) {
        open_fold(views, free_place, slot);
        found = free_place;
    }
    if (found != NULL)
        found->users++;
    (void)pthread_mutex_unlock(&views->mutex);
    return found != NULL ? &found->fold : NULL;
}

void mcds__views_give_fold(mcds_views *views, const struct mcds__fold *fold)
{
    (void)pthread_mutex_lock(&views->mutex);
    for (int i = 0; i < MCDS__VIEWS_FOLDS; i++)
        if (&views->folds[i].fold == fold)
            views->folds[i].users--;
    (void)pthread_mutex_unlock(&views->mutex);
}

struct views_hit {
    struct mcds__operation base;
    mcds_views *views;
    uint64_t slot;
    uint64_t page_hash;
    uint8_t stage;
    struct mcds__agree agree;
    struct mcds__fold *fold; /* while it is taken */
    struct mcds__fold_change entry;
    struct mcds__slot_hit hit;
    struct mcds__key key;
    char page[MCDS__NAME_GIVEN_MAX + 1];
};

enum { HIT_BEGIN, HIT_ENTERING, HIT_COUNTING };

static void give_fold(struct views_hit *hit)
{
    if (hit->fold == NULL)
        return;
    mcds__fold_change_free(&hit->entry);
    mcds__views_give_fold(hit->views, hit->fold);
    hit->fold = NULL;
}

static void release_hit(struct mcds__operation *operation)
{
    give_fold((struct views_hit *)operation);
}

static _Atomic uint64_t *entered_place(struct views_hit *hit)
{
    return &hit->views->entered[hit->page_hash % MCDS__VIEWS_ENTERED];
}

/* What stands for this page in this slot. */
static uint64_t entered_mark(const struct views_hit *hit)
{
    return (hit->page_hash ^ hit->slot * UINT64_C(0x9E3779B97F4A7C15)) | 1;
}

static enum mcds__step count(struct views_hit *hit)
{
    hit->stage = HIT_COUNTING;
    return mcds__slot_hit_step(&hit->hit, &hit->base);
}

static enum mcds__step enter(struct views_hit *hit)
{
    struct mcds__operation *operation = &hit->base;
    enum mcds__step step = mcds__fold_change_step(&hit->entry, operation);
    if (step != MCDS__DONE)
        return step;
    give_fold(hit);
    /* In the list or not: nothing has been counted. */
    if (operation->result == MCDS_AMBIGUOUS)
        operation->result = mcds__operation_is_late(operation) ? MCDS_TIMEOUT
                                                               : MCDS_UNAVAILABLE;
    if (operation->result != MCDS_OK)
        return MCDS__DONE;
    atomic_store_explicit(entered_place(hit), entered_mark(hit), memory_order_relaxed);
    operation->tries = 1;
    return count(hit);
}

static enum mcds__step begin_hit(struct views_hit *hit)
{
    struct mcds__operation *operation = &hit->base;
    if (atomic_load_explicit(entered_place(hit), memory_order_relaxed) == entered_mark(hit))
        return count(hit);
    hit->fold = mcds__views_take_fold(hit->views, hit->slot);
    if (hit->fold == NULL) {
        if (mcds__operation_wait(operation, 0))
            return MCDS__SLEEP;
        return mcds__operation_finish(operation, MCDS_BUSY);
    }
    struct mcds__fold_command command = {.verb = MCDS__FOLD_PUT_NEW,
                                         .element = mcds_text(hit->page)};
    if (!mcds__fold_change_begin(&hit->entry, hit->fold, &command)) {
        mcds__views_give_fold(hit->views, hit->fold);
        hit->fold = NULL;
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    }
    hit->stage = HIT_ENTERING;
    return enter(hit);
}

static enum mcds__step step_hit(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct views_hit *hit = (struct views_hit *)operation;
    if (!mcds__agree_step(&hit->agree, operation, &step))
        return step;
    switch (hit->stage) {
    case HIT_BEGIN:
        return begin_hit(hit);
    case HIT_ENTERING:
        return enter(hit);
    default:
        return mcds__slot_hit_step(&hit->hit, operation);
    }
}

static const struct mcds__operation_kind hit_kind = {"views", "hit", sizeof(struct views_hit),
                                                     step_hit};

int mcds__views_check(const mcds_views *views, const char *page, const char *verb)
{
    if (views == NULL)
        return mcds__fail_missing("views", verb, "a handle");
    if (page == NULL || page[0] == '\0')
        return mcds__fail(MCDS_INVALID, EMPTY, .noun = "views", .name = views->name,
                          .verb = verb, .option = "page");
    if (strnlen(page, MCDS__NAME_GIVEN_MAX + 1) > MCDS__NAME_GIVEN_MAX)
        return mcds__fail(MCDS_INVALID, TOO_LONG, .noun = "views", .name = views->name,
                          .verb = verb, .option = "page", .wanted_max = MCDS__NAME_GIVEN_MAX);
    return MCDS_OK;
}

static int launch_hit(struct views_hit *hit, mcds_views *views, const char *page, uint32_t n,
                      mcds_pipeline *pipeline, uint64_t tag)
{
    int result = mcds__views_check(views, page, "hit");
    if (result != MCDS_OK)
        return result;
    if (hit == NULL)
        hit = mcds__pipeline_new(pipeline, &views->handle, &hit_kind, &result);
    if (hit == NULL)
        return result;
    mcds__operation_begin(&hit->base, &hit_kind, views->store, views->name, 0);
    mcds__agree_begin(&hit->agree, &views->settings, true, &hit->base);
    hit->views = views;
    hit->slot = mcds__slot_at(mcds__wall_ms(hit->base.env), views->flush_ms);
    hit->page_hash = mcds__hash(0, mcds_text(page));
    hit->stage = HIT_BEGIN;
    hit->fold = NULL;
    memcpy(hit->page, page, strlen(page) + 1);
    hit->key = mcds__views_count_key(views, hit->slot, page);
    hit->hit = (struct mcds__slot_hit){
        .key = mcds__key_bytes(&hit->key),
        .delta = n,
        .ttl_ms = mcds__views_ttl_ms(views),
    };
    hit->base.release = release_hit;
    return mcds__launch(&hit->base, pipeline, tag);
}

int mcds_views_hit(mcds_views *views, const char *page, uint32_t n)
{
    struct views_hit hit;
    return launch_hit(&hit, views, page, n, NULL, 0);
}

int mcds_views_hit_start(mcds_views *views, const char *page, uint32_t n,
                         mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_hit(NULL, views, page, n, pipeline, tag);
}

static int check_options(const char *name, const mcds_views_options *options)
{
    if (options->load == NULL || options->save == NULL)
        return mcds__fail_why(MCDS_INVALID, MCDS__WHY(VIEWS_CALLBACKS), .noun = "views",
                              .name = name);
    if (options->flush_ms != 0 &&
        (options->flush_ms < FLUSH_MS_MIN || options->flush_ms > FLUSH_MS_MAX))
        return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, .noun = "views", .name = name,
                          .option = "flush_ms", .wanted_min = FLUSH_MS_MIN,
                          .wanted_max = FLUSH_MS_MAX, .found_number = options->flush_ms);
    return MCDS_OK;
}

static void make_keys(mcds_views *views, const char *name)
{
    const char *ns = mcds__store_ns(views->store);
    const struct mcds__setting setting = {.name = "flush_ms", .number = views->flush_ms};
    mcds__key_begin(&views->counts, ns, MCDS__TAG_VIEWS, name);
    mcds__settings_init(&views->settings, mcds__store_env(views->store), MCDS__KIND_VIEWS,
                        &views->counts, &setting, 1, 0);
    mcds__key_add_number(&views->counts, views->flush_ms);
    mcds__key_begin(&views->pages, ns, MCDS__TAG_VIEWS_PAGES, name);
    mcds__key_add_number(&views->pages, views->flush_ms);
    mcds__key_begin(&views->bases, ns, MCDS__TAG_VIEWS_BASE, name);
    mcds__key_begin(&views->loads, ns, MCDS__TAG_VIEWS_LOAD, name);
    mcds__key_begin(&views->mark, ns, MCDS__TAG_VIEWS_MARK, name);
    mcds__key_add_number(&views->mark, views->flush_ms);
}

static void destroy_views(struct mcds__handle *handle)
{
    mcds_views *views = (mcds_views *)handle;
    const mcds_env *env = mcds__store_env(views->store);
    for (int i = 0; i < MCDS__VIEWS_FOLDS; i++)
        if (views->folds[i].is_open)
            mcds__fold_destroy(&views->folds[i].fold);
    (void)pthread_mutex_destroy(&views->mutex);
    mcds__free(env, views->name);
    mcds__free(env, views);
}

int mcds_views_open(mcds_store *store, const char *name, const mcds_views_options *options,
                    mcds_views **views_out)
{
    mcds_views_options own;
    int result = mcds__check_open("views", store, name, views_out);
    if (result == MCDS_OK)
        result = mcds__sized_read(MCDS__SIZED_mcds_views_options, options, &own);
    if (result == MCDS_OK)
        result = check_options(name, &own);
    if (result != MCDS_OK)
        return result;
    const mcds_env *env = mcds__store_env(store);
    mcds_views *views = mcds__allocate_zero(env, sizeof *views);
    char *own_name = mcds__copy_string(env, name);
    if (views == NULL || own_name == NULL) {
        mcds__free(env, views);
        mcds__free(env, own_name);
        return mcds__fail_memory("views", name, NULL);
    }
    views->store = store;
    views->name = own_name;
    views->flush_ms = own.flush_ms > 0 ? own.flush_ms : FLUSH_MS_DEFAULT;
    views->keep_slots = KEEP_MS / views->flush_ms;
    if (views->keep_slots > KEEP_SLOTS_MAX)
        views->keep_slots = KEEP_SLOTS_MAX;
    if (views->keep_slots < KEEP_SLOTS_MIN)
        views->keep_slots = KEEP_SLOTS_MIN;
    views->load = own.load;
    views->save = own.save;
    views->context = own.context;
    (void)pthread_mutex_init(&views->mutex, NULL);
    make_keys(views, name);
    mcds__handle_begin(&views->handle, store, destroy_views);
    *views_out = views;
    return MCDS_OK;
}

void mcds_views_close(mcds_views *views)
{
    if (views != NULL)
        mcds__handle_release(&views->handle);
}
