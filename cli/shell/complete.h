/* Complete: which words may come next in a line. */
#ifndef MCDS_CLI_SHELL_COMPLETE_H
#define MCDS_CLI_SHELL_COMPLETE_H

#include "editor/completion.h"
#include "run/session.h"
#include "signals/signals.h"

/* The end of a line. */
struct line_end {
    const struct noun *noun;        /* NULL: not typed */
    const struct verb *verb;        /* NULL: not typed */
    size_t arguments;               /* typed after these */
    const struct parameter *option; /* whose value comes next, or NULL */
    bool options_over;              /* after --: what begins with a minus is an argument */
    bool is_over;                   /* nothing to complete: a COMMAND, or an unknown word */
};

/* Finds where the last word of a line begins, or the length of the line if the next word has not
 * begun. Reads the words before it by the table of commands. *typed_out is the last word without
 * its quotes, and the caller frees it; NULL: out of memory, or the line cannot be split into
 * words, or its end is a comment. */
struct line_end read_line_end(const struct noun *nouns, const char *line, size_t length,
                              size_t *begin_out, char **typed_out);

/* Finds the words that may come at the end of the line. */
void complete(struct session *session, struct signals *signals, const char *line, size_t length,
              struct completion *completion);

#endif
