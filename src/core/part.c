/* Core part: what a handle knows of the families it writes to, and the names of their keys. */
#include "core/part.h"

#include <stdatomic.h>

#include "base/environment.h"

/* What a handle has not heard of for so long, it asks for again. */
#define TRUST_NS (600 * NS_PER_S)
/* Parts below another that are looked at at once. */
#define SETTLE_MAX (2 * MCDS__PART_AHEAD)
/* A birth: 22 bits of seconds, 10 of chance that are neither all 0 nor all 1. */
#define CHANCE_BITS 10
#define CHANCES 1022

void mcds__parts_init(struct mcds__parts *parts, mcds_store *store,
                      const struct mcds__key *root, const struct mcds__key *descriptor)
{
    parts->store = store;
    parts->env = mcds__store_env(store);
    parts->root = *root;
    parts->descriptor = descriptor;
    parts->one_route = descriptor == NULL;
    parts->writer = mcds__random_u64(parts->env);
    (void)pthread_mutex_init(&parts->mutex, NULL);
    parts->next_ticket = 0;
    parts->takings = 0;
    for (uint32_t i = 0; i < MCDS__PART_TAILS; i++)
        parts->tails[i] = (struct mcds__part_tail){.in_use = false};
    for (uint32_t i = 0; i < MCDS__PART_SIGHTS; i++)
        parts->sights[i] = (struct mcds__part_sight){.birth = 0};
    for (uint32_t i = 0; i < MCDS__PART_PROOFS; i++)
        atomic_init(&parts->proofs[i], 0);
}

void mcds__parts_destroy(struct mcds__parts *parts)
{
    (void)pthread_mutex_destroy(&parts->mutex);
}

mcds_bytes mcds__part_count_key(const struct mcds__parts *parts, uint64_t family,
                                struct mcds__key *key_out)
{
    *key_out = parts->root;
    if (!parts->one_route)
        mcds__key_add_number(key_out, family >> MCDS__PART_CHUNK_BITS);
    mcds__key_add_number(key_out, parts->one_route ? family : family & MCDS__PART_CHUNK_MASK);
    return (mcds_bytes){key_out->bytes,
                        parts->one_route ? parts->root.length : key_out->length};
}

mcds_bytes mcds__part_key(const struct mcds__parts *parts, uint64_t family, uint64_t part,
                          struct mcds__key *key_out)
{
    mcds_bytes route = mcds__part_count_key(parts, family, key_out);
    mcds__key_add_number(key_out, part);
    return route;
}

mcds_bytes mcds__part_piece_key(const struct mcds__parts *parts, uint64_t family,
                                uint64_t writer, uint32_t seq, uint32_t piece,
                                struct mcds__key *key_out)
{
    mcds_bytes route = mcds__part_count_key(parts, family, key_out);
    mcds__key_add_hex(key_out, writer, 16);
    mcds__key_add_number(key_out, seq);
    mcds__key_add_number(key_out, piece);
    return route;
}

void mcds__part_take_id(struct mcds__parts *parts, uint64_t *writer_out, uint32_t *seq_out)
{
    (void)pthread_mutex_lock(&parts->mutex);
    uint64_t ticket = parts->next_ticket++;
    (void)pthread_mutex_unlock(&parts->mutex);
    *writer_out = parts->writer + (ticket >> 32);
    *seq_out = (uint32_t)ticket;
}

static uint32_t draw_birth(const mcds_env *env)
{
    uint32_t seconds = (uint32_t)(mcds__wall_ms(env) / MS_PER_S);
    return seconds << CHANCE_BITS | (1 + (uint32_t)(mcds__random_u64(env) % CHANCES));
}

static struct mcds__part_tail *find(struct mcds__parts *parts, uint64_t family)
{
    for (uint32_t i = 0; i < MCDS__PART_TAILS; i++)
        if (parts->tails[i].in_use && parts->tails[i].family == family)
            return &parts->tails[i];
    return NULL;
}

/* The family's place in the table; the one not used for the longest time makes room for it. */
static struct mcds__part_tail *find_or_make(struct mcds__parts *parts, uint64_t family)
{
    struct mcds__part_tail *tail = find(parts, family);
    if (tail != NULL)
        return tail;
    tail = parts->tails;
    for (uint32_t i = 1; i < MCDS__PART_TAILS && tail->in_use; i++)
        if (!parts->tails[i].in_use || parts->tails[i].used < tail->used)
            tail = &parts->tails[i];
    *tail = (struct mcds__part_tail){
        .in_use = true,
        .family = family,
        .size = MCDS__PART_OPENING_LENGTH,
        .proposal = draw_birth(parts->env),
    };
    return tail;
}

/* On to a part that has not been seen. */
static void advance(const mcds_env *env, struct mcds__part_tail *tail, uint64_t part)
{
    tail->before = part == tail->part + 1 ? tail->birth : 0;
    tail->part = part;
    tail->exists = false;
    tail->birth = 0;
    tail->proposal = draw_birth(env);
    tail->size = MCDS__PART_OPENING_LENGTH;
    tail->in_flight = 0;
    tail->is_counted = false;
}

bool mcds__part_take_place(struct mcds__parts *parts, uint64_t family, size_t length,
                           int64_t now_ns, struct mcds__part_place *place_out)
{
    (void)pthread_mutex_lock(&parts->mutex);
    struct mcds__part_tail *tail = find_or_make(parts, family);
    bool known = tail->known && now_ns - tail->known_ns < TRUST_NS;
    if (known) {
        tail->used = ++parts->takings;
        *place_out = (struct mcds__part_place){
            .part = tail->part,
            .makes = !tail->exists,
            .counts = tail->part > 0 && !tail->is_counted,
            .birth = tail->proposal,
            .before = tail->before,
            .settles = tail->is_blocked || tail->part > tail->settled + MCDS__PART_AHEAD,
        };
    }
    if (known && !place_out->settles) {
        tail->is_counted = true;
        tail->in_flight += length;
        if (tail->size + tail->in_flight > MCDS__PART_LIMIT &&
            tail->part < tail->settled + MCDS__PART_AHEAD)
            advance(parts->env, tail, tail->part + 1);
    }
    (void)pthread_mutex_unlock(&parts->mutex);
    return known;
}

void mcds__part_give_place(struct mcds__parts *parts, uint64_t family, uint64_t part,
                           size_t length)
{
    (void)pthread_mutex_lock(&parts->mutex);
    struct mcds__part_tail *tail = find(parts, family);
    if (tail != NULL && tail->part == part)
        tail->in_flight -= length < tail->in_flight ? length : tail->in_flight;
    (void)pthread_mutex_unlock(&parts->mutex);
}

/* Called with the mutex held. */
static void note_closed(const mcds_env *env, struct mcds__part_tail *tail, uint64_t part)
{
    if (part >= tail->settled && part < tail->settled + 8)
        tail->closed |= (uint8_t)(1u << (part - tail->settled));
    while ((tail->closed & 1) != 0) {
        tail->closed >>= 1;
        tail->settled++;
    }
    if (part >= tail->part)
        advance(env, tail, part + 1);
}

void mcds__part_note_closed(struct mcds__parts *parts, uint64_t family, uint64_t part)
{
    (void)pthread_mutex_lock(&parts->mutex);
    struct mcds__part_tail *tail = find(parts, family);
    if (tail != NULL)
        note_closed(parts->env, tail, part);
    (void)pthread_mutex_unlock(&parts->mutex);
}

static struct mcds__part_sight *sight_place(struct mcds__parts *parts, uint64_t family)
{
    return &parts->sights[family % MCDS__PART_SIGHTS];
}

bool mcds__part_note_seen(struct mcds__parts *parts, uint64_t family, uint64_t part,
                          size_t size, uint32_t birth, int64_t now_ns)
{
    bool reborn = false;
    (void)pthread_mutex_lock(&parts->mutex);
    struct mcds__part_tail *tail = find(parts, family);
    if (part == 0)
        *sight_place(parts, family) = (struct mcds__part_sight){family, birth};
    if (tail != NULL) {
        tail->known_ns = now_ns;
        if (tail->part == part) {
            reborn = tail->birth != 0 && tail->birth != birth;
            tail->exists = true;
            tail->birth = birth;
            if (reborn || size > tail->size)
                tail->size = size;
        } else if (tail->part == part + 1 && tail->before == 0) {
            tail->before = birth;
        }
        if (mcds__part_is_closed(size, birth))
            note_closed(parts->env, tail, part);
    }
    (void)pthread_mutex_unlock(&parts->mutex);
    return reborn;
}

uint32_t mcds__part_sight_of(struct mcds__parts *parts, uint64_t family)
{
    (void)pthread_mutex_lock(&parts->mutex);
    const struct mcds__part_sight *sight = sight_place(parts, family);
    uint32_t birth = sight->family == family ? sight->birth : 0;
    (void)pthread_mutex_unlock(&parts->mutex);
    return birth;
}

void mcds__part_note_sight(struct mcds__parts *parts, uint64_t family, uint32_t birth)
{
    (void)pthread_mutex_lock(&parts->mutex);
    struct mcds__part_sight *sight = sight_place(parts, family);
    if (sight->birth == 0 || sight->family != family)
        *sight = (struct mcds__part_sight){family, birth};
    (void)pthread_mutex_unlock(&parts->mutex);
}

bool mcds__part_note_missing(struct mcds__parts *parts, uint64_t family, uint64_t part)
{
    bool existed = false;
    (void)pthread_mutex_lock(&parts->mutex);
    struct mcds__part_tail *tail = find(parts, family);
    if (tail != NULL && tail->known) {
        existed = part < tail->part || (part == tail->part && tail->exists);
        if (existed)
            tail->known = false;
    }
    (void)pthread_mutex_unlock(&parts->mutex);
    return existed;
}

bool mcds__part_is_settled(struct mcds__parts *parts, uint64_t family, uint64_t part,
                           uint64_t *first_out)
{
    (void)pthread_mutex_lock(&parts->mutex);
    const struct mcds__part_tail *tail = find(parts, family);
    uint64_t most = tail != NULL ? SETTLE_MAX : MCDS__PART_AHEAD;
    *first_out = part > most ? part - most : 0;
    if (tail != NULL && tail->settled > *first_out)
        *first_out = tail->settled;
    (void)pthread_mutex_unlock(&parts->mutex);
    return *first_out >= part;
}

void mcds__part_note_blocked(struct mcds__parts *parts, uint64_t family)
{
    (void)pthread_mutex_lock(&parts->mutex);
    struct mcds__part_tail *tail = find(parts, family);
    if (tail != NULL) {
        tail->is_blocked = true;
        tail->known = false;
    }
    (void)pthread_mutex_unlock(&parts->mutex);
}

void mcds__part_note_settled(struct mcds__parts *parts, uint64_t family, uint64_t part)
{
    (void)pthread_mutex_lock(&parts->mutex);
    struct mcds__part_tail *tail = find(parts, family);
    if (tail != NULL) {
        tail->is_blocked = false;
        if (tail->settled < part) {
            tail->settled = part;
            tail->closed = 0;
        }
    }
    (void)pthread_mutex_unlock(&parts->mutex);
}

void mcds__part_note_tail(struct mcds__parts *parts, const struct mcds__part_tail *found)
{
    (void)pthread_mutex_lock(&parts->mutex);
    struct mcds__part_tail *tail = find_or_make(parts, found->family);
    /* Another operation of this handle may have gone further meanwhile. */
    if (!tail->known || found->part > tail->part) {
        advance(parts->env, tail, found->part);
        tail->known = true;
        tail->exists = found->exists;
        tail->birth = found->birth;
        tail->before = found->before;
        tail->is_counted = found->is_counted;
        tail->settled = found->settled;
        tail->closed = 0;
        if (found->exists)
            tail->size = found->size;
    }
    tail->known_ns = mcds__monotonic_ns(parts->env);
    (void)pthread_mutex_unlock(&parts->mutex);
}

void mcds__part_forget(struct mcds__parts *parts, uint64_t family)
{
    (void)pthread_mutex_lock(&parts->mutex);
    struct mcds__part_tail *tail = find(parts, family);
    if (tail != NULL)
        tail->in_use = false;
    (void)pthread_mutex_unlock(&parts->mutex);
}

void mcds__part_forget_all(struct mcds__parts *parts)
{
    (void)pthread_mutex_lock(&parts->mutex);
    for (uint32_t i = 0; i < MCDS__PART_TAILS; i++)
        parts->tails[i].in_use = false;
    for (uint32_t i = 0; i < MCDS__PART_SIGHTS; i++)
        parts->sights[i].birth = 0;
    (void)pthread_mutex_unlock(&parts->mutex);
}

struct mcds__part_room *mcds__part_get_room(struct mcds__part_room **room, const mcds_env *env)
{
    if (*room == NULL)
        *room = mcds__allocate(env, sizeof **room);
    return *room;
}

void mcds__part_fill_get(const struct mcds__parts *parts, uint64_t family,
                         struct mcds__part_room *room, uint32_t i, uint64_t part,
                         uint32_t options)
{
    room->positions[i] = part;
    mcds_bytes route = mcds__part_key(parts, family, part, &room->keys[i]);
    room->requests[i] = (mcds_request){
        .command = MCDS_GET,
        .options = options,
        .key = mcds__key_bytes(&room->keys[i]),
        .route = route,
    };
}

void mcds__part_fill_close(const struct mcds__parts *parts, uint64_t family,
                           struct mcds__part_room *room, uint32_t i, uint64_t part, size_t size)
{
    static const uint8_t zeros[MCDS__PART_LIMIT + 1];
    mcds__part_fill_get(parts, family, room, i, part, 0);
    room->requests[i].command = MCDS_APPEND;
    room->requests[i].value = (mcds_bytes){
        zeros, size <= MCDS__PART_LIMIT ? MCDS__PART_LIMIT + 1 - size : 1};
}

uint32_t mcds__part_fill_far(const struct mcds__parts *parts, uint64_t family,
                             struct mcds__part_room *room, uint32_t first, uint64_t from)
{
    uint32_t count = first;
    for (unsigned bit = 1; bit <= MCDS__PART_FAR; bit++)
        mcds__part_fill_get(parts, family, room, count++, from + (UINT64_C(1) << bit),
                            MCDS_NO_VALUE);
    return count;
}
