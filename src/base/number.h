/* Parse and format whole numbers, with range checks. */
#ifndef MCDS_BASE_NUMBER_H
#define MCDS_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MCDS__U64_DIGITS 20

/* Digits only, 1 to 20 of them, at most 2^64 - 1. False leaves *out alone. */
bool mcds__parse_u64(const char *text, size_t length, uint64_t *out);
/* As memcached reads the value of a counter: white space and a plus may precede the digits;
 * white space or NUL, and then anything, may follow them. */
bool mcds__parse_stored_u64(const uint8_t *value, size_t length, uint64_t *out);
/* How many decimal digits it has (at most MCDS__U64_DIGITS). */
size_t mcds__u64_digits(uint64_t number);
/* Write them without NUL; returns how many. */
size_t mcds__format_u64(uint64_t number, char *out);
/* 0..15, or -1. */
int mcds__hex_value(char digit);

#endif
