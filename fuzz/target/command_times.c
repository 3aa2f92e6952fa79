/* Numbers, durations and moments as people type them: what is read and written is read again as
 * the same; what is written is always read. */
#include "input.h"
#include "target.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "parse/values.h"

#define TEXT_MAX 200
#define NOW_MS INT64_C(1700000000000)
/* The years 0 and 9999 */
#define FIRST_MS (-INT64_C(62167219200000))
#define LAST_MS INT64_C(253402300799999)

static void read_number(const char *text)
{
    char again[32];
    uint64_t whole = 7;
    int64_t number = 7;
    if (parse_whole(text, &whole)) {
        errno = 0;
        MUST(strtoull(text, NULL, 10) == whole && errno == 0);
    } else {
        MUST(whole == 7);
    }
    if (parse_signed(text, &number)) {
        (void)snprintf(again, sizeof again, "%" PRId64, number);
        int64_t twice;
        MUST(parse_signed(again, &twice) && twice == number);
    } else {
        MUST(number == 7);
    }
}

static void read_times(const char *text)
{
    char again[MOMENT_CAPACITY];
    uint64_t ms = 7;
    uint64_t twice_ms;
    int64_t at_ms = 7;
    int64_t twice_at_ms;
    if (parse_duration(text, &ms)) {
        format_duration(ms, again);
        MUST(strlen(again) < DURATION_CAPACITY && strlen(again) > 0);
        if (ms < INT64_MAX)
            MUST(parse_duration(again, &twice_ms) && twice_ms == ms);
    } else {
        MUST(ms == 7);
    }
    if (parse_moment(text, NOW_MS, &at_ms)) {
        format_moment(at_ms, again);
        MUST(strlen(again) < MOMENT_CAPACITY);
        if (at_ms >= FIRST_MS && at_ms <= LAST_MS)
            MUST(parse_moment(again, NOW_MS, &twice_at_ms) && twice_at_ms == at_ms);
    } else {
        MUST(at_ms == 7);
    }
}

static void write_times(struct fuzz_input input)
{
    char text[MOMENT_CAPACITY];
    char zoned[MOMENT_CAPACITY + 8];
    uint64_t ms;
    int64_t at_ms;
    uint64_t number = next_number(&input, 8);
    uint64_t unit = (uint64_t[]){1, 1000, 60000, 86400000}[next_byte(&input) % 4];
    uint64_t made_ms = number % (INT64_MAX / unit) * unit;
    format_duration(made_ms, text);
    MUST(parse_duration(text, &ms) && ms == made_ms);
    int64_t moment_ms = FIRST_MS + (int64_t)(number % (uint64_t)(LAST_MS - FIRST_MS + 1));
    format_moment(moment_ms, text);
    MUST(parse_moment(text, NOW_MS, &at_ms) && at_ms == moment_ms);
    /* An hour that is written east of Greenwich comes so much earlier. */
    int hours = next_byte(&input) % 24;
    int minutes = next_byte(&input) % 60;
    bool is_west = (next_byte(&input) & 1) != 0;
    text[strlen(text) - 1] = '\0';
    (void)snprintf(zoned, sizeof zoned, "%s%c%02d:%02d", text, is_west ? '-' : '+', hours,
                   minutes);
    int64_t east_ms = (hours * 60 + minutes) * INT64_C(60000) * (is_west ? -1 : 1);
    MUST(parse_moment(zoned, NOW_MS, &at_ms) && at_ms == moment_ms - east_ms);
    /* Any moment can be told. */
    format_moment((int64_t)number, text);
    MUST(strlen(text) > 0 && strlen(text) < MOMENT_CAPACITY);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t length = size < TEXT_MAX ? size : TEXT_MAX;
    char *text = malloc(length + 1);
    MUST(text != NULL);
    memcpy(text, data, length);
    text[length] = '\0';
    read_number(text);
    read_times(text);
    free(text);
    write_times((struct fuzz_input){data, size});
    return 0;
}
