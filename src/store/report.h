/* What the inspection of a home says, finding by finding, to a visitor who may have enough. */
#ifndef MCDS_STORE_REPORT_H
#define MCDS_STORE_REPORT_H

#include "mcds_store.h"

struct mcds__report {
    const char *subject; /* the server, file or table that is spoken of */
    bool (*visit)(void *context, const mcds_finding *finding);
    void *context;
    bool ended; /* the visitor has had enough */
};

/* One finding. `fix` is what to do about it, or "". */
void mcds__report(struct mcds__report *report, mcds_severity severity, const char *fix,
                  const char *format, ...) MCDS_PRINTF(4, 5);

#endif
