/* What every fuzz target is and needs. */
#ifndef FUZZ_TARGET_H
#define FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* libFuzzer's entry: called with each input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the run with a report; unlike assert in every build. */
#define MUST(condition)                                                                        \
    do {                                                                                       \
        if (!(condition))                                                                      \
            abort();                                                                           \
    } while (0)

#endif
