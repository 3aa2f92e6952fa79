/* Descriptors: closes the files that a process has inherited and does not need. */
#ifndef MCDS_CLI_CHILD_DESCRIPTORS_H
#define MCDS_CLI_CHILD_DESCRIPTORS_H

#include <stddef.h>

/* Closes every descriptor after standard error except these. */
void descriptors_close_except(const int *kept, size_t count);

#endif
