/* Outage: the same two sentences for every command that outlasts the silence of a store. */
#include "io/outage.h"

void outage_begin(struct outage *outage, const struct output *output, const char *why)
{
    if (!outage->is_told)
        complain(output, "%s; waiting", why);
    outage->is_told = true;
}

void outage_end(struct outage *outage, const struct output *output)
{
    if (outage->is_told)
        complain(output, "the store answers again");
    outage->is_told = false;
}
