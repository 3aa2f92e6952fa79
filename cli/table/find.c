/* Finds words in the table, and the nearest word to a mistyped one. */
#include <string.h>

#include "table/commands.h"

#define WORD_MAX 32
#define DISTANCE_MAX 2

const struct noun *find_noun(const struct noun *nouns, const char *word)
{
    for (const struct noun *noun = nouns; noun->word != NULL; noun++)
        if (strcmp(noun->word, word) == 0)
            return noun;
    return NULL;
}

const struct verb *find_verb(const struct noun *noun, const char *word)
{
    for (const struct verb *verb = noun->verbs; verb->word != NULL; verb++)
        if (strcmp(verb->word, word) == 0)
            return verb;
    return NULL;
}

bool is_whole_command(const struct noun *noun)
{
    return noun->verbs[0].word[0] == '\0';
}

size_t last_argument(const struct verb *verb)
{
    size_t count = 0;
    while (verb->arguments[count] != NULL)
        count++;
    return count > 0 ? count - 1 : 0;
}

size_t needed_arguments(const struct verb *verb)
{
    size_t count = 0;
    while (verb->arguments[count] != NULL && !verb->arguments[count]->optional)
        count++;
    return count;
}

bool takes_each(const struct verb *verb)
{
    const struct parameter *last = verb->arguments[last_argument(verb)];
    return last != NULL && last->each;
}

bool takes_program(const struct verb *verb)
{
    return verb->runs_program || (verb->start != NULL && verb->run != NULL);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours between two short words. */
static size_t distance(const char *a, const char *b)
{
    size_t a_length = strnlen(a, WORD_MAX);
    size_t b_length = strnlen(b, WORD_MAX);
    if (a_length == WORD_MAX || b_length == WORD_MAX)
        return WORD_MAX;
    size_t table[WORD_MAX][WORD_MAX];
    for (size_t i = 0; i <= a_length; i++)
        for (size_t j = 0; j <= b_length; j++) {
            if (i == 0 || j == 0) {
                table[i][j] = i + j;
                continue;
            }
            size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
            table[i][j] = least(table[i - 1][j - 1] + change,
                                least(table[i - 1][j], table[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                table[i][j] = least(table[i][j], table[i - 2][j - 2] + 1);
        }
    return table[a_length][b_length];
}

struct guess {
    const char *typed;
    const char *best;
    size_t distance;
};

static void consider(struct guess *guess, const char *word)
{
    size_t found = distance(guess->typed, word);
    if (found < guess->distance && 2 * found < strlen(word)) {
        guess->distance = found;
        guess->best = word;
    }
}

const char *nearest_noun(const struct noun *nouns, const char *typed)
{
    struct guess guess = {typed, NULL, DISTANCE_MAX + 1};
    for (const struct noun *noun = nouns; noun->word != NULL; noun++)
        consider(&guess, noun->word);
    return guess.best;
}

const char *nearest_verb(const struct noun *noun, const char *typed)
{
    struct guess guess = {typed, NULL, DISTANCE_MAX + 1};
    for (const struct verb *verb = noun->verbs; verb->word != NULL; verb++)
        if (!verb->erases)
            consider(&guess, verb->word);
    return guess.best;
}

const char *nearest_option(const struct verb *verb, const char *typed)
{
    struct guess guess = {typed, NULL, DISTANCE_MAX + 1};
    for (int id = 0; id < OPTION_COUNT; id++)
        if (takes_option(verb, id))
            consider(&guess, options[id].word);
    return guess.best;
}
