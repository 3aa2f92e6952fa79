/* mcds array. */
#include <stdlib.h>
#include <string.h>

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

int array_scan(void *handle, const struct command *command, struct answer *answer,
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

/* Takes the first of `removals` that equals `element` and was not taken before. */
static bool take_removal(const struct command *command, bool *taken, mcds_bytes element)
{
    for (size_t i = 0; i < command->removal_count; i++) {
        mcds_bytes removal = command->removals[i];
        if (!taken[i] && removal.length == element.length &&
            (element.length == 0 || memcmp(removal.data, element.data, element.length) == 0))
            return taken[i] = true;
    }
    return false;
}

/* As mcds_array_change, and returns MCDS_EXISTS where that would change nothing. */
static int change_elements(void *context, const mcds_bytes *old, size_t old_count,
                           mcds_elements *fresh)
{
    const struct command *command = context;
    bool *taken = calloc(command->removal_count + 1, sizeof taken[0]);
    int result = taken != NULL ? MCDS_OK : MCDS_NO_MEMORY;
    size_t kept = 0;
    for (size_t i = 0; i < old_count && result == MCDS_OK; i++) {
        if (take_removal(command, taken, old[i]))
            continue;
        result = mcds_elements_add(fresh, old[i]);
        kept++;
    }
    for (size_t i = 0; i < command->element_count && result == MCDS_OK; i++)
        result = mcds_elements_add(fresh, command->elements[i]);
    free(taken);
    if (result == MCDS_OK && command->element_count == 0 && kept == old_count)
        result = old != NULL ? MCDS_EXISTS : MCDS_NOT_FOUND;
    return result;
}

int array_change(void *handle, const struct command *command, struct answer *answer,
                 mcds_pipeline *pipeline, uint64_t tag)
{
    (void)answer;
    return mcds_array_change_by_start(handle, change_elements, (void *)(uintptr_t)command,
                                      pipeline, tag);
}

void array_print_change(struct output *output, const struct command *command,
                        const struct answer *answer, int result)
{
    (void)command;
    (void)answer;
    output_word(output, "done", result == MCDS_EXISTS ? "unchanged" : "changed");
}

int array_drop(void *handle, const struct command *command, struct answer *answer,
               mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    (void)answer;
    return mcds_array_drop_start(handle, pipeline, tag);
}
