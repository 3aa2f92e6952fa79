/* Exchanges commands with one server, one after the other, for people. The caller initializes
 * and closes the socket. */
#ifndef MCDS_STORE_MEMCACHED_INSPECT_EXCHANGE_H
#define MCDS_STORE_MEMCACHED_INSPECT_EXCHANGE_H

#include "base/reason.h"
#include "store/memcached/memcached.h"

/* The longest time for a probe, or for waiting for a busy server. */
#define MCDS__EXCHANGE_NS (5 * NS_PER_S)
/* `trouble` if the server has sent nothing for four times the connect timeout (1 s). */
#define MCDS__EXCHANGE_SILENT MCDS__WHY(NO_ANSWER)

/* Handles one line of an answer. False: it was the last. */
typedef bool mcds__take_line(void *context, const char *line, size_t length);

/* Connect, and log in if the server asks for that; try the address of the family `avoided` last (0: none). False: `trouble` is set. */
bool mcds__exchange_connect(struct mcds__socket *socket, const struct mcds__memcached *backend,
                            const struct mcds__server *server, int avoided);
/* Send a command and pass on the lines of its answer. False: the answer was cut off. */
bool mcds__exchange(struct mcds__socket *socket, const struct mcds__memcached *backend,
                    const char *command, mcds__take_line *take, void *context);
/* Request a missing key from the server over a session. The connection probes the server, and
 * reports why it fails if it does. NULL: the server answers. */
const mcds_reason *mcds__exchange_probe(struct mcds__memcached *backend, uint32_t server,
                                        int *result_out);

#endif
