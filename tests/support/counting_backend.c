/* A wrapper around a backend that counts requests and injects failures. */
#include "support/counting_backend.h"

#include <string.h>

#include "base/environment.h"
#include "store/backends.h"
#include "store/uri.h"

struct counting_session {
    struct counting_backend *counting;
    void *inner;          /* session, or backend when that has none */
    mcds_batch *answered; /* for collect */
};

const char *fault_name(enum fault fault)
{
    static const char *const names[FAULT_COUNT] = {
        "none",        "unsent",    "no memcached", "cut before", "cut after",
        "cut between", "no memory", "too big",      "failed",     "without cas",
    };
    return names[fault];
}

/* Have the inner backend answer a list, and hand it back whole. */
static void carry_out(struct counting_session *session, mcds_batch *first)
{
    const mcds_backend *inner = session->counting->inner;
    uint32_t open = 0;
    for (mcds_batch *batch = first; batch != NULL; batch = batch->next)
        open++;
    inner->submit(session->inner, first);
    mcds_batch *list = NULL;
    while (inner->session_open != NULL && open > 0) {
        mcds_batch *done = inner->collect(session->inner, INT64_MAX);
        while (done != NULL) {
            mcds_batch *next = done->next;
            done->next = list;
            list = done;
            done = next;
            open--;
        }
    }
    if (inner->session_open != NULL) {
        session->answered = list;
        return;
    }
    session->answered = first;
}

/* Have `count` requests of the batch from `at` on carried out. */
static void carry_out_part(struct counting_session *session, const mcds_batch *batch,
                           uint32_t at, uint32_t count)
{
    mcds_batch part = *batch;
    if (count == 0)
        return;
    part.requests += at;
    part.count = count;
    part.answered = 0;
    part.next = NULL;
    mcds_batch *kept = session->answered;
    carry_out(session, &part);
    session->answered = kept;
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

static void note_erasures(struct counting_backend *counting, const mcds_batch *batch,
                          uint32_t at, uint32_t until)
{
    for (uint32_t i = at; i < until; i++)
        counting->fault_erasures += batch->requests[i].command == MCDS_DELETE;
}

/* Returns the answer of a server without cas; NONE: it executes the request. */
static mcds_outcome answer_without_cas(const mcds_request *request)
{
    bool compares = request->cas.connection != 0;
    if (request->command == MCDS_APPEND && compares)
        return MCDS_OUT_EXISTS;
    return request->command == MCDS_CAS || compares ? MCDS_OUT_UNSUPPORTED : MCDS_OUT_NONE;
}

/* A server without cas compares and returns no tokens. */
static void carry_out_without_cas(struct counting_session *session, mcds_batch *batch,
                                  uint32_t at)
{
    for (uint32_t i = at; i < batch->count; i++) {
        mcds_request *request = &batch->requests[i];
        mcds_outcome outcome = answer_without_cas(request);
        if (outcome != MCDS_OUT_NONE) {
            answer(batch, i, i + 1, outcome);
            continue;
        }
        request->options &= ~(uint32_t)MCDS_SETS_CAS;
        carry_out_part(session, batch, i, 1);
        request->reply.cas = (mcds_cas_token){0, 0};
    }
}

/* Request `at` meets the fault, those before it do not. Returns how many have been answered. */
static uint32_t meet_fault(struct counting_session *session, mcds_batch *batch, uint32_t at)
{
    uint32_t rest = batch->count - at;
    enum fault fault = session->counting->fault;
    carry_out_part(session, batch, 0, at);
    note_erasures(session->counting, batch, at,
                  fault < FAULT_NO_MEMORY ? batch->count : at + 1);
    switch (fault) {
    case FAULT_UNSENT:
        answer(batch, at, batch->count, MCDS_OUT_UNSENT);
        return batch->count;
    case FAULT_PROTOCOL:
        answer(batch, at, batch->count, MCDS_OUT_PROTOCOL);
        return batch->count;
    case FAULT_CUT_AFTER:
    case FAULT_CUT_BETWEEN:
        carry_out_part(session, batch, at,
                       session->counting->fault == FAULT_CUT_AFTER ? rest : 1);
        answer(batch, at, batch->count, MCDS_OUT_UNKNOWN);
        return batch->count;
    case FAULT_CUT_BEFORE:
        answer(batch, at, batch->count, MCDS_OUT_UNKNOWN);
        return batch->count;
    case FAULT_NO_CAS:
        carry_out_without_cas(session, batch, at);
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

static void answer_batch(struct counting_session *session, mcds_batch *batch)
{
    struct counting_backend *counting = session->counting;
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
            done = meet_fault(session, &rest, at);
        else
            carry_out_part(session, &rest, 0, rest.count);
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

static void counting_submit(void *session_state, mcds_batch *first)
{
    struct counting_session *session = session_state;
    struct counting_backend *counting = session->counting;
    counting->submits++;
    if (counting->stale_tokens)
        spoil_tokens(first);
    for (mcds_batch *batch = first; batch != NULL; batch = batch->next)
        counting->batches++;
    if (counting->fault == FAULT_NONE) {
        for (mcds_batch *batch = first; batch != NULL; batch = batch->next)
            counting->requests += batch->count;
        mcds_batch *kept = session->answered;
        carry_out(session, first);
        mcds_batch **end = &session->answered;
        while (*end != NULL)
            end = &(*end)->next;
        *end = kept;
        return;
    }
    for (mcds_batch *batch = first, *next; batch != NULL; batch = next) {
        next = batch->next;
        answer_batch(session, batch);
        batch->next = session->answered;
        session->answered = batch;
    }
}

static mcds_batch *counting_collect(void *session_state, int64_t until_ns)
{
    struct counting_session *session = session_state;
    mcds_batch *list = session->answered;
    (void)until_ns;
    session->answered = NULL;
    return list;
}

static int counting_session_open(void *backend, void **session_out)
{
    struct counting_backend *counting = backend;
    struct counting_session *session = mcds__allocate_zero(counting->env, sizeof *session);
    if (session == NULL)
        return mcds_fail(MCDS_NO_MEMORY, "counting: out of memory");
    session->counting = counting;
    session->inner = counting->inner_backend;
    int result = MCDS_OK;
    if (counting->inner->session_open != NULL)
        result = counting->inner->session_open(counting->inner_backend, &session->inner);
    if (result != MCDS_OK)
        mcds__free(counting->env, session);
    else
        *session_out = session;
    return result;
}

static void counting_session_close(void *session_state)
{
    struct counting_session *session = session_state;
    if (session->counting->inner->session_close != NULL)
        session->counting->inner->session_close(session->inner);
    mcds__free(session->counting->env, session);
}

static bool counting_session_holds(void *session_state, uint64_t connection)
{
    struct counting_session *session = session_state;
    const mcds_backend *inner = session->counting->inner;
    return inner->session_holds == NULL || inner->session_holds(session->inner, connection);
}

static bool has_lost_cas(const struct counting_backend *counting)
{
    return counting->fault == FAULT_NO_CAS && counting->fault_came;
}

static void counting_capabilities(void *backend, mcds_capabilities *out)
{
    struct counting_backend *counting = backend;
    counting->inner->capabilities(counting->inner_backend, out);
    if (has_lost_cas(counting))
        out->compare_and_set = out->compare_and_delete = out->cas_on_store = false;
}

static uint32_t counting_features(void *backend)
{
    struct counting_backend *counting = backend;
    uint32_t features = counting->inner->features(counting->inner_backend);
    return has_lost_cas(counting) ? features & ~(uint32_t)MCDS_CAS_NUMBERS : features;
}

static int counting_keys(void *backend, mcds_bytes prefix,
                         bool (*visit)(void *context, mcds_bytes key), void *context)
{
    struct counting_backend *counting = backend;
    if (counting->inner->keys == NULL)
        return mcds_fail(MCDS_UNSUPPORTED, "counting: the store within lists no keys");
    return counting->inner->keys(counting->inner_backend, prefix, visit, context);
}

static void counting_close(void *backend)
{
    struct counting_backend *counting = backend;
    counting->inner->close(counting->inner_backend);
}

void counting_backend_arm(struct counting_backend *counting, enum fault fault, uint64_t at,
                          bool stays)
{
    counting->submits = counting->batches = counting->requests = 0;
    counting->fault = fault;
    counting->fault_at = at;
    counting->fault_stays = stays;
    counting->fault_came = false;
}

int counting_backend_open(struct counting_backend *counting, const char *uri_text,
                          const mcds_env *inner_env, const mcds_options *options,
                          mcds_store **store_out)
{
    static const mcds_backend *const backends[] = {&mcds__backend_memory, &mcds__backend_lmdb,
                                                   &mcds__backend_memcached};
    static struct mcds_uri uri;
    memset(counting, 0, sizeof *counting);
    int result = mcds__uri_parse(uri_text, &uri);
    for (size_t i = 0; result == MCDS_OK && i < sizeof backends / sizeof backends[0]; i++)
        if (strcmp(backends[i]->scheme, uri.scheme) == 0)
            counting->inner = backends[i];
    if (counting->inner == NULL)
        return mcds_fail(MCDS_INVALID, "counting: no backend for %s", uri_text);
    counting->env = options->env != NULL ? options->env : mcds_env_system();
    counting->table = (mcds_backend){
        .size = sizeof(mcds_backend),
        .version = MCDS_BACKEND_VERSION,
        .scheme = "counting",
        .close = counting_close,
        .capabilities = counting_capabilities,
        .session_open = counting_session_open,
        .session_close = counting_session_close,
        .session_holds = counting_session_holds,
        .submit = counting_submit,
        .collect = counting_collect,
        .keys = counting_keys,
        .features = counting_features,
    };
    result = counting->inner->open(&uri, inner_env, &counting->inner_backend);
    if (result != MCDS_OK)
        return result;
    result = mcds_open_backend(&counting->table, counting, options, store_out);
    if (result != MCDS_OK)
        counting->inner->close(counting->inner_backend);
    return result;
}
