/* The structures that a batch works on: their handles, kept for the next command on the same
 * name, and what is under way on each. */
#ifndef MCDS_CLI_SUBJECTS_H
#define MCDS_CLI_SUBJECTS_H

#include "command.h"

struct subject;
struct subjects;

/* NULL when memory is refused. */
struct subjects *subjects_new(void);
/* Closes all handles. Nothing may be under way. */
void subjects_free(struct subjects *subjects);

/* The subject of a command, made when it is new; NULL when memory is refused, or when as many
 * subjects as are kept have something under way. */
struct subject *subjects_find(struct subjects *subjects, const struct command *command);

/* Whether the command may begin before what is under way on the subject has ended. Of
 * OVERLAP_APART it only sees that the verb is the same. */
bool subject_is_free_for(const struct subject *subject, const struct command *command);

/* The handle for the command, which may begin. Returns what opening it returned. */
int subject_open(struct subject *subject, mcds_store *store, const struct command *command,
                 void **handle_out);

/* An operation on the subject has been begun, has ended with `result`. */
void subject_begin(struct subject *subject, const struct command *command);
void subject_end(struct subject *subject, int result);

/* Until when its server is not to be asked again; 0: it may be. */
void subject_pause(struct subject *subject, int64_t until_ns);
int64_t subject_paused_until_ns(const struct subject *subject);

#endif
