/* Transcript: what a command has printed, as the result of a key keeps it.
 *
 *   'm' 'o' VERSION FLAGS | (stream u8, length u32, bytes)...
 *
 * Numbers are little-endian. Stream 1 is standard output, 2 standard error, in the order in which they
 * were read. A result that does not begin so is all standard output: a program has stored it, or a
 * command that has printed nothing else. */
#ifndef MCDS_CLI_ONCE_TRANSCRIPT_H
#define MCDS_CLI_ONCE_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mcds.h"

struct transcript {
    uint8_t *data;
    size_t length;
    size_t capacity;
    size_t last; /* where the last part begins; 0: there is none */
};

/* `stream` is 0 for standard output, 1 for standard error. Bytes beyond the bound of a result, or for
 * which there is no memory, are left out, and the transcript is cut. */
void transcript_add(struct transcript *transcript, size_t stream, const char *bytes,
                    size_t length);
/* Makes the transcript of these bytes on standard output, all of them, also if no store takes it. False:
 * no memory. */
bool transcript_set(struct transcript *transcript, mcds_bytes bytes);
/* Shortens the transcript to `most` bytes, or to its head if that is longer. False: it is that
 * short already. */
bool transcript_cut(struct transcript *transcript, size_t most);
bool transcript_is_cut(const struct transcript *transcript);
/* What is stored. If all is standard output, that alone, so that programs can read it, unless it looks
 * like a transcript. Valid until the transcript changes. */
mcds_bytes transcript_bytes(struct transcript *transcript);
void transcript_free(struct transcript *transcript);

/* Visits the parts of a result, in order, until `visit` returns false. Returns whether it was cut. */
bool transcript_read(mcds_bytes result,
                     bool (*visit)(void *context, size_t stream, mcds_bytes bytes),
                     void *context);

#endif
