/* mcds lock: functions that its files, and those of mcds semaphore, share. */
#ifndef MCDS_CLI_NOUNS_LOCK_H
#define MCDS_CLI_NOUNS_LOCK_H

#include "table/command.h"

#define LABEL_CAPACITY 201

/* As lock_open, but first contacts the server, whose capabilities are unknown until it answers. */
int lock_open_known(mcds_store *store, const struct command *command, void **handle_out);

/* Writes HOST:PID. */
void write_default_label(char out[LABEL_CAPACITY], long pid);
/* Sets a variable that COMMAND inherits. */
void set_number(const char *variable, uint64_t number);
/* One call of `look` with a short timeout, so that the store learns the capabilities of its server. */
void look_briefly(mcds_store *store, const struct command *command, void *handle,
                  int (*look)(void *handle, const struct command *command, mcds_store *store));

#define MODE_CAPACITY 24
/* Writes "exclusive", or "shared:N" where N callers share the lock. */
void lock_write_mode(char out[MODE_CAPACITY], const mcds_lock_holder *holder);
/* Prints it as one field; in JSON "mode", and the number of those that share it as "shared". */
void lock_print_mode(struct output *output, const mcds_lock_holder *holder);

/* Sets the variables that COMMAND inherits. */
void lock_set_environment(const char *name, uint64_t fence, int64_t left_ms);

#endif
