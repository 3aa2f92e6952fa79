#include "support/pass_over.h"

bool pass_bytes(void *context, mcds_bytes bytes)
{
    (void)context, (void)bytes;
    return true;
}

bool pass_element(void *context, mcds_bytes element, uint64_t count)
{
    (void)context, (void)element, (void)count;
    return true;
}

bool pass_entry(void *context, mcds_bytes key, mcds_bytes value)
{
    (void)context, (void)key, (void)value;
    return true;
}

bool pass_event(void *context, const mcds_log_event *event)
{
    (void)context, (void)event;
    return true;
}

bool pass_job(void *context, const mcds_queue_entry *job)
{
    (void)context, (void)job;
    return true;
}

bool pass_listed(void *context, const mcds_listed *listed)
{
    (void)context, (void)listed;
    return true;
}

bool pass_take(void *context, mcds_bytes identity, const mcds_limit_value *take)
{
    (void)context, (void)identity, (void)take;
    return true;
}
