/* A structure of a dump, as a command: its noun, its name and the options that it was made with. */
#include "dump/structure.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "parse/values.h"
#include "table/commands.h"
#include "table/nouns.h"

#define DROPS_MAX 3 /* a drop whose reply was lost is repeated: that does no harm */

bool is_dumped(const struct noun *noun)
{
    return noun->open == counter_open || noun->open == set_open || noun->open == table_open ||
           noun->open == list_open || noun->open == log_open || noun->open == array_open ||
           noun->open == semaphore_open || noun->open == queue_open;
}

void structure_describe(struct command *structure, const struct noun *noun, const char *name)
{
    memset(structure, 0, sizeof *structure);
    structure->noun = noun;
    structure->verb = &noun->verbs[0];
    structure->arguments[0] = name;
    structure->bytes[0] = mcds_text(name);
}

void structure_copy(struct named_structure *copy, const struct command *structure)
{
    assert(strlen(structure->arguments[0]) < sizeof copy->name);
    (void)snprintf(copy->name, sizeof copy->name, "%s", structure->arguments[0]);
    copy->command = *structure;
    copy->command.arguments[0] = copy->name;
    copy->command.bytes[0] = mcds_text(copy->name);
}

void structure_give(struct command *structure, enum option_id id, uint64_t number)
{
    structure->options[id] = (struct value){true, number, NULL};
}

bool structure_option(const struct command *structure, int *id, char out[OPTION_TEXT])
{
    char time[DURATION_CAPACITY];
    while (*id < OPTION_COUNT && !structure->options[*id].given)
        ++*id;
    if (*id == OPTION_COUNT)
        return false;
    const struct parameter *option = &options[*id];
    const struct value *value = &structure->options[(*id)++];
    format_duration(value->number, time);
    if (option->kind == KIND_FLAG)
        (void)snprintf(out, OPTION_TEXT, "%s", option->word);
    else if (option->kind == KIND_DURATION)
        (void)snprintf(out, OPTION_TEXT, "%s=%s", option->word, time);
    else
        (void)snprintf(out, OPTION_TEXT, "%s=%" PRIu64, option->word, value->number);
    return true;
}

/* The option of the noun that has this word, or -1. */
static int find_option(const struct noun *noun, const char *word, size_t length)
{
    for (int id = 0; id < OPTION_COUNT; id++)
        if (is_among(noun->shape, id) && strlen(options[id].word) == length &&
            memcmp(options[id].word, word, length) == 0)
            return id;
    return -1;
}

bool structure_take_option(struct command *structure, const char *text)
{
    size_t length = strcspn(text, "=");
    int id = find_option(structure->noun, text, length);
    if (id < 0 || structure->options[id].given)
        return false;
    const struct parameter *option = &options[id];
    uint64_t number = 0;
    if (option->kind == KIND_FLAG) {
        structure_give(structure, (enum option_id)id, 0);
        return text[length] == '\0';
    }
    const char *value = text[length] != '\0' ? text + length + 1 : "";
    bool is_fine = option->kind == KIND_DURATION ? parse_duration(value, &number)
                                                 : parse_whole(value, &number);
    if (!is_fine || number < option->min || number > option->max)
        return false;
    structure_give(structure, (enum option_id)id, number);
    return true;
}

int structure_open(mcds_store *store, struct command *structure, void **handle_out)
{
    const struct noun *noun = structure->noun;
    structure->verb = noun->open == array_open ? find_verb(noun, "set") : &noun->verbs[0];
    return noun->open(store, structure, handle_out);
}

/* One operation in a pipeline of its own. */
static int drop_once(mcds_store *store, const struct command *drop, void *handle)
{
    mcds_pipeline *pipeline = NULL;
    mcds_completion done;
    struct answer answer;
    memset(&answer, 0, sizeof answer);
    int result = mcds_pipeline_open(store, NULL, &pipeline);
    if (result == MCDS_OK)
        result = drop->verb->start(handle, drop, &answer, pipeline, 0);
    if (result == MCDS_OK)
        result = mcds_pipeline_next(pipeline, &done);
    if (result == MCDS_OK)
        result = done.result;
    mcds_pipeline_close(pipeline);
    return result;
}

int structure_drop(mcds_store *store, const struct command *structure)
{
    struct command drop;
    void *handle = NULL;
    structure_describe(&drop, structure->noun, structure->arguments[0]);
    drop.verb = find_verb(structure->noun, "drop");
    int result = drop.noun->open(store, &drop, &handle);
    if (result != MCDS_OK)
        return result;
    result = drop_once(store, &drop, handle);
    for (int tries = 1; result == MCDS_AMBIGUOUS && tries < DROPS_MAX; tries++)
        result = drop_once(store, &drop, handle);
    drop.noun->close(handle);
    return result == MCDS_NOT_FOUND ? MCDS_OK : result;
}
