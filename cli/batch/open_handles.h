/* Open handles: a cache of the handles of a batch, and the operations in flight on each
 * structure. */
#ifndef MCDS_CLI_BATCH_OPEN_HANDLES_H
#define MCDS_CLI_BATCH_OPEN_HANDLES_H

#include "table/command.h"

struct subject;
struct subjects;

/* NULL when memory is refused. */
struct subjects *subjects_new(void);
/* Closes all handles. No operation may be in flight. */
void subjects_free(struct subjects *subjects);

/* The structure (subject) of a command; added when it is new. NULL when there is no memory, or when
 * all subjects of a full cache have operations in flight. */
struct subject *subjects_find(struct subjects *subjects, const struct command *command);

/* Whether the command may begin before the operations in flight on the subject have ended. For
 * OVERLAP_APART the caller checks that those are on other elements. */
bool subject_is_free_for(const struct subject *subject, const struct command *command);

/* Whether opening the handle for the command reads the store, and waits for it. */
bool subject_must_read(const struct subject *subject, const struct command *command);

/* The handle for a command that may begin. Returns the result of opening it. */
int subject_open(struct subject *subject, mcds_store *store, const struct command *command,
                 void **handle_out);

/* Called when an operation on the subject begins, and when it ends with `result`. */
void subject_begin(struct subject *subject, const struct command *command);
void subject_end(struct subject *subject, int result);

/* Time until which no command is sent to the server of the subject; 0: no pause. */
void subject_pause(struct subject *subject, int64_t until_ns);
int64_t subject_paused_until_ns(const struct subject *subject);

#endif
