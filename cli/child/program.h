/* Program: whether the program of COMMAND can be run. Callers ask this before they take a job or a
 * token for it. */
#ifndef MCDS_CLI_CHILD_PROGRAM_H
#define MCDS_CLI_CHILD_PROGRAM_H

#include <stddef.h>

/* Searches PATH as execvp does. Returns 0, or the errno with which execvp would fail; of a script,
 * it may be that of its interpreter, whose path is then written. Otherwise "" is written. Before the
 * program is run, its file may change. */
int find_program(const char *name, char *interpreter_out, size_t capacity);

#endif
