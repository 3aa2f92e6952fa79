/* Progress: one line on a terminal that shows the progress of a command, and overwrites itself. */
#ifndef MCDS_CLI_TERMINAL_PROGRESS_H
#define MCDS_CLI_TERMINAL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct progress {
    const char *unit; /* "elements" */
    const char *done; /* participle: "dumped" */
    bool is_wanted;
    uint64_t count;
    uint64_t all; /* how many there will be; 0: not known */
    int fd;       /* of the file that is read; used where `end` > 0 */
    off_t begin;
    off_t end;
    int64_t began_ns;
    int64_t shown_ns;
    size_t width; /* of the line that is shown, or 0 */
};

/* Whether standard error is a terminal on which nothing else is printed. With `prints`, the
 * command prints results meanwhile, so standard output must not be a terminal. */
bool progress_is_wanted(bool is_quiet, bool prints);

/* Shows nothing before a second has passed. */
void progress_begin(struct progress *progress, const char *unit, const char *done,
                    bool is_wanted);
/* Estimates the time left by the part of a regular file that has been read. */
void progress_of_file(struct progress *progress, int fd);
/* Adds to the number that is done. */
void progress_count(struct progress *progress, uint64_t more);
/* Erases the line. */
void progress_end(struct progress *progress);

/* Erases the line of whatever is in progress, before a sentence is printed. */
void progress_clear(void);

#endif
