/* Segment: streams of numbered keys, each of which receives appended records until it is full.
 *
 * A stream is one generation of a list or one chunk of a log; its records have an order. Its
 * keys are NS:TAG:NAME:STREAM:SEGMENT, with SEGMENT from 0:
 *
 *   segment 0  [header | record | record ... | void]    closed: longer than the limit
 *   segment 1  [header | record ]                       open: takes the next record
 *
 * A segment is closed by its size: a record counts if and only if it ends at or before
 * MCDS__SEGMENT_LIMIT; bytes beyond are void. Sizes only grow, so a closed segment can receive
 * nothing more, however late a request arrives. So no seal and no compare-and-set are needed.
 *
 * A writer's request is an ordered batch: append the record to segment p, then read its size.
 * At most the limit: the record counts. More: it may be void, and goes into segment p + 1 with
 * the same id; a reader drops the second copy of an id.
 *
 * Order is exact across segments. A record in segment q is acknowledged, and segment q is read,
 * only when all segments below q are known to be closed. So whatever is appended later comes
 * after it: it can no longer go into a segment below q. A handle that has enough in flight to
 * fill segment p continues in the next segment before the replies arrive, at most
 * MCDS__SEGMENT_AHEAD segments ahead; if segment p is still open, because some requests were
 * lost, the writer fills it with zeros before it acknowledges a record in a later segment. A
 * reader never writes: it stops at the first open segment, since nothing after that has been
 * acknowledged. It continues only after a segment that was lost and made again: one that the
 * next segment does not name as the one before, or that is open while a segment exists more
 * than MCDS__SEGMENT_AHEAD further on, or while the next one is missing although it was made.
 *
 * A segment is made by `add` with a header. The client flags are its incarnation: seconds and
 * random bits. The header contains the incarnation of the segment before. A writer remembers
 * the incarnation of the segment that it appends to, and flags its next record LOSS if that
 * segment is gone or another. So a reader detects a loss (a gap) from the missing segment, from
 * incarnations that do not match, or from the flag.
 *
 * The number of segments, if it is more than 1, is stored under NS:TAG:NAME:STREAM: the count.
 * A writer acknowledges a record in segment p > 0 after the count is p + 1; segment/count.c
 * explains the order. So all segments below the count have been made, and those that are
 * missing are lost, the last one too. A writer that knows nothing of the stream never starts
 * again below it, and a reader reads up to it. A store that evicts the least recently used
 * items evicts the first segments before the count. If the count is gone too, a handle still
 * misses the segments that it has seen.
 *
 * An id is a writer (one handle) and its sequence number. Copies of a record are at most
 * MCDS__SEGMENT_DISTANCE_MAX segments apart: a writer that must go further reads the segment
 * where the first copy may be, which is closed and therefore decides. */
#ifndef MCDS_CORE_SEGMENT_SEGMENT_H
#define MCDS_CORE_SEGMENT_SEGMENT_H

#include <pthread.h>

#include "core/descriptor/descriptor.h"
#include "core/segment/record.h"
#include "engine/operation.h"

#define MCDS__SEGMENT_AHEAD 4
#define MCDS__SEGMENT_TAILS 8
/* The number of a stream of a log: its life above this many bits, the chunk of time below. */
#define MCDS__SEGMENT_CHUNK_BITS 34
#define MCDS__SEGMENT_CHUNK_MASK ((UINT64_C(1) << MCDS__SEGMENT_CHUNK_BITS) - 1)
/* Streams of which a handle remembers the first segment. */
#define MCDS__SEGMENT_SIGHTS 32
/* Client flags of the end segment of a stream that has ended. In a header: the
 * segment before was lost. */
#define MCDS__SEGMENT_END UINT32_MAX

/* The end of one stream, as a handle knows it. */
struct mcds__segment_tail {
    uint64_t stream;
    bool in_use;
    bool known;
    bool exists;          /* `segment` has been seen */
    uint64_t used;        /* when, as a count of uses */
    int64_t known_ns;     /* when a reply last described it */
    uint64_t segment;     /* where the next record goes */
    uint32_t incarnation; /* of `segment`; 0 = not known */
    uint32_t before;      /* of the one before; 0 = not known */
    size_t size;          /* of `segment`, as seen last */
    size_t in_flight;     /* bytes in flight to `segment` */
    bool is_blocked;      /* the segments below must be closed first */
    uint64_t settled;     /* all segments below are closed */
    uint8_t closed;       /* bit i: segment settled + i is closed too */
    uint64_t counted;     /* the count is at least this */
    mcds_cas_token
        token;        /* of the count, as read last; zero: it was missing, or is not known */
    bool is_counting; /* a batch in flight writes it for `segment` */
    uint64_t reading; /* the last round of a pipeline in which a batch reads it */
    uint64_t keyed;   /* `key` is that of the segment before this one; 0: of none */
    size_t route_length;
    uint32_t key_sum; /* its checksum, with which those of the records begin */
    struct mcds__key key;
};

/* The part of a stream that a handle has seen: its first segment and its last one. */
struct mcds__segment_sight {
    uint64_t stream;
    uint32_t incarnation; /* of the first segment; 0: it has not been seen */
    uint32_t last;        /* of segment made - 1, as seen first */
    uint64_t made;        /* the segments below this have been made */
    bool owes_loss;       /* list: a push has found a loss, and has not yet recorded it */
};

/* A handle on all streams of one structure; any number of threads use it. */
struct mcds__segments {
    mcds_store *store;
    const mcds_env *env;
    struct mcds__key root;
    /* The root; NULL: none is read. A record counts only while the root of its life exists, so a
     * client that appends one reads the root. */
    const struct mcds__key *descriptor;
    /* List: one route, and streams may end. Log: every stream has its own route. */
    bool one_route;
    uint64_t writer;
    _Atomic uint64_t next_ticket;
    pthread_mutex_t mutex; /* guards all that follows */
    uint64_t takings;
    struct mcds__segment_tail tails[MCDS__SEGMENT_TAILS];
    /* Indexed by the stream, modulo their number. */
    struct mcds__segment_sight sights[MCDS__SEGMENT_SIGHTS];
};

void mcds__segments_init(struct mcds__segments *segments, mcds_store *store,
                         const struct mcds__key *root, const struct mcds__key *descriptor,
                         bool one_route);
void mcds__segments_destroy(struct mcds__segments *segments);
/* The key of a segment. Returns the route, which is the beginning of the key. */
mcds_bytes mcds__segment_key(const struct mcds__segments *segments, uint64_t stream,
                             uint64_t segment, struct mcds__key *key_out);
/* A number for the next record: an id that no other has. */
void mcds__segment_take_id(struct mcds__segments *segments, uint64_t *writer_out,
                           uint32_t *seq_out);
static inline bool mcds__segment_is_closed(size_t size, uint32_t flags)
{
    return size > MCDS__SEGMENT_LIMIT || flags == MCDS__SEGMENT_END;
}

/* Whether a segment of this incarnation is older than the other, by a second or more. */
static inline bool mcds__segment_is_older(uint32_t incarnation, uint32_t other)
{
    return (int32_t)((incarnation | 1023) - (other | 1023)) < 0;
}
/* Where `length` bytes go. They are counted as in flight until given back, unless `settles`:
 * then none are. False: not known. `round`: the round of a pipeline, or 0. Here and below, now_ns
 * is a time on the monotonic clock that need not be exact. */
struct mcds__segment_place {
    uint64_t segment;
    bool makes, is_taken; /* it has not been seen; in: it may be made, else nothing is taken */
    bool counts;          /* the batch must write the count too */
    bool reads;           /* the batch must read the count */
    bool settles;         /* the segments below must be closed first */
    bool owes_loss;       /* the record must have the flag for lost segments */
    /* For making it; no other request has it, so a segment that a late request makes again is not
     * taken for the lost one. */
    uint32_t incarnation;
    uint32_t before;
    mcds_cas_token token;  /* of the count, for writing it */
    struct mcds__key *key; /* in: what becomes the key of the segment, unless `settles`, */
    size_t route_length;   /* how much of it is the route, */
    uint32_t key_sum;      /* and its checksum */
};
bool mcds__segment_take_place(struct mcds__segments *segments, uint64_t stream, size_t length,
                              uint64_t round, int64_t now_ns,
                              struct mcds__segment_place *place_out);
void mcds__segment_give_place(struct mcds__segments *segments, uint64_t stream,
                              uint64_t segment, size_t length);
/* `segment` has been seen with this size, and `given` bytes are no longer in flight to it. */
struct mcds__segment_seen {
    bool is_another; /* it is not the segment that this handle knew */
    bool is_counted; /* the count is known to include it */
    bool is_settled; /* all segments below are known to be closed */
};
struct mcds__segment_seen mcds__segment_note_seen(struct mcds__segments *segments,
                                                  uint64_t stream, uint64_t segment,
                                                  size_t size, uint32_t incarnation,
                                                  size_t given, int64_t now_ns);
/* The part of the stream that this handle has seen; `made` 0: nothing, or too many others since. */
struct mcds__segment_sight mcds__segment_sight_copy(struct mcds__segments *, uint64_t stream);
/* A reader has seen the segment. */
void mcds__segment_note_made(struct mcds__segments *segments, uint64_t stream, uint64_t segment,
                             uint32_t incarnation);
/* Whether the count is known to include this segment; segment 0 needs none. */
bool mcds__segment_is_counted(struct mcds__segments *, uint64_t stream, uint64_t segment);
/* A batch that was to write the count for this segment has been answered: the count is
 * `counted` at least; 0: that is not known. */
void mcds__segment_note_counted(struct mcds__segments *, uint64_t stream, uint64_t segment,
                                uint64_t counted);
/* The count is less than was known: the store has lost it. */
void mcds__segment_note_uncounted(struct mcds__segments *, uint64_t stream, uint64_t counted);
/* The count is `counted` at least, and has this token; zero: it is not known. */
void mcds__segment_note_count(struct mcds__segments *, uint64_t stream, uint64_t counted,
                              mcds_cas_token token);
/* A reader has seen the first segment. An incarnation that was seen before is kept. */
void mcds__segment_note_sight(struct mcds__segments *, uint64_t stream, uint32_t incarnation);
/* A record with the flag for lost segments was acknowledged. */
void mcds__segment_note_recorded(struct mcds__segments *segments, uint64_t stream);
/* The segment is missing. True: it has been made before. */
bool mcds__segment_note_missing(struct mcds__segments *, uint64_t stream, uint64_t segment);
/* The segment is closed. */
void mcds__segment_note_closed(struct mcds__segments *, uint64_t stream, uint64_t segment);
/* The segments that a record in `segment` waits for: [*first_out, segment). */
bool mcds__segment_is_settled(struct mcds__segments *, uint64_t stream, uint64_t segment,
                              uint64_t *first_out);
/* The store has refused an append to a segment of the stream. The handle searches for the end
 * again, and closes the segments below before it appends more, so that a record that is refused
 * again is in no segment. */
void mcds__segment_note_blocked(struct mcds__segments *segments, uint64_t stream);
/* The store may have refused an append: close the segments below before the next one. */
void mcds__segment_note_refused(struct mcds__segments *segments, uint64_t stream);
/* All segments below this one are closed. */
void mcds__segment_note_settled(struct mcds__segments *, uint64_t stream, uint64_t segment);
/* The end of the stream has been found: its last segment, or the first one to be made; all
 * below `settled` are closed. */
void mcds__segment_note_tail(struct mcds__segments *, const struct mcds__segment_tail *tail);
/* Forget a stream: it has ended. */
void mcds__segment_forget(struct mcds__segments *segments, uint64_t stream);
void mcds__segment_forget_all(struct mcds__segments *segments);

/* Reading many keys of one stream at once. */
#define MCDS__SEGMENT_CAPACITY MCDS_BATCH_MAX
struct mcds__segment_scratch {
    uint64_t positions[MCDS__SEGMENT_CAPACITY];
    struct mcds__key keys[MCDS__SEGMENT_CAPACITY];
    mcds_request requests[MCDS__SEGMENT_CAPACITY];
    mcds_request refused; /* of an earlier batch, whose value cannot be read */
    struct mcds__key refused_key;
};
/* The scratch memory, allocated at the first call; NULL: no memory. */
struct mcds__segment_scratch *mcds__segment_get_scratch(struct mcds__segment_scratch **scratch,
                                                        const mcds_env *env);
/* A command on the key that the caller has written to scratch->keys[i], as request `i`. */
void mcds__segment_fill(struct mcds__segment_scratch *scratch, uint32_t i, mcds_command command,
                        mcds_bytes route);
/* A GET of this segment as request `i`. */
void mcds__segment_fill_get(const struct mcds__segments *segments, uint64_t stream,
                            struct mcds__segment_scratch *scratch, uint32_t i, uint64_t segment,
                            uint32_t options);
/* Bytes that close a segment of this size, as request `i`. */
void mcds__segment_fill_close(const struct mcds__segments *segments, uint64_t stream,
                              struct mcds__segment_scratch *scratch, uint32_t i,
                              uint64_t segment, size_t size);
/* Segments far after `from`, at growing distances, as requests first, first + 1, ...; returns
 * how many requests there are then. */
#define MCDS__SEGMENT_FAR 24
uint32_t mcds__segment_fill_far(const struct mcds__segments *segments, uint64_t stream,
                                struct mcds__segment_scratch *scratch, uint32_t first,
                                uint64_t from);

/* The key of the count of a stream, with which all its other keys begin. Returns the route. */
mcds_bytes mcds__segment_count_key(const struct mcds__segments *segments, uint64_t stream,
                                   struct mcds__key *key_out);
/* A read of the count as request `i`, and its result; 0: not known. No larger is written. */
#define MCDS__SEGMENT_COUNT_MAX ((uint64_t)UINT32_MAX)
void mcds__segment_fill_count(const struct mcds__segments *segments, uint64_t stream,
                              struct mcds__segment_scratch *scratch, uint32_t i);
uint64_t mcds__segment_count_of(const mcds_reply *reply, const mcds_buffer *values);

/* Find the nearest segment after a run of missing ones: the first in [low, high), or, with
 * `down`, the last. It assumes that a store evicts old segments first, and may miss single ones
 * that are left of many. At most 7 round trips. DONE with MCDS_OK: `found`. Or failures of
 * reading. */
struct mcds__segment_find {
    uint64_t stream;
    uint64_t low;
    uint64_t high;
    bool down;
    bool found;       /* out */
    uint64_t segment; /* out */
    bool is_asked;    /* private; false at the start */
    uint32_t count;
};
enum mcds__step mcds__segment_find_step(struct mcds__segment_find *find,
                                        const struct mcds__segments *segments,
                                        struct mcds__segment_scratch *scratch,
                                        struct mcds__operation *operation);

/* Find the end of a stream: 1 round trip for a small one, 3 for a million segments, 1 more if
 * the count is beyond the segments. DONE with MCDS_OK: the handle knows it; `ended`: the stream
 * has ended. Or failures of reading. */
struct mcds__segment_locate {
    uint64_t stream;
    bool ended;           /* out */
    bool exists;          /* out: `segment` does */
    uint64_t segment;     /* out: the last one, or the first to be made */
    size_t size;          /* out: of `segment` */
    uint32_t incarnation; /* out: of `segment`; 0: it does not exist */
    uint8_t stage;        /* private; 0 at the start, as all that follow */
    uint64_t from;        /* the search begins here */
    uint64_t counted;     /* the count, */
    uint64_t made;        /* or what this handle has seen, if that is more */
    bool is_led;          /* `made` has led the search */
    uint32_t count;
    struct mcds__segment_scratch *scratch;
};
enum mcds__step mcds__segment_locate_step(struct mcds__segment_locate *locate,
                                          struct mcds__segments *segments,
                                          struct mcds__operation *operation);
/* Begin with a segment whose flags say that it is the end segment: `ended`, or MCDS_CORRUPT. */
enum mcds__step mcds__segment_see_end(struct mcds__segment_locate *locate,
                                      const struct mcds__segments *segments,
                                      struct mcds__operation *operation, uint64_t segment);

/* Append records. The caller begins, puts records, and steps until DONE with
 *
 *   MCDS_OK         all of them count, once each; of a list, unless `truth` is OVER
 *   any failure     with `doubt`: each once, not at all, or not yet. The caller returns
 *                   MCDS_AMBIGUOUS
 *   MCDS_BUSY       with `ended`: the stream has ended, or may have; nothing counts. For a log:
 *                   the root of its life is missing. Without `ended`: its segment vanishes
 *                   repeatedly
 *   others          not all of them count, and those that do not never will */
struct mcds__segment_append {
    struct mcds__segments *segments;
    uint64_t stream;
    uint64_t ttl_ms;
    bool ended;      /* out */
    bool is_cleared; /* out: it has certainly ended */
    bool looks;      /* private: the last request of the batch reads the root */
    bool proves;     /* private: it has asked for the root alone */
    uint8_t truth;   /* out, after MCDS_OK: enum mcds__segment_truth, of the root of its life */
    uint64_t
        round;     /* private: of the last batch; a read of the root in it proves this append */
    uint8_t stage; /* private, as all that follow */
    bool goes_on;  /* to another stage at once */
    bool doubt;    /* a copy may count in `doubted` or later */
    bool is_in;    /* in `segment`; that counts once the segments below are closed, */
    bool is_settled; /* which is known */
    bool is_past; /* `doubted` was made again: a copy must be at the end for readers past it */
    bool has_passed; /* it has gone on to the end once, because others had passed the segment */
    bool tells_loss;
    bool makes;
    bool checks;     /* the first request reads the count before the segment is made */
    bool leads;      /* a request before the append makes the segment, or gets it */
    bool counts;     /* the batch writes the count, and gets the segment after this one */
    bool reads;      /* the batch reads the count */
    bool is_counted; /* the count includes this segment, or the store is full */
    bool is_refused; /* it ends with `refused` */
    bool is_early;   /* the count includes a segment that the store has refused */
    bool is_partly_in;
    bool under_way;
    bool has_asked; /* for blocks */
    bool has_sent;  /* these records */
    bool is_alone;  /* the other operations of the pipeline wait */
    bool is_fresh;
    bool had_segments; /* in: the stream had segments, so if none exists, all are lost */
    uint8_t walked, makings, refusals;
    uint32_t remade; /* the incarnation with which a lost segment may have been made again */
    uint64_t segment;
    uint64_t doubted;
    uint64_t doubted_last; /* no copy is after this segment */
    uint64_t count;        /* that is being written, */
    mcds_cas_token token;  /* and what is replaced; zero: nothing */
    uint8_t counting;      /* rounds in which only the count was written */
    uint8_t counted_later; /* segments of others that were found after it was written */
    mcds_reply refused;
    size_t length; /* of the records, as asked for */
    struct mcds__segment_locate locate;
    struct mcds__segment_scratch *scratch;
    struct mcds__key key;
    struct mcds__key count_key;
    struct mcds__key next_key;
    char count_text[20];
    mcds_request requests[8];
    uint8_t opening[MCDS__SEGMENT_HEADER_LENGTH];
    uint32_t block; /* of a large payload, the next to be stored */
    uint32_t block_count;
    mcds_buffer large; /* its blocks, framed */
    mcds_buffer records;
    uint8_t records_scratch[192];
};
void mcds__segment_append_begin(struct mcds__segment_append *append,
                                struct mcds__segments *segments, uint64_t stream,
                                uint64_t ttl_ms);
/* Add a record with this payload, of which the bytes are copied; flags, times: as in the
 * record. A large payload must be the only one. Returns MCDS_OK, MCDS_TOO_BIG,
 * MCDS_NO_MEMORY. */
int mcds__segment_append_put(struct mcds__segment_append *append, uint8_t flags,
                             int64_t filed_ms, int64_t when_ms, mcds_bytes payload);
/* Whether another payload fits into the same batch. */
bool mcds__segment_append_fits(const struct mcds__segment_append *append, size_t length);
enum mcds__step mcds__segment_append_step(struct mcds__segment_append *append,
                                          struct mcds__operation *operation);
/* Continue in this stream, after `ended` or at the beginning; is_fresh: it has just been found
 * to be the current one. False: a copy may count in the previous stream. */
bool mcds__segment_append_move(struct mcds__segment_append *append, uint64_t stream,
                               bool is_fresh);
/* Continue where it ended, because the root of its life exists after all. */
void mcds__segment_append_resume(struct mcds__segment_append *append);
/* Prepare for more records, after DONE with MCDS_OK or in another life. */
void mcds__segment_append_again(struct mcds__segment_append *append);
void mcds__segment_append_free(struct mcds__segment_append *append);

/* Whether the root of a stream's life exists; an append must know it at its end. */
enum mcds__segment_truth { MCDS__SEGMENT_UNPROVED, MCDS__SEGMENT_ALIVE, MCDS__SEGMENT_OVER };
/* A GET of the root, without its value. */
mcds_request mcds__segment_request_root(const struct mcds__segments *segments);
/* The conclusion from its reply for the life of this stream. */
enum mcds__segment_truth mcds__segment_truth_of(uint64_t stream, const mcds_reply *reply);
/* Prepares a batch. True: the caller adds a GET of the root to it. */
bool mcds__segment_prove_along(struct mcds__segment_append *append,
                               const struct mcds__operation *operation);
/* Processes the reply of that GET. */
void mcds__segment_take_proof(struct mcds__segment_append *append,
                              const struct mcds__operation *operation, const mcds_reply *reply);
/* The present knowledge. If there is none, reads a store in this process at once. */
enum mcds__segment_truth mcds__segment_is_alive(struct mcds__segment_append *append,
                                                const struct mcds__operation *operation);
/* mcds__segment_is_alive, which asks for the root if necessary. DONE with MCDS_OK: `truth`; or failures. */
enum mcds__step mcds__segment_prove_step(struct mcds__segment_append *append,
                                         struct mcds__operation *operation);

/* Large payloads: blocks under keys of their own, NS:TAG:NAME:STREAM:WRITER:SEQ:BLOCK, each a
 * frame of type P. A record with the flag LARGE contains the length of the whole in 8 bytes and
 * that of a block in 4. The blocks are stored before the record is appended. */
#define MCDS__SEGMENT_LARGE_MAX ((uint64_t)64 << 20)
#define MCDS__SEGMENT_WHERE 12
mcds_bytes mcds__segment_block_key(const struct mcds__segments *segments, uint64_t stream,
                                   uint64_t writer, uint32_t seq, uint32_t block,
                                   struct mcds__key *key_out);
/* Take a large payload: turns `record` into a reference to it, in `where`, which has space for
 * MCDS__SEGMENT_WHERE bytes. Returns MCDS_OK, MCDS_TOO_BIG, MCDS_NO_MEMORY. */
int mcds__segment_take_large(struct mcds__segment_append *append,
                             struct mcds__segment_record *record, uint8_t *where);
/* DONE with MCDS_OK: all blocks are stored. */
enum mcds__step mcds__segment_store_blocks(struct mcds__segment_append *append,
                                           struct mcds__operation *operation);
/* How many blocks a LARGE record has, and how long they are; 0: mcds writes no such record. */
uint32_t mcds__segment_block_count(const struct mcds__segment_record *record,
                                   uint64_t *length_out, uint32_t *block_length_out);

/* Fetch the payload of a LARGE record. DONE with MCDS_OK: `payload`, until the next fetch;
 * MCDS_LOST: a block is missing; MCDS_CORRUPT; failures of reading. */
struct mcds__segment_fetch {
    struct mcds__segments *segments;
    mcds_bytes payload; /* out */
    uint8_t stage;      /* private; 0 at the start, as all that follow */
    uint32_t block;
    uint32_t asked;
    mcds_buffer whole;
    struct mcds__segment_scratch *scratch;
};
void mcds__segment_fetch_begin(struct mcds__segment_fetch *fetch,
                               struct mcds__segments *segments);
enum mcds__step mcds__segment_fetch_step(struct mcds__segment_fetch *fetch, uint64_t stream,
                                         const struct mcds__segment_record *record,
                                         struct mcds__operation *operation);
void mcds__segment_fetch_free(struct mcds__segment_fetch *fetch);

#endif
