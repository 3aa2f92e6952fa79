/* Records and slots of exact counters: any bytes in a right frame are one or are refused; what is
 * decoded is written again as the same bytes, and slots merge in any order to the same sum. */
#include "target.h"

#include <string.h>

#include "base/buffer.h"
#include "base/frame.h"
#include "core/record/value.h"
#include "core/replica/state.h"

static const mcds_bytes key = {"mcds:a1:fuzz", 12};

static mcds_bytes seal(uint8_t *out, size_t capacity, char type, const uint8_t *data,
                       size_t size)
{
    size_t length = size < capacity - MCDS__FRAME_OVERHEAD ? size
                                                           : capacity - MCDS__FRAME_OVERHEAD;
    memcpy(out + MCDS__FRAME_HEAD, data, length);
    return (mcds_bytes){out, mcds__frame_seal(out, type, 1, key, length)};
}

static void decode_record(mcds_bytes bytes)
{
    struct mcds__record_value value;
    mcds_buffer again;
    if (!mcds__record_decode(bytes, key, &value))
        return;
    MUST(value.id_count <= MCDS__RECORD_IDS && value.inlined.length < bytes.length);
    mcds__buffer_init(&again, mcds_env_system(), (size_t)1 << 20);
    MUST(mcds__record_encode(&value, key, &again));
    MUST(again.length == bytes.length && memcmp(again.data, bytes.data, bytes.length) == 0);
    struct mcds__record_id id = {7, 7};
    mcds__record_push_id(&value, id);
    MUST(mcds__record_has_id(&value, id) && value.id_count <= MCDS__RECORD_IDS);
    mcds__buffer_free(&again);
}

static bool decode_slot(mcds_bytes bytes, struct mcds__replica_state *state)
{
    static uint8_t again[MCDS__REPLICA_VALUE_MAX];
    if (!mcds__replica_decode(bytes, key, state))
        return false;
    MUST(state->count <= MCDS__REPLICA_ENTRIES_MAX);
    size_t length = mcds__replica_encode(state, key, again);
    MUST(length == bytes.length && memcmp(again, bytes.data, length) == 0);
    return true;
}

/* Entries from bytes, by owner, rising. */
static struct mcds__replica_state make_slot(const uint8_t *data, size_t size)
{
    struct mcds__replica_state state = {.epoch = size > 0 ? data[0] % 3u : 0, .base = size};
    for (size_t i = 1; i + 4 <= size && state.count < MCDS__REPLICA_ENTRIES_MAX / 2; i += 4) {
        struct mcds__replica_entry *entry = mcds__replica_find(&state, data[i]);
        if (entry == NULL)
            entry = mcds__replica_insert(&state, data[i]);
        MUST(entry != NULL);
        entry->version = data[i + 1];
        /* One owner at one version has added one sum. */
        entry->mine = (uint64_t)data[i] * 1000 + data[i + 1];
        entry->settled = data[i + 2];
        entry->flags = data[i + 3] & 3;
    }
    return state;
}

static void merge(const uint8_t *data, size_t size)
{
    static uint8_t capacity[MCDS__REPLICA_VALUE_MAX];
    struct mcds__replica_state one = make_slot(data, size / 2);
    struct mcds__replica_state other = make_slot(data + size / 2, size - size / 2);
    struct mcds__replica_state forth = one;
    struct mcds__replica_state back = other;
    bool fits = mcds__replica_merge(&forth, &other);
    MUST(mcds__replica_merge(&back, &one) == fits);
    if (!fits)
        return;
    MUST(forth.epoch == back.epoch && forth.count == back.count);
    if (one.epoch != other.epoch)
        MUST(mcds__replica_sum(&forth) == mcds__replica_sum(&back));
    struct mcds__replica_state twice = forth;
    MUST(mcds__replica_merge(&twice, &one) && mcds__replica_merge(&twice, &forth));
    MUST(twice.count == forth.count && mcds__replica_sum(&twice) == mcds__replica_sum(&forth));
    mcds__replica_mark(&twice, 1000, 3);
    uint64_t sum = mcds__replica_sum(&twice);
    mcds__replica_compact(&twice, 1000);
    MUST(mcds__replica_sum(&twice) == sum);
    struct mcds__replica_state decoded;
    size_t length = mcds__replica_encode(&twice, key, capacity);
    MUST(decode_slot((mcds_bytes){capacity, length}, &decoded));
    MUST(mcds__replica_sum(&decoded) == sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t frame[2048];
    struct mcds__replica_state state;
    decode_record((mcds_bytes){data, size});
    (void)decode_slot((mcds_bytes){data, size}, &state);
    decode_record(seal(frame, sizeof frame, 'R', data, size));
    (void)decode_slot(seal(frame, sizeof frame, 'X', data, size), &state);
    /* Most bytes are far from a record: make the kind and the number of ids likely ones. */
    if (size > 18) {
        uint8_t near[1024];
        size_t length = size < sizeof near ? size : sizeof near;
        memcpy(near, data, length);
        near[16] = data[16] % 5;
        near[17] = data[17] % 18;
        decode_record(seal(frame, sizeof frame, 'R', near, length));
        decode_record(
            seal(frame, sizeof frame, 'R', near,
                 30 + near[17] * 12u + 20u <= length ? 30 + near[17] * 12u + 20u : length));
    }
    merge(data, size);
    return 0;
}
