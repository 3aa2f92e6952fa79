/* Lines of standard input: they are the same however the bytes arrive, and those that cutting at
 * every newline gives. */
#include "input.h"
#include "target.h"

#include <string.h>
#include <unistd.h>

#include "io/lines.h"

#define LINES_MAX 1024

struct cut {
    enum line kind;
    mcds_bytes line;
};

/* The lines as they should be. */
static size_t cut_all(const uint8_t *data, size_t size, size_t max, struct cut *cuts)
{
    size_t count = 0;
    for (size_t at = 0; at < size;) {
        const uint8_t *feed = memchr(data + at, '\n', size - at);
        size_t end = feed != NULL ? (size_t)(feed - data) : size;
        size_t length = end - at;
        if (length > 0 && data[end - 1] == '\r')
            length--;
        MUST(count < LINES_MAX);
        cuts[count++] = (struct cut){length > max ? LINE_TOO_LONG : LINE_READY,
                                     {data + at, length}};
        at = end + 1;
    }
    return count;
}

/* Take what is ready; `*at` counts. Returns LINE_NONE or LINE_OVER. */
static enum line take(struct lines *lines, const struct cut *cuts, size_t count, size_t *at)
{
    for (;;) {
        char *line = NULL;
        size_t length = 0;
        enum line kind = lines_next(lines, &line, &length);
        if (kind == LINE_NONE || kind == LINE_OVER)
            return kind;
        MUST(*at < count && kind == cuts[*at].kind);
        if (kind == LINE_READY) {
            MUST(length == cuts[*at].line.length && line[length] == '\0');
            MUST(memcmp(line, cuts[*at].line.data, length) == 0);
            memset(line, 'x', length); /* which the reader may do */
        }
        ++*at;
    }
}

/* The first byte is the longest line, the second how long the pieces are in which it arrives. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cut cuts[LINES_MAX];
    struct lines lines;
    int ends[2];
    if (size < 2 || size > LINES_MAX)
        return 0;
    size_t max = data[0];
    struct fuzz_input pieces = {data + 1, 1 + (size - 2) / 4};
    const uint8_t *left = data + 2;
    const uint8_t *end = data + size;
    size_t count = cut_all(left, size - 2, max, cuts);
    size_t at = 0;
    MUST(pipe(ends) == 0 && dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
    MUST(close(ends[0]) == 0);
    lines_open(&lines, max);
    while (left < end) {
        size_t piece = 1 + next_byte(&pieces) % 64u;
        if (piece > (size_t)(end - left))
            piece = (size_t)(end - left);
        MUST(take(&lines, cuts, count, &at) == LINE_NONE);
        MUST(write(ends[1], left, piece) == (ssize_t)piece);
        lines_read(&lines);
        left += piece;
    }
    MUST(close(ends[1]) == 0);
    while (take(&lines, cuts, count, &at) == LINE_NONE)
        lines_read(&lines);
    MUST(at == count && lines.error == 0);
    lines_close(&lines);
    return 0;
}
