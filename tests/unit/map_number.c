/* Maps whose keys have open numbers: a change is one command, and an append to a key that is not
 * open, or has another floor, changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/map/sequence.h"
#include "mcds.h"
#include "structures/structure.h"
#include "support/fake_env.h"
#include "support/first_key.h"
#include "support/hooked_backend.h"
#include "support/reseal.h"

#define CAPACITY (1 << 16)
#define MANY 100000
#define EACH 3   /* freeze whose number is gone */
#define SOME 200 /* elements that make a key split */
#define FLOOR_AT 12
/* Commands for 100 changes, with the rewriting of keys. */
#define COMMANDS_PER_100 125

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_set *sets[2];
    struct mcds__key root;
    uint64_t commands; /* besides reads of the root */
    uint64_t refused;  /* appends, by the number of the key */
    uint64_t numbers;  /* set by stores */
    uint64_t freezes;
    uint64_t thaws;  /* of keys that needed no rewriting */
    bool has_frozen; /* with the last request */
    bool uses_moved; /* a record was appended to a key that is MOVED */
};

static bool watch(void *context, mcds_request *request)
{
    struct world *world = context;
    mcds_bytes root = mcds__key_bytes(&world->root);
    bool proves = request->key.length == root.length; /* it reads the root */
    world->commands += !proves;
    world->numbers += (request->options & MCDS_SETS_CAS) != 0;
    if (request->command != MCDS_APPEND)
        return false;
    mcds_request look = {.command = MCDS_GET, .options = MCDS_NO_VALUE, .key = request->key};
    mcds_batch batch = {.requests = &look, .count = 1, .deadline_ns = INT64_MAX};
    mcds__backend_memory.submit(world->backend.inner, &batch);
    mcds__backend_memory.submit(world->backend.inner, world->backend.batch);
    if (request->value.length == 0) { /* a freeze, or its end */
        bool thaws = (request->options & MCDS_SETS_CAS) != 0;
        world->freezes += !thaws;
        world->thaws += thaws;
    }
    world->refused += request->reply.outcome == MCDS_OUT_EXISTS;
    world->uses_moved = world->uses_moved ||
                        (request->reply.outcome == MCDS_OUT_OK &&
                         mcds__map_state_of(look.reply.flags) == MCDS__MAP_MOVED);
    return true;
}

static void add(struct world *world, int who, uint32_t number)
{
    char text[16];
    (void)snprintf(text, sizeof text, "element-%u", (unsigned)number);
    assert_int_equal(mcds_set_add(world->sets[who], mcds_text(text), NULL), MCDS_OK);
}

static bool has(struct world *world, uint32_t number)
{
    char text[16];
    (void)snprintf(text, sizeof text, "element-%u", (unsigned)number);
    return mcds_set_has(world->sets[0], mcds_text(text)) == MCDS_OK;
}

/* A set that one of two handles has made. */
static void begin(struct world *world, uint32_t features)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 5);
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.features = features;
    world->backend.hook = watch;
    world->backend.context = world;
    mcds__key_begin(&world->root, mcds__store_ns(world->store), MCDS__TAG_SET, "s");
    for (int i = 0; i < 2; i++)
        assert_int_equal(mcds_set_open(world->store, "s", NULL, &world->sets[i]), MCDS_OK);
    for (uint32_t i = 0; i < 4; i++)
        add(world, (int)(i % 2), i);
    world->commands = world->refused = world->numbers = 0;
}

static void end(struct world *world)
{
    for (int i = 0; i < 2; i++)
        mcds_set_close(world->sets[i]);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static mcds_reply ask(struct world *world, mcds_request request)
{
    mcds_batch batch = {.requests = &request, .count = 1, .deadline_ns = INT64_MAX};
    mcds__backend_memory.submit(world->backend.inner, &batch);
    return request.reply;
}

static uint64_t number_of(struct world *world, const struct mcds__key *key)
{
    mcds_request look = {.command = MCDS_GET, .key = mcds__key_bytes(key)};
    return ask(world, look).cas.unique;
}

static void a_change_is_one_command(void **state)
{
    struct world world;
    (void)state;
    begin(&world, MCDS_CAS_NUMBERS);
    for (uint32_t i = 0; i < MANY; i++)
        add(&world, 0, i);
    assert_in_range(world.commands, MANY, MANY / 100 * COMMANDS_PER_100);
    assert_true(world.freezes > 0 && world.thaws > 0);
    for (uint32_t i = 0; i < MANY; i++)
        assert_true(has(&world, i));
    end(&world);
}

/* After some freezes the server has begun to run without cas: the read shows no number. */
static bool lose_number(void *context, mcds_request *request)
{
    struct world *world = context;
    uint64_t freezes = world->freezes;
    if (world->has_frozen && request->command == MCDS_GET) {
        mcds__backend_memory.submit(world->backend.inner, world->backend.batch);
        request->reply.cas = (mcds_cas_token){0, 0};
        world->has_frozen = false;
        return true;
    }
    bool is_answered = watch(context, request);
    world->has_frozen = world->freezes > freezes && world->freezes % EACH == 0;
    return is_answered;
}

static void a_number_that_is_gone_after_a_freeze_is_not_set(void **state)
{
    struct world world;
    char text[16];
    (void)state;
    begin(&world, MCDS_CAS_NUMBERS);
    world.backend.hook = lose_number;
    for (uint32_t i = 0; i < MANY; i++) {
        (void)snprintf(text, sizeof text, "element-%u", (unsigned)i);
        int result = mcds_set_add(world.sets[0], mcds_text(text), NULL);
        if (result != MCDS_OK && result != MCDS_UNSUPPORTED)
            fail_msg("%u: %s: %s", (unsigned)i, mcds_result_name(result), mcds_errmsg());
    }
    assert_true(world.freezes > 0);
    assert_true(world.thaws > 0);
    end(&world);
}

static void a_change_is_one_command_where_the_append_shows_the_state(void **state)
{
    struct world world;
    (void)state;
    begin(&world, MCDS_CAS_NUMBERS | MCDS_STATE_AFTER_APPEND);
    for (uint32_t i = 0; i < MANY; i++)
        add(&world, 0, i);
    assert_in_range(world.commands, MANY, MANY / 100 * COMMANDS_PER_100);
    assert_int_equal(world.numbers, 0);
    end(&world);
}

static void an_append_after_a_split_is_refused(void **state)
{
    struct world world;
    (void)state;
    begin(&world, MCDS_CAS_NUMBERS);
    for (uint32_t i = 0; i < SOME; i++)
        add(&world, 0, i);
    assert_true(world.numbers > SOME);
    world.refused = 0;
    for (uint32_t i = SOME; i < 2 * SOME; i++)
        add(&world, 1, i);
    assert_true(world.refused > 0);
    assert_false(world.uses_moved);
    for (uint32_t i = 0; i < 2 * SOME; i++)
        assert_true(has(&world, i));
    end(&world);
}

/* A client that does not set the number; and one that has stopped after it has frozen the key. */
static void the_next_client_restores_the_number(void **state)
{
    struct world world;
    (void)state;
    begin(&world, MCDS_CAS_NUMBERS);
    struct mcds__key key = first_key(world.store, &world.root);
    assert_true(mcds__map_is_open_number(number_of(&world, &key)));
    world.backend.features = 0;
    add(&world, 1, 10);
    assert_false(mcds__map_is_open_number(number_of(&world, &key)));
    world.backend.features = MCDS_CAS_NUMBERS;
    add(&world, 0, 11);
    assert_true(mcds__map_is_open_number(number_of(&world, &key)));
    mcds_request freeze = {.command = MCDS_APPEND, .key = mcds__key_bytes(&key)};
    assert_int_equal(ask(&world, freeze).outcome, MCDS_OUT_OK);
    assert_false(mcds__map_is_open_number(number_of(&world, &key)));
    add(&world, 0, 12);
    assert_true(mcds__map_is_open_number(number_of(&world, &key)));
    world.commands = 0;
    add(&world, 0, 13);
    assert_int_equal(world.commands, 1);
    for (uint32_t i = 10; i < 14; i++)
        assert_true(has(&world, i));
    end(&world);
}

/* Another client writes between the look of this one and its append: the number of the look is no
 * longer that of the key. */
static bool write_before(void *context, mcds_request *request)
{
    struct world *world = context;
    bool is_assigned = request->cas.connection != 0 &&
                       request->cas.connection != MCDS_ANY_CONNECTION;
    if (request->command == MCDS_APPEND && is_assigned && world->freezes == 0) {
        mcds_request freeze = {.command = MCDS_APPEND, .key = request->key};
        assert_int_equal(ask(world, freeze).outcome, MCDS_OUT_OK);
        mcds__backend_memory.submit(world->backend.inner, world->backend.batch);
        assert_int_equal(request->reply.outcome, MCDS_OUT_EXISTS);
        world->freezes++;
        return true;
    }
    return watch(world, request);
}

static void a_number_that_was_seen_is_compared(void **state)
{
    struct world world;
    (void)state;
    begin(&world, MCDS_CAS_NUMBERS);
    struct mcds__key key = first_key(world.store, &world.root);
    mcds_request freeze = {.command = MCDS_APPEND, .key = mcds__key_bytes(&key)};
    assert_int_equal(ask(&world, freeze).outcome, MCDS_OUT_OK);
    world.backend.hook = write_before;
    add(&world, 0, 10);
    assert_int_equal(world.freezes, 1);
    assert_true(mcds__map_is_open_number(number_of(&world, &key)));
    assert_true(has(&world, 10));
    end(&world);
}

/* Set the floor of the first key so that records of this moment are void. */
static void raise_floor(struct world *world)
{
    static uint8_t bytes[CAPACITY];
    mcds_buffer value;
    struct mcds__key key = first_key(world->store, &world->root);
    mcds__buffer_init_in(&value, &world->fake.env, CAPACITY, bytes, CAPACITY);
    mcds_request get = {.command = MCDS_GET, .key = mcds__key_bytes(&key)};
    mcds_batch batch = {
        .requests = &get, .count = 1, .deadline_ns = INT64_MAX, .values = &value};
    mcds__backend_memory.submit(world->backend.inner, &batch);
    uint32_t floor_s = (uint32_t)(mcds__wall_ms(&world->fake.env) / MS_PER_S) + 6400;
    uint32_t flags = mcds__map_flags(MCDS__MAP_OPEN, mcds__map_snapshot_end(get.reply.flags),
                                     floor_s);
    mcds__put_u32(value.data + FLOOR_AT, floor_s - floor_s % MCDS__MAP_FLOOR_UNIT_S);
    reseal(&value, mcds__key_bytes(&key), flags);
    mcds_request set = {.command = MCDS_SET,
                        .options = MCDS_SETS_CAS,
                        .initial = mcds__map_open_number(flags),
                        .flags = flags,
                        .key = mcds__key_bytes(&key),
                        .value = {value.data, value.length}};
    assert_int_equal(ask(world, set).outcome, MCDS_OUT_OK);
}

static void a_record_below_the_floor_is_not_acknowledged(void **state)
{
    struct world world;
    (void)state;
    begin(&world, MCDS_CAS_NUMBERS);
    raise_floor(&world);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mcds_set_add(world.sets[0], mcds_text("late"), NULL), MCDS_IO);
        assert_non_null(strstr(mcds_errmsg(), "clock"));
    }
    assert_int_equal(world.refused, 2); /* then the handle knows the floor */
    end(&world);
}

/* Older versions of mcds write to it too. */
static void a_life_without_numbers_keeps_none(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 0);
    world.backend.features = MCDS_CAS_NUMBERS;
    for (uint32_t i = 0; i < SOME; i++)
        add(&world, (int)(i % 2), i);
    assert_int_equal(world.numbers, 0);
    end(&world);
}

/* All appends are refused: the call ends, and says that it has changed nothing. */
static bool refuse(void *context, mcds_request *request)
{
    (void)context;
    if (request->command != MCDS_APPEND)
        return false;
    request->reply.outcome = MCDS_OUT_EXISTS;
    return true;
}

static void a_refused_change_is_not_in_doubt(void **state)
{
    struct world world;
    (void)state;
    begin(&world, MCDS_CAS_NUMBERS);
    world.backend.hook = refuse;
    int result = mcds_set_add(world.sets[0], mcds_text("never"), NULL);
    assert_true(result == MCDS_TIMEOUT || result == MCDS_BUSY);
    world.backend.hook = watch;
    assert_int_equal(mcds_set_has(world.sets[0], mcds_text("never")), MCDS_NOT_FOUND);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_is_one_command),
        cmocka_unit_test(a_number_that_is_gone_after_a_freeze_is_not_set),
        cmocka_unit_test(a_change_is_one_command_where_the_append_shows_the_state),
        cmocka_unit_test(an_append_after_a_split_is_refused),
        cmocka_unit_test(the_next_client_restores_the_number),
        cmocka_unit_test(a_number_that_was_seen_is_compared),
        cmocka_unit_test(a_record_below_the_floor_is_not_acknowledged),
        cmocka_unit_test(a_life_without_numbers_keeps_none),
        cmocka_unit_test(a_refused_change_is_not_in_doubt),
    };
    return cmocka_run_group_tests_name("map_number", tests, NULL, NULL);
}
