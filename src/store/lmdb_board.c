/* The board: letters between the processes that write one file. */
#include "store/lmdb_board.h"

#include <errno.h>
#include <lmdb.h>
#include <string.h>

#include "base/environment.h"
#include "base/reason.h"

#define PLACES MCDS__LMDB_BOARD_PLACES
/* How soon the death of the one with the turn is noticed. */
#define DEATH_NOTICED_NS (5 * NS_PER_MS)
#define PLACE_FREED_NS NS_PER_MS /* with more writers than places */
#define WORDS (sizeof(struct mcds__letter) / sizeof(uint64_t))

_Static_assert(sizeof(struct mcds__letter) % sizeof(uint64_t) == 0, "it is copied by words");

/* A state is a stage and, above it, a serial number that each letter raises: so whoever has taken
 * a letter finds out when its sender has left it, and the place is another's. */
enum stage {
    FREE,
    POSTED,
    FETCHED,
    SEALED, /* carried out in the transaction that has drawn `turn` */
    ANSWERED,
    DOUBTFUL /* nobody knows whether that transaction has been committed */
};
#define STAGE_BITS 3

struct place {
    _Atomic uint64_t turn;
    _Atomic uint64_t letter[WORDS];
    struct mcds__answer answers[MCDS__LETTER_REQUESTS];
};

struct mcds__lmdb_board {
    _Atomic uint64_t states[PLACES];
    _Atomic uint32_t bells[PLACES];  /* counts what the sender is to look up for */
    pthread_mutex_t senders[PLACES]; /* who has it may post there */
    struct place places[PLACES];
};

static enum stage stage_of(uint64_t state)
{
    return (enum stage)(state & ((1 << STAGE_BITS) - 1));
}

static uint64_t with_stage(uint64_t state, enum stage stage)
{
    return (state >> STAGE_BITS << STAGE_BITS) | stage;
}

size_t mcds__lmdb_board_bytes(void)
{
    return sizeof(struct mcds__lmdb_board);
}

bool mcds__lmdb_board_begin(struct mcds__lmdb_board *board)
{
    bool made = true;
    for (uint32_t i = 0; i < PLACES; i++) {
        atomic_store(&board->states[i], with_stage(0, FREE));
        made = made && mcds__mutex_init_shared(&board->senders[i]);
    }
    return made;
}

struct mcds__lmdb_ticket *mcds__lmdb_board_write(struct mcds__letter *letter,
                                                 struct mcds__lmdb_ticket *tickets)
{
    struct mcds__lmdb_ticket *last = NULL;
    for (struct mcds__lmdb_ticket *ticket = tickets; ticket != NULL; ticket = ticket->next) {
        ticket->until = ticket->at;
        ticket->taken = (struct mcds__lmdb_load){0, 0, 0};
        while (ticket->until != NULL && mcds__letter_add(letter, ticket->until)) {
            struct mcds__lmdb_load part = mcds__lmdb_load_of(ticket->until);
            mcds__lmdb_load_add(&ticket->taken, &part);
            ticket->until = mcds__lmdb_skip_answered(ticket->until->next);
        }
        if (ticket->until != ticket->at)
            last = ticket;
        if (ticket->until != NULL)
            break;
    }
    return last;
}

static void ring(struct mcds__lmdb_board *board, uint32_t i)
{
    atomic_fetch_add(&board->bells[i], 1);
    mcds__word_wake(&board->bells[i]);
}

/* A place for this thread alone, or PLACES: none is free. */
static uint32_t claim(struct mcds__lmdb_board *board)
{
    for (uint32_t i = 0; i < PLACES; i++) {
        int code = pthread_mutex_trylock(&board->senders[i]);
        if (code == EOWNERDEAD)
            code = pthread_mutex_consistent(&board->senders[i]);
        if (code == 0)
            return i;
    }
    return PLACES;
}

static void post(struct mcds__lmdb_board *board, uint32_t i, const struct mcds__letter *letter)
{
    uint64_t word;
    struct place *place = &board->places[i];
    uint64_t state = atomic_load(&board->states[i]) + (UINT64_C(1) << STAGE_BITS);
    /* First the serial number, so that nobody takes the old letter with the new text; the words
     * follow it for whoever copies them. */
    atomic_store(&board->states[i], with_stage(state, FREE));
    size_t words = (offsetof(struct mcds__letter, bytes) + letter->length + sizeof word - 1) /
                   sizeof word;
    for (size_t k = 0; k < words; k++) {
        memcpy(&word, (const uint8_t *)letter + k * sizeof word, sizeof word);
        atomic_store_explicit(&place->letter[k], word, memory_order_release);
    }
    atomic_store(&board->states[i], with_stage(state, POSTED));
}

/* Read what the letter has left out: what is there behind what it has written. */
static void read_left_out(struct mcds__lmdb_file *file, mcds_batch *batch,
                          struct mcds__lmdb_reader **reader)
{
    int code = 0;
    const mcds_env *env = mcds_env_system();
    for (uint32_t i = 0; i < batch->count; i++) {
        mcds_request *request = &batch->requests[i];
        if (!mcds__letter_leaves_out(batch, request))
            continue;
        mcds__lmdb_answer(file, request, MCDS_OUT_OK, NULL);
        if (*reader == NULL)
            code = mcds__lmdb_read_begin(file, env, batch->deadline_ns, reader);
        if (code == 0)
            code = mcds__lmdb_get(file, (*reader)->txn, env, request, batch->values);
        if (code != 0)
            mcds__lmdb_answer(file, request, MCDS_OUT_UNSENT, mcds__lmdb_reason(code));
    }
}

/* Give each request its answer. */
static void deliver(struct mcds__lmdb_file *file, const struct place *place,
                    struct mcds__lmdb_ticket *tickets)
{
    uint32_t at = 0;
    struct mcds__lmdb_reader *reader = NULL;
    for (struct mcds__lmdb_ticket *ticket = tickets; ticket != NULL; ticket = ticket->next)
        for (mcds_batch *batch = ticket->at; batch != ticket->until;
             batch = mcds__lmdb_skip_answered(batch->next)) {
            for (uint32_t i = 0; i < batch->count; i++) {
                if (mcds__letter_leaves_out(batch, &batch->requests[i]))
                    continue;
                mcds__answer_read(&place->answers[at++], &batch->requests[i].reply);
                batch->requests[i].reply.peer = file->path;
            }
            read_left_out(file, batch, &reader);
            batch->answered = batch->count;
        }
    if (reader != NULL)
        mcds__lmdb_read_end(file, reader);
}

/* Where nobody knows. */
static void deliver_doubt(const struct mcds__lmdb_file *file, struct mcds__lmdb_ticket *tickets)
{
    for (struct mcds__lmdb_ticket *ticket = tickets; ticket != NULL; ticket = ticket->next)
        for (mcds_batch *batch = ticket->at; batch != ticket->until;
             batch = mcds__lmdb_skip_answered(batch->next))
            mcds__lmdb_answer_batch(file, batch, MCDS_OUT_UNKNOWN, MCDS__WHY(NO_OUTCOME));
}

/* What the sender of place `i` finds; LEFT: it goes on waiting. */
static enum mcds__lmdb_fate look(struct mcds__lmdb_file *file, uint32_t i,
                                 struct mcds__lmdb_ticket *tickets)
{
    enum stage stage = stage_of(atomic_load(&file->board->states[i]));
    if (stage != ANSWERED && stage != DOUBTFUL) {
        if (!mcds__lmdb_line_try(file))
            return MCDS__LMDB_LEFT;
        /* With the turn, what a dead one has left behind has been sorted out. */
        stage = stage_of(atomic_load(&file->board->states[i]));
        if (stage == POSTED)
            return MCDS__LMDB_TURN;
        mcds__lmdb_line_leave(file);
    }
    if (stage == ANSWERED)
        deliver(file, &file->board->places[i], tickets);
    else
        deliver_doubt(file, tickets);
    return MCDS__LMDB_SERVED;
}

/* The deadline has passed. False: it is being carried out. */
static bool withdraw(struct mcds__lmdb_board *board, uint32_t i)
{
    uint64_t state = atomic_load(&board->states[i]);
    return stage_of(state) == POSTED &&
           atomic_compare_exchange_strong(&board->states[i], &state, with_stage(state, FREE));
}

static enum mcds__lmdb_fate await(struct mcds__lmdb_file *file, const mcds_env *env, uint32_t i,
                                  struct mcds__lmdb_ticket *tickets, int64_t until_ns,
                                  int64_t late_ns)
{
    struct mcds__lmdb_board *board = file->board;
    for (;;) {
        uint32_t bell = atomic_load(&board->bells[i]);
        enum mcds__lmdb_fate fate = look(file, i, tickets);
        if (fate != MCDS__LMDB_LEFT)
            return fate;
        int64_t now_ns = mcds__monotonic_ns(env);
        if (now_ns >= until_ns && withdraw(board, i))
            return MCDS__LMDB_LEFT;
        if (now_ns >= late_ns) {
            deliver_doubt(file, tickets);
            return MCDS__LMDB_SERVED;
        }
        int64_t wake_ns = now_ns < until_ns ? until_ns : late_ns;
        if (wake_ns > now_ns + DEATH_NOTICED_NS)
            wake_ns = now_ns + DEATH_NOTICED_NS;
        mcds__word_wait(env, &board->bells[i], bell, wake_ns);
    }
}

enum mcds__lmdb_fate mcds__lmdb_board_send(struct mcds__lmdb_file *file, const mcds_env *env,
                                           const struct mcds__letter *letter,
                                           struct mcds__lmdb_ticket *tickets, int64_t until_ns,
                                           int64_t late_ns)
{
    struct mcds__lmdb_board *board = file->board;
    uint32_t i = claim(board);
    while (i == PLACES) {
        int64_t now_ns = mcds__monotonic_ns(env);
        if (mcds__lmdb_line_try(file))
            return MCDS__LMDB_TURN;
        if (now_ns >= until_ns)
            return MCDS__LMDB_LEFT;
        mcds__sleep_until_ns(env, now_ns + PLACE_FREED_NS);
        i = claim(board);
    }
    post(board, i, letter);
    enum mcds__lmdb_fate fate = await(file, env, i, tickets, until_ns, late_ns);
    uint64_t state = atomic_load(&board->states[i]);
    atomic_store(&board->states[i], with_stage(state + (UINT64_C(1) << STAGE_BITS), FREE));
    (void)pthread_mutex_unlock(&board->senders[i]);
    return fate;
}

uint32_t mcds__lmdb_board_posted(const struct mcds__lmdb_file *file)
{
    uint32_t posted = 0;
    for (uint32_t i = 0; file->board != NULL && i < PLACES; i++)
        posted += stage_of(atomic_load(&file->board->states[i])) == POSTED;
    return posted;
}

static void copy_letter(struct place *place, struct mcds__letter *out)
{
    uint8_t *at = (uint8_t *)out;
    size_t words = offsetof(struct mcds__letter, bytes) / sizeof(uint64_t);
    for (size_t k = 0; k < words; k++) {
        uint64_t word = atomic_load_explicit(&place->letter[k], memory_order_acquire);
        memcpy(at + k * sizeof word, &word, sizeof word);
        if (k == 0 && out->length <= sizeof out->bytes)
            words += (out->length + sizeof word - 1) / sizeof word;
    }
}

bool mcds__lmdb_board_take(struct mcds__lmdb_file *file, struct mcds__letter *letter)
{
    struct mcds__lmdb_board *board = file->board;
    while (file->looked_at < PLACES) {
        uint32_t i = file->looked_at++;
        uint64_t state = atomic_load(&board->states[i]);
        if (stage_of(state) != POSTED)
            continue;
        /* A copy that the sender has changed meanwhile is given up with the attempt to take it. */
        copy_letter(&board->places[i], letter);
        if ((letter->synced != 0 && !file->synced) ||
            !atomic_compare_exchange_strong(&board->states[i], &state,
                                            with_stage(state, FETCHED)))
            continue;
        file->taken[file->taken_count++] = (struct mcds__lmdb_taken){
            i, with_stage(state, FETCHED)};
        return true;
    }
    return false;
}

void mcds__lmdb_board_answer(struct mcds__lmdb_file *file, uint32_t number,
                             const mcds_reply *reply)
{
    const struct mcds__lmdb_taken *taken = &file->taken[file->taken_count - 1];
    mcds__answer_write(reply, &file->board->places[taken->place].answers[number]);
}

static MDB_val turn_key(void)
{
    static const char name[] = "turn";
    return (MDB_val){sizeof name - 1, (void *)(uintptr_t)name};
}

/* From one stage to another, unless the sender has left. */
static bool move(struct mcds__lmdb_file *file, struct mcds__lmdb_taken *taken, enum stage stage)
{
    uint64_t state = taken->state;
    taken->state = with_stage(state, stage);
    return atomic_compare_exchange_strong(&file->board->states[taken->place], &state,
                                          taken->state);
}

int mcds__lmdb_board_seal(struct mcds__lmdb_work *work, const mcds_env *env)
{
    struct mcds__lmdb_file *file = work->file;
    if (file->taken_count == 0)
        return 0;
    uint64_t turn = mcds__random_u64(env) | 1; /* 0: none */
    MDB_val at = turn_key();
    MDB_val data = {sizeof turn, &turn};
    int code = mdb_put(work->txn, file->root, &at, &data, 0);
    for (uint32_t k = 0; k < file->taken_count && code == 0; k++) {
        atomic_store(&file->board->places[file->taken[k].place].turn, turn);
        (void)move(file, &file->taken[k], SEALED);
    }
    return code;
}

void mcds__lmdb_board_end(struct mcds__lmdb_file *file, enum mcds__lmdb_end end)
{
    static const enum stage stages[] = {
        [MCDS__LMDB_NOTHING] = POSTED,
        [MCDS__LMDB_DONE] = ANSWERED,
        [MCDS__LMDB_DOUBT] = DOUBTFUL,
    };
    for (uint32_t k = 0; k < file->taken_count; k++)
        if (move(file, &file->taken[k], stages[end]) && end != MCDS__LMDB_NOTHING)
            ring(file->board, file->taken[k].place);
    file->taken_count = 0;
    file->looked_at = 0;
}

/* The number that the last transaction has drawn which carried out letters. */
static bool read_turn(struct mcds__lmdb_file *file, MDB_txn *txn, uint64_t *turn)
{
    MDB_val at = turn_key();
    MDB_val data;
    *turn = 0;
    int code = mdb_get(txn, file->root, &at, &data);
    bool fine = code == MDB_NOTFOUND || (code == 0 && data.mv_size == sizeof *turn);
    if (code == 0 && fine)
        memcpy(turn, data.mv_data, sizeof *turn);
    /* The dead one may not have come to sync it. */
    return fine && mdb_env_sync(file->env, 1) == 0;
}

void mcds__lmdb_board_recover(struct mcds__lmdb_file *file, MDB_txn *txn)
{
    struct mcds__lmdb_board *board = file->board;
    uint64_t last_turn = 0;
    bool known = txn != NULL && read_turn(file, txn, &last_turn);
    for (uint32_t i = 0; i < PLACES; i++) {
        uint64_t state = atomic_load(&board->states[i]);
        enum stage stage = stage_of(state);
        if (stage == FETCHED)
            stage = POSTED;
        else if (stage == SEALED && known)
            stage = board->places[i].turn == last_turn ? ANSWERED : POSTED;
        else if (stage == SEALED)
            stage = DOUBTFUL;
        else
            continue;
        if (atomic_compare_exchange_strong(&board->states[i], &state, with_stage(state, stage)))
            ring(board, i);
    }
}

void mcds__lmdb_board_pass(const struct mcds__lmdb_file *file)
{
    for (uint32_t i = 0; i < PLACES; i++)
        if (stage_of(atomic_load(&file->board->states[i])) == POSTED) {
            ring(file->board, i);
            return;
        }
}
