/* Parse and format whole numbers, with range checks. */
#include "base/number.h"

#include <assert.h>
#include <string.h>

/* Appending a digit to a number up to this cannot overflow. */
#define ROOMY (UINT64_MAX / 10 - 1)

/* Append a digit. False: too large. */
static inline bool add_digit(uint64_t *number, unsigned digit)
{
    if (*number > ROOMY && *number > (UINT64_MAX - digit) / 10)
        return false;
    *number = *number * 10 + digit;
    return true;
}

/* Eight digits at once: combine bytes into numbers of two, of four and of eight digits. False:
 * a byte is not a digit. */
static bool take_eight_digits(const uint8_t *text, uint64_t *number)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t digits = 0;
    for (unsigned i = 0; i < 8; i++)
        digits |= (uint64_t)text[i] << (8 * i);
    if (((digits & ones * 0xf0) | ((digits + ones * 6) & ones * 0xf0) >> 4) != ones * 0x33)
        return false;
    digits &= ones * 0x0f;
    digits = (digits * 10 + (digits >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
    digits = (digits * 100 + (digits >> 16)) & UINT64_C(0x0000ffff0000ffff);
    *number = (digits * 10000 + (digits >> 32)) & UINT32_MAX;
    assert(*number <= 99999999);
    return true;
}

bool mcds__parse_u64(const char *text, size_t length, uint64_t *out)
{
    uint64_t number = 0;
    if (length == 0 || length > MCDS__U64_DIGITS)
        return false;
    size_t at = length >= 8 && take_eight_digits((const uint8_t *)text, &number) ? 8 : 0;
    for (size_t i = at; i < length; i++) {
        unsigned digit = (unsigned)(unsigned char)text[i] - '0';
        if (digit > 9 || !add_digit(&number, digit))
            return false;
    }
    *out = number;
    return true;
}

static bool number_is_space(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

bool mcds__parse_stored_u64(const uint8_t *value, size_t length, uint64_t *out)
{
    size_t at = 0;
    while (at < length && number_is_space(value[at]))
        at++;
    at += at < length && value[at] == '+';
    size_t first = at;
    uint64_t number = 0;
    if (length - at >= 8 && take_eight_digits(value + at, &number))
        at += 8;
    for (; at < length && value[at] >= '0' && value[at] <= '9'; at++) {
        if (!add_digit(&number, value[at] - (unsigned)'0'))
            return false;
    }
    if (at == first || (at < length && !number_is_space(value[at]) && value[at] != '\0'))
        return false;
    *out = number;
    return true;
}

size_t mcds__u64_digits(uint64_t number)
{
    static const uint64_t powers[MCDS__U64_DIGITS] = {
        UINT64_C(1),
        UINT64_C(10),
        UINT64_C(100),
        UINT64_C(1000),
        UINT64_C(10000),
        UINT64_C(100000),
        UINT64_C(1000000),
        UINT64_C(10000000),
        UINT64_C(100000000),
        UINT64_C(1000000000),
        UINT64_C(10000000000),
        UINT64_C(100000000000),
        UINT64_C(1000000000000),
        UINT64_C(10000000000000),
        UINT64_C(100000000000000),
        UINT64_C(1000000000000000),
        UINT64_C(10000000000000000),
        UINT64_C(100000000000000000),
        UINT64_C(1000000000000000000),
        UINT64_C(10000000000000000000),
    };
    /* 1233 / 4096 is a little more than the logarithm of two. */
    unsigned bits = 64 - (unsigned)__builtin_clzll(number | 1);
    unsigned count = bits * 1233 >> 12;
    assert(count < MCDS__U64_DIGITS);
    return count + ((number | 1) >= powers[count]);
}

size_t mcds__format_u64(uint64_t number, char *out)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    size_t count = mcds__u64_digits(number);
    size_t at = count;
    for (; number >= 100; number /= 100)
        memcpy(out + (at -= 2), &pairs[2 * (number % 100)], 2);
    assert(at == (number >= 10 ? 2 : 1)); /* the digits that are left */
    if (at == 2)
        memcpy(out, &pairs[2 * number], 2);
    else
        out[0] = (char)('0' + number);
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
