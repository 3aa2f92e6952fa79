/* Core record: what its key holds.
 *
 * Payload of the frame (type 'R', version 1):
 *
 *   generation u64 | version u64 | kind u8 | ids u8 | (writer u64, seq u32)*
 *   | intent u64 | intended parts u32
 *   | INLINE: the value   REMOVED: nothing   PARTED: name u64, parts u32, length u64 */
#ifndef MCDS_CORE_RECORD_VALUE_H
#define MCDS_CORE_RECORD_VALUE_H

#include "base/key.h"

/* The writers of the last changes, newest first: who of them has lost a reply finds itself. */
#define MCDS__RECORD_IDS 16

/* More than the longest value takes where values may have a kilobyte. */
#define MCDS__RECORD_PARTS_MAX (UINT32_C(1) << 18)

enum mcds__record_kind {
    MCDS__RECORD_INLINE = 1,
    MCDS__RECORD_REMOVED, /* keeps out late writes of what was removed */
    MCDS__RECORD_PARTED   /* the value stands in parts under keys of their own */
};

struct mcds__record_id {
    uint64_t writer;
    uint32_t seq;
};

/* Parts are never changed: a new value has a new name. */
struct mcds__record_parts {
    uint64_t name; /* 0: none */
    uint32_t count;
    uint64_t length;
};

struct mcds__record_value {
    uint64_t generation;
    uint64_t version; /* of this generation: one more with every write */
    enum mcds__record_kind kind;
    uint32_t id_count;
    struct mcds__record_id ids[MCDS__RECORD_IDS];
    struct mcds__record_parts intent; /* that somebody is about to write, or has begun to */
    struct mcds__record_parts parts;
    mcds_bytes inlined;
};

/* Replace what `out` holds. False: no room. */
bool mcds__record_encode(const struct mcds__record_value *value, mcds_bytes key,
                         mcds_buffer *out);
/* False: foreign or damaged, or made by a newer version. */
bool mcds__record_decode(mcds_bytes bytes, mcds_bytes key, struct mcds__record_value *value);
/* Of what mcds__record_decode refuses: whether a newer version of mcds has made it. */
bool mcds__record_is_newer(mcds_bytes bytes, mcds_bytes key);

/* Put an id before the others; the oldest goes. */
void mcds__record_push_id(struct mcds__record_value *value, struct mcds__record_id id);
bool mcds__record_has_id(const struct mcds__record_value *value, struct mcds__record_id id);

#endif
