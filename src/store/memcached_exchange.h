/* One exchange after the other with one server, for people: over a connection of its own, which the
 * caller has initialized and closes. */
#ifndef MCDS_STORE_MEMCACHED_EXCHANGE_H
#define MCDS_STORE_MEMCACHED_EXCHANGE_H

#include "base/reason.h"
#include "store/memcached.h"

/* What a probe, or waiting for a busy server, takes at most. */
#define MCDS__EXCHANGE_NS (5 * NS_PER_S)
/* `trouble` where the server has sent nothing for four times the time to connect (1 s). */
#define MCDS__EXCHANGE_SILENT MCDS__WHY(NO_ANSWER)

/* Takes one line of an answer. False: that was the last. */
typedef bool mcds__take_line(void *context, const char *line, size_t length);

/* Connect, last to the address of the family `avoided` (0: none). False: `trouble` of the connection
 * is set. */
bool mcds__exchange_connect(struct mcds__connection *connection,
                            const struct mcds__memcached *home,
                            const struct mcds__server *server, int avoided);
/* Send a command and hand out the lines of its answer. False: it broke off. */
bool mcds__exchange(struct mcds__connection *connection, const struct mcds__memcached *home,
                    const char *command, mcds__take_line *take, void *context);
/* Ask the server for a key that is not there, over a lane: connecting shows all there is to know, and
 * why it fails if it does. NULL: it answers. */
const mcds_reason *mcds__exchange_probe(struct mcds__memcached *home, uint32_t server,
                                        int *result_out);

#endif
