/* Completion scripts for shells, made from the table. */
#include <stdio.h>
#include <string.h>

#include "io/exit.h"
#include "io/report.h"
#include "run/session.h"
#include "table/commands.h"
#include "table/nouns.h"

static void print_options_of(uint64_t which)
{
    for (int id = 0; id < OPTION_COUNT; id++)
        if (is_among(which, id))
            output_print("--%s ", options[id].word);
}

static void print_nouns(const struct noun *nouns)
{
    for (const struct noun *noun = nouns; noun->word != NULL; noun++)
        output_print("%s ", noun->word);
}

static void print_verbs(const struct verb *verb)
{
    for (; verb->word != NULL; verb++)
        output_print("%s ", verb->word);
}

/* Whether an option before this one has the same word. */
static bool is_again(int id)
{
    for (int before = 0; before < id; before++)
        if (strcmp(options[before].word, options[id].word) == 0)
            return true;
    return false;
}

/* The options whose value is the next word. */
static void print_value_options(void)
{
    const char *between = "";
    for (int id = 0; id < OPTION_COUNT; id++) {
        if (options[id].kind == KIND_FLAG || is_again(id))
            continue;
        output_print("%s--%s", between, options[id].word);
        between = "|";
        if (options[id].letter != '\0')
            output_print("|-%c", options[id].letter);
    }
}

/* The words after a noun: its options, its verbs, and the options of those. */
static void print_bash_noun(const struct noun *noun)
{
    output_print("    %s) words='", noun->word);
    const struct verb *first = noun->verbs;
    if (is_whole_command(noun))
        print_options_of((first++)->options);
    if (first->word == NULL) {
        output_print("' ;;\n");
        return;
    }
    print_verbs(first);
    output_print("'\n        case $verb in\n");
    for (const struct verb *verb = first; verb->word != NULL; verb++) {
        output_print("        %s) words='", verb->word);
        print_options_of(verb->options);
        output_print("' ;;\n");
    }
    output_print("        esac ;;\n");
}

static void print_bash(const struct noun *nouns)
{
    output_print(
        "# bash completion for mcds\n"
        "_mcds() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} noun= verb= i skip= words\n"
        "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "        if [[ $skip ]]; then skip=; continue; fi\n"
        "        case ${COMP_WORDS[i]} in\n"
        "        --) COMPREPLY=($(compgen -c -- \"$word\") $(compgen -f -- \"$word\"))\n"
        "            return ;;\n"
        "        ");
    print_value_options();
    output_print(") skip=1 ;;\n"
                 "        -*) ;;\n"
                 "        *) if [[ ! $noun ]]; then noun=${COMP_WORDS[i]}\n"
                 "           elif [[ ! $verb ]]; then verb=${COMP_WORDS[i]}; fi ;;\n"
                 "        esac\n"
                 "    done\n"
                 "    case $noun in\n"
                 "    '') words='");
    print_nouns(nouns);
    output_print("' ;;\n");
    for (const struct noun *noun = nouns; noun->word != NULL; noun++)
        print_bash_noun(noun);
    output_print("    esac\n    words+=' ");
    print_options_of(OPTIONS_GLOBAL);
    output_print("'\n"
                 "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                 "}\n"
                 "complete -F _mcds mcds\n");
}

/* A file that zsh loads at the first completion is the body of a function with the name of the file:
 * it defines the real one and calls it. */
static void print_zsh(const struct noun *nouns)
{
    output_print("#compdef mcds\n"
                 "autoload -U +X bashcompinit && bashcompinit\n");
    print_bash(nouns);
    output_print("[ \"${funcstack[1]}\" != _mcds ] || _bash_complete -F _mcds\n");
}

static void print_fish_option(const char *condition, const struct parameter *option)
{
    output_print("complete -c mcds -n '%s' -l %s", condition, option->word);
    if (option->letter != '\0')
        output_print(" -s %c", option->letter);
    if (option->kind != KIND_FLAG)
        output_print(" -x");
    output_print("\n");
}

static void print_fish(const struct noun *nouns)
{
    output_print("# fish completion for mcds\ncomplete -c mcds -f\n");
    for (const struct noun *noun = nouns; noun->word != NULL; noun++) {
        output_print("complete -c mcds -n __fish_use_subcommand -a %s -d '%s'\n", noun->word,
                     noun->help);
        for (const struct verb *verb = noun->verbs; verb->word != NULL; verb++) {
            char condition[120] = "__fish_seen_subcommand_from ";
            strncat(condition, noun->word, 40);
            if (verb->word[0] != '\0') {
                output_print("complete -c mcds -n '%s' -a %s\n", condition, verb->word);
                strncat(condition, "; and __fish_seen_subcommand_from ", 40);
                strncat(condition, verb->word, 20);
            }
            for (int id = 0; id < OPTION_COUNT; id++)
                if (is_among(verb->options, id))
                    print_fish_option(condition, &options[id]);
        }
    }
    for (int id = 0; id < OPTION_COUNT; id++)
        if (is_among(OPTIONS_GLOBAL, id))
            print_fish_option("true", &options[id]);
}

int completion_run(struct session *session, const struct command *command)
{
    const char *wanted = command->arguments[0];
    if (strcmp(wanted, "bash") == 0) {
        print_bash(session->nouns);
    } else if (strcmp(wanted, "zsh") == 0) {
        print_zsh(session->nouns);
    } else if (strcmp(wanted, "fish") == 0) {
        print_fish(session->nouns);
    } else {
        char sentence[SENTENCE_MAX];
        (void)snprintf(sentence, sizeof sentence,
                       "completion: no shell '%.60s'; there are bash, zsh and fish", wanted);
        report_failure(&session->output, command, STATUS_USAGE, "MCDS_INVALID", sentence);
        return STATUS_USAGE;
    }
    return STATUS_DONE;
}
