/* The stores under test by name. */
#include "support/fixture.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mcds.h"
#include "support/certificates.h"
#include "support/server.h"

#define SERVERS_MAX 3
#define FOLDER_MAX 64
/* A path of a socket ends after 107 bytes. */
#define TMPDIR_MAX 32

struct fixture {
    char uri[1024];
    char directory[FOLDER_MAX];
    const char *tail; /* of the URI, after the name of the data */
    bool has_own_clock;
    struct server servers[SERVERS_MAX];
    struct server proxy;
    struct certificates certificates;
};

struct kind {
    const char *name;
    bool (*start)(struct fixture *fixture, const char **missing);
};

static bool start_memory(struct fixture *fixture, const char **missing)
{
    (void)missing;
    (void)snprintf(fixture->uri, sizeof fixture->uri, "memory:");
    fixture->tail = "";
    return true;
}

static bool start_memory_strict(struct fixture *fixture, const char **missing)
{
    (void)missing;
    (void)snprintf(fixture->uri, sizeof fixture->uri, "memory:?strict=1");
    fixture->tail = "?strict=1";
    return true;
}

static bool start_lmdb(struct fixture *fixture, const char **missing)
{
    (void)missing;
    (void)snprintf(fixture->uri, sizeof fixture->uri, "lmdb:%s/store", fixture->directory);
    fixture->tail = "";
    return true;
}

/* Servers on free ports, or one at a unix socket; their URI, with `tail` at its end. */
static bool start_servers(struct fixture *fixture, const char **missing, size_t count,
                          bool local, const char *tail)
{
    if (!server_is_installed("memcached")) {
        *missing = "memcached is not installed";
        return false;
    }
    fixture->has_own_clock = true;
    for (size_t i = 0; i < count; i++) {
        struct server *server = &fixture->servers[i];
        char uri[sizeof "memcached://" + sizeof server->path];
        if (local)
            (void)snprintf(server->path, sizeof server->path, "%s/socket", fixture->directory);
        if (!server_start_memcached(server))
            return false;
        server_uri(server, uri, sizeof uri);
        size_t used = strlen(fixture->uri);
        (void)snprintf(fixture->uri + used, sizeof fixture->uri - used, "%s%s%s",
                       i == 0 ? "" : ",", i == 0 ? uri : strstr(uri, "//") + 2,
                       i + 1 == count ? tail : "");
    }
    mcds_store *store;
    int result = mcds_open(fixture->uri, NULL, &store);
    if (result == MCDS_OK)
        mcds_close(store);
    else
        *missing = "the library was built without memcached://";
    return result == MCDS_OK;
}

/* A machine under load may keep a server from answering for a while. */
#define PATIENT "connect_timeout=10000"

static bool start_memcached(struct fixture *fixture, const char **missing)
{
    return start_servers(fixture, missing, 1, false, "?" PATIENT);
}

static bool start_memcached_classic(struct fixture *fixture, const char **missing)
{
    return start_servers(fixture, missing, 1, false, "?protocol=classic&" PATIENT);
}

/* For tests that compare every byte: in the default the server itself may hold an item for a moment,
 * and a shorter number is then stored without its padding. */
static char *const quiet[] = {"-o", "no_lru_maintainer,no_lru_crawler,slab_automove=0", NULL};

static bool start_memcached_quiet(struct fixture *fixture, const char **missing)
{
    fixture->servers[0].options = quiet;
    return start_servers(fixture, missing, 1, false, "?" PATIENT);
}

static bool start_memcached_classic_quiet(struct fixture *fixture, const char **missing)
{
    fixture->servers[0].options = quiet;
    return start_servers(fixture, missing, 1, false, "?protocol=classic&" PATIENT);
}

static bool start_memcached_unix(struct fixture *fixture, const char **missing)
{
    return start_servers(fixture, missing, 1, true, "?connections=2&" PATIENT);
}

static bool start_memcached_three(struct fixture *fixture, const char **missing)
{
    return start_servers(fixture, missing, 3, false, "?" PATIENT);
}

/* Another version beside the installed one. */
static bool start_memcached_next(struct fixture *fixture, const char **missing)
{
    fixture->servers[0].program = getenv("MCDS_MEMCACHED_NEXT");
    if (fixture->servers[0].program == NULL) {
        *missing = "MCDS_MEMCACHED_NEXT names no second memcached";
        return false;
    }
    return start_servers(fixture, missing, 1, false, "?" PATIENT);
}

static bool start_memcached_tls(struct fixture *fixture, const char **missing)
{
    char tail[256];
    if (!certificates_make(&fixture->certificates, fixture->directory, missing))
        return false;
    fixture->servers[0].options = fixture->certificates.options;
    (void)snprintf(tail, sizeof tail, "?tls=1&ca=%s&" PATIENT, fixture->certificates.ca);
    return start_servers(fixture, missing, 1, false, tail);
}

static bool start_nutcracker(struct fixture *fixture, const char **missing)
{
    if (!server_is_installed("nutcracker")) {
        *missing = "nutcracker is not installed";
        return false;
    }
    if (!start_servers(fixture, missing, SERVERS_MAX, false, ""))
        return false;
    if (!server_start_nutcracker(&fixture->proxy, fixture->servers, SERVERS_MAX))
        return false;
    server_uri(&fixture->proxy, fixture->uri, sizeof fixture->uri);
    size_t used = strlen(fixture->uri);
    (void)snprintf(fixture->uri + used, sizeof fixture->uri - used,
                   "?protocol=classic&" PATIENT);
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
    {"memcached-next", start_memcached_next},
    {"memcached-tls", start_memcached_tls},
    {"nutcracker", start_nutcracker},
    {"memcached-quiet", start_memcached_quiet},
    {"memcached-classic-quiet", start_memcached_classic_quiet},
};

static bool begin(struct fixture *fixture, const char *name, const char **missing)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].start(fixture, missing);
    return false;
}

/* In $TMPDIR, which tools/test sets to a disk in memory, so that no commit waits for a disk. */
static bool make_fixture_folder(char *out)
{
    const char *above = getenv("TMPDIR");
    if (above == NULL || above[0] != '/' || strlen(above) > TMPDIR_MAX)
        above = "/tmp";
    return snprintf(out, FOLDER_MAX, "%s/mcds-conformance-XXXXXX", above) < FOLDER_MAX &&
           mkdtemp(out) != NULL;
}

struct fixture *fixture_start(const char *name, const char **missing)
{
    *missing = NULL;
    struct fixture *fixture = calloc(1, sizeof *fixture);
    if (fixture == NULL)
        return NULL;
    if (!make_fixture_folder(fixture->directory)) {
        free(fixture);
        return NULL;
    }
    if (begin(fixture, name, missing))
        return fixture;
    fixture_stop(fixture);
    return NULL;
}

static void erase_files(const struct fixture *fixture)
{
    DIR *directory = opendir(fixture->directory);
    if (directory == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlinkat(dirfd(directory), entry->d_name, 0);
    (void)closedir(directory);
}

struct fixture *fixture_or_exit(int argc, char **argv)
{
    const char *missing = NULL;
    struct fixture *fixture = argc == 2 ? fixture_start(argv[1], &missing) : NULL;
    if (fixture == NULL && missing != NULL) {
        (void)printf("skipped: %s\n", missing);
        exit(77);
    }
    if (fixture == NULL) {
        (void)fprintf(stderr, "usage: %s STORE, one of:%s\n", argv[0], fixture_names());
        exit(64);
    }
    return fixture;
}

void fixture_stop(struct fixture *fixture)
{
    server_stop(&fixture->proxy);
    for (size_t i = 0; i < SERVERS_MAX; i++)
        server_stop(&fixture->servers[i]);
    erase_files(fixture);
    (void)rmdir(fixture->directory);
    free(fixture);
}

const char *fixture_uri(const struct fixture *fixture)
{
    return fixture->uri;
}

void fixture_uri_of(const struct fixture *fixture, const char *word, char *out, size_t capacity)
{
    if (fixture->has_own_clock)
        (void)snprintf(out, capacity, "%s", fixture->uri);
    else if (strncmp(fixture->uri, "lmdb:", 5) == 0)
        (void)snprintf(out, capacity, "lmdb:%s/%s%s", fixture->directory, word, fixture->tail);
    else
        (void)snprintf(out, capacity, "memory:%s%s", word, fixture->tail);
}

bool fixture_has_own_clock(const struct fixture *fixture)
{
    return fixture->has_own_clock;
}

const char *fixture_names(void)
{
    static char names[512];
    names[0] = '\0';
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        (void)snprintf(names + strlen(names), sizeof names - strlen(names), " %s",
                       kinds[i].name);
    return names;
}
