/* mcds ids. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "table/nouns.h"

#define ID_MAX 24 /* bytes of an id, its quotes and a comma */

int ids_open(mcds_store *store, const struct command *command, void **handle_out)
{
    mcds_ids_options options = MCDS_IDS_OPTIONS_INIT;
    mcds_ids *ids = NULL;
    if (is_given(command, OPTION_BITS))
        options.bits = number_of(command, OPTION_BITS, 0) == 0 ? MCDS_IDS_BITS_53
                                                               : MCDS_IDS_BITS_63;
    options.spread_ms = (uint32_t)number_of(command, OPTION_SPREAD, 0);
    int result = mcds_ids_open(store, command->arguments[0], &options, &ids);
    *handle_out = ids;
    return result;
}

void ids_close(void *handle)
{
    mcds_ids_close(handle);
}

int ids_next(void *handle, const struct command *command, struct answer *answer,
             mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_ids_take_start(handle, number_of(command, OPTION_HOW_MANY, 1), &answer->id,
                               pipeline, tag);
}

static void print_array(struct output *output, uint64_t first, uint64_t count)
{
    char *text = malloc((size_t)count * ID_MAX + 3);
    size_t length = 0;
    if (text == NULL) {
        output->error = ENOMEM;
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        const char *quote = json_needs_quotes(first + i) ? "\"" : "";
        length += (size_t)snprintf(text + length, ID_MAX, "%s%s%" PRIu64 "%s",
                                   i == 0 ? "[" : ",", quote, first + i, quote);
    }
    (void)snprintf(text + length, 2, "]");
    output_copy(output, "ids", text);
    free(text);
}

/* A line for each, or, where each result has one line, all in one. */
static void print_lines(struct output *output, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count && output_is_fine(output); i++) {
        if (i > 0 && output->line == 0 && !output->in_one_line) {
            output_end(output);
            output_begin(output);
        }
        output_unsigned(output, "", first + i, SHOWN);
    }
}

void ids_print_next(struct output *output, const struct command *command,
                    const struct answer *answer, int result)
{
    (void)result;
    uint64_t count = number_of(command, OPTION_HOW_MANY, 1);
    if (output->json)
        print_array(output, answer->id, count);
    else
        print_lines(output, answer->id, count);
}

int ids_drop(void *handle, const struct command *command, struct answer *answer,
             mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    (void)answer;
    return mcds_ids_drop_start(handle, pipeline, tag);
}
