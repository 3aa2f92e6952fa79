/* Waiting in lines: how an operation of a pipeline uses a place that takes few of them. */
#include "engine/line_wait.h"

#include <assert.h>

#include "base/environment.h"
#include "engine/line.h"

/* A longer value counts as this: it is in flight alone. */
#define BYTES_MAX MCDS__LINES_BYTES_MAX

int64_t mcds__line_now_ns(const struct mcds__operation *operation)
{
    return operation->lines != NULL ? mcds__lines_now_ns(operation->lines, operation->env)
                                    : mcds__monotonic_ns(operation->env);
}

/* Whether the operation has waited in this line until its deadline. It begins at this time. */
static bool has_waited_too_long(struct mcds__operation *operation, uint64_t place)
{
    if (operation->lines == NULL || operation->line != place || operation->uses_line)
        return false;
    assert(operation->wanted == 0);
    operation->sent_ns = mcds__lines_now_ns(operation->lines, operation->env);
    operation->is_fresh = true;
    return operation->sent_ns >= operation->deadline_ns;
}

/* Only operations of the same pipeline use the place, and the first of the line is called when one
 * of them leaves it. So only the deadline wakes it otherwise. */
static enum mcds__step wait_in_line(struct mcds__operation *operation, uint64_t place)
{
    assert(!operation->uses_line);
    operation->wanted = place;
    operation->settles = false;
    operation->wake_ns = operation->deadline_ns;
    operation->is_fresh = false;
    return MCDS__SLEEP;
}

static bool waits_after(struct mcds__operation *operation, uint64_t place,
                        enum mcds__step *step_out)
{
    if (operation->uses_line || !mcds__lines_has_other(operation, place))
        return false;
    *step_out = wait_in_line(operation, place);
    return true;
}

static bool waits_alone(struct mcds__operation *operation, uint64_t place,
                        enum mcds__step *step_out)
{
    if (operation->lines == NULL || operation->uses_line)
        return false;
    if (waits_after(operation, place, step_out))
        return true;
    if (operation->line != 0 && operation->line != place)
        mcds__lines_leave(operation->lines, operation);
    if (operation->line == 0)
        mcds__lines_join(operation->lines, operation, place);
    mcds__lines_use(operation->lines, operation);
    assert(operation->line == place && operation->uses_line);
    return false;
}

bool mcds__line_waits_after(struct mcds__operation *operation, uint64_t place,
                            enum mcds__step *step_out)
{
    if (!has_waited_too_long(operation, place))
        return waits_after(operation, place, step_out);
    *step_out = mcds__operation_fail_unsent(operation);
    return true;
}

bool mcds__line_waits_alone(struct mcds__operation *operation, uint64_t place,
                            enum mcds__step *step_out)
{
    if (!has_waited_too_long(operation, place))
        return waits_alone(operation, place, step_out);
    *step_out = mcds__operation_fail_unsent(operation);
    return true;
}

bool mcds__line_waits_in_doubt(struct mcds__operation *operation, uint64_t place,
                               enum mcds__step *step_out)
{
    return !has_waited_too_long(operation, place) && waits_alone(operation, place, step_out);
}

bool mcds__line_waits(struct mcds__operation *operation, uint64_t place, size_t length,
                      enum mcds__step *step_out)
{
    assert(length > 0);
    uint32_t bytes = length < BYTES_MAX ? (uint32_t)length : BYTES_MAX;
    bool has_room = operation->bytes >= bytes && operation->place == place;
    if (operation->lines == NULL || has_room)
        return false;
    if (has_waited_too_long(operation, place)) {
        *step_out = mcds__operation_fail_unsent(operation);
        return true;
    }
    if (operation->bytes > 0 && operation->place != place)
        mcds__lines_give_bytes(operation->lines, operation);
    bool is_first = operation->bytes > 0 || operation->uses_line;
    if ((is_first || !mcds__lines_has_other(operation, place)) &&
        mcds__lines_take_bytes(operation->lines, operation, place, bytes))
        return false;
    assert(operation->bytes == 0);
    *step_out = wait_in_line(operation, place);
    return true;
}

void mcds__line_release(struct mcds__operation *operation)
{
    if (operation->uses_line)
        mcds__lines_unuse(operation->lines, operation);
}
