/* An operation advances in steps.
 *
 * It is a struct that begins with mcds__operation, a stage of its own, and a step function that
 * looks at the replies it asked for and then asks for another batch (ASK), sleeps until wake_ns
 * (SLEEP) or ends (DONE). Whoever calls step decides the rest: a waiting call on the caller's
 * stack, a pipeline, the simulator.
 *
 * Repeating: the transport never does. A batch of which nothing has left is asked for again until
 * its deadline, without a step. A step function that wants to ask the same again, or has asked by
 * mcds__operation_ask_repeatable, goes through mcds__operation_again, which bounds the tries,
 * watches the deadline and backs off. */
#ifndef MCDS_ENGINE_OPERATION_H
#define MCDS_ENGINE_OPERATION_H

#include "base/reason.h"
#include "store/store.h"

enum mcds__step { MCDS__ASK, MCDS__SLEEP, MCDS__DONE };

struct mcds__operation;

struct mcds__operation_kind {
    const char *noun;
    const char *verb;
    size_t size; /* of the whole struct */
    enum mcds__step (*step)(struct mcds__operation *operation);
};

#define MCDS__VALUES_ROOM 256

/* A structure was made with `found` and opened with `wanted`. */
struct mcds__difference {
    const char *option; /* NULL: the reason names it, and what was found */
    int64_t wanted;
    int64_t found;
};

struct mcds__operation {
    const struct mcds__operation_kind *kind;
    mcds_store *store;
    const mcds_env *env;
    const char *name; /* of the structure, for the message */
    int64_t deadline_ns;
    int64_t latest_ns; /* no deadline is renewed beyond this; 0: not fixed yet */
    int64_t sent_ns;   /* when the last repeatable batch was asked for, at the earliest */
    int64_t wake_ns;
    int64_t pause_ns; /* the last back-off */
    uint32_t tries;
    bool is_fresh;       /* it has just begun, at sent_ns */
    bool repeats_itself; /* its step function asks again for what did not leave */
    bool is_asked;       /* a batch has been asked for and not been looked at since */
    bool is_resting;     /* before it asks for that batch once more */
    int result;
    const mcds_reason *detail;          /* what went wrong, and where */
    struct mcds__difference difference; /* set where that is OPTION_DIFFERS */
    const char *peer;
    const mcds_reason
        *obstacle; /* why the last batch could not be sent, before its time was over */
    const char *obstacle_peer; /* and where; NULL: it could */
    uint64_t connection;       /* where the next batch had best go; 0 = anywhere */
    uint64_t round; /* in a pipeline: no other flush has had or will have this number */
    /* Frees what the operation holds besides `values`; set after begin, or NULL. */
    void (*release)(struct mcds__operation *operation);
    mcds_batch batch;
    mcds_buffer values;
    uint64_t tag;                 /* of the pipeline */
    struct mcds__operation *next; /* of the pipeline */
    uint8_t values_room[MCDS__VALUES_ROOM];
};

/* Prepare the common part; `wait_ns` is added to the store's timeout. */
void mcds__operation_begin(struct mcds__operation *operation,
                           const struct mcds__operation_kind *kind, mcds_store *store,
                           const char *name, int64_t wait_ns);
/* The monotonic clock as the operation has seen it last: when it began, as long as it has asked for
 * nothing; else it looks. */
int64_t mcds__operation_now_ns(const struct mcds__operation *operation);
/* Give a call of many round trips the store's whole timeout for the next one. Only after one that has
 * brought it forward. Whatever a server answers, such a call ends after MCDS__TIMEOUTS_MAX timeouts in
 * which it came to no result. */
#define MCDS__TIMEOUTS_MAX 1024
void mcds__operation_renew(struct mcds__operation *operation);
/* The caller has got something of it, so the call may go on for as long again. */
static inline void mcds__operation_note_result(struct mcds__operation *operation)
{
    operation->latest_ns = 0;
}

/* The same where not all of the batch has left, or where it is to be asked for again. */
enum mcds__step mcds__operation_advance_on(struct mcds__operation *operation);

/* Whether all of it has left. */
static inline bool mcds__batch_has_left(const mcds_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++)
        if (batch->requests[i].reply.outcome == MCDS_OUT_UNSENT)
            return false;
    return true;
}

/* What comes next, after a batch was answered or the operation has slept. */
static inline enum mcds__step mcds__operation_advance(struct mcds__operation *operation)
{
    if (operation->is_resting ||
        (operation->is_asked && !mcds__batch_has_left(&operation->batch)))
        return mcds__operation_advance_on(operation);
    if (operation->is_asked) {
        operation->obstacle = NULL;
        operation->is_asked = false;
    }
    return operation->kind->step(operation);
}

/* Free what the operation holds, on every way out of it. */
void mcds__operation_free(struct mcds__operation *operation);
/* Free what the operation holds and leave its sentence in mcds_errmsg(); returns the result. */
int mcds__operation_end(struct mcds__operation *operation);
/* Record the failure of an operation of this kind for mcds_errmsg(). `peer` and `detail` may be NULL;
 * `difference` is read where `detail` is OPTION_DIFFERS. */
void mcds__describe_failure(const struct mcds__operation_kind *kind, const char *name,
                            int result, const char *peer, const mcds_reason *detail,
                            const struct mcds__difference *difference);
/* Drive a prepared operation to its end and end it. */
int mcds__operation_run(struct mcds__operation *operation);

/* Ask for these requests, in order, within what is left of the operation's time. */
enum mcds__step mcds__operation_ask(struct mcds__operation *operation, mcds_request *requests,
                                    uint32_t count);
/* The same where the order does not matter. */
enum mcds__step mcds__operation_ask_any_order(struct mcds__operation *operation,
                                              mcds_request *requests, uint32_t count);
/* The same for a batch that may be asked again: it gets the store's timeout at most, and at the
 * first try half of it, so that a silent loss leaves room for a second one. Sets sent_ns. */
enum mcds__step mcds__operation_ask_repeatable(struct mcds__operation *operation,
                                               mcds_request *requests, uint32_t count);
/* The same for requests that append to one key, which the pipeline may send together with those
 * of other operations; engine/combine.h says which. */
enum mcds__step mcds__operation_ask_combinable(struct mcds__operation *operation,
                                               mcds_request *requests, uint32_t count);

enum mcds__step mcds__operation_finish(struct mcds__operation *operation, int result);
/* Finish with `result` and why. */
enum mcds__step mcds__operation_explain(struct mcds__operation *operation, int result,
                                        const mcds_reason *detail);
/* Finish with MCDS_INVALID: the structure was made with another value of an option. */
enum mcds__step mcds__operation_differ(struct mcds__operation *operation,
                                       const mcds_reason *detail,
                                       struct mcds__difference difference);
/* Finishes with the result for a reply. UNSENT is TIMEOUT when the deadline has passed and there
 * was no other obstacle. */
enum mcds__step mcds__operation_fail(struct mcds__operation *operation,
                                     const mcds_reply *reply);
/* The same for requests that change nothing, or nothing that matters: never AMBIGUOUS. */
enum mcds__step mcds__operation_fail_read(struct mcds__operation *operation,
                                          const mcds_reply *reply);

/* Whether another try is allowed: false when the deadline or the bound on tries is reached. A try
 * of which nothing that went unanswered has left does not count. When true, wake_ns is set and the step function returns MCDS__SLEEP. */
bool mcds__operation_again(struct mcds__operation *operation);
/* The same without a bound on tries, for those who wait for others. Sleeps no longer than
 * `hint_ns` when that is positive. */
bool mcds__operation_wait(struct mcds__operation *operation, int64_t hint_ns);
bool mcds__operation_is_late(const struct mcds__operation *operation);

/* What a reply means to the caller: BAD_REQUEST is INVALID, UNKNOWN is AMBIGUOUS, ...; MISS is
 * NOT_FOUND, EXISTS and NOT_STORED are EXISTS. */
int mcds__result_of(const mcds_reply *reply);
/* Neither an answer of the store nor a refusal: UNSENT or UNKNOWN. */
bool mcds__is_transport_trouble(const mcds_reply *reply);
/* A definite no for a reason of the store's: full, too big, not supported, ... */
bool mcds__is_refusal(const mcds_reply *reply);

#endif
