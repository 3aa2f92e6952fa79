/* mcds cache: the verbs that are one operation. */
#include "table/nouns.h"

int cache_open(mcds_store *store, const struct command *command, void **handle_out)
{
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    mcds_cache *cache = NULL;
    options.ttl_ms = number_of(command, OPTION_ENTRY_TTL, 0);
    options.stale_ms = number_of(command, OPTION_STALE, 0);
    int result = mcds_cache_open(store, command->arguments[0], &options, &cache);
    *handle_out = cache;
    return result;
}

void cache_close(void *handle)
{
    mcds_cache_close(handle);
}

/* forget and hold are about a key or a tag. */
const char *cache_why_not(const struct command *command)
{
    bool has_key = command->arguments[1] != NULL;
    bool has_tag = command->element_count > 0;
    if (command->verb->start != cache_forget)
        return NULL;
    if (has_key == has_tag)
        return has_key ? "cache forget: a KEY and --tag exclude each other; forget one, then "
                         "the other"
                       : "cache forget: give a KEY, or a --tag";
    if (command->element_count > 1)
        return "cache forget: give one --tag; the next call forgets another";
    return NULL;
}

int cache_forget(void *handle, const struct command *command, struct answer *answer,
                 mcds_pipeline *pipeline, uint64_t tag)
{
    (void)answer;
    if (command->element_count > 0)
        return mcds_cache_forget_tag_start(handle, command->elements[0], pipeline, tag);
    return mcds_cache_forget_start(handle, command->bytes[1], pipeline, tag);
}

void cache_print_forget(struct output *output, const struct command *command,
                        const struct answer *answer, int result)
{
    (void)answer;
    (void)result;
    if (command->element_count > 0)
        output_bytes(output, "tag", command->elements[0], HIDDEN);
    else
        output_bytes(output, "key", command->bytes[1], HIDDEN);
    output_word(output, "done", "forgotten");
}

int cache_expire(void *handle, const struct command *command, struct answer *answer,
                 mcds_pipeline *pipeline, uint64_t tag)
{
    (void)answer;
    return mcds_cache_expire_start(handle, command->bytes[1], pipeline, tag);
}

void cache_print_expire(struct output *output, const struct command *command,
                        const struct answer *answer, int result)
{
    (void)answer;
    (void)result;
    output_bytes(output, "key", command->bytes[1], HIDDEN);
    output_word(output, "done", "expired");
}

int cache_clear(void *handle, const struct command *command, struct answer *answer,
                mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    (void)answer;
    return mcds_cache_clear_start(handle, pipeline, tag);
}

void cache_print_clear(struct output *output, const struct command *command,
                       const struct answer *answer, int result)
{
    (void)command;
    (void)answer;
    (void)result;
    output_word(output, "done", "cleared");
}

int cache_drop(void *handle, const struct command *command, struct answer *answer,
               mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    (void)answer;
    return mcds_cache_drop_start(handle, pipeline, tag);
}
