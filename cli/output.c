/* Plain lines and JSON objects on standard output, sentences on standard error. */
#include "output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SENTENCE_MAX 1024
/* Larger whole numbers do not survive a JavaScript program. */
#define JSON_INTEGER_MAX (INT64_C(1) << 53)

static void put(const char *text)
{
    (void)fputs(text, stdout);
}

/* Length of the UTF-8 character at `text`, or 0 when its bytes are none. */
static size_t utf8_length(const unsigned char *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = text[0] < 0x80 ? 1 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    if (length == 1)
        return 1;
    if (text[0] < 0xc2 || text[0] > 0xf4)
        return 0;
    uint32_t point = text[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (text[i] & 0x3fu);
    }
    bool fine = point >= least[length] && point <= 0x10ffff &&
                (point < 0xd800 || point > 0xdfff);
    return fine ? length : 0;
}

/* A JSON string. Bytes that are no UTF-8 become U+FFFD. */
static void put_json_string(const char *text)
{
    put("\"");
    const unsigned char *at = (const unsigned char *)text;
    while (*at != '\0') {
        size_t length = utf8_length(at);
        if (length == 0)
            put("\\ufffd");
        else if (*at == '"' || *at == '\\')
            (void)printf("\\%c", *at);
        else if (*at < 0x20 || *at == 0x7f)
            (void)printf("\\u%04x", *at);
        else
            (void)fwrite(at, 1, length, stdout);
        at += length > 0 ? length : 1;
    }
    put("\"");
}

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f;
}

static bool needs_quotes(const char *name)
{
    if (strncmp(name, "$'", 2) == 0)
        return true;
    for (; *name != '\0'; name++)
        if (is_control(*name))
            return true;
    return false;
}

static void put_name(const char *name)
{
    if (!needs_quotes(name)) {
        put(name);
        return;
    }
    put("$'");
    for (; *name != '\0'; name++) {
        if (*name == '\n')
            put("\\n");
        else if (*name == '\r')
            put("\\r");
        else if (*name == '\t')
            put("\\t");
        else if (is_control(*name))
            (void)printf("\\x%02x", (unsigned char)*name);
        else if (*name == '\'' || *name == '\\')
            (void)printf("\\%c", *name);
        else
            (void)putchar(*name);
    }
    put("'");
}

void output_begin(struct output *output)
{
    output->fields = 0;
    if (!output->json)
        return;
    put("{");
    if (output->line > 0)
        output_unsigned(output, "line", output->line, HIDDEN);
}

/* Put what stands before a field. False when the field is not to be printed. */
static bool begin_field(struct output *output, const char *key, enum show show)
{
    if (!output->json && show == HIDDEN)
        return false;
    if (output->fields++ > 0)
        put(output->json ? "," : "\t");
    if (output->json) {
        put_json_string(key);
        put(":");
    }
    return true;
}

void output_number(struct output *output, const char *key, int64_t number, enum show show)
{
    if (!begin_field(output, key, show))
        return;
    bool quoted = output->json && (number > JSON_INTEGER_MAX || number < -JSON_INTEGER_MAX);
    (void)printf(quoted ? "\"%" PRId64 "\"" : "%" PRId64, number);
}

void output_unsigned(struct output *output, const char *key, uint64_t number, enum show show)
{
    if (!begin_field(output, key, show))
        return;
    bool quoted = output->json && number > (uint64_t)JSON_INTEGER_MAX;
    (void)printf(quoted ? "\"%" PRIu64 "\"" : "%" PRIu64, number);
}

void output_real(struct output *output, const char *key, double number, enum show show)
{
    if (begin_field(output, key, show))
        (void)printf("%.3f", number);
}

void output_bool(struct output *output, const char *key, bool value, enum show show)
{
    if (begin_field(output, key, show))
        put(value ? "true" : "false");
}

void output_text(struct output *output, const char *key, const char *text, enum show show)
{
    output_name(output, key, text, show);
}

void output_name(struct output *output, const char *key, const char *name, enum show show)
{
    if (!begin_field(output, key, show))
        return;
    if (output->json)
        put_json_string(name);
    else
        put_name(name);
}

void output_word(struct output *output, const char *key, const char *word)
{
    output_text(output, key, word, output->quiet ? HIDDEN : SHOWN);
}

void output_end(struct output *output)
{
    if (output->json)
        put("}\n");
    else if (output->fields > 0)
        put("\n");
}

void output_print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
}

void complain(const struct output *output, const char *format, ...)
{
    char sentence[SENTENCE_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    char text[4 * SENTENCE_MAX + 64];
    size_t length = 0;
    if (output->line > 0)
        length = (size_t)snprintf(text, sizeof text, "mcds: line %lu: ", output->line);
    else
        length = (size_t)snprintf(text, sizeof text, "mcds: ");
    for (const char *at = sentence; *at != '\0'; at++) {
        if (is_control(*at))
            length += (size_t)snprintf(text + length, sizeof text - length, "\\x%02x",
                                       (unsigned char)*at);
        else
            text[length++] = *at;
    }
    text[length++] = '\n';
    (void)fwrite(text, 1, length, stderr);
}

bool output_flush(const struct output *output)
{
    bool had_failed = ferror(stdout) != 0;
    errno = 0;
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return true;
    if (!had_failed)
        complain(output, "standard output cannot be written: %s",
                 errno != 0 ? strerror(errno) : "an earlier write failed");
    return false;
}
