/* What a fold key's value comes to: the snapshot with its records applied, in memory. */
#ifndef MCDS_CORE_FOLD_CONTENTS_H
#define MCDS_CORE_FOLD_CONTENTS_H

#include "base/siphash.h"
#include "core/fold_format.h"
#include "core/fold_index.h"
#include "core/fold_sorted.h"

/* Where an element belongs: its first bits choose the child, level by level. */
static inline uint64_t mcds__fold_hash(const uint64_t hash_key[2], mcds_bytes element)
{
    return mcds__siphash(hash_key, element);
}

#define MCDS__FOLD_LEVEL_BITS 4
#define MCDS__FOLD_CHILDREN 16
#define MCDS__FOLD_DEPTH_MAX 8

struct mcds__fold_entry {
    mcds_bytes element;
    mcds_bytes value;
    int64_t expires_ms;
    uint64_t hash; /* 0 where contents are of this element alone */
    bool there;
    uint32_t spare; /* bytes after the value, which was made here with room to grow */
};

struct mcds__fold_writer {
    uint64_t id;
    uint32_t low;
    uint32_t highest; /* sequence number seen */
    uint32_t newest_s;
    uint32_t ids;    /* while encoding */
    uint32_t before; /* while encoding: the id with the highest seq below `low`, plus 1 */
    uint32_t last;   /* the id with the highest seq that has a number, plus 1; 0: none */
    uint32_t first_id, newest_id; /* the ends of the chain of its ids, plus 1; 0: none */
};

struct mcds__fold_id {
    uint32_t writer; /* index */
    uint32_t seq;
    enum mcds__fold_code code;
    uint32_t next;  /* id of the same writer, plus 1; 0: none */
    int64_t number; /* COUNT, GATHER: the number after */
};

/* The form of a list, whose entries PUSH and POP change. */
#define MCDS__FOLD_FORM_LIST 2

/* Small contents live in the struct itself; larger ones move to the environment's memory. */
#define MCDS__FOLD_ENTRIES_ROOM 48
#define MCDS__FOLD_WRITERS_ROOM 8
#define MCDS__FOLD_IDS_ROOM 48

struct mcds__fold_chunk;

struct mcds__fold_contents {
    const mcds_env *env;
    mcds_bytes key;
    mcds_bytes only; /* this element alone: other records are good for their sums and for what
                        they tell of their writers; at NULL: all */
    struct mcds__fold_entry *entries;
    struct mcds__fold_writer *writers;
    struct mcds__fold_id *ids;
    struct mcds__fold_index entry_index, writer_index; /* only where there are many */
    struct mcds__fold_index id_index; /* the same, where some arrived out of order */
    uint32_t entry_count, entry_room;
    uint32_t writer_count, writer_room;
    uint32_t id_count, id_room;
    uint64_t hash_key[2]; /* of the life; zero at the start */
    uint32_t rewrites;
    uint32_t floor_s;
    uint64_t steps;      /* items looked at in searches: what a value costs */
    uint8_t form;        /* of the structure; 0 at the start */
    uint64_t order_last; /* of PUSH */
    /* Of a large list, some of whose additions arrived out of order: */
    struct mcds__fold_sorted sorted_ids;    /* with a number, by writer and seq */
    struct mcds__fold_sorted sorted_places; /* of all entries */
    struct mcds__fold_chunk *chunks;        /* values made here */
    struct mcds__fold_entry entries_in[MCDS__FOLD_ENTRIES_ROOM];
    struct mcds__fold_writer writers_in[MCDS__FOLD_WRITERS_ROOM];
    struct mcds__fold_id ids_in[MCDS__FOLD_IDS_ROOM];
};

void mcds__fold_contents_init(struct mcds__fold_contents *contents, const mcds_env *env,
                              mcds_bytes key, mcds_bytes only);
void mcds__fold_contents_free(struct mcds__fold_contents *contents);

/* Take in a value, which must outlive the contents. Returns MCDS_OK, MCDS_CORRUPT,
 * MCDS_UNSUPPORTED (a newer version has written it), MCDS_NO_MEMORY. */
int mcds__fold_load(struct mcds__fold_contents *contents, mcds_bytes value, uint32_t flags);

/* What to say of a value that could not be taken in, by what mcds__fold_load returned. */
const mcds_reason *mcds__fold_reason(int result);

/* The writer of this id, or NULL. */
struct mcds__fold_writer *mcds__fold_find_writer(struct mcds__fold_contents *contents,
                                                 uint64_t id);
/* The entry of `element`, whether or not it is there, or NULL. */
const struct mcds__fold_entry *mcds__fold_find(struct mcds__fold_contents *contents,
                                               mcds_bytes element);
/* Whether an entry is there at now_ms. */
static inline bool mcds__fold_is_there(const struct mcds__fold_entry *entry, int64_t now_ms)
{
    return entry->there && (entry->expires_ms == 0 || entry->expires_ms > now_ms);
}
/* What became of a record, or NULL where it is not known. */
const struct mcds__fold_id *mcds__fold_outcome(struct mcds__fold_contents *contents,
                                               uint64_t writer, uint32_t seq);
/* Bytes that the entries take in a snapshot, and how many there are. */
size_t mcds__fold_weight(const struct mcds__fold_contents *contents, int64_t now_ms,
                         uint32_t *count_out);

/* Which part of the entries: those whose hash has `digit` at this depth. */
#define MCDS__FOLD_ALL (-1)
/* Write a value without records under `key`. `depth` is where `digit` stands. Returns false
 * where memory is refused. Sets *floor_out to what belongs into the flags. */
bool mcds__fold_encode(struct mcds__fold_contents *contents, mcds_bytes key, uint32_t depth,
                       int digit, int64_t now_ms, mcds_buffer *out, uint32_t *floor_out);

#endif
