/* Followers of a log on `memcached -m 2`, while a writer puts events of 1 KB until the server evicts,
 * and longer: each follower reads each event at most once, reports a gap where events are missing,
 * and ends. FIELD_ROUNDS. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "field/field.h"
#include "mcds.h"
#include "support/dice.h"
#include "support/server.h"

#define EXIT_SKIPPED 77
/* A call that does not end: the program is killed. */
#define HANG_S 800
#define ROUNDS 3
#define TIMEOUT_MS 20000
#define EVENTS_MAX 60000
#define EVENTS_AFTER 5000 /* the first eviction */
#define EVENTS_PER_LOOK 200
#define EVENT_BYTES 1024
#define FOLLOWERS 4
#define CALLS_MAX (EVENTS_MAX + 100)
#define LAST_CALLS_MAX 50 /* after the last event, until there is nothing new */

struct play {
    struct server server;
    char uri[160];
    int8_t results[EVENTS_MAX];
    _Atomic uint32_t put;
    _Atomic bool is_over;
    uint32_t acknowledged;
    uint32_t seed;
};

/* Event `number` was read by call number seen_in[number], from 1 on. */
struct follower {
    struct play *play;
    uint32_t stride; /* so many events are put between two calls */
    uint32_t calls;
    uint32_t last_calls;
    uint32_t twice;
    uint32_t foreign;
    uint32_t read;
    uint32_t missing; /* of the acknowledged events */
    uint64_t gaps;
    uint64_t gaps_until[CALLS_MAX]; /* reported until the end of each call */
    uint32_t seen_in[EVENTS_MAX];
};

static void check(bool fine, const char *what)
{
    if (fine)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, mcds_errmsg());
    exit(1);
}

static mcds_log *open_log(const struct play *play, mcds_store **store_out)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_log *log;
    options.timeout_ms = TIMEOUT_MS;
    check(mcds_open(play->uri, &options, store_out) == MCDS_OK, "open");
    check(mcds_log_open(*store_out, "events", NULL, &log) == MCDS_OK, "open the log");
    return log;
}

static bool see(void *context, const mcds_log_event *event)
{
    struct follower *follower = context;
    uint32_t number = EVENTS_MAX;
    if (event->event.length == EVENT_BYTES)
        memcpy(&number, event->event.data, sizeof number);
    if (number >= EVENTS_MAX) {
        follower->foreign++;
        return true;
    }
    follower->read++;
    follower->twice += follower->seen_in[number] > 0;
    follower->seen_in[number] = follower->calls + 1;
    return true;
}

/* Whether the call has read something, or has reported a gap. */
static bool tail(struct follower *follower, mcds_log *log, mcds_log_cursor *cursor)
{
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    uint32_t read = follower->read;
    check(follower->calls < CALLS_MAX, "more calls than events");
    int result = mcds_log_tail(log, cursor, see, follower, &info);
    check(result == MCDS_OK || result == MCDS_NOT_FOUND, "tail");
    check(info.corrupt == 0, "corrupt");
    follower->gaps += info.gaps;
    follower->gaps_until[follower->calls++] = follower->gaps;
    return follower->read > read || info.gaps > 0;
}

static void *follow(void *context)
{
    struct follower *follower = context;
    struct play *play = follower->play;
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    mcds_store *store;
    mcds_log *log = open_log(play, &store);
    cursor.from_ms = 1; /* all */
    for (uint32_t next = 0; !play->is_over;) {
        if (play->put < next) {
            (void)usleep(200);
            continue;
        }
        next = play->put + follower->stride;
        (void)tail(follower, log, &cursor);
    }
    while (tail(follower, log, &cursor))
        check(++follower->last_calls < LAST_CALLS_MAX, "the follower does not come to the end");
    mcds_log_close(log);
    mcds_close(store);
    return NULL;
}

static uint64_t evictions(const struct play *play)
{
    char heard[8192];
    size_t length = 0;
    int socket = server_connect(&play->server);
    check(socket >= 0, "connect");
    field_send_all(socket, "stats\r\n", 7);
    do {
        ssize_t got = recv(socket, heard + length, sizeof heard - 1 - length, 0);
        check(got > 0, "stats");
        length += (size_t)got;
        heard[length] = '\0';
    } while (strstr(heard, "\r\nEND\r\n") == NULL);
    (void)close(socket);
    const char *found = strstr(heard, "STAT evictions ");
    check(found != NULL, "no evictions");
    return strtoull(found + strlen("STAT evictions "), NULL, 10);
}

static void write_events(struct play *play)
{
    static char event[EVENT_BYTES];
    mcds_store *store;
    mcds_log *log = open_log(play, &store);
    uint32_t end = EVENTS_MAX;
    bool has_evicted = false;
    memset(event, 'e', sizeof event);
    for (uint32_t i = 0; i < end; i++) {
        memcpy(event, &i, sizeof i);
        int result = mcds_log_put(log, 0, (mcds_bytes){event, sizeof event});
        if (result != MCDS_OK && result != MCDS_AMBIGUOUS && result != MCDS_LOST &&
            result != MCDS_FULL)
            check(false, "put");
        play->results[i] = (int8_t)result;
        play->acknowledged += result == MCDS_OK;
        play->put = i + 1;
        if (!has_evicted && i % EVENTS_PER_LOOK == 0 && evictions(play) > 0) {
            has_evicted = true;
            end = i + EVENTS_AFTER < EVENTS_MAX ? i + EVENTS_AFTER : EVENTS_MAX;
        }
    }
    check(has_evicted, "the server has evicted nothing");
    mcds_log_close(log);
    mcds_close(store);
}

/* The gaps that the calls from the first to the last have reported. */
static uint64_t gaps_within(const struct follower *follower, uint32_t first, uint32_t last)
{
    return follower->gaps_until[last - 1] - (first > 1 ? follower->gaps_until[first - 2] : 0);
}

/* Acknowledged events that are missing, and not between two calls of which one reports a gap. */
static uint32_t count_unreported(struct follower *follower)
{
    const struct play *play = follower->play;
    uint32_t wrong = 0;
    uint32_t before = 1; /* the call that has read the event before those that are missing */
    uint32_t run = 0;
    for (uint32_t i = 0; i <= play->put; i++) {
        bool is_end = i == play->put;
        if (!is_end && follower->seen_in[i] == 0) {
            run += play->results[i] == MCDS_OK;
            continue;
        }
        uint32_t now = is_end ? follower->calls : follower->seen_in[i];
        uint32_t first = before < now ? before : now;
        uint32_t last = before < now ? now : before;
        if (run > 0 && gaps_within(follower, first, last) == 0)
            wrong += run;
        follower->missing += run;
        run = 0;
        before = now;
    }
    return wrong;
}

static bool judge(struct follower *follower)
{
    const struct play *play = follower->play;
    uint32_t refused = 0;
    uint32_t wrong = count_unreported(follower);
    for (uint32_t i = 0; i < play->put; i++)
        refused += follower->seen_in[i] > 0 && play->results[i] != MCDS_OK &&
                   play->results[i] != MCDS_AMBIGUOUS;
    bool fine = wrong + refused + follower->twice + follower->foreign == 0;
    (void)fprintf(
        fine ? stdout : stderr,
        "seed %u, a call for each %u: %u events, %u acknowledged, %u read in %u calls, "
        "%llu gaps, %u missing, %u without a gap, %u twice, %u refused and read, %u "
        "foreign\n",
        (unsigned)play->seed, (unsigned)follower->stride, (unsigned)play->put,
        (unsigned)play->acknowledged, (unsigned)follower->read, (unsigned)follower->calls,
        (unsigned long long)follower->gaps, (unsigned)follower->missing, (unsigned)wrong,
        (unsigned)follower->twice, (unsigned)refused, (unsigned)follower->foreign);
    return fine;
}

static bool play_one(uint32_t seed)
{
    static struct play play;
    static struct follower followers[FOLLOWERS];
    static char megabytes[] = "-m";
    static char few[] = "2";
    static char *arguments[] = {megabytes, few, NULL};
    static const uint32_t least[FOLLOWERS] = {1, 1, 1, 2000};
    static const uint32_t more[FOLLOWERS] = {1, 50, 1000, 4000};
    pthread_t threads[FOLLOWERS];
    uint64_t dice = seed;
    bool fine = true;
    memset(&play, 0, sizeof play);
    memset(followers, 0, sizeof followers);
    play.seed = seed;
    play.server.options = arguments;
    check(server_start_memcached(&play.server), "memcached");
    server_uri(&play.server, play.uri, sizeof play.uri);
    for (uint32_t i = 0; i < FOLLOWERS; i++) {
        followers[i].play = &play;
        followers[i].stride = least[i] + (uint32_t)dice_roll(&dice, more[i]);
        check(pthread_create(&threads[i], NULL, follow, &followers[i]) == 0, "thread");
    }
    write_events(&play);
    play.is_over = true;
    for (uint32_t i = 0; i < FOLLOWERS; i++) {
        check(pthread_join(threads[i], NULL) == 0, "join");
        fine = judge(&followers[i]) && fine;
    }
    server_stop(&play.server);
    check(followers[FOLLOWERS - 1].missing > 0, "the slow follower has missed nothing");
    return fine;
}

int main(void)
{
    bool fine = true;
    if (!server_is_installed("memcached")) {
        (void)puts("skipped: memcached is not installed");
        return EXIT_SKIPPED;
    }
    (void)alarm(HANG_S);
    unsigned rounds = field_rounds(ROUNDS);
    for (uint32_t seed = 1; seed <= rounds; seed++)
        fine = play_one(seed) && fine;
    return fine ? 0 : 1;
}
