/* Core fold: entries under one name, each changed by appending a record, in keys that split as
 * they grow.
 *
 * A key's value is a snapshot and, after it, records; readers apply the records to the snapshot
 * (fold_contents.h). An append needs no read and has no conflict. A key that has grown is rewritten
 * by cas: its records become part of the snapshot, or, when it has many entries, it is split
 * sixteen ways by the next four bits of their hash:
 *
 *   seal   cas the key to its snapshot, SEALED: what is appended from then on is void;
 *   make   add the sixteen children, each with its part; every client makes the same children;
 *   move   cas the key to an empty mark, MOVED.
 *
 * A writer's request is an ordered batch: append the record, then look at the key's flags. OPEN:
 * the record counts. SEALED or MOVED: the same record, with the same id, goes into the child;
 * the ids that the snapshot inherits make the repetition harmless. A client that meets a SEALED key
 * finishes the split. A record counts in a child only after the split: while the key is SEALED, a
 * child that the store evicts is made again from the snapshot, and a record that counted in it
 * would be gone without a trace. So each change knows, before it appends, that the key above is
 * MOVED or gone; below a MOVED key, a missing child is LOST. A name is never used for anything else: MOVED marks stay, so that late
 * records meet them.
 *
 * An id is a writer (one handle) and its sequence number. Each record also has the oldest
 * number that its writer has in flight; a snapshot keeps the numbers from there on, with
 * their outcomes, so a writer whose reply was lost reads the outcome later, and a record that
 * arrives after its writer gave it up is void.
 *
 * The key of the root is NS:TAG:NAME. It holds a descriptor (core/descriptor.h), which is added
 * when the structure is made, never changed, and erased first when it is dropped; the time between
 * is its life. All else is in keys that contain the life, NS:TAG:NAME:LIFE and
 * NS:TAG:NAME:LIFE:DIGITS, and is placed by a hash with the descriptor's key. So nothing of an
 * earlier life can come back, and a user who does not read the store cannot choose elements that
 * collide.
 *
 * A life, once over, never begins again. The rules that follow from it:
 *
 *  1. To make a structure, a client adds the first key before the root, in one ordered batch on
 *     one server. So a root without its keys has lost them.
 *  2. An operation that answers from the keys of a life has seen its root: a sweep at its first
 *     key, others at their end. A write to a life that is over is never acknowledged; a read in it
 *     counts as a read before its end.
 *  3. A change whose record may be in a life that is over is AMBIGUOUS and is never repeated in
 *     another. A change whose record certainly is not starts again in the current life.
 *  4. Keys without a root, at two looks, belong to a structure whose root the store has lost, or
 *     that another client is dropping: LOST, once for each handle. A handle that then finds no
 *     root, or another root, uses that. */
#ifndef MCDS_CORE_FOLD_H
#define MCDS_CORE_FOLD_H

#include <pthread.h>

#include "core/descriptor.h"
#include "core/fold_contents.h"
#include "engine/operation.h"

/* A key above its soft size, that has doubled since its last rewriting, is rewritten. That of the
 * root is the first; those of the others lie between the other two, each where its name says:
 * hashes being even, keys of equal size would all have to be split at the same time. */
#define MCDS__FOLD_SOFT 1536
#define MCDS__FOLD_SOFT_MIN 1024
#define MCDS__FOLD_SOFT_MAX 3072
#define MCDS__FOLD_GROWING_MAX 64
#define MCDS__FOLD_DEPTHS 256
#define MCDS__FOLD_DEPTHS_WIDE 65536

/* The operations under way, in two batches: those before `current` began, and the rest. */
struct mcds__fold_span {
    uint64_t begin; /* ticket */
    uint32_t open;
};

/* A life, as its descriptor states it. */
struct mcds__fold_life {
    uint64_t number; /* 0: not known, or none */
    uint64_t hash_key[2];
    uint64_t mark; /* of the root, as the store gave it before it was seen; 0: none */
};

/* What the entries are, 0 to 2: two programs that use one name must agree. */
#define MCDS__FOLD_FORM_MAX 3

/* Rounds of pipelines in which the root is being looked at, or has been seen, of one handle. */
#define MCDS__FOLD_PROOFS 16

/* What one handle knows; any number of threads use it. */
struct mcds__fold {
    mcds_store *store;
    const mcds_env *env;
    uint8_t kind; /* mcds__descriptor_kind */
    uint8_t form;
    const mcds_reason *const
        *forms;      /* what to say to who opens it with another form, by what it is */
    uint64_t ttl_ms; /* of all keys, from their making; 0 = for ever */
    struct mcds__key root;
    uint64_t writer;
    pthread_mutex_t mutex; /* over the tickets and places */
    uint64_t next_ticket;
    uint64_t last_place; /* in the order of PUSH: those of this handle rise */
    struct mcds__fold_span earlier, current;
    _Atomic uint32_t life_version;              /* odd while the life is written */
    _Atomic uint64_t life[3];                   /* number and hash key */
    _Atomic uint64_t mark;                      /* of the root of that life */
    _Atomic uint64_t proofs[MCDS__FOLD_PROOFS]; /* fold_life.c */
    _Atomic uint64_t rest;  /* a life that a drop has not erased to the end */
    _Atomic bool is_making; /* an operation makes the root */
    _Atomic uint64_t growing[MCDS__FOLD_GROWING_MAX]; /* keys that this handle is rewriting */
    _Atomic uint32_t
        under_way[MCDS__FOLD_GROWING_MAX]; /* bytes that are sent to keys, by key */
    _Atomic uint64_t founder; /* the ticket of the operation that reads the root; 0: none */
    _Atomic bool has_guess;   /* how deep keys are that it has not met */
    _Atomic uint8_t depths[MCDS__FOLD_DEPTHS]; /* by the first bits of the hash */
    _Atomic(_Atomic uint8_t *) depths_wide;    /* the same with more bits, once needed */
};

/* `forms`: what to say where the structure is of another form, up to MCDS__FOLD_FORM_MAX and of
 * those beyond. */
void mcds__fold_init(struct mcds__fold *fold, mcds_store *store, const struct mcds__key *root,
                     uint8_t kind, uint8_t form, const mcds_reason *const *forms,
                     uint64_t ttl_ms);
void mcds__fold_destroy(struct mcds__fold *fold);

/* The key that holds the hash at this depth. */
void mcds__fold_key(const struct mcds__fold *fold, uint64_t life, uint64_t hash, uint32_t depth,
                    struct mcds__key *key_out);
/* What decides its server: the first key is where the root is. */
mcds_bytes mcds__fold_route(const struct mcds__fold *fold, uint32_t depth);
/* A look at a key of this depth, without its value. */
mcds_request mcds__fold_look_at(const struct mcds__fold *fold, mcds_bytes key, uint32_t depth);
/* Where the hash, or one that the same key held, was found last. */
uint32_t mcds__fold_depth(const struct mcds__fold *fold, uint64_t hash);
/* Whether this handle knows that the split which made the key of this depth has ended: the key
 * above it is MOVED, or gone. False also where it does not remember that, which is so for keys
 * deeper than 5. */
bool mcds__fold_has_split_above(const struct mcds__fold *fold, uint64_t hash, uint32_t depth);
void mcds__fold_note_depth(struct mcds__fold *fold, uint64_t hash, uint32_t depth);
/* The same for the first key that a handle has found: hashes being even, the others are likely to
 * be as deep. Where they are not, that costs the round trip in which it is learnt. */
void mcds__fold_note_found(struct mcds__fold *fold, uint64_t hash, uint32_t depth);
/* The key of this depth has moved, or is gone after it moved: all that it held is deeper. */
void mcds__fold_note_moved(struct mcds__fold *fold, uint64_t hash, uint32_t depth);
/* Nothing is known of any key. */
void mcds__fold_forget_depths(struct mcds__fold *fold);
/* More moves than a path has keys: somebody erases them as fast as they are found. */
#define MCDS__FOLD_MOVES_MAX 32

/* The life that this handle knows. */
struct mcds__fold_life mcds__fold_life(const struct mcds__fold *fold);
/* Takes the life of a root; forgets what was known of another life. */
void mcds__fold_adopt(struct mcds__fold *fold, const struct mcds__fold_life *life);
/* This one is over. */
void mcds__fold_forget(struct mcds__fold *fold, uint64_t life);
/* A new life. */
struct mcds__fold_life mcds__fold_draw(const struct mcds__fold *fold,
                                       struct mcds__descriptor *descriptor_out);
/* The life in a value of the root. Returns MCDS_OK; MCDS_CORRUPT, MCDS_UNSUPPORTED or MCDS_INVALID
 * (another form) with *detail_out. */
int mcds__fold_read_root(const struct mcds__fold *fold, mcds_bytes value,
                         struct mcds__fold_life *life_out, const mcds_reason **detail_out);
/* Finish with what it has returned. */
enum mcds__step mcds__fold_refuse(const struct mcds__fold *fold,
                                  struct mcds__operation *operation, int result,
                                  const mcds_reason *detail);
/* A look at the root, without its value. */
mcds_request mcds__fold_look_at_root(const struct mcds__fold *fold);

/* That a life is not over, as one operation has to know at its end. All zero at the start. */
struct mcds__fold_proof {
    uint64_t seen;  /* the life whose root it has seen */
    uint64_t over;  /* the life whose root it has found gone */
    uint64_t round; /* another operation looks in this round */
    bool looks;     /* the batch has a look of its own */
    bool is_alone;  /* in: it shall have one */
};
enum mcds__fold_truth { MCDS__FOLD_UNPROVED, MCDS__FOLD_ALIVE, MCDS__FOLD_OVER };
/* Prepares a batch. Returns the number of requests to add after all others: none, or the look at
 * the root, in *request_out. */
uint32_t mcds__fold_prove_along(struct mcds__fold_proof *proof, struct mcds__fold *fold,
                                const struct mcds__operation *operation,
                                mcds_request *request_out);
/* Take the reply of the look; `life` is the one that the batch was for. */
void mcds__fold_take_proof(struct mcds__fold_proof *proof, struct mcds__fold *fold,
                           uint64_t life, const mcds_reply *reply);
/* What is known of this life now; where nothing is, of a store in this process, it is looked at.
 * UNPROVED: ask for the root. */
enum mcds__fold_truth mcds__fold_is_alive(struct mcds__fold_proof *proof,
                                          struct mcds__fold *fold, uint64_t life);

/* Sixteen children, their parent, and then the root. */
#define MCDS__FOLD_ROOM (MCDS__FOLD_CHILDREN + 2)
#define MCDS__FOLD_PARENT MCDS__FOLD_CHILDREN

/* What only the rare paths need. */
struct mcds__fold_room {
    struct mcds__key keys[MCDS__FOLD_ROOM];
    mcds_request requests[MCDS__FOLD_ROOM];
    mcds_buffer values[MCDS__FOLD_ROOM];
};

/* The room, made at the first call; NULL: no memory. */
struct mcds__fold_room *mcds__fold_get_room(struct mcds__fold_room **room, const mcds_env *env);
void mcds__fold_free_taken_room(struct mcds__fold_room **room, const mcds_env *env);
static inline void mcds__fold_free_room(struct mcds__fold_room **room, const mcds_env *env)
{
    if (*room != NULL)
        mcds__fold_free_taken_room(room, env);
}

/* Find the key that holds an element or a hash: ask for the root and the keys of all depths at
 * once. DONE with
 *
 *   MCDS_OK         `depth` is where it is in `life`, which lives, `state` OPEN or SEALED;
 *                   where OPEN, the split above has ended
 *   MCDS_NOT_FOUND  there is no root
 *   MCDS_LOST       a key is missing that must be there: the one below `depth`, the first where
 *                   `depth` is 0 and the first is missing, or the root
 *   others          failures of reading, never AMBIGUOUS */
struct mcds__fold_place {
    mcds_bytes element; /* what decides the hash in each life; empty: `hash` does in all */
    uint64_t hash;
    struct mcds__fold_life life;
    bool is_rootless; /* in: `life` is over, and what is left of its keys is meant */
    bool lost_root;   /* out, with LOST */
    uint32_t depth;
    enum mcds__fold_state state;
    uint8_t stage;         /* private; 0 at the start, as all that follow */
    uint8_t missing_depth; /* what was missing at the last look */
    bool was_open;         /* the key above was OPEN at a look */
    struct mcds__fold_room *room;
};
enum mcds__step mcds__fold_locate_step(struct mcds__fold_place *place, struct mcds__fold *fold,
                                       struct mcds__operation *operation);

/* Who waits for another to rewrite a key looks again after this, which is about as long as that
 * takes. */
#define MCDS__FOLD_GROWTH_WAIT_NS NS_PER_MS

enum mcds__fold_fate { MCDS__FOLD_UNDECIDED, MCDS__FOLD_COUNTED, MCDS__FOLD_VOID };

/* Rewrites a key that has grown, or finishes the rewriting of another client. DONE with MCDS_OK
 * also after a part of it: the next client that comes to the key does the rest. Or DONE with the
 * store's refusal, for instance MCDS_FULL. */
struct mcds__fold_growth {
    uint64_t hash;
    struct mcds__fold_life life;
    uint32_t depth;
    uint32_t seq; /* a record, to find out what became of it */
    uint64_t writer;
    enum mcds__fold_fate fate; /* out, of that record */
    enum mcds__fold_code code; /* out, where it is COUNTED */
    int64_t number;            /* the same */
    bool moved;                /* out: the key is MOVED, so changes may go into its children */
    uint8_t stage;             /* private; 0 at the start, as all that follow */
    _Atomic uint64_t *claimed;
    mcds_cas_token token;
    struct mcds__fold_room *room;
};
enum mcds__step mcds__fold_grow_step(struct mcds__fold_growth *growth, struct mcds__fold *fold,
                                     struct mcds__operation *operation);
/* Whether the key that holds the hash at this depth is to be rewritten, being of this size. */
bool mcds__fold_has_grown(uint64_t hash, uint32_t depth, uint32_t flags, size_t size);
/* Whether an operation of this handle is rewriting the key that holds the hash at this depth. */
bool mcds__fold_is_growing(struct mcds__fold *fold, uint64_t hash, uint32_t depth);
/* How many bytes this handle has under way to the key, and perhaps to a few others. */
_Atomic uint32_t *mcds__fold_bytes_under_way(struct mcds__fold *fold, uint64_t hash,
                                             uint32_t depth);
void mcds__fold_grow_free(struct mcds__fold_growth *growth, const mcds_env *env);

/* Make the structure with a record in it, in one round trip: the first key, the record, and then
 * the root. DONE with
 *
 *   MCDS_OK      made, `life` is the new one; mcds__fold_take_making gives the replies
 *   MCDS_EXISTS  another has made it, or is about to; nothing has been changed
 *   others       failures; where `doubt` it may have been made all the same, as `life` */
struct mcds__fold_making {
    mcds_buffer *record;
    bool wants_value; /* of the first key, in the same round trip */
    bool doubt;       /* out */
    bool may_repeat;  /* out: the failure is one of the way to the store */
    struct mcds__fold_life life;
    uint8_t stage; /* private; 0 at the start, as all that follow */
    bool is_claimed;
    mcds_reply failure;
    struct mcds__fold_room *room;
};
enum mcds__step mcds__fold_make_step(struct mcds__fold_making *making, struct mcds__fold *fold,
                                     struct mcds__operation *operation);
/* The requests by which the record was appended and the key looked at, answered. */
void mcds__fold_take_making(const struct mcds__fold_making *making, mcds_request *append_out,
                            mcds_request *look_out);
void mcds__fold_make_free(struct mcds__fold_making *making, struct mcds__fold *fold);

/* One change. The caller fills the first part with mcds__fold_change_begin, then steps until DONE
 * with the operation's result:
 *
 *   MCDS_OK         the command has been carried out once; `code` and `number`, if wanted
 *   MCDS_AMBIGUOUS  once, not at all, or not yet; so where the structure was dropped or lost
 *                   under it
 *   MCDS_NOT_FOUND  must_exist, and there is no root
 *   MCDS_LOST       the key that should hold the element is gone
 *   others          not carried out */
struct mcds__fold_change {
    struct mcds__fold *fold;
    bool must_exist;           /* do not make a root */
    bool wants_code;           /* read the key in the same round trip */
    enum mcds__fold_code code; /* out */
    int64_t number;            /* out */
    uint8_t stage;             /* private, as all that follow */
    bool doubt;                /* a record is on its way, or may be */
    bool numbered;
    uint8_t rootings;
    uint8_t rejections;
    uint8_t moves;
    uint32_t depth;
    uint32_t deepest; /* where an append was sent to */
    bool grows;       /* it is done, and the key has grown */
    uint64_t hash;
    struct mcds__fold_life life;
    uint64_t ticket;
    _Atomic uint32_t *under_way; /* where its bytes are counted, or NULL */
    uint64_t writer;
    uint32_t seq;
    int64_t time_ms;
    mcds_bytes element; /* inside the record */
    struct mcds__fold_place place;
    struct mcds__fold_growth growth;
    struct mcds__fold_making making;
    struct mcds__fold_proof proof;
    struct mcds__key key;
    mcds_request requests[3]; /* the append, a look at the key, one at the root */
    mcds_buffer record;
    uint8_t record_room[192];
};
/* False: no memory. The command's bytes are copied. */
bool mcds__fold_change_begin(struct mcds__fold_change *change, struct mcds__fold *fold,
                             const struct mcds__fold_command *command);
enum mcds__step mcds__fold_change_step(struct mcds__fold_change *change,
                                       struct mcds__operation *operation);
/* To be called from the operation's release. */
void mcds__fold_change_free(struct mcds__fold_change *change);

/* Read one element. DONE with MCDS_OK: `value` stands in the operation's values until its next
 * request; MCDS_NOT_FOUND; MCDS_LOST; failures of reading. */
struct mcds__fold_look {
    struct mcds__fold *fold;
    mcds_bytes value; /* out */
    uint8_t stage;    /* private, as all that follow */
    uint8_t moves;
    bool has_missed; /* the child of a SEALED key was missing at the last look */
    uint32_t depth;
    uint64_t hash;
    struct mcds__fold_life life;
    struct mcds__fold_place place;
    struct mcds__fold_proof proof;
    uint8_t count; /* of requests for keys */
    struct mcds__key keys[2];
    mcds_request requests[3];
    mcds_buffer element;
    uint8_t element_room[64];
};
/* False: no memory. The element's bytes are copied. */
bool mcds__fold_look_begin(struct mcds__fold_look *look, struct mcds__fold *fold,
                           mcds_bytes element);
enum mcds__step mcds__fold_look_step(struct mcds__fold_look *look,
                                     struct mcds__operation *operation);
void mcds__fold_look_free(struct mcds__fold_look *look);
/* The same without an operation, where the store can show the key at once and the element is told
 * by it: `take` sees the value where it stands, in this call, must not call the store, and is
 * false where memory is refused. Sets *result_out to MCDS_OK or MCDS_NOT_FOUND. False: ask as an
 * operation; whatever else there may be is told there. */
bool mcds__fold_look_at_once(struct mcds__fold *fold, mcds_bytes element,
                             bool (*take)(void *context, mcds_bytes value), void *context,
                             int *result_out);

/* Go through all entries in the order of their hashes, 64 keys in one round trip, or erase the
 * root and then all keys, each before the marks above it. Every round trip has the store's whole
 * timeout. DONE with
 *
 *   MCDS_OK         `complete`, or `visit` said false: then `position` is where to go on
 *   MCDS_NOT_FOUND  there is no root
 *   MCDS_LOST       the same as OK, but a key was missing that must be there
 *   MCDS_AMBIGUOUS  erasing: some keys are gone, or may be
 *   others          failures; `position` is where to go on; nothing has been erased */
struct mcds__fold_sweep_room;
struct mcds__fold_sweep {
    struct mcds__fold *fold;
    bool erases;
    bool (*visit)(void *context, const struct mcds__fold_entry *entry);
    void *context;
    uint64_t position; /* in and out: a hash, of one life */
    uint64_t begun_at;
    bool complete; /* out */
    bool lost;     /* out */
    uint8_t stage; /* private, as all that follow */
    uint8_t moves;
    bool erased;
    uint32_t depth;
    uint32_t count;
    uint32_t erasures;
    uint32_t marks;
    bool is_below;   /* reading the children of a SEALED key */
    uint32_t missed; /* of those read before, the ones that were missing: a bit for each */
    /* Keys above those that are being read, from the one with this number on, that have been
     * split: a bit for each. */
    uint8_t parents_depth;
    uint32_t parents;
    uint64_t parents_first;
    uint64_t slice; /* of the hashes, in which the position was when the deadline was renewed */
    int64_t
        by_ns; /* when something must have been visited, or this slice passed; 0: not fixed */
    struct mcds__fold_life life;
    bool is_proved;       /* the root has been seen; erasing: it is gone */
    mcds_cas_token token; /* erasing: of the root */
    struct mcds__fold_place place;
    struct mcds__fold_sweep_room *room;
};
void mcds__fold_sweep_begin(struct mcds__fold_sweep *sweep, struct mcds__fold *fold);
enum mcds__step mcds__fold_sweep_step(struct mcds__fold_sweep *sweep,
                                      struct mcds__operation *operation);
void mcds__fold_sweep_free(struct mcds__fold_sweep *sweep);

#endif
