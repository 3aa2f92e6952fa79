/* Segment: the requests that read or close many segments of one stream at once. */
#include <assert.h>

#include "base/environment.h"
#include "core/segment/segment.h"

struct mcds__segment_scratch *mcds__segment_get_scratch(struct mcds__segment_scratch **scratch,
                                                        const mcds_env *env)
{
    if (*scratch == NULL)
        *scratch = mcds__allocate(env, sizeof **scratch);
    return *scratch;
}

void mcds__segment_fill(struct mcds__segment_scratch *scratch, uint32_t i, mcds_command command,
                        mcds_bytes route)
{
    assert(i < MCDS__SEGMENT_CAPACITY);
    scratch->requests[i] = (mcds_request){
        .command = command,
        .key = mcds__key_bytes(&scratch->keys[i]),
        .route = route,
    };
}

void mcds__segment_fill_get(const struct mcds__segments *segments, uint64_t stream,
                            struct mcds__segment_scratch *scratch, uint32_t i, uint64_t segment,
                            uint32_t options)
{
    assert(i < MCDS__SEGMENT_CAPACITY);
    scratch->positions[i] = segment;
    mcds__segment_fill(scratch, i, MCDS_GET,
                       mcds__segment_key(segments, stream, segment, &scratch->keys[i]));
    scratch->requests[i].options = options;
}

void mcds__segment_fill_close(const struct mcds__segments *segments, uint64_t stream,
                              struct mcds__segment_scratch *scratch, uint32_t i,
                              uint64_t segment, size_t size)
{
    static const uint8_t zeros[MCDS__SEGMENT_LIMIT + 1];
    mcds__segment_fill_get(segments, stream, scratch, i, segment, 0);
    scratch->requests[i].command = MCDS_APPEND;
    scratch->requests[i].value = (mcds_bytes){
        zeros, size <= MCDS__SEGMENT_LIMIT ? MCDS__SEGMENT_LIMIT + 1 - size : 1};
}

uint32_t mcds__segment_fill_far(const struct mcds__segments *segments, uint64_t stream,
                                struct mcds__segment_scratch *scratch, uint32_t first,
                                uint64_t from)
{
    uint32_t count = first;
    for (unsigned bit = 1; bit <= MCDS__SEGMENT_FAR; bit++)
        mcds__segment_fill_get(segments, stream, scratch, count++, from + (UINT64_C(1) << bit),
                               MCDS_NO_VALUE);
    return count;
}
