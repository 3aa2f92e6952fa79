/* The reason for a failure of TLS, from the verdict on the certificate or OpenSSL's error. */
#include <assert.h>

#include "base/reason.h"
#include "store/memcached/tls/openssl.h"

/* The reason why the certificate of the server was refused. */
static const mcds_reason *judge_certificate(long verdict)
{
    static const struct mcds__code_reason verdicts[] = {
        {X509_V_ERR_HOSTNAME_MISMATCH, MCDS__WHY(CERTIFICATE_NAME)},
        {X509_V_ERR_IP_ADDRESS_MISMATCH, MCDS__WHY(CERTIFICATE_NAME)},
        {X509_V_ERR_CERT_HAS_EXPIRED, MCDS__WHY(CERTIFICATE_EXPIRED)},
        {X509_V_ERR_CERT_NOT_YET_VALID, MCDS__WHY(CERTIFICATE_EARLY)},
        {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, MCDS__WHY(CERTIFICATE_UNKNOWN)},
        {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, MCDS__WHY(CERTIFICATE_UNKNOWN)},
        {X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, MCDS__WHY(CERTIFICATE_UNKNOWN)},
        {X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, MCDS__WHY(CERTIFICATE_UNKNOWN)},
        {X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, MCDS__WHY(CERTIFICATE_UNKNOWN)},
        {X509_V_ERR_CERT_SIGNATURE_FAILURE, MCDS__WHY(CERTIFICATE_UNKNOWN)},
        {0, MCDS__WHY(CERTIFICATE_BAD)},
    };
    assert(verdict != X509_V_OK);
    return mcds__reason_of((int)verdict, verdicts, sizeof verdicts / sizeof verdicts[0]);
}

/* The reason for an error that the peer caused. */
static const mcds_reason *judge_peer(int error)
{
    static const struct mcds__code_reason errors[] = {
        {SSL_R_WRONG_VERSION_NUMBER, MCDS__WHY(TLS_NOT_SPOKEN)},
        {SSL_R_HTTP_REQUEST, MCDS__WHY(TLS_NOT_SPOKEN)},
        {SSL_R_PACKET_LENGTH_TOO_LONG, MCDS__WHY(TLS_NOT_SPOKEN)},
        {SSL_R_UNSUPPORTED_PROTOCOL, MCDS__WHY(TLS_TOO_OLD)},
        {SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, MCDS__WHY(TLS_TOO_OLD)},
        {SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, MCDS__WHY(TLS_CLIENT_REFUSED)},
        {SSL_R_TLSV1_ALERT_UNKNOWN_CA, MCDS__WHY(TLS_CLIENT_REFUSED)},
        {SSL_R_TLSV1_ALERT_ACCESS_DENIED, MCDS__WHY(TLS_CLIENT_REFUSED)},
        {SSL_R_TLSV1_ALERT_DECRYPT_ERROR, MCDS__WHY(TLS_CLIENT_REFUSED)},
        {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, MCDS__WHY(TLS_CLIENT_REFUSED)},
        {SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE, MCDS__WHY(TLS_CLIENT_REFUSED)},
        {SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED, MCDS__WHY(TLS_CLIENT_REFUSED)},
        {SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, MCDS__WHY(TLS_CLIENT_REFUSED)},
        {SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, MCDS__WHY(TLS_CLIENT_REFUSED)},
        {SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, MCDS__WHY(TLS_HANDSHAKE_REFUSED)},
        {SSL_R_TLSV1_UNRECOGNIZED_NAME, MCDS__WHY(CERTIFICATE_NAME)},
        {ERR_R_MALLOC_FAILURE, MCDS__WHY(NO_MEMORY_FOR_CONNECTION)},
        {0, MCDS__WHY(TLS_BROKE)},
    };
    return mcds__reason_of(error, errors, sizeof errors / sizeof errors[0]);
}

const mcds_reason *mcds__tls_trouble(const SSL *ssl, bool is_joined)
{
    unsigned long error = ERR_peek_error();
    int reason = ERR_GET_REASON(error);
    assert(error != 0);
    long verdict = SSL_get_verify_result(ssl);
    if (is_joined && judge_peer(reason) == MCDS__WHY(TLS_NOT_SPOKEN))
        return MCDS__WHY(TLS_BROKE);
    return reason == SSL_R_CERTIFICATE_VERIFY_FAILED && verdict != X509_V_OK
               ? judge_certificate(verdict)
               : judge_peer(reason);
}
