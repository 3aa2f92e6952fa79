/* Map: the life of a structure that a handle knows, and the proof that it is not over. */
#include <assert.h>
#include <stdatomic.h>

#include "base/environment.h"
#include "core/map/map.h"
#include "engine/line_wait.h"
#include "engine/proof.h"

struct mcds__map_life mcds__map_life(const struct mcds__map *map)
{
    struct mcds__map_life life;
    uint32_t version;
    do {
        version = atomic_load_explicit(&map->life_version, memory_order_acquire);
        life.number = atomic_load_explicit(&map->life[0], memory_order_relaxed);
        life.hash_key[0] = atomic_load_explicit(&map->life[1], memory_order_relaxed);
        life.hash_key[1] = atomic_load_explicit(&map->life[2], memory_order_relaxed);
        life.mark = atomic_load_explicit(&map->mark, memory_order_relaxed);
        life.has_numbers = atomic_load_explicit(&map->has_numbers, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
    } while ((version & 1) != 0 ||
             version != atomic_load_explicit(&map->life_version, memory_order_relaxed));
    return life;
}

/* Called with the mutex held. */
static void map_life_set(struct mcds__map *map, const struct mcds__map_life *life)
{
    uint32_t version = atomic_load_explicit(&map->life_version, memory_order_relaxed);
    assert((version & 1) == 0);
    atomic_store_explicit(&map->life_version, version + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&map->life[0], life->number, memory_order_relaxed);
    atomic_store_explicit(&map->life[1], life->hash_key[0], memory_order_relaxed);
    atomic_store_explicit(&map->life[2], life->hash_key[1], memory_order_relaxed);
    atomic_store_explicit(&map->mark, life->mark, memory_order_relaxed);
    atomic_store_explicit(&map->has_numbers, life->has_numbers, memory_order_relaxed);
    atomic_store_explicit(&map->life_version, version + 2, memory_order_release);
}

void mcds__map_adopt(struct mcds__map *map, const struct mcds__map_life *life)
{
    (void)pthread_mutex_lock(&map->mutex);
    bool is_other = atomic_load_explicit(&map->life[0], memory_order_relaxed) != life->number;
    if (is_other) {
        struct mcds__map_life unmarked = *life;
        unmarked.mark = 0;
        mcds__map_forget_depths(map);
        map_life_set(map, &unmarked);
    }
    (void)pthread_mutex_unlock(&map->mutex);
}

/* Store a mark that was set before the root of this life was seen. */
static void keep_mark(struct mcds__map *map, uint64_t number, uint64_t mark)
{
    assert(mark != 0);
    (void)pthread_mutex_lock(&map->mutex);
    struct mcds__map_life life = mcds__map_life(map);
    life.mark = mark;
    if (life.number == number)
        map_life_set(map, &life);
    (void)pthread_mutex_unlock(&map->mutex);
}

bool mcds__map_forget(struct mcds__map *map, uint64_t life)
{
    static const struct mcds__map_life none;
    assert(life != 0);
    (void)pthread_mutex_lock(&map->mutex);
    bool is_first = atomic_load_explicit(&map->life[0], memory_order_relaxed) == life;
    if (is_first) {
        mcds__map_forget_depths(map);
        map_life_set(map, &none);
    }
    (void)pthread_mutex_unlock(&map->mutex);
    return is_first;
}

void mcds__map_note_over(struct mcds__map *map, uint64_t life)
{
    assert(life != 0);
    atomic_store(&map->over, life);
}

bool mcds__map_is_doubtful(const struct mcds__map *map, uint64_t life)
{
    return life == 0 || life == atomic_load_explicit(&map->over, memory_order_relaxed);
}

/* At most once a second, because threads share the number. */
void mcds__map_note_seen(struct mcds__map *map, int64_t sent_ns)
{
    if (sent_ns - atomic_load_explicit(&map->seen_ns, memory_order_relaxed) >= NS_PER_S)
        atomic_store_explicit(&map->seen_ns, sent_ns, memory_order_relaxed);
}

mcds_request mcds__map_request_tombstone(const struct mcds__map *map, uint64_t life,
                                         struct mcds__key *key)
{
    mcds__map_key(map, life, 0, 0, key);
    mcds__key_add_hex(key, life, 16);
    return (mcds_request){
        .command = MCDS_GET,
        .options = MCDS_NO_VALUE,
        .key = mcds__key_bytes(key),
        .route = mcds__map_route(map, 0),
    };
}

static struct mcds__map_life life_of(const struct mcds__descriptor *descriptor)
{
    return (struct mcds__map_life){
        .number = descriptor->life,
        .hash_key = {mcds__get_u64(descriptor->hash_key),
                     mcds__get_u64(descriptor->hash_key + 8)},
        .has_numbers = descriptor->layout == MCDS__DESCRIPTOR_TREE_NUMBERED,
    };
}

struct mcds__map_life mcds__map_draw(const struct mcds__map *map,
                                     struct mcds__descriptor *descriptor_out)
{
    mcds__descriptor_draw(descriptor_out, map->env, (enum mcds__descriptor_kind)map->kind,
                          map->form, true);
    assert(descriptor_out->life != 0);
    bool has_numbers = mcds__store_has(map->store, MCDS_CAS_NUMBERS) &&
                       !mcds__store_has(map->store, MCDS_STATE_AFTER_APPEND);
    if (map->flat == 0)
        descriptor_out->layout = has_numbers ? MCDS__DESCRIPTOR_TREE_NUMBERED
                                             : MCDS__DESCRIPTOR_TREE;
    for (int i = 0; i < 2 && map->hash_key != NULL; i++)
        mcds__put_u64(descriptor_out->hash_key + 8 * i,
                      atomic_load_explicit(&map->hash_key[i], memory_order_relaxed));
    return life_of(descriptor_out);
}

int mcds__map_read_root(const struct mcds__map *map, mcds_bytes value, uint32_t flags,
                        struct mcds__map_life *life_out, const mcds_reason **detail_out)
{
    struct mcds__descriptor descriptor;
    int result = mcds__descriptor_open(&descriptor, value, flags, mcds__key_bytes(&map->root),
                                       (enum mcds__descriptor_kind)map->kind, detail_out);
    if (result != MCDS_OK)
        return result;
    if (map->flat == 0 && descriptor.layout < MCDS__DESCRIPTOR_TREE) {
        *detail_out = MCDS__WHY(OLDER);
        return MCDS_UNSUPPORTED;
    }
    if (descriptor.form != map->form) {
        bool is_known = descriptor.form < MCDS__MAP_FORM_MAX;
        *detail_out = map->forms[is_known ? descriptor.form : MCDS__MAP_FORM_MAX];
        return MCDS_INVALID;
    }
    *life_out = life_of(&descriptor);
    return MCDS_OK;
}

enum mcds__step mcds__map_refuse(const struct mcds__map *map, struct mcds__operation *operation,
                                 int result, const mcds_reason *detail)
{
    operation->difference = (struct mcds__difference){.wanted = map->form};
    return mcds__operation_explain(operation, result, detail);
}

mcds_request mcds__map_request_root(const struct mcds__map *map)
{
    return (mcds_request){
        .command = MCDS_GET,
        .options = MCDS_NO_VALUE,
        .key = mcds__key_bytes(&map->root),
    };
}

/* The place of a handle, for proofs and for the line of those that need one. */
static uint64_t proof_place(const struct mcds__map *map)
{
    return (uint64_t)(uintptr_t)map;
}

uint32_t mcds__map_prove_along(struct mcds__map_proof *proof, const struct mcds__map *map,
                               uint64_t life, const struct mcds__operation *operation,
                               mcds_request *request_out)
{
    proof->looks = false;
    proof->round = operation->round;
    if (mcds__store_answers_here(map->store) && !proof->is_alone)
        return 0;
    bool is_first = mcds__proof_claim(operation, proof_place(map), life);
    proof->looks = is_first || proof->is_alone;
    if (proof->looks)
        *request_out = mcds__map_request_root(map);
    return proof->looks;
}

/* True: the reply shows the root. */
static bool note(struct mcds__map_proof *proof, uint64_t life, const mcds_reply *reply)
{
    bool shows_root = reply->outcome == MCDS_OUT_OK &&
                      mcds__descriptor_is_of(reply->flags, life);
    if (shows_root)
        proof->seen = life;
    else if (reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS)
        proof->over = life;
    return shows_root;
}

void mcds__map_take_proof(struct mcds__map_proof *proof, const struct mcds__map *map,
                          uint64_t life, const struct mcds__operation *operation,
                          const mcds_reply *reply)
{
    if (note(proof, life, reply))
        mcds__proof_publish(operation, proof_place(map), life, proof->round);
}

struct sight {
    struct mcds__map_proof *proof;
    uint64_t life;
};

static void map_life_see_root(void *context, const mcds_reply *reply, mcds_bytes value)
{
    const struct sight *sight = context;
    (void)value;
    (void)note(sight->proof, sight->life, reply);
}

/* Only items without expiry are shown in place, so a root with a mark does not expire. */
static void look_at_root(struct mcds__map_proof *proof, struct mcds__map *map, uint64_t life)
{
    mcds_bytes root = mcds__key_bytes(&map->root);
    struct mcds__map_life known = mcds__map_life(map);
    uint64_t mark = known.number == life ? known.mark : 0;
    struct sight sight = {proof, life};
    if (mcds__store_remains(map->store, root, &mark)) {
        proof->seen = life;
        return;
    }
    bool is_seen = mcds__store_peek(map->store, root, map_life_see_root, &sight);
    if (is_seen && proof->seen == life && mark != 0)
        keep_mark(map, life, mark);
}

enum mcds__map_truth mcds__map_is_alive(struct mcds__map_proof *proof, struct mcds__map *map,
                                        uint64_t life, const struct mcds__operation *operation)
{
    assert(life != 0);
    bool is_known = proof->seen == life || proof->over == life;
    if (!is_known && operation != NULL && proof->round != 0 &&
        mcds__proof_is_seen(operation, proof_place(map), life, proof->round))
        proof->seen = life;
    if (proof->seen != life && proof->over != life)
        look_at_root(proof, map, life);
    if (proof->seen == life)
        return MCDS__MAP_ALIVE;
    return proof->over == life ? MCDS__MAP_OVER : MCDS__MAP_UNPROVED;
}

bool mcds__map_waits_for_proof(const struct mcds__map *map, struct mcds__operation *operation,
                               enum mcds__step *step_out)
{
    return mcds__line_waits_in_doubt(operation, proof_place(map), step_out);
}

enum mcds__step mcds__map_prove_alone(struct mcds__map_proof *proof,
                                      const struct mcds__map *map, uint64_t life,
                                      struct mcds__operation *operation, mcds_request *request)
{
    enum mcds__step step;
    assert(proof->seen != life && proof->over != life);
    proof->looks = false;
    if (mcds__map_waits_for_proof(map, operation, &step)) {
        operation->settles = true;
        return step;
    }
    proof->looks = true;
    proof->round = operation->round;
    (void)mcds__proof_claim(operation, proof_place(map), life);
    *request = mcds__map_request_root(map);
    return mcds__operation_ask_repeatable(operation, request, 1);
}
