/* What the files of this folder share about OpenSSL. */
#ifndef MCDS_STORE_MEMCACHED_TLS_OPENSSL_H
#define MCDS_STORE_MEMCACHED_TLS_OPENSSL_H

#include <openssl/ssl.h>

#include "store/memcached/tls/tls.h"

struct mcds__tls {
    const mcds_env *env;
    SSL_CTX *context;
    BIO_METHOD *method; /* of the transport */
    char *name;         /* NULL: the host */
};

/* The method of a BIO whose data is a stream. NULL: no memory. */
BIO_METHOD *mcds__tls_method(void);
/* Why a stream failed, during the handshake or after it: from OpenSSL's errors of this thread and the
 * verdict on the certificate. */
const mcds_reason *mcds__tls_trouble(const SSL *ssl, bool is_joined);

#endif
