/* Ids: a handle, its options, and the calls. */
#include "structures/ids/ids.h"

#include <assert.h>

#include "base/environment.h"
#include "base/error.h"
#include "core/tally/tally.h"

#define SPREAD_MS 1000
#define SPREAD_MS_MAX 60000

static int ids_check_options(const char *name, const mcds_ids_options *options)
{
    const struct mcds__given spread = {MCDS_CAUSE_OUT_OF_RANGE, "spread_ms", options->spread_ms,
                                       1, SPREAD_MS_MAX};
    if (options->bits != 0 && options->bits != MCDS_IDS_BITS_53 &&
        options->bits != MCDS_IDS_BITS_63)
        return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, .noun = "ids", .name = name,
                          .option = "bits", .wanted = "0, 53 or 63",
                          MCDS__FOUND(options->bits));
    return mcds__check_given("ids", name, NULL, &spread, 1);
}

/* The store is checked also where the handle has ids: a child process has a copy of them. */
static int ids_check(const mcds_ids *ids, const struct mcds__operation_kind *kind, uint64_t n,
                     const uint64_t *first_out)
{
    if (ids == NULL || first_out == NULL)
        return mcds__fail_missing("ids", kind->verb, "a handle and a place for the id");
    if (n < 1 || n > MCDS_IDS_TAKE_MAX)
        return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, MCDS__CALL(kind, ids->handle.name),
                          .option = "n", .wanted_min = 1, .wanted_max = MCDS_IDS_TAKE_MAX,
                          MCDS__FOUND(n));
    return mcds__store_check_process(ids->handle.store);
}

static int ids_launch(mcds_ids *ids, const struct mcds__operation_kind *kind, uint64_t n,
                      uint64_t *first_out, const struct mcds__start *start)
{
    int result = ids_check(ids, kind, n, first_out);
    if (result != MCDS_OK)
        return result;
    if (start == NULL && mcds__ids_use(ids, n, first_out))
        return MCDS_OK;
    return mcds__ids_take(ids, kind, n, first_out, start);
}

int mcds_ids_next_start(mcds_ids *ids, uint64_t *id_out, mcds_pipeline *pipeline, uint64_t tag)
{
    return ids_launch(ids, &mcds__ids_next_kind, 1, id_out, MCDS__START(pipeline, tag));
}

int mcds_ids_next(mcds_ids *ids, uint64_t *id_out)
{
    return mcds_ids_next_start(ids, id_out, MCDS__WAIT, 0);
}

int mcds_ids_take_start(mcds_ids *ids, uint64_t n, uint64_t *first_out, mcds_pipeline *pipeline,
                        uint64_t tag)
{
    return ids_launch(ids, &mcds__ids_take_kind, n, first_out, MCDS__START(pipeline, tag));
}

int mcds_ids_take(mcds_ids *ids, uint64_t n, uint64_t *first_out)
{
    return mcds_ids_take_start(ids, n, first_out, MCDS__WAIT, 0);
}

/* One request for the key. */
struct ids_key_call {
    struct mcds__operation base;
    struct mcds__key key;
    uint8_t stage;
    struct mcds__ids_value value; /* out, of a read */
    mcds_request request;
};

static enum mcds__step step_ids_drop(struct mcds__operation *operation)
{
    struct ids_key_call *drop = (struct ids_key_call *)operation;
    return mcds__tally_drop_step(&drop->request, &drop->key, 1, NULL, &drop->stage, operation);
}

static const struct mcds__operation_kind drop_kind = {
    "ids", "drop", sizeof(struct ids_key_call), step_ids_drop, NULL};

int mcds_ids_drop_start(mcds_ids *ids, mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    int result = MCDS_OK;
    if (ids == NULL)
        return mcds__fail_missing("ids", "drop", "a handle");
    struct ids_key_call own;
    struct ids_key_call *drop = mcds__call_begin_zero(&own.base, &drop_kind, &ids->handle,
                                                      start, &result);
    if (drop == NULL)
        return result;
    drop->key = ids->key;
    return mcds__call_launch(&drop->base, start);
}

int mcds_ids_drop(mcds_ids *ids)
{
    return mcds_ids_drop_start(ids, MCDS__WAIT, 0);
}

static enum mcds__step step_ids_read(struct mcds__operation *operation)
{
    struct ids_key_call *read = (struct ids_key_call *)operation;
    const mcds_reason *detail = NULL;
    enum mcds__step step = mcds__tally_read_step(&read->request, &read->key, 1, NULL, 0,
                                                 &read->stage, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    if (read->request.reply.outcome == MCDS_OUT_MISS)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    int result = mcds__ids_decode(mcds__operation_value(operation, &read->request),
                                  read->request.key, &read->value, &detail);
    return mcds__operation_explain(operation, result, detail);
}

static const struct mcds__operation_kind read_kind = {
    "ids", "open", sizeof(struct ids_key_call), step_ids_read, NULL};

int mcds_ids_made_with(mcds_store *store, const char *name, mcds_ids_options *options)
{
    struct ids_key_call read;
    mcds_ids_options own;
    int result = mcds__check_open("ids", "open", store, name, options, MCDS__MADE_WITH_NEEDED);
    if (result == MCDS_OK)
        result = mcds__sized_check(MCDS__SIZED_mcds_ids_options, options);
    if (result != MCDS_OK)
        return result;
    mcds__operation_begin(&read.base, &read_kind, store, name, 0);
    mcds__operation_clear(&read.base);
    mcds__key_begin(&read.key, mcds__store_ns(store), MCDS__TAG_IDS, name);
    result = mcds__call_launch(&read.base, NULL);
    if (result != MCDS_OK)
        return result;
    mcds__sized_take(MCDS__SIZED_mcds_ids_options, options, &own);
    own.bits = read.value.bits;
    mcds__sized_write(MCDS__SIZED_mcds_ids_options, options, &own);
    return MCDS_OK;
}

static void destroy_ids(struct mcds__handle *handle)
{
    (void)pthread_mutex_destroy(&((mcds_ids *)handle)->mutex);
}

int mcds_ids_open(mcds_store *store, const char *name, const mcds_ids_options *options,
                  mcds_ids **ids_out)
{
    mcds_ids_options own;
    int result = mcds__read_options("ids", store, name, ids_out, MCDS__SIZED_mcds_ids_options,
                                    options, &own);
    if (result == MCDS_OK)
        result = ids_check_options(name, &own);
    if (result != MCDS_OK)
        return result;
    mcds_ids *ids = mcds__handle_open("ids", store, name, sizeof *ids, destroy_ids);
    if (ids == NULL)
        return MCDS_NO_MEMORY;
    (void)pthread_mutex_init(&ids->mutex, NULL);
    ids->bits = own.bits > 0 ? own.bits : MCDS_IDS_BITS_63;
    ids->spread_ms = own.spread_ms > 0 ? own.spread_ms : SPREAD_MS;
    mcds__key_begin(&ids->key, mcds__store_ns(store), MCDS__TAG_IDS, name);
    assert(ids->next == 0 && ids->end == 0);
    *ids_out = ids;
    return MCDS_OK;
}

void mcds_ids_close(mcds_ids *ids)
{
    mcds__handle_release((struct mcds__handle *)ids);
}
