/* Map: any number of entries under one name, in keys that split as they grow. A change appends
 * a record.
 *
 * A key's value is a bucket: a snapshot and, after it, records. Readers apply the records to
 * the snapshot (core/map/bucket/bucket.h). An append needs no read and has no conflict.
 *
 *   update   append record | get flags               one ordered batch; OPEN: done. No get where
 *                                                    the append shows the state (number.c)
 *   get      get key                                 MOVED: get the child
 *   scan     get 64 keys, in the order of the hashes
 *
 * A key that has grown is rewritten by cas: its records become part of the snapshot. When it
 * has many entries, it is split four ways by the next two bits of their hash:
 *
 *   seal   cas the key to its snapshot, SEALED: records appended from then on are void;
 *   make   add the four children, each with its entries; every client makes the same ones;
 *   move   replace the key by an empty mark, MOVED; void records that fill it are erased.
 *
 * A writer's request is an ordered batch: append the record, then read the key's flags. OPEN:
 * the record counts. SEALED or MOVED: the same record, with the same id, goes into the child;
 * the ids that the snapshot inherits make the repetition harmless. A client that meets a SEALED
 * key finishes the split. A record counts in a child only after the split: while the key is
 * SEALED, a child that the store evicts is made again from the snapshot, and the loss of a
 * record that counted in it would not be noticed. So each update knows, before it appends, that
 * the key above is MOVED or gone; below a MOVED key, a missing child is LOST. A key name is
 * never used for anything else: MOVED marks stay, so that late records find them.
 *
 * An id is a writer (one handle) and its sequence number. Each record also has the oldest
 * number that its writer has in flight; a snapshot keeps the numbers from there on, with
 * their outcomes, so a writer whose reply was lost reads the outcome later, and a record that
 * arrives after its writer gave it up is void.
 *
 * The key of the root is NS:TAG:NAME. It holds a descriptor (core/descriptor/descriptor.h),
 * which is added when the structure is made, never changed, and erased first when it is
 * dropped; the time between is its life. All entries are in keys that contain the life,
 * NS:TAG:NAME:LIFE and NS:TAG:NAME:LIFE:DIGITS, and are placed by a hash with the descriptor's
 * hash key. So nothing of an earlier life can come back, and a user who does not read the store
 * cannot choose elements that collide.
 *
 * A flat map has no tree: all its keys have one depth, which never changes, and are made when
 * they are needed, by `add` in front of the record. A key that the store has lost is one that
 * nobody has needed yet, so nothing of a flat map is LOST: what it held is forgotten. This is
 * for entries that may be forgotten (structures/limit); docs/algorithms.md says why not a tree.
 *
 * A life, once over, never begins again. The rules that follow from it:
 *
 *  1. To make a structure, a client adds the first key before the root, in one ordered batch on
 *     one server. So a root without its keys has lost them.
 *  2. An operation that answers from the keys of a life has seen its root: a scan at its first
 *     key, others at their end. A write to a life that is over is never acknowledged; a read in it
 *     counts as a read before its end.
 *  3. An update whose record may be in a life that is over is AMBIGUOUS and is never repeated in
 *     another. An update whose record certainly is not starts again in the current life.
 *  4. To end a life, a client writes its tombstone, NS:TAG:NAME:LIFE:LIFE, and then erases the
 *     root, in one ordered batch on one server. So a life whose root is gone and that has no
 *     tombstone was lost by the store: LOST, once for each handle, from an operation that ends
 *     with it: an update in doubt is AMBIGUOUS and leaves LOST to the next. A handle that then
 *     finds no root, or another, uses that. A tombstone is kept for a day, so a handle that last
 *     saw the root half a day ago reports nothing unless keys of that life are left, in two
 *     reads. A map with a ttl has no tombstones.
 *  5. A client erases keys only of a life that is over: it has erased the root by its token, or
 *     knew the life before it sent a read that missed the root. A life that it learns during the
 *     read may have begun after it. */
#ifndef MCDS_CORE_MAP_MAP_H
#define MCDS_CORE_MAP_MAP_H

#include <pthread.h>

#include "base/environment.h"
#include "core/descriptor/descriptor.h"
#include "core/map/bucket/bucket.h"
#include "core/map/proof.h"

/* A key is rewritten when it is larger than its soft size and has doubled since it was last
 * rewritten. The first value is the soft size of the first key. That of another key is between
 * the other two values and derived from its name. Hashes are uniform, so keys with equal soft
 * sizes would all split at the same time. */
#define MCDS__MAP_SOFT 1536
#define MCDS__MAP_SOFT_MIN 1024
#define MCDS__MAP_SOFT_MAX 3072
#define MCDS__MAP_REWRITES_MAX 64
#define MCDS__MAP_LOOK_WORDS 16
/* How long a tombstone is kept, and how long after its last proof a life needs one. */
#define MCDS__MAP_END_TTL_MS (UINT64_C(24) * 3600 * 1000)
#define MCDS__MAP_END_TRUSTED_NS (INT64_C(12) * 3600 * NS_PER_S)
#define MCDS__MAP_DEPTHS 256
/* Larger tables of depths: of 64 KB and of 1 MB, for keys deeper than 5 and deeper than 9. */
#define MCDS__MAP_WIDE_TABLES 2

/* A group of operations in flight. There are two: `earlier` and `current`. */
struct mcds__map_span {
    uint64_t begin; /* ticket */
    uint32_t open;
};

/* A life, as its descriptor states it. */
struct mcds__map_life {
    uint64_t number; /* 0: not known, or none */
    uint64_t hash_key[2];
    uint64_t mark;    /* from the store, taken before the root was read; 0: none */
    bool has_numbers; /* its keys may have open numbers */
};

/* The form of the entries, 0 to 2; a handle with another form is refused. */
#define MCDS__MAP_FORM_MAX 3

/* The state of one handle; any number of threads use it. */
struct mcds__map {
    mcds_store *store;
    const mcds_env *env;
    uint8_t kind; /* mcds__descriptor_kind */
    uint8_t form;
    /* The reasons for refusing another form, by the stored form. */
    const mcds_reason *const *forms;
    uint64_t ttl_ms;                  /* of all keys, from their creation; 0 = for ever */
    uint8_t flat;                     /* all keys have this depth; 0: keys split as they grow */
    const _Atomic uint64_t *hash_key; /* of the lives that it draws; NULL: each has another */
    struct mcds__key root;
    uint64_t writer;
    pthread_mutex_t mutex; /* guards tickets and positions, and changes of life and depths */
    uint64_t next_ticket;
    uint64_t last_place; /* the last position of a PUSH; those of one handle increase */
    struct mcds__map_span earlier, current;
    _Atomic uint32_t life_version; /* odd while the life is written */
    _Atomic uint64_t life[3];      /* number and hash key */
    _Atomic uint64_t mark;         /* of the root of that life */
    _Atomic bool has_numbers;      /* of that life */
    _Atomic int64_t seen_ns; /* when this handle last saw the root, on the monotonic clock */
    _Atomic uint64_t rest;   /* a life whose keys a drop has not erased completely */
    _Atomic uint64_t over;   /* a life that an update in doubt has found over; 0: none */
    _Atomic uint64_t maker;  /* the operation that is creating the root; 0: none */
    _Atomic uint64_t growing[MCDS__MAP_REWRITES_MAX];   /* keys that this handle is rewriting */
    _Atomic uint32_t under_way[MCDS__MAP_REWRITES_MAX]; /* bytes in flight, by key */
    _Atomic uint32_t left_alone[MCDS__MAP_REWRITES_MAX]; /* of those: not waited for */
    _Atomic uint64_t looks_wanted[MCDS__MAP_LOOK_WORDS]; /* bits: the next append looks */
    _Atomic uint64_t founder;              /* the update that reads the root; 0: none */
    _Atomic(const mcds_reason *) obstacle; /* of the last rewriting; NULL: none */
    const char *obstacle_peer;             /* guarded by the mutex */
    bool has_guess;                        /* the assumed depth of keys that it has not seen */
    _Atomic uint8_t depths[MCDS__MAP_DEPTHS]; /* by the first bits of the hash */
    /* With more bits; each is allocated when needed, and replaces those before it. */
    _Atomic(_Atomic uint8_t *) wide_depths[MCDS__MAP_WIDE_TABLES];
    _Atomic uint8_t width;                     /* the number of wide tables */
    _Atomic uint16_t floors[MCDS__MAP_DEPTHS]; /* in the client flags; the same */
    _Atomic uint32_t newest_floor_s;           /* that its time has reached; 0: none */
    size_t writers_room; /* the most that the writers of a key take; a test lowers it */
};

/* `forms`: the reasons for refusing another stored form, one up to MCDS__MAP_FORM_MAX, and
 * one for those beyond. */
void mcds__map_init(struct mcds__map *map, mcds_store *store, const struct mcds__key *root,
                    uint8_t kind, uint8_t form, const mcds_reason *const *forms,
                    uint64_t ttl_ms);
void mcds__map_destroy(struct mcds__map *map);

/* The key that holds the hash at this depth. */
void mcds__map_key(const struct mcds__map *map, uint64_t life, uint64_t hash, uint32_t depth,
                   struct mcds__key *key_out);
/* The route, which selects the server: the first key is on the server of the root. */
mcds_bytes mcds__map_route(const struct mcds__map *map, uint32_t depth);
/* A GET of a key of this depth, without its value. */
mcds_request mcds__map_get_at(const struct mcds__map *map, mcds_bytes key, uint32_t depth);
/* The depth at which this hash, or another hash of the same key, was last found. */
uint32_t mcds__map_depth(const struct mcds__map *map, uint64_t hash);
/* Whether the handle has seen no key with this hash, and so assumes the depth of others. */
bool mcds__map_is_depth_assumed(const struct mcds__map *map, uint64_t hash);
/* Whether this handle knows that the split which made the key of this depth has ended: the key
 * above it is MOVED, or gone. False also if it does not remember that; it never does for keys
 * deeper than 11. */
bool mcds__map_has_split_above(const struct mcds__map *map, uint64_t hash, uint32_t depth);
/* These three do nothing if the handle now knows another life, whose keys have other depths. */
void mcds__map_note_depth(struct mcds__map *map, uint64_t life, uint64_t hash, uint32_t depth);
/* Record that the hash was found at this depth. The first key that a handle finds sets the
 * assumed depth of all others: hashes are uniform, so they probably have the same depth. A
 * wrong guess costs one round trip. */
void mcds__map_note_found(struct mcds__map *map, uint64_t life, uint64_t hash, uint32_t depth);
/* The key of this depth is MOVED, or is gone after it was: its entries are deeper. */
void mcds__map_note_moved(struct mcds__map *map, uint64_t life, uint64_t hash, uint32_t depth);
/* Forget the depths of all keys. Called with the mutex held, before another life is set. */
void mcds__map_forget_depths(struct mcds__map *map);
/* More moves than a path has keys: another client erases the keys as fast as they are found. */
#define MCDS__MAP_MOVES_MAX 32

/* The life that this handle knows; number 0: none. */
struct mcds__map_life mcds__map_life(const struct mcds__map *map);
/* Set the life of a root, and forget the state of another life. */
void mcds__map_adopt(struct mcds__map *map, const struct mcds__map_life *life);
/* This life is over, and the caller reports that if the store has lost it. Returns true for the
 * first call about it. */
bool mcds__map_forget(struct mcds__map *map, uint64_t life);
/* This life is over. The next update looks for its root first, and reports a loss. */
void mcds__map_note_over(struct mcds__map *map, uint64_t life);
/* Whether an update must look for the root before it uses this life. */
bool mcds__map_is_doubtful(const struct mcds__map *map, uint64_t life);
/* The root of the known life was there at this time or later. */
void mcds__map_note_seen(struct mcds__map *map, int64_t sent_ns);
/* The request that reads the tombstone of a life; `key` holds its key. */
mcds_request mcds__map_request_tombstone(const struct mcds__map *map, uint64_t life,
                                         struct mcds__key *key);
/* Draw a new life. */
struct mcds__map_life mcds__map_draw(const struct mcds__map *map,
                                     struct mcds__descriptor *descriptor_out);
/* The life in a value of the root, which has these client flags. Returns MCDS_OK; MCDS_CORRUPT,
 * MCDS_UNSUPPORTED or MCDS_INVALID (another form) with *detail_out. */
int mcds__map_read_root(const struct mcds__map *map, mcds_bytes value, uint32_t flags,
                        struct mcds__map_life *life_out, const mcds_reason **detail_out);
/* Finish with the result of mcds__map_read_root. */
enum mcds__step mcds__map_refuse(const struct mcds__map *map, struct mcds__operation *operation,
                                 int result, const mcds_reason *detail);
/* A GET of the root, without its value. */
mcds_request mcds__map_request_root(const struct mcds__map *map);

/* The keys of all depths, the root and the tombstone; or the children, their parent and the
 * root. */
#define MCDS__MAP_CAPACITY (MCDS__MAP_DEPTH_MAX + 3)
#define MCDS__MAP_PARENT MCDS__MAP_CHILDREN

/* Scratch memory that only rare paths need. */
struct mcds__map_scratch {
    struct mcds__key keys[MCDS__MAP_CAPACITY];
    mcds_request requests[MCDS__MAP_CAPACITY];
    mcds_buffer values[MCDS__MAP_CAPACITY];
};

/* The scratch memory, allocated at the first call; NULL: no memory. */
struct mcds__map_scratch *mcds__map_get_scratch(struct mcds__map_scratch **scratch,
                                                const mcds_env *env);
void mcds__map_free_taken_scratch(struct mcds__map_scratch **scratch, const mcds_env *env);
static inline void mcds__map_free_scratch(struct mcds__map_scratch **scratch,
                                          const mcds_env *env)
{
    if (*scratch != NULL)
        mcds__map_free_taken_scratch(scratch, env);
}

/* Find the key that holds an element or a hash: ask for the root and the keys of all depths at
 * once. DONE with
 *
 *   MCDS_OK         `depth` is where it is in `life`, which lives, `state` OPEN or SEALED;
 *                   where OPEN, the split above has ended
 *   MCDS_NOT_FOUND  there is no root
 *   MCDS_LOST       a key is missing that must be there: the root, if `lost_root`; all keys of the
 *                   hash, if `depth` is 0 and the key of depth 0 is missing; else the child of the
 *                   key of `depth`, which has MOVED to its children
 *   others          failures of reading, never AMBIGUOUS */
struct mcds__map_place {
    mcds_bytes element; /* hashed again in each life; empty: `hash` is used in all */
    /* Writes the element of each life, with mcds__map_update_rewrite; NULL: all have the same. */
    void (*fit)(void *context, const uint64_t hash_key[2]);
    void *context; /* of `fit` */
    uint64_t hash;
    struct mcds__map_life life;
    bool is_rootless; /* in: `life` is over; find the remains of its keys */
    bool keeps_loss;  /* in: LOST with `lost_root` reaches no caller; the next gets it */
    bool wants_value; /* in: read values too; that of the key at `depth` is in its reply */
    bool lost_root;   /* out, with LOST */
    uint32_t depth;
    enum mcds__map_state state;
    uint8_t stage;         /* private; 0 at the start, as all that follow */
    uint8_t reads;         /* of the keys of all depths, since the last pause */
    uint8_t missing_depth; /* what was missing at the last read */
    uint8_t early_depth;   /* above the key of this depth, one was OPEN or missing at a read */
    struct mcds__map_scratch *scratch;
};
static inline void mcds__map_fit(const struct mcds__map_place *place,
                                 const struct mcds__map_life *life)
{
    if (place->fit != NULL)
        place->fit(place->context, life->hash_key);
}
enum mcds__step mcds__map_locate_step(struct mcds__map_place *place, struct mcds__map *map,
                                      struct mcds__operation *operation);

/* A client that waits for another to rewrite a key tries again after this time. */
#define MCDS__MAP_REWRITE_WAIT_NS NS_PER_MS

/* Whether a key has a record. UNDECIDED: it was not read, or has moved. FORGOTTEN: it may have
 * counted the record. NOT_IN_OPEN: it has not, and counts one that arrives. VOID: it never does. */
enum mcds__map_outcome_state {
    MCDS__MAP_UNDECIDED,
    MCDS__MAP_FORGOTTEN,
    MCDS__MAP_NOT_IN_OPEN,
    MCDS__MAP_COUNTED,
    MCDS__MAP_VOID
};

/* Rewrite a key that has grown, or finish the rewriting of another client. DONE with MCDS_OK
 * also if it is not complete: the next client that uses the key continues. Or DONE with the
 * store's refusal, for instance MCDS_FULL, or with MCDS_CORRUPT or MCDS_UNSUPPORTED for what the
 * key holds. */
struct mcds__map_rewrite {
    uint64_t hash;
    struct mcds__map_life life;
    uint32_t depth;
    uint32_t seq;    /* the sequence number of the record whose outcome is wanted */
    uint32_t second; /* of its time */
    size_t needs;    /* bytes: the length of a record that the key must have room for */
    uint64_t writer;
    bool is_wanted;                    /* in: even if the key has not grown */
    bool removes;                      /* in: for a removal, which splits no small key */
    enum mcds__map_outcome_state fate; /* out, of that record */
    enum mcds__map_code code;          /* out, where it is COUNTED */
    int64_t number;                    /* the same */
    bool moved;        /* out: the key is MOVED, so updates may append to its children */
    bool lacks_memory; /* out: this process had no memory, so it is not complete */
    bool is_outrun;    /* out: another client has changed the key meanwhile */
    uint8_t stage;     /* private; 0 at the start, as all that follow */
    bool freezes;      /* its batch freezes the key before the read */
    uint8_t thaws;     /* reads in a row that have shown an open number */
    _Atomic uint64_t *claimed;
    mcds_cas_token token;
    struct mcds__map_scratch *scratch;
};
enum mcds__step mcds__map_rewrite_step(struct mcds__map_rewrite *rewrite, struct mcds__map *map,
                                       struct mcds__operation *operation);
void mcds__map_rewrite_free(struct mcds__map_rewrite *rewrite, const mcds_env *env);

/* Create the structure with one record, in one round trip: the first key, the record, and then
 * the root. DONE with
 *
 *   MCDS_OK      made; `life` is the new life; mcds__map_take_making returns the replies
 *   MCDS_EXISTS  another client has made it or is making it; nothing was changed
 *   others       failures; with `doubt`, it may have been made nevertheless, as `life` */
struct mcds__map_making {
    mcds_buffer *record;
    const struct mcds__map_place *place; /* of the record's element */
    bool wants_value;                    /* of the first key, in the same round trip */
    bool doubt;                          /* out */
    bool may_repeat;                     /* out: the store could not be reached */
    struct mcds__map_life life;
    uint8_t stage; /* private; 0 at the start, as all that follow */
    bool is_claimed;
    mcds_reply failure;
    struct mcds__map_scratch *scratch;
};
enum mcds__step mcds__map_make_step(struct mcds__map_making *making, struct mcds__map *map,
                                    struct mcds__operation *operation);
/* The answered requests that appended the record and read the key. */
void mcds__map_take_making(const struct mcds__map_making *making, mcds_request *append_out,
                           mcds_request *look_out);
void mcds__map_make_free(struct mcds__map_making *making, struct mcds__map *map);

/* One update. The caller fills the first part with mcds__map_update_begin, then steps until
 * DONE with the operation's result:
 *
 *   MCDS_OK         the command was executed once; sets `code` and `number`, if wanted
 *   MCDS_AMBIGUOUS  once, not at all, or not yet; also if the structure was dropped or lost
 *                   meanwhile
 *   MCDS_NOT_FOUND  must_exist, and there is no root
 *   MCDS_LOST       the key that should hold the element is gone; not executed
 *   others          not executed */
#define MCDS__MAP_SMALL_ENTRY 72
/* The add of the key of a flat map, the append, a read of the key, a read of the root. */
enum {
    MCDS__MAP_ADD,
    MCDS__MAP_APPEND,
    MCDS__MAP_LOOK,
    MCDS__MAP_ROOT,
    MCDS__MAP_UPDATE_REQUESTS
};
struct mcds__map_update {
    struct mcds__map *map;
    bool must_exist; /* do not create a root */
    bool wants_code; /* read the value in the same round trip */
    bool has_rivals; /* in: many clients append to this key at the same time */
    bool makes_room; /* in: the record is a step of a deletion */
    bool rewrites;   /* in: rewrite the key afterwards, because it has become smaller */
    bool keeps_loss; /* in: the caller reports no loss of the whole; the next call finds it */
    enum mcds__map_code code; /* out */
    int64_t number;           /* out */
    bool wants_entry;         /* in, with wants_code: also the entry */
    uint8_t entry_length;     /* out; 0: there is none, or it is longer, or it was not read */
    uint8_t entry[MCDS__MAP_SMALL_ENTRY]; /* out: the value of the entry, as it is now */
    void (*see)(struct mcds__map_update *, mcds_bytes entry); /* in; or NULL */
    uint8_t stage;                                            /* private, as all that follow */
    bool doubt;                                               /* the record may count */
    bool is_late; /* and may still arrive, or was in a key that could not be read */
    bool numbered;
    bool has_asked; /* its first request was asked for, so it may be in a key */
    bool adds;      /* its batch adds the key of a flat map */
    bool looks;     /* its batch reads the key after the append */
    bool is_told;   /* the open number has shown the state of the key */
    bool removes;   /* its record is a removal */
    bool must_look; /* an append has not shown the state of the key */
    uint8_t rootings, rejections, moves;
    uint8_t refusals;     /* by another number, in a row */
    mcds_cas_token token; /* of a look at the OPEN key, for the next append; all zero: none */
    uint32_t seen;        /* the flags of the key, with `token` */
    size_t removed;       /* with wants_code: as of the bucket */
    uint32_t depth;
    uint32_t deepest; /* to which an append was sent */
    uint32_t copies;  /* of its record that may be in this life */
    bool grows;       /* the update is done, and the key has grown */
    uint64_t hash;
    struct mcds__map_life life;
    uint64_t ticket;
    _Atomic uint32_t *under_way; /* the counter of its bytes in flight, or NULL */
    uint64_t writer;
    uint32_t seq;
    int64_t time_ms;
    mcds_bytes element; /* inside the record */
    struct mcds__map_place place;
    struct mcds__map_rewrite rewrite;
    struct mcds__map_making making;
    struct mcds__map_proof proof;
    struct mcds__key key;
    mcds_request requests[MCDS__MAP_UPDATE_REQUESTS];
    mcds_buffer record;
    uint8_t record_scratch[192];
};
/* False: no memory. The command's bytes are copied. */
bool mcds__map_update_begin(struct mcds__map_update *update, struct mcds__map *map,
                            const struct mcds__map_command *command);
/* Replace the element and the value, of at most 127 bytes, by others of the same lengths. */
void mcds__map_update_rewrite(struct mcds__map_update *update, mcds_bytes element,
                              mcds_bytes value);
enum mcds__step mcds__map_update_step(struct mcds__map_update *update,
                                      struct mcds__operation *operation);
/* Call it from the operation's release. */
void mcds__map_update_free(struct mcds__map_update *update);

/* Read one element. DONE with MCDS_OK: `value` is valid until the operation's next request;
 * MCDS_NOT_FOUND; MCDS_LOST; failures of reading. */
struct mcds__map_get {
    struct mcds__map *map;
    mcds_bytes value; /* out */
    uint64_t hash;    /* out: of the element, in the life that was read */
    /* In, or NULL: returns whether the caller knows the entry of the element in a key with this
     * value. If it does, the key is not searched, and the result is OK without a value. */
    bool (*knows)(struct mcds__map_get *get, mcds_bytes key_value);
    uint8_t stage; /* private, as all that follow */
    uint8_t moves;
    bool has_missed; /* the child of a SEALED key was missing at the last read */
    uint32_t depth;
    struct mcds__map_life life;
    struct mcds__map_place place;
    struct mcds__map_proof proof;
    uint8_t count; /* of requests for keys */
    struct mcds__key keys[3];
    mcds_request requests[4];
    mcds_buffer element;
    uint8_t element_scratch[64];
};
/* False: no memory. The element's bytes are copied. */
bool mcds__map_get_begin(struct mcds__map_get *get, struct mcds__map *map, mcds_bytes element);
enum mcds__step mcds__map_get_step(struct mcds__map_get *get,
                                   struct mcds__operation *operation);
void mcds__map_get_free(struct mcds__map_get *get);
/* Get the element without an operation, if the store can show the key at once and the key decides
 * about the element. `take` gets the value in place, during this call. It must not call the
 * store, and returns false if memory is refused. Sets *result_out to MCDS_OK or MCDS_NOT_FOUND.
 * False: use an operation, which returns all other results. */
bool mcds__map_get_at_once(struct mcds__map *map, mcds_bytes element,
                           bool (*take)(void *context, mcds_bytes value), void *context,
                           int *result_out);

#endif
