/* Seats of a hall, each to be sold to one customer at most: what a program of yours might look
 * like. It takes a store and a pipeline and knows nothing of simulations.
 *
 * The hall is a table: the key is a seat, the value who has it. Three ways to buy one:
 *
 *   lock      under a lock: look whether the seat is free, then write. A program that stops between
 *             the two, or a machine that swaps, wakes up when the lock is long another's.
 *   careful   the same, but it looks at the clock before it writes. Now only the write itself can
 *             come late, which is as wrong, but rarer: at about one seed in 3000 (careful 1 30000).
 *   right     no lock: the table is asked to write where there is nothing, which it decides where
 *             the bytes live. Whoever does not hear the answer asks again, and then who has it. */
#ifndef SEATS_PURCHASE_H
#define SEATS_PURCHASE_H

#include "mcds.h"

#define SEATS 2

enum way { WAY_LOCK, WAY_CAREFUL, WAY_RIGHT };

enum step { STEP_LOCK, STEP_LOOK, STEP_WRITE, STEP_TAKE, STEP_ASK, STEP_RELEASE, STEP_END };

struct purchase {
    enum way way;
    const char *customer;
    mcds_pipeline *pipeline;
    mcds_table *hall;
    mcds_lock *lock;
    mcds_lease lease;
    mcds_value holder;
    enum step step;
    char seat[12]; /* its key */
    uint32_t number;
    uint32_t attempts;
    bool sold; /* the customer has been told: this seat is yours */
};

/* Both return an mcds_result. */
int purchase_open(struct purchase *purchase, enum way way, const char *customer,
                  mcds_store *store, mcds_pipeline *pipeline);
/* Start the first operation. */
int purchase_begin(struct purchase *purchase);
void purchase_close(struct purchase *purchase);

/* The operation has ended with this result: start the next, until the step is STEP_END. */
int purchase_go_on(struct purchase *purchase, int result);

/* The key of a seat, from 0. */
void purchase_seat(uint32_t number, char out[12]);

#endif
