/* Completion: the scripts for the shells. */
#ifndef MCDS_CLI_HELP_COMPLETION_H
#define MCDS_CLI_HELP_COMPLETION_H

#include "table/command.h"

void completion_print_bash(const struct noun *nouns);
void completion_print_zsh(const struct noun *nouns);
void completion_print_fish(const struct noun *nouns);

#endif
