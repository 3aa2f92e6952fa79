/* The line of a dump that names a structure, and the handle that it describes. */
#ifndef MCDS_CLI_DUMP_STRUCTURE_H
#define MCDS_CLI_DUMP_STRUCTURE_H

#include "dump/format.h"
#include "table/command.h"

/* Whether a dump has the contents of such structures. Of a semaphore, these are the number of its
 * permits. A dump has no holder, because a lease belongs to one store. */
bool is_dumped(const struct noun *noun);

/* Describes a structure of the noun, without options. The name must outlive it. */
void structure_describe(struct command *structure, const struct noun *noun, const char *name);
void structure_give(struct command *structure, enum option_id id, uint64_t number);

struct named_structure {
    struct command command; /* its first argument is the name */
    char name[ELEMENT_MAX + 1];
};
/* Copies a structure with its name, so that it outlives the one it was copied from. */
void structure_copy(struct named_structure *copy, const struct command *structure);

/* Size of the output of structure_option. */
#define OPTION_TEXT 80
/* Writes the next option that the structure was made with, as it is typed but without --. `id` is
 * 0 at the start. False: there is no other. */
bool structure_option(const struct command *structure, int *id, char out[OPTION_TEXT]);
/* Reads it back. False: the noun has no such option, or it cannot have this value. */
bool structure_take_option(struct command *structure, const char *text);

/* Opens it to change it, with these options, and gives it the verb that adds an element. Returns the
 * result of opening it. */
int structure_open(mcds_store *store, struct command *structure, void **handle_out);
/* Drops the structure with this name, of any options; nothing is there afterwards. Returns the
 * result. */
int structure_drop(mcds_store *store, const struct command *structure);

#endif
