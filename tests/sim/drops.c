/* Structures in the simulated world, which one handle drops and changes at the same
 * time, with several calls of both in flight in one pipeline, alone or beside other handles. The
 * server forgets nothing. So nothing is ever LOST, a change that no drop could meet is there, and
 * what was there before a drop is not there after it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/pipeline.h"
#include "mcds.h"
#include "sim/play.h"
#include "support/dice.h"

#define CLIENTS_MAX 2
#define CALLS 24
#define IN_FLIGHT_MAX 4
/* The last ones, each alone and without faults: they show whether the structure can be used. */
#define FINAL 2
#define TAGS (CLIENTS_MAX * CALLS + FINAL)
#define DROP_EVERY 3 /* but not among the last calls, so that no drop can meet some changes */
#define NEVER_NS INT64_MAX

/* How the calls of one structure are made. */
struct subject {
    const char *name;
    int (*open)(mcds_store *store, void **handle_out);
    void (*close)(void *handle);
    int (*put)(void *handle, const char *element, mcds_pipeline *pipeline, uint64_t tag);
    int (*drop)(void *handle, mcds_pipeline *pipeline, uint64_t tag);
    /* MCDS_OK: it is there; MCDS_NOT_FOUND. */
    int (*has)(void *handle, const char *element);
};

static int open_table(mcds_store *store, void **handle_out)
{
    return mcds_table_open(store, "play", NULL, (mcds_table **)handle_out);
}

static void close_table(void *handle)
{
    mcds_table_close(handle);
}

static int put_table(void *handle, const char *element, mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_table_put_start(handle, mcds_text(element), mcds_text("value"), 0, pipeline,
                                tag);
}

static int drop_table(void *handle, mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_table_drop_start(handle, pipeline, tag);
}

static int has_table(void *handle, const char *element)
{
    return mcds_table_has(handle, mcds_text(element));
}

static int open_set(mcds_store *store, void **handle_out)
{
    return mcds_set_open(store, "play", NULL, (mcds_set **)handle_out);
}

static int open_ordered(mcds_store *store, void **handle_out)
{
    mcds_set_options options = MCDS_SET_OPTIONS_INIT;
    options.form = MCDS_SET_LIST;
    return mcds_set_open(store, "play", &options, (mcds_set **)handle_out);
}

static void close_set(void *handle)
{
    mcds_set_close(handle);
}

static int put_set(void *handle, const char *element, mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_set_add_start(handle, mcds_text(element), NULL, pipeline, tag);
}

static int drop_set(void *handle, mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_set_drop_start(handle, pipeline, tag);
}

static int has_set(void *handle, const char *element)
{
    return mcds_set_has(handle, mcds_text(element));
}

struct search {
    const char *element;
    bool is_found;
};

static bool look(void *context, mcds_bytes found)
{
    struct search *search = context;
    mcds_bytes wanted = mcds_text(search->element);
    search->is_found = search->is_found ||
                       (found.length == wanted.length &&
                        memcmp(found.data, wanted.data, wanted.length) == 0);
    return true;
}

static int found_by(const struct search *search, int result)
{
    if (result != MCDS_OK)
        return result;
    return search->is_found ? MCDS_OK : MCDS_NOT_FOUND;
}

static int open_list(mcds_store *store, void **handle_out)
{
    return mcds_list_open(store, "play", NULL, (mcds_list **)handle_out);
}

static void close_list(void *handle)
{
    mcds_list_close(handle);
}

static int put_list(void *handle, const char *element, mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_list_push_start(handle, mcds_text(element), pipeline, tag);
}

static int drop_list(void *handle, mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_list_drop_start(handle, pipeline, tag);
}

static int has_list(void *handle, const char *element)
{
    struct search search = {element, false};
    int result = mcds_list_scan(handle, 0, 0, look, &search);
    return found_by(&search, result);
}

static int open_array(mcds_store *store, void **handle_out)
{
    return mcds_array_open(store, "play", NULL, (mcds_array **)handle_out);
}

static void close_array(void *handle)
{
    mcds_array_close(handle);
}

static int put_array(void *handle, const char *element, mcds_pipeline *pipeline, uint64_t tag)
{
    mcds_bytes bytes = mcds_text(element);
    return mcds_array_change_start(handle, &bytes, 1, NULL, 0, pipeline, tag);
}

static int drop_array(void *handle, mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_array_drop_start(handle, pipeline, tag);
}

static int has_array(void *handle, const char *element)
{
    struct search search = {element, false};
    int result = mcds_array_scan(handle, look, &search);
    return found_by(&search, result);
}

/* One period for all time. */
static int open_visitors(mcds_store *store, void **handle_out)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    options.members = MCDS_MEMBERS_EXACT;
    return mcds_visitors_open(store, "play", &options, (mcds_visitors **)handle_out);
}

static void close_visitors(void *handle)
{
    mcds_visitors_close(handle);
}

static int put_visitor(void *handle, const char *element, mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_visitors_hit_start(handle, element, 0, pipeline, tag);
}

static int drop_visitors(void *handle, mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_visitors_drop_start(handle, 0, pipeline, tag);
}

/* Counts it, too. */
static int has_visitor(void *handle, const char *element)
{
    int result = mcds_visitors_hit(handle, element, 0);
    if (result == MCDS_OK)
        return MCDS_NOT_FOUND;
    return result == MCDS_EXISTS ? MCDS_OK : result;
}

static const struct subject table = {"table",   open_table, close_table,
                                     put_table, drop_table, has_table};
static const struct subject set = {"set", open_set, close_set, put_set, drop_set, has_set};
static const struct subject ordered = {
    "list with removal", open_ordered, close_set, put_set, drop_set, has_set};
static const struct subject list = {"list",   open_list, close_list,
                                    put_list, drop_list, has_list};
static const struct subject array = {"array",   open_array, close_array,
                                     put_array, drop_array, has_array};
static const struct subject visitors = {"visitors",  open_visitors, close_visitors,
                                        put_visitor, drop_visitors, has_visitor};

enum fate { NOTHING, ACKNOWLEDGED, DOUBTFUL, REFUSED };

struct call {
    bool drops;
    enum fate fate;
    int64_t began_ns;
    int64_t ended_ns;
};

struct world {
    mcds_sim *sim;
    const struct subject *subject;
    struct call calls[TAGS];
    const char *wrong;
    uint64_t dropped;
    uint64_t certain; /* changes that no drop could meet */
};

struct client {
    struct world *world;
    void *handle;
    uint64_t dice;
    uint32_t number;
    uint32_t begun;
    uint32_t in_flight_max;
};

static void write_element(uint64_t tag, char element[24])
{
    (void)snprintf(element, 24, "element %u", (unsigned)tag);
}

static enum fate fate_of(struct world *world, int result)
{
    switch (result) {
    case MCDS_OK:
    case MCDS_EXISTS: /* of a visitor */
        return ACKNOWLEDGED;
    case MCDS_AMBIGUOUS:
        return DOUBTFUL;
    case MCDS_NOT_FOUND: /* of a drop */
    case MCDS_BUSY:
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
        return REFUSED;
    default:
        world->wrong = mcds_errmsg();
        return REFUSED;
    }
}

static void book(struct world *world, const mcds_completion *done)
{
    struct call *call = &world->calls[done->tag];
    call->ended_ns = mcds_sim_now_ns(world->sim);
    call->fate = fate_of(world, done->result);
    world->dropped += call->drops && call->fate == ACKNOWLEDGED;
}

static void begin_call(struct client *client, mcds_pipeline *pipeline)
{
    struct world *world = client->world;
    char element[24];
    uint64_t tag = client->number * CALLS + client->begun++;
    struct call *call = &world->calls[tag];
    bool may_drop_now = client->begun <= play_calls(CALLS) - play_calls(CALLS) / 3;
    *call = (struct call){.drops = may_drop_now && dice_roll(&client->dice, DROP_EVERY) == 0,
                          .began_ns = mcds_sim_now_ns(world->sim)};
    write_element(tag, element);
    assert_int_equal(call->drops ? world->subject->drop(client->handle, pipeline, tag)
                                 : world->subject->put(client->handle, element, pipeline, tag),
                     MCDS_OK);
}

static void program(void *context, mcds_sim_client *sim_client, const mcds_completion *done)
{
    struct client *client = context;
    if (done != NULL)
        book(client->world, done);
    for (uint32_t i = done == NULL ? client->in_flight_max : 1;
         i > 0 && client->begun < play_calls(CALLS); i--)
        begin_call(client, mcds_sim_client_pipeline(sim_client));
}

/* When the call cannot change anything any more: one in doubt may arrive late. */
static int64_t end_of(const struct call *call)
{
    return call->fate == DOUBTFUL ? NEVER_NS : call->ended_ns;
}

/* A drop that was refused has erased nothing; one that found nothing has not met a change. */
static bool may_drop(const struct call *drop, const struct call *change)
{
    return drop->drops && (drop->fate == ACKNOWLEDGED || drop->fate == DOUBTFUL) &&
           end_of(drop) >= change->began_ns;
}

static bool has_dropped(const struct call *drop, const struct call *change)
{
    return drop->drops && drop->fate == ACKNOWLEDGED && drop->began_ns > end_of(change);
}

/* What is wrong with this change after everything, or NULL. */
static const char *judge_change(struct world *world, uint64_t tag, int has)
{
    const struct call *change = &world->calls[tag];
    bool is_met = false;
    bool is_over = false;
    for (int i = 0; i < TAGS; i++) {
        is_met = is_met || may_drop(&world->calls[i], change);
        is_over = is_over || has_dropped(&world->calls[i], change);
    }
    world->certain += change->fate == ACKNOWLEDGED && !is_met;
    if (has != MCDS_OK && has != MCDS_NOT_FOUND)
        return mcds_errmsg();
    if (has == MCDS_NOT_FOUND && change->fate == ACKNOWLEDGED && !is_met)
        return "a change that no drop could meet is missing";
    if (has == MCDS_OK && (is_over || change->fate == REFUSED))
        return "a change that was dropped or refused is there";
    return NULL;
}

/* Without faults, a change may still meet the end of a life that a drop in doubt has ended. Then
 * it is in doubt, once. */
static const char *finish(struct world *world, void *handle)
{
    char element[24];
    for (uint64_t tag = CLIENTS_MAX * CALLS; tag < TAGS; tag++) {
        struct call *call = &world->calls[tag];
        call->began_ns = mcds_sim_now_ns(world->sim);
        write_element(tag, element);
        int result = world->subject->put(handle, element, MCDS__WAIT, tag);
        call->ended_ns = mcds_sim_now_ns(world->sim);
        call->fate = fate_of(world, result);
        bool is_last = tag + 1 == TAGS;
        if (call->fate == REFUSED || (call->fate == DOUBTFUL && is_last))
            return mcds_errmsg();
    }
    for (uint64_t tag = 0; tag < TAGS && world->wrong == NULL; tag++) {
        if (world->calls[tag].fate == NOTHING || world->calls[tag].drops)
            continue;
        write_element(tag, element);
        world->wrong = judge_change(world, tag, world->subject->has(handle, element));
        if (world->wrong != NULL)
            mcds_sim_note(world->sim, NULL, "it is %s", element);
    }
    return world->wrong;
}

static bool run(const struct subject *subject, mcds_sim_options options, uint32_t count,
                struct world *totals)
{
    struct client clients[CLIENTS_MAX];
    struct world world = {.subject = subject};
    mcds_sim_client *client;
    assert_int_equal(play_open(&options, &world.sim), MCDS_OK);
    for (uint32_t i = 0; i < count; i++) {
        clients[i] = (struct client){
            .world = &world,
            .number = i,
            .dice = options.seed * CLIENTS_MAX + i,
            .in_flight_max = 2 + (uint32_t)(options.seed % (IN_FLIGHT_MAX - 1))};
        assert_int_equal(mcds_sim_client_add(world.sim, program, &clients[i], &client),
                         MCDS_OK);
        assert_int_equal(subject->open(mcds_sim_client_store(client), &clients[i].handle),
                         MCDS_OK);
    }
    if (mcds_sim_run(world.sim, 1000000) != MCDS_OK)
        world.wrong = "it does not end";
    mcds_sim_calm(world.sim);
    if (world.wrong == NULL)
        world.wrong = finish(&world, clients[0].handle);
    if (world.wrong != NULL)
        (void)report(world.sim, options.seed, world.wrong);
    totals->dropped += world.dropped;
    totals->certain += world.certain;
    for (uint32_t i = 0; i < count; i++)
        subject->close(clients[i].handle);
    play_close(world.sim);
    return world.wrong == NULL;
}

/* In every third run nothing goes wrong on the way. */
static mcds_sim_options drops_options(uint64_t seed)
{
    mcds_sim_options peace = MCDS_SIM_OPTIONS_INIT;
    peace.seed = seed;
    peace.classic = seed / 2 % 2 == 0;
    peace.unordered = seed / 4 % 4 == 0;
    return seed % 3 == 0 ? peace : network_faults(seed);
}

static void run_many(const struct subject *subject, uint32_t clients)
{
    struct world totals = {.dropped = 0};
    PLAY (seed, 1000)
        assert_true(run(subject, drops_options(seed), clients, &totals));
    SEEN(totals.dropped > 0 && totals.certain > 3 * play_count());
    print_message("%s: %llu drops, %llu changes that none could meet\n", subject->name,
                  (unsigned long long)totals.dropped, (unsigned long long)totals.certain);
}

static void one_handle_drops_the_table_that_it_makes(void **state)
{
    (void)state;
    run_many(&table, 1);
}

static void one_handle_drops_the_set_that_it_makes(void **state)
{
    (void)state;
    run_many(&set, 1);
}

static void one_handle_drops_the_list_that_it_makes(void **state)
{
    (void)state;
    run_many(&ordered, 1);
}

static void one_handle_drops_the_values_that_it_pushes(void **state)
{
    (void)state;
    run_many(&list, 1);
}

static void one_handle_drops_the_array_that_it_makes(void **state)
{
    (void)state;
    run_many(&array, 1);
}

static void one_handle_drops_the_visitors_that_it_counts(void **state)
{
    (void)state;
    run_many(&visitors, 1);
}

static void handles_drop_the_table_that_others_make(void **state)
{
    (void)state;
    run_many(&table, play_clients(CLIENTS_MAX));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(one_handle_drops_the_table_that_it_makes),
    cmocka_unit_test(one_handle_drops_the_set_that_it_makes),
    cmocka_unit_test(one_handle_drops_the_list_that_it_makes),
    cmocka_unit_test(one_handle_drops_the_values_that_it_pushes),
    cmocka_unit_test(one_handle_drops_the_array_that_it_makes),
    cmocka_unit_test(one_handle_drops_the_visitors_that_it_counts),
    cmocka_unit_test(handles_drop_the_table_that_others_make),
};

PLAY_MAIN("drops")
