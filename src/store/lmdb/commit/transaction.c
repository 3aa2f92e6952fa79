/* Executes a group of batches in one transaction; splits the group if space is short.
 *
 *     group     one transaction for all writers and the posted messages
 *                 no space in the map: grow it and try again
 *                 still no space: remove expired items, then
 *     batch     a transaction for each batch
 *                 no space, then
 *     request   a transaction for each request
 *                 no space: lend the reserve to requests that free space
 *
 * So a request that needs no space is not refused together with one that does. */
#include <assert.h>
#include <errno.h>
#include <lmdb.h>
#include <string.h>

#include "base/environment.h"
#include "base/reason.h"
#include "store/lmdb/commit/publications.h"
#include "store/lmdb/commit/writer.h"

#define SWEEP_MIN 16
#define SWEEP_FULL 1024 /* if there is no space */
#define GROWTHS_MAX 64
#define REQUESTS_PER_READING 64
#define SORTED_MIN 64          /* batches; fewer seldom share a page */
#define CHECKPOINT_NS NS_PER_S /* the longest time whose writes sync=async can lose */
/* Of a compare-and-set that the reserve is lent to: a mark or a lease, which fits into a page with
 * others, and the largest value. */
#define SMALL_VALUE 1024
#define LENT_VALUE_MAX 32768
/* How much of the reserve on the disk must be there for it, and for removing what has expired. */
#define LENT_FROM_QUARTERS 3
#define SWEEPS_FROM_QUARTERS 2

/* The scope of one transaction: a list of writers, or one batch, or one request of it, or only
 * the maintenance that each transaction does. */
struct scope {
    struct mcds__lmdb_writer *writers;
    const mcds_env *env; /* of the batch */
    mcds_batch *batch;
    mcds_request *request;
    bool must_commit; /* even if nothing has changed */
    bool may_not_grow;
    bool takes_messages; /* also executes the messages of other processes */
    int64_t until_ns;    /* the deadline for the write lock */
};

static bool lmdb_transaction_is_late(const mcds_env *env, const mcds_batch *batch)
{
    return mcds__monotonic_ns(env) >= batch->deadline_ns;
}

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

/* Codes that a smaller transaction, or one that frees space, may not return. */
static bool lmdb_transaction_is_space(int code)
{
    return code == MDB_MAP_FULL || code == MDB_TXN_FULL || code == ENOSPC || code == EDQUOT ||
           code == EFBIG || code == ENOMEM;
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
                                MCDS__WHY(UNWRITTEN_IN_TIME));
        return 0;
    }
    batch->answered = batch->count;
    batch->serial = batch->values != NULL ? batch->values->length : 0;
    int code = 0;
    for (uint32_t i = 0; i < batch->count && code == 0; i++)
        code = execute_request(work, &batch->requests[i], batch->values);
    return code;
}

/* In the order of their keys, batches are scattered in memory. So prefetch what comes soon:
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

/* Execute a long list in the order of its keys, if there is memory to sort it. */
static int execute_writer(struct mcds__lmdb_work *work, const struct mcds__lmdb_writer *writer)
{
    int code = 0;
    size_t count = 0;
    struct mcds__lmdb_row *rows = NULL;
    mcds_batch *batch = writer->first;
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

static int execute_scope(struct mcds__lmdb_work *work, const struct scope *scope)
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

/* Execute the messages of other processes, which use the system's clock: `env` must too. */
static int execute_published(struct mcds__lmdb_work *work, const mcds_env *env)
{
    struct mcds__lmdb_message message;
    int code = 0;
    if (work->file->publications == NULL || env != mcds_env_system())
        return 0;
    while (code == 0 && mcds__lmdb_publications_take(work->file, &message))
        code = execute_message(work, env, &message);
    return code == 0 && work->file->taken_count > 0 ? mcds__lmdb_publications_seal(work, env)
                                                    : code;
}

/* Whether the transaction executed the batch: it was neither late nor answered elsewhere. */
static bool was_executed(const mcds_batch *batch)
{
    return batch->answered == batch->count &&
           batch->requests[0].reply.outcome != MCDS_OUT_UNSENT && !mcds__lmdb_only_reads(batch);
}

/* Revert the answers of an aborted attempt, and what it appended. Batches may share a buffer. */
static void undo_batch(mcds_batch *batch)
{
    if (!was_executed(batch))
        return;
    assert(batch->answered == batch->count);
    batch->answered = 0;
    if (batch->values != NULL && batch->values->length > batch->serial)
        batch->values->length = (size_t)batch->serial;
}

static void undo_writers(struct mcds__lmdb_writer *writers)
{
    for (struct mcds__lmdb_writer *writer = writers; writer != NULL; writer = writer->next)
        for (mcds_batch *batch = writer->first; batch != writer->until; batch = batch->next)
            undo_batch(batch);
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

/* Execute a scope in one transaction: in `txn` unless it is NULL. */
static int attempt(struct mcds__lmdb_file *file, const mcds_env *env, const struct scope *scope,
                   MDB_txn *txn, bool *uncertain)
{
    uint8_t storage[512];
    struct mcds__lmdb_work work = {
        .file = file, .txn = txn, .may_not_grow = scope->may_not_grow};
    *uncertain = false;
    assert((scope->writers != NULL) + (scope->batch != NULL) <= 1);
    int code = txn == NULL ? mcds__lmdb_write_begin(file, env, scope->until_ns, &work.txn) : 0;
    if (code != 0)
        return code;
    mcds__buffer_init_in(&work.old_value, env, MCDS__LMDB_VALUE_MAX, storage, sizeof storage);
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

/* The outcome of a request whose transaction failed. */
static mcds_outcome lmdb_transaction_outcome_of(int code, bool uncertain)
{
    if (uncertain)
        return MCDS_OUT_UNKNOWN;
    if (code == ETIMEDOUT)
        return MCDS_OUT_UNSENT;
    if (code == ENOMEM)
        return MCDS_OUT_NO_BUFFER;
    return lmdb_transaction_is_space(code) ? MCDS_OUT_NO_MEMORY : MCDS_OUT_FAILED;
}

static bool is_disk(int code)
{
    return code == ENOSPC || code == EDQUOT;
}

/* Lend the reserve to a request that frees space: in the map or on the disk, whichever `code`
 * reports as full. False: `code` reports neither, or the map has no reserve. */
static bool lend(struct mcds__lmdb_file *file, const mcds_env *env, int code)
{
    if (is_disk(code))
        mcds__lmdb_ballast(file, false);
    return is_disk(code) ||
           (code == MDB_MAP_FULL && mcds__lmdb_map_reserve(file, env, true) == 0);
}

static void lmdb_transaction_take_back(struct mcds__lmdb_file *file, const mcds_env *env,
                                       int code)
{
    if (is_disk(code))
        mcds__lmdb_ballast(file, true);
    else
        (void)mcds__lmdb_map_reserve(file, env, false);
}

/* Requests that free space, or need none in the end: a tombstone over a value, a renewed
 * lease. On a full disk, a larger value that is replaced by its like takes pages from the reserve,
 * and other requests take those that it frees: most is left to requests that free space. */
static bool may_borrow(const struct mcds__lmdb_file *file, const mcds_request *request,
                       int code)
{
    if (is_disk(code) && request->command == MCDS_CAS && request->value.length > SMALL_VALUE)
        return request->value.length <= LENT_VALUE_MAX &&
               mcds__lmdb_has_ballast(file, LENT_FROM_QUARTERS);
    return request->command == MCDS_DELETE || request->command == MCDS_CAS ||
           (request->options & MCDS_MAKES_ROOM) != 0;
}

/* Execute the request again with the reserve. */
static int borrow(struct mcds__lmdb_file *file, const struct scope *scope, int kept,
                  bool *uncertain)
{
    assert(scope->request != NULL);
    struct scope again = *scope;
    again.may_not_grow = (scope->request->options & MCDS_MAKES_ROOM) == 0;
    int code = attempt(file, scope->env, &again, NULL, uncertain);
    lmdb_transaction_take_back(file, scope->env, kept);
    return code == 0 || *uncertain ? code : kept;
}

/* Execute one request where space is short. If it frees space, it may use the reserve. */
static void retry_request(struct mcds__lmdb_file *file, const struct scope *scope)
{
    mcds_request *request = scope->request;
    const mcds_env *env = scope->env;
    mcds_buffer *values = scope->batch->values;
    size_t before = values != NULL ? values->length : 0;
    bool uncertain;
    if (lmdb_transaction_is_late(env, scope->batch)) {
        mcds__lmdb_answer(file, request, MCDS_OUT_UNSENT, MCDS__WHY(SPACE_TIMEOUT));
        return;
    }
    int code = attempt(file, env, scope, NULL, &uncertain);
    if (may_borrow(file, request, code) && lend(file, env, code))
        code = borrow(file, scope, code, &uncertain);
    if (code == 0)
        return;
    if (values != NULL)
        values->length = before;
    mcds__lmdb_answer(file, request, lmdb_transaction_outcome_of(code, uncertain),
                      mcds__lmdb_reason(code));
}

static void retry_batch(struct mcds__lmdb_file *file, const mcds_env *env, mcds_batch *batch)
{
    assert(batch->answered == 0);
    struct scope scope = {.env = env, .batch = batch, .until_ns = batch->deadline_ns};
    bool uncertain;
    int code = attempt(file, env, &scope, NULL, &uncertain);
    if (code == 0)
        return;
    undo_batch(batch);
    if (!lmdb_transaction_is_space(code) || uncertain) {
        mcds__lmdb_answer_batch(file, batch, lmdb_transaction_outcome_of(code, uncertain),
                                mcds__lmdb_reason(code));
        return;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        scope.request = &batch->requests[i];
        retry_request(file, &scope);
    }
    batch->answered = batch->count;
}

/* Free as much space as possible: remove expired items, and commit once more, because LMDB
 * reuses a page only in the second transaction after the one that freed it. */
static void make_space(struct mcds__lmdb_file *file, const mcds_env *env, int kept,
                       int64_t until_ns)
{
    struct scope nothing = {.env = env, .until_ns = until_ns};
    bool uncertain;
    if ((is_disk(kept) && !mcds__lmdb_has_ballast(file, SWEEPS_FROM_QUARTERS)) ||
        !lend(file, env, kept))
        return;
    (void)attempt(file, env, &nothing, NULL, &uncertain);
    nothing.must_commit = true;
    if (file->commits != file->recycled && attempt(file, env, &nothing, NULL, &uncertain) == 0)
        file->recycled = file->commits;
    lmdb_transaction_take_back(file, env, kept);
}

/* Attempt the whole group, and grow the map as needed. Only the first attempt executes messages
 * of other processes: one of them may be what fails, and each process can execute its own. */
static int attempt_growing(struct mcds__lmdb_file *file, const mcds_env *env,
                           struct scope *scope, MDB_txn *txn, bool *uncertain)
{
    assert(scope->batch == NULL && scope->request == NULL);
    int code = 0;
    scope->takes_messages = true;
    for (int i = 0; i < GROWTHS_MAX; i++) {
        code = attempt(file, env, scope, txn, uncertain);
        if (code == 0)
            return 0;
        scope->takes_messages = false;
        undo_writers(scope->writers);
        if (code != MDB_MAP_FULL)
            return code;
        code = mcds__lmdb_map_grow(file, env);
        if (code != 0)
            return code;
        txn = NULL;
    }
    return code != 0 ? code : MDB_MAP_FULL;
}

/* On the clock of the leader's environment; each writer has its own clock. */
static int64_t last_deadline(const mcds_env *env, const struct mcds__lmdb_writer *writers)
{
    int64_t last_ns = INT64_MIN;
    for (; writers != NULL; writers = writers->next) {
        int64_t deadline_ns = writers->deadline_ns;
        if (writers->env != env)
            deadline_ns += mcds__monotonic_ns(env) - mcds__monotonic_ns(writers->env);
        if (deadline_ns > last_ns)
            last_ns = deadline_ns;
    }
    return last_ns;
}

void mcds__lmdb_transact(struct mcds__lmdb_file *file, const mcds_env *env,
                         struct mcds__lmdb_writer *writers, MDB_txn *txn)
{
    bool uncertain = false;
    struct scope scope = {.writers = writers, .until_ns = last_deadline(env, writers)};
    int code = attempt_growing(file, env, &scope, txn, &uncertain);
    if (code == 0)
        return;
    bool retry = lmdb_transaction_is_space(code) && !uncertain;
    if (retry)
        make_space(file, env, code, scope.until_ns);
    for (struct mcds__lmdb_writer *writer = writers; writer != NULL; writer = writer->next)
        for (mcds_batch *batch = writer->first; batch != writer->until; batch = batch->next) {
            if (batch->answered == batch->count)
                continue;
            if (retry)
                retry_batch(file, writer->env, batch);
            else
                mcds__lmdb_answer_batch(file, batch,
                                        lmdb_transaction_outcome_of(code, uncertain),
                                        mcds__lmdb_reason(code));
        }
}
