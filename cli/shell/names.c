/* Names: a child process lists the store. The shell kills it at a signal or at the time limit. */
#include "shell/names.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/output.h"
#include "shell/apart.h"

#define LISTING_NS INT64_C(1000000000)
#define NS_PER_MS 1000000
#define BYTES_MAX 65536 /* of all names */

struct listing_of_names {
    const struct noun *noun;
    const char *typed;
    bool options_over;             /* the line has had -- */
    struct completion *completion; /* NULL: write them to `out` */
    int out;
};

/* In the text of a listing, a NUL follows each name. */
static bool visit(void *context, const mcds_listed *listed)
{
    struct listing_of_names *names = context;
    bool is_other = names->noun != NULL && strcmp(listed->noun, names->noun->word) != 0;
    bool is_option = listed->name[0] == '-' && !names->options_over;
    if (is_other || is_option || strncmp(listed->name, names->typed, strlen(names->typed)) != 0)
        return true;
    if (names->completion != NULL)
        return completion_add(names->completion, names->typed, listed->name);
    return write_whole(names->out, listed->name, strlen(listed->name) + 1);
}

static void list(struct session *session, struct listing_of_names *names)
{
    if (session_open(session) == MCDS_OK)
        (void)!mcds_scan(session->store, visit, names);
}

/* Adds the whole names of the text. */
static void add_all(struct completion *completion, const char *typed, const char *text,
                    size_t length)
{
    size_t at = 0;
    while (at < length) {
        const char *end = memchr(text + at, '\0', length - at);
        if (end == NULL || !completion_add(completion, typed, text + at))
            return;
        at = (size_t)(end - text) + 1;
    }
}

/* Reads until the end of the text, a signal or the deadline. Returns whether it has read the whole
 * text. */
static bool gather(int in, const struct signals *signals, char *text, size_t *length)
{
    int64_t until_ns = clock_ns() + LISTING_NS;
    for (;;) {
        int64_t left_ns = until_ns - clock_ns();
        struct pollfd files[] = {{in, POLLIN, 0}, {signals->file, POLLIN, 0}};
        if (left_ns <= 0 || *length == BYTES_MAX)
            return false;
        (void)poll(files, 2, (int)(left_ns / NS_PER_MS) + 1);
        if (files[0].revents == 0 && files[1].revents != 0)
            return false;
        if (files[0].revents == 0)
            continue;
        ssize_t got = read(in, text + *length, BYTES_MAX - *length);
        assert(got <= (ssize_t)(BYTES_MAX - *length));
        if (got <= 0)
            return got == 0;
        *length += (size_t)got;
    }
}

/* The end of the process arrives as SIGCHLD in the file of the signals. It must not end the next
 * wait. */
static void end(pid_t pid, struct signals *signals)
{
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    (void)signals_take(signals, 0);
}

static void list_apart(struct session *session, struct signals *signals,
                       struct listing_of_names *names, struct completion *completion)
{
    int ends[2];
    size_t length = 0;
    char *text = malloc(BYTES_MAX);
    if (text == NULL || pipe2(ends, O_CLOEXEC) != 0) {
        free(text);
        return;
    }
    names->out = ends[1];
    pid_t pid = apart_fork(session, signals);
    if (pid == 0) {
        list(session, names);
        _exit(0);
    }
    (void)close(ends[1]);
    bool is_whole = pid < 0 || gather(ends[0], signals, text, &length);
    if (pid > 0)
        end(pid, signals);
    add_all(completion, names->typed, text, length);
    completion->is_cut = completion->is_cut || !is_whole;
    (void)close(ends[0]);
    free(text);
}

void names_add(struct session *session, struct signals *signals, const struct noun *noun,
               const char *typed, bool options_over, struct completion *completion)
{
    struct listing_of_names names = {
        .noun = noun, .typed = typed, .options_over = options_over};
    if (session_is_private(session)) {
        names.completion = completion;
        list(session, &names);
    } else {
        list_apart(session, signals, &names, completion);
    }
}
