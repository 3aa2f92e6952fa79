/* libmemcached: waiting increments. */
#include "peers/peers.h"

#include <stddef.h>
#include <string.h>

#ifdef BENCH_LIBMEMCACHED
#include <libmemcached/memcached.h>

static const char key[] = "bench:libmemcached";

const char *old_client_open(struct old_client *client, const struct server *server)
{
    client->handle = memcached_create(NULL);
    if (client->handle == NULL)
        return "libmemcached: out of memory";
    (void)memcached_behavior_set(client->handle, MEMCACHED_BEHAVIOR_TCP_NODELAY, 1);
    memcached_return_t result = server->port != 0
                                    ? memcached_server_add(client->handle, "127.0.0.1",
                                                           server->port)
                                    : memcached_server_add_unix_socket(client->handle,
                                                                       server->path);
    if (result == MEMCACHED_SUCCESS)
        result = memcached_set(client->handle, key, strlen(key), "0", 1, 0, 0);
    return result == MEMCACHED_SUCCESS ? NULL : "libmemcached cannot reach memcached";
}

void old_client_close(struct old_client *client)
{
    if (client->handle != NULL)
        memcached_free(client->handle);
    client->handle = NULL;
}

bool old_client_add(void *state, uint64_t operations)
{
    struct old_client *client = state;
    for (uint64_t i = 0; i < operations; i++) {
        uint64_t value;
        if (memcached_increment(client->handle, key, strlen(key), 1, &value) !=
            MEMCACHED_SUCCESS)
            return false;
    }
    return true;
}

#else

const char *old_client_open(struct old_client *client, const struct server *server)
{
    (void)client, (void)server;
    return "built without libmemcached";
}

void old_client_close(struct old_client *client)
{
    (void)client;
}

bool old_client_add(void *state, uint64_t operations)
{
    (void)state, (void)operations;
    return false;
}
#endif
