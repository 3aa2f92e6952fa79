/* Drives a fuzz target without libFuzzer: files given as arguments, or bytes from a fixed seed. */
#include "target.h"

#include <stdio.h>
#include <string.h>

#define INPUTS 20000
#define LENGTH_MAX 512
#define FILE_MAX (1 << 20)

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Bytes of all kinds, but often of those that parsers look for. The input lies at the end of its
 * own memory, so that a step beyond it is seen by the sanitizers. */
static void feed(uint64_t *state)
{
    static const char liked[] = ":%?&=/~ \r\n0123456789abcdefmdLVHNEN";
    size_t length = (size_t)(next(state) % LENGTH_MAX);
    uint8_t *input = malloc(length > 0 ? length : 1);
    if (input == NULL)
        return;
    for (size_t i = 0; i < length; i++) {
        uint64_t drawn = next(state) >> 16;
        input[i] = (drawn & 3) == 0 ? (uint8_t)(drawn >> 8)
                                    : (uint8_t)liked[(drawn >> 8) % (sizeof liked - 1)];
    }
    (void)LLVMFuzzerTestOneInput(input, length);
    free(input);
}

static int feed_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *input = malloc(FILE_MAX);
    if (file == NULL || input == NULL) {
        perror(path);
        return 1;
    }
    size_t length = fread(input, 1, FILE_MAX, file);
    (void)fclose(file);
    (void)LLVMFuzzerTestOneInput(input, length);
    free(input);
    return 0;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (feed_file(argv[i]) != 0)
            return 1;
    uint64_t state = 0x9E3779B97F4A7C15;
    for (int i = 0; argc == 1 && i < INPUTS; i++)
        feed(&state);
    return 0;
}
