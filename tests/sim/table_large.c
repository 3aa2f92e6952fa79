/* Tables of large values in the simulated world: a key takes only a few of them, and a bucket that
 * was made with two or three can never grow to twice its size. Each value that is read is one that
 * was put and not replaced, and when the faults are over every put succeeds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/play.h"
#include "support/dice.h"

#define CLIENTS_MAX 3
#define CLIENTS play_clients(CLIENTS_MAX)
#define KEYS 12
#define PUTS_OF_A_CLIENT 20
#define PUTS (CLIENTS_MAX * PUTS_OF_A_CLIENT)
#define IN_FLIGHT 2
#define LONGEST 262016 /* a quarter of the largest value of the store */
#define SHORT 2048
#define LARGE_EVERY 16
#define NEVER UINT64_MAX

/* A put, and the ticks of its begin and its end. */
struct put {
    uint64_t begin, end;
    int result;
    size_t length;
};

struct world {
    mcds_sim *sim;
    struct put puts[PUTS + KEYS]; /* the last ones are made when the faults are over */
    uint64_t tick;
    uint64_t replaced; /* values that were read */
    char wrong[160];
};

struct putter {
    struct world *world;
    mcds_table *table;
    uint32_t left;
    uint32_t number;
};

static mcds_bytes key_of(uint32_t key)
{
    static char text[16];
    (void)snprintf(text, sizeof text, "key %u", (unsigned)key);
    return mcds_text(text);
}

static uint32_t key_of_put(uint32_t number)
{
    return number % KEYS;
}

static mcds_bytes value_of(const struct world *world, uint32_t number)
{
    static uint8_t bytes[LONGEST];
    memset(bytes, (int)number, world->puts[number].length);
    return (mcds_bytes){bytes, world->puts[number].length};
}

static void complain(struct world *world, const char *what, uint32_t key)
{
    (void)snprintf(world->wrong, sizeof world->wrong, "%s: key %u", what, (unsigned)key);
}

static void begin_put(struct world *world, uint32_t number)
{
    world->puts[number].begin = ++world->tick;
    world->puts[number].end = NEVER;
}

static void end_put(struct world *world, uint32_t number, int result)
{
    world->puts[number].end = ++world->tick;
    world->puts[number].result = result;
    if (result != MCDS_OK && result != MCDS_AMBIGUOUS && result != MCDS_BUSY &&
        result != MCDS_TIMEOUT && result != MCDS_UNAVAILABLE)
        fail_msg("result %d: %s", result, mcds_errmsg());
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct putter *putter = context;
    uint32_t begin = done == NULL ? IN_FLIGHT : 1;
    if (done != NULL)
        end_put(putter->world, (uint32_t)done->tag, done->result);
    for (; begin > 0 && putter->left > 0; begin--) {
        uint32_t number = --putter->left * CLIENTS_MAX + putter->number;
        begin_put(putter->world, number);
        assert_int_equal(mcds_table_put_start(putter->table, key_of(key_of_put(number)),
                                              value_of(putter->world, number), 0,
                                              mcds_sim_client_pipeline(client), number),
                         MCDS_OK);
    }
}

/* Whether this put may be the last of its key: it was not refused, and no put that was acknowledged
 * began after its end. */
static bool may_be_last(const struct world *world, uint32_t number)
{
    const struct put *put = &world->puts[number];
    if (put->begin == 0 ||
        (put->end != NEVER && put->result != MCDS_OK && put->result != MCDS_AMBIGUOUS))
        return false;
    for (uint32_t other = key_of_put(number); other < PUTS + KEYS; other += KEYS)
        if (put->result == MCDS_OK && world->puts[other].begin > put->end &&
            world->puts[other].end != NEVER && world->puts[other].result == MCDS_OK)
            return false;
    return true;
}

static bool holds(const struct world *world, uint32_t number, const mcds_value *value)
{
    return may_be_last(world, number) && world->puts[number].length == value->length &&
           memcmp(value_of(world, number).data, value->data, value->length) == 0;
}

static void read_key(struct world *world, mcds_table *table, uint32_t key)
{
    mcds_value value = MCDS_VALUE_INIT;
    bool is_right = false, was_put = false;
    int result = mcds_table_get(table, key_of(key), &value);
    for (uint32_t number = key; number < PUTS + KEYS; number += KEYS) {
        const struct put *put = &world->puts[number];
        was_put = was_put || (put->begin != 0 && put->end != NEVER && put->result == MCDS_OK);
        is_right = is_right || (result == MCDS_OK && holds(world, number, &value));
    }
    mcds_value_free(&value);
    world->replaced += result == MCDS_OK;
    if (!is_right && (result != MCDS_NOT_FOUND || was_put))
        complain(world, "a value that nobody has put, or that was replaced", key);
}

/* The faults are over. */
static void judge(struct world *world, const struct putter *putters)
{
    mcds_sim_calm(world->sim);
    for (uint32_t key = 0; key < KEYS; key++)
        read_key(world, putters[0].table, key);
    for (uint32_t number = PUTS; number < PUTS + KEYS; number++) {
        uint32_t key = key_of_put(number);
        begin_put(world, number);
        end_put(world, number,
                mcds_table_put(putters[0].table, key_of(key), value_of(world, number), 0));
        if (world->puts[number].result != MCDS_OK)
            complain(world, "it takes no more values", key);
        read_key(world, putters[CLIENTS - 1].table, key);
    }
}

/* In most runs, values are short; in every LARGE_EVERYth, of every four one is of any length and the
 * others are large. */
static void draw_lengths(struct world *world, uint64_t seed)
{
    uint64_t dice = seed;
    bool is_large = seed % LARGE_EVERY == 0;
    for (uint32_t i = 0; i < PUTS + KEYS; i++) {
        bool is_any = !is_large || dice_roll(&dice, 4) == 0;
        world->puts[i].length = is_any ? lengths_draw(&dice, 1, is_large ? LONGEST : SHORT)
                                       : LONGEST - (size_t)dice_roll(&dice, LONGEST / 2);
    }
}

static const char *watch_nothing(void *context)
{
    (void)context;
    return NULL;
}

static bool run(mcds_sim_options options, uint64_t *read)
{
    static struct world world;
    static struct putter putters[CLIENTS_MAX];
    mcds_sim_client *client;
    memset(&world, 0, sizeof world);
    draw_lengths(&world, options.seed);
    assert_int_equal(play_open(&options, &world.sim), MCDS_OK);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        putters[i] = (struct putter){
            .world = &world, .left = play_calls(PUTS_OF_A_CLIENT), .number = i};
        assert_int_equal(mcds_sim_client_add(world.sim, program, &putters[i], &client),
                         MCDS_OK);
        assert_int_equal(
            mcds_table_open(mcds_sim_client_store(client), "files", NULL, &putters[i].table),
            MCDS_OK);
    }
    const char *wrong = play_run(world.sim, 1000000, watch_nothing, NULL);
    if (wrong == NULL)
        judge(&world, putters);
    if (wrong == NULL && world.wrong[0] != '\0')
        wrong = world.wrong;
    if (wrong != NULL)
        (void)report(world.sim, options.seed, wrong);
    *read += world.replaced;
    for (uint32_t i = 0; i < CLIENTS; i++)
        mcds_table_close(putters[i].table);
    play_close(world.sim);
    return wrong == NULL;
}

static void large_values_have_room(void **state)
{
    uint64_t read = 0;
    (void)state;
    PLAY (seed, 240)
        assert_true(run(network_faults(seed), &read));
    SEEN(read > 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(large_values_have_room),
};

PLAY_MAIN("table_large")
