/* Searches a key in the tree of the items, page by page. */
#include "store/lmdb/check/lookup.h"

#include <assert.h>
#include <lmdb.h>
#include <unistd.h>

#include "base/environment.h"
#include "store/lmdb/check/page.h"
#include "store/lmdb/file.h"

#define LEVELS_MAX 64

/* The page of a record of the unnamed database, or NULL. The system aligns the map only to its own
 * pages, which may be smaller. */
static const uint8_t *page_around(const struct mcds__lmdb_file *file,
                                  const struct mcds__lmdb_view *view, const uint8_t *record)
{
    size_t step = (size_t)sysconf(_SC_PAGESIZE);
    if (step > file->page_size)
        step = file->page_size;
    const uint8_t *page = record - (uintptr_t)record % step;
    for (size_t i = 0; i < file->page_size / step; i++, page -= step)
        if (two_bytes(page + FLAGS_AT) == PAGE_LEAF && word(page) >= METAS &&
            word(page) < view->end)
            return page;
    return NULL;
}

int mcds__lmdb_view(const struct mcds__lmdb_file *file, MDB_txn *txn,
                    struct mcds__lmdb_view *view)
{
    uint64_t transaction = mdb_txn_id(txn);
    if (view->transaction == transaction)
        return 0;
    MDB_envinfo info;
    mcds_bytes record;
    *view = (struct mcds__lmdb_view){0};
    int code = mdb_env_info(file->env, &info);
    if (code == 0)
        code = mcds__lmdb_entry_get(txn, file->root, "items", &record);
    if (code != 0 || record.length != TREE_BYTES)
        return code != 0 ? code : MDB_CORRUPTED;
    /* Another process may have written more pages since, and the file may be larger than the map. */
    view->end = (uint64_t)info.me_last_pgno + 1;
    if (view->end > info.me_mapsize / file->page_size)
        view->end = info.me_mapsize / file->page_size;
    const uint8_t *tree = record.data;
    view->root = word(tree + TREE_ROOT_AT);
    const uint8_t *page = page_around(file, view, tree);
    if (page == NULL)
        return MDB_CORRUPTED;
    assert(page <= tree && tree + TREE_BYTES <= page + file->page_size);
    view->pages = page - word(page) * file->page_size;
    view->transaction = transaction;
    return 0;
}

/* Whether the key of a node is on its page. */
static bool has_key(const struct mcds__lmdb_file *file, const uint8_t *page,
                    const uint8_t *node)
{
    size_t at = (size_t)(node - page);
    return at >= two_bytes(page + UPPER_AT) && at + NODE_BYTES <= file->page_size &&
           key_of(node).length <= file->page_size - at - NODE_BYTES;
}

/* NULL: damage. This checks what is_sound_page checks, except the nodes. */
static const uint8_t *page_of(const struct mcds__lmdb_file *file,
                              const struct mcds__lmdb_view *view, uint64_t number)
{
    if (number < METAS || number >= view->end)
        return NULL;
    const uint8_t *page = view->pages + number * file->page_size;
    uint16_t flags = two_bytes(page + FLAGS_AT);
    size_t lower = two_bytes(page + LOWER_AT);
    size_t upper = two_bytes(page + UPPER_AT);
    bool is_sound = word(page) == number && (flags == PAGE_BRANCH || flags == PAGE_LEAF) &&
                    lower > HEAD_BYTES && lower % 2 == 0 && lower <= upper &&
                    upper <= file->page_size;
    return is_sound ? page : NULL;
}

/* Of the nodes from `from` on, the number of those whose keys are not after `key`. False: damage.
 * *order_out: how `key` compares with the last of these keys. */
static bool search_page(const struct mcds__lmdb_file *file, const uint8_t *page, size_t from,
                        mcds_bytes key, size_t *count_out, int *order_out)
{
    size_t low = from;
    size_t high = count_of(page);
    assert(from <= high && high <= file->page_size);
    *order_out = 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const uint8_t *node = node_at(page, middle);
        if (!has_key(file, page, node))
            return false;
        int order = compare(key, key_of(node));
        if (order < 0) {
            high = middle;
            continue;
        }
        *order_out = order;
        low = middle + 1;
        if (order == 0)
            break;
    }
    *count_out = low;
    return true;
}

static int long_value(const struct mcds__lmdb_file *file, const struct mcds__lmdb_view *view,
                      const uint8_t *reference, mcds_bytes *value)
{
    uint64_t number = word(reference);
    uint64_t count = ((uint64_t)value->length + HEAD_BYTES + file->page_size - 1) /
                     file->page_size;
    if (number < METAS || number >= view->end || count > view->end - number)
        return MDB_PAGE_NOTFOUND;
    const uint8_t *page = view->pages + number * file->page_size;
    if (word(page) != number || two_bytes(page + FLAGS_AT) != PAGE_LONG ||
        four_bytes(page + COUNT_AT) < count)
        return MDB_CORRUPTED;
    value->data = page + HEAD_BYTES;
    return 0;
}

static int value_of(const struct mcds__lmdb_file *file, const struct mcds__lmdb_view *view,
                    const uint8_t *page, const uint8_t *node, mcds_bytes *out)
{
    assert(is_leaf(page) && has_key(file, page, node));
    const uint8_t *at = node + NODE_BYTES + key_of(node).length;
    size_t room = file->page_size - (size_t)(at - page);
    uint16_t flags = two_bytes(node + NODE_FLAGS_AT);
    *out = (mcds_bytes){at, low_half(node)};
    if (flags == NODE_LONG && room >= WORD)
        return long_value(file, view, at, out);
    return flags == 0 && out->length <= room ? 0 : MDB_CORRUPTED;
}

/* Whether the key can only be on this leaf. */
static bool is_within(const struct mcds__lmdb_file *file, const uint8_t *leaf, mcds_bytes key)
{
    assert(is_leaf(leaf) && count_of(leaf) > 0);
    const uint8_t *first = node_at(leaf, 0);
    const uint8_t *last = node_at(leaf, count_of(leaf) - 1);
    return has_key(file, leaf, first) && has_key(file, leaf, last) &&
           compare(key, key_of(first)) >= 0 && compare(key, key_of(last)) <= 0;
}

/* 0: *leaf_out is the leaf that has the key, if any has. */
static int find_leaf(const struct mcds__lmdb_file *file, const struct mcds__lmdb_view *view,
                     mcds_bytes key, const uint8_t **leaf_out)
{
    uint64_t number = view->root;
    for (int level = 0; level < LEVELS_MAX; level++) {
        const uint8_t *page = page_of(file, view, number);
        size_t count;
        int order;
        *leaf_out = page;
        if (page == NULL)
            return number < view->end ? MDB_CORRUPTED : MDB_PAGE_NOTFOUND;
        if (is_leaf(page))
            return 0;
        /* The first key of a branch is before all others, whatever it has. */
        if (!search_page(file, page, 1, key, &count, &order) ||
            !has_key(file, page, node_at(page, count - 1)))
            return MDB_CORRUPTED;
        assert(count > 0 && count <= count_of(page));
        number = child_of(node_at(page, count - 1));
    }
    return MDB_CORRUPTED;
}

int mcds__lmdb_lookup(const struct mcds__lmdb_file *file, struct mcds__lmdb_view *view,
                      mcds_bytes key, mcds_bytes *value_out)
{
    assert(view->transaction != 0);
    size_t count = 0;
    int order;
    if (view->root == NO_PAGE)
        return MDB_NOTFOUND;
    if (view->leaf == NULL || !is_within(file, view->leaf, key)) {
        const uint8_t *leaf;
        int code = find_leaf(file, view, key, &leaf);
        view->leaf = code == 0 ? leaf : NULL;
        if (code != 0)
            return code;
    }
    if (!search_page(file, view->leaf, 0, key, &count, &order))
        return MDB_CORRUPTED;
    if (order != 0)
        return MDB_NOTFOUND;
    return value_of(file, view, view->leaf, node_at(view->leaf, count - 1), value_out);
}

/* The state of a visit. */
struct visiting {
    const struct mcds__lmdb_file *file;
    const struct mcds__lmdb_view *view;
    mcds_bytes from;
    uint64_t left; /* the pages that may still be visited: a damaged file may contain a cycle */
    bool (*visit)(void *context, mcds_bytes key, mcds_bytes value);
    void *context;
};

static bool visit_leaf(const struct visiting *visiting, const uint8_t *page)
{
    assert(is_leaf(page));
    bool is_going_on = true;
    for (size_t i = 0; i < count_of(page) && is_going_on; i++) {
        const uint8_t *node = node_at(page, i);
        mcds_bytes value;
        if (!has_key(visiting->file, page, node) || compare(key_of(node), visiting->from) < 0)
            continue;
        if (value_of(visiting->file, visiting->view, page, node, &value) != 0)
            value = (mcds_bytes){NULL, 0};
        is_going_on = visiting->visit(visiting->context, key_of(node), value);
    }
    return is_going_on;
}

/* At most LEVELS_MAX deep. */
static bool visit_page(struct visiting *visiting, uint64_t number, int level)
{
    const uint8_t *page = page_of(visiting->file, visiting->view, number);
    size_t count = 1;
    int order;
    if (page == NULL || level == LEVELS_MAX || visiting->left == 0)
        return true;
    assert(level >= 0 && level < LEVELS_MAX);
    visiting->left--;
    if (is_leaf(page))
        return visit_leaf(visiting, page);
    if (!search_page(visiting->file, page, 1, visiting->from, &count, &order))
        count = 1;
    bool is_going_on = true;
    for (size_t i = count - 1; i < count_of(page) && is_going_on; i++)
        if (has_key(visiting->file, page, node_at(page, i)))
            is_going_on = visit_page(visiting, child_of(node_at(page, i)), level + 1);
    return is_going_on;
}

void mcds__lmdb_visit(const struct mcds__lmdb_file *file, const struct mcds__lmdb_view *view,
                      mcds_bytes from,
                      bool (*visit)(void *context, mcds_bytes key, mcds_bytes value),
                      void *context)
{
    struct visiting visiting = {file, view, from, view->end, visit, context};
    if (view->root != NO_PAGE)
        (void)visit_page(&visiting, view->root, 0);
}
