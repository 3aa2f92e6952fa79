/* Members: the intervals that a handle remembers, and the hit of a member. */
#include "core/members/members.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/environment.h"
#include "base/hash/siphash.h"

#define INTERVALS 40
/* How long after a handle has seen an interval its registers are taken for those that are there. */
#define KNOWN_NS NS_PER_S

enum { BEGIN, CHANGE };

const mcds_reason *const mcds__members_reasons[MCDS__MEMBERS_REASONS] = {
    MCDS__WHY(MEMBERS_NOT_KEPT),
    MCDS__WHY(MEMBERS_EXACT),
    MCDS__WHY(MEMBERS_ESTIMATED),
};

static const mcds_reason *const forms[] = {
    MCDS__WHY(MEMBERS_EXACT),
    MCDS__WHY(MEMBERS_ESTIMATED),
    MCDS__WHY(UNKNOWN_MEMBERS),
    MCDS__WHY(UNKNOWN_MEMBERS),
};

const struct mcds__members_kind mcds__members_exact = {MCDS__KIND_MEMBERS, false, INTERVALS,
                                                       forms};
const struct mcds__members_kind mcds__members_estimated = {MCDS__KIND_MEMBERS, true, INTERVALS,
                                                           forms};

struct mcds__members *mcds__members_open(mcds_store *store, const struct mcds__key *roots,
                                         const struct mcds__members_kind *kind, uint64_t ttl_ms)
{
    const mcds_env *env = mcds__store_env(store);
    size_t places = (size_t)kind->places * sizeof(struct mcds__members_place);
    struct mcds__members *members = mcds__allocate_zero(env, sizeof *members + places);
    if (members == NULL)
        return NULL;
    members->store = store;
    members->kind = kind;
    members->ttl_ms = ttl_ms;
    members->roots = *roots;
    if (pthread_mutex_init(&members->mutex, NULL) == 0)
        return members;
    mcds__free(env, members);
    return NULL;
}

static void close_place(struct mcds__members *members, struct mcds__members_place *place)
{
    assert(place->users == 0);
    if (!place->is_open)
        return;
    mcds__map_destroy(&place->map);
    mcds__free(mcds__store_env(members->store), place->ranks);
    place->ranks = NULL;
    place->is_open = false;
}

void mcds__members_close(struct mcds__members *members)
{
    if (members == NULL)
        return;
    const mcds_env *env = mcds__store_env(members->store);
    for (int i = 0; i < members->kind->places; i++)
        close_place(members, &members->places[i]);
    (void)pthread_mutex_destroy(&members->mutex);
    mcds__free(env, members);
}

static void open_place(struct mcds__members *members, struct mcds__members_place *place,
                       uint64_t tally)
{
    assert(place->users == 0);
    struct mcds__key root = members->roots;
    mcds__key_add_number(&root, tally);
    close_place(members, place);
    mcds__map_init(&place->map, members->store, &root, members->kind->kind,
                   members->kind->estimated, members->kind->forms, members->ttl_ms);
    if (members->settings != NULL)
        place->map.hash_key = members->settings->hash_key;
    /* Without memory for known registers, each member costs a request. */
    if (members->kind->estimated)
        place->ranks = mcds__allocate_zero(mcds__store_env(members->store),
                                           MCDS__HLL_REGISTERS);
    place->tally = tally;
    place->life = 0;
    place->reborn = false;
    place->is_open = true;
}

struct mcds__members_place *mcds__members_take(struct mcds__members *members, uint64_t tally)
{
    struct mcds__members_place *free_place = NULL;
    struct mcds__members_place *found = NULL;
    (void)pthread_mutex_lock(&members->mutex);
    for (int i = 0; i < members->kind->places && found == NULL; i++) {
        struct mcds__members_place *place = &members->places[i];
        if (place->is_open && place->tally == tally)
            found = place;
        else if (place->users == 0 && (free_place == NULL || place->tally < free_place->tally))
            free_place = place;
    }
    if (found == NULL && free_place != NULL) {
        open_place(members, free_place, tally);
        found = free_place;
    }
    if (found != NULL)
        found->users++;
    (void)pthread_mutex_unlock(&members->mutex);
    return found;
}

void mcds__members_give(struct mcds__members *members, struct mcds__members_place *place)
{
    (void)pthread_mutex_lock(&members->mutex);
    assert(place->users > 0);
    place->users--;
    (void)pthread_mutex_unlock(&members->mutex);
}

/* The registers that this handle remembers are no longer valid. */
static void forget_ranks(struct mcds__members_place *place)
{
    for (int i = 0; place->ranks != NULL && i < MCDS__HLL_REGISTERS; i++)
        atomic_store_explicit(&place->ranks[i], 0, memory_order_relaxed);
}

/* A map that was made again has another life, also where another handle has made it. Where it has
 * another hash key than the settings had, the settings were lost or dropped, and are read again. */
bool mcds__members_note_end(struct mcds__members *members, struct mcds__members_place *place,
                            int result)
{
    struct mcds__map_life known = mcds__map_life(&place->map);
    uint64_t life = known.number;
    (void)pthread_mutex_lock(&members->mutex);
    assert(place->is_open && place->users > 0);
    bool is_gone = life == 0 && result == MCDS_NOT_FOUND;
    bool is_other = place->life != 0 && place->life != life && (life != 0 || is_gone);
    if (is_other || is_gone || result == MCDS_LOST)
        forget_ranks(place);
    place->reborn = place->reborn || is_other || result == MCDS_LOST;
    if (life != 0 && life != place->life && members->settings != NULL &&
        known.hash_key[0] != members->settings->hash_key[0])
        mcds__settings_forget(members->settings);
    if (life != 0)
        place->life = life;
    bool reborn = place->reborn;
    (void)pthread_mutex_unlock(&members->mutex);
    return reborn;
}

void mcds__members_forget(struct mcds__members *members, struct mcds__members_place *place)
{
    (void)pthread_mutex_lock(&members->mutex);
    forget_ranks(place);
    place->life = 0;
    place->reborn = false;
    (void)pthread_mutex_unlock(&members->mutex);
}

void mcds__members_hit_begin(struct mcds__members_hit *hit, struct mcds__members *members,
                             uint64_t tally, const char *visitor)
{
    size_t length = strlen(visitor);
    hit->members = members;
    hit->place = NULL;
    hit->tally = tally;
    hit->stage = BEGIN;
    assert(length < sizeof hit->element);
    memcpy(hit->element, visitor, length + 1);
}

void mcds__members_hit_end(struct mcds__members_hit *hit)
{
    if (hit->place == NULL)
        return;
    mcds__map_update_free(&hit->change);
    mcds__members_give(hit->members, hit->place);
    hit->place = NULL;
}

static void choose_register(struct mcds__members_hit *hit, const uint64_t hash_key[2])
{
    hit->index = mcds__hll_register(mcds__siphash(hash_key, mcds_text(hit->element)),
                                    &hit->rank);
}

/* The record has the register of its life. */
static void fit_register(void *context, const uint64_t hash_key[2])
{
    struct mcds__members_hit *hit = context;
    uint8_t index[MCDS__HLL_INDEX_LENGTH];
    choose_register(hit, hash_key);
    mcds__hll_encode_index(hit->index, index);
    mcds__map_update_rewrite(&hit->change, (mcds_bytes){index, sizeof index},
                             (mcds_bytes){&hit->rank, 1});
}

/* False: no memory. */
static bool begin_change(struct mcds__members_hit *hit)
{
    static const uint8_t none[MCDS__HLL_INDEX_LENGTH];
    bool is_estimated = hit->members->kind->estimated;
    struct mcds__map_command command = {.verb = MCDS__MAP_PUT_NEW,
                                        .element = mcds_text(hit->element)};
    if (is_estimated)
        command = (struct mcds__map_command){
            .verb = MCDS__MAP_RAISE, .element = {none, sizeof none}, .value = {none, 1}};
    if (!mcds__map_update_begin(&hit->change, &hit->place->map, &command))
        return false;
    hit->change.wants_code = true;
    hit->change.place.fit = is_estimated ? fit_register : NULL;
    hit->change.place.context = hit;
    return true;
}

/* The ranks are those of the life of the interval, unless the store has just lost it. */
static bool is_known(struct mcds__members_hit *hit, const struct mcds__operation *operation)
{
    const struct mcds__map *map = &hit->place->map;
    struct mcds__map_life life = mcds__map_life(map);
    const _Atomic uint8_t *ranks = hit->place->ranks;
    int64_t since_ns = mcds__operation_now_ns(operation) - atomic_load(&map->seen_ns);
    if (ranks == NULL || mcds__map_is_doubtful(map, life.number) ||
        hit->place->life != life.number || since_ns >= KNOWN_NS)
        return false;
    choose_register(hit, life.hash_key);
    assert(hit->index < MCDS__HLL_REGISTERS && hit->rank >= 1);
    return atomic_load_explicit(&ranks[hit->index], memory_order_relaxed) >= hit->rank;
}

static void note_rank(struct mcds__members_hit *hit)
{
    _Atomic uint8_t *ranks = hit->place->ranks;
    (void)pthread_mutex_lock(&hit->members->mutex);
    if (ranks != NULL && hit->place->life == hit->change.life.number &&
        ranks[hit->index] < hit->rank)
        atomic_store_explicit(&ranks[hit->index], hit->rank, memory_order_relaxed);
    (void)pthread_mutex_unlock(&hit->members->mutex);
}

static enum mcds__step take_change(struct mcds__members_hit *hit,
                                   struct mcds__operation *operation)
{
    assert(hit->stage == CHANGE);
    (void)mcds__members_note_end(hit->members, hit->place, operation->result);
    if (operation->result != MCDS_OK)
        return MCDS__DONE;
    note_rank(hit);
    bool changed = hit->change.code == MCDS__MAP_CHANGED;
    return mcds__operation_finish(operation, changed ? MCDS_OK : MCDS_EXISTS);
}

static enum mcds__step members_begin(struct mcds__members_hit *hit,
                                     struct mcds__operation *operation)
{
    assert(hit->place == NULL);
    struct mcds__members_place *place = mcds__members_take(hit->members, hit->tally);
    if (place == NULL && mcds__operation_wait(operation, 0))
        return MCDS__SLEEP;
    if (place == NULL)
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(TOO_MANY_INTERVALS));
    hit->place = place;
    if (is_known(hit, operation)) {
        mcds__members_give(hit->members, place);
        hit->place = NULL;
        return mcds__operation_finish(operation, MCDS_EXISTS);
    }
    if (!begin_change(hit)) {
        mcds__members_give(hit->members, place);
        hit->place = NULL;
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    }
    hit->stage = CHANGE;
    return mcds__map_update_step(&hit->change, operation);
}

enum mcds__step mcds__members_hit_step(struct mcds__members_hit *hit,
                                       struct mcds__operation *operation)
{
    assert(hit->stage <= CHANGE);
    enum mcds__step step = hit->stage == BEGIN ? members_begin(hit, operation)
                                               : mcds__map_update_step(&hit->change, operation);
    if (step != MCDS__DONE || hit->place == NULL)
        return step;
    return take_change(hit, operation);
}
