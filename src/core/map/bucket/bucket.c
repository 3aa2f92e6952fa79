/* Bucket: the value of a map key in memory, which is the snapshot with the records applied.
 *
 * Applying is deterministic: the same bytes give all clients the same entries and the same
 * outcome of each record. Time comes from the records. */
#include "core/map/bucket/bucket.h"

#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/frame.h"
#include "base/reason.h"
#include "core/map/bucket/apply.h"
#include "core/map/bucket/decode.h"

/* Most keys have few writers. */
#define WRITERS_INDEXED_FROM 16

void mcds__bucket_init(struct mcds__bucket *bucket, const mcds_env *env, mcds_bytes key,
                       mcds_bytes only)
{
    memset(bucket, 0, offsetof(struct mcds__bucket, entries_in));
    bucket->env = env;
    bucket->key = key;
    bucket->only = only;
    bucket->entries = bucket->entries_in;
    bucket->writers = bucket->writers_in;
    bucket->ids = bucket->ids_in;
    bucket->entry_room = MCDS__MAP_ENTRIES_CAPACITY;
    bucket->writer_room = MCDS__MAP_WRITERS_CAPACITY;
    bucket->id_room = MCDS__MAP_IDS_CAPACITY;
    bucket->writers_room = MCDS__MAP_WRITERS_ROOM;
}

void mcds__bucket_free(struct mcds__bucket *bucket)
{
    const mcds_env *env = bucket->env;
    if (bucket->entries != bucket->entries_in)
        mcds__free(env, bucket->entries);
    if (bucket->writers != bucket->writers_in)
        mcds__free(env, bucket->writers);
    if (bucket->ids != bucket->ids_in)
        mcds__free(env, bucket->ids);
    mcds__bucket_index_free(&bucket->entry_index, env);
    mcds__bucket_index_free(&bucket->writer_index, env);
    mcds__bucket_index_free(&bucket->id_index, env);
    mcds__bucket_sorted_free(&bucket->sorted_ids, env);
    mcds__bucket_sorted_free(&bucket->sorted_places, env);
    mcds__map_free_made(bucket);
}

/* Reserve space for `needed` items in all; `inside` is the array inside the struct. */
static bool bucket_reserve(const mcds_env *env, void **array, const void *inside, size_t count,
                           size_t needed, uint32_t *capacity, size_t width)
{
    assert(count <= *capacity && count <= needed);
    uint32_t wider = *capacity;
    while (wider < needed && wider <= UINT32_MAX / 4)
        wider *= 2;
    if (wider < needed)
        return false;
    void *moved = env->reallocate(env->self, *array == inside ? NULL : *array, wider * width);
    if (moved == NULL)
        return false;
    if (*array == inside)
        memcpy(moved, inside, count * width);
    *array = moved;
    assert(wider >= needed);
    *capacity = wider;
    return true;
}

#define RESERVE(bucket, what, counter, more, capacity)                                         \
    ((more) <= (bucket)->capacity - (bucket)->counter ||                                       \
     bucket_reserve((bucket)->env, (void **)&(bucket)->what, (bucket)->what##_in,              \
                    (bucket)->counter, (bucket)->counter + (size_t)(more),                     \
                    &(bucket)->capacity, sizeof(bucket)->what[0]))

/* The hash of an element in this bucket; 0 for all in a bucket of only one. */
static uint64_t hash_in(const struct mcds__bucket *bucket, mcds_bytes element)
{
    return bucket->only.data == NULL ? mcds__map_hash(bucket->hash_key, element) : 0;
}

/* The slot of the element; free if there is no such entry. */
static uint32_t *entry_slot(struct mcds__bucket *bucket, mcds_bytes element, uint64_t hash)
{
    assert(bucket->entry_count <= bucket->entry_index.capacity / 2);
    const struct mcds__bucket_index *index = &bucket->entry_index;
    uint32_t at = mcds__bucket_index_first(index, hash);
    for (; index->slots[at] != 0; at = mcds__bucket_index_next(index, at)) {
        bucket->steps++;
        assert(index->slots[at] <= bucket->entry_count);
        if (mcds__map_same(bucket->entries[index->slots[at] - 1].element, element))
            break;
    }
    return &index->slots[at];
}

/* `hash` as in hash_in(). */
static struct mcds__map_entry *find_entry(struct mcds__bucket *bucket, mcds_bytes element,
                                          uint64_t hash)
{
    if (bucket->entry_index.slots != NULL) {
        uint32_t number = *entry_slot(bucket, element, hash);
        return number != 0 ? &bucket->entries[number - 1] : NULL;
    }
    bucket->steps += bucket->entry_count;
    for (uint32_t i = 0; i < bucket->entry_count; i++)
        if (bucket->entries[i].hash == hash &&
            mcds__map_same(bucket->entries[i].element, element))
            return &bucket->entries[i];
    return NULL;
}

/* Add the newest to the index. False: no memory. */
static bool index_entry(struct mcds__bucket *bucket)
{
    bool cleared;
    uint32_t count = bucket->entry_count;
    if (count < MCDS__MAP_INDEX_FROM)
        return true;
    if (!mcds__bucket_index_reserve(&bucket->entry_index, bucket->env, count, &cleared))
        return false;
    for (uint32_t i = cleared ? 0 : count - 1; i < count; i++)
        *entry_slot(bucket, bucket->entries[i].element, bucket->entries[i].hash) = i + 1;
    return true;
}

/* NULL: no memory. */
static struct mcds__map_entry *add_entry(struct mcds__bucket *bucket, mcds_bytes element,
                                         uint64_t hash)
{
    if (!RESERVE(bucket, entries, entry_count, 1, entry_room))
        return NULL;
    struct mcds__map_entry *entry = &bucket->entries[bucket->entry_count++];
    assert(bucket->entry_count <= bucket->entry_room);
    *entry = (struct mcds__map_entry){.element = element, .hash = hash};
    return index_entry(bucket) ? entry : NULL;
}

static uint32_t *writer_slot(struct mcds__bucket *bucket, uint64_t id)
{
    assert(bucket->writer_count <= bucket->writer_index.capacity / 2);
    const struct mcds__bucket_index *index = &bucket->writer_index;
    uint32_t at = mcds__bucket_index_first(index, id);
    for (; index->slots[at] != 0; at = mcds__bucket_index_next(index, at)) {
        bucket->steps++;
        assert(index->slots[at] <= bucket->writer_count);
        if (bucket->writers[index->slots[at] - 1].id == id)
            break;
    }
    return &index->slots[at];
}

/* The writer of this id, or NULL. */
static struct mcds__map_writer *find_writer(struct mcds__bucket *bucket, uint64_t id)
{
    if (bucket->writer_index.slots != NULL) {
        uint32_t number = *writer_slot(bucket, id);
        return number != 0 ? &bucket->writers[number - 1] : NULL;
    }
    bucket->steps += bucket->writer_count;
    for (uint32_t i = bucket->writer_count; i-- > 0;)
        if (bucket->writers[i].id == id)
            return &bucket->writers[i];
    return NULL;
}

static bool index_writer(struct mcds__bucket *bucket)
{
    bool cleared;
    uint32_t count = bucket->writer_count;
    if (count < WRITERS_INDEXED_FROM)
        return true;
    if (!mcds__bucket_index_reserve(&bucket->writer_index, bucket->env, count, &cleared))
        return false;
    for (uint32_t i = cleared ? 0 : count - 1; i < count; i++)
        *writer_slot(bucket, bucket->writers[i].id) = i + 1;
    return true;
}

/* NULL: no memory. */
static struct mcds__map_writer *add_writer(struct mcds__bucket *bucket, uint64_t id)
{
    if (!RESERVE(bucket, writers, writer_count, 1, writer_room))
        return NULL;
    struct mcds__map_writer *writer = &bucket->writers[bucket->writer_count++];
    assert(bucket->writer_count <= bucket->writer_room);
    *writer = (struct mcds__map_writer){.id = id};
    return index_writer(bucket) ? writer : NULL;
}

static uint32_t *id_slot(struct mcds__bucket *bucket, uint32_t writer, uint32_t seq)
{
    assert(writer < bucket->writer_count);
    const struct mcds__bucket_index *index = &bucket->id_index;
    uint32_t at = mcds__bucket_index_first(index, (uint64_t)writer << 32 | seq);
    for (; index->slots[at] != 0; at = mcds__bucket_index_next(index, at)) {
        const struct mcds__map_id *id = &bucket->ids[index->slots[at] - 1];
        assert(index->slots[at] <= bucket->id_count);
        bucket->steps++;
        if (id->seq == seq && id->writer == writer)
            break;
    }
    return &index->slots[at];
}

/* Add the newest to the index, or all; of two equal ones, the newer. False: no memory. */
static bool index_id(struct mcds__bucket *bucket)
{
    bool cleared;
    uint32_t count = bucket->id_count;
    if (!mcds__bucket_index_reserve(&bucket->id_index, bucket->env, count, &cleared))
        return false;
    for (uint32_t i = cleared ? 0 : count - 1; i < count; i++)
        *id_slot(bucket, bucket->ids[i].writer, bucket->ids[i].seq) = i + 1;
    return true;
}

static bool add_id(struct mcds__bucket *bucket, struct mcds__map_writer *writer, uint32_t seq,
                   enum mcds__map_code code, int64_t number)
{
    assert(code >= MCDS__MAP_CHANGED && code <= MCDS__MAP_CODE_MAX);
    if (!RESERVE(bucket, ids, id_count, 1, id_room))
        return false;
    bucket->ids[bucket->id_count++] = (struct mcds__map_id){
        (uint32_t)(writer - bucket->writers), seq, code, 0, number};
    assert((writer->newest_id == 0) == (writer->first_id == 0));
    assert(writer->newest_id == 0 || bucket->ids[writer->newest_id - 1].next == 0);
    if (writer->newest_id == 0)
        writer->first_id = bucket->id_count;
    else
        bucket->ids[writer->newest_id - 1].next = bucket->id_count;
    assert(writer->newest_id < bucket->id_count); /* ids of a writer rise along its chain */
    writer->newest_id = bucket->id_count;
    if (number != 0 && (writer->last == 0 || bucket->ids[writer->last - 1].seq < seq))
        writer->last = bucket->id_count;
    if (mcds__bucket_sorted_is_used(&bucket->sorted_ids) &&
        !mcds__map_sort_id(bucket, bucket->id_count - 1))
        return false;
    return bucket->id_index.slots == NULL || index_id(bucket);
}

static const struct mcds__map_id *find_id(struct mcds__bucket *bucket, uint32_t writer,
                                          uint32_t seq)
{
    assert(writer < bucket->writer_count);
    if (bucket->id_index.slots != NULL ||
        (bucket->id_count >= MCDS__MAP_INDEX_FROM && index_id(bucket))) {
        uint32_t number = *id_slot(bucket, writer, seq);
        return number != 0 ? &bucket->ids[number - 1] : NULL;
    }
    bucket->steps += bucket->id_count;
    for (uint32_t i = bucket->id_count; i-- > 0;)
        if (bucket->ids[i].seq == seq && bucket->ids[i].writer == writer)
            return &bucket->ids[i];
    return NULL;
}

/* Load the ids of a writer that has none yet. */
static int load_ids(struct mcds__bucket *bucket, struct mcds__map_writer *writer,
                    mcds_bytes snapshot, size_t *at, uint64_t count)
{
    assert(writer->newest_id == 0 && *at <= snapshot.length);
    const uint8_t *bytes = (const uint8_t *)snapshot.data + *at;
    if (count > (snapshot.length - *at) / MCDS__MAP_ID_LENGTH ||
        count > MCDS__MAP_IDS_MAX - bucket->id_count)
        return MCDS_CORRUPT;
    if (!RESERVE(bucket, ids, id_count, count, id_room))
        return MCDS_NO_MEMORY;
    *at += (size_t)count * MCDS__MAP_ID_LENGTH;
    for (; count > 0; count--, bytes += MCDS__MAP_ID_LENGTH) {
        uint32_t seq = mcds__get_u32(bytes);
        uint8_t became = bytes[4];
        if (became == 0 || became > MCDS__MAP_CODE_MAX)
            return became == 0 ? MCDS_CORRUPT : MCDS_UNSUPPORTED;
        if (!add_id(bucket, writer, seq, (enum mcds__map_code)became,
                    (int64_t)mcds__get_u64(bytes + 5)))
            return MCDS_NO_MEMORY;
        if (seq > writer->highest)
            writer->highest = seq;
    }
    return MCDS_OK;
}

static int load_writer(struct mcds__bucket *bucket, mcds_bytes snapshot, size_t *at)
{
    uint64_t id;
    uint32_t low;
    uint32_t newest_s;
    uint64_t ids;
    if (!mcds__bucket_get_u64(snapshot, at, &id) || !mcds__bucket_get_u32(snapshot, at, &low) ||
        !mcds__bucket_get_u32(snapshot, at, &newest_s) ||
        !mcds__bucket_get_varint(snapshot, at, &ids))
        return MCDS_CORRUPT;
    /* Each writer is there once. */
    if (find_writer(bucket, id) != NULL)
        return MCDS_CORRUPT;
    struct mcds__map_writer *writer = add_writer(bucket, id);
    if (writer == NULL)
        return MCDS_NO_MEMORY;
    writer->low = low;
    writer->newest_s = newest_s;
    writer->highest = low;
    return load_ids(bucket, writer, snapshot, at, ids);
}

static int load_entry(struct mcds__bucket *bucket, mcds_bytes snapshot, size_t *at)
{
    uint64_t length;
    uint64_t value_length;
    mcds_bytes element;
    mcds_bytes value;
    int64_t expires_ms = 0;
    if (!mcds__bucket_get_varint(snapshot, at, &length) ||
        !mcds__bucket_get_varint(snapshot, at, &value_length) ||
        !mcds__bucket_get_bytes(snapshot, at, length, &element) ||
        !mcds__map_is_element(element) ||
        !mcds__bucket_get_bytes(snapshot, at, value_length >> 1, &value) ||
        ((value_length & 1) != 0 && !mcds__bucket_get_time(snapshot, at, &expires_ms)))
        return MCDS_CORRUPT;
    if (bucket->only.data != NULL && !mcds__map_same(bucket->only, element))
        return MCDS_OK;
    /* Each element is there once. */
    uint64_t hash = hash_in(bucket, element);
    if (find_entry(bucket, element, hash) != NULL)
        return MCDS_CORRUPT;
    struct mcds__map_entry *entry = add_entry(bucket, element, hash);
    if (entry == NULL)
        return MCDS_NO_MEMORY;
    entry->there = true;
    entry->value = value;
    entry->expires_ms = expires_ms;
    return MCDS_OK;
}

static int load_snapshot(struct mcds__bucket *bucket, mcds_bytes snapshot)
{
    size_t at = 0;
    int result = MCDS_OK;
    uint64_t count;
    if (!mcds__bucket_get_varint(snapshot, &at, &count) || count > MCDS__MAP_ITEMS_MAX)
        return MCDS_CORRUPT;
    for (; count > 0 && result == MCDS_OK; count--)
        result = load_writer(bucket, snapshot, &at);
    if (result == MCDS_OK &&
        (!mcds__bucket_get_varint(snapshot, &at, &count) || count > MCDS__MAP_ITEMS_MAX))
        return MCDS_CORRUPT;
    for (; count > 0 && result == MCDS_OK; count--)
        result = load_entry(bucket, snapshot, &at);
    return result;
}

static inline uint32_t second_of(const struct mcds__map_record *record)
{
    return (uint32_t)(record->time_ms / MS_PER_S);
}

/* A record is void if its writer has given it up, or if it was applied already. */
static bool is_void(struct mcds__bucket *bucket, const struct mcds__map_writer *writer,
                    const struct mcds__map_record *record)
{
    assert(bucket->only.data != NULL || writer->low <= writer->highest);
    if (record->seq < writer->low)
        return true;
    return record->seq <= writer->highest &&
           find_id(bucket, (uint32_t)(writer - bucket->writers), record->seq) != NULL;
}

/* The writer of a record, added if necessary; NULL: no memory. `near` is a writer, or NULL. */
static inline struct mcds__map_writer *writer_of(struct mcds__bucket *bucket, uint64_t id,
                                                 struct mcds__map_writer *near)
{
    if (near != NULL && near->id == id)
        return near;
    struct mcds__map_writer *writer = find_writer(bucket, id);
    return writer != NULL ? writer : add_writer(bucket, id);
}

static int load_record(struct mcds__bucket *bucket, struct mcds__map_writer *writer,
                       const struct mcds__map_record *record)
{
    uint32_t time_s = second_of(record);
    if (is_void(bucket, writer, record))
        return MCDS_OK;
    if (record->low > writer->low)
        writer->low = record->low;
    if (record->seq > writer->highest)
        writer->highest = record->seq;
    if (time_s > writer->newest_s)
        writer->newest_s = time_s;
    assert(writer->low <= record->seq && record->seq <= writer->highest);
    struct mcds__map_effect effect;
    uint64_t hash = hash_in(bucket, record->command.element);
    struct mcds__map_entry *entry = find_entry(bucket, record->command.element, hash);
    if (entry == NULL)
        entry = add_entry(bucket, record->command.element, hash);
    if (entry == NULL || !mcds__bucket_apply(bucket, entry, writer, record, &effect))
        return MCDS_NO_MEMORY;
    return add_id(bucket, writer, record->seq, effect.code, effect.number) ? MCDS_OK
                                                                           : MCDS_NO_MEMORY;
}

/* Of a record of another element than the wanted one, only the oldest number in flight of its
 * writer matters: a repetition of the record has the same element. */
static int load_records(struct mcds__bucket *bucket, mcds_bytes value, size_t at,
                        uint32_t key_sum)
{
    int result = MCDS_OK;
    struct mcds__map_writer *writer = NULL;
    for (uint32_t count = 0; result == MCDS_OK && at < value.length; count++) {
        struct mcds__map_record record;
        mcds_bytes body;
        size_t in_body;
        if (count == MCDS__MAP_ITEMS_MAX || !mcds__map_next_body(value, key_sum, &at, &body))
            return MCDS_CORRUPT;
        assert(at <= value.length);
        if (mcds__map_is_newer(body))
            return MCDS_UNSUPPORTED;
        if (!mcds__map_begin_record(body, &in_body, &record))
            return MCDS_CORRUPT;
        bool is_wanted = bucket->only.data == NULL ||
                         mcds__map_same(bucket->only, record.command.element);
        if (is_wanted && !mcds__map_end_record(body, in_body, &record))
            return MCDS_CORRUPT;
        if (bucket->floor_s != 0 && second_of(&record) < bucket->floor_s)
            continue;
        writer = writer_of(bucket, record.writer, writer);
        if (writer == NULL)
            return MCDS_NO_MEMORY;
        if (is_wanted)
            result = load_record(bucket, writer, &record);
        else if (record.low > writer->low)
            writer->low = record.low;
    }
    return result;
}

int mcds__map_load(struct mcds__bucket *bucket, mcds_bytes value, uint32_t flags)
{
    assert(bucket->entry_count == 0 && bucket->writer_count == 0 && bucket->id_count == 0);
    struct mcds__map_head head;
    enum mcds__map_state state = mcds__map_state_of(flags);
    if (state == MCDS__MAP_FOREIGN)
        return MCDS_CORRUPT;
    int result = mcds__map_open_head(value, bucket->key, flags, &head);
    if (result != MCDS_OK)
        return result;
    bucket->rewrites = head.rewrites;
    bucket->floor_s = head.floor_s;
    assert(head.records_at <= value.length);
    result = load_snapshot(bucket, head.snapshot);
    if (state != MCDS__MAP_OPEN || result != MCDS_OK)
        return result;
    return load_records(bucket, value, head.records_at, head.key_sum);
}

const mcds_reason *mcds__map_reason(int result)
{
    return result == MCDS_UNSUPPORTED ? MCDS__WHY(NEWER) : NULL;
}

const struct mcds__map_entry *mcds__map_find(struct mcds__bucket *bucket, mcds_bytes element)
{
    return find_entry(bucket, element, hash_in(bucket, element));
}

const struct mcds__map_id *mcds__map_outcome(struct mcds__bucket *bucket, uint64_t writer,
                                             uint32_t seq)
{
    const struct mcds__map_writer *found = find_writer(bucket, writer);
    if (found == NULL)
        return NULL;
    return find_id(bucket, (uint32_t)(found - bucket->writers), seq);
}
