/* Executes a scope in one transaction: requests, messages of other processes, maintenance. */
#include "store/lmdb/commit/transaction.h"

#include <assert.h>
#include <lmdb.h>
#include <string.h>

#include "base/environment.h"
#include "base/reason.h"
#include "store/lmdb/commit/publications.h"

#define SWEEP_MIN 16
#define SWEEP_FULL 1024 /* if there is no space */
#define REQUESTS_PER_READING 64
#define SORTED_MIN 64          /* batches; fewer seldom share a page */
#define CHECKPOINT_NS NS_PER_S /* the longest time whose writes sync=async can lose */

/* The requests of one transaction happen at one moment, so they share a reading of the clocks.
 * In a long transaction REQUESTS_PER_READING of them share one, and always a whole batch. */
static void read_clocks(struct mcds__lmdb_work *work, const mcds_env *env)
{
    assert(work->looked <= work->requests);
    if (work->clocks == env && work->requests - work->looked < REQUESTS_PER_READING)
        return;
    work->now_ns = mcds__monotonic_ns(env);
    work->now_ms = mcds__lmdb_ms_at(work->file, env, work->now_ns);
    work->clocks = env;
    work->looked = work->requests;
}

static int execute_request(struct mcds__lmdb_work *work, mcds_request *request,
                           mcds_buffer *values)
{
    memset(&request->reply, 0, sizeof request->reply);
    request->reply.peer = work->file->path;
    work->requests++;
    return mcds__lmdb_execute(work, request, values);
}

/* The batch counts as answered from here; undo_batch reverts that after an abort. */
static int lmdb_transaction_execute_batch(struct mcds__lmdb_work *work, const mcds_env *env,
                                          mcds_batch *batch)
{
    assert(batch->answered < batch->count);
    read_clocks(work, env);
    if (work->now_ns >= batch->deadline_ns) {
        mcds__lmdb_answer_batch(work->file, batch, MCDS_OUT_UNSENT,
                                work->is_short ? MCDS__WHY(SPACE_TIMEOUT)
                                               : MCDS__WHY(UNWRITTEN_IN_TIME));
        return 0;
    }
    batch->answered = batch->count;
    batch->serial = batch->values != NULL ? batch->values->length : 0;
    int code = 0;
    for (uint32_t i = 0; i < batch->count && code == 0; i++)
        code = execute_request(work, &batch->requests[i], batch->values);
    return code;
}

/* In the order of their keys, batches are scattered in memory. So prefetch the memory that is needed next:
 * first a batch, then its request, then the key. */
static int execute_sorted(struct mcds__lmdb_work *work, const mcds_env *env,
                          const struct mcds__lmdb_row *rows, size_t count)
{
    int code = 0;
    for (size_t i = 0; i < count && code == 0; i++) {
        size_t last = count - 1;
        __builtin_prefetch(rows[i + 4 < last ? i + 4 : last].batch);
        const mcds_request *request = rows[i + 2 < last ? i + 2 : last].batch->requests;
        __builtin_prefetch(request);
        __builtin_prefetch(&request->value);
        __builtin_prefetch(&request->reply);
        __builtin_prefetch(&request->reply.peer);
        __builtin_prefetch(rows[i + 1 < last ? i + 1 : last].batch->requests->key.data);
        code = lmdb_transaction_execute_batch(work, env, rows[i].batch);
    }
    return code;
}

/* Execute a long list in the order of its keys, if there is memory to sort it. An earlier attempt may
 * have answered the first batch, which was late. */
static int execute_writer(struct mcds__lmdb_work *work, const struct mcds__lmdb_writer *writer)
{
    int code = 0;
    size_t count = 0;
    struct mcds__lmdb_row *rows = NULL;
    mcds_batch *batch = mcds__lmdb_skip_answered(writer->first);
    if (writer->taken.batches >= SORTED_MIN)
        rows = mcds__lmdb_key_order(writer->env, batch, writer->until,
                                    (size_t)writer->taken.batches, &count);
    if (rows != NULL)
        code = execute_sorted(work, writer->env, rows, count);
    for (; rows == NULL && batch != writer->until && code == 0;
         batch = mcds__lmdb_skip_answered(batch->next))
        code = lmdb_transaction_execute_batch(work, writer->env, batch);
    mcds__free(writer->env, rows);
    return code;
}

struct mcds__lmdb_place mcds__lmdb_skip_to_unanswered(struct mcds__lmdb_place place)
{
    while (place.writer != NULL) {
        while (place.batch != place.writer->until &&
               place.batch->answered == place.batch->count)
            place.batch = place.batch->next;
        if (place.batch != place.writer->until)
            break;
        place.writer = place.writer->next;
        place.batch = place.writer != NULL ? place.writer->first : NULL;
    }
    return place;
}

/* The order is that of the list, so batches of one key keep theirs. */
static int execute_run(struct mcds__lmdb_work *work, struct mcds__lmdb_place at,
                       uint64_t length)
{
    int code = 0;
    assert(at.writer != NULL && length > 0);
    for (uint64_t i = 0; i < length && at.writer != NULL && code == 0; i++) {
        code = lmdb_transaction_execute_batch(work, at.writer->env, at.batch);
        at = mcds__lmdb_skip_to_unanswered(at);
    }
    return code;
}

static int execute_scope(struct mcds__lmdb_work *work, const struct mcds__lmdb_scope *scope)
{
    assert(scope->request == NULL || scope->batch != NULL);
    int code = 0;
    work->changed = scope->must_commit;
    if (scope->request != NULL) {
        read_clocks(work, scope->env);
        return execute_request(work, scope->request, scope->batch->values);
    }
    if (scope->batch != NULL)
        return lmdb_transaction_execute_batch(work, scope->env, scope->batch);
    if (scope->run_length > 0)
        return execute_run(work, scope->from, scope->run_length);
    for (struct mcds__lmdb_writer *writer = scope->writers; writer != NULL && code == 0;
         writer = writer->next)
        code = execute_writer(work, writer);
    return code;
}

static int execute_message(struct mcds__lmdb_work *work, const mcds_env *env,
                           const struct mcds__lmdb_message *message)
{
    assert(work->file->taken_count > 0);
    size_t at = 0;
    int code = 0;
    /* Its process may have read a ttl since the last reading, and must not see it end sooner. */
    work->clocks = NULL;
    read_clocks(work, env);
    for (uint32_t i = 0; i < message->count && i < MCDS__LMDB_MESSAGE_REQUESTS && code == 0;
         i++) {
        mcds_request request = {0};
        if (mcds__lmdb_message_next(message, &at, &request))
            code = execute_request(work, &request, NULL);
        else
            mcds__lmdb_answer(work->file, &request, MCDS_OUT_FAILED, MCDS__WHY(BAD_MESSAGE));
        mcds__lmdb_publications_answer(work->file, i, &request.reply);
    }
    return code;
}

/* Execute the messages of other processes, whose clocks `env` must have. */
static int execute_published(struct mcds__lmdb_work *work, const mcds_env *env)
{
    struct mcds__lmdb_message *message = &work->file->fetched;
    int code = 0;
    if (work->file->publications == NULL || env != work->file->clock.shared)
        return 0;
    while (code == 0 && mcds__lmdb_publications_take(work->file, message))
        code = execute_message(work, env, message);
    return code == 0 && work->file->taken_count > 0 ? mcds__lmdb_publications_seal(work, env)
                                                    : code;
}

/* Whether the transaction executed the batch: it was neither late nor answered elsewhere. */
static bool was_executed(const mcds_batch *batch)
{
    return batch->answered == batch->count &&
           batch->requests[0].reply.outcome != MCDS_OUT_UNSENT && !mcds__lmdb_only_reads(batch);
}

/* Batches may share a buffer. */
void mcds__lmdb_undo_batch(mcds_batch *batch)
{
    if (!was_executed(batch))
        return;
    assert(batch->answered == batch->count);
    batch->answered = 0;
    if (batch->values != NULL && batch->values->length > batch->serial)
        batch->values->length = (size_t)batch->serial;
}

void mcds__lmdb_undo_from(struct mcds__lmdb_place from)
{
    while (from.writer != NULL) {
        for (; from.batch != from.writer->until; from.batch = from.batch->next)
            mcds__lmdb_undo_batch(from.batch);
        from.writer = from.writer->next;
        from.batch = from.writer != NULL ? from.writer->first : NULL;
    }
}

/* Everything after the requests, including the commit. */
static int lmdb_transaction_finish(struct mcds__lmdb_work *work, const mcds_env *env,
                                   bool *uncertain)
{
    struct mcds__lmdb_file *file = work->file;
    bool reserved = false;
    uint32_t sweep_max = work->requests > 0 ? SWEEP_MIN + work->requests : SWEEP_FULL;
    int code = 0;
    if (work->clocks != env)
        read_clocks(work, env);
    if (work->changed || work->requests == 0)
        code = mcds__lmdb_expire(work, sweep_max);
    if (code == 0 && work->changed)
        code = mcds__lmdb_cas_store(work, !file->synced, &reserved);
    if (code == 0 && !work->changed)
        mcds__lmdb_publications_end(file, MCDS__LMDB_DONE);
    if (code != 0 || !work->changed) {
        mcds__lmdb_write_abort(file, work->txn);
        return code;
    }
    assert(file->holds_write_lock || file->write_lock == NULL);
    code = mcds__lmdb_write_commit(file, work->txn, reserved, uncertain);
    if (code != 0)
        return code;
    file->cas_joined = true;
    file->clock.fixed = true;
    if (file->synced)
        return 0;
    int64_t now_ns = mcds__monotonic_ns(env);
    if (!reserved && now_ns - file->checkpoint_ns < CHECKPOINT_NS)
        return 0;
    file->checkpoint_ns = now_ns;
    if (!reserved)
        (void)mdb_env_sync(file->env, 1);
    return 0;
}

int mcds__lmdb_attempt(struct mcds__lmdb_file *file, const mcds_env *env,
                       const struct mcds__lmdb_scope *scope, MDB_txn *txn, bool *uncertain)
{
    uint8_t storage[512];
    struct mcds__lmdb_work work = {.file = file,
                                   .txn = txn,
                                   .may_not_grow = scope->may_not_grow,
                                   .is_short = scope->run_length > 0 || scope->batch != NULL};
    *uncertain = false;
    assert((scope->writers != NULL) + (scope->batch != NULL) <= 1);
    int code = txn == NULL ? mcds__lmdb_write_begin(file, env, scope->until_ns, &work.txn) : 0;
    if (code != 0)
        return code;
    mcds__buffer_init_in(&work.old_value, env, MCDS__LMDB_VALUE_MAX, storage, sizeof storage);
    code = mcds__lmdb_view(file, work.txn, &work.view);
    if (code == 0)
        code = mcds__lmdb_cas_load(&work);
    if (code == 0 && !file->clock.fixed)
        code = mcds__lmdb_clock_agree(&work);
    if (code == 0)
        code = mdb_cursor_open(work.txn, file->items, &work.cursor);
    if (code == 0)
        code = execute_scope(&work, scope);
    if (code == 0 && scope->takes_messages)
        code = execute_published(&work, env);
    if (work.cursor != NULL)
        mdb_cursor_close(work.cursor);
    if (code == 0)
        code = lmdb_transaction_finish(&work, env, uncertain);
    else
        mcds__lmdb_write_abort(file, work.txn);
    mcds__buffer_free(&work.old_value);
    if (code == 0 && work.changed) {
        (void)pthread_mutex_lock(&file->queue_mutex);
        file->commits++;
        (void)pthread_mutex_unlock(&file->queue_mutex);
    }
    return code;
}
