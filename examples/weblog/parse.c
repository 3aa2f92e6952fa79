/* One line of an access log, field by field from the left. */
#include "parse.h"

#include <stdbool.h>
#include <string.h>

#define SECONDS_PER_DAY INT64_C(86400)

/* What is left of the line. */
struct cursor {
    const char *at;
    const char *end;
};

static bool take(struct cursor *cursor, char wanted)
{
    if (cursor->at == cursor->end || *cursor->at != wanted)
        return false;
    cursor->at++;
    return true;
}

/* Everything up to the next space, which is taken too. False: no byte, or no space. */
static bool take_word(struct cursor *cursor, struct text *word)
{
    const char *space = memchr(cursor->at, ' ', (size_t)(cursor->end - cursor->at));
    if (space == NULL || space == cursor->at)
        return false;
    *word = (struct text){cursor->at, (size_t)(space - cursor->at)};
    cursor->at = space + 1;
    return true;
}

/* Exactly `digits` digits. */
static bool take_number(struct cursor *cursor, int digits, int *number)
{
    if (cursor->end - cursor->at < digits)
        return false;
    int sum = 0;
    for (int i = 0; i < digits; i++) {
        char digit = cursor->at[i];
        if (digit < '0' || digit > '9')
            return false;
        sum = sum * 10 + (digit - '0');
    }
    cursor->at += digits;
    *number = sum;
    return true;
}

/* The number of the month, from 1. */
static bool take_month(struct cursor *cursor, int *month)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    if (cursor->end - cursor->at < 3)
        return false;
    for (int i = 0; i < 12; i++)
        if (memcmp(cursor->at, months + (size_t)i * 3, 3) == 0) {
            cursor->at += 3;
            *month = i + 1;
            return true;
        }
    return false;
}

/* Days from 1970-01-01 in the Gregorian calendar. Years are made to begin in March, so that the
 * leap day comes last and the days before a month follow one line: (153 m + 2) / 5. */
static int64_t days_since_1970(int year, int month, int day)
{
    int64_t years = month > 2 ? year : year - 1;
    int64_t months = month > 2 ? month - 3 : month + 9;
    int64_t days = (153 * months + 2) / 5 + day - 1;
    return years * 365 + years / 4 - years / 100 + years / 400 + days - 719468;
}

/* [dd/Mon/yyyy:hh:mm:ss +hhmm] */
static bool take_time(struct cursor *cursor, int64_t *at_ms)
{
    int day, month, year, hour, minute, second, zone_hours, zone_minutes;
    bool fine = take(cursor, '[') && take_number(cursor, 2, &day) && take(cursor, '/') &&
                take_month(cursor, &month) && take(cursor, '/') &&
                take_number(cursor, 4, &year) && take(cursor, ':') &&
                take_number(cursor, 2, &hour) && take(cursor, ':') &&
                take_number(cursor, 2, &minute) && take(cursor, ':') &&
                take_number(cursor, 2, &second) && take(cursor, ' ');
    if (!fine)
        return false;
    bool west = take(cursor, '-');
    if (!west && !take(cursor, '+'))
        return false;
    fine = take_number(cursor, 2, &zone_hours) && take_number(cursor, 2, &zone_minutes) &&
           take(cursor, ']');
    /* a second of 60 is a leap second */
    if (!fine || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60)
        return false;
    int64_t east_s = (zone_hours * 60 + zone_minutes) * (west ? -60 : 60);
    int64_t at_s = days_since_1970(year, month, day) * SECONDS_PER_DAY + hour * 3600 +
                   minute * 60 + second - east_s;
    *at_ms = at_s > 0 ? at_s * 1000 : 1;
    return true;
}

/* The bytes between two quotes. */
static bool take_quoted(struct cursor *cursor, struct text *quoted)
{
    if (!take(cursor, '"'))
        return false;
    const char *begin = cursor->at;
    for (const char *at = begin; at < cursor->end; at++) {
        if (*at == '\\') {
            at++;
        } else if (*at == '"') {
            *quoted = (struct text){begin, (size_t)(at - begin)};
            cursor->at = at + 1;
            return true;
        }
    }
    return false;
}

/* METHOD TARGET[ PROTOCOL] */
static bool split_request(struct text request, struct text *target)
{
    struct cursor cursor = {request.at, request.at + request.length};
    struct text method;
    if (!take_word(&cursor, &method))
        return false;
    if (take_word(&cursor, target))
        return cursor.at < cursor.end &&
               memchr(cursor.at, ' ', (size_t)(cursor.end - cursor.at)) == NULL;
    *target = (struct text){cursor.at, (size_t)(cursor.end - cursor.at)};
    return target->length > 0 && target->at[0] != ' ';
}

/* Digits or `-`, then the end or a space. */
static bool take_size(struct cursor *cursor, uint64_t *size)
{
    *size = 0;
    if (!take(cursor, '-')) {
        const char *begin = cursor->at;
        bool fits = true;
        for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9';
             cursor->at++) {
            uint64_t digit = (uint64_t)(*cursor->at - '0');
            fits = fits && *size <= (UINT64_MAX - digit) / 10;
            *size = fits ? *size * 10 + digit : 0;
        }
        if (cursor->at == begin)
            return false;
    }
    return cursor->at == cursor->end || *cursor->at == ' ';
}

/* A quoted field, if that is what follows. */
static struct text take_referrer(struct cursor *cursor)
{
    static const struct text none = {"", 0};
    struct text referrer;
    if (!take(cursor, ' ') || !take_quoted(cursor, &referrer) ||
        (referrer.length == 1 && referrer.at[0] == '-') ||
        memchr(referrer.at, '\0', referrer.length) != NULL)
        return none;
    return referrer;
}

const char *parse_line(const char *line, size_t length, struct entry *entry)
{
    if (length > PARSE_LINE_MAX)
        return "longer than 1 MiB";
    struct cursor cursor = {line, line + length};
    if (length > 0 && line[length - 1] == '\r')
        cursor.end--;
    if (cursor.at == cursor.end)
        return "empty";
    struct text ident, user, request;
    if (!take_word(&cursor, &entry->host))
        return "no host";
    if (!take_word(&cursor, &ident) || !take_word(&cursor, &user))
        return "no ident and user after the host";
    if (!take_time(&cursor, &entry->at_ms) || !take(&cursor, ' '))
        return "no [dd/Mon/yyyy:hh:mm:ss +zone] after the user";
    if (!take_quoted(&cursor, &request) || !take(&cursor, ' '))
        return "no quoted request after the time";
    if (!split_request(request, &entry->page))
        return "the request is not METHOD TARGET PROTOCOL";
    if (!take_number(&cursor, 3, &entry->status) || !take(&cursor, ' '))
        return "no three-digit status after the request";
    if (!take_size(&cursor, &entry->size))
        return "no size after the status";
    entry->referrer = take_referrer(&cursor);
    /* names in a store are C strings */
    if (memchr(entry->host.at, '\0', entry->host.length) != NULL ||
        memchr(entry->page.at, '\0', entry->page.length) != NULL)
        return "a NUL byte in the host or the page";
    return NULL;
}
