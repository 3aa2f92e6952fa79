/* Tally: what became of the lines of standard input, for the case that the store fails. */
#include "run/tally.h"

#include <inttypes.h>

#include "io/exit.h"

static void note_first(unsigned long *first, unsigned long line)
{
    if (*first == 0 || line < *first)
        *first = line;
}

void tally_failed(struct tally *tally, unsigned long line, uint64_t lines, int result)
{
    if (lines == 0)
        return;
    if (result == MCDS_AMBIGUOUS) {
        tally->doubtful += lines;
        note_first(&tally->first_doubtful, line);
    } else {
        note_first(&tally->first_failed, line);
    }
}

int tally_status(const struct tally *tally, int status)
{
    return tally->doubtful > 0 ? STATUS_AMBIGUOUS : status;
}

void tally_complain(const struct tally *tally, const struct output *output)
{
    const char *lines = tally->done == 1 ? "line was" : "lines were";
    if (tally->doubtful > 0)
        complain(output,
                 "standard input: %" PRIu64 " %s carried out; %" PRIu64
                 " may have been, or may still be, from line %lu on: check before you repeat",
                 tally->done, lines, tally->doubtful, tally->first_doubtful);
    else if (tally->first_failed > 0 && tally->done > 0)
        complain(output,
                 "standard input: %" PRIu64
                 " %s carried out; the first that was not is line %lu",
                 tally->done, lines, tally->first_failed);
}
