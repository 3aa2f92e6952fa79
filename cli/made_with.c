/* Commands that take a structure as it was made. Those that may make it do not: what they make must
 * not depend on what was there before. */
#include "made_with.h"

#include "nouns.h"

bool takes_as_made(const struct command *command)
{
    const struct noun *noun = command->noun;
    const struct verb *verb = command->verb;
    bool keeps = noun->open == counter_open || noun->open == visitors_open ||
                 noun->open == online_open || noun->open == set_open;
    bool makes = verb->start == counter_add || verb->start == visitors_hit ||
                 verb->start == online_beat || verb->start == set_add;
    if (!keeps || makes)
        return false;
    for (int id = 0; id < OPTION_COUNT; id++)
        if ((noun->shape & BIT(id)) != 0 && command->options[id].given)
            return false;
    return true;
}
