/* Rows: what their structures have, read through one pipeline. */
#ifndef MCDS_CLI_TOP_ROWS_H
#define MCDS_CLI_TOP_ROWS_H

#include "top/reading.h"

/* Listings take at most one part in 20 of the time, and so do the counts of a queue: both read all
 * there is. So does opening a row whose server does not answer. */
#define WHOLE_SHARE 20

/* Keeps this thread's last failure, of `command`, which may be NULL, if it is the first of the
 * reading. */
void rows_note_trouble(struct reading *reading, const struct command *command);

/* The plain output of `name`, or if that is NULL, of the answer of the row. NULL: out of memory. */
char *row_print_plain(const struct reading *reading, const char *name, const struct row *row);

/* Reads all rows. */
void rows_read(struct reading *reading);

#endif
