/* Core members: what a handle remembers of the intervals, and a member that comes. */
#include "core/members.h"

#include <stdatomic.h>
#include <string.h>

#include "base/environment.h"
#include "base/hash.h"

#define REGISTER_SEED 12

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

struct mcds__members *mcds__members_open(mcds_store *store, const struct mcds__key *roots,
                                         bool estimated, uint64_t ttl_ms)
{
    const mcds_env *env = mcds__store_env(store);
    struct mcds__members *members = mcds__allocate_zero(env, sizeof *members);
    if (members == NULL)
        return NULL;
    members->store = store;
    members->estimated = estimated;
    members->ttl_ms = ttl_ms;
    members->roots = *roots;
    if (pthread_mutex_init(&members->mutex, NULL) == 0)
        return members;
    mcds__free(env, members);
    return NULL;
}

static void close_place(struct mcds__members *members, struct mcds__members_place *place)
{
    if (!place->is_open)
        return;
    mcds__fold_destroy(&place->fold);
    mcds__free(mcds__store_env(members->store), place->ranks);
    place->ranks = NULL;
    place->is_open = false;
}

void mcds__members_close(struct mcds__members *members)
{
    if (members == NULL)
        return;
    const mcds_env *env = mcds__store_env(members->store);
    for (int i = 0; i < MCDS__MEMBERS_PLACES; i++)
        close_place(members, &members->places[i]);
    (void)pthread_mutex_destroy(&members->mutex);
    mcds__free(env, members);
}

static void open_place(struct mcds__members *members, struct mcds__members_place *place,
                       uint64_t slot)
{
    struct mcds__key root = members->roots;
    mcds__key_add_number(&root, slot);
    close_place(members, place);
    mcds__fold_init(&place->fold, members->store, &root, MCDS__KIND_MEMBERS, members->estimated,
                    forms, members->ttl_ms);
    /* Without memory for what is known of the registers, each member is asked for. */
    if (members->estimated)
        place->ranks = mcds__allocate_zero(mcds__store_env(members->store),
                                           MCDS__HLL_REGISTERS);
    place->slot = slot;
    place->seen = false;
    place->is_open = true;
}

struct mcds__members_place *mcds__members_take(struct mcds__members *members, uint64_t slot)
{
    struct mcds__members_place *free_place = NULL;
    struct mcds__members_place *found = NULL;
    (void)pthread_mutex_lock(&members->mutex);
    for (int i = 0; i < MCDS__MEMBERS_PLACES && found == NULL; i++) {
        struct mcds__members_place *place = &members->places[i];
        if (place->is_open && place->slot == slot)
            found = place;
        else if (place->users == 0 && (free_place == NULL || place->slot < free_place->slot))
            free_place = place;
    }
    if (found == NULL && free_place != NULL) {
        open_place(members, free_place, slot);
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
    place->users--;
    (void)pthread_mutex_unlock(&members->mutex);
}

void mcds__members_visit_begin(struct mcds__members_visit *visit, struct mcds__members *members,
                               uint64_t slot, const char *visitor)
{
    size_t length = strlen(visitor);
    visit->members = members;
    visit->place = NULL;
    visit->slot = slot;
    visit->stage = BEGIN;
    visit->index = mcds__hll_register(mcds__hash(REGISTER_SEED, (mcds_bytes){visitor, length}),
                                      &visit->rank);
    memcpy(visit->element, visitor, length + 1);
}

void mcds__members_visit_end(struct mcds__members_visit *visit)
{
    if (visit->place == NULL)
        return;
    mcds__fold_change_free(&visit->change);
    mcds__members_give(visit->members, visit->place);
    visit->place = NULL;
}

/* False: no memory. */
static bool begin_change(struct mcds__members_visit *visit)
{
    uint8_t index[MCDS__HLL_INDEX_LENGTH];
    struct mcds__fold_command command = {.verb = MCDS__FOLD_PUT_NEW,
                                         .element = mcds_text(visit->element)};
    mcds__hll_encode_index(visit->index, index);
    if (visit->members->estimated)
        command = (struct mcds__fold_command){.verb = MCDS__FOLD_RAISE,
                                              .element = {index, sizeof index},
                                              .value = {&visit->rank, 1}};
    if (!mcds__fold_change_begin(&visit->change, &visit->place->fold, &command))
        return false;
    visit->change.wants_code = true;
    return true;
}

static bool is_known(const struct mcds__members_visit *visit)
{
    const _Atomic uint8_t *ranks = visit->place->ranks;
    return ranks != NULL &&
           atomic_load_explicit(&ranks[visit->index], memory_order_relaxed) >= visit->rank;
}

static void note_rank(struct mcds__members_visit *visit)
{
    _Atomic uint8_t *ranks = visit->place->ranks;
    if (ranks == NULL)
        return;
    uint8_t known = atomic_load_explicit(&ranks[visit->index], memory_order_relaxed);
    while (known < visit->rank &&
           !atomic_compare_exchange_weak(&ranks[visit->index], &known, visit->rank)) {
        /* another has raised it meanwhile; `known` is what it is by now */
    }
}

static enum mcds__step take_change(struct mcds__members_visit *visit,
                                   struct mcds__operation *operation)
{
    if (operation->result != MCDS_OK)
        return MCDS__DONE;
    note_rank(visit);
    bool changed = visit->change.code == MCDS__FOLD_CHANGED;
    return mcds__operation_finish(operation, changed ? MCDS_OK : MCDS_EXISTS);
}

static enum mcds__step begin(struct mcds__members_visit *visit,
                             struct mcds__operation *operation)
{
    struct mcds__members_place *place = mcds__members_take(visit->members, visit->slot);
    if (place == NULL && mcds__operation_wait(operation, 0))
        return MCDS__SLEEP;
    if (place == NULL)
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(TOO_MANY_INTERVALS));
    visit->place = place;
    if (is_known(visit)) {
        mcds__members_give(visit->members, place);
        visit->place = NULL;
        return mcds__operation_finish(operation, MCDS_EXISTS);
    }
    if (!begin_change(visit)) {
        mcds__members_give(visit->members, place);
        visit->place = NULL;
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    }
    visit->stage = CHANGE;
    return mcds__fold_change_step(&visit->change, operation);
}

enum mcds__step mcds__members_visit_step(struct mcds__members_visit *visit,
                                         struct mcds__operation *operation)
{
    enum mcds__step step = visit->stage == BEGIN
                               ? begin(visit, operation)
                               : mcds__fold_change_step(&visit->change, operation);
    if (step != MCDS__DONE || visit->place == NULL)
        return step;
    return take_change(visit, operation);
}
