/* The table of all commands, from which parser, help, completion and manual page are made. main()
 * passes the table on; no other function names it. */
#ifndef MCDS_CLI_TABLE_COMMANDS_H
#define MCDS_CLI_TABLE_COMMANDS_H

#include "table/command.h"

extern const struct noun all_nouns[];                /* ended by word NULL */
extern const struct parameter options[OPTION_COUNT]; /* indexed by option_id */

/* NULL when there is none. */
const struct noun *find_noun(const struct noun *nouns, const char *word);
const struct verb *find_verb(const struct noun *noun, const char *word);
/* The noun's first verb has no word of its own. */
bool is_whole_command(const struct noun *noun);
/* The index of the last argument. */
size_t last_argument(const struct verb *verb);
/* The number of arguments without which the verb is not complete. */
size_t needed_arguments(const struct verb *verb);
/* Whether the verb takes several last arguments, each for an operation of its own. */
bool takes_each(const struct verb *verb);
/* Whether the verb takes a program after --. */
bool takes_program(const struct verb *verb);

/* The known word nearest to a mistyped one, or NULL when none is near. A verb that erases is never
 * offered. */
const char *nearest_noun(const struct noun *nouns, const char *typed);
const char *nearest_verb(const struct noun *noun, const char *typed);
const char *nearest_option(const struct verb *verb, const char *typed);

#endif
