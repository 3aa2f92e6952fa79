/* A session of the memcached backend: the functions of struct mcds_backend. */
#ifndef MCDS_STORE_MEMCACHED_SESSION_H
#define MCDS_STORE_MEMCACHED_SESSION_H

#include "store/memcached/memcached.h"

int mcds__memcached_session_open(void *backend, void **session_out);
void mcds__memcached_session_close(void *session);
bool mcds__memcached_session_holds(void *session, uint64_t connection);
void mcds__memcached_session_submit(void *session, mcds_batch *first);
mcds_batch *mcds__memcached_session_collect(void *session, int64_t until_ns);
int mcds__memcached_session_watch(void *session, int64_t *wake_ns_out);

/* Send a batch to one server, regardless of the placement. */
void mcds__memcached_session_ask(struct mcds__memcached_session *session, uint32_t server,
                                 mcds_batch *batch);

#endif
