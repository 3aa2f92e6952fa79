/* Batches: order, independence, many at once, values, what is refused before sending. */
#include "conformance/world.h"

#include <pthread.h>
#include <stdio.h>

#define MANY 10000
#define THREADS 4
#define ADDS_PER_THREAD 500

static int64_t deadline_ns(const struct world *world)
{
    return mcds__monotonic_ns(world->env) + 30 * NS_PER_S;
}

static void requests_run_in_their_order(struct world *world)
{
    mcds_bytes k = key(world, "k");
    mcds_bytes n = key(world, "n");
    mcds_request requests[MCDS_BATCH_MAX] = {
        {.command = MCDS_SET, .key = k},
        {.command = MCDS_SET, .key = n, .value = text("0"), .route = k},
    };
    for (uint32_t i = 2; i < MCDS_BATCH_MAX; i += 3) {
        if (i + 2 >= MCDS_BATCH_MAX)
            requests[i] = requests[i + 1] = (mcds_request){.command = MCDS_GET, .key = k};
        else
            requests[i] = (mcds_request){.command = MCDS_APPEND, .key = k, .value = text("x")};
        if (i + 2 < MCDS_BATCH_MAX) {
            requests[i + 1] = (mcds_request){.command = MCDS_GET, .key = k};
            requests[i + 2] = (mcds_request){
                .command = MCDS_INCR, .key = n, .delta = i, .route = k};
        }
    }
    run_batch(world, requests, MCDS_BATCH_MAX);
    uint64_t length = 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < MCDS_BATCH_MAX; i++) {
        const mcds_reply *reply = &requests[i].reply;
        check_outcome(reply->outcome, MCDS_OUT_OK, __FILE__, __LINE__);
        length += requests[i].command == MCDS_APPEND;
        sum += requests[i].command == MCDS_INCR ? requests[i].delta : 0;
        if (requests[i].command == MCDS_GET)
            assert_int_equal(reply->value_length, length);
        if (requests[i].command == MCDS_INCR)
            assert_int_equal(reply->number, sum);
    }
    assert_int_equal(length, 20);
}

/* ADD, then whether it was ours, then erase: the answer of each depends on the one before. */
static void each_request_sees_those_before_it(struct world *world)
{
    mcds_bytes k = key(world, "k");
    mcds_request requests[] = {
        {.command = MCDS_GET, .key = k},     {.command = MCDS_ADD, .key = k, .flags = 1},
        {.command = MCDS_ADD, .key = k},     {.command = MCDS_GET, .key = k},
        {.command = MCDS_DELETE, .key = k},  {.command = MCDS_DELETE, .key = k},
        {.command = MCDS_REPLACE, .key = k}, {.command = MCDS_GET, .key = k},
    };
    static const mcds_outcome expected[] = {
        MCDS_OUT_MISS, MCDS_OUT_OK,   MCDS_OUT_NOT_STORED, MCDS_OUT_OK,
        MCDS_OUT_OK,   MCDS_OUT_MISS, MCDS_OUT_NOT_STORED, MCDS_OUT_MISS,
    };
    run_batch(world, requests, 8);
    for (int i = 0; i < 8; i++)
        check_outcome(requests[i].reply.outcome, expected[i], __FILE__, __LINE__);
    assert_int_equal(requests[3].reply.flags, 1);
}

/* Values of several sizes, empty ones and misses among them: each lies where its reply says. */
static void values_do_not_mix(struct world *world)
{
    static char pattern[4096];
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (char)(i * 7 + i / 256);
    mcds_request requests[MCDS_BATCH_MAX];
    char name[16];
    for (uint32_t i = 0; i < MCDS_BATCH_MAX; i++) {
        (void)snprintf(name, sizeof name, "%u", i);
        requests[i] = (mcds_request){.command = MCDS_SET, .key = key(world, name)};
        requests[i].value = (mcds_bytes){pattern + i, i * 61 % 4000};
        requests[i].flags = i;
        if (i % 7 == 3)
            requests[i].command = MCDS_DELETE;
    }
    for (int independent = 0; independent < 2; independent++) {
        run_batch(world, requests, MCDS_BATCH_MAX);
        for (uint32_t i = 0; i < MCDS_BATCH_MAX; i++)
            requests[i].command = MCDS_GET;
        mcds_batch batch = {.requests = requests,
                            .count = MCDS_BATCH_MAX,
                            .independent = independent != 0,
                            .deadline_ns = deadline_ns(world),
                            .values = &world->values};
        world->values.length = 0;
        mcds__store_execute(world->store, 0, &batch);
        for (uint32_t i = 0; i < MCDS_BATCH_MAX; i++) {
            bool is_there = i % 7 != 3;
            check_outcome(requests[i].reply.outcome, is_there ? MCDS_OUT_OK : MCDS_OUT_MISS,
                          __FILE__, __LINE__);
            mcds_bytes value = mcds__reply_value(&batch, &requests[i]);
            assert_int_equal(value.length, is_there ? requests[i].value.length : 0);
            if (value.length > 0)
                assert_memory_equal(value.data, requests[i].value.data, value.length);
            if (is_there)
                assert_int_equal(requests[i].reply.flags, i);
            requests[i].command = is_there ? MCDS_SET : MCDS_DELETE;
        }
    }
}

/* Long keys, missing ones, and one key several times: a backend may put some of them into one
 * command. */
static void many_reads_at_once(struct world *world)
{
    mcds_request requests[MCDS_BATCH_MAX];
    char name[64];
    for (uint32_t i = 0; i < MCDS_BATCH_MAX; i++) {
        (void)snprintf(name, sizeof name, "%u%0*d", i, i % 3 == 0 ? 50 : 1, 0);
        requests[i] = (mcds_request){.command = i % 5 == 2 ? MCDS_DELETE : MCDS_SET,
                                     .key = key(world, name),
                                     .value = {name, strlen(name)}};
        run_batch(world, &requests[i], 1);
        requests[i].command = MCDS_GET;
    }
    requests[7].key = requests[8].key = requests[6].key;    /* there */
    requests[13].key = requests[14].key = requests[12].key; /* not there */
    mcds_batch batch = {.requests = requests,
                        .count = MCDS_BATCH_MAX,
                        .independent = true,
                        .deadline_ns = deadline_ns(world),
                        .values = &world->values};
    world->values.length = 0;
    mcds__store_execute(world->store, 0, &batch);
    for (uint32_t i = 0; i < MCDS_BATCH_MAX; i++) {
        uint32_t stored = i / 6 == 1 && i < 9 ? 6 : i / 6 == 2 && i < 15 ? 12 : i;
        bool is_there = stored % 5 != 2;
        (void)snprintf(name, sizeof name, "%u%0*d", stored, stored % 3 == 0 ? 50 : 1, 0);
        check_outcome(requests[i].reply.outcome, is_there ? MCDS_OUT_OK : MCDS_OUT_MISS,
                      __FILE__, __LINE__);
        mcds_bytes value = mcds__reply_value(&batch, &requests[i]);
        assert_int_equal(value.length, is_there ? strlen(name) : 0);
        if (is_there)
            assert_memory_equal(value.data, name, value.length);
    }
}

static void a_value_beyond_the_room_is_told_and_harms_nothing(struct world *world)
{
    char bytes[600];
    memset(bytes, 'b', sizeof bytes);
    mcds_bytes k = key(world, "k");
    mcds_bytes n = key(world, "n");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = {bytes, sizeof bytes});
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = n, .value = text("1"));
    mcds_request requests[] = {
        {.command = MCDS_GET, .key = k},
        {.command = MCDS_GET, .key = k, .route = k},
        {.command = MCDS_GET, .key = n},
        {.command = MCDS_INCR, .key = n, .delta = 1},
    };
    mcds_buffer little;
    mcds__buffer_init(&little, world->env, 1000);
    mcds_batch batch = {
        .requests = requests, .count = 4, .deadline_ns = deadline_ns(world), .values = &little};
    mcds__store_execute(world->store, 0, &batch);
    check_outcome(requests[0].reply.outcome, MCDS_OUT_OK, __FILE__, __LINE__);
    check_outcome(requests[1].reply.outcome, MCDS_OUT_NO_BUFFER, __FILE__, __LINE__);
    check_outcome(requests[2].reply.outcome, MCDS_OUT_OK, __FILE__, __LINE__);
    check_outcome(requests[3].reply.outcome, MCDS_OUT_OK, __FILE__, __LINE__);
    mcds_bytes value = mcds__reply_value(&batch, &requests[2]);
    assert_int_equal(value.length, 1);
    assert_memory_equal(value.data, "1", 1);
    mcds__buffer_free(&little);
    EXPECT_VALUE(world, n, text("2"));
    EXPECT_VALUE(world, k, ((mcds_bytes){bytes, sizeof bytes}));
}

/* One submit of very many batches: each comes back once, each was carried out once. */
static void many_batches_at_once(struct world *world)
{
    mcds_batch *batches = calloc(MANY, sizeof batches[0]);
    mcds_request *requests = calloc(MANY, sizeof requests[0]);
    assert_non_null(batches);
    assert_non_null(requests);
    mcds_bytes keys[8];
    static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7"};
    for (int i = 0; i < 8; i++) {
        keys[i] = key(world, names[i]);
        EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = keys[i], .value = text("0"));
    }
    for (uint32_t i = 0; i < MANY; i++) {
        requests[i] = (mcds_request){.command = MCDS_INCR, .key = keys[i % 8], .delta = 1};
        batches[i] = (mcds_batch){
            .requests = &requests[i], .count = 1, .deadline_ns = deadline_ns(world)};
        batches[i].next = i + 1 < MANY ? &batches[i + 1] : NULL;
    }
    struct mcds__session *session;
    assert_int_equal(mcds__session_take(world->store, 0, &session), MCDS_OK);
    mcds__session_submit(session, &batches[0]);
    uint32_t back = 0;
    for (int turns = 0; turns < MANY && back < MANY; turns++)
        for (mcds_batch *batch = mcds__session_collect(session, deadline_ns(world));
             batch != NULL; batch = batch->next) {
            assert_int_equal(batch->answered, 1);
            batch->answered = 2; /* a second return would be seen */
            back++;
        }
    assert_int_equal(back, MANY);
    assert_null(mcds__session_collect(session, mcds__monotonic_ns(world->env)));
    mcds__session_give(world->store, session);
    uint64_t seen = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        check_outcome(requests[i].reply.outcome, MCDS_OUT_OK, __FILE__, __LINE__);
        seen += requests[i].reply.number;
    }
    for (int i = 0; i < 8; i++)
        EXPECT_VALUE(world, keys[i], text("1250"));
    assert_int_equal(seen, 8 * (UINT64_C(1250) * 1251 / 2));
    free(batches);
    free(requests);
}

static void what_is_illegal_is_refused_before_sending(struct world *world)
{
    char long_key[MCDS__KEY_MAX + 1];
    memset(long_key, 'k', sizeof long_key);
    mcds_bytes fine = key(world, "fine");
    const mcds_request illegal[] = {
        {.command = MCDS_SET, .key = {"", 0}},
        {.command = MCDS_SET, .key = {long_key, sizeof long_key}},
        {.command = MCDS_SET, .key = text("two words")},
        {.command = MCDS_SET, .key = {"nul\0", 4}},
        {.command = MCDS_SET, .key = text("a\r\nset injected 0 0 1\r\nx\r\n")},
        {.command = MCDS_SET, .key = text("tab\t")},
        {.command = MCDS_GET, .key = text("del\x7f")},
        {.command = MCDS_DELETE, .key = text("high\x80")},
        {.command = MCDS_SET, .key = fine, .ttl_ms = UINT64_C(400000000000)},
        {.command = MCDS_TOUCH, .key = fine, .ttl_ms = UINT64_MAX},
        {.command = MCDS_INCR, .key = fine, .delta = UINT64_MAX},
        {.command = MCDS_DECR, .key = fine, .delta = UINT64_C(1) << 63},
    };
    for (size_t i = 0; i < sizeof illegal / sizeof illegal[0]; i++) {
        mcds_request requests[] = {
            {.command = MCDS_SET, .key = fine, .value = text("sent")},
            illegal[i],
        };
        run_batch(world, requests, 2);
        check_outcome(requests[0].reply.outcome, MCDS_OUT_UNSENT, __FILE__, __LINE__);
        check_outcome(requests[1].reply.outcome, MCDS_OUT_BAD_REQUEST, __FILE__, __LINE__);
        assert_non_null(requests[1].reply.detail);
    }
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = fine);
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = text("injected"));
}

/* The reply to the read before had none, so its server has no compare-and-set. */
static void a_batch_without_a_token_is_not_sent(struct world *world)
{
    mcds_bytes k = key(world, "k");
    mcds_request requests[] = {
        {.command = MCDS_SET, .key = k, .value = text("sent")},
        {.command = MCDS_CAS, .key = k, .value = text("sent")},
    };
    run_batch(world, requests, 2);
    for (size_t i = 0; i < 2; i++)
        check_outcome(requests[i].reply.outcome, MCDS_OUT_UNSUPPORTED, __FILE__, __LINE__);
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = k);
}

static void after_the_deadline_nothing_is_sent(struct world *world)
{
    mcds_bytes k = key(world, "k");
    mcds_request requests[] = {
        {.command = MCDS_SET, .key = k, .value = text("late")},
        {.command = MCDS_GET, .key = k},
    };
    mcds_batch batch = {.requests = requests, .count = 2};
    batch.deadline_ns = mcds__monotonic_ns(world->env) - 1;
    mcds__store_execute(world->store, 0, &batch);
    assert_int_equal(batch.answered, 2);
    check_outcome(requests[0].reply.outcome, MCDS_OUT_UNSENT, __FILE__, __LINE__);
    check_outcome(requests[1].reply.outcome, MCDS_OUT_UNSENT, __FILE__, __LINE__);
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = k);
}

struct adder {
    struct world *world;
    mcds_bytes key;
    uint32_t counted;
    pthread_t thread;
};

static void *add(void *argument)
{
    struct adder *adder = argument;
    for (uint32_t i = 0; i < ADDS_PER_THREAD; i++) {
        mcds_request incr = {.command = MCDS_INCR, .key = adder->key, .delta = 1};
        mcds_batch batch = {
            .requests = &incr, .count = 1, .deadline_ns = deadline_ns(adder->world)};
        mcds__store_execute(adder->world->store, 0, &batch);
        adder->counted += incr.reply.outcome == MCDS_OUT_OK;
    }
    return NULL;
}

static void threads_count_exactly(struct world *world)
{
    struct adder adders[THREADS];
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("0"));
    for (int i = 0; i < THREADS; i++) {
        adders[i] = (struct adder){.world = world, .key = k};
        assert_int_equal(pthread_create(&adders[i].thread, NULL, add, &adders[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(adders[i].thread, NULL), 0);
        assert_int_equal(adders[i].counted, ADDS_PER_THREAD);
    }
    EXPECT_VALUE(world, k, text("2000"));
}

static const struct conformance_case cases[] = {
    CASE(requests_run_in_their_order),
    CASE(each_request_sees_those_before_it),
    CASE(values_do_not_mix),
    CASE(many_reads_at_once),
    CASE(a_value_beyond_the_room_is_told_and_harms_nothing),
    CASE(many_batches_at_once),
    CASE(what_is_illegal_is_refused_before_sending),
    CASE(a_batch_without_a_token_is_not_sent),
    CASE(after_the_deadline_nothing_is_sent),
    CASE(threads_count_exactly),
};
const struct conformance_suite suite_batches = {cases, sizeof cases / sizeof cases[0]};
