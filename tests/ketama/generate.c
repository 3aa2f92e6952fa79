/* Writes the vectors beside it, by asking libmemcached where keys live. Not part of the build:
 *
 *   cc -o /tmp/generate tests/ketama/generate.c -lmemcached && /tmp/generate tests/ketama
 *
 * First line: the rule and the servers, INDEX=ADDRESS(wWEIGHT). Then KEY, hash of the key, server. */
#include <libmemcached/memcached.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS 200
#define KEYS_MANY 1000

enum rule { WEIGHTED, KETAMA, CONSISTENT_MD5, MODULA_MD5 };

static const struct {
    const char *name;
    enum rule rule;
    const char *servers; /* HOST:PORT*WEIGHT or /PATH*WEIGHT, by blanks */
} lists[] = {
    {"weighted_equal3", WEIGHTED, "127.0.0.1:11211*1 127.0.0.1:11212*1 127.0.0.1:11213*1"},
    {"weighted_w1234", WEIGHTED,
     "10.0.1.1:11211*1 10.0.1.2:11211*2 10.0.1.3:11211*3 10.0.1.4:11211*4"},
    {"weighted_ports3", WEIGHTED,
     "cache-a.example:22122*1 cache-b.example:22123*1 192.168.7.9:30000*1"},
    {"weighted_unix3", WEIGHTED, "/tmp/mc-a.sock*1 /tmp/mc-b.sock*1 /tmp/mc-c.sock*2"},
    {"weighted_mixed4", WEIGHTED,
     "10.0.1.1:11211*1 10.0.1.1:11212*3 /tmp/mc-a.sock*1 localhost:11211*7"},
    {"weighted_equal7", WEIGHTED,
     "10.1.0.1:11211*1 10.1.0.2:11211*1 10.1.0.3:11211*1 10.1.0.4:11211*1 10.1.0.5:11211*1 "
     "10.1.0.6:11211*1 10.1.0.7:11211*1"},
    {"weighted_w5large", WEIGHTED,
     "n1:11211*600 n2:11211*300 n3:11211*200 n4:11211*350 n5:11211*1000"},
    {"weighted_weight0_port0", WEIGHTED, "10.0.1.1:11211*0 10.0.1.2:0*1"},
    /* In double precision these two have other rings. */
    {"weighted_equal25", WEIGHTED,
     "10.2.0.1:11211*1 10.2.0.2:11211*1 10.2.0.3:11211*1 10.2.0.4:11211*1 10.2.0.5:11211*1 "
     "10.2.0.6:11211*1 10.2.0.7:11211*1 10.2.0.8:11211*1 10.2.0.9:11211*1 10.2.0.10:11211*1 "
     "10.2.0.11:11211*1 10.2.0.12:11211*1 10.2.0.13:11211*1 10.2.0.14:11211*1 "
     "10.2.0.15:11211*1 10.2.0.16:11211*1 10.2.0.17:11211*1 10.2.0.18:11211*1 "
     "10.2.0.19:11211*1 10.2.0.20:11211*1 10.2.0.21:11211*1 10.2.0.22:11211*1 "
     "10.2.0.23:11211*1 10.2.0.24:11211*1 10.2.0.25:11211*1"},
    {"weighted_sum25", WEIGHTED,
     "10.3.0.1:11211*1 10.3.0.2:11211*2 10.3.0.3:11211*3 10.3.0.4:11211*9 10.3.0.5:11211*10"},
    {"ketama_equal3", KETAMA, "127.0.0.1:11211*1 127.0.0.1:11212*1 127.0.0.1:11213*1"},
    {"ketama_w1234", KETAMA,
     "10.0.1.1:11211*1 10.0.1.2:11211*2 10.0.1.3:11211*3 10.0.1.4:11211*4"},
    {"consistent_md5_equal3", CONSISTENT_MD5,
     "127.0.0.1:11211*1 127.0.0.1:11212*1 127.0.0.1:11213*1"},
    {"modula_md5_equal3", MODULA_MD5, "127.0.0.1:11211*1 127.0.0.1:11212*1 127.0.0.1:11213*1"},
};

static void set_rule(memcached_st *client, enum rule rule)
{
    if (rule == WEIGHTED)
        memcached_behavior_set(client, MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1);
    if (rule == KETAMA)
        memcached_behavior_set(client, MEMCACHED_BEHAVIOR_KETAMA, 1);
    if (rule == CONSISTENT_MD5)
        memcached_behavior_set(client, MEMCACHED_BEHAVIOR_DISTRIBUTION,
                               MEMCACHED_DISTRIBUTION_CONSISTENT);
    if (rule == CONSISTENT_MD5 || rule == MODULA_MD5)
        memcached_behavior_set(client, MEMCACHED_BEHAVIOR_HASH, MEMCACHED_HASH_MD5);
}

static void add_servers(memcached_st *client, const char *servers, FILE *file)
{
    char copy[2048];
    char *saved;
    int index = 0;
    (void)snprintf(copy, sizeof copy, "%s", servers);
    for (char *word = strtok_r(copy, " ", &saved); word != NULL;
         word = strtok_r(NULL, " ", &saved), index++) {
        char *star = strchr(word, '*');
        uint32_t weight = (uint32_t)atoi(star + 1);
        *star = '\0';
        (void)fprintf(file, " %d=%s(w%u)", index, word, weight);
        char *colon = strrchr(word, ':');
        if (word[0] == '/') {
            memcached_server_add_unix_socket_with_weight(client, word, weight);
        } else {
            *colon = '\0';
            memcached_server_add_with_weight(client, word, (in_port_t)atoi(colon + 1), weight);
        }
    }
    (void)fputc('\n', file);
}

static void write_list(const char *folder, size_t i)
{
    static const char *const rules[] = {"KETAMA_WEIGHTED", "KETAMA", "CONSISTENT and MD5",
                                        "MODULA and MD5"};
    static const char *const forms[] = {"key%u", "user:%u:name", "%u",
                                        "a/rather/long/key/%08u"};
    char path[512];
    enum rule rule = lists[i].rule;
    memcached_st *client = memcached_create(NULL);
    (void)snprintf(path, sizeof path, "%s/%s.tsv", folder, lists[i].name);
    FILE *file = fopen(path, "w");
    if (client == NULL || file == NULL)
        exit(1);
    (void)fprintf(file, "# libmemcached %s, %s:", memcached_lib_version(), rules[rule]);
    set_rule(client, rule);
    add_servers(client, lists[i].servers, file);
    memcached_hash_t hash = rule == KETAMA ? MEMCACHED_HASH_DEFAULT : MEMCACHED_HASH_MD5;
    for (unsigned k = 0; k < (i == 0 ? KEYS_MANY : KEYS); k++) {
        char key[64];
        int length = snprintf(key, sizeof key, forms[k % 4], k);
        (void)fprintf(file, "%s\t%u\t%u\n", key,
                      memcached_generate_hash_value(key, (size_t)length, hash),
                      memcached_generate_hash(client, key, (size_t)length));
    }
    (void)fclose(file);
    memcached_free(client);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 64;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        write_list(argv[1], i);
    return 0;
}
