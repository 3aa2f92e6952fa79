/* Group commit: the writers of one process queue up, and one of them commits for all.
 *
 *     WAITING    in the queue; leaves at its deadline, and nothing was sent
 *     TAKEN      in the current group; waits for the outcome without a deadline
 *     LEADING    first in the queue: takes a group, commits it, passes the lead on
 *     DONE       answered
 *
 * The leader takes all that waits into one transaction, commits once, and passes the lead to
 * the next in the queue. Writers that arrive meanwhile make up the next group, so the longer a
 * sync takes, the more threads share one.
 *
 * The leader takes the group only when it owns the write lock. Until then each writer, the
 * leader too, may still leave at its deadline, certain that nothing was sent.
 *
 * If another process owns the write lock, the leader publishes the group for that process to
 * commit (delegate.h) instead of waiting for the lock. */
#include <assert.h>
#include <errno.h>
#include <lmdb.h>
#include <string.h>

#include "base/environment.h"
#include "base/reason.h"
#include "store/lmdb/commit/delegate.h"

#define GROUP_REQUESTS_MAX 8192
#define GROUP_BYTES_MAX (UINT64_C(32) << 20)
#define READER_CHECK_COMMITS 4096
/* This process waits for its own commit without limit. A commit delegated to another process,
 * which may have been stopped, is awaited for this many times the time that remained until the
 * deadline; then its outcome is unknown. */
#define PATIENCE_TIMES 4

static bool is_full(const struct mcds__lmdb_totals *group)
{
    return group->requests >= GROUP_REQUESTS_MAX || group->bytes >= GROUP_BYTES_MAX;
}

static bool lmdb_group_commit_fits(const struct mcds__lmdb_totals *group,
                                   const struct mcds__lmdb_totals *more)
{
    return group->requests + more->requests <= GROUP_REQUESTS_MAX &&
           group->bytes + more->bytes <= GROUP_BYTES_MAX;
}

/* Take the writer's batches into the group: mostly all of them, without a visit to each.
 * Returns false when the group is full. */
static bool take_writer(struct mcds__lmdb_writer *writer, struct mcds__lmdb_totals *group)
{
    assert(writer->first != NULL && writer->stage != DONE);
    writer->stage = writer->stage == WAITING ? TAKEN : writer->stage;
    if (lmdb_group_commit_fits(group, &writer->totals)) {
        writer->until = NULL;
        writer->taken = writer->totals;
        mcds__lmdb_totals_add(group, &writer->totals);
        return true;
    }
    assert(!is_full(group) || group->batches > 0);
    writer->until = writer->first;
    writer->taken = (struct mcds__lmdb_totals){0, 0, 0};
    while (writer->until != NULL) {
        if (is_full(group))
            return false;
        mcds__lmdb_totals_count(group, writer->until);
        mcds__lmdb_totals_count(&writer->taken, writer->until);
        writer->until = mcds__lmdb_skip_answered(writer->until->next);
    }
    return true;
}

/* Remove the writers up to `last` from the queue. */
static void cut_behind(struct mcds__lmdb_file *file, struct mcds__lmdb_writer *last)
{
    assert(file->first != NULL && last != NULL);
    file->first = last->next;
    if (last->next == NULL)
        file->end = &file->first;
    last->next = NULL;
}

/* Put the writers from `first` to `last` at the front of the queue. */
static void put_in_front(struct mcds__lmdb_file *file, struct mcds__lmdb_writer *first,
                         struct mcds__lmdb_writer *last)
{
    assert(first != NULL && last->next == NULL);
    last->next = file->first;
    if (file->first == NULL)
        file->end = &last->next;
    file->first = first;
}

/* Take the next group off the queue. The mutex is held. */
static struct mcds__lmdb_writer *take_group(struct mcds__lmdb_file *file)
{
    assert(file->first != NULL && file->leading);
    struct mcds__lmdb_totals group = {0, 0, 0};
    struct mcds__lmdb_writer *first = file->first;
    struct mcds__lmdb_writer *last = first;
    while (take_writer(last, &group) && last->next != NULL && !is_full(&group))
        last = last->next;
    assert(group.requests > 0);
    cut_behind(file, last);
    return first;
}

/* Put the requests that take_message took back at the front of the queue. The mutex is held. */
static void put_back(struct mcds__lmdb_file *file, struct mcds__lmdb_writer *writers)
{
    struct mcds__lmdb_writer *last = writers;
    for (;; last = last->next) {
        assert(last->stage != DONE && last->first != NULL);
        if (last->stage == TAKEN) { /* it waits without a deadline */
            last->stage = WAITING;
            (void)pthread_cond_signal(&last->wake);
        }
        if (last->next == NULL)
            break;
    }
    put_in_front(file, writers, last);
}

/* Take the requests off the queue that fit into one message. NULL: nothing fits. The mutex is held. */
static struct mcds__lmdb_writer *take_message(struct mcds__lmdb_file *file,
                                              struct mcds__lmdb_message *message)
{
    struct mcds__lmdb_writer *first = file->first;
    assert(first != NULL && file->leading);
    message->length = message->count = 0;
    message->synced = file->full_handles > 0;
    struct mcds__lmdb_writer *last = mcds__lmdb_delegate_fill(message, first);
    if (last == NULL)
        return NULL;
    assert(message->count > 0 && message->length <= MCDS__LMDB_MESSAGE_BYTES);
    cut_behind(file, last);
    for (struct mcds__lmdb_writer *writer = first; writer != NULL; writer = writer->next)
        writer->stage = writer->stage == WAITING ? TAKEN : writer->stage;
    return first;
}

/* Wake the writers of the group that are done. The rest of the last one returns to the front
 * of the queue. The mutex is held. */
static void complete_group(struct mcds__lmdb_file *file, struct mcds__lmdb_writer *writers)
{
    for (struct mcds__lmdb_writer *writer = writers, *next; writer != NULL; writer = next) {
        next = writer->next;
        writer->first = writer->until;
        file->batches += writer->taken.batches;
        assert(writer->taken.requests <= writer->totals.requests);
        mcds__lmdb_totals_take(&writer->totals, &writer->taken);
        if (writer->first == NULL) {
            assert(writer->totals.batches == 0 && writer->totals.requests == 0);
            if (writer->stage == TAKEN) {
                writer->stage = DONE;
                (void)pthread_cond_signal(&writer->wake);
            }
            continue;
        }
        writer->stage = writer->stage == TAKEN ? WAITING : writer->stage;
        put_in_front(file, writer, writer);
    }
}

static void unqueue(struct mcds__lmdb_file *file, const struct mcds__lmdb_writer *writer)
{
    struct mcds__lmdb_writer **link = &file->first;
    while (*link != writer) {
        assert(*link != NULL);
        link = &(*link)->next;
    }
    *link = writer->next;
    if (writer->next == NULL)
        file->end = link;
}

static void pass_lead(struct mcds__lmdb_file *file)
{
    file->leading = file->first != NULL;
    assert(file->first == NULL || file->first->stage == WAITING);
    if (file->first == NULL)
        return;
    file->first->stage = LEADING;
    (void)pthread_cond_signal(&file->first->wake);
}

static void answer_writer(struct mcds__lmdb_file *file, struct mcds__lmdb_writer *writer,
                          mcds_outcome outcome, const mcds_reason *detail)
{
    for (mcds_batch *batch = writer->first; batch != NULL;
         batch = mcds__lmdb_skip_answered(batch->next))
        mcds__lmdb_answer_batch(file, batch, outcome, detail);
    writer->first = NULL;
}

/* Deadlines are on the system's monotonic clock, which all processes share. */
static void find_deadlines(const struct mcds__lmdb_writer *writers, int64_t *first_ns,
                           int64_t *last_ns)
{
    *first_ns = *last_ns = writers->deadline_ns;
    assert(writers->first != writers->until);
    for (; writers != NULL; writers = writers->next)
        for (const mcds_batch *batch = writers->first; batch != writers->until;
             batch = mcds__lmdb_skip_answered(batch->next)) {
            if (batch->deadline_ns < *first_ns)
                *first_ns = batch->deadline_ns;
            if (batch->deadline_ns > *last_ns)
                *last_ns = batch->deadline_ns;
        }
}

static bool share_clock(const struct mcds__lmdb_file *file)
{
    for (const struct mcds__lmdb_writer *writers = file->first; writers != NULL;
         writers = writers->next)
        if (writers->env != file->clock.shared)
            return false;
    return true;
}

/* Delegate the commit of the waiting requests to the process that owns the write lock. False: nothing was
 * done, and this process may own the lock itself. The mutex is held on entry and on return. */
static bool delegate_commit(struct mcds__lmdb_file *file, const struct mcds__lmdb_writer *mine)
{
    int64_t until_ns;
    int64_t late_ns;
    if (file->publications == NULL)
        return false;
    (void)pthread_mutex_unlock(&file->queue_mutex);
    int code = mcds__lmdb_settle(file, mcds__lmdb_write_lock_try(file));
    (void)pthread_mutex_lock(&file->queue_mutex);
    if (code != EBUSY || !share_clock(file)) /* a damaged lock has no owner to delegate to */
        return false;
    struct mcds__lmdb_writer *group = take_message(file, &file->posted);
    if (group == NULL)
        return false;
    find_deadlines(group, &until_ns, &late_ns);
    late_ns += PATIENCE_TIMES * (late_ns - mcds__monotonic_ns(mine->env));
    (void)pthread_mutex_unlock(&file->queue_mutex);
    enum mcds__lmdb_outcome outcome = mcds__lmdb_delegate(file, mine->env, &file->posted, group,
                                                          until_ns, late_ns);
    (void)pthread_mutex_lock(&file->queue_mutex);
    if (outcome != MCDS__LMDB_SERVED) {
        put_back(file, group);
        return false;
    }
    complete_group(file, group);
    return true;
}

/* Commit groups until `mine` is answered. The mutex is held on entry and on return. */
static void lmdb_group_commit_lead(struct mcds__lmdb_file *file, struct mcds__lmdb_writer *mine)
{
    assert(file->leading && mine->stage == LEADING);
    while (mine->first != NULL) {
        if (delegate_commit(file, mine))
            continue;
        bool full = file->full_handles > 0;
        bool check = file->commits % READER_CHECK_COMMITS == READER_CHECK_COMMITS - 1;
        (void)pthread_mutex_unlock(&file->queue_mutex);
        if (check)
            (void)mdb_reader_check(file->env, NULL);
        if (full != file->synced)
            (void)mdb_env_set_flags(file->env, MDB_NOSYNC, !full);
        file->synced = full;
        MDB_txn *txn;
        int code = mcds__lmdb_write_begin(file, mine->env, mine->deadline_ns, &txn);
        (void)pthread_mutex_lock(&file->queue_mutex);
        if (code != 0) {
            unqueue(file, mine);
            answer_writer(file, mine, code == ETIMEDOUT ? MCDS_OUT_UNSENT : MCDS_OUT_FAILED,
                          mcds__lmdb_reason(code));
            break;
        }
        struct mcds__lmdb_writer *group = take_group(file);
        (void)pthread_mutex_unlock(&file->queue_mutex);
        mcds__lmdb_transact(file, mine->env, group, txn);
        (void)pthread_mutex_lock(&file->queue_mutex);
        complete_group(file, group);
    }
    assert(mine->first == NULL);
    pass_lead(file);
}

/* Wait to be answered or to become the leader. The mutex is held. */
static void follow(struct mcds__lmdb_file *file, struct mcds__lmdb_writer *mine)
{
    assert(file->waiting > 0);
    while (mine->stage == WAITING || mine->stage == TAKEN) {
        bool in_time = true;
        if (mine->stage == TAKEN)
            (void)pthread_cond_wait(&mine->wake, &file->queue_mutex);
        else
            in_time = mcds__condition_wait(mine->env, &mine->wake, &file->queue_mutex,
                                           mine->deadline_ns);
        if (in_time || mine->stage != WAITING)
            continue;
        unqueue(file, mine);
        answer_writer(file, mine, MCDS_OUT_UNSENT, MCDS__WHY(UNWRITTEN_IN_TIME));
        mine->stage = DONE;
    }
}

/* Queue up. The first writer leads at once, so it never waits and needs no condition. */
void mcds__lmdb_commit(struct mcds__lmdb_file *file, struct mcds__lmdb_writer *mine)
{
    assert(mine->first != NULL && mine->next == NULL);
    (void)pthread_mutex_lock(&file->queue_mutex);
    bool follows = file->leading;
    if (follows && !mcds__condition_init(&mine->wake)) {
        (void)pthread_mutex_unlock(&file->queue_mutex);
        answer_writer(file, mine, MCDS_OUT_UNSENT, MCDS__WHY(NO_MEMORY));
        return;
    }
    *file->end = mine;
    file->end = &mine->next;
    file->waiting++;
    mine->stage = follows ? WAITING : LEADING;
    file->leading = true;
    if (follows)
        follow(file, mine);
    if (mine->stage == LEADING)
        lmdb_group_commit_lead(file, mine);
    assert(mine->stage == DONE || mine->stage == LEADING);
    file->waiting--;
    (void)pthread_mutex_unlock(&file->queue_mutex);
    if (follows)
        (void)pthread_cond_destroy(&mine->wake);
}
