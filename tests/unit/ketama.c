/* Placement: the keys live where libmemcached's KETAMA_WEIGHTED puts them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/memcached/ketama.h"

#define SERVERS_MAX 32
#define LINE_MAX_BYTES 4096

static mcds_bytes text(const char *string)
{
    return (mcds_bytes){string, strlen(string)};
}

static struct mcds__ketama *three_equal(void)
{
    static const struct mcds__ketama_server servers[] = {
        {"127.0.0.1", 11211, 1, false},
        {"127.0.0.1", 11212, 1, false},
        {"127.0.0.1", 11213, 1, false},
    };
    return mcds__ketama_open(mcds_env_system(), MCDS__KETAMA_WEIGHTED, MCDS__HASH_MD5, servers,
                             3);
}

static void the_hash_is_libmemcacheds(void **state)
{
    (void)state;
    struct mcds__ketama *ketama = three_equal();
    assert_int_equal(mcds__ketama_key_hash(ketama, text("key0")), 4060279841u);
    assert_int_equal(mcds__ketama_key_hash(ketama, text("key1")), 2497097154u);
    mcds__ketama_close(mcds_env_system(), ketama);
}

static void three_equal_servers_stand_where_they_should(void **state)
{
    (void)state;
    struct mcds__ketama *ketama = three_equal();
    uint32_t point;
    uint32_t server;
    assert_non_null(ketama);
    assert_int_equal(mcds__ketama_point_count(ketama), 480);
    mcds__ketama_point(ketama, 0, &point, &server);
    assert_int_equal(point, 15946801);
    assert_int_equal(server, 1);
    mcds__ketama_point(ketama, 1, &point, &server);
    assert_int_equal(point, 16590639);
    assert_int_equal(server, 0);
    assert_int_equal(mcds__ketama_find(ketama, text("key0")), 2);
    assert_int_equal(mcds__ketama_find(ketama, text("key1")), 1);
    assert_int_equal(mcds__ketama_find(ketama, text("key2")), 2);
    mcds__ketama_close(mcds_env_system(), ketama);
}

/* A process with one server would build the ring only to find that server. */
static void one_server_needs_no_ring(void **state)
{
    (void)state;
    static const struct mcds__ketama_server server = {"127.0.0.1", 11211, 1, false};
    static const enum mcds__ketama_rule rules[] = {MCDS__KETAMA_WEIGHTED, MCDS__KETAMA_PLAIN,
                                                   MCDS__KETAMA_MODULA};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        struct mcds__ketama *ketama = mcds__ketama_open(mcds_env_system(), rules[i],
                                                        MCDS__HASH_MD5, &server, 1);
        assert_non_null(ketama);
        assert_int_equal(mcds__ketama_point_count(ketama), 0);
        assert_int_equal(mcds__ketama_find(ketama, text("key0")), 0);
        mcds__ketama_close(mcds_env_system(), ketama);
    }
}

/* In double precision each of these would have 160 points. */
static void twenty_five_equal_servers_have_156_points_each(void **state)
{
    (void)state;
    struct mcds__ketama_server servers[25];
    char hosts[25][16];
    for (unsigned i = 0; i < 25; i++) {
        (void)snprintf(hosts[i], sizeof hosts[i], "10.2.0.%u", i + 1);
        servers[i] = (struct mcds__ketama_server){hosts[i], 11211, 1, false};
    }
    struct mcds__ketama *ketama = mcds__ketama_open(mcds_env_system(), MCDS__KETAMA_WEIGHTED,
                                                    MCDS__HASH_MD5, servers, 25);
    assert_non_null(ketama);
    assert_int_equal(mcds__ketama_point_count(ketama), 25 * 156);
    mcds__ketama_close(mcds_env_system(), ketama);
}

/* Read "0=HOST:PORT(wN) 1=..." off the first line of a vector file. Returns how many. */
static uint32_t parse_servers(char *line, struct mcds__ketama_server *servers)
{
    uint32_t count = 0;
    char *saved;
    for (char *word = strtok_r(line, " ", &saved); word != NULL;
         word = strtok_r(NULL, " ", &saved)) {
        char *equals = strchr(word, '=');
        char *weight = strstr(word, "(w");
        if (equals == NULL || weight == NULL || (unsigned)(word[0] - '0') > 9)
            continue;
        *weight = '\0';
        struct mcds__ketama_server server = {
            equals + 1, 0, (uint32_t)strtoul(weight + 2, NULL, 10), equals[1] == '/'};
        char *colon = strrchr(equals + 1, ':');
        if (!server.is_unix && colon != NULL) {
            *colon = '\0';
            server.port = (uint16_t)strtoul(colon + 1, NULL, 10);
        }
        assert_true(count < SERVERS_MAX);
        servers[count++] = server;
    }
    return count;
}

struct vectors {
    const char *name;
    enum mcds__ketama_rule rule;
    enum mcds__ketama_hash hash;
};

static void check_file(const struct vectors *vectors)
{
    char path[512];
    static char line[LINE_MAX_BYTES];
    static char first[LINE_MAX_BYTES];
    struct mcds__ketama_server servers[SERVERS_MAX];
    (void)snprintf(path, sizeof path, "%s/ketama/%s.tsv", MCDS_TESTS_DIR, vectors->name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(first, sizeof first, file));
    uint32_t count = parse_servers(first, servers);
    struct mcds__ketama *ketama = mcds__ketama_open(mcds_env_system(), vectors->rule,
                                                    vectors->hash, servers, count);
    assert_non_null(ketama);
    uint32_t keys = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        char key[128];
        unsigned hash;
        unsigned server;
        assert_int_equal(sscanf(line, "%127s %u %u", key, &hash, &server), 3);
        assert_int_equal(mcds__ketama_key_hash(ketama, text(key)), hash);
        assert_int_equal(mcds__ketama_find(ketama, text(key)), server);
        keys++;
    }
    assert_true(keys >= 200);
    (void)fclose(file);
    mcds__ketama_close(mcds_env_system(), ketama);
}

static void check_vectors(void **state)
{
    check_file(*state);
}

#define WEIGHTED(name)                                                                         \
    {                                                                                          \
        name, MCDS__KETAMA_WEIGHTED, MCDS__HASH_MD5                                            \
    }

static struct vectors all_vectors[] = {
    WEIGHTED("weighted_equal3"),
    WEIGHTED("weighted_w1234"),
    WEIGHTED("weighted_ports3"),
    WEIGHTED("weighted_unix3"),
    WEIGHTED("weighted_mixed4"),
    WEIGHTED("weighted_equal7"),
    WEIGHTED("weighted_w5large"),
    WEIGHTED("weighted_weight0_port0"),
    WEIGHTED("weighted_equal25"),
    WEIGHTED("weighted_sum25"),
    {"ketama_equal3", MCDS__KETAMA_PLAIN, MCDS__HASH_ONE_AT_A_TIME},
    {"ketama_w1234", MCDS__KETAMA_PLAIN, MCDS__HASH_ONE_AT_A_TIME},
    {"consistent_md5_equal3", MCDS__KETAMA_PLAIN, MCDS__HASH_MD5},
    {"modula_md5_equal3", MCDS__KETAMA_MODULA, MCDS__HASH_MD5},
};

#define VECTORS(i)                                                                             \
    {                                                                                          \
        "the_keys_lie_where_libmemcached_puts_them", check_vectors, NULL, NULL,                \
            &all_vectors[i]                                                                    \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_is_libmemcacheds),
        cmocka_unit_test(three_equal_servers_stand_where_they_should),
        cmocka_unit_test(one_server_needs_no_ring),
        cmocka_unit_test(twenty_five_equal_servers_have_156_points_each),
        VECTORS(0),
        VECTORS(1),
        VECTORS(2),
        VECTORS(3),
        VECTORS(4),
        VECTORS(5),
        VECTORS(6),
        VECTORS(7),
        VECTORS(8),
        VECTORS(9),
        VECTORS(10),
        VECTORS(11),
        VECTORS(12),
        VECTORS(13),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
