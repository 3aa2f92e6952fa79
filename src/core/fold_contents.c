/* What a fold key's value comes to: the snapshot with its records applied, in memory.
 *
 * Applying is deterministic: whoever folds the same bytes gets the same entries and the same
 * outcome of each record. Time comes from the records. */
#include "core/fold_contents.h"

#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/frame.h"
#include "base/reason.h"
#include "core/fold_apply.h"
#include "core/fold_read.h"

/* Most keys have few writers. */
#define WRITERS_INDEXED_FROM 16

struct mcds__fold_chunk {
    struct mcds__fold_chunk *next;
    uint8_t bytes[];
};

uint8_t *mcds__fold_make(struct mcds__fold_contents *contents, size_t length)
{
    struct mcds__fold_chunk *chunk = mcds__allocate(contents->env, sizeof *chunk + length);
    if (chunk == NULL)
        return NULL;
    chunk->next = contents->chunks;
    contents->chunks = chunk;
    return chunk->bytes;
}

void mcds__fold_contents_init(struct mcds__fold_contents *contents, const mcds_env *env,
                              mcds_bytes key, mcds_bytes only)
{
    contents->env = env;
    contents->key = key;
    contents->only = only;
    contents->entries = contents->entries_in;
    contents->writers = contents->writers_in;
    contents->ids = contents->ids_in;
    contents->entry_index = contents->writer_index = contents->id_index =
        (struct mcds__fold_index){NULL, 0, 0};
    contents->hash_key[0] = contents->hash_key[1] = 0;
    contents->entry_count = contents->writer_count = contents->id_count = 0;
    contents->entry_room = MCDS__FOLD_ENTRIES_ROOM;
    contents->writer_room = MCDS__FOLD_WRITERS_ROOM;
    contents->id_room = MCDS__FOLD_IDS_ROOM;
    contents->rewrites = 0;
    contents->floor_s = 0;
    contents->steps = 0;
    contents->form = 0;
    contents->order_last = 0;
    contents->sorted_ids = contents->sorted_places = (struct mcds__fold_sorted){0};
    contents->chunks = NULL;
}

void mcds__fold_contents_free(struct mcds__fold_contents *contents)
{
    const mcds_env *env = contents->env;
    if (contents->entries != contents->entries_in)
        mcds__free(env, contents->entries);
    if (contents->writers != contents->writers_in)
        mcds__free(env, contents->writers);
    if (contents->ids != contents->ids_in)
        mcds__free(env, contents->ids);
    mcds__fold_index_free(&contents->entry_index, env);
    mcds__fold_index_free(&contents->writer_index, env);
    mcds__fold_index_free(&contents->id_index, env);
    mcds__fold_sorted_free(&contents->sorted_ids, env);
    mcds__fold_sorted_free(&contents->sorted_places, env);
    for (struct mcds__fold_chunk *chunk = contents->chunks, *next; chunk != NULL;
         chunk = next) {
        next = chunk->next;
        mcds__free(env, chunk);
    }
}

/* Room for `needed` in all; `inside` is where the array began. */
static bool reserve(const mcds_env *env, void **array, const void *inside, size_t count,
                    size_t needed, uint32_t *room, size_t width)
{
    uint32_t wider = *room;
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
    *room = wider;
    return true;
}

#define RESERVE(contents, what, counter, more, room)                                           \
    ((more) <= (contents)->room - (contents)->counter ||                                       \
     reserve((contents)->env, (void **)&(contents)->what, (contents)->what##_in,               \
             (contents)->counter, (size_t)(contents)->counter + (more), &(contents)->room,     \
             sizeof(contents)->what[0]))

/* The slot of the element: free where there is no such entry. */
static uint32_t *entry_slot(struct mcds__fold_contents *contents, mcds_bytes element,
                            uint64_t hash)
{
    const struct mcds__fold_index *index = &contents->entry_index;
    uint32_t at = mcds__fold_index_first(index, hash);
    for (; index->slots[at] != 0; at = mcds__fold_index_next(index, at)) {
        contents->steps++;
        if (mcds__fold_same(contents->entries[index->slots[at] - 1].element, element))
            break;
    }
    return &index->slots[at];
}

static struct mcds__fold_entry *find_entry(struct mcds__fold_contents *contents,
                                           mcds_bytes element)
{
    if (contents->entry_index.slots != NULL) {
        uint64_t hash = mcds__fold_hash(contents->hash_key, element);
        uint32_t number = *entry_slot(contents, element, hash);
        return number != 0 ? &contents->entries[number - 1] : NULL;
    }
    contents->steps += contents->entry_count;
    for (uint32_t i = 0; i < contents->entry_count; i++)
        if (mcds__fold_same(contents->entries[i].element, element))
            return &contents->entries[i];
    return NULL;
}

/* Enters the newest. False: no memory. */
static bool index_entry(struct mcds__fold_contents *contents)
{
    bool cleared;
    uint32_t count = contents->entry_count;
    if (count < MCDS__FOLD_INDEX_FROM)
        return true;
    if (!mcds__fold_index_reserve(&contents->entry_index, contents->env, count, &cleared))
        return false;
    for (uint32_t i = cleared ? 0 : count - 1; i < count; i++)
        *entry_slot(contents, contents->entries[i].element, contents->entries[i].hash) = i + 1;
    return true;
}

/* NULL: no memory. */
static struct mcds__fold_entry *add_entry(struct mcds__fold_contents *contents,
                                          mcds_bytes element)
{
    if (!RESERVE(contents, entries, entry_count, 1, entry_room))
        return NULL;
    struct mcds__fold_entry *entry = &contents->entries[contents->entry_count++];
    *entry = (struct mcds__fold_entry){.element = element};
    if (contents->only.at == NULL)
        entry->hash = mcds__fold_hash(contents->hash_key, element);
    return index_entry(contents) ? entry : NULL;
}

static uint32_t *writer_slot(struct mcds__fold_contents *contents, uint64_t id)
{
    const struct mcds__fold_index *index = &contents->writer_index;
    uint32_t at = mcds__fold_index_first(index, id);
    for (; index->slots[at] != 0; at = mcds__fold_index_next(index, at)) {
        contents->steps++;
        if (contents->writers[index->slots[at] - 1].id == id)
            break;
    }
    return &index->slots[at];
}

struct mcds__fold_writer *mcds__fold_find_writer(struct mcds__fold_contents *contents,
                                                 uint64_t id)
{
    if (contents->writer_index.slots != NULL) {
        uint32_t number = *writer_slot(contents, id);
        return number != 0 ? &contents->writers[number - 1] : NULL;
    }
    contents->steps += contents->writer_count;
    for (uint32_t i = contents->writer_count; i-- > 0;)
        if (contents->writers[i].id == id)
            return &contents->writers[i];
    return NULL;
}

static bool index_writer(struct mcds__fold_contents *contents)
{
    bool cleared;
    uint32_t count = contents->writer_count;
    if (count < WRITERS_INDEXED_FROM)
        return true;
    if (!mcds__fold_index_reserve(&contents->writer_index, contents->env, count, &cleared))
        return false;
    for (uint32_t i = cleared ? 0 : count - 1; i < count; i++)
        *writer_slot(contents, contents->writers[i].id) = i + 1;
    return true;
}

/* NULL: no memory. */
static struct mcds__fold_writer *add_writer(struct mcds__fold_contents *contents, uint64_t id)
{
    if (!RESERVE(contents, writers, writer_count, 1, writer_room))
        return NULL;
    struct mcds__fold_writer *writer = &contents->writers[contents->writer_count++];
    *writer = (struct mcds__fold_writer){.id = id};
    return index_writer(contents) ? writer : NULL;
}

static uint32_t *id_slot(struct mcds__fold_contents *contents, uint32_t writer, uint32_t seq)
{
    const struct mcds__fold_index *index = &contents->id_index;
    uint32_t at = mcds__fold_index_first(index, (uint64_t)writer << 32 | seq);
    for (; index->slots[at] != 0; at = mcds__fold_index_next(index, at)) {
        const struct mcds__fold_id *id = &contents->ids[index->slots[at] - 1];
        contents->steps++;
        if (id->seq == seq && id->writer == writer)
            break;
    }
    return &index->slots[at];
}

/* Enters the newest, or all; of two that are the same, the newer. False: no memory. */
static bool index_id(struct mcds__fold_contents *contents)
{
    bool cleared;
    uint32_t count = contents->id_count;
    if (!mcds__fold_index_reserve(&contents->id_index, contents->env, count, &cleared))
        return false;
    for (uint32_t i = cleared ? 0 : count - 1; i < count; i++)
        *id_slot(contents, contents->ids[i].writer, contents->ids[i].seq) = i + 1;
    return true;
}

static bool add_id(struct mcds__fold_contents *contents, struct mcds__fold_writer *writer,
                   uint32_t seq, enum mcds__fold_code code, int64_t number)
{
    if (!RESERVE(contents, ids, id_count, 1, id_room))
        return false;
    contents->ids[contents->id_count++] = (struct mcds__fold_id){
        (uint32_t)(writer - contents->writers), seq, code, 0, number};
    if (writer->newest_id == 0)
        writer->first_id = contents->id_count;
    else
        contents->ids[writer->newest_id - 1].next = contents->id_count;
    writer->newest_id = contents->id_count;
    if (number != 0 && (writer->last == 0 || contents->ids[writer->last - 1].seq < seq))
        writer->last = contents->id_count;
    if (mcds__fold_sorted_is_used(&contents->sorted_ids) &&
        !mcds__fold_sort_id(contents, contents->id_count - 1))
        return false;
    return contents->id_index.slots == NULL || index_id(contents);
}

static const struct mcds__fold_id *find_id(struct mcds__fold_contents *contents,
                                           uint32_t writer, uint32_t seq)
{
    if (contents->id_index.slots != NULL ||
        (contents->id_count >= MCDS__FOLD_INDEX_FROM && index_id(contents))) {
        uint32_t number = *id_slot(contents, writer, seq);
        return number != 0 ? &contents->ids[number - 1] : NULL;
    }
    contents->steps += contents->id_count;
    for (uint32_t i = contents->id_count; i-- > 0;)
        if (contents->ids[i].seq == seq && contents->ids[i].writer == writer)
            return &contents->ids[i];
    return NULL;
}

#define ID_LENGTH 13 /* in a snapshot */

/* The ids of a writer that has none yet. */
static int load_ids(struct mcds__fold_contents *contents, struct mcds__fold_writer *writer,
                    mcds_bytes snapshot, size_t *at, uint64_t count)
{
    const uint8_t *bytes = (const uint8_t *)snapshot.at + *at;
    if (count > (snapshot.length - *at) / ID_LENGTH)
        return MCDS_CORRUPT;
    if (!RESERVE(contents, ids, id_count, count, id_room))
        return MCDS_NO_MEMORY;
    *at += (size_t)count * ID_LENGTH;
    for (; count > 0; count--, bytes += ID_LENGTH) {
        uint32_t seq = (uint32_t)mcds__fold_load_number(bytes, 4);
        uint8_t became = bytes[4];
        if (became == 0 || became > MCDS__FOLD_CODE_MAX)
            return became == 0 ? MCDS_CORRUPT : MCDS_UNSUPPORTED;
        if (!add_id(contents, writer, seq, (enum mcds__fold_code)became,
                    (int64_t)mcds__fold_load_number(bytes + 5, 8)))
            return MCDS_NO_MEMORY;
        if (seq > writer->highest)
            writer->highest = seq;
    }
    return MCDS_OK;
}

static int load_writer(struct mcds__fold_contents *contents, mcds_bytes snapshot, size_t *at)
{
    uint64_t id;
    uint32_t low;
    uint32_t newest_s;
    uint64_t ids;
    if (!mcds__fold_get_u64(snapshot, at, &id) || !mcds__fold_get_u32(snapshot, at, &low) ||
        !mcds__fold_get_u32(snapshot, at, &newest_s) ||
        !mcds__fold_get_varint(snapshot, at, &ids))
        return MCDS_CORRUPT;
    /* Each writer is there once. */
    if (mcds__fold_find_writer(contents, id) != NULL)
        return MCDS_CORRUPT;
    struct mcds__fold_writer *writer = add_writer(contents, id);
    if (writer == NULL)
        return MCDS_NO_MEMORY;
    writer->low = low;
    writer->newest_s = newest_s;
    writer->highest = low;
    return load_ids(contents, writer, snapshot, at, ids);
}

static int load_entry(struct mcds__fold_contents *contents, mcds_bytes snapshot, size_t *at)
{
    uint64_t length;
    uint64_t value_length;
    mcds_bytes element;
    mcds_bytes value;
    int64_t expires_ms = 0;
    if (!mcds__fold_get_varint(snapshot, at, &length) ||
        !mcds__fold_get_varint(snapshot, at, &value_length) ||
        !mcds__fold_get_bytes(snapshot, at, length, &element) ||
        !mcds__fold_is_element(element) ||
        !mcds__fold_get_bytes(snapshot, at, value_length >> 1, &value) ||
        ((value_length & 1) != 0 && !mcds__fold_get_time(snapshot, at, &expires_ms)))
        return MCDS_CORRUPT;
    if (contents->only.at != NULL && !mcds__fold_same(contents->only, element))
        return MCDS_OK;
    /* Each element is there once. */
    if (find_entry(contents, element) != NULL)
        return MCDS_CORRUPT;
    struct mcds__fold_entry *entry = add_entry(contents, element);
    if (entry == NULL)
        return MCDS_NO_MEMORY;
    entry->there = true;
    entry->value = value;
    entry->expires_ms = expires_ms;
    return MCDS_OK;
}

static int load_snapshot(struct mcds__fold_contents *contents, mcds_bytes snapshot)
{
    size_t at = 0;
    int result = MCDS_OK;
    uint64_t count;
    if (!mcds__fold_get_varint(snapshot, &at, &count))
        return MCDS_CORRUPT;
    for (; count > 0 && result == MCDS_OK; count--)
        result = load_writer(contents, snapshot, &at);
    if (result == MCDS_OK && !mcds__fold_get_varint(snapshot, &at, &count))
        return MCDS_CORRUPT;
    for (; count > 0 && result == MCDS_OK; count--)
        result = load_entry(contents, snapshot, &at);
    return result;
}

static inline uint32_t second_of(const struct mcds__fold_record *record)
{
    return (uint32_t)(record->time_ms / MS_PER_S);
}

/* What its writer is done with, and what has been applied, is void. */
static bool is_void(struct mcds__fold_contents *contents,
                    const struct mcds__fold_writer *writer,
                    const struct mcds__fold_record *record)
{
    if (record->seq < writer->low)
        return true;
    return record->seq <= writer->highest &&
           find_id(contents, (uint32_t)(writer - contents->writers), record->seq) != NULL;
}

/* The writer of a record, entered if need be; NULL: no memory. `near` is a writer, or NULL. */
static inline struct mcds__fold_writer *writer_of(struct mcds__fold_contents *contents,
                                                  uint64_t id, struct mcds__fold_writer *near)
{
    if (near != NULL && near->id == id)
        return near;
    struct mcds__fold_writer *writer = mcds__fold_find_writer(contents, id);
    return writer != NULL ? writer : add_writer(contents, id);
}

static int load_record(struct mcds__fold_contents *contents, struct mcds__fold_writer *writer,
                       const struct mcds__fold_record *record)
{
    uint32_t time_s = second_of(record);
    if (is_void(contents, writer, record))
        return MCDS_OK;
    if (record->low > writer->low)
        writer->low = record->low;
    if (record->seq > writer->highest)
        writer->highest = record->seq;
    if (time_s > writer->newest_s)
        writer->newest_s = time_s;
    struct mcds__fold_effect effect;
    struct mcds__fold_entry *entry = find_entry(contents, record->command.element);
    if (entry == NULL)
        entry = add_entry(contents, record->command.element);
    if (entry == NULL || !mcds__fold_apply(contents, entry, record, &effect))
        return MCDS_NO_MEMORY;
    return add_id(contents, writer, record->seq, effect.code, effect.number) ? MCDS_OK
                                                                             : MCDS_NO_MEMORY;
}

/* Of a record that is of another element than the one that is asked for, what its writer is done
 * with is all that matters: its repetition would be of the same element. */
static int load_records(struct mcds__fold_contents *contents, mcds_bytes value, size_t at,
                        uint32_t key_sum)
{
    int result = MCDS_OK;
    struct mcds__fold_writer *writer = NULL;
    while (result == MCDS_OK && at < value.length) {
        struct mcds__fold_record record;
        mcds_bytes body;
        size_t in_body;
        if (!mcds__fold_next_body(value, key_sum, &at, &body))
            return MCDS_CORRUPT;
        if (mcds__fold_is_newer(body))
            return MCDS_UNSUPPORTED;
        if (!mcds__fold_begin_record(body, &in_body, &record))
            return MCDS_CORRUPT;
        bool is_wanted = contents->only.at == NULL ||
                         mcds__fold_same(contents->only, record.command.element);
        if (is_wanted && !mcds__fold_end_record(body, in_body, &record))
            return MCDS_CORRUPT;
        if (contents->floor_s != 0 && second_of(&record) < contents->floor_s)
            continue;
        writer = writer_of(contents, record.writer, writer);
        if (writer == NULL)
            return MCDS_NO_MEMORY;
        if (is_wanted)
            result = load_record(contents, writer, &record);
        else if (record.low > writer->low)
            writer->low = record.low;
    }
    return result;
}

int mcds__fold_load(struct mcds__fold_contents *contents, mcds_bytes value, uint32_t flags)
{
    struct mcds__fold_head head;
    enum mcds__fold_state state = mcds__fold_state_of(flags);
    if (state == MCDS__FOLD_FOREIGN)
        return MCDS_CORRUPT;
    int result = mcds__fold_open_head(value, contents->key, &head);
    if (result != MCDS_OK)
        return result;
    contents->rewrites = head.rewrites;
    contents->floor_s = head.floor_s;
    result = load_snapshot(contents, head.snapshot);
    if (state != MCDS__FOLD_OPEN || result != MCDS_OK)
        return result;
    return load_records(contents, value, head.records_at, head.key_sum);
}

const mcds_reason *mcds__fold_reason(int result)
{
    return result == MCDS_UNSUPPORTED ? MCDS__WHY(NEWER) : NULL;
}

const struct mcds__fold_entry *mcds__fold_find(struct mcds__fold_contents *contents,
                                               mcds_bytes element)
{
    return find_entry(contents, element);
}

const struct mcds__fold_id *mcds__fold_outcome(struct mcds__fold_contents *contents,
                                               uint64_t writer, uint32_t seq)
{
    const struct mcds__fold_writer *found = mcds__fold_find_writer(contents, writer);
    if (found == NULL)
        return NULL;
    return find_id(contents, (uint32_t)(found - contents->writers), seq);
}
