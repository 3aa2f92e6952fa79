/* The sender's side of the publication list: posts requests, and waits until the owner of the
 * write lock has executed them. */
#include "store/lmdb/commit/delegate.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/environment.h"
#include "base/reason.h"
#include "store/lmdb/commit/slots.h"

/* A sender checks whether the owner of the write lock has died. The first interval is
 * DEATH_CHECK_NS; it doubles up to DEATH_CHECK_MAX_NS. A check before the answer costs two context
 * switches. */
#define DEATH_CHECK_NS (10 * NS_PER_MS)
#define DEATH_CHECK_MAX_NS (80 * NS_PER_MS)
/* If all slots are taken, a writer is woken when one becomes free. The process that was woken
 * may have died, so each writer also checks by itself, first after the one time, later after
 * the other. */
#define SLOT_CHECK_NS (10 * NS_PER_MS)
#define SLOT_CHECK_MAX_NS (200 * NS_PER_MS)

struct mcds__lmdb_writer *mcds__lmdb_delegate_fill(struct mcds__lmdb_message *message,
                                                   struct mcds__lmdb_writer *writers)
{
    struct mcds__lmdb_writer *last = NULL;
    for (struct mcds__lmdb_writer *writer = writers; writer != NULL; writer = writer->next) {
        writer->until = writer->first;
        writer->taken = (struct mcds__lmdb_totals){0, 0, 0};
        while (writer->until != NULL && mcds__lmdb_message_add(message, writer->until)) {
            mcds__lmdb_totals_count(&writer->taken, writer->until);
            writer->until = mcds__lmdb_skip_answered(writer->until->next);
        }
        assert((writer->until == writer->first) == (writer->taken.batches == 0));
        if (writer->until != writer->first)
            last = writer;
        assert(writer->taken.requests <= writer->totals.requests);
        if (writer->until != NULL)
            break;
    }
    return last;
}

/* Whether the write lock was free, and this process owns it now. */
static bool gets_write_lock(struct mcds__lmdb_file *file)
{
    return mcds__lmdb_settle(file, mcds__lmdb_write_lock_try(file)) == 0;
}

/* Acquire a slot for this thread. SLOTS: none is free. */
static uint32_t delegate_claim(struct mcds__lmdb_publications *publications)
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        int code = pthread_mutex_trylock(&publications->senders[i]);
        if (code == EOWNERDEAD)
            code = pthread_mutex_consistent(&publications->senders[i]);
        if (code == 0)
            return i;
    }
    return SLOTS;
}

/* Wake the writer that has waited longest for a slot. */
static void wake_waiter(struct mcds__lmdb_publications *publications)
{
    if (atomic_load(&publications->has_waiters) == 0)
        return;
    atomic_fetch_add(&publications->freed, 1);
    if (!mcds__word_wake(&publications->freed))
        atomic_store(&publications->has_waiters, 0);
}

/* Wait for a slot, after the writers that wait already. SERVED: it is *i_out; OWNER and LEFT
 * are as for mcds__lmdb_delegate. The pauses double and are random, so that hundreds
 * of waiting writers leave the processor to the owner of the write lock. */
static enum mcds__lmdb_outcome delegate_wait_for_slot(struct mcds__lmdb_file *file,
                                                      const mcds_env *env, int64_t until_ns,
                                                      uint32_t *i_out)
{
    struct mcds__lmdb_publications *publications = file->publications;
    int64_t pause_ns = SLOT_CHECK_NS;
    for (bool is_first = true;; is_first = false) {
        assert(pause_ns >= SLOT_CHECK_NS && pause_ns <= SLOT_CHECK_MAX_NS);
        uint32_t freed = atomic_load(&publications->freed);
        bool had_waiters = atomic_exchange(&publications->has_waiters, 1) != 0;
        *i_out = is_first && had_waiters ? SLOTS : delegate_claim(publications);
        if (*i_out < SLOTS)
            return MCDS__LMDB_SERVED;
        if (gets_write_lock(file))
            return MCDS__LMDB_OWNER;
        int64_t now_ns = mcds__monotonic_ns(env);
        if (now_ns >= until_ns)
            return MCDS__LMDB_LEFT;
        int64_t wake_ns = now_ns + pause_ns / 2 +
                          (int64_t)(mcds__random_u64(env) % (uint64_t)(pause_ns / 2));
        mcds__word_wait(env, &publications->freed, freed,
                        wake_ns < until_ns ? wake_ns : until_ns);
        pause_ns = 2 * pause_ns < SLOT_CHECK_MAX_NS ? 2 * pause_ns : SLOT_CHECK_MAX_NS;
    }
}

static void post(struct mcds__lmdb_publications *publications, uint32_t i,
                 const struct mcds__lmdb_message *message)
{
    uint64_t word;
    struct slot *slot = &publications->slots[i];
    assert(i < SLOTS);
    uint64_t state = atomic_load(&publications->states[i]) + (UINT64_C(1) << STAGE_BITS);
    /* The serial number changes first, so that no process takes the old message with the new
     * text. The words are released after it, for a process that copies them. */
    atomic_store(&publications->states[i], with_stage(state, FREE));
    size_t words = (offsetof(struct mcds__lmdb_message, bytes) + message->length + sizeof word -
                    1) /
                   sizeof word;
    assert(words <= WORDS);
    for (size_t k = 0; k < words; k++) {
        memcpy(&word, (const uint8_t *)message + k * sizeof word, sizeof word);
        atomic_store_explicit(&slot->message[k], word, memory_order_release);
    }
    atomic_fetch_or(&publications->used, UINT64_C(1) << i);
    atomic_store(&publications->states[i], with_stage(state, POSTED));
}

/* Execute the GETs that the message left out. They see what the message has written. */
static void read_left_out(struct mcds__lmdb_file *file, mcds_batch *batch,
                          struct mcds__lmdb_reader **reader)
{
    int code = 0;
    const mcds_env *env = mcds_env_system();
    for (uint32_t i = 0; i < batch->count; i++) {
        mcds_request *request = &batch->requests[i];
        if (!mcds__lmdb_message_leaves_out(batch, request))
            continue;
        mcds__lmdb_answer(file, request, MCDS_OUT_OK, NULL);
        if (*reader == NULL)
            code = mcds__lmdb_read_begin(file, env, batch->deadline_ns, reader);
        if (code == 0)
            code = mcds__lmdb_get(file, *reader, mcds__lmdb_now_ms(file, env), request,
                                  batch->values);
        if (code != 0)
            mcds__lmdb_answer(file, request, mcds__lmdb_unread(code), mcds__lmdb_reason(code));
    }
}

/* Copy the answers to the requests. */
static void deliver(struct mcds__lmdb_file *file, const struct slot *slot,
                    struct mcds__lmdb_writer *writers)
{
    uint32_t at = 0;
    struct mcds__lmdb_reader *reader = NULL;
    for (struct mcds__lmdb_writer *writer = writers; writer != NULL; writer = writer->next)
        for (mcds_batch *batch = writer->first; batch != writer->until;
             batch = mcds__lmdb_skip_answered(batch->next)) {
            for (uint32_t i = 0; i < batch->count; i++) {
                if (mcds__lmdb_message_leaves_out(batch, &batch->requests[i]))
                    continue;
                assert(at < MCDS__LMDB_MESSAGE_REQUESTS);
                mcds__answer_read(&slot->answers[at++], &batch->requests[i].reply);
                batch->requests[i].reply.peer = file->path;
            }
            read_left_out(file, batch, &reader);
            batch->answered = batch->count;
        }
    if (reader != NULL)
        mcds__lmdb_read_end(file, reader);
}

/* Answer UNKNOWN: the outcome was lost. */
static void deliver_doubt(const struct mcds__lmdb_file *file, struct mcds__lmdb_writer *writers)
{
    for (struct mcds__lmdb_writer *writer = writers; writer != NULL; writer = writer->next)
        for (mcds_batch *batch = writer->first; batch != writer->until;
             batch = mcds__lmdb_skip_answered(batch->next))
            mcds__lmdb_answer_batch(file, batch, MCDS_OUT_UNKNOWN, MCDS__WHY(NO_OUTCOME));
}

/* Check the state of slot `i` once. LEFT: its sender continues to wait. */
static enum mcds__lmdb_outcome delegate_look(struct mcds__lmdb_file *file, uint32_t i,
                                             struct mcds__lmdb_writer *writers)
{
    assert(i < SLOTS && stage_of(atomic_load(&file->publications->states[i])) != FREE);
    enum stage stage = stage_of(atomic_load(&file->publications->states[i]));
    if (stage != ANSWERED && stage != DOUBTFUL) {
        if (!gets_write_lock(file))
            return MCDS__LMDB_LEFT;
        /* The owner of the write lock has settled the messages of a dead owner. */
        stage = stage_of(atomic_load(&file->publications->states[i]));
        if (stage == POSTED)
            return MCDS__LMDB_OWNER;
        mcds__lmdb_write_lock_leave(file);
    }
    if (stage == ANSWERED)
        deliver(file, &file->publications->slots[i], writers);
    else
        deliver_doubt(file, writers);
    return MCDS__LMDB_SERVED;
}

/* The deadline has passed: take the message back. False: another process is executing it. */
static bool delegate_withdraw(struct mcds__lmdb_publications *publications, uint32_t i)
{
    uint64_t state = atomic_load(&publications->states[i]);
    assert(stage_of(state) != FREE);
    return stage_of(state) == POSTED &&
           atomic_compare_exchange_strong(&publications->states[i], &state,
                                          with_stage(state, FREE));
}

static enum mcds__lmdb_outcome await(struct mcds__lmdb_file *file, const mcds_env *env,
                                     uint32_t i, struct mcds__lmdb_writer *writers,
                                     int64_t until_ns, int64_t late_ns)
{
    struct mcds__lmdb_publications *publications = file->publications;
    for (int64_t pause_ns = DEATH_CHECK_NS;;) {
        uint32_t rung = atomic_load(&publications->doorbells[i]);
        enum mcds__lmdb_outcome outcome = delegate_look(file, i, writers);
        if (outcome != MCDS__LMDB_LEFT)
            return outcome;
        int64_t now_ns = mcds__monotonic_ns(env);
        if (now_ns >= until_ns && delegate_withdraw(publications, i))
            return MCDS__LMDB_LEFT;
        if (now_ns >= late_ns) {
            deliver_doubt(file, writers);
            return MCDS__LMDB_SERVED;
        }
        int64_t wake_ns = now_ns < until_ns ? until_ns : late_ns;
        if (wake_ns > now_ns + pause_ns)
            wake_ns = now_ns + pause_ns;
        mcds__word_wait(env, &publications->doorbells[i], rung, wake_ns);
        pause_ns = 2 * pause_ns < DEATH_CHECK_MAX_NS ? 2 * pause_ns : DEATH_CHECK_MAX_NS;
    }
}

enum mcds__lmdb_outcome mcds__lmdb_delegate(struct mcds__lmdb_file *file, const mcds_env *env,
                                            const struct mcds__lmdb_message *message,
                                            struct mcds__lmdb_writer *writers, int64_t until_ns,
                                            int64_t late_ns)
{
    struct mcds__lmdb_publications *publications = file->publications;
    uint32_t i = atomic_load(&publications->has_waiters) == 0 ? delegate_claim(publications)
                                                              : SLOTS;
    enum mcds__lmdb_outcome outcome = MCDS__LMDB_SERVED;
    if (i == SLOTS)
        outcome = delegate_wait_for_slot(file, env, until_ns, &i);
    if (outcome != MCDS__LMDB_SERVED) {
        wake_waiter(publications); /* this thread may have been woken for a slot */
        return outcome;
    }
    assert(outcome == MCDS__LMDB_SERVED && i < SLOTS);
    post(publications, i, message);
    outcome = await(file, env, i, writers, until_ns, late_ns);
    uint64_t state = atomic_load(&publications->states[i]);
    atomic_store(&publications->states[i],
                 with_stage(state + (UINT64_C(1) << STAGE_BITS), FREE));
    atomic_fetch_and(&publications->used, ~(UINT64_C(1) << i));
    (void)pthread_mutex_unlock(&publications->senders[i]);
    wake_waiter(publications);
    return outcome;
}
