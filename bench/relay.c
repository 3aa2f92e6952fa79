/* A relay between clients and a server: records the bytes that pass, and can delay them.
 *
 *   client --read--> [ chunk, due ] [ chunk, due ] --write--> server, and the same back */
#include "relay.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define RECORDING_MAX ((size_t)1 << 20)
#define CHUNK_CAPACITY 65536
#define NS_PER_S INT64_C(1000000000)

struct chunk {
    struct chunk *next;
    int64_t due_ns;
    size_t length;
    uint8_t bytes[CHUNK_CAPACITY];
};

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void write_down(struct relay *relay, const struct chunk *chunk, bool is_request)
{
    (void)pthread_mutex_lock(&relay->mutex);
    if (is_request && relay->length + chunk->length <= RECORDING_MAX) {
        memcpy(relay->requests + relay->length, chunk->bytes, chunk->length);
        relay->length += chunk->length;
    }
    for (size_t i = 0; i < chunk->length && !is_request; i++)
        relay->feeds += chunk->bytes[i] == '\n';
    (void)pthread_mutex_unlock(&relay->mutex);
}

static bool read_some(struct relay *relay, struct stretch *stretch, bool is_request)
{
    struct chunk *chunk = malloc(sizeof *chunk);
    if (chunk == NULL)
        return false;
    ssize_t got = read(stretch->from, chunk->bytes, sizeof chunk->bytes);
    if (got <= 0) {
        free(chunk);
        return false;
    }
    chunk->next = NULL;
    chunk->length = (size_t)got;
    chunk->due_ns = now_ns() + relay->delay_ns;
    write_down(relay, chunk, is_request);
    *stretch->end = chunk;
    stretch->end = &chunk->next;
    return true;
}

/* Write what is due. The other sides always read in the end, so writing may block. */
static bool write_due(struct stretch *stretch)
{
    while (stretch->first != NULL && stretch->first->due_ns <= now_ns()) {
        struct chunk *chunk = stretch->first;
        size_t sent = 0;
        while (sent < chunk->length) {
            ssize_t put = send(stretch->to, chunk->bytes + sent, chunk->length - sent,
                               MSG_NOSIGNAL);
            if (put <= 0)
                return false;
            sent += (size_t)put;
        }
        stretch->first = chunk->next;
        if (stretch->first == NULL)
            stretch->end = &stretch->first;
        free(chunk);
    }
    return true;
}

static void begin_stretch(struct relay *relay, int from, int to)
{
    struct stretch *stretch = &relay->stretches[relay->stretch_count++];
    *stretch = (struct stretch){.from = from, .to = to};
    stretch->end = &stretch->first;
}

static void accept_one(struct relay *relay)
{
    int client = accept(relay->listener, NULL, NULL);
    int server = server_connect(relay->target);
    if (client >= 0 && server >= 0 && relay->stretch_count < 2 * RELAY_PAIRS_MAX) {
        begin_stretch(relay, client, server);
        begin_stretch(relay, server, client);
        return;
    }
    if (client >= 0)
        (void)close(client);
    if (server >= 0)
        (void)close(server);
}

/* Close both stretches of a connection; their slots stay empty. */
static void end_pair(struct relay *relay, uint32_t at)
{
    struct stretch *pair = &relay->stretches[at & ~UINT32_C(1)];
    (void)close(pair[0].from);
    (void)close(pair[0].to);
    for (int i = 0; i < 2; i++) {
        for (struct chunk *chunk = pair[i].first, *next; chunk != NULL; chunk = next) {
            next = chunk->next;
            free(chunk);
        }
        pair[i] = (struct stretch){.from = -1, .to = -1};
        pair[i].end = &pair[i].first;
    }
}

/* The time until the first chunk is due; NULL: none is. */
static const struct timespec *time_left(const struct relay *relay, struct timespec *out)
{
    int64_t due_ns = INT64_MAX;
    for (uint32_t i = 0; i < relay->stretch_count; i++)
        if (relay->stretches[i].first != NULL && relay->stretches[i].first->due_ns < due_ns)
            due_ns = relay->stretches[i].first->due_ns;
    if (due_ns == INT64_MAX)
        return NULL;
    int64_t left_ns = due_ns - now_ns();
    left_ns = left_ns > 0 ? left_ns : 0;
    *out = (struct timespec){(time_t)(left_ns / NS_PER_S), (long)(left_ns % NS_PER_S)};
    return out;
}

/* False: the relay must end. */
static bool turn(struct relay *relay)
{
    struct pollfd fds[2 + 2 * RELAY_PAIRS_MAX] = {{.fd = relay->stop[0], .events = POLLIN},
                                                  {.fd = relay->listener, .events = POLLIN}};
    struct timespec capacity;
    uint32_t count = relay->stretch_count;
    for (uint32_t i = 0; i < count; i++)
        fds[2 + i] = (struct pollfd){.fd = relay->stretches[i].from, .events = POLLIN};
    if (ppoll(fds, 2 + count, time_left(relay, &capacity), NULL) < 0 || fds[0].revents != 0)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        struct stretch *stretch = &relay->stretches[i];
        bool alive = stretch->from < 0 || fds[2 + i].revents == 0 ||
                     read_some(relay, stretch, i % 2 == 0);
        if (!alive || !write_due(stretch))
            end_pair(relay, i);
    }
    if (fds[1].revents != 0)
        accept_one(relay);
    return true;
}

static void *live(void *context)
{
    struct relay *relay = context;
    while (turn(relay)) {
    }
    for (uint32_t i = 0; i < relay->stretch_count; i += 2)
        if (relay->stretches[i].from >= 0)
            end_pair(relay, i);
    return NULL;
}

bool relay_start(struct relay *relay, const char *place, const char *name,
                 const struct server *target, int64_t delay_ns)
{
    memset(relay, 0, sizeof *relay);
    relay->target = target;
    relay->delay_ns = delay_ns;
    (void)snprintf(relay->server.path, sizeof relay->server.path, "%.80s/%.20s", place, name);
    (void)unlink(relay->server.path);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%.107s", relay->server.path);
    relay->requests = malloc(RECORDING_MAX);
    relay->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return relay->requests != NULL && relay->listener >= 0 &&
           bind(relay->listener, (struct sockaddr *)&address, sizeof address) == 0 &&
           listen(relay->listener, RELAY_PAIRS_MAX) == 0 && pipe(relay->stop) == 0 &&
           pthread_mutex_init(&relay->mutex, NULL) == 0 &&
           pthread_create(&relay->thread, NULL, live, relay) == 0;
}

void relay_stop(struct relay *relay)
{
    (void)close(relay->stop[1]);
    (void)pthread_join(relay->thread, NULL);
    (void)close(relay->stop[0]);
    (void)close(relay->listener);
    (void)unlink(relay->server.path);
    (void)pthread_mutex_destroy(&relay->mutex);
    free(relay->requests);
}

void relay_begin(struct relay *relay)
{
    (void)pthread_mutex_lock(&relay->mutex);
    relay->length = 0;
    relay->feeds = 0;
    (void)pthread_mutex_unlock(&relay->mutex);
}

uint8_t *relay_end(struct relay *relay, size_t *length_out, uint32_t *feeds_out)
{
    (void)pthread_mutex_lock(&relay->mutex);
    uint8_t *copy = malloc(relay->length + 1);
    if (copy != NULL)
        memcpy(copy, relay->requests, relay->length);
    *length_out = relay->length;
    *feeds_out = relay->feeds;
    (void)pthread_mutex_unlock(&relay->mutex);
    return copy;
}
