/* The findings that a backend's inspection reports, one by one, to a visitor that may end it. */
#ifndef MCDS_STORE_FINDING_H
#define MCDS_STORE_FINDING_H

#include "mcds/backend.h"

struct mcds__report {
    const char *subject; /* the server, file or table that the findings concern */
    mcds_inspect_cb visit;
    void *context;
    bool ended; /* the visitor has ended the inspection */
};

/* Report a finding. `fix` is the remedy, or "". */
void mcds__report(struct mcds__report *report, mcds_severity severity, const char *fix,
                  const char *format, ...) MCDS_PRINTF(4, 5);

/* Report a fact that is a number. */
void mcds__report_figure(struct mcds__report *report, const char *figure, uint64_t number,
                         const char *format, ...) MCDS_PRINTF(4, 5);

#endif
