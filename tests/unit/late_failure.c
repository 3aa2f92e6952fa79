/* The reply to one request of a call is lost, and some requests later nothing succeeds any more until
 * the call ends. Its result is not one that promises that nothing was changed, if a fresh handle finds
 * the change. The values are stored in parts under keys of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define CALLS 2 /* at once, of a pipeline */
#define LENGTH 9000
#define ELEMENT_LENGTH 300
#define FILLERS 16 /* more than four parts of a list take */
#define ENTRIES 16 /* more than a key of a table takes */
#define VALUE_MAX 65536
#define LATE_MAX 32
#define REQUESTS_MAX 200               /* of the calls, with their repetitions */
#define WHEN_MS INT64_C(1700000000000) /* at which the clock of fake_env begins */
#define LATE_MS 1000                   /* the log refuses events that are older */
#define RETENTION_MS 60000             /* a scan reads few chunks */

/* Which requests of the batch have no reply, and when the store carries them out. */
enum fate { THIS_ONE, ALL_FROM_HERE, ALL_AFTER_THE_CALL, FATES };

/* What another handle does after the loss. */
enum other { NOTHING, ADDS, EMPTIES, OTHERS };

/* Why nothing succeeds any more. */
enum cut { IS_UNSENT, HAS_NO_REPLY, IS_REFUSED, HAS_NO_MEMORY, CUTS };

enum structure { LIST, LOG, ARRAY, TABLE, SET };

static const char *const names[] = {"list", "log", "array", "table", "set"};

struct handles {
    mcds_list *list;
    mcds_log *log;
    mcds_array *array;
    mcds_table *table;
    mcds_set *set;
};

struct late {
    mcds_request request;
    char *bytes; /* of the key and the value */
};

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    struct handles own;
    struct handles others;
    enum structure structure;
    enum fate fate;
    enum other other;
    enum cut cut;
    bool is_armed;
    bool is_cut;
    uint32_t requests; /* so far */
    uint32_t at;       /* the number of the one whose reply is lost */
    uint32_t gap;      /* from it to the cut */
    uint64_t batch;    /* the one of the loss */
    struct late late[LATE_MAX];
    uint32_t late_count;
    uint32_t seen[CALLS];
    uint32_t seen_before[CALLS]; /* another handle has emptied the structure */
    int results[CALLS];
};

static mcds_bytes value_of(enum structure structure, uint32_t call)
{
    static char bytes[CALLS][VALUE_MAX];
    size_t length = structure == ARRAY ? VALUE_MAX * 3 / 5 : LENGTH;
    length = structure == SET ? ELEMENT_LENGTH : length;
    memset(bytes[call], 'a' + (int)call, length);
    return (mcds_bytes){bytes[call], length};
}

static void open_handles(struct world *world, struct handles *handles)
{
    mcds_store *store = world->store;
    mcds_log_options options = MCDS_LOG_OPTIONS_INIT;
    options.late_ms = LATE_MS;
    options.retention_ms = RETENTION_MS;
    assert_int_equal(mcds_list_open(store, "l", NULL, &handles->list), MCDS_OK);
    assert_int_equal(mcds_log_open(store, "g", &options, &handles->log), MCDS_OK);
    assert_int_equal(mcds_array_open(store, "a", NULL, &handles->array), MCDS_OK);
    assert_int_equal(mcds_table_open(store, "t", NULL, &handles->table), MCDS_OK);
    assert_int_equal(mcds_set_open(store, "s", NULL, &handles->set), MCDS_OK);
}

static void close_handles(struct handles *handles)
{
    mcds_list_close(handles->list);
    mcds_log_close(handles->log);
    mcds_array_close(handles->array);
    mcds_table_close(handles->table);
    mcds_set_close(handles->set);
}

static int change(struct handles *handles, enum structure structure, mcds_bytes name,
                  mcds_bytes value)
{
    switch (structure) {
    case LIST:
        return mcds_list_push(handles->list, value);
    case LOG:
        return mcds_log_put(handles->log, WHEN_MS, value);
    case ARRAY:
        return mcds_array_change(handles->array, &value, 1, NULL, 0);
    case TABLE:
        return mcds_table_put(handles->table, name, value, 0);
    default:
        return mcds_set_add(handles->set, value, NULL);
    }
}

static int start(struct handles *handles, enum structure structure, mcds_bytes name,
                 mcds_bytes value, mcds_pipeline *pipeline, uint64_t tag)
{
    switch (structure) {
    case LIST:
        return mcds_list_push_start(handles->list, value, pipeline, tag);
    case LOG:
        return mcds_log_put_start(handles->log, WHEN_MS, value, pipeline, tag);
    case ARRAY:
        return mcds_array_change_start(handles->array, &value, 1, NULL, 0, pipeline, tag);
    case TABLE:
        return mcds_table_put_start(handles->table, name, value, 0, pipeline, tag);
    default:
        return mcds_set_add_start(handles->set, value, NULL, pipeline, tag);
    }
}

static int empty(struct handles *handles, enum structure structure)
{
    switch (structure) {
    case LIST:
        return mcds_list_clear(handles->list);
    case LOG:
        return mcds_log_drop(handles->log);
    case ARRAY:
        return mcds_array_drop(handles->array);
    case TABLE:
        return mcds_table_drop(handles->table);
    default:
        return mcds_set_drop(handles->set);
    }
}

static void note(struct world *world, mcds_bytes value)
{
    for (uint32_t i = 0; i < CALLS; i++) {
        mcds_bytes own = value_of(world->structure, i);
        world->seen[i] += value.length == own.length &&
                          memcmp(value.data, own.data, own.length) == 0;
    }
}

static bool see(void *context, mcds_bytes value)
{
    note(context, value);
    return true;
}

static bool see_event(void *context, const mcds_log_event *event)
{
    note(context, event->event);
    return true;
}

static bool see_element(void *context, mcds_bytes element, uint64_t count)
{
    (void)count;
    note(context, element);
    return true;
}

static bool see_entry(void *context, mcds_bytes key, mcds_bytes value)
{
    (void)key;
    note(context, value);
    return true;
}

static int scan(struct world *world, struct handles *handles)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    switch (world->structure) {
    case LIST:
        return mcds_list_scan(handles->list, 0, 0, see, world);
    case LOG:
        return mcds_log_scan(handles->log, NULL, see_event, world, NULL);
    case ARRAY:
        return mcds_array_scan(handles->array, see, world);
    case TABLE:
        return mcds_table_scan(handles->table, &cursor, 0, see_entry, world);
    default:
        return mcds_set_scan(handles->set, see_element, world);
    }
}

static void disturb(struct world *world)
{
    static char filler[LENGTH] = "filler";
    char name[16];
    bool is_long = world->structure == LIST || world->structure == LOG;
    uint32_t count = world->structure == ARRAY ? 1 : ENTRIES;
    if (world->other == EMPTIES) {
        assert_int_equal(scan(world, &world->others), MCDS_OK);
        memcpy(world->seen_before, world->seen, sizeof world->seen);
        memset(world->seen, 0, sizeof world->seen);
        assert_int_equal(empty(&world->others, world->structure), MCDS_OK);
        world->fake.wall_ns += 2 * LATE_MS * INT64_C(1000000);
    }
    for (uint32_t i = 0; world->other == ADDS && i < (is_long ? FILLERS : count); i++) {
        int length = snprintf(name, sizeof name, "%u", (unsigned)i);
        memcpy(filler, name, (size_t)length);
        mcds_bytes value = {filler,
                            is_long || world->structure == TABLE ? LENGTH / 2 : ELEMENT_LENGTH};
        assert_int_equal(change(&world->others, world->structure, mcds_text(name), value),
                         MCDS_OK);
    }
}

static void carry_out(struct world *world, const mcds_request *request)
{
    mcds_request copy = *request;
    mcds_batch batch = {.requests = &copy, .count = 1, .deadline_ns = INT64_MAX};
    mcds__backend_memory.submit(world->backend.inner, &batch);
}

static void keep_for_later(struct world *world, const mcds_request *request)
{
    assert_true(world->late_count < LATE_MAX);
    if (request->command == MCDS_GET)
        return;
    struct late *late = &world->late[world->late_count++];
    late->request = *request;
    late->bytes = malloc(request->key.length + request->value.length + 1);
    assert_non_null(late->bytes);
    memcpy(late->bytes, request->key.data, request->key.length);
    if (request->value.length > 0)
        memcpy(late->bytes + request->key.length, request->value.data, request->value.length);
    late->request.key.data = late->bytes;
    late->request.value.data = late->bytes + request->key.length;
    late->request.route = (mcds_bytes){NULL, 0};
}

static bool lose(struct world *world, mcds_request *request, bool is_first)
{
    world->batch = world->backend.batches;
    if (world->fate == ALL_AFTER_THE_CALL)
        keep_for_later(world, request);
    else
        carry_out(world, request);
    world->is_armed = false;
    if (is_first)
        disturb(world);
    world->is_armed = true;
    request->reply.outcome = MCDS_OUT_UNKNOWN;
    return true;
}

static bool cut(struct world *world, mcds_request *request)
{
    world->is_cut = true;
    switch (world->cut) {
    case IS_UNSENT:
        request->reply.outcome = MCDS_OUT_UNSENT;
        return true;
    case HAS_NO_REPLY:
        request->reply.outcome = MCDS_OUT_UNKNOWN;
        return true;
    case IS_REFUSED:
        request->reply.outcome = MCDS_OUT_NO_MEMORY;
        return request->command != MCDS_GET && request->command != MCDS_DELETE;
    default:
        if (world->fake.allowed < 0)
            fake_env_refuse(&world->fake, 0, true);
        return false;
    }
}

static bool hook(void *context, mcds_request *request)
{
    struct world *world = context;
    if (!world->is_armed)
        return false;
    uint32_t number = world->requests++;
    bool is_with_it = number > world->at && world->fate != THIS_ONE &&
                      world->backend.batches == world->batch;
    if (number == world->at || is_with_it)
        return lose(world, request, number == world->at);
    return number > world->at + world->gap && cut(world, request);
}

static void begin(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    fake_env_init(&world->fake, 5);
    options.env = &world->fake.env;
    options.timeout_ms = 15;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.value_max = VALUE_MAX; /* an array of more than half of it is in parts */
    world->backend.hook = hook;
    world->backend.context = world;
    open_handles(world, &world->own);
    open_handles(world, &world->others);
    for (int i = 0; i < 2; i++)
        assert_int_equal(change(i == 0 ? &world->own : &world->others, world->structure,
                                mcds_text("k"), mcds_text(i == 0 ? "first" : "second")),
                         MCDS_OK);
}

static void run_piped(struct world *world)
{
    mcds_pipeline *pipeline;
    mcds_completion done;
    assert_int_equal(mcds_pipeline_open(world->store, NULL, &pipeline), MCDS_OK);
    for (uint32_t i = 0; i < CALLS; i++)
        assert_int_equal(start(&world->own, world->structure, mcds_text(i == 0 ? "x" : "y"),
                               value_of(world->structure, i), pipeline, i),
                         MCDS_OK);
    for (uint32_t i = 0; i < CALLS; i++) {
        assert_int_equal(mcds_pipeline_next(pipeline, &done), MCDS_OK);
        world->results[done.tag] = done.result;
    }
    mcds_pipeline_close(pipeline);
}

static void judge(const struct world *world, uint32_t call)
{
    int result = world->results[call];
    uint32_t seen = world->seen[call];
    bool may_be_gone = result == MCDS_AMBIGUOUS || world->other == EMPTIES;
    if (result == MCDS_OK || result == MCDS_AMBIGUOUS ? seen == 1 || (seen == 0 && may_be_gone)
                                                      : seen + world->seen_before[call] == 0)
        return;
    fail_msg("%s, call %u, fate %d, other %d, loss at request %u, cut %d after %u: "
             "%s, and seen %u times, and %u times before",
             names[world->structure], (unsigned)call, world->fate, world->other,
             (unsigned)world->at, world->cut, (unsigned)world->gap, mcds_result_name(result),
             (unsigned)seen, (unsigned)world->seen_before[call]);
}

static void end(struct world *world, uint32_t calls)
{
    struct handles fresh;
    world->is_armed = false;
    (void)fake_env_grant(&world->fake);
    for (uint32_t i = 0; i < world->late_count; i++) {
        carry_out(world, &world->late[i].request);
        free(world->late[i].bytes);
    }
    open_handles(world, &fresh);
    int result = scan(world, &fresh);
    assert_true(result == MCDS_OK || (result == MCDS_NOT_FOUND && world->other == EMPTIES));
    for (uint32_t i = 0; i < calls; i++)
        judge(world, i);
    close_handles(&fresh);
    close_handles(&world->own);
    close_handles(&world->others);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static void play(struct world *world, bool is_piped)
{
    begin(world);
    world->is_armed = true;
    if (is_piped)
        run_piped(world);
    else
        world->results[0] = change(&world->own, world->structure, mcds_text("x"),
                                   value_of(world->structure, 0));
    end(world, is_piped ? CALLS : 1);
}

/* Every request is lost, and after it the store becomes unreachable before every later request. */
static void play_losses(const struct world *like, bool is_piped)
{
    static struct world world;
    uint32_t at = 0;
    do {
        uint32_t gap = 0;
        do {
            world = *like;
            world.at = at;
            world.gap = gap;
            play(&world, is_piped);
            gap += 1 + gap / 8; /* later ones are repetitions */
        } while (world.is_cut && gap < REQUESTS_MAX);
        assert_true(gap < REQUESTS_MAX);
    } while (world.requests > at && at++ < REQUESTS_MAX);
    assert_true(at > 1 && at < REQUESTS_MAX);
}

static void play_all(enum structure structure)
{
    static struct world world;
    for (enum fate fate = THIS_ONE; fate < FATES; fate++)
        for (enum other other = NOTHING; other < OTHERS; other++)
            for (enum cut why = IS_UNSENT; why < CUTS; why++) {
                world = (struct world){
                    .structure = structure, .fate = fate, .other = other, .cut = why};
                play_losses(&world, false);
                play_losses(&world, true);
            }
}

static void a_push_of_a_large_value(void **state)
{
    (void)state;
    play_all(LIST);
}

static void a_put_of_a_large_event(void **state)
{
    (void)state;
    play_all(LOG);
}

static void a_change_of_a_large_array(void **state)
{
    (void)state;
    play_all(ARRAY);
}

static void a_put_of_a_large_entry(void **state)
{
    (void)state;
    play_all(TABLE);
}

static void an_add_to_a_set(void **state)
{
    (void)state;
    play_all(SET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_push_of_a_large_value),   cmocka_unit_test(a_put_of_a_large_event),
        cmocka_unit_test(a_change_of_a_large_array), cmocka_unit_test(a_put_of_a_large_entry),
        cmocka_unit_test(an_add_to_a_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
