/* How long a field test plays: FIELD_SECONDS and FIELD_ROUNDS, or what is usual. */
#ifndef MCDS_TESTS_FIELD_FIELD_H
#define MCDS_TESTS_FIELD_FIELD_H

#include <stdlib.h>

static inline unsigned field_number(const char *variable, unsigned usual)
{
    const char *text = getenv(variable);
    unsigned long number = text != NULL ? strtoul(text, NULL, 10) : 0;
    return number > 0 && number <= 1000000 ? (unsigned)number : usual;
}

/* For a test that plays until its time is over. */
static inline unsigned field_seconds(unsigned usual)
{
    return field_number("FIELD_SECONDS", usual);
}

/* For a test that plays a number of rounds. */
static inline unsigned field_rounds(unsigned usual)
{
    return field_number("FIELD_ROUNDS", usual);
}

#endif
