/* Program: whether the program of COMMAND can be run, asked before anything is spent on it. */
#ifndef MCDS_CLI_CHILD_PROGRAM_H
#define MCDS_CLI_CHILD_PROGRAM_H

/* Searches PATH as execvp does. Returns 0, or the errno with which execvp would fail. The answer may
 * be out of date when the program is run. */
int find_program(const char *name);

#endif
