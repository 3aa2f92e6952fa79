/* Core fold: which life of a structure is meant, and whether it is over. */
#include <stdatomic.h>

#include "base/environment.h"
#include "core/fold.h"

/* A proof that operations of one round of a pipeline share: the round, and below it one bit,
 * whether the root has been seen in it. All of them began before the round was sent. */
#define SEEN UINT64_C(1)

struct mcds__fold_life mcds__fold_life(const struct mcds__fold *fold)
{
    struct mcds__fold_life life;
    uint32_t version;
    do {
        version = atomic_load_explicit(&fold->life_version, memory_order_acquire);
        life.number = atomic_load_explicit(&fold->life[0], memory_order_relaxed);
        life.hash_key[0] = atomic_load_explicit(&fold->life[1], memory_order_relaxed);
        life.hash_key[1] = atomic_load_explicit(&fold->life[2], memory_order_relaxed);
        life.mark = atomic_load_explicit(&fold->mark, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
    } while ((version & 1) != 0 ||
             version != atomic_load_explicit(&fold->life_version, memory_order_relaxed));
    return life;
}

/* Called with the mutex held. */
static void set_life(struct mcds__fold *fold, const struct mcds__fold_life *life)
{
    uint32_t version = atomic_load_explicit(&fold->life_version, memory_order_relaxed);
    atomic_store_explicit(&fold->life_version, version + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&fold->life[0], life->number, memory_order_relaxed);
    atomic_store_explicit(&fold->life[1], life->hash_key[0], memory_order_relaxed);
    atomic_store_explicit(&fold->life[2], life->hash_key[1], memory_order_relaxed);
    atomic_store_explicit(&fold->mark, life->mark, memory_order_relaxed);
    atomic_store_explicit(&fold->life_version, version + 2, memory_order_release);
}

void mcds__fold_adopt(struct mcds__fold *fold, const struct mcds__fold_life *life)
{
    (void)pthread_mutex_lock(&fold->mutex);
    bool is_other = atomic_load_explicit(&fold->life[0], memory_order_relaxed) != life->number;
    if (is_other) {
        struct mcds__fold_life unmarked = *life;
        unmarked.mark = 0;
        set_life(fold, &unmarked);
        mcds__fold_forget_depths(fold);
    }
    (void)pthread_mutex_unlock(&fold->mutex);
}

/* The root of this life was seen when the mark had been set. */
static void keep_mark(struct mcds__fold *fold, uint64_t number, uint64_t mark)
{
    (void)pthread_mutex_lock(&fold->mutex);
    struct mcds__fold_life life = mcds__fold_life(fold);
    life.mark = mark;
    if (life.number == number)
        set_life(fold, &life);
    (void)pthread_mutex_unlock(&fold->mutex);
}

void mcds__fold_forget(struct mcds__fold *fold, uint64_t life)
{
    static const struct mcds__fold_life none;
    if (mcds__fold_life(fold).number == life)
        mcds__fold_adopt(fold, &none);
}

static struct mcds__fold_life life_of(const struct mcds__descriptor *descriptor)
{
    return (struct mcds__fold_life){
        .number = descriptor->life,
        .hash_key = {mcds__get_u64(descriptor->hash_key),
                     mcds__get_u64(descriptor->hash_key + 8)},
    };
}

struct mcds__fold_life mcds__fold_draw(const struct mcds__fold *fold,
                                       struct mcds__descriptor *descriptor_out)
{
    mcds__descriptor_draw(descriptor_out, fold->env, (enum mcds__descriptor_kind)fold->kind,
                          fold->form, true);
    return life_of(descriptor_out);
}

int mcds__fold_read_root(const struct mcds__fold *fold, mcds_bytes value,
                         struct mcds__fold_life *life_out, const mcds_reason **detail_out)
{
    struct mcds__descriptor descriptor;
    int result = mcds__descriptor_open(&descriptor, value, mcds__key_bytes(&fold->root),
                                       (enum mcds__descriptor_kind)fold->kind, detail_out);
    if (result != MCDS_OK)
        return result;
    if (descriptor.form != fold->form) {
        bool is_known = descriptor.form < MCDS__FOLD_FORM_MAX;
        *detail_out = fold->forms[is_known ? descriptor.form : MCDS__FOLD_FORM_MAX];
        return MCDS_INVALID;
    }
    *life_out = life_of(&descriptor);
    return MCDS_OK;
}

enum mcds__step mcds__fold_refuse(const struct mcds__fold *fold,
                                  struct mcds__operation *operation, int result,
                                  const mcds_reason *detail)
{
    operation->difference = (struct mcds__difference){.wanted = fold->form};
    return mcds__operation_explain(operation, result, detail);
}

mcds_request mcds__fold_look_at_root(const struct mcds__fold *fold)
{
    return (mcds_request){
        .command = MCDS_GET,
        .options = MCDS_NO_VALUE,
        .key = mcds__key_bytes(&fold->root),
    };
}

static _Atomic uint64_t *place_of(struct mcds__fold *fold, uint64_t round)
{
    return &fold->proofs[round % MCDS__FOLD_PROOFS];
}

uint32_t mcds__fold_prove_along(struct mcds__fold_proof *proof, struct mcds__fold *fold,
                                const struct mcds__operation *operation,
                                mcds_request *request_out)
{
    proof->looks = false;
    if (mcds__store_answers_here(fold->store) && !proof->is_alone)
        return 0;
    _Atomic uint64_t *place = place_of(fold, operation->round);
    if (operation->round != 0) {
        uint64_t known = atomic_load_explicit(place, memory_order_relaxed);
        proof->round = operation->round;
        if (known >> 1 == operation->round && !proof->is_alone)
            return 0;
        atomic_store_explicit(place, operation->round << 1, memory_order_relaxed);
    }
    proof->looks = true;
    *request_out = mcds__fold_look_at_root(fold);
    return 1;
}

static void note(struct mcds__fold_proof *proof, uint64_t life, const mcds_reply *reply)
{
    if (reply->outcome == MCDS_OUT_OK && mcds__descriptor_is_of(reply->flags, life))
        proof->seen = life;
    else if (reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS)
        proof->over = life;
}

void mcds__fold_take_proof(struct mcds__fold_proof *proof, struct mcds__fold *fold,
                           uint64_t life, const mcds_reply *reply)
{
    bool shows_root = reply->outcome == MCDS_OUT_OK &&
                      mcds__descriptor_is_of(reply->flags, life);
    note(proof, life, reply);
    if (!shows_root || proof->round == 0)
        return;
    uint64_t mine = proof->round << 1;
    (void)atomic_compare_exchange_strong(place_of(fold, proof->round), &mine, mine | SEEN);
}

struct sight {
    struct mcds__fold_proof *proof;
    uint64_t life;
};

static void see_root(void *context, const mcds_reply *reply, mcds_bytes value)
{
    const struct sight *sight = context;
    (void)value;
    note(sight->proof, sight->life, reply);
}

/* What never expires is seen by a look; so a root with a mark is one that remains. */
static void look_at_root(struct mcds__fold_proof *proof, struct mcds__fold *fold, uint64_t life)
{
    mcds_bytes root = mcds__key_bytes(&fold->root);
    struct mcds__fold_life known = mcds__fold_life(fold);
    uint64_t mark = known.number == life ? known.mark : 0;
    struct sight sight = {proof, life};
    if (mcds__store_remains(fold->store, root, &mark)) {
        proof->seen = life;
        return;
    }
    bool is_seen = mcds__store_look(fold->store, root, see_root, &sight);
    if (is_seen && proof->seen == life && mark != 0)
        keep_mark(fold, life, mark);
}

enum mcds__fold_truth mcds__fold_is_alive(struct mcds__fold_proof *proof,
                                          struct mcds__fold *fold, uint64_t life)
{
    if (proof->seen != life && proof->over != life && proof->round != 0 &&
        atomic_load(place_of(fold, proof->round)) == (proof->round << 1 | SEEN) &&
        mcds__fold_life(fold).number == life)
        proof->seen = life;
    if (proof->seen != life && proof->over != life)
        look_at_root(proof, fold, life);
    if (proof->seen == life)
        return MCDS__FOLD_ALIVE;
    return proof->over == life ? MCDS__FOLD_OVER : MCDS__FOLD_UNPROVED;
}
