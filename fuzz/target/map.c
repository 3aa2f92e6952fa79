/* Folds: no bytes are more than a value, also where all sums are right; what is loaded can be
 * written and loaded again, whole or in its children, and has the same entries. */
#include "input.h"
#include "target.h"

#include <string.h>

#include "base/buffer.h"
#include "base/hash/crc32c.h"
#include "core/map/bucket/bucket.h"
#include "core/map/bucket/decode.h"
#include "support/map_record.h"

#define KEY "mcds:s1:fuzz"
#define NOW_MS INT64_C(1700000000000)
#define OPEN_FLAGS MCDS__MAP_OPEN
#define VALUE_CAPACITY 8192
#define RECORDS_MAX 64

static const mcds_bytes key = {KEY, sizeof KEY - 1};
static const mcds_bytes all = {NULL, 0};

/* Entries that are there, or will be for a while. */
static uint32_t count_kept(const struct mcds__bucket *bucket)
{
    uint32_t count;
    size_t weight = mcds__map_weight(bucket, NOW_MS, &count);
    MUST(count <= bucket->entry_count && (weight > 0) == (count > 0));
    return count;
}

/* Loaded again it has as many entries, and those that are there are the same: all, or those of a
 * child. */
static uint32_t reload(struct mcds__bucket *bucket, mcds_bytes where, mcds_buffer *value,
                       uint32_t flags, const uint32_t *child)
{
    struct mcds__bucket again;
    mcds__bucket_init(&again, mcds_env_system(), where, all);
    MUST(mcds__map_load(&again, (mcds_bytes){value->data, value->length}, flags) == MCDS_OK);
    uint32_t count = count_kept(&again);
    for (uint32_t i = 0; i < again.entry_count; i++) {
        const struct mcds__map_entry *entry = &again.entries[i];
        const struct mcds__map_entry *first = mcds__map_find(bucket, entry->element);
        if (first == NULL || !mcds__map_is_there(first, NOW_MS) ||
            !mcds__map_is_there(entry, NOW_MS))
            continue;
        MUST(child == NULL || entry->hash >> (64 - MCDS__MAP_LEVEL_BITS) == *child);
    }
    mcds__bucket_free(&again);
    mcds__buffer_free(value);
    return count;
}

static uint32_t reload_all(struct mcds__bucket *bucket)
{
    mcds_buffer value;
    uint32_t flags;
    mcds__buffer_init(&value, mcds_env_system(), (size_t)1 << 24);
    MUST(mcds__bucket_encode(bucket, key, MCDS__MAP_OPEN, NOW_MS, &value, &flags));
    return reload(bucket, key, &value, flags, NULL);
}

static uint32_t reload_children(struct mcds__bucket *bucket)
{
    struct mcds__key keys[MCDS__MAP_CHILDREN];
    mcds_buffer values[MCDS__MAP_CHILDREN];
    uint32_t flags[MCDS__MAP_CHILDREN];
    uint32_t count = 0;
    for (uint32_t i = 0; i < MCDS__MAP_CHILDREN; i++) {
        mcds__key_begin(&keys[i], "mcds", "e", "child");
        mcds__buffer_init(&values[i], mcds_env_system(), (size_t)1 << 24);
    }
    MUST(mcds__bucket_split(bucket, 0, NOW_MS, keys, values, flags));
    for (uint32_t i = 0; i < MCDS__MAP_CHILDREN; i++)
        count += reload(bucket, mcds__key_bytes(&keys[i]), &values[i], flags[i], &i);
    return count;
}

static int load(mcds_bytes value, uint32_t flags)
{
    struct mcds__bucket bucket;
    mcds__bucket_init(&bucket, mcds_env_system(), key, all);
    int result = mcds__map_load(&bucket, value, flags);
    MUST(result == MCDS_OK || result == MCDS_CORRUPT || result == MCDS_UNSUPPORTED);
    if (result == MCDS_OK) {
        uint32_t count = count_kept(&bucket);
        MUST(reload_all(&bucket) == count);
        MUST(reload_children(&bucket) == count);
    }
    mcds__bucket_free(&bucket);
    return result;
}

/* A value whose snapshot and bodies of records are the input, with the right sums. */
static void frame(struct fuzz_input input, uint32_t flags)
{
    uint8_t capacity[VALUE_CAPACITY];
    mcds_buffer value;
    mcds__buffer_init_in(&value, mcds_env_system(), sizeof capacity, capacity, sizeof capacity);
    value.length = MCDS__MAP_HEAD;
    uint32_t floor_s = next_byte(&input);
    mcds_bytes snapshot = next_bytes(&input, 255);
    MUST(mcds_buffer_append(&value, snapshot.data, snapshot.length));
    struct mcds__map_head head = {.rewrites = 1, .floor_s = floor_s};
    mcds__map_seal_head(&value, key, flags, &head);
    while (input.left > 0) {
        static const uint8_t mark = 0xA7;
        mcds_bytes body = next_bytes(&input, 120);
        uint32_t sum = mcds__crc32c(mcds__crc32c(0, key.data, key.length), body.data,
                                    body.length);
        if (!mcds_buffer_append(&value, &mark, 1) ||
            !mcds__bucket_put_varint(&value, body.length) ||
            !mcds__bucket_put_u32(&value, sum) ||
            !mcds_buffer_append(&value, body.data, body.length))
            break;
    }
    (void)load((mcds_bytes){value.data, value.length}, flags);
    mcds__buffer_free(&value);
}

/* Whoever asks for one element finds what is there among all. */
static void look_alone(mcds_bytes value, uint32_t flags)
{
    struct mcds__bucket bucket;
    mcds__bucket_init(&bucket, mcds_env_system(), key, all);
    MUST(mcds__map_load(&bucket, value, flags) == MCDS_OK);
    for (uint32_t i = 0; i < bucket.entry_count; i++) {
        const struct mcds__map_entry *entry = &bucket.entries[i];
        struct mcds__bucket alone;
        mcds__bucket_init(&alone, mcds_env_system(), key, entry->element);
        MUST(mcds__map_load(&alone, value, flags) == MCDS_OK);
        const struct mcds__map_entry *found = mcds__map_find(&alone, entry->element);
        MUST((found != NULL && found->there) == entry->there);
        if (entry->there) {
            MUST(found->expires_ms == entry->expires_ms);
            MUST(mcds__map_same(found->value, entry->value));
        }
        mcds__bucket_free(&alone);
    }
    mcds__bucket_free(&bucket);
}

/* Records as they are written, of few writers on few elements: they are read back as they were,
 * and always apply. */
static void commands(struct fuzz_input input)
{
    struct mcds__bucket bucket;
    mcds_buffer value;
    uint32_t flags;
    bool has_places = false;
    mcds__buffer_init(&value, mcds_env_system(), (size_t)1 << 20);
    mcds__bucket_init(&bucket, mcds_env_system(), key, all);
    MUST(mcds__bucket_encode(&bucket, key, MCDS__MAP_OPEN, NOW_MS, &value, &flags));
    for (int i = 0; i < RECORDS_MAX && input.left > 0; i++) {
        static const char names[] = "aabbbcc";
        uint8_t chance = next_byte(&input);
        uint32_t seq = 1000u + next_byte(&input);
        struct mcds__map_record read;
        struct mcds__map_record record = {
            .command = {.verb = (enum mcds__map_verb)(1 + chance % MCDS__MAP_VERB_MAX),
                        .element = {names + seq % 5, 1 + seq % 3},
                        .value = next_bytes(&input, 9),
                        .expected = (chance & 128) != 0 ? next_bytes(&input, 9) : all,
                        .delta = (int64_t)(((uint64_t)next_byte(&input) << chance % 64) -
                                           chance),
                        .expires_ms = (chance & 64) != 0 ? NOW_MS + next_byte(&input) - 128
                                                         : 0},
            .writer = chance & 3u,
            .seq = seq,
            .time_ms = NOW_MS - next_byte(&input) * 1000,
        };
        /* A record that comes twice is of the same element, and tells the same of its writer. */
        record.low = record.seq - record.seq * 37 % 61;
        has_places = has_places || record.command.verb == MCDS__MAP_PUSH;
        size_t at = value.length;
        MUST(map_record_put(&value, key, &record));
        MUST(map_record_next((mcds_bytes){value.data, value.length}, mcds__map_key_sum(key),
                             &at, &read) == MCDS_OK);
        MUST(at == value.length && read.command.verb == record.command.verb);
        MUST(read.command.delta == record.command.delta && read.low == record.low);
        MUST(read.command.value.length == record.command.value.length);
    }
    MUST(load((mcds_bytes){value.data, value.length}, flags) == MCDS_OK);
    /* The places that are pushed depend on all others. */
    if (!has_places)
        look_alone((mcds_bytes){value.data, value.length}, flags);
    mcds__bucket_free(&bucket);
    /* Any bit of it is covered by a sum. */
    if (value.length > 0) {
        size_t bit = (input.left * 257 + value.length * 31) % (value.length * 8);
        value.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        MUST(load((mcds_bytes){value.data, value.length}, flags) == MCDS_CORRUPT);
    }
    mcds__buffer_free(&value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (uint32_t flags = 0; flags < 4; flags++)
        (void)load((mcds_bytes){data, size}, flags);
    frame((struct fuzz_input){data, size}, OPEN_FLAGS);
    frame((struct fuzz_input){data, size}, MCDS__MAP_SEALED);
    commands((struct fuzz_input){data, size});
    return 0;
}
