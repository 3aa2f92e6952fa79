/* The publication list: one slot of shared memory for each message between processes. Here the
 * owner of the write lock takes the messages and reports their outcome. */
#include "store/lmdb/commit/publications.h"

#include <assert.h>
#include <lmdb.h>
#include <string.h>

#include "base/environment.h"
#include "store/lmdb/commit/slots.h"

#define COMMIT_ID "turn" /* its name in the file */

size_t mcds__lmdb_publications_bytes(void)
{
    return sizeof(struct mcds__lmdb_publications);
}

bool mcds__lmdb_publications_begin(struct mcds__lmdb_publications *publications)
{
    bool made = true;
    atomic_store(&publications->used, 0);
    atomic_store(&publications->freed, 0);
    atomic_store(&publications->has_waiters, 0);
    for (uint32_t i = 0; i < SLOTS; i++) {
        atomic_store(&publications->states[i], with_stage(0, FREE));
        made = made && mcds__mutex_init_shared(&publications->senders[i]);
    }
    return made;
}

static void ring(struct mcds__lmdb_publications *publications, uint32_t i)
{
    atomic_fetch_add(&publications->doorbells[i], 1);
    (void)mcds__word_wake(&publications->doorbells[i]);
}

uint32_t mcds__lmdb_publications_posted(const struct mcds__lmdb_file *file)
{
    uint32_t posted = 0;
    for (uint32_t i = 0; file->publications != NULL && i < SLOTS; i++)
        posted += stage_of(atomic_load(&file->publications->states[i])) == POSTED;
    return posted;
}

static void copy_message(struct slot *slot, struct mcds__lmdb_message *out)
{
    uint8_t *at = (uint8_t *)out;
    size_t words = offsetof(struct mcds__lmdb_message, bytes) / sizeof(uint64_t);
    for (size_t k = 0; k < words; k++) {
        uint64_t word = atomic_load_explicit(&slot->message[k], memory_order_acquire);
        memcpy(at + k * sizeof word, &word, sizeof word);
        if (k == 0 && out->length <= sizeof out->bytes)
            words += (out->length + sizeof word - 1) / sizeof word;
    }
}

bool mcds__lmdb_publications_take(struct mcds__lmdb_file *file,
                                  struct mcds__lmdb_message *message)
{
    assert(file->holds_write_lock);
    struct mcds__lmdb_publications *publications = file->publications;
    uint32_t i;
    while ((i = next_used(publications, file->next_slot)) < SLOTS) {
        file->next_slot = i + 1;
        uint64_t state = atomic_load(&publications->states[i]);
        if (stage_of(state) != POSTED)
            continue;
        /* If the sender changes the message during the copy, the attempt to take it fails. */
        copy_message(&publications->slots[i], message);
        if ((message->synced != 0 && !file->synced) ||
            !atomic_compare_exchange_strong(&publications->states[i], &state,
                                            with_stage(state, FETCHED)))
            continue;
        assert(file->taken_count < file->next_slot && file->next_slot <= SLOTS);
        file->taken[file->taken_count++] = (struct mcds__lmdb_taken){
            i, with_stage(state, FETCHED)};
        return true;
    }
    return false;
}

void mcds__lmdb_publications_answer(struct mcds__lmdb_file *file, uint32_t number,
                                    const mcds_reply *reply)
{
    assert(file->taken_count > 0 && number < MCDS__LMDB_MESSAGE_REQUESTS);
    const struct mcds__lmdb_taken *taken = &file->taken[file->taken_count - 1];
    mcds__answer_write(reply, &file->publications->slots[taken->slot].answers[number]);
}

/* Change the stage, unless the sender has left. */
static bool move(struct mcds__lmdb_file *file, struct mcds__lmdb_taken *taken, enum stage stage)
{
    uint64_t state = taken->state;
    assert(stage_of(state) == FETCHED || stage_of(state) == SEALED);
    taken->state = with_stage(state, stage);
    return atomic_compare_exchange_strong(&file->publications->states[taken->slot], &state,
                                          taken->state);
}

int mcds__lmdb_publications_seal(struct mcds__lmdb_work *work, const mcds_env *env)
{
    struct mcds__lmdb_file *file = work->file;
    assert(file->holds_write_lock && file->taken_count > 0 && file->taken_count <= SLOTS);
    uint64_t commit_id = mcds__random_u64(env) | 1; /* 0 means none */
    int code = mcds__lmdb_entry_put(work->txn, file->root, COMMIT_ID, &commit_id,
                                    sizeof commit_id);
    for (uint32_t k = 0; k < file->taken_count && code == 0; k++) {
        atomic_store(&file->publications->slots[file->taken[k].slot].commit_id, commit_id);
        (void)move(file, &file->taken[k], SEALED);
    }
    return code;
}

void mcds__lmdb_publications_end(struct mcds__lmdb_file *file, enum mcds__lmdb_end end)
{
    assert(file->taken_count <= SLOTS && file->next_slot <= SLOTS);
    static const enum stage stages[] = {
        [MCDS__LMDB_NOTHING] = POSTED,
        [MCDS__LMDB_DONE] = ANSWERED,
        [MCDS__LMDB_DOUBT] = DOUBTFUL,
    };
    for (uint32_t k = 0; k < file->taken_count; k++)
        if (move(file, &file->taken[k], stages[end]) && end != MCDS__LMDB_NOTHING)
            ring(file->publications, file->taken[k].slot);
    file->taken_count = 0;
    file->next_slot = 0;
}

/* Read the commit id of the last transaction that executed messages. */
static bool read_commit_id(struct mcds__lmdb_file *file, MDB_txn *txn, uint64_t *commit_id)
{
    mcds_bytes bytes;
    *commit_id = 0;
    int code = mcds__lmdb_entry_get(txn, file->root, COMMIT_ID, &bytes);
    bool fine = code == 0 && (bytes.data == NULL || bytes.length == sizeof *commit_id);
    if (fine && bytes.data != NULL)
        memcpy(commit_id, bytes.data, sizeof *commit_id);
    /* The dead process may not have synced it. */
    return fine && mdb_env_sync(file->env, 1) == 0;
}

void mcds__lmdb_publications_recover(struct mcds__lmdb_file *file, MDB_txn *txn)
{
    struct mcds__lmdb_publications *publications = file->publications;
    uint64_t last_id = 0;
    bool known = txn != NULL && read_commit_id(file, txn, &last_id);
    for (uint32_t i = 0; i < SLOTS; i++) {
        uint64_t state = atomic_load(&publications->states[i]);
        enum stage stage = stage_of(state);
        if (stage == FETCHED)
            stage = POSTED;
        else if (stage == SEALED && known)
            stage = publications->slots[i].commit_id == last_id ? ANSWERED : POSTED;
        else if (stage == SEALED)
            stage = DOUBTFUL;
        else
            continue;
        if (atomic_compare_exchange_strong(&publications->states[i], &state,
                                           with_stage(state, stage)))
            ring(publications, i);
    }
}

void mcds__lmdb_publications_pass(const struct mcds__lmdb_file *file)
{
    const struct mcds__lmdb_publications *publications = file->publications;
    for (uint32_t i = next_used(publications, 0); i < SLOTS; i = next_used(publications, i + 1))
        if (stage_of(atomic_load(&publications->states[i])) == POSTED) {
            ring(file->publications, i);
            return;
        }
}
