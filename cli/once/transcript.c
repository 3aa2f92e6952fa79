/* Transcript: what a command has printed. */
#include "once/transcript.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1
#define HEAD 4
#define PART 5 /* before the bytes of a part */
#define CAPACITY 4096
#define MOST ((size_t)MCDS_ONCE_RESULT_MAX)

enum { FLAG_CUT = 1 };

static void put_u32(uint8_t *out, size_t number)
{
    for (size_t i = 0; i < 4; i++)
        out[i] = (uint8_t)(number >> 8 * i);
}

static size_t get_u32(const uint8_t *at)
{
    return (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
}

static bool make_room(struct transcript *transcript, size_t length)
{
    size_t capacity = transcript->capacity > 0 ? transcript->capacity : CAPACITY;
    while (capacity < length)
        capacity *= 2;
    if (capacity == transcript->capacity)
        return true;
    uint8_t *data = realloc(transcript->data, capacity);
    if (data == NULL)
        return false;
    transcript->data = data;
    transcript->capacity = capacity;
    return true;
}

static bool begin(struct transcript *transcript)
{
    static const uint8_t head[HEAD] = {'m', 'o', VERSION, 0};
    if (transcript->length > 0)
        return true;
    if (!make_room(transcript, HEAD))
        return false;
    memcpy(transcript->data, head, HEAD);
    transcript->length = HEAD;
    return true;
}

/* Whether the next bytes of the stream belong to the last part. */
static bool continues(const struct transcript *transcript, size_t stream)
{
    return transcript->last > 0 && transcript->data[transcript->last] == stream + 1;
}

static size_t length_before(const struct transcript *transcript, size_t stream)
{
    return transcript->length + (continues(transcript, stream) ? 0 : PART);
}

/* False: no memory, and nothing is added. */
static bool append(struct transcript *transcript, size_t stream, const char *bytes,
                   size_t length)
{
    size_t before = length_before(transcript, stream);
    if (!make_room(transcript, before + length))
        return false;
    if (!continues(transcript, stream)) {
        transcript->last = transcript->length;
        transcript->data[transcript->last] = (uint8_t)(stream + 1);
    }
    memcpy(transcript->data + before, bytes, length);
    transcript->length = before + length;
    put_u32(transcript->data + transcript->last + 1,
            transcript->length - transcript->last - PART);
    return true;
}

void transcript_add(struct transcript *transcript, size_t stream, const char *bytes,
                    size_t length)
{
    if (length == 0 || !begin(transcript) || transcript_is_cut(transcript))
        return;
    size_t before = length_before(transcript, stream);
    size_t kept = before >= MOST ? 0 : MOST - before < length ? MOST - before : length;
    bool is_kept = kept > 0 && append(transcript, stream, bytes, kept);
    if (!is_kept || kept < length)
        transcript->data[HEAD - 1] |= FLAG_CUT;
}

bool transcript_set(struct transcript *transcript, mcds_bytes bytes)
{
    return begin(transcript) &&
           (bytes.length == 0 || append(transcript, 0, bytes.data, bytes.length));
}

bool transcript_cut(struct transcript *transcript, size_t most)
{
    size_t at = HEAD;
    if (transcript->length <= HEAD || transcript->length <= most)
        return false;
    transcript->last = 0;
    while (at + PART < most) {
        size_t length = get_u32(transcript->data + at + 1);
        transcript->last = at;
        if (length > most - at - PART)
            put_u32(transcript->data + at + 1, length = most - at - PART);
        at += PART + length;
    }
    assert(at < transcript->length);
    transcript->length = at;
    transcript->data[HEAD - 1] |= FLAG_CUT;
    return true;
}

bool transcript_is_cut(const struct transcript *transcript)
{
    return transcript->length > 0 && (transcript->data[HEAD - 1] & FLAG_CUT) != 0;
}

/* Whether the parts after the head fill the result. */
static bool is_transcript(const uint8_t *data, size_t length)
{
    size_t at = HEAD;
    if (length < HEAD || data[0] != 'm' || data[1] != 'o' || data[2] != VERSION ||
        data[3] > FLAG_CUT)
        return false;
    while (at + PART <= length && (data[at] == 1 || data[at] == 2) &&
           get_u32(data + at + 1) <= length - at - PART)
        at += PART + get_u32(data + at + 1);
    return at == length;
}

/* Whether all of it is standard output, and whole. */
static bool is_plain(const struct transcript *transcript)
{
    return !transcript_is_cut(transcript) &&
           (transcript->length == HEAD ||
            (transcript->last == HEAD && transcript->data[HEAD] == 1));
}

mcds_bytes transcript_bytes(struct transcript *transcript)
{
    if (!begin(transcript))
        return (mcds_bytes){NULL, 0};
    mcds_bytes whole = {transcript->data, transcript->length};
    if (!is_plain(transcript))
        return whole;
    size_t before = transcript->length == HEAD ? HEAD : HEAD + PART;
    mcds_bytes output = {transcript->data + before, transcript->length - before};
    return is_transcript(output.data, output.length) ? whole : output;
}

void transcript_free(struct transcript *transcript)
{
    free(transcript->data);
    *transcript = (struct transcript){.data = NULL};
}

bool transcript_read(mcds_bytes result,
                     bool (*visit)(void *context, size_t stream, mcds_bytes bytes),
                     void *context)
{
    const uint8_t *data = result.data;
    if (!is_transcript(data, result.length)) {
        (void)visit(context, 0, result);
        return false;
    }
    bool wants_more = true;
    for (size_t at = HEAD; wants_more && at < result.length;) {
        size_t length = get_u32(data + at + 1);
        wants_more = visit(context, (size_t)data[at] - 1,
                           (mcds_bytes){data + at + PART, length});
        at += PART + length;
    }
    return (data[3] & FLAG_CUT) != 0;
}
