/* A command line read by the table. */
#ifndef MCDS_CLI_OPTIONS_H
#define MCDS_CLI_OPTIONS_H

#include "command.h"

#define MISTAKE_MAX 400

/* What is wrong with a command line, as one sentence. */
struct mistake {
    char sentence[MISTAKE_MAX];
};

/* Read `words` (ended by NULL, as typed after "mcds"). With --help or --version what stands
 * behind is not looked at, and nothing is missing. `command` points into the words; free it,
 * whatever comes of it. False: *mistake says why. */
bool read_command(char *const *words, struct command *command, struct mistake *mistake);
void free_command(struct command *command);

#endif
