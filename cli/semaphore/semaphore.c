/* mcds semaphore: all verbs but run. */
#include <inttypes.h>
#include <stdio.h>

#include <unistd.h>

#include "io/report.h"
#include "nouns/lock.h"
#include "table/nouns.h"

#define LEASE_MS UINT64_C(15000)

int semaphore_open(mcds_store *store, const struct command *command, void **handle_out)
{
    char label[LABEL_CAPACITY];
    mcds_semaphore_options options = MCDS_SEMAPHORE_OPTIONS_INIT;
    write_default_label(label, getpid());
    options.permits = (uint32_t)number_of(command, OPTION_PERMITS, 0);
    options.lease_ms = (uint32_t)number_of(command, OPTION_LEASE, LEASE_MS);
    options.label = is_given(command, OPTION_LABEL) ? command->options[OPTION_LABEL].text
                                                    : label;
    mcds_semaphore *semaphore = NULL;
    int result = mcds_semaphore_open(store, command->arguments[0], &options, &semaphore);
    *handle_out = semaphore;
    return result;
}

static int look_at_options(void *handle, const struct command *command, mcds_store *store)
{
    mcds_semaphore_options found = MCDS_SEMAPHORE_OPTIONS_INIT;
    (void)handle;
    return mcds_semaphore_made_with(store, command->arguments[0], &found);
}

int semaphore_open_known(mcds_store *store, const struct command *command, void **handle_out)
{
    void *handle = NULL;
    int result = semaphore_open(store, command, &handle);
    if (result != MCDS_OK)
        return result;
    look_briefly(store, command, handle, look_at_options);
    semaphore_close(handle);
    return semaphore_open(store, command, handle_out);
}

void semaphore_close(void *handle)
{
    mcds_semaphore_close(handle);
}

static bool print_holder(void *context, const mcds_semaphore_holder *holder)
{
    struct output *output = context;
    const char *label = holder->label[0] == '\0' && !output->json ? "-" : holder->label;
    output_begin(output);
    output_unsigned(output, "slot", holder->slot, SHOWN);
    output_name(output, "holder", label, SHOWN);
    if (output->json)
        output_number(output, "remaining_ms", holder->remaining_ms, SHOWN);
    else if (holder->remaining_ms >= 0)
        output_real(output, "", (double)holder->remaining_ms / 1000, SHOWN);
    else
        output_text(output, "", "?", SHOWN);
    output_unsigned(output, "fence", holder->fence, SHOWN);
    output_unsigned(output, "permits", holder->permits, HIDDEN);
    output_end(output);
    return output_is_fine(output);
}

int semaphore_holders(void *handle, const struct command *command, struct answer *answer,
                      mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    return mcds_semaphore_holders_start(handle, print_holder, answer->items, pipeline, tag);
}

void semaphore_print_holders(struct output *output, const struct command *command,
                             const struct answer *answer, int result)
{
    (void)output;
    (void)command;
    (void)answer;
    (void)result;
}

int semaphore_resize(void *handle, const struct command *command, struct answer *answer,
                     mcds_pipeline *pipeline, uint64_t tag)
{
    answer->above = 0;
    return mcds_semaphore_resize_start(handle, (uint32_t)command->delta, &answer->above,
                                       pipeline, tag);
}

void semaphore_print_resize(struct output *output, const struct command *command,
                            const struct answer *answer, int result)
{
    char text[64];
    (void)command;
    (void)result;
    if (output->json || answer->above == 0) {
        output_word(output, "done", "resized");
        output_unsigned(output, "above", answer->above, HIDDEN);
        return;
    }
    (void)snprintf(text, sizeof text, "resized, %" PRIu32 " above it still held",
                   answer->above);
    output_word(output, "", text);
}

int semaphore_drop(void *handle, const struct command *command, struct answer *answer,
                   mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    (void)answer;
    return mcds_semaphore_drop_start(handle, pipeline, tag);
}
