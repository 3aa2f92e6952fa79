/* Maps keys to servers by libmemcached's rules.
 *
 * Weighted: each server has points on a ring of 32-bit numbers, four from each MD5 of "HOST-J",
 * "HOST:PORT-J" or "PATH:0-J". A key belongs to the first point at or after its own hash. The
 * number of a server's points is computed in single precision with one rounding per step, as
 * libmemcached does: with 25 equal servers the result differs otherwise. */
#include "store/memcached/ketama.h"

#include <assert.h>
#include <math.h>
#include <md5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/little_endian.h"

#define PORT_USUAL 11211
#define POINTS_PER_SERVER 160.0f
#define POINTS_PER_HASH 4
#define POINTS_PLAIN 100
#define NAME_MAX_LENGTH 320

struct point {
    uint32_t value;
    uint32_t server;
};

struct mcds__ketama {
    enum mcds__ketama_rule rule;
    enum mcds__ketama_hash hash;
    uint32_t server_count;
    uint32_t count;
    struct point points[];
};

static void md5(const void *bytes, size_t length, uint8_t *sum)
{
    MD5_CTX context;
    MD5Init(&context);
    MD5Update(&context, bytes, length);
    MD5Final(sum, &context);
}

/* Jenkins's one-at-a-time hash over signed characters, as in libmemcached. */
static uint32_t one_at_a_time(const void *bytes, size_t length)
{
    const int8_t *at = bytes;
    uint32_t value = 0;
    for (size_t i = 0; i < length; i++) {
        int32_t byte = at[i];
        value += (uint32_t)byte;
        value += value << 10;
        value ^= value >> 6;
    }
    value += value << 3;
    value ^= value >> 11;
    return value + (value << 15);
}

static uint32_t hash_of(enum mcds__ketama_hash hash, const void *bytes, size_t length)
{
    uint8_t sum[MD5_DIGEST_LENGTH] = {0};
    if (hash == MCDS__HASH_ONE_AT_A_TIME)
        return one_at_a_time(bytes, length);
    md5(bytes, length, sum);
    return mcds__get_u32(sum);
}

uint32_t mcds__ketama_key_hash(const struct mcds__ketama *ketama, mcds_bytes key)
{
    return hash_of(ketama->hash, key.data, key.length);
}

static uint32_t weight_of(const struct mcds__ketama_server *server)
{
    return server->weight > 0 ? server->weight : 1;
}

/* How many groups of four points a server has. The volatile keeps each step in single precision
 * on every processor and compiler. */
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

/* Write the string that is hashed for a server's points. Returns the length. */
static size_t point_name(const struct mcds__ketama_server *server, uint32_t j, char *name)
{
    unsigned port = server->port == 0 && !server->is_unix ? PORT_USUAL : server->port;
    int length = port == PORT_USUAL && !server->is_unix
                     ? snprintf(name, NAME_MAX_LENGTH, "%s-%u", server->host, j)
                     : snprintf(name, NAME_MAX_LENGTH, "%s:%u-%u", server->host, port, j);
    assert(length > 0 && length < NAME_MAX_LENGTH);
    return (size_t)length;
}

static void add_weighted_points(struct mcds__ketama *ketama,
                                const struct mcds__ketama_server *server, uint32_t index,
                                uint32_t groups)
{
    for (uint32_t j = 0; j < groups; j++) {
        char name[NAME_MAX_LENGTH];
        uint8_t sum[MD5_DIGEST_LENGTH] = {0};
        md5(name, point_name(server, j, name), sum);
        for (int i = 0; i < POINTS_PER_HASH; i++)
            ketama->points[ketama->count++] = (struct point){mcds__get_u32(sum + 4 * i), index};
    }
}

static void add_plain_points(struct mcds__ketama *ketama,
                             const struct mcds__ketama_server *server, uint32_t index)
{
    for (uint32_t j = 0; j < POINTS_PLAIN; j++) {
        char name[NAME_MAX_LENGTH];
        size_t length = point_name(server, j, name);
        ketama->points[ketama->count++] = (struct point){hash_of(ketama->hash, name, length),
                                                         index};
    }
}

/* Whether the points follow the weights: by the rule, or because weights were given. */
static bool is_weighted(enum mcds__ketama_rule rule, const struct mcds__ketama_server *servers,
                        uint32_t count)
{
    bool weighted = rule == MCDS__KETAMA_WEIGHTED;
    for (uint32_t i = 0; i < count; i++)
        weighted = weighted || (rule == MCDS__KETAMA_PLAIN && servers[i].weight > 1);
    return weighted;
}

static void add_points(struct mcds__ketama *ketama, const struct mcds__ketama_server *servers,
                       bool weighted, uint32_t weight_sum)
{
    uint32_t count = ketama->server_count;
    for (uint32_t i = 0; i < count; i++) {
        if (weighted)
            add_weighted_points(ketama, &servers[i], i,
                                group_count(weight_of(&servers[i]), weight_sum, count));
        else
            add_plain_points(ketama, &servers[i], i);
    }
    qsort(ketama->points, ketama->count, sizeof ketama->points[0], compare_points);
}

struct mcds__ketama *mcds__ketama_open(const mcds_env *env, enum mcds__ketama_rule rule,
                                       enum mcds__ketama_hash hash,
                                       const struct mcds__ketama_server *servers,
                                       uint32_t count)
{
    bool has_ring = rule != MCDS__KETAMA_MODULA && count > 1;
    bool weighted = is_weighted(rule, servers, count);
    uint32_t weight_sum = 0;
    size_t capacity = 0;
    for (uint32_t i = 0; i < count; i++)
        weight_sum += weight_of(&servers[i]);
    for (uint32_t i = 0; i < count && has_ring; i++)
        capacity += weighted ? group_count(weight_of(&servers[i]), weight_sum, count) *
                                   POINTS_PER_HASH
                             : POINTS_PLAIN;
    struct mcds__ketama *ketama = mcds__allocate(env, sizeof *ketama +
                                                          capacity * sizeof ketama->points[0]);
    if (ketama == NULL)
        return NULL;
    ketama->rule = rule;
    ketama->hash = rule == MCDS__KETAMA_WEIGHTED ? MCDS__HASH_MD5 : hash;
    ketama->server_count = count;
    ketama->count = 0;
    if (has_ring)
        add_points(ketama, servers, weighted, weight_sum);
    assert(ketama->count == capacity);
    return ketama;
}

void mcds__ketama_close(const mcds_env *env, struct mcds__ketama *ketama)
{
    mcds__free(env, ketama);
}

uint32_t mcds__ketama_find(const struct mcds__ketama *ketama, mcds_bytes key)
{
    if (ketama->server_count == 1)
        return 0;
    uint32_t value = mcds__ketama_key_hash(ketama, key);
    if (ketama->rule == MCDS__KETAMA_MODULA || ketama->count == 0)
        return value % ketama->server_count;
    uint32_t low = 0;
    uint32_t high = ketama->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ketama->points[middle].value < value)
            low = middle + 1;
        else
            high = middle;
    }
    assert(low == high && low <= ketama->count);
    return ketama->points[low < ketama->count ? low : 0].server;
}

uint32_t mcds__ketama_point_count(const struct mcds__ketama *ketama)
{
    return ketama->count;
}

void mcds__ketama_point(const struct mcds__ketama *ketama, uint32_t i, uint32_t *point_out,
                        uint32_t *server_out)
{
    assert(i < ketama->count);
    *point_out = ketama->points[i].value;
    *server_out = ketama->points[i].server;
}
