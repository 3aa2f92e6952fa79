/* Operations: calls as state machines that advance in steps.
 *
 * An operation is a struct that begins with mcds__operation and has a stage. Its step function
 * reads the replies that it asked for, and then asks for another batch (ASK), sleeps until
 * wake_ns (SLEEP) or ends (DONE). The caller of the step function decides everything else: a
 * waiting call with the operation on its stack, a pipeline, the simulator.
 *
 * Repetition: the transport never repeats a request. A batch of which no byte was sent is
 * submitted again until its deadline, without a step. A step function that repeats a batch, or
 * has used mcds__operation_ask_repeatable, calls mcds__operation_again, which bounds the
 * tries, checks the deadline and backs off. */
#ifndef MCDS_ENGINE_OPERATION_H
#define MCDS_ENGINE_OPERATION_H

#include <assert.h>
#include <stddef.h>

#include "base/key.h"
#include "base/reason.h"
#include "engine/failure/obstacle.h"
#include "engine/reply.h"
#include "store/store.h"

/* NEXT is for stages within a step function: another stage follows without a round trip. */
enum mcds__step { MCDS__ASK, MCDS__SLEEP, MCDS__DONE, MCDS__NEXT };

struct mcds__operation;

struct mcds__operation_kind {
    const char *noun;
    const char *verb;
    size_t size; /* of the whole struct */
    enum mcds__step (*step)(struct mcds__operation *operation);
    /* Frees the operation's memory besides `values`, or NULL. */
    void (*release)(struct mcds__operation *operation);
};

/* The members of mcds_error that say which call on which structure has failed. */
#define MCDS__CALL(kind, of) .noun = (kind)->noun, .name = (of), .verb = (kind)->verb

#define MCDS__VALUES_CAPACITY 256

/* What an operation has made from a value that a combined batch has read. The other operations of
 * the batch use it too. All zero at the start of a batch. */
struct mcds__shared {
    uint32_t uses; /* operations that have asked for it */
    void *made;    /* NULL: nothing */
    void (*release)(void *made);
};

/* A structure was made with `found` and opened with `wanted`. Or, where a clock is wrong, `found`
 * milliseconds are between two times, and `wanted` are accepted; 0: not known. */
struct mcds__difference {
    const char *option; /* NULL: the reason names it, and what was found */
    int64_t wanted;
    int64_t found;
};

/* What the sentence needs besides `detail` after the operation has ended. */
struct mcds__blame {
    struct mcds__key key; /* of the value that cannot be read; empty: not known */
    mcds_reason reason;   /* `detail` may be this one, with `text` */
    char text[];
};

struct mcds__operation {
    const struct mcds__operation_kind *kind;
    mcds_store *store;
    const mcds_env *env;
    const char *name; /* of the structure, for the message */
    int64_t deadline_ns;
    int64_t latest_ns;   /* no deadline is renewed beyond this; 0: not set yet */
    int64_t visiting_ns; /* since then the caller has been visiting; 0: it is not */
    int64_t sent_ns;     /* not later than the last repeatable batch was asked for */
    int64_t wake_ns;
    int64_t pause_ns; /* the last back-off */
    uint32_t tries;
    bool is_fresh;       /* it has just begun, at sent_ns */
    bool repeats_itself; /* its step function repeats what was not sent */
    bool is_asked;       /* a batch was asked for, and its replies were not read yet */
    bool is_resting;     /* it sleeps before that batch is submitted again */
    bool is_unsent;      /* a request of the last batch was not sent */
    bool ends_wait;      /* it does not sleep any more, unless it settles */
    bool settles;        /* while it waits in a line: it waits to learn what its change did */
    bool is_count;       /* of the batch, if it is combinable: engine/combine/counts.h */
    int result;
    const mcds_reason *detail; /* what went wrong, and where */
    struct mcds__difference
        difference; /* if that is OPTION_DIFFERS; found: CALLBACK_FAILED, CLOCK; option: HELD */
    const char *peer;
    const mcds_request
        *read; /* of the value that was read last; NULL: the only one, or several */
    struct mcds__blame
        *blame;          /* allocated, and freed after the failure is described; NULL: none */
    const char *asked;   /* the server of the last batch; NULL: several */
    const char *doubted; /* the server whose reply to a change was lost last; NULL: none */
    struct mcds__obstacle obstacle;
    uint64_t connection; /* the connection preferred for the next batch; 0 = any */
    uint64_t round;      /* in a pipeline: the number of this flush, never used for another */
    uint64_t tag;        /* of the pipeline */
    struct mcds__operation *next; /* of the pipeline */
    /* In a pipeline, engine/line.h: */
    struct mcds__lines *lines; /* of the pipeline; NULL: a waiting call */
    uint64_t place;  /* used by it, so that it calls the next when it leaves; 0: none */
    uint64_t line;   /* the place in whose line it is; 0: in none */
    uint64_t wanted; /* the place for which it sleeps; 0: it sleeps for itself */
    bool uses_line;  /* it is the first of its line and uses the place */
    bool leads_line; /* it also does the work of others of its line */
    uint32_t bytes;  /* that it has under way at `place`, engine/line_wait.h */
    struct mcds__operation *next_in_line;
    struct mcds__operation *before_in_line; /* NULL: it is the first */
    struct mcds__operation *line_end;       /* of the first: the last of the line */
    struct mcds__operation *other_line;     /* of the first: the first of another line */
    struct mcds__shared *shared;            /* with the operations of the same combined batch */
    mcds_batch batch;                       /* down to here all is zero or NULL at the start */
    mcds_buffer values;
    uint8_t values_room[MCDS__VALUES_CAPACITY];
};

static inline struct mcds__operation *mcds__operation_of(mcds_batch *batch)
{
    return (struct mcds__operation *)((uint8_t *)batch -
                                      offsetof(struct mcds__operation, batch));
}

/* Its address, in place of a pipeline, means a call that waits. */
extern const char mcds__wait;

/* A new number for `round`. Batches of one round are sent together, and their operations may share
 * replies. */
uint64_t mcds__next_round(void);
/* Prepare the common part; `wait_ns` is added to the store's timeout. */
void mcds__operation_begin(struct mcds__operation *operation,
                           const struct mcds__operation_kind *kind, mcds_store *store,
                           const char *name, int64_t wait_ns);
/* Make the members after the common part zero. */
void mcds__operation_clear(struct mcds__operation *operation);
/* The monotonic clock: the time when the operation began, until it asks for its first batch;
 * afterwards the clock is read. */
int64_t mcds__operation_now_ns(const struct mcds__operation *operation);
/* Give a call of many round trips the store's whole timeout for the next one. Only after a
 * round trip that made progress. Whatever a server replies, such a call ends after
 * MCDS__TIMEOUTS_MAX timeouts, besides the time that the caller has spent visiting. */
#define MCDS__TIMEOUTS_MAX 1024
void mcds__operation_renew(struct mcds__operation *operation);
/* One of the caller's values was stored, so the call may take that long again. */
static inline void mcds__operation_note_stored(struct mcds__operation *operation)
{
    operation->latest_ns = 0;
}

/* The caller visits a result. A server can invent results without an end, so only the time until
 * the next renewal is the caller's. */
void mcds__operation_note_visit(struct mcds__operation *operation);
/* The visit has ended, without progress of the call. The deadline moves only by the duration of
 * the visit. */
void mcds__operation_end_visit(struct mcds__operation *operation);

/* mcds__operation_advance, if a request of the batch was not sent or not answered, or if the batch must
 * be submitted again. */
enum mcds__step mcds__operation_advance_on(struct mcds__operation *operation);

/* The next step, after a batch was answered or the operation has slept. */
static inline enum mcds__step mcds__operation_advance(struct mcds__operation *operation)
{
    if (operation->is_resting ||
        (operation->is_asked && !mcds__batch_is_answered(&operation->batch)))
        return mcds__operation_advance_on(operation);
    if (operation->is_asked) {
        operation->is_unsent = false;
        if (operation->obstacle.reason != NULL)
            mcds__obstacle_forget(&operation->obstacle, &operation->batch);
        operation->is_asked = false;
        operation->read = NULL;
        operation->asked = mcds__batch_peer(&operation->batch);
    }
    return operation->kind->step(operation);
}

/* The value that a GET of the last batch returned. If the operation then refuses this value, the failure
 * names its key and its server. The caller keeps the request unchanged until then. */
static inline mcds_bytes mcds__operation_value(struct mcds__operation *operation,
                                               const mcds_request *request)
{
    operation->read = request;
    return mcds__reply_value(&operation->batch, request);
}

/* The request of the value that was read last; NULL: of several. */
static inline const mcds_request *mcds__operation_read(const struct mcds__operation *operation)
{
    return operation->read == NULL && operation->batch.count == 1 ? operation->batch.requests
                                                                  : operation->read;
}

/* The memory of the last batch is gone: no refusal names its keys, and the next one takes any
 * connection. */
static inline void mcds__operation_forget_batch(struct mcds__operation *operation)
{
    assert(!operation->is_asked);
    operation->read = NULL;
    operation->batch.count = 0;
    operation->connection = 0;
}

/* The value that was read last cannot be read, or has other options: keep its key and its server. */
void mcds__operation_blame_value(struct mcds__operation *operation);
/* A refusal names the key and the server of this reply to the last batch. */
void mcds__operation_note_read(struct mcds__operation *operation, const mcds_reply *reply);

/* Free the operation's memory besides `blame`, on every way out of it. */
void mcds__operation_free(struct mcds__operation *operation);
/* `why` with another text, which the operation keeps; `why` itself if there is no memory. */
const mcds_reason *mcds__operation_reword(struct mcds__operation *operation,
                                          const mcds_reason *why, const char *text);
/* Whether mcds_last_error() describes it: each failure, and the answers that have several causes. */
static inline bool mcds__result_has_cause(int result)
{
    return result != MCDS_OK && (result < 0 || result == MCDS_BUSY || result == MCDS_TOO_OLD ||
                                 result == MCDS_TOO_FUTURE);
}
/* Where a failure was found. NULL: not known. */
struct mcds__where {
    const char *peer;
    const struct mcds__blame *blame;
};
/* Record the failure of an operation of this kind for mcds_errmsg(). `detail` may be NULL;
 * `difference` is read for the causes that its member of an operation names. */
void mcds__describe_failure(const struct mcds__operation_kind *kind, const char *name,
                            int result, struct mcds__where where, const mcds_reason *detail,
                            const struct mcds__difference *difference);
/* Whether the last trouble was that another server did not answer. */
bool mcds__operation_is_doubted_elsewhere(const struct mcds__operation *operation);
/* The server of a failure, for the sentence. A change in doubt names the server whose reply was lost,
 * unless another one shows the cause. */
const char *mcds__operation_peer(const struct mcds__operation *operation);
/* The reason of a failure, for the sentence: `detail`, or another one where the store evicts nothing.
 * NULL: the usual one of the result. */
static inline const mcds_reason *mcds__operation_reason(const struct mcds__operation *operation)
{
    if (mcds__operation_is_doubted_elsewhere(operation))
        return NULL;
    const mcds_reason *other = mcds__reason_without_eviction(operation->detail);
    bool is_kept = other != operation->detail && mcds__store_answers_here(operation->store) &&
                   !mcds__store_can(operation->store).evicts;
    return is_kept ? other : operation->detail;
}
/* Drive a prepared operation to its end and end it. */
int mcds__operation_run(struct mcds__operation *operation);

/* Ask for these requests, in order, within the remaining time of the operation. */
enum mcds__step mcds__operation_ask(struct mcds__operation *operation, mcds_request *requests,
                                    uint32_t count);
/* Ask for these requests, in any order. */
enum mcds__step mcds__operation_ask_any_order(struct mcds__operation *operation,
                                              mcds_request *requests, uint32_t count);
/* Ask for a batch that may be repeated: its timeout is at most that of the store, and
 * half of it at the first try, so that time for a second try remains after a silent loss. Sets
 * sent_ns. */
enum mcds__step mcds__operation_ask_repeatable(struct mcds__operation *operation,
                                               mcds_request *requests, uint32_t count);
/* Ask for repeatable requests that append to one key, which the pipeline may send together with those
 * of other operations; engine/combine/combine.h says which. */
enum mcds__step mcds__operation_ask_combinable(struct mcds__operation *operation,
                                               mcds_request *requests, uint32_t count);

/* After mcds__operation_ask or mcds__operation_ask_any_order: the pipeline may combine these changes
 * of numbers with those of other operations; engine/combine/counts.h says which. */
static inline enum mcds__step mcds__operation_share(struct mcds__operation *operation)
{
    operation->batch.combinable = operation->is_count = true;
    return MCDS__ASK;
}

/* CORRUPT is about the value that was read last. A call that others keep busy finishes with the result
 * for the obstacle, if there is one. */
enum mcds__step mcds__operation_finish(struct mcds__operation *operation, int result);
/* Finish with `result` and why. A refusal of what a key holds names the server of the value
 * that was read last, a loss that of the last batch. */
enum mcds__step mcds__operation_explain(struct mcds__operation *operation, int result,
                                        const mcds_reason *detail);
/* Finish because two times are so many milliseconds apart, and at most `accepted_ms` is accepted. */
static inline enum mcds__step mcds__operation_mistime(struct mcds__operation *operation,
                                                      int result, const mcds_reason *detail,
                                                      int64_t difference_ms,
                                                      int64_t accepted_ms)
{
    assert(detail->cause == MCDS_CAUSE_CLOCK && difference_ms >= 0);
    operation->difference.found = difference_ms;
    operation->difference.wanted = accepted_ms;
    return mcds__operation_explain(operation, result, detail);
}

/* Finish as AMBIGUOUS after a result that does not say whether the change counts. CORRUPT: no reply was
 * lost, but the key cannot be read. */
static inline enum mcds__step mcds__operation_doubt(struct mcds__operation *operation)
{
    assert(operation->result != MCDS_OK);
    if (operation->result == MCDS_CORRUPT)
        operation->detail = MCDS__WHY(CHANGE_UNREADABLE);
    operation->result = MCDS_AMBIGUOUS;
    return MCDS__DONE;
}

/* A value came without a CAS token: the server has begun to run without compare-and-set. */
enum mcds__step mcds__operation_lack_cas(struct mcds__operation *operation);
/* Finish with MCDS_INVALID: the structure was made with another value of an option. */
enum mcds__step mcds__operation_differ(struct mcds__operation *operation,
                                       const mcds_reason *detail,
                                       struct mcds__difference difference);
/* Finish with the result for a reply. Where the deadline kept it from being sent or answered, the
 * obstacle is the cause; TIMEOUT: there was none, or it did not answer in time. */
enum mcds__step mcds__operation_fail(struct mcds__operation *operation,
                                     const mcds_reply *reply);
/* mcds__operation_fail for requests whose effect does not matter, such as reads: never AMBIGUOUS. */
enum mcds__step mcds__operation_fail_read(struct mcds__operation *operation,
                                          const mcds_reply *reply);

/* Finish because nothing could be sent before the deadline: with the result for the obstacle, or
 * TIMEOUT. */
enum mcds__step mcds__operation_fail_unsent(struct mcds__operation *operation);
/* Finish because other clients were not done before the deadline: BUSY and why. If the last batch
 * was not sent, finish with the result for that. */
enum mcds__step mcds__operation_fail_waiting(struct mcds__operation *operation,
                                             const mcds_reason *detail);

/* Whether another try is allowed: false if the deadline or the maximum of tries is reached. A
 * try of which no byte was sent does not count. If true, wake_ns is set and the step function
 * returns MCDS__SLEEP. */
bool mcds__operation_again(struct mcds__operation *operation);
/* After a request that may be repeated has failed: another try, or finish as
 * mcds__operation_fail_read. A refusal is not tried again. The caller first sets its stage back
 * to the one that asks. */
enum mcds__step mcds__operation_retry(struct mcds__operation *operation,
                                      const mcds_reply *reply);
/* mcds__operation_again without a maximum of tries, for waiting for another client. Sleeps at most
 * `hint_ns` if that is positive. */
bool mcds__operation_wait(struct mcds__operation *operation, int64_t hint_ns);
/* mcds__operation_wait, until `place` has room: in a pipeline the operation joins the line of the
 * place, and continues at the latest after hint_ns when it is the first. */
bool mcds__operation_wait_in_line(struct mcds__operation *operation, uint64_t place,
                                  int64_t hint_ns);
/* Sleep until a time of the wall clock has come, which does not count toward the timeout. The caller
 * bounds what a call sleeps in all. */
enum mcds__step mcds__operation_sleep(struct mcds__operation *operation, int64_t ns);
bool mcds__operation_is_late(const struct mcds__operation *operation);
/* Wake a sleeping operation and set its deadline to 0, so that it sends nothing more and ends. */
void mcds__operation_expire(struct mcds__operation *operation);
/* The wait of an operation that sleeps was ended. One that waits to learn what its change did continues for
 * the timeout at most; another one is woken, and ends. */
void mcds__operation_end_wait(struct mcds__operation *operation);

#endif
