/* Sentences about failures of the library, with the verbs and options of the command. */
#ifndef MCDS_CLI_IO_FAILURE_H
#define MCDS_CLI_IO_FAILURE_H

#include "table/command.h"

/* Why views get, top and flush are refused. */
#define VIEWS_OF_PROGRAM "a program saves them in a database of its own; ask that program"

/* Size of a sentence of describe_failure. */
#define FAILURE_CAPACITY 1408

/* Describes this thread's last failure as a failure of `command`, which may be NULL: with the verb
 * that was typed and the options as they are typed. Truncated to fit. */
void describe_failure(char out[FAILURE_CAPACITY], const struct command *command);

/* The same without the names of structure and verb. */
void describe_cause(char out[FAILURE_CAPACITY]);

/* Whether this thread's last failure, with this result, is that of a file which is damaged, removed or
 * replaced: no later call can succeed. */
bool is_of_a_lost_file(int result);

/* As describe_failure, with advice. `answer` may be NULL. */
void explain_failure(char *out, size_t capacity, const struct command *command,
                     const struct answer *answer);

#define CLOCKS_CAPACITY 320

/* Describes this thread's last failure, if `result` is that a time is too old or too far ahead: which
 * clocks differ, by how much, what is accepted, and the remedy. False: it is another result. */
bool describe_clocks(char out[CLOCKS_CAPACITY], int result);

#endif
