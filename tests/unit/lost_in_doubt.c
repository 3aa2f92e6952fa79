/* A store that forgets all keys, or only the roots, while a call is under way. The call may end in
 * doubt, with another failure, or as if nothing had happened; the handle reports the loss, once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"
#include "support/pass_over.h"

#define KEYS_MAX 64
#define ENTRIES 20
#define LATER 4         /* calls after the one that meets the loss */
#define REQUESTS_MAX 40 /* of one call, with its repetitions */
#define ROOT_LENGTH 9   /* of mcds:s2:x */

/* What happens to the request at which the store forgets everything. */
enum fate { IS_SENT, IS_UNSENT, HAS_NO_REPLY, HAS_NO_REPLIES, FATES };

#define IN_FLIGHT 8
#define LARGE 8000 /* two to a part */

#define JOB_LENGTH 1000 /* eight to a part */
#define MANY_JOBS 12    /* need another part */
#define VISIBLE_MS 100
#define NS_PER_MS INT64_C(1000000)

enum structure { SET, TABLE, ARRAY, LIST, QUEUE };
enum verb { READ, SCAN, CHANGE, CHANGE_ASKING, REMOVE, ADD_UP, VERBS };
/* Of a queue. NEXT_LATE: a claim whose previous job another worker has claimed. BURY: a claim that
 * finds a dead job. GIVE_UP: an `again` that makes the job dead. */
enum queue_verb {
    COUNT,
    SCAN_JOBS,
    PUSH,
    PUSH_MANY,
    NEXT,
    PUSH_DEAD,
    LATER_VERBS,
    NEXT_HOLDING = LATER_VERBS,
    NEXT_LATE,
    BURY,
    DONE,
    AGAIN,
    GIVE_UP,
    LONGER,
    QUEUE_VERBS
};

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_set *sets[2];
    mcds_table *tables[2];
    mcds_array *arrays[2];
    mcds_list *lists[2];
    mcds_queue *queues[3]; /* the last makes no queue again */
    mcds_job job;          /* of the first queue */
    uint32_t stripes;
    uint32_t tries;
    uint32_t claims; /* before the loss; each ends the job of the one before */
    char keys[KEYS_MAX][251];
    uint32_t key_count;
    enum structure structure;
    enum fate fate;
    bool is_made_again;
    bool keeps_parts; /* only the root is lost */
    bool is_dropped;  /* another handle drops it, and nothing is lost */
    bool is_armed;
    bool is_lost;
    uint32_t left; /* requests until the loss */
};

static bool note_key(void *context, mcds_bytes key)
{
    struct world *world = context;
    assert_true(world->key_count < KEYS_MAX && key.length <= 250);
    memcpy(world->keys[world->key_count], key.data, key.length);
    world->keys[world->key_count++][key.length] = '\0';
    return true;
}

static void forget_all(struct world *world)
{
    world->key_count = 0;
    assert_int_equal(
        mcds__backend_memory.keys(world->backend.inner, (mcds_bytes){"", 0}, note_key, world),
        MCDS_OK);
    for (uint32_t i = 0; i < world->key_count; i++) {
        mcds_request request = {.command = MCDS_DELETE, .key = mcds_text(world->keys[i])};
        mcds_batch batch = {.requests = &request, .count = 1, .deadline_ns = INT64_MAX};
        if (world->keeps_parts && request.key.length > ROOT_LENGTH)
            continue;
        mcds__backend_memory.submit(world->backend.inner, &batch);
        assert_int_equal(request.reply.outcome, MCDS_OUT_OK);
    }
}

static int call_set(mcds_set *set, enum verb verb, mcds_bytes element)
{
    bool changed;
    switch (verb) {
    case READ:
        return mcds_set_has(set, element);
    case SCAN:
        return mcds_set_scan(set, pass_element, NULL);
    case REMOVE:
        return mcds_set_remove(set, element, &changed);
    default:
        return mcds_set_add(set, element, verb == CHANGE ? NULL : &changed);
    }
}

static int call_table(mcds_table *table, enum verb verb, mcds_bytes key)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    bool changed;
    switch (verb) {
    case READ:
        return mcds_table_has(table, key);
    case SCAN:
        return mcds_table_scan(table, &cursor, 0, pass_entry, NULL);
    case CHANGE:
        return mcds_table_put(table, key, mcds_text("1"), 0);
    case REMOVE:
        return mcds_table_remove(table, key, &changed);
    case ADD_UP:
        return mcds_table_incr(table, key, 1, NULL);
    default:
        return mcds_table_put_if_absent(table, key, mcds_text("1"), 0);
    }
}

static int call_array(mcds_array *array, enum verb verb, mcds_bytes element)
{
    if (verb == READ || verb == SCAN)
        return mcds_array_scan(array, pass_bytes, NULL);
    return mcds_array_change(array, &element, 1, NULL, 0);
}

static int call_list(mcds_list *list, enum verb verb, mcds_bytes value)
{
    if (verb == READ || verb == SCAN)
        return mcds_list_scan(list, 0, 0, pass_bytes, NULL);
    return mcds_list_push(list, value);
}

static int claim(mcds_queue *queue, mcds_job *job)
{
    mcds_value value = MCDS_VALUE_INIT;
    int result = mcds_queue_next(queue, 0, job, &value);
    mcds_value_free(&value);
    return result;
}

static int call_queue(struct world *world, int handle, enum queue_verb verb)
{
    static const char bytes[JOB_LENGTH];
    const mcds_bytes job = {bytes, sizeof bytes};
    mcds_bytes many[MANY_JOBS];
    mcds_queue_counts counts = MCDS_QUEUE_COUNTS_INIT;
    mcds_job other = MCDS_JOB_INIT;
    mcds_queue *queue = world->queues[handle];
    switch (verb) {
    case COUNT:
        return mcds_queue_count(queue, &counts);
    case SCAN_JOBS:
        return mcds_queue_scan(queue, 0, pass_job, NULL);
    case PUSH:
        return mcds_queue_push(queue, job, 0);
    case PUSH_MANY:
        for (int i = 0; i < MANY_JOBS; i++)
            many[i] = job;
        return mcds_queue_push_many(queue, many, MANY_JOBS, 0, NULL);
    case PUSH_DEAD:
        return mcds_queue_push_dead(queue, job, 1);
    case NEXT_HOLDING:
    case NEXT_LATE:
        return claim(queue, &world->job);
    case DONE:
        return mcds_queue_done(queue, &world->job);
    case AGAIN:
    case GIVE_UP:
        return mcds_queue_again(queue, &world->job, 0);
    case LONGER:
        return mcds_queue_longer(queue, &world->job);
    default:
        return claim(queue, &other);
    }
}

static int call(struct world *world, int handle, enum verb verb, mcds_bytes element)
{
    switch (world->structure) {
    case SET:
        return call_set(world->sets[handle], verb, element);
    case TABLE:
        return call_table(world->tables[handle], verb, element);
    case LIST:
        return call_list(world->lists[handle], verb, element);
    case QUEUE:
        return call_queue(world, handle, (enum queue_verb)verb);
    default:
        return call_array(world->arrays[handle], verb, element);
    }
}

static bool lose(void *context, mcds_request *request)
{
    struct world *world = context;
    if (!world->is_armed && world->is_lost && world->fate == HAS_NO_REPLIES) {
        request->reply.outcome = MCDS_OUT_UNSENT;
        return true;
    }
    if (!world->is_armed || world->left-- > 0)
        return false;
    world->is_armed = false;
    if (world->fate == HAS_NO_REPLY || world->fate == HAS_NO_REPLIES) {
        mcds_batch one = *world->backend.batch;
        mcds__backend_memory.submit(world->backend.inner, &one);
    }
    if (world->is_dropped)
        assert_int_equal(mcds_set_drop(world->sets[1]), MCDS_OK);
    else
        forget_all(world);
    if (world->is_made_again) {
        enum fate fate = world->fate;
        world->fate = IS_SENT;
        assert_true(call(world, 1, CHANGE, mcds_text("other")) == MCDS_OK);
        if (world->structure == QUEUE) /* so that a claim finds a job */
            assert_int_equal(call_queue(world, 1, PUSH_MANY), MCDS_OK);
        world->fate = fate;
    }
    world->is_lost = true;
    if (world->fate == IS_SENT)
        return false;
    request->reply.outcome = world->fate == IS_UNSENT ? MCDS_OUT_UNSENT : MCDS_OUT_UNKNOWN;
    return true;
}

static void begin(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    fake_env_init(&world->fake, 11);
    options.env = &world->fake.env;
    options.timeout_ms = 50;
    mcds_queue_options jobs = MCDS_QUEUE_OPTIONS_INIT;
    jobs.visible_ms = VISIBLE_MS;
    jobs.stripes = world->stripes;
    jobs.tries = world->tries;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.hook = lose;
    world->backend.context = world;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mcds_set_open(world->store, "s", NULL, &world->sets[i]), MCDS_OK);
        assert_int_equal(mcds_table_open(world->store, "t", NULL, &world->tables[i]), MCDS_OK);
        assert_int_equal(mcds_array_open(world->store, "a", NULL, &world->arrays[i]), MCDS_OK);
        assert_int_equal(mcds_list_open(world->store, "l", NULL, &world->lists[i]), MCDS_OK);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(mcds_queue_open(world->store, "q", &jobs, &world->queues[i]), MCDS_OK);
}

static void end(struct world *world)
{
    for (int i = 0; i < 2; i++) {
        mcds_set_close(world->sets[i]);
        mcds_table_close(world->tables[i]);
        mcds_array_close(world->arrays[i]);
        mcds_list_close(world->lists[i]);
    }
    for (int i = 0; i < 3; i++)
        mcds_queue_close(world->queues[i]);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

/* Some claims, so that parts are finished and a job is held, or has been for too long. */
static void begin_queue(struct world *world, enum queue_verb verb)
{
    mcds_job job = MCDS_JOB_INIT, late = MCDS_JOB_INIT;
    world->job = job;
    for (uint32_t i = 0; i < world->claims || (i == 0 && verb > NEXT_HOLDING); i++)
        assert_int_equal(claim(world->queues[0], &job), MCDS_OK);
    if (verb == BURY || verb == NEXT_LATE)
        fake_env_sleep_until_ns(&world->fake,
                                world->fake.monotonic_ns + 2 * VISIBLE_MS * NS_PER_MS);
    if (verb == NEXT_LATE)
        assert_int_equal(claim(world->queues[2], &late), MCDS_OK);
    if (verb != BURY)
        world->job = job;
}

/* The store forgets everything at request number `at` of a call. False: the call has fewer. */
static bool play(struct world *world, enum verb verb, enum verb later, uint32_t at)
{
    uint32_t told = 0, doubts = 0;
    char element[16];
    begin(world);
    for (int i = 0; i < ENTRIES; i++) {
        (void)snprintf(element, sizeof element, "%d", i);
        assert_int_equal(call(world, 0, CHANGE, mcds_text(element)), MCDS_OK);
    }
    if (world->structure == QUEUE)
        begin_queue(world, (enum queue_verb)verb);
    world->is_armed = true;
    world->left = at;
    int result = call(world, 0, verb, mcds_text("1"));
    told += result == MCDS_LOST;
    bool is_lost = world->is_lost;
    world->is_armed = world->is_lost = false;
    for (int i = 0; is_lost && i < LATER; i++) {
        (void)snprintf(element, sizeof element, "%d", i);
        int after = call(world, 0, later, mcds_text(element));
        told += after == MCDS_LOST;
        doubts += after == MCDS_AMBIGUOUS;
    }
    assert_true(doubts <= 1); /* not for ever */
    /* A read of several parts may find some lost before it finds that all are. */
    uint32_t most = world->structure == QUEUE && at > 0 ? 2 : 1;
    bool is_first = at == 0 && world->fate == IS_SENT && !world->keeps_parts;
    if (is_lost && (told < 1 || told > most || (is_first && result != MCDS_LOST)))
        fail_msg("structure %d, verb %d, then %d, fate %d, made again %d, request %u: %s, then "
                 "LOST %u times",
                 world->structure, verb, later, world->fate, world->is_made_again, (unsigned)at,
                 mcds_result_name(result), (unsigned)told);
    end(world);
    return is_lost;
}

static void play_all(enum structure structure)
{
    static struct world world;
    for (enum verb verb = READ; verb < VERBS; verb++)
        for (enum verb later = READ; later <= CHANGE_ASKING; later++)
            for (uint32_t how = 0; how < 4 * FATES; how++) {
                uint32_t at = 0;
                do {
                    world = (struct world){.structure = structure,
                                           .fate = (enum fate)(how % FATES),
                                           .is_made_again = how / FATES % 2 == 1,
                                           .keeps_parts = how / FATES / 2 == 1};
                } while (play(&world, verb, later, at) && at++ < REQUESTS_MAX);
                assert_true(at > 0);
            }
}

static void a_set_that_is_lost_meanwhile(void **state)
{
    (void)state;
    play_all(SET);
}

static void a_table_that_is_lost_meanwhile(void **state)
{
    (void)state;
    play_all(TABLE);
}

static void an_array_that_is_lost_meanwhile(void **state)
{
    (void)state;
    play_all(ARRAY);
}

static void play_queue(uint32_t stripes, uint32_t claims)
{
    static struct world world;
    for (uint32_t verb = COUNT; verb < QUEUE_VERBS; verb++)
        for (uint32_t later = COUNT; later < LATER_VERBS; later++)
            for (uint32_t how = 0; how < 4 * FATES; how++) {
                uint32_t at = 0;
                do {
                    world = (struct world){.structure = QUEUE,
                                           .stripes = stripes,
                                           .claims = claims,
                                           .tries = verb == BURY || verb == GIVE_UP,
                                           .fate = (enum fate)(how % FATES),
                                           .is_made_again = how / FATES % 2 == 1,
                                           .keeps_parts = how / FATES / 2 == 1};
                } while (play(&world, (enum verb)verb, (enum verb)later, at) &&
                         at++ < REQUESTS_MAX);
                assert_true(at > 0);
            }
}

/* One that nobody or another handle has made again, in each state that the first call can meet. */
static void a_queue_that_is_lost_meanwhile(void **state)
{
    (void)state;
    play_queue(1, 0);
    play_queue(1, 9);
    play_queue(4, 10);
}

/* A hit in doubt has met the loss: the registers that the handle knew are not used any more. */
static void an_estimate_that_is_lost_meanwhile(void **state)
{
    static struct world world;
    uint32_t doubts = 0;
    (void)state;
    for (uint32_t at = 0; at < 4; at++) {
        mcds_visitors_options options = {.size = sizeof options,
                                         .members = MCDS_MEMBERS_ESTIMATED};
        mcds_visitors *visitors;
        world = (struct world){.fate = HAS_NO_REPLY};
        begin(&world);
        assert_int_equal(mcds_visitors_open(world.store, "v", &options, &visitors), MCDS_OK);
        assert_int_equal(mcds_visitors_hit(visitors, "1", 0), MCDS_OK);
        world.is_armed = true;
        world.left = at;
        bool is_in_doubt = mcds_visitors_hit(visitors, "2", 0) == MCDS_AMBIGUOUS;
        world.is_armed = false;
        if (is_in_doubt)
            assert_int_equal(mcds_visitors_hit(visitors, "1", 0), MCDS_LOST);
        doubts += is_in_doubt;
        mcds_visitors_close(visitors);
        end(&world);
    }
    assert_true(doubts > 0);
}

static bool count_value(void *context, mcds_bytes value)
{
    (void)value;
    ++*(int *)context;
    return true;
}

/* A push in doubt leaves no empty list, which looks like one that was never lost, and
 * does not blame others. The next scan reports the loss. */
static bool play_list(struct world *world, uint32_t at)
{
    begin(world);
    for (int i = 0; i < ENTRIES; i++)
        assert_int_equal(mcds_list_push(world->lists[0], mcds_text("value")), MCDS_OK);
    world->is_armed = true;
    world->left = at;
    int result = mcds_list_push(world->lists[0], mcds_text("late"));
    bool is_lost = world->is_lost;
    world->is_armed = world->is_lost = false;
    if (result == MCDS_AMBIGUOUS)
        assert_null(strstr(mcds_errmsg(), "cleared by others"));
    int count = 0, told = result == MCDS_LOST;
    int found = mcds_list_scan(world->lists[1], 0, 0, count_value, &count);
    if (is_lost && !world->is_made_again)
        assert_true(found == MCDS_OK ? count > 0
                                     : found == MCDS_NOT_FOUND || found == MCDS_LOST);
    for (int i = 0; is_lost && i < LATER; i++)
        told += mcds_list_scan(world->lists[0], 0, 0, pass_bytes, NULL) == MCDS_LOST;
    if (is_lost && told == 0)
        fail_msg("fate %d, made again %d, request %u: %s, and no loss", world->fate,
                 world->is_made_again, (unsigned)at, mcds_result_name(result));
    end(world);
    return is_lost;
}

static void a_list_that_is_lost_meanwhile(void **state)
{
    static struct world world;
    (void)state;
    for (uint32_t how = 0; how < 2 * FATES; how++) {
        uint32_t at = 0;
        do {
            world = (struct world){.structure = LIST,
                                   .fate = (enum fate)(how % FATES),
                                   .is_made_again = how / FATES == 1};
        } while (play_list(&world, at) && at++ < REQUESTS_MAX);
        assert_true(at > 0);
    }
}

/* They make the list again as a push that waits does, whichever of them finds the loss. */
static void pushes_in_flight_make_a_lost_list_again(void **state)
{
    static struct world world;
    static const char bytes[LARGE];
    mcds_pipeline *pipeline;
    mcds_completion done;
    (void)state;
    for (uint32_t before = 1; before < 6; before++) {
        int count = 0;
        world = (struct world){.structure = LIST};
        begin(&world);
        for (uint32_t i = 0; i < before; i++)
            assert_int_equal(mcds_list_push(world.lists[0], (mcds_bytes){bytes, LARGE}),
                             MCDS_OK);
        forget_all(&world);
        assert_int_equal(mcds_pipeline_open(world.store, NULL, &pipeline), MCDS_OK);
        for (uint64_t i = 0; i < IN_FLIGHT; i++)
            assert_int_equal(
                mcds_list_push_start(world.lists[0], (mcds_bytes){bytes, LARGE}, pipeline, i),
                MCDS_OK);
        while (mcds_pipeline_next(pipeline, &done) == MCDS_OK)
            assert_int_equal(done.result, MCDS_OK);
        mcds_pipeline_close(pipeline);
        assert_int_equal(mcds_list_scan(world.lists[0], 0, 0, count_value, &count), MCDS_LOST);
        assert_int_equal(count, IN_FLIGHT);
        end(&world);
    }
}

/* Without a network, the only doubt of a change that another handle's drop meets is that one. */
static void a_change_under_a_drop_is_in_doubt(void **state)
{
    static struct world world;
    uint32_t doubts = 0, at = 0;
    bool is_dropped = true;
    (void)state;
    for (; is_dropped && at < REQUESTS_MAX; at++) {
        world = (struct world){.structure = SET, .is_dropped = true};
        begin(&world);
        assert_int_equal(call(&world, 0, CHANGE, mcds_text("0")), MCDS_OK);
        world.is_armed = true;
        world.left = at;
        int result = call(&world, 0, CHANGE, mcds_text("1"));
        is_dropped = world.is_lost;
        assert_true(result == MCDS_OK || result == MCDS_AMBIGUOUS);
        if (result == MCDS_AMBIGUOUS)
            assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_GONE);
        doubts += result == MCDS_AMBIGUOUS;
        end(&world);
    }
    assert_true(doubts > 0 && at > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_that_is_lost_meanwhile),
        cmocka_unit_test(a_table_that_is_lost_meanwhile),
        cmocka_unit_test(an_array_that_is_lost_meanwhile),
        cmocka_unit_test(a_queue_that_is_lost_meanwhile),
        cmocka_unit_test(an_estimate_that_is_lost_meanwhile),
        cmocka_unit_test(a_list_that_is_lost_meanwhile),
        cmocka_unit_test(pushes_in_flight_make_a_lost_list_again),
        cmocka_unit_test(a_change_under_a_drop_is_in_doubt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
