/* Views: total views of each page, counted in the store and kept in a database. Here: hit.
 *
 * Every interval of flush_ms has a tally for each page that was viewed in it (core/tally) and a
 * list of these pages (core/map). A page enters the list before it is counted, so the flush finds
 * everything that is counted. */
#include "structures/views/views.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/frame.h"
#include "base/hash/hash.h"

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
    return mcds__tally_at(now_ms - MCDS__VIEWS_SETTLE_MS, views->flush_ms);
}

bool mcds__views_is_ahead(const mcds_views *views, uint64_t slot)
{
    int64_t now_ms = mcds__wall_ms(mcds__store_env(views->store));
    return slot > mcds__tally_at(now_ms + MCDS__VIEWS_SETTLE_MS, views->flush_ms);
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
    size_t length = mcds__frame_seal(out, type, FRAME_VERSION, key, 16);
    assert(length == MCDS__VIEWS_PAIR);
    return length;
}

bool mcds__views_get_pair(mcds_bytes value, char type, mcds_bytes key, uint64_t *first_out,
                          uint64_t *second_out)
{
    mcds_bytes payload;
    if (!mcds__frame_open(value, type, FRAME_VERSION, key, &payload) || payload.length != 16)
        return false;
    *first_out = mcds__get_u64(payload.data);
    *second_out = mcds__get_u64((const uint8_t *)payload.data + 8);
    return true;
}

static const mcds_reason *const forms[] = {
    MCDS__WHY(PAGES_DIFFER),
    MCDS__WHY(PAGES_DIFFER),
    MCDS__WHY(PAGES_DIFFER),
    MCDS__WHY(PAGES_DIFFER),
};

static void open_map(mcds_views *views, struct mcds__views_map *place, uint64_t slot)
{
    assert(place->users == 0);
    struct mcds__key root = views->pages;
    mcds__key_add_number(&root, slot);
    if (place->is_open)
        mcds__map_destroy(&place->map);
    mcds__map_init(&place->map, views->store, &root, MCDS__KIND_PAGES, 0, forms,
                   mcds__views_ttl_ms(views));
    place->slot = slot;
    place->is_open = true;
}

struct mcds__map *mcds__views_take_map(mcds_views *views, uint64_t slot)
{
    struct mcds__views_map *free_place = NULL;
    struct mcds__views_map *found = NULL;
    (void)pthread_mutex_lock(&views->mutex);
    for (int i = 0; i < MCDS__VIEWS_MAPS && found == NULL; i++) {
        struct mcds__views_map *place = &views->maps[i];
        if (place->is_open && place->slot == slot)
            found = place;
        else if (place->users == 0 && (free_place == NULL || place->slot < free_place->slot))
            free_place = place;
    }
    if (found == NULL && free_place != NULL) {
        open_map(views, free_place, slot);
        found = free_place;
    }
    if (found != NULL)
        found->users++;
    (void)pthread_mutex_unlock(&views->mutex);
    return found != NULL ? &found->map : NULL;
}

void mcds__views_give_map(mcds_views *views, const struct mcds__map *map)
{
    (void)pthread_mutex_lock(&views->mutex);
    for (int i = 0; i < MCDS__VIEWS_MAPS; i++)
        if (&views->maps[i].map == map) {
            assert(views->maps[i].is_open && views->maps[i].users > 0);
            views->maps[i].users--;
        }
    (void)pthread_mutex_unlock(&views->mutex);
}

struct views_hit {
    struct mcds__operation base;
    mcds_views *views;
    uint64_t slot;
    uint64_t page_hash;
    uint8_t stage;
    struct mcds__settings_check check;
    struct mcds__map *map; /* while it is taken */
    struct mcds__map_update entry;
    struct mcds__tally_hit hit;
    struct mcds__key key;
    char page[MCDS__NAME_GIVEN_MAX + 1];
};

enum { HIT_BEGIN, HIT_ENTERING, HIT_COUNTING };

static void views_give_map(struct views_hit *hit)
{
    if (hit->map == NULL)
        return;
    mcds__map_update_free(&hit->entry);
    mcds__views_give_map(hit->views, hit->map);
    hit->map = NULL;
}

static void views_release_hit(struct mcds__operation *operation)
{
    views_give_map((struct views_hit *)operation);
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

static enum mcds__step views_count(struct views_hit *hit)
{
    assert(hit->map == NULL);
    hit->stage = HIT_COUNTING;
    return mcds__tally_hit_step(&hit->hit, &hit->base);
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
    assert(hit->stage == HIT_ENTERING && hit->map != NULL);
    struct mcds__operation *operation = &hit->base;
    enum mcds__step step = mcds__map_update_step(&hit->entry, operation);
    if (step != MCDS__DONE)
        return step;
    views_give_map(hit);
    if (operation->result == MCDS_AMBIGUOUS)
        operation->result = result_of_doubt(operation);
    if (operation->result != MCDS_OK)
        return MCDS__DONE;
    atomic_store_explicit(entered_place(hit), entered_mark(hit), memory_order_relaxed);
    operation->tries = 1;
    return views_count(hit);
}

static enum mcds__step begin_hit(struct views_hit *hit)
{
    assert(hit->stage == HIT_BEGIN && hit->map == NULL);
    struct mcds__operation *operation = &hit->base;
    if (atomic_load_explicit(entered_place(hit), memory_order_relaxed) == entered_mark(hit))
        return views_count(hit);
    hit->map = mcds__views_take_map(hit->views, hit->slot);
    if (hit->map == NULL) {
        if (mcds__operation_wait(operation, 0))
            return MCDS__SLEEP;
        return mcds__operation_finish(operation, MCDS_BUSY);
    }
    struct mcds__map_command command = {.verb = MCDS__MAP_PUT_NEW,
                                        .element = mcds_text(hit->page)};
    if (!mcds__map_update_begin(&hit->entry, hit->map, &command)) {
        mcds__views_give_map(hit->views, hit->map);
        hit->map = NULL;
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
    assert(hit->stage <= HIT_COUNTING);
    switch (hit->stage) {
    case HIT_BEGIN:
        return begin_hit(hit);
    case HIT_ENTERING:
        return views_enter(hit);
    default:
        return mcds__tally_hit_step(&hit->hit, operation);
    }
}

static const struct mcds__operation_kind hit_kind = {"views", "hit", sizeof(struct views_hit),
                                                     views_step_hit};

int mcds__views_check(const mcds_views *views, const char *page,
                      const struct mcds__operation_kind *kind)
{
    if (views == NULL)
        return mcds__fail_missing("views", kind->verb, "a handle");
    return mcds__check_text(kind, views->name, "page", page);
}

static int views_launch_hit(struct views_hit *hit, mcds_views *views, const char *page,
                            uint32_t n, mcds_pipeline *pipeline, uint64_t tag)
{
    int result = mcds__views_check(views, page, &hit_kind);
    if (result != MCDS_OK)
        return result;
    if (hit == NULL)
        hit = mcds__pipeline_new(pipeline, &views->handle, &hit_kind, &result);
    if (hit == NULL)
        return result;
    mcds__operation_begin(&hit->base, &hit_kind, views->store, views->name, 0);
    mcds__settings_check_begin(&hit->check, &views->settings, true, &hit->base);
    hit->views = views;
    hit->slot = mcds__tally_at(mcds__wall_ms(hit->base.env), views->flush_ms);
    hit->page_hash = mcds__hash(0, mcds_text(page));
    hit->stage = HIT_BEGIN;
    hit->map = NULL;
    memcpy(hit->page, page, strlen(page) + 1);
    hit->key = mcds__views_count_key(views, hit->slot, page);
    hit->hit = (struct mcds__tally_hit){
        .key = mcds__key_bytes(&hit->key),
        .delta = n,
        .ttl_ms = mcds__views_ttl_ms(views),
    };
    hit->base.release = views_release_hit;
    return mcds__launch(&hit->base, pipeline, tag);
}

int mcds_views_hit(mcds_views *views, const char *page, uint32_t n)
{
    struct views_hit hit;
    return views_launch_hit(&hit, views, page, n, NULL, 0);
}

int mcds_views_hit_start(mcds_views *views, const char *page, uint32_t n,
                         mcds_pipeline *pipeline, uint64_t tag)
{
    return views_launch_hit(NULL, views, page, n, pipeline, tag);
}

static int views_check_options(const char *name, const mcds_views_options *options)
{
    if (options->load == NULL || options->save == NULL)
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING, .noun = "views", .name = name,
                          .option = options->load == NULL ? "load" : "save",
                          .wanted = "options.load and options.save");
    if (options->flush_ms != 0 &&
        (options->flush_ms < FLUSH_MS_MIN || options->flush_ms > FLUSH_MS_MAX))
        return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, .noun = "views", .name = name,
                          .option = "flush_ms", .wanted_min = FLUSH_MS_MIN,
                          .wanted_max = FLUSH_MS_MAX, .found_number = options->flush_ms);
    return MCDS_OK;
}

static void views_make_keys(mcds_views *views, const char *name)
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
    for (int i = 0; i < MCDS__VIEWS_MAPS; i++)
        if (views->maps[i].is_open)
            mcds__map_destroy(&views->maps[i].map);
    (void)pthread_mutex_destroy(&views->mutex);
    mcds__free(env, views->name);
    mcds__free(env, views);
}

int mcds_views_open(mcds_store *store, const char *name, const mcds_views_options *options,
                    mcds_views **views_out)
{
    mcds_views_options own;
    int result = mcds__check_open("views", NULL, store, name, views_out);
    if (result == MCDS_OK)
        result = mcds__sized_read(MCDS__SIZED_mcds_views_options, options, &own);
    if (result == MCDS_OK)
        result = views_check_options(name, &own);
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
    views_make_keys(views, name);
    mcds__handle_begin(&views->handle, store, destroy_views);
    *views_out = views;
    return MCDS_OK;
}

void mcds_views_close(mcds_views *views)
{
    if (views != NULL)
        mcds__handle_release(&views->handle);
}
