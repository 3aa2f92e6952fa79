/* What a fold key's value comes to: the snapshot with its records applied, in memory.
 *
 * Applying is deterministic: whoever folds the same bytes gets the same entries and the same
 * outcome of each record. Time comes from the records. */
#include "core/fold_contents.h"

#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/frame.h"
#include "core/fold_apply.h"
#include "core/fold_read.h"

#define INDEX_FROM 64 /* entries; below, looking at each is faster */

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
    contents->index = NULL;
    contents->index_room = 0;
    contents->hash_key[0] = contents->hash_key[1] = 0;
    contents->entry_count = contents->writer_count = contents->id_count = 0;
    contents->entry_room = MCDS__FOLD_ENTRIES_ROOM;
    contents->writer_room = MCDS__FOLD_WRITERS_ROOM;
    contents->id_room = MCDS__FOLD_IDS_ROOM;
    contents->rewrites = 0;
    contents->floor_s = 0;
    contents->form = 0;
    contents->order_last = 0;
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
    mcds__free(env, contents->index);
    for (struct mcds__fold_chunk *chunk = contents->chunks, *next; chunk != NULL;
         chunk = next) {
        next = chunk->next;
        mcds__free(env, chunk);
    }
}

/* Room for one more; `inside` is where the array began. */
static bool reserve(const mcds_env *env, void **array, const void *inside, uint32_t count,
                    uint32_t *room, size_t width)
{
    if (count < *room)
        return true;
    if (*room > UINT32_MAX / 4)
        return false;
    void *moved = env->reallocate(env->self, *array == inside ? NULL : *array,
                                  2 * (size_t)*room * width);
    if (moved == NULL)
        return false;
    if (*array == inside)
        memcpy(moved, inside, count * width);
    *array = moved;
    *room *= 2;
    return true;
}

#define RESERVE(contents, what, counter, room)                                                 \
    reserve((contents)->env, (void **)&(contents)->what, (contents)->what##_in,                \
            (contents)->counter, &(contents)->room, sizeof(contents)->what[0])

static void index_entry(struct mcds__fold_contents *contents, uint32_t number)
{
    uint32_t mask = contents->index_room - 1;
    uint32_t at = (uint32_t)contents->entries[number].hash & mask;
    while (contents->index[at] != 0)
        at = (at + 1) & mask;
    contents->index[at] = number + 1;
}

static bool grow_index(struct mcds__fold_contents *contents)
{
    if (contents->entry_count < INDEX_FROM || contents->index_room > contents->entry_count * 2)
        return true;
    uint32_t room = 4 * INDEX_FROM;
    while (room < contents->entry_count * 4)
        room *= 2;
    mcds__free(contents->env, contents->index);
    contents->index = mcds__allocate_zero(contents->env, room * sizeof contents->index[0]);
    contents->index_room = contents->index != NULL ? room : 0;
    for (uint32_t i = 0; contents->index != NULL && i < contents->entry_count; i++)
        index_entry(contents, i);
    return contents->index != NULL;
}

static struct mcds__fold_entry *find_entry(const struct mcds__fold_contents *contents,
                                           mcds_bytes element)
{
    if (contents->index == NULL) {
        for (uint32_t i = 0; i < contents->entry_count; i++)
            if (mcds__fold_same(contents->entries[i].element, element))
                return &contents->entries[i];
        return NULL;
    }
    uint32_t mask = contents->index_room - 1;
    uint32_t at = (uint32_t)mcds__fold_hash(contents->hash_key, element) & mask;
    for (; contents->index[at] != 0; at = (at + 1) & mask)
        if (mcds__fold_same(contents->entries[contents->index[at] - 1].element, element))
            return &contents->entries[contents->index[at] - 1];
    return NULL;
}

/* NULL: no memory. */
static struct mcds__fold_entry *add_entry(struct mcds__fold_contents *contents,
                                          mcds_bytes element)
{
    if (!RESERVE(contents, entries, entry_count, entry_room) || !grow_index(contents))
        return NULL;
    struct mcds__fold_entry *entry = &contents->entries[contents->entry_count];
    *entry = (struct mcds__fold_entry){.element = element};
    if (contents->only.at == NULL)
        entry->hash = mcds__fold_hash(contents->hash_key, element);
    if (contents->index != NULL)
        index_entry(contents, contents->entry_count);
    contents->entry_count++;
    return entry;
}

static struct mcds__fold_writer *find_writer(struct mcds__fold_contents *contents, uint64_t id)
{
    for (uint32_t i = contents->writer_count; i-- > 0;)
        if (contents->writers[i].id == id)
            return &contents->writers[i];
    return NULL;
}

static struct mcds__fold_writer *add_writer(struct mcds__fold_contents *contents, uint64_t id)
{
    if (!RESERVE(contents, writers, writer_count, writer_room))
        return NULL;
    struct mcds__fold_writer *writer = &contents->writers[contents->writer_count++];
    *writer = (struct mcds__fold_writer){.id = id};
    return writer;
}

static bool add_id(struct mcds__fold_contents *contents, struct mcds__fold_writer *writer,
                   uint32_t seq, enum mcds__fold_code code, int64_t number)
{
    if (!RESERVE(contents, ids, id_count, id_room))
        return false;
    contents->ids[contents->id_count++] = (struct mcds__fold_id){
        (uint32_t)(writer - contents->writers), seq, code, number};
    if (number != 0 && (writer->last == 0 || contents->ids[writer->last - 1].seq < seq))
        writer->last = contents->id_count;
    return true;
}

static const struct mcds__fold_id *find_id(const struct mcds__fold_contents *contents,
                                           uint32_t writer, uint32_t seq)
{
    for (uint32_t i = contents->id_count; i-- > 0;)
        if (contents->ids[i].seq == seq && contents->ids[i].writer == writer)
            return &contents->ids[i];
    return NULL;
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
    struct mcds__fold_writer *writer = add_writer(contents, id);
    if (writer == NULL)
        return MCDS_NO_MEMORY;
    writer->low = low;
    writer->newest_s = newest_s;
    writer->highest = low;
    for (; ids > 0; ids--) {
        uint32_t seq;
        mcds_bytes code;
        uint64_t number;
        if (!mcds__fold_get_u32(snapshot, at, &seq) ||
            !mcds__fold_get_bytes(snapshot, at, 1, &code) ||
            !mcds__fold_get_u64(snapshot, at, &number))
            return MCDS_CORRUPT;
        uint8_t became = *(const uint8_t *)code.at;
        if (became == 0 || became > MCDS__FOLD_CODE_MAX)
            return became == 0 ? MCDS_CORRUPT : MCDS_UNSUPPORTED;
        if (!add_id(contents, writer, seq, (enum mcds__fold_code)became, (int64_t)number))
            return MCDS_NO_MEMORY;
        if (seq > writer->highest)
            writer->highest = seq;
    }
    return MCDS_OK;
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

/* What its writer is done with, and what has been applied, is void. */
static bool is_void(const struct mcds__fold_contents *contents,
                    const struct mcds__fold_writer *writer,
                    const struct mcds__fold_record *record)
{
    if (record->seq < writer->low)
        return true;
    return record->seq <= writer->highest &&
           find_id(contents, (uint32_t)(writer - contents->writers), record->seq) != NULL;
}

/* Of a record that is of another element than the one that is asked for, what it tells of its
 * writer is all that matters: its repetition would be of the same element. */
static int load_record(struct mcds__fold_contents *contents,
                       const struct mcds__fold_record *record, bool is_wanted)
{
    uint32_t time_s = (uint32_t)(record->time_ms / MS_PER_S);
    if (time_s < contents->floor_s)
        return MCDS_OK;
    struct mcds__fold_writer *writer = find_writer(contents, record->writer);
    bool is_new = writer == NULL;
    if (is_new)
        writer = add_writer(contents, record->writer);
    if (writer == NULL)
        return MCDS_NO_MEMORY;
    if (is_wanted && !is_new && is_void(contents, writer, record))
        return MCDS_OK;
    if (record->low > writer->low)
        writer->low = record->low;
    if (record->seq > writer->highest)
        writer->highest = record->seq;
    if (time_s > writer->newest_s)
        writer->newest_s = time_s;
    if (!is_wanted)
        return MCDS_OK;
    struct mcds__fold_effect effect;
    struct mcds__fold_entry *entry = find_entry(contents, record->command.element);
    if (entry == NULL)
        entry = add_entry(contents, record->command.element);
    if (entry == NULL || !mcds__fold_apply(contents, entry, record, &effect))
        return MCDS_NO_MEMORY;
    return add_id(contents, writer, record->seq, effect.code, effect.number) ? MCDS_OK
                                                                             : MCDS_NO_MEMORY;
}

static int load_records(struct mcds__fold_contents *contents, mcds_bytes value, size_t at,
                        uint32_t key_sum)
{
    int result = MCDS_OK;
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
        result = load_record(contents, &record, is_wanted);
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

const char *mcds__fold_saying(int result)
{
    return result == MCDS_UNSUPPORTED ? MCDS__NEWER_SAYING : mcds_strerror(result);
}

const struct mcds__fold_entry *mcds__fold_find(const struct mcds__fold_contents *contents,
                                               mcds_bytes element)
{
    return find_entry(contents, element);
}

const struct mcds__fold_id *mcds__fold_outcome(const struct mcds__fold_contents *contents,
                                               uint64_t writer, uint32_t seq)
{
    for (uint32_t i = 0; i < contents->writer_count; i++)
        if (contents->writers[i].id == writer)
            return find_id(contents, i, seq);
    return NULL;
}
