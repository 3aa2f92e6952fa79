/* Text of any bytes as a JSON string. */
#include "json.h"

#include <stdbool.h>

static bool is_tail(struct text text, size_t at)
{
    return at < text.length && ((uint8_t)text.at[at] & 0xc0) == 0x80;
}

/* The length of the UTF-8 sequence that begins at `at`, or 0 when it is none: cut short, longer
 * than needed, a surrogate, or past U+10FFFF. RFC 3629. */
static size_t sequence_length(struct text text, size_t at)
{
    uint8_t first = (uint8_t)text.at[at];
    uint8_t second = at + 1 < text.length ? (uint8_t)text.at[at + 1] : 0;
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first <= 0xdf)
        return is_tail(text, at + 1) ? 2 : 0;
    bool fine = is_tail(text, at + 1) && is_tail(text, at + 2);
    if (first >= 0xe0 && first <= 0xef)
        return fine && !(first == 0xe0 && second < 0xa0) && !(first == 0xed && second > 0x9f)
                   ? 3
                   : 0;
    fine = fine && is_tail(text, at + 3);
    if (first >= 0xf0 && first <= 0xf4)
        return fine && !(first == 0xf0 && second < 0x90) && !(first == 0xf4 && second > 0x8f)
                   ? 4
                   : 0;
    return 0;
}

void json_string(FILE *out, struct text text)
{
    (void)fputc('"', out);
    size_t at = 0;
    while (at < text.length) {
        uint8_t byte = (uint8_t)text.at[at];
        size_t length = sequence_length(text, at);
        if (length == 0)
            (void)fprintf(out, "\\udc%02x", byte);
        else if (byte == '"' || byte == '\\')
            (void)fprintf(out, "\\%c", byte);
        else if (byte < 0x20 || byte == 0x7f)
            (void)fprintf(out, "\\u%04x", byte);
        else
            (void)fwrite(text.at + at, 1, length, out);
        at += length > 0 ? length : 1;
    }
    (void)fputc('"', out);
}
