/* The memcached backend without memory: a request that could not be sent fails immediately with
 * that cause, and does not wait for a server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/environment.h"
#include "store/store.h"

#define PATIENCE_MS 60000
#define GRANTS_MAX 100

static long granted = -1; /* allocations until one is refused; negative: all are granted */
static bool was_refused;

static void *reallocate(void *self, void *memory, size_t length)
{
    if (length > 0 && granted >= 0 && granted-- == 0) {
        was_refused = true;
        return NULL;
    }
    return mcds_env_system()->reallocate(self, memory, length);
}

/* A server that accepts connections and says nothing. Returns its socket. */
static int listen_silently(struct sockaddr_un *address, char *folder)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_non_null(mkdtemp(folder));
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    (void)snprintf(address->sun_path, sizeof address->sun_path, "%s/silent", folder);
    assert_int_equal(bind(fd, (const struct sockaddr *)address, sizeof *address), 0);
    assert_int_equal(listen(fd, GRANTS_MAX), 0);
    return fd;
}

static mcds_reply get_one(mcds_store *store)
{
    mcds_request request = {.command = MCDS_GET, .key = {"a", 1}, .route = {"a", 1}};
    mcds_batch batch = {.requests = &request, .count = 1, .independent = true};
    batch.deadline_ns = mcds__monotonic_ns(mcds_env_system()) + PATIENCE_MS * NS_PER_MS;
    mcds__store_execute(store, 0, &batch);
    return request.reply;
}

static void no_memory_is_said_at_once(void **state)
{
    (void)state;
    char folder[] = "/tmp/mcds-unit-XXXXXX";
    char uri[200];
    struct sockaddr_un address;
    int server = listen_silently(&address, folder);
    (void)snprintf(uri, sizeof uri, "memcached://%s?connect_timeout=100", address.sun_path);
    mcds_env env = *mcds_env_system();
    mcds_options options = MCDS_OPTIONS_INIT;
    env.reallocate = reallocate;
    options.env = &env;
    long refusals = 0;
    for (was_refused = true; was_refused; refusals++) {
        mcds_store *store = NULL;
        assert_int_equal(mcds_open(uri, &options, &store), MCDS_OK);
        was_refused = false;
        granted = refusals;
        mcds_reply reply = get_one(store);
        granted = -1;
        assert_int_equal(reply.outcome, MCDS_OUT_UNSENT);
        if (was_refused && strstr(reply.detail->text, "no memory") == NULL)
            fail_msg("allocation %ld: %s", refusals, reply.detail->text);
        mcds_close(store);
        assert_true(refusals < GRANTS_MAX);
    }
    assert_true(refusals > 1);
    (void)close(server);
    (void)unlink(address.sun_path);
    (void)rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_memory_is_said_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
