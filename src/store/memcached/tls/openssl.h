/* OpenSSL for the files of this folder: its functions by their own names, which call the loaded
 * ones, and the context. */
#ifndef MCDS_STORE_MEMCACHED_TLS_OPENSSL_H
#define MCDS_STORE_MEMCACHED_TLS_OPENSSL_H

#include "store/memcached/tls/functions.h"
#include "store/memcached/tls/tls.h"

#define ASN1_TIME_diff mcds__openssl.ASN1_TIME_diff
#define ASN1_TIME_free mcds__openssl.ASN1_TIME_free
#define ASN1_TIME_set mcds__openssl.ASN1_TIME_set
#define BIO_clear_flags mcds__openssl.BIO_clear_flags
#define BIO_free mcds__openssl.BIO_free
#define BIO_get_data mcds__openssl.BIO_get_data
#define BIO_get_new_index mcds__openssl.BIO_get_new_index
#define BIO_meth_free mcds__openssl.BIO_meth_free
#define BIO_meth_new mcds__openssl.BIO_meth_new
#define BIO_meth_set_ctrl mcds__openssl.BIO_meth_set_ctrl
#define BIO_meth_set_read mcds__openssl.BIO_meth_set_read
#define BIO_meth_set_write mcds__openssl.BIO_meth_set_write
#define BIO_new mcds__openssl.BIO_new
#define BIO_set_data mcds__openssl.BIO_set_data
#define BIO_set_flags mcds__openssl.BIO_set_flags
#define BIO_set_init mcds__openssl.BIO_set_init
#define ERR_clear_error mcds__openssl.ERR_clear_error
#define ERR_peek_error mcds__openssl.ERR_peek_error
#define OPENSSL_sk_num mcds__openssl.OPENSSL_sk_num
#define OPENSSL_sk_value mcds__openssl.OPENSSL_sk_value
#define SSL_CIPHER_get_name mcds__openssl.SSL_CIPHER_get_name
#define SSL_CTX_check_private_key mcds__openssl.SSL_CTX_check_private_key
#define SSL_CTX_ctrl mcds__openssl.SSL_CTX_ctrl
#define SSL_CTX_free mcds__openssl.SSL_CTX_free
#define SSL_CTX_load_verify_file mcds__openssl.SSL_CTX_load_verify_file
#define SSL_CTX_new mcds__openssl.SSL_CTX_new
#define SSL_CTX_set_default_passwd_cb mcds__openssl.SSL_CTX_set_default_passwd_cb
#define SSL_CTX_set_default_read_buffer_len mcds__openssl.SSL_CTX_set_default_read_buffer_len
#define SSL_CTX_set_default_verify_paths mcds__openssl.SSL_CTX_set_default_verify_paths
#define SSL_CTX_set_options mcds__openssl.SSL_CTX_set_options
#define SSL_CTX_set_verify mcds__openssl.SSL_CTX_set_verify
#define SSL_CTX_use_PrivateKey_file mcds__openssl.SSL_CTX_use_PrivateKey_file
#define SSL_CTX_use_certificate_chain_file mcds__openssl.SSL_CTX_use_certificate_chain_file
#define SSL_ctrl mcds__openssl.SSL_ctrl
#define SSL_do_handshake mcds__openssl.SSL_do_handshake
#define SSL_free mcds__openssl.SSL_free
#define SSL_get0_param mcds__openssl.SSL_get0_param
#define SSL_get0_verified_chain mcds__openssl.SSL_get0_verified_chain
#define SSL_get_certificate mcds__openssl.SSL_get_certificate
#define SSL_get_current_cipher mcds__openssl.SSL_get_current_cipher
#define SSL_get_error mcds__openssl.SSL_get_error
#define SSL_get_verify_result mcds__openssl.SSL_get_verify_result
#define SSL_get_version mcds__openssl.SSL_get_version
#define SSL_has_pending mcds__openssl.SSL_has_pending
#define SSL_new mcds__openssl.SSL_new
#define SSL_read_ex mcds__openssl.SSL_read_ex
#define SSL_set1_host mcds__openssl.SSL_set1_host
#define SSL_set_bio mcds__openssl.SSL_set_bio
#define SSL_set_connect_state mcds__openssl.SSL_set_connect_state
#define SSL_shutdown mcds__openssl.SSL_shutdown
#define SSL_write_ex mcds__openssl.SSL_write_ex
#define TLS_client_method mcds__openssl.TLS_client_method
#define X509_VERIFY_PARAM_set1_ip_asc mcds__openssl.X509_VERIFY_PARAM_set1_ip_asc
#define X509_VERIFY_PARAM_set_hostflags mcds__openssl.X509_VERIFY_PARAM_set_hostflags
#define X509_VERIFY_PARAM_set_time mcds__openssl.X509_VERIFY_PARAM_set_time
#define X509_get0_notAfter mcds__openssl.X509_get0_notAfter

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
