/* A server that follows a script, in a thread of its own. It waits for nothing longer than
 * PATIENCE_MS, so a failing test ends. */
#include "support/fake_server.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_MS 10000
#define HEARD_MAX 65536
#define MOMENT_MS 50
#define OPAQUES_MAX 64
#define OPAQUE_MAX 8

struct fake_server {
    const struct fake_step *steps;
    int listener;
    int connection;
    int failed;
    pthread_t thread;
    char folder[64];
    char path[96];
    char uri[192];
    size_t heard_length;
    char heard[HEARD_MAX]; /* since the last EXPECT */
    size_t line_length;
    char line[128]; /* the begin of the one that has not ended yet */
    int request_count;
    char opaques[OPAQUES_MAX][OPAQUE_MAX]; /* of the meta requests of this connection */
    char former[OPAQUE_MAX];               /* the first of the connection before */
};

static bool readable(int fd)
{
    struct pollfd polled = {fd, POLLIN, 0};
    return poll(&polled, 1, PATIENCE_MS) > 0;
}

/* A line has ended: keep its opaque, "" if it is a meta request without one. The probe ends with
 * asking for the settings. */
static void note_request(struct fake_server *server)
{
    const char *line = server->line;
    if (strncmp(line, "stats settings", 14) == 0)
        server->request_count = 0;
    bool is_meta = line[0] == 'm' && strchr("gsda", line[1]) != NULL && line[2] == ' ';
    if (!is_meta || server->request_count == OPAQUES_MAX)
        return;
    const char *opaque = strstr(line, " O");
    (void)snprintf(server->opaques[server->request_count++], OPAQUE_MAX, "%.*s",
                   opaque != NULL ? (int)strcspn(opaque + 1, " \r") : 0,
                   opaque != NULL ? opaque + 1 : "");
}

static void note_lines(struct fake_server *server, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] != '\n') {
            if (server->line_length + 1 < sizeof server->line)
                server->line[server->line_length++] = bytes[i];
            continue;
        }
        server->line[server->line_length] = '\0';
        note_request(server);
        server->line_length = 0;
    }
}

static bool hear(struct fake_server *server)
{
    if (!readable(server->connection) || server->heard_length == HEARD_MAX)
        return false;
    ssize_t got = recv(server->connection, server->heard + server->heard_length,
                       HEARD_MAX - server->heard_length, 0);
    if (got <= 0)
        return false;
    note_lines(server, server->heard + server->heard_length, (size_t)got);
    server->heard_length += (size_t)got;
    return true;
}

static bool expect(struct fake_server *server, const char *text)
{
    for (;;) {
        const char *found = memmem(server->heard, server->heard_length, text, strlen(text));
        if (found != NULL) {
            size_t taken = (size_t)(found - server->heard) + strlen(text);
            server->heard_length -= taken;
            memmove(server->heard, server->heard + taken, server->heard_length);
            return true;
        }
        if (!hear(server))
            return false;
    }
}

/* The opaque that "O#N" or "O@" means; NULL: its request does not come. */
static const char *opaque_of(struct fake_server *server, const char *mark)
{
    int request = mark[2] - '1';
    if (mark[1] == '@')
        return server->former;
    while (server->request_count <= request)
        if (!hear(server))
            return NULL;
    return server->opaques[request];
}

/* `text` with opaques in the place of their marks. */
static bool fill_in(struct fake_server *server, const char *text, char *out, size_t capacity)
{
    size_t length = 0;
    while (*text != '\0' && length + OPAQUE_MAX < capacity) {
        if (text[0] != 'O' || (text[1] != '#' && text[1] != '@')) {
            out[length++] = *text++;
            continue;
        }
        const char *opaque = opaque_of(server, text);
        if (opaque == NULL)
            return false;
        length += (size_t)sprintf(out + length, "%s", opaque);
        text += text[1] == '#' ? 3 : 2;
    }
    out[length] = '\0';
    return *text == '\0';
}

static bool say(struct fake_server *server, const char *script, size_t piece)
{
    char text[4096];
    if (!fill_in(server, script, text, sizeof text))
        return false;
    for (size_t at = 0, length = strlen(text); at < length; at += piece) {
        size_t left = length - at < piece ? length - at : piece;
        if (send(server->connection, text + at, left, MSG_NOSIGNAL) != (ssize_t)left)
            return false;
    }
    return true;
}

static bool repeat(struct fake_server *server, const char *text)
{
    while (hear(server)) {
        server->heard_length = 0;
        if (!say(server, text, SIZE_MAX / 2))
            break;
    }
    return true;
}

static void hang_up(struct fake_server *server)
{
    if (server->connection >= 0)
        (void)close(server->connection);
    server->connection = -1;
    server->heard_length = 0;
    server->line_length = 0;
    memcpy(server->former, server->opaques[0], OPAQUE_MAX);
    server->request_count = 0;
}

static bool accept_next(struct fake_server *server)
{
    hang_up(server);
    if (!readable(server->listener))
        return false;
    server->connection = accept(server->listener, NULL, NULL);
    return server->connection >= 0;
}

static bool be_probed(struct fake_server *server)
{
    return accept_next(server) && expect(server, "version\r\n") &&
           say(server, "EN kmcds-probe Oq\r\nVERSION 1.6.18\r\n", 4096) &&
           expect(server, "stats settings\r\n") &&
           say(server,
               "NS\r\nCLIENT_ERROR invalid flag\r\nEN\r\nEND\r\nSTAT evictions on\r\nSTAT "
               "item_size_max 1048576\r\nEND\r\n",
               4096);
}

/* That the other side hangs up is not a word. */
static bool is_quiet(const struct fake_server *server)
{
    struct pollfd polled = {server->connection, POLLIN, 0};
    char byte;
    return server->heard_length == 0 && (poll(&polled, 1, MOMENT_MS) == 0 ||
                                         recv(server->connection, &byte, 1, MSG_PEEK) == 0);
}

static bool stall(struct fake_server *server)
{
    while (hear(server))
        server->heard_length = 0;
    return true;
}

static bool be_deaf(const struct fake_server *server)
{
    struct pollfd polled = {server->connection, POLLRDHUP, 0};
    return poll(&polled, 1, PATIENCE_MS) > 0;
}

static bool take_step(struct fake_server *server, const struct fake_step *step)
{
    switch (step->verb) {
    case FAKE_ACCEPT:
        return accept_next(server);
    case FAKE_EXPECT:
        return expect(server, step->text);
    case FAKE_SEND:
        return say(server, step->text, SIZE_MAX / 2);
    case FAKE_DRIP:
        return say(server, step->text, 1);
    case FAKE_REPEAT:
        return repeat(server, step->text);
    case FAKE_QUIET:
        return is_quiet(server);
    case FAKE_CLOSE:
        hang_up(server);
        return true;
    case FAKE_STALL:
        return stall(server);
    case FAKE_DEAF:
        return be_deaf(server);
    case FAKE_PROBED:
        return be_probed(server);
    default:
        return false;
    }
}

static void *follow(void *argument)
{
    struct fake_server *server = argument;
    for (int i = 0; server->steps[i].verb != FAKE_END && server->failed < 0; i++)
        if (!take_step(server, &server->steps[i]))
            server->failed = i;
    hang_up(server);
    return NULL;
}

struct fake_server *fake_server_start(const struct fake_step *steps)
{
    struct fake_server *server = calloc(1, sizeof *server);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (server == NULL)
        abort();
    server->steps = steps;
    server->connection = -1;
    server->failed = -1;
    (void)snprintf(server->folder, sizeof server->folder, "/tmp/mcds-fake-XXXXXX");
    if (mkdtemp(server->folder) == NULL)
        abort();
    (void)snprintf(server->path, sizeof server->path, "%s/sock", server->folder);
    (void)snprintf(server->uri, sizeof server->uri,
                   "memcached://%s?timeout=%d&connect_timeout=%d", server->path, PATIENCE_MS,
                   PATIENCE_MS);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", server->path);
    server->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(server->listener, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(server->listener, 16) != 0 ||
        pthread_create(&server->thread, NULL, follow, server) != 0)
        abort();
    return server;
}

const char *fake_server_uri(const struct fake_server *server)
{
    return server->uri;
}

int fake_server_stop(struct fake_server *server)
{
    (void)pthread_join(server->thread, NULL);
    int failed = server->failed;
    (void)close(server->listener);
    (void)unlink(server->path);
    (void)rmdir(server->folder);
    free(server);
    return failed;
}
