/* Relay: passes the output of a program on. */
#include "child/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A backlog that is longer holds up the program. */
#define BACKLOG_MAX 65536
#define BACKLOG_CAPACITY ((size_t)2 * BACKLOG_MAX)
/* Of a pipe that is ready to be written: so many bytes without waiting. */
#define PIECE PIPE_BUF
/* Most bytes that are read of a program that has ended: another process may still write. */
#define DRAIN_MAX ((size_t)1 << 22)

bool relay_open(struct relay *relay)
{
    bool is_fine = true;
    for (size_t i = 0; i < RELAY_STREAMS; i++) {
        int ends[2] = {-1, -1};
        is_fine = is_fine && pipe2(ends, O_CLOEXEC) == 0 &&
                  fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
        relay->ends[i] = ends[1];
        relay->streams[i] = (struct relayed){.source = ends[0],
                                             .target = i == 0 ? STDOUT_FILENO : STDERR_FILENO,
                                             .backlog = malloc(BACKLOG_CAPACITY),
                                             .capacity = BACKLOG_CAPACITY};
        is_fine = is_fine && relay->streams[i].backlog != NULL;
    }
    if (!is_fine)
        (void)relay_end(relay);
    return is_fine;
}

void relay_close_ends(struct relay *relay)
{
    for (size_t i = 0; i < RELAY_STREAMS; i++) {
        if (relay->ends[i] >= 0)
            (void)close(relay->ends[i]);
        relay->ends[i] = -1;
    }
}

static size_t waiting(const struct relayed *stream)
{
    return stream->end - stream->begin;
}

void relay_wait_for(const struct relay *relay, struct pollfd files[RELAY_FILES])
{
    for (size_t i = 0; i < RELAY_STREAMS; i++) {
        const struct relayed *stream = &relay->streams[i];
        bool has_room = waiting(stream) < BACKLOG_MAX;
        files[2 * i] = (struct pollfd){has_room ? stream->source : -1, POLLIN, 0};
        files[2 * i + 1] = (struct pollfd){waiting(stream) > 0 ? stream->target : -1, POLLOUT,
                                           0};
    }
}

/* A target without a reader gets nothing more; the program runs on, and its output is seen. */
static void pass_on(struct relayed *stream, size_t most)
{
    size_t length = waiting(stream) < most ? waiting(stream) : most;
    ssize_t put = write(stream->target, stream->backlog + stream->begin, length);
    if (put < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (put < 0)
        stream->error = errno;
    stream->begin += put > 0 ? (size_t)put : 0;
    if (stream->error != 0 || waiting(stream) == 0)
        stream->begin = stream->end = 0;
}

static void close_source(struct relayed *stream)
{
    if (stream->source >= 0)
        (void)close(stream->source);
    stream->source = -1;
}

/* Reads once; returns the number of bytes, 0 for none at present. */
static size_t take_in(struct relay *relay, size_t i)
{
    struct relayed *stream = &relay->streams[i];
    memmove(stream->backlog, stream->backlog + stream->begin, waiting(stream));
    stream->end = waiting(stream);
    stream->begin = 0;
    size_t room = stream->capacity - stream->end;
    ssize_t got = read(stream->source, stream->backlog + stream->end,
                       room < BACKLOG_MAX ? room : BACKLOG_MAX);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        close_source(stream);
    if (got <= 0)
        return 0;
    relay->see(relay->context, i, stream->backlog + stream->end, (size_t)got);
    stream->end += stream->error != 0 ? 0 : (size_t)got;
    return (size_t)got;
}

void relay_move(struct relay *relay, const struct pollfd files[RELAY_FILES])
{
    for (size_t i = 0; i < RELAY_STREAMS; i++) {
        if (files[2 * i + 1].fd >= 0 && files[2 * i + 1].revents != 0)
            pass_on(&relay->streams[i], PIECE);
        if (files[2 * i].fd >= 0 && files[2 * i].revents != 0)
            (void)take_in(relay, i);
    }
}

/* Makes room for what is left. Without memory the rest is passed on first. */
static void make_room(struct relayed *stream)
{
    size_t capacity = 2 * stream->capacity;
    if (stream->capacity - waiting(stream) >= BACKLOG_MAX)
        return;
    char *larger = realloc(stream->backlog, capacity);
    if (larger == NULL) {
        pass_on(stream, waiting(stream));
        return;
    }
    stream->backlog = larger;
    stream->capacity = capacity;
}

void relay_drain(struct relay *relay)
{
    for (size_t i = 0; i < RELAY_STREAMS; i++) {
        struct relayed *stream = &relay->streams[i];
        size_t total = 0;
        size_t got = 1;
        while (stream->source >= 0 && got > 0 && total < DRAIN_MAX) {
            make_room(stream);
            got = take_in(relay, i);
            total += got;
        }
    }
}

int relay_end(struct relay *relay)
{
    int error = 0;
    relay_close_ends(relay);
    for (size_t i = 0; i < RELAY_STREAMS; i++) {
        struct relayed *stream = &relay->streams[i];
        struct pollfd ready = {stream->target, POLLOUT, 0};
        while (stream->backlog != NULL && waiting(stream) > 0) {
            (void)poll(&ready, 1, -1); /* for a target that does not block */
            pass_on(stream, waiting(stream));
        }
        close_source(stream);
        free(stream->backlog);
        stream->backlog = NULL;
        if (stream->error != 0 && (error == 0 || error == EPIPE))
            error = stream->error;
    }
    return error;
}
