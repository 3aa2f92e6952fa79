/* Every verb of every structure, where the reply to a change is lost, and then something else happens:
 * an AMBIGUOUS names a server whose reply was lost, or the one that shows the other cause. */
#include <stdio.h>
#include <string.h>

#include "field/bad_servers.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define CHANGES_MAX 12
#define KEYS_MAX 400
#define FOREIGN_TEXT "a foreign value"

enum then { GOES_ON, IS_REFUSED, IS_SILENT, FORGETS, IS_FOREIGN, IS_CONTENDED, THENS };

static const char *const servers[] = {"one:11211", "two:11211"};
static const mcds_reason refused = {.cause = MCDS_CAUSE_CONNECTION_REFUSED,
                                    .text = "connection refused"};

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    struct handles on;
    enum then then;
    bool is_applied; /* the change whose reply is lost */
    uint32_t left;   /* changes up to that; 0: none */
    bool is_lost;
    bool has_lost[2]; /* of these servers */
    char keys[KEYS_MAX][251];
    uint32_t key_count;
};

static int server_of(mcds_bytes key)
{
    unsigned sum = 0;
    for (size_t i = 0; i < key.length; i++)
        sum = sum * 31 + ((const uint8_t *)key.data)[i];
    return (int)(sum / 7 % 2);
}

static void pass(struct world *world, mcds_request *request)
{
    mcds_batch one = *world->backend.batch;
    one.requests = request;
    one.count = 1;
    mcds__backend_memory.submit(world->backend.inner, &one);
    request->reply.peer = servers[server_of(request->key)];
}

static bool lose_reply(struct world *world, mcds_request *request)
{
    memset(&request->reply, 0, sizeof request->reply);
    request->reply.outcome = MCDS_OUT_UNKNOWN;
    request->reply.peer = servers[server_of(request->key)];
    world->has_lost[server_of(request->key)] |= request->command != MCDS_GET;
    return true;
}

static bool note_key(void *context, mcds_bytes key)
{
    struct world *world = context;
    assert_true(world->key_count < KEYS_MAX && key.length <= 250);
    memcpy(world->keys[world->key_count], key.data, key.length);
    world->keys[world->key_count++][key.length] = '\0';
    return true;
}

/* Erases all keys, or gives them a foreign value. */
static void spoil_all(struct world *world, mcds_command command)
{
    world->key_count = 0;
    OK(mcds__backend_memory.keys(world->backend.inner, (mcds_bytes){"", 0}, note_key, world));
    for (uint32_t i = 0; i < world->key_count; i++) {
        mcds_request request = {.command = command,
                                .key = mcds_text(world->keys[i]),
                                .value = command == MCDS_SET ? mcds_text(FOREIGN_TEXT)
                                                             : mcds_text("")};
        mcds_batch batch = {.requests = &request, .count = 1, .deadline_ns = INT64_MAX};
        mcds__backend_memory.submit(world->backend.inner, &batch);
    }
}

/* After the reply was lost. */
static bool answer_later(struct world *world, mcds_request *request)
{
    bool compares = request->command == MCDS_CAS ||
                    (request->command == MCDS_DELETE && request->cas.connection != 0);
    if (world->then == IS_SILENT)
        return lose_reply(world, request);
    if (world->then == IS_REFUSED || (world->then == IS_CONTENDED && compares)) {
        memset(&request->reply, 0, sizeof request->reply);
        request->reply.outcome = world->then == IS_REFUSED ? MCDS_OUT_UNSENT : MCDS_OUT_EXISTS;
        request->reply.detail = world->then == IS_REFUSED ? &refused : NULL;
        request->reply.peer = servers[server_of(request->key)];
        return true;
    }
    pass(world, request);
    return true;
}

static bool answer(void *context, mcds_request *request)
{
    struct world *world = context;
    if (world->is_lost)
        return answer_later(world, request);
    bool is_last = request->command != MCDS_GET && world->left > 0 && --world->left == 0;
    if (!is_last || world->is_applied)
        pass(world, request);
    if (!is_last)
        return true;
    world->is_lost = true;
    if (world->then == FORGETS || world->then == IS_FOREIGN)
        spoil_all(world, world->then == FORGETS ? MCDS_DELETE : MCDS_SET);
    return lose_reply(world, request);
}

static void warm_up(struct world *world)
{
    OK(mcds_lock_try_acquire(world->on.other_lock, &world->on.lease));
    for (size_t i = 0; i < verb_count; i++) {
        const char *name = verbs[i].name;
        if (strstr(name, "drop") != NULL || strstr(name, "clear") != NULL ||
            strstr(name, "release") != NULL || strstr(name, "break") != NULL ||
            strcmp(name, "queue_finish") == 0)
            continue;
        int result = verbs[i].call(&world->on);
        if (result < 0 && result != MCDS_UNSUPPORTED)
            fail_msg("%s: %s", name, mcds_errmsg());
    }
}

/* Returns whether it is wrong. */
static bool judge(const struct world *world, const struct verb *verb, uint32_t at)
{
    const mcds_error *error = mcds_last_error();
    bool names_loser = false, names_any = false;
    for (int i = 0; i < 2; i++) {
        bool names = strcmp(error->peer, servers[i]) == 0 && strstr(mcds_errmsg(), servers[i]);
        names_any = names_any || names;
        names_loser = names_loser || (names && world->has_lost[i]);
    }
    bool is_elsewhere = error->cause == MCDS_CAUSE_GONE || error->cause == MCDS_CAUSE_FOREIGN ||
                        error->cause == MCDS_CAUSE_DAMAGED ||
                        error->cause == MCDS_CAUSE_NOT_A_NUMBER ||
                        error->cause == MCDS_CAUSE_MADE_AGAIN;
    bool fits = names_loser || (is_elsewhere && names_any);
    if (!fits)
        print_error("%s, change %u, then %d, applied %d: %s\n", verb->name, (unsigned)at,
                    world->then, world->is_applied, mcds_errmsg());
    return !fits;
}

/* False: the verb has fewer changes. */
static bool play(struct world *world, const struct verb *verb, uint32_t at, uint32_t *doubts,
                 uint32_t *wrong)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_store *store;
    fake_env_init(&world->fake, 3);
    options.env = &world->fake.env;
    options.timeout_ms = 50;
    OK(hooked_backend_open(&world->backend, &options, &store));
    world->backend.hook = answer;
    world->backend.context = world;
    open_on(&world->on, store, "x");
    warm_up(world);
    world->left = at;
    int result = verb->call(&world->on);
    bool is_lost = world->is_lost;
    if (result == MCDS_AMBIGUOUS) {
        *wrong += judge(world, verb, at);
        ++*doubts;
    }
    world->is_lost = false;
    world->left = 0;
    close_all(&world->on);
    return is_lost;
}

static void play_all(enum then then)
{
    static struct world world;
    uint32_t doubts = 0, wrong = 0;
    for (size_t i = 0; i < verb_count; i++)
        for (int is_applied = 0; is_applied <= 1; is_applied++) {
            uint32_t at = 0;
            do
                world = (struct world){.then = then, .is_applied = is_applied == 1};
            while (play(&world, &verbs[i], ++at, &doubts, &wrong) && at < CHANGES_MAX);
        }
    assert_true(doubts > 20);
    assert_int_equal(wrong, 0);
}

static void the_store_goes_on(void **state)
{
    (void)state;
    play_all(GOES_ON);
}

static void the_store_refuses_connections(void **state)
{
    (void)state;
    play_all(IS_REFUSED);
}

static void the_store_is_silent(void **state)
{
    (void)state;
    play_all(IS_SILENT);
}

static void the_store_forgets_all(void **state)
{
    (void)state;
    play_all(FORGETS);
}

static void the_keys_are_foreign(void **state)
{
    (void)state;
    play_all(IS_FOREIGN);
}

static void others_change_the_keys(void **state)
{
    (void)state;
    play_all(IS_CONTENDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_store_goes_on),    cmocka_unit_test(the_store_refuses_connections),
        cmocka_unit_test(the_store_is_silent),  cmocka_unit_test(the_store_forgets_all),
        cmocka_unit_test(the_keys_are_foreign), cmocka_unit_test(others_change_the_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
