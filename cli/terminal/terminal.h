/* Terminal: the abilities of the terminal of a stream. */
#ifndef MCDS_CLI_TERMINAL_TERMINAL_H
#define MCDS_CLI_TERMINAL_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* --color; the order is that of its words in the table of options. */
enum when { WHEN_AUTO, WHEN_ALWAYS, WHEN_NEVER };

struct terminal {
    bool is_there;  /* the stream is a terminal, or is to be treated as one (--color always) */
    bool has_color; /* and colours are wanted */
    bool has_utf8;  /* the locale says so */
    size_t columns;
    size_t rows;
};

/* Describes the terminal of `fd`. Without one, it has 80 columns and 24 rows. */
void terminal_look(struct terminal *terminal, int fd, enum when when);
/* Whether this is a terminal that shows only ASCII. */
bool is_ascii_terminal(int fd);

/* "\033[...m" of a colour, or "" where the terminal has none. */
enum ink { INK_NONE, INK_TITLE, INK_NOUN, INK_GOOD, INK_WARNING, INK_BAD, INK_DIM };
const char *ink_begin(const struct terminal *terminal, enum ink ink);
const char *ink_end(const struct terminal *terminal, enum ink ink);

#endif
