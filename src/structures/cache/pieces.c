/* Cache: a large value, in pieces under keys of their own. */
#include "structures/cache/pieces.h"

#include <assert.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/hash/crc32c.h"

#define PIECE_MAX ((size_t)512 << 10)

size_t mcds__cache_piece_length(const mcds_cache *cache)
{
    uint64_t most = mcds__store_can(cache->handle.store).value_max / 2;
    return most < PIECE_MAX ? (size_t)most : PIECE_MAX;
}

void mcds__cache_transfer_begin(struct mcds__cache_transfer *transfer, const mcds_cache *cache,
                                const char *suffix, size_t suffix_length,
                                const struct mcds__cache_pieces *pieces)
{
    assert(pieces->length > 0 && pieces->piece_length > 0);
    transfer->pieces = *pieces;
    transfer->begin = mcds__cache_key(&cache->pieces, suffix, suffix_length);
    mcds__key_add_hex(&transfer->begin, pieces->life, 16);
    transfer->route = mcds__cache_key(&cache->items, suffix, suffix_length);
    transfer->next = 0;
    transfer->is_asked = false;
    mcds__buffer_free(&transfer->held);
    mcds__buffer_init(&transfer->held, mcds__store_env(cache->handle.store),
                      MCDS__CACHE_VALUE_MAX + PIECE_MAX);
}

void mcds__cache_transfer_free(struct mcds__cache_transfer *transfer, const mcds_env *env)
{
    mcds__buffer_free(&transfer->held);
    mcds__free(env, transfer->scratch);
    transfer->scratch = NULL;
}

static uint32_t piece_count(const struct mcds__cache_pieces *pieces)
{
    uint64_t count = (pieces->length + pieces->piece_length - 1) / pieces->piece_length;
    assert(count > 0 && count <= MCDS__CACHE_VALUE_MAX);
    return (uint32_t)count;
}

/* Ask for the next pieces: GET, or SET of their part of `value`. */
static enum mcds__step transfer_ask(struct mcds__cache_transfer *transfer,
                                    struct mcds__operation *operation, mcds_command command,
                                    mcds_bytes value, uint64_t ttl_ms)
{
    const struct mcds__cache_pieces *pieces = &transfer->pieces;
    uint32_t all = piece_count(pieces);
    uint32_t count = 0;
    if (transfer->scratch == NULL)
        transfer->scratch = mcds__allocate(operation->env, sizeof *transfer->scratch);
    struct mcds__cache_piece_scratch *scratch = transfer->scratch;
    if (scratch == NULL)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    for (; count < MCDS__CACHE_BATCH && transfer->next + count < all; count++) {
        uint64_t at = (uint64_t)(transfer->next + count) * pieces->piece_length;
        uint64_t left = pieces->length - at;
        scratch->keys[count] = transfer->begin;
        mcds__key_add_number(&scratch->keys[count], transfer->next + count);
        scratch->requests[count] = (mcds_request){
            .command = command,
            .ttl_ms = ttl_ms,
            .key = mcds__key_bytes(&scratch->keys[count]),
            .route = mcds__key_bytes(&transfer->route),
        };
        if (command == MCDS_SET)
            scratch->requests[count].value = (mcds_bytes){
                (const uint8_t *)value.data + at,
                left < pieces->piece_length ? (size_t)left : pieces->piece_length};
    }
    assert(count > 0);
    transfer->is_asked = true;
    operation->connection = 0;
    (void)mcds__operation_ask_repeatable(operation, scratch->requests, count);
    operation->batch.independent = true;
    return MCDS__ASK;
}

/* Whether the value that was read is the one that was stored. */
static bool transfer_is_whole(const struct mcds__cache_transfer *transfer)
{
    return transfer->held.length == transfer->pieces.length &&
           mcds__crc32c(0, transfer->held.data, transfer->held.length) == transfer->pieces.sum;
}

static enum mcds__step transfer_take_read(struct mcds__cache_transfer *transfer,
                                          struct mcds__operation *operation)
{
    uint32_t count = operation->batch.count;
    transfer->is_asked = false;
    const mcds_reply *trouble = mcds__first_trouble(transfer->scratch->requests, count);
    if (trouble != NULL)
        return mcds__operation_retry(operation, trouble);
    for (uint32_t i = 0; i < count; i++) {
        const mcds_request *request = &transfer->scratch->requests[i];
        mcds_bytes piece = mcds__operation_value(operation, request);
        if (request->reply.outcome == MCDS_OUT_MISS ||
            transfer->held.length + piece.length > transfer->pieces.length)
            return mcds__operation_finish(operation, MCDS_NOT_FOUND);
        if (!mcds_buffer_append(&transfer->held, piece.data, piece.length))
            return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    }
    transfer->next += count;
    if (transfer->next == piece_count(&transfer->pieces))
        return mcds__operation_finish(operation,
                                      transfer_is_whole(transfer) ? MCDS_OK : MCDS_NOT_FOUND);
    mcds__operation_renew(operation);
    return transfer_ask(transfer, operation, MCDS_GET, (mcds_bytes){NULL, 0}, 0);
}

enum mcds__step mcds__cache_transfer_read_step(struct mcds__cache_transfer *transfer,
                                               struct mcds__operation *operation)
{
    if (transfer->is_asked)
        return transfer_take_read(transfer, operation);
    return transfer_ask(transfer, operation, MCDS_GET, (mcds_bytes){NULL, 0}, 0);
}

enum mcds__step mcds__cache_transfer_write_step(struct mcds__cache_transfer *transfer,
                                                struct mcds__operation *operation,
                                                mcds_bytes value, uint64_t ttl_ms)
{
    assert(value.length == transfer->pieces.length);
    if (transfer->is_asked) {
        uint32_t count = operation->batch.count;
        transfer->is_asked = false;
        const mcds_reply *trouble = mcds__first_trouble(transfer->scratch->requests, count);
        if (trouble != NULL)
            return mcds__operation_retry(operation, trouble);
        transfer->next += count;
        if (transfer->next == piece_count(&transfer->pieces))
            return mcds__operation_finish(operation, MCDS_OK);
        mcds__operation_renew(operation);
    }
    return transfer_ask(transfer, operation, MCDS_SET, value, ttl_ms);
}
