/* Where a key lives: libmemcached's KETAMA_WEIGHTED.
 *
 * Each server has points on a ring of 32-bit numbers, four from each MD5 of "HOST-J",
 * "HOST:PORT-J" or "PATH:0-J"; a key belongs to the first point at or behind its own hash. How
 * many points a server gets is computed in single precision, one rounding per step, because
 * libmemcached does, and with 25 equal servers it shows. */
#include "store/ketama.h"

#include <math.h>
#include <md5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"

#define PORT_USUAL 11211
#define POINTS_PER_SERVER 160.0f
#define POINTS_PER_HASH 4
#define NAME_MAX_LENGTH 320

struct point {
    uint32_t value;
    uint32_t server;
};

struct mcds__ketama {
    uint32_t server_count;
    uint32_t count;
    struct point points[];
};

/* Word `i` (0 to 3) of an MD5, little-endian. */
static uint32_t word_of(const uint8_t *sum, int i)
{
    const uint8_t *at = sum + 4 * i;
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static void hash(const void *bytes, size_t length, uint8_t *sum)
{
    MD5_CTX context;
    MD5Init(&context);
    MD5Update(&context, bytes, length);
    MD5Final(sum, &context);
}

uint32_t mcds__ketama_hash(mcds_bytes key)
{
    uint8_t sum[MD5_DIGEST_LENGTH];
    hash(key.at, key.length, sum);
    return word_of(sum, 0);
}

static uint32_t weight_of(const struct mcds__ketama_server *server)
{
    return server->weight > 0 ? server->weight : 1;
}

/* How many groups of four points a server gets. The volatile keeps each step in single
 * precision, whatever the processor and the compiler would rather do. */
static uint32_t group_count(uint32_t weight, uint32_t weight_sum, uint32_t server_count)
{
    volatile float share = (float)weight / (float)weight_sum;
    volatile float points = share * POINTS_PER_SERVER;
    points = points / (float)POINTS_PER_HASH;
    points = points * (float)server_count;
    points = points + 1e-10f;
    return (uint32_t)floorf(points);
}

static int compare_points(const void *a, const void *b)
{
    const struct point *one = a;
    const struct point *two = b;
    if (one->value != two->value)
        return one->value < two->value ? -1 : 1;
    return one->server < two->server ? -1 : one->server > two->server;
}

static void add_points(struct mcds__ketama *ketama, const struct mcds__ketama_server *server,
                       uint32_t index, uint32_t groups)
{
    for (uint32_t j = 0; j < groups; j++) {
        char name[NAME_MAX_LENGTH];
        uint8_t sum[MD5_DIGEST_LENGTH];
        unsigned port = server->port == 0 && !server->is_unix ? PORT_USUAL : server->port;
        int length = port == PORT_USUAL && !server->is_unix
                         ? snprintf(name, sizeof name, "%s-%u", server->host, j)
                         : snprintf(name, sizeof name, "%s:%u-%u", server->host, port, j);
        hash(name, (size_t)length, sum);
        for (int i = 0; i < POINTS_PER_HASH; i++)
            ketama->points[ketama->count++] = (struct point){word_of(sum, i), index};
    }
}

struct mcds__ketama *mcds__ketama_open(const mcds_env *env,
                                       const struct mcds__ketama_server *servers,
                                       uint32_t count)
{
    uint32_t weight_sum = 0;
    size_t room = 0;
    for (uint32_t i = 0; i < count; i++)
        weight_sum += weight_of(&servers[i]);
    for (uint32_t i = 0; i < count; i++)
        room += (size_t)group_count(weight_of(&servers[i]), weight_sum, count) *
                POINTS_PER_HASH;
    struct mcds__ketama *ketama = mcds__allocate(env, sizeof *ketama +
                                                          room * sizeof ketama->points[0]);
    if (ketama == NULL)
        return NULL;
    ketama->server_count = count;
    ketama->count = 0;
    for (uint32_t i = 0; i < count; i++)
        add_points(ketama, &servers[i], i,
                   group_count(weight_of(&servers[i]), weight_sum, count));
    qsort(ketama->points, ketama->count, sizeof ketama->points[0], compare_points);
    return ketama;
}

void mcds__ketama_close(const mcds_env *env, struct mcds__ketama *ketama)
{
    mcds__free(env, ketama);
}

uint32_t mcds__ketama_find(const struct mcds__ketama *ketama, mcds_bytes key)
{
    if (ketama->server_count == 1 || ketama->count == 0)
        return 0;
    uint32_t value = mcds__ketama_hash(key);
    uint32_t low = 0;
    uint32_t high = ketama->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ketama->points[middle].value < value)
            low = middle + 1;
        else
            high = middle;
    }
    return ketama->points[low < ketama->count ? low : 0].server;
}

uint32_t mcds__ketama_point_count(const struct mcds__ketama *ketama)
{
    return ketama->count;
}

void mcds__ketama_point(const struct mcds__ketama *ketama, uint32_t i, uint32_t *point_out,
                        uint32_t *server_out)
{
    *point_out = ketama->points[i].value;
    *server_out = ketama->points[i].server;
}
