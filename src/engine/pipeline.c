/* A pipeline: many operations of one store at once.
 *
 *   start --> step --> outbox --submit--> session --collect--> step --> ... --> finished --> next
 *               |--> sleeping --(wake_ns)--^
 *               \--> line --(place left)---^
 *
 * Nothing is sent before the caller asks for a result or half of the depth is in the outbox. So
 * requests travel in large writes, and the servers work on one half of the operations while the
 * client works on the other. A file in this process gets all for one commit. While most
 * operations are with the servers, a waiting caller gets the first completion, and operations
 * started since then are held back for a short time, as are those of a caller that polls. */
#include "engine/pipeline.h"

#include <assert.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/sized.h"
#include "engine/combine/combine.h"
#include "engine/completions.h"
#include "engine/line.h"

#define COMPLETION_NEEDED "a pipeline and a place for the completion"
#define DEPTH_DEFAULT 128
#define DEPTH_MAX 65536
/* Requests are held back while more operations than this are with the servers: replies arrive in
 * small pieces, and each would cause a small write. The rest keeps a distant server busy. */
#define BUSY_PART(depth) ((depth) - (depth) / 4)
/* And no longer than this: they may be for an idle server while another is silent. A shorter time
 * would cost more: the kernel programs a timer for less than its tick. */
#define KEEP_NS (10 * NS_PER_MS)
/* How long a caller that polls keeps requests: it needs no timer. */
#define KEEP_POLLING_NS NS_PER_MS
#define WAITING_MAX 512 /* with so many operations in lines, the pipeline runs at once */
/* A store that commits nothing gets so many at once: they stay in the processor's cache. */
#define AT_ONCE 64
#define TIMEOUT_MS_MAX 60000 /* given to another event loop */

struct mcds_pipeline {
    mcds_store *store;
    const mcds_env *env;
    struct mcds__session *session;
    uint64_t forks; /* as those of the store */
    uint64_t round; /* of what is in the outbox; never 0 */
    uint32_t depth;
    uint32_t gather_count; /* with this many in the outbox, they are sent */
    uint32_t waiting_max;  /* with this many in lines, too */
    uint32_t unfinished;
    uint32_t outbox_count;
    uint32_t append_count; /* in the outbox: those that are combinable */
    uint32_t count_count;
    uint32_t sent_count;   /* operations that wait for replies */
    bool kept;             /* the outbox was held back for its time */
    bool is_starting;      /* an operation was launched after the last poll */
    mcds_start_cb started; /* called when that turns true; NULL: nothing is */
    void *started_context;
    int64_t kept_since_ns; /* by polls; 0: they do not hold it back */
    mcds_batch *outbox;
    mcds_batch **outbox_end;
    struct mcds__operation *sleeping;
    struct mcds__lines lines;
    struct mcds__pool pool;
    struct mcds__completions completions;
    struct mcds__combiner combiner;
};

static void pipeline_finish(mcds_pipeline *pipeline, struct mcds__operation *operation)
{
    assert(pipeline->unfinished > 0);
    struct mcds__handle **handle = mcds__completions_put(&pipeline->completions, operation);
    pipeline->unfinished--;
    *handle = mcds__pool_end(&pipeline->pool, operation);
}

static void put_in_outbox(mcds_pipeline *pipeline, mcds_batch *batch)
{
    assert(*pipeline->outbox_end == NULL);
    assert(pipeline->outbox_count + pipeline->sent_count < pipeline->unfinished);
    batch->next = NULL;
    *pipeline->outbox_end = batch;
    pipeline->outbox_end = &batch->next;
    pipeline->outbox_count++;
    bool is_count = mcds__operation_of(batch)->is_count;
    pipeline->append_count += batch->combinable && !is_count;
    pipeline->count_count += batch->combinable && is_count;
}

static void pipeline_sleep(mcds_pipeline *pipeline, struct mcds__operation *operation)
{
    if (operation->ends_wait)
        mcds__operation_end_wait(operation);
    if (operation->wanted == 0 || operation->uses_line) {
        operation->next = pipeline->sleeping;
        pipeline->sleeping = operation;
    } else if (operation->line == 0) {
        mcds__lines_join(&pipeline->lines, operation, operation->wanted);
    }
}

static void pipeline_advance(mcds_pipeline *pipeline, struct mcds__operation *operation)
{
    uint64_t place = operation->place;
    operation->wanted = 0;
    operation->round = pipeline->round;
    enum mcds__step step = mcds__operation_advance(operation);
    operation->shared = NULL;
    bool gives = operation->bytes > 0 && step != MCDS__ASK;
    if (gives)
        mcds__lines_give_bytes(&pipeline->lines, operation);
    if (operation->line != 0 && !mcds__lines_stays(operation, step))
        mcds__lines_leave(&pipeline->lines, operation);
    else if (!gives && place != 0 && (step != MCDS__ASK || operation->place != place))
        mcds__lines_call(&pipeline->lines, operation, place);
    assert(step != MCDS__NEXT);
    if (step == MCDS__ASK)
        put_in_outbox(pipeline, &operation->batch);
    else if (step == MCDS__SLEEP)
        pipeline_sleep(pipeline, operation);
    else
        pipeline_finish(pipeline, operation);
}

static void send_outbox(mcds_pipeline *pipeline)
{
    mcds_batch *first = pipeline->outbox;
    if (first == NULL)
        return;
    assert(pipeline->outbox_count > 0);
    assert(pipeline->append_count + pipeline->count_count <= pipeline->outbox_count);
    if (mcds__combine_pays(pipeline->append_count, pipeline->count_count,
                           pipeline->outbox_count))
        first = mcds__combine(&pipeline->combiner, first);
    pipeline->outbox = NULL;
    pipeline->outbox_end = &pipeline->outbox;
    pipeline->sent_count += pipeline->outbox_count;
    assert(pipeline->sent_count <= pipeline->unfinished);
    pipeline->outbox_count = pipeline->append_count = pipeline->count_count = 0;
    pipeline->kept_since_ns = 0;
    pipeline->round = mcds__next_round();
    mcds__session_submit(pipeline->session, first);
}

static void pipeline_take_back(mcds_pipeline *pipeline, mcds_batch *batch)
{
    assert(pipeline->sent_count > 0);
    assert(batch->answered == batch->count);
    pipeline->sent_count--;
    pipeline_advance(pipeline, mcds__operation_of(batch));
}

/* Advance the operations whose batches were combined into this one. */
static void advance_parts(mcds_pipeline *pipeline, mcds_batch *combined)
{
    mcds_batch *list = mcds__separate(&pipeline->combiner, combined);
    struct mcds__shared shared = {0};
    while (list != NULL) {
        mcds_batch *batch = list;
        list = batch->next;
        if (batch->answered > 0) {
            mcds__operation_of(batch)->shared = &shared;
            pipeline_take_back(pipeline, batch);
        } else {
            assert(pipeline->sent_count > 0);
            pipeline->sent_count--;
            put_in_outbox(pipeline, batch);
        }
    }
    if (shared.made != NULL)
        shared.release(shared.made);
}

static void wake_lines(mcds_pipeline *pipeline)
{
    struct mcds__operation *first;
    uint32_t slot = 0, left = pipeline->unfinished;
    pipeline->lines.now_ns = 0;
    while (left-- > 0 &&
           (first = mcds__lines_due(&pipeline->lines, &slot, pipeline->env)) != NULL) {
        pipeline->lines.only_waits = pipeline->outbox_count + pipeline->sent_count == 0;
        pipeline_advance(pipeline, first);
    }
    pipeline->lines.only_waits = false;
    struct mcds__operation *late = mcds__lines_late(&pipeline->lines, pipeline->env);
    for (; (first = late) != NULL; pipeline_advance(pipeline, first))
        late = first->next;
}

static void wake_sleepers(mcds_pipeline *pipeline)
{
    wake_lines(pipeline);
    if (pipeline->sleeping == NULL)
        return;
    int64_t now_ns = mcds__monotonic_ns(pipeline->env);
    struct mcds__operation *list = pipeline->sleeping;
    pipeline->sleeping = NULL;
    while (list != NULL) {
        struct mcds__operation *operation = list;
        list = operation->next;
        if (operation->wake_ns <= now_ns) {
            pipeline_advance(pipeline, operation);
        } else {
            operation->next = pipeline->sleeping;
            pipeline->sleeping = operation;
        }
    }
}

/* The time at which the first sleeping operation wakes; INT64_MAX: none sleeps. */
static int64_t first_wake_ns(const mcds_pipeline *pipeline)
{
    int64_t wake_ns = mcds__lines_wake_ns(&pipeline->lines);
    for (const struct mcds__operation *o = pipeline->sleeping; o != NULL; o = o->next)
        if (o->wake_ns < wake_ns)
            wake_ns = o->wake_ns;
    return wake_ns;
}

int64_t mcds_pipeline_wake_ns(const mcds_pipeline *pipeline)
{
    if (pipeline == NULL || mcds__store_is_parents(pipeline->store))
        return INT64_MAX;
    bool is_due = pipeline->outbox != NULL || pipeline->completions.count > 0;
    return is_due ? 0 : first_wake_ns(pipeline);
}

/* Whether the servers are busy, so the outbox may wait for more. */
static bool keeps_outbox(const mcds_pipeline *pipeline)
{
    return !pipeline->kept && pipeline->outbox != NULL &&
           pipeline->sent_count > BUSY_PART(pipeline->depth);
}

/* Whether the outbox of a caller that polls, and has started operations since, may wait for more. */
static bool keeps_polled(mcds_pipeline *pipeline)
{
    if (!pipeline->is_starting || pipeline->outbox_count >= pipeline->gather_count)
        return false;
    int64_t now_ns = mcds__monotonic_ns(pipeline->env);
    if (pipeline->kept_since_ns == 0)
        pipeline->kept_since_ns = now_ns;
    return now_ns - pipeline->kept_since_ns < KEEP_POLLING_NS;
}

/* Receive replies until then, and step. True: there were some. */
static bool collect(mcds_pipeline *pipeline, int64_t until_ns)
{
    mcds_batch *list = mcds__session_collect(pipeline->session, until_ns);
    bool has_come = list != NULL;
    pipeline->lines.now_ns = 0;
    while (list != NULL) {
        mcds_batch *batch = list;
        list = batch->next;
        if (batch->combined)
            advance_parts(pipeline, batch);
        else
            pipeline_take_back(pipeline, batch);
    }
    return has_come;
}

/* Send, receive and step. Waits for a reply or until the first sleeping operation wakes. */
static void run_once(mcds_pipeline *pipeline)
{
    uint32_t finished_count = pipeline->completions.count;
    wake_sleepers(pipeline);
    bool waits = finished_count == pipeline->completions.count;
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

/* Send, receive and step, without waiting. True: there were replies. */
static bool run_now(mcds_pipeline *pipeline, bool polls)
{
    wake_sleepers(pipeline);
    if (!polls || !keeps_polled(pipeline))
        send_outbox(pipeline);
    return collect(pipeline, 0);
}

/* Run once for a caller that waits. If all operations sleep, there is no reply to wait for. */
static void run_waiting(mcds_pipeline *pipeline)
{
    assert(pipeline->unfinished > 0);
    if (pipeline->outbox_count + pipeline->sent_count == 0)
        mcds__sleep_until_ns(pipeline->env, first_wake_ns(pipeline));
    run_once(pipeline);
}

static void pipeline_prepare(mcds_pipeline *pipeline, mcds_wait *wait)
{
    pipeline->is_starting = false;
    send_outbox(pipeline);
    wait->fd = mcds__session_watch(pipeline->session, &wait->wake_ns);
    int64_t wake_ns = mcds_pipeline_wake_ns(pipeline);
    if (wake_ns < wait->wake_ns)
        wait->wake_ns = wake_ns;
    if (wait->wake_ns == INT64_MAX)
        return;
    wait->timeout_ms = mcds__ms_until(pipeline->env, wait->wake_ns, TIMEOUT_MS_MAX);
}

void mcds_pipeline_prepare(mcds_pipeline *pipeline, mcds_wait *wait_out)
{
    mcds_wait wait = {.fd = -1, .timeout_ms = -1, .wake_ns = INT64_MAX};
    if (pipeline != NULL && mcds__store_check_process(pipeline->store) == MCDS_OK)
        pipeline_prepare(pipeline, &wait);
    if (wait_out != NULL)
        mcds__sized_write(MCDS__SIZED_mcds_wait, wait_out, &wait);
}

void *mcds__pipeline_new(mcds_pipeline *pipeline, struct mcds__handle *handle,
                         const struct mcds__operation_kind *kind, int *result)
{
    if (pipeline == NULL)
        *result = mcds__fail_missing(kind->noun, kind->verb, "a pipeline");
    else if (pipeline->store != handle->store)
        *result = mcds__fail_why(MCDS_INVALID, MCDS__WHY(OTHER_STORE),
                                 MCDS__CALL(kind, handle->name));
    else
        *result = mcds__store_check_forks(pipeline->store, pipeline->forks);
    if (*result != MCDS_OK)
        return NULL;
    while (pipeline->unfinished >= pipeline->depth)
        run_waiting(pipeline);
    void *operation = mcds__completions_reserve(&pipeline->completions,
                                                pipeline->unfinished + 1)
                          ? mcds__pool_take(&pipeline->pool, handle, kind->size)
                          : NULL;
    if (operation == NULL)
        *result = mcds__fail_memory(kind->noun, handle->name, kind->verb);
    return operation;
}

void mcds__call_forget(const struct mcds__start *start, void *operation)
{
    if (start != NULL)
        mcds__pool_release(&start->pipeline->pool,
                           mcds__pool_give(&start->pipeline->pool, operation));
}

static bool pipeline_is_full(const mcds_pipeline *pipeline)
{
    return pipeline->outbox_count >= pipeline->gather_count ||
           pipeline->lines.waiting >= pipeline->waiting_max;
}

static void pipeline_keep_up(mcds_pipeline *pipeline)
{
    if (mcds__store_answers_here(pipeline->store))
        while (pipeline_is_full(pipeline) && run_now(pipeline, false))
            continue;
    else if (pipeline->outbox_count >= pipeline->gather_count)
        send_outbox(pipeline);
    else if (pipeline_is_full(pipeline) && pipeline->unfinished % AT_ONCE == 0)
        (void)run_now(pipeline, false);
}

int mcds__call_launch(struct mcds__operation *operation, const struct mcds__start *start)
{
    if (start == NULL)
        return mcds__operation_run(operation);
    mcds_pipeline *pipeline = start->pipeline;
    assert(pipeline->unfinished < pipeline->depth);
    operation->tag = start->tag;
    pipeline->unfinished++;
    if (!pipeline->is_starting && pipeline->started != NULL)
        pipeline->started(pipeline->started_context);
    pipeline->is_starting = true;
    operation->lines = &pipeline->lines;
    mcds__pool_lend_values(&pipeline->pool, &operation->values);
    pipeline_advance(pipeline, operation);
    pipeline_keep_up(pipeline);
    return MCDS_OK;
}

void mcds_pipeline_on_start(mcds_pipeline *pipeline, mcds_start_cb started, void *context)
{
    if (pipeline == NULL)
        return;
    pipeline->started = started;
    pipeline->started_context = context;
    pipeline->is_starting = false;
}

int mcds_pipeline_open(mcds_store *store, const mcds_pipeline_options *options,
                       mcds_pipeline **pipeline_out)
{
    if (store == NULL || pipeline_out == NULL)
        return mcds__fail_missing("pipeline", NULL, "a store and a place for the handle");
    mcds_pipeline_options own;
    int result = mcds__store_check_process(store);
    if (result == MCDS_OK)
        result = mcds__sized_read(MCDS__SIZED_mcds_pipeline_options, options, &own);
    if (result != MCDS_OK)
        return result;
    uint32_t depth = own.depth > 0 ? own.depth : DEPTH_DEFAULT;
    if (depth > DEPTH_MAX)
        return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, .noun = "pipeline", .option = "depth",
                          .wanted_max = DEPTH_MAX, .found_number = depth);
    const mcds_env *env = mcds__store_env(store);
    mcds_pipeline *pipeline = mcds__allocate_zero(env, sizeof *pipeline);
    if (pipeline == NULL)
        return mcds__fail_memory("pipeline", NULL, NULL);
    mcds__store_hold(store);
    bool is_here = mcds__store_answers_here(store);
    bool is_memory = is_here && !mcds__store_commits(store);
    pipeline->store = store;
    pipeline->env = env;
    pipeline->forks = mcds__forks();
    pipeline->pool.env = env;
    pipeline->completions.pool = &pipeline->pool;
    pipeline->round = mcds__next_round();
    pipeline->depth = depth;
    uint32_t here_count = is_memory && depth > AT_ONCE ? AT_ONCE : depth;
    pipeline->gather_count = is_here ? here_count : depth / 2 + 1;
    pipeline->waiting_max = is_memory ? AT_ONCE : WAITING_MAX;
    pipeline->outbox_end = &pipeline->outbox;
    mcds__combiner_init(&pipeline->combiner, env);
    pipeline->lines.seed = pipeline->combiner.seed;
    result = mcds__session_take(store, 0, &pipeline->session);
    if (result == MCDS_OK) {
        *pipeline_out = pipeline;
        return MCDS_OK;
    }
    mcds__free(env, pipeline);
    mcds__store_release(store);
    return result;
}

void mcds_pipeline_close(mcds_pipeline *pipeline)
{
    if (pipeline == NULL)
        return;
    if (pipeline->unfinished > 0 || pipeline->forks != mcds__forks())
        mcds__session_drop(pipeline->session);
    else
        mcds__session_give(pipeline->store, pipeline->session);
    mcds__pool_free(&pipeline->pool);
    mcds__completions_free(&pipeline->completions);
    mcds__combiner_free(&pipeline->combiner);
    mcds_store *store = pipeline->store;
    mcds__free(pipeline->env, pipeline);
    mcds__store_release(store);
}

static int check_taker(const mcds_pipeline *pipeline, const void *done, const char *verb,
                       const char *needed)
{
    if (pipeline == NULL || done == NULL)
        return mcds__fail_missing("pipeline", verb, needed);
    return mcds__store_check_forks(pipeline->store, pipeline->forks);
}

int mcds_pipeline_next(mcds_pipeline *pipeline, mcds_completion *done)
{
    int result = check_taker(pipeline, done, "next", COMPLETION_NEEDED);
    if (result != MCDS_OK)
        return result;
    while (pipeline->completions.count == 0 && pipeline->unfinished > 0)
        run_waiting(pipeline);
    if (pipeline->completions.count == 0)
        return MCDS_IDLE;
    mcds__completions_take(&pipeline->completions, done);
    return MCDS_OK;
}

int mcds_pipeline_poll(mcds_pipeline *pipeline, mcds_completion *done)
{
    int result = check_taker(pipeline, done, "poll", COMPLETION_NEEDED);
    if (result != MCDS_OK)
        return result;
    if (pipeline->completions.count == 0 && pipeline->unfinished > 0)
        (void)run_now(pipeline, true);
    if (pipeline->completions.count > 0) {
        mcds__completions_take(&pipeline->completions, done);
        return MCDS_OK;
    }
    pipeline->is_starting = false;
    return pipeline->unfinished > 0 ? MCDS_PENDING : MCDS_IDLE;
}

int mcds_pipeline_end_wait(mcds_pipeline *pipeline, uint64_t tag)
{
    int result = check_taker(pipeline, pipeline, "end_wait", "a pipeline");
    bool is_absent = result == MCDS_OK && !mcds__pool_end_wait(&pipeline->pool, tag);
    return is_absent ? MCDS_NOT_FOUND : result;
}

bool mcds_pipeline_is_idle(const mcds_pipeline *pipeline)
{
    return pipeline == NULL || mcds__store_is_parents(pipeline->store) ||
           (pipeline->completions.count == 0 && pipeline->unfinished == 0);
}
