/* Descriptor: the value of a structure's root key: its kind, its life and its settings.
 *
 * `add` creates it together with the structure. Erasing it ends the structure's life. A client
 * that knows the life sees from the root alone that it is over:
 *
 *   add root (life A)   keys with A count   erase root   keys with A are garbage
 *                                           add root (life B)   keys with B count
 *
 * The value is a frame of type D, version 1. Numbers are little-endian:
 *
 *   layout u8 | needs u8 | kind u8 | form u8 | made u32 | life u64 | hash key 16 bytes
 *   | count u8 | count numbers u64
 *
 * `layout` is the version of this payload, and `needs` the lowest layout that a reader must know:
 * a later layout may add bytes at the end, and `needs` says whether a reader may ignore them. All
 * layouts up to 4 have the same bytes; they say which keys the life has. Layout 3 is that of a
 * map whose keys split four ways, and layout 4 that of one whose keys may also have open numbers
 * (core/map/map.h). Layout 1 is that of all other structures. Layouts 1 and 2 were also those of
 * maps that split sixteen ways.
 *
 * `life` is random and odd. Keys that carry it are never confused with those of another life
 * of the same name. The client flags of the root contain 30 bits of it, so a read of the flags
 * alone proves to which life the root belongs.
 *
 * One of the other bits is set in the root of a log that a client has added again after a loss.
 * The `add` may arrive late, after the log was dropped. So this root proves nothing. A client
 * reads the tombstone of its life. If there is none, the client replaces the root by cas. */
#ifndef MCDS_CORE_DESCRIPTOR_DESCRIPTOR_H
#define MCDS_CORE_DESCRIPTOR_DESCRIPTOR_H

#include "base/frame.h"

/* The layouts. */
#define MCDS__DESCRIPTOR_PLAIN 1
#define MCDS__DESCRIPTOR_TREE 3
#define MCDS__DESCRIPTOR_TREE_NUMBERED 4
#define MCDS__DESCRIPTOR_LAYOUT MCDS__DESCRIPTOR_TREE_NUMBERED /* the newest */
#define MCDS__DESCRIPTOR_FIXED 33
#define MCDS__DESCRIPTOR_SETTINGS_MAX 16
#define MCDS__DESCRIPTOR_HASH_KEY 16
#define MCDS__DESCRIPTOR_CAPACITY                                                              \
    (MCDS__FRAME_OVERHEAD + MCDS__DESCRIPTOR_FIXED + 8 * MCDS__DESCRIPTOR_SETTINGS_MAX)

/* The kind of the structure. The characters are stored. */
enum mcds__descriptor_kind {
    MCDS__KIND_COUNTER = 'c',
    MCDS__KIND_LOG = 'e',
    MCDS__KIND_LIST = 'l',
    MCDS__KIND_MEMBERS = 'm',
    MCDS__KIND_ONLINE = 'o',
    MCDS__KIND_PAGES = 'p',
    MCDS__KIND_QUEUE = 'q',
    MCDS__KIND_LIMIT = 'r',
    MCDS__KIND_SET = 's',
    MCDS__KIND_TABLE = 't',
    MCDS__KIND_VISITORS = 'v',
    MCDS__KIND_VIEWS = 'w'
};

struct mcds__descriptor {
    uint8_t kind;
    uint8_t form;   /* of one kind; 0 if it has only one */
    uint8_t layout; /* PLAIN in a new one; as read: the lowest that a reader must know */
    bool is_again;  /* of a log: added again, and not confirmed yet; in the client flags */
    uint32_t made_s;
    uint64_t life;                                    /* never 0 */
    uint8_t hash_key[MCDS__DESCRIPTOR_HASH_KEY];      /* zero if nothing is hashed */
    uint8_t count;                                    /* of settings */
    uint64_t settings[MCDS__DESCRIPTOR_SETTINGS_MAX]; /* their meaning depends on the kind */
};

/* A descriptor of a new life, made now; `hashes`: with a random hash key. No settings. */
void mcds__descriptor_draw(struct mcds__descriptor *descriptor, const mcds_env *env,
                           enum mcds__descriptor_kind kind, uint8_t form, bool hashes);
/* Write the value of the root under `key`; returns its length. */
size_t mcds__descriptor_seal(const struct mcds__descriptor *descriptor, mcds_bytes key,
                             uint8_t out[MCDS__DESCRIPTOR_CAPACITY]);
/* Read it. MCDS_OK; MCDS_CORRUPT: not a descriptor, or of another kind, or with client flags
 * that are not of its life; MCDS_UNSUPPORTED: made by a newer version of mcds. On failure
 * *detail_out is set. */
int mcds__descriptor_open(struct mcds__descriptor *descriptor_out, mcds_bytes value,
                          uint32_t flags, mcds_bytes key, enum mcds__descriptor_kind kind,
                          const mcds_reason **detail_out);

/* The client flags of a root of this life. */
#define MCDS__DESCRIPTOR_AGAIN 1u /* the bit of one that was added again */
uint32_t mcds__descriptor_flags(uint64_t life);
/* The 30 bits of the life that the flags contain. */
static inline uint64_t mcds__descriptor_stem(uint32_t flags)
{
    return flags >> 2;
}
/* Whether a root with these flags proves that the life with these 30 bits has not ended. */
static inline bool mcds__descriptor_proves(uint32_t flags, uint64_t stem)
{
    return mcds__descriptor_stem(flags) == stem && (flags & MCDS__DESCRIPTOR_AGAIN) == 0;
}
/* Whether a root with these flags is of this life. */
bool mcds__descriptor_is_of(uint32_t flags, uint64_t life);

#endif
