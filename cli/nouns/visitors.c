/* mcds visitors. */
#include "run/made_with.h"
#include "table/nouns.h"

#define PERIOD_MS UINT64_C(86400000)

uint32_t members_of(const struct command *command)
{
    if (is_given(command, OPTION_EXACT))
        return MCDS_MEMBERS_EXACT;
    return is_given(command, OPTION_ESTIMATED) ? MCDS_MEMBERS_ESTIMATED : MCDS_MEMBERS_NONE;
}

int visitors_open(mcds_store *store, const struct command *command, void **handle_out)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    options.period_ms = number_of(command, OPTION_PERIOD, PERIOD_MS);
    options.members = members_of(command);
    mcds_visitors *visitors = NULL;
    int result = MCDS_OK;
    if (takes_as_made(command))
        result = mcds_visitors_made_with(store, command->arguments[0], &options);
    if (result == MCDS_OK || result == MCDS_NOT_FOUND || result == MCDS_CORRUPT)
        result = mcds_visitors_open(store, command->arguments[0], &options, &visitors);
    *handle_out = visitors;
    return result;
}

void visitors_close(void *handle)
{
    mcds_visitors_close(handle);
}

int visitors_hit(void *handle, const struct command *command, struct answer *answer,
                 mcds_pipeline *pipeline, uint64_t tag)
{
    (void)answer;
    return mcds_visitors_hit_start(handle, command->arguments[1], 0, pipeline, tag);
}

void print_counted(struct output *output, const struct command *command,
                   const struct answer *answer, int result)
{
    (void)answer;
    if (command->arguments[1] != NULL)
        output_name(output, "visitor", command->arguments[1], HIDDEN);
    output_word(output, "done", result == MCDS_EXISTS ? "known" : "counted");
}

int visitors_get(void *handle, const struct command *command, struct answer *answer,
                 mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    return mcds_visitors_get_start(handle, 0, &answer->visitors, pipeline, tag);
}

static void print_value(struct output *output, const mcds_visitors_value *value,
                        enum show current, enum show closed, enum show estimate)
{
    output_unsigned(output, "current", value->current, current);
    output_unsigned(output, "closed", value->closed, closed);
    if (estimate == SHOWN && !output->json)
        output_rounded(output, "estimate", value->estimate, SHOWN);
    else
        output_real(output, "estimate", value->estimate, HIDDEN);
    output_real(output, "error", value->error, HIDDEN);
    output_bool(output, "provisional", value->provisional, HIDDEN);
    if (value->reborn)
        output_bool(output, "lost", true, HIDDEN);
}

void visitors_print_get(struct output *output, const struct command *command,
                        const struct answer *answer, int result)
{
    (void)result;
    bool closed = is_given(command, OPTION_CLOSED);
    print_value(output, &answer->visitors, closed ? HIDDEN : SHOWN, closed ? SHOWN : HIDDEN,
                HIDDEN);
}

void visitors_print_estimate(struct output *output, const struct command *command,
                             const struct answer *answer, int result)
{
    (void)command;
    (void)result;
    print_value(output, &answer->visitors, HIDDEN, HIDDEN, SHOWN);
}

int visitors_drop(void *handle, const struct command *command, struct answer *answer,
                  mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    (void)answer;
    return mcds_visitors_drop_start(handle, 0, pipeline, tag);
}
