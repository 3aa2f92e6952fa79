/* Completed: what can be written where on a command line, made from the table. */
#include "help/completed.h"

#include <string.h>

#include "io/output.h"
#include "table/commands.h"

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

void completed_print_nouns(const struct noun *nouns, bool only_structures)
{
    for (const struct noun *noun = nouns; noun->word != NULL; noun++)
        if (!only_structures || strcmp(completed_noun(noun), noun->word) == 0)
            output_print("%s ", noun->word);
}

void completed_print_verbs(const struct verb *first)
{
    for (const struct verb *verb = first; verb->word != NULL; verb++)
        output_print("%s ", verb->word);
}

/* The verb of `NOUN NAME -- COMMAND`, or NULL. */
static const struct verb *unsaid_runner(const struct noun *noun)
{
    const struct verb *verb = is_whole_command(noun) ? noun->verbs : find_verb(noun, "run");
    return verb != NULL && takes_program(verb) ? verb : NULL;
}

void completed_programs(const struct noun *nouns,
                        void (*print)(const char *noun, const char *verb, size_t least))
{
    for (const struct noun *noun = nouns; noun->word != NULL; noun++) {
        const struct verb *unsaid = unsaid_runner(noun);
        for (const struct verb *verb = noun->verbs; verb->word != NULL; verb++) {
            bool runs = takes_program(verb);
            if (verb->word[0] != '\0' && (runs || unsaid != NULL))
                print(noun->word, verb->word, runs ? 2 + needed_arguments(verb) : 0);
        }
        if (unsaid != NULL)
            print(noun->word, "*", 1 + needed_arguments(unsaid));
    }
}

void completed_print_option(int id, char between)
{
    output_print("--%s", options[id].word);
    if (options[id].letter != '\0')
        output_print("%c-%c", between, options[id].letter);
}

/* Whether an option before this one has the same word. */
static bool is_again(int id)
{
    for (int before = 0; before < id; before++)
        if (strcmp(options[before].word, options[id].word) == 0)
            return true;
    return false;
}

void completed_print_value_options(char between)
{
    bool is_first = true;
    for (int id = 0; id < OPTION_COUNT; id++) {
        if (options[id].kind == KIND_FLAG || is_again(id))
            continue;
        if (!is_first)
            output_print("%c", between);
        completed_print_option(id, between);
        is_first = false;
    }
}
