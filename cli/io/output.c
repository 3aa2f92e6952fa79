/* Plain lines and JSON objects on standard output, sentences on standard error. */
#include "io/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/quote.h"
#include "terminal/progress.h"
#include "terminal/terminal.h"

#define SENTENCE_MAX 2048
/* Larger whole numbers do not survive a JavaScript program. */
#define JSON_INTEGER_MAX (INT64_C(1) << 53)

bool json_needs_quotes(uint64_t number)
{
    return number > (uint64_t)JSON_INTEGER_MAX;
}

static void put(const struct output *output, const char *text)
{
    (void)fputs(text, output->file);
}

/* A character that a terminal would act on, of one to three bytes, in JSON. */
static void put_json_escape(const struct output *output, const unsigned char *at, size_t length)
{
    unsigned point = at[0];
    if (length > 1)
        point &= length == 2 ? 0x1fu : 0xfu;
    for (size_t i = 1; i < length; i++)
        point = point << 6 | (at[i] & 0x3fu);
    (void)fprintf(output->file, "\\u%04x", point);
}

/* A JSON string. Bytes that are no UTF-8 become U+FFFD; true when there was one. */
static bool put_json_string(const struct output *output, mcds_bytes bytes)
{
    bool is_lossy = false;
    const char *at = bytes.data;
    const char *end = at + bytes.length;
    put(output, "\"");
    while (at < end) {
        size_t length = utf8_length(at, (size_t)(end - at));
        is_lossy = is_lossy || length == 0;
        if (length == 0)
            put(output, "\\ufffd");
        else if (*at == '"' || *at == '\\')
            (void)fprintf(output->file, "\\%c", *at);
        else if (control_length(at, (size_t)(end - at)) > 0)
            put_json_escape(output, (const unsigned char *)at, length);
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
    const unsigned char *at = bytes.data;
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

static bool is_all_ascii(mcds_bytes bytes)
{
    const unsigned char *at = bytes.data;
    size_t i = 0;
    while (i < bytes.length && at[i] < 0x80)
        i++;
    return i == bytes.length;
}

static void put_plain(const struct output *output, mcds_bytes bytes)
{
    const char *text = bytes.data;
    bool is_strange = output->ascii && !is_all_ascii(bytes);
    if (output->raw || (!is_strange && !needs_quotes(text, bytes.length))) {
        (void)fwrite(text, 1, bytes.length, output->file);
        return;
    }
    put(output, "$'");
    for (size_t i = 0, taken; i < bytes.length; i += taken) {
        char quoted[QUOTED_CAPACITY];
        size_t length = output->ascii
                            ? quote_next_ascii(text + i, bytes.length - i, quoted, &taken)
                            : quote_next(text + i, bytes.length - i, quoted, &taken);
        (void)fwrite(quoted, 1, length, output->file);
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

/* Prints the separator and key before a field. False when the field is not to be printed. */
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
    bool quoted = output->json && json_needs_quotes(number);
    (void)fprintf(output->file, quoted ? "\"%" PRIu64 "\"" : "%" PRIu64, number);
}

void output_rounded(struct output *output, const char *key, double number, enum show show)
{
    bool fits = number >= 0 && number < (double)UINT64_MAX;
    output_unsigned(output, key, fits ? (uint64_t)(number + 0.5) : UINT64_MAX, show);
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
    if (!begin_field(output, key, show))
        return;
    if (output->json)
        (void)put_json_string(output, mcds_text(text));
    else
        put_plain(output, mcds_text(text));
}

void output_name(struct output *output, const char *key, const char *name, enum show show)
{
    output_bytes(output, key, mcds_text(name), show);
}

void output_bytes(struct output *output, const char *key, mcds_bytes bytes, enum show show)
{
    if (!begin_field(output, key, show))
        return;
    if (bytes.data == NULL)
        bytes.data = "";
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
    bool is_written = bytes.length == 0 ||
                      fwrite(bytes.data, 1, bytes.length, output->file) == bytes.length;
    if (!is_written && output->error == 0)
        output->error = errno;
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
    if (output->columns != NULL && output->fields > 0)
        columns_take(output->columns);
    if (output->error == 0 && ferror(output->file) != 0)
        output->error = errno;
}

static int print_error; /* errno of the first output_print that failed */

void output_print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    errno = 0;
    if (vprintf(format, arguments) < 0 && print_error == 0)
        print_error = errno;
    va_end(arguments);
}

size_t make_visible(const char *text, bool ascii, char *out)
{
    size_t length = strlen(text);
    size_t written = 0;
    for (size_t i = 0; i < length;) {
        size_t character = utf8_length(text + i, length - i);
        bool is_hidden = character == 0 || (ascii && character > 1) ||
                         control_length(text + i, length - i) > 0;
        for (size_t end = i + (character > 0 ? character : 1); i < end; i++)
            if (is_hidden)
                written += (size_t)snprintf(out + written, sizeof "\\xHH", "\\x%02x",
                                            (unsigned char)text[i]);
            else
                out[written++] = text[i];
    }
    out[written] = '\0';
    return written;
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
    unsigned long line = output->line > 0 ? output->line : output->script_line;
    if (line > 0)
        length = (size_t)snprintf(text, sizeof text, "mcds: line %lu: ", line);
    else
        length = (size_t)snprintf(text, sizeof text, "mcds: ");
    length += make_visible(sentence, is_ascii_terminal(STDERR_FILENO), text + length);
    text[length++] = '\n';
    progress_clear();
    (void)fwrite(text, 1, length, stderr);
}

bool output_may_begin(struct output *output)
{
    struct stat status;
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    errno = flags >= 0 && (flags & O_ACCMODE) == O_RDONLY ? EBADF : errno;
    bool is_writable = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
    if (is_writable && fstat(STDOUT_FILENO, &status) == 0 && S_ISCHR(status.st_mode))
        is_writable = write(STDOUT_FILENO, "", 0) == 0; /* /dev/full refuses even that */
    if (!is_writable) {
        complain(output, "standard output cannot be written: %s; nothing was done",
                 strerror(errno));
        output->is_error_told = true;
    }
    return is_writable;
}

/* The facts that the user needs before repeating a command whose output was lost. */
static void write_changes(const struct output *output, char out[64])
{
    out[0] = '\0';
    if (output->changes == 1)
        (void)snprintf(out, 64, "; the change was made");
    else if (output->changes > 1)
        (void)snprintf(out, 64, "; %" PRIu64 " changes were made", output->changes);
}

bool output_pass_on(struct output *output)
{
    if (output->error == 0 && output->file == stdout)
        output->error = print_error;
    errno = 0;
    bool is_flushed = fflush(output->file) == 0;
    if (output->error == 0 && !is_flushed)
        output->error = errno;
    return is_flushed && ferror(output->file) == 0;
}

bool output_flush(struct output *output)
{
    if (output_pass_on(output))
        return true;
    char changes[64];
    write_changes(output, changes);
    /* A reader that has closed the pipe needs no sentence. */
    if (!output->is_error_told && (output->error != EPIPE || output->changes > 0))
        complain(output, "standard output cannot be written: %s%s",
                 output->error != 0 ? strerror(output->error) : "an earlier write failed",
                 changes);
    output->is_error_told = true;
    return false;
}

bool output_is_fine(const struct output *output)
{
    return ferror(output->file) == 0 && (output->columns == NULL || ferror(stdout) == 0);
}

bool output_is_read(int wait_ms)
{
    struct pollfd reader = {STDOUT_FILENO, 0, 0};
    return poll(&reader, 1, wait_ms) <= 0 || (reader.revents & (POLLERR | POLLNVAL)) == 0;
}

bool write_whole(int fd, const void *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t written = write(fd, (const char *)bytes + done, length - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        done += (size_t)written;
    }
    return true;
}
