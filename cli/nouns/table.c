/* mcds table. */
#include <inttypes.h>

#include "table/nouns.h"

int table_open(mcds_store *store, const struct command *command, void **handle_out)
{
    mcds_table *table = NULL;
    int result = mcds_table_open(store, command->arguments[0], NULL, &table);
    *handle_out = table;
    return result;
}

void table_close(void *handle)
{
    mcds_table_close(handle);
}

static void print_key(struct output *output, const struct command *command)
{
    output_bytes(output, "key", command->bytes[1], HIDDEN);
}

int table_put(void *handle, const struct command *command, struct answer *answer,
              mcds_pipeline *pipeline, uint64_t tag)
{
    (void)answer;
    mcds_bytes key = command->bytes[1];
    mcds_bytes value = command->bytes[2];
    uint64_t ttl_ms = number_of(command, OPTION_ENTRY_TTL, 0);
    if (is_given(command, OPTION_IF_ABSENT))
        return mcds_table_put_if_absent_start(handle, key, value, ttl_ms, pipeline, tag);
    if (is_given(command, OPTION_IF_IS))
        return mcds_table_compare_and_set_start(handle, key,
                                                mcds_text(command->options[OPTION_IF_IS].text),
                                                value, ttl_ms, pipeline, tag);
    return mcds_table_put_start(handle, key, value, ttl_ms, pipeline, tag);
}

void table_print_put(struct output *output, const struct command *command,
                     const struct answer *answer, int result)
{
    (void)answer;
    (void)result;
    print_key(output, command);
    output_word(output, "done", "put");
}

int table_get(void *handle, const struct command *command, struct answer *answer,
              mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_table_get_start(handle, command->bytes[1], &answer->value, pipeline, tag);
}

void table_print_get(struct output *output, const struct command *command,
                     const struct answer *answer, int result)
{
    (void)result;
    mcds_bytes value = {answer->value.data, answer->value.length};
    print_key(output, command);
    if (is_given(command, OPTION_RAW) && !output->json)
        output_raw(output, value);
    else
        output_bytes(output, "value", value, SHOWN);
}

int table_has(void *handle, const struct command *command, struct answer *answer,
              mcds_pipeline *pipeline, uint64_t tag)
{
    (void)answer;
    return mcds_table_has_start(handle, command->bytes[1], pipeline, tag);
}

void table_print_has(struct output *output, const struct command *command,
                     const struct answer *answer, int result)
{
    (void)answer;
    (void)result;
    print_key(output, command);
    output_word(output, "done", "yes");
}

int table_remove(void *handle, const struct command *command, struct answer *answer,
                 mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_table_remove_start(handle, command->bytes[1], &answer->changed, pipeline, tag);
}

void table_print_remove(struct output *output, const struct command *command,
                        const struct answer *answer, int result)
{
    (void)answer;
    (void)result;
    print_key(output, command);
    output_word(output, "done", "removed");
}

int table_incr(void *handle, const struct command *command, struct answer *answer,
               mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_table_incr_start(handle, command->bytes[1], command->delta, &answer->number,
                                 pipeline, tag);
}

void table_print_incr(struct output *output, const struct command *command,
                      const struct answer *answer, int result)
{
    (void)result;
    print_key(output, command);
    output_number(output, "value", answer->number, SHOWN);
}

static bool print_entry(void *context, mcds_bytes key, mcds_bytes value)
{
    struct output *output = context;
    output_begin(output);
    output_bytes(output, "key", key, SHOWN);
    output_bytes(output, "value", value, SHOWN);
    output_end(output);
    return output_is_fine(output);
}

int table_scan(void *handle, const struct command *command, struct answer *answer,
               mcds_pipeline *pipeline, uint64_t tag)
{
    answer->cursor.position = number_of(command, OPTION_CURSOR, 0);
    return mcds_table_scan_start(handle, &answer->cursor, number_of(command, OPTION_LIMIT, 0),
                                 print_entry, answer->items, pipeline, tag);
}

static bool count_each(void *context, mcds_bytes key, mcds_bytes value)
{
    (void)key;
    (void)value;
    ++*(uint64_t *)context;
    return true;
}

int table_count(void *handle, const struct command *command, struct answer *answer,
                mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    return mcds_table_scan_start(handle, &answer->cursor, 0, count_each, &answer->count,
                                 pipeline, tag);
}

bool table_has_more(const struct answer *answer)
{
    return !answer->cursor.done;
}

void table_print_scan(struct output *output, const struct command *command,
                      const struct answer *answer, int result)
{
    (void)result;
    if (output->json && table_has_more(answer))
        output_unsigned(output, "cursor", answer->cursor.position, HIDDEN);
    if (!output->json && !output->quiet && table_has_more(answer))
        complain(output, "table '%.200s': there may be more; continue with --cursor %" PRIu64,
                 command->arguments[0], answer->cursor.position);
}

int table_drop(void *handle, const struct command *command, struct answer *answer,
               mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    (void)answer;
    return mcds_table_drop_start(handle, pipeline, tag);
}
