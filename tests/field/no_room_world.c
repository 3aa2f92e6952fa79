/* Stores that are full but for a little room. */
#include "field/no_room_world.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "field/field.h"

#define TIMEOUT_MS 5000
#define PAGE 4096
/* On a page of its own in an lmdb file. */
#define FILLING 3000
#define FILLINGS_MAX 4000
#define BURST 500
#define SIZE_MIN 1
#define LARGE_MIN 3000
#define SIZE_MAX_TO_FILL 400000

static void check(bool fine, const char *what)
{
    if (fine)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, mcds_errmsg());
    exit(1);
}

static const char *start_server(struct full_world *world, bool is_classic)
{
    static char megabytes[] = "-m";
    static char memory[] = "2";
    static char keeps[] = "-M";
    static char factor[] = "-f";
    static char two[] = "2";
    static char option[] = "-o";
    static char quiet[] = "no_lru_maintainer,no_lru_crawler,slab_automove=0";
    static char *options[] = {megabytes, memory, keeps, factor, two, option, quiet, NULL};
    world->server.options = options;
    if (!server_start_memcached(&world->server))
        return "memcached is not installed";
    server_uri(&world->server, world->uri, sizeof world->uri);
    if (is_classic)
        (void)strcat(world->uri, "?protocol=classic");
    world->socket = server_connect(&world->server);
    check(world->socket >= 0, "connect");
    return NULL;
}

const char *full_world_open(struct full_world *world, const char *kind)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    world->kind = kind;
    world->ballast = world->socket = -1;
    (void)snprintf(world->folder, sizeof world->folder, "/tmp/mcds-full-XXXXXX");
    check(mkdtemp(world->folder) != NULL, "a folder in /tmp");
    bool is_classic = strcmp(kind, "classic") == 0;
    if (strcmp(kind, "memcached") == 0 || is_classic) {
        const char *missing = start_server(world, is_classic);
        if (missing != NULL)
            return missing;
    } else if (strcmp(kind, "disk") == 0) {
        if (mount("mcds-test", world->folder, "tmpfs", 0, "size=4m") != 0)
            return "no small disk can be mounted here";
        world->is_mounted = true;
        (void)snprintf(world->uri, sizeof world->uri, "lmdb:%s/store?sync=async",
                       world->folder);
    } else {
        (void)snprintf(world->uri, sizeof world->uri,
                       "lmdb:%s/store?sync=async&map_max=2000000", world->folder);
    }
    options.timeout_ms = TIMEOUT_MS;
    check(mcds_open(world->uri, &options, &world->store) == MCDS_OK, "open");
    options.ns = "filling";
    check(mcds_open(world->uri, &options, &world->filler) == MCDS_OK, "open");
    return NULL;
}

static void fill_disk(struct full_world *world, uint32_t capacity)
{
    char path[64];
    struct statvfs disk;
    (void)snprintf(path, sizeof path, "%s/ballast", world->folder);
    world->ballast = open(path, O_CREAT | O_WRONLY, 0600);
    check(world->ballast >= 0 && fstatvfs(world->ballast, &disk) == 0, "ballast");
    off_t length = (off_t)disk.f_bavail - (off_t)capacity;
    if (length > 0)
        check(posix_fallocate(world->ballast, 0, length * PAGE) == 0, "ballast");
}

static int fill_one(struct full_world *world, const char *noun, uint32_t number, size_t length,
                    bool drops)
{
    static const char filling[FILLING];
    char name[32];
    mcds_array *array = NULL;
    mcds_bytes element = {filling, length};
    (void)snprintf(name, sizeof name, "%s %u", noun, (unsigned)number);
    check(mcds_array_open(world->filler, name, NULL, &array) == MCDS_OK, name);
    int result = drops ? mcds_array_drop(array) : mcds_array_set(array, &element, 1);
    mcds_array_close(array);
    return result;
}

static uint32_t fill_with(struct full_world *world, const char *noun, size_t length)
{
    uint32_t number = 0;
    int result = MCDS_OK;
    while (number < FILLINGS_MAX &&
           (result = fill_one(world, noun, number, length, false)) == MCDS_OK)
        number++;
    check(result == MCDS_FULL, "fill");
    return number;
}

static void fill_map(struct full_world *world, uint32_t capacity)
{
    world->filled[0] = fill_with(world, "page", FILLING);
    world->filled[1] = fill_with(world, "small", 100);
    for (uint32_t i = 0; i < capacity && world->filled[0] > 0; i++)
        check(fill_one(world, "page", --world->filled[0], 0, true) == MCDS_OK, "drop");
}

static void empty_map(struct full_world *world)
{
    while (world->filled[0] > 0)
        check(fill_one(world, "page", --world->filled[0], 0, true) == MCDS_OK, "drop");
    while (world->filled[1] > 0)
        check(fill_one(world, "small", --world->filled[1], 0, true) == MCDS_OK, "drop");
}

/* How many of so many answers are this one. */
static uint32_t take_answers(int socket, uint32_t answers, const char *sought)
{
    char line[64];
    size_t length = 0;
    uint32_t count = 0;
    while (answers > 0) {
        char heard[4096];
        ssize_t got = recv(socket, heard, sizeof heard, 0);
        check(got > 0, "recv");
        for (ssize_t i = 0; i < got; i++) {
            if (heard[i] != '\n' && length < sizeof line - 1) {
                line[length++] = heard[i];
                continue;
            }
            line[length] = '\0';
            count += strncmp(line, sought, strlen(sought)) == 0;
            length = 0;
            answers--;
        }
    }
    return count;
}

/* Items of one size until the server refuses one; returns how many were tried. */
static uint32_t fill_items(int socket, uint32_t size, size_t length)
{
    static char filling[SIZE_MAX_TO_FILL + 2];
    uint32_t burst = length < 2000 ? BURST : 2;
    uint32_t number = 0;
    uint32_t stored = burst;
    memset(filling, 'f', length);
    memcpy(filling + length, "\r\n", 2);
    while (stored == burst) {
        for (uint32_t i = 0; i < burst; i++, number++) {
            char line[64];
            int head = snprintf(line, sizeof line, "set fill:%u:%u 0 0 %zu\r\n", (unsigned)size,
                                (unsigned)number, length);
            field_send_all(socket, line, (size_t)head);
            field_send_all(socket, filling, length + 2);
        }
        stored = take_answers(socket, burst, "STORED");
    }
    return number;
}

static void erase_items(int socket, uint32_t size, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i += BURST) {
        uint32_t burst = to - i < BURST ? to - i : BURST;
        for (uint32_t j = 0; j < burst; j++) {
            char line[64];
            int length = snprintf(line, sizeof line, "delete fill:%u:%u\r\n", (unsigned)size,
                                  (unsigned)(i + j));
            field_send_all(socket, line, (size_t)length);
        }
        (void)take_answers(socket, burst, "DELETED");
    }
}

static void fill_sizes(struct full_world *world, size_t least)
{
    size_t length = SIZE_MIN;
    for (uint32_t size = 0; size < 24; size++) {
        world->filled[size] = length >= least && length <= SIZE_MAX_TO_FILL
                                  ? fill_items(world->socket, size, length)
                                  : world->filled[size];
        length += length + 10;
    }
}

void full_world_fill_large(struct full_world *world)
{
    assert(world->socket >= 0);
    fill_sizes(world, LARGE_MIN);
}

static void fill_server(struct full_world *world, uint32_t capacity)
{
    fill_sizes(world, SIZE_MIN);
    for (uint32_t size = 0; size < 24; size++) {
        uint32_t half = world->filled[size] / 2; /* the rest is room for later */
        erase_items(world->socket, size, 0, capacity < half ? capacity : half);
    }
}

static void empty_server(struct full_world *world)
{
    for (uint32_t size = 0; size < 24; size++)
        erase_items(world->socket, size, 0, world->filled[size]);
}

void full_world_fill(struct full_world *world, uint32_t capacity)
{
    if (world->socket >= 0)
        fill_server(world, capacity);
    else if (world->is_mounted)
        fill_disk(world, capacity);
    else
        fill_map(world, capacity);
}

void full_world_make_room(struct full_world *world)
{
    if (world->socket >= 0)
        empty_server(world);
    else if (world->is_mounted)
        check(ftruncate(world->ballast, 0) == 0, "ballast");
    else
        empty_map(world);
}

void full_world_close(struct full_world *world)
{
    static const char *const files[] = {"store", "store-lock", "store-writer", "ballast"};
    mcds_close(world->filler);
    mcds_close(world->store);
    if (world->socket >= 0)
        (void)close(world->socket);
    if (world->ballast >= 0)
        (void)close(world->ballast);
    server_stop(&world->server);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "%s/%s", world->folder, files[i]);
        (void)unlink(path);
    }
    if (world->is_mounted)
        (void)umount2(world->folder, MNT_DETACH);
    (void)rmdir(world->folder);
}
