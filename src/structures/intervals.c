/* Intervals: the handle, the hit of a member, and the reads that visitors and online share. */
#include "structures/intervals.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/environment.h"
#include "base/error.h"

#define SETTINGS_MAX 3
#define WANTED_MAX 96

int mcds__intervals_init(struct mcds__intervals *intervals,
                         const struct mcds__intervals_face *face, uint64_t ttl_ms,
                         uint32_t members)
{
    mcds_store *store = intervals->handle.store;
    const char *ns = mcds__store_ns(store);
    const char *name = intervals->handle.name;
    struct mcds__setting settings[SETTINGS_MAX];
    struct mcds__key roots;
    uint32_t count = 0;
    intervals->face = face;
    settings[count++] = (struct mcds__setting){.name = face->width_option,
                                               .number = intervals->width_ms};
    if (face->is_window)
        settings[count++] = (struct mcds__setting){.name = "buckets",
                                                   .number = intervals->before};
    settings[count++] = (struct mcds__setting){"members", members, mcds__members_reasons,
                                               MCDS__MEMBERS_REASONS};
    mcds__key_begin(&intervals->counts, ns, face->counts_tag, name);
    bool is_estimated = members == MCDS_MEMBERS_ESTIMATED;
    mcds__settings_init(&intervals->settings, mcds__store_env(store), face->kind, is_estimated,
                        &intervals->counts, settings, count, ttl_ms);
    mcds__key_begin(&intervals->seen, ns, face->seen_tag, name);
    for (uint32_t i = 0; i + 1 < count; i++) {
        mcds__key_add_number(&intervals->counts, settings[i].number);
        mcds__key_add_number(&intervals->seen, settings[i].number);
    }
    if (members == MCDS_MEMBERS_NONE)
        return MCDS_OK;
    mcds__key_begin(&roots, ns, face->members_tag, name);
    mcds__key_add_number(&roots, intervals->width_ms);
    intervals->members = mcds__members_open(
        store, &roots, is_estimated ? &mcds__members_estimated : &mcds__members_exact, ttl_ms);
    if (intervals->members == NULL)
        return mcds__fail_memory(face->get.noun, name, NULL);
    intervals->members->settings = is_estimated ? &intervals->settings : NULL;
    return MCDS_OK;
}

void mcds__intervals_destroy(struct mcds__handle *handle)
{
    mcds__members_close(((struct mcds__intervals *)handle)->members);
}

struct mcds__tally_memory *mcds__intervals_memory(struct mcds__intervals *intervals,
                                                  uint64_t tally)
{
    assert(intervals->memory_count <= MCDS__INTERVALS_MEMORIES);
    return &intervals->memories[tally % intervals->memory_count];
}

struct mcds__key mcds__intervals_key(const struct mcds__intervals *intervals, uint64_t tally)
{
    struct mcds__key key = intervals->counts;
    mcds__key_add_number(&key, tally);
    return key;
}

/* at_ms as given, or now for 0. */
static int64_t time_or_now_ms(const struct mcds__intervals *intervals, int64_t at_ms)
{
    return at_ms != 0 ? at_ms : mcds__wall_ms(mcds__store_env(intervals->handle.store));
}

uint64_t mcds__intervals_at(const struct mcds__intervals *intervals, int64_t at_ms)
{
    return mcds__tally_at(time_or_now_ms(intervals, at_ms), intervals->width_ms);
}

/* Refuses a time before 1970. Refuses a clock before 1970, unless one interval is for all time. */
static int check_at_ms(const struct mcds__intervals *intervals,
                       const struct mcds__operation_kind *kind, int64_t at_ms)
{
    if (at_ms < 0)
        return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, MCDS__CALL(kind, intervals->handle.name),
                          .option = "at_ms", .wanted = "0 or more", .found_number = at_ms);
    return intervals->width_ms > 0 ? mcds__check_wall(kind, &intervals->handle) : MCDS_OK;
}

int mcds__intervals_check_hit(const struct mcds__intervals *intervals,
                              const struct mcds__operation_kind *kind, int64_t at_ms)
{
    char wanted[WANTED_MAX];
    int result = check_at_ms(intervals, kind, at_ms);
    if (result != MCDS_OK || intervals->width_ms == 0)
        return result;
    int64_t latest_ms = time_or_now_ms(intervals, 0) + (int64_t)intervals->ahead_ms;
    if (at_ms <= latest_ms)
        return MCDS_OK;
    (void)snprintf(wanted, sizeof wanted,
                   "at most %" PRId64 ", %" PRIu64 " ms after this machine's clock", latest_ms,
                   intervals->ahead_ms);
    return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, MCDS__CALL(kind, intervals->handle.name),
                      .option = "at_ms", .wanted = wanted, .found_number = at_ms);
}

enum mcds__step mcds__intervals_step_hit(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct mcds__intervals_hit *hit = (struct mcds__intervals_hit *)operation;
    if (!mcds__settings_check_step(&hit->check, operation, &step))
        return step;
    return mcds__members_hit_step(&hit->visit, operation);
}

void mcds__intervals_release_hit(struct mcds__operation *operation)
{
    mcds__members_hit_end(&((struct mcds__intervals_hit *)operation)->visit);
}

int mcds__intervals_launch_hit(struct mcds__intervals *intervals, const char *visitor,
                               int64_t at_ms, const struct mcds__start *start)
{
    int result = MCDS_OK;
    struct mcds__intervals_hit own;
    struct mcds__intervals_hit *hit = mcds__call_begin(&own.base, &intervals->face->hit_member,
                                                       &intervals->handle, start, &result);
    if (hit == NULL)
        return result;
    mcds__settings_check_begin(&hit->check, &intervals->settings, true, &hit->base);
    hit->check.needs_cas = true;
    mcds__members_hit_begin(&hit->visit, intervals->members,
                            mcds__intervals_at(intervals, at_ms), visitor);
    return mcds__call_launch(&hit->base, start);
}

/* The interval of key i. Those of a window are also in the windows after it. */
static uint64_t number_of(const struct mcds__intervals_read *read, uint32_t i)
{
    return read->intervals->face->is_window ? read->tally + i : read->tally - i;
}

static enum mcds__step read_numbers(struct mcds__intervals_read *read)
{
    uint64_t numbers[2] = {0, 0};
    bool reborn = false;
    struct mcds__operation *operation = &read->base;
    enum mcds__step step = mcds__tally_read_step(read->requests, read->keys, read->count, NULL,
                                                 0, &read->stage, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    assert(read->count == 1 || read->count == 2);
    for (uint32_t i = 0; i < read->count; i++) {
        uint64_t tally = number_of(read, i);
        if (!mcds__unique_hit_read(operation, &read->requests[i],
                                   mcds__intervals_memory(read->intervals, tally), tally,
                                   read->seen[i], &numbers[i], &reborn))
            return mcds__operation_finish(operation, MCDS_CORRUPT);
    }
    read->intervals->face->take_numbers(read, numbers, reborn);
    return step;
}

static enum mcds__step drop_numbers(struct mcds__intervals_read *read)
{
    struct mcds__intervals *intervals = read->intervals;
    enum mcds__step step = mcds__tally_drop_step(read->requests, read->keys, read->count, NULL,
                                                 &read->stage, &read->base);
    if (step != MCDS__DONE || read->base.result < 0)
        return step;
    for (uint32_t i = 0; i < intervals->memory_count; i++)
        mcds__tally_forget(&intervals->memories[i]);
    mcds__settings_forget(&intervals->settings);
    return step;
}

static enum mcds__step step_members(struct mcds__intervals_read *read)
{
    struct mcds__operation *operation = &read->base;
    if (!read->settings.is_begun) {
        enum mcds__step step = mcds__members_read_step(&read->members, operation);
        bool is_read = operation->result == MCDS_OK || operation->result == MCDS_NOT_FOUND;
        if (step != MCDS__DONE || !is_read) /* BUSY: the members are as they were */
            return step;
        if (read->value_out != NULL)
            read->intervals->face->take_members(read);
        if (!read->ends)
            return step;
        mcds__settings_drop_begin(&read->settings, operation->result == MCDS_OK);
    }
    return mcds__settings_drop_step(&read->settings, &read->intervals->settings, operation);
}

enum mcds__step mcds__intervals_step_read(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct mcds__intervals_read *read = (struct mcds__intervals_read *)operation;
    if (!mcds__settings_check_step(&read->check, operation, &step))
        return step;
    if (read->intervals->members != NULL)
        return step_members(read);
    return read->value_out != NULL ? read_numbers(read) : drop_numbers(read);
}

void mcds__intervals_release_read(struct mcds__operation *operation)
{
    struct mcds__intervals_read *read = (struct mcds__intervals_read *)operation;
    if (read->intervals->members != NULL)
        mcds__members_read_end(&read->members);
}

/* Sets the keys of the numbers that are read or erased, of `before` intervals and this one. */
static void put_keys(struct mcds__intervals_read *read, uint32_t before)
{
    struct mcds__intervals *intervals = read->intervals;
    read->count = before + 1;
    if (intervals->face->is_window)
        read->count = read->value_out != NULL ? 2 : intervals->before + 1;
    for (uint32_t i = 0; i < read->count; i++) {
        uint64_t tally = number_of(read, i);
        read->keys[i] = intervals->counts;
        mcds__key_add_number(&read->keys[i], tally);
        if (i < 2)
            read->seen[i] = mcds__tally_was_seen(mcds__intervals_memory(intervals, tally),
                                                 tally);
    }
    if (read->ends)
        read->keys[read->count++] = intervals->settings.key;
    assert(read->count <= sizeof read->keys / sizeof read->keys[0]);
}

static int launch_read(struct mcds__intervals *intervals,
                       const struct mcds__operation_kind *kind, int64_t at_ms, void *value_out,
                       const struct mcds__start *start)
{
    struct mcds__intervals_read own;
    int result = check_at_ms(intervals, kind, at_ms);
    if (result != MCDS_OK)
        return result;
    struct mcds__intervals_read *read = mcds__call_begin(&own.base, kind, &intervals->handle,
                                                         start, &result);
    if (read == NULL)
        return result;
    mcds__settings_check_begin(&read->check, &intervals->settings, false, &read->base);
    read->intervals = intervals;
    read->value_out = value_out;
    read->at_ms = time_or_now_ms(intervals, at_ms);
    read->tally = mcds__tally_at(read->at_ms, intervals->width_ms);
    read->stage = 0;
    read->settings.is_begun = false;
    uint32_t before = read->tally < intervals->before ? (uint32_t)read->tally
                                                      : intervals->before;
    uint64_t now = mcds__tally_at(mcds__wall_ms(read->base.env), intervals->width_ms);
    read->ends = value_out == NULL && read->tally >= now && read->tally - before <= now;
    if (intervals->members != NULL)
        mcds__members_read_begin(&read->members, intervals->members, read->tally, before + 1,
                                 value_out == NULL);
    else
        put_keys(read, before);
    return mcds__call_launch(&read->base, start);
}

int mcds__intervals_launch_get(struct mcds__intervals *intervals,
                               const struct mcds__intervals_face *face, int64_t at_ms,
                               void *value_out, const struct mcds__start *start)
{
    if (intervals == NULL || value_out == NULL)
        return mcds__fail_missing(face->get.noun, "get", "a handle and a place for the value");
    int result = mcds__sized_check(face->value_type, value_out);
    if (result != MCDS_OK)
        return result;
    return launch_read(intervals, &face->get, at_ms, value_out, start);
}

int mcds__intervals_launch_drop(struct mcds__intervals *intervals,
                                const struct mcds__intervals_face *face, int64_t at_ms,
                                const struct mcds__start *start)
{
    if (intervals == NULL)
        return mcds__fail_missing(face->drop.noun, "drop", "a handle");
    return launch_read(intervals, &face->drop, at_ms, NULL, start);
}
