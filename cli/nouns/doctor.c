/* mcds doctor: describes the store, why it was selected, and its problems. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "io/exit.h"
#include "parse/values.h"
#include "run/default_store.h"
#include "run/session.h"
#include "run/uri.h"
#include "table/commands.h"
#include "table/nouns.h"

#define NAMESPACE_SHOWN 64

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

static int problem(struct visit *visit, const char *subject, const char *what, const char *fix)
{
    mcds_finding finding = {MCDS_PROBLEM, subject, what, fix, NULL, 0};
    (void)print_finding(visit, &finding);
    return STATUS_NO;
}

/* The remedy where the store could not be opened. */
static const char *fix_for(int result)
{
    switch (result) {
    case MCDS_INVALID:
        return "correct the store URI: -s, $MCDS_STORE or the configuration file";
    case MCDS_NO_MEMORY:
        return mcds_last_error()->cause == MCDS_CAUSE_NO_MEMORY
                   ? "let this program have more memory (ulimit -v)"
                   : "";
    default:
        return "remove the cause, or give another store: -s or $MCDS_STORE";
    }
}

/* The configuration file, and the profile. */
static void print_config(struct visit *visit, const struct session *session)
{
    char what[CONFIG_PATH_CAPACITY + 200];
    const struct config *config = &session->config;
    if (config->path[0] == '\0')
        (void)snprintf(what, sizeof what, "no file: there is no home");
    else
        (void)snprintf(what, sizeof what, "%s%s", config->path,
                       config->is_there                         ? ""
                       : strcmp(config->path, "/dev/null") == 0 ? ": no file"
                                                                : ", which does not exist");
    print_fact(visit, "configuration", what);
    if (session->profile != NULL) {
        (void)snprintf(what, sizeof what, "%s, %s", session->profile,
                       is_given(session->command, OPTION_PROFILE) ? "given with --profile"
                                                                  : "from $MCDS_PROFILE");
        print_fact(visit, "profile", what);
    }
}

/* A value of an option or of the configuration, and where it comes from. */
static void print_setting(struct visit *visit, const struct session *session,
                          enum setting_id id, enum option_id option, const char *value)
{
    char origin[CONFIG_PATH_CAPACITY + 32];
    char what[CONFIG_PATH_CAPACITY + 2048];
    const char *word = options[option].word;
    if (uri_value(session->uri, id == SETTING_NAMESPACE ? "ns=" : "timeout=") != NULL)
        (void)snprintf(origin, sizeof origin, "in the store URI");
    else if (is_given(session->command, option))
        (void)snprintf(origin, sizeof origin, "given with --%s", word);
    else if (session->config.settings[id].line > 0)
        write_origin(session, id, origin, sizeof origin);
    else
        (void)snprintf(origin, sizeof origin, "the default");
    (void)snprintf(what, sizeof what, "%s, %s", value, origin);
    print_fact(visit, word, what);
}

static void print_settings(struct visit *visit, const struct session *session)
{
    char timeout[DURATION_CAPACITY];
    char ns[NAMESPACE_SHOWN];
    const char *in_uri = uri_value(session->uri, "ns=");
    const char *other = session->options.ns != NULL ? session->options.ns : "mcds";
    (void)snprintf(ns, sizeof ns, "%.*s", in_uri != NULL ? (int)strcspn(in_uri, "&") : INT_MAX,
                   in_uri != NULL ? in_uri : other);
    format_duration(session_timeout_ms(session), timeout);
    print_config(visit, session);
    print_fact(visit, session->uri, session->uri_origin);
    print_setting(visit, session, SETTING_NAMESPACE, OPTION_NAMESPACE, ns);
    print_setting(visit, session, SETTING_TIMEOUT, OPTION_TIMEOUT, timeout);
}

/* The store could not be opened, or does not exist. If it cannot be made either, that is the
 * problem. */
static int print_failure(struct visit *visit, const struct session *session, int result)
{
    char obstacle[OBSTACLE_CAPACITY];
    const mcds_error *error = mcds_last_error();
    bool is_missing = error->cause == MCDS_CAUSE_NO_FILE ||
                      error->cause == MCDS_CAUSE_NO_DIRECTORY;
    const char *remedy = is_missing ? find_obstacle(error->peer, obstacle, sizeof obstacle)
                                    : NULL;
    if (remedy != NULL)
        return problem(visit, session->uri, obstacle, remedy);
    if (result != MCDS_OK)
        return problem(visit, session->uri, mcds_errmsg(), fix_for(result));
    print_fact(visit, session->uri,
               "it does not exist yet; the first command that changes something makes it");
    return STATUS_DONE;
}

int doctor_run(struct session *session, const struct command *command)
{
    (void)command;
    struct visit visit = {&session->output, false};
    print_fact(&visit, "mcds", mcds_version());
    print_settings(&visit, session);
    int result = session_open(session);
    if (result != MCDS_OK || session->is_absent)
        return print_failure(&visit, session, result);
    result = mcds_inspect(session->store, print_finding, &visit);
    if (result != MCDS_OK)
        return problem(&visit, session->uri, mcds_errmsg(), "make the store reachable");
    return visit.has_problem ? STATUS_NO : STATUS_DONE;
}
