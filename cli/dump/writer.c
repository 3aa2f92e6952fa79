/* Writer: writes the lines of a dump. Each line is made in memory, as the sums have it. */
#include "dump/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dump/format.h"
#include "dump/structure.h"
#include "io/quote.h"

#define NUMBER_TEXT 24

static void fail(struct writer *writer, int reason)
{
    if (writer->error == 0)
        writer->error = reason;
}

/* Room for so many more bytes. */
static bool make_room(struct writer *writer, size_t more)
{
    if (writer->capacity - writer->length >= more)
        return true;
    size_t capacity = 2 * writer->capacity + more;
    char *line = realloc(writer->line, capacity);
    if (line == NULL) {
        fail(writer, ENOMEM);
        return false;
    }
    writer->line = line;
    writer->capacity = capacity;
    return true;
}

static void put_bytes(struct writer *writer, const char *bytes, size_t length)
{
    if (length == 0 || !make_room(writer, length))
        return;
    memcpy(writer->line + writer->length, bytes, length);
    writer->length += length;
}

static void put_text(struct writer *writer, const char *text)
{
    put_bytes(writer, text, strlen(text));
}

/* A tab, and the field quoted as in the output of a scan. */
static void put_field(struct writer *writer, mcds_bytes field)
{
    const char *text = field.data != NULL ? field.data : "";
    put_text(writer, "\t");
    if (!needs_quotes(text, field.length)) {
        put_bytes(writer, text, field.length);
        return;
    }
    put_text(writer, "$'");
    for (size_t i = 0, taken; i < field.length; i += taken) {
        char quoted[QUOTED_CAPACITY];
        size_t length = quote_next(text + i, field.length - i, quoted, &taken);
        put_bytes(writer, quoted, length);
    }
    put_text(writer, "'");
}

static void put_number(struct writer *writer, uint64_t number)
{
    char text[NUMBER_TEXT];
    (void)snprintf(text, sizeof text, "%" PRIu64, number);
    put_field(writer, mcds_text(text));
}

/* Ends the line and writes it. */
static bool put_line(struct writer *writer)
{
    put_text(writer, "\n");
    if (writer->error != 0)
        return false;
    sum_add(writer->all, writer->line, writer->length);
    sum_add(writer->one, writer->line, writer->length);
    if (fwrite(writer->line, 1, writer->length, writer->file) != writer->length)
        fail(writer, errno != 0 ? errno : EIO);
    writer->length = 0;
    return writer->error == 0;
}

bool writer_open(struct writer *writer, FILE *file)
{
    memset(writer, 0, sizeof *writer);
    errno = 0;
    writer->file = file;
    writer->all = sum_new();
    writer->one = sum_new();
    if (writer->all == NULL || writer->one == NULL)
        fail(writer, ENOMEM);
    return writer->error == 0;
}

void writer_close(struct writer *writer)
{
    sum_free(writer->all);
    sum_free(writer->one);
    free(writer->line);
}

void writer_begin(struct writer *writer, const struct command *structure)
{
    writer->structure = structure;
    writer->has_begun = false;
    writer->here = 0;
}

/* Writes the first line, if it is not written yet. */
static void put_head(struct writer *writer)
{
    if (writer->structures + writer->omitted > 0)
        return;
    put_text(writer, WORD_HEAD);
    put_number(writer, DUMP_VERSION);
    (void)put_line(writer);
}

static void begin_structure(struct writer *writer)
{
    const struct command *structure = writer->structure;
    char option[OPTION_TEXT];
    int id = 0;
    put_head(writer);
    sum_begin(writer->one);
    put_text(writer, WORD_STRUCTURE);
    put_field(writer, mcds_text(structure->noun->word));
    put_field(writer, structure->bytes[0]);
    while (structure_option(structure, &id, option))
        put_field(writer, mcds_text(option));
    (void)put_line(writer);
    writer->has_begun = true;
    writer->structures++;
}

bool writer_element(struct writer *writer, const mcds_bytes *fields, size_t count)
{
    if (!writer->has_begun)
        begin_structure(writer);
    mcds_bytes last = fields[count - 1];
    while (last.length > PART_BYTES) {
        mcds_bytes part = {last.data, PART_BYTES};
        put_text(writer, WORD_PART);
        put_field(writer, part);
        if (!put_line(writer))
            return false;
        last.data = (const char *)last.data + PART_BYTES;
        last.length -= PART_BYTES;
    }
    put_text(writer, WORD_ELEMENT);
    for (size_t i = 0; i + 1 < count; i++)
        put_field(writer, fields[i]);
    put_field(writer, last);
    writer->here++;
    writer->elements++;
    return put_line(writer);
}

void writer_finish(struct writer *writer)
{
    char sum[SUM_TEXT];
    if (!writer->has_begun)
        begin_structure(writer);
    sum_write(writer->one, sum);
    put_text(writer, WORD_SUM);
    put_number(writer, writer->here);
    put_field(writer, mcds_text(sum));
    (void)put_line(writer);
}

void writer_omit(struct writer *writer, const char *noun, const char *name)
{
    put_head(writer);
    put_text(writer, WORD_OMITTED);
    put_field(writer, mcds_text(noun));
    put_field(writer, mcds_text(name));
    writer->omitted++;
    (void)put_line(writer);
}

bool writer_end(struct writer *writer)
{
    char sum[SUM_TEXT];
    sum_write(writer->all, sum);
    put_text(writer, WORD_END);
    put_number(writer, writer->structures);
    put_number(writer, writer->elements);
    put_number(writer, writer->omitted);
    put_field(writer, mcds_text(sum));
    if (put_line(writer) && fflush(writer->file) != 0)
        fail(writer, errno);
    return writer->error == 0;
}
