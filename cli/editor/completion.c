/* Completion: a list of words, and their common beginning. */
#include "editor/completion.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "io/quote.h"

static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                           "_-./:@%+=,^~*?[]{}!";

bool completion_add(struct completion *completion, const char *typed, const char *word)
{
    assert(completion->count <= COMPLETIONS_MAX);
    if (word[0] == '\0' || strncmp(word, typed, strlen(typed)) != 0)
        return true;
    for (size_t i = 0; i < completion->count; i++)
        if (strcmp(completion->words[i], word) == 0)
            return true;
    char *copy = completion->count < COMPLETIONS_MAX ? strdup(word) : NULL;
    completion->is_cut = copy == NULL;
    if (copy != NULL)
        completion->words[completion->count++] = copy;
    return copy != NULL;
}

void completion_free(struct completion *completion)
{
    for (size_t i = 0; i < completion->count; i++)
        free(completion->words[i]);
    completion->count = 0;
}

/* The number of bytes with which all words begin, without a part of a character. */
static size_t common_length(const struct completion *completion)
{
    const char *first = completion->words[0];
    size_t length = strlen(first);
    for (size_t i = 1; i < completion->count; i++) {
        size_t same = 0;
        while (same < length && completion->words[i][same] == first[same])
            same++;
        length = same;
    }
    while (length > 0 && ((unsigned char)first[length] & 0xc0) == 0x80)
        length--;
    return length;
}

static bool is_safe(const char *word, size_t length)
{
    size_t i = 0;
    while (i < length && ((unsigned char)word[i] >= 0x80 || strchr(safe, word[i]) != NULL))
        i++;
    return i == length && !needs_quotes(word, length);
}

static char *put(char *out, const char *text)
{
    size_t length = strlen(text);
    memcpy(out, text, length + 1);
    return out + length;
}

/* Writes '...', or $'...' if a character must not reach a terminal, without the last quote. */
static char *put_quoted(char *out, const char *word, size_t length)
{
    bool is_hidden = needs_quotes(word, length);
    out = put(out, is_hidden ? "$'" : "'");
    for (size_t i = 0, taken = 1; i < length; i += taken) {
        if (is_hidden) {
            out += quote_next(word + i, length - i, out, &taken);
        } else if (word[i] == '\'') {
            out = put(out, "'\\''");
        } else {
            *out++ = word[i];
        }
    }
    return out;
}

char *completion_text(const struct completion *completion)
{
    bool is_only = completion->count == 1 && !completion->is_cut;
    size_t length = completion->count > 0 ? common_length(completion) : 0;
    if (length == 0 || (!is_only && length <= completion->word_length))
        return NULL;
    char *text = malloc(QUOTED_CAPACITY * (length + 1));
    if (text == NULL)
        return NULL;
    const char *word = completion->words[0];
    char *end = text;
    if (is_safe(word, length)) {
        memcpy(text, word, length);
        end += length;
    } else {
        end = put_quoted(text, word, length);
        end = is_only ? put(end, "'") : end;
    }
    end = is_only ? put(end, " ") : end;
    *end = '\0';
    return text;
}
