/* Lines: operations of one pipeline that wait for the same place. */
#include "engine/line.h"

#include <assert.h>

#include "base/environment.h"

static_assert(MCDS__LINES_BITS == 6, "a bit of a number for each slot");

static uint32_t slot_of(uint64_t place)
{
    return (uint32_t)((place * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - MCDS__LINES_BITS));
}

/* The link to the first of this line; the link is NULL where there is no line. */
static struct mcds__operation **first_of(struct mcds__lines *lines, uint64_t place)
{
    struct mcds__operation **link = &lines->firsts[slot_of(place)];
    while (*link != NULL && (*link)->line != place)
        link = &(*link)->other_line;
    return link;
}

/* The deadline is 0 if the caller has ended its wait. */
static void expect_late(struct mcds__lines *lines, const struct mcds__operation *operation)
{
    int64_t late_ns = operation->deadline_ns > 0 ? operation->deadline_ns : 1;
    if (lines->late_ns == 0 || late_ns < lines->late_ns)
        lines->late_ns = late_ns;
}

void mcds__lines_join(struct mcds__lines *lines, struct mcds__operation *operation,
                      uint64_t place)
{
    assert(place != 0 && operation->line == 0);
    struct mcds__operation **link = first_of(lines, place);
    struct mcds__operation *first = *link;
    operation->line = place;
    operation->next_in_line = operation->before_in_line = NULL;
    lines->waiting++;
    expect_late(lines, operation);
    if (first != NULL) {
        operation->before_in_line = first->line_end;
        first->line_end->next_in_line = operation;
        first->line_end = operation;
        return;
    }
    operation->other_line = NULL;
    operation->line_end = operation;
    *link = operation;
    lines->taken |= UINT64_C(1) << slot_of(place);
}

void mcds__lines_use(struct mcds__lines *lines, struct mcds__operation *operation)
{
    assert(operation->line != 0 && !operation->uses_line && lines->waiting > 0);
    operation->uses_line = true;
    lines->waiting--;
}

/* Those whose work it has done may be late. */
static void end_lead(struct mcds__lines *lines, struct mcds__operation *operation)
{
    if (operation->leads_line)
        mcds__lines_note_late(lines);
    operation->leads_line = false;
}

void mcds__lines_unuse(struct mcds__lines *lines, struct mcds__operation *operation)
{
    assert(operation->uses_line);
    end_lead(lines, operation);
    operation->uses_line = false;
    lines->waiting++;
}

/* This operation has left the place for which the other is the first that waits. */
static void wake_first(struct mcds__operation *first, const struct mcds__operation *operation)
{
    first->obstacle = operation->obstacle;
    first->wake_ns = 0;
}

static void leave_first(struct mcds__lines *lines, struct mcds__operation **link)
{
    struct mcds__operation *operation = *link;
    struct mcds__operation *next = operation->next_in_line;
    uint32_t slot = slot_of(operation->line);
    if (next != NULL) {
        next->before_in_line = NULL;
        next->other_line = operation->other_line;
        next->line_end = operation->line_end;
        wake_first(next, operation);
    } else {
        next = operation->other_line;
    }
    *link = next;
    if (lines->firsts[slot] == NULL)
        lines->taken &= ~(UINT64_C(1) << slot);
}

static void leave_middle(struct mcds__operation *first, struct mcds__operation *operation)
{
    struct mcds__operation *next = operation->next_in_line;
    assert(!operation->uses_line && operation->before_in_line != NULL);
    operation->before_in_line->next_in_line = next;
    if (next != NULL)
        next->before_in_line = operation->before_in_line;
    else
        first->line_end = operation->before_in_line;
}

void mcds__lines_leave(struct mcds__lines *lines, struct mcds__operation *operation)
{
    struct mcds__operation **link = first_of(lines, operation->line);
    assert(*link != NULL && operation->line != 0);
    if (*link == operation)
        leave_first(lines, link);
    else
        leave_middle(*link, operation);
    if (!operation->uses_line)
        lines->waiting--;
    end_lead(lines, operation);
    operation->uses_line = false;
    operation->line = 0;
}

void mcds__lines_call(struct mcds__lines *lines, const struct mcds__operation *operation,
                      uint64_t place)
{
    struct mcds__operation *first = lines->taken != 0 ? *first_of(lines, place) : NULL;
    if (first != NULL && first != operation && !first->uses_line)
        wake_first(first, operation);
}

bool mcds__lines_take_bytes(struct mcds__lines *lines, struct mcds__operation *operation,
                            uint64_t place, uint32_t length)
{
    uint32_t *bytes = &lines->bytes[slot_of(place)];
    assert(length > 0 && operation->bytes <= *bytes);
    bool has_room = *bytes == 0 || *bytes + length <= MCDS__LINES_BYTES_MAX;
    if (!has_room && operation->bytes == 0 && !operation->uses_line)
        return false;
    *bytes += length - operation->bytes;
    operation->place = place;
    operation->bytes = length;
    return true;
}

/* Places of one hash share the room. The line moves when half is free: then much is sent at once. */
void mcds__lines_give_bytes(struct mcds__lines *lines, struct mcds__operation *operation)
{
    uint32_t slot = slot_of(operation->place);
    assert(operation->bytes > 0 && operation->bytes <= lines->bytes[slot]);
    lines->bytes[slot] -= operation->bytes;
    operation->bytes = 0;
    if (lines->bytes[slot] > MCDS__LINES_BYTES_MAX / 2)
        return;
    for (struct mcds__operation *o = lines->firsts[slot]; o != NULL; o = o->other_line)
        if (!o->uses_line)
            wake_first(o, operation);
}

/* The first taken slot from this one on; 64: none. */
static uint32_t next_taken(const struct mcds__lines *lines, uint32_t slot)
{
    uint64_t taken = slot < 64 ? lines->taken >> slot : 0;
    return taken != 0 ? slot + (uint32_t)__builtin_ctzll(taken) : 64;
}

struct mcds__operation *mcds__lines_due(struct mcds__lines *lines, uint32_t *slot,
                                        const mcds_env *env)
{
    for (; lines->waiting > 0 && (*slot = next_taken(lines, *slot)) < 64; (*slot)++)
        for (struct mcds__operation *o = lines->firsts[*slot]; o != NULL; o = o->other_line) {
            if (!o->uses_line &&
                (o->wake_ns == 0 || o->wake_ns <= mcds__lines_now_ns(lines, env)))
                return o;
        }
    return NULL;
}

/* Add the late operations of this line to the list, and return it. */
static struct mcds__operation *add_late(struct mcds__lines *lines,
                                        const struct mcds__operation *first,
                                        struct mcds__operation *list, int64_t now_ns)
{
    if (first->leads_line)
        return list;
    for (struct mcds__operation *o = first->next_in_line; o != NULL; o = o->next_in_line)
        if (o->deadline_ns <= now_ns) {
            o->obstacle = first->obstacle;
            o->next = list;
            list = o;
        } else {
            expect_late(lines, o);
        }
    return list;
}

struct mcds__operation *mcds__lines_late(struct mcds__lines *lines, const mcds_env *env)
{
    struct mcds__operation *list = NULL;
    if (lines->waiting == 0 || lines->late_ns == 0)
        return NULL;
    int64_t now_ns = mcds__lines_now_ns(lines, env);
    if (lines->late_ns > now_ns)
        return NULL;
    lines->late_ns = 0;
    for (uint32_t slot = 0; (slot = next_taken(lines, slot)) < 64; slot++)
        for (struct mcds__operation *o = lines->firsts[slot]; o != NULL; o = o->other_line)
            list = add_late(lines, o, list, now_ns);
    return list;
}

int64_t mcds__lines_wake_ns(const struct mcds__lines *lines)
{
    int64_t wake_ns = lines->waiting > 0 && lines->late_ns > 0 ? lines->late_ns : INT64_MAX;
    for (uint32_t slot = 0; lines->waiting > 0 && (slot = next_taken(lines, slot)) < 64; slot++)
        for (const struct mcds__operation *o = lines->firsts[slot]; o != NULL;
             o = o->other_line)
            if (!o->uses_line && o->wake_ns < wake_ns)
                wake_ns = o->wake_ns;
    return wake_ns;
}

bool mcds__lines_has_other(const struct mcds__operation *operation, uint64_t place)
{
    struct mcds__lines *lines = operation->lines;
    if (lines == NULL || lines->taken == 0)
        return false;
    const struct mcds__operation *first = *first_of(lines, place);
    return first != NULL && first != operation;
}
