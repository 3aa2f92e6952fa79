/* Group commit. Writers queue up; the first one leads: it takes what waits into one
 * transaction, commits once, and hands the lead to the next in the queue. Whoever arrives
 * meanwhile makes up the next group, so the number of threads that share one sync follows from
 * how long it takes.
 *
 * The group is taken when the leader's turn among the writers of all processes has come. Until
 * then a follower may still leave at its deadline, certain that nothing was sent, and so may
 * the leader. */
#include <errno.h>
#include <lmdb.h>
#include <string.h>

#include "base/environment.h"
#include "base/reason.h"
#include "store/lmdb_board.h"

#define GROUP_REQUESTS_MAX 8192
#define GROUP_BYTES_MAX (UINT64_C(32) << 20)
#define READER_CHECK_COMMITS 4096
/* A commit of one's own is waited for however long the disk takes. That of another process, which
 * may have been stopped, for so many times what there was until the deadline, and then in doubt. */
#define PATIENCE_TIMES 4

static bool is_full(const struct mcds__lmdb_load *group)
{
    return group->requests >= GROUP_REQUESTS_MAX || group->bytes >= GROUP_BYTES_MAX;
}

static bool fits(const struct mcds__lmdb_load *group, const struct mcds__lmdb_load *more)
{
    return group->requests + more->requests <= GROUP_REQUESTS_MAX &&
           group->bytes + more->bytes <= GROUP_BYTES_MAX;
}

/* Take what goes into the group, mostly all: then nobody looks at its batches. Returns false when
 * the group is full. */
static bool take_ticket(struct mcds__lmdb_ticket *ticket, struct mcds__lmdb_load *group)
{
    ticket->stage = ticket->stage == WAITING ? TAKEN : ticket->stage;
    if (fits(group, &ticket->load)) {
        ticket->until = NULL;
        ticket->taken = ticket->load;
        mcds__lmdb_load_add(group, &ticket->load);
        return true;
    }
    ticket->until = ticket->at;
    ticket->taken = (struct mcds__lmdb_load){0, 0, 0};
    while (ticket->until != NULL) {
        if (is_full(group))
            return false;
        struct mcds__lmdb_load part = mcds__lmdb_load_of(ticket->until);
        mcds__lmdb_load_add(group, &part);
        mcds__lmdb_load_add(&ticket->taken, &part);
        ticket->until = mcds__lmdb_skip_answered(ticket->until->next);
    }
    return true;
}

/* Take the tickets up to `last` off the queue. */
static void cut_behind(struct mcds__lmdb_file *file, struct mcds__lmdb_ticket *last)
{
    file->first = last->next;
    if (last->next == NULL)
        file->end = &file->first;
    last->next = NULL;
}

/* Put those from `first` to `last` in front of the queue. */
static void put_in_front(struct mcds__lmdb_file *file, struct mcds__lmdb_ticket *first,
                         struct mcds__lmdb_ticket *last)
{
    last->next = file->first;
    if (file->first == NULL)
        file->end = &last->next;
    file->first = first;
}

/* Take the next group off the queue. With the mutex held. */
static struct mcds__lmdb_ticket *take_group(struct mcds__lmdb_file *file)
{
    struct mcds__lmdb_load group = {0, 0, 0};
    struct mcds__lmdb_ticket *first = file->first;
    struct mcds__lmdb_ticket *last = first;
    while (take_ticket(last, &group) && last->next != NULL && !is_full(&group))
        last = last->next;
    cut_behind(file, last);
    return first;
}

/* Put back at the front what take_letter has taken. With the mutex held. */
static void put_back(struct mcds__lmdb_file *file, struct mcds__lmdb_ticket *tickets)
{
    struct mcds__lmdb_ticket *last = tickets;
    for (;; last = last->next) {
        last->stage = last->stage == TAKEN ? WAITING : last->stage;
        /* It may have been waiting without a deadline. */
        (void)pthread_cond_signal(&last->wake);
        if (last->next == NULL)
            break;
    }
    put_in_front(file, tickets, last);
}

/* Take off the queue what fits into one letter. NULL: nothing does. With the mutex held. */
static struct mcds__lmdb_ticket *take_letter(struct mcds__lmdb_file *file,
                                             struct mcds__letter *letter)
{
    struct mcds__lmdb_ticket *first = file->first;
    letter->length = letter->count = 0;
    letter->synced = file->full_handles > 0;
    struct mcds__lmdb_ticket *last = mcds__lmdb_board_write(letter, first);
    if (last == NULL)
        return NULL;
    cut_behind(file, last);
    for (struct mcds__lmdb_ticket *ticket = first; ticket != NULL; ticket = ticket->next)
        ticket->stage = ticket->stage == WAITING ? TAKEN : ticket->stage;
    return first;
}

/* Wake those of the group that are done; what is left of the last one stays first. With the
 * mutex held. */
static void dismiss_group(struct mcds__lmdb_file *file, struct mcds__lmdb_ticket *tickets)
{
    for (struct mcds__lmdb_ticket *ticket = tickets, *next; ticket != NULL; ticket = next) {
        next = ticket->next;
        ticket->at = ticket->until;
        file->batches += ticket->taken.batches;
        mcds__lmdb_load_take(&ticket->load, &ticket->taken);
        if (ticket->at == NULL) {
            ticket->stage = ticket->stage == TAKEN ? DONE : ticket->stage;
            (void)pthread_cond_signal(&ticket->wake);
            continue;
        }
        ticket->stage = ticket->stage == TAKEN ? WAITING : ticket->stage;
        put_in_front(file, ticket, ticket);
    }
}

static void unqueue(struct mcds__lmdb_file *file, const struct mcds__lmdb_ticket *ticket)
{
    struct mcds__lmdb_ticket **link = &file->first;
    while (*link != ticket)
        link = &(*link)->next;
    *link = ticket->next;
    if (ticket->next == NULL)
        file->end = link;
}

static void pass_lead(struct mcds__lmdb_file *file)
{
    file->leading = file->first != NULL;
    if (file->first == NULL)
        return;
    file->first->stage = LEADING;
    (void)pthread_cond_signal(&file->first->wake);
}

static void fail_ticket(struct mcds__lmdb_file *file, struct mcds__lmdb_ticket *ticket,
                        int code)
{
    for (mcds_batch *batch = ticket->at; batch != NULL;
         batch = mcds__lmdb_skip_answered(batch->next))
        mcds__lmdb_answer_batch(file, batch,
                                code == ETIMEDOUT ? MCDS_OUT_UNSENT : MCDS_OUT_FAILED,
                                mcds__lmdb_reason(code));
    ticket->at = NULL;
}

/* By the clock that all processes share. */
static void find_deadlines(const struct mcds__lmdb_ticket *tickets, int64_t *first_ns,
                           int64_t *last_ns)
{
    *first_ns = *last_ns = tickets->deadline_ns;
    for (; tickets != NULL; tickets = tickets->next)
        for (const mcds_batch *batch = tickets->at; batch != tickets->until;
             batch = mcds__lmdb_skip_answered(batch->next)) {
            if (batch->deadline_ns < *first_ns)
                *first_ns = batch->deadline_ns;
            if (batch->deadline_ns > *last_ns)
                *last_ns = batch->deadline_ns;
        }
}

static bool share_clock(const struct mcds__lmdb_ticket *tickets)
{
    for (; tickets != NULL; tickets = tickets->next)
        if (tickets->env != mcds_env_system())
            return false;
    return true;
}

/* Have another process write what waits, where one is at work. False: nothing was done, and this
 * process may have the turn. Called and left with the mutex held. */
static bool have_it_written(struct mcds__lmdb_file *file, const struct mcds__lmdb_ticket *mine)
{
    struct mcds__letter letter;
    int64_t until_ns;
    int64_t late_ns;
    if (file->board == NULL)
        return false;
    (void)pthread_mutex_unlock(&file->queue_mutex);
    bool has_turn = mcds__lmdb_line_try(file);
    (void)pthread_mutex_lock(&file->queue_mutex);
    if (has_turn || !share_clock(file->first))
        return false;
    struct mcds__lmdb_ticket *group = take_letter(file, &letter);
    if (group == NULL)
        return false;
    find_deadlines(group, &until_ns, &late_ns);
    late_ns += PATIENCE_TIMES * (late_ns - mcds__monotonic_ns(mine->env));
    (void)pthread_mutex_unlock(&file->queue_mutex);
    enum mcds__lmdb_fate fate = mcds__lmdb_board_send(file, mine->env, &letter, group, until_ns,
                                                      late_ns);
    (void)pthread_mutex_lock(&file->queue_mutex);
    if (fate != MCDS__LMDB_SERVED) {
        put_back(file, group);
        return false;
    }
    dismiss_group(file, group);
    return true;
}

/* Commit groups until `mine` is answered. Called and left with the mutex held. */
static void lead(struct mcds__lmdb_file *file, struct mcds__lmdb_ticket *mine)
{
    while (mine->at != NULL) {
        if (have_it_written(file, mine))
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
            fail_ticket(file, mine, code);
            break;
        }
        struct mcds__lmdb_ticket *group = take_group(file);
        (void)pthread_mutex_unlock(&file->queue_mutex);
        mcds__lmdb_transact(file, mine->env, group, txn);
        (void)pthread_mutex_lock(&file->queue_mutex);
        dismiss_group(file, group);
    }
    pass_lead(file);
}

/* Wait to be served or to lead. With the mutex held. */
static void follow(struct mcds__lmdb_file *file, struct mcds__lmdb_ticket *mine)
{
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
        for (mcds_batch *batch = mine->at; batch != NULL;
             batch = mcds__lmdb_skip_answered(batch->next))
            mcds__lmdb_answer_late(file, batch);
        mine->stage = DONE;
    }
}

void mcds__lmdb_commit(struct mcds__lmdb_file *file, struct mcds__lmdb_ticket *mine)
{
    if (!mcds__condition_init(&mine->wake)) {
        for (mcds_batch *batch = mine->at; batch != NULL;
             batch = mcds__lmdb_skip_answered(batch->next))
            mcds__lmdb_answer_batch(file, batch, MCDS_OUT_UNSENT, MCDS__WHY(NO_MEMORY));
        return;
    }
    (void)pthread_mutex_lock(&file->queue_mutex);
    *file->end = mine;
    file->end = &mine->next;
    file->waiting++;
    mine->stage = file->leading ? WAITING : LEADING;
    file->leading = true;
    follow(file, mine);
    if (mine->stage == LEADING)
        lead(file, mine);
    file->waiting--;
    (void)pthread_mutex_unlock(&file->queue_mutex);
    (void)pthread_cond_destroy(&mine->wake);
}
