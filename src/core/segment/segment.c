/* Segment: the state of the streams that a handle writes to, and the names of their keys. */
#include "core/segment/segment.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/environment.h"
#include "core/segment/record.h"

/* State older than this is read again. */
#define TRUST_NS (600 * NS_PER_S)
/* Segments below another that are read at once. */
#define SETTLE_MAX (2 * MCDS__SEGMENT_AHEAD)
/* An incarnation: 22 bits of seconds, and 10 random bits that are neither all 0 nor all 1. */
#define CHANCE_BITS 10
#define CHANCES 1022

void mcds__segments_init(struct mcds__segments *segments, mcds_store *store,
                         const struct mcds__key *root, const struct mcds__key *descriptor,
                         bool one_route)
{
    segments->store = store;
    segments->env = mcds__store_env(store);
    segments->root = *root;
    segments->descriptor = descriptor;
    segments->one_route = one_route;
    segments->writer = mcds__random_u64(segments->env);
    (void)pthread_mutex_init(&segments->mutex, NULL);
    atomic_init(&segments->next_ticket, 0);
    segments->takings = 0;
    for (uint32_t i = 0; i < MCDS__SEGMENT_TAILS; i++)
        segments->tails[i] = (struct mcds__segment_tail){.in_use = false};
    for (uint32_t i = 0; i < MCDS__SEGMENT_SIGHTS; i++)
        segments->sights[i] = (struct mcds__segment_sight){.incarnation = 0};
}

void mcds__segments_destroy(struct mcds__segments *segments)
{
    (void)pthread_mutex_destroy(&segments->mutex);
}

mcds_bytes mcds__segment_count_key(const struct mcds__segments *segments, uint64_t stream,
                                   struct mcds__key *key_out)
{
    *key_out = segments->root;
    if (!segments->one_route)
        mcds__key_add_number(key_out, stream >> MCDS__SEGMENT_CHUNK_BITS);
    mcds__key_add_number(key_out,
                         segments->one_route ? stream : stream & MCDS__SEGMENT_CHUNK_MASK);
    return (mcds_bytes){key_out->bytes,
                        segments->one_route ? segments->root.length : key_out->length};
}

mcds_bytes mcds__segment_key(const struct mcds__segments *segments, uint64_t stream,
                             uint64_t segment, struct mcds__key *key_out)
{
    mcds_bytes route = mcds__segment_count_key(segments, stream, key_out);
    mcds__key_add_number(key_out, segment);
    assert(route.data == key_out->bytes && route.length < key_out->length);
    return route;
}

mcds_bytes mcds__segment_block_key(const struct mcds__segments *segments, uint64_t stream,
                                   uint64_t writer, uint32_t seq, uint32_t block,
                                   struct mcds__key *key_out)
{
    mcds_bytes route = mcds__segment_count_key(segments, stream, key_out);
    mcds__key_add_hex(key_out, writer, 16);
    mcds__key_add_number(key_out, seq);
    mcds__key_add_number(key_out, block);
    assert(route.data == key_out->bytes && route.length < key_out->length);
    return route;
}

void mcds__segment_take_id(struct mcds__segments *segments, uint64_t *writer_out,
                           uint32_t *seq_out)
{
    uint64_t ticket = atomic_fetch_add_explicit(&segments->next_ticket, 1,
                                                memory_order_relaxed);
    *writer_out = segments->writer + (ticket >> 32);
    *seq_out = (uint32_t)ticket;
}

static uint32_t draw_incarnation(const mcds_env *env)
{
    uint32_t seconds = (uint32_t)(mcds__wall_ms(env) / MS_PER_S);
    return seconds << CHANCE_BITS | (1 + (uint32_t)(mcds__random_u64(env) % CHANCES));
}

static struct mcds__segment_tail *segment_find(struct mcds__segments *segments, uint64_t stream)
{
    for (uint32_t i = 0; i < MCDS__SEGMENT_TAILS; i++)
        if (segments->tails[i].in_use && segments->tails[i].stream == stream)
            return &segments->tails[i];
    return NULL;
}

/* The stream's entry in the table; it replaces the least recently used one if necessary. */
static struct mcds__segment_tail *find_or_make(struct mcds__segments *segments, uint64_t stream)
{
    struct mcds__segment_tail *tail = segment_find(segments, stream);
    if (tail != NULL)
        return tail;
    tail = segments->tails;
    for (uint32_t i = 1; i < MCDS__SEGMENT_TAILS && tail->in_use; i++)
        if (!segments->tails[i].in_use || segments->tails[i].used < tail->used)
            tail = &segments->tails[i];
    *tail = (struct mcds__segment_tail){
        .in_use = true,
        .stream = stream,
        .size = MCDS__SEGMENT_HEADER_LENGTH,
    };
    return tail;
}

/* Advance to a segment that has not been seen. */
static void segment_advance(struct mcds__segment_tail *tail, uint64_t segment)
{
    assert(!tail->known || segment > tail->segment);
    tail->before = segment == tail->segment + 1 ? tail->incarnation : 0;
    tail->segment = segment;
    tail->exists = false;
    tail->incarnation = 0;
    tail->size = MCDS__SEGMENT_HEADER_LENGTH;
    tail->in_flight = 0;
    tail->is_counting = false;
}

/* Many records in a row go into one segment, so its key is formatted once. */
static void copy_segment_key(const struct mcds__segments *segments,
                             struct mcds__segment_tail *tail, struct mcds__segment_place *place)
{
    if (tail->keyed != tail->segment + 1) {
        tail->route_length =
            mcds__segment_key(segments, tail->stream, tail->segment, &tail->key).length;
        tail->key_sum = mcds__segment_key_sum(mcds__key_bytes(&tail->key));
        tail->keyed = tail->segment + 1;
    }
    assert(tail->route_length > 0 && tail->route_length < tail->key.length);
    memcpy(place->key->bytes, tail->key.bytes, tail->key.length + 1u);
    place->key->length = tail->key.length;
    place->route_length = tail->route_length;
    place->key_sum = tail->key_sum;
}

static struct mcds__segment_sight *sight_place(struct mcds__segments *segments, uint64_t stream)
{
    return &segments->sights[stream % MCDS__SEGMENT_SIGHTS];
}

/* As sight_place; the sight of another stream in this place is forgotten. Called with the mutex
 * held. */
static struct mcds__segment_sight *take_sight(struct mcds__segments *segments, uint64_t stream)
{
    struct mcds__segment_sight *sight = sight_place(segments, stream);
    if (sight->stream != stream)
        *sight = (struct mcds__segment_sight){.stream = stream};
    return sight;
}

/* A segment that the count includes was made before. If it is missing, it is lost, and is not made
 * again. */
bool mcds__segment_take_place(struct mcds__segments *segments, uint64_t stream, size_t length,
                              uint64_t round, int64_t now_ns,
                              struct mcds__segment_place *place_out)
{
    (void)pthread_mutex_lock(&segments->mutex);
    struct mcds__segment_tail *tail = find_or_make(segments, stream);
    bool known = tail->known && now_ns - tail->known_ns < TRUST_NS;
    bool makes = !tail->exists && tail->counted <= tail->segment;
    bool may_take = known && (!makes || place_out->makes);
    place_out->is_taken = false;
    if (may_take) {
        tail->used = ++segments->takings;
        *place_out = (struct mcds__segment_place){
            .segment = tail->segment,
            .makes = makes,
            .is_taken = true,
            .counts = tail->segment > 0 && tail->counted <= tail->segment && !tail->is_counting,
            .reads = (tail->segment > 0 || tail->size > MCDS__SEGMENT_LIMIT / 2) &&
                     (round == 0 || tail->reading != round),
            .incarnation = makes ? draw_incarnation(segments->env) : 0,
            .before = tail->before,
            .token = tail->token,
            .settles = tail->is_blocked || tail->segment > tail->settled + MCDS__SEGMENT_AHEAD,
            .owes_loss = segments->one_route && take_sight(segments, stream)->owes_loss,
            .key = place_out->key,
        };
    }
    if (may_take && !place_out->settles) {
        copy_segment_key(segments, tail, place_out);
        tail->is_counting = tail->is_counting || place_out->counts;
        tail->reading = place_out->reads ? round : tail->reading;
        tail->in_flight += length;
        if (tail->size + tail->in_flight > MCDS__SEGMENT_LIMIT &&
            tail->segment < tail->settled + MCDS__SEGMENT_AHEAD)
            segment_advance(tail, tail->segment + 1);
        assert(tail->segment <= tail->settled + MCDS__SEGMENT_AHEAD);
    }
    (void)pthread_mutex_unlock(&segments->mutex);
    return known;
}

/* Called with the mutex held. */
static void give_place(struct mcds__segment_tail *tail, uint64_t segment, size_t length)
{
    if (tail != NULL && tail->segment == segment)
        tail->in_flight -= length < tail->in_flight ? length : tail->in_flight;
}

void mcds__segment_give_place(struct mcds__segments *segments, uint64_t stream,
                              uint64_t segment, size_t length)
{
    (void)pthread_mutex_lock(&segments->mutex);
    give_place(segment_find(segments, stream), segment, length);
    (void)pthread_mutex_unlock(&segments->mutex);
}

/* Called with the mutex held. */
static void note_closed(struct mcds__segment_tail *tail, uint64_t segment)
{
    if (segment >= tail->settled && segment < tail->settled + 8)
        tail->closed |= (uint8_t)(1u << (segment - tail->settled));
    while ((tail->closed & 1) != 0) {
        tail->closed >>= 1;
        tail->settled++;
    }
    if (segment >= tail->segment)
        segment_advance(tail, segment + 1);
    assert(tail->segment > segment);
}

void mcds__segment_note_closed(struct mcds__segments *segments, uint64_t stream,
                               uint64_t segment)
{
    (void)pthread_mutex_lock(&segments->mutex);
    struct mcds__segment_tail *tail = segment_find(segments, stream);
    if (tail != NULL)
        note_closed(tail, segment);
    (void)pthread_mutex_unlock(&segments->mutex);
}

/* Called with the mutex held. */
static void note_made(struct mcds__segments *segments, uint64_t stream, uint64_t segment,
                      uint32_t incarnation)
{
    struct mcds__segment_sight *sight = take_sight(segments, stream);
    if (incarnation == MCDS__SEGMENT_END || segment < sight->made)
        return;
    sight->made = segment + 1;
    sight->last = incarnation;
}

void mcds__segment_note_made(struct mcds__segments *segments, uint64_t stream, uint64_t segment,
                             uint32_t incarnation)
{
    (void)pthread_mutex_lock(&segments->mutex);
    note_made(segments, stream, segment, incarnation);
    (void)pthread_mutex_unlock(&segments->mutex);
}

struct mcds__segment_sight mcds__segment_sight_copy(struct mcds__segments *segments,
                                                    uint64_t stream)
{
    (void)pthread_mutex_lock(&segments->mutex);
    struct mcds__segment_sight sight = *sight_place(segments, stream);
    (void)pthread_mutex_unlock(&segments->mutex);
    return sight.stream == stream ? sight : (struct mcds__segment_sight){.stream = stream};
}

void mcds__segment_note_sight(struct mcds__segments *segments, uint64_t stream,
                              uint32_t incarnation)
{
    (void)pthread_mutex_lock(&segments->mutex);
    struct mcds__segment_sight *sight = take_sight(segments, stream);
    if (sight->incarnation == 0)
        sight->incarnation = incarnation;
    note_made(segments, stream, 0, incarnation);
    (void)pthread_mutex_unlock(&segments->mutex);
}

void mcds__segment_note_recorded(struct mcds__segments *segments, uint64_t stream)
{
    (void)pthread_mutex_lock(&segments->mutex);
    take_sight(segments, stream)->owes_loss = false;
    (void)pthread_mutex_unlock(&segments->mutex);
}

bool mcds__segment_note_missing(struct mcds__segments *segments, uint64_t stream,
                                uint64_t segment)
{
    bool existed = false;
    (void)pthread_mutex_lock(&segments->mutex);
    struct mcds__segment_tail *tail = segment_find(segments, stream);
    if (tail != NULL && tail->known) {
        assert(tail->in_use);
        existed = segment < tail->segment ||
                  (segment == tail->segment && (tail->exists || tail->counted > segment));
        if (existed)
            tail->known = false;
    }
    (void)pthread_mutex_unlock(&segments->mutex);
    return existed;
}

/* The first segment below this one that may be open. Called with the mutex held. */
static uint64_t first_unsettled(const struct mcds__segment_tail *tail, uint64_t segment)
{
    uint64_t most = tail != NULL ? SETTLE_MAX : MCDS__SEGMENT_AHEAD;
    uint64_t first = segment > most ? segment - most : 0;
    return tail != NULL && tail->settled > first ? tail->settled : first;
}

bool mcds__segment_is_settled(struct mcds__segments *segments, uint64_t stream,
                              uint64_t segment, uint64_t *first_out)
{
    (void)pthread_mutex_lock(&segments->mutex);
    *first_out = first_unsettled(segment_find(segments, stream), segment);
    (void)pthread_mutex_unlock(&segments->mutex);
    return *first_out >= segment;
}

/* Called with the mutex held. */
static bool is_counted(const struct mcds__segment_tail *tail, uint64_t segment)
{
    return segment == 0 || (tail != NULL && tail->counted > segment);
}

bool mcds__segment_is_counted(struct mcds__segments *segments, uint64_t stream,
                              uint64_t segment)
{
    (void)pthread_mutex_lock(&segments->mutex);
    bool result = is_counted(segment_find(segments, stream), segment);
    (void)pthread_mutex_unlock(&segments->mutex);
    return result;
}

/* True: it is not the segment that this handle knew. Called with the mutex held. */
static bool note_tail_seen(struct mcds__segment_tail *tail, uint64_t segment, size_t size,
                           uint32_t incarnation, int64_t now_ns)
{
    bool is_another = false;
    tail->known_ns = now_ns;
    if (tail->segment == segment) {
        is_another = tail->incarnation != 0 && tail->incarnation != incarnation;
        tail->exists = true;
        tail->incarnation = incarnation;
        if (is_another || size > tail->size)
            tail->size = size;
    } else if (tail->segment == segment + 1 && tail->before != MCDS__SEGMENT_END) {
        is_another = tail->before != 0 && tail->before != incarnation;
        tail->before = incarnation;
    }
    if (mcds__segment_is_closed(size, incarnation))
        note_closed(tail, segment);
    return is_another;
}

struct mcds__segment_seen mcds__segment_note_seen(struct mcds__segments *segments,
                                                  uint64_t stream, uint64_t segment,
                                                  size_t size, uint32_t incarnation,
                                                  size_t given, int64_t now_ns)
{
    (void)pthread_mutex_lock(&segments->mutex);
    struct mcds__segment_tail *tail = segment_find(segments, stream);
    bool is_other_first = false;
    if (segment == 0) {
        struct mcds__segment_sight *sight = take_sight(segments, stream);
        is_other_first = sight->incarnation != 0 && sight->incarnation != incarnation;
        sight->incarnation = incarnation;
    }
    note_made(segments, stream, segment, incarnation);
    give_place(tail, segment, given);
    struct mcds__segment_seen seen;
    seen.is_another = tail != NULL && note_tail_seen(tail, segment, size, incarnation, now_ns);
    seen.is_another = seen.is_another || is_other_first;
    take_sight(segments, stream)->owes_loss |= seen.is_another && segments->one_route;
    seen.is_counted = is_counted(tail, segment);
    seen.is_settled = first_unsettled(tail, segment) >= segment;
    (void)pthread_mutex_unlock(&segments->mutex);
    return seen;
}

void mcds__segment_note_blocked(struct mcds__segments *segments, uint64_t stream)
{
    (void)pthread_mutex_lock(&segments->mutex);
    struct mcds__segment_tail *tail = segment_find(segments, stream);
    if (tail != NULL) {
        tail->is_blocked = true;
        tail->known = false;
    }
    (void)pthread_mutex_unlock(&segments->mutex);
}

void mcds__segment_note_refused(struct mcds__segments *segments, uint64_t stream)
{
    (void)pthread_mutex_lock(&segments->mutex);
    struct mcds__segment_tail *tail = segment_find(segments, stream);
    if (tail != NULL)
        tail->is_blocked = true;
    (void)pthread_mutex_unlock(&segments->mutex);
}

void mcds__segment_note_settled(struct mcds__segments *segments, uint64_t stream,
                                uint64_t segment)
{
    (void)pthread_mutex_lock(&segments->mutex);
    struct mcds__segment_tail *tail = segment_find(segments, stream);
    if (tail != NULL) {
        tail->is_blocked = false;
        if (tail->settled < segment) {
            tail->settled = segment;
            tail->closed = 0;
        }
    }
    (void)pthread_mutex_unlock(&segments->mutex);
}

void mcds__segment_note_tail(struct mcds__segments *segments,
                             const struct mcds__segment_tail *found)
{
    assert(found->settled <= found->segment);
    (void)pthread_mutex_lock(&segments->mutex);
    struct mcds__segment_tail *tail = find_or_make(segments, found->stream);
    /* Another operation of this handle may have advanced further meanwhile. */
    if (!tail->known || found->segment > tail->segment) {
        segment_advance(tail, found->segment);
        tail->known = true;
        tail->exists = found->exists;
        tail->incarnation = found->incarnation;
        tail->before = found->before;
        tail->counted = found->counted;
        tail->settled = found->settled;
        /* A segment below may be open, and perhaps it cannot be closed. */
        tail->is_blocked = tail->is_blocked || found->settled < found->segment;
        tail->closed = 0;
        if (found->exists)
            tail->size = found->size;
    }
    tail->known_ns = mcds__monotonic_ns(segments->env);
    (void)pthread_mutex_unlock(&segments->mutex);
}

void mcds__segment_note_counted(struct mcds__segments *segments, uint64_t stream,
                                uint64_t segment, uint64_t counted)
{
    assert(counted == 0 || counted > segment);
    (void)pthread_mutex_lock(&segments->mutex);
    struct mcds__segment_tail *tail = segment_find(segments, stream);
    if (tail != NULL && tail->segment == segment)
        tail->is_counting = false;
    if (tail != NULL && tail->counted < counted)
        tail->counted = counted;
    (void)pthread_mutex_unlock(&segments->mutex);
}

void mcds__segment_note_uncounted(struct mcds__segments *segments, uint64_t stream,
                                  uint64_t counted)
{
    (void)pthread_mutex_lock(&segments->mutex);
    struct mcds__segment_tail *tail = segment_find(segments, stream);
    if (tail != NULL && tail->counted > counted)
        tail->counted = counted;
    (void)pthread_mutex_unlock(&segments->mutex);
}

void mcds__segment_note_count(struct mcds__segments *segments, uint64_t stream,
                              uint64_t counted, mcds_cas_token token)
{
    (void)pthread_mutex_lock(&segments->mutex);
    struct mcds__segment_tail *tail = segment_find(segments, stream);
    if (tail != NULL) {
        tail->token = token;
        tail->counted = tail->counted < counted ? counted : tail->counted;
    }
    (void)pthread_mutex_unlock(&segments->mutex);
}

void mcds__segment_forget(struct mcds__segments *segments, uint64_t stream)
{
    (void)pthread_mutex_lock(&segments->mutex);
    struct mcds__segment_tail *tail = segment_find(segments, stream);
    if (tail != NULL)
        tail->in_use = false;
    if (sight_place(segments, stream)->stream == stream)
        *sight_place(segments, stream) = (struct mcds__segment_sight){.incarnation = 0};
    (void)pthread_mutex_unlock(&segments->mutex);
}

void mcds__segment_forget_all(struct mcds__segments *segments)
{
    (void)pthread_mutex_lock(&segments->mutex);
    for (uint32_t i = 0; i < MCDS__SEGMENT_TAILS; i++)
        segments->tails[i].in_use = false;
    for (uint32_t i = 0; i < MCDS__SEGMENT_SIGHTS; i++)
        segments->sights[i] = (struct mcds__segment_sight){.incarnation = 0};
    (void)pthread_mutex_unlock(&segments->mutex);
}
