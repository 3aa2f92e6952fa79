/* Builds the findings that the inspection of a backend reports. */
#include "store/finding.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"

void mcds__report(struct mcds__report *report, mcds_severity severity, const char *fix,
                  const char *format, ...)
{
    char said[MCDS__SENTENCE_MAX];
    char subject[MCDS__SENTENCE_MAX], what[MCDS__SENTENCE_MAX], shown_fix[MCDS__SENTENCE_MAX];
    va_list arguments;
    if (report->ended)
        return;
    va_start(arguments, format);
    (void)vsnprintf(said, sizeof said, format, arguments);
    va_end(arguments);
    (void)mcds__show(subject, sizeof subject, report->subject);
    (void)mcds__show(what, sizeof what, said);
    (void)mcds__show(shown_fix, sizeof shown_fix, fix);
    mcds_finding finding = {severity, subject, what, shown_fix};
    report->ended = !report->visit(report->context, &finding);
}
