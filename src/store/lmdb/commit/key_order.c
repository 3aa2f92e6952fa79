/* Sorts the batches of a long list by their keys.
 *
 * LMDB searches its tree from the root for each key, unless the key is on the page of the
 * previous one. So a thousand keys in their order need half the comparisons.
 *
 * Most keys begin alike. The rows are therefore sorted by the eight bytes that follow the
 * common prefix of all keys: a radix sort from the last byte to the first. It is stable, so
 * the batches of one key keep their order. */
#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "store/lmdb/commit/writer.h"

#define BYTES_SORTED 4 /* of the bytes that differ: the order need not be exact */

static size_t shared_length(mcds_bytes left, mcds_bytes right, size_t length_max)
{
    const uint8_t *a = left.data;
    const uint8_t *b = right.data;
    size_t length = 0;
    while (length < length_max && a[length] == b[length])
        length++;
    return length;
}

/* Gather the batches, and find the length of the common prefix of all keys. */
static size_t lmdb_key_order_gather(mcds_batch *at, const mcds_batch *until,
                                    struct mcds__lmdb_row *rows, size_t capacity,
                                    size_t *shared_out)
{
    mcds_bytes first = at->requests[0].key;
    size_t shared = first.length;
    size_t count = 0;
    for (mcds_batch *batch = mcds__lmdb_skip_answered(at);
         batch != until && batch != NULL && count < capacity;
         batch = mcds__lmdb_skip_answered(batch->next)) {
        mcds_bytes key = batch->requests[0].key;
        if (key.length < shared)
            shared = key.length;
        if (memcmp(key.data, first.data, shared) != 0)
            shared = shared_length(key, first, shared);
        assert(shared <= key.length && shared <= first.length);
        rows[count++].batch = batch;
    }
    *shared_out = shared;
    return count;
}

/* The eight bytes of the key after the first `shared`, as a number, padded with zeros. */
static uint64_t rank_of(mcds_bytes key, size_t shared)
{
    assert(shared <= key.length);
    const uint8_t *bytes = key.data;
    size_t rest = key.length - shared;
    if (rest >= 8)
        return mcds__eight_bytes(bytes + shared);
    if (rest == 0)
        return 0;
    if (key.length >= 8)
        return mcds__eight_bytes(bytes + key.length - 8) << (8 - rest) * 8;
    uint8_t padded[8] = {0};
    memcpy(padded, bytes + shared, rest);
    return mcds__eight_bytes(padded);
}

/* Rank the rows. Returns the bits in which the ranks differ. */
static uint64_t rank(struct mcds__lmdb_row *rows, size_t count, size_t shared)
{
    uint64_t differing = 0;
    for (size_t i = 0; i < count; i++) {
        rows[i].rank = rank_of(rows[i].batch->requests[0].key, shared);
        differing |= rows[i].rank ^ rows[0].rank;
    }
    return differing;
}

/* Sort stably by one byte of the rank. */
static void sort_by_byte(const struct mcds__lmdb_row *from, struct mcds__lmdb_row *to,
                         size_t count, unsigned shift)
{
    uint32_t starts[257] = {0};
    for (size_t i = 0; i < count; i++)
        starts[(from[i].rank >> shift & 255) + 1]++;
    for (size_t i = 1; i < 257; i++)
        starts[i] += starts[i - 1];
    for (size_t i = 0; i < count; i++) {
        assert(starts[from[i].rank >> shift & 255] < count);
        to[starts[from[i].rank >> shift & 255]++] = from[i];
    }
}

/* The lowest byte to sort by. */
static unsigned lowest_shift(uint64_t differing)
{
    unsigned left = BYTES_SORTED;
    unsigned lowest = 64;
    for (unsigned shift = 64; shift > 0 && left > 0;) {
        shift -= 8;
        assert(shift <= 56 && left <= BYTES_SORTED);
        if ((differing >> shift & 255) == 0)
            continue;
        lowest = shift;
        left--;
    }
    return lowest;
}

struct mcds__lmdb_row *mcds__lmdb_key_order(const mcds_env *env, mcds_batch *at,
                                            const mcds_batch *until, size_t capacity,
                                            size_t *count_out)
{
    struct mcds__lmdb_row *rows = mcds__allocate(env, 2 * capacity * sizeof *rows);
    if (rows == NULL)
        return NULL;
    size_t shared;
    size_t count = lmdb_key_order_gather(at, until, rows, capacity, &shared);
    assert(count <= capacity);
    uint64_t differing = rank(rows, count, shared);
    struct mcds__lmdb_row *from = rows;
    struct mcds__lmdb_row *to = rows + capacity;
    for (unsigned shift = lowest_shift(differing); shift < 64; shift += 8) {
        if ((differing >> shift & 255) == 0)
            continue;
        sort_by_byte(from, to, count, shift);
        struct mcds__lmdb_row *sorted = to;
        to = from;
        from = sorted;
    }
    assert(from == rows || from == rows + capacity);
    if (from != rows)
        memcpy(rows, from, count * sizeof *rows);
    *count_out = count;
    return rows;
}
