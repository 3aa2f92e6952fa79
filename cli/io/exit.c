/* Exit codes and advice for the results of the library. */
#include "io/exit.h"

#include <errno.h>

#include "mcds.h"

int status_of(int result)
{
    switch (result) {
    case MCDS_OK:
    case MCDS_EXISTS:
    case MCDS_IDLE:
        return STATUS_DONE;
    case MCDS_NOT_FOUND:
        return STATUS_NO;
    case MCDS_BUSY:
        return STATUS_BUSY;
    case MCDS_AMBIGUOUS:
        return STATUS_AMBIGUOUS;
    case MCDS_LOST:
    case MCDS_EXPIRED:
        return STATUS_LOST;
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
        return STATUS_UNREACHABLE;
    case MCDS_INVALID:
        return STATUS_USAGE;
    case MCDS_TOO_BIG:
    case MCDS_CORRUPT:
    case MCDS_OVERFLOW:
        return STATUS_DATA;
    case MCDS_UNSUPPORTED:
    case MCDS_PROTOCOL:
        return STATUS_PROTOCOL;
    case MCDS_NO_MEMORY:
        return STATUS_INTERNAL;
    default:
        return STATUS_IO;
    }
}

bool is_unanswered(int result)
{
    return result == MCDS_AMBIGUOUS || result == MCDS_TIMEOUT || result == MCDS_UNAVAILABLE;
}

const char *advice_on(int result)
{
    switch (result) {
    case MCDS_TIMEOUT:
        return "; --timeout allows more time";
    case MCDS_UNAVAILABLE:
        return "; 'mcds doctor' reports more";
    case MCDS_CORRUPT:
        return ADVICE_ON_FOREIGN;
    case MCDS_PROTOCOL:
        return "; is this the port of a memcached server?";
    default:
        return "";
    }
}

bool is_shortage(int reason)
{
    return reason == EMFILE || reason == ENFILE || reason == EAGAIN || reason == ENOMEM;
}

const char *advice_on_errno(int reason)
{
    switch (reason) {
    case EMFILE:
        return "; raise the limit (ulimit -n)";
    case EAGAIN:
        return "; raise the limit of processes (ulimit -u)";
    case ENOMEM:
        return "; raise the limit of memory (ulimit -v)";
    default:
        return "";
    }
}
