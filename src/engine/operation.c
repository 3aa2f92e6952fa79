/* Operations: the part that all of them share, and the driver of waiting calls. */
#include "engine/operation.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"

#define TRIES_MAX 5
#define PAUSE_MIN_NS (NS_PER_MS / 2)
#define PAUSE_MAX_NS (100 * NS_PER_MS)
/* Enough for most values. A waiting operation, alone on its stack, gets more. */
#define VALUES_ROOM_WAITING 4096

const char mcds__wait;

uint64_t mcds__next_round(void)
{
    static _Atomic uint64_t rounds;
    return atomic_fetch_add_explicit(&rounds, 1, memory_order_relaxed) + 1;
}

void mcds__operation_begin(struct mcds__operation *operation,
                           const struct mcds__operation_kind *kind, mcds_store *store,
                           const char *name, int64_t wait_ns)
{
    assert(kind->step != NULL && kind->size >= sizeof *operation);
    assert(wait_ns >= 0);
    memset(operation, 0, offsetof(struct mcds__operation, batch));
    operation->kind = kind;
    operation->store = store;
    operation->env = mcds__store_env(store);
    operation->name = name;
    operation->sent_ns = mcds__monotonic_ns(operation->env);
    operation->deadline_ns = operation->sent_ns + mcds__store_timeout_ns(store) + wait_ns;
    operation->is_fresh = true;
    operation->pause_ns = PAUSE_MIN_NS;
    operation->tries = 1;
    mcds__buffer_init_in(&operation->values, operation->env, MCDS__VALUES_MAX,
                         operation->values_room, sizeof operation->values_room);
}

void mcds__operation_clear(struct mcds__operation *operation)
{
    assert(operation->kind->size >= sizeof *operation);
    memset((uint8_t *)operation + sizeof *operation, 0,
           operation->kind->size - sizeof *operation);
}

void mcds__operation_renew(struct mcds__operation *operation)
{
    assert(!operation->is_resting);
    int64_t timeout_ns = mcds__store_timeout_ns(operation->store);
    int64_t now_ns = mcds__monotonic_ns(operation->env);
    if (operation->latest_ns == 0)
        operation->latest_ns = now_ns + MCDS__TIMEOUTS_MAX * timeout_ns;
    else if (operation->visiting_ns != 0)
        operation->latest_ns += now_ns - operation->visiting_ns;
    operation->visiting_ns = 0;
    operation->obstacle.reason = NULL;
    operation->deadline_ns = now_ns + timeout_ns < operation->latest_ns ? now_ns + timeout_ns
                                                                        : operation->latest_ns;
    operation->tries = 1;
}

void mcds__operation_note_visit(struct mcds__operation *operation)
{
    if (operation->visiting_ns == 0)
        operation->visiting_ns = mcds__monotonic_ns(operation->env);
}

void mcds__operation_end_visit(struct mcds__operation *operation)
{
    int64_t visit_ns = mcds__monotonic_ns(operation->env) - operation->visiting_ns;
    assert(operation->visiting_ns != 0 && visit_ns >= 0);
    operation->visiting_ns = 0;
    if (operation->deadline_ns > 0) /* 0: the wait of the call was ended */
        operation->deadline_ns += visit_ns;
    if (operation->latest_ns > 0)
        operation->latest_ns += visit_ns;
}

int64_t mcds__operation_now_ns(const struct mcds__operation *operation)
{
    return operation->is_fresh ? operation->sent_ns : mcds__monotonic_ns(operation->env);
}

static bool ran_out_of_time(const mcds_reason *detail)
{
    return detail != NULL && detail->cause == MCDS_CAUSE_TIMEOUT;
}

/* Whether the failure is that a server did not answer. */
static bool is_silence(const mcds_reason *detail)
{
    switch (detail->cause) {
    case MCDS_CAUSE_CONNECTION_REFUSED:
    case MCDS_CAUSE_CONNECTION_CLOSED:
    case MCDS_CAUSE_NO_SOCKET_FILE:
    case MCDS_CAUSE_NO_ROUTE:
    case MCDS_CAUSE_HOST_SILENT:
    case MCDS_CAUSE_UNKNOWN_HOST:
    case MCDS_CAUSE_SERVER_SILENT:
    case MCDS_CAUSE_TOO_MANY_CONNECTIONS:
    case MCDS_CAUSE_TIMEOUT:
        return true;
    default:
        return false;
    }
}

bool mcds__operation_is_doubted_elsewhere(const struct mcds__operation *operation)
{
    return operation->result == MCDS_AMBIGUOUS && operation->doubted != NULL &&
           operation->peer != NULL && operation->peer != operation->doubted &&
           (operation->detail == NULL || is_silence(operation->detail));
}

const char *mcds__operation_peer(const struct mcds__operation *operation)
{
    if (mcds__operation_is_doubted_elsewhere(operation))
        return operation->doubted;
    if (operation->result != MCDS_AMBIGUOUS || operation->peer != NULL)
        return operation->peer;
    return operation->doubted != NULL ? operation->doubted : operation->asked;
}

void mcds__operation_free(struct mcds__operation *operation)
{
    if (operation->kind->release != NULL)
        operation->kind->release(operation);
    if (!operation->values.borrowed)
        mcds__buffer_free(&operation->values);
}

/* Free the operation's memory and leave its sentence in mcds_errmsg(); returns the result. */
static int operation_end(struct mcds__operation *operation)
{
    mcds__operation_free(operation);
    if (mcds__result_has_cause(operation->result))
        mcds__describe_failure(
            operation->kind, operation->name, operation->result,
            (struct mcds__where){mcds__operation_peer(operation), operation->blame},
            mcds__operation_reason(operation), &operation->difference);
    if (operation->blame != NULL)
        mcds__free(operation->env, operation->blame);
    return operation->result;
}

enum mcds__step mcds__operation_ask(struct mcds__operation *operation, mcds_request *requests,
                                    uint32_t count)
{
    assert(count > 0);
    assert(!operation->is_asked && !operation->is_resting); /* one batch at a time */
    operation->visiting_ns = 0;
    operation->is_fresh = false;
    operation->is_asked = true;
    operation->repeats_itself = false;
    operation->is_count = false;
    operation->values.length = 0;
    operation->batch.requests = requests;
    operation->batch.count = count;
    operation->batch.answered = 0;
    operation->batch.independent = false;
    operation->batch.combinable = false;
    operation->batch.combined = false;
    operation->batch.deadline_ns = operation->deadline_ns;
    operation->batch.values = &operation->values;
    operation->batch.next = NULL;
    return MCDS__ASK;
}

enum mcds__step mcds__operation_ask_any_order(struct mcds__operation *operation,
                                              mcds_request *requests, uint32_t count)
{
    (void)mcds__operation_ask(operation, requests, count);
    operation->batch.independent = true;
    return MCDS__ASK;
}

enum mcds__step mcds__operation_ask_repeatable(struct mcds__operation *operation,
                                               mcds_request *requests, uint32_t count)
{
    operation->sent_ns = mcds__operation_now_ns(operation);
    (void)mcds__operation_ask(operation, requests, count);
    operation->repeats_itself = true;
    int64_t left_ns = operation->deadline_ns - operation->sent_ns;
    int64_t most_ns = mcds__store_timeout_ns(operation->store);
    if (operation->tries == 1)
        most_ns /= 2;
    if (left_ns > most_ns)
        operation->batch.deadline_ns = operation->sent_ns + most_ns;
    return MCDS__ASK;
}

enum mcds__step mcds__operation_ask_combinable(struct mcds__operation *operation,
                                               mcds_request *requests, uint32_t count)
{
    (void)mcds__operation_ask_repeatable(operation, requests, count);
    operation->batch.combinable = true;
    return MCDS__ASK;
}

/* The deadline is not the cause where something else kept a request from being sent or answered. */
static int explain_unsent(struct mcds__operation *operation)
{
    if (operation->obstacle.reason == NULL)
        return MCDS_TIMEOUT;
    operation->peer = operation->obstacle.peer;
    operation->detail = operation->obstacle.reason;
    return ran_out_of_time(operation->detail) ? MCDS_TIMEOUT
                                              : mcds__result_of_unsent(operation->detail);
}

/* Nobody is in the way where a server does not answer. */
static bool blames_others(const struct mcds__operation *operation, int result)
{
    return result == MCDS_BUSY &&
           (operation->detail == NULL || operation->detail->cause == MCDS_CAUSE_CONTENDED);
}

/* Whether the cause is a stored value. */
static bool is_about_a_value(const mcds_reason *detail)
{
    switch (detail->cause) {
    case MCDS_CAUSE_OPTION_DIFFERS:
    case MCDS_CAUSE_FORM_DIFFERS:
    case MCDS_CAUSE_FOREIGN:
    case MCDS_CAUSE_NEWER:
    case MCDS_CAUSE_NOT_A_NUMBER:
    case MCDS_CAUSE_DAMAGED:
        return true;
    default:
        return false;
    }
}

enum mcds__step mcds__operation_finish(struct mcds__operation *operation, int result)
{
    assert(!operation->is_asked && !operation->is_resting);
    operation->result = result;
    if (operation->obstacle.reason != NULL && blames_others(operation, result))
        operation->result = explain_unsent(operation);
    if (result == MCDS_CORRUPT ||
        (result != MCDS_OK && operation->detail != NULL && is_about_a_value(operation->detail)))
        mcds__operation_blame_value(operation);
    return MCDS__DONE;
}

enum mcds__step mcds__operation_explain(struct mcds__operation *operation, int result,
                                        const mcds_reason *detail)
{
    operation->detail = detail;
    if (result == MCDS_LOST && detail != NULL && detail->cause != MCDS_CAUSE_LEASE_OVER)
        operation->peer = operation->asked;
    return mcds__operation_finish(operation, result);
}

enum mcds__step mcds__operation_lack_cas(struct mcds__operation *operation)
{
    return mcds__operation_explain(operation, MCDS_UNSUPPORTED, MCDS__WHY(NO_COMPARE_AND_SET));
}

enum mcds__step mcds__operation_differ(struct mcds__operation *operation,
                                       const mcds_reason *detail,
                                       struct mcds__difference difference)
{
    operation->difference = difference;
    return mcds__operation_explain(operation, MCDS_INVALID, detail);
}

bool mcds__operation_is_late(const struct mcds__operation *operation)
{
    return mcds__monotonic_ns(operation->env) >= operation->deadline_ns;
}

enum mcds__step mcds__operation_fail(struct mcds__operation *operation, const mcds_reply *reply)
{
    int result = mcds__result_of(reply);
    operation->peer = reply->peer;
    operation->detail = reply->detail;
    mcds__operation_note_read(operation, reply);
    if (operation->blame != NULL) /* of an earlier value, which the operation has passed */
        operation->blame->key = (struct mcds__key){.length = 0};
    bool is_late = ran_out_of_time(reply->detail) || mcds__operation_is_late(operation);
    if (is_late && result == MCDS_UNAVAILABLE)
        result = explain_unsent(operation);
    else if (is_late && result == MCDS_AMBIGUOUS)
        (void)explain_unsent(operation);
    return mcds__operation_finish(operation, result);
}

enum mcds__step mcds__operation_fail_unsent(struct mcds__operation *operation)
{
    operation->peer = NULL;
    operation->detail = MCDS__WHY(UNSENT_IN_TIME);
    return mcds__operation_finish(operation, explain_unsent(operation));
}

enum mcds__step mcds__operation_fail_waiting(struct mcds__operation *operation,
                                             const mcds_reason *detail)
{
    operation->peer = NULL;
    operation->detail = operation->is_unsent ? MCDS__WHY(PAST_DEADLINE) : detail;
    return mcds__operation_finish(operation,
                                  operation->is_unsent ? explain_unsent(operation) : MCDS_BUSY);
}

enum mcds__step mcds__operation_fail_read(struct mcds__operation *operation,
                                          const mcds_reply *reply)
{
    (void)mcds__operation_fail(operation, reply);
    if (operation->result != MCDS_AMBIGUOUS)
        return MCDS__DONE;
    if (operation->detail != reply->detail) /* that of the obstacle */
        operation->result = explain_unsent(operation);
    else
        operation->result = mcds__operation_is_late(operation) ? MCDS_TIMEOUT
                                                               : MCDS_UNAVAILABLE;
    return MCDS__DONE;
}

/* Decorrelated jitter: somewhere between the least pause and three times the last one. */
static int64_t next_pause(struct mcds__operation *operation)
{
    assert(operation->pause_ns >= PAUSE_MIN_NS && operation->pause_ns <= PAUSE_MAX_NS);
    uint64_t span = (uint64_t)(3 * operation->pause_ns - PAUSE_MIN_NS) + 1;
    int64_t pause_ns = PAUSE_MIN_NS + (int64_t)(mcds__random_u64(operation->env) % span);
    operation->pause_ns = pause_ns < PAUSE_MAX_NS ? pause_ns : PAUSE_MAX_NS;
    return operation->pause_ns;
}

bool mcds__operation_wait(struct mcds__operation *operation, int64_t hint_ns)
{
    int64_t now_ns = mcds__monotonic_ns(operation->env);
    int64_t pause_ns = next_pause(operation);
    if (hint_ns > 0 && pause_ns > hint_ns)
        pause_ns = hint_ns;
    assert(pause_ns > 0);
    if (now_ns + pause_ns >= operation->deadline_ns)
        return false;
    operation->wake_ns = now_ns + pause_ns;
    operation->is_fresh = false;
    return true;
}

bool mcds__operation_wait_in_line(struct mcds__operation *operation, uint64_t place,
                                  int64_t hint_ns)
{
    assert(place != 0);
    if (!mcds__operation_wait(operation, hint_ns))
        return false;
    operation->wanted = place;
    operation->settles = false;
    return true;
}

enum mcds__step mcds__operation_sleep(struct mcds__operation *operation, int64_t ns)
{
    assert(ns > 0);
    operation->wake_ns = mcds__monotonic_ns(operation->env) + ns;
    operation->deadline_ns += ns;
    operation->is_fresh = false;
    return MCDS__SLEEP;
}

void mcds__operation_expire(struct mcds__operation *operation)
{
    assert(!operation->is_asked || operation->is_resting);
    operation->deadline_ns = operation->batch.deadline_ns = operation->wake_ns = 0;
    operation->is_fresh = false;
}

void mcds__operation_end_wait(struct mcds__operation *operation)
{
    int64_t latest_ns = mcds__monotonic_ns(operation->env) +
                        mcds__store_timeout_ns(operation->store);
    assert(operation->ends_wait);
    if (operation->wanted == 0 || !operation->settles) {
        mcds__operation_expire(operation);
    } else if (operation->deadline_ns > latest_ns) {
        operation->deadline_ns = operation->wake_ns = latest_ns;
    }
}

/* How many requests of the batch have this outcome. */
static uint32_t count_outcomes(const mcds_batch *batch, mcds_outcome outcome)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < batch->count; i++)
        count += batch->requests[i].reply.outcome == outcome;
    return count;
}

bool mcds__operation_again(struct mcds__operation *operation)
{
    assert(operation->tries >= 1);
    bool has_left = count_outcomes(&operation->batch, MCDS_OUT_UNSENT) == 0 ||
                    count_outcomes(&operation->batch, MCDS_OUT_UNKNOWN) > 0;
    if (has_left && operation->tries >= TRIES_MAX)
        return false;
    operation->tries += has_left;
    return mcds__operation_wait(operation, 0);
}

enum mcds__step mcds__operation_retry(struct mcds__operation *operation,
                                      const mcds_reply *reply)
{
    if (!mcds__is_refusal(reply) && mcds__operation_again(operation))
        return MCDS__SLEEP;
    return mcds__operation_fail_read(operation, reply);
}

/* Note which server has lost the reply to a change. */
static void note_doubt(struct mcds__operation *operation)
{
    for (uint32_t i = 0; i < operation->batch.count; i++) {
        const mcds_request *request = &operation->batch.requests[i];
        if (request->reply.outcome == MCDS_OUT_UNKNOWN && request->command != MCDS_GET)
            operation->doubted = request->reply.peer;
    }
}

/* Whether the batch should be sent again, because no byte of it was sent: then wake_ns is set. */
static bool may_rest(struct mcds__operation *operation)
{
    const mcds_batch *batch = &operation->batch;
    uint32_t unsent = count_outcomes(batch, MCDS_OUT_UNSENT);
    int64_t now_ns = mcds__monotonic_ns(operation->env);
    assert(unsent <= batch->count);
    bool is_late = now_ns >= batch->deadline_ns;
    if (mcds__obstacle_note(&operation->obstacle, batch, is_late))
        note_doubt(operation);
    operation->is_unsent = unsent > 0;
    if (is_late || unsent < batch->count || operation->repeats_itself)
        return false;
    operation->wake_ns = now_ns + next_pause(operation);
    return operation->wake_ns < batch->deadline_ns;
}

enum mcds__step mcds__operation_advance_on(struct mcds__operation *operation)
{
    assert(operation->is_asked);
    if (operation->is_resting) {
        operation->is_resting = false;
        operation->values.length = 0;
        operation->batch.next = NULL;
        return MCDS__ASK;
    }
    if (may_rest(operation)) {
        operation->is_resting = true;
        return MCDS__SLEEP;
    }
    operation->is_asked = false;
    if (!operation->is_unsent) {
        operation->read = NULL;
        operation->asked = mcds__batch_peer(&operation->batch);
    }
    return operation->kind->step(operation);
}

int mcds__operation_run(struct mcds__operation *operation)
{
    uint8_t capacity[VALUES_ROOM_WAITING];
    if (operation->values.data == operation->values_room)
        mcds__buffer_init_in(&operation->values, operation->env, MCDS__VALUES_MAX, capacity,
                             sizeof capacity);
    enum mcds__step step;
    while ((step = mcds__operation_advance(operation)) != MCDS__DONE) {
        if (step == MCDS__ASK)
            mcds__store_execute(operation->store, operation->connection, &operation->batch);
        else
            mcds__sleep_until_ns(operation->env, operation->wake_ns);
    }
    assert(!operation->is_asked && operation->next == NULL);
    return operation_end(operation);
}
