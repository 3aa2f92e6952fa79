/* Lines: operations of one pipeline that wait for the same place. */
#include "engine/line.h"

#include <assert.h>

#define SLOTS (1 << MCDS__LINES_BITS)

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

bool mcds__lines_join(struct mcds__lines *lines, struct mcds__operation *operation,
                      uint64_t place)
{
    assert(place != 0 && operation->line == 0);
    struct mcds__operation **link = first_of(lines, place);
    struct mcds__operation *first = *link;
    operation->line = place;
    operation->next_in_line = NULL;
    lines->waiting++;
    if (first != NULL) {
        first->line_end->next_in_line = operation;
        first->line_end = operation;
        return false;
    }
    operation->other_line = NULL;
    operation->line_end = operation;
    *link = operation;
    lines->count++;
    return true;
}

void mcds__lines_use(struct mcds__lines *lines, struct mcds__operation *operation)
{
    assert(operation->line != 0 && !operation->uses_line && lines->waiting > 0);
    operation->uses_line = true;
    lines->waiting--;
}

void mcds__lines_leave(struct mcds__lines *lines, struct mcds__operation *operation)
{
    struct mcds__operation **link = first_of(lines, operation->line);
    struct mcds__operation *next = operation->next_in_line;
    assert(*link == operation && lines->count > 0);
    if (next != NULL) {
        next->other_line = operation->other_line;
        next->line_end = operation->line_end;
        next->wake_ns = 0;
    } else {
        next = operation->other_line;
        lines->count--;
    }
    *link = next;
    if (!operation->uses_line)
        lines->waiting--;
    operation->uses_line = false;
    operation->line = 0;
}

void mcds__lines_call(struct mcds__lines *lines, uint64_t place)
{
    struct mcds__operation *first = lines->count > 0 ? *first_of(lines, place) : NULL;
    if (first != NULL && !first->uses_line)
        first->wake_ns = 0;
}

struct mcds__operation *mcds__lines_due(struct mcds__lines *lines, uint32_t *slot,
                                        int64_t now_ns)
{
    for (; lines->waiting > 0 && *slot < SLOTS; (*slot)++)
        for (struct mcds__operation *o = lines->firsts[*slot]; o != NULL; o = o->other_line)
            if (!o->uses_line && o->wake_ns <= now_ns)
                return o;
    return NULL;
}

int64_t mcds__lines_wake_ns(const struct mcds__lines *lines)
{
    int64_t wake_ns = INT64_MAX;
    for (uint32_t slot = 0; lines->waiting > 0 && slot < SLOTS; slot++)
        for (const struct mcds__operation *o = lines->firsts[slot]; o != NULL;
             o = o->other_line)
            if (!o->uses_line && o->wake_ns < wake_ns)
                wake_ns = o->wake_ns;
    return wake_ns;
}

bool mcds__lines_has_other(const struct mcds__operation *operation, uint64_t place)
{
    struct mcds__lines *lines = operation->lines;
    if (lines == NULL || lines->count == 0)
        return false;
    const struct mcds__operation *first = *first_of(lines, place);
    return first != NULL && first != operation;
}
