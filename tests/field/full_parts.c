/* map | disk | memcached: lists and logs on a store that is full. Every call ends; what was
 * acknowledged is there, and what was refused is not, before there is room again and after. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "field/field.h"
#include "mcds.h"
#include "support/server.h"

#define EXIT_SKIPPED 77
#define VALUES_MAX 6000
#define REFUSED_MAX 300
#define SMALL 1000
#define LARGE 40000
#define DEPTH 100
#define BALLAST ((off_t)2 << 20)
#define ATTEMPTS 5
/* A call that does not end: the program is killed. */
#define HANG_S 600

static struct world {
    char folder[32];
    char uri[128];
    char ballast[64];
    bool is_mounted;
    bool has_ballast;
    struct server server;
    mcds_store *store;
    mcds_array *filler; /* what makes room on the full map */
} world;
static const char *kind; /* map, disk or memcached */

enum structure { LIST, LOG };

struct play {
    enum structure structure;
    bool is_piped;
    uint32_t length;
    mcds_list *list;
    mcds_log *log;
    uint32_t count;
    uint32_t acknowledged;
    uint32_t refused;
    uint32_t doubtful;
    int results[VALUES_MAX];
    uint32_t seen[VALUES_MAX];
    uint32_t foreign;
};

static char bytes[LARGE];

static mcds_bytes value_of(const struct play *play, uint32_t number)
{
    uint32_t length = number % 50 == 49 ? LARGE : play->length;
    memset(bytes, 'v', sizeof bytes);
    memcpy(bytes, &number, sizeof number);
    return (mcds_bytes){bytes, length};
}

static void book(struct play *play, uint32_t number, int result)
{
    play->results[number] = result;
    play->acknowledged += result == MCDS_OK;
    play->refused += result == MCDS_FULL;
    play->doubtful += result == MCDS_AMBIGUOUS;
    if (result != MCDS_OK && result != MCDS_FULL && result != MCDS_AMBIGUOUS)
        fail_msg("value %u of %u bytes: %s: %s", (unsigned)number, (unsigned)play->length,
                 mcds_strerror(result), mcds_errmsg());
}

static void write_one(struct play *play)
{
    uint32_t number = play->count++;
    mcds_bytes value = value_of(play, number);
    book(play, number,
         play->structure == LIST ? mcds_list_push(play->list, value)
                                 : mcds_log_put(play->log, 0, value));
}

static void write_many(struct play *play)
{
    mcds_pipeline *pipeline;
    mcds_completion done;
    assert_int_equal(MCDS_OK, mcds_pipeline_open(world.store, NULL, &pipeline));
    for (uint32_t i = 0; i < DEPTH && play->count < VALUES_MAX; i++) {
        uint32_t number = play->count++;
        mcds_bytes value = value_of(play, number);
        assert_int_equal(MCDS_OK,
                         play->structure == LIST
                             ? mcds_list_push_start(play->list, value, pipeline, number)
                             : mcds_log_put_start(play->log, 0, value, pipeline, number));
    }
    while (mcds_pipeline_next(pipeline, &done) == MCDS_OK)
        book(play, (uint32_t)done.tag, done.result);
    mcds_pipeline_close(pipeline);
}

static void see(struct play *play, mcds_bytes value)
{
    uint32_t number = VALUES_MAX;
    if (value.length >= sizeof number)
        memcpy(&number, value.at, sizeof number);
    bool is_ours = number < play->count && value.length == value_of(play, number).length;
    if (is_ours)
        play->seen[number]++;
    else
        play->foreign++;
}

static bool see_value(void *context, mcds_bytes value)
{
    see(context, value);
    return true;
}

static bool see_event(void *context, const mcds_log_event *event)
{
    see(context, event->event);
    return true;
}

static void judge(struct play *play)
{
    mcds_log_info info = {0, 0};
    memset(play->seen, 0, sizeof play->seen);
    play->foreign = 0;
    int result = play->structure == LIST
                     ? mcds_list_fetch(play->list, 0, 0, see_value, play)
                     : mcds_log_fetch(play->log, NULL, see_event, play, &info);
    if (result != MCDS_OK)
        fail_msg("the fetch: %s", mcds_errmsg());
    assert_int_equal(info.gaps, 0);
    assert_int_equal(play->foreign, 0);
    for (uint32_t i = 0; i < play->count; i++) {
        bool is_right = play->results[i] == MCDS_OK     ? play->seen[i] == 1
                        : play->results[i] == MCDS_FULL ? play->seen[i] == 0
                                                        : play->seen[i] <= 1;
        if (!is_right)
            fail_msg("value %u: %s, and seen %u times", (unsigned)i,
                     mcds_strerror(play->results[i]), (unsigned)play->seen[i]);
    }
}

static void make_room(void)
{
    if (world.has_ballast)
        assert_int_equal(unlink(world.ballast), 0);
    world.has_ballast = false;
    if (world.filler != NULL)
        assert_int_equal(MCDS_OK, mcds_array_drop(world.filler));
}

static void take_room(void)
{
    if (world.is_mounted) {
        int descriptor = open(world.ballast, O_CREAT | O_WRONLY, 0600);
        assert_true(descriptor >= 0);
        assert_int_equal(posix_fallocate(descriptor, 0, BALLAST), 0);
        assert_int_equal(close(descriptor), 0);
        world.has_ballast = true;
    } else if (world.filler != NULL) {
        static char filling[500000];
        mcds_bytes element = {filling, sizeof filling};
        assert_int_equal(MCDS_OK, mcds_array_set(world.filler, &element, 1));
    }
}

static void drop(struct play *play)
{
    int result = MCDS_AMBIGUOUS;
    for (int i = 0; i < ATTEMPTS && result == MCDS_AMBIGUOUS; i++)
        result = play->structure == LIST ? mcds_list_drop(play->list)
                                         : mcds_log_drop(play->log);
    if (result != MCDS_OK && result != MCDS_NOT_FOUND)
        fail_msg("the drop: %s", mcds_errmsg());
    mcds_list_close(play->list);
    mcds_log_close(play->log);
}

/* NULL, or why this cannot be played. */
static const char *open_world(void)
{
    static char memory[] = "2";
    static char megabytes[] = "-m";
    static char keeps[] = "-M";
    static char *options[] = {megabytes, memory, keeps, NULL};
    mcds_options store_options = MCDS_OPTIONS_INIT;
    memset(&world, 0, sizeof world);
    (void)snprintf(world.folder, sizeof world.folder, "/tmp/mcds-full-XXXXXX");
    if (mkdtemp(world.folder) == NULL)
        return "no folder can be made in /tmp";
    (void)snprintf(world.ballast, sizeof world.ballast, "%s/ballast", world.folder);
    if (strcmp(kind, "memcached") == 0) {
        world.server.options = options;
        if (!server_start_memcached(&world.server))
            return "memcached is not installed";
        server_uri(&world.server, world.uri, sizeof world.uri);
    } else if (strcmp(kind, "disk") == 0) {
        if (mount("mcds-test", world.folder, "tmpfs", 0, "size=6m") != 0)
            return "no small disk can be mounted here";
        world.is_mounted = true;
        (void)snprintf(world.uri, sizeof world.uri, "lmdb:%s/store", world.folder);
    } else {
        (void)snprintf(world.uri, sizeof world.uri, "lmdb:%s/store?sync=async&map_max=4000000",
                       world.folder);
    }
    store_options.timeout_ms = 5000;
    assert_int_equal(MCDS_OK, mcds_open(world.uri, &store_options, &world.store));
    if (strcmp(kind, "map") == 0)
        assert_int_equal(MCDS_OK, mcds_array_open(world.store, "filler", NULL, &world.filler));
    return NULL;
}

static void close_world(void)
{
    static const char *const files[] = {"store", "store-lock", "store-writer", "ballast"};
    mcds_array_close(world.filler);
    mcds_close(world.store);
    server_stop(&world.server);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "%s/%s", world.folder, files[i]);
        (void)unlink(path);
    }
    if (world.is_mounted)
        (void)umount2(world.folder, MNT_DETACH);
    (void)rmdir(world.folder);
}

static void play_one(enum structure structure, bool is_piped, uint32_t length)
{
    static struct play play;
    memset(&play, 0, sizeof play);
    play.structure = structure;
    play.is_piped = is_piped;
    play.length = length;
    assert_null(open_world());
    take_room();
    if (structure == LIST)
        assert_int_equal(MCDS_OK, mcds_list_open(world.store, "l", NULL, &play.list));
    else
        assert_int_equal(MCDS_OK, mcds_log_open(world.store, "e", NULL, &play.log));
    while (play.refused + play.doubtful < REFUSED_MAX && play.count < VALUES_MAX)
        is_piped ? write_many(&play) : write_one(&play);
    print_message("%s, %s, %u bytes: %u acknowledged, %u refused, %u ambiguous\n",
                  structure == LIST ? "list" : "log", is_piped ? "piped" : "waiting",
                  (unsigned)length, (unsigned)play.acknowledged, (unsigned)play.refused,
                  (unsigned)play.doubtful);
    assert_true(play.refused > 0);
    if (!is_piped) /* with nothing else under way, nothing is in doubt */
        assert_int_equal(play.doubtful, 0);
    judge(&play);
    make_room();
    judge(&play);
    for (int i = 0; i < ATTEMPTS && play.count < VALUES_MAX; i++)
        write_one(&play);
    judge(&play);
    drop(&play);
    close_world();
}

static void what_is_refused_is_not_there(void **state)
{
    static const uint32_t lengths[] = {SMALL, 100};
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        for (int structure = LIST; structure <= LOG; structure++)
            for (int is_piped = 0; is_piped <= 1; is_piped++)
                play_one((enum structure)structure, is_piped == 1, lengths[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_refused_is_not_there),
    };
    if (argc != 2) {
        (void)fprintf(stderr, "usage: %s map|disk|memcached\n", argv[0]);
        return EXIT_FAILURE;
    }
    (void)alarm(HANG_S);
    kind = argv[1];
    const char *missing = open_world();
    close_world();
    if (missing != NULL) {
        (void)printf("skipped: %s\n", missing);
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests_name("full_parts", tests, NULL, NULL);
}
