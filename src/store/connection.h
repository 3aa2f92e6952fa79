/* One stream to one server: the only file that touches sockets. Nothing here blocks but
 * mcds__connection_wait (and the name service, when a host is a name). */
#ifndef MCDS_STORE_CONNECTION_H
#define MCDS_STORE_CONNECTION_H

#include "mcds_store.h"

#define MCDS__HOST_MAX 255

struct mcds__address {
    bool is_unix;
    uint16_t port;
    char host[MCDS__HOST_MAX + 1]; /* or the path of a unix socket */
};

struct addrinfo;

/* A name means one server: it may have one IPv4 and one IPv6 address. */
#define MCDS__ADDRESSES_MAX 2

struct mcds__connection {
    int fd; /* -1: closed */
    bool connecting;
    const mcds_reason *trouble; /* a constant sentence, once a call has returned false */
    struct addrinfo *found;     /* what the name service has found; NULL: a unix socket */
    const struct addrinfo
        *addresses[MCDS__ADDRESSES_MAX]; /* of these, in the order of trying */
    uint8_t address_count;
    uint8_t address_next; /* the one before it is being tried, or connected */
    mcds_buffer out;
    size_t out_sent; /* of the bytes in `out` */
    uint64_t sent;   /* since the beginning of the connection */
    mcds_buffer in;
    size_t in_taken;   /* of the bytes in `in` */
    bool has_received; /* waiting has received already */
    int receive_ms;    /* how long recv() waits; 0: for ever */
    uint8_t watched;   /* for what, as mcds__connection_ready */
};

void mcds__connection_init(struct mcds__connection *connection, const mcds_env *env);
/* Begin to connect. IPv6 is tried before IPv4, but the address family `avoided` last (0: none).
 * False: it cannot even begin; `trouble` tells. */
bool mcds__connection_open(struct mcds__connection *connection,
                           const struct mcds__address *address, int avoided);
void mcds__connection_close(struct mcds__connection *connection);
/* After mcds__connection_wait while connecting: take note that it has worked or go on with the
 * next address of the host. False: none is left. */
bool mcds__connection_go_on(struct mcds__connection *connection);
/* The address that is being tried is silent: go on with the next one. False: none is left. */
bool mcds__connection_pass_over(struct mcds__connection *connection);
/* The part of `left_ns` that the address being tried may take, so that the others get theirs. */
int64_t mcds__connection_share_ns(const struct mcds__connection *connection, int64_t left_ns);
/* The family of the address that is being tried. */
int mcds__connection_family(const struct mcds__connection *connection);
/* Whether the server of a connection that is made is on this machine: a unix socket or a loopback
 * address. */
bool mcds__connection_is_local(const struct mcds__connection *connection);
/* Send what is in `out`, as far as the socket takes it. False: broken. */
bool mcds__connection_send(struct mcds__connection *connection);
/* Read what is there, at least `needed` bytes of room. False: broken or closed by the server.
 */
bool mcds__connection_receive(struct mcds__connection *connection, size_t needed);
/* Whether an idle connection is still as it was: open, and nothing has come unasked. */
bool mcds__connection_is_quiet(struct mcds__connection *connection);

static inline bool mcds__connection_wants_to_send(const struct mcds__connection *connection)
{
    return connection->out_sent < connection->out.length;
}

/* What waiting has found. */
enum mcds__connection_ready {
    READY_NOT = 0,
    READY_TO_RECEIVE = 1, /* or to learn that it is broken */
    READY_TO_SEND = 2     /* or connected, or failed to */
};

/* One file descriptor that is readable when a watched connection can go on, for a loop that is
 * not ours; -1: the system has none left. */
int mcds__connection_watcher(void);
void mcds__connection_watcher_close(int watcher);
/* Watch an open connection for what it waits for, or, not `busy`, for nothing. False: the system
 * refuses. */
bool mcds__connection_watch(struct mcds__connection *connection, int watcher, bool busy);

#define MCDS__WAIT_MAX 256

/* Wait until one of `count` (at most MCDS__WAIT_MAX) open connections can go on, at most
 * `timeout_ns`. ready_out[i] is an or of mcds__connection_ready. */
void mcds__connection_wait(struct mcds__connection **connections, uint32_t count,
                           int64_t timeout_ns, uint8_t *ready_out);

#endif
