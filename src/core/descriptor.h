/* Core descriptor: the root of a structure, which says what it is and how it is kept.
 *
 * It is made by `add` when the structure is made and never changed; erasing it ends the
 * structure's life. A frame of type D, version 1; numbers are little-endian:
 *
 *   layout u8 | needs u8 | kind u8 | form u8 | born u32 | life u64 | hash key 16 bytes
 *   | count u8 | count numbers u64
 *
 * `layout` is the version of this payload, and `needs` the lowest layout that a reader must know: a
 * later layout may add bytes at the end, and says by `needs` whether they may be overlooked.
 *
 * `life` is random and odd. Keys that carry it are never confused with those of another life of
 * the same name. The client flags of the root carry a part of it, so that a look without the
 * value proves which life the root is of. */
#ifndef MCDS_CORE_DESCRIPTOR_H
#define MCDS_CORE_DESCRIPTOR_H

#include "base/frame.h"

#define MCDS__DESCRIPTOR_LAYOUT 1
#define MCDS__DESCRIPTOR_FIXED 33
#define MCDS__DESCRIPTOR_SETTINGS_MAX 16
#define MCDS__DESCRIPTOR_HASH_KEY 16
#define MCDS__DESCRIPTOR_ROOM                                                                  \
    (MCDS__FRAME_OVERHEAD + MCDS__DESCRIPTOR_FIXED + 8 * MCDS__DESCRIPTOR_SETTINGS_MAX)

/* What a root is of. The letters are part of the stored form. */
enum mcds__descriptor_kind {
    MCDS__KIND_COUNTER = 'c',
    MCDS__KIND_LOG = 'e',
    MCDS__KIND_LIST = 'l',
    MCDS__KIND_MEMBERS = 'm',
    MCDS__KIND_ONLINE = 'o',
    MCDS__KIND_PAGES = 'p',
    MCDS__KIND_SET = 's',
    MCDS__KIND_TABLE = 't',
    MCDS__KIND_VISITORS = 'v',
    MCDS__KIND_VIEWS = 'w'
};

struct mcds__descriptor {
    uint8_t kind;
    uint8_t form; /* of one kind; 0 where there is one */
    uint32_t born_s;
    uint64_t life;                                    /* never 0 */
    uint8_t hash_key[MCDS__DESCRIPTOR_HASH_KEY];      /* zero where nothing is hashed */
    uint8_t count;                                    /* of settings */
    uint64_t settings[MCDS__DESCRIPTOR_SETTINGS_MAX]; /* what they mean the kind says */
};

/* A descriptor of a new life, made now; `hashes`: with a random hash key. No settings. */
void mcds__descriptor_draw(struct mcds__descriptor *descriptor, const mcds_env *env,
                           enum mcds__descriptor_kind kind, uint8_t form, bool hashes);
/* Write the value of the root under `key`; returns its length. */
size_t mcds__descriptor_seal(const struct mcds__descriptor *descriptor, mcds_bytes key,
                             uint8_t out[MCDS__DESCRIPTOR_ROOM]);
/* Read it. MCDS_OK; MCDS_CORRUPT: it is none, or of another kind; MCDS_UNSUPPORTED: a newer
 * version of mcds has made it. Then *detail_out says so. */
int mcds__descriptor_open(struct mcds__descriptor *descriptor_out, mcds_bytes value,
                          mcds_bytes key, enum mcds__descriptor_kind kind,
                          const mcds_reason **detail_out);

/* The client flags of a root of this life. */
uint32_t mcds__descriptor_flags(uint64_t life);
/* The part of the life that the flags carry, 30 bits. */
static inline uint64_t mcds__descriptor_stem(uint32_t flags)
{
    return flags >> 2;
}
/* Whether a root with these flags is of this life. */
bool mcds__descriptor_is_of(uint32_t flags, uint64_t life);

#endif
