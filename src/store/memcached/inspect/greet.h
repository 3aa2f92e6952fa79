/* Finds the servers that do not answer, by asking all at the same time. */
#ifndef MCDS_STORE_MEMCACHED_INSPECT_GREET_H
#define MCDS_STORE_MEMCACHED_INSPECT_GREET_H

#include "store/memcached/memcached.h"

enum mcds__greeted {
    MCDS__GREETED,        /* it answers, or its connection fails: ask it to learn more */
    MCDS__GREETED_NOBODY, /* no connection was made in time */
    MCDS__GREETED_SILENCE /* connected, but no answer in time */
};

/* Greet all servers of the backend, each over a connection of its own. Takes no longer than one
 * server may take, which is the timeout of the store. A single server is not greeted.
 * `greeted_out` has MCDS__SERVERS_MAX elements. */
void mcds__greet(const struct mcds__memcached *backend, enum mcds__greeted *greeted_out);

#endif
