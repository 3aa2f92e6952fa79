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
    root->is_again = false;
    root->look = (struct mcds__root_look){.key = &generation->key,
                                          .kind = generation->kind,
                                          .vanishes = MCDS__WHY(ITS_KEY_VANISHES)};
}

/* A request that writes the root of this generation. */
static mcds_request write_request(struct mcds__root *root, mcds_command command,
                                  uint64_t number)
{
    assert(number != 0); /* 0 means no generation */
    assert(root->count <= sizeof root->settings / sizeof root->settings[0]);
    const struct mcds__generation *generation = root->generation;
    struct mcds__descriptor descriptor;
    mcds__descriptor_draw(&descriptor, mcds__store_env(generation->store), generation->kind, 0,
                          false);
    descriptor.life = number;
    descriptor.is_again = root->is_again;
    descriptor.count = root->count;
    memcpy(descriptor.settings, root->settings, root->count * sizeof root->settings[0]);
    return mcds__root_look_write(&root->look, command, &descriptor);
}

static enum mcds__step descriptor_generation_ask(struct mcds__root *root,
                                                 struct mcds__operation *operation)
{
    root->stage = ROOT_READING;
    operation->connection = 0;
    return mcds__root_look_ask(&root->look, operation, NULL);
}

static enum mcds__step descriptor_generation_take(struct mcds__root *root,
                                                  struct mcds__operation *operation)
{
    struct mcds__descriptor found;
    enum mcds__step step = mcds__root_look_take(&root->look, operation, &found);
    if (step == MCDS__SLEEP)
        root->stage = ROOT_BEGIN;
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    assert(found.count <= sizeof root->settings / sizeof root->settings[0]);
    root->number = found.life;
    root->count = found.count;
    root->is_again = found.is_again;
    memcpy(root->settings, found.settings, found.count * sizeof root->settings[0]);
    root->token = mcds__root_look_read(&root->look)->reply.cas;
    operation->connection = root->token.connection;
    return step;
}

enum mcds__step mcds__root_read_step(struct mcds__root *root, struct mcds__operation *operation)
{
    assert(root->stage <= ROOT_READING);
    return root->stage == ROOT_BEGIN ? descriptor_generation_ask(root, operation)
                                     : descriptor_generation_take(root, operation);
}

enum mcds__step mcds__root_make_step(struct mcds__root *root, struct mcds__operation *operation)
{
    assert(root->stage <= ROOT_MAKING);
    bool is_missing = root->stage == ROOT_READING &&
                      mcds__root_look_read(&root->look)->reply.outcome == MCDS_OUT_MISS;
    if (root->stage == ROOT_BEGIN && root->number == 0)
        return descriptor_generation_ask(root, operation);
    if (root->stage != ROOT_BEGIN && !is_missing)
        return descriptor_generation_take(root, operation);
    uint64_t number = root->number;
    if (number == 0)
        number = mcds__random_u64(operation->env) | 1;
    mcds_request add = write_request(root, MCDS_ADD, number);
    root->stage = ROOT_MAKING;
    return mcds__root_look_ask(&root->look, operation, &add);
}

bool mcds__root_may_be_made(const struct mcds__root *root)
{
    return root->look.count > 1 && mcds__may_be_applied(root->look.requests, 1);
}

/* The write, and after it a read, in one ordered batch. */
static enum mcds__step ask_replace(struct mcds__root *root, struct mcds__operation *operation,
                                   enum mcds__root_change change)
{
    assert(root->next != 0 && root->next != root->number);
    const mcds_capabilities can = mcds__store_can(operation->store);
    bool erases = change == MCDS__ROOT_ERASE;
    mcds_request write = {.command = MCDS_DELETE,
                          .key = mcds__key_bytes(&root->generation->key)};
    if (!erases && !can.compare_and_set)
        return mcds__operation_explain(operation, MCDS_UNSUPPORTED,
                                       MCDS__WHY(NO_COMPARE_AND_SET));
    if (change == MCDS__ROOT_REPLACE)
        root->count = 0;
    root->is_again = false;
    if (!erases)
        write = write_request(root, MCDS_CAS,
                              change == MCDS__ROOT_REPLACE ? root->next : root->number);
    if (!erases || can.compare_and_delete)
        write.cas = root->token;
    root->stage = ROOT_REPLACING;
    return mcds__root_look_ask(&root->look, operation, &write);
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
    const mcds_reply *written = &root->look.requests[0].reply;
    const mcds_reply *looked = &mcds__root_look_read(&root->look)->reply;
    if (written->outcome == MCDS_OUT_NO_MEMORY && change == MCDS__ROOT_ERASE &&
        root->token.connection != 0) {
        root->token = (mcds_cas_token){0, 0}; /* it has no memory to compare */
        return ask_replace(root, operation, change);
    }
    if (mcds__is_refusal(written))
        return mcds__operation_fail(operation, written);
    root->ambiguous = root->ambiguous || mcds__may_be_applied(root->look.requests, 1);
    if (mcds__is_transport_trouble(looked) || mcds__is_refusal(looked)) {
        if (mcds__operation_again(operation)) {
            root->stage = ROOT_READING;
            return MCDS__SLEEP;
        }
        (void)mcds__operation_fail_read(operation, looked);
        return end_unseen(root, operation);
    }
    if (looked->outcome == MCDS_OUT_MISS) {
        root->number = 0;
        return mcds__operation_finish(operation, MCDS_OK);
    }
    enum mcds__step step = descriptor_generation_take(root, operation);
    if (step == MCDS__DONE && operation->result < 0)
        return end_unseen(root, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK || root->number != old ||
        (change == MCDS__ROOT_SET && root->count > 0) || change == MCDS__ROOT_CONFIRM)
        return step;
    if (!mcds__operation_again(operation))
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(ROOT_CHANGES));
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
