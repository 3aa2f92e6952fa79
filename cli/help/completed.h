/* Completed: what the completion scripts of all shells offer, and where. */
#ifndef MCDS_CLI_HELP_COMPLETED_H
#define MCDS_CLI_HELP_COMPLETED_H

#include "table/command.h"

/* What can be written at a place of the command line, other than a fixed word. */
enum completed {
    COMPLETED_NOTHING,
    COMPLETED_NAME, /* of a structure in the store */
    COMPLETED_FILE,
    COMPLETED_NOUN,    /* of a structure */
    COMPLETED_PROFILE, /* of the configuration file */
    COMPLETED_STORE,   /* a URI */
    COMPLETED_CHOICE,  /* one of parameter->choices */
    COMPLETED_SHELL,
    COMPLETED_TOPIC /* a noun, and then its verbs */
};

/* Of an argument. */
enum completed completed_argument(const struct parameter *argument);
/* Of the value of an option. */
enum completed completed_option(int id);
/* The noun under which ls lists the structures of this one, or "" for a command that takes the names of
 * all. */
const char *completed_noun(const struct noun *noun);

/* Each followed by a space. */
void completed_print_nouns(const struct noun *nouns, bool only_structures);
void completed_print_verbs(const struct verb *first);

/* Prints for each verb that runs a COMMAND the number of words, from the noun on, that come before
 * its --. The verb is * where it is left out, after the other verbs of its noun, which have 0: they
 * run none. */
void completed_programs(const struct noun *nouns,
                        void (*print)(const char *noun, const char *verb, size_t least));

/* Its word, and its letter if it has one. */
void completed_print_option(int id, char between);
/* Those whose value is the next word. */
void completed_print_value_options(char between);

#endif
