/* Two names in a URI that reach one server. */
#ifndef MCDS_STORE_MEMCACHED_TWINS_H
#define MCDS_STORE_MEMCACHED_TWINS_H

#include "store/memcached.h"

/* What servers say of themselves, as far as they have been asked. All zero at the start. */
struct mcds__twins {
    uint32_t count;
    struct {
        uint32_t server;
        uint64_t pid;
        uint64_t began_s; /* Unix time */
    } known[MCDS__SERVERS_MAX];
};

/* Adds a server. Returns the name of an earlier one that is the same server, or NULL. Servers that say
 * the same of themselves are asked whether they share a key, which then lives for seconds. */
const char *mcds__twins_add(struct mcds__twins *twins, const struct mcds__memcached *home,
                            uint32_t server, uint64_t pid, uint64_t began_s);

#endif
