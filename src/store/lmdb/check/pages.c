/* Reads and checks the pages of a file as bytes. */
#include "store/lmdb/check/pages.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/environment.h"
#include "store/lmdb/check/page.h"

#define LEVELS_MAX 64
#define LOOK_PAGES 256   /* between two looks at the clock */
#define SHALLOW_PAGES 64 /* of the unnamed database; that of mcds has one */
/* Offsets in a meta page. */
#define VERSION_AT (HEAD_BYTES + 4)
#define MAP_SIZE_AT (HEAD_BYTES + 8 + WORD)
#define PAGE_SIZE_AT (HEAD_BYTES + 8 + 2 * WORD)
#define FREE_AT PAGE_SIZE_AT
#define MAIN_AT (FREE_AT + TREE_BYTES)
#define LAST_PAGE_AT (MAIN_AT + TREE_BYTES)
#define TRANSACTION_AT (LAST_PAGE_AT + WORD)
#define META_BYTES (TRANSACTION_AT + WORD)
#define PAGE_SIZE_MAX 65536
#define MARK UINT32_C(0xBEEFC0DE)
#define VERSION 1

static struct mcds__lmdb_tree read_tree(const uint8_t *at)
{
    return (struct mcds__lmdb_tree){.root = word(at + TREE_ROOT_AT),
                                    .entries = word(at + TREE_ENTRIES_AT),
                                    .flags = two_bytes(at + TREE_FLAGS_AT)};
}

static bool has_root(const struct mcds__lmdb_meta *meta, const struct mcds__lmdb_tree *tree)
{
    return tree->root == NO_PAGE || (tree->root >= METAS && tree->root <= meta->last_page);
}

static bool is_sound_meta(const uint8_t *bytes, const struct mcds__lmdb_meta *meta)
{
    uint32_t size = meta->page_size;
    return two_bytes(bytes + FLAGS_AT) == PAGE_META && size >= META_BYTES &&
           size <= PAGE_SIZE_MAX && (size & (size - 1)) == 0 && meta->last_page >= METAS - 1 &&
           meta->last_page < word(bytes + MAP_SIZE_AT) / size && has_root(meta, &meta->free) &&
           has_root(meta, &meta->main);
}

static enum mcds__lmdb_header read_meta(int descriptor, off_t at, struct mcds__lmdb_meta *out)
{
    uint8_t bytes[META_BYTES] = {0};
    ssize_t length = pread(descriptor, bytes, sizeof bytes, at);
    bool is_marked = four_bytes(bytes + HEAD_BYTES) == MARK;
    if (length < (ssize_t)sizeof bytes && (at > 0 || is_marked))
        return MCDS__LMDB_HEADER_SHORT;
    if (is_marked && four_bytes(bytes + VERSION_AT) != VERSION)
        return MCDS__LMDB_HEADER_OTHER;
    out->transaction = word(bytes + TRANSACTION_AT);
    out->last_page = word(bytes + LAST_PAGE_AT);
    out->free = read_tree(bytes + FREE_AT);
    out->main = read_tree(bytes + MAIN_AT);
    out->page_size = four_bytes(bytes + PAGE_SIZE_AT);
    return is_marked && is_sound_meta(bytes, out) ? MCDS__LMDB_HEADER_SOUND
                                                  : MCDS__LMDB_HEADER_DAMAGED;
}

enum mcds__lmdb_header mcds__lmdb_read_header(int descriptor, struct mcds__lmdb_meta *out)
{
    struct mcds__lmdb_meta other;
    enum mcds__lmdb_header first = read_meta(descriptor, 0, out);
    if (first == MCDS__LMDB_HEADER_DAMAGED) {
        /* Any bytes; the second meta page shows that LMDB wrote them, if it is where it must be. */
        off_t at = (off_t)sysconf(_SC_PAGESIZE);
        bool is_lmdb = read_meta(descriptor, at, &other) == MCDS__LMDB_HEADER_SOUND;
        return is_lmdb ? MCDS__LMDB_HEADER_DAMAGED : MCDS__LMDB_HEADER_OTHER;
    }
    if (first != MCDS__LMDB_HEADER_SOUND)
        return first;
    enum mcds__lmdb_header second = read_meta(descriptor, (off_t)out->page_size, &other);
    if (second != MCDS__LMDB_HEADER_SOUND)
        return second == MCDS__LMDB_HEADER_SHORT ? second : MCDS__LMDB_HEADER_DAMAGED;
    if (other.page_size != out->page_size)
        return MCDS__LMDB_HEADER_DAMAGED;
    if (other.transaction > out->transaction)
        *out = other;
    return MCDS__LMDB_HEADER_SOUND;
}

/* The state of a walk. */
struct walking {
    struct mcds__lmdb_walk *walk;
    const uint8_t *pages;
    uint64_t end;  /* the number of whole pages in the file */
    uint64_t left; /* the pages that may still be visited: a damaged file may contain a cycle */
    size_t page_size;

    /* Of the tree that is visited. */
    bool is_ordered;
    bool is_main;
    bool is_partial;   /* pages were passed over */
    mcds_bytes prefix; /* or empty */
    mcds_bytes bound;  /* the last key */
    bool is_separator; /* it is of a branch, and a leaf may have the same */
    uint64_t entries;
};

static void note_damage(const struct walking *walking, uint64_t page)
{
    if (walking->walk->damaged == 0)
        walking->walk->damaged = page;
}

/* Whether the file has these pages. */
static bool has_pages(const struct walking *walking, uint64_t first, uint64_t count)
{
    uint64_t last_page = walking->walk->meta->last_page;
    if (first < METAS || first > last_page || count > last_page - first + 1)
        return false;
    bool is_there = first < walking->end && count <= walking->end - first;
    walking->walk->is_cut = walking->walk->is_cut || !is_there;
    return is_there;
}

static const uint8_t *page_at(const struct walking *walking, uint64_t number)
{
    assert(number < walking->end);
    return walking->pages + number * walking->page_size;
}

/* Whether the key of a node, and its value or the reference to it, are on its page. */
static bool has_node(const struct walking *walking, const uint8_t *page, size_t at)
{
    if (at < two_bytes(page + UPPER_AT) || at + NODE_BYTES > walking->page_size)
        return false;
    const uint8_t *node = page + at;
    uint64_t length = NODE_BYTES + key_of(node).length;
    uint16_t flags = two_bytes(node + NODE_FLAGS_AT);
    if (is_leaf(page))
        length += (flags & NODE_LONG) != 0 ? WORD : low_half(node);
    return length <= walking->page_size - at &&
           (!is_leaf(page) || (flags & NODE_TREE) == 0 || low_half(node) == TREE_BYTES);
}

static bool is_sound_page(const struct walking *walking, uint64_t number)
{
    if (!has_pages(walking, number, 1))
        return false;
    const uint8_t *page = page_at(walking, number);
    uint16_t flags = two_bytes(page + FLAGS_AT);
    size_t lower = two_bytes(page + LOWER_AT);
    size_t upper = two_bytes(page + UPPER_AT);
    if (word(page) != number ||
        (flags != PAGE_BRANCH && flags != PAGE_LEAF && flags != PAGE_FIXED_LEAF))
        return false;
    if (lower <= HEAD_BYTES || lower % 2 != 0 || lower > upper || upper > walking->page_size)
        return false;
    for (size_t i = 0; i < count_of(page); i++)
        if (!has_node(walking, page, two_bytes(page + HEAD_BYTES + 2 * i)))
            return false;
    return true;
}

/* The damaged page of a long value, or 0: the first page, which is not read in a partial walk, or
 * `leaf`, which refers to it. The bytes of the value are not checked. */
static uint64_t damage_of_long_value(const struct walking *walking, const uint8_t *node,
                                     uint64_t leaf)
{
    uint64_t number = word(node + NODE_BYTES + key_of(node).length);
    uint64_t count = (low_half(node) + HEAD_BYTES + walking->page_size - 1) /
                     walking->page_size;
    if (!has_pages(walking, number, count))
        return leaf;
    if (walking->prefix.length > 0)
        return 0;
    const uint8_t *page = page_at(walking, number);
    bool is_sound = word(page) == number && two_bytes(page + FLAGS_AT) == PAGE_LONG &&
                    four_bytes(page + COUNT_AT) >= count;
    return is_sound ? 0 : number;
}

/* Whether a key follows the one before it in the order of the tree. */
static bool follows(struct walking *walking, mcds_bytes key, bool is_separator)
{
    int order = walking->is_ordered ? compare(walking->bound, key) : -1;
    bool is_in_order = order < 0 || (order == 0 && walking->is_separator);
    walking->bound = key;
    walking->is_separator = is_separator;
    return is_in_order;
}

static bool is_time_over(const struct walking *walking)
{
    const struct mcds__lmdb_walk *walk = walking->walk;
    return walk->env != NULL && walking->left % LOOK_PAGES == 0 &&
           mcds__monotonic_ns(walk->env) >= walk->until_ns;
}

static void walk_tree(struct walking *walking, const struct mcds__lmdb_tree *tree,
                      uint64_t referrer);

/* A named database. Partial and shallow walks visit none, or only "items". */
static void walk_named(struct walking *main, mcds_bytes name, const uint8_t *record,
                       uint64_t referrer)
{
    struct walking walking = *main;
    struct mcds__lmdb_walk *walk = main->walk;
    struct mcds__lmdb_tree tree = read_tree(record);
    bool is_items = compare(name, mcds_text("items")) == 0;
    bool is_there = has_root(walk->meta, &tree);
    if (!is_there)
        note_damage(main, referrer);
    if (is_items)
        walk->expected = tree.entries;
    if (!is_there || walk->is_shallow || (walk->prefix.length > 0 && !is_items))
        return;
    walking.is_main = false;
    walking.prefix = walk->prefix;
    walk_tree(&walking, &tree, referrer);
    main->left = walking.left;
    if (is_items)
        walk->entries = walking.entries;
}

static void walk_leaf(struct walking *walking, const uint8_t *page, uint64_t number)
{
    for (size_t i = 0; i < count_of(page); i++) {
        const uint8_t *node = node_at(page, i);
        uint16_t flags = two_bytes(node + NODE_FLAGS_AT);
        mcds_bytes key = key_of(node);
        if (!follows(walking, key, false))
            note_damage(walking, number);
        uint64_t damaged = (flags & NODE_LONG) != 0
                               ? damage_of_long_value(walking, node, number)
                               : 0;
        if (damaged != 0)
            note_damage(walking, damaged);
        else
            walking->entries++;
        if ((flags & NODE_TREE) != 0 && walking->is_main)
            walk_named(walking, key, node + NODE_BYTES + key.length, number);
    }
}

/* Whether a child of a branch can have keys with the prefix. */
static bool may_have_prefix(const struct walking *walking, const uint8_t *page, size_t i)
{
    mcds_bytes prefix = walking->prefix;
    if (prefix.length == 0)
        return true;
    mcds_bytes first = i > 0 ? key_of(node_at(page, i)) : mcds_text("");
    if (i + 1 < count_of(page) && compare(key_of(node_at(page, i + 1)), prefix) <= 0)
        return false;
    if (first.length > prefix.length)
        first.length = prefix.length;
    return compare(first, prefix) <= 0;
}

/* `referrer` is the page that refers to this one. At most LEVELS_MAX deep. */
static void walk_page(struct walking *walking, uint64_t number, uint64_t referrer, int level)
{
    struct mcds__lmdb_walk *walk = walking->walk;
    assert(level >= 0 && level <= LEVELS_MAX);
    if (walk->is_unfinished)
        return;
    if (level == LEVELS_MAX || walking->left == 0 || !is_sound_page(walking, number)) {
        walk->is_unfinished = walk->is_shallow && walking->left == 0;
        if (!walk->is_unfinished)
            note_damage(walking, number <= walk->meta->last_page ? number : referrer);
        return;
    }
    walking->left--;
    walk->is_unfinished = is_time_over(walking);
    const uint8_t *page = page_at(walking, number);
    if (is_leaf(page)) {
        walk_leaf(walking, page, number);
        return;
    }
    for (size_t i = 0; i < count_of(page); i++) {
        const uint8_t *node = node_at(page, i);
        if (i > 0 && !follows(walking, key_of(node), true))
            note_damage(walking, number);
        if (may_have_prefix(walking, page, i))
            walk_page(walking, child_of(node), number, level + 1);
        else
            walking->is_partial = true;
    }
}

static void walk_tree(struct walking *walking, const struct mcds__lmdb_tree *tree,
                      uint64_t referrer)
{
    walking->is_ordered = tree->flags == 0;
    walking->is_partial = false;
    walking->bound = (mcds_bytes){NULL, 0};
    walking->is_separator = true;
    walking->entries = 0;
    if (tree->root != NO_PAGE)
        walk_page(walking, tree->root, referrer, 0);
    bool is_counted = !walking->is_partial && !walking->walk->is_unfinished;
    if (is_counted && walking->entries != tree->entries)
        note_damage(walking, tree->root != NO_PAGE ? tree->root : referrer);
}

void mcds__lmdb_walk(struct mcds__lmdb_walk *walk, int descriptor, uint64_t size)
{
    const struct mcds__lmdb_meta *meta = walk->meta;
    void *pages = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, descriptor, 0);
    walk->is_unfinished = pages == MAP_FAILED;
    if (walk->is_unfinished)
        return; /* LMDB cannot map it either */
    struct walking walking = {.walk = walk,
                              .pages = pages,
                              .end = size / meta->page_size,
                              .page_size = meta->page_size};
    walking.left = walk->is_shallow ? SHALLOW_PAGES : walking.end;
    if (!walk->is_shallow && walk->prefix.length == 0)
        walk_tree(&walking, &meta->free, METAS - 1);
    walking.is_main = true;
    walk_tree(&walking, &meta->main, METAS - 1);
    (void)munmap(pages, (size_t)size);
}
