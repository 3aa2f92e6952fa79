/* Map: begin an update: encode its record, and free its memory. */
#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/map/sequence.h"

/* To load all elements costs as much as to load a few times only those of one element. */
#define SHARED_FROM 4

void mcds__map_update_free(struct mcds__map_update *update)
{
    mcds__map_give_turn(update);
    mcds__map_resign(update);
    mcds__map_give_number(update);
    mcds__buffer_free(&update->record);
    mcds__map_free_scratch(&update->place.scratch, update->map->env);
    mcds__map_rewrite_free(&update->rewrite, update->map->env);
    mcds__map_make_free(&update->making, update->map);
}

static bool is_removal(const struct mcds__map_command *command)
{
    return command->verb == MCDS__MAP_REMOVE || command->verb == MCDS__MAP_POP ||
           (command->verb == MCDS__MAP_GATHER && command->delta < 0);
}

bool mcds__map_update_begin(struct mcds__map_update *update, struct mcds__map *map,
                            const struct mcds__map_command *command)
{
    memset(update, 0, offsetof(struct mcds__map_update, key));
    update->map = map;
    update->code = MCDS__MAP_ABSENT;
    update->removes = is_removal(command);
    update->making.record = &update->record;
    update->making.place = &update->place;
    int64_t wall_ns = mcds__wall_ns(map->env);
    update->time_ms = wall_ns / NS_PER_MS;
    mcds__buffer_init_in(&update->record, map->env, MCDS__VALUES_MAX, update->record_scratch,
                         sizeof update->record_scratch);
    struct mcds__map_record record = {.command = *command, .time_ms = update->time_ms};
    if (command->verb == MCDS__MAP_PUSH)
        record.command.delta = mcds__map_take_place(map, wall_ns);
    if (!mcds__map_write_record(&update->record, &record, &update->element)) {
        mcds__map_update_free(update);
        return false;
    }
    update->place.element = update->element;
    /* Additions of one handle to a list are in the order of their numbers. They get them in the
     * order of their starts, whichever is sent first. */
    if (command->verb == MCDS__MAP_PUSH)
        mcds__map_take_number(update);
    return true;
}

static void note_small_entry(struct mcds__map_update *update,
                             const struct mcds__map_entry *entry)
{
    update->entry_length = 0;
    if (entry == NULL || !entry->there || entry->value.length > sizeof update->entry)
        return;
    memcpy(update->entry, entry->value.data, entry->value.length);
    update->entry_length = (uint8_t)entry->value.length;
}

/* The code and number of the update's record in a bucket that was loaded with this result. */
static int take_code(struct mcds__map_update *update, struct mcds__bucket *bucket, int result)
{
    const struct mcds__map_id *id = mcds__map_outcome(bucket, update->writer, update->seq);
    if (result != MCDS_OK || id == NULL)
        return result != MCDS_OK ? result : MCDS_NOT_FOUND;
    update->code = id->code;
    update->number = id->number;
    update->removed = bucket->removed;
    if (update->wants_entry)
        note_small_entry(update, mcds__map_find(bucket, update->element));
    if (update->see != NULL) {
        const struct mcds__map_entry *entry = mcds__map_find(bucket, update->element);
        bool is_there = entry != NULL && entry->there;
        update->see(update, is_there ? entry->value : (mcds_bytes){NULL, 0});
    }
    return MCDS_OK;
}

/* A bucket with all elements, for all updates of a combined batch. */
struct shared_bucket {
    struct mcds__bucket bucket;
    int result; /* of loading it */
};

static void release_bucket(void *made)
{
    struct shared_bucket *shared = made;
    const mcds_env *env = shared->bucket.env;
    mcds__bucket_free(&shared->bucket);
    mcds__free(env, shared);
}

/* The bucket of the batch, loaded by the first that asks for it. NULL: each loads its own. */
static struct shared_bucket *share_bucket(const struct mcds__map_update *update,
                                          const struct mcds__operation *operation)
{
    struct mcds__shared *shared = operation->shared;
    const mcds_request *looked = &update->requests[MCDS__MAP_LOOK];
    if (shared == NULL || ++shared->uses < SHARED_FROM)
        return NULL;
    if (shared->made != NULL)
        return shared->release == release_bucket ? shared->made : NULL;
    struct shared_bucket *made = mcds__allocate(operation->env, sizeof *made);
    if (made == NULL)
        return NULL;
    mcds__bucket_init(&made->bucket, operation->env, looked->key, (mcds_bytes){NULL, 0});
    memcpy(made->bucket.hash_key, update->life.hash_key, sizeof made->bucket.hash_key);
    made->bucket.form = update->map->form;
    made->result = mcds__map_load(&made->bucket, mcds__reply_value(&operation->batch, looked),
                                  looked->reply.flags);
    shared->made = made;
    shared->release = release_bucket;
    return made;
}

int mcds__map_read_code(struct mcds__map_update *update, struct mcds__operation *operation)
{
    assert(update->wants_code);
    const mcds_request *looked = &update->requests[MCDS__MAP_LOOK];
    mcds_bytes value = mcds__operation_value(operation, looked);
    struct shared_bucket *shared = share_bucket(update, operation);
    if (shared != NULL && shared->result != MCDS_NO_MEMORY)
        return take_code(update, &shared->bucket, shared->result);
    struct mcds__bucket bucket;
    mcds__bucket_init(&bucket, operation->env, looked->key, update->element);
    int result = mcds__map_load(&bucket, value, looked->reply.flags);
    result = take_code(update, &bucket, result);
    mcds__bucket_free(&bucket);
    return result;
}

void mcds__map_update_rewrite(struct mcds__map_update *update, mcds_bytes element,
                              mcds_bytes value)
{
    size_t at = (size_t)((const uint8_t *)update->element.data - update->record.data);
    size_t value_at = at + element.length + 1; /* after its length, one byte */
    assert(element.length == update->element.length);
    assert(value_at + value.length <= update->record.length);
    memcpy(update->record.data + at, element.data, element.length);
    memcpy(update->record.data + value_at, value.data, value.length);
}

void mcds__map_update_set_life(struct mcds__map_update *update,
                               const struct mcds__map_life *life)
{
    mcds__map_fit(&update->place, life);
    if (update->life.number == life->number)
        return;
    assert(!update->doubt); /* a record that may be in the earlier life is not repeated */
    update->life = *life;
    update->hash = mcds__map_hash(life->hash_key, update->element);
    update->deepest = update->copies = 0;
}
