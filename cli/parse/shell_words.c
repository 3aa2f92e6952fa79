/* Shell quoting. The unquoted text is never longer than the quoted, so it is written over it.
 */
#include "parse/shell_words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "io/quote.h"

struct scan {
    const char *in;
    char *out;
    const char *error;
    const char *place; /* of the error */
    const char *begin; /* of the last word */
    bool takes_nul;
    bool is_open;  /* the last word is not complete: a quote may be open */
    bool is_typed; /* operators of the system's shell are refused */
};

static void fail(struct scan *scan, const char *place, const char *error)
{
    scan->place = place;
    scan->error = error;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void copy_single_quoted(struct scan *scan)
{
    while (*scan->in != '\'' && *scan->in != '\0')
        *scan->out++ = *scan->in++;
}

static void copy_double_quoted(struct scan *scan)
{
    while (*scan->in != '"' && *scan->in != '\0') {
        char next = scan->in[1];
        if (*scan->in == '\\' && (next == '"' || next == '\\' || next == '$' || next == '`'))
            scan->in++;
        *scan->out++ = *scan->in++;
    }
}

/* Copies one escape of $'...'; scan->in is at the letter after the backslash. */
static void copy_escape(struct scan *scan)
{
    static const char letters[] = "nrte\\'\"";
    static const char meanings[] = "\n\r\t\033\\'\"";
    char letter = *scan->in;
    for (int i = 0; letters[i] != '\0'; i++)
        if (letters[i] == letter) {
            *scan->out++ = meanings[i];
            scan->in++;
            return;
        }
    int high = letter == 'x' ? hex_value(scan->in[1]) : -1;
    int low = high < 0 ? -1 : hex_value(scan->in[2]);
    if (low < 0) {
        fail(scan, scan->in - 1, "$'...' knows only \\n \\r \\t \\e \\\\ \\' \\\" and \\xHH");
    } else if (high == 0 && low == 0 && !scan->takes_nul) {
        fail(scan, scan->in - 1, "a name cannot hold a NUL");
    } else {
        *scan->out++ = (char)(high << 4 | low);
        scan->in += 3;
    }
}

static void copy_dollar_quoted(struct scan *scan)
{
    while (*scan->in != '\'' && *scan->in != '\0' && scan->error == NULL) {
        if (*scan->in == '\\') {
            scan->in++;
            copy_escape(scan);
        } else {
            *scan->out++ = *scan->in++;
        }
    }
}

/* `open` is the first byte of the quote. */
static void close_quote(struct scan *scan, const char *open)
{
    if (scan->error != NULL)
        return;
    if (*scan->in != '\0')
        scan->in++;
    else if (!scan->is_open)
        fail(scan, open, "a quote is not closed");
}

/* Whether the system's shell takes the character, if it is not quoted, as an operator or a part of one,
 * also inside a word. */
static bool is_operator(char c)
{
    return strchr("|&;<>()", c) != NULL;
}

static void copy_word(struct scan *scan)
{
    while (*scan->in != '\0' && !is_blank(*scan->in) && scan->error == NULL) {
        const char *open = scan->in;
        if (*scan->in == '\'') {
            scan->in++;
            copy_single_quoted(scan);
            close_quote(scan, open);
        } else if (*scan->in == '"') {
            scan->in++;
            copy_double_quoted(scan);
            close_quote(scan, open);
        } else if (scan->in[0] == '$' && scan->in[1] == '\'') {
            scan->in += 2;
            copy_dollar_quoted(scan);
            close_quote(scan, open);
        } else if (*scan->in == '\\' && scan->in[1] == '\0') {
            fail(scan, open,
                 "a backslash ends the line; a command cannot continue on the next");
        } else if (scan->is_typed && is_operator(*scan->in)) {
            fail(scan, open,
                 "a line of mcds shell has no pipes, redirections or lists of commands; quote "
                 "this word if it is an argument, or run the line outside of this shell, as "
                 "'mcds ...'");
        } else {
            if (*scan->in == '\\')
                scan->in++;
            *scan->out++ = *scan->in++;
        }
    }
}

/* Returns the number of words, or -1 with the error in the scan. */
static int split(struct scan *scan, char **words, size_t max)
{
    size_t count = 0;
    for (bool is_last = false; !is_last;) {
        while (is_blank(*scan->in))
            scan->in++;
        if (*scan->in == '#' && scan->is_open)
            fail(scan, scan->in, "the line ends with a comment");
        else if (*scan->in == '#' || (*scan->in == '\0' && !scan->is_open))
            return (int)count;
        else if (count == max)
            fail(scan, scan->in, "there are too many words");
        if (scan->error != NULL)
            return -1;
        scan->begin = scan->in;
        words[count] = scan->out;
        copy_word(scan);
        count++;
        if (scan->error != NULL)
            return -1;
        is_last = *scan->in == '\0';
        scan->in += is_last ? 0 : 1;
        *scan->out++ = '\0';
    }
    return (int)count;
}

int split_words(char *line, char **words, size_t max, const char **error_out)
{
    struct scan scan = {.in = line, .out = line};
    int count = split(&scan, words, max);
    if (count < 0)
        *error_out = scan.error;
    return count;
}

int split_typed_words(char *line, char **words, size_t max, const char **error_out,
                      size_t *place_out)
{
    struct scan scan = {.in = line, .out = line, .is_typed = true};
    int count = split(&scan, words, max);
    if (count < 0) {
        *error_out = scan.error;
        *place_out = (size_t)(scan.place - line);
    }
    return count;
}

int split_open_words(char *line, char **words, size_t max, size_t *begin_out)
{
    struct scan scan = {.in = line, .out = line, .is_open = true};
    int count = split(&scan, words, max);
    if (count > 0)
        *begin_out = (size_t)(scan.begin - line);
    return count;
}

/* Whether `field` is exactly the quoted form of `text`. */
static bool is_shown_as(const char *text, size_t length, const char *field, size_t field_length)
{
    const char *at = field + 2;
    const char *end = field + field_length;
    for (size_t i = 0, taken; i < length; i += taken) {
        char quoted[QUOTED_CAPACITY];
        size_t shown = quote_next(text + i, length - i, quoted, &taken);
        if (shown > (size_t)(end - at) || memcmp(at, quoted, shown) != 0)
            return false;
        at += shown;
    }
    return end - at == 1 && *at == '\'';
}

bool unquote_field(char *field, size_t *length)
{
    if (*length < 3 || field[0] != '$' || field[1] != '\'' || field[*length - 1] != '\'')
        return true;
    char *copy = malloc(*length + 1);
    if (copy == NULL)
        return false;
    memcpy(copy, field, *length + 1);
    struct scan scan = {.in = copy + 2, .out = copy, .takes_nul = true};
    copy_dollar_quoted(&scan);
    size_t unquoted = (size_t)(scan.out - copy);
    if (scan.error == NULL && needs_quotes(copy, unquoted) &&
        is_shown_as(copy, unquoted, field, *length)) {
        memcpy(field, copy, unquoted);
        field[unquoted] = '\0';
        *length = unquoted;
    }
    free(copy);
    return true;
}
