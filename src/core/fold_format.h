/* How the value of one fold key is laid out.
 *
 *   'm' 'd' 'F' 2 | snapshot length u32 | rewrites u32 | floor u32 | sum u32
 *   | snapshot | record*
 *
 * The snapshot is what the records before it came to; the records are commands on one element
 * each, appended since. All numbers are little-endian; a varint has 7 bits a byte, the lowest
 * first. `sum` is a CRC-32C over the key, the 16 bytes before it and the snapshot.
 *
 *   snapshot: writers varint | writer* | entries varint | entry*
 *   writer:   id u64 | low u32 | newest second u32 | ids varint | (seq u32, code u8, number i64)*
 *   entry:    element length varint | value length varint * 2 + expires | element | value
 *             | expiry in ms, 6 bytes, where it expires
 *   record:   0xA7 | body length varint | sum u32 | body; sum: CRC-32C over the key and the body
 *   body:     operation u8 | parts u8 | writer u64 | seq u32 | seq - low varint | time in ms, 6 bytes
 *             | element length varint | element | the parts that are there: value length varint,
 *             value; expiry in ms, 6 bytes; expected length varint, expected; delta i64
 *
 * A whole record of an operation that this version does not know, or with parts that it does not,
 * has been written by a newer version: its key is neither read past it nor rewritten.
 *
 * The client flags, which an append keeps and only a rewrite can change, hold the key's state,
 * how much room it has, and the floor: so a writer that reads them
 * after its append knows whether its record is done with, without the value. */
#ifndef MCDS_CORE_FOLD_FORMAT_H
#define MCDS_CORE_FOLD_FORMAT_H

#include "base/key.h"

#define MCDS__FOLD_HEAD 20
/* A writer whose record begins further behind the snapshot is not done before the key has been
 * rewritten: so a key that everybody appends to stands still there, and whoever rewrites it
 * cannot be starved by appends for ever. The record counts nevertheless, and its repetition is
 * harmless: were it dropped by the rewriting, a writer who appended before and looked behind it
 * would take it for done. */
#define MCDS__FOLD_RECORDS_MAX 32768
/* A floor is a whole multiple of this, and never one whose 16 low bits are 0: they stand for
 * "none" in the flags. */
#define MCDS__FOLD_FLOOR_UNIT_S 64

enum mcds__fold_state {
    MCDS__FOLD_FOREIGN = 0,
    MCDS__FOLD_OPEN = 1, /* takes records */
    MCDS__FOLD_SEALED =
        2, /* the snapshot stands, records are void, the children are being made */
    MCDS__FOLD_MOVED = 3 /* all is in the children */
};

/* A place in the order of PUSH is a millisecond times 2^20, and room behind it for the
 * nanosecond. */
#define MCDS__FOLD_PLACE_SHIFT 20

uint32_t mcds__fold_flags(enum mcds__fold_state state, size_t snapshot_end, uint32_t floor_s);
static inline enum mcds__fold_state mcds__fold_state_of(uint32_t flags)
{
    return (flags & 12) == 0 ? (enum mcds__fold_state)(flags & 3) : MCDS__FOLD_FOREIGN;
}
/* Where the snapshot ends, rounded up a little. */
size_t mcds__fold_snapshot_end(uint32_t flags);
/* Whether a record that begins here is done with. */
bool mcds__fold_has_room_at(uint32_t flags, size_t begin);
/* Whether a record of this time is void because its writer may be forgotten. */
bool mcds__fold_is_below_floor(uint32_t flags, int64_t time_ms);

enum mcds__fold_verb {
    MCDS__FOLD_PUT = 1, /* value and expiry, whatever was there */
    MCDS__FOLD_PUT_NEW, /* only where nothing is */
    MCDS__FOLD_SWAP,    /* only where `expected` is */
    MCDS__FOLD_REMOVE,
    MCDS__FOLD_COUNT,  /* add delta to a decimal number; nothing is 0 */
    MCDS__FOLD_GATHER, /* the same for how often an element is there: at 0 it is gone */
    MCDS__FOLD_PUSH, /* one more occurrence, with its place in the order: delta behind its time */
    MCDS__FOLD_POP,  /* the first occurrence goes */
    MCDS__FOLD_RAISE /* a one-byte number to at least the byte in `value` */
};
#define MCDS__FOLD_VERB_MAX MCDS__FOLD_RAISE

/* What a command did. */
enum mcds__fold_code {
    MCDS__FOLD_CHANGED = 1, /* it made, changed or removed something that was as it supposes */
    MCDS__FOLD_PRESENT,     /* PUT: replaced; PUT_NEW: something is there; RAISE: high enough */
    MCDS__FOLD_ABSENT,      /* nothing is there */
    MCDS__FOLD_DIFFERS,     /* SWAP: something else is there */
    MCDS__FOLD_NO_NUMBER,   /* COUNT on what is no number */
    MCDS__FOLD_RANGE        /* COUNT would leave 64 bits */
};
#define MCDS__FOLD_CODE_MAX MCDS__FOLD_RANGE

struct mcds__fold_command {
    enum mcds__fold_verb verb;
    mcds_bytes element;
    mcds_bytes value;
    mcds_bytes expected;
    int64_t delta;
    int64_t expires_ms; /* Unix time; 0 = never */
};

struct mcds__fold_record {
    struct mcds__fold_command command;
    uint64_t writer;
    uint32_t seq;
    uint32_t
        low; /* the writer's oldest operation under way: what is older is over and done with */
    int64_t time_ms;
};

/* No element is empty, and none is longer. */
#define MCDS__FOLD_ELEMENT_MAX 1024

/* Append the record to `out`. False: no room. */
bool mcds__fold_put_record(mcds_buffer *out, mcds_bytes key,
                           const struct mcds__fold_record *record);
/* The same with a sum that mcds__fold_readdress is to make; also where in `out` its element is. */
bool mcds__fold_write_record(mcds_buffer *out, const struct mcds__fold_record *record,
                             mcds_bytes *element_out);
/* The same record for another key: its sum is made anew. */
void mcds__fold_readdress(mcds_buffer *record, mcds_bytes key);
/* What the sums of all records of a key begin with. */
uint32_t mcds__fold_key_sum(mcds_bytes key);
/* Reads the record at *at and moves *at past it. MCDS_OK; MCDS_CORRUPT: no more, or bytes that are
 * not a record; MCDS_UNSUPPORTED: one of a newer version. After a failure *at is where it stopped. */
int mcds__fold_next_record(mcds_bytes value, uint32_t key_sum, size_t *at,
                           struct mcds__fold_record *record_out);

/* Writing a snapshot: false where the buffer has no room. */
bool mcds__fold_put_varint(mcds_buffer *out, uint64_t number);
bool mcds__fold_put_u32(mcds_buffer *out, uint32_t number);
bool mcds__fold_put_u64(mcds_buffer *out, uint64_t number);
bool mcds__fold_put_time(mcds_buffer *out, int64_t time_ms);

struct mcds__fold_head {
    uint32_t rewrites;
    uint32_t floor_s;
    mcds_bytes snapshot;
    size_t records_at;
    uint32_t key_sum; /* what the sums of all records begin with */
};

/* MCDS_OK; MCDS_CORRUPT: foreign or damaged; MCDS_UNSUPPORTED: of a newer version. */
int mcds__fold_open_head(mcds_bytes value, mcds_bytes key, struct mcds__fold_head *head_out);
/* Fill in the head of a value whose first MCDS__FOLD_HEAD bytes were left free and whose
 * snapshot follows them to the end. */
void mcds__fold_seal_head(mcds_buffer *value, mcds_bytes key,
                          const struct mcds__fold_head *head);

#endif
