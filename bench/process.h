/* Runs programs as contestants. */
#ifndef BENCH_PROCESS_H
#define BENCH_PROCESS_H

#include <stdbool.h>

/* Run a program to its end, with its output in the file `out` ("/dev/null" is allowed). False:
 * it could not be run, or has failed. */
bool run_program(char *const *arguments, const char *out);

#endif
