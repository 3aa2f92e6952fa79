/* The places under test by name. */
#include "support/place.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIRECTORY "/tmp/mcds-conformance-XXXXXX"

struct place {
    char uri[1024];
    char directory[sizeof DIRECTORY];
    const char *tail; /* of the URI, behind the name of the data */
    bool has_own_clock;
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

static const struct kind kinds[] = {
    {"memory", start_memory},
    {"memory-strict", start_memory_strict},
    {"lmdb", start_lmdb},
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

void place_stop(struct place *place)
{
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
