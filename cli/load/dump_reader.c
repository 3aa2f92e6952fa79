/* Dump reader: a line at a time. Memory is bounded by one line and one value, whatever the file
 * holds. */
#include "load/dump_reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dump/structure.h"
#include "io/exit.h"
#include "parse/shell_words.h"
#include "parse/values.h"
#include "queue/queue.h"
#include "table/commands.h"
#include "table/nouns.h"

#define PARTS_FIRST 65536
/* Times from it on do not fit into a clock of nanoseconds. */
#define TIME_MAX_MS INT64_C(9000000000000)
#define EVENT_TIME_MAX_MS (INT64_C(1) << 47) /* as mcds_log_put */
#define JOB_TRIES_MAX 65535

bool dump_reader_open(struct dump_reader *reader, const struct noun *nouns, int fd,
                      const char *path)
{
    memset(reader, 0, sizeof *reader);
    reader->nouns = nouns;
    reader->path = path;
    reader->fd = fd;
    reader->begin = lseek(fd, 0, SEEK_CUR);
    lines_open(&reader->lines, DUMP_LINE_MAX);
    reader->all = sum_new();
    reader->one = sum_new();
    dump_reader_rewind(reader);
    return reader->all != NULL && reader->one != NULL;
}

void dump_reader_close(struct dump_reader *reader)
{
    lines_close(&reader->lines);
    sum_free(reader->all);
    sum_free(reader->one);
    free(reader->parts);
}

void dump_reader_rewind(struct dump_reader *reader)
{
    lines_close(&reader->lines);
    lines_open(&reader->lines, DUMP_LINE_MAX);
    reader->lines.fd = reader->fd;
    (void)lseek(reader->fd, reader->begin, SEEK_SET);
    reader->line = 0;
    reader->is_within = false;
    reader->noun_before = NULL;
    reader->structures = reader->elements = reader->omitted = 0;
    reader->parts_length = 0;
    if (reader->all != NULL)
        sum_begin(reader->all);
}

static enum record bad(struct dump_reader *reader, int status, const char *format, ...)
    MCDS_PRINTF(3, 4);

/* The fault of the line that was read last. */
static enum record bad(struct dump_reader *reader, int status, const char *format, ...)
{
    char what[SENTENCE_MAX / 2];
    char line[32] = "";
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    reader->status = status;
    if (reader->line > 0)
        (void)snprintf(line, sizeof line, "line %lu: ", reader->line);
    (void)snprintf(reader->sentence, sizeof reader->sentence, "%.200s: %s%s", reader->path,
                   line, what);
    return RECORD_BAD;
}

static enum record damaged(struct dump_reader *reader, const char *what)
{
    return bad(reader, STATUS_DATA, "%s; the dump is damaged: copy or make it again", what);
}

/* Cuts the line at its tabs and unquotes the fields. */
static bool split(struct dump_reader *reader, char *line, size_t length)
{
    char *end = line + length;
    reader->field_count = 0;
    for (char *at = line;;) {
        char *tab = memchr(at, '\t', (size_t)(end - at));
        char *field_end = tab != NULL ? tab : end;
        if (reader->field_count == FIELDS_MAX)
            return false;
        *field_end = '\0';
        size_t bytes = (size_t)(field_end - at);
        if (!unquote_field(at, &bytes))
            return false;
        reader->fields[reader->field_count] = at;
        reader->lengths[reader->field_count++] = bytes;
        if (tab == NULL)
            return true;
        at = tab + 1;
    }
}

/* A field that is text: without a NUL. */
static bool is_text(const struct dump_reader *reader, size_t i)
{
    return strlen(reader->fields[i]) == reader->lengths[i];
}

static bool has_number(const struct dump_reader *reader, size_t i, uint64_t number)
{
    uint64_t found;
    return i < reader->field_count && is_text(reader, i) &&
           parse_whole(reader->fields[i], &found) && found == number;
}

static bool has_sum(const struct dump_reader *reader, size_t i, const struct sum *sum)
{
    char text[SUM_TEXT];
    sum_write(sum, text);
    return i < reader->field_count && reader->lengths[i] == SUM_TEXT - 1 &&
           memcmp(reader->fields[i], text, SUM_TEXT) == 0;
}

/* By noun and name, so that no structure comes twice. */
static bool is_in_order(const struct dump_reader *reader)
{
    if (reader->noun_before == NULL)
        return true;
    int order = strcmp(reader->noun_before->word, reader->structure.noun->word);
    return order < 0 || (order == 0 && strcmp(reader->name_before, reader->name) < 0);
}

static enum record take_structure(struct dump_reader *reader)
{
    if (reader->is_within)
        return damaged(reader, "the structure before has no end");
    const struct noun *noun = reader->field_count > 2 && is_text(reader, 1)
                                  ? find_noun(reader->nouns, reader->fields[1])
                                  : NULL;
    if (noun == NULL || !is_dumped(noun))
        return damaged(reader, "not a noun that a dump can have");
    if (reader->lengths[2] < 1 || reader->lengths[2] > ELEMENT_MAX || !is_text(reader, 2))
        return damaged(reader, "not a name");
    memcpy(reader->name_before, reader->name, sizeof reader->name);
    memcpy(reader->name, reader->fields[2], reader->lengths[2] + 1);
    structure_describe(&reader->structure, noun, reader->name);
    for (size_t i = 3; i < reader->field_count; i++)
        if (!is_text(reader, i) ||
            !structure_take_option(&reader->structure, reader->fields[i]))
            return bad(reader, STATUS_DATA,
                       "no option of this version of mcds: '%.60s'; a newer one made the dump, "
                       "or it is damaged",
                       reader->fields[i]);
    if (!is_in_order(reader))
        return damaged(reader, "the structures are not in order");
    if (noun->open == queue_open && reader->may_lose)
        structure_give(&reader->structure, OPTION_MAY_LOSE, 0);
    reader->noun_before = noun;
    reader->is_within = true;
    reader->here = 0;
    return RECORD_STRUCTURE;
}

/* Appends a field to the parts. */
static bool keep_part(struct dump_reader *reader, size_t field)
{
    size_t length = reader->lengths[field];
    size_t needed = reader->parts_length + length;
    if (needed > reader->parts_capacity) {
        size_t capacity = needed + needed / 2 + PARTS_FIRST;
        char *parts = realloc(reader->parts, capacity);
        if (parts == NULL)
            return false;
        reader->parts = parts;
        reader->parts_capacity = capacity;
    }
    if (length > 0)
        memcpy(reader->parts + reader->parts_length, reader->fields[field], length);
    reader->parts_length = needed;
    return true;
}

static bool take_signed(const struct dump_reader *reader, size_t field, int64_t *out)
{
    return is_text(reader, field) && parse_signed(reader->fields[field], out);
}

static bool take_time(const struct dump_reader *reader, size_t field, int64_t *out)
{
    return take_signed(reader, field, out) && *out >= 0 && *out < TIME_MAX_MS;
}

/* A job that is waiting or dead has no time. */
static bool take_job(struct dump_reader *reader)
{
    struct element *element = &reader->element;
    if (reader->field_count != 5 || !is_text(reader, 1) ||
        !job_state_of(reader->fields[1], &element->state))
        return false;
    bool is_later = element->state == MCDS_JOB_DELAYED || element->state == MCDS_JOB_CLAIMED;
    bool was_claimed = element->state == MCDS_JOB_CLAIMED || element->state == MCDS_JOB_DEAD;
    return take_signed(reader, 2, &element->number) && element->number >= was_claimed &&
           element->number <= JOB_TRIES_MAX && take_time(reader, 3, &element->due_ms) &&
           (element->due_ms > 0) == is_later;
}

/* The numbers and the key before the last field; false: the noun has others. */
static bool take_fields(struct dump_reader *reader, bool *has_bytes_out)
{
    const struct noun *noun = reader->structure.noun;
    struct element *element = &reader->element;
    bool is_bag = noun->open == set_open && is_given(&reader->structure, OPTION_BAG);
    memset(element, 0, sizeof *element);
    *has_bytes_out = noun->open != counter_open;
    if (noun->open == semaphore_open)
        return false;
    if (noun->open == counter_open)
        return reader->field_count == 2 && reader->here == 0 &&
               take_signed(reader, 1, &element->number) && element->number < MCDS_COUNTER_MAX &&
               element->number > -MCDS_COUNTER_MAX;
    if (is_bag)
        return reader->field_count == 3 && take_signed(reader, 1, &element->number) &&
               element->number > 0;
    if (noun->open == log_open)
        return reader->field_count == 4 && take_signed(reader, 1, &element->number) &&
               take_time(reader, 2, &element->filed_ms) && element->number > 0 &&
               element->number < EVENT_TIME_MAX_MS && element->filed_ms > 0;
    if (noun->open == queue_open)
        return take_job(reader);
    if (noun->open != table_open)
        return reader->field_count == 2;
    if (reader->field_count != 3 || reader->lengths[1] < 1 || reader->lengths[1] > ELEMENT_MAX)
        return false;
    element->key = (mcds_bytes){reader->fields[1], reader->lengths[1]};
    return true;
}

static enum record take_element(struct dump_reader *reader)
{
    bool has_bytes;
    struct element *element = &reader->element;
    if (!reader->is_within)
        return damaged(reader, "an element of no structure");
    if (!take_fields(reader, &has_bytes))
        return damaged(reader, "not the fields that the noun has");
    size_t last = reader->field_count - 1;
    if (has_bytes)
        element->bytes = (mcds_bytes){reader->fields[last], reader->lengths[last]};
    if (has_bytes && reader->parts_length > 0) {
        if (!keep_part(reader, last))
            return bad(reader, STATUS_INTERNAL, "out of memory");
        element->bytes = (mcds_bytes){reader->parts, reader->parts_length};
    }
    if (element->bytes.length > VALUE_MAX)
        return damaged(reader, "a value of more than 64 MB");
    if (reader->structure.noun->open == set_open &&
        (element->bytes.length < 1 || element->bytes.length > ELEMENT_MAX))
        return damaged(reader, "an element that is empty or longer than 1024 bytes");
    if (reader->structure.noun->open == queue_open &&
        element->bytes.length > MCDS_QUEUE_JOB_MAX)
        return damaged(reader, "a job of more than 64 KB");
    reader->parts_length = 0;
    reader->here++;
    reader->elements++;
    return RECORD_ELEMENT;
}

static enum record take_sum(struct dump_reader *reader)
{
    if (!reader->is_within || reader->field_count != 3)
        return damaged(reader, "the end of no structure");
    if (!has_number(reader, 1, reader->here))
        return damaged(reader, "another number of elements than the lines before have");
    if (!has_sum(reader, 2, reader->one))
        return damaged(reader, "the checksum is not that of the lines of the structure");
    if (reader->structure.noun->open == counter_open && reader->here != 1)
        return damaged(reader, "a counter without a value");
    if (reader->structure.noun->open == semaphore_open &&
        !is_given(&reader->structure, OPTION_PERMITS))
        return damaged(reader, "a semaphore without its permits");
    reader->is_within = false;
    reader->structures++;
    return RECORD_SUM;
}

static enum record take_end(struct dump_reader *reader)
{
    if (reader->is_within || reader->field_count != 5)
        return damaged(reader, "an end where there is none");
    if (!has_number(reader, 1, reader->structures) ||
        !has_number(reader, 2, reader->elements) || !has_number(reader, 3, reader->omitted))
        return damaged(reader, "other numbers than the lines before have");
    if (!has_sum(reader, 4, reader->all))
        return damaged(reader, "the checksum is not that of the lines before");
    memcpy(reader->end_sum, reader->fields[4], SUM_TEXT);
    return RECORD_END;
}

/* The next line; LINE_OVER also where it cannot be read, with lines.error set. */
static enum line read_line(struct dump_reader *reader, char **line_out, size_t *length_out)
{
    enum line kind = lines_next(&reader->lines, line_out, length_out);
    while (kind == LINE_NONE) {
        lines_read(&reader->lines);
        kind = lines_next(&reader->lines, line_out, length_out);
    }
    return reader->lines.error != 0 ? LINE_OVER : kind;
}

static enum record take_head(struct dump_reader *reader)
{
    if (reader->field_count < 2 || strcmp(reader->fields[0], WORD_HEAD) != 0)
        return bad(
            reader, STATUS_DATA,
            "not a dump: 'mcds dump' makes one, and its first line begins with " WORD_HEAD);
    if (!has_number(reader, 1, DUMP_VERSION))
        return bad(reader, STATUS_DATA,
                   "a dump of format %.20s, which this version of mcds does not know; use the "
                   "version that made it, or a newer one",
                   reader->fields[1]);
    return RECORD_END;
}

static enum record not_whole(struct dump_reader *reader)
{
    if (reader->lines.error != 0)
        return bad(reader, STATUS_IO, "the next line cannot be read: %s",
                   strerror(reader->lines.error));
    if (reader->line == 0)
        return bad(reader, STATUS_DATA,
                   "the input is empty; 'mcds dump' makes a dump, which is never empty");
    return bad(
        reader, STATUS_DATA,
        "the file ends here, without the line of the end: a part of the dump is missing; "
        "copy or make it again");
}

/* After the last line there must be nothing. */
static enum record check_rest(struct dump_reader *reader)
{
    char *line;
    size_t length;
    if (read_line(reader, &line, &length) == LINE_OVER)
        return reader->lines.error == 0 ? RECORD_END : not_whole(reader);
    reader->line++;
    return damaged(reader, "something follows the end");
}

static enum record take_record(struct dump_reader *reader)
{
    const char *word = reader->fields[0];
    if (strcmp(word, WORD_ELEMENT) == 0)
        return take_element(reader);
    if (reader->parts_length > 0)
        return damaged(reader, "the beginning of a value has no end");
    if (strcmp(word, WORD_STRUCTURE) == 0)
        return take_structure(reader);
    if (strcmp(word, WORD_SUM) == 0)
        return take_sum(reader);
    return strcmp(word, WORD_END) == 0 ? take_end(reader)
                                       : damaged(reader, "not a line of a dump");
}

static void add_to_sum(struct sum *sum, const char *line, size_t length)
{
    sum_add(sum, line, length);
    sum_add(sum, "\n", 1);
}

/* Reads and adds up a line. RECORD_END: its fields are there. */
static enum record next_line(struct dump_reader *reader)
{
    char *line = NULL;
    size_t length = 0;
    enum line kind = read_line(reader, &line, &length);
    if (kind == LINE_OVER)
        return not_whole(reader);
    reader->line++;
    if (kind == LINE_TOO_LONG)
        return damaged(reader, "longer than any line of a dump");
    /* A structure's sum begins with its first line. No line with a sum is in it. */
    if (strncmp(line, WORD_STRUCTURE "\t", sizeof WORD_STRUCTURE) == 0)
        sum_begin(reader->one);
    if (strncmp(line, WORD_SUM "\t", sizeof WORD_SUM) != 0)
        add_to_sum(reader->one, line, length);
    if (strncmp(line, WORD_END "\t", sizeof WORD_END) != 0)
        add_to_sum(reader->all, line, length);
    if (!split(reader, line, length))
        return damaged(reader, "more fields than a line of a dump has");
    return RECORD_END;
}

enum record dump_reader_next(struct dump_reader *reader)
{
    for (;;) {
        enum record record = next_line(reader);
        if (record == RECORD_END && reader->line == 1) {
            record = take_head(reader);
            if (record == RECORD_END)
                continue;
        }
        if (record == RECORD_BAD)
            return record;
        if (strcmp(reader->fields[0], WORD_PART) == 0 && reader->is_within) {
            if (reader->field_count != 2 ||
                reader->parts_length + reader->lengths[1] > VALUE_MAX)
                return damaged(reader, "not a part of a value of at most 64 MB");
            if (!keep_part(reader, 1))
                return bad(reader, STATUS_INTERNAL, "out of memory");
            continue;
        }
        if (strcmp(reader->fields[0], WORD_OMITTED) == 0 && !reader->is_within) {
            reader->omitted++;
            continue;
        }
        record = take_record(reader);
        return record == RECORD_END ? check_rest(reader) : record;
    }
}
