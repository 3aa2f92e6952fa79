/* Width: the columns of a terminal that a text occupies. The tables are those of wcwidth(3), shortened:
 * wcwidth itself needs a locale of UTF-8. */
#include "terminal/width.h"

#include <stdint.h>

#include "io/quote.h"

#define ESCAPE_MAX 4 /* bytes of \x1b */

struct range {
    uint32_t first;
    uint32_t last;
};

static const struct range combining[] = {
    {0x300, 0x36f},   {0x483, 0x489},     {0x591, 0x5bd},     {0x610, 0x61a},
    {0x64b, 0x65f},   {0x6d6, 0x6dc},     {0x900, 0x902},     {0x93c, 0x93c},
    {0x941, 0x948},   {0x94d, 0x94d},     {0xe31, 0xe31},     {0xe34, 0xe3a},
    {0xe47, 0xe4e},   {0x1ab0, 0x1aff},   {0x1dc0, 0x1dff},   {0x200b, 0x200d},
    {0x2060, 0x2064}, {0x20d0, 0x20f0},   {0xfe00, 0xfe0f},   {0xfe20, 0xfe2f},
    {0xfeff, 0xfeff}, {0x1f3fb, 0x1f3ff}, {0xe0001, 0xe007f}, {0xe0100, 0xe01ef},
};

static const struct range wide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x25fd, 0x25fe},
    {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26a1, 0x26a1},   {0x26bd, 0x26be},
    {0x26d4, 0x26d4},   {0x2705, 0x2705},   {0x274c, 0x274c},   {0x2753, 0x2755},
    {0x2795, 0x2797},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2e80, 0x303e},
    {0x3041, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f004, 0x1f004},
    {0x1f18e, 0x1f19a}, {0x1f200, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f7e0, 0x1f7eb},
    {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};

/* The tables are in order. */
static int is_in(const struct range *ranges, size_t count, uint32_t point)
{
    for (size_t i = 0; i < count && ranges[i].first <= point; i++)
        if (point <= ranges[i].last)
            return 1;
    return 0;
}

static size_t width_of(const unsigned char *at, size_t length)
{
    if (length < 2)
        return 1;
    uint32_t point = at[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++)
        point = point << 6 | (at[i] & 0x3fu);
    if (is_in(combining, sizeof combining / sizeof combining[0], point))
        return 0;
    return is_in(wide, sizeof wide / sizeof wide[0], point) ? 2 : 1;
}

/* Measures up to `columns`. Returns the bytes, and in *width_out their columns. */
static size_t measure(const char *text, size_t length, size_t columns, size_t *width_out)
{
    size_t width = 0;
    size_t at = 0;
    while (at < length) {
        size_t character = utf8_length(text + at, length - at);
        size_t more = width_of((const unsigned char *)text + at, character);
        if (width + more > columns)
            break;
        width += more;
        at += character > 0 ? character : 1;
    }
    *width_out = width;
    return at;
}

size_t text_width(const char *text, size_t length)
{
    size_t width;
    (void)measure(text, length, SIZE_MAX, &width);
    return width;
}

/* The end before the escape that a cut at `end` would cut, or `end`. Text ends after `end`. A backslash
 * that is preceded by an odd number of others is the second byte of an escape. */
static size_t before_escape(const char *text, size_t end)
{
    size_t back = 1;
    while (back < end && back < ESCAPE_MAX - 1 && text[end - back] != '\\')
        back++;
    size_t run = 0;
    while (back + run <= end && text[end - back - run] == '\\')
        run++;
    size_t whole = text[end - back + 1] == 'x' ? ESCAPE_MAX : 2;
    return run % 2 == 1 && whole > back ? end - back : end;
}

/* The byte of the escape at `text`, or -1. */
static int escaped_byte(const char *text, size_t there)
{
    if (there < ESCAPE_MAX || text[0] != '\\' || text[1] != 'x')
        return -1;
    int high = hex_value(text[2]);
    int low = hex_value(text[3]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/* The end before the escapes of the character that a cut at `end` would cut, or `end`. A continuation
 * byte of UTF-8 follows a lead byte, or other continuation bytes. */
static size_t before_character(const char *text, size_t length, size_t end)
{
    size_t at = end;
    for (int i = 0; i < ESCAPE_MAX && (escaped_byte(text + at, length - at) & ~0x3f) == 0x80;
         i++) {
        if (at < ESCAPE_MAX || escaped_byte(text + at - ESCAPE_MAX, ESCAPE_MAX) < 0x80)
            return end;
        at -= ESCAPE_MAX;
    }
    return at;
}

size_t text_fit(const char *text, size_t length, size_t columns)
{
    size_t width;
    size_t end = measure(text, length, columns, &width);
    if (end == 0 || end >= length)
        return end;
    return before_character(text, length, before_escape(text, end));
}
