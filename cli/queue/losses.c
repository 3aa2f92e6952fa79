/* Losses: a server that evicts while a worker runs loses parts again and again. */
#include "queue/losses.h"

#include <inttypes.h>

#define TELL_EVERY_NS INT64_C(60000000000)

void losses_add(struct losses *losses, const struct command *command)
{
    if (losses->total++ == 0)
        describe_failure(losses->said, command);
}

static void tell(struct losses *losses, const struct output *output, const char *since)
{
    if (losses->total == 1)
        complain(output, "%s", losses->said);
    else
        complain(output, "%s (%" PRIu64 " parts are lost%s)", losses->said, losses->total,
                 since);
    losses->told = losses->total;
}

void losses_tell(struct losses *losses, const struct output *output, int64_t now_ns)
{
    bool is_first = losses->told == 0;
    if (losses->total == losses->told ||
        (!is_first && now_ns - losses->told_ns < TELL_EVERY_NS))
        return;
    tell(losses, output, is_first ? "" : " so far");
    losses->told_ns = now_ns;
}

void losses_end(struct losses *losses, const struct output *output)
{
    if (losses->total > losses->told)
        tell(losses, output, losses->told == 0 ? "" : " in all");
}
