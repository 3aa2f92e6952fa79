/* A relay that speaks TLS, before a memcached that does not. */
#include "tls/relay.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define TICK_MS 20
#define PATIENCE_S 60
#define PIECE_MAX 65536
#define PAIR 2

/* A connection through the relay. */
struct passage {
    struct tls_relay *relay;
    int client;
    int server;
    SSL *ssl;         /* NULL: raw */
    uint64_t replied; /* bytes from the server */
    char bytes[PIECE_MAX];
};

static ssize_t receive_client(struct passage *passage)
{
    if (passage->ssl == NULL)
        return recv(passage->client, passage->bytes, PIECE_MAX, 0);
    int got = SSL_read(passage->ssl, passage->bytes, PIECE_MAX);
    if (got <= 0 && SSL_get_error(passage->ssl, got) == SSL_ERROR_ZERO_RETURN)
        passage->relay->goodbyes++;
    return got;
}

static bool send_client(struct passage *passage, const char *bytes, size_t length)
{
    size_t piece = passage->relay->piece > 0 ? passage->relay->piece : length;
    for (size_t at = 0; at < length; at += piece) {
        size_t part = length - at < piece ? length - at : piece;
        ssize_t sent = passage->ssl != NULL
                           ? SSL_write(passage->ssl, bytes + at, (int)part)
                           : send(passage->client, bytes + at, part, MSG_NOSIGNAL);
        if (sent != (ssize_t)part)
            return false;
    }
    return true;
}

static bool send_server(const struct passage *passage, const char *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        ssize_t sent = send(passage->server, bytes + at, length - at, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        at += (size_t)sent;
    }
    return true;
}

static void be_deaf(const struct passage *passage)
{
    while (!passage->relay->over) {
        struct pollfd polled = {passage->client, POLLRDHUP, 0};
        if (poll(&polled, 1, TICK_MS) > 0)
            return;
    }
}

static void note_handshake(const SSL *ssl, int where, int result)
{
    struct tls_relay *relay = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    (void)result;
    if ((where & SSL_CB_HANDSHAKE_DONE) != 0)
        relay->handshakes++;
}

/* Do what was ordered. False: the connection is over. */
static bool suffer(struct passage *passage, size_t length)
{
    switch ((enum tls_event)atomic_exchange(&passage->relay->event, EVENT_NONE)) {
    case EVENT_RENEGOTIATE:
        return SSL_renegotiate(passage->ssl) == 1 && SSL_do_handshake(passage->ssl) == 1 &&
               send_server(passage, passage->bytes, length);
    case EVENT_UPDATE_KEYS:
        return SSL_key_update(passage->ssl, SSL_KEY_UPDATE_REQUESTED) == 1 &&
               send_server(passage, passage->bytes, length);
    case EVENT_CUT_BEFORE_REPLY:
        if (send_server(passage, passage->bytes, length))
            (void)recv(passage->server, passage->bytes, PIECE_MAX, 0);
        return false;
    case EVENT_GARBAGE:
        (void)send(passage->client, "HTTP/1.1 400 Bad Request\r\n\r\n", 28, MSG_NOSIGNAL);
        be_deaf(passage);
        return false;
    case EVENT_DEAF:
        be_deaf(passage);
        return false;
    default:
        return send_server(passage, passage->bytes, length);
    }
}

static bool hear_client(struct passage *passage)
{
    do {
        ssize_t got = receive_client(passage);
        if (got <= 0 || !suffer(passage, (size_t)got))
            return false;
    } while (passage->ssl != NULL && SSL_pending(passage->ssl) > 0);
    return true;
}

static bool hear_server(struct passage *passage)
{
    size_t limit = passage->relay->raw_limit;
    ssize_t got = recv(passage->server, passage->bytes, PIECE_MAX, 0);
    if (got <= 0)
        return false;
    size_t length = (size_t)got;
    if (limit > 0 && passage->replied + length > limit)
        length = (size_t)(limit - passage->replied);
    passage->replied += length;
    passage->relay->raw_passed = passage->replied;
    return send_client(passage, passage->bytes, length) &&
           (limit == 0 || passage->replied < limit);
}

static void pass_on(struct passage *passage)
{
    bool alive = true;
    while (alive && !passage->relay->over) {
        struct pollfd polled[PAIR] = {{passage->client, POLLIN, 0},
                                      {passage->server, POLLIN, 0}};
        if (poll(polled, PAIR, TICK_MS) <= 0)
            continue;
        if (polled[1].revents != 0)
            alive = hear_server(passage);
        if (alive && polled[0].revents != 0)
            alive = hear_client(passage);
    }
}

/* Wait for nothing for ever. */
static void be_patient(int fd)
{
    struct timeval limit = {PATIENCE_S, 0};
    int yes = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static void *serve(void *context)
{
    struct passage *passage = context;
    bool joined = true;
    sigset_t broken;
    (void)sigemptyset(&broken);
    (void)sigaddset(&broken, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &broken, NULL); /* which OpenSSL raises here, not mcds */
    passage->server = server_connect(passage->relay->target);
    be_patient(passage->client);
    if (!passage->relay->is_raw) {
        passage->ssl = SSL_new(passage->relay->context);
        joined = passage->ssl != NULL && SSL_set_fd(passage->ssl, passage->client) == 1 &&
                 SSL_accept(passage->ssl) == 1;
    }
    if (joined && passage->server >= 0) {
        passage->relay->connections++;
        pass_on(passage);
    }
    SSL_free(passage->ssl);
    (void)close(passage->client);
    if (passage->server >= 0)
        (void)close(passage->server);
    free(passage);
    return NULL;
}

static void *accept_all(void *context)
{
    struct tls_relay *relay = context;
    while (!relay->over) {
        struct pollfd polled = {relay->listener, POLLIN, 0};
        if (poll(&polled, 1, TICK_MS) <= 0)
            continue;
        struct passage *passage = calloc(1, sizeof *passage);
        if (passage == NULL || relay->thread_count == RELAY_THREADS)
            abort();
        passage->relay = relay;
        passage->client = accept(relay->listener, NULL, NULL);
        if (passage->client < 0 ||
            pthread_create(&relay->threads[relay->thread_count], NULL, serve, passage) != 0)
            abort();
        relay->thread_count++;
    }
    return NULL;
}

static bool make_context(struct tls_relay *relay)
{
    if (relay->is_raw)
        return true;
    relay->context = SSL_CTX_new(TLS_server_method());
    if (relay->context == NULL)
        return false;
    SSL_CTX_set_security_level(relay->context, 0);
    SSL_CTX_set_app_data(relay->context, relay);
    SSL_CTX_set_info_callback(relay->context, note_handshake);
    return SSL_CTX_set_min_proto_version(relay->context, TLS1_VERSION) == 1 &&
           SSL_CTX_set_max_proto_version(relay->context, relay->max_version) == 1 &&
           SSL_CTX_use_certificate_chain_file(relay->context, relay->certificate) == 1 &&
           SSL_CTX_use_PrivateKey_file(relay->context, relay->certificate, SSL_FILETYPE_PEM) ==
               1;
}

bool tls_relay_start(struct tls_relay *relay)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    relay->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (relay->listener < 0 || !make_context(relay) ||
        bind(relay->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(relay->listener, 128) != 0 ||
        getsockname(relay->listener, (struct sockaddr *)&address, &length) != 0 ||
        pthread_create(&relay->acceptor, NULL, accept_all, relay) != 0)
        return false;
    relay->place.port = ntohs(address.sin_port);
    return true;
}

void tls_relay_stop(struct tls_relay *relay)
{
    relay->over = true;
    (void)pthread_join(relay->acceptor, NULL);
    for (uint32_t i = 0; i < relay->thread_count; i++)
        (void)pthread_join(relay->threads[i], NULL);
    (void)close(relay->listener);
    SSL_CTX_free(relay->context);
}
