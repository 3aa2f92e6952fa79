/* Builds the findings that the inspection of a backend reports. */
#include "store/finding.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"

/* Passes a finding to the visitor, with all texts fit for a terminal. */
static void report_said(struct mcds__report *report, mcds_finding finding, const char *said)
{
    char subject[MCDS__SENTENCE_MAX], what[MCDS__SENTENCE_MAX], fix[MCDS__SENTENCE_MAX];
    assert(!report->ended);
    (void)mcds__show(subject, sizeof subject, report->subject);
    (void)mcds__show(what, sizeof what, said);
    (void)mcds__show(fix, sizeof fix, finding.fix);
    finding.subject = subject;
    finding.what = what;
    finding.fix = fix;
    report->ended = !report->visit(report->context, &finding);
}

void mcds__report(struct mcds__report *report, mcds_severity severity, const char *fix,
                  const char *format, ...)
{
    char said[MCDS__SENTENCE_MAX];
    va_list arguments;
    if (report->ended)
        return;
    va_start(arguments, format);
    (void)vsnprintf(said, sizeof said, format, arguments);
    va_end(arguments);
    report_said(report, (mcds_finding){.severity = severity, .fix = fix}, said);
}

void mcds__report_figure(struct mcds__report *report, const char *figure, uint64_t number,
                         const char *format, ...)
{
    char said[MCDS__SENTENCE_MAX];
    va_list arguments;
    if (report->ended)
        return;
    va_start(arguments, format);
    (void)vsnprintf(said, sizeof said, format, arguments);
    va_end(arguments);
    mcds_finding finding = {.fix = "", .figure = figure, .number = number};
    report_said(report, finding, said);
}
