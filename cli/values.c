/* Numbers and durations from and to text, with checked arithmetic. */
#include "values.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits from *at on; moves *at behind them. False when there is none or too many. */
static bool take_digits(const char **at, uint64_t *out)
{
    uint64_t number = 0;
    const char *digit = *at;
    for (; is_digit(*digit); digit++) {
        unsigned value = (unsigned)(*digit - '0');
        if (number > (UINT64_MAX - value) / 10)
            return false;
        number = number * 10 + value;
    }
    if (digit == *at)
        return false;
    *at = digit;
    *out = number;
    return true;
}

bool parse_whole(const char *text, uint64_t *out)
{
    uint64_t number;
    if (!take_digits(&text, &number) || *text != '\0')
        return false;
    *out = number;
    return true;
}

bool parse_signed(const char *text, int64_t *out)
{
    bool negative = *text == '-';
    if (*text == '-' || *text == '+')
        text++;
    uint64_t number;
    if (!parse_whole(text, &number) || number > INT64_MAX)
        return false;
    *out = negative ? -(int64_t)number : (int64_t)number;
    return true;
}

struct unit {
    const char *word;
    uint64_t ms;
};

static const struct unit units[] = {
    {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
};

#define UNIT_COUNT (sizeof units / sizeof units[0])

/* The unit's milliseconds; 0 when there is no such unit. */
static uint64_t unit_ms(const char *word)
{
    if (*word == '\0')
        return 1000;
    for (size_t i = 0; i < UNIT_COUNT; i++)
        if (strcmp(word, units[i].word) == 0)
            return units[i].ms;
    return 0;
}

bool parse_duration(const char *text, uint64_t *ms_out)
{
    uint64_t whole;
    uint64_t thousandths = 0;
    if (!take_digits(&text, &whole))
        return false;
    if (*text == '.') {
        const char *first = ++text;
        if (!take_digits(&text, &thousandths) || text - first > 3)
            return false;
        for (ptrdiff_t digits = text - first; digits < 3; digits++)
            thousandths *= 10;
    }
    uint64_t unit = unit_ms(text);
    if (unit == 0 || whole > UINT64_MAX / unit - 1 || thousandths * unit % 1000 != 0)
        return false;
    *ms_out = whole * unit + thousandths * unit / 1000;
    return true;
}

void format_duration(uint64_t ms, char out[DURATION_ROOM])
{
    const struct unit *unit = &units[UNIT_COUNT - 1];
    for (size_t i = UNIT_COUNT; i-- > 0 && ms > 0 && ms % units[i].ms == 0;)
        unit = &units[i];
    (void)snprintf(out, DURATION_ROOM, "%" PRIu64 "%s", ms / unit->ms, unit->word);
}
