/* Stores that are full but for a little room: an lmdb map, a disk, a memcached that does not evict. */
#ifndef MCDS_TESTS_FIELD_NO_ROOM_WORLD_H
#define MCDS_TESTS_FIELD_NO_ROOM_WORLD_H

#include "mcds.h"
#include "support/server.h"

struct full_world {
    const char *kind; /* map, disk, memcached or classic */
    char folder[32];
    char uri[128];
    bool is_mounted;
    int ballast;
    struct server server;
    int socket;
    uint32_t filled[24]; /* items of each size */
    mcds_store *store;
    mcds_store *filler;
};

/* NULL, or why there can be no such world. */
const char *full_world_open(struct full_world *world, const char *kind);
/* Take all room but for about so many pages, or items of each size. */
void full_world_fill(struct full_world *world, uint32_t capacity);
/* Of a server: take all room for items of some thousand bytes and more. */
void full_world_fill_large(struct full_world *world);
/* Give back all that has been taken. */
void full_world_make_room(struct full_world *world);
void full_world_close(struct full_world *world);

#endif
