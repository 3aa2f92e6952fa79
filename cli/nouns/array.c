/* mcds array. */
#include "table/nouns.h"

int array_open(mcds_store *store, const struct command *command, void **handle_out)
{
    mcds_array *array = NULL;
    int result = mcds_array_open(store, command->arguments[0], NULL, &array);
    *handle_out = array;
    return result;
}

void array_close(void *handle)
{
    mcds_array_close(handle);
}

bool print_element(void *context, mcds_bytes element)
{
    struct output *output = context;
    output_begin(output);
    output_bytes(output, "element", element, SHOWN);
    output_end(output);
    return output_is_fine(output);
}

int array_get(void *handle, const struct command *command, struct answer *answer,
              mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    return mcds_array_scan_start(handle, print_element, answer->items, pipeline, tag);
}

int array_set(void *handle, const struct command *command, struct answer *answer,
              mcds_pipeline *pipeline, uint64_t tag)
{
    (void)answer;
    return mcds_array_set_start(handle, command->elements, command->element_count, pipeline,
                                tag);
}

void array_print_set(struct output *output, const struct command *command,
                     const struct answer *answer, int result)
{
    (void)command;
    (void)answer;
    (void)result;
    output_word(output, "done", "set");
}

int array_change(void *handle, const struct command *command, struct answer *answer,
                 mcds_pipeline *pipeline, uint64_t tag)
{
    (void)answer;
    return mcds_array_change_start(handle, command->elements, command->element_count,
                                   command->removals, command->removal_count, pipeline, tag);
}

void array_print_change(struct output *output, const struct command *command,
                        const struct answer *answer, int result)
{
    (void)command;
    (void)answer;
    (void)result;
    output_word(output, "done", "changed");
}

int array_drop(void *handle, const struct command *command, struct answer *answer,
               mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    (void)answer;
    return mcds_array_drop_start(handle, pipeline, tag);
}
