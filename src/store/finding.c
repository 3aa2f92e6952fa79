/* Builds the findings that the inspection of a backend reports. */
#include "store/finding.h"

#include <stdarg.h>
#include <stdio.h>

#define SENTENCE_MAX 512

void mcds__report(struct mcds__report *report, mcds_severity severity, const char *fix,
                  const char *format, ...)
{
    char what[SENTENCE_MAX];
    va_list arguments;
    if (report->ended)
        return;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    mcds_finding finding = {severity, report->subject, what, fix};
    report->ended = !report->visit(report->context, &finding);
}
