/* Replies: what the outcomes of requests mean for a call. */
#include "engine/reply.h"

int mcds__result_of(const mcds_reply *reply)
{
    switch (reply->outcome) {
    case MCDS_OUT_OK:
        return MCDS_OK;
    case MCDS_OUT_MISS:
        return MCDS_NOT_FOUND;
    case MCDS_OUT_EXISTS:
    case MCDS_OUT_NOT_STORED:
        return MCDS_EXISTS;
    case MCDS_OUT_TOO_BIG:
        return MCDS_TOO_BIG;
    case MCDS_OUT_NO_MEMORY:
        return MCDS_FULL;
    case MCDS_OUT_NO_BUFFER:
        return MCDS_NO_MEMORY;
    case MCDS_OUT_NOT_NUMERIC:
        return MCDS_CORRUPT;
    case MCDS_OUT_BAD_REQUEST:
        return MCDS_INVALID;
    case MCDS_OUT_UNSUPPORTED:
        return MCDS_UNSUPPORTED;
    case MCDS_OUT_PROTOCOL:
        return MCDS_PROTOCOL;
    case MCDS_OUT_UNSENT:
        return mcds__result_of_unsent(reply->detail);
    case MCDS_OUT_UNKNOWN:
        return MCDS_AMBIGUOUS;
    default:
        return MCDS_IO;
    }
}

bool mcds__is_transport_trouble(const mcds_reply *reply)
{
    return reply->outcome == MCDS_OUT_UNSENT || reply->outcome == MCDS_OUT_UNKNOWN;
}

bool mcds__is_refusal(const mcds_reply *reply)
{
    switch (reply->outcome) {
    case MCDS_OUT_TOO_BIG:
    case MCDS_OUT_NO_MEMORY:
    case MCDS_OUT_NO_BUFFER:
    case MCDS_OUT_NOT_NUMERIC:
    case MCDS_OUT_BAD_REQUEST:
    case MCDS_OUT_UNSUPPORTED:
    case MCDS_OUT_FAILED:
    case MCDS_OUT_PROTOCOL:
        return true;
    default:
        return false;
    }
}

const mcds_reply *mcds__first_trouble(const mcds_request *requests, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (requests[i].reply.outcome != MCDS_OUT_OK &&
            requests[i].reply.outcome != MCDS_OUT_MISS)
            return &requests[i].reply;
    return NULL;
}

bool mcds__may_be_applied(const mcds_request *requests, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (requests[i].reply.outcome == MCDS_OUT_OK ||
            requests[i].reply.outcome == MCDS_OUT_UNKNOWN)
            return true;
    return false;
}
