/* Several elements or names on one command line: one operation for each, in a ring. */
#include "batch/several.h"

#include <stdio.h>

#include "batch/ring.h"
#include "io/exit.h"
#include "signals/interrupt.h"
#include "table/commands.h"

/* Until a signal comes. Returns the first element that was not started, or NULL. */
static const char *start_each(struct ring *ring, const struct command *command)
{
    size_t place = last_argument(command->verb);
    for (size_t i = 0; i < command->element_count; i++) {
        if (interrupt_number() != 0)
            return command->elements[i].data;
        struct slot *slot = ring_next(ring);
        slot->command = *command;
        slot->command.elements = NULL; /* the slot does not own them */
        slot->command.element_count = 0;
        slot->command.arguments[place] = command->elements[i].data;
        slot->command.bytes[place] = command->elements[i];
        slot->command.is_of_several = true;
        ring_start(ring, slot);
    }
    return NULL;
}

int several_run(struct session *session, const struct command *command)
{
    const char *against = command->noun->why_not != NULL ? command->noun->why_not(command)
                                                         : NULL;
    if (against != NULL) {
        report_failure(&session->output, command, STATUS_USAGE, "MCDS_INVALID", against);
        return STATUS_USAGE;
    }
    struct ring *ring = NULL;
    int status = ring_open(session, &ring);
    if (status == STATUS_DONE) {
        char what[64];
        (void)snprintf(what, sizeof what, "%s %s", command->noun->word, command->verb->word);
        interrupt_open();
        status = ring_end(ring, what, start_each(ring, command));
        interrupt_close();
    }
    ring_close(ring);
    return status;
}
