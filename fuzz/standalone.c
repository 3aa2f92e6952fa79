/* Drives a fuzz target without libFuzzer: the inputs given as arguments, files or directories of
 * them, and, unless they are files, bytes from a fixed seed. */
#include "target.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
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

/* Memory that ends where the file does. */
static bool feed_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *capacity = malloc(FILE_MAX);
    size_t length = file != NULL && capacity != NULL ? fread(capacity, 1, FILE_MAX, file) : 0;
    uint8_t *input = malloc(length > 0 ? length : 1);
    bool fine = file != NULL && capacity != NULL && input != NULL;
    if (fine) {
        memcpy(input, capacity, length);
        (void)LLVMFuzzerTestOneInput(input, length);
    } else {
        perror(path);
    }
    if (file != NULL)
        (void)fclose(file);
    free(capacity);
    free(input);
    return fine;
}

static bool feed_directory(DIR *directory, const char *path)
{
    bool fine = true;
    uint32_t files = 0;
    for (const struct dirent *entry; fine && (entry = readdir(directory)) != NULL;) {
        char file[PATH_MAX];
        if (entry->d_name[0] == '.')
            continue;
        int length = snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        fine = length > 0 && (size_t)length < sizeof file && feed_file(file);
        files++;
    }
    (void)closedir(directory);
    if (files == 0)
        (void)fprintf(stderr, "%s: no input there\n", path);
    return fine && files > 0;
}

int main(int argc, char **argv)
{
    bool are_files = argc > 1;
    for (int i = 1; i < argc; i++) {
        DIR *directory = opendir(argv[i]);
        are_files = are_files && directory == NULL;
        if (directory != NULL ? !feed_directory(directory, argv[i]) : !feed_file(argv[i]))
            return 1;
    }
    uint64_t state = 0x9E3779B97F4A7C15;
    for (int i = 0; !are_files && i < INPUTS; i++)
        feed(&state);
    return 0;
}
