/* STRUCTURE STORE: the cases of one structure against one backend. Prints what is skipped and why;
 * ends with 77 when what the backend needs is not installed. On a store whose clock is not ours the
 * cases that wait for it run beside the others, each in a process of its own. */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/environment.h"
#include "structures/suite.h"

#define TESTS_MAX 128
#define TIMEOUT_MS 10000
#define INTERVAL_NS (INT64_C(366) * 86400 * NS_PER_S)

struct asked {
    const struct suite_case *question;
    enum mode mode;
    char name[80];
};

static struct suite suite;

/* fake.monotonic_ns is what has been skipped of it. */
static int64_t real_monotonic_ns(void *self)
{
    struct fake_env *fake = self;
    return mcds__monotonic_ns(mcds_env_system()) + fake->monotonic_ns;
}

static void real_random(void *self, void *out, size_t length)
{
    (void)self;
    mcds_env_system()->random(NULL, out, length);
}

static void real_sleep_until_ns(void *self, int64_t monotonic_ns)
{
    struct fake_env *fake = self;
    int64_t left_ns = monotonic_ns - real_monotonic_ns(self);
    if (left_ns <= 0)
        return;
    if (suite.skips_sleep)
        fake->monotonic_ns += left_ns;
    else
        mcds__sleep_until_ns(mcds_env_system(), monotonic_ns - fake->monotonic_ns);
    fake->wall_ns += left_ns;
}

/* A wall clock that moves only when somebody sleeps or shifts it, so that no interval ends by itself
 * during a case, on a slow machine either. It begins with the longest interval of any case, and after
 * the server's, for which a ttl of months is a time of the wall clock. */
static void make_wall(void)
{
    int64_t now_ns = mcds__wall_ns(mcds_env_system());
    suite.fake.wall_ns = now_ns + INTERVAL_NS - now_ns % INTERVAL_NS;
}

static void make_env(void)
{
    fake_env_init(&suite.fake, 1);
    if (!suite.own_clock)
        return;
    make_wall();
    suite.fake.monotonic_ns = 0;
    suite.fake.env.monotonic_ns = real_monotonic_ns;
    suite.fake.env.random = real_random;
    suite.fake.env.sleep_until_ns = real_sleep_until_ns;
}

static void open_one(mcds_store **store, mcds_pipeline **pipeline, mcds_counter **crowd)
{
    char uri[1024];
    mcds_options options = MCDS_OPTIONS_INIT;
    options.env = &suite.fake.env;
    options.timeout_ms = TIMEOUT_MS;
    fixture_uri_of(suite.fixture, "suite", uri, sizeof uri);
    CHECK_RESULT(MCDS_OK, mcds_open(uri, &options, store));
    CHECK_RESULT(MCDS_OK, mcds_counter_open(*store, "crowd", NULL, crowd));
    CHECK_RESULT(MCDS_OK, mcds_counter_add(*crowd, 1, NULL));
    if (suite.mode != WAITING)
        CHECK_RESULT(MCDS_OK, mcds_pipeline_open(*store, NULL, pipeline));
}

static int begin_case(void **state)
{
    const struct asked *asked = *state;
    suite.mode = asked->mode;
    suite.pipeline = suite.other_pipeline = NULL;
    suite.case_serial++;
    suite.name_serial = 0;
    suite.tag = 0;
    open_one(&suite.store, &suite.pipeline, &suite.crowd);
    open_one(&suite.other, &suite.other_pipeline, &suite.other_crowd);
    suite.can = mcds__store_can(suite.store);
    return 0;
}

static int end_case(void **state)
{
    (void)state;
    mcds_pipeline_close(suite.pipeline);
    mcds_pipeline_close(suite.other_pipeline);
    mcds_counter_close(suite.crowd);
    mcds_counter_close(suite.other_crowd);
    mcds_close(suite.store);
    mcds_close(suite.other);
    if (suite.fake.blocks == 0)
        return 0;
    print_error("%lld blocks of memory were not freed\n", (long long)suite.fake.blocks);
    suite.fake.blocks = 0;
    return -1;
}

static void ask(void **state)
{
    const struct asked *asked = *state;
    asked->question->function(&suite);
}

static size_t gather(struct asked *asked)
{
    static const char *const ways[] = {"", ", through a pipeline", ", in a crowd"};
    size_t count = 0;
    for (size_t i = 0; i < suite_cases.count; i++) {
        const struct suite_case *question = &suite_cases.cases[i];
        for (enum mode mode = WAITING; mode <= question->last; mode++, count++) {
            assert_true(count < TESTS_MAX);
            asked[count].question = question;
            asked[count].mode = mode;
            (void)snprintf(asked[count].name, sizeof asked[count].name, "%s%s", question->name,
                           ways[mode]);
        }
    }
    return count;
}

static int run(const char *store, struct asked *asked, size_t count)
{
    static struct CMUnitTest tests[TESTS_MAX];
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){asked[i].name, ask, begin_case, end_case, &asked[i]};
    return count == 0 ? 0 : _cmocka_run_group_tests(store, tests, count, NULL, NULL);
}

/* A process that runs one case, with names of its own, and what it prints. */
struct aside {
    pid_t process;
    FILE *printed;
};

static struct aside begin_aside(const char *store, struct asked *asked, uint32_t serial)
{
    struct aside aside = {.printed = tmpfile()};
    assert_non_null(aside.printed);
    (void)fflush(NULL);
    aside.process = fork();
    assert_true(aside.process >= 0);
    if (aside.process > 0)
        return aside;
    suite.case_serial = TESTS_MAX * (serial + 1);
    if (dup2(fileno(aside.printed), STDOUT_FILENO) < 0 ||
        dup2(fileno(aside.printed), STDERR_FILENO) < 0)
        exit(EXIT_FAILURE);
    exit(run(store, asked, 1));
}

/* Prints what it has printed. Returns how many cases failed. */
static int end_aside(struct aside aside)
{
    char line[1024];
    int status;
    while (waitpid(aside.process, &status, 0) < 0 && errno == EINTR)
        continue;
    rewind(aside.printed);
    while (fgets(line, sizeof line, aside.printed) != NULL)
        (void)fputs(line, stdout);
    (void)fclose(aside.printed);
    return status == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    static struct asked asked[TESTS_MAX], here[TESTS_MAX];
    static struct aside asides[TESTS_MAX];
    suite.fixture = fixture_or_exit(argc, argv);
    suite.own_clock = fixture_has_own_clock(suite.fixture);
    make_env();
    size_t count = gather(asked), count_here = 0, count_aside = 0;
    for (size_t i = 0; i < count; i++) {
        if (suite.own_clock && asked[i].question->waits) {
            asides[count_aside] = begin_aside(argv[1], &asked[i], (uint32_t)i);
            count_aside++;
        } else {
            here[count_here++] = asked[i];
        }
    }
    int failed = run(argv[1], here, count_here);
    for (size_t i = 0; i < count_aside; i++)
        failed += end_aside(asides[i]);
    fixture_stop(suite.fixture);
    return failed;
}
