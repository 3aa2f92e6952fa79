/* What a fold key's value comes to: the snapshot with its records applied, in memory.
 *
 * Applying is deterministic: whoever folds the same bytes gets the same entries and the same
 * outcome of each record. Time comes from the records. */
#include "core/fold_contents.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/hash.h"
#include "core/fold_apply.h"

#define INDEX_FROM 64 /* entries; below, looking at each is faster */
/* Few writers are remembered for ever; of many, those that have been silent for long go. */
#define WRITERS_KEPT 8
#define WRITER_KEPT_S 600
/* Entries are dropped this long after their time, so that no clock sees one come back. */
#define EXPIRED_KEPT_MS 60000

uint64_t mcds__fold_hash(mcds_bytes element)
{
    return mcds__hash(0, element);
}

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
    contents->entry_count = contents->writer_count = contents->id_count = 0;
    contents->entry_room = MCDS__FOLD_ENTRIES_ROOM;
    contents->writer_room = MCDS__FOLD_WRITERS_ROOM;
    contents->id_room = MCDS__FOLD_IDS_ROOM;
    contents->generation = 0;
    contents->rewrites = 0;
    contents->floor_s = 0;
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
    mcds__fold_contents_init(contents, env, contents->key, contents->only);
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

static bool same_bytes(mcds_bytes a, mcds_bytes b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.at, b.at, a.length) == 0);
}

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
            if (same_bytes(contents->entries[i].element, element))
                return &contents->entries[i];
        return NULL;
    }
    uint32_t mask = contents->index_room - 1;
    uint32_t at = (uint32_t)mcds__fold_hash(element) & mask;
    for (; contents->index[at] != 0; at = (at + 1) & mask)
        if (same_bytes(contents->entries[contents->index[at] - 1].element, element))
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
    *entry = (struct mcds__fold_entry){.element = element, .hash = mcds__fold_hash(element)};
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

static bool add_id(struct mcds__fold_contents *contents, const struct mcds__fold_writer *writer,
                   uint32_t seq, enum mcds__fold_code code, int64_t number)
{
    if (!RESERVE(contents, ids, id_count, id_room))
        return false;
    contents->ids[contents->id_count++] = (struct mcds__fold_id){
        (uint32_t)(writer - contents->writers), seq, code, number};
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
        if (!add_id(contents, writer, seq, (enum mcds__fold_code) * (const uint8_t *)code.at,
                    (int64_t)number))
            return MCDS_NO_MEMORY;
        if (seq > writer->highest)
            writer->highest = seq;
    }
    return MCDS_OK;
}

static int load_entry(struct mcds__fold_contents *contents, mcds_bytes snapshot, size_t *at)
{
    struct mcds__fold_entry read = {.there = true};
    uint64_t length;
    uint64_t value_length;
    if (!mcds__fold_get_varint(snapshot, at, &length) ||
        !mcds__fold_get_varint(snapshot, at, &value_length) ||
        !mcds__fold_get_bytes(snapshot, at, length, &read.element) ||
        !mcds__fold_get_bytes(snapshot, at, value_length >> 1, &read.value) ||
        ((value_length & 1) != 0 && !mcds__fold_get_time(snapshot, at, &read.expires_ms)))
        return MCDS_CORRUPT;
    if (contents->only.at != NULL && !same_bytes(contents->only, read.element))
        return MCDS_OK;
    struct mcds__fold_entry *entry = add_entry(contents, read.element);
    if (entry == NULL)
        return MCDS_NO_MEMORY;
    read.hash = entry->hash;
    *entry = read;
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

static int load_record(struct mcds__fold_contents *contents,
                       const struct mcds__fold_record *record)
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
    if (!is_new && is_void(contents, writer, record))
        return MCDS_OK;
    if (record->low > writer->low)
        writer->low = record->low;
    if (record->seq > writer->highest)
        writer->highest = record->seq;
    if (time_s > writer->newest_s)
        writer->newest_s = time_s;
    struct mcds__fold_effect effect = {MCDS__FOLD_ABSENT, 0};
    if (contents->only.at == NULL || same_bytes(contents->only, record->command.element)) {
        struct mcds__fold_entry *entry = find_entry(contents, record->command.element);
        if (entry == NULL)
            entry = add_entry(contents, record->command.element);
        if (entry == NULL || !mcds__fold_apply(contents, entry, record, &effect))
            return MCDS_NO_MEMORY;
    }
    return add_id(contents, writer, record->seq, effect.code, effect.number) ? MCDS_OK
                                                                             : MCDS_NO_MEMORY;
}

int mcds__fold_load(struct mcds__fold_contents *contents, mcds_bytes value, uint32_t flags)
{
    struct mcds__fold_head head;
    enum mcds__fold_state state = mcds__fold_state_of(flags);
    if (state == MCDS__FOLD_FOREIGN || !mcds__fold_open_head(value, contents->key, &head))
        return MCDS_CORRUPT;
    contents->generation = head.generation;
    contents->rewrites = head.rewrites;
    contents->floor_s = head.floor_s;
    int result = load_snapshot(contents, head.snapshot);
    if (state != MCDS__FOLD_OPEN)
        return result;
    struct mcds__fold_record record;
    size_t at = head.records_at;
    uint32_t key_sum = mcds__fold_key_sum(contents->key);
    while (result == MCDS_OK && at < value.length) {
        if (!mcds__fold_next_record(value, key_sum, &at, &record))
            return MCDS_CORRUPT;
        result = load_record(contents, &record);
    }
    return result;
}

bool mcds__fold_is_there(const struct mcds__fold_entry *entry, int64_t now_ms)
{
    return entry->there && (entry->expires_ms == 0 || entry->expires_ms > now_ms);
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

/* Whether an entry goes into the next snapshot. */
static bool is_kept(const struct mcds__fold_entry *entry, int64_t now_ms)
{
    return mcds__fold_is_there(entry, now_ms - EXPIRED_KEPT_MS);
}

size_t mcds__fold_weight(const struct mcds__fold_contents *contents, int64_t now_ms,
                         uint32_t *count_out)
{
    size_t weight = 0;
    *count_out = 0;
    for (uint32_t i = 0; i < contents->entry_count; i++) {
        const struct mcds__fold_entry *entry = &contents->entries[i];
        if (!is_kept(entry, now_ms))
            continue;
        weight += entry->element.length + entry->value.length + 2;
        *count_out += 1;
    }
    return weight;
}

static int compare_seconds(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

/* Records from before the floor are void. It follows the time that most writers tell, so that
 * no single clock that is wrong can void what the others write. */
static bool raise_floor(struct mcds__fold_contents *contents)
{
    if (contents->writer_count <= WRITERS_KEPT)
        return true;
    uint32_t *seconds = mcds__allocate(contents->env,
                                       contents->writer_count * sizeof seconds[0]);
    if (seconds == NULL)
        return false;
    for (uint32_t i = 0; i < contents->writer_count; i++)
        seconds[i] = contents->writers[i].newest_s;
    qsort(seconds, contents->writer_count, sizeof seconds[0], compare_seconds);
    uint32_t median_s = seconds[contents->writer_count / 2];
    mcds__free(contents->env, seconds);
    if (median_s <= WRITER_KEPT_S)
        return true;
    uint32_t floor_s = median_s - WRITER_KEPT_S;
    floor_s -= floor_s % MCDS__FOLD_FLOOR_UNIT_S;
    if ((floor_s / MCDS__FOLD_FLOOR_UNIT_S & UINT16_MAX) == 0)
        floor_s -= MCDS__FOLD_FLOOR_UNIT_S;
    if (floor_s > contents->floor_s)
        contents->floor_s = floor_s;
    return true;
}

static bool is_remembered(const struct mcds__fold_contents *contents,
                          const struct mcds__fold_writer *writer)
{
    return writer->newest_s >= contents->floor_s;
}

static bool encode_writer(struct mcds__fold_contents *contents, uint32_t number,
                          mcds_buffer *out)
{
    const struct mcds__fold_writer *writer = &contents->writers[number];
    if (!mcds__fold_put_u64(out, writer->id) || !mcds__fold_put_u32(out, writer->low) ||
        !mcds__fold_put_u32(out, writer->newest_s) || !mcds__fold_put_varint(out, writer->ids))
        return false;
    for (uint32_t i = 0; writer->ids > 0 && i < contents->id_count; i++) {
        const struct mcds__fold_id *id = &contents->ids[i];
        uint8_t code = (uint8_t)id->code;
        if (id->writer != number || id->seq < writer->low)
            continue;
        if (!mcds__fold_put_u32(out, id->seq) || !mcds_buffer_append(out, &code, 1) ||
            !mcds__fold_put_u64(out, (uint64_t)id->number))
            return false;
    }
    return true;
}

static bool encode_writers(struct mcds__fold_contents *contents, mcds_buffer *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < contents->writer_count; i++) {
        count += is_remembered(contents, &contents->writers[i]);
        contents->writers[i].ids = 0;
    }
    for (uint32_t i = 0; i < contents->id_count; i++) {
        struct mcds__fold_writer *writer = &contents->writers[contents->ids[i].writer];
        writer->ids += contents->ids[i].seq >= writer->low;
    }
    if (!mcds__fold_put_varint(out, count))
        return false;
    for (uint32_t i = 0; i < contents->writer_count; i++)
        if (is_remembered(contents, &contents->writers[i]) && !encode_writer(contents, i, out))
            return false;
    return true;
}

static bool encode_entry(const struct mcds__fold_entry *entry, mcds_buffer *out)
{
    bool expires = entry->expires_ms != 0;
    return mcds__fold_put_varint(out, entry->element.length) &&
           mcds__fold_put_varint(out, (uint64_t)entry->value.length << 1 | expires) &&
           mcds_buffer_append(out, entry->element.at, entry->element.length) &&
           mcds_buffer_append(out, entry->value.at, entry->value.length) &&
           (!expires || mcds__fold_put_time(out, entry->expires_ms));
}

static bool is_chosen(const struct mcds__fold_entry *entry, uint32_t depth, int digit,
                      int64_t now_ms)
{
    unsigned shift = 64 - MCDS__FOLD_LEVEL_BITS * (depth + 1);
    return is_kept(entry, now_ms) &&
           (digit == MCDS__FOLD_ALL || (int)(entry->hash >> shift & 15) == digit);
}

bool mcds__fold_encode(struct mcds__fold_contents *contents, mcds_bytes key, uint32_t depth,
                       int digit, int64_t now_ms, mcds_buffer *out, uint32_t *floor_out)
{
    uint32_t count = 0;
    out->length = 0;
    if (!raise_floor(contents) || !mcds__buffer_reserve(out, MCDS__FOLD_HEAD))
        return false;
    out->length = MCDS__FOLD_HEAD;
    for (uint32_t i = 0; i < contents->entry_count; i++)
        count += is_chosen(&contents->entries[i], depth, digit, now_ms);
    if (!encode_writers(contents, out) || !mcds__fold_put_varint(out, count))
        return false;
    for (uint32_t i = 0; i < contents->entry_count; i++)
        if (is_chosen(&contents->entries[i], depth, digit, now_ms) &&
            !encode_entry(&contents->entries[i], out))
            return false;
    struct mcds__fold_head head = {
        .generation = contents->generation,
        .rewrites = digit == MCDS__FOLD_ALL ? contents->rewrites + 1 : 1,
        .floor_s = contents->floor_s,
    };
    mcds__fold_seal_head(out, key, &head);
    *floor_out = contents->floor_s;
    return true;
}
