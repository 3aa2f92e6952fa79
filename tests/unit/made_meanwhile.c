/* A read begins before a structure exists, and another call of its handle makes the structure before
 * the read has its replies: nothing is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"
#include "support/pass_over.h"

#define REQUESTS_MAX 100 /* of a read */
#define WHEN_MS 0

enum structure { SET, TABLE, ARRAY, LIST, LOG, QUEUE, VISITORS, STRUCTURES };

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    enum structure structure;
    mcds_set *set;
    mcds_table *table;
    mcds_array *array;
    mcds_list *list;
    mcds_log *log;
    mcds_queue *queue;
    mcds_visitors *visitors;
    uint32_t at;   /* the request of the read before whose reply the change comes */
    uint32_t left; /* requests until then */
    bool has_changed;
};

static int change(struct world *world)
{
    mcds_bytes text = mcds_text("text");
    switch (world->structure) {
    case SET:
        return mcds_set_add(world->set, text, NULL);
    case TABLE:
        return mcds_table_put(world->table, text, text, 0);
    case ARRAY:
        return mcds_array_change(world->array, &text, 1, NULL, 0);
    case LIST:
        return mcds_list_push(world->list, text);
    case LOG:
        return mcds_log_put(world->log, WHEN_MS, text);
    case QUEUE:
        return mcds_queue_push(world->queue, text, 0);
    default:
        return mcds_visitors_hit(world->visitors, "text", WHEN_MS);
    }
}

static int read_all(struct world *world)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    switch (world->structure) {
    case SET:
        return mcds_set_scan(world->set, pass_element, NULL);
    case TABLE:
        return mcds_table_scan(world->table, &cursor, 0, pass_entry, NULL);
    case ARRAY:
        return mcds_array_scan(world->array, pass_bytes, NULL);
    case LIST:
        return mcds_list_scan(world->list, 0, 0, pass_bytes, NULL);
    case LOG:
        return mcds_log_scan(world->log, NULL, pass_event, NULL, NULL);
    case QUEUE:
        return mcds_queue_scan(world->queue, 0, pass_job, NULL);
    default:
        return mcds_visitors_get(world->visitors, WHEN_MS, &value);
    }
}

/* The request of the read has its reply, which comes after those of the change. */
static bool change_before_the_reply(void *context, mcds_request *request)
{
    struct world *world = context;
    (void)request;
    if (world->has_changed || world->left-- > 0)
        return false;
    world->has_changed = true;
    mcds_batch one = *world->backend.batch;
    mcds__backend_memory.submit(world->backend.inner, &one);
    assert_int_equal(change(world), MCDS_OK);
    return true;
}

static void open_all(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_visitors_options members = MCDS_VISITORS_OPTIONS_INIT;
    members.members = MCDS_MEMBERS_EXACT;
    fake_env_init(&world->fake, 3);
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    assert_int_equal(mcds_set_open(world->store, "s", NULL, &world->set), MCDS_OK);
    assert_int_equal(mcds_table_open(world->store, "t", NULL, &world->table), MCDS_OK);
    assert_int_equal(mcds_array_open(world->store, "a", NULL, &world->array), MCDS_OK);
    assert_int_equal(mcds_list_open(world->store, "l", NULL, &world->list), MCDS_OK);
    assert_int_equal(mcds_log_open(world->store, "o", NULL, &world->log), MCDS_OK);
    assert_int_equal(mcds_queue_open(world->store, "q", NULL, &world->queue), MCDS_OK);
    assert_int_equal(mcds_visitors_open(world->store, "v", &members, &world->visitors),
                     MCDS_OK);
    world->backend.hook = change_before_the_reply;
    world->backend.context = world;
}

static void close_all(struct world *world)
{
    mcds_set_close(world->set);
    mcds_table_close(world->table);
    mcds_array_close(world->array);
    mcds_list_close(world->list);
    mcds_log_close(world->log);
    mcds_queue_close(world->queue);
    mcds_visitors_close(world->visitors);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static void play(struct world *world)
{
    open_all(world);
    for (int i = 0; i < 2; i++) {
        int result = read_all(world);
        if (result != MCDS_OK && result != MCDS_NOT_FOUND)
            fail_msg("structure %d, request %u, read %d: %s", world->structure,
                     (unsigned)world->at, i, mcds_errmsg());
    }
    close_all(world);
}

static void a_structure_made_during_a_read_is_not_lost(void **state)
{
    static struct world world;
    (void)state;
    for (enum structure structure = SET; structure < STRUCTURES; structure++) {
        uint32_t at = 0;
        do {
            world = (struct world){.structure = structure, .at = at, .left = at};
            play(&world);
        } while (world.has_changed && at++ < REQUESTS_MAX);
        assert_in_range(at, 1, REQUESTS_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_structure_made_during_a_read_is_not_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
