/* A memcached with TLS or a password, its files, and stores on it. */
#include "tls/world.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"
#include "store/store.h"

void world_make(struct world *world)
{
    const char *missing = NULL;
    (void)snprintf(world->folder, sizeof world->folder, "/tmp/mcds-tls-XXXXXX");
    if (mkdtemp(world->folder) == NULL)
        exit(1);
    if (certificates_make(&world->certificates, world->folder, &missing))
        return;
    world_remove(world);
    if (missing == NULL)
        exit(1);
    (void)printf("skipped: %s\n", missing);
    exit(WORLD_SKIPPED);
}

void world_remove(struct world *world)
{
    char path[512];
    server_stop(&world->server);
    DIR *entries = opendir(world->folder);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        (void)snprintf(path, sizeof path, "%s/%s", world->folder, entry->d_name);
        (void)unlink(path);
    }
    if (entries != NULL)
        (void)closedir(entries);
    (void)rmdir(world->folder);
}

void world_write(const struct world *world, const char *name, const char *text, unsigned mode)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", world->folder, name);
    (void)unlink(path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, (mode_t)mode), 0);
}

void world_run(struct world *world, char *const *options)
{
    server_stop(&world->server);
    world->server = (struct server){.options = options};
    assert_true(server_start_memcached(&world->server));
}

void world_run_tls(struct world *world, const char *certificate, char *const *options)
{
    size_t count = 0;
    certificates_show(&world->certificates, world->folder,
                      certificate != NULL ? certificate : "server");
    for (char *const *at = world->certificates.options; *at != NULL; at++)
        world->options[count++] = *at;
    for (char *const *at = options; at != NULL && *at != NULL; at++)
        world->options[count++] = *at;
    world->options[count] = NULL;
    world_run(world, world->options);
}

/* The options of a URI with the folder in place of each @. */
static void fill_in_folder(const struct world *world, const char *options, char *out,
                           size_t capacity)
{
    size_t length = 0;
    for (const char *at = options; *at != '\0'; at++) {
        int more = *at == '@' ? snprintf(out + length, capacity - length, "%s", world->folder)
                              : snprintf(out + length, capacity - length, "%c", *at);
        length += (size_t)more;
        assert_true(length < capacity);
    }
    out[length] = '\0';
}

static int open_world(const struct world *world, uint16_t port, const char *options,
                      const mcds_env *env, mcds_store **store_out)
{
    char filled[1024];
    char uri[1200];
    mcds_options given = MCDS_OPTIONS_INIT;
    given.env = env;
    fill_in_folder(world, options, filled, sizeof filled);
    (void)snprintf(uri, sizeof uri, "memcached://127.0.0.1:%u?%s", (unsigned)port, filled);
    return mcds_open(uri, &given, store_out);
}

mcds_store *world_open(const struct world *world, uint16_t port, const char *options,
                       const mcds_env *env)
{
    mcds_store *store = NULL;
    if (open_world(world, port, options, env, &store) != MCDS_OK)
        fail_msg("%s", mcds_errmsg());
    return store;
}

int world_add(mcds_store *store)
{
    mcds_counter *counter = NULL;
    int64_t value;
    assert_int_equal(mcds_counter_open(store, "n", NULL, &counter), MCDS_OK);
    int result = mcds_counter_add(counter, 1, &value);
    mcds_counter_close(counter);
    return result;
}

void world_ask(mcds_store *store, mcds_request *requests, uint32_t count, int64_t wait_ns,
               mcds_buffer *values)
{
    mcds_batch batch = {
        .requests = requests, .count = count, .values = values, .independent = true};
    batch.deadline_ns = mcds__monotonic_ns(mcds_env_system()) + wait_ns;
    mcds__store_execute(store, 0, &batch);
    assert_int_equal(batch.answered, count);
}

void world_expect_unsent(mcds_store *store, const char *words)
{
    mcds_request get = {.command = MCDS_GET, .key = {"k", 1}};
    world_ask(store, &get, 1, 60 * NS_PER_S, NULL);
    assert_int_equal(get.reply.outcome, MCDS_OUT_UNSENT);
    assert_non_null(get.reply.detail);
    if (strstr(get.reply.detail->text, words) == NULL)
        fail_msg("%s", get.reply.detail->text);
}

void world_expect(const struct world *world, const char *options, int result, const char *words)
{
    mcds_store *store = NULL;
    int seen = open_world(world, world->server.port, options, NULL, &store);
    if (seen == MCDS_OK)
        seen = world_add(store);
    if (seen != result || (words != NULL && strstr(mcds_errmsg(), words) == NULL))
        fail_msg("%s: %s: %s", options, mcds_result_name(seen), mcds_errmsg());
    mcds_close(store);
}
