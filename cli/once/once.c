/* mcds once KEY --info, --settle and --forget. */
#include "once/once.h"

#include <stdlib.h>
#include <string.h>

#include "io/clock.h"
#include "once/transcript.h"
#include "table/nouns.h"

#define NAME "once"

int once_open(mcds_store *store, const struct command *command, void **handle_out)
{
    mcds_once_options options = MCDS_ONCE_OPTIONS_INIT;
    const char *name = is_given(command, OPTION_IN) ? command->options[OPTION_IN].text : NAME;
    options.keep_ms = number_of(command, OPTION_KEEP, 0);
    options.run_ms = (uint32_t)number_of(command, OPTION_RUN, ONCE_RUN_MS);
    options.flags = is_given(command, OPTION_STRICT) ? MCDS_ONCE_STRICT : 0;
    mcds_once *once = NULL;
    int result = mcds_once_open(store, name, &options, &once);
    *handle_out = once;
    return result;
}

void once_close(void *handle)
{
    mcds_once_close(handle);
}

const char *once_why_not(const struct command *command)
{
    bool settles = is_given(command, OPTION_SETTLE);
    if (command->arguments[1] != NULL && !settles)
        return command->program != NULL
                   ? "once: OUTPUT is for --settle; give the command after --"
                   : "once: OUTPUT is for --settle";
    return NULL;
}

int64_t once_left_ms(int64_t until_ms)
{
    int64_t left_ms = until_ms - clock_wall_ms();
    return left_ms > 0 ? left_ms : 0;
}

int once_look(void *handle, const struct command *command, struct answer *answer,
              mcds_pipeline *pipeline, uint64_t tag)
{
    static const mcds_once_value nothing = MCDS_ONCE_VALUE_INIT;
    mcds_bytes key = command->bytes[0];
    if (is_given(command, OPTION_FORGET))
        return mcds_once_forget_start(handle, key, pipeline, tag);
    if (!is_given(command, OPTION_SETTLE)) {
        answer->once = nothing;
        return mcds_once_get_start(handle, key, &answer->once, &answer->value, pipeline, tag);
    }
    struct transcript transcript = {.data = NULL};
    int result = MCDS_NO_MEMORY;
    if (transcript_set(&transcript, command->bytes[1]))
        result = mcds_once_settle_start(handle, key,
                                        (int32_t)number_of(command, OPTION_SETTLE, 0),
                                        transcript_bytes(&transcript), pipeline, tag);
    transcript_free(&transcript);
    return result;
}

static const char *state_of(const mcds_once_value *value)
{
    return value->state == MCDS_ONCE_DONE      ? "done"
           : value->state == MCDS_ONCE_RUNNING ? "running"
                                               : "vanished";
}

/* One stream of a transcript. */
struct gathered {
    size_t stream;
    char *bytes;
    size_t length;
};

static bool gather(void *context, size_t stream, mcds_bytes bytes)
{
    struct gathered *gathered = context;
    if (stream != gathered->stream || bytes.length == 0)
        return true;
    memcpy(gathered->bytes + gathered->length, bytes.data, bytes.length);
    gathered->length += bytes.length;
    return true;
}

static void print_stream(struct output *output, const char *key, size_t stream,
                         const mcds_value *value)
{
    struct gathered gathered = {.stream = stream, .bytes = malloc(value->length + 1)};
    if (gathered.bytes == NULL)
        return;
    (void)transcript_read((mcds_bytes){value->data, value->length}, gather, &gathered);
    output_bytes(output, key, (mcds_bytes){gathered.bytes, gathered.length}, HIDDEN);
    free(gathered.bytes);
}

static bool see_nothing(void *context, size_t stream, mcds_bytes bytes)
{
    (void)context;
    (void)stream;
    (void)bytes;
    return true;
}

/* The output is only in JSON: it may be long, or not be text. */
static void print_result(struct output *output, const mcds_value *value)
{
    print_stream(output, "stdout", 0, value);
    print_stream(output, "stderr", 1, value);
    output_bool(output, "cut",
                transcript_read((mcds_bytes){value->data, value->length}, see_nothing, NULL),
                HIDDEN);
}

/* The time is by the clock of the machine that has written it. If that clock is slow, the end has
 * passed here though the store still has the value: then the time left is not known. */
static void print_left(struct output *output, const mcds_once_value *value)
{
    int64_t left_ms = once_left_ms(value->until_ms);
    if (left_ms > 0 || value->state == MCDS_ONCE_VANISHED)
        output_real(output, "", (double)left_ms / 1000, SHOWN);
    else
        output_text(output, "", "-", SHOWN);
}

static void print_info(struct output *output, const struct answer *answer)
{
    const mcds_once_value *value = &answer->once;
    bool is_done = value->state == MCDS_ONCE_DONE;
    output_text(output, "state", state_of(value), SHOWN);
    if (is_done)
        output_number(output, "code", value->code, SHOWN);
    else if (!output->json)
        output_text(output, "", "-", SHOWN);
    if (!output->json)
        print_left(output, value);
    output_number(output, "began_ms", value->began_ms, HIDDEN);
    output_number(output, "until_ms", value->until_ms, HIDDEN);
    if (is_done && output->json)
        print_result(output, &answer->value);
}

void once_print(struct output *output, const struct command *command,
                const struct answer *answer, int result)
{
    (void)result;
    if (is_given(command, OPTION_INFO))
        print_info(output, answer);
    else
        output_word(output, "done", is_given(command, OPTION_FORGET) ? "forgotten" : "settled");
}
