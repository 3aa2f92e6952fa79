/* Counter: exactly-once counters, on core/replica. */

#include <assert.h>

#include "base/environment.h"
#include "base/error.h"
#include "structures/counter/counter.h"

/* After a failed flush, additions do not flush for this long. */
#define RETRY_MS 1000

int mcds__exact_open(mcds_counter *counter, uint32_t copies)
{
    assert(counter->replica == NULL);
    assert(copies > 0 && copies <= MCDS__REPLICA_COPIES_MAX);
    const mcds_env *env = mcds__store_env(counter->handle.store);
    const mcds_capabilities can = mcds__store_can(counter->handle.store);
    if (copies > can.places)
        return mcds__fail(MCDS_UNSUPPORTED, FEW_SERVERS, .noun = "counter",
                          .name = counter->handle.name, .option = "copies",
                          .wanted_max = can.places, .found_number = copies);
    struct mcds__replica *replica = mcds__allocate_zero(env, sizeof *replica);
    if (replica == NULL ||
        !mcds__replica_open(replica, env, mcds__store_ns(counter->handle.store),
                            counter->handle.name, copies)) {
        mcds__free(env, replica);
        return mcds__fail_memory("counter", counter->handle.name, NULL);
    }
    counter->replica = replica;
    return MCDS_OK;
}

struct counter_flush {
    struct mcds__operation base;
    mcds_counter *counter;
    bool of_add; /* part of an add: the handle keeps the addition when the flush fails */
    bool overflows;
    bool rests; /* nothing shall be flushed yet */
    struct mcds__replica_flush flush;
};

/* The result of an addition, given that of its flush. With FLUSH_EACH, an addition that was not
 * taken back may still be written by a later flush. */
static int result_of_add(const mcds_counter *counter, const struct mcds__replica_flush *flush,
                         int result)
{
    assert(flush->waits == (counter->flush_ms == 0));
    if (counter->flush_ms == 0)
        return result == MCDS_OK || flush->is_withdrawn ? result : MCDS_AMBIGUOUS;
    switch (result) {
    case MCDS_INVALID:
    case MCDS_UNSUPPORTED:
    case MCDS_CORRUPT:
    case MCDS_OK:
        return result;
    default:
        return MCDS_OK;
    }
}

static enum mcds__step step_flush(struct mcds__operation *operation)
{
    struct counter_flush *flush = (struct counter_flush *)operation;
    if (flush->overflows)
        return mcds__operation_explain(operation, MCDS_OVERFLOW, MCDS__WHY(SUM_TOO_LARGE));
    if (flush->rests)
        return mcds__operation_finish(operation, MCDS_OK);
    enum mcds__step step = mcds__replica_flush_step(&flush->flush, operation);
    if (step == MCDS__DONE && flush->of_add)
        operation->result = result_of_add(flush->counter, &flush->flush, operation->result);
    return step;
}

static void release_flush(struct mcds__operation *operation)
{
    mcds__replica_flush_end(&((struct counter_flush *)operation)->flush);
}

static const struct mcds__operation_kind flush_kind = {
    "counter", "flush", sizeof(struct counter_flush), step_flush, release_flush};
static const struct mcds__operation_kind add_kind = {
    "counter", "add", sizeof(struct counter_flush), step_flush, release_flush};

static struct counter_flush *begin_flush(struct counter_flush *own,
                                         const struct mcds__operation_kind *kind,
                                         mcds_counter *counter, const struct mcds__start *start,
                                         int *result)
{
    struct counter_flush *flush = mcds__call_begin(&own->base, kind, &counter->handle, start,
                                                   result);
    if (flush == NULL)
        return NULL;
    flush->counter = counter;
    flush->of_add = kind == &add_kind;
    flush->overflows = false;
    flush->rests = false;
    mcds__replica_flush_begin(&flush->flush, counter->replica);
    return flush;
}

/* Whether an addition flushes: flush_ms have passed, and no other flush is in flight. */
static bool counter_exact_is_due(const mcds_counter *counter)
{
    struct mcds__replica *replica = counter->replica;
    if (counter->flush_ms == 0)
        return true;
    int64_t now_ns = mcds__monotonic_ns(replica->env);
    (void)pthread_mutex_lock(&replica->mutex);
    uint32_t pause_ms = counter->flush_ms;
    if (replica->failed && pause_ms < RETRY_MS)
        pause_ms = RETRY_MS;
    bool due = !replica->busy && now_ns - replica->flushed_ns >= pause_ms * NS_PER_MS;
    (void)pthread_mutex_unlock(&replica->mutex);
    return due;
}

/* With FLUSH_EACH, a failed flush may take the addition back. */
static void flush_addition(struct counter_flush *flush,
                           const struct mcds__replica_addition *addition)
{
    assert(flush->of_add);
    flush->flush.waits = flush->counter->flush_ms == 0;
    if (flush->flush.waits)
        flush->flush.own = *addition;
}

int mcds__exact_add(mcds_counter *counter, int64_t delta, const struct mcds__start *start)
{
    int result = MCDS_OK;
    struct counter_flush own;
    struct mcds__replica_addition addition = {0, 0};
    if (start == NULL && !mcds__replica_add(counter->replica, delta, &addition))
        return mcds__fail_why(MCDS_OVERFLOW, MCDS__WHY(SUM_TOO_LARGE),
                              MCDS__CALL(&add_kind, counter->handle.name));
    if (start == NULL && !counter_exact_is_due(counter))
        return MCDS_OK;
    struct counter_flush *flush = begin_flush(&own, &add_kind, counter, start, &result);
    if (flush == NULL)
        return result;
    if (start != NULL) {
        flush->overflows = !mcds__replica_add(counter->replica, delta, &addition);
        flush->rests = !counter_exact_is_due(counter);
    }
    flush_addition(flush, &addition);
    return mcds__call_launch(&flush->base, start);
}

int mcds_counter_flush_start(mcds_counter *counter, mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    struct counter_flush own;
    int result;
    if (counter == NULL)
        return mcds__fail_missing("counter", "flush", "a counter");
    struct counter_flush *flush = begin_flush(&own, &flush_kind, counter, start, &result);
    if (flush == NULL)
        return result;
    flush->rests = counter->replica == NULL;
    flush->flush.waits = true;
    return mcds__call_launch(&flush->base, start);
}

int mcds_counter_flush(mcds_counter *counter)
{
    return mcds_counter_flush_start(counter, MCDS__WAIT, 0);
}

/* Does not wait for a flush in flight: its pipeline may be this thread's, and that flush is the last
 * then. */
static void flush_last(mcds_counter *counter)
{
    struct counter_flush flush;
    struct mcds__failure failure;
    int result;
    mcds__replica_end(counter->replica);
    /* The program may read the sentence of its last call after the close. */
    mcds__failure_save(&failure);
    if (begin_flush(&flush, &flush_kind, counter, NULL, &result) != NULL) {
        flush.flush.leaves = true;
        (void)mcds__call_launch(&flush.base, NULL);
    }
    mcds__failure_restore(&failure);
}

/* In a child, other threads of the parent may be flushing it. */
void mcds__exact_close(mcds_counter *counter)
{
    if (counter->replica != NULL && !mcds__store_is_parents(counter->handle.store))
        flush_last(counter);
}

void mcds__exact_destroy(mcds_counter *counter)
{
    if (counter->replica == NULL)
        return;
    if (!mcds__store_is_parents(counter->handle.store))
        mcds__replica_close(counter->replica);
    mcds__free(mcds__store_env(counter->handle.store), counter->replica);
}

struct counter_read {
    struct mcds__operation base;
    const mcds_counter *counter;
    mcds_counter_value *value_out;
    struct mcds__replica_read read;
};

static enum mcds__step counter_exact_step_read(struct mcds__operation *operation)
{
    struct counter_read *read = (struct counter_read *)operation;
    enum mcds__step step = mcds__replica_read_step(&read->read, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    if (read->read.reborn && mcds__counter_is_strict(read->counter))
        return mcds__operation_explain(operation, MCDS_LOST, MCDS__WHY(SERVER_PART_LOST));
    mcds_counter_value value = {
        .value = read->read.value, .reborn = read->read.reborn, .ttl_ms = MCDS_TTL_NEVER};
    mcds__sized_write(MCDS__SIZED_mcds_counter_value, read->value_out, &value);
    return step;
}

static void release_read(struct mcds__operation *operation)
{
    mcds__replica_read_end(&((struct counter_read *)operation)->read);
}

static const struct mcds__operation_kind read_kind = {
    "counter", "get", sizeof(struct counter_read), counter_exact_step_read, release_read};

int mcds__exact_get(mcds_counter *counter, mcds_counter_value *value_out,
                    const struct mcds__start *start)
{
    int result = MCDS_OK;
    struct counter_read own;
    struct counter_read *read = mcds__call_begin(&own.base, &read_kind, &counter->handle, start,
                                                 &result);
    if (read == NULL)
        return result;
    read->counter = counter;
    read->value_out = value_out;
    mcds__replica_read_begin(&read->read, counter->replica);
    return mcds__call_launch(&read->base, start);
}

struct counter_erase {
    struct mcds__operation base;
    struct mcds__replica_drop drop;
};

static enum mcds__step step_erase(struct mcds__operation *operation)
{
    return mcds__replica_drop_step(&((struct counter_erase *)operation)->drop, operation);
}

static void release_erase(struct mcds__operation *operation)
{
    mcds__replica_drop_end(&((struct counter_erase *)operation)->drop);
}

static const struct mcds__operation_kind erase_kind = {
    "counter", "drop", sizeof(struct counter_erase), step_erase, release_erase};

int mcds__exact_drop(mcds_counter *counter, const struct mcds__start *start)
{
    int result = MCDS_OK;
    struct counter_erase own;
    struct counter_erase *erase = mcds__call_begin_zero(&own.base, &erase_kind,
                                                        &counter->handle, start, &result);
    if (erase == NULL)
        return result;
    erase->drop.survey.replica = counter->replica;
    return mcds__call_launch(&erase->base, start);
}
