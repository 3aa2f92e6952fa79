/* Parses and formats numbers, durations and times as users type them. */
#ifndef MCDS_CLI_PARSE_VALUES_H
#define MCDS_CLI_PARSE_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* Digits, perhaps after a plus, which is accepted wherever a number or a duration is. On false
 * *out is unchanged, as in all of these. */
bool parse_whole(const char *text, uint64_t *out);
/* Digits, perhaps after a plus or a minus. */
bool parse_signed(const char *text, int64_t *out);
/* 500ms 30s 5m 1h 2d, in milliseconds; up to three decimals (1.5s); a bare number is seconds.
 */
bool parse_duration(const char *text, uint64_t *ms_out);

/* Size of the output of format_duration. */
#define DURATION_CAPACITY 32
/* Formats in the largest unit that divides the time: 90000 is "90s", 60000 is "1m". */
void format_duration(uint64_t ms, char out[DURATION_CAPACITY]);
/* The same, rounded down to whole numbers of the largest unit of which there are two. */
void format_rough(uint64_t ms, char out[DURATION_CAPACITY]);

/* A moment in Unix ms: now, 10m (ago), @1790000000.5 (Unix seconds), or 2026-11-21, followed if
 * need be by T10:30, :15, .250, and by Z or +01:00; without either it is UTC. */
bool parse_moment(const char *text, int64_t now_ms, int64_t *ms_out);

/* Size of the output of format_moment. */
#define MOMENT_CAPACITY 80
/* "2026-11-21T10:30:15.250Z". */
void format_moment(int64_t ms, char out[MOMENT_CAPACITY]);

#endif
