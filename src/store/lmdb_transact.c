/* A group of batches in one transaction.
 *
 * A group that finds no space is carried out once more batch by batch, and what fails even then
 * request by request, so that what needs no space is not refused along with what does. */
#include <errno.h>
#include <lmdb.h>
#include <string.h>

#include "base/environment.h"
#include "base/reason.h"
#include "store/lmdb_board.h"

#define SWEEP_MIN 16
#define SWEEP_FULL 1024 /* when there is no space */
#define GROWTHS_MAX 64
#define REQUESTS_A_LOOK 64
#define SORTED_MIN 64          /* batches; few are seldom on one page */
#define CHECKPOINT_NS NS_PER_S /* at most so much is lost with sync=async */

/* What one transaction carries out: a list of tickets, or one batch, or one request of it, or
 * nothing but what a transaction does beside requests. */
struct span {
    struct mcds__lmdb_ticket *tickets;
    const mcds_env *env; /* of the batch */
    mcds_batch *batch;
    mcds_request *request;
    bool must_commit; /* even if nothing has changed */
    bool may_not_grow;
    bool serves;      /* what other processes have posted is carried out along with it */
    int64_t until_ns; /* how long to wait for the turn to write, where there is a wait */
};

void mcds__lmdb_answer(const struct mcds__lmdb_file *file, mcds_request *request,
                       mcds_outcome outcome, const mcds_reason *detail)
{
    memset(&request->reply, 0, sizeof request->reply);
    request->reply.outcome = outcome;
    request->reply.detail = detail;
    request->reply.peer = file->path;
}

void mcds__lmdb_answer_batch(const struct mcds__lmdb_file *file, mcds_batch *batch,
                             mcds_outcome outcome, const mcds_reason *detail)
{
    for (uint32_t i = 0; i < batch->count; i++)
        mcds__lmdb_answer(file, &batch->requests[i], outcome, detail);
    batch->answered = batch->count;
}

void mcds__lmdb_answer_late(const struct mcds__lmdb_file *file, mcds_batch *batch)
{
    mcds__lmdb_answer_batch(file, batch, MCDS_OUT_UNSENT, MCDS__WHY(WRITERS_TIMEOUT));
}

static bool is_late(const mcds_env *env, const mcds_batch *batch)
{
    return mcds__monotonic_ns(env) >= batch->deadline_ns;
}

/* Requests of one transaction happen at one moment, so they share a look at the clocks; of a
 * long one, so many do, and at least a batch. */
static void look_at_clocks(struct mcds__lmdb_work *work, const mcds_env *env)
{
    if (work->clocks == env && work->requests - work->looked < REQUESTS_A_LOOK)
        return;
    work->now_ns = mcds__monotonic_ns(env);
    work->now_ms = mcds__lmdb_ms_at(work->file, env, work->now_ns);
    work->clocks = env;
    work->looked = work->requests;
}

/* Codes that a smaller transaction, or one that frees space, may not meet. */
static bool is_space(int code)
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

/* The batch counts as answered from its beginning; whoever gives the transaction up undoes that. */
static int execute_batch(struct mcds__lmdb_work *work, const mcds_env *env, mcds_batch *batch)
{
    look_at_clocks(work, env);
    if (work->now_ns >= batch->deadline_ns) {
        mcds__lmdb_answer_late(work->file, batch);
        return 0;
    }
    batch->answered = batch->count;
    batch->serial = batch->values != NULL ? batch->values->length : 0;
    int code = 0;
    for (uint32_t i = 0; i < batch->count && code == 0; i++)
        code = execute_request(work, &batch->requests[i], batch->values);
    return code;
}

/* In the order of their keys, batches lie anywhere in memory, so what comes soon is asked for early:
 * a batch before its request, that before its key. */
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
        __builtin_prefetch(rows[i + 1 < last ? i + 1 : last].batch->requests->key.at);
        code = execute_batch(work, env, rows[i].batch);
    }
    return code;
}

/* A long list in the order of its keys, if there is memory to sort it. */
static int execute_ticket(struct mcds__lmdb_work *work, const struct mcds__lmdb_ticket *ticket)
{
    int code = 0;
    size_t count = 0;
    struct mcds__lmdb_row *rows = NULL;
    mcds_batch *batch = ticket->at;
    if (ticket->taken.batches >= SORTED_MIN)
        rows = mcds__lmdb_sort(ticket->env, batch, ticket->until, (size_t)ticket->taken.batches,
                               &count);
    if (rows != NULL)
        code = execute_sorted(work, ticket->env, rows, count);
    for (; rows == NULL && batch != ticket->until && code == 0;
         batch = mcds__lmdb_skip_answered(batch->next))
        code = execute_batch(work, ticket->env, batch);
    mcds__free(ticket->env, rows);
    return code;
}

static int execute_span(struct mcds__lmdb_work *work, const struct span *span)
{
    int code = 0;
    work->changed = span->must_commit;
    if (span->request != NULL) {
        look_at_clocks(work, span->env);
        return execute_request(work, span->request, span->batch->values);
    }
    if (span->batch != NULL)
        return execute_batch(work, span->env, span->batch);
    for (struct mcds__lmdb_ticket *ticket = span->tickets; ticket != NULL && code == 0;
         ticket = ticket->next)
        code = execute_ticket(work, ticket);
    return code;
}

static int serve_letter(struct mcds__lmdb_work *work, const mcds_env *env,
                        const struct mcds__letter *letter)
{
    size_t at = 0;
    int code = 0;
    look_at_clocks(work, env);
    for (uint32_t i = 0; i < letter->count && i < MCDS__LETTER_REQUESTS && code == 0; i++) {
        mcds_request request = {0};
        if (mcds__letter_next(letter, &at, &request))
            code = execute_request(work, &request, NULL);
        else
            mcds__lmdb_answer(work->file, &request, MCDS_OUT_FAILED, MCDS__WHY(BAD_LETTER));
        mcds__lmdb_board_answer(work->file, i, &request.reply);
    }
    return code;
}

/* Carry out what other processes have posted. Their clock must be this one's. */
static int serve(struct mcds__lmdb_work *work, const mcds_env *env)
{
    struct mcds__letter letter;
    int code = 0;
    if (work->file->board == NULL || env != mcds_env_system())
        return 0;
    while (code == 0 && mcds__lmdb_board_take(work->file, &letter))
        code = serve_letter(work, env, &letter);
    return code == 0 ? mcds__lmdb_board_seal(work, env) : code;
}

/* Whether the transaction has begun with the batch: it was not late, nor answered elsewhere. */
static bool was_executed(const mcds_batch *batch)
{
    return batch->answered == batch->count &&
           batch->requests[0].reply.outcome != MCDS_OUT_UNSENT && !mcds__lmdb_only_reads(batch);
}

/* Give up what a failed attempt has answered and the values that it has appended. Batches may
 * share one buffer. */
static void undo_batch(mcds_batch *batch)
{
    if (!was_executed(batch))
        return;
    batch->answered = 0;
    if (batch->values != NULL && batch->values->length > batch->serial)
        batch->values->length = (size_t)batch->serial;
}

static void undo_tickets(struct mcds__lmdb_ticket *tickets)
{
    for (struct mcds__lmdb_ticket *ticket = tickets; ticket != NULL; ticket = ticket->next)
        for (mcds_batch *batch = ticket->at; batch != ticket->until; batch = batch->next)
            undo_batch(batch);
}

/* Everything after the requests, up to and with the commit. */
static int finish(struct mcds__lmdb_work *work, const mcds_env *env, bool *uncertain)
{
    struct mcds__lmdb_file *file = work->file;
    bool reserved = false;
    uint32_t sweep_max = work->requests > 0 ? SWEEP_MIN + work->requests : SWEEP_FULL;
    int code = 0;
    look_at_clocks(work, env);
    if (work->changed || work->requests == 0)
        code = mcds__lmdb_sweep(work, sweep_max);
    if (code == 0 && work->changed)
        code = mcds__lmdb_cas_store(work, !file->synced, &reserved);
    if (code == 0 && !work->changed)
        mcds__lmdb_board_end(file, MCDS__LMDB_DONE);
    if (code != 0 || !work->changed) {
        mcds__lmdb_write_abort(file, work->txn);
        return code;
    }
    code = mcds__lmdb_write_commit(file, work->txn, reserved, uncertain);
    if (code != 0)
        return code;
    file->cas_joined = true;
    file->clock.fixed = true;
    int64_t now_ns = mcds__monotonic_ns(env);
    if (file->synced || (!reserved && now_ns - file->checkpoint_ns < CHECKPOINT_NS))
        return 0;
    file->checkpoint_ns = now_ns;
    if (!reserved)
        (void)mdb_env_sync(file->env, 1);
    return 0;
}

/* Carry out a span in one transaction: `txn` if there is one already. */
static int attempt(struct mcds__lmdb_file *file, const mcds_env *env, const struct span *span,
                   MDB_txn *txn, bool *uncertain)
{
    uint8_t storage[512];
    struct mcds__lmdb_work work = {
        .file = file, .txn = txn, .may_not_grow = span->may_not_grow};
    *uncertain = false;
    int code = txn == NULL ? mcds__lmdb_write_begin(file, env, span->until_ns, &work.txn) : 0;
    if (code != 0)
        return code;
    mcds__buffer_init_in(&work.scratch, env, MCDS__LMDB_VALUE_MAX, storage, sizeof storage);
    code = mcds__lmdb_cas_load(&work);
    if (code == 0 && !file->clock.fixed)
        code = mcds__lmdb_clock_agree(&work);
    if (code == 0)
        code = mdb_cursor_open(work.txn, file->items, &work.cursor);
    if (code == 0)
        code = execute_span(&work, span);
    if (code == 0 && span->serves)
        code = serve(&work, env);
    if (work.cursor != NULL)
        mdb_cursor_close(work.cursor);
    if (code == 0)
        code = finish(&work, env, uncertain);
    else
        mcds__lmdb_write_abort(file, work.txn);
    mcds__buffer_free(&work.scratch);
    if (code == 0 && work.changed) {
        (void)pthread_mutex_lock(&file->queue_mutex);
        file->commits++;
        (void)pthread_mutex_unlock(&file->queue_mutex);
    }
    return code;
}

/* The answer to what a transaction could not do. */
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

/* Let what frees space use what is kept back for it, in the map or on the disk, by the code of its
 * failure. False: nothing is. */
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

/* Requests that free space, or take none in the end: a tombstone over a value, a renewed lease. */
static bool may_borrow(const mcds_request *request)
{
    return request->command == MCDS_DELETE || request->command == MCDS_CAS ||
           (request->options & MCDS_MAKES_ROOM) != 0;
}

/* The same request once more, with what is kept back. */
static int borrow(struct mcds__lmdb_file *file, const struct span *span, int kept,
                  bool *uncertain)
{
    struct span again = *span;
    again.may_not_grow = (span->request->options & MCDS_MAKES_ROOM) == 0;
    int code = attempt(file, span->env, &again, NULL, uncertain);
    take_back(file, span->env, kept);
    return code == 0 || *uncertain ? code : kept;
}

/* Carry out one request where there is no space. What takes none may use what is kept back. */
static void squeeze_request(struct mcds__lmdb_file *file, const struct span *span)
{
    mcds_request *request = span->request;
    const mcds_env *env = span->env;
    mcds_buffer *values = span->batch->values;
    size_t before = values != NULL ? values->length : 0;
    bool uncertain;
    if (is_late(env, span->batch)) {
        mcds__lmdb_answer(file, request, MCDS_OUT_UNSENT, MCDS__WHY(SPACE_TIMEOUT));
        return;
    }
    int code = attempt(file, env, span, NULL, &uncertain);
    if (may_borrow(request) && lend(file, env, code))
        code = borrow(file, span, code, &uncertain);
    if (code == 0)
        return;
    if (values != NULL)
        values->length = before;
    mcds__lmdb_answer(file, request, outcome_of(code, uncertain), mcds__lmdb_reason(code));
}

static void squeeze_batch(struct mcds__lmdb_file *file, const mcds_env *env, mcds_batch *batch)
{
    struct span span = {.env = env, .batch = batch, .until_ns = batch->deadline_ns};
    bool uncertain;
    int code = attempt(file, env, &span, NULL, &uncertain);
    if (code == 0)
        return;
    undo_batch(batch);
    if (!is_space(code) || uncertain) {
        mcds__lmdb_answer_batch(file, batch, outcome_of(code, uncertain),
                                mcds__lmdb_reason(code));
        return;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        span.request = &batch->requests[i];
        squeeze_request(file, &span);
    }
    batch->answered = batch->count;
}

/* Make what space there is: remove what has expired, and commit once more, because LMDB uses a
 * page again only in the second transaction after the one that has freed it. */
static void make_space(struct mcds__lmdb_file *file, const mcds_env *env, int kept,
                       int64_t until_ns)
{
    struct span nothing = {.env = env, .until_ns = until_ns};
    bool uncertain;
    if (!lend(file, env, kept))
        return;
    (void)attempt(file, env, &nothing, NULL, &uncertain);
    nothing.must_commit = true;
    if (file->commits != file->turned && attempt(file, env, &nothing, NULL, &uncertain) == 0)
        file->turned = file->commits;
    take_back(file, env, kept);
}

/* Try the whole group, with as much map as it takes. Others, whom it may be that fails, have their
 * own turn then. */
static int attempt_growing(struct mcds__lmdb_file *file, const mcds_env *env, struct span *span,
                           MDB_txn *txn, bool *uncertain)
{
    int code = 0;
    span->serves = true;
    for (int i = 0; i < GROWTHS_MAX; i++) {
        code = attempt(file, env, span, txn, uncertain);
        if (code == 0)
            return 0;
        span->serves = false;
        undo_tickets(span->tickets);
        if (code != MDB_MAP_FULL)
            return code;
        code = mcds__lmdb_map_grow(file, env);
        if (code != 0)
            return code;
        txn = NULL;
    }
    return code != 0 ? code : MDB_MAP_FULL;
}

/* By the clock of the environment that leads; each ticket has its own. */
static int64_t last_deadline(const mcds_env *env, const struct mcds__lmdb_ticket *tickets)
{
    int64_t left_max_ns = 0;
    for (; tickets != NULL; tickets = tickets->next) {
        int64_t left_ns = tickets->deadline_ns - mcds__monotonic_ns(tickets->env);
        if (left_ns > left_max_ns)
            left_max_ns = left_ns;
    }
    return mcds__monotonic_ns(env) + left_max_ns;
}

void mcds__lmdb_transact(struct mcds__lmdb_file *file, const mcds_env *env,
                         struct mcds__lmdb_ticket *tickets, MDB_txn *txn)
{
    bool uncertain = false;
    struct span span = {.tickets = tickets, .until_ns = last_deadline(env, tickets)};
    int code = attempt_growing(file, env, &span, txn, &uncertain);
    if (code == 0)
        return;
    bool squeeze = is_space(code) && !uncertain;
    if (squeeze)
        make_space(file, env, code, span.until_ns);
    for (struct mcds__lmdb_ticket *ticket = tickets; ticket != NULL; ticket = ticket->next)
        for (mcds_batch *batch = ticket->at; batch != ticket->until; batch = batch->next) {
            if (batch->answered == batch->count)
                continue;
            if (squeeze)
                squeeze_batch(file, ticket->env, batch);
            else
                mcds__lmdb_answer_batch(file, batch, outcome_of(code, uncertain),
                                        mcds__lmdb_reason(code));
        }
}
