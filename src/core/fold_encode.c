/* A fold key's contents as a snapshot: what stays of the entries and of the writers. */
#include <stdlib.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/fold_contents.h"

/* Few writers are remembered for ever; of many, those that have been silent for long go. */
#define WRITERS_KEPT 8
#define WRITER_KEPT_S 600
/* Entries are dropped this long after their time, so that no clock sees one come back. */
#define EXPIRED_KEPT_MS 60000

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

/* Of a list, the last addition that its writer is done with. */
static void note_before(struct mcds__fold_contents *contents, uint32_t number)
{
    const struct mcds__fold_id *id = &contents->ids[number];
    struct mcds__fold_writer *writer = &contents->writers[id->writer];
    if (contents->form == MCDS__FOLD_FORM_LIST && id->seq < writer->low && id->number != 0 &&
        (writer->before == 0 || contents->ids[writer->before - 1].seq < id->seq))
        writer->before = number + 1;
}

/* What its writer is done with is forgotten, but for the place of the last such addition: those
 * that are under way come after it, whatever their writer's clock says. */
static bool is_id_kept(const struct mcds__fold_contents *contents, uint32_t number)
{
    const struct mcds__fold_id *id = &contents->ids[number];
    const struct mcds__fold_writer *writer = &contents->writers[id->writer];
    return id->seq >= writer->low || writer->before == number + 1;
}

static bool encode_writer(struct mcds__fold_contents *contents, uint32_t number,
                          mcds_buffer *out)
{
    const struct mcds__fold_writer *writer = &contents->writers[number];
    if (!mcds__fold_put_u64(out, writer->id) || !mcds__fold_put_u32(out, writer->low) ||
        !mcds__fold_put_u32(out, writer->newest_s) || !mcds__fold_put_varint(out, writer->ids))
        return false;
    for (uint32_t next = writer->first_id; next != 0;) {
        uint32_t i = next - 1;
        const struct mcds__fold_id *id = &contents->ids[i];
        uint8_t code = (uint8_t)id->code;
        contents->steps++;
        next = id->next;
        if (!is_id_kept(contents, i))
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
        contents->writers[i].ids = contents->writers[i].before = 0;
    }
    for (uint32_t i = 0; i < contents->id_count; i++)
        note_before(contents, i);
    for (uint32_t i = 0; i < contents->id_count; i++) {
        struct mcds__fold_writer *writer = &contents->writers[contents->ids[i].writer];
        writer->ids += is_id_kept(contents, i);
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
        .rewrites = digit == MCDS__FOLD_ALL ? contents->rewrites + 1 : 1,
        .floor_s = contents->floor_s,
    };
    mcds__fold_seal_head(out, key, &head);
    *floor_out = contents->floor_s;
    return true;
}
