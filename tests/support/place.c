/* The places under test by name. */
#include "support/place.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mcds.h"
#include "support/server.h"

#define SERVERS_MAX 3
#define DIRECTORY "/tmp/mcds-conformance-XXXXXX"

struct place {
    char uri[1024];
    char directory[sizeof DIRECTORY];
    const char *tail; /* of the URI, behind the name of the data */
    bool has_own_clock;
    struct server servers[SERVERS_MAX];
    struct server proxy;
};

struct kind {
    const char *name;
    bool (*start)(struct place *place, const char **missing);
};

static bool start_memory(struct place *place, const char **missing)
{
    (void)missing;
    (void)snprintf(place->uri, sizeof place->uri, "memory:");
    place->tail = "";
    return true;
}

static bool start_memory_strict(struct place *place, const char **missing)
{
    (void)missing;
    (void)snprintf(place->uri, sizeof place->uri, "memory:?strict=1");
    place->tail = "?strict=1";
    return true;
}

static bool start_lmdb(struct place *place, const char **missing)
{
    (void)missing;
    (void)snprintf(place->uri, sizeof place->uri, "lmdb:%s/store", place->directory);
    place->tail = "";
    return true;
}

/* Servers on free ports, or one at a unix socket; their URI, and `tail` behind it. */
static bool start_servers(struct place *place, const char **missing, size_t count, bool local,
                          const char *tail)
{
    if (!server_is_installed("memcached")) {
        *missing = "memcached is not installed";
        return false;
    }
    place->has_own_clock = true;
    for (size_t i = 0; i < count; i++) {
        struct server *server = &place->servers[i];
        char uri[sizeof "memcached://" + sizeof server->path];
        if (local)
            (void)snprintf(server->path, sizeof server->path, "%s/socket", place->directory);
        if (!server_start_memcached(server))
            return false;
        server_uri(server, uri, sizeof uri);
        size_t used = strlen(place->uri);
        (void)snprintf(place->uri + used, sizeof place->uri - used, "%s%s%s", i == 0 ? "" : ",",
                       i == 0 ? uri : strstr(uri, "//") + 2, i + 1 == count ? tail : "");
    }
    mcds_store *store;
    int result = mcds_open(place->uri, NULL, &store);
    if (result == MCDS_OK)
        mcds_close(store);
    else
        *missing = "the library was built without memcached://";
    return result == MCDS_OK;
}

/* A machine under load may keep a server from answering for a while. */
#define PATIENT "connect_timeout=10000"

static bool start_memcached(struct place *place, const char **missing)
{
    return start_servers(place, missing, 1, false, "?" PATIENT);
}

static bool start_memcached_classic(struct place *place, const char **missing)
{
    return start_servers(place, missing, 1, false, "?protocol=classic&" PATIENT);
}

/* For who compares every byte: in the default the server itself may hold an item for a moment,
 * and a shorter number is then stored without its padding. */
static char *const quiet[] = {"-o", "no_lru_maintainer,no_lru_crawler,slab_automove=0", NULL};

static bool start_memcached_quiet(struct place *place, const char **missing)
{
    place->servers[0].options = quiet;
    return start_servers(place, missing, 1, false, "?" PATIENT);
}

static bool start_memcached_classic_quiet(struct place *place, const char **missing)
{
    place->servers[0].options = quiet;
    return start_servers(place, missing, 1, false, "?protocol=classic&" PATIENT);
}

static bool start_memcached_unix(struct place *place, const char **missing)
{
    return start_servers(place, missing, 1, true, "?connections=2&" PATIENT);
}

static bool start_memcached_three(struct place *place, const char **missing)
{
    return start_servers(place, missing, 3, false, "?" PATIENT);
}

static bool start_nutcracker(struct place *place, const char **missing)
{
    if (!server_is_installed("nutcracker")) {
        *missing = "nutcracker is not installed";
        return false;
    }
    if (!start_servers(place, missing, SERVERS_MAX, false, ""))
        return false;
    if (!server_start_nutcracker(&place->proxy, place->servers, SERVERS_MAX))
        return false;
    server_uri(&place->proxy, place->uri, sizeof place->uri);
    size_t used = strlen(place->uri);
    (void)snprintf(place->uri + used, sizeof place->uri - used, "?protocol=classic&" PATIENT);
    return true;
}

static const struct kind kinds[] = {
    {"memory", start_memory},
    {"memory-strict", start_memory_strict},
    {"lmdb", start_lmdb},
    {"memcached", start_memcached},
    {"memcached-classic", start_memcached_classic},
    {"memcached-unix", start_memcached_unix},
    {"memcached-three", start_memcached_three},
    {"nutcracker", start_nutcracker},
    {"memcached-quiet", start_memcached_quiet},
    {"memcached-classic-quiet", start_memcached_classic_quiet},
};

static bool begin(struct place *place, const char *name, const char **missing)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].start(place, missing);
    return false;
}

struct place *place_start(const char *name, const char **missing)
{
    *missing = NULL;
    struct place *place = calloc(1, sizeof *place);
    if (place == NULL)
        return NULL;
    (void)snprintf(place->directory, sizeof place->directory, DIRECTORY);
    if (mkdtemp(place->directory) == NULL) {
        free(place);
        return NULL;
    }
    if (begin(place, name, missing))
        return place;
    place_stop(place);
    return NULL;
}

static void erase_files(const struct place *place)
{
    DIR *directory = opendir(place->directory);
    if (directory == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlinkat(dirfd(directory), entry->d_name, 0);
    (void)closedir(directory);
}

struct place *place_or_exit(int argc, char **argv)
{
    const char *missing = NULL;
    struct place *place = argc == 2 ? place_start(argv[1], &missing) : NULL;
    if (place == NULL && missing != NULL) {
        (void)printf("skipped: %s\n", missing);
        exit(77);
    }
    if (place == NULL) {
        (void)fprintf(stderr, "usage: %s HOME, one of:%s\n", argv[0], place_names());
        exit(64);
    }
    return place;
}

void place_stop(struct place *place)
{
    server_stop(&place->proxy);
    for (size_t i = 0; i < SERVERS_MAX; i++)
        server_stop(&place->servers[i]);
    erase_files(place);
    (void)rmdir(place->directory);
    free(place);
}

const char *place_uri(const struct place *place)
{
    return place->uri;
}

void place_uri_of(const struct place *place, const char *word, char *out, size_t room)
{
    if (place->has_own_clock)
        (void)snprintf(out, room, "%s", place->uri);
    else if (strncmp(place->uri, "lmdb:", 5) == 0)
        (void)snprintf(out, room, "lmdb:%s/%s%s", place->directory, word, place->tail);
    else
        (void)snprintf(out, room, "memory:%s%s", word, place->tail);
}

bool place_has_own_clock(const struct place *place)
{
    return place->has_own_clock;
}

const char *place_names(void)
{
    static char names[512];
    names[0] = '\0';
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        (void)snprintf(names + strlen(names), sizeof names - strlen(names), " %s",
                       kinds[i].name);
    return names;
}
