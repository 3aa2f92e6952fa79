/* The store loses the key with the list of the parts of a queue, and keeps the parts. A handle that
 * has found this out pushes no job, because no other handle would find it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define OK(call) assert_int_equal(MCDS_OK, call)
#define VALUE_MAX 16384 /* of the store, so that the queue has several keys */
#define QUEUES 12
#define JOBS 60
#define JOB_BYTES 5000 /* a few fill a part */

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_queue *knows;  /* has pushed all jobs, and finds out about the loss */
    mcds_queue *pushes; /* knows the last part, and never reads the list again */
    mcds_value value;
    char root[16];
    char key[256]; /* that was read last, but the root */
};

static mcds_queue *open_queue(mcds_store *store, const char *name)
{
    mcds_queue *queue;
    OK(mcds_queue_open(store, name, NULL, &queue));
    return queue;
}

static bool note_key(void *context, mcds_request *request)
{
    struct world *world = context;
    mcds_batch one = *world->backend.batch;
    mcds__backend_memory.submit(world->backend.inner, &one);
    bool is_found = request->command == MCDS_GET && request->reply.outcome == MCDS_OUT_OK;
    if (!is_found || request->key.length <= strlen(world->root))
        return true;
    assert_true(request->key.length < sizeof world->key);
    memcpy(world->key, request->key.data, request->key.length);
    world->key[request->key.length] = '\0';
    return true;
}

/* The entry is what made_with reads last. */
static void lose_list(struct world *world, const char *name)
{
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    (void)snprintf(world->root, sizeof world->root, "mcds:q1:%s", name);
    world->backend.hook = note_key;
    world->backend.context = world;
    OK(mcds_queue_made_with(world->store, name, &options));
    world->backend.hook = NULL;
    mcds_request request = {.command = MCDS_DELETE, .key = mcds_text(world->key)};
    mcds_batch batch = {.requests = &request, .count = 1, .deadline_ns = INT64_MAX};
    mcds__backend_memory.submit(world->backend.inner, &batch);
    assert_int_equal(request.reply.outcome, MCDS_OUT_OK);
}

static void begin(struct world *world, const char *name)
{
    static const char job[JOB_BYTES];
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    world->value = (mcds_value)MCDS_VALUE_INIT;
    fake_env_init(&world->fake, 1);
    options.env = &world->fake.env;
    OK(hooked_backend_open(&world->backend, &options, &world->store));
    world->backend.value_max = VALUE_MAX;
    world->knows = open_queue(world->store, name);
    world->pushes = open_queue(world->store, name);
    for (int i = 0; i < JOBS; i++)
        OK(mcds_queue_push(world->knows, (mcds_bytes){job, sizeof job}, 0));
    OK(mcds_queue_push(world->pushes, mcds_text("last"), 0));
    lose_list(world, name);
}

static void end(struct world *world)
{
    mcds_value_free(&world->value);
    mcds_queue_close(world->pushes);
    mcds_queue_close(world->knows);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static bool pass_job(void *context, const mcds_queue_entry *entry)
{
    (void)context;
    (void)entry;
    return true;
}

enum way { BY_NEXT, BY_SCAN, WAYS };

/* Calls until one has found that the list is lost. */
static void find_out(struct world *world, enum way way)
{
    mcds_job job = MCDS_JOB_INIT;
    if (way == BY_SCAN) {
        assert_int_equal(MCDS_LOST, mcds_queue_scan(world->knows, 0, pass_job, NULL));
        return;
    }
    uint32_t losses = 0; /* one after another: that of a part is reported once */
    for (int i = 0; i < 2 * JOBS && losses < 2; i++) {
        int result = mcds_queue_next(world->knows, 0, &job, &world->value);
        losses = result == MCDS_LOST ? losses + 1 : 0;
    }
    assert_int_equal(losses, 2);
}

/* Returns whether the last part was kept: a push of a handle that does not know of the loss is OK. */
static bool play(const char *name, enum way way)
{
    struct world world;
    mcds_job job = MCDS_JOB_INIT;
    size_t pushed = 9;
    const mcds_bytes jobs[] = {mcds_text("a"), mcds_text("b")};
    begin(&world, name);
    bool is_kept = mcds_queue_push(world.pushes, mcds_text("x"), 0) == MCDS_OK;
    find_out(&world, way);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(MCDS_LOST, mcds_queue_push(world.knows, mcds_text("x"), 0));
        assert_int_equal(MCDS_CAUSE_GONE, mcds_last_error()->cause);
        assert_int_equal(MCDS_LOST, mcds_queue_push_many(world.knows, jobs, 2, 0, &pushed));
        assert_int_equal(pushed, 0);
        assert_int_equal(MCDS_LOST, mcds_queue_push_dead(world.knows, mcds_text("x"), 1));
    }
    OK(mcds_queue_drop(world.pushes));
    OK(mcds_queue_push(world.knows, mcds_text("again"), 0));
    OK(mcds_queue_next(world.pushes, 0, &job, &world.value));
    assert_int_equal(world.value.length, sizeof "again" - 1);
    OK(mcds_queue_done(world.pushes, &job));
    end(&world);
    return is_kept;
}

static void a_handle_that_knows_of_the_loss_pushes_nothing(void **state)
{
    (void)state;
    for (enum way way = BY_NEXT; way < WAYS; way++) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < QUEUES; i++) {
            char name[8];
            (void)snprintf(name, sizeof name, "q%u", (unsigned)i);
            kept += play(name, way);
        }
        assert_true(kept > 0);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_handle_that_knows_of_the_loss_pushes_nothing),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
