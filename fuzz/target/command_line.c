/* Command lines: any words are a command that may be carried out, or a mistake that is told in a
 * sentence; the same words give the same, and a command has nothing but what its words say. */
#include "input.h"
#include "target.h"

#include <string.h>

#include "parse/options.h"
#include "parse/shell_words.h"
#include "table/commands.h"

#define WORDS_MAX 64
#define LINE_CAPACITY 4096
#define KNOWN_MAX 256

static bool is_a_word(char *const *words, mcds_bytes text)
{
    for (; *words != NULL; words++) {
        const char *end = *words + strlen(*words);
        const char *at = text.data;
        if (at >= *words && at <= end)
            return at + text.length == end;
    }
    return false;
}

static bool is_same(const struct command *one, const struct command *other)
{
    bool same = one->noun == other->noun && one->verb == other->verb &&
                one->input == other->input && one->delta == other->delta &&
                one->element_count == other->element_count &&
                one->removal_count == other->removal_count && one->program == other->program;
    for (int i = 0; i < OPTION_COUNT; i++)
        same = same && one->options[i].given == other->options[i].given &&
               one->options[i].number == other->options[i].number &&
               one->options[i].text == other->options[i].text;
    for (int i = 0; i < ARGUMENTS_MAX; i++)
        same = same && one->arguments[i] == other->arguments[i];
    return same;
}

static void look_at_options(const struct command *command)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct parameter *option = &options[i];
        const struct value *value = &command->options[i];
        bool has_range = option->kind == KIND_NUMBER || option->kind == KIND_DURATION;
        if (!value->given)
            continue;
        MUST(takes_option(command->verb, i));
        if (has_range)
            MUST(value->number >= option->min && value->number <= option->max);
        if (option->kind == KIND_MOMENT)
            MUST(value->number >= 1 && value->number <= INT64_MAX);
    }
}

static void look_at_arguments(const struct command *command, char *const *words)
{
    for (int i = 0; i < ARGUMENTS_MAX && command->verb->arguments[i] != NULL; i++) {
        const struct parameter *argument = command->verb->arguments[i];
        const char *given = command->arguments[i];
        if (given == NULL) {
            MUST(argument->optional || argument->input != INPUT_NONE || argument->many ||
                 command->input != INPUT_NONE);
            continue;
        }
        MUST(is_a_word(words, mcds_text(given)));
        if (argument->kind == KIND_NAME)
            MUST(strlen(given) >= 1 && strlen(given) <= 1024);
    }
    for (size_t i = 0; i < command->element_count; i++)
        MUST(is_a_word(words, command->elements[i]));
    for (size_t i = 0; i < command->removal_count; i++)
        MUST(is_a_word(words, command->removals[i]));
}

static void read_words(char *const *words)
{
    struct command command;
    struct command again;
    struct mistake mistake = {""};
    bool fine = read_command(all_nouns, words, &command, &mistake);
    MUST(fine == (mistake.sentence[0] == '\0'));
    MUST(memchr(mistake.sentence, '\0', sizeof mistake.sentence) != NULL);
    bool is_help = is_given(&command, OPTION_HELP) || is_given(&command, OPTION_VERSION);
    if (fine && !is_help) {
        MUST(command.noun != NULL && command.verb != NULL);
        look_at_options(&command);
        look_at_arguments(&command, words);
    }
    /* A moment may be told from the clock. */
    bool has_moment = is_given(&command, OPTION_AT) || is_given(&command, OPTION_FROM) ||
                      is_given(&command, OPTION_TO);
    MUST(read_command(all_nouns, words, &again, &mistake) == fine || has_moment);
    if (fine && !has_moment)
        MUST(is_same(&command, &again));
    free_command(&again);
    free_command(&command);
}

/* All words that the table knows, and some that fit behind them. */
static size_t collect_words(const char **known)
{
    static const char *const values[] = {"n",  "--", "-",   "1",     "-1", "30s", "now",
                                         "x:", "",   "500", "1.5ms", "-q", "-n2", "--ttl=1h"};
    size_t count = 0;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        known[count++] = values[i];
    for (const struct noun *noun = all_nouns; noun->word != NULL; noun++) {
        known[count++] = noun->word;
        for (const struct verb *verb = noun->verbs; verb->word != NULL; verb++)
            known[count++] = verb->word;
    }
    MUST(count < KNOWN_MAX);
    return count;
}

/* A line in which every byte is a word of the table or a long option. */
static void make_words(struct fuzz_input input)
{
    static const char *known[KNOWN_MAX];
    static size_t count;
    static char capacity[WORDS_MAX][40];
    char *words[WORDS_MAX + 1];
    size_t at = 0;
    if (count == 0)
        count = collect_words(known);
    while (input.left > 0 && at < WORDS_MAX) {
        size_t chosen = next_byte(&input) % (count + OPTION_COUNT);
        const char *dashes = chosen < count ? "" : "--";
        const char *word = chosen < count ? known[chosen] : options[chosen - count].word;
        size_t length = strlen(word);
        MUST(length + 3 <= sizeof capacity[at]);
        memcpy(capacity[at], dashes, strlen(dashes));
        memcpy(capacity[at] + strlen(dashes), word, length + 1);
        words[at] = capacity[at];
        at++;
    }
    words[at] = NULL;
    read_words(words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *words[WORDS_MAX + 1];
    const char *error = NULL;
    if (size > LINE_CAPACITY)
        return 0;
    char *line = malloc(size + 1);
    MUST(line != NULL);
    memcpy(line, data, size);
    line[size] = '\0';
    int count = split_words(line, words, WORDS_MAX, &error);
    if (count >= 0) {
        words[count] = NULL;
        read_words(words);
    }
    free(line);
    make_words((struct fuzz_input){data, size});
    return 0;
}
