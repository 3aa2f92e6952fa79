/* A command line read by the table. */
#ifndef MCDS_CLI_OPTIONS_H
#define MCDS_CLI_OPTIONS_H

#include "command.h"

#define MISTAKE_MAX 400

/* What is wrong with a command line, as one sentence. */
struct mistake {
    char sentence[MISTAKE_MAX];
};

/* Reads `words` (ended by NULL, as typed after "mcds"). Words after --help or --version are not
 * checked, and none is missing. `command` points into the words; free it in every case. False:
 * *mistake has the reason. */
bool read_command(char *const *words, struct command *command, struct mistake *mistake);
void free_command(struct command *command);

#endif
