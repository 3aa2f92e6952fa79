/* What a command of once has printed: any result is read without a fault, to its end; what is added is
 * read again in order, also after a cut. */
#include "target.h"

#include <string.h>

#include "once/transcript.h"

struct seen {
    uint8_t bytes[2][65536];
    size_t length[2];
};

static bool see(void *context, size_t stream, mcds_bytes bytes)
{
    struct seen *seen = context;
    MUST(stream < 2);
    if (bytes.length > sizeof seen->bytes[0] - seen->length[stream])
        return false;
    if (bytes.length > 0)
        memcpy(seen->bytes[stream] + seen->length[stream], bytes.data, bytes.length);
    seen->length[stream] += bytes.length;
    return true;
}

/* The bytes of the input as parts of both streams. */
static void write_and_read(const uint8_t *data, size_t size)
{
    static struct seen given, found;
    struct transcript transcript = {.data = NULL};
    memset(&given, 0, sizeof given);
    memset(&found, 0, sizeof found);
    for (size_t at = 0; at < size;) {
        size_t stream = data[at] & 1;
        size_t length = (size_t)data[at] >> 1;
        length = length < size - at - 1 ? length : size - at - 1;
        transcript_add(&transcript, stream, (const char *)data + at + 1, length);
        (void)see(&given, stream, (mcds_bytes){data + at + 1, length});
        at += 1 + length;
    }
    MUST(!transcript_read(transcript_bytes(&transcript), see, &found));
    MUST(memcmp(&given, &found, sizeof given) == 0);
    size_t most = size > 0 ? 4 + data[0] : 4;
    bool is_cut = transcript.length > most;
    transcript_cut(&transcript, most);
    memset(&found, 0, sizeof found);
    MUST(transcript.length <= most || !is_cut);
    MUST(transcript_read(transcript_bytes(&transcript), see, &found) == is_cut);
    for (size_t stream = 0; stream < 2; stream++) {
        MUST(found.length[stream] <= given.length[stream]);
        MUST(memcmp(given.bytes[stream], found.bytes[stream], found.length[stream]) == 0);
    }
    transcript_free(&transcript);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct seen seen;
    memset(&seen, 0, sizeof seen);
    if (size > sizeof seen.bytes[0])
        return 0;
    (void)transcript_read((mcds_bytes){data, size}, see, &seen);
    MUST(seen.length[0] + seen.length[1] <= size);
    write_and_read(data, size);
    return 0;
}
