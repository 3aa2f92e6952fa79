/* Empty: makes most structures by adding an element, and then removes this element. Other programs
 * may use the structure already, so the element is one that no other program adds. */
#include "load/empty.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io/clock.h"
#include "table/nouns.h"

/* Values of a log that was made without these options. */
#define LATE_MS 60000
#define CHUNK_MS 604800
#define CLOCKS_MS INT64_C(30000) /* that a log allows for clocks and slow puts */
#define OWN_CAPACITY 96
#define ID_MAX 64

/* An element that no other program adds. If the load ends before it removes the element, the text
 * of the element says what it is. */
struct own {
    char text[OWN_CAPACITY];
    uint8_t id[ID_MAX]; /* of the dead job */
    size_t id_length;   /* 0: it was not seen */
};

static void own_make(struct own *own)
{
    uint64_t number[2];
    const mcds_env *env = mcds_env_system();
    env->random(env->self, number, sizeof number);
    (void)snprintf(own->text, sizeof own->text,
                   "mcds load: may be removed: %016" PRIx64 "%016" PRIx64, number[0],
                   number[1]);
    own->id_length = 0;
}

static int make_empty_set(mcds_set *set)
{
    struct own own;
    own_make(&own);
    int result = mcds_set_add(set, mcds_text(own.text), NULL);
    return result == MCDS_OK ? mcds_set_remove(set, mcds_text(own.text), NULL) : result;
}

static int make_empty_table(mcds_table *table)
{
    struct own own;
    own_make(&own);
    int result = mcds_table_put(table, mcds_text(own.text), mcds_text(""), 0);
    return result == MCDS_OK ? mcds_table_remove(table, mcds_text(own.text), NULL) : result;
}

static bool see_value(void *context, mcds_bytes value)
{
    (void)context;
    (void)value;
    return false;
}

/* A list has no call that removes one value. So a list that exists by now is not changed. */
static int make_empty_list(mcds_list *list)
{
    int result = mcds_list_scan(list, 0, 1, see_value, NULL);
    if (result != MCDS_NOT_FOUND)
        return result;
    result = mcds_list_push(list, mcds_text("x"));
    return result == MCDS_OK ? mcds_list_clear(list) : result;
}

static int keep_elements(void *context, const mcds_bytes *old, size_t old_count,
                         mcds_elements *fresh)
{
    int result = MCDS_OK;
    (void)context;
    for (size_t i = 0; i < old_count && result == MCDS_OK; i++)
        result = mcds_elements_add(fresh, old[i]);
    return result;
}

/* The first acquisition makes a semaphore. */
static int make_semaphore(mcds_semaphore *semaphore)
{
    mcds_permit permit = MCDS_PERMIT_INIT;
    int result = mcds_semaphore_try_acquire(semaphore, &permit);
    if (result == MCDS_BUSY) /* others use it already */
        return MCDS_OK;
    return result == MCDS_OK ? mcds_semaphore_release(semaphore, &permit) : result;
}

static bool see_own_job(void *context, const mcds_queue_entry *entry)
{
    struct own *own = context;
    mcds_bytes text = mcds_text(own->text);
    if (entry->job.length != text.length || entry->id.length > sizeof own->id ||
        memcmp(entry->job.data, text.data, text.length) != 0)
        return true;
    memcpy(own->id, entry->id.data, own->id_length = entry->id.length);
    return false;
}

/* No worker gets a dead job. If mcds_queue_dead does not visit the job, another program has
 * discarded it. */
static int make_empty_queue(mcds_queue *queue)
{
    struct own own;
    own_make(&own);
    int result = mcds_queue_push_dead(queue, mcds_text(own.text), 1);
    if (result == MCDS_OK)
        result = mcds_queue_dead(queue, 0, see_own_job, &own);
    if (result != MCDS_OK || own.id_length == 0)
        return result;
    result = mcds_queue_discard(queue, (mcds_bytes){own.id, own.id_length});
    return result == MCDS_NOT_FOUND ? MCDS_OK : result;
}

/* Makes the root of the log by putting an event that is too old to be kept. Its time is one chunk
 * before the oldest event that any call reads. */
static int make_empty_log(const struct command *structure, mcds_log *log,
                          struct moved_clock *clock)
{
    int64_t before_ms = (int64_t)number_of(structure, OPTION_RETENTION, LOG_RETENTION_MS) +
                        (int64_t)number_of(structure, OPTION_LATE, LATE_MS) +
                        (int64_t)number_of(structure, OPTION_CHUNK, CHUNK_MS) + CLOCKS_MS;
    clock->ms = clock_wall_ms() - before_ms;
    return mcds_log_put(log, clock->ms, mcds_text(""));
}

int make_empty(const struct command *structure, void *handle, struct moved_clock *clock)
{
    const struct noun *noun = structure->noun;
    if (noun->open == set_open)
        return make_empty_set(set_of(handle));
    if (noun->open == table_open)
        return make_empty_table(handle);
    if (noun->open == list_open)
        return make_empty_list(handle);
    if (noun->open == semaphore_open)
        return make_semaphore(handle);
    if (noun->open == queue_open)
        return make_empty_queue(handle);
    return noun->open == log_open ? make_empty_log(structure, handle, clock)
                                  : mcds_array_change_by(handle, keep_elements, NULL);
}
