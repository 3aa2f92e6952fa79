/* Reports how the connection to a server is protected: TLS, certificates, a password. */
#ifndef MCDS_STORE_MEMCACHED_INSPECT_SECURITY_H
#define MCDS_STORE_MEMCACHED_INSPECT_SECURITY_H

#include "store/finding.h"
#include "store/memcached/memcached.h"

struct mcds__security {
    bool is_remote;             /* the address that answered is not a loopback address */
    bool has_tls;               /* and `tls` says more */
    struct mcds__tls_facts tls; /* of the connection */
};

/* Fill in the facts of a connected socket. */
void mcds__security_note(const struct mcds__socket *socket, struct mcds__security *out);
void mcds__security_tell(struct mcds__report *report, struct mcds__memcached *backend,
                         uint32_t server, const struct mcds__security *security);

#endif
