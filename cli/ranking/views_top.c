/* mcds views top: the pages with the most views, of those that are saved in the database. */
#include <stdio.h>

#include "io/exit.h"
#include "io/report.h"
#include "nouns/views.h"
#include "ranking/ranking.h"
#include "table/nouns.h"

static bool add_page(void *context, mcds_bytes page, int64_t views)
{
    return ranking_add(context, page, views);
}

static int refuse(struct session *session, const struct command *command, int status,
                  const char *name, const char *sentence)
{
    report_failure(&session->output, command, status, name, sentence);
    return status;
}

static int refuse_named(struct session *session, const struct command *command, int result,
                        const char *what)
{
    char sentence[SENTENCE_MAX];
    (void)snprintf(sentence, sizeof sentence, "views '%.200s': %s", command->arguments[0],
                   what);
    return refuse(session, command, status_of(result), mcds_result_name(result), sentence);
}

static int refuse_missing(struct session *session, const struct command *command)
{
    return refuse_named(session, command, MCDS_NOT_FOUND,
                        "the database has none; 'views flush' saves them there");
}

static int scan_and_print(struct session *session, const struct command *command,
                          struct base *base)
{
    struct ranking ranking = ranking_of(command);
    int status = STATUS_DONE;
    int result = base_scan(base, add_page, &ranking);
    if (ranking.is_out_of_memory || result == MCDS_NO_MEMORY) {
        status = refuse_named(session, command, MCDS_NO_MEMORY, "top: out of memory");
    } else if (result == MCDS_CORRUPT) {
        status = refuse_named(session, command, result,
                              "the table of the database has an entry that 'views flush' did "
                              "not write");
    } else if (result == MCDS_OK) {
        ranking_sort(&ranking);
        ranking_print(&ranking, &session->output, "page", "views");
    } else if (result == MCDS_NOT_FOUND) {
        status = refuse_missing(session, command);
    } else {
        status = report(&session->output, command, NULL, result, NULL);
    }
    ranking_free(&ranking);
    return status;
}

/* A file that does not exist has no views: the first flush makes it. */
static bool is_missing(const struct command *command)
{
    mcds_cause cause = mcds_last_error()->cause;
    return cause == MCDS_CAUSE_NO_FILE ||
           (cause == MCDS_CAUSE_NO_DIRECTORY && !is_given(command, OPTION_DATABASE));
}

/* The store says whether the options are those of the views, and whose database has them. */
static int check_options(struct session *session, const struct command *command)
{
    void *handle = NULL;
    int status = session_open_store(session);
    if (status != STATUS_DONE)
        return status;
    int result = views_open(session->store, command, &handle);
    views_close(handle);
    if (result != MCDS_OK)
        return report(&session->output, command, NULL, result, NULL);
    mcds_views_options made = {.size = sizeof made, .database = MCDS_VIEWS_TABLE};
    result = mcds_views_made_with(session->store, command->arguments[0], &made);
    if (result < 0 && result != MCDS_CORRUPT)
        return report(&session->output, command, NULL, result, NULL);
    return made.database == MCDS_VIEWS_OWN
               ? refuse_named(session, command, MCDS_INVALID, "top: " VIEWS_OF_PROGRAM)
               : STATUS_DONE;
}

int views_top(struct session *session, const struct command *command)
{
    struct base *base = NULL;
    const char *against = views_why_not(command);
    if (against != NULL)
        return refuse(session, command, STATUS_USAGE, "MCDS_INVALID", against);
    int status = check_options(session, command);
    if (status != STATUS_DONE)
        return status;
    int result = base_open(command, views_database(command), &base);
    if (result != MCDS_OK)
        return is_missing(command) ? refuse_missing(session, command)
                                   : report(&session->output, command, NULL, result, NULL);
    status = scan_and_print(session, command, base);
    base_close(base);
    return status;
}
