/* The stores on which failures are provoked. */
#include <string.h>
#include <unistd.h>

#include "causes/causes.h"

void fail_row(const char *file, int line, const char *what)
{
    (void)fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, mcds_errmsg());
    _exit(1);
}

void skip_row(const char *reason)
{
    (void)printf("skipped: %s\n", reason);
    (void)fflush(stdout);
    _exit(77);
}

void open_uri(struct world *world, const char *uri)
{
    MUST_DO(mcds_open(uri, NULL, &world->store));
}

static mcds_options begin_fake(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    fake_env_init(&world->fake, 7);
    options.env = &world->fake.env;
    return options;
}

void open_memory(struct world *world)
{
    mcds_options options = begin_fake(world);
    MUST_DO(mcds_open("memory:", &options, &world->store));
}

void open_hooked(struct world *world, bool (*hook)(void *context, mcds_request *request))
{
    mcds_options options = begin_fake(world);
    MUST_DO(hooked_backend_open(&world->backend, &options, &world->store));
    world->backend.hook = hook;
    world->backend.context = world;
}

void open_file(struct world *world, const char *given)
{
    char uri[256];
    mcds_options options = begin_fake(world);
    (void)snprintf(uri, sizeof uri, "lmdb:%s%s", world->file, given);
    MUST_DO(mcds_open(uri, &options, &world->store));
}

void open_liar(struct world *world, const struct fake_step *steps, const char *options)
{
    char uri[256];
    world->liar = fake_server_start(steps);
    const char *own = fake_server_uri(world->liar);
    (void)snprintf(uri, sizeof uri, "%.*s%s", (int)strcspn(own, "?"), own, options);
    open_uri(world, uri);
}

mcds_counter *counter_of(mcds_store *store, const mcds_counter_options *options)
{
    mcds_counter *counter = NULL;
    MUST_DO(mcds_counter_open(store, "x", options, &counter));
    return counter;
}

int get_counter(struct world *world)
{
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    mcds_counter *counter = counter_of(world->store, NULL);
    int result = mcds_counter_get(counter, &value);
    mcds_counter_close(counter);
    return result;
}

int add_to_counter(struct world *world)
{
    mcds_counter *counter = counter_of(world->store, NULL);
    int result = mcds_counter_add(counter, 1, NULL);
    mcds_counter_close(counter);
    return result;
}
