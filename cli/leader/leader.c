/* mcds leader who. The leader of a name is the holder of its lock. */
#include "table/nouns.h"

int leader_open(mcds_store *store, const struct command *command, void **handle_out)
{
    return lock_open(store, command, handle_out);
}

void leader_close(void *handle)
{
    lock_close(handle);
}

int leader_who(void *handle, const struct command *command, struct answer *answer,
               mcds_pipeline *pipeline, uint64_t tag)
{
    return lock_look(handle, command, answer, pipeline, tag);
}

void leader_print_who(struct output *output, const struct command *command,
                      const struct answer *answer, int result)
{
    lock_print(output, command, answer, result);
}
