/* Detects two names in a URI that reach one server. */
#ifndef MCDS_STORE_MEMCACHED_INSPECT_TWINS_H
#define MCDS_STORE_MEMCACHED_INSPECT_TWINS_H

#include "store/memcached/memcached.h"

/* The reports of servers about themselves, as far as they were asked. All zero at the start. */
struct mcds__twins {
    uint32_t count;
    struct {
        uint32_t server;
        uint64_t pid;
        uint64_t began_s; /* Unix time */
    } known[MCDS__SERVERS_MAX];
};

/* Add a server. Returns the name of an earlier one that is the same server, or NULL. Servers
 * that report the same facts are tested for a shared key, which lives for seconds. */
const char *mcds__twins_add(struct mcds__twins *twins, const struct mcds__memcached *backend,
                            uint32_t server, uint64_t pid, uint64_t began_s);

#endif
