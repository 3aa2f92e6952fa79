/* STORE: every structure while malloc() fails, in mcds, in LMDB and in the C library: each allocation
 * in turn, alone or with those after it. Nothing crashes or leaks, what was acknowledged is there,
 * what was refused is not, and with memory again all works. FIELD_ROUNDS=1000 refuses each of the
 * first 1000; NO_MEMORY_ONLY names a structure. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"
#include "field/field.h"
#include "field/ledger.h"
#include "support/fixture.h"

#define EXIT_SKIPPED 77
/* A call that does not end: the program is killed. */
#define HANG_S 800
#define REFUSALS 8
#define CHANGES 4
#define IN_A_ROW 8
#define LATER 4
#define TIMEOUT_MS 5000

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern void *__libc_malloc(size_t length);
extern void *__libc_calloc(size_t count, size_t length);
extern void *__libc_realloc(void *memory, size_t length);
extern void __libc_free(void *memory);

/* Of this thread: no other makes calls. */
static _Thread_local long allowed = -1; /* until one is refused; negative: all granted */
static _Thread_local long left;         /* so many are refused then, one after the other */
static _Thread_local bool came;
static _Thread_local long blocks;

static bool is_refused(void)
{
    if (allowed < 0 || allowed-- > 0)
        return false;
    allowed = --left > 0 ? 0 : -1;
    came = true;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t length)
{
    void *granted = is_refused() ? NULL : __libc_malloc(length);
    blocks += granted != NULL;
    return granted;
}

void *calloc(size_t count, size_t length)
{
    void *granted = is_refused() ? NULL : __libc_calloc(count, length);
    blocks += granted != NULL;
    return granted;
}

void *realloc(void *memory, size_t length)
{
    if (length > 0 && is_refused())
        return NULL;
    void *granted = __libc_realloc(memory, length);
    blocks += (granted != NULL && memory == NULL) - (granted == NULL && memory != NULL);
    return granted;
}

void free(void *memory)
{
    blocks -= memory != NULL;
    __libc_free(memory);
}

struct play {
    const struct fixture *fixture;
    const struct subject *subject;
    long refusal;
    long in_a_row;
    int wrong;
};

static void complain(struct play *play, const char *what, const char *more)
{
    (void)fprintf(stderr, "%s, allocation %ld%s: %s %s\n", play->subject->name, play->refusal,
                  play->in_a_row > 1 ? " and those after it" : "", what, more);
    play->wrong++;
}

static void judge(struct play *play, struct ledger *ledger, const char *when)
{
    const char *why;
    char text[600];
    if (ledger_read(ledger) != MCDS_OK)
        complain(play, when, mcds_errmsg());
    uint32_t number = ledger_judge(ledger, true, &why);
    if (number == LEDGER_MAX)
        return;
    (void)snprintf(text, sizeof text, "%s (change %u, %s, %s)", why, (unsigned)number,
                   number < ledger->count ? mcds_result_name(ledger->results[number]) : "",
                   ledger->sentence);
    complain(play, when, text);
}

static bool is_memory;

/* The store is full where it is this process' memory, and nowhere else. */
static bool is_explained(int result)
{
    return result >= 0 || result == MCDS_NO_MEMORY || (is_memory && result == MCDS_FULL) ||
           result == MCDS_IO || result == MCDS_UNAVAILABLE || result == MCDS_TIMEOUT ||
           result == MCDS_AMBIGUOUS;
}

static void call_all(struct play *play, struct ledger *ledger)
{
    left = play->in_a_row;
    came = false;
    allowed = play->refusal;
    ledger_write(ledger, CHANGES);
    int read = ledger_read(ledger);
    allowed = -1;
    for (uint32_t i = 0; i < ledger->count; i++)
        if (!is_explained(ledger->results[i]))
            complain(play, "another answer:", ledger->sentence);
    if (!is_explained(read))
        complain(play, "another answer:", mcds_errmsg());
}

/* A clock that a sleep sets forward: a backend that could not connect pauses before it tries again. */
static int64_t skipped_ns;

static int64_t skipping_monotonic_ns(void *self)
{
    (void)self;
    return mcds__monotonic_ns(mcds_env_system()) + skipped_ns;
}

static void skip_until_ns(void *self, int64_t monotonic_ns)
{
    int64_t left_ns = monotonic_ns - skipping_monotonic_ns(self);
    if (left_ns > 0)
        skipped_ns += left_ns;
}

static mcds_env skipping_env(void)
{
    mcds_env env = *mcds_env_system();
    env.monotonic_ns = skipping_monotonic_ns;
    env.sleep_until_ns = skip_until_ns;
    return env;
}

static void wait_for(struct ledger *ledger)
{
    for (int i = 0; i < 500 && ledger_read(ledger) != MCDS_OK; i++)
        skipped_ns += 5 * NS_PER_MS;
}

/* Whether an allocation has been refused. */
static bool play_one(struct play *play, bool is_first)
{
    char uri[1100];
    mcds_store *store;
    mcds_options options = MCDS_OPTIONS_INIT;
    const mcds_env env = skipping_env();
    options.timeout_ms = TIMEOUT_MS;
    options.env = &env;
    static unsigned runs;
    char ns[16];
    (void)snprintf(ns, sizeof ns, "run%u", ++runs);
    options.ns = ns;
    fixture_uri_of(play->fixture, "store", uri, sizeof uri - 20);
    if (strncmp(uri, "lmdb:", 5) == 0) /* nothing here asks for the disk */
        (void)strcat(uri, strchr(uri, '?') == NULL ? "?sync=async" : "&sync=async");
    long before = blocks;
    if (mcds_open(uri, &options, &store) != MCDS_OK)
        exit(1);
    struct ledger *ledger = ledger_open(play->subject, store, false);
    call_all(play, ledger);
    bool did = came;
    wait_for(ledger);
    judge(play, ledger, "with memory again:");
    uint32_t count = ledger->count;
    ledger_write(ledger, LATER);
    if (ledger_count(ledger, count, MCDS_OK) + ledger_count(ledger, count, MCDS_EXISTS) < LATER)
        complain(play, "later:", ledger->sentence);
    judge(play, ledger, "later:");
    left = play->in_a_row;
    allowed = play->refusal;
    int dropped = play->subject->drop != NULL ? play->subject->drop(ledger) : MCDS_OK;
    allowed = -1;
    if (!is_explained(dropped))
        complain(play, "the drop:", mcds_errmsg());
    if (dropped < 0 && play->subject->drop(ledger) < 0)
        complain(play, "the drop again:", mcds_errmsg());
    ledger_close(ledger);
    mcds_close(store);
    if (blocks != before && !is_first)
        complain(play, "it leaks", "");
    return did;
}

static int play_all(const struct fixture *fixture)
{
    const char *only = getenv("NO_MEMORY_ONLY");
    long refusals = (long)field_rounds(REFUSALS);
    int wrong = 0;
    for (unsigned i = 0; i < ledger_subject_count; i++) {
        struct play play = {.fixture = fixture, .subject = &ledger_subjects[i]};
        if (only != NULL && strcmp(only, play.subject->name) != 0)
            continue;
        long most = 0;
        play.refusal = -1;
        (void)play_one(&play, true); /* the C library keeps what it needs first */
        for (play.in_a_row = 1; play.in_a_row <= IN_A_ROW; play.in_a_row += IN_A_ROW - 1) {
            for (play.refusal = 0; play.refusal < refusals; play.refusal++)
                if (!play_one(&play, false))
                    break;
            most = play.refusal > most ? play.refusal : most;
        }
        (void)printf("%s: %ld allocations refused\n", play.subject->name, most);
        wrong += play.wrong;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    struct fixture *fixture = fixture_or_exit(argc, argv);
    (void)alarm(HANG_S);
    is_memory = strcmp(argv[1], "memory") == 0;
    int wrong = play_all(fixture);
    fixture_stop(fixture);
    return wrong == 0 ? 0 : 1;
}
#else
int main(void)
{
    (void)printf("skipped: malloc() belongs to a sanitizer here\n");
    return EXIT_SKIPPED;
}
#endif
