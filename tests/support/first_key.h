/* Where a structure on a map keeps its elements, read from its root without the structure. */
#ifndef MCDS_TESTS_FIRST_KEY_H
#define MCDS_TESTS_FIRST_KEY_H

#include "base/buffer.h"
#include "core/map/map.h"
#include "store/store.h"

#define FIRST_KEY_CAPACITY 1024

/* The life in the root; its number is 0 where there is no root. */
static inline struct mcds__map_life first_life(mcds_store *store, const struct mcds__key *root)
{
    uint8_t capacity[FIRST_KEY_CAPACITY];
    mcds_buffer values;
    struct mcds__descriptor descriptor;
    const mcds_reason *detail = NULL;
    mcds__buffer_init_in(&values, mcds__store_env(store), sizeof capacity, capacity,
                         sizeof capacity);
    mcds_request get = {.command = MCDS_GET, .key = mcds__key_bytes(root)};
    mcds_batch batch = {
        .requests = &get, .count = 1, .deadline_ns = INT64_MAX, .values = &values};
    mcds__store_execute(store, 0, &batch);
    struct mcds__map_life none = {.number = 0};
    if (get.reply.outcome != MCDS_OUT_OK || values.length <= MCDS__FRAME_HEAD + 2)
        return none;
    enum mcds__descriptor_kind kind = (enum mcds__descriptor_kind)
                                          values.data[MCDS__FRAME_HEAD + 2];
    if (mcds__descriptor_open(&descriptor, (mcds_bytes){values.data, values.length},
                              get.reply.flags, get.key, kind, &detail) != MCDS_OK)
        return none;
    return (struct mcds__map_life){
        .number = descriptor.life,
        .hash_key = {mcds__get_u64(descriptor.hash_key),
                     mcds__get_u64(descriptor.hash_key + 8)},
    };
}

/* The first key below this root. On several servers it is where the root is. */
static inline struct mcds__key first_key(mcds_store *store, const struct mcds__key *root)
{
    struct mcds__key key = *root;
    mcds__key_add_hex(&key, first_life(store, root).number, 16);
    return key;
}

#endif
