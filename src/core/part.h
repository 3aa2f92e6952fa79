/* Core part: families of numbered keys, each of which takes appended records until it is full.
 *
 * A family is what belongs together and keeps its order: one generation of a list, one chunk of
 * a log. Its keys are NS:TAG:NAME:FAMILY:PART with PART from 0. A part is closed by its size: a
 * record counts if and only if it ends at or before MCDS__PART_LIMIT; what lies beyond is void.
 * Sizes only grow, so a part that is longer than the limit can take nothing more, whoever still
 * believes that it can and however late a request arrives: no seal, no compare-and-set, nothing
 * to wait for.
 *
 * A writer's request is an ordered batch: append the record to part p, then look at its size. At
 * most the limit: the record counts. More: it may be void, and goes into part p + 1 with the same
 * id; a reader drops the second copy of an id.
 *
 * Order is exact across parts. A record in part q is acknowledged, and part q is read, only when
 * all parts below q are known to be closed. So whatever is appended after that stands behind: it
 * cannot go into a part below q any more. A handle that has enough under way to fill part p goes
 * on in the next part ahead of the replies, by MCDS__PART_AHEAD parts at most; should part p turn
 * out to be open still, because some of it was lost on the way, the writer fills it with zeros
 * before it acknowledges what it has put into a later part. A reader never writes: it ends with
 * the first open part, since nothing after that has been acknowledged. It reads on only after a
 * part that was lost and made again: one that the next part does not name as the one before, or
 * that is open while a part exists more than MCDS__PART_AHEAD further on.
 *
 * A part is made with `add` and an opening record. The client flags are its birth: seconds and
 * chance. An opening tells the birth of the part before, a writer remembers that of the part it
 * appends to, and marks its next record when that is gone or another: so a reader learns that
 * something is missing (a gap) from the missing part, from births that do not fit together, or
 * from the mark. What nobody remembers is not noticed: the last part of a family, gone before any
 * handle that knew it writes again.
 *
 * Who makes part p > 0 of a family, or finds it to be the last one and the count to be less, writes
 * p under NS:TAG:NAME:FAMILY: the count. All parts below it have been made, so those that are
 * missing are lost. A writer that knows nothing of the family never begins again below it, and a
 * reader reads as far. A store that evicts what was not used for the longest time takes the first
 * parts before the count. It is a hint: it may be missing, or too small.
 *
 * An id is a writer (one handle) and its sequence number. Copies of a record stand at most
 * MCDS__PART_DISTANCE_MAX parts apart: a writer that is driven on further reads the part where
 * the first copy may stand, which is closed and so has the last word. */
#ifndef MCDS_CORE_PART_H
#define MCDS_CORE_PART_H

#include <pthread.h>

#include "core/descriptor.h"
#include "core/part_record.h"
#include "engine/operation.h"

#define MCDS__PART_AHEAD 4
#define MCDS__PART_TAILS 8
/* The family of a log: a part of its life above so many bits, the chunk of time below. */
#define MCDS__PART_CHUNK_BITS 34
#define MCDS__PART_CHUNK_MASK ((UINT64_C(1) << MCDS__PART_CHUNK_BITS) - 1)
/* Families of which a handle remembers the first part. */
#define MCDS__PART_SIGHTS 32
/* Rounds of pipelines whose proofs are remembered. */
#define MCDS__PART_PROOFS 8
/* Client flags of a part behind the last one of a family that has ended. */
#define MCDS__PART_END UINT32_MAX

/* What a handle knows of the end of one family. */
struct mcds__part_tail {
    uint64_t family;
    bool in_use;
    bool known;
    bool exists;      /* `part` has been seen */
    uint64_t used;    /* when, in takings of places */
    int64_t known_ns; /* when a reply told of it last */
    uint64_t part;    /* where the next record goes */
    uint32_t birth;   /* of `part`; 0 = not known */
    uint32_t before;  /* of the one before; 0 = not known */
    uint32_t proposal;
    size_t size;      /* of `part`, as seen last */
    size_t in_flight; /* bytes under way to `part` */
    bool is_blocked;  /* the store has refused to make a part longer */
    uint64_t settled; /* all parts below are closed */
    uint8_t closed;   /* bit i: so is part settled + i */
    bool is_counted;  /* the count is `part` at least, or about to be written */
};

/* The first part of a family, as seen last. */
struct mcds__part_sight {
    uint64_t family;
    uint32_t birth; /* 0: none has been seen */
};

/* A handle on all families of one structure; any number of threads use it. */
struct mcds__parts {
    mcds_store *store;
    const mcds_env *env;
    struct mcds__key root;
    /* The root of a log; NULL: a list. A record counts only while the root of its life is there,
     * so whoever appends one looks at the root. */
    const struct mcds__key *descriptor;
    /* A round of a pipeline, the life that was looked for in it, and one bit: it was seen. */
    _Atomic uint64_t proofs[MCDS__PART_PROOFS];
    /* One route for all families, and a family may end: a list. Else every family has its own: a
     * log. */
    bool one_route;
    uint64_t writer;
    pthread_mutex_t mutex; /* over all that follows */
    uint64_t next_ticket;
    uint64_t takings;
    struct mcds__part_tail tails[MCDS__PART_TAILS];
    struct mcds__part_sight sights[MCDS__PART_SIGHTS]; /* at the family modulo their number */
};

void mcds__parts_init(struct mcds__parts *parts, mcds_store *store,
                      const struct mcds__key *root, const struct mcds__key *descriptor);
void mcds__parts_destroy(struct mcds__parts *parts);
/* The key of a part. Returns what decides the server: the beginning of the key. */
mcds_bytes mcds__part_key(const struct mcds__parts *parts, uint64_t family, uint64_t part,
                          struct mcds__key *key_out);
/* A number for the next record: an id that no other has. */
void mcds__part_take_id(struct mcds__parts *parts, uint64_t *writer_out, uint32_t *seq_out);
static inline bool mcds__part_is_closed(size_t size, uint32_t flags)
{
    return size > MCDS__PART_LIMIT || flags == MCDS__PART_END;
}

/* Whether a part of this birth is older than one of the other, by a second or more. */
static inline bool mcds__part_is_older(uint32_t birth, uint32_t other)
{
    return (int32_t)((birth | 1023) - (other | 1023)) < 0;
}
/* Where `length` bytes go. They are under way until given back, unless it settles: then nothing has
 * been taken. False: not known. Here and below, now_ns is a time on the monotonic clock that need not be exact. */
struct mcds__part_place {
    uint64_t part;
    bool makes;   /* it has not been seen */
    bool counts;  /* the count is to be written */
    bool settles; /* the parts below have to be closed first */
    uint32_t birth;
    uint32_t before;
};
bool mcds__part_take_place(struct mcds__parts *parts, uint64_t family, size_t length,
                           int64_t now_ns, struct mcds__part_place *place_out);
void mcds__part_give_place(struct mcds__parts *parts, uint64_t family, uint64_t part,
                           size_t length);
/* Part `part` has been seen with this size. True: it is not the part that this handle knew. */
bool mcds__part_note_seen(struct mcds__parts *parts, uint64_t family, uint64_t part,
                          size_t size, uint32_t birth, int64_t now_ns);
/* The birth of the first part of the family, as this handle has seen it; 0: it has seen none, or
 * too many others since. */
uint32_t mcds__part_sight_of(struct mcds__parts *parts, uint64_t family);
/* A reader has seen the first part. Another one that was seen before is not forgotten for it. */
void mcds__part_note_sight(struct mcds__parts *parts, uint64_t family, uint32_t birth);
/* It is missing. True: this handle has seen it before. */
bool mcds__part_note_missing(struct mcds__parts *parts, uint64_t family, uint64_t part);
/* It cannot take anything. */
void mcds__part_note_closed(struct mcds__parts *parts, uint64_t family, uint64_t part);
/* The parts that a record in `part` waits for: [*first_out, part). */
bool mcds__part_is_settled(struct mcds__parts *parts, uint64_t family, uint64_t part,
                           uint64_t *first_out);
/* The store has refused to make a part of the family longer: its end is looked for again, and the
 * parts below are closed before anything is put into it, so that what the store refuses again is in
 * no part. */
void mcds__part_note_blocked(struct mcds__parts *parts, uint64_t family);
/* All parts below this one are closed. */
void mcds__part_note_settled(struct mcds__parts *parts, uint64_t family, uint64_t part);
/* `tail` has been found as the last part, or the first one to be made; all below `settled` are
 * closed. */
void mcds__part_note_tail(struct mcds__parts *parts, const struct mcds__part_tail *tail);
/* Forget what is known of a family's end. */
void mcds__part_forget(struct mcds__parts *parts, uint64_t family);
void mcds__part_forget_all(struct mcds__parts *parts);

/* Looking at many keys of one family at once. */
#define MCDS__PART_ROOM MCDS_BATCH_MAX
struct mcds__part_room {
    uint64_t positions[MCDS__PART_ROOM];
    struct mcds__key keys[MCDS__PART_ROOM];
    mcds_request requests[MCDS__PART_ROOM];
};
/* The room, made at the first call; NULL: no memory. */
struct mcds__part_room *mcds__part_get_room(struct mcds__part_room **room, const mcds_env *env);
/* A GET of this part as request `i`. */
void mcds__part_fill_get(const struct mcds__parts *parts, uint64_t family,
                         struct mcds__part_room *room, uint32_t i, uint64_t part,
                         uint32_t options);
/* Bytes that close a part of this size, as request `i`. */
void mcds__part_fill_close(const struct mcds__parts *parts, uint64_t family,
                           struct mcds__part_room *room, uint32_t i, uint64_t part,
                           size_t size);
/* Parts far behind `from`, at growing distances, as requests first, first + 1, ...; returns how
 * many requests there are then. */
#define MCDS__PART_FAR 24
uint32_t mcds__part_fill_far(const struct mcds__parts *parts, uint64_t family,
                             struct mcds__part_room *room, uint32_t first, uint64_t from);

/* The key of the count of a family, with which all its other keys begin. Returns the route. */
mcds_bytes mcds__part_count_key(const struct mcds__parts *parts, uint64_t family,
                                struct mcds__key *key_out);
/* A read of the count as request `i`, and what it has brought; 0: not known. Larger ones are none
 * that we write. */
#define MCDS__PART_COUNT_MAX ((uint64_t)UINT32_MAX)
void mcds__part_fill_count(const struct mcds__parts *parts, uint64_t family,
                           struct mcds__part_room *room, uint32_t i);
uint64_t mcds__part_count_of(const mcds_reply *reply, const mcds_buffer *values);

/* Find the part that is nearest after a stretch of missing ones: the first in [low, high), or,
 * down, the last. It expects that a store forgets old parts first, and may pass single ones that
 * are left of many. At most 7 round trips. DONE with MCDS_OK: `found`. Or failures of reading. */
struct mcds__part_find {
    uint64_t family;
    uint64_t low;
    uint64_t high;
    bool down;
    bool found;    /* out */
    uint64_t part; /* out */
    bool is_asked; /* private; false at the start */
    uint32_t count;
};
enum mcds__step mcds__part_find_step(struct mcds__part_find *find,
                                     const struct mcds__parts *parts,
                                     struct mcds__part_room *room,
                                     struct mcds__operation *operation);

/* Find the end of a family: 1 round trip for a small one, 3 for a million parts, 1 more where the
 * count leads further than the parts. DONE with MCDS_OK: the handle knows it; `ended`: the family
 * has. Or failures of reading. */
struct mcds__part_locate {
    uint64_t family;
    bool ended;     /* out */
    bool exists;    /* out: `part` does */
    uint64_t part;  /* out: the last one, or the first to be made */
    size_t size;    /* out: of `part` */
    uint32_t birth; /* out: of `part`; 0: it does not exist */
    uint8_t stage;  /* private; 0 at the start, as all that follow */
    uint64_t from;  /* looked at from here on */
    uint64_t made;  /* the count */
    bool is_led;    /* by the count */
    uint32_t count;
    struct mcds__part_room *room;
};
enum mcds__step mcds__part_locate_step(struct mcds__part_locate *locate,
                                       struct mcds__parts *parts,
                                       struct mcds__operation *operation);

/* Append records. The caller begins, puts records, and steps until DONE with
 *
 *   MCDS_OK         all of them count, once each
 *   MCDS_AMBIGUOUS  each once, not at all, or not yet
 *   MCDS_BUSY       and `ended`: the family has ended, or may have, as far as this handle knows;
 *                   nothing counts. Of a log: the root of its life is not there. Without `ended`:
 *                   its part vanishes again and again
 *   others          not all of them count, and those that do not never will */
struct mcds__part_append {
    struct mcds__parts *parts;
    uint64_t family;
    uint64_t ttl_ms;
    bool ended;     /* out */
    bool is_marked; /* out: surely */
    bool made;      /* out: a part */
    bool looks;     /* private: the batch looks at the root, as its last request */
    bool proves;    /* private: it has asked for the root alone */
    uint8_t truth;  /* private: enum mcds__part_truth */
    uint64_t round; /* private: another operation may look at it in this round */
    uint8_t stage;  /* private, as all that follow */
    bool doubt;     /* a copy may count in `doubted` or behind it */
    bool is_in;     /* in `part`; that counts once the parts below are closed */
    bool tells_loss;
    bool makes;
    bool leads; /* a request comes before the append: it makes the part, or looks at it */
    bool counts;
    bool under_way;
    bool has_asked; /* for pieces */
    bool is_fresh;
    bool had_parts; /* in: the family has had some, so where there is none, all are lost */
    uint8_t walked;
    uint8_t makings;
    uint8_t refusals;
    uint64_t part;
    uint64_t doubted;
    size_t length; /* of the records, as asked for */
    struct mcds__part_locate locate;
    struct mcds__part_room *room;
    struct mcds__key key;
    struct mcds__key count_key;
    char count_text[20];
    mcds_request requests[5];
    uint8_t opening[MCDS__PART_OPENING_LENGTH];
    uint32_t piece; /* of a large payload, the next to be stored */
    uint32_t piece_count;
    mcds_buffer large; /* its pieces, framed */
    mcds_buffer records;
    uint8_t records_room[192];
};
/* Fill the request that writes the count, since a part is made: all below it have been made. */
void mcds__part_write_count(struct mcds__part_append *append, mcds_request *request);
/* How many bytes of whole records fit into `room` bytes. */
size_t mcds__part_whole_records(const struct mcds__part_append *append, size_t room);
void mcds__part_append_begin(struct mcds__part_append *append, struct mcds__parts *parts,
                             uint64_t family, uint64_t ttl_ms);
/* Add a record with this payload, of which the bytes are copied; flags, times: as in the record.
 * A large payload must be the only one. Returns MCDS_OK, MCDS_TOO_BIG, MCDS_NO_MEMORY. */
int mcds__part_append_put(struct mcds__part_append *append, uint8_t flags, int64_t filed_ms,
                          int64_t when_ms, mcds_bytes payload);
/* Whether another payload fits into the same batch. */
bool mcds__part_append_fits(const struct mcds__part_append *append, size_t length);
enum mcds__step mcds__part_append_step(struct mcds__part_append *append,
                                       struct mcds__operation *operation);
/* Go on in this family, after `ended` or at the beginning; is_fresh: it has just been found to be
 * the one that lives. False: a copy may count in the one before. */
bool mcds__part_append_move(struct mcds__part_append *append, uint64_t family, bool is_fresh);
/* Go on where it ended, because the root of its life is there after all. */
void mcds__part_append_resume(struct mcds__part_append *append);
/* Make ready for more records, after DONE with MCDS_OK or in another life. */
void mcds__part_append_again(struct mcds__part_append *append);
void mcds__part_append_free(struct mcds__part_append *append);

/* Whether the root of a family's life is there, as an append has to know at its end. */
enum mcds__part_truth { MCDS__PART_UNPROVED, MCDS__PART_ALIVE, MCDS__PART_OVER };
/* A look at the root, without its value. */
mcds_request mcds__part_look_at_root(const struct mcds__parts *parts);
/* What the reply to it says of the life of this family. */
enum mcds__part_truth mcds__part_truth_of(uint64_t family, const mcds_reply *reply);
/* The requests of a batch: [make the part, or look,] append, look[, write the count][, look at the
 * root]. Returns how many. */
uint32_t mcds__part_append_fill(struct mcds__part_append *append,
                                const struct mcds__part_place *place,
                                const struct mcds__operation *operation);
/* Prepares a batch. True: the look at the root is to be added to it. */
bool mcds__part_prove_along(struct mcds__part_append *append,
                            const struct mcds__operation *operation);
/* Takes the reply of that look. */
void mcds__part_take_proof(struct mcds__part_append *append, const mcds_reply *reply);
/* What is known now; where nothing is, a store in this process is looked at. */
enum mcds__part_truth mcds__part_is_alive(struct mcds__part_append *append);
/* The same, and asks for the root where that is left to do. DONE with MCDS_OK: `truth`; or failures
 * of reading. */
enum mcds__step mcds__part_prove_step(struct mcds__part_append *append,
                                      struct mcds__operation *operation);

/* Large payloads: pieces under keys of their own, NS:TAG:NAME:FAMILY:WRITER:SEQ:PIECE, each a
 * frame of type P. A record with the flag LARGE tells the length of the whole in 8 bytes and that
 * of a piece in 4. The pieces are stored before the record is appended. */
#define MCDS__PART_LARGE_MAX ((uint64_t)64 << 20)
#define MCDS__PART_WHERE 12
mcds_bytes mcds__part_piece_key(const struct mcds__parts *parts, uint64_t family,
                                uint64_t writer, uint32_t seq, uint32_t piece,
                                struct mcds__key *key_out);
/* Take over a large payload: makes `record` one that tells where it is, in `where`, which has
 * room for MCDS__PART_WHERE bytes. Returns MCDS_OK, MCDS_TOO_BIG, MCDS_NO_MEMORY. */
int mcds__part_take_large(struct mcds__part_append *append, struct mcds__part_record *record,
                          uint8_t *where);
/* DONE with MCDS_OK: all pieces are stored. */
enum mcds__step mcds__part_store_pieces(struct mcds__part_append *append,
                                        struct mcds__operation *operation);
/* How many pieces a LARGE record has, and how long they are; 0: it is none that we write. */
uint32_t mcds__part_piece_count(const struct mcds__part_record *record, uint64_t *length_out,
                                uint32_t *piece_length_out);

/* Read parts [from, from + want) of a family. Where they are all missing and others are there, or
 * were, it also finds the next that is left. DONE with MCDS_OK; MCDS_UNSUPPORTED: a newer version
 * of mcds has written records into them; or failures of reading. */
#define MCDS__PART_WANT_MAX                                                                    \
    (MCDS__PART_ROOM - 1 - MCDS__PART_FAR - MCDS__PART_AHEAD - MCDS__PART_DISTANCE_MAX)
#define MCDS__PART_SURVEY_MAX 28
struct mcds__part_item {
    uint32_t index; /* of the part, among those read */
    uint32_t begin; /* of the record, in the part's value */
};
struct mcds__part_read {
    struct mcds__parts *parts;
    uint64_t family; /* in, as the next two */
    uint64_t from;
    uint32_t want; /* 1 to MCDS__PART_WANT_MAX */
    bool stays;    /* in: it does not look for the next part that is left */
    bool looks;    /* in: a survey looks at the root too */
    uint8_t truth; /* out: of that look, for the life of `family` */
    struct mcds__part_item
        *items; /* out: the records that count, in order, until the next read */
    uint32_t count;
    uint64_t gaps;    /* out: adds up over all reads: places where something is missing */
    uint64_t corrupt; /* out: the same: stretches of bytes that are no records */
    bool more;        /* out: there are parts after those read */
    uint64_t bound;   /* out: no part existed from here on; at most twice as far as the last */
    bool ended;       /* out: the family has ended */
    bool is_empty;    /* out: none of the parts exists */
    uint64_t made;    /* out: the count; 0: not known */
    uint64_t next;    /* out: where to continue: the part after those read, or the last one */
    size_t next_size; /* out: bytes of it that have been read */
    uint32_t next_birth; /* out: its birth; 0: it does not exist */
    bool follows;        /* out: the part before `from` exists, as far as there is one */
    uint8_t stage;       /* private; 0 at the start, as all that follow */
    bool is_newer;
    uint64_t seed; /* of the table of ids, which others choose */
    uint32_t back; /* parts before `from`, read for their ids */
    uint32_t head; /* requests before those for parts: that for the count */
    uint32_t near; /* parts read with their values, */
    uint32_t base; /* and where their requests begin */
    struct mcds__part_find find;
    uint32_t all_count;
    uint32_t all_room;
    struct mcds__part_item *all;
    uint8_t kinds[MCDS__PART_SURVEY_MAX];   /* of a survey */
    uint32_t births[MCDS__PART_SURVEY_MAX]; /* of the first parts; 0: there is none */
    uint32_t *table;
    uint32_t table_size;
    mcds_buffer values;
    struct mcds__part_room *room;
};
void mcds__part_read_begin(struct mcds__part_read *read, struct mcds__parts *parts,
                           uint64_t family);
enum mcds__step mcds__part_read_step(struct mcds__part_read *read,
                                     struct mcds__operation *operation);
/* Look at `count` families at once, `family`, the next, ... or, down, the one before, ...: in
 * `kinds` what there is of each. DONE with MCDS_OK: `items` are the records of the SHORT ones, the
 * family of each told by its index. Or failures of reading. */
enum mcds__part_kind { MCDS__PART_NOTHING, MCDS__PART_SHORT, MCDS__PART_LONG };
enum mcds__step mcds__part_survey_step(struct mcds__part_read *read, uint32_t count, bool down,
                                       struct mcds__operation *operation);
/* The record of an item; returns its part. The payload of a LARGE one is elsewhere. */
uint64_t mcds__part_read_item(const struct mcds__part_read *read,
                              const struct mcds__part_item *item,
                              struct mcds__part_record *record_out);
/* The birth of the part of an item. */
uint32_t mcds__part_read_birth(const struct mcds__part_read *read,
                               const struct mcds__part_item *item);
void mcds__part_read_free(struct mcds__part_read *read);

/* Fetch the payload of a LARGE record. DONE with MCDS_OK: `payload`, until the next fetch;
 * MCDS_LOST: a piece is missing; MCDS_CORRUPT; failures of reading. */
struct mcds__part_fetch {
    struct mcds__parts *parts;
    mcds_bytes payload; /* out */
    uint8_t stage;      /* private; 0 at the start, as all that follow */
    uint32_t piece;
    uint32_t asked;
    mcds_buffer whole;
    struct mcds__part_room *room;
};
void mcds__part_fetch_begin(struct mcds__part_fetch *fetch, struct mcds__parts *parts);
enum mcds__step mcds__part_fetch_step(struct mcds__part_fetch *fetch, uint64_t family,
                                      const struct mcds__part_record *record,
                                      struct mcds__operation *operation);
void mcds__part_fetch_free(struct mcds__part_fetch *fetch);

#endif
