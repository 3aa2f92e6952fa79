/* Examples of the manual pages, for the help. */
#ifndef MCDS_CLI_HELP_EXAMPLES_H
#define MCDS_CLI_HELP_EXAMPLES_H

#include "table/command.h"

/* The source of a manual page, cli/help/man. The build makes the table of all, ended by noun NULL. */
struct page {
    const char *noun;
    const unsigned char *text;
    size_t length;
};
extern const struct page pages[];

/* Prints the examples of a verb, or without one those before the first with --json, and their
 * output. */
void print_examples(const struct noun *noun, const struct verb *verb);

#endif
