/* A build without OpenSSL: there is no context, so there are no streams. */
#include <assert.h>

#include "base/error.h"
#include "store/memcached/tls/tls.h"

int mcds__tls_open(const mcds_env *env, const struct mcds__tls_options *options,
                   struct mcds__tls **tls_out)
{
    (void)env;
    (void)options;
    *tls_out = NULL;
    return mcds__fail_saying(MCDS__ERROR(MCDS_INVALID, UNSUPPORTED, .noun = "store",
                                         .option = "tls", .found = "1", .wanted = "tls=0"),
                             "this mcds was built without TLS: build it where OpenSSL 3 is "
                             "installed (libssl-dev), or leave out tls=1 and use a tunnel");
}

void mcds__tls_close(struct mcds__tls *tls)
{
    (void)tls;
    assert(tls == NULL);
}

struct mcds__tls_stream *mcds__tls_begin(const struct mcds__tls *tls, const char *host,
                                         const struct mcds__tls_transport *transport)
{
    (void)tls;
    (void)host;
    (void)transport;
    assert(tls == NULL);
    return NULL;
}

/* The answer of every call on a stream: there is none. */
static enum mcds__tls_step without_stream(const struct mcds__tls_stream *stream,
                                          const mcds_reason **trouble_out)
{
    (void)stream;
    assert(stream == NULL);
    *trouble_out = NULL;
    return TLS_FAILED;
}

enum mcds__tls_step mcds__tls_handshake(struct mcds__tls_stream *stream,
                                        const mcds_reason **trouble_out)
{
    return without_stream(stream, trouble_out);
}

enum mcds__tls_step mcds__tls_send(struct mcds__tls_stream *stream, const void *data,
                                   size_t length, size_t *sent_out,
                                   const mcds_reason **trouble_out)
{
    (void)data;
    (void)length;
    *sent_out = 0;
    return without_stream(stream, trouble_out);
}

enum mcds__tls_step mcds__tls_receive(struct mcds__tls_stream *stream, void *out,
                                      size_t capacity, size_t *received_out,
                                      const mcds_reason **trouble_out)
{
    (void)out;
    (void)capacity;
    *received_out = 0;
    return without_stream(stream, trouble_out);
}

bool mcds__tls_has_more(const struct mcds__tls_stream *stream)
{
    (void)stream;
    return false;
}

void mcds__tls_end(struct mcds__tls_stream *stream)
{
    (void)stream;
}

void mcds__tls_describe(const struct mcds__tls_stream *stream, struct mcds__tls_facts *out)
{
    (void)stream;
    *out = (struct mcds__tls_facts){.own_left_s = INT64_MAX};
}
