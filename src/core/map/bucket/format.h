/* Bucket: the layout of the value of one map key.
 *
 *   'm' 'd' 'F' 2 | snapshot length u32 | rewrites u32 | floor u32 | sum u32
 *   | snapshot | record*
 *
 * The snapshot is the result of all earlier records; the records are commands on one element
 * each, appended since then. All numbers are little-endian; a varint has 7 bits a byte, the
 * lowest first. `sum` is a CRC-32C over the key, the client flags, the 16 bytes before it and
 * the snapshot.
 *
 *   snapshot: writers varint | writer* | entries varint | entry*
 *   writer:   id u64 | low u32 | newest second u32 | ids varint | (seq u32, code u8, number i64)*
 *   entry:    element length varint | value length varint * 2 + expires | element | value
 *             | expiry in ms, 6 bytes, where it expires
 *   record:   0xA7 | body length varint | sum u32 | body; sum: CRC-32C over the key and the body
 *   body:     operation u8 | parts u8 | writer u64 | seq u32 | seq - low varint | time in ms, 6 bytes
 *             | element length varint | element | the parts present: value length varint,
 *             value; expiry in ms, 6 bytes; expected length varint, expected; delta i64
 *
 * A whole record of an operation that this version does not know, or with parts that it does
 * not, was written by a newer version: readers stop there, and the key is not rewritten.
 *
 * The client flags, which an append keeps and only a rewrite can change, hold the key's state,
 * how much space it has, and the floor: so a writer that reads them after its append knows
 * without the value whether its record counts. */
#ifndef MCDS_CORE_MAP_BUCKET_FORMAT_H
#define MCDS_CORE_MAP_BUCKET_FORMAT_H

#include <string.h>

#include "base/key.h"

#define MCDS__MAP_HEAD 20
#define MCDS__MAP_ID_LENGTH 13 /* of an id in a snapshot */
#define MCDS__MAP_VARINT_MAX 10
/* A writer whose record begins farther after the snapshot must wait until the key is
 * rewritten. So appends to a busy key pause there and cannot starve the client that rewrites
 * it. The record counts nevertheless, and repeating it is harmless: if the rewriting dropped
 * it, a writer that appended before and read the flags afterwards would take it for done. */
#define MCDS__MAP_RECORDS_MAX 32768
/* A value has at most as many records, entries or writers, and ids, so that a forged one is refused
 * soon. Several hundred processes a second would have to write into one key for ten minutes. */
#define MCDS__MAP_ITEMS_MAX 262144
#define MCDS__MAP_IDS_MAX 1048576
/* A floor is a multiple of this. Its 16 low bits are never 0, which means "none" in the
 * flags. */
#define MCDS__MAP_FLOOR_UNIT_S 64

enum mcds__map_state {
    MCDS__MAP_FOREIGN = 0,
    MCDS__MAP_OPEN = 1, /* takes records */
    /* The snapshot counts, records are void, and clients add the children. */
    MCDS__MAP_SEALED = 2,
    MCDS__MAP_MOVED = 3 /* all entries are in the children */
};

/* A position in the order of PUSH: milliseconds times 2^20, plus up to 2^20 for nanoseconds. */
#define MCDS__MAP_PLACE_SHIFT 20

uint32_t mcds__map_flags(enum mcds__map_state state, size_t snapshot_end, uint32_t floor_s);
static inline enum mcds__map_state mcds__map_state_of(uint32_t flags)
{
    return (flags & 12) == 0 ? (enum mcds__map_state)(flags & 3) : MCDS__MAP_FOREIGN;
}
/* The end of the snapshot, rounded up to this unit. */
#define MCDS__MAP_END_UNIT 256
size_t mcds__map_snapshot_end(uint32_t flags);
/* Whether a record that begins here has space, so that its writer need not wait. */
bool mcds__map_has_room_at(uint32_t flags, size_t begin);

enum mcds__map_verb {
    MCDS__MAP_PUT = 1, /* value and expiry, whatever was there */
    MCDS__MAP_PUT_NEW, /* only if the entry does not exist */
    MCDS__MAP_SWAP,    /* only if the value is `expected` */
    MCDS__MAP_REMOVE,
    MCDS__MAP_COUNT,  /* add delta to a decimal number; a missing one is 0 */
    MCDS__MAP_GATHER, /* the same for the number of occurrences; 0 removes the element */
    MCDS__MAP_PUSH, /* one more occurrence, with its position in the order: its time plus delta */
    MCDS__MAP_POP,   /* remove the first occurrence */
    MCDS__MAP_RAISE, /* raise a one-byte number to at least the byte in `value` */
    MCDS__MAP_TAKE,  /* take delta tokens, at the rates in `value`: take.h */
    MCDS__MAP_JOBS   /* change a part of a queue by the order in `value`: jobs.h */
};
#define MCDS__MAP_VERB_MAX MCDS__MAP_JOBS

/* The outcome of a command. */
enum mcds__map_code {
    MCDS__MAP_CHANGED = 1, /* it created, changed or removed an entry, and its condition held */
    MCDS__MAP_PRESENT,     /* PUT: replaced; PUT_NEW: the entry exists; RAISE: high enough */
    MCDS__MAP_ABSENT,      /* the entry does not exist */
    MCDS__MAP_DIFFERS,     /* SWAP: the value is another */
    MCDS__MAP_NO_NUMBER, /* COUNT: the value is not a number; TAKE, JOBS: it has another form */
    MCDS__MAP_RANGE,     /* COUNT would leave 64 bits */
    MCDS__MAP_REFUSED,   /* TAKE: a rate does not let it pass; JOBS: the part is closed */
    MCDS__MAP_TOO_OLD    /* TAKE: its time is too far before that of the entry */
};
#define MCDS__MAP_CODE_MAX MCDS__MAP_TOO_OLD

struct mcds__map_command {
    enum mcds__map_verb verb;
    mcds_bytes element;
    mcds_bytes value;
    mcds_bytes expected;
    int64_t delta;
    int64_t expires_ms; /* Unix time; 0 = never */
};

struct mcds__map_record {
    struct mcds__map_command command;
    uint64_t writer;
    uint32_t seq;
    uint32_t low; /* the writer's oldest operation in flight: older ones have ended */
    int64_t time_ms;
};

/* No element is empty, and none is longer. */
#define MCDS__MAP_ELEMENT_MAX 1024

/* Append the record to `out` without a sum, which mcds__map_readdress adds; also the position of its
 * element in `out`. MCDS__MAP_NUMBER_ROOM bytes are left, so that a number does not move it to other
 * memory. False: no memory. */
#define MCDS__MAP_NUMBER_ROOM 8
bool mcds__map_write_record(mcds_buffer *out, const struct mcds__map_record *record,
                            mcds_bytes *element_out);
/* Give a record that was written with the number 0 another, and its writer. The buffer has
 * MCDS__MAP_NUMBER_ROOM bytes left. */
void mcds__map_number_record(mcds_buffer *record, uint64_t writer, uint32_t seq, uint32_t low,
                             mcds_bytes *element_out);
/* Prepare the record for another key: compute its sum again. */
void mcds__map_readdress(mcds_buffer *record, mcds_bytes key);
/* The start value for the sums of all records of a key. */
uint32_t mcds__map_key_sum(mcds_bytes key);

/* Writing a snapshot: false where the buffer has no room. */
bool mcds__bucket_put_varint(mcds_buffer *out, uint64_t number);
bool mcds__bucket_put_u32(mcds_buffer *out, uint32_t number);
bool mcds__bucket_put_u64(mcds_buffer *out, uint64_t number);

/* Writing a snapshot into reserved space: each returns the position after its bytes. */
static inline uint8_t *mcds__bucket_write_varint(uint8_t *out, uint64_t number)
{
    for (; number >= 128; number >>= 7)
        *out++ = (uint8_t)(number | 128);
    *out++ = (uint8_t)number;
    return out;
}

static inline uint8_t *mcds__bucket_write_bytes(uint8_t *out, mcds_bytes bytes)
{
    if (bytes.length > 0)
        memcpy(out, bytes.data, bytes.length);
    return out + bytes.length;
}

struct mcds__map_head {
    uint32_t rewrites;
    uint32_t floor_s;
    mcds_bytes snapshot;
    size_t records_at;
    uint32_t key_sum; /* the start value for the sums of all records */
};

/* MCDS_OK; MCDS_CORRUPT: foreign or damaged, or stored with other flags; MCDS_UNSUPPORTED: of a
 * newer version. */
int mcds__map_open_head(mcds_bytes value, mcds_bytes key, uint32_t flags,
                        struct mcds__map_head *head_out);
/* The number of records after the snapshot that are this one. */
uint32_t mcds__map_count_record(mcds_bytes value, mcds_bytes key, uint32_t flags,
                                uint64_t writer, uint32_t seq);
/* Fill in the head of a value whose first MCDS__MAP_HEAD bytes were left free and whose
 * snapshot follows them to the end. It must be stored with these flags. */
void mcds__map_seal_head(mcds_buffer *value, mcds_bytes key, uint32_t flags,
                         const struct mcds__map_head *head);

#endif
