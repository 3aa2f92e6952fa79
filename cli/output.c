/* Plain lines and JSON objects on standard output, sentences on standard error. */
#include "output.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SENTENCE_MAX 1024
/* Larger whole numbers do not survive a JavaScript program. */
#define JSON_INTEGER_MAX (INT64_C(1) << 53)

static void put(const struct output *output, const char *text)
{
    (void)fputs(text, output->file);
}

/* Length of the UTF-8 character at the beginning of `there` bytes, or 0 when they are none. */
static size_t utf8_length(const unsigned char *text, size_t there)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = text[0] < 0x80 ? 1 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    if (length == 1)
        return 1;
    if (text[0] < 0xc2 || text[0] > 0xf4 || length > there)
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

/* A JSON string. Bytes that are no UTF-8 become U+FFFD; true when there was one. */
static bool put_json_string(const struct output *output, mcds_bytes bytes)
{
    bool is_lossy = false;
    const unsigned char *at = bytes.at;
    const unsigned char *end = at + bytes.length;
    put(output, "\"");
    while (at < end) {
        size_t length = utf8_length(at, (size_t)(end - at));
        is_lossy = is_lossy || length == 0;
        if (length == 0)
            put(output, "\\ufffd");
        else if (*at == '"' || *at == '\\')
            (void)fprintf(output->file, "\\%c", *at);
        else if (*at < 0x20 || *at == 0x7f)
            (void)fprintf(output->file, "\\u%04x", *at);
        else
            (void)fwrite(at, 1, length, output->file);
        at += length > 0 ? length : 1;
    }
    put(output, "\"");
    return is_lossy;
}

static void put_base64(const struct output *output, mcds_bytes bytes)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = bytes.at;
    for (size_t left = bytes.length; left > 0;) {
        size_t taken = left < 3 ? left : 3;
        uint32_t three = (uint32_t)at[0] << 16;
        three |= taken > 1 ? (uint32_t)at[1] << 8 : 0;
        three |= taken > 2 ? at[2] : 0;
        for (size_t i = 0; i < 4; i++)
            (void)putc(i <= taken ? digits[three >> (18 - 6 * i) & 63] : '=', output->file);
        at += taken;
        left -= taken;
    }
}

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f;
}

static bool needs_quotes(const char *text, size_t length)
{
    if (length >= 2 && text[0] == '$' && text[1] == '\'')
        return true;
    for (size_t i = 0; i < length; i++)
        if (is_control(text[i]))
            return true;
    return false;
}

static void put_plain(const struct output *output, mcds_bytes bytes)
{
    const char *text = bytes.at;
    if (!needs_quotes(text, bytes.length)) {
        (void)fwrite(text, 1, bytes.length, output->file);
        return;
    }
    put(output, "$'");
    for (size_t i = 0; i < bytes.length; i++) {
        if (text[i] == '\n')
            put(output, "\\n");
        else if (text[i] == '\r')
            put(output, "\\r");
        else if (text[i] == '\t')
            put(output, "\\t");
        else if (is_control(text[i]))
            (void)fprintf(output->file, "\\x%02x", (unsigned char)text[i]);
        else if (text[i] == '\'' || text[i] == '\\')
            (void)fprintf(output->file, "\\%c", text[i]);
        else
            (void)putc(text[i], output->file);
    }
    put(output, "'");
}

void output_begin(struct output *output)
{
    if (!output->in_one_line || output->json)
        output->fields = 0;
    if (!output->json)
        return;
    put(output, output->in_one_line && output->results > 0 ? ",{" : "{");
    if (output->line > 0)
        output_unsigned(output, "line", output->line, HIDDEN);
}

/* Put what stands before a field. False when the field is not to be printed. */
static bool begin_field(struct output *output, const char *key, enum show show)
{
    if (!output->json && show == HIDDEN)
        return false;
    if (output->fields++ > 0)
        put(output, output->json ? "," : "\t");
    if (output->json)
        (void)fprintf(output->file, "\"%s\":", key);
    return true;
}

void output_number(struct output *output, const char *key, int64_t number, enum show show)
{
    if (!begin_field(output, key, show))
        return;
    bool quoted = output->json && (number > JSON_INTEGER_MAX || number < -JSON_INTEGER_MAX);
    (void)fprintf(output->file, quoted ? "\"%" PRId64 "\"" : "%" PRId64, number);
}

void output_unsigned(struct output *output, const char *key, uint64_t number, enum show show)
{
    if (!begin_field(output, key, show))
        return;
    bool quoted = output->json && number > (uint64_t)JSON_INTEGER_MAX;
    (void)fprintf(output->file, quoted ? "\"%" PRIu64 "\"" : "%" PRIu64, number);
}

void output_real(struct output *output, const char *key, double number, enum show show)
{
    if (begin_field(output, key, show))
        (void)fprintf(output->file, "%.3f", number);
}

void output_bool(struct output *output, const char *key, bool value, enum show show)
{
    if (begin_field(output, key, show))
        put(output, value ? "true" : "false");
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
        (void)put_json_string(output, mcds_text(name));
    else
        put_plain(output, mcds_text(name));
}

void output_bytes(struct output *output, const char *key, mcds_bytes bytes, enum show show)
{
    if (!begin_field(output, key, show))
        return;
    if (bytes.at == NULL)
        bytes.at = "";
    if (!output->json) {
        put_plain(output, bytes);
    } else if (put_json_string(output, bytes)) {
        (void)fprintf(output->file, ",\"%s_base64\":\"", key);
        put_base64(output, bytes);
        put(output, "\"");
    }
}

void output_raw(struct output *output, mcds_bytes bytes)
{
    if (bytes.length > 0)
        (void)fwrite(bytes.at, 1, bytes.length, output->file);
}

void output_copy(struct output *output, const char *key, const char *printed)
{
    if (begin_field(output, key, SHOWN))
        put(output, printed);
}

void output_word(struct output *output, const char *key, const char *word)
{
    output_text(output, key, word, output->quiet ? HIDDEN : SHOWN);
}

void output_end(struct output *output)
{
    output->results++;
    if (output->json)
        put(output, output->in_one_line ? "}" : "}\n");
    else if (output->fields > 0 && !output->in_one_line)
        put(output, "\n");
    if (output->error == 0 && ferror(output->file) != 0)
        output->error = errno;
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

bool output_flush(struct output *output)
{
    errno = 0;
    bool is_flushed = fflush(output->file) == 0;
    if (output->error == 0 && !is_flushed)
        output->error = errno;
    if (is_flushed && ferror(output->file) == 0)
        return true;
    bool is_cut = output->may_be_cut && output->error == EPIPE;
    if (!output->is_error_told && !is_cut)
        complain(output, "standard output cannot be written: %s",
                 output->error != 0 ? strerror(output->error) : "an earlier write failed");
    output->is_error_told = true;
    return false;
}

bool output_is_fine(const struct output *output)
{
    return ferror(output->file) == 0;
}

bool output_is_read(void)
{
    struct pollfd reader = {STDOUT_FILENO, 0, 0};
    return poll(&reader, 1, 0) <= 0 || (reader.revents & (POLLERR | POLLNVAL)) == 0;
}
