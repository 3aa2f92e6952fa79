/* The context that all TLS connections of a store share: it loads the files that the URI names. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "store/memcached/tls/openssl.h"

/* The size of one receive: many replies then take few system calls. */
#define READ_AHEAD ((size_t)64 * 1024)

/* Never ask a terminal for the passphrase of a key, as OpenSSL would. */
static int refuse_passphrase(char *out, int capacity, int writes, void *context)
{
    (void)out;
    (void)capacity;
    (void)writes;
    (void)context;
    return -1;
}

/* A file of the URI's `option` cannot be used: say why, from the first error of OpenSSL. */
static int refuse_tls_file(const char *option, const char *path, const char *wanted)
{
    unsigned long error = ERR_peek_error();
    int code = ERR_GET_LIB(error) == ERR_LIB_SYS ? ERR_GET_REASON(error) : 0;
    mcds_cause cause = MCDS_CAUSE_WRONG_FILE;
    const char *what = "it holds none";
    ERR_clear_error();
    if (code == ENOENT || code == ENOTDIR) {
        cause = MCDS_CAUSE_NO_FILE;
        what = "it does not exist";
    } else if (code == EACCES || code == EPERM) {
        cause = MCDS_CAUSE_NO_PERMISSION;
        what = "this user may not read it";
    }
    return mcds__fail_saying(
        &(const mcds_error){
            .result = MCDS_IO, .cause = cause, .os_error = code, .noun = "store", .peer = path},
        "the URI's %s= must name a PEM file with %s: %s", option, wanted, what);
}

static int load_trust(SSL_CTX *context, const char *ca)
{
    if (ca == NULL && SSL_CTX_set_default_verify_paths(context) == 1)
        return MCDS_OK;
    if (ca == NULL)
        return mcds__fail_memory("store", NULL, NULL);
    return SSL_CTX_load_verify_file(context, ca) == 1
               ? MCDS_OK
               : refuse_tls_file("ca", ca, "the certificates of authorities");
}

/* The certificate and the key of this client. */
static int load_own(SSL_CTX *context, const struct mcds__tls_options *options)
{
    const char *key = options->key != NULL ? options->key : options->cert;
    if (options->cert == NULL)
        return MCDS_OK;
    if (SSL_CTX_use_certificate_chain_file(context, options->cert) != 1)
        return refuse_tls_file("cert", options->cert, "the certificate of this client");
    if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
        return refuse_tls_file("key", key, "the key of cert=, without a passphrase");
    assert(SSL_CTX_check_private_key(context) == 1);
    return MCDS_OK;
}

static bool set_rules(SSL_CTX *context)
{
    (void)SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    (void)SSL_CTX_set_mode(context,
                           SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, READ_AHEAD);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_default_passwd_cb(context, refuse_passphrase);
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1;
}

static int prepare_tls(struct mcds__tls *tls, const struct mcds__tls_options *options)
{
    tls->context = SSL_CTX_new(TLS_client_method());
    tls->method = mcds__tls_method();
    if (options->name != NULL)
        tls->name = mcds__copy_string(tls->env, options->name);
    if (tls->context == NULL || tls->method == NULL || !set_rules(tls->context) ||
        (options->name != NULL && tls->name == NULL))
        return mcds__fail_memory("store", NULL, NULL);
    int result = load_trust(tls->context, options->ca);
    return result == MCDS_OK ? load_own(tls->context, options) : result;
}

int mcds__tls_open(const mcds_env *env, const struct mcds__tls_options *options,
                   struct mcds__tls **tls_out)
{
    assert(options->key == NULL || options->cert != NULL);
    *tls_out = NULL;
    int result = mcds__openssl_load();
    if (result != MCDS_OK)
        return result;
    struct mcds__tls *tls = mcds__allocate_zero(env, sizeof *tls);
    if (tls == NULL)
        return mcds__fail_memory("store", NULL, NULL);
    tls->env = env;
    ERR_clear_error();
    result = prepare_tls(tls, options);
    ERR_clear_error();
    if (result == MCDS_OK)
        *tls_out = tls;
    else
        mcds__tls_close(tls);
    return result;
}

void mcds__tls_close(struct mcds__tls *tls)
{
    if (tls == NULL)
        return;
    SSL_CTX_free(tls->context);
    BIO_meth_free(tls->method);
    mcds__free(tls->env, tls->name);
    mcds__free(tls->env, tls);
}
