/* Columns: aligns lines of fields for a terminal. */
#include "terminal/columns.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "terminal/width.h"

#define BLOCK_LINES 256
#define BLOCK_BYTES (size_t)(1 << 20)
#define GAP 2
#define TEXT_MIN 30 /* columns; with fewer, a text begins on its own line */
#define TEXT_INDENT 4

struct field {
    const char *text;
    size_t length;
    size_t width;
};

bool columns_open(struct columns *columns, const struct column *table,
                  const struct terminal *terminal)
{
    memset(columns, 0, sizeof *columns);
    columns->table = table;
    columns->terminal = *terminal;
    columns->memory = open_memstream(&columns->text, &columns->length);
    return columns->memory != NULL;
}

/* Splits the line at `*text` and moves to the next one. Returns the number of fields. A field past
 * the last column belongs to it. */
static size_t split(const struct columns *columns, const char **text,
                    struct field fields[COLUMNS_MAX])
{
    size_t count = 0;
    const char *at = *text;
    for (;;) {
        bool is_last = columns->table[count + 1].is_end;
        size_t length = strcspn(at, is_last ? "\n" : "\t\n");
        fields[count++] = (struct field){at, length, text_width(at, length)};
        at += length;
        if (*at != '\t')
            break;
        at++;
    }
    assert(count < COLUMNS_MAX);
    *text = *at == '\n' ? at + 1 : at;
    return count;
}

/* A field wider than half of the terminal exceeds its column. */
static void widen(struct columns *columns, size_t column, size_t width)
{
    size_t most = columns->terminal.columns / 2;
    if (width <= most && width > columns->widths[column])
        columns->widths[column] = width;
}

static void measure(struct columns *columns, const char *text)
{
    struct field fields[COLUMNS_MAX];
    const struct column *table = columns->table;
    for (size_t i = 0; table[0].title != NULL && !table[i].is_end; i++)
        widen(columns, i, strlen(table[i].title));
    while (*text != '\0') {
        size_t count = split(columns, &text, fields);
        for (size_t i = 0; i < count; i++)
            if (!table[i].is_text)
                widen(columns, i, fields[i].width);
    }
}

static void put_spaces(size_t count)
{
    (void)printf("%*s", (int)count, "");
}

static enum ink ink_of(const struct column *column, const struct field *field)
{
    static const struct {
        const char *word;
        enum ink ink;
    } words[] = {{"problem", INK_BAD}, {"advice", INK_WARNING}, {"-", INK_DIM}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!column->is_text && field->length == strlen(words[i].word) &&
            memcmp(field->text, words[i].word, field->length) == 0)
            return words[i].ink;
    return column->ink;
}

static void put_field(const struct columns *columns, const struct field *field, enum ink ink)
{
    (void)fputs(ink_begin(&columns->terminal, ink), stdout);
    (void)fwrite(field->text, 1, field->length, stdout);
    (void)fputs(ink_end(&columns->terminal, ink), stdout);
}

/* Prints the words of a text from column `at` on; the lines after the first begin at `indent`. */
static void put_text(const struct columns *columns, const struct field *field, size_t indent)
{
    const char *text = field->text;
    const char *end = text + field->length;
    size_t at = indent;
    while (text < end) {
        const char *blank = memchr(text, ' ', (size_t)(end - text));
        size_t length = (size_t)((blank != NULL ? blank : end) - text);
        size_t width = text_width(text, length);
        if (at > indent && at + 1 + width > columns->terminal.columns) {
            (void)putchar('\n');
            put_spaces(indent);
            at = indent;
        } else if (at > indent) {
            (void)putchar(' ');
            at++;
        }
        (void)fwrite(text, 1, length, stdout);
        at += width;
        text += length;
        while (text < end && *text == ' ')
            text++;
    }
}

/* Where the texts of all lines begin. */
static size_t indent_of(const struct columns *columns)
{
    size_t indent = 0;
    for (size_t i = 0; !columns->table[i].is_end && !columns->table[i].is_text; i++)
        indent += columns->widths[i] + GAP;
    return indent + TEXT_MIN <= columns->terminal.columns ? indent : TEXT_INDENT;
}

/* The spaces before or after a field. */
static size_t pad_of(const struct columns *columns, size_t i, const struct field *field)
{
    return columns->widths[i] > field->width ? columns->widths[i] - field->width : 0;
}

static void put_line(const struct columns *columns, const struct field *fields, size_t count,
                     bool is_titles)
{
    size_t at = 0;  /* columns that are printed, with the gap */
    size_t gap = 0; /* spaces that are not printed yet: none end a line */
    size_t indent = indent_of(columns);
    bool is_after_text = false;
    for (size_t i = 0; i < count; i++) {
        const struct column *column = &columns->table[i];
        if (column->is_text) {
            bool is_below = at > indent || is_after_text;
            if (is_below)
                (void)putchar('\n');
            put_spaces(is_below ? indent : gap + indent - at);
            if (is_after_text)
                (void)fputs("-> ", stdout);
            put_text(columns, &fields[i], indent + (is_after_text ? strlen("-> ") : 0));
            is_after_text = true;
            continue;
        }
        size_t pad = pad_of(columns, i, &fields[i]);
        put_spaces(gap + (column->is_number ? pad : 0));
        put_field(columns, &fields[i], is_titles ? INK_TITLE : ink_of(column, &fields[i]));
        gap = (column->is_number ? 0 : pad) + GAP;
        at += fields[i].width + pad + GAP;
    }
    (void)putchar('\n');
}

static void put_titles(struct columns *columns)
{
    struct field fields[COLUMNS_MAX];
    size_t count = 0;
    for (; !columns->table[count].is_end; count++) {
        const char *title = columns->table[count].title;
        fields[count] = (struct field){title, strlen(title), strlen(title)};
    }
    put_line(columns, fields, count, true);
}

static void put_block(struct columns *columns)
{
    struct field fields[COLUMNS_MAX];
    /* The memory may have the rest of a longer block. */
    if (columns->lines == 0 || putc('\0', columns->memory) == EOF ||
        fflush(columns->memory) != 0)
        return;
    const char *text = columns->text;
    measure(columns, text);
    if (!columns->has_titles && columns->table[0].title != NULL)
        put_titles(columns);
    columns->has_titles = true;
    while (*text != '\0') {
        size_t count = split(columns, &text, fields);
        put_line(columns, fields, count, false);
    }
    columns->lines = 0;
    rewind(columns->memory);
}

void columns_take(struct columns *columns)
{
    columns->lines++;
    if (columns->lines >= BLOCK_LINES || ftell(columns->memory) >= (long)BLOCK_BYTES)
        put_block(columns);
}

void columns_close(struct columns *columns)
{
    put_block(columns);
    (void)fclose(columns->memory);
    free(columns->text);
}
