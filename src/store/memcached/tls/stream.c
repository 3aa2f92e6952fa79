/* TLS on one connection: OpenSSL between the caller and the functions that transfer bytes.
 *
 * OpenSSL's own BIO of sockets would write without MSG_NOSIGNAL, and block. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/environment.h"
#include "store/memcached/tls/openssl.h"

#define S_PER_DAY 86400

struct mcds__tls_stream {
    const struct mcds__tls *tls;
    struct mcds__tls_transport transport;
    SSL *ssl;
    uint64_t forks;  /* at its beginning: a child has the same keys and must not use them */
    bool is_joined;  /* the handshake is over */
    bool is_broken;  /* nothing more may be sent */
    bool is_writing; /* a record was not sent to its end */
};

static int read_transport(BIO *bio, char *out, int capacity)
{
    const struct mcds__tls_stream *stream = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    ptrdiff_t got = stream->transport.receive(stream->transport.context, out, (size_t)capacity);
    if (got < 0 && errno == EAGAIN)
        BIO_set_retry_read(bio);
    assert(got <= capacity);
    return (int)got;
}

static int write_transport(BIO *bio, const char *data, int length)
{
    const struct mcds__tls_stream *stream = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    ptrdiff_t sent = stream->transport.send(stream->transport.context, data, (size_t)length);
    if (sent < 0 && errno == EAGAIN)
        BIO_set_retry_write(bio);
    assert(sent <= length);
    return (int)sent;
}

static long control_transport(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

BIO_METHOD *mcds__tls_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "mcds");
    if (method != NULL && (BIO_meth_set_read(method, read_transport) != 1 ||
                           BIO_meth_set_write(method, write_transport) != 1 ||
                           BIO_meth_set_ctrl(method, control_transport) != 1)) {
        BIO_meth_free(method);
        method = NULL;
    }
    return method;
}

/* The name or the address that the server's certificate must have, and the time at which it must
 * be valid. The zone of an IPv6 address is no part of it. */
static bool set_peer(SSL *ssl, const struct mcds__tls *tls, const char *host)
{
    char name[256];
    size_t length = strcspn(tls->name != NULL ? tls->name : host, "%");
    if (length >= sizeof name)
        return false;
    memcpy(name, tls->name != NULL ? tls->name : host, length);
    name[length] = '\0';
    X509_VERIFY_PARAM *rules = SSL_get0_param(ssl);
    X509_VERIFY_PARAM_set_time(rules, (time_t)(mcds__wall_ns(tls->env) / NS_PER_S));
    X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (X509_VERIFY_PARAM_set1_ip_asc(rules, name) == 1)
        return true;
    return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

struct mcds__tls_stream *mcds__tls_begin(const struct mcds__tls *tls, const char *host,
                                         const struct mcds__tls_transport *transport)
{
    ERR_clear_error();
    struct mcds__tls_stream *stream = mcds__allocate_zero(tls->env, sizeof *stream);
    if (stream == NULL)
        return NULL;
    assert(tls->context != NULL && tls->method != NULL);
    stream->tls = tls;
    stream->transport = *transport;
    stream->forks = mcds__forks();
    stream->ssl = SSL_new(tls->context);
    BIO *bio = BIO_new(tls->method);
    if (stream->ssl == NULL || bio == NULL || !set_peer(stream->ssl, tls, host)) {
        (void)BIO_free(bio);
        SSL_free(stream->ssl);
        mcds__free(tls->env, stream);
        ERR_clear_error();
        return NULL;
    }
    BIO_set_data(bio, stream);
    BIO_set_init(bio, 1);
    SSL_set_bio(stream->ssl, bio, bio);
    SSL_set_connect_state(stream->ssl);
    return stream;
}

/* Interpret the `result` of a call of OpenSSL. Leaves no error in the thread's queue: other code
 * that uses OpenSSL would take it for its own. */
static enum mcds__tls_step judge_step(struct mcds__tls_stream *stream, int result,
                                      const mcds_reason **trouble_out)
{
    *trouble_out = NULL;
    if (result > 0)
        return TLS_DONE;
    switch (SSL_get_error(stream->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return TLS_TO_RECEIVE;
    case SSL_ERROR_WANT_WRITE:
        return TLS_TO_SEND;
    case SSL_ERROR_SSL:
        *trouble_out = mcds__tls_trouble(stream->ssl, stream->is_joined);
        break;
    case SSL_ERROR_ZERO_RETURN: /* the server has sent close_notify, and so may the client */
        return TLS_FAILED;
    default: /* the transport has failed */
        break;
    }
    stream->is_broken = true;
    ERR_clear_error();
    return TLS_FAILED;
}

enum mcds__tls_step mcds__tls_handshake(struct mcds__tls_stream *stream,
                                        const mcds_reason **trouble_out)
{
    assert(!stream->is_joined && !stream->is_broken);
    ERR_clear_error();
    enum mcds__tls_step step = judge_step(stream, SSL_do_handshake(stream->ssl), trouble_out);
    stream->is_joined = step == TLS_DONE;
    assert(!stream->is_joined || SSL_get_verify_result(stream->ssl) == X509_V_OK);
    return step;
}

enum mcds__tls_step mcds__tls_send(struct mcds__tls_stream *stream, const void *data,
                                   size_t length, size_t *sent_out,
                                   const mcds_reason **trouble_out)
{
    assert(stream->is_joined && length > 0);
    *sent_out = 0;
    *trouble_out = NULL;
    if (stream->is_broken)
        return TLS_FAILED;
    ERR_clear_error();
    int result = SSL_write_ex(stream->ssl, data, length, sent_out);
    enum mcds__tls_step step = judge_step(stream, result, trouble_out);
    stream->is_writing = step != TLS_DONE;
    assert(*sent_out <= length);
    return step;
}

enum mcds__tls_step mcds__tls_receive(struct mcds__tls_stream *stream, void *out,
                                      size_t capacity, size_t *received_out,
                                      const mcds_reason **trouble_out)
{
    assert(stream->is_joined && capacity > 0);
    *received_out = 0;
    ERR_clear_error();
    int result = SSL_read_ex(stream->ssl, out, capacity, received_out);
    assert(*received_out <= capacity);
    return judge_step(stream, result, trouble_out);
}

bool mcds__tls_has_more(const struct mcds__tls_stream *stream)
{
    return SSL_has_pending(stream->ssl) == 1;
}

/* close_notify would also send the rest of a record whose request was given up. */
void mcds__tls_end(struct mcds__tls_stream *stream)
{
    const mcds_env *env = stream->tls->env;
    if (stream->is_joined && !stream->is_broken && !stream->is_writing &&
        stream->forks == mcds__forks()) {
        ERR_clear_error();
        (void)SSL_shutdown(stream->ssl);
    }
    SSL_free(stream->ssl);
    ERR_clear_error();
    mcds__free(env, stream);
}

/* The seconds until a certificate ends; INT64_MAX: there is no certificate. */
static int64_t left_of(const X509 *certificate, const ASN1_TIME *now)
{
    int days = 0;
    int seconds = 0;
    if (certificate == NULL ||
        ASN1_TIME_diff(&days, &seconds, now, X509_get0_notAfter(certificate)) != 1)
        return INT64_MAX;
    return (int64_t)days * S_PER_DAY + seconds;
}

void mcds__tls_describe(const struct mcds__tls_stream *stream, struct mcds__tls_facts *out)
{
    assert(stream->is_joined);
    STACK_OF(X509) *chain = SSL_get0_verified_chain(stream->ssl);
    ASN1_TIME *now = ASN1_TIME_set(NULL, (time_t)(mcds__wall_ns(stream->tls->env) / NS_PER_S));
    *out = (struct mcds__tls_facts){.left_s = INT64_MAX, .own_left_s = INT64_MAX};
    (void)snprintf(out->version, sizeof out->version, "%s", SSL_get_version(stream->ssl));
    (void)snprintf(out->cipher, sizeof out->cipher, "%s", SSL_get_cipher_name(stream->ssl));
    for (int i = 0; now != NULL && i < sk_X509_num(chain); i++) {
        int64_t left_s = left_of(sk_X509_value(chain, i), now);
        out->left_s = left_s < out->left_s ? left_s : out->left_s;
    }
    if (now != NULL)
        out->own_left_s = left_of(SSL_get_certificate(stream->ssl), now);
    ASN1_TIME_free(now);
    ERR_clear_error();
}
