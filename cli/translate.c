/* Sentences of the library about its options, in the words of the command. */
#include "translate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "values.h"

static const struct phrase {
    const char *said;
    const char *typed;
    bool is_time; /* a number after it is milliseconds, and so is one after ", not " */
} phrases[] = {
    {"push_many", "push", false},
    {"put_many", "put", false},
    {"open it with the form MCDS_SET_PLAIN", "leave --bag and --list out", false},
    {"open it with the form MCDS_SET_BAG", "give --bag", false},
    {"open it with the form MCDS_SET_LIST", "give --list", false},
    {"its members are kept EXACT; open it the same way", "its members are kept; give --exact",
     false},
    {"its members are ESTIMATED; open it the same way",
     "its members are estimated; give --estimated", false},
    {"this counter was made without EXACT", "it was made without --exact; leave that out",
     false},
    {"this counter was made EXACT or with stripes; open it the same way",
     "it was made with --exact, --copies or --stripes; give that", false},
    {"open a counter made EXACT or with stripes the same way",
     "if it was made with --exact or --stripes, give that", false},
    {"this counter was made without stripes; open it the same way",
     "it was made without --stripes; leave that out", false},
    {"with stripes ", "with --stripes ", false},
    {"its members are not kept; open it the same way",
     "its members are not kept; leave --exact and --estimated out", false},
    {"EXACT goes with neither stripes nor a ttl",
     "--exact goes with neither --stripes nor --ttl", false},
    {"a negative delta needs a signed counter",
     "a negative N needs a counter that is not --plain", false},
    {"made with flags 0, not 1", "made without --by-arrival", false},
    {"open it with 0 to accept that", "leave the option out", false},
    {"open it the same way", "give that", false},
    {"buckets", "--buckets", false},
    {"period_ms", "--period", true},
    {"width_ms", "--width", true},
    {"flush_ms", "--flush", true},
    {"retention_ms", "--retention", true},
    {"chunk_ms", "--chunk", true},
    {"late_ms", "--late", true},
    {"ahead_ms", "--ahead", true},
};
#define PHRASE_COUNT (sizeof phrases / sizeof phrases[0])

static void append(char *out, size_t room, const char *text, size_t length)
{
    size_t used = strlen(out);
    if (length > room - used - 1)
        length = room - used - 1;
    memcpy(out + used, text, length);
    out[used + length] = '\0';
}

/* Writes " 86400000", and a following ", not 1000", as times. Returns the rest. */
static const char *take_times(const char *at, char *out, size_t room)
{
    static const char other[] = ", not";
    char text[DURATION_ROOM];
    char *end;
    while (at[0] == ' ' && at[1] >= '0' && at[1] <= '9') {
        format_duration(strtoull(at + 1, &end, 10), text);
        append(out, room, " ", 1);
        append(out, room, text, strlen(text));
        at = end;
        if (strncmp(at, other, sizeof other - 1) != 0)
            break;
        append(out, room, other, sizeof other - 1);
        at += sizeof other - 1;
    }
    return at;
}

void translate(const char *message, size_t named, char *out, size_t room)
{
    size_t length = strlen(message);
    out[0] = '\0';
    append(out, room, message, named < length ? named : length);
    message += named < length ? named : length;
    while (*message != '\0') {
        size_t i = 0;
        while (i < PHRASE_COUNT &&
               strncmp(message, phrases[i].said, strlen(phrases[i].said)) != 0)
            i++;
        if (i == PHRASE_COUNT) {
            append(out, room, message++, 1);
            continue;
        }
        append(out, room, phrases[i].typed, strlen(phrases[i].typed));
        message += strlen(phrases[i].said);
        if (phrases[i].is_time)
            message = take_times(message, out, room);
    }
}
