/* Once: the handle and its options. */
#include "structures/once/once.h"

#include <assert.h>

#include "base/environment.h"
#include "base/error.h"

#define DAY_MS (UINT64_C(24) * 3600 * 1000)
#define KEEP_MS_DEFAULT DAY_MS
#define KEEP_MS_MAX (366 * DAY_MS)
#define RUN_MS_DEFAULT 60000
#define RUN_MS_MAX 86400000
#define RUN_MS_MIN 50
/* Where ttls are whole seconds and may end early. */
#define RUN_MS_MIN_COARSE 3000

struct mcds__key mcds__once_key(const mcds_once *once, mcds_bytes key)
{
    struct mcds__key whole = once->begin;
    assert(key.length > 0);
    mcds__key_add_bytes(&whole, key);
    return whole;
}

/* The largest result that fits into a value of the store. A memcached says it when it is connected. */
static uint64_t result_max(const mcds_once *once)
{
    const mcds_capabilities can = mcds__store_can(once->handle.store);
    assert(can.value_max > MCDS__ONCE_CLAIM_BYTES);
    uint64_t most = can.value_max - MCDS__ONCE_CLAIM_BYTES;
    return most < MCDS_ONCE_RESULT_MAX ? most : MCDS_ONCE_RESULT_MAX;
}

int mcds__once_check_result(const mcds_once *once, const struct mcds__operation_kind *kind,
                            mcds_bytes result)
{
    if (result.data == NULL && result.length > 0)
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING, MCDS__CALL(kind, once->handle.name),
                          .option = "result");
    uint64_t most = result_max(once);
    if (result.length > most)
        return mcds__fail(MCDS_TOO_BIG, TOO_BIG, MCDS__CALL(kind, once->handle.name),
                          .option = "result", .wanted_max = mcds__clamped(most),
                          MCDS__FOUND(result.length));
    return mcds__check_wall(kind, &once->handle);
}

enum mcds__step mcds__once_end(struct mcds__operation *operation, bool doubt)
{
    int result = operation->result;
    if (doubt && (result == MCDS_BUSY || (result < 0 && result != MCDS_LOST)))
        operation->result = MCDS_AMBIGUOUS;
    return MCDS__DONE;
}

static int once_check_options(const char *name, const mcds_once_options *options,
                              const mcds_capabilities *can)
{
    uint32_t least_ms = can->ttl_early_ms > 0 ? RUN_MS_MIN_COARSE : RUN_MS_MIN;
    const struct mcds__given given[] = {
        {MCDS_CAUSE_OUT_OF_RANGE, "keep_ms", options->keep_ms, 1, KEEP_MS_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "run_ms", options->run_ms, least_ms, RUN_MS_MAX},
        {MCDS_CAUSE_UNKNOWN_VALUE, "flags", options->flags, 0, MCDS_ONCE_STRICT},
    };
    int result = mcds__check_given("once", name, NULL, given, sizeof given / sizeof given[0]);
    if (result != MCDS_OK)
        return result;
    if (!can->expires)
        return mcds__fail_why(MCDS_UNSUPPORTED, MCDS__WHY(CLAIM_WITHOUT_EXPIRY), .noun = "once",
                              .name = name);
    if (!can->compare_and_set)
        return mcds__fail_why(MCDS_UNSUPPORTED, MCDS__WHY(ONCE_WITHOUT_CAS), .noun = "once",
                              .name = name);
    return MCDS_OK;
}

int mcds_once_open(mcds_store *store, const char *name, const mcds_once_options *options,
                   mcds_once **once_out)
{
    mcds_once_options own;
    int result = mcds__read_options("once", store, name, once_out,
                                    MCDS__SIZED_mcds_once_options, options, &own);
    if (result != MCDS_OK)
        return result;
    const mcds_capabilities can = mcds__store_can(store);
    result = once_check_options(name, &own, &can);
    if (result != MCDS_OK)
        return result;
    mcds_once *once = mcds__handle_open("once", store, name, sizeof *once, NULL);
    if (once == NULL)
        return MCDS_NO_MEMORY;
    once->keep_ms = own.keep_ms > 0 ? own.keep_ms : KEEP_MS_DEFAULT;
    once->run_ms = own.run_ms > 0 ? own.run_ms : RUN_MS_DEFAULT;
    once->ttl_early_ms = can.ttl_early_ms;
    once->strict = (own.flags & MCDS_ONCE_STRICT) != 0;
    assert(once->run_ms >= RUN_MS_MIN && once->run_ms <= RUN_MS_MAX);
    mcds__key_begin(&once->begin, mcds__store_ns(store), MCDS__TAG_ONCE, name);
    *once_out = once;
    return MCDS_OK;
}

void mcds_once_close(mcds_once *once)
{
    mcds__handle_release((struct mcds__handle *)once);
}
