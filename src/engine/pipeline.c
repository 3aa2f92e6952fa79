/* Many operations of one store at once.
 *
 *   start --> step --> outbox --submit--> lane --collect--> step --> ... --> finished --> next
 *               \--> sleeping --(wake_ns)--^
 *
 * Nothing is sent before the caller asks for a result or half of the depth has gathered in the
 * outbox: so requests travel in large writes, and the servers work on one half of the
 * operations while this side works on the other. A store in this process gets the whole depth at
 * once, for instance into one commit. A caller that waits while most operations are with the
 * servers gets the first completion, and the operations started since are kept for a short time.
 * A caller that polls after each start has more to add; its operations are kept likewise. */
#include "engine/pipeline.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/sized.h"
#include "engine/combine.h"
#include "engine/rooms.h"

#define DEPTH_DEFAULT 128
#define DEPTH_MAX 65536
#define FINISHED_ROOM_MIN 64
/* What is ready to be sent is kept while the servers have more than this much of the depth to do:
 * replies come in small pieces, and each would else bring forth a small write. The rest of the
 * depth is enough to keep a far server busy too. */
#define BUSY_PART(depth) ((depth) - (depth) / 4)
/* And no longer than this, for what is kept may be for a server that is idle while another does
 * not answer. A shorter one would cost: the kernel programs a timer that is nearer than its tick. */
#define KEEP_NS (10 * NS_PER_MS)
/* The same for a caller that polls: it needs no timer. */
#define KEEP_POLLING_NS NS_PER_MS
/* Of what another loop waits for. */
#define TIMEOUT_MS_MAX 60000

struct finished {
    mcds_completion completion;
    struct mcds__handle *handle; /* to which `name` belongs */
    const struct mcds__operation_kind *kind;
    const char *name;
    /* Of a failure. */
    const mcds_reason *detail;
    const char *peer;
    struct mcds__difference difference;
};

struct mcds_pipeline {
    mcds_store *store;
    const mcds_env *env;
    struct mcds__lane *lane;
    uint64_t round; /* of what is in the outbox; never 0 */
    uint32_t depth;
    uint32_t gather_count; /* so many in the outbox are sent without being asked for */
    uint32_t unfinished;
    uint32_t outbox_count;
    uint32_t combinable_count; /* in the outbox */
    uint32_t sent_count;       /* operations that wait for replies */
    bool kept;                 /* the outbox has been kept for its time */
    bool is_starting;          /* an operation was launched after the last poll */
    int64_t kept_since_ns;     /* by polls; 0: they have not kept it */
    mcds_batch *outbox;
    mcds_batch **outbox_end;
    struct mcds__operation *sleeping;
    struct mcds__rooms rooms;
    struct finished *finished; /* a ring */
    uint32_t finished_room;    /* a power of two */
    uint32_t finished_first;
    uint32_t finished_count;
    struct mcds__combiner combiner;
};

static struct mcds__operation *operation_of(mcds_batch *batch)
{
    return (struct mcds__operation *)((uint8_t *)batch -
                                      offsetof(struct mcds__operation, batch));
}

/* The one that was finished `later` after the first that is left. */
static struct finished *finished_at(const mcds_pipeline *pipeline, uint32_t later)
{
    return &pipeline
                ->finished[(pipeline->finished_first + later) & (pipeline->finished_room - 1)];
}

/* Make sure that every unfinished operation will find a place in the ring. */
static bool reserve_finished(mcds_pipeline *pipeline)
{
    uint32_t needed = pipeline->finished_count + pipeline->unfinished + 1;
    if (needed <= pipeline->finished_room)
        return true;
    uint32_t room = pipeline->finished_room > 0 ? pipeline->finished_room : FINISHED_ROOM_MIN;
    while (room < needed) {
        if (room > UINT32_MAX / 4)
            return false;
        room *= 2;
    }
    struct finished *ring = mcds__allocate(pipeline->env, room * sizeof *ring);
    if (ring == NULL)
        return false;
    for (uint32_t i = 0; i < pipeline->finished_count; i++)
        ring[i] = *finished_at(pipeline, i);
    mcds__free(pipeline->env, pipeline->finished);
    pipeline->finished = ring;
    pipeline->finished_room = room;
    pipeline->finished_first = 0;
    return true;
}

static void finish(mcds_pipeline *pipeline, struct mcds__operation *operation)
{
    struct finished *finished = finished_at(pipeline, pipeline->finished_count);
    finished->completion = (mcds_completion){operation->tag, operation->result};
    finished->kind = operation->kind;
    finished->name = operation->name;
    if (operation->result < 0) {
        finished->detail = operation->detail;
        finished->peer = operation->peer;
        finished->difference = operation->difference;
    }
    pipeline->finished_count++;
    pipeline->unfinished--;
    mcds__operation_free(operation);
    finished->handle = mcds__rooms_give(&pipeline->rooms, operation);
}

static void put_in_outbox(mcds_pipeline *pipeline, mcds_batch *batch)
{
    batch->next = NULL;
    *pipeline->outbox_end = batch;
    pipeline->outbox_end = &batch->next;
    pipeline->outbox_count++;
    pipeline->combinable_count += batch->combinable;
}

/* What is put into the outbox is sent together: operations of one round may ask for each other. */
static uint64_t next_round(void)
{
    static _Atomic uint64_t rounds;
    return atomic_fetch_add_explicit(&rounds, 1, memory_order_relaxed) + 1;
}

static void advance(mcds_pipeline *pipeline, struct mcds__operation *operation)
{
    operation->round = pipeline->round;
    switch (mcds__operation_advance(operation)) {
    case MCDS__ASK:
        put_in_outbox(pipeline, &operation->batch);
        break;
    case MCDS__SLEEP:
        operation->next = pipeline->sleeping;
        pipeline->sleeping = operation;
        break;
    case MCDS__DONE:
        finish(pipeline, operation);
        break;
    }
}

static void send_outbox(mcds_pipeline *pipeline)
{
    mcds_batch *first = pipeline->outbox;
    if (first == NULL)
        return;
    if (pipeline->combinable_count > 1)
        first = mcds__combine(&pipeline->combiner, first);
    pipeline->outbox = NULL;
    pipeline->outbox_end = &pipeline->outbox;
    pipeline->sent_count += pipeline->outbox_count;
    pipeline->outbox_count = 0;
    pipeline->combinable_count = 0;
    pipeline->kept_since_ns = 0;
    pipeline->round = next_round();
    mcds__lane_submit(pipeline->lane, first);
}

static void take_back(mcds_pipeline *pipeline, mcds_batch *batch)
{
    pipeline->sent_count--;
    advance(pipeline, operation_of(batch));
}

/* Go on with those for which the batch stood. */
static void advance_parts(mcds_pipeline *pipeline, mcds_batch *combined)
{
    mcds_batch *list = mcds__separate(&pipeline->combiner, combined);
    while (list != NULL) {
        mcds_batch *batch = list;
        list = batch->next;
        if (batch->answered > 0) {
            take_back(pipeline, batch);
        } else {
            pipeline->sent_count--;
            put_in_outbox(pipeline, batch);
        }
    }
}

static void wake_sleepers(mcds_pipeline *pipeline)
{
    if (pipeline->sleeping == NULL)
        return;
    int64_t now_ns = mcds__monotonic_ns(pipeline->env);
    struct mcds__operation *list = pipeline->sleeping;
    pipeline->sleeping = NULL;
    while (list != NULL) {
        struct mcds__operation *operation = list;
        list = operation->next;
        if (operation->wake_ns <= now_ns) {
            advance(pipeline, operation);
        } else {
            operation->next = pipeline->sleeping;
            pipeline->sleeping = operation;
        }
    }
}

/* When the first sleeper wakes; INT64_MAX: nobody sleeps. */
static int64_t first_wake_ns(const mcds_pipeline *pipeline)
{
    int64_t wake_ns = INT64_MAX;
    for (const struct mcds__operation *o = pipeline->sleeping; o != NULL; o = o->next)
        if (o->wake_ns < wake_ns)
            wake_ns = o->wake_ns;
    return wake_ns;
}

int64_t mcds_pipeline_wake_ns(const mcds_pipeline *pipeline)
{
    if (pipeline == NULL)
        return INT64_MAX;
    return pipeline->outbox != NULL || pipeline->finished_count > 0 ? 0
                                                                    : first_wake_ns(pipeline);
}

/* Whether the servers have enough to do, and what is ready may wait for more. */
static bool keeps_outbox(const mcds_pipeline *pipeline)
{
    return !pipeline->kept && pipeline->outbox != NULL &&
           pipeline->sent_count > BUSY_PART(pipeline->depth);
}

/* The same for a caller that polls and has started an operation since the last poll. */
static bool keeps_polled(mcds_pipeline *pipeline)
{
    if (!pipeline->is_starting || pipeline->outbox_count >= pipeline->gather_count)
        return false;
    int64_t now_ns = mcds__monotonic_ns(pipeline->env);
    if (pipeline->kept_since_ns == 0)
        pipeline->kept_since_ns = now_ns;
    return now_ns - pipeline->kept_since_ns < KEEP_POLLING_NS;
}

/* Take what comes by then, and step. True: something has come. */
static bool collect(mcds_pipeline *pipeline, int64_t until_ns)
{
    mcds_batch *list = mcds__lane_collect(pipeline->lane, until_ns);
    bool has_come = list != NULL;
    while (list != NULL) {
        mcds_batch *batch = list;
        list = batch->next;
        if (batch->combined)
            advance_parts(pipeline, batch);
        else
            take_back(pipeline, batch);
    }
    return has_come;
}

/* Send what is ready, take what has come, and step. Waits for something to come, or for the first
 * sleeper to wake. */
static void turn(mcds_pipeline *pipeline)
{
    uint32_t finished_count = pipeline->finished_count;
    wake_sleepers(pipeline);
    bool waits = finished_count == pipeline->finished_count;
    int64_t until_ns = waits ? first_wake_ns(pipeline) : 0;
    bool keeps = waits && keeps_outbox(pipeline);
    if (keeps) {
        int64_t kept_until_ns = mcds__monotonic_ns(pipeline->env) + KEEP_NS;
        until_ns = kept_until_ns < until_ns ? kept_until_ns : until_ns;
    } else {
        send_outbox(pipeline);
    }
    pipeline->kept = !collect(pipeline, until_ns) && keeps;
}

/* A turn of a caller that polls. */
static void turn_polling(mcds_pipeline *pipeline)
{
    wake_sleepers(pipeline);
    if (!keeps_polled(pipeline))
        send_outbox(pipeline);
    (void)collect(pipeline, 0);
}

/* A turn that waits. With nothing but sleepers under way there is no reply to wait for. */
static void turn_waiting(mcds_pipeline *pipeline)
{
    uint32_t asleep = 0;
    for (const struct mcds__operation *o = pipeline->sleeping; o != NULL; o = o->next)
        asleep++;
    if (asleep > 0 && asleep == pipeline->unfinished)
        mcds__sleep_until_ns(pipeline->env, first_wake_ns(pipeline));
    turn(pipeline);
}

static void prepare(mcds_pipeline *pipeline, mcds_wait *wait)
{
    pipeline->is_starting = false;
    send_outbox(pipeline);
    wait->fd = mcds__lane_watch(pipeline->lane, &wait->wake_ns);
    int64_t wake_ns = mcds_pipeline_wake_ns(pipeline);
    if (wake_ns < wait->wake_ns)
        wait->wake_ns = wake_ns;
    if (wait->wake_ns == INT64_MAX)
        return;
    int64_t left_ns = wait->wake_ns - mcds__monotonic_ns(pipeline->env);
    int64_t left_ms = left_ns > 0 ? (left_ns + NS_PER_MS - 1) / NS_PER_MS : 0;
    wait->timeout_ms = left_ms < TIMEOUT_MS_MAX ? (int)left_ms : TIMEOUT_MS_MAX;
}

void mcds_pipeline_prepare(mcds_pipeline *pipeline, mcds_wait *wait_out)
{
    mcds_wait wait = {.fd = -1, .timeout_ms = -1, .wake_ns = INT64_MAX};
    if (pipeline != NULL)
        prepare(pipeline, &wait);
    mcds__sized_write(MCDS__SIZED_mcds_wait, wait_out, &wait);
}

void *mcds__pipeline_new(mcds_pipeline *pipeline, struct mcds__handle *handle,
                         const struct mcds__operation_kind *kind, int *result)
{
    if (pipeline == NULL || pipeline->store != handle->store) {
        *result = mcds__fail(MCDS_INVALID, OTHER_STORE, .noun = kind->noun, .verb = kind->verb,
                             .reason = pipeline == NULL
                                           ? "the pipeline is missing"
                                           : "the pipeline belongs to another store");
        return NULL;
    }
    while (pipeline->unfinished >= pipeline->depth)
        turn_waiting(pipeline);
    void *operation = reserve_finished(pipeline)
                          ? mcds__rooms_take(&pipeline->rooms, handle, kind->size)
                          : NULL;
    if (operation == NULL)
        *result = mcds__fail_memory(kind->noun, NULL, kind->verb);
    return operation;
}

void mcds__pipeline_forget(mcds_pipeline *pipeline, void *operation)
{
    if (pipeline != NULL)
        mcds__handle_release(mcds__rooms_give(&pipeline->rooms, operation));
}

int mcds__launch(struct mcds__operation *operation, mcds_pipeline *pipeline, uint64_t tag)
{
    if (pipeline == NULL)
        return mcds__operation_run(operation);
    operation->tag = tag;
    pipeline->unfinished++;
    pipeline->is_starting = true;
    advance(pipeline, operation);
    if (pipeline->outbox_count >= pipeline->gather_count)
        send_outbox(pipeline);
    return MCDS_OK;
}

int mcds_pipeline_open(mcds_store *store, const mcds_pipeline_options *options,
                       mcds_pipeline **pipeline_out)
{
    if (store == NULL || pipeline_out == NULL)
        return mcds__fail_missing("pipeline", "open", "a store and a place for the handle");
    mcds_pipeline_options own;
    int result = mcds__sized_read(MCDS__SIZED_mcds_pipeline_options, options, &own);
    if (result != MCDS_OK)
        return result;
    uint32_t depth = own.depth > 0 ? own.depth : DEPTH_DEFAULT;
    if (depth > DEPTH_MAX)
        return mcds_fail(MCDS_INVALID, "pipeline: depth %u is more than %d", depth, DEPTH_MAX);
    result = mcds__store_check_process(store);
    if (result != MCDS_OK)
        return result;
    const mcds_env *env = mcds__store_env(store);
    mcds_pipeline *pipeline = mcds__allocate_zero(env, sizeof *pipeline);
    if (pipeline == NULL)
        return mcds__fail_memory("pipeline", NULL, NULL);
    mcds__store_hold(store);
    pipeline->store = store;
    pipeline->env = env;
    pipeline->rooms.env = env;
    pipeline->round = next_round();
    pipeline->depth = depth;
    pipeline->gather_count = mcds__store_answers_here(store) ? depth : depth / 2 + 1;
    pipeline->outbox_end = &pipeline->outbox;
    mcds__combiner_init(&pipeline->combiner, env);
    result = mcds__lane_take(store, 0, &pipeline->lane);
    if (result != MCDS_OK) {
        mcds__free(env, pipeline);
        mcds__store_release(store);
        return result;
    }
    *pipeline_out = pipeline;
    return MCDS_OK;
}

void mcds_pipeline_close(mcds_pipeline *pipeline)
{
    if (pipeline == NULL)
        return;
    if (pipeline->unfinished > 0)
        mcds__lane_drop(pipeline->lane);
    else
        mcds__lane_give(pipeline->store, pipeline->lane);
    const mcds_env *env = pipeline->env;
    mcds__rooms_free(&pipeline->rooms);
    for (uint32_t i = 0; i < pipeline->finished_count; i++)
        mcds__handle_release(finished_at(pipeline, i)->handle);
    mcds__combiner_free(&pipeline->combiner);
    mcds__free(env, pipeline->finished);
    mcds_store *store = pipeline->store;
    mcds__free(env, pipeline);
    mcds__store_release(store);
}

static int take_finished(mcds_pipeline *pipeline, mcds_completion *done)
{
    const struct finished *first = finished_at(pipeline, 0);
    pipeline->finished_first = (pipeline->finished_first + 1) & (pipeline->finished_room - 1);
    pipeline->finished_count--;
    *done = first->completion;
    if (done->result < 0)
        mcds__describe_failure(first->kind, first->name, done->result, first->peer,
                               first->detail, &first->difference);
    mcds__handle_release(first->handle);
    return MCDS_OK;
}

static int check_taker(const mcds_pipeline *pipeline, const mcds_completion *done,
                       const char *verb)
{
    if (pipeline == NULL || done == NULL)
        return mcds__fail_missing("pipeline", verb,
                                  "a pipeline and a place for the completion");
    return MCDS_OK;
}

int mcds_pipeline_next(mcds_pipeline *pipeline, mcds_completion *done)
{
    int result = check_taker(pipeline, done, "next");
    if (result != MCDS_OK)
        return result;
    while (pipeline->finished_count == 0 && pipeline->unfinished > 0)
        turn_waiting(pipeline);
    return pipeline->finished_count > 0 ? take_finished(pipeline, done) : MCDS_IDLE;
}

int mcds_pipeline_poll(mcds_pipeline *pipeline, mcds_completion *done)
{
    int result = check_taker(pipeline, done, "poll");
    if (result != MCDS_OK)
        return result;
    if (pipeline->finished_count == 0 && pipeline->unfinished > 0)
        turn_polling(pipeline);
    if (pipeline->finished_count > 0)
        return take_finished(pipeline, done);
    pipeline->is_starting = false;
    return pipeline->unfinished > 0 ? MCDS_BUSY : MCDS_IDLE;
}

bool mcds_pipeline_is_idle(const mcds_pipeline *pipeline)
{
    return pipeline->finished_count == 0 && pipeline->unfinished == 0;
}
