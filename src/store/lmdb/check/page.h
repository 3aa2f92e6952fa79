/* The bytes of one page of LMDB: its header, and its nodes. Nothing here checks them. */
#ifndef MCDS_STORE_LMDB_CHECK_PAGE_H
#define MCDS_STORE_LMDB_CHECK_PAGE_H

#include <string.h>

#include "mcds/backend.h"

/* LMDB writes page numbers as the machine has them: their width and their byte order are its own. */
#define WORD sizeof(size_t)
/* Offsets in every page. */
#define FLAGS_AT (WORD + 2)
#define LOWER_AT (WORD + 4)
#define UPPER_AT (WORD + 6)
#define COUNT_AT LOWER_AT /* of a long value: the number of its pages */
#define HEAD_BYTES (WORD + 8)
#define PAGE_BRANCH 1
#define PAGE_LEAF 2
#define PAGE_LONG 4 /* the first of a long value */
#define PAGE_META 8
#define PAGE_FIXED_LEAF (0x20 | PAGE_LEAF)
/* In the record of a tree: two halves of a word, and five page numbers and counts. */
#define TREE_FLAGS_AT 4
#define TREE_ENTRIES_AT (8 + 3 * WORD)
#define TREE_ROOT_AT (8 + 4 * WORD)
#define TREE_BYTES (8 + 5 * WORD)
#define METAS 2 /* the first pages of a file */
/* In a node: its length or its page in two halves, flags or the rest of the page, the key's length. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NODE_LOW_AT 0
#define NODE_HIGH_AT 2
#else
#define NODE_LOW_AT 2
#define NODE_HIGH_AT 0
#endif
#define NODE_FLAGS_AT 4
#define NODE_KEY_LENGTH_AT 6
#define NODE_BYTES 8
#define NODE_LONG 1
#define NODE_TREE 2
#define NO_PAGE SIZE_MAX

static inline uint16_t two_bytes(const uint8_t *at)
{
    uint16_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

static inline uint32_t four_bytes(const uint8_t *at)
{
    uint32_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

static inline uint64_t word(const uint8_t *at)
{
    size_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

static inline bool is_leaf(const uint8_t *page)
{
    return (two_bytes(page + FLAGS_AT) & PAGE_LEAF) != 0;
}

static inline uint32_t low_half(const uint8_t *node)
{
    return two_bytes(node + NODE_LOW_AT) | (uint32_t)two_bytes(node + NODE_HIGH_AT) << 16;
}

static inline uint64_t child_of(const uint8_t *node)
{
    uint64_t high = (uint64_t)two_bytes(node + NODE_FLAGS_AT) << 32;
    return low_half(node) | (WORD > 4 ? high : 0);
}

static inline mcds_bytes key_of(const uint8_t *node)
{
    return (mcds_bytes){node + NODE_BYTES, two_bytes(node + NODE_KEY_LENGTH_AT)};
}

static inline const uint8_t *node_at(const uint8_t *page, size_t i)
{
    return page + two_bytes(page + HEAD_BYTES + 2 * i);
}

static inline size_t count_of(const uint8_t *page)
{
    bool has_nodes = two_bytes(page + FLAGS_AT) != PAGE_FIXED_LEAF;
    return has_nodes ? (two_bytes(page + LOWER_AT) - HEAD_BYTES) / 2 : 0;
}

static inline int compare(mcds_bytes left, mcds_bytes right)
{
    size_t length = left.length < right.length ? left.length : right.length;
    int order = length > 0 ? memcmp(left.data, right.data, length) : 0;
    return order != 0 ? order : (left.length > right.length) - (left.length < right.length);
}

#endif
