/* Records calls on shared objects and their results. */
#include "support/history.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "support/dice.h"

#define ABSENT INT64_MIN

enum verb { GET, PUT, PUT_IF_ABSENT, COMPARE_AND_SET, REMOVE, INCR };

#define WORDS                                                                                  \
    {                                                                                          \
        "get", "put", "put_if_absent", "compare_and_set", "remove", "incr"                     \
    }

static uint64_t roll(struct history_actor *actor, uint64_t below)
{
    return dice_roll(&actor->dice, below);
}

static mcds_bytes key_of(const struct history_actor *actor, struct history_call *call)
{
    (void)snprintf(call->key, sizeof call->key, "%0*u", actor->key_length, call->object);
    return mcds_text(call->key);
}

const char *history_object_name(const struct history_actor *actor, uint32_t object,
                                char capacity[static 48])
{
    (void)snprintf(capacity, 48, "%s %u", actor->name, object);
    return capacity;
}

/* Of decimal digits, of which the first may be many zeros. */
static int64_t number_of(mcds_bytes text)
{
    const char *at = text.data;
    size_t begin = text.length > 0 && at[0] == '-';
    int64_t number = 0;
    for (size_t i = begin; i < text.length; i++)
        number = number * 10 + (at[i] - '0');
    return begin > 0 ? -number : number;
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

static int open_table(struct history_actor *actor)
{
    return mcds_table_open(actor->store, actor->name, NULL, &actor->table);
}

static void close_table(struct history_actor *actor)
{
    mcds_table_close(actor->table);
}

static int start_table(struct history_actor *actor, uint32_t index)
{
    struct history_call *call = &actor->calls[index];
    mcds_pipeline *pipeline = actor->pipeline;
    mcds_bytes key = key_of(actor, call);
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

static mcds_bytes value_of(struct history_actor *actor, uint32_t which, int64_t argument)
{
    uint32_t number = (uint32_t)argument - 1;
    return lengths_fill(actor->scratch[which], actor->lengths.of[number], number);
}

static int start_values(struct history_actor *actor, uint32_t index)
{
    struct history_call *call = &actor->calls[index];
    mcds_pipeline *pipeline = actor->pipeline;
    mcds_bytes key = key_of(actor, call);
    mcds_bytes value = value_of(actor, 0, call->op.argument);
    switch (call->op.verb) {
    case PUT:
        return mcds_table_put_start(actor->table, key, value, 0, pipeline, index);
    case PUT_IF_ABSENT:
        return mcds_table_put_if_absent_start(actor->table, key, value, 0, pipeline, index);
    case COMPARE_AND_SET:
        return mcds_table_compare_and_set_start(actor->table, key,
                                                value_of(actor, 1, call->op.expected), value, 0,
                                                pipeline, index);
    default:
        return start_table(actor, index);
    }
}

/* A value that nobody has put is the argument of no call. */
static int64_t result_of_values(struct history_actor *actor, uint32_t index, int result)
{
    const struct history_call *call = &actor->calls[index];
    if (call->op.verb == REMOVE)
        return call->changed;
    if (call->op.verb != GET)
        return call->op.verb == PUT ? 0 : result;
    mcds_bytes value = {call->value.data, call->value.length};
    return result == MCDS_NOT_FOUND ? ABSENT
                                    : (int64_t)lengths_number_of(&actor->lengths, value) + 1;
}

static int64_t result_of_table(struct history_actor *actor, uint32_t index, int result)
{
    const struct history_call *call = &actor->calls[index];
    switch (call->op.verb) {
    case GET:
        return result == MCDS_NOT_FOUND
                   ? ABSENT
                   : number_of((mcds_bytes){call->value.data, call->value.length});
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

static int open_set(struct history_actor *actor)
{
    return mcds_set_open(actor->store, actor->name, NULL, &actor->set);
}

static void close_set(struct history_actor *actor)
{
    mcds_set_close(actor->set);
}

static int start_set(struct history_actor *actor, uint32_t index)
{
    struct history_call *call = &actor->calls[index];
    mcds_bytes element = key_of(actor, call);
    if (call->op.verb == GET)
        return mcds_set_has_start(actor->set, element, actor->pipeline, index);
    return call->op.verb == PUT
               ? mcds_set_add_start(actor->set, element, &call->changed, actor->pipeline, index)
               : mcds_set_remove_start(actor->set, element, &call->changed, actor->pipeline,
                                       index);
}

static int64_t result_of_set(struct history_actor *actor, uint32_t index, int result)
{
    const struct history_call *call = &actor->calls[index];
    return call->op.verb == GET ? result == MCDS_OK : call->changed;
}

static int open_array(struct history_actor *actor)
{
    char name[48];
    int result = MCDS_OK;
    for (uint32_t i = 0; i < HISTORY_OBJECTS && result == MCDS_OK; i++)
        result = mcds_array_open(actor->store, history_object_name(actor, i, name), NULL,
                                 &actor->arrays[i]);
    return result;
}

static void close_array(struct history_actor *actor)
{
    for (uint32_t i = 0; i < HISTORY_OBJECTS; i++)
        mcds_array_close(actor->arrays[i]);
}

static bool take_element(void *context, mcds_bytes element)
{
    struct history_call *call = context;
    call->number = number_of(element);
    return true;
}

/* The digits of the number, after as many zeros as make them an element of its length. */
static mcds_bytes element_of(struct history_actor *actor, int64_t number)
{
    char *out = (char *)actor->scratch[0];
    size_t length = actor->lengths.of[(uint64_t)number % HISTORY_ARGUMENTS];
    int written = snprintf(out, HISTORY_VALUE_MAX + 1, "%0*lld", (int)length,
                           (long long)number);
    return (mcds_bytes){out, (size_t)written};
}

static int change(void *context, const mcds_bytes *old, size_t old_count, mcds_elements *fresh)
{
    struct history_call *call = context;
    call->number = (old_count == 1 ? number_of(old[0]) : 0) + call->op.argument;
    return mcds_elements_add(fresh, element_of(call->actor, call->number));
}

static int start_array(struct history_actor *actor, uint32_t index)
{
    struct history_call *call = &actor->calls[index];
    mcds_array *array = actor->arrays[call->object];
    if (call->op.verb == GET)
        return mcds_array_scan_start(array, take_element, call, actor->pipeline, index);
    if (call->op.verb == INCR)
        return mcds_array_change_by_start(array, change, call, actor->pipeline, index);
    mcds_bytes element = element_of(actor, call->op.argument);
    return mcds_array_set_start(array, &element, 1, actor->pipeline, index);
}

static int64_t result_of_array(struct history_actor *actor, uint32_t index, int result)
{
    const struct history_call *call = &actor->calls[index];
    return call->op.verb == GET && result == MCDS_NOT_FOUND ? ABSENT : call->number;
}

static int open_counters(struct history_actor *actor)
{
    char name[48];
    int result = MCDS_OK;
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    options.flags = MCDS_COUNTER_SIGNED;
    for (uint32_t i = 0; i < HISTORY_OBJECTS && result == MCDS_OK; i++)
        result = mcds_counter_open(actor->store, history_object_name(actor, i, name), &options,
                                   &actor->counters[i]);
    return result;
}

static void close_counters(struct history_actor *actor)
{
    for (uint32_t i = 0; i < HISTORY_OBJECTS; i++)
        mcds_counter_close(actor->counters[i]);
}

static int start_counter(struct history_actor *actor, uint32_t index)
{
    struct history_call *call = &actor->calls[index];
    return mcds_counter_add_start(actor->counters[call->object], call->op.argument,
                                  &call->number, actor->pipeline, index);
}

static int64_t result_of_counter(struct history_actor *actor, uint32_t index, int result)
{
    (void)result;
    return actor->calls[index].number;
}

const struct history_subject history_table = {
    .name = "table",
    .words = WORDS,
    .initial = ABSENT,
    .apply = apply_table,
    .verbs = {GET, GET, PUT, PUT_IF_ABSENT, COMPARE_AND_SET, REMOVE, INCR},
    .verb_count = 7,
    .repeats = true,
    .open = open_table,
    .close = close_table,
    .start = start_table,
    .result = result_of_table,
};
const struct history_subject history_values = {
    .name = "values",
    .words = WORDS,
    .initial = ABSENT,
    .apply = apply_table,
    .verbs = {GET, GET, PUT, PUT_IF_ABSENT, COMPARE_AND_SET, REMOVE},
    .verb_count = 6,
    .repeats = true,
    .open = open_table,
    .close = close_table,
    .start = start_values,
    .result = result_of_values,
};
const struct history_subject history_set = {
    .name = "set",
    .words = WORDS,
    .initial = 0,
    .apply = apply_set,
    .verbs = {GET, PUT, PUT, REMOVE},
    .verb_count = 4,
    .repeats = true,
    .open = open_set,
    .close = close_set,
    .start = start_set,
    .result = result_of_set,
};
const struct history_subject history_array = {
    .name = "array",
    .words = WORDS,
    .initial = ABSENT,
    .apply = apply_table,
    .verbs = {GET, GET, PUT, INCR},
    .verb_count = 4,
    .open = open_array,
    .close = close_array,
    .start = start_array,
    .result = result_of_array,
};
const struct history_subject history_counter = {
    .name = "counter",
    .words = WORDS,
    .initial = 0,
    .apply = apply_table,
    .verbs = {INCR},
    .verb_count = 1,
    .open = open_counters,
    .close = close_counters,
    .start = start_counter,
    .result = result_of_counter,
};

static void note_impossible(struct history_actor *actor, int result)
{
    (void)snprintf(actor->impossible, sizeof actor->impossible, "result %d: %.200s", result,
                   mcds_errmsg());
}

/* What was certainly not applied, and a look that did not succeed, says nothing. */
void history_book(struct history_actor *actor, const mcds_completion *done)
{
    struct history_call *call = &actor->calls[done->tag];
    bool reads = call->op.verb == GET;
    if (actor->subject->book != NULL) {
        if (!actor->subject->book(actor, (uint32_t)done->tag, done->result))
            note_impossible(actor, done->result);
        call->is_over = true;
        return;
    }
    switch (done->result) {
    case MCDS_OK:
    case MCDS_EXISTS:
    case MCDS_NOT_FOUND:
        call->counts = call->op.known = true;
        call->op.ended_ns = actor->now_ns(actor->clock);
        call->op.result = actor->subject->result(actor, (uint32_t)done->tag, done->result);
        break;
    case MCDS_AMBIGUOUS:
        call->counts = !reads;
        break;
    case MCDS_LOST:
        call->lost = true;
        call->op.ended_ns = actor->now_ns(actor->clock);
        if (!actor->may_lose)
            note_impossible(actor, done->result);
        break;
    case MCDS_BUSY:
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
        break;
    default:
        note_impossible(actor, done->result);
    }
    call->is_over = true;
}

void history_abandon(struct history_actor *actor)
{
    for (uint32_t i = 0; i < actor->next; i++) {
        struct history_call *call = &actor->calls[i];
        if (call->is_over)
            continue;
        call->counts = call->op.verb != GET;
        call->op.known = call->lost = false;
    }
}

int history_open(struct history_actor *actor, const struct history_subject *subject,
                 mcds_store *store, mcds_pipeline *pipeline, const char *name, uint64_t dice)
{
    memset(actor, 0, offsetof(struct history_actor, scratch));
    actor->subject = subject;
    actor->store = store;
    actor->pipeline = pipeline;
    actor->dice = dice;
    actor->key_length = HISTORY_KEY;
    actor->lengths.count = HISTORY_ARGUMENTS;
    (void)snprintf(actor->name, sizeof actor->name, "%s", name);
    return subject->open(actor);
}

void history_close(struct history_actor *actor)
{
    actor->subject->close(actor);
    for (int i = 0; i < HISTORY_CALLS; i++)
        mcds_value_free(&actor->calls[i].value);
}

bool history_call(struct history_actor *actor)
{
    const struct history_subject *subject = actor->subject;
    if (actor->next == HISTORY_CALLS || actor->impossible[0] != '\0')
        return false;
    uint32_t index = actor->next++;
    struct history_call *call = &actor->calls[index];
    call->object = (uint32_t)roll(actor, HISTORY_OBJECTS);
    call->op.verb = subject->verbs[roll(actor, subject->verb_count)];
    call->actor = actor;
    call->op.argument = (int64_t)roll(actor, HISTORY_ARGUMENTS) + 1;
    call->op.expected = (int64_t)roll(actor, HISTORY_ARGUMENTS) + 1;
    call->op.began_ns = actor->now_ns(actor->clock);
    int result = subject->start(actor, index);
    if (result == MCDS_OK)
        return true;
    (void)snprintf(actor->impossible, sizeof actor->impossible, "start: %.200s", mcds_errmsg());
    return false;
}

void history_lose(struct history_losses *losses, enum linear_kind kind, int64_t from_ns,
                  int64_t to_ns)
{
    if (losses->count == HISTORY_LOSSES) {
        struct linear_op *last = &losses->at[HISTORY_LOSSES - 1];
        last->kind = LINEAR_LOSSES;
        last->ended_ns = to_ns;
        return;
    }
    losses->at[losses->count++] = (struct linear_op){
        .kind = kind, .began_ns = from_ns, .ended_ns = to_ns};
}

bool history_lost_too_soon(const struct history_actor *actors, uint32_t count,
                           const struct history_losses *losses)
{
    int64_t first_ns = INT64_MAX;
    for (uint32_t i = 0; i < losses->count; i++)
        if (losses->at[i].began_ns < first_ns)
            first_ns = losses->at[i].began_ns;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < actors[i].next; k++)
            if (actors[i].calls[k].lost && actors[i].calls[k].op.ended_ns < first_ns)
                return true;
    return false;
}

static uint32_t put(struct linear_op *ops, uint32_t found, const struct linear_op *op)
{
    if (found < LINEAR_OPS_MAX)
        ops[found] = *op;
    return found + 1;
}

/* The changes that a call may have made before a loss, although its reply came after it. */
static uint32_t put_earlier_lives(const struct history_losses *losses,
                                  const struct linear_op *call, struct linear_op *ops,
                                  uint32_t found)
{
    for (uint32_t i = 0; i < losses->count; i++) {
        const struct linear_op *loss = &losses->at[i];
        bool is_over = call->known && call->ended_ns <= loss->ended_ns;
        if (loss->kind != LINEAR_LOSS || is_over || call->began_ns > loss->ended_ns)
            continue;
        struct linear_op earlier = *call;
        earlier.kind = LINEAR_PERHAPS;
        earlier.known = false;
        earlier.ended_ns = loss->ended_ns;
        found = put(ops, found, &earlier);
    }
    return found;
}

static uint32_t put_extras(const struct history_actor *actor, uint32_t call, bool may_lose,
                           struct linear_op *ops, uint32_t found)
{
    struct linear_op extras[HISTORY_EXTRAS];
    uint32_t count = 0;
    if (actor->subject->gather != NULL)
        count = actor->subject->gather(actor, call, may_lose, extras);
    for (uint32_t i = 0; i < count; i++)
        found = put(ops, found, &extras[i]);
    return found;
}

uint32_t history_gather(const struct history_actor *actors, uint32_t count, uint32_t object,
                        const struct history_losses *losses,
                        struct linear_op ops[static LINEAR_OPS_MAX])
{
    uint32_t found = 0;
    for (uint32_t i = 0; losses != NULL && i < losses->count; i++)
        found = put(ops, found, &losses->at[i]);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < actors[i].next; k++) {
            const struct history_call *call = &actors[i].calls[k];
            if (call->object != object || !call->counts)
                continue;
            found = put(ops, found, &call->op);
            found = put_extras(&actors[i], k, losses != NULL && losses->count > 0, ops, found);
        }
    return found;
}

uint32_t history_gather_lives(const struct history_actor *actors, uint32_t count,
                              uint32_t object, const struct history_losses *losses,
                              struct linear_op ops[static LINEAR_OPS_MAX])
{
    uint32_t found = history_gather(actors, count, object, losses, ops);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < actors[i].next && actors[i].subject->repeats; k++) {
            const struct history_call *call = &actors[i].calls[k];
            if (call->object == object && call->counts && call->op.verb != GET)
                found = put_earlier_lives(losses, &call->op, ops, found);
        }
    return found;
}

void history_describe(const struct history_subject *subject, const struct linear_op *op,
                      char line[static HISTORY_LINE])
{
    char fate[48] = "unknown";
    if (op->kind == LINEAR_LOSS || op->kind == LINEAR_LOSSES) {
        (void)snprintf(line, HISTORY_LINE, "%" PRId64 " %s until %" PRId64, op->began_ns / 1000,
                       op->kind == LINEAR_LOSS ? "may be lost once" : "may be lost",
                       op->ended_ns / 1000);
        return;
    }
    if (op->kind == LINEAR_PERHAPS)
        (void)snprintf(fate, sizeof fate, "perhaps, until %" PRId64, op->ended_ns / 1000);
    if (op->known)
        (void)snprintf(fate, sizeof fate, "%" PRId64 " at %" PRId64, op->result,
                       op->ended_ns / 1000);
    (void)snprintf(line, HISTORY_LINE, "%" PRId64 " %s %" PRId64 " %" PRId64 " -> %s",
                   op->began_ns / 1000, subject->words[op->verb], op->argument, op->expected,
                   fate);
}
