/* Executes a group of batches: in one transaction, or in several if space is short.
 *
 *     group     one transaction for all writers and the posted messages
 *                 no space in the map: grow it and try again
 *                 still no space: remove expired items, then
 *     run       a transaction for each run of batches: half as many after one that did not fit,
 *               twice as many after one that did
 *                 no space for a run of one batch, then
 *     request   a transaction for each request
 *                 no space: lend the reserve to requests that free space
 *
 * So a request that needs no space is not refused together with one that does. */
#include <assert.h>
#include <errno.h>
#include <lmdb.h>

#include "base/environment.h"
#include "base/reason.h"
#include "store/lmdb/commit/transaction.h"

#define GROWTHS_MAX 64
/* Of a compare-and-set that the reserve is lent to: a mark or a lease, which fits into a page with
 * others, and the largest value. */
#define SMALL_VALUE 1024
#define LENT_VALUE_MAX 32768
/* Of the half of the reserve in the map that is not kept for drops: what such values leave. */
#define KEPT_FOR_REMOVALS (256 << 10)
/* How much of the reserve on the disk must be there for it, and for removing what has expired. */
#define LENT_FROM_QUARTERS 3
#define SWEEPS_FROM_QUARTERS 2

static bool is_late(const mcds_env *env, const mcds_batch *batch)
{
    return mcds__monotonic_ns(env) >= batch->deadline_ns;
}

/* Codes that a smaller transaction, or one that frees space, may not return. */
static bool is_space(int code)
{
    return code == MDB_MAP_FULL || code == MDB_TXN_FULL || code == ENOSPC || code == EDQUOT ||
           code == EFBIG || code == ENOMEM;
}

/* The outcome of a request whose transaction failed. */
static mcds_outcome outcome_of(int code, bool uncertain)
{
    if (uncertain)
        return MCDS_OUT_UNKNOWN;
    if (code == ETIMEDOUT)
        return MCDS_OUT_UNSENT;
    if (code == ENOMEM)
        return MCDS_OUT_NO_BUFFER;
    return is_space(code) ? MCDS_OUT_NO_MEMORY : MCDS_OUT_FAILED;
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

static void take_back(struct mcds__lmdb_file *file, const mcds_env *env, int code)
{
    if (is_disk(code))
        mcds__lmdb_ballast(file, true);
    else
        (void)mcds__lmdb_map_reserve(file, env, false);
}

/* Requests that free space, or need none in the end: a tombstone over a value, a renewed
 * lease. A larger value that is replaced by its like takes pages from the reserve,
 * and other requests take those that it frees: most is left to requests that free space. */
static bool may_borrow(struct mcds__lmdb_file *file, const mcds_request *request, int code)
{
    size_t length = request->value.length;
    if (request->command == MCDS_CAS && length > SMALL_VALUE)
        return is_disk(code) ? length <= LENT_VALUE_MAX &&
                                   mcds__lmdb_has_ballast(file, LENT_FROM_QUARTERS)
                             : mcds__lmdb_map_has_reserve(file, length + KEPT_FOR_REMOVALS);
    if ((request->options & MCDS_MAY_MAKE_ROOM) != 0)
        return is_disk(code) ? mcds__lmdb_has_ballast(file, LENT_FROM_QUARTERS)
                             : mcds__lmdb_map_has_reserve(file, 0);
    return request->command == MCDS_DELETE || request->command == MCDS_CAS ||
           (request->options & MCDS_MAKES_ROOM) != 0;
}

/* Execute the request again with the reserve. */
static int borrow(struct mcds__lmdb_file *file, const struct mcds__lmdb_scope *scope, int kept,
                  bool *uncertain)
{
    assert(scope->request != NULL);
    struct mcds__lmdb_scope again = *scope;
    again.may_not_grow = (scope->request->options & MCDS_MAKES_ROOM) == 0;
    int code = mcds__lmdb_attempt(file, scope->env, &again, NULL, uncertain);
    take_back(file, scope->env, kept);
    return code == 0 || *uncertain ? code : kept;
}

/* Execute one request where space is short. If it frees space, it may use the reserve. */
static void retry_request(struct mcds__lmdb_file *file, const struct mcds__lmdb_scope *scope)
{
    mcds_request *request = scope->request;
    const mcds_env *env = scope->env;
    mcds_buffer *values = scope->batch->values;
    size_t before = values != NULL ? values->length : 0;
    bool uncertain;
    if (is_late(env, scope->batch)) {
        mcds__lmdb_answer(file, request, MCDS_OUT_UNSENT, MCDS__WHY(SPACE_TIMEOUT));
        return;
    }
    int code = mcds__lmdb_attempt(file, env, scope, NULL, &uncertain);
    if (may_borrow(file, request, code) && lend(file, env, code))
        code = borrow(file, scope, code, &uncertain);
    if (code == 0)
        return;
    if (values != NULL)
        values->length = before;
    mcds__lmdb_answer(file, request, outcome_of(code, uncertain), mcds__lmdb_reason(code));
}

/* Commit nothing, because LMDB reuses a page only in the second transaction after the one that
 * freed it. */
static void recycle(struct mcds__lmdb_file *file, const mcds_env *env, int64_t until_ns)
{
    struct mcds__lmdb_scope nothing = {.env = env, .until_ns = until_ns, .must_commit = true};
    bool uncertain;
    if (file->commits != file->recycled &&
        mcds__lmdb_attempt(file, env, &nothing, NULL, &uncertain) == 0)
        file->recycled = file->commits;
}

/* Free as much space as possible: remove expired items, and make all freed pages reusable. */
static void make_space(struct mcds__lmdb_file *file, const mcds_env *env, int kept,
                       int64_t until_ns)
{
    struct mcds__lmdb_scope nothing = {.env = env, .until_ns = until_ns};
    bool uncertain;
    if ((is_disk(kept) && !mcds__lmdb_has_ballast(file, SWEEPS_FROM_QUARTERS)) ||
        !lend(file, env, kept))
        return;
    (void)mcds__lmdb_attempt(file, env, &nothing, NULL, &uncertain);
    recycle(file, env, until_ns);
    take_back(file, env, kept);
}

/* After a run of several batches, the pages that it has freed may be what the batch lacks. On a
 * full disk they stay for requests that free space. Returns whether the batch was executed as a
 * whole. */
static bool retry_batch(struct mcds__lmdb_file *file, const mcds_env *env, mcds_batch *batch,
                        bool is_after_run)
{
    assert(batch->answered == 0);
    struct mcds__lmdb_scope scope = {
        .env = env, .batch = batch, .until_ns = batch->deadline_ns};
    bool uncertain;
    int code = mcds__lmdb_attempt(file, env, &scope, NULL, &uncertain);
    if (is_space(code) && !uncertain && is_after_run && !is_disk(code)) {
        mcds__lmdb_undo_batch(batch);
        recycle(file, env, scope.until_ns);
        code = mcds__lmdb_attempt(file, env, &scope, NULL, &uncertain);
    }
    if (code == 0)
        return true;
    mcds__lmdb_undo_batch(batch);
    if (!is_space(code) || uncertain) {
        mcds__lmdb_answer_batch(file, batch, outcome_of(code, uncertain),
                                mcds__lmdb_reason(code));
        return false;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        scope.request = &batch->requests[i];
        retry_request(file, &scope);
    }
    batch->answered = batch->count;
    return false;
}

static void answer_run(const struct mcds__lmdb_file *file, struct mcds__lmdb_place at,
                       uint64_t length, mcds_outcome outcome, const mcds_reason *detail)
{
    for (uint64_t i = 0; i < length && at.writer != NULL; i++) {
        mcds__lmdb_answer_batch(file, at.batch, outcome, detail);
        at = mcds__lmdb_skip_to_unanswered(at);
    }
}

/* Execute a run. Returns the length of the next one. *is_after_run: the last commit was that of a
 * run of several batches. */
static uint64_t retry_run(struct mcds__lmdb_file *file, const struct mcds__lmdb_scope *scope,
                          bool *is_after_run)
{
    bool uncertain;
    uint64_t length = scope->run_length;
    if (length == 1) {
        bool is_whole = retry_batch(file, scope->env, scope->from.batch, *is_after_run);
        *is_after_run = false;
        return is_whole ? 2 : 1;
    }
    int code = mcds__lmdb_attempt(file, scope->env, scope, NULL, &uncertain);
    *is_after_run = *is_after_run || code == 0;
    if (code == 0)
        return length * 2;
    mcds__lmdb_undo_from(scope->from);
    if (is_space(code) && !uncertain)
        return length / 2;
    answer_run(file, scope->from, length, outcome_of(code, uncertain), mcds__lmdb_reason(code));
    return length;
}

/* Execute the group in runs. A transaction needs a page for each page that it changes, and those
 * that it frees serve the next but one: shorter runs use the last of the space. A run that
 * does not fit costs no sync. */
static void retry_group(struct mcds__lmdb_file *file, struct mcds__lmdb_writer *writers,
                        int64_t until_ns)
{
    uint64_t batches = 0;
    bool is_after_run = false;
    for (const struct mcds__lmdb_writer *writer = writers; writer != NULL;
         writer = writer->next)
        batches += writer->taken.batches;
    struct mcds__lmdb_scope scope = {.until_ns = until_ns,
                                     .run_length = batches > 1 ? batches / 2 : 1};
    scope.from = mcds__lmdb_skip_to_unanswered(
        (struct mcds__lmdb_place){writers, writers->first});
    while (scope.from.writer != NULL) {
        scope.env = scope.from.writer->env;
        assert(scope.run_length > 0);
        uint64_t next = retry_run(file, &scope, &is_after_run);
        scope.run_length = next < batches ? next : batches;
        scope.from = mcds__lmdb_skip_to_unanswered(scope.from);
    }
}

/* Attempt the whole group, and grow the map as needed. Only the first attempt executes messages
 * of other processes: one of them may be what fails, and each process can execute its own. */
static int attempt_growing(struct mcds__lmdb_file *file, const mcds_env *env,
                           struct mcds__lmdb_scope *scope, MDB_txn *txn, bool *uncertain)
{
    assert(scope->batch == NULL && scope->request == NULL);
    int code = 0;
    scope->takes_messages = true;
    for (int i = 0; i < GROWTHS_MAX; i++) {
        code = mcds__lmdb_attempt(file, env, scope, txn, uncertain);
        if (code == 0)
            return 0;
        scope->takes_messages = false;
        mcds__lmdb_undo_from((struct mcds__lmdb_place){scope->writers, scope->writers->first});
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
    struct mcds__lmdb_scope scope = {.writers = writers,
                                     .until_ns = last_deadline(env, writers)};
    int code = attempt_growing(file, env, &scope, txn, &uncertain);
    if (code == 0)
        return;
    if (is_space(code) && !uncertain) {
        make_space(file, env, code, scope.until_ns);
        retry_group(file, writers, scope.until_ns);
        return;
    }
    struct mcds__lmdb_place from = mcds__lmdb_skip_to_unanswered(
        (struct mcds__lmdb_place){writers, writers->first});
    answer_run(file, from, UINT64_MAX, outcome_of(code, uncertain), mcds__lmdb_reason(code));
}
