/* Replica: an exact sum, to which each writer contributes its own total by compare-and-set.
 *
 * An increment whose reply was lost cannot be repeated. A total can: each writer adds up
 * locally, and writes its total into an entry of its own by compare-and-set. Writers are
 * spread over slots, one key each, so a writer is usually alone in its slot, its token stays
 * valid, and a flush is one round trip for any number of additions.
 *
 *   SURVEY     get all slots                  once, to choose one
 *   FOUND      add head                       when the counter does not exist yet
 *   WRITE      cas slot | get slot            the get shows the own entry, or not
 *   TOMBSTONE  get tombstone                  the entry is missing: was the counter dropped?
 *
 * The get decides, so the outcome of the write does not matter, and a write without a reply is
 * repeated with the same entry. Of a write and its repetition only one can match the token,
 * and both store the same number. The first write of a handle also gets the head: a drop may
 * have erased the counter since the survey, and then the head is added again.
 *
 * A contribution stays in the slot where it was written first. After a server has lost the
 * slot, every open writer restores its own entry and nothing else. After a drop it restores
 * nothing: see tombstone.h.
 *
 * With copies, each slot is on `copies` servers. A flush is done when a majority shows the
 * entry, and a read when a majority of complete servers has answered. A server is complete
 * when it holds the head, which is written last: a server that was killed and returned empty
 * does not count until a reader has filled it. A drop erases one copy before the other: what lacks
 * there is not filled from the others while a tombstone is young. */
#ifndef MCDS_CORE_REPLICA_REPLICA_H
#define MCDS_CORE_REPLICA_REPLICA_H

#include <pthread.h>

#include "core/replica/state.h"
#include "engine/operation.h"

#define MCDS__REPLICA_COPIES_MAX 7
#define MCDS__REPLICA_SLOTS_MAX (MCDS_BATCH_MAX - 1)
#define MCDS__REPLICA_HEAD_MAX (8 + 3)

/* The state of one copy of the slot when it was last read. */
enum mcds__replica_sight { MCDS__REPLICA_UNSEEN, MCDS__REPLICA_MISSING, MCDS__REPLICA_THERE };

struct mcds__replica_copy {
    enum mcds__replica_sight sight;
    mcds_cas_token cas;   /* THERE */
    bool knows_tombstone; /* `tombstone` was read since the slot was claimed */
    uint64_t tombstone;   /* of a drop before the claim; 0: none */
};

/* One writer. */
struct mcds__replica {
    const mcds_env *env;
    uint32_t copies;
    uint32_t slots;
    struct mcds__key head;
    struct mcds__key tombstone; /* of a drop */
    struct mcds__key keys[MCDS__REPLICA_SLOTS_MAX];
    pthread_mutex_t mutex; /* guards what follows */
    bool busy;             /* a flush is in progress, and only it may use the members below */
    bool seen;             /* the sum was seen in the store */
    bool is_closing;       /* the handle is closed: the flush in progress is the last */
    uint64_t total;        /* added since the slot was claimed */
    uint64_t added;        /* additions ever */
    uint64_t flushed;      /* this many of them are in the store */
    uint64_t sent;         /* this many of them were in an amount that was sent */
    uint64_t withdrawn;    /* this many of those since `flushed` no longer count */
    int64_t flushed_ns;    /* end of the last flush, with any result */
    bool failed;           /* whether that flush failed */
    /* The server lost the slot of this handle, with contributions of others. */
    bool reborn;
    uint64_t owner; /* 0: no slot is claimed */
    uint32_t slot;
    uint64_t version; /* of the last entry written */
    uint64_t stored;  /* the last amount that is known to be in the store */
    uint64_t issued;  /* the last amount that was sent */
    bool doubt;       /* `issued` was sent and not seen */
    bool known;       /* the next two members belong to a state that contains this entry */
    uint64_t generation;
    uint32_t epoch;
    uint32_t moves; /* slots that the handle has left: to use one alone, or at its end */
    bool is_kept;   /* most servers have had a copy of the slot */
    bool level;     /* all copies hold `state`, with the tokens in `copy` */
    struct mcds__replica_copy copy[MCDS__REPLICA_COPIES_MAX];
    struct mcds__replica_state state;              /* the entries of the copies, merged */
    uint64_t generations[MCDS__REPLICA_SLOTS_MAX]; /* of the slots, as seen last; 0: none */
};

/* `copies` is 1 to MCDS__REPLICA_COPIES_MAX. `head` is the key of the head; the slots have the
 * keys TAG:NAME:SLOT. False: the system has no mutex left. */
bool mcds__replica_open(struct mcds__replica *replica, const mcds_env *env, const char *ns,
                        const char *name, uint32_t copies);
/* No addition follows. A flush in progress also stores what was added since it began, and frees the
 * slot. Its result stays that of its first part. If the second part fails, these additions are lost. */
void mcds__replica_end(struct mcds__replica *replica);
/* Nothing is in progress. */
void mcds__replica_close(struct mcds__replica *replica);

/* An addition: its number among those of the handle; 0: none. */
struct mcds__replica_addition {
    uint64_t number;
    int64_t delta;
};

/* Count in the handle. False: the sum would leave +-2^61, nothing was added. */
bool mcds__replica_add(struct mcds__replica *replica, int64_t delta,
                       struct mcds__replica_addition *addition_out);

/* A survey: a read of all slots in all copies, and its replies. */
struct mcds__replica_survey {
    struct mcds__replica *replica;
    mcds_request requests[MCDS_BATCH_MAX];
};

/* The state of one server. */
enum mcds__replica_server {
    MCDS__REPLICA_SILENT, /* it has not answered every request */
    MCDS__REPLICA_EMPTY,  /* it has no head: it may lack slots */
    MCDS__REPLICA_WHOLE
};

/* The conclusion from a read. */
enum mcds__replica_verdict {
    MCDS__REPLICA_SEEN,   /* each majority has one that is whole, so they have each entry */
    MCDS__REPLICA_NONE,   /* the counter does not exist yet */
    MCDS__REPLICA_LOST,   /* all have answered, and too many have lost their slots */
    MCDS__REPLICA_AWAY,   /* too few have answered */
    MCDS__REPLICA_FOREIGN /* another kind of value is there; the operation says which */
};

enum mcds__step mcds__replica_ask_survey(struct mcds__replica_survey *survey,
                                         struct mcds__operation *operation);
enum mcds__replica_verdict mcds__replica_judge(const struct mcds__replica_survey *survey,
                                               struct mcds__operation *operation,
                                               enum mcds__replica_server *servers);
/* Whether a value is the head of an exact counter. Sets the number of copies in it. */
bool mcds__replica_head_read(mcds_bytes value, mcds_bytes key, uint32_t *copies_out);
/* The request that read `slot` in `copy`, or the head if `slot` is replica->slots. */
const mcds_request *mcds__replica_reply(const struct mcds__replica_survey *survey,
                                        uint32_t copy, uint32_t slot);
/* Merge the copies of a slot. Returns how many there are, or -1: damaged or too full. */
int mcds__replica_gather(const struct mcds__replica_survey *survey,
                         struct mcds__operation *operation, uint32_t slot,
                         struct mcds__replica_state *state_out);
/* A reply that explains why too few have answered. */
const mcds_reply *mcds__replica_trouble(const struct mcds__replica_survey *survey);

/* Whether a value is the head of an exact counter, of any number of copies or a newer version. */
bool mcds__replica_is_head(mcds_bytes value, mcds_bytes key);

mcds_request mcds__replica_head_add(const struct mcds__replica *replica, uint32_t copy,
                                    uint8_t *value);

/* One flush: begin, fill the first part, step until DONE, end.
 *
 *   MCDS_OK         all that was added before is in the store
 *   MCDS_AMBIGUOUS  a part may be in the store; the rest stays in the handle, and the next
 *                   flush stores it, once
 *   MCDS_BUSY       others kept changing the slot, or another flush of this handle did not end
 *   others          nothing of it is in the store; it stays in the handle
 *
 * With `own`, a flush that fails before anything with this addition in it was sent takes it
 * back: it is not counted, and the result is never AMBIGUOUS. */
struct mcds__replica_flush {
    struct mcds__replica *replica;
    struct mcds__replica_addition own; /* in; number 0: none */
    bool is_withdrawn;                 /* out: the addition was undone */
    bool leaves;                       /* the last flush of this writer, marked as such */
    bool waits;                        /* for another flush in progress */
    uint8_t stage;                     /* private, as all that follow */
    bool holds;                        /* this flush has set replica->busy */
    bool moves;                        /* leaves the slot to its other writers */
    bool dropped;                      /* an amount with an unknown outcome was given up */
    bool is_lost;                      /* the entry is missing, and not because of a drop */
    bool is_stored;                    /* the rest is for a handle that was closed meanwhile */
    uint8_t rounds;
    uint8_t claims;
    bool counted;    /* `target` is known */
    uint64_t target; /* the number of additions that must be in the store */
    uint64_t amount;
    uint64_t added;
    bool may_fill;   /* copies that lack the slot: no drop is erasing it */
    bool wants_head; /* the head was there at the survey, or was made: it must be there still */
    uint64_t generation;
    uint32_t epoch;
    struct mcds__replica_survey survey;
    mcds_request requests[4 * MCDS__REPLICA_COPIES_MAX];
    int8_t tombstone_at[MCDS__REPLICA_COPIES_MAX]; /* in `requests`; -1: none */
    int8_t write_at[MCDS__REPLICA_COPIES_MAX];     /* in `requests`; -1: none */
    int8_t survey_at[MCDS__REPLICA_COPIES_MAX];
    int8_t head_at[MCDS__REPLICA_COPIES_MAX]; /* in `requests`; -1: none */
    uint8_t value[MCDS__REPLICA_VALUE_MAX];
    uint8_t head[MCDS__REPLICA_HEAD_MAX];
};

void mcds__replica_flush_begin(struct mcds__replica_flush *flush,
                               struct mcds__replica *replica);
enum mcds__step mcds__replica_flush_step(struct mcds__replica_flush *flush,
                                         struct mcds__operation *operation);
/* The flush will not be stepped again. */
void mcds__replica_flush_end(struct mcds__replica_flush *flush);

/* One read: begin, step until DONE, end.
 *
 *   MCDS_OK         `value` and `reborn` are known
 *   MCDS_NOT_FOUND  it never existed; MCDS_LOST: this handle saw it, and it is gone
 *   MCDS_INVALID    another kind of value has this name
 *   others          too few servers have answered, or a value is damaged */
struct mcds__replica_read {
    struct mcds__replica_survey survey;
    int64_t value; /* out: including what this handle has not flushed */
    bool reborn;   /* out: something was lost */
    uint8_t stage; /* private, as all that follow */
    uint8_t rounds;
    bool is_lost;      /* the own entry is missing, and not because of a drop */
    bool has_repeated; /* the survey that showed a loss */
    bool is_unkept;    /* no majority of the copies has all that was added up */
    uint64_t owner;    /* of the handle's slot before the survey, */
    uint32_t moves;    /* and how many it had left by then */
    uint32_t repairs;
    mcds_request tombstones[MCDS__REPLICA_COPIES_MAX];
    enum mcds__replica_server servers[MCDS__REPLICA_COPIES_MAX];
    bool filled[MCDS__REPLICA_COPIES_MAX]; /* lacks only the head */
    mcds_request requests[MCDS_BATCH_MAX];
    mcds_buffer values;
    uint8_t head[MCDS__REPLICA_HEAD_MAX];
};

void mcds__replica_read_begin(struct mcds__replica_read *read, struct mcds__replica *replica);
enum mcds__step mcds__replica_read_step(struct mcds__replica_read *read,
                                        struct mcds__operation *operation);
void mcds__replica_read_end(struct mcds__replica_read *read);

/* Set the tombstones, erase heads and slots in all copies, and forget the contribution of
 * this handle. MCDS_INVALID: there is a counter of another form or with other copies; it is
 * not changed. */
struct mcds__replica_drop {
    struct mcds__replica_survey survey; /* the caller fills survey.replica */
    uint8_t stage;                      /* private; 0 at the start, as all that follow */
    bool holds;
    bool erased;
    bool is_full; /* there was no room for the tombstone: it is set after the erasure */
    uint64_t tombstone;
    uint8_t value[8 + 8];
    enum mcds__replica_server servers[MCDS__REPLICA_COPIES_MAX];
};

enum mcds__step mcds__replica_drop_step(struct mcds__replica_drop *drop,
                                        struct mcds__operation *operation);
void mcds__replica_drop_end(struct mcds__replica_drop *drop);

#endif
