/* Opens structures with the options that they were made with. Commands that may make a structure do not use this: a new structure must not depend on an earlier one. */
#include "run/made_with.h"

bool takes_as_made(const struct command *command)
{
    const struct noun *noun = command->noun;
    if (!noun->keeps_options || command->verb->makes)
        return false;
    for (int id = 0; id < OPTION_COUNT; id++)
        if (id != OPTION_DATABASE && is_among(noun->shape, id) && command->options[id].given)
            return false;
    return true;
}
