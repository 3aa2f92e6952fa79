/* Views: get, the sum of the saved intervals (the base) and of those that are not saved yet.
 *
 * The base is what the database holds up to some interval. It is cached in the store for a while;
 * one caller at a time (the claim) reads it from the database. */
#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "core/tally/first_seen.h"
#include "structures/views/views.h"

#define KEYS_MAX 16
#define BASE_TTL_MS 600000
#define LOAD_TTL_MS 10000
/* After so many changes of the base by others, a call pauses before each further try. */
#define MOVES_MAX 8

struct views_get {
    struct mcds__operation base;
    mcds_views *views;
    int64_t *value_out;
    uint8_t stage;
    struct mcds__settings_check check;
    uint8_t moves;
    bool failed;    /* load has failed */
    bool keeps;     /* the base is in `pair`, and not in the store */
    uint32_t count; /* of requests */
    uint64_t upto;  /* the intervals after this one are read */
    uint64_t next;  /* the first that has not been read yet */
    uint64_t last;
    int64_t sum;
    int64_t seen; /* views in the database up to the intervals that have been compared */
    int64_t all;  /* all views in the database */
    bool is_any_saved;
    int64_t saved[KEYS_MAX]; /* views in the database of each interval that is being compared */
    struct mcds__mark claim;
    struct mcds__key keys[KEYS_MAX];
    mcds_request requests[KEYS_MAX];
    mcds_bytes base_value; /* as this call has written it, in `pair` */
    uint8_t pair[MCDS__VIEWS_PAIR];
    char page[MCDS__NAME_GIVEN_MAX + 1];
};

enum {
    GET_BEGIN,
    GET_READING,
    GET_CLAIMING,
    GET_MARK,
    GET_COMPARING,
    GET_STORING,
    GET_GIVING,
};

static void views_get_add_request(struct views_get *get, const struct mcds__key *key)
{
    assert(get->count < KEYS_MAX);
    get->keys[get->count] = *key;
    get->requests[get->count] = (mcds_request){.command = MCDS_GET,
                                               .key = mcds__key_bytes(&get->keys[get->count])};
    get->count++;
}

static struct mcds__key base_key(const struct views_get *get)
{
    struct mcds__key key = get->views->bases;
    mcds__key_add_element(&key, get->page);
    return key;
}

/* Reads the base first, unless it has been read, then as many intervals as fit into the batch. */
static enum mcds__step views_get_ask(struct views_get *get, bool with_base, uint8_t stage)
{
    get->count = 0;
    if (with_base) {
        struct mcds__key key = base_key(get);
        views_get_add_request(get, &key);
    }
    while (get->count < KEYS_MAX && get->next <= get->last) {
        struct mcds__key key = mcds__views_count_key(get->views, get->next++, get->page);
        views_get_add_request(get, &key);
    }
    get->stage = stage;
    return mcds__operation_ask_any_order(&get->base, get->requests, get->count);
}

static uint64_t running_slot(const struct views_get *get)
{
    return mcds__tally_at(mcds__wall_ms(get->base.env), get->views->flush_ms);
}

/* The last interval before those that the store may still hold. */
static uint64_t oldest_upto(const struct views_get *get, uint64_t now)
{
    uint64_t keep = get->views->keep_slots;
    return now > keep ? now - keep : 0;
}

/* Whether all intervals after this one are still in the store. Their keys live a little longer than
 * needed, so a base serves for more than one interval. */
static bool views_get_is_kept(const struct views_get *get, uint64_t upto, uint64_t now)
{
    return upto + get->views->keep_slots + MCDS__VIEWS_SPARE_SLOTS > now;
}

static enum mcds__step views_get_begin(struct views_get *get)
{
    mcds_views *views = get->views;
    uint64_t now = running_slot(get);
    get->upto = atomic_load_explicit(&views->upto, memory_order_relaxed);
    if (!views_get_is_kept(get, get->upto, now) || mcds__views_is_ahead(views, get->upto))
        get->upto = oldest_upto(get, now);
    get->next = get->upto + 1;
    get->last = now + 1; /* where another machine's clock may be */
    get->sum = 0;
    return views_get_ask(get, true, GET_READING);
}

static enum mcds__step views_get_again(struct views_get *get, const mcds_reply *reply)
{
    get->stage = GET_BEGIN;
    if (mcds__operation_wait(&get->base, 0))
        return MCDS__SLEEP;
    return mcds__operation_fail_read(&get->base, reply);
}

static enum mcds__step views_get_claim(struct views_get *get)
{
    enum mcds__step step = mcds__first_seen_step(&get->claim, &get->base);
    get->stage = GET_CLAIMING;
    if (step != MCDS__DONE)
        return step;
    get->claim.stage = MCDS__MARK_BEGIN; /* from here on a new claim is made */
    if (get->base.result == MCDS_EXISTS) {
        get->stage = GET_BEGIN;
        if (mcds__operation_wait(&get->base, 0))
            return MCDS__SLEEP;
        return mcds__operation_explain(&get->base, MCDS_TIMEOUT, MCDS__WHY(LOADING));
    }
    if (get->base.result == MCDS_AMBIGUOUS)
        get->base.result = MCDS_TIMEOUT;
    if (get->base.result != MCDS_OK && get->base.result != MCDS_FULL)
        return step;
    get->count = 0; /* without memory for a claim, several callers read the database at once */
    views_get_add_request(get, &get->views->mark);
    get->stage = GET_MARK;
    return mcds__operation_ask(&get->base, get->requests, 1);
}

/* False: the sum leaves its range. */
static bool add_views(struct views_get *get, uint64_t views)
{
    assert(get->sum >= 0);
    if (views > INT64_MAX || get->sum > INT64_MAX - (int64_t)views)
        return false;
    get->sum += (int64_t)views;
    return true;
}

/* False: the key of an interval does not hold a number, or the sum leaves its range. */
static bool add_slots(struct views_get *get, uint32_t from)
{
    assert(from <= get->count && get->count <= KEYS_MAX);
    for (uint32_t i = from; i < get->count; i++) {
        uint64_t number;
        const mcds_request *request = &get->requests[i];
        if (request->reply.outcome == MCDS_OUT_MISS)
            continue;
        if (!mcds__tally_parse(mcds__operation_value(&get->base, request), &number) ||
            !add_views(get, number))
            return false;
    }
    return true;
}

static bool is_base(const struct views_get *get)
{
    struct mcds__key key = base_key(get);
    return get->keys[0].length == key.length &&
           memcmp(get->keys[0].bytes, key.bytes, key.length) == 0;
}

enum base_state { BASE_FITS, BASE_MISSING, BASE_MOVED, BASE_DAMAGED };

/* Decodes the base. MOVED: it ends at another interval than those read begin after. */
static enum base_state take_base(struct views_get *get)
{
    uint64_t base[2];
    mcds_bytes value = get->base_value;
    bool is_there = get->requests[0].reply.outcome == MCDS_OUT_OK;
    if (!is_there && !get->keeps)
        return BASE_MISSING;
    if (is_there)
        value = mcds__operation_value(&get->base, &get->requests[0]);
    if (!mcds__frame_open_numbers(value, MCDS__VIEWS_BASE, MCDS__VIEWS_FRAME_VERSION,
                                  get->requests[0].key, base, 2))
        return BASE_DAMAGED;
    uint64_t upto = base[1];
    if (!views_get_is_kept(get, upto, running_slot(get)) ||
        mcds__views_is_ahead(get->views, upto))
        return BASE_MISSING;
    atomic_store_explicit(&get->views->upto, upto, memory_order_relaxed);
    if (upto != get->upto)
        return BASE_MOVED;
    return add_views(get, base[0]) ? BASE_FITS : BASE_DAMAGED;
}

static enum mcds__step views_get_move(struct views_get *get)
{
    assert(get->moves <= MOVES_MAX);
    if (get->moves < MOVES_MAX) {
        get->moves++;
        return views_get_begin(get);
    }
    get->stage = GET_BEGIN;
    return mcds__operation_wait(&get->base, 0)
               ? MCDS__SLEEP
               : mcds__operation_fail_waiting(&get->base, MCDS__WHY(BASE_CHANGES));
}

static enum mcds__step views_get_take_replies(struct views_get *get)
{
    const mcds_reply *trouble = mcds__first_trouble(get->requests, get->count);
    bool with_base = is_base(get);
    enum base_state state = BASE_FITS;
    if (trouble != NULL)
        return mcds__is_refusal(trouble) ? mcds__operation_fail_read(&get->base, trouble)
                                         : views_get_again(get, trouble);
    if (with_base)
        state = take_base(get);
    if (state == BASE_MISSING)
        return views_get_claim(get);
    if (state == BASE_MOVED)
        return views_get_move(get);
    if (state == BASE_DAMAGED || !add_slots(get, with_base))
        return mcds__operation_finish(&get->base, MCDS_CORRUPT);
    if (get->next <= get->last)
        return views_get_ask(get, false, GET_READING);
    *get->value_out = get->sum;
    return mcds__operation_finish(&get->base, MCDS_OK);
}

static enum mcds__step end_load(struct views_get *get)
{
    assert(get->stage == GET_GIVING);
    get->claim.doubt = false;
    if (get->failed)
        return mcds__operation_explain(
            &get->base, MCDS_IO,
            get->base.difference.found != 0 ? MCDS__WHY(LOAD_FAILED) : MCDS__WHY(LOAD_BELOW_0));
    return views_get_begin(get);
}

/* Erases the claim. If another caller holds it by now, two callers read the database at once; what
 * each writes is correct. */
static enum mcds__step give_claim(struct views_get *get)
{
    get->stage = GET_GIVING;
    get->requests[0] = (mcds_request){.command = MCDS_DELETE,
                                      .key = mcds__key_bytes(&get->claim.key)};
    return mcds__operation_ask(&get->base, get->requests, 1);
}

/* Calls load; its time does not count against the timeout. False: load has failed. */
static bool ask_database(struct views_get *get, uint64_t upto, int64_t *views_out)
{
    assert(get->page[0] != '\0');
    *views_out = 0;
    mcds__operation_note_visit(&get->base);
    int result = get->views->load(get->views->context, get->page, upto, views_out);
    mcds__operation_end_visit(&get->base);
    get->base.difference.found = result;
    return result == 0 && *views_out >= 0;
}

/* Without the mark, finds by bisection the last settled interval that the database has saved for
 * this page: the last one that makes the sum larger. An unsettled interval may be saved in part. */
static bool find_saved(struct views_get *get, uint64_t *upto, int64_t *views)
{
    uint64_t low = *upto;
    uint64_t unsettled = mcds__views_unsettled(get->views);
    uint64_t high = unsettled > low ? unsettled - 1 : low;
    int64_t all;
    if (!ask_database(get, high, &all))
        return false;
    if (all <= *views)
        return true;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        assert(low < middle && middle < high);
        int64_t sum;
        if (!ask_database(get, middle, &sum))
            return false;
        if (sum >= all)
            high = middle;
        else
            low = middle;
    }
    *upto = high;
    *views = all;
    return true;
}

static enum mcds__step store_base(struct views_get *get, int64_t views, uint64_t upto)
{
    assert(views >= 0);
    struct mcds__key key = base_key(get);
    const uint64_t base[2] = {(uint64_t)views, upto};
    get->base_value = mcds__frame_seal_numbers(
        get->pair, MCDS__VIEWS_BASE, MCDS__VIEWS_FRAME_VERSION, mcds__key_bytes(&key), base, 2);
    atomic_store_explicit(&get->views->upto, upto, memory_order_relaxed);
    get->count = 0;
    views_get_add_request(get, &key);
    /* A read does not make views: those that nobody has counted or saved get no key. */
    get->keeps = views == 0 && !mcds__settings_are_seen(&get->views->settings);
    if (get->keeps)
        return give_claim(get);
    get->requests[0].command = MCDS_SET;
    get->requests[0].ttl_ms = BASE_TTL_MS;
    get->requests[0].value = get->base_value;
    get->stage = GET_STORING;
    return mcds__operation_ask(&get->base, get->requests, 1);
}

/* Loads what the database has of the next intervals; one call of load where it has nothing. */
static bool ask_saved(struct views_get *get)
{
    uint64_t end = get->next + KEYS_MAX - 1;
    int64_t sum;
    end = end < get->last ? end : get->last;
    assert(get->next <= end && end - get->next < KEYS_MAX);
    get->is_any_saved = false;
    if (!ask_database(get, end, &sum))
        return false;
    if (sum <= get->seen) {
        get->next = end + 1;
        return true;
    }
    get->is_any_saved = true;
    for (uint64_t slot = get->next; slot <= end; slot++) {
        if (!ask_database(get, slot, &sum))
            return false;
        get->saved[slot - get->next] = sum > get->seen ? sum - get->seen : 0;
        get->seen = sum > get->seen ? sum : get->seen;
    }
    return true;
}

static enum mcds__step compare_more(struct views_get *get)
{
    while (get->next <= get->last && get->seen < get->all) {
        get->failed = !ask_saved(get);
        if (get->failed)
            return give_claim(get);
        if (get->is_any_saved)
            return views_get_ask(get, false, GET_COMPARING);
    }
    return store_base(get, get->sum, get->upto);
}

/* An interval that has not settled may be saved already, and its number lost from the store since.
 * The numbers in the store are read after the database: each is at least what was saved of it,
 * unless it was lost. The difference is added to the base, so each view counts once. */
static enum mcds__step begin_comparing(struct views_get *get, int64_t loaded, uint64_t upto,
                                       uint64_t from)
{
    int64_t ahead_ms = mcds__wall_ms(get->base.env) + MCDS__VIEWS_SETTLE_MS;
    get->upto = upto;
    get->next = from;
    get->last = mcds__tally_at(ahead_ms, get->views->flush_ms);
    get->sum = get->seen = loaded;
    get->failed = !ask_database(get, get->last, &get->all);
    return get->failed ? give_claim(get) : compare_more(get);
}

static enum mcds__step views_get_compare(struct views_get *get)
{
    const mcds_reply *trouble = mcds__first_trouble(get->requests, get->count);
    if (trouble != NULL) {
        get->claim.doubt = true; /* as in load */
        return views_get_again(get, trouble);
    }
    for (uint32_t i = 0; i < get->count; i++) {
        const mcds_request *request = &get->requests[i];
        uint64_t number = 0;
        uint64_t saved = (uint64_t)get->saved[i];
        if (request->reply.outcome == MCDS_OUT_OK &&
            !mcds__tally_parse(mcds__operation_value(&get->base, request), &number))
            return mcds__operation_finish(&get->base, MCDS_CORRUPT);
        if (saved > number && !add_views(get, saved - number))
            return mcds__operation_finish(&get->base, MCDS_CORRUPT);
    }
    return compare_more(get);
}

/* The intervals up to the mark have been saved: reads their sum from the database. */
static enum mcds__step views_get_load(struct views_get *get)
{
    const mcds_request *mark = &get->requests[0];
    uint64_t now = running_slot(get);
    uint64_t upto = oldest_upto(get, now);
    uint64_t marked[2] = {0, 0};
    int64_t loaded;
    if (mark->reply.outcome == MCDS_OUT_OK) {
        if (!mcds__frame_open_numbers(mcds__operation_value(&get->base, mark), MCDS__VIEWS_MARK,
                                      MCDS__VIEWS_FRAME_VERSION, mark->key, marked, 2))
            return mcds__operation_finish(&get->base, MCDS_CORRUPT);
        if (mcds__views_is_ahead(get->views, marked[0]))
            marked[0] = 0;
        if (marked[0] > upto)
            upto = marked[0];
    } else if (mark->reply.outcome != MCDS_OUT_MISS) {
        get->claim.doubt = true; /* this caller holds it, and will recognize it by its token */
        return views_get_again(get, &mark->reply);
    }
    get->failed = !ask_database(get, upto, &loaded) ||
                  (marked[0] == 0 && !find_saved(get, &upto, &loaded));
    uint64_t from = mcds__views_unsettled(get->views);
    if (marked[0] > 0 || from <= upto) /* otherwise find_saved has seen all before it */
        from = upto + 1;
    return get->failed ? give_claim(get) : begin_comparing(get, loaded, upto, from);
}

static enum mcds__step views_get_take_stored(struct views_get *get)
{
    const mcds_reply *stored = &get->requests[0].reply;
    get->keeps = stored->outcome == MCDS_OUT_NO_MEMORY;
    if (mcds__is_refusal(stored) && !get->keeps)
        return mcds__operation_fail(&get->base, stored);
    return give_claim(get);
}

static enum mcds__step views_get_step(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct views_get *get = (struct views_get *)operation;
    if (!mcds__settings_check_step(&get->check, operation, &step))
        return step;
    if (get->stage == GET_BEGIN &&
        !mcds__settings_last_step(&get->views->settings, operation, &step))
        return step;
    assert(get->stage <= GET_GIVING);
    switch (get->stage) {
    case GET_BEGIN:
        return views_get_begin(get);
    case GET_READING:
        return views_get_take_replies(get);
    case GET_CLAIMING:
        return views_get_claim(get);
    case GET_MARK:
        return views_get_load(get);
    case GET_COMPARING:
        return views_get_compare(get);
    case GET_STORING:
        return views_get_take_stored(get);
    default:
        return end_load(get);
    }
}

static const struct mcds__operation_kind get_kind = {"views", "get", sizeof(struct views_get),
                                                     views_get_step, NULL};

int mcds_views_get_start(mcds_views *views, const char *page, int64_t *value_out,
                         mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    int result = mcds__views_check(views, page, &get_kind);
    if (result != MCDS_OK)
        return result;
    if (value_out == NULL)
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING,
                          MCDS__CALL(&get_kind, views->handle.name),
                          .wanted = "a place for the value");
    struct views_get own;
    struct views_get *get = mcds__call_begin(&own.base, &get_kind, &views->handle, start,
                                             &result);
    if (get == NULL)
        return result;
    mcds__settings_check_begin(&get->check, &views->settings, false, &get->base);
    get->views = views;
    get->value_out = value_out;
    get->stage = GET_BEGIN;
    get->moves = 0;
    get->failed = get->keeps = false;
    memcpy(get->page, page, strlen(page) + 1);
    get->claim = (struct mcds__mark){.key = views->loads, .ttl_ms = LOAD_TTL_MS};
    mcds__key_add_element(&get->claim.key, page);
    return mcds__call_launch(&get->base, start);
}

int mcds_views_get(mcds_views *views, const char *page, int64_t *value_out)
{
    return mcds_views_get_start(views, page, value_out, MCDS__WAIT, 0);
}
