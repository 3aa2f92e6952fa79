/* Buying a seat, one operation after the other. */
#include "purchase.h"

#include <stdio.h>
#include <string.h>

#define WAIT_MS 60000
#define LEASE_MS 5000
/* A write takes no longer than the timeout of a store, 1 s. */
#define ENOUGH_MS 2000
#define ATTEMPTS_MAX 5

void purchase_seat(uint32_t number, char out[12])
{
    (void)snprintf(out, 12, "seat %u", number + 1);
}

int purchase_open(struct purchase *purchase, enum way way, const char *customer,
                  mcds_store *store, mcds_pipeline *pipeline)
{
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    options.lease_ms = LEASE_MS;
    options.label = customer;
    *purchase = (struct purchase){
        .way = way,
        .customer = customer,
        .pipeline = pipeline,
        .lease = MCDS_LEASE_INIT,
        .holder = MCDS_VALUE_INIT,
    };
    int result = mcds_table_open(store, "hall", NULL, &purchase->hall);
    if (result == MCDS_OK)
        result = mcds_lock_open(store, "hall", &options, &purchase->lock);
    return result;
}

void purchase_close(struct purchase *purchase)
{
    if (purchase->lock != NULL)
        mcds_lock_close(purchase->lock);
    if (purchase->hall != NULL)
        mcds_table_close(purchase->hall);
    mcds_value_free(&purchase->holder);
}

static int start(struct purchase *purchase, enum step step)
{
    mcds_bytes seat = mcds_text(purchase->seat);
    mcds_bytes customer = mcds_text(purchase->customer);
    purchase->step = step;
    switch (step) {
    case STEP_LOCK:
        return mcds_lock_acquire_start(purchase->lock, WAIT_MS, &purchase->lease,
                                       purchase->pipeline, 0);
    case STEP_LOOK:
    case STEP_ASK:
        return mcds_table_get_start(purchase->hall, seat, &purchase->holder, purchase->pipeline,
                                    0);
    case STEP_WRITE:
        return mcds_table_put_start(purchase->hall, seat, customer, 0, purchase->pipeline, 0);
    case STEP_TAKE:
        return mcds_table_put_if_absent_start(purchase->hall, seat, customer, 0,
                                              purchase->pipeline, 0);
    case STEP_RELEASE:
        return mcds_lock_release_start(purchase->lock, &purchase->lease, purchase->pipeline, 0);
    case STEP_END:
        break;
    }
    return MCDS_OK;
}

int purchase_begin(struct purchase *purchase)
{
    purchase_seat(purchase->number, purchase->seat);
    return start(purchase, purchase->way == WAY_RIGHT ? STEP_TAKE : STEP_LOCK);
}

/* This seat is another's. */
static int try_next(struct purchase *purchase, enum step step, enum step end)
{
    if (++purchase->number == SEATS)
        return start(purchase, end);
    purchase->attempts = 0;
    purchase_seat(purchase->number, purchase->seat);
    return start(purchase, step);
}

static bool has_time(const struct purchase *purchase)
{
    return purchase->way == WAY_LOCK ||
           mcds_lock_remaining_ms(purchase->lock, &purchase->lease) >= ENOUGH_MS;
}

/* Under the lock: look, and then write. */
static int go_on_locked(struct purchase *purchase, int result)
{
    switch (purchase->step) {
    case STEP_LOCK:
        return start(purchase, result == MCDS_OK ? STEP_LOOK : STEP_END);
    case STEP_LOOK:
        if (result == MCDS_OK)
            return try_next(purchase, STEP_LOOK, STEP_RELEASE);
        if (result == MCDS_NOT_FOUND && has_time(purchase))
            return start(purchase, STEP_WRITE);
        return start(purchase, STEP_RELEASE);
    case STEP_WRITE:
        purchase->sold = result == MCDS_OK;
        return start(purchase, STEP_RELEASE);
    default:
        return start(purchase, STEP_END);
    }
}

static bool is_ours(const struct purchase *purchase)
{
    const mcds_value *holder = &purchase->holder;
    return holder->length == strlen(purchase->customer) &&
           memcmp(holder->data, purchase->customer, holder->length) == 0;
}

/* One operation decides. Where its answer is lost, or it is not the first, the seat that another
 * has may be our own. */
static int go_on_right(struct purchase *purchase, int result)
{
    bool is_known = result == MCDS_OK || result == MCDS_EXISTS;
    if (purchase->step == STEP_TAKE) {
        purchase->sold = result == MCDS_OK;
        if (result == MCDS_EXISTS && purchase->attempts == 0)
            return try_next(purchase, STEP_TAKE, STEP_END);
        if (result == MCDS_EXISTS)
            return start(purchase, STEP_ASK);
    } else if (result == MCDS_OK) {
        purchase->sold = is_ours(purchase);
        if (!purchase->sold)
            return try_next(purchase, STEP_TAKE, STEP_END);
    }
    if (is_known || ++purchase->attempts == ATTEMPTS_MAX)
        return start(purchase, STEP_END);
    return start(purchase, STEP_TAKE);
}

int purchase_go_on(struct purchase *purchase, int result)
{
    return purchase->way == WAY_RIGHT ? go_on_right(purchase, result)
                                      : go_on_locked(purchase, result);
}
