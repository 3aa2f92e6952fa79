/* Segment: the places for which operations of one pipeline wait in lines (engine/line_wait.h). */
#ifndef MCDS_CORE_SEGMENT_LINE_H
#define MCDS_CORE_SEGMENT_LINE_H

#include "core/segment/segment.h"
#include "engine/line_wait.h"

enum mcds__segment_line {
    MCDS__SEGMENT_LINE_ROOT,  /* of the handle: to learn the life */
    MCDS__SEGMENT_LINE_PROOF, /* of the handle: to see that the life is not over */
    MCDS__SEGMENT_LINE_END, /* of a stream: to find or make the last segment, and for room in it */
    MCDS__SEGMENT_LINE_COUNT /* to close segments and write the count */
};

static inline uint64_t mcds__segment_line(const struct mcds__segments *segments,
                                          uint64_t stream, enum mcds__segment_line line)
{
    uint64_t mixed = (stream + (uint64_t)line) * UINT64_C(0xC2B2AE3D27D4EB4F);
    return ((uint64_t)(uintptr_t)segments ^ (mixed >> 16 | mixed << 48)) | 1;
}

#endif
