/* What contestants do with element number n: the same bytes on every side. */
#include "verbs.h"

#include <stdio.h>
#include <string.h>

const char value_bytes[VALUE_LENGTH + 1] = "a value that has 32 bytes ......";
const char event_bytes[EVENT_LENGTH + 1] =
    "GET /index.html 200 5120 user:0123456789a an event of a log.";

const char *verb_name(enum verb verb)
{
    static const char *const names[VERB_COUNT] = {"set add", "table put", "table has",
                                                  "list push", "log put"};
    return names[verb];
}

void element_of(uint64_t number, char out[ELEMENT_LENGTH + 1])
{
    static const char digits[] = "0123456789abcdef";
    /* The factor is odd, so different numbers below 2^44 have different results. */
    uint64_t mixed = (number * UINT64_C(0x9e3779b97f5)) & ((UINT64_C(1) << 44) - 1);
    memcpy(out, "user:", 5);
    for (int i = ELEMENT_LENGTH - 1; i >= 5; i--, mixed >>= 4)
        out[i] = digits[mixed & 15];
    out[ELEMENT_LENGTH] = '\0';
}

uint64_t spread(uint64_t step, uint64_t size)
{
    return (step * UINT64_C(0x9e3779b1)) % size;
}

void counter_name(uint32_t number, char out[COUNTER_NAME_MAX])
{
    (void)snprintf(out, COUNTER_NAME_MAX, "counter%u", (unsigned)number);
}
