/* STORE: as drops, for what counts or is changed as a whole: visitors, online, counters, views, an
 * array. What is added after the last drop has returned, or was killed, and is acknowledged,
 * counts. FIELD_ROUNDS drops. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "field/field.h"
#include "mcds.h"
#include "support/fixture.h"
#include "support/no_database.h"

#define WRITERS 3
#define LATE 60
/* Of the late ones that need not be acknowledged: a handle may find the last life over. */
#define SLACK 20
#define PAUSE_MOST_US 30000
/* Drops that are killed. */
#define KILLS 3
#define TIMEOUT_MS 20000
#define DAY_MS 86400000
#define NAMES 40

struct board { /* in memory that all processes share */
    _Atomic bool is_over;
    _Atomic unsigned acknowledged[WRITERS]; /* late ones */
};

union handle {
    mcds_visitors *visitors;
    mcds_online *online;
    mcds_counter *counter;
    mcds_views *views;
    mcds_array *array;
};

struct form {
    const char *name;
    uint32_t option;
    int (*open)(mcds_store *store, uint32_t option, union handle *handle);
    int (*add)(union handle handle, const char *text);
    int (*drop)(union handle handle);
    /* How many count. */
    int (*read)(union handle handle, int64_t *count_out);
    void (*close)(union handle handle);
};

static unsigned plays; /* a visitor who was counted before a drop is not counted again */
static int64_t now_ms; /* one time for all, so that no period ends meanwhile */

static void check(bool fine, const char *what)
{
    if (fine)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, mcds_errmsg());
    exit(1);
}

static int open_visitors(mcds_store *store, uint32_t option, union handle *handle)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    options.members = (mcds_members)option;
    return mcds_visitors_open(store, "v", &options, &handle->visitors);
}

static int hit(union handle handle, const char *text)
{
    return mcds_visitors_hit(handle.visitors, text, now_ms);
}

static int drop_visitors(union handle handle)
{
    return mcds_visitors_drop(handle.visitors, now_ms);
}

static int read_visitors(union handle handle, int64_t *count_out)
{
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    int result = mcds_visitors_get(handle.visitors, now_ms, &value);
    *count_out = (int64_t)value.current;
    return result;
}

static void close_visitors(union handle handle)
{
    mcds_visitors_close(handle.visitors);
}

static int open_online(mcds_store *store, uint32_t option, union handle *handle)
{
    mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
    options.members = (mcds_members)option;
    options.buckets = 2;
    options.width_ms = DAY_MS;
    return mcds_online_open(store, "o", &options, &handle->online);
}

static int beat(union handle handle, const char *text)
{
    return mcds_online_beat(handle.online, text, now_ms);
}

static int drop_online(union handle handle)
{
    return mcds_online_drop(handle.online, now_ms);
}

static int read_online(union handle handle, int64_t *count_out)
{
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    int result = mcds_online_get(handle.online, now_ms, &value);
    *count_out = (int64_t)(value.current + value.closed);
    return result;
}

static void close_online(union handle handle)
{
    mcds_online_close(handle.online);
}

enum { PLAIN, STRIPED, EXACT };

static int open_counter(mcds_store *store, uint32_t option, union handle *handle)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    if (option == STRIPED)
        options.stripes = 8;
    if (option == EXACT) {
        options.flags = MCDS_COUNTER_EXACT;
        options.flush_ms = MCDS_COUNTER_FLUSH_EACH;
    }
    return mcds_counter_open(store, "c", &options, &handle->counter);
}

static int add_one(union handle handle, const char *text)
{
    (void)text;
    return mcds_counter_add(handle.counter, 1, NULL);
}

static int drop_counter(union handle handle)
{
    return mcds_counter_drop(handle.counter);
}

static int read_counter(union handle handle, int64_t *count_out)
{
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int result = mcds_counter_get(handle.counter, &value);
    *count_out = value.value;
    return result;
}

static void close_counter(union handle handle)
{
    mcds_counter_close(handle.counter);
}

/* All views are those that are not saved yet. */
static int open_views(mcds_store *store, uint32_t option, union handle *handle)
{
    mcds_views_options options = views_without_database();
    options.flush_ms = option;
    return mcds_views_open(store, "p", &options, &handle->views);
}

static int view(union handle handle, const char *text)
{
    (void)text;
    return mcds_views_hit(handle.views, "page", 1);
}

static int drop_views(union handle handle)
{
    return mcds_views_drop(handle.views);
}

static int read_views(union handle handle, int64_t *count_out)
{
    return mcds_views_get(handle.views, "page", count_out);
}

static void close_views(union handle handle)
{
    mcds_views_close(handle.views);
}

static int open_array(mcds_store *store, uint32_t option, union handle *handle)
{
    (void)option;
    return mcds_array_open(store, "a", NULL, &handle->array);
}

static int change(union handle handle, const char *text)
{
    mcds_bytes element = mcds_text(text);
    return mcds_array_change(handle.array, &element, 1, NULL, 0);
}

static int drop_array(union handle handle)
{
    return mcds_array_drop(handle.array);
}

static bool count_element(void *context, mcds_bytes element)
{
    int64_t *count = context;
    (void)element;
    ++*count;
    return true;
}

static int read_array(union handle handle, int64_t *count_out)
{
    *count_out = 0;
    return mcds_array_scan(handle.array, count_element, count_out);
}

static void close_array(union handle handle)
{
    mcds_array_close(handle.array);
}

static const struct form forms[] = {
    {"visitors", MCDS_MEMBERS_NONE, open_visitors, hit, drop_visitors, read_visitors,
     close_visitors},
    {"exact visitors", MCDS_MEMBERS_EXACT, open_visitors, hit, drop_visitors, read_visitors,
     close_visitors},
    {"online", MCDS_MEMBERS_NONE, open_online, beat, drop_online, read_online, close_online},
    {"exact online", MCDS_MEMBERS_EXACT, open_online, beat, drop_online, read_online,
     close_online},
    {"counter", PLAIN, open_counter, add_one, drop_counter, read_counter, close_counter},
    {"striped counter", STRIPED, open_counter, add_one, drop_counter, read_counter,
     close_counter},
    {"exact counter", EXACT, open_counter, add_one, drop_counter, read_counter, close_counter},
    {"views", DAY_MS, open_views, view, drop_views, read_views, close_views},
    {"array", 0, open_array, change, drop_array, read_array, close_array},
};
#define FORMS (sizeof forms / sizeof forms[0])

static mcds_store *open_store(const char *uri)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_store *store = NULL;
    options.timeout_ms = TIMEOUT_MS;
    check(mcds_open(uri, &options, &store) == MCDS_OK, "open");
    return store;
}

static void write_all(const char *uri, const struct form *form, struct board *board,
                      unsigned writer)
{
    char text[NAMES];
    union handle handle;
    unsigned acknowledged = 0;
    mcds_store *store = open_store(uri);
    check(form->open(store, form->option, &handle) == MCDS_OK, "open");
    for (unsigned i = 0; !board->is_over; i++) {
        (void)snprintf(text, sizeof text, "play %u, writer %u, early %u", plays, writer, i);
        int result = form->add(handle, text);
        check(result == MCDS_OK || result == MCDS_AMBIGUOUS || result == MCDS_LOST ||
                  result == MCDS_BUSY,
              "an early addition");
    }
    for (unsigned i = 0; i < LATE; i++) {
        (void)snprintf(text, sizeof text, "play %u, writer %u, late %u", plays, writer, i);
        acknowledged += form->add(handle, text) == MCDS_OK;
    }
    board->acknowledged[writer] = acknowledged;
    form->close(handle);
    mcds_close(store);
}

static void pause_a_little(void)
{
    struct timespec pause = {0, random() % PAUSE_MOST_US * 1000};
    (void)nanosleep(&pause, NULL);
}

/* A commit executes what others have published before, so that nothing comes later. What a
 * client has sent to a server may come at any time: there no drop is killed. */
static void wait_for_what_it_published(const char *uri)
{
    mcds_counter *counter = NULL;
    mcds_store *store = open_store(uri);
    check(mcds_counter_open(store, "barrier", NULL, &counter) == MCDS_OK, "open");
    for (int i = 0; i < 3; i++)
        check(mcds_counter_add(counter, 1, NULL) == MCDS_OK, "a later change");
    mcds_counter_close(counter);
    mcds_close(store);
}

/* Another process drops, and is killed at some time: perhaps when it has erased a part. */
static void kill_a_drop(const char *uri, const struct form *form, struct board *board)
{
    pid_t dropper = fork();
    check(dropper >= 0, "fork");
    if (dropper == 0) {
        union handle handle;
        mcds_store *store = open_store(uri);
        check(form->open(store, form->option, &handle) == MCDS_OK, "open");
        for (;;)
            (void)form->drop(handle);
    }
    pause_a_little();
    check(kill(dropper, SIGKILL) == 0 && waitpid(dropper, NULL, 0) == dropper, "kill");
    wait_for_what_it_published(uri);
    board->is_over = true;
}

static void drop_all(const struct form *form, union handle handle, struct board *board,
                     unsigned drops)
{
    for (unsigned i = 0; i < drops; i++) {
        pause_a_little();
        int result = form->drop(handle);
        check(result == MCDS_OK || result == MCDS_NOT_FOUND || result == MCDS_AMBIGUOUS,
              "drop");
    }
    board->is_over = true;
}

/* `drops`: 0: one, which is killed. */
static void play(const char *uri, const struct form *form, struct board *board, unsigned drops)
{
    pid_t writers[WRITERS];
    union handle handle;
    int64_t count = 0;
    int64_t acknowledged = 0;
    board->is_over = false;
    plays++;
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i] = fork();
        if (writers[i] == 0) {
            write_all(uri, form, board, i);
            _exit(0);
        }
        check(writers[i] > 0, "fork");
    }
    mcds_store *store = open_store(uri);
    check(form->open(store, form->option, &handle) == MCDS_OK, "open");
    if (drops == 0)
        kill_a_drop(uri, form, board);
    else
        drop_all(form, handle, board, drops);
    for (unsigned i = 0; i < WRITERS; i++) {
        int status = 1;
        check(waitpid(writers[i], &status, 0) == writers[i] && status == 0, "a writer");
        check(drops == 0 || board->acknowledged[i] >= LATE - SLACK,
              "hardly anything was acknowledged");
        acknowledged += board->acknowledged[i];
    }
    int read = form->read(handle, &count);
    check(read == MCDS_OK || (drops == 0 && acknowledged == 0), "read");
    (void)printf("%s: %lld late additions were acknowledged, %lld count\n", form->name,
                 (long long)acknowledged, (long long)count);
    check(count >= acknowledged, "what was acknowledged does not count");
    int result = form->drop(handle);
    check(result == MCDS_OK || (drops == 0 && result == MCDS_NOT_FOUND), "the last drop");
    form->close(handle);
    mcds_close(store);
}

int main(int count, char **words)
{
    char uri[1024];
    struct fixture *fixture = fixture_or_exit(count, words);
    void *shared = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(shared != MAP_FAILED, "mmap");
    bool is_file = strcmp(words[1], "lmdb") == 0;
    now_ms = (int64_t)time(NULL) * 1000;
    for (size_t i = 0; i < FORMS; i++) {
        char word[16];
        (void)snprintf(word, sizeof word, "form-%u", (unsigned)i);
        fixture_uri_of(fixture, word, uri, sizeof uri);
        play(uri, &forms[i], shared, field_number("FIELD_ROUNDS", 15));
        for (unsigned kills = 0; is_file && kills < KILLS; kills++)
            play(uri, &forms[i], shared, 0);
    }
    fixture_stop(fixture);
    return 0;
}
