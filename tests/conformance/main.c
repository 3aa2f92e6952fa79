/* conformance STORE [short]: the store contract, case by case, against one backend; short: by the
 * short cut of a backend in this process, wherever it takes a request. Prints what is skipped and
 * why; ends with 77 when the backend's server is not installed. */
#include <stdio.h>

#include "conformance/world.h"
#include "support/fixture.h"

#define CASES_MAX 128
#define EXIT_SKIPPED 77

struct asked {
    struct world *world;
    const struct conformance_case *question;
};

static void ask(void **state)
{
    struct asked *asked = *state;
    const struct conformance_case *question = asked->question;
    const char *can = (const char *)&asked->world->can;
    if (question->need != NEEDS_NOTHING && !*(const bool *)(can + question->need)) {
        print_message("skipped: %s needs %s\n", question->name, question->need_name);
        skip();
    }
    world_begin_case(asked->world);
    question->function(asked->world);
}

static struct fixture *fixture;
static struct fake_env fake;
static struct world world;
static const char *backend_name;
static bool short_ways;

static int open_world(void **state)
{
    (void)state;
    fake_env_init(&fake, 1);
    world_open(&world, fixture_uri(fixture), fixture_has_own_clock(fixture) ? NULL : &fake);
    world.short_ways = short_ways;
    return 0;
}

static int close_world(void **state)
{
    (void)state;
    world_close(&world);
    if (short_ways && world.looked == 0) {
        print_error("nothing was seen where it lies\n");
        return -1;
    }
    if (short_ways && strcmp(backend_name, "memory") == 0 && world.counted == 0) {
        print_error("nothing was counted in a cell\n");
        return -1;
    }
    if (fake.blocks != 0)
        print_error("%lld blocks of memory were not freed\n", (long long)fake.blocks);
    return fake.blocks == 0 ? 0 : -1;
}

static size_t gather(struct asked *asked, struct CMUnitTest *tests)
{
    static const struct conformance_suite *const suites[] = {
        &suite_stores,  &suite_numbers, &suite_tokens,       &suite_expiry,
        &suite_batches, &suite_remains, &suite_capabilities,
    };
    size_t count = 0;
    for (size_t s = 0; s < sizeof suites / sizeof suites[0]; s++)
        for (size_t i = 0; i < suites[s]->count && count < CASES_MAX; i++, count++) {
            asked[count] = (struct asked){&world, &suites[s]->cases[i]};
            tests[count] = (struct CMUnitTest){asked[count].question->name, ask, NULL, NULL,
                                               &asked[count]};
        }
    return count;
}

int main(int argc, char **argv)
{
    static struct asked asked[CASES_MAX];
    static struct CMUnitTest tests[CASES_MAX];
    short_ways = argc == 3 && strcmp(argv[2], "short") == 0;
    backend_name = argc == 2 || short_ways ? argv[1] : "";
    const char *missing = NULL;
    fixture = fixture_start(backend_name, &missing);
    if (fixture == NULL && missing != NULL) {
        (void)printf("skipped: %s\n", missing);
        return EXIT_SKIPPED;
    }
    if (fixture == NULL) {
        (void)fprintf(stderr, "usage: conformance STORE [short], one of:%s\n", fixture_names());
        return 64;
    }
    size_t count = gather(asked, tests);
    int failed = _cmocka_run_group_tests(backend_name, tests, count, open_world, close_world);
    fixture_stop(fixture);
    return failed;
}
