/* Records calls on shared objects and their results: the history that linear_check() judges. An
 * actor has a pipeline, and calls a few objects of one kind, of which all actors of a play have
 * handles. history_call() starts the next call, and history_book() records its completion. */
#ifndef MCDS_TESTS_SUPPORT_HISTORY_H
#define MCDS_TESTS_SUPPORT_HISTORY_H

#include "mcds.h"
#include "support/lengths.h"
#include "support/linear.h"

#define HISTORY_CALLS 14
#define HISTORY_OBJECTS 2
#define HISTORY_LOSSES 8
#define HISTORY_LINE 160
#define HISTORY_EXTRAS 2
/* Keys of tables and elements of sets: so long that two of them make a key of the store split, or
 * so short that they do not. */
#define HISTORY_KEY 240
#define HISTORY_KEY_SHORT 100
#define HISTORY_KEY_MAX 1024
/* A quarter of memcached's largest value; the arguments of a call are the numbers from 1 to 5. */
#define HISTORY_VALUE_MAX 262016
#define HISTORY_VALUE_SHORT 16
#define HISTORY_ARGUMENTS 5

struct history_actor;

/* A kind of object, and how its calls are made. */
struct history_subject {
    const char *name;
    int64_t initial;
    linear_apply *apply;
    const char *words[8]; /* what the verbs are called */
    uint32_t verbs[8];
    uint32_t verb_count;
    /* A call makes its change again if the reply was lost, or the object was lost meanwhile. */
    bool repeats;
    int (*open)(struct history_actor *actor);
    void (*close)(struct history_actor *actor);
    int (*start)(struct history_actor *actor, uint32_t call);
    int64_t (*result)(struct history_actor *actor, uint32_t call, int result);
    /* Instead of `result`: book the completion. False: no fault explains the result. */
    bool (*book)(struct history_actor *actor, uint32_t call, int result);
    /* May be NULL: what belongs to the history besides the call itself. Returns how many.
     * may_lose: the backend may have forgotten the object. */
    uint32_t (*gather)(const struct history_actor *actor, uint32_t call, bool may_lose,
                       struct linear_op out[static HISTORY_EXTRAS]);
};

/* The entries of a table: numbers, and values of any length; the elements of a set, arrays of one
 * number, signed counters. */
extern const struct history_subject history_table;
extern const struct history_subject history_values;
extern const struct history_subject history_set;
extern const struct history_subject history_array;
extern const struct history_subject history_counter;
/* Locks; and locks of which some leases are left to run out, so that a play takes seconds. */
extern const struct history_subject history_lock;
extern const struct history_subject history_lease;

struct history_call {
    struct linear_op op;
    struct history_actor *actor;
    _Atomic bool is_over; /* its completion has been taken in; set last */
    uint32_t object;
    bool counts; /* it belongs to the history */
    bool lost;   /* it was told that the object is gone; op.ended_ns is when */
    bool changed;
    int64_t number;
    mcds_value value;
    char text[32];
    char key[HISTORY_KEY_MAX + 1];
};

struct history_actor {
    const struct history_subject *subject;
    mcds_store *store;
    mcds_pipeline *pipeline;
    /* True time, the same for all actors of a play; to be set after history_open(). */
    int64_t (*now_ns)(void *clock);
    void *clock;
    bool
        may_lose; /* the backend may forget: MCDS_LOST is possible; as now_ns, set after opening */
    int key_length; /* HISTORY_KEY; may be set after opening */
    /* Of the values of a table and the elements of an array, by the argument; the same for all
     * actors of a play; to be set after opening. */
    struct lengths lengths;
    char name[32]; /* of the objects of this play */
    uint64_t dice;
    uint32_t next;
    char impossible[240]; /* a result that no fault explains, or "" */
    struct history_call calls[HISTORY_CALLS];
    void *own; /* of the subject */
    mcds_table *table;
    mcds_set *set;
    mcds_array *arrays[HISTORY_OBJECTS];
    mcds_counter *counters[HISTORY_OBJECTS];
    uint8_t scratch[2][HISTORY_VALUE_MAX + 1];
};

/* Returns an mcds_result; history_close() is needed even after a failure. */
int history_open(struct history_actor *actor, const struct history_subject *subject,
                 mcds_store *store, mcds_pipeline *pipeline, const char *name, uint64_t dice);
void history_close(struct history_actor *actor);

/* The actor's process has been killed, and its memory is shared: of what it had under way nobody
 * knows what became of it. */
void history_abandon(struct history_actor *actor);

/* Start the next call. False: all have been made, or something impossible has happened. */
bool history_call(struct history_actor *actor);
void history_book(struct history_actor *actor, const mcds_completion *done);

/* What the backend may have forgotten in the course of a play. */
struct history_losses {
    uint32_t count;
    struct linear_op at[HISTORY_LOSSES];
};

/* Something may have been forgotten between two moments; LINEAR_LOSSES: several times. What finds
 * no room makes the last that has found room longer. */
void history_lose(struct history_losses *losses, enum linear_kind kind, int64_t from_ns,
                  int64_t to_ns);
/* Whether a call was told of a loss before there can have been one. */
bool history_lost_too_soon(const struct history_actor *actors, uint32_t count,
                           const struct history_losses *losses);

/* The calls on one object, and the losses, which may be NULL. Returns how many there are; those
 * beyond LINEAR_OPS_MAX are left out. */
uint32_t history_gather(const struct history_actor *actors, uint32_t count, uint32_t object,
                        const struct history_losses *losses,
                        struct linear_op ops[static LINEAR_OPS_MAX]);
/* The same, and earlier effects that calls may have had: a call that repeats its change and was in
 * flight when the object was lost may have changed it before the loss as well as after it. */
uint32_t history_gather_lives(const struct history_actor *actors, uint32_t count,
                              uint32_t object, const struct history_losses *losses,
                              struct linear_op ops[static LINEAR_OPS_MAX]);
void history_describe(const struct history_subject *subject, const struct linear_op *op,
                      char line[static HISTORY_LINE]);
/* What the actor calls an object that has a name of its own. */
const char *history_object_name(const struct history_actor *actor, uint32_t object,
                                char capacity[static 48]);

#endif
