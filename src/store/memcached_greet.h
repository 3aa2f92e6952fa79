/* Which servers are silent, found out of all at the same time. */
#ifndef MCDS_STORE_MEMCACHED_GREET_H
#define MCDS_STORE_MEMCACHED_GREET_H

#include "store/memcached.h"

/* Times the time to connect: so long a server may take to answer. */
#define MCDS__GREET_SILENCE 4

enum mcds__greeted {
    MCDS__GREETED,        /* it answers, or its connection fails: ask it, to learn more */
    MCDS__GREETED_NOBODY, /* no connection is made in time */
    MCDS__GREETED_SILENCE /* connected, and no answer in time */
};

/* Greets all servers of the home, each over a connection of its own. Takes no longer than the slowest
 * may take. One server alone is not greeted. `greeted_out` has room for MCDS__SERVERS_MAX. */
void mcds__greet(const struct mcds__memcached *home, enum mcds__greeted *greeted_out);

#endif
