/* Quoting of names and values for output. */
#include "io/quote.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

size_t utf8_length(const char *text, size_t there)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    size_t length = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    if (length == 1)
        return 1;
    if (at[0] < 0xc2 || at[0] > 0xf4 || length > there)
        return 0;
    uint32_t point = at[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (at[i] & 0x3fu);
    }
    bool fine = point >= least[length] && point <= 0x10ffff &&
                (point < 0xd800 || point > 0xdfff);
    return fine ? length : 0;
}

/* Of a character that UTF-8 writes in two or three bytes. */
static bool misleads(uint32_t point)
{
    return (point >= 0x80 && point <= 0x9f) ||     /* control characters of 8 bits */
           point == 0x061c ||                      /* the direction of text */
           point == 0x200e || point == 0x200f ||   /* the same */
           (point >= 0x2028 && point <= 0x202e) || /* ends of lines, and the direction */
           (point >= 0x2066 && point <= 0x2069);   /* the direction */
}

size_t control_length(const char *text, size_t there)
{
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] < 0x80)
        return at[0] < 0x20 || at[0] == 0x7f ? 1 : 0;
    size_t length = utf8_length(text, there);
    if (length == 0)
        return at[0] <= 0x9f ? 1 : 0;
    if (length == 2)
        return misleads((at[0] & 0x1fu) << 6 | (at[1] & 0x3fu)) ? 2 : 0;
    if (length == 3)
        return misleads((at[0] & 0xfu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu)) ? 3 : 0;
    return 0;
}

/* An invalid character counts as one byte. */
static size_t step_length(const char *text, size_t there)
{
    size_t length = utf8_length(text, there);
    return length > 0 ? length : 1;
}

bool needs_quotes(const char *text, size_t length)
{
    if (length >= 2 && text[0] == '$' && text[1] == '\'')
        return true;
    for (size_t i = 0; i < length; i += step_length(text + i, length - i))
        if (control_length(text + i, length - i) > 0)
            return true;
    return false;
}

size_t quote_next(const char *text, size_t there, char out[QUOTED_CAPACITY], size_t *taken)
{
    static const char letters[] = "nrt'\\";
    static const char meanings[] = "\n\r\t'\\";
    const char *meaning = strchr(meanings, text[0]);
    if (meaning != NULL && text[0] != '\0') {
        out[0] = '\\';
        out[1] = letters[meaning - meanings];
        *taken = 1;
        return 2;
    }
    size_t hidden = control_length(text, there);
    *taken = hidden > 0 ? hidden : step_length(text, there);
    if (hidden == 0) {
        memcpy(out, text, *taken);
        return *taken;
    }
    size_t length = 0;
    for (size_t i = 0; i < hidden; i++)
        length += (size_t)snprintf(out + length, QUOTED_CAPACITY - length, "\\x%02x",
                                   (unsigned char)text[i]);
    return length;
}

size_t quote_next_ascii(const char *text, size_t there, char out[QUOTED_CAPACITY],
                        size_t *taken)
{
    unsigned char byte = (unsigned char)text[0];
    if (byte < 0x80)
        return quote_next(text, there, out, taken);
    *taken = 1;
    return (size_t)snprintf(out, QUOTED_CAPACITY, "\\x%02x", byte);
}
