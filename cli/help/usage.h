/* Usage: one-line summaries of commands. */
#ifndef MCDS_CLI_HELP_USAGE_H
#define MCDS_CLI_HELP_USAGE_H

#include "table/command.h"

#define USAGE_MAX 200

/* The help of a verb that takes several names or elements. */
#define SEVERAL                                                                                \
    "Several are handled together, with one line for each in the order typed: - for one that " \
    "failed or answered no. 'mcds help exit' explains the exit code."

/* How the command is typed, without "mcds": "counter add NAME [N] [OPTIONS]". */
void write_usage(const struct noun *noun, const struct verb *verb, char out[USAGE_MAX]);
/* " NAME KEY": the arguments that must be given. */
void list_arguments_of(const struct verb *verb, char out[USAGE_MAX]);
/* Size of the output of write_range_of. */
#define RANGE_MAX 80
/* "; 1 to 32", the least and the greatest value of a number or time, to append to its help, or "". */
void write_range_of(const struct parameter *parameter, char out[RANGE_MAX]);
/* "counter get, table get": where a verb without a noun belongs. */
void list_nouns_with(const struct noun *nouns, const char *verb, char out[USAGE_MAX]);
/* "add, get, take, drop". */
void list_verbs_of(const struct noun *noun, char out[USAGE_MAX]);

#endif
