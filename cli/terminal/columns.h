/* Columns: lines of fields with tabs between them, printed in columns on a terminal.
 *
 *   output --line--> memory --a block of lines--> widths --> standard output
 *
 * Memory is bounded: each block of lines is aligned as one, and widths only grow. */
#ifndef MCDS_CLI_TERMINAL_COLUMNS_H
#define MCDS_CLI_TERMINAL_COLUMNS_H

#include <stdio.h>

#include "terminal/terminal.h"

#define COLUMNS_MAX 8

struct column {
    const char *title; /* NULL in the first: there is no line of titles */
    enum ink ink;
    bool is_number; /* on the right */
    bool is_text;   /* wrapped; a text after a text begins a line */
    bool is_end;    /* no column, but the end of the table */
};

struct columns {
    const struct column *table;
    struct terminal terminal;
    FILE *memory; /* where the lines are printed first */
    char *text;
    size_t length;
    size_t lines; /* in memory */
    size_t widths[COLUMNS_MAX];
    bool has_titles; /* printed */
};

/* False: out of memory. */
bool columns_open(struct columns *columns, const struct column *table,
                  const struct terminal *terminal);
/* A line has been printed into the memory. */
void columns_take(struct columns *columns);
/* Prints the last lines. */
void columns_close(struct columns *columns);

#endif
