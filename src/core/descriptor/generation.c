/* Descriptor: read, make, replace and erase the root of a structure. */
#include "core/descriptor/generation.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/environment.h"

enum { ROOT_BEGIN, ROOT_READING, ROOT_MAKING, ROOT_REPLACING };

void mcds__generation_init(struct mcds__generation *generation, mcds_store *store,
                           const struct mcds__key *key, enum mcds__descriptor_kind kind)
{
    generation->store = store;
    generation->key = *key;
    generation->kind = kind;
    atomic_init(&generation->known, 0);
    atomic_init(&generation->seen_ns, 0);
    atomic_init(&generation->former, 0);
    atomic_init(&generation->former_ns, 0);
}

void mcds__generation_note(struct mcds__generation *generation, uint64_t number, int64_t now_ns,
                           uint64_t mark_ms)
{
    assert(number != 0);
    uint64_t before = atomic_exchange(&generation->known, number);
    int64_t seen_ns = atomic_exchange(&generation->seen_ns, now_ns);
    if (before == 0 || before == number)
        return;
    bool is_long_ago = now_ns - seen_ns > (int64_t)mark_ms * NS_PER_MS;
    atomic_store(&generation->former_ns, seen_ns);
    atomic_store(&generation->former, is_long_ago ? 0 : before);
}

void mcds__root_begin(struct mcds__root *root, struct mcds__generation *generation)
{
    root->generation = generation;
    root->number = 0;
    root->stage = ROOT_BEGIN;
    root->ambiguous = false;
    root->next = 0;
    root->count = 0;
}

static mcds_request get_request(const struct mcds__root *root)
{
    return (mcds_request){.command = MCDS_GET, .key = mcds__key_bytes(&root->generation->key)};
}

/* Put the root of this generation into a request that writes it. */
static void seal(struct mcds__root *root, uint64_t number, mcds_request *request)
{
    assert(number != 0); /* 0 means no generation */
    assert(root->count <= sizeof root->settings / sizeof root->settings[0]);
    const struct mcds__generation *generation = root->generation;
    struct mcds__descriptor descriptor;
    mcds__descriptor_draw(&descriptor, mcds__store_env(generation->store), generation->kind, 0,
                          false);
    descriptor.life = number;
    descriptor.count = root->count;
    memcpy(descriptor.settings, root->settings, root->count * sizeof root->settings[0]);
    size_t length = mcds__descriptor_seal(&descriptor, mcds__key_bytes(&generation->key),
                                          root->frame);
    request->value = (mcds_bytes){root->frame, length};
    request->flags = mcds__descriptor_flags(number);
}

static enum mcds__step descriptor_generation_read_again(struct mcds__root *root,
                                                        struct mcds__operation *operation)
{
    root->requests[0] = get_request(root);
    root->stage = ROOT_READING;
    operation->connection = 0;
    return mcds__operation_ask_repeatable(operation, root->requests, 1);
}

/* Read the value of a GET. */
static enum mcds__step descriptor_generation_take_value(struct mcds__root *root,
                                                        struct mcds__operation *operation,
                                                        const mcds_request *request)
{
    assert(request == &root->requests[0] || request == &root->requests[1]);
    struct mcds__descriptor descriptor = {.count = 0};
    const mcds_reason *detail;
    if (request->reply.outcome == MCDS_OUT_MISS)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    if (request->reply.outcome != MCDS_OUT_OK) {
        root->stage = ROOT_BEGIN;
        return mcds__operation_retry(operation, &request->reply);
    }
    int result = mcds__descriptor_open(&descriptor, mcds__operation_value(operation, request),
                                       request->reply.flags, request->key,
                                       root->generation->kind, &detail);
    if (result != MCDS_OK)
        return mcds__operation_explain(operation, result, detail);
    assert(descriptor.count <= sizeof root->settings / sizeof root->settings[0]);
    root->number = descriptor.life;
    root->count = descriptor.count;
    memcpy(root->settings, descriptor.settings, sizeof root->settings);
    root->token = request->reply.cas;
    operation->connection = root->token.connection;
    return mcds__operation_finish(operation, MCDS_OK);
}

enum mcds__step mcds__root_read_step(struct mcds__root *root, struct mcds__operation *operation)
{
    assert(root->stage <= ROOT_READING);
    if (root->stage == ROOT_BEGIN)
        return descriptor_generation_read_again(root, operation);
    return descriptor_generation_take_value(root, operation, &root->requests[0]);
}

/* Neither created nor found: the root vanished, or the write was lost and the read was not. */
static enum mcds__step make_again(struct mcds__root *root, struct mcds__operation *operation)
{
    root->stage = ROOT_BEGIN;
    if (mcds__operation_again(operation))
        return MCDS__SLEEP;
    return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(ITS_KEY_VANISHES));
}

enum mcds__step mcds__root_make_step(struct mcds__root *root, struct mcds__operation *operation)
{
    assert(root->stage <= ROOT_MAKING);
    if (root->stage == ROOT_BEGIN && root->number == 0)
        return descriptor_generation_read_again(root, operation);
    if (root->stage == ROOT_READING && root->requests[0].reply.outcome != MCDS_OUT_MISS)
        return descriptor_generation_take_value(root, operation, &root->requests[0]);
    if (root->stage == ROOT_MAKING) {
        const mcds_reply *added = &root->requests[0].reply;
        if (mcds__is_refusal(added))
            return mcds__operation_fail(operation, added);
        if (root->requests[1].reply.outcome == MCDS_OUT_MISS)
            return make_again(root, operation);
        return descriptor_generation_take_value(root, operation, &root->requests[1]);
    }
    uint64_t number = root->number;
    root->requests[0] = get_request(root);
    root->requests[1] = get_request(root);
    root->requests[0].command = MCDS_ADD;
    seal(root, number != 0 ? number : mcds__random_u64(operation->env) | 1, &root->requests[0]);
    root->stage = ROOT_MAKING;
    return mcds__operation_ask_repeatable(operation, root->requests, 2);
}

/* The write, and after it a read, in one ordered batch. */
static enum mcds__step ask_replace(struct mcds__root *root, struct mcds__operation *operation,
                                   enum mcds__root_change change)
{
    assert(root->next != 0 && root->next != root->number);
    const mcds_capabilities can = mcds__store_can(operation->store);
    root->requests[0] = get_request(root);
    root->requests[1] = get_request(root);
    if (change == MCDS__ROOT_ERASE) {
        root->requests[0].command = MCDS_DELETE;
        if (can.compare_and_delete)
            root->requests[0].cas = root->token;
    } else if (can.compare_and_set) {
        root->requests[0].command = MCDS_CAS;
        root->requests[0].cas = root->token;
        if (change == MCDS__ROOT_REPLACE)
            root->count = 0;
        seal(root, change == MCDS__ROOT_SET ? root->number : root->next, &root->requests[0]);
    } else {
        return mcds__operation_explain(operation, MCDS_UNSUPPORTED,
                                       MCDS__WHY(NO_COMPARE_AND_SET));
    }
    assert(root->requests[0].command != MCDS_GET);
    root->stage = ROOT_REPLACING;
    return mcds__operation_ask_repeatable(operation, root->requests, 2);
}

/* The root could not be read after the write. */
static enum mcds__step end_unseen(const struct mcds__root *root,
                                  struct mcds__operation *operation)
{
    assert(operation->result < 0);
    if (root->ambiguous)
        operation->result = MCDS_AMBIGUOUS;
    return MCDS__DONE;
}

/* The read shows the current generation, whatever happened to the write. */
enum mcds__step mcds__root_change_step(struct mcds__root *root,
                                       struct mcds__operation *operation,
                                       enum mcds__root_change change)
{
    assert(root->stage <= ROOT_REPLACING);
    uint64_t old = root->number;
    if (root->stage != ROOT_REPLACING) {
        if (root->next == 0)
            root->next = mcds__random_u64(operation->env) | 1;
        return ask_replace(root, operation, change);
    }
    const mcds_reply *written = &root->requests[0].reply;
    const mcds_reply *looked = &root->requests[1].reply;
    if (written->outcome == MCDS_OUT_NO_MEMORY && change == MCDS__ROOT_ERASE &&
        root->token.connection != 0) {
        root->token = (mcds_cas_token){0, 0}; /* it has no memory to compare */
        return ask_replace(root, operation, change);
    }
    if (mcds__is_refusal(written))
        return mcds__operation_fail(operation, written);
    root->ambiguous = root->ambiguous || mcds__may_be_applied(root->requests, 1);
    if (mcds__is_transport_trouble(looked) || mcds__is_refusal(looked)) {
        if (mcds__operation_again(operation)) {
            root->stage = ROOT_READING;
            return MCDS__SLEEP;
        }
        (void)mcds__operation_fail_read(operation, looked);
        return end_unseen(root, operation);
    }
    enum mcds__step step = descriptor_generation_take_value(root, operation,
                                                            &root->requests[1]);
    if (operation->result == MCDS_NOT_FOUND) {
        root->number = 0;
        return mcds__operation_finish(operation, MCDS_OK);
    }
    if (step == MCDS__DONE && operation->result < 0)
        return end_unseen(root, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK || root->number != old ||
        (change == MCDS__ROOT_SET && root->count > 0))
        return step;
    if (!mcds__operation_again(operation))
        return mcds__operation_finish(operation, MCDS_BUSY);
    root->stage = ROOT_READING;
    return MCDS__SLEEP;
}

enum mcds__step mcds__root_set_step(struct mcds__root *root, struct mcds__operation *operation,
                                    uint64_t setting)
{
    if (!mcds__store_can(operation->store).compare_and_set)
        return mcds__operation_finish(operation, MCDS_OK);
    root->count = root->stage == ROOT_REPLACING ? root->count : 1;
    root->settings[0] = root->stage == ROOT_REPLACING ? root->settings[0] : setting;
    return mcds__root_change_step(root, operation, MCDS__ROOT_SET);
}
