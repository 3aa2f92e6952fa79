/* Descriptors: notes the files that a process has inherited, and closes those not needed. */
#ifndef MCDS_CLI_CHILD_DESCRIPTORS_H
#define MCDS_CLI_CHILD_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

#define DESCRIPTOR_MAX 1023 /* the largest that an option takes */

/* Closes every descriptor after standard error except these. */
void descriptors_close_except(const int *kept, size_t count);

/* Notes which descriptors are open. A shell calls this once, before it opens a file. */
void descriptors_note_inherited(void);

/* Whether the descriptor was open when mcds began. Without a note, each one may have been: such a
 * command opens its files after it has examined the descriptors of its options. */
bool descriptor_is_inherited(int fd);

#endif
