/* The functions of OpenSSL that this folder calls. They are loaded when the first URI has tls=1.
 *
 * Loading OpenSSL takes about as long as everything else that a short command does, and most
 * programs use no TLS. So libmcds is not linked with it. */
#ifndef MCDS_STORE_MEMCACHED_TLS_FUNCTIONS_H
#define MCDS_STORE_MEMCACHED_TLS_FUNCTIONS_H

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* clang-format off */
#define MCDS__OPENSSL_FUNCTIONS(EACH) \
    EACH(ASN1_TIME_diff) EACH(ASN1_TIME_free) EACH(ASN1_TIME_set) EACH(BIO_clear_flags) \
    EACH(BIO_free) EACH(BIO_get_data) EACH(BIO_get_new_index) EACH(BIO_meth_free) \
    EACH(BIO_meth_new) EACH(BIO_meth_set_ctrl) EACH(BIO_meth_set_read) \
    EACH(BIO_meth_set_write) EACH(BIO_new) EACH(BIO_set_data) EACH(BIO_set_flags) \
    EACH(BIO_set_init) EACH(ERR_clear_error) EACH(ERR_peek_error) EACH(OPENSSL_sk_num) \
    EACH(OPENSSL_sk_value) EACH(SSL_CIPHER_get_name) EACH(SSL_CTX_check_private_key) \
    EACH(SSL_CTX_ctrl) EACH(SSL_CTX_free) EACH(SSL_CTX_load_verify_file) EACH(SSL_CTX_new) \
    EACH(SSL_CTX_set_default_passwd_cb) EACH(SSL_CTX_set_default_read_buffer_len) \
    EACH(SSL_CTX_set_default_verify_paths) EACH(SSL_CTX_set_options) EACH(SSL_CTX_set_verify) \
    EACH(SSL_CTX_use_PrivateKey_file) EACH(SSL_CTX_use_certificate_chain_file) EACH(SSL_ctrl) \
    EACH(SSL_do_handshake) EACH(SSL_free) EACH(SSL_get0_param) EACH(SSL_get0_verified_chain) \
    EACH(SSL_get_certificate) EACH(SSL_get_current_cipher) EACH(SSL_get_error) \
    EACH(SSL_get_verify_result) EACH(SSL_get_version) EACH(SSL_has_pending) EACH(SSL_new) \
    EACH(SSL_read_ex) EACH(SSL_set1_host) EACH(SSL_set_bio) EACH(SSL_set_connect_state) \
    EACH(SSL_shutdown) EACH(SSL_write_ex) EACH(TLS_client_method) \
    EACH(X509_VERIFY_PARAM_set1_ip_asc) EACH(X509_VERIFY_PARAM_set_hostflags) \
    EACH(X509_VERIFY_PARAM_set_time) EACH(X509_get0_notAfter)
/* clang-format on */

#define MCDS__OPENSSL_MEMBER(name) __typeof__(name) *name;
struct mcds__openssl {
    MCDS__OPENSSL_FUNCTIONS(MCDS__OPENSSL_MEMBER)
};

/* Written once, by mcds__openssl_load(). */
extern struct mcds__openssl mcds__openssl;

/* Load OpenSSL, if this process has not done so. Any thread may call it. Returns MCDS_OK, or a
 * failure with the sentence set. */
int mcds__openssl_load(void);

#endif
