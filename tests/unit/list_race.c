/* A list is dropped while another handle adds its root, which the store has lost, or records in it that
 * the list has a value: the dropped life does not come back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define ROOT "mcds:l1:x"
#define HOUR_NS INT64_C(3600000000000)
/* Marks of a drop expire after a day. */
#define MARKED_HOURS 25
#define PUSHES 3

/* When the list is dropped. */
enum moment {
    BEFORE_IT_IS_SENT, /* the request for the root */
    WITHOUT_A_REPLY,   /* after it, and its reply is lost */
    BEFORE_IT_ARRIVES, /* its copy arrives when the push has ended */
    MOMENTS
};

struct race {
    struct fake_env fake;
    struct hooked_backend backend;
    struct hooked_backend beside;
    mcds_store *racing;
    mcds_store *plain;
    mcds_list *writer;
    mcds_list *other;
    enum moment moment;
    bool is_lost;      /* the root */
    bool has_appended; /* the writer */
    uint32_t roots;    /* requests for the root after that */
    bool has_raced;
    mcds_request late;
    uint8_t late_value[256];
};

static void submit(struct race *race, mcds_request *request)
{
    mcds_batch one = {.requests = request, .count = 1, .deadline_ns = INT64_MAX};
    mcds__backend_memory.submit(race->backend.inner, &one);
}

static void keep_for_later(struct race *race, const mcds_request *request)
{
    assert_true(request->value.length <= sizeof race->late_value);
    race->late = *request;
    race->late.key = mcds_text(ROOT);
    if (request->value.length > 0)
        memcpy(race->late_value, request->value.data, request->value.length);
    race->late.value.data = race->late_value;
}

static bool drop_at_the_root(void *context, mcds_request *request)
{
    struct race *race = context;
    bool is_root = request->key.length == strlen(ROOT) &&
                   memcmp(request->key.data, ROOT, strlen(ROOT)) == 0;
    race->has_appended = race->has_appended || request->command == MCDS_APPEND;
    race->roots += race->has_appended && is_root;
    /* The first of them, in the batch of the append, proves that the root exists. */
    if (race->has_raced || !is_root ||
        (race->is_lost ? request->command != MCDS_ADD : race->roots < 2))
        return false;
    race->has_raced = true;
    keep_for_later(race, request);
    if (race->moment == WITHOUT_A_REPLY)
        submit(race, request);
    assert_int_equal(mcds_list_push(race->other, mcds_text("dropped")), MCDS_OK);
    assert_int_equal(mcds_list_drop(race->other), MCDS_OK);
    request->reply.outcome = MCDS_OUT_UNKNOWN;
    return race->moment != BEFORE_IT_IS_SENT;
}

static void open_race(struct race *race)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    fake_env_init(&race->fake, 1);
    options.env = &race->fake.env;
    assert_int_equal(hooked_backend_open(&race->backend, &options, &race->racing), MCDS_OK);
    assert_int_equal(
        hooked_backend_open_beside(&race->beside, &race->backend, &options, &race->plain),
        MCDS_OK);
    assert_int_equal(mcds_list_open(race->racing, "x", NULL, &race->writer), MCDS_OK);
    assert_int_equal(mcds_list_open(race->plain, "x", NULL, &race->other), MCDS_OK);
}

static void close_race(struct race *race)
{
    mcds_list_close(race->writer);
    mcds_list_close(race->other);
    mcds_close(race->plain);
    mcds_close(race->racing);
    assert_int_equal(race->fake.blocks, 0);
}

struct found {
    int values;
    int dropped;
};

static bool see(void *context, mcds_bytes value)
{
    struct found *found = context;
    found->values++;
    found->dropped += value.length == 7 && memcmp(value.data, "dropped", 7) == 0;
    return true;
}

/* A handle that knows nothing. */
static void check(const struct race *race, int least, int most)
{
    mcds_list *fresh;
    struct found found = {0, 0};
    assert_int_equal(mcds_list_open(race->plain, "x", NULL, &fresh), MCDS_OK);
    int result = mcds_list_scan(fresh, 0, 0, see, &found);
    if (result != MCDS_OK && (result != MCDS_NOT_FOUND || least > 0))
        fail_msg("moment %d, root lost %d: %s", race->moment, race->is_lost,
                 mcds_result_name(result));
    assert_in_range(found.values, least, most);
    assert_int_equal(found.dropped, 0);
    mcds_list_close(fresh);
}

static void play(enum moment moment, bool is_lost)
{
    static struct race race;
    race = (struct race){.moment = moment, .is_lost = is_lost};
    open_race(&race);
    if (is_lost) {
        mcds_request loss = {.command = MCDS_DELETE, .key = mcds_text(ROOT)};
        assert_int_equal(mcds_list_push(race.writer, mcds_text("dropped")), MCDS_OK);
        assert_int_equal(mcds_list_push(race.other, mcds_text("dropped")), MCDS_OK);
        submit(&race, &loss);
        assert_int_equal(loss.reply.outcome, MCDS_OUT_OK);
    }
    race.backend.hook = drop_at_the_root;
    race.backend.context = &race;
    assert_int_equal(mcds_list_push(race.writer, mcds_text("beside")), MCDS_OK);
    assert_true(race.has_raced);
    if (moment == BEFORE_IT_ARRIVES) {
        assert_int_equal(mcds_list_drop(race.other), MCDS_OK);
        submit(&race, &race.late);
    }
    check(&race, 0, 1);
    fake_env_sleep_until_ns(&race.fake, race.fake.monotonic_ns + MARKED_HOURS * HOUR_NS);
    check(&race, 0, 1);
    for (int i = 1; i <= PUSHES; i++) {
        assert_int_equal(
            mcds_list_push(i % 2 == 0 ? race.writer : race.other, mcds_text("after")), MCDS_OK);
        check(&race, i, i + 1);
    }
    close_race(&race);
}

static void a_drop_before_a_value_is_recorded(void **state)
{
    (void)state;
    for (enum moment moment = BEFORE_IT_IS_SENT; moment < MOMENTS; moment++)
        play(moment, false);
}

static void a_drop_while_a_lost_root_is_added(void **state)
{
    (void)state;
    for (enum moment moment = BEFORE_IT_IS_SENT; moment < MOMENTS; moment++)
        play(moment, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drop_before_a_value_is_recorded),
        cmocka_unit_test(a_drop_while_a_lost_root_is_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
