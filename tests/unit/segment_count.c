/* The count of a list's segments: the state after a writer was interrupted, refused or
 * overtaken between the segment and its count, and which readers miss what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "core/segment/record.h"
#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define LENGTH 8000 /* two to a part */
#define TIMEOUT_MS 50
#define SCRATCH 65536
/* Two pushes are in flight. The first writes the count together with its record and then by itself,
 * and is not answered; after these, the second writes it by itself. */
#define ALONE 2

enum trouble {
    NONE,
    SEGMENT_REFUSED, /* the store makes no part 1 */
    COUNT_UNKNOWN,   /* the count is never answered */
    COUNT_CUT,       /* it is not at first, and was not written */
    COUNT_PASSED,    /* another writer has made part 2 and counted it before */
    COUNT_ALONE,     /* the same, to a push whose batch did not contain the count */
    COUNT_WATCHED,   /* it must not become less */
    MAKING_LOST,     /* the request that makes part 1 does not arrive at first */
    CLEARED,         /* a push comes between the new root and the end of the clear */
    SILENT           /* the store answers one batch more */
};

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    enum trouble trouble;
    uint32_t met;
    mcds_list *list; /* that has pushed before */
    char count[256]; /* its key */
    uint64_t counted;
    uint32_t seen;
    uint32_t flags[2]; /* of the requests that make part 1 */
};

static mcds_reply ask(struct world *world, mcds_request request, mcds_buffer *values)
{
    mcds_batch batch = {
        .requests = &request, .count = 1, .deadline_ns = INT64_MAX, .values = values};
    mcds__backend_memory.submit(world->backend.inner, &batch);
    return request.reply;
}

/* The key of a part is that of the count, and a colon, and a digit. */
static mcds_bytes segment_key(const struct world *world, int segment)
{
    static char key[260];
    int length = snprintf(key, sizeof key, "%s:%d", world->count, segment);
    return (mcds_bytes){key, (size_t)length};
}

static bool is_segment(mcds_bytes key, char digit)
{
    const char *at = key.data;
    return key.length > 9 && memcmp(at, "mcds:lp1:", 9) == 0 && at[key.length - 2] == ':' &&
           at[key.length - 1] == digit;
}

static bool writes_count(const mcds_request *request)
{
    const char *at = request->key.data;
    uint32_t colons = 0;
    if (request->command == MCDS_GET || request->key.length < 9 ||
        memcmp(at, "mcds:lp1:", 9) != 0)
        return false;
    for (size_t i = 0; i < request->key.length; i++)
        colons += at[i] == ':';
    return colons == 3;
}

static bool meet(struct world *world, mcds_request *request, mcds_outcome outcome)
{
    world->met++;
    request->reply.outcome = outcome;
    return true;
}

static void note_count_key(struct world *world, mcds_bytes key, int suffix)
{
    (void)snprintf(world->count, sizeof world->count, "%.*s", (int)key.length - suffix,
                   (const char *)key.data);
}

static bool meet_count(struct world *world, mcds_request *request)
{
    note_count_key(world, request->key, 0);
    if (world->trouble == COUNT_UNKNOWN || (world->trouble == COUNT_CUT && world->met == 0))
        return meet(world, request, MCDS_OUT_UNKNOWN);
    bool is_first = ((const char *)request->value.data)[0] == '2';
    if (world->trouble == COUNT_ALONE && is_first && world->met != ALONE)
        return meet(world, request, MCDS_OUT_UNKNOWN);
    bool is_passed = world->trouble == COUNT_PASSED || world->trouble == COUNT_ALONE;
    uint32_t before = world->trouble == COUNT_ALONE ? ALONE : 0;
    if (!is_passed || world->met++ > before)
        return false;
    mcds_request add = {.command = MCDS_ADD,
                        .flags = 1025,
                        .key = segment_key(world, 2),
                        .value = mcds_text("")};
    assert_int_equal(ask(world, add, NULL).outcome, MCDS_OUT_OK);
    mcds_request set = {
        .command = MCDS_SET, .key = mcds_text(world->count), .value = mcds_text("3")};
    assert_int_equal(ask(world, set, NULL).outcome, MCDS_OUT_OK);
    return false;
}

/* The count before each request of a writer that is slow. */
static void watch_count(struct world *world)
{
    char text[20] = "";
    mcds_buffer values;
    mcds__buffer_init_in(&values, &world->fake.env, sizeof text - 1, text, sizeof text - 1);
    mcds_reply reply = ask(
        world, (mcds_request){.command = MCDS_GET, .key = mcds_text(world->count)}, &values);
    uint64_t count = reply.outcome == MCDS_OUT_OK ? strtoull(text, NULL, 10) : 0;
    assert_true(count >= world->counted);
    world->counted = count;
}

static int push(mcds_list *list)
{
    static const char bytes[LENGTH];
    return mcds_list_push(list, (mcds_bytes){bytes, sizeof bytes});
}

static bool meet_making(struct world *world, mcds_request *request)
{
    if (request->command == MCDS_ADD) {
        assert_true(world->met < 2);
        world->flags[world->met++] = request->flags;
    }
    request->reply.outcome = MCDS_OUT_UNKNOWN;
    return world->met == 1;
}

static bool hook(void *context, mcds_request *request)
{
    struct world *world = context;
    if (world->trouble == CLEARED && request->command == MCDS_SET && world->met == 0 &&
        is_segment(request->key, '0')) {
        world->met++;
        assert_int_equal(push(world->list), MCDS_OK);
    }
    if (world->trouble == CLEARED)
        return false;
    if (world->trouble == SILENT && world->backend.batches > world->counted) {
        request->reply.outcome = MCDS_OUT_UNSENT;
        return true;
    }
    if (world->trouble == COUNT_WATCHED)
        watch_count(world);
    if (request->command == MCDS_ADD && is_segment(request->key, '0'))
        note_count_key(world, request->key, 2);
    /* The batch is cut at the making, so the count is not written either. */
    if (world->trouble == MAKING_LOST && world->met == 1 && writes_count(request)) {
        request->reply.outcome = MCDS_OUT_UNKNOWN;
        return true;
    }
    if (writes_count(request))
        return meet_count(world, request);
    if (world->trouble == MAKING_LOST && is_segment(request->key, '1'))
        return meet_making(world, request);
    if (request->command == MCDS_ADD && is_segment(request->key, '1') &&
        world->trouble == SEGMENT_REFUSED)
        return meet(world, request, MCDS_OUT_NO_MEMORY);
    return false;
}

static bool see(void *context, mcds_bytes value)
{
    (void)value;
    ((struct world *)context)->seen++;
    return true;
}

/* What a handle that knows nothing sees. */
static void check_fetch(struct world *world, int expected, uint32_t seen)
{
    mcds_list *list;
    assert_int_equal(mcds_list_open(world->store, "x", NULL, &list), MCDS_OK);
    world->seen = 0;
    assert_int_equal(mcds_list_scan(list, 0, 0, see, world), expected);
    assert_int_equal(world->seen, seen);
    mcds_list_close(list);
}

static void check_count(struct world *world, const char *expected)
{
    uint8_t scratch[SCRATCH];
    mcds_buffer values;
    mcds__buffer_init_in(&values, &world->fake.env, SCRATCH, scratch, SCRATCH);
    mcds_reply reply = ask(
        world, (mcds_request){.command = MCDS_GET, .key = mcds_text(world->count)}, &values);
    assert_int_equal(reply.outcome, MCDS_OUT_OK);
    assert_int_equal(reply.value_length, strlen(expected));
    assert_memory_equal(values.data + reply.value_at, expected, strlen(expected));
}

/* What is not set in an operation is 0. */
static void *allocate_zeros(void *self, void *memory, size_t length)
{
    void *granted = fake_env_reallocate(self, memory, length);
    if (memory == NULL && granted != NULL)
        memset(granted, 0, length);
    return granted;
}

static void begin(struct world *world, mcds_list **list_out)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 1);
    world->fake.env.reallocate = allocate_zeros;
    options.env = &world->fake.env;
    options.timeout_ms = TIMEOUT_MS;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.hook = hook;
    world->backend.context = world;
    assert_int_equal(mcds_list_open(world->store, "x", NULL, list_out), MCDS_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(push(*list_out), MCDS_OK);
}

static void end(struct world *world, mcds_list *list)
{
    mcds_list_close(list);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static void a_segment_that_was_refused_is_not_missed(void **state)
{
    static struct world world;
    mcds_list *list;
    (void)state;
    begin(&world, &list);
    world.trouble = SEGMENT_REFUSED;
    assert_int_equal(push(list), MCDS_FULL);
    assert_true(world.met > 0);
    check_fetch(&world, MCDS_OK, 2);
    world.trouble = NONE;
    assert_int_equal(push(list), MCDS_OK);
    check_fetch(&world, MCDS_OK, 3);
    check_count(&world, "2");
    end(&world, list);
}

static void nothing_is_acknowledged_before_the_count(void **state)
{
    static struct world world;
    mcds_list *list;
    (void)state;
    for (enum trouble trouble = COUNT_UNKNOWN; trouble <= COUNT_CUT; trouble++) {
        begin(&world, &list);
        world.trouble = trouble;
        assert_int_equal(push(list), trouble == COUNT_CUT ? MCDS_OK : MCDS_AMBIGUOUS);
        assert_true(world.met > 0);
        world.trouble = NONE;
        if (trouble == COUNT_UNKNOWN)
            assert_int_equal(push(list), MCDS_OK);
        check_count(&world, "2");
        mcds_request erase = {.command = MCDS_DELETE, .key = segment_key(&world, 1)};
        assert_int_equal(ask(&world, erase, NULL).outcome, MCDS_OUT_OK);
        check_fetch(&world, MCDS_LOST, 2);
        end(&world, list);
    }
}

static void a_count_that_another_has_passed_is_kept(void **state)
{
    static struct world world;
    mcds_list *list;
    (void)state;
    begin(&world, &list);
    world.trouble = COUNT_PASSED;
    assert_int_equal(push(list), MCDS_OK);
    assert_true(world.met > 0);
    check_count(&world, "3");
    end(&world, list);
}

static void a_count_written_by_itself_is_kept_too(void **state)
{
    static struct world world;
    mcds_list *list;
    mcds_pipeline *pipeline;
    mcds_completion done;
    int results[2] = {MCDS_PENDING, MCDS_PENDING};
    (void)state;
    begin(&world, &list);
    world.trouble = COUNT_UNKNOWN;
    assert_int_equal(push(list), MCDS_AMBIGUOUS); /* part 1 exists now */
    world.trouble = COUNT_ALONE;
    world.met = 0;
    assert_int_equal(mcds_pipeline_open(world.store, NULL, &pipeline), MCDS_OK);
    for (uint64_t i = 0; i < 2; i++)
        assert_int_equal(mcds_list_push_start(list, mcds_text("x"), pipeline, i), MCDS_OK);
    while (mcds_pipeline_next(pipeline, &done) == MCDS_OK)
        results[done.tag] = done.result;
    assert_int_equal(results[0], MCDS_OK);
    assert_int_equal(results[1], MCDS_OK);
    check_count(&world, "3");
    mcds_pipeline_close(pipeline);
    end(&world, list);
}

/* It knows part 0 alone; another has filled parts 1 to 3. */
static void a_slow_writer_lowers_no_count(void **state)
{
    static struct world world;
    mcds_list *list;
    mcds_list *other;
    (void)state;
    begin(&world, &list);
    assert_int_equal(push(list), MCDS_OK);
    assert_int_equal(mcds_list_open(world.store, "x", NULL, &other), MCDS_OK);
    for (int i = 0; i < 5; i++)
        assert_int_equal(push(other), MCDS_OK);
    check_count(&world, "4");
    world.trouble = COUNT_WATCHED;
    for (int i = 0; i < 3; i++)
        assert_int_equal(push(list), MCDS_OK);
    assert_int_equal(world.counted, 6);
    check_fetch(&world, MCDS_OK, 11);
    mcds_list_close(other);
    end(&world, list);
}

/* A writer that knows the parts before a lost last part puts nothing into it. `known`: values that
 * it has pushed; the other pushes the value after these into another part, which is lost. */
static void check_loss_after(int known)
{
    static struct world world;
    mcds_list *list;
    mcds_list *other;
    begin(&world, &list);
    for (int i = 2; i < known; i++)
        assert_int_equal(push(list), MCDS_OK);
    assert_int_equal(mcds_list_open(world.store, "x", NULL, &other), MCDS_OK);
    assert_int_equal(push(other), MCDS_OK);
    mcds_request erase = {.command = MCDS_DELETE, .key = segment_key(&world, known / 2)};
    assert_int_equal(ask(&world, erase, NULL).outcome, MCDS_OUT_OK);
    assert_int_equal(push(list), MCDS_OK);
    check_fetch(&world, MCDS_LOST, (uint32_t)known + 1);
    mcds_list_close(other);
    end(&world, list);
}

static void a_slow_writer_hides_no_loss(void **state)
{
    (void)state;
    for (int parts = 1; parts < 4; parts++)
        check_loss_after(2 * parts);
}

/* The first request may arrive after the store has lost the part: it must make another one. */
static void a_part_made_late_is_another(void **state)
{
    static struct world world;
    mcds_list *list;
    (void)state;
    begin(&world, &list);
    world.trouble = MAKING_LOST;
    assert_int_equal(push(list), MCDS_OK);
    assert_int_equal(world.met, 2);
    assert_int_not_equal(world.flags[0], world.flags[1]);
    end(&world, list);
}

/* A late request makes the last part again, which was lost. A push by a handle that has written it
 * finds that, and its time ends before it has recorded the loss: the next one does. */
static void a_loss_that_a_push_has_found_is_recorded(void **state)
{
    static struct world world;
    uint8_t scratch[SCRATCH];
    mcds_buffer values;
    mcds_list *list;
    (void)state;
    begin(&world, &list);
    assert_int_equal(push(list), MCDS_OK);
    mcds__buffer_init_in(&values, &world.fake.env, SCRATCH, scratch, SCRATCH);
    mcds_request request = {.command = MCDS_GET, .key = segment_key(&world, 1)};
    mcds_reply part = ask(&world, request, &values);
    assert_int_equal(part.outcome, MCDS_OUT_OK);
    request.command = MCDS_DELETE;
    assert_int_equal(ask(&world, request, NULL).outcome, MCDS_OUT_OK);
    request.command = MCDS_ADD;
    request.flags = part.flags ^ 2; /* each try has another number */
    request.value = (mcds_bytes){values.data + part.value_at, MCDS__SEGMENT_HEADER_LENGTH};
    assert_int_equal(ask(&world, request, NULL).outcome, MCDS_OUT_OK);
    world.trouble = SILENT;
    world.counted = world.backend.batches + 1;
    assert_int_equal(push(list), MCDS_AMBIGUOUS);
    world.trouble = NONE;
    check_fetch(&world, MCDS_OK, 3);
    assert_int_equal(push(list), MCDS_OK);
    check_fetch(&world, MCDS_LOST, 4);
    end(&world, list);
}

/* Part 0 is open, and the last part is lost, which was begun ahead of that. */
static void a_clear_after_a_loss_is_the_end(void **state)
{
    static struct world world;
    mcds_list *other;
    (void)state;
    begin(&world, &world.list);
    mcds_request set = {
        .command = MCDS_SET, .key = mcds_text(world.count), .value = mcds_text("2")};
    assert_int_equal(ask(&world, set, NULL).outcome, MCDS_OUT_OK);
    assert_int_equal(mcds_list_open(world.store, "x", NULL, &other), MCDS_OK);
    world.trouble = CLEARED;
    assert_int_equal(mcds_list_clear(other), MCDS_OK);
    assert_int_equal(world.met, 1);
    check_fetch(&world, MCDS_OK, 1);
    mcds_list_close(other);
    end(&world, world.list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_segment_that_was_refused_is_not_missed),
        cmocka_unit_test(nothing_is_acknowledged_before_the_count),
        cmocka_unit_test(a_count_that_another_has_passed_is_kept),
        cmocka_unit_test(a_count_written_by_itself_is_kept_too),
        cmocka_unit_test(a_slow_writer_lowers_no_count),
        cmocka_unit_test(a_slow_writer_hides_no_loss),
        cmocka_unit_test(a_part_made_late_is_another),
        cmocka_unit_test(a_loss_that_a_push_has_found_is_recorded),
        cmocka_unit_test(a_clear_after_a_loss_is_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
