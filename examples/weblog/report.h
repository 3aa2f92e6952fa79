/* What a run found, for people and for programs. */
#ifndef WEBLOG_REPORT_H
#define WEBLOG_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "figures.h"
#include "finds.h"
#include "names.h"
#include "tally.h"
#include "totals.h"

struct report {
    const struct figures *figures;
    const char *const *paths;
    uint32_t workers;
    double seconds;     /* spent on counting */
    uint64_t own_lines; /* read by this run */
    const struct totals *totals;
    const struct details *details;
    const struct finds *finds;
    const struct summary *summary;
    struct names *pages; /* sorted */
};

/* One object:
 *   {"lines":N,"malformed":N,"views":{PAGE:N,...},"pages":N,"visitors":N,"errors":N,
 *    "error_log":N,"hosts":{HOST:N,...},"referrers":N,"largest":[{"size":N,"page":PAGE},...]}
 * and "uncertain":N behind these when it is not 0. A byte of a page that is not part of valid
 * UTF-8 becomes \udcXX, where XX is the byte: a lone surrogate stands for nothing else, so the
 * bytes can be had back (in Python: encode('utf-8', 'surrogateescape')). */
void report_json(FILE *out, const struct report *report);

void report_people(FILE *out, const struct report *report);

#endif
