/* The checksum at the end of a text. */
#include "base/hash/text_sum.h"

#include <assert.h>
#include <string.h>

#include "base/hash/crc32c.h"

static void write_sum(const char *text, size_t length, char out[MCDS__TEXT_SUM])
{
    uint32_t sum = mcds__crc32c(0, text, length);
    out[0] = '.';
    for (int i = 1; i < MCDS__TEXT_SUM; i++, sum <<= 4)
        out[i] = "0123456789abcdef"[sum >> 28];
}

void mcds__text_seal(char *text, size_t length)
{
    assert(length > 0);
    write_sum(text, length, text + length);
    text[length + MCDS__TEXT_SUM] = '\0';
}

bool mcds__text_unseal(const char *text, size_t *length_out)
{
    char sum[MCDS__TEXT_SUM];
    size_t length = strlen(text);
    if (length <= MCDS__TEXT_SUM)
        return false;
    length -= MCDS__TEXT_SUM;
    write_sum(text, length, sum);
    *length_out = length;
    return memcmp(text + length, sum, sizeof sum) == 0;
}
