/* Whole numbers from and to text, within bounds. */
#include "base/number.h"

/* As long as the number before a digit is no larger, none that follows can be too large. */
#define ROOMY (UINT64_MAX / 10 - 1)

/* Add a digit at the end. False: too large. */
static inline bool add_digit(uint64_t *number, unsigned digit)
{
    if (*number > ROOMY && *number > (UINT64_MAX - digit) / 10)
        return false;
    *number = *number * 10 + digit;
    return true;
}

bool mcds__parse_u64(const char *text, size_t length, uint64_t *out)
{
    uint64_t number = 0;
    if (length == 0 || length > MCDS__U64_DIGITS)
        return false;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)(unsigned char)text[i] - '0';
        if (digit > 9 || !add_digit(&number, digit))
            return false;
    }
    *out = number;
    return true;
}

static bool is_space(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

bool mcds__parse_stored_u64(const uint8_t *value, size_t length, uint64_t *out)
{
    size_t at = 0;
    while (at < length && is_space(value[at]))
        at++;
    at += at < length && value[at] == '+';
    size_t first = at;
    uint64_t number = 0;
    for (; at < length && value[at] >= '0' && value[at] <= '9'; at++) {
        if (!add_digit(&number, value[at] - (unsigned)'0'))
            return false;
    }
    if (at == first || (at < length && !is_space(value[at]) && value[at] != '\0'))
        return false;
    *out = number;
    return true;
}

size_t mcds__u64_digits(uint64_t number)
{
    size_t count = 1;
    for (uint64_t bound = 10; number >= bound && count < MCDS__U64_DIGITS; bound *= 10)
        count++;
    return count;
}

size_t mcds__format_u64(uint64_t number, char *out)
{
    size_t count = mcds__u64_digits(number);
    for (size_t i = count; i > 0; i--, number /= 10)
        out[i - 1] = (char)('0' + number % 10);
    return count;
}

int mcds__hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    return -1;
}
