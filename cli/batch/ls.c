/* mcds ls. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "batch/look.h"
#include "io/exit.h"
#include "io/report.h"
#include "run/session.h"
#include "table/commands.h"
#include "table/nouns.h"

struct visit {
    struct session *session;
    const char *wanted;
    const struct noun *noun; /* NULL: of all */
    bool is_out_of_memory;
    struct listing listing;
};

/* A pattern has *, ? or [; anything else is the beginning of a name. */
static bool is_wanted(const char *wanted, const char *name)
{
    if (strpbrk(wanted, "*?[") != NULL)
        return fnmatch(wanted, name, 0) == 0;
    return strncmp(name, wanted, strlen(wanted)) == 0;
}

static bool see_listed(void *context, const mcds_listed *listed)
{
    struct visit *visit = context;
    const struct noun *noun = find_noun(visit->session->nouns, listed->noun);
    bool is_other = visit->noun != NULL && noun != visit->noun;
    if (noun == NULL || is_other || !is_wanted(visit->wanted, listed->name))
        return true;
    visit->is_out_of_memory = !listing_keep(&visit->listing, noun, 0, listed->name);
    return !visit->is_out_of_memory;
}

static void print_names(struct output *output, const struct listing *listing)
{
    for (size_t i = 0; i < listing->count && output_is_fine(output); i++) {
        output_begin(output);
        output_text(output, "noun", listing->found[i].noun->word, SHOWN);
        output_name(output, "name", listing->found[i].name, SHOWN);
        output_end(output);
    }
}

static int refuse(struct session *session, const struct command *command, int result,
                  const char *reason)
{
    char sentence[SENTENCE_MAX];
    (void)snprintf(sentence, sizeof sentence, "ls: %s%s", reason, advice_on(result));
    report_failure(&session->output, command, status_of(result), mcds_result_name(result),
                   sentence);
    return status_of(result);
}

int ls_run(struct session *session, const struct command *command)
{
    const struct noun *noun = NULL;
    int status = listing_find_noun(session, command, &noun);
    if (status == STATUS_DONE)
        status = session_open_store(session);
    if (status != STATUS_DONE)
        return status;
    struct visit visit = {
        .session = session,
        .noun = noun,
        .wanted = command->arguments[0] != NULL ? command->arguments[0] : "",
    };
    int result = mcds_scan(session->store, see_listed, &visit);
    if (result != MCDS_OK)
        status = refuse(session, command, result, mcds_errmsg());
    else if (visit.is_out_of_memory)
        status = refuse(session, command, MCDS_NO_MEMORY, "out of memory");
    listing_sort(&visit.listing);
    if (!is_given(command, OPTION_LONG)) {
        print_names(&session->output, &visit.listing);
    } else if (!visit.is_out_of_memory) {
        int seen = look_at_all(session, command, &visit.listing);
        status = status == STATUS_DONE ? seen : status;
    }
    listing_free(&visit.listing);
    return status;
}
