/* Histories of the simulated world: whatever is lost on the way, the calls on one object can be put
 * into an order in which each takes effect at one moment between its begin and its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/faults.h"
#include "support/linear.h"

#define CLIENTS 4
#define CALLS 14
#define OBJECTS 2
#define IN_FLIGHT 3
#define KEY_LENGTH 180 /* so that some changes make a key split */
#define ABSENT INT64_MIN
/* With many calls that nobody heard of, a search may have too many ways to go. */
#define UNDECIDED_ONE_IN 50

enum verb { GET, PUT, PUT_IF_ABSENT, COMPARE_AND_SET, REMOVE, INCR };

struct actor;

struct totals {
    uint64_t longest; /* history that was judged, in calls */
    uint64_t undecided;
};

/* A kind of object, and how its calls are made. */
struct subject {
    const char *name;
    int64_t initial;
    linear_apply *apply;
    uint32_t verbs[8];
    uint32_t verb_count;
    int (*open)(struct actor *actor);
    void (*close)(struct actor *actor);
    int (*start)(struct actor *actor, uint32_t call);
    int64_t (*result)(struct actor *actor, uint32_t call, int result);
};

struct call {
    struct linear_op op;
    uint32_t object;
    bool made;
    bool counts; /* it belongs to the history */
    bool changed;
    int64_t number;
    mcds_value value;
    char text[32];
};

struct actor {
    const struct subject *subject;
    mcds_sim *sim;
    mcds_sim_client *client;
    mcds_pipeline *pipeline;
    uint64_t dice;
    uint32_t next;
    bool impossible; /* a result that no fault explains */
    struct call calls[CALLS];
    mcds_table *table;
    mcds_set *set;
    mcds_array *arrays[OBJECTS];
    mcds_counter *counters[OBJECTS];
};

static uint64_t roll(struct actor *actor, uint64_t below)
{
    actor->dice = actor->dice * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (actor->dice >> 33) % below;
}

static mcds_bytes key_of(uint32_t object)
{
    static char keys[OBJECTS][KEY_LENGTH + 1];
    (void)snprintf(keys[object], sizeof keys[object], "%0*u", KEY_LENGTH, object);
    return (mcds_bytes){keys[object], KEY_LENGTH};
}

static const char *object_name(uint32_t object)
{
    return object == 0 ? "one" : "two";
}

static int64_t number_of(mcds_bytes text)
{
    char digits[32];
    (void)snprintf(digits, sizeof digits, "%.*s", (int)text.length, (const char *)text.at);
    return strtoll(digits, NULL, 10);
}

static bool apply_table(int64_t *state, const struct linear_op *op)
{
    int64_t was = *state;
    switch (op->verb) {
    case GET:
        return !op->known || op->result == was;
    case PUT:
        *state = op->argument;
        return true;
    case PUT_IF_ABSENT:
        *state = was == ABSENT ? op->argument : was;
        return !op->known || op->result == (was == ABSENT ? MCDS_OK : MCDS_EXISTS);
    case COMPARE_AND_SET:
        *state = was == op->expected ? op->argument : was;
        return !op->known || op->result == (was == ABSENT         ? MCDS_NOT_FOUND
                                            : was == op->expected ? MCDS_OK
                                                                  : MCDS_EXISTS);
    case REMOVE:
        *state = ABSENT;
        return !op->known || op->result == (was != ABSENT);
    default:
        *state = (was == ABSENT ? 0 : was) + op->argument;
        return !op->known || op->result == *state;
    }
}

static int open_table(struct actor *actor)
{
    return mcds_table_open(mcds_sim_client_store(actor->client), "t", NULL, &actor->table);
}

static void close_table(struct actor *actor)
{
    mcds_table_close(actor->table);
}

static int start_table(struct actor *actor, uint32_t index)
{
    struct call *call = &actor->calls[index];
    mcds_pipeline *pipeline = actor->pipeline;
    mcds_bytes key = key_of(call->object);
    char expected[32];
    (void)snprintf(call->text, sizeof call->text, "%lld", (long long)call->op.argument);
    (void)snprintf(expected, sizeof expected, "%lld", (long long)call->op.expected);
    switch (call->op.verb) {
    case GET:
        return mcds_table_get_start(actor->table, key, &call->value, pipeline, index);
    case PUT:
        return mcds_table_put_start(actor->table, key, mcds_text(call->text), 0, pipeline,
                                    index);
    case PUT_IF_ABSENT:
        return mcds_table_put_if_absent_start(actor->table, key, mcds_text(call->text), 0,
                                              pipeline, index);
    case COMPARE_AND_SET:
        return mcds_table_compare_and_set_start(actor->table, key, mcds_text(expected),
                                                mcds_text(call->text), 0, pipeline, index);
    case REMOVE:
        return mcds_table_remove_start(actor->table, key, &call->changed, pipeline, index);
    default:
        return mcds_table_incr_start(actor->table, key, call->op.argument, &call->number,
                                     pipeline, index);
    }
}

static int64_t result_of_table(struct actor *actor, uint32_t index, int result)
{
    const struct call *call = &actor->calls[index];
    switch (call->op.verb) {
    case GET:
        return result == MCDS_NOT_FOUND
                   ? ABSENT
                   : number_of((mcds_bytes){call->value.at, call->value.length});
    case PUT:
        return 0;
    case REMOVE:
        return call->changed;
    case INCR:
        return call->number;
    default:
        return result;
    }
}

/* 1 there, 0 not. */
static bool apply_set(int64_t *state, const struct linear_op *op)
{
    int64_t was = *state;
    if (op->verb == GET)
        return !op->known || op->result == was;
    *state = op->verb == PUT;
    return !op->known || op->result == (was != *state);
}

static int open_set(struct actor *actor)
{
    return mcds_set_open(mcds_sim_client_store(actor->client), "s", NULL, &actor->set);
}

static void close_set(struct actor *actor)
{
    mcds_set_close(actor->set);
}

static int start_set(struct actor *actor, uint32_t index)
{
    struct call *call = &actor->calls[index];
    mcds_bytes element = key_of(call->object);
    if (call->op.verb == GET)
        return mcds_set_has_start(actor->set, element, actor->pipeline, index);
    return call->op.verb == PUT
               ? mcds_set_add_start(actor->set, element, &call->changed, actor->pipeline, index)
               : mcds_set_remove_start(actor->set, element, &call->changed, actor->pipeline,
                                       index);
}

static int64_t result_of_set(struct actor *actor, uint32_t index, int result)
{
    const struct call *call = &actor->calls[index];
    return call->op.verb == GET ? result == MCDS_OK : call->changed;
}

static int open_array(struct actor *actor)
{
    int result = MCDS_OK;
    for (uint32_t i = 0; i < OBJECTS && result == MCDS_OK; i++)
        result = mcds_array_open(mcds_sim_client_store(actor->client), object_name(i), NULL,
                                 &actor->arrays[i]);
    return result;
}

static void close_array(struct actor *actor)
{
    for (uint32_t i = 0; i < OBJECTS; i++)
        mcds_array_close(actor->arrays[i]);
}

static bool take_element(void *context, mcds_bytes element)
{
    struct call *call = context;
    call->number = number_of(element);
    return true;
}

static int change(void *context, const mcds_bytes *old, size_t old_count, mcds_elements *fresh)
{
    struct call *call = context;
    call->number = (old_count == 1 ? number_of(old[0]) : 0) + call->op.argument;
    (void)snprintf(call->text, sizeof call->text, "%lld", (long long)call->number);
    return mcds_elements_add(fresh, mcds_text(call->text));
}

static int start_array(struct actor *actor, uint32_t index)
{
    struct call *call = &actor->calls[index];
    mcds_array *array = actor->arrays[call->object];
    if (call->op.verb == GET)
        return mcds_array_get_start(array, take_element, call, actor->pipeline, index);
    if (call->op.verb == INCR)
        return mcds_array_change_by_start(array, change, call, actor->pipeline, index);
    (void)snprintf(call->text, sizeof call->text, "%lld", (long long)call->op.argument);
    mcds_bytes element = mcds_text(call->text);
    return mcds_array_set_start(array, &element, 1, actor->pipeline, index);
}

static int64_t result_of_array(struct actor *actor, uint32_t index, int result)
{
    const struct call *call = &actor->calls[index];
    return call->op.verb == GET && result == MCDS_NOT_FOUND ? ABSENT : call->number;
}

static int open_counters(struct actor *actor)
{
    int result = MCDS_OK;
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    options.flags = MCDS_COUNTER_SIGNED;
    for (uint32_t i = 0; i < OBJECTS && result == MCDS_OK; i++)
        result = mcds_counter_open(mcds_sim_client_store(actor->client), object_name(i),
                                   &options, &actor->counters[i]);
    return result;
}

static void close_counters(struct actor *actor)
{
    for (uint32_t i = 0; i < OBJECTS; i++)
        mcds_counter_close(actor->counters[i]);
}

static int start_counter(struct actor *actor, uint32_t index)
{
    struct call *call = &actor->calls[index];
    return mcds_counter_add_start(actor->counters[call->object], call->op.argument,
                                  &call->number, actor->pipeline, index);
}

static int64_t result_of_counter(struct actor *actor, uint32_t index, int result)
{
    (void)result;
    return actor->calls[index].number;
}

static const struct subject table = {
    "table",
    ABSENT,
    apply_table,
    {GET, GET, PUT, PUT_IF_ABSENT, COMPARE_AND_SET, REMOVE, INCR},
    7,
    open_table,
    close_table,
    start_table,
    result_of_table};
static const struct subject set = {
    "set",     0,         apply_set,    {GET, PUT, PUT, REMOVE}, 4, open_set,
    close_set, start_set, result_of_set};
static const struct subject array = {
    "array",    ABSENT,      apply_table, {GET, GET, PUT, INCR}, 4,
    open_array, close_array, start_array, result_of_array};
static const struct subject counter = {
    "counter",        0, apply_table, {INCR}, 1, open_counters, close_counters, start_counter,
    result_of_counter};

/* What was certainly not applied, and a look that did not succeed, says nothing. */
static void book(struct actor *actor, const mcds_completion *done)
{
    struct call *call = &actor->calls[done->tag];
    bool reads = call->op.verb == GET;
    switch (done->result) {
    case MCDS_OK:
    case MCDS_EXISTS:
    case MCDS_NOT_FOUND:
        call->counts = call->op.known = true;
        call->op.ended_ns = mcds_sim_now_ns(actor->sim);
        call->op.result = actor->subject->result(actor, (uint32_t)done->tag, done->result);
        break;
    case MCDS_AMBIGUOUS:
        call->counts = !reads;
        break;
    case MCDS_BUSY:
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
        break;
    default:
        actor->impossible = true;
        mcds_sim_note(actor->sim, actor->client, "result %d: %.80s", done->result,
                      mcds_errmsg());
    }
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct actor *actor = context;
    const struct subject *subject = actor->subject;
    if (done != NULL)
        book(actor, done);
    for (int i = done == NULL ? IN_FLIGHT : 1; i > 0 && actor->next < CALLS; i--) {
        uint32_t index = actor->next++;
        struct call *call = &actor->calls[index];
        call->made = true;
        call->object = (uint32_t)roll(actor, OBJECTS);
        call->op.verb = subject->verbs[roll(actor, subject->verb_count)];
        call->op.argument = (int64_t)roll(actor, 5) + 1;
        call->op.expected = (int64_t)roll(actor, 5) + 1;
        call->op.began_ns = mcds_sim_now_ns(actor->sim);
        actor->pipeline = mcds_sim_client_pipeline(client);
        assert_int_equal(subject->start(actor, index), MCDS_OK);
    }
}

/* A call that nobody heard of when the run ended can have been made too. */
static uint32_t gather(const struct actor *actors, uint32_t object, struct linear_op *ops)
{
    uint32_t count = 0;
    for (int i = 0; i < CLIENTS; i++)
        for (int k = 0; k < CALLS; k++) {
            const struct call *call = &actors[i].calls[k];
            if (call->made && call->object == object && call->counts)
                ops[count++] = call->op;
        }
    return count;
}

static void write_history(mcds_sim *sim, const struct linear_op *ops, uint32_t count)
{
    static const char *const verbs[] = {"get",    "put", "put_if_absent", "compare_and_set",
                                        "remove", "incr"};
    for (uint32_t i = 0; i < count; i++)
        mcds_sim_note(sim, NULL, "history: %lld-%lld %s %lld %lld -> %s%lld",
                      (long long)ops[i].began_ns / 1000, (long long)ops[i].ended_ns / 1000,
                      verbs[ops[i].verb], (long long)ops[i].argument,
                      (long long)ops[i].expected, ops[i].known ? "" : "unknown ",
                      (long long)ops[i].result);
}

static const char *judge(mcds_sim *sim, const struct subject *subject,
                         const struct actor *actors, struct totals *totals)
{
    struct linear_op ops[CLIENTS * CALLS];
    for (int i = 0; i < CLIENTS; i++)
        if (actors[i].impossible)
            return "a result that no fault explains";
    for (uint32_t object = 0; object < OBJECTS; object++) {
        uint32_t count = gather(actors, object, ops);
        enum linear_verdict verdict = linear_check(ops, count, subject->initial,
                                                   subject->apply);
        if (verdict == NOT_LINEAR) {
            write_history(sim, ops, count);
            return "a history that no order explains";
        }
        totals->undecided += verdict == LINEAR_TOO_LONG;
        if (verdict == LINEAR && count > totals->longest)
            totals->longest = count;
    }
    return NULL;
}

static bool run(const struct subject *subject, mcds_sim_options options, struct totals *totals)
{
    static struct actor actors[CLIENTS];
    mcds_sim *sim;
    memset(actors, 0, sizeof actors);
    assert_int_equal(mcds_sim_open(&options, &sim), MCDS_OK);
    for (uint64_t i = 0; i < CLIENTS; i++) {
        struct actor *actor = &actors[i];
        actor->subject = subject;
        actor->sim = sim;
        actor->dice = options.seed * 31 + i;
        assert_int_equal(mcds_sim_client_add(sim, program, actor, &actor->client), MCDS_OK);
        assert_int_equal(subject->open(actor), MCDS_OK);
    }
    bool ended = mcds_sim_run(sim, 200000) == MCDS_OK;
    const char *wrong = ended ? judge(sim, subject, actors, totals) : "it does not end";
    if (wrong != NULL)
        (void)report(sim, options.seed, wrong);
    for (int i = 0; i < CLIENTS; i++) {
        subject->close(&actors[i]);
        for (int k = 0; k < CALLS; k++)
            mcds_value_free(&actors[i].calls[k].value);
    }
    mcds_sim_close(sim);
    return wrong == NULL;
}

static void run_many(const struct subject *subject, uint64_t usual)
{
    struct totals totals = {0, 0};
    uint64_t first = first_seed();
    uint64_t count = seed_count(usual);
    for (uint64_t seed = first; seed < first + count; seed++)
        assert_true(run(subject, network_faults(seed), &totals));
    assert_true(totals.longest >= CALLS);
    assert_true(totals.undecided * UNDECIDED_ONE_IN <= count * OBJECTS);
    print_message("%s: %llu histories, the longest of %llu calls, %llu undecided\n",
                  subject->name, (unsigned long long)count * OBJECTS,
                  (unsigned long long)totals.longest, (unsigned long long)totals.undecided);
}

static void calls_on_a_table_entry(void **state)
{
    (void)state;
    run_many(&table, 1500);
}

static void calls_on_an_element_of_a_set(void **state)
{
    (void)state;
    run_many(&set, 1500);
}

static void calls_on_an_array(void **state)
{
    (void)state;
    run_many(&array, 1500);
}

static void calls_on_a_counter(void **state)
{
    (void)state;
    run_many(&counter, 1500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_on_a_table_entry),
        cmocka_unit_test(calls_on_an_element_of_a_set),
        cmocka_unit_test(calls_on_an_array),
        cmocka_unit_test(calls_on_a_counter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
