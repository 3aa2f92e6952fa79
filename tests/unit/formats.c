/* docs/formats.md, followed to the letter: each structure is used, and then the documented keys
 * and bytes are read from the store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "store/store.h"
#include "support/fake_env.h"

#define VALUE_MAX 512
#define DAY_MS UINT64_C(86400000)
#define NOW_S INT64_C(1795249320)

struct reader {
    struct fake_env fake;
    mcds_store *store;
    uint8_t value[VALUE_MAX]; /* of the last key that was read, and NUL */
    size_t length;
    uint32_t flags;
    int64_t ttl_ms;
};

static int open_reader(void **state)
{
    static struct reader reader;
    memset(&reader, 0, sizeof reader);
    fake_env_init(&reader.fake, 1);
    reader.fake.wall_ns = NOW_S * 1000000000;
    mcds_options options = MCDS_OPTIONS_INIT;
    options.env = &reader.fake.env;
    options.ns = "ns";
    *state = &reader;
    return mcds_open("memory:", &options, &reader.store);
}

static int close_reader(void **state)
{
    struct reader *reader = *state;
    mcds_close(reader->store);
    return reader->fake.blocks == 0 ? 0 : -1;
}

static void look_up(struct reader *reader, const char *key)
{
    uint8_t capacity[VALUE_MAX];
    mcds_buffer values;
    mcds__buffer_init_in(&values, &reader->fake.env, sizeof capacity, capacity,
                         sizeof capacity);
    mcds_request get = {
        .command = MCDS_GET, .options = MCDS_WANT_TTL, .key = {key, strlen(key)}};
    mcds_batch batch = {
        .requests = &get, .count = 1, .deadline_ns = INT64_MAX, .values = &values};
    mcds__store_execute(reader->store, 0, &batch);
    if (get.reply.outcome != MCDS_OUT_OK)
        fail_msg("there is no key %s", key);
    reader->length = get.reply.value_length;
    reader->flags = get.reply.flags;
    reader->ttl_ms = get.reply.ttl_ms;
    assert_true(reader->length < VALUE_MAX);
    memcpy(reader->value, values.data + get.reply.value_at, reader->length);
    reader->value[reader->length] = '\0';
}

static void check_number(struct reader *reader, const char *key, const char *number)
{
    look_up(reader, key);
    assert_string_equal((char *)reader->value, number);
    assert_int_equal(reader->flags, NOW_S);
}

/* CRC-32C bit by bit. */
static uint32_t add_to_sum(uint32_t sum, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    sum = ~sum;
    for (size_t i = 0; i < length; i++) {
        sum ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ ((sum & 1) != 0 ? UINT32_C(0x82f63b78) : 0);
    }
    return ~sum;
}

static uint64_t little(const uint8_t *at, size_t length)
{
    uint64_t number = 0;
    for (size_t i = length; i-- > 0;)
        number = number << 8 | at[i];
    return number;
}

/* Returns the payload of the frame under `key`. */
static const uint8_t *check_frame(struct reader *reader, const char *key, char type,
                                  size_t payload_length)
{
    look_up(reader, key);
    assert_int_equal(reader->length, 4 + payload_length + 4);
    const uint8_t head[] = {'m', 'd', (uint8_t)type, 1};
    assert_memory_equal(reader->value, head, sizeof head);
    uint32_t sum = add_to_sum(0, key, strlen(key));
    sum = add_to_sum(sum, reader->value, 4 + payload_length);
    assert_int_equal(little(reader->value + 4 + payload_length, 4), sum);
    return reader->value + 4;
}

static void add_to(struct reader *reader, const char *name, uint32_t flags, uint32_t stripes,
                   int64_t delta)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter *counter;
    options.flags = flags;
    options.stripes = stripes;
    assert_int_equal(mcds_counter_open(reader->store, name, &options, &counter), MCDS_OK);
    assert_int_equal(mcds_counter_add(counter, delta, NULL), MCDS_OK);
    mcds_counter_close(counter);
}

static void names_become_keys(void **state)
{
    struct reader *reader = *state;
    add_to(reader, "page/index.html?q=a~b", 0, 0, 1);
    check_number(reader, "ns:c1:page/index.html?q=a~b", "1");
    add_to(reader, "~a b:c%d\n\xc3\xa9", 0, 0, 1);
    check_number(reader, "ns:c1:%7Ea%20b%3Ac%25d%0A%C3%A9", "1");

    char longest[101];
    memset(longest, 'x', 100);
    longest[100] = '\0';
    char key[128];
    (void)snprintf(key, sizeof key, "ns:c1:%s", longest);
    add_to(reader, longest, 0, 0, 1);
    check_number(reader, key, "1");

    char hashed[201];
    memset(hashed, 'x', 200);
    hashed[200] = '\0';
    add_to(reader, hashed, 0, 0, 1);
    check_number(reader, "ns:c1:~qiDCPjIBg0BQZ54diJQbmm_tBVc", "1");
}

static void counters_are_numbers(void **state)
{
    struct reader *reader = *state;
    add_to(reader, "plain", 0, 0, 42);
    check_number(reader, "ns:c1:plain", "42");
    assert_int_equal(reader->ttl_ms, MCDS_TTL_NEVER);
    add_to(reader, "signed", MCDS_COUNTER_SIGNED, 0, 0);
    check_number(reader, "ns:c1:signed", "4611686018427387904");
    add_to(reader, "signed", MCDS_COUNTER_SIGNED, 0, -1);
    check_number(reader, "ns:c1:signed", "4611686018427387903");
}

/* The slot of the only writer, wherever it has found one. */
static const uint8_t *only_slot(struct reader *reader, char key[32])
{
    for (int slot = 0; slot < 63; slot++) {
        mcds_request get = {.command = MCDS_GET, .options = MCDS_NO_VALUE};
        mcds_batch batch = {.requests = &get, .count = 1, .deadline_ns = INT64_MAX};
        (void)snprintf(key, 32, "ns:cx1:exact:%d", slot);
        get.key = (mcds_bytes){key, strlen(key)};
        mcds__store_execute(reader->store, 0, &batch);
        if (get.reply.outcome == MCDS_OUT_OK)
            return check_frame(reader, key, 'X', 21 + 37);
    }
    fail_msg("no slot has been written");
    return NULL;
}

static void an_exact_counter_is_head_and_slots(void **state)
{
    struct reader *reader = *state;
    char key[32];
    add_to(reader, "exact", MCDS_COUNTER_EXACT, 0, -5);
    const uint8_t *head = check_frame(reader, "ns:c1:exact", 'H', 3);
    const uint8_t expected[] = {1, 1, 63};
    assert_memory_equal(head, expected, sizeof expected);
    assert_int_equal(reader->ttl_ms, MCDS_TTL_NEVER);
    const uint8_t *slot = only_slot(reader, key);
    assert_int_equal(reader->ttl_ms, MCDS_TTL_NEVER);
    assert_true(little(slot, 8) != 0);
    assert_int_equal(little(slot + 8, 4), 0);
    assert_int_equal(little(slot + 12, 8), 0);
    assert_int_equal(slot[20], 1);
    assert_true(little(slot + 21, 8) != 0);
    assert_int_equal(little(slot + 29, 8), 1);
    assert_true(little(slot + 37, 8) == (uint64_t)-5);
    assert_int_equal(little(slot + 45, 8), 0);
    assert_int_equal(little(slot + 53, 4), NOW_S);
    assert_int_equal(slot[57], 1); /* it has been closed */
}

static void stripes_are_numbered(void **state)
{
    struct reader *reader = *state;
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    options.stripes = 2;
    mcds_counter *counter;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    for (const char *stripe = "01"; *stripe != '\0'; stripe++) {
        char key[] = "ns:c1:striped:?";
        key[sizeof key - 2] = *stripe;
        mcds_request set = {.command = MCDS_SET,
                            .flags = NOW_S,
                            .key = {key, strlen(key)},
                            .value = {*stripe == '0' ? "40" : "2", *stripe == '0' ? 2 : 1}};
        mcds_batch batch = {.requests = &set, .count = 1, .deadline_ns = INT64_MAX};
        mcds__store_execute(reader->store, 0, &batch);
    }
    assert_int_equal(mcds_counter_open(reader->store, "striped", &options, &counter), MCDS_OK);
    assert_int_equal(mcds_counter_get(counter, &value), MCDS_OK);
    assert_int_equal(value.value, 42);
    mcds_counter_close(counter);
}

static void a_lease_is_a_frame_and_a_fence(void **state)
{
    struct reader *reader = *state;
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    options.lease_ms = 30000;
    options.label = "me";
    mcds_lock *lock;
    mcds_lease lease = MCDS_LEASE_INIT;
    assert_int_equal(mcds_lock_open(reader->store, "job", &options, &lock), MCDS_OK);
    assert_int_equal(mcds_lock_try_acquire(lock, &lease), MCDS_OK);

    const uint8_t *payload = check_frame(reader, "ns:lk1:job", 'L', 1 + 16 + 8 + 2);
    assert_int_equal(reader->ttl_ms, 30000);
    assert_int_equal(payload[0], 0);
    assert_int_equal(little(payload + 1, 8), lease.token[0]);
    assert_int_equal(little(payload + 9, 8), lease.token[1]);
    assert_int_equal(little(payload + 17, 8), 0);
    assert_memory_equal(payload + 25, "me", 2);

    char fence[24];
    (void)snprintf(fence, sizeof fence, "%llu", (unsigned long long)lease.fence);
    check_number(reader, "ns:lf1:job", fence);
    assert_int_equal(reader->ttl_ms, MCDS_TTL_NEVER);

    assert_int_equal(mcds_lock_renew(lock, &lease), MCDS_OK);
    payload = check_frame(reader, "ns:lk1:job", 'L', 1 + 16 + 8 + 2);
    assert_int_equal(little(payload + 17, 8), 1);
    assert_int_equal(mcds_lock_release(lock, &lease), MCDS_OK);
    mcds_lock_close(lock);
}

static void visitors_are_slots_and_marks(void **state)
{
    struct reader *reader = *state;
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    options.period_ms = DAY_MS;
    options.settle_ms = 5000;
    mcds_visitors *visitors;
    assert_int_equal(mcds_visitors_open(reader->store, "site", &options, &visitors), MCDS_OK);
    assert_int_equal(mcds_visitors_hit(visitors, "al ice", 0), MCDS_OK);
    uint64_t slot = (uint64_t)NOW_S * 1000 / DAY_MS;
    char key[64];
    (void)snprintf(key, sizeof key, "ns:vc1:site:86400000:%llu", (unsigned long long)slot);
    check_number(reader, key, "1");
    assert_int_equal(reader->ttl_ms, 3 * DAY_MS + 5000 + 4000);
    (void)snprintf(key, sizeof key, "ns:vu1:site:86400000:%llu:al%%20ice",
                   (unsigned long long)slot);
    const uint8_t *payload = check_frame(reader, key, 'V', 16);
    assert_int_equal(little(payload, 8), slot);
    assert_int_equal(reader->ttl_ms, 2 * DAY_MS + 5000 + 4000);
    payload = check_frame(reader, "ns:vc1:site", 'D', 33 + 16);
    assert_int_equal(little(payload, 2), 0x0101); /* layout and needs */
    assert_int_equal(little(payload + 2, 2), 'v');
    assert_int_equal(little(payload + 32, 1), 2);
    assert_int_equal(little(payload + 33, 8), DAY_MS);
    assert_int_equal(little(payload + 41, 8), MCDS_MEMBERS_NONE);
    assert_int_equal(reader->ttl_ms, 3 * (3 * DAY_MS + 5000 + 4000));
    mcds_visitors_close(visitors);
}

static void online_is_windows_and_marks(void **state)
{
    struct reader *reader = *state;
    mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
    options.buckets = 5;
    options.width_ms = 60000;
    mcds_online *online;
    assert_int_equal(mcds_online_open(reader->store, "site", &options, &online), MCDS_OK);
    assert_int_equal(mcds_online_beat(online, "alice", 0), MCDS_OK);
    uint64_t slot = (uint64_t)NOW_S / 60;
    char key[64];
    for (uint64_t i = 0; i <= 5; i++) {
        (void)snprintf(key, sizeof key, "ns:ow1:site:60000:5:%llu",
                       (unsigned long long)(slot + i));
        check_number(reader, key, i == 0 ? "4294967296" : "4294967297");
        assert_int_equal(reader->ttl_ms, (5 + 2) * 60000 + 9000);
    }
    assert_int_equal(mcds_online_beat(online, "alice", ((int64_t)slot - 2) * 60000), MCDS_OK);
    const uint8_t *payload = check_frame(reader, "ns:os1:site:60000:5:alice", 'O', 24);
    assert_int_equal(little(payload, 8), slot);
    assert_int_equal(little(payload + 8, 8), 5); /* now, and two minutes ago */
    assert_int_equal(reader->ttl_ms, (5 + 2) * 60000 + 9000);
    check_number(reader, key, "4294967297");
    (void)snprintf(key, sizeof key, "ns:ow1:site:60000:5:%llu", (unsigned long long)slot);
    check_number(reader, key, "4294967297"); /* no more in its last bucket only */
    payload = check_frame(reader, "ns:ow1:site", 'D', 33 + 24);
    assert_int_equal(little(payload + 33, 8), 60000);
    assert_int_equal(little(payload + 41, 8), 5);
    assert_int_equal(little(payload + 49, 8), MCDS_MEMBERS_NONE);
    mcds_online_close(online);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_become_keys, open_reader, close_reader),
        cmocka_unit_test_setup_teardown(counters_are_numbers, open_reader, close_reader),
        cmocka_unit_test_setup_teardown(an_exact_counter_is_head_and_slots, open_reader,
                                        close_reader),
        cmocka_unit_test_setup_teardown(stripes_are_numbered, open_reader, close_reader),
        cmocka_unit_test_setup_teardown(a_lease_is_a_frame_and_a_fence, open_reader,
                                        close_reader),
        cmocka_unit_test_setup_teardown(visitors_are_slots_and_marks, open_reader,
                                        close_reader),
        cmocka_unit_test_setup_teardown(online_is_windows_and_marks, open_reader, close_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
