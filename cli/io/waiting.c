/* Waiting: the same sentence for every command that waits for other callers. */
#include "io/waiting.h"

#include <unistd.h>

bool waiting_is_told(const struct output *output)
{
    return !output->quiet && isatty(STDERR_FILENO) == 1;
}

void waiting_tell(const struct output *output, const char *why, const char *advice)
{
    complain(output, "%s; waiting: Ctrl-C ends the wait%s", why, advice);
}
