/* Help and the list of exit codes, from the table. */
#include "help/help.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "help/examples.h"
#include "help/manual.h"
#include "help/usage.h"
#include "io/exit.h"
#include "io/report.h"
#include "parse/options.h"
#include "run/session.h"
#include "table/commands.h"
#include "table/nouns.h"

#define WIDTH 79
#define INDENT 22
#define HELP_MAX 400

/* Prints the words of `text` in lines. The first begins at `column`, the others at `indent`. */
static void print_wrapped(const char *text, size_t column, size_t indent)
{
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        if (column > indent && column + 1 + length > WIDTH) {
            output_print("\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            output_print(" ");
            column++;
        }
        output_print("%.*s", (int)length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    output_print("\n");
}

static void print_item(const char *item, const char *text)
{
    output_print("  %-*s", INDENT - 2, item);
    if (strlen(item) + 3 > INDENT)
        output_print("\n%*s", INDENT, "");
    print_wrapped(text, INDENT, INDENT);
}

static void print_parameter(const struct parameter *parameter)
{
    char item[80];
    char range[RANGE_MAX];
    char text[HELP_MAX];
    const char *value = parameter->placeholder != NULL ? parameter->placeholder : "";
    if (parameter->word == NULL)
        (void)snprintf(item, sizeof item, "%s", value);
    else if (parameter->letter != '\0')
        (void)snprintf(item, sizeof item, "-%c, --%s %s", parameter->letter, parameter->word,
                       value);
    else
        (void)snprintf(item, sizeof item, "--%s %s", parameter->word, value);
    write_range_of(parameter, range);
    (void)snprintf(text, sizeof text, "%s%s", parameter->help, range);
    print_item(item, text);
}

static void print_options(const enum option_id *which)
{
    for (int id = 0; id < OPTION_COUNT; id++)
        if (is_among(which, id))
            print_parameter(&options[id]);
}

/* Of the verbs that a whole command has besides. */
static void print_other_usages(const struct noun *noun)
{
    char usage[USAGE_MAX];
    for (const struct verb *verb = &noun->verbs[1]; verb->word != NULL; verb++) {
        write_usage(noun, verb, usage);
        output_print("       mcds %s\n", usage);
    }
    if (noun->verbs[1].word != NULL)
        output_print("       ('mcds help %s VERB')\n", noun->word);
}

static void explain_verb(const struct noun *noun, const struct verb *verb)
{
    char usage[USAGE_MAX];
    write_usage(noun, verb, usage);
    output_print("usage: mcds %s\n", usage);
    if (verb->word[0] == '\0')
        print_other_usages(noun);
    output_print("\n");
    print_wrapped(verb->help, 0, 0);
    if (takes_each(verb)) {
        output_print("\n");
        print_wrapped(SEVERAL, 0, 0);
    }
    if (verb->arguments[0] != NULL || verb->options != NULL)
        output_print("\n");
    for (const struct parameter *const *at = verb->arguments; *at != NULL; at++)
        print_parameter(*at);
    print_options(verb->options);
    print_examples(noun, verb);
}

/* The noun, its meaning and its verbs. */
static void print_noun(const struct noun *noun)
{
    char text[HELP_MAX];
    size_t length = (size_t)snprintf(text, sizeof text, "%s", noun->help);
    for (const struct verb *verb = noun->verbs; verb->word != NULL; verb++)
        if (verb->word[0] != '\0')
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%s",
                                       strchr(text, ':') == NULL ? ": " : " ", verb->word);
    print_item(noun->word, text);
}

static void explain_noun(const struct noun *noun)
{
    assert(noun->verbs != NULL);
    output_print("%s: %s\n\n", noun->word, noun->help);
    for (const struct verb *verb = noun->verbs; verb->word != NULL; verb++) {
        char usage[USAGE_MAX];
        write_usage(noun, verb, usage);
        output_print("  mcds %s\n      ", usage);
        print_wrapped(verb->help, 6, 6);
    }
    print_examples(noun, NULL);
    output_print("\n'mcds help %s VERB' explains the options of a verb.\n", noun->word);
}

static void explain_all(const struct noun *nouns)
{
    output_print(
        "usage: mcds [-s URI] [-N NAMESPACE] [--json] [-q] [--timeout TIME] COMMAND\n\n"
        "Locks, counters, sets, tables, lists, logs and more that many processes and\n"
        "machines share, in one file or on memcached servers.\n\n");
    for (const struct noun *noun = nouns; noun->word != NULL; noun++)
        print_noun(noun);
    output_print("\n");
    print_options(OPTIONS_GLOBAL);
    output_print(
        "\nA TIME is 500ms 30s 5m 1h 2d; a bare number is seconds. A WHEN is now,\n"
        "10m (ago), 2026-11-21T10:30:15Z or @1795257015 (Unix time).\n"
        "Of an option that is given twice the last counts, unless it may be repeated.\n"
        "'mcds help NOUN [VERB]' explains a command, 'mcds help exit' the exit codes.\n\n"
        "Try: mcds counter add visits; mcds lock job -- sleep 3\n");
}

void explain(const struct noun *nouns, const struct noun *noun, const struct verb *verb)
{
    if (noun == NULL)
        explain_all(nouns);
    else if (verb == NULL)
        explain_noun(noun);
    else
        explain_verb(noun, verb);
}

static void explain_exit(void)
{
    char code[8];
#define PRINT_STATUS(name, number, text)                                                       \
    (void)snprintf(code, sizeof code, "%d", number);                                           \
    print_item(code, text);
    STATUS_MAP(PRINT_STATUS)
#undef PRINT_STATUS
    print_item("several", STATUS_OF_SEVERAL);
    print_item("other",
               "the exit code of COMMAND; 128 + N when signal N ended it, a wait for a lock, "
               "or standard input");
}

/* The verb `topic` of `noun`, or without a noun the command `topic`. */
static int unknown_topic(struct session *session, const struct command *command,
                         const struct noun *noun, const char *topic, const char *near)
{
    char sentence[SENTENCE_MAX];
    int length = snprintf(sentence, sizeof sentence, "there is no help on '%s%s%.60s'; ",
                          noun != NULL ? noun->word : "", noun != NULL ? " " : "", topic);
    assert(length > 0 && (size_t)length < sizeof sentence);
    char *rest = sentence + length;
    size_t room = sizeof sentence - (size_t)length;
    if (near != NULL)
        (void)snprintf(rest, room, "did you mean '%s'?", near);
    else if (noun != NULL)
        (void)snprintf(rest, room, "'mcds help %s' lists the verbs", noun->word);
    else
        (void)snprintf(rest, room, "'mcds help' lists the commands");
    report_failure(&session->output, command, STATUS_USAGE, "MCDS_INVALID", sentence);
    return STATUS_USAGE;
}

/* For tools/manuals: the part of the manual page `topic` that comes from the table. */
static int explain_manual(struct session *session, const struct command *command,
                          const char *topic)
{
    const struct noun *noun = topic == NULL ? NULL : find_noun(session->nouns, topic);
    if (topic == NULL)
        print_manual(session->nouns);
    else if (strcmp(topic, "exit") == 0)
        print_manual_exit();
    else if (noun != NULL)
        print_manual_of(noun);
    else
        return unknown_topic(session, command, NULL, topic,
                             nearest_noun(session->nouns, topic));
    return STATUS_DONE;
}

int help_run(struct session *session, const struct command *command)
{
    const struct noun *nouns = session->nouns;
    const char *topic = command->arguments[0];
    const char *word = command->arguments[1];
    if (topic == NULL) {
        explain_all(nouns);
        return STATUS_DONE;
    }
    if (strcmp(topic, "exit") == 0) {
        explain_exit();
        return STATUS_DONE;
    }
    if (strcmp(topic, "man") == 0)
        return explain_manual(session, command, word);
    const struct noun *noun = find_noun(nouns, topic);
    if (noun == NULL)
        return unknown_topic(session, command, NULL, topic, nearest_noun(nouns, topic));
    const struct verb *verb = is_whole_command(noun) ? &noun->verbs[0] : NULL;
    bool has_words = verb == NULL || noun->verbs[1].word != NULL;
    if (has_words && word != NULL) {
        verb = find_verb(noun, word);
        if (verb == NULL)
            return unknown_topic(session, command, noun, word, nearest_verb(noun, word));
    }
    explain(nouns, noun, verb);
    return STATUS_DONE;
}
