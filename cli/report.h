/* What came of a command, printed. */
#ifndef MCDS_CLI_REPORT_H
#define MCDS_CLI_REPORT_H

#include "command.h"

#define SENTENCE_MAX 1024

/* Say why a command has not been done. `message` of a negative result: as explain_failure writes
 * it; NULL: this thread's last failure. */
void write_sentence(char sentence[SENTENCE_MAX], const struct command *command,
                    const struct answer *answer, int result, const char *message);

/* Print the outcome of one operation; `message` as above. Returns the exit code. */
int report(struct output *output, const struct command *command, const struct answer *answer,
           int result, const char *message);

/* Print that a command did not work. `name` is that of the result, for --json. */
void report_failure(struct output *output, const struct command *command, int status,
                    const char *name, const char *sentence);

/* Print that a command worked, with --json only. */
void report_done(struct output *output, const struct command *command, const char *done);

/* Print what has become of `read` lines of standard input. */
void report_feed(struct output *output, const struct command *command, uint64_t read,
                 uint64_t changed);

#endif
