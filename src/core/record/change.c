/* Record: one change. */
#include <assert.h>
#include <stdatomic.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/hash/crc32c.h"
#include "core/record/record.h"

#define REMOVED_MS 600000

enum {
    CHANGE_LOADING,
    CHANGE_INTENDING,
    CHANGE_ADDING,
    CHANGE_CHECKING,
    CHANGE_WRITING,
    CHANGE_ERASING,
    CHANGE_PAUSING, /* before the same erasures are asked for again */
    CHANGE_RESTING  /* before the same check is asked for again */
};

enum { THEN_FINISH, THEN_LOAD, THEN_ADD };

void mcds__record_change_begin(struct mcds__record_change *change, const mcds_env *env,
                               struct mcds__record_writer *writer)
{
    mcds__record_load_begin(&change->load, env);
    change->writer = writer;
    change->stage = CHANGE_LOADING;
    change->doubt = false;
    change->id = (struct mcds__record_id){writer->id, atomic_fetch_add(&writer->next_seq, 1)};
    change->erased_count = 0;
    change->result = MCDS_OK;
    change->obstacle = (mcds_reply){.outcome = MCDS_OUT_OK};
    mcds__buffer_init(&change->fresh, env, (size_t)MCDS__RECORD_LENGTH_MAX);
    mcds__buffer_init(&change->root, env, (size_t)MCDS__RECORD_LENGTH_MAX);
}

void mcds__record_change_free(struct mcds__record_change *change, const mcds_env *env)
{
    mcds__record_load_free(&change->load, env);
    mcds__buffer_free(&change->fresh);
    mcds__buffer_free(&change->root);
}

static enum mcds__step record_change_finish(struct mcds__record_change *change,
                                            struct mcds__operation *operation, int result,
                                            const mcds_reason *detail)
{
    if (change->doubt && result != MCDS_OK)
        result = MCDS_AMBIGUOUS;
    return mcds__operation_explain(operation, result, detail);
}

static enum mcds__step load_later(struct mcds__record_change *change,
                                  struct mcds__operation *operation)
{
    change->stage = CHANGE_LOADING;
    if (mcds__operation_wait(operation, 0))
        return MCDS__SLEEP;
    if (!mcds__is_transport_trouble(&change->obstacle))
        return record_change_finish(change, operation, MCDS_BUSY, MCDS__WHY(OTHERS_CHANGE_IT));
    (void)mcds__operation_fail_read(operation, &change->obstacle);
    return record_change_finish(change, operation, operation->result, operation->detail);
}

/* Write `root`: replace the value that was read, or add it if there was none. */
static enum mcds__step record_change_ask_write(struct mcds__record_change *change,
                                               struct mcds__operation *operation, uint8_t stage)
{
    assert(change->root.length > 0);
    const struct mcds__record_load *load = &change->load;
    change->request = (mcds_request){
        .command = load->is_known ? MCDS_CAS : MCDS_ADD,
        .ttl_ms = stage == CHANGE_WRITING && change->next.kind == MCDS__RECORD_REMOVED
                      ? REMOVED_MS
                      : 0,
        .key = mcds__key_bytes(&load->key),
        .value = {change->root.data, change->root.length},
        .cas = load->is_known ? load->token : (mcds_cas_token){0, 0},
    };
    change->stage = stage;
    operation->connection = change->request.cas.connection;
    return mcds__operation_ask_repeatable(operation, &change->request, 1);
}

/* The next write erases the blocks of the value and those that a writer announced. */
static bool note_replaced(struct mcds__record_change *change, const mcds_env *env)
{
    const struct mcds__record_load *load = &change->load;
    change->replaced[0] = change->replaced[1] = (struct mcds__record_blocks){0};
    if (!load->is_known)
        return true;
    if (load->value.kind == MCDS__RECORD_IN_BLOCKS)
        change->replaced[0] = load->value.blocks;
    change->replaced[1] = load->value.intent;
    assert(change->replaced[0].name == 0 ||
           change->replaced[0].name != change->replaced[1].name);
    return (change->replaced[0].count == 0 && change->replaced[1].count == 0) ||
           mcds__record_get_scratch(&change->load.scratch, env) != NULL;
}

static enum mcds__step write_root(struct mcds__record_change *change,
                                  struct mcds__operation *operation)
{
    assert(change->next.version > 0 && change->next.id_count > 0);
    if (!note_replaced(change, operation->env) ||
        !mcds__record_encode(&change->next, mcds__key_bytes(&change->load.key), &change->root))
        return record_change_finish(change, operation, MCDS_NO_MEMORY, NULL);
    change->base_is_known = change->load.is_known;
    change->base_generation = change->load.value.generation;
    change->base_version = change->load.value.version;
    return record_change_ask_write(change, operation, CHANGE_WRITING);
}

static enum mcds__step add_blocks(struct mcds__record_change *change,
                                  struct mcds__operation *operation)
{
    assert(change->next.kind == MCDS__RECORD_IN_BLOCKS);
    struct mcds__record_scratch *scratch = mcds__record_get_scratch(&change->load.scratch,
                                                                    operation->env);
    size_t length = mcds__record_block_length(operation->store);
    uint32_t count = 0;
    if (scratch == NULL)
        return record_change_finish(change, operation, MCDS_NO_MEMORY, NULL);
    for (uint32_t i = change->next_block;
         count < MCDS__RECORD_BATCH && i < change->next.blocks.count; i++, count++) {
        size_t at = i * length;
        assert(at < change->fresh.length);
        size_t left = change->fresh.length - at;
        mcds__record_block_key(&change->load.blocks_key, change->next.blocks.name, i,
                               &scratch->keys[count]);
        scratch->requests[count] = (mcds_request){
            .command =
                MCDS_SET, /* no other client uses this name, so writing it twice is harmless */
            .key = mcds__key_bytes(&scratch->keys[count]),
            .value = {change->fresh.data + at, left < length ? left : length},
        };
    }
    assert(count > 0 && count <= MCDS__RECORD_BATCH);
    change->stage = CHANGE_ADDING;
    operation->connection = 0;
    return mcds__operation_ask_any_order(operation, scratch->requests, count);
}

static void erase_later(struct mcds__record_change *change,
                        const struct mcds__record_blocks *blocks)
{
    if (blocks->count > 0 && change->erased_count < 2)
        change->erased[change->erased_count++] = *blocks;
}

/* Announce the blocks before they are written, so that the next writer can erase them. */
static enum mcds__step tell_intent(struct mcds__record_change *change,
                                   struct mcds__operation *operation)
{
    assert(change->next.kind == MCDS__RECORD_IN_BLOCKS);
    struct mcds__record_value told = change->load.value;
    size_t length = mcds__record_block_length(operation->store);
    if (!change->load.is_known) {
        told = (struct mcds__record_value){0};
        told.generation = change->next.generation;
        told.kind = MCDS__RECORD_REMOVED;
    }
    if (change->fresh.length > MCDS__RECORD_BLOCKS_MAX * (uint64_t)length)
        return record_change_finish(change, operation, MCDS_TOO_BIG, NULL);
    change->next.blocks = (struct mcds__record_blocks){
        mcds__random_u64(operation->env) | 1,
        (uint32_t)((change->fresh.length + length - 1) / length),
        change->fresh.length,
        mcds__crc32c(0, change->fresh.data, change->fresh.length),
    };
    assert(change->next.blocks.count > 0 &&
           change->next.blocks.count <= MCDS__RECORD_BLOCKS_MAX);
    change->erased_count = 0;
    erase_later(change, &told.intent);
    told.intent = change->next.blocks;
    told.version++;
    if (!mcds__record_encode(&told, mcds__key_bytes(&change->load.key), &change->root))
        return record_change_finish(change, operation, MCDS_NO_MEMORY, NULL);
    return record_change_ask_write(change, operation, CHANGE_INTENDING);
}

/* Decide what to write, now that the old value is known. */
static enum mcds__step decide(struct mcds__record_change *change,
                              struct mcds__operation *operation)
{
    assert(!change->doubt);
    struct mcds__record_load *load = &change->load;
    change->fresh.length = 0;
    change->result = MCDS_OK;
    enum mcds__record_decision decision = change->decide(
        change->context, load->is_there ? &load->bytes : NULL, &change->fresh, &change->result);
    if (decision == MCDS__RECORD_LEAVE)
        return record_change_finish(change, operation, change->result, NULL);
    /* Its server has answered. */
    if (!mcds__store_can(operation->store).compare_and_set)
        return record_change_finish(change, operation, MCDS_UNSUPPORTED,
                                    MCDS__WHY(NO_COMPARE_AND_SET));
    struct mcds__record_value *next = &change->next;
    *next = load->value;
    if (!load->is_known) {
        *next = (struct mcds__record_value){0};
        next->generation = mcds__random_u64(operation->env) | 1;
    }
    next->version++;
    next->intent = next->blocks = (struct mcds__record_blocks){0};
    mcds__record_push_id(next, change->id);
    next->kind = decision == MCDS__RECORD_REMOVE ? MCDS__RECORD_REMOVED : MCDS__RECORD_INLINE;
    next->inlined = (mcds_bytes){change->fresh.data, change->fresh.length};
    if (change->fresh.length <= mcds__record_block_length(operation->store) ||
        decision == MCDS__RECORD_REMOVE)
        return write_root(change, operation);
    next->kind = MCDS__RECORD_IN_BLOCKS;
    return tell_intent(change, operation);
}

/* Erase eight keys in a round trip. If that fails, they stay and take space. */
static enum mcds__step record_change_erase(struct mcds__record_change *change,
                                           struct mcds__operation *operation, uint8_t then)
{
    assert(change->erased_count <= 2);
    struct mcds__record_scratch *scratch = mcds__record_get_scratch(&change->load.scratch,
                                                                    operation->env);
    uint32_t count = 0;
    change->then = then;
    while (scratch != NULL && change->erased_count > 0 && count == 0) {
        const struct mcds__record_blocks *blocks = &change->erased[change->erased_count - 1];
        for (; count < MCDS__RECORD_BATCH && change->next_block < blocks->count; count++) {
            mcds__record_block_key(&change->load.blocks_key, blocks->name, change->next_block++,
                                   &scratch->keys[count]);
            scratch->requests[count] = (mcds_request){
                .command = MCDS_DELETE, .key = mcds__key_bytes(&scratch->keys[count])};
        }
        assert(change->next_block <= blocks->count);
        if (change->next_block == blocks->count) {
            change->erased_count--;
            change->next_block = 0;
        }
    }
    operation->connection = 0;
    if (count > 0) {
        assert(count <= MCDS__RECORD_BATCH);
        change->stage = CHANGE_ERASING;
        return mcds__operation_ask_any_order(operation, scratch->requests, count);
    }
    if (then == THEN_FINISH)
        return record_change_finish(change, operation, MCDS_OK, NULL);
    if (then == THEN_ADD)
        return add_blocks(change, operation);
    return load_later(change, operation);
}

static enum mcds__step begin_erasing(struct mcds__record_change *change,
                                     struct mcds__operation *operation, uint8_t then)
{
    change->next_block = 0;
    return record_change_erase(change, operation, then);
}

/* The value is written: erase the blocks that it has replaced. */
static enum mcds__step take_success(struct mcds__record_change *change,
                                    struct mcds__operation *operation)
{
    change->doubt = false;
    change->erased_count = 0;
    assert(change->load.is_known || change->replaced[0].count == 0);
    for (int i = 0; i < 2; i++)
        if (change->replaced[i].name != change->next.blocks.name)
            erase_later(change, &change->replaced[i]);
    return begin_erasing(change, operation, THEN_FINISH);
}

static bool was_lost(const struct mcds__record_change *change, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (mcds__is_transport_trouble(&change->load.scratch->requests[i].reply))
            return true;
    return false;
}

/* Lost requests are repeated, refused ones are not. At the deadline the rest stays. */
static enum mcds__step take_erased(struct mcds__record_change *change,
                                   struct mcds__operation *operation)
{
    assert(change->stage == CHANGE_ERASING);
    bool lost = was_lost(change, operation->batch.count);
    if (lost && mcds__operation_again(operation)) {
        change->stage = CHANGE_PAUSING;
        return MCDS__SLEEP;
    }
    if (lost && mcds__operation_is_late(operation)) {
        change->erased_count = 0;
        change->next_block = 0;
    }
    return record_change_erase(change, operation, change->then);
}

static enum mcds__step erase_again(struct mcds__record_change *change,
                                   struct mcds__operation *operation)
{
    change->stage = CHANGE_ERASING;
    return mcds__operation_ask_any_order(operation, change->load.scratch->requests,
                                         operation->batch.count);
}

static enum mcds__step give_up_blocks(struct mcds__record_change *change,
                                      struct mcds__operation *operation)
{
    assert(change->next.blocks.name != 0);
    change->erased_count = 0;
    erase_later(change, &change->next.blocks);
    return begin_erasing(change, operation, THEN_LOAD);
}

/* The write in doubt was not applied, and never will be. */
static enum mcds__step begin_anew(struct mcds__record_change *change,
                                  struct mcds__operation *operation)
{
    assert(change->doubt);
    change->doubt = false;
    if (change->next.kind != MCDS__RECORD_IN_BLOCKS)
        return decide(change, operation);
    return give_up_blocks(change, operation);
}

/* Decide from the key about a write whose reply was lost. */
static enum mcds__step resolve(struct mcds__record_change *change,
                               struct mcds__operation *operation)
{
    const struct mcds__record_load *load = &change->load;
    const struct mcds__record_value *value = &load->value;
    assert(change->doubt); /* a definite answer needs no proof */
    if (load->is_known && mcds__record_has_id(value, change->id))
        return take_success(change, operation);
    /* A repetition would count twice if the write had counted in an earlier life of the key. */
    if (!load->is_known)
        return record_change_finish(change, operation, MCDS_AMBIGUOUS,
                                    change->base_is_known ? MCDS__WHY(KEY_VANISHED)
                                                          : MCDS__WHY(KEY_IN_DOUBT));
    if (!change->base_is_known || value->generation != change->base_generation)
        return record_change_finish(change, operation, MCDS_AMBIGUOUS,
                                    MCDS__WHY(MADE_MEANWHILE));
    if (value->version == change->base_version)
        return record_change_ask_write(change, operation, CHANGE_WRITING);
    if (value->version - change->base_version <= MCDS__RECORD_IDS)
        return begin_anew(change, operation);
    return record_change_finish(change, operation, MCDS_AMBIGUOUS,
                                MCDS__WHY(CHANGED_TOO_OFTEN));
}

static enum mcds__step record_change_load(struct mcds__record_change *change,
                                          struct mcds__operation *operation)
{
    operation->connection = 0;
    change->load.keeps_loss = change->doubt;
    enum mcds__step step = mcds__record_load_step(&change->load, operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result != MCDS_OK)
        return record_change_finish(change, operation, operation->result, operation->detail);
    return change->doubt ? resolve(change, operation) : decide(change, operation);
}

static enum mcds__step take_intent(struct mcds__record_change *change,
                                   struct mcds__operation *operation)
{
    const mcds_reply *reply = &change->request.reply;
    change->obstacle = *reply;
    if (mcds__is_refusal(reply))
        return mcds__operation_fail(operation, reply);
    if (reply->outcome != MCDS_OUT_OK)
        return load_later(change, operation);
    return begin_erasing(change, operation, THEN_ADD);
}

/* The blocks are stored. The announcement must still be that of this writer. */
static enum mcds__step ask_check(struct mcds__record_change *change,
                                 struct mcds__operation *operation)
{
    change->request = (mcds_request){.command = MCDS_GET,
                                     .key = mcds__key_bytes(&change->load.key)};
    change->stage = CHANGE_CHECKING;
    return mcds__operation_ask_repeatable(operation, &change->request, 1);
}

static enum mcds__step take_check(struct mcds__record_change *change,
                                  struct mcds__operation *operation)
{
    assert(change->next.kind == MCDS__RECORD_IN_BLOCKS);
    struct mcds__record_load *load = &change->load;
    const mcds_reply *reply = &change->request.reply;
    struct mcds__record_value value;
    change->obstacle = *reply;
    if (mcds__is_transport_trouble(reply) && mcds__operation_again(operation)) {
        change->stage = CHANGE_RESTING;
        return MCDS__SLEEP;
    }
    if (reply->outcome != MCDS_OUT_OK ||
        !mcds__record_decode(mcds__operation_value(operation, &change->request),
                             change->request.key, &value) ||
        value.intent.name != change->next.blocks.name)
        return give_up_blocks(change, operation);
    load->value = value;
    load->value.inlined = (mcds_bytes){NULL, 0};
    load->token = reply->cas;
    load->is_known = true;
    change->next.version = value.version + 1;
    return write_root(change, operation);
}

static enum mcds__step take_added(struct mcds__record_change *change,
                                  struct mcds__operation *operation)
{
    for (uint32_t i = 0; i < operation->batch.count; i++) {
        const mcds_reply *reply = &change->load.scratch->requests[i].reply;
        change->obstacle = *reply;
        if (reply->outcome == MCDS_OUT_OK)
            continue;
        if (mcds__is_refusal(reply))
            return mcds__operation_fail(operation, reply);
        return give_up_blocks(change, operation);
    }
    assert(operation->batch.count <= change->next.blocks.count - change->next_block);
    change->next_block += operation->batch.count;
    return change->next_block < change->next.blocks.count ? add_blocks(change, operation)
                                                          : ask_check(change, operation);
}

/* The tombstone of a removal needs memory, and so does a comparison in the classic protocol. */
static enum mcds__step erase_instead(struct mcds__record_change *change,
                                     struct mcds__operation *operation)
{
    mcds_request erasure = {.command = MCDS_DELETE, .key = change->request.key};
    if (change->request.command == MCDS_CAS)
        erasure.cas = change->request.cas;
    change->request = erasure;
    return mcds__operation_ask_repeatable(operation, &change->request, 1);
}

/* Whether an erasure, which needs less memory, can still be tried. */
static bool may_erase_instead(const struct mcds__record_change *change)
{
    return change->next.kind == MCDS__RECORD_REMOVED &&
           (change->request.command != MCDS_DELETE || change->request.cas.connection != 0);
}

static enum mcds__step record_change_take_written(struct mcds__record_change *change,
                                                  struct mcds__operation *operation)
{
    const mcds_reply *reply = &change->request.reply;
    change->obstacle = *reply;
    switch (reply->outcome) {
    case MCDS_OUT_OK:
        mcds__record_note_written(&change->load, &change->next);
        return take_success(change, operation);
    case MCDS_OUT_UNKNOWN:
        change->doubt = true;
        return load_later(change, operation);
    case MCDS_OUT_EXISTS:
    case MCDS_OUT_NOT_STORED:
    case MCDS_OUT_MISS:
    case MCDS_OUT_UNSENT:
        if (change->next.kind != MCDS__RECORD_IN_BLOCKS || change->doubt)
            return load_later(change, operation);
        return give_up_blocks(change, operation);
    default:
        if (reply->outcome == MCDS_OUT_NO_MEMORY && may_erase_instead(change))
            return erase_instead(change, operation);
        (void)mcds__operation_fail(operation, reply);
        return record_change_finish(change, operation, operation->result, operation->detail);
    }
}

enum mcds__step mcds__record_change_step(struct mcds__record_change *change,
                                         struct mcds__operation *operation)
{
    assert(change->stage <= CHANGE_RESTING);
    switch (change->stage) {
    case CHANGE_LOADING:
        return record_change_load(change, operation);
    case CHANGE_INTENDING:
        return take_intent(change, operation);
    case CHANGE_ADDING:
        return take_added(change, operation);
    case CHANGE_CHECKING:
        return take_check(change, operation);
    case CHANGE_WRITING:
        return record_change_take_written(change, operation);
    case CHANGE_ERASING:
        return take_erased(change, operation);
    case CHANGE_RESTING:
        return ask_check(change, operation);
    default:
        return erase_again(change, operation);
    }
}
