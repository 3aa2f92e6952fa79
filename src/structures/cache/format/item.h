/* Cache: the value of an item's key, and of the key of a refresh.
 *
 * Payload of the frame (type 'C', version 1):
 *
 *   kind u8 | held u8 | id u64 | made u64 | fresh till u64
 *   | shown till u64; of FILLING and FAILED: base u64 | cost u32 | failures u8 | tags u8
 *   | generation of the cache u64
 *   | (length u8, the tag as its key has it, its generation u64)*
 *   | VALUE: the value   PIECES: life u64, length u64, length of a piece u32, CRC-32C over all
 *     bytes u32   FAILED: a sentence
 *
 * Times are Unix milliseconds. */
#ifndef MCDS_STRUCTURES_CACHE_FORMAT_ITEM_H
#define MCDS_STRUCTURES_CACHE_FORMAT_ITEM_H

#include "base/frame.h"
#include "base/key.h"

#define MCDS__CACHE_TAGS_MAX 16
#define MCDS__CACHE_SENTENCE_MAX 500
/* Encoded tags: a length, the text and a generation each. */
#define MCDS__CACHE_TAG_BYTES (1 + MCDS__ELEMENT_MAX + 8)
#define MCDS__CACHE_TAGS_BYTES (MCDS__CACHE_TAGS_MAX * MCDS__CACHE_TAG_BYTES)

enum mcds__cache_kind {
    MCDS__CACHE_VALUE = 1,
    MCDS__CACHE_PIECES,  /* a large value, in keys of its own */
    MCDS__CACHE_NOTHING, /* the source has no value */
    MCDS__CACHE_FILLING, /* a claim: one caller reads the source */
    MCDS__CACHE_FAILED   /* no caller reads the source before `fresh_till_ms`; 0: the claim was
                            given back */
};

/* Where a large value is. */
struct mcds__cache_pieces {
    uint64_t life; /* part of the keys, random, new for each value */
    uint64_t length;
    uint32_t piece_length;
    uint32_t sum;
};

struct mcds__cache_item {
    enum mcds__cache_kind kind;
    bool held;   /* a writer is about to change the source: nothing replaces this */
    uint64_t id; /* random, new with each write */
    int64_t made_ms;
    int64_t fresh_till_ms;
    int64_t shown_till_ms; /* of an answer */
    uint64_t
        base_id; /* under the key of a refresh: of the answer that is filled again; else 0 */
    uint32_t cost_ms;
    uint8_t failures;
    uint8_t tag_count;
    uint64_t generation;
    mcds_bytes tags; /* encoded */
    struct mcds__cache_pieces pieces;
    mcds_bytes value; /* VALUE: the value; FAILED: the sentence */
};

/* Encode into `out`, replacing its contents. False: no room. */
bool mcds__cache_item_encode(const struct mcds__cache_item *item, mcds_bytes key,
                             mcds_buffer *out);
/* False: not written by mcds, damaged, or made by a newer version. The item refers to `bytes`. */
bool mcds__cache_item_decode(mcds_bytes bytes, mcds_bytes key, struct mcds__cache_item *item);
bool mcds__cache_item_is_newer(mcds_bytes bytes, mcds_bytes key);

/* Add a tag to `tags`, which has room for it. */
void mcds__cache_tag_put(uint8_t *tags, size_t *length, mcds_bytes text, uint64_t generation);
/* The next tag of `tags` from *at on. False: the end, or bytes that are no tag. */
bool mcds__cache_tag_next(mcds_bytes tags, size_t *at, mcds_bytes *text_out,
                          uint64_t *generation_out);

/* Whether the item holds an answer of the source. */
static inline bool mcds__cache_item_answers(const struct mcds__cache_item *item)
{
    return item->kind <= MCDS__CACHE_NOTHING;
}

#endif
