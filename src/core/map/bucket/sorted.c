/* Bucket: a sorted set of numbers. */
#include "core/map/bucket/sorted.h"

#include <assert.h>

#include "base/environment.h"

#define ROOM_FIRST 256

struct mcds__map_node {
    uint64_t number;
    uint32_t item;
    uint32_t times; /* how often it was added */
    uint32_t priority;
    uint32_t lower, higher; /* nodes; 0: none */
};

static bool bucket_sorted_reserve(struct mcds__bucket_sorted *sorted, const mcds_env *env)
{
    if (sorted->random == 0)
        sorted->random = mcds__random_u64(env) | 1;
    if (sorted->count < sorted->capacity)
        return true;
    if (sorted->capacity > UINT32_MAX / 4)
        return false;
    uint32_t capacity = sorted->capacity > 0 ? 2 * sorted->capacity : ROOM_FIRST;
    void *moved = env->reallocate(env->self, sorted->nodes, capacity * sizeof sorted->nodes[0]);
    if (moved == NULL)
        return false;
    sorted->nodes = moved;
    sorted->capacity = capacity;
    if (sorted->count == 0)
        sorted->nodes[sorted->count++] = (struct mcds__map_node){0};
    return true;
}

void mcds__bucket_sorted_free(struct mcds__bucket_sorted *sorted, const mcds_env *env)
{
    assert(sorted->count <= sorted->capacity);
    mcds__free(env, sorted->nodes);
    *sorted = (struct mcds__bucket_sorted){0};
}

/* Split a tree into the numbers below and above a number that it does not contain. */
static void split(struct mcds__map_node *nodes, uint32_t tree, uint64_t number,
                  uint32_t *lower_out, uint32_t *higher_out)
{
    while (tree != 0) {
        struct mcds__map_node *node = &nodes[tree];
        assert(node->number != number);
        if (node->number < number) {
            *lower_out = tree;
            lower_out = &node->higher;
            tree = node->higher;
        } else {
            *higher_out = tree;
            higher_out = &node->lower;
            tree = node->lower;
        }
    }
    *lower_out = *higher_out = 0;
}

/* Join two trees; all numbers of the first are below those of the second. */
static uint32_t bucket_sorted_join(struct mcds__map_node *nodes, uint32_t lower,
                                   uint32_t higher)
{
    uint32_t tree = 0;
    uint32_t *at = &tree;
    while (lower != 0 && higher != 0) {
        assert(nodes[lower].number < nodes[higher].number);
        if (nodes[lower].priority > nodes[higher].priority) {
            *at = lower;
            at = &nodes[lower].higher;
            lower = nodes[lower].higher;
        } else {
            *at = higher;
            at = &nodes[higher].lower;
            higher = nodes[higher].lower;
        }
    }
    *at = lower != 0 ? lower : higher;
    return tree;
}

/* The link to the node of a number, or the place where it would be. */
static uint32_t *bucket_sorted_find(struct mcds__bucket_sorted *sorted, uint64_t number)
{
    uint32_t *at = &sorted->root;
    while (*at != 0 && sorted->nodes[*at].number != number) {
        struct mcds__map_node *node = &sorted->nodes[*at];
        at = number < node->number ? &node->lower : &node->higher;
    }
    return at;
}

bool mcds__bucket_sorted_add(struct mcds__bucket_sorted *sorted, const mcds_env *env,
                             uint64_t number, uint32_t item)
{
    if (!bucket_sorted_reserve(sorted, env))
        return false;
    uint32_t *at = bucket_sorted_find(sorted, number);
    if (*at != 0) {
        assert(*at < sorted->count);
        sorted->nodes[*at].times++;
        sorted->nodes[*at].item = item;
        return true;
    }
    sorted->random ^= sorted->random << 13; /* xorshift */
    sorted->random ^= sorted->random >> 7;
    sorted->random ^= sorted->random << 17;
    uint32_t priority = (uint32_t)(sorted->random >> 32);
    at = &sorted->root;
    while (*at != 0 && sorted->nodes[*at].priority >= priority) {
        struct mcds__map_node *node = &sorted->nodes[*at];
        at = number < node->number ? &node->lower : &node->higher;
    }
    struct mcds__map_node *added = &sorted->nodes[sorted->count];
    assert(sorted->count > 0 && sorted->count < sorted->capacity);
    *added = (struct mcds__map_node){number, item, 1, priority, 0, 0};
    split(sorted->nodes, *at, number, &added->lower, &added->higher);
    *at = sorted->count++;
    return true;
}

void mcds__bucket_sorted_remove(struct mcds__bucket_sorted *sorted, uint64_t number)
{
    uint32_t *at = bucket_sorted_find(sorted, number);
    if (*at == 0)
        return;
    struct mcds__map_node *node = &sorted->nodes[*at];
    assert(node->times > 0 && node->number == number);
    if (--node->times == 0)
        *at = bucket_sorted_join(sorted->nodes, node->lower, node->higher);
}

static bool give(const struct mcds__bucket_sorted *sorted, uint32_t found, uint64_t *number_out,
                 uint32_t *item_out)
{
    assert(found < sorted->count || found == 0);
    if (found == 0)
        return false;
    *number_out = sorted->nodes[found].number;
    *item_out = sorted->nodes[found].item;
    return true;
}

bool mcds__bucket_sorted_below(const struct mcds__bucket_sorted *sorted, uint64_t number,
                               uint64_t *number_out, uint32_t *item_out)
{
    uint32_t found = 0;
    for (uint32_t at = sorted->root; at != 0;) {
        const struct mcds__map_node *node = &sorted->nodes[at];
        bool is_below = node->number < number;
        found = is_below ? at : found;
        at = is_below ? node->higher : node->lower;
    }
    return give(sorted, found, number_out, item_out);
}

bool mcds__bucket_sorted_above(const struct mcds__bucket_sorted *sorted, uint64_t number,
                               uint64_t *number_out, uint32_t *item_out)
{
    uint32_t found = 0;
    for (uint32_t at = sorted->root; at != 0;) {
        const struct mcds__map_node *node = &sorted->nodes[at];
        bool is_above = node->number > number;
        found = is_above ? at : found;
        at = is_above ? node->lower : node->higher;
    }
    return give(sorted, found, number_out, item_out);
}
