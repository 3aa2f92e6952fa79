/* mcds set. */
#include <stdlib.h>

#include "run/made_with.h"
#include "table/nouns.h"

struct opened {
    mcds_set *set;
    bool is_bag; /* its scan prints the counts */
};

mcds_set *set_of(void *handle)
{
    return ((struct opened *)handle)->set;
}

static int open_set(mcds_store *store, const struct command *command, struct opened *opened)
{
    mcds_set_options options = MCDS_SET_OPTIONS_INIT;
    if (is_given(command, OPTION_BAG))
        options.form = MCDS_SET_BAG;
    if (is_given(command, OPTION_LIST))
        options.form = MCDS_SET_LIST;
    int result = MCDS_OK;
    if (takes_as_made(command))
        result = mcds_set_made_with(store, command->arguments[0], &options);
    if (result == MCDS_OK || result == MCDS_NOT_FOUND || result == MCDS_CORRUPT)
        result = mcds_set_open(store, command->arguments[0], &options, &opened->set);
    opened->is_bag = options.form == MCDS_SET_BAG;
    return result;
}

int set_open(mcds_store *store, const struct command *command, void **handle_out)
{
    struct opened *opened = calloc(1, sizeof *opened);
    int result = opened != NULL ? open_set(store, command, opened) : MCDS_NO_MEMORY;
    if (result != MCDS_OK) {
        free(opened);
        opened = NULL;
    }
    *handle_out = opened;
    return result;
}

void set_close(void *handle)
{
    if (handle != NULL)
        mcds_set_close(set_of(handle));
    free(handle);
}

int set_add(void *handle, const struct command *command, struct answer *answer,
            mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_set_add_start(set_of(handle), command->bytes[1], &answer->changed, pipeline,
                              tag);
}

static void print_argument(struct output *output, const struct command *command)
{
    output_bytes(output, "element", command->bytes[1], HIDDEN);
}

void set_print_add(struct output *output, const struct command *command,
                   const struct answer *answer, int result)
{
    (void)result;
    print_argument(output, command);
    output_word(output, "done", answer->changed ? "added" : "known");
}

int set_remove(void *handle, const struct command *command, struct answer *answer,
               mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_set_remove_start(set_of(handle), command->bytes[1], &answer->changed, pipeline,
                                 tag);
}

void set_print_remove(struct output *output, const struct command *command,
                      const struct answer *answer, int result)
{
    (void)answer;
    (void)result;
    print_argument(output, command);
    output_word(output, "done", "removed");
}

int set_has(void *handle, const struct command *command, struct answer *answer,
            mcds_pipeline *pipeline, uint64_t tag)
{
    (void)answer;
    return mcds_set_has_start(set_of(handle), command->bytes[1], pipeline, tag);
}

void set_print_has(struct output *output, const struct command *command,
                   const struct answer *answer, int result)
{
    (void)answer;
    (void)result;
    print_argument(output, command);
    output_word(output, "done", "yes");
}

static bool print_each(void *context, mcds_bytes element, uint64_t count)
{
    (void)count;
    return print_element(context, element);
}

static bool print_each_of_bag(void *context, mcds_bytes element, uint64_t count)
{
    struct output *output = context;
    output_begin(output);
    output_bytes(output, "element", element, SHOWN);
    output_unsigned(output, "count", count, SHOWN);
    output_end(output);
    return output_is_fine(output);
}

int set_scan(void *handle, const struct command *command, struct answer *answer,
             mcds_pipeline *pipeline, uint64_t tag)
{
    const struct opened *opened = handle;
    (void)command;
    return mcds_set_scan_start(opened->set, opened->is_bag ? print_each_of_bag : print_each,
                               answer->items, pipeline, tag);
}

static bool count_each(void *context, mcds_bytes element, uint64_t count)
{
    (void)element;
    (void)count;
    ++*(uint64_t *)context;
    return true;
}

int set_count(void *handle, const struct command *command, struct answer *answer,
              mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    return mcds_set_scan_start(set_of(handle), count_each, &answer->count, pipeline, tag);
}

int set_drop(void *handle, const struct command *command, struct answer *answer,
             mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    (void)answer;
    return mcds_set_drop_start(set_of(handle), pipeline, tag);
}
