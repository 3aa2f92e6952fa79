/* mcds completion: what can be completed where, made from the table. */
#include "help/completion.h"

#include <stdio.h>
#include <string.h>

#include "io/exit.h"
#include "io/report.h"
#include "run/session.h"
#include "table/commands.h"
#include "table/nouns.h"

static bool is_placeholder(const struct parameter *parameter, const char *placeholder)
{
    return parameter->placeholder != NULL && strcmp(parameter->placeholder, placeholder) == 0;
}

enum completed completed_argument(const struct parameter *argument)
{
    if (argument == NULL)
        return COMPLETED_NOTHING;
    return is_placeholder(argument, "NAME") || is_placeholder(argument, "PATTERN")
               ? COMPLETED_NAME
           : is_placeholder(argument, "FILE")  ? COMPLETED_FILE
           : is_placeholder(argument, "SHELL") ? COMPLETED_SHELL
           : is_placeholder(argument, "TOPIC") ? COMPLETED_TOPIC
                                               : COMPLETED_NOTHING;
}

enum completed completed_option(int id)
{
    const struct parameter *option = &options[id];
    return id == OPTION_PROFILE             ? COMPLETED_PROFILE
           : id == OPTION_NOUN              ? COMPLETED_NOUN
           : is_placeholder(option, "URI")  ? COMPLETED_STORE
           : is_placeholder(option, "FILE") ? COMPLETED_FILE
           : option->kind == KIND_CHOICE    ? COMPLETED_CHOICE
                                            : COMPLETED_NOTHING;
}

const char *completed_noun(const struct noun *noun)
{
    return noun->open == NULL ? "" : strcmp(noun->word, "leader") == 0 ? "lock" : noun->word;
}

int completion_run(struct session *session, const struct command *command)
{
    const char *wanted = command->arguments[0];
    if (strcmp(wanted, "bash") == 0) {
        completion_print_bash(session->nouns);
    } else if (strcmp(wanted, "zsh") == 0) {
        completion_print_zsh(session->nouns);
    } else if (strcmp(wanted, "fish") == 0) {
        completion_print_fish(session->nouns);
    } else {
        char sentence[SENTENCE_MAX];
        (void)snprintf(sentence, sizeof sentence,
                       "completion: no shell '%.60s'; there are bash, zsh and fish", wanted);
        report_failure(&session->output, command, STATUS_USAGE, "MCDS_INVALID", sentence);
        return STATUS_USAGE;
    }
    return STATUS_DONE;
}
