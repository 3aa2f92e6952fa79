/* Reports how the connection to a server is protected. */
#include "store/memcached/inspect/security.h"

#include <assert.h>

#define S_PER_DAY 86400
#define NEAR_END_DAYS 14

void mcds__security_note(const struct mcds__socket *socket, struct mcds__security *out)
{
    out->is_remote = !mcds__socket_is_local(socket);
    out->has_tls = socket->stream != NULL;
    if (out->has_tls)
        mcds__tls_describe(socket->stream, &out->tls);
}

static void tell_end(struct mcds__report *report, int64_t left_s, const char *whose,
                     const char *fix)
{
    long long days = left_s > 0 ? left_s / S_PER_DAY + 1 : 0;
    if (days <= NEAR_END_DAYS)
        mcds__report(report, MCDS_PROBLEM, fix, "%s ends within %lld day%s", whose, days,
                     days == 1 ? "" : "s");
}

static void tell_tls(struct mcds__report *report, const struct mcds__tls_facts *tls)
{
    assert(tls->version[0] != '\0');
    mcds__report(report, MCDS_FACT, "", "%s, %s, certificate valid for %lld days", tls->version,
                 tls->cipher, (long long)(tls->left_s / S_PER_DAY));
    tell_end(report, tls->left_s, "its certificate, or one that signed it,",
             "Renew it, and have the server read it: 'refresh_certs' or a restart.");
    tell_end(report, tls->own_left_s,
             "the client certificate of cert=", "Renew it, and open the store again.");
}

static void tell_openness(struct mcds__report *report, bool has_tls, bool has_password)
{
    if (!has_tls && !has_password)
        mcds__report(report, MCDS_ADVICE,
                     "Let only trusted machines reach its port (memcached -l, a firewall), or "
                     "start it with TLS and a password (-Z, -Y), for tls=1 and auth_file= in "
                     "the URI.",
                     "it answers over the network without password and TLS: each program "
                     "that reaches it can read, change and erase everything");
    else if (!has_tls)
        mcds__report(report, MCDS_ADVICE, "Start it with TLS (-Z), and add tls=1 to the URI.",
                     "it is used over the network without TLS: on the way, others can read the "
                     "password and everything else");
    else if (!has_password)
        mcds__report(report, MCDS_ADVICE,
                     "Start it with a password (-Y) for auth_file= in the URI, or have it "
                     "demand certificates of its clients (-o ssl_verify_mode=2).",
                     "it asks for no password: each program that reaches it can read, change "
                     "and erase everything");
}

void mcds__security_tell(struct mcds__report *report, struct mcds__memcached *backend,
                         uint32_t server, const struct mcds__security *security)
{
    (void)pthread_mutex_lock(&backend->mutex);
    bool has_password = backend->servers[server].has_logged_in;
    (void)pthread_mutex_unlock(&backend->mutex);
    if (security->has_tls)
        tell_tls(report, &security->tls);
    if (has_password)
        mcds__report(report, MCDS_FACT, "", "it has accepted the password of auth_file=");
    else if (backend->auth_file != NULL)
        mcds__report(report, MCDS_ADVICE, "Start it with a password file (-Y).",
                     "the URI has auth_file=, but this server asks for no password");
    if (security->is_remote)
        tell_openness(report, security->has_tls, has_password || backend->has_client_cert);
}
