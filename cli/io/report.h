/* Prints the result of a command. */
#ifndef MCDS_CLI_IO_REPORT_H
#define MCDS_CLI_IO_REPORT_H

#include "table/command.h"

#define SENTENCE_MAX 2048

/* Begins a sentence with the element, where several were typed. Returns its length. */
size_t write_element(char sentence[SENTENCE_MAX], const struct command *command);

/* Prints why a command was not executed. `message` of a negative result: as explain_failure writes
 * it; NULL: this thread's last failure. */
void write_sentence(char sentence[SENTENCE_MAX], const struct command *command,
                    const struct answer *answer, int result, const char *message);

/* Writes where events of a log are missing. */
void write_gaps(char sentence[SENTENCE_MAX], const struct command *command,
                const mcds_log_info *info);

/* The exit code for this result of `command`. */
int status_of_command(const struct command *command, int result);

/* Prints the outcome of one operation; `message` as above. Returns the exit code. */
int report(struct output *output, const struct command *command, const struct answer *answer,
           int result, const char *message);

/* Prints that signal `number` has ended a call with this result, which is not MCDS_OK: a change that
 * may have been applied is AMBIGUOUS. Returns the exit code. */
int report_given_up(struct output *output, const struct command *command,
                    const struct answer *answer, int result, int number);

/* Prints that a command failed. `name` is that of the result, for --json. */
void report_failure(struct output *output, const struct command *command, int status,
                    const char *name, const char *sentence);

/* Prints that COMMAND cannot be run, for this errno. Returns the exit code, 126 or 127. */
int report_not_run(struct output *output, const struct command *command, int reason);

/* The same, if that is known before it is run. Returns 0 if it can be run. */
int check_program(struct output *output, const struct command *command);

/* Prints that a command succeeded, with --json only. */
void report_done(struct output *output, const struct command *command, const char *done);

/* Prints the result of `read` lines of standard input, `doubtful` of which are AMBIGUOUS. */
void report_feed(struct output *output, const struct command *command, uint64_t read,
                 uint64_t changed, uint64_t doubtful);

#endif
