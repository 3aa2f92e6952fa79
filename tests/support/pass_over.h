/* What a scan calls for each thing that it finds: these let every one pass. */
#ifndef MCDS_TESTS_SUPPORT_PASS_OVER_H
#define MCDS_TESTS_SUPPORT_PASS_OVER_H

#include "mcds.h"

bool pass_bytes(void *context, mcds_bytes bytes);
bool pass_element(void *context, mcds_bytes element, uint64_t count);
bool pass_entry(void *context, mcds_bytes key, mcds_bytes value);
bool pass_event(void *context, const mcds_log_event *event);
bool pass_job(void *context, const mcds_queue_entry *job);
bool pass_listed(void *context, const mcds_listed *listed);
bool pass_take(void *context, mcds_bytes identity, const mcds_limit_value *take);

#endif
