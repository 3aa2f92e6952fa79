/* mcds log, all but tail. */
#include "nouns/log.h"

#include "parse/values.h"
#include "table/nouns.h"

int log_open(mcds_store *store, const struct command *command, void **handle_out)
{
    mcds_log_options options = MCDS_LOG_OPTIONS_INIT;
    options.flags = is_given(command, OPTION_BY_ARRIVAL) ? MCDS_LOG_BY_ARRIVAL : 0;
    options.retention_ms = number_of(command, OPTION_RETENTION, 0);
    options.chunk_ms = number_of(command, OPTION_CHUNK, 0);
    options.late_ms = (uint32_t)number_of(command, OPTION_LATE, 0);
    options.ahead_ms = (uint32_t)number_of(command, OPTION_AHEAD, 0);
    mcds_log *log = NULL;
    int result = mcds_log_open(store, command->arguments[0], &options, &log);
    *handle_out = log;
    return result;
}

void log_close(void *handle)
{
    mcds_log_close(handle);
}

int log_put(void *handle, const struct command *command, struct answer *answer,
            mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_log_put_many_start(handle, (int64_t)number_of(command, OPTION_AT, 0),
                                   command->elements, command->element_count, &answer->done,
                                   pipeline, tag);
}

void log_print_put(struct output *output, const struct command *command,
                   const struct answer *answer, int result)
{
    (void)command;
    (void)answer;
    (void)result;
    output_word(output, "done", "put");
}

void log_print_event(struct output *output, const mcds_log_event *event)
{
    char at[MOMENT_CAPACITY];
    format_moment(event->when_ms, at);
    output_begin(output);
    output_text(output, "at", at, SHOWN);
    output_number(output, "at_ms", event->when_ms, HIDDEN);
    output_number(output, "filed_ms", event->filed_ms, HIDDEN);
    output_bytes(output, "event", event->event, SHOWN);
    output_end(output);
}

bool log_print_visited(void *context, const mcds_log_event *event)
{
    struct output *output = context;
    log_print_event(output, event);
    return output_is_fine(output);
}

int log_scan(void *handle, const struct command *command, struct answer *answer,
             mcds_pipeline *pipeline, uint64_t tag)
{
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    range.first_ms = (int64_t)number_of(command, OPTION_FROM, 0);
    range.last_ms = (int64_t)number_of(command, OPTION_TO, 0);
    range.limit = number_of(command, OPTION_LIMIT, 0);
    range.newest_first = is_given(command, OPTION_NEWEST_FIRST);
    answer->info.size = sizeof answer->info;
    return mcds_log_scan_start(handle, &range, log_print_visited, answer->items, &answer->info,
                               pipeline, tag);
}

int log_drop(void *handle, const struct command *command, struct answer *answer,
             mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    (void)answer;
    return mcds_log_drop_start(handle, pipeline, tag);
}
