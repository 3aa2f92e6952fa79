/* Maps keys to servers by libmemcached's KETAMA_WEIGHTED, which most clients call ketama, and
 * by libmemcached's older rules, for fleets that were set up with them. */
#ifndef MCDS_STORE_MEMCACHED_KETAMA_H
#define MCDS_STORE_MEMCACHED_KETAMA_H

#include "mcds/backend.h"

struct mcds__ketama;

struct mcds__ketama_server {
    const char *host; /* verbatim, never resolved; the path of a unix socket */
    uint16_t port;    /* 0 means 11211, except for unix sockets */
    uint32_t weight;  /* 0 means 1 */
    bool is_unix;
};

enum mcds__ketama_rule {
    MCDS__KETAMA_WEIGHTED, /* KETAMA_WEIGHTED: points by weight, MD5 */
    MCDS__KETAMA_PLAIN,    /* KETAMA: 100 points each; with weights, the weighted ring */
    MCDS__KETAMA_MODULA    /* MODULA: the key's hash modulo the number of servers */
};

/* The hash of keys, and of the points of the plain ring. The weighted rule always uses MD5. */
enum mcds__ketama_hash { MCDS__HASH_MD5, MCDS__HASH_ONE_AT_A_TIME };

/* Place `count` servers, at least one. NULL: no memory. */
struct mcds__ketama *mcds__ketama_open(const mcds_env *env, enum mcds__ketama_rule rule,
                                       enum mcds__ketama_hash hash,
                                       const struct mcds__ketama_server *servers,
                                       uint32_t count);
/* `ketama` may be NULL. */
void mcds__ketama_close(const mcds_env *env, struct mcds__ketama *ketama);

/* The index of the server to which a key belongs. */
uint32_t mcds__ketama_find(const struct mcds__ketama *ketama, mcds_bytes key);
/* The hash that determines it. */
uint32_t mcds__ketama_key_hash(const struct mcds__ketama *ketama, mcds_bytes key);

/* The ring, for tests: point `i` of mcds__ketama_point_count, which is 0 for a single server. */
uint32_t mcds__ketama_point_count(const struct mcds__ketama *ketama);
void mcds__ketama_point(const struct mcds__ketama *ketama, uint32_t i, uint32_t *point_out,
                        uint32_t *server_out);

#endif
