/* Core share: a sum in which nothing is lost or counted twice.
 *
 * An increment cannot be repeated, because nobody knows whether it was applied. A share can: a
 * writer adds up by itself, and writes its whole sum into an entry of its own by compare-and-
 * set. Writers are spread over slots, one key each, so that a writer is usually alone in its
 * slot, its token stays good and a flush is one round trip, however much was added.
 *
 *   LOOK    get all slots                     once, to choose one
 *   FOUND   add head                          when there is none yet
 *   WRITE   cas slot | get slot               our entry is in what the get shows, or not
 *
 * What the get shows decides; so it does not matter what became of the write, and one that went
 * unanswered is repeated with the same entry. Of a write and its repetition only one can land
 * on the same token, and either of them brings the same number.
 *
 * A contribution stays in the slot into which it was written first. When a server has lost the
 * slot, every living writer brings back its own entry and nothing else.
 *
 * With copies, each slot stands on `copies` servers. A flush is done when a majority shows our
 * entry, and a reading when a majority has answered that is whole. A server is whole when it
 * holds the head, which is written last: one that was killed and came back empty does not count
 * until a reader has filled it. */
#ifndef MCDS_CORE_SHARE_H
#define MCDS_CORE_SHARE_H

#include <pthread.h>

#include "core/share_state.h"
#include "engine/operation.h"

#define MCDS__SHARE_COPIES_MAX 7
#define MCDS__SHARE_SLOTS_MAX (MCDS_BATCH_MAX - 1)
#define MCDS__SHARE_HEAD_MAX (8 + 3)

/* What one copy of our slot held when it was asked last. */
enum mcds__share_sight { MCDS__SHARE_UNSEEN, MCDS__SHARE_MISSING, MCDS__SHARE_THERE };

struct mcds__share_copy {
    enum mcds__share_sight sight;
    mcds_cas_token cas; /* THERE */
};

/* One writer. */
struct mcds__share {
    const mcds_env *env;
    uint32_t copies;
    uint32_t slots;
    struct mcds__key head;
    struct mcds__key keys[MCDS__SHARE_SLOTS_MAX];
    pthread_mutex_t mutex; /* guards what follows */
    bool busy;             /* a flush is under way, and alone may touch the part below */
    bool seen;             /* the sum was seen in the store */
    uint64_t total;        /* added since the slot was claimed */
    uint64_t added;        /* additions ever */
    uint64_t flushed;      /* so many of them are in the store */
    uint64_t sent;         /* so many of them were in an amount that was sent */
    uint64_t withdrawn;    /* so many of those since `flushed` count no more */
    int64_t flushed_ns;    /* end of the last flush, whatever became of it */
    bool failed;           /* and it came to nothing */
    bool reborn;           /* the server had lost a slot of ours, with what others had added */
    uint64_t owner;        /* 0: no slot is claimed */
    uint32_t slot;
    uint64_t version; /* of the last entry written */
    uint64_t stored;  /* the last amount that is known to be in the store */
    uint64_t issued;  /* the last amount that was sent */
    bool doubt;       /* `issued` was sent and not seen */
    bool known;       /* the next two stand for a state with our entry in it */
    uint64_t generation;
    uint32_t epoch;
    uint32_t moves; /* to slots of our own, from such as others write to */
    bool level;     /* all copies hold `state`, with the tokens in `copy` */
    struct mcds__share_copy copy[MCDS__SHARE_COPIES_MAX];
    struct mcds__share_state state;              /* what the copies hold, merged */
    uint64_t generations[MCDS__SHARE_SLOTS_MAX]; /* of the slots, as seen last; 0: none */
};

/* `copies` is 1 to MCDS__SHARE_COPIES_MAX. The head's key is `head`, those of the slots are
 * TAG:NAME:SLOT. False: no mutex to be had. */
bool mcds__share_open(struct mcds__share *share, const mcds_env *env, const char *ns,
                      const char *name, uint32_t copies);
void mcds__share_close(struct mcds__share *share);

/* An addition: its number among those of the handle; 0: none. */
struct mcds__share_addition {
    uint64_t number;
    int64_t delta;
};

/* Count in the handle. False: the sum would leave +-2^61, nothing was added. */
bool mcds__share_add(struct mcds__share *share, int64_t delta,
                     struct mcds__share_addition *addition_out);

/* All slots in all copies, and what has come of them. */
struct mcds__share_look {
    struct mcds__share *share;
    mcds_request requests[MCDS_BATCH_MAX];
};

/* What is known of one server. */
enum mcds__share_server {
    MCDS__SHARE_SILENT, /* it has not answered all */
    MCDS__SHARE_EMPTY,  /* it has no head: what it holds is not all */
    MCDS__SHARE_WHOLE
};

/* What a look stands for. */
enum mcds__share_verdict {
    MCDS__SHARE_SEEN,   /* a majority is whole */
    MCDS__SHARE_NONE,   /* nothing there yet */
    MCDS__SHARE_LOST,   /* all have answered, and too many had lost what they held */
    MCDS__SHARE_AWAY,   /* too few have answered */
    MCDS__SHARE_FOREIGN /* something else is there; the operation says what */
};

enum mcds__step mcds__share_ask_look(struct mcds__share_look *look,
                                     struct mcds__operation *operation);
enum mcds__share_verdict mcds__share_judge(const struct mcds__share_look *look,
                                           struct mcds__operation *operation,
                                           enum mcds__share_server *servers);
/* Whether a value is the head of an exact counter; how many copies it tells of. */
bool mcds__share_head_read(mcds_bytes value, mcds_bytes key, uint32_t *copies_out);
/* The request that read `slot` in `copy`, or the head when `slot` is share->slots. */
const mcds_request *mcds__share_reply(const struct mcds__share_look *look, uint32_t copy,
                                      uint32_t slot);
/* Merge what the copies of a slot hold. Returns how many hold it, or -1: damaged or too full. */
int mcds__share_gather(const struct mcds__share_look *look, const mcds_batch *batch,
                       uint32_t slot, struct mcds__share_state *state_out);
/* A reply that tells why too few have answered. */
const mcds_reply *mcds__share_trouble(const struct mcds__share_look *look);

/* Whether a value is the head of an exact counter, of any number of copies or a newer version. */
bool mcds__share_is_head(mcds_bytes value, mcds_bytes key);

mcds_request mcds__share_head_add(const struct mcds__share *share, uint32_t copy,
                                  uint8_t *value);

/* One flush: begin, fill the first part, step until DONE, end.
 *
 *   MCDS_OK         all that was added before is in the store
 *   MCDS_AMBIGUOUS  a part may be in the store; what is not stays in the handle, and the next
 *                   flush brings it, once
 *   MCDS_BUSY       others kept changing the slot, or another flush of this handle did not end
 *   others          nothing of it is in the store; it stays in the handle
 *
 * With `own`, a flush that fails before anything with this addition in it was sent takes it back:
 * it is not counted, and the result is never AMBIGUOUS. */
struct mcds__share_flush {
    struct mcds__share *share;
    struct mcds__share_addition own; /* in; number 0: none */
    bool is_withdrawn;               /* out: it was taken back */
    bool leaves;                     /* the last one: the writer says so */
    bool waits;                      /* for another flush that is under way */
    uint8_t stage;                   /* private, as all that follow */
    bool holds;                      /* share->busy is ours */
    bool moves;                      /* leaves the slot to those who write to it too */
    bool dropped;                    /* an amount of unknown fate was given up */
    uint8_t rounds;
    uint8_t claims;
    bool counted;    /* `target` is known */
    uint64_t target; /* so many additions are to be in the store */
    uint64_t amount;
    uint64_t added;
    uint64_t generation;
    uint32_t epoch;
    struct mcds__share_look look;
    mcds_request requests[2 * MCDS__SHARE_COPIES_MAX];
    int8_t write_at[MCDS__SHARE_COPIES_MAX]; /* in `requests`; -1: none */
    int8_t look_at[MCDS__SHARE_COPIES_MAX];
    uint8_t value[MCDS__SHARE_VALUE_MAX];
    uint8_t head[MCDS__SHARE_HEAD_MAX];
};

void mcds__share_flush_begin(struct mcds__share_flush *flush, struct mcds__share *share);
enum mcds__step mcds__share_flush_step(struct mcds__share_flush *flush,
                                       struct mcds__operation *operation);
/* The flush will not be stepped again. */
void mcds__share_flush_end(struct mcds__share_flush *flush);

/* One reading: begin, step until DONE, end.
 *
 *   MCDS_OK         `value` and `reborn` are known
 *   MCDS_NOT_FOUND  never made; MCDS_LOST: this handle saw it, and it is gone
 *   MCDS_INVALID    something else is there under this name
 *   others          too few servers have answered, or what they hold is damaged */
struct mcds__share_read {
    struct mcds__share_look look;
    int64_t value; /* out: with what this handle has not flushed */
    bool reborn;   /* out: something was lost */
    uint8_t stage; /* private, as all that follow */
    uint64_t owner;
    uint32_t repairs;
    enum mcds__share_server servers[MCDS__SHARE_COPIES_MAX];
    bool filled[MCDS__SHARE_COPIES_MAX]; /* lacks nothing but the head */
    mcds_request requests[MCDS_BATCH_MAX];
    mcds_buffer values;
    uint8_t head[MCDS__SHARE_HEAD_MAX];
};

void mcds__share_read_begin(struct mcds__share_read *read, struct mcds__share *share);
enum mcds__step mcds__share_read_step(struct mcds__share_read *read,
                                      struct mcds__operation *operation);
void mcds__share_read_end(struct mcds__share_read *read);

/* Erase heads and slots in all copies; what this handle holds is forgotten. MCDS_INVALID: a counter
 * of another form or with other copies is there, and is left alone. */
struct mcds__share_drop {
    struct mcds__share_look look; /* the caller fills look.share */
    uint8_t stage;                /* private; 0 at the start, as all that follow */
    bool holds;
    bool erased;
    enum mcds__share_server servers[MCDS__SHARE_COPIES_MAX];
};

enum mcds__step mcds__share_drop_step(struct mcds__share_drop *drop,
                                      struct mcds__operation *operation);
void mcds__share_drop_end(struct mcds__share_drop *drop);

#endif
