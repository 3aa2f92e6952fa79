/* The table of rows in docs/article.md. It is between two marks, and is compared and replaced
 * as a whole. */
#include "article/document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "article/rows.h"

#define BEGIN_MARK "<!-- rows: begin -->\n"
#define END_MARK "<!-- rows: end -->\n"
#define FILE_MAX ((size_t)1 << 20)

/* The row's id is its name up to the first underscore. */
static void write_row(struct text *out, const struct row *row)
{
    char id[8];
    (void)snprintf(id, sizeof id, "%.*s", (int)strcspn(row->name, "_"), row->name);
    text_add(out, "| ");
    text_add(out, id);
    text_add(out, " | ");
    text_add(out, row->flaw);
    text_add(out, " | ");
    text_add(out, row->cure);
    text_add(out, " | ");
    text_add(out, row->article == NULL ? "none" : "`");
    text_add(out, row->article == NULL ? "" : row->name);
    text_add(out, row->article == NULL ? "" : "`");
    text_add(out, " |\n");
}

static void write_table(struct text *out, const struct rows *const *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        text_add(out, "\n## ");
        text_add(out, rows[i]->title);
        text_add(out, "\n\n| row | the article's | ours | test |\n|---|---|---|---|\n");
        for (size_t j = 0; j < rows[i]->count; j++)
            write_row(out, &rows[i]->at[j]);
    }
    text_add(out, "\n");
}

int document_print(const struct rows *const *rows, size_t count)
{
    struct text table = {NULL, 0, 0};
    write_table(&table, rows, count);
    fputs(table.at, stdout);
    text_free(&table);
    return EXIT_SUCCESS;
}

/* The whole file; NULL: it cannot be read or has no marks. The caller frees it. */
static char *read_document(const char *path, char **begin_out, char **end_out)
{
    FILE *file = fopen(path, "r");
    char *text = malloc(FILE_MAX);
    size_t length = file != NULL && text != NULL ? fread(text, 1, FILE_MAX - 1, file) : 0;
    if (file != NULL)
        (void)fclose(file);
    *begin_out = NULL;
    *end_out = NULL;
    if (length > 0) {
        text[length] = '\0';
        *begin_out = strstr(text, BEGIN_MARK);
        *end_out = strstr(text, END_MARK);
    }
    if (*begin_out == NULL || *end_out == NULL || *end_out < *begin_out) {
        printf("%s: cannot be read, or has no marks for the rows\n", path);
        free(text);
        return NULL;
    }
    *begin_out += strlen(BEGIN_MARK);
    return text;
}

int document_check(const struct rows *const *rows, size_t count, const char *path)
{
    char *begin;
    char *end;
    char *text = read_document(path, &begin, &end);
    if (text == NULL)
        return EXIT_FAILURE;
    struct text table = {NULL, 0, 0};
    write_table(&table, rows, count);
    bool same = (size_t)(end - begin) == table.length &&
                memcmp(begin, table.at, table.length) == 0;
    if (!same)
        printf("%s: its table is not the one of the rows; run with --rewrite\n", path);
    text_free(&table);
    free(text);
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}

int document_rewrite(const struct rows *const *rows, size_t count, const char *path)
{
    char *begin;
    char *end;
    char *text = read_document(path, &begin, &end);
    if (text == NULL)
        return EXIT_FAILURE;
    struct text out = {NULL, 0, 0};
    char first = *begin;
    *begin = '\0';
    text_add(&out, text);
    *begin = first;
    write_table(&out, rows, count);
    text_add(&out, end);
    FILE *file = fopen(path, "w");
    bool written = file != NULL && fwrite(out.at, 1, out.length, file) == out.length;
    written = file != NULL && fclose(file) == 0 && written;
    text_free(&out);
    free(text);
    return written ? EXIT_SUCCESS : EXIT_FAILURE;
}
