/* Usage: one-line summaries of commands. */
#include "help/usage.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "parse/values.h"
#include "table/commands.h"

static void append(char out[USAGE_MAX], const char *before, const char *text, const char *after)
{
    size_t length = strlen(out);
    (void)snprintf(out + length, USAGE_MAX - length, "%s%s%s", before, text, after);
}

void write_usage(const struct noun *noun, const struct verb *verb, char out[USAGE_MAX])
{
    out[0] = '\0';
    append(out, "", noun->word, "");
    if (verb->word[0] != '\0')
        append(out, " ", verb->word, "");
    const char *end = "";
    for (const struct parameter *const *at = verb->arguments; *at != NULL; at++) {
        if ((*at)->optional)
            append(out, end, " [", "");
        append(out, (*at)->optional ? "" : " ", (*at)->placeholder,
               (*at)->many || (*at)->each ? "..." : "");
        end = (*at)->optional ? "]" : end;
    }
    append(out, end, "", "");
    if (verb->options != NULL)
        append(out, " ", "[OPTIONS]", "");
    if (takes_program(verb))
        append(out, " ", "[-- COMMAND...]", "");
}

void list_arguments_of(const struct verb *verb, char out[USAGE_MAX])
{
    out[0] = '\0';
    for (const struct parameter *const *at = verb->arguments; *at != NULL && !(*at)->optional;
         at++)
        append(out, " ", (*at)->placeholder, "");
}

void write_range_of(const struct parameter *parameter, char out[RANGE_MAX])
{
    char least[DURATION_CAPACITY];
    char most[DURATION_CAPACITY];
    out[0] = '\0';
    if (parameter->kind == KIND_DURATION) {
        format_duration(parameter->min, least);
        format_duration(parameter->max, most);
        (void)snprintf(out, RANGE_MAX, "; %s to %s", parameter->min > 0 ? least : "0", most);
    } else if (parameter->kind == KIND_NUMBER && parameter->max < UINT32_MAX) {
        (void)snprintf(out, RANGE_MAX, "; %" PRIu64 " to %" PRIu64, parameter->min,
                       parameter->max);
    } else if (parameter->kind == KIND_TEXT && parameter->max > 0) {
        (void)snprintf(out, RANGE_MAX, "; at most %" PRIu64 " bytes", parameter->max);
    }
}

void list_nouns_with(const struct noun *nouns, const char *verb, char out[USAGE_MAX])
{
    out[0] = '\0';
    for (const struct noun *noun = nouns; noun->word != NULL; noun++)
        if (find_verb(noun, verb) != NULL) {
            append(out, out[0] == '\0' ? "" : ", ", noun->word, " ");
            append(out, "", verb, "");
        }
}

void list_verbs_of(const struct noun *noun, char out[USAGE_MAX])
{
    out[0] = '\0';
    for (const struct verb *verb = noun->verbs; verb->word != NULL; verb++)
        append(out, verb == noun->verbs ? "" : ", ", verb->word, "");
}
