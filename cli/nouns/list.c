/* mcds list. */
#include "table/nouns.h"

int list_open(mcds_store *store, const struct command *command, void **handle_out)
{
    mcds_list *list = NULL;
    int result = mcds_list_open(store, command->arguments[0], NULL, &list);
    *handle_out = list;
    return result;
}

void list_close(void *handle)
{
    mcds_list_close(handle);
}

int list_push(void *handle, const struct command *command, struct answer *answer,
              mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_list_push_many_start(handle, command->elements, command->element_count,
                                     &answer->done, pipeline, tag);
}

void list_print_push(struct output *output, const struct command *command,
                     const struct answer *answer, int result)
{
    (void)command;
    (void)answer;
    (void)result;
    output_word(output, "done", "pushed");
}

static bool print_value(void *context, mcds_bytes value)
{
    struct output *output = context;
    output_begin(output);
    output_bytes(output, "value", value, SHOWN);
    output_end(output);
    return output_is_fine(output);
}

int list_scan(void *handle, const struct command *command, struct answer *answer,
              mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_list_scan_start(handle, number_of(command, OPTION_SKIP, 0),
                                number_of(command, OPTION_LIMIT, 0), print_value, answer->items,
                                pipeline, tag);
}

static bool count_each(void *context, mcds_bytes value)
{
    (void)value;
    ++*(uint64_t *)context;
    return true;
}

int list_count(void *handle, const struct command *command, struct answer *answer,
               mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    return mcds_list_scan_start(handle, 0, 0, count_each, &answer->count, pipeline, tag);
}

int list_clear(void *handle, const struct command *command, struct answer *answer,
               mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    (void)answer;
    return mcds_list_clear_start(handle, pipeline, tag);
}

void list_print_clear(struct output *output, const struct command *command,
                      const struct answer *answer, int result)
{
    (void)command;
    (void)answer;
    (void)result;
    output_word(output, "done", "cleared");
}

int list_drop(void *handle, const struct command *command, struct answer *answer,
              mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    (void)answer;
    return mcds_list_drop_start(handle, pipeline, tag);
}
