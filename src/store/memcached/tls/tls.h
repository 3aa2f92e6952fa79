/* TLS on the connections to memcached. The files of this folder are the only ones that use
 * OpenSSL, and they use no sockets: functions of the caller send and receive the bytes. A build
 * without OpenSSL has none.c instead, which refuses to make a context. */
#ifndef MCDS_STORE_MEMCACHED_TLS_TLS_H
#define MCDS_STORE_MEMCACHED_TLS_TLS_H

#include "mcds/backend.h"

/* Shared by all connections of a store: the trusted certificates, the certificate of the client.
 * Any thread may begin a stream on it. */
struct mcds__tls;

/* The options in the URI. NULL: not given. */
struct mcds__tls_options {
    const char *ca;   /* a PEM file of trusted certificates; NULL: those of the system */
    const char *cert; /* a PEM file: the client's certificate and its chain */
    const char *key;  /* a PEM file: its key; NULL: in the same file */
    const char *name; /* in the servers' certificates; NULL: the host of the URI */
};

/* Returns MCDS_OK, or a failure with the sentence set. */
int mcds__tls_open(const mcds_env *env, const struct mcds__tls_options *options,
                   struct mcds__tls **tls_out);
/* NULL is allowed. All streams have ended. */
void mcds__tls_close(struct mcds__tls *tls);

/* How a stream reaches its server, without blocking: as recv() and send(), the number of bytes, 0
 * at the end, or -1 with errno, of which EAGAIN means to wait. */
struct mcds__tls_transport {
    void *context;
    ptrdiff_t (*receive)(void *context, void *out, size_t capacity);
    ptrdiff_t (*send)(void *context, const void *data, size_t length);
};

/* TLS on one connection. */
struct mcds__tls_stream;

enum mcds__tls_step {
    TLS_DONE,
    TLS_TO_RECEIVE, /* repeat the call when the transport can receive, */
    TLS_TO_SEND,    /* or send */
    TLS_FAILED      /* *trouble_out says why; NULL: the transport failed or has ended */
};

/* Begin a stream to `host`. NULL: no memory. */
struct mcds__tls_stream *mcds__tls_begin(const struct mcds__tls *tls, const char *host,
                                         const struct mcds__tls_transport *transport);
/* Until it is TLS_DONE, no other of these calls may be made. */
enum mcds__tls_step mcds__tls_handshake(struct mcds__tls_stream *stream,
                                        const mcds_reason **trouble_out);
/* Send some of `length` bytes, at least one: *sent_out of them. The server does not execute the
 * other bytes unless the call is repeated: it ignores a record without its end. */
enum mcds__tls_step mcds__tls_send(struct mcds__tls_stream *stream, const void *data,
                                   size_t length, size_t *sent_out,
                                   const mcds_reason **trouble_out);
/* Receive at most `capacity` bytes, at least one: *received_out. */
enum mcds__tls_step mcds__tls_receive(struct mcds__tls_stream *stream, void *out,
                                      size_t capacity, size_t *received_out,
                                      const mcds_reason **trouble_out);
/* Whether the stream holds bytes that mcds__tls_receive has not returned. */
bool mcds__tls_has_more(const struct mcds__tls_stream *stream);
/* Send close_notify, if the stream is whole and was begun in this process, and free it. */
void mcds__tls_end(struct mcds__tls_stream *stream);

/* Facts about the connection, for reports. */
struct mcds__tls_facts {
    char version[16];
    char cipher[64];
    int64_t left_s; /* until a certificate of the server's chain ends; negative: it has ended */
    int64_t own_left_s; /* the same of the client's certificate; INT64_MAX: there is none */
};
void mcds__tls_describe(const struct mcds__tls_stream *stream, struct mcds__tls_facts *out);

#endif
