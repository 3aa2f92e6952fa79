/* A home around another that counts and fails. */
#include "support/counting_home.h"

#include <string.h>

#include "base/environment.h"
#include "store/homes.h"
#include "store/uri.h"

struct counting_lane {
    struct counting_home *counting;
    void *inner;          /* lane, or home when that has none */
    mcds_batch *answered; /* for collect */
};

const char *fault_name(enum fault fault)
{
    static const char *const names[FAULT_COUNT] = {
        "none",        "unsent",    "no memcached", "cut before", "cut after",
        "cut between", "no memory", "too big",      "failed",
    };
    return names[fault];
}

/* Have the inner home answer a list, and hand it back whole. */
static void carry_out(struct counting_lane *lane, mcds_batch *first)
{
    const mcds_home *inner = lane->counting->inner;
    uint32_t open = 0;
    for (mcds_batch *batch = first; batch != NULL; batch = batch->next)
        open++;
    inner->submit(lane->inner, first);
    mcds_batch *list = NULL;
    while (inner->lane_open != NULL && open > 0) {
        mcds_batch *done = inner->collect(lane->inner, INT64_MAX);
        while (done != NULL) {
            mcds_batch *next = done->next;
            done->next = list;
            list = done;
            done = next;
            open--;
        }
    }
    if (inner->lane_open != NULL) {
        lane->answered = list;
        return;
    }
    lane->answered = first;
}

/* Have `count` requests of the batch from `at` on carried out. */
static void carry_out_part(struct counting_lane *lane, const mcds_batch *batch, uint32_t at,
                           uint32_t count)
{
    mcds_batch part = *batch;
    if (count == 0)
        return;
    part.requests += at;
    part.count = count;
    part.answered = 0;
    part.next = NULL;
    mcds_batch *kept = lane->answered;
    carry_out(lane, &part);
    lane->answered = kept;
}

static void answer(mcds_batch *batch, uint32_t at, uint32_t until, mcds_outcome outcome)
{
    static const mcds_reason fault = {.cause = MCDS_CAUSE_OTHER, .text = "a fault of the test"};
    for (uint32_t i = at; i < until; i++) {
        memset(&batch->requests[i].reply, 0, sizeof batch->requests[i].reply);
        batch->requests[i].reply.outcome = outcome;
        batch->requests[i].reply.detail = &fault;
    }
}

static void note_erasures(struct counting_home *counting, const mcds_batch *batch, uint32_t at,
                          uint32_t until)
{
    for (uint32_t i = at; i < until; i++)
        counting->fault_erasures += batch->requests[i].command == MCDS_DELETE;
}

/* Request `at` meets the fault, those before it do not. Returns how many have been answered. */
static uint32_t meet_fault(struct counting_lane *lane, mcds_batch *batch, uint32_t at)
{
    uint32_t rest = batch->count - at;
    enum fault fault = lane->counting->fault;
    carry_out_part(lane, batch, 0, at);
    note_erasures(lane->counting, batch, at, fault < FAULT_NO_MEMORY ? batch->count : at + 1);
    switch (fault) {
    case FAULT_UNSENT:
        answer(batch, at, batch->count, MCDS_OUT_UNSENT);
        return batch->count;
    case FAULT_PROTOCOL:
        answer(batch, at, batch->count, MCDS_OUT_PROTOCOL);
        return batch->count;
    case FAULT_CUT_AFTER:
    case FAULT_CUT_BETWEEN:
        carry_out_part(lane, batch, at, lane->counting->fault == FAULT_CUT_AFTER ? rest : 1);
        answer(batch, at, batch->count, MCDS_OUT_UNKNOWN);
        return batch->count;
    case FAULT_CUT_BEFORE:
        answer(batch, at, batch->count, MCDS_OUT_UNKNOWN);
        return batch->count;
    case FAULT_NO_MEMORY:
        answer(batch, at, at + 1, MCDS_OUT_NO_MEMORY);
        break;
    case FAULT_TOO_BIG:
        answer(batch, at, at + 1, MCDS_OUT_TOO_BIG);
        break;
    default:
        answer(batch, at, at + 1, MCDS_OUT_FAILED);
    }
    return at + 1;
}

static void answer_batch(struct counting_lane *lane, mcds_batch *batch)
{
    struct counting_home *counting = lane->counting;
    mcds_batch rest = *batch;
    rest.next = NULL;
    while (rest.count > 0) {
        uint64_t first = counting->requests + 1;
        uint64_t last = counting->requests + rest.count;
        bool hit = counting->fault != FAULT_NONE && last >= counting->fault_at &&
                   (counting->fault_stays || first <= counting->fault_at);
        uint32_t at = counting->fault_at > first ? (uint32_t)(counting->fault_at - first) : 0;
        uint32_t done = rest.count;
        if (hit && !counting->fault_came) {
            counting->fault_first = first;
            counting->fault_last = last;
        }
        counting->fault_came = counting->fault_came || hit;
        if (hit)
            done = meet_fault(lane, &rest, at);
        else
            carry_out_part(lane, &rest, 0, rest.count);
        counting->requests += done;
        rest.requests += done;
        rest.count -= done;
    }
    batch->answered = batch->count;
}

static void spoil_tokens(mcds_batch *first)
{
    for (mcds_batch *batch = first; batch != NULL; batch = batch->next)
        for (uint32_t i = 0; i < batch->count; i++)
            if (batch->requests[i].cas.connection != 0)
                batch->requests[i].cas.unique ^= UINT64_C(1) << 40;
}

static void counting_submit(void *lane_state, mcds_batch *first)
{
    struct counting_lane *lane = lane_state;
    struct counting_home *counting = lane->counting;
    counting->submits++;
    if (counting->stale_tokens)
        spoil_tokens(first);
    for (mcds_batch *batch = first; batch != NULL; batch = batch->next)
        counting->batches++;
    if (counting->fault == FAULT_NONE) {
        for (mcds_batch *batch = first; batch != NULL; batch = batch->next)
            counting->requests += batch->count;
        mcds_batch *kept = lane->answered;
        carry_out(lane, first);
        mcds_batch **end = &lane->answered;
        while (*end != NULL)
            end = &(*end)->next;
        *end = kept;
        return;
    }
    for (mcds_batch *batch = first, *next; batch != NULL; batch = next) {
        next = batch->next;
        answer_batch(lane, batch);
        batch->next = lane->answered;
        lane->answered = batch;
    }
}

static mcds_batch *counting_collect(void *lane_state, int64_t until_ns)
{
    struct counting_lane *lane = lane_state;
    mcds_batch *list = lane->answered;
    (void)until_ns;
    lane->answered = NULL;
    return list;
}

static int counting_lane_open(void *home, void **lane_out)
{
    struct counting_home *counting = home;
    struct counting_lane *lane = mcds__allocate_zero(counting->env, sizeof *lane);
    if (lane == NULL)
        return mcds_fail(MCDS_NO_MEMORY, "counting: out of memory");
    lane->counting = counting;
    lane->inner = counting->inner_home;
    int result = MCDS_OK;
    if (counting->inner->lane_open != NULL)
        result = counting->inner->lane_open(counting->inner_home, &lane->inner);
    if (result != MCDS_OK)
        mcds__free(counting->env, lane);
    else
        *lane_out = lane;
    return result;
}

static void counting_lane_close(void *lane_state)
{
    struct counting_lane *lane = lane_state;
    if (lane->counting->inner->lane_close != NULL)
        lane->counting->inner->lane_close(lane->inner);
    mcds__free(lane->counting->env, lane);
}

static bool counting_lane_holds(void *lane_state, uint64_t connection)
{
    struct counting_lane *lane = lane_state;
    const mcds_home *inner = lane->counting->inner;
    return inner->lane_holds == NULL || inner->lane_holds(lane->inner, connection);
}

static void counting_capabilities(void *home, mcds_capabilities *out)
{
    struct counting_home *counting = home;
    counting->inner->capabilities(counting->inner_home, out);
}

static int counting_keys(void *home, mcds_bytes prefix,
                         bool (*visit)(void *context, mcds_bytes key), void *context)
{
    struct counting_home *counting = home;
    if (counting->inner->keys == NULL)
        return mcds_fail(MCDS_UNSUPPORTED, "counting: the home within lists no keys");
    return counting->inner->keys(counting->inner_home, prefix, visit, context);
}

static void counting_close(void *home)
{
    struct counting_home *counting = home;
    counting->inner->close(counting->inner_home);
}

void counting_home_arm(struct counting_home *counting, enum fault fault, uint64_t at,
                       bool stays)
{
    counting->submits = counting->batches = counting->requests = 0;
    counting->fault = fault;
    counting->fault_at = at;
    counting->fault_stays = stays;
    counting->fault_came = false;
}

int counting_home_open(struct counting_home *counting, const char *uri_text,
                       const mcds_env *inner_env, const mcds_options *options,
                       mcds_store **store_out)
{
    static const mcds_home *const homes[] = {&mcds__home_memory, &mcds__home_lmdb,
                                             &mcds__home_memcached};
    static struct mcds_uri uri;
    memset(counting, 0, sizeof *counting);
    int result = mcds__uri_parse(uri_text, &uri);
    for (size_t i = 0; result == MCDS_OK && i < sizeof homes / sizeof homes[0]; i++)
        if (strcmp(homes[i]->scheme, uri.scheme) == 0)
            counting->inner = homes[i];
    if (counting->inner == NULL)
        return mcds_fail(MCDS_INVALID, "counting: no home for %s", uri_text);
    counting->env = options->env != NULL ? options->env : mcds_env_system();
    counting->table = (mcds_home){
        .version = MCDS_HOME_VERSION,
        .scheme = "counting",
        .close = counting_close,
        .capabilities = counting_capabilities,
        .lane_open = counting_lane_open,
        .lane_close = counting_lane_close,
        .lane_holds = counting_lane_holds,
        .submit = counting_submit,
        .collect = counting_collect,
        .keys = counting_keys,
    };
    result = counting->inner->open(&uri, inner_env, &counting->inner_home);
    if (result != MCDS_OK)
        return result;
    result = mcds_open_home(&counting->table, counting, options, store_out);
    if (result != MCDS_OK)
        counting->inner->close(counting->inner_home);
    return result;
}
