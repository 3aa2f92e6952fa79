/* mcds counter. */
#include "run/made_with.h"
#include "table/nouns.h"

/* A handle is signed unless the user asks for a plain one: `counter add x -1` must work without
 * options, and each form understands counters that the other has made. */
int counter_open(mcds_store *store, const struct command *command, void **handle_out)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    bool plain = is_given(command, OPTION_PLAIN) && !is_given(command, OPTION_SIGNED);
    options.flags = plain ? 0 : MCDS_COUNTER_SIGNED;
    options.stripes = (uint32_t)number_of(command, OPTION_STRIPES, 0);
    options.ttl_ms = number_of(command, OPTION_TTL, 0);
    options.copies = (uint32_t)number_of(command, OPTION_COPIES, 0);
    options.flush_ms =
        MCDS_COUNTER_FLUSH_EACH; /* the additions that are printed are in the store */
    if (is_given(command, OPTION_EXACT))
        options.flags |= MCDS_COUNTER_EXACT;
    mcds_counter *counter = NULL;
    int result = MCDS_OK;
    if (takes_as_made(command) && !command->is_guess)
        result = mcds_counter_made_with(store, command->arguments[0], &options);
    if (result == MCDS_OK || result == MCDS_CORRUPT ||
        (result == MCDS_NOT_FOUND && !command->was_guessed))
        result = mcds_counter_open(store, command->arguments[0], &options, &counter);
    *handle_out = counter;
    return result;
}

void counter_close(void *handle)
{
    mcds_counter_close(handle);
}

/* Whether an addition returns the new value. */
static bool tells_value(const struct command *command)
{
    return number_of(command, OPTION_STRIPES, 1) == 1 && !is_given(command, OPTION_EXACT) &&
           number_of(command, OPTION_COPIES, 1) == 1;
}

int counter_add(void *handle, const struct command *command, struct answer *answer,
                mcds_pipeline *pipeline, uint64_t tag)
{
    int64_t *value_out = tells_value(command) ? &answer->number : NULL;
    return mcds_counter_add_start(handle, command->delta, value_out, pipeline, tag);
}

void counter_print_add(struct output *output, const struct command *command,
                       const struct answer *answer, int result)
{
    (void)result;
    if (tells_value(command))
        output_number(output, "value", answer->number, SHOWN);
    else
        output_word(output, "done", "added");
}

int counter_get(void *handle, const struct command *command, struct answer *answer,
                mcds_pipeline *pipeline, uint64_t tag)
{
    static const mcds_counter_value nothing = MCDS_COUNTER_VALUE_INIT;
    (void)command;
    answer->counter = nothing;
    return mcds_counter_get_start(handle, &answer->counter, pipeline, tag);
}

void counter_print_get(struct output *output, const struct command *command,
                       const struct answer *answer, int result)
{
    (void)command;
    (void)result;
    output_number(output, "value", answer->counter.value, SHOWN);
    if (answer->counter.since_s != 0)
        output_unsigned(output, "since", answer->counter.since_s, HIDDEN);
    if (answer->counter.ttl_ms >= 0)
        output_number(output, "remaining_ms", answer->counter.ttl_ms, HIDDEN);
    if (answer->counter.reborn)
        output_bool(output, "lost", true, HIDDEN);
}

int counter_take(void *handle, const struct command *command, struct answer *answer,
                 mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    return mcds_counter_take_start(handle, &answer->number, pipeline, tag);
}

void counter_print_take(struct output *output, const struct command *command,
                        const struct answer *answer, int result)
{
    (void)command;
    (void)result;
    output_number(output, "taken", answer->number, SHOWN);
}

int counter_drop(void *handle, const struct command *command, struct answer *answer,
                 mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    (void)answer;
    return mcds_counter_drop_start(handle, pipeline, tag);
}

/* Noun and name of one of several structures that are dropped; --json has them already. */
void print_which(struct output *output, const struct command *command)
{
    if (!command->is_of_several || output->json || output->quiet)
        return;
    output_text(output, "", command->noun->word, SHOWN);
    output_name(output, "", command->arguments[0], SHOWN);
}

void print_dropped(struct output *output, const struct command *command,
                   const struct answer *answer, int result)
{
    print_which(output, command);
    (void)answer;
    (void)result;
    output_word(output, "done", "dropped");
}

void print_count(struct output *output, const struct command *command,
                 const struct answer *answer, int result)
{
    (void)command;
    (void)result;
    output_unsigned(output, "count", answer->count, SHOWN);
}
