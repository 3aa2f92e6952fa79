/* Parses and formats numbers, durations and times, with checked arithmetic. */
#include "parse/values.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads digits from *at on and moves *at past them. False when there are none or too many. */
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

/* A plus says nothing. */
static const char *after_plus(const char *text)
{
    return text + (*text == '+');
}

static bool parse_digits(const char *text, uint64_t *out)
{
    uint64_t number;
    if (!take_digits(&text, &number) || *text != '\0')
        return false;
    *out = number;
    return true;
}

bool parse_whole(const char *text, uint64_t *out)
{
    return parse_digits(after_plus(text), out);
}

bool parse_signed(const char *text, int64_t *out)
{
    bool negative = *text == '-';
    uint64_t number;
    if (!parse_digits(negative ? text + 1 : after_plus(text), &number) ||
        number > (uint64_t)INT64_MAX + negative)
        return false;
    *out = negative && number > 0 ? -(int64_t)(number - 1) - 1 : (int64_t)number;
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

/* Reads ".5" as 500, with up to three digits, and nothing as 0. Moves *at past them. */
static bool take_thousandths(const char **at, uint64_t *out)
{
    *out = 0;
    if (**at != '.')
        return true;
    const char *first = ++*at;
    if (!take_digits(at, out) || *at - first > 3)
        return false;
    for (ptrdiff_t digits = *at - first; digits < 3; digits++)
        *out *= 10;
    return true;
}

bool parse_duration(const char *text, uint64_t *ms_out)
{
    uint64_t whole;
    uint64_t thousandths;
    text = after_plus(text);
    if (!take_digits(&text, &whole) || !take_thousandths(&text, &thousandths))
        return false;
    uint64_t unit = unit_ms(text);
    if (unit == 0 || whole > UINT64_MAX / unit - 1 || thousandths * unit % 1000 != 0)
        return false;
    *ms_out = whole * unit + thousandths * unit / 1000;
    return true;
}

void format_duration(uint64_t ms, char out[DURATION_CAPACITY])
{
    const struct unit *unit = &units[UNIT_COUNT - 1];
    for (size_t i = UNIT_COUNT; i-- > 0 && ms > 0 && ms % units[i].ms == 0;)
        unit = &units[i];
    (void)snprintf(out, DURATION_CAPACITY, "%" PRIu64 "%s", ms / unit->ms, unit->word);
}

void format_rough(uint64_t ms, char out[DURATION_CAPACITY])
{
    size_t i = 0;
    while (i + 1 < UNIT_COUNT && ms / units[i].ms < 2)
        i++;
    format_duration(ms - ms % units[i].ms, out);
}

/* Reads the character `before` and a number of so many digits. */
static bool take_part(const char **at, char before, int digits, int *out)
{
    const char *next = *at;
    if (before != '\0' && *next++ != before)
        return false;
    *out = 0;
    for (int i = 0; i < digits; i++, next++) {
        if (!is_digit(*next))
            return false;
        *out = *out * 10 + (*next - '0');
    }
    *at = next;
    return true;
}

/* Z, +01:00, -01:00 or nothing, in minutes east of Greenwich. */
static bool take_zone(const char **at, int *minutes_out)
{
    int hours;
    int minutes;
    char sign = **at;
    *minutes_out = 0;
    *at += sign == 'Z' ? 1 : 0;
    if (sign != '+' && sign != '-')
        return true;
    if (!take_part(at, sign, 2, &hours) || !take_part(at, ':', 2, &minutes) || hours > 23 ||
        minutes > 59)
        return false;
    *minutes_out = (sign == '-' ? -1 : 1) * (hours * 60 + minutes);
    return true;
}

static bool parse_date(const char *text, int64_t *ms_out)
{
    struct tm day;
    uint64_t thousandths = 0;
    int zone;
    memset(&day, 0, sizeof day);
    if (!take_part(&text, '\0', 4, &day.tm_year) || !take_part(&text, '-', 2, &day.tm_mon) ||
        !take_part(&text, '-', 2, &day.tm_mday))
        return false;
    if ((*text == 'T' || *text == ' ') &&
        (!take_part(&text, *text, 2, &day.tm_hour) || !take_part(&text, ':', 2, &day.tm_min) ||
         (*text == ':' &&
          (!take_part(&text, ':', 2, &day.tm_sec) || !take_thousandths(&text, &thousandths)))))
        return false;
    if (!take_zone(&text, &zone) || *text != '\0')
        return false;
    day.tm_year -= 1900;
    day.tm_mon -= 1;
    struct tm same = day;
    int64_t seconds = timegm(
        &same); /* which moves dates that no calendar has, as February 30 */
    if (same.tm_mon != day.tm_mon || same.tm_mday != day.tm_mday ||
        same.tm_hour != day.tm_hour || same.tm_min != day.tm_min || same.tm_sec != day.tm_sec)
        return false;
    *ms_out = (seconds - zone * 60) * 1000 + (int64_t)thousandths;
    return true;
}

bool parse_moment(const char *text, int64_t now_ms, int64_t *ms_out)
{
    uint64_t whole;
    uint64_t thousandths;
    uint64_t ago_ms;
    if (strcmp(text, "now") == 0) {
        *ms_out = now_ms;
        return true;
    }
    if (*text == '@') {
        text++;
        if (!take_digits(&text, &whole) || !take_thousandths(&text, &thousandths) ||
            *text != '\0' || whole > INT64_MAX / 1000 - 1)
            return false;
        *ms_out = (int64_t)(whole * 1000 + thousandths);
        return true;
    }
    /* A bare number could be a time or a duration, so it is refused; so is a plus, which could
     * mean later. */
    if (*text != '+' && parse_duration(text, &ago_ms) && !is_digit(text[strlen(text) - 1])) {
        if (ago_ms > (uint64_t)now_ms)
            return false;
        *ms_out = now_ms - (int64_t)ago_ms;
        return true;
    }
    return parse_date(text, ms_out);
}

void format_moment(int64_t ms, char out[MOMENT_CAPACITY])
{
    int64_t thousandths = ms % 1000;
    time_t seconds = (time_t)(ms / 1000);
    if (thousandths < 0) {
        thousandths += 1000;
        seconds--;
    }
    struct tm at;
    if (gmtime_r(&seconds, &at) == NULL || at.tm_year > 9999 - 1900 || at.tm_year < -1900)
        (void)snprintf(out, MOMENT_CAPACITY, "@%" PRId64 ".%03d", (int64_t)seconds,
                       (int)thousandths);
    else
        (void)snprintf(out, MOMENT_CAPACITY, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
                       at.tm_year + 1900, at.tm_mon + 1, at.tm_mday, at.tm_hour, at.tm_min,
                       at.tm_sec, (int)thousandths);
}
