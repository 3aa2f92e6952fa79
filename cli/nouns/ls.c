/* mcds ls. */
#include <stdio.h>
#include <string.h>

#include "io/exit.h"
#include "io/report.h"
#include "run/session.h"
#include "table/nouns.h"

struct listing {
    struct output *output;
    const char *prefix;
};

static bool print_listed(void *context, const mcds_listed *listed)
{
    struct listing *listing = context;
    if (strncmp(listed->name, listing->prefix, strlen(listing->prefix)) != 0)
        return true;
    output_begin(listing->output);
    output_text(listing->output, "noun", listed->noun, SHOWN);
    output_name(listing->output, "name", listed->name, SHOWN);
    output_end(listing->output);
    return output_is_fine(listing->output);
}

int ls_run(struct session *session, const struct command *command)
{
    int status = session_open_store(session);
    if (status != STATUS_DONE)
        return status;
    const char *prefix = command->arguments[0] != NULL ? command->arguments[0] : "";
    struct listing listing = {&session->output, prefix};
    int result = mcds_scan(session->store, print_listed, &listing);
    char sentence[SENTENCE_MAX];
    (void)snprintf(sentence, sizeof sentence, "ls: %s%s", mcds_errmsg(), advice_on(result));
    if (result != MCDS_OK)
        report_failure(&session->output, command, status_of(result), mcds_result_name(result),
                       sentence);
    return status_of(result);
}
