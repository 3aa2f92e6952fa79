/* mcds doctor: describes the store, why it was selected, and its problems. */
#include "io/exit.h"
#include "run/session.h"
#include "table/nouns.h"

struct visit {
    struct output *output;
    bool has_problem;
};

static bool print_finding(void *context, const mcds_finding *finding)
{
    static const char *const severities[] = {"fact", "advice", "problem"};
    struct visit *visit = context;
    struct output *output = visit->output;
    visit->has_problem = visit->has_problem || finding->severity == MCDS_PROBLEM;
    output_begin(output);
    output_text(output, "severity", severities[finding->severity], SHOWN);
    output_name(output, "subject", finding->subject, SHOWN);
    output_name(output, "what", finding->what, SHOWN);
    if (output->json || finding->fix[0] != '\0')
        output_name(output, "fix", finding->fix, SHOWN);
    if (finding->figure != NULL) {
        output_text(output, "figure", finding->figure, HIDDEN);
        output_unsigned(output, "number", finding->number, HIDDEN);
    }
    output_end(output);
    return true;
}

static void print_fact(struct visit *visit, const char *subject, const char *what)
{
    mcds_finding finding = {MCDS_FACT, subject, what, "", NULL, 0};
    (void)print_finding(visit, &finding);
}

static int problem(struct visit *visit, const char *subject, const char *fix)
{
    mcds_finding finding = {MCDS_PROBLEM, subject, mcds_errmsg(), fix, NULL, 0};
    (void)print_finding(visit, &finding);
    return STATUS_NO;
}

/* The remedy where the store could not be opened. */
static const char *fix_for(int result)
{
    switch (result) {
    case MCDS_INVALID:
        return "correct the store URI: -s or $MCDS_STORE";
    case MCDS_NO_MEMORY:
        return mcds_last_error()->cause == MCDS_CAUSE_NO_MEMORY
                   ? "let this program have more memory (ulimit -v)"
                   : "";
    default:
        return "remove the cause, or give another store: -s or $MCDS_STORE";
    }
}

int doctor_run(struct session *session, const struct command *command)
{
    (void)command;
    struct visit visit = {&session->output, false};
    print_fact(&visit, "mcds", mcds_version());
    print_fact(&visit, session->uri, session->uri_origin);
    int result = session_open(session);
    if (result != MCDS_OK)
        return problem(&visit, session->uri, fix_for(result));
    if (session->is_absent) {
        print_fact(&visit, session->uri,
                   "it does not exist yet; the first command that changes something makes it");
        return STATUS_DONE;
    }
    result = mcds_inspect(session->store, print_finding, &visit);
    if (result != MCDS_OK)
        return problem(&visit, session->uri, "make the store reachable");
    return visit.has_problem ? STATUS_NO : STATUS_DONE;
}
