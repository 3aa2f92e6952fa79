/* stream [REFERENCE/]STORE [SEED [COMMANDS]]: one random stream of commands gives equal replies on a
 * reference and on STORE. The reference is a table in memory or, as "simulated" or
 * "simulated-classic", the server of mcds/sim.h when nothing befalls it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "stream/side.h"
#include "support/fake_env.h"
#include "support/fixture.h"

#define EXIT_SKIPPED 77
#define SIMULATED "simulated"
#define SIMULATED_CLASSIC "simulated-classic"
#define SEED_DEFAULT 1
#define COMMANDS_DEFAULT 100000
#define EDGE_EVERY 2000    /* commands between two visits to the largest value */
#define EDGE_CAPACITY 1024 /* beyond what memcached takes more than we give it */
#define EDGE_VALUE_MAX ((uint64_t)4 << 20)

static bool round_of_one(struct stream *stream, struct side *sides, mcds_command command,
                         const uint8_t *value, size_t length)
{
    struct stream_request *made = &stream->batches[0].requests[0];
    memset(made->tokens, 0, sizeof made->tokens);
    made->key = 0;
    made->request = (mcds_request){.command = command, .key = {"stream:edge", 11}};
    made->request.value = (mcds_bytes){value, length};
    stream->batch_count = 1;
    stream->batches[0].count = 1;
    memset(stream->keys[0].pairs, 0, sizeof stream->keys[0].pairs);
    return side_run(&sides[0], 0, stream) && side_run(&sides[1], 1, stream) &&
           compare_round(stream, sides, 0);
}

/* Up to the largest value and beyond. What memcached takes of an append hangs on the length of
 * the key and lies up to 511 bytes above what we give it: there nothing is asked. */
static bool visit_the_edge(struct stream *stream, struct side *sides)
{
    size_t most = (size_t)sides[0].can.value_max;
    if (most != sides[1].can.value_max || most > EDGE_VALUE_MAX)
        return true;
    size_t capacity = (size_t)stream_random(stream, 600);
    uint8_t *value = malloc(most + 1);
    if (value == NULL)
        return false;
    for (size_t i = 0; i <= most; i++)
        value[i] = (uint8_t)('a' + stream_random(stream, 26));
    bool fine = round_of_one(stream, sides, MCDS_SET, value, most - capacity) &&
                round_of_one(stream, sides, MCDS_APPEND, value, capacity + EDGE_CAPACITY) &&
                round_of_one(stream, sides, MCDS_PREPEND, value, capacity + EDGE_CAPACITY) &&
                round_of_one(stream, sides, MCDS_INCR, NULL, 0) &&
                round_of_one(stream, sides, MCDS_APPEND, value, capacity) &&
                round_of_one(stream, sides, MCDS_GET, NULL, 0);
    for (mcds_command command = MCDS_SET; fine && command < MCDS_CAS; command++)
        fine = round_of_one(stream, sides, command, value, most + 1) &&
               round_of_one(stream, sides, MCDS_GET, NULL, 0);
    fine = fine && round_of_one(stream, sides, MCDS_REPLACE, value, most) &&
           round_of_one(stream, sides, MCDS_GET, NULL, 0) &&
           round_of_one(stream, sides, MCDS_DELETE, NULL, 0);
    free(value);
    return fine;
}

static bool run_stream(struct side *sides, uint64_t seed, uint64_t commands)
{
    static struct stream stream;
    for (int side = 0; side < 2; side++) {
        mcds_request get = {.command = MCDS_GET, .key = {"first", 5}};
        mcds_batch batch = {.requests = &get, .count = 1};
        batch.deadline_ns = mcds__monotonic_ns(sides[side].env) + PATIENCE_NS;
        mcds__store_execute(sides[side].store, 0, &batch);
        sides[side].can = mcds__store_can(sides[side].store);
    }
    const mcds_capabilities *one = &sides[0].can;
    const mcds_capabilities *two = &sides[1].can;
    const struct stream_limits limits = {
        .create_on_increment = one->create_on_increment && two->create_on_increment,
        .flags_on_create = one->flags_on_create && two->flags_on_create,
        .create_on_append = one->create_on_append && two->create_on_append,
        .compare_and_set = one->compare_and_set && two->compare_and_set,
        .compare_and_delete = one->compare_and_delete && two->compare_and_delete,
    };
    stream_init(&stream, seed, &limits);
    uint64_t edge = 0;
    uint64_t forgiven = 0;
    for (uint64_t done = 0; done < commands;) {
        if (done >= edge) {
            if (!visit_the_edge(&stream, sides))
                return false;
            edge += EDGE_EVERY;
        }
        stream_next(&stream);
        for (int side = 0; side < 2; side++)
            if (!side_run(&sides[side], side, &stream)) {
                (void)fprintf(stderr, "%s: not all batches came back\n", sides[side].name);
                return false;
            }
        if (!compare_round(&stream, sides, done))
            return false;
        for (uint32_t b = 0; b < stream.batch_count; b++)
            done += stream.batches[b].count;
        if (!erase_spoilt(&stream, sides, &forgiven))
            return false;
    }
    if (!visit_expiry(&stream, sides))
        return false;
    if (forgiven > 0)
        (void)printf(
            "%" PRIu64
            " values were forgiven: misread numbers of 2^63 and more, or missing blanks\n",
            forgiven);
    return true;
}

static bool number_of(int argc, char **argv, int at, uint64_t fallback, uint64_t *out)
{
    *out = fallback;
    return argc <= at || mcds__parse_u64(argv[at], strlen(argv[at]), out);
}

/* The reference: a table in memory, or, where the name says so, the simulated server. */
static bool open_reference(struct side *side, const char *reference,
                           const struct fixture *fixture, const mcds_env *fake)
{
    if (strcmp(reference, SIMULATED) == 0 || strcmp(reference, SIMULATED_CLASSIC) == 0)
        return side_open_simulated(side, reference, strcmp(reference, SIMULATED) != 0);
    /* Nothing is evicted within so much room, and the largest value is memcached's. */
    const char *uri = fixture_has_own_clock(fixture) ? "memory:?strict=1&bytes=4294967296"
                                                     : "memory:";
    return side_open(side, "memory", uri, fake);
}

static bool run_both(const char *reference, const char *backend, const struct fixture *fixture,
                     uint64_t seed, uint64_t commands)
{
    static struct side sides[2];
    static struct fake_env fake;
    fake_env_init(&fake, seed);
    if (!open_reference(&sides[0], reference, fixture, &fake.env))
        return false;
    const mcds_env *env = fixture_has_own_clock(fixture) ? mcds_env_system() : &fake.env;
    bool fine = side_open(&sides[1], backend, fixture_uri(fixture), env);
    if (fine) {
        fine = run_stream(sides, seed, commands);
        side_close(&sides[1]);
    }
    side_close(&sides[0]);
    return fine;
}

int main(int argc, char **argv)
{
    uint64_t seed;
    uint64_t commands;
    const char *missing = NULL;
    const char *slash = argc >= 2 ? strchr(argv[1], '/') : NULL;
    const char *backend = slash != NULL ? slash + 1 : argv[1];
    char reference[32] = "";
    bool fine = argc >= 2 && number_of(argc, argv, 2, SEED_DEFAULT, &seed) &&
                number_of(argc, argv, 3, COMMANDS_DEFAULT, &commands);
    if (slash != NULL)
        (void)snprintf(reference, sizeof reference, "%.*s", (int)(slash - argv[1]), argv[1]);
    struct fixture *fixture = fine ? fixture_start(backend, &missing) : NULL;
    if (fixture == NULL && missing != NULL) {
        (void)printf("skipped: %s\n", missing);
        return EXIT_SKIPPED;
    }
    if (fixture == NULL) {
        (void)fprintf(stderr,
                      "usage: stream [" SIMULATED "/|" SIMULATED_CLASSIC
                      "/]STORE [SEED [COMMANDS]], STORE one of:%s\n",
                      fixture_names());
        return 64;
    }
    fine = run_both(reference, backend, fixture, seed, commands);
    fixture_stop(fixture);
    (void)printf("%s: seed %" PRIu64 ", %" PRIu64 " commands: %s\n", argv[1], seed, commands,
                 fine ? "equal" : "DIFFERENT");
    return fine ? 0 : 1;
}
