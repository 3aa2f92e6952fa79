/* STORE: processes add to a structure while another drops it again and again. What they add after
 * the last drop has returned, and what is acknowledged, is there. The same where the last drop was
 * killed, on lmdb, or cut after a number of requests, on memcached. FIELD_ROUNDS drops. */
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
#include "support/counting_backend.h"
#include "support/fixture.h"

#define WRITERS 4
#define LATE 300
/* Of the late ones that need not be acknowledged: a handle may find the last life over. */
#define SLACK 20
#define PAUSE_MOST_US 50000
/* Drops that are killed, and how long they live. */
#define KILLS 8
#define LIFE_MOST_US 20000
/* Drops that are cut, each a request later: the first ones before they have erased the root. */
#define CUTS 8
#define TIMEOUT_MS 20000
/* No writer writes for longer. */
#define RECENT_S 3600

enum { PLAIN, BAG, LIST, TABLE, LOG, FORMS };
static const char *const names[FORMS] = {"set", "bag", "list", "table", "log"};

struct board { /* in memory that all processes share */
    _Atomic bool is_over;
    _Atomic bool acknowledged[WRITERS][LATE];
};

struct handle {
    mcds_store *store;
    mcds_set *set;
    mcds_table *table;
    mcds_log *log;
};

static void check(bool fine, const char *what)
{
    if (fine)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, mcds_errmsg());
    exit(1);
}

static void open_structure(struct handle *handle, int form)
{
    mcds_set_options set = MCDS_SET_OPTIONS_INIT;
    set.form = form == BAG ? MCDS_SET_BAG : form == LIST ? MCDS_SET_LIST : MCDS_SET_PLAIN;
    if (form == LOG)
        check(mcds_log_open(handle->store, "x", NULL, &handle->log) == MCDS_OK, "open");
    else if (form == TABLE)
        check(mcds_table_open(handle->store, "x", NULL, &handle->table) == MCDS_OK, "open");
    else
        check(mcds_set_open(handle->store, "x", &set, &handle->set) == MCDS_OK, "open");
}

static void open_handle(struct handle *handle, const char *uri, int form)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    options.timeout_ms = TIMEOUT_MS;
    *handle = (struct handle){NULL, NULL, NULL, NULL};
    check(mcds_open(uri, &options, &handle->store) == MCDS_OK, "open");
    open_structure(handle, form);
}

static void close_handle(struct handle *handle)
{
    mcds_log_close(handle->log);
    mcds_table_close(handle->table);
    mcds_set_close(handle->set);
    mcds_close(handle->store);
}

static int add(struct handle *handle, const char *text)
{
    if (handle->log != NULL)
        return mcds_log_put(handle->log, 0, mcds_text(text));
    return handle->table != NULL
               ? mcds_table_put(handle->table, mcds_text(text), mcds_text("v"), 0)
               : mcds_set_add(handle->set, mcds_text(text), NULL);
}

static int drop(struct handle *handle)
{
    if (handle->log != NULL)
        return mcds_log_drop(handle->log);
    return handle->table != NULL ? mcds_table_drop(handle->table) : mcds_set_drop(handle->set);
}

struct wanted {
    const char *text;
    bool found;
};

static bool compare(void *context, const mcds_log_event *event)
{
    struct wanted *wanted = context;
    wanted->found = event->event.length == strlen(wanted->text) &&
                    memcmp(event->event.data, wanted->text, event->event.length) == 0;
    return !wanted->found;
}

/* No gap is counted for what was dropped. */
static int has_event(struct handle *handle, const char *text)
{
    struct wanted wanted = {text, false};
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    range.first_ms = ((int64_t)time(NULL) - RECENT_S) * 1000;
    int result = mcds_log_scan(handle->log, &range, compare, &wanted, &info);
    check(info.gaps == 0, "a gap, and the store has forgotten nothing");
    return result == MCDS_OK && !wanted.found ? MCDS_NOT_FOUND : result;
}

static int has(struct handle *handle, const char *text)
{
    if (handle->log != NULL)
        return has_event(handle, text);
    return handle->table != NULL ? mcds_table_has(handle->table, mcds_text(text))
                                 : mcds_set_has(handle->set, mcds_text(text));
}

static void name_late(char *out, size_t capacity, unsigned writer, unsigned number)
{
    (void)snprintf(out, capacity, "writer %u, late %u", writer, number);
}

static void write_all(const char *uri, int form, struct board *board, unsigned writer)
{
    struct handle handle;
    char text[64];
    open_handle(&handle, uri, form);
    for (unsigned i = 0; !board->is_over; i++) {
        (void)snprintf(text, sizeof text, "writer %u, early %u", writer, i);
        int result = add(&handle, text);
        check(result == MCDS_OK || result == MCDS_AMBIGUOUS || result == MCDS_LOST ||
                  result == MCDS_BUSY,
              "an early addition");
    }
    for (unsigned i = 0; i < LATE; i++) {
        name_late(text, sizeof text, writer, i);
        board->acknowledged[writer][i] = add(&handle, text) == MCDS_OK;
    }
    close_handle(&handle);
}

static void pause_us(unsigned us)
{
    struct timespec pause = {0, (long)us * 1000};
    (void)nanosleep(&pause, NULL);
}

static void drop_all(struct handle *handle, struct board *board, unsigned drops)
{
    for (unsigned i = 0; i < drops; i++) {
        pause_us((unsigned)random() % PAUSE_MOST_US);
        int result = drop(handle);
        check(result == MCDS_OK || result == MCDS_NOT_FOUND || result == MCDS_AMBIGUOUS,
              "drop");
    }
    board->is_over = true;
}

/* Returns how many were acknowledged and are not there. */
static unsigned count_missing(struct handle *handle, struct board *board, bool was_killed)
{
    unsigned missing = 0;
    for (unsigned writer = 0; writer < WRITERS; writer++) {
        unsigned acknowledged = 0;
        for (unsigned i = 0; i < LATE; i++) {
            char text[64];
            name_late(text, sizeof text, writer, i);
            acknowledged += board->acknowledged[writer][i];
            missing += board->acknowledged[writer][i] && has(handle, text) != MCDS_OK;
        }
        check(was_killed || acknowledged >= LATE - SLACK, "hardly anything was acknowledged");
    }
    return missing;
}

/* A commit executes what others have published before, so that nothing comes later. What a
 * client has sent to a server may come at any time: there no drop is killed. */
static void wait_for_what_it_published(const char *uri)
{
    mcds_store *store = NULL;
    mcds_counter *counter = NULL;
    check(mcds_open(uri, NULL, &store) == MCDS_OK, "open");
    check(mcds_counter_open(store, "barrier", NULL, &counter) == MCDS_OK, "open");
    for (int i = 0; i < 3; i++)
        check(mcds_counter_add(counter, 1, NULL) == MCDS_OK, "a later change");
    mcds_counter_close(counter);
    mcds_close(store);
}

/* Another process drops, and is killed at some time: perhaps when it has erased the root and not
 * yet the keys, which the writers know. */
static void kill_a_drop(const char *uri, int form, struct board *board)
{
    pid_t dropper = fork();
    check(dropper >= 0, "fork");
    if (dropper == 0) {
        struct handle handle;
        open_handle(&handle, uri, form);
        for (;;)
            (void)drop(&handle);
    }
    pause_us(1000 + (unsigned)random() % LIFE_MOST_US);
    check(kill(dropper, SIGKILL) == 0 && waitpid(dropper, NULL, 0) == dropper, "kill");
    wait_for_what_it_published(uri);
    board->is_over = true;
}

/* A drop that sends its first requests and no more. All that it has sent is answered, so nothing of
 * it comes later. */
static void cut_a_drop(const char *uri, int form, struct board *board, unsigned requests)
{
    static struct counting_backend counting;
    mcds_options options = MCDS_OPTIONS_INIT;
    struct handle handle = {NULL, NULL, NULL, NULL};
    options.timeout_ms = TIMEOUT_MS;
    pause_us((unsigned)random() % LIFE_MOST_US);
    check(counting_backend_open(&counting, uri, mcds_env_system(), &options, &handle.store) ==
              MCDS_OK,
          "open");
    open_structure(&handle, form);
    counting_backend_arm(&counting, FAULT_PROTOCOL, requests + 1, true);
    (void)drop(&handle);
    close_handle(&handle);
    board->is_over = true;
}

/* What ends the additions. */
struct ending {
    unsigned drops;
    bool is_killed; /* one drop, which is killed */
    unsigned cut;   /* one drop, which is cut after so many requests */
};

static void end_early(const char *uri, int form, struct board *board,
                      const struct ending *ending)
{
    if (ending->is_killed)
        kill_a_drop(uri, form, board);
    if (ending->cut > 0)
        cut_a_drop(uri, form, board, ending->cut);
}

static void play(const char *uri, int form, struct board *board, struct ending ending)
{
    bool is_left = ending.drops == 0;
    pid_t writers[WRITERS];
    struct handle handle;
    board->is_over = false;
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i] = fork();
        if (writers[i] == 0) {
            write_all(uri, form, board, i);
            _exit(0);
        }
        check(writers[i] > 0, "fork");
    }
    end_early(uri, form, board, &ending);
    open_handle(&handle, uri, form);
    if (!is_left)
        drop_all(&handle, board, ending.drops);
    for (unsigned i = 0; i < WRITERS; i++) {
        int status = 1;
        check(waitpid(writers[i], &status, 0) == writers[i] && status == 0, "a writer");
    }
    unsigned missing = count_missing(&handle, board, is_left);
    (void)printf("%s: %u acknowledged additions are missing\n", names[form], missing);
    check(missing == 0, "what was acknowledged is not there");
    int result = drop(&handle);
    check(result == MCDS_OK || (is_left && result == MCDS_NOT_FOUND), "the last drop");
    close_handle(&handle);
}

int main(int count, char **words)
{
    char uri[1024];
    struct fixture *fixture = fixture_or_exit(count, words);
    void *shared = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(shared != MAP_FAILED, "mmap");
    bool kills = strcmp(words[1], "lmdb") == 0;
    for (int form = 0; form < FORMS; form++) {
        fixture_uri_of(fixture, names[form], uri, sizeof uri);
        play(uri, form, shared, (struct ending){.drops = field_number("FIELD_ROUNDS", 40)});
        for (unsigned i = 0; i < KILLS && form != LOG && kills; i++)
            play(uri, form, shared, (struct ending){.is_killed = true});
        for (unsigned i = 1; i <= CUTS && form != LOG && !kills; i++)
            play(uri, form, shared, (struct ending){.cut = i});
    }
    fixture_stop(fixture);
    return 0;
}
