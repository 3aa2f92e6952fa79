/* Members: read or erase intervals, and count the members of their union. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/environment.h"
#include "base/hash/hash.h"
#include "core/members/members.h"

#define MARKS_MIN 1024
#define MARKS_MAX ((size_t)1 << 30)

void mcds__members_read_begin(struct mcds__members_read *read, struct mcds__members *members,
                              uint64_t tally, uint32_t count, bool erases)
{
    assert(count >= 1 && count <= MCDS__MEMBERS_READ_MAX);
    *read = (struct mcds__members_read){
        .members = members, .tally = tally, .count = count, .erases = erases};
    for (int i = 0; i < 2; i++)
        read->seeds[i] = mcds__random_u64(mcds__store_env(members->store));
}

static void members_read_give_place(struct mcds__members_read *read)
{
    if (read->place == NULL)
        return;
    mcds__map_scan_free(&read->scan);
    mcds__members_give(read->members, read->place);
    read->place = NULL;
}

void mcds__members_read_end(struct mcds__members_read *read)
{
    const mcds_env *env = mcds__store_env(read->members->store);
    members_read_give_place(read);
    mcds__free(env, read->marks);
    mcds__free(env, read->registers);
    read->marks = NULL;
    read->registers = NULL;
}

static bool is_free(const struct mcds__members_mark *mark)
{
    return mark->hash[0] == 0 && mark->hash[1] == 0;
}

/* The mark of these hashes, or the free one where it would be. */
static struct mcds__members_mark *find_mark(struct mcds__members_mark *marks, size_t capacity,
                                            uint64_t low, uint64_t high)
{
    assert(capacity > 0 && (capacity & (capacity - 1)) == 0);
    size_t at = (size_t)low & (capacity - 1);
    while (!is_free(&marks[at]) && (marks[at].hash[0] != low || marks[at].hash[1] != high))
        at = (at + 1) & (capacity - 1);
    return &marks[at];
}

/* Reserve one more mark; half of the table stays free. */
static bool reserve_mark(struct mcds__members_read *read)
{
    const mcds_env *env = mcds__store_env(read->members->store);
    if (2 * (read->mark_count + 1) <= read->mark_capacity)
        return true;
    size_t capacity = read->mark_capacity > 0 ? 2 * read->mark_capacity : MARKS_MIN;
    struct mcds__members_mark *marks = capacity <= MARKS_MAX
                                           ? mcds__allocate_zero(env, capacity * sizeof *marks)
                                           : NULL;
    if (marks == NULL)
        return false;
    for (size_t i = 0; i < read->mark_capacity; i++) {
        const struct mcds__members_mark *old = &read->marks[i];
        if (!is_free(old))
            *find_mark(marks, capacity, old->hash[0], old->hash[1]) = *old;
    }
    mcds__free(env, read->marks);
    read->marks = marks;
    read->mark_capacity = capacity;
    return true;
}

/* 128 bits identify a member. Users choose the names and do not know the seeds. */
static bool mark_member(struct mcds__members_read *read, mcds_bytes element)
{
    uint64_t low = mcds__hash(read->seeds[0], element);
    uint64_t high = mcds__hash(read->seeds[1], element) | 1;
    if (!reserve_mark(read))
        return false;
    /* At least one mark is free, so that a search ends. */
    assert(read->mark_count < read->mark_capacity);
    assert(read->at < read->count && read->at < MCDS__MEMBERS_READ_MAX);
    struct mcds__members_mark *mark = find_mark(read->marks, read->mark_capacity, low, high);
    if (is_free(mark)) {
        mark->hash[0] = low;
        mark->hash[1] = high;
        read->mark_count++;
    }
    mark->tallies |= UINT64_C(1) << read->at;
    return true;
}

static bool note_entry(void *context, const struct mcds__map_entry *entry)
{
    struct mcds__members_read *read = context;
    assert(!read->erases);
    if (!read->members->kind->estimated) {
        read->no_memory = !mark_member(read, entry->element);
        return !read->no_memory;
    }
    uint8_t *registers = read->registers + (size_t)read->at * MCDS__HLL_REGISTERS;
    read->corrupt = !mcds__hll_take(registers, entry->element, entry->value);
    return !read->corrupt;
}

static enum mcds__step members_read_finish(struct mcds__members_read *read,
                                           struct mcds__operation *operation)
{
    bool none = read->erases && !read->found;
    return mcds__operation_finish(operation, none ? MCDS_NOT_FOUND : MCDS_OK);
}

/* The scan of one interval has ended. False: it failed. */
static bool take_scan(struct mcds__members_read *read, struct mcds__operation *operation)
{
    assert(read->place != NULL);
    int result = operation->result;
    if (read->erases && (read->scan.erased || result == MCDS_NOT_FOUND))
        mcds__members_forget(read->members, read->place);
    if (result != MCDS_OK && result != MCDS_NOT_FOUND && result != MCDS_LOST)
        return false;
    if (!read->erases && mcds__members_note_end(read->members, read->place, result))
        read->reborn = true;
    read->found = read->found || result != MCDS_NOT_FOUND;
    if (result != MCDS_NOT_FOUND)
        read->hash_keys[read->at] = read->scan.life.hash_key[0] | 1;
    if (read->no_memory)
        operation->result = MCDS_NO_MEMORY;
    if (read->corrupt)
        (void)mcds__operation_explain(operation, MCDS_CORRUPT, MCDS__WHY(BAD_REGISTER));
    return !read->no_memory && !read->corrupt;
}

/* The handle has found an interval lost that it had seen. Another handle may have counted there since:
 * the next scan reads what that one has made. */
static bool must_read_again(struct mcds__members_read *read,
                            const struct mcds__operation *operation)
{
    bool was_again = read->again;
    read->again = operation->result == MCDS_LOST && read->scan.place.lost_root;
    assert(!read->erases || !read->again);
    return read->again && !was_again;
}

/* False: no memory. */
static bool reserve_registers(struct mcds__members_read *read)
{
    bool needs = read->members->kind->estimated && !read->erases && read->registers == NULL;
    if (needs)
        read->registers = mcds__allocate_zero(mcds__store_env(read->members->store),
                                              (size_t)read->count * MCDS__HLL_REGISTERS);
    return !needs || read->registers != NULL;
}

/* Begin or continue the scan of the next interval. */
static enum mcds__step scan_interval(struct mcds__members_read *read,
                                     struct mcds__operation *operation)
{
    assert(read->at < read->count);
    if (read->place == NULL) {
        read->place = mcds__members_take(read->members, read->tally - read->at);
        if (read->place == NULL && mcds__operation_wait(operation, 0))
            return MCDS__SLEEP;
        if (read->place == NULL)
            return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(TOO_MANY_INTERVALS));
        mcds__map_scan_begin(&read->scan, &read->place->map);
        read->scan.erases = read->erases;
        read->scan.visit = read->erases ? NULL : note_entry;
        read->scan.context = read;
    }
    return mcds__map_scan_step(&read->scan, operation);
}

static enum mcds__step members_read_advance(struct mcds__members_read *read,
                                            struct mcds__operation *operation)
{
    if (!reserve_registers(read))
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    while (read->at < read->count) {
        enum mcds__step step = scan_interval(read, operation);
        if (step != MCDS__DONE || read->place == NULL)
            return step;
        if (!take_scan(read, operation))
            return MCDS__DONE;
        bool again = must_read_again(read, operation);
        members_read_give_place(read);
        operation->detail = NULL;
        read->at += !again;
    }
    return members_read_finish(read, operation);
}

/* If some keys may be erased, the result cannot be "not applied". */
enum mcds__step mcds__members_read_step(struct mcds__members_read *read,
                                        struct mcds__operation *operation)
{
    enum mcds__step step = members_read_advance(read, operation);
    if (step == MCDS__DONE && read->erases && read->found && operation->result != MCDS_OK)
        operation->result = MCDS_AMBIGUOUS;
    return step;
}

/* The estimate of those of these intervals that have this hash key. */
static double count_of_key(const struct mcds__members_read *read, uint64_t tallies,
                           uint64_t hash_key)
{
    uint8_t united[MCDS__HLL_REGISTERS] = {0};
    for (uint32_t at = 0; at < read->count; at++)
        if ((tallies >> at & 1) != 0 && read->hash_keys[at] == hash_key)
            mcds__hll_unite(united, &read->registers[(size_t)at * MCDS__HLL_REGISTERS]);
    return mcds__hll_estimate(united);
}

double mcds__members_count(struct mcds__members_read *read, uint64_t tallies)
{
    uint64_t last = 0;
    double count = 0;
    if (!read->members->kind->estimated) {
        for (size_t i = 0; i < read->mark_capacity; i++)
            count += (read->marks[i].tallies & tallies) != 0;
        return count;
    }
    for (uint32_t at = 0; at < read->count; at++) {
        uint64_t hash_key = read->hash_keys[at];
        if ((tallies >> at & 1) == 0 || hash_key == 0 || hash_key == last)
            continue;
        count = fmax(count, count_of_key(read, tallies, hash_key));
        read->reborn = read->reborn || last != 0;
        last = hash_key;
    }
    return count;
}
