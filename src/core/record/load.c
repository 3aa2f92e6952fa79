/* Record: read the value, with its blocks. */
#include <assert.h>
#include <stdatomic.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/frame.h"
#include "base/hash/crc32c.h"
#include "core/record/record.h"

/* A reader slower than the writers finds its blocks erased, and reads the key again. */
#define LOSSES_MAX 20
#define BLOCK_MAX ((size_t)512 << 10)

enum { LOAD_BEGIN, LOAD_ROOT, LOAD_BLOCKS };

void mcds__record_writer_init(struct mcds__record_writer *writer, const mcds_env *env)
{
    writer->id = mcds__random_u64(env);
    atomic_init(&writer->next_seq, 1);
}

size_t mcds__record_block_length(const mcds_store *store)
{
    uint64_t most = mcds__store_can(store).value_max / 2;
    return most < BLOCK_MAX ? (size_t)most : BLOCK_MAX;
}

void mcds__record_block_key(const struct mcds__key *begin, uint64_t name, uint32_t number,
                            struct mcds__key *key_out)
{
    *key_out = *begin;
    mcds__key_add_hex(key_out, name, 16);
    mcds__key_add_number(key_out, number);
}

struct mcds__record_scratch *mcds__record_get_scratch(struct mcds__record_scratch **scratch,
                                                      const mcds_env *env)
{
    if (*scratch == NULL)
        *scratch = mcds__allocate(env, sizeof **scratch);
    return *scratch;
}

void mcds__record_load_begin(struct mcds__record_load *load, const mcds_env *env)
{
    load->skips_blocks = false;
    load->keeps_loss = false;
    load->is_there = false;
    load->is_known = false;
    load->stage = LOAD_BEGIN;
    load->losses = 0;
    load->lost_version = 0;
    load->scratch = NULL;
    mcds__buffer_init(&load->held, env, (size_t)MCDS__RECORD_LENGTH_MAX + BLOCK_MAX);
}

void mcds__record_load_free(struct mcds__record_load *load, const mcds_env *env)
{
    mcds__buffer_free(&load->held);
    mcds__free(env, load->scratch);
    load->scratch = NULL;
}

static enum mcds__step record_load_ask_root(struct mcds__record_load *load,
                                            struct mcds__operation *operation)
{
    assert(load->stage == LOAD_BEGIN);
    load->is_there = false;
    load->is_known = false;
    load->was_seen = atomic_load(load->seen);
    load->stage = LOAD_ROOT;
    load->request = (mcds_request){.command = MCDS_GET, .key = mcds__key_bytes(&load->key)};
    return mcds__operation_ask_repeatable(operation, &load->request, 1);
}

static enum mcds__step record_load_finish(struct mcds__record_load *load,
                                          struct mcds__operation *operation, bool is_there,
                                          mcds_bytes bytes)
{
    assert(is_there || bytes.length == 0);
    load->stage = LOAD_BEGIN;
    load->is_there = is_there;
    load->bytes = bytes;
    return mcds__operation_finish(operation, MCDS_OK);
}

static enum mcds__step record_load_ask_blocks(struct mcds__record_load *load,
                                              struct mcds__operation *operation)
{
    struct mcds__record_scratch *scratch = mcds__record_get_scratch(&load->scratch,
                                                                    operation->env);
    uint32_t count = 0;
    if (scratch == NULL)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    for (uint32_t i = load->next_block;
         count < MCDS__RECORD_BATCH && i < load->value.blocks.count; i++, count++) {
        mcds__record_block_key(&load->blocks_key, load->value.blocks.name, i,
                               &scratch->keys[count]);
        scratch->requests[count] = (mcds_request){
            .command = MCDS_GET, .key = mcds__key_bytes(&scratch->keys[count])};
    }
    assert(count > 0 && count <= MCDS__RECORD_BATCH);
    load->stage = LOAD_BLOCKS;
    return mcds__operation_ask_any_order(operation, scratch->requests, count);
}

/* This version cannot read the value of the root. */
static enum mcds__step refuse_value(const struct mcds__record_load *load,
                                    struct mcds__operation *operation, int result,
                                    const mcds_reason *detail)
{
    operation->read = &load->request;
    return mcds__operation_explain(operation, result, detail);
}

/* This handle has seen that the key holds `generation`, 0: none. Whether the caller reports that the
 * one which the handle had seen is lost: of all calls that find that out, one does. */
static bool note_generation(struct mcds__record_load *load, uint64_t generation)
{
    uint64_t known = load->was_seen;
    bool is_lost = known != 0 && load->value.generation != known;
    if (is_lost && load->keeps_loss)
        return true;
    /* The root that another call of this handle has seen or made since the request is newer. */
    bool is_first = atomic_compare_exchange_strong(load->seen, &known, generation);
    return is_lost && is_first && !load->skips_blocks;
}

void mcds__record_note_written(struct mcds__record_load *load,
                               const struct mcds__record_value *written)
{
    bool is_removed = written->kind == MCDS__RECORD_REMOVED;
    uint64_t before = is_removed ? written->generation : 0;
    (void)atomic_compare_exchange_strong(load->seen, &before,
                                         is_removed ? 0 : written->generation);
}

static enum mcds__step record_load_take_root(struct mcds__record_load *load,
                                             struct mcds__operation *operation)
{
    const mcds_reply *reply = &load->request.reply;
    load->value.generation = 0;
    if (reply->outcome == MCDS_OUT_MISS && note_generation(load, 0))
        return refuse_value(load, operation, MCDS_LOST, MCDS__WHY(VALUE_GONE));
    if (reply->outcome == MCDS_OUT_MISS)
        return record_load_finish(load, operation, false, (mcds_bytes){NULL, 0});
    if (reply->outcome != MCDS_OUT_OK) {
        load->stage = LOAD_BEGIN;
        return mcds__operation_retry(operation, reply);
    }
    assert(load->stage == LOAD_ROOT && !load->is_known);
    mcds_bytes bytes = mcds__operation_value(operation, &load->request);
    load->held.length = 0;
    if (!mcds_buffer_append(&load->held, bytes.data, bytes.length))
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    bytes.data = load->held.data;
    if (mcds__record_is_newer(bytes, load->request.key))
        return refuse_value(load, operation, MCDS_UNSUPPORTED, MCDS__WHY(NEWER));
    if (!mcds__record_decode(bytes, load->request.key, &load->value))
        return refuse_value(load, operation, MCDS_CORRUPT, MCDS__WHY(FOREIGN));
    bool is_removed = load->value.kind == MCDS__RECORD_REMOVED;
    if (note_generation(load, is_removed ? 0 : load->value.generation))
        return refuse_value(load, operation, MCDS_LOST, MCDS__WHY(VALUE_GONE));
    load->is_known = true;
    load->token = reply->cas;
    if (is_removed)
        return record_load_finish(load, operation, false, (mcds_bytes){NULL, 0});
    if (load->value.kind == MCDS__RECORD_INLINE)
        return record_load_finish(load, operation, true, load->value.inlined);
    if (load->skips_blocks)
        return record_load_finish(load, operation, true, (mcds_bytes){NULL, 0});
    if (load->value.blocks.length > MCDS__RECORD_LENGTH_MAX)
        return refuse_value(load, operation, MCDS_CORRUPT, NULL);
    load->held.length = 0;
    load->next_block = load->odd_block = 0;
    return record_load_ask_blocks(load, operation);
}

/* The blocks were erased because the value has changed, or they are lost. */
static enum mcds__step record_load_take_loss(struct mcds__record_load *load,
                                             struct mcds__operation *operation)
{
    assert(load->value.kind == MCDS__RECORD_IN_BLOCKS && load->losses <= LOSSES_MAX);
    bool is_lost = load->lost_version == load->value.version;
    load->lost_version = load->value.version;
    load->stage = LOAD_BEGIN;
    if (is_lost || load->losses++ == LOSSES_MAX)
        return mcds__operation_explain(operation, MCDS_LOST, MCDS__WHY(VALUE_BLOCK_GONE));
    return record_load_ask_root(load, operation);
}

/* The size that a writer of this version gives the block. */
static uint64_t usual_length(const struct mcds__record_load *load, const mcds_store *store,
                             uint32_t block)
{
    uint64_t usual = mcds__record_block_length(store);
    uint64_t begin = block * usual;
    uint64_t left = load->value.blocks.length > begin ? load->value.blocks.length - begin : 0;
    return left < usual ? left : usual;
}

/* One checksum covers all blocks. If none of several has an odd length, the key that lists them is
 * refused. */
static enum mcds__step refuse_blocks(struct mcds__record_load *load,
                                     struct mcds__operation *operation,
                                     const mcds_reason *detail)
{
    struct mcds__record_scratch *scratch = load->scratch;
    assert(scratch != NULL && load->odd_block <= load->value.blocks.count);
    if (load->odd_block == 0 && load->value.blocks.count > 1)
        return refuse_value(load, operation, MCDS_CORRUPT, detail);
    if (load->odd_block > 0) {
        mcds__record_block_key(&load->blocks_key, load->value.blocks.name, load->odd_block - 1,
                               &scratch->keys[0]);
        scratch->requests[0].key = mcds__key_bytes(&scratch->keys[0]);
        scratch->requests[0].reply.peer = load->odd_peer;
        operation->read = &scratch->requests[0];
    }
    return mcds__operation_explain(operation, MCDS_CORRUPT, detail);
}

static enum mcds__step take_blocks(struct mcds__record_load *load,
                                   struct mcds__operation *operation)
{
    for (uint32_t i = 0; i < operation->batch.count; i++) {
        const mcds_request *request = &load->scratch->requests[i];
        if (request->reply.outcome == MCDS_OUT_MISS)
            return record_load_take_loss(load, operation);
        if (request->reply.outcome != MCDS_OUT_OK) {
            load->stage = LOAD_BEGIN;
            return mcds__operation_retry(operation, &request->reply);
        }
        mcds_bytes block = mcds__operation_value(operation, request);
        if (load->odd_block == 0 &&
            block.length != usual_length(load, operation->store, load->next_block + i)) {
            load->odd_block = load->next_block + i + 1;
            load->odd_peer = request->reply.peer;
        }
        if (!mcds_buffer_append(&load->held, block.data, block.length))
            return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    }
    load->next_block += operation->batch.count;
    assert(load->next_block <= load->value.blocks.count);
    if (load->next_block < load->value.blocks.count)
        return record_load_ask_blocks(load, operation);
    if (load->held.length != load->value.blocks.length)
        return refuse_blocks(load, operation, MCDS__WHY(VALUE_LENGTH));
    if (mcds__crc32c(0, load->held.data, load->held.length) != load->value.blocks.sum)
        return refuse_blocks(load, operation, MCDS__WHY(FOREIGN));
    return record_load_finish(load, operation, true,
                              (mcds_bytes){load->held.data, load->held.length});
}

enum mcds__step mcds__record_load_step(struct mcds__record_load *load,
                                       struct mcds__operation *operation)
{
    assert(load->stage <= LOAD_BLOCKS);
    switch (load->stage) {
    case LOAD_BEGIN:
        return record_load_ask_root(load, operation);
    case LOAD_ROOT:
        return record_load_take_root(load, operation);
    default:
        return take_blocks(load, operation);
    }
}
