/* The completion script for fish. */
#include <stdio.h>
#include <string.h>

#include "help/completed.h"
#include "help/completion.h"
#include "io/output.h"
#include "table/commands.h"

#define CONDITION_CAPACITY 80

/* The words are those that are neither an option nor a value of one, or -- and the number of those before
 * a COMMAND. The commands that run one, and the options whose value is the next word, follow. */
static const char find_words[] = "# fish completion for mcds\n"
                                 "function __mcds_words\n"
                                 "    set -l given (commandline -opc)\n"
                                 "    set -e given[1]\n"
                                 "    set -l is_value false\n"
                                 "    set -l is_over false\n"
                                 "    set -l at 1\n"
                                 "    set -l words\n"
                                 "    for word in $given\n"
                                 "        set at (math $at + 1)\n"
                                 "        if $is_value\n"
                                 "            set is_value false\n"
                                 "            continue\n"
                                 "        end\n"
                                 "        if test \"$word\" = --\n"
                                 "            set -l least 0\n"
                                 "            switch \"$words[1]/$words[2]\"\n";

static const char find_options[] =
    "            end\n"
    "            if test $least -gt 0\n"
    "                if $is_over; or test (count $words) -ge $least\n"
    "                    printf '%s\\n' -- $at\n"
    "                    return\n"
    "                end\n"
    "            end\n"
    "            if not $is_over\n"
    "                set is_over true\n"
    "                continue\n"
    "            end\n"
    "        end\n"
    "        if not $is_over\n"
    "            switch $word\n"
    "                case ";

/* Conditions: the words are those of $argv, or begin with them. */
static const char conditions[] = "\n"
                                 "                    set is_value true\n"
                                 "                    continue\n"
                                 "                case -\n"
                                 "                case '-*'\n"
                                 "                    continue\n"
                                 "            end\n"
                                 "        end\n"
                                 "        set -a words $word\n"
                                 "    end\n"
                                 "    test -n \"$words\"; and printf '%s\\n' $words\n"
                                 "end\n"
                                 "function __mcds_is\n"
                                 "    set -l words (__mcds_words)\n"
                                 "    test \"$argv\" = \"$words\"\n"
                                 "end\n"
                                 "function __mcds_begins\n"
                                 "    set -l words (__mcds_words)\n"
                                 "    set words $words[1..(count $argv)]\n"
                                 "    test \"$argv\" = \"$words\"\n"
                                 "end\n";

/* The lists that the script asks for when it completes. The names are those of ls, which makes no
 * store; a slow store, or a failure, gives none. fish completes a COMMAND as it does without mcds. */
static const char functions[] =
    "function __mcds_names\n"
    "    string match -q '*create=*' -- \"$MCDS_STORE\" (commandline -opc); and return\n"
    "    set -l given\n"
    "    set -l words (commandline -opc)\n"
    "    for i in (seq 2 (count $words))\n"
    "        if contains -- $words[(math $i - 1)] -s --store -N --namespace --profile\n"
    "            set -a given $words[(math $i - 1)] $words[$i]\n"
    "        end\n"
    "    end\n"
    "    set -l noun\n"
    "    test -n \"$argv[1]\"; and set noun --noun $argv[1]\n"
    "    set -l shown '^[^-].*'\n"
    "    contains -- -- $words; and set shown '.*'\n"
    "    timeout 1 $words[1] --timeout 500ms $given ls $noun 2>/dev/null | head -n 1000 | cut "
    "-f 2 |\\\n"
    "        string match -rv '^\\$\\'' | string match -r -- $shown\n"
    "end\n"
    "function __mcds_profiles\n"
    "    set -l config $HOME/.config/mcds/config\n"
    "    test -n \"$XDG_CONFIG_HOME\"; and set config $XDG_CONFIG_HOME/mcds/config\n"
    "    test -n \"$MCDS_CONFIG\"; and set config $MCDS_CONFIG\n"
    "    sed -n 's/^[[:blank:]]*\\[\\(.*\\)\\].*/\\1/p' $config 2>/dev/null\n"
    "end\n"
    "function __mcds_stores\n"
    "    printf '%s\\n' memory: memcached:// lmdb:\n"
    "    set -l path (string replace -fr '^lmdb:' '' -- (commandline -ct)); or return\n"
    "    for file in $path*\n"
    "        echo lmdb:$file\n"
    "    end\n"
    "end\n"
    "function __mcds_program\n"
    "    set -l words (__mcds_words)\n"
    "    set -l given (commandline -opc)\n"
    "    set -e given[1..$words[2]]\n"
    "    set -q given[1]; and set given (string escape -- $given)\n"
    "    complete --do-complete=(string join ' ' -- $given (commandline -ct))\n"
    "end\n"
    "complete -c mcds -f\n"
    "complete -c mcds -n '__mcds_begins --' -a '(__mcds_program)'\n";

/* What follows on the line that begins an argument or an option. */
static void print_completed(const struct noun *nouns, enum completed completed,
                            const char *const *choices, const char *noun)
{
    output_print(completed == COMPLETED_FILE ? " -F" : " -a '");
    switch (completed) {
    case COMPLETED_NAME:
        output_print("(__mcds_names %s)", noun);
        break;
    case COMPLETED_NOUN:
        completed_print_nouns(nouns, true);
        break;
    case COMPLETED_PROFILE:
        output_print("(__mcds_profiles)");
        break;
    case COMPLETED_STORE:
        output_print("(__mcds_stores)");
        break;
    case COMPLETED_CHOICE:
        for (size_t i = 0; choices != NULL && choices[i] != NULL; i++)
            output_print("%s ", choices[i]);
        break;
    case COMPLETED_SHELL:
        output_print("bash zsh fish");
        break;
    case COMPLETED_TOPIC:
        completed_print_nouns(nouns, false);
        output_print("exit man");
        break;
    default:
        break;
    }
    output_print(completed == COMPLETED_FILE ? "\n" : "'\n");
}

static void print_option(const struct noun *nouns, const char *condition, int id)
{
    const struct parameter *option = &options[id];
    enum completed completed = completed_option(id);
    output_print("complete -c mcds -n '%s' -l %s", condition, option->word);
    if (option->letter != '\0')
        output_print(" -s %c", option->letter);
    if (option->kind != KIND_FLAG)
        output_print(completed == COMPLETED_FILE ? " -r" : " -x");
    if (completed == COMPLETED_NOTHING)
        output_print("\n");
    else
        print_completed(nouns, completed, option->choices, "");
}

static void print_verbs(const struct noun *noun)
{
    const struct verb *first = noun->verbs + (is_whole_command(noun) ? 1 : 0);
    if (first->word == NULL || first->word[0] == '\0')
        return;
    output_print("complete -c mcds -n '__mcds_is %s; or __mcds_is help %s' -a '", noun->word,
                 noun->word);
    completed_print_verbs(first);
    output_print("'\n");
}

static void print_verb(const struct noun *nouns, const struct noun *noun,
                       const struct verb *verb)
{
    char begins[CONDITION_CAPACITY];
    enum completed completed = completed_argument(verb->arguments[0]);
    (void)snprintf(begins, sizeof begins, "__mcds_begins %s %s", noun->word, verb->word);
    if (completed != COMPLETED_NOTHING) {
        if (verb->arguments[0]->each)
            output_print("complete -c mcds -n '%s'", begins);
        else
            output_print("complete -c mcds -n '__mcds_is %s %s'", noun->word, verb->word);
        print_completed(nouns, completed, NULL, completed_noun(noun));
    }
    for (int id = 0; id < OPTION_COUNT; id++)
        if (is_among(verb->options, id))
            print_option(nouns, begins, id);
}

static void print_program(const char *noun, const char *verb, size_t least)
{
    output_print("                case '%s/%s'\n                    set least %zu\n", noun,
                 verb, least);
}

void completion_print_fish(const struct noun *nouns)
{
    output_print("%s", find_words);
    completed_programs(nouns, print_program);
    output_print("%s", find_options);
    completed_print_value_options(' ');
    output_print("%s%s", conditions, functions);
    for (const struct noun *noun = nouns; noun->word != NULL; noun++) {
        output_print("complete -c mcds -n __mcds_is -a %s -d '%s'\n", noun->word, noun->help);
        print_verbs(noun);
        for (const struct verb *verb = noun->verbs; verb->word != NULL; verb++)
            print_verb(nouns, noun, verb);
    }
    for (int id = 0; id < OPTION_GLOBALS; id++)
        print_option(nouns, "not __mcds_begins --", id);
}
