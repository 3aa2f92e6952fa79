/* Checks that a file has all pages to which its newest transaction refers. A read through
 * LMDB's map beyond the end of the file would kill the process; a file that was cut short has
 * its root, but not the pages to which the root refers.
 *
 * A sound file may be shorter than its last page number says: LMDB does not write a page that
 * was freed again in the transaction that allocated it. So the trees of a short file are
 * walked. */
#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "store/lmdb/guard.h"

#define LOOKS_MAX 20
#define LEVELS_MAX 64
/* LMDB writes page numbers as the machine has them: their width and their byte order are its own. */
#define WORD sizeof(size_t)
/* Offsets in every page. */
#define FLAGS_AT (WORD + 2)
#define LOWER_AT (WORD + 4)
#define HEAD_BYTES (WORD + 8)
#define PAGE_BRANCH 1
#define PAGE_LEAF 2
#define PAGE_FIXED_LEAF 0x20
/* In the record of a tree: two halves of a word, and five page numbers and counts. */
#define TREE_ROOT_AT (8 + 4 * WORD)
#define TREE_BYTES (8 + 5 * WORD)
/* Offsets in a meta page. */
#define PAGE_SIZE_AT (HEAD_BYTES + 8 + 2 * WORD)
#define FREE_ROOT_AT (PAGE_SIZE_AT + TREE_ROOT_AT)
#define MAIN_ROOT_AT (FREE_ROOT_AT + TREE_BYTES)
#define LAST_PAGE_AT (MAIN_ROOT_AT + WORD)
#define TRANSACTION_AT (LAST_PAGE_AT + WORD)
#define META_BYTES (TRANSACTION_AT + WORD)
#define PAGE_SIZE_MAX 65536
#define MARK UINT32_C(0xBEEFC0DE)
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
#define NODE_BIG 1
#define NODE_TREE 2
#define NO_PAGE SIZE_MAX

static uint16_t two_bytes(const uint8_t *at)
{
    uint16_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

static uint64_t word(const uint8_t *at)
{
    size_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

static bool read_meta(int descriptor, off_t at, struct mcds__lmdb_meta *out)
{
    uint8_t bytes[META_BYTES];
    if (pread(descriptor, bytes, sizeof bytes, at) != (ssize_t)sizeof bytes)
        return false;
    out->transaction = word(bytes + TRANSACTION_AT);
    out->last_page = word(bytes + LAST_PAGE_AT);
    out->free_root = word(bytes + FREE_ROOT_AT);
    out->main_root = word(bytes + MAIN_ROOT_AT);
    memcpy(&out->page_size, bytes + PAGE_SIZE_AT, sizeof out->page_size);
    return out->page_size >= META_BYTES && out->page_size <= PAGE_SIZE_MAX;
}

/* Whether LMDB wrote the file. A file without its second meta page has been cut short. */
static bool has_mark(int descriptor)
{
    uint32_t mark = 0;
    return pread(descriptor, &mark, sizeof mark, HEAD_BYTES) == (ssize_t)sizeof mark &&
           mark == MARK;
}

bool mcds__lmdb_read_meta(int descriptor, struct mcds__lmdb_meta *out)
{
    struct mcds__lmdb_meta other;
    if (!read_meta(descriptor, 0, out) || !read_meta(descriptor, (off_t)out->page_size, &other))
        return false;
    if (other.transaction > out->transaction)
        *out = other;
    return true;
}

struct walk {
    const uint8_t *pages;
    uint64_t end;  /* the number of whole pages in the file */
    uint64_t left; /* the pages that may still be visited: a damaged file may contain a cycle */
    size_t page_size;
};

static bool has_pages(const struct walk *walk, uint64_t first, uint64_t count)
{
    return first < walk->end && count <= walk->end - first;
}

static uint64_t low_half(const uint8_t *node)
{
    return two_bytes(node + NODE_LOW_AT) | (uint64_t)two_bytes(node + NODE_HIGH_AT) << 16;
}

/* The root page of the tree below this leaf node; NO_PAGE if there is none. */
static bool check_leaf(const struct walk *walk, const uint8_t *node, size_t capacity,
                       uint64_t *root)
{
    assert(capacity >= NODE_BYTES);
    uint16_t flags = two_bytes(node + NODE_FLAGS_AT);
    size_t at = NODE_BYTES + (size_t)two_bytes(node + NODE_KEY_LENGTH_AT);
    uint64_t length = low_half(node);
    *root = NO_PAGE;
    if ((flags & NODE_BIG) != 0)
        return at + WORD <= capacity &&
               has_pages(walk, word(node + at),
                         (length + HEAD_BYTES + walk->page_size - 1) / walk->page_size);
    if ((flags & NODE_TREE) == 0)
        return true;
    if (at + TREE_BYTES > capacity)
        return false;
    *root = word(node + at + TREE_ROOT_AT);
    return true;
}

static uint64_t child_of(const uint8_t *node)
{
    return low_half(node) | (uint64_t)two_bytes(node + NODE_FLAGS_AT) << 32;
}

/* At most LEVELS_MAX deep. */
static bool has_tree(struct walk *walk, uint64_t number, int level)
{
    assert(level >= 0 && level <= LEVELS_MAX);
    if (number == NO_PAGE)
        return true;
    if (!has_pages(walk, number, 1) || level == LEVELS_MAX || walk->left-- == 0)
        return false;
    assert(number < walk->end);
    const uint8_t *page = walk->pages + number * walk->page_size;
    uint16_t flags = two_bytes(page + FLAGS_AT);
    size_t lower = two_bytes(page + LOWER_AT);
    if (word(page) != number || (flags & (PAGE_BRANCH | PAGE_LEAF)) == 0 ||
        lower > walk->page_size)
        return false;
    for (size_t at = HEAD_BYTES; (flags & PAGE_FIXED_LEAF) == 0 && at + 2 <= lower; at += 2) {
        size_t node = two_bytes(page + at);
        uint64_t below = NO_PAGE;
        if (node + NODE_BYTES > walk->page_size)
            return false;
        if ((flags & PAGE_BRANCH) != 0) {
            assert(node + NODE_BYTES <= walk->page_size);
            below = child_of(page + node);
        } else if (!check_leaf(walk, page + node, walk->page_size - node, &below))
            return false;
        if (!has_tree(walk, below, level + 1))
            return false;
    }
    return true;
}

static bool has_trees(int descriptor, uint64_t size, const struct mcds__lmdb_meta *meta)
{
    void *pages = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (pages == MAP_FAILED)
        return true; /* LMDB cannot map it either */
    struct walk walk = {pages, size / meta->page_size, size / meta->page_size, meta->page_size};
    bool whole = has_tree(&walk, meta->free_root, 0) && has_tree(&walk, meta->main_root, 0);
    (void)munmap(pages, (size_t)size);
    return whole;
}

/* If the file is written meanwhile, check it again: its pages belong to another transaction. */
static bool lmdb_length_is_whole(int descriptor, struct mcds__lmdb_meta *meta, uint64_t *size)
{
    struct stat status;
    struct mcds__lmdb_meta after;
    for (int i = 0; i < LOOKS_MAX; i++) {
        *meta = (struct mcds__lmdb_meta){.page_size = 0};
        bool is_read = mcds__lmdb_read_meta(descriptor, meta);
        /* Now the length: LMDB writes a meta page after the pages to which it refers. */
        if (fstat(descriptor, &status) != 0)
            return true; /* LMDB reports what it is */
        *size = (uint64_t)status.st_size;
        if (!is_read)
            return (meta->page_size == 0 && *size >= META_BYTES) ||
                   !has_mark(descriptor); /* likewise */
        if (*size / meta->page_size > meta->last_page || has_trees(descriptor, *size, meta))
            return true;
        if (!mcds__lmdb_read_meta(descriptor, &after) || after.transaction == meta->transaction)
            return false;
    }
    return true;
}

int mcds__lmdb_check_length(const struct mcds__lmdb_file *file)
{
    struct mcds__lmdb_meta meta;
    uint64_t size;
    bool is_whole = lmdb_length_is_whole(file->held, &meta, &size);
    if (!is_whole && meta.page_size == 0)
        return mcds__fail_at(
            MCDS_IO, DAMAGED, file->path,
            "it is damaged: it has been cut short, as by a copy that was interrupted, and has "
            "only %llu bytes; move it away, and copy the backup again",
            (unsigned long long)size);
    if (!is_whole)
        return mcds__fail_at(
            MCDS_IO, DAMAGED, file->path,
            "it is damaged: it has been cut short, as by a copy that was interrupted, and has "
            "%llu of %llu bytes; move it away, and copy the backup again",
            (unsigned long long)size,
            (unsigned long long)((meta.last_page + 1) * meta.page_size));
    return MCDS_OK;
}
