/* Record: the value of its key.
 *
 * Payload of the frame (type 'R', version 1):
 *
 *   generation u64 | version u64 | kind u8 | ids u8 | (writer u64, seq u32)*
 *   | intent u64 | intended blocks u32
 *   | INLINE: the value   REMOVED: nothing   IN_BLOCKS: name u64, blocks u32, length u64,
 *     CRC-32C over all bytes in the blocks u32 */
#ifndef MCDS_CORE_RECORD_VALUE_H
#define MCDS_CORE_RECORD_VALUE_H

#include "base/key.h"

/* The ids of the last changes, newest first: a writer that lost a reply searches its own. */
#define MCDS__RECORD_IDS 16

/* More than the longest value needs if values have at most a kilobyte. */
#define MCDS__RECORD_BLOCKS_MAX (UINT32_C(1) << 18)

enum mcds__record_kind {
    MCDS__RECORD_INLINE = 1,
    MCDS__RECORD_REMOVED,  /* refuses late writes of the removed value */
    MCDS__RECORD_IN_BLOCKS /* the value is in blocks under keys of their own */
};

struct mcds__record_id {
    uint64_t writer;
    uint32_t seq;
};

/* Blocks are never changed: a new value has a new name. */
struct mcds__record_blocks {
    uint64_t name; /* 0: none */
    uint32_t count;
    uint64_t length;
    uint32_t sum; /* CRC-32C over all bytes in them */
};

struct mcds__record_value {
    uint64_t generation;
    uint64_t version; /* of this generation: one more with every write */
    enum mcds__record_kind kind;
    uint32_t id_count;
    struct mcds__record_id ids[MCDS__RECORD_IDS];
    /* Blocks that a client is about to write or is writing. */
    struct mcds__record_blocks intent;
    struct mcds__record_blocks blocks;
    mcds_bytes inlined;
};

/* Encode into `out`, replacing its contents. False: no room. */
bool mcds__record_encode(const struct mcds__record_value *value, mcds_bytes key,
                         mcds_buffer *out);
/* False: foreign or damaged, or made by a newer version. */
bool mcds__record_decode(mcds_bytes bytes, mcds_bytes key, struct mcds__record_value *value);
/* Whether a newer version of mcds made a value that mcds__record_decode refuses. */
bool mcds__record_is_newer(mcds_bytes bytes, mcds_bytes key);

/* Put an id before the others; drop the oldest. */
void mcds__record_push_id(struct mcds__record_value *value, struct mcds__record_id id);
bool mcds__record_has_id(const struct mcds__record_value *value, struct mcds__record_id id);

#endif
