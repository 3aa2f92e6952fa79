/* Bucket: the value of a map key in memory, which is the snapshot with the records applied. */
#ifndef MCDS_CORE_MAP_BUCKET_BUCKET_H
#define MCDS_CORE_MAP_BUCKET_BUCKET_H

#include "base/hash/siphash.h"
#include "core/map/bucket/format.h"
#include "core/map/bucket/index.h"
#include "core/map/bucket/sorted.h"

/* The hash of an element: its first bits select the child, level by level. */
static inline uint64_t mcds__map_hash(const uint64_t hash_key[2], mcds_bytes element)
{
    return mcds__siphash(hash_key, element);
}

#define MCDS__MAP_LEVEL_BITS 2
#define MCDS__MAP_CHILDREN 4
#define MCDS__MAP_DEPTH_MAX 16

struct mcds__map_entry {
    mcds_bytes element;
    mcds_bytes value;
    int64_t expires_ms;
    uint64_t hash; /* 0 if the bucket holds this element alone */
    bool there;
    uint16_t jobs;  /* of a part of a queue that was checked: their number plus 1; else 0 */
    uint32_t spare; /* free bytes after the value, which was made here with space to grow */
};

struct mcds__map_writer {
    uint64_t id;
    uint32_t low;
    uint32_t highest; /* sequence number seen */
    uint32_t newest_s;
    uint32_t ids;    /* while encoding */
    uint32_t before; /* while encoding: the id with the highest seq below `low`, plus 1 */
    uint32_t last;   /* the id with the highest seq that has a number, plus 1; 0: none */
    uint32_t first_id, newest_id; /* the ends of the chain of its ids, plus 1; 0: none */
};

struct mcds__map_id {
    uint32_t writer; /* index */
    uint32_t seq;
    enum mcds__map_code code;
    uint32_t next;  /* id of the same writer, plus 1; 0: none */
    int64_t number; /* COUNT, GATHER: the number after; TAKE: take.h */
};

/* The form of a list, whose entries PUSH and POP change. */
#define MCDS__MAP_FORM_LIST 2

/* A small bucket lives in the struct itself; a larger one moves to the environment's memory. */
#define MCDS__MAP_ENTRIES_CAPACITY 48
#define MCDS__MAP_WRITERS_CAPACITY 8
#define MCDS__MAP_IDS_CAPACITY 48
/* The most that writers take, also where a store accepts larger values: each read of a key reads them. */
#define MCDS__MAP_WRITERS_ROOM ((size_t)1 << 20)

struct mcds__map_chunk;

struct mcds__bucket {
    const mcds_env *env;
    mcds_bytes key;
    mcds_bytes only; /* only this element: of other records only the sums and the writers
                        are read; at NULL: all */
    struct mcds__map_entry *entries;
    struct mcds__map_writer *writers;
    struct mcds__map_id *ids;
    struct mcds__bucket_index entry_index, writer_index; /* only where there are many */
    struct mcds__bucket_index id_index; /* the same, where some arrived out of order */
    uint32_t entry_count, entry_room;
    uint32_t writer_count, writer_room;
    uint32_t id_count, id_room;
    uint64_t hash_key[2]; /* of the life; zero at the start */
    uint32_t rewrites;
    uint32_t floor_s;
    size_t writers_room; /* bytes that the writers may take in a snapshot */
    size_t removed;      /* bytes of the values that records have removed */
    uint64_t steps;      /* items compared in searches: the cost of loading a value */
    uint8_t form;        /* of the structure; 0 at the start */
    uint64_t order_last; /* of PUSH */
    /* For a large list whose additions arrived out of order: */
    struct mcds__bucket_sorted sorted_ids;    /* with a number, by writer and seq */
    struct mcds__bucket_sorted sorted_places; /* of all entries */
    struct mcds__map_chunk *chunks;           /* values made here */
    struct mcds__map_entry entries_in[MCDS__MAP_ENTRIES_CAPACITY];
    struct mcds__map_writer writers_in[MCDS__MAP_WRITERS_CAPACITY];
    struct mcds__map_id ids_in[MCDS__MAP_IDS_CAPACITY];
};

void mcds__bucket_init(struct mcds__bucket *bucket, const mcds_env *env, mcds_bytes key,
                       mcds_bytes only);
void mcds__bucket_free(struct mcds__bucket *bucket);

/* Load a value, which must live longer than the bucket. Returns MCDS_OK, MCDS_CORRUPT,
 * MCDS_UNSUPPORTED (a newer version has written it), MCDS_NO_MEMORY. */
int mcds__map_load(struct mcds__bucket *bucket, mcds_bytes value, uint32_t flags);

/* The reason for a value that could not be loaded, by the result of mcds__map_load. */
const mcds_reason *mcds__map_reason(int result);

/* The entry of `element`, which may be that of a removed element; NULL: none. */
const struct mcds__map_entry *mcds__map_find(struct mcds__bucket *bucket, mcds_bytes element);
/* Whether an entry exists at now_ms. */
static inline bool mcds__map_is_there(const struct mcds__map_entry *entry, int64_t now_ms)
{
    return entry->there && (entry->expires_ms == 0 || entry->expires_ms > now_ms);
}
/* The outcome of a record, or NULL if it is not known. */
const struct mcds__map_id *mcds__map_outcome(struct mcds__bucket *bucket, uint64_t writer,
                                             uint32_t seq);
/* Bytes that the entries take in a snapshot, and how many there are. */
size_t mcds__map_weight(const struct mcds__bucket *bucket, int64_t now_ms, uint32_t *count_out);

/* Write a value without records under `key`. Returns false if memory is refused. Sets *flags_out
 * to the flags with which it must be stored. */
bool mcds__bucket_encode(struct mcds__bucket *bucket, mcds_bytes key,
                         enum mcds__map_state state, int64_t now_ms, mcds_buffer *out,
                         uint32_t *flags_out);
/* Write a value for each child of a key of this depth, with the entries whose hash has its number as
 * the next digit. The children have the floor of the key and are OPEN. */
bool mcds__bucket_split(struct mcds__bucket *bucket, uint32_t depth, int64_t now_ms,
                        const struct mcds__key keys[MCDS__MAP_CHILDREN],
                        mcds_buffer values[MCDS__MAP_CHILDREN],
                        uint32_t flags_out[MCDS__MAP_CHILDREN]);

#endif
