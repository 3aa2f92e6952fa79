/* mcds online. */
#include "run/made_with.h"
#include "table/nouns.h"

int online_open(mcds_store *store, const struct command *command, void **handle_out)
{
    mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
    options.buckets = (uint32_t)number_of(command, OPTION_BUCKETS, 0);
    options.width_ms = (uint32_t)number_of(command, OPTION_WIDTH, 0);
    options.members = members_of(command);
    mcds_online *online = NULL;
    int result = MCDS_OK;
    if (takes_as_made(command))
        result = mcds_online_made_with(store, command->arguments[0], &options);
    if (result == MCDS_OK || result == MCDS_NOT_FOUND || result == MCDS_CORRUPT)
        result = mcds_online_open(store, command->arguments[0], &options, &online);
    *handle_out = online;
    return result;
}

void online_close(void *handle)
{
    mcds_online_close(handle);
}

int online_beat(void *handle, const struct command *command, struct answer *answer,
                mcds_pipeline *pipeline, uint64_t tag)
{
    (void)answer;
    return mcds_online_beat_start(handle, command->arguments[1], 0, pipeline, tag);
}

int online_count(void *handle, const struct command *command, struct answer *answer,
                 mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    return mcds_online_get_start(handle, 0, &answer->online, pipeline, tag);
}

void online_print_count(struct output *output, const struct command *command,
                        const struct answer *answer, int result)
{
    (void)command;
    (void)result;
    const mcds_online_value *value = &answer->online;
    if (!output->json)
        output_rounded(output, "estimate", value->estimate, SHOWN);
    output_real(output, "estimate", value->estimate, HIDDEN);
    output_real(output, "error", value->error, HIDDEN);
    output_unsigned(output, "current", value->current, HIDDEN);
    output_unsigned(output, "closed", value->closed, HIDDEN);
    if (value->reborn)
        output_bool(output, "lost", true, HIDDEN);
}

int online_drop(void *handle, const struct command *command, struct answer *answer,
                mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    (void)answer;
    return mcds_online_drop_start(handle, 0, pipeline, tag);
}
