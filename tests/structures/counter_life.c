/* Counter: names and options, creation and loss, several at once. */
#include <pthread.h>
#include <stdatomic.h>

#include "structures/counter_cases.h"

mcds_counter *open_counter(mcds_store *store, const char *name, uint32_t flags,
                           uint32_t stripes, uint64_t ttl_ms)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter *counter = NULL;
    options.flags = flags;
    options.stripes = stripes;
    options.ttl_ms = ttl_ms;
    CHECK_RESULT(MCDS_OK, mcds_counter_open(store, name, &options, &counter));
    return counter;
}

void check_value(struct suite *suite, mcds_counter *counter, int64_t expected, const char *file,
                 int line)
{
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    check_result(CALL(suite, mcds_counter_get, counter, &value), MCDS_OK, file, line);
    if (value.value == expected)
        return;
    print_error("expected %lld, got %lld\n", (long long)expected, (long long)value.value);
    _fail(file, line);
}

void two_handles_count_one_counter(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *one = open_counter(suite->store, name, 0, 0, 0);
    mcds_counter *same = open_counter(suite->store, name, 0, 0, 0);
    mcds_counter *other = open_counter(suite->other, name, 0, 0, 0);
    int64_t after = 0;
    CHECK(MCDS_OK, suite, mcds_counter_add, one, 1, NULL);
    CHECK(MCDS_OK, suite, mcds_counter_add, same, 10, NULL);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_add, other, 100, &after);
    assert_int_equal(after, 111);
    CHECK_VALUE(suite, one, 111);
    CHECK_VALUE(suite, same, 111);
    mcds_counter_close(one);
    mcds_counter_close(same);
    mcds_counter_close(other);
}

void namespaces_are_apart(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_store *elsewhere = NULL;
    char uri[1024];
    char with_ns[1100];
    mcds_options options = MCDS_OPTIONS_INIT;
    options.env = &suite->fake.env;
    fixture_uri_of(suite->fixture, "suite", uri, sizeof uri);
    (void)snprintf(with_ns, sizeof with_ns, "%s%cns=other.place", uri,
                   strchr(uri, '?') == NULL ? '?' : '&');
    CHECK_RESULT(MCDS_OK, mcds_open(with_ns, &options, &elsewhere));
    mcds_counter *here = open_counter(suite->store, name, 0, 0, 0);
    mcds_counter *there = open_counter(elsewhere, name, 0, 0, 0);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    CHECK(MCDS_OK, suite, mcds_counter_add, here, 5, NULL);
    CHECK_RESULT(MCDS_NOT_FOUND, mcds_counter_get(there, &value));
    CHECK_RESULT(MCDS_OK, mcds_counter_add(there, 7, NULL));
    CHECK_VALUE(suite, here, 5);
    CHECK_RESULT(MCDS_OK, mcds_counter_drop(there));
    CHECK_VALUE(suite, here, 5);
    mcds_counter_close(here);
    mcds_counter_close(there);
    mcds_close(elsewhere);
}

void names_are_apart(struct suite *suite)
{
    mcds_counter *counters[HARD_NAMES];
    for (uint32_t i = 0; i < HARD_NAMES; i++) {
        counters[i] = open_counter(suite->store, hard_name(i), 0, 0, 0);
        CHECK(MCDS_OK, suite, mcds_counter_add, counters[i], i + 1, NULL);
    }
    for (uint32_t i = 0; i < HARD_NAMES; i++) {
        CHECK_VALUE(suite, counters[i], i + 1);
        CHECK(MCDS_OK, suite, mcds_counter_drop, counters[i]);
        mcds_counter_close(counters[i]);
    }
}

void names_have_a_length(struct suite *suite)
{
    char name[1026];
    mcds_counter *counter = NULL;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    CHECK_RESULT(MCDS_INVALID, mcds_counter_open(suite->store, name, NULL, &counter));
    CHECK_SENTENCE("1024");
    CHECK_RESULT(MCDS_INVALID, mcds_counter_open(suite->store, "", NULL, &counter));
    CHECK_SENTENCE("empty");
    assert_null(counter);
    name[1024] = '\0';
    counter = open_counter(suite->store, name, 0, 0, 0);
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 1, NULL);
    CHECK(MCDS_OK, suite, mcds_counter_drop, counter);
    mcds_counter_close(counter);
}

static void check_refused(struct suite *suite, const mcds_counter_options *options,
                          const char *word)
{
    mcds_counter *counter = NULL;
    CHECK_RESULT(MCDS_INVALID, mcds_counter_open(suite->store, "named", options, &counter));
    CHECK_SENTENCE(word);
    assert_null(counter);
}

void options_are_checked(struct suite *suite)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter *counter = NULL;
    options.size = 1;
    check_refused(suite, &options, "mcds_counter_options: its size is 1");
    options = (mcds_counter_options)MCDS_COUNTER_OPTIONS_INIT;
    options.flags = 8;
    check_refused(suite, &options, "flags");
    options = (mcds_counter_options)MCDS_COUNTER_OPTIONS_INIT;
    options.stripes = 33;
    check_refused(suite, &options, "stripes must be 0 to 32, not 33");
    options = (mcds_counter_options)MCDS_COUNTER_OPTIONS_INIT;
    options.ttl_ms = UINT64_MAX;
    check_refused(suite, &options, "ttl");
    options = (mcds_counter_options)MCDS_COUNTER_OPTIONS_INIT;
    options.stripes = 32;
    options.flags = MCDS_COUNTER_SIGNED | MCDS_COUNTER_STRICT;
    options.ttl_ms = UINT64_C(366) * 24 * 3600 * 1000;
    CHECK_RESULT(MCDS_OK, mcds_counter_open(suite->store, "named", &options, &counter));
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 1, NULL);
    CHECK(MCDS_OK, suite, mcds_counter_drop, counter);
    mcds_counter_close(counter);
}

void missing_arguments_are_refused(struct suite *suite)
{
    mcds_counter *counter = NULL;
    int64_t out = 77;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    CHECK_RESULT(MCDS_INVALID, mcds_counter_open(NULL, "n", NULL, &counter));
    CHECK_SENTENCE("counter");
    CHECK_RESULT(MCDS_INVALID, mcds_counter_open(suite->store, NULL, NULL, &counter));
    CHECK_RESULT(MCDS_INVALID, mcds_counter_open(suite->store, "n", NULL, NULL));
    assert_null(counter);
    CHECK(MCDS_INVALID, suite, mcds_counter_add, NULL, 1, &out);
    CHECK_SENTENCE("add");
    CHECK(MCDS_INVALID, suite, mcds_counter_get, NULL, &value);
    CHECK_SENTENCE("get");
    CHECK(MCDS_INVALID, suite, mcds_counter_take, NULL, &out);
    CHECK_SENTENCE("take");
    CHECK(MCDS_INVALID, suite, mcds_counter_drop, NULL);
    CHECK_SENTENCE("drop");
    counter = open_counter(suite->store, fresh_name(suite, "n"), 0, 0, 0);
    CHECK(MCDS_INVALID, suite, mcds_counter_get, counter, NULL);
    CHECK(MCDS_INVALID, suite, mcds_counter_take, counter, NULL);
    CHECK_RESULT(MCDS_INVALID, mcds_counter_add_start(counter, 1, &out, NULL, 1));
    CHECK_RESULT(MCDS_INVALID, mcds_counter_get_start(counter, &value, NULL, 1));
    CHECK_RESULT(MCDS_INVALID, mcds_counter_take_start(counter, &out, NULL, 1));
    CHECK_RESULT(MCDS_INVALID, mcds_counter_drop_start(counter, NULL, 1));
    mcds_counter_close(counter);
    mcds_counter_close(NULL);
}

void strict_says_lost(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *strict = open_counter(suite->store, name, MCDS_COUNTER_STRICT, 0, 0);
    mcds_counter *other = open_counter(suite->other, name, 0, 0, 0);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int64_t out = 77;
    CHECK(MCDS_NOT_FOUND, suite, mcds_counter_get, strict, &value);
    CHECK(MCDS_OK, suite, mcds_counter_add, strict, 5, NULL);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_drop, other);
    CHECK(MCDS_LOST, suite, mcds_counter_get, strict, &value);
    CHECK(MCDS_LOST, suite, mcds_counter_take, strict, &out);
    CHECK(MCDS_LOST, suite, mcds_counter_add, strict, 1, &out);
    CHECK_SENTENCE(name);
    assert_int_equal(out, 77);
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_counter_get, other, &value);
    CHECK(MCDS_NOT_FOUND, suite, mcds_counter_drop, strict);
    CHECK(MCDS_OK, suite, mcds_counter_add, strict, 2, &out);
    assert_int_equal(out, 2);
    mcds_counter_close(strict);
    mcds_counter_close(other);
}

void strict_says_lost_when_born_again(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *strict = open_counter(suite->store, name, MCDS_COUNTER_STRICT, 0, 0);
    mcds_counter *other = open_counter(suite->other, name, 0, 0, 0);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int64_t out = 77;
    CHECK(MCDS_OK, suite, mcds_counter_add, strict, 5, NULL);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_drop, other);
    shift_wall_ms(suite, 2000);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_add, other, 9, NULL);
    CHECK(MCDS_LOST, suite, mcds_counter_get, strict, &value);
    CHECK(MCDS_LOST, suite, mcds_counter_take, strict, &out);
    assert_int_equal(out, 77);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_get, other, &value);
    assert_int_equal(value.value, 9);
    CHECK(MCDS_LOST, suite, mcds_counter_add, strict, 1, NULL);
    CHECK_SENTENCE("made again");
    CHECK(MCDS_OK, suite, mcds_counter_drop, strict);
    CHECK(MCDS_OK, suite, mcds_counter_add, strict, 3, &out);
    assert_int_equal(out, 3);
    CHECK_VALUE(suite, strict, 3);
    mcds_counter_close(strict);
    mcds_counter_close(other);
}

void reborn_is_told(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *counter = open_counter(suite->store, name, 0, 0, 0);
    mcds_counter *other = open_counter(suite->other, name, 0, 0, 0);
    mcds_counter_value before = MCDS_COUNTER_VALUE_INIT;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int64_t out = 77;
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 5, NULL);
    CHECK(MCDS_OK, suite, mcds_counter_get, counter, &before);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_drop, other);
    CHECK(MCDS_LOST, suite, mcds_counter_get, counter, &value);
    shift_wall_ms(suite, 2000);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_add, other, 9, NULL);
    CHECK(MCDS_OK, suite, mcds_counter_get, counter, &value);
    assert_true(value.reborn);
    assert_int_equal(value.value, 9);
    assert_true(value.since_s > before.since_s);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_get, other, &value);
    assert_false(value.reborn);
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 1, &out);
    assert_int_equal(out, 10);
    CHECK(MCDS_OK, suite, mcds_counter_take, counter, &out);
    assert_int_equal(out, 10);
    mcds_counter_close(counter);
    mcds_counter_close(other);
}

/* memcached looks at the clock once a second, and later where the machine is busy. */
static void wait_until_gone(struct suite *suite, const char *name)
{
    mcds_counter *watch = open_counter(suite->other, name, 0, 0, 4000);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    for (int i = 0; suite->own_clock && i < 300; i++) {
        if (mcds_counter_get(watch, &value) == MCDS_NOT_FOUND)
            break;
        mcds_counter_close(watch);
        watch = open_counter(suite->other, name, 0, 0, 4000);
        pass_ms(suite, 100);
    }
    mcds_counter_close(watch);
}

/* The ttl runs from birth: neither adds nor takes make it longer. */
void lives_for_its_ttl(struct suite *suite)
{
    if (suite->own_clock && suite->mode != WAITING)
        skip_because("asked by waiting calls alone, where time passes by itself");
    const char *name = fresh_name(suite, "n");
    mcds_counter *counter = open_counter(suite->store, name, 0, 0, 4000);
    mcds_counter *other = open_counter(suite->other, name, 0, 0, 4000);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int64_t out = 77;
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 5, NULL);
    pass_ms(suite, 1000);
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 5, &out);
    assert_int_equal(out, 10);
    CHECK(MCDS_OK, suite, mcds_counter_take, counter, &out);
    assert_int_equal(out, 10);
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 3, NULL);
    pass_ms(suite, suite->can.ttl_readable ? 3000 : 4000);
    wait_until_gone(suite, name);
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_counter_get, other, &value);
    CHECK(MCDS_LOST, suite, mcds_counter_get, counter, &value);
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 1, &out);
    assert_int_equal(out, 1);
    mcds_counter_close(counter);
    mcds_counter_close(other);
}

static int64_t ttl_of(struct suite *suite, mcds_counter *counter)
{
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    value.ttl_ms = 77;
    CHECK(MCDS_OK, suite, mcds_counter_get, counter, &value);
    return value.ttl_ms;
}

/* Of a counter that expires, of one that does not, and of stripes. */
void reports_its_ttl(struct suite *suite)
{
    const int64_t given_ms = 86400000;
    const int64_t never = suite->can.ttl_readable ? -1 : -2;
    for (uint32_t stripes = 1; stripes <= 4; stripes += 3) {
        mcds_counter *timed = open_counter(suite->store, fresh_name(suite, "t"), 0, stripes,
                                           (uint64_t)given_ms);
        mcds_counter *kept = open_counter(suite->store, fresh_name(suite, "k"), 0, stripes, 0);
        for (int i = 0; i < 8; i++) {
            CHECK(MCDS_OK, suite, mcds_counter_add, timed, 1, NULL);
            CHECK(MCDS_OK, suite, mcds_counter_add, kept, 1, NULL);
        }
        int64_t ttl_ms = ttl_of(suite, timed);
        assert_int_equal(ttl_of(suite, kept), never);
        if (suite->can.ttl_readable) {
            assert_true(ttl_ms > given_ms / 2);
            assert_true(ttl_ms <= given_ms + 5000); /* memcached counts seconds */
        } else {
            assert_int_equal(ttl_ms, -2);
        }
        mcds_counter_close(timed);
        mcds_counter_close(kept);
    }
}

#define TAKERS 4
#define ADDERS 2
#define ADDS 400

struct share {
    mcds_counter *counter;
    _Atomic int *adding; /* threads */
    int64_t sum;
    int trouble; /* the first result that is not expected */
};

/* Where time is injected, calls that wait advance it for the others too: then a call may be too
 * late before it has begun, and has done nothing. */
static void *add_many(void *argument)
{
    struct share *share = argument;
    for (int i = 0; i < ADDS; i++) {
        int result = mcds_counter_add(share->counter, 1 + i % 3, NULL);
        if (result == MCDS_TIMEOUT)
            continue;
        share->sum += 1 + i % 3;
        if (result != MCDS_OK && share->trouble == MCDS_OK)
            share->trouble = result;
    }
    (*share->adding)--;
    return NULL;
}

/* Until the adders are done, and once more. */
static void *take_many(void *argument)
{
    struct share *share = argument;
    for (bool last = false; !last;) {
        int64_t taken = 0;
        last = *share->adding == 0;
        int result = mcds_counter_take(share->counter, &taken);
        if (result == MCDS_OK)
            share->sum += taken;
        else if (result != MCDS_NOT_FOUND && result != MCDS_BUSY && result != MCDS_TIMEOUT &&
                 share->trouble == MCDS_OK)
            share->trouble = result;
    }
    return NULL;
}

void takers_share(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *counters[2] = {open_counter(suite->store, name, 0, 4, 0),
                                 open_counter(suite->other, name, 0, 4, 0)};
    struct share shares[TAKERS + ADDERS];
    pthread_t threads[TAKERS + ADDERS];
    _Atomic int adding = ADDERS;
    int64_t added = 0;
    int64_t taken = 0;
    for (int i = 0; i < TAKERS + ADDERS; i++) {
        shares[i] = (struct share){counters[i % 2], &adding, 0, MCDS_OK};
        assert_int_equal(
            pthread_create(&threads[i], NULL, i < ADDERS ? add_many : take_many, &shares[i]),
            0);
    }
    for (int i = 0; i < TAKERS + ADDERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        CHECK_RESULT(MCDS_OK, shares[i].trouble);
        *(i < ADDERS ? &added : &taken) += shares[i].sum;
    }
    mcds_counter_value left = MCDS_COUNTER_VALUE_INIT;
    CHECK_RESULT(MCDS_OK, mcds_counter_get(counters[0], &left));
    assert_int_equal(added, taken + left.value);
    mcds_counter_close(counters[0]);
    mcds_counter_close(counters[1]);
}
