/* Core part: read what counts. */
#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/frame.h"
#include "core/part.h"

#define VALUES_MAX ((size_t)1 << 27)
#define ITEMS_MIN 256

enum { READ_BEGIN, READ_ASKED, READ_FIND };

void mcds__part_read_begin(struct mcds__part_read *read, struct mcds__parts *parts,
                           uint64_t family)
{
    *read = (struct mcds__part_read){
        .parts = parts, .family = family, .want = 1, .seed = mcds__random_u64(parts->env)};
    mcds__buffer_init(&read->values, parts->env, VALUES_MAX);
}

void mcds__part_read_free(struct mcds__part_read *read)
{
    const mcds_env *env = read->parts->env;
    mcds__buffer_free(&read->values);
    mcds__free(env, read->all);
    mcds__free(env, read->table);
    mcds__free(env, read->room);
    read->all = read->items = NULL;
    read->table = NULL;
    read->room = NULL;
}

/* The request for the i-th of the parts read with their values. */
static const mcds_request *request_of(const struct mcds__part_read *read, uint32_t i)
{
    return &read->room->requests[read->base + read->near - 1 - i];
}

static enum mcds__step ask(struct mcds__part_read *read, struct mcds__operation *operation)
{
    mcds_capabilities can;
    uint64_t from = read->from;
    assert(read->want >= 1 && read->want <= MCDS__PART_WANT_MAX);
    if (mcds__part_get_room(&read->room, operation->env) == NULL)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    read->back = from < MCDS__PART_DISTANCE_MAX ? (uint32_t)from : MCDS__PART_DISTANCE_MAX;
    read->near = read->back + read->want;
    uint64_t end = from + read->want;
    uint32_t count = read->head = 1;
    mcds__part_fill_count(read->parts, read->family, read->room, 0);
    for (uint64_t part = end; part < end + MCDS__PART_AHEAD; part++)
        mcds__part_fill_get(read->parts, read->family, read->room, count++, part,
                            MCDS_NO_VALUE);
    read->base = count = mcds__part_fill_far(read->parts, read->family, read->room, count,
                                             end + MCDS__PART_AHEAD - 2);
    for (uint32_t i = 1; i <= read->near; i++)
        mcds__part_fill_get(read->parts, read->family, read->room, count++, end - i, 0);
    read->stage = READ_ASKED;
    mcds__store_capabilities(operation->store, &can);
    (void)mcds__operation_ask_repeatable(operation, read->room->requests, count);
    operation->batch.independent = !can.ordered_batch;
    read->values.length = 0;
    operation->batch.values = &read->values;
    return MCDS__ASK;
}

static bool exists(const struct mcds__part_read *read, uint32_t i)
{
    return request_of(read, i)->reply.outcome == MCDS_OUT_OK;
}

/* A part that did not exist when this was asked, and after which none did. */
static uint64_t find_bound(const struct mcds__part_read *read)
{
    uint64_t end = read->from + read->want;
    uint64_t bound = end;
    for (uint32_t i = read->head; i < read->base; i++) /* in the order of the parts */
        if (read->room->requests[i].reply.outcome == MCDS_OUT_OK)
            bound = end + 2 * (read->room->positions[i] - end + 1); /* the distances double */
    uint64_t counted = read->made > 0 ? read->made + MCDS__PART_AHEAD + 1 : 0;
    return bound > counted ? bound : counted;
}

/* The first part after those read that exists, of those asked for; or the count, which is beyond
 * them too; or 0. */
static uint64_t find_beyond(const struct mcds__part_read *read)
{
    for (uint32_t i = read->head; i < read->base; i++)
        if (read->room->requests[i].reply.outcome == MCDS_OUT_OK)
            return read->room->positions[i];
    return read->made > read->from + read->want ? read->made : 0;
}

/* How many of the parts are to be read: up to the last one after which there is one, or was. */
static uint32_t count_known(const struct mcds__part_read *read)
{
    if (find_beyond(read) > 0)
        return read->near + 1;
    uint64_t begin = read->from - read->back;
    uint32_t counted = read->made > begin ? (uint32_t)(read->made - begin) : 0;
    uint32_t count = read->near;
    while (count > counted && !exists(read, count - 1))
        count--;
    return count;
}

static bool add_item(struct mcds__part_read *read, uint32_t index, size_t begin)
{
    const mcds_env *env = read->parts->env;
    if (read->all_count == read->all_room) {
        uint32_t room = read->all_room > 0 ? 2 * read->all_room : ITEMS_MIN;
        struct mcds__part_item *moved = env->reallocate(env->self, read->all,
                                                        room * sizeof moved[0]);
        if (moved == NULL)
            return false;
        read->all = moved;
        read->all_room = room;
    }
    read->all[read->all_count++] = (struct mcds__part_item){index, (uint32_t)begin};
    return true;
}

static mcds_bytes value_of(const struct mcds__part_read *read, uint32_t i)
{
    const mcds_reply *reply = &request_of(read, i)->reply;
    if (reply->value_length == 0)
        return (mcds_bytes){NULL, 0};
    return (mcds_bytes){read->values.at + reply->value_at, reply->value_length};
}

/* Take in the records of one part. False: no memory. */
static bool scan_part(struct mcds__part_read *read, uint32_t i)
{
    struct mcds__part_scan scan;
    struct mcds__part_record record;
    bool is_wanted = i >= read->back;
    bool knows_before = i > 0 && exists(read, i - 1);
    mcds__part_scan_begin(&scan, request_of(read, i)->key, value_of(read, i));
    while (mcds__part_scan_next(&scan, &record)) {
        if ((record.flags & MCDS__PART_OPENING) != 0) {
            if (is_wanted && knows_before && record.before != 0 &&
                record.before != request_of(read, i - 1)->reply.flags)
                read->gaps++;
            continue;
        }
        if (is_wanted && (record.flags & MCDS__PART_LOSS) != 0)
            read->gaps++;
        if (!add_item(read, i, record.begin))
            return false;
    }
    if (is_wanted) {
        read->corrupt += scan.corrupt;
        read->is_newer = read->is_newer || scan.newer > 0;
    }
    return true;
}

/* Mixed with a number that whoever chose the ids does not know. */
static uint64_t hash_of(const struct mcds__part_read *read,
                        const struct mcds__part_record *record)
{
    const uint64_t factor = UINT64_C(0xd6e8feb86659fd93);
    uint64_t hash = record->writer ^ read->seed;
    hash = (hash ^ hash >> 32) * factor;
    hash = (hash ^ hash >> 32 ^ record->seq) * factor;
    return (hash ^ hash >> 32) * factor;
}

/* The place of an id in the table: that of its first copy, or a free one. */
static uint32_t *find_place(const struct mcds__part_read *read,
                            const struct mcds__part_record *record)
{
    uint64_t hash = hash_of(read, record);
    for (uint32_t at = (uint32_t)(hash >> 32);; at++) {
        struct mcds__part_record other;
        uint32_t *place = &read->table[at & (read->table_size - 1)];
        if (*place == 0)
            return place;
        (void)mcds__part_read_item(read, &read->all[*place - 1], &other);
        if (other.writer == record->writer && other.seq == record->seq)
            return place;
    }
}

/* Of several copies of a record the first one counts. False: no memory. */
static bool drop_copies(struct mcds__part_read *read)
{
    const mcds_env *env = read->parts->env;
    uint32_t size = ITEMS_MIN;
    while (size < 2 * read->all_count)
        size *= 2;
    if (size > read->table_size) {
        uint32_t *moved = env->reallocate(env->self, read->table, size * sizeof moved[0]);
        if (moved == NULL)
            return false;
        read->table = moved;
        read->table_size = size;
    }
    memset(read->table, 0, read->table_size * sizeof read->table[0]);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < read->all_count; i++) {
        struct mcds__part_record record;
        (void)mcds__part_read_item(read, &read->all[i], &record);
        uint32_t *place = find_place(read, &record);
        if (*place != 0)
            continue;
        read->all[kept++] = read->all[i];
        *place = kept;
    }
    read->all_count = kept;
    return true;
}

static enum mcds__step finish(struct mcds__part_read *read, struct mcds__operation *operation)
{
    if (!drop_copies(read))
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    uint32_t first = 0;
    while (first < read->all_count && read->all[first].index < read->back)
        first++;
    read->items = first > 0 ? read->all + first : read->all; /* which may be NULL */
    read->count = read->all_count - first;
    read->stage = READ_BEGIN;
    if (read->is_newer)
        return mcds__operation_explain(operation, MCDS_UNSUPPORTED, MCDS__WHY(NEWER));
    return mcds__operation_finish(operation, MCDS_OK);
}

/* The family goes no further than this part, as far as can be told. */
static void stop_at(struct mcds__part_read *read, uint32_t i)
{
    read->more = false;
    read->next = read->from - read->back + i;
    read->next_size = 0;
    read->next_birth = 0;
    if (i < read->near && exists(read, i)) {
        const mcds_reply *reply = &request_of(read, i)->reply;
        read->next_birth = reply->flags;
        read->next_size = reply->value_length;
        read->ended = reply->flags == MCDS__PART_END;
    }
}

/* Whether a part exists that no writer makes before the i-th is closed. */
static bool has_distant(const struct mcds__part_read *read, uint32_t i)
{
    uint64_t from = read->from - read->back + i + MCDS__PART_AHEAD;
    if (read->made > from)
        return true;
    for (uint32_t k = read->head; k < read->base + read->near; k++)
        if (read->room->positions[k] > from &&
            read->room->requests[k].reply.outcome == MCDS_OUT_OK)
            return true;
    return false;
}

/* Whether the part after the i-th was made after another than this one. */
static bool is_disowned(const struct mcds__part_read *read, uint32_t i)
{
    struct mcds__part_scan scan;
    struct mcds__part_record record;
    if (i + 1 >= read->near || !exists(read, i + 1))
        return false;
    mcds__part_scan_begin(&scan, request_of(read, i + 1)->key, value_of(read, i + 1));
    return mcds__part_scan_next(&scan, &record) && (record.flags & MCDS__PART_OPENING) != 0 &&
           record.before != 0 && record.before != request_of(read, i)->reply.flags;
}

/* Whether reading ends with the i-th part, which exists. Nothing after an open part has been
 * acknowledged, unless the part was lost and made again. */
static bool is_end(struct mcds__part_read *read, uint32_t i, uint32_t known)
{
    const mcds_reply *reply = &request_of(read, i)->reply;
    if (i < read->back)
        return false;
    if (reply->flags == MCDS__PART_END)
        return true;
    if (mcds__part_is_closed(reply->value_length, reply->flags))
        return false;
    if (i + 1 >= known)
        return true;
    if (is_disowned(read, i)) /* the next part counts the gap */
        return false;
    bool is_remade = has_distant(read, i);
    read->gaps += is_remade;
    return !is_remade;
}

/* On to the next part that is left, or, where none is, to where the family goes on. */
static enum mcds__step step_find(struct mcds__part_read *read,
                                 struct mcds__operation *operation)
{
    enum mcds__step step = mcds__part_find_step(&read->find, read->parts, read->room,
                                                operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    read->next = read->find.found ? read->find.part : read->find.high;
    return finish(read, operation);
}

static enum mcds__step find_next(struct mcds__part_read *read,
                                 struct mcds__operation *operation)
{
    read->stage = READ_FIND;
    read->all_count = 0; /* they are in the room that is used again */
    read->find = (struct mcds__part_find){
        .family = read->family, .low = read->next, .high = find_beyond(read)};
    return step_find(read, operation);
}

static enum mcds__step take(struct mcds__part_read *read, struct mcds__operation *operation)
{
    const mcds_reply *count = &read->room->requests[0].reply;
    read->made = mcds__part_count_of(count, &read->values);
    uint32_t known = count_known(read);
    read->all_count = 0;
    read->bound = find_bound(read);
    read->more = read->ended = false;
    read->is_empty = true;
    read->follows = read->back == 0 || exists(read, read->back - 1);
    for (uint32_t i = 0; i < read->near; i++) {
        if (!exists(read, i)) {
            if (i < read->back)
                continue;
            if (i >= known) {
                stop_at(read, i);
                return finish(read, operation);
            }
            read->gaps += i == read->back || exists(read, i - 1);
            continue;
        }
        read->is_empty = read->is_empty && i < read->back;
        bool ends = is_end(read, i, known);
        if (ends)
            stop_at(read, i);
        if (request_of(read, i)->reply.flags != MCDS__PART_END && !scan_part(read, i))
            return mcds__operation_finish(operation, MCDS_NO_MEMORY);
        if (ends)
            return finish(read, operation);
    }
    stop_at(read, read->near);
    read->more = known > read->near;
    if (read->more && read->is_empty && !read->stays)
        return find_next(read, operation);
    return finish(read, operation);
}

/* Failures, and trouble that is tried again. False: there is none. */
static bool fails(struct mcds__part_read *read, struct mcds__operation *operation,
                  enum mcds__step *step_out)
{
    for (uint32_t i = 0; i < operation->batch.count; i++) {
        const mcds_reply *reply = &operation->batch.requests[i].reply;
        if (reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS)
            continue;
        read->stage = READ_BEGIN;
        *step_out = MCDS__SLEEP;
        if (!mcds__is_transport_trouble(reply) || !mcds__operation_again(operation))
            *step_out = mcds__operation_fail_read(operation, reply);
        return true;
    }
    return false;
}

enum mcds__step mcds__part_read_step(struct mcds__part_read *read,
                                     struct mcds__operation *operation)
{
    enum mcds__step step;
    if (read->stage == READ_FIND)
        return step_find(read, operation);
    if (read->stage != READ_ASKED)
        return ask(read, operation);
    return fails(read, operation, &step) ? step : take(read, operation);
}

/* For each family the count, and then the first part. */
static enum mcds__step ask_survey(struct mcds__part_read *read, uint32_t count, bool down,
                                  struct mcds__operation *operation)
{
    struct mcds__part_room *room = mcds__part_get_room(&read->room, operation->env);
    if (room == NULL)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    assert(count >= 1 && count <= MCDS__PART_SURVEY_MAX);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t family = down ? read->family - i : read->family + i;
        mcds__part_fill_count(read->parts, family, room, i);
        mcds__part_fill_get(read->parts, family, room, 2 * count - 1 - i, 0, 0);
    }
    read->back = 0;
    read->near = count;
    read->head = 0;
    read->base = count;
    read->stage = READ_ASKED;
    if (read->looks)
        room->requests[2 * count] = mcds__part_look_at_root(read->parts);
    (void)mcds__operation_ask_repeatable(operation, room->requests, 2 * count + read->looks);
    operation->batch.independent = true;
    read->values.length = 0;
    operation->batch.values = &read->values;
    return MCDS__ASK;
}

enum mcds__step mcds__part_survey_step(struct mcds__part_read *read, uint32_t count, bool down,
                                       struct mcds__operation *operation)
{
    enum mcds__step step;
    if (read->stage != READ_ASKED)
        return ask_survey(read, count, down, operation);
    if (fails(read, operation, &step))
        return step;
    read->all_count = 0;
    if (read->looks)
        read->truth = (uint8_t)mcds__part_truth_of(read->family,
                                                   &read->room->requests[2 * count].reply);
    for (uint32_t i = 0; i < count; i++) {
        const mcds_reply *reply = &request_of(read, i)->reply;
        read->births[i] = exists(read, i) ? reply->flags : 0;
        read->kinds[i] = exists(read, i) ? MCDS__PART_SHORT : MCDS__PART_NOTHING;
        if (mcds__part_count_of(&read->room->requests[i].reply, &read->values) > 0 ||
            (exists(read, i) && mcds__part_is_closed(reply->value_length, reply->flags)))
            read->kinds[i] = MCDS__PART_LONG;
        else if (exists(read, i) && !scan_part(read, i))
            return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    }
    return finish(read, operation);
}

uint64_t mcds__part_read_item(const struct mcds__part_read *read,
                              const struct mcds__part_item *item,
                              struct mcds__part_record *record_out)
{
    mcds__part_get(value_of(read, item->index), item->begin, record_out);
    return read->from - read->back + item->index;
}

uint32_t mcds__part_read_birth(const struct mcds__part_read *read,
                               const struct mcds__part_item *item)
{
    return request_of(read, item->index)->reply.flags;
}
