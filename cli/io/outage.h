/* Outage: a command that continues while its store does not answer says so once, and once when the
 * store answers again. */
#ifndef MCDS_CLI_IO_OUTAGE_H
#define MCDS_CLI_IO_OUTAGE_H

#include "io/output.h"

struct outage {
    bool is_told; /* a sentence has said that the store does not answer */
};

/* A call has failed. `why` is the sentence about it. */
void outage_begin(struct outage *outage, const struct output *output, const char *why);
/* A call was answered. */
void outage_end(struct outage *outage, const struct output *output);

#endif
