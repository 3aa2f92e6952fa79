/* memcached | memory: every structure on a store that forgets: it evicts some or all, is flushed, or
 * begins again empty. Each read ends, shows nothing that was never written, and where something is
 * missing reports it; later changes and reads are judged in the same way. FIELD_ROUNDS;
 * FORGETS_ONLY names a structure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "field/field.h"
#include "field/ledger.h"
#include "support/dice.h"
#include "support/server.h"

#define EXIT_SKIPPED 77
/* A call that does not end: the program is killed. */
#define HANG_S 800
#define ROUNDS 2
#define CHANGES 400
#define LATER 40
#define TIMEOUT_MS 20000
#define MEGABYTE 1000000
#define LARGEST 200000
#define FILLING 4000

enum event { EVICTED, FLUSHED, RESTARTED, EVENTS };
static const char *const names[EVENTS] = {"evicted", "flushed", "restarted"};

struct play {
    const struct subject *subject;
    struct server server; /* not started: memory */
    mcds_store *store;
    enum event event;
    bool is_piped;
    uint32_t percent; /* of the memory that is written over */
    bool is_told;     /* of a loss: once is enough, because the structure is then empty */
    int wrong;
};

static void check(bool fine, const char *what)
{
    if (fine)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, mcds_errmsg());
    exit(1);
}

static void complain(struct play *play, const char *when, const char *what, const char *more)
{
    (void)fprintf(stderr, "%s, %s, %s (%u %%), %s: %s %s\n", play->subject->name,
                  play->is_piped ? "piped" : "waiting", names[play->event],
                  (unsigned)play->percent, when, what, more);
    play->wrong++;
}

static void await(int socket, const char *command, const char *answer)
{
    char heard[256];
    size_t length = 0;
    field_send_all(socket, command, strlen(command));
    while (length < strlen(answer)) {
        ssize_t got = recv(socket, heard + length, sizeof heard - 1 - length, 0);
        check(got > 0, "recv");
        length += (size_t)got;
    }
    check(memcmp(heard, answer, strlen(answer)) == 0, command);
}

/* Items of every size, so many that a part of each size's memory is written over. */
static void flood_server(const struct play *play)
{
    static char filling[LARGEST + 2];
    int socket = server_connect(&play->server);
    check(socket >= 0, "connect");
    memset(filling, 'f', sizeof filling);
    for (size_t length = 1; length < LARGEST; length += length / 2 + 20) {
        size_t items = (size_t)play->percent * MEGABYTE / 100 / (length + 80) + 1;
        for (size_t i = 0; i < items; i++) {
            char line[64];
            int head = snprintf(line, sizeof line, "set fill:%zu:%zu 0 0 %zu noreply\r\n",
                                length, i, length);
            field_send_all(socket, line, (size_t)head);
            field_send_all(socket, filling, length);
            field_send_all(socket, "\r\n", 2);
        }
    }
    await(socket, "version\r\n", "VERSION");
    (void)close(socket);
}

static void flood_memory(const struct play *play)
{
    static const char filling[FILLING];
    mcds_bytes element = {filling, sizeof filling};
    for (uint32_t i = 0; i < play->percent * (MEGABYTE / 100) / FILLING; i++) {
        char name[32];
        mcds_array *array = NULL;
        (void)snprintf(name, sizeof name, "filling %u", (unsigned)i);
        check(mcds_array_open(play->store, name, NULL, &array) == MCDS_OK, "open");
        check(mcds_array_set(array, &element, 1) == MCDS_OK, "fill");
        mcds_array_close(array);
    }
}

static void let_it_forget(struct play *play)
{
    if (play->server.pid == 0) {
        flood_memory(play);
    } else if (play->event == EVICTED) {
        flood_server(play);
    } else if (play->event == FLUSHED) {
        int socket = server_connect(&play->server);
        check(socket >= 0, "connect");
        await(socket, "flush_all\r\n", "OK");
        (void)close(socket);
    } else {
        check(server_restart(&play->server), "restart");
    }
}

/* A log and views report a loss where a key that is left shows it. */
static bool always_tells(const struct subject *subject)
{
    return subject->kind <= SUBJECT_PARTS && strcmp(subject->name, "log") != 0 &&
           strstr(subject->name, "views") == NULL;
}

static bool is_whole(const struct ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->count; i++)
        if (ledger->results[i] == MCDS_OK && ledger->seen[i] == 0)
            return false;
    return true;
}

static void judge(struct play *play, struct ledger *ledger, const char *when)
{
    for (int is_fresh = 0; is_fresh <= 1; is_fresh++) {
        const char *why;
        char text[80];
        int result = is_fresh ? ledger_read_afresh(ledger) : ledger_read(ledger);
        if (result != MCDS_OK)
            complain(play, when, "cannot be read:", mcds_errmsg());
        uint32_t number = ledger_judge(ledger, false, &why);
        (void)snprintf(text, sizeof text, "(change %u, %s, %u seen, sum %u)", (unsigned)number,
                       number < ledger->count ? mcds_result_name(ledger->results[number]) : "",
                       number < ledger->count ? (unsigned)ledger->seen[number] : 0,
                       (unsigned)ledger->sum);
        if (number != LEDGER_MAX)
            complain(play, when, why, text);
        play->is_told = play->is_told || ledger->is_lost || ledger->is_absent;
        if (always_tells(play->subject) && !is_whole(ledger) && !play->is_told)
            complain(play, when, "a loss that is not told", is_fresh ? "afresh" : "");
    }
}

static void judge_answers(struct play *play, const struct ledger *ledger)
{
    static const int answers[] = {MCDS_OK,   MCDS_EXISTS,    MCDS_NOT_FOUND,
                                  MCDS_LOST, MCDS_AMBIGUOUS, MCDS_UNAVAILABLE};
    uint32_t known = 0;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        known += ledger_count(ledger, 0, answers[i]);
    if (known < ledger->count)
        complain(play, "later", "another answer:", ledger->sentence);
}

static void open_store(struct play *play, bool is_memory)
{
    static char megabytes[] = "-m";
    static char few[] = "2";
    static char *arguments[] = {megabytes, few, NULL};
    char uri[160];
    mcds_options options = MCDS_OPTIONS_INIT;
    options.timeout_ms = TIMEOUT_MS;
    (void)snprintf(uri, sizeof uri, "memory:?bytes=%d", MEGABYTE);
    play->server.options = arguments;
    if (!is_memory) {
        check(server_start_memcached(&play->server), "memcached");
        server_uri(&play->server, uri, sizeof uri);
    }
    check(mcds_open(uri, &options, &play->store) == MCDS_OK, "open");
}

static void play_one(struct play *play, bool is_memory)
{
    open_store(play, is_memory);
    struct ledger *ledger = ledger_open(play->subject, play->store, play->is_piped);
    ledger_write(ledger, CHANGES);
    let_it_forget(play);
    judge(play, ledger, "at once");
    ledger_write(ledger, LATER);
    judge_answers(play, ledger);
    judge(play, ledger, "later");
    if (play->subject->drop != NULL && play->subject->drop(ledger) < MCDS_AMBIGUOUS)
        complain(play, "later", "the drop:", mcds_errmsg());
    (void)printf("%s, %s, %s (%u %%): %u acknowledged, %u lost, %u ambiguous\n",
                 play->subject->name, play->is_piped ? "piped" : "waiting", names[play->event],
                 (unsigned)play->percent, (unsigned)ledger_count(ledger, 0, MCDS_OK),
                 (unsigned)ledger_count(ledger, 0, MCDS_LOST),
                 (unsigned)ledger_count(ledger, 0, MCDS_AMBIGUOUS));
    ledger_close(ledger);
    mcds_close(play->store);
    server_stop(&play->server);
}

int main(int argc, char **argv)
{
    const char *only = getenv("FORGETS_ONLY");
    bool is_memory = argc == 2 && strcmp(argv[1], "memory") == 0;
    uint64_t dice = 5;
    int wrong = 0;
    if (!is_memory && !server_is_installed("memcached")) {
        (void)printf("skipped: memcached is not installed\n");
        return EXIT_SKIPPED;
    }
    (void)alarm(HANG_S);
    for (unsigned round = 0; round < field_rounds(ROUNDS); round++)
        for (unsigned i = 0; i < ledger_subject_count; i++) {
            struct play play = {.subject = &ledger_subjects[i]};
            play.event = is_memory ? EVICTED : (enum event)((round + i) % EVENTS);
            play.is_piped = dice_roll(&dice, 2) == 0;
            play.percent = 20 + (uint32_t)dice_roll(&dice, 100);
            if (only == NULL || strcmp(only, play.subject->name) == 0)
                play_one(&play, is_memory);
            wrong += play.wrong;
        }
    return wrong == 0 ? 0 : 1;
}
