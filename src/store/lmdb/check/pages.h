/* The pages of a file, read without LMDB, which aborts or crashes at pages that were overwritten.
 *
 * A file has two meta pages, the header, and trees of branch and leaf pages. Each page has its own
 * number, its kind and the places of its nodes; long values are on pages of their own. A walk visits
 * the pages of the trees of one transaction, and checks everything to which LMDB trusts: numbers,
 * kinds, places, the order of the keys, and the number of the entries that a tree says it has. The
 * content of values is not checked. */
#ifndef MCDS_STORE_LMDB_CHECK_PAGES_H
#define MCDS_STORE_LMDB_CHECK_PAGES_H

#include "mcds/backend.h"

struct mcds__lmdb_tree {
    uint64_t root; /* a page */
    uint64_t entries;
    uint16_t flags; /* LMDB's: 0 for keys in bytewise order, one value each */
};

/* LMDB's newest meta page. */
struct mcds__lmdb_meta {
    uint64_t transaction;
    uint64_t last_page;
    uint32_t page_size;
    struct mcds__lmdb_tree free; /* the lists of free pages */
    struct mcds__lmdb_tree main; /* the unnamed database */
};

enum mcds__lmdb_header {
    MCDS__LMDB_HEADER_SOUND,
    MCDS__LMDB_HEADER_OTHER, /* not LMDB's, or of another version of LMDB */
    MCDS__LMDB_HEADER_SHORT, /* the file ends in it */
    MCDS__LMDB_HEADER_DAMAGED
};

/* What to do about a damaged file. */
#define MCDS__LMDB_DAMAGE_FIX                                                                  \
    "restore a backup; 'mcds dump NAME' may still read what is not damaged"

/* Reads both meta pages. *out is valid if they are SOUND. */
enum mcds__lmdb_header mcds__lmdb_read_header(int descriptor, struct mcds__lmdb_meta *out);

struct mcds__lmdb_walk {
    const struct mcds__lmdb_meta *meta;
    /* If it is not empty, only the pages of "items" that can have keys with this prefix are visited,
     * and no pages of long values. */
    mcds_bytes prefix;
    bool is_shallow;     /* visits only the unnamed database, which LMDB reads at opening */
    const mcds_env *env; /* its clock, for until_ns; NULL: the walk takes any time */
    int64_t until_ns;

    uint64_t damaged;   /* the first damaged page; 0: none */
    bool is_cut;        /* a page that is in use is beyond the end of the file */
    bool is_unfinished; /* the time was over, or the file cannot be mapped */
    uint64_t entries;   /* of "items", on sound pages */
    uint64_t expected;  /* the number of them that the file has noted */
};

/* Visits the pages of a file of `size` bytes. While it lasts, nothing may reuse pages of the
 * transaction of `meta`: a read transaction prevents that. */
void mcds__lmdb_walk(struct mcds__lmdb_walk *walk, int descriptor, uint64_t size);

#endif
