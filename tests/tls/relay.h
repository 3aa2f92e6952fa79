/* A relay that speaks TLS, before a memcached that does not; or that passes on the bytes of one that
 * does. It does what no real server does. A thread for each connection. */
#ifndef MCDS_TESTS_TLS_RELAY_H
#define MCDS_TESTS_TLS_RELAY_H

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "support/server.h"

#define RELAY_THREADS 2048

/* What the relay does when the client's next bytes have come. */
enum tls_event {
    EVENT_NONE,
    EVENT_RENEGOTIATE,      /* ask for a new handshake, of TLS 1.2 */
    EVENT_UPDATE_KEYS,      /* demand new keys of both sides, of TLS 1.3 */
    EVENT_CUT_BEFORE_REPLY, /* pass them on, wait for the answer, and hang up */
    EVENT_GARBAGE,          /* answer with bytes that are no record */
    EVENT_DEAF              /* read nothing more */
};

struct tls_relay {
    /* Set before the start. */
    const struct server *target;
    bool is_raw;              /* pass on bytes, and speak no TLS */
    const char *certificate;  /* with its key */
    int max_version;          /* 0: the newest */
    size_t piece;             /* bytes in a record or, raw, in a send(); 0: as they come */
    _Atomic size_t raw_limit; /* hang up after as many bytes from the server; 0: none */

    struct server place; /* where it listens */
    _Atomic int event;
    _Atomic uint32_t connections; /* whose handshake was completed: others are of strangers */
    _Atomic uint32_t goodbyes;    /* connections that the client has ended with close_notify */
    _Atomic uint32_t handshakes;  /* that were completed */
    _Atomic uint64_t raw_passed;  /* bytes from the server on the last connection */
    SSL_CTX *context;
    int listener;
    _Atomic bool over;
    pthread_t acceptor;
    pthread_t threads[RELAY_THREADS];
    uint32_t thread_count;
};

/* False: no socket, or no certificate. */
bool tls_relay_start(struct tls_relay *relay);
void tls_relay_stop(struct tls_relay *relay);

#endif
