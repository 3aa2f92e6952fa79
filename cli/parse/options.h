/* Parses a command line by the table. */
#ifndef MCDS_CLI_PARSE_OPTIONS_H
#define MCDS_CLI_PARSE_OPTIONS_H

#include "table/command.h"

#define MISTAKE_MAX 400

/* The mistake in a command line, as one sentence. */
struct mistake {
    char sentence[MISTAKE_MAX];
};

/* Parses `words` (as typed after "mcds", ended by NULL) by the table `nouns`. After --help or
 * --version it checks no words and requires none. `command` points into the words; free it in every
 * case. Returns false with the reason in *mistake. */
bool read_command(const struct noun *nouns, char *const *words, struct command *command,
                  struct mistake *mistake);
void free_command(struct command *command);

#endif
