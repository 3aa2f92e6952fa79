/* A relay before a server that behaves like a faulty network. One thread serves all
 * connections. */
#include "chaos/relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "support/dice.h"

#define PIECE 65536
#define HOLD_MS_MAX 60
#define LATE_MS_MAX 400
#define TICK_MS 5

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint64_t roll(struct relay *relay, uint64_t below)
{
    return dice_roll(&relay->dice, below);
}

static enum relay_fault draw(struct relay *relay)
{
    uint64_t faults = relay->faults;
    uint32_t ppm = (uint32_t)faults;
    for (enum relay_fault fault = RELAY_CUT_BEFORE; fault < RELAY_FAULTS; fault++)
        if ((faults >> 32 >> fault & 1) != 0 && roll(relay, 1000000) < ppm) {
            relay->counts[fault]++;
            return fault;
        }
    relay->counts[RELAY_NONE]++;
    return RELAY_NONE;
}

static void drop(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static void end_line(struct relay_line *line)
{
    drop(&line->client);
    drop(&line->server);
    free(line->held);
    *line = (struct relay_line){.client = -1, .server = -1};
}

static bool is_free(const struct relay_line *line)
{
    return line->client < 0 && line->server < 0;
}

/* What cannot be written is lost, as on a network. */
static void pass_on(int fd, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        bytes += sent;
        length -= (size_t)sent;
    }
}

static void hold(struct relay_line *line, const uint8_t *bytes, size_t length, int64_t until_ns)
{
    line->held = malloc(length);
    if (line->held == NULL)
        return;
    memcpy(line->held, bytes, length);
    line->held_length = length;
    line->held_until_ns = until_ns;
}

static void suffer(struct relay *relay, struct relay_line *line, const uint8_t *piece,
                   size_t length)
{
    int64_t ms_ns = 1000000;
    switch (draw(relay)) {
    case RELAY_CUT_BEFORE:
        end_line(line);
        return;
    case RELAY_CUT_AFTER:
        pass_on(line->server, piece, length);
        drop(&line->client);
        return;
    case RELAY_LATE:
        drop(&line->client);
        hold(line, piece, length, now_ns() + (int64_t)roll(relay, LATE_MS_MAX) * ms_ns);
        return;
    case RELAY_HOLD:
        hold(line, piece, length, now_ns() + (int64_t)roll(relay, HOLD_MS_MAX) * ms_ns);
        return;
    case RELAY_SILENT:
        line->silent = true;
        break;
    default:
        break;
    }
    pass_on(line->server, piece, length);
}

/* Of a client that is gone, nothing more is to come but what is held. */
static void hear_client(struct relay *relay, struct relay_line *line)
{
    static _Thread_local uint8_t piece[PIECE];
    ssize_t got = recv(line->client, piece, sizeof piece, 0);
    if (got > 0)
        suffer(relay, line, piece, (size_t)got);
    else
        end_line(line);
}

static void hear_server(struct relay *relay, struct relay_line *line)
{
    static _Thread_local uint8_t piece[2 * PIECE];
    ssize_t got = recv(line->server, piece, PIECE, 0);
    if (got <= 0) {
        end_line(line);
        return;
    }
    if (line->client < 0 || line->silent)
        return;
    size_t length = (size_t)got;
    if (relay->doubled_ppm > 0 && roll(relay, 1000000) < relay->doubled_ppm) {
        memcpy(piece + length, piece, length);
        length *= 2;
        relay->doubled++;
    }
    pass_on(line->client, piece, length);
}

/* A line without a client lives until what it was asked for has been carried out: the server
 * closes when it has read our end of the stream. */
static void release(struct relay_line *line)
{
    if (line->held != NULL && now_ns() >= line->held_until_ns) {
        pass_on(line->server, line->held, line->held_length);
        free(line->held);
        line->held = NULL;
    }
    if (line->client < 0 && line->held == NULL && line->server >= 0)
        (void)shutdown(line->server, SHUT_WR);
}

static void take_client(struct relay *relay)
{
    int client = accept(relay->listener, NULL, NULL);
    if (client < 0)
        return;
    for (int i = 0; i < RELAY_LINES; i++) {
        struct relay_line *line = &relay->lines[i];
        if (!is_free(line))
            continue;
        line->server = server_connect(relay->target);
        line->client = client;
        if (line->server < 0)
            end_line(line);
        return;
    }
    (void)close(client);
}

static void *work(void *context)
{
    struct relay *relay = context;
    struct pollfd polled[1 + 2 * RELAY_LINES];
    while (!relay->over) {
        polled[0] = (struct pollfd){.fd = relay->listener, .events = POLLIN};
        for (int i = 0; i < RELAY_LINES; i++) {
            const struct relay_line *line = &relay->lines[i];
            int client = line->held == NULL ? line->client : -1;
            polled[1 + 2 * i] = (struct pollfd){.fd = client, .events = POLLIN};
            polled[2 + 2 * i] = (struct pollfd){.fd = line->server, .events = POLLIN};
        }
        (void)poll(polled, 1 + 2 * RELAY_LINES, TICK_MS);
        for (int i = 0; i < RELAY_LINES; i++) {
            struct relay_line *line = &relay->lines[i];
            if (polled[2 + 2 * i].revents != 0 && line->server >= 0)
                hear_server(relay, line);
            if (polled[1 + 2 * i].revents != 0 && line->client >= 0)
                hear_client(relay, line);
            release(line);
        }
        if (polled[0].revents != 0)
            take_client(relay);
    }
    return NULL;
}

void relay_set_faults(struct relay *relay, uint32_t kinds, uint32_t ppm)
{
    uint32_t chosen = 0;
    for (int fault = RELAY_CUT_BEFORE; fault < RELAY_FAULTS; fault++)
        chosen += kinds >> fault & 1;
    uint64_t share = chosen > 0 ? (uint64_t)ppm * (RELAY_FAULTS - 1) / chosen : 0;
    relay->faults = (uint64_t)kinds << 32 | share;
}

bool relay_start(struct relay *relay, const struct server *target, uint64_t seed)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    memset(relay, 0, sizeof *relay);
    for (int i = 0; i < RELAY_LINES; i++)
        relay->lines[i] = (struct relay_line){.client = -1, .server = -1};
    relay->target = target;
    relay->dice = seed;
    relay->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (relay->listener < 0 ||
        bind(relay->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(relay->listener, 128) != 0 ||
        getsockname(relay->listener, (struct sockaddr *)&address, &length) != 0 ||
        pthread_create(&relay->thread, NULL, work, relay) != 0) {
        drop(&relay->listener);
        return false;
    }
    relay->place.port = ntohs(address.sin_port);
    return true;
}

void relay_stop(struct relay *relay)
{
    if (relay->listener < 0)
        return;
    relay->over = true;
    (void)pthread_join(relay->thread, NULL);
    for (int i = 0; i < RELAY_LINES; i++)
        end_line(&relay->lines[i]);
    drop(&relay->listener);
}
