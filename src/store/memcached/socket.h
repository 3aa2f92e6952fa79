/* A stream to one server, plain or with TLS: socket.c and socket_address.c are the only files that
 * use sockets. Only mcds__socket_wait blocks, and the name service if the host is a name. */
#ifndef MCDS_STORE_MEMCACHED_SOCKET_H
#define MCDS_STORE_MEMCACHED_SOCKET_H

#include "store/memcached/tls/tls.h"

#define MCDS__HOST_MAX 255

struct mcds__address {
    bool is_unix;
    uint16_t port;
    char host[MCDS__HOST_MAX + 1]; /* or the path of a unix socket */
};

struct addrinfo;

/* A name means one server, which may have one IPv4 and one IPv6 address. */
#define MCDS__ADDRESSES_MAX 2

struct mcds__socket {
    int fd;          /* -1: closed */
    bool connecting; /* until it is connected, with TLS until the handshake is over */
    const mcds_reason *trouble; /* a constant sentence, set when a call has returned false */
    struct addrinfo *found;     /* the result of the name service; NULL: a unix socket */
    /* Pointers into `found`, in the order of trying. */
    const struct addrinfo *addresses[MCDS__ADDRESSES_MAX];
    uint8_t address_count;
    uint8_t address_next; /* the index after the address being tried or connected */
    mcds_buffer out;
    size_t out_sent; /* bytes of `out` that were sent */
    uint64_t sent;   /* bytes since the connection was made */
    mcds_buffer in;
    size_t in_taken;   /* bytes of `in` that were consumed */
    bool has_received; /* the wait has already received */
    int receive_ms;    /* the timeout of recv(); 0: none */
    bool has_secret;   /* `out` holds a password: it is overwritten when it was sent */
    uint8_t watched;   /* events that are watched, as in mcds__socket_ready, */
    int watcher;       /* by this file descriptor */
    /* TLS. */
    const struct mcds__tls *tls;     /* NULL: a plain connection */
    struct mcds__tls_stream *stream; /* NULL: the handshake has not begun */
    const char *host;                /* as the URI names it */
    /* The position in the stream of `sent` bytes at which the next record ends; NULL: where `out`
     * ends. */
    uint64_t (*record_end)(const void *context);
    const void *record_context;
    bool handshake_sends; /* the stream waits to send bytes of its own, such as a handshake's */
    bool may_receive;     /* the stream may call recv() once more, */
    int receive_flags;    /* with these flags */
    int stream_error;     /* errno of its last call that failed */
};

/* `tls` is NULL for plain connections, or outlives the socket. */
void mcds__socket_init(struct mcds__socket *socket, const mcds_env *env,
                       const struct mcds__tls *tls);
/* Begin to connect. IPv6 is tried before IPv4, but the address family `avoided` last (0: none).
 * False: `trouble` says why it could not begin. */
bool mcds__socket_open(struct mcds__socket *socket, const struct mcds__address *address,
                       int avoided);
void mcds__socket_close(struct mcds__socket *socket);
/* Call after mcds__socket_wait while connecting: records the success, continues the handshake, or
 * tries the next address of the host. False: there is none, or the peer of the handshake is wrong,
 * which another address would not change. */
bool mcds__socket_go_on(struct mcds__socket *socket);
/* The current address does not answer: try the next one. False: there is none. */
bool mcds__socket_pass_over(struct mcds__socket *socket);
/* Why it is still connecting, where the server says nothing. */
const mcds_reason *mcds__socket_silence(const struct mcds__socket *socket);
/* The part of `left_ns` for the address being tried, so that the others get their part. */
int64_t mcds__socket_share_ns(const struct mcds__socket *socket, int64_t left_ns);
/* The family of the address being tried. */
int mcds__socket_family(const struct mcds__socket *socket);
/* Whether a connected socket's server is on this machine: a unix socket or a loopback address. */
bool mcds__socket_is_local(const struct mcds__socket *socket);
/* The addresses of a host, in the order of trying. False: `trouble` is set. */
bool mcds__socket_look_up(struct mcds__socket *socket, const struct mcds__address *address,
                          int avoided);
void mcds__socket_forget_addresses(struct mcds__socket *socket);
/* Send the bytes in `out`, as far as the socket accepts them. False: broken. */
bool mcds__socket_send(struct mcds__socket *socket);
/* Receive the bytes that have arrived, with space for at least `needed` bytes. False: broken or closed. */
bool mcds__socket_receive(struct mcds__socket *socket, size_t needed);
/* Whether an idle socket is unchanged: open, and no unrequested byte has arrived. */
bool mcds__socket_is_quiet(const struct mcds__socket *socket);

static inline bool mcds__socket_wants_to_send(const struct mcds__socket *socket)
{
    return socket->out_sent < socket->out.length;
}

/* The result of a wait. */
enum mcds__socket_ready {
    READY_NOT = 0,
    READY_TO_RECEIVE = 1, /* or the socket is broken */
    READY_TO_SEND = 2     /* or the connection was made, or failed */
};

/* A file descriptor that is readable when a watched socket is ready, for the program's event
 * loop; -1: the system has no more. */
int mcds__socket_watcher(void);
void mcds__socket_watcher_close(int watcher);
/* Watch an open socket for what it waits for; nothing if not `busy`. False: refused. */
bool mcds__socket_watch(struct mcds__socket *socket, int watcher, bool busy);

#define MCDS__WAIT_MAX 256

/* Wait until one of `count` (at most MCDS__WAIT_MAX) open sockets is ready, at most
 * `timeout_ns`. ready_out[i] is a set of mcds__socket_ready. */
void mcds__socket_wait(struct mcds__socket **connections, uint32_t count, int64_t timeout_ns,
                       uint8_t *ready_out);

#endif
