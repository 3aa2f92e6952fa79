/* A request that a hook keeps back, and that arrives later. */
#ifndef MCDS_TESTS_LATE_REQUEST_H
#define MCDS_TESTS_LATE_REQUEST_H

#include <string.h>

#include "support/hooked_backend.h"

#define LATE_VALUE_MAX 512

struct late_request {
    mcds_command command;
    uint64_t ttl_ms;
    mcds_cas_token cas;
    size_t key_length;
    size_t value_length;
    char key[251];
    uint8_t value[LATE_VALUE_MAX];
};

static inline void late_request_keep(struct late_request *late, const mcds_request *request)
{
    assert_true(request->value.length <= sizeof late->value);
    late->command = request->command;
    late->ttl_ms = request->ttl_ms;
    late->cas = request->cas;
    late->key_length = request->key.length;
    late->value_length = request->value.length;
    memcpy(late->key, request->key.data, request->key.length);
    if (request->value.length > 0)
        memcpy(late->value, request->value.data, request->value.length);
}

/* Let it arrive. */
static inline void late_request_deliver(const struct late_request *late,
                                        struct hooked_backend *backend)
{
    mcds_request request = {.command = late->command,
                            .ttl_ms = late->ttl_ms,
                            .cas = late->cas,
                            .key = {late->key, late->key_length},
                            .value = {late->value, late->value_length}};
    mcds_batch batch = {.requests = &request, .count = 1, .deadline_ns = INT64_MAX};
    mcds__backend_memory.submit(backend->inner, &batch);
}

#endif
