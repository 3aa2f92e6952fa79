/* Numbers and durations as people type them. */
#ifndef MCDS_CLI_VALUES_H
#define MCDS_CLI_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* Digits only. False leaves *out alone, as in all of these. */
bool parse_whole(const char *text, uint64_t *out);
/* Digits behind an optional sign. */
bool parse_signed(const char *text, int64_t *out);
/* 500ms 30s 5m 1h 2d, in milliseconds; up to three decimals (1.5s); a bare number is seconds.
 */
bool parse_duration(const char *text, uint64_t *ms_out);

/* Room for format_duration. */
#define DURATION_ROOM 32
/* The same in the largest unit that leaves no rest: 90000 is "90s", 60000 "1m". */
void format_duration(uint64_t ms, char out[DURATION_ROOM]);

#endif
