/* Detects two names in a URI that reach one server. It reports the same facts under both names,
 * and a key written under one name is read under the other. In containers many servers have the
 * same pid and start time, so only the key is decisive. */
#include "store/memcached/inspect/twins.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "store/memcached/inspect/exchange.h"

#define APART_S_MAX 2 /* between two readings of one start time */
#define COMMAND_MAX 96
#define KEY_FORMAT "mcds-twin-%016llx"
#define KEY_TTL_S 60

static bool memcached_twins_take_stored(void *context, const char *line, size_t length)
{
    *(bool *)context = mcds__wire_is(line, length, "STORED");
    return false;
}

static bool memcached_twins_take_value(void *context, const char *line, size_t length)
{
    bool *is_there = context;
    *is_there = *is_there || mcds__wire_begins(line, length, "VALUE ");
    return *is_there && !mcds__wire_is(line, length, "END");
}

static bool memcached_twins_ask(const struct mcds__memcached *backend, uint32_t server,
                                const char *command, mcds__take_line *take)
{
    struct mcds__socket sock;
    bool is_true = false;
    int64_t left_ns = mcds__exchange_wait_max_ns(backend);
    mcds__socket_init(&sock, backend->env, backend->tls);
    bool is_answered = mcds__exchange_connect(&sock, backend, &backend->servers[server], 0) &&
                       mcds__exchange(&sock, backend, command, take, &is_true, &left_ns);
    mcds__socket_close(&sock);
    return is_answered && is_true;
}

static bool share_a_key(const struct mcds__memcached *backend, uint32_t one, uint32_t other)
{
    char command[COMMAND_MAX];
    unsigned long long number = mcds__random_u64(backend->env);
    (void)snprintf(command, sizeof command, "set " KEY_FORMAT " 0 %d 1\r\nx\r\n", number,
                   KEY_TTL_S);
    if (!memcached_twins_ask(backend, one, command, memcached_twins_take_stored))
        return false;
    (void)snprintf(command, sizeof command, "get " KEY_FORMAT "\r\n", number);
    bool is_shared = memcached_twins_ask(backend, other, command, memcached_twins_take_value);
    (void)snprintf(command, sizeof command, "delete " KEY_FORMAT "\r\n", number);
    (void)memcached_twins_ask(backend, one, command, memcached_twins_take_stored);
    return is_shared;
}

const char *mcds__twins_add(struct mcds__twins *twins, const struct mcds__memcached *backend,
                            uint32_t server, uint64_t pid, uint64_t began_s)
{
    assert(twins->count < sizeof twins->known / sizeof twins->known[0]);
    assert(server < backend->server_count);
    const char *twin = NULL;
    for (uint32_t i = 0; i < twins->count && twin == NULL; i++) {
        uint64_t known_s = twins->known[i].began_s;
        uint64_t apart_s = began_s > known_s ? began_s - known_s : known_s - began_s;
        if (twins->known[i].pid == pid && apart_s <= APART_S_MAX &&
            share_a_key(backend, twins->known[i].server, server))
            twin = backend->servers[twins->known[i].server].name;
    }
    twins->known[twins->count].server = server;
    twins->known[twins->count].pid = pid;
    twins->known[twins->count].began_s = began_s;
    twins->count++;
    return twin;
}
