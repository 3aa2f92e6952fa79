/* Lines of the command: words come back as they were, however they are quoted, and so does every
 * field that it prints. */
#include "input.h"
#include "target.h"

#include <stdio.h>
#include <string.h>

#include "io/output.h"
#include "io/quote.h"
#include "parse/shell_words.h"

#define WORDS_MAX 64
#define LINE_CAPACITY 8192

/* Memory of exactly this size, so that a step beyond it is seen. */
static char *copy_of(const void *bytes, size_t length)
{
    char *copy = malloc(length + 1);
    MUST(copy != NULL);
    memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}

static char *put(char *out, const char *text)
{
    size_t length = strlen(text);
    memcpy(out, text, length);
    return out + length;
}

static char *put_hex(char *out, char byte)
{
    static const char digits[] = "0123456789abcdef";
    *out++ = digits[(unsigned char)byte >> 4];
    *out++ = digits[(unsigned char)byte & 15];
    return out;
}

/* Write a word in one of the four ways that a shell knows; returns its end. */
static char *quote(char *out, const char *word, size_t length, unsigned way)
{
    static const char *const marks[][2] = {{"'", "'"}, {"\"", "\""}, {"", ""}, {"$'", "'"}};
    if (way == 2 && length == 0)
        way = 0;
    out = put(out, marks[way][0]);
    for (size_t i = 0; i < length; i++) {
        char c = word[i];
        if (way == 0 && c == '\'') {
            out = put(out, "'\\''");
            continue;
        }
        if (way == 3 && (c == '\'' || c == '\\' || (unsigned char)c < ' ')) {
            out = put_hex(put(out, "\\x"), c);
            continue;
        }
        if (way == 2 || (way == 1 && strchr("\"\\$`", c) != NULL))
            *out++ = '\\';
        *out++ = c;
    }
    return put(out, marks[way][1]);
}

/* Words quoted and put in one line are these words. */
static void join_and_split(char *const *words, int count, struct fuzz_input ways)
{
    static char line[LINE_CAPACITY * 4];
    char *again[WORDS_MAX];
    const char *error = NULL;
    char *end = line;
    for (int i = 0; i < count; i++) {
        *end++ = (next_byte(&ways) & 1) != 0 ? ' ' : '\t';
        end = quote(end, words[i], strlen(words[i]), next_byte(&ways) % 4);
    }
    char *copy = copy_of(line, (size_t)(end - line));
    MUST(split_words(copy, again, WORDS_MAX, &error) == count);
    for (int i = 0; i < count; i++)
        MUST(strcmp(again[i], words[i]) == 0);
    if (count > 0) {
        memcpy(copy, line, (size_t)(end - line));
        MUST(split_words(copy, again, (size_t)count - 1, &error) == -1 && error != NULL);
    }
    free(copy);
}

/* A line is split into words that follow each other in it, or is refused with a sentence and the
 * place of the mistake. */
static void split(const uint8_t *data, size_t size)
{
    char *words[WORDS_MAX];
    const char *error = NULL;
    char *line = copy_of(data, size);
    size_t whole = strlen(line);
    size_t place = SIZE_MAX;
    int count = split_typed_words(line, words, WORDS_MAX, &error, &place);
    MUST((count < 0) == (place != SIZE_MAX) && (count >= 0 || place < whole));
    MUST(count >= -1 && count <= WORDS_MAX && (count >= 0) == (error == NULL));
    const char *end = line;
    for (int i = 0; i < count; i++) {
        MUST(words[i] >= end && words[i] <= line + size);
        end = words[i] + strlen(words[i]) + 1;
        MUST(end <= line + size + 1);
    }
    if (count >= 0)
        join_and_split(words, count, (struct fuzz_input){data, size});
    free(line);
}

/* Words of any bytes, which a NUL parts. */
static void make_words(const uint8_t *data, size_t size)
{
    char *words[WORDS_MAX];
    int count = 0;
    char *text = copy_of(data, size);
    for (char *at = text; at <= text + size && count < WORDS_MAX; at += strlen(at) + 1)
        words[count++] = at;
    join_and_split(words, count, (struct fuzz_input){data, size});
    free(text);
}

/* What is printed as a field is read back, and is one line with one field. */
static void print(const uint8_t *data, size_t size)
{
    char *made = NULL;
    size_t length = 0;
    struct output output = {.file = open_memstream(&made, &length)};
    MUST(output.file != NULL);
    output_begin(&output);
    output_bytes(&output, "field", (mcds_bytes){data, size}, SHOWN);
    MUST(fclose(output.file) == 0);
    for (size_t i = 0; i < length;) {
        size_t step = utf8_length(made + i, length - i);
        MUST(control_length(made + i, length - i) == 0);
        i += step > 0 ? step : 1;
    }
    char *copy = copy_of(made, length);
    MUST(unquote_field(copy, &length));
    MUST(length == size && memcmp(copy, data, size) == 0);
    free(copy);
    free(made);
}

/* Any field is bytes, never more of them than it has. */
static void unquote(const uint8_t *data, size_t size)
{
    char *field = malloc(size + 3);
    MUST(field != NULL);
    memcpy(field, "$'", 2);
    memcpy(field + 2, data, size);
    field[size + 2] = '\0';
    for (size_t skip = 0; skip <= 2; skip += 2) {
        char *copy = copy_of(field + skip, size + 2 - skip);
        size_t length = size + 2 - skip;
        MUST(unquote_field(copy, &length) && length <= size + 2 - skip);
        free(copy);
    }
    free(field);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > LINE_CAPACITY / 2)
        return 0;
    split(data, size);
    make_words(data, size);
    print(data, size);
    unquote(data, size);
    return 0;
}
