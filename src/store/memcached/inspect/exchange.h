/* Exchanges commands with one server, one after the other, for people. The caller initializes
 * and closes the socket. */
#ifndef MCDS_STORE_MEMCACHED_INSPECT_EXCHANGE_H
#define MCDS_STORE_MEMCACHED_INSPECT_EXCHANGE_H

#include "base/reason.h"
#include "store/memcached/memcached.h"

/* `trouble` if the server has ended no line for the timeout of the store, or the call has waited too
 * long. */
#define MCDS__EXCHANGE_SILENT MCDS__WHY(NO_ANSWER)

/* Handles one line of an answer. False: it was the last. */
typedef bool mcds__take_line(void *context, const char *line, size_t length);

/* Connect, and log in if the server asks for that; try the address of the family `avoided` last (0: none). False: `trouble` is set. */
bool mcds__exchange_connect(struct mcds__socket *socket, const struct mcds__memcached *backend,
                            const struct mcds__server *server, int avoided);
/* How long one call may wait for its servers, in timeouts of the store. */
#define MCDS__EXCHANGE_TIMEOUTS_MAX 1024
static inline int64_t mcds__exchange_wait_max_ns(const struct mcds__memcached *backend)
{
    return MCDS__EXCHANGE_TIMEOUTS_MAX * backend->silence_ns;
}
/* How long a connection may take. */
static inline int64_t mcds__exchange_connect_ns(const struct mcds__memcached *backend)
{
    int64_t silence_ns = backend->silence_ns;
    return silence_ns < backend->connect_timeout_ns ? silence_ns : backend->connect_timeout_ns;
}
/* Send a command and pass on the lines of its answer. Reduces *left_ns, the time that the call may
 * still wait, by the time of waiting; the time in `take` does not count. False: the answer was cut
 * off. */
bool mcds__exchange(struct mcds__socket *socket, const struct mcds__memcached *backend,
                    const char *command, mcds__take_line *take, void *context,
                    int64_t *left_ns);
/* Request a missing key from the server over a session. The connection probes the server, and
 * reports why it fails if it does. NULL: the server answers. */
const mcds_reason *mcds__exchange_probe(struct mcds__memcached *backend, uint32_t server,
                                        int *result_out);

#endif
